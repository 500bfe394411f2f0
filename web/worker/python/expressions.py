"""What stands before the caret in an input, and what is known of an expression without running it.

An input that is being typed is no valid Python, so its brackets and strings are found by a scan. An
expression is looked up, never run: names and attributes have their values, and of calls, operators
and items the type is taken from annotations. The one code of others that can run is what `getattr`
runs on a chain of names.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import keyword
import re
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_TOKEN = re.compile(
    r"(?P<comment>\#[^\n]*)"
    r"|(?P<prefix>[A-Za-z]{0,2})(?P<quote>\"\"\"|'''|\"|')"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<number>\d[\w.]*)"
    r"|(?P<open>[(\[{])"
    r"|(?P<close>[)\]}])"
    r"|(?P<newline>\n)"
    r"|(?P<blank>[ \t\f]+|\\\n)"
    r"|(?P<sign>.)",
    re.DOTALL,
)
_CONSTANTS = {"None", "True", "False"}


@dataclass(frozen=True)
class Token:
    kind: str
    """name, number, string, open, close, newline or sign"""
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class OpenString:
    """A string that the caret is in."""

    start: int
    """Where its token begins."""
    body: int
    """Where the text between its quotes begins."""
    quote: str


@dataclass
class Scan:
    """The tokens of a text that ends at the caret, and what is still open there."""

    text: str
    tokens: list[Token] = field(default_factory=list[Token])
    opened: list[int] = field(default_factory=list[int])
    """The brackets that are open at the end, innermost last, as indices into `tokens`."""
    partners: dict[int, int] = field(default_factory=dict[int, int])
    """From the index of a closing bracket to that of its opening one."""
    string: OpenString | None = None
    in_comment: bool = False


def scan(text: str) -> Scan:
    """Find the tokens, brackets and strings of `text`, which may end anywhere."""
    found = Scan(text)
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None  # `sign` takes any character
        start, at = at, match.end()
        kind = str(match.lastgroup)
        if kind == "quote":
            kind, at = "string", _end_of_string(text, at, match["quote"])
            if at < 0:
                found.string = OpenString(start, match.end(), match["quote"])
                return found
        elif kind == "comment":
            found.in_comment = at == len(text)
        if kind in ("blank", "comment") or (kind == "newline" and found.opened):
            continue
        _note(found, Token(kind, start, at, text[start:at]))
    return found


def _end_of_string(text: str, at: int, quote: str) -> int:
    """Where the string ends whose body begins at `at`; -1 where `text` ends within it."""
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text.startswith(quote, at):
            return at + len(quote)
        elif text[at] == "\n" and len(quote) == 1:
            return at  # an error of the user's; what follows is code
        else:
            at += 1
    return -1


def _note(found: Scan, token: Token) -> None:
    index = len(found.tokens)
    if token.kind == "open":
        found.opened.append(index)
    elif token.kind == "close" and found.opened:
        found.partners[index] = found.opened.pop()
    found.tokens.append(token)


def primary_before(found: Scan, last: int) -> str | None:
    """The expression whose last token is `tokens[last]`: names, attributes, calls, items, displays.

    `a + b[0].c(1)` gives `b[0].c(1)`. None where no such expression ends there.
    """
    tokens, index = found.tokens, last
    while index >= 0:
        token = tokens[index]
        if token.kind == "close":
            if index not in found.partners:
                return None
            index = found.partners[index]
            before = tokens[index - 1] if index else None
            if before is not None and tokens[index].text != "{" and _ends_primary(before):
                index -= 1
                continue
            break
        if token.kind == "string":
            break
        if token.kind != "name" or (keyword.iskeyword(token.text) and token.text not in _CONSTANTS):
            return None
        if index == 0 or tokens[index - 1].text != ".":
            break
        index -= 2
    if index < 0:
        return None
    return found.text[tokens[index].start : tokens[last].end]


def _ends_primary(token: Token) -> bool:
    if token.kind == "name":
        return not keyword.iskeyword(token.text)
    return token.kind in ("close", "string")


# -- what is known of an expression --------------------------------------------------------------


class _Absent:
    """Stands for a value that is not known, and for the object of a method of a mere type."""


ABSENT = _Absent()


@dataclass(frozen=True)
class Known:
    """What an expression is: its value, or (`value` is ABSENT) its type alone."""

    type: Any
    value: Any = ABSENT

    @property
    def has_value(self) -> bool:
        return self.value is not ABSENT

    @property
    def subject(self) -> Any:
        """The value, or the type where that is all."""
        return self.value if self.has_value else self.type


def look_up(expression: str, namespace: Mapping[str, Any]) -> Known | None:
    """What `expression` is in `namespace` and the builtins; None where that cannot be told."""
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    try:
        return _of(tree.body, namespace)
    except Exception:  # what getattr raised, whatever it is
        return None


def _value(value: Any) -> Known:
    return Known(type(value), value)


def _of(node: ast.expr, namespace: Mapping[str, Any]) -> Known | None:
    match node:
        case ast.Constant(value=value):
            return _value(value)
        case ast.Name(id=name):
            return _name(name, namespace)
        case ast.Attribute(value=owner, attr=name):
            known = _of(owner, namespace)
            return None if known is None else attribute(known, name)
        case ast.Call(func=function):
            known = _of(function, namespace)
            return None if known is None or not known.has_value else _returned(known.value)
        case ast.Subscript(value=owner, slice=index):
            known = _of(owner, namespace)
            return None if known is None else _item(known, index)
        case ast.BinOp(left=left, op=op, right=right):
            sides = (_of(left, namespace), _of(right, namespace))
            return _operated(_BINARY.get(type(op), ""), sides)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            sides = (_of(left, namespace), _of(right, namespace))
            return _operated(_COMPARED.get(type(op), ""), sides)
        case ast.UnaryOp(op=op, operand=operand):
            return _operated(_UNARY.get(type(op), ""), (_of(operand, namespace),))
        case _:
            found = _DISPLAYS.get(type(node))
            return None if found is None else Known(found)


_DISPLAYS: dict[type[ast.expr], type] = {
    ast.JoinedStr: str,
    ast.List: list,
    ast.ListComp: list,
    ast.Tuple: tuple,
    ast.Dict: dict,
    ast.DictComp: dict,
    ast.Set: set,
    ast.SetComp: set,
    ast.Lambda: types.FunctionType,
}
_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "__add__",
    ast.Sub: "__sub__",
    ast.Mult: "__mul__",
    ast.Div: "__truediv__",
    ast.FloorDiv: "__floordiv__",
    ast.Mod: "__mod__",
    ast.Pow: "__pow__",
    ast.MatMult: "__matmul__",
}
_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "__eq__",
    ast.NotEq: "__ne__",
    ast.Lt: "__lt__",
    ast.LtE: "__le__",
    ast.Gt: "__gt__",
    ast.GtE: "__ge__",
}
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "__neg__", ast.Invert: "__invert__"}


def _name(name: str, namespace: Mapping[str, Any]) -> Known | None:
    if name in namespace:
        return _value(namespace[name])
    return _value(getattr(builtins, name)) if hasattr(builtins, name) else None


def attribute(known: Known, name: str) -> Known | None:
    """An attribute of what is known: by `getattr` where that runs no code of the user's.

    Of other objects what is stored; of a property or a mere type, what its annotation says.

    Raises
    ------
    Exception
        Where there is none.
    """
    if known.has_value:
        if not runs_others(known.value):
            return _value(getattr(known.value, name))
        found = inspect.getattr_static(known.value, name)
        if isinstance(found, property):
            return _returned(found.fget)
        if isinstance(found, types.FunctionType | staticmethod | classmethod):
            return _value(found.__get__(known.value, known.type))
        return None if hasattr(type(found), "__get__") else _value(found)
    found = inspect.getattr_static(known.type, name)
    if isinstance(found, property):
        return _returned(found.fget)
    if isinstance(found, types.FunctionType):
        return _value(types.MethodType(found, ABSENT))  # so that its signature has no `self`
    if isinstance(found, staticmethod | classmethod):
        return _value(getattr(known.type, name))
    return None


KNOWN_PACKAGES = {*sys.stdlib_module_names, "builtins", "py_tensor", "numpy"} - {"__main__"}


def runs_others(value: object) -> bool:
    """Whether an attribute of it may be computed by code that is not Python's own or ours.

    That could take long, wait, or print, while one only types.
    """
    classes = [*inspect.getmro(type(value))]
    if isinstance(value, type):
        classes += inspect.getmro(value)
    modules = (str(cls.__module__).partition(".")[0] for cls in classes)
    return not all(module in KNOWN_PACKAGES for module in modules)


def _returned(function: Any) -> Known | None:
    """What a call gives: an object of a class, or of the type that a function is annotated with."""
    if inspect.isclass(function):
        return Known(function)
    hint = getattr(function, "__annotations__", {}).get("return")
    if isinstance(hint, str):
        hint = _hinted(hint, function)
    return Known(hint) if inspect.isclass(hint) else None


def _hinted(hint: str, function: Any) -> Any:
    """The class that an annotation names, in the function's module or the package it is from.

    (A name imported for type checkers alone is in the package's own names, if it is public.)
    """
    function = inspect.unwrap(getattr(function, "__func__", function))
    package = sys.modules.get(str(getattr(function, "__module__", "")).partition(".")[0])
    for names in (getattr(function, "__globals__", {}), vars(package) if package else {}):
        if (known := look_up(hint, names)) is not None and known.has_value:
            return known.value
    return None


def _item(known: Known, index: ast.expr) -> Known | None:
    if known.has_value and known.type in (list, tuple, dict, str):
        return _value(known.value[ast.literal_eval(index)])
    return _operated("__getitem__", (known,))


def _operated(method: str, operands: tuple[Known | None, ...]) -> Known | None:
    for known in operands:
        found = None if known is None else getattr(known.type, method, None)
        if found is not None and (result := _returned(found)) is not None:
            return result
    return _counted(method, [None if known is None else known.type for known in operands])


_NUMBERS = [bool, int, float, complex]


def _counted(method: str, types_: Sequence[Any]) -> Known | None:
    """What an operator gives of Python's own numbers: the widest of their types, mostly."""
    if not all(type_ in _NUMBERS for type_ in types_) or method in ("", "__pow__", "__getitem__"):
        return None
    if method in _COMPARED.values():
        return Known(bool)
    least = float if method == "__truediv__" else int
    return Known(max(least, *types_, key=_NUMBERS.index))
