"""Builds web/dist, the page as served: Pyodide, the wheels, the page's own files.

All of them are below builds/BUILD/, whose name changes with any of them, so that an open page never
gets a file of another build. Outside of it are the page that names that folder, and files that
describe the build.

usage: python3 web/build/build.py [--wheel FILE] [--output DIR]

Needs Python 3.11+ with pip, and npm; downloads once (npm packages, the wheels of NumPy and
micropip) and caches downloads in node_modules/ and .cache/. If nothing has changed, it takes a
fraction of a second. `--wheel` uses a ready py_tensor wheel instead of building one.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gzip
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from html import escape
from pathlib import Path
from typing import Any

from notices import NoLicenseError, notices
from serve import CONTENT_SECURITY_POLICY, HEADERS, MIME_TYPES

BUILD = Path(__file__).resolve().parent
WEB = BUILD.parent
ROOT = WEB.parent
CACHE = ROOT / ".cache"
NODE_MODULES = ROOT / "node_modules"
PYODIDE = NODE_MODULES / "pyodide"

PYODIDE_VERSION = "0.29.5"
PYODIDE_FILES = ("pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm")
PYODIDE_CDN = f"https://cdn.jsdelivr.net/pyodide/v{PYODIDE_VERSION}/full/"

# A build of NumPy for Pyodide's ABI, inside an npm package.
NUMPY_NPM_PACKAGE = "@bentopdf/pymupdf-wasm@0.11.16"
NUMPY_WHEEL = "numpy-2.2.5-cp313-cp313-pyodide_2025_0_wasm32.whl"
NUMPY_SHA256 = "125230b4c3ecd08803e5c43f1162e017c0718d9f253146225a705a952b9c16c2"

# Files of it for compilers and type checkers, which nothing in a page can use.
NUMPY_ELSEWHERE = ("*.pyi", "*.h", "*.c", "*.a", "*.pxd", "*.pyx")

# The version for Pyodide 0.29.5; it vendors its dependencies (its metadata requires nothing).
MICROPIP_VERSION = "0.11.1"
MICROPIP_WHEEL = f"micropip-{MICROPIP_VERSION}-py3-none-any.whl"
MICROPIP_SHA256 = "768de165adb8e66906039d8fec4127a57f522dfdf8e6fbff877a4616941ecfd3"

# The requirements for building the library's wheel, with hashes.
BUILD_NEEDS = BUILD / "requirements.txt"

# The archive of the library's modules that are not imported at startup: worker/python/loader.py
# unpacks it at the first import of one.
FIRST_USE = Path("worker", "python", "first_use.zip")
# That of the rarely used modules of the standard library, for the same loader.
STDLIB_RARE = Path("pyodide", "stdlib_rare.zip")
# Files that the service worker caches at the second visit: from then on the whole library, its
# reference and the benchmarks are available offline, except for NumPy and the other libraries.
ON_RETURN = (
    *(FIRST_USE.as_posix(), STDLIB_RARE.as_posix(), "reference.json"),
    *("page/pane-*.js", "page/program-*.js", "page/editor/*"),
    *("page/panel-*.js", "page/bench/*", "worker/peer_worker.js", "worker/jax-*", "worker/tfjs-*"),
)
# Files that it caches once used: no first visit needs them.
ON_DEMAND = (
    *("wheels/numpy-*", "wheels/micropip-*", "worker/vendor/*", "pyodide/distribution.json"),
    "readme.txt",
    *ON_RETURN,
)
# Files that are installed at startup although they are not imported then: error messages, and the
# device for use without a GPU.
AT_HAND = (
    *("py_tensor/tools/hints.py", "py_tensor/backends/cpu.py"),
    "*/__init__.py",
)
# Other packages, and the kernels of modules, in the archive of modules for their first use.
OF_FIRST_USE = (
    *(f"py_tensor/{name}/__init__.py" for name in ("emath", "fft", "linalg", "testing", "ui")),
    *(
        f"py_tensor/shaders/kernels/{name}.wgsl"
        for name in ("custom", "factor_*", "fourier", "jacobi")
    ),
)

# Files of the library's wheel that only other hosts read: CPython, and pages without our bridge.
ELSEWHERE = (
    *(
        "py_tensor/runtime/bridge.py",  # for type checkers, as are the next
        "py_tensor/*.pyi",
        "py_tensor/backends/native*.py",
    ),
    "py_tensor/bridge.js",
    *("py_tensor_pytest.py", "*.dist-info/entry_points.txt"),  # the plugin of pytest
    "*.dist-info/RECORD",  # lists the whole wheel, of which this is only a part
)

# The start of every URL of a build; sw.js has it too.
BUILDS = "builds"

# The page itself, whose URLs are relative to the folder of a build.
INDEX = WEB / "page" / "index.html"
SERVICE_WORKER = WEB / "worker" / "sw.js"
# Hosts that Python's worker may contact if the user allows packages from the internet.
PACKAGE_HOSTS = WEB / "worker" / "package_hosts.js"
PAGE_PYTHON = WEB / "worker" / "python"
# The folders with the browser's files, and the types of those that are bundled and of pictures.
ROOMS = ("page", "worker", "bridge")
BUNDLED = {".css", ".js"}
PICTURES = {".png", ".svg"}
BUNDLES = CACHE / "bundles"
# The wheel is out of date after a change of any of these.
WHEEL_SOURCES = (
    *("py_tensor", "shaders", "web/bridge", "pyproject.toml", "README.md", "LICENSE"),
    "web/build/requirements.txt",
)


class BuildError(Exception):
    """Something the reader can act on; printed without a traceback."""


@dataclasses.dataclass(frozen=True)
class Package:
    """A wheel of the page, as Pyodide's lock file describes it."""

    name: str
    version: str
    wheel: Path
    imports: tuple[str, ...]

    def lock_entry(self) -> dict[str, object]:
        return {
            "name": self.name,
            "version": self.version,
            "file_name": self.wheel.name,
            "install_dir": "site",
            "sha256": sha256(self.wheel),
            "imports": list(self.imports),
            "depends": [],
            "package_type": "package",
            "unvendored_tests": False,
        }


