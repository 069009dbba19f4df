"""The options that `inspect` and `compare` share: on which texts, read how, and what is printed."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, get_type_hints

import typer

from bpenb_cli import _looking as looking
from bpenb_cli import _options as options
from bpenb_cli import _reading as reading
from bpenb_cli._choices import Specials
from bpenb_cli._on_files import OnOption
from bpenb_cli._progress import shown_progress

__all__ = ["OnTexts", "with_texts"]


@dataclass(frozen=True)
class OnTexts:
    """What was chosen, an option a field, in the order of `--help`."""

    on: OnOption = None
    as_json: looking.JsonOption = False
    as_csv: looking.CsvOption = False
    top: looking.TopOption = 20
    pattern: looking.PatternOption = None
    special: looking.SpecialOption = Specials.ALL
    field: reading.FieldOption = "text"
    document_separator: reading.SeparatorOption = None
    skip_bad_rows: reading.SkipBadRowsOption = False
    workers: options.WorkersOption = None
    max_memory: options.MaxMemoryOption = None
    errors: options.ErrorsOption = options.Utf8Errors.STRICT
    progress: options.ProgressOption = options.ProgressStyle.AUTO

    @contextmanager
    def at_work(self) -> Iterator[dict[str, Any]]:
        """Show progress; give the arguments that both calls take."""
        read = (self.errors, self.special, self.field, self.document_separator, self.skip_bad_rows)
        with shown_progress(self.progress, "encoding", "counting") as show:
            yield {
                "settings": looking.chosen_settings(*read),
                "top": self.top,
                "workers": self.workers,
                "max_memory": self.max_memory,
                "progress": show,
            }

    @property
    def as_data(self) -> bool:
        """Whether programs read what is printed."""
        return self.as_json or self.as_csv


def with_texts(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with these options in place of its last parameter, an OnTexts."""
    *own, texts = inspect.signature(command, eval_str=True).parameters.values()
    hints = get_type_hints(OnTexts, include_extras=True)
    shared = [
        inspect.Parameter(field.name, texts.kind, default=field.default, annotation=hints[field.name])
        for field in fields(OnTexts)
    ]

    @functools.wraps(command)
    def spread(**given: Any) -> None:
        chosen = OnTexts(**{field.name: given.pop(field.name) for field in fields(OnTexts)})
        if chosen.as_json and chosen.as_csv:
            raise typer.BadParameter("--json and --csv exclude each other")
        command(**given, **{texts.name: chosen})

    parameters = [*own, *shared]
    spread.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    spread.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return spread
