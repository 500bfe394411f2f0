"""Views: which results are views, writes through them, base, flags, strides and shape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.ir.primitives import VIEW
from py_tensor.tools.control import dispatches
from tests.functions import functions
from tests.ops import references as ref
from tests.ops.compare import same
from tests.ops.compositions import CALLS
from tests.ops.operands import Few

Array = np.ndarray[Any, Any]
Call = Callable[[Any, Any], Any]  # takes a function, ours or NumPy's, and an operand

# -- What shares memory with its operand --------------------------------------------------------

OPERANDS: dict[str, Callable[[Any], Any]] = {
    "a matrix": lambda a: a,
    "a transpose": lambda a: a.T,
    "a window": lambda a: a[:2, 1:3],
    "every second": lambda a: a[::2, ::-2],
    "a row": lambda a: a[0],
    "a column": lambda a: a[:, 1],
    "one row": lambda a: a[:1],
    "one element": lambda a: a[:1, :1],
    "one element, flat": lambda a: a[0, :1],
    "0-d": lambda a: a[0, 0, ...],
    "nothing": lambda a: a[:0],
    "blocks": lambda a: a.reshape(2, 2, 3),
}

AXES = [{}, {"axis": 0}, {"axis": -1}]
PLAIN: list[Call] = [lambda f, a: f(a)]
FOLDS: list[Call] = [lambda f, a, given=given: f(a, **given) for given in AXES]
SORTS: list[Call] = [*FOLDS, lambda f, a: f(a, axis=None)]
REDUCED: list[Call] = [
    *FOLDS,
    lambda f, a: f(a, axis=0, keepdims=True),
    lambda f, a: f(a, axis=()),
]
TWICE: list[Call] = [lambda f, a: f(a, a)]
PAIRS: list[Call] = [*TWICE, lambda f, a: f(a, 1), lambda f, a: f(False, a)]
ALIKE: list[Call] = [lambda f, a: f(a), lambda f, a: f(a, dtype="float32")]

# Calls of functions that take neither one operand nor two.
GIVEN: dict[str, list[Call]] = {
    "array_split": [lambda f, a: f(a, 1), lambda f, a: f(a, 3)],
    "astype": [
        lambda f, a: f(a, a.dtype.name if isinstance(a, np.ndarray) else a.dtype),
        lambda f, a: f(a, a.dtype.name if isinstance(a, np.ndarray) else a.dtype, copy=False),
        lambda f, a: f(a, "float32", copy=False),
    ],
    "bincount": [lambda f, a: f(a > 0, minlength=3)],
    "broadcast_to": [lambda f, a: f(a, a.shape), lambda f, a: f(a, (2, *a.shape))],
    "clip": [lambda f, a: f(a, None, None), lambda f, a: f(a, 0, None), lambda f, a: f(a, 0, 1)],
    "compress": [lambda f, a: f([True] * a.size, a), lambda f, a: f([True] * len(a), a, 0)],
    "concat": [lambda f, a: f([a]), lambda f, a: f([a, a[:0]]), lambda f, a: f([a], axis=None)],
    "concatenate": [lambda f, a: f([a]), lambda f, a: f([a, a[:0]])],
    "copy": PLAIN,
    "diag": [lambda f, a: f(a), lambda f, a: f(a, 1)],
    "expand": [lambda f, a: f(a, a.shape), lambda f, a: f(a, (2, *a.shape))],
    "expand_dims": [lambda f, a: f(a, 0), lambda f, a: f(a, ())],
    "extract": [lambda f, a: f(a == a, a)],
    "flip": [*PLAIN, lambda f, a: f(a, 0), lambda f, a: f(a, ())],
    "full": [lambda f, a: f(a.shape, a), lambda f, a: f((2, *a.shape), a)],
    "full_like": [lambda f, a: f(a, 1)],
    "hstack": [lambda f, a: f([a]), lambda f, a: f([a, a])],
    "isclose": [lambda f, a: f(a, a)],
    "meshgrid": [lambda f, a: f(a), lambda f, a: f(a, a)],
    "moveaxis": [lambda f, a: f(a, 0, -1), lambda f, a: f(a, 0, 0)],
    "outer": [lambda f, a: f(a, a), lambda f, a: f(a, True)],
    "pad": [lambda f, a: f(a, 0), lambda f, a: f(a, 1)],
    "permute": [lambda f, a: f(a, tuple(range(a.ndim)))],
    "repeat": [lambda f, a: f(a, 1), lambda f, a: f(a, 1, axis=0), lambda f, a: f(a, 2, axis=0)],
    "reshape": [
        lambda f, a: f(a, a.shape),
        lambda f, a: f(a, -1),
        lambda f, a: f(a, (1, a.size)),
        lambda f, a: f(a, -1, order="F"),
        lambda f, a: f(a, -1, order="A"),
        lambda f, a: f(a, a.shape, copy=True),
        lambda f, a: f(a, (a.size // 2, 2)),
    ],
    "ravel": [lambda f, a, order=order: f(a, order=order) for order in "CFAK"],
    "roll": [lambda f, a: f(a, 0), lambda f, a: f(a, 1), lambda f, a: f(a, 0, axis=0)],
    "round": [lambda f, a: f(a), lambda f, a: f(a, 1), lambda f, a: f(a, -1)],
    "shares_memory": [lambda f, a: f(a, a)],
    "may_share_memory": [lambda f, a: f(a, a)],
    "split": [lambda f, a: f(a, 1), lambda f, a: f(a, [1])],
    "squeeze": [*PLAIN, lambda f, a: f(a, axis=()), lambda f, a: f(a, axis=0)],
    "stack": [lambda f, a: f([a]), lambda f, a: f([a, a], axis=-1)],
    "swapaxes": [lambda f, a: f(a, 0, 0), lambda f, a: f(a, 0, -1)],
    "take": [
        lambda f, a: f(a, range(len(a)), 0),
        lambda f, a: f(a, [0]),
        lambda f, a: f(a, 0),
        lambda f, a: f(a, 0, axis=0),
    ],
    "take_along_axis": [lambda f, a: f(a, np.zeros(a.shape, np.int32), axis=0)],
    "tile": [lambda f, a: f(a, 1), lambda f, a: f(a, ()), lambda f, a: f(a, (1, 2))],
    "transpose": [*PLAIN, lambda f, a: f(a, tuple(range(a.ndim)))],
    "tril": [lambda f, a: f(a), lambda f, a: f(a, 9)],
    "triu": [lambda f, a: f(a), lambda f, a: f(a, -9)],
    "vstack": [lambda f, a: f([a])],
    "where": [lambda f, a: f(True, a, a), lambda f, a: f(a == a, a, 0)],
    # Functions that NumPy lacks, or has under another name.
    "crop": [lambda f, a: f(a, [(0, n) for n in a.shape])],
    "fused_multiply_add": [lambda f, a: f(a, a, axes=()), lambda f, a: f(a, a, axes=0)],
    "layer_norm": PLAIN,
    **dict.fromkeys(("softmax", "log_softmax"), FOLDS),
    **dict.fromkeys(("flatten", "nonzero", "flatnonzero", "argwhere", "trace"), PLAIN),
    **dict.fromkeys(("diagonal", "matrix_transpose"), PLAIN),
    **dict.fromkeys(("empty_like", "ones_like", "zeros_like"), ALIKE),
    **dict.fromkeys(
        ("count_nonzero", "ptp", "cumsum", "cumprod", "cumulative_sum", "cumulative_prod"), FOLDS
    ),
    **dict.fromkeys(("sort", "argsort"), SORTS),
    **dict.fromkeys(("allclose", "array_equal", "divmod", "dot", "matmul"), TWICE),
    **dict.fromkeys(ref.UNARY, PLAIN),
    **dict.fromkeys(ref.BINARY, PAIRS),
    **dict.fromkeys(ref.REDUCTIONS, REDUCED),
}


class Only:
    """A module with one function."""

    def __init__(self, name: str, function: Any) -> None:
        setattr(self, name, function)


for _name, _calls in CALLS.items():
    GIVEN[_name] = [lambda f, a, n=_name, c=c: c(Only(n, f), a) for c in _calls]
GIVEN |= {
    "as_strided": [lambda f, a: f(a, (2,), (4,))],
    "sliding_window_view": [lambda f, a: f(a, (2, 2))],
    **dict.fromkeys(("frexp", "modf", "poly", "roots"), PLAIN),
    **dict.fromkeys(("diag_indices_from", "real_if_close", "sort_complex", "unwrap"), PLAIN),
    "histogramdd": [lambda f, a: f(a, 1)],
    "packbits": FOLDS,
    "trim_zeros": [lambda f, a: f(a, axis=0)],
    "unpackbits": [lambda f, a: f(a.astype("uint8")), lambda f, a: f(a.astype("uint8"), axis=0)],
    "ldexp": [lambda f, a: f(a, 0), lambda f, a: f(a, np.ones(a.shape, np.int32))],
    **dict.fromkeys(("polyadd", "polydiv", "polymul", "polysub"), TWICE),
    "polyder": [*PLAIN, lambda f, a: f(a, 2)],
    "polyint": [*PLAIN, lambda f, a: f(a, 2)],
    "polyfit": [lambda f, a: f(np.arange(len(a)), a, 1)],
    **dict.fromkeys(ref.NEARLY, PAIRS),
}
WITHOUT_OPERAND = {
    "zeros",
    "ones",
    "empty",
    "eye",
    "arange",
    "linspace",
    *("diag_indices", "fromfunction", "fromiter", "geomspace", "identity", "indices", "logspace"),
    *("tri", "tril_indices", "triu_indices"),
    *("bartlett", "blackman", "hamming", "hanning", "kaiser"),
    *("einsum_path", "mask_indices"),
    "rand",
    "randn",
    "randint",
}
WRITING = {"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"}


def _broadcast(*arrays: Array) -> list[Array]:
    """NumPy's `broadcast_arrays`, whose results will be read-only in a later version."""
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    return [a if a.shape == shape else np.broadcast_to(a, shape) for a in arrays]


