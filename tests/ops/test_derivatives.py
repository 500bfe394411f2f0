"""Derivatives, against central differences in float64; on a GPU against the cpu device."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.base.errors import NotDifferentiableError, TracedValueError
from py_tensor.ir.recording import RECORDINGS
from tests.ops import compositions
from tests.ops.differentiable import CASES, LINALG, SPECIAL, Function, arrays_of

Array = Any


def on(device: str, arrays: list[Array]) -> list[pt.Tensor]:
    dtype = "float64" if device == "cpu" else "float32"
    return [pt.tensor(a, dtype=dtype, device=device) for a in arrays]


def weighted(y: Any) -> pt.Tensor:
    """Return the sum of all elements of results, with different weights."""
    total: Any = 0
    for part in pt.tree.leaves(y):
        if isinstance(part, pt.Tensor) and part.dtype.is_inexact and part.size:
            weights = pt.cos(pt.arange(part.size, device=part.device, dtype=_real(part)) * 1.0)
            total = total + (part.ravel() * weights).sum()
            if part.dtype.is_complex:
                total = total.real + total.imag
    return total


def _real(x: pt.Tensor) -> str:
    return "float32" if x.dtype.name in ("float32", "complex64") else "float64"


def differences(f: Callable[..., Any], arrays: list[Array], step: float = 1e-6) -> list[Array]:
    """Return the derivatives of a scalar function by its operands, by central differences."""
    made: list[Array] = []
    for which, array in enumerate(arrays):
        slopes = np.zeros_like(array)
        for at in np.ndindex(array.shape):
            ends: list[float] = []
            for sign in (1, -1):
                moved = [a.copy() for a in arrays]
                moved[which][at] += sign * step
                ends.append(float(f(*on("cpu", moved))))
            slopes[at] = (ends[0] - ends[1]) / (2 * step)
        made.append(slopes)
    return made


def slope(f: Function) -> Function:
    """Return a function with the derivative of f in an arbitrary direction."""

    def along(*inputs: pt.Tensor) -> pt.Tensor:
        gradients = pt.grad(lambda *x: weighted(f(*x)), tuple(range(len(inputs))))(*inputs)
        return weighted(gradients)

    return along


@pytest.fixture(autouse=True)
def _nothing_is_left(default_device: None) -> Iterator[None]:
    yield
    assert not RECORDINGS


@pytest.mark.parametrize("number", range(len(CASES) + len(LINALG)))
def test_first_and_second_derivatives(number: int, device: str) -> None:
    f, shapes = [*CASES, *LINALG][number]
    arrays = arrays_of(shapes)
    numbers = tuple(range(len(arrays)))

    def total(*inputs: pt.Tensor) -> pt.Tensor:
        return weighted(f(*inputs))

    first = pt.grad(total, numbers)(*on(device, arrays))
    if device != "cpu":
        for got, expected in zip(first, pt.grad(total, numbers)(*on("cpu", arrays)), strict=True):
            np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=3e-3, atol=3e-3)
        return
    for got, expected in zip(first, differences(total, arrays), strict=True):
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-5, atol=1e-6)
    second = pt.grad(slope(f), numbers)(*on(device, arrays))
    for got, expected in zip(second, differences(slope(f), arrays), strict=True):
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("number", range(len(CASES) + len(LINALG)))
def test_tangents_are_the_transpose_of_cotangents(number: int, device: str) -> None:
    """<jvp(v), w> is <v, vjp(w)>."""
    if device != "cpu":
        pytest.skip("the walk is the same on every device")
    f, shapes = [*CASES, *LINALG][number]
    x = on("cpu", arrays_of(shapes))
    v = [pt.sin(x * 3 + 1) for x in x]
    y, pushed = pt.jvp(f, x, v)
    z, pullback = pt.vjp(f, *x)
    np.testing.assert_array_equal(y.numpy(), z.numpy())
    w = pt.cos(pt.arange(y.size, dtype="float64", device="cpu")).reshape(y.shape)
    w = w.astype(y.dtype)
    one = float((pushed * w).sum().real)
    other = sum(float((a * b).sum()) for a, b in zip(v, pullback(w), strict=True))
    np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("number", range(0, len(CASES), 7))
def test_jacobians_of_both_modes_are_equal(number: int, device: str) -> None:
    f, shapes = CASES[number]
    x = on(device, arrays_of(shapes))
    numbers = tuple(range(len(x)))
    y = f(*x)
    for by_rows, by_columns, a in zip(
        pt.jacrev(f, numbers)(*x), pt.jacfwd(f, numbers)(*x), x, strict=True
    ):
        assert by_rows.shape == (*y.shape, *a.shape)
        np.testing.assert_allclose(by_rows.numpy(), by_columns.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bits(dtype: str, device: str) -> None:
    """Cotangents have the dtype of their operand."""
    for f, shapes in CASES:
        inputs = [pt.tensor(np.full(s, 0.5), dtype=dtype, device=device) for s in shapes]
        gradients = pt.grad(lambda *x, f=f: f(*x).sum(), tuple(range(len(inputs))))(*inputs)
        assert all(g.dtype == dtype for g in gradients)


@pytest.mark.parametrize("number", range(len(SPECIAL)))
def test_special_points(number: int, device: str) -> None:
    f, values, expected = SPECIAL[number]
    inputs = on(device, [np.array(value, float) for value in values])
    got = pt.grad(lambda *x: f(*x).sum(), tuple(range(len(inputs))))(*inputs)
    for part, wanted in zip(got, expected, strict=True):
        np.testing.assert_allclose(part.numpy(), wanted, rtol=1e-5, atol=1e-6)


INTEGERS = {
    "argpartition", "digitize", "iscomplex", "isin", "isreal", "ix_", "lexsort", "nanargmax",
    "nanargmin", "ravel_multi_index", "searchsorted", "tril_indices_from", "triu_indices_from",
    "unravel_index",
}  # fmt: skip
"""Functions whose results have no derivative, since they are integers."""


@pytest.mark.parametrize("name", sorted(compositions.CALLS.keys() - INTEGERS))
def test_functions(
    name: str, device: str, rng: np.random.Generator, request: pytest.FixtureRequest
) -> None:
    """A random call of every function that is composed of others; all by --examples 1000."""
    if device != "cpu":
        pytest.skip("the walk is the same on every device")
    # No two elements, nor an element and an edge in the calls, are close to each other.
    fixed = np.random.default_rng(2)
    array = (fixed.permutation(12) * 0.31 - 1.63 + fixed.uniform(-0.09, 0.09, 12)).reshape(3, 4)
    calls = compositions.CALLS[name]
    examples = min(request.config.option.examples or 1, len(calls))
    for number in rng.choice(len(calls), examples, replace=False):
        call = calls[number]

        def f(x: pt.Tensor, call: Any = call) -> Any:
            return call(pt, x)

        def total(x: pt.Tensor, f: Any = f) -> Any:
            return weighted(f(x)) + 0 * x.sum()

        what = f"call {number} of {name}"
        (x,) = on("cpu", [array])
        if not np.isfinite(float(total(x))):  # the density of no points
            continue
        (expected,) = differences(total, [array])
        got = pt.grad(total)(x).numpy()
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5, err_msg=what)
        (expected,) = differences(slope(total), [array])
        got = pt.grad(slope(total))(x).numpy()
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4, err_msg=what)


# -- What a function may do ------------------------------------------------------------------------


def test_values_are_read_and_branched_on(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: pt.Tensor) -> pt.Tensor:
        y = x * 2
        print(y, repr(y), str(y), f"{y.sum():.1f}")
        if y.sum() > 0 and bool(y[0] < 5) and int(y[0]) == 2:
            y = y * y
        for _ in range(int(y.argmax())):
            y = y * x
        y[1:] += y[0]
        return y.sum() + y[y > 5].sum()

    x = pt.tensor([1.0, 3.0], device=device)
    # y = 4 x x, times x once; y[1] += y[0]; the sum of both and of y[1] again
    np.testing.assert_allclose(pt.grad(f)(x).numpy(), [12 * 3, 12 * 9 * 2], rtol=1e-5)
    assert "2." in capsys.readouterr().out


READS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "complex": complex,
    "item": lambda x: x.item(),
    "tolist": lambda x: x.tolist(),
    "tobytes": lambda x: x.tobytes(),
    "bytes": bytes,
    "numpy": lambda x: x.numpy(),
    "__array__": np.asarray,
    "__dlpack__": np.from_dlpack,
    "to": lambda x: x.to("cpu"),
    "eig": lambda x: pt.linalg.eig(x.reshape(1, 1)),
    "vectorize": lambda x: pt.vectorize(lambda v: 2 * v)(x),
    "roots": lambda x: pt.roots(pt.concat((x, x, x))),
    "polyadd": lambda x: pt.polynomial.polynomial.polyadd(x, x),
}


@pytest.mark.parametrize("name", READS)
def test_numbers_of_arguments_are_refused(name: str, device: str) -> None:
    if name == "to" and device == "cpu":
        pytest.skip("it is there already")
    read = READS[name]

    def f(x: pt.Tensor) -> pt.Tensor:
        read(pt.stop_gradient(x * 1))
        read((x > 1).astype("float32"))  # of no influence
        with pytest.raises(TracedValueError, match=rf"^{name}: .*stop_gradient"):
            read(x * 1)
        return (x * x).sum()

    x = pt.tensor([3.0], device=device)
    assert pt.grad(f)(x).tolist() == [6]
    read(x)


def test_writes(device: str) -> None:
    x, out = pt.ones(3, device=device), pt.zeros(3, device=device)

    def on_argument(x: pt.Tensor) -> pt.Tensor:
        x[0] = 2
        return x.sum()

    def on_copy(x: pt.Tensor) -> pt.Tensor:
        y = x.copy()
        y *= x
        y[0] = 5 * y[1]
        out[:] = y
        return (out * x).sum()

    with pytest.raises(ValueError, match="read-only; copy it"):
        pt.grad(on_argument)(x)
    assert pt.grad(on_copy)(x).tolist() == [5, 13, 3]
    assert out.tolist() == [5, 1, 1]
    assert x.tolist() == [1, 1, 1]
    gradient, other = pt.grad(lambda x, y: (x + y).sum(), (0, 1))(x, x)
    gradient[0] = 7  # of its own
    assert other.tolist() == x.tolist() == [1, 1, 1]


def test_levels_are_not_confused(device: str) -> None:
    x = pt.tensor(3.0, device=device)
    assert pt.grad(lambda x: x * pt.grad(lambda y: x + y)(x))(x).item() == 1
    assert pt.grad(lambda x: x * pt.grad(lambda y: x * y)(x))(x).item() == 6
    assert pt.grad(lambda x: pt.jvp(lambda y: x * y, (x,), (x,))[1])(x).item() == 6
    assert pt.jvp(pt.grad(lambda x: x**3), (x,), (x / 3,))[1].item() == 18
    f: Any = pt.tanh
    for _ in range(4):
        f = pt.grad(f)
    t = np.tanh(0.5)
    expected = 8 * t * (1 - t * t) * (2 - 3 * t * t)
    got = f(pt.tensor(0.5, device=device)).item()
    np.testing.assert_allclose(got, expected, rtol=1e-4)


def test_a_pullback_is_called_repeatedly(device: str) -> None:
    y, pullback = pt.vjp(lambda x, k: x * k, pt.tensor([1.0, 2.0], device=device), 3.0)
    assert y.tolist() == [3, 6]
    for _ in range(2):
        x, k = pullback(pt.tensor([1.0, 10.0], device=device))
        assert (x.tolist(), k.item()) == ([3, 30], 21)
    with pytest.raises(TypeError, match=r"vjp: the cotangent has shape \(3,\), not \(2,\)"):
        pullback(pt.ones(3, device=device))
    with pytest.raises(TypeError, match="vjp: the cotangent: the trees differ at the root"):
        pullback([pt.ones(2, device=device)])
    g = pt.grad(lambda g: pullback(g)[0].sum())(pt.ones(2, device=device))
    assert g.tolist() == [3, 3]


def test_complex_numbers(device: str) -> None:
    """The convention is JAX's."""
    z = pt.tensor([1 + 2j], device=device)
    assert pt.grad(lambda z: (abs(z) ** 2).sum())(z).tolist() == pytest.approx([2 - 4j])
    assert pt.grad(lambda z: (z**2).sum(), holomorphic=True)(z).tolist() == pytest.approx([2 + 4j])
    with pytest.raises(TypeError, match="holomorphic=True"):
        pt.grad(lambda z: (z**2).sum())(z)


