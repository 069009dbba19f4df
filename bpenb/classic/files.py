"""Files of text or rows to one array of ids, and ids to text, in constant memory."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bpenb.classic.tokenizer import ClassicTokenizer, UnknownCharacters
from bpenb.corpus import (
    BadRows,
    CutFinder,
    Files,
    InputOptions,
    SpecialScanner,
    fill_from_files,
    resolve_sources,
    total_bytes,
)
from bpenb.dataset import NpyWriter
from bpenb.errors import BpenbError, EncodingError, InvalidUtf8Error, UnknownTokenError
from bpenb.preparing import StreamedTokens
from bpenb.pretokenize import ScanBuffer
from bpenb.progress import ProgressOption, Reporter, make_reporter

__all__ = ["StreamedText", "decode_classic", "encode_classic"]

BUFFER_BYTES = 1 << 20


class StreamedText(NamedTuple):
    """What was encoded.

    Attributes:
        counted: how many tokens, documents and bytes there were.
        unknown: the characters that became `<unk>`.
    """

    counted: StreamedTokens
    unknown: UnknownCharacters


def encode_classic(
    tokenizer: ClassicTokenizer,
    inputs: Files,
    target: str | os.PathLike[str] | IO[bytes],
    *,
    options: InputOptions | None = None,
    special: str = "all",
    errors: str = "strict",
    progress: ProgressOption | Reporter = None,
) -> StreamedText:
    """Encode files into one .npy.

    Args:
        tokenizer: whose ids.
        inputs: files of any kind, as of `count_words`.
        target: a path; `-` for standard output; or an open binary stream.
        options: how rows are read; there is no separator of documents here.
        special: special tokens get their ids (`all`), are text (`none`) or an error (`error`).
        errors: `strict`, or `replace` for U+FFFD where text is not UTF-8.
        progress: as elsewhere; in bytes.

    Raises:
        CorpusError: an input that cannot be read; a bad row; bytes that are not UTF-8.
        EncodingError: a special token that is an error, or a document separator.
        OutputError: a target that cannot be written.
    """
    options, reporter = options or InputOptions(), make_reporter(progress)
    _check_options(options, special, errors)
    sources, bad_rows = resolve_sources(inputs), BadRows(options.skip_bad_rows)
    names = tuple(tokenizer.special_tokens) if special != "none" else ()
    finder = CutFinder(tokenizer.model.pattern, SpecialScanner(names))
    buffer, counts = ScanBuffer(BUFFER_BYTES), Counter[str]()
    n_characters = n_documents = n_text_bytes = done = 0
    reporter.start("encode", total_bytes(sources), "bytes")
    with NpyWriter(target, tokenizer.n_vocab) as out:
        for filled in fill_from_files(sources, finder, lambda: buffer, options=options, bad_rows=bad_rows):
            for number, (start, end) in enumerate(filled.ranges.tolist()):
                data, (name, place) = buffer.text[start:end].tobytes(), filled.label(number)
                text = _decoded(data, errors, name, place)
                if special == "error":
                    _refuse_special(tokenizer, text, name)
                ids = tokenizer.encode(text) if special == "all" else tokenizer.encode_ordinary(text)
                out.write(np.array(ids, dtype=np.int32))
                unknown = tokenizer.unknown_characters(text, special=special == "all")
                counts.update(unknown.counts)
                n_characters += unknown.n_characters
            n_documents += int(filled.ends_document.sum())
            n_text_bytes += filled.n_bytes
            done += filled.n_disk_bytes
            reporter.update(done, tokens=out.n_ids)
        n_ids = out.n_ids
    reporter.finish(done, tokens=n_ids)
    found = UnknownCharacters(dict(counts.most_common()), n_characters)
    counted = StreamedTokens(n_ids, n_documents, n_text_bytes, bad_rows.n_skipped, bad_rows.first)
    return StreamedText(counted, found)


def _check_options(options: InputOptions, special: str, errors: str) -> None:
    if options.document_separator is not None:
        raise EncodingError(
            "document_separator is for tokenizers on bytes; here any special token separates documents"
        )
    for name, value, choices in (
        ("special", special, ("all", "none", "error")),
        ("errors", errors, ("strict", "replace")),
    ):
        if value not in choices:
            raise BpenbError(f"{name} is {value!r}; it must be one of {', '.join(choices)}")


def _decoded(data: bytes, errors: str, name: str, place: int) -> str:
    try:
        return data.decode(errors=errors)
    except UnicodeDecodeError as error:
        raise InvalidUtf8Error(name, place + error.start) from None


def _refuse_special(tokenizer: ClassicTokenizer, text: str, name: str) -> None:
    for stretch, special_id in tokenizer.stretches(text):
        if special_id is not None:
            raise EncodingError(
                f"{name}: holds the special token {stretch!r}, which is disallowed; to give it its id, or to "
                "take it for text, choose special='all' or 'none' (--special)"
            )


def decode_classic(
    tokenizer: ClassicTokenizer,
    blocks: Iterable[npt.NDArray[Any]],
    name: str = "the ids",
    progress: ProgressOption | Reporter = None,
) -> Iterator[bytes]:
    """Decode ids block by block to UTF-8; joined, it is what `decode` gives.

    Args:
        tokenizer: whose ids they are.
        blocks: arrays of one dimension.
        name: of the source, for errors.
        progress: as elsewhere; in tokens.

    Raises:
        UnknownTokenError: an id that no token has; the message has its position.
    """
    reporter, n_ids, held_back = make_reporter(progress), 0, b""
    reporter.start("decode", None, "tokens")
    for ids in blocks:
        if not len(ids):
            continue
        try:
            text = held_back + tokenizer.decoder.decode(ids, n_ids)
        except UnknownTokenError as error:
            raise UnknownTokenError(f"{name}: {error}") from None
        held_back = b" " if tokenizer.ends_word[int(ids[-1])] else b""  # at the very end it is none
        yield text.removesuffix(held_back)
        n_ids += len(ids)
        reporter.update(n_ids)
    reporter.finish(n_ids)