def build(output: Path, wheel: Path | None = None) -> None:
    """Bring `output` up to date, and remove files there that are not part of the build."""
    ensure_npm_packages()
    published = wheel or ensure_library()
    whole = for_page(published)
    stdlib, stdlib_rare, modules = ensure_bytecode(whole)
    library, first_use = library_parts(whole, modules)
    packages = [
        Package("micropip", MICROPIP_VERSION, ensure_micropip(), ("micropip",)),
        numpy_package(),
        library,
    ]
    files = {Path("pyodide", name): PYODIDE / name for name in PYODIDE_FILES}
    files |= {Path("wheels", package.wheel.name): package.wheel for package in packages}
    files |= {
        Path("pyodide", stdlib.name): stdlib,
        Path("worker", "python", modules.name): modules,
    }
    files[FIRST_USE] = first_use
    files[STDLIB_RARE] = stdlib_rare
    files |= {Path("kernels", path.name): path for path in ensure_kernels(whole)}
    files |= {path.relative_to(WEB): path for path in page_pictures()}
    files |= {path.relative_to(BUNDLES): path for path in ensure_bundles()}
    files |= {Path(path.name): path for path in ensure_texts(whole)}
    contents = json.loads((BUNDLES / "contents.json").read_text("utf-8"))
    texts = {
        Path("pyodide", "lock.json"): json.dumps(trimmed_lock(packages), indent=1),
        Path("pyodide", "distribution.json"): json.dumps(whole_lock(packages)),
        Path("index.html"): index_page(contents["views"], contents["preload"], published.name),
        Path("readme.txt"): (ROOT / "README.md").read_text("utf-8"),
        Path("licenses.txt"): third_party(contents["inputs"], packages),
    }
    files = {target: source for target, source in files.items() if target not in texts}
    listed = list_of_files(files, texts)
    folder = Path(BUILDS, str(listed["build"]))
    tells = json.dumps({"build": listed["build"]})
    ours = {target.as_posix() for target in (*files, *texts)}
    page = addressed(texts[Path("index.html")], ours, folder)

    files = {folder / target: source for target, source in files.items()}
    files[Path("wheels", published.name)] = published  # for other pages
    texts = {folder / target: text for target, text in texts.items()}
    texts |= {
        folder / "build.json": tells,
        Path(".nojekyll"): "",  # otherwise GitHub Pages leaves out worker/python/__init__.py
        Path("index.html"): page,
        Path("sw.js"): service_worker(),
        Path("files.json"): json.dumps(listed, indent=1),
        Path("build.json"): tells,
    }
    output.mkdir(parents=True, exist_ok=True)
    for target, source in files.items():
        copy_if_changed(source, output / target)
    for target, text in texts.items():  # the files that describe the build come last
        write_if_changed(output / target, text)
    remove_all_but(output, {*files, *texts})


