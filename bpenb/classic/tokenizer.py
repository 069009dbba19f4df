"""`ClassicTokenizer`: text to ids and back, by characters and an end-of-word mark."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np

from bpenb._arrays import IdArray, offsets_from_lengths
from bpenb.classic import codes, folder
from bpenb.classic.encoding import WordEncoder
from bpenb.classic.model import END_OF_WORD, ClassicModel
from bpenb.encoding import Decoder
from bpenb.errors import EncodingError, OutputError
from bpenb.patterns import SplitPattern

__all__ = ["CLASSIC_KINDS", "ClassicTokenizer", "UnknownCharacters"]

CLASSIC_KINDS = ("bpenb", "hf", "subword-nmt")
"""What `ClassicTokenizer.export` writes."""


class UnknownCharacters(NamedTuple):
    """The characters of a text that become `<unk>`.

    Attributes:
        counts: of each, the most frequent first.
        n_characters: characters of the text without what is between words.
    """

    counts: dict[str, int]
    n_characters: int

    @property
    def n_unknown(self) -> int:
        """How many there are."""
        return sum(self.counts.values())

    @property
    def share(self) -> float:
        """Of all characters, from 0 to 1."""
        return self.n_unknown / self.n_characters if self.n_characters else 0.0

    @property
    def report(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return self._asdict() | {"n_unknown": self.n_unknown, "share": self.share}

    def __str__(self) -> str:
        most = ", ".join(f"{c!r} {n:,}" for c, n in list(self.counts.items())[:5])
        return (
            f"{self.n_unknown:,} of {self.n_characters:,} characters ({100 * self.share:.3g} %) became <unk>"
            + (f": {most}" + (", …" if len(self.counts) > 5 else "") if most else "")
        )


class ClassicTokenizer:
    """Encodes words of characters, exactly as its merges say; it never changes, and pickles.

    What is between words is not kept: decoding puts one space there. A character that is not known
    becomes `<unk>`, id 0.

    Args:
        model: checked already.

    Example:
        >>> model = ClassicModel.from_merges("low", [("l", "o"), ("lo", "w</w>")])
        >>> tokenizer = ClassicTokenizer(model)
        >>> tokenizer.encode("low  wow")
        [8, 5, 3, 6]
        >>> tokenizer.decode([8, 5, 3, 6])
        'low wow'
    """

    def __init__(self, model: ClassicModel) -> None:
        self._model = model
        self._report: Mapping[str, Any] | None = None
        self._words = WordEncoder(model)
        self._known = frozenset(model.characters)
        specials = sorted(model.special_tokens, key=len, reverse=True)
        self._specials = re.compile("|".join(map(re.escape, specials))) if specials else None
        mark = model.end_of_word
        first = model.first_character  # before it, a string that ends like a mark is none
        self.ends_word = np.array([i >= first and t.endswith(mark) for i, t in enumerate(model.tokens)])
        texts = [
            (token.removesuffix(mark) + " " if ends else token).encode()
            for token, ends in zip(model.tokens, self.ends_word.tolist(), strict=True)
        ]
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        self._decoder = Decoder(np.frombuffer(b"".join(texts), dtype=np.uint8), offsets_from_lengths(lengths))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ClassicTokenizer:
        """Read a folder that `save` wrote, or a file of codes of subword-nmt.

        Raises:
            FormatError: neither, or a damaged one.
        """
        return cls(folder.read_classic(path))

    @classmethod
    def from_codes(
        cls,
        path: str | os.PathLike[str],
        characters: Iterable[str] = (),
        special_tokens: Iterable[str] = (),
        end_of_word: str = END_OF_WORD,
        pattern: str | SplitPattern | None = None,
    ) -> ClassicTokenizer:
        """Read the codes of subword-nmt.

        Args:
            path: a file of version 0.2.
            characters: that the vocab has besides those in the codes, which hold no others: any other
                becomes `<unk>`.
            special_tokens: in the order of their ids.
            end_of_word, pattern: as of `train_classic`.

        Raises:
            FormatError: not such a file; the message names the line.
        """
        return cls(codes.read_codes(path, characters, special_tokens, end_of_word, pattern))

    def with_report(self, report: Mapping[str, Any]) -> ClassicTokenizer:
        """Return this tokenizer with what `save` writes as report.json."""
        self._report = report
        return self

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write a folder with the tokenizer in every format that holds it.

        Args and Raises: as of `Tokenizer.save`.
        """
        folder.save_classic(self._model, path, self._report, force)

    def export(self, path: str | os.PathLike[str], kind: str, *, force: bool = False) -> None:
        """Write the files of one program.

        Args:
            path: a folder; for `subword-nmt` a file.
            kind: `bpenb`, `hf` (tokenizer.json) or `subword-nmt` (codes).
            force: write into any other folder too; replace a file of codes.

        Raises:
            OutputError: another kind, or a path that must not be overwritten.
        """
        if kind not in CLASSIC_KINDS:
            raise OutputError(
                f"{kind} holds tokens of bytes only; a tokenizer on characters is written as: "
                f"{', '.join(CLASSIC_KINDS)}"
            )
        if kind == "bpenb":
            folder.save_classic(self._model, path, None, force)
        elif kind == "hf":
            folder.save_tokenizer_json(self._model, path, force)
        else:
            codes.save_codes(self._model, path, force)

    # --- what it is -----------------------------------------------------------------------------------

    @property
    def model(self) -> ClassicModel:
        """The checked model behind it."""
        return self._model

    @property
    def report(self) -> Mapping[str, Any] | None:
        """What training measured; None if it was not trained here."""
        return self._report

    @property
    def n_vocab(self) -> int:
        """How many ids there are."""
        return self._model.n_vocab

    @property
    def vocab(self) -> dict[int, str]:
        """The string of every id; a new dict each time."""
        return dict(enumerate(self._model.tokens))

    @property
    def merges(self) -> list[tuple[str, str]]:
        """The merges as pairs of strings, by rank; a new list each time."""
        return self._model.merge_pairs()

    @property
    def special_tokens(self) -> dict[str, int]:
        """The ids of the special tokens, in order; a new dict each time."""
        return dict(self._model.special_tokens)

    @property
    def decoder(self) -> Decoder:
        """The driver of the way back, where every mark is a space; for streams."""
        return self._decoder

    @property
    def encoder(self) -> NoReturn:
        """None: training files, offsets and streams of bytes are for tokenizers on bytes.

        Raises:
            EncodingError: always.
        """
        raise EncodingError(
            "a tokenizer on characters keeps no bytes between words, so there are no offsets, and no "
            "training files of documents: encode to one .npy (encode_classic), or train on bytes"
        )

    roles = encode_with_offsets = encode_iterable = encode_files = encoder

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self._model, self._report)

    def __repr__(self) -> str:
        return f"ClassicTokenizer(n_vocab={self.n_vocab}, characters={len(self._known)})"

    # --- encoding -------------------------------------------------------------------------------------

    def stretches(self, text: str) -> list[tuple[str, int | None]]:
        """Return the stretches of a text, and the id of each that is a special token."""
        if self._specials is None:
            return [(text, None)]
        found: list[tuple[str, int | None]] = []
        position = 0
        for match in self._specials.finditer(text):
            found.append((text[position : match.start()], None))
            found.append((match[0], self._model.special_tokens[match[0]]))
            position = match.end()
        return [*found, (text[position:], None)]

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, special tokens recognised.

        Raises:
            EncodingError: a lone surrogate.
            TypeError: not a str.
        """
        ids: list[int] = []
        for stretch, special_id in self.stretches(_checked(text)):
            ids += self._words.encode(stretch) if special_id is None else [special_id]
        return ids

    def encode_ordinary(self, text: str) -> list[int]:
        """Return the token ids of a text in which special tokens are text like any other.

        Raises:
            EncodingError, TypeError: as in `encode`.
        """
        return self._words.encode(_checked(text))

    def encode_to_numpy(self, text: str) -> IdArray:
        """Return the token ids of a text as int32[n]; the rest is as in `encode`."""
        return np.array(self.encode(text), dtype=np.int32)

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """Return the token ids of each text.

        Raises:
            EncodingError, TypeError: as in `encode`; a single str.
        """
        if isinstance(texts, str):
            raise TypeError("texts must be an iterable of str, not a str")
        return [self.encode(text) for text in texts]

    def split(self, text: str) -> list[str]:
        """Return the strings of the tokens of a text."""
        return [self._model.tokens[i] for i in self.encode(text)]

    def unknown_characters(self, text: str, *, special: bool = True) -> UnknownCharacters:
        """Return what becomes `<unk>` in a text.

        Args:
            text: as of `encode`.
            special: whether special tokens are recognised.

        Example:
            >>> ClassicTokenizer(ClassicModel.from_merges("ab", [])).unknown_characters("a bïb").counts
            {'ï': 1}
        """
        stretches = self.stretches(text) if special else [(text, None)]
        counts: Counter[str] = Counter()
        for stretch, special_id in stretches:
            if special_id is None:
                counts.update("".join(self._words.words(stretch)))
        rare = {c: n for c, n in counts.most_common() if c not in self._known}
        return UnknownCharacters(rare, counts.total())

    # --- decoding -------------------------------------------------------------------------------------

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of token ids: marks become spaces, but for one at the very end.

        Raises:
            UnknownTokenError: an id that no token has.
            TypeError: an item that is no integer.
        """
        given = ids if isinstance(ids, np.ndarray) else list(ids)
        text = self._decoder.decode(given)
        if len(given) and self.ends_word[int(given[-1])]:
            text = text[:-1]
        return text.decode()

    def token(self, token_id: int) -> str:
        """Return the string of one token.

        Raises:
            UnknownTokenError: no token has this id.
            TypeError: not an integer.
        """
        self._decoder.token_bytes(token_id)
        return self._model.tokens[token_id]


def _checked(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"the text must be a str, not {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise EncodingError(
            f"the text: character {error.start} is the lone surrogate U+{ord(text[error.start]):04X}; "
            "replace it first, as by text.encode('utf-8', 'replace').decode()"
        ) from None
    return text


def _unpickle(model: ClassicModel, report: Mapping[str, Any] | None) -> ClassicTokenizer:
    tokenizer = ClassicTokenizer(model)
    return tokenizer if report is None else tokenizer.with_report(report)
