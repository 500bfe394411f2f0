"""A static file host: the page in a folder of a server that does not set the page's headers."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import http.server
import json
import shutil
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.browser.app import SITE

FOLDER = "some/where"


class QuietServer(http.server.ThreadingHTTPServer):
    """Ignores connections that the browser drops, for example when a page reloads."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class StaticHost:
    """The page below `FOLDER` of a server, served by Python's own `http.server`.

    Attributes
    ----------
    site
        The folder of the page, a copy of the built one: tests may change it.
    files
        The folder of the build's files in it.
    requested
        The paths of all requests, in order.
    headers
        The headers sent with every file.
    """

    def __init__(self, folder: Path) -> None:
        self.site = folder / FOLDER
        shutil.copytree(SITE, self.site)
        self.requested: list[str] = []
        self.headers: dict[str, str] = {}
        self._folder = folder
        self._server: QuietServer | None = None
        self._port = 0

    @property
    def url(self) -> str:
        return f"http://localhost:{self._port}/{FOLDER}/"

    @property
    def files(self) -> Path:
        (folder,) = (self.site / "builds").iterdir()
        return folder

    def start(self) -> None:
        requested, headers = self.requested, self.headers

        class Handler(http.server.SimpleHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def do_GET(self) -> None:
                requested.append(self.path)
                super().do_GET()

            def end_headers(self) -> None:
                for name, value in headers.items():
                    self.send_header(name, value)
                super().end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        handler = functools.partial(Handler, directory=str(self._folder))
        self._server = QuietServer(("127.0.0.1", self._port), handler)
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def publish(self, added: Mapping[str, str], *, wrongly: bool = False) -> str:
        """Replace this build by another one, with lines added to some files; return its name.

        `wrongly`: the lists of the new build exist, but not its files.
        """
        path, old = self.site / "files.json", self.files
        listed = json.loads(path.read_text("utf-8"))
        texts = {name: (old / name).read_text("utf-8") + lines for name, lines in added.items()}
        for name, text in texts.items():
            listed["files"][name] = hashlib.sha256(text.encode()).hexdigest()
        build = hashlib.sha256(json.dumps(listed["files"]).encode()).hexdigest()[:16]
        tells = json.dumps({"build": build})
        listed["files"]["build.json"] = hashlib.sha256(tells.encode()).hexdigest()
        if not wrongly:
            page = self.site / "index.html"
            page.write_text(page.read_text("utf-8").replace(old.name, build), "utf-8")
            new = old.rename(old.with_name(build))
            for name, text in {**texts, "build.json": tells}.items():
                (new / name).write_text(text, "utf-8")
        (self.site / "build.json").write_text(tells, "utf-8")
        path.write_text(json.dumps({**listed, "build": build}), "utf-8")
        return build

    def stop(self) -> None:
        """Stop; `start` restarts it at the same address."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


@contextlib.contextmanager
def static_host(folder: Path) -> Iterator[StaticHost]:
    """Copy the built page into an empty folder and serve it until the block ends."""
    host = StaticHost(folder)
    host.start()
    try:
        yield host
    finally:
        host.stop()