def list_of_files(files: Mapping[Path, Path], texts: Mapping[Path, str]) -> dict[str, object]:
    """Return the unique name of the build, and the list of its files.

    The page stores data for one build only; the service worker (sw.js) uses the list.
    """
    hashes = {target.as_posix(): sha256(source) for target, source in files.items()}
    hashes |= {
        target.as_posix(): hashlib.sha256(text.encode()).hexdigest()
        for target, text in texts.items()
    }
    hashes = dict(sorted(hashes.items()))
    # The service worker sets the headers of cached files, and is itself outside of the build.
    named = {**hashes, "sw.js": hashlib.sha256(service_worker().encode()).hexdigest()}
    build = hashlib.sha256(json.dumps(named).encode()).hexdigest()[:16]
    tells = json.dumps({"build": build})
    kept = {**hashes, "build.json": hashlib.sha256(tells.encode()).hexdigest()}
    on_demand, on_return = (
        [path for path in kept if any(fnmatch(path, pattern) for pattern in patterns)]
        for patterns in (ON_DEMAND, ON_RETURN)
    )
    return {"build": build, "files": kept, "onDemand": on_demand, "onReturn": on_return}


# Text written into the page's own files --------------------------------------------------------


def index_page(views: Sequence[Mapping[str, str]], preload: Iterable[str], wheel: str) -> str:
    """index.html with its content security policy, and a tab and a panel for each view.

    The policy is for hosts that send none.

    Its footer links to the library's wheel as ./wheels/NAME: `addressed` must not mistake it for
    the part of that wheel that the build has at wheels/NAME. The panel of the first view, shown
    until another one is chosen, is part of index.html.
    """
    first, *others = (escape(view["name"]) for view in views)
    tabs = [
        f'<button type="button" role="tab" id="tab-{name}" aria-controls="panel-{name}" '
        + ('aria-selected="true">' if name == first else 'aria-selected="false" tabindex="-1">')
        + f"{escape(view['heading'])}</button>"
        for view, name in zip(views, (first, *others), strict=True)
    ]
    panels = [
        f'<section id="panel-{name}" class="panel" role="tabpanel" aria-labelledby="tab-{name}" '
        "hidden></section>"
        for name in others
    ]
    links = [f'<link rel="modulepreload" href="{path}">' for path in preload]
    text = INDEX.read_text("utf-8")
    parts = {
        "<!-- chunks -->": links,
        "<!-- tabs -->": tabs,
        "<!-- panels -->": panels,
        "<!-- wheel -->": [escape(wheel)],
    }
    for stand_in, lines in parts.items():
        if stand_in not in text:
            raise BuildError(f"{INDEX} has no {stand_in}")
        text = text.replace(stand_in, "\n".join(lines))
    # `frame-ancestors` is not allowed in a <meta> element.
    policy = re.sub(r"; frame-ancestors [^;]*", "", CONTENT_SECURITY_POLICY)
    meta = f'<meta http-equiv="Content-Security-Policy" content="{escape(policy, quote=False)}">'
    charset = '<meta charset="utf-8">\n'
    before, found, after = text.partition(charset)
    if not found:
        raise BuildError(f"{INDEX} has no line {charset}")
    return f"{before}{charset}    {meta}\n{after}"


