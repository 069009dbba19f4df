"""Options of `bpenb encode` that exclude each other: told before any work."""

from __future__ import annotations

import typer

__all__ = ["check_options"]

OF_FILES = ("format", "shard_tokens", "seq_len", "val_fraction", "shuffle", "seed", "max_memory",
            "no_document_index", "resume", "force")  # fmt: skip
OF_COUNTING = ("per_file", "as_json")
NOT_COUNTED = ("output", "append_eot", "prepend_eot", *OF_FILES)
_SPELLED = {"as_json": "--json"}


def check_options(context: typer.Context, *, count_only: bool, to_files: bool) -> None:
    """Refuse options that would do nothing."""
    given = [name for name in context.params if _is_given(context, name)]
    for name in given:
        option = _SPELLED.get(name, "--" + name.replace("_", "-"))
        if count_only and name in NOT_COUNTED:
            raise typer.BadParameter(
                f"{option} and --count-only exclude each other: it counts the tokens of the text itself, and "
                "writes nothing"
            )
        if not count_only and name in OF_COUNTING:
            raise typer.BadParameter(f"{option} is for --count-only")
        if not to_files and name in OF_FILES:
            raise typer.BadParameter(f"{option} is for training files; name an output (-o PATH)")
    if to_files and "seed" in given and not {"shuffle", "val_fraction"} & set(given):
        raise typer.BadParameter("--seed is for --shuffle and --val-fraction")


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
