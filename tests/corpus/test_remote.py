"""Remote files as inputs: found, read by ranges or from their front, and what is told when that fails."""

from __future__ import annotations

import io
import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
from bpenb import Workforce
from bpenb import _remote as remote
from bpenb.corpus import InputOptions, RemoteFile, resolve_files, resolve_sources
from bpenb.corpus import remote_reading as reading
from bpenb.counting import CountSettings, count_files
from bpenb.errors import BpenbError, CorpusError
from bpenb.patterns import resolve_pattern
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.corpus.writing import ROW_KINDS, TEXT_KINDS, write_rows, write_text
from tests.serving import Site, serving

SECRET = "hush-hush-0a1b2c"
TEXT = "low lower lowest newest été 下雨天<|endoftext|>\n" * 3000


@pytest.fixture(autouse=True)
def _no_long_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "FIRST_WAIT", 0.001)


@pytest.fixture
def memory() -> Iterator[Any]:
    file_system = fsspec.filesystem("memory")
    file_system.store.clear()
    file_system.pseudo_dirs[:] = [""]
    yield file_system
    file_system.store.clear()
    file_system.pseudo_dirs[:] = [""]


@pytest.fixture
def site() -> Iterator[Site]:
    with serving({"/a.txt": TEXT.encode()}) as site:
        yield site


def counted(files: Any, engine: str = "auto", workers: int = 2, **options: Any) -> dict[bytes, int]:
    how = CountSettings(resolve_pattern("gpt2"), ("<|endoftext|>",), engine=engine)
    return count_files(files, how, Workforce(workers), options=InputOptions(**options)).counts.to_dict()


def upload(memory: Any, folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            memory.pipe_file(f"/corpus/{path.relative_to(folder).as_posix()}", path.read_bytes())


def shown(error: BaseException) -> str:
    """All that a traceback would show of an error."""
    import traceback

    return "".join(traceback.format_exception(error))


# --- URLs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("s3://bucket/a/b.txt", "s3://bucket/a/b.txt"),
        ("s3://bucket/part-?.txt", "s3://bucket/part-?.txt"),
        (f"s3://key:{SECRET}@bucket/a.txt", "s3://bucket/a.txt"),
        (f"https://h/a.txt?X-Amz-Signature={SECRET}", "https://h/a.txt"),
        (f"https://u:{SECRET}@h:8080/a.txt#part", "https://h:8080/a.txt"),
        (f"gs://bucket/a.txt?X-Goog-Signature={SECRET}", "gs://bucket/a.txt"),
        (f"sftp://me:p@{SECRET}@host/a@b.txt", "sftp://host/a@b.txt"),
        ("abfs://container@account.dfs.core.windows.net/a.txt", None),
    ],
)
def test_what_is_shown_of_a_url(url: str, expected: str | None) -> None:
    assert remote.shown_url(url) == (expected or url)
    file = RemoteFile(url, 1, None)
    assert SECRET not in f"{file!r} {file} {file.name}"
    assert pickle.loads(pickle.dumps(file)) == file


def test_messages_of_libraries_lose_their_secrets() -> None:
    url = f"https://u:{SECRET}@h/a.txt?sig={SECRET}%2B1"

    def fail() -> None:
        raise OSError(f"at {url} and https://elsewhere/x?token={SECRET}: {SECRET} and {SECRET}+1")

    with pytest.raises(BpenbError) as caught:
        remote.try_again(url, "cannot be read", fail, BpenbError)
    assert SECRET not in shown(caught.value)
    assert "https://h/a.txt: cannot be read" in str(caught.value)
    assert f"tried {remote.TRIES} times" in str(caught.value)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import sys; sys.modules['fsspec'] = None; import bpenb\n"
        "try: bpenb.corpus.resolve_files('s3://b/a.txt')\n"
        "except bpenb.errors.CorpusError as error: print(error)"
    )
    run = subprocess.run(
        [sys.executable, "-c", "import bpenb.corpus\n" + code], capture_output=True, text=True, check=True
    )
    assert "pip install 'bpenb[remote]'" in run.stdout
    monkeypatch.setitem(sys.modules, "adlfs", None)
    with pytest.raises(
        CorpusError, match=r"abfs://c/a\.txt: abfs:// is read and written by a package.*adlfs"
    ):
        resolve_files("abfs://c/a.txt")
    with pytest.raises(CorpusError, match="no file system is known for nosuch://"):
        resolve_files("nosuch://a.txt")


