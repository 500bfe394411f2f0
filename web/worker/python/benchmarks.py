"""The suites of the benchmark panel, as data.

A case holds an expression that both py_tensor and NumPy can evaluate, the expected result (in
float64, at the requested indices), and the amount of work. `web/worker/peers` holds the tfjs and
jax-js versions, under the case's name. `measuring.py` checks and times cases. Nothing here needs a
browser: the command-line benchmarks (`tests/perf/bench`) use the same cases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

_FLOAT = 4  # bytes


@dataclass(frozen=True)
class Operand:
    """An argument: uniform random float32 in (0, 1], so that sums do not cancel."""

    shape: tuple[int, ...]
    transposed: bool = False
    """Whether it is the transpose of a contiguous tensor, so a non-contiguous view."""


@dataclass(frozen=True)
class Case:
    name: str
    size: str
    """The size as shown to readers: "512", or "64 × 256 × 1024"."""
    extent: int
    """The position on a chart's axis."""
    operands: tuple[Operand, ...]
    op: Callable[..., Any]
    """Maps the module (py_tensor or NumPy) and the operands to the result."""
    expected: Callable[..., Any]
    """Maps NumPy, a tuple of index arrays into the result, and the operands to float64 values."""
    result_shape: tuple[int, ...]
    flops: int
    """Elementwise ops and additions; 0 where their rate is not meaningful."""
    bytes: int
    """The minimum traffic: operands read once, result written once; 0 if not meaningful."""
    unit: str
    """"GFLOP/s" or "GB/s": the meaningful rate for this case."""
    tolerance: float
    """Relative. A sum of n positive terms that omits one is off by about 1/n."""
    least: float = 0.0
    """Errors are relative to the expected value, or to this where that value is smaller."""
    ops: int = 1
    """The number of independent ops in one call of `op`; if above 1, it returns a list."""
    finish: Literal["all", "each", "number"] = "all"
    """What a sample waits for: all calls together, each call, or each call's number."""
    calls: int | None = None
    """Calls per sample; None for as many as take a few milliseconds."""

    @property
    def work(self) -> int:
        return self.flops if self.unit == "GFLOP/s" else self.bytes

    @property
    def label(self) -> str:
        return f"{self.name}, {self.size}"


@dataclass(frozen=True)
class Suite:
    key: str
    title: str
    source: str
    sizes: tuple[str, ...]
    default_sizes: tuple[str, ...]
    """The default choice when the adapter is software or missing."""
    cases: Callable[[str], tuple[Case, ...]]
    """Returns the cases of one size."""


# -- square matrices -----------------------------------------------------------------------------

_ELEMENTWISE = 1e-6
_SUM = 1e-5


def _of_squares(n: int, name: str, **fields: Any) -> Case:
    """Return a case over n × n matrices, with an n × n result unless `fields` says otherwise."""
    defaults: dict[str, Any] = {
        "result_shape": (n, n),
        "flops": n * n,
        "unit": "GB/s",
        "tolerance": _ELEMENTWISE,
    }
    return Case(name=name, size=str(n), extent=n, **(defaults | fields))


def _square_cases(size: str) -> tuple[Case, ...]:
    n = int(size)
    square = Operand((n, n))
    matrix = n * n * _FLOAT
    case = partial(_of_squares, n)
    return (
        case(
            "exp",
            operands=(square,),
            op=lambda pt, x: pt.exp(x),
            expected=lambda np, at, x: np.exp(x[at].astype(np.float64)),
            bytes=2 * matrix,
        ),
        case(
            "mul",
            operands=(square, square),
            op=lambda pt, x, y: x * y,
            expected=lambda np, at, x, y: x[at].astype(np.float64) * y[at],
            bytes=3 * matrix,
        ),
        case(
            "mul, transposed",
            operands=(square, Operand((n, n), transposed=True)),
            op=lambda pt, x, y: x * y,
            expected=lambda np, at, x, y: x[at].astype(np.float64) * y[at],
            bytes=3 * matrix,
        ),
        case(
            "sum(0)",
            operands=(square,),
            op=lambda pt, x: x.sum(0),
            expected=lambda np, at, x: x[:, at[0]].sum(0, dtype=np.float64),
            result_shape=(n,),
            bytes=matrix + n * _FLOAT,
            tolerance=_SUM,
        ),
        case(
            "sum()",
            operands=(square,),
            op=lambda pt, x: x.sum(),
            expected=lambda np, at, x: x.sum(dtype=np.float64),
            result_shape=(),
            bytes=matrix,
            tolerance=_SUM,
        ),
        case(
            "matmul",
            operands=(square, square),
            op=lambda pt, x, y: x @ y,
            expected=dot,
            flops=2 * n**3,
            bytes=3 * matrix,
            unit="GFLOP/s",
            tolerance=_SUM,
        ),
    )


