"""Selections by a mask, whose number of elements is read when it is first needed."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.ops.gather import read_selections
from py_tensor.tools import control
from tests.ops.compare import same

Array = np.ndarray[Any, Any]

REDUCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda np, y: y.sum(),
    "sum over an axis": lambda np, y: np.sum(y, axis=-1),
    "sum with kept axes": lambda np, y: y.sum(keepdims=True),
    "sum with an initial value": lambda np, y: y.sum(initial=3),
    "prod": lambda np, y: np.prod(y),
    "any": lambda np, y: y.any(),
    "all": lambda np, y: np.all(y),
    "count_nonzero": lambda np, y: np.count_nonzero(y),
    "mean": lambda np, y: y.mean(),
    "mean in complex64": lambda np, y: y.mean(dtype=np.complex64),
    "var": lambda np, y: np.var(y, ddof=1),
    "std": lambda np, y: y.std(),
    "sum with where": lambda np, y: y.sum(
        where=[True, False] * (y.size // 2) + [True] * (y.size % 2)
    ),
}
OTHERS: dict[str, Callable[[Any, Any], Any]] = {
    "size": lambda np, y: np.full(2, y.size),
    "a slice": lambda np, y: y[1:3],
    "arithmetic": lambda np, y: y * y,
    "a reshape": lambda np, y: y.reshape(-1, 1),
    "a sum of squares": lambda np, y: (y * y).sum(),
}
SHAPES = ((0,), (1,), (9,), (4, 5), (2, 3, 4), (0, 3))
DTYPES = ("bool", "uint8", "int32", "float32", "complex64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.filterwarnings("ignore:Degrees of freedom:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:Mean of empty slice:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_each_use_gives_numpys_result(dtype: str, device: str, rng: np.random.Generator) -> None:
    for shape in SHAPES:
        for share in (0, 0.5, 1):
            array = (rng.standard_normal(shape) * 3).astype("float32")
            array = (np.abs(array) if dtype == "uint8" else array).astype(dtype)
            mask = rng.random(shape) < share
            expected = array[mask]
            for name, use in {**REDUCTIONS, **OTHERS}.items():
                x = pt.tensor(array, dtype=array.dtype, device=device)
                y = x[pt.tensor(mask, device=device)]
                what = f"{name} of {dtype}{shape}[{share}]"
                found, right = use(pt, y).numpy(), _of_numpy(use(np, expected))
                assert (found.shape, found.dtype) == (right.shape, right.dtype), what
                np.testing.assert_allclose(found, right, 1e-5, 1e-5, err_msg=what)
                same(y, expected, f"the elements after {what}")


def _of_numpy(found: Any) -> Array:
    """Return a result of NumPy in the dtype that it has here."""
    found = np.asarray(found)
    names = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}
    return found.astype(names.get(found.dtype.name, found.dtype.name))


@pytest.mark.computes
def test_sums_read_nothing(device: str, rng: np.random.Generator) -> None:
    array = rng.standard_normal(70_001).astype("float32")
    x = pt.tensor(array, device=device)
    x.sum().item()
    before = None if device == "cpu" else control.stats()
    found = [x[x > 0].mean(), x[x < 0].std(), (2 * x)[x > 1].sum(), (x[x > 2] > 3).any()]
    if before is not None:  # one for the elements that are compared before `any`
        assert control.stats()["flushes"] - before["flushes"] == 1
    expected = [array[array > 0].mean(), array[array < 0].std(), (2 * array)[array > 1].sum()]
    np.testing.assert_allclose([float(x) for x in found[:3]], expected, 1e-5)
    assert bool(found[3]) == bool((array[array > 2] > 3).any())


def test_not_selected_elements_have_no_effect(device: str) -> None:
    x = pt.array([np.nan, 1, np.inf, 2, -np.inf], device=device)
    y = x[pt.isfinite(x)]
    assert (y.sum().item(), y.mean().item(), y.tolist()) == (3, 1.5, [1, 2])
    y = x[~pt.isfinite(x)]
    assert np.isnan(y.sum().item())
    assert not x[x == 7].any()
    assert x[x == 7].all()
    assert np.isnan(x[x == 7].mean().item())
    with pytest.raises(ValueError, match="max: no elements to choose from"):
        x[x == 7].max()


def test_later_writes_do_not_change_it(device: str) -> None:
    x, mask = pt.arange(6, device=device), pt.arange(6, device=device) > 2
    total, elements, part = x[mask], x[mask], x[1:][mask[1:]]
    x[...] = 0
    mask[...] = True
    assert total.sum().item() == 12
    assert elements.tolist() == [3, 4, 5]
    assert part.tolist() == [3, 4, 5]
    elements += 1
    assert elements.tolist() == [4, 5, 6]
    view = total[1:]
    total[2] = 7
    assert view.tolist() == [4, 7]
    assert view.base is total


def test_it_owns_its_memory(device: str) -> None:
    x = pt.arange(6, device=device)
    y = x[x > 2]
    assert y.base is None
    assert y.flags.owndata
    assert isinstance(y, pt.Tensor)
    y.resize(2)
    assert y.tolist() == [3, 4]
    y = x[x > 2]
    y.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        y[0] = 1
    assert y.tolist() == [3, 4, 5]


def test_values_are_freed_with_it_or_after_its_elements(device: str) -> None:
    """Also those of selections that are kept: at most four of them wait."""
    if device == "cpu":
        return
    kept: list[pt.Tensor] = []
    known: list[weakref.ref[pt.Tensor]] = []

    def select(least: int) -> None:
        x = pt.arange(20, device=device) * 1
        kept.append(x[x > least])
        selected: Any = kept[-1]._selected_by_mask  # pyright: ignore[reportPrivateUsage]
        known.append(weakref.ref(selected.values))

    for i in range(8):
        select(i)
    gc.collect()
    assert [values() is not None for values in known] == [False] * 4 + [True] * 4
    assert [y.size for y in kept] == [*range(19, 11, -1)]
    gc.collect()
    assert all(values() is None for values in known)


OPTIONS: dict[str, Callable[[Any], Any]] = {
    "no axes": lambda y: y.sum(axis=()),
    "no axes of a mean": lambda y: y.mean(axis=()),
    "the last axis": lambda y: y.sum(axis=(-1,)),
    "an axis as a tensor": lambda y: y.sum(axis=pt.array(0, device=y.device)),
    "bools": lambda y: y.prod(dtype="bool"),
    "a mean of integers": lambda y: y.mean(dtype="int32"),
    "a variance in integers": lambda y: y.var(dtype="int32"),
    "a mean in float16": lambda y: y.mean(dtype="float16"),
    "a known mean": lambda y: y.var(mean=y * 0 + 2),
    "ddof as a tensor": lambda y: y.std(ddof=pt.array(1, device=y.device)),
    "ddof of NaN": lambda y: y.std(ddof=float("nan")),
    "an axis out of range": lambda y: y.sum(axis=1),
    "out": lambda y: y.sum(out=pt.zeros((), device=y.device)),
}


def _outcome(use: Callable[[Any], Any], y: pt.Tensor) -> Any:
    try:
        found = use(y).numpy()
    except (TypeError, ValueError) as error:
        return type(error), str(error)
    return found.dtype, found.shape, found.tolist()


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_means_the_same_before_and_after_the_elements_are_found(
    option: str, device: str
) -> None:
    x = pt.array([0, 1.5, 2, 3, 4.5, 5], device=device)
    fresh, third, found = x[x > 1], x[x > 1], x[x > 1]
    for _ in range(2):
        third.sum()
    assert found.shape == (5,)
    use = OPTIONS[option]
    expected = repr(_outcome(use, found))
    assert repr(_outcome(use, fresh)) == repr(_outcome(use, third)) == expected


def test_reads_that_do_not_block(device: str) -> None:
    x = pt.arange(6, device=device)
    y = x[x > 2]
    assert asyncio.run(y.to_numpy_async()).tolist() == [3, 4, 5]
    y = x[x > 3]
    assert asyncio.run(y.__repr_async__()) == repr(x[4:])
    if device != "cpu":
        assert y._selected_by_mask is None  # pyright: ignore[reportPrivateUsage]


def test_an_error_belongs_to_its_selection(device: str) -> None:
    if device == "cpu":
        return
    x = pt.arange(6, device=device)
    y = x[x > 2]
    selected: Any = y._selected_by_mask  # pyright: ignore[reportPrivateUsage]

    def fail(*operands: Any) -> pt.Tensor:
        raise MemoryError("no memory")

    find, selected.find = selected.find, fail
    others = [x[x > i] for i in range(5)]
    read_selections()
    assert [other.tolist()[-1] for other in others] == [5] * 5
    with pytest.raises(MemoryError, match="no memory"):
        y.tolist()
    selected.find = find
    assert y.tolist() == [3, 4, 5]


def test_a_third_reduction_reads_the_elements(device: str) -> None:
    x = pt.arange(1000, device=device)
    y = x[x > 990]
    for _ in range(4):
        assert y.sum().item() == sum(range(991, 1000))
    assert y._selected_by_mask is None  # pyright: ignore[reportPrivateUsage]
