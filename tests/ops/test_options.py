"""Options of NumPy's functions: casting, order, like, mean, shape and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import py_tensor as pt
from tests.ops.compare import same

np: Any = numpy  # its annotations do not accept a str for a literal
Array = numpy.ndarray[Any, Any]


def close(got: Any, expected: Any, what: str) -> None:
    assert got.shape == np.shape(expected), f"{what}: {got.shape}, not {np.shape(expected)}"
    np.testing.assert_allclose(got.numpy(), expected, rtol=2e-5, atol=1e-5, err_msg=what)


# -- casting ------------------------------------------------------------------------------------

CASTS: dict[str, Callable[[Any, Any, Any, str], Any]] = {
    "exp": lambda np, i, f, casting: np.exp(i, casting=casting),
    "exp of floats": lambda np, i, f, casting: np.exp(f, casting=casting),
    "add": lambda np, i, f, casting: np.add(i, f, casting=casting),
    "add of floats": lambda np, i, f, casting: np.add(f, f, casting=casting),
    "power": lambda np, i, f, casting: np.power(f, i, casting=casting),
    "fmod": lambda np, i, f, casting: np.fmod(f, i, casting=casting),
    "divmod": lambda np, i, f, casting: np.divmod(f, i, casting=casting)[1],
    "modf": lambda np, i, f, casting: np.modf(f, casting=casting)[0],
    "ldexp": lambda np, i, f, casting: np.ldexp(f, i.astype("int32"), casting=casting),
    "matmul": lambda np, i, f, casting: np.matmul(f, i, casting=casting),
    "vecdot": lambda np, i, f, casting: np.vecdot(i, f, casting=casting),
    "concatenate": lambda np, i, f, casting: np.concatenate(
        [i, f], dtype="float32", casting=casting
    ),
    "stack": lambda np, i, f, casting: np.stack([f, f], dtype="int32", casting=casting),
    "vstack": lambda np, i, f, casting: np.vstack([i, f], dtype="float32", casting=casting),
    "hstack": lambda np, i, f, casting: np.hstack([f, f], dtype="float32", casting=casting),
    "astype": lambda np, i, f, casting: f.astype("int32", casting=casting),
    "astype to more": lambda np, i, f, casting: i.astype("float64", casting=casting),
}


@pytest.mark.parametrize("name", CASTS)
def test_castings(name: str, rng: numpy.random.Generator) -> None:
    """The test uses the cpu device, which has NumPy's 64-bit dtypes, and 16-bit integers."""
    whole, real = rng.integers(1, 5, 6).astype(np.int16), rng.uniform(1, 2, 6).astype(np.float32)
    i, f = (pt.tensor(a, dtype=a.dtype.name, device="cpu") for a in (whole, real))
    for casting in ("no", "equiv", "safe", "same_kind", "unsafe"):
        try:
            expected = CASTS[name](np, whole, real, casting)
        except TypeError:
            with pytest.raises(pt.DTypeError, match=f"casting='{casting}'|cannot be stored"):
                CASTS[name](pt, i, f, casting)
            continue
        close(CASTS[name](pt, i, f, casting), expected, f"{name} by {casting}")
    with pytest.raises(ValueError, match=r"casting must be 'no', .* not 'most'"):
        CASTS[name](pt, i, f, "most")


@pytest.mark.computes
def test_casting_into_out(device: str) -> None:
    x = pt.tensor([1.5, -2.5], device=device)
    for call in (
        lambda out, casting: pt.add(x, 1, out, casting=casting),
        lambda out, casting: pt.exp(x, out, casting=casting),
        lambda out, casting: pt.fmod(x, 2, out, casting=casting),
        lambda out, casting: pt.matmul(x, pt.eye(2, device=device), out, casting=casting),
    ):
        out: Any = pt.zeros(2, "int32", device=device)
        for casting in ("no", "equiv", "safe", "same_kind"):
            with pytest.raises(pt.DTypeError):
                call(out, casting)
        assert out.tolist() == [0, 0]
        assert call(out, "unsafe") is out
        assert out.tolist() != [0, 0]


