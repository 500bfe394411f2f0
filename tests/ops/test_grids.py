"""Ranges, grids, index tensors, windows, and functions that call Python, against NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, cast

import numpy as np
import pytest

import py_tensor as pt
from tests.ops.test_compositions import compare

Call = Callable[[Any], Any]


def _less_one(x: Any) -> Any:
    x -= 1
    return x


MADE: dict[str, list[Call]] = {
    "diag_indices": [lambda np: np.diag_indices(3), lambda np: np.diag_indices(2, 3)],
    "fromfunction": [
        lambda np: np.fromfunction(lambda i, j: i * 2 + j, (2, 3)),
        lambda np: np.fromfunction(lambda i, j: i == j, (3, 3), dtype=int),
        lambda np: np.fromfunction(lambda i, n: i + n, (4,), n=2),
    ],
    "fromiter": [
        lambda np: np.fromiter((i * i for i in range(5)), dtype=float),
        lambda np: np.fromiter(iter([1, 2, 3]), int, 2),
        lambda np: np.fromiter([], int),
    ],
    "geomspace": [
        lambda np: np.geomspace(1, 1000, 4),
        lambda np: np.geomspace(-2, -32, 5, endpoint=False),
        lambda np: np.geomspace(1, 8, 1),
        lambda np: np.geomspace(1, 8, 0, dtype=np.int32),
        lambda np: np.geomspace(8, 1, num=4, dtype=np.float32),
    ],
    "identity": [lambda np: np.identity(3), lambda np: np.identity(2, dtype=int)],
    "indices": [
        lambda np: np.indices((2, 3)),
        lambda np: np.indices((2, 3), sparse=True),
        lambda np: np.indices((0, 2)),
        lambda np: np.indices((4,), dtype=np.float32),
    ],
    "logspace": [
        lambda np: np.logspace(0, 2, 5),
        lambda np: np.logspace(0, 3, num=4, base=2, endpoint=False),
    ],
    "tri": [lambda np: np.tri(3), lambda np: np.tri(2, 4, 1), lambda np: np.tri(3, 2, -9, int)],
    "tril_indices": [lambda np: np.tril_indices(3), lambda np: np.tril_indices(3, 1, 4)],
    "triu_indices": [lambda np: np.triu_indices(3), lambda np: np.triu_indices(3, -1, 2)],
    "mgrid": [
        lambda np: np.mgrid[0:3, 1:3],
        lambda np: np.mgrid[0:1:5j, -1:1:0.5],
        lambda np: np.mgrid[2:8:2],
        lambda np: np.mgrid[0:1:3j],
        lambda np: np.mgrid[0 : np.array(3), 1 : np.array([4, 5])[0]],
        lambda np: np.mgrid[0 : 1 : np.array([1, 3])[1] * 1j],
    ],
    "ogrid": [lambda np: np.ogrid[0:3, 1:3], lambda np: np.ogrid[0:1:5j, :4, 2:0:-1]],
    "r_": [
        lambda np: np.r_[1:4, 0, [5, 6]],
        lambda np: np.r_[0:1:3j],
        lambda np: np.r_["0,2", [1, 2], [3, 4]],
        lambda np: np.r_["-1", np.ones((2, 1)), np.zeros((2, 2))],
    ],
    "c_": [
        lambda np: np.c_[[1, 2], [3, 4]],
        lambda np: np.c_[np.ones((2, 2)), [3, 4]],
        lambda np: np.c_[1:3],
    ],
    "vectorize": [
        lambda np: np.vectorize(lambda x, y: x if x > y else -y)([[1.5], [2.0]], [1.0, 3.0, 0.5]),
        lambda np: np.vectorize(lambda x: (x, x > 1))(np.ones((2, 2))),
        lambda np: np.vectorize(lambda x, k: x + k, excluded=["k"])([1, 2], k=5),
        lambda np: np.vectorize(lambda x: x, otypes=[float])([1, 2]),
        lambda np: np.vectorize(otypes=[float], excluded=None)(lambda x: x)([1, 2]),
        lambda np: np.vectorize(signature="(n)->()")(lambda x: x.sum())(np.ones((3, 2))),
        lambda np: np.vectorize(lambda x: x, otypes=["d"])(np.zeros((0, 2))),
        lambda np: np.vectorize(lambda: 1)(),
        lambda np: np.vectorize(lambda x, k: x + k, excluded={0, "k"})(1.5, k=2),
        lambda np: np.vectorize(lambda x: x * 1.5 if x else 0)([0, 1]),
        lambda np: np.vectorize(lambda x, y: x @ y, signature="(n),(n)->()")(
            np.ones((2, 3)), np.arange(3.0)
        ),
        lambda np: np.vectorize(lambda x, y: x @ y, signature="(m,n),(n)->(m)")(
            np.arange(24.0).reshape(2, 1, 4, 3), np.arange(12.0).reshape(4, 3)
        ),
        lambda np: np.vectorize(lambda x: (x.sum(), x * 2), signature=" ( n )->(), (n)")(
            np.arange(6.0).reshape(2, 3)
        ),
        lambda np: np.vectorize(lambda x, k: x[:k], excluded=[1], signature="(n)->(m)")(
            np.arange(6.0).reshape(2, 3), 2
        ),
        lambda np: np.vectorize(lambda x: x.sum(), signature="(n)->()", otypes=["d"])(
            np.zeros((0, 3))
        ),
        lambda np: np.vectorize(lambda x: x + 1, signature="()->()")(np.arange(3.0)),
        lambda np: np.vectorize(_less_one, signature="()->()")(np.arange(3.0)),
    ],
}


@pytest.mark.parametrize("name", MADE)
def test_against_numpy(name: str, device: str) -> None:
    before = pt.default_device()
    pt.set_default_device(device)
    try:
        for number, call in enumerate(MADE[name]):
            compare(call(pt), call(np), f"{name} {number}")
    finally:
        pt.set_default_device(before)


def test_vectorize_keeps_operands(device: str) -> None:
    """A function of core axes gets read-only tensors, as in NumPy."""
    for array in (np.arange(3.0), np.ones((2, 3)), np.ones((3, 2)).T):
        x = pt.tensor(array, device=device)
        with pytest.raises(ValueError, match=r"^isub: the tensor is read-only"):
            pt.vectorize(_less_one, signature="(n)->(n)")(x)
        assert x.tolist() == array.tolist()
        x += 1  # only the views are read-only


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_results_of_vectorize(device: str) -> None:
    """Results are found without warnings, and those of float16 and bfloat16 have their dtype."""
    for dtype in ("float16", "bfloat16"):
        x = pt.tensor([1, 2.5], dtype=dtype, device=device)
        doubled = pt.vectorize(lambda v: v * 2)(x)
        assert (str(doubled.dtype), doubled.tolist()) == (dtype, [2, 5])
        assert doubled.device == x.device
    x = pt.tensor([1, 1e30], device=device)
    large = pt.vectorize(lambda v: v, otypes=["float16"])(x)
    assert (large.dtype, large.tolist()) == (pt.float16, [1, float("inf")])
    assert pt.vectorize(lambda v: v if v > 1 else 0, otypes=[None])([1, 2.5]).tolist() == [0, 2.5]
    for cache, count in ((True, 2), (False, 3)):
        calls: list[Any] = []
        pt.vectorize(lambda v, calls=calls: calls.append(v) or v, cache=cache)(x)
        assert len(calls) == count


def test_keys() -> None:
    assert pt.s_[1:, ::2] == np.s_[1:, ::2]
    assert pt.s_[3] == 3
    assert pt.index_exp[3] == (3,)
    assert list(pt.ndindex(2, 2)) == list(pt.ndindex((2, 2))) == list(np.ndindex(2, 2))
    assert list(pt.ndindex(())) == [()]


BOUNDED: tuple[Callable[[Any, Any, Any], Any], ...] = (
    lambda np, u, v: np.mgrid[0:v, 0:2],
    lambda np, u, v: np.mgrid[u:v, :v:2, 0:v],
    lambda np, u, v: np.mgrid[u:v:u],
    lambda np, u, v: np.mgrid[u:v:3j],
    lambda np, u, v: np.mgrid[u:v:3j, 0:u],
    lambda np, u, v: np.mgrid[0:v, 0:1:0.25],
    lambda np, u, v: np.mgrid[0:5:v, u:7],
    lambda np, u, v: np.ogrid[u:v, 0:2],
    lambda np, u, v: np.ogrid[0:v:4j, u:9],
    lambda np, u, v: np.r_[u:v, v, 7],
    lambda np, u, v: np.r_[v, 7, u],
    lambda np, u, v: np.c_[u:v],
    lambda np, u, v: np.arange(u, v),
    lambda np, u, v: np.arange(v),
)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64", "float16", "float32"])
def test_bounds_that_are_tensors(dtype: str, device: str, default_device: None) -> None:
    """0-d tensors and NumPy's numbers as ends and steps, whose common dtype a grid has."""
    makers: list[Any] = [partial(pt.asarray, dtype=dtype)]
    if dtype != "int64":  # NumPy's are narrowed
        makers += [np.dtype(dtype).type, partial(np.asarray, dtype=dtype)]
    for case, make in product(BOUNDED, makers):
        expected = case(np, np.asarray(1, dtype), np.asarray(4, dtype))
        found = case(pt, make(1), make(4))
        wanted = expected if isinstance(expected, tuple) else (expected,)
        for part, whole in zip(
            found if isinstance(found, tuple) else (found,), wanted, strict=True
        ):
            name = whole.dtype.name
            narrow = {"int64": "int32", "float64": "float32"}
            np.testing.assert_allclose(part.numpy(), whole, 1e-3)
            assert part.dtype == (name if name == dtype else narrow.get(name, name))


