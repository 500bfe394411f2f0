"""Errors about element values: as in NumPy on the cpu device, as documented on the GPU.

Also unknown values of options, which raise on both devices.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import py_tensor as pt

nan, inf = float("nan"), float("inf")
SINGULAR = [[1.0, 2.0], [2.0, 4.0]]
INDEFINITE = [[[1.0, 2.0], [2.0, 1.0]], [[2.0, 0.0], [0.0, 2.0]]]

# An expression of xp and of I and F, which make arrays; and its result on the GPU, where nothing is
# read to detect an error: a list, or None if all elements are NaN or infinite.
DATA = {
    "xp.unravel_index(I(3, 99), (3, 4))": [[0, 0], [3, 3]],
    "xp.unravel_index(I(-1), (3, 4))": [[2], [3]],
    "xp.ravel_multi_index((I(3), I(1)), (3, 4))": [13],
    "xp.ravel_multi_index((I(0, 2), I(0, -1)), (3, 4))": [0, 7],
    "xp.nanargmin(F(nan, nan))": 0,
    "xp.nanargmax(F([nan, nan], [1, 2]), axis=1)": [0, 1],
    "xp.nanargmax(F([nan, 1], [nan, 2]), axis=0)": [0, 1],
    f"xp.linalg.cholesky(F(*{INDEFINITE}))[0, 1, 1]": None,
    f"xp.linalg.inv(F(*{SINGULAR}))": None,
    f"xp.linalg.solve(F(*{SINGULAR}), F(1, 3))": None,
    f"xp.linalg.matrix_power(F(*{SINGULAR}), -2)": None,
    "xp.linalg.svdvals(F([nan, 1], [2, 3]))": None,
    "xp.linalg.svd(F([1, 2], [nan, 3]))[1]": None,
    "xp.histogram(F(1, nan))[1]": None,
    "xp.histogram(F(1, inf), bins=3)[1][1:]": None,
    "xp.histogram(F(1, 2), bins=F(2, 1, 3))[0]": ...,
    "xp.digitize(F(1, 2), F(2, 1, 3))": ...,
    "I(2, -1, 1, 0) ** I(-1, -1, -1, -1)": [0, -1, 1, 0],
    "2 ** I(1, -1)": [2, 0],
    "2 ** -xp.arange(3, dtype=xp.int32)": [1, 0, 0],
    "xp.average(F(1, 2), weights=F(0, 0))": None,
    "xp.average(F(1, 2), weights=F(1, -1))": None,
    "xp.average(F([1, 2], [3, 4]), axis=1, weights=F([1, 1], [0, 0]))[1:]": None,
}

# Valid calls close to an error, with NumPy's result on both devices.
RIGHT = """
    xp.unravel_index(I(3, 11), (3, 4))
    xp.unravel_index(I(3, 11), (3, 4), order="f")
    xp.ravel_multi_index((I(2, 0), I(3, 0)), (3, 4))
    xp.ravel_multi_index((I(9), I(9)), (3, 4), mode="clip")
    xp.nanargmin(F([nan, 2], [1, nan]), axis=1)
    xp.linalg.inv(F([1e-30, 0], [0, 1]))
    xp.linalg.cholesky(F([4, 99], [2, 5]))
    xp.histogram(F(1, nan), range=(0, 3))
    xp.histogram(F(1, 1))
    F(2, 4) ** I(-1, -2)
    I(2, 3) ** F(-1, -2)
    I(2, 3) ** I(0, 4)
    xp.average(F(1, 2), weights=F(0, 1))
    xp.median(F())
    xp.quantile(xp.ones((0, 3), dtype=xp.float32), 0.5, axis=1)
    xp.nanquantile(F(), 0.5)
    xp.bincount([])
    xp.bincount([], minlength=2)
    xp.equal(F(2), F(3), dtype=bool)
    xp.less(F(2), F(3), dtype=bool)
    xp.logical_and(F(2), F(0.5), dtype=bool)
    xp.isnan(F(2, nan), dtype=bool)
    xp.add(I(2), 1, dtype=xp.float32)
    xp.add(xp.asarray([2], dtype=xp.uint8), 3, dtype=xp.uint8)
    xp.add(F(2.5), 1, dtype=xp.float16)
    xp.add(F(2.5), 1, dtype=xp.int32, casting="unsafe")
    xp.power(F(2.5), F(2), dtype=xp.float16)
    xp.power(I(2), -1, dtype=xp.float32)
    xp.maximum(I(2), 1, dtype=xp.int8)
    xp.sum(I(1, 2), initial=2.5)
    xp.prod(I(1, 2), initial=2.5)
    xp.max(xp.asarray([1, 2], dtype=xp.int8), initial=2.7)
    xp.max(xp.asarray([False]), initial=5)
    xp.min(xp.asarray([True]), initial=0)
    xp.min(xp.asarray([], dtype=bool), initial=7)
    xp.max(F([1, 5], [2, 0]), axis=1, initial=3, where=xp.asarray([[False, True]]))
    xp.geomspace(1, -8, 4).astype(xp.float32)
    xp.geomspace(1, -8, 4, endpoint=False).astype(xp.float32)
    xp.geomspace(1, -8, 1).astype(xp.float32)
    xp.ediff1d(I(1, 2, 4), to_begin=[7, 8], to_end=9)
