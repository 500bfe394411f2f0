"""The memory of tensors: as another dtype, as bytes, in files and pickles; flags and order."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.base import dtypes
from tests.ops.compare import IN_NUMPY

Array = np.ndarray[Any, Any]


class Subclass(pt.ndarray): ...


NAMES = IN_NUMPY


def random_bytes(rng: np.random.Generator, *names: str) -> Array:
    """Return random bytes as elements of the first dtype, without NaN; only 0 and 1 for bools."""
    raw = rng.integers(0, 256, 3 * 48, dtype=np.uint8)
    if "bool" in names:
        raw %= 2
    for name in names:
        numbers = raw.view(name)
        if numbers.dtype.kind in "fc":
            numbers[:] = np.nan_to_num(numbers, nan=1.5)
        elif name == "bfloat16":
            numbers[np.isnan(numbers)] = 1.5
    return raw.view(names[0]).reshape(3, -1)


def same(x: pt.Tensor, expected: Array) -> bool:
    """Return whether all bits are equal; a GPU does not keep all bits of a float16 NaN."""
    found = x.numpy()
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return False
    if expected.dtype.name in ("float16", "bfloat16"):
        return bool((np.isnan(found) == np.isnan(expected)).all()) and bool(
            (found == expected)[~np.isnan(expected)].all()
        )
    return found.tobytes() == expected.tobytes()


@pytest.fixture
def names(device: str) -> list[str]:
    return [d.name for d in dtypes.ALL if d.name in NAMES and (device == "cpu" or d.on_gpu)]


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_view_as_another_dtype(rng: np.random.Generator, names: list[str], source: str) -> None:
    for target in names if source in names else []:
        given = random_bytes(rng, source, target)
        x = pt.asarray(given, dtype=source)
        assert same(x.view(target), given.view(target)), target
        assert same(x[1:].view(pt.dtype(target)), given[1:].view(target)), target
        empty = np.zeros((2, 0), source)
        assert pt.zeros((2, 0), dtype=source).view(target).shape == empty.view(target).shape


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_view_of_the_same_size_shares_memory(
    rng: np.random.Generator, names: list[str], source: str
) -> None:
    size = np.dtype(source).itemsize
    for target in [n for n in names if np.dtype(n).itemsize == size and source in names]:
        given = random_bytes(rng, source, target).copy()
        x = pt.array(given, dtype=source)
        there, here = given[:, ::2].view(target), x[:, ::2].view(target)
        assert here.base is x
        assert same(x.T.view(target), given.T.view(target))
        there[1], here[1] = there[0], here[0]
        there[2, :1] = here[2, :1] = 1
        assert same(x, given), target
        x[0], given[0] = x[1], given[1]
        assert same(here, there), target
        assert same(here.view(source), there.view(source)), target


def test_view_without_a_dtype() -> None:
    x = pt.arange(6).reshape(2, 3)
    for y in (x.view(), x.view(pt.ndarray), x.view(type=pt.ndarray), x.view(x.dtype)):
        y[0, 0] += 5
        assert y.base is x.base
    assert x[0, 0] == 20


def test_a_view_of_another_size_is_read_only() -> None:
    x = pt.arange(3, dtype=pt.float32)
    with pytest.raises(ValueError, match="read-only"):
        x.view(pt.uint8)[0] = 1


def test_views_of_parts_and_parts_of_views() -> None:
    given = np.array([1 + 2j, 3 - 4j], np.complex64)
    x = pt.asarray(given)
    assert x.imag.view(pt.int32).tolist() == given.imag.view(np.int32).tolist()
    assert x.view(pt.int64).view(pt.complex64).imag.tolist() == [2, -4]
    back = x.view(pt.int64)
    assert not back.view(pt.complex64).view(pt.int64).imag.flags.writeable


def test_view_of_scalars() -> None:
    assert pt.float32(1).view(pt.int32) == np.float32(1).view(np.int32)
    assert int(pt.arange(3, dtype=pt.float32)[1].view("i4")) == 0x3F800000


@pytest.mark.parametrize(
    ("view", "error", "words"),
    [
        (lambda x: x.view(2, 3), TypeError, "reshape"),
        (lambda x: x.view(type=list), TypeError, "list"),
        (lambda x: x.view(Subclass), TypeError, "type must be Tensor, not .*Subclass"),
        (lambda x: x[:, :1].view(pt.int64), pt.ShapeError, "1 elements of float32 .* int64"),
        (lambda x: x.T.view(pt.int64), ValueError, "contiguous"),
        (lambda x: pt.float32(1).view(pt.int8), pt.ShapeError, r"float32 of shape \(\).* int8"),
    ],
)
def test_views_that_are_refused(view: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=f"^view: .*{words}"):
        view(pt.ones((4, 6)))


def test_float64_is_refused_on_a_gpu(device: str) -> None:
    if device == "cpu":
        assert pt.ones(2, dtype=pt.int64).view(pt.float64).dtype is pt.float64
    else:
        with pytest.raises(pt.DTypeError, match="float64 is not available on webgpu"):
            pt.ones(2, dtype=pt.int64).view(pt.float64)


@pytest.mark.parametrize("name", NAMES)
def test_byteswap(rng: np.random.Generator, names: list[str], name: str) -> None:
    if name not in names:
        return
    given = rng.integers(0, 100, (2, 3)).astype(name)
    x = pt.array(given, dtype=name)
    if name != "bool":
        assert same(x.byteswap(), given.byteswap())
        assert same(x, given)
    assert x.byteswap(inplace=True) is x
    assert same(x.byteswap(), given)


def test_bytes(tmp_path: Path) -> None:
    x = pt.tensor([[1, 2], [3, 4]])
    assert x.data.tolist() == [[1, 2], [3, 4]]
    assert bytes(pt.tensor(1j).data) == np.complex64(1j).tobytes()
    x.tofile(tmp_path / "raw")
    assert np.fromfile(tmp_path / "raw", np.int32).tolist() == [1, 2, 3, 4]
    x.tofile(tmp_path / "text", ",", "%d")
    assert (tmp_path / "text").read_text() == "1,2,3,4"


def test_pickles(tmp_path: Path) -> None:
    x, file = pt.tensor([1.5, 2]), io.BytesIO()
    x.dump(file)
    x.dump(tmp_path / "pickle")
    for data in (x.dumps(), file.getvalue(), (tmp_path / "pickle").read_bytes()):
        assert pickle.loads(data).tolist() == [1.5, 2]


def test_setflags() -> None:
    x = pt.ones(3)
    x.setflags(write=False)
    assert not x.flags.writeable
    x.setflags(True, align=False, uic=False)
    x[0] = 2
    with pytest.raises(ValueError, match="setflags"):
        x.setflags(uic=True)


@pytest.mark.parametrize("key", [..., slice(None, None, 2), (slice(None), 0), 0])
def test_all_flags_are_numpys(key: Any) -> None:
    array = np.ones((3, 2), "f4")
    x = pt.asarray(array)
    for mine, theirs in ((x[key], array[key]), (x.T[key], array.T[key])):
        # NumPy's `farray` is true for some arrays that are not column-major.
        names = [n for n in dir(theirs.flags) if not n.startswith("_") and n != "farray"]
        for name in names:
            assert getattr(mine.flags, name) == getattr(theirs.flags, name), name
        for short in ("C", "F", "O", "W", "A", "X", "B", "CA", "FNC", "FORC", "CONTIGUOUS"):
            assert mine.flags[short] == theirs.flags[short], short
        assert str(mine.flags).split() == str(theirs.flags).split()


def test_flags_by_key() -> None:
    tensors: list[Any] = [pt.ones(3), np.ones(3)]
    for x in tensors:
        same, other = x.copy(), x.copy()
        other.flags["W"] = False
        other.flags["A"] = True
        assert not other.flags.writeable
        assert x.flags == same.flags
        assert x.flags != other.flags
        for wrong in ("c_contiguous", "NUM", "Q"):
            with pytest.raises(KeyError):
                _ = x.flags[wrong]
        for fixed in ("C", "O", "B", "CARRAY"):
            with pytest.raises(KeyError):
                x.flags[fixed] = True
        for name in ("behaved", "c_contiguous", "num"):
            with pytest.raises(AttributeError):
                setattr(x.flags, name, True)


def test_isfortran() -> None:
    x = pt.ones((2, 3))
    assert [pt.isfortran(y) for y in (x, x.T, x[0], pt.tensor(1))] == [False, True, False, False]


ORDERED: dict[str, Callable[[Any, Any, str], Any]] = {
    "ravel": lambda np, a, order: a.ravel(order),
    "flatten": lambda np, a, order: a.flatten(order),
    "reshape": lambda np, a, order: a.reshape(-1, 2, order=order),
    "copy": lambda np, a, order: a.copy(order),
    "pt.copy": lambda np, a, order: np.copy(a, order),
    "array": lambda np, a, order: np.array(a, order=order),
    "asarray": lambda np, a, order: np.asarray(a, order=order),
    "astype": lambda np, a, order: a.astype("int32", order),
    "zeros_like": lambda np, a, order: np.zeros_like(a, order=order),
}
LYING: dict[str, Callable[[Any, Any], Any]] = {
    "rows": lambda np, a: a,
    "columns": lambda np, a: np.asfortranarray(a),
    "transposed": lambda np, a: a.T,
    "every second": lambda np, a: a[:, ::2],
    "backwards": lambda np, a: a[::-1],
    "swapped": lambda np, a: a.swapaxes(0, 1),
    "one row": lambda np, a: a[:1, :1],
    "broadcast": lambda np, a: np.broadcast_to(a[0, 0], (3, 4)),
    "none": lambda np, a: a[:0],
}


@pytest.mark.parametrize("lying", LYING)
@pytest.mark.parametrize("name", ORDERED)
def test_orders_of_memory(name: str, lying: str, device: str) -> None:
    """Elements are NumPy's for each order, and so are the flags for the documented orders."""
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = LYING[lying](pt, pt.tensor(array, device=device))
    a = LYING[lying](np, array)
    for order in "CFAK" if name != "reshape" else "CFA":
        if name == "reshape" and not a.size:
            continue
        got, expected = ORDERED[name](pt, x, order), ORDERED[name](np, a, order)
        np.testing.assert_array_equal(got.numpy(), expected, f"{lying} by {order}")
        if order in "CF":
            flags, theirs = got.flags, expected.flags
            assert flags.c_contiguous == theirs.c_contiguous, order
            assert flags.f_contiguous == theirs.f_contiguous, order
        for flag, strides in (("c", got.strides), ("f", got.strides[::-1])):
            sizes = got.shape if flag == "c" else got.shape[::-1]
            step, is_contiguous = got.itemsize, True
            for n, stride in zip(reversed(sizes), reversed(strides), strict=True):
                is_contiguous &= n == 1 or stride == step
                step *= n
            assert getattr(got.flags, f"{flag}_contiguous") == (is_contiguous or not got.size)


def test_writing_by_columns(device: str) -> None:
    """A column-major copy is a separate view, independent of its source."""
    x = pt.tensor([[1.0, 2, 3], [4, 5, 6]], device=device)
    y = pt.asfortranarray(x)
    y[0, 1] = 9
    y += 1
    assert x.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert y.tolist() == [[2, 10, 4], [5, 6, 7]]
    assert y.flags.f_contiguous
    with pytest.raises(ValueError, match=r"^copy: order must be .*'X'"):
        x.copy("X")
    with pytest.raises(ValueError, match=r"^asarray: cannot change .* order F without a copy"):
        pt.asarray(x, order="F", copy=False)
