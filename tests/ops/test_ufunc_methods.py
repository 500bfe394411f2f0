"""The methods of elementwise functions: `reduce`, `accumulate`, `reduceat`, `outer` and `at`.

The reference calls NumPy's function once per element, in order, because NumPy's own `reduce` of
`arctan2` is wrong on some processors.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from tests.ops.operands import Few

Array = np.ndarray[Any, Any]
DTYPES = ("bool", "int8", "uint8", "int32", "uint32", "int64", "float16", "float32", "complex64")
OF_TWO = sorted(
    name
    for name in dir(np)
    if isinstance(f := getattr(np, name), np.ufunc)
    and (f.nin, f.nout, f.signature, f.__name__) == (2, 1, None, name)
)
OF_ONE = sorted(
    name
    for name in dir(np)
    if isinstance(f := getattr(np, name), np.ufunc)
    and (f.nin, f.nout, f.__name__) == (1, 1, name)
    and hasattr(pt, name)
)
NATURAL = {"left_shift", "power", "float_power", "right_shift"}
STEEP = {"floor_divide", "float_power", "fmod", "power", "remainder"}
"""Functions for which a small change of an operand may change the result much."""
SHAPES = ((3, 4), (0,), (5,), (1,), (4, 1), (0, 3), (3, 0))
Call = tuple[str, Any, Any]


def values(name: str, dtype: str, shape: Any, rng: np.random.Generator) -> Array:
    if dtype.startswith(("f", "c")):
        x = rng.standard_normal(shape)
        x = x + 1j * rng.standard_normal(shape) if dtype == "complex64" else x
        return (abs(x) if name in NATURAL else x).astype(dtype)
    low = 0 if dtype == "bool" or dtype.startswith("u") or name in NATURAL else -3
    return rng.integers(low, 4, shape).astype(dtype)


def wide(x: Array) -> Array:
    """Converted to a 64-bit dtype if computed with rounding."""
    return x.astype({"f": "float64", "c": "complex128"}.get(x.dtype.kind, x.dtype))


def folded(f: Any, x: Array, dtype: Any, axis: int, start: Any = None, where: Any = True) -> Array:
    """Return all partial results along an axis, in order."""
    rows = np.moveaxis(x.astype(dtype), axis, 0)
    masks = np.moveaxis(np.broadcast_to(where, x.shape), axis, 0)
    y = None if start is None else np.full(rows.shape[1:], start, dtype)
    found: list[Array] = []
    for row, mask in zip(rows, masks, strict=True):
        y = row if y is None else np.where(mask, f(y, row), y)
        found.append(np.asarray(y).astype(dtype))
    if not found:
        assert y is not None
        found.append(y)
    return np.moveaxis(np.stack(found), 0, axis)


def reference(name: str, x: Array) -> tuple[Any, Any] | None:
    """NumPy's function and its accumulator dtype, with wider floats; None if it has no folds."""
    f: Any = getattr(np, name)
    if name.startswith("logical"):
        return f, np.dtype(bool)
    one = np.ones(1, x.dtype)
    try:
        result = f(one, one).dtype
        if x.dtype == bool and result.kind == "i":
            return f, result
        if result.kind != x.dtype.kind and result.kind != "f":
            raise TypeError(name)
    except TypeError:
        return None
    if result.kind in "fc" and name != "nextafter":
        return f, np.dtype("complex128" if result.kind == "c" else "float64")
    return f, np.dtype("float32") if result.kind == "f" else x.dtype


def test_functions_without_folds(device: str) -> None:
    """Functions whose result has another dtype, such as comparisons, or with no result."""
    for name in OF_TWO:
        for dtype in DTYPES:
            if name == "ldexp" or reference(name, np.ones(1, dtype)) is None:
                x = pt.ones(3, dtype, device=device)
                for method in ("reduce", "accumulate"):
                    with pytest.raises(pt.DTypeError, match=f"^{name}.{method}: "):
                        getattr(getattr(pt, name), method)(x)


def compare(got: pt.Tensor, expected: Array, call: str) -> None:
    mine = got.numpy()
    assert mine.shape == expected.shape, call
    if mine.dtype.kind not in "fc":
        np.testing.assert_array_equal(mine, expected.astype(mine.dtype), call)
        return
    tolerance = 1e-2 if mine.dtype == np.float16 else 2e-5
    with np.errstate(over="ignore"):
        expected = expected.astype(mine.dtype)
    np.testing.assert_allclose(mine, expected, tolerance, tolerance, err_msg=call)


