"""Derivatives that the user defines, and functions that are computed again for theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import update_wrapper, wraps
from typing import Any, cast

from py_tensor.ir.bind import bind
from py_tensor.ir.node import next_number
from py_tensor.ir.primitives import STOP
from py_tensor.ir.recording import Recording, recording
from py_tensor.ops.creation import zeros_like
from py_tensor.ops.operands import node_of
from py_tensor.ops.rules import recording_with, ruled
from py_tensor.runtime.trace import noting_draws, repeating
from py_tensor.tensors.tensor import Tensor, tensor_of
from py_tensor.transforms.walks import pull, variable
from py_tensor.tree import Structure, flatten, is_array, matching, matching_or_none, unflatten

__all__ = ["checkpoint", "custom_jvp", "custom_vjp", "stop_gradient"]

Parts = list[Any]


def stop_gradient(tree: Any) -> Any:
    """Return the tensors of a tree as constants, of which nothing has a derivative.

    Parameters
    ----------
    tree : Tensor or tree of tensors

    Returns
    -------
    Tensor or tree
        The same elements. No memory is copied.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.grad(lambda x: x * pt.stop_gradient(x))(3.0)
    tensor(3.)
    """
    leaves, structure = flatten(tree)
    stopped = [
        Tensor(bind(STOP, (node_of(x),), x.shape)) if type(x) is Tensor and x.size else x
        for x in leaves
    ]
    return unflatten(structure, stopped)


def _recording_with(values: Sequence[Any]) -> Recording | None:
    """Return the recording that a function of these arguments runs in."""
    return recording_with([x for x in flatten(tuple(values))[0] if type(x) is Tensor])


class _Flat:
    """The arguments of a function with a rule, as those that the rule is for, and the rest."""

    def __init__(self, op: str, values: Sequence[Any]) -> None:
        self.leaves, self.structure = flatten(tuple(values))
        self.numbers = [at for at, leaf in enumerate(self.leaves) if _has_derivative(leaf)]
        # New tensors: later writes to the arguments must not change what the rule gets.
        self.inputs = [Tensor(node_of(tensor_of(self.leaves[at], op))) for at in self.numbers]
        for x in self.inputs:
            if x.ndim:
                x.flags.writeable = False  # the caller would not see what is written

    def with_inputs(self, inputs: Sequence[Any], rest: Callable[[Any], Any]) -> tuple[Any, ...]:
        """Return the arguments with other inputs, and a function of each of the other leaves."""
        leaves = [rest(leaf) for leaf in self.leaves]
        for at, x in zip(self.numbers, inputs, strict=True):
            leaves[at] = x
        return unflatten(self.structure, leaves)

    def values(self) -> tuple[Any, ...]:
        return self.with_inputs(self.inputs, lambda leaf: leaf)


def _has_derivative(leaf: Any) -> bool:
    return is_array(leaf) and tensor_of(leaf, "custom").dtype.is_inexact


def _results(name: str, y: Any) -> tuple[list[Tensor], Structure]:
    leaves, structure = flatten(y)
    return [tensor_of(leaf, name) for leaf in leaves], structure


def _cotangents(parts: Parts, results: Sequence[Tensor]) -> list[Tensor]:
    pairs = zip(parts, results, strict=True)
    return [zeros_like(y) if part is None else part for part, y in pairs]


class custom_vjp:  # noqa: N801 - a decorator, like a function
    """Give a function a pullback of your own; a decorator.

    Parameters
    ----------
    function : callable
        Takes and returns tensors and trees of them.

    Examples
    --------
    >>> import py_tensor as pt
    >>> @pt.custom_vjp
    ... def clipped(x):
    ...     return x
    >>> @clipped.defvjp
    ... def _(x):
    ...     return x, lambda g: (pt.clip(g, -1, 1),)
    >>> pt.grad(lambda x: 5 * clipped(x))(2.0)
    tensor(1.)
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self._name: str = getattr(function, "__name__", type(self).__name__)
        self._function = function
        self._forward: Callable[..., Any] | None = None
        self._is_running = ContextVar("is_running", default=False)  # its rule, which may call it

    def defvjp(
        self,
        forward: Callable[..., Any],
        backward: Callable[..., Any] | None = None,
    ) -> Callable[..., Any]:
        """Set the rule; return `forward`, so that this is a decorator.

        Parameters
        ----------
        forward : callable
            Takes the function's arguments. Returns its result and the pullback; with `backward`,
            the result and what `backward` needs.
        backward : callable, optional
            ``backward(needed, g)``. It and the pullback return a tuple with a cotangent for each
            argument: a tree like the argument, or None.
        """
        if backward is None:
            self._forward = forward
        else:

            def both(*values: Any) -> tuple[Any, Callable[[Any], Any]]:
                y, needed = forward(*values)
                return y, lambda g: backward(needed, g)

            self._forward = both
        return forward

    def __call__(self, *values: Any) -> Any:
        if _recording_with(values) is None or self._is_running.get():
            return self._function(*values)
        name = self._name
        if self._forward is None:
            raise TypeError(f"custom_vjp: {name} has no rule; give it one by {name}.defvjp")
        flat, start = _Flat(name, values), next_number()
        token = self._is_running.set(True)
        try:
            y, pullback = self._forward(*flat.values())
        finally:
            self._is_running.reset(token)
        _check_arguments(name, flatten(y)[0], flat, start)
        results, structure = _results(name, y)

        def pulled(parts: Parts, marked: Sequence[Tensor]) -> list[Any]:
            got = pullback(unflatten(structure, _cotangents(parts, marked)))
            return _of_inputs(name, flat, got)

        return unflatten(structure, ruled(name, flat.inputs, results, pulled))


