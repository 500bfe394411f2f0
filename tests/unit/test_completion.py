"""Completions at the caret, and the descriptions of calls and names."""

from __future__ import annotations

import inspect
import keyword
import re
import sys
import typing
from collections import OrderedDict
from typing import Any

import pytest

import py_tensor as pt
from tests.page_python import load

completion = load("completion")
expressions = load("expressions")
inspection = load("inspection")


class Watched:
    """Counts the calls of its methods."""

    ran = 0
    plain = 1

    @property
    def costly(self) -> int:
        """Takes a long time."""
        Watched.ran += 1
        return 1

    def __repr__(self) -> str:
        Watched.ran += 1
        return "watched"

    def __call__(self) -> str:
        Watched.ran += 1
        return ""

    def method(self, first: int, *, second: str = "b") -> str:
        """Join them. And more."""
        Watched.ran += 1
        return str(first) + second


def scaled(values: list[float], factor: float = 2.0, *rest: float, clip: bool = False) -> pt.Tensor:
    """Multiply.

    Parameters
    ----------
    values : list of float
        What is multiplied,
        each of them.
    factor, clip
        How.
    """
    raise AssertionError("completion runs no function")


class HostileError(Exception):
    pass


class Hostile:
    def __getattr__(self, name: str) -> Any:
        raise HostileError

    def __dir__(self) -> list[str]:
        raise HostileError


NAMESPACE: dict[str, Any] = {
    "pt": pt,
    "x": pt.ones((2, 3), device="cpu"),
    "d": {"alpha": 1, "beta": {"inner": [pt.ones(2, device="cpu")]}, 3: "three", "a'b": 0},
    "ordered": OrderedDict(one=1),
    "watched": Watched(),
    "Watched": Watched,
    "scaled": scaled,
    "sys": sys,
    "hostile": Hostile(),
    "_private": 1,
}
COMPLETER = completion.Completer(NAMESPACE, ["numpy"])


def offered(before: str, after: str = "") -> dict[str, str]:
    """Return the labels and their kinds."""
    found = COMPLETER.complete(before, after)
    return {} if found is None else {o["label"]: o["kind"] for o in found["options"]}


@pytest.mark.parametrize(
    ("before", "label", "kind"),
    [
        ("pt.soft", "softmax", "function"),
        ("y = pt.soft", "softmax", "function"),
        ("print(pt.", "ones", "function"),
        ("x.", "shape", "property"),
        ("x.su", "sum", "function"),
        ("x . su", "sum", "function"),
        ("x.T.", "sum", "function"),
        ("x[0].", "sum", "function"),
        ("x[0, 1:].", "sum", "function"),
        ("(x @ x.T).", "sum", "function"),
        ("(-x).", "sum", "function"),
        ("pt.ones(3).", "sum", "function"),
        ("pt.ones((2, 3)).sum(0).", "reshape", "function"),
        ("pt.rand(2)[0].exp().", "log", "function"),
        ("d['beta']['inner'][0].", "sum", "function"),
        ("'a b'.", "split", "function"),
        ("f'{x}'.", "split", "function"),
        ("[1, 2].", "append", "function"),
        ("{}.", "items", "function"),
        ("for i in ran", "range", "class"),
        ("if x.any() and a", "abs", "function"),
        ("whi", "while", "keyword"),
        ("_pri", "_private", "value"),
        ("x._", "__class__", "property"),
        ("sys.pa", "path", "value"),
        ("WATCH", "watched", "value"),
        ("total = 1\nprint(to", "total", "value"),
        ("def f(argument):\n    return ar", "argument", "value"),
        ("x = (1,\n     x.su", "sum", "function"),
        ("s = 'it''s'; x.su", "sum", "function"),
        ("# it's\nx.su", "sum", "function"),
        ("import nu", "numpy", "module"),
        ("import os, tim", "time", "module"),
        ("import xml.", "etree", "module"),
        ("from nu", "numpy", "module"),
        ("from py_tensor import so", "sort", "function"),
        ("from py_tensor import exp, so", "softmax", "function"),
        ("from py_tensor import (exp,\n    so", "softmax", "function"),
        ("x = 1; import nu", "numpy", "module"),
        ("from math import co", "cos", "function"),
        ("from this_is_not import ", "", ""),
        ("d[", "'alpha'", "key"),
        ("d[", "3", "key"),
        ("d['", "alpha", "key"),
        ('d["al', "alpha", "key"),
        ("print(d['beta']['", "inner", "key"),
        ("ordered['", "one", "key"),
        ("scaled(", "factor=", "argument"),
        ("scaled(x, cl", "clip=", "argument"),
        ("scaled([1, 2], cl", "clip=", "argument"),
        ("pt.sum(x, keep", "keepdims=", "argument"),
        ("x.sum(ax", "axis=", "argument"),
        ("pt.ones(3).sum(", "axis=", "argument"),
    ],
)
def test_completions(before: str, label: str, kind: str) -> None:
    found = offered(before)
    if label:
        assert found[label] == kind
    else:
        assert found == {}


