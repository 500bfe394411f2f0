"""Random tensor programs, and what they must compute: for the tests of fusion and of movement.

A program is a list of lines of Python such as ``v7 = v3.sum((0,), keepdims=True)``. Beside each
line stands the value that NumPy gives it in float64, with a bound of the error that float32 may
make there: `Value.error` is carried through every step, so that the tolerance is as tight as the
program allows, and zero where float32 is exact. What an op means is written out here a second
time; nothing is taken from the library's own op records.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import py_tensor as pt

EPS = 2.0**-24  # half an ulp, relative
TINY = 2.0**-120  # below this, results may flush to zero
LARGEST = 64.0  # values are scaled back to this magnitude
MOST_ELEMENTS = 6000

Array = Any


@dataclass(frozen=True)
class Value:
    """What a line must give: float64 (or int64, bool) elements, and how far off each may be."""

    ref: Array
    error: Array
    dtype: str

    @property
    def exact(self) -> bool:
        return not np.any(self.error)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.ref.shape


@dataclass
class Line:
    """One assignment: its text, the lines it uses, its value."""

    text: str
    inputs: tuple[int, ...]
    value: Value


@dataclass
class Program:
    """Lines, leaves' data by name, and which lines' tensors are dropped or realized, and when."""

    seed: Any
    lines: list[Line] = field(default_factory=list)
    data: dict[str, Array] = field(default_factory=dict)
    live: set[int] = field(default_factory=set)
    realized: dict[int, tuple[int, ...]] = field(default_factory=dict)  # after line i, these

    def closure(self, target: int) -> list[int]:
        """The lines that `target` needs, itself last."""
        needed = {target}
        for i in range(target, -1, -1):
            if i in needed:
                needed.update(self.lines[i].inputs)
        return sorted(needed)

    def text(self, lines: list[int] | None = None) -> str:
        chosen = range(len(self.lines)) if lines is None else lines
        shown = []
        for i in chosen:
            keep = "" if i in self.live else "   # dropped"
            shown.append(f"v{i} = {self.lines[i].text}{keep}")
            if i in self.realized:
                shown.append(f"pt.realize({', '.join(f'v{j}' for j in self.realized[i])})")
        return "\n".join(shown)


# -- What each op means ---------------------------------------------------------------------------


def _float(ref: Array, error: Array, *operands: Value, ulps: float = 1.0) -> Value:
    """A float32 result: exact where the operands are and the result is representable."""
    ref = np.asarray(ref, np.float64)
    if all(v.exact for v in operands) and ulps <= 1 and np.array_equal(ref.astype(np.float32), ref):
        return Value(ref, np.zeros_like(ref), "float32")
    error = np.broadcast_to(np.asarray(error, np.float64), ref.shape)
    return Value(ref, error + 2 * ulps * EPS * np.abs(ref) + ulps * EPS * error + TINY, "float32")


def _exact(ref: Array, dtype: str) -> Value:
    ref = np.asarray(ref)
    if dtype == "int32":
        ref = ref.astype(np.int64).astype(np.int32).astype(np.int64)
    elif dtype == "bool":
        ref = ref.astype(bool)
    return Value(ref, np.zeros(ref.shape), dtype)


def _same(v: Value, move: Callable[[Array], Array]) -> Value:
    """A movement: values and errors go the same way."""
    return Value(
        np.ascontiguousarray(move(v.ref)).reshape(move(v.ref).shape),
        np.array(move(np.broadcast_to(v.error, v.ref.shape))),
        v.dtype,
    )


def _sum(v: Value, axes: tuple[int, ...], keep: bool) -> Value:
    ref = v.ref.sum(axis=axes, keepdims=keep)
    if v.dtype != "float32":
        return _exact(ref, "int32")
    size = np.abs(v.ref).sum(axis=axes, keepdims=keep)
    if v.exact and np.all(v.ref == np.rint(v.ref)) and np.all(size < 2**24):
        return Value(ref, np.zeros_like(ref), "float32")
    n = math.prod(v.shape[a] for a in axes) if axes else 1
    error = v.error.sum(axis=axes, keepdims=keep)
    return Value(ref, error + EPS * (8 + min(n, 64)) * (size + error) + TINY, "float32")


def _multiply(a: Value, b: Value) -> Value:
    error = np.abs(a.ref) * b.error + np.abs(b.ref) * a.error + a.error * b.error
    return _float(a.ref * b.ref, error, a, b)


def _extreme(v: Value, ref: Array, error: Array) -> Value:
    return Value(ref, error, v.dtype)


# -- Making a program -----------------------------------------------------------------------------

AXES_OF = "axis"
SHAPES = [
    (),
    (1,),
    (2,),
    (3,),
    (5,),
    (7,),
    (4, 4),
    (3, 5),
    (5, 1),
    (1, 7),
    (2, 3, 4),
    (4, 1, 3),
    (7, 3, 2),
    (16,),
    (33,),
    (8, 16),
    (17, 5),
    (3, 65),
    (64, 8),
    (2, 2, 2, 3),
    (1, 1),
    (257,),
    (2, 130),
    (5, 3, 31),
]


class Maker:
    """Grows one program from a random generator."""

    def __init__(self, seed: Any, lines: int, movement_only: bool = False) -> None:
        self.rng = np.random.default_rng(seed)
        self.program = Program(seed)
        self.lines = self.program.lines
        self.base = self._shape()
        self.movement_only = movement_only
        target = lines
        self._leaf()
        choices = MOVES if movement_only else STEPS
        names = list(choices)
        weights = np.array([choices[n] for n in names], float)
        weights /= weights.sum()
        while len(self.lines) < target:
            name = names[self.rng.choice(len(names), p=weights)]
            getattr(self, f"_{name}")()
            self._tame()

    # Choosing ------------------------------------------------------------------------------------

    def _shape(self) -> tuple[int, ...]:
        return SHAPES[self.rng.integers(len(SHAPES))]

    def _chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def _pick(self, test: Callable[[Value], bool] = lambda v: True) -> int | None:
        """A line whose value passes, recent ones more often."""
        found = [i for i, line in enumerate(self.lines) if test(line.value)]
        if not found:
            return None
        weights = np.array([1.0 + i for i in found])
        return int(found[self.rng.choice(len(found), p=weights / weights.sum())])

    def _value(self, i: int) -> Value:
        return self.lines[i].value

    def _add(self, text: str, inputs: tuple[int, ...], value: Value) -> int | None:
        if value.ref.size > MOST_ELEMENTS or value.ref.ndim > 8:
            return None
        self.lines.append(Line(text, inputs, value))
        return len(self.lines) - 1

    def _tame(self) -> None:
        """Scale the newest value back, exactly, where it has grown."""
        i = len(self.lines) - 1
        v = self._value(i)
        if v.dtype != "float32" or not v.ref.size:
            return
        size = float(np.abs(v.ref).max())
        if size > LARGEST:
            factor = 2.0 ** -math.ceil(math.log2(size / 4))
            self._add(f"v{i} * {factor!r}", (i,), _float(v.ref * factor, v.error * factor, v))

    def _float_line(self) -> int:
        i = self._pick(lambda v: v.dtype == "float32")
        return self._leaf() if i is None else i

    def _axes(self, v: Value) -> tuple[int, ...]:
        rank = len(v.shape)
        count = int(self.rng.integers(1, rank + 1)) if self._chance(0.4) else 1
        return tuple(sorted(self.rng.choice(rank, size=min(count, rank), replace=False).tolist()))

    # Leaves --------------------------------------------------------------------------------------

    def _leaf(self) -> int:
        shape = self.base if self._chance(0.6) else self._shape()
        kind = self.rng.choice(
            ["normal", "ints", "int32", "bool", "arange", "full"],
            p=[0.35, 0.35, 0.1, 0.08, 0.07, 0.05],
        )
        if kind == "arange":
            n = math.prod(shape)
            ref = np.arange(n, dtype=np.float64).reshape(shape)
            text = f"pt.arange({n}, dtype=pt.float32, device=device).reshape({shape})"
            index = self._add(text, (), Value(ref, np.zeros(shape), "float32"))
        elif kind == "full":
            x = float(self.rng.integers(-3, 4))
            ref = np.full(shape, x)
            text = f"pt.full({shape}, {x}, device=device)"
            index = self._add(text, (), Value(ref, np.zeros(shape), "float32"))
        else:
            dtype = {"normal": "float32", "ints": "float32"}.get(kind, kind)
            if kind == "normal":
                data = self.rng.standard_normal(shape, dtype=np.float32)
            elif kind == "bool":
                data = self.rng.random(shape) < 0.5
            else:
                data = self.rng.integers(-5, 6, shape).astype(dtype)
            data = np.asarray(data)
            wide = {"float32": np.float64, "int32": np.int64, "bool": bool}[dtype]
            name = f"d{len(self.lines)}"
            self.program.data[name] = data
            value = Value(data.astype(wide), np.zeros(shape), dtype)
            index = self._add(f"pt.tensor({name}, device=device)", (), value)
        assert index is not None
        return index

    # Elementwise ---------------------------------------------------------------------------------

    def _unary(self) -> None:
        i = self._pick()
        assert i is not None
        v = self._value(i)
        if v.dtype == "int32":
            op = self.rng.choice(["-", "abs", "square"])
            text, ref = {
                "-": (f"-v{i}", -v.ref),
                "abs": (f"abs(v{i})", np.abs(v.ref)),
                "square": (f"v{i}.square()", v.ref * v.ref),
            }[op]
            self._add(text, (i,), _exact(ref, "int32"))
            return
        if v.dtype == "bool":
            self._add(f"~v{i}", (i,), _exact(~v.ref, "bool"))
            return
        x, e = v.ref, v.error
        op = self.rng.choice(
            [
                "neg",
                "abs",
                "square",
                "relu",
                "tanh",
                "sin",
                "cos",
                "sigmoid",
                "exp",
                "sqrt",
                "log",
                "rec",
                "floor",
                "clip",
            ]
        )
        if op == "neg":
            self._add(f"-v{i}", (i,), Value(-x, e, "float32"))
        elif op == "abs":
            self._add(f"v{i}.abs()", (i,), Value(np.abs(x), e, "float32"))
        elif op == "relu":
            self._add(f"v{i}.relu()", (i,), Value(np.maximum(x, 0), e, "float32"))
        elif op == "clip":
            self._add(f"v{i}.clip(-1.5, 2)", (i,), Value(np.clip(x, -1.5, 2), e, "float32"))
        elif op == "square":
            self._add(f"v{i} ** 2", (i,), _multiply(v, v))
        elif op == "tanh":
            self._add(f"v{i}.tanh()", (i,), _float(np.tanh(x), e, v, ulps=5))
        elif op in ("sin", "cos"):
            self._add(f"v{i}.{op}()", (i,), _float(getattr(np, op)(x), e, v, ulps=5))
        elif op == "sigmoid":
            self._add(f"pt.sigmoid(v{i})", (i,), _float(1 / (1 + np.exp(-x)), e, v, ulps=5))
        elif op == "exp":
            y = np.exp(np.tanh(x))
            self._add(f"pt.exp(v{i}.tanh())", (i,), _float(y, 3 * e + 30 * EPS, v, ulps=10))
        elif op == "sqrt":
            self._add(
                f"(v{i}.abs() + 1.0).sqrt()", (i,), _float(np.sqrt(np.abs(x) + 1), e, v, ulps=5)
            )
        elif op == "log":
            y = np.log(np.abs(x) + 1)
            self._add(f"(v{i}.abs() + 1).log()", (i,), _float(y, e + 2 * EPS, v, ulps=6))
        elif op == "rec":
            self._add(f"1 / (v{i}.abs() + 1)", (i,), _float(1 / (np.abs(x) + 1), e, v, ulps=5))
        elif op == "floor" and v.exact:
            self._add(f"v{i}.floor()", (i,), _exact(np.floor(x), "float32"))

    def _cast(self) -> None:
        i = self._pick()
        assert i is not None
        v = self._value(i)
        if v.dtype == "bool":
            to = self.rng.choice(["float32", "int32"])
            ref = v.ref.astype({"float32": np.float64, "int32": np.int64}[to])
            self._add(f"v{i}.astype(pt.{to})", (i,), _exact(ref, to))
        elif v.dtype == "int32":
            if np.all(np.abs(v.ref) < 2**24):
                self._add(
                    f"v{i}.astype('float32')", (i,), _exact(v.ref.astype(np.float64), "float32")
                )
        elif v.exact:
            self._add(f"v{i}.astype(pt.int32)", (i,), _exact(np.trunc(v.ref), "int32"))

    def _partner(self, i: int, dtype: str) -> int:
        """A line that broadcasts with line i: one that is there, or a reduction or a leaf made for it."""
        shape = self._value(i).shape
        if self._chance(0.85):

            def fits(v: Value) -> bool:
                try:
                    size = math.prod(np.broadcast_shapes(v.shape, shape))
                except ValueError:
                    return False
                return v.dtype == dtype and size <= MOST_ELEMENTS

            j = self._pick(fits)
            if j is not None:
                return j
        return i

    def _binary(self) -> None:
        i = self._pick(lambda v: v.dtype != "bool")
        if i is None:
            return
        v = self._value(i)
        j = self._partner(i, v.dtype)
        w = self._value(j)
        if self._chance(0.3):
            i, j, v, w = j, i, w, v
        if v.dtype == "int32":
            op = self.rng.choice(["+", "-", "*", "//", "%"])
            if op in "+-*":
                ref = {"+": v.ref + w.ref, "-": v.ref - w.ref, "*": v.ref * w.ref}[op]
            else:
                safe = np.where(w.ref == 0, 1, w.ref)
                found = np.floor_divide(v.ref, safe) if op == "//" else np.remainder(v.ref, safe)
                ref = np.where(w.ref == 0, 0, found)
            self._add(f"v{i} {op} v{j}", (i, j), _exact(ref, "int32"))
            return
        op = self.rng.choice(["+", "-", "*", "maximum", "minimum", "/"])
        error = v.error + w.error
        if op == "+":
            self._add(f"v{i} + v{j}", (i, j), _float(v.ref + w.ref, error, v, w))
        elif op == "-":
            self._add(f"v{i} - v{j}", (i, j), _float(v.ref - w.ref, error, v, w))
        elif op == "*":
            self._add(f"v{i} * v{j}", (i, j), _multiply(v, w))
        elif op == "/":
            d = np.abs(w.ref) + 1
            q = v.ref / d
            self._add(
                f"v{i} / (abs(v{j}) + 1)",
                (i, j),
                _float(q, v.error / d + np.abs(q) * (w.error + 2 * EPS * d) / d, v, w, ulps=4),
            )
        else:
            ref = getattr(np, op)(v.ref, w.ref)
            error = np.maximum(*np.broadcast_arrays(v.error, w.error)) + np.zeros(ref.shape)
            self._add(f"pt.{op}(v{i}, v{j})", (i, j), Value(ref, error, "float32"))

    def _scalar(self) -> None:
        i = self._pick(lambda v: v.dtype != "bool")
        if i is None:
            return
        v = self._value(i)
        c = int(self.rng.integers(-3, 4))
        op = self.rng.choice(
            ["{} + {}", "{} - {}", "{} * {}", "{1} - {0}", "{1} + {0}", "{1} * {0}"]
        )
        ref = eval(op.format("r", "c"), {"r": v.ref, "c": c})
        error = v.error * (abs(c) if "*" in op else 1)
        value = _exact(ref, "int32") if v.dtype == "int32" else _float(ref, error, v)
        self._add(op.format(f"v{i}", f"({c})"), (i,), value)

    def _compare(self) -> None:
        i = self._pick(lambda v: v.dtype != "bool" and v.exact)
        if i is None:
            return
        v = self._value(i)
        op = self.rng.choice(["<", "<=", ">", ">=", "==", "!="])
        j = self._partner(i, v.dtype)
        w = self._value(j)
        if not w.exact:
            return
        ref = eval(f"a {op} b", {"a": v.ref, "b": w.ref})
        self._add(f"v{i} {op} v{j}", (i, j), _exact(ref, "bool"))

    def _logical(self) -> None:
        i = self._pick(lambda v: v.dtype == "bool")
        if i is None:
            return self._compare()
        j = self._partner(i, "bool")
        op = self.rng.choice(["&", "|", "^"])
        ref = eval(f"a {op} b", {"a": self._value(i).ref, "b": self._value(j).ref})
        self._add(f"v{i} {op} v{j}", (i, j), _exact(ref, "bool"))
        return None

    def _where(self) -> None:
        i = self._pick(lambda v: v.dtype == "bool")
        if i is None:
            return self._compare()
        shape = self._value(i).shape
        j = self._partner(i, "float32")
        k = self._partner(i, "float32")
        a, b, c = (self._value(n) for n in (i, j, k))
        if "bool" in (b.dtype, c.dtype) or b.dtype != c.dtype:
            return None
        try:
            shape = np.broadcast_shapes(a.shape, b.shape, c.shape)
        except ValueError:
            return None
        if math.prod(shape) > MOST_ELEMENTS:
            return None
        ref, error = np.where(a.ref, b.ref, c.ref), np.where(a.ref, b.error, c.error)
        self._add(f"pt.where(v{i}, v{j}, v{k})", (i, j, k), Value(ref, error, b.dtype))
        return None

    # Folds ---------------------------------------------------------------------------------------

    def _reduce(self) -> None:
        i = self._pick(lambda v: v.ref.ndim > 0 and v.ref.size > 0)
        if i is None:
            return
        v = self._value(i)
        axes = self._axes(v)
        keep = self._chance(0.6)
        given = f"{axes}" if len(axes) > 1 or self._chance(0.3) else f"{axes[0]}"
        if len(axes) == v.ref.ndim and self._chance(0.3):
            given = "None"
        op = self.rng.choice(
            ["sum", "sum", "max", "min", "mean", "any", "all", "argmax", "argmin", "prod"]
        )
        call = f"v{i}.{op}({given}, keepdims={keep})"
        if op == "sum":
            self._add(call, (i,), _sum(v, axes, keep))
        elif op in ("max", "min"):
            ref = getattr(v.ref, op)(axis=axes, keepdims=keep)
            error = v.error.max(axis=axes, keepdims=keep)
            self._add(call, (i,), Value(ref, error, v.dtype))
        elif op == "mean":
            n = math.prod(v.shape[a] for a in axes)
            if v.dtype != "float32":
                if np.abs(v.ref.astype(float)).sum() >= 2**24:
                    return
                v = _exact(v.ref.astype(np.float64), "float32")
            total = _sum(v, axes, keep)
            self._add(call, (i,), _float(total.ref / n, total.error / n, total, ulps=4))
        elif op in ("any", "all"):
            if v.exact:
                ref = getattr((v.ref != 0), op)(axis=axes, keepdims=keep)
                self._add(call, (i,), _exact(ref, "bool"))
        elif op in ("argmax", "argmin"):
            if v.exact and len(axes) == 1:
                ref = getattr(v.ref, op)(axis=axes[0])
                ref = np.expand_dims(ref, axes[0]) if keep else ref
                self._add(f"v{i}.{op}({axes[0]}, keepdims={keep})", (i,), _exact(ref, "int32"))
        elif op == "prod" and v.dtype == "float32":
            n = math.prod(v.shape[a] for a in axes)
            if n <= 8 and np.all(np.abs(v.ref) < 8):
                ref = v.ref.prod(axis=axes, keepdims=keep)
                top = (np.abs(v.ref) + v.error).prod(axis=axes, keepdims=keep)
                error = top * (2 * n * EPS) + top - np.abs(v.ref).prod(axis=axes, keepdims=keep)
                self._add(call, (i,), _float(ref, error, v, ulps=4))

    def _normalize(self) -> None:
        """A value with its own fold: softmax's and layer norm's form."""
        i = self._pick(lambda v: v.dtype == "float32" and v.ref.ndim > 0 and v.ref.size > 0)
        if i is None:
            return
        v = self._value(i)
        axes = self._axes(v)
        kind = self.rng.choice(["centre", "shift", "softmax", "scale"])
        if kind == "centre":
            n = math.prod(v.shape[a] for a in axes)
            total = _sum(v, axes, True)
            ref = v.ref - total.ref / n
            error = v.error + total.error / n + 4 * EPS * np.abs(total.ref / n)
            self._add(
                f"v{i} - v{i}.mean({axes}, keepdims=True)", (i,), _float(ref, error, v, ulps=2)
            )
        elif kind == "shift":
            top = Value(v.ref.max(axes, keepdims=True), v.error.max(axes, keepdims=True), "float32")
            self._add(
                f"v{i} - v{i}.max({axes}, keepdims=True)",
                (i,),
                _float(v.ref - top.ref, v.error + top.error, v),
            )
        elif kind == "softmax":
            e = np.exp(v.ref - v.ref.max(axes, keepdims=True))
            ref = e / e.sum(axes, keepdims=True)
            error = ref * np.expm1(np.minimum(4 * (v.error.max() + 400 * EPS), 1.0))
            shifted = f"(v{i} - v{i}.max({axes}, keepdims=True)).exp()"
            self._add(
                f"(lambda e: e / e.sum({axes}, keepdims=True))({shifted})",
                (i,),
                _float(ref, error, v, ulps=40),
            )
        else:
            size = _sum(Value(np.abs(v.ref), v.error, "float32"), axes, True)
            d = size.ref + 1
            q = v.ref / d
            error = v.error / d + np.abs(q) * (size.error + 4 * EPS * d) / d
            self._add(
                f"v{i} / (v{i}.abs().sum({axes}, keepdims=True) + 1)",
                (i,),
                _float(q, error, v, ulps=4),
            )

    def _matmul(self) -> None:
        i = self._pick(lambda v: v.dtype == "float32" and v.ref.ndim >= 1)
        if i is None:
            return
        v = self._value(i)

        def fits(w: Value) -> bool:
            if w.dtype != "float32" or not w.ref.ndim:
                return False
            inner = w.shape[-2] if w.ref.ndim > 1 else w.shape[0]
            if inner != v.shape[-1]:
                return False
            try:
                np.broadcast_shapes(v.shape[:-2], w.shape[:-2])
            except ValueError:
                return False
            return True

        j = self._pick(fits)
        text_of = f"v{j}"
        if j is None:  # with its own transpose
            if v.ref.ndim < 2:
                return
            j, text_of = i, f"v{i}.mT"
            w = _same(v, lambda x: np.swapaxes(x, -1, -2))
        else:
            w = self._value(j)
        ref = v.ref @ w.ref
        size = np.abs(v.ref) @ np.abs(w.ref)
        error = np.abs(v.ref) @ w.error + v.error @ np.abs(w.ref) + v.error @ w.error
        k = v.shape[-1]
        ints = (
            v.exact
            and w.exact
            and np.all(v.ref == np.rint(v.ref))
            and np.all(w.ref == np.rint(w.ref))
        )
        if ints and np.all(size < 2**24):
            value = Value(np.asarray(ref), np.zeros(np.shape(ref)), "float32")
        else:
            value = Value(
                np.asarray(ref), np.asarray(error + EPS * (k + 4) * size + TINY), "float32"
            )
        self._add(f"v{i} @ {text_of}", (i, j), value)

    # Movement ------------------------------------------------------------------------------------

    def _move(self, i: int, text: str, move: Callable[[Array], Array]) -> None:
        v = self._value(i)
        if np.broadcast(move(v.ref)).size <= MOST_ELEMENTS:
            self._add(text, (i,), _same(v, move))

    def _permute(self) -> None:
        i = self._pick(lambda v: v.ref.ndim > 1)
        if i is None:
            return
        order = tuple(self.rng.permutation(len(self._value(i).shape)).tolist())
        self._move(i, f"v{i}.permute({order})", lambda x: x.transpose(order))

    def _flip(self) -> None:
        i = self._pick(lambda v: v.ref.ndim > 0)
        if i is None:
            return
        axes = self._axes(self._value(i))
        self._move(i, f"v{i}.flip({axes})", lambda x: np.flip(x, axes))

    def _reshape(self) -> None:
        i = self._pick()
        assert i is not None
        shape = self._new_shape(self._value(i).ref.size, len(self._value(i).shape))
        self._move(i, f"v{i}.reshape({shape})", lambda x: x.reshape(shape))

    def _new_shape(self, size: int, rank: int) -> tuple[int, ...]:
        if size == 0:
            return (0, 3) if self._chance(0.5) else (2, 0)
        sizes: list[int] = []
        left = size
        for _ in range(int(self.rng.integers(0, 4))):
            divisors = [d for d in range(1, min(left, 64) + 1) if left % d == 0]
            d = int(self.rng.choice(divisors))
            sizes.append(d)
            left //= d
        sizes.append(left)
        self.rng.shuffle(sizes)
        return tuple(sizes) if size > 1 or self._chance(0.7) else ()

    def _expand(self) -> None:
        i = self._pick(lambda v: v.ref.size < 400 and v.ref.ndim < 5)
        if i is None:
            return
        v = self._value(i)
        shape = tuple(int(self.rng.choice([1, 2, 3, 5])) if n == 1 else n for n in v.shape)
        if self._chance(0.4):
            shape = (int(self.rng.choice([1, 2, 3, 4])), *shape)
        self._move(i, f"v{i}.expand({shape})", lambda x: np.broadcast_to(x, shape))

    def _slice(self) -> None:
        i = self._pick(lambda v: v.ref.ndim > 0)
        if i is None:
            return
        keys: list[Any] = []
        texts: list[str] = []
        for n in self._value(i).shape:
            kind = self.rng.random()
            if kind < 0.25 and n and len(self._value(i).shape) < 4:
                k: Any = int(self.rng.integers(-n, n))
                keys.append(k)
                texts.append(str(k))
            elif kind < 0.85 and n > 1:
                a, b = sorted(self.rng.integers(0, n + 1, 2).tolist())
                if a == b and not self._chance(0.03):
                    a, b = 0, n
                step = int(self.rng.choice([1, 1, 2, 3, -1, -2]))
                if step < 0:
                    keys.append(slice(b - 1 if b else None, a - 1 if a else None, step))
                    texts.append(f"{'' if not b else b - 1}:{'' if not a else a - 1}:{step}")
                else:
                    keys.append(slice(a, b, step))
                    texts.append(f"{a}:{b}:{step}")
            else:
                keys.append(slice(None))
                texts.append(":")
            if self._chance(0.08):
                keys.append(None)
                texts.append("None")
        key = tuple(keys)
        if self._value(i).ref[key].size or self._chance(0.2):
            self._move(i, f"v{i}[{', '.join(texts)}]", lambda x: np.asarray(x[key]))

    def _pad(self) -> None:
        i = self._pick(lambda v: v.ref.ndim > 0 and v.ref.size < 1500)
        if i is None:
            return
        v = self._value(i)
        widths = tuple(
            (int(self.rng.integers(0, 3)), int(self.rng.integers(0, 3))) for _ in v.shape
        )
        fill: Any = {"float32": 0.0, "int32": 0, "bool": False}[v.dtype]
        if v.dtype != "bool" and self._chance(0.5):
            fill = type(fill)(2)
        ref = np.pad(v.ref, widths, constant_values=fill)
        error = np.pad(np.broadcast_to(v.error, v.shape), widths)
        tail = f", constant_values={fill!r}" if fill or self._chance(0.3) else ""
        self._add(f"v{i}.pad({widths}{tail})", (i,), Value(ref, error, v.dtype))

    def _crop(self) -> None:
        i = self._pick(lambda v: v.ref.ndim > 0 and 0 not in v.shape)
        if i is None:
            return
        window = []
        for n in self._value(i).shape:
            a = int(self.rng.integers(0, min(n, 3)))
            window.append((a, int(self.rng.integers(max(a + 1, n - 2), n + 1))))
        key = tuple(slice(a, b) for a, b in window)
        self._move(i, f"v{i}.crop({tuple(window)})", lambda x: x[key])

    def _concat(self) -> None:
        i = self._pick(lambda v: v.ref.ndim > 0)
        if i is None:
            return
        v = self._value(i)
        axis = int(self.rng.integers(len(v.shape)))

        def fits(w: Value) -> bool:
            return (
                w.dtype == v.dtype
                and w.ref.ndim == v.ref.ndim
                and all(
                    a == axis or n == m
                    for a, (n, m) in enumerate(zip(w.shape, v.shape, strict=True))
                )
            )

        js = [
            i,
            *(
                j
                for _ in range(int(self.rng.integers(1, 4)))
                if (j := self._pick(fits)) is not None
            ),
        ]
        if self._chance(0.5):
            self.rng.shuffle(js)
        values = [self._value(j) for j in js]
        if sum(w.ref.size for w in values) > MOST_ELEMENTS:
            return
        ref = np.concatenate([w.ref for w in values], axis)
        error = np.concatenate([np.broadcast_to(w.error, w.shape) for w in values], axis)
        names = ", ".join(f"v{j}" for j in js)
        self._add(f"pt.concat([{names}], {axis})", tuple(js), Value(ref, error, v.dtype))

    def _stack(self) -> None:
        i = self._pick(lambda v: v.ref.ndim < 4)
        if i is None:
            return
        v = self._value(i)
        j = self._pick(lambda w: w.dtype == v.dtype and w.shape == v.shape)
        assert j is not None
        w = self._value(j)
        axis = int(self.rng.integers(len(v.shape) + 1))
        if v.ref.size * 2 > MOST_ELEMENTS:
            return
        error = np.stack([np.broadcast_to(u.error, u.shape) for u in (v, w)], axis)
        self._add(
            f"pt.stack([v{i}, v{j}], {axis})",
            (i, j),
            Value(np.stack([v.ref, w.ref], axis), error, v.dtype),
        )


STEPS = {
    "leaf": 1.2,
    "unary": 2.5,
    "binary": 5,
    "scalar": 1,
    "compare": 0.8,
    "logical": 0.5,
    "where": 1,
    "cast": 0.6,
    "reduce": 3,
    "normalize": 1.2,
    "matmul": 0.7,
    "permute": 0.8,
    "flip": 0.5,
    "reshape": 0.8,
    "expand": 0.7,
    "slice": 1.2,
    "pad": 0.5,
    "crop": 0.3,
    "concat": 0.6,
    "stack": 0.3,
}
MOVES = {
    "leaf": 0.1,
    "permute": 1,
    "flip": 1,
    "reshape": 1.3,
    "expand": 1,
    "slice": 1.3,
    "pad": 0.7,
    "crop": 0.7,
}


def make(seed: Any, lines: int, *, movement_only: bool = False) -> Program:
    """A program of about `lines` lines, the same for the same seed."""
    maker = Maker(seed, lines, movement_only)
    program, rng = maker.program, maker.rng
    last = len(program.lines) - 1
    keep = rng.choice([0.15, 0.5, 1.0])
    program.live = {i for i in range(last + 1) if rng.random() < keep} | {last}
    if rng.random() < 0.25:
        at = int(rng.integers(last + 1))
        chosen = [i for i in range(at + 1) if i in program.live]
        if chosen:
            program.realized[at] = tuple(chosen[-3:])
    return program


# -- Running one ----------------------------------------------------------------------------------


def run(
    program: Program,
    device: str,
    lines: list[int] | None = None,
    live: set[int] | None = None,
    order: Any = None,
) -> dict[int, Any]:
    """The live lines' results as NumPy arrays, read in a random order."""
    chosen = list(range(len(program.lines))) if lines is None else lines
    live = program.live if live is None else live
    last_use: dict[int, int] = {}
    for i in chosen:
        last_use[i] = i
        for j in program.lines[i].inputs:
            last_use[j] = i
    names: dict[str, Any] = {"pt": pt, "device": device, **program.data}
    for i in chosen:
        names[f"v{i}"] = eval(program.lines[i].text, names)
        for j in {i, *program.lines[i].inputs}:
            if j not in live and last_use[j] <= i:
                names.pop(f"v{j}", None)
        if lines is None and i in program.realized:
            pt.realize(*(names[f"v{j}"] for j in program.realized[i]))
    kept = [i for i in chosen if i in live]
    if order is not None:
        order.shuffle(kept)
    return {i: names[f"v{i}"].numpy() for i in kept}