def test_errors(device: str) -> None:
    x = pt.ones(3, device=device)
    for f, words in (
        (lambda x: x, r"scalar, not shape \(3,\); reduce it"),
        (lambda x: (x.sum(), x), "one scalar"),
        (lambda x: x.sum().astype("int32"), "floating-point number, not int32"),
    ):
        with pytest.raises(TypeError, match=words):
            pt.grad(f)(x)
    with pytest.raises(TypeError, match=r"argument 0 has no floating-point .* int32"):
        pt.grad(lambda x: x.sum() * 1.0)(pt.ones(3, dtype="int32", device=device))
    with pytest.raises(ValueError, match="argnums 1 with 1 positional"):
        pt.grad(lambda x: x.sum(), 1)(x)
    with pytest.raises(TypeError, match="has_aux the function returns"):
        pt.grad(lambda x: x.sum(), has_aux=True)(x)
    with pytest.raises(NotDifferentiableError, match=r"^spacing: has no derivative"):
        pt.grad(lambda x: pt.spacing(x).sum())(x)
    with pytest.raises(NotDifferentiableError, match="full_matrices=False"):
        pt.grad(lambda x: pt.linalg.svd(x[:, None])[0].sum())(x)
    with pytest.raises(TypeError, match="jvp: 1 tangents for 2 primals"):
        pt.jvp(lambda x, y: x + y, (x, x), (x,))
    assert pt.grad(lambda x: (x * 0 + 1).astype("int32").astype("float32").sum())(x).sum() == 0
    assert pt.grad(lambda x, y: y.sum(), 0)(x, x).tolist() == [0, 0, 0]  # unused