def test_fsspec_is_imported_at_the_first_url_only(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("low")
    code = (
        "import bpenb.corpus, sys; bpenb.corpus.resolve_files('a.txt')\nprint('fsspec' in sys.modules)\n"
        "import bpenb_cli.main; print('fsspec' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert run.stdout.split() == ["False", "False"]


# --- which files are meant ------------------------------------------------------------------------

TREE = ("a.txt", "b.jsonl", "c.py", ".hidden.txt", "below/d.txt.gz", "below/.x/e.txt", "tok/bpenb.json",
        "tok/vocab.txt", "set/manifest.json", "set/f.txt", "mine/manifest.json", "mine/g.md")  # fmt: skip


@pytest.fixture
def tree(tmp_path: Path, memory: Any) -> Path:
    for name in TREE:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"bpenb": 1} if name.startswith("set") else {"other": 1}))
    upload(memory, tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "pattern", ["", "/", "/*.txt", "/**/*.txt", "/*/*.[a-z]*", "/.h*", "/a.txt", "/below/"]
)
def test_globs_and_folders_mean_what_they_do_on_a_disk(tree: Path, pattern: str) -> None:
    on_disk = [path.relative_to(tree).as_posix() for path in resolve_files(f"{tree}{pattern}")]  # type: ignore[union-attr]
    found = [
        str(path).removeprefix("memory://corpus/") for path in resolve_files(f"memory://corpus{pattern}")
    ]
    assert found == on_disk
    assert found


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing.txt", "there is no such file"),
        ("*.nothing", "there is no such file, and none that it matches"),
        ("tok", "is a folder without an input"),
    ],
)
def test_what_is_not_there_is_told(tree: Path, name: str, message: str) -> None:
    with pytest.raises(CorpusError, match=rf"memory://corpus/{name[-4:]}.*{message}|{message}"):
        resolve_files(f"memory://corpus/{name}")


def test_weights_and_paths_among_urls(tree: Path) -> None:
    sources = resolve_sources({"memory://corpus/a.txt": 3, str(tree / "a.txt"): 2})
    assert [(source.name, source.weight) for source in sources] == [
        ("memory://corpus/a.txt", 3),
        (str(tree / "a.txt"), 2),
    ]
    with pytest.raises(CorpusError, match="give a URL as a str"):
        resolve_files(Path("s3://bucket/a.txt"))


# --- reading --------------------------------------------------------------------------------------


@given(st.binary(max_size=300), st.lists(st.tuples(st.integers(0, 320), st.integers(0, 70)), max_size=12))
@settings(max_examples=50)
def test_any_part_is_read_as_from_a_file(data: bytes, reads: list[tuple[int, int]]) -> None:
    file_system = fsspec.filesystem("memory")
    file_system.pipe_file("/hypothesis", data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "LEAST_BLOCK", 3)
        patch.setattr(reading, "BLOCK", 16)
        (file,) = resolve_files("memory://hypothesis")
        expected = io.BytesIO(data)
        with file.open("rb") as opened:
            for place, n_bytes in reads:
                for _ in range(2):
                    assert opened.read(n_bytes) == expected.read(n_bytes)
                assert opened.seek(place) == expected.seek(place)
            assert opened.seek(0) == 0
            assert opened.read() == data


def test_few_bytes_come_cheap_and_a_whole_file_in_few_requests(site: Site) -> None:
    site.files["/large.bin"] = data = np.random.default_rng(3).bytes(20 << 20)
    (file,) = resolve_files(site.url("/large.bin"))
    site.requests.clear()
    with file.open("rb") as opened:
        opened.seek(1 << 20)
        assert opened.read(100) == data[1 << 20 :][:100]
        assert site.requests[-1][2] == f"bytes={1 << 20}-{(1 << 20) + reading.LEAST_BLOCK - 1}"
        opened.seek(0)
        blocks = iter(lambda: opened.read(1 << 16), b"")
        assert b"".join(blocks) == data
    assert len(site.requests) < 16


@pytest.mark.parametrize("ending", [*TEXT_KINDS, *ROW_KINDS])
def test_every_kind_counts_as_from_the_disk(memory: Any, tmp_path: Path, ending: str) -> None:
    if ending in TEXT_KINDS:
        path = write_text(tmp_path, TEXT, ending)
    else:
        path = write_rows(tmp_path, [TEXT[:n] for n in range(0, 2000, 37)], ending)
    upload(memory, tmp_path)
    assert counted(f"memory://corpus/{path.name}") == counted(path)


def test_settings_of_a_share_are_those_of_the_disk(memory: Any, tmp_path: Path) -> None:
    write_text(tmp_path, TEXT, ".txt")
    upload(memory, tmp_path)
    how = CountSettings(resolve_pattern("gpt2"), ("<|endoftext|>",))
    for share in ((1, 2), (2, 2)):
        there, here = (
            count_files(files, how, Workforce(1), share=share).counts
            for files in ("memory://corpus", str(tmp_path))
        )
        assert there.to_dict() == here.to_dict()
        assert there.shards == here.shards


