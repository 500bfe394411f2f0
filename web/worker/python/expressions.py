"""Scans an input up to the caret, and infers values and types of expressions without running them.

An unfinished input is not valid Python, so a scanner finds its brackets and strings. Expressions
are looked up, never evaluated: names and attributes resolve to their values; calls, operators and
items resolve to types, taken from annotations. The only foreign code that can run is what `getattr`
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
    """The unterminated string around the caret."""

    start: int
    """The start of its token."""
    body: int
    """The start of the text after its opening quote."""
    quote: str


@dataclass
class Scan:
    """The tokens of a text that ends at the caret, and the brackets and string still open there."""

    text: str
    tokens: list[Token] = field(default_factory=list[Token])
    opened: list[int] = field(default_factory=list[int])
    """The brackets still open at the end, innermost last, as indices into `tokens`."""
    partners: dict[int, int] = field(default_factory=dict[int, int])
    """Maps the index of a closing bracket to that of its opening bracket."""
    string: OpenString | None = None
    in_comment: bool = False


def scan(text: str) -> Scan:
    """Find the tokens, brackets and strings of `text`, which may end anywhere."""
    found = Scan(text)
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None  # `sign` matches any character
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
    """Return the end of the string whose body begins at `at`; -1 if `text` ends within it."""
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text.startswith(quote, at):
            return at + len(quote)
        elif text[at] == "\n" and len(quote) == 1:
            return at  # a syntax error; code follows
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
    """Return the primary expression whose last token is `tokens[last]`; None if none ends there.

    It may have names, attributes, calls, items and displays: for `a + b[0].c(1)` it is `b[0].c(1)`.
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


# -- inference -----------------------------------------------------------------------------------


class _Absent:
    """Marks an unknown value, and the missing object of a method found on a type."""


ABSENT = _Absent()


@dataclass(frozen=True)
class Known:
    """The result of a lookup: the value, or only the type (`value` is ABSENT)."""

    type: Any
    value: Any = ABSENT

    @property
    def has_value(self) -> bool:
        return self.value is not ABSENT

    @property
    def subject(self) -> Any:
        """The value if known, else the type."""
        return self.value if self.has_value else self.type


def look_up(expression: str, namespace: Mapping[str, Any]) -> Known | None:
    """Look up `expression` in `namespace` and the builtins; None if it cannot be inferred."""
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    try:
        return _of(tree.body, namespace)
    except Exception:  # getattr can raise anything
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
    """Look up an attribute: by `getattr` if that runs no foreign code, else the stored attribute.

    A property gives the type in its annotation.

    Raises
    ------
    Exception
        If there is no such attribute.
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
        return _value(types.MethodType(found, ABSENT))  # its signature then has no `self`
    if isinstance(found, staticmethod | classmethod):
        return _value(getattr(known.type, name))
    return None


KNOWN_PACKAGES = {*sys.stdlib_module_names, "builtins", "py_tensor", "numpy"} - {"__main__"}


def runs_others(value: object) -> bool:
    """Whether reading an attribute may run code outside the standard library, NumPy and py_tensor.

    Such code could be slow, block or print while the user only types.
    """
    classes = [*inspect.getmro(type(value))]
    if isinstance(value, type):
        classes += inspect.getmro(value)
    modules = (str(cls.__module__).partition(".")[0] for cls in classes)
    return not all(module in KNOWN_PACKAGES for module in modules)


def _returned(function: Any) -> Known | None:
    """Return the type that a call returns: the class itself, or a function's return annotation."""
    if inspect.isclass(function):
        return Known(function)
    hint = getattr(function, "__annotations__", {}).get("return")
    if isinstance(hint, str):
        hint = _hinted(hint, function)
    return Known(hint) if inspect.isclass(hint) else None


def _hinted(hint: str, function: Any) -> Any:
    """Return the class that an annotation names, from the function's module or package.

    The package holds public names that the module imports only for type checkers.
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
    """Return the type of an operator's result on Python numbers: usually the widest type."""
    if not all(type_ in _NUMBERS for type_ in types_) or method in ("", "__pow__", "__getitem__"):
        return None
    if method in _COMPARED.values():
        return Known(bool)
    least = float if method == "__truediv__" else int
    return Known(max(least, *types_, key=_NUMBERS.index))
