"""SciPy, scikit-learn, einops and others, unmodified, on tensors: they return tensors.

A library's results on tensors are compared with its results on NumPy arrays.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from tests.environment import ROOT

Call = Callable[[Any, Any], Any]

compat: Any = import_module("array_api_compat")
extra: Any = import_module("array_api_extra")
einops: Any = import_module("einops")
opt_einsum: Any = import_module("opt_einsum")
fft: Any = import_module("scipy.fft")
sparse: Any = import_module("scipy.sparse")
integrate: Any = import_module("scipy.integrate")
ndimage: Any = import_module("scipy.ndimage")
signal: Any = import_module("scipy.signal")
special: Any = import_module("scipy.special")
stats: Any = import_module("scipy.stats")
scipy_linalg: Any = import_module("scipy.linalg")
sklearn: Any = import_module("sklearn")
cluster: Any = import_module("sklearn.cluster")
decomposition: Any = import_module("sklearn.decomposition")
discriminant_analysis: Any = import_module("sklearn.discriminant_analysis")
linear_model: Any = import_module("sklearn.linear_model")
metrics: Any = import_module("sklearn.metrics")
mixture: Any = import_module("sklearn.mixture")
model_selection: Any = import_module("sklearn.model_selection")
pairwise: Any = import_module("sklearn.metrics.pairwise")
preprocessing: Any = import_module("sklearn.preprocessing")

ONLY_CPU = {
    "signal.windows.hann",
    "signal.get_window",
    "signal.savgol_filter",
    "extra.cov",
    "metrics.matthews_corrcoef",
}
"""Calls that request float64 by name, which raise on a GPU."""

SCIPY: dict[str, Call] = {  # takes a matrix (30, 4) and a vector of 64
    "special.logsumexp": lambda a, b: special.logsumexp(a, axis=1),
    "special.softmax": lambda a, b: special.softmax(a, axis=1),
    "special.expit": lambda a, b: special.expit(a),
    "special.erf": lambda a, b: special.erf(a),
    "special.gammaln": lambda a, b: special.gammaln(abs(a)),
    "special.xlogy": lambda a, b: special.xlogy(abs(a), abs(a)),
    "special.entr": lambda a, b: special.entr(abs(a)),
    "special.ndtr": lambda a, b: special.ndtr(a),
    "stats.zscore": lambda a, b: stats.zscore(a),
    "stats.zmap": lambda a, b: stats.zmap(a, a),
    "stats.gmean": lambda a, b: stats.gmean(abs(a)),
    "stats.skew": lambda a, b: stats.skew(a),
    "stats.kurtosis": lambda a, b: stats.kurtosis(a),
    "stats.variation": lambda a, b: stats.variation(abs(a)),
    "stats.sem": lambda a, b: stats.sem(a),
    "stats.iqr": lambda a, b: stats.iqr(a, axis=0),
    "stats.entropy": lambda a, b: stats.entropy(abs(a)),
    "stats.rankdata": lambda a, b: stats.rankdata(b),
    "stats.ttest_1samp": lambda a, b: list(stats.ttest_1samp(a, 0.0)),
    "stats.ttest_ind": lambda a, b: stats.ttest_ind(a, a + 1).statistic,
    "stats.pearsonr": lambda a, b: stats.pearsonr(b, b * b).statistic,
    "stats.f_oneway": lambda a, b: stats.f_oneway(b, b + 1).statistic,
    "signal.convolve": lambda a, b: signal.convolve(b, b[:9]),
    "signal.fftconvolve": lambda a, b: signal.fftconvolve(b, b),
    "signal.correlate": lambda a, b: signal.correlate(b, b),
    "signal.hilbert": lambda a, b: signal.hilbert(b),
    "signal.detrend": lambda a, b: signal.detrend(b),
    "signal.resample": lambda a, b: signal.resample(b, 32),
    "signal.lfilter": lambda a, b: signal.lfilter(b[:3], b[3:6], b),
    "signal.medfilt": lambda a, b: signal.medfilt(b, 3),
    "signal.savgol_filter": lambda a, b: signal.savgol_filter(b, 5, 2),
    "ndimage.gaussian_filter": lambda a, b: ndimage.gaussian_filter(a, 1.0),
    "ndimage.convolve": lambda a, b: ndimage.convolve(a, a[:3, :3]),
    "ndimage.median_filter": lambda a, b: ndimage.median_filter(a, 3),
    "ndimage.label": lambda a, b: ndimage.label(a > 0)[0],
    "ndimage.zoom": lambda a, b: ndimage.zoom(a, 2, order=1),
    "fft.rfft": lambda a, b: fft.rfft(b),
    "fft.fft2": lambda a, b: fft.fft2(a),
    "fft.dct": lambda a, b: fft.dct(b),
    "integrate.trapezoid": lambda a, b: integrate.trapezoid(b),
}
OTHERS: dict[str, Call] = {
    "einops.rearrange": lambda a, b: einops.rearrange(b, "(a b) -> b a", a=4),
    "einops.reduce": lambda a, b: einops.reduce(a, "(h k) c -> h c", "mean", k=2),
    "einops.reduce max": lambda a, b: einops.reduce(a, "(h k) c -> k", "max", k=2),
    "einops.repeat": lambda a, b: einops.repeat(b, "a -> a k", k=3),
    "einops.einsum": lambda a, b: einops.einsum(a, a, "i j, i k -> j k"),
    "einops.pack": lambda a, b: einops.pack([a, a], "* c")[0],
    "einops.rearrange of a list": lambda a, b: einops.rearrange([a, a], "n i j -> i (n j)"),
    "opt_einsum.contract": lambda a, b: opt_einsum.contract("ij,ik,kl->jl", a, a, a[:4]),
    "opt_einsum.contract_expression": lambda a, b: opt_einsum.contract_expression(
        "ij,ik->jk", (30, 4), (30, 4)
    )(a, a),
    "extra.angle": lambda a, b: extra.angle(b + 0j),
    "extra.argpartition": lambda a, b: b[extra.argpartition(b, 5)[5]],
    "extra.atleast_nd": lambda a, b: extra.atleast_nd(b, ndim=3),
    "extra.cov": lambda a, b: extra.cov(a.T),
    "extra.create_diagonal": lambda a, b: extra.create_diagonal(b),
    "extra.isclose": lambda a, b: extra.isclose(b, b + 1e-9),
    "extra.isin": lambda a, b: extra.isin(b, b[:3]),
    "extra.kron": lambda a, b: extra.kron(a, b),
    "extra.nan_to_num": lambda a, b: extra.nan_to_num(b),
    "extra.nunique": lambda a, b: extra.nunique(b),
    "extra.pad": lambda a, b: extra.pad(b, 3),
    "extra.partition": lambda a, b: extra.partition(b, 5)[5],
    "extra.setdiff1d": lambda a, b: extra.setdiff1d(b, b[:5]),
    "extra.sinc": lambda a, b: extra.sinc(b),
    "extra.union1d": lambda a, b: extra.union1d(b, b[:5]),
    "extra.at of places": lambda a, b: extra.at(b)[3].set(1.0, copy=True),
    "extra.at of a mask": lambda a, b: extra.at(b, b > 0).add(1.0, copy=True),
    "extra.apply_where": lambda a, b: extra.apply_where(b > 0, b, lambda t: t * 2, lambda t: -t),
}
SKLEARN: dict[str, Call] = {  # takes a matrix (60, 4) and a vector that depends on it linearly
    "Ridge": lambda x, y: _fitted(linear_model.Ridge(solver="svd"), x, y),
    "LinearRegression": lambda x, y: _fitted(linear_model.LinearRegression(), x, y),
    "PCA": lambda x, y: _components(decomposition.PCA(2, svd_solver="full"), x),
    "PCA of a covariance": lambda x, y: _components(
        decomposition.PCA(2, svd_solver="covariance_eigh"), x
    ),
    "LinearDiscriminantAnalysis": lambda x, y: (
        discriminant_analysis.LinearDiscriminantAnalysis().fit(x, _classes(y)).predict(x)
    ),
    "StandardScaler": lambda x, y: preprocessing.StandardScaler().fit_transform(x),
    "MinMaxScaler": lambda x, y: preprocessing.MinMaxScaler().fit_transform(x),
    "PolynomialFeatures": lambda x, y: preprocessing.PolynomialFeatures(2).fit_transform(x),
    "train_test_split": lambda x, y: model_selection.train_test_split(x, random_state=0),
    "cross_val_predict": lambda x, y: model_selection.cross_val_predict(
        linear_model.Ridge(solver="svd"), x, y
    ),
    "metrics.confusion_matrix": lambda x, y: metrics.confusion_matrix(
        _classes(y), _classes(x[:, 0])
    ),
    "metrics.roc_curve": lambda x, y: list(metrics.roc_curve(_classes(y), x[:, 0])[:2]),
    **{
        f"pairwise.{name}": lambda x, y, name=name: getattr(pairwise, name)(abs(x), abs(x) * 2)
        for name in (
            *("euclidean_distances", "cosine_similarity", "linear_kernel", "rbf_kernel"),
            *("polynomial_kernel", "chi2_kernel", "manhattan_distances"),
        )
    },
}
NUMBERS: dict[str, Call] = {  # Python numbers
    **{
        f"metrics.{name}": lambda x, y, name=name: getattr(metrics, name)(
            _classes(y), _classes(x[:, 0])
        )
        for name in (
            *("accuracy_score", "f1_score", "precision_score", "matthews_corrcoef"),
            *("adjusted_rand_score", "v_measure_score", "mutual_info_score"),  # of clusters
        )
    },
    **{
        f"metrics.{name}": lambda x, y, name=name: getattr(metrics, name)(y, y * 1.1)
        for name in ("mean_squared_error", "mean_absolute_error", "r2_score", "max_error")
    },
    **{
        f"metrics.{name}": lambda x, y, name=name: getattr(metrics, name)(x, _classes(y))
        for name in ("calinski_harabasz_score", "davies_bouldin_score", "silhouette_score")
    },
}


def _classes(y: Any) -> Any:
    xp = compat.array_namespace(y)
    return xp.astype(y > 0, xp.int32)


def _fitted(model: Any, x: Any, y: Any) -> list[Any]:
    model.fit(x, y)
    return [model.coef_, model.predict(x)]


def _components(model: Any, x: Any) -> list[Any]:
    model.fit(x)
    return [abs(model.components_), model.explained_variance_, abs(model.transform(x))]


def compare(call: Call, arrays: tuple[Any, Any], *, rtol: float, kind: type) -> None:
    """A library's results on tensors have the expected type, and the values of those on arrays."""
    found = call(*(pt.asarray(a) for a in arrays))
    expected = call(*arrays)
    many = isinstance(found, list | tuple)
    for got, want in zip(found if many else [found], expected if many else [expected], strict=True):
        assert type(got) is kind
        values = got.numpy() if isinstance(got, pt.Tensor) else got
        np.testing.assert_allclose(values, want, rtol=rtol, atol=rtol)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("name", [*SCIPY, *OTHERS])