def _numpys(name: str) -> Any:
    """Return the NumPy function that shares memory in the cases in which ours should."""
    own: dict[str, Any] = {
        "as_strided": np.lib.stride_tricks.as_strided,
        "sliding_window_view": np.lib.stride_tricks.sliding_window_view,
        "broadcast_arrays": _broadcast,
        "crop": lambda a, window: a[*(slice(*pair) for pair in window), ...],
        "expand": np.broadcast_to,
        "permute": np.transpose,
        "flatten": lambda a: a.flatten(),
        "divmod": np.divmod,
        "round": lambda a, decimals=0: +a,  # up to NumPy 2.2, the operand itself for integers
    }
    return own.get(name) or getattr(np, name, None)


def _parts(result: Any) -> Iterator[Any]:
    """Yield the arrays of a result: one, several or none."""
    for part in result if isinstance(result, list | tuple) else [result]:
        if isinstance(part, pt.Tensor | np.ndarray | np.generic):
            yield part


def _is_part(part: Any, whole: Any, shares: Any) -> bool:
    """Return whether a result is its operand or shares memory with it."""
    return part is whole or (not isinstance(part, np.generic) and shares(part, whole))


PARTS = 4  # all functions: many kernels are compiled for each shard


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("part", range(PARTS))
def test_results_share_memory_like_numpys(device: str, part: int, few: Few) -> None:
    """The result of every function is a view, or read-only, exactly if NumPy's is.

    A function that returns its operand by accident, because there is nothing to do, fails here.
    """
    assert GIVEN.keys() | WITHOUT_OPERAND | WRITING == functions().keys()
    wrong: list[str] = []
    given = list(GIVEN.items())[part::PARTS]
    for name, calls in few(given, len(given) // 4):
        ran = 0
        for dtype in ("float32", "int32", "bool"):
            array = np.arange(12).reshape(3, 4).astype(dtype)
            x = pt.tensor(array, device=device)
            for kind, make in OPERANDS.items():
                for n, call in enumerate(calls):
                    ours, numpys = make(x), make(array)
                    try:
                        got = list(_parts(call(functions()[name], ours)))
                    except (TypeError, ValueError, IndexError, ArithmeticError):
                        continue  # an operand that it does not accept
                    expected: list[Any] = []
                    if _numpys(name) is not None:
                        try:
                            with np.errstate(all="ignore"):
                                expected = list(_parts(call(_numpys(name), numpys)))
                        except (TypeError, ValueError, IndexError, ZeroDivisionError):
                            pass
                    expected = expected or [None] * len(got)  # none, or a Python number
                    ran += 1
                    for mine, theirs in zip(got, expected, strict=True):
                        shared = _is_part(mine, ours, pt.shares_memory)
                        want = theirs is not None and _is_part(theirs, numpys, np.shares_memory)
                        what = f"{name} {n} of {kind}, {dtype}"
                        if shared != want and (shared or mine.size):
                            wrong.append(f"{what}: shared is {shared}")
                        elif isinstance(theirs, np.ndarray) and (
                            mine.flags.writeable != theirs.flags.writeable
                        ):
                            wrong.append(f"{what}: writeable is {mine.flags.writeable}")
        assert ran, name
    assert not wrong, "\n".join(wrong)


# -- Views, one by one --------------------------------------------------------------------------

ONE, ONE_IN_AN_ARRAY = np.int64(1), np.array(1)
# name -> a view, or a copy, of an array of shape (2, 3, 4), by the module `np` of either library
MADE: dict[str, Callable[[Any, Any], Any]] = {
    "all": lambda np, a: a[...],
    "no index": lambda np, a: a[()],
    "a row": lambda np, a: a[1],
    "the last row": lambda np, a: a[-1, -1],
    "an element, 0-d": lambda np, a: a[1, 2, 3, ...],
    "an integer of NumPy's": lambda np, a: a[ONE],
    "a slice": lambda np, a: a[1:],
    "slices with steps": lambda np, a: a[::2, 1:, ::3],
    "reversed": lambda np, a: a[::-1],
    "backwards from within": lambda np, a: a[:, 2:0:-1, 3::-2],
    "past the end": lambda np, a: a[:9, -9:2],
    "nothing": lambda np, a: a[5:],
    "a column": lambda np, a: a[..., 1],
    "new axes": lambda np, a: a[None, :, None, 1, 2:, None],
    "T": lambda np, a: a.T,
    "mT": lambda np, a: a.mT,
    "transpose": lambda np, a: a.transpose(1, 0, 2),
    "swapaxes": lambda np, a: a.swapaxes(0, 2),
    "moveaxis": lambda np, a: np.moveaxis(a, 0, -1),
    "flip": lambda np, a: np.flip(a, (0, 2)),
    "expand_dims": lambda np, a: np.expand_dims(a, (0, 2)),
    "squeeze": lambda np, a: a[:1, :, :1].squeeze(),
    "diagonal": lambda np, a: a[0].diagonal(1),
    "diagonals": lambda np, a: np.diagonal(a, 0, 2, 1),
    "diag": lambda np, a: np.diag(a[1].T, -1),
    "part of a split": lambda np, a: np.split(a, 2, axis=2)[1],
    "part of an array_split": lambda np, a: np.array_split(a, 3, axis=-1)[0],
    "broadcast": lambda np, a: np.broadcast_to(a[:, :1], (2, 3, 4)),
    "broadcast to no more": lambda np, a: np.broadcast_to(a, (2, 3, 4)),
    "reshape": lambda np, a: a.reshape(6, 4),
    "reshape to axes of 1": lambda np, a: a.reshape(1, 2, 3, 1, 4),
    "reshape flat": lambda np, a: a.reshape(-1),
    "reshape of a transpose": lambda np, a: a.T.reshape(-1),
    "reshape of a transpose, column-major": lambda np, a: a.T.reshape(-1, order="F"),
    "reshape of a transpose that splits an axis": lambda np, a: a.T.reshape(2, 2, 3, 2),
    "reshape of a step": lambda np, a: a[:, :, ::2].reshape(6, 2),
    "reshape of a step in the middle": lambda np, a: a[:, ::2].reshape(2, 8),
    "reshape of a window": lambda np, a: a[:, :2].reshape(2, 8),
    "reshape of a window across": lambda np, a: a[:, :2].reshape(4, 4),
    "reshape of a reversed one": lambda np, a: a.reshape(-1)[::-1].reshape(4, 6),
    "reshape column-major": lambda np, a: a.reshape(6, 4, order="F"),
    "reshape by a copy": lambda np, a: a.reshape(6, 4, copy=True),
    "ravel": lambda np, a: a.ravel(),
    "ravel of a row": lambda np, a: a[1].ravel(),
    "ravel of a transpose": lambda np, a: a.T.ravel(),
    "ravel of a transpose, column-major": lambda np, a: a.T.ravel("F"),
    "ravel of a transpose, as it lies": lambda np, a: a.T.ravel("A"),
    "ravel of a permutation, as it lies": lambda np, a: a.transpose(1, 0, 2).ravel("K"),
    "ravel of a turned view, as it lies": lambda np, a: a[:, ::-1].transpose(2, 0, 1).ravel("K"),
    "ravel of a slice": lambda np, a: a[:, 1:].ravel(),
    "ravel of one element": lambda np, a: a[1:, 1:2, 2:3].ravel(),
    "flatten": lambda np, a: a.flatten(),
    "flatten of a transpose": lambda np, a: a.T.flatten("F"),
    "flatten as it lies": lambda np, a: a.transpose(2, 0, 1).flatten("K"),
    "copy": lambda np, a: a.copy(),
    "copy of a view": lambda np, a: a[1].T.copy(),
    "astype": lambda np, a: a.astype("float32"),
    "astype without a copy": lambda np, a: a[1].astype("float32", copy=False),
    "a list of rows": lambda np, a: a[[0, 1]],
    "a mask": lambda np, a: a[a > 5],
    "an array of one row": lambda np, a: a[ONE_IN_AN_ARRAY],
    "a chain": lambda np, a: a[1:].T[::-2].reshape(2, 3)[:, 1:],
    "a chain of reshapes": lambda np, a: a.reshape(4, 6)[1:, ::2].T[::-1].swapaxes(0, 1)[1],
    "a chain through a copy": lambda np, a: a.T.reshape(6, 4)[::2].T,
    "a chain of broadcasts": lambda np, a: np.broadcast_to(a[:, None, 0], (2, 5, 4))[:, 1].T,
}


SEEN: list[Callable[[Any, Any], Any]] = [
    lambda np, a: a,
    lambda np, a: a[:, ::-1],
    lambda np, a: a[::-1, :, ::-2],
    lambda np, a: a[:, 1:2],
    lambda np, a: a[:0],
    lambda np, a: a[1],
    lambda np, a: np.broadcast_to(a[:, None], (2, 5, 3, 4)),
    lambda np, a: np.broadcast_to(a[:, 1:2], (2, 3, 4)),
    lambda np, a: np.broadcast_to(a[0, 0], (3, 2, 4)),
]


@pytest.mark.computes
def test_elements_as_they_lie_in_memory(device: str) -> None:
    """NumPy's K order, for all permutations of views with negative, long or zero strides."""
    x, array = both(device)
    for number, see in enumerate(SEEN):
        mine, theirs = see(pt, x), see(np, array)
        for order in permutations(range(theirs.ndim)):
            got, expected = mine.transpose(order), theirs.transpose(order)
            what = f"view {number} by {order}"
            same(got.ravel(order="K"), expected.ravel(order="K"), what)
            same(got.flatten("K"), expected.flatten("K"), what)
            assert pt.shares_memory(got.ravel("K"), x) == np.shares_memory(
                expected.ravel("K"), array
            ), what
    for make in (lambda x: x.reshape(-1, order="K"), lambda x: x.ravel("X")):
        for each in (x, array):
            with pytest.raises(ValueError, match="order"):
                make(each)


def both(device: str, shape: tuple[int, ...] = (2, 3, 4)) -> tuple[Any, Array]:
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape).copy()
    return pt.tensor(array, device=device), array


