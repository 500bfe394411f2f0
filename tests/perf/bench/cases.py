"""The cases of the command-line benchmarks, written for py_tensor: suites of cases, as data.

Cases have the form of the panel's (`web/worker/python/benchmarks.py`), whose own cases are used
where suitable. The versions for other libraries are in `pytorch.py` and in
`web/worker/peers/*_cases.js`, under the case's name. This module runs on the host, which knows the
expected results, and in the page's worker, which computes. So it imports nothing that either of
them lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from web.worker.python import benchmarks

FLOAT = 4  # bytes


@dataclass(frozen=True)
class Operand(benchmarks.Operand):
    """An argument: uniform random float32 in (0, scale], except one element of twice `scale`."""

    scale: float = 1.0
    below: int = 0
    """If not 0: random int32 indices from 0 to below it."""
    dtype: str = "float32"
    """Or "uint8", with all its values, or "bool"."""


@dataclass(frozen=True, kw_only=True)
class Case(benchmarks.Case):
    """A case of the panel's form, with additional data for the command line."""

    operands: tuple[Operand, ...]
    extent: int = 0
    least_kernels: int = 1
    most_kernels: int | None = None
    """Kernels of one call, if their number is guaranteed."""


@dataclass(frozen=True)
class Scale:
    """The sizes of the cases, which depend on the speed of the adapter."""

    squares: tuple[int, ...]
    """n of the square matrix products."""
    odd: tuple[int, ...]
    """The same, for sizes that are not multiples of a tile."""
    side: int
    """n of the n × n tensors for elementwise, row-wise and movement ops."""
    batches: tuple[int, int]
    vector: int
    """n of an n × n matrix with a vector."""
    thin: int
    """k and n of 16 × k by k × n, and of n × 16 by 16 × n."""
    long: int
    """k of 64 × k by k × 64."""
    flat: int
    large: int
    """Elements of two one-dimensional tensors."""
    middle: tuple[int, int, int]
    last: tuple[str, ...]
    """Sizes of the panel's sum over the last axis."""
    sort: tuple[int, ...]


HARDWARE = Scale(
    squares=(64, 128, 256, 512, 1024, 2048, 4096),
    odd=(257, 1000, 4095),
    side=4096,
    batches=(64, 256),
    vector=8192,
    thin=4096,
    long=65536,
    flat=2**24,
    large=2**28,
    middle=(256, 256, 1024),
    last=("64 × 256 × 1024", "64 × 64 × 4096"),
    sort=(2**20, 2**24),
)
SOFTWARE = Scale(
    squares=(64, 128, 256, 512),
    odd=(257, 500),
    side=1024,
    batches=(8, 128),
    vector=2048,
    thin=512,
    long=8192,
    flat=2**20,
    large=2**25,
    middle=(64, 64, 256),
    last=("64 × 64 × 4096",),
    sort=(2**16, 2**20),
)


def suites(scale: Scale) -> dict[str, tuple[Case, ...]]:
    """Return every suite; those of `PANEL` are the page's, at the page's own sizes."""
    ours = {
        "matmul": _matmul(scale),
        "elementwise": _elementwise(scale),
        "reductions": _reductions(scale),
        "rows": _rows(scale),
        "movement": _movement(scale),
        "indexing": _indexing(scale),
        "bytes": _bytes(scale),
        "scan-sort": _scan_sort(scale),
        "fft": _fft(scale),
        "small-ops": _small_ops(),
    }
    return ours | {key: _panel_suite(key, scale) for key in PANEL}


PANEL = ("square", "last-axis")
"""Suites that run only if named: most of their cases are in ours too."""


def find(label: str, scale: Scale) -> Case:
    """Return the case of this label."""
    return next(case for suite in suites(scale).values() for case in suite if case.label == label)


# -- the panel's -----------------------------------------------------------------------------------


def _of_panel(case: benchmarks.Case, **more: Any) -> Case:
    fields: dict[str, Any] = dict(vars(case)) | more
    fields["operands"] = tuple(Operand(**vars(operand)) for operand in case.operands)
    return Case(**fields)


