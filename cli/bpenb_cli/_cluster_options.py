"""Options of counting on a cluster, which `count` and `train` share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from bpenb import Cluster

__all__ = ["ClusterArgument", "ResumeOption", "takes_cluster"]

ClusterArgument = Any  # `Cluster | None`, which no command line names
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="On a cluster: go on from the partial counts of an earlier run.")
]


def _option(kind: Any, text: str, metavar: str, **more: Any) -> Any:
    return Annotated[
        kind | None, typer.Option(help=text, metavar=metavar, rich_help_panel="On a cluster", **more)
    ]


_OPTIONS: dict[str, Any] = {
    "scheduler": _option(str, "Count with the workers of this Dask scheduler.", "ADDRESS"),
    "scheduler_file": _option(Path, "The same; the scheduler wrote this file.", "FILE"),
    "local_cluster": _option(int, "The same; start so many workers here, and end them.", "N"),
    "work_folder": _option(
        Path, "For partial counts, where all workers see it.", "FOLDER", show_default="OUTPUT.work"
    ),
}


def takes_cluster(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that has `resume` the options of a cluster; what they name is its `cluster`."""
    hints = get_type_hints(command, include_extras=True)
    parameters = dict(inspect.signature(command).parameters)
    del parameters["cluster"]
    for name, kind in _OPTIONS.items():
        parameters[name] = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
        hints[name] = kind

    @functools.wraps(command)
    def with_cluster(**given: Any) -> None:
        chosen = {name: given.pop(name) for name in _OPTIONS}
        command(**given, cluster=_cluster(**chosen, resume=given["resume"]))

    typed = [parameter.replace(annotation=hints[name]) for name, parameter in parameters.items()]
    with_cluster.__signature__ = inspect.Signature(typed)  # type: ignore[attr-defined]
    with_cluster.__annotations__ = {name: hints[name] for name in parameters}
    return with_cluster


def _cluster(
    scheduler: str | None,
    scheduler_file: Path | None,
    local_cluster: int | None,
    work_folder: Path | None,
    resume: bool,
) -> Cluster | None:
    if (scheduler, scheduler_file, local_cluster) != (None, None, None):
        from bpenb import Cluster

        return Cluster(scheduler, scheduler_file, local_cluster, work_folder, resume)
    if work_folder is not None:
        raise typer.BadParameter("--work-folder is for --scheduler, --scheduler-file or --local-cluster")
    return None
