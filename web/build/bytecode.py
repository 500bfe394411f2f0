"""Compiles the modules that a first visit imports; bytecode.mjs runs this in Pyodide.

In the archive of the standard library, bytecode is stored beside the source, which tracebacks and
`inspect` read; it is used without checking the source. All other modules can be reinstalled or
changed, so their bytecode contains the hash of its source, and is ignored if the source has another
hash.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import json
import marshal
import sys
import zipfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path("/lib")
LIBRARY = str(ROOT / "python313.zip")
PACKAGES = ("py_tensor", "py_tensor_page")
RARE = "py_tensor_page/rare_modules.txt"
"""The list of the modules in the second archive (worker/python/loader.py)."""
UNUSED = {
    *("_pydatetime.py", "_pyio.py", "_py_abc.py", "_threading_local.py"),  # Pyodide has them in C
    *("ftplib.py", "imaplib.py", "poplib.py", "smtplib.py"),  # need sockets
    *("http/server.py", "mailbox.py", "xmlrpc/client.py", "xmlrpc/server.py"),
    *("wsgiref/handlers.py", "wsgiref/simple_server.py", "wsgiref/validate.py"),
    *("multiprocessing/managers.py", "multiprocessing/forkserver.py"),  # need processes
    *("multiprocessing/heap.py", "multiprocessing/sharedctypes.py"),
    *("multiprocessing/popen_fork.py", "multiprocessing/popen_forkserver.py"),
    *("multiprocessing/popen_spawn_posix.py", "multiprocessing/resource_sharer.py", "pty.py"),
    *("multiprocessing/shared_memory.py", "multiprocessing/spawn.py"),
    *("multiprocessing/synchronize.py", "multiprocessing/resource_tracker.py"),
    *("asyncio/__main__.py", "sysconfig/__main__.py"),  # commands of a shell
    # a terminal's prompt; pydoc needs the pager
    *("_pyrepl/reader.py", "_pyrepl/unix_console.py", "_pyrepl/readline.py", "_pyrepl/console.py"),
    *("_pyrepl/completing_reader.py", "_pyrepl/historical_reader.py", "_pyrepl/commands.py"),
    *("_pyrepl/keymap.py", "_pyrepl/simple_interact.py", "_pyrepl/unix_eventqueue.py"),
    *("_pyrepl/input.py", "_pyrepl/fancy_termios.py", "_pyrepl/main.py", "_pyrepl/__main__.py"),
    *("_pyrepl/_minimal_curses.py", "_pyrepl/curses.py", "_pyrepl/_threading_handler.py"),
    *("asyncio/proactor_events.py", "asyncio/windows_events.py", "asyncio/windows_utils.py"),
    # for other systems
    *("_pyrepl/windows_console.py", "multiprocessing/popen_spawn_win32.py", "ctypes/_aix.py"),
    "ctypes/wintypes.py",
    *("_android_support.py", "_apple_support.py", "_ios_support.py"),
    # frozen in the interpreter, which hides their lines in tracebacks
    *("importlib/_bootstrap.py", "importlib/_bootstrap_external.py", "zipimport.py", "ntpath.py"),
}
"""Files of the archive that no program in a browser can use, and sources that are never read."""
AT_HAND = (
    *("*/__init__.py", "_pyodide/*", "pyodide/*", "importlib/*", "concurrent/*", "json/*"),
    # what the library's modules of first use, NumPy and micropip import
    *("ctypes/*", "html/*", "_markupbase.py", "urllib/parse.py", "platform.py", "sysconfig/*"),
    *("uuid.py", "pickle.py", "_compat_pickle.py", "base64.py", "hashlib.py", "hmac.py"),
    *("secrets.py", "ipaddress.py", "copyreg.py", "_sysconfigdata_*"),
    # what programs on tensors import
    *("datetime.py", "calendar.py", "_strptime.py", "locale.py", "zoneinfo/*", "timeit.py"),
    *("decimal.py", "_pydecimal.py", "fractions.py", "statistics.py", "numbers.py", "csv.py"),
    *("copy.py", "pprint.py", "textwrap.py", "string.py", "graphlib.py", "sched.py", "queue.py"),
    *(
        "difflib.py",
        "colorsys.py",
        "cmath.py",
        "fileinput.py",
        "filecmp.py",
        "gzip.py",
        "cProfile.py",
    ),
    *("profile.py", "pstats.py", "tomllib/*"),
    *("encodings/utf_*", "encodings/*escape.py", "encodings/cp1252.py", "encodings/idna.py"),
    *("encodings/ascii.py", "encodings/latin_1.py", "encodings/iso8859_1.py"),
)
"""Patterns of modules that are neither imported at startup nor left to the second archive."""
HASHED, CHECKED = 1, 2
TIME = (2020, 2, 2, 0, 0, 0)
"""The date of every file in the archive, so that equal sources give equal bytes."""


def bytecode(source: bytes, path: str, *, checked: bool) -> bytes:
    """Return the content of the .pyc file of a source at this path, as in PEP 552."""
    code = compile(source, path, "exec", dont_inherit=True, optimize=0)
    flags = HASHED | (CHECKED if checked else 0)
    head = importlib.util.MAGIC_NUMBER + flags.to_bytes(4, "little")
    return head + importlib.util.source_hash(source) + marshal.dumps(code)


def imported() -> Iterator[tuple[str, str]]:
    """Name and file of each module that was imported."""
    for name, module in sorted(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        if spec is not None and spec.origin is not None:
            yield name, spec.origin


def write_library(target: str, later: str) -> list[str]:
    """Write the archive for a start, and that of its rarely used modules; return their names.

    The first has bytecode after each file that was imported. It is stored uncompressed, because the
    whole is compressed for the transfer, which makes it smaller than files compressed separately.
    """
    wanted = {path for _, path in imported()}
    start = io.BytesIO()
    rare: list[str] = []
    with (
        zipfile.ZipFile(LIBRARY) as old,
        zipfile.ZipFile(start, "w") as first,
        zipfile.ZipFile(later, "w") as second,
    ):
        for name in old.namelist():
            if name in UNUSED:
                continue
            content, path = old.read(name), f"{LIBRARY}/{name}"
            source = zipfile.ZipInfo(name, TIME)
            compiles = path in wanted
            if compiles or not name.endswith(".py") or any(fnmatch(name, p) for p in AT_HAND):
                first.writestr(source, content)
            else:
                source.compress_type = zipfile.ZIP_DEFLATED
                second.writestr(source, content, compresslevel=9)
                rare.append(name.removesuffix(".py").replace("/", "."))
            if compiles:
                compiled = bytecode(content, path, checked=False)
                first.writestr(zipfile.ZipInfo(name + "c", TIME), compiled)
    write(target, start.getvalue())
    return rare


def write_packages(target: str, rare: list[str]) -> None:
    """Paths below ROOT and sizes, as JSON in a line, then the contents.

    They are the page's Python modules, those of the library that are imported, and the bytecode of
    both: together they compress better than in a wheel, whose files are compressed separately. The
    names of the `rare` modules of the standard library are among them.
    """
    sources = sorted((ROOT / PACKAGES[1]).glob("*.py"))
    files = {str(path.relative_to(ROOT)): path.read_bytes() for path in sources}
    files[RARE] = "\n".join(rare).encode()
    for name, path in imported():
        if name.partition(".")[0] in PACKAGES:
            files[str(Path(path).relative_to(ROOT))] = Path(path).read_bytes()
            cached = Path(importlib.util.cache_from_source(path)).relative_to(ROOT)
            files[str(cached)] = bytecode(Path(path).read_bytes(), path, checked=True)
    sizes = [[path, len(content)] for path, content in files.items()]
    write(target, json.dumps(sizes).encode() + b"\n" + b"".join(files.values()))


def write(target: str, content: bytes) -> None:
    import gzip  # imported here because no visit imports it

    Path(target).write_bytes(gzip.compress(content, 9, mtime=0))


sys.path.append(str(ROOT))
importlib.import_module("py_tensor_page.preload")
write_packages("/tmp/modules.bin", write_library("/tmp/python_stdlib.bin", "/tmp/stdlib_rare.zip"))