def _panel_suite(key: str, scale: Scale) -> tuple[Case, ...]:
    suite = benchmarks.SUITES[key]
    sizes = suite.default_sizes if scale is SOFTWARE else suite.sizes
    return tuple(_of_panel(case) for size in sizes for case in suite.cases(size))


def _panel_case(key: str, name: str, size: object, **more: Any) -> Case:
    found = benchmarks.SUITES[key].cases(str(size))
    return _of_panel(next(case for case in found if case.name == name), **more)


# -- ours ------------------------------------------------------------------------------------------


def _case(
    name: str,
    size: str,
    shapes: Sequence[tuple[int, ...] | Operand],
    result_shape: tuple[int, ...],
    op: Callable[..., Any],
    expected: Callable[..., Any],
    **more: Any,
) -> Case:
    """A case whose traffic is its operands and result, each once, unless `more` overrides it."""
    operands = tuple(s if isinstance(s, Operand) else Operand(s) for s in shapes)
    elements = sum(_product(o.shape) for o in operands) + _product(result_shape)
    return Case(
        name=name,
        size=size,
        operands=operands,
        result_shape=result_shape,
        op=op,
        expected=expected,
        **{"flops": 0, "bytes": elements * FLOAT, "unit": "GB/s", "tolerance": 1e-6} | more,
    )


def _product(shape: Sequence[int]) -> int:
    total = 1
    for length in shape:
        total *= length
    return total


def _times(*lengths: int) -> str:
    return " × ".join(map(str, lengths))


def _count(elements: int) -> str:
    """Return a number of elements in short form: 268 M."""
    return f"{elements / 1e6:.3g} M" if elements >= 10**6 else f"{elements / 1e3:.3g} k"


LONG_SUM = 2**14
"""A sequential float32 sum of more products may have an error above `SUM`."""
SUM = 1e-5


def _matmul(scale: Scale) -> tuple[Case, ...]:
    def case(name: str, size: str, x: Operand, y: Operand, *result: int, **more: Any) -> Case:
        k = x.shape[0] if x.transposed else x.shape[-1]
        op = lambda pt, x, y: x @ y  # noqa: E731
        tolerance = 10 * SUM if k > LONG_SUM else SUM
        flops = 2 * _product(result) * k
        fields = {"flops": flops, "unit": "GFLOP/s", "tolerance": tolerance} | more
        return _case(name, size, (x, y), result, op, benchmarks.dot, **fields)

    def of(m: int, k: int, n: int) -> Case:
        return case("matmul", _times(m, k, n), Operand((m, k)), Operand((k, n)), m, n)

    n = max(scale.squares)
    square, flipped = Operand((n, n)), Operand((n, n), transposed=True)
    count, b = scale.batches
    v, thin = scale.vector, scale.thin
    by_bytes = {"unit": "GB/s"}  # a product with a vector is limited by reading its matrix
    return (
        *(_panel_case("square", "matmul", n) for n in scale.squares),
        *(_panel_case("square", "matmul", n) for n in scale.odd),
        case("x.T @ y", f"{n}", flipped, square, n, n),
        case("x @ y.T", f"{n}", square, flipped, n, n),
        case(
            *("batched matmul", f"{count} of {b}", Operand((count, b, b)), Operand((count, b, b))),
            *(count, b, b),
        ),
        case("matrix @ vector", _times(v, v), Operand((v, v)), Operand((v,)), v, **by_bytes),
        case("vector @ matrix", _times(v, v), Operand((v,)), Operand((v, v)), v, **by_bytes),
        of(16, thin, thin),
        of(thin, 16, thin),
        of(64, scale.long, 64),
    )


def _elementwise(scale: Scale) -> tuple[Case, ...]:
    n = scale.side
    return (
        _panel_case("square", "exp", n),
        _panel_case("square", "mul", n),
        _panel_case("elementwise", "add", n),
        _panel_case("elementwise", "tanh(x*y + exp(-x))", n, most_kernels=1),
        _panel_case("elementwise", "12 ops", n, most_kernels=1),
    )


