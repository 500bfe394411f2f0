"""Checks that the generated tests can fail: a slightly wrong op does not pass its tests.

On webgpu the op's WGSL is mutated, on the cpu device its NumPy function. Most mutations are
plausible first versions that are wrong only for NaN, a sign, a tie or the last digits.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.ir.bind import Recipes, forget
from tests.functions import functions
from tests.ops import references as ref
from tests.ops.test_elementwise import binary_cases, unary_cases


@dataclasses.dataclass(frozen=True)
class Mutation:
    """A dtype whose tests must fail, and the wrong definition in both languages."""

    dtype: str
    wgsl: str
    numpy: Callable[..., Any]


MUTATIONS: dict[str, Mutation] = {
    "exp": Mutation(
        "float32", "(exp_f32({0}) * 1.000001)", lambda np, x: np.exp(x) * np.float32(1.000001)
    ),
    "log": Mutation("float32", "(log_f32({0}) + 1e-6)", lambda np, x: np.log(x) + np.float32(1e-6)),
    "negative": Mutation("int32", "~{0}", lambda np, x: ~x),
    "sign": Mutation(
        "float32",
        "select(select(-1.0, 0.0, {0} == 0.0), 1.0, {0} > 0.0)",  # wrong for NaN
        lambda np, x: np.where(x > 0, 1, np.where(x == 0, 0, -1)),
    ),
    "round": Mutation(
        "float32", "floor_f32({0} + 0.5)", lambda np, x: np.floor(x + np.float32(0.5))
    ),  # halves
    "abs": Mutation("int32", "{0}", lambda np, x: x),
    "subtract": Mutation("uint32", "{1} - {0}", lambda np, x, y: y - x),
    "maximum": Mutation(
        "float32", "select({1}, {0}, {0} > {1})", lambda np, x, y: np.where(x > y, x, y)
    ),  # NaN
    "floor_divide": Mutation(
        "int32",
        "(floor_divide_i32({0}, {1}) + select(0, 1, ({0} ^ {1}) < 0))",  # truncates
        lambda np, x, y: np.floor_divide(x, y) + ((x ^ y) < 0),
    ),
    "less": Mutation("int32", "{0} <= {1}", lambda np, x, y: x <= y),
    "equal": Mutation(
        "float32",
        "(bitcast<u32>({0}) == bitcast<u32>({1}))",  # NaN, -0
        lambda np, x, y: x.view(np.uint32) == y.view(np.uint32),
    ),
    "power": Mutation(
        "int32", "pow_i32(abs({0}), {1})", lambda np, x, y: np.power(np.abs(x), np.maximum(y, 0))
    ),
    "logical_xor": Mutation("bool", "{0} || {1}", lambda np, x, y: x | y),
}


def _functions(op: Any) -> Iterator[Any]:
    """Yield the functions whose closures record `op`: the registered one, and what it calls."""
    todo: list[Any] = list(functions().values())
    seen: set[int] = set()
    while todo:
        function = todo.pop()
        if id(function) in seen or not hasattr(function, "__closure__"):
            continue
        seen.add(id(function))
        todo += [
            v for n in function.__code__.co_names if callable(v := function.__globals__.get(n))
        ]
        cells = function.__closure__ or ()
        todo += [v for c in cells if callable(v := _content(c))]
        if any(_content(c) is op for c in cells):
            yield function


def _content(cell: Any) -> Any:
    """Return what a function refers to; for recipes, the function that makes them."""
    try:
        content = cell.cell_contents
    except ValueError:
        return None
    return content.make if isinstance(content, Recipes) else content


@contextmanager
def mutated(name: str, mutation: Mutation) -> Iterator[None]:
    """Replace the op by a wrong one wherever it is recorded, and restore it afterwards."""
    op: Any = functions()[name].op  # type: ignore[attr-defined]
    wrong = dataclasses.replace(op, wgsl={"*": mutation.wgsl}, numpy=mutation.numpy)
    recording = list(_functions(op))
    assert recording, f"{name}: no function records its op"

    def put(old: Any, new: Any) -> None:
        for cell in (c for f in recording for c in f.__closure__):
            if _content(cell) is old:
                cell.cell_contents = new
        forget()  # recipes with the old op

    put(op, wrong)
    try:
        yield
    finally:
        put(wrong, op)


@pytest.mark.computes
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_wrong_op_fails_its_tests(name: str, device: str, rng: np.random.Generator) -> None:
    mutation = MUTATIONS[name]
    cases = unary_cases if name in ref.UNARY else binary_cases
    with mutated(name, mutation), pytest.raises(AssertionError, match=f"^{name}, {mutation.dtype}"):
        cases(name, mutation.dtype, device, rng)
    cases(name, mutation.dtype, device, rng)


@pytest.mark.computes
@pytest.mark.parametrize("name", ["sum", "max", "argmax"])
def test_a_wrong_fold_fails_its_tests(name: str, device: str, rng: np.random.Generator) -> None:
    """The fault is a wrong identity on webgpu (as in an idle lane), and wrong values on the cpu.

    The identity is larger than every value, so that no input hides it.
    """
    from py_tensor.ops import reduction
    from tests.ops.test_reduction import test_axes

    cell = next(
        cell
        for cell in getattr(pt, name).__closure__
        if isinstance(cell.cell_contents, reduction.reduction)
    )
    defined = cell.cell_contents
    op = defined.op
    wrong = dataclasses.replace(
        op,
        identity=lambda dtype: (9 if dtype.kind != "b" else True,) * len(op.components),
        numpy=lambda np, x, axes: (
            op.numpy(np, x[..., ::-1] if name == "argmax" else x, axes) + (name != "argmax")
        ),
    )
    cell.cell_contents = dataclasses.replace(defined, op=wrong)
    try:
        with pytest.raises(AssertionError, match=f"^{name}"):
            test_axes(name, device, rng)
    finally:
        cell.cell_contents = defined
    test_axes(name, device, rng)


def test_the_public_names_are_whole_again(device: str) -> None:
    assert (pt.tensor([1, 5], device=device) < 5).tolist() == [True, False]
