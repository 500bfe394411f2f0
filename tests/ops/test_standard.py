"""Requirements of the array API standard, compared with NumPy's behaviour."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.base import dtypes
from tests.ops.compare import same

CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")
NUMPYS = [dtype for dtype in dtypes.ALL if dtype.is_numpys]
KINDS = (
    *("bool", "signed integer", "unsigned integer", "integral"),
    *("real floating", "complex floating", "numeric"),
)


def test_casting() -> None:
    for a, b, casting in itertools.product(NUMPYS, NUMPYS, CASTINGS):
        expected = np.can_cast(a.name, b.name, casting)
        assert pt.can_cast(a, b, casting) == expected, (a, b, casting)
    assert pt.can_cast(pt.ones(2, "int8"), "float16")
    with pytest.raises(ValueError, match=r"can_cast: casting must be .* not 'other'"):
        pt.can_cast("int8", "int16", "other")


def test_kinds() -> None:
    for dtype, kind in itertools.product(NUMPYS, KINDS):
        assert pt.isdtype(dtype, kind) == np.isdtype(np.dtype(dtype.name), kind), (dtype, kind)
    assert pt.isdtype("float32", pt.float32)
    assert pt.isdtype(pt.bool, ("integral", pt.bool))
    assert not pt.isdtype(pt.bool, ("integral", "real floating"))
    with pytest.raises(ValueError, match="isdtype: kind must be one of"):
        pt.isdtype(pt.bool, "whole")


def test_the_namespace(device: str) -> None:
    x = pt.ones(2, device=device)
    assert x.__array_namespace__() is pt
    assert x.__array_namespace__(api_version=pt.__array_api_version__) is pt
    with pytest.raises(ValueError, match=r"2025\.12"):
        x.__array_namespace__(api_version="1999.1")
    info = pt.__array_namespace_info__()
    assert info.default_device() in info.devices()
    assert info.capabilities()["boolean indexing"]
    for name in map(str, info.devices()):
        known = info.dtypes(device=name)
        assert ("float64" in known) == (name == "cpu")
        assert set(info.default_dtypes(device=name).values()) <= set(known.values())
        assert info.dtypes(device=name, kind="bool") == {"bool": pt.bool}
        for dtype in known.values():
            assert pt.zeros(1, dtype, device=name).dtype is dtype
    assert str(x.to_device("cpu").device) == "cpu"
    with pytest.raises(ValueError, match="stream must be None"):
        x.to_device("cpu", stream=1)
    assert str(x.astype("int32", device="cpu").device) == "cpu"


@pytest.mark.computes
def test_dlpack(device: str) -> None:
    """Tensors are exported to NumPy and imported from it, in host memory."""
    for dtype in ("float32", "int64", "uint8", "complex64"):
        a = np.arange(6).astype(dtype).reshape(2, 3)
        x = pt.tensor(a, dtype=dtype, device=device)
        assert np.array_equal(np.from_dlpack(x.T), a.T), dtype
        same(pt.from_dlpack(a, device=device), a, dtype)
        same(pt.from_dlpack(x), a, f"a tensor of {dtype}")
    assert x.__dlpack_device__() == (1, 0)
    given: Any = np.ones(2)
    for refused in (
        lambda: x.__dlpack__(copy=False),  # DLPack before 1.0 has no read-only memory
        lambda: x[:, 1:].__dlpack__(copy=False, max_version=(1, 0)),
        lambda: x.__dlpack__(dl_device=(2, 0)),
        lambda: pt.from_dlpack(given, copy=False),
    ):
        with pytest.raises(BufferError, match=r"copy|memory"):
            refused()


class OnGPU:
    """An object in the memory of a GPU, which may be able to copy to the host."""

    def __init__(self, copies: bool) -> None:
        self.copies = copies

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 1

    def __dlpack__(
        self,
        *,
        dl_device: Any = None,
        max_version: Any = None,
        copy: Any = None,
        stream: Any = None,
    ) -> Any:
        if dl_device != (1, 0) or not self.copies:
            raise BufferError("no access")
        return np.arange(3, dtype=np.float32).__dlpack__(max_version=max_version)


def test_dlpack_of_another_device(device: str) -> None:
    same(pt.from_dlpack(OnGPU(True), device=device), np.arange(3, dtype=np.float32), "a copy")
    told = r"^from_dlpack: .*\(2, 1\), not on the host \(no access\); copy"
    with pytest.raises(BufferError, match=told):
        pt.from_dlpack(OnGPU(False), device=device)


def test_dlpack_without_a_copy(device: str) -> None:
    """On the cpu device NumPy shares the tensor's memory, but does not see later writes."""
    x = pt.arange(6, device=device) * 2
    if device != "cpu":
        with pytest.raises(BufferError, match="copy"):
            np.from_dlpack(x, copy=False)
        assert np.from_dlpack(x).flags.writeable
        return
    seen, again = (np.from_dlpack(x, copy=copy) for copy in (False, None))
    assert np.shares_memory(seen, again)
    assert not seen.flags.writeable
    assert np.from_dlpack(x, copy=True).flags.writeable
    x[0] = 7
    same(x, np.array([7, 2, 4, 6, 8, 10], np.int32), "the tensor, written to")
    assert seen.tolist() == [0, 2, 4, 6, 8, 10]
    assert np.from_dlpack(pt.zeros((0, 2), device=device), copy=False).shape == (0, 2)


def test_signatures_of_the_standard(device: str) -> None:
    x = pt.arange(6, device=device)
    y = pt.reshape(x, shape=(2, 3))
    same(pt.reshape(x, (2, 3)), y.numpy(), "a shape by place")
    same(x.reshape(2, 3), y.numpy(), "sizes by themselves")
    same(pt.permute_dims(y, axes=(1, 0)), y.numpy().T, "axes by name")
    same(pt.roll(x, shift=2), np.roll(np.arange(6, dtype=np.int32), 2), "a shift by name")
    assert type(pt.meshgrid(x, x)) is tuple
    none = pt.zeros(0, "int32", device=device)
    same(pt.repeat(none, none), np.zeros(0, np.int32), "nothing, repeated")
    for name in ("unique_all", "unique_counts", "unique_inverse"):
        named, numpys = getattr(pt, name)(x), getattr(np, name)(np.arange(6))
        assert named._fields == numpys._fields
        assert type(named).__name__ == type(numpys).__name__
    a = np.array([np.nan, 1, np.nan, 1], np.float32)
    assert pt.unique_values(pt.tensor(a, device=device)).size == 3  # each NaN is distinct
    one = pt.ones(3, device=device)
    for product, name in ((pt.matvec, "x1"), (pt.vecmat, "x2")):
        with pytest.raises(pt.ShapeError, match=f"{name} must have at least 2 axes"):
            product(one, one)
    for op in (pt.vecdot, pt.matvec):
        with pytest.raises(pt.ShapeError, match=r"vecdot|matmul"):
            op(pt.ones((2, 3), device=device), pt.ones(2, device=device))
