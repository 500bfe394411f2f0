"""Functions that follow from others: their parameters, and their import at first use."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import Signature, cleandoc, signature
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def declared(name: str, of: Signature, call: Callable[..., R], doc: str | None) -> Callable[..., R]:
    """Return a function with a name and a signature, whose arguments `call` gets by name.

    It is compiled, so that Python binds its arguments and names it in errors.
    """
    plain = Signature([p.replace(annotation=p.empty) for p in of.parameters.values()])
    passed = ", ".join(f"{argument}={argument}" for argument in of.parameters)
    text = f"lambda call: lambda {str(plain)[1:-1]}: call({passed})"
    function: Any = eval(text, {"__name__": call.__module__})(call)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    kinds = {p.name: p.annotation for p in of.parameters.values() if p.annotation is not p.empty}
    function.__annotations__ = {**kinds, "return": of.return_annotation}
    return function


def declared_like(
    function: Callable[P, R], call: Callable[..., R], name: str, **words: str
) -> Callable[P, R]:
    """Return a function with the parameters of another one, all of which `call` gets by name.

    Its docstring is that of `call`, formatted with `words`.
    """
    doc = call.__doc__ and cleandoc(call.__doc__)  # -OO removes docstrings
    doc = doc.format(**words) if doc and words else doc
    return declared(name, signature(function), call, doc)


class OnFirstUse:
    """A method of a class, whose module is imported when the method is first used."""

    def __init__(self, kind: type, module: str, name: str) -> None:
        self.kind, self.module, self.name = kind, module, name

    def __get__(self, owner: Any, kind: type) -> Any:
        method = getattr(import_module(self.module), self.name)
        setattr(self.kind, self.name, method)
        return method.__get__(owner, kind)
