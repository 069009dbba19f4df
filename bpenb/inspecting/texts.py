"""What texts cost: every token counted while they are encoded, then their words encoded one by one.

texts → encode_sources → count of every token       bytes, characters, tokens
      → count_words    → words → tokens of each     what costs most
      → count_words by whitespace                   words between whitespace
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bpenb._arrays import Int64Array
from bpenb._spelling import spell_bytes
from bpenb.api_counts import count_words
from bpenb.corpus import BadRows, resolve_sources, total_bytes
from bpenb.counting import WordCounts
from bpenb.encoding import Tokenizer
from bpenb.inspecting.rereading import Texts
from bpenb.inspecting.words import count_spaced_words, largest, tokens_of_words
from bpenb.preparing import EncodeSettings
from bpenb.preparing.encoding import encode_sources
from bpenb.progress import ProgressOption, make_reporter

__all__ = ["CostlyWord", "TextFigures", "count_pretokens", "measure_texts", "ratio"]

_CONTINUATION, _CONTINUATION_BITS = 0x80, 0xC0  # 10xxxxxx does not begin a character


def ratio(part: float, whole: float) -> float | None:
    """Return a quotient to six digits behind the point; None if there is nothing to divide by."""
    return round(part / whole, 6) if whole else None


@dataclass(frozen=True)
class CostlyWord:
    """A word (a distinct pretoken) and what it costs.

    Attributes:
        word: its bytes.
        count: how often it occurs.
        n_tokens: tokens of each occurrence.
    """

    word: bytes
    count: int
    n_tokens: int

    @property
    def extra(self) -> int:
        """Tokens that would be saved if the word were one token."""
        return self.count * (self.n_tokens - 1)


@dataclass(frozen=True, eq=False)
class TextFigures:
    """What a tokenizer made of texts.

    Attributes:
        files: names of the inputs.
        n_bytes: bytes of text that were encoded.
        n_characters: characters of it.
        n_words: words between whitespace (and special tokens), whatever the split pattern.
        n_pretokens: matches of the split pattern.
        n_whole: of these, those that are one token.
        token_counts: int64[n_vocab], how often each token occurs.
        unused: int64[k], ids of ordinary tokens that never occur.
        costly: the words that cost most tokens beyond one for each occurrence, most first.
        n_bad_rows: rows that were left out.
    """

    files: tuple[str, ...]
    n_bytes: int
    n_characters: int
    n_words: int
    n_pretokens: int
    n_whole: int
    token_counts: Int64Array
    unused: Int64Array
    costly: tuple[CostlyWord, ...]
    n_bad_rows: int = 0

    @property
    def n_tokens(self) -> int:
        """Tokens of the texts, special ones included."""
        return int(self.token_counts.sum())

    def rare(self, below: int = 10) -> Int64Array:
        """Return the ids of tokens that occur, but less than `below` times; the rarest first."""
        ids = np.flatnonzero((self.token_counts > 0) & (self.token_counts < below))
        return ids[np.argsort(self.token_counts[ids], kind="stable")]

    def most_frequent(self, n: int) -> list[tuple[int, int]]:
        """Return ids and counts of the `n` most frequent tokens; of one count, by id."""
        order = np.argsort(-self.token_counts, kind="stable")[: max(n, 0)].tolist()
        return [(i, int(self.token_counts[i])) for i in order if self.token_counts[i]]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it: counts by id, words escaped."""
        return {
            "files": list(self.files),
            "bytes": self.n_bytes,
            "characters": self.n_characters,
            "words": self.n_words,
            "tokens": self.n_tokens,
            "bytes_per_token": ratio(self.n_bytes, self.n_tokens),
            "characters_per_token": ratio(self.n_characters, self.n_tokens),
            "words_per_token": ratio(self.n_words, self.n_tokens),
            "pretokens": self.n_pretokens,
            "pretokens_of_one_token": self.n_whole,
            "token_counts": self.token_counts.tolist(),
            "unused": self.unused.tolist(),
            "rare": self.rare().tolist(),
            "costly_pretokens": [
                {"text": spell_bytes(w.word), "count": w.count, "tokens": w.n_tokens, "extra": w.extra}
                for w in self.costly
            ],
            "n_bad_rows": self.n_bad_rows,
        }


