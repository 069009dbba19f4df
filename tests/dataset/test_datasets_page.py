"""docs/datasets.md: its examples run, and read what was written; its tables are complete."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import bpenb
import numpy as np
import pytest
from bpenb.dataset import TOKEN_FORMATS, Manifest, SplitWriter, TokenLayout, plan_outputs, publish_dataset

from bpenb_cli.main import run

EOT = "<|endoftext|>"
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


def run_page() -> dict[str, Any]:
    """Run every example in the order of the page; return what the Python ones define."""
    names: dict[str, Any] = {}
    blocks = re.findall(r"^```(sh|python)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 19
    for language, block in blocks:
        if language == "python":
            exec(compile(block, "datasets.md", "exec"), names)
            continue
        for line in block.splitlines():
            arguments = shlex.split(line)
            assert arguments.pop(0) == "bpenb"
            assert run(arguments) == 0, line
    return names


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what they read is what the tokenizer says of each document."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BPENB_TOKENIZER", raising=False)
    texts = [f"the {k}th text is low, the {k + 1}th lower, été\n" * (k % 3 + 1) for k in range(40)]
    Path("corpus.txt").write_text(EOT.join(texts), encoding="utf-8")
    Path("corpus.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    names = run_page()
    tokenizer = bpenb.Tokenizer.load("tokenizer")
    eot = tokenizer.special_tokens[EOT]
    documents = [tokenizer.encode(text) for text in texts]
    plain = tokenizer.encode(EOT.join(texts))
    ended = [i for ids in documents for i in [*ids, eot]]
    assert names["ids"].tolist() == plain
    assert names["rows"].ravel().tolist() == plain + [eot] * (-len(plain) % 8)
    assert names["second"].tolist() == [*documents[1], eot]
    assert names["data"].tolist() == ended
    assert names["y"].tolist() == ended[1:9]
    tokens = names["tokens"].tolist()
    assert tokens[0] == eot and tokens.count(eot) == len(np.load("web/web_train.documents.npy")) - 1
    assert 0 < tokens.count(eot) < 40
    assert names["first"].tolist() == [*documents[0], eot]
    assert names["documents"].tolist() == list(range(41))
    assert names["last"].tolist() == [*documents[-1], eot]
    assert (names["name"], names["n_tokens"]) == ("bpenb|2", str(len(ended)))
    assert names["manifest"].n_documents == 80
    assert np.fromfile("again.bin", "<u2").tolist() == names["all_ids"].tolist() == ended
    assert np.diff(names["document_offsets"]).tolist() == [len(ids) + 1 for ids in documents]
    assert names["of_rows"].tolist() == [i for ids in documents for i in ids]
    assert Path("text.txt").stat().st_size == len((EOT + EOT.join(texts)).encode())


def documented(heading: str) -> set[str]:
    """Return what the first column of the table after a heading names."""
    rows = [line.split("|")[1] for line in PAGE.partition(heading)[2].splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([\w.]+)`", row)}


def test_every_format_and_every_key_is_documented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make("ids", "npy", document_index=True)
    data = json.loads(Path("ids.manifest.json").read_text("utf-8"))
    assert documented("# The manifest") == set(data)
    table = PAGE.partition("### numpy")[0]
    assert set(re.findall(r"^\| `(\w+)` ", table, re.MULTILINE)) == set(TOKEN_FORMATS)
    manifest_part = PAGE.partition("# The manifest")[2]
    for key in [*data["totals"], *data["splits"]["train"], *data["splits"]["train"]["files"][0]]:
        assert f"`{key}`" in manifest_part, key
