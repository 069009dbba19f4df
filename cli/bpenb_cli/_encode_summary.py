"""The end of an encoding, in a few lines on stderr (or as one JSON object)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bpenb._remote import shown_name

from bpenb_cli import _messages
from bpenb_cli._choices import ProgressStyle
from bpenb_cli._corpus_rows import warn_of_bad_rows

if TYPE_CHECKING:
    from bpenb.dataset import Manifest
    from bpenb.preparing import StreamedTokens

__all__ = ["show_files", "show_stream"]


def show_stream(told: StreamedTokens, seconds: float, unknown: Mapping[str, Any] | None = None) -> None:
    """Show what went to one array; `unknown` tells of characters that the tokenizer does not know."""
    more = {} if unknown is None else {"unknown": unknown}
    warn_of_bad_rows({"inputs": told._asdict()})
    if _messages.style() is ProgressStyle.JSON:
        _messages.event("summary", output="-", **told._asdict(), seconds=round(seconds, 6), **more)
        return
    _messages.note(_amounts(told.tokens, told.documents))
    _messages.note(_rates(told.text_bytes, told.tokens, seconds))


def show_files(manifest: Manifest, output: str, seconds: float, *, is_whole_run: bool) -> None:
    """Show what was written; `seconds` are of the whole text only if this run began with it."""
    output = shown_name(output)
    bad_rows = {"n_bad_rows": manifest.settings.get("bad_rows", 0),
                "first_bad_row": manifest.settings.get("first_bad_row", "")}  # fmt: skip
    warn_of_bad_rows({"inputs": bad_rows})
    splits = {
        name: {"files": len(split.data_files), "tokens": split.tokens, "documents": split.documents}
        for name, split in manifest.splits.items()
    }
    totals = {"tokens": manifest.n_tokens, "documents": manifest.n_documents}
    if _messages.style() is ProgressStyle.JSON:
        more = {"text_bytes": manifest.text_bytes, "bytes_per_token": manifest.bytes_per_token}
        fields = totals | more | bad_rows | {"splits": splits, "seconds": round(seconds, 6)}
        _messages.event("summary", output=output, **fields)
        return
    if not seconds:
        _messages.note(f"{output} holds these tokens already: nothing to do (--force encodes again)")
    n_files = sum(split["files"] for split in splits.values())
    amounts = _amounts(manifest.n_tokens, manifest.n_documents)
    _messages.note(f"{output}: {_several(n_files, 'file')}, {amounts}")
    if len(splits) > 1:
        parts = [f"{name} {_amounts(part['tokens'], part['documents'])}" for name, part in splits.items()]
        _messages.note("; ".join(parts))
    _messages.note(_rates(manifest.text_bytes, manifest.n_tokens, seconds if is_whole_run else None))


def _several(n: int, name: str) -> str:
    return f"{n:,} {name}" if n == 1 else f"{n:,} {name}s"


def _amounts(n_tokens: int, n_documents: int) -> str:
    return f"{_several(n_tokens, 'token')}, {_several(n_documents, 'document')}"


def _rates(text_bytes: int, n_tokens: int, seconds: float | None) -> str:
    """Return the figures of the text as a line; None seconds: it was not read at one go."""
    from bpenb._bar import format_amount, format_seconds

    figures = [f"text: {format_amount(text_bytes, 'bytes')}"]
    if n_tokens:
        figures.append(f"{text_bytes / n_tokens:.3f} bytes per token")
    if seconds:
        figures.append(f"{format_seconds(seconds)}, {format_amount(text_bytes / seconds, 'bytes')}/s")
    return ", ".join(figures)