def addressed(html: str, files: Container[str], folder: Path) -> str:
    """Return the page for the folder above the build, with paths into it, as in sw.js."""

    def in_folder(match: re.Match[str]) -> str:
        attribute, path = match.groups()
        return f'{attribute}="{(folder / path).as_posix()}"' if path in files else match[0]

    return re.sub(r'\b(src|href)="([^"]+)"', in_folder, html)


def service_worker() -> str:
    """sw.js with the headers that it sets, the policy that allows packages, and types of files."""
    headers = {name: value for name, value in HEADERS.items() if name != "Cache-Control"}
    hosts = re.findall(r'"(https://[^"]+)"', PACKAGE_HOSTS.read_text("utf-8"))
    if PYODIDE_CDN not in hosts:
        raise BuildError(f"{PACKAGE_HOSTS} does not have {PYODIDE_CDN}")
    wider = f"{CONTENT_SECURITY_POLICY}; connect-src 'self' {' '.join(hosts)}"
    text = SERVICE_WORKER.read_text("utf-8")
    for name, value in (("HEADERS", headers), ("PACKAGES_POLICY", wider), ("TYPES", MIME_TYPES)):
        empty = f"const {name} = {json.dumps(type(value)())};"
        before, stand_in, after = text.partition(empty)
        if not stand_in:
            raise BuildError(f"{SERVICE_WORKER} has no `{empty}` to write to")
        text = f"{before}const {name} = {json.dumps(value, indent=2)};{after}"
    return text


def third_party(bundled: Iterable[str], packages: Iterable[Package]) -> str:
    """Return the licences of the contents of the bundles and the wheels, and of Pyodide."""
    names = {
        match[1]
        for path in bundled
        if (match := re.search(r"node_modules/((?:@[^/]+/)?[^/]+)/", path))
    }
    wheels = [package.wheel for package in packages]
    try:
        return notices([NODE_MODULES / name for name in names], PYODIDE, wheels)
    except NoLicenseError as error:
        raise BuildError(str(error)) from None


# npm's packages -----------------------------------------------------------------------------------


def ensure_npm_packages() -> None:
    """Run `npm ci` unless node_modules has all packages pinned by package.json."""
    pinned = json.loads((ROOT / "package.json").read_text("utf-8"))["dependencies"]
    if pinned["pyodide"] != PYODIDE_VERSION:
        raise BuildError(f"package.json must pin pyodide to {PYODIDE_VERSION}, as this page needs")
    if all(installed_version(name) == version for name, version in pinned.items()):
        return
    say(f"Installing npm packages (Pyodide {PYODIDE_VERSION} among them)")
    run_tool([npm(), "ci", "--omit=dev", "--no-audit", "--no-fund"], "npm ci failed")
    for name, version in pinned.items():
        if (found := installed_version(name)) != version:
            raise BuildError(f"package.json pins {name} to {version}; npm installed {found}")


def installed_version(name: str) -> str | None:
    try:
        return json.loads((NODE_MODULES / name / "package.json").read_text("utf-8"))["version"]
    except (OSError, KeyError, ValueError):
        return None


def ensure_bundles() -> list[Path]:
    """Return the page's scripts and style sheets, bundled with the packages they use."""
    stamp = BUNDLES / "made_from.sha256"
    bundler = BUILD / "bundle.mjs"
    sources = [path for room in ROOMS for path in (WEB / room).rglob("*") if path.suffix in BUNDLED]
    digest = digest_of([*sources, bundler, ROOT / "package-lock.json"])
    if not (stamp.is_file() and stamp.read_text("utf-8") == digest):
        shutil.rmtree(BUNDLES, ignore_errors=True)
        say("Bundling the page's scripts")
        run_tool([node(), str(bundler), str(BUNDLES)], "Cannot bundle the page's scripts")
        stamp.write_text(digest, "utf-8")
    return sorted(path for path in BUNDLES.rglob("*") if path.suffix in BUNDLED)


