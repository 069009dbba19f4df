"""Tokenizers side by side, on the same texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bpenb._arrays import Int64Array
from bpenb._spelling import spell_bytes
from bpenb.api_counts import count_words
from bpenb.corpus import Files
from bpenb.counting import WordCounts
from bpenb.encoding import Tokenizer
from bpenb.errors import BpenbError
from bpenb.inspecting.door import check_top, checked_settings
from bpenb.inspecting.rereading import Texts, rereadable
from bpenb.inspecting.texts import ratio
from bpenb.inspecting.words import largest, tokens_of_words
from bpenb.preparing import EncodeSettings, FileTokens, count_tokens
from bpenb.progress import ProgressOption, make_reporter

__all__ = ["Compared", "Comparison", "DifferingWord", "compare_tokenizers"]


@dataclass(frozen=True)
class DifferingWord:
    """A word of the texts on which tokenizers differ.

    Attributes:
        word: its bytes.
        count: how often it occurs.
        n_tokens: its tokens by each tokenizer, in order.
    """

    word: bytes
    count: int
    n_tokens: tuple[int, ...]

    @property
    def difference(self) -> int:
        """Tokens between the best and the worst, over all occurrences."""
        return self.count * (max(self.n_tokens) - min(self.n_tokens))


class Compared(NamedTuple):
    """One of the tokenizers.

    Attributes:
        name: that it was given.
        n_vocab: highest id + 1.
        n_tokens: distinct tokens in its vocab.
        pattern: name or regex of its split pattern.
        total: of all inputs together.
        files: of each input, in order.
        seconds: that encoding took.
        n_bad_rows: rows that were left out.
    """

    name: str
    n_vocab: int
    n_tokens: int
    pattern: str
    total: FileTokens
    files: tuple[FileTokens, ...]
    seconds: float
    n_bad_rows: int

    @property
    def mb_per_second(self) -> float | None:
        """Text in a second, in millions of bytes; None if nothing was encoded."""
        return ratio(self.total.text_bytes / 1e6, self.seconds)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Tokenizers side by side.

    Attributes:
        tokenizers: in the order given.
        shared: int64[k, k], how many tokens two of them have in common, byte for byte; on the diagonal
            how many one has.
        n_shared: tokens that all have.
        differing: words with the largest differences, largest first. They are cut by the split pattern
            of the first tokenizer; one with another pattern takes each for a text of its own.
    """

    tokenizers: tuple[Compared, ...]
    shared: Int64Array
    n_shared: int
    differing: tuple[DifferingWord, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "tokenizers": [
                {
                    "name": one.name,
                    "n_vocab": one.n_vocab,
                    "pattern": one.pattern,
                    **{k: v for k, v in one.total.to_json().items() if k != "path"},
                    "seconds": round(one.seconds, 6),
                    "mb_per_second": one.mb_per_second,
                    "n_bad_rows": one.n_bad_rows,
                    "files": [file.to_json() for file in one.files],
                }
                for one in self.tokenizers
            ],
            "shared_tokens": self.shared.tolist(),
            "shared_by_all": self.n_shared,
            "differing_words": [
                {
                    "text": spell_bytes(word.word),
                    "count": word.count,
                    "tokens": list(word.n_tokens),
                    "difference": word.difference,
                }
                for word in self.differing
            ],
        }

    def csv_rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield rows of a table: the names of the columns, then each tokenizer with each input, and in all.

        The speed stands in the row of all inputs.
        """
        yield ("tokenizer", "file", "text_bytes", "documents", "tokens", "bytes_per_token", "mb_per_second")
        for one in self.tokenizers:
            for file in (*one.files, one.total):
                rate = ratio(file.text_bytes, file.tokens)
                speed = one.mb_per_second if file is one.total else None
                yield (one.name, file.path, file.text_bytes, file.documents, file.tokens, rate, speed)


def compare_tokenizers(
    tokenizers: Mapping[str, Tokenizer],
    inputs: Files,
    settings: EncodeSettings | None = None,
    *,
    top: int = 20,
    workers: int | None = None,
    max_memory: int | str | None = None,
    progress: ProgressOption = None,
) -> Comparison:
    """Hold tokenizers side by side on the same texts.

    Each encodes all texts once, one tokenizer after the other; before that the words of the texts are
    counted, so that none of them is the first to read the files. Speeds are those of one run.

    Args:
        tokenizers: at least two, by name; the split pattern of the first one cuts the words that are
            compared.
        inputs, settings, workers, max_memory, progress: as of `inspect_tokenizer`.
        top: how many words on which they differ are kept.

    Raises:
        BpenbError: fewer than two tokenizers; the rest as of `inspect_tokenizer`.
        CorpusError, CountsError, EncodingError, TypeError: as of `inspect_tokenizer`.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("corpus.txt").write_text("low low lower")
        >>> vocab = {i: bytes([i]) for i in range(256)}
        >>> learned = Tokenizer(vocab | {256: b"lo", 257: b"low"}, [(b"l", b"o"), (b"lo", b"w")])
        >>> both = compare_tokenizers({"bytes": Tokenizer(vocab, []), "learned": learned}, "corpus.txt")
        >>> [one.total.tokens for one in both.tokenizers], both.n_shared
        ([13, 7], 256)
        >>> both.differing[0]
        DifferingWord(word=b' low', count=1, n_tokens=(4, 2))
    """
    for name, tokenizer in tokenizers.items():
        if not isinstance(tokenizer, Tokenizer):
            raise TypeError(f"{name} must be a Tokenizer, not {type(tokenizer).__name__}; see Tokenizer.load")
    if len(tokenizers) < 2:
        raise BpenbError(f"{len(tokenizers)} tokenizer was given; to compare takes two or more")
    check_top(top)
    settings = checked_settings(settings)
    first = next(iter(tokenizers.values()))
    with rereadable(inputs) as texts:
        counts = count_words(
            texts.paths,
            pattern=first.pattern,
            special_tokens=_special_tokens(tokenizers, settings),
            workers=workers,
            errors=settings.errors,
            max_memory=max_memory,
            inputs=settings.inputs,
            progress=progress,
        )
        compared = tuple(
            _encode(name, tokenizer, texts, settings, workers, progress)
            for name, tokenizer in tokenizers.items()
        )
    vocabs = [set(tokenizer.vocab.values()) for tokenizer in tokenizers.values()]
    shared = np.array([[len(one & other) for other in vocabs] for one in vocabs], dtype=np.int64)
    return Comparison(compared, shared, len(set.intersection(*vocabs)), _differing(tokenizers, counts, top))


def _special_tokens(tokenizers: Mapping[str, Tokenizer], settings: EncodeSettings) -> list[str]:
    """Return the special tokens of all: no word that is compared holds one."""
    if settings.special == "none":
        return []
    return list(dict.fromkeys(name for one in tokenizers.values() for name in one.special_tokens))


def _encode(
    name: str,
    tokenizer: Tokenizer,
    texts: Texts,
    settings: EncodeSettings,
    workers: int | None,
    progress: ProgressOption,
) -> Compared:
    """Encode the texts, and take the time."""
    _touch(tokenizer)
    reporter = make_reporter(progress)
    found = count_tokens(tokenizer, texts.paths, settings, workers=workers, progress=reporter)
    seconds = reporter.phase_seconds["encode"]
    named = zip(found.files, texts.names, strict=True)
    files = tuple(FileTokens(path, f.text_bytes, f.tokens, f.documents) for f, path in named)
    n_tokens = len(set(tokenizer.vocab.values()))
    return Compared(
        name,
        tokenizer.n_vocab,
        n_tokens,
        str(tokenizer.pattern),
        found.total,
        files,
        seconds,
        found.n_bad_rows,
    )


def _touch(tokenizer: Tokenizer) -> None:
    """Encode one token, so that whatever is loaded at first use is not in the time that is taken."""
    some = next((token for token in tokenizer.model.ordinary_vocab().values() if token.isascii()), None)
    if some is not None:
        tokenizer.encode_ordinary(some.decode())


def _differing(
    tokenizers: Mapping[str, Tokenizer], counts: WordCounts, top: int
) -> tuple[DifferingWord, ...]:
    """Return the words with the largest differences; of equal ones, the first by their bytes."""
    rows = np.stack([tokens_of_words(tokenizer, counts) for tokenizer in tokenizers.values()])
    difference = counts.word_counts * (rows.max(axis=0) - rows.min(axis=0))
    offsets = counts.word_offsets
    return tuple(
        DifferingWord(
            counts.word_bytes[offsets[w] : offsets[w + 1]].tobytes(),
            int(counts.word_counts[w]),
            tuple(rows[:, w].tolist()),
        )
        for w in largest(difference, top)
    )
