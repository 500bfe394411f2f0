"""In and out: lists, scalars, buffers, NumPy arrays; and what the tensor tells about itself."""

from __future__ import annotations

import array
import math
import sys
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from tests.ops import references as ref
from tests.ops.compare import same
from tests.ops.operands import SPECIAL

Array = Any


def test_nested_lists(device: str) -> None:
    cases: tuple[tuple[Any, str], ...] = (
        ([1, 2, 3], "int32"),
        ([1, 2.5], "float32"),
        ([True, False], "bool"),
        ([True, 2], "int32"),
        ([[1], [2]], "int32"),
        (((1, 2), [3, 4.5]), "float32"),
        ([], "float32"),
        ([[], []], "float32"),
        ([[[1, 2]], [[3, 4]]], "int32"),
        (range(4), "int32"),
        ([range(2), [5, 6]], "int32"),
        (3, "int32"),
        (2.5, "float32"),
        (True, "bool"),
        ([math.inf, -math.inf, -0.0], "float32"),
        ([np.float32(1.5), 2], "float32"),
        ([np.int32(3)], "int32"),
    )
    for data, dtype in cases:
        x = pt.tensor(data, device=device)
        expected = np.array(
            [list(d) for d in data]
            if isinstance(data, list) and data and isinstance(data[0], range)
            else data
        )
        same(x, expected.astype(dtype), f"tensor({data})")
    same(pt.asarray([1, 2], device=device), np.array([1, 2], np.int32), "asarray")
    for dtype in ref.DTYPES:
        same(
            pt.tensor([[0, 1], [1, 0]], dtype=dtype, device=device),
            np.array([[0, 1], [1, 0]], dtype),
            f"tensor, {dtype}",
        )
    same(
        pt.tensor([1e39, -1e39, 3.4028235e38], device=device),
        np.array([np.inf, -np.inf, 3.4028235e38], np.float32),
        "overflow",
    )
    same(
        pt.tensor([2.9, -2.9], dtype="int32", device=device),
        np.array([2, -2], np.int32),
        "floats in int32",
    )
    same(
        pt.tensor([2**24 + 1], dtype="float32", device=device),
        np.array([2**24], np.float32),
        "int past float32",
    )
    same(
        pt.tensor([4294967295], dtype="uint32", device=device),
        np.array([2**32 - 1], np.uint32),
        "uint32 max",
    )


@pytest.mark.computes
def test_lists_that_hold_tensors(device: str) -> None:
    x = pt.tensor([1.0, 2.0], device=device) + 1
    same(
        pt.tensor([x, x], device=device),
        np.array([[2, 3], [2, 3]], np.float32),
        "a list of tensors",
    )
    same(
        pt.tensor([x[0], 7], device=device),
        np.array([2, 7], np.float32),
        "a 0-d tensor and a scalar",
    )
    same(
        pt.tensor([[x, x + 1], [x, x]], device=device),
        np.array([[[2, 3], [3, 4]], [[2, 3], [2, 3]]], np.float32),
        "nested lists of tensors",
    )
    same(
        pt.tensor([x, [5, 6]], device=device),
        np.array([[2, 3], [5, 6]], np.float32),
        "a tensor and a list",
    )
    same(
        pt.tensor([x[0], pt.tensor(7, device=device)]),
        np.array([2, 7], np.float32),
        "0-d tensors, on their own device",
    )
    same(
        pt.tensor([x, x], dtype="int32"),
        np.array([[2, 3], [2, 3]], np.int32),
        "a list of tensors, with a dtype",
    )
    assert pt.tensor([x, x]).device is x.device
    if device == "webgpu":
        with pytest.raises(pt.DeviceError, match=r"^tensor: .*webgpu.*cpu"):
            pt.tensor([x, pt.ones(2, device="cpu")])