# Pyodide ------------------------------------------------------------------------------------------


def trimmed_lock(packages: Iterable[Package]) -> dict[str, object]:
    """Pyodide's lock file with only our own packages, so that no other URL is ever requested."""
    entries = {package.name: package.lock_entry() for package in packages}
    return {"info": official_lock()["info"], "packages": entries}


def whole_lock(packages: Iterable[Package]) -> dict[str, object]:
    """Pyodide's lock file with our own packages, and the others at its CDN, with their hashes."""
    official = official_lock()
    theirs = {
        name: entry | {"file_name": PYODIDE_CDN + entry["file_name"]}
        for name, entry in official["packages"].items()
    }
    ours = {package.name: package.lock_entry() for package in packages}
    return {"info": official["info"], "packages": theirs | ours}


def official_lock() -> dict[str, Any]:
    return json.loads((PYODIDE / "pyodide-lock.json").read_text("utf-8"))


# Wheels -------------------------------------------------------------------------------------------


def ensure_micropip() -> Path:
    wheel = CACHE / "wheels" / MICROPIP_WHEEL
    if not (wheel.is_file() and sha256(wheel) == MICROPIP_SHA256):
        say(f"Downloading micropip {MICROPIP_VERSION}")
        with scratch_folder() as folder:
            # Name the target Python version: pip on an older Python would pick an older micropip.
            target = ["--python-version", "3.13", "--only-binary=:all:", "--dest", str(folder)]
            run_tool(
                [*pip(), "download", "--no-deps", *target, f"micropip=={MICROPIP_VERSION}"],
                "Cannot download micropip",
            )
            move(folder / MICROPIP_WHEEL, wheel)
    return expected(wheel, MICROPIP_SHA256)


def numpy_package() -> Package:
    """Return the NumPy wheel for the page: made from one that is checked by its hash."""
    wheel = compressed(ensure_numpy())
    return Package("numpy", wheel.name.split("-")[1], wheel, ("numpy",))


def ensure_numpy() -> Path:
    """Return the NumPy wheel: from the cache, the npm package, or Pyodide's CDN."""
    official = official_lock()["packages"]["numpy"]
    sources = {NUMPY_WHEEL: NUMPY_SHA256, official["file_name"]: official["sha256"]}
    for name, digest in sources.items():
        wheel = CACHE / "wheels" / name
        if wheel.is_file() and sha256(wheel) == digest:
            return wheel
    say("Downloading NumPy for Pyodide")
    try:
        wheel = fetch_numpy_from_npm()
    except BuildError as npm_error:
        try:
            wheel = fetch_numpy_from_cdn(official["file_name"])
        except OSError as cdn_error:
            raise BuildError(
                f"{npm_error}\nand Pyodide's CDN did not answer either ({cdn_error})"
            ) from None
    return expected(wheel, sources[wheel.name])


def compressed(wheel: Path) -> Path:
    """Return the NumPy wheel with compressed files, and without those for compilers.

    The one from npm is stored without compression, and hosts do not compress wheels.
    """
    folder = CACHE / "numpy"
    stamp = folder / "made_from.sha256"
    target = folder / wheel.name
    digest = sha256(wheel) + sha256(Path(__file__))
    if target.is_file() and stamp.is_file() and stamp.read_text("utf-8") == digest:
        return target
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(target, "w") as smaller:
        for entry in whole.infolist():
            if is_elsewhere(entry.filename):
                continue
            content = whole.read(entry)
            if entry.filename.endswith(".dist-info/RECORD"):
                lines = content.decode().splitlines(keepends=True)
                kept = [line for line in lines if not is_elsewhere(line.rsplit(",", 2)[0])]
                content = "".join(kept).encode()
            smaller.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)
    stamp.write_text(digest, "utf-8")
    return target


