"""Ids of special tokens: where the tie modes put them, where further ones go; and what roles they have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from bpenb._arrays import N_BYTES
from bpenb._byte_map import BYTE_TO_CHARACTER, to_printable
from bpenb._vocab_checks import MAX_IDS, checked_special_names
from bpenb.errors import ModelError

__all__ = ["ROLES", "checked_multiple", "checked_roles", "further_special_ids", "lay_out"]

ROLES = ("bos", "eos", "pad", "unk")


def lay_out(ties: str, names: tuple[str, ...], learned: list[bytes]) -> tuple[dict[str, int], list[int]]:
    """Return the ids of the special tokens, and the id of each learning id, as a tie mode numbers them.

    Args:
        ties: the tie mode.
        names: the special tokens.
        learned: the bytes of each learning id.

    Raises:
        ModelError: an unknown tie mode, or a special token that this mode cannot number.
    """
    n_merges = len(learned) - N_BYTES
    first_bytes = list(range(N_BYTES))
    if ties == "cs336":
        specials = {name: N_BYTES + i for i, name in enumerate(names)}
        return specials, first_bytes + [N_BYTES + len(names) + i for i in range(n_merges)]
    if ties == "rustbpe":
        specials = {name: N_BYTES + n_merges + i for i, name in enumerate(names)}
        return specials, first_bytes + [N_BYTES + i for i in range(n_merges)]
    if ties != "huggingface":
        raise ModelError(f"unknown ties {ties!r}; there are: cs336, huggingface, rustbpe")
    specials = {name: i for i, name in enumerate(names)}
    for name in names:
        if name in BYTE_TO_CHARACTER and not name.isascii():
            byte = BYTE_TO_CHARACTER.index(name)
            raise ModelError(
                f"special token {name!r} is how GPT-2's files spell the byte {byte}: with huggingface "
                "ties the two would share an id, and one of them be lost; "
                "choose another special token, or other ties"
            )
    free = iter(range(len(names), len(names) + len(learned)))
    shared = {name.encode(): i for i, name in enumerate(names) if name in BYTE_TO_CHARACTER}
    return specials, [shared[token] if token in shared else next(free) for token in learned]


def further_special_ids(
    special_ids: Mapping[str, int],
    names: Iterable[str],
    ordinary: Mapping[int, bytes],
    made: Collection[int],
    next_id: int,
) -> tuple[dict[str, int], int]:
    """Return the ids of all special tokens when further ones are added, and the id behind them all.

    Args:
        special_ids: of those that there are.
        names: of further ones. One that is there already changes nothing; one that is a token which no
            merge makes (as GPT-2's vocab.json has `<|endoftext|>`) becomes special where it is.
        ordinary: the bytes of every other id.
        made: ids of single bytes and of what merges make.
        next_id: the id of the first new one.

    Raises:
        ModelError: one that is spelled as a token which BPE makes, that is empty, or no UTF-8.
        TypeError: a plain string instead of a sequence of them, or an item that is no string.

    Example:
        >>> further_special_ids({"<s>": 2}, ["</s>", "<s>", "ab"], {0: b"a", 1: b"b", 3: b"ab"}, {0, 1}, 4)
        ({'<s>': 2, '</s>': 4, 'ab': 3}, 5)
    """
    id_of = {token: token_id for token_id, token in ordinary.items()}
    printable = {to_printable(token): token_id for token_id, token in ordinary.items()}
    all_ids = dict(special_ids)
    for name in checked_special_names(names):
        if name in all_ids:
            continue
        token_id = id_of.get(name.encode(), printable.get(name))
        if token_id is None:
            all_ids[name], next_id = next_id, next_id + 1
        elif token_id in made:
            raise ModelError(
                f"the special token {name!r} is spelled as token {token_id}, and no file could tell the two "
                "apart; choose another"
            )
        else:
            all_ids[name] = token_id
    return all_ids, next_id


def checked_roles(roles: Mapping[str, str], special_tokens: Collection[str]) -> dict[str, str]:
    """Return which special token has which role, in the order of ROLES.

    Args:
        roles: the special token of each role; one may have several.
        special_tokens: those that there are.

    Raises:
        ModelError: no such role, or no such special token.
        TypeError: not a mapping of str to str.

    Example:
        >>> checked_roles({"pad": "<p>", "eos": "<s>"}, ["<s>", "<p>"])
        {'eos': '<s>', 'pad': '<p>'}
    """
    if not isinstance(roles, Mapping):
        raise TypeError(f"roles must be a mapping of role to special token, not {type(roles).__name__}")
    for role, name in roles.items():
        if not isinstance(name, str):
            raise TypeError(f"the role {role} must be a str, not {type(name).__name__}")
        if role not in ROLES:
            raise ModelError(f"{role!r} is no role of a special token; there are: {', '.join(ROLES)}")
        if name not in special_tokens:
            known = ", ".join(map(repr, special_tokens)) or "none"
            raise ModelError(f"the role {role} is {name!r}, which is no special token; there are: {known}")
    return {role: roles[role] for role in ROLES if role in roles}


def checked_multiple(multiple: object) -> int:
    """Return what the vocab of a model is padded to a multiple of; 1: it is not.

    Raises:
        ModelError: not from 1 to the most ids that a vocab may have.
        TypeError: not an int (a bool is none).
    """
    index = getattr(multiple, "__index__", None)
    if isinstance(multiple, bool) or index is None:
        raise TypeError(f"pad_vocab_to_multiple must be an int, not {type(multiple).__name__}")
    number = int(index())
    if not 1 <= number <= MAX_IDS:
        raise ModelError(f"pad_vocab_to_multiple is {number}; it must be from 1 (no padding) to {MAX_IDS}")
    return number
