"""The page in a real Chromium: it renders, the passage is the text, nothing hostile runs, one can point."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpenb
import pytest
from tests.report_page.browsing import Browser
from tests.report_page.hostile import NAME, RUNS, TEXT, tokenizer

LEFT, UP, RIGHT, DOWN = "\ue012", "\ue013", "\ue014", "\ue015"  # as WebDriver has them
TAB, ENTER, ESCAPE, HOME, END = "\ue004", "\ue007", "\ue00c", "\ue011", "\ue010"

AT = "document.activeElement"
PANEL = """
    const facts = [...document.querySelectorAll('#panel dd')].map(dd => [dd.dataset.fact, dd.textContent]);
    return {facts: Object.fromEntries(facts), hidden: document.getElementById('panel').hidden,
            text: document.getElementById('panel').textContent,
            leaves: [...document.querySelectorAll('#panel .tree li.byte')].map(li => li.textContent),
            nodes: document.querySelectorAll('#panel .tree li').length,
            live: document.getElementById('live').textContent};
"""


@pytest.fixture(scope="module")
def model() -> bpenb.Tokenizer:
    return tokenizer()


@pytest.fixture(scope="module")
def page(write: Callable[..., Path], model: bpenb.Tokenizer) -> Path:
    return write(model, TEXT, "text.txt", called=NAME)


def focus(browser: Browser, token: bytes, model: bpenb.Tokenizer) -> int:
    """Set the focus to the first place of a token; returns its id."""
    (token_id,) = [i for i, found in model.vocab.items() if found == token]
    browser.run("document.querySelector(arguments[0]).focus()", f'#passage a[href="#t{token_id}"]')
    return token_id


def at(browser: Browser) -> int:
    return int(browser.run(f"return [...document.querySelectorAll('#passage .t')].indexOf({AT})"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_renders_and_asks_for_nothing(browser: Browser, page: Path, scheme: str) -> None:
    browser.open(page, scheme=scheme)
    assert browser.complaints == []
    assert browser.requests == {page.as_uri()}
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    boxes = browser.run(
        "return [...document.querySelectorAll('svg')].map(e => e.getBoundingClientRect().height)"
    )
    assert len(boxes) >= 4 and min(boxes) > 100
    assert browser.run("return document.documentElement.classList.contains('js')")


def test_the_passage_is_the_text(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.run("return document.getElementById('passage').textContent") == TEXT
    assert browser.run("return document.querySelector('h1').textContent") == NAME


def test_nothing_hostile_runs(browser: Browser, page: Path) -> None:
    browser.open(page)
    for _ in RUNS:  # pointing at them, too
        browser.press(TAB, RIGHT, ENTER)
    browser.run("for (const a of document.querySelectorAll('#passage .t')) a.focus()")
    browser.run("for (const d of document.querySelectorAll('details')) d.open = true")
    assert browser.run("return window.hacked === undefined")
    for tag in ("img", "iframe", "link", "object", "b[onclick]", "[onload]", "[onerror]", "[style]"):
        found = browser.run("return document.querySelectorAll(arguments[0]).length", tag)
        assert found == 0 or tag == "[style]", tag  # the script sets widths of the merge tree
    assert browser.run("return [document.scripts.length, document.styleSheets.length]") == [1, 1]
    assert browser.complaints == []
    assert browser.requests <= {page.as_uri()}


def test_the_policy_stops_what_would_get_in(browser: Browser, page: Path) -> None:
    """Were escaping ever to fail, this is what stands behind it."""
    browser.open(page)
    browser.run(
        """
        const script = document.createElement('script');
        script.textContent = 'window.hacked = 1';
        document.body.append(script);
        document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.hacked=2">');
        """
    )
    assert browser.run("return window.hacked === undefined")
    assert any("Content Security Policy" in complaint for complaint in browser.complaints)


def test_pointing_at_a_token(browser: Browser, page: Path, model: bpenb.Tokenizer) -> None:
    browser.open(page)
    assert "Point at a token" in browser.run(PANEL)["text"]
    ids = model.encode(TEXT)
    number = next(n for n, i in enumerate(ids) if len(model.vocab[i]) > 4 and model.vocab[i].isalpha())
    token = model.vocab[ids[number]]
    browser.point_at(f'#passage a[href="#t{ids[number]}"]')
    found = browser.run(PANEL)
    ranks = {left + right: rank for rank, (left, right) in enumerate(model.merges)}
    assert found["facts"] == {
        "id": str(ids[number]),
        "bytes": token.hex(" "),
        "rank": f"{ranks[token]:,}",
        "frequency": str(ids.count(ids[number])),
    }
    assert "".join(found["leaves"]).encode() == token
    assert found["nodes"] == 2 * len(token) - 1
    marked = "return document.querySelectorAll('#passage .shown, #passage .same').length"
    assert browser.run(marked) == ids.count(ids[number])


def test_walking_with_the_keyboard(browser: Browser, page: Path, model: bpenb.Tokenizer) -> None:
    browser.open(page)
    n_tokens = browser.run("return document.querySelectorAll('#passage .t').length")
    for _ in range(6):  # the skip link, perhaps the passage itself, then the one token that is a stop
        browser.press(TAB)
        if at(browser) >= 0:
            break
    assert at(browser) == 0
    browser.press(RIGHT, RIGHT, RIGHT)
    assert at(browser) == 3
    browser.press(LEFT)
    assert at(browser) == 2
    browser.press(END)
    assert at(browser) == n_tokens - 1
    browser.press(RIGHT)
    assert at(browser) == n_tokens - 1
    browser.press(UP)
    above = at(browser)
    assert 0 <= above < n_tokens - 1
    browser.press(DOWN)
    assert at(browser) > above
    browser.press(HOME)
    assert at(browser) == 0
    stops = browser.run("return document.querySelectorAll('#passage .t[tabindex=\"0\"]').length")
    assert stops == 1
    token_id = focus(browser, b"low", model)
    found = browser.run(PANEL)
    assert found["facts"]["id"] == str(token_id) and found["facts"]["bytes"] == "6c 6f 77"
    assert found["leaves"] == ["l", "o", "w"] and found["nodes"] == 5
    assert found["live"].startswith(f"low: id {token_id}, bytes 6c 6f 77, rank ")
    browser.press(ESCAPE)
    closed = browser.run(PANEL)
    assert closed["facts"] == {} and closed["live"] == "" and "Point at a token" in closed["text"]
    browser.press(RIGHT)
    assert browser.run(PANEL)["facts"]
    browser.press(LEFT, ENTER)
    assert browser.run("return document.querySelector('tr:target').id") == f"t{token_id}"
    assert browser.run("return document.querySelector('tr:target').getBoundingClientRect().height > 0")


def test_tokens_that_share_a_character(browser: Browser, write: Callable[..., Path]) -> None:
    plain = bpenb.Tokenizer({i: bytes([i]) for i in range(256)}, [])
    browser.open(write(plain, "a中é"))
    browser.press(TAB, TAB)
    browser.run("document.querySelectorAll('#passage .t')[1].focus()")
    found = browser.run("return [...document.querySelectorAll('#panel dd')].map(dd => dd.textContent)")
    assert found[0::4] == [str(byte) for byte in "中".encode()]
    assert found[1::4] == [f"{byte:02x}" for byte in "中".encode()]
    assert "3 tokens share characters here" in browser.run(PANEL)["text"]
    assert browser.run("return document.getElementById('passage').textContent") == "a中é"


def test_clicking_stays_and_shows(browser: Browser, page: Path) -> None:
    browser.open(page, width=390, height=800)
    assert browser.run(PANEL)["hidden"]
    browser.run("document.querySelectorAll('#passage .t')[5].scrollIntoView()")
    x, y = browser.run(
        "const b = document.querySelectorAll('#passage .t')[5].getClientRects()[0];"
        "return [b.left + b.width / 2, b.top + b.height / 2]"
    )
    for kind in ("mousePressed", "mouseReleased"):
        browser.cdp("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    found = browser.run(PANEL)
    assert not found["hidden"] and found["facts"]
    assert browser.run("return location.hash") == ""


COLOURS = """
    const of = (selector, name) => getComputedStyle(document.querySelector(selector))[name];
    return {ground: of('body', 'backgroundColor'), ink: of('body', 'color'),
            card: of('section', 'backgroundColor'), muted: of('.lead', 'color'), link: of('td a', 'color'),
            line: of('.stroke-first', 'stroke'), bar: of('.fill-second', 'fill'),
            label: of('svg text.fill-muted', 'fill'),
            tokens: [0, 1, 2, 3, 4].map(i => of('.t.c' + i, 'backgroundColor')),
            text: of('.t', 'color')};
