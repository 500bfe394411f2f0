"""Writes: assignment by every kind of key, in-place operators, out, where, initial, put."""

from __future__ import annotations

import itertools
import math
import operator
import warnings
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.backends.kinds import CPU_DEVICE
from tests.ops import references as ref
from tests.ops.compare import same
from tests.ops.operands import Few, pool

Array = np.ndarray[Any, Any]
SHAPE = (4, 5, 6)


class Mask:
    """A key made from the operand's own shape: a mask over some of its axes, or integers."""

    def __init__(self, make: Callable[[np.random.Generator], Array]) -> None:
        self.make = make


def mask(*shape: int, share: float = 0.4) -> Mask:
    return Mask(lambda rng: rng.random(shape) < share)


def integers(n: int, *shape: int) -> Mask:
    return Mask(lambda rng: rng.integers(-n, n, shape).astype(np.int32))


ALL = slice(None)
KEYS: dict[str, Any] = {
    "all": ...,
    "no index": (),
    "an int": 2,
    "a negative int": (-1, -2),
    "an element": (1, 2, 3),
    "a slice": slice(1, 3),
    "a slice with a step": (ALL, slice(None, None, 2), slice(1, None, 3)),
    "reversed": (slice(None, None, -1), slice(3, None, -2)),
    "nothing": slice(9, None),
    "nothing in the middle": (1, slice(2, 2)),
    "an ellipsis and an int": (..., 1),
    "new axes": (None, 1, None, slice(2)),
    "most": (slice(1, None), slice(4)),
    "a mask": mask(*SHAPE),
    "a mask of nothing": mask(*SHAPE, share=0),
    "a mask of all": mask(*SHAPE, share=2),
    "a mask of rows": mask(4),
    "a mask of two axes": mask(4, 5),
    "a mask of the last axes": (ALL, mask(5, 6)),
    "a mask of the last axis": (..., mask(6)),
    "a mask and an int": (mask(4), 1),
    "a mask and a slice": (mask(4), slice(1, None, 2)),
    "a mask and integers": (Mask(lambda rng: np.array([True, False, True, False])), [1, 3]),
    "a mask and a new axis": (None, mask(4, 5)),
    "a mask of nothing, and integers out of range": (mask(4, share=0), [9]),
    "False, and integers out of range": ([9], False),
    "True": True,
    "False": False,
    "True and a slice": (True, slice(2)),
    "True and an int": (1, True, slice(2)),
    "a list": [2, 0, -1],
    "a list with a bool among integers": [2, True, 0],
    "nested lists with bools": ([[3, 2], [True, False]], slice(2)),
    "a list of nothing": [],
    "lists": ([2, 0], [1, -1]),
    "lists that broadcast": ([[2], [0]], [1, -1, 3]),
    "three lists": ([2, 0], [1, 1], [5, 4]),
    "a tuple of integers": ((1, 0),),
    "a range": range(1, 4, 2),
    "integers": integers(4, 3),
    "integers of two axes": integers(4, 2, 3),
    "one integer": integers(4),
    "integers of the last axis": (..., integers(6, 3)),
    "integers of the middle": (ALL, integers(5, 2, 2)),
    "integers beside a slice": (integers(4, 3), slice(1, 4)),
    "integers apart": (integers(4, 3), ALL, integers(6, 3)),
    "integers together behind": (ALL, integers(5, 3), integers(6, 3)),
    "integers and an int": (integers(4, 3), 1),
    "an int and integers": (1, integers(5, 3)),
    "an int apart from integers": (1, ALL, integers(6, 3)),
    "integers, a new axis, integers": (integers(4, 3), None, integers(5, 3)),
    "a new axis before integers": (None, integers(4, 3)),
    "integers and an ellipsis": (integers(4, 3), ..., integers(6, 3)),
    "integers and one integer": (integers(4, 3), integers(5)),
    "a slice with a step and integers": (slice(None, None, -2), integers(5, 2)),
}


def made(key: Any, rng: np.random.Generator) -> Any:
    if isinstance(key, tuple):
        return tuple(made(k, rng) for k in key)
    return key.make(rng) if isinstance(key, Mask) else key


def given(key: Any, device: str, as_tensors: bool) -> Any:
    """Return the key for a tensor: arrays in it become tensors, or stay arrays."""
    if isinstance(key, tuple):
        return tuple(given(k, device, as_tensors) for k in key)
    return pt.tensor(key, device=device) if as_tensors and isinstance(key, np.ndarray) else key


