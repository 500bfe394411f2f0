"""Elementwise steps: arithmetic, comparison, selection, conversion."""

from __future__ import annotations

import math

import numpy as np

from tests.ops.programs.base import MAX_ELEMENTS, Base
from tests.ops.programs.value import EPS, Value, exact, floating, product_of


class Elementwise(Base):
    """Steps of one, two and three operands."""

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
            self._add(text, (i,), exact(ref, "int32"))
            return
        if v.dtype == "bool":
            self._add(f"~v{i}", (i,), exact(~v.ref, "bool"))
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
            self._add(f"v{i} ** 2", (i,), product_of(v, v))
        elif op == "tanh":
            self._add(f"v{i}.tanh()", (i,), floating(np.tanh(x), e, v, ulps=5))
        elif op in ("sin", "cos"):
            self._add(f"v{i}.{op}()", (i,), floating(getattr(np, op)(x), e, v, ulps=5))
        elif op == "sigmoid":
            self._add(f"pt.sigmoid(v{i})", (i,), floating(1 / (1 + np.exp(-x)), e, v, ulps=5))
        elif op == "exp":
            y = np.exp(np.tanh(x))
            self._add(f"pt.exp(v{i}.tanh())", (i,), floating(y, 3 * e + 30 * EPS, v, ulps=10))
        elif op == "sqrt":
            self._add(
                f"(v{i}.abs() + 1.0).sqrt()", (i,), floating(np.sqrt(np.abs(x) + 1), e, v, ulps=5)
            )
        elif op == "log":
            y = np.log(np.abs(x) + 1)
            self._add(f"(v{i}.abs() + 1).log()", (i,), floating(y, e + 2 * EPS, v, ulps=6))
        elif op == "rec":
            self._add(f"1 / (v{i}.abs() + 1)", (i,), floating(1 / (np.abs(x) + 1), e, v, ulps=5))
        elif op == "floor" and v.exact:
            self._add(f"v{i}.floor()", (i,), exact(np.floor(x), "float32"))

    def _cast(self) -> None:
        i = self._pick()
        assert i is not None
        v = self._value(i)
        if v.dtype == "bool":
            to = self.rng.choice(["float32", "int32"])
            ref = v.ref.astype({"float32": np.float64, "int32": np.int64}[to])
            self._add(f"v{i}.astype(pt.{to})", (i,), exact(ref, to))
        elif v.dtype == "int32":
            if np.all(np.abs(v.ref) < 2**24):
                self._add(
                    f"v{i}.astype('float32')", (i,), exact(v.ref.astype(np.float64), "float32")
                )
        elif v.exact:
            self._add(f"v{i}.astype(pt.int32)", (i,), exact(np.trunc(v.ref), "int32"))

    def _partner(self, i: int, dtype: str) -> int:
        """A line of the dtype that broadcasts with line i; line i itself if there is none."""
        shape = self._value(i).shape
        if self._chance(0.85):

            def fits(v: Value) -> bool:
                try:
                    size = math.prod(np.broadcast_shapes(v.shape, shape))
                except ValueError:
                    return False
                return v.dtype == dtype and size <= MAX_ELEMENTS

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
            self._add(f"v{i} {op} v{j}", (i, j), exact(ref, "int32"))
            return
        op = self.rng.choice(["+", "-", "*", "maximum", "minimum", "/"])
        error = v.error + w.error
        if op == "+":
            self._add(f"v{i} + v{j}", (i, j), floating(v.ref + w.ref, error, v, w))
        elif op == "-":
            self._add(f"v{i} - v{j}", (i, j), floating(v.ref - w.ref, error, v, w))
        elif op == "*":
            self._add(f"v{i} * v{j}", (i, j), product_of(v, w))
        elif op == "/":
            d = np.abs(w.ref) + 1
            q = v.ref / d
            self._add(
                f"v{i} / (abs(v{j}) + 1)",
                (i, j),
                floating(q, v.error / d + np.abs(q) * (w.error + 2 * EPS * d) / d, v, w, ulps=4),
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
        value = exact(ref, "int32") if v.dtype == "int32" else floating(ref, error, v)
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
        self._add(f"v{i} {op} v{j}", (i, j), exact(ref, "bool"))

    def _logical(self) -> None:
        i = self._pick(lambda v: v.dtype == "bool")
        if i is None:
            return self._compare()
        j = self._partner(i, "bool")
        op = self.rng.choice(["&", "|", "^"])
        ref = eval(f"a {op} b", {"a": self._value(i).ref, "b": self._value(j).ref})
        self._add(f"v{i} {op} v{j}", (i, j), exact(ref, "bool"))
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
        if math.prod(shape) > MAX_ELEMENTS:
            return None
        ref, error = np.where(a.ref, b.ref, c.ref), np.where(a.ref, b.error, c.error)
        self._add(f"pt.where(v{i}, v{j}, v{k})", (i, j, k), Value(ref, error, b.dtype))
        return None
