"""The door of encoding: `Tokenizer`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from bpenb._arrays import IdArray
from bpenb.corpus import Files
from bpenb.encoding.batches import RaggedIds, encode_ragged
from bpenb.encoding.decoder import Decoder
from bpenb.encoding.decoding import Decoding
from bpenb.encoding.encoder import Encoder
from bpenb.encoding.model_facts import ModelFacts
from bpenb.encoding.offsets import Encoding, check_kept, with_offsets
from bpenb.encoding.special_choice import Names, SpecialChoice
from bpenb.encoding.streaming import encode_items, utf8_bytes
from bpenb.model import BPEModel
from bpenb.patterns import SplitPattern, resolve_pattern

if TYPE_CHECKING:
    from bpenb.dataset import Manifest
    from bpenb.preparing import EncodedFiles

__all__ = ["Tokenizer"]


class Tokenizer(ModelFacts, Decoding):
    """Encodes text to token ids and decodes ids to text, exactly as its merges say.

    It never changes, may be used from several threads at once, and pickles. The special tokens
    given here are always recognised in a text: leftmost first, of those the longest.

    Args:
        vocab: the bytes of each id; ids may have holes, and single bytes may be missing (a text
            that needs one is then an EncodingError).
        merges: pairs of bytes; the position is the rank.
        special_tokens: those in the vocab keep their id, the others get ids after the highest.
        pattern: a name of `bpenb.patterns.PATTERNS`, or a regex of the `regex` package.

    Raises:
        ModelError: a vocab and merges that do not belong together.
        PatternError: an unknown pattern, or one that does not compile.

    Example:
        >>> vocab = {i: bytes([i]) for i in range(256)} | {256: b"th", 257: b"the"}
        >>> tokenizer = Tokenizer(vocab, [(b"t", b"h"), (b"th", b"e")], ["<s>"])
        >>> tokenizer.encode("the<s>hat")
        [257, 258, 104, 97, 116]
        >>> tokenizer.decode([257, 258, 104, 97, 116])
        'the<s>hat'
    """

    def __init__(
        self,
        vocab: Mapping[int, bytes],
        merges: Iterable[tuple[bytes, bytes]],
        special_tokens: Iterable[str] | None = None,
        pattern: str | SplitPattern = "gpt2",
    ) -> None:
        self._set_up(BPEModel.from_vocab(vocab, merges, special_tokens, resolve_pattern(pattern)), warm=True)

    def _set_up(self, model: BPEModel, *, warm: bool) -> None:
        self._model = model
        self._report: Mapping[str, Any] | None = None
        self._encoder = Encoder(model)
        self._decoder = Decoder(model.token_bytes, model.token_offsets)
        self._special_choice = SpecialChoice(model, self._encoder)
        if warm:
            self.warmup()

    # --- other ways to one ------------------------------------------------------------------------

    @classmethod
    def from_model(
        cls, model: BPEModel, *, warm: bool = True, report: Mapping[str, Any] | None = None
    ) -> Tokenizer:
        """Return the tokenizer of a model.

        Args:
            model: checked already.
            warm: compile now, not at first use.
            report: what `save` writes as report.json, if anything.
        """
        tokenizer = cls.__new__(cls)
        tokenizer._set_up(model, warm=warm)
        tokenizer._report = report
        return tokenizer

    @classmethod
    def from_files(
        cls,
        vocab_path: str | os.PathLike[str],
        merges_path: str | os.PathLike[str],
        special_tokens: Iterable[str] | None = None,
        *,
        pattern: str | SplitPattern = "gpt2",
    ) -> Tokenizer:
        """Read a vocab.json and a merges.txt as GPT-2 has them.

        Args:
            vocab_path: JSON of token to id, bytes spelled in GPT-2's printable characters.
            merges_path: a merge a line.
            special_tokens: those in the vocab keep their id, the others get ids after the highest.
            pattern: neither file tells it.

        Raises:
            FormatError: a file that is not what it should be, with line or key.
            ModelError: files that do not belong together.
        """
        from bpenb.formats import load_vocab_merges

        return cls.from_model(load_vocab_merges(vocab_path, merges_path, special_tokens, pattern))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, pattern: str | SplitPattern | None = None) -> Tokenizer:
        """Read a tokenizer that bpenb or somebody else saved: a folder, or one file.

        Args:
            path: a folder, a tokenizer.json, a vocab.json with merges.txt beside it, or a .tiktoken file.
            pattern: needed where no file tells it, as for a .tiktoken file.

        Raises:
            FormatError: not a tokenizer, or a damaged one; the message names the file.
            ModelError: a vocab and merges that do not belong together.
        """
        from bpenb.formats import load_model

        return cls.from_model(load_model(path, pattern=pattern))

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write a folder with the tokenizer in every format; see `bpenb.formats`.

        Args:
            path: a folder that is missing, empty or holds a bpenb tokenizer; it is replaced as a whole.
            force: replace any other folder too.

        Raises:
            OutputError: a folder that must not be overwritten, or cannot be written.
        """
        from bpenb.formats import save_folder

        save_folder(self._model, path, self._report, force)

    def with_special_tokens(self, names: Iterable[str]) -> Tokenizer:
        """Return a tokenizer with further special tokens behind the highest id; every other id stays.

        Args:
            names: one that is a special token already changes nothing; one that is a token which no
                merge makes (as in GPT-2's vocab.json) becomes special where it is.

        Raises:
            ModelError: one that is spelled as a token which BPE makes, or an empty one.
            TypeError: a plain string instead of a sequence of them, or an item that is no string.

        Example:
            >>> tokenizer = Tokenizer({i: bytes([i]) for i in range(256)}, [], ["<s>"])
            >>> tokenizer.with_special_tokens(["<user>"]).encode("<s>a<user>")
            [256, 97, 257]
        """
        return type(self).from_model(self._model.with_special_tokens(names), warm=False, report=self._report)

    def export(
        self, path: str | os.PathLike[str], kind: str, *, pre: str | None = None, force: bool = False
    ) -> None:
        """Write the files of one program; a warning tells what that cannot know of the tokenizer.

        Args:
            path: a folder that is missing or empty; for `gguf` a file.
            kind: `hf` (transformers), `gpt2` (vocab.json and merges.txt), `tiktoken`, `gguf` or `bpenb`.
            pre: for gguf: the name of the split pattern in llama.cpp, where bpenb knows none.
            force: write into any other folder too; replace a GGUF file.

        Raises:
            OutputError: a tokenizer that this kind cannot hold, or a path that must not be overwritten.
        """
        from bpenb.formats import export_model

        export_model(self._model, path, kind, pre=pre, force=force)

    # --- what is behind it -------------------------------------------------------------------------

    @property
    def encoder(self) -> Encoder:
        """The driver behind it; for streams."""
        return self._encoder

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self._model, self._report)

    def warmup(self) -> None:
        """Compile what encoding and decoding need, or load it from disk; a second call does nothing."""
        self._encoder.warmup()
        self._decoder.warmup()

    # --- encoding ---------------------------------------------------------------------------------

    def encode(
        self, text: str, *, allowed_special: Names | None = None, disallowed_special: Names | None = None
    ) -> list[int]:
        """Return the token ids of a text, special tokens recognised.

        With one of the two arguments it is as in tiktoken: of the special tokens, those allowed get their
        ids, those disallowed are an error, the others are text. Where only one is given, the other is
        tiktoken's default.

        Args:
            allowed_special: "all", or names; by default all, or none if only disallowed_special is given.
            disallowed_special: "all" (that are not allowed), or any names; by default none, or "all" if
                only allowed_special is given.

        Raises:
            EncodingError: a lone surrogate, a byte that the vocab lacks, or a disallowed special token;
                the message tells where.
            TypeError: not a str; names that are not.

        Example:
            >>> tokenizer = Tokenizer({i: bytes([i]) for i in range(256)}, [], ["<s>"])
            >>> tokenizer.encode("<s>"), tokenizer.encode("<s>", disallowed_special=())
            ([256], [60, 115, 62])
        """
        data = utf8_bytes(text)
        splitter = self._special_choice.splitter(text, allowed_special, disallowed_special)
        return self._encoder.encode_to_list(data, splitter)

    def encode_ordinary(self, text: str) -> list[int]:
        """Return the token ids of a text in which special tokens are text like any other.

        Raises:
            EncodingError, TypeError: as in `encode`.
        """
        return self._encoder.encode_to_list(utf8_bytes(text), self._encoder.ordinary)

    def encode_to_numpy(
        self, text: str, *, allowed_special: Names | None = None, disallowed_special: Names | None = None
    ) -> IdArray:
        """Return the token ids of a text as int32[n]; the rest is as in `encode`."""
        data = utf8_bytes(text)
        splitter = self._special_choice.splitter(text, allowed_special, disallowed_special)
        return self._encoder.encode(data, splitter)

    def encode_with_offsets(self, text: str) -> Encoding:
        """Return the token ids of a text, special tokens recognised, and where each token stands in it.

        Raises:
            EncodingError, TypeError: as in `encode`; or a text that the tokenizer's normalizer, or the
                whitespace that its special tokens take along, would change: no place is known then.
        """
        data = utf8_bytes(text)
        ids = self._encoder.encode(data, self._encoder.splitter)
        check_kept(data, ids, self._decoder.token_lengths, self._model.traits)
        return with_offsets(data, ids, self._decoder.token_lengths)

    def encode_batch(
        self,
        texts: Iterable[str],
        *,
        allowed_special: Names | None = None,
        disallowed_special: Names | None = None,
        workers: int | None = None,
    ) -> list[list[int]]:
        """Return the token ids of each text; each is a text of its own, encoded as by `encode`.

        Args and Raises: as of `encode_batch_ragged`.
        """
        ids, offsets = self.encode_batch_ragged(
            texts, allowed_special=allowed_special, disallowed_special=disallowed_special, workers=workers
        )
        flat, bounds = ids.tolist(), offsets.tolist()
        return [flat[start:end] for start, end in pairwise(bounds)]

    def encode_batch_ragged(
        self,
        texts: Iterable[str],
        *,
        allowed_special: Names | None = None,
        disallowed_special: Names | None = None,
        workers: int | None = None,
    ) -> RaggedIds:
        """Return the token ids of many texts as two arrays: ids (uint16 or uint32) and offsets.

        Args:
            texts: a list, or an iterable, which is read as it is needed.
            allowed_special, disallowed_special: as of `encode`.
            workers: threads; None: as many as there are processors.

        Raises:
            EncodingError: as in `encode`, with the number of the text.
            TypeError: a single str, or an item that is none.

        Example:
            >>> tokenizer = Tokenizer({i: bytes([i]) for i in range(256)} | {256: b"th"}, [(b"t", b"h")])
            >>> ids, offsets = tokenizer.encode_batch_ragged(["the", "", "th"])
            >>> ids.tolist(), offsets.tolist()
            ([256, 101, 256], [0, 2, 2, 3])
        """
        return encode_ragged(
            self._encoder, texts, self._special_choice, allowed_special, disallowed_special, workers
        )

    def encode_files(
        self, inputs: Files, out: str | os.PathLike[str] | None = None, **options: Any
    ) -> Manifest | EncodedFiles:
        """Encode files of any kind into training files, or into one array in memory.

        Args:
            inputs: files, globs, folders; text, jsonl, parquet, compressed or not.
            out: a file, or with shards or splits a folder; None: nothing is written.
            **options: those of `bpenb.InputOptions` (field, …), `bpenb.EncodeSettings` (append_eot,
                val_fraction, shuffle, …) and `bpenb.OutputSettings` (format, shard_tokens, …) by name;
                workers, resume, force, progress.

        Returns:
            The manifest of what was written; or `EncodedFiles(ids, document_offsets)`.

        Raises:
            CorpusError, EncodingError, OutputError: as of `bpenb.encode_to_files`.
            TypeError: an unknown option.
        """
        from bpenb.preparing import encode_files  # outward: the one method that calls the whole pipeline

        return encode_files(self, inputs, out, **options)

    def encode_iterable(self, iterable: Iterable[str]) -> Iterator[int]:
        """Yield the token ids of strings joined to one text, whatever the cuts between them.

        Lazy, and in constant memory as long as the text has whitespace (for a regex of your own:
        special tokens) every few thousand bytes.

        Args:
            iterable: strings, as an open text file yields them.

        Raises:
            EncodingError: as in `encode`, with the number of the item.
            TypeError: an item that is no str.

        Example:
            >>> tokenizer = Tokenizer({i: bytes([i]) for i in range(256)} | {256: b"'t"}, [(b"'", b"t")])
            >>> list(tokenizer.encode_iterable(["don", "'t"]))
            [100, 111, 110, 256]
        """
        for ids in encode_items(self._encoder, iterable):
            yield from ids.tolist()


def _unpickle(model: BPEModel, report: Mapping[str, Any] | None) -> Tokenizer:
    """Make a copy in another process: it compiles, or loads what is compiled, at first use."""
    return Tokenizer.from_model(model, warm=False, report=report)
