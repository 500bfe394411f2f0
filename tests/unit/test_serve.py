"""The page's server, with requests that browsers do not send."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from web.build.serve import PageHandler, PageServer, serve

TEXT = "the page"
SECRET = "not of the page"
LOOPBACK = "127.0.0.1"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    """A server of a folder with links inside it and out of it."""
    folder = tmp_path_factory.mktemp("server")
    site = folder / "site"
    (site / "inside").mkdir(parents=True)
    (site / "index.html").write_text(TEXT, "utf-8")
    (site / "file.bin").write_text(TEXT, "utf-8")
    (folder / "outside").mkdir()
    for name in ("secret.txt", "secret.bin", "index.html"):
        (folder / "outside" / name).write_text(SECRET, "utf-8")
    (site / "link.bin").symlink_to("file.bin")
    (site / "out").symlink_to(folder / "outside")
    (site / "out.txt").symlink_to(folder / "outside" / "secret.txt")
    (site / "out.bin").symlink_to(folder / "outside" / "secret.bin")
    (site / "loop.txt").symlink_to("loop.txt")
    (folder / "linked").symlink_to(site)
    server = serve(folder / "linked", names=["Page.Example"])
    yield server
    server.shutdown()
    server.server_close()


def reply(server: PageServer, sent: bytes) -> tuple[int, bytes]:
    """Return the status of the answer to these bytes, and its body."""
    with socket.create_connection((LOOPBACK, server.server_port), timeout=10) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as answer:
            head, _, body = answer.read().partition(b"\r\n\r\n")
    return int(head.split()[1]), body


def get(server: PageServer, path: str, *headers: str, host: str = "localhost") -> tuple[int, bytes]:
    lines = [f"GET {path} HTTP/1.1", f"Host: {host}", "Connection: close", *headers, "", ""]
    return reply(server, "\r\n".join(lines).encode("latin-1"))


@pytest.mark.parametrize("headers", [(), ("Accept-Encoding: gzip",)], ids=["plain", "gzip"])
@pytest.mark.parametrize(
    ("path", "status"),
    [
        *((path, 404) for path in ("/%00", "/a%00.js", "/%ed%a0%80", "/%ff", "/" + 5000 * "a")),
        *((path, 404) for path in ("/inside/", "/nothing", "/../../file.js", "/loop.txt")),
        ("/" + 70_000 * "a", 414),
    ],
    ids=lambda value: str(value)[:12],
)
def test_any_path_has_an_answer(
    server: PageServer,
    capfd: pytest.CaptureFixture[str],
    path: str,
    status: int,
    headers: tuple[str, ...],
) -> None:
    assert get(server, path, *headers)[0] == status
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / HTTP/1.1\r\n" + b"".join(b"A%d: b\r\n" % n for n in range(101)) + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nA: " + 70_000 * b"b" + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n\r\n", 421),
        (b"GET / HTTP/1.1\r\nHost: [\r\n\r\n", 421),
        (b"GET / / /\r\n\r\n", 400),
        (b"GET / HTTP/nine\r\n\r\n", 400),
        (b"\x00\xff\r\n\r\n", 400),
    ],
    ids=["101 headers", "70 kB", "no host", "bad host", "words", "version", "bytes"],
)
def test_any_head_has_an_answer(
    server: PageServer, capfd: pytest.CaptureFixture[str], sent: bytes, status: int
) -> None:
    assert reply(server, sent)[0] == status
    assert "Traceback" not in capfd.readouterr().err
    assert get(server, "/") == (200, TEXT.encode())


def test_an_error_has_no_tag_of_the_answer_before(server: PageServer) -> None:
    """Both are on one connection, and so from one handler."""
    head = "GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n"
    sent = (head.format("/") + head.format("/nothing")).encode()
    _, both = reply(server, sent)
    assert both.count(b"HTTP/1.1 404") == 1
    assert b"ETag" not in both


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\n"])
def test_half_a_request_times_out(
    server: PageServer,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    sent: bytes,
) -> None:
    assert PageHandler.timeout
    assert PageHandler.timeout <= 60
    monkeypatch.setattr(PageHandler, "timeout", 0.2)
    with socket.create_connection((LOOPBACK, server.server_port), timeout=10) as connection:
        connection.sendall(sent)
        before = time.monotonic()
        assert connection.recv(1) == b""
        assert time.monotonic() - before < 5
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *((host, 200) for host in ("localhost", "LOCALHOST:8000", "127.0.0.1:80", "page.example")),
        *((host, 421) for host in ("evil.example", "localhost.evil.example", "127.0.0.2", "")),
    ],
)
def test_only_its_own_names_are_answered(server: PageServer, host: str, status: int) -> None:
    """A site whose name resolves to this address must not read the files (DNS rebinding)."""
    found, body = get(server, "/", host=host)
    assert found == status
    assert (TEXT.encode() in body) == (status == 200)


@pytest.mark.parametrize("headers", [(), ("Accept-Encoding: gzip",)], ids=["plain", "gzip"])
@pytest.mark.parametrize("path", ["/out.txt", "/out.bin", "/out/", "/out", "/out/secret.txt"])
def test_links_out_of_the_folder_are_not_followed(
    server: PageServer, path: str, headers: tuple[str, ...]
) -> None:
    status, body = get(server, path, *headers)
    assert status == 404
    assert SECRET.encode() not in body


def test_links_inside_the_folder_are(server: PageServer) -> None:
    assert get(server, "/link.bin") == (200, TEXT.encode())