def test_lists_that_hold_arrays(device: str) -> None:
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    i, narrow = np.array([1, 2, 3], np.int32), np.array([1, 2, 3], np.int8)
    cases: tuple[tuple[Any, Array], ...] = (
        ([a, a + 1], np.stack([a, a + 1])),
        ([[a], [a]], np.array([[a], [a]])),
        ((a[0], i), np.stack([a[0], i]).astype(np.float32)),
        ([i, [4, 5, 6]], np.array([i, [4, 5, 6]], np.int32)),
        ([i, narrow], np.array([i, narrow], np.int32)),
        ([a[:, 0], a[:, 1]], a.T[:2]),
        ([np.float32(0.5), np.int32(2)], np.array([0.5, 2], np.float32)),
        ([np.int64(3), np.uint8(4)], np.array([3, 4], np.int32)),
        ([np.float64(0.5), np.float16(2)], np.array([0.5, 2], np.float32)),
        ([np.bool_(True), np.bool_(False)], np.array([True, False])),
        ([np.uint32(2**32 - 1)], np.array([2**32 - 1], np.uint32)),
        ([np.array(3), 4.5], np.array([3, 4.5], np.float32)),
    )
    for data, expected in cases:
        same(pt.tensor(data, device=device), expected, f"tensor({data})")
    wide = [np.arange(2, dtype=np.int64)] * 2
    same(
        pt.tensor(wide, dtype="int32", device=device),
        np.array(wide, np.int32),
        "int64 arrays with a dtype",
    )
    if device == "webgpu":
        with pytest.raises(pt.DTypeError, match=r"^tensor: int64"):
            pt.tensor(wide)


def test_bad_data(device: str) -> None:
    for make, error, match in (
        (
            lambda: pt.tensor([[1, 2], [3]], device=device),
            pt.ShapeError,
            r"ragged.*sequence of 1.*2",
        ),
        (lambda: pt.tensor([[1, 2], 3], device=device), pt.ShapeError, r"ragged.*scalar"),
        (lambda: pt.tensor([1, [2]], device=device), pt.ShapeError, r"ragged"),
        (lambda: pt.tensor([[[1]], [[1, 2]]], device=device), pt.ShapeError, r"ragged"),
        (lambda: pt.tensor([2**31], device=device), OverflowError, r"2147483648.*int32"),
        (lambda: pt.tensor([-1], dtype="uint32", device=device), OverflowError, r"-1.*uint32"),
        (lambda: pt.tensor(2**40, device=device), OverflowError, r"1099511627776.*int32"),
        (lambda: pt.tensor(["a"], device=device), TypeError, "str"),
        (lambda: pt.tensor(None, device=device), TypeError, "NoneType"),
        (lambda: pt.tensor({1: 2}, device=device), TypeError, "dict"),
        (lambda: pt.tensor([1], dtype="float16", device=device), pt.DTypeError, "float16"),
        (lambda: pt.tensor(np.zeros(2, np.float16), device=device), pt.DTypeError, "float16"),
        (lambda: pt.tensor(np.zeros(2, "complex64"), device=device), pt.DTypeError, "complex64"),
        (
            lambda: pt.tensor([math.nan], dtype="int32", device=device),
            ValueError,
            r"^tensor: int32 .*NaN",
        ),
        (
            lambda: pt.tensor([1, -math.inf], dtype="uint32", device=device),
            OverflowError,
            r"^tensor: .*-inf.*uint32",
        ),
        (
            lambda: pt.tensor([0.5, 1e20], dtype="int32", device=device),
            OverflowError,
            r"^tensor: .*1e\+20.*int32",
        ),
        (lambda: pt.tensor([3 * 10**9], device=device), OverflowError, r"^tensor: .*3000000000"),
        (
            lambda: pt.tensor([10**400], dtype="float32", device=device),
            OverflowError,
            r"^tensor: .*1329 bits.*float32",
        ),
        (
            lambda: pt.tensor([np.ones(2), np.ones(3)], dtype="float32", device=device),
            pt.ShapeError,
            r"^tensor: .*ragged.*3.*2",
        ),
        (lambda: pt.tensor([pt.ones(2), pt.ones(3)]), pt.ShapeError, r"^tensor: .*ragged"),
        (lambda: pt.tensor([pt.ones(2), [1]]), pt.ShapeError, r"^tensor: .*ragged"),
        (lambda: pt.tensor([np.complex64(1)], device=device), TypeError, "^tensor: .*complex64"),
        (
            lambda: pt.tensor([np.int64(2**40)], device=device),
            OverflowError,
            r"^tensor: .*1099511627776.*int32",
        ),
    ):
        with pytest.raises(error, match=match) as caught:
            make()
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None or caught.value.__suppress_context__
    same(pt.tensor([1, 2], device=device), np.array([1, 2], np.int32), "the session afterwards")


