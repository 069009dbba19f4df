"""What `bpenb encode` does: count tokens, or write ids to standard output or to training files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bpenb_cli._encode_summary import show_files, show_stream
from bpenb_cli._token_table import print_counts

if TYPE_CHECKING:
    from bpenb import EncodeSettings, OutputSettings
    from bpenb.progress import ProgressCallback

__all__ = ["EncodeRun"]


class EncodeRun:
    """A tokenizer, its inputs, what decides the ids, and the three things that can be done with them."""

    def __init__(
        self,
        tokenizer: Path,
        inputs: Sequence[str],
        settings: EncodeSettings,
        workers: int | None,
        show: ProgressCallback,
    ) -> None:
        from bpenb import Tokenizer
        from bpenb.progress import make_reporter

        self._tokenizer = Tokenizer.load(tokenizer)
        self._inputs, self._settings, self._workers = inputs, settings, workers
        self._reporter = make_reporter(show)

    @property
    def _seconds(self) -> float:
        return sum(self._reporter.phase_seconds.values())

    def count(self, per_file: bool, as_json: bool) -> None:
        """Count tokens; the table is the data, so it goes to standard output."""
        from bpenb import count_tokens

        counts = count_tokens(
            self._tokenizer, self._inputs, self._settings, workers=self._workers, progress=self._reporter
        )
        print_counts(counts, per_file, as_json)

    def to_stdout(self) -> None:
        """Write one .npy to standard output."""
        from bpenb.preparing import encode_to_stream

        told = encode_to_stream(
            self._tokenizer, self._inputs, "-", self._settings, workers=self._workers, progress=self._reporter
        )
        show_stream(told, self._seconds)

    def to_files(self, output: str, layout: OutputSettings, resume: bool, force: bool) -> None:
        """Write training files, and their manifest."""
        from bpenb import encode_to_files

        manifest = encode_to_files(
            self._tokenizer,
            self._inputs,
            output,
            self._settings,
            layout,
            workers=self._workers,
            resume=resume,
            force=force,
            progress=self._reporter,
        )
        show_files(manifest, output, self._seconds, is_whole_run=not resume)
