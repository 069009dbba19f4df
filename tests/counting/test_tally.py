"""What tallying stands on: machine operations, ends found in planes, and words whose hashes are equal."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import numpy as np
import pytest
from bpenb import _intrinsics as machine
from bpenb._jit import JIT_DISABLED, kernel
from bpenb.corpus import FilledRoom
from bpenb.counting import WordTable
from bpenb.counting.order import HEADER, PADDING
from bpenb.counting.tally import QUEUE, ends_in_block
from bpenb.counting.tally_worker import TallyWorker
from bpenb.patterns import resolve_pattern
from bpenb.pretokenize import CompiledEngine, ScanBuffer, word_key
from bpenb.pretokenize.scalar_masks import scalar_byte_masks
from tests.counting.test_table import MOST, arrays_of, listed, table_of

pytestmark = pytest.mark.kernels

MULTIPLIER = 0x9E3779B97F4A7C15


@kernel
def ask_machine(text, numbers, masks, swapped, zeros, loaded, stored, equal):
    """Ask each operation about every place of a text. masks: uint64[n, 10], the others [n]; written."""
    for i in range(masks.shape[0]):
        answers = machine.byte_masks(text, i)
        for question in range(masks.shape[1]):
            masks[i, question] = answers[question]
        equal[i] = machine.equal_mask(text, i, text[i])
        loaded[i] = machine.load_u64(text, i)
        swapped[i] = machine.byte_swap(numbers[i])
        zeros[i] = machine.trailing_zeros(numbers[i])
        machine.prefetch(masks, i)
        machine.store_u64(stored, 8 * i + 3, numbers[i])


@kernel
def look_up(text, masks):
    """Ask the scalar twin of `byte_masks`. masks: uint64[n, 10], written."""
    for i in range(masks.shape[0]):
        answers = scalar_byte_masks(text, i)
        for question in range(masks.shape[1]):
            masks[i, question] = answers[question]


@pytest.mark.parametrize("seed", range(3))
def test_machine_operations_equal_their_plain_twins(seed: int) -> None:
    """And both the definition: the twin is what runs without JIT."""
    choose = random.Random(seed)
    n = 20 if JIT_DISABLED else 300
    text = np.array([*range(256), *choose.choices(range(256), k=n + 72)], dtype=np.uint8)
    numbers = np.array(
        [0, 1, 2**63, 2**64 - 1, *(choose.getrandbits(64) for _ in range(n - 4))], dtype=np.uint64
    )
    numbers[10:] &= np.uint64(2**64 - 1) << np.arange(n - 10, dtype=np.uint64) % np.uint64(64)
    masks = np.zeros((n, len(machine.BYTE_MASKS)), dtype=np.uint64)
    swapped, loaded, equal = (np.zeros(n, dtype=np.uint64) for _ in range(3))
    zeros, stored = np.zeros(n, dtype=np.int64), np.zeros(8 * n + 3, dtype=np.uint8)
    ask_machine(text, numbers, masks, swapped, zeros, loaded, stored, equal)
    for i in range(n):
        number = int(numbers[i])
        assert swapped[i] == machine._plain_byte_swap(numbers[i])
        assert swapped[i] == int.from_bytes(number.to_bytes(8, "little"), "big")
        assert zeros[i] == machine._plain_trailing_zeros(numbers[i])
        assert zeros[i] == next((k for k in range(64) if number >> k & 1), 64)
        assert loaded[i] == machine._plain_load_u64(text, i)
        assert loaded[i] == int.from_bytes(bytes(text[i : i + 8]), "little")
        assert equal[i] == machine._plain_equal_mask(text, i, text[i])
        assert equal[i] == sum(1 << k for k in range(64) if text[i + k] == text[i])
        assert tuple(masks[i]) == machine._plain_byte_masks(text, i)
        for mask, (_, ranges) in zip(masks[i].tolist(), machine.BYTE_MASKS, strict=True):
            inside = [any(a <= text[i + k] <= b for a, b in ranges) for k in range(64)]
            assert mask == sum(1 << k for k in range(64) if inside[k])
    looked_up = np.zeros_like(masks)
    look_up(text, looked_up)
    assert np.array_equal(looked_up, masks)
    assert stored[3:].tobytes() == b"".join(int(number).to_bytes(8, "little") for number in numbers)


def hash_step(state: int, eight_bytes: int) -> int:
    """One step of the hash of a longer word."""
    h = (state ^ eight_bytes) * MULTIPLIER & (2**64 - 1)
    return h ^ h >> 32


def words_of_one_hash(n: int) -> list[bytes]:
    """Different words of 24 bytes whose 64-bit hashes are equal: the second 8 bytes undo the first."""
    wanted = hash_step(24, 0)
    words = []
    for first in range(n):
        second = wanted ^ hash_step(24, first)
        words.append(first.to_bytes(8, "little") + second.to_bytes(8, "little") + b"the same")
    return words


@kernel
def write_key(text, start, length, key):
    """Write the two numbers of a word's key. key: uint64[2]."""
    first, second = word_key(text, start, length)
    key[0] = first
    key[1] = second


