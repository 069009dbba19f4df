"""The page: every section as HTML, and what may run on it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from typing import NamedTuple

from bpenb import __version__
from bpenb.inspecting import Inspection, TextFigures
from bpenb.model import UNKNOWN, BPEModel
from bpenb.report_page.growth import Growth
from bpenb.report_page.markup import escape, file_name, show_text
from bpenb.report_page.passage import Passage, TokenGroup
from bpenb.report_page.sections import (
    growth_section,
    lengths_section,
    phases_section,
    ranks_section,
    scripts_section,
    token_table,
)
from bpenb.report_page.tokens import token_rows

__all__ = ["ReportFacts", "render_page"]

_N_COLOURS = 5  # of tokens, in page.css
_MOST_NAMES = 8


class ReportFacts(NamedTuple):
    """All that a page tells.

    Attributes:
        name: of the tokenizer.
        model: the tokenizer.
        inspection: of it.
        texts: what it made of texts that are not empty.
        growth: of the words of the texts; or why there is none.
        phases: seconds of the training, by phase; empty where nobody told.
        passage: the beginning of the texts.
    """

    name: str
    model: BPEModel
    inspection: Inspection
    texts: TextFigures
    growth: Growth | str
    phases: Mapping[str, float]
    passage: Passage


def render_page(facts: ReportFacts) -> str:
    """Return the page, whole: no other file is needed, and nothing is asked of any network."""
    style, script = _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    title = file_name(facts.name)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<meta name="generator" content="bpenb {__version__}">\n'
        f"<title>{title}: tokenizer report</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"{_header(facts, title)}\n<main>\n{_passage_section(facts)}\n"
        f'<div id="plots" class="plots">\n{_plots(facts)}\n{_about(facts)}\n</div>\n</main>\n'
        f"<footer>Made by bpenb {__version__}. One file; it asks nothing of any network.</footer>\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _asset(name: str) -> str:
    return (files("bpenb.report_page") / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


# --- sections -------------------------------------------------------------------------------------


def _header(facts: ReportFacts, title: str) -> str:
    texts, found = facts.texts, facts.inspection
    named = file_name(texts.files[0])
    if len(texts.files) > 1:
        named += f" and {len(texts.files) - 1:,} more"
    tiles = {
        "tokens in the vocab": f"{len(found.tokens):,}",
        "bytes per token": f"{texts.n_bytes / texts.n_tokens:.3f}",
        "characters per token": f"{texts.n_characters / texts.n_tokens:.3f}",
        "tokens in the texts": f"{texts.n_tokens:,}",
        "pretokens that are one token": _percent(texts.n_whole, texts.n_pretokens),
        "tokens that never occur": f"{len(texts.unused):,}",
    }
    shown = "".join(f"<div><dt>{what}</dt><dd>{value}</dd></div>" for what, value in tiles.items())
    return (
        '<header><a class="skip" href="#plots">Skip the passage</a>'
        f'<h1>{title}</h1><p class="lead muted">What this tokenizer is, and what it makes of {named}.</p>'
        f'<dl class="tiles">{shown}</dl></header>'
    )


def _passage_section(facts: ReportFacts) -> str:
    passage, specials = facts.passage, set(facts.model.special_tokens.values())
    documents, position = [], 0
    for document in passage.documents:
        spans = []
        for group in document:
            spans.append(_token(group, position % _N_COLOURS, not specials.isdisjoint(group.ids)))
            position += 1
        documents.append(f'<div class="document">{"".join(spans)}</div>')
    n_tokens = len(passage.ids)
    which = "All" if passage.is_whole else "The first"
    rows = token_rows(facts.model, passage.ids, facts.texts.token_counts)
    return (
        '<section aria-labelledby="passage-title"><h2 id="passage-title">A passage, token by token</h2>'
        f'<p class="muted">{which} {n_tokens:,} tokens of the texts. Tokens that share a character stand '
        "together; what would not be seen is named in a box.</p>"
        f'<div class="reader"><div id="passage" class="passage" role="group" '
        f'aria-label="passage, a link for each token">{"".join(documents)}</div>'
        '<aside id="panel" class="panel" aria-label="the token pointed at">'
        '<p id="hint" class="hint"><span class="with-script">Point at a token to see its id, bytes, rank and '
        "frequency, and the merges that made it. By keyboard: <kbd>Tab</kbd> to the passage, then the arrow "
        "keys; <kbd>Enter</kbd> goes to its row in the table, <kbd>Esc</kbd> closes.</span>"
        "<noscript>Every token is a link to its row in the table below.</noscript></p></aside></div>"
        '<p id="live" class="live" aria-live="polite"></p>'
        f"<details><summary>These tokens, and those that they were merged from: {len(rows):,} rows</summary>"
        f'<div class="scroll" tabindex="0" role="group" aria-label="table of tokens">{token_table(rows)}'
        "</div></details></section>"
    )


def _token(group: TokenGroup, colour: int, is_special: bool) -> str:
    ids = " ".join(map(str, group.ids))
    several = f' data-ids="{ids}"' if len(group.ids) > 1 else ""
    kind = f"t c{colour} special" if is_special else f"t c{colour}"
    named = f"id{'s' if several else ''} {ids}: {group.text.encode()[:32].hex(' ')}"
    return f'<a class="{kind}" href="#t{group.ids[0]}"{several} title="{named}">{show_text(group.text)}</a>'


def _plots(facts: ReportFacts) -> str:
    ordinary = facts.inspection.ordinary
    counts = facts.texts.token_counts
    vocab = facts.model.vocab()
    return "\n".join(
        [
            growth_section(facts.growth),
            ranks_section(counts, vocab),
            lengths_section(ordinary, counts),
            scripts_section(ordinary, counts),
            phases_section(facts.phases),
        ]
    )


def _about(facts: ReportFacts) -> str:
    found, texts = facts.inspection, facts.texts
    specials = _listed([f"<code>{file_name(name)}</code> {i}" for name, i in found.special_tokens.items()])
    told = {
        "split pattern": f"<code>{file_name(str(found.pattern))}</code>",
        "merges": f"{found.n_merges:,}",
        "ids": f"0 to {found.n_vocab - 1:,}",
        "special tokens": specials or "none",
        "ties": "not known" if found.ties == UNKNOWN else escape(found.ties),
        "Unicode": "not known" if found.unicode_version == UNKNOWN else escape(found.unicode_version),
        "texts": _listed([file_name(name) for name in texts.files]),
        "bytes, characters": f"{texts.n_bytes:,}, {texts.n_characters:,}",
        "words of the texts": f"{texts.n_words:,} between whitespace, "
        f"{texts.n_tokens / max(1, texts.n_words):.3f} tokens each",
    }
    if texts.n_bad_rows:
        told["rows left out"] = f"{texts.n_bad_rows:,} without a text"
    rows = "".join(f"<dt>{what}</dt><dd>{value}</dd>" for what, value in told.items())
    return f'<section><h2>The tokenizer and the texts</h2><dl class="facts">{rows}</dl></section>'


def _listed(names: list[str]) -> str:
    """Return names that are HTML already, with commas; of many the first, and how many more there are."""
    n_more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {n_more:,} more" if n_more > 0 else "")


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"