@pytest.mark.computes
def test_elements_with_their_indices(device: str) -> None:
    x = pt.arange(4, device=device).reshape(2, 2) * 2
    assert list(pt.ndenumerate(x)) == [((0, 0), 0), ((0, 1), 2), ((1, 0), 4), ((1, 1), 6)]


@pytest.mark.computes
def test_windows(device: str, rng: np.random.Generator) -> None:
    array = rng.standard_normal((5, 6)).astype(np.float32)
    x = pt.tensor(array, device=device)
    tricks = np.lib.stride_tricks
    for ours, numpys in (
        (pt.sliding_window_view(x, (2, 3)), tricks.sliding_window_view(array, (2, 3))),
        (
            pt.sliding_window_view(x, (2, 3), writeable=True),
            tricks.sliding_window_view(array, (2, 3)),
        ),
        (pt.sliding_window_view(x.T, 2, axis=1), tricks.sliding_window_view(array.T, 2, axis=1)),
        (
            pt.as_strided(x, (3, 3), (24, 4), writeable=False),
            tricks.as_strided(array, (3, 3), (24, 4)),
        ),
        (pt.as_strided(x[1:], (2, 4), (0, 8)), tricks.as_strided(array[1:], (2, 4), (0, 8))),
        (pt.as_strided(x[0], (4,), (28,), writeable=False), array.diagonal()[:4]),
    ):
        compare(ours, numpys, "windows")
        assert ours.base is x
        assert not ours.flags.writeable
    x[0, 0] = 9
    assert pt.as_strided(x, (2, 2), (0, 4))[1, 0].item() == 9
    for call, error in (
        (lambda: pt.sliding_window_view(x, 9, axis=0), pt.ShapeError),
        (lambda: pt.sliding_window_view(x, 2), pt.ShapeError),
        (lambda: pt.as_strided(x, (2, 2), (3, 4)), pt.ShapeError),
        (lambda: pt.as_strided(x, (9, 9), (24, 4)), ValueError),
    ):
        with pytest.raises(error):
            call()


