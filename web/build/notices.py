"""Collects the licences of third-party code in the page into one text.

They come from the packages themselves; for a package that contains only the name of its licence,
the text of that name in `web/build/licenses` is used.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable
from pathlib import Path

LICENSES = Path(__file__).resolve().parent / "licenses"
FILE_NAMES = ("license", "licence", "copying", "notice")
RULE = "=" * 80

# Contents of its standard library and pyodide.asm.wasm besides Pyodide itself.
PYTHON = "Python, its standard library (with Pyodide)"


class NoLicenseError(Exception):
    """A package has neither a licence file nor a name that `web/build/licenses` knows."""


def notices(npm_packages: Iterable[Path], pyodide: Path, wheels: Iterable[Path]) -> str:
    """Return the text: for each package a heading and its licences.

    Parameters
    ----------
    npm_packages
        The folders of the bundled packages.
    pyodide
        The folder of Pyodide's package.
    wheels
        The wheels that the page serves.

    Raises
    ------
    NoLicenseError
        If a licence cannot be determined.
    """
    parts = [_npm_package(pyodide), _section(PYTHON, [_known("PSF-2.0", PYTHON)])]
    parts += [_npm_package(folder) for folder in sorted(set(npm_packages))]
    parts += [_wheel(wheel) for wheel in wheels]
    intro = "What this page is made of, and the licences of each part.\n"
    return "\n".join([intro, *parts])


def _npm_package(folder: Path) -> str:
    about = json.loads((folder / "package.json").read_text("utf-8"))
    name = f"{about['name']} {about['version']}"
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and _is_license(path.name)]
    texts = [path.read_text("utf-8") for path in files] or [_known(about.get("license"), name)]
    author = about.get("author")
    repository = about.get("repository", "")
    source = repository.get("url", "") if isinstance(repository, dict) else repository
    by = author.get("name") if isinstance(author, dict) else author
    return _section(name, texts, [source.removeprefix("git+"), f"by {by}" if by else ""])


def _wheel(wheel: Path) -> str:
    name = " ".join(wheel.name.split("-")[:2])
    with zipfile.ZipFile(wheel) as archive:
        names = [n for n in archive.namelist() if _is_license(Path(n).name)]
        texts = [archive.read(n).decode() for n in sorted(names) if not n.endswith(".py")]
    if not texts:
        raise NoLicenseError(f"{wheel.name} holds no licence")
    return _section(name, texts)


def _is_license(name: str) -> bool:
    return name.lower().startswith(FILE_NAMES)


def _known(identifier: str | None, name: str) -> str:
    path = LICENSES / f"{identifier}.txt"
    if not path.is_file():
        raise NoLicenseError(f"{name} has no licence file, and {path} is not there either")
    return f"({identifier})\n\n{path.read_text('utf-8')}"


def _section(name: str, texts: list[str], lines: Iterable[str] = ()) -> str:
    heading = "\n".join([name, *filter(None, lines)])
    body = "\n\n".join(text.strip("\n") for text in texts)
    return f"{RULE}\n{heading}\n{RULE}\n\n{body}\n"
