"""Reading and encoding inputs: one crew of threads, ids in the order of the text."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing

from bpenb._workers import resolve_workers
from bpenb.corpus import BadRows, Place, Source, fill_from_files
from bpenb.encoding import EncodedText, Tokenizer
from bpenb.errors import EncodingError
from bpenb.preparing.settings import EncodeSettings
from bpenb.preparing.stamps import Stamps, check_stamps, take_stamps
from bpenb.progress import Reporter

__all__ = ["encode_sources", "with_progress"]

BUFFER_BYTES = 1 << 20
LEAST_BUFFER_BYTES = 1 << 16
_BUFFERS_PER_WORKER = 8


def encode_sources(
    tokenizer: Tokenizer,
    sources: Sequence[Source],
    settings: EncodeSettings,
    workers: int | None = None,
    bad_rows: BadRows | None = None,
    start: Place | None = None,
    stamps: Stamps | None = None,
) -> Generator[EncodedText]:
    """Yield the ids of inputs, buffer by buffer, in order; each is valid until the next is asked for.

    Args:
        tokenizer: whose ids.
        sources: the inputs.
        settings: what decides the ids.
        workers: threads; None: as many as there are processors.
        bad_rows: is told of rows without a text.
        start: where to begin; None: at the first input.
        stamps: of the inputs, when they were looked at first; None: now.

    Raises:
        CorpusError: an input that cannot be read, or that changed meanwhile; a bad row; bytes that are
            not UTF-8.
        EncodingError: a byte that the vocab lacks; a special token, if `special` is `error`.
    """
    stamps = take_stamps(sources) if stamps is None else stamps
    splitter, row_splitter = settings.splitters(tokenizer)
    n_bytes = [source.n_bytes for source in sources]
    known = sum(n for n in n_bytes if n is not None)
    threads = resolve_workers(workers)
    size = BUFFER_BYTES
    if None not in n_bytes:
        size = min(size, max(LEAST_BUFFER_BYTES, known // (_BUFFERS_PER_WORKER * threads)))
        threads = max(1, min(threads, known // LEAST_BUFFER_BYTES))
    texts = tokenizer.encoder.crew(
        threads,
        lambda take: fill_from_files(
            sources,
            splitter.finder,
            take,
            options=settings.inputs,
            bad_rows=bad_rows,
            start=start,
            row_finder=row_splitter.finder,
        ),
        splitter,
        row_splitter=row_splitter,
        errors=settings.errors,
        buffer_bytes=size,
        in_turns=None not in n_bytes,
    )
    with closing(texts):
        for text in texts:
            if settings.special == "error":
                _refuse_special(text, tokenizer)
            yield text
    check_stamps(sources, stamps, "while it was read, so the ids may be of neither version; encode it again")


def with_progress(
    texts: Generator[EncodedText], sources: Sequence[Source], bad_rows: BadRows, reporter: Reporter
) -> Generator[EncodedText]:
    """Yield texts, and report bytes of the inputs read and tokens made, in the phase `encode`."""
    sizes = [source.n_bytes for source in sources]
    reporter.start("encode", None if None in sizes else sum(n or 0 for n in sizes), "bytes")
    done = n_tokens = 0
    with closing(texts):
        for text in texts:
            yield text
            done += text.filled.n_disk_bytes
            n_tokens += len(text.encoded.ids)
            reporter.update(done, tokens=n_tokens)
    details = {"bad_rows": bad_rows.n_skipped} if bad_rows.n_skipped else {}
    reporter.finish(done, tokens=n_tokens, **details)


def _refuse_special(text: EncodedText, tokenizer: Tokenizer) -> None:
    """Raise if a text holds a special token."""
    found = text.encoded.special_ids >= 0
    if not found.any():
        return
    first = int(found.argmax())
    token_id = int(text.encoded.special_ids[first])
    place = int(text.encoded.special_ends[first])
    number = int((text.encoded.range_ends >= place).argmax())
    name, _ = text.filled.label(number)
    raise EncodingError(
        f"{name}: holds the special token {tokenizer.token_bytes(token_id).decode()!r}, which is disallowed; "
        "to give it its id, or to take it for text, choose special='all' or 'none' (--special)"
    )
