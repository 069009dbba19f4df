"""Compressed files: whole, in several members or frames, damaged, cut short; how much of them was read."""

from __future__ import annotations

import string
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from bpenb.corpus import Source
from bpenb.corpus.kinds import load_library
from bpenb.corpus.streams import open_stream
from bpenb.errors import CorpusError
from tests.corpus.writing import as_gzip, as_zstd, write_rows

TEXT = b"".join(b"%d low lower \xc3\xa9\r\n" % (n * n) for n in range(20_000))
EVERY = pytest.mark.parametrize("ending", [".gz", ".zst"])


def compress(ending: str, *parts: bytes) -> bytes:
    return as_gzip(*parts) if ending == ".gz" else as_zstd(*parts)


def read_all(path: Path, block: int = 10_000, offset: int | None = None) -> bytes:
    parts, view = [], memoryview(bytearray(block))
    with open_stream(Source(path), offset) as stream:
        while n := stream.readinto(view):
            parts.append(bytes(view[:n]))
        assert stream.n_disk_bytes == path.stat().st_size
    return b"".join(parts)


@EVERY
@pytest.mark.parametrize("block", [1, 7, 100_000, 1 << 22])
def test_all_members_and_frames(ending: str, block: int, tmp_path: Path) -> None:
    path = tmp_path / f"text{ending}"
    text = TEXT if block > 100 else TEXT[:3_000]
    cuts = [0, 1, 1, len(text) // 3, len(text) // 2, len(text)]  # an empty one too
    path.write_bytes(compress(ending, *(text[a:b] for a, b in pairwise(cuts))))
    assert read_all(path, block) == text


@EVERY
@pytest.mark.parametrize("offset", [0, 1, 5_000, len(TEXT) - 1, len(TEXT)])
def test_reading_goes_on_anywhere(ending: str, offset: int, tmp_path: Path) -> None:
    path = tmp_path / f"text{ending}"
    path.write_bytes(compress(ending, TEXT[:70_000], TEXT[70_000:]))
    assert read_all(path, offset=offset) == TEXT[offset:]
    plain = tmp_path / "text.txt"
    plain.write_bytes(TEXT)
    assert read_all(plain, offset=offset) == TEXT[offset:]


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_going_on_behind_the_end_is_an_error(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"text{ending}"
    path.write_bytes(compress(ending, b"low") if ending else b"low")
    with pytest.raises(CorpusError, match="became shorter"):
        read_all(path, offset=4)


@EVERY
def test_cut_short_anywhere(ending: str, tmp_path: Path) -> None:
    whole = compress(ending, TEXT[:300])
    path = tmp_path / f"text{ending}"
    for n in range(len(whole)):
        path.write_bytes(whole[:n])
        with pytest.raises(CorpusError, match=rf"text\{ending}: is damaged or cut short: ."):
            read_all(path)
        path.write_bytes(whole + whole[: n or 1])  # the first one is whole
        with pytest.raises(CorpusError, match="is damaged or cut short"):
            read_all(path)


@EVERY
def test_damage_and_what_is_no_compressed_file(ending: str, tmp_path: Path) -> None:
    whole = compress(ending, TEXT)
    path = tmp_path / f"text{ending}"
    for data in (b"plain text", whole + b"plain text", whole[:20] + b"\xff" * 50 + whole[70:]):
        path.write_bytes(data)
        with pytest.raises(CorpusError, match=rf"text\{ending}: is damaged or cut short"):
            read_all(path)


@EVERY
def test_nothing_compressed_is_an_empty_text(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"text{ending}"
    path.write_bytes(compress(ending, b""))
    assert read_all(path) == b""


def test_zeros_behind_gzip_are_padding(tmp_path: Path) -> None:
    path = tmp_path / "text.gz"
    path.write_bytes(as_gzip(b"low", b" lower") + bytes(512))
    assert read_all(path) == b"low lower"


def test_frames_of_zstd_that_are_to_be_skipped_and_large_windows(tmp_path: Path) -> None:
    zstd = load_library("zstd")
    skippable = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello"
    path = tmp_path / "text.zst"
    path.write_bytes(skippable + as_zstd(b"low") + skippable + as_zstd(b" lower") + skippable)
    assert read_all(path) == b"low lower"
    options = {zstd.CompressionParameter.window_log: 28, zstd.CompressionParameter.checksum_flag: 1}
    compressor = zstd.ZstdCompressor(options=options)  # its size is not told, so a reader trusts the window
    path.write_bytes(compressor.compress(TEXT) + compressor.flush())
    assert read_all(path) == TEXT


MEMORY = """
import sys
from pathlib import Path
from bpenb._memory import peak_rss_bytes, rss_bytes
from bpenb.corpus import CutFinder, SpecialScanner, fill_from_files, plan_ranges, resolve_sources
from bpenb.patterns import resolve_pattern
from bpenb.pretokenize import ScanBuffer

def read(path):
    room = ScanBuffer(1 << 19)
    finder = CutFinder(resolve_pattern("gpt2"), SpecialScanner(()))
    sources = resolve_sources(path)
    n_bytes = sum(part.n_bytes for part in plan_ranges(sources, finder, 1 << 18))
    assert n_bytes == sum(filled.n_bytes for filled in fill_from_files(sources, finder, lambda: room))
    return n_bytes

read(sys.argv[2])
before = rss_bytes()
print(read(sys.argv[1]), peak_rss_bytes() - before)
"""


@pytest.mark.parametrize("ending", [".txt.gz", ".txt.zst", ".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet"])
def test_memory_stays_small(ending: str, tmp_path: Path) -> None:
    """48 MB of text, which compress well, are read in 20 MB more than a few words are."""
    block = (string.ascii_letters + string.digits + " ") * 1_000 + "\n"
    path, small = tmp_path / f"large{ending}", tmp_path / f"small{ending}"
    if ending.startswith(".txt"):
        path.write_bytes(compress(ending[4:], *[block.encode() * 10] * 77))
        small.write_bytes(compress(ending[4:], b"low lower"))
    else:
        write_rows(tmp_path, [block] * 770, ending, "large", group=770)
        write_rows(tmp_path, ["low", "lower"], ending, "small")
    command = [sys.executable, "-c", MEMORY, str(path), str(small)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    n_bytes, more = map(int, run.stdout.split())
    assert n_bytes == 770 * len(block) > 48_000_000
    assert more < 20_000_000


def test_reading_while_somebody_holds_a_view(tmp_path: Path) -> None:
    """A profiler that samples frames keeps what they hold for a while."""
    path = tmp_path / "text.txt"
    path.write_bytes(b"low tower")
    held = []
    with open_stream(Source(path)) as stream:
        read_into = stream.readinto

        def readinto(view: memoryview) -> int:
            held.append(view)
            return read_into(view)

        stream.readinto = readinto  # type: ignore[method-assign]
        assert stream.read(4) == b"low "
        assert stream.read(100) == b"tower"
    assert len(held) > 2
