"""Lists beside a tensor that is not on the default device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from tests.unit.fake_bridge import GPU


@pytest.fixture(autouse=True)
def _default_gpu(gpu: GPU) -> Iterator[None]:
    pt.set_default_device(gpu.device)
    yield
    pt.set_default_device("cpu")


CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "array of elements and numbers": lambda lib, x, m: lib.array([[x[0], 1.5], [2, x[1]]]),
    "sum of elements and numbers": lambda lib, x, m: lib.sum([x[0], 1.5]),
    "concatenate": lambda lib, x, m: lib.concatenate([[1.5, 2.5], x]),
    "stack": lambda lib, x, m: lib.stack([[1.5, 2.5], x]),
    "hstack": lambda lib, x, m: lib.hstack([1.5, x]),
    "vstack": lambda lib, x, m: lib.vstack([[1.5, 2.5], x]),
    "dstack": lambda lib, x, m: lib.dstack([[1.5, 2.5], x]),
    "column_stack": lambda lib, x, m: lib.column_stack([[1.5, 2.5], x]),
    "block": lambda lib, x, m: lib.block([1.5, x]),
    "meshgrid": lambda lib, x, m: lib.meshgrid([1.5, 2.5, 3.5], x)[0],
    "outer": lambda lib, x, m: lib.outer([1.5, 2.5], x),
    "isclose": lambda lib, x, m: lib.isclose([1.5, 2.5], x),
    "clip of a list": lambda lib, x, m: lib.clip([1.5, 2.5], x, 9),
    "take": lambda lib, x, m: lib.take([1.5, 2.5], (x > 0).astype("int32")),
    "interp": lambda lib, x, m: lib.interp([1.5], [1, 2], x),
    "diff": lambda lib, x, m: lib.diff([1.5], prepend=x),
    "setdiff1d": lambda lib, x, m: lib.setdiff1d([1.5, 3], x),
    "polyval": lambda lib, x, m: lib.polyval(x, [1.5, 2]),
    "choose": lambda lib, x, m: lib.choose((x > 0).astype("int32"), [[1.5, 2], [3, 4]]),
    "clip": lambda lib, x, m: lib.clip(x, [1.5, 2.5], [3.5, 2.5]),
    "lexsort": lambda lib, x, m: lib.lexsort([[1.5, 1.5], x]),
    "multi_dot": lambda lib, x, m: lib.linalg.multi_dot([[[1.5, 2.5]], m, x]),
    "solve": lambda lib, x, m: lib.linalg.solve([[2.0, 1.0], [1.0, 3.0]], x),
    "lstsq": lambda lib, x, m: lib.linalg.lstsq([[2.0, 1.0], [1.0, 3.0]], x)[0],
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_lists_go_to_the_device_of_the_tensor(call: Callable[[Any, Any, Any], Any]) -> None:
    x, m = np.array([3, -1.25], np.float32), np.array([[1, 2], [3, 5]], np.float32)
    result = call(pt, pt.tensor(x, device="cpu"), pt.tensor(m, device="cpu"))
    assert result.device is pt.zeros(1, device="cpu").device
    np.testing.assert_allclose(result.numpy(), call(np, x, m), rtol=1e-6)


@pytest.mark.parametrize("equal", [pt.array_equal, pt.array_equiv, pt.allclose])
def test_comparisons_that_are_read(equal: Callable[[Any, Any], bool]) -> None:
    x = pt.tensor([3, -1.25], device="cpu")
    assert equal(x, [3, -1.25])
    assert not equal([3, -1], x)


def test_an_out_on_another_device() -> None:
    x = pt.zeros(2, device="cpu")
    with pytest.raises(pt.DeviceError, match=r"^abs: operands on .*cpu.* move one with x.to"):
        pt.abs([1.0, -2.0], x)
    with pytest.raises(pt.DeviceError, match=r"^cumsum: operands on .*cpu.* move one with x.to"):
        pt.cumsum([1.0, -2.0], out=x)
    assert x.tolist() == [0, 0]


def test_limits_that_do_not_broadcast() -> None:
    with pytest.raises(pt.ShapeError, match=r"^clip: shapes \(2,\) and \(3,\)"):
        pt.clip(pt.zeros(2, device="cpu"), [1, 2, 3], 5)
