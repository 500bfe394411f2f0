"""Functions composed of other ops, against NumPy, on random operands and on edge values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.numpy.statistics import _product  # pyright: ignore[reportPrivateUsage]
from tests.ops.compositions import CALLS
from tests.ops.operands import Few

Array = np.ndarray[Any, Any]
NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32"}
OF_NUMBERS = {*("convolve", "correlate", "cross", "diff", "ediff1d", "einsum", "inner", "kron")}
OF_NUMBERS |= {"matvec", "tensordot", "vdot", "vecdot", "vecmat", "nan_to_num"}
"""Functions that do not accept bools here."""
OF_INTEGERS = ("ix_", "ravel_multi_index", "unravel_index")
"""Functions of integers, so not tested with NaN and infinities."""
SKIPPED = {
    *((name, "bool") for name in (*OF_NUMBERS, "logaddexp", "logaddexp2")),
    *((name, "uint32") for name in ("vander", "diff")),
    *((name, kind) for name in OF_INTEGERS for kind in ("NaN and infinities", "a row of NaN")),
    *((name, "nothing") for name in ("nanpercentile", "nanquantile")),
}
"""Calls for which NumPy has another dtype or shape, or raises.

NumPy widens uint32 to int64, and has 8 and 16 bits for bools. Its quantiles of empty arrays lack
the axes of the shares.
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
    if dtype != "int64" or str(mine.dtype) not in ("uint32", "int64"):
        # For uint32 with a number, which is weak here, and with int32.
        assert str(mine.dtype) == NARROW.get(dtype, dtype), f"{what}: {mine.dtype}, not {dtype}"
    np.testing.assert_allclose(mine.numpy(), expected, 2e-5, 2e-5, err_msg=what)


def widened(array: Array) -> Array:
    """Converted to the precision of the reference, with the same layout."""
    wide = {"f": np.float64, "i": np.int64}.get(array.dtype.kind, array.dtype)
    return array.astype(wide, order="K")


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_against_numpy(name: str, device: str, few: Few, rng: np.random.Generator) -> None:
    ran = 0
    first, *others = operands(rng).items()
    for kind, array in (first, *few(others, 3)):
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
            compare(call(pt, x), expected, what)
    assert ran


@pytest.mark.computes
def test_quantiles_at_whole_places(device: str, few: Few) -> None:
    """Each is an element, the same one as in NumPy."""
    shares = [k / 20 for k in range(21)]
    for n in few((1, 2, 3, 6, 59), 2):
        array = np.arange(n, dtype=np.float32)
        x = pt.tensor(array, device=device)
        for method in ("lower", "higher", "nearest"):
            expected = np.quantile(array.astype(np.float64), shares, method=method)
            for function in (pt.quantile, pt.nanquantile):
                got = function(x, shares, method=method)
                compare(got, expected, f"{function.__name__} of {n} elements, {method}")


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles_of_infinities(name: str, device: str, rng: np.random.Generator) -> None:
    """The shares 0 and 1 as integers give elements; with infinities, others may give NaN."""
    methods = ("linear", "lower", "nearest", "midpoint", "weibull", "hazen", "median_unbiased")
    for n in (1, 2, 5):
        array = rng.choice([-np.inf, np.inf, 1, 2], (6, n)).astype(np.float32)
        x = pt.tensor(array, device=device)
        for method in methods:
            for shares in ([0, 1], [0.0, 0.25, 0.5, 1.0]):
                got = getattr(pt, name)(x, shares, 1, method=method)
                expected = getattr(np, name)(array.astype(np.float64), shares, 1, method=method)
                compare(got, expected, f"{method} of {array.tolist()} at {shares}")


@pytest.mark.computes
def test_places_of_quantiles_among_many(device: str, rng: np.random.Generator) -> None:
    """Products of counts and shares are exact to 2**-24, where float32 has no fractions."""
    counts = rng.integers(0, 2**31 - 64, 300).astype(np.int32)
    counts[:3] = 0, 1, 10
    for share in (0.0, 0.3, 0.5, 1 / 3, 0.99999, 1.0, float(rng.random())):
        whole, part = _product(pt.tensor(counts, device=device), share, pt.float32)
        got = whole.numpy().astype(np.float64) + part.numpy()
        np.testing.assert_allclose(got, counts * share, rtol=0, atol=2**-22)
        assert got[2] == round(10 * share * 2**24) / 2**24


