"""`pt.explain`: describes what a later read runs and why, without changing anything."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

import py_tensor as pt
from py_tensor.adapters.hosted import from_host
from py_tensor.codegen import map as maps
from py_tensor.codegen import walk
from py_tensor.codegen.slabs import Kind
from py_tensor.ir.bind import leaf
from py_tensor.ir.node import Reason, meta_of
from py_tensor.runtime.plan import DISPATCH
from py_tensor.runtime.pool import Storage
from py_tensor.tools.explaining import Kernel
from tests.unit.fake_bridge import GPU

Expression = Callable[..., pt.Tensor]


def stored(gpu: GPU, *shape: int) -> pt.Tensor:
    """Return a tensor of any size that counts as stored; it can be explained but not used."""
    storage = Storage(gpu.backend.pool, gpu.backend.pool.new(Kind(16)), exists=True)
    gpu.backend.pool.handed_over()
    return pt.Tensor(leaf(meta_of(shape, pt.float32, gpu.device), storage))


def softmax(x: pt.Tensor, axis: int = -1) -> pt.Tensor:
    e = pt.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def test_a_fused_kernel(gpu: GPU) -> None:
    x, row = stored(gpu, 64, 48), stored(gpu, 48)
    found = pt.explain(pt.exp(x * 2) + row)
    (kernel,) = found.kernels
    assert (kernel.number, kernel.family, kernel.variants) == (1, "map", ("vectors",))
    assert kernel.ops == ("multiply", "exp", "add")
    assert [str(v) for v in kernel.inputs] == ["x0 float32[64,48]", "x1 float32[48]"]
    assert [str(v) for v in kernel.outputs] == ["t0 float32[64,48]"]
    assert kernel.outputs[0].reasons == (Reason.ASKED.value,)
    assert (kernel.dispatches, kernel.operations) == (1, 3 * 64 * 48)
    assert kernel.traffic == 4 * (2 * 64 * 48 + 48)
    assert (found.dispatches, found.traffic, found.operations) == (1, kernel.traffic, 3 * 64 * 48)


@pytest.mark.parametrize(
    ("expression", "shapes", "kernels", "reason"),
    [
        (lambda a, b: pt.exp(a) @ b, [(64, 64), (64, 64)], 2, Reason.FACTOR),
        (lambda *xs: sum(xs[1:], xs[0]), [(64,)] * 9, 2, Reason.BUFFERS),
        (lambda x: _long(x), [(64,)], 2, Reason.LONG),
        (lambda x: _reversed_sines(x, 100), [(64,)], 2, Reason.LOOP),
        (lambda x, y: _shared(x + y), [(64, 48), (64, 48)], 4, Reason.SHARED),
        (lambda x: pt.exp(x)[None].expand((9, 64)) + 1, [(64,)], 2, Reason.REPEATED),
        (lambda x: x.T.reshape(20)[::2], [(5, 4)], 2, Reason.VIEW),
        (lambda *xs: pt.concat([pt.exp(x) for x in xs]), [(500, 400)] * 5, 5, Reason.CONCAT),
        (lambda x: _neighbours(pt.exp(x) * 2), [(64,)], 2, Reason.REREAD),
        (lambda x: x.sum(0)[:48] + x.sum(1), [(48, 64)], 2, Reason.AXES),
        (lambda x: softmax(x), [(128, 2**17)], 3, Reason.ROWS),
        (lambda x: softmax(x, 0), [(512, 512)], 3, Reason.ROWS),
        (lambda x: (x @ x).sum(0), [(64, 64)], 2, Reason.PRODUCT),
        (lambda x: x.sum(0, keepdims=True).expand((20, 64)).sum(1), [(20, 64)], 2, Reason.AXES),
    ],
)
def test_reasons(
    gpu: GPU,
    expression: Expression,
    shapes: list[tuple[int, ...]],
    kernels: int,
    reason: Reason,
) -> None:
    found = pt.explain(expression(*(stored(gpu, *shape) for shape in shapes)))
    assert len(found.kernels) == kernels, found
    assert reason.value in found.kernels[0].outputs[0].reasons, found


def _sines(x: pt.Tensor, count: int) -> pt.Tensor:
    for _ in range(count):
        x = pt.sin(x)
    return x


def _reversed_sines(x: pt.Tensor, count: int) -> pt.Tensor:
    for _ in range(count):
        x = pt.sin(x)[::-1]
    return x


def _long(x: pt.Tensor) -> pt.Tensor:
    """Return a long expression in which nothing repeats."""
    for number in range(100):
        x = pt.sin(x) if (number * number) % 7 % 3 else pt.cos(x)
    return x


def _shared(x: pt.Tensor) -> pt.Tensor:
    y = _sines(x, 6)
    return y.sum(0) + y.max(1).sum()


def _neighbours(x: pt.Tensor) -> pt.Tensor:
    return x[2:] - 2 * x[1:-1] + x[:-2]


def test_live_nodes_are_stored(gpu: GPU) -> None:
    x = stored(gpu, 64)
    live = pt.exp(x)
    (kernel,) = pt.explain(live * 2).kernels
    reasons = [value.reasons for value in kernel.outputs]
    assert reasons == [(Reason.LIVE.value,), (Reason.ASKED.value,)]
    del live
    assert len(pt.explain(pt.exp(x) * 2).kernels[0].outputs) == 1


def test_a_later_kernel_names_the_writer_of_its_operands(gpu: GPU) -> None:
    a = stored(gpu, 64, 64)
    first, second = pt.explain(pt.exp(a) @ a).kernels
    assert first.outputs[0] in second.inputs
    assert first.outputs[0].kernel == 1
    assert [v.kernel for v in second.inputs] == [None, 1]


UNARY: tuple[Expression, ...] = (
    pt.exp,
    pt.sin,
    softmax,
    lambda x: x * 3 - 1,
    lambda x: x.T.reshape(x.shape),
    lambda x: pt.flip(x, 0),
    lambda x: x - pt.mean(x, 0, keepdims=True),
    lambda x: x.sum(1, keepdims=True) + x,
    lambda x: pt.concat([x[:2], x[2:]]),
    lambda x: (x > 0).astype(pt.float32),
    lambda x: x.pad(1)[1:-1, 2:],
)
BINARY: tuple[Expression, ...] = (
    lambda x, y: x + y,
    lambda x, y: x * y.max(),
    lambda x, y: x @ y,
    lambda x, y: x @ y.T,
    lambda x, y: pt.where(x > y, x, y),
)


def graph(source: Random, x: pt.Tensor) -> list[pt.Tensor]:
    """Square tensors of one shape, each computed from earlier ones; some are live."""
    pool = [x]
    for _ in range(source.randint(1, 12)):
        if source.random() < 0.6:
            pool.append(source.choice(UNARY)(source.choice(pool)))
        else:
            pool.append(source.choice(BINARY)(source.choice(pool), source.choice(pool)))
    return [pool[-1], *(t for t in pool[1:-1] if source.random() < 0.3)]


def test_it_describes_what_then_runs(
    gpu: GPU, source: Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[int] = []
    perform = gpu.bridge._perform

    def note(command: tuple[int, ...], params: bytes, written: dict[int, bool]) -> None:
        if command[0] == DISPATCH:
            ran.append(command[1])
        perform(command, params, written)

    monkeypatch.setattr(gpu.bridge, "_perform", note)
    x = pt.ones((6, 6), device=gpu.device).realize()
    for _ in range(60):
        result, *_live = graph(source, x)
        before = gpu.backend.stats(), gpu.memory_info()
        found = pt.explain(result)
        assert (gpu.backend.stats(), gpu.memory_info()) == before
        ran.clear()
        result._read()
        assert len(ran) == found.dispatches, found
        texts = [gpu.bridge.pipelines[number][0] for number in dict.fromkeys(ran)]
        assert all(text in found.wgsl() for text in texts)
        for value in (v for k in found.kernels for v in k.outputs):
            assert value.reasons, found
        again = pt.explain(result).kernels  # views are copied whenever they are read
        assert not again or [k.ops for k in again] == [("copy",)]


def test_a_plan_that_is_known(gpu: GPU) -> None:
    x = gpu.tensor(1, 2, 3)
    assert not pt.explain(x * 2).is_planned
    assert not pt.explain(x * 2).is_planned  # explaining does not plan
    (x * 2).tolist()
    assert pt.explain(x * 2).is_planned
    assert pt.explain(x * 3).is_planned
    assert not pt.explain(x * 2 + 1).is_planned
    assert "planned before" in repr(pt.explain(x * 2))


def test_views_and_constants_are_copied(gpu: GPU) -> None:
    x = stored(gpu, 200, 120)
    (view,) = pt.explain(x.T).kernels
    assert (view.ops, view.variants) == (("copy",), ("blocks",))
    assert str(view.outputs[0]) == "t0 float32[120,200]"
    (constant,) = pt.explain(pt.full((3,), 7, device=gpu.device)).kernels
    assert not constant.inputs
    assert pt.explain(x.reshape(24000)).remarks == ("Nothing to run: the elements are stored.",)


def test_where_there_is_nothing_to_run(gpu: GPU) -> None:
    empty = pt.ones((0, 3), device=gpu.device) * 2
    assert repr(pt.explain(empty)) == "Nothing to run: there are no elements."
    assert not pt.explain(empty).kernels


def test_the_cpu_device() -> None:
    x = pt.ones(10**4, device="cpu")
    text = " ".join(repr(pt.explain(pt.exp(x) * 2 + 1)).split())
    assert text == (
        "The cpu device runs no kernels: NumPy computes add, exp and multiply, op by op."
    )
    assert pt.explain(x.realize()).remarks == ("Nothing to run: the elements are stored.",)
    assert "computes copy, op" in pt.explain(pt.ones(10**4, device="cpu")).remarks[0]
    assert pt.explain(x[:3] + 1).remarks == ("Nothing to run: the elements are stored.",)


def test_several_tensors_and_devices(gpu: GPU) -> None:
    x, y = stored(gpu, 8), pt.ones(10**4, device="cpu")
    found = pt.explain(x + 1, x * 2, y + 1)
    (kernel,) = found.kernels[:1]
    assert sum(len(k.outputs) for k in found.kernels) == 2
    assert kernel.number == 1
    assert len(found.remarks) == 1
    with pytest.raises(TypeError, match="at least one tensor"):
        pt.explain()
    with pytest.raises(TypeError, match="list"):
        pt.explain([x])  # type: ignore[arg-type]


def test_an_error_that_a_read_would_raise(gpu: GPU) -> None:
    x = stored(gpu, 2**16)
    with pytest.raises(MemoryError, match="add"):
        pt.explain(x[:, None] + x)


@pytest.mark.parametrize("columns", [40, 80])
def test_it_fits_the_terminal(gpu: GPU, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    x = stored(gpu, 1000, 1000)
    h = pt.exp(x)
    text = repr(pt.explain(softmax(h @ x.T + x).sum(0), h * 2))
    assert max(map(len, text.splitlines())) <= columns
    assert text.startswith("4 kernels in ")
    assert "float32[1000,1000]" in text


def test_variants_are_of_a_closed_list(gpu: GPU) -> None:
    sizes = (1, 3, 4, 7, 64)
    pairs = [(stored(gpu, m, n), stored(gpu, n, m)) for m in sizes for n in sizes]
    kernels = [k for x, y in pairs for z in (y * 2, y + x.T, y + x[:, 0]) for k in explained(z)]
    kernels += explained(_sines(stored(gpu, 64), 100))
    assert {k.variants for k in kernels} == {(v,) for v in maps.VARIANTS}


def test_variants_of_reductions_are_of_a_closed_list(gpu: GPU) -> None:
    sizes = (1, 19, 20, 1000)
    shapes = [(a, b, c, d) for a in sizes for b in sizes for c in (1, 20) for d in sizes]
    reduced: list[int | tuple[int, ...]] = [0, 1, 3, (0, 2), (1, 3)]
    xs = [*(stored(gpu, *s) for s in shapes), stored(gpu, 1000, 1000, 10, 1)]
    kernels = [k for x in xs for axis in reduced for k in explained(x.sum(axis))]
    assert {v for k in kernels for v in k.variants} == set(walk.VARIANTS)


def explained(x: pt.Tensor) -> tuple[Kernel, ...]:
    return pt.explain(x).kernels


def test_debug_shows_the_wgsl_of_new_kernels(gpu: GPU, capsys: pytest.CaptureFixture[str]) -> None:
    x = gpu.tensor(1, 2, 3)
    gpu.device.debug(wgsl=True)
    (x * 2 + 1).realize()
    shown = capsys.readouterr().out
    assert shown.startswith("// multiply_add: map, run\n")
    assert shown.count("@compute") == 1
    (x * 3 + 5).realize()
    assert not capsys.readouterr().out
    gpu.device.debug(wgsl=False)
    (x - 1).realize()
    assert not capsys.readouterr().out
    assert shown.strip() == pt.explain(x * 2 + 1).kernels[0].wgsl.strip()


def test_work_by_numpy_on_the_host_is_reported(gpu: GPU) -> None:
    values = from_host("eig", [1j, 2], pt.complex64, gpu.device)
    assert str(pt.explain(values)).endswith("NumPy computed them on the host: eig.")
    (kernel,) = pt.explain(values * 2).kernels
    assert [value.on_host for value in kernel.inputs] == ["eig"]
    assert "computed on the host by eig" in str(pt.explain(values * 2))
