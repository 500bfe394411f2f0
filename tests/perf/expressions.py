"""Named expressions with their limits: the table shared by the counting tests.

A change that needs fewer kernels or dispatches lowers a number here; raising a number is a
regression that must be justified. Sizes are those of the benchmarks; the fake bridge computes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import py_tensor as pt

Shape = tuple[int, ...]
Results = pt.Tensor | tuple[pt.Tensor, ...]


@dataclass(frozen=True)
class Counts:
    """Kernels as reported by `pt.explain`, and the dispatches that run for them."""

    kernels: int
    dispatches: int


@dataclass(frozen=True)
class Expression:
    """A function of tensors, and its counts with the kernels for a GPU and for a CPU."""

    name: str
    f: Callable[..., Results]
    shapes: tuple[Shape, ...]
    gpu: Counts
    software: Counts

    def results(self, *operands: pt.Tensor) -> tuple[pt.Tensor, ...]:
        """Return the results of the function, as a tuple."""
        found = self.f(*operands)
        return found if isinstance(found, tuple) else (found,)

    def small(self) -> tuple[Shape, ...]:
        """Return the shapes with long axes reduced to an eighth, for a software adapter."""
        return tuple(tuple(n // 8 if n >= 256 else n for n in shape) for shape in self.shapes)


def softmax(x: pt.Tensor) -> pt.Tensor:
    e = pt.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def log_softmax(x: pt.Tensor) -> pt.Tensor:
    shifted = x - x.max(-1, keepdims=True)
    return shifted - pt.log(pt.exp(shifted).sum(-1, keepdims=True))


def layer_norm(x: pt.Tensor, w: pt.Tensor, b: pt.Tensor) -> pt.Tensor:
    centred = x - pt.mean(x, -1, keepdims=True)
    return centred / pt.sqrt(pt.mean(centred * centred, -1, keepdims=True) + 1e-5) * w + b


def chain(x: pt.Tensor, row: pt.Tensor, column: pt.Tensor) -> pt.Tensor:
    """Apply twelve elementwise ops to three tensors."""
    y = pt.tanh(x * row + column) - pt.exp(-x)
    z = pt.maximum(y, row) * 0.5 + column
    return z / (1 + y * y)


def attention(q: pt.Tensor, k: pt.Tensor, v: pt.Tensor) -> pt.Tensor:
    return softmax(q @ k.swapaxes(-1, -2) * 0.125) @ v


def training_step(x: pt.Tensor, y: pt.Tensor, w: pt.Tensor, b: pt.Tensor) -> Results:
    """Return one step of gradient descent for a logistic regression, and its loss."""
    p = pt.sigmoid(x @ w + b)
    error = (p - y) * (1 / x.shape[0])
    loss = -pt.mean(y * pt.log(p + 1e-7) + (1 - y) * pt.log(1 - p + 1e-7))
    return w - 0.1 * (x.T @ error), b - 0.1 * error.sum(0), loss


def adam_step(w: pt.Tensor, g: pt.Tensor, m: pt.Tensor, v: pt.Tensor) -> Results:
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    return w - 0.001 * m / (pt.sqrt(v) + 1e-8), m, v


def each_and_each(*xs: pt.Tensor) -> Results:
    return tuple(a + b for a in xs[:20] for b in xs[20:])


def many(*xs: pt.Tensor) -> Results:
    return tuple(x + 1 for x in xs)


def grid(x: pt.Tensor) -> pt.Tensor:
    rows, columns = (pt.linspace(0, 1, n, device=x.device) for n in x.shape)
    return x * rows[:, None] + columns


def drawn() -> pt.random.Generator:
    return pt.random.default_rng(0)


def uniform_numbers(x: pt.Tensor) -> pt.Tensor:
    return drawn().rand(x.shape, device=x.device)


SQUARE = (4096, 4096)
ROW = (4096,)
COLUMN = (4096, 1)
E, C = Expression, Counts

EXPRESSIONS = (
    E("add", lambda x, y: x + y, ((16,), (16,)), C(1, 1), C(1, 1)),
    E("one chain", lambda a, b: pt.tanh(a * b + pt.exp(-a)), (SQUARE, SQUARE), C(1, 1), C(1, 1)),
    E("12 ops with row and column", chain, (SQUARE, ROW, COLUMN), C(1, 1), C(1, 1)),
    E("20 by 10 additions", each_and_each, ((16,),) * 30, C(28, 28), C(28, 28)),
    E("200 independent additions", many, ((16,),) * 200, C(25, 25), C(25, 25)),
    E("adam step", adam_step, (SQUARE,) * 4, C(1, 1), C(1, 1)),
    E("sum of all", lambda x: x.sum(), (SQUARE,), C(1, 2), C(1, 2)),
    E("sum of all, 268 M", lambda x: x.sum(), ((2**28,),), C(1, 2), C(1, 2)),
    E("sum of rows", lambda x: x.sum(1), (SQUARE,), C(1, 1), C(1, 1)),
    E("sum of columns", lambda x: x.sum(0), (SQUARE,), C(1, 2), C(1, 1)),
    E("sum over the middle", lambda x: x.sum(1), ((256, 256, 1024),), C(1, 1), C(1, 1)),
    E("mean of squares", lambda x: pt.mean(x * x), (SQUARE,), C(1, 2), C(1, 2)),
    E("argmax of all", lambda x: pt.argmax(x), (SQUARE,), C(1, 2), C(1, 2)),
    E("min and max", lambda x: pt.max(x, 1) - pt.min(x, 1), (SQUARE,), C(1, 1), C(1, 1)),
    E("variance", lambda x: pt.var(x, 1), (SQUARE,), C(1, 1), C(1, 1)),
    E("softmax", softmax, (SQUARE,), C(1, 1), C(1, 1)),
    E("log-softmax", log_softmax, (SQUARE,), C(1, 1), C(1, 1)),
    E("layer norm", layer_norm, (SQUARE, ROW, ROW), C(1, 1), C(1, 1)),
    E("softmax of few long rows", softmax, ((64, 2**18),), C(3, 5), C(1, 1)),
    E("softmax along columns", lambda x: softmax(x.T), (SQUARE,), C(3, 5), C(3, 3)),
    E("matmul", lambda a, b: a @ b, (SQUARE, SQUARE), C(1, 1), C(1, 1)),
    E(
        "matmul, bias, relu",
        lambda a, b, c: pt.relu(a @ b + c),
        (SQUARE, SQUARE, ROW),
        C(1, 1),
        C(1, 1),
    ),
    E("matmul of transposed", lambda a, b: a.T @ b.T, (SQUARE, SQUARE), C(1, 1), C(1, 1)),
    E("64 matmuls", lambda a, b: a @ b, ((64, 256, 256), (64, 256, 256)), C(1, 1), C(1, 1)),
    E("matmul by vector", lambda a, b: a @ b, ((8192, 8192), (8192,)), C(1, 1), C(1, 1)),
    E("matmul with long sum", lambda a, b: a @ b, ((64, 65536), (65536, 64)), C(1, 2), C(1, 1)),
    E("attention", attention, ((8, 16, 512, 64),) * 3, C(3, 3), C(3, 3)),
    E(
        "training step",
        training_step,
        ((8192, 512), (8192, 10), (512, 10), (10,)),
        C(4, 7),
        C(4, 6),
    ),
    E("uniform numbers", uniform_numbers, (SQUARE,), C(1, 1), C(1, 1)),
    E("normal numbers", lambda x: drawn().normal(x, 2), (SQUARE,), C(1, 1), C(1, 1)),
    E("integers", lambda x: drawn().integers(0, x.astype(int)), (SQUARE,), C(1, 1), C(1, 1)),
    E("poisson", lambda x: drawn().poisson(x), (SQUARE,), C(1, 1), C(1, 1)),
    E("gamma", lambda x: drawn().gamma(x, 2), (SQUARE,), C(1, 1), C(1, 1)),
    E("choices", lambda x: drawn().choice(x, 2**22), ((2**20,),), C(1, 1), C(1, 1)),
    E("permutation", lambda x: drawn().permutation(x), ((2**20,),), C(2, 25), C(2, 41)),
    E("histogram", lambda x: pt.histogram(x, 100), (SQUARE,), C(5, 6), C(5, 6)),
    E("histogram in a range", lambda x: pt.histogram(x, 100, (0, 1)), (SQUARE,), C(3, 3), C(3, 3)),
    E(
        "histogram of integers",
        lambda x: pt.histogram(x.astype(int).realize(), 100),
        (SQUARE,),
        C(6, 7),
        C(6, 7),
    ),
    E(
        "linspace",
        lambda x: x * pt.linspace(0, 1, x.shape[1], device=x.device),
        (SQUARE,),
        C(1, 1),
        C(1, 1),
    ),
    E("grid", grid, (SQUARE,), C(1, 1), C(1, 1)),
    E("transposed copy", lambda x: x.T, (SQUARE,), C(1, 1), C(1, 1)),
    E("transposed sum", lambda x, y: x.T + y, (SQUARE, SQUARE), C(1, 1), C(1, 1)),
    E("concat", lambda x, y: pt.concat([x, y]), (SQUARE, SQUARE), C(1, 1), C(1, 1)),
    E("pad", lambda x: x.pad(1), (SQUARE,), C(1, 1), C(1, 1)),
    E("strided", lambda x: x[::2, ::-1] * 2, (SQUARE,), C(1, 1), C(1, 1)),
    E(
        "outer difference, summed",
        lambda x, y: pt.exp(x[:, None] - y).sum(1),
        (ROW, ROW),
        C(1, 2),
        C(1, 1),
    ),
)