@pytest.mark.computes
def test_long_convolutions(device: str, rng: np.random.Generator) -> None:
    """More products than are computed at a time; infinities stay in place."""
    array, other = (rng.standard_normal(n).astype(np.float32) for n in (5000, 2000))
    array[[0, 4000]], other[[0, 1999]] = np.inf, -np.inf
    x, v = pt.tensor(array, device=device), pt.tensor(other, device=device)
    for mode in ("full", "same", "valid"):
        for name in ("convolve", "correlate"):
            with np.errstate(invalid="ignore"):
                expected = getattr(np, name)(*(a.astype(np.float64) for a in (array, other)), mode)
            got = getattr(pt, name)(x, v, mode).numpy()
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-3, err_msg=name)


REPEATED = (
    *("ii", "ii->", "ii->i", "iij->ij", "iij->j", "iij", "ijij->ij", "ijij->", "iiii->i"),
    *("iii...->i...", "i...i->...", "iij,j->i", "iij,jk->ik", "ij,jj->i", "ii,jj->ij", "iji->ji"),
    *("kki,kjj->ij", "iik,jjk,k->ij"),
)


@pytest.mark.computes
@pytest.mark.parametrize("text", REPEATED)
def test_einsum_of_repeated_labels(text: str, device: str, rng: np.random.Generator) -> None:
    """Axes of any length, also without elements; diagonals can be written to."""
    for least in (2, 0, 0, 0, 0, 0):
        sizes = {label: int(rng.integers(least, 4)) for label in "ijk."}
        arrays: list[Any] = []
        for term in text.partition("->")[0].split(","):
            shape = [sizes[label] for label in term.replace("...", ".")]
            arrays.append(rng.integers(-3, 4, shape).astype(np.float32))
        operands = [pt.tensor(array, device=device) for array in arrays]
        for optimize in (False, True):
            expected = np.einsum(text, *arrays, optimize=optimize)
            got = pt.einsum(text, *operands, optimize=optimize)
            assert got.shape == np.shape(expected)
            np.testing.assert_array_equal(got.numpy(), expected, f"{text} of {sizes}")
        assert pt.einsum("ii->i", pt.zeros((sizes["i"],) * 2, device=device)).flags.writeable


@pytest.mark.computes
def test_einsum_takes_the_smallest_product_next(device: str, rng: np.random.Generator) -> None:
    """From left to right the first product would have n**4 elements."""
    arrays = rng.standard_normal((3, 300, 300)).astype(np.float32)
    operands = [pt.tensor(a, device=device) for a in arrays]
    text = "ij,kl,jk->il"
    expected = np.einsum(text, *arrays.astype(np.float64), optimize=True)
    for optimize in (True, "greedy"):
        got = pt.einsum(text, *operands, optimize=optimize).numpy()
        np.testing.assert_allclose(got, expected, rtol=1e-3, atol=2e-2)


@pytest.mark.computes
def test_places_to_insert_and_delete(device: str, rng: np.random.Generator) -> None:
    """Places in arrays, lists, tensors and masks, with duplicates."""
    for _ in range(20):
        n, k = (int(i) for i in rng.integers(1, 6, 2))
        array = rng.standard_normal((2, n)).astype(np.float32)
        x = pt.tensor(array, device=device)
        before, gone = (rng.integers(-n, n + more, k).astype(np.int32) for more in (1, 0))
        values = rng.standard_normal((2, 3 if k == 1 else k)).astype(np.float32)
        mask = rng.random(n) < 0.5
        inserted, left = np.insert(array, before, values, 1), np.delete(array, gone, 1)
        for form in (np.asarray, np.ndarray.tolist, lambda a: pt.tensor(a, device=device)):
            compare(pt.insert(x, form(before), values, 1), inserted, f"insert before {before}")
            compare(pt.delete(x, form(gone), 1), left, f"delete {gone}")
            compare(pt.insert(x, form(mask), 7, 1), np.insert(array, mask, 7, 1), "insert, mask")
            compare(pt.delete(x, form(mask), 1), np.delete(array, mask, 1), "delete, mask")