def test_aux_and_keywords(device: str) -> None:
    x = pt.ones(2, device=device)

    def f(x: pt.Tensor, *, scale: float) -> tuple[pt.Tensor, str]:
        return (x * scale).sum(), "aux"

    assert pt.grad(f, has_aux=True)(x, scale=3)[0].tolist() == [3, 3]
    (value, aux), gradient = pt.value_and_grad(f, has_aux=True)(x, scale=3)
    assert (value.item(), aux, gradient.tolist()) == (6, "aux", [3, 3])
    assert pt.grad(f, has_aux=True)(x, scale=3)[1] == "aux"
    assert pt.jacrev(lambda x: (x * 2, "aux"), has_aux=True)(x)[1] == "aux"


class Pair(NamedTuple):
    weight: Any
    bias: Any


@dataclasses.dataclass
class Layer:
    pair: Pair
    heads: int
    activation: Callable[..., Any]
    mean: Any = pt.tree.state(default=None)  # noqa: RUF009 - it makes a field
    count: Any = None

    def __call__(self, x: pt.Tensor) -> Any:
        y = self.activation(x * self.pair.weight + self.pair.bias)
        self.mean[:] = y
        return y * self.heads


def test_trees(device: str) -> None:
    ones = pt.ones(2, device=device)
    layer = Layer(
        Pair(ones, 2 * ones), 3, pt.tanh, pt.zeros(2, device=device), ones.astype("int32")
    )
    model = {"layers": [layer], "name": "model", "rate": 0.5}

    def loss(model: Any, x: pt.Tensor) -> Any:
        assert model["name"] == "model"
        return (model["layers"][0](x) * model["rate"]).sum()

    gradient = pt.grad(loss)(model, ones)
    made = gradient["layers"][0]
    slope = 3 * 0.5 * (1 - np.tanh(3) ** 2)
    assert (type(made), type(made.pair)) == (Layer, Pair)
    assert (made.heads, made.activation) == (3, pt.tanh)
    assert made.mean is None
    assert made.count is None
    np.testing.assert_allclose(made.pair.weight.numpy(), [slope] * 2, rtol=1e-4)
    np.testing.assert_allclose(gradient["rate"].item(), 6 * np.tanh(3), rtol=1e-5)
    np.testing.assert_allclose(layer.mean.numpy(), np.tanh([3, 3]), rtol=1e-5)  # was written


