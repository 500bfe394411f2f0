"""NumPy's functions called on tensors, which run ours, against their results on arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.convert import host_arrays
from py_tensor.convert.host_arrays import ON_COPIES
from tests.ops import compositions

Call = Callable[[Any], Any]
Array = np.ndarray[Any, Any]

FOLDED: list[dict[str, Any]] = [{}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"out": None}]


def folds(name: str, *more: dict[str, Any]) -> list[Call]:
    """Return calls of a reduction with each set of options."""
    function: Any = getattr(np, name)
    return [lambda a, given=given: function(a, **given) for given in (*FOLDED, *more)]


def written(f: Call) -> Call:
    """Return the operand after a function has written to it."""

    def call(a: Any) -> Any:
        target = a.copy()
        assert f(target) is None
        return target

    return call


ORDER = np.array([[2, 0, 1, 3], [1, 1, 0, 2], [3, 2, 1, 0]])

CALLS: dict[str, list[Call]] = {
    "all": [
        lambda a: np.all(a > 1.2, where=a < 1.5),
        lambda a: np.all(a > 1.2),
        lambda a: np.all(a > 1.2, (0, 1), keepdims=True),
    ],
    "amax": folds("amax", {"axis": (0, 1)}, {"initial": 1.5}),
    "amin": folds("amin", {"initial": 1.5, "where": ORDER > 1}),
    "any": [lambda a: np.any(a > 1.9), lambda a: np.any(a > 1.9, axis=1, where=[True])],
    "argmax": folds("argmax"),
    "argmin": folds("argmin"),
    "count_nonzero": [
        lambda a: np.count_nonzero(a > 1.5),
        lambda a: np.count_nonzero(a > 1.5, axis=1, keepdims=True),
    ],
    "max": folds("max", {"axis": (0, 1)}, {"initial": 1.5, "where": ORDER > 1}),
    "mean": folds("mean", {"dtype": np.float32}, {"where": ORDER > 1}),
    "min": folds("min", {"initial": 1.5}),
    "prod": folds("prod", {"initial": 2, "where": ORDER > 1}, {"dtype": "float32"}),
    "ptp": folds("ptp"),
    "std": folds("std", {"ddof": 1}, {"correction": 1}, {"where": ORDER > 1}),
    "sum": folds("sum", {"axis": (0, 1)}, {"dtype": "float32"}, {"initial": 2, "where": ORDER > 1}),
    "trace": [
        np.trace,
        lambda a: np.trace(a, 1),
        lambda a: np.trace(np.stack([a, a]), axis1=1, axis2=2),
    ],
    "var": folds("var", {"ddof": 1}),
    "allclose": [lambda a: np.allclose(a, a + 1e-7), lambda a: np.allclose(a, a + 1, rtol=0.1)],
    "array_equal": [lambda a: np.array_equal(a, a), lambda a: np.array_equal(a, a[:2])],
    "isclose": [lambda a: np.isclose(a, 1.5, atol=0.2), lambda a: np.isclose(a, a.T.T)],
    "argsort": [np.argsort, lambda a: np.argsort(a, axis=0, kind="stable"), folds("argsort")[1]],
    "cumprod": [np.cumprod, lambda a: np.cumprod(a, axis=1)],
    "cumsum": [np.cumsum, lambda a: np.cumsum(a, 0), lambda a: np.cumsum(a, dtype=np.float32)],
    "cumulative_prod": [lambda a: np.cumulative_prod(a, axis=1)],
    "cumulative_sum": [lambda a: np.cumulative_sum(a, axis=0, include_initial=True)],
    "sort": [
        np.sort,
        lambda a: np.sort(a, axis=0, kind="stable"),
        lambda a: np.sort(a, axis=None, stable=True),
    ],
    "around": [lambda a: np.around(a, 1)],
    "astype": [lambda a: np.astype(a, np.int32), lambda a: np.astype(a, np.float32, copy=True)],
    "clip": [
        lambda a: np.clip(a, 1.2, 1.8),
        lambda a: np.clip(a, None, 1.8),
        lambda a: np.clip(a, a_min=1.2, a_max=None),
        lambda a: np.clip(a, min=1.5),
    ],
    "round": [np.round, lambda a: np.round(a, decimals=1)],
    "where": [
        lambda a: np.where(a > 1.5, a, 0),
        lambda a: np.where(a > 1.5, 1.0, a),
    ],
    "argwhere": [lambda a: np.argwhere(a > 1.5)],
    "bincount": [
        lambda a: np.bincount(np.astype(a[0] * 4, np.int32)),
        lambda a: np.bincount(np.astype(a[0] * 4, np.int32), minlength=20),
    ],
    "compress": [
        lambda a: np.compress([True, False, True], a, axis=0),
        lambda a: np.compress(np.ravel(a) > 1.5, a),
    ],
    "extract": [lambda a: np.extract(a > 1.5, a)],
    "flatnonzero": [lambda a: np.flatnonzero(a > 1.5)],
    "nonzero": [lambda a: np.nonzero(a > 1.5)],
    "dot": [
        lambda a: np.dot(a, a.T),
        lambda a: np.dot(a[0], a[1]),
        lambda a: np.dot(a[None], a.T[None]),
    ],
    "outer": [lambda a: np.outer(a[0], a[1])],
    "array_split": [lambda a: np.array_split(a, 3, axis=1), lambda a: np.array_split(a, [1])],
    "broadcast_to": [lambda a: np.broadcast_to(a, (2, 3, 4))],
    "concatenate": [
        lambda a: np.concatenate([a, a]),
        lambda a: np.concat((a, a), axis=1),
        lambda a: np.concatenate([a, a], axis=None),
        lambda a: np.concatenate([a, a], dtype=np.float32),
    ],
    "copy": [np.copy, lambda a: np.copy(a, "C")],
    "diagonal": [np.diagonal, lambda a: np.diagonal(a, 1, axis1=1, axis2=0)],
    "diag": [np.diag, lambda a: np.diag(a[0], k=1)],
    "expand_dims": [lambda a: np.expand_dims(a, 1), lambda a: np.expand_dims(a, (0, 3))],
    "flip": [np.flip, lambda a: np.flip(a, 1)],
    "hstack": [lambda a: np.hstack([a, a])],
    "matrix_transpose": [np.matrix_transpose],
    "meshgrid": [
        lambda a: np.meshgrid(a[0], a[:, 0]),
        lambda a: np.meshgrid(a[0], a[1], indexing="ij", copy=False),
    ],
    "moveaxis": [lambda a: np.moveaxis(a, 0, 1)],
    "pad": [
        lambda a: np.pad(a, 1),
        lambda a: np.pad(a, ((1, 0), (2, 3)), constant_values=7),
        lambda a: np.pad(a, 1, constant_values=np.float32(0.5)),
        lambda a: np.pad(a, 1, constant_values=((1, 2), (3, 4))),
        lambda a: np.pad(a, 1, mode="edge"),
        lambda a: np.pad(a, 1, "maximum", stat_length=1),
    ],
    "may_share_memory": [lambda a: np.may_share_memory(a[::2], a[1::2])],
    "ravel": [
        *(np.ravel, lambda a: np.ravel(a.T), lambda a: np.ravel(a.T, "F")),
        *(lambda a: np.ravel(a.T, "A"), lambda a: np.ravel(a.T, order="K")),
    ],
    "repeat": [lambda a: np.repeat(a, 2), lambda a: np.repeat(a, 2, axis=1)],
    "reshape": [
        lambda a: np.reshape(a, (4, 3)),
        lambda a: np.reshape(a, -1),
        lambda a: np.reshape(a, -1, "A"),
        lambda a: np.reshape(a, (2, 6), order="F", copy=True),
    ],
    "roll": [lambda a: np.roll(a, 5), lambda a: np.roll(a, (1, 2), axis=(0, 1))],
    "shares_memory": [
        lambda a: np.shares_memory(a, a.T),
        lambda a: np.shares_memory(a[::2], a[1::2]),
    ],
    "split": [lambda a: np.split(a, 2, axis=1), lambda a: np.split(a, [1])],
    "squeeze": [lambda a: np.squeeze(a[:1]), lambda a: np.squeeze(a[:, :1], axis=1)],
    "stack": [lambda a: np.stack([a, a]), lambda a: np.stack([a, a], axis=-1)],
    "swapaxes": [lambda a: np.swapaxes(a, 0, 1)],
    "take": [lambda a: np.take(a, [2, 0, -1], axis=1), lambda a: np.take(a, [5, 7])],
    "take_along_axis": [lambda a: np.take_along_axis(a, ORDER, axis=1)],
    "tile": [lambda a: np.tile(a, (2, 1))],
    "transpose": [np.transpose, lambda a: np.transpose(a, (1, 0))],
    "tril": [np.tril, lambda a: np.tril(a, -1)],
    "triu": [np.triu, lambda a: np.triu(a, k=1)],
    "vstack": [lambda a: np.vstack((a, a[0]))],
    "copyto": [
        written(lambda a: np.copyto(a, 2)),
        written(lambda a: np.copyto(a, a[0] + 1, where=a > 1.5)),
        written(lambda a: np.copyto(a, [1.5], casting="unsafe")),
    ],
    "fill_diagonal": [written(lambda a: np.fill_diagonal(a, 7))],
    "place": [written(lambda a: np.place(a, a > 1.5, [1, 2]))],
    "put": [written(lambda a: np.put(a, [3, -1], [5, 6]))],
    "put_along_axis": [written(lambda a: np.put_along_axis(a, ORDER[:, :1], 9, axis=1))],
    "putmask": [written(lambda a: np.putmask(a, a > 1.5, [1, 2, 3]))],
    "empty_like": [lambda a: np.empty_like(a)[:0]],
    "full_like": [lambda a: np.full_like(a, 3), lambda a: np.full_like(a, 3.7, dtype=np.int32)],
    "ones_like": [np.ones_like, lambda a: np.ones_like(a, dtype="int32", order="F")],
    "zeros_like": [np.zeros_like],
}

BOTH = [getattr(np, name) for name in {*dir(np)} & {*dir(pt)}]
OURS = {f.__name__ for f in BOTH if hasattr(f, "_implementation")} - ON_COPIES
"""The functions that NumPy and the library have, and that NumPy dispatches."""
for _name in compositions.CALLS.keys() & OURS:
    CALLS[_name] = [lambda a, c=call: c(np, a) for call in compositions.CALLS[_name]]
CALLS |= {
    "array_equiv": [lambda a: np.array_equiv(a, a[:1]), lambda a: np.array_equiv(a[:1], a[0])],
    "fix": [lambda a: np.fix(a)],
    "diag_indices_from": [lambda a: np.diag_indices_from(a[:, :3])],
    "einsum_path": [lambda a: np.einsum_path("ij,kj,kl->il", a, a, a)],
    "histogramdd": [lambda a: np.histogramdd(a[:, :2], 2)[0], lambda a: np.histogramdd(a.T, 1)[1]],
    "packbits": [lambda a: np.packbits(a > 1.5), lambda a: np.packbits(a > 1.5, axis=1)],
    "real_if_close": [np.real_if_close, lambda a: np.real_if_close(a + 0j, tol=1)],
    "sort_complex": [np.sort_complex],
    "trim_zeros": [np.trim_zeros, lambda a: np.trim_zeros(a[0] * (a[0] > 1.5), "b")],
    "unpackbits": [lambda a: np.unpackbits(np.astype(a * 100, np.uint8), axis=1, count=3)],
    "unwrap": [lambda a: np.unwrap(a * 3), lambda a: np.unwrap(a, axis=0, period=0.5)],
    "common_type": [lambda a: np.common_type(a, a[0])],
    "i0": [np.i0],
    "iscomplexobj": [np.iscomplexobj],
    "isneginf": [np.isneginf, lambda a: np.isneginf((a - 1.5) * -np.inf)],
    "isposinf": [np.isposinf, lambda a: np.isposinf((a - 1.5) * np.inf)],
    "isrealobj": [np.isrealobj],
    "min_scalar_type": [np.min_scalar_type],
    "ndim": [np.ndim],
    "poly": [lambda a: np.poly(a[0]), lambda a: np.poly(a[:, :3])],
    "polyadd": [lambda a: np.polyadd(a[0], a[1, :2])],
    "polyder": [lambda a: np.polyder(a[0]), lambda a: np.polyder(a[0], m=2)],
    "polydiv": [lambda a: np.polydiv(np.ceil(a[0]), [2, 1])],
    "polyfit": [
        # Centred on zero, where the columns of powers differ most.
        lambda a: np.polyfit(np.cumsum(a[0]) - 4, a[1], 1),
        lambda a: np.polyfit(np.cumsum(a[0]) - 4, a.T, deg=2, w=a[2]),
    ],
    "polyint": [lambda a: np.polyint(a[0]), lambda a: np.polyint(a[0], m=2, k=[1, 2])],
    "polymul": [lambda a: np.polymul(a[0], a[1, :2])],
    "polysub": [lambda a: np.polysub(a[0], a[1, :2])],
    "roots": [lambda a: np.roots(a[0])],
    "can_cast": [lambda a: np.can_cast(a, np.float64)],
    "result_type": [lambda a: np.result_type(a, a)],
    "shape": [np.shape],
    "size": [np.size, lambda a: np.size(a, 1)],
}

ANSWERS = {
    *("allclose", "array_equal", "array_equiv", "may_share_memory", "shares_memory"),
    *(
        "can_cast",
        "common_type",
        "einsum_path",
        "iscomplexobj",
        "isrealobj",
        "min_scalar_type",
        "ndim",
    ),
    *("result_type", "shape", "size"),
}
"""Functions that do not return tensors."""
READING = {
    *compositions.READING,
    "array_equiv",
    *("allclose", "array_equal", "argwhere", "bincount", "compress", "extract", "flatnonzero"),
    *("nonzero", "place", "poly", "polyadd", "polyder", "polydiv", "polyint", "polymul", "polysub"),
    "roots",
    *("real_if_close", "trim_zeros"),
}
LOOKING = {
    *("average", "digitize", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd"),
    *("nanargmax", "nanargmin", "polyfit", "ravel_multi_index", "unravel_index"),
}
"""Calls that read elements on the cpu device, to raise errors about them."""
NARROW = {"int64": "int32", "float64": "float32", "complex128": "complex64"}


@pytest.fixture
def array() -> Array:
    return np.random.default_rng().uniform(1, 2, (3, 4)).astype(np.float32)


def test_every_function_is_called_here() -> None:
    assert CALLS.keys() == OURS


@pytest.mark.parametrize("name", CALLS)
def test_it_calls_ours(
    name: str, array: Array, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for call in CALLS[name]:
        x = pt.tensor(array, device=device)
        try:
            expected = call(array)
        except ValueError:  # NumPy 2.5 rejects products of vectors of two elements
            assert name == "cross"
            continue
        with monkeypatch.context() as patched:
            if name not in READING and not (device == "cpu" and name in LOOKING):
                patched.setattr(pt.Tensor, "_read", None)  # nothing is read
            got = call(x)
        if name in ANSWERS:
            assert got == expected
            assert type(got) is not np.bool_
            continue
        many = isinstance(expected, list | tuple)
        assert isinstance(got, list | tuple) == many
        for mine, numpys in zip(got, expected, strict=True) if many else [(got, expected)]:
            assert isinstance(mine, pt.Tensor)
            assert mine.device is x.device
            assert mine.shape == np.shape(numpys)
            dtype = np.asarray(numpys).dtype.name
            assert str(mine.dtype) == NARROW.get(dtype, dtype)
            np.testing.assert_allclose(mine.numpy(), numpys, rtol=2e-5, atol=1e-6)


def test_the_size_along_several_axes(device: str) -> None:
    """NumPy 2.2, which the page has, takes only one."""
    assert pt.size(pt.ones((2, 3, 4), device=device), (0, -1)) == 8


@pytest.mark.computes
def test_arrays_with_tensors(array: Array, device: str) -> None:
    x = pt.tensor(array, device=device)
    joined = np.concatenate([x, array])
    assert isinstance(joined, pt.Tensor)
    np.testing.assert_array_equal(joined.numpy(), np.concatenate([array, array]))
    kept = np.where(array > 1.5, x, array)
    assert isinstance(kept, pt.Tensor)
    np.testing.assert_array_equal(kept.numpy(), array)


def test_an_out_that_is_no_array(array: Array, device: str) -> None:
    x = pt.tensor(array, device=device)
    with pytest.raises(TypeError, match=r"^max: out must be a tensor or an array, not list"):
        np.amax(x, out=cast("Any", [1]))


def test_options_that_ours_lacks_raise(
    array: Array, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours lacks none at present; NumPy may add some."""
    x = pt.tensor(array, device=device)
    monkeypatch.setattr(host_arrays, "_counterpart_of", lambda _: lambda a: a)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'axis'") as raised:
        np.sum(x, axis=0)
    assert raised.value.__notes__ == ["If NumPy has this form, np.sum of x.numpy() computes it."]


