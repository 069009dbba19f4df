"""The sections with a plot and the table behind it; a section that nobody can tell says why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from bpenb._arrays import Int64Array
from bpenb._spelling import spell_bytes
from bpenb.inspecting import TokenFacts
from bpenb.report_page.growth import Growth
from bpenb.report_page.markup import escape, table
from bpenb.report_page.plots import plot_bars, plot_growth, plot_lengths, plot_ranks
from bpenb.report_page.tokens import TokenRow

__all__ = [
    "growth_section",
    "lengths_section",
    "phases_section",
    "ranks_section",
    "scripts_section",
    "token_table",
]

_LONGEST_BAR = 16  # bytes; longer tokens share the last bar
_MOST_SCRIPTS = 8
_MOST_PHASES = 12
_ROUND = (1, 2, 5)
_FIRST_PLACES = 10  # the most frequent tokens are all named


def token_table(rows: Sequence[TokenRow]) -> str:
    """Return a row for each token; `#t300` is that of id 300, and page.js reads its cells."""
    spelled = {row.token_id: escape(row.spelled) for row in rows}
    heads = ("id", "token", "bytes", "rank", "frequency", "merged from")
    body = []
    for row in rows:
        parts = " + ".join(f'<a href="#t{part}">{spelled[part]}</a>' for part in row.parts)
        rank = f"{row.rank:,}" if isinstance(row.rank, int) else row.rank
        cells = (row.token.hex(" "), rank, f"{row.frequency:,}", parts)
        body.append(
            f'<tr id="t{row.token_id}"><td>{row.token_id}</td>'
            f'<td class="spelled">{spelled[row.token_id]}</td>'
            + "".join(f"<td>{cell}</td>" for cell in cells)
            + "</tr>"
        )
    head = "".join(f'<th scope="col">{cell}</th>' for cell in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def growth_section(growth: Growth | str) -> str:
    """Return bytes per token against vocab size."""
    title = "Bytes per token against vocab size"
    if isinstance(growth, str):
        return _left_out(title, growth)
    rows = [
        (
            f"{int(growth.vocab_sizes[n]):,}",
            f"{int(growth.n_tokens[n]):,}",
            f"{growth.bytes_per_token(n):.3f}",
        )
        for n in growth.doublings()
    ]
    about = (
        "What the first merges alone would have made of the words of the texts: exact, special tokens "
        "left out."
    )
    return _section(title, about, plot_growth(growth), table(("vocab", "tokens", "bytes per token"), rows))


def ranks_section(token_counts: Int64Array, vocab: Mapping[int, bytes]) -> str:
    """Return how often tokens occur, from the most frequent on."""
    order = np.argsort(-token_counts, kind="stable")
    counts = token_counts[order]
    counts = counts[counts > 0]
    n_all = int(counts.sum())
    rows = []
    for place in _places(len(counts)):
        token_id = int(order[place])
        token = escape(spell_bytes(vocab[token_id]))
        n = int(counts[place])
        rows.append((f"{place + 1:,}", f'<span class="spelled">{token}</span>', str(token_id), f"{n:,}",
                     f"{100 * n / n_all:.3g}"))  # fmt: skip
    heads = ("rank", "token", "id", "occurrences", "% of all")
    about = f"{len(counts):,} different tokens occur in the texts."
    return _section("Frequency against rank", about, plot_ranks(counts), table(heads, rows))


def lengths_section(tokens: Sequence[TokenFacts], token_counts: Int64Array) -> str:
    """Return the lengths of tokens, in the vocab and in the texts."""
    of_vocab = Counter(len(facts.token) for facts in tokens)
    of_text: Counter[int] = Counter()
    for facts in tokens:
        of_text[len(facts.token)] += int(token_counts[facts.token_id])
    most = min(max(of_vocab, default=1), _LONGEST_BAR)

    def shares(found: Counter[int]) -> list[float]:
        n_all = max(1, found.total())
        at = [found[length] for length in range(1, most)]
        return [100 * n / n_all for n in [*at, found.total() - sum(at)]]

    rows = [(str(n), f"{of_vocab[n]:,}", f"{of_text[n]:,}") for n in sorted(of_vocab)]
    about = "Bytes of the tokens of the vocab, and of those that the texts are; special tokens left out."
    plot = plot_lengths(shares(of_vocab), shares(of_text))
    return _section("Token lengths", about, plot, table(("bytes", "in the vocab", "in the texts"), rows))


def scripts_section(tokens: Sequence[TokenFacts], token_counts: Int64Array) -> str:
    """Return the tokens by the script of their letters, in the vocab and in the texts."""
    of_vocab = Counter(facts.script for facts in tokens)
    of_text: Counter[str] = Counter()
    for facts in tokens:
        of_text[facts.script] += int(token_counts[facts.token_id])
    names = sorted(of_vocab, key=lambda name: (-of_vocab[name], name))
    shown = names if len(names) <= _MOST_SCRIPTS else names[: _MOST_SCRIPTS - 1]
    series = {}
    for what, found in (("vocab", of_vocab), ("texts", of_text)):
        values = [100 * found[name] / max(1, found.total()) for name in shown]
        series[what] = [*values, 100 - sum(values)] if len(shown) < len(names) else values
    labels = [*shown, "the others"] if len(shown) < len(names) else shown
    rows = [(name, f"{of_vocab[name]:,}", f"{of_text[name]:,}") for name in names]
    about = (
        "By their letters: mixed holds letters of several scripts, incomplete is a part of a character; "
        "special tokens left out."
    )
    told = "Two bars for each script: the share of the vocab, and of the texts; the table below has all."
    plot = plot_bars("scripts", "Tokens by script", told, "share, %", series, labels)
    return _section("Tokens by script", about, plot, table(("script", "in the vocab", "in the texts"), rows))


def phases_section(phases: Mapping[str, float]) -> str:
    """Return how long each phase of the training took."""
    title = "Phases of the training"
    if not phases:
        return _left_out(title, "No report of a training lies with this tokenizer, so nobody can tell them.")
    rows = [(escape(spell_bytes(name.encode("utf-8", "replace"))), f"{s:,.3f}") for name, s in phases.items()]
    first = dict(list(phases.items())[:_MOST_PHASES])
    labels = [name if name.isascii() and name.isidentifier() else "?" for name in first]
    told = f"{sum(phases.values()):,.1f} seconds in all; the table below has each phase."
    plot = plot_bars("phases", title, told, "seconds", {"seconds": list(first.values())}, labels)
    return _section(title, told[: told.index(";")] + ".", plot, table(("phase", "seconds"), rows))


def _section(title: str, about: str, plot: str, data: str) -> str:
    return (
        f"<section><figure><h2>{title}</h2><figcaption>{about}</figcaption>{plot}</figure>"
        f'<details><summary>As a table</summary><div class="scroll" tabindex="0" role="group" '
        f'aria-label="{title}, as a table">{data}</div></details></section>'
    )


def _left_out(title: str, why: str) -> str:
    return f'<section><h2>{title}</h2><p class="muted">{escape(why)}</p></section>'


def _places(n: int) -> list[int]:
    """Return places among n: the first ones, then at round numbers, and the last.

    Example:
        >>> _places(60)
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 19, 49, 59]
    """
    first = range(min(n, _FIRST_PLACES))
    rounds = [m * 10**power - 1 for power in range(1, len(str(n))) for m in _ROUND]
    return sorted({*first, *(place for place in rounds if place < n), n - 1})
