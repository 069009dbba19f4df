"""`bpenb dataset`: the commands about files of token ids, put together."""

from __future__ import annotations

import typer

from bpenb_cli import dataset_show, dataset_verify

__all__ = ["EXAMPLE", "app"]

EXAMPLE = "Example: bpenb dataset show data/ && bpenb dataset verify data/"

app = typer.Typer(help="Look into files of token ids, and check them.", rich_markup_mode="rich")
app.command("show", epilog=dataset_show.EXAMPLE)(dataset_show.dataset_show)
app.command("verify", epilog=dataset_verify.EXAMPLE)(dataset_verify.dataset_verify)
