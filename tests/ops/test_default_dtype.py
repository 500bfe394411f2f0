"""`pt.set_default_dtype`: with float64 the cpu device computes like NumPy."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator

import numpy as np
import pytest

import py_tensor as pt
from tests.differential.calls import CALLS, call
from tests.differential.compare_calls import INTEGERS, WIDE, difference, evaluate


@pytest.fixture
def doubles() -> Iterator[None]:
    device = pt.default_device()
    pt.set_default_device("cpu")
    pt.set_default_dtype("float64")
    yield
    pt.set_default_dtype("float32")
    pt.set_default_device(device)


@pytest.mark.usefixtures("doubles")
def test_calls_match_numpys(request: pytest.FixtureRequest) -> None:
    for name in CALLS:
        source = random.Random(request.config.option.seed + zlib.crc32(name.encode()))
        for _ in range(2):
            text = call(name, source.choice).replace("float32", "float64")
            found = difference(evaluate(text, pt), evaluate(text, np), WIDE, 1e-9, INTEGERS)
            assert not found, f"{text} is {found}"


@pytest.mark.usefixtures("doubles")
def test_results_in_float64(rng: np.random.Generator) -> None:
    a = rng.standard_normal(5)
    n = pt.arange(1, 6)
    for x in (
        pt.array([0.1, 1]), pt.zeros(3), pt.full(2, 0.5), pt.linspace(0, 1, 3), pt.eye(2),
        pt.asarray(a), pt.ones(3, dtype=float), pt.zeros(3, "float"), n.astype(float),
        n / 3, n * 0.1, n.mean(), pt.sqrt(n), pt.true_divide(n, 2), pt.exp(2), n**-1.5,
        pt.linalg.inv(pt.array([[1, 2], [3, 4]])), pt.fft.rfft(n).real, pt.median(n),
        pt.rand(3), pt.randn(3), pt.random.default_rng(1).normal(size=3), pt.random.uniform(size=2),
        pt.random.standard_gamma(2.0, 3), pt.hanning(5), pt.polyfit(n, n**2, 1), pt.cov(n, n),
    ):  # fmt: skip
        assert x.dtype is pt.float64
    for x in (pt.array([1j]), pt.ones(2, dtype=complex), pt.fft.fft(n), n * 1j, pt.sqrt(n + 0j)):
        assert x.dtype is pt.complex128
    np.testing.assert_array_equal(pt.asarray(a).numpy(), a)
    assert (pt.ones(2, "uint64") + pt.ones(2, "int64")).dtype is pt.float64
    assert 1e38 < float(pt.random.default_rng(0).uniform(1e38, 1e300)) < 1e300
    assert pt.device_info()["subnormals"] in ("kept", "flushed")
    np.testing.assert_array_equal((n / 3).numpy(), np.arange(1, 6) / 3)
    assert pt.get_default_dtype() is pt.float64
    assert pt.__array_namespace_info__().default_dtypes()["real floating"] is pt.float64
    assert repr(n / 4) == "tensor([0.25, 0.5 , 0.75, 1.  , 1.25])"


@pytest.mark.usefixtures("doubles")
def test_results_that_keep_their_dtype() -> None:
    single = pt.ones(3, pt.float32)
    for x in (single * 0.1, single.mean(), pt.asarray(np.ones(2, "f4")), pt.cov(single, single)):
        assert x.dtype is pt.float32
    assert pt.asarray(np.ones(2, "c8")).dtype is pt.complex64
    assert pt.arange(3).dtype is pt.int32
    assert (single.astype("float16") * 0.1).dtype is pt.float16
    assert repr(single) == "tensor([1., 1., 1.], dtype=float32)"


def test_calls_recorded_before_follow_the_default() -> None:
    """Cached recipes of calls made with the other default are dropped."""
    before = pt.default_device()
    n, results = pt.arange(4, device="cpu"), list[pt.DType]()
    try:
        pt.set_default_device("cpu")
        for dtype in ("float32", "float64", "float32"):
            pt.set_default_dtype(dtype)
            results += [x.dtype for x in (n / 2, n + 0.5, n.mean(), pt.sin(n), pt.rand(2))]
    finally:
        pt.set_default_dtype("float32")
        pt.set_default_device(before)
    assert results == [*[pt.float32] * 5, *[pt.float64] * 5, *[pt.float32] * 5]


def test_a_gpu_has_no_float64(device: str) -> None:
    before = pt.default_device()
    try:
        pt.set_default_device("webgpu")
        with pytest.raises(pt.DTypeError, match=r"float64 cannot be the default dtype on .*webgpu"):
            pt.set_default_dtype("float64")
        pt.set_default_device("cpu")
        pt.set_default_dtype("float64")
        with pytest.raises(pt.DTypeError, match=r"float64 cannot be the default dtype on .*webgpu"):
            pt.set_default_device("webgpu")
        assert pt.default_device().name == "cpu"
        if device == "webgpu":
            n = pt.arange(3, device=device)
            for call in (lambda: n / 2, lambda: n * 0.5, lambda: pt.sqrt(n), n.mean):
                with pytest.raises(pt.DTypeError, match="float64 is not available"):
                    call()
            assert pt.device_info(device)["self_test"]
        with pytest.raises(pt.DTypeError, match="must be float32 or float64, not int32"):
            pt.set_default_dtype(int)
        assert pt.get_default_dtype() is pt.float64
    finally:
        pt.set_default_dtype("float32")
        pt.set_default_device(before)
