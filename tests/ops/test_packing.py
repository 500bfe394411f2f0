"""Many small results at once: the same values, whichever ones share a kernel and a buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from tests.ops.compare import same

pytestmark = pytest.mark.computes

Make = Callable[[Any, list[Any]], list[Any]]
SHAPES = [(16,), (5,), (3, 5), (7, 4), (2, 3, 5), (4, 64), (1, 129), (33, 31)]
COUNTS = [2, 7, 8, 9, 15, 24, 40]
ROUNDS = 30

# Exact in every type that holds small integers.
NUMBERS: dict[str, Make] = {
    "the first for all": lambda np, xs: [xs[0] * x for x in xs],
    "the last for all": lambda np, xs: [x == xs[-1] for x in xs],
    "one by one": lambda np, xs: [x - y for x, y in zip(xs[::2], xs[1::2], strict=False)],
    "each and each": lambda np, xs: [x + y for x in xs[: 1 + len(xs) // 7] for y in xs[1:]],
    "constants": lambda np, xs: [x * n for n, x in enumerate(xs)],
    "parts": lambda np, xs: [x[..., 1:] * xs[0][..., :-1] for x in xs],
    "another type": lambda np, xs: [x.astype(np.int32) * 3 for x in xs],
    "of each other": lambda np, xs: [z for x in xs for z in (x * x, (x * x)[:1] * 2)],
}
BITS: dict[str, Make] = {
    "neighbours": lambda np, xs: [x ^ y for x, y in zip(xs, xs[1:] + xs[:1], strict=True)],
    "transposed": lambda np, xs: [xs[0].T | x.T for x in xs],
    "reversed": lambda np, xs: [x[::-1] ^ x for x in xs],
    "two results each": lambda np, xs: [y for x in xs for y in (x | xs[0], x & xs[0])],
}
FORMS = NUMBERS | BITS
DTYPES = dict.fromkeys(NUMBERS, ("float32", "int32")) | dict.fromkeys(
    BITS, ("int32", "uint32", "bool")
)


def operands(rng: np.random.Generator, count: int, dtype: str) -> list[Any]:
    """Arrays of one shape, of integers small enough for all results."""
    shape = SHAPES[rng.integers(len(SHAPES))]
    low, high = {"bool": (0, 2), "uint32": (0, 9)}.get(dtype, (-9, 9))
    return [rng.integers(low, high, shape).astype(dtype) for _ in range(count)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", COUNTS)
def test_values(form: str, count: int, rng: np.random.Generator, device: str) -> None:
    for dtype in DTYPES[form]:
        arrays = operands(rng, count, dtype)
        results = FORMS[form](pt, [pt.tensor(a, device=device) for a in arrays])
        pt.realize(*results)
        for got, expected in zip(results, FORMS[form](np, arrays), strict=True):
            same(got, expected, f"{form} of {count}, {dtype}{list(arrays[0].shape)}")


def test_values_while_others_are_created_and_dropped(rng: np.random.Generator, device: str) -> None:
    """Results that are kept retain their values, whatever reuses the memory of dropped ones."""
    live: list[tuple[str, Any, Any]] = []
    names = list(FORMS)
    for _ in range(ROUNDS):
        form = names[rng.integers(len(names))]
        dtype = DTYPES[form][rng.integers(len(DTYPES[form]))]
        arrays = operands(rng, int(rng.integers(2, 41)), dtype)
        tensors = [pt.tensor(a, device=device) for a in arrays]
        # Some operands are packed results themselves, read together with others of their pack.
        kind = arrays[0].shape, arrays[0].dtype
        alike = [n for n, (_, _, x) in enumerate(live) if (x.shape, x.dtype) == kind]
        for place, n in zip(rng.permutation(len(arrays)), rng.permutation(alike), strict=False):
            if np.abs(live[n][2]).max(initial=0) < 10:
                _, tensors[place], arrays[place] = live[n]
        results = FORMS[form](pt, tensors)
        pt.realize(*results)
        made = zip(results, FORMS[form](np, arrays), strict=True)
        live += [(f"{form}, {x.dtype}{list(x.shape)}", got, x) for got, x in made]
        del results, tensors, made
        rng.shuffle(live)
        del live[int(rng.integers(60)) :]
        for what, got, expected in live:
            same(got, expected, what)