def test_arrays(name: str, device: str, rng: np.random.Generator) -> None:
    call = (SCIPY | OTHERS)[name]
    b = rng.standard_normal(64).astype(np.float32)
    b[3:6] = 4, 0.5, -0.25  # a stable filter
    arrays = rng.standard_normal((30, 4)).astype(np.float32), b
    if device != "cpu" and name in ONLY_CPU:
        with pytest.raises(pt.DTypeError, match="float64 is not available"):
            call(*(pt.asarray(a) for a in arrays))
        return
    compare(call, arrays, rtol=2e-4, kind=pt.Tensor)


@pytest.mark.parametrize("name", [*SKLEARN, *NUMBERS])
def test_scikit_learn(name: str, device: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal((60, 4)).astype(np.float32)
    y = (x @ [1, 2, 3, 4] + 0.1 * rng.standard_normal(60)).astype(np.float32)
    call = (SKLEARN | NUMBERS)[name]
    with sklearn.config_context(array_api_dispatch=True):
        if device != "cpu" and name in ONLY_CPU:
            with pytest.raises(pt.DTypeError, match="float64 is not available"):
                call(pt.asarray(x), pt.asarray(y))
            return
        compare(call, (x, y), rtol=2e-3, kind=pt.Tensor if name in SKLEARN else float)


@pytest.mark.parametrize("name", ["signal.windows.hann", "signal.get_window"])
def test_functions_that_create_arrays(name: str, device: str) -> None:
    """Functions of a namespace that create arrays; SciPy requests float64."""
    function, args = (
        (signal.windows.hann, (16,)) if "hann" in name else (signal.get_window, ("hamming", 16))
    )
    if device == "cpu":
        got = function(*args, xp=pt)
        assert isinstance(got, pt.Tensor)
        np.testing.assert_allclose(got.numpy(), function(*args))
        return
    with pytest.raises(pt.DTypeError, match="float64 is not available"):
        function(*args, xp=pt)


def test_the_namespace(device: str) -> None:
    x = pt.ones((2, 3))
    assert compat.array_namespace(x) is pt
    assert compat.is_array_api_obj(x)
    assert compat.is_writeable_array(x)
    assert not compat.is_lazy_array(x)
    assert compat.device(x) == x.device
    assert compat.size(x) == 6
    assert str(compat.to_device(x, "cpu").device) == "cpu"


def test_functions_that_work_on_copies(device: str) -> None:
    """SciPy's linalg accepts and returns only NumPy arrays."""
    a = np.array([[2.0, 1.0], [1.0, 3.0]], np.float32)
    got = scipy_linalg.inv(pt.asarray(a))
    assert type(got) is np.ndarray
    np.testing.assert_allclose(got, np.linalg.inv(a), rtol=1e-5)


SECTIONS = np.array([[0.2, 0.3, 0.2, 1, -0.4, 0.1]], np.float32)
WALKING: dict[str, Callable[[Any, Any], Any]] = {
    "circulant": lambda a, rows: scipy_linalg.circulant(a),
    "circulant of a slice": lambda a, rows: scipy_linalg.circulant(a[1:]),
    "hankel": lambda a, rows: scipy_linalg.hankel(a[::2], a[1::2]),
    "toeplitz": lambda a, rows: scipy_linalg.toeplitz(a, a[::-1]),
    "sosfilt": lambda a, rows: signal.sosfilt(rows[:1, :1] * 0 + SECTIONS, rows),
    "KMeans": lambda a, rows: (
        cluster.KMeans(2, random_state=0, n_init=1).fit(rows).cluster_centers_
    ),
    "windows": lambda a, rows: np.lib.stride_tricks.as_strided(rows[1:], (2, 3), (-8, 4)),
}
"""Calls that walk by strides, or need a writable array."""


@pytest.mark.filterwarnings("ignore::py_tensor.HostCopyWarning")
@pytest.mark.parametrize("name", WALKING)
def test_arrays_are_views_that_can_be_written_to(
    name: str, device: str, rng: np.random.Generator
) -> None:
    a, rows = rng.random(6, np.float32), rng.random((20, 2), np.float32)
    x, tensors = pt.tensor(a, device=device), pt.tensor(rows, device=device)
    got, expected = WALKING[name](x, tensors), WALKING[name](a, rows)
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-6)
    np.testing.assert_array_equal(x.numpy(), a)
    np.testing.assert_array_equal(tensors.numpy(), rows)


