"""The word table, the front table before it, and the order in which words come out."""

from __future__ import annotations

import random

import numpy as np
import pytest
from bpenb._jit import JIT_DISABLED
from bpenb.corpus import FilledRoom
from bpenb.counting import WordTable, gather
from bpenb.counting.order import first_disorder
from bpenb.counting.tally import FRONT_ROWS
from bpenb.counting.tally_worker import TallyWorker
from bpenb.errors import CountsError
from bpenb.patterns import resolve_pattern
from bpenb.pretokenize import CompiledEngine, ScanBuffer
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.kernels

MOST = 2**63 - 1


def arrays_of(counts: dict[bytes, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    words = list(counts)
    offsets = np.cumsum([0, *map(len, words)])
    return (
        np.frombuffer(b"".join(words), dtype=np.uint8),
        offsets,
        np.array([counts[w] for w in words], dtype=np.int64),
    )


def listed(arrays: tuple[np.ndarray, np.ndarray, np.ndarray]) -> list[tuple[bytes, int]]:  # type: ignore[type-arg]
    word_bytes, offsets, counts = arrays
    raw = word_bytes.tobytes()
    bounds = offsets.tolist()
    return [(raw[a:b], n) for a, b, n in zip(bounds[:-1], bounds[1:], counts.tolist(), strict=True)]


def table_of(counts: dict[bytes, int], n_slots: int = 8) -> WordTable:
    table = WordTable(n_slots, 64)
    table.add(*arrays_of(counts))
    return table


LENGTHS = [1, 2, 7, 8, 9, 14, 15, 16, 17, 23, 24, 40]
words = st.sampled_from(LENGTHS).flatmap(
    lambda n: st.lists(st.sampled_from([0, 1, 97, 255]), min_size=n, max_size=n).map(bytes)
)


@settings(max_examples=60 if not JIT_DISABLED else 15)
@given(
    st.lists(st.dictionaries(words, st.integers(1, 2**41), min_size=1, max_size=40), min_size=1, max_size=3)
)
def test_words_and_counts_come_out_in_order(parts: list[dict[bytes, int]]) -> None:
    total: dict[bytes, int] = {}
    table = WordTable(8, 64)
    for part in parts:
        table.add(*arrays_of(part))
        for word, count in part.items():
            total[word] = total.get(word, 0) + count
    assert len(table) == len(total)
    assert listed(table.to_arrays()) == sorted(total.items())


def test_words_that_agree_in_fifteen_bytes_and_more() -> None:
    stem = b"sixteen letters!"
    counts = {stem[:n]: n for n in (13, 14, 15, 16)} | {stem + bytes([n]): n + 1 for n in range(40)}
    counts |= {stem + b"\0" * n: n for n in range(1, 20)} | {stem[:14] + b"\0": 5, stem[:15] + b"\0": 6}
    assert listed(table_of(counts).to_arrays()) == sorted(counts.items())


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("large", [1 << 16, 40])
def test_tables_are_gathered_for_any_number_of_threads(
    workers: int, large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gather, "LARGE", large)  # 40: buckets are sorted in pieces and merged
    choose = random.Random(workers)
    total: dict[bytes, int] = {}
    tables = []
    for _ in range(3):
        part = {
            b" w" + bytes(choose.choices(b"abc\0", k=choose.choice(LENGTHS))): choose.randint(1, 9)
            for _ in range(300)
        }
        tables.append(table_of(part).arrays)
        for word, count in part.items():
            total[word] = total.get(word, 0) + count
    assert listed(gather.gather_tables(tables, workers)) == sorted(total.items())


def test_a_count_that_passes_int64_is_refused() -> None:
    table = table_of({b"a": MOST, b"a longer word than fifteen": MOST})
    assert listed(table.to_arrays())[0] == (b"a", MOST)
    for word in (b"a", b"a longer word than fifteen"):
        with pytest.raises(CountsError, match=r"passes 2\*\*63 - 1"):
            table.add(*arrays_of({word: 1}))
    with pytest.raises(CountsError, match=r"passes 2\*\*63 - 1"):
        gather.gather_tables([table_of({b"b": MOST}).arrays, table_of({b"b": 1}).arrays], 2)


def count_text(text: bytes, worker: TallyWorker) -> None:
    buffer = ScanBuffer(len(text))
    buffer.fill(text)
    filled = FilledRoom(buffer)
    filled.add(len(text), "text", 0)
    worker.count(filled)


def test_pretokens_move_from_the_front_table_to_the_word_table() -> None:
    n_words = 300 if JIT_DISABLED else 3 * FRONT_ROWS  # compiled: most rows change hands
    text = " ".join(f"w{n % n_words} x" for n in range(2 * n_words)).encode()
    worker = TallyWorker(CompiledEngine(resolve_pattern("whitespace")), "strict")
    count_text(text, worker)
    expected: dict[bytes, int] = {b" ": text.count(b" ")}
    for word in text.split():
        expected[word] = expected.get(word, 0) + 1
    assert worker.n_pretokens == sum(expected.values())
    assert listed(worker.finish().to_arrays()) == sorted(expected.items())


def test_first_disorder() -> None:
    for texts, at in (
        ([b"a", b"ab", b"b"], -1),
        ([b"a", b"a"], 0),
        ([b"a", b"c", b"b"], 1),
        ([b"ab", b"a"], 0),
        ([], -1),
    ):
        offsets = np.cumsum([0, *map(len, texts)])
        data = np.array(list(b"".join(texts)), dtype=np.uint8)
        assert first_disorder(data, offsets) == at, texts
