"""`np.asarray` of tensors: private, writable, and with the strides of the tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.tensors.tensor import MAX_EXPORTED_BYTES
from tests.ops.compare import IN_NUMPY

pytestmark = pytest.mark.filterwarnings("ignore::py_tensor.HostCopyWarning")

as_strided = np.lib.stride_tricks.as_strided


def same(array: Any, expected: Any, what: str) -> None:
    np.testing.assert_array_equal(array, expected, what, strict=True)


DTYPES = [
    name
    for name in ("float32", "int64", "uint8", "bool", "float16", "bfloat16", "complex64")
    if name in IN_NUMPY
]
STEPS: dict[str, Callable[[np.random.Generator, Any], Callable[[Any], Any]]] = {
    "slice": lambda rng, a: _slice_of(rng, a.shape),
    "transpose": lambda rng, a: lambda x: x.T,
    "axis": lambda rng, a: lambda x: x[None],
    "reshape": lambda rng, a: lambda x: x.reshape(*x.shape[::-1], 1),
    "row": lambda rng, a: (lambda x: x[-1]) if a.ndim > 1 and len(a) else lambda x: x,
    "real": lambda rng, a: lambda x: x.real,
    "imag": lambda rng, a: (lambda x: x.imag) if a.dtype.kind == "c" else lambda x: x,
    "bits": lambda rng, a: (lambda x: x.view("uint64")) if a.dtype == "int64" else lambda x: x,
}


def _slice_of(rng: np.random.Generator, shape: tuple[int, ...]) -> Callable[[Any], Any]:
    key: list[slice] = []
    for n in shape:
        start, stop = sorted(int(i) for i in rng.integers(0, n + 1, 2))
        step = int(rng.choice([1, 1, 2, 3, -1, -2]))
        key.append(slice(start, stop, step) if step > 0 else slice(stop, start or None, step))
    return lambda x: x[tuple(key)]


def _steps(rng: np.random.Generator, a: Any) -> list[Callable[[Any], Any]]:
    steps: list[Callable[[Any], Any]] = []
    for _ in range(rng.integers(1, 4)):
        steps.append(STEPS[str(rng.choice([*STEPS]))](rng, a))
        a = steps[-1](a)
    return steps


def _extent(a: Any) -> tuple[int, int]:
    """Return the first and the last byte of the owner's memory, from the start of `a`."""
    owner = a
    while owner.base is not None:
        owner = owner.base
    start = a.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return -start, owner.nbytes - start - a.itemsize


