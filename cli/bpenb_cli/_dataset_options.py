"""Options of `bpenb encode -o PATH`: how the ids lie in training files."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bpenb_cli._file_kinds import TokenFiles

__all__ = ["ForceOption", "FormatOption", "NoDocumentIndexOption", "OutputOption", "ResumeOption",
           "SeedOption", "SeqLenOption", "ShardTokensOption", "ShuffleMemoryOption", "ShuffleOption",
           "ValFractionOption"]  # fmt: skip


def _option(*names: str, **more: Any) -> Any:
    return typer.Option(*names, rich_help_panel="Training files", **more)


OutputOption = Annotated[
    str | None,
    _option(
        "--output",
        "-o",
        metavar="PATH",
        help="The file or URL to write; with shards or splits a folder.",
        show_default="one .npy on standard output",
    ),
]
FormatOption = Annotated[
    TokenFiles,
    _option(
        "--format", help="NumPy, nanoGPT, llm.c and modded-nanogpt, Megatron-LM, or datatrove and nanotron."
    ),
]
ShardTokensOption = Annotated[
    str | None,
    _option("--shard-tokens", metavar="N", help="Tokens in a file, such as 100M.", show_default="one file"),
]
SeqLenOption = Annotated[
    str | None,
    _option(
        "--seq-len", metavar="N", help="Pack the tokens into rows of N (npy, bin, llmc); the last is padded."
    ),
]
ValFractionOption = Annotated[
    float,
    _option(
        "--val-fraction",
        metavar="F",
        help="Share of the documents that go to a split for validation, chosen by a hash of their ids.",
    ),
]
ShuffleOption = Annotated[
    bool, _option("--shuffle", help="Put the documents in an order of chance, across all files.")
]
SeedOption = Annotated[int, _option("--seed", help="Of the order and of the split.")]
ShuffleMemoryOption = Annotated[
    str | None, _option("--max-memory", help="What --shuffle may hold, such as 512MB.", show_default="1GiB")
]
NoDocumentIndexOption = Annotated[
    bool, _option("--no-document-index", help="Write no NAME.documents.npy (npy, bin, llmc).")
]
ResumeOption = Annotated[
    bool, _option("--resume", help="Go on where the same command was interrupted; do nothing if it was not.")
]
ForceOption = Annotated[
    bool, _option("--force", help="Replace what is there, and forget an interrupted run.")
]
