"""Charts: series of points, thinned out on their device, as plain numbers that a host can draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, cast

from py_tensor import dtypes
from py_tensor.convert.conversion import drawable
from py_tensor.display.options import ChartOptions
from py_tensor.errors import ShapeError
from py_tensor.ops.creation import arange
from py_tensor.ops.elementwise import isfinite as are_finite
from py_tensor.ops.elementwise import maximum, minimum, where
from py_tensor.ops.gather import take
from py_tensor.ops.movement import concat, converted, stack
from py_tensor.ops.reduction import argmax, argmin
from py_tensor.tensor import Tensor

MOST_POINTS = 2000
"""Of one series: more than a screen has columns."""

MAX_SHOWN, MAX_SHOWN_ON_GPU = 1 << 24, 1 << 26
"""Elements. Of what is larger a part is looked at that is spread evenly, so that to show it takes
seconds at most; the first is for the CPU and for software adapters."""

MOST_SERIES = 20

INFINITY = float("inf")


@dataclass(frozen=True, slots=True)
class Series:
    """One curve.

    Attributes
    ----------
    x, y : Tensor
        1-D, of one length.
    size : int
        That length before thinning out.
    step : int
        Of so many points one was looked at.
    """

    label: str
    x: Tensor
    y: Tensor
    size: int
    step: int


@dataclass(frozen=True, slots=True)
class Chart:
    """What `screen.plot` draws."""

    series: tuple[Series, ...]
    options: ChartOptions

    async def bundle(self, blocking: bool) -> dict[str, Any]:
        """The chart as JSON-able values; a point that is not finite is None."""
        series: list[dict[str, Any]] = []
        for one in self.series:
            x, y = [await _numbers(values, blocking) for values in (one.x, one.y)]
            series.append({"label": one.label, "x": x, "y": y, "size": one.size, "step": one.step})
        told = ("title", "xlabel", "ylabel", "xscale", "yscale")
        chosen = {name: getattr(self.options, name) for name in told}
        return {"kind": "plot", "mark": self.options.kind, "series": series, **chosen}

    def summary(self) -> str:
        """The chart in words, a line for each series."""
        head = [self.options.title] if self.options.title else []
        lines = [f"{s.label or self.options.kind}: {s.size} points" for s in self.series]
        return "\n".join((*head, *lines))


def max_shown(x: Tensor) -> int:
    """Of how many elements what is shown of a tensor may be computed."""
    adapter = x.device.backend.info().get("adapter")  # none of the CPU's
    is_gpu = adapter is not None and not adapter.get("isFallbackAdapter")
    return MAX_SHOWN_ON_GPU if is_gpu else MAX_SHOWN


async def _numbers(x: Tensor, blocking: bool) -> list[float | None]:
    values = x.tolist() if blocking else (await x.to_numpy_async()).tolist()
    return [v if isfinite(v) else None for v in values]


def chart(x: Any, y: Any, options: ChartOptions) -> Chart:
    """A chart of `y` against `x`, or of `x` against its indices; see `screen.plot`.

    Raises
    ------
    ShapeError
        For series that are not 1-D, and where x and y differ in length.
    ValueError
        For more than `MOST_SERIES`, and for more labels than series.
    """
    named = _named(x if y is None else y, options.label)
    _check_count(len(named))
    base = None if y is None else _values(x)
    if base is not None and base.ndim != 1:
        raise ShapeError(f"plot: x must be 1-D, not of shape {base.shape}")
    series: list[Series] = []
    for name, values in named:
        n = values.shape[0]
        if base is not None and base.shape[0] != n:
            raise ShapeError(f"plot: x has {base.shape[0]} points, y has {n}")
        series.append(_series(name, base, values, options))
    return Chart(tuple(series), options)


def _check_count(series: int, which: str = "") -> None:
    if series > MOST_SERIES:
        raise ValueError(f"plot: takes at most {MOST_SERIES} series, not {series}{which}")


def _named(y: Any, label: Any) -> list[tuple[str, Tensor]]:
    """Label and values of each series."""
    if isinstance(y, Mapping):
        if label is not None:
            raise TypeError("plot: label cannot be combined with a dict, whose keys are the labels")
        entries = cast("Mapping[Any, Any]", y)
        return [(str(name), _curve(values)) for name, values in entries.items()]
    curves: list[Tensor]
    if isinstance(y, list | tuple) and not all(map(_is_number, cast("Sequence[Any]", y))):
        curves = [_curve(values) for values in cast("Sequence[Any]", y)]
    else:
        values = _values(y)
        if values.ndim == 2:
            _check_count(values.shape[1], f": the columns of shape {values.shape}; .T has its rows")
        curves = [values[:, i] for i in range(values.shape[1])] if values.ndim == 2 else []
        curves = curves or [_curve(values)]
    labels = [label] if isinstance(label, str) or label is None else list(label)
    if len(labels) > len(curves):
        raise ValueError(f"plot: {len(labels)} labels for {len(curves)} series")
    labels += [None] * (len(curves) - len(labels))
    if len(curves) > 1:
        labels = [str(i) if given is None else given for i, given in enumerate(labels)]
    return [(given or "", curve) for given, curve in zip(labels, curves, strict=True)]


def _is_number(value: Any) -> bool:
    """Whether it is one point of a series, and no series."""
    return isinstance(value, bool | int | float) or getattr(value, "ndim", None) == 0


def _values(values: Any) -> Tensor:
    x = drawable(values, "plot")
    return converted(x, dtypes.int32) if x.dtype.kind == "b" else x


def _curve(values: Any) -> Tensor:
    y = _values(values)
    if y.ndim > 1:
        raise ShapeError(f"plot: a series must be 1-D, not of shape {y.shape}")
    return y if y.ndim else y.reshape(1)


def _series(label: str, x: Tensor | None, y: Tensor, options: ChartOptions) -> Series:
    size = y.shape[0]
    step = max(1, -(-size // max_shown(y)))
    if step > 1:
        y, x = y[::step], None if x is None else x[::step]
    n = y.shape[0]
    if n > MOST_POINTS:
        kept = _kept(y, options)
        x = _scaled(kept, size, step) if x is None else take(x, kept.to(x.device))
        y = take(y, kept)
    elif x is None:
        x = _scaled(_counting(n, y), size, step)
    return Series(label, x, y, size, step)


def _scaled(indices: Tensor, size: int, step: int) -> Tensor:
    """Indices of the points looked at as indices of all: exact up to 2**31, else rounded."""
    if step == 1:
        return indices
    return converted(indices, dtypes.float32) * step if size > 2**31 else indices * step


def _kept(y: Tensor, options: ChartOptions) -> Tensor:
    """Indices of at most `MOST_POINTS` of the points, in order.

    Of a line, those of the least and the largest value in each of as many slices as there is room
    for, so that what is drawn covers what all points would. Of a cloud, every so manieth.
    """
    n = y.shape[0]
    if options.kind == "scatter":
        step = -(-n // MOST_POINTS)
        return arange(0, n, step, dtype=dtypes.int32, device=y.device)
    slices = MOST_POINTS // 2
    length = -(-n // slices)
    slices = -(-n // length)
    begin = arange(0, slices * length, length, dtype=dtypes.int32, device=y.device)
    places = minimum(begin.reshape(slices, 1) + _counting(length, y), n - 1)
    values = take(y if y.dtype.kind == "f" else converted(y, dtypes.float32), places)
    drawn = are_finite(values)
    if options.yscale == "log":
        drawn = drawn & (values > 0)
    low = argmin(where(drawn, values, INFINITY), axis=1)
    high = argmax(where(drawn, values, -INFINITY), axis=1)
    low, high = (minimum(begin + converted(i, dtypes.int32), n - 1) for i in (low, high))
    pairs = stack([minimum(low, high), maximum(low, high)], axis=1).reshape(-1)
    ends = arange(0, 2, dtype=dtypes.int32, device=y.device) * (n - 1)
    return concat([ends[:1], pairs, ends[1:]])


def _counting(n: int, beside: Tensor) -> Tensor:
    return arange(n, dtype=dtypes.int32, device=beside.device)