def _layouts(a: Array) -> dict[str, Array]:
    two = np.resize(a, (6, 4))
    return {
        "1-D": a,
        "2-D": two,
        "Fortran": np.asfortranarray(two),
        "transposed": two.T,
        "sliced": two[1:5:2, ::3],
        "flipped": two[::-1, ::-1],
        "broadcast": np.broadcast_to(two[:, :1], (6, 5)),
        "0-d": np.asarray(a[0]),
        "empty": two[:0],
        "read-only": _read_only(a),
        "big-endian": a.astype(a.dtype.newbyteorder(">")),
    }


def _read_only(a: Array) -> Array:
    a = a.copy()
    a.flags.writeable = False
    return a


def test_numpy_arrays(device: str) -> None:
    dtypes = ref.DTYPES if device == "webgpu" else (*ref.DTYPES, *ref.WIDE_DTYPES)
    for dtype in dtypes:
        for layout, a in _layouts(np.array(SPECIAL[dtype], dtype)).items():
            same(
                pt.tensor(a, device=device), a.astype(dtype), f"tensor of NumPy's {dtype}, {layout}"
            )
    a = np.array([1.5, 2.5, -3.0])
    same(
        pt.tensor(a, dtype=pt.float32, device=device), a.astype(np.float32), "float64 with a dtype"
    )
    same(
        pt.tensor(a.astype(np.float16), dtype="float32", device=device),
        a.astype(np.float32),
        "float16 with a dtype",
    )
    same(
        pt.tensor(np.arange(3), dtype="int32", device=device),
        np.arange(3, dtype=np.int32),
        "int64 with a dtype",
    )
    same(pt.tensor(np.float32(2.5), device=device), np.float32(2.5), "a NumPy scalar")
    if device == "webgpu":
        with pytest.raises(
            pt.DTypeError, match=r"float64(.|\n)*pt\.tensor\(a, dtype=pt\.float32\)"
        ):
            pt.tensor(a)
        with pytest.raises(pt.DTypeError, match="int64"):
            pt.tensor(np.arange(3, dtype=np.int64))
    before = np.ones(3, np.float32)
    x = pt.tensor(before, device=device)
    before[:] = 5
    same(x, np.ones(3, np.float32), "a tensor is a copy")


def test_buffers(device: str) -> None:
    for data, dtype in (
        (array.array("f", [1.5, -2.5]), "float32"),
        (array.array("i", [1, -2]), "int32"),
        (array.array("I", [1, 2**32 - 1]), "uint32"),
        (memoryview(array.array("f", [1, 2, 3, 4])).cast("B").cast("f", [2, 2]), "float32"),
        (memoryview(array.array("i", range(10)))[::3], "int32"),
        (memoryview(array.array("i", range(4)))[::-1], "int32"),
        (memoryview(b"\x00\x01\x01").cast("?"), "bool"),
    ):
        same(pt.tensor(data, device=device), np.array(data).astype(dtype), f"a buffer of {dtype}")
    same(
        pt.tensor(b"\x01\xff", dtype="int32", device=device),
        np.array([1, 255], np.int32),
        "bytes with a dtype",
    )
    same(
        pt.tensor(bytearray([3, 4]), dtype="float32", device=device),
        np.array([3, 4], np.float32),
        "bytearray",
    )
    same(
        pt.tensor(array.array("d", [1.5]), dtype="float32", device=device),
        np.array([1.5], np.float32),
        "doubles with a dtype",
    )
    same(
        pt.tensor(array.array("h", [-3, 4]), dtype="int32", device=device),
        np.array([-3, 4], np.int32),
        "shorts with a dtype",
    )
    two = memoryview(array.array("d", [1, 2, 3, 4])).cast("B").cast("d", [2, 2])
    same(
        pt.tensor(two, dtype="float32", device=device),
        np.array([[1, 2], [3, 4]], np.float32),
        "2-D doubles with a dtype",
    )
    with pytest.raises(pt.DTypeError, match="'B'"):
        pt.tensor(b"abc", device=device)
    if device == "webgpu":
        with pytest.raises(pt.DTypeError, match="float64"):
            pt.tensor(array.array("d", [1.0]))