def check_alike(mine: Any, theirs: Any, what: str) -> None:
    """Compare flags and strides, except strides of axes of length 1, which are arbitrary."""
    flags = ("c_contiguous", "f_contiguous", "owndata", "writeable")
    is_own = theirs.base is None
    for flag in flags:
        if is_own and flag.endswith("contiguous"):
            continue  # computed results are row-major here; NumPy's order may differ
        got, expected = getattr(mine.flags, flag), getattr(theirs.flags, flag)
        assert got == expected == mine.flags[flag.upper()], f"{what}: {flag} is {got}"
    if theirs.size and not is_own:
        long = [n > 1 for n in theirs.shape]
        got = [s for s, is_long in zip(mine.strides, long, strict=True) if is_long]
        expected = [s for s, is_long in zip(theirs.strides, long, strict=True) if is_long]
        assert got == expected, f"{what}: strides {mine.strides}, not {theirs.strides}"


@pytest.mark.computes
def test_each_view(device: str) -> None:
    """Writes to a view are visible in its base and vice versa; writes to a copy are not."""
    for name, make in MADE.items():
        x, a = both(device)
        v, w = make(pt, x), make(np, a)
        shared = np.shares_memory(w, a)
        assert pt.shares_memory(v, x) == shared, f"{name}: {pt.shares_memory(v, x)}"
        assert (v.base is x) == (w.base is not None and (shared or not w.size)), name
        assert not shared or v.base is x, f"{name}: the base is {v.base!r}"
        if shared:
            check_alike(v, w, name)
        x[...] = x * 2 + 1
        a[...] = a * 2 + 1
        same(v, w, f"{name} after a write to the base")
        if not w.flags.writeable:
            with pytest.raises(ValueError, match=r"^setitem: the tensor is read-only"):
                v[...] = 7
            same(x, a, f"the base after a refused write to {name}")
            continue
        for write in (
            lambda target: target.__setitem__(..., target * -1),
            lambda target: target.__iadd__(5),
            lambda target: target.fill(3),
        ):
            write(v)
            write(w)
            same(v, w, f"{name} after a write")
            same(x, a, f"the base after a write to {name}")


