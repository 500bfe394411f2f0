"""`vmap`, against a loop over the examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.base.errors import TracedValueError
from py_tensor.ir.recording import RECORDINGS
from tests.ops import compositions
from tests.ops.differentiable import CASES, LINALG
from tests.ops.test_traces import CLOSED_OVER, FUNCTIONS

N = 5
Function = Callable[..., Any]


@pytest.fixture(autouse=True)
def _nothing_is_left(default_device: None) -> Iterator[None]:
    yield
    assert not RECORDINGS


def examples(device: str, arrays: list[Any]) -> list[pt.Tensor]:
    dtype = "float64" if device == "cpu" else "float32"
    return [pt.tensor(a, dtype=dtype, device=device) for a in arrays]


def check(f: Function, inputs: list[pt.Tensor], in_axes: Any = 0) -> None:
    """Compare `vmap` with a loop."""
    axes = [in_axes] * len(inputs) if isinstance(in_axes, int) else in_axes
    n = next(x.shape[a] for x, a in zip(inputs, axes, strict=True) if a is not None)
    rows = [
        f(*(x if a is None else pt.take(x, i, a) for x, a in zip(inputs, axes, strict=True)))
        for i in range(n)
    ]
    expected = [pt.tree.flatten(row)[0] for row in rows]
    got, _ = pt.tree.flatten(pt.vmap(f, in_axes)(*inputs))
    assert len(got) == len(expected[0])
    for number, y in enumerate(got):
        wanted = np.stack([np.asarray(pt.asarray(row[number]).numpy()) for row in expected])
        assert (y.shape, y.dtype.name) == (wanted.shape, wanted.dtype.name)
        tolerance = 1e-10 if y.dtype.has_64_bits else 1e-4
        np.testing.assert_allclose(y.numpy(), wanted, tolerance, tolerance)


@pytest.mark.parametrize("name", FUNCTIONS.keys() - {"random"})
def test_functions_of_one_operand(name: str, device: str, rng: np.random.Generator) -> None:
    (x,) = examples(device, [rng.uniform(-1, 1, (N, 3, 4))])
    check(FUNCTIONS[name], [x])
    check(lambda x: FUNCTIONS[name](x * 2), [pt.moveaxis(x, 0, 2)], (2,))


@pytest.mark.parametrize("name", CLOSED_OVER.keys() - {"normal", "searchsorted"})
def test_functions_of_two_operands(name: str, device: str, rng: np.random.Generator) -> None:
    """One of them, or both, differ by example."""
    x = pt.tensor(rng.uniform(0, 1, (N, 3, 4)).astype(np.float32), device=device)
    w = pt.tensor(rng.uniform(0, 1, (N, 4, 2)).astype(np.float32), device=device)
    f = CLOSED_OVER[name]
    check(f, [x, w])
    check(f, [x, w[0]], (0, None))
    if name != "put" and "array" not in name:
        check(f, [x[0], w], (None, 0))
    check(lambda x: f(x, w[1]), [x])


@pytest.mark.parametrize("number", range(len(CASES) + len(LINALG)))
def test_gradients(number: int, device: str, rng: np.random.Generator) -> None:
    """Of a batch, and a batch of gradients; some of them have rules of their own."""
    f, shapes = [*CASES, *LINALG][number]
    if any(word in f.__code__.co_names for word in ("holes", "lstsq")):
        pytest.skip("it reads how many elements a mask has, or a rank")
    inputs = examples(device, [rng.uniform(-1, 1, (3, *shape)) for shape in shapes])
    numbers = tuple(range(len(inputs)))

    def total(*x: pt.Tensor) -> pt.Tensor:
        return (f(*x) ** 2).sum()

    rows = [pt.grad(total, numbers)(*[x[i] for x in inputs]) for i in range(3)]
    of_batch = pt.grad(lambda *x: pt.vmap(total)(*x).sum(), numbers)(*inputs)
    batch = pt.vmap(pt.grad(total, numbers))(*inputs)
    tolerance = 1e-8 if device == "cpu" else 2e-2
    for k in numbers:
        expected = np.stack([row[k].numpy() for row in rows])
        scale = max(1, abs(expected).max())
        np.testing.assert_allclose(batch[k].numpy() / scale, expected / scale, 0, tolerance)
        np.testing.assert_allclose(of_batch[k].numpy() / scale, expected / scale, 0, tolerance)


@pytest.mark.parametrize("name", sorted(compositions.CALLS))
def test_composed_functions(name: str, device: str, rng: np.random.Generator) -> None:
    """Each gives what a loop gives, or says that it needs the elements."""
    (x,) = examples(device, [rng.permutation(24).reshape(2, 3, 4) * 0.31 - 3.1])
    calls = compositions.CALLS[name]
    call = calls[int(rng.integers(len(calls)))]
    try:
        check(lambda x: list(pt.tree.leaves(call(pt, x))), [x])
    except TracedValueError:
        assert name in compositions.READING | NEEDING


NEEDING = {
    "histogram", "histogram2d", "histogram_bin_edges", "polyval", "select", "piecewise", "interp",
    "apply_along_axis", "choose", "insert", "median", "trim_zeros", "unwrap",
}  # fmt: skip


def test_nested(device: str, rng: np.random.Generator) -> None:
    x, y = examples(device, [rng.uniform(-1, 1, (N, 3)), rng.uniform(-1, 1, (N, 3))])
    pairs = pt.vmap(lambda a: pt.vmap(lambda b: (a * b).sum())(y))(x)
    np.testing.assert_allclose(pairs.numpy(), (x @ y.T).numpy(), rtol=1e-5, atol=1e-6)
    both = pt.vmap(pt.vmap(lambda a, b: pt.exp(a) * b), in_axes=(0, 1))(x, y.T)
    np.testing.assert_allclose(both.numpy(), (pt.exp(x) * y).numpy(), rtol=1e-5)
    hessians = pt.vmap(pt.hessian(lambda v: (v**3).sum()))(x)
    expected = np.stack([np.diag(6 * row) for row in x.numpy()])
    np.testing.assert_allclose(hessians.numpy(), expected, rtol=1e-5, atol=1e-6)
    w = y[0]
    of_closed = pt.vmap(lambda v: pt.grad(lambda w: (v * w**2).sum())(w))(x)
    np.testing.assert_allclose(of_closed.numpy(), (2 * w * x).numpy(), rtol=1e-5)


def test_trees_and_axes(device: str) -> None:
    x = pt.arange(6.0, device=device).reshape(2, 3)

    def f(tree: Any, k: float) -> Any:
        return {"sum": tree["x"].sum() * k, "same": tree["c"] * 2, "k": k}

    made = pt.vmap(
        f, in_axes=({"x": 1, "c": None}, None), out_axes={"sum": 0, "same": None, "k": None}
    )({"x": x, "c": x[0]}, 2.0)
    assert made["sum"].tolist() == [6, 10, 14]
    assert made["same"].tolist() == [0, 2, 4]
    assert pt.vmap(lambda v: v * 2, 1, 1)(x).tolist() == (x * 2).tolist()
    assert pt.vmap(lambda v: v * 2, 1, -1)(x).shape == (2, 3)
    assert pt.vmap(lambda v: x[0, 1])(x).tolist() == [1, 1]


def test_errors(device: str) -> None:
    x = pt.ones((2, 3), device=device)
    for call, words in (
        (
            lambda: pt.vmap(lambda a, b: a + b)(x, x.T),
            r"argument \[1\] has 3 examples, but .*\[0\] has 2",
        ),
        (lambda: pt.vmap(lambda a: a)(x[:0]), "no examples"),
        (lambda: pt.vmap(lambda a: a, None)(x), "no argument has a batch axis"),
        (lambda: pt.vmap(lambda a: a, (0, 0))(x), "in_axes .* for 1 arguments"),
        (lambda: pt.vmap(lambda a: a, 0, None)(x), "out_axes is None for a result that differs"),
        (lambda: pt.vmap(lambda a: a, randomness="other")(x), "randomness must be"),
        (lambda: pt.vmap(lambda a: a + pt.rand(3, device=device))(x), "draws random numbers"),
        (lambda: pt.vmap(lambda a: a.fill(0))(x), "read-only"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    same = pt.vmap(lambda a: a + pt.rand(3, device=device), randomness="same")(x)
    assert same[0].tolist() == same[1].tolist()
    for f in (lambda a: a if a.sum() > 0 else -a, lambda a: float(a[0]) * a, lambda a: a[a > 0]):
        with pytest.raises(TracedValueError):
            pt.realize(pt.vmap(f)(x))
    leaked: list[pt.Tensor] = []
    pt.vmap(lambda a: leaked.append(a * 2) or a)(x)
    with pytest.raises(TracedValueError):
        leaked[0].tolist()
    with pytest.raises(ValueError, match="another traced function"):
        pt.vmap(lambda a: a + leaked[0])(x)


def test_rules_that_pullbacks_record(device: str, rng: np.random.Generator) -> None:
    inner = pt.custom_vjp(lambda a: a * 2)
    inner.defvjp(lambda a: (a * 2, lambda g: (g * 100,)))
    outer = pt.custom_vjp(lambda a: a * a)
    outer.defvjp(lambda a: (a * a, lambda g: (g * inner(a),)))
    (x,) = examples(device, [rng.uniform(1, 2, 3)])

    def twice(f: Function) -> pt.Tensor:
        return pt.grad(lambda q: pt.grad(lambda z: f(z).sum())(q).sum())(x)

    assert twice(outer).tolist() == twice(pt.vmap(outer)).tolist() == [100, 100, 100]
    np.testing.assert_allclose(pt.jacrev(pt.vmap(inner))(x).numpy(), 100 * np.eye(3))
    (a,) = examples(device, [rng.uniform(0, 1, (2, 3, 3)) + 2 * np.eye(3)])
    for f in (pt.linalg.inv, pt.linalg.det, lambda a: pt.linalg.qr(a)[1]):

        def of_batch(a: pt.Tensor, f: Function = f) -> pt.Tensor:
            return (pt.vmap(f)(a) ** 2).sum()

        def of_one(a: pt.Tensor, f: Function = f) -> pt.Tensor:
            return (f(a) ** 2).sum()

        hessians = pt.vmap(pt.hessian(of_one))(a).numpy()
        tolerance = 1e-9 if device == "cpu" else 2e-2
        for i in range(2):
            expected = pt.hessian(of_one)(a[i]).numpy()
            scale = abs(expected).max()
            np.testing.assert_allclose(hessians[i] / scale, expected / scale, 0, tolerance)
            if f is not pt.linalg.det:  # it raises
                whole = pt.hessian(of_batch)(a).numpy()[i, :, :, i]
                np.testing.assert_allclose(whole / scale, expected / scale, 0, tolerance)
    with pytest.raises(ValueError, match=r"vmap\(hessian\(f\)\), not hessian\(vmap\(f\)\)"):
        pt.hessian(lambda a: pt.vmap(pt.linalg.det)(a).sum())(a)