@pytest.mark.parametrize(
    "expression", ["x / s", "s * x", "s**2 * x.tocsr() / s", "-x / t[1]", "t.sum() * x.tocsc()"]
)
def test_a_scalar_times_a_sparse_matrix_is_a_number(
    expression: str, device: str, rng: np.random.Generator
) -> None:
    x = sparse.diags([[-2.0] * 4, [1.0] * 3], [0, 1])
    values = rng.random(3, np.float32) + 1
    t = pt.asarray(values, device=device)
    found = eval(expression, {"x": x, "t": t, "s": t[0] - t[1] * 2})
    number = values[0] - values[1] * 2
    expected = eval(expression, {"x": x, "t": values, "s": number})
    assert sparse.issparse(found)
    np.testing.assert_allclose(found.toarray(), expected.toarray(), rtol=1e-6)


@pytest.mark.parametrize("first", ["einops", "py_tensor"])
def test_einops_knows_tensors_whichever_is_imported_first(first: str) -> None:
    code = (
        f"import {first}, einops, py_tensor as pt\n"
        "pt.set_default_device('cpu')\n"
        "print(einops.rearrange(pt.arange(4), '(a b) -> b a', a=2).tolist())"
    )
    found = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True)
    assert found == "[[0, 2], [1, 3]]\n"
