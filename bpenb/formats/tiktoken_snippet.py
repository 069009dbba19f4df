"""A Python file that builds the `tiktoken.Encoding` of a .tiktoken file, which holds no pattern."""

from __future__ import annotations

from bpenb.errors import OutputError
from bpenb.model import BPEModel

__all__ = ["tiktoken_snippet", "tiktoken_warnings"]

_SNIPPET = '''"""The tokenizer of the .tiktoken file beside this one, as a `tiktoken.Encoding`.

    from {module} import encoding
    encoding.encode("some text", allowed_special="all")
"""

from base64 import b64decode
from pathlib import Path

import tiktoken

_LINES = (line.split() for line in Path(__file__).with_name({name!r}).read_bytes().splitlines())

encoding = tiktoken.Encoding(
    name={stem!r},
    pat_str={regex!r},
    mergeable_ranks={{b64decode(token): int(rank) for token, rank in _LINES}},
    special_tokens={specials!r},
)
'''


def tiktoken_snippet(model: BPEModel, name: str, module: str) -> bytes:
    """Return the contents of a Python file that reads the .tiktoken file `name` in its own folder.

    Args:
        model: whose pattern and special tokens it names.
        name: of the .tiktoken file.
        module: of the Python file, without `.py`.

    Raises:
        OutputError: a pattern of several stages, for which tiktoken has no place.
    """
    if len(model.pattern.stages) > 1:
        raise OutputError(
            f"tiktoken cuts by one regex, and this tokenizer by {len(model.pattern.stages)}, one after the "
            "other: it cannot be exported to tiktoken; tokenizer.json (--to hf) can hold it"
        )
    stem = name.removesuffix(".tiktoken")
    text = _SNIPPET.format(
        module=module,
        name=name,
        stem=stem,
        regex=model.pattern.regex,
        specials=model.special_tokens,
    )
    return text.encode()


def tiktoken_warnings(model: BPEModel) -> list[str]:
    """Return what tiktoken does otherwise than this tokenizer."""
    found = model.traits.lost_on("tiktoken")
    names = sorted(model.special_tokens)
    longer = next(((a, b) for a in names for b in names if a != b and b.startswith(a)), None)
    if longer:
        found.append(
            "tiktoken does not take the longest of overlapping special tokens, "
            f"as {longer[0]!r} and {longer[1]!r}"
        )
    if model.pattern.name is None:
        found.append("how tiktoken cuts text by your regex was not compared with ours: its engine is another")
    return found