@pytest.mark.parametrize(
    ("before", "label"),
    [
        ("x.", "__class__"),
        ("", "_private"),
        ("scaled(factor=1, ", "factor="),
        ("scaled(x", "values="),
        ("pt.", "print"),
        ('d["', "3"),
        ("d['", "a'b"),
        ("x.sum(", "self="),
    ],
)
def test_names_without_completions(before: str, label: str) -> None:
    assert label not in offered(before)


@pytest.mark.parametrize(
    "before",
    [
        "x = 'pt.",
        "# pt.",
        "x = 1  # pt.",
        '"""pt.',
        "1.",
        "12",
        "def so",
        "class so",
        "import os as o",
        "nothing.",
        "x.nothing.",
        "hostile.a.",
        "x.shape[9].",
        "lambda: 0).",
        "'abc",
        "pt.softmax(x)",
        "x = {'al",
        "x[0]",
    ],
)
def test_where_nothing_is_offered(before: str) -> None:
    assert offered(before) == {}


def test_an_object_that_cannot_be_listed() -> None:
    """`Console.query` turns any exception into null."""
    with pytest.raises(HostileError):
        offered("hostile.")


def test_nothing_runs() -> None:
    Watched.ran = 0
    names = offered("watched.")
    assert names["costly"] == "property"
    assert names["plain"] == "value"
    for label in names:
        COMPLETER.describe("watched.", label)
    assert offered("watched().") == {}
    assert offered("watched.method(1).")["split"] == "function"
    COMPLETER.describe("", "watched")
    inspection.help_on(NAMESPACE, "watched.costly", source=True)
    offered("watched.costly.")
    COMPLETER.signature("watched.costly.split(")
    assert Watched.ran == 0
    assert inspection.help_on(NAMESPACE, "watched", source=True)["facts"][0][0] == "Type"


def test_no_value_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object) -> None:
        raise AssertionError("a tensor was read")

    for name in ("tolist", "numpy", "item", "__repr__", "__bool__", "__float__"):
        monkeypatch.setattr(pt.Tensor, name, read)
    assert "sum" in offered("x.T.")
    assert "sum" in offered("(x * 2).")
    for label in offered("x."):
        COMPLETER.describe("x.", label)
    assert COMPLETER.describe("", "x")["summary"] == "shape (2, 3), float32"
    assert COMPLETER.signature("x.sum(")["name"] == "sum"
    assert inspection.help_on(NAMESPACE, "x", source=False)["kind"] == "value"


@pytest.mark.parametrize(
    ("before", "after", "inserted"),
    [
        ("d['al", "", "alpha']"),
        ("d['al", "']", None),
        ("d['al", "'", None),
        ('d["al', "]", 'alpha"'),
        ("d['al", ") + 1", "alpha']"),
    ],
)
def test_a_key_ends_as_it_must(before: str, after: str, inserted: str | None) -> None:
    found = COMPLETER.complete(before, after)
    assert found["prefix"] == "al"
    assert found["options"] == [
        {"label": "alpha", "kind": "key"} | ({"apply": inserted} if inserted else {})
    ]


def test_every_keyword_and_builtin_is_offered() -> None:
    found = offered("")
    assert {name for name in keyword.kwlist if found.get(name) != "keyword"} == set()
    assert found["print"] == "function"
    assert found["ValueError"] == "class"


@pytest.mark.parametrize(
    ("before", "parameters", "active"),
    [
        ("pt.softmax(", ["x", "axis=-1"], 0),
        ("pt.softmax(x, ", ["x", "axis=-1"], 1),
        ("pt.softmax(x, [1, 2], ", ["x", "axis=-1"], None),
        ("y = 2 * pt.softmax((x, x), ", ["x", "axis=-1"], 1),
        ("scaled(1, 2, 3, 4", ["values", "factor=2.0", "*rest", "clip=False"], 2),
        ("scaled(1, clip=", ["values", "factor=2.0", "*rest", "clip=False"], 3),
        ("watched.method(", ["first", "*", "second='b'"], 0),
        ("watched.method(1, second='", ["first", "*", "second='b'"], 2),
        ("len(", ["obj", "/"], 0),
        ("print(scaled(1), ", ["*args", "sep=' '", "end='\\n'", "file=None", "flush=False"], 0),
    ],
)
def test_the_signature_of_the_call(before: str, parameters: list[str], active: int | None) -> None:
    found = COMPLETER.signature(before)
    assert found["parameters"] == parameters
    assert found["active"] == active