# -- Rules of the user's ---------------------------------------------------------------------------


def test_custom_vjp(device: str) -> None:
    @pt.custom_vjp
    def clipped(tree: Any, limit: float) -> Any:
        return tree["x"] * 1

    with pytest.raises(TypeError, match="clipped has no rule"):
        pt.grad(lambda x: clipped({"x": x}, 1).sum())(pt.ones(2, device=device))

    def forward(tree: Any, limit: float) -> Any:
        return clipped(tree, limit), (tree["x"], limit)

    def backward(needed: Any, g: pt.Tensor) -> Any:
        x, limit = needed
        return {"x": pt.clip(g, -limit, limit) * x}, None

    clipped.defvjp(forward, backward)
    x = pt.tensor([2.0, 3.0], device=device)

    def f(x: pt.Tensor) -> pt.Tensor:
        return (clipped({"x": x}, 1.5) * pt.tensor([5.0, 0.5], device=device)).sum()

    assert pt.grad(f)(x).tolist() == [3, 1.5]
    assert pt.grad(lambda x: pt.grad(f)(x).sum())(x).tolist() == [1.5, 0.5]
    linear = pt.jvp(lambda x: clipped({"x": x}, 9.0).sum(), (x,), (x,))[1]
    assert linear.item() == pytest.approx(2 * 2 + 3 * 3)
    clipped.defvjp(forward, lambda needed, g: (g,))
    with pytest.raises(TypeError, match="clipped: its rule must return a tuple of 2"):
        pt.grad(f)(x)
    clipped.defvjp(forward, lambda needed, g: ({"x": g[:1]}, None))
    with pytest.raises(TypeError, match=r"clipped: its rule returns a cotangent float32\[1\]"):
        pt.grad(f)(x)


