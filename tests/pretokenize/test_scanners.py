"""The compiled scanners cut what `regex` cuts, on every string that could show a difference."""

from __future__ import annotations

import functools
import itertools
import random
import sysconfig
import time
from pathlib import Path

import numpy as np
import pytest
import regex
from bpenb._jit import JIT_DISABLED, kernel
from bpenb.errors import InvalidUtf8Error, PatternError
from bpenb.patterns import PATTERNS, SplitPattern, resolve_pattern
from bpenb.pretokenize import CompiledEngine, ScanBuffer, is_known
from bpenb.pretokenize.classes import class_table
from bpenb.pretokenize.planes import N_PLANES, PADDING, fill_planes
from tests.pretokenize.scanning import (
    ALPHABET,
    DISTINCT_PATTERNS,
    SMALL_ALPHABETS,
    batches,
    check_texts,
    engine_of,
    marked_bytes,
    strings,
)

every_pattern = pytest.mark.parametrize("pattern", DISTINCT_PATTERNS)
kernels = pytest.mark.kernels
ENGINES_SEE = tuple([r"\p{L}", r"\p{N}", r"\s", r"\p{M}", r"[\p{Lu}\p{Lt}]", r"\p{Ll}"])


@functools.cache
def characters() -> tuple[str, str]:
    """All characters but surrogates: those whose classes `regex` and our table agree on, and the others."""
    text = "".join(map(chr, itertools.chain(range(0xD800), range(0xE000, 0x110000))))
    flags = class_table()[np.frombuffer(text.encode("utf-32-le"), dtype="<u4")]
    agreed = np.ones(len(text), dtype=bool)
    letter, upper, lower = flags & 1 > 0, flags & 8 > 0, flags & 16 > 0
    ours = (
        letter,
        flags & 2 > 0,
        flags & 4 > 0,
        flags & 32 > 0,
        letter & upper & ~lower,
        letter & lower & ~upper,
    )
    for regex_class, our_class in zip(ENGINES_SEE, ours, strict=True):
        found = regex.findall(regex_class, text)
        theirs = np.zeros(0x110000, dtype=bool)
        theirs[np.frombuffer("".join(found).encode("utf-32-le"), dtype="<u4")] = True
        agreed &= theirs[np.frombuffer(text.encode("utf-32-le"), dtype="<u4")] == our_class
    return (
        "".join(itertools.compress(text, agreed.tolist())),
        "".join(itertools.compress(text, (~agreed).tolist())),
    )


# --- every string ---------------------------------------------------------------------------------


@every_pattern
def test_every_string_to_length_4(pattern: str) -> None:
    if JIT_DISABLED:
        pytest.skip("hours without JIT")
    n = sum(check_texts(pattern, batch) for k in range(1, 5) for batch in batches(strings(ALPHABET, k)))
    assert n == sum(len(ALPHABET) ** k for k in range(1, 5))


@every_pattern
@pytest.mark.parametrize("alphabet", SMALL_ALPHABETS)
def test_every_string_of_length_6_over_8_characters(pattern: str, alphabet: str) -> None:
    if JIT_DISABLED:
        pytest.skip("hours without JIT")
    assert sum(check_texts(pattern, batch) for batch in batches(strings(alphabet, 6))) == 8**6


@kernels
@every_pattern
@pytest.mark.parametrize("gap", ["", "'<|é\n ", "1", "\u0301"])
def test_every_short_string_between_others(pattern: str, gap: str) -> None:
    """What stands before or behind a segment, another one or a special token, is never looked at."""
    texts = [text for k in (1, 2) for text in strings(ALPHABET, k)]
    random.Random(gap).shuffle(texts)
    check_texts(pattern, texts, gap)
    if not JIT_DISABLED:
        texts = list(strings(ALPHABET, 3))
        random.Random(gap).shuffle(texts)
        check_texts(pattern, texts, gap)


# --- every place ----------------------------------------------------------------------------------