@pytest.mark.parametrize("before", ["", "x", "x.sum()", "(", "[len", "def f(", "# f(", "nope("])
def test_where_there_is_no_call(before: str) -> None:
    assert COMPLETER.signature(before) is None


def test_arguments_of_an_option() -> None:
    assert COMPLETER.describe("watched.", "method") == {
        "title": "method(first, *, second='b')",
        "summary": "Join them.",
    }
    assert COMPLETER.describe("scaled(", "values=") == {
        "title": "values",
        "summary": "What is multiplied, each of them.",
    }
    assert COMPLETER.describe("scaled(", "clip=") == {"title": "clip=False", "summary": "How."}
    assert COMPLETER.describe("", "if") is None
    assert COMPLETER.describe("", "d") == {"title": "d: dict", "summary": "4 items"}
    assert COMPLETER.describe("pt.so", "softmax")["title"] == "softmax(x, axis=-1)"
    assert COMPLETER.describe("import ", "sys")["title"] == "module sys"


# -- help ----------------------------------------------------------------------------------------

DOC = """First line.

Second paragraph,
over two lines.

Parameters
----------
x : tensor or
    scalar
    What goes in.

    And more.
axis : int, optional
    Which.
out

Returns
-------
tensor
    What comes out.

Examples
--------
>>> f(1)
2

>>> f(2)
3

Then:

    indented = code

- one
- two,
  which goes on
"""


def test_a_docstring_in_numpys_form() -> None:
    assert inspection.doc_blocks(DOC) == [
        {"text": "First line."},
        {"text": "Second paragraph, over two lines."},
        {"heading": "Parameters"},
        {
            "terms": [
                {"term": "x", "type": "tensor or", "text": "scalar What goes in.\n\nAnd more."},
                {"term": "axis", "type": "int, optional", "text": "Which."},
                {"term": "out", "type": "", "text": ""},
            ]
        },
        {"heading": "Returns"},
        {"terms": [{"term": "tensor", "type": "", "text": "What comes out."}]},
        {"heading": "Examples"},
        {"code": ">>> f(1)\n2\n\n>>> f(2)\n3"},
        {"text": "Then:"},
        {"code": "indented = code"},
        {"items": ["one", "two, which goes on"]},
    ]


def test_every_docstring_of_the_library_has_a_form() -> None:
    for name in dir(pt):
        blocks = inspection.doc_blocks(getattr(pt, name).__doc__ or "")
        assert all(len(block) == 1 and all(block.values()) for block in blocks), name


@pytest.mark.parametrize(
    ("expression", "kind", "signature"),
    [
        (
            "scaled",
            "function",
            "(values: list[float], factor: float = 2.0, *rest: float, clip: bool = False)"
            " -> pt.Tensor",
        ),
        ("watched.method", "function", "(first: int, *, second: str = 'b') -> str"),
        ("Watched.costly", "property", None),
        ("watched.costly", "property", None),
        ("x", "value", None),
        ("d['beta']", "value", None),
        ("pt", "module", None),
        ("pt.Tensor", "class", None),
        ("max", "function", None),
        ("len", "function", "(obj, /)"),
    ],
)
def test_help_on(expression: str, kind: str, signature: str | None) -> None:
    found = inspection.help_on(NAMESPACE, expression, source=False)
    assert found["kind"] == kind
    assert found["source"] is None
    if signature is not None:
        assert found["signature"] == signature


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("pt.sum", ["sum", "pt.sum"]),
        ("pt.linalg.norm", ["linalg.norm", "pt.linalg.norm"]),
        ("x.sum", ["Tensor.sum", "x.sum"]),
        ("pt.Tensor.sum", ["Tensor.sum", "x.sum"]),
        ("pt.Tensor.T", ["Tensor.T", "x.T"]),
        ("watched.method", []),
    ],
)
def test_names_in_the_reference(expression: str, names: list[str]) -> None:
    assert inspection.help_on(NAMESPACE, expression, source=False)["names"] == names


def test_help_with_the_source() -> None:
    source = inspection.help_on(NAMESPACE, "watched.method", source=True)["source"]
    assert source.startswith("def method(self")
    assert source.endswith("\n    return str(first) + second")
    assert inspection.help_on(NAMESPACE, "len", source=True)["source"] is None


