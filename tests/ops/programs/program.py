"""A program: its lines, their data, and the tensors that it keeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.ops.programs.value import Array, Value


@dataclass
class Line:
    """One assignment: its text, the lines it uses, its value."""

    text: str
    inputs: tuple[int, ...]
    value: Value


@dataclass
class Program:
    """Lines, the leaves' data by name, and when tensors of lines are dropped or realized."""

    seed: Any
    lines: list[Line] = field(default_factory=list)
    data: dict[str, Array] = field(default_factory=dict)
    live: set[int] = field(default_factory=set)
    realized: dict[int, tuple[int, ...]] = field(default_factory=dict)  # after line i, these

    def closure(self, target: int) -> list[int]:
        """Return the lines that `target` needs, itself last."""
        needed = {target}
        for i in range(target, -1, -1):
            if i in needed:
                needed.update(self.lines[i].inputs)
        return sorted(needed)

    def text(self, lines: list[int] | None = None) -> str:
        chosen = range(len(self.lines)) if lines is None else lines
        shown = []
        for i in chosen:
            keep = "" if i in self.live else "   # dropped"
            shown.append(f"v{i} = {self.lines[i].text}{keep}")
            if i in self.realized:
                shown.append(f"pt.realize({', '.join(f'v{j}' for j in self.realized[i])})")
        return "\n".join(shown)