@pytest.mark.computes
def test_several_views_of_one_base(device: str, rng: np.random.Generator) -> None:
    """Overlapping views see each other's writes, computed or pending, in any order."""
    x, a = both(device, (6, 8))
    names = ["all"]
    ours, numpys = [x], [a]
    for name, make in {
        "T": lambda a: a.T,
        "rows": lambda a: a[1:4],
        "columns": lambda a: a[:, ::3],
        "flat": lambda a: a.reshape(-1)[5:40],
        "reversed": lambda a: a[::-1, ::-1],
        "an element": lambda a: a[2, 3, ...],
        "a row": lambda a: a[2],
    }.items():
        names.append(name)
        ours.append(make(x))
        numpys.append(make(a))
    for n in range(40):
        at, value = rng.integers(len(names)), float(n)
        ours[at][...] = ours[at] * 0.5 + value
        numpys[at][...] = numpys[at] * 0.5 + value
        if n % 5 == 1:
            ours[rng.integers(len(names))].realize()
        if n % 4 == 0:
            k = rng.integers(len(names))
            same(ours[k], numpys[k], f"{names[k]} after a write to {names[at]}")
    for name, mine, theirs in zip(names, ours, numpys, strict=True):
        same(mine, theirs, name)


@pytest.mark.computes
def test_a_view_outlives_its_base(device: str) -> None:
    x, a = both(device)
    v, w = x[1].T, a[1].T
    base = v.base
    del x
    v[1:] = 9
    w[1:] = 9
    same(v, w, "the view")
    same(base, a, "its base")
    del base, v
    x, a = both(device)
    views = [x[n] for n in range(2)]
    del views
    x[0] = 1
    a[0] = 1
    same(x, a, "a base without its views")


