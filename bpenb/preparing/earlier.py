"""What an earlier run left: a finished dataset, or the remains of one that was interrupted."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bpenb.dataset import TOKEN_FORMATS, Manifest, OutputPlan, TokenLayout
from bpenb.errors import FormatError, OutputError
from bpenb.preparing.journal import Journal

__all__ = [
    "find_finished",
    "forget_run",
    "is_same",
    "journal_path",
    "layout_settings",
    "remove_strays",
    "shuffle_folder",
]


def journal_path(plan: OutputPlan) -> Path:
    """Return where the journal of an output is."""
    return _hidden(plan, "resume.json")


def shuffle_folder(plan: OutputPlan) -> Path:
    """Return where the buckets of an output are."""
    return _hidden(plan, "shuffle")


def _hidden(plan: OutputPlan, name: str) -> Path:
    return plan.manifest.with_name("." + plan.manifest.name.replace("manifest.json", name))


def layout_settings(layout: TokenLayout) -> dict[str, Any]:
    """Return what decides the files of a dataset, and what a manifest has no other place for."""
    return {"shard_tokens": layout.shard_tokens, "document_index": layout.document_index}


def find_finished(plan: OutputPlan, identity: Mapping[str, Any], layout: TokenLayout) -> Manifest | None:
    """Return the manifest of the same dataset, if it is there."""
    try:
        manifest = Manifest.read(plan.manifest)
    except FormatError:
        return None
    return manifest if is_same(manifest, identity, layout) else None


def is_same(manifest: Manifest, identity: Mapping[str, Any], layout: TokenLayout) -> bool:
    """Tell whether a manifest is that of the same dataset."""
    wanted = identity["settings"] | layout_settings(layout)
    settings = {key: manifest.settings.get(key) for key in wanted}
    return (manifest.tokenizer, settings, list(manifest.inputs), manifest.format, manifest.seq_len) == (
        identity["tokenizer"],
        wanted,
        identity["inputs"],
        layout.format,
        layout.seq_len,
    )


def forget_run(journal: Journal, plan: OutputPlan) -> None:
    """Remove what an interrupted run left.

    If it was killed while its files got their names, they have no manifest, and neither have those
    that they replace: no dataset is there, and all of these go.
    """
    state = journal.peek() or {}
    if not plan.manifest.exists() and state.get("phase") == "publish":
        with suppress(OSError, TypeError):
            for path in [*state.get("replaced", ()), *state.get("published", ())]:
                Path(path).unlink(missing_ok=True)
    remove_strays(plan)
    journal.remove()


def remove_strays(plan: OutputPlan) -> None:
    """Remove the hidden files that a run of this output left when it was killed, all but its journal.

    Raises:
        OutputError: a folder that cannot be looked into.
    """
    shutil.rmtree(shuffle_folder(plan), ignore_errors=True)
    sides = {side for form in TOKEN_FORMATS.values() for side in (form.suffix, *form.side_suffixes)}
    if plan.is_folder:
        stem = re.escape(plan.path.resolve().name) + r"_[A-Za-z0-9-]+?(_\d{6,})?"  # of any splits
    else:
        stem = re.escape(plan.manifest.name.removesuffix(".manifest.json"))
    named = "|".join(map(re.escape, sorted(sides | {".documents.npy"})))
    others = "|".join(re.escape(path.name) for path in (plan.manifest, journal_path(plan)))
    strays = re.compile(rf"\.({stem}({named})|{others})\.(ends-)?[0-9a-f]{{8}}\.part")
    folder = plan.manifest.parent
    try:
        for entry in list(folder.iterdir()) if folder.is_dir() else []:
            if strays.fullmatch(entry.name):
                entry.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be looked into: {error.strerror or error}") from error
