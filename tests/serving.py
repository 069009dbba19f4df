"""Servers on this machine that behave as others do at their worst: no ranges, no length, cut connections."""

from __future__ import annotations

import contextlib
import hashlib
import re
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["CuttingProxy", "Site", "serving"]


class Site(ThreadingHTTPServer):
    """A web server of files in memory.

    Attributes:
        files: bytes by path.
        ranges, length, etag: whether it gives parts of files, tells their length, and a version.
        cut_after: bytes of a body after which it hangs up, `n_cuts` times.
        requests: methods, paths (with their queries) and ranges, in order.
    """

    daemon_threads = True

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = files
        self.ranges = self.length = self.etag = True
        self.status = 0
        self.cut_after, self.n_cuts = 0, 0
        self.requests: list[tuple[str, str, str | None]] = []

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients hang up in the middle of what they do not want."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Site

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, *, with_body: bool) -> None:
        site, asked = self.server, self.headers.get("Range")
        site.requests.append((self.command, self.path, asked))
        data = site.files.get(self.path.partition("?")[0])
        if site.status or data is None:
            self.send_response(site.status or 404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body, status, part = data, 200, ""
        if site.ranges and asked:
            found = re.fullmatch(r"bytes=(\d+)-(\d+)", asked)
            assert found is not None
            first, last = int(found[1]), min(int(found[2]), len(data) - 1)
            body, status, part = data[first : last + 1], 206, f"bytes {first}-{last}/{len(data)}"
        self.send_response(status)
        if part:
            self.send_header("Content-Range", part)
        if site.etag:
            self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()}"')
        if site.length:
            self.send_header("Content-Length", str(len(body)))
        else:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if with_body:
            self._send(body)

    def _send(self, body: bytes) -> None:
        site = self.server
        is_cut = site.n_cuts > 0 and len(body) > site.cut_after
        sent = body[: site.cut_after] if is_cut else body
        if site.length:
            self.wfile.write(sent)
        else:
            for start in range(0, len(sent), 4096):
                block = sent[start : start + 4096]
                self.wfile.write(f"{len(block):x}\r\n".encode() + block + b"\r\n")
            if not is_cut:
                self.wfile.write(b"0\r\n\r\n")
        if is_cut:
            site.n_cuts -= 1
            self.wfile.flush()
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextlib.contextmanager
def serving(files: dict[str, bytes]) -> Iterator[Site]:
    with Site(files) as site:
        thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield site
        finally:
            site.shutdown()
            thread.join()


class CuttingProxy:
    """Stands before a server, and cuts connections when so many bytes went through one of them.

    Attributes:
        cut_down, cut_up: bytes to and from the client after which it cuts; None: never.
        n_cuts: how often it still does.
        n_done: how often it did.
    """

    def __init__(self, port: int) -> None:
        self._upstream = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.cut_down: int | None = None
        self.cut_up: int | None = None
        self.n_cuts = self.n_done = 0
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._pumps: list[threading.Thread] = []
        self._closing = False
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def cut(self, n_cuts: int, *, down: int | None = None, up: int | None = None) -> None:
        with self._lock:
            self.cut_down, self.cut_up, self.n_cuts, self.n_done = down, up, n_cuts, 0

    def close(self) -> None:
        self._closing = True
        with contextlib.suppress(OSError):  # wakes it
            socket.create_connection(("127.0.0.1", self.port)).close()
        self._thread.join()
        self._listener.close()
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for pump in self._pumps:
            pump.join()
        for each in self._open:
            each.close()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            if self._closing:
                client.close()
                return
            server = socket.create_connection(("127.0.0.1", self._upstream))
            self._open += [client, server]
            for source, sink, is_up in ((client, server, True), (server, client, False)):
                self._pumps.append(
                    threading.Thread(target=self._pump, args=(source, sink, is_up), daemon=True)
                )
                self._pumps[-1].start()

    def _pump(self, source: socket.socket, sink: socket.socket, is_up: bool) -> None:
        n_bytes = 0
        with contextlib.suppress(OSError):
            while data := source.recv(4096):
                n_bytes += len(data)
                if self._is_cut(n_bytes, is_up):
                    break
                sink.sendall(data)
        for each in (source, sink):  # which wakes the other thread; closed they are at the end
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _is_cut(self, n_bytes: int, is_up: bool) -> bool:
        limit = self.cut_up if is_up else self.cut_down
        with self._lock:
            if limit is None or n_bytes <= limit or self.n_cuts == 0:
                return False
            self.n_cuts -= 1
            self.n_done += 1
            return True
