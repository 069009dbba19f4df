"""The byte map, both directions."""

from __future__ import annotations

import pytest
from bpenb.formats.byte_map import (
    BYTE_TO_CHARACTER,
    GPT2_BYTE_ORDER,
    from_printable,
    is_printable,
    to_printable,
)
from hypothesis import given
from hypothesis import strategies as st


@given(st.binary(max_size=40))
def test_there_and_back(token: bytes) -> None:
    printable = to_printable(token)
    assert printable == "".join(BYTE_TO_CHARACTER[byte] for byte in token)
    assert from_printable(printable) == token


def test_the_order_is_that_of_the_characters() -> None:
    assert [BYTE_TO_CHARACTER[byte] for byte in GPT2_BYTE_ORDER] == sorted(BYTE_TO_CHARACTER)
    assert [chr(byte) for byte in GPT2_BYTE_ORDER[:3]] == ["!", '"', "#"]


@pytest.mark.parametrize("character", [" ", "\n", "\r", "\x00", "\u00a0", "\u00ad", "\u0144", "中", "\ud800"])
def test_a_character_outside_the_map_is_named(character: str) -> None:
    assert not is_printable(character)
    with pytest.raises(ValueError, match=rf"\(U\+{ord(character):04X}\) stands for no byte"):
        from_printable("a" + character)


def test_equal_to_that_of_tokenizers() -> None:
    from tokenizers import pre_tokenizers

    assert sorted(pre_tokenizers.ByteLevel.alphabet()) == sorted(BYTE_TO_CHARACTER)
