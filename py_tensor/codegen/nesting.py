"""How deeply a user's WGSL nests: compilers recurse, and overflow the native stack."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_NESTING = 48  # naga overflows 256 KiB, a small stack of a thread, at 64 to 128 parentheses

_COMMENT = re.compile(r"//[^\n\v\f\r\x85\u2028\u2029]*|/\*")  # these characters end a line of WGSL
_BLOCK_EDGE = re.compile(r"/\*|\*/")
_SPACE = re.compile(r"[\s\u200e\u200f]+")  # the two direction marks are also spaces of WGSL
_TOKEN = re.compile(
    r"(?P<operand>[0-9]\w*(?:\.[0-9]\w*)?|[\w\x80-\U0010ffff]+)"
    r"|(?P<logic>&&|\|\|)|(?P<less><(?![<=]))|(?P<prefix>[-!~&*])"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}>])|(?P<end>[;,])|(?P<operator>[+/%|^=<.])"
)
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}


@dataclass(slots=True)
class _Level:
    """What is open around the current token: its closing bracket, and what nests without one."""

    closing: str
    prefixes: int = 0  # operators before one operand, as in - - - x
    operators: int = 0  # between the operands of one expression, as in x + y + z
    branches: int = 0  # consecutive "else if"

    @property
    def depth(self) -> int:
        """The levels without a bracket; compilers use less of the stack for some."""
        return self.prefixes + self.operators // 4 + self.branches // 2


class _Levels:
    """The open levels."""

    def __init__(self) -> None:
        self._outer: list[_Level] = []
        self._depth_of_outer = 0
        self.last = _Level("")

    @property
    def depth(self) -> int:
        return self._depth_of_outer + self.last.depth

    def open(self, bracket: str) -> None:
        self._depth_of_outer += 1 + self.last.depth
        self._outer.append(self.last)
        self.last = _Level(_CLOSING[bracket])

    def close(self, bracket: str) -> None:
        """Close the last level, if the bracket closes it."""
        if bracket == self.last.closing:
            self.last = self._outer.pop()
            self._depth_of_outer -= 1 + self.last.depth
            self.last.prefixes = 0
            if bracket == "}":
                self.last.operators = 0

    def close_comparisons(self) -> None:
        """Close the levels that a "less than" opened like the "<" of a template."""
        while self.last.closing == ">":
            self.close(">")


def nesting_of(wgsl: str) -> int:
    """Return the number of nested brackets, operators, templates and "else if".

    A "<" after an operand opens a level, as compilers take it for a template's in many cases. What
    cannot be in a template closes the level.
    """
    levels = _Levels()
    deepest = 0
    kind = text = ""
    for token in _TOKEN.finditer(_SPACE.sub(" ", _without_comments(wgsl))):
        before, previous = kind, text
        kind, text = token.lastgroup or "", token.group()
        follows_operand = before in ("operand", "close")
        if (kind in ("logic", "end") and text != ",") or text in (")", "]", "{", "}"):
            levels.close_comparisons()
        if (
            (kind == "less" and before != "operand")
            or (kind == "prefix" and follows_operand)
            or (text == ">" and levels.last.closing != ">")
        ):
            kind = "operator"
        level = levels.last
        if kind in ("operator", "logic", "less") or (text == "[" and before == "close"):
            level.operators += 1
        if kind == "prefix":
            level.prefixes += 1
        elif kind in ("open", "less"):
            levels.open(text)
        elif kind == "close":
            levels.close(text)
        elif kind == "end":
            level.prefixes = level.operators = 0
        elif kind == "operand":
            level.prefixes = 0
            if text == "if" and previous == "else":
                level.branches += 1
        if text in ("if", ";") and previous != "else":
            level.branches = 0
        deepest = max(deepest, levels.depth)
    return deepest


def _without_comments(wgsl: str) -> str:
    """Return the text with a space for each comment; comments in ``/* */`` nest."""
    kept: list[str] = []
    end = 0
    while comment := _COMMENT.search(wgsl, end):
        kept.append(wgsl[end : comment.start()])
        end = comment.end()
        depth = int(comment.group() == "/*")
        while depth:
            edge = _BLOCK_EDGE.search(wgsl, end)
            if edge is None:
                return " ".join(kept)
            depth += 1 if edge.group() == "/*" else -1
            end = edge.end()
    return " ".join([*kept, wgsl[end:]])
