"""Large JSON objects, an entry a line: `json.dumps` with an indent is plain Python, and ten times slower."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from json.encoder import encode_basestring as quote

__all__ = ["object_lines", "pair_lines"]


def object_lines(ids: Mapping[str, int], indent: str = "") -> str:
    """Return a JSON object of strings to integers; its entries begin with `indent`.

    Example:
        >>> print(object_lines({"a": 0, "é": 1}))
        {
        "a": 0,
        "é": 1
        }
    """
    lines = [f"{indent}{quote(string)}: {number}" for string, number in ids.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent[1:]}}}" if lines else "{}"


def pair_lines(pairs: Iterable[tuple[str, str]], indent: str = "") -> str:
    """Return a JSON array of pairs of strings; its entries begin with `indent`.

    Example:
        >>> print(pair_lines([("a", "b"), ("ab", "c")]))
        [
        ["a", "b"],
        ["ab", "c"]
        ]
    """
    lines = [f"{indent}[{quote(left)}, {quote(right)}]" for left, right in pairs]
    return "[\n" + ",\n".join(lines) + f"\n{indent[1:]}]" if lines else "[]"
