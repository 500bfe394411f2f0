"""The bytes that a first visit transfers."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

from tests.browser.app import DIST, AppSession
from tests.browser.static_host import FOLDER, static_host
from tests.browser.test_service_worker import COMPUTE, Guest

LIMIT = 7_300_000  # bytes, compressed, without NumPy
NUMPY_LIMIT = 2_900_000  # bytes, of a host that does not compress wheels
ARCHIVES = {".whl", ".bin", ".png"}  # compressed already


def transferred(path: Path) -> int:
    """Transferred bytes of a file, from a host that compresses."""
    content = path.read_bytes()
    return len(content) if path.suffix in ARCHIVES else len(gzip.compress(content, 9))


def test_a_first_visit(session: AppSession, tmp_path: Path) -> None:
    """All requests until the page is cached for offline visits, by any worker.

    A file counts once: the browser only revalidates files that it has.
    """
    with static_host(tmp_path) as host:
        guest = Guest(session, host)
        app = guest.visit()
        assert app.run(COMPUTE)["result"] == "240"
        guest.wait_until_kept()
        listed = json.loads((host.site / "files.json").read_text("utf-8"))
        guest.context.close()
        paths = {path.removeprefix(f"/{FOLDER}/") or "index.html" for path in host.requested}
        files = {path for path in paths if (host.site / path).is_file()}
        of_build = {path.removeprefix(f"builds/{listed['build']}/") for path in files}
        assert {"index.html", "worker/worker.js", "pyodide/pyodide.asm.wasm"} < of_build
        assert not of_build & set(listed["onDemand"])
        sizes = {path: transferred(host.site / path) for path in files}
    print(f"{sum(sizes.values()):,} bytes in {len(sizes)} files")
    assert sum(sizes.values()) <= LIMIT, sorted(sizes.items(), key=lambda item: -item[1])[:9]


def test_numpy() -> None:
    (wheel,) = DIST.glob("wheels/numpy-*.whl")
    assert wheel.stat().st_size <= NUMPY_LIMIT


def test_wheels_are_compressed() -> None:
    for wheel in DIST.glob("wheels/*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            stored = [e for e in archive.infolist() if e.compress_type == zipfile.ZIP_STORED]
        assert sum(entry.file_size for entry in stored) < 1000, wheel.name