@pytest.mark.computes
def test_out_again(device: str) -> None:
    """tolist, item, numpy and __array__ of results, in every dtype and some shapes."""
    for dtype in ref.DTYPES:
        for shape in ((), (1,), (5,), (2, 3), (2, 1, 3), (0,), (2, 0), (0, 2), (2, 0, 3)):
            a = np.resize(np.array(SPECIAL[dtype][-6:], dtype), shape)
            x = pt.tensor(a, device=device)
            for view, expected in ((x, a), (x.T, a.T), (x[None], a[None])):
                what = f"{dtype} {expected.shape}"
                same(view, expected, f"numpy() of {what}")
                if dtype != "float32":
                    assert view.tolist() == expected.tolist(), f"tolist() of {what}"
                else:
                    assert repr(view.tolist()) == repr(expected.tolist()), f"tolist() of {what}"
                assert np.asarray(view).dtype == expected.dtype, f"asarray of {what}"
                assert np.array_equal(np.asarray(view), expected, equal_nan=dtype == "float32"), (
                    f"asarray of {what}"
                )
                assert view.nbytes == expected.nbytes
                assert (view.ndim, view.size, view.itemsize) == (
                    expected.ndim,
                    expected.size,
                    expected.itemsize,
                )
        kind = {"bool": bool, "float32": float}.get(dtype, int)
        scalar = pt.tensor([1, 0], dtype=dtype, device=device)[0]
        assert scalar.item() == 1
        assert type(scalar.item()) is kind
        assert (float(scalar), int(scalar), bool(scalar)) == (1.0, 1, True)


@pytest.mark.computes
def test_numpy_is_a_copy_of_its_own(device: str) -> None:
    x = pt.tensor([1.0, 2.0], device=device) + 0
    a = x.numpy()
    a[:] = 9
    same(x, np.array([1, 2], np.float32), "after its copy was changed")
    assert np.array_equal(np.array(x, dtype=np.int64), [1, 2])
    assert np.array_equal(np.array(x, copy=True), [1, 2])
    with pytest.raises(ValueError, match="copy"):
        x.__array__(copy=False)


@pytest.mark.computes
def test_scalars(device: str) -> None:
    x = pt.tensor([[2.5]], device=device)
    assert x.item() == 2.5
    assert x.sum().item() == 2.5
    assert bool(x)
    assert f"{x.sum():.3f}" == "2.500"
    assert math.sqrt(pt.tensor(9.0, device=device)) == 3
    assert [10, 20, 30][pt.tensor(2, device=device) - 1] == 20
    several = pt.tensor([1.0, 2.0], device=device)
    for read, error, match in (
        (several.item, ValueError, r"item: .*\(2,\).*2 elements"),
        (lambda: bool(several), ValueError, r"\(2,\).*any\(\) or all\(\)"),
        (lambda: bool(several[:0]), ValueError, r"\(0,\)"),
        (lambda: float(several), TypeError, r"\(2,\)"),
        (lambda: int(several), TypeError, r"\(2,\)"),
        (lambda: [1, 2][several[0]], TypeError, "float32"),
        (lambda: len(several[0]), TypeError, "0-d"),
        (lambda: list(several[0]), TypeError, "0-d"),
        (several[:0].item, ValueError, "0 elements"),
    ):
        with pytest.raises(error, match=match):
            read()
    assert int(pt.tensor(2.9, device=device)) == 2
    with pytest.raises(TypeError, match=r"pt\.where"):
        several[0] = 1


@pytest.mark.skipif(sys.version_info < (3, 12), reason="__buffer__ came with Python 3.12")
@pytest.mark.computes
def test_buffer_out(device: str) -> None:
    for dtype in ref.DTYPES:
        a = np.array(SPECIAL[dtype][:2], dtype).repeat(3).reshape(2, 3)
        view = memoryview(pt.tensor(a, device=device).T)
        assert view.shape == (3, 2), dtype
        assert view.tolist() == a.T.tolist(), dtype
        assert np.array_equal(np.asarray(view), a.T), dtype
    assert memoryview(pt.tensor(2.5, device=device) + 1).tolist() == 3.5
    assert memoryview(pt.zeros(0, device=device)).tolist() == []
    assert memoryview(pt.zeros(3, device=device) + 1).readonly
    with pytest.raises(BufferError, match=r"\(0, 3\)"):
        memoryview(pt.zeros((0, 3), device=device))