def test_order_and_signature(device: str) -> None:
    """`order` and `subok` have no effect; a signature is rejected."""
    x = pt.tensor([[1.0, 2.0], [3.0, 4.0]], device=device)
    calls: list[Callable[..., Any]] = [
        lambda **o: pt.exp(x, **o),
        lambda **o: pt.add(x, x.T, **o),
        lambda **o: pt.hypot(x, x, **o),
        lambda **o: pt.power(x, 3, **o),
        lambda **o: pt.divmod(x, 2, **o)[0],
        lambda **o: pt.frexp(x, **o)[0],
        lambda **o: pt.ldexp(x, 1, **o),
        lambda **o: pt.matmul(x, x, **o),
        lambda **o: pt.matvec(x, x[0], **o),
    ]
    for call in calls:
        got = call(order="F", subok=False)
        assert got.tolist() == call().tolist()
        assert got.flags.c_contiguous
        with pytest.raises(TypeError, match=r"signature is not supported; use dtype"):
            call(signature="f->f")
        assert call(dtype="float32").dtype is pt.float32


# -- Creation -----------------------------------------------------------------------------------


def test_creation(device: str) -> None:
    x = pt.tensor([[1, 2, 3]], device=device)
    for name in ("zeros", "ones", "empty"):
        made = getattr(pt, name)((2, 3), "int32", "F", device=device, like=x)
        assert made.flags.f_contiguous
        assert not made.flags.c_contiguous
        assert (made.shape, made.dtype) == ((2, 3), pt.int32)
        with pytest.raises(ValueError, match=rf"^{name}: order must be .*'X'"):
            getattr(pt, name)((2, 3), order="X", device=device)
        like = getattr(pt, f"{name}_like")(x, None, "F", False, (4, 2))
        assert like.flags.f_contiguous
        assert (like.shape, like.dtype, like.device) == ((4, 2), pt.int32, x.device)
    assert pt.full((2,), 7, "int32", "C", device=device, like=x).tolist() == [7, 7]
    assert pt.full_like(x, 5, shape=2).tolist() == [5, 5]
    assert pt.full_like(x, [1, 2], shape=(2, 2)).tolist() == [[1, 2], [1, 2]]
    assert pt.eye(2, 3, 1, "int32", "F", like=x).tolist() == [[0, 1, 0], [0, 0, 1]]
    assert pt.array(object=[1, 2], order="F", subok=True, ndmin=2, ndmax=3, like=x).shape == (1, 2)
    with pytest.raises(pt.ShapeError, match=r"^array: shape \(1, 3\) has more axes than ndmax"):
        pt.array(x, ndmax=1)
    assert pt.asarray(x, None, "F") is x
    assert pt.arange(3, like=x).tolist() == [0, 1, 2]


@pytest.mark.computes
def test_ranges_between_ends_with_axes(device: str, rng: numpy.random.Generator) -> None:
    low, high = (rng.uniform(-3, 3, (2, 3)).astype(np.float32) for _ in range(2))
    x, y = (pt.tensor(a, device=device) for a in (low, high))
    ranges: list[Any] = [
        *({}, {"num": 1}, {"num": 0}, {"num": 7, "axis": 1}, {"num": 5, "axis": -1}),
        *({"endpoint": False}, {"num": 4, "axis": 2, "endpoint": False}),
    ]
    for options in ranges:
        close(pt.linspace(x, y, **options), np.linspace(low, high, **options), f"{options}")
        close(
            pt.logspace(x, y, base=2, **options),
            np.logspace(low.astype(np.float64), high, base=2, **options),
            f"{options}",
        )
    got, step = pt.linspace(x, 5, 4, retstep=True)
    expected, width = np.linspace(low, 5, 4, retstep=True)
    close(got, expected, "with a step")
    close(step, width, "the step")
    assert np.isnan(pt.linspace(x, y, 1, retstep=True)[1].numpy()).all()
    found = pt.linspace([0, 10], 5, 3, dtype="int32")
    same(found, np.linspace([0, 10], 5, 3, dtype=np.int32), "integers")
    for function in (pt.linspace, pt.geomspace):
        with pytest.raises(pt.AxisError):
            function(1, 2, 3, axis=1)
    with pytest.raises(ValueError, match=r"^linspace: num"):
        pt.linspace(x, y, -1)


def test_grids_that_broadcast(device: str) -> None:
    given = ([1, 2], [3, 4, 5], [6])
    tensors = [pt.tensor(v, device=device) for v in given]
    for indexing in ("xy", "ij"):
        mine = pt.meshgrid(*tensors, sparse=True, indexing=indexing)
        theirs = np.meshgrid(*given, sparse=True, indexing=indexing)
        for got, expected in zip(mine, theirs, strict=True):
            same(got, expected.astype(np.int32), indexing)


# -- Results ------------------------------------------------------------------------------------