def calls(name: str, dtype: str, rng: np.random.Generator, device: str, few: Few) -> Iterator[Call]:
    """Yield calls as text, their results, and the expected results."""
    ours: Any = getattr(pt, name)
    first, *others = SHAPES if dtype in ("bool", "int32", "float32") else SHAPES[:2]
    for shape in (first, *few(others, 1)):
        x = values(name, dtype, shape, rng)
        t = pt.tensor(x, dtype=dtype, device=device)
        found = reference(name, x)
        assert found is not None
        f, inside = found
        if name in ("add", "multiply") and x.dtype.kind in "biu":
            inside = np.dtype("int64")
        identity: Any = f.identity
        if name == "bitwise_and":
            identity = np.array(-1).astype(inside)
        mask = rng.integers(0, 2, shape) > 0
        m = pt.tensor(mask, device=device)
        for axis in few(range(len(shape)), 1):
            of = f"of {dtype} {shape} along {axis}"
            start = identity if not x.shape[axis] or x.shape[axis] == 1 else None
            last = (slice(None),) * axis + (slice(-1, None),)
            if not x.shape[axis] and start is None:
                with pytest.raises(ValueError, match=f"^{name}(.reduce)?: |^m..: |no elements"):
                    ours.reduce(t, axis)
            else:
                expected = folded(f, x, inside, axis, start)[last]
                yield f"reduce {of}", ours.reduce(t, axis, keepdims=True), expected
                yield f"reduce {of}", ours.reduce(t, axis), expected.squeeze(axis)
            if x.shape[axis]:
                yield f"accumulate {of}", ours.accumulate(t, axis), folded(f, x, inside, axis)
            initial = 1 if dtype == "bool" or name.startswith("logical") else 2
            expected = folded(f, x, inside, axis, initial)[last].squeeze(axis)
            yield f"initial {of}", ours.reduce(t, axis, initial=initial), expected
            expected = folded(f, x, inside, axis, initial, mask)[last].squeeze(axis)
            yield f"where {of}", ours.reduce(t, axis, initial=initial, where=m), expected
            if x.shape[axis] > 2:
                ends = [0, 2, 1, 1, 2, 0]
                parts = [
                    folded(f, np.take(x, range(i, j if i < j else i + 1), axis), inside, axis)[last]
                    for i, j in zip(ends, (*ends[1:], x.shape[axis]), strict=True)
                ]
                yield f"reduceat {of}", ours.reduceat(t, ends, axis), np.concatenate(parts, axis)
        if x.size:
            y = x.astype(inside)
            yield f"outer of {dtype} {shape}", ours.outer(t, t), f.outer(y, y)


FOLDED = [
    (name, dtype)
    for name in OF_TWO
    for dtype in DTYPES
    if name != "ldexp" and reference(name, np.ones(1, dtype)) is not None
    if not (dtype == "float16" and name in STEEP)
]


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "dtype"), FOLDED)
def test_folds(name: str, dtype: str, device: str, few: Few, rng: np.random.Generator) -> None:
    for call, got, expected in calls(name, dtype, rng, device, few):
        compare(got, expected, f"{name}.{call}")


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in OF_TWO if name != "ldexp"])
def test_at(name: str, device: str, few: Few, rng: np.random.Generator) -> None:
    """Each element is changed as often as it is indexed, in order, as in NumPy."""
    ours, theirs = getattr(pt, name), getattr(np, name)
    for dtype in ("bool", "uint8", "int32", "float32"):
        if reference(name, np.ones(1, dtype)) is None and not name.endswith(("equal", "er", "ess")):
            continue
        if dtype != "float32" and theirs(*np.ones((2, 1), dtype)).dtype.kind == "f":
            continue  # conversion to integers depends on rounding
        cases = (
            (6, rng.integers(-6, 6, 9)),
            (1, np.zeros(5, int)),
            (5, slice(1, 4)),
            (4, rng.integers(0, 2, 4) > 0),
            (3, 2),
            (7, np.array([6, 0, 3])),
            (4, np.zeros(0, int)),
        )
        for n, indices in few(cases, 2):
            x = values(name, dtype, n, rng)
            count = x[indices].shape
            y = values(name, dtype, count, rng)
            got = pt.tensor(x, dtype=dtype, device=device)
            key = pt.tensor(indices, device=device) if isinstance(indices, np.ndarray) else indices
            ours.at(got, key, pt.tensor(y, dtype=dtype, device=device))
            expected = wide(x) if name != "nextafter" else x.copy()
            theirs.at(expected, indices, wide(y) if name != "nextafter" else y)
            compare(got, expected, f"{name}.at of {dtype}, {indices}")


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OF_ONE)
def test_at_of_one_operand(name: str, device: str, rng: np.random.Generator) -> None:
    x = rng.uniform(0.1, 0.5, 6).astype(np.float32)
    if name in ("bitwise_count", "invert"):
        x = values(name, "int32", 6, rng)
    indices = np.array([1, 4, 1, 0, 1])
    got = pt.tensor(x, device=device)
    getattr(pt, name).at(got, pt.tensor(indices, device=device))
    expected = wide(x) if name not in ("spacing",) else x.copy()
    getattr(np, name).at(expected, indices)
    compare(got, expected, name)


