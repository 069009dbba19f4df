"""What `bpenb inspect` shows to people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpenb_cli._plain_tables import percent, print_facts, print_list, quoted, spelled, spelled_name

if TYPE_CHECKING:
    from bpenb.inspecting import Inspection, TextFigures

__all__ = ["show_inspection"]

_MOST_NAMES = 8


def show_inspection(found: Inspection, top: int) -> None:
    """Print the tables."""
    n_ordinary = len(found.ordinary)
    special = [f"{quoted(name.encode())} {i}" for name, i in found.special_tokens.items()]
    rest = f", and {len(special) - _MOST_NAMES:,} more" if len(special) > _MOST_NAMES else ""
    longest = [f"{len(f.token):,} bytes: {quoted(f.token)}" for f in found.longest(min(top, 5))]
    facts = {
        "ids": f"{found.n_vocab:,}, of which {len(found.tokens):,} have a token",
        "merges": f"{found.n_merges:,}",
        "split pattern": spelled(str(found.pattern)),
        "ties": spelled(found.ties),
        "trained with": spelled(f"engine {found.engine}, Unicode {found.unicode_version}"),
        "special tokens": (", ".join(special[:_MOST_NAMES]) or "none") + rest,
        "mean length": f"{found.mean_length or 0:.2f} bytes",
        "longest tokens": "\n".join(longest),
    }
    kinds = {kind.replace("_", " "): percent(n, n_ordinary) for kind, n in found.kinds.items()}
    print_facts(facts | kinds | {"scripts": "\n".join(_scripts(found, n_ordinary))})
    if found.texts is not None:
        _show_texts(found, found.texts, top)


def _scripts(found: Inspection, n_ordinary: int) -> list[str]:
    scripts = [f"{script}: {percent(n, n_ordinary)}" for script, n in found.scripts.items()]
    rest = [f"and {len(scripts) - _MOST_NAMES:,} more"] if len(scripts) > _MOST_NAMES else []
    return scripts[:_MOST_NAMES] + rest


def _show_texts(found: Inspection, texts: TextFigures, top: int) -> None:
    names = ", ".join(map(spelled_name, texts.files[:_MOST_NAMES]))
    n_tokens = max(1, texts.n_tokens)
    rates = {
        f"{what} per token": f"{n / n_tokens:.3f}, of {n:,}"
        for what, n in (
            ("bytes", texts.n_bytes),
            ("characters", texts.n_characters),
            ("words", texts.n_words),
        )
    }
    print_facts(
        {
            "files": f"{len(texts.files):,}: {names}",
            "tokens": f"{texts.n_tokens:,}",
            **rates,
            "pretokens": f"{texts.n_pretokens:,}; one token: {percent(texts.n_whole, texts.n_pretokens)}",
            "tokens never used": percent(len(texts.unused), len(found.ordinary)),
            "used less than 10 times": f"{len(texts.rare(10)):,}",
            "rows left out": f"{texts.n_bad_rows:,}" if texts.n_bad_rows else "",
        },
        "Texts",
    )
    token_of = {facts.token_id: facts.token for facts in found.tokens}
    frequent = texts.most_frequent(top)
    rows = [(quoted(token_of[i]), i, n, 100 * n / n_tokens) for i, n in frequent]
    print_list(("token", "id", "count", "% of tokens"), rows, "Most frequent tokens")
    costly = [(quoted(w.word), w.count, w.n_tokens, w.extra) for w in texts.costly]
    head = ("pretoken", "count", "tokens of each", "tokens beyond one each")
    print_list(head, costly, "Pretokens that cost most tokens")
