"""A real S3 server on this machine, through s3fs: listing, ranges, connections that break, uploads."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpenb
import numpy as np
import pytest
import s3fs
from bpenb import EncodeSettings, OutputSettings
from bpenb import _remote as remote
from bpenb.corpus import resolve_sources
from bpenb.dataset import Manifest
from bpenb.errors import CorpusError, OutputError
from moto.server import ThreadedMotoServer
from tests.cli.running import command, environment
from tests.corpus.writing import write_rows
from tests.preparing import making
from tests.serving import CuttingProxy

SECRET = "hush-hush-4d5e6f"
TEXT = making.sample_text(60_000, 11)  # 400 kB
FILES = ("data/a.txt", "data/b.txt", "data/below/c.txt", "data/.hidden.txt", "data/d.py")


@pytest.fixture(scope="module")
def server() -> Iterator[CuttingProxy]:
    """The server, behind a proxy that can cut connections; no other is ever asked."""
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()):
        moto = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        moto.start()
        proxy = CuttingProxy(moto.get_host_and_port()[1])
        for name in [*os.environ]:
            if name.startswith(("AWS_", "FSSPEC_", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")):
                patch.delenv(name)
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{proxy.port}",
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_MAX_ATTEMPTS": "1",  # what is tried again is tried by us, or by s3fs
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }.items():
            patch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        yield proxy
        s3fs.S3FileSystem.clear_instance_cache()
        proxy.close()
        moto.stop()


@pytest.fixture
def s3(server: CuttingProxy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """A file system with one bucket."""
    monkeypatch.setattr(remote, "FIRST_WAIT", 0.001)
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    file_system = s3fs.S3FileSystem()
    file_system.mkdir("bucket")
    yield file_system
    server.cut(0)
    file_system.invalidate_cache()
    file_system.rm("bucket", recursive=True)


@pytest.fixture
def corpus(s3: Any, tmp_path: Path) -> Path:
    """Files in the bucket and the same in a folder."""
    folder = tmp_path / "corpus"
    for number, name in enumerate(FILES):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TEXT[number * 1000 :], encoding="utf-8")
    write_rows(folder / "data" / "below", [TEXT[n : n + 300] for n in range(0, 30_000, 300)], ".parquet")
    for path in folder.rglob("*"):
        if path.is_file():
            s3.pipe_file(f"bucket/{path.relative_to(folder).as_posix()}", path.read_bytes())
    return folder


def encode(inputs: Any, out: Any, **more: Any) -> Manifest:
    settings, output = EncodeSettings(append_eot=True), OutputSettings("bin", shard_tokens=20_000)
    return bpenb.encode_to_files(making.tokenizer(), inputs, out, settings, output, workers=2, **more)


def there(s3: Any, folder: str) -> dict[str, bytes]:
    s3.invalidate_cache()
    return {name.removeprefix(folder + "/"): s3.cat_file(name) for name in s3.find(folder)}


# --- inputs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern", ["data", "data/", "data/*.txt", "data/**/*.txt", "data/[ab].*", "data/a.txt"]
)
def test_listing(corpus: Path, pattern: str) -> None:
    on_disk = [Path(s.name).relative_to(corpus).as_posix() for s in resolve_sources(str(corpus / pattern))]
    found = resolve_sources(f"s3://bucket/{pattern}")
    assert [source.name for source in found] == [f"s3://bucket/{name}" for name in on_disk]
    assert [source.n_bytes for source in found] == [(corpus / name).stat().st_size for name in on_disk]


def test_training_is_that_of_the_disk(corpus: Path) -> None:
    there, here = (
        bpenb.train(files, vocab_size=400, workers=2) for files in ("s3://bucket/data", str(corpus / "data"))
    )
    assert there.merges == here.merges
    assert there.report is not None
    assert SECRET not in str(there.report)


def test_weights_caps_and_shares_are_those_of_the_disk(corpus: Path, tmp_path: Path) -> None:
    for share in ("1/2", "2/2"):
        for name, place in (("there", "s3://bucket"), ("here", str(corpus))):
            files = {f"{place}/data/a.txt": 2, f"{place}/data/b.txt": 1}
            how = {"shard": share, "max_bytes_per_source": 50_000, "workers": 1}
            bpenb.count_to_file(files, tmp_path / f"{name}.npz", force=True, **how)
        assert (tmp_path / "there.npz").read_bytes() == (tmp_path / "here.npz").read_bytes()


@pytest.mark.parametrize("engine", ["auto", "regex"])
def test_the_command_line_counts_in_threads_and_processes(s3: Any, tmp_path: Path, engine: str) -> None:
    data = TEXT.encode() * 12  # less is counted without processes
    (tmp_path / "large.txt").write_bytes(data)
    s3.pipe_file("bucket/large.txt", data)
    inputs = {"there": "s3://bucket/*.txt=2", "here": f"{tmp_path}/*.txt=2"}
    for name, files in inputs.items():
        how = ["--engine", engine, "--workers", "2", "--chunk-size", "65536", "--no-special-tokens"]
        subprocess.run(
            command("count", files, "-o", f"{name}.npz", *how, "--progress", "json"),
            cwd=tmp_path,
            env=environment(),
            check=True,
            capture_output=True,
            timeout=300,
        )
    assert (tmp_path / "there.npz").read_bytes() == (tmp_path / "here.npz").read_bytes()


def test_a_connection_that_breaks(
    corpus: Path, server: CuttingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = [source.path for source in resolve_sources("s3://bucket/data/a.txt")]
    server.cut(3, down=60_000)
    ids = making.tokenizer().encode_files(sources).ids
    assert server.n_done == 3
    assert np.array_equal(ids, making.tokenizer().encode_files(corpus / "data" / "a.txt").ids)
    server.cut(10**6, down=600)
    with pytest.raises(
        CorpusError, match=r"s3://bucket/data/a\.txt: cannot be read.*tried 5 times"
    ) as caught:
        making.tokenizer().encode_files(sources)
    assert SECRET not in repr(caught.value)


def test_what_is_not_there_or_not_allowed(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CorpusError, match=r"s3://bucket/nothing\.txt: cannot be read: there is no such file"):
        resolve_sources("s3://bucket/nothing.txt")
    with pytest.raises(CorpusError, match=r"s3://nobucket/\*\.txt: "):
        resolve_sources("s3://nobucket/*.txt")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    s3fs.S3FileSystem.clear_instance_cache()
    with pytest.raises(CorpusError, match=r"s3://bucket/data/a\.txt: cannot be read: .*[Cc]redentials"):
        resolve_sources("s3://bucket/data/a.txt")
    s3fs.S3FileSystem.clear_instance_cache()


# --- outputs --------------------------------------------------------------------------------------


def test_encoding_from_and_to_the_bucket(s3: Any, corpus: Path, tmp_path: Path) -> None:
    manifest = encode("s3://bucket/data", "s3://bucket/out/set")
    encode(corpus / "data", tmp_path / "set")
    found, here = there(s3, "bucket/out/set"), making.contents(tmp_path / "set")
    assert {name: data for name, data in found.items() if name != "manifest.json"} == {
        name: data for name, data in here.items() if name != "manifest.json"
    }
    told = Manifest.from_json(found["manifest.json"].decode())
    assert told == manifest
    assert [one["path"] for one in told.inputs] == [s.name for s in resolve_sources("s3://bucket/data")]
    assert SECRET.encode() not in b"".join(found.values())
    assert encode("s3://bucket/data", "s3://bucket/out/set", resume=True) == manifest
    with pytest.raises(OutputError, match="holds a dataset"):
        encode("s3://bucket/data", "s3://bucket/out/set")
    assert not [*Path(tempfile.gettempdir()).iterdir()]


def test_an_upload_that_breaks_and_one_that_fails(
    s3: Any, corpus: Path, tmp_path: Path, server: CuttingProxy
) -> None:
    encode(corpus / "data", tmp_path / "set")
    here = making.contents(tmp_path / "set")
    server.cut(2, up=30_000)
    encode(corpus / "data", "s3://bucket/out/set")
    assert server.n_done == 2
    assert there(s3, "bucket/out/set") == here
    server.cut(10**6, up=30_000)
    with pytest.raises(
        OutputError, match=r"s3://bucket/again/set/.*cannot be uploaded.*tried 5 times"
    ) as caught:
        encode(corpus / "data", "s3://bucket/again/set")
    assert SECRET not in repr(caught.value)
    server.cut(0)
    found = there(s3, "bucket/again/set")
    assert found.items() <= here.items()
    assert "manifest.json" not in found
    encode(corpus / "data", "s3://bucket/again/set", resume=True)
    assert there(s3, "bucket/again/set") == here


def test_a_bucket_that_is_not_there(s3: Any, corpus: Path) -> None:
    with pytest.raises(OutputError, match=r"s3://nobucket/set.*there is no such bucket or folder"):
        encode(corpus / "data", "s3://nobucket/set")
