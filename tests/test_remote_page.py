"""docs/remote.md: its examples run; and the command line with URLs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from bpenb import _remote as remote
from tests.cli.running import Result
from tests.serving import serving

from bpenb_cli._mixture import read_weight, weighted_files
from bpenb_cli.main import run

PAGE = (Path(__file__).parents[1] / "docs" / "remote.md").read_text("utf-8")
SECRET = "hush-hush-7a8b9c"
TEXT = b"low lower lowest<|endoftext|>newer newest\n" * 50


@pytest.fixture(autouse=True)
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(remote, "FIRST_WAIT", 0.001)
    file_system = fsspec.filesystem("memory")
    file_system.store.clear()
    yield file_system
    file_system.store.clear()


def test_the_examples_of_the_page_run() -> None:
    names: dict[str, Any] = {}
    blocks = re.findall(r"^```(sh|python)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert [language for language, _ in blocks] == ["python", "sh", "python"]
    for language, block in blocks:
        if language == "python":
            exec(compile(block, "remote.md", "exec"), names)
            continue
        for line in block.splitlines():
            words = shlex.split(line)
            assert words[0] == "bpenb"
            assert run([*words[1:], "--progress", "none"]) == 0, line


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("s3://bucket/wiki.txt=3", ("s3://bucket/wiki.txt", 3)),
        ("s3://bucket/part-?.txt=3", ("s3://bucket/part-?.txt", 3)),
        ("s3://bucket/wiki.txt", ("s3://bucket/wiki.txt", 1)),
        ("https://h/f?part=3", ("https://h/f?part=3", 1)),
        ("https://h/f?a=1&part=3", ("https://h/f?a=1&part=3", 1)),
        ("https://h/f?part=3=2", ("https://h/f?part=3", 2)),
        ("https://h/f=2", ("https://h/f", 2)),
    ],
)
def test_weights_of_urls(argument: str, expected: tuple[str, int]) -> None:
    assert read_weight(argument) == expected


def test_weights_of_urls_add_up() -> None:
    assert weighted_files(["s3://b/a=2", "s3://b/a", "c"]) == {"s3://b/a": 3, Path("c"): 1}


@pytest.fixture
def here(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., Result]:
    def run_here(*arguments: str) -> Result:
        capfdbinary.readouterr()
        code = run(list(arguments))
        out, err = capfdbinary.readouterr()
        return Result(code, out, err.decode())

    return run_here


def test_no_secret_is_shown_or_kept(here: Callable[..., Result], tmp_path: Path) -> None:
    with serving({"/a.txt": TEXT, "/bad.txt": b"low \xff"}) as site:
        url = site.url(f"/a.txt?X-Amz-Signature={SECRET}").replace("//", f"//me:{SECRET}@")
        bad = url.replace("/a.txt", "/bad.txt")
        none = url.replace("/a.txt", "/none.txt")
        said = [
            here("train", f"{url}=2", "--vocab-size", "270", "--progress", "json"),
            here("train", url, "--vocab-size", "262,270", "--eval", url, "-o", "sweep", "--progress", "json"),
            here("count", url, "-o", "counts.npz", "--shard", "1/2", "--progress", "json"),
            here("encode", url, "-o", "ids.npy", "--progress", "json"),
            here("encode", url, "--count-only", "--per-file"),
            here("inspect", "tokenizer", "--on", url, "--json"),
            here("compare", "tokenizer", "sweep/262", "--on", url, "--json"),
        ]
        assert [result.code for result in said] == [0] * len(said), said
        failed = [
            here("encode", bad, "-o", "bad.npy"),
            here("count", none),
            here("count", f"{url}=0"),
            here("encode", url, "-o", f"https://me:{SECRET}@host/x"),
        ]
        assert all(result.code for result in failed)
    for result in said + failed:
        assert SECRET not in result.err
        assert SECRET.encode() not in result.out
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path
    assert '"path": "http://127.0.0.1' in (tmp_path / "ids.manifest.json").read_text()


def test_an_output_url_of_the_command_line(here: Callable[..., Result], memory: Any, tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_bytes(TEXT)
    assert here("train", "corpus.txt", "--vocab-size", "270").code == 0
    done = here("encode", "corpus.txt", "-o", "memory://out/ids.bin", "--format", "bin")
    assert done.code == 0
    assert "memory://out/ids.bin: 1 file" in done.err
    assert here("encode", "corpus.txt", "-o", "ids.bin", "--format", "bin").code == 0
    assert memory.cat_file("/out/ids.bin") == (tmp_path / "ids.bin").read_bytes()
    again = here("encode", "corpus.txt", "-o", "memory://out/ids.bin", "--format", "bin")
    assert again.code != 0
    assert "memory://out/ids.bin exists" in again.err