def test_invalid_calls(device: str) -> None:
    x = pt.arange(6, device=device).reshape(2, 3)
    refused: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: pt.geomspace(0, 1), ValueError, "^geomspace: .*include zero"),
        (lambda: pt.geomspace(1, 2, -3), ValueError, "^geomspace: .*, -3, must be non-neg"),
        (lambda: pt.fromiter([1], int, 2), ValueError, "^fromiter: .*1 elements"),
        (lambda: pt.vectorize(cast("Any", [float])), TypeError, "^vectorize: takes one function"),
        (lambda: pt.vectorize(otypes=[float])(abs, 3), TypeError, "^vectorize: takes one function"),
        (
            lambda: pt.vectorize(lambda v: 300, otypes=["uint8"])(x),
            OverflowError,
            "^vectorize: integer 300 at index 0",
        ),
        (
            lambda: pt.vectorize(lambda v: float("nan"), otypes=["int32"])(x),
            ValueError,
            "^vectorize: int32 cannot hold NaN at index 0",
        ),
        (lambda: pt.vectorize(abs)(pt.zeros(0)), ValueError, "^vectorize: .*otypes"),
        (lambda: pt.vectorize(abs, signature="n->n"), ValueError, "^vectorize: .* n->n"),
        (lambda: pt.vectorize(abs, signature="(n)->(n)")(1.0), ValueError, "^vectorize: 0-dim"),
        (lambda: pt.vectorize(abs, signature="(n)->()")([[1.0, 2]]), ValueError, "^vectorize: "),
        (lambda: pt.vectorize(int, signature="(n)->()")([[1.0, 2]]), TypeError, "^int: takes"),
        (
            lambda: pt.vectorize(pt.add, signature="(n),(n)->(n)")([1.0], [1.0, 2]),
            ValueError,
            "^vectorize: inconsistent size for core dimension 'n'",
        ),
        (lambda: pt.vectorize(abs, signature="(n)->(n)")([1], [1]), TypeError, "^vectorize: wrong"),
        (lambda: pt.mgrid[0 : pt.array([3])], TypeError, r"^a slice of a grid .*\(1,\)"),
        (lambda: pt.ndarray((2,), buffer=b"12"), TypeError, "^ndarray: .* pt.frombuffer"),  # type: ignore[arg-type]
        (lambda: pt.unravel_index(x, (2, 3), order="A"), ValueError, "^unravel_index: order"),
        (lambda: pt.ravel_multi_index((x,), (2, 3)), pt.ShapeError, "^ravel_multi_index: 1 ind"),
        (lambda: pt.vander(x), pt.ShapeError, r"^vander: .*\(2, 3\)"),
        (lambda: pt.vander(x[0], -1), ValueError, "^vander: N must be at least 0, not -1"),
        (lambda: pt.identity(cast("Any", 2.5)), TypeError, r"^identity: n .*2\.5"),
        (lambda: pt.split(x, [0.5]), TypeError, r"^split: indices .*0\.5"),
        (lambda: pt.unravel_index(x * 1.5, (9,)), pt.DTypeError, "^unravel_index: .*float32"),
        (lambda: pt.ravel_multi_index((x * 1.5,), 9), TypeError, "^ravel_multi_index: .*float32"),
        (lambda: pt.ix_(x), pt.ShapeError, r"^ix_: .*\(2, 3\)"),
        (lambda: pt.tril_indices_from(x[0]), pt.ShapeError, r"^tril_indices_from: .*\(3,\)"),
        (lambda: pt.r_["x", 1], ValueError, "^r_: "),
        (lambda: pt.r_["r", 1], ValueError, "^r_: 'r' asks for a matrix"),
        (lambda: pt.vsplit(x[0], 1), pt.ShapeError, r"^vsplit: .*\(3,\)"),
        (lambda: pt.fliplr(x[0]), pt.ShapeError, r"^fliplr: .*\(3,\)"),
        (lambda: pt.rot90(x, 1, (0, -2)), pt.ShapeError, r"^rot90: .*same"),
        (lambda: pt.delete(x, 2, 0), IndexError, "^delete: index 2 is out of"),
        (lambda: pt.insert(x, 4, 0, 1), IndexError, "^insert: index 4 is out of"),
        (lambda: pt.einsum("ij,jk", x), ValueError, "^einsum: .*2 operands"),
        (lambda: pt.einsum("ij,jk", x, x), pt.ShapeError, "^einsum: .*sizes 3 and 2"),
        (lambda: pt.einsum("i", x), pt.ShapeError, "^einsum: 'i' .* 2 axes"),
        (lambda: pt.einsum("ij->k", x), ValueError, "^einsum: .*no operand"),
        (lambda: pt.einsum("ii", x[:1]), pt.ShapeError, r"^einsum: .*same.*\(1, 3\)"),
        (lambda: pt.einsum("...->", x), ValueError, r"^einsum: .*needs \.\.\."),
        (lambda: pt.einsum("i"), ValueError, "^einsum: takes subscripts"),
        (lambda: pt.tensordot(x, x.T), pt.ShapeError, "^tensordot: axes"),
        (lambda: pt.cross(x[:, :1], x), pt.ShapeError, r"^cross: .*\(2, 1\)"),
        (lambda: pt.convolve(x, x), pt.ShapeError, r"^convolve: .*\(2, 3\)"),
        (lambda: pt.convolve(x[0], x[1], "no"), ValueError, "^convolve: mode"),
        (lambda: pt.quantile(x, 2), ValueError, "^quantile: .* 0 to 1, not 2"),
        (lambda: pt.quantile(x, 0.5, method="no"), ValueError, "^quantile: method"),
        (lambda: pt.average(x, weights=[1, 2]), TypeError, r"^average: .*\(2,\).* need an axis"),
        (lambda: pt.average(x, 1, weights=[1, 2]), pt.ShapeError, r"^average: .*\(2,\)"),
        (lambda: pt.histogram(x, 0), ValueError, "^histogram: .*0"),
        (lambda: pt.histogram(x, "none"), ValueError, "^histogram: .*'none'"),
        (lambda: pt.histogram(x, 2, (3, 1)), ValueError, "^histogram: .*increasing"),
        (lambda: pt.searchsorted(x, 1), pt.ShapeError, r"^searchsorted: .*\(2, 3\)"),
        (lambda: pt.interp(1, x, x), pt.ShapeError, r"^interp: .*\(2, 3\)"),
        (lambda: pt.partition(x, 3), ValueError, "^partition: kth 3"),
        (lambda: pt.diff(x, -1), ValueError, "^diff: n .*-1"),
        (lambda: pt.gradient(x[:1]), pt.ShapeError, "^gradient: axis 0"),
        (lambda: pt.block([[], []]), ValueError, "^block: lists must not be empty"),
        (lambda: pt.lexsort([]), TypeError, "^lexsort: needs at least one"),
        (lambda: pt.hsplit(1, 1), pt.ShapeError, "^hsplit: needs at least 1 axis,"),
        (lambda: pt.select([], []), ValueError, "^select: needs at least one condition"),
        (lambda: cast("Any", pt.add).reduceat(x, [2, 0]), IndexError, r"^add\.reduceat: index 2"),
    ]
    for call, error, match in refused:
        with pytest.raises(error, match=match):
            call()