def _last_axis_cases(size: str) -> tuple[Case, ...]:
    shape = tuple(int(part) for part in size.split(" × "))
    elements = shape[0] * shape[1] * shape[2]
    return (
        Case(
            name="sum(-1)",
            size=size,
            extent=shape[2],
            operands=(Operand(shape),),
            op=lambda pt, x: x.sum(-1),
            expected=lambda np, at, x: x[at].sum(-1, dtype=np.float64),
            result_shape=shape[:2],
            flops=elements,
            bytes=(elements + shape[0] * shape[1]) * _FLOAT,
            unit="GB/s",
            tolerance=_SUM,
        ),
    )


# -- elementwise, reductions, rows ---------------------------------------------------------------


def _elementwise_cases(size: str) -> tuple[Case, ...]:
    n = int(size)
    square = Operand((n, n))
    matrix = n * n * _FLOAT
    case = partial(_of_squares, n)
    return (
        case(
            "add",
            operands=(square, square),
            op=lambda pt, x, y: x + y,
            expected=lambda np, at, x, y: x[at].astype(np.float64) + y[at],
            bytes=3 * matrix,
        ),
        case(
            "tanh(x*y + exp(-x))",
            operands=(square, square),
            op=_tanh_chain,
            expected=lambda np, at, x, y: _tanh_chain(np, *_float64(np, x[at], y[at])),
            flops=5 * n * n,
            bytes=3 * matrix,
        ),
        case(
            "12 ops",
            operands=(square, Operand((n,)), Operand((n, 1))),
            op=_twelve_ops,
            expected=lambda np, at, x, row, column: _twelve_ops(
                np, *_float64(np, x[at], row[at[1]], column[at[0], 0])
            ),
            flops=12 * n * n,
            bytes=2 * matrix + 2 * n * _FLOAT,
            least=1.0,
        ),
    )


def _float64(np: Any, *arrays: Any) -> list[Any]:
    return [array.astype(np.float64) for array in arrays]


def _tanh_chain(xp: Any, x: Any, y: Any) -> Any:
    return xp.tanh(x * y + xp.exp(-x))


def _twelve_ops(xp: Any, x: Any, row: Any, column: Any) -> Any:
    """Cheap ops: memory bandwidth limits them when they are fused into one kernel."""
    t = x * row + column
    t = xp.maximum(t * x - row, column)
    t = (t * 0.5 + x) * column - x
    return xp.abs(xp.minimum(t, row)) * 2


def _reduction_cases(size: str) -> tuple[Case, ...]:
    n = int(size)
    matrix = n * n * _FLOAT
    common: dict[str, Any] = {"operands": (Operand((n, n)),), "tolerance": _SUM}
    whole: dict[str, Any] = {**common, "result_shape": (), "bytes": matrix}
    lines: dict[str, Any] = {**common, "result_shape": (n,), "bytes": matrix + n * _FLOAT}
    case = partial(_of_squares, n)
    return (
        case(
            "sum of all",
            op=lambda pt, x: x.sum(),
            expected=lambda np, at, x: x.sum(dtype=np.float64),
            **whole,
        ),
        case(
            "mean of all",
            op=lambda pt, x: x.mean(),
            expected=lambda np, at, x: x.mean(dtype=np.float64),
            **whole,
        ),
        case(
            "max of all",
            op=lambda pt, x: x.max(),
            expected=lambda np, at, x: x.max(),
            **(whole | {"tolerance": 0.0}),
        ),
        case(
            "sum(0)",
            op=lambda pt, x: x.sum(0),
            expected=lambda np, at, x: x[:, at[0]].sum(0, dtype=np.float64),
            **lines,
        ),
        case(
            "sum(1)",
            op=lambda pt, x: x.sum(1),
            expected=lambda np, at, x: x[at[0]].sum(1, dtype=np.float64),
            **lines,
        ),
    )


