"""Serves the built page (web/dist) on one local port. Needs only Python.

usage: python3 web/build/serve.py [--directory DIR] [--port N] [--host ADDRESS]
                                  [--allow-host NAME ...]

The port is PORT, or 8000. A request must name this machine in its Host header: `localhost`, or the
address at which it arrived. Otherwise any site could make its own name resolve to this server and
read the responses (DNS rebinding). `--allow-host` adds a name, for example of a proxy.

Only files in DIR are served: a symbolic link that leads out of it is not followed. Every response
has the headers that the page is designed for: cross-origin isolation (which enables
SharedArrayBuffer, hence Ctrl-C, and high-resolution timers) and a Content-Security-Policy that
allows only this origin and WebAssembly.
"""

from __future__ import annotations

import argparse
import errno
import functools
import gzip
import http.server
import io
import os
import signal
import sys
import threading
import urllib.parse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

DIST = Path(__file__).resolve().parents[1] / "dist"
DEFAULT_PORT = 8000

CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'self'",
        "script-src 'self' 'wasm-unsafe-eval'",
        "worker-src 'self'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'self'",
    ]
)

HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}

MIME_TYPES = {
    "": "application/octet-stream",
    ".bin": "application/octet-stream",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".py": "text/x-python; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".wgsl": "text/plain; charset=utf-8",
    ".whl": "application/zip",
    ".zip": "application/zip",
}

COMPRESSED = {".css", ".html", ".js", ".json", ".mjs", ".py", ".svg", ".txt", ".wasm", ".wgsl"}
"""Types of files that are sent compressed; wheels and archives are compressed already."""
LARGE = 250_000  # bytes


@functools.lru_cache(maxsize=1024)
def compressed(path: Path, etag: str) -> bytes:
    """Return the file in gzip format, cached by ETag."""
    del etag
    return gzip.compress(path.read_bytes(), 6, mtime=0)


def compress_ahead(directory: Path) -> None:
    """Compress large files before they are requested."""
    for path in directory.rglob("*"):
        if path.suffix in COMPRESSED and path.stat().st_size > LARGE:
            compressed(path, etag_of(path, is_compressed=True))


def etag_of(path: Path, *, is_compressed: bool) -> str:
    """Return the file's ETag, which changes with the file. Raises OSError if there is no file."""
    status = path.stat()
    form = "-gzip" if is_compressed else ""
    return f'"{status.st_mtime_ns:x}-{status.st_size:x}{form}"'


