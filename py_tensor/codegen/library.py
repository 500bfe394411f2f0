"""WGSL out of `shaders/`: the function library, and templates whose stand-ins Python replaces.

The files are valid WGSL by themselves. A library file is split into its top-level items, and a
kernel gets those it uses. In a template, what stands between ``// <name>`` and ``// </name>`` is a
stand-in.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

_ITEM = re.compile(r"^(?:fn|const|struct|override)\s+(\w+)", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")


def _shaders() -> Traversable:
    """The folder in the installed package, or beside it in a checkout."""
    packed = files("py_tensor") / "shaders"
    return packed if packed.is_dir() else Path(__file__).parents[2] / "shaders"


@cache
def items() -> dict[str, str]:
    """Every top-level item of the library by name, in the order of the files."""
    found: dict[str, str] = {}
    for file in sorted((_shaders() / "lib").iterdir(), key=lambda f: f.name):
        if file.name.endswith(".wgsl"):
            found.update(_split(file.read_text(encoding="utf-8")))
    return found


def _split(text: str) -> dict[str, str]:
    code = re.sub(r"//[^\n]*", "", text)
    starts = list(_ITEM.finditer(code))
    ends = [m.start() for m in starts[1:]] + [len(code)]
    return {
        m[1]: re.sub(r"\n\s*\n", "\n", code[m.start() : end]).strip()
        for m, end in zip(starts, ends, strict=True)
    }


@cache
def _needs(name: str) -> tuple[str, ...]:
    return tuple(
        w for w in dict.fromkeys(_WORD.findall(items()[name])) if w != name and w in items()
    )


def used_by(code: str) -> str:
    """The library items that `code` names, and what those need, ready to stand before it."""
    stack = [w for w in dict.fromkeys(_WORD.findall(code)) if w in items()]
    needed = set(stack)
    while stack:
        for name in _needs(stack.pop()):
            if name not in needed:
                needed.add(name)
                stack.append(name)
    return "\n".join(text for name, text in items().items() if name in needed)


@cache
def template(name: str) -> str:
    folder = "kernels" if name.startswith("matmul") else "templates"
    return (_shaders() / folder / f"{name}.wgsl").read_text(encoding="utf-8")


def fill(name: str, **regions: str) -> str:
    """A template with each region replaced, and the library items it then uses put in front."""
    text = template(name)
    for region, code in regions.items():
        pattern = re.compile(
            rf"^[ \t]*// <{region}>\n.*?^[ \t]*// </{region}>\n", re.DOTALL | re.MULTILINE
        )
        text, count = pattern.subn(lambda _, code=code: code.rstrip() + "\n", text)
        if count != 1:
            raise LookupError(f"template {name}.wgsl has {count} regions named {region}")
    return used_by(text) + "\n" + text
