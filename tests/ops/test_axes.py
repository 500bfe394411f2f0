"""Axes of 0-d tensors: as in NumPy, some functions accept 0 and -1, and all others raise."""

from __future__ import annotations

import numpy as np
import pytest

import py_tensor as pt
from tests.differential.compare_calls import check

FOLDS = """
    all amax amin any max mean median min prod ptp std sum var average count_nonzero
    nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar argmax argmin nanargmax nanargmin
"""
SCANS = """
    cumprod cumsum nancumprod nancumsum cumulative_prod cumulative_sum argsort sort flip squeeze
    unstack diff trapezoid unwrap gradient
"""
CALLS = {
    **{name: f"np.{name}({{x}}, axis={{axis}}, keepdims={{keep}})" for name in FOLDS.split()},
    **{name: f"np.{name}({{x}}, axis={{axis}})" for name in SCANS.split()},
    **{
        f"{name}.reduce": f"np.{name}.reduce({{x}}, axis={{axis}}, keepdims={{keep}})"
        for name in ("add", "multiply", "maximum", "logical_or", "subtract", "hypot", "logaddexp")
    },
    "add.accumulate": "np.add.accumulate({x}, axis={axis})",
    "add.reduceat": "np.add.reduceat({x}, [0], axis={axis})",
    "sum with initial": "np.sum({x}, axis={axis}, initial=3)",
    "sum with where": "np.sum({x}, axis={axis}, where=False)",
    "max with initial": "np.max({x}, axis={axis}, initial=9)",
    "include_initial": "np.cumulative_sum({x}, axis={axis}, include_initial=True)",
    "quantile": "np.quantile({x} * 1.0, 0.5, axis={axis}, keepdims={keep})",
    "nanpercentile": "np.nanpercentile({x} * 1.0, 50, axis={axis}, keepdims={keep})",
    "take": "np.take({x}, {places}, axis={axis})",
    "take with a mode": "np.take({x}, 2, axis={axis}, mode='clip')",
    "repeat": "np.repeat({x}, {count}, axis={axis})",
    "compress": "np.compress([{keep}], {x}, axis={axis})",
    "delete": "np.delete({x}, 0, axis={axis})",
    "insert": "np.insert({x}, 0, 7, axis={axis})",
    "append": "np.append({x}, {x}, axis={axis})",
    "concatenate": "np.concatenate([{x}, {x}], axis={axis})",
    "stack": "np.stack([{x}, {x}], axis={axis})",
    "split": "np.split({x}, 1, axis={axis})",
    "partition": "np.partition({x}, 0, axis={axis})",
    "argpartition": "np.argpartition({x}, 0, axis={axis})",
    "take_along_axis": "np.take_along_axis({x}, np.asarray(0), axis={axis})",
    "roll": "np.roll({x}, 1, axis={axis})",
    "expand_dims": "np.expand_dims({x}, {axis})",
    "packbits": "np.packbits({x} > 1, axis={axis})",
    "unpackbits": "np.unpackbits(np.asarray({x}, dtype=np.uint8), axis={axis})",
    "apply_over_axes": "np.apply_over_axes(np.sum, {x}, {axis})",
    "methods": "[{x}.sum({axis}), {x}.max({axis}, keepdims={keep}), {x}.argmin({axis})]",
    "more methods": "[{x}.cumsum({axis}), {x}.take(0, {axis}), {x}.repeat(2, {axis})]",
}
AXES = ("0", "-1", "1", "-2", "None", "()", "(0,)", "(-1,)", "(1,)", "(0, -1)")
# NumPy takes a tuple of one axis for a scan, and fails with an error of `zip` in `roll`.
UNLIKE = ("cumulative_prod", "cumulative_sum", "include_initial", "add.accumulate", "roll")


@pytest.mark.parametrize("name", CALLS)
def test_axes_of_0d_tensors(name: str, rng: np.random.Generator) -> None:
    for axis in AXES[:5] if name in UNLIKE else AXES:
        x, dtype = [("5", "int32"), ("2.5", "float32"), ("True", "bool")][rng.integers(3)]
        if name in ("quantile", "nanpercentile", "trapezoid", "unwrap"):
            dtype = "float32"
        elif name in ("nansum", "nanmean", "nanvar", "nancumsum") and rng.integers(2):
            x, dtype = "nan", "float32"
        call = CALLS[name].format(
            x=f"np.asarray({x}, dtype=np.{dtype})",
            axis=axis,
            keep=rng.choice([True, False]),
            places=rng.choice(["0", "[0]", "[[0, -1]]", "[1]"]),
            count=rng.choice(["0", "3", "[2]"]),
        )
        check(call, pt)


def test_errors_name_the_function_and_the_axis() -> None:
    x = pt.tensor(5)
    for name in ("sum", "cumsum", "take", "repeat", "argmax", "nanmax", "squeeze"):
        more = (1,) if name in ("take", "repeat") else ()
        wrong = r"axis 1 is out of bounds for a tensor of 0 axes"
        with pytest.raises(pt.AxisError, match=wrong):
            getattr(pt, name)(x, *more, axis=1)