@pytest.mark.computes
def test_copies(device: str) -> None:
    """A copy has the elements at the time of copying, computed or not."""
    for pending in (False, True):
        x, a = both(device)
        if pending:
            x, a = x + 1, a + 1
        copies, expected = [x.copy(), pt.copy(x), x[1:].copy(), x.T.copy()], a.copy()
        x += 100
        a += 100
        same(x, a, "the original")
        for kept, theirs in zip(
            copies, [expected, expected, expected[1:], expected.T], strict=True
        ):
            assert kept.base is None
            same(kept, theirs, "a copy after a write to the original")
        copies[0][0] = -1
        same(copies[1], expected, "another copy")
        same(x, a, "the original after a write to the copy")
    makers: tuple[Callable[[Any], Any], ...] = (pt.array, pt.tensor, np.copy)
    for make in makers:
        y: Any = make(x)
        assert not pt.may_share_memory(x, y), make
    assert pt.asarray(x) is x


HASHED: dict[str, Callable[[Any, Any], Any]] = {
    "membership": lambda np, x: [v in set(x) for v in (1, 3, True, 2.0, 5, False)],
    "membership of an element": lambda np, x: [v in {1, 2.0, 7} for v in x],
    "distinct elements": lambda np, x: sorted(map(int, set(x))),
    "a dict": lambda np, x: {3: "three", 1: "one", 2: "two"}[x[0]],
    "a dict of elements": lambda np, x: {v: int(v) for v in x}[3],
    "counts": lambda np, x: sorted(Counter(x).values()),
    "a sum": lambda np, x: x.sum() in {9, 10},
    "floats": lambda np, x: [(x / 2)[0] in {1.5}, 0.5 in set(x / 2), -0.0 in {(x - 3)[0]}],
    "bools": lambda np, x: [(x > 2)[0] in {True}, len(set(x > 2)), 1 in set(x > 2)],
    "a walk that comes back": lambda np, x: len(set(list(x) + list(x + 0))),
}


@pytest.mark.computes
@pytest.mark.parametrize("program", HASHED)
def test_scalars_hash_by_value(program: str, device: str) -> None:
    run = HASHED[program]
    expected = run(np, np.array([3, 1, 3, 2], np.int32))
    assert run(pt, pt.array([2, 0, 2, 1], device=device) + 1) == expected


