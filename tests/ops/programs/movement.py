"""Steps that move elements: views, padding, joining."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.ops.programs.base import MAX_ELEMENTS, Base
from tests.ops.programs.value import Array, Value, moved


class Movement(Base):
    """Views of views, and ops that copy."""

    def _move(self, i: int, text: str, move: Callable[[Array], Array]) -> None:
        v = self._value(i)
        if np.broadcast(move(v.ref)).size <= MAX_ELEMENTS:
            self._add(text, (i,), moved(v, move))

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
        if sum(w.ref.size for w in values) > MAX_ELEMENTS:
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
        if v.ref.size * 2 > MAX_ELEMENTS:
            return
        error = np.stack([np.broadcast_to(u.error, u.shape) for u in (v, w)], axis)
        self._add(
            f"pt.stack([v{i}, v{j}], {axis})",
            (i, j),
            Value(np.stack([v.ref, w.ref], axis), error, v.dtype),
        )
