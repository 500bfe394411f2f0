"""Expressions at the edges of their domains, against NumPy, including errors.

Each line of the table is evaluated twice, with NumPy and with py_tensor under the name `np`. The
two must agree in shape, dtype (the default dtypes have 32 bits instead of 64), and every element
with its sign, or in the kind of error. `F(...)`, `I(...)` and `U(...)` make float32, int32 and
uint32 arrays.
"""

from __future__ import annotations

import warnings
from typing import Any, cast

import numpy as np
import pytest

import py_tensor as pt
from tests.differential.evaluating import CATEGORIES
from tests.ops.compare import same, ulps_off

Array = Any
NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32"}
ULP = 5  # 4 of ours, plus NumPy's own

TABLE = {
    "NaN": """
        np.max(F(1, nan, 2))
        np.min(F([1, nan], [3, 2]), axis=1)
        np.maximum(F(nan, 1, nan), F(1, nan, nan))
        np.minimum(F(nan, 1, nan), 1)
        np.fmax(F(nan, 1, nan), F(1, nan, nan))
        np.fmin(F(nan, 1, nan), 1)
        np.argmax(F(1, nan, 2, nan))
        np.argmin(F([1, nan, nan], [3, 2, 1]), axis=1)
        np.sort(F(nan, 1, -inf, nan, inf, 0))
        np.argsort(F(nan, 1, -inf, nan, inf, 0))
        np.unique(F(nan, 1, nan, 1))
        np.cumsum(F(1, nan, 2))
        np.cumprod(F(0, nan, 2))
        np.clip(F(nan, 5, -5), -1, 1)
        np.clip(F(1, 2, 3), nan, 2)
        np.sign(F(nan, -nan))
        np.median(F(1, nan, 2))
        np.ptp(F(1, nan, 2))
        np.nanmax(F([nan, nan], [1, nan]), axis=1)
        np.nanmean(F([nan, nan], [1, nan]), axis=1)
        np.nanargmax(F(nan, 2, nan, 3))
        np.nansum(F(nan, nan))
        np.nanprod(F(nan, nan))
        np.count_nonzero(F(nan, 0, -0.0))
        np.any(F(nan, 0))
        np.all(F(nan, nan))
        np.logical_not(F(nan, 0))
        F(nan, 0, -0.0).astype(bool)
        np.searchsorted(F(0, 1, nan), F(nan, 2, inf))
        np.isclose(F(nan, inf, inf), F(nan, inf, -inf), equal_nan=True)
        np.array_equal(F(nan), F(nan))
        np.array_equal(F(0, 1), None)
        np.array_equal(F(0, 1), ...)
        np.array_equal(F(0, 1), 'text')
        np.array_equal(F(0, 1), [0, [1]])
        np.array_equiv(F(0, 1), None)
        np.array_equiv(F(0, 1), [0, [1]])
        np.where(F(nan, 0, 1), 1, 2)
        np.round(F(nan, inf, -inf))
        np.nan_to_num(F(nan, inf, -inf))
        np.diff(F(inf, inf, -inf))
        np.interp(F(nan, 0.5), F(0, 1), F(1, 3))
        F(nan, 1) == F(nan, 1)
        F(nan, 1) != F(nan, 1)
        F(nan, 1) < nan
        np.power(F(nan, 1, nan, 0), F(0, nan, 1, nan))
        np.hypot(F(nan, inf, -inf), F(inf, nan, nan))
        np.arctan2(F(nan, 0), F(0, nan))
        np.bincount(I(0, 1, 1), weights=F(1, nan, 2))
        np.dot(F(0, 1), F(inf, 1))
        np.matmul(F([0, 1], [1, 0]), F([nan, 1], [2, 3]))
    """,
    "infinities": """
        np.sum(F(inf, -inf))
        np.sum(F(inf, 1, inf))
        np.prod(F(inf, 0))
        np.mean(F(inf, 1))
        np.var(F(inf, 1))
        np.max(F(-inf, -inf))
        np.min(F(inf, inf))
        np.cumsum(F(1, inf, -inf, 2))
        F(inf, -inf, 1, -1) // F(2, 2, inf, inf)
        F(inf, 1, -1, 1) % F(2, inf, inf, -inf)
        np.fmod(F(inf, 1, -1), F(2, inf, inf))
        F(1, -1, 0, inf) / F(0, 0, 0, inf)
        F(1, -1) // F(0, 0)
        F(1, -1) % F(0, 0)
        np.power(F(-inf, -inf, -inf, inf), F(3, 2, -3, -1))
        np.power(F(-1, -1, 0.5, 2), F(inf, -inf, inf, -inf))
        np.exp(F(inf, -inf))
        np.log(F(inf, 0, -0.0, -1))
        np.log1p(F(-1, -2, inf))
        np.sin(F(inf, -inf))
        np.arctan(F(inf, -inf))
        np.tanh(F(inf, -inf))
        np.arctanh(F(1, -1, 2))
        np.arccosh(F(inf, 1, 0.5))
        np.sqrt(F(inf, -inf, -0.0))
        np.cbrt(F(inf, -inf, -0.0))
        np.logaddexp(F(-inf, inf, -inf), F(-inf, 1, 1))
        np.hypot(F(3e38, 1e-30), F(3e38, 1e-30))
        np.isinf(F(inf, -inf, 3e38))
        np.linalg.norm(F(inf, 1))
        np.nextafter(F(inf, 3.4028235e38), F(0, inf))
        np.frexp(F(6, -0.1, 0))
        np.frexp(F(inf, -inf, nan))[0]
        np.modf(F(inf, -inf, -0.0, -1.5))
        np.ldexp(F(1, 1, -1), I(200, -200, 200))
    """,
    "signed zeros": """
        -F(0, -0.0)
        F(0, -0.0) + F(-0.0, -0.0)
        F(0, -0.0) - F(0, -0.0)
        F(0, -0.0) * F(-1, -1)
        1 / F(0, -0.0)
        F(-0.0) + 0
        F(-0.0, 0) % 5
        F(-0.0, 0) // 5
        np.abs(F(-0.0))
        np.sqrt(F(-0.0, 0))
        np.floor(F(-0.0, 0, -0.5, 0.5))
        np.ceil(F(-0.0, 0, -0.5, 0.5))
        np.trunc(F(-0.5, 0.5))
        np.round(F(-0.5, 0.5, -0.4, -0.0))
        np.round(F(-0.04, 0.04), 1)
        np.sin(F(-0.0, 0))
        np.tan(F(-0.0, 0))
        np.arcsin(F(-0.0, 0))
        np.arctan2(F(0, -0.0, 0, -0.0), F(0, 0, -0.0, -0.0))
        np.expm1(F(-0.0, 0))
        np.log1p(F(-0.0, 0))
        np.copysign(F(1, 1), F(-0.0, 0))
        np.signbit(F(-0.0, 0))
        F(-0.0) == F(0)
        np.unique(F(0, 0))
        np.sort(F(1, -0.0, 0, -1))
        np.argmax(F(-0.0, 0))
        np.equal(F(0), -0.0)
        np.power(F(-0.0, -0.0, -0.0), F(3, 2, -3))
        np.reciprocal(F(-0.0, 0))
        np.square(F(-0.0))
        np.clip(F(-0.0), -1, 1)
        np.array_equal(F(0), F(-0.0))
        np.cumsum(F(-0.0, -0.0))
        np.concatenate([F(-0.0), F(0)])
        F(-0.0, 1).astype(np.int32)
        np.where(F(0, 1), F(-0.0, 0), F(-0.0, 0))
    """,
    "integer overflow": """
        I(2147483647) + 1
        I(-2147483648) - 1
        I(2147483647) * I(2147483647)
        -I(-2147483648)
        abs(I(-2147483648))
        I(-2147483648) // I(-1)
        I(-2147483648) % I(-1)
        np.square(I(46341))
        np.power(I(3, -3, 2), I(40, 41, 31))
        I(7) ** 20
        U(0) - U(1)
        -U(1)
        U(4294967295) * U(4294967295)
        np.sum(I(2147483647, 1), dtype=np.int32)
        np.prod(I(65536, 65536), dtype=np.int32)
        np.cumsum(I(2147483647, 1, 1), dtype=np.int32)
        np.dot(U(65536, 65536), U(65536, 65536))
        np.diff(U(1, 0))
        np.sum(np.asarray([200, 100], dtype=np.uint8), dtype=np.uint8)
        np.asarray([127], dtype=np.int8) + np.asarray([1], dtype=np.int8)
        np.asarray([-128], dtype=np.int8) // np.asarray([-1], dtype=np.int8)
        I(300, -1).astype(np.uint8)
        I(-1).astype(np.uint32)
        U(4294967295).astype(np.int32)
        np.asarray([2**62, -2**63], dtype=np.int64) * 2
        np.gcd(I(-2147483648), I(0))
        np.lcm(I(65536), I(65537))
        I(1) + 2**31
        I(1) * -2**31 - 1
        U(1) + -1
        np.asarray([1], dtype=np.uint8) + 256
        np.asarray([True]) + 2**70
        I(1) == 2**40
        U(1) > -1
        np.full(2, 300, dtype=np.uint8)
        np.asarray([2**40], dtype=np.int32)
        np.asarray([-1], dtype=np.uint32)
    """,
    "division by zero": """
        I(1, -1, 0) // I(0, 0, 0)
        I(1, -1, 0) % I(0, 0, 0)
        np.fmod(I(1, -1), I(0, 0))
        U(1) // U(0)
        np.divmod(I(1, -1), I(0, 0))
        I(1, -1, 0) / I(0, 0, 0)
        np.asarray([1], dtype=np.int64) // np.asarray([0], dtype=np.int64)
        np.asarray([1], dtype=np.int8) % np.asarray([0], dtype=np.int8)
        np.gcd(I(0), I(0))
        np.lcm(I(0), I(5))
        I(7, -7, 7, -7) // I(2, 2, -2, -2)
        I(7, -7, 7, -7) % I(2, 2, -2, -2)
        F(7, -7, 7, -7) // F(2, 2, -2, -2)
        F(7, -7, 7, -7) % F(2, 2, -2, -2)
        np.fmod(F(7, -7, 7, -7), F(2, 2, -2, -2))
        I(2) ** -1
        I(2) ** -2
    """,
    "shifts": """
        I(1, -1, 3) << I(31, 31, 31)
        I(1, -1, 3) << I(32, 33, 40)
        I(1, -1, -8) >> I(31, 31, 1)
        I(1, -1, -8) >> I(32, 33, 40)
        U(1, 4294967295) << U(32, 33)
        U(1, 4294967295) >> U(32, 31)
        np.asarray([1, -1], dtype=np.int8) << np.asarray([7, 8], dtype=np.int8)
        np.asarray([64, -64], dtype=np.int8) >> np.asarray([7, 8], dtype=np.int8)
        np.asarray([1, 255], dtype=np.uint8) << np.asarray([7, 9], dtype=np.uint8)
        np.asarray([1, -1], dtype=np.int64) << np.asarray([63, 64], dtype=np.int64)
        np.asarray([1, -1], dtype=np.int64) >> np.asarray([63, 64], dtype=np.int64)
        np.invert(I(0, -1, 2147483647))
        np.invert(U(0))
        np.bitwise_count(I(-1, -2147483648, 0))
    """,
    "ties": """
        np.argmax(I(3, 1, 3))
        np.argmin(F(1, 0, 0))
        np.argmax(np.asarray([False, False]))
        np.argsort(I(2, 1, 2, 1, 2, 1), stable=True)
        np.argsort(F(2, 1, 2, 1, 2, 1), kind="stable")
        np.argsort(F(0, -0.0, 0, -0.0), stable=True)
        np.lexsort((I(1, 1, 0, 0), I(2, 2, 2, 2)))
        np.round(F(0.5, 1.5, 2.5, -0.5, -1.5, -2.5))
        np.rint(F(0.5, 1.5, 2.5, 8388607.5))
        np.round(F(25, 35, -25), -1)
        np.round(I(5, 15, 25, -5), -1)
        np.searchsorted(I(1, 2, 2, 3), I(2, 2), side="left")
        np.searchsorted(I(1, 2, 2, 3), I(2, 2), side="right")
        np.unique(I(3, 1, 3, 1), return_index=True)
        np.unique(I(3, 1, 3, 1), return_inverse=True)
        np.digitize(F(1, 2, 3), F(1, 2, 3))
        np.digitize(F(1, 2, 3), F(1, 2, 3), right=True)
        np.histogram(F(0, 1, 2, 3), bins=3)
        np.median(I(1, 2, 3, 4))
        np.percentile(F(1, 2, 3, 4), 50, method="nearest")
        np.heaviside(F(0, -0.0), 0.5)
    """,
    "no elements": """
        np.sum(E(0, 3), axis=0)
        np.prod(E(0, 3), axis=0)
        np.max(E(0, 3), axis=0)
        np.min(E(0, 3), axis=1)
        np.max(E(0))
        np.argmax(E(0, 3), axis=0)
        np.argmin(E(3, 0), axis=1)
        np.argmin(E(0, 3), axis=1)
        np.argmin(E(0))
        np.ptp(E(0, 3), axis=0)
        np.ptp(E(0, 3), axis=1)
        np.ptp(E(0))
        np.mean(E(0))
        np.var(E(0, 2), axis=0)
        np.std(E(0))
        np.any(E(0))
        np.all(E(0))
        np.median(E(0))
        np.cumsum(E(0))
        np.cumprod(E(2, 0), axis=1)
        np.sort(E(0))
        np.argsort(E(0, 2), axis=0)
        np.unique(E(0))
        np.nonzero(E(0, 2))
        np.count_nonzero(E(0))
        np.concatenate([E(0), F(1, 2)])
        np.stack([E(0), E(0)])
        np.concatenate([])
        np.stack([])
        np.split(E(0), 2)
        np.matmul(E(2, 0), E(0, 3))
        np.dot(E(0), E(0))
        np.einsum("ij,jk->ik", E(2, 0), E(0, 3))
        np.tensordot(E(2, 0), E(0, 3), axes=1)
        np.outer(E(0), F(1, 2))
        np.kron(E(0), F(1, 2))
        np.histogram(E(0), bins=2)
        np.bincount(I())
        np.bincount(I(), minlength=3)
        np.searchsorted(E(0), F(1))
        np.searchsorted(F(1), E(0))
        np.diff(E(0))
        np.diff(F(1), n=3)
        np.trapezoid(E(0))
        np.pad(E(0), 1)
        np.pad(E(0), 1, mode="edge")
        np.roll(E(0), 3)
        np.flip(E(0, 2))
        np.tile(E(0), 3)
        np.repeat(E(0), 3)
        np.repeat(F(1, 2), 0)
        np.reshape(E(0, 3), (3, 0))
        np.reshape(E(0), -1)
        np.reshape(E(0, 3), (0, -1))
        np.squeeze(E(0, 1))
        np.take(E(0), I())
        np.take(E(0), I(0))
        np.where(np.asarray([], dtype=bool), 1, 2)
        np.average(E(0))
        np.cov(E(0))
        np.meshgrid(E(0), F(1, 2))
        np.arange(0)
        np.arange(3, 1)
        np.linspace(0, 1, 0)
        np.eye(0)
        np.diag(E(0))
        np.tril(E(0, 2))
        np.trace(E(0, 0))
        np.linalg.inv(E(0, 0))
        np.linalg.det(E(0, 0))
        np.linalg.norm(E(0))
        np.linalg.solve(E(0, 0), E(0, 2))
        np.fft.fft(E(0))
        np.interp(E(0), F(1), F(2))
        np.interp(F(1), E(0), E(0))
        np.convolve(E(0), F(1))
        np.array_split(E(0), 3)
        np.add.reduce(E(0))
        np.maximum.reduce(E(0))
        np.isin(E(0), F(1))
        np.isin(F(1), E(0))
        np.intersect1d(E(0), F(1))
        np.nanmax(E(0))
        np.nanmean(E(0))
        np.broadcast_to(E(0), (3, 0))
        E(0, 3) + E(0, 1)
        E(0) + E(3)
        E(0)[0]
        E(0, 3)[:, 1]
        E(0, 3)[0]
    """,
    "no axes": """
        np.sum(Z(3))
        np.sum(Z(3), axis=())
        np.sum(F(1, 2), axis=())
        np.argmax(Z(3))
        np.sort(Z(3))
        np.sort(Z(3), axis=None)
        np.argsort(Z(3), axis=None)
        np.cumsum(Z(3))
        np.nonzero(Z(3))
        np.count_nonzero(Z(3))
        np.unique(Z(3))
        np.flip(Z(3))
        np.ravel(Z(3))
        np.reshape(Z(3), (1, 1))
        np.transpose(Z(3))
        np.squeeze(Z(3))
        np.expand_dims(Z(3), 0)
        np.expand_dims(Z(3), 2)
        np.concatenate([Z(3), Z(4)])
        np.stack([Z(3), Z(4)])
        np.matmul(Z(3), F(1, 2))
        np.dot(Z(3), F(1, 2))
        np.outer(Z(3), Z(2))
        np.diag(Z(3))
        np.median(Z(3))
        np.mean(Z(3))
        np.roll(Z(3), 1)
        np.repeat(Z(3), 2)
        np.tile(Z(3), 2)
        np.take(Z(3), 0)
        np.where(Z(3), 1, 2)
        np.atleast_1d(Z(3))
        np.broadcast_to(Z(3), (2,))
        np.isin(Z(3), F(3))
        np.searchsorted(F(1, 5), Z(3))
        np.partition(Z(3), 0)
        np.diff(Z(3))
        np.einsum("->", Z(3))
        np.tensordot(Z(3), Z(2), axes=0)
        Z(3)[()]
        Z(3)[...]
        Z(3)[None]
        Z(3)[0]
        len(Z(3))
        list(Z(3))
    """,
    "huge and tiny": """
        F(3e38) + F(3e38)
        F(3e38) * 10
        F(1e-30) * F(1e30)
        F(3e38) - F(-3e38)
        F(1e30) / F(1e-30)
        F(1e30) // F(1e-5)
        F(1e30) % F(7)
        F(1e10, -1e10) % F(3)
        np.exp(F(88.8, -200))
        np.exp2(F(127, 128, -200))
        np.expm1(F(1e-20, -1e-20, -100))
        np.log1p(F(1e-20, -1e-20))
        np.tanh(F(1e-20, 20, -20, 1e30))
        np.sinh(F(1e-20, 100, -100))
        np.cosh(F(1e-20, 100, -100))
        np.arctan(F(1e-20, 1e30))
        np.hypot(F(1e-30), F(0))
        np.sqrt(F(3.4028235e38, 1.1754944e-38))
        np.power(F(10, 10, 0.5), F(39, -46, 200))
        np.floor(F(1e30, -1e30, 16777217, 0.99999994))
        np.round(F(1e30, 2147483648, 4194304.5))
        np.linspace(-3e38, 3e38, 3)
        np.isfinite(F(3.4028235e38))
        np.max(F(-3.4028235e38, -inf))
        F(1.1754944e-38) > 0
        F(1e-40) > 0
        F(1e-40) == 0
        F(1e-40, -1e-40) < F(2e-40, 0)
        np.sort(F(2e-40, 0, -1e-40, 1e-40))
        np.argmax(F(0, 1e-40))
        np.max(F(0, 1e-40))
        np.nonzero(F(0, 1e-40))
        np.unique(F(1e-40, 1e-40, 2e-40))
        np.isnan(F(1e-40))
        np.signbit(F(-1e-40))
        np.copysign(F(1e-40), -1)
        F(1e-40, -1e-40).astype(np.int32)
    """,
    "2**24 and 2**31": """
        F(16777216) + 1
        F(16777215) + 1
        I(16777217).astype(np.float32)
        I(16777217, 16777219, -16777217).astype(np.float32)
        I(2147483647).astype(np.float32)
        U(4294967295).astype(np.float32)
        np.asarray([2**53 + 1], dtype=np.int64).astype(np.float32)
        I(16777217) == 16777216.0
        I(16777217) > 16777216.0
        I(2147483647) < 2147483648.0
        U(4294967295) < 4294967296.0
        I(16777217) + 1
        I(16777217) * 1
        I(16777217) // 1
        I(16777217) % 16777216
        np.arange(16777215, 16777219)
        np.arange(2**31 - 3, 2**31 - 1)
        np.arange(-(2**31), -(2**31) + 3)
        np.sum(I(16777217, 16777217))
        np.max(I(16777216, 16777217))
        np.argmax(I(16777216, 16777217))
        np.sort(I(16777217, 16777216, 16777218))
        np.sort(U(2147483648, 2147483647, 0))
        np.sort(I(-2147483648, 2147483647, 0))
        np.unique(I(16777217, 16777216))
        np.cumsum(I(16777216, 1, 1))
        np.isin(I(16777217), I(16777216))
        np.searchsorted(I(16777216, 16777218), I(16777217))
        np.clip(I(16777217), 16777216, 16777218)
        np.maximum(U(2147483648), U(2147483647))
        U(2147483648) > U(2147483647)
        U(3000000000) // U(7)
        U(3000000000) % U(7)
        np.sign(I(-2147483648, 2147483647))
        F(2147483520, -2147483648).astype(np.int32)
        F(4294967040).astype(np.uint32)
        np.matmul(I([16777217]), I([1]))
        np.dot(I(16777217, 1), I(1, 1))
        np.diff(I(-1, 2147483646))
        np.bitwise_xor(U(4294967295), U(2147483648))
        np.linspace(0, 16777216, 3)
        np.prod(I(16777217, 3))
        np.where(np.asarray([True]), I(16777217), 0)
        np.repeat(I(16777217), 2)
    """,
}
RULES = """
    np.relu(F(-0.0, 0, -1, nan)) -> F(0, 0, 0, nan)
    np.reciprocal(I(1, -1, 0, 3)) -> I(1, -1, 0, 0)
    I(1, -1) << I(-1, -1) -> I(0, 0)
    I(1, -1) >> I(-1, -1) -> I(0, -1)
    F(nan, inf, -inf).astype(np.int32) -> np.full(3, -(2**31))
    np.asarray([True]) == 2**70 -> np.asarray([False])
    np.asarray([True]) > -(2**70) -> np.asarray([True])
    I(2147483647) == F(2147483648) -> np.asarray([True])
    np.frexp(F(inf, -inf, nan))[1] -> I(0, 0, 0)
"""
"""Expressions for which NumPy raises, depends on the processor, or uses 64 bits.

Each is compared, bit for bit, with the expression after the arrow.
"""


