"""Safe cuts: the pretokens of the halves are the pretokens of the whole, for every cut that is allowed."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

import pytest
from bpenb.corpus import CutFinder, SpecialScanner
from bpenb.patterns import PATTERNS, SPACES, SplitPattern, resolve_pattern
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.pretokenizer import pretokens
from tests.oracles.specials import find_specials

# Letters of both cases and of neither, a mark, numbers, all kinds of whitespace, what patterns name.
TELLING = ["s", "S", "中", "\u0301", "1", "!", "'", "/", " ", "\t", "\n", "\r", "\u00a0", "\u3000"]
DISTINCT_PATTERNS = ["gpt2", "whitespace", "cl100k", "qwen2", "nanochat", "o200k", SPACES]
CUSTOM = r"\w+|\W"


def finder_of(pattern: str, special_tokens: tuple[str, ...] = ()) -> CutFinder:
    return CutFinder(resolve_pattern(pattern), SpecialScanner(special_tokens))


def all_cuts(finder: CutFinder, data: bytes, *, at_end: bool = True, start: int = 0) -> Iterator[int]:
    """Every place that `first` allows, by asking again behind the one it gave."""
    while (cut := finder.first(data, start, at_end=at_end)) is not None:
        assert cut >= start
        yield cut
        start = cut + 1


def cut_text(text: bytes, pattern: str, special_tokens: tuple[str, ...]) -> list[str]:
    """Pretokens and special tokens of a text, with a mark between those and these."""
    found = []
    position = 0
    for start, end in [*find_specials(text, special_tokens), (len(text), len(text))]:
        found += pretokens(text[position:start].decode(), PATTERNS.get(pattern, pattern))
        found += ["special " + text[start:end].decode()] if start < end else []
        position = end
    return found


@pytest.mark.parametrize("pattern", DISTINCT_PATTERNS)
def test_every_cut_is_safe_in_all_strings_to_length_4(pattern: str) -> None:
    finder = finder_of(pattern)
    split = functools.cache(functools.partial(pretokens, pattern=PATTERNS.get(pattern, pattern)))
    n_cuts = 0
    for length in range(2, 5):
        for characters in itertools.product(TELLING, repeat=length):
            data = "".join(characters).encode()
            for cut in all_cuts(finder, data):
                left, right = data[:cut].decode(), data[cut:].decode()
                assert split(left) + split(right) == split(left + right), (left, right)
                n_cuts += 1
    assert n_cuts > 10_000


@pytest.mark.parametrize(
    ("tokens", "alphabet"),
    [
        (("aba",), "ab "),
        (("a a", "a"), "a !\n"),
        (("\n\n", "\n"), "a\n "),
        (("ab", "bba", " b"), "ab "),
        (("aa",), "a "),
    ],
)
@pytest.mark.parametrize("pattern", ["gpt2", "o200k", CUSTOM])
def test_every_cut_is_safe_with_specials(pattern: str, tokens: tuple[str, ...], alphabet: str) -> None:
    finder = finder_of(pattern, tokens)
    split = functools.cache(functools.partial(cut_text, pattern=pattern, special_tokens=tokens))
    n_cuts = 0
    for length in range(2, {2: 11, 3: 8, 4: 7}[len(alphabet)]):
        for characters in itertools.product(alphabet, repeat=length):
            data = "".join(characters).encode()
            for cut in all_cuts(finder, data):
                assert split(data[:cut]) + split(data[cut:]) == split(data), (data, cut)
                n_cuts += 1
    assert n_cuts > 50


@pytest.mark.parametrize("tokens", [(), ("aba",), ("a \n",), ("\u3000!",)])
@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "o200k"])
def test_what_is_allowed_before_the_end_is_known_holds_whatever_follows(
    pattern: str, tokens: tuple[str, ...]
) -> None:
    finder = finder_of(pattern, tokens)
    for characters in itertools.product(["a", "b", "/", " ", "\n", "\u3000"], repeat=5):
        data = "".join(characters).encode()
        final = set(all_cuts(finder, data))
        for end in range(len(data)):
            early = set(all_cuts(finder, data[:end], at_end=False))
            assert early <= final, (data, end)
            assert {cut for cut in final if cut <= end - finder.margin} == early


@given(
    st.sampled_from(DISTINCT_PATTERNS),
    st.sampled_from([(), ("<s>",), ("aba", "b ")]),
    st.lists(st.sampled_from([*TELLING, "a", "b", "<s>", "\u0085", "\u2028", "\u200b", "😀"]), max_size=30),
)
def test_a_window_with_context_shows_the_same_cuts(
    pattern: str, tokens: tuple[str, ...], characters: list[str]
) -> None:
    finder = finder_of(pattern, tokens)
    data = "".join(characters).encode()
    whole = list(all_cuts(finder, data))
    for begin in range(0, len(data), 3):
        window = data[begin:]
        seen = [begin + cut for cut in all_cuts(finder, window, start=finder.context)]
        assert seen == [cut for cut in whole if cut >= begin + finder.context]


@given(
    st.sampled_from(DISTINCT_PATTERNS),
    st.lists(st.sampled_from(["a", " ", "\n", "中", "<s>"]), max_size=40),
    st.integers(0, 30),
)
def test_last_is_the_last_that_first_allows(pattern: str, characters: list[str], start: int) -> None:
    finder = finder_of(pattern, ("<s>",))
    data = "".join(characters).encode()
    for at_end in (True, False):
        cuts = [cut for cut in all_cuts(finder, data, at_end=at_end) if cut > start]
        assert finder.last(data, start, at_end=at_end) == (cuts[-1] if cuts else None)


@pytest.mark.parametrize("place", [1, 200, 300, 5_000])
def test_last_finds_a_cut_that_is_far_away(place: int) -> None:
    data = b"x" * place + b" " + b"y" * 5_000
    assert finder_of("gpt2").last(data, 0, at_end=True) == place
    assert finder_of("gpt2").last(data, place, at_end=True) is None


@pytest.mark.parametrize(
    ("pattern", "text", "cuts"),
    [
        ("gpt2", "a b\nc", [1, 3]),
        ("gpt2", ' \nl"', []),  # after a newline is wrong here
        ("gpt2", "a\u00a0 b\u3000\nc", []),  # what stands before is whitespace
        ("cl100k", "a b\nc", [1, 3, 4]),
        ("cl100k", "!\n\nx", [3]),  # punctuation takes the newlines along
        ("cl100k", "é\nx", [3]),  # whether é is a letter is not asked
        ("o200k", "!\n/x", []),
        ("cl100k", "!\n/x", [2]),
        ("whitespace", "a b\nc", [1, 3]),
        (CUSTOM, "a b\nc", []),
    ],
)
def test_rules(pattern: str, text: str, cuts: list[int]) -> None:
    assert list(all_cuts(finder_of(pattern), text.encode())) == cuts


def test_specials_are_cut_before_where_a_scan_is_sure_to_match() -> None:
    assert list(all_cuts(finder_of(CUSTOM, ("aba",)), b"xababax aba")) == [1, 8]
    assert list(all_cuts(finder_of("gpt2", ("[END OF DOC]",)), b"a [END OF DOC]b")) == [1, 2]


def test_names_of_one_pattern_have_one_rule() -> None:
    data = "a b\n!\n\n中 \n1 'x".encode()
    assert list(all_cuts(finder_of("llama3"), data)) == list(all_cuts(finder_of("cl100k"), data))
    assert list(all_cuts(CutFinder(SplitPattern(None, "x"), SpecialScanner(())), data)) == []


@given(st.lists(st.sampled_from(["a", " ", "\n", "<s>", "中"]), max_size=40), st.integers(1, 20))
def test_spans_cover_the_text_at_cuts(characters: list[str], n_bytes: int) -> None:
    finder = finder_of("gpt2", ("<s>",))
    data = "".join(characters).encode()
    spans = list(finder.spans(data, n_bytes))
    assert b"".join(data[a:b] for a, b in spans) == data
    assert {end for _, end in spans[:-1]} <= set(all_cuts(finder, data))
    assert all(end - start >= n_bytes for start, end in spans[:-1])
