"""Write the class table that the compiled scanners use: one line per run of equal classes.

    pip install unicodedata2==16.0.0
    python tools/make_unicode_classes.py bpenb/pretokenize/data/unicode-16.0.0.txt

The classes are what split patterns can tell apart: Lu Lt Ll Lm Lo, M (marks), N (numbers),
S (the 25 code points of `\\s`) and - (the rest, surrogates and unassigned ones among them).
tests/pretokenize/test_classes.py compares every code point with live engines.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import unicodedata2  # type: ignore[import-not-found]

WHITESPACE = {
    0x85,
    0xA0,
    0x1680,
    0x2028,
    0x2029,
    0x202F,
    0x205F,
    0x3000,
    0x20,
    *range(9, 14),
    *range(0x2000, 0x200B),
}


def class_of(code_point: int) -> str:
    """Return the class of one code point."""
    if code_point in WHITESPACE:
        return "S"
    category = str(unicodedata2.category(chr(code_point)))
    if category[0] == "L":
        return category
    return category[0] if category[0] in "MN" else "-"


def main() -> None:
    """Write the table."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("out", type=Path)
    out: Path = arguments.parse_args().out
    version = unicodedata2.unidata_version
    lines = [
        f"# Unicode {version}: first code point of each run, and its class.",
        "# From the Unicode Character Database (c) Unicode, Inc., under the Unicode License v3.",
    ]
    before = ""
    for code_point in range(0x110000):
        name = class_of(code_point)
        if name != before:
            lines.append(f"{code_point:04X} {name}")
            before = name
    out.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    print(f"{out}: Unicode {version}, {len(lines) - 2} runs")


if __name__ == "__main__":
    main()