def runs(chance: random.Random, alphabet: str, n_runs: int, longest: int) -> str:
    """A text of runs of one character, most of them short, some over several blocks of 64 bytes."""
    return "".join(
        chance.choice(alphabet) * (1 if chance.random() < 0.7 else chance.randint(1, longest))
        for _ in range(n_runs)
    )


@kernels
@every_pattern
@pytest.mark.parametrize(
    "filler", ["a", " ", "\n", "1", "!", "é", "\u3000", "\U00020000", "!\n", "\n ", "\u2026"]
)
def test_every_place_in_a_block(pattern: str, filler: str) -> None:
    """Each text behind 0 to 63 characters of padding, in the same segment and in one of its own."""
    chance = random.Random(pattern + filler)
    texts = [runs(chance, ALPHABET, chance.randint(2, 6), 4) for _ in range(2 if JIT_DISABLED else 100)]
    for shift in range(0, 64, 9 if JIT_DISABLED else 1):
        padding = (filler * shift)[:shift]
        check_texts(pattern, [padding + text + padding[: 64 - shift] for text in texts])
        check_texts(pattern, list(itertools.chain.from_iterable((padding or "x", text) for text in texts)))


@kernels
@every_pattern
def test_runs_over_many_blocks(pattern: str) -> None:
    """What is carried from block to block: runs of whitespace, line ends, numbers, punctuation, letters."""
    chance = random.Random(pattern)
    for _ in range(2 if JIT_DISABLED else 60):
        alphabet = "".join(chance.sample(ALPHABET, 6))
        for longest in (70, 200) if JIT_DISABLED else (63, 64, 65, 130, 300):
            n_texts = 2 if JIT_DISABLED else 30
            check_texts(
                pattern, [runs(chance, alphabet, chance.randint(1, 12), longest) for _ in range(n_texts)]
            )


@every_pattern
@pytest.mark.parametrize(
    "what", ["1", "\u0663", "中A", " ", "\n", "\n ", "!\n", "'s", "\u0301", "\u3000", "A\u0301", "…"]
)
def test_time_is_linear_in_the_longest_run(pattern: str, what: str) -> None:
    """A megabyte of one thing is cut in well under a second (a quadratic scan took minutes)."""
    if JIT_DISABLED:
        pytest.skip("only compiled kernels are fast")
    check_texts(pattern, [what])  # compiles
    start = time.perf_counter()
    check_texts(pattern, [what * 300_000, "a" + what * 200_000])
    assert time.perf_counter() - start < 20


# --- every character ------------------------------------------------------------------------------


@kernels
@every_pattern
def test_random_text(pattern: str) -> None:
    """Characters of all planes and lengths, mixed with those that the patterns name."""
    agreed, _ = characters()
    chance = random.Random(pattern)
    named = ALPHABET * 2000
    for size in (3,) if JIT_DISABLED else (1, 2, 3, 10, 1000):
        n_texts = 20 if JIT_DISABLED else 40_000 // size
        texts = []
        for _ in range(n_texts):
            mixed = [chance.choice(agreed if chance.random() < 0.5 else named) for _ in range(size)]
            texts.append("".join(mixed))
        check_texts(pattern, texts)


@every_pattern
def test_every_character_among_others(pattern: str) -> None:
    """Every code point that both know alike, where it leads, follows, ends and begins a pretoken."""
    if JIT_DISABLED:
        pytest.skip("minutes without JIT")
    agreed, _ = characters()
    assert len(agreed) > 1_090_000
    for form in ("{0}", "a{0}A1{0} {0}!{0}"):
        for batch in batches(map(form.format, agreed)):
            check_texts(pattern, batch)


@every_pattern
def test_characters_of_another_unicode_version(pattern: str) -> None:
    """Where the installed `regex` is of another Unicode, `tokenizers` (16.0, as our table) decides."""
    tokenizers = pytest.importorskip("tokenizers")
    _, others = characters()
    step = 500 if JIT_DISABLED else 1
    splitter = tokenizers.pre_tokenizers.Split(tokenizers.Regex(PATTERNS[pattern]), "isolated")
    for character in others[::step]:
        text = f"a{character}A1{character} {character}!{character}\n{character}'s"
        theirs = [span[0] for _, span in splitter.pre_tokenize_str(text)]
        assert marked_characters(pattern, text) == theirs, ascii(text)