def names_of(module: Any) -> dict[str, Any]:
    """Return the names that expressions may use."""

    def maker(dtype: str) -> Any:
        return lambda *numbers: module.asarray(list(numbers), dtype=getattr(module, dtype))

    return {
        "np": module,
        "F": maker("float32"),
        "I": maker("int32"),
        "U": maker("uint32"),
        "E": lambda *shape: module.zeros(shape, dtype=module.float32),
        "Z": lambda number: module.asarray(number, dtype=module.float32),
        "inf": float("inf"),
        "nan": float("nan"),
    }


def evaluated(expression: str, names: dict[str, Any]) -> Any:
    """Return the result, as read; or the error."""
    try:
        return _read(eval(expression, names))
    except CATEGORIES as error:
        return error


def _read(found: Any) -> Any:
    if isinstance(found, pt.Tensor):
        return found.numpy()
    return [_read(x) for x in found] if isinstance(found, list | tuple) else found


def difference(got: Any, expected: Any) -> str:
    """Return the difference; "" if there is none."""
    if isinstance(got, Exception) or isinstance(expected, Exception):
        wanted = [c for c in CATEGORIES if isinstance(expected, c)]
        alike = isinstance(expected, Exception) and all(isinstance(got, c) for c in wanted)
        return "" if alike else f"{got!r}, not {expected!r}"
    if isinstance(expected, list):
        alike = isinstance(got, list) and len(got) == len(expected)
        parts = map(difference, got, expected) if alike else [f"{got!r}, not {expected!r}"]
        return "; ".join(filter(None, parts))
    got, expected = np.asarray(got), np.asarray(expected)
    dtype = NARROW.get(expected.dtype.name, expected.dtype.name)
    if got.shape != expected.shape or NARROW.get(got.dtype.name, got.dtype.name) != dtype:
        return f"{got!r}, not {expected!r}"
    is_float = dtype == "float32"
    is_right = ulps_off(got, expected, dtype) <= ULP if is_float else got == expected
    return "" if np.all(is_right) else f"{got!r}, not {expected!r}"