def is_elsewhere(name: str) -> bool:
    """Return whether nothing in a page can use this file of the NumPy wheel."""
    return any(fnmatch(name, pattern) for pattern in NUMPY_ELSEWHERE)


def expected(wheel: Path, digest: str) -> Path:
    """Return the wheel if it has this SHA-256; otherwise delete it and raise an error."""
    if sha256(wheel) != digest:
        wheel.unlink()
        raise BuildError(f"{wheel.name} is not the expected file (its sha256 differs): not used")
    return wheel


def fetch_numpy_from_npm() -> Path:
    wheel = CACHE / "wheels" / NUMPY_WHEEL
    with scratch_folder() as folder:
        run_tool(
            [npm(), "pack", NUMPY_NPM_PACKAGE, "--silent", "--pack-destination", str(folder)],
            f"Cannot download {NUMPY_NPM_PACKAGE}, whose NumPy wheel the page uses",
        )
        (tarball,) = folder.glob("*.tgz")
        with tarfile.open(tarball) as archive:
            # Only the wheel is extracted: the rest of the package is under another licence.
            member = archive.extractfile(f"package/assets/{NUMPY_WHEEL}")
            if member is None:
                raise BuildError(f"{NUMPY_NPM_PACKAGE} holds no {NUMPY_WHEEL}")
            (folder / NUMPY_WHEEL).write_bytes(member.read())
        move(folder / NUMPY_WHEEL, wheel)
    return wheel


def fetch_numpy_from_cdn(file_name: str) -> Path:
    wheel = CACHE / "wheels" / file_name
    with (
        urllib.request.urlopen(PYODIDE_CDN + file_name, timeout=60) as response,
        scratch_folder() as folder,
    ):
        (folder / file_name).write_bytes(response.read())
        move(folder / file_name, wheel)
    return wheel


def ensure_library() -> Path:
    """Return the py_tensor wheel, rebuilt if one of its source files has changed."""
    folder = CACHE / "library"
    stamp = folder / "sources.sha256"
    digest = digest_of(library_sources())
    wheels = list(folder.glob("py_tensor-*.whl"))
    if len(wheels) == 1 and stamp.is_file() and stamp.read_text("utf-8") == digest:
        return wheels[0]
    if not (ROOT / "pyproject.toml").is_file():
        raise BuildError(f"{ROOT} has no pyproject.toml to build the py_tensor wheel from")
    say("Building the py_tensor wheel")
    with scratch_folder() as scratch:
        options = ["--no-deps", "--no-build-isolation", "--wheel-dir", str(scratch)]
        run_tool(
            [*pip(), "wheel", *options, str(ROOT)],
            "Cannot build the py_tensor wheel",
            {"PYTHONPATH": str(ensure_build_tools())},
        )
        shutil.rmtree(folder, ignore_errors=True)
        (built,) = scratch.glob("py_tensor-*.whl")
        move(built, folder / built.name)
        stamp.write_text(digest, "utf-8")
    return folder / built.name


def ensure_build_tools() -> Path:
    """Return a folder with hatchling and its dependencies."""
    folder = CACHE / "build_tools"
    installed = folder / BUILD_NEEDS.name
    if not (installed.is_file() and installed.read_bytes() == BUILD_NEEDS.read_bytes()):
        shutil.rmtree(folder, ignore_errors=True)
        options = ["--require-hashes", "--only-binary=:all:", "--target", str(folder)]
        run_tool(
            [*pip(), "install", *options, "--requirement", str(BUILD_NEEDS)],
            "Cannot install hatchling, which builds the py_tensor wheel",
        )
        shutil.copy(BUILD_NEEDS, installed)
    return folder


