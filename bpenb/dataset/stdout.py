"""Where a file goes whose start is written last: a path, or standard output in all its forms.

    a path                    written beside it, then renamed: whole or not at all
    stdout, a regular file    written in place, from where *we* began: a shared descriptor need
                              not be at 0
    stdout, a pipe or `>>`    spooled to a temporary file, then copied: a pipe cannot seek, and in
                              append mode every write lands at the end
    stdout, a terminal        refused

This is the one module outside the command line that writes to standard output.
"""

from __future__ import annotations

import io
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO

from bpenb._atomic import atomic_write
from bpenb.errors import OutputError

__all__ = ["open_target"]


@contextmanager
def open_target(target: str | os.PathLike[str] | IO[bytes]) -> Iterator[IO[bytes]]:
    """Open something that can be written with seeks; when the block ends well, all is where it belongs.

    If the block ends with an error, a path is left as it was, and of standard output nothing is kept.

    Args:
        target: a path; `"-"` for standard output; or an open binary stream.

    Raises:
        OutputError: a terminal, a folder, or a target that cannot be written.
    """
    if target == "-":
        sys.stdout.flush()
        with _buffered(sys.stdout.buffer) as stream, _open_stream(stream, "standard output") as file:
            yield file
    elif not isinstance(target, (str, os.PathLike)):
        with _open_stream(target, str(getattr(target, "name", "the stream"))) as file:
            yield file
    elif (path := Path(target)).is_dir():
        raise OutputError(f"{path}: is a folder; name a file")
    elif path.exists() and not path.is_file():  # a pipe or a device is never renamed over
        with path.open("wb") as device, _open_stream(device, str(path)) as file:
            yield file
    else:
        with atomic_write(path) as file:
            yield file


@contextmanager
def _buffered(stream: IO[bytes]) -> Iterator[IO[bytes]]:
    """Put a buffer before a raw stream (`python -u`): a raw write may stop half-way, at a signal."""
    if not isinstance(stream, io.RawIOBase):
        yield stream
        return
    buffered = io.BufferedWriter(stream)
    try:
        yield buffered
    finally:
        buffered.detach()  # else it would close standard output


def _open_stream(stream: IO[bytes], name: str) -> AbstractContextManager[IO[bytes]]:
    """Choose the way for an open stream."""
    try:
        descriptor = stream.fileno()
    except (AttributeError, io.UnsupportedOperation):
        return _spooled(stream, name)
    if os.isatty(descriptor):
        raise OutputError(f"{name} is a terminal, and ids are no text: redirect it, as in `> ids.npy`")
    if stat.S_ISREG(os.fstat(descriptor).st_mode) and not _is_append(descriptor):
        return _patched(stream, name)
    return _spooled(stream, name)


def _is_append(descriptor: int) -> bool:
    """Tell whether all writes go to the end. Windows has no such mode: `>>` only starts there."""
    try:
        import fcntl
    except ImportError:
        return False
    return bool(fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_APPEND)


@contextmanager
def _patched(stream: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    """Write in place; after an error, cut off what we wrote (unless it lies over older bytes)."""
    try:
        start = stream.seek(0, os.SEEK_CUR)  # asks the system: a shared descriptor need not be at 0
        at_end = os.fstat(stream.fileno()).st_size <= start
        try:
            yield stream
            stream.flush()
        except BaseException:
            if at_end:
                stream.seek(start)
                stream.truncate()
            raise
    except OSError as error:
        raise OutputError(f"{name}: cannot be written: {error.strerror or error}") from error


@contextmanager
def _spooled(stream: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    """Write to a temporary file, and copy it when all is well."""
    try:
        with tempfile.TemporaryFile(prefix="bpenb-") as spool:
            yield spool
            spool.seek(0)
            shutil.copyfileobj(spool, stream, 1 << 20)
            stream.flush()
    except OSError as error:
        raise OutputError(f"{name}: cannot be written: {error.strerror or error}") from error
