"""What a node computes: the op values that nodes, the scheduler, codegen and both backends share.

An op says its name, its WGSL and its NumPy meaning, and how a gradient passes through it. The
public functions made from these values stand in `py_tensor.ops`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from py_tensor.layout import Layout
from py_tensor.shapes import Shape

# A vjp gets the incoming gradient, the result, the operands (all of them Tensors) and the node's
# attributes, and returns one gradient (or None) per operand. It is written with public functions,
# so that it can itself be differentiated.
Vjp = Callable[..., tuple[Any, ...]]
# numpy(np, *arrays), spelled out by the number of arrays, so that type checkers know the
# parameters of a lambda.
OnArrays = (
    Callable[[Any, Any], Any]
    | Callable[[Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any, Any], Any]
)


class NotDifferentiable:
    def __repr__(self) -> str:
        return "NOT_DIFFERENTIABLE"


NOT_DIFFERENTIABLE: Final = NotDifferentiable()
Derivative = Vjp | NotDifferentiable


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """Base of all ops; ops compare by identity."""

    name: str
    vjp: Derivative = field(kw_only=True)

    def __repr__(self) -> str:
        return f"<op {self.name}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Elementwise(Op):
    """One value per index from the operands' values at that index.

    Attributes
    ----------
    wgsl : mapping
        An expression per WGSL type of the last operand, "*" for any type: ``{0}``, ``{1}`` stand
        for the operands.
    numpy : callable
        ``numpy(np, *arrays)``, the same on arrays.
    cost : int
        Rough number of arithmetic instructions: what the scheduler weighs recomputing by.
    """

    wgsl: Mapping[str, str]
    numpy: OnArrays
    cost: int = 1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cast(Op):
    """Conversion to the node's dtype; codegen has one function for each pair of types."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reduction(Op):
    """A fold over some axes, which stay as length 1; the node's attributes are those axes.

    Attributes
    ----------
    parts : tuple of str
        The WGSL type of each part of the accumulator, "T" for the operand's own type.
    identity : callable
        DType of the operand -> the parts' start values, as Python scalars.
    element : mapping
        WGSL type -> one expression per part: the accumulator of the single value ``{x}`` whose
        flat index along the reduced axes is ``{i}``.
    combine : mapping
        WGSL type -> one expression per part, over the parts ``{a0}``, ``{a1}`` of one accumulator
        and ``{b0}``, ``{b1}`` of another.
    result : str
        The result from the parts ``{a0}``, ``{a1}``.
    indexed : bool
        Whether `element` uses ``{i}``.
    rounds : bool
        Whether folding floats rounds, so that a long chain would lose digits.
    numpy : callable
        ``numpy(np, array, axes)`` with the axes kept.
    """

    parts: tuple[str, ...]
    identity: Callable[[Any], tuple[int | float | bool, ...]]
    element: Mapping[str, tuple[str, ...]]
    combine: Mapping[str, tuple[str, ...]]
    result: str
    numpy: Callable[[Any, Any, tuple[int, ...]], Any]
    indexed: bool = False
    rounds: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scan(Op):
    """Each element folded with all that come before it along an axis; the attributes are (axis,).

    Attributes
    ----------
    fold : Reduction
        With an accumulator of one part, whose identity leaves every value as it is, -0 too.
    numpy : callable
        ``numpy(np, array, axis)``
    """

    fold: Reduction
    numpy: Callable[[Any, Any, int], Any]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sort(Op):
    """The elements along an axis in order, equal ones as they were; attributes (axis, descending).

    Attributes
    ----------
    indices : bool
        Where each element was, as int32, in place of the element.
    """

    indices: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Movement(Op):
    """A result whose every element is an element of the operand, found by an affine map."""

    layout: Callable[[Any, Shape, Shape], Layout]  # attributes, operand's shape, result's shape


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Structural(Op):
    """An op that the scheduler knows by name: leaf, constant, index, pad, contract, concat."""