# --- the web --------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["auto", "regex"])
@pytest.mark.parametrize("what", ["ranges", "no ranges", "no length"])
def test_servers_of_every_kind(site: Site, tmp_path: Path, engine: str, what: str) -> None:
    site.ranges, site.length = what == "ranges", what != "no length"
    path = write_text(tmp_path, TEXT, ".txt")
    url = site.url(f"/a.txt?X-Amz-Signature={SECRET}")
    (source,) = resolve_sources(url)
    assert (source.n_bytes is not None) == (what == "ranges")
    assert counted(url, engine) == counted(path, engine)


def test_worker_processes_open_it_themselves(site: Site, tmp_path: Path) -> None:
    path = write_text(tmp_path, TEXT, ".txt")
    how = CountSettings(resolve_pattern("gpt2"), ("<|endoftext|>",), engine="regex")
    workforce = Workforce(2, task_bytes=1 << 15, small_input=0)
    result = count_files(site.url("/a.txt"), how, workforce)
    assert result.workers_peak_rss_bytes > 0  # there were some
    assert result.counts.to_dict() == counted(path, "regex")
    assert sum(method == "GET" for method, _, _ in site.requests) > 4


def test_rows_without_ranges(site: Site, tmp_path: Path) -> None:
    site.ranges = False
    rows = [TEXT[:n] for n in range(0, 2000, 37)]
    for ending in (".jsonl.zst", ".parquet"):
        path = write_rows(tmp_path, rows, ending)
        site.files[f"/rows{ending}"] = path.read_bytes()
    assert counted(site.url("/rows.jsonl.zst")) == counted(tmp_path / "rows.jsonl.zst")
    with pytest.raises(CorpusError, match="gives no parts of a file, which Parquet needs"):
        counted(site.url("/rows.parquet"))
    site.ranges = True
    assert counted(site.url("/rows.parquet")) == counted(tmp_path / "rows.parquet")


@pytest.mark.parametrize("has_ranges", [True, False])
def test_a_connection_that_breaks_is_made_again(site: Site, tmp_path: Path, has_ranges: bool) -> None:
    path = write_text(tmp_path, TEXT, ".txt")
    site.ranges = has_ranges
    (file,) = resolve_files(site.url("/a.txt"))
    site.cut_after, site.n_cuts = 50_000, 3
    assert counted([file]) == counted(path)
    assert site.n_cuts == 0


@pytest.mark.parametrize("has_ranges", [True, False])
def test_one_that_always_breaks_is_told(site: Site, has_ranges: bool) -> None:
    site.ranges = has_ranges
    url = site.url(f"/a.txt?token={SECRET}").replace("//", f"//me:{SECRET}@")
    (file,) = resolve_files(url)
    site.cut_after, site.n_cuts = 1000, 10**6
    with pytest.raises(
        CorpusError, match=r"^http://127.*/a\.txt: cannot be read from byte \d.* tried 5 times"
    ) as caught:
        counted([file])
    assert SECRET not in shown(caught.value)


@pytest.mark.parametrize(("status", "n_asked"), [(403, 2), (404, 2), (503, 2 * remote.TRIES)])
def test_an_answer_that_will_not_change_is_not_asked_for_again(site: Site, status: int, n_asked: int) -> None:
    site.status = status
    reason = "there is no such file" if status == 404 else f"the server answers {status}"
    with pytest.raises(CorpusError, match=reason) as caught:
        resolve_files(site.url(f"/a.txt?token={SECRET}"))
    assert SECRET not in shown(caught.value)
    assert len(site.requests) == n_asked  # HEAD and GET each time


def test_a_file_that_became_shorter(site: Site) -> None:
    (file,) = resolve_files(site.url("/a.txt"))
    site.files["/a.txt"] = site.files["/a.txt"][:1000]
    with pytest.raises(CorpusError, match=r"cannot be read from byte 0 on: .* were asked for"):
        counted([file])


@pytest.fixture
def slow_waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waits: list[float] = []
    monkeypatch.setattr(remote, "FIRST_WAIT", 0.5)
    monkeypatch.setattr("time.sleep", waits.append)
    return waits


def test_breaks_grow(slow_waits: list[float]) -> None:
    failing: Callable[[], int] = lambda: 1 // 0  # noqa: E731
    with pytest.raises(CorpusError, match="ZeroDivisionError"):
        remote.try_again("s3://b/a", "cannot be read", failing, CorpusError)
    assert slow_waits == [0.5, 1.0, 2.0, 4.0]