def test_arrays_are_unhashable(device: str) -> None:
    x = pt.array([3, 1], device=device)
    for array in (x, x + 1, x[0, ...], pt.array(3, device=device)):
        with pytest.raises(TypeError, match="unhashable"):
            hash(array)


@pytest.mark.computes
def test_elements_are_scalars(device: str) -> None:
    """A full index of ints gives a scalar that does not change; with an ellipsis, a 0-d view."""
    x, a = both(device)
    element, view, total = x[1, 2, 3], x[1, 2, 3, ...], x.sum()
    assert element.is_scalar
    assert total.is_scalar
    assert not view.is_scalar
    assert not pt.array(2.5, device=device).is_scalar
    assert not pt.zeros((), device=device).is_scalar
    before, x[1, 2, 3] = element, -5
    a[1, 2, 3] = -5
    assert element.item() == 23
    element += 1
    assert before.item() == 23
    assert element.item() == 24
    kept = view
    view += 1
    a[1, 2, 3] += 1
    assert kept is view
    same(x, a, "after a write to a 0-d view")
    zero_d = kept = pt.array(2.5, device=device)
    zero_d += 1
    assert kept.item() == 3.5
    assert kept[()].is_scalar


@pytest.mark.computes
@pytest.mark.parametrize(
    "select",
    [
        lambda a: a[a[:, 0].argmax()],
        lambda a: a[a[:, 0].argmax() - 3],
        lambda a: a[:, a[0].argmin()],
        lambda a: a[None, a[:, 0].argmin(), ::-2],
        lambda a: a.T[1:, a[:, 0].argmax()],
        lambda a: a[..., a[:, 0].argmax(), a[0].argmin()],
    ],
)
def test_a_result_as_an_index_gives_a_view(
    select: Callable[[Any], Any], device: str, rng: np.random.Generator
) -> None:
    """A 0-d result acts as an int in an index, and is read only once something is written."""
    array = rng.permuted(np.arange(12, dtype=np.float32)).reshape(3, 4)
    x, a = pt.tensor(array, device=device), array.copy()
    before = dispatches() if device == "webgpu" else 0
    v, w = select(x), select(a)
    assert device == "cpu" or dispatches() == before
    same(v * 2, w * 2, "what is made of it")
    assert v.base is x
    x += 1
    a += 1
    same(v, w, "after a write to the base")
    v, w = select(x), select(a)
    v *= 3
    w *= 3
    same(x, a, "after a write to the view")
    same(v[..., None].T, w[..., None].T, "a view of it")
    assert v.strides == w.strides


@pytest.mark.computes
def test_iteration_gives_views(device: str) -> None:
    x, a = both(device)
    for mine, theirs in zip(x, a, strict=True):
        mine *= 2
        theirs *= 2
        for part, numpys in zip(mine.T, theirs.T, strict=True):
            part[0] = 0
            numpys[0] = 0
    same(x, a, "after writes to rows")
    for element in x[0, 0]:
        element += 1
    same(x, a, "after additions to elements")
    first, _ = x
    assert first.base is x


def test_read_only(device: str) -> None:
    x, a = both(device)
    v = pt.broadcast_to(x[:, :1], (2, 3, 4))
    writes: dict[str, Callable[[Any], Any]] = {
        "setitem": lambda v: v.__setitem__(0, 1),
        "setitem by a mask": lambda v: v.__setitem__(v > 0, 1),
        "setitem by integers": lambda v: v.__setitem__([0], 1),
        "fill": lambda v: v.fill(1),
        "sort": lambda v: v.sort(),
        "partition": lambda v: v.partition(0),
        "put": lambda v: v.put(0, 1),
        "copyto": lambda v: pt.copyto(v, 1),
        "putmask": lambda v: pt.putmask(v, v > 0, 1),
        "place": lambda v: pt.place(v, v > 0, 1),
        "fill_diagonal": lambda v: pt.fill_diagonal(v[0], 1),
        "put_along_axis": lambda v: pt.put_along_axis(v, v.argsort(), 1, -1),
        "iadd": lambda v: v.__iadd__(1),
        "imatmul": lambda v: v[0, :2, :2].__imatmul__(v[0, :2, :2]),
        "add": lambda v: pt.add(x, 1, out=v),
        "sum": lambda v: pt.sum(x, 0, out=v[0]),
    }
    fixed = x.copy()
    fixed.flags.writeable = False
    for target in (v, v[::-1], x[0].diagonal()[:, None, None], fixed, fixed[1:], fixed.T):
        assert not target.flags.writeable
        for name, write in writes.items():
            if target.shape[0] > 2 and name in ("fill_diagonal", "imatmul", "add", "sum"):
                continue
            with pytest.raises(ValueError, match="read-only"):
                write(target)
    same(x, a, "after refused writes")
    same(fixed, a, "a read-only one")
    assert v.copy().flags.writeable
    assert (v + 0).flags.writeable