@pytest.mark.computes
@pytest.mark.parametrize("group", TABLE)
def test_against_numpy(group: str, device: str) -> None:
    numpys, ours = names_of(np), names_of(pt)
    wrong: list[str] = []
    for line in filter(None, map(str.strip, TABLE[group].splitlines())):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected, got = evaluated(line, numpys), evaluated(line, ours)
        found = difference(got, expected)
        if found:
            wrong.append(f"{line} is {found}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.computes
def test_our_rules(device: str) -> None:
    for line in RULES.strip().splitlines():
        got, expected = (eval(text.strip(), names_of(pt)) for text in line.split("->"))
        same(got, expected.numpy(), line)


SUBNORMAL = (
    "x + x",
    "x - y",
    "x * 0.5",
    "x / 2",
    "np.sqrt(x)",
    "np.ceil(x)",
    "np.floor(-x)",
    "1 / y",
)


@pytest.mark.computes
def test_subnormals(device: str) -> None:
    """Arithmetic keeps them or flushes them to 0, as stated for the device."""
    is_kept = pt.device_info(device)["subnormals"] == "kept"
    answers = {"x": [1e-40, 1e-38], "y": [-3e-41, 1.2e-38]}
    for text in SUBNORMAL:
        given = [names_of(np) | {n: np.array(v, np.float32) for n, v in answers.items()}]
        given.append(
            given[0] | {"x": np.zeros(2, np.float32), "y": np.array([-0.0, 1.2e-38], np.float32)}
        )
        ours = names_of(pt) | {n: pt.tensor(v, device=device) for n, v in answers.items()}
        with np.errstate(all="ignore"):
            expected = [eval(text, names) for names in given[: 1 if is_kept else 2]]
        off = [
            ulps_off(eval(text, ours).numpy(), e, "float32", zero_sign=is_kept) for e in expected
        ]
        assert np.min(off, axis=0).max() <= ULP, f"{text} is {eval(text, ours)}, not {expected}"
        if is_kept:
            assert np.array_equal(eval(text, ours).numpy() == 0, expected[0] == 0), text


def test_numbers_in_place_of_nan_may_be_an_array(device: str) -> None:
    array = np.array([[0, np.nan, 2], [np.inf, -np.inf, np.nan]], np.float32)
    row = np.array([7, 8, 9], np.float32)
    x, y = pt.tensor(array, device=device), pt.tensor(row, device=device)
    for name in ("nan", "posinf", "neginf"):
        of_row, of_rows = cast("Any", {name: row}), cast("Any", {name: x})
        expected = np.nan_to_num(array, **of_row)
        np.testing.assert_array_equal(pt.nan_to_num(x, **of_row).numpy(), expected, strict=True)
        np.testing.assert_array_equal(
            pt.nan_to_num(x, **cast("Any", {name: y})).numpy(), expected, strict=True
        )
        with pytest.raises(pt.ShapeError, match=r"^nan_to_num: .*\(2, 3\).*\(3,\)"):
            pt.nan_to_num(y, **of_rows)


@pytest.mark.computes
def test_edges_of_digitize_that_are_nan(device: str) -> None:
    """NaN is the largest value: the last of increasing edges, the first of decreasing ones."""
    nan = float("nan")
    array = np.array([0, 1, 2, 3, 8, 9, np.inf, nan], np.float32)
    x = pt.tensor(array, device=device)
    for edges in ([1.0, 3, 5, 8, nan], [1.0, 3, nan, nan], [nan, 8.0, 5, 1], [nan, nan, 5, 1]):
        bins = np.array(edges, np.float32)
        for right in (False, True):
            expected = np.digitize(array, bins, right).astype(np.int32)
            got = pt.digitize(x, pt.tensor(bins, device=device), right)
            np.testing.assert_array_equal(got.numpy(), expected, err_msg=f"{edges}, {right}")