def values_for(array: Array, key: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Values that can be assigned: numbers, lists, arrays, broadcast shapes, other dtypes."""
    shape = array[key].shape
    kind = array.dtype.kind
    numbers: dict[str, Any] = {"an int": 1, "a bool": True}
    if kind == "f":
        numbers |= {"a float": -0.5, "NaN": float("nan")}
    whole = rng.integers(0, 2, shape)
    found = {
        **numbers,
        "an array": whole.astype(array.dtype),
        "an array of other numbers": whole.astype("int32" if kind != "i" else "uint32"),
        "0-d": np.asarray(1, array.dtype),
    }
    if shape and not (isinstance(key, np.ndarray) and key.dtype == bool):
        found["one, with more axes"] = np.ones((1,) * (len(shape) + 1), array.dtype)
        found["what broadcasts"] = whole[..., :1].astype(array.dtype)
    if shape and whole.size:
        found["a list"] = whole.tolist()
        found["a row"] = whole[(0,) * (len(shape) - 1)].astype(array.dtype)
    return found


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ref.ANY_DTYPES)
def test_each_key(dtype: str, device: str, few: Few, rng: np.random.Generator) -> None:
    """Each key is read, and every kind of value is assigned to it."""
    for n, (name, pattern) in enumerate(KEYS.items()):
        key = made(pattern, rng)
        array = rng.choice(pool(dtype, rng), SHAPE)
        ours = given(key, device, as_tensors=n % 2 == 0)
        x = pt.tensor(array, dtype=array.dtype, device=device)
        same(x[ours], array[key], f"x[{name}] of {dtype}")
        options = list(values_for(array, key, rng).items())
        # On a GPU, every key with a few kinds of values, so that every kind occurs.
        turned = [options[(n + i) % len(options)] for i in range(3)]
        for kind, value in options if device == "cpu" else few(turned, 1):
            x, a = pt.tensor(array, dtype=array.dtype, device=device), array.copy()
            view, kept, before = x.reshape(-1)[1::2], pt.logical_not(x), np.logical_not(a)
            as_tensor = isinstance(value, np.ndarray) and rng.random() < 0.5
            x[ours] = pt.tensor(value, device=device) if as_tensor else value
            a[key] = value
            what = f"x[{name}] of {dtype} = {kind}"
            same(x, a, what)
            same(view, a.reshape(-1)[1::2], f"a view after {what}")
            if kind == "an array":
                same(kept, before, f"what was computed before {what}")


@pytest.mark.computes
def test_each_layout(device: str, rng: np.random.Generator) -> None:
    """Writes through views of any strides, by keys of any kind."""
    views: dict[str, Callable[[Any], Any]] = {
        "a transpose": lambda a: a.transpose(2, 1, 0),
        "a window": lambda a: a[1:, 1:4, 2:],
        "reversed": lambda a: a[::-1, :, ::-1],
        "every second": lambda a: a[::2, ::-2],
        "a row": lambda a: a[1],
        "a column": lambda a: a[:, 2, 1],
        "a diagonal": lambda a: a.reshape(-1)[::31],
        "0-d": lambda a: a[1, 2, 3, ...],
        "nothing": lambda a: a[:0],
    }
    keys: dict[str, Callable[[Array, Any], Any]] = {
        "all": lambda a, module: ...,
        "a mask": lambda a, module: module.asarray(a) % 2 == 0,
        "a slice": lambda a, module: slice(1, None, 2),
        "a list": lambda a, module: [0, -1],
        "new axes": lambda a, module: (..., None),
    }
    for name, make in views.items():
        for kind, key_of in keys.items():
            array = rng.permutation(120).reshape(SHAPE).astype(np.int32)
            x, a = pt.tensor(array, dtype=array.dtype, device=device), array.copy()
            v, w = make(x), make(a)
            if not w.ndim and kind in ("a slice", "a list"):
                continue
            if not w.size and kind == "a list":
                continue
            key = key_of(w, np)
            ours: Any = pt.tensor(key, device=device) if kind == "a mask" else key
            value = w[key] * 3 + 1
            v[ours] = v[ours] * 3 + 1
            w[key] = value
            same(x, a, f"{name} by {kind}")
            v[ours] -= 7
            w[key] -= 7
            same(x, a, f"{name} by {kind}, in place")


@pytest.mark.computes
def test_repeated_integers(device: str, rng: np.random.Generator) -> None:
    """The last of several values for one place wins; in-place operators apply once."""
    at = np.array([1, 3, 1, 1, -1], np.int32)
    for indices in (at.tolist(), at, pt.tensor(at, device=device)):
        x, a = pt.zeros(5, pt.int32, device=device), np.zeros(5, np.int32)
        x[indices] = np.arange(5)
        a[at] = np.arange(5)
        same(x, a, "the last counts")
        x[indices] += 1
        a[at] += 1
        same(x, a, "once each")
    n = 3000
    many = rng.integers(0, 50, n).astype(np.int32)
    x, a = pt.zeros((50, 2), pt.int32, device=device), np.zeros((50, 2), np.int32)
    x[pt.tensor(many, device=device), 1] = pt.arange(n, device=device)
    a[many, 1] = np.arange(n)
    same(x, a, "many")


# name -> the key that is written to, and the value, from the same memory
OVERLAPS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "up": (slice(1, None), lambda x: x[:-1]),
    "down": (slice(None, -1), lambda x: x[1:]),
    "reversed": (..., lambda x: x[::-1]),
    "half reversed": (slice(None, 20), lambda x: x[19::-1]),
    "spread": (slice(None, None, 2), lambda x: x[: (len(x) + 1) // 2]),
    "gathered": (slice(None, 20), lambda x: x[1::2][:20]),
    "one element": (..., lambda x: x[3]),
    "one element, 0-d": (..., lambda x: x[3, ...]),
    "by its own order": (..., lambda x: x[x.argsort()]),
    "a sum of both": (slice(2, None), lambda x: x[2:] + x[:-2]),
}


@pytest.mark.computes
def test_overlapping_operands(device: str, rng: np.random.Generator) -> None:
    """The result is as if the value were copied first; NumPy 2.4 does so in most cases."""
    for name, (key, value_of) in OVERLAPS.items():
        for n in (41, 3000):
            array = rng.permutation(n).astype(np.int32)
            x, a = pt.tensor(array, dtype=array.dtype, device=device), array.copy()
            x[key] = value_of(x)
            a[key] = np.array(value_of(a))
            same(x, a, f"{name}, {n}")
            if key is ...:
                continue
            x[key] += value_of(x)
            a[key] += np.array(value_of(a))
            same(x, a, f"{name} added, {n}")
    array = rng.integers(-9, 9, (70, 70)).astype(np.float32)
    x, a = pt.tensor(array, dtype=array.dtype, device=device), array.copy()
    x[...] = x.T
    a[...] = a.T.copy()
    same(x, a, "transposed in place")
    x += x.T
    a += a.T.copy()
    same(x, a, "its transpose added")
    x[1:, 1:] -= x[:-1, :-1] * 0.5
    a[1:, 1:] -= a[:-1, :-1] * 0.5
    same(x, a, "shifted along both axes")
    x[:, 0], x[:, 1] = x[:, 1].copy(), x[:, 0].copy()
    a[:, [0, 1]] = a[:, [1, 0]]
    same(x, a, "two columns exchanged")


@pytest.mark.computes
def test_chained_reads_and_writes(device: str) -> None:
    """x[i][j] = v writes through a view, and into the copy that a list selects."""
    x: Any = pt.zeros((3, 4), device=device)
    a: Any = np.zeros((3, 4), np.float32)
    for target in (x, a):
        target[1][2] = 5
        target[[0, 1]][0] = 9  # a copy
        target[1:][0, :2] += 1
        target[target > 4] *= 2
        target.T[0] = 3
    same(x, a, "chained")


@pytest.mark.computes
def test_refused_writes_change_nothing(device: str) -> None:
    """They raise the same category of error as in NumPy, and change no elements."""
    array = np.arange(12, dtype=np.int32).reshape(3, 4)
    x = pt.tensor(array, dtype=array.dtype, device=device)
    floats = pt.ones((3, 4), device=device)
    wrong: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: x.__setitem__(9, 1), IndexError, "^index 9 is out of range for axis 0"),
        (lambda: x.__setitem__(0.5, 1), IndexError, "^index: .*float"),
        (lambda: x.__setitem__("a", 1), IndexError, "^index: .*str"),
        (lambda: x.__setitem__((0, 0, 0), 1), IndexError, "^index: .* 2 axes: 3$"),
        (lambda: x.__setitem__([0, 7], 1), IndexError, "7 is out of range"),
        (lambda: x.__setitem__([0.5], 1), IndexError, "integers, not"),
        (lambda: x.__setitem__(floats, 1), IndexError, "not float32"),
        (lambda: x.__setitem__(np.ones((3, 3), bool), 1), IndexError, r"\(3, 3\)"),
        (lambda: x.__setitem__(([0, 1], [0, 1, 2]), 1), IndexError, r"\(2,\) and \(3,\)"),
        (lambda: x.__setitem__(0, [1, 2, 3]), ValueError, r"\(3,\) .*\(4,\)"),
        (lambda: x.__setitem__(..., np.ones((2, 3, 4))), ValueError, r"\(2, 3, 4\) .*\(3, 4\)"),
        (lambda: x.__setitem__(x > 5, [1, 2]), ValueError, r"\(2,\) .*\(6,\)"),
        (lambda: x.__setitem__([0, 1], np.ones((3, 4))), ValueError, r"\(3, 4\)"),
        (lambda: x.__setitem__(0, 2**40), OverflowError, "int32"),
        (lambda: x.__setitem__(0, 1j), TypeError, "complex"),
        (lambda: x.__setitem__(0, "a"), TypeError, "setitem|not"),
        (lambda: x.__setitem__(0, None), TypeError, "setitem|not"),
        (lambda: operator.iadd(x, 0.5), TypeError, r"^iadd: float32 .* int32; write x = x \+ y$"),
        (
            lambda: operator.itruediv(x, 2),
            TypeError,
            "^itruediv: .*int32; write x = x / y$",
        ),
        (lambda: operator.iadd(x, pt.ones((2, 3, 4), pt.int32, device=device)), ValueError, "iadd"),
        (lambda: operator.iadd(x, [1, 2, 3]), ValueError, "do not broadcast"),
        (lambda: operator.iadd(x[0], x), ValueError, r"\(3, 4\) .*\(4,\)"),
        (lambda: pt.add(x, 0.5, out=x), TypeError, "^add: float32 .*int32; pass an out of float32"),
        (lambda: pt.sum(x, 0, out=x[:, 0]), ValueError, r"^sum: .*\(3,\).*\(4,\)"),
        (lambda: pt.sum(x, 0, out=x), ValueError, r"^sum: .*\(3, 4\).*\(4,\)"),
        (lambda: pt.cumsum(x[:1], 1, out=x), ValueError, r"^cumsum: .*\(3, 4\).*\(1, 4\)"),
        (lambda: pt.take(x, 1, 0, out=x), ValueError, r"^take: .*\(3, 4\).*\(4,\)"),
        (lambda: x.max(out=x[0].expand(3, 4)), ValueError, "^max: .*read-only"),
        (
            lambda: pt.add(x, 1, out=[1]),
            TypeError,
            "^add: out must be a tensor or an array, not list",
        ),
        (lambda: pt.add(x, 0.5, out=array), TypeError, "same_kind"),
        (lambda: x.put(99, 1), IndexError, "^put: index 99 is out of range"),
        (lambda: pt.put_along_axis(x, [[9]], 1, 1), IndexError, "^put_along_axis: index 9"),
        (lambda: pt.put_along_axis(x, [0], 1, 1), ValueError, "^put_along_axis: "),
        (lambda: pt.copyto(x, 0.5), TypeError, "^copyto: float32 .*int32"),
        (lambda: pt.copyto(x, [1, 2, 3]), ValueError, r"^copyto|\(3,\)"),
        (lambda: pt.copyto(x, 1, where=[True] * 3), ValueError, "^copyto: "),
        (lambda: pt.putmask(x, [True], 1), ValueError, r"^putmask: .*\(1,\)"),
        (lambda: pt.place(x, x > 0, []), ValueError, "^place: vals must not be empty"),
        (lambda: pt.fill_diagonal(x[0], 1), ValueError, r"^fill_diagonal: .*\(4,\)"),
        (lambda: x.fill([1, 2]), TypeError, "^fill: "),  # type: ignore[arg-type]
        (lambda: x.sort(5), ValueError, "^sort: axis 5"),
        (lambda: vars(type(x))["sort"](x, None), TypeError, "^sort: .*one axis"),
        (lambda: x.partition(4), ValueError, "^partition: kth 4"),
        (lambda: vars(type(x))["partition"](x, 0, None), TypeError, "^partition: .*one axis"),
        (lambda: x.__delitem__(0), ValueError, r"^del: .*x\[mask\]"),
        (lambda: x.__delitem__(slice(2)), ValueError, "^del: "),
        (lambda: operator.imatmul(x[0, :3], x), ValueError, r"^imatmul: .*\(4,\) .*\(3,\)"),
        (lambda: operator.imatmul(x[0], x[1]), ValueError, r"^imatmul: .*\(\) .*\(4,\)"),
        (lambda: x.flat.__setitem__(12, 1), IndexError, "^flat: index 12 .*12 elements"),
        (lambda: x.flat.__setitem__([0, 12], 1), IndexError, "12 is out of range"),
        (lambda: x.flat.__setitem__([0, 1], []), ValueError, "^flat: the value must not be empty"),
        (lambda: x[0, 0].__setitem__((), 1), TypeError, r"^setitem: a scalar .*x\[i, \.\.\.\]"),
        (lambda: x[0, 0].fill(1), TypeError, "^setitem: a scalar"),
        (lambda: pt.add(x[0, 0], 1, out=x[0, 0]), TypeError, "^add: a scalar"),
        (lambda: pt.sum(x, out=x[0, 0]), TypeError, "^sum: a scalar"),
        (lambda: pt.copyto(x[0, 0], 1), TypeError, "^copyto: a scalar"),
    ]
    for n, (write, error, match) in enumerate(wrong):
        with pytest.raises(error, match=match):
            write()
        if n % 6 == 0:
            same(x, array, f"after a refused write, {n}")
    same(x, array, "after all refused writes")
    x[0] = 2.9  # the assigned value is converted, as in NumPy
    array[0] = 2
    same(x, array, "a float assigned to an integer")


@pytest.mark.computes
def test_results_of_no_axes(device: str) -> None:
    """They are scalars until they are written to, and then arrays, as in the standard."""
    x = pt.arange(4, device=device)
    for total in (x.sum(), x.max(), x[0] + 6, pt.asarray(6, device=device)):
        assert total == 6 or total == 3
        kept = total + 0
        total[...] = 1
        total[total > 0] = 5
        total[()] += 2
        same(total, np.array(7, np.int32), "what was written")
        assert kept.item() in (6, 3)
        assert not total.is_scalar
    same(x, np.arange(4, dtype=np.int32), "the operand")


@pytest.mark.computes
def test_an_index_out_of_range_in_a_tensor(device: str) -> None:
    """It is raised by the next read; nothing is written there, and the session continues."""
    x = pt.zeros((3, 4), pt.int32, device=device)
    x[pt.tensor([1, 3], device=device)] = 5
    with pytest.raises(
        IndexError, match=r"^setitem: index 3 is out of range for axis 0 .*\(3, 4\)"
    ):
        x.numpy()
    same(x, np.array([[0] * 4, [5] * 4, [0] * 4], np.int32), "what is in range")
    before = pt.default_device()
    pt.set_default_device(device)
    try:
        for use in (lambda i: x.__setitem__(i, 5), lambda i: x[i] + 1, lambda i: pt.take(x, i, 0)):
            live = use(pt.tensor([1, 3], device=device))
            with pytest.raises(IndexError, match="3 is out of range for axis 0"):
                pt.synchronize()
            del live
            pt.synchronize()
    finally:
        pt.set_default_device(before)


# -- All elements in order ----------------------------------------------------------------------

FLAT: tuple[Callable[[Any], Any], ...] = (
    lambda a: a,
    lambda a: a.T,
    lambda a: a[::2, ::-1],
    lambda a: a[1],
    lambda a: a[1, 2, ...],
    lambda a: a[:0],
)


@pytest.mark.computes
def test_flat(device: str, rng: np.random.Generator) -> None:
    array = rng.integers(-9, 9, (4, 5)).astype(np.int32)
    keys: list[Any] = [
        0,
        -1,
        slice(None),
        slice(1, None, 3),
        slice(None, None, -1),
        ...,
        [0, -1, 0],
    ]
    keys += [np.array([0]), []]
    for n, make in enumerate(FLAT):
        mine, theirs = make(pt.tensor(array, dtype=array.dtype, device=device)), make(array)
        assert len(mine.flat) == len(theirs.flat)
        assert [int(v) for v in mine.flat] == theirs.ravel().tolist()
        same(mine.flat.copy(), theirs.flatten(), f"view {n}")
        for key in [*keys, theirs.ravel() > 0]:
            what = f"view {n}, flat[{key}]"
            try:
                expected = theirs.flat[key]
            except IndexError:
                with pytest.raises(IndexError):
                    _ = mine.flat[key]
                continue
            same(mine.flat[key], np.asarray(expected), what)
            for value in (7, [1, 2, 3], np.arange(30).astype(np.int32)):
                if isinstance(key, int) and np.ndim(value):
                    continue
                x, a = pt.tensor(array, dtype=array.dtype, device=device), array.copy()
                make(x).flat[key] = value
                make(a).flat[key] = value
                same(x, a, f"{what} = {value}")
    x, a = pt.tensor(array, dtype=array.dtype, device=device), array.copy()
    x.T.flat = [1, 2, 3]
    a.T.flat[:] = [1, 2, 3]
    same(x, a, "flat = values")
    view = x[1].flat
    x[1] = 5
    same(view[2:], np.full(3, 5, np.int32), "what was written since")
    view[0] += 1
    assert x[1, 0].item() == 6


def test_item_takes_an_index(device: str) -> None:
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    x = pt.tensor(array, dtype=array.dtype, device=device)
    indices: list[Any] = [(3,), (-1,), (1, 2), (0, -1), ((1, 1),)]
    for index in indices:
        assert x.T.item(*index[::-1]) == array.T.item(*index[::-1])
        assert x.item(*index) == array.item(*index)
        assert type(x.item(*index)) is int
    for index in ((6,), (2, 0), (0, 0, 0)):
        with pytest.raises(IndexError):
            x.item(*index)


# -- In-place operators -------------------------------------------------------------------------

IN_PLACE: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "iadd": (operator.iadd, "add"),
    "isub": (operator.isub, "subtract"),
    "imul": (operator.imul, "multiply"),
    "itruediv": (operator.itruediv, "divide"),
    "ifloordiv": (operator.ifloordiv, "floor_divide"),
    "imod": (operator.imod, "remainder"),
    "ipow": (operator.ipow, "power"),
    "iand": (operator.iand, "bitwise_and"),
    "ior": (operator.ior, "bitwise_or"),
    "ixor": (operator.ixor, "bitwise_xor"),
    "ilshift": (operator.ilshift, "left_shift"),
    "irshift": (operator.irshift, "right_shift"),
}
KINDS = "buif"


@pytest.mark.computes
@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name: str, device: str) -> None:
    """Each op is stored in the same object and memory, or raises if the kinds do not fit."""
    apply, op = IN_PLACE[name]
    for dtype in ref.DTYPES:
        for other in ref.DTYPES:
            x = pt.tensor([[1, 2, 3], [4, 5, 6]], dtype=dtype, device=device)
            before = x.numpy()
            y = pt.tensor([1, 2, 1], dtype=other, device=device)
            what = f"{name} of {dtype} and {other}"
            try:
                expected = getattr(pt, op)(x, y)
            except pt.DTypeError:
                with pytest.raises(pt.DTypeError):
                    apply(x, y)
                continue
            if KINDS.index(expected.dtype.kind) > KINDS.index(np.dtype(dtype).kind):
                with pytest.raises(
                    pt.DTypeError, match=rf"^{name}: .* cannot be stored in {dtype}"
                ):
                    apply(x, y)
                same(x, before, f"after the refused {what}")
                continue
            stored = expected.astype(dtype).numpy()
            kept, view = x, x[1]
            x = apply(x, y)
            assert x is kept, what
            same(x, stored, what)
            same(view, stored[1], f"a view after {what}")
    x = kept = pt.tensor([[1, 2], [3, 4]], device=device)
    scalar = x[0, 0]
    with pytest.raises(TypeError):
        apply(x, "a")
    with pytest.raises(TypeError):
        apply(x, None)
    del scalar


@pytest.mark.computes
def test_in_place_against_numpy(device: str, rng: np.random.Generator) -> None:
    for dtype in ("int32", "float32"):
        array = rng.integers(1, 9, (4, 6)).astype(dtype)
        for name, (apply, _) in IN_PLACE.items():
            if dtype == "float32" and name in ("iand", "ior", "ixor", "ilshift", "irshift", "ipow"):
                continue
            for make in (lambda a: a, lambda a: a.T, lambda a: a[::2, 1::2], lambda a: a[1]):
                for value in (2, make(array).astype(dtype), "itself"):
                    if name == "itruediv" and dtype == "int32":
                        continue
                    x, a = pt.tensor(array, dtype=array.dtype, device=device), array.copy()
                    v, w = make(x), make(a)
                    apply(v, v if isinstance(value, str) else value)
                    apply(w, w if isinstance(value, str) else value)
                    np.testing.assert_allclose(x.numpy(), a, rtol=1e-6, err_msg=f"{name}, {dtype}")
    a = rng.integers(-3, 3, (5, 5)).astype(np.float32)
    x = kept = pt.tensor(a, dtype=a.dtype, device=device)
    x @= x
    assert x is kept
    # The sign of a sum of zeros depends on the order in which a BLAS adds them.
    np.testing.assert_array_equal(x.numpy(), a @ a, err_msg="imatmul")


# -- out, where, initial, dtype -----------------------------------------------------------------


def test_functions_that_take_out() -> None:
    """The functions below are all those that take `out`, `where` or `initial`."""
    import inspect

    from tests.functions import functions

    takes: dict[str, set[str]] = {"out": set(), "where": set(), "initial": set()}
    for name, function in functions().items():
        for option in takes.keys() & inspect.signature(function).parameters.keys():
            takes[option].add(name)
    elementwise = {*ref.UNARY, *ref.BINARY, *ref.NEARLY} - {"round"}
    folds = set(ref.REDUCTIONS) - {"argmax", "argmin"}
    extreme, added = {"nanmax", "nanmin"}, {"nansum", "nanprod"}
    without_nan = {*extreme, *added, "nanmean", "nanvar", "nanstd"}
    elementwise |= {"ldexp", *OF_TWO_RESULTS}
    assert takes["where"] - {"copyto"} == elementwise | folds | without_nan
    assert takes["out"] == elementwise | set(ref.REDUCTIONS) | OTHERS.keys()
    assert takes["initial"] == {"sum", "prod", "max", "min"} | extreme | added


OF_TWO_RESULTS = {"divmod", "frexp", "modf"}  # their `out` is tested in test_parts
OTHERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "choose": lambda f, x, out: f(x > 1.5, [x, 0], out),
    "ldexp": lambda f, x, out: f(x, 2, out),
    "matvec": lambda f, x, out: f(x, x[0], out),
    "vecdot": lambda f, x, out: f(x, x, out),
    "vecmat": lambda f, x, out: f(x[0], x, out),
    "round": lambda f, x, out: f(x, 1, out),
    "clip": lambda f, x, out: f(x, 1, 2, out),
    "cumsum": lambda f, x, out: f(x, 1, None, out),
    "cumprod": lambda f, x, out: f(x, 0, None, out),
    "ptp": lambda f, x, out: f(x, 0, out),
    **dict.fromkeys(("nanmax", "nanmin", "median", "nanmedian"), lambda f, x, out: f(x, 0, out)),
    **dict.fromkeys(("nanargmax", "nanargmin"), lambda f, x, out: f(x, 0, out)),
    **dict.fromkeys(
        ("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nancumsum", "nancumprod"),
        lambda f, x, out: f(x, 0, None, out),
    ),
    **dict.fromkeys(
        ("quantile", "percentile", "nanquantile", "nanpercentile"),
        lambda f, x, out: f(x, 0.3, 0, out),
    ),
    **dict.fromkeys(ref.NEARLY, lambda f, x, out: f(x, x, out)),
    "einsum": lambda f, x, out: f("ij->j", x, out=out),
    "dot": lambda f, x, out: f(x, x.T, out),
    "matmul": lambda f, x, out: f(x, x.T, out),
    "take": lambda f, x, out: f(x, [2, 0], 0, out),
    "compress": lambda f, x, out: f([1, 0, 1], x, 1, out),
    "outer": lambda f, x, out: f(x[0], x[:, 1], out),
    "trace": lambda f, x, out: f(x, out=out),
    "concat": lambda f, x, out: f([x, x], 1, out),
    "concatenate": lambda f, x, out: f([x, x], 0, out),
    "stack": lambda f, x, out: f([x, x], 1, out),
    "cumulative_sum": lambda f, x, out: f(x, axis=1, include_initial=True, out=out),
    "cumulative_prod": lambda f, x, out: f(x, axis=0, out=out),
}


@pytest.mark.computes
def test_out(device: str, few: Few, rng: np.random.Generator) -> None:
    """The result is `out`, with the values of a call without it; also for views.

    The values have exact sums, because another kernel may add them in another order.
    """
    array = (rng.integers(4, 9, (4, 4)) / 4).astype(np.float32)
    x = pt.tensor(array, dtype=array.dtype, device=device)
    calls: dict[str, Callable[[Any], Any]] = {}
    for name in sorted({*ref.UNARY} - {"round"}):
        y = x if "float32" in ref.UNARY[name].dtypes else x.astype("int32")
        calls[name] = lambda out, name=name, y=y: getattr(pt, name)(y, out)
    for name in ref.BINARY:
        y = x if "float32" in ref.BINARY[name].dtypes else x.astype("int32")
        calls[name] = lambda out, name=name, y=y: getattr(pt, name)(y, y, out)
    for name in ref.REDUCTIONS:
        calls[name] = lambda out, name=name: getattr(pt, name)(x, 0, out=out)
    for name, call in OTHERS.items():
        calls[name] = lambda out, name=name, call=call: call(getattr(pt, name), x, out)
    for name, call in few([*calls.items()], len(calls) // 4):
        expected = call(None)
        out = pt.zeros(expected.shape, expected.dtype, device=device)
        assert call(out) is out, name
        same(out, expected.numpy(), f"{name} with out")
        wide = pt.zeros((2, *expected.shape), device=device)
        assert call((wide[1, ...],)).base is wide, name
        stored = expected.astype("float32").numpy()
        same(wide, np.stack([np.zeros_like(stored), stored]), f"{name} into a view")


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_out_of_another_dtype(device: str, rng: np.random.Generator) -> None:
    """Functions that are not elementwise convert the result, as in NumPy."""
    array = (rng.integers(-20, 20, (4, 5)) / 4).astype(np.float32)
    x = pt.tensor(array, dtype=array.dtype, device=device)
    calls: dict[str, Callable[[Any, Any, Any], Any]] = {
        "sum": lambda np, a, out: np.sum(a, 0, out=out),
        "max": lambda np, a, out: np.max(a, 1, out=out[:4]),
        "cumsum": lambda np, a, out: np.cumsum(a[0], out=out),
        "trace": lambda np, a, out: np.trace(a, out=out[1, ...]),
    }
    for name, call in calls.items():
        for dtype in ("int32", "float32"):
            out, expected = pt.zeros(5, dtype, device=device), np.zeros(5, dtype)
            call(pt, x, out)
            call(np, array, expected)
            same(out, expected, f"{name} of float32 into {dtype}")


@pytest.mark.computes
def test_at_converts_values(device: str) -> None:
    for op in ("add", "subtract", "maximum", "minimum"):
        for dtype in ("int32", "uint32", "float32"):
            for values in (True, [True, False, True], [2.0, 1.0, 3.0], 3):
                x, a = pt.tensor([5, 6, 7], dtype=dtype, device=device), np.array([5, 6, 7], dtype)
                getattr(pt, op).at(x, [0, 0, 2], values)
                getattr(np, op).at(a, [0, 0, 2], values)
                same(x, a, f"{op}.at of {dtype}, {values}")
    with pytest.raises(TypeError, match=r"^subtract\.at: .*bool"):
        vars(pt.subtract)["at"](pt.tensor([True], device=device), [0], True)


@pytest.mark.computes
def test_out_is_an_operand(device: str, rng: np.random.Generator) -> None:
    array = rng.integers(1, 9, (6, 6)).astype(np.float32)
    x, a = pt.tensor(array, dtype=array.dtype, device=device), array.copy()
    pt.add(x, x.T, out=x)
    np.add(a, a.T.copy(), out=a)
    same(x, a, "a transpose")
    pt.multiply(x[1:], x[:-1], x[1:])
    np.multiply(a[1:], a[:-1].copy(), a[1:])
    same(x, a, "overlapping windows")
    pt.cumsum(x, 0, out=x)
    a[...] = np.cumsum(a, 0)
    same(x, a, "a scan of itself")
    pt.sum(x, 0, out=x[0])
    a[0] = a.sum(0)
    same(x, a, "a sum into a row of itself")


@pytest.mark.computes
def test_where_of_elementwise(device: str, rng: np.random.Generator) -> None:
    """Where the condition is false, `out` is unchanged."""
    array = rng.uniform(1, 2, (3, 4)).astype(np.float32)
    x = pt.tensor(array, dtype=array.dtype, device=device)
    conditions: dict[str, Any] = {
        "a mask": rng.random((3, 4)) < 0.5,
        "a row": np.array([True, False, True, False]),
        "a list": [[True], [False], [True]],
        "none": False,
        "all": True,
    }
    for kind, condition in conditions.items():
        ours = pt.tensor(condition, device=device) if kind == "a mask" else condition
        out, expected = pt.full((3, 4), 7.0, device=device), np.full((3, 4), 7, np.float32)
        for f, g in ((pt.add, np.add), (pt.maximum, np.maximum)):
            f(x, x, out, where=ours)
            g(array, array, out=expected, where=condition)
            same(out, expected, f"where {kind}")
        for f, g in ((pt.negative, np.negative), (pt.square, np.square)):
            f(x, out, where=ours)
            g(array, out=expected, where=condition)
            same(out, expected, f"where {kind}")
    same(pt.add(1, x, where=False), np.zeros((3, 4), "f4"), "without out: zeros")
    found = pt.add(x, 1, dtype="int32", casting="unsafe")
    same(found, array.astype("i4") + 1, "a dtype to compute in")


def wrapped(expected: Any) -> Any:
    """NumPy's sums and products of int32 are int64; ours are int32."""
    return expected.astype(np.int32) if expected.dtype == np.int64 else expected


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_where_and_initial_of_reductions(device: str, rng: np.random.Generator) -> None:
    for dtype in ("float32", "int32", "bool"):
        array = rng.integers(0, 2 if dtype == "bool" else 9, (5, 6)).astype(dtype)
        x = pt.tensor(array, dtype=array.dtype, device=device)
        for condition in (rng.random((5, 6)) < 0.5, np.zeros((5, 1), bool), rng.random(6) < 0.5):
            c = pt.tensor(condition, device=device)
            for axis in (None, 0, 1):
                what = f"of {dtype}, {condition.shape}, axis {axis}"
                for name in ("sum", "prod", "any", "all"):
                    expected = wrapped(getattr(np, name)(array, axis, where=condition))
                    got = getattr(pt, name)(x, axis, where=c)
                    np.testing.assert_allclose(got.numpy(), expected, err_msg=f"{name} {what}")
                if dtype != "bool":
                    for name in ("sum", "prod", "max", "min"):
                        expected = wrapped(
                            getattr(np, name)(array, axis, initial=3, where=condition)
                        )
                        got = getattr(x, name)(axis, initial=3, where=c)
                        np.testing.assert_allclose(got.numpy(), expected, err_msg=f"{name} {what}")
                for name in ("mean", "var", "std"):
                    with np.errstate(all="ignore"):
                        expected = getattr(np, name)(array, axis, where=condition)
                    got = getattr(pt, name)(x, axis, where=c)
                    np.testing.assert_allclose(
                        got.numpy(), expected, rtol=1e-5, err_msg=f"{name} {what}"
                    )
    x = pt.zeros((0, 3), device=device)
    same(pt.max(x, 0, initial=-1), np.full(3, -1, np.float32), "the greatest of none")
    same(pt.min(x, initial=2), np.float32(2), "the least of none")
    same(pt.sum(x, 0, initial=5), np.full(3, 5, np.float32), "the sum of none")
    same(pt.sum(pt.ones(3, device=device), dtype="int32"), np.int32(3), "a dtype")


# -- Functions that write -----------------------------------------------------------------------


def check_written(
    name: str,
    write: Callable[[Any, Any], Any],
    array: Array,
    device: str,
    views: tuple[Callable[[Any], Any], ...],
) -> None:
    """The state of a base after a function has written to a view of it."""
    for n, make in enumerate(views):
        x, a = pt.tensor(array, dtype=array.dtype, device=device), array.copy()
        assert write(pt, make(x)) is None
        write(np, make(a))
        same(x, a, f"{name}, view {n}")


def partitioned(a: Any, result: None) -> None:
    """Sort the elements on either side of element 1, which may be in any order."""
    assert result is None
    a[:, :1].sort()
    a[:, 2:].sort()


VIEWS: tuple[Callable[[Any], Any], ...] = (
    lambda a: a,
    lambda a: a.T,
    lambda a: a[1:5, ::2],
    lambda a: a[::-1],
)


@pytest.mark.computes
def test_functions_that_write(device: str, rng: np.random.Generator) -> None:
    array = rng.integers(-9, 9, (6, 6)).astype(np.float32)
    writes: dict[str, Callable[[Any, Any], Any]] = {
        "fill": lambda np, a: a.fill(2),
        "fill with 0-d": lambda np, a: a.fill(a[0, 0]),
        "sort": lambda np, a: a.sort(),
        "sort along 0": lambda np, a: a.sort(0),
        "partition": lambda np, a: partitioned(a, a.partition(1)),
        "partition along 0": lambda np, a: partitioned(a.T, a.partition([1], axis=0)),
        "put": lambda np, a: np.put(a, [0, 5, -1], [7, 8]),
        "put one": lambda np, a: a.put(3, 7),
        "put none": lambda np, a: np.put(a, [], 7),
        "put along": lambda np, a: np.put_along_axis(
            a, np.argsort(a, axis=1, stable=True)[:, :2], 50, 1
        ),
        "put along, with a leading axis": lambda np, a: np.put_along_axis(
            a, np.argsort(a, axis=1, stable=True), a[None] * 2, axis=1
        ),
        "put along 0": lambda np, a: np.put_along_axis(a, np.argmax(a, axis=0)[None], 50, axis=0),
        "copyto": lambda np, a: np.copyto(a, a[0]),
        "copyto of itself": lambda np, a: np.copyto(a, a[::-1] + 0),
        "copyto an int": lambda np, a: np.copyto(a, 3),
        "copyto where": lambda np, a: np.copyto(a, a[:, :1] * 2, where=a > 0),
        "putmask": lambda np, a: np.putmask(a, a > 0, [1, 2, 3, 4, 5]),
        "putmask of itself": lambda np, a: np.putmask(a, a > 0, a * a),
        "place": lambda np, a: np.place(a, a > 0, [1, 2, 3]),
        "place at once": lambda np, a: np.place(a, a == 0, 5),
        "place nowhere": lambda np, a: np.place(a, a > 99, [1]),
        "fill_diagonal": lambda np, a: np.fill_diagonal(a, 7),
        "fill_diagonal with several": lambda np, a: np.fill_diagonal(a, a[0, : min(a.shape)]),
    }
    for name, write in writes.items():
        check_written(name, write, array, device, VIEWS)
    for make in VIEWS:  # NumPy writes to a copy, or not at all, if elements are not contiguous
        x, a = pt.tensor(array, dtype=array.dtype, device=device), array.copy()
        pt.put_along_axis(make(x), [3, -1, 7], [1, 2, 3], None)
        make(a).flat[[3, -1, 7]] = [1, 2, 3]
        same(x, a, "put_along_axis, flattened")
    cube = rng.integers(-9, 9, (3, 3, 3)).astype(np.float32)
    check_written("of three axes", writes["fill_diagonal"], cube, device, (lambda a: a,))
    check_written("of ints", writes["put"], array.astype(np.int32), device, VIEWS[:2])
    x, a = pt.tensor([5, 6], device=device), np.array([5, 6], np.int32)
    pt.copyto(x, [1.9, -1.9], casting="unsafe")
    np.copyto(a, [1.9, -1.9], casting="unsafe")
    same(x, a, "copyto, unsafe")
    large = [16777217, 16777219]  # not a float32
    x, a = pt.tensor(large, device=device), np.array(large, np.int32)
    pt.copyto(x, 2.5, casting="unsafe", where=[True, False])
    np.copyto(a, 2.5, casting="unsafe", where=[True, False])
    same(x, a, "copyto where, unsafe")


# -- Keys, numbers, overlaps, interrupts, tasks --------------------------------------------------


def test_an_ellipsis_of_no_axes_parts_indices(device: str, rng: np.random.Generator) -> None:
    array = rng.integers(0, 99, (3, 4, 5)).astype(np.int32)
    keys: list[tuple[Any, ...]] = [
        (slice(None), [-1, 0], ..., [1, 3]),
        (slice(None), 2, ..., [1, 3]),
        ([0, 2], ..., slice(1, 3), [1, 3]),
        ([0, 2], [1, 1], ..., slice(None)),
    ]
    for key in keys:
        x, a = pt.tensor(array, dtype=array.dtype, device=device), array.copy()
        same(x[key], a[key], f"{key}")
        values = rng.integers(0, 99, a[key].shape).astype(np.int32)
        x[key] = pt.tensor(values, dtype=values.dtype, device=device)
        a[key] = values
        same(x, a, f"written at {key}")


def test_numbers_get_the_dtype_of_the_target(device: str) -> None:
    for dtype, number in (("uint32", 3_000_000_000), ("float32", 2**31), ("float32", 3e9)):
        x = pt.zeros(4, dtype=dtype, device=device)
        x[[0, 1]] = number
        pt.put(x, [2], number)
        pt.copyto(x, number, where=[False, False, False, True])
        same(x, np.full(4, number, dtype), f"{number} in {dtype}")
        y = pt.zeros(2, dtype=dtype, device=device)
        y[:] = [int(number), 1]
        vars(pt.maximum)["at"](y, [1], number)
        same(y, np.full(2, number, dtype), f"lists of {number} in {dtype}")
    x = pt.zeros(3, dtype="int32", device=device)
    for number in (10**10, -(2**31) - 1):
        with pytest.raises(OverflowError):
            x[[0]] = number
    same(x, np.zeros(3, np.int32), "after refusals")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_scalars_out_of_range(dtype: str, device: str) -> None:
    """The cpu device raises errors, as NumPy does; on the GPU the values of a scalar wrap."""

    def outcome(module: Any, make: Callable[[], Any], write: Callable[[Any, Any], None]) -> Any:
        x = module.zeros((2, 3), dtype=dtype)
        x = x.to(device) if module is pt else x
        try:
            write(x, make())
        except (OverflowError, ValueError) as error:
            return type(error)
        return x

    writes: tuple[Callable[[Any, Any], None], ...] = (
        lambda x, v: x.__setitem__((0, 1), v),
        lambda x, v: x[1].__setitem__(slice(1, None), v),
        lambda x, v: x.T.__setitem__(..., v),
        lambda x, v: x.fill(v),
        lambda x, v: x.__setitem__([0], v),
        lambda x, v: x.__setitem__(x == 0, v),
    )
    others = [d for d in ("int16", "uint32", "int32", "float32") if d != dtype]
    for other, number in itertools.product(others, (300, -1, 70000, 3.0, 2.0**40, math.nan)):
        if other != "float32" and not pt.iinfo(other).min <= number <= pt.iinfo(other).max:
            continue
        a = np.array([0, number], other)
        t = pt.tensor(a, dtype=other, device=device)
        for n, write in enumerate(writes):
            expected = outcome(np, lambda a=a: a[1], write)
            got = outcome(pt, lambda t=t: t[1], write)
            what = f"{number} of {other} in {dtype}, way {n}"
            if isinstance(expected, type) and device == "cpu":
                assert got is expected, what
            elif isinstance(expected, type):
                assert isinstance(got, pt.Tensor), what
            elif other != "float32" or number == 3:  # casts of floats out of range differ
                same(got, expected, what)
        for value in (a[1], np.array(a[1])) if other != "float32" else ():
            for n, write in enumerate(writes):
                expected = outcome(np, lambda v=value: v, write)
                got = outcome(pt, lambda v=value: v, write)
                what = f"{value!r} in {dtype}, way {n}"
                assert type(expected) is not type or got is expected, what
                assert type(expected) is type or same(got, expected, what) is None, what
    largest = pt.iinfo(dtype).max
    for write in writes[:3]:
        for value in (range(largest + 1, largest + 2), [largest + 1]):
            with pytest.raises(OverflowError):
                write(pt.zeros((2, 3), dtype=dtype, device=device), value)


def test_no_place_is_written_twice(device: str) -> None:
    windows = pt.lib.stride_tricks.sliding_window_view(pt.arange(6, device=device), 3)
    for make_writeable in (
        lambda: setattr(windows.flags, "writeable", True),
        lambda: windows.__setitem__(0, 1),
    ):
        with pytest.raises(ValueError, match="read-only"):
            make_writeable()
    x = pt.zeros(8, device=device)
    pt.lib.stride_tricks.as_strided(x, (3,), (8,), writeable=True)[...] = 1
    same(x, np.array([1, 0, 1, 0, 1, 0, 0, 0], "f4"), "every second")


def test_a_shape_without_axes_makes_an_array(device: str) -> None:
    x = pt.zeros(1, device=device)
    y = x
    x.shape = ()
    x += 1
    assert y.item() == 1


def test_an_interrupt_while_a_view_is_made_leaves_it_right(device: str) -> None:
    def interrupted(*_given: object, **_options: object) -> None:
        raise KeyboardInterrupt

    x = pt.zeros(6, device=device)
    v = x[2:6]
    v.shape = (2, 2)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(type(x.device), "record", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pt.negative(v)
    x[2] = 5
    same(v, np.array([[5, 0], [0, 0]], "f4"), "the view")


@pytest.mark.parametrize("written", ["the base", "a view"])
def test_writes_by_another_task_in_between_are_kept(
    written: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recording a node may wait for memory, so that another task runs."""
    x = pt.zeros(4, device=device)
    target = x if written == "the base" else x[:2]
    record = type(x.device).record

    def other_first(place: Any, node: Any, **options: Any) -> None:
        monkeypatch.setattr(type(x.device), "record", record)
        x[3] = 7
        record(place, node, **options)

    monkeypatch.setattr(type(x.device), "record", other_first)
    target[:1] = 1
    same(x, np.array([1, 0, 0, 7], "f4"), "written")


def test_casting_of_copyto(device: str) -> None:
    """Each rule allows and rejects the same casts as in NumPy."""
    dtypes = ("bool", "uint8", "int16", "int32", "float16", "float32", "complex64")
    for casting in ("no", "equiv", "safe", "same_kind", "unsafe"):
        for source, target in itertools.product(dtypes, repeat=2):
            given, expected = np.ones(2, source), np.zeros(2, target)
            x = pt.zeros(2, dtype=target, device=device)
            y = pt.tensor(given, device=device)
            what = f"{source} to {target}, {casting}"
            if np.can_cast(source, target, cast("Any", casting)):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    np.copyto(expected, given, cast("Any", casting))
                    pt.copyto(x, y, casting)
                same(x, expected, what)
            else:
                with pytest.raises(TypeError, match=r"^copyto: "):
                    pt.copyto(x, y, casting)


VALUES = (
    *(2.5, 3, -1, 0.0, True, 2**31, -(2**31), 1e39, math.inf, math.nan, 70000.0, 1e-46, 255, 256),
    *(1j, 2**70, np.float32(0.1), np.int8(3), np.array(4.0)),
)


WRITTEN: tuple[Callable[[Any], Any], ...] = (
    lambda x: x,
    lambda x: x[1:],
    lambda x: x.reshape(2, 3)[1],
    lambda x: x[::-2],
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "dtype", ["float32", "float16", "int32", "uint8", "int64", "bool", "complex64"]
)
def test_single_elements(dtype: str, device: str) -> None:
    """The cpu device writes and reads them without recording an op, with NumPy's results."""
    for value in VALUES:
        for make in WRITTEN[: None if device == "cpu" else 1]:
            a = np.arange(6).astype(dtype)
            x = pt.arange(6, device=device).astype(dtype)
            before, copied, one = x[4], pt.where(x == x, x, x), x[1:]
            kept = x.numpy()
            for k in (0, -1):
                try:
                    make(a)[k] = value
                except (TypeError, ValueError, OverflowError) as error:
                    with pytest.raises(type(error)):
                        make(x)[k] = value
                else:
                    make(x)[k] = value
            what = f"{value!r} in {dtype}"
            same(x, a, what)
            same(one, a[1:], f"{what}: a view")
            same(copied, np.arange(6).astype(dtype), f"{what}: an earlier result")
            np.testing.assert_array_equal(kept, np.arange(6).astype(dtype), what)
            assert before == np.arange(6).astype(dtype)[4]


def test_single_elements_of_tensors(device: str) -> None:
    x = pt.arange(4.0, device=device)
    x[1] = x[3]
    x[2] = x[1] * 2
    x[3] = pt.arange(3, device=device)[2]  # of another dtype
    same(x, np.array([0, 3, 6, 2], "f4"), "elements of tensors")
    scalar = x[2]
    x[2] = 1
    assert scalar == 6
    view = x[::-1]
    assert view.tolist() == [2, 1, 3, 0]  # which computes it
    x[1] = 7
    assert view.tolist() == [2, 1, 7, 0]
    view[0] = 3
    same(x, np.array([0, 7, 1, 3], "f4"), "written through a view")
    x[1], x[3] = 3, 2
    with pytest.raises(TypeError, match="scalar is read-only"):
        scalar[()] = 1
    product = view @ view
    product[()] = 5
    product += 1
    same(product, np.float32(6), "a result of a product")
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1
    y = pt.array([x[0], 1.5, x[2] + 1], device=device)
    same(y, np.array([0, 1.5, 2], "f4"), "from elements")
    y[0] = 9
    same(y, np.array([9, 1.5, 2], "f4"), "written")
    n = pt.array([[pt.arange(3, device=device)[1], 2], [3, x[1]]], device=device)
    same(n, np.array([[1, 2], [3, 3]], "f4"), "nested")
    whole = pt.array([n[0, 0].astype("int8"), 3], device=device)
    same(whole, np.array([1, 3], "i4"), "of two dtypes")
    assert pt.array([x[0], 1j], device=device).dtype is pt.complex64
    with pytest.raises(pt.ShapeError, match="ragged"):
        pt.array([x[0], [1.0]], device=device)


def test_single_elements_need_no_op_on_the_cpu() -> None:
    x = pt.arange(8.0, device="cpu") + 1
    backend: Any = CPU_DEVICE.backend
    before = backend.computed
    for i in range(8):
        x[i] = 2.5 * i
    assert backend.computed == before
    total = sum(float(x[i]) for i in range(8))
    assert (backend.computed - before, total) == (8, 70.0)
    y = pt.array([x[1], 0.5, x[2]], device="cpu")
    assert (backend.computed - before, y.tolist()) == (10, [2.5, 0.5, 5.0])


@pytest.mark.parametrize("order", itertools.permutations(("int8", "uint8", "float16")), ids=str)
def test_the_dtype_of_a_list_of_scalars(order: tuple[str, ...], device: str) -> None:
    """Like NumPy's, it depends on their order."""
    scalars = [pt.ones(1, dtype, device=device)[0] for dtype in order]
    expected = np.array([np.ones(1, dtype)[0] for dtype in order]).dtype
    assert pt.array(scalars, device=device).dtype == expected
    assert pt.array([*scalars, True], device=device).dtype == expected