def test_custom_jvp(device: str) -> None:
    @pt.custom_jvp
    def power(x: Any, y: Any) -> Any:
        return x**y

    @power.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (x, y), (dx, dy) = primals, tangents
        return power(x, y), 10 * y * x ** (y - 1) * dx + 0 * dy

    x, y = (pt.tensor(v, device=device) for v in (2.0, 3.0))
    assert pt.grad(power)(x, y).item() == pytest.approx(120)
    assert pt.grad(power, 1)(x, y).item() == 0
    assert pt.jvp(power, (x, y), (x, y))[1].item() == pytest.approx(240)
    assert pt.grad(pt.grad(power))(x, y).item() == pytest.approx(120)


def test_checkpoint(device: str) -> None:
    calls: list[int] = []

    def f(x: pt.Tensor) -> pt.Tensor:
        calls.append(1)
        for _ in range(5):
            x = pt.sin(x) * x
        return x

    again = pt.checkpoint(f)
    x = pt.tensor([0.5, 2.0], device=device)
    expected = pt.grad(lambda x: f(x).sum())(x)
    del calls[:]
    np.testing.assert_allclose(pt.grad(lambda x: again(x).sum())(x).numpy(), expected.numpy(), 1e-5)
    assert len(calls) == 2
    second = pt.grad(lambda x: pt.grad(lambda x: f(x).sum())(x)[0])(x).numpy()
    got = pt.grad(lambda x: pt.grad(lambda x: again(x).sum())(x)[0])(x).numpy()
    np.testing.assert_allclose(got, second, rtol=1e-4)