def measure_texts(
    tokenizer: Tokenizer,
    texts: Texts,
    settings: EncodeSettings,
    top: int,
    workers: int | None,
    max_memory: int | str | None,
    progress: ProgressOption,
    counts: WordCounts | None = None,
) -> TextFigures:
    """Return what a tokenizer makes of texts.

    Args:
        tokenizer, settings, top, workers, max_memory, progress: as of `inspect_tokenizer`.
        texts: that can be read again.
        counts: of `count_pretokens` with the same arguments; None: they are made here.

    Raises:
        CorpusError, CountsError, EncodingError: as of `inspect_tokenizer`.
    """
    token_counts, n_bad_rows = _count_tokens(tokenizer, texts, settings, workers, progress)
    how = (tokenizer, texts, settings, workers, max_memory, progress)
    counts = count_pretokens(*how) if counts is None else counts
    spaced = count_pretokens(*how, pattern="whitespace")
    lengths, characters = _token_sizes(tokenizer)
    n_tokens = tokens_of_words(tokenizer, counts)
    extra = counts.word_counts * (n_tokens - 1)
    offsets = counts.word_offsets
    ordinary = np.array(sorted(tokenizer.model.ordinary_vocab()), dtype=np.int64)
    return TextFigures(
        files=texts.names,
        n_bytes=int(token_counts @ lengths),
        n_characters=int(token_counts @ characters),
        n_words=count_spaced_words(spaced),
        n_pretokens=counts.n_pretokens,
        n_whole=int(counts.word_counts[n_tokens == 1].sum()),
        token_counts=token_counts,
        unused=ordinary[token_counts[ordinary] == 0],
        costly=tuple(
            CostlyWord(
                counts.word_bytes[offsets[w] : offsets[w + 1]].tobytes(),
                int(counts.word_counts[w]),
                int(n_tokens[w]),
            )
            for w in largest(extra, top)
        ),
        n_bad_rows=n_bad_rows,
    )


def count_pretokens(
    tokenizer: Tokenizer,
    texts: Texts,
    settings: EncodeSettings,
    workers: int | None,
    max_memory: int | str | None,
    progress: ProgressOption,
    pattern: str | None = None,
) -> WordCounts:
    """Return the words of texts as a tokenizer cuts them; by another pattern if one is given.

    Arguments and errors are as of `measure_texts`.
    """
    return count_words(
        texts.paths,
        pattern=tokenizer.pattern if pattern is None else pattern,
        special_tokens=() if settings.special == "none" else tuple(tokenizer.special_tokens),
        workers=workers,
        errors=settings.errors,
        max_memory=max_memory,
        inputs=settings.inputs,
        progress=progress,
    )


def _count_tokens(
    tokenizer: Tokenizer,
    texts: Texts,
    settings: EncodeSettings,
    workers: int | None,
    progress: ProgressOption,
) -> tuple[Int64Array, int]:
    """Return how often each token occurs, and how many rows were left out."""
    reporter, sources = make_reporter(progress), resolve_sources(texts.paths)
    bad_rows = BadRows(settings.inputs.skip_bad_rows)
    counts: Int64Array = np.zeros(tokenizer.n_vocab, dtype=np.int64)
    done = n_tokens = 0
    reporter.start("encode", total_bytes(sources), "bytes")
    for text in encode_sources(tokenizer, sources, settings, workers, bad_rows):
        ids = text.encoded.ids
        counts += np.bincount(ids, minlength=tokenizer.n_vocab)
        done += text.filled.n_disk_bytes
        n_tokens += len(ids)
        reporter.update(done, tokens=n_tokens)
    reporter.finish(done, tokens=n_tokens)
    return counts, bad_rows.n_skipped


def _token_sizes(tokenizer: Tokenizer) -> tuple[Int64Array, Int64Array]:
    """Return the bytes of each token, and the characters that begin in it."""
    model = tokenizer.model
    begins = np.zeros(model.token_bytes.shape[0] + 1, dtype=np.int64)
    np.cumsum((model.token_bytes & _CONTINUATION_BITS) != _CONTINUATION, out=begins[1:])
    return np.diff(model.token_offsets), np.diff(begins[model.token_offsets])
