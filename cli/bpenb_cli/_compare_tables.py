"""What `bpenb compare` shows to people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpenb_cli._plain_tables import print_facts, print_list, quoted, spelled, spelled_name

if TYPE_CHECKING:
    from bpenb.inspecting import Comparison

__all__ = ["show_comparison"]


def show_comparison(found: Comparison) -> None:
    """Print the tables; tokenizers are called A, B, … in them, since their names are long."""
    letters = [_letter(n) for n in range(len(found.tokenizers))]
    fewest = min(one.total.tokens for one in found.tokenizers)
    rows = [
        (
            letter,
            one.n_vocab,
            one.total.tokens,
            100 * one.total.tokens / fewest - 100 if fewest else None,
            one.total.bytes_per_token,
            one.mb_per_second,
        )
        for letter, one in zip(letters, found.tokenizers, strict=True)
    ]
    names = (f"{spelled_name(one.name)} ({spelled(one.pattern)})" for one in found.tokenizers)
    print_facts(dict(zip(letters, names, strict=True)))
    print_list(("", "ids", "tokens", "% more than the best", "bytes per token", "MB/s"), rows)
    n_files = len(found.tokenizers[0].files)
    if n_files > 1:
        by_file = [
            (spelled_name(files[0].path), files[0].text_bytes, *(file.bytes_per_token for file in files))
            for files in zip(*(one.files for one in found.tokenizers), strict=True)
        ]
        print_list(("file", "bytes", *letters), by_file, "Bytes per token, by file")
    shared = [(letter, *row) for letter, row in zip(letters, found.shared.tolist(), strict=True)]
    print_list(("", *letters), shared, "Tokens that two have in common")
    print_facts({"tokens that all have": f"{found.n_shared:,}"})
    differing = [(quoted(w.word), w.count, *w.n_tokens, w.difference) for w in found.differing]
    head = ("word", "count", *(f"tokens in {letter}" for letter in letters), "difference in all")
    print_list(head, differing, "Where they differ most")


def _letter(n: int) -> str:
    """Return the name of a column: A … Z, A1 … Z1, and so on."""
    return f"{chr(ord('A') + n % 26)}{n // 26 or ''}"