def _check_arguments(name: str, results: Sequence[Any], flat: _Flat, start: int) -> None:
    """Raise if a rule would give something that depends on an argument of `grad` no derivative."""
    current = recording_with(flat.inputs)
    if current is None:
        return
    known = {node_of(x) for x in flat.inputs}
    nodes = [node_of(y) for y in results if type(y) is Tensor]
    if any(current.depends(x) for x in current.outside(nodes, start) if x not in known):
        raise TypeError(
            f"{name}: it has a rule and uses a tensor that is not an argument, but depends on what"
            " is differentiated; pass it as an argument"
        )


def _of_inputs(name: str, flat: _Flat, got: Any) -> list[Any]:
    """Return the cotangents of the inputs from a tuple with one for each argument."""
    count = len(flat.structure.children)
    if not isinstance(got, tuple) or len(cast("tuple[Any, ...]", got)) != count:
        raise TypeError(f"{name}: its rule must return a tuple of {count} cotangents, not {got!r}")
    leaves: list[Any] = []
    for child, cotangent in zip(flat.structure.children, cast("tuple[Any, ...]", got), strict=True):
        # The rule's own check has a better message for what is no tensor.
        is_leaf = child.size == 1 and not child.children
        leaves += (
            [cotangent] if is_leaf else matching_or_none(f"{name}: its rule", child, cotangent)
        )
    return [leaves[at] for at in flat.numbers]


class custom_jvp:  # noqa: N801 - a decorator, like a function
    """Give a function a tangent of your own; a decorator. The pullback is derived from it.

    Parameters
    ----------
    function : callable
        Takes and returns tensors and trees of them.

    Examples
    --------
    >>> import py_tensor as pt
    >>> @pt.custom_jvp
    ... def doubled(x):
    ...     return 2 * x
    >>> @doubled.defjvp
    ... def _(primals, tangents):
    ...     return doubled(*primals), 20 * tangents[0]
    >>> pt.grad(doubled)(1.0)
    tensor(20.)
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self._name: str = getattr(function, "__name__", type(self).__name__)
        self._function = function
        self._rule: Callable[..., Any] | None = None

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule; return it, so that this is a decorator.

        ``rule(primals, tangents)`` gets tuples, and returns the result and its tangent, which is
        linear in the tangents. The tangent of a leaf without one, such as an integer, is None.
        """
        self._rule = rule
        return rule

    def __call__(self, *values: Any) -> Any:
        if _recording_with(values) is None:
            return self._function(*values)
        name, rule = self._name, self._rule
        if rule is None:
            raise TypeError(f"custom_jvp: {name} has no rule; give it one by {name}.defjvp")
        flat, start = _Flat(name, values), next_number()
        results, structure = _results(name, self._function(*flat.values()))
        _check_arguments(name, results, flat, start)

        def pushed(parts: Parts) -> list[Any]:
            tangents = _cotangents(parts, flat.inputs)
            primals = flat.values()
            _, tangent = rule(primals, flat.with_inputs(tangents, lambda leaf: None))
            return matching(f"{name}: its rule", structure, tangent)

        def pulled(parts: Parts, marked: Sequence[Tensor]) -> list[Any]:
            variables = [variable(zeros_like(x)) for x in flat.inputs]
            with recording() as made:
                tangents = pushed([Tensor(node) for node in variables])
            nodes = [node_of(tensor_of(x, name)) for x in tangents]
            return pull(made, nodes, _cotangents(parts, marked), variables)

        return unflatten(structure, ruled(name, flat.inputs, results, pulled, pushed))


def checkpoint(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is computed again for its derivative, so that less memory is used.

    Its intermediate values are not kept between the two. Random draws are the same again. Tensors
    that it uses beside its arguments must not be written to in between.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.grad(pt.checkpoint(lambda x: pt.sin(pt.sin(x))))(0.0)
    tensor(1.)
    """

    @wraps(function)
    def checkpointed(*values: Any) -> Any:
        current = _recording_with(values)
        if current is None:
            return function(*values)
        name = getattr(function, "__name__", "checkpoint")
        flat = _Flat(name, values)
        start = next_number()
        with noting_draws() as draws:
            results, structure = _results(name, function(*flat.values()))
        known = {node_of(x) for x in flat.inputs}
        nodes = [node_of(y) for y in results]
        closed_over = [x for x in current.outside(nodes, start) if x not in known]
        current.omit(start, next_number())

        def pulled(parts: Parts, marked: Sequence[Tensor]) -> Sequence[Any]:
            with recording() as made, repeating(draws):
                variables = [variable(x) for x in flat.inputs]
                again = flat.with_inputs([Tensor(node) for node in variables], lambda leaf: leaf)
                recomputed = [node_of(y) for y in _results(name, function(*again))[0]]
            return pull(made, recomputed, _cotangents(parts, marked), [*variables, *closed_over])

        arguments = [*flat.inputs, *map(Tensor, closed_over)]
        return unflatten(structure, ruled(name, arguments, results, pulled))

    return checkpointed
