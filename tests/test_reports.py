"""docs/reports.md names every field of a real report, and no other."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import bpenb
import pytest

DOCS = (Path(__file__).parents[1] / "docs" / "reports.md").read_text("utf-8")
TEXT = "low low lower lowest été" * 9


def documented(heading: str, end: str) -> set[str]:
    """Return the fields in the first column of the table that follows a heading."""
    part = DOCS.partition(heading)[2].partition(end)[0]
    rows = [line.split("|")[1] for line in part.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


@pytest.fixture(scope="module")
def report() -> Mapping[str, Any]:
    tokenizer = bpenb.train_from_iterator([TEXT], vocab_size=270, verify=True)
    assert tokenizer.report is not None
    return tokenizer.report


def _steps() -> Mapping[str, Any]:
    tokenizer = bpenb.train_from_iterator([TEXT], vocab_size=270, merges_per_step=2)
    assert tokenizer.report is not None
    return tokenizer.report["steps"]  # type: ignore[no-any-return]


def test_every_field_is_documented(report: Mapping[str, Any]) -> None:
    assert documented("## report.json", "`settings`:") == set(report)
    assert documented("\n`settings`:", "\n`sizes`:") == set(report["settings"])
    assert documented("\n`sizes`:", "\n`seconds` has") == set(report["sizes"])
    assert documented("\n`steps`,", "\n`verification`:") == set(_steps())
    assert documented("\n`verification`:", "\n## sweep") == set(report["verification"])


def test_every_phase_is_documented(report: Mapping[str, Any], tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text(TEXT, encoding="utf-8")
    sweep = bpenb.train_sweep(tmp_path / "corpus.txt", [260, 270], eval_files=[tmp_path / "corpus.txt"])
    of_sweep = sweep.tokenizers[260].report
    assert of_sweep is not None
    phases = {name for r in (report, of_sweep) for name in r["seconds"] if "." not in name}
    told = next(line for line in DOCS.splitlines() if line.startswith("`seconds` has"))
    assert phases == set(re.findall(r"`(\w+)`", told)) - {"seconds"}


def test_fields_of_a_sweep_are_documented() -> None:
    sweep = bpenb.train_sweep(bpenb.WordCounts.from_dict({"low": 2}), [257])
    part = DOCS.partition("## sweep.csv")[2].partition("## What")[0]
    fields = [*sweep.to_csv().splitlines()[0].split(","), *json.loads(sweep.to_json()), "texts"]
    assert all(f"`{field}`" in part for field in fields)


def test_figures_fit_together(report: Mapping[str, Any]) -> None:
    sizes = report["sizes"]
    assert sizes["bytes_per_token"] == sizes["word_bytes"] / sizes["tokens"]
    assert report["merges_per_second"] == sizes["merges"] / report["seconds"]["merge"]
    lengths = [len(token.encode()) for token in report["longest_tokens"]]
    assert lengths == sorted(lengths, reverse=True) and len(lengths) == 10


def test_longest_tokens_are_readable_whatever_their_bytes() -> None:
    counts = bpenb.WordCounts.from_dict({b"\xff\xfe": 3, b"\xc3\xa9x": 2})
    report = bpenb.train_from_counts(counts, vocab_size=259).report
    assert report is not None
    assert report["longest_tokens"][:3] == ["éx", "\\xff\\xfe", "é"]
    json.dumps(report)
