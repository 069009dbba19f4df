"""Tokenizers on bytes or on characters, where a command takes both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bpenb_cli import _messages
from bpenb_cli._classic_run import ClassicRun
from bpenb_cli._encode_run import EncodeRun
from bpenb_cli._file_kinds import ExportKind

if TYPE_CHECKING:
    from bpenb import ClassicTokenizer, EncodeSettings, Tokenizer
    from bpenb.progress import ProgressCallback, Reporter

__all__ = ["convert_classic", "decoded", "load_any", "open_run"]


def load_any(path: Path) -> Tokenizer | ClassicTokenizer:
    """Return a tokenizer, on bytes or on characters."""
    import bpenb
    from bpenb.formats import is_classic

    return bpenb.ClassicTokenizer.load(path) if is_classic(path) else bpenb.Tokenizer.load(path)


def decoded(
    tokenizer: Tokenizer | ClassicTokenizer,
    blocks: Iterable[Any],
    errors: str | None,
    name: str,
    reporter: Reporter,
) -> Iterator[bytes | memoryview]:
    """Decode blocks of ids; characters are always UTF-8."""
    from bpenb import Tokenizer
    from bpenb.dataset import decode_named_blocks

    if isinstance(tokenizer, Tokenizer):
        return decode_named_blocks(tokenizer, blocks, errors, name, reporter)
    from bpenb.classic import decode_classic

    return decode_classic(tokenizer, blocks, name, reporter)


def convert_classic(source: str, output: Path, kind: ExportKind, of_bytes: str | None, force: bool) -> None:
    """Convert a tokenizer on characters."""
    from bpenb import ClassicTokenizer

    if of_bytes is not None:
        raise typer.BadParameter("--pre and --pattern are for tokenizers on bytes")
    tokenizer = ClassicTokenizer.load(source)
    tokenizer.export(output, kind.value, force=force)
    n_characters = len(tokenizer.model.characters)
    _messages.note(f"{output}: {kind.value}, {tokenizer.n_vocab:,} tokens of {n_characters:,} characters")


def open_run(
    context: typer.Context,
    tokenizer: Path,
    inputs: Sequence[str],
    settings: EncodeSettings,
    workers: int | None,
    show: ProgressCallback,
) -> EncodeRun | ClassicRun:
    """Return what `bpenb encode` is to do with a tokenizer."""
    from bpenb.formats import is_classic

    if is_classic(tokenizer):
        return ClassicRun(context, tokenizer, inputs, settings, show)
    return EncodeRun(tokenizer, inputs, settings, workers, show)
