"""Functions of tensors that have a derivative of their own.

Where the steps of a function have no derivative, or a bad one, `differentiated_by` gives it a rule.
The graph stays the same, and without a recording the rule costs one test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from py_tensor.ir.bind import bind
from py_tensor.ir.primitives import RESULT
from py_tensor.ir.recording import Recording, Rule, current_recording, recording_of
from py_tensor.ops.creation import zeros_like
from py_tensor.ops.operands import node_of
from py_tensor.tensors.tensor import Tensor

Results = tuple[Tensor, ...]
# ``pullback(g, y, *operands, **options)`` gets the cotangent, the result, and the operands; for
# several results it gets tuples. It returns a cotangent or None for each operand.
Pullback = Callable[..., Sequence[Tensor | None]]


def differentiated_by(pullback: Pullback) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that gives a function the rule of its derivative.

    The function takes tensors by position and everything else by name, and returns a tensor or a
    tuple of them. The pullback is written with public functions, so it has a derivative itself.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*operands: Tensor, **options: Any) -> Any:
            if recording_with(operands) is None:
                return function(*operands, **options)
            # Later writes to the operands must not change what the pullback gets.
            held = [Tensor(node_of(x)) for x in operands]
            y: Any = function(*held, **options)
            results: Results = y if isinstance(y, tuple) else (y,)  # pyright: ignore[reportUnknownVariableType]

            def pulled(cotangents: list[Any], marked: Sequence[Tensor]) -> Sequence[Any]:
                pairs = zip(cotangents, marked, strict=True)
                g = tuple([zeros_like(m) if c is None else c for c, m in pairs])
                if not isinstance(y, tuple):
                    return pullback(g[0], marked[0], *held, **options)
                return pullback(g, tuple(marked), *held, **options)

            marked = ruled(function.__name__, held, results, pulled)
            return _in_form_of(y, marked)

        return call

    return decorate


def recording_with(operands: Sequence[Tensor]) -> Recording | None:
    """Return the recording of this thread, or one that another thread runs a function in."""
    return current_recording() or recording_of(map(node_of, operands))


def _in_form_of(y: Any, results: Sequence[Tensor]) -> Any:
    """Return one tensor, or a tuple of the type of `y`, which may be a named tuple."""
    make = getattr(y, "_make", tuple)
    return make(results) if isinstance(y, tuple) else results[0]


def ruled(
    name: str,
    arguments: Sequence[Tensor],
    results: Sequence[Tensor],
    pullback: Callable[[list[Any], Sequence[Tensor]], Sequence[Any]],
    pushforward: Callable[[list[Any]], Sequence[Any]] | None = None,
) -> list[Tensor]:
    """Return results whose derivative is a rule's.

    ``pullback(cotangents, results)`` gets the results as they are returned here.
    """
    current = recording_with(arguments)
    if current is None:  # there are no arguments
        return [*results]
    nodes = tuple([bind(RESULT, (node_of(y),), y.shape) if y.size else node_of(y) for y in results])
    marked = [Tensor(node) for node in nodes]
    rule = Rule(
        name,
        tuple([node_of(x) for x in arguments]),
        nodes,
        lambda cotangents: pullback(cotangents, [Tensor(node) for node in nodes]),
        pushforward,
    )
    current.rules.update(dict.fromkeys(nodes, rule))
    return marked
