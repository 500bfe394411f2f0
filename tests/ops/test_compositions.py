"""Functions that are made of other ops, beside NumPy's, on random operands and at the edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from tests.ops.compositions import CALLS

Array = np.ndarray[Any, Any]
NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32"}
OF_NUMBERS = {*("convolve", "correlate", "cross", "diff", "ediff1d", "einsum", "inner", "kron")}
OF_NUMBERS |= {"tensordot", "vdot", "nan_to_num"}
"""Functions that take no bools with us."""
OF_INTEGERS = ("ix_", "ravel_multi_index", "unravel_index")
"""Functions of integers, which NaN and infinities are not."""
SKIPPED = {
    *((name, "bool") for name in (*OF_NUMBERS, "conjugate", "logaddexp", "logaddexp2")),
    *((name, "uint32") for name in ("vander", "diff")),
    *((name, kind) for name in OF_INTEGERS for kind in ("NaN and infinities", "a row of NaN")),
    *((name, "nothing") for name in ("nanpercentile", "nanquantile")),
}
"""What gives another dtype, or raises: NumPy widens uint32 to int64, and has 8 and 16 bits for
bools. Of nothing its quantiles lack the axes of the shares.
"""
SINGLE = {"nan_to_num"}
"""Functions whose result depends on the precision of the operand."""


def operands(rng: np.random.Generator) -> dict[str, Array]:
    special = rng.standard_normal((3, 4)).astype(np.float32)
    special[0, 1], special[1, 2], special[2, :2] = np.nan, -0.0, (np.inf, -np.inf)
    return {
        "random": rng.standard_normal((3, 4)).astype(np.float32),
        "of few values": rng.integers(-1, 3, (3, 4)).astype(np.float32) / 2,
        "NaN and infinities": special,
        "a row of NaN": np.where(np.arange(3)[:, None] == 1, np.nan, special).astype(np.float32),
        "int32": rng.integers(-3, 4, (3, 4)).astype(np.int32),
        "uint32": rng.integers(0, 4, (3, 4)).astype(np.uint32),
        "bool": rng.random((3, 4)) < 0.5,
        "transposed": rng.standard_normal((4, 3)).astype(np.float32).T,
        "one element": rng.standard_normal((1, 1)).astype(np.float32),
        "nothing": np.zeros((0, 4), np.float32),
    }


def compare(mine: Any, numpys: Any, what: str) -> None:
    if isinstance(numpys, list | tuple):
        assert isinstance(mine, list | tuple), what
        assert len(mine) == len(numpys), what
        for number, pair in enumerate(zip(mine, numpys, strict=True)):
            compare(*pair, f"{what}, part {number}")
        return
    expected = np.asarray(numpys)
    assert isinstance(mine, pt.Tensor), what
    assert mine.shape == expected.shape, f"{what}: shape {mine.shape}, not {expected.shape}"
    dtype = expected.dtype.name
    if dtype != "int64" or str(mine.dtype) != "uint32":  # with a number, which is weak with us
        assert str(mine.dtype) == NARROW.get(dtype, dtype), f"{what}: {mine.dtype}, not {dtype}"
    np.testing.assert_allclose(mine.numpy(), expected, 2e-5, 2e-5, err_msg=what)


def widened(array: Array) -> Array:
    """In the precision of the reference, and laid out as the operand is."""
    wide = {"f": np.float64, "i": np.int64}.get(array.dtype.kind, array.dtype)
    return array.astype(wide, order="K")


def has_a_dtype(call: Callable[[], object]) -> bool:
    """Whether the operands have a common dtype, which int32 beside uint32 have not."""
    try:
        call()
    except pt.DTypeError as error:
        return "no common 32-bit type" not in str(error)
    return True


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_beside_numpy(name: str, device: str, rng: np.random.Generator) -> None:
    ran = 0
    for kind, array in operands(rng).items():
        x = pt.tensor(array, device=device)
        for number, call in enumerate(CALLS[name]):
            what = f"{name} {number} of {kind}"
            try:
                with np.errstate(all="ignore"):
                    expected = call(np, array if name in SINGLE else widened(array))
            except (ValueError, TypeError, IndexError, ArithmeticError, RuntimeError):
                continue
            if (name, kind) in SKIPPED:
                continue
            ran += 1
            if kind == "uint32" and not has_a_dtype(lambda call=call, x=x: call(pt, x)):
                continue
            compare(call(pt, x), expected, what)
    assert ran


@pytest.mark.computes
def test_quantiles_at_whole_places(device: str) -> None:
    """Each is an element, and the same one as NumPy's, wherever a share falls."""
    shares = [k / 20 for k in range(21)]
    for n in (1, 2, 3, 6, 59):
        array = np.arange(n, dtype=np.float32)
        x = pt.tensor(array, device=device)
        for method in ("lower", "higher", "nearest"):
            got = pt.quantile(x, shares, method=method)
            expected = np.quantile(array.astype(np.float64), shares, method=method)
            compare(got, expected, f"{n} elements, {method}")
