"""Texts that would run, move, hide or break what is around them if they could."""

from __future__ import annotations

import bpenb

RUNS = (
    "<script>window.hacked=1</script>",
    '"><img src=x onerror="window.hacked=2">',
    "'><svg onload=window.hacked=3>",
    "</script><script>window.hacked=4</script>",
    "</style><script>window.hacked=5</script>",
    "</title><script>window.hacked=6</script>",
    "<!-- <script>window.hacked=7</script>",
    "--!> ]]> <![CDATA[ &lt;script&gt; &#60;b&#62; &amp;amp;",
    "<a href=javascript:window.hacked=8>javascript:window.hacked=9</a>",
    "</div></main><style>*{display:none}</style>",
    '<iframe src="https://example.com/x"></iframe><link rel=stylesheet href=https://example.com/y>',
    "${window.hacked=10} `{{window.hacked=11}}` $\\frac{x}$ %3Cscript%3E",
)
MOVES = (
    "a\u202eb\u202dc\u2066d\u2067e\u2068f\u2069g\u202a\u202b\u202c\u200b\u200e\u200f\ufeff\u2028\u2029\x85"
)
CONTROLS = "\x00\x01\x07\x08\x0b\x0c\x1b[31m\x7f\x80\x9b\r\r\n\n\r\t\ufffd\ufffe\U000e0041\U0010ffff"
SCRIPTS = "שלום עולם, مرحبا بالعالم हिन्दी 中文 ไทย e\u0301 👩\u200d👩\u200d👧 🏳️ \u00a0\u3000"

# One token, so one element, with markup and what is not printable in it.
SPECIAL = "\u202e<img src=x onerror=window.hacked=32>\n\x1b<script>window.hacked=33</script>"

TEXT = "\n" + "\n".join([*RUNS, MOVES, CONTROLS, SCRIPTS]) + "\n\n \t <|endoftext|>\r\nlow lower\n" + SPECIAL
NAME = "<img src=x onerror=window.hacked=20>\"'&"  # of a file or a tokenizer; no slash


def tokenizer(vocab_size: int = 700) -> bpenb.Tokenizer:
    """Trained on all of it, with special tokens that are as bad."""
    special = [
        "<|endoftext|>",
        "<script>window.hacked=30</script>",
        '"><b onclick=window.hacked=31>',
        SPECIAL,
    ]
    return bpenb.train_from_iterator([TEXT * 3], vocab_size=vocab_size, special_tokens=special)
