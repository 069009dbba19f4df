"""Published vocabs as `Tokenizer.load` reads them: ids equal to tiktoken's, in every way to encode."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import bpenb
import numpy as np
import pytest
import tiktoken
from bpenb import preparing
from bpenb.encoding import Tokenizer
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.encoding import published

EOT = "<|endoftext|>"
Both = tuple[Tokenizer, tiktoken.Encoding]


@pytest.fixture(scope="module", params=["gpt2", "cl100k", "o200k"])
def both(request: pytest.FixtureRequest, test_data: Path) -> Both:
    return published.load(test_data, request.param)


@pytest.fixture(scope="module")
def library() -> list[str]:
    """Modules of the standard library: real text that every machine has."""
    folder = Path(sysconfig.get_path("stdlib"))
    paths = [*sorted(folder.glob("*.py"))[::3], *sorted((folder / "encodings").glob("*.py"))[::2]]
    return [path.read_bytes().decode() for path in paths]


def same(both: Both, text: str) -> list[int]:
    """Encode in all ways that take a str; return the ids."""
    ours, theirs = both
    ids = theirs.encode(text, allowed_special="all")
    assert ours.encode(text) == ids
    assert ours.encode_ordinary(text) == theirs.encode_ordinary(text)
    assert list(ours.encode_iterable(text.splitlines(keepends=True))) == ids
    assert ours.encode_to_numpy(text).tolist() == ids
    assert ours.decode(ids) == text
    assert ours.decode_bytes(ids) == theirs.decode_bytes(ids)
    return ids


def ids_in_file(tokenizer: Tokenizer, path: Path, workers: int) -> list[int]:
    out = path.with_suffix(".npy")
    manifest = bpenb.encode_to_files(tokenizer, path, out, workers=workers, force=True)
    ids: list[int] = np.load(out).tolist()
    assert manifest.n_tokens == len(ids)
    return ids


# --- real text ------------------------------------------------------------------------------------


def test_the_standard_library(both: Both, library: list[str]) -> None:
    ours, theirs = both
    expected = theirs.encode_ordinary_batch(library, num_threads=2)
    assert sum(map(len, expected)) > 500_000
    assert ours.encode_batch(library, workers=2) == expected
    for workers in (1, 3):
        ids, offsets = ours.encode_batch_ragged(library, workers=workers)
        assert ids.tolist() == [i for row in expected for i in row]
        assert np.diff(offsets).tolist() == list(map(len, expected))
    assert [ours.encode(text) for text in library[:20]] == expected[:20]
    assert [ours.decode(row) for row in expected] == library


def test_files_of_documents(both: Both, library: list[str], tmp_path: Path) -> None:
    """Any number of workers gives the ids of the whole file, special tokens and all."""
    ours, theirs = both
    text = EOT.join(library)
    expected = theirs.encode(text, allowed_special="all")
    path = tmp_path / "library.txt"
    path.write_bytes(text.encode())
    for workers in (1, 2, 4):
        assert ids_in_file(ours, path, workers) == expected
    assert preparing.encode_to_arrays(ours, path, workers=2).ids.tolist() == expected
    total = bpenb.count_tokens(ours, path, workers=2).total
    assert (total.tokens, total.documents) == (len(expected), len(library))


def test_files_of_many_scripts(both: Both, test_data: Path) -> None:
    for name in ("address.txt", "german.txt", "corpus.en", "tinystories_sample.txt"):
        same(both, (test_data / name).read_bytes().decode())


# --- Unicode --------------------------------------------------------------------------------------


def test_every_code_point_in_all_company(both: Both) -> None:
    """Between letters of both cases, digits, marks, spaces; of the empty planes, some."""
    ours, theirs = both
    full = [*range(0x40000), *range(0xE0000, 0xE1000)]
    points = [*full, *range(0x40000, sys.maxunicode + 1, 257)]
    texts = []
    for start in range(0, len(points), 4096):
        some = [chr(c) for c in points[start : start + 4096] if not 0xD800 <= c < 0xE000]
        texts.append("".join(f"a{c}b{c}C 1{c}'{c} {c}{c}\n" for c in some))
    expected = theirs.encode_ordinary_batch(texts, num_threads=2)
    assert ours.encode_batch(texts) == expected
    assert [ours.decode(ids) for ids in expected] == texts


TELLING = [
    *"aBsStT'’ſKßẞİıǅΣςσÅ",  # cases, and what they fold to
    *"e\u0301\u0300\u0903\u093f\u0e31\u20dd\ufe0f\u200d",  # marks
    *"1234\u0663\u0967\u0be7\uff11\U0001d7d8Ⅻ½①",  # digits of scripts
    *" \t\n\r\u00a0\u0085\u2028\u3000\x1c\u200b",
    *"/.,_-—😀👩中日가नमمא\x00\ufeff\ufffd",
    *["'s", "'LL", "'Ve", " don't", "\r\n", "  ", "\n\n ", EOT, EOT[:-1], "<|endofprompt|>"],
]
texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    st.text(st.characters(max_codepoint=0x24F), max_size=60),
    st.lists(st.sampled_from(TELLING), max_size=40).map("".join),
    st.lists(st.sampled_from(TELLING) | st.characters(exclude_categories=["Cs"]), max_size=40).map("".join),
)


@settings(max_examples=400, deadline=None)
@given(texts)
def test_random_unicode(both: Both, text: str) -> None:
    same(both, text)


@pytest.mark.parametrize("unit", ["a", "^", "😀", "—", "中文", "\n", " ", "=", "0", "aB", "é", "\u0301"])
def test_long_pretokens(both: Both, unit: str) -> None:
    for n in (1, 15, 16, 17, 33, 100, 1000, 3000):
        same(both, unit * n)


# --- cuts -----------------------------------------------------------------------------------------

CUT = (
    f"It's the cats' 12345 tests.{EOT}\n\nIT'Sx  é中é\t{EOT}{EOT} x\r\n\r\n don'T\u3000x/\n/y <|endofprompt|>"
    f"<|fim_prefix|> e\u0301\u0301 camelCaseABC  \n  \n\t<|endo{EOT}of text \u00a0 ①½ 😀👨\u200d👩   "
)


def test_every_cut_in_two(both: Both) -> None:
    ours, theirs = both
    expected = theirs.encode(CUT, allowed_special="all")
    for place in range(len(CUT) + 1):
        assert list(ours.encode_iterable([CUT[:place], CUT[place:]])) == expected
    assert list(ours.encode_iterable(CUT)) == expected


@pytest.mark.parametrize("buffer_bytes", [1, 2, 3, 5, 17, 64, 300])
def test_files_in_tiny_buffers(
    both: Both, buffer_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever a buffer ends, and whoever encodes it."""
    monkeypatch.setattr("bpenb.preparing.encoding.BUFFER_BYTES", buffer_bytes)
    monkeypatch.setattr("bpenb.preparing.encoding.LEAST_BUFFER_BYTES", 1)
    ours, theirs = both
    path = tmp_path / "text.txt"
    for shift in range(6):
        text = "x" * shift + CUT * 3
        path.write_bytes(text.encode())
        expected = theirs.encode(text, allowed_special="all")
        for workers in (1, 3):
            assert ids_in_file(ours, path, workers) == expected