"""

# Errors on both devices, from shapes and options only.
WRONG = """
    xp.quantile(F(), 0.5)
    xp.percentile(xp.ones((0, 3)), [50, 20], axis=0)
    xp.sort(I(2, 1), kind="bogus")
    xp.sort(I(2, 1), kind="")
    xp.argsort(I(2, 1), kind="radix")
    I(2, 1).sort(kind="bogus")
    xp.partition(I(2, 1), 1, kind="bogus")
    xp.argpartition(I(2, 1), 1, kind="bogus")
    I(2, 1).argpartition(1, kind="bogus")
    xp.searchsorted(I(1, 2), 1, side="middle")
    xp.isin(I(1), I(2), kind="bogus")
    xp.take(I(1, 2), I(0), mode="bogus")
    xp.choose(I(0, 1), (I(1, 2), I(3, 4)), mode="bogus")
    xp.put(I(1, 2), I(0), I(5), mode="bogus")
    xp.ravel_multi_index((I(0), I(0)), (3, 4), mode="bogus")
    xp.unravel_index(I(0), (3, 4), order="K")
    xp.pad(I(1), 1, mode="bogus")
    xp.convolve(I(1, 2), I(1), mode="bogus")
    xp.correlate(I(1, 2), I(1), mode="bogus")
    xp.quantile(F(1), 0.5, method="bogus")
    xp.meshgrid(I(1), I(2), indexing="bogus")
    xp.linalg.qr(F([1]), mode="bogus")
    xp.linalg.eigh(F([1]), UPLO="bogus")
    xp.linalg.norm(F(1), ord="bogus")
    xp.fft.fft(F(1), norm="bogus")
    xp.histogram(F(1), bins="bogus")
    xp.trim_zeros(F(1), trim="bogus")
    xp.packbits(I(1), bitorder="bogus")
    xp.add(I(1), 2, casting="bogus")
    xp.add(I(1), 2, order="bogus")
    xp.negative(I(1), order="bogus")
    xp.power(I(1), 2, order="bogus")
    xp.divmod(I(1), 2, order="bogus")
    xp.hypot(F(1), 2, order="bogus")
    xp.modf(F(1), order="bogus")
    xp.matmul(F(1), F(2), order="bogus")
    xp.vecdot(F(1), F(2), order="bogus")
    xp.einsum("i->i", F(1), order="bogus")
    xp.einsum("i->i", F(1), casting="bogus")
    xp.array([1], order="bogus")
    xp.asarray([1], order="bogus")
    xp.zeros(3, order="K")
    xp.ones(3, order="bogus")
    xp.empty(3, order="A")
    xp.full(3, 1, order="bogus")
    xp.eye(3, order="bogus")
    xp.zeros_like(I(1), order="bogus")
    xp.ones_like(I(1), order="bogus")
    xp.empty_like(I(1), order="bogus")
    xp.full_like(I(1), 2, order="bogus")
    xp.copy(I(1), order="bogus")
    I(1).copy(order="bogus")
    I(1).astype(xp.float32, order="bogus")
    I(1).astype(xp.float32, casting="bogus")
    I(1).reshape(1, order="K")
    I(1).ravel(order="bogus")
    I(1).flatten(order="bogus")
    I(1).tobytes(order="bogus")
    xp.nditer(I(1), order="bogus")
    xp.concatenate([I(1)], casting="bogus")
    xp.stack([I(1)], casting="bogus")
    xp.vstack([I(1)], casting="bogus")
    xp.copyto(I(1), 3, casting="bogus")
    xp.can_cast(xp.int8, xp.int16, casting="bogus")
    xp.set_printoptions(floatmode="bogus")
    xp.cov(F([1, 2, 4]), ddof=0.5)
    xp.max(xp.asarray([1], dtype=xp.int8), initial=300)
    xp.max(I(1), initial=nan)
    xp.geomspace(0, 5, 3)
    xp.geomspace(1, 5, -3)