FORMS: dict[str, tuple[Call, str]] = {
    "isin": (lambda a: np.isin(a, np.array(["1"])), "isin: tensors cannot hold strings"),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_that_ours_lacks_raises_and_names_numpys(
    name: str, array: Array, device: str
) -> None:
    call, message = FORMS[name]
    call(array)  # NumPy has it
    with pytest.raises((pt.ShapeError, TypeError), match=f"^{message}") as raised:
        call(pt.tensor(array, device=device))
    assert raised.value.__notes__ == [
        f"If NumPy has this form, np.{name} of x.numpy() computes it."
    ]


def test_options_that_numpy_lacks_too_have_no_such_note(array: Array, device: str) -> None:
    with pytest.raises(pt.AxisError) as raised:
        np.sum(pt.tensor(array, device=device), axis=2)
    assert not hasattr(raised.value, "__notes__")


@pytest.mark.computes
def test_targets_of_writes(array: Array, device: str) -> None:
    """A tensor as `out`; an array to which a function writes the elements of a tensor."""
    x: Any = pt.tensor(array, device=device)
    whole: Any = pt.zeros((3, 4), device=device)
    row: Any = pt.zeros(4, device=device)
    assert np.add(x, array, out=whole, where=array > 1.5) is whole
    assert np.sum(x, axis=0, out=row) is row
    np.testing.assert_array_equal(whole.numpy(), np.where(array > 1.5, array + array, 0))
    np.testing.assert_allclose(row.numpy(), array.sum(0), rtol=1e-6)
    other = np.zeros((3, 4), np.float32)
    np.copyto(other, x)
    np.put(other, [0, 1], x[2])
    np.testing.assert_array_equal(other.ravel()[2:], array.ravel()[2:])
    np.testing.assert_array_equal(other[0, :2], array[2, :2])


@pytest.mark.computes
def test_where_of_a_condition_alone(array: Array, device: str) -> None:
    found = np.where(pt.tensor(array, device=device) > 1.5)
    for mine, numpys in zip(found, np.where(array > 1.5), strict=True):
        assert isinstance(mine, pt.Tensor)
        np.testing.assert_array_equal(mine.numpy(), numpys)


def test_no_signature_is_inspected(
    array: Array, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = pt.tensor(array, device=device)
    np.sum(x)
    monkeypatch.setattr("py_tensor.convert.host_arrays.signature", None)
    np.sum(x, axis=0)


@pytest.mark.computes
def test_all_others_take_a_copy(array: Array, device: str) -> None:
    x = pt.tensor(array, device=device)
    others: list[Call] = [
        lambda a: np.linspace(a[0], a[1], 5),
        lambda a: np.geomspace(a[:, 0], a[:, 1], 3),
    ]
    assert isinstance(np.where(x > 1.5)[0], pt.Tensor), "which is np.nonzero"
    for call in others:
        got = call(x)
        assert isinstance(got, np.ndarray | np.generic)
        np.testing.assert_array_equal(got, call(array))
    assert np.shape(x) == (3, 4)
    assert (np.ndim(x), np.size(x)) == (2, 12)


OF_NAMESPACES: dict[str, list[Call]] = {
    "linalg.cholesky": [lambda a: np.linalg.cholesky(a @ a.T + 4 * np.eye(3, dtype=a.dtype))],
    "linalg.cond": [np.linalg.cond],
    "linalg.cross": [lambda a: np.linalg.cross(a[:, :3], a[:, 1:])],
    "linalg.det": [lambda a: np.linalg.det(a[:, :3])],
    "linalg.diagonal": [np.linalg.diagonal],
    "linalg.eig": [lambda a: abs(np.linalg.eig(a @ a.T)[0]).max()],
    "linalg.eigh": [lambda a: np.linalg.eigh(a @ a.T).eigenvalues],
    "linalg.eigvals": [lambda a: abs(np.linalg.eigvals(a @ a.T)).max()],
    "linalg.eigvalsh": [lambda a: np.linalg.eigvalsh(a @ a.T, UPLO="U")],
    "linalg.inv": [lambda a: np.linalg.inv(a[:, :3])],
    "linalg.lstsq": [lambda a: np.linalg.lstsq(a.T, a[0], rcond=None)[0]],
    "linalg.matmul": [lambda a: np.linalg.matmul(a.T, a)],
    "linalg.matrix_norm": [np.linalg.matrix_norm],
    "linalg.matrix_power": [lambda a: np.linalg.matrix_power(a[:, :3], 3)],
    "linalg.matrix_rank": [np.linalg.matrix_rank],
    "linalg.matrix_transpose": [np.linalg.matrix_transpose],
    "linalg.multi_dot": [lambda a: np.linalg.multi_dot([a, a.T, a])],
    "linalg.norm": [np.linalg.norm, lambda a: np.linalg.norm(a, axis=1, keepdims=True)],
    "linalg.outer": [lambda a: np.linalg.outer(a[0], a[1])],
    "linalg.pinv": [np.linalg.pinv],
    "linalg.qr": [lambda a: np.linalg.qr(a).R ** 2],
    "linalg.slogdet": [lambda a: np.linalg.slogdet(a[:, :3])[1]],
    "linalg.solve": [lambda a: np.linalg.solve(a[:, :3], a[:, 3])],
    "linalg.svd": [lambda a: np.linalg.svd(a, full_matrices=False)[1]],
    "linalg.svdvals": [np.linalg.svdvals],
    "linalg.tensordot": [lambda a: np.linalg.tensordot(a, a, axes=2)],
    "linalg.tensorinv": [lambda a: np.linalg.tensorinv(a[:, :3], ind=1)],
    "linalg.tensorsolve": [lambda a: np.linalg.tensorsolve(a[:, :3], a[:, 3])],
    "linalg.trace": [np.linalg.trace],
    "linalg.vecdot": [lambda a: np.linalg.vecdot(a, a)],
    "linalg.vector_norm": [lambda a: np.linalg.vector_norm(a, axis=0, ord=1)],
    "fft.fft": [np.fft.fft, lambda a: np.fft.fft(a, n=5, axis=0, norm="ortho")],
    "fft.fft2": [np.fft.fft2],
    "fft.fftn": [np.fft.fftn],
    "fft.fftshift": [lambda a: np.fft.fftshift(a, axes=1)],
    "fft.hfft": [np.fft.hfft],
    "fft.ifft": [np.fft.ifft],
    "fft.ifft2": [np.fft.ifft2],
    "fft.ifftn": [np.fft.ifftn],
    "fft.ifftshift": [np.fft.ifftshift],
    "fft.ihfft": [np.fft.ihfft],
    "fft.irfft": [np.fft.irfft],
    "fft.irfft2": [np.fft.irfft2],
    "fft.irfftn": [np.fft.irfftn],
    "fft.rfft": [np.fft.rfft],
    "fft.rfft2": [np.fft.rfft2],
    "fft.rfftn": [np.fft.rfftn],
}


def test_every_function_of_linalg_and_fft_is_called_here() -> None:
    for namespace in ("linalg", "fft"):
        numpys = getattr(np, namespace)
        names = {n for n in dir(numpys) if hasattr(getattr(numpys, n), "_implementation")}
        called = {name.partition(".")[2] for name in OF_NAMESPACES if namespace in name}
        assert names == called


@pytest.mark.filterwarnings("error::py_tensor.HostCopyWarning")
@pytest.mark.parametrize("name", OF_NAMESPACES)
def test_functions_of_linalg_and_fft_are_ours(name: str, array: Array, device: str) -> None:
    array[:, :3] += 3 * np.eye(3, dtype=np.float32)  # of low condition
    x = pt.tensor(array, device=device)
    for call in OF_NAMESPACES[name]:
        got, expected = call(x), call(array)
        assert isinstance(got, pt.Tensor)
        assert got.device is x.device
        assert got.shape == np.shape(expected)
        np.testing.assert_allclose(got.numpy(), expected, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("name", ["erfc", "gamma", "jv"])
def test_a_ufunc_of_another_library_takes_copies(device: str, name: str) -> None:
    ufunc = getattr(pytest.importorskip("scipy.special"), name)
    x = np.random.default_rng().uniform(0.5, 4, (3, 5)).astype("float32")
    operands = [np.float32(2), x] if ufunc.nin == 2 else [x]
    got = ufunc(*operands[:-1], pt.tensor(x, device=device))
    assert isinstance(got, np.ndarray)
    np.testing.assert_array_equal(got, ufunc(*operands))


def test_a_missing_ufunc_of_numpy_raises(device: str) -> None:
    with pytest.raises(TypeError, match=r"np\.isnat: not supported for tensors"):
        np.isnat(pt.ones(3, device=device))


LIKE: dict[str, Callable[[Any], Any]] = {
    "arange": lambda x: np.arange(2, 7, 2, like=x),
    "array": lambda x: np.array([[1, 2]], np.float32, ndmin=3, like=x),
    "asanyarray": lambda x: np.asanyarray([1, 2], like=x),
    "asarray": lambda x: np.asarray([1.5, 2], like=x),
    "ascontiguousarray": lambda x: np.ascontiguousarray([[1, 2]], like=x),
    "asfortranarray": lambda x: np.asfortranarray(np.ones((2, 3), np.float32), like=x),
    "empty": lambda x: np.empty((2, 0), np.int16, like=x),
    "eye": lambda x: np.eye(2, 3, k=1, like=x),
    "frombuffer": lambda x: np.frombuffer(b"abcd", np.uint8, 2, 1, like=x),
    "fromfunction": lambda x: np.fromfunction(lambda i, j: i * 2 + j, (2, 3), like=x),
    "fromiter": lambda x: np.fromiter(range(3), np.int32, like=x),
    "fromstring": lambda x: np.fromstring("1 2", np.int32, sep=" ", like=x),
    "full": lambda x: np.full((2,), 7, np.uint8, like=x),
    "identity": lambda x: np.identity(2, np.int8, like=x),
    "loadtxt": lambda x: np.loadtxt(["1 2", "3 4"], like=x),
    "ones": lambda x: np.ones((2, 3), like=x),
    "require": lambda x: np.require([1, 2], np.float32, like=x),
    "tri": lambda x: np.tri(3, k=-1, like=x),
    "zeros": lambda x: np.zeros(3, bool, like=x),
}


@pytest.mark.parametrize("name", LIKE)
def test_arrays_like_a_tensor(name: str, device: str) -> None:
    """They are tensors on the device of that tensor, whatever the default device is."""
    expected = LIKE[name](np.zeros(1))
    default = pt.default_device()
    for default_device in {"cpu", device}:
        pt.set_default_device(default_device)
        made = LIKE[name](pt.zeros((), device=device))
        pt.set_default_device(default)
        assert isinstance(made, pt.Tensor)
        assert made.device.name == device
        assert str(made.dtype) == NARROW.get(expected.dtype.name, expected.dtype.name)
        np.testing.assert_array_equal(made.numpy(), expected)


def test_every_function_with_like_is_called_here() -> None:
    both = {name: getattr(np, name) for name in {*dir(np)} & {*dir(pt)}}
    names = {name for name, each in both.items() if "like : array_like" in (each.__doc__ or "")}
    dispatched = {name for name in names if hasattr(both[name], "_implementation")}
    classes = {name for name in names if isinstance(both[name], type)}
    assert names - dispatched - classes - {"fromfile", "genfromtxt"} == LIKE.keys()


@pytest.mark.parametrize("name", ["bool", "int8", "uint16", "int32", "int64", "float16", "float32"])
def test_the_type_of_a_dtype_is_a_class_of_numpys(name: str, device: str) -> None:
    mine, numpys = pt.zeros(1, dtype=name, device=device).dtype, np.dtype(name)
    assert mine.type is numpys.type
    assert mine.type == mine
    for kind in ("generic", "number", "integer", "signedinteger", "inexact", "floating", "bool_"):
        expected = issubclass(numpys.type, getattr(np, kind))
        assert issubclass(mine.type, getattr(np, kind)) == expected
        if kind != "bool_":
            assert issubclass(mine.type, getattr(pt, kind)) == expected
        assert pt.issubdtype(mine.type, getattr(pt, kind)) == expected


def test_masked_arrays_come_first(device: str) -> None:
    """In operators and in NumPy's functions, on either side, and they keep their masks."""
    a = np.array([1.0, 2.0, 3.0], np.float32)
    x, masked = pt.tensor(a, device=device), np.ma.array(a + 1, mask=[False, True, False])
    for call in (
        lambda x, m: x * m,
        lambda x, m: m - x,
        lambda x, m: x**m,
        lambda x, m: x % m,
        lambda x, m: divmod(x, m)[1],
        lambda x, m: np.add(x, m),
        lambda x, m: np.hypot(m, x),
    ):
        got, expected = call(x, masked), call(a, masked)
        assert type(got) is np.ma.MaskedArray
        np.testing.assert_array_equal(got.mask, expected.mask)
        np.testing.assert_array_equal(got.filled(0), expected.filled(0))