@pytest.mark.computes
def test_iteration_and_length(device: str) -> None:
    x = pt.tensor([[1, 2], [3, 4], [5, 6]], device=device)
    assert len(x) == 3
    assert [row.tolist() for row in x] == [[1, 2], [3, 4], [5, 6]]
    first, *_, last = x
    assert (first + last).tolist() == [6, 8]
    assert len(x[:0]) == 0
    assert list(x[:0]) == []
    assert x in [x]
    assert {x: 1}[x] == 1
    assert x.strides == (8, 4)


@pytest.mark.computes
def test_between_devices(device: str) -> None:
    for dtype in ref.DTYPES:
        a = np.array(SPECIAL[dtype], dtype)
        x = pt.tensor(a, device=device)
        there = x[::-1].to("cpu")
        assert str(there.device) == "cpu"
        same(there, a[::-1], f"to cpu, {dtype}")
        same(there.to(device), a[::-1], f"to cpu and back, {dtype}")
        assert x.to(device) is x
        assert pt.asarray(x) is x
        same(pt.tensor(x, dtype="float32"), a.astype(np.float32), f"tensor of a tensor, {dtype}")
    same(
        pt.zeros((0, 2), device=device).to("cpu"),
        np.zeros((0, 2), np.float32),
        "an empty one to cpu",
    )
    if device == "webgpu":
        with pytest.raises(pt.DeviceError, match=r"^add: .*webgpu.*cpu"):
            _ = pt.ones(3, device=device) + pt.ones(3, device="cpu")
        with pytest.raises(pt.DTypeError, match="float64"):
            pt.ones(2, dtype="float64", device="cpu").to("webgpu")


@pytest.mark.computes
def test_numpy_and_tensors_together(device: str) -> None:
    x, a = pt.tensor([1.0, 2.0], device=device), np.array([[1], [2]], np.float32)
    for got in (a + x, x + a, a * x, np.float32(3) - x, a @ x[None], x[None] < a):
        assert isinstance(got, pt.Tensor)
        assert got.device is x.device
    same(a + x, a + x.numpy(), "array + tensor")


@pytest.mark.computes
def test_numpys_functions_of_tensors(device: str) -> None:
    """They are our functions; what those cannot do raises, and names what can."""
    x, a = pt.tensor([0.25, 4.0], device=device), np.array([[1], [2]], np.float32)
    for got, expected in (
        (np.sqrt(x), np.sqrt(x.numpy())),
        (np.add(a, x), a + x.numpy()),
        (np.maximum(x, 1), np.maximum(x.numpy(), 1)),
        (np.absolute(x), x.numpy()),
        (np.isnan(x), np.isnan(x.numpy())),
    ):
        assert isinstance(got, pt.Tensor)
        same(got, expected, "a function of NumPy's")
    quotient, rest = divmod(a, x)
    same(quotient, a // x.numpy(), "divmod of an array by a tensor")
    same(rest, a % x.numpy(), "divmod of an array by a tensor, what is left")
    for call, match in (
        (lambda: np.cbrt(x), r"^np\.cbrt: .*np\.cbrt\(x\.numpy\(\)\)"),
        (lambda: np.add.reduce(x), r"^np\.add\.reduce: .*x\.numpy\(\)"),
        (lambda: np.sqrt(x, out=np.empty(2, np.float32)), r"^np\.sqrt: .*out.*pt\.sqrt"),
        (lambda: np.add(x, 1, where=a > 1), r"^np\.add: .*where.*pt\.add"),
    ):
        with pytest.raises(TypeError, match=match):
            call()
    assert np.array_equal(np.asarray(x), [0.25, 4])
    assert np.array_equal(np.cbrt(x.numpy()) ** 3 > 0, [True, True])