def marked_characters(pattern: str, text: str) -> list[int]:
    """Where the compiled engine lets a pretoken start, in characters."""
    data = text.encode()
    firsts = np.frombuffer(data, dtype=np.uint8) & 0xC0 != 0x80
    return np.flatnonzero(marked_bytes(pattern, data, np.array([[0, len(data)]]))[firsts]).tolist()


@every_pattern
def test_characters_of_another_unicode_version_as_tiktoken_has_them(pattern: str) -> None:
    """Every substring of a text is a token, so a pretoken is encoded as one: its length shows."""
    tiktoken = pytest.importorskip("tiktoken")
    _, others = characters()
    texts = [f"a{c}A{c} {c}!{c}" for c in others[:: 2000 if JIT_DISABLED else 10]]
    parts = {
        text[i:k].encode() for text in texts for i in range(len(text)) for k in range(i + 1, len(text) + 1)
    }
    ranks = {
        part: rank for rank, part in enumerate(sorted(parts | {bytes([b]) for b in range(256)}, key=len))
    }
    encoding = tiktoken.Encoding("all", pat_str=PATTERNS[pattern], mergeable_ranks=ranks, special_tokens={})
    for text in texts:
        theirs = [encoding.decode_single_token_bytes(token) for token in encoding.encode_ordinary(text)]
        ends = engine_of(pattern).pretoken_ends(text.encode()).tolist()
        ours = [text.encode()[a:b] for a, b in itertools.pairwise([0, *ends])]
        assert ours == theirs, ascii(text)


@functools.cache
def library_texts() -> list[str]:
    """The running Python's own modules, without the characters that the two Unicode versions disagree on."""
    removed = dict.fromkeys(map(ord, characters()[1]))
    folder = Path(sysconfig.get_path("stdlib"))
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in sorted(folder.glob("*.py"))]
    return [text if text.isascii() else text.translate(removed) for text in texts if text]


@every_pattern
def test_the_standard_library(pattern: str) -> None:
    """Real text, whole and in lines."""
    for text in library_texts():
        check_texts(pattern, [text])
        check_texts(pattern, text.splitlines(keepends=True), "<|end|>")
    assert sum(map(len, library_texts())) > 1_000_000


# --- UTF-8 ----------------------------------------------------------------------------------------

