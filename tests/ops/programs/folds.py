"""Steps that reduce: reductions, rows combined with their own reduction, matrix products."""

from __future__ import annotations

import math

import numpy as np

from tests.ops.programs.base import Base
from tests.ops.programs.value import EPS, TINY, Value, exact, floating, moved, total_of


class Folds(Base):
    """Reductions and matmul."""

    def _reduce(self) -> None:
        i = self._pick(lambda v: v.ref.ndim > 0 and v.ref.size > 0)
        if i is None:
            return
        v = self._value(i)
        axes = self._axes(v)
        keep = self._chance(0.6)
        given = f"{axes[0]}" if len(axes) == 1 and self._chance(0.7) else f"{axes}"
        if len(axes) == v.ref.ndim and self._chance(0.3):
            given = "None"
        op = self.rng.choice(
            ["sum", "sum", "max", "min", "mean", "any", "all", "argmax", "argmin", "prod"]
        )
        call = f"v{i}.{op}({given}, keepdims={keep})"
        if op == "sum":
            self._add(call, (i,), total_of(v, axes, keep))
        elif op in ("max", "min"):
            ref = getattr(v.ref, op)(axis=axes, keepdims=keep)
            error = v.error.max(axis=axes, keepdims=keep)
            self._add(call, (i,), Value(ref, error, v.dtype))
        elif op == "mean":
            n = math.prod(v.shape[a] for a in axes)
            if v.dtype != "float32":
                if np.abs(v.ref.astype(float)).sum() >= 2**24:
                    return
                v = exact(v.ref.astype(np.float64), "float32")
            total = total_of(v, axes, keep)
            self._add(call, (i,), floating(total.ref / n, total.error / n, total, ulps=4))
        elif op in ("any", "all"):
            if v.exact:
                ref = getattr((v.ref != 0), op)(axis=axes, keepdims=keep)
                self._add(call, (i,), exact(ref, "bool"))
        elif op in ("argmax", "argmin"):
            if v.exact and len(axes) == 1:
                ref = getattr(v.ref, op)(axis=axes[0])
                ref = np.expand_dims(ref, axes[0]) if keep else ref
                self._add(f"v{i}.{op}({axes[0]}, keepdims={keep})", (i,), exact(ref, "int32"))
        elif op == "prod" and v.dtype == "float32":
            n = math.prod(v.shape[a] for a in axes)
            if n <= 8 and np.all(np.abs(v.ref) < 8):
                ref = v.ref.prod(axis=axes, keepdims=keep)
                top = (np.abs(v.ref) + v.error).prod(axis=axes, keepdims=keep)
                error = top * (2 * n * EPS) + top - np.abs(v.ref).prod(axis=axes, keepdims=keep)
                self._add(call, (i,), floating(ref, error, v, ulps=4))

    def _normalize(self) -> None:
        """A value combined with its own reduction, as in softmax and layer norm."""
        i = self._pick(lambda v: v.dtype == "float32" and v.ref.ndim > 0 and v.ref.size > 0)
        if i is None:
            return
        v = self._value(i)
        axes = self._axes(v)
        kind = self.rng.choice(["centre", "shift", "softmax", "scale"])
        if kind == "centre":
            n = math.prod(v.shape[a] for a in axes)
            total = total_of(v, axes, True)
            ref = v.ref - total.ref / n
            error = v.error + total.error / n + 4 * EPS * np.abs(total.ref / n)
            self._add(
                f"v{i} - v{i}.mean({axes}, keepdims=True)", (i,), floating(ref, error, v, ulps=2)
            )
        elif kind == "shift":
            top = Value(v.ref.max(axes, keepdims=True), v.error.max(axes, keepdims=True), "float32")
            self._add(
                f"v{i} - v{i}.max({axes}, keepdims=True)",
                (i,),
                floating(v.ref - top.ref, v.error + top.error, v),
            )
        elif kind == "softmax":
            e = np.exp(v.ref - v.ref.max(axes, keepdims=True))
            ref = e / e.sum(axes, keepdims=True)
            error = ref * np.expm1(np.minimum(4 * (v.error.max() + 400 * EPS), 1.0))
            shifted = f"(v{i} - v{i}.max({axes}, keepdims=True)).exp()"
            self._add(
                f"(lambda e: e / e.sum({axes}, keepdims=True))({shifted})",
                (i,),
                floating(ref, error, v, ulps=40),
            )
        else:
            size = total_of(Value(np.abs(v.ref), v.error, "float32"), axes, True)
            d = size.ref + 1
            q = v.ref / d
            error = v.error / d + np.abs(q) * (size.error + 4 * EPS * d) / d
            self._add(
                f"v{i} / (v{i}.abs().sum({axes}, keepdims=True) + 1)",
                (i,),
                floating(q, error, v, ulps=4),
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
            w = moved(v, lambda x: np.swapaxes(x, -1, -2))
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