def _float64(np: Any, *arrays: Any) -> list[Any]:
    return [array.astype(np.float64) for array in arrays]


def _reductions(scale: Scale) -> tuple[Case, ...]:
    flat = (
        ("sum of all", lambda pt, x: x.sum(), lambda np, at, x: x.sum(dtype=np.float64), SUM),
        ("max of all", lambda pt, x: x.max(), lambda np, at, x: x.max(), 0.0),
        ("mean of all", lambda pt, x: x.mean(), lambda np, at, x: x.mean(dtype=np.float64), SUM),
        ("argmax of all", lambda pt, x: x.argmax(), lambda np, at, x: x.argmax(), 0.0),
    )
    a, b, c = scale.middle
    return (
        *(
            _case(name, _count(n), ((n,),), (), op, expected, tolerance=tolerance)
            for n in (scale.flat, scale.large)
            for name, op, expected, tolerance in flat
        ),
        _panel_case("square", "sum(0)", scale.side),
        _panel_case("reductions", "sum(1)", scale.side),
        _case(
            *("sum of the middle", _times(a, b, c), ((a, b, c),), (a, c)),
            op=lambda pt, x: x.sum(1),
            expected=lambda np, at, x: x[at[0], :, at[1]].sum(1, dtype=np.float64),
            tolerance=SUM,
        ),
        *(_panel_case("last-axis", "sum(-1)", size) for size in scale.last),
    )


def _rows(scale: Scale) -> tuple[Case, ...]:
    names = ("softmax", "log-softmax", "layer norm", "variance")
    return tuple(_panel_case("rows", name, scale.side, most_kernels=2) for name in names)