def _row_cases(size: str) -> tuple[Case, ...]:
    n = int(size)
    matrix = n * n * _FLOAT

    def case(name: str, formula: Callable[..., Any], flops: int, *result: int, least: float = 0.0):
        return _of_squares(
            n,
            name,
            operands=(Operand((n, n)),),
            op=formula,
            expected=lambda np, at, x: _at_rows(np, formula, at, x),
            result_shape=result,
            flops=flops * n * n,
            bytes=matrix + (matrix if len(result) == 2 else n * _FLOAT),
            tolerance=_SUM,
            least=least,
        )

    return (
        case("softmax", _softmax, 5, n, n),
        case("log-softmax", _log_softmax, 5, n, n, least=1.0),
        case("layer norm", _layer_norm, 6, n, n, least=1.0),
        case("variance", _variance, 4, n),
    )


def _at_rows(np: Any, formula: Callable[..., Any], at: tuple[Any, ...], x: Any) -> Any:
    """Return a row-wise formula in float64, at some indices."""
    rows = formula(np, x[at[0]].astype(np.float64))
    return rows[np.arange(len(at[0])), at[1]] if len(at) > 1 else rows


def _softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def _log_softmax(xp: Any, x: Any) -> Any:
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - xp.log(xp.exp(shifted).sum(axis=-1, keepdims=True))


def _layer_norm(xp: Any, x: Any) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / xp.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)


def _variance(xp: Any, x: Any) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return (centred * centred).mean(axis=-1)


# -- matrix products -----------------------------------------------------------------------------

BATCH = 8
THIN = 16


def dot(np: Any, at: tuple[Any, ...], x: Any, y: Any) -> Any:
    """Return elements of x @ y in float64."""
    left = x if x.ndim == 1 else x[at[: x.ndim - 1]]
    if y.ndim == 2:
        y = y[:, at[-1]].T
    elif y.ndim > 2:
        y = y[(*at[:-2], slice(None), at[-1])]
    return np.einsum("...k,...k->...", *_float64(np, left, y))


def _product_cases(size: str) -> tuple[Case, ...]:
    n = int(size)
    square, flipped = Operand((n, n)), Operand((n, n), transposed=True)
    stack = Operand((BATCH, n, n))

    def case(name: str, x: Operand, y: Operand, *result: int, unit: str = "GFLOP/s") -> Case:
        return _of_squares(
            n,
            name,
            operands=(x, y),
            op=lambda pt, x, y: x @ y,
            expected=dot,
            result_shape=result,
            flops=2 * _product(result) * (x.shape[0] if x.transposed else x.shape[-1]),
            bytes=(_product(x.shape) + _product(y.shape) + _product(result)) * _FLOAT,
            unit=unit,
            tolerance=_SUM,
        )

    return (
        case("matmul", square, square, n, n),
        case("x.T @ y", flipped, square, n, n),
        case("x @ y.T", square, flipped, n, n),
        case("batched matmul", stack, stack, BATCH, n, n),
        case(f"{THIN} rows @ matrix", Operand((THIN, n)), square, THIN, n),
        case(f"{THIN} columns @ {THIN} rows", Operand((n, THIN)), Operand((THIN, n)), n, n),
        # Limited by reading the matrix.
        case("matrix @ vector", square, Operand((n,)), n, unit="GB/s"),
    )


def _product(shape: tuple[int, ...]) -> int:
    total = 1
    for length in shape:
        total *= length
    return total