@pytest.mark.parametrize(
    ("expression", "type_", "words"),
    [
        (
            "pt.sum(x)",
            "py_tensor.tensors.tensor.Tensor",
            "`pt.sum?` describes the function that it calls",
        ),
        ("(x + 1)", "py_tensor.tensors.tensor.Tensor", "It was not run"),
        ("x[0]", "py_tensor.tensors.tensor.Tensor", "It was not run"),
        ("x > 0", "py_tensor.tensors.tensor.Tensor", "It was not run"),
        (
            "x.T.sum(0)",
            "py_tensor.tensors.tensor.Tensor",
            "`x.T.sum?` describes the function",
        ),
        ("scaled([1])", "py_tensor.tensors.tensor.Tensor", "`scaled?`"),
        ("watched.method(1)", "str", "`watched.method?`"),
        ("Watched()", "tests.unit.test_completion.Watched", "`Watched?`"),
        ("(d['alpha'] + 1) / 2", "float", "It was not run"),
        ("d['alpha'] < 1.5", "bool", "It was not run"),
    ],
)
def test_help_on_expressions_that_are_not_run(expression: str, type_: str, words: str) -> None:
    Watched.ran = 0
    found = inspection.help_on(NAMESPACE, expression, source=False)
    assert (found["name"], found["kind"], found["signature"]) == (expression, "value", None)
    assert found["facts"] == [["Type", type_]]
    assert words in found["doc"][0]["text"]
    assert Watched.ran == 0


def test_help_explains_the_types_in_signatures() -> None:
    """All names of the library's own that are not classes, which have help themselves."""
    met: set[str] = set()
    for path in ("pt", "pt.Tensor", "pt.fft", "pt.linalg", "pt.random"):
        owner = eval(path, {"pt": pt})
        for name in dir(owner):
            value = getattr(owner, name)
            if name.startswith("_") or inspection.kind_of(value) != "function":
                continue
            found = inspection.help_on({"pt": pt}, f"{path}.{name}", source=False)
            assert not isinstance(found, str)
            home = vars(sys.modules[inspect.unwrap(value).__module__])  # not that of pt.random
            types = set(re.findall(r"\b[A-Z]\w+\b", found["signature"] or "")) & home.keys()
            own = {
                type_
                for type_ in types - set(typing.__all__)
                if getattr(home[type_], "__name__", "") != type_
            }
            assert own <= {fact for fact, _ in found["facts"]}, (path, name)
            met |= own
    assert {"Operand", "Axes", "Out", "Size", "Seed"} <= met


def test_help_on_a_property_of_a_tensor_and_on_an_item() -> None:
    found = inspection.help_on(NAMESPACE, "x.T", source=False)
    assert found["kind"] == "property"
    assert found["doc"]
    found = inspection.help_on(NAMESPACE, "d[3]", source=False)
    assert found["facts"] == [["Type", "str"], ["Value", "'three'"]]


@pytest.mark.parametrize("magic", ["%time", "%timeit", "%%timeit", "%profile", "%who", "%reset"])
def test_help_on_a_magic(magic: str) -> None:
    found = inspection.help_on(NAMESPACE, magic, source=False)
    assert (found["name"], found["kind"]) == (magic, "magic")
    assert found["doc"]
    if "timeit" in magic:
        assert found["signature"] == " [-n LOOPS] [-r RUNS] code"
        assert "every loop's work is counted in full" in str(found["doc"])


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("nope", "No help on nope: not found."),
        ("scald", "No help on scald: not found. Did you mean scaled?"),
        ("x.nope", "No help on x.nope: not found."),
        ("pt.softmx", "No help on pt.softmx: not found. Did you mean softmax?"),
        ("1 +", "No help on 1 +: not an expression."),
        ("d['nope']", "No help on d['nope']: not found."),
        ("nope(x)", "No help on nope: not found."),
        (
            "len(x)",
            "Help on len(x) needs its value. Run y = len(x), then y?",
        ),
        (
            "hostile.a",
            "Help on hostile.a needs its value. Run y = hostile.a, then y?",
        ),
        (
            "%nope",
            "Unknown magic %nope; available: %time, %timeit, %profile, %who, %reset.",
        ),
    ],
)
def test_there_is_no_help_on(expression: str, reason: str) -> None:
    assert inspection.help_on(NAMESPACE, expression, source=False) == reason


def test_brackets_and_strings_of_a_text_that_ends_anywhere() -> None:
    text = "f(a[\"b)\"], (c, '''d\n('''), g[h"
    for end in range(len(text) + 1):
        found = expressions.scan(text[:end])
        assert len(found.opened) <= 2
    found = expressions.scan(text)
    assert [found.tokens[i].text for i in found.opened] == ["(", "["]
    assert expressions.scan("x = 'it''s' + \"").string.quote == '"'
