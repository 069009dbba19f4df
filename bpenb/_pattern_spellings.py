"""One spelling for the many that published files have of the known split patterns.

Each rule below keeps what the whole of a known pattern matches, and only there: a regex that does not
become a known one is left as it was. The tests show the equality of pretokens for each.
"""

from __future__ import annotations

__all__ = ["respell"]

_FOLDED = "'(?i:[sdmt]|ll|ve|re)"
_LOWER = "'(?:[sdmt]|ll|ve|re)"
_ASCII = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_EVERY_CASE = "'s|'S|'t|'T|'re|'rE|'Re|'RE|'ve|'vE|'Ve|'VE|'m|'M|'ll|'lL|'Ll|'LL|'d|'D"

# At the start of a pattern. The contractions are the same strings, of which none begins another.
_HEADS = {
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|": f"{_FOLDED}|",
    "'s|'t|'re|'ve|'m|'ll|'d|": f"{_LOWER}|",
    "(?:'s|'t|'re|'ve|'m|'ll|'d)|": f"{_LOWER}|",
    "'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|": f"{_ASCII}|",
    f"({_EVERY_CASE})|": f"{_ASCII}|",
    f"(?:{_EVERY_CASE})|": f"{_ASCII}|",
}
# Possessive or not: what follows cannot match what the quantifier would give back. That is not so of a
# leader before `[\\p{Lu}…\\p{M}]`, where a mark may be either.
_PARTS = {
    r"?+\p{L}": r"?\p{L}",
    r"\p{L}++": r"\p{L}+",
    r"\p{N}++": r"\p{N}+",
    r"\p{N}{1,2}+|": r"\p{N}{1,2}|",
    r"\p{N}{1,3}+|": r"\p{N}{1,3}|",
    r"[^\s\p{L}\p{N}]++": r"[^\s\p{L}\p{N}]+",
    r"[\r\n]*+": r"[\r\n]*",
    r"[\r\n/]*+": r"[\r\n/]*",
    r"|\s*[\r\n]|": r"|\s*[\r\n]+|",  # the first quantifier has taken all newlines but one
    f"({_EVERY_CASE})?": f"{_ASCII}?",
    f"(?:{_EVERY_CASE})?": f"{_ASCII}?",
}
_TAIL = r"|\s+(?!\S)|\s"


def respell(regex: str) -> str:
    """Return a regex in the spelling of `bpenb.patterns`; it means the same only if it is found there.

    Example:
        >>> respell(r"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}++|\\s+(?!\\S)|\\s")
        "'(?:[sdmt]|ll|ve|re)| ?\\\\p{L}+|\\\\s+(?!\\\\S)|\\\\s+"
    """
    for theirs, ours in _HEADS.items():
        if regex.startswith(theirs):
            regex = ours + regex.removeprefix(theirs)
            break
    for theirs, ours in _PARTS.items():
        regex = regex.replace(theirs, ours)
    if regex.endswith(_TAIL):
        regex += "+"
    if (
        r"[\r\n]" not in regex
    ):  # else `\s+` before the end takes newlines that `\s*[\r\n]+` would have cut off
        regex = regex.replace(r"|\s++$|", "|")
    return regex
