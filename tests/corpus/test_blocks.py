"""Buffers filled with text: every size, every cut, the right names."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest
from bpenb.corpus import CutFinder, FilledRoom, SpecialScanner, fill_from_documents, fill_from_files
from bpenb.errors import CorpusError
from bpenb.patterns import resolve_pattern
from bpenb.pretokenize import ScanBuffer
from tests.oracles.word_counter import count_words

SPECIALS = ("<s>", "aba")
TEXT = "one two\r\n\n  three <s>aba" + " 中文，\u3000é" * 3 + "\ufeff \0 ababa x" + "y" * 90 + " end\n"


def finder(pattern: str = "gpt2") -> CutFinder:
    return CutFinder(resolve_pattern(pattern), SpecialScanner(SPECIALS))


def taken(rooms: Iterable[FilledRoom]) -> list[tuple[str, int, bytes]]:
    """Every range with its name and place; each buffer is looked at before the next is filled."""
    found = []
    for filled in rooms:
        assert isinstance(filled.room, ScanBuffer)
        assert filled.room.n_bytes == filled.n_bytes and not filled.room.text[filled.n_bytes :][:72].any()
        for number, (start, end) in enumerate(filled.ranges.tolist()):
            found.append((*filled.label(number), filled.room.text[start:end].tobytes()))
    return found


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "o200k", r"\w+|\s"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 40, 100, 200, 1000])
def test_files_for_every_size_of_buffer(pattern: str, size: int, tmp_path: Path) -> None:
    contents = [TEXT.encode(), b"", b"short", TEXT.encode() * 2, b" "]
    paths = [tmp_path / f"{n}.txt" for n in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    found = taken(fill_from_files(paths, finder(pattern), lambda: ScanBuffer(size)))
    for path, content in zip(paths, contents, strict=True):
        own = [(base, data) for name, base, data in found if name == str(path)]
        assert b"".join(data for _, data in own) == content
        assert [base for base, _ in own] == [sum(len(d) for _, d in own[:n]) for n in range(len(own))]
    regex = resolve_pattern(pattern).regex
    assert count_words([data for _, _, data in found], regex, SPECIALS) == count_words(
        contents, regex, SPECIALS
    )


@pytest.mark.parametrize("size", [1, 2, 7, 30, 64, 1000])
def test_documents_for_every_size_of_buffer(size: int) -> None:
    documents = [b"a b", b"", TEXT.encode(), b"c", TEXT.encode() * 3]
    found = taken(fill_from_documents([[d] for d in documents], finder(), lambda: ScanBuffer(size)))
    for number, document in enumerate(documents):
        own = [(base, data) for name, base, data in found if name == f"document {number}"]
        assert b"".join(data for _, data in own) == document
        assert [base for base, _ in own] == [sum(len(d) for _, d in own[:n]) for n in range(len(own))]
    regex = resolve_pattern("gpt2").regex
    assert count_words([data for _, _, data in found], regex, SPECIALS) == count_words(
        documents, regex, SPECIALS
    )


def test_small_files_and_documents_share_a_buffer(tmp_path: Path) -> None:
    paths = [tmp_path / str(n) for n in range(10)]
    for path in paths:
        path.write_bytes(b"few words")
    rooms = list(fill_from_files(paths, finder(), lambda: ScanBuffer(1000)))
    assert [room.ranges.shape[0] for room in rooms] == [10]
    rooms = list(fill_from_documents([[b"few words"]] * 300, finder(), lambda: ScanBuffer(1000)))
    assert [room.ranges.shape[0] for room in rooms] == [111, 111, 78]


def test_a_buffer_grows_for_text_without_a_cut(tmp_path: Path) -> None:
    path = tmp_path / "genome"
    path.write_bytes(b"ACGT" * 10_000 + b" rest" * 10_000)
    found = taken(fill_from_files([path], finder(), lambda: ScanBuffer(64)))
    assert found[0][2].startswith(b"ACGT" * 10_000 + b" rest")
    assert len(found) > 100 and max(len(data) for _, _, data in found[1:]) <= 64


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"gone\.txt: cannot be read"):
        taken(fill_from_files([tmp_path / "gone.txt"], finder(), lambda: ScanBuffer(64)))
    path = tmp_path / "large"
    path.write_bytes(b"x" * 500)

    class Full(ScanBuffer):
        def grow(self, capacity: int) -> None:
            raise MemoryError

    with pytest.raises(CorpusError, match="no place to cut for 64 bytes"):
        taken(fill_from_files([path], finder(), lambda: Full(64)))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe_in_small_pieces(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write() -> None:
        with path.open("wb", buffering=0) as file:
            for n in range(0, len(TEXT.encode()), 7):
                file.write(TEXT.encode()[n : n + 7])

    writer = threading.Thread(target=write)
    writer.start()
    found = taken(fill_from_files([path], finder(), lambda: ScanBuffer(40)))
    writer.join()
    assert b"".join(data for _, _, data in found) == TEXT.encode()