"""


def luminance(colour: str) -> float:
    """Relative luminance as WCAG has it."""
    numbers = [int(n) / 255 for n in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    r, g, b = (n / 12.92 if n <= 0.04045 else ((n + 0.055) / 1.055) ** 2.4 for n in numbers)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_light_and_dark(browser: Browser, page: Path) -> None:
    seen: dict[str, dict[str, Any]] = {}
    for scheme in ("light", "dark"):
        browser.open(page, scheme=scheme)
        seen[scheme] = browser.run(COLOURS)
        colours = seen[scheme]
        for ground in (colours["card"], colours["ground"]):
            assert contrast(colours["ink"], ground) >= 7
            assert contrast(colours["muted"], ground) >= 4.5
        assert contrast(colours["label"], colours["card"]) >= 4.5
        assert contrast(colours["link"], colours["card"]) >= 4.5
        assert contrast(colours["line"], colours["card"]) >= 3
        assert contrast(colours["bar"], colours["card"]) >= 3
        assert len(set(colours["tokens"])) == 5
        for ground in colours["tokens"]:
            assert contrast(colours["text"], ground) >= 7
    assert luminance(seen["light"]["ground"]) > 0.8 and luminance(seen["dark"]["ground"]) < 0.05
    for name, colour in seen["light"].items():
        assert colour != seen["dark"][name], name


@pytest.mark.parametrize("width", [320, 390, 768, 1200])
def test_nothing_sticks_out(browser: Browser, page: Path, width: int) -> None:
    browser.open(page, width=width)
    browser.run("for (const d of document.querySelectorAll('details')) d.open = true")
    browser.run("document.querySelectorAll('#passage .t')[3].focus()")
    assert browser.run("return document.documentElement.scrollWidth") <= width


def test_plots_can_be_read_on_a_phone(browser: Browser, page: Path) -> None:
    browser.open(page, width=390)
    heights = browser.run(
        "return [...document.querySelectorAll('svg text')].map(text => {"
        "const svg = text.ownerSVGElement, wide = svg.getBoundingClientRect().width;"
        "return parseFloat(getComputedStyle(text).fontSize) * wide / svg.viewBox.baseVal.width})"
    )
    assert len(heights) > 40 and min(heights) >= 10


def test_without_javascript(browser: Browser, page: Path, model: bpenb.Tokenizer) -> None:
    browser.open(page, scripts=False)
    root = browser.cdp("DOM.getDocument", depth=0)["root"]["nodeId"]

    def html(selector: str) -> str:
        node = browser.cdp("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        return str(browser.cdp("DOM.getOuterHTML", nodeId=node)["outerHTML"])

    assert 'class="js"' not in html("html")[:200]
    token_id = next(i for i in model.encode(TEXT) if len(model.vocab[i]) > 2)
    assert f'title="id {token_id}: ' in html(f'#passage a[href="#t{token_id}"]')
    browser.driver.get(f"{page.as_uri()}#t{token_id}")  # where its link leads
    browser.cdp("Emulation.setScriptExecutionDisabled", value=False)
    target = "document.querySelector('tr:target')"
    assert browser.run(f"return {target}.id") == f"t{token_id}"
    assert browser.run(f"return {target}.getBoundingClientRect().height > 0")  # the table has opened
    assert browser.run("return document.documentElement.classList.contains('js')") is False
    assert "Every token is a link" in browser.run("return document.getElementById('hint').innerText")


# --- the same tokens in a notebook ------------------------------------------------------------------


@pytest.mark.parametrize(("scheme", "ground", "ink"), [("light", "#fff", "#000"), ("dark", "#111", "#eee")])
def test_an_encoding_in_a_notebook(
    browser: Browser, model: bpenb.Tokenizer, tmp_path: Path, scheme: str, ground: str, ink: str
) -> None:
    encoding = model.encode_with_offsets(TEXT)
    page = tmp_path / "notebook.html"
    page.write_text(
        f'<!DOCTYPE html><meta charset="utf-8"><body style="background:{ground};color:{ink}">'
        f"{encoding._repr_html_()}",
        encoding="utf-8",
    )
    browser.open(page, scheme=scheme)
    assert browser.complaints == [] and browser.requests == {page.as_uri()}
    assert browser.run("return window.hacked === undefined && document.scripts.length === 0")
    spans = browser.run(
        "return [...document.querySelectorAll('span')].map(span => [getComputedStyle(span).color,"
        "getComputedStyle(span).backgroundColor, span.title])"
    )
    assert len(spans) == len(encoding)
    paper = (255, 255, 255) if scheme == "light" else (17, 17, 17)
    for colour, thin, title in spans[:50]:
        *parts, alpha = (float(n) for n in thin[thin.index("(") + 1 : -1].split(","))
        mixed = [round(alpha * part + (1 - alpha) * under) for part, under in zip(parts, paper, strict=True)]
        assert contrast(colour, f"rgb({mixed[0]},{mixed[1]},{mixed[2]})") >= 4.5
        assert title.startswith("id ")
