"""What `bpenb train` does on one machine alone, where a cluster is to do it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

__all__ = ["check_cluster"]


def check_cluster(given: Mapping[str, Any], n_sizes: int, characters: Mapping[str, Any] | None) -> None:
    """Refuse what does not go with a cluster.

    Args:
        given: the parameters of the command, by name; with word counts among them the cluster merges.
        n_sizes: of vocabs.
        characters: what is for characters alone, or None.
    """
    refused = {"--base": given["base"] is not None, "--checkpoint": given["checkpoint"] is not None}
    instead = "count there first (bpenb count), then train with --from-counts"
    if given["from_counts"] is not None:
        refused |= {
            "--alphabet characters": characters is not None,
            "several sizes (--vocab-size)": n_sizes > 1,
            "--merges-per-step": given["merges_per_step"] != 1,
        }
        instead = "leave the cluster out, and this machine merges"
    for what, is_asked in refused.items():
        if is_asked:
            raise typer.BadParameter(f"{what} and a cluster exclude each other: {instead}")