def ensure_bytecode(wheel: Path) -> tuple[Path, Path, Path]:
    """Return both parts of Pyodide's standard library, and the page's modules.

    The first and the last have the bytecode of what a start imports, the wheel's included.
    """
    folder = CACHE / "bytecode"
    stamp = folder / "made_from.sha256"
    programs = [BUILD / "bytecode.mjs", BUILD / "bytecode.py", ROOT / "package-lock.json"]
    digest = sha256(wheel) + digest_of([*programs, *PAGE_PYTHON.glob("*.py")])
    if not (stamp.is_file() and stamp.read_text("utf-8") == digest):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        say("Compiling what Python imports at its start")
        run_tool(
            [node(), str(programs[0]), str(wheel), str(folder)],
            "Cannot compile what Python imports at its start",
        )
        stamp.write_text(digest, "utf-8")
    return folder / "python_stdlib.bin", folder / STDLIB_RARE.name, folder / "modules.bin"


def ensure_kernels(wheel: Path) -> list[Path]:
    """Return the kernels to compile while Python boots, generated by the library's wheel."""
    folder = CACHE / "kernels"
    stamp = folder / "made_from.sha256"
    digest = sha256(wheel) + sha256(BUILD / "kernels.py")
    if not (stamp.is_file() and stamp.read_text("utf-8") == digest):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        run_tool(
            [sys.executable, str(BUILD / "kernels.py"), str(wheel), str(folder)],
            "Cannot write the kernels of the first expressions",
        )
        stamp.write_text(digest, "utf-8")
    return sorted(folder.glob("*.json"))


def ensure_texts(wheel: Path) -> list[Path]:
    """Return the texts of gallery and reference, from the examples and the library in the wheel."""
    folder = CACHE / "texts"
    stamp = folder / "made_from.sha256"
    examples = ROOT / "examples"
    programs = [BUILD / "examples.py", BUILD / "reference.py", BUILD / "kernels.py"]
    sources = [*programs, *examples.glob("*.py"), BUILD / "examples.txt"]
    digest = sha256(wheel) + digest_of(sources)
    if not (stamp.is_file() and stamp.read_text("utf-8") == digest):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        python = sys.executable
        gallery, reference = folder / "gallery.json", folder / "reference.json"
        run_tool(
            [python, str(programs[0]), str(examples), str(gallery)], "Cannot list the examples"
        )
        run_tool(
            [python, str(programs[1]), str(wheel), str(reference)],
            "Cannot write the reference",
        )
        stamp.write_text(digest, "utf-8")
    return sorted(folder.glob("*.json"))


def library_sources() -> Iterator[Path]:
    for name in WHEEL_SOURCES:
        path = ROOT / name
        if path.is_file():
            yield path
        else:
            yield from (
                file
                for file in path.rglob("*")
                if file.is_file() and "__pycache__" not in file.parts
            )


def for_page(wheel: Path) -> Path:
    """Return the wheel of the library without files that a page does not need.

    The comments of `shaders/lib` are left out too: kernels include its functions without comments.
    """
    if not zipfile.is_zipfile(wheel):
        raise BuildError(f"{wheel} is not a wheel")
    target = CACHE / "page" / wheel.name
    target.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(target, "w") as part:
        for entry in whole.infolist():
            if any(fnmatch(entry.filename, pattern) for pattern in ELSEWHERE):
                continue
            content = whole.read(entry)
            if fnmatch(entry.filename, "py_tensor/shaders/lib/*.wgsl"):
                content = re.sub(rb"\n*[ ]*//[^\n]*", b"", content)
            part.writestr(entry, content)
    return target


