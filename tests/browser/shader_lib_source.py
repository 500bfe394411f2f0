"""shaders/lib as text: its files, its top-level items by name, and their dependencies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

LIB = Path(__file__).resolve().parents[2] / "shaders" / "lib"

_ITEM = re.compile(r"^(fn|const|struct|alias) (\w+)")
_SIGNATURE = re.compile(r"^fn \w+\((.*?)\) -> (\w+) \{")
_COMMENT = re.compile(r"//[^\n]*")


@dataclass(frozen=True)
class Item:
    """A top-level `fn`, `const`, `struct` or `alias`, with the comment block directly above it."""

    kind: str
    name: str
    text: str
    comment: str
    file: str

    @property
    def signature(self) -> tuple[tuple[str, ...], str]:
        """WGSL types of the parameters, and of the result."""
        match = _SIGNATURE.match(self.text)
        assert match, f"{self.name}: the signature must stand on the function's first line"
        parameters = [p.split(":")[1].strip() for p in match[1].split(",") if p.strip()]
        return tuple(parameters), match[2]


def files() -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(LIB.glob("*.wgsl"))}


def needs(text: str) -> list[str]:
    """File names in the first-line comment `// needs: a.wgsl b.wgsl`."""
    first = text.split("\n", 1)[0]
    return first.removeprefix("// needs:").split() if first.startswith("// needs:") else []


def split(name: str, text: str) -> list[Item]:
    """Return the items of one file; ValueError if a line belongs to none or violates the format."""
    items: list[Item] = []
    comment: list[str] = []
    body: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if body:
            body.append(line)
        elif match := _ITEM.match(line):
            body = [line]
        elif line.startswith("//"):
            comment.append(line)
            continue
        elif not line:
            comment = []
            continue
        else:
            raise ValueError(
                f"{name}:{number}: neither a comment nor fn, const, struct at column 0: {line!r}"
            )
        one_liner = len(body) == 1 and line.endswith(("}", ";"))
        if one_liner or (len(body) > 1 and line in ("}", ");", "};")):
            match = _ITEM.match(body[0])
            assert match
            items.append(Item(match[1], match[2], "\n".join(body), "\n".join(comment), name))
            comment, body = [], []
        elif len(body) > 1 and line and not line.startswith(" "):
            raise ValueError(f"{name}:{number}: column 0 inside an item: {line!r}")
    if body:
        raise ValueError(f"{name}: {body[0]!r} does not end")
    return items


def library() -> dict[str, Item]:
    """Return every item by name; ValueError for duplicate names."""
    found: dict[str, Item] = {}
    for name, text in files().items():
        for item in split(name, text):
            if item.name in found:
                raise ValueError(f"{item.name} is in {found[item.name].file} and in {name}")
            found[item.name] = item
    return found


def closure(items: dict[str, Item], *names: str) -> list[str]:
    """Return the names of all items that `names` need, with themselves, in dependency order."""
    done: dict[str, None] = {}

    def visit(name: str) -> None:
        if name in done:
            return
        for word in re.findall(r"\w+", _COMMENT.sub("", items[name].text)):
            if word in items and word != name:
                visit(word)
        done[name] = None

    for name in names:
        visit(name)
    return list(done)


def source(items: dict[str, Item], *names: str) -> str:
    return "\n".join(items[name].text for name in closure(items, *names))
