"""Functions recorded on a trace: their graph, computed on the device, has the same results."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.backends.choice import parse
from py_tensor.base.errors import DeviceError, TracedValueError
from py_tensor.ir.bind import ARGUMENT, bind, generate
from py_tensor.ir.node import RELEASED, Node, meta_of
from py_tensor.ir.op import CpuOp
from py_tensor.ir.primitives import COMPRESS
from py_tensor.runtime.device import MAX_RELEASED
from py_tensor.runtime.trace import Trace, noting_draws, trace_on
from py_tensor.schedule.order import OVERWRITTEN_BYTES

Function = Callable[..., Any]


def trace(f: Function, *operands: pt.Tensor) -> tuple[list[Node], pt.Tensor]:
    """Record a function on arguments with the metas of tensors."""
    on = trace_on(operands[0].device)
    arguments = [on.argument(x.shape, x.dtype) for x in operands]
    return arguments, f(*map(pt.Tensor, arguments))


def computed(y: pt.Tensor, values: dict[Node, Node], below: Any) -> pt.Tensor:
    """Record the nodes of a trace again on the device below it, with values for its arguments."""
    stack = [y._node]
    while stack:
        node = stack[-1]
        if node in values:
            stack.pop()
        elif node.meta.device is below:
            values[node] = node
        elif node.op is ARGUMENT:
            assert node.attrs is not None, "an argument of another trace"
            values[node] = node.attrs._node
        elif missing := [x for x in node.inputs if x not in values]:
            stack += missing
        elif node.inputs:
            assert node.op is COMPRESS or not isinstance(node.op, CpuOp)
            values[node] = bind(node.op, tuple(values[x] for x in node.inputs), node.attrs)
        else:
            meta = meta_of(node.meta.shape, node.meta.dtype, below)
            values[node] = generate(node.op, node.attrs, meta)
    return pt.Tensor(values[y._node])


ADD, MAXIMUM = cast("Any", pt.add), cast("Any", pt.maximum)
W = np.arange(8, dtype=np.float32).reshape(4, 2) / 8


def setter(x: pt.Tensor) -> pt.Tensor:
    y = x * 1
    y[1:, 0] = y[0, 1] * 2
    y[0] = 7
    y += 1
    y[::2] *= 3
    return y


def scattered(x: pt.Tensor) -> pt.Tensor:
    y = x * 1
    y[[0, 0]] = x[1:]
    y[x[:, 0].argsort()] = x * 2
    y[y > 1] = 0
    return y


def added(x: pt.Tensor) -> pt.Tensor:
    y = pt.zeros_like(x[1])
    ADD.at(y, x[0].argsort()[:3], x[:, 0])
    return y


def singular(x: pt.Tensor) -> pt.Tensor:
    u, s, vh = pt.linalg.svd(x, full_matrices=False)
    return (u * s) @ vh


FUNCTIONS: dict[str, Function] = {
    "elementwise": lambda x: pt.tanh(x) * 2 + x / 3,
    "numbers": lambda x: (2 - x) ** 2 // 0.5,
    "sums": lambda x: x.sum(0) + x.mean() + x.var(0),
    "max": lambda x: x.max(1)[x.argmax(0)[:3]],
    "softmax": lambda x: pt.softmax(x) - pt.log_softmax(x, 0),
    "layer_norm": pt.layer_norm,
    "views": lambda x: x.T[1:, ::-2] + x[0, 1] * x.reshape(-1)[:3, None][::2, 0].sum(),
    "roll and pad": lambda x: pt.pad(pt.roll(x, 1, 1), 1, mode="reflect"),
    "joins": lambda x: pt.concat([x, x * 2], 1)[None] - pt.stack([pt.tile(x, (1, 2))]),
    "matmul": lambda x: x.T @ x,
    "einsum": lambda x: pt.einsum("ij,kj->ik", x, x),
    "scans": lambda x: x.cumsum(1) * x.cumprod(0),
    "sort": lambda x: pt.sort(x, 0) + pt.take_along_axis(x, x.argsort(1), 1),
    "indices": lambda x: x[[0, 0, 2]] + x[[0, 1, 1], [2, 3, 0]][:, None],
    "where": lambda x: pt.where(x > 0, x, 0.0) + pt.clip(x, -0.5, 0.5),
    "quantile": lambda x: pt.quantile(x, 0.3, axis=0) + pt.median(x, axis=0),
    "fft": lambda x: pt.abs(pt.fft.fft(x)),
    "diff": lambda x: pt.diff(x) + pt.gradient(x, axis=1)[:, 1:],
    "interp": lambda x: pt.interp(x[0], [-1.0, 0.0, 1.0], [0.0, 1.0, 0.0]),
    "norm": lambda x: pt.linalg.norm(x) + pt.cov(x),
    "made inside": lambda x: x * pt.arange(4, device=x.device) + pt.ones_like(x),
    "writes": setter,
    "writes by indices": scattered,
    "add.at": added,
    "convolve": lambda x: pt.convolve(x[0], x[1][:2]),
    "a sum of a selection": lambda x: x[x > 0].sum(),
    "astype": lambda x: x.astype("int32") + pt.isnan(x),
    "solve": lambda x: pt.linalg.solve(x[:, :3] + 3 * pt.eye(3, device=x.device), x[:, 3]),
    "factors": lambda x: pt.linalg.cholesky(x @ x.T + pt.eye(3, device=x.device)),
    "singular values": lambda x: pt.linalg.svdvals(x),
    "eigenvalues": lambda x: pt.linalg.eigvalsh(x @ x.T),
    "singular vectors": lambda x: singular(x) + singular(x.T[:, ::-1])[:3, :3].sum(),
    "bits": lambda x: pt.unpackbits(pt.packbits(x > 0, 1), 1) * pt.packbits(x[0] > 0),
    "search": lambda x: pt.searchsorted(pt.sort(x[0]), x, "right") + pt.digitize(x, pt.sort(x[0])),
    "correlate": lambda x: pt.correlate(x[0], x[1], "same") * pt.convolve(x[2], x[0, :2], "same"),
    "random": lambda x: x + pt.random.Generator(1).randn(4, device=x.device),
    "ufunc methods": lambda x: MAXIMUM.accumulate(x, 1) + ADD.reduce(x, 0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_graph_of_a_function(name: str, device: str, rng: np.random.Generator) -> None:
    f = FUNCTIONS[name]
    for dtype in ("float32", "float64") if device == "cpu" else ("float32",):
        x = pt.tensor(rng.uniform(-1, 1, (3, 4)), dtype=dtype, device=device)
        tolerance = 2e-5 if dtype == "float32" else 1e-11
        for _ in range(2):  # the second from cached recipes
            (argument,), y = trace(f, x)
            assert isinstance(y.device, Trace)
            expected = f(x)
            assert (y.shape, y.dtype) == (expected.shape, expected.dtype)
            got = computed(y, {argument: x._node}, x.device)
            np.testing.assert_allclose(got.numpy(), expected.numpy(), tolerance, tolerance)


def put(y: pt.Tensor, row: pt.Tensor) -> pt.Tensor:
    y[0] = row
    return y


CLOSED_OVER: dict[str, Function] = {
    "multiply": lambda x, w: x[:, :2] * w[0],
    "on the left": lambda x, w: w[1] + x[:, 1:3],
    "matmul": lambda x, w: x @ w,
    "matmul on the left": lambda x, w: w.T @ x.T,
    "concat": lambda x, w: pt.concat([x, w.T], 0),
    "where": lambda x, w: pt.where(w[:, 0] > 0.3, x, w[:, 1]),
    "indices": lambda x, w: w[x.argsort(1)[0]],
    "traced elements by indices": lambda x, w: x[:, (w[:, 0] * 3).astype("int32")],
    "put": lambda x, w: put(x * 1, w[:, 0]),
    "einsum": lambda x, w: pt.einsum("ij,jk->ik", x, w),
    "searchsorted": lambda x, w: pt.searchsorted(w[:, 0], x),
    "interp": lambda x, w: pt.interp(x[0], [0.0, 0.4, 0.7, 1.0], w[:, 0]),
    "matmul with an array": lambda x, w: x @ W + w[0],
    "an array before": lambda x, w: W.T @ x.T - w.T[:, :1],
    "to": lambda x, w: w.to(x.device)[:3, 0] * x[:, 0],
    "list": lambda x, w: pt.tensor([x[0, 0], w[1, 1], 2]) * pt.asarray([[1.0, x[0, 1], w[0, 1]]]),
    "normal": lambda x, w: pt.random.Generator(3).normal(x[0], w[:, 1] + 1),
}


@pytest.mark.parametrize("name", CLOSED_OVER)
def test_other_tensors_are_lifted(name: str, device: str, rng: np.random.Generator) -> None:
    f = CLOSED_OVER[name]
    x = pt.tensor(rng.uniform(0, 1, (3, 4)).astype(np.float32), device=device)
    for w in (pt.tensor(W, device=device), pt.tensor(1 - W[::-1], device=device)):
        (argument,), y = trace(lambda x, w=w: f(x, w), x)
        got = computed(y, {argument: x._node}, x.device)
        np.testing.assert_allclose(got.numpy(), f(x, w).numpy(), rtol=1e-5, atol=1e-5)
    # In a trace within the trace, those of both are lifted.
    outer = trace_on(x.device)
    inner = trace_on(outer)
    of_outer, of_inner = outer.argument(w.shape, w.dtype), inner.argument(x.shape, x.dtype)
    y = f(pt.Tensor(of_inner), pt.Tensor(of_outer))
    assert y.device is inner
    assert y.shape == f(x, w).shape


@pytest.mark.parametrize("size", [3, OVERWRITTEN_BYTES // 4 + 1])
def test_what_a_trace_refers_to_is_not_overwritten(size: int, device: str) -> None:
    """Writes during and after a trace do not change what was lifted, computed or not."""
    x = pt.ones(size, device=device)
    w, pending = (x * 10).realize(), [x * 20]

    def f(t: pt.Tensor) -> pt.Tensor:
        y = t + w + pending[0]
        w[0] = 1000
        return y

    (argument,), y = trace(f, x)
    w[1:3] = 1000
    w.realize()
    w *= 1000
    w.realize()
    pending.clear()
    got = computed(y, {argument: x._node}, x.device)
    assert (got == 31).all()


def reads(x: pt.Tensor) -> dict[str, Callable[[], object]]:
    return {
        "float": lambda: float(x[0, 0]),
        "bool": lambda: bool((x > 0).all()),
        "index": lambda: range(10)[x[0, 0].astype("int32")],
        "item": lambda: x.sum().item(),
        "tolist": lambda: x.tolist(),
        "numpy": lambda: x.numpy(),
        "asarray": lambda: np.asarray(x),
        "repr": lambda: repr(x),
        "str": lambda: str(x * 2),
        "bytes": lambda: bytes(x),
        "selection": lambda: x[x > 0] + 1,
        "iteration": lambda: [float(v) for v in x[0]],
        "async": lambda: asyncio.new_event_loop().run_until_complete(x.to_numpy_async()),
    }


@pytest.mark.parametrize("name", reads(pt.ones((2, 2), device="cpu")))
def test_a_read_raises(name: str, device: str) -> None:
    on = trace_on(parse(device))
    x = pt.Tensor(on.argument((2, 2), pt.float32))
    with pytest.raises(TracedValueError, match="the elements of a traced tensor were needed"):
        reads(x)[name]()
    x.realize()  # needs none


def test_a_tensor_from_outside_is_not_written_to(device: str) -> None:
    outside = pt.zeros(3, device=device)
    x = pt.Tensor(trace_on(outside.device).argument((3,), pt.float32))
    for write in (
        lambda: outside.__setitem__(slice(None), x),
        lambda: outside.__setitem__(0, x[0]),
        lambda: outside.__setitem__(x.argsort(), 1.0),
        lambda: operator.iadd(outside, x),
        lambda: pt.add(x, 1, out=outside),
    ):
        with pytest.raises(DeviceError, match="a traced value cannot be written"):
            write()
    assert outside.tolist() == [0, 0, 0]
    assert (outside + 1).tolist() == [1, 1, 1]


def test_devices_that_are_not_below_a_trace_are_refused() -> None:
    x = pt.Tensor(trace_on(parse("cpu")).argument((3,), pt.float32))
    y = pt.Tensor(trace_on(parse("webgpu")).argument((3,), pt.float32))
    with pytest.raises(DeviceError, match=r"^add: operands on cpu and webgpu; move one"):
        operator.add(x, y)


def test_a_trace_keeps_no_nodes(device: str) -> None:
    on = trace_on(parse(device))
    assert trace_on(parse(device)) is on
    x = pt.Tensor(on.argument((3,), pt.float32))
    for _ in range(1000):
        x = x * 2
    assert len(RELEASED) <= MAX_RELEASED + 1
    del x
    on.collect()
    assert not on.unheld


def test_what_needs_no_elements(device: str) -> None:
    x = pt.Tensor(trace_on(parse(device)).argument((3,), pt.float32))
    assert x[:0].tolist() == []
    assert repr(x[:0]).startswith("tensor([]")
    assert x.to(device) is x
    kept = x[x > 1]
    for _ in range(5):
        assert kept.sum().shape == ()
    with pytest.raises(TracedValueError, match="explain: a traced tensor is not computed"):
        pt.explain(x * 2)


def test_a_trace_notes_random_draws(device: str) -> None:
    """A trace draws the same words as the function without it."""
    outer, inner = pt.random.Generator(5), pt.random.Generator(6)

    def f(x: pt.Tensor) -> pt.Tensor:
        y = outer.normal(x, 2.0) + outer.integers(0, 2**40, (2, 3), "int64").astype(x.dtype).to(
            x.device
        )
        with noting_draws() as of_part:
            y += inner.uniform(0.0, 1.0, (2, 1)).to(x.device)
        assert of_part == [(inner.bit_generator, 0, 2)]
        return y

    x = pt.ones((2, 3), device=device)
    outer.random(7)
    with noting_draws() as draws:
        (argument,), y = trace(f, x)
    got = computed(y, {argument: x._node}, x.device).numpy()
    words = {outer.bit_generator: 0, inner.bit_generator: 0}
    for generator, _, count in draws:
        words[cast("Any", generator)] += count
    assert words == {outer.bit_generator: outer.bit_generator.drawn - 7, inner.bit_generator: 2}
    assert [count for *_, count in draws] == [6, 6, 6, 2]
    outer, inner = pt.random.Generator(5), pt.random.Generator(6)
    outer.random(7)
    np.testing.assert_array_equal(got, f(x).numpy())
    with noting_draws() as none:
        assert (x + 1).shape == x.shape
    assert none == []
