"""Every code point of the class table against the live engines of others."""

from __future__ import annotations

import numpy as np
import pytest
import regex
import tiktoken
from bpenb.pretokenize.classes import CLASS_FLAGS, NUMBER, WHITESPACE, class_table
from tokenizers import Regex, pre_tokenizers

CLASSES = {"Lu": r"\p{Lu}", "Lt": r"\p{Lt}", "Ll": r"\p{Ll}", "Lm": r"\p{Lm}", "Lo": r"\p{Lo}", "M": r"\p{M}",
           "N": r"\p{N}", "S": r"\s"}  # fmt: skip
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
# Lm and Lo have the same flags: no pattern tells them apart.
GROUPS = [("Lu", "Lt"), ("Ll",), ("Lm", "Lo"), ("M",), ("N",), ("S",)]


def ours(names: tuple[str, ...]) -> set[int]:
    flags = {CLASS_FLAGS[name] for name in names}
    assert len(flags) == 1
    return set(np.flatnonzero(class_table() == flags.pop()).tolist())


def in_class(names: tuple[str, ...]) -> str:
    return "[" + "".join(CLASSES[name] for name in names) + "]"


@pytest.mark.parametrize("names", GROUPS, ids="+".join)
def test_tokenizers_knows_the_same_classes(names: tuple[str, ...]) -> None:
    split = pre_tokenizers.Split(Regex(in_class(names)), "removed")
    text = "".join(map(chr, CODE_POINTS))
    kept = {ord(c) for piece, _ in split.pre_tokenize_str(text) for c in piece}
    assert set(CODE_POINTS) - kept == ours(names)


@pytest.mark.parametrize("names", GROUPS, ids="+".join)
def test_tiktoken_knows_the_same_classes(names: tuple[str, ...]) -> None:
    """Each member is a piece of its own, and what is no member is dropped."""
    encoding = tiktoken.Encoding(
        "bytes",
        pat_str=in_class(names),
        mergeable_ranks={bytes([b]): b for b in range(256)},
        special_tokens={},
    )
    found: set[int] = set()
    for first in range(0, len(CODE_POINTS), 50_000):
        text = "".join(map(chr, CODE_POINTS[first : first + 50_000]))
        found |= set(map(ord, encoding.decode(encoding.encode_ordinary(text))))
    assert found == ours(names)


def test_the_regex_package_differs_only_where_its_unicode_is_newer() -> None:
    """It has code points that Unicode 16.0 does not assign, and calls U+0295 `Lo`, which was `Ll`."""
    text = "".join(map(chr, CODE_POINTS))
    differing: set[int] = set()
    for names in GROUPS:
        differing |= set(map(ord, regex.findall(in_class(names), text))) ^ ours(names)
    split = pre_tokenizers.Split(Regex(r"\p{Cn}"), "removed")  # of Unicode 16.0, as the tests above show
    assigned = {ord(c) for piece, _ in split.pre_tokenize_str(text) for c in piece}
    assert differing & assigned <= {0x295}
    assert not class_table()[sorted(differing - {0x295})].any()
    print(f"regex {regex.__version__}: {len(differing):,} code points differ")


def test_whitespace_is_25_code_points() -> None:
    expected = {0x20, 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
    expected |= set(range(9, 14)) | set(range(0x2000, 0x200B))
    assert set(np.flatnonzero(class_table() & WHITESPACE).tolist()) == expected and len(expected) == 25


def test_single_code_points() -> None:
    table = class_table()
    assert table[0x1C89] == CLASS_FLAGS["Lu"] and table[0x378] == 0 and table[0x1C] == 0
    assert table[0x295] == CLASS_FLAGS["Ll"] and table[ord("½")] == NUMBER
    assert not table[0xD800:0xE000].any()
    assert table.shape == (0x110000,) and table.dtype == np.uint8
