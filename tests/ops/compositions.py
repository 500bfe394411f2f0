"""Calls of the functions composed of other ops, with NumPy or the library as `np`.

Each takes the module and an operand of shape (3, 4), and uses only the function under whose name it
is listed. `test_compositions.py` compares the results, `test_views.py` compares which of them are
views, and `test_numpy_functions.py` calls NumPy's own functions on tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as numpy

Call = Callable[[Any, Any], Any]

EDGES = [-1.0, 0.25, 0.5, 1.5, 3.0]
NAN = float("nan")


def _along(name: str, *more: Call) -> list[Call]:
    """Return calls of a function of one operand along each axis, and the given calls."""
    given: list[dict[str, Any]] = [{}, {"axis": 0}, {"axis": -1}]
    return [*(lambda np, a, o=o: getattr(np, name)(a, **o) for o in given), *more]


def _folds(name: str, *more: Call) -> list[Call]:
    """Return calls of a reduction."""
    return _along(name, lambda np, a: getattr(np, name)(a, axis=1, keepdims=True), *more)


def _quantiles(name: str, *shares: Any) -> list[Call]:
    single, several = shares
    methods = ("linear", "lower", "higher", "nearest", "midpoint", "weibull", "hazen")
    more = ("median_unbiased", "normal_unbiased", "interpolated_inverted_cdf")
    return [
        lambda np, a: getattr(np, name)(a, single),
        lambda np, a: getattr(np, name)(a, several, axis=1),
        lambda np, a: getattr(np, name)(a, several, axis=(0, 1)),
        lambda np, a: getattr(np, name)(a, single, axis=0, keepdims=True),
        lambda np, a: getattr(np, name)(a, [[0, single], several], axis=0),
        *(lambda np, a, m=m: getattr(np, name)(a, single, method=m) for m in (*methods, *more)),
    ]


JOINED: dict[str, list[Call]] = {
    "append": [
        lambda np, a: np.append(a, a),
        lambda np, a: np.append(a, a[:1], axis=0),
        lambda np, a: np.append(a[0], 7),
    ],
    "atleast_1d": [lambda np, a: np.atleast_1d(a), lambda np, a: np.atleast_1d(a[0, 0], a[0])],
    "atleast_2d": [lambda np, a: np.atleast_2d(a), lambda np, a: np.atleast_2d(a[0])],
    "atleast_3d": [lambda np, a: np.atleast_3d(a), lambda np, a: np.atleast_3d(a[0])],
    "block": [
        lambda np, a: np.block([[a, a], [a[:1], a[:1]]]),
        lambda np, a: np.block([a[0], a[1]]),
        lambda np, a: np.block([[a[0]], [a[1]]]),
    ],
    "broadcast_arrays": [lambda np, a: np.broadcast_arrays(a, a[0], a[:, :1])],
    "column_stack": [
        lambda np, a: np.column_stack((a[0], a[1])),
        lambda np, a: np.column_stack((a, a[:, 0])),
    ],
    "delete": [
        lambda np, a: np.delete(a, 1, axis=0),
        lambda np, a: np.delete(a, [0, -1, 0], axis=1),
        lambda np, a: np.delete(a, slice(None, None, 2), 1),
        lambda np, a: np.delete(a, [1, 3]),
        lambda np, a: np.delete(a, [*range(1, 11), 1]),
        lambda np, a: np.delete(a, slice(2, 0, -1), 1),
        lambda np, a: np.delete(a, slice(3, 1), 1),
        lambda np, a: np.delete(a, slice(None), 0),
        lambda np, a: np.delete(a, [True, False, True, False], 1),
        lambda np, a: np.delete(a, [], 0),
    ],
    "dsplit": [lambda np, a: np.dsplit(a.reshape(3, 2, 2), 2)],
    "dstack": [
        lambda np, a: np.dstack((a, a)),
        lambda np, a: np.dstack((a[0], a[1], a[2])),
    ],
    "fliplr": [lambda np, a: np.fliplr(a)],
    "flipud": [lambda np, a: np.flipud(a), lambda np, a: np.flipud(a[0])],
    "hsplit": [lambda np, a: np.hsplit(a, 2), lambda np, a: np.hsplit(a[0], [1, 3])],
    "insert": [
        lambda np, a: np.insert(a, 1, 7, axis=0),
        lambda np, a: np.insert(a, 1, a[0], axis=0),
        lambda np, a: np.insert(a, -1, a[:, 0], axis=1),
        lambda np, a: np.insert(a, 0, [1, 2, 3]),
        lambda np, a: np.insert(a, [1], a[:, :2], axis=1),
        lambda np, a: np.insert(a, [0, 2, 2], a[:, :3], axis=1),
        lambda np, a: np.insert(a, [3, 0], [5, 6]),
        lambda np, a: np.insert(a[0], 2, a[1]),
        lambda np, a: np.insert(a[0], slice(1, 3), 9),
        lambda np, a: np.insert(a, 4, 1, axis=1),
    ],
    "resize": [
        lambda np, a: np.resize(a, (5, 5)),
        lambda np, a: np.resize(a, 3),
        lambda np, a: np.resize(a[:0], (2, 2)),
    ],
    "rollaxis": [lambda np, a: np.rollaxis(a, 1), lambda np, a: np.rollaxis(a, 0, 2)],
    "rot90": [lambda np, a, k=k: np.rot90(a, k) for k in range(-1, 4)]
    + [lambda np, a: np.rot90(a, 1, (1, 0))],
    "unstack": [lambda np, a: np.unstack(a), lambda np, a: np.unstack(a, axis=-1)],
    "permute_dims": [lambda np, a: np.permute_dims(a), lambda np, a: np.permute_dims(a, (1, 0))],
    "vsplit": [lambda np, a: np.vsplit(a, 3), lambda np, a: np.vsplit(a, [1])],
}

PRODUCTS: dict[str, list[Call]] = {
    "convolve": [
        lambda np, a, m=m: np.convolve(a.reshape(-1), a[0], m) for m in ("full", "same", "valid")
    ]
    + [lambda np, a: np.convolve(a[0, :3], a.reshape(-1), "same")],
    "correlate": [
        lambda np, a, m=m: np.correlate(a.reshape(-1), a[0], m) for m in ("full", "same", "valid")
    ]
    + [lambda np, a, m=m: np.correlate(a[0], a.reshape(-1), m) for m in ("full", "same", "valid")]
    + [lambda np, a: np.correlate(a[0, :3], a.reshape(-1), "same")],
    "cross": [
        lambda np, a: np.cross(a[:, :3], a[:, 1:]),
        lambda np, a: np.cross(a.T[:2], a.T[1:3], axisa=0, axisb=0, axisc=0),
        lambda np, a: np.cross(a[:, :3], a[0, :3]),
        lambda np, a: np.cross(a, a[::-1], axis=0),
    ],
    "einsum": [
        lambda np, a: np.einsum("ij,kj->ik", a, a),
        lambda np, a: np.einsum("ij->ji", a),
        lambda np, a: np.einsum("ij", a),
        lambda np, a: np.einsum("ij->", a),
        lambda np, a: np.einsum("ij->j", a),
        lambda np, a: np.einsum("ii->i", a.reshape(-1)[:4].reshape(2, 2)),
        lambda np, a: np.einsum("ii", a.reshape(-1)[:4].reshape(2, 2)),
        lambda np, a: np.einsum("ij,ij->i", a, a),
        lambda np, a: np.einsum("i,j->ij", a[0], a[1]),
        lambda np, a: np.einsum("i,i", a[0], a[1]),
        lambda np, a: np.einsum("ij,j", a, a[0]),
        lambda np, a: np.einsum("ij,jk,kl->il", a, a.T, a),
        lambda np, a: np.einsum("ij,jk,kl->il", a, a.T, a, optimize=True),
        lambda np, a: np.einsum("...j,j->...", a, a[0]),
        lambda np, a: np.einsum("...ij,...jk", a.reshape(3, 2, 2), a.reshape(3, 2, 2)),
        lambda np, a: np.einsum("bij,bjk->bik", a.reshape(3, 2, 2), a.reshape(3, 2, 2)),
        lambda np, a: np.einsum(a, [0, 1], a, [2, 1], [0, 2]),
        lambda np, a: np.einsum("ij,ik->ijk", a, a),
        lambda np, a: np.einsum("ij,i->", a, a[:, 0]),
    ],
    "inner": [
        lambda np, a: np.inner(a, a),
        lambda np, a: np.inner(a[0], a[1]),
        lambda np, a: np.inner(a, a[0]),
        lambda np, a: np.inner(a, 2),
    ],
    "kron": [
        lambda np, a: np.kron(a, a[:2, :2]),
        lambda np, a: np.kron(a[0], a),
        lambda np, a: np.kron(a[0], a[1]),
    ],
    "tensordot": [
        lambda np, a: np.tensordot(a, a),
        lambda np, a: np.tensordot(a, a, axes=0),
        lambda np, a: np.tensordot(a, a.T, axes=1),
        lambda np, a: np.tensordot(a, a, axes=([0], [0])),
        lambda np, a: np.tensordot(a, a, axes=((1, 0), (1, 0))),
        lambda np, a: np.tensordot(a.reshape(3, 2, 2), a.reshape(2, 2, 3), axes=([1, 2], [0, 1])),
    ],
    "matvec": [lambda np, a: np.matvec(a, a[0])],
    "vecdot": [
        lambda np, a: np.vecdot(a, a[0]),
        lambda np, a: np.vecdot(a, a[::-1], axis=0),
    ],
    "vecmat": [lambda np, a: np.vecmat(a[:, 0], a)],
    "vdot": [lambda np, a: np.vdot(a, a), lambda np, a: np.vdot(a[0], a[1])],
}

DIFFERENCES: dict[str, list[Call]] = {
    "diff": _along(
        "diff",
        lambda np, a: np.diff(a, 2),
        lambda np, a: np.diff(a, n=0),
        lambda np, a: np.diff(a, n=9),
        lambda np, a: np.diff(a, prepend=0, append=a[:, :1]),
    ),
    "ediff1d": [
        lambda np, a: np.ediff1d(a),
        lambda np, a: np.ediff1d(a, to_end=a[0, :1], to_begin=a[1, :2]),
    ],
    "gradient": _along(
        "gradient",
        lambda np, a: np.gradient(a, 0.5),
        lambda np, a: np.gradient(a, 0.5, 2),
        lambda np, a: np.gradient(a, 2.0, axis=(1, 0)),
        lambda np, a: np.gradient(a, edge_order=2),
        lambda np, a: np.gradient(a, [0.0, 1.0, 3.0, 3.5], axis=1),
        lambda np, a: np.gradient(a, [0.0, 1.0, 3.0, 3.5], axis=1, edge_order=2),
        lambda np, a: np.gradient(a, [0.0, 1.5, 2.0], axis=0, edge_order=2),
    ),
    "polyval": [
        lambda np, a: np.polyval([2, 0.5, -1], a),
        lambda np, a: np.polyval(a[0], a),
        lambda np, a: np.polyval([], a),
    ],
    "trapezoid": _along(
        "trapezoid",
        lambda np, a: np.trapezoid(a, dx=0.5),
        lambda np, a: np.trapezoid(a, a[0]),
        lambda np, a: np.trapezoid(a, x=a, axis=0),
    ),
}

SEARCHED: dict[str, list[Call]] = {
    "argpartition": [
        lambda np, a: a.reshape(-1)[np.argpartition(a, 5, None)[5:6]],
        lambda np, a: a[0][np.argpartition(a[0], -1)[-1:]],
    ],
    "digitize": [
        lambda np, a: np.digitize(a, EDGES),
        lambda np, a: np.digitize(a, EDGES, right=True),
        lambda np, a: np.digitize(a, EDGES[::-1]),
        lambda np, a: np.digitize(a, EDGES[::-1], right=True),
        lambda np, a: np.digitize(a, [0.5]),
    ],
    "interp": [
        lambda np, a: np.interp(a, EDGES, [1.0, 2.0, -1.0, 0.5, 7.0]),
        lambda np, a: np.interp(a, EDGES, [1.0, 2.0, -1.0, 0.5, 7.0], left=-5, right=9),
        lambda np, a: np.interp(a, [0.5], [3.0]),
        lambda np, a: np.interp(numpy.array([-3, 0, 2.5, 8]), [2.0, 1.0, 0.5], a[:, 0], period=4),
    ],
    "isin": [
        lambda np, a: np.isin(a, a[1]),
        lambda np, a: np.isin(a, [1, 2], invert=True),
        lambda np, a: np.isin(a, []),
    ],
    "lexsort": [
        lambda np, a: np.lexsort((a[0], a[1])),
        lambda np, a: np.lexsort((a > 1.5, a)),
        lambda np, a: np.lexsort((a, a > 1.5), axis=0),
    ],
    "partition": [
        lambda np, a: np.partition(a, 1)[:, 1],
        lambda np, a: np.partition(a, 5, None)[5],
    ],
    "searchsorted": [
        lambda np, a: np.searchsorted(EDGES, a),
        lambda np, a: np.searchsorted(EDGES, a, side="right"),
        lambda np, a: np.searchsorted(EDGES[::-1], a, sorter=[4, 3, 2, 1, 0]),
        lambda np, a: np.searchsorted([], a),
        lambda np, a: np.searchsorted([1.0, NAN, NAN], a),
        lambda np, a: np.searchsorted([1.0, NAN, NAN], a, "right"),
    ],
}

SETS: dict[str, list[Call]] = {
    "intersect1d": [
        lambda np, a: np.intersect1d(a[:2], a[1:]),
        lambda np, a: np.intersect1d(a, [1, 2]),
        lambda np, a: np.intersect1d(a[:2], a[1:], return_indices=True),
        lambda np, a: np.intersect1d(a[:2], a[1:], assume_unique=True),
        lambda np, a: np.intersect1d(a[:2], a[1:], True, return_indices=True),
    ],
    "setdiff1d": [
        lambda np, a: np.setdiff1d(a, a[1]),
        lambda np, a: np.setdiff1d(a, [1.0]),
    ],
    "setxor1d": [
        lambda np, a: np.setxor1d(a[:2], a[1:]),
        lambda np, a: np.setxor1d(a[:2], a[1:], assume_unique=True),
        lambda np, a: np.setxor1d(a[[0, 0, 1]], a[1:], assume_unique=True),
    ],
    "union1d": [lambda np, a: np.union1d(a[0], a[1]), lambda np, a: np.union1d(a[0], [1, 2])],
    "unique_all": [lambda np, a: tuple(np.unique_all(a))],
    "unique_counts": [lambda np, a: tuple(np.unique_counts(a))],
    "unique_inverse": [lambda np, a: tuple(np.unique_inverse(a))],
    "unique_values": [lambda np, a: np.unique_values(a[:1, :1])],  # NumPy does not define the order
    "unique": [
        lambda np, a: np.unique(a),
        lambda np, a: np.unique(a[:0]),
        lambda np, a: np.unique(a, return_counts=True),
        lambda np, a: np.unique(a, return_index=True, return_inverse=True),
        lambda np, a: np.unique(a, axis=0),
        lambda np, a: np.unique(a[[0, 1, 0]], axis=0, return_index=True, return_counts=True),
        lambda np, a: np.unique(a, axis=1, return_index=True),
        lambda np, a: np.unique(a, equal_nan=False),
    ],
}

STATISTICS: dict[str, list[Call]] = {
    "average": _along(
        "average",
        lambda np, a: np.average(a, axis=1, weights=[1, 2, 3, 4]),
        lambda np, a: np.average(a, weights=a * a + 1),
        lambda np, a: np.average(a, axis=0, weights=[0.5, 0.25, 1], returned=True, keepdims=True),
        lambda np, a: np.average(a, 1, returned=True),
    ),
    "corrcoef": [
        lambda np, a: np.corrcoef(a),
        lambda np, a: np.corrcoef(a[0], a[1]),
        lambda np, a: np.corrcoef(a, rowvar=False),
    ],
    "cov": [
        lambda np, a: np.cov(a),
        lambda np, a: np.cov(a[0]),
        lambda np, a: np.cov(a[0], a[1]),
        lambda np, a: np.cov(a, rowvar=False, bias=True),
        lambda np, a: np.cov(a, ddof=0, fweights=[1, 2, 0, 3]),
        lambda np, a: np.cov(a, aweights=[0.5, 1, 2, 0.25]),
    ],
    "histogram": [
        # An odd number: otherwise, for one element, the centre of the bins is an edge, up to
        # rounding.
        lambda np, a: np.histogram(a, 7),
        lambda np, a: np.histogram(a, bins=4, range=(0, 2)),
        lambda np, a: np.histogram(a, EDGES),
        lambda np, a: np.histogram(a, [-1, 0, 1, 2, 3]),
        lambda np, a: np.histogram(a, 3, density=True),
        lambda np, a: np.histogram(a, 3, weights=a * 2),
        lambda np, a: np.histogram(a[:0], 3),
        lambda np, a: np.histogram(a[0] * 0 + 2, 3),
    ],
    "histogram2d": [
        lambda np, a: np.histogram2d(a[0], a[1], bins=3),
        lambda np, a: np.histogram2d(a[0], a[1], bins=(2, EDGES)),
        lambda np, a: np.histogram2d(a[0], a[1], 2, range=[[0, 2], [1, 3]], density=True),
        lambda np, a: np.histogram2d(a[0], a[1], 2, weights=a[2]),
    ],
    "histogram_bin_edges": [
        lambda np, a: np.histogram_bin_edges(a),
        lambda np, a: np.histogram_bin_edges(a, 4),
    ],
    "median": _folds("median", lambda np, a: np.median(a, (0, 1))),
    "nanargmax": _along("nanargmax"),
    "nanargmin": _along("nanargmin"),
    "nancumprod": _along("nancumprod"),
    "nancumsum": _along("nancumsum"),
    "nanmax": _folds("nanmax"),
    "nanmean": _folds("nanmean"),
    "nanmedian": _folds("nanmedian"),
    "nanmin": _folds("nanmin"),
    "nanpercentile": _quantiles("nanpercentile", 40, [10, 75.5])[:4],
    "nanprod": _folds("nanprod"),
    "nanquantile": _quantiles("nanquantile", 0.4, [0.1, 0.755]),
    "nanstd": _folds("nanstd", lambda np, a: np.nanstd(a, ddof=1)),
    "nansum": _folds("nansum"),
    "nanvar": _folds("nanvar", lambda np, a: np.nanvar(a, 0, ddof=1)),
    "percentile": _quantiles("percentile", 40, [10, 75.5])[:4],
    "quantile": _quantiles("quantile", 0.4, [0.1, 0.755]),
}

GRIDS: dict[str, list[Call]] = {
    "diagflat": [lambda np, a: np.diagflat(a), lambda np, a: np.diagflat(a[0], -1)],
    "ravel_multi_index": [
        lambda np, a: np.ravel_multi_index((a.astype("int32") % 3, a.astype("int32") % 2), (3, 2)),
        lambda np, a: np.ravel_multi_index((a > 1, a < 1), (3, 2)),
        lambda np, a: np.ravel_multi_index((a > 1, a > 2, True), (2, 2, 2), "wrap", "F"),
    ],
    "unravel_index": [
        lambda np, a: np.unravel_index(a.astype("int32") % 24, (2, 3, 4)),
        lambda np, a: np.unravel_index(a.astype("int32") % 24, (2, 3, 4), order="F"),
        lambda np, a: np.unravel_index(a > 1, (2, 3)),
    ],
    "vander": [
        lambda np, a: np.vander(a[0]),
        lambda np, a: np.vander(a[0], 3, increasing=True),
        lambda np, a: np.vander(a[0], 0),
    ],
    "ix_": [lambda np, a: np.ix_(a[0].astype("int32"), a[1] > 1.5)],
    "tril_indices_from": [lambda np, a: np.tril_indices_from(a, 1)],
    "triu_indices_from": [lambda np, a: np.triu_indices_from(a, -1)],
}

OTHERS: dict[str, list[Call]] = {
    "sinc": [lambda np, a: np.sinc(a), lambda np, a: np.sinc(a * 1000)],
    "apply_along_axis": [
        lambda np, a: np.apply_along_axis(lambda v: v.sum(), 1, a),
        lambda np, a: np.apply_along_axis(lambda v: v[:2] * 2, 0, a),
        lambda np, a: np.apply_along_axis(lambda v, w: v + w, 1, a, 3),
    ],
    "apply_over_axes": [
        lambda np, a: np.apply_over_axes(lambda v, axis: v.max(axis), a, (0, 1)),
        lambda np, a: np.apply_over_axes(lambda v, axis: v.max(axis), a, numpy.int64(1)),
    ],
    "choose": [
        lambda np, a: np.choose(a > 1.5, (a, 0)),
        lambda np, a: np.choose([[5], [-1], [2]], [a, a + 1, a + 2], mode="wrap"),
        lambda np, a: np.choose([[5], [-1], [2]], [a, a + 1, a + 2], mode="clip"),
    ],
    "logaddexp": [
        lambda np, a: np.logaddexp(a, a[0]),
        lambda np, a: np.logaddexp(a * 200, a[:, :1] * 100),
    ],
    "logaddexp2": [
        lambda np, a: np.logaddexp2(a, a[0]),
        lambda np, a: np.logaddexp2(a * 200, a[:, :1] * 100),
    ],
    "nan_to_num": [
        lambda np, a: np.nan_to_num(a),
        lambda np, a: np.nan_to_num(a, nan=1, posinf=2, neginf=3),
    ],
    "piecewise": [
        lambda np, a: np.piecewise(a, [a < 1, a >= 1], [lambda v: v * 2, 7]),
        lambda np, a: np.piecewise(a, [a > 1.5], [1, -1]),
        lambda np, a: np.piecewise(a, [a > 1.5], [lambda v: v + 1]),
    ],
    "select": [
        lambda np, a: np.select([a < 1, a < 1.5], [a, a * 2], 9),
        lambda np, a: np.select([a > 5], [a]),
    ],
    "angle": [lambda np, a: np.angle(a), lambda np, a: np.angle(a, deg=True)],
    "imag": [lambda np, a: np.imag(a) * 1],
    "iscomplex": [lambda np, a: np.iscomplex(a)],
    "isreal": [lambda np, a: np.isreal(a)],
    "real": [lambda np, a: np.real(a), lambda np, a: np.real(a) * 1],
}

CALLS: dict[str, list[Call]] = {
    **JOINED, **PRODUCTS, **DIFFERENCES, **SEARCHED, **SETS, **STATISTICS, **GRIDS, **OTHERS,
}  # fmt: skip

READING = {
    *SETS, "delete", "ix_", "tril_indices_from", "triu_indices_from", "polyval",
}  # fmt: skip
"""Calls that read something, and therefore wait."""
