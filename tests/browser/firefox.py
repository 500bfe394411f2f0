"""A headless Firefox, driven through its remote protocol (Marionette): JSON over a socket.

Playwright drives only its own build of Firefox; this is the released one. The protocol's commands
are WebDriver's: https://firefox-source-docs.mozilla.org/testing/marionette/Protocol.html
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

START_SECONDS = 60
ANSWER_SECONDS = 180

PREFERENCES = {
    "app.update.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "marionette.port": 0,  # any that is free
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "toolkit.telemetry.reportingpolicy.firstRun": False,
}


class FirefoxError(Exception):
    """Firefox returned an error instead of a value, or does not answer."""


class Firefox:
    """One window."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._incoming = connection.makefile("rb")
        self._last = 0
        self._receive()  # its greeting
        self._ask("WebDriver:NewSession", {})
        timeouts = {"script": ANSWER_SECONDS * 1000, "pageLoad": ANSWER_SECONDS * 1000}
        self._ask("WebDriver:SetTimeouts", timeouts)

    def open(self, url: str) -> None:
        self._ask("WebDriver:Navigate", {"url": url})

    def evaluate(self, function: str, *arguments: Any) -> Any:
        """The value of a JavaScript function, awaited, called in the page with these arguments."""
        script = f"""
            const [done, args] = [arguments[arguments.length - 1], [...arguments].slice(0, -1)];
            Promise.resolve(({function})(...args)).then(
              (value) => done({{ value: value ?? null }}),
              (error) => done({{ error: `${{error}}` }}),
            );
        """
        asked = {"script": script, "args": list(arguments)}
        found = self._ask("WebDriver:ExecuteAsyncScript", asked)["value"]
        if found is None:
            raise FirefoxError("Document was unloaded")
        if "error" in found:
            raise FirefoxError(found["error"])
        return found["value"]

    def _ask(self, command: str, parameters: dict[str, Any]) -> Any:
        self._last += 1
        message = json.dumps([0, self._last, command, parameters]).encode()
        self._connection.sendall(b"%d:%b" % (len(message), message))
        _, number, error, result = self._receive()
        assert number == self._last
        if error is not None:
            raise FirefoxError(f"{error['error']}: {error['message']}")
        return result

    def _receive(self) -> Any:
        digits = b""
        while (byte := self._incoming.read(1)) != b":":
            if not byte:
                raise FirefoxError("Firefox has ended the connection")
            digits += byte
        return json.loads(self._incoming.read(int(digits)))


@contextlib.contextmanager
def running_firefox(executable: str, **preferences: object) -> Iterator[Firefox]:
    """Run Firefox with a new profile and these additional preferences until the block ends."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        lines = (
            f"user_pref({json.dumps(name)}, {json.dumps(value)});"
            for name, value in {**PREFERENCES, **preferences}.items()
        )
        Path(folder, "user.js").write_text("\n".join(lines), "utf-8")
        process = subprocess.Popen(
            [executable, "--headless", "--no-remote", "--marionette", "--profile", folder],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": folder},
        )
        try:
            port = _port_of(Path(folder, "MarionetteActivePort"), process)
            with socket.create_connection(("127.0.0.1", port), ANSWER_SECONDS + 10) as connection:
                yield Firefox(connection)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _port_of(file: Path, process: subprocess.Popen[bytes]) -> int:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError, ValueError):
            return int(file.read_text("utf-8"))
        time.sleep(0.1)
    raise FirefoxError(f"Firefox did not open its port in {START_SECONDS} s")
