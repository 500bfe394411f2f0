"""Functions with a derivative, and the shapes of operands, for `test_derivatives.py`.

Together they use every rule of an op (`tests/unit/test_gradients_form.py` checks that).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

import py_tensor as pt
from py_tensor.ops.gather import gather_nd, scatter

Function = Callable[..., pt.Tensor]
Cases = list[tuple[Function, list[tuple[int, ...]]]]
MAXIMA, MINIMA = (cast("Any", f).accumulate for f in (pt.maximum, pt.minimum))
INF, NAN = math.inf, math.nan


def holes(x: pt.Tensor) -> pt.Tensor:
    return pt.tensor([[1, 0, 1], [0, 1, 1], [2, 0, 1], [0, 1, 2]], dtype=x.dtype, device=x.device)


def places(x: pt.Tensor) -> pt.Tensor:
    return pt.tensor([1, 0, -1, 1, 0], device=x.device)


def count(n: int, x: pt.Tensor) -> pt.Tensor:
    return pt.arange(n, dtype=x.dtype, device=x.device)


def put(x: pt.Tensor, y: pt.Tensor, mode: str) -> pt.Tensor:
    return scatter(x, (0,), (places(x),), 0, y, mode)


def layer_norm(x: pt.Tensor) -> pt.Tensor:
    return (x - pt.mean(x, 1, keepdims=True)) / pt.sqrt(pt.var(x, 1, keepdims=True) + 0.1)


def written(x: pt.Tensor, key: Any, value: pt.Tensor) -> pt.Tensor:
    y = x.copy()
    y[key] = value
    return y


def symmetric(a: pt.Tensor) -> pt.Tensor:
    """Matrices with eigenvalues from about 1 to 9, all different."""
    n = a.shape[-1]
    return (a + a.mT) / 4 + pt.diag(2 * count(n, a) + 2)


def regular(a: pt.Tensor) -> pt.Tensor:
    return a + pt.diag(2 * count(a.shape[-1], a) + 2)


def hermitian(a: pt.Tensor, b: pt.Tensor) -> pt.Tensor:
    return symmetric(a) + 1j * (b - b.mT) / 4


def moduli(*tensors: pt.Tensor) -> pt.Tensor:
    """The squares of factors, which do not depend on the choice of their signs or phases."""
    return pt.concat([(x * x.conj()).real.ravel() for x in tensors])


CASES: Cases = [
    (lambda x: pt.exp(x) * pt.log(x + 3), [(2, 3)]),
    (lambda x, y: x * y - x / (y + 3), [(2, 3), (3,)]),
    (lambda x, y: (x + 2) ** y, [(2, 3), (2, 3)]),
    (lambda x: (x + 2) ** 2.5 + x**2 + (x + 2) ** -1.5, [(4,)]),
    (lambda x: pt.tanh(x) + pt.sigmoid(x) + pt.sqrt(x + 2) + 1 / (x + 2), [(4,)]),
    (lambda x: pt.sin(x) * pt.cos(x) + pt.tan(x) + pt.relu(x) + abs(x), [(4,)]),
    (lambda x: pt.log2(x + 3) + pt.log10(x + 3) + pt.log1p(x / 2) + pt.expm1(x), [(4,)]),
    (lambda x: pt.exp2(x) + pt.sinh(x) * pt.cosh(x) + pt.erf(x), [(4,)]),
    (lambda x: pt.asin(x / 2) * pt.acos(x / 2) + pt.atan(x), [(4,)]),
    (lambda x: pt.i0(x) * pt.sinc(3 * x), [(4,)]),
    (lambda x: x.sum(0) * x.max(1)[:2] + pt.min(x), [(3, 2)]),
    (lambda x: pt.prod(x, 1) + x.max((0, 1)), [(3, 2)]),
    (lambda x, w, b: pt.tanh(x @ w + b) @ w.T, [(2, 3), (3, 4), (4,)]),
    (lambda a, b: a @ b, [(2, 1, 2, 3), (3, 3, 2)]),
    (lambda a, b: a.fused_multiply_add(b, (0, 2)) * a, [(2, 3, 2), (3, 1)]),
    (lambda x, y: (x.reshape(3, 2) * y).reshape(6) ** 2, [(2, 3), (3, 2)]),
    (lambda x, y: x.permute((2, 0, 1)) * y, [(2, 3, 4), (4, 2, 3)]),
    (lambda x: x.expand((4, 2, 3)) * count(24, x).reshape(4, 2, 3), [(2, 1)]),
    (lambda x: x[1:, ::2] * x[:2, ::-2] + x[0, 0], [(3, 5)]),
    (lambda x: x[5:0:-3] * 2 + x[7:1:-4], [(9,)]),
    (lambda x: pt.flip(x, 0) * x, [(3, 2)]),
    (lambda x: x.pad(((1, 2), (0, 1)), constant_values=3) * count(4, x), [(2, 3)]),
    (lambda x, y: pt.concat([x, y * 2, x], 1) * count(7, x), [(2, 2), (2, 3)]),
    (lambda x, y: pt.where(x > y, x * 3, y * y), [(3, 2), (2,)]),
    (lambda x, y: pt.maximum(x, y) + pt.minimum(x, 2 * y), [(3, 2), (2,)]),
    (lambda x: layer_norm(x) * x, [(2, 4)]),
    (lambda x, y: x.cumsum(0) * y + x.cumsum()[2] * y.cumsum(1), [(4, 3), (4, 3)]),
    (lambda x, y: (x * holes(x)).cumprod(0) * y + x.cumprod(1) * y, [(4, 3), (4, 3)]),
    (lambda x, y: MAXIMA(x, 0) * y + MINIMA(x, 1) ** 2, [(4, 3), (4, 3)]),
    (lambda x, y: pt.sort(x, 0) * y + pt.sort(x, 1, descending=True) * y, [(4, 3), (4, 3)]),
    (lambda x: x.take(places(x), 0) ** 2, [(3, 3)]),
    (lambda x: pt.take_along_axis(x, holes(x).argsort(0), 0) * x, [(4, 3)]),
    (lambda x: x[holes(x) > 0] ** 2 * count(8, x), [(4, 3)]),
    (lambda x: gather_nd(x, (2, 0), (places(x)[:2, None], places(x)), 1) ** 2, [(3, 2, 3)]),
    (lambda x, y: put(x, y, "set") * x[0], [(3, 4), (5, 4)]),
    (lambda x, y: put(x, y, "add") ** 2, [(3, 4), (5, 4)]),
    (lambda x, y: put(x, y, "min") * x[0] + put(x, y, "max") ** 2, [(3, 4), (5, 4)]),
    (lambda x: (x[1:, ::2].T * x.T[0, 1:]) + x[::-1][1:, 1:3].T, [(3, 4)]),
    (lambda x, y: written(x, (slice(1, None), slice(None, None, 2)), y) ** 2, [(3, 4), (2, 2)]),
    (lambda x, y: written(x, (slice(0, 2), slice(1, 3)), y) * x, [(3, 4), (2,)]),
    (lambda x, w, b: pt.layer_norm(x, w, b, 0, 0.1) * x, [(4, 2), (4,), (4,)]),
    (lambda x: pt.softmax(x, 0) * x + pt.log_softmax(x) * x, [(3, 4)]),
    (lambda x, y: pt.convolve(x, y) ** 2, [(7,), (3,)]),
    (lambda x, y: pt.convolve(x, y, "same") ** 2 + pt.correlate(x, y, "same"), [(7,), (4,)]),
    (lambda x, y: pt.convolve(x, y, "valid") ** 2 + pt.correlate(x, y), [(7,), (4,)]),
    (lambda x, y: pt.abs(x + 1j * y) * pt.sign(x - 1j * y).imag, [(3,), (3,)]),
    (lambda x, y: pt.nan_to_num(x + 1j * y).imag * (x * 1j).imag ** 2, [(3,), (3,)]),
    (lambda x, y: pt.exp(x + 1j * y).real * pt.angle(x + 2j + y), [(3,), (3,)]),
    (lambda x, y: (x + 1j * y).conj().imag ** 2 + ((x + 2j) ** (y + 1j)).real, [(3,), (3,)]),
    (lambda x: pt.abs(pt.fft.fft(x)) + pt.fft.irfft(pt.fft.rfft(x) * 2, 4), [(3, 4)]),
    (lambda x, y: pt.hypot(x, y) * pt.arctan2(x, y) + pt.copysign(x, y), [(4,), (4,)]),
    (lambda x, y: pt.remainder(x, y) * x + pt.fmod(x, y) * y + x // y * x, [(5,), (5,)]),
    (lambda x: pt.floor(x) * x + pt.round(3 * x) * x + pt.trunc(x) * x + pt.ceil(x) * x, [(4,)]),
    (lambda x: pt.sign(x) * x**2 + pt.modf(3 * x)[0] ** 2 + pt.frexp(x)[0] ** 2, [(4,)]),
    (lambda x: pt.ldexp(x, places(x)) ** 2 + pt.nextafter(x, 2 * x) ** 2, [(5,)]),
    (lambda x: pt.asinh(x) + pt.acosh(x + 3) + pt.atanh(x / 2) + pt.cbrt(x + 2), [(4,)]),
    (lambda x: pt.radians(x) ** 2 + pt.degrees(x) ** 2 + pt.reciprocal(x + 2), [(4,)]),
    (lambda x, y: pt.logaddexp(x, y) + pt.logaddexp2(x, y) * x, [(4,), (4,)]),
    (lambda x: pt.roll(x, 1, 1) ** 3 + pt.clip(x, -0.5, 0.5) ** 2 + +x, [(3, 4)]),
    (
        lambda x: pt.prod(x * holes(x)[..., None], 0) + pt.prod(x, (0, 2))[:, None] * x[0],
        [(4, 3, 3)],
    ),
    (lambda x: pt.cumprod(x[:, 0] * holes(x)[:, 1]) + pt.cumprod(x), [(4, 1)]),
    (lambda x: x[x[:, 0].argmax()] * x[1] + x[x[0].argmin() - 3, 0], [(3, 4)]),
    (lambda x: pt.take_along_axis(x, x.argmax(1, keepdims=True) - 4, 1) * x, [(3, 4)]),
    (lambda x: x.std(0) * pt.linalg.norm(x, axis=0) + pt.linalg.norm(x), [(3, 4)]),
    (lambda x: x.reshape(-1)[3:9].reshape(2, 3) * x[1:3, 2::-1] * pt.diagonal(x)[:3], [(4, 4)]),
    (lambda x, y: written(x, (slice(None, None, -1), 1), y) * x, [(3, 4), (3,)]),
]
LINALG: Cases = [
    (lambda a, b: pt.linalg.solve(regular(a), b) ** 2, [(3, 3), (3,)]),
    (lambda a, b: pt.linalg.solve(regular(a), b), [(2, 3, 3), (3, 2)]),
    (lambda a, b: moduli(pt.linalg.solve(regular(a) + 1j * b, b + 1j)), [(3, 3), (3, 3)]),
    (lambda a: pt.linalg.inv(regular(a)) @ a, [(2, 3, 3)]),
    (lambda a: pt.linalg.det(a) ** 2 + pt.linalg.det(regular(a)), [(2, 3, 3)]),
    (lambda a, b: moduli(pt.linalg.det(a + 1j * b)), [(3, 3), (3, 3)]),
    (lambda a: pt.linalg.slogdet(regular(a))[1], [(2, 3, 3)]),
    (lambda a, b: pt.linalg.slogdet(a + 1j * b)[0].imag * 2, [(3, 3), (3, 3)]),
    (lambda a, b: pt.linalg.slogdet(a + 1j * b)[1] ** 2, [(3, 3), (3, 3)]),
    (lambda a: pt.linalg.cholesky(symmetric(a)), [(2, 3, 3)]),
    (lambda a: pt.linalg.cholesky(symmetric(a), upper=True) ** 2, [(3, 3)]),
    (lambda a, b: moduli(pt.linalg.cholesky(hermitian(a, b))), [(3, 3), (3, 3)]),
    (lambda a: moduli(*pt.linalg.qr(regular(a))), [(3, 3)]),
    (lambda a: moduli(*pt.linalg.qr(a)), [(4, 2)]),
    (lambda a: moduli(*pt.linalg.qr(regular(a)[:2])), [(4, 4)]),
    (lambda a: moduli(pt.linalg.qr(a, mode="r")), [(4, 2)]),
    (lambda a, b: moduli(*pt.linalg.qr(regular(a) + 1j * b)), [(3, 3), (3, 3)]),
    (lambda a: pt.linalg.eigh(symmetric(a))[0] ** 2, [(2, 3, 3)]),
    (lambda a: moduli(*pt.linalg.eigh(symmetric(a), "U")), [(3, 3)]),
    (lambda a, b: moduli(*pt.linalg.eigh(hermitian(a, b))), [(3, 3), (3, 3)]),
    (lambda a: moduli(*pt.linalg.svd(regular(a))), [(3, 3)]),
    (lambda a: moduli(*pt.linalg.svd(regular(a)[:, :2], full_matrices=False)), [(4, 4)]),
    (lambda a: moduli(*pt.linalg.svd(regular(a)[:2], full_matrices=False)), [(4, 4)]),
    (lambda a, b: moduli(*pt.linalg.svd(regular(a) + 1j * b)), [(3, 3), (3, 3)]),
    (lambda a: pt.linalg.svdvals(regular(a)[:, :2]) ** 2, [(3, 3)]),
    (lambda a: pt.linalg.pinv(regular(a)[:, :2]), [(3, 3)]),
    (lambda a: pt.linalg.pinv(regular(a)[:2]), [(3, 3)]),
    (lambda a, b: moduli(pt.linalg.pinv(regular(a)[:2] + 1j * b)), [(3, 3), (2, 3)]),
    (lambda a, b: pt.linalg.lstsq(a, b)[0] + pt.linalg.lstsq(a, b)[1], [(4, 2), (4,)]),
    (lambda a: pt.linalg.norm(regular(a), 2) * pt.linalg.norm(a, "nuc"), [(3, 3)]),
    (lambda a: pt.linalg.norm(a, 1) * pt.linalg.norm(a, pt.inf) * pt.linalg.cond(a), [(3, 3)]),
    (lambda a: pt.linalg.vector_norm(a, ord=3, axis=0), [(3, 3)]),
    (lambda a: pt.linalg.matrix_power(regular(a), -2) + pt.linalg.matrix_power(a, 3), [(3, 3)]),
    (lambda a: pt.linalg.tensorinv(regular(a).reshape(3, 3), 1), [(3, 3)]),
    (lambda a, b: pt.linalg.tensorsolve(regular(a), b) + pt.linalg.multi_dot([a, a, b]),
     [(3, 3), (3,)]),
    (lambda x, y: pt.polyfit(count(5, x), x * y[0], 2) ** 2, [(5,), (1,)]),
]  # fmt: skip

SPECIAL: list[tuple[Function, list[list[float]], list[list[float]]]] = [
    (lambda x: x.max() + 2 * x.min(), [[1, 1, 0, 0]], [[0.5, 0.5, 1, 1]]),
    (pt.maximum, [[1, 2, NAN], [1, 3, 1]], [[0.5, 0, 0], [0.5, 1, 0]]),
    (pt.minimum, [[1, 2], [1, 3]], [[0.5, 1], [0.5, 0]]),
    (lambda x: pt.clip(x, -1, 1), [[-2, -1, 0, 1, 2]], [[0, 1, 1, 1, 0]]),
    (pt.clip, [[1, 2, 3], [1, 3, 1], [2, 3, 3]], [[1, 0, 1], [0, 1, 0], [0, 0, 0]]),
    (pt.relu, [[-1, 0, 1, NAN]], [[0, 0, 1, 0]]),
    (pt.abs, [[-1, 0, 1]], [[-1, 0, 1]]),
    (pt.sqrt, [[0, 1]], [[INF, 0.5]]),
    (lambda x: x**0, [[0, 1, INF]], [[0, 0, 0]]),
    (lambda x: x**1.0 + x**2.0, [[0, 1]], [[1, 3]]),
    (lambda x, y: x**y, [[0, 0, -2, -2], [0, 2, 2, 3]], [[0, 0, -4, 12], [0, 0, 0, 0]]),
    (lambda x: 0**x, [[2, 0.5]], [[0, 0]]),
    (pt.hypot, [[0, 3], [0, 4]], [[0, 0.6], [0, 0.8]]),
    (pt.linalg.norm, [[0, 0]], [[0, 0]]),
    (lambda x: pt.linalg.norm(x + 0j), [[0, 0]], [[0, 0]]),
    (pt.std, [[2, 2, 2]], [[0, 0, 0]]),
    (lambda x: pt.abs(x * (1 + 1j)), [[0]], [[0]]),
    (lambda x: pt.sign(x * (1 + 1j)).real, [[0]], [[0]]),
    (pt.logaddexp, [[-INF, 1, -INF], [-INF, 1, 2]], [[0.5, 0.5, 0], [0.5, 0.5, 1]]),
    (pt.logaddexp2, [[-INF, 1], [-INF, 1]], [[0.5, 0.5], [0.5, 0.5]]),
    (pt.prod, [[0, 2, 3]], [[6, 0, 0]]),
    (pt.prod, [[0, 2, 0]], [[0, 0, 0]]),
    (pt.cumprod, [[2, 0, 3]], [[1, 8, 0]]),
    (pt.sinc, [[0, 0]], [[0, 0]]),
    (
        lambda x: pt.sort(x) * pt.tensor([1, 20, 300], dtype=x.dtype, device=x.device),
        [[2, 1, 2]],
        [[20, 1, 300]],
    ),
    (lambda x: pt.linalg.det(x.reshape(2, 2)), [[1, 2, 2, 4]], [[4, -2, -2, 1]]),
    (lambda x: pt.linalg.det(x.reshape(2, 2)), [[0, 0, 0, 0]], [[0, 0, 0, 0]]),
    (lambda x: pt.linalg.svdvals(x.reshape(2, 2)), [[2, 0, 0, 2]], [[1, 0, 0, 1]]),
    (lambda x: pt.linalg.eigvalsh(x.reshape(2, 2)), [[2, 0, 0, 2]], [[1, 0, 0, 1]]),
    (lambda x: pt.where(x > 0, x, 0) ** 0.5, [[4]], [[0.25]]),
]
"""Functions, values of their operands, and the derivatives of the sum of their results."""


def arrays_of(shapes: list[tuple[int, ...]]) -> list[Any]:
    rng = np.random.default_rng(1)
    return [rng.uniform(-1, 1, shape) for shape in shapes]
