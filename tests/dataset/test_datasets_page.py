"""docs/datasets.md: its examples run, and read what was written; its tables are complete."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bpenb.dataset import TOKEN_FORMATS, Manifest, SplitWriter, TokenLayout, plan_outputs, publish_dataset

PAGE = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text("utf-8")
DOCUMENTS = [list(range(7)), [50_000], list(range(100, 113))]
IDS = [i for ids in DOCUMENTS for i in ids]


def make(path: str, form: str, **options: Any) -> Manifest:
    layout = TokenLayout(form, 50_257, **options)
    plan = plan_outputs(path, form, sharded=False)
    out = SplitWriter(plan.splits["train"], layout)
    out.write(np.array(IDS), np.cumsum([len(ids) for ids in DOCUMENTS]))
    out.complete()
    manifest = Manifest("sha256:0", 50_257, form, "<u2", {"train": out.record()}, 99, layout.seq_len)
    publish_dataset(plan, {"train": out}, manifest)
    return manifest


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make("ids", "npy", document_index=True)
    make("rows", "npy", seq_len=8, pad_id=9)
    make("plain", "bin")
    make("shard", "llmc")
    make("corpus.bin", "megatron")
    Path("corpus.manifest.json").rename("kept.json")  # the next one has the same stem
    make("corpus.ds", "datatrove")
    Path("kept.json").rename("corpus.manifest.json")
    names: dict[str, Any] = {}
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 7
    for block in blocks:
        exec(compile(block, "datasets.md", "exec"), names)
    assert names["ids"].tolist() == names["data"].tolist() == names["tokens"].tolist() == IDS
    assert names["rows"].tolist() == np.array([*IDS, 9, 9, 9]).reshape(-1, 8).tolist()
    assert names["second"].tolist() == DOCUMENTS[1]
    assert names["y"].tolist() == IDS[1:9]
    assert names["first"].tolist() == DOCUMENTS[0]
    assert names["documents"].tolist() == [0, 1, 2, 3]
    assert names["last"].tolist() == DOCUMENTS[2]
    assert (names["name"], names["n_tokens"]) == ("bpenb|2", str(len(IDS)))


def documented(heading: str) -> set[str]:
    """Return what the first column of the table after a heading names."""
    rows = [line.split("|")[1] for line in PAGE.partition(heading)[2].splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([\w.]+)`", row)}


def test_every_format_and_every_key_is_documented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make("ids", "npy", document_index=True)
    data = json.loads(Path("ids.manifest.json").read_text("utf-8"))
    assert documented("# The manifest") == set(data)
    table = PAGE.partition("## numpy")[0]
    assert set(re.findall(r"^\| `(\w+)` ", table, re.MULTILINE)) == set(TOKEN_FORMATS)
    manifest_part = PAGE.partition("# The manifest")[2]
    for key in [*data["totals"], *data["splits"]["train"], *data["splits"]["train"]["files"][0]]:
        assert f"`{key}`" in manifest_part, key