INVALID = [
    *[b"\x80", b"\xbf", b"\x80\x80", b"\xc2\xa0\xa0", b"\xe3\x80\x80\x80", b"\xf0\xa0\x80\x80\x80"],  # stray
    *[b"\xc3", b"\xe4", b"\xe4\xb8", b"\xf0", b"\xf0\xa0", b"\xf0\xa0\x80"],  # cut short
    *[
        b"\xc0\x80",
        b"\xc1\xbf",
        b"\xe0\x80\x80",
        b"\xe0\x9f\xbf",
        b"\xf0\x80\x80\x80",
        b"\xf0\x8f\xbf\xbf",
    ],  # overlong
    *[b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xed\xa0\xbd\xed\xb8\x80"],  # surrogates
    *[
        b"\xf4\x90\x80\x80",
        b"\xf5\x80\x80\x80",
        b"\xf7\xbf\xbf\xbf",
        b"\xf8\x88\x80\x80\x80",
        b"\xff",
        b"\xfe",
    ],
    *[
        b"\xc3\xc3\xa9",
        b"\xe4\xb8\xc3\xa9",
        b"\xf0\xa0\x80\xe4\xb8\xad",
        b"\xc3a\xa9",
        b"\xe4a\xb8\xad",
    ],  # interrupted
]
VALID = [
    text.encode()
    for text in (
        "a",
        "\x00",
        "\x7f",
        "\x80",
        "\u07ff",
        "\u0800",
        "\ud7ff",
        "\ue000",
        "\uffff",
        "\U00010000",
        "\U0010ffff",
        "\ufeff",
        "é中\U00020000",
    )
]


def is_utf8(data: bytes) -> bool:
    """Tell whether Python's decoder takes it."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_marked(ranges: list[bytes], *, buffer: ScanBuffer | None = None) -> bool:
    """Tell whether the engine takes consecutive ranges of one buffer."""
    buffer = buffer or ScanBuffer(1)
    buffer.fill(b"".join(ranges))
    ends = np.cumsum([0, *map(len, ranges)])
    return engine_of("whitespace").mark(buffer, np.stack([ends[:-1], ends[1:]], axis=1))


@kernels
@pytest.mark.parametrize("filler", [b"a", "é".encode(), "\u3000".encode(), "\U00020000".encode()])
def test_invalid_bytes_anywhere(filler: bytes) -> None:
    """Each kind of damage at each place relative to the end of a block, at the end of the text as well."""
    step = 13 if JIT_DISABLED else 1
    for data in INVALID + VALID:
        assert is_utf8(data) is (data in VALID)
        for shift in range(0, 67, step):
            before = (filler * 67)[: shift // len(filler) * len(filler)]
            for behind in (b"", b"b", "é".encode(), filler * 70):
                assert is_marked([before + data + behind]) is (data in VALID), (before, data, behind)
            if data in INVALID:
                with pytest.raises(InvalidUtf8Error) as error:
                    engine_of("gpt2").pretoken_ends(before + data)
                with pytest.raises(UnicodeDecodeError) as python:
                    (before + data).decode()
                assert f"{python.value.start:,}" in str(error.value) or str(python.value.start) in str(
                    error.value
                )


@kernels
def test_a_text_is_valid_if_all_its_ranges_are() -> None:
    """A character in two halves is no character, though the buffer as a whole is UTF-8."""
    for character in (data for data in VALID if len(data) > 1):
        for cut in range(1, len(character)):
            whole = is_utf8(character[:cut]) and is_utf8(character[cut:])
            for shift in (0, 1, 62, 63, 64, 65, 127):
                assert is_marked([b"a" * shift + character[:cut], character[cut:]]) is whole
                assert is_marked([b"a" * shift + character[:cut], character[cut:] + b"b"]) is whole


@kernels
def test_random_bytes_in_random_ranges() -> None:
    chance = random.Random(1)
    buffer = ScanBuffer(1)
    n_valid = 0
    for _ in range(100 if JIT_DISABLED else 20_000):
        parts = [chance.choice(VALID) for _ in range(chance.randint(1, 60))]
        if chance.random() < 0.4:
            parts[chance.randrange(len(parts))] = chance.choice(INVALID)
        data = b"".join(parts)
        cuts = sorted({0, len(data), *(chance.randint(0, len(data)) for _ in range(chance.randint(0, 3)))})
        ranges = [data[a:b] for a, b in itertools.pairwise(cuts)]
        expected = all(map(is_utf8, ranges))
        assert is_marked(ranges, buffer=buffer) is expected, ranges
        n_valid += expected
    assert n_valid > 10


@kernel
def are_valid(sequences, width, text, planes, classes, valid):
    """Check each row of `sequences` as a text of `width` bytes. uint8[n, 4]; valid: bool[n], written."""
    for row in range(sequences.shape[0]):
        for i in range(width):
            text[i] = sequences[row, i]
        valid[row] = fill_planes(text, width, classes, planes) < 0


def validity(sequences: np.ndarray, width: int) -> np.ndarray:
    """Return bool[n]: which rows of bytes the kernel takes for UTF-8."""
    valid = np.zeros(sequences.shape[0], dtype=np.bool_)
    text, planes = np.zeros(8 + PADDING, dtype=np.uint8), np.zeros((N_PLANES, 3), dtype=np.uint64)
    are_valid(np.ascontiguousarray(sequences), width, text, planes, class_table(), valid)
    return valid


def validity_in_python(sequences: np.ndarray, width: int) -> np.ndarray:
    """The same by Python's decoder, all rows at once: a byte it cannot decode becomes a surrogate."""
    rows = np.full((sequences.shape[0], width + 1), ord("\n"), dtype=np.uint8)
    rows[:, :width] = sequences[:, :width]
    text = rows.tobytes().decode(errors="surrogateescape")
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    escaped = (points >= 0xDC80) & (points <= 0xDCFF)
    lengths = 1 + ((points >= 0x80) & ~escaped) + ((points >= 0x800) & ~escaped) + (points >= 0x10000)
    valid = np.ones(sequences.shape[0], dtype=bool)
    valid[(np.cumsum(lengths) - lengths)[escaped] // (width + 1)] = False
    return valid


def grid(*bytes_of: np.ndarray | list[int]) -> np.ndarray:
    """Every combination of bytes: uint8[n, 4]."""
    columns = np.meshgrid(*(np.asarray(values, dtype=np.uint8) for values in bytes_of), indexing="ij")
    rows = np.zeros((columns[0].size, 4), dtype=np.uint8)
    for i, column in enumerate(columns):
        rows[:, i] = column.ravel()
    return rows


EDGES = [
    0x00,
    0x0A,
    0x41,
    0x7F,
    0x80,
    0x8F,
    0x90,
    0x9F,
    0xA0,
    0xBF,
    0xC0,
    0xC1,
    0xC2,
    0xDF,
    0xE0,
    0xED,
    0xEF,
    0xF0,
    0xF4,
    0xF5,
    0xFF,
]


@kernels
@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_every_sequence_of_bytes(width: int) -> None:
    """All of one, two and three bytes; of four, all leads with the edges of each class behind."""
    every = np.arange(256, dtype=np.uint8)
    n = 0
    for first in EDGES if JIT_DISABLED else range(256):
        some: list[np.ndarray | list[int]] = [every, every] if width < 4 else [EDGES, EDGES, EDGES]
        if JIT_DISABLED:
            some = [EDGES, EDGES[::4], EDGES[::4]]
        sequences = grid([first], *some[: width - 1])
        assert np.array_equal(validity(sequences, width), validity_in_python(sequences, width))
        n += sequences.shape[0]
    assert JIT_DISABLED or n == {1: 256, 2: 256**2, 3: 256**3, 4: 256 * len(EDGES) ** 3}[width]


def test_the_two_decoders_of_this_file_agree() -> None:
    sequences = grid(EDGES, EDGES, EDGES)
    one_by_one = [is_utf8(bytes(row[:3])) for row in sequences.tolist()]
    assert validity_in_python(sequences, 3).tolist() == one_by_one


# --- the door -------------------------------------------------------------------------------------


def test_a_buffer_is_used_again_and_grows() -> None:
    buffer, engine = ScanBuffer(3), engine_of("gpt2")
    for text in ("it's here, 中\u3000 and there " * 20, "", "a", "é" * 200, "  ", "x" * 64, "y" * 63 + "é"):
        buffer.fill(text.encode())
        assert buffer.n_bytes == len(text.encode()) <= buffer.capacity
        assert engine.mark(
            buffer, np.array([[0, buffer.n_bytes]][: buffer.n_bytes], dtype=np.int64).reshape(-1, 2)
        )
        assert not buffer.text[buffer.n_bytes : buffer.n_bytes + PADDING].any()
        ends = engine.pretoken_ends(text.encode())
        assert ends.dtype == np.int64
        found = regex.findall(PATTERNS["gpt2"], text)
        assert ends.tolist() == np.cumsum([len(f.encode()) for f in found], dtype=np.int64).tolist()


def test_only_known_patterns_are_compiled() -> None:
    assert all(is_known(resolve_pattern(name)) for name in PATTERNS)
    assert not is_known(SplitPattern(None, r"\w+|\W"))
    assert not is_known(SplitPattern("gpt2", r"\w+|\W"))
    with pytest.raises(PatternError, match="known: gpt2"):
        CompiledEngine(SplitPattern(None, r"\w+|\W"))
    assert set(PATTERNS) - set(DISTINCT_PATTERNS) == {"llama3"} and PATTERNS["llama3"] == PATTERNS["cl100k"]