class PageHandler(http.server.SimpleHTTPRequestHandler):
    """Serves static files, compressed, with ETags, and the page's headers on every response."""

    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.1"  # or malformed requests get no status line
    wbufsize = -1  # send head and body together: separate writes cost 40 ms
    disable_nagle_algorithm = True
    timeout = 30  # seconds that a connection may be idle
    server_version = "py_tensor"
    sys_version = ""
    extensions_map = MIME_TYPES

    _etag: str | None = None
    """The ETag of the file in the response."""

    def __init__(self, *args: Any, directory: Path, names: Iterable[str]) -> None:
        self._names = {"localhost", *(name.lower() for name in names)}
        super().__init__(*args, directory=str(directory))  # handles requests

    def parse_request(self) -> bool:
        """Read the request; reject one for another host."""
        self._etag = None
        if not super().parse_request():
            return False
        if self._host() in {*self._names, self.connection.getsockname()[0]}:
            return True
        self.close_connection = True  # there may be an unread body
        self.send_error(
            http.HTTPStatus.MISDIRECTED_REQUEST,
            explain="This server does not go by that name. --allow-host of serve.py adds a name.",
        )
        return False

    def send_head(self) -> Any:
        """Answer 304 if the browser has the current file; else send it, compressed if accepted."""
        file = self._file()
        if file is None:
            self.send_error(http.HTTPStatus.NOT_FOUND)
            return None
        accepted = self.headers.get("Accept-Encoding", "")
        is_compressed = file.suffix in COMPRESSED and "gzip" in accepted
        self._etag = etag = etag_of(file, is_compressed=is_compressed)
        if etag in self.headers.get("If-None-Match", ""):
            self.send_response(http.HTTPStatus.NOT_MODIFIED)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return None
        if not is_compressed:
            return super().send_head()
        body = compressed(file, etag)
        self.send_response(http.HTTPStatus.OK)
        self.send_header("Content-Type", self.guess_type(file))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        return io.BytesIO(body)

    def end_headers(self) -> None:
        for name, value in HEADERS.items():
            self.send_header(name, value)
        if self._etag is not None:
            self.send_header("ETag", self._etag)
            self.send_header("Vary", "Accept-Encoding")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: only failures are logged (`log_error`)."""

    def log_error(self, format: str, *args: Any) -> None:
        if not isinstance(sys.exception(), TimeoutError):  # also ends an idle connection
            sys.stderr.write(f"{getattr(self, 'path', 'bad request')!r}: {format % args}\n")

    def _host(self) -> str | None:
        """Return the name in the Host header, without the port."""
        try:
            return urllib.parse.urlsplit(f"//{self.headers['Host']}").hostname
        except ValueError:
            return None

    def _file(self) -> Path | None:
        """Return the requested file, if it is in the folder."""
        path = Path(self.translate_path(self.path))
        file = path / "index.html" if os.path.isdir(path) else path
        if not os.path.isfile(file):  # unlike Path's, it accepts any name (NUL, too long)
            return None
        return file if file.resolve().is_relative_to(Path(self.directory).resolve()) else None


class PageServer(http.server.ThreadingHTTPServer):
    """Uses one thread per connection; ignores connections dropped by the browser."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        """The URL to open, with `localhost`, which browsers treat as a secure context."""
        host, port = self.server_address[:2]
        return f"http://{'localhost' if host in ('127.0.0.1', '0.0.0.0') else host}:{port}/"


def serve(
    directory: str | os.PathLike[str] = DIST,
    port: int = 0,
    host: str = "127.0.0.1",
    names: Iterable[str] = (),
) -> PageServer:
    """Serve `directory` from a background thread and return the server.

    Parameters
    ----------
    directory : path
        The output of `web/build/build.py`.
    port : int
        0 takes any free port; the server's `url` says which.
    host : str
        The address to listen on.
    names : iterable of str
        Names by which requests may call the server, besides `localhost` and the address that
        they came in by.

    Raises
    ------
    FileNotFoundError
        If `directory` contains no built page.
    OSError
        If the port is in use (`errno.EADDRINUSE`).
    """
    server = _bind(Path(directory), port, host, names)
    threading.Thread(target=server.serve_forever, name="page server", daemon=True).start()
    return server


def _bind(directory: Path, port: int, host: str, names: Iterable[str]) -> PageServer:
    if not (directory / "index.html").is_file():
        raise FileNotFoundError(
            f"{directory} holds no built page: run `python3 web/build/build.py` first"
        )

    handler = functools.partial(PageHandler, directory=directory, names=names)
    return PageServer((host, port), handler)


def main() -> int:
    parser = argparse.ArgumentParser(description="Serve the built page.")
    parser.add_argument("--directory", type=Path, default=DIST)
    parser.add_argument("--port", type=int, default=None, help="default: PORT, or 8000")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="answer requests for this name, too; may be given several times",
    )
    options = parser.parse_args()
    try:
        port = (
            options.port
            if options.port is not None
            else int(os.environ.get("PORT") or DEFAULT_PORT)
        )
    except ValueError:
        print(f"PORT={os.environ['PORT']} is not a port number", file=sys.stderr)
        return 2
    try:
        server = _bind(options.directory, port, options.host, options.allow_host)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            print(
                f"Port {port} is taken. Choose another: PORT={port + 1} npm start", file=sys.stderr
            )
        else:
            print(f"Cannot listen on {options.host}:{port}: {error.strerror}", file=sys.stderr)
        return 1

    def stop(*_: object) -> None:
        # shutdown() waits for serve_forever, which runs in this thread.
        threading.Thread(target=server.shutdown).start()

    ahead = threading.Thread(target=compress_ahead, args=[options.directory], daemon=True)
    ahead.start()
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    print(f"py_tensor is at {server.url}  (Ctrl-C ends it)", flush=True)
    server.serve_forever(poll_interval=0.1)
    server.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