def key_of(word: bytes) -> tuple[int, int]:
    key = np.zeros(2, dtype=np.uint64)
    with np.errstate(over="ignore"):
        write_key(np.frombuffer(word + bytes(PADDING), dtype=np.uint8).copy(), 0, len(word), key)
    return int(key[0]), int(key[1])


def test_a_hash_is_never_taken_for_equality() -> None:
    words = words_of_one_hash(50)
    assert len(set(words)) == 50
    assert len({key_of(word) for word in words}) == 1
    counts = {word: n + 1 for n, word in enumerate(words)}
    table = table_of(counts)
    table.add(*arrays_of(counts))
    assert listed(table.to_arrays()) == sorted((word, 2 * n) for word, n in counts.items())


def test_keys_of_short_words_are_exact() -> None:
    words = {bytes([97] * n + [0] * zeros) for n in range(9) for zeros in range(8)} - {b""}
    words |= {bytes(range(1, n + 1)) for n in range(1, 16)}
    assert len({key_of(word) for word in words}) == len(words)
    assert all(key_of(word)[1] >> 56 == len(word) for word in words)


def test_a_table_keeps_its_words_while_it_grows() -> None:
    n = 60 if JIT_DISABLED else 20_000
    table = WordTable(1, 1)  # no room for anything
    counts = {b"%d" % i * (i % 5 + 1): 2**40 + i for i in range(n)}
    table.add(*arrays_of(counts))
    assert len(table) == len(counts) and listed(table.to_arrays()) == sorted(counts.items())
    assert table.arrays.slots.shape[0] // 8 * 5 >= n
    in_arena = sum(HEADER + len(word) for word in counts if len(word) > 15)
    assert table.arrays.cursor.tolist() == [len(counts), in_arena]


@kernel
def write_ends_in_blocks(starts, first, end, bits):
    """Call the helper that is compiled into others. bits: uint64[n], one number per block; written."""
    for k in range(first >> 6, (end >> 6) + 1):
        bits[k] = ends_in_block(starts, k, first, end)


@pytest.mark.parametrize("seed", range(4))
def test_pretokens_end_at_starts_and_at_the_end_of_a_segment(seed: int) -> None:
    """Whatever stands in the plane before the segment and behind it."""
    choose = random.Random(seed)
    for _ in range(10 if JIT_DISABLED else 300):
        first = choose.choice([0, 1, 62, 63, 64, 70])
        end = first + choose.choice([1, 2, 63, 64, 65, 128, 129, 400])
        density = choose.choice([0.01, 0.3, 1.0])
        marks = {first} | {i for i in range(640) if choose.random() < density}
        bits = np.zeros(640, dtype=bool)
        bits[list(marks)] = True
        found = np.zeros(10, dtype=np.uint64)
        write_ends_in_blocks(np.packbits(bits, bitorder="little").view(np.uint64), first, end, found)
        ends = np.flatnonzero(np.unpackbits(found.view(np.uint8), bitorder="little")).tolist()
        assert ends == sorted({i for i in marks if first < i < end} | {end})


@pytest.mark.parametrize("text", ["x ", "a word of its own ", "averylongwordofmorethanfifteenbytes "])
def test_tallying_goes_on_where_the_table_had_no_room(text: str) -> None:
    """Thousands of new words, short and long, in one buffer: the kernel stops and is called again."""
    n = 4 * QUEUE if JIT_DISABLED else 160 * QUEUE
    data = "".join(f"{text}{i}{text[:-1] * (i % 3)} " for i in range(n)).encode()
    buffer = ScanBuffer(len(data))
    buffer.fill(data)
    filled = FilledRoom(buffer)
    cut = data.index(b" ", len(data) // 2)  # two documents
    filled.add(cut, "text", 0)
    filled.add(len(data) - cut, "text", cut)
    worker = TallyWorker(CompiledEngine(resolve_pattern("gpt2")), "strict")
    worker.table = WordTable(512, 64)
    worker.count(filled)
    engine = CompiledEngine(resolve_pattern("gpt2"))
    expected: Counter[bytes] = Counter()
    for document in (data[:cut], data[cut:]):
        ends = [0, *engine.pretoken_ends(document).tolist()]
        expected.update(document[a:b] for a, b in itertools.pairwise(ends))
    assert worker.n_pretokens == expected.total()
    assert listed(worker.finish().to_arrays()) == sorted(expected.items())


def test_a_front_count_that_passes_int64_in_the_table_is_refused() -> None:
    worker = TallyWorker(CompiledEngine(resolve_pattern("whitespace")), "strict")
    worker.table.add(*arrays_of({b"a": MOST}))
    buffer = ScanBuffer(1)
    buffer.fill(b"a")
    filled = FilledRoom(buffer)
    filled.add(1, "text", 0)
    worker.count(filled)
    with pytest.raises(Exception, match=r"passes 2\*\*63 - 1"):
        worker.finish()
