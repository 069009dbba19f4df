"""`--count-only`: the counts of tokens on standard output, as a table or as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bpenb_cli._corpus_rows import warn_of_bad_rows

if TYPE_CHECKING:
    from bpenb.preparing import FileTokens, TokenCounts

__all__ = ["print_counts"]

HEAD = ("", "tokens", "documents", "bytes", "bytes per token")


def print_counts(counts: TokenCounts, per_file: bool, as_json: bool) -> None:
    """Print the sums, and those of each file if they are asked for."""
    warn_of_bad_rows({"inputs": {"n_bad_rows": counts.n_bad_rows, "first_bad_row": counts.first_bad_row}})
    if as_json:
        print(json.dumps(_as_json(counts, per_file), indent=2))
        return
    rows = [HEAD, *(_row(file) for file in (*(counts.files if per_file else ()), counts.total))]
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEAD))]
    for name, *figures in rows:
        aligned = [figure.rjust(width) for figure, width in zip(figures, widths[1:], strict=True)]
        print("  ".join([name.ljust(widths[0]), *aligned]))


def _row(file: FileTokens) -> tuple[str, ...]:
    rate = "–" if file.bytes_per_token is None else f"{file.bytes_per_token:.3f}"
    return file.path, f"{file.tokens:,}", f"{file.documents:,}", f"{file.text_bytes:,}", rate


def _as_json(counts: TokenCounts, per_file: bool) -> dict[str, object]:
    total = counts.total.to_json()
    del total["path"]
    files = {"files": [file.to_json() for file in counts.files]} if per_file else {}
    bad_rows = {"n_bad_rows": counts.n_bad_rows, "first_bad_row": counts.first_bad_row or None}
    return total | bad_rows | files
