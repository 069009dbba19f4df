"""A base: a tokenizer that training goes on from. Every id and merge of it stays; new ones come behind.

    base id          0 … 255   256             257 … 999          a base of 1,000 ids
                     bytes     <|endoftext|>   merges
    new id                                               1000 …    new special tokens, then new merges
    learning id      0 … 255                   256 … 998   999 …   bytes by id, then all merges by rank

Ties among pairs are decided in learning ids, which ascend as the base's ids do wherever those
ascend with the ranks, as in every tokenizer that was trained here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from bpenb._arrays import NO_TOKEN, ByteArray, IdArray
from bpenb._vocab_checks import MAX_IDS
from bpenb.encoding import Tokenizer
from bpenb.errors import ModelError, TrainingError
from bpenb.formats import load_model, self_made_ids
from bpenb.model import UNKNOWN, BPEModel
from bpenb.patterns import SplitPattern, resolve_pattern
from bpenb.training import GivenMerges, check_count, check_ties, digest

__all__ = ["Base", "BaseOption", "open_base"]

BaseOption = Tokenizer | str | os.PathLike[str] | None


@dataclass(frozen=True)
class Base:
    """A tokenizer in learning ids.

    Attributes:
        model: the tokenizer.
        given: its merges, int32[n, 2], with counts of 0.
        byte_order: uint8[256], the byte of each of the learning ids 0…255.
        special_tokens: its own, then the further ones; with their ids.
        ties: its tie mode, or the one that was named where it does not tell.
        n_ids: ids that it takes with the further special tokens; the first new merge gets this one.
    """

    model: BPEModel
    given: GivenMerges
    byte_order: ByteArray
    special_tokens: dict[str, int]
    ties: str
    n_ids: int

    def n_merges_for(self, vocab_size: int) -> int:
        """Return how many merges there are in all when the vocab has `vocab_size` ids.

        Raises:
            TrainingError: not more than the base has, or above every possible id.
            TypeError: not an int.
        """
        size = check_count("vocab_size", vocab_size, 0)
        if size > MAX_IDS:
            raise TrainingError(f"vocab_size is {size}; a vocab has {MAX_IDS} tokens at most")
        if size <= self.model.n_vocab or size < self.n_ids:
            raise TrainingError(
                f"vocab_size is {size}; the base has {self.model.n_vocab} ids and "
                f"{self.n_ids - self.model.n_vocab} come with further special tokens: ask for more than that"
            )
        return self.model.n_merges + size - self.n_ids

    def digest(self) -> str:
        """Return the SHA-256 of all that decides ids and merges."""
        model = self.model
        rest = json.dumps([model.pattern.regex, self.special_tokens, self.ties]).encode()
        arrays = (model.token_bytes, model.token_offsets, model.merges, model.merge_ids, model.byte_ids)
        return digest(*arrays, np.frombuffer(rest, dtype=np.uint8))

    def continued(self, merges: IdArray, engine: str, unicode_version: str) -> BPEModel:
        """Return the model that the base has become.

        Args:
            merges: int32[n, 2] in learning ids, those of the base first.
            engine, unicode_version: who cut the new pretokens.
        """
        model = self.model
        tokens = [bytes([byte]) for byte in self.byte_order.tolist()]
        for left, right in merges.tolist():
            tokens.append(tokens[left] + tokens[right])
        pairs = [(tokens[left], tokens[right]) for left, right in merges.tolist()]
        taken = {*self.special_tokens.values()} - {*model.special_tokens.values()}
        vocab = {i: token for i, token in model.ordinary_vocab().items() if i not in taken}
        new_tokens = tokens[len(self.byte_order) + model.n_merges :]
        vocab |= dict(enumerate(new_tokens, start=self.n_ids))
        continued = BPEModel.from_ids(
            vocab, pairs, self.special_tokens, model.pattern, self.ties, engine, unicode_version
        )
        return replace(continued.with_roles(model.roles, model.pad_multiple), traits=model.traits)


def open_base(
    base: Tokenizer | str | os.PathLike[str],
    pattern: str | SplitPattern | None,
    special_tokens: Iterable[str],
    ties: str | None,
) -> Base:
    """Return a tokenizer as a base, checked.

    Args:
        base: a tokenizer, or whatever `Tokenizer.load` reads.
        pattern, ties: None, or those of the base; told where its files do not tell them.
        special_tokens: further ones get ids behind the base's. One that the base has as a token
            which no merge makes (as GPT-2's vocab.json has `<|endoftext|>`) becomes special there.

    Raises:
        TrainingError: a tokenizer that cannot go on, or settings that are not its own.
        FormatError: not a tokenizer, or a damaged one.
    """
    if isinstance(base, Tokenizer):
        model, name = base.model, "the base"
    else:
        model, name = load_model(base, pattern=pattern), f"the base {os.fspath(base)}"
    if pattern is not None and resolve_pattern(pattern).regex != model.pattern.regex:
        raise TrainingError(
            f"{name} has the split pattern {str(model.pattern)!r}; it cannot go on with {str(pattern)!r}"
        )
    if replace(model.traits, ignore_merges=False).change_ids:  # that one is nothing where merges make all
        raise TrainingError(
            f"{name} does more to a text than training can ({', '.join(model.traits.to_json())}), so it "
            "cannot go on; train a new tokenizer instead"
        )
    chosen = _ties(model, ties, name)
    _check_whole(model, name)
    try:
        special_ids, n_ids = model.special_ids_with(special_tokens)
    except ModelError as error:
        raise TrainingError(f"{name}: {error}") from None
    _check_self_made(model, special_ids, name)
    order = np.argsort(model.byte_ids, kind="stable").astype(np.uint8)
    given = GivenMerges(model.learning_merges(order), np.zeros(model.n_merges, dtype=np.int64))
    return Base(model, given, order, special_ids, chosen, n_ids)


def _ties(model: BPEModel, ties: str | None, name: str) -> str:
    if model.ties == UNKNOWN:
        return check_ties("cs336" if ties is None else ties)
    if ties is not None and check_ties(ties) != model.ties:
        raise TrainingError(f"{name} has ties {model.ties!r}; it cannot go on with {ties!r}")
    return model.ties


def _check_whole(model: BPEModel, name: str) -> None:
    if not model.n_merges:
        raise TrainingError(f"{name} has no merges: train a new tokenizer instead")
    missing = np.flatnonzero(model.byte_ids == NO_TOKEN)
    if missing.size:
        raise TrainingError(
            f"{name} lacks {missing.size} of the 256 bytes, the first is {bytes([missing[0]])!r}: "
            "text that needs one could not be learned from; train a new tokenizer instead"
        )


def _check_self_made(model: BPEModel, special_ids: dict[str, int], name: str) -> None:
    """Refuse tokens that BPE does not make of their own bytes: a new merge might make them once more."""
    vocab = model.ordinary_vocab()
    strange = vocab.keys() - self_made_ids(model) - {*special_ids.values()}
    if strange:
        token = min(strange)
        raise TrainingError(
            f"{name}: token {token} ({vocab[token]!r}) is not what its own bytes merge to, so a new merge "
            "might make it once more; if it is a special token, name it as one"
        )
