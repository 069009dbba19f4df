"""How inputs are read: which field of a row, what separates documents, and what becomes of bad rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bpenb.errors import CorpusError

__all__ = ["BadRows", "InputOptions"]


@dataclass(frozen=True)
class InputOptions:
    r"""How inputs are read.

    Attributes:
        field: of a row of JSON (a key), or of Parquet (a column), that holds the text of the document.
        document_separator: a string that separates documents in text files, such as a blank line
            (`"\n\n"`). It is dropped, nothing spans it, and it is no token; rows know no separator.
        skip_bad_rows: leave out rows without a text (no JSON, no such field, null, no string, no UTF-8),
            and tell how many; else the first is an error.

    Raises:
        CorpusError: an empty separator, or one that UTF-8 cannot spell.
        TypeError: a value of a wrong type.

    Example:
        >>> InputOptions(field="content", skip_bad_rows=True).document_separator is None
        True
    """

    field: str = "text"
    document_separator: str | None = None
    skip_bad_rows: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.field, str):
            raise TypeError(f"field must be a str, not {type(self.field).__name__}")
        if not isinstance(self.skip_bad_rows, bool):
            raise TypeError(f"skip_bad_rows must be a bool, not {type(self.skip_bad_rows).__name__}")
        separator = self.document_separator
        if separator is None:
            return
        if not isinstance(separator, str):
            raise TypeError(f"document_separator must be a str or None, not {type(separator).__name__}")
        if not separator:
            raise CorpusError("document_separator is empty, which is found everywhere; None has none")
        if any("\ud800" <= character <= "\udfff" for character in separator):
            raise CorpusError(
                f"document_separator {separator!r} holds a lone surrogate, which UTF-8 cannot spell"
            )


class BadRows:
    """What becomes of rows without a text: the first is an error, or all are left out and counted.

    Args:
        skip: whether they are left out.

    Attributes:
        n_skipped: rows left out so far.
        first: where the first of them is, and what is wrong with it; empty if there is none.

    Example:
        >>> rows = BadRows(skip=True)
        >>> rows.meet("a.jsonl, line 3", "the field 'text' is null")
        >>> rows.n_skipped, rows.first
        (1, "a.jsonl, line 3: the field 'text' is null")
    """

    def __init__(self, skip: bool = False) -> None:
        self.skip = skip
        self.n_skipped = 0
        self.first = ""

    def meet(self, place: str, reason: str) -> None:
        """Note a bad row.

        Raises:
            CorpusError: bad rows are not to be skipped.
        """
        if not self.skip:
            raise CorpusError(
                f"{place}: {reason}; repair it, name another field (field=…, --field), or leave out such "
                "rows (skip_bad_rows=True, --skip-bad-rows)"
            )
        self.first = self.first or f"{place}: {reason}"
        self.n_skipped += 1

    @property
    def report(self) -> dict[str, Any]:
        """What there is to tell at the end."""
        return {"n_bad_rows": self.n_skipped, "first_bad_row": self.first or None}