@pytest.mark.computes
def test_methods_of_elementwise_functions(device: str, rng: np.random.Generator) -> None:
    """`reduce`, `accumulate`, `reduceat` and `outer`, also of NumPy's functions on tensors."""
    array = rng.standard_normal((3, 4)).astype(np.float32)
    x = pt.tensor(array, device=device)
    calls: list[Callable[[Any, Any], Any]] = [
        lambda np, a: np.add.reduce(a),
        lambda np, a: np.add.reduce(a, axis=None),
        lambda np, a: np.add.reduce(a, 1, keepdims=True),
        lambda np, a: np.multiply.reduce(a, axis=(0, 1)),
        lambda np, a: np.maximum.reduce(a, axis=1),
        lambda np, a: np.minimum.reduce(a, initial=0),
        lambda np, a: np.logical_and.reduce(a > 0),
        lambda np, a: np.logical_or.reduce(a > 0, 1),
        lambda np, a: np.add.accumulate(a),
        lambda np, a: np.multiply.accumulate(a, axis=1),
        lambda np, a: np.add.reduceat(a, [0, 2]),
        lambda np, a: np.add.reduceat(a, [1, 2, 3], axis=1),
        lambda np, a: np.subtract.outer(a[0], a),
        lambda np, a: np.less.outer(a[:, 0], a[0]),
        lambda np, a: np.arctan2.outer(a[:, 0], a[0]),
    ]
    for number, call in enumerate(calls):
        expected = call(np, array)
        compare(call(pt, x), expected, f"call {number}")
        compare(call(np, x), expected, f"call {number} of NumPy's")