# -- small ops -----------------------------------------------------------------------------------


def _small_cases(size: str) -> tuple[Case, ...]:
    n = int(size)
    few = Operand((n,))
    common: dict[str, Any] = {"size": size, "extent": n, "flops": 0, "bytes": 0, "unit": "GB/s"}
    return (
        Case(
            name="add",
            operands=(few, few),
            op=lambda pt, x, y: x + y,
            expected=lambda np, at, x, y: x[at].astype(np.float64) + y[at],
            result_shape=(n,),
            tolerance=_ELEMENTWISE,
            **common,
        ),
        Case(
            name="200 additions",
            operands=(few,) * 30,  # 20 × 10: 200 sums of different operand pairs
            op=lambda pt, *x: [a + b for a in x[:20] for b in x[20:]],
            expected=lambda np, at, *x: np.stack(
                [a.astype(np.float64) + b for a in x[:20] for b in x[20:]]
            )[at],
            result_shape=(200, n),
            tolerance=_ELEMENTWISE,
            ops=200,
            **common,
        ),
        Case(
            name="float((x*2).sum())",
            operands=(few,),
            op=lambda pt, x: (x * 2).sum(),
            expected=lambda np, at, x: 2 * x.sum(dtype=np.float64),
            result_shape=(),
            tolerance=_SUM,
            finish="number",
            **common,
        ),
    )


SUITES = {
    suite.key: suite
    for suite in (
        Suite(
            key="square",
            title="Elementwise, sums, matmul",
            source="Tensorken's benchmarks: exp, mul, sum and matmul of n × n matrices",
            sizes=("64", "128", "256", "512", "1024", "2048"),
            default_sizes=("64", "128", "256", "512"),
            cases=_square_cases,
        ),
        Suite(
            key="last-axis",
            title="Sum over the last axis",
            source="CubeCL's benchmark: many rows, each summed",
            sizes=("64 × 256 × 1024", "64 × 64 × 4096"),
            default_sizes=("64 × 256 × 1024", "64 × 64 × 4096"),
            cases=_last_axis_cases,
        ),
        Suite(
            key="elementwise",
            title="Elementwise chains",
            source="One op, five and twelve over n × n matrices: what fusion saves",
            sizes=("128", "256", "512", "1024", "2048", "4096"),
            default_sizes=("128", "256", "512"),
            cases=_elementwise_cases,
        ),
        Suite(
            key="reductions",
            title="Reductions",
            source="n × n matrices reduced as a whole, by columns and by rows",
            sizes=("128", "256", "512", "1024", "2048", "4096"),
            default_sizes=("128", "256", "512"),
            cases=_reduction_cases,
        ),
        Suite(
            key="products",
            title="Matrix products",
            source=f"Square, transposed, {BATCH} at a time, thin, and with a vector",
            sizes=("64", "128", "256", "512", "1024", "2048"),
            default_sizes=("64", "128", "256"),
            cases=_product_cases,
        ),
        Suite(
            key="rows",
            title="Softmax, layer norm",
            source="Formulas over the rows of n × n matrices, as their textbooks write them",
            sizes=("128", "256", "512", "1024", "2048", "4096"),
            default_sizes=("128", "256", "512"),
            cases=_row_cases,
        ),
        Suite(
            key="small",
            title="Small ops",
            source="So little work that what counts is the way to the GPU, and back",
            sizes=("16", "256", "4096"),
            default_sizes=("16", "256", "4096"),
            cases=_small_cases,
        ),
    )
}


def describe() -> list[dict[str, Any]]:
    """Return the suites and cases that the page offers."""
    return [
        {
            "key": suite.key,
            "title": suite.title,
            "source": suite.source,
            "sizes": suite.sizes,
            "defaultSizes": suite.default_sizes,
            "cases": [case.name for case in suite.cases(suite.sizes[0])],
            "work": [
                {"case": case.name, "size": size, "work": case.work, "unit": case.unit}
                for size in suite.sizes
                for case in suite.cases(size)
            ],
        }
        for suite in SUITES.values()
    ]
