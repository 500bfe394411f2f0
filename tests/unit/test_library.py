"""The shaders: each file is valid WGSL by itself; a kernel includes only the items it uses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from py_tensor.codegen import library

SHADERS = Path(__file__).parents[2] / "shaders"
LIBRARY = sorted((SHADERS / "lib").glob("*.wgsl"))
TEMPLATES = sorted([*(SHADERS / "templates").glob("*.wgsl"), *(SHADERS / "kernels").glob("*.wgsl")])
OPEN, CLOSE = re.compile(r"^\s*// <(\w+)>$"), re.compile(r"^\s*// </(\w+)>$")
ITEM = re.compile(r"^(?:fn|const|struct|override|alias)\s+(\w+)", re.MULTILINE)
WORD = re.compile(r"[A-Za-z_]\w*")


def code_of(path: Path) -> str:
    return re.sub(r"//[^\n]*", "", path.read_text())


def balanced(code: str) -> bool:
    stack: list[str] = []
    pairs = {")": "(", "]": "[", "}": "{"}
    for c in code:
        if c in "([{":
            stack.append(c)
        elif c in pairs and (not stack or stack.pop() != pairs[c]):
            return False
    return not stack


@pytest.mark.parametrize("path", LIBRARY + TEMPLATES, ids=lambda p: p.stem)
def test_files_are_valid_by_themselves(path: Path) -> None:
    code = code_of(path)
    assert balanced(code)
    assert path.read_text().startswith("//"), "a file begins by saying what it is"
    assert ("@compute" in code) == (path in TEMPLATES)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: p.stem)
def test_regions_of_templates(path: Path) -> None:
    """Every region opens and closes once, none is nested, and all contain an example."""
    inside, seen = None, {}
    for line in path.read_text().splitlines():
        if opened := OPEN.match(line):
            assert inside is None
            assert opened[1] not in seen
            inside, seen[opened[1]] = opened[1], 0
        elif closed := CLOSE.match(line):
            assert closed[1] == inside
            inside = None
        elif inside:
            seen[inside] += 1
    assert inside is None
    assert "interface" in seen
    assert all(seen.values())


BUILTIN = {
    *("if", "for", "while", "return", "builtin", "group", "binding", "workgroup_size"),
    *("vec2u", "vec4", "array", "u32", "i32", "f32", "number"),
    *(
        "abs",
        "clamp",
        "fma",
        "max",
        "min",
        "select",
        "sqrt",
        "inverseSqrt",
        "bitcast",
        "countOneBits",
    ),
    "firstTrailingBit",
    *("workgroupBarrier", "storageBarrier", "workgroupUniformLoad"),
    *("atomicAdd", "atomicLoad", "atomicMax", "atomicStore"),
}
"""Built-in names of WGSL; `number` is an alias that a kernel's interface declares."""


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: p.stem)
def test_names_in_a_template_are_declared(path: Path) -> None:
    """The file declares them itself: its example interface is complete without Python."""
    code = code_of(path)
    calls = set(re.findall(r"(?<![\w.@])([a-z]\w*)\s*\(", code))
    declared = set(re.findall(r"\bfn\s+(\w+)", code))
    assert calls - declared - BUILTIN <= set(library.items())


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: p.stem)
def test_filling(path: Path) -> None:
    regions = {m[1]: f"// the {m[1]}" for m in map(OPEN.match, path.read_text().splitlines()) if m}
    filled = library.fill(path.stem, regions)
    for name, text in regions.items():
        assert text in filled
        assert f"// <{name}>" not in filled
    with pytest.raises(LookupError, match="0 regions named nothing"):
        library.fill(path.stem, {"nothing": ""})


def test_no_item_is_defined_twice() -> None:
    names = [n for p in LIBRARY for n in ITEM.findall(code_of(p))]
    assert len(names) == len(set(names))
    assert set(names) == set(library.items())


def test_items_are_whole() -> None:
    for name, text in library.items().items():
        assert re.match(rf"(fn|const|struct|override|alias)\s+{name}\b", text)
        assert balanced(text)
        assert text.endswith(("}", ";"))


@pytest.mark.parametrize("name", sorted(library.items()))
def test_the_closure_of_each_item(name: str) -> None:
    """All direct and indirect dependencies of the item, and nothing else."""
    items = library.items()
    found = set(ITEM.findall(library.used_by(f"{name}(x)")))
    reached, waiting = {name}, [name]
    while waiting:
        for word in set(WORD.findall(items[waiting.pop()])) & set(items):
            if word not in reached:
                reached.add(word)
                waiting.append(word)
    assert found == reached


def test_nothing_is_used_by_nothing() -> None:
    assert library.used_by("fn main() { let x = 1u; }") == ""


def test_items_are_before_the_kernel_in_the_order_of_files() -> None:
    order = list(library.items())
    text = library.used_by(" ".join(order))
    assert ITEM.findall(text) == order