def test_the_flag(device: str) -> None:
    x, _ = both(device)
    before = x[0]
    x.flags.writeable = False
    assert before.flags.writeable  # as in NumPy: existing views stay as they are
    assert not x[0].flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        x[0].flags.writeable = True
    x.flags["WRITEABLE"] = True
    view = x[0]
    view.flags.writeable = False
    assert x.flags.writeable
    assert not view[0].flags.writeable
    view.flags.writeable = True
    assert view[0].flags.writeable
    diagonal = x[0].diagonal()
    diagonal.flags.writeable = True
    diagonal[...] = 0
    with pytest.raises(ValueError, match="read-only"):
        pt.broadcast_to(x, (2, 2, 3, 4)).flags.writeable = True
    assert "WRITEABLE : True" in repr(x.flags)


@pytest.mark.computes
def test_setting_the_shape(device: str) -> None:
    views: dict[str, Callable[[Any], Any]] = {
        "a base": lambda a: a,
        "a window": lambda a: a[1:],
        "a step": lambda a: a[:, :, ::2],
        "reversed": lambda a: a[::-1, ::-1, ::-1],
    }
    for name, make in views.items():
        x, a = both(device)
        row = x[1], a[1]
        v: Any = make(x)
        w: Any = make(a)
        flat = w.reshape(-1).shape if np.shares_memory(w.reshape(-1), a) else None
        if flat:
            v.shape = -1
            w.shape = -1
            same(v, w, f"{name}, flat")
            v[2:4] = 7
            w[2:4] = 7
        v.shape = w.shape = (1, *np.shape(w))
        v += 1
        w += 1
        same(v, w, name)
        same(x, a, f"the base of {name}")
        same(*row, f"another view of the base of {name}")
    x, a = both(device)
    with pytest.raises(AttributeError, match=r"^shape: \(4, 3, 2\) cannot become \(24,\) without"):
        x.T.shape = -1
    for wrong in ((5,), (-1, 7), (-1, -1)):
        with pytest.raises(pt.ShapeError, match=r"^shape: "):
            x.shape = wrong
    same(x, a, "after refused shapes")


def test_may_share_memory(device: str) -> None:
    x, a = both(device, (6, 8))
    parts: list[Callable[[Any], Any]] = [
        lambda a: a,
        lambda a: a.T,
        lambda a: a[:3],
        lambda a: a[3:],
        lambda a: a[:, ::2],
        lambda a: a[:, 1::2],
        lambda a: a[::2, 1],
        lambda a: a.reshape(-1)[::-5],
        lambda a: a.reshape(-1)[2::5],
        lambda a: a[0, 0, ...],
        lambda a: a[:0],
    ]
    for one in parts:
        for other in parts:
            got, expected = (
                f(one(a), other(a)) for f, a in ((pt.shares_memory, x), (np.shares_memory, a))
            )
            assert got == expected
            assert pt.may_share_memory(one(x), other(x)) or not got
    assert not pt.may_share_memory(x[:3], x[3:])
    assert not pt.may_share_memory(x, x + 0)


@pytest.mark.computes
def test_values_of_the_time(device: str) -> None:
    """Results of a tensor, computed or pending, use its elements at the time of the call."""
    x, a = both(device)
    y, b = x * 2, a * 2
    total, expected = x.sum(), a.sum()
    rows, numpys = x[[1, 0]], a[[1, 0]]
    x[0] = -1
    a[0] = -1
    z, c = x + y, a + b
    x.T[1] = 50
    a.T[1] = 50
    for mine, theirs, what in (
        (x, a, "the tensor"),
        (y, b, "what is pending"),
        (total, expected, "a sum"),
        (rows, numpys, "selected rows"),
        (z, c, "of both"),
    ):
        same(mine, theirs, what)


