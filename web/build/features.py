"""Write FEATURES.md: the public names of NumPy and their support in this library.

usage: .venv/bin/python -m web.build.features

Support comes from the library itself. Differences, and reasons for missing names, come from
`py_tensor/tools/hints.py`, like the hints in error messages. Missing parameters come from a
comparison of the signatures.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import py_tensor as pt
from py_tensor.tools.hints import FUNCTIONS, METHODS, PARTLY

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "FEATURES.md"

OF_A_PLATFORM = {"complex192", "complex256", "float96", "float128"}
"""Names that NumPy has on some systems only; `longdouble` and `clongdouble` are listed."""
STREAM = "The generator is Threefry, so numbers differ from NumPy's for the same seed."
NOT_YET = "not supported yet"

HEAD = """# NumPy compatibility

The public names of NumPy {version}, and which of them py_tensor supports. `npm run features`
generates this file from the library, from NumPy and from `py_tensor/tools/hints.py`, which is also
the source of the hints in error messages.

- **Yes**: it behaves like NumPy's, for the supported dtypes.
- **Partly**: it is limited, behaves differently, or lacks a parameter.
- **No**: it is missing; the table gives the reason or an alternative.
"""


@dataclass(frozen=True)
class Name:
    """A public name of NumPy.

    Attributes
    ----------
    key
        The name after `pt.`, or after `x.` for attributes of tensors.
    kind
        "yes", "partly" or "no".
    words
        The difference or the reason; empty for "yes".
    """

    key: str
    kind: str
    words: str = ""


@dataclass(frozen=True)
class Group:
    """The names of one NumPy namespace.

    Attributes
    ----------
    prefix
        The prefix of its names in `PARTLY`.
    theirs, ours
        The objects that have the names.
    reasons
        Reasons for missing names.
    note
        A note that applies to all of them.
    """

    title: str
    prefix: str
    theirs: Any
    ours: Any
    names: Iterable[str]
    reasons: dict[str, str]
    note: str = ""

    def rows(self) -> list[Name]:
        return [self.row(name) for name in sorted(self.names, key=str.lower)]

    def row(self, name: str) -> Name:
        if name not in dir(self.ours):  # it has only public names
            return Name(name, "no", self.reasons.get(name, NOT_YET))
        missing = not_taken(getattr(self.theirs, name), getattr(self.ours, name))
        words = [PARTLY.get(self.prefix + name, ""), without(missing)]
        how = "; ".join(filter(None, words))
        return Name(name, "partly" if how else "yes", how)


def without(parameters: list[str]) -> str:
    return "without " + ", ".join(f"`{name}=`" for name in parameters) if parameters else ""


def not_taken(theirs: Any, ours: Any) -> list[str]:
    """Return the optional parameters of a NumPy function that ours lacks."""
    if isinstance(theirs, type) or not callable(theirs):
        return []
    try:
        wanted, found = (inspect.signature(f).parameters.values() for f in (theirs, ours))
    except (TypeError, ValueError):  # some of NumPy's functions have none
        return []
    names = {p.name for p in found}
    if any(p.kind is p.VAR_KEYWORD for p in found):
        return []
    return [
        p.name
        for p in wanted
        if p.name not in names
        and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        and (p.default is not p.empty or p.kind is p.KEYWORD_ONLY)
    ]


def public(owner: Any) -> set[str]:
    return {name for name in dir(owner) if not name.startswith("_")} - OF_A_PLATFORM


def is_type_of_elements(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, np.generic)


def groups() -> list[Group]:
    """Return the groups in the order of the file."""
    types = {name for name in public(np) if is_type_of_elements(getattr(np, name))}
    modules = {name for name in public(np) if isinstance(getattr(np, name), ModuleType)}
    functions = public(np) - types - modules
    generator = pt.random.default_rng(0)
    return [
        Group("Functions and constants", "", np, pt, functions, FUNCTIONS),
        Group("Dtypes", "", np, pt, types, FUNCTIONS),
        Group("Modules", "", np, pt, modules, FUNCTIONS),
        Group("linalg", "linalg.", np.linalg, pt.linalg, public(np.linalg), FUNCTIONS),
        Group("fft", "fft.", np.fft, pt.fft, public(np.fft), FUNCTIONS),
        Group("random", "random.", np.random, pt.random, public(np.random), FUNCTIONS, STREAM),
        Group(
            "random.Generator",
            "random.",
            np.random.Generator,
            generator,
            public(np.random.Generator),
            FUNCTIONS,
        ),
        Group(
            "random.RandomState",
            "random.",
            np.random.RandomState,
            pt.random.RandomState(0),
            public(np.random.RandomState),
            FUNCTIONS,
        ),
        Group("ndarray", "Tensor.", np.ndarray, pt.Tensor, public(np.ndarray), METHODS),
    ]


# Text ---------------------------------------------------------------------------------------------


def page() -> str:
    found = [(group, group.rows()) for group in groups()]
    blocks = [HEAD.format(version=np.__version__), summary(found)]
    for group, rows in found:
        blocks += [f"## {group.title}\n", *([group.note + "\n"] if group.note else [])]
        blocks += sections(rows)
    return "\n".join(blocks)


def summary(found: list[tuple[Group, list[Name]]]) -> str:
    lines = ["| | yes | partly | no |", "|---|---:|---:|---:|"]
    total: Counter[str] = Counter()
    for group, rows in found:
        counts = Counter(row.kind for row in rows)
        total += counts
        lines.append(counted(group.title, counts))
    return "\n".join([*lines, counted("**all**", total)]) + "\n"


def counted(title: str, counts: Counter[str]) -> str:
    return f"| {title} | {counts['yes']} | {counts['partly']} | {counts['no']} |"


def sections(rows: list[Name]) -> Iterator[str]:
    """Supported names as text, the others in tables, grouped by difference or reason."""
    yes = [f"`{row.key}`" for row in rows if row.kind == "yes"]
    if yes:
        yield wrapped(f"**Yes ({len(yes)}):** " + " ".join(yes)) + "\n"
    for kind in ("partly", "no"):
        chosen = [row for row in rows if row.kind == kind]
        if not chosen:
            continue
        by_words: dict[str, list[str]] = {}
        for row in chosen:
            by_words.setdefault(row.words, []).append(f"`{row.key}`")
        yield f"**{kind.capitalize()} ({len(chosen)}):**\n"
        heading = "difference" if kind == "partly" else "reason or alternative"
        lines = [
            f"| {' '.join(names)} | {words.replace('|', chr(92) + '|')} |"
            for words, names in by_words.items()
        ]
        yield "\n".join([f"| name | {heading} |", "|---|---|", *lines]) + "\n"


def wrapped(text: str, width: int = 100) -> str:
    lines = [""]
    for word in text.split(" "):
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)


if __name__ == "__main__":
    TARGET.write_text(page(), "utf-8")
