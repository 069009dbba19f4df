"""The command `bpenb`: puts the commands together, and turns errors into one line and an exit code.

Codes: 0 done; 1 the work could not be done; 2 the command line is wrong; 130 Ctrl-C or SIGTERM.
Whatever the code, no half-written file is left.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from importlib import import_module

import typer
from bpenb import __version__
from bpenb.errors import BpenbError

from bpenb_cli import _messages, dataset_commands
from bpenb_cli._interrupts import catch_interrupts, was_interrupted
from bpenb_cli._leaving import leave

__all__ = ["app", "main", "run"]

INTERRUPTED = 130
# Newer releases of Typer carry Click inside them, older ones import it: both show it here.
ClickException: type[Exception] = typer.BadParameter.__mro__[2]

app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode="rich")
COMMANDS = "train encode decode convert count merge_counts inspect compare report tokens demo warmup"
for name in COMMANDS.split():
    module = import_module(f"bpenb_cli.{name}")
    kind = getattr(module, "COMMAND", None)  # where a command reads its line in a way of its own
    app.command(name.replace("_", "-"), cls=kind, epilog=module.EXAMPLE)(getattr(module, name))
app.add_typer(dataset_commands.app, name="dataset", epilog=dataset_commands.EXAMPLE)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"bpenb {__version__}")
        raise typer.Exit


@app.callback(epilog="Example: bpenb train corpus.txt && bpenb encode file.txt > ids.npy")
def _bpenb(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show it."),
) -> None:
    """Train byte-level BPE tokenizers, encode text with them, decode it again: exact and fast."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line; return its exit code."""
    _messages.set_style()
    code = INTERRUPTED
    try:
        code = int(app(list(arguments), prog_name="bpenb", standalone_mode=False) or 0)
    except ClickException as error:
        where = getattr(getattr(error, "ctx", None), "command_path", "bpenb")
        text = error.format_message()  # type: ignore[attr-defined]
        return _messages.fail(f"{text} (see: {where} --help)", 2)
    except BpenbError as error:
        return _messages.fail(str(error), 1)
    except OSError as error:
        return _messages.fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), 1)
    except (KeyboardInterrupt, typer.Abort):
        pass
    except Exception:
        if not was_interrupted():  # else what it broke off in another package ended as an error there
            raise
    return _messages.fail("interrupted", code) if code == INTERRUPTED else code


def main() -> None:
    """Enter from the shell."""
    catch_interrupts()
    _messages.catch_warnings()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # tables, where the terminal has no UTF-8
    leave(run(sys.argv[1:]))