def mismatch(value: Value, got: Array) -> str | None:
    """What is wrong with a result, or None."""
    if got.shape != value.shape:
        return f"shape {got.shape}, not {value.shape}"
    if got.dtype.name != value.dtype:
        return f"dtype {got.dtype}, not {value.dtype}"
    if value.dtype != "float32":
        bad = got != value.ref
    else:
        with np.errstate(invalid="ignore"):
            bad = ~(np.abs(got.astype(np.float64) - value.ref) <= value.error)
    if not np.any(bad):
        return None
    at = tuple(int(n) for n in np.argwhere(bad)[0])
    return (
        f"{int(np.count_nonzero(bad))} of {got.size} elements are wrong; at {at}: {got[at]!r}, "
        f"not {value.ref[at]!r} (+- {value.error[at]:.3g})"
    )


def check(program: Program, device: str) -> None:
    """Run a program; where a result is wrong, name the shortest program that shows it."""
    try:
        got = run(program, device, order=np.random.default_rng(program.seed))
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    else:
        wrong = ((i, mismatch(program.lines[i].value, a)) for i, a in sorted(got.items()))
        first = next(((i, m) for i, m in wrong if m), None)
        if first is None:
            return
        problem = f"v{first[0]}: {first[1]}"
    raise AssertionError(
        f"program of seed {program.seed}: {problem}\n\n{program.text()}\n\n"
        f"Shortest found:\n{shrink(program, device)}"
    )


def shrink(program: Program, device: str) -> str:
    """The smallest line whose ancestors alone already go wrong, with their lines."""
    for i in range(len(program.lines)):
        lines = program.closure(i)
        for live in ({i}, set(lines)):
            try:
                got = run(program, device, lines, live)
                problem = next(
                    (
                        f"v{j}: {m}"
                        for j in sorted(live)
                        if (m := mismatch(program.lines[j].value, got[j]))
                    ),
                    None,
                )
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
            if problem:
                chosen = Program(program.seed, program.lines, live=live)
                data = "\n".join(
                    f"{k} = {_shown(v)}"
                    for k, v in program.data.items()
                    if f"v{k[1:]}" in {f"v{j}" for j in lines}
                )
                return f"{data}\n{chosen.text(lines)}\n-> {problem}"
    return "(only the whole program goes wrong)"


def _shown(a: Array) -> str:
    return f"np.array({a.tolist()!r}, '{a.dtype}')" if a.size <= 24 else f"<{a.dtype} {a.shape}>"
