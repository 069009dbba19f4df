"""Which files a name means: paths, globs, folders, standard input."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from bpenb.corpus import resolve_files, resolve_sources
from bpenb.corpus.kinds import kind_of
from bpenb.errors import BpenbError, CorpusError

INPUTS = [
    "a.txt", "b.TEXT", "c.md", "d.jsonl", "e.NDJSON", "f.parquet",
    "g.txt.gz", "h.text.zst", "i.md.GZ", "j.jsonl.gz", "k.ndjson.zst",
]  # fmt: skip
OTHERS = ["a.py", "b", "c.gz", "d.json", "e.txt.bz2", "f.csv", ".txt", ".hidden.txt"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def touch(*names: str) -> list[Path]:
    paths = [Path(name) for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return paths


@pytest.mark.parametrize(
    ("name", "content", "compression"),
    [
        ("a.txt", "text", ""),
        ("a", "text", ""),
        (".jsonl", "jsonl", ""),
        ("a.en.gz", "text", "gzip"),
        ("a.GZ", "text", "gzip"),
        ("a.jsonl.ZST", "jsonl", "zstd"),
        ("a.jsonl.txt", "text", ""),
        ("a.Parquet", "parquet", ""),
        ("parquet", "text", ""),
        ("jsonl.gz", "text", "gzip"),
    ],
)
def test_kinds_by_name(name: str, content: str, compression: str) -> None:
    assert kind_of(Path("some.parquet") / name) == (content, compression)


def test_parquet_is_not_compressed_again() -> None:
    with pytest.raises(CorpusError, match=r"a\.parquet\.gz: Parquet is compressed within; unpack the \.gz"):
        kind_of(Path("a.parquet.gz"))


def test_a_folder_means_what_has_a_known_ending(folder: Path) -> None:
    found = touch(*INPUTS)
    touch(*OTHERS)
    assert resolve_files(".") == found
    assert resolve_files(folder) == [folder / path for path in found]


def test_folders_within_are_sorted_by_path(folder: Path) -> None:
    found = touch("in/a/z.txt", "in/a/z/1.txt", "in/a b.txt", "in/a-b/x.txt", "in/b.txt")
    touch("in/.git/a.txt", "in/a/.cache/b.txt", "in/a/.c.txt")
    assert resolve_files("in") == sorted(found, key=lambda path: path.parts)
    assert resolve_files(["in", "in/b.txt"]) == [*sorted(found, key=lambda p: p.parts), Path("in/b.txt")]
    assert resolve_files("in/.git") == [Path("in/.git/a.txt")]  # asked for by its name


def test_what_we_wrote_is_left_out(folder: Path) -> None:
    touch("in/a.txt", "in/tokenizer/bpenb.json", "in/tokenizer/merges.txt", "in/tokenizer/more/b.txt")
    touch("in/ids/manifest.json", "in/ids/readme.txt")
    Path("in/ids/manifest.json").write_text('{"bpenb": "0.1.0"}')
    kept = touch("in/others/manifest.json", "in/others/b.txt", "in/list/manifest.json", "in/list/c.txt")
    touch("in/broken/manifest.json", "in/broken/d.txt")
    Path("in/others/manifest.json").write_text('{"version": 1}')
    Path("in/list/manifest.json").write_text('["bpenb"]')
    Path("in/broken/manifest.json").write_bytes(b"\xff{")
    names = ["in/a.txt", "in/broken/d.txt", str(kept[3]), str(kept[1])]
    assert resolve_files("in") == [Path(name) for name in names]
    with pytest.raises(CorpusError, match=r"in/tokenizer: is a folder without an input"):
        resolve_files("in/tokenizer")


def test_a_folder_without_an_input_is_an_error(folder: Path) -> None:
    touch("in/a.py", "in/.b.txt")
    with pytest.raises(
        CorpusError, match=r"ends in \.txt \.text \.md \.jsonl \.ndjson \.parquet \(also with"
    ):
        resolve_files("in")


def test_globs(folder: Path) -> None:
    touch("b.txt", "a.txt", "c.py", "in/d.txt", "in/deep/e.txt", ".f.txt", "x/.g")
    assert resolve_files("*.txt") == [Path("a.txt"), Path("b.txt")]
    assert resolve_files("?.py") == [Path("c.py")]  # a glob names files of any ending
    assert resolve_files("[ab].*") == [Path("a.txt"), Path("b.txt")]
    assert resolve_files("**/*.txt") == [
        Path("a.txt"),
        Path("b.txt"),
        Path("in/d.txt"),
        Path("in/deep/e.txt"),
    ]
    assert resolve_files(str(folder / "i*" / "d*")) == [folder / "in/d.txt"]
    assert resolve_files("*") == [Path("a.txt"), Path("b.txt"), Path("c.py")]  # no folders
    with pytest.raises(CorpusError, match=r"\*\.md: there is no such file, and none that it matches"):
        resolve_files(["a.txt", "*.md"])


def test_a_name_that_is_a_glob_is_first_a_name(folder: Path) -> None:
    touch("a[1].txt", "a1.txt")
    assert resolve_files("a[1].txt") == [Path("a[1].txt")]
    Path("a[1].txt").unlink()
    assert resolve_files("a[1].txt") == [Path("a1.txt")]


def test_links_to_files_are_inputs_and_circles_do_no_harm(folder: Path) -> None:
    touch("blobs/0f3c", "in/deep/a.txt")
    try:
        Path("in/b.txt").symlink_to("../blobs/0f3c")
        Path("in/deep/up").symlink_to("..", target_is_directory=True)
        Path("in/gone.txt").symlink_to("nowhere")
    except OSError:
        pytest.skip("no links may be made here")
    assert resolve_files("in") == [Path("in/b.txt"), Path("in/deep/a.txt")]


def test_standard_input_is_given_once(folder: Path) -> None:
    touch("a.txt")
    assert resolve_files(["-", "a.txt"]) == [Path("-"), Path("a.txt")]
    source = resolve_sources("-")[0]
    assert source.is_stdin and source.n_bytes is None and source.name == "standard input"
    with pytest.raises(CorpusError, match=r"standard input\) is given twice"):
        resolve_files(["-", "a.txt", "-"])


def test_a_file_of_the_name_of_standard_input_is_none_of_it(folder: Path) -> None:
    Path("in").mkdir()
    (Path.cwd() / "-").write_text("low")
    assert resolve_sources("-")[0].n_bytes is None
    assert resolve_files("[-]") == [folder / "-"]
    assert resolve_sources(str(folder / "-"))[0].n_bytes == 3


def test_weights_of_globs_and_folders(folder: Path) -> None:
    touch("in/a.txt", "in/b.txt", "c.md", "d.md")
    sources = resolve_sources({"in": 3, "*.md": 2, "c.md": 5})
    assert [(s.path.as_posix(), s.number, s.weight) for s in sources] == [
        ("in/a.txt", 0, 3), ("in/b.txt", 1, 3), ("c.md", 2, 2), ("d.md", 3, 2), ("c.md", 4, 5),
    ]  # fmt: skip
    with pytest.raises(BpenbError, match="a weight is 0"):
        resolve_sources({"in": 0})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_folder_leaves_out_pipes(folder: Path) -> None:
    touch("in/a.txt")
    os.mkfifo("in/b.txt")
    assert resolve_files("in") == [Path("in/a.txt")]


@pytest.mark.parametrize(
    ("ending", "package"),
    [(".jsonl", "orjson"), (".parquet", "pyarrow"), (".md.zst", "zstd"), (".txt.gz", "")],
)
def test_a_missing_package_is_told_before_any_work(
    ending: str, package: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("orjson", "pyarrow", "backports.zstd", "compression.zstd"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    touch("a.txt", f"b{ending}")
    if not package:
        assert len(resolve_sources(["a.txt", f"b{ending}"])) == 2
        return
    with pytest.raises(CorpusError, match=rf"{package}, which is not here: pip install 'bpenb\[io\]'"):
        resolve_sources(["a.txt", f"b{ending}"])