def test_places_that_cannot_be_inserted_or_deleted(device: str) -> None:
    x = pt.arange(4, device=device)
    for place in (5, -5, [0, 5], pt.tensor([5, 0], device=device)):
        with pytest.raises(IndexError, match=r"^insert: "):
            pt.insert(x, place, 1).numpy()
    for place in (4, -5, [4], pt.tensor([4], device=device)):
        with pytest.raises(IndexError, match=r"^delete: "):
            pt.delete(x, place).numpy()
    for place in ([True, False], True, np.array([[True] * 4])):
        with pytest.raises(ValueError, match=r"^delete: mask of shape "):
            pt.delete(x, place)
    for place in (True, [[0]], pt.tensor([[0, 1]], device=device)):
        with pytest.raises(ValueError, match=r"^insert: obj must be an index or a vector"):
            pt.insert(x, place, 1)
    for place in (1.5, [1.5], pt.tensor([1.5], device=device)):
        with pytest.raises(TypeError, match=r"^insert: indices must be integers, not "):
            pt.insert(x, place, 1)
        with pytest.raises(TypeError, match=r"^delete: indices must be integers, not "):
            pt.delete(x, place)
    with pytest.raises(ValueError, match=r"^insert: a value of shape \(3,\) does not broadcast"):
        pt.insert(x, [1, 2], [7, 8, 9])


def _written(np: Any, write: str, *given: Any, shape: tuple[int, ...] = (5, 3)) -> Any:
    target = np.zeros(shape, dtype="int32")
    getattr(np, write)(target, *given)
    return target


_int = np.int64
INFINITE = [-np.inf, -2.0, 0.5, 2.0, np.inf]
EDGES: dict[str, Callable[[Any, Any], Any]] = {
    "nansum where": lambda np, a: np.nansum(a, 0, where=a > 0, initial=2),
    "nanprod where": lambda np, a: np.nanprod(a, 1, initial=2, where=[True, False, True, True]),
    "nanmax where": lambda np, a: np.nanmax(a, (0, 1), initial=0.5, where=a > 0, keepdims=True),
    "nanmin initial": lambda np, a: np.nanmin(a, 1, initial=0.5),
    "nanmean where": lambda np, a: np.nanmean(a, 0, where=a > 0),
    "nanstd where": lambda np, a: np.nanstd(a, 1, where=a > 0, correction=1),
    "nanvar of few": lambda np, a: np.nanvar(a, 1, ddof=3),
    "nanstd of fewer": lambda np, a: np.nanstd(a[:, :2], ddof=9),
    "interp at infinities": lambda np, a: np.interp(INFINITE, [0.0, 1, 2], [1.0, 2, 4]),
    "interp between": lambda np, a: np.interp(
        [*INFINITE, float("nan")], INFINITE, [1.0, 3, 2, 5, 4]
    ),
    "interp of infinities": lambda np, a: np.interp(
        [0.0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5], [0.0, 1, 2, 3], [1, *[float("inf")] * 2, -1]
    ),
    "cov of a row": lambda np, a: np.cov(a[:1], rowvar=False),
    "cov of columns": lambda np, a: np.cov(a[:, :1], a[:, 1:2], rowvar=False),
    "corrcoef of a row": lambda np, a: np.corrcoef(a[:1], rowvar=False),
    "reduceat": lambda np, a: np.add.reduceat(a, [0, 2, 2, 1, 3, 0], axis=1),
    "reduceat of none": lambda np, a: np.add.reduceat(a, [], axis=1),
    "fill_diagonal": lambda np, a: _written(np, "fill_diagonal", [1, 2]),
    "fill_diagonal of many": lambda np, a: _written(np, "fill_diagonal", [[1, 2], [3, 4]]),
    "fill_diagonal, wrapped": lambda np, a: _written(np, "fill_diagonal", [4, 5], True),
    "fill_diagonal, wide": lambda np, a: _written(np, "fill_diagonal", 4, True, shape=(2, 5)),
    "fill_diagonal, 3 axes": lambda np, a: _written(np, "fill_diagonal", [1, 2], shape=(3, 3, 3)),
    "putmask of a list": lambda np, a: _written(np, "putmask", [1, 0, 1], [1.5, 2.5], shape=(3,)),
    "putmask, other shape": lambda np, a: _written(np, "putmask", [[1], [0]], 7, shape=(2,)),
    "ravel_multi_index": lambda np, a: np.ravel_multi_index(
        ([0, -1], [1, 8]), (2, 3), mode=("wrap", "clip")
    ),
    "r_": lambda np, a: np.r_["0,2,0", a[0], 0:3:4j],
    "r_ of columns": lambda np, a: np.r_["1,2,0", a[0], a[1]],
    "r_ in the middle": lambda np, a: np.r_["-1,3,1", a[0], a[1]],
    "c_": lambda np, a: np.c_[a, a[:, 0], 1:4],
    "geomspace": lambda np, a: np.geomspace(1, 1000, 4),
    "geomspace, falling": lambda np, a: np.geomspace(-1000, -1, 7, endpoint=False),
    "geomspace of ints": lambda np, a: np.geomspace(1, 100_000, 6, dtype="int32"),
    "partition": lambda np, a: np.partition(a[0, ::-1], _int(1))[1],
    "argpartition": lambda np, a: np.argpartition([3, 1, 2], [_int(1)])[1],
    "windows": lambda np, a: np.lib.stride_tricks.sliding_window_view(a, _int(2), axis=_int(1)),
}


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore")
def test_options_and_edges(device: str, rng: np.random.Generator) -> None:
    before = pt.default_device()
    pt.set_default_device(device)
    try:
        array = rng.standard_normal((3, 4)).astype(np.float32)
        array[0, 1], array[1, :2] = np.nan, np.nan
        for what, call in EDGES.items():
            compare(call(pt, pt.tensor(array)), call(np, array.astype(np.float64)), what)
    finally:
        pt.set_default_device(before)


