"""Verification: is a tokenizer what exact BPE learns from these words, and does it encode so?

    merges   bpenb/training/verify.py: every count by a replay of all words, the order of all
             merges, every rival at the first 500, and whether the training ended where it must
    tokens   a sample of the words by the slow rule, by the encoder and by the replay: the same

Bounded: the replay and the order are linear in the bytes of the distinct words; the rest looks at
2 MB of distinct words at most (rivals, some seconds) and at 200 kB (tokens, half a second). Memory:
less than learning took, which is over by then.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from bpenb._arrays import ByteArray, IdArray, Int64Array, offsets_from_lengths
from bpenb.counting import WordCounts
from bpenb.encoding import Tokenizer
from bpenb.errors import CountsError, ModelError, VerificationError
from bpenb.model import BPEModel
from bpenb.progress import ProgressOption, Reporter, make_reporter
from bpenb.training import (
    TIE_MODES,
    LearningOptions,
    MergeChecks,
    MergeResult,
    Replay,
    byte_order,
    check_count,
    n_merges_for,
    replay_word,
    sample_words,
    verify_merges,
)

__all__ = ["Verification", "verify", "verify_training"]

SAMPLE_BYTES = 200_000  # of distinct words that the slow rule encodes: half a second
SAMPLE_LONGEST = 1000  # bytes: the slow rule is quadratic


class Verification(NamedTuple):
    """What was checked and found right.

    Attributes:
        n_merges: merges whose counts and order were checked.
        n_words: distinct words that they were replayed on.
        n_first_merges: merges at which every other pair was looked at, too.
        n_first_words: distinct words that was done on; less than `n_words`: a sample.
        n_encoded_words: distinct words encoded by the slow rule and by the encoder.
        seconds: that it took.
    """

    n_merges: int
    n_words: int
    n_first_merges: int
    n_first_words: int
    n_encoded_words: int
    seconds: float


def verify(
    tokenizer: Tokenizer,
    counts: WordCounts,
    *,
    vocab_size: int | None = None,
    min_frequency: int = 1,
    max_token_length: int | None = None,
    seed: int = 0,
    progress: ProgressOption = None,
) -> Verification:
    """Check that a tokenizer is what exact BPE learns from word counts.

    Args:
        tokenizer: trained by whomever, as long as its tie mode is known.
        counts: the words that it was trained on.
        vocab_size: that was asked for; None: as many as there are. If there are fewer, it is
            checked that no pair was left.
        min_frequency, max_token_length: that it was trained with.
        seed: of the sample of words that the slow rule encodes.
        progress: None, True for a bar on stderr, or a callable that takes a `Progress`.

    Returns:
        What was checked.

    Raises:
        VerificationError: the first wrong merge, or the first word that is encoded differently.
        CountsError: the counts have another split pattern or other special tokens.
        ModelError: a tokenizer whose tie mode is unknown, or without all 256 bytes.
        TrainingError, TypeError: an option out of its range, or of a wrong type.

    Example:
        >>> from bpenb import train_from_counts
        >>> counts = WordCounts.from_dict({"low": 5, "lower": 2})
        >>> verify(train_from_counts(counts, vocab_size=260), counts).n_merges
        4
    """
    started = time.perf_counter()
    model = _checked_model(tokenizer, counts)
    longest = None if max_token_length is None else check_count("max_token_length", max_token_length, 1)
    options = LearningOptions(
        model.n_merges if vocab_size is None else n_merges_for(vocab_size, counts.special_tokens, model.ties),
        model.ties,
        check_count("min_frequency", min_frequency, 0),
        longest,
    )
    order = byte_order(model.ties, counts.special_tokens)
    merges = model.learning_merges(order)
    seed = check_count("seed", seed, 0)
    checks = verify_merges(counts, options, merges, order, seed=seed, reporter=make_reporter(progress))
    n_encoded = _check_encoder(model, counts, merges, order, checks.replay, seed)
    return _summary(checks, n_encoded, started)


def verify_training(
    counts: WordCounts,
    options: LearningOptions,
    result: MergeResult,
    model: BPEModel,
    reporter: Reporter,
    n_given: int = 0,
) -> Verification:
    """Check a training that has just ended, with the counts that the trainer tells.

    Args:
        counts: the words.
        options: of the training.
        result: of the training.
        model: made of it.
        reporter: told of the phases `replay` and `check`.
        n_given: merges at the front that were given (of a base), not learned from these words.

    Raises:
        VerificationError: as in `verify`.
    """
    started = time.perf_counter()
    checks = verify_merges(
        counts,
        options,
        result.merges,
        result.byte_order,
        result.merge_counts,
        n_given=n_given,
        reporter=reporter,
    )
    n_left = checks.replay.tokens_left(len(result.merges))
    if n_left != result.n_tokens_left:
        raise VerificationError(
            None, f"the merges leave {n_left:,} tokens of the text, not {result.n_tokens_left:,}"
        )
    n_encoded = _check_encoder(model, counts, result.merges, result.byte_order, checks.replay, seed=0)
    return _summary(checks, n_encoded, started)


def _summary(checks: MergeChecks, n_encoded: int, started: float) -> Verification:
    return Verification(
        len(checks.replay.pair_counts),
        checks.n_words,
        checks.n_first_merges,
        checks.n_first_words,
        n_encoded,
        time.perf_counter() - started,
    )


def _checked_model(tokenizer: Tokenizer, counts: WordCounts) -> BPEModel:
    for value, kind in ((tokenizer, Tokenizer), (counts, WordCounts)):
        if not isinstance(value, kind):
            raise TypeError(f"{kind.__name__} expected, not {type(value).__name__}")
    model = tokenizer.model
    if model.ties not in TIE_MODES:
        raise ModelError(
            f"the tie mode of this tokenizer is {model.ties!r}, so nobody can say which merges are right; "
            "load the folder that bpenb saved"
        )
    if (model.byte_ids < 0).any():
        raise ModelError(
            f"the vocab lacks the single byte {int(np.argmin(model.byte_ids))}; bpenb trains none"
        )
    made_with = (
        ("pattern", model.pattern.regex, counts.pattern.regex),
        ("special tokens", tuple(model.special_tokens), counts.special_tokens),
    )
    for name, ours, theirs in made_with:
        if ours != theirs:
            raise CountsError(
                f"the tokenizer has {name} {ours!r}, the counts were made with {theirs!r}; "
                "count the text again with those of the tokenizer"
            )
    return model


def _token_ids(model: BPEModel, order: ByteArray) -> IdArray:
    """Return the token id of every learning id."""
    return np.concatenate([model.byte_ids[order], model.merge_ids])


def _check_encoder(
    model: BPEModel, counts: WordCounts, merges: IdArray, order: ByteArray, replay: Replay, seed: int
) -> int:
    """Encode a sample of the words by the slow rule, the encoder and the replay; returns how many."""
    sample = sample_words(counts, SAMPLE_BYTES, seed, SAMPLE_LONGEST)
    words = [counts.word_bytes[a:b] for a, b in _spans(counts.word_offsets, sample)]
    offsets = offsets_from_lengths(np.array([len(word) for word in words], dtype=np.int64))
    encoder = Tokenizer.from_model(model, warm=False).encoder
    joined = np.concatenate(words) if words else np.empty(0, dtype=np.uint8)
    ids, id_offsets = encoder.encode_words(joined, offsets)
    token_ids = _token_ids(model, order).tolist()
    learning_id = np.argsort(order).tolist()
    rank_of = {(left, right): rank for rank, (left, right) in enumerate(merges.tolist())}
    rows = replay.words
    for i, (w, word) in enumerate(zip(sample.tolist(), words, strict=True)):
        slow = replay_word([learning_id[byte] for byte in word.tolist()], rank_of)
        start = int(rows.row_offsets[w])
        if rows.tokens[start : start + int(rows.row_lengths[w])].tolist() != slow:
            raise VerificationError(None, f"the word {word.tobytes()!r} is replayed in two ways: {slow}")
        expected = [token_ids[token] for token in slow]
        found = ids[id_offsets[i] : id_offsets[i + 1]].tolist()
        if found != expected:
            raise VerificationError(
                None, f"the word {word.tobytes()!r} is encoded as {found}; the merges make {expected} of it"
            )
    return len(words)


def _spans(offsets: Int64Array, words: Int64Array) -> list[tuple[int, int]]:
    return list(zip(offsets[words].tolist(), offsets[words + 1].tolist(), strict=True))
