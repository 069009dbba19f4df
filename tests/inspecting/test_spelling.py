from __future__ import annotations

import re

import pytest
from bpenb._spelling import spell_bytes
from hypothesis import given
from hypothesis import strategies as st

ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|.)")


def unspell(text: str) -> bytes:
    """The bytes that a spelling stands for: the definition, backwards."""
    found, position = b"", 0
    for escape in ESCAPE.finditer(text):
        found += text[position : escape.start()].encode()
        kind, digits = escape[1][0], escape[1][1:]
        if kind == "x":
            found += bytes([int(digits, 16)])
        elif kind in "uU":
            found += chr(int(digits, 16)).encode()
        else:
            found += {"n": b"\n", "r": b"\r", "t": b"\t", "\\": b"\\"}[kind]
        position = escape.end()
    return found + text[position:].encode()


@pytest.mark.parametrize(
    ("data", "spelled"),
    [
        (b" low", " low"),
        ("été 中".encode(), "été 中"),
        (b"\n\r\t\0\x1b[31m", r"\n\r\t\x00\x1b[31m"),
        (b"\xe4\xb8", r"\xe4\xb8"),
        (b"\xad\xe4", r"\xad\xe4"),
        ("\u0085\u00a0\u2028".encode(), r"\u0085\u00a0\u2028"),
        ("a\u202eb\u200d\ufeff".encode(), r"a\u202eb\u200d\ufeff"),
        ("\U000e0041".encode(), r"\U000e0041"),
        (b"\xed\xa0\x80", r"\xed\xa0\x80"),  # a surrogate, which is no UTF-8
        (rb"\n", r"\\n"),
        (b"[bold]<b>", "[bold]<b>"),
        (b"", ""),
    ],
)
def test_hand_cases(data: bytes, spelled: str) -> None:
    assert spell_bytes(data) == spelled


@given(st.binary(max_size=12) | st.text(max_size=8).map(str.encode))
def test_nothing_is_lost_and_nothing_hidden(data: bytes) -> None:
    spelled = spell_bytes(data)
    assert spelled.isprintable()
    assert unspell(spelled) == data
