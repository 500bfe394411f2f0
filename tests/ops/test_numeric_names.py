"""Rarely used NumPy functions, against NumPy's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import py_tensor as pt
from tests.ops.compare import same

Array = numpy.ndarray[Any, Any]
np: Any = numpy  # its annotations do not accept a str for a literal


def close(got: Any, expected: Any, what: str) -> None:
    assert got.shape == np.shape(expected), f"{what}: {got.shape}, not {np.shape(expected)}"
    np.testing.assert_allclose(got.numpy(), expected, rtol=3e-5, atol=3e-5, err_msg=what)


# -- Bits ---------------------------------------------------------------------------------------


@pytest.mark.computes
def test_packed_bits(device: str, rng: numpy.random.Generator) -> None:
    for shape in ((), (0,), (1,), (8,), (17,), (3, 10), (0, 4), (2, 3, 9)):
        for array in (rng.integers(-1, 2, shape, dtype=np.int32), rng.random(shape) < 0.5):
            x = pt.tensor(array, device=device)
            for axis in (None, *range(-len(shape), len(shape))):
                for order in ("big", "little"):
                    expected = np.packbits(array, axis, order)
                    same(pt.packbits(x, axis, order), expected, f"packbits {shape} {axis} {order}")


@pytest.mark.computes
def test_unpacked_bits(device: str, rng: numpy.random.Generator) -> None:
    for shape in ((), (0,), (1,), (5,), (3, 2), (2, 0), (2, 3, 2)):
        array = rng.integers(0, 256, shape, dtype=np.uint8)
        x = pt.tensor(array, dtype="uint8", device=device)
        for axis in (None, *range(-len(shape), len(shape))):
            for order in ("big", "little"):
                for count in (None, 0, 3, 8, 60, -2):
                    what = f"unpackbits {shape} {axis} {count} {order}"
                    try:
                        expected = np.unpackbits(array, axis, count, order)
                    except ValueError:
                        with pytest.raises(ValueError, match=r"^unpackbits: count -2"):
                            pt.unpackbits(x, axis, count, order)
                        continue
                    if not array.size:  # NumPy leaves these uninitialized
                        expected[...] = 0
                    same(pt.unpackbits(x, axis, count, order), expected, what)


def test_bits_refuse(device: str) -> None:
    with pytest.raises(pt.DTypeError, match=r"^packbits: takes integers or bools, not float32"):
        pt.packbits(pt.ones(3, device=device))
    with pytest.raises(pt.DTypeError, match=r"^unpackbits: takes uint8, not int32"):
        pt.unpackbits(pt.tensor([1], device=device))
    with pytest.raises(ValueError, match=r"^packbits: bitorder"):
        pt.packbits(pt.tensor([1], device=device), bitorder="middle")


# -- Differences, bins, indices -----------------------------------------------------------------


@pytest.mark.computes
def test_unwrap(device: str, rng: numpy.random.Generator) -> None:
    array = np.cumsum(rng.uniform(-4, 4, (4, 9)), 1).astype(np.float32) % 6
    x = pt.tensor(array, device=device)
    for options in (
        *({}, {"axis": 0}, {"discont": 4}, {"period": 5}, {"period": 4.0, "axis": 0}),
        {"discont": 1, "period": 3.5},
    ):
        expected = np.unwrap(array.astype(np.float64), **options)
        close(pt.unwrap(x, **options), expected, f"unwrap by {options}")
    whole = rng.integers(0, 9, (3, 7))
    for period in (4, 5):
        got = pt.unwrap(pt.tensor(whole, device=device), period=period)
        assert got.dtype is pt.int32
        same(got, np.unwrap(whole, period=period).astype(np.int32), f"unwrap by {period}")
    for edge in ([], [1.0], [0.0, np.pi * 2, -np.pi]):
        close(pt.unwrap(pt.tensor(edge, device=device)), np.unwrap(edge), f"unwrap of {edge}")
    same(pt.unwrap([0, 3, 6, 9], period=6), np.unwrap([0, 3, 6, 9], period=6).astype("i4"), "ties")
    half = pt.tensor(array.astype(np.float16), device=device)
    expected = np.unwrap(array.astype(np.float16).astype(np.float64))
    np.testing.assert_allclose(pt.unwrap(half).numpy(), expected, atol=0.05)


@pytest.mark.computes
def test_histogramdd(device: str, rng: numpy.random.Generator) -> None:
    points = rng.integers(0, 8, (60, 3)).astype(np.float32) / 2
    weights = rng.integers(1, 5, 60).astype(np.float32)
    x = pt.tensor(points, device=device)
    calls: list[Callable[[Any, Any], Any]] = [
        lambda np, a: np.histogramdd(a, 3),
        lambda np, a: np.histogramdd(a, (2, [0, 1, 3.5], 3)),
        lambda np, a: np.histogramdd([a[:, 0], a[:, 1]], 2, range=[(0, 3), None]),
        lambda np, a: np.histogramdd(a, 2, density=True),
        lambda np, a: np.histogramdd(a[:, :1], 4),
        lambda np, a: np.histogramdd(a[:, :2], 3, weights=weights),
        lambda np, a: np.histogramdd(a[:0, :2], 3),
    ]
    for number, call in enumerate(calls):
        got, edges = call(pt, x)
        expected, numpys = call(np, points.astype(np.float64))
        close(got, expected, f"counts {number}")
        for mine, theirs in zip(edges, numpys, strict=True):
            close(mine, theirs, f"edges {number}")
    for sample in ([x[:, 0], x[:3, 1]], x[0, 0]):
        with pytest.raises(pt.ShapeError, match=r"^histogramdd: "):
            pt.histogramdd(sample)
    wrong: list[Any] = [{"bins": (1, 2)}, {"range": [(0, 1)]}]
    for options in wrong:
        with pytest.raises(ValueError, match=r"^histogramdd: bins"):
            pt.histogramdd(x, **options)


@pytest.mark.computes
def test_indices(device: str) -> None:
    x = pt.zeros((3, 3, 3), device=device)
    for got, expected in zip(
        pt.diag_indices_from(x), np.diag_indices_from(np.zeros((3, 3, 3))), strict=True
    ):
        same(got, expected.astype(np.int32), "diag_indices_from")
    for shape in ((3,), (2, 3)):
        with pytest.raises(pt.ShapeError, match=r"^diag_indices_from"):
            pt.diag_indices_from(pt.zeros(shape))
    for n, k in ((3, 0), (4, 1), (4, -2), (0, 0)):
        for name in ("triu", "tril"):
            mine = pt.mask_indices(n, getattr(pt, name), k)
            theirs = np.mask_indices(n, getattr(np, name), k)
            for got, expected in zip(mine, theirs, strict=True):
                same(got, expected.astype(np.int32), f"mask_indices({n}, {name}, {k})")


# The page's NumPy is older and takes one axis.
AXES_TO_TRIM = ((0, 1), ()) if np.lib.NumpyVersion(np.__version__) >= "2.3.0" else ()


def test_trim_zeros(device: str) -> None:
    for given in (
        *([0, 0, 1, 2, 0, 3, 0], [0, 0], [1], [], [[0, 0, 2, 0], [0, 1, 0, 0], [0, 0, 0, 0]]),
        [[0, 0], [0, 0]],
    ):
        array = np.array(given, np.float32)
        x = pt.tensor(array, device=device)
        for trim in ("fb", "f", "B", "bf"):
            for axis in (None, 0, -1, *(AXES_TO_TRIM if array.ndim == 2 else ())):
                if array.any() or trim in ("fb", "bf"):  # otherwise NumPy keeps some zeros
                    expected = np.trim_zeros(array, trim, axis)
                    same(pt.trim_zeros(x, trim, axis), expected, f"{given} {trim} {axis}")
    assert pt.trim_zeros([0, 1, 2, 0]) == [1, 2]
    assert pt.trim_zeros((0, 1, 0), "f") == (1, 0)
    with pytest.raises(ValueError, match=r"^trim_zeros: trim"):
        pt.trim_zeros([1], "x")


# -- Numbers that become complex ----------------------------------------------------------------


@pytest.mark.computes
@pytest.mark.parametrize("name", ["sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_emath(name: str, device: str, rng: numpy.random.Generator) -> None:
    for array in (
        rng.uniform(0, 1, 20), rng.uniform(-4, 4, 20), np.array([0.0, 1, -1]), np.zeros(0),
        rng.uniform(-2, 2, 6) + 1j, np.array([np.nan, 2, -3]),
    ):  # fmt: skip
        x = pt.tensor(array, device=device)
        rounded = x.numpy().astype(array.dtype)  # near 1, the rounding of `x` alone changes digits
        got, expected = getattr(pt.emath, name)(x), getattr(np.emath, name)(rounded)
        assert got.dtype.kind == np.asarray(expected).dtype.kind, f"{name} of {array}"
        close(got, expected, f"{name} of {array}")
    same_kind = getattr(pt.emath, name)([-2, 2])
    assert same_kind.dtype.kind == "c"


@pytest.mark.computes
def test_emath_of_two(device: str) -> None:
    for base, number in ((2, [4.0, 8.0]), (2, [-4.0, 8.0]), (-2, [4.0])):
        got = pt.emath.logn(base, pt.tensor(number, device=device))
        close(got, np.emath.logn(base, number), f"logn {base} {number}")
    for x, p in (([2.0, 4], 2), ([-2.0, 4], 0.5), ([2, 4], [-1, 2]), ([-2, 4], 2)):
        got = pt.emath.power(pt.tensor(x, device=device), p)
        close(got, np.emath.power(x, p), f"power {x} {p}")
    assert [n for n in dir(np.emath) if n[0] != "_" and not hasattr(pt.emath, n)] == []


@pytest.mark.computes
def test_real_if_close(device: str) -> None:
    for number, tol in ((1e-6, 100), (1e-2, 100), (1e-2, 0.1), (0.2, 0.1), (1e-5, 1000)):
        z = np.array([1 + number * 1j, 2], np.complex64)
        got, expected = pt.real_if_close(pt.tensor(z, device=device), tol), np.real_if_close(z, tol)
        same(got, expected, f"{number}, {tol}")
    x = pt.tensor([1.0], device=device)
    assert pt.real_if_close(x) is x


@pytest.mark.computes
def test_sort_complex(device: str, rng: numpy.random.Generator) -> None:
    whole = rng.integers(-2, 3, (2, 9)).astype(np.float32)
    for array in (whole, whole.astype(np.int32), whole + whole[::-1] * 1j):
        expected = np.sort_complex(array).astype(np.complex64)
        same(pt.sort_complex(pt.tensor(array, device=device)), expected, f"{array.dtype}")


# -- Arrays with requirements -------------------------------------------------------------------


def test_requirements(device: str) -> None:
    x = pt.arange(6, device=device).reshape(2, 3)
    assert pt.require(x) is x
    assert pt.require(x, requirements=["W", "A", "E", "C"]) is x
    for given, wanted in ((x.T, "C"), (x.T, ["OWNDATA"]), (pt.broadcast_to(x, (2, 2, 3)), "W")):
        got = pt.require(given, None, wanted)
        assert got is not given
        assert got.tolist() == given.tolist()
        assert got.flags.c_contiguous
        assert got.flags.owndata
        assert got.flags.writeable
    assert pt.require([1, 2], "float32", "F").dtype is pt.float32
    for wanted, words in ((["C", "F"], "C and F exclude"), ("X", "requirements must .*'X'")):
        with pytest.raises(ValueError, match=f"^require: {words}"):
            pt.require(x, requirements=wanted)
    by_columns = pt.asfortranarray(x)
    assert by_columns.tolist() == x.tolist()
    assert by_columns.flags.f_contiguous
    assert pt.asfortranarray(by_columns) is by_columns
    assert pt.require(x, None, "F").flags.f_contiguous
    with pytest.raises(ValueError, match=r"^require: F and O exclude"):
        pt.require(x, None, ["F", "O"])
    same(pt.asfortranarray(2.5), np.asfortranarray(np.float32(2.5)), "asfortranarray of a number")
    assert pt.asfortranarray([[1, 2]], dtype="float32").tolist() == [[1, 2]]
    assert pt.asarray_chkfinite(x) is x
    for bad in ([1.0, np.nan], [np.inf, 0], [1j * np.inf]):
        with pytest.raises(ValueError, match=r"^asarray_chkfinite: "):
            pt.asarray_chkfinite(pt.tensor(bad, device=device))


# -- Objects ------------------------------------------------------------------------------------


def test_broadcast(device: str) -> None:
    given = ([[1], [2]], [10, 20, 30])
    mine = pt.broadcast(*(pt.tensor(v, device=device) for v in given))
    theirs = np.broadcast(*(np.array(v) for v in given))
    for name in ("shape", "ndim", "nd", "size", "numiter", "index"):
        assert getattr(mine, name) == getattr(theirs, name), name
    assert next(mine) == next(theirs) == (1, 10)
    assert mine.index == theirs.index == 1
    assert list(mine) == list(theirs)
    mine.reset()
    theirs.reset()
    assert list(mine) == list(theirs)
    theirs.reset()
    assert [list(i) for i in mine.iters] == [list(i) for i in theirs.iters]
    assert list(pt.broadcast(2, 3)) == [(2, 3)]
    with pytest.raises(pt.ShapeError, match=r"^broadcast_arrays"):
        pt.broadcast([1, 2], [1, 2, 3])


def test_functions_of_python(device: str) -> None:
    x = pt.tensor([[1], [2]], device=device)
    of_two = pt.frompyfunc(lambda a, b: (a + b, a * b), 2, 2)
    assert (of_two.nin, of_two.nout, of_two.nargs) == (2, 2, 4)
    total, product = of_two(x, [3, 4])
    assert total.tolist() == [[4, 5], [5, 6]]
    assert product.tolist() == [[3, 4], [6, 8]]
    assert pt.frompyfunc(abs, 1, 1, identity=0).identity == 0
    assert isinstance(of_two, pt.ufunc)
    with pytest.raises(TypeError, match="takes 2 operands, not 1"):
        of_two(x)
    with pytest.raises(ValueError, match="returned 1 results, not 2"):
        pt.frompyfunc(abs, 1, 2)(x)


def test_which_functions_are_ufuncs() -> None:
    """The ufuncs of NumPy are ours, with the same numbers of operands and results."""
    for name in dir(np):
        theirs = getattr(np, name)
        if isinstance(theirs, np.ufunc) and hasattr(pt, name):
            mine = getattr(pt, name)
            assert isinstance(mine, pt.ufunc), name
            for what in ("nin", "nout", "nargs", "identity", "signature"):
                if what != "signature" or theirs.signature is None:
                    assert getattr(mine, what) == getattr(theirs, what), f"{name}.{what}"
    for other in (pt.sum, pt.Tensor, pt.zeros(1), len):
        assert not isinstance(other, pt.ufunc)
    with pytest.raises(TypeError, match=r"^ufunc: "):
        pt.ufunc(len)


# -- Equations of tensors -----------------------------------------------------------------------


@pytest.mark.computes
def test_tensorinv(device: str, rng: numpy.random.Generator) -> None:
    for shape, ind in (((4, 6, 8, 3), 2), ((24, 8, 3), 1), ((2, 2), 1)):
        size = int(np.prod(shape[:ind]))
        array = (np.eye(size) * 3 + rng.uniform(-1, 1, (size, size)) / size).reshape(shape)
        got = pt.linalg.tensorinv(pt.tensor(array, device=device), ind)
        close(got, np.linalg.tensorinv(array, ind), f"tensorinv of {shape}")
    with pytest.raises(ValueError, match=r"^tensorinv: ind .* 0"):
        pt.linalg.tensorinv(pt.eye(2), 0)
    with pytest.raises(pt.linalg.LinAlgError, match=r"^tensorinv: "):
        pt.linalg.tensorinv(pt.ones((2, 3)), 1)


@pytest.mark.computes
def test_tensorsolve(device: str, rng: numpy.random.Generator) -> None:
    array = (np.eye(24) * 3 + rng.uniform(-1, 1, (24, 24)) / 24).reshape(6, 4, 2, 3, 4)
    b = rng.uniform(-1, 1, (6, 4))
    x, y = pt.tensor(array, device=device), pt.tensor(b, device=device)
    close(pt.linalg.tensorsolve(x, y), np.linalg.tensorsolve(array, b), "tensorsolve")
    moved = np.moveaxis(array, (2, 4), (0, 1))
    for axes in ((0, 1), (1, 0)):
        got = pt.linalg.tensorsolve(pt.tensor(moved, device=device), y, axes)
        close(got, np.linalg.tensorsolve(moved, b, axes), f"tensorsolve by {axes}")
    with pytest.raises(pt.ShapeError, match=r"^tensorsolve: "):
        pt.linalg.tensorsolve(x, y[0])


# -- Paths of einsum ----------------------------------------------------------------------------


@pytest.mark.computes
def test_einsum_by_a_path(device: str, rng: numpy.random.Generator) -> None:
    arrays = [rng.uniform(-1, 1, s).astype(np.float32) for s in ((3, 4), (4, 5), (5, 2), (2, 3))]
    tensors = [pt.tensor(a, device=device) for a in arrays]
    for text in ("ij,jk,kl,lm->im", "ij,jk,kl,li->", "ij,jk,kl,lm"):
        expected = np.einsum(text, *(a.astype(np.float64) for a in arrays))
        for optimize in (False, True, "greedy", "optimal", ("optimal", 100), ("greedy", 100)):
            close(pt.einsum(text, *tensors, optimize=optimize), expected, f"{text} {optimize}")
        for how in (True, False, "greedy", "optimal", ("greedy", 50)):
            path, words = pt.einsum_path(text, *tensors, optimize=how)
            theirs, their_words = np.einsum_path(text, *arrays, optimize=how)
            assert (path, words) == (theirs, their_words)
            close(pt.einsum(text, *tensors, optimize=path), expected, f"{text} by {path}")
    x = tensors[0]
    lists = pt.einsum_path(x, [0, 1], x, [2, 1], [0, 2], optimize=True)
    assert lists[0] == ["einsum_path", (0, 1)]
    dots = rng.uniform(-1, 1, (2, 3, 3)).astype(np.float32)
    got = pt.einsum(pt.tensor(dots, device=device), [..., 0, 1], x, [1, 2], [..., 0, 2])
    close(got, np.einsum(dots, [..., 0, 1], arrays[0], [1, 2], [..., 0, 2]), "lists with ...")
    with pytest.raises(ValueError, match=r"^einsum: optimize must"):
        pt.einsum("ij,jk", x, tensors[1], optimize="quick")
    with pytest.raises(ValueError, match=r"^einsum_path: einsum_call"):
        pt.einsum_path("ij,jk", x, tensors[1], einsum_call=True)


# -- Methods ------------------------------------------------------------------------------------


@pytest.mark.computes
def test_methods(device: str, rng: numpy.random.Generator) -> None:
    array = rng.permutation(20).astype(np.float32)
    x = pt.tensor(array, device=device)
    assert x.tolist()[x.argpartition(7).tolist()[7]] == 7
    assert x.reshape(4, 5).argpartition(2, 0).shape == (4, 5)
    edges = pt.tensor([1.0, 2, 2, 4], device=device)
    for given in ({}, {"side": "right"}):
        expected = np.array([1.0, 2, 2, 4]).searchsorted([0, 2, 9], **given)
        same(edges.searchsorted([0, 2, 9], **given), expected.astype(np.int32), f"{given}")
    numbers = pt.tensor([0, 1, 1], device=device)
    out = pt.zeros(3, device=device)
    assert numbers.choose([x[:3], 7.0], out=out) is out
    assert out.tolist() == [array[0], 7, 7]
    assert numbers.choose([[4, 5, 6], [1, 2, 3]], mode="wrap").tolist() == [4, 2, 3]


@pytest.mark.computes
def test_resized_in_place(device: str) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    for shape in ((3, 2), (2, 2), (3, 4), (0,), (7,), ()):
        x, a = pt.tensor(array, device=device), array.copy()
        assert x.resize(*shape) is None
        a.resize(*shape)
        if shape:
            same(x, a, f"resized to {shape}")
    x = pt.tensor(array, device=device)
    x.resize((4, 2), refcheck=False)
    x += 1
    assert x.tolist() == [[1, 2], [3, 4], [5, 6], [1, 1]]
    view = x[1:]
    for each in (x, view, x.sum()):
        with pytest.raises(ValueError, match=r"^resize: the tensor is a view"):
            each.resize(2)
    x.resize(2, 4)
    view.resize(6, 1)
    view[1] = 9
    assert x.tolist() == [[1, 2, 3, 9], [5, 6, 1, 1]]
    with pytest.raises(ValueError, match=r"^resize: the tensor is a view"):
        x.T.resize(8)


# -- What is not there --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [
        *((name, "dates are not supported") for name in ("busday_count", "isnat", "datetime_data")),
        *((name, "@ for matrix products") for name in ("matrix", "asmatrix", "bmat")),
        *((name, "text is not supported") for name in ("char", "strings")),
        *((name, "structured dtypes are not supported") for name in ("rec", "recarray", "record")),
        *((name, "widest dtypes are float64") for name in ("float128", "complex256")),
        *(("ma", "mask"), ("memmap", "GPU"), ("f2py", "Fortran"), ("ctypeslib", "copy")),
    ],
)
def test_missing_names_say_why(name: str, words: str) -> None:
    with pytest.raises(AttributeError, match=words):
        getattr(pt, name)


@pytest.mark.parametrize("name", ["getfield", "setfield", "ctypes"])
def test_missing_methods_say_why(name: str) -> None:
    with pytest.raises(AttributeError, match=r"no attribute .*; "):
        getattr(pt.zeros(1), name)
