"""Errors of movement, shapes and indexing: each names the op and the arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import py_tensor as pt
from tests.ops import references as ref
from tests.ops.compare import same

# (a tensor of shape (2, 3, 4)) -> the error, and text that its message must contain
WRONG: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "reshape to another size": (
        lambda x: x.reshape(5, 5),
        pt.ShapeError,
        r"^reshape: .*\(2, 3, 4\).*24.*\(5, 5\)",
    ),
    "reshape with two -1": (lambda x: x.reshape(-1, -1), pt.ShapeError, r"^reshape: .*\(-1, -1\)"),
    "reshape with -2": (lambda x: x.reshape(-2, 12), pt.ShapeError, r"^reshape: .*\(-2, 12\)"),
    "reshape that does not divide": (
        lambda x: x.reshape(-1, 7),
        pt.ShapeError,
        r"^reshape: .*\(2, 3, 4\).*\(-1, 7\)",
    ),
    "reshape to 65 axes": (
        lambda x: x.reshape((1,) * 64 + (24,)),
        pt.ShapeError,
        r"^reshape: .*65 axes.*64",
    ),
    "argmax of more than int32 can count": (
        lambda x: x[0, 0, 0].expand((2**31 + 1,)).argmax(),
        pt.ShapeError,
        r"^argmax: .*\(2147483649,\).*int32",
    ),
    "reshape to text": (lambda x: x.reshape("ab"), TypeError, ""),
    "permute too few": (
        lambda x: x.permute((0, 1)),
        pt.ShapeError,
        r"^permute: .*\(0, 1\).*3 axes.*\(2, 3, 4\)",
    ),
    "permute twice the same": (
        lambda x: x.permute((0, 1, 1)),
        pt.ShapeError,
        r"^permute: .*\(0, 1, 1\)",
    ),
    "permute out of range": (
        lambda x: x.permute((0, 1, 3)),
        pt.AxisError,
        r"^permute: axis 3.*3 axes",
    ),
    "transpose of other axes": (lambda x: x.transpose(0, 5, 1), pt.AxisError, r"axis 5"),
    "swapaxes": (lambda x: x.swapaxes(0, 3), pt.AxisError, r"^swapaxes: axis 3.*3 axes"),
    "matrix_transpose of a vector": (
        lambda x: x[0, 0].mT,
        pt.ShapeError,
        r"^matrix_transpose: .*\(4,\)",
    ),
    "expand": (lambda x: x.expand(2, 3, 5), pt.ShapeError, r"^expand: .*\(2, 3, 4\).*\(2, 3, 5\)"),
    "expand to fewer axes": (
        lambda x: x.expand(3, 4),
        pt.ShapeError,
        r"^expand: .*\(2, 3, 4\).*\(3, 4\)",
    ),
    "expand to a negative size": (
        lambda x: x[:1].expand(-1, 3, 4),
        pt.ShapeError,
        r"^expand: .*-1",
    ),
    "squeeze a long axis": (
        lambda x: x.squeeze(1),
        pt.ShapeError,
        r"^squeeze: axis 1.*\(2, 3, 4\)",
    ),
    "squeeze out of range": (lambda x: x.squeeze(3), pt.AxisError, r"^squeeze: axis 3.*3 axes"),
    "expand_dims": (lambda x: x.expand_dims(5), pt.AxisError, r"^expand_dims: axis 5"),
    "expand_dims twice": (
        lambda x: x.expand_dims((0, 0)),
        pt.AxisError,
        r"^expand_dims: repeated.*\(0, 0\)",
    ),
    "transpose": (lambda x: x.transpose(0, 1, 5), pt.AxisError, r"^transpose: axis 5"),
    "transpose twice": (
        lambda x: x.transpose(0, 0, 1),
        pt.ShapeError,
        r"^transpose: axes",
    ),
    "linspace": (
        lambda x: cast("Any", pt).linspace(0, 1, 2.5),
        TypeError,
        "^linspace: num ",
    ),
    "roll": (lambda x: cast("Any", pt).roll(x, 1.5), TypeError, r"^roll: shift .*1\.5"),
    "cov": (lambda x: pt.cov(x[0], ddof=cast("Any", 0.5)), ValueError, r"^cov: ddof .*0\.5"),
    "cov by infinity": (
        lambda x: pt.cov(x[0], ddof=cast("Any", pt.inf)),
        ValueError,
        r"^cov: ddof .*inf",
    ),
    "stack": (lambda x: cast("Any", pt).stack(3), TypeError, r"^stack: .*int"),
    "add out": (
        lambda x: pt.add(x, 1, out=pt.zeros(2, device=x.device)),
        pt.ShapeError,
        r"^add: a result of shape \(2, 3, 4\) .*\(2,\)",
    ),
    "histogram": (lambda x: pt.histogram(x, [3, 1]), ValueError, "^histogram: edges must increase"),
    "digitize": (
        lambda x: pt.digitize(x, [0, 2, 1]),
        ValueError,
        "^digitize: bins must increase or",
    ),
    "flip": (lambda x: x.flip(-4), pt.AxisError, r"^flip: axis -4.*3 axes"),
    "flip twice": (lambda x: x.flip((1, -2)), pt.AxisError, r"^flip: repeated.*\(1, -2\)"),
    "crop outside": (
        lambda x: x.crop(((0, 2), (1, 4), (0, 4))),
        pt.ShapeError,
        r"^crop: \(1, 4\).*axis 1.*\(2, 3, 4\)",
    ),
    "crop backwards": (
        lambda x: x.crop(((1, 0), (0, 3), (0, 4))),
        pt.ShapeError,
        r"^crop: \(1, 0\).*axis 0",
    ),
    "crop too few": (lambda x: x.crop(((0, 1),)), pt.ShapeError, r"^crop: .*1 pair.*3 axes"),
    "crop no pairs": (lambda x: x.crop((0, 1, 2)), pt.ShapeError, r"^crop: .*\(0, 1, 2\)"),
    "pad by less than nothing": (
        lambda x: x.pad(((0, -1), (0, 0), (0, 0))),
        pt.ShapeError,
        r"^pad: .*-1",
    ),
    "pad with too many values": (
        lambda x: pt.pad(x, 1, constant_values=(1, 2, 3)),
        pt.ShapeError,
        r"^pad: constant_values \(1, 2, 3\) does not give a pair",
    ),
    "pad with text": (
        lambda x: pt.pad(x, 1, constant_values="1"),
        TypeError,
        r"^pad: takes numbers, not str",
    ),
    "pad in no mode": (lambda x: x.pad(1, "none"), ValueError, r"^pad: mode .*'none'"),
    "pad nothing by its edge": (lambda x: x[:0].pad(1, "edge"), ValueError, r"^pad: axis 0"),
    "repeat by too few": (lambda x: x.repeat([1, 2, 3], 0), pt.ShapeError, r"^repeat: .*\(3,\)"),
    "pad too many": (lambda x: x.pad(((0, 1),) * 4), pt.ShapeError, r"^pad: pad_width .*3 axes"),
    "index out of range": (lambda x: x[2], IndexError, r"^index 2.*axis 0.*\(2, 3, 4\)"),
    "index out of range, negative": (
        lambda x: x[0, -4],
        IndexError,
        r"^index -4.*axis 1.*\(2, 3, 4\)",
    ),
    "too many indices": (lambda x: x[0, 0, 0, 0], IndexError, r"^index: .*3 axes: 4$"),
    "two ellipses": (lambda x: x[..., ...], IndexError, r"^index: .*\.\.\."),
    "index by a float": (lambda x: x[0.5], IndexError, r"^index: .*float"),
    "index by a mask of other axes": (
        lambda x: x[x[0] > 0],
        IndexError,
        r"^index: a mask of shape \(3, 4\) .*\(2, 3\).*axis 0 of \(2, 3, 4\)",
    ),
    "index by a mask in NumPy": (
        lambda x: x[:, np.ones(4, bool)],
        IndexError,
        r"^index: a mask of shape \(4,\) .*\(3,\), from axis 1",
    ),
    "index by a list of bools": (
        lambda x: x[[True]],
        IndexError,
        r"^index: a mask of shape \(1,\)",
    ),
    "index by a ragged list of both": (lambda x: x[[True, [1]]], ValueError, r"^index: .*ragged"),
    "index by bytes": (lambda x: x[memoryview(b"ab")], IndexError, r"^index: .*memory"),
    "index by text": (lambda x: x["ab"], IndexError, r"^index: .*str"),
    "index a 0-d tensor by a list": (lambda x: x[0, 0, 0][[0]], IndexError, r"0 axes: 1$"),
    "index by masks of too many axes": (
        lambda x: x[x > 0, [0]],
        IndexError,
        r"^index: .*3 axes: 4$",
    ),
    "index by integers that do not broadcast": (
        lambda x: x[[0, 1], [0, 1, 2]],
        IndexError,
        r"^index: .*\(2,\).*\(3,\)",
    ),
    "index by a tensor of floats": (lambda x: x[x], IndexError, r"^index: .*float32"),
    "index by a list of floats": (lambda x: x[[0.5]], IndexError, r"^index: .*0\.5"),
    "index by a float of NumPy's": (lambda x: x[np.float32(1)], IndexError, r"^index: .*float32"),
    "index by a list out of range": (lambda x: x[[0, 99]], IndexError, r"^index 99 .*axis 0"),
    "full of text": (lambda x: pt.full(3, "a"), TypeError, r"^full: fill_value .*str"),
    "full_like of text": (
        lambda x: pt.full_like(x, "a"),
        TypeError,
        r"^full_like: fill_value .*str",
    ),
    "full of a list of another shape": (
        lambda x: pt.full((2, 2), [1, 2, 3]),
        pt.ShapeError,
        r"\(3,\).*\(2, 2\)",
    ),
    "index to 65 axes": (lambda x: x[(None,) * 62], pt.ShapeError, r"^index: .*65 axes"),
    "slice of step 0": (lambda x: x[::0], ValueError, r"step"),
    "concat of other shapes": (
        lambda x: pt.concat([x, x[:, :2]]),
        pt.ShapeError,
        r"^concat: .*\(2, 3, 4\).*\(2, 2, 4\).*axis 0",
    ),
    "concat of other ranks": (
        lambda x: pt.concat([x, x[0]]),
        pt.ShapeError,
        r"^concat: .*\(2, 3, 4\).*\(3, 4\) have 3 axes and 2 axes$",
    ),
    "concatenate": (
        lambda x: pt.concatenate([x[0], x[0, :, :2]]),
        pt.ShapeError,
        r"^concatenate: shapes \(3, 4\) and \(3, 2\) differ in an axis other than axis 0$",
    ),
    "too many indices of a vector": (
        lambda x: x[0, 0][1, 2],
        IndexError,
        r"a tensor of 1 axis: 2$",
    ),
    "an index of nothing": (lambda x: x.sum()[0], IndexError, r"a tensor of 0 axes: 1$"),
    "axis of a vector": (lambda x: x[0, 0].sum(2), pt.AxisError, r"a tensor of 1 axis$"),
    "texts": (
        lambda x: pt.array(["1", "2"]),
        TypeError,
        r"^array: .*cannot hold strings.*float",
    ),
    "a text": (lambda x: pt.array("1"), TypeError, r"^array: .*cannot hold strings.*dtype=float"),
    "NumPy's texts": (
        lambda x: pt.array(np.array(["1"])),
        TypeError,
        r"^array: .*cannot hold strings",
    ),
    "a number past uint8": (
        lambda x: x.astype(np.uint8) + 256,
        OverflowError,
        r"^add: Python integer 256 is out of bounds for uint8 \[0, 255\]$",
    ),
    "elements past uint8": (
        lambda x: pt.array([[1, 2], [-3, 4]], "B"),
        OverflowError,
        r"^array: integer -3 at index \(1, 0\) is out of bounds for uint8",
    ),
    "longdouble": (lambda x: x.astype("g"), pt.DTypeError, r"no dtype g; use float64 on .*cpu"),
    "a number past int32": (
        lambda x: x.astype(np.int32) * 2**31,
        OverflowError,
        r"^multiply: Python integer 2147483648 is out .*; int64 holds it$",
    ),
    "a number past int64": (
        lambda x: x.astype(np.int32) * 2**63,
        OverflowError,
        r"^multiply: Python integer 9223372036854775808 is out of bounds for int32 \[[^;]*$",
    ),
    "an iterator": (lambda x: pt.array(map(int, "12")), TypeError, r"not map; use list\(...\)$"),
    "a dtype with fields": (lambda x: x.astype("f4,i4"), pt.DTypeError, "have no fields$"),
    "a dtype of characters": (lambda x: x.astype("<U5"), pt.DTypeError, "cannot hold strings"),
    "the type of a scalar": (
        lambda x: pt.issubdtype(type(x[0, 0, 0]), pt.integer),
        pt.DTypeError,
        r"no dtype Tensor; use x.dtype$",
    ),
    "str": (lambda x: x.astype(str), pt.DTypeError, r"^dtype str: .*cannot hold strings"),
    "a dtype of nobody's": (lambda x: x.astype("nothing"), pt.DTypeError, r"^unknown dtype"),
    "concat along no axis": (lambda x: pt.concat([x, x], 3), pt.AxisError, r"^concat: axis 3"),
    "concat of scalars": (lambda x: pt.concat([x[0, 0, 0]]), pt.ShapeError, r"^concat: 0-d"),
    "concat of nothing": (lambda x: pt.concat([]), ValueError, r"^concat: "),
    "stack of other shapes": (
        lambda x: pt.stack([x, x[:1]]),
        pt.ShapeError,
        r"^stack: .*\(2, 3, 4\).*\(1, 3, 4\)",
    ),
    "split that does not divide": (
        lambda x: x.split(2, 1),
        pt.ShapeError,
        r"^split: axis 1.*\(2, 3, 4\).*2",
    ),
    "moveaxis out of range": (lambda x: pt.moveaxis(x, 3, 0), pt.AxisError, r"^moveaxis: axis 3"),
    "moveaxis of two to one": (lambda x: pt.moveaxis(x, (0, 1), 0), pt.ShapeError, r"^moveaxis: "),
    "repeat by a float": (lambda x: x.repeat(1.5), TypeError, r"^repeat: .*1\.5"),
    "repeat less than never": (lambda x: x.repeat(-1), ValueError, r"^repeat: .*-1"),
    "tile by a float": (lambda x: pt.tile(x, (1, x.ndim / 2)), TypeError, r"^tile: .*1\.5"),
    "roll with too many shifts": (
        lambda x: pt.roll(x, (1, 2, 3), (0, 1)),
        pt.ShapeError,
        r"^roll: 3 shifts do not match 2 axes",
    ),
    "meshgrid": (lambda x: pt.meshgrid(x, indexing="yx"), ValueError, r"^meshgrid: .*'yx'"),
    "tril of a 0-d tensor": (lambda x: pt.tril(x[0, 0, 0]), pt.ShapeError, r"^tril: .*0-d"),
    "diag of 3 axes": (lambda x: pt.diag(x), pt.ShapeError, r"^diag: .*\(2, 3, 4\)"),
    "trace of a vector": (lambda x: x[0, 0].trace(), pt.ShapeError, r"^trace: .*\(4,\)"),
    "take in another mode": (lambda x: x.take(1, mode="near"), ValueError, r"^take: mode .*'near'"),
    "put in another mode": (lambda x: x.put(1, 2, "near"), ValueError, r"^put: mode .*'near'"),
    "a float tensor and bits": (lambda x: x & 2, pt.DTypeError, r"^bitwise_and: .*float32"),
    "product of two vectors": (
        lambda x: x[0, 0] @ x[0, :, 0],
        pt.ShapeError,
        r"^matmul: .*: \(4,\) has 4 elements, \(3,\) has 3 elements$",
    ),
    "product with a vector": (
        lambda x: x[0] @ x[0, :, 0],
        pt.ShapeError,
        r"^matmul: .*: \(3, 4\) has 4 columns, \(3,\) has 3 elements$",
    ),
    "product of a vector": (
        lambda x: x[0, 0] @ x[0],
        pt.ShapeError,
        r"^matmul: .*: \(4,\) has 4 elements, \(3, 4\) has 3 rows$",
    ),
    "accumulate": (
        lambda x: cast("Any", pt.less).accumulate(x),
        TypeError,
        r"^less.accumulate: returns bool, not float32$",
    ),
    "accumulate powers of 2": (
        lambda x: cast("Any", pt.ldexp).accumulate(x),
        TypeError,
        r"^ldexp.accumulate: needs operands of one dtype",
    ),
    "reduce of one operand": (
        lambda x: cast("Any", pt.exp).reduce(x),
        ValueError,
        r"^exp.reduce: .*of two operands and one result",
    ),
    "reduce of two results": (
        lambda x: cast("Any", pt.divmod).reduce(x),
        ValueError,
        r"^divmod.reduce: .*of two operands and one result",
    ),
    "reduce products of matrices": (
        lambda x: cast("Any", pt.matmul).reduce(x),
        ValueError,
        r"^matmul.reduce: .*elementwise",
    ),
    "outer of one operand": (
        lambda x: cast("Any", pt.exp).outer(x, x),
        ValueError,
        r"^exp.outer: .*of two operands",
    ),
    "at in no tensor": (
        lambda x: cast("Any", pt.multiply).at([1], 0, 2),
        TypeError,
        r"^multiply.at: can only write to a tensor, not to list",
    ),
    "at without values": (
        lambda x: cast("Any", pt.multiply).at(x, 0),
        TypeError,
        r"^multiply.at: takes values",
    ),
    "at with values": (
        lambda x: cast("Any", pt.negative).at(x, 0, 1),
        TypeError,
        r"^negative.at: takes no values",
    ),
    "reduce": (lambda x: np.less.reduce(x, axis=1), TypeError, r"^less.reduce: returns bool"),
    "reduce axes in order": (
        lambda x: cast("Any", pt.divide).reduce(x, axis=(0, 1)),
        ValueError,
        r"^divide.reduce: is not reorderable.*\(0, 1\)$",
    ),
    "reduce nothing": (
        lambda x: cast("Any", pt.divide).reduce(x[:0]),
        ValueError,
        r"^divide.reduce: no elements along axis 0",
    ),
    "reduce where nothing may be": (
        lambda x: cast("Any", pt.divide).reduce(x, where=x > 0),
        ValueError,
        r"^divide.reduce: .* where needs initial",
    ),
    "accumulate a scalar": (
        lambda x: cast("Any", pt.hypot).accumulate(x.sum()),
        TypeError,
        r"^hypot.accumulate: needs at least 1 axis",
    ),
    "slices by a matrix": (
        lambda x: cast("Any", pt.hypot).reduceat(x, [[0]]),
        pt.ShapeError,
        r"^hypot.reduceat: .*\(1, 1\)",
    ),
    "accumulate logic as numbers": (
        lambda x: cast("Any", pt.logical_or).accumulate(x, dtype="int32"),
        pt.DTypeError,
        r"^logical_or.accumulate: returns bool, not int32",
    ),
    "accumulate differences of bools": (
        lambda x: cast("Any", pt.subtract).accumulate(x > 0),
        pt.DTypeError,
        r"^subtract.accumulate: takes .*, not bool",
    ),
    "accumulate along no axis": (
        lambda x: cast("Any", pt.maximum).accumulate(x, 3),
        pt.AxisError,
        r"^maximum.accumulate: axis 3",
    ),
    "clip to other shapes": (
        lambda x: pt.clip(x, pt.zeros(5, device=x.device), 3),
        pt.ShapeError,
        r"^clip: shapes \(2, 3, 4\) and \(5,\)",
    ),
    "clip to an array of another shape": (
        lambda x: pt.clip(x, 0, np.zeros(5)),
        pt.ShapeError,
        r"^clip: shapes .* \(5,\)",
    ),
    "isclose of other shapes": (
        lambda x: pt.isclose(x, pt.zeros(5, device=x.device)),
        pt.ShapeError,
        r"^isclose: shapes .* \(5,\)",
    ),
    "allclose with a tolerance of text": (
        lambda x: pt.allclose(x, x, atol=cast("Any", "a")),
        pt.DTypeError,
        r"^allclose: .*strings",
    ),
    "allclose with tolerances of another shape": (
        lambda x: pt.allclose(x, 1, np.zeros(5)),
        pt.ShapeError,
        r"^allclose: shapes .* \(5,\)",
    ),
    "select from other shapes": (
        lambda x: pt.select([x > 3], [pt.zeros(5, device=x.device)], x),
        pt.ShapeError,
        r"^select: shapes .* \(5,\)",
    ),
    "setdiff1d of text": (lambda x: pt.setdiff1d(x, "a"), pt.DTypeError, r"^setdiff1d: .*strings"),
    "unwrap complex numbers": (
        lambda x: pt.unwrap(x + 1j),
        pt.DTypeError,
        r"^unwrap: takes real dtypes, not complex64",
    ),
    "unwrap with a period of text": (
        lambda x: pt.unwrap(x, period=cast("Any", "a")),
        pt.DTypeError,
        r"^unwrap: .*strings",
    ),
    "put_along_axis with a complex number": (
        lambda x: pt.put_along_axis(x, pt.zeros_like(x, "int32"), 1j, 0),
        TypeError,
        r"^put_along_axis: float32 cannot hold the complex number 1j",
    ),
    "split in 0": (lambda x: x.split(0), pt.ShapeError, r"^split: .*0"),
}


def shows_alone(error: BaseException) -> bool:
    """Return whether a traceback shows no other error before it."""
    return error.__context__ is None or error.__suppress_context__


@pytest.mark.computes
def test_each_message(device: str) -> None:
    data = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = pt.tensor(data, device=device)
    for name, (make, error, match) in WRONG.items():
        with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is asserted below, by name
            pytest.fail(f"{name}: no error, but {make(x)!r}")
        message = str(caught.value)
        assert isinstance(caught.value, error), f"{name}: {caught.type.__name__}: {message}"
        assert re.search(match, message), f"{name}: {message!r} does not say {match!r}"
        assert len(message) < 400, f"{name}: the message is long"
        assert shows_alone(caught.value), f"{name}: shown under {caught.value.__context__!r}"
    same(x * 2, data * 2, "the session afterwards")


@pytest.mark.computes
@pytest.mark.parametrize("name", ref.BINARY)
def test_shapes_that_do_not_broadcast(name: str, device: str) -> None:
    x = pt.ones((8, 3, 4), "int32", device=device)
    y = pt.ones((5, 4), "int32", device=device)
    with pytest.raises(pt.ShapeError) as caught:
        getattr(pt, name)(x, y)
    message = str(caught.value)
    assert message.startswith(f"{name}: shapes (8, 3, 4) and (5, 4) do not broadcast\n")
    assert "axis -2: 3 vs 5" in message
    assert shows_alone(caught.value)
    same(x[0, 0] + y[0], np.full(4, 2, np.int32), "the session afterwards")


@pytest.mark.computes
def test_where_that_does_not_broadcast(device: str) -> None:
    x = pt.ones(3, device=device)
    with pytest.raises(pt.ShapeError, match=r"^where: .*\(3,\).*\(4,\)"):
        pt.where(x > 0, x, pt.ones(4, device=device))
    same(x + 1, np.full(3, 2, np.float32), "the session afterwards")


@pytest.mark.computes
def test_errors_leave_pending_work_alone(device: str) -> None:
    """Ops recorded before an error are computed after it."""
    x = pt.ones((2, 3), device=device)
    y = (x + 1) * 3
    for make in (
        lambda: y + pt.ones(5, device=device),
        lambda: y.reshape(7),
        lambda: y[9],
        lambda: y.sum(4),
    ):
        with pytest.raises((ValueError, IndexError)):
            make()
    same(y, np.full((2, 3), 6, np.float32), "pending before the errors")