@pytest.mark.computes
def test_a_mean_that_is_known(device: str, rng: numpy.random.Generator) -> None:
    array = rng.standard_normal((3, 5)).astype(np.float32)
    holes = np.where(rng.random((3, 5)) < 0.3, np.nan, array).astype(np.float32)
    for name, given in (("var", array), ("std", array), ("nanvar", holes), ("nanstd", holes)):
        x = pt.tensor(given, device=device)
        for axis in (None, 0, 1):
            middle = np.nanmean(given, axis=axis, keepdims=True)
            close(
                getattr(pt, name)(x, axis, mean=pt.tensor(middle, device=device)),
                getattr(np, name)(given, axis=axis, mean=middle),
                f"{name} over {axis}",
            )
        one = getattr(np, name)(given, mean=0.5, ddof=1)
        close(getattr(pt, name)(x, mean=0.5, ddof=1), one, f"{name} from another mean")


@pytest.mark.computes
def test_out_of_transforms(device: str, rng: numpy.random.Generator) -> None:
    x = pt.tensor(rng.standard_normal((4, 6)).astype(np.float32), device=device)
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "rfftn", "irfftn"):
        function = getattr(pt.fft, name)
        plain = function(x)
        out = pt.zeros(plain.shape, plain.dtype, device=device)
        assert function(x, out=out) is out, name
        np.testing.assert_array_equal(out.numpy(), plain.numpy())


@pytest.mark.computes
def test_options_of_linalg(device: str) -> None:
    matrix = np.diag([4.0, 1.0, 1e-3]).astype(np.float32)
    x = pt.tensor(matrix, device=device)
    options: Any
    for options in ({}, {"tol": 0.5}, {"tol": 1e-5}, {"rtol": 0.3}, {"hermitian": True}):
        assert int(pt.linalg.matrix_rank(x, **options)) == np.linalg.matrix_rank(matrix, **options)
    for options in ({"rcond": 0.3}, {"rtol": 0.1}, {"hermitian": True}):
        close(pt.linalg.pinv(x, **options), np.linalg.pinv(matrix, **options), f"{options}")
    small = np.diag([1.0, 5e-15, 5e-16])
    exact = pt.asarray(small, dtype="float64", device="cpu")
    close(pt.linalg.pinv(exact), np.linalg.pinv(small), "NumPy's cutoff in double precision")
    a, b = pt.tensor([1.0, 2, 3], device=device), pt.tensor([4.0, 5, 6], device=device)
    close(pt.linalg.outer(a, b), np.linalg.outer([1.0, 2, 3], [4.0, 5, 6]), "outer")
    close(pt.linalg.cross(a, b), np.cross([1.0, 2, 3], [4.0, 5, 6]), "cross")
    close(pt.linalg.vecdot(a, b), 32.0, "vecdot")
    close(pt.linalg.tensordot(a, b, axes=0), np.tensordot([1.0, 2, 3], [4.0, 5, 6], 0), "tensordot")
    with pytest.raises(pt.ShapeError, match=r"^outer: takes vectors"):
        pt.linalg.outer(x, a)


@pytest.mark.computes
def test_options_of_products(device: str) -> None:
    x = pt.tensor([[1.0, 2], [3, 4]], device=device)
    assert pt.vecdot(x, x, axis=0, keepdims=True).tolist() == [[10, 20]]
    assert pt.vecdot(x, x, keepdims=True).tolist() == [[5], [25]]
    assert pt.clip(x, 2, 3).tolist() == [[2, 2], [3, 3]]
    assert pt.clip(a=x, a_min=2, a_max=None).tolist() == x.clip(min=2).tolist()
    assert pt.clip(x, max=2, dtype="float32").tolist() == x.clip(None, 2).tolist()
    assert pt.reshape(x, (4,), "F").tolist() == [1, 3, 2, 4]
    assert pt.transpose(x, (1, 0)).tolist() == x.transpose(1, 0).tolist()


def test_orders_that_name_fields(device: str) -> None:
    x = pt.tensor([3.0, 1.0], device=device)
    calls: list[Callable[[], Any]] = [
        lambda: pt.sort(x, order="f"),  # type: ignore[arg-type]
        lambda: pt.argsort(x, order="f"),  # type: ignore[arg-type]
        lambda: pt.partition(x, 0, order="f"),  # type: ignore[arg-type]
        lambda: x.argpartition(0, order="f"),  # type: ignore[arg-type]
        lambda: x.sort(order="f"),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"order must be None, not 'f'"):
            call()
