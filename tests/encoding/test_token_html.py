"""An encoding in a notebook: the text is there, whole and escaped, and nothing else is."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from bpenb._spelling import spell_bytes
from bpenb.encoding import Tokenizer
from bpenb.encoding.token_html import MOST_TOKENS
from hypothesis import given
from hypothesis import strategies as st

VOCAB = {i: bytes([i]) for i in range(256)} | {256: b"ab", 257: b"\xa9\n"}
TOKENIZER = Tokenizer(VOCAB, [(b"a", b"b"), (b"\xa9", b"\n")], ["<s>"], "(?s:.+)")
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</span></div><style>*{display:none}</style>",
    "&lt;b&gt; &amp;amp;",
    "$x$ \\(y\\) \\href{javascript:alert(1)}{z}",
    "<!-- <s> --><s>",
    "javascript:alert(1)",
    "\u202eabc\u2066\u200b\x00\x1b[31m\x7f\ufeff",
]


class Seen(HTMLParser):
    """What a browser would make of it: tags, the tokens, and the rest of the text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.tokens: list[str] = []
        self.titles: list[str] = []
        self.other = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "br":
            self.open.append(tag)
        if tag == "span":
            self.tokens.append("")
            self.titles.append(str(dict(attrs)["title"]))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "span":
            self.tokens[-1] += data
        else:
            self.other += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def seen(text: str) -> Seen:
    encoding = TOKENIZER.encode_with_offsets(text)
    page = Seen()
    page.feed(encoding._repr_html_())
    page.close()
    assert not page.open
    assert set(page.tags) <= {"div", "span", "br", "details", "summary", "code"}
    assert page.attributes <= {"style", "title", "class"}
    return page


def check(text: str) -> None:
    page = seen(text)
    ids = TOKENIZER.encode(text)
    tokens = [TOKENIZER.token_bytes(i) for i in ids]
    assert page.tokens == list(map(spell_bytes, tokens))
    assert [int(title.split(",")[0].removeprefix("id ")) for title in page.titles] == ids
    assert page.tags.count("br") == sum(b"\n" in token for token in tokens)
    assert page.other == f"{len(ids):,} tokens, {len(text.encode()):,} bytes" + " ".join(map(str, ids))


@pytest.mark.parametrize("text", ["", "abé\nab<s>", "中😀", *HOSTILE])
def test_the_tokens_are_the_text(text: str) -> None:
    check(text)


@given(
    st.lists(st.sampled_from([*"<>&\"'`$\\\n\r\té中ab/=", "<s>", *HOSTILE]) | st.text(max_size=3)).map(
        "".join
    )
)
def test_random_texts(text: str) -> None:
    check(text)


def test_a_long_text_is_shown_in_part() -> None:
    text = "é" * MOST_TOKENS
    page = seen(text)
    assert len(page.tokens) == MOST_TOKENS
    assert f"… and {MOST_TOKENS:,} more tokens" in page.other
    assert f"{2 * MOST_TOKENS:,} tokens" in page.other


def test_mathematics_is_left_alone() -> None:
    html = TOKENIZER.encode_with_offsets("$x$")._repr_html_()
    assert 'class="tex2jax_ignore mathjax_ignore"' in html


def test_the_short_form_has_no_text() -> None:
    encoding = TOKENIZER.encode_with_offsets("secret")
    assert encoding.text == b"secret"
    assert "secret" not in repr(encoding)
