"""A text file as one text: the ids of the whole, wherever it is cut; what is not UTF-8; memory."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from bpenb.encoding import Tokenizer
from bpenb.errors import CorpusError, EncodingError, InvalidUtf8Error
from bpenb.preparing import EncodeSettings, encode_to_arrays
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.encoding.test_streaming import PLAIN, TOKENIZERS, byte_parts, texts
from tests.preparing.making import small_buffers


def ids_of(
    path: Path | str, tokenizer: Tokenizer = PLAIN, buffer_bytes: int = 1 << 20, **options: Any
) -> list[int]:
    with small_buffers(buffer_bytes):
        return encode_to_arrays(tokenizer, path, EncodeSettings(**options)).ids.tolist()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One name, written again and again."""
    return tmp_path_factory.mktemp("files") / "text"


@settings(max_examples=100, deadline=None)
@given(texts, st.integers(1, 30), st.sampled_from(list(TOKENIZERS)))
def test_a_file_has_the_ids_of_its_text(file: Path, text: str, buffer_bytes: int, name: str) -> None:
    file.write_bytes(text.encode())
    assert ids_of(file, TOKENIZERS[name], buffer_bytes) == TOKENIZERS[name].encode(text)


def test_nothing_in_a_file_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "text"
    for text in ("", "\r\n\r", "\ufeffx\x00y", "no newline"):
        path.write_bytes(text.encode())
        assert ids_of(path) == ids_of(str(path)) == PLAIN.encode(text)


@pytest.mark.parametrize("buffer_bytes", [1, 2, 3, 7, 1 << 20])
def test_invalid_utf8_is_refused_with_its_place(tmp_path: Path, buffer_bytes: int) -> None:
    path = tmp_path / "bad.txt"
    for good, bad in (
        ("é ok ", b"\xff tail"),
        ("é 中 ", b"\xe4\xb8 tail"),
        ("ok é ", b"\xe4\xb8"),
        ("", b"\x80"),
    ):
        path.write_bytes(good.encode() + bad)
        with pytest.raises(InvalidUtf8Error, match=f"byte {len(good.encode())} is not") as caught:
            ids_of(path, buffer_bytes=buffer_bytes)
        assert (caught.value.source, caught.value.offset) == (str(path), len(good.encode()))


@settings(max_examples=100, deadline=None)
@given(byte_parts, st.integers(1, 9), st.sampled_from(list(TOKENIZERS)))
def test_invalid_utf8_is_replaced_as_python_does(
    file: Path, parts: list[bytes], buffer_bytes: int, name: str
) -> None:
    data = b"".join(parts)
    file.write_bytes(data)
    assert ids_of(file, TOKENIZERS[name], buffer_bytes, errors="replace") == TOKENIZERS[name].encode(
        data.decode(errors="replace")
    )


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="missing"):
        ids_of(tmp_path / "missing.txt")
    with pytest.raises(CorpusError, match="is a folder without an input"):
        ids_of(tmp_path)
    with pytest.raises(ValueError, match="errors is 'ignore'"):
        ids_of(tmp_path, errors="ignore")


def test_a_missing_byte_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_bytes(b"a " * 50 + b"b")
    with pytest.raises(EncodingError, match=r"b\.txt: byte b'b' at offset 100"):
        ids_of(tmp_path / "b.txt", Tokenizer({0: b"a", 1: b" "}, []), buffer_bytes=16)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs on this system")
def test_a_fifo(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes(b"some words\n" * 20_000))
    writer.start()
    assert ids_of(path, buffer_bytes=5000) == PLAIN.encode("some words\n" * 20_000)
    writer.join()


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    line = b"the quick brown fox jumps over the lazy dog, and 12345 more of them.\n"
    (tmp_path / "small.txt").write_bytes(line * 150_000)
    (tmp_path / "large.txt").write_bytes(line * 1_500_000)
    code = f"""
from bpenb import Tokenizer, count_tokens
from bpenb._memory import peak_rss_bytes
tokenizer = Tokenizer({{i: bytes([i]) for i in range(256)}}, [])
count_tokens(tokenizer, {str(tmp_path / "small.txt")!r}, workers=2)
before = peak_rss_bytes()
counts = count_tokens(tokenizer, {str(tmp_path / "large.txt")!r}, workers=2)
assert counts.total.tokens == 1_500_000 * {len(line)}
print(peak_rss_bytes() - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 16_000_000  # of 103 MB of text and 206 MB of ids