@pytest.mark.computes
def test_many_writes_between_reads(device: str, rng: np.random.Generator) -> None:
    """More writes than can be pending at once, through views made before and after."""
    array = rng.integers(-9, 9, (40, 50)).astype(np.float32)
    x, a = pt.tensor(array, device=device), array.copy()
    v, w = x[::2].T, a[::2].T
    for n in range(600):
        i, j = int(rng.integers(40)), int(rng.integers(50))
        if n % 3 == 0:
            x[i, j] = n
            a[i, j] = n
        elif n % 3 == 1:
            v[j, i // 2] += 1
            w[j, i // 2] += 1
        else:
            x[i] = v[:, i // 2]
            a[i] = w[:, i // 2]
    same(x, a, "the base")
    same(v, w, "the view")


# -- What is 0-d: an array, or a scalar ----------------------------------------------------------

ZERO_D: dict[str, Call] = {
    "copy": lambda np, d: d.copy(),
    "copy, a function": lambda np, d: np.copy(d),
    "astype": lambda np, d: d.astype("int32"),
    "astype its own": lambda np, d: d.astype(d.dtype),
    "asarray": lambda np, d: np.asarray(d),
    "array": lambda np, d: np.array(d),
    "zeros_like": lambda np, d: np.zeros_like(d),
    "full_like": lambda np, d: np.full_like(d, 2),
    "full": lambda np, d: np.full((), 3.0),
    "where": lambda np, d: np.where(d > 0, d, 2.0),
    "roll": lambda np, d: np.roll(d, 1),
    "tile": lambda np, d: np.tile(d, ()),
    "broadcast_to": lambda np, d: np.broadcast_to(d, ()),
    "reshape": lambda np, d: d.reshape(()),
    "reshape a vector": lambda np, d: np.ones(1).reshape(()),
    "squeeze": lambda np, d: np.ones(1).squeeze(),
    "transpose": lambda np, d: d.T,
    "ellipsis": lambda np, d: np.ones(3)[1, ...],
    "no index": lambda np, d: d[()],
    "an index": lambda np, d: np.ones(3)[1],
    "an index array": lambda np, d: np.arange(3)[np.array(1)],
    "an element of an iterator": lambda np, d: next(iter(np.ones(3))),
    "take": lambda np, d: np.take(np.ones(3), 1),
    "flip": lambda np, d: np.flip(d),
    "clip": lambda np, d: d.clip(0, 1),
    "negative": lambda np, d: -d,
    "positive": lambda np, d: +d,
    "add": lambda np, d: d + 1,
    "isnan": lambda np, d: np.isnan(d),
    "sum": lambda np, d: d.sum(),
    "sum of a vector": lambda np, d: np.ones(3).sum(),
    "any": lambda np, d: np.any(d),
    "mean": lambda np, d: d.mean(),
    "var": lambda np, d: np.var(d),
    "argmax": lambda np, d: d.argmax(),
    "count_nonzero": lambda np, d: np.asarray(np.count_nonzero(d))[()],
    "dot": lambda np, d: np.dot(np.ones(3), np.ones(3)),
    "matmul": lambda np, d: np.ones(3) @ np.ones(3),
    "trace": lambda np, d: np.trace(np.ones((2, 2))),
    "a scalar's copy": lambda np, d: (d + 0).copy(),
    "a scalar's astype": lambda np, d: (d + 0).astype("int32"),
    "a scalar's transpose": lambda np, d: (d + 0).T,
    "a scalar's reshape": lambda np, d: (d + 0).reshape(()),
    "a scalar's ellipsis": lambda np, d: (d + 0)[...],
    "a scalar's elements": lambda np, d: (d + 0)[()],
    "an element of flat": lambda np, d: d.flat[0],
    "a scalar's squeeze": lambda np, d: (d + 0).squeeze(),
    "asarray of a scalar": lambda np, d: np.asarray(d + 0),
    "array of a scalar": lambda np, d: np.array(d + 0),
}


@pytest.mark.parametrize("call", ZERO_D)
def test_0d_results_are_arrays_like_numpys(call: str, device: str) -> None:
    """``y = x; x += 1`` changes y if x is an array, and rebinds x if it is a scalar."""
    theirs = ZERO_D[call](np, np.array(3.0, np.float32))
    ours = ZERO_D[call](pt, pt.array(3.0))
    assert ours.is_scalar == isinstance(theirs, np.generic)


def test_results_of_a_scalar_do_not_write_to_it() -> None:
    scalar = pt.ones(3).sum()
    made = [scalar.reshape((1,)), scalar[None], scalar.T, scalar.copy(), pt.asarray(scalar)]
    for x in made:
        x += 1
    assert scalar.item() == 3
    assert scalar.is_scalar


def _random_view(shape: tuple[int, ...], rng: np.random.Generator) -> Callable[[Any, Any], Any]:
    def part(n: int) -> slice:
        start, stop = (int(i) for i in rng.integers(-n, n + 1, 2))
        return slice(start, stop, int(rng.choice([1, 1, 2, 3, -1, -2])))

    key = tuple(map(part, shape))
    kind = rng.integers(4)

    def view(m: Any, x: Any) -> Any:
        seen = x[key]
        if kind == 1:
            return seen.T
        if kind == 2 and seen.ndim > 1:
            return m.diagonal(seen)
        return m.broadcast_to(seen, (2, *seen.shape)) if kind == 3 else seen

    return view


def test_views_share_memory_where_numpys_do(rng: np.random.Generator) -> None:
    results: set[bool] = set()
    for _ in range(300):
        shape = tuple(int(n) for n in rng.choice([1, 2, 5, 7, 12], int(rng.integers(1, 4))))
        x, array = pt.zeros(shape, device="cpu"), np.zeros(shape)
        first, second = _random_view(shape, rng), _random_view(shape, rng)
        expected = np.shares_memory(first(np, array), second(np, array))
        assert pt.shares_memory(first(pt, x), second(pt, x)) == expected
        results.add(expected)
    assert len(results) == 2
    large = pt.zeros((30_000, 30_000), device="cpu")
    assert not pt.shares_memory(large[::2], large[1::2])
    assert not pt.shares_memory(large[:, ::2], large[:, 1::2])
    assert not pt.shares_memory(large[::2, ::3], large.T[1::3, ::2])
    assert pt.shares_memory(large[::2, 1::3], large.T[1::3, ::4])


def test_the_gradient_of_windows_that_overlap(device: str) -> None:
    """Elements in several windows get the sum of their gradients."""
    rng = np.random.default_rng()
    g = rng.integers(-8, 9, (2, 3, 3)).astype(np.float32)
    x = pt.ones((3, 4), device=device)
    attrs = g.shape, (4, 1, 2), 1
    i, j, k = np.ogrid[:2, :3, :3]
    places = 1 + 4 * i + j + 2 * k
    expected = np.zeros(12, np.float32)
    np.add.at(expected, places, g)
    vjp: Any = VIEW.vjp
    (found,) = vjp(pt.tensor(g, device=device), None, x, attrs)
    np.testing.assert_array_equal(found.numpy(), expected.reshape(3, 4))