@pytest.mark.computes
def test_at_of_views_and_of_several_axes(device: str, rng: np.random.Generator) -> None:
    x = rng.integers(1, 9, (4, 5)).astype(np.int32)
    rows, columns = np.array([0, 3, 0, 0]), np.array([1, 1, 1, 2])
    ours: Any = pt
    got, expected = pt.tensor(x, device=device), x.copy()
    for library, y, i, j in (
        (ours, got, rows.tolist(), columns.tolist()),
        (np, expected, rows, columns),
    ):
        library.multiply.at(y, (i, j), 3)
        library.bitwise_xor.at(y.T, i, 5)
        library.negative.at(y[1:], i[:1])
    compare(got, expected, "views")
    with pytest.raises(IndexError):
        ours.multiply.at(got, [7], 2)


@pytest.mark.computes
def test_options_of_reduce(device: str, rng: np.random.Generator) -> None:
    x = rng.integers(0, 9, (3, 4, 5)).astype(np.int32)
    t = pt.tensor(x, device=device)
    ours: Any = pt
    for axes in (None, (0, 2), (1, 2), (2, 0), ()):
        for name in ("bitwise_or", "gcd", "fmax", "logical_xor", "maximum", "add"):
            got = getattr(ours, name).reduce(t, axis=axes)
            compare(got, np.asarray(getattr(np, name).reduce(x, axis=axes)), f"{name} over {axes}")
    got = ours.hypot.reduce(t, 1, "float32")
    compare(got, np.hypot.reduce(x, 1), "dtype")
    compare(ours.maximum.reduce(t, 0, "float32"), x.max(0).astype("f4"), "dtype of maxima")
    compare(ours.subtract.reduce(pt.tensor(5, device=device)), np.array(5), "0-d")
    out = pt.zeros((4, 5), "int64", device=device)
    assert ours.bitwise_and.reduce(t, out=out) is out
    compare(out, np.bitwise_and.reduce(x), "out")
    out = pt.zeros((3, 4, 5), "int32", device=device)
    ours.lcm.accumulate(t + 1, 1, out=out)
    compare(out, np.lcm.accumulate(x + 1, 1), "out")
    out = pt.zeros((4, 5), "int32", device=device)
    ours.hypot.reduce(t, out=out)
    assert (np.abs(out.numpy() - np.hypot.reduce(x.astype("f8"))) <= 1).all()  # truncated


@pytest.mark.computes
def test_long_folds(device: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal(5003).astype(np.float32)
    t = pt.tensor(x, device=device)
    ours: Any = pt
    compare(ours.logaddexp.reduce(t), np.logaddexp.reduce(x.astype("f8")), "logaddexp")
    compare(ours.hypot.reduce(t), np.sqrt(np.square(x.astype("f8")).sum()), "hypot")
    compare(ours.fmin.accumulate(t), np.fmin.accumulate(x), "fmin")
    signed = rng.standard_normal(70_001).astype(np.float32)
    signed[0] = 3
    s = pt.tensor(signed, device=device)  # longer than one kernel processes
    compare(ours.copysign.accumulate(s), np.copysign.accumulate(signed), "copysign")
    compare(ours.copysign.reduce(s), np.copysign(np.float32(3), signed[-1]), "last of copysign")
    bits = rng.integers(0, 2**31, 70_001).astype(np.int32)
    compare(
        ours.bitwise_xor.reduce(pt.tensor(bits, device=device)), np.bitwise_xor.reduce(bits), "xor"
    )
    got = ours.bitwise_or.accumulate(pt.tensor(bits & 0x11111, device=device))
    compare(got, np.bitwise_or.accumulate(bits & 0x11111), "or")


@pytest.mark.computes
def test_edge_values_of_folds(device: str) -> None:
    nan, inf = np.nan, np.inf
    ours: Any = pt
    for row in ([nan, 1, nan, -2], [nan, nan], [inf, -inf, 1], [-inf, -inf], [-0.0, 0.0], [-0.0]):
        x = np.array(row, np.float32)
        t = pt.tensor(x, device=device)
        for name in ("fmax", "fmin", "logaddexp", "logaddexp2", "hypot", "subtract", "divide"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = getattr(np, name).reduce(x)
                running = getattr(np, name).accumulate(x)
            compare(getattr(ours, name).reduce(t), expected, f"{name} of {row}")
            compare(getattr(ours, name).accumulate(t), running, f"running {name} of {row}")


def test_attributes() -> None:
    ours: Any = pt
    for name in (
        *OF_ONE,
        *OF_TWO,
        "divmod",
        "modf",
        "frexp",
        "matmul",
        "vecdot",
        "matvec",
        "vecmat",
    ):
        f, theirs = getattr(ours, name), getattr(np, name)
        for attribute in ("nin", "nout", "nargs", "identity", "signature"):
            assert getattr(f, attribute) == getattr(theirs, attribute), f"{name}.{attribute}"
        assert all(
            callable(getattr(f, method)) for method in ("reduce", "accumulate", "outer", "at")
        )
    assert ours.add.types[:3] == ["??->?", "BB->B", "bb->b"]
    assert ours.less.ntypes == len(ours.less.types)
    assert "ff->f" in ours.arctan2.types
    assert "ii->i" not in ours.arctan2.types
    assert ours.modf.types == ["e->ee", "f->ff", "d->dd"]
