"""Training files behind a URL: equal to those on a disk, whole or not there, and gone on with."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpenb
import fsspec
import pytest
from bpenb import EncodeSettings, OutputSettings
from bpenb import _remote as remote
from bpenb.dataset import TOKEN_FORMATS, Manifest
from bpenb.errors import BpenbError, OutputError
from bpenb.preparing import run
from bpenb.preparing.uploading import staging_folder
from bpenb.progress import Progress
from tests.preparing import making
from tests.preparing.making import BrokenOff

SHARDS = OutputSettings("bin", shard_tokens=400)
ONE = OutputSettings("bin")
TARGET = "memory://out/data"


@pytest.fixture(autouse=True)
def _quick_and_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(remote, "FIRST_WAIT", 0.001)
    monkeypatch.setattr(run, "JOURNAL_SECONDS", 1e9)  # else what a slow machine began is kept
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))


@pytest.fixture
def memory() -> Iterator[Any]:
    file_system = fsspec.filesystem("memory")
    file_system.store.clear()
    file_system.pseudo_dirs[:] = [""]
    yield file_system
    file_system.store.clear()
    file_system.pseudo_dirs[:] = [""]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text(making.sample_text(3000, 7), encoding="utf-8")
    return path


def encode(inputs: Any, out: str | Path, output: OutputSettings = SHARDS, **more: Any) -> Manifest:
    settings = more.pop("settings", EncodeSettings(append_eot=True))
    return bpenb.encode_to_files(making.tokenizer(), inputs, out, settings, output, workers=1, **more)


def there(memory: Any, folder: str = "/out") -> dict[str, bytes]:
    return {name.removeprefix(folder + "/"): memory.cat_file(name) for name in memory.find(folder)}


def on_disk(folder: Path) -> dict[str, bytes]:
    return making.contents(folder)


def leftovers() -> list[Path]:
    return list(Path(tempfile.gettempdir()).iterdir())


# --- what is written ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", TOKEN_FORMATS)
@pytest.mark.parametrize("shard_tokens", [None, 400])
def test_equal_to_the_files_on_a_disk(
    memory: Any, corpus: Path, tmp_path: Path, form: str, shard_tokens: int | None
) -> None:
    name = "data" if shard_tokens else f"ids{TOKEN_FORMATS[form].suffix}"
    output = OutputSettings(form, shard_tokens)
    here = encode(corpus, tmp_path / "out" / name, output)
    assert encode(corpus, f"memory://out/{name}", output) == here
    assert there(memory) == on_disk(tmp_path / "out")
    assert not leftovers()


def test_splits_shuffled_from_a_url_to_a_url(memory: Any, corpus: Path, tmp_path: Path) -> None:
    settings = EncodeSettings(append_eot=True, val_fraction=0.3, shuffle=True, seed=3)
    memory.pipe_file("/in/corpus.txt", corpus.read_bytes())
    encode("memory://in/*.txt", TARGET, settings=settings)
    encode(corpus, tmp_path / "out" / "data", settings=settings)
    remote_files, local_files = there(memory), on_disk(tmp_path / "out")
    assert remote_files.keys() == local_files.keys()
    different = {name for name in local_files if remote_files[name] != local_files[name]}
    assert different == {"data/manifest.json"}  # it names the inputs
    (told,) = Manifest.from_json(remote_files["data/manifest.json"].decode()).inputs
    assert (told["path"], told["bytes"]) == ("memory://in/corpus.txt", corpus.stat().st_size)


def test_progress_of_the_upload(memory: Any, corpus: Path) -> None:
    told: list[Progress] = []
    encode(corpus, TARGET, progress=told.append)
    last = told[-1]
    assert (last.phase, last.unit, last.finished) == ("upload", "bytes", True)
    assert last.done == last.total == sum(map(len, there(memory).values()))


# --- what is there --------------------------------------------------------------------------------


def test_nothing_is_replaced_but_by_force(memory: Any, corpus: Path) -> None:
    for url, output in ((TARGET, SHARDS), ("memory://out/ids", ONE)):
        encode(corpus, url, output)
        before = there(memory)
        with pytest.raises(OutputError, match=f"^{url}.*--force"):
            encode(corpus, url, output)
        assert there(memory) == before
    assert not leftovers()


def test_by_force_all_of_the_older_goes(memory: Any, corpus: Path, tmp_path: Path) -> None:
    encode(corpus, TARGET, OutputSettings("bin", shard_tokens=100))
    encode(corpus, TARGET, force=True)
    encode(corpus, tmp_path / "out" / "data")
    assert there(memory) == on_disk(tmp_path / "out")


def test_a_folder_of_others_is_not_touched(memory: Any, corpus: Path) -> None:
    memory.pipe_file("/out/data/thesis.txt", b"years")
    for force in (False, True):
        with pytest.raises(OutputError, match=r"holds other files \(thesis\.txt\)"):
            encode(corpus, TARGET, force=force)
    assert there(memory) == {"data/thesis.txt": b"years"}


@pytest.mark.parametrize(
    ("url", "output", "message"),
    [
        ("https://host/data", SHARDS, "a web server takes no files"),
        ("memory://out/data?x=1", SHARDS, "a web server takes no files"),
        ("memory://out/", ONE, "is a folder; name a file"),
        ("memory://out", ONE, "is a folder; name a file"),
        ("nosuch://out/ids", ONE, "no file system is known for nosuch://"),
    ],
)
def test_outputs_that_cannot_be(corpus: Path, url: str, output: OutputSettings, message: str) -> None:
    with pytest.raises(OutputError, match=message):
        encode(corpus, url, output)
    assert not leftovers()


# --- what goes wrong ------------------------------------------------------------------------------


class Faulty:
    """A `put_file` that fails after it wrote a part, from the n-th call on, so many times."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, first: int, n_faults: int, error: Exception) -> None:
        self.n_calls, self._first, self.n_faults, self._error = 0, first, n_faults, error
        self._put = type(fsspec.filesystem("memory")).put_file
        monkeypatch.setattr(type(fsspec.filesystem("memory")), "put_file", lambda *args: self(*args))

    def __call__(self, file_system: Any, here: str, place: str) -> None:
        self.n_calls += 1
        if self.n_calls >= self._first and self.n_faults:
            self.n_faults -= 1
            file_system.pipe_file(place, Path(here).read_bytes()[:10])
            raise self._error
        self._put(file_system, here, place)


