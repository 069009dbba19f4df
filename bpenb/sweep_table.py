"""What a sweep gives: a tokenizer for each vocab size, and the table of sizes and texts."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from bpenb.encoding import Tokenizer

__all__ = ["Sweep", "SweepRow", "TextFit"]

CSV_COLUMNS = ("vocab_size", "merges", "text", "bytes", "tokens", "bytes_per_token")


class TextFit(NamedTuple):
    """How many tokens a text has with a tokenizer; special tokens are left out of both numbers.

    Attributes:
        text: the file, or `training words`.
        n_bytes: of the text.
        n_tokens: that it has.
    """

    text: str
    n_bytes: int
    n_tokens: int

    @property
    def bytes_per_token(self) -> float | None:
        """Bytes per token; None for an empty text."""
        return self.n_bytes / self.n_tokens if self.n_tokens else None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as sweep.json has them."""
        return {
            "text": self.text,
            "bytes": self.n_bytes,
            "tokens": self.n_tokens,
            "bytes_per_token": self.bytes_per_token,
        }


class SweepRow(NamedTuple):
    """One vocab size of a sweep.

    Attributes:
        vocab_size: tokens that this vocab has, special tokens included.
        n_merges: merges among them.
        fits: of the training words, then of each eval file.
    """

    vocab_size: int
    n_merges: int
    fits: tuple[TextFit, ...]


@dataclass(frozen=True)
class Sweep:
    """The tokenizers of a sweep, and how they fit the texts.

    Attributes:
        rows: one for each vocab, ascending.
        tokenizers: by vocab size, as in `rows`.
        not_reached: sizes that were asked for when no pair was left to merge; the last row is
            what there is, once.
    """

    rows: tuple[SweepRow, ...]
    tokenizers: Mapping[int, Tokenizer]
    not_reached: tuple[int, ...]

    def to_csv(self) -> str:
        """Return the table as CSV: a line for each vocab size and text."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(CSV_COLUMNS)
        for row in self.rows:
            for fit in row.fits:
                writer.writerow((row.vocab_size, row.n_merges, *fit.as_dict().values()))
        return out.getvalue()

    def to_json(self) -> str:
        """Return the table as JSON."""
        rows = [
            {"vocab_size": row.vocab_size, "merges": row.n_merges, "texts": [f.as_dict() for f in row.fits]}
            for row in self.rows
        ]
        document = {"sizes": rows, "not_reached": list(self.not_reached)}
        return json.dumps(document, ensure_ascii=False, indent=2) + "\n"

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write a folder for each vocab size, sweep.csv and sweep.json into one folder.

        Args:
            path: a folder that is missing or empty.
            force: replace a sweep or a tokenizer that is there, as a whole.

        Raises:
            OutputError: a folder that must not be replaced, or cannot be written.
        """
        from bpenb.formats import save_sweep

        tokenizers = {size: (t.model, t.report) for size, t in self.tokenizers.items()}
        tables = {"sweep.json": self.to_json().encode(), "sweep.csv": self.to_csv().encode()}
        save_sweep(path, tokenizers, tables, force)
