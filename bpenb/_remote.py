"""URLs of remote files: what may be shown of them, connecting, and trying again.

fsspec, the extra `remote`, knows the file systems; it is imported at the first URL. No message holds a
password, a signature or an error of a library behind it that might: such are cleaned, and not chained.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import unquote

from bpenb.errors import BpenbError

__all__ = ["connect", "is_http", "is_remote", "shown_name", "shown_url", "split_url", "try_again"]

TRIES = 5
FIRST_WAIT = 0.5  # seconds; then twice as long each time: 7.5 in all

_Result = TypeVar("_Result")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_URL_IN_TEXT = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://[^\s'\"<>)\]}]+")
_CONTAINERS = ("abfs", "abfss", "wasb", "wasbs")  # container@account, which is no secret
_FINAL = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, NotImplementedError,
          ImportError, TypeError, ValueError)  # fmt: skip
_LEAST_SECRET = 4  # characters: shorter ones would be found in any text
_MISSING, _BUSY = 404, (408, 425, 429)  # of HTTP; the busy ones may be asked again


def is_remote(name: object) -> bool:
    """Tell whether this is a URL.

    Example:
        >>> [is_remote(name) for name in ("s3://bucket/a.txt", "a.txt", "C:/a.txt", "-")]
        [True, False, False, False]
    """
    return isinstance(name, str) and _URL.match(name) is not None


def is_http(url: str) -> bool:
    """Tell whether a URL is one of the web: `?` begins a query there, and folders have no list."""
    return url.lower().startswith(("http://", "https://"))


def split_url(url: str) -> tuple[str, str, str, str]:
    """Return the scheme, user (and password), place, and query of a URL; what may be shown is the place.

    Example:
        >>> split_url("https://me:key@host/a.txt?sig=0")
        ('https', 'me:key', 'host/a.txt', 'sig=0')
        >>> split_url("s3://bucket/part-?.txt")
        ('s3', '', 'bucket/part-?.txt', '')
    """
    scheme, _, rest = url.partition("://")
    query = ""
    if is_http(url):
        rest, _, query = rest.partition("#")[0].partition("?")
    elif re.search(r"\?[^/?]*=", rest):
        rest, _, query = rest.partition("?")
    host, slash, path = rest.partition("/")
    user, _, host = host.rpartition("@")
    if scheme.lower() in _CONTAINERS and ":" not in user:
        user, host = "", f"{user}@{host}" if user else host
    return scheme, user, host + slash + path, query


def shown_url(url: str) -> str:
    """Return a URL without what may be a secret: user, password, query; it names files everywhere.

    Example:
        >>> shown_url("https://me:key@host/a.txt?X-Amz-Signature=0a1b")
        'https://host/a.txt'
    """
    scheme, _, place, _ = split_url(url)
    return f"{scheme}://{place}"


def shown_name(name: object) -> str:
    """Return what may be shown of a path or URL.

    Example:
        >>> shown_name("a.txt"), shown_name("ftp://me:key@host/a.txt")
        ('a.txt', 'ftp://host/a.txt')
    """
    return shown_url(name) if isinstance(name, str) and is_remote(name) else str(name)


def connect(url: str, error: type[BpenbError]) -> tuple[Any, str]:
    """Return fsspec's file system of a URL, and the path in it.

    Args:
        url: of any file system that fsspec knows; its settings come from the environment.
        error: what is raised.

    Raises:
        BpenbError: of the type `error`: a package that is not installed, or a URL that nobody knows.
    """
    try:
        import fsspec
        from fsspec.core import url_to_fs
    except ImportError:
        raise error(
            f"{shown_url(url)}: remote files are read and written by the package fsspec, which is not here: "
            "pip install 'bpenb[remote]'"
        ) from None
    scheme = url.partition("://")[0].lower()
    if scheme not in fsspec.available_protocols():
        raise error(f"{shown_url(url)}: no file system is known for {scheme}://")
    settings = {}
    if is_http(url):  # packed once more on the way, bytes would be others than those of the file
        own = fsspec.config.conf.get(scheme, {}).get("headers", {})
        settings["headers"] = {"Accept-Encoding": "identity", **own}
    try:
        file_system, path = url_to_fs(url, **settings)
    except Exception as problem:
        reason, needs = _reason(problem, url), isinstance(problem, ImportError)
    else:
        return file_system, path
    if needs:
        raise error(
            f"{shown_url(url)}: {scheme}:// is read and written by a package of its own, which is not here: "
            f"{reason}"
        )
    raise error(f"{shown_url(url)}: cannot be opened: {reason}")


def try_again(url: str, what: str, action: Callable[[], _Result], error: type[BpenbError]) -> _Result:
    """Call until it succeeds, with longer and longer breaks; give up at once where that is no use.

    Args:
        url: of the file.
        what: that fails, for the message, such as `cannot be read at byte 7`.
        action: to call.
        error: what is raised at the end.

    Raises:
        BpenbError: of the type `error`: the file is not there, access is denied, or all tries failed.

    Example:
        >>> try_again("memory://a.txt", "cannot be read", lambda: 7, BpenbError)
        7
    """
    reason = ""
    for n_failed in range(TRIES):
        if n_failed:
            time.sleep(FIRST_WAIT * 2 ** (n_failed - 1))
        try:
            return action()
        except (BpenbError, MemoryError):
            raise
        except Exception as problem:  # whatever the libraries of a file system raise
            reason, is_final = _reason(problem, url), _is_final(problem)
        if is_final:  # raised here, so that no error with secrets hangs on it
            raise error(f"{shown_url(url)}: {what}: {reason}")
    raise error(
        f"{shown_url(url)}: {what}: {reason}; tried {TRIES} times, so the connection or the server is down: "
        "try again later"
    )


def _cause(problem: BaseException) -> BaseException:
    """Return what happened; fsspec calls any trouble with a URL of the web a missing file."""
    if isinstance(problem, FileNotFoundError) and problem.__cause__ is not None:
        return problem.__cause__
    return problem


def _is_final(problem: BaseException) -> bool:
    """Tell whether another try would be no use."""
    cause = _cause(problem)
    status = getattr(cause, "status", None)  # of aiohttp
    if isinstance(status, int) and status >= 400:
        return status < 500 and status not in _BUSY
    return isinstance(cause, _FINAL)


def _reason(problem: BaseException, url: str) -> str:
    """Return what happened in one line without secrets."""
    cause = _cause(problem)
    status, message = getattr(cause, "status", None), getattr(cause, "message", "")
    if isinstance(cause, FileNotFoundError) or status == _MISSING:
        return "there is no such file"
    if isinstance(status, int) and status >= 400:
        return f"the server answers {status} {message}".strip()
    text = str(getattr(cause, "strerror", None) or cause)
    text = _URL_IN_TEXT.sub(lambda found: shown_url(found[0]), text)
    _, user, _, query = split_url(url)
    values = [pair.partition("=")[2] for pair in query.split("&")]
    for secret in sorted({user, *user.split(":"), query, *values}, key=len, reverse=True):
        for spelling in (secret, unquote(secret)):
            if len(spelling) >= _LEAST_SECRET:
                text = text.replace(spelling, "…")
    return f"{type(cause).__name__}: {' '.join(text.split())}" if text else type(cause).__name__
