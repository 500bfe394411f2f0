"""Signatures are NumPy's: the same names, in the same order, with the same defaults.

A call that NumPy takes, ours takes. What ours has besides is given by name. A parameter that NumPy
takes by place alone may have another name; where NumPy has no default value but a mark for "not
given", any default will do; and a default dtype of 64 bits is None with us.
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

OF_PLACES = {  # of NumPy's docstrings, where Python finds no signature
    "random.ranf": "(size=None)",
    "random.sample": "(size=None)",
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

EXCEPTIONS: dict[str, str] = {}
"""What differs, and why."""


def signature_of(function: Any) -> Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def functions() -> dict[str, tuple[Any, Any]]:
    """NumPy's and ours, by name."""
    found: dict[str, tuple[Any, Any]] = {}
    for space in NAMESPACES:
        for name in dir(space.numpys):
            numpys, ours = getattr(space.numpys, name), getattr(space.ours, name, None)
            if name.startswith("_") or isinstance(numpys, type) or not callable(numpys):
                continue
            if ours is not None:
                found[space.name + name] = numpys, ours
    return found


def defaults_differ(numpys: Parameter, ours: Parameter) -> bool:
    theirs = numpys.default
    if theirs is NO_VALUE:
        return ours.default is Parameter.empty
    if ours.default is None and any(theirs is dtype for dtype in WIDE):
        return False
    return theirs is not ours.default and not (
        type(theirs) is type(ours.default) and theirs == ours.default
    )


def difference(numpys: Signature, ours: Signature) -> str | None:
    """The first thing that NumPy's takes, and ours does not."""
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
        if own.name != parameter.name and parameter.kind is not Parameter.POSITIONAL_ONLY:
            return f"{own} has another name than {parameter}"
        if defaults_differ(parameter, own):
            return f"{own} has another default than {parameter}"
    if len(places) > len(wanted):
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
    if theirs is None:
        theirs = signature_of(eval(f"lambda {OF_PLACES[name].strip('()')}: None"))
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
