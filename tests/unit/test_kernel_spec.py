"""`kernel_spec.check` accepts the scheduler's kernels, and rejects those of broken passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.ir.program import Program
from py_tensor.schedule.body import Access, Accumulated, Body, Load, Mask
from py_tensor.schedule.kernel import Budget, Kernel
from py_tensor.schedule.order import make_request
from py_tensor.schedule.passes import kernels_of
from tests.unit import kernel_spec, simulate


def planned() -> tuple[list[Kernel], Program]:
    """Kernels: a product with an epilogue; its sums along rows; an elementwise one."""
    place = simulate.device(8)
    x, y = (pt.tensor(np.ones((4, 4), "float32"), device=place).realize() for _ in range(2))
    product = x @ y + 1
    results = product, product.sum(1) * 2, pt.exp(product.T) - x
    program = make_request([result._node for result in results]).program
    kernels = kernels_of(program, Budget(8), lambda kernel: False).kernels
    assert [kernel.label for kernel in kernels] == [
        "matmul_add",
        "sum_multiply",
        "exp_subtract",
    ]
    return kernels, program


def with_output(kernel: Kernel, **changes: Any) -> Kernel:
    return replace(kernel, outputs=(replace(kernel.outputs[0], **changes),))


def with_code(kernel: Kernel, *more: Any) -> Kernel:
    """Return the kernel with instructions before its row body, which are numbered anew."""
    shift = len(more)
    moved = [
        x.renumbered({n: n + shift for n in range(len(kernel.row.instructions))})
        for x in kernel.row.instructions
    ]
    return with_output(
        replace(kernel, row=Body([*more, *moved])), value=kernel.outputs[0].value + shift
    )


def reversed_body(kernel: Kernel) -> Kernel:
    body = Body(kernel.row.instructions[::-1])
    return with_output(replace(kernel, row=body), value=0)


def shifted(kernel: Kernel, by: int) -> Kernel:
    access = kernel.outputs[0].access
    return with_output(kernel, access=Access(access.strides, access.offset + by))


FLOAT = pt.float32
BROKEN: dict[str, tuple[Callable[[Kernel, Kernel, Kernel], list[Kernel]], str]] = {
    "order": (lambda a, b, c: [b, a, c], "not computed yet"),
    "lost kernel": (lambda a, b, c: [a, b], "wanted but not computed"),
    "lost operand": (lambda a, b, c: [b, c], "not computed yet"),
    "twice": (lambda a, b, c: [a, b, c, c], "computed twice"),
    "own operand": (
        lambda a, b, c: [a, b, with_output(c, slot=min(c.reads()))],
        "reads what it writes",
    ),
    "leaf": (lambda a, b, c: [with_output(a, slot=0), b, c], "reads what it writes|not computed"),
    "another slot": (
        lambda a, b, c: [a, b, with_output(c, slot=b.outputs[0].slot)],
        "not fill|stores|computed twice",
    ),
    "part": (lambda a, b, c: [a, b, replace(c, kept=(4, 3))], "not fill"),
    "outside": (lambda a, b, c: [a, b, shifted(c, 1)], "stores outside"),
    "one element": (
        lambda a, b, c: [a, b, with_output(c, access=Access((0, 1), 0))],
        "stores elements twice",
    ),
    "later value": (lambda a, b, c: [a, b, reversed_body(c)], "uses a later value"),
    "dead code": (
        lambda a, b, c: [a, b, with_code(c, Load(0, FLOAT, Access((1, 4), 0)))],
        "computed for nobody",
    ),
    "no value": (lambda a, b, c: [a, b, with_output(c, value=99)], "no such value"),
    "another space": (
        lambda a, b, c: [a, b, with_code(c, Load(0, FLOAT, Access((1,), 0)))],
        "another space",
    ),
    "mask": (lambda a, b, c: [a, b, with_code(c, Mask(((0, 0, 5),)))], "beyond the space"),
    "accumulator": (
        lambda a, b, c: [a, b, with_code(c, Accumulated(0, FLOAT))],
        "not folded yet",
    ),
    "dtype": (
        lambda a, b, c: [a, b, with_code(c, Load(0, pt.int32, Access((4, 1), 0)))],
        "another dtype",
    ),
    "slab": (lambda a, b, c: [replace(a, slab=True), b, c], "a slab for"),
}


def test_kernels_of_the_scheduler() -> None:
    kernels, program = planned()
    kernel_spec.check(kernels, program, Budget(8))


@pytest.mark.parametrize("name", BROKEN)
def test_kernels_of_a_broken_pass(name: str) -> None:
    kernels, program = planned()
    change, message = BROKEN[name]
    with pytest.raises(AssertionError, match=message):
        kernel_spec.check(change(*kernels), program, Budget(8))


def test_too_many_buffers() -> None:
    kernels, program = planned()
    with pytest.raises(AssertionError, match="too many buffers"):
        kernel_spec.check(kernels, program, Budget(2))


def test_a_pass_that_changes_kernels_in_place() -> None:
    kernels, program = planned()

    def passes() -> Any:
        yield kernels
        kernels[0].label = "another"
        yield list(kernels)

    with pytest.raises(AssertionError, match="changed a kernel"):
        kernel_spec.checked(passes(), program, Budget(8))