"""

# Requested dtypes in which an op does not compute, or to which operands cannot be converted.
REFUSED = """
    xp.equal(F(2), F(3), dtype=xp.float32)
    xp.isnan(F(2), dtype=xp.float32)
    xp.logical_and(F(2), F(3), dtype=xp.int32)
    xp.sqrt(I(2), dtype=xp.int32)
    xp.heaviside(I(2), 1, dtype=xp.int32)
    xp.add(I(2), I(3), dtype=bool)
    xp.add(I(2), I(3), dtype=xp.uint8)
    xp.add(I(2), 3, dtype=xp.uint8)
    xp.add(F(2), I(3), dtype=xp.int32)
    xp.add(2.5, I(3), dtype=xp.int32)
    xp.negative(F(2), dtype=xp.int32)
    xp.power(F(2), 2, dtype=xp.int32)
    xp.matmul(F(2), F(2), dtype=xp.int32)
    xp.divmod(F(2), 2, dtype=xp.int32)
    xp.ediff1d(xp.asarray([1, 2], dtype=xp.uint8), to_begin=I(1))
    xp.ediff1d(I(1, 2), to_end=[0.5])
    xp.sum(I(1, 2), initial=1j)
    xp.max(F(1, 2), initial=1j)
"""

# Abbreviations that NumPy accepts.
TAKEN = """
    xp.sort(I(2, 1), kind="quick")
    xp.sort(I(2, 1), kind="S")
    xp.argsort(I(2, 1), kind="mergesort")
    xp.zeros(2, dtype=xp.float32, order="f")
    xp.zeros(2, dtype=xp.float32, order=None)
    xp.array([1, 2], order="F")
    xp.asarray([1, 2], order="c")
    I([1, 2], [3, 4]).ravel(order="f")
    I([1, 2], [3, 4]).reshape(4, order="a")
    I([1, 2], [3, 4]).T.ravel("k")
"""


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


def evaluate(text: str, xp: Any) -> Any:
    def array(dtype: str) -> Any:
        return lambda *values: xp.asarray([*values], dtype=getattr(xp, dtype))

    names = {"xp": xp, "nan": nan, "inf": inf, "F": array("float32"), "I": array("int32")}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return eval(text, names)


def error_of(text: str, xp: Any) -> type[Exception]:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - only the type is tested
        evaluate(text, xp)
    return caught.type


def as_lists(found: Any) -> Any:
    return [as_lists(x) for x in found] if isinstance(found, tuple) else np.asarray(found).tolist()


@pytest.mark.parametrize("text", DATA)
def test_elements_raise_where_the_host_has_them(device: str, text: str) -> None:
    if device == "cpu":
        error = error_of(text, np)
        ours = error_of(text, pt)
        assert issubclass(ours, ValueError if error is np.linalg.LinAlgError else error), ours
        assert (ours is pt.linalg.LinAlgError) == (error is np.linalg.LinAlgError)
        return
    found = as_lists(evaluate(text, pt))
    if DATA[text] is None:
        assert not np.isfinite(found).any()
    elif DATA[text] is not ...:
        assert found == DATA[text]


@pytest.mark.parametrize("text", [*lines(RIGHT), *lines(TAKEN)])
def test_valid_calls_give_the_result(device: str, text: str) -> None:
    ours, theirs = evaluate(text, pt), evaluate(text, np)
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (ours, theirs)), strict=True):
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-6)
        dtype = np.asarray(b).dtype.name
        assert str(a.dtype) == {"int64": "int32", "float64": "float32"}.get(dtype, dtype)


@pytest.mark.parametrize("text", lines(WRONG))
def test_missing_options_raise(device: str, text: str) -> None:
    error = error_of(text, np)
    assert issubclass(error_of(text, pt), error if error is not TypeError else ValueError)


@pytest.mark.parametrize("text", lines(REFUSED))
def test_invalid_dtypes(device: str, text: str) -> None:
    assert issubclass(error_of(text, np), TypeError)
    name = text.split("(")[0].removeprefix("xp.")
    with pytest.raises(TypeError, match=rf"^({name}|floor_divide): "):
        evaluate(text, pt)


def test_errors_list_the_options(device: str) -> None:
    with pytest.raises(ValueError, match=r"^sort: kind must be 'quicksort', .*, not 'x'$"):
        pt.sort(pt.array([2, 1]), kind="x")
    with pytest.raises(ValueError, match=r"^zeros: order must be 'C' or 'F', not 'K'$"):
        pt.zeros(3, order="K")
    with pytest.raises(ValueError, match=r"^partition: kind must be 'introselect', not 'x'$"):
        pt.partition(pt.array([2, 1]), 1, kind="x")


def test_eigenvalues_of_non_finite_matrices(device: str) -> None:
    """They are computed on the host, which raises on either device."""
    for wrong in (nan, inf):
        for function in (pt.linalg.eig, pt.linalg.eigvals):
            with pytest.raises(pt.linalg.LinAlgError, match=r"^eig: .* infinities or NaN$"):
                function(pt.array([[1.0, wrong], [0.0, 1.0]]))