def _walk(rng: np.random.Generator, a: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return a shape and strides that stay within the memory that `a` is a view of."""
    low, high = _extent(a)
    unit = max([abs(s) for s in a.strides if s] or [a.itemsize])
    shape, strides = [], []
    for _ in range(2):
        stride = int(rng.choice([-1, 1])) * unit
        room = high if stride > 0 else -low
        n = int(min(3, room // abs(stride))) + 1
        shape.append(n)
        strides.append(stride)
        low, high = (low, high - (n - 1) * stride) if stride > 0 else (low - (n - 1) * stride, high)
    return tuple(shape), tuple(strides)


def test_a_walk_by_strides_stays_in_the_memory(device: str, rng: np.random.Generator) -> None:
    """Views of random kinds, and what `as_strided` finds around them, are NumPy's."""
    for _ in range(60):
        dtype = str(rng.choice(DTYPES))
        a = rng.integers(0, 100, rng.integers(1, 7, rng.integers(1, 4))).astype(dtype)
        x = pt.tensor(a, dtype=dtype, device=device)
        if rng.random() < 0.5:  # a result, which is pending on the GPU
            x, a = x | x if dtype == "bool" else x + x, a | a if dtype == "bool" else a + a
        steps = _steps(rng, a)
        view, expected = x, a
        for step in steps:
            view, expected = step(view), step(expected)
        array = np.asarray(view)
        what = f"{dtype} {a.shape} {expected.shape} {expected.strides}"
        same(array, expected, what)
        if not expected.size or not expected.ndim or view.base is None:
            continue
        assert array.strides == view.strides, what
        for n, stride, of_numpy in zip(array.shape, array.strides, expected.strides, strict=True):
            assert n == 1 or stride == of_numpy, what  # an axis of one element has any stride
        assert array.flags.writeable == expected.flags.writeable, what
        shape, strides = _walk(rng, expected)
        walked = as_strided(array, shape, strides)
        same(walked, as_strided(expected, shape, strides), f"{what} by {shape} {strides}")


@pytest.mark.parametrize("shape", [(6, 4), (3, 300_000)], ids=["small", "large"])
def test_an_array_is_private(device: str, shape: tuple[int, int]) -> None:
    a = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    x = pt.tensor(a, device=device)
    arrays = [np.asarray(row) for row in x]
    again = [np.asarray(column) for column in x[:, :3].T]
    for each in (*arrays, *again, np.asarray(x[1:]), np.asarray(x), np.asarray(x.T)):
        assert each.flags.writeable
        each[...] = -1
    same(x.numpy(), a, "the tensor")
    same(np.asarray(x[1]), a[1], "an array after others were written to")
    x[1] = 7
    assert (np.asarray(x[1]) == 7).all()
    same(np.asarray(x[0]), a[0], "an array after a write to the tensor")
    with pytest.raises(ValueError, match="copy"):
        np.asarray(x[1], copy=False)


def test_rows_share_one_copy(device: str) -> None:
    x = pt.zeros((50, 4), device=device)
    first, *others = [np.asarray(row) for row in x]
    assert all(np.shares_memory(other.base, first.base) for other in others)
    assert not any(np.shares_memory(other, first) for other in others)
    assert not np.shares_memory(np.asarray(x[0]), first)


def test_few_copies_are_kept(device: str) -> None:
    """A copy is kept for the arrays that follow, not as long as its tensor lives."""

    def kept_copies() -> int:
        return sum(x._owner().exported is not None for x in tensors)

    tensors = [pt.zeros((512, 512), device=device) for _ in range(20)]
    for x in tensors:
        np.asarray(x[0])
    assert kept_copies() == 16
    pt.empty_cache()
    assert kept_copies() == 0
    x = tensors[0]
    for n in range(40):  # what is written to is not kept
        x[0] = n
        rows = [np.asarray(row) for row in x[:3]]
        assert rows[0].base is rows[2].base, n
    large = pt.zeros((3000, 3000), device=device)  # 36 MB
    rows = [np.asarray(row) for row in (large[:1000], large[1000:])]
    assert rows[0].base is rows[1].base


def test_elements_that_occur_twice(device: str) -> None:
    """They are read-only, as NumPy's, and take no memory of their own."""
    x = pt.arange(5, device=device)
    for view, expected in (
        (pt.broadcast_to(x, (10_000, 100, 5)), np.broadcast_to(np.arange(5), (10_000, 100, 5))),
        (
            pt.lib.stride_tricks.sliding_window_view(x, 3),
            np.lib.stride_tricks.sliding_window_view(np.arange(5), 3),
        ),
    ):
        array = np.asarray(view)
        same(array, expected.astype(np.int32), str(expected.shape))
        assert not array.flags.writeable


def test_a_view_of_large_memory_has_no_strides(device: str) -> None:
    """It is copied alone, and its strides would lead out of the copy."""
    n = MAX_EXPORTED_BYTES // 4
    for size, is_large in ((n, False), (n + 1, True)):
        x = pt.arange(size, device=device)
        assert x.strides == (4,)
        assert x[size // 4 - 1 :].strides == (4,)
        view = x[10:30:3]
        same(np.asarray(view), np.arange(10, 30, 3, dtype=np.int32), "a part")
        assert view.flags.c_contiguous is False
        if is_large:
            assert not hasattr(view, "strides")
            with pytest.raises(AttributeError, match=f"strides: .* 28 of the {4 * size} bytes"):
                view.strides  # noqa: B018 - it raises
        else:
            assert np.asarray(view).strides == view.strides == (12,)
        windows = pt.lib.stride_tricks.as_strided(view, (2, 2), (12, 24))
        assert windows.tolist() == [[10, 16], [13, 19]]