def test_an_upload_that_breaks_is_tried_again(
    memory: Any, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulty = Faulty(monkeypatch, first=2, n_faults=3, error=ConnectionResetError(104, "reset"))
    encode(corpus, TARGET)
    assert faulty.n_faults == 0
    encode(corpus, tmp_path / "out" / "data")
    assert there(memory) == on_disk(tmp_path / "out")


@pytest.mark.parametrize("first", [1, 2, 5, 12])
def test_one_that_fails_leaves_nothing_under_the_name_and_goes_on(
    memory: Any, corpus: Path, tmp_path: Path, first: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        Faulty(patch, first, 10**6, OSError("the server is on fire"))
        with pytest.raises(
            OutputError, match=r"memory://out/data/.*cannot be uploaded: .*on fire; tried 5"
        ) as caught:
            encode(corpus, TARGET)
    assert "--resume" in caught.value.__notes__[-1]
    encode(corpus, tmp_path / "out" / "data")
    whole = on_disk(tmp_path / "out")
    found = there(memory)
    assert len(found) == first - 1  # none of them cut short, and no manifest
    assert found.items() <= whole.items()
    assert "data/manifest.json" not in found
    with pytest.raises(OutputError, match="an earlier run was interrupted"):
        encode(corpus, TARGET)
    with pytest.MonkeyPatch.context() as patch:
        calls = Faulty(patch, 1, 0, OSError())
        encode(corpus, TARGET, resume=True)
        assert calls.n_calls == len(whole) - len(found)
    assert there(memory) == whole
    assert not leftovers()


def test_access_denied_is_told_at_once(memory: Any, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faulty = Faulty(monkeypatch, 1, 10**6, PermissionError("Access Denied"))
    with pytest.raises(OutputError, match="cannot be uploaded: PermissionError: Access Denied"):
        encode(corpus, TARGET)
    assert faulty.n_calls == 1
    assert not there(memory)


def test_a_run_that_was_broken_off_goes_on(memory: Any, corpus: Path, tmp_path: Path) -> None:
    """Before or after every step; then `resume`, then all is as if it had never happened."""
    encode(corpus, tmp_path / "out" / "data")
    whole = on_disk(tmp_path / "out")
    memory.pipe_file("/in/corpus.txt", corpus.read_bytes())
    with pytest.MonkeyPatch.context() as patch, making.busy_journal(), making.small_buffers(4096):
        breaker = making.Breaker(patch)
        breaker.start(0)
        encode(corpus, TARGET)
        n_steps = breaker.n_steps
        for n in range(1, n_steps + 1, max(1, n_steps // 12)):
            memory.rm("/out", recursive=True)
            breaker.start(n)
            with pytest.raises(BrokenOff):
                encode(corpus, TARGET)
            assert not memory.exists("/out")
            breaker.start(0)
            encode(corpus, TARGET, resume=True)
            assert there(memory) == whole, breaker.names
            assert not leftovers()


def test_force_forgets_an_interrupted_upload(memory: Any, corpus: Path, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        Faulty(patch, 3, 10**6, PermissionError("denied"))
        with pytest.raises(OutputError):
            encode(corpus, TARGET, OutputSettings("bin", shard_tokens=100))
    assert len(there(memory)) == 2
    encode(corpus, TARGET, force=True)
    encode(corpus, tmp_path / "out" / "data")
    assert there(memory) == on_disk(tmp_path / "out")
    assert not leftovers()


def test_one_that_was_broken_off_behind_its_end(memory: Any, corpus: Path, tmp_path: Path) -> None:
    encode(corpus, TARGET, OutputSettings("bin", shard_tokens=100))

    def stop(progress: Progress) -> None:
        if progress.phase == "upload" and progress.finished:
            raise BrokenOff

    with pytest.raises(BrokenOff):
        encode(corpus, TARGET, force=True, progress=stop)
    encode(corpus, TARGET, resume=True)
    encode(corpus, tmp_path / "out" / "data")
    assert there(memory) == on_disk(tmp_path / "out")
    assert not leftovers()


def test_resume_does_nothing_where_all_is_there(
    memory: Any, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = encode(corpus, TARGET)
    faulty = Faulty(monkeypatch, 1, 0, OSError())
    assert encode(corpus, TARGET, resume=True) == made
    assert faulty.n_calls == 0
    with pytest.raises(OutputError, match="holds a dataset"):
        encode(corpus, TARGET, OutputSettings("bin", shard_tokens=100), resume=True)
    assert not leftovers()


def test_an_error_of_the_encoding_leaves_nothing(memory: Any, tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(b"low \xff")
    with pytest.raises(BpenbError, match="not valid UTF-8"):
        encode(path, TARGET)
    assert not there(memory)
    assert not leftovers()


def test_an_input_that_changes_meanwhile(memory: Any, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.pipe_file("/in/corpus.txt", corpus.read_bytes())

    def change(progress: Progress) -> None:
        memory.pipe_file("/in/corpus.txt", corpus.read_bytes())

    for inputs in ("memory://in/corpus.txt", "memory://in"):
        with pytest.raises(BpenbError, match="was changed or removed while it was read"):
            encode(inputs, TARGET, progress=change)
    assert not there(memory)


def test_a_folder_of_somebody_else_is_not_used(
    memory: Any, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    staging_folder(TARGET).mkdir()
    monkeypatch.setattr("os.getuid", lambda: -1, raising=False)
    with pytest.raises(OutputError, match="is somebody else's"):
        encode(corpus, TARGET, force=True)
