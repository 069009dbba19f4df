"""`BPEModel`: what training gives and encoding takes; arrays that never change, checked once.

    id     0 ... 255        256             257      258          an example: cs336 layout
           ┌─────────────┬─────────────────┬──────┬───────┐
    bytes  │ every byte  │ <|endoftext|>   │ "th" │ "the" │      token_bytes, token_offsets (CSR)
           └─────────────┴─────────────────┴──────┴───────┘
    merges                                  (t, h) (th, e)       row = rank; merge_ids = [257, 258]

A merge's parts are single bytes or the results of earlier merges. So applying the merges by rank
and always taking the pair of lowest rank are the same, and an encoder may do either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from bpenb._arrays import (
    N_BYTES,
    NO_TOKEN,
    ByteArray,
    IdArray,
    Int64Array,
    offsets_from_lengths,
    ranges_to_bytes,
)
from bpenb._special_ids import checked_multiple, checked_roles, further_special_ids, lay_out
from bpenb._vocab_checks import (
    MAX_IDS,
    MergeError,
    check_specials,
    checked_special_names,
    checked_vocab,
    resolve_merges,
)
from bpenb.errors import ModelError
from bpenb.patterns import SplitPattern, resolve_pattern
from bpenb.traits import Traits

__all__ = ["UNKNOWN", "BPEModel", "MergeError"]

UNKNOWN = "unknown"  # ties, engine or Unicode version that a foreign file does not tell


@dataclass(frozen=True, eq=False, repr=False)
class BPEModel:
    """A byte-level BPE tokenizer as arrays: vocab, merges, special tokens, split pattern.

    Make one by `from_vocab`, `from_training` or `from_ids`, which check it.

    Attributes:
        token_bytes: uint8[], the bytes of all tokens, by id.
        token_offsets: int64[n_vocab + 1]; an empty range is an id without a token.
        merges: int32[n_merges, 2], ids of the two parts; row = rank.
        merge_ids: int32[n_merges], id of the result.
        byte_ids: int32[256], id of each single byte; NO_TOKEN where the vocab lacks it.
        special_tokens: id of each, in the order given.
        pattern: the split pattern.
        ties: tie mode that it was trained with; `unknown` if a file did not tell.
        engine, unicode_version: who cut the pretokens in training, by which Unicode version.
        roles: the special token that begins a text (`bos`), ends one (`eos`), fills (`pad`) or stands
            for what is unknown (`unk`); those that were named.
        pad_multiple: what the vocab of a model is padded to a multiple of; 1: it is not.
        traits: what a foreign tokenizer does besides; `dataclasses.replace` gives a model others.
    """

    token_bytes: ByteArray
    token_offsets: Int64Array
    merges: IdArray
    merge_ids: IdArray
    byte_ids: IdArray
    special_tokens: dict[str, int]
    pattern: SplitPattern
    ties: str = "cs336"
    engine: str = UNKNOWN
    unicode_version: str = UNKNOWN
    roles: Mapping[str, str] = field(default_factory=dict)
    pad_multiple: int = 1
    traits: Traits = field(default_factory=Traits)

    def __post_init__(self) -> None:
        for array in (self.token_bytes, self.token_offsets, self.merges, self.merge_ids, self.byte_ids):
            array.flags.writeable = False

    @classmethod
    def from_vocab(
        cls,
        vocab: Mapping[int, bytes],
        merges: Iterable[tuple[bytes, bytes]],
        special_tokens: Iterable[str] | None,
        pattern: str | SplitPattern,
        ties: str = "cs336",
        engine: str = UNKNOWN,
        unicode_version: str = UNKNOWN,
    ) -> BPEModel:
        """Return the checked model of a vocab in which special tokens stand among the others.

        Args:
            vocab: the bytes of each id; ids may have holes, single bytes may be missing.
            merges: pairs of bytes; the position is the rank.
            special_tokens: those in the vocab keep their id, the others get ids after the highest.
                Where two ids have the bytes of one, the ids of the tie mode's layout decide: the
                lower is the special token in `huggingface` mode, else the higher.
            pattern: a split pattern, its name or its regex.
            ties, engine, unicode_version: how it was trained, as far as known.

        Raises:
            ModelError: a vocab and merges that are no tokenizer; the message names id or rank.
            TypeError: a value of a wrong type.

        Example:
            >>> model = BPEModel.from_vocab({0: b"a", 1: b"b", 2: b"ab"}, [(b"a", b"b")], ["<s>"], "gpt2")
            >>> model.n_vocab, model.special_tokens, model.merges.tolist(), model.merge_ids.tolist()
            (4, {'<s>': 3}, [[0, 1]], [2])
        """
        ordinary = checked_vocab(vocab)
        names = checked_special_names(() if special_tokens is None else special_tokens)
        ids_of: dict[bytes, list[int]] = {}
        for token_id, token in ordinary.items():
            ids_of.setdefault(token, []).append(token_id)
        special_ids: dict[str, int] = {}
        next_id = max(ordinary, default=-1) + 1
        for name in names:
            found = sorted(ids_of.get(name.encode(), ()))
            if not found:
                special_ids[name], next_id = next_id, next_id + 1
                continue
            special_ids[name] = found[0] if ties == "huggingface" else found[-1]
            if len(found) == 2:  # one for the special token, one for the text that looks like it
                del ordinary[special_ids[name]]
        return cls.from_ids(ordinary, merges, special_ids, pattern, ties, engine, unicode_version)

    @classmethod
    def from_ids(
        cls,
        vocab: Mapping[int, bytes],
        merges: Iterable[tuple[bytes, bytes]],
        special_ids: Mapping[str, int],
        pattern: str | SplitPattern,
        ties: str = "cs336",
        engine: str = UNKNOWN,
        unicode_version: str = UNKNOWN,
    ) -> BPEModel:
        """Return the checked model of a vocab without, and the ids of, the special tokens.

        Args:
            vocab: the bytes of each ordinary token; a special token may share one's id if it is
                spelled the same.
            merges: pairs of bytes; the position is the rank.
            special_ids: id of each special token, in order.
            pattern, ties, engine, unicode_version: as in `from_vocab`.

        Raises:
            ModelError, TypeError: as in `from_vocab`.
        """
        ordinary = checked_vocab(vocab)
        parts, made = resolve_merges(merges, _ids_by_bytes(ordinary))
        how = (pattern, ties, engine, unicode_version)
        return cls._assemble(ordinary, special_ids, parts, made, *how)

    @classmethod
    def _assemble(
        cls,
        ordinary: Mapping[int, bytes],
        special_ids: Mapping[str, int],
        merges: IdArray,
        merge_ids: IdArray,
        pattern: str | SplitPattern,
        ties: str,
        engine: str,
        unicode_version: str,
    ) -> BPEModel:
        """Return the model of ordinary tokens whose merges are known to be right."""
        tokens = check_specials(ordinary, special_ids)
        if not tokens:
            raise ModelError("the vocab is empty")
        id_of = _ids_by_bytes(ordinary)
        ids = np.fromiter(tokens, dtype=np.int64, count=len(tokens))
        lengths = np.zeros(int(ids.max()) + 1, dtype=np.int64)
        lengths[ids] = np.fromiter(map(len, tokens.values()), dtype=np.int64, count=len(tokens))
        joined = b"".join([tokens[token_id] for token_id in sorted(tokens)])
        byte_ids = [id_of.get(bytes([byte]), NO_TOKEN) for byte in range(N_BYTES)]
        return cls(
            token_bytes=np.frombuffer(joined, dtype=np.uint8),
            token_offsets=offsets_from_lengths(lengths),
            merges=merges,
            merge_ids=merge_ids,
            byte_ids=np.array(byte_ids, dtype=np.int32),
            special_tokens=dict(special_ids),
            pattern=resolve_pattern(pattern),
            ties=ties,
            engine=engine,
            unicode_version=unicode_version,
        )

    @classmethod
    def from_training(
        cls,
        merges: IdArray,
        byte_order: ByteArray,
        special_tokens: Iterable[str],
        pattern: str | SplitPattern,
        ties: str = "cs336",
        engine: str = UNKNOWN,
        unicode_version: str = UNKNOWN,
    ) -> BPEModel:
        """Return the model of a training, its ids laid out as the tie mode says.

            cs336        bytes by value, special tokens, merges
            rustbpe      bytes by value, merges, special tokens
            huggingface  special tokens, bytes in `byte_order`, merges; a special token that is
                         the printable form of a byte is that byte

        Args:
            merges: int32[n, 2] in learning ids: 0…255 are `byte_order`, 256 + rank the merges.
            byte_order: uint8[256], the byte of each of the first 256 learning ids.
            special_tokens: in the order of their ids.
            pattern, ties, engine, unicode_version: how it was trained.

        Raises:
            ModelError: an unknown tie mode, or a special token that this mode cannot number.

        Example:
            >>> merges = np.array([[116, 104], [256, 101]], dtype=np.int32)
            >>> model = BPEModel.from_training(merges, np.arange(256, dtype=np.uint8), ["<s>"], "gpt2")
            >>> model.special_tokens, model.vocab()[258], model.merge_pairs()[1]
            ({'<s>': 256}, b'the', (b'th', b'e'))
        """
        names = checked_special_names(special_tokens)
        learned = [bytes([byte]) for byte in byte_order.tolist()]
        for left, right in merges.tolist():
            learned.append(learned[left] + learned[right])
        special_ids, ids = lay_out(ties, names, learned)
        if max(ids) >= MAX_IDS:
            raise ModelError(f"{len(merges)} merges make more ids than the {MAX_IDS} that a vocab may have")
        id_of = np.array(ids, dtype=np.int32)  # by learning id
        vocab = dict(zip(ids, learned, strict=True))
        how = (pattern, ties, engine, unicode_version)
        return cls._assemble(vocab, special_ids, id_of[merges], id_of[N_BYTES:], *how)

    @property
    def n_vocab(self) -> int:
        """Highest id + 1; ids may have holes."""
        return len(self.token_offsets) - 1

    @property
    def padded_vocab_size(self) -> int:
        """Rows of the embedding of a model: `n_vocab`, up to the next multiple of `pad_multiple`."""
        return -(-self.n_vocab // self.pad_multiple) * self.pad_multiple

    @property
    def n_merges(self) -> int:
        """How many merges there are."""
        return len(self.merges)

    def with_roles(self, roles: Mapping[str, str], pad_multiple: int = 1) -> BPEModel:
        """Return this model with the special tokens of some roles, and a padding, in place of its own.

        Raises:
            ModelError: no such role or special token, or a multiple below 1.
            TypeError: a value of a wrong type.
        """
        checked = checked_roles(roles, self.special_tokens)
        return replace(self, roles=checked, pad_multiple=checked_multiple(pad_multiple))

    def special_ids_with(self, names: Iterable[str]) -> tuple[dict[str, int], int]:
        """Return the ids of all special tokens when `names` are added, and the id behind them all.

        Raises:
            ModelError, TypeError: as of `with_special_tokens`.
        """
        made = {*self.byte_ids.tolist(), *self.merge_ids.tolist()}
        return further_special_ids(self.special_tokens, names, self.ordinary_vocab(), made, self.n_vocab)

    def with_special_tokens(self, names: Iterable[str]) -> BPEModel:
        """Return this model with further special tokens, behind the highest id; every other id stays.

        One that is there already changes nothing; a token that no merge makes becomes special where it is.

        Raises:
            ModelError: one that is spelled as a token which BPE makes, is empty, or no UTF-8.
            TypeError: a plain string instead of a sequence of them, or an item that is no string.
        """
        special_ids, _ = self.special_ids_with(names)
        new = {*special_ids.values()} - {*self.special_tokens.values()}
        ordinary = {i: token for i, token in self.ordinary_vocab().items() if i not in new}
        how = (self.pattern, self.ties, self.engine, self.unicode_version)
        model = self._assemble(ordinary, special_ids, self.merges, self.merge_ids, *how)
        return replace(model, roles=self.roles, pad_multiple=self.pad_multiple)

    def vocab(self) -> dict[int, bytes]:
        """Return the bytes of every id that has a token, special tokens included, by id."""
        tokens = ranges_to_bytes(self.token_bytes, self.token_offsets)
        return {token_id: token for token_id, token in enumerate(tokens) if token}

    def merge_pairs(self) -> list[tuple[bytes, bytes]]:
        """Return the merges as pairs of bytes, by rank."""
        tokens = ranges_to_bytes(self.token_bytes, self.token_offsets)
        return [(tokens[left], tokens[right]) for left, right in self.merges.tolist()]

    def learning_merges(self, byte_order: ByteArray) -> IdArray:
        """Return the merges as training numbers tokens: int32[n, 2], the bytes first, then merges by rank.

        Args:
            byte_order: uint8[256], the byte of each of the learning ids 0…255; one that the vocab lacks
                is in no merge.
        """
        learning = np.full(self.n_vocab, NO_TOKEN, dtype=np.int32)
        # Of merges that make the same token only the first can ever be made: the lowest rank counts.
        ranks = np.arange(self.n_merges, dtype=np.int32)
        learning[self.merge_ids[::-1]] = N_BYTES + ranks[::-1]
        ids = self.byte_ids[byte_order]
        learning[ids[ids != NO_TOKEN]] = np.flatnonzero(ids != NO_TOKEN)
        return np.ascontiguousarray(learning[self.merges])

    def ordinary_vocab(self) -> dict[int, bytes]:
        """Return `vocab()` without the ids that only a special token has."""
        made = {*self.byte_ids.tolist(), *self.merge_ids.tolist()}
        only_special = set(self.special_tokens.values()) - made
        return {token_id: token for token_id, token in self.vocab().items() if token_id not in only_special}

    def __repr__(self) -> str:
        return (
            f"BPEModel(n_vocab={self.n_vocab}, n_merges={self.n_merges}, "
            f"special_tokens={len(self.special_tokens)}, pattern={str(self.pattern)!r}, ties={self.ties!r})"
        )


def _ids_by_bytes(ordinary: Mapping[int, bytes]) -> dict[bytes, int]:
    id_of = {token: token_id for token_id, token in ordinary.items()}
    if len(id_of) < len(ordinary):
        twice = next(i for i, token in ordinary.items() if id_of[token] != i)
        token = ordinary[twice]
        raise ModelError(f"ids {twice} and {id_of[token]} have the same bytes {token!r}")
    return id_of