def test_calls_that_numpy_rejects_too(device: str) -> None:
    x = pt.arange(3, device=device)
    choices = pt.tensor([[1, 2], [3, 4]], device=device)
    add: Any = pt.add
    partition: Any = pt.partition
    calls: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: pt.unravel_index([0, 6], (2, 3)), ValueError, "unravel_index: index 6 is out of"),
        (lambda: pt.unravel_index(-1, (2, 3)), ValueError, "unravel_index: index -1 is out of"),
        (
            lambda: pt.ravel_multi_index(([2], [0]), (2, 3)),
            ValueError,
            "ravel_multi_index: index 2 is",
        ),
        (lambda: pt.choose([0, 2], choices).numpy(), IndexError, "choose: "),
        (lambda: pt.choose([0, -1], choices).numpy(), IndexError, "choose: "),
        (lambda: add.reduceat(x, [0, 3]), IndexError, r"add\.reduceat: index 3 is out of range"),
        (lambda: partition(x, 1.0), TypeError, r"partition: kth must be .* of ints, not 1\.0"),
        (lambda: pt.putmask(x, x > 0, pt.ones(1, device=device)), TypeError, "putmask: float32"),
        (
            lambda: pt.nanmax(pt.ones(3), where=[True] * 3),
            ValueError,
            "max: has no identity, so where needs initial",
        ),
        (lambda: pt.linalg.norm(x[:0], -np.inf), ValueError, "min: no elements"),
        *(
            (lambda key=key: x.item(key), TypeError, "item: the index must be ints, not ")
            for key in (slice(0, 1), [1], None, 1.0, ...)
        ),
    ]
    for call, error, match in calls:
        with pytest.raises(error, match=f"^{match}"):
            call()


def test_an_iterable_is_not_read_beyond_the_count() -> None:
    numbers = iter(range(9))
    assert pt.fromiter(numbers, int, 3, device="cpu").tolist() == [0, 1, 2]
    assert next(numbers) == 3


@pytest.mark.computes
def test_norms_of_nothing(device: str) -> None:
    """The largest size is 0, as in NumPy from 2.3 on."""
    x = pt.zeros((0, 3), device=device)
    assert pt.linalg.norm(x, np.inf, 0).tolist() == [0, 0, 0]
    assert pt.linalg.norm(x, np.inf).item() == 0
    assert pt.linalg.norm(pt.ones((2, 3), device=device), np.inf).item() == 3
