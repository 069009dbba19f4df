"""What `bpenb encode` does with a tokenizer on characters; what is for bytes is refused by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from bpenb_cli import _messages
from bpenb_cli._classic_checks import is_given
from bpenb_cli._encode_summary import show_stream

if TYPE_CHECKING:
    from bpenb import EncodeSettings, OutputSettings
    from bpenb.progress import ProgressCallback

__all__ = ["ClassicRun"]

TAKEN = ("inputs", "tokenizer", "special", "field", "skip_bad_rows", "errors", "progress", "output", "force")


class ClassicRun:
    """A tokenizer on characters, its inputs, and the one thing that can be done: to write a .npy."""

    def __init__(
        self,
        context: typer.Context,
        tokenizer: Path,
        inputs: Sequence[str],
        settings: EncodeSettings,
        show: ProgressCallback,
    ) -> None:
        from bpenb import ClassicTokenizer
        from bpenb.progress import make_reporter

        for name in context.params:
            if name not in TAKEN and is_given(context, name):
                option = "--json" if name == "as_json" else "--" + name.replace("_", "-")
                raise typer.BadParameter(f"{option} is for tokenizers on bytes; {tokenizer} is on characters")
        self._tokenizer = ClassicTokenizer.load(tokenizer)
        self._inputs, self._settings = inputs, settings
        self._reporter = make_reporter(show)

    def count(self, per_file: bool, as_json: bool) -> NoReturn:
        """Never called: `--count-only` is refused."""
        raise AssertionError("--count-only was refused")

    def to_stdout(self) -> None:
        """Write one .npy to standard output."""
        self._write("-")

    def to_files(self, output: str, layout: OutputSettings, resume: bool, force: bool) -> None:
        """Write one .npy."""
        from bpenb._remote import is_remote, shown_name
        from bpenb.errors import OutputError

        if is_remote(output):
            raise OutputError(f"{shown_name(output)}: tokenizers on characters write to no URL")
        if Path(output).exists() and not force:
            raise OutputError(f"{output} exists; choose another name, or replace it (--force)")
        self._write(Path(output))

    def _write(self, target: str | Path) -> None:
        from bpenb.classic import encode_classic

        settings = self._settings
        told = encode_classic(
            self._tokenizer,
            list(self._inputs),
            target,
            options=settings.inputs,
            special=settings.special,
            errors=settings.errors,
            progress=self._reporter,
        )
        show_stream(told.counted, sum(self._reporter.phase_seconds.values()), told.unknown.report)
        if told.unknown.n_unknown:
            _messages.warning(str(told.unknown))