def _movement(scale: Scale) -> tuple[Case, ...]:
    n = scale.side
    square = (n, n)
    matrix = n * n * FLOAT
    indices = Operand((n,), below=n)
    return (
        _case(
            *("transposed copy", f"{n}", (square,), square),
            op=lambda pt, x: _copied(pt, x.T),
            expected=lambda np, at, x: x[at[1], at[0]],
            tolerance=0.0,
        ),
        _case(
            *("concat", f"2 of {n}", (square, square), (2 * n, n)),
            op=lambda pt, x, y: pt.concat([x, y]),
            expected=lambda np, at, x, y: np.where(
                at[0] < n, x[at[0] % n, at[1]], y[at[0] % n, at[1]]
            ),
            tolerance=0.0,
        ),
        _case(
            *("pad by 1", f"{n}", (square,), (n + 2, n + 2)),
            op=lambda pt, x: pt.pad(x, 1),
            expected=lambda np, at, x: np.pad(x, 1)[at],
            tolerance=0.0,
            least=1.0,
        ),
        _case(
            *("every second column", f"{n}", (square,), (n, n // 2)),
            op=lambda pt, x: _copied(pt, x[:, ::2]),
            expected=lambda np, at, x: x[at[0], 2 * at[1]],
            bytes=matrix + matrix // 2,  # whole cache lines are read, also the columns between
            tolerance=0.0,
        ),
        _case(
            *("every second row", f"{n}", (square,), (n // 2, n)),
            op=lambda pt, x: _copied(pt, x[::2]),
            expected=lambda np, at, x: x[2 * at[0], at[1]],
            bytes=matrix,
            tolerance=0.0,
        ),
        _case(
            *("take rows", f"{n}", (square, indices), square),
            op=lambda pt, x, i: pt.take(x, i, axis=0),
            expected=lambda np, at, x, i: x[i[at[0]], at[1]],
            bytes=2 * matrix,
            tolerance=0.0,
        ),
        _case(
            *("take elements", _count(scale.flat), ((n,), Operand((scale.flat,), below=n))),
            result_shape=(scale.flat,),
            op=lambda pt, x, i: pt.take(x, i),
            expected=lambda np, at, x, i: x[i[at]],
            tolerance=0.0,
        ),
    )


BINS = 1000
"""Number of elements to which many values are added."""


def _indexing(scale: Scale) -> tuple[Case, ...]:
    n, m = scale.side, scale.flat
    x = Operand((m,))

    def added(pt: Any, base: Any, i: Any, x: Any) -> Any:
        sums = base.copy()
        pt.add.at(sums, i, x)
        return sums

    def write(pt: Any, x: Any, i: Any) -> Any:
        y = pt.zeros(m)
        y[i] = 1
        return y

    def mask(pt: Any, x: Any) -> Any:
        y = x.copy()
        y[x > 0.5] = 0
        return y

    def squared(pt: Any, x: Any) -> Any:
        y = x[x > 0.5]  # unlike the plain sum, this needs the elements
        return (y * y).sum()

    def window(pt: Any, x: Any) -> Any:
        y = x.copy()
        y[1:-1, 1:-1] += 1
        return y

    def added_by_index(pt: Any, x: Any, i: Any, v: Any) -> Any:
        y = x.copy()
        y[i] += v
        return y

    few = m // 4
    return (
        _case(
            *("add by index", _count(few), (x, Operand((few,), below=m), Operand((), scale=2.0))),
            result_shape=(m,),
            op=added_by_index,
            expected=lambda np, at, x, i, v: x[at] + np.isin(at[0], i) * v,
            tolerance=1e-6,
        ),
        *(
            _case(
                *("add at", f"{_count(m)} to {_count(size)}"),
                ((size,), Operand((m,), below=size), x),
                result_shape=(size,),
                op=added,
                expected=lambda np, at, b, i, x: (b + np.bincount(i, x, minlength=b.size))[at],
                tolerance=SUM,
            )
            for size in (BINS, m)
        ),
        _case(
            *("bincount", f"{_count(m)} to {_count(BINS)}", (Operand((m,), below=BINS),), (BINS,)),
            op=lambda pt, i: pt.bincount(i, minlength=BINS),
            expected=lambda np, at, i: np.bincount(i, minlength=BINS)[at],
            tolerance=0.0,
        ),
        _case(
            *("write at", _count(m), (x, Operand((m,), below=m)), (m,), write),
            expected=lambda np, at, x, i: np.isin(at[0], i),
            tolerance=0.0,
            least=1.0,
        ),
        _case(
            *("write by mask", _count(m), (x,), (m,), mask),
            expected=lambda np, at, x: np.where(x[at] > 0.5, 0, x[at]),
            tolerance=0.0,
            least=1.0,
        ),
        _case(
            *("sum of a mask's", _count(m), (x,), ()),
            op=lambda pt, x: x[x > 0.5].sum(),
            expected=lambda np, at, x: x[x > 0.5].sum(dtype=np.float64),
            tolerance=SUM,
        ),
        _case(
            *("square of a mask's", _count(m), (x,), ()),
            op=squared,
            expected=lambda np, at, x: (x[x > 0.5].astype(np.float64) ** 2).sum(),
            tolerance=SUM,
        ),
        _case(
            *("add to a window", f"{n}", ((n, n),), (n, n), window),
            expected=lambda np, at, x: (
                x[at] + ((at[0] > 0) & (at[0] < n - 1) & (at[1] > 0) & (at[1] < n - 1))
            ),
            tolerance=1e-6,
        ),
    )


def _fft(scale: Scale) -> tuple[Case, ...]:
    """Return an FFT of real numbers, like all operands, with the absolute values of the results."""
    n, side = scale.flat // 16, scale.side

    def case(name: str, size: str, shape: tuple[int, ...]) -> Case:
        return _case(
            *(name, size, (shape,), shape),
            op=lambda pt, x: pt.abs(getattr(pt.fft, name)(x)),
            expected=lambda np, at, x: np.abs(getattr(np.fft, name)(x))[at],
            bytes=20 * _product(shape),  # complex results, read for the absolute values
            tolerance=1e-4,  # relative to an element: errors are 2e-7 of the RMS of all
        )

    return case("fft", _count(n), (n,)), case("fft2", _times(side, side), (side, side))


def _copied(pt: Any, view: Any) -> Any:
    """Return the positive elements of a view, copied, because a view alone is not computed."""
    return pt.abs(view)


def _bytes(scale: Scale) -> tuple[Case, ...]:
    n = scale.large
    return (
        _case(
            *("threshold of bytes", _count(n), (Operand((n,), dtype="uint8"),), (n,)),
            op=lambda pt, x: x > 100,
            expected=lambda np, at, x: x[at] > 100,
            bytes=2 * n,
            tolerance=0.0,
        ),
        _case(
            *("count of bools", _count(n), (Operand((n,), dtype="bool"),), ()),
            op=lambda pt, x: x.sum(),
            expected=lambda np, at, x: x.sum(),
            bytes=n,
            tolerance=0.0,
        ),
    )


def _scan_sort(scale: Scale) -> tuple[Case, ...]:
    n = scale.flat
    numbers = Operand((n,), below=2**30)
    return (
        _case(
            *("cumsum", _count(scale.flat), ((scale.flat,),), (scale.flat,)),
            op=lambda pt, x: pt.cumsum(x, 0),
            expected=lambda np, at, x: np.cumsum(x, dtype=np.float64)[at],
            tolerance=SUM,
        ),
        *(
            _case(
                *("sort", _count(n), ((n,),), (n,)),
                op=lambda pt, x: pt.sort(x),
                expected=lambda np, at, x: np.sort(x)[at],
                tolerance=0.0,
            )
            for n in scale.sort
        ),
        _case(
            *("unique", _count(n), (numbers,), ()),
            op=lambda pt, i: pt.unique(i).astype(pt.float32).sum(),
            expected=lambda np, at, i: np.unique(i).sum(dtype=np.float64),
            tolerance=SUM,
        ),
        _case(
            *("median", _count(n), ((n,),), ()),
            op=lambda pt, x: pt.median(x),
            expected=lambda np, at, x: np.median(x),
            tolerance=1e-6,
        ),
    )


def _small_ops() -> tuple[Case, ...]:
    few = (16,)
    pairs = [few] * 30  # 20 and 10: 200 sums of different operands
    additions = {
        "op": lambda pt, *x: [a + b for a in x[:20] for b in x[20:]],
        "expected": lambda np, at, *x: np.stack(
            [a.astype(np.float64) + b for a in x[:20] for b in x[20:]]
        )[at],
        "ops": 200,
        "calls": 20,
        "bytes": 0,
    }
    number = {"finish": "number", "calls": 20, "bytes": 0, "tolerance": SUM}
    return (
        _case("200 additions", "16, 20 loops, one wait", pairs, (200, 16), **additions),
        _case(
            "200 additions",
            "16, 20 loops, a wait each",
            pairs,
            (200, 16),
            finish="each",
            **additions,
        ),
        _case(
            *("float((x*2).sum())", "16", (few,), ()),
            op=lambda pt, x: (x * 2).sum(),
            expected=lambda np, at, x: 2 * x.sum(dtype=np.float64),
            # The first calls of a sample run while the browser still works on starting it.
            **(number | {"calls": 200}),
        ),
        _case(
            "float of 100 kernels",
            "16 × 16",
            # Products, so that they stay distinct; scaled, so that the values stay near 1.
            (Operand((16, 16)), Operand((16, 16), scale=1 / 8)),
            (),
            op=_hundred_products,
            expected=lambda np, at, x, w: _hundred_products(np, *_float64(np, x, w)),
            least_kernels=100,
            **(number | {"tolerance": 1e-4}),
        ),
    )


def _hundred_products(xp: Any, x: Any, w: Any) -> Any:
    for _ in range(100):
        x = x @ w
    return x.sum()