def test_closed_over_tensors(device: str) -> None:
    """A checkpoint differentiates by them; a rule of the user's cannot, and says so."""
    x, w = (pt.tensor(v, device=device) for v in (0.5, 2.0))

    def f(x: pt.Tensor, w: pt.Tensor) -> pt.Tensor:
        v = w * 3
        return pt.checkpoint(lambda x: pt.sin(x * v) * w)(x)

    expected = pt.grad(lambda x, w: pt.sin(x * w * 3) * w, (0, 1))(x, w)
    for got, wanted in zip(pt.grad(f, (0, 1))(x, w), expected, strict=True):
        assert got.item() == pytest.approx(wanted.item(), rel=1e-4)
    rule = pt.custom_vjp(lambda x: x * w)
    rule.defvjp(lambda x: (x * w, lambda g: (g * w,)))
    assert pt.grad(rule)(x).item() == 2

    def closing(w: pt.Tensor) -> pt.Tensor:
        rule = pt.custom_vjp(lambda x: x * w)
        rule.defvjp(lambda x: (x * w, lambda g: (g * w,)))
        return rule(x)

    with pytest.raises(TypeError, match="pass it as an argument"):
        pt.grad(closing)(w)


def test_a_checkpoint_draws_the_same_again(device: str) -> None:
    generator = pt.random.default_rng(3)

    def f(x: pt.Tensor) -> pt.Tensor:
        y = x * generator.random(4)
        return pt.where(generator.random(4) > 0.5, y, 0 * y) * pt.sin(x)

    x = pt.ones(4, device=device)
    got = pt.grad(lambda x: pt.checkpoint(f)(x).sum())(x).tolist()
    after = generator.random()
    generator = pt.random.default_rng(3)
    assert got == pytest.approx(pt.grad(lambda x: f(x).sum())(x).tolist(), rel=1e-5)
    assert generator.random() == after


def test_rules_with_integer_results(device: str) -> None:
    x = pt.tensor([1.0, 3.0, 2.0], device=device)
    f = pt.checkpoint(lambda x: (x.argmax(), x.max() * 2))
    assert pt.grad(lambda x: f(x)[1])(x).tolist() == [0, 2, 0]
    assert pt.jvp(lambda x: f(x)[1], (x,), (x,))[1].item() == 6


def test_rules_in_other_threads(device: str) -> None:
    def in_thread(f: Callable[..., Any], *arguments: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(f, *arguments).result()

    rule = pt.custom_vjp(lambda x: x * 2)
    rule.defvjp(lambda x: (x * 2, lambda g: (g * 100,)))
    x = pt.tensor(2.0, device=device)
    assert pt.grad(lambda x: in_thread(rule, x))(x).item() == 100
    with pytest.raises(TracedValueError):
        pt.grad(lambda x: in_thread(float, x) * x)(x)


def test_more_errors(device: str) -> None:
    x = pt.ones(3, device=device)
    with pytest.raises(ValueError, match="an argument twice"):
        pt.grad(lambda x, y: (x * y).sum(), (0, -2))(x, x)
    with pytest.raises(TypeError, match="jacrev: the function must return floats"):
        pt.jacrev(lambda x: x.argmax())(x)
    with pytest.raises(TypeError, match="use jacfwd"):
        pt.jacrev(lambda x: x * 1j)(x)
    with pytest.raises(TypeError, match="jvp: primals and tangents are tuples"):
        pt.jvp(lambda x: x, x, x)
    with pytest.raises(TypeError, match="no argument to differentiate by"):
        pt.grad(lambda x: x.sum(), ())(x)
    with pytest.raises(TypeError, match="argument 0 has no floating-point"):
        pt.grad(lambda x: x)([])
    leaked: list[pt.Tensor] = []
    pt.vmap(lambda x: leaked.append(x * 2) or x)(x)
    with pytest.raises(TracedValueError, match="a trace that has ended"):
        pt.grad(lambda x: (x * leaked[0]).sum())(x)
    with pytest.raises(ValueError, match="read-only"):
        pt.grad(lambda x: pt.checkpoint(lambda a: (a.fill(2), a.sum())[1])(x))(x)
    y, _ = pt.vjp(lambda x: x, x)
    y += 1  # a tensor of its own
    assert x.tolist() == [1, 1, 1]
