"""`bpenb convert`: a tokenizer of any kind in, the files of one program out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bpenb_cli import _looking as looking
from bpenb_cli import _messages
from bpenb_cli import _options as options
from bpenb_cli._either_kind import convert_classic
from bpenb_cli._file_kinds import ExportKind

__all__ = ["EXAMPLE", "convert"]

EXAMPLE = "Example: bpenb convert tokenizer --to hf -o my-model"


def convert(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SRC",
            help="A folder, a tokenizer.json, a vocab.json with merges.txt beside it, a .tiktoken file, or "
            "codes of subword-nmt.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="DST", help="The folder, or for gguf and codes the file."),
    ],
    to: Annotated[
        ExportKind | None,
        typer.Option(
            "--to",
            help="For whom: transformers (hf), vocab.json and merges.txt (gpt2), tiktoken, llama.cpp (gguf), "
            "or everything (bpenb); of characters: hf, subword-nmt (codes) and bpenb.",
            show_default="gguf if DST ends in .gguf, else bpenb",
        ),
    ] = None,
    pattern: looking.PatternOption = None,
    pre: Annotated[
        str | None,
        typer.Option("--pre", help="For gguf: the pattern's name in llama.cpp.", show_default="as known"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write into any other folder, or file.")] = False,
    progress: options.ProgressOption = options.ProgressStyle.AUTO,
) -> None:
    """Convert a tokenizer: what a kind of files cannot hold is refused, or said in a warning."""
    _messages.set_style(progress)
    kind = to or (ExportKind.GGUF if output.suffix == ".gguf" else ExportKind.BPENB)
    from bpenb.formats import check_export, export_model, is_classic, load_model

    if is_classic(source):
        return convert_classic(source, output, kind, pre or pattern, force)
    check_export(kind.value, pre)
    model = load_model(source, pattern=pattern)
    export_model(model, output, kind.value, pre=pre, force=force)
    n_special = len(model.special_tokens)
    _messages.note(
        f"{output}: {kind.value}, {len(model.vocab()):,} tokens, {n_special:,} of them special, "
        f"pattern {model.pattern}"
    )
