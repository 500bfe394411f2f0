"""Signatures match NumPy's: the same names, in the same order, with the same defaults.

Every call that NumPy accepts, ours accept. Additional parameters are keyword-only. A parameter that
is positional-only in NumPy may have another name. If NumPy's default is a marker for "not given",
any default is allowed. A default dtype of 64 bits is None in ours.
"""

from __future__ import annotations

import inspect
from inspect import Parameter, Signature
from typing import Any, NamedTuple

import numpy as np
import pytest

import py_tensor as pt

BY_PLACE = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.VAR_POSITIONAL)
NO_VALUE = inspect.signature(np.sum).parameters["initial"].default
WIDE: tuple[Any, ...] = (float, int, np.float64, np.int64)

OPTIONS = "where=True, casting='same_kind', order='K', dtype=None, subok=True, signature=None"
UFUNCS = {  # by the numbers of operands and results, for older NumPy without signatures
    (1, 1): f"(x, /, out=None, *, {OPTIONS})",
    (2, 1): f"(x1, x2, /, out=None, *, {OPTIONS})",
    (1, 2): f"(x, /, out=(None, None), *, {OPTIONS})",
    (2, 2): f"(x1, x2, /, out=(None, None), *, {OPTIONS})",
}


class Namespace(NamedTuple):
    name: str
    numpys: Any
    ours: Any


NAMESPACES = [
    Namespace("", np, pt),
    Namespace("linalg.", np.linalg, pt.linalg),
    Namespace("fft.", np.fft, pt.fft),
    Namespace("random.", np.random, pt.random),
    Namespace("random.Generator.", np.random.Generator, pt.random.Generator),
    Namespace("ndarray.", np.ndarray, pt.Tensor),
]

ELEMENTWISE = "is elementwise with us, and has the options of those; its operand has no name"
DESCENDING = "has False for `descending`, as the array API standard does; None is the same"
SORTING = ("ndarray.argsort", "ndarray.sort") if np.__version__ >= "2.5" else ()
AS_GENERATORS = "is the method of Generator, with its options; the old one has fewer"
EXCEPTIONS = {
    **dict.fromkeys(("fix", "i0", "isneginf", "isposinf"), ELEMENTWISE),
    **dict.fromkeys(("ndarray.conj", "ndarray.conjugate"), "takes `out`, as the function does"),
    "clip": "names the bounds as the array API standard does, and takes a_min and a_max by name",
    "arange": "takes the stop alone by name, which NumPy's does too, but does not tell",
    "genfromtxt": "reads no names, from which characters would be deleted",
    "expand_dims": "has a default axis, which the array API standard asks for",
    **dict.fromkeys(SORTING, DESCENDING),
    "ndarray.reshape": "takes the shape by name, too",
    "ndarray.setflags": "takes its flags by place, as older NumPy did",
    "ndarray.view": "names what NumPy's takes as any arguments: dtype and type",
    **dict.fromkeys(
        (
            *("random.choice", "random.permutation", "random.random", "random.shuffle"),
            *("random.standard_exponential", "random.standard_gamma", "random.standard_normal"),
        ),
        AS_GENERATORS,
    ),
    **dict.fromkeys(("random.ranf", "random.sample"), "name what NumPy's take as any arguments"),
}
"""The differences, with reasons."""


def signature_of(function: Any) -> Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        if not isinstance(function, np.ufunc):
            return None  # of older NumPy's functions in C
        text = UFUNCS[function.nin, function.nout]
        return inspect.signature(eval(f"lambda {text[1:-1]}: None"))


def functions() -> dict[str, tuple[Any, Any]]:
    """Return NumPy's functions and ours, by name."""
    found: dict[str, tuple[Any, Any]] = {}
    for space in NAMESPACES:
        for name in dir(space.numpys):
            numpys, ours = getattr(space.numpys, name), getattr(space.ours, name, None)
            if name.startswith("_") or isinstance(numpys, type) or not callable(numpys):
                continue
            if ours is not None and signature_of(numpys) is not None:
                found[space.name + name] = numpys, ours
    return found


def defaults_differ(numpys: Parameter, ours: Parameter) -> bool:
    theirs = numpys.default
    if theirs is NO_VALUE:
        return ours.default is Parameter.empty
    for one, other in ((theirs, ours.default), (ours.default, theirs)):
        if one is None and any(other is dtype for dtype in WIDE):
            return False
    return theirs is not ours.default and not (
        type(theirs) is type(ours.default) and theirs == ours.default
    )


def difference(numpys: Signature, ours: Signature) -> str | None:
    """Return the first argument that NumPy's accepts and ours does not."""
    given = list(ours.parameters.values())
    places = [p for p in given if p.kind in BY_PLACE]
    wanted = [p for p in numpys.parameters.values() if p.kind in BY_PLACE]
    for place, parameter in enumerate(wanted):
        if place >= len(places):
            return f"{parameter} is missing"
        own = places[place]
        if own.kind is not parameter.kind and (
            parameter.kind is not Parameter.POSITIONAL_ONLY
            or own.kind is not Parameter.POSITIONAL_OR_KEYWORD
        ):
            return f"{own} is {own.kind.description}, and {parameter} {parameter.kind.description}"
        if own.name != parameter.name and parameter.kind is Parameter.POSITIONAL_OR_KEYWORD:
            return f"{own} has another name than {parameter}"
        if defaults_differ(parameter, own):
            return f"{own} has another default than {parameter}"
    takes_any = any(p.kind is Parameter.VAR_KEYWORD for p in numpys.parameters.values())
    if len(places) > len(wanted) and not takes_any:
        return f"{places[len(wanted)]} may be given by place"
    for name, parameter in numpys.parameters.items():
        if parameter.kind is Parameter.KEYWORD_ONLY:
            own = ours.parameters.get(name)
            if own is None:
                return f"{parameter} is missing"
            if defaults_differ(parameter, own):
                return f"{own} has another default than {parameter}"
    return None


FUNCTIONS = functions()


def found(name: str) -> str | None:
    numpys, ours = FUNCTIONS[name]
    own = signature_of(ours)
    assert own is not None, f"{name}: ours has no signature"
    theirs = signature_of(numpys)
    assert theirs is not None
    return difference(theirs, own)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_signature(name: str) -> None:
    differs = found(name)
    if name in EXCEPTIONS:
        assert differs, f"{name}: is no exception any more"
    else:
        assert differs is None, f"{name}: {differs}"


def test_exceptions_are_of_functions() -> None:
    assert EXCEPTIONS.keys() <= FUNCTIONS.keys()


def test_differences_are_detected() -> None:
    """The comparison finds each kind of difference."""

    def of(text: str) -> Signature:
        return inspect.signature(eval(f"lambda {text}: None"))

    for ours, words in (
        ("a, b=1, *, c=None", None),
        ("a, b=1, *, c=None, device=None", None),
        ("a, b=1, **options", "c=None is missing"),
        ("a", "b=1 is missing"),
        ("a, b=True, *, c=None", "another default"),
        ("a, /, b=1, *, c=None", "positional-only"),
        ("a, k=1, *, c=None", "another name"),
        ("a, b=1, c=None", "may be given by place"),
        ("a, b=1, *, c=2", "another default"),
    ):
        got = difference(of("a, b=1, *, c=None"), of(ours))
        assert got is None if words is None else words in str(got), ours
