"""WGSL from `shaders/`: the function library, and templates with regions that Python replaces.

The files are valid WGSL. A library file is split into its top-level items, and a kernel includes
only those it uses. Some functions have faster implementations, for devices that passed a trial
(`trial.py`). In a template, the text between ``// <name>`` and ``// </name>`` is a region.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import product
from pathlib import Path

_ITEM = re.compile(r"^(?:fn|const|struct|override|alias)\s+(\w+)", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")
_REGION = re.compile(r"^([ \t]*)// <(\w+)>\n(.*?)^[ \t]*// </\2>\n", re.DOTALL | re.MULTILINE)

# (function, name of the file in `shaders/lib/implementations` that replaces it), ...
Implementations = tuple[tuple[str, str], ...]


def _shaders() -> Traversable:
    """Return the shaders folder: inside the installed package, or beside it in a checkout."""
    packed = files("py_tensor") / "shaders"
    return packed if packed.is_dir() else Path(__file__).parents[2] / "shaders"


@cache
def items(implementations: Implementations = ()) -> dict[str, str]:
    """Return every top-level item of the library by name, in the order of the files."""
    by_name: dict[str, str] = {}
    for file in sorted((_shaders() / "lib").iterdir(), key=lambda f: f.name):
        if file.name.endswith(".wgsl"):
            by_name.update(_split(file.read_text(encoding="utf-8")))
    return by_name | {name: _functions_of(file)[name] for name, file in implementations}


@cache
def _functions_of(name: str) -> dict[str, str]:
    file = _shaders() / "lib" / "implementations" / f"{name}.wgsl"
    return _split(file.read_text(encoding="utf-8"))


def renamed_function(function: str, implementation: str, name: str) -> str:
    """Return a function in one of its implementations, under another name."""
    return _functions_of(implementation)[function].replace(f"fn {function}(", f"fn {name}(", 1)


def _split(text: str) -> dict[str, str]:
    code = re.sub(r"//[^\n]*", "", text)
    starts = list(_ITEM.finditer(code))
    ends = [m.start() for m in starts[1:]] + [len(code)]
    return {
        m[1]: re.sub(r"\n\s*\n", "\n", code[m.start() : end]).strip()
        for m, end in zip(starts, ends, strict=True)
    }


@cache
def _needs(name: str, implementations: Implementations) -> tuple[str, ...]:
    known = items(implementations)
    return tuple(w for w in dict.fromkeys(_WORD.findall(known[name])) if w != name and w in known)


def used_by(code: str, implementations: Implementations = ()) -> str:
    """Return the text of the library items that `code` names, and of the items that those need."""
    return _items_named(_WORD.findall(code), implementations)


def _items_named(words: Iterable[str], implementations: Implementations) -> str:
    known = items(implementations)
    stack = [w for w in set(words) if w in known]
    needed = set(stack)
    while stack:
        for name in _needs(stack.pop(), implementations):
            if name not in needed:
                needed.add(name)
                stack.append(name)
    return "\n".join(text for name, text in known.items() if name in needed)


@cache
def template(name: str) -> str:
    folder = "templates" if name in ("map", "reduce", "rows") else "kernels"
    return (_shaders() / folder / f"{name}.wgsl").read_text(encoding="utf-8")


@cache
def _parts(name: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return a template as (text, indentation, region name, example, text, ...), and its words."""
    parts = _REGION.split(template(name))
    return tuple(parts), frozenset(_WORD.findall(" ".join(parts[::4])))


@cache
def unrolled(name: str, **counts: int) -> dict[str, str]:
    """Return the regions of a template that are repeated, with their text unrolled.

    Each count belongs to a capital letter. In the example of a region, the letter stands for an
    integer, and at the end of a name for a digit: ``var xN = N;`` becomes ``var x0 = 0u;``,
    ``var x1 = 1u;``, ... With several letters, there is a copy for each combination.
    """
    pieces, _ = _parts(name)
    word = re.compile(rf"\b([a-z_]*)([{''.join(counts)}]+)\b")
    regions: dict[str, str] = {}
    for region, example in zip(pieces[2::4], pieces[3::4], strict=True):
        names = word.findall(example)
        letters = [x for x in counts if any(x in ending for _, ending in names)]
        if letters and region != "interface":
            copies = product(*(range(counts[x]) for x in letters))
            numbers = (dict(zip(letters, copy, strict=True)) for copy in copies)
            regions[region] = "".join(_numbered(example, word, copy) for copy in numbers)
    return regions


def _numbered(example: str, word: re.Pattern[str], numbers: dict[str, int]) -> str:
    def numbered(match: re.Match[str]) -> str:
        digits = "".join(str(numbers[x]) for x in match[2])
        return match[1] + digits if match[1] else f"{digits}u"

    return word.sub(numbered, example)


def indented(name: str, region: str, lines: Iterable[str]) -> str:
    """Return lines as text, indented like this region of a template."""
    pieces, _ = _parts(name)
    indentation = dict(zip(pieces[2::4], pieces[1::4], strict=True)).get(region, "")
    return "\n".join(indentation + line for line in lines)


def fill(name: str, regions: Mapping[str, str], implementations: Implementations = ()) -> str:
    """Return a template with these regions replaced, after the library items that it then uses.

    The other regions keep their example.
    """
    parts, words = _parts(name)
    named = parts[2::4]
    for region in regions:
        if (count := named.count(region)) != 1:
            raise LookupError(f"template {name}.wgsl has {count} regions named {region}")
    codes = [regions.get(x, example) for x, example in zip(named, parts[3::4], strict=True)]
    texts = [parts[0]]
    for code, text in zip(codes, parts[4::4], strict=True):
        texts += code.rstrip() + "\n", text
    used = words.union(*map(_WORD.findall, codes))
    return f"{_items_named(used, implementations)}\n{''.join(texts)}"