def library_parts(wheel: Path, modules: Path) -> tuple[Package, Path]:
    """Return the startup part of the library, and the archive of modules imported on first use.

    Neither has the modules that are imported at startup: `modules` has them, with their bytecode.
    """
    with gzip.open(modules) as file:
        paths = [path for path, _ in json.loads(file.readline())]
    started = {
        importlib.util.source_from_cache(path).partition("site-packages/")[2]
        for path in paths
        if path.endswith(".pyc")
    }
    start, first_use = CACHE / "start" / wheel.name, CACHE / "start" / FIRST_USE.name
    start.parent.mkdir(exist_ok=True)
    with (
        zipfile.ZipFile(wheel) as whole,
        zipfile.ZipFile(start, "w") as first,
        zipfile.ZipFile(first_use, "w") as later,
    ):
        for entry in whole.infolist():
            name = entry.filename
            if name in started:
                continue
            waits = name.endswith(".py") and not any(fnmatch(name, p) for p in AT_HAND)
            waits = waits or any(fnmatch(name, pattern) for pattern in OF_FIRST_USE)
            content = whole.read(entry)
            if name.endswith(".dist-info/METADATA"):
                content = content.partition(b"\n\n")[0] + b"\n"  # without the text of the README
            (later if waits else first).writestr(entry, content)
    return Package("py-tensor", wheel.name.split("-")[1], start, ("py_tensor",)), first_use


# Files --------------------------------------------------------------------------------------------


def page_pictures() -> list[Path]:
    """Return the pictures of the page, which are served unchanged."""
    return sorted(path for path in (WEB / "page").rglob("*") if path.suffix in PICTURES)


def copy_if_changed(source: Path, target: Path) -> None:
    """Copy with the modification time; if time and size agree, the next run skips the file."""
    new = source.stat()
    with contextlib.suppress(FileNotFoundError):
        old = target.stat()
        if (old.st_size, old.st_mtime_ns) == (new.st_size, new.st_mtime_ns):
            return
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def write_if_changed(target: Path, text: str) -> None:
    if not target.is_file() or target.read_text("utf-8") != text:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")


def remove_all_but(folder: Path, kept: set[Path]) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir():
            with contextlib.suppress(OSError):  # not empty
                path.rmdir()
        elif path.relative_to(folder) not in kept:
            path.unlink()


def move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(source, target)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def digest_of(paths: Iterable[Path]) -> str:
    """Return one hash over names and contents."""
    total = hashlib.sha256()
    for path in sorted(paths):
        total.update(f"{path.relative_to(ROOT)}\0{sha256(path)}\n".encode())
    return total.hexdigest()


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as name:
        yield Path(name)


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Prevent concurrent builds of the same tree, for example by a server and a test run."""
    try:
        import fcntl
    except ImportError:  # not on this system: no lock
        yield
        return
    CACHE.mkdir(exist_ok=True)
    with open(CACHE / "build.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# Tools --------------------------------------------------------------------------------------------


def npm() -> str:
    return program("npm")


def node() -> str:
    return program("node")


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise BuildError(
            f"{name} is not here. Install Node.js 20 or newer; then run `npm start` again"
        )
    return found


def pip() -> list[str]:
    if importlib.util.find_spec("pip") is None:
        raise BuildError(
            f"{sys.executable} has no pip. On Debian: `apt-get install python3-pip`; "
            "elsewhere: `python3 -m ensurepip`"
        )
    return [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


def run_tool(
    command: list[str], failure: str, environment: Mapping[str, str] | None = None
) -> None:
    """Run a tool in the project's root; its output is shown only when it fails."""
    result = subprocess.run(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, "PIP_NO_INPUT": "1", **(environment or {})},
    )
    if result.returncode:
        lines = result.stdout.strip().splitlines()
        shown = lines if len(lines) <= 20 else [*lines[:12], "...", *lines[-8:]]
        raise BuildError("\n  ".join([f"{failure}:", " ".join(command), *shown]))


def say(line: str) -> None:
    print(line, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the page into web/dist.")
    parser.add_argument("--output", type=Path, default=WEB / "dist")
    parser.add_argument(
        "--wheel", type=Path, help="use this py_tensor wheel instead of building one"
    )
    options = parser.parse_args()
    try:
        with one_at_a_time():
            build(options.output.resolve(), options.wheel and options.wheel.resolve())
    except BuildError as error:
        print(f"The page could not be built. {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    if sys.version_info < (3, 11):  # noqa: UP036  checked before anything newer is used
        sys.exit("py_tensor is built with Python 3.11 or newer")
    sys.exit(main())
