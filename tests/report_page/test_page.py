"""The page as it is written: whole, escaped, with a policy that lets its own script run and nothing else."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import bpenb
import numpy as np
import pytest
from bpenb._spelling import spell_bytes
from bpenb.errors import BpenbError, CorpusError, InvalidUtf8Error, OutputError
from bpenb.report_page.markup import escape, file_name, show_text
from bpenb.report_page.phases import training_phases
from bpenb.report_page.sections import phases_section, ranks_section
from bpenb.report_page.tokens import token_rows
from hypothesis import given
from hypothesis import strategies as st
from tests.report_page.hostile import NAME, TEXT, tokenizer
from tests.report_page.reading import Page

ALLOWED = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "a", "h1", "h2", "p", "dl", "div",
    "dt", "dd", "section", "figure", "figcaption", "details", "summary", "table", "thead", "tbody", "tr",
    "th", "td", "i", "aside", "span", "kbd", "noscript", "code", "footer", "script", "svg", "desc", "g",
    "path", "defs", "use", "text", "tspan", "clippath", "rect",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "id", "class", "href", "title", "data-ids",
    "data-c", "tabindex", "role", "aria-label", "aria-labelledby", "aria-live", "scope", "viewbox", "x",
    "y", "d", "transform", "fill", "stroke", "stroke-width", "stroke-linecap", "stroke-linejoin",
    "stroke-opacity", "opacity", "clip-path", "width", "height", "text-anchor",
}  # fmt: skip
HOSTILE_REPORT = {"seconds": {"</svg><script>window.hacked=40</script>": 1.0, "$x$": 2, "merge": 0.5}}


@pytest.fixture(scope="module")
def page(write: Callable[..., Path]) -> Page:
    file = NAME if os.name == "posix" else "text.txt"
    path = write(tokenizer(), TEXT, file, called=NAME, training=HOSTILE_REPORT)
    return Page(path.read_text("utf-8"))


def test_nothing_is_there_but_what_we_wrote(page: Page) -> None:
    assert {element.tag for element in page.elements} <= ALLOWED
    names = {name for element in page.elements for name in element.attributes}
    assert names <= ATTRIBUTES, names - ATTRIBUTES
    assert not page.comments
    n_plots = len(page.all("svg"))
    for name, n in (("script", 1), ("style", 1), ("main", 1), ("h1", 1), ("title", 1 + n_plots)):
        assert len(page.all(name)) == n
    links = {element.attributes["href"] for element in page.elements if "href" in element.attributes}
    assert all(link and re.fullmatch(r"#[\w-]+", link) for link in links)


def test_every_link_leads_to_something_that_is_there_once(page: Page) -> None:
    ids = [e.attributes["id"] for e in page.elements if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    for element in page.elements:
        for link in [element.attributes.get("href") or ""]:
            assert not link or link.removeprefix("#") in ids
        for named in (element.attributes.get("aria-labelledby") or "").split():
            assert named in ids
        clip = re.fullmatch(r"url\(#(.+)\)", element.attributes.get("clip-path") or "")
        assert not clip or clip[1] in ids


def test_the_policy_lets_one_style_and_one_script_in(page: Page) -> None:
    (policy,) = [e.attributes["content"] or "" for e in page.all("meta") if "http-equiv" in e.attributes]

    def digest(text: str) -> str:
        return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    (style,), (script,) = page.all("style"), page.all("script")
    assert policy.split("; ") == [
        "default-src 'none'",
        f"style-src '{digest(style.text)}'",
        f"script-src '{digest(script.text)}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert "innerHTML" not in script.text and "eval" not in script.text
    assert "url(" not in style.text and "@import" not in style.text


def test_the_passage_is_the_text(page: Page) -> None:
    """But for U+0000, which HTML cannot hold; the script puts it there (test_in_chromium.py)."""
    assert page.one("passage").text == TEXT.replace("\0", "")


def test_special_tokens_and_the_pattern_are_shown(page: Page) -> None:
    about = page.all("section")[-1].text
    for name in tokenizer().special_tokens:
        assert file_name(name) == escape(spell_bytes(name.encode()))
        assert spell_bytes(name.encode()) in about
    assert "gpt2" in about and "16.0.0" in about and "cs336" in about
    assert page.all("h1")[0].text == NAME


def test_rows_tell_what_there_is_to_tell(page: Page) -> None:
    model = tokenizer()
    ids = model.encode(TEXT)
    vocab, ranks = model.vocab, {left + right: rank for rank, (left, right) in enumerate(model.merges)}
    rows = {}
    for row in page.all("tr"):
        if "id" in row.attributes:
            rows[int((row.attributes["id"] or "")[1:])] = row
    assert set(ids) <= rows.keys()
    cells = [cell for cell in page.all("td")]
    for token_id in rows:
        mine = [cell for cell in cells if f"t{token_id}" in cell.inside]
        assert int(mine[0].text) == token_id
        assert bytes.fromhex(mine[2].text) == vocab[token_id]
        assert int(mine[4].text.replace(",", "")) == ids.count(token_id)
        token = vocab[token_id]
        if token in ranks and token_id not in model.special_tokens.values():
            assert int(mine[3].text.replace(",", "")) == ranks[token]
            parts = [e for e in page.all("a") if f"t{token_id}" in e.inside]
            joined = b"".join(vocab[int((part.attributes["href"] or "")[2:])] for part in parts)
            assert len(parts) == 2 and joined == token
        else:
            assert mine[3].text == ("byte" if len(token) == 1 else "special")


def test_plots_are_named_and_have_tables(page: Page) -> None:
    plots = page.all("svg")
    assert len(plots) == 5
    for plot in plots:
        assert plot.attributes["role"] == "img"
    tables = [e for e in page.all("details") if "plots" in e.inside]
    assert len(tables) == 5 and all("As a table" in e.text for e in tables)


# --- markup -----------------------------------------------------------------------------------------


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    | st.text(st.sampled_from("<>&\"'/!-ab;#\n\t\r\0\u202e"), max_size=20)
)
def test_shown_text_is_the_text(text: str) -> None:
    page = Page(f"<html>{show_text(text)}</html>")
    assert page.elements[0].text == text.replace("\0", "")
    assert {e.tag for e in page.elements[1:]} <= {"i"}
    for element in page.elements[1:]:
        assert element.attributes["class"] in ("nl", "tab", "c")


@given(st.text(max_size=20))
def test_names_are_one_line(name: str) -> None:
    text = Page(f"<html>{file_name(name)}</html>").elements[0].text
    assert text.isprintable()
    assert text == name or not name.isprintable()


# --- sections that have little to tell -----------------------------------------------------------------


@pytest.mark.parametrize(
    "report",
    [
        None,
        {},
        {"seconds": None},
        {"seconds": [1]},
        {"seconds": {"merge": "1"}},
        {"seconds": {"merge": float("nan"), "x": float("inf"), "y": -1.0, "z": True, "counting.read": 1.0}},
    ],
)
def test_phases_that_nobody_tells(report: object) -> None:
    assert training_phases(report) == {}  # type: ignore[arg-type]
    assert "nobody can tell" in phases_section({})


def test_phases_of_a_hostile_report(page: Page) -> None:
    (section,) = [e for e in page.all("section") if "Phases of the training" in e.text]
    assert "window.hacked=40" in section.text and "3.5 seconds in all" in section.text
    labels = [e.text for e in page.all("text")]
    assert "merge" in labels and not any("hacked" in label or "$" in label for label in labels)


@pytest.mark.parametrize("counts", [[1], [0, 5], [3, 3, 3], [10**12, 1, 0], list(range(300))])
def test_ranks_of_any_counts(counts: list[int]) -> None:
    vocab = {i: b"x" * (i + 1) for i in range(len(counts))}
    page = Page(ranks_section(np.array(counts), vocab))
    rows = [[c.text for c in page.all("td")][i : i + 5] for i in range(0, len(page.all("td")), 5)]
    assert int(rows[0][3].replace(",", "")) == max(counts)
    assert int(rows[-1][0].replace(",", "")) == sum(n > 0 for n in counts)


@pytest.mark.parametrize("text", ["a", "\n", "\0", "<|endoftext|>", "中", "\u202e", " " * 5000])
def test_the_smallest_texts(write: Callable[..., Path], text: str) -> None:
    plain = bpenb.Tokenizer({i: bytes([i]) for i in range(256)}, [], ["<|endoftext|>"])
    page = Page(write(plain, text).read_text("utf-8"))
    assert page.one("passage").text == text.replace("\0", "")[:2000]
    assert len(page.all("svg")) == (3 if text == "<|endoftext|>" else 4)
    assert "nobody can tell" in page.all("section")[5].text


def test_token_rows_without_merges_that_make_them() -> None:
    vocab = {i: bytes([i]) for i in range(256)} | {256: b"ab", 257: b"xyz", 300: b"<s>"}
    model = bpenb.Tokenizer(vocab, [(b"a", b"b")], ["<s>"]).model
    rows = token_rows(model, [256, 257, 300], np.zeros(301, dtype=np.int64))
    assert [(row.token_id, row.rank, row.parts) for row in rows] == [
        (97, "byte", ()),
        (98, "byte", ()),
        (256, 0, (97, 98)),
        (257, "no merge", ()),
        (300, "special", ()),
    ]


# --- the door ---------------------------------------------------------------------------------------


@pytest.fixture
def plain() -> bpenb.Tokenizer:
    return bpenb.Tokenizer({i: bytes([i]) for i in range(256)}, [])


def test_texts_of_which_there_is_no_report(plain: bpenb.Tokenizer, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    (tmp_path / "empty.txt").write_bytes(b"")
    with pytest.raises(CorpusError, match=r"empty\.txt: no text in it"):
        bpenb.write_report(plain, tmp_path / "empty.txt", out)
    (tmp_path / "bad.txt").write_bytes(b"abc\xff")
    with pytest.raises(InvalidUtf8Error, match=r"bad\.txt: byte 3 is not valid UTF-8"):
        bpenb.write_report(plain, tmp_path / "bad.txt", out)
    with pytest.raises(CorpusError, match="missing"):
        bpenb.write_report(plain, tmp_path / "missing.txt", out)
    assert not out.exists()
    bpenb.write_report(plain, tmp_path / "bad.txt", out, bpenb.EncodeSettings(errors="replace"))
    assert Page(out.read_text("utf-8")).one("passage").text == "abc\ufffd"


def test_outputs_that_are_refused(plain: bpenb.Tokenizer, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("low")
    with pytest.raises(OutputError, match="is a folder"):
        bpenb.write_report(plain, text, tmp_path)
    with pytest.raises(OutputError, match="there is no folder"):
        bpenb.write_report(plain, text, tmp_path / "none" / "report.html")
    with pytest.raises(OutputError, match="both a text and the report"):
        bpenb.write_report(plain, text, text, force=True)
    out = tmp_path / "report.html"
    out.write_text("mine")
    with pytest.raises(OutputError, match=r"report\.html exists; .*--force"):
        bpenb.write_report(plain, text, out)
    assert out.read_text() == "mine"
    bpenb.write_report(plain, text, out, force=True)
    assert out.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["report.html", "text.txt"]


def test_arguments_that_are_refused(plain: bpenb.Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="tokenizer must be a Tokenizer"):
        bpenb.write_report("tokenizer", "a.txt", tmp_path / "a.html")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="passage_tokens must be an int"):
        bpenb.write_report(plain, "a.txt", tmp_path / "a.html", passage_tokens=1.5)  # type: ignore[arg-type]
    with pytest.raises(BpenbError, match="passage_tokens is 0"):
        bpenb.write_report(plain, "a.txt", tmp_path / "a.html", passage_tokens=0)
    with pytest.raises(BpenbError, match="append_eot"):
        bpenb.write_report(plain, "a.txt", tmp_path / "a.html", bpenb.EncodeSettings(append_eot=True))


def test_without_matplotlib(plain: bpenb.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    (tmp_path / "a.txt").write_text("low")
    with pytest.raises(OutputError, match=r"pip install 'bpenb\[report\]'"):
        bpenb.write_report(plain, tmp_path / "a.txt", tmp_path / "a.html")


def test_a_report_is_the_same_every_time(write: Callable[..., Path]) -> None:
    model = tokenizer()
    one, two = (write(model, TEXT, workers=workers).read_bytes() for workers in (1, 2))
    same = re.compile(rb"report\d+")  # the folder of the text is part of its name
    assert same.sub(b"", one) == same.sub(b"", two)


def test_the_users_matplotlibrc_changes_nothing(write: Callable[..., Path], plain: bpenb.Tokenizer) -> None:
    import matplotlib

    one = write(plain, "low lower")
    with matplotlib.rc_context({"font.size": 40, "axes.facecolor": "red", "svg.fonttype": "path"}):
        two = write(plain, "low lower")
    same = re.compile(rb"report\d+")
    assert same.sub(b"", one.read_bytes()) == same.sub(b"", two.read_bytes())


def test_a_page_of_many_tokens_is_small(write: Callable[..., Path]) -> None:
    text = Path(__file__).parents[2].joinpath("docs", "training.md").read_text("utf-8") * 3
    model = bpenb.train_from_iterator([text], vocab_size=3000)
    assert write(model, text).stat().st_size < 700_000


def test_a_tokenizer_that_changes_texts(write: Callable[..., Path], plain: bpenb.Tokenizer) -> None:
    from bpenb.traits import NFC, Traits

    model = bpenb.Tokenizer.from_model(replace(plain.model, traits=Traits(normalizer=NFC)))
    page = Page(write(model, "e\u0301").read_text("utf-8"))
    assert page.one("passage").text == "é"
    assert "brings texts into NFC" in page.all("section")[1].text
