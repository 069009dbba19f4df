"""Pretokens, twice: by `regex` one match after the other, and GPT-2's pattern by hand."""

from __future__ import annotations

import unicodedata

import regex

WHITESPACE = set(map(chr, [*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B),
                           0x2028, 0x2029, 0x202F, 0x205F, 0x3000]))  # fmt: skip


def pretokens(text: str, pattern: str) -> list[str]:
    """Return the matches of a pattern, and what lies between them: nothing is lost."""
    found = []
    position = 0
    for match in regex.finditer(pattern, text):
        if match.end() > match.start():
            found += [text[position : match.start()], text[match.start() : match.end()]]
            position = match.end()
    return [pretoken for pretoken in [*found, text[position:]] if pretoken]


def kind(character: str) -> str:
    """Return L, N, S or O: letter, number, whitespace, anything else."""
    if character in WHITESPACE:
        return "S"
    category = unicodedata.category(character)[0]
    return category if category in "LN" else "O"


def gpt2_pretokens(text: str) -> list[str]:
    """Cut by GPT-2's pattern, one branch for each of its alternatives, in their order."""
    found = []
    start = 0
    while start < len(text):
        end = gpt2_end(text, start)
        found.append(text[start:end])
        start = end
    return found


def gpt2_end(text: str, start: int) -> int:
    """Return where the pretoken that begins at `start` ends."""
    for contraction in ("'s", "'d", "'m", "'t", "'ll", "'ve", "'re"):
        if text.startswith(contraction, start):
            return start + len(contraction)
    body = start + 1 if text[start] == " " else start  # ` ?\p{L}+`, ` ?\p{N}+`, ` ?[^\s\p{L}\p{N}]+`
    if body < len(text) and kind(text[body]) != "S":
        return run_end(text, body)
    end = run_end(text, start)  # `\s+(?!\S)`: leaves the last whitespace to what follows, then `\s+`
    return end - 1 if end < len(text) and end - start > 1 else end


def run_end(text: str, start: int) -> int:
    """Return where the run of characters of one kind ends."""
    end = start
    while end < len(text) and kind(text[end]) == kind(text[start]):
        end += 1
    return end