@pytest.mark.computes
def test_dtypes_of_vander(device: str) -> None:
    """The dtype is promoted with int32, because powers of small integers may be large."""
    for dtype, result in (
        *(("bool", "int32"), ("int8", "int32"), ("uint8", "int32"), ("int32", "int32")),
        *(("uint32", "int64"), ("float16", "float32"), ("float32", "float32")),
    ):
        row = np.array([0, 1, 1, 7], dtype)
        for columns in (None, 0, 1, 3):
            got = pt.vander(pt.tensor(row, device=device), columns, increasing=True)
            expected = np.vander(row, columns, increasing=True).astype(result)
            np.testing.assert_array_equal(got.numpy(), expected, strict=True)


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore")
def test_logspace_is_rounded_once(device: str, few: Any, rng: np.random.Generator) -> None:
    """Powers are the nearest to NumPy's float64; subnormal ones may be 0 on a GPU."""
    tiny = float(np.finfo(np.float32).tiny)
    for _ in few(range(40), 5):
        whole, normal = rng.integers(-10, 10, 2), rng.standard_normal(2) * 20
        start, stop = np.where(rng.random(2) < 0.5, whole, normal).tolist()
        num, endpoint = int(rng.choice([1, 2, 11, 101, 2001])), bool(rng.integers(2))
        base = float(rng.choice([10, 2, np.e, 1.5, 0.5, 1]))
        expected = np.logspace(start, stop, num, endpoint, base)
        got = pt.logspace(start, stop, num, endpoint, base, device=device).numpy()
        usual = expected >= 2 * tiny
        what = f"{base} to {start!r} up to {stop!r}, {num}"
        nearest = expected.astype(np.float32)
        differs = usual & (got != nearest) & np.isfinite(nearest)
        middle = (got[differs].astype(float) + nearest[differs]) / 2
        assert (np.abs(expected[differs] - middle) <= 2.0**-42 * middle).all(), what
        np.testing.assert_allclose(got[usual], nearest[usual], 2e-7, err_msg=what)
        np.testing.assert_allclose(got[~usual], expected[~usual], 0, 2 * tiny, err_msg=what)
    whole = pt.logspace(0, 9, 10, dtype=int, device=device)
    assert whole.tolist() == [10**n for n in range(10)]
    assert pt.logspace(0, 2, 3, base=-2, device=device).tolist() == [1, -2, 4]
