"""The spellings of known patterns in published files: each is a known one, and cuts as it did."""

# ruff: noqa: E501  (regexes stand as they were published)

from __future__ import annotations

import functools
import itertools

import pytest
import regex
from bpenb._pattern_spellings import respell
from bpenb.patterns import ASCII_CASE, PATTERNS, THEN, SplitPattern, resolve_pattern
from bpenb.pretokenize import CompiledEngine, RegexEngine, is_known
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.pretokenizer import pretokens
from tests.pretokenize.scanning import ALPHABET, SMALL_ALPHABETS, batches, check_texts, strings

FOLDED = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
SHORT_FOLDED = r"'(?i:[sdmt]|ll|ve|re)"
PAIRS = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
SHORT_PAIRS = r"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])"
EVERY_CASE = "('s|'S|'t|'T|'re|'rE|'Re|'RE|'ve|'vE|'Ve|'VE|'m|'M|'ll|'lL|'Ll|'LL|'d|'D)"
LETTERS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
TAIL = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"


def o200k(contraction: str, numbers: str = r"\p{N}{1,3}") -> str:
    words = rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{contraction}?"
    capitals = rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{contraction}?"
    return rf"{words}|{capitals}|{numbers}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"


# where it stands, its regex, our name, whether upper case is ASCII alone
SPELLINGS = [
    ("GPT-2", r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", "gpt2", False),
    (
        "tiktoken's gpt2",
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
        "gpt2",
        False,
    ),
    ("tiktoken's gpt2 before", r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", "gpt2", False),
    ("tiktoken's cl100k at first", rf"{FOLDED}|{LETTERS}|\p{{N}}{{1,3}}|{TAIL}", "cl100k", False),
    (
        "tiktoken's cl100k later",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
        "cl100k",
        False,
    ),
    ("cl100k, every case spelled out", rf"{EVERY_CASE}|{LETTERS}|\p{{N}}{{1,3}}|{TAIL}", "cl100k", True),
    ("Llama 3", rf"{FOLDED}|{LETTERS}|\p{{N}}{{1,3}}|{TAIL}", "cl100k", False),
    ("Llama 3 in llama.cpp", rf"{PAIRS}|{LETTERS}|\p{{N}}{{1,3}}|{TAIL}", "cl100k", True),
    ("Qwen 2", rf"{FOLDED}|{LETTERS}|\p{{N}}|{TAIL}", "qwen2", False),
    ("Qwen 2 in llama.cpp", rf"{PAIRS}|{LETTERS}|\p{{N}}|{TAIL}", "qwen2", True),
    ("pairs behind one apostrophe", rf"{SHORT_PAIRS}|{LETTERS}|\p{{N}}|{TAIL}", "qwen2", True),
    (
        "possessive, one digit",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s*[\r\n]|\s+(?!\S)|\s",
        "qwen2",
        False,
    ),
    ("nanochat", rf"{SHORT_FOLDED}|[^\r\n\p{{L}}\p{{N}}]?+\p{{L}}+|\p{{N}}{{1,2}}| ?[^\s\p{{L}}\p{{N}}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+", "nanochat", False),
    ("o200k", o200k(FOLDED), "o200k", False),
    ("o200k, every case spelled out", o200k(EVERY_CASE), "o200k", True),
    ("o200k, pairs", o200k(PAIRS), "o200k", True),
]  # fmt: skip
every_spelling = pytest.mark.parametrize(
    ("spelling", "name", "is_ascii"), [row[1:] for row in SPELLINGS], ids=[row[0] for row in SPELLINGS]
)


@functools.cache
def spelled(spelling: str) -> regex.Pattern[str]:
    return regex.compile(spelling, regex.V0)


def cut(spelling: str, text: str) -> list[str]:
    """The matches, and what is between them, where groups do not matter."""
    found = [match.group() for match in spelled(spelling).finditer(text)]
    assert "".join(found) == text
    return found


@every_spelling
def test_a_spelling_is_a_known_pattern(spelling: str, name: str, is_ascii: bool) -> None:
    pattern = resolve_pattern(spelling)
    assert pattern == SplitPattern(name, (ASCII_CASE if is_ascii else PATTERNS)[name])
    assert pattern.is_ascii_case is is_ascii
    assert is_known(pattern)
    assert CompiledEngine(pattern).pattern_name == name
    assert resolve_pattern(pattern.regex) == pattern
    assert str(pattern) == (pattern.regex if is_ascii else name)


@every_spelling
def test_a_spelling_cuts_as_the_known_pattern_does(spelling: str, name: str, is_ascii: bool) -> None:
    ours = resolve_pattern(spelling).regex
    for length in (1, 2, 3):
        for text in strings(ALPHABET, length):
            assert cut(spelling, text) == cut(ours, text), text
    for text in itertools.chain(strings("aS'\u017f\n ", 5), strings("'lLvVeErR", 4)):
        assert cut(spelling, text) == cut(ours, text), text


@pytest.mark.parametrize("name", ["cl100k", "qwen2", "nanochat", "o200k"])
def test_the_compiled_engine_leaves_the_long_s_out(name: str) -> None:
    ours = ASCII_CASE[name]
    assert cut(ours, "x'\u017fa x'Sa") != cut(PATTERNS[name], "x'\u017fa x'Sa")
    check_texts(ours, list(strings(ALPHABET, 3)))
    for alphabet in SMALL_ALPHABETS:
        for batch in batches(strings(alphabet, 5)):
            check_texts(ours, batch)


@pytest.mark.parametrize(
    "other",
    [
        # At the end of a text, whitespace behind a newline stays with it.
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
        o200k(FOLDED).replace("]?[", "]?+["),  # the leader may be the mark that the word needs
        o200k(FOLDED, r"\p{N}"),
        rf"{FOLDED}|{LETTERS}|\p{{N}}{{1,4}}|{TAIL}",
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)",
    ],
)
def test_what_only_looks_alike_stays_itself(other: str) -> None:
    assert resolve_pattern(other) == SplitPattern(None, other)


@given(st.text("'sS\u017fa1 \n.", max_size=12), st.sampled_from([row[1] for row in SPELLINGS]))
def test_both_engines_cut_a_spelling_alike(text: str, spelling: str) -> None:
    pattern = resolve_pattern(spelling)
    data = text.encode()
    expected = RegexEngine(SplitPattern(None, spelling)).pretoken_ends(data).tolist()
    assert CompiledEngine(pattern).pretoken_ends(data).tolist() == expected
    assert RegexEngine(pattern).pretoken_ends(data).tolist() == expected


# --- several stages -------------------------------------------------------------------------------


def in_stages(text: str, stages: tuple[str, ...]) -> list[str]:
    """Each stage sees one pretoken of the stage before it, and nothing around."""
    found = [text]
    for stage in stages:
        found = [pretoken for stretch in found for pretoken in pretokens(stretch, stage)]
    return found


STAGES = (r"\d{1,2}", "[b-d]+", r"a(?!\S)|\s+(?!\S)|(x)y|[a-z ]*")


@given(st.text("abx y1\n", max_size=14), st.lists(st.sampled_from(STAGES), min_size=2, max_size=4))
def test_stages_run_one_after_the_other(text: str, stages: list[str]) -> None:
    pattern = resolve_pattern(THEN.join(stages))
    assert pattern.stages == tuple(stages)
    ends = RegexEngine(pattern).pretoken_ends(text.encode()).tolist()
    found = in_stages(text, pattern.stages)
    assert ends == list(itertools.accumulate(len(pretoken.encode()) for pretoken in found))


def test_a_known_pattern_among_stages_is_none_by_itself() -> None:
    pattern = resolve_pattern(rf"\d{THEN}{PATTERNS['gpt2']}")
    assert pattern.name is None
    assert pattern.stages == (r"\d", PATTERNS["gpt2"])
    assert not is_known(pattern)
    assert respell(pattern.regex) == pattern.regex
