"""Random programs over the public functions, run on a simulated device and on the cpu device.

A program keeps a few tensors, makes new ones from them, drops some, realizes some, and finally
reads the remaining ones. Floats stay small integers until an inexact op, and results of inexact ops
are never operands of a discontinuous one, so the two devices must agree exactly, or nearly.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

import py_tensor as pt
from py_tensor.backends.kinds import CPU_DEVICE
from py_tensor.base.errors import DTypeError
from py_tensor.base.shapes import Shape, size_of
from py_tensor.runtime.device import LazyDevice

LARGEST = 600  # elements of a tensor
MAGNITUDE = 1e4  # float results beyond it are dropped: sums stay exact


@dataclass
class Pair:
    """One tensor on both devices; `exact` unless rounding may differ between them."""

    name: str
    here: pt.Tensor
    there: pt.Tensor
    exact: bool

    @property
    def shape(self) -> Shape:
        return self.there.shape

    @property
    def kind(self) -> str:
        return self.there.dtype.kind


class NoOperandsError(Exception):
    """The pool has no operands for a step."""


class Program:
    """A random program; `text` is its source, for the message of a failure."""

    def __init__(self, seed: int, device: LazyDevice) -> None:
        self.random = random.Random(seed)
        self.device = device
        self.pool: list[Pair] = []
        self.text: list[str] = [f"# seed {seed}"]
        self.count = 0

    def run(self, steps: int) -> None:
        """Take `steps` steps, then compare all remaining tensors."""
        try:
            for _ in range(self.random.randint(1, 3)):
                self.leaf(self.shape())
            for _ in range(steps):
                with suppress(NoOperandsError):
                    self.random.choices(STEPS, WEIGHTS)[0](self)
                while len(self.pool) > 12:
                    self.forget()
            self.random.shuffle(self.pool)
            if self.random.random() < 0.5:
                self.realize(self.pool)
            for pair in self.pool:
                self.compare(pair)
        except Exception as error:
            error.add_note("\n".join(self.text))
            raise

    # -- Pieces ---------------------------------------------------------------------------------

    def shape(self, rank: int | None = None) -> Shape:
        rank = self.random.choice((0, 1, 2, 2, 3, 3, 4)) if rank is None else rank
        return tuple(self.random.choice((1, 2, 3, 4, 5)) for _ in range(rank))

    def any(self, test: Callable[[Pair], bool] = lambda p: True) -> Pair:
        """Return a tensor of the pool; recent ones are more likely."""
        found = [p for p in self.pool if test(p)]
        if not found:
            raise NoOperandsError
        return self.random.choice(found[-4:] if self.random.random() < 0.5 else found)

    def leaf(self, shape: Shape, dtype: str | None = None) -> Pair:
        dtype = dtype or self.random.choice(("int32", "int32", "float32", "float32", "bool"))
        low, high = (0, 2) if dtype == "bool" else (-3, 4)
        values = [self.random.randrange(low, high) for _ in range(size_of(shape))]
        array = np.array(values).astype(dtype).reshape(shape)
        here, there = (pt.tensor(array, device=d) for d in (self.device, CPU_DEVICE))
        self.note(f"pt.tensor(np.array({values}, {dtype!r}).reshape({shape}), device=device)")
        return self.keep(here, there, exact=True)

    def note(self, line: str) -> None:
        self.text.append(f"t{self.count} = {line}")

    def keep(self, here: pt.Tensor, there: pt.Tensor, *, exact: bool) -> Pair:
        assert (here.shape, here.dtype) == (there.shape, there.dtype)
        pair = Pair(f"t{self.count}", here, there, exact)
        self.count += 1
        self.pool.append(pair)
        return pair

    def record(self, form: str, *operands: Pair, exact: bool = True, **names: Any) -> Pair | None:
        """Evaluate `form`, in which ``{0}``, ``{1}`` are the operands, on both devices."""
        line = form.format(*(p.name for p in operands), **names)
        code = form.format(*(f"x[{n}]" for n in range(len(operands))), **names)

        def evaluate(given: Sequence[pt.Tensor], device: LazyDevice) -> pt.Tensor:
            return eval(code, {"pt": pt, "x": given, "device": device, "np": np})

        try:
            there = evaluate([p.there for p in operands], CPU_DEVICE)
        except DTypeError:
            return None
        if there.size > LARGEST:
            return None
        self.note(line)
        here = evaluate([p.here for p in operands], self.device)
        values = there.numpy()
        if values.dtype.kind == "f" and not (np.abs(values) < MAGNITUDE).all():
            self.text[-1] += "  # dropped"
            return None
        exact = exact and all(p.exact for p in operands)
        return self.keep(here, there, exact=exact)

    def compare(self, pair: Pair) -> None:
        found, expected = pair.here.numpy(), pair.there.numpy()
        self.text.append(f"{pair.name}.numpy()")
        if pair.exact:
            np.testing.assert_array_equal(found, expected, err_msg=pair.name)
        else:
            np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3, err_msg=pair.name)

    def forget(self) -> None:
        if self.pool:
            pair = self.pool.pop(self.random.randrange(len(self.pool)))
            self.text.append(f"del {pair.name}")

    # -- Steps ----------------------------------------------------------------------------------

    def new_leaf(self) -> None:
        self.leaf(self.shape())

    def read_one(self) -> None:
        self.compare(self.any())

    def realize_some(self) -> None:
        self.realize([p for p in self.pool if self.random.random() < 0.4])

    def realize(self, chosen: list[Pair]) -> None:
        self.text.append(f"pt.realize({', '.join(p.name for p in chosen)})")
        pt.realize(*(p.here for p in chosen))

    def create(self) -> None:
        n, m = self.random.randint(1, 6), self.random.randint(1, 6)
        forms = (
            f"pt.arange({n}, device=device)",
            f"pt.arange({n}, {n + 3 * m}, 3, dtype=pt.float32, device=device)",
            f"pt.full(({n}, {m}), {n - 3}, device=device)",
            f"pt.ones(({n},), device=device)",
            f"pt.eye({n}, {m}, k={self.random.randint(-2, 2)}, device=device)",
        )
        self.record(self.random.choice(forms))

    def unary(self) -> None:
        exact = ("-{0}", "abs({0})", "{0} * {0}", "{0} + {0}", "pt.relu({0})", "{0} + 1", "2 * {0}")
        inexact = ("pt.exp(-abs({0}))", "pt.tanh({0})", "pt.sqrt(abs({0}))", "{0} / 3")
        if self.random.random() < 0.7:
            self.record(self.random.choice(exact), self.any(lambda p: p.kind != "b"))
        else:
            self.record(self.random.choice(inexact), self.any(), exact=False)

    def discontinuous(self) -> None:
        forms = ("{0} > 0", "{0} == 1", "pt.sign({0} + 0)", "{0}.astype(pt.int32)", "~({0} < 2)")
        self.record(self.random.choice(forms), self.any(lambda p: p.exact))

    def to_float(self) -> None:
        self.record("{0}.astype(pt.float32)", self.any())

    def partner(self, of: Pair) -> Pair:
        """A tensor that broadcasts with another: from the pool, a part of the tensor, or a leaf."""

        def fits(p: Pair) -> bool:
            pairs = zip(reversed(p.shape), reversed(of.shape), strict=False)
            return all(n == m or 1 in (n, m) for n, m in pairs)

        if self.random.random() < 0.7 and any(fits(p) for p in self.pool):
            return self.any(fits)
        shape = tuple(n if self.random.random() < 0.6 else 1 for n in of.shape)
        return self.leaf(shape[self.random.randint(0, len(shape)) :])

    def binary(self) -> None:
        a = self.any()
        forms = ["{0} + {1}", "{0} * {1}", "pt.maximum({0}, {1})", "{1} * {0} + {0}"]
        forms += ["{1} - {0}", "pt.minimum({0}, {1})"]
        self.record(self.random.choice(forms), a, self.partner(a))

    def compare_two(self) -> None:
        a = self.any(lambda p: p.exact)
        b = self.partner(a)
        if b.exact:
            self.record(self.random.choice(("{0} < {1}", "{0} == {1}", "{0} >= {1}")), a, b)

    def where(self) -> None:
        a = self.any()
        condition = self.any(lambda p: p.shape == a.shape and p.exact)
        self.record("pt.where({2}, {0}, {1})", a, self.partner(a), condition)

    def reshape(self) -> None:
        x = self.any()
        left, shape = size_of(x.shape), []
        while left > 1 or self.random.random() < 0.3:
            n = self.random.choice([d for d in range(1, left + 1) if left % d == 0])
            shape.append(n)
            left //= n
            if len(shape) == 5:
                shape[-1] *= left
                break
        self.record("{0}.reshape({shape})", x, shape=tuple(shape))

    def permute(self) -> None:
        x = self.any(lambda p: len(p.shape) > 1)
        order = list(range(len(x.shape)))
        self.random.shuffle(order)
        self.record("{0}.permute({order})", x, order=tuple(order))

    def expand(self) -> None:
        x = self.any(lambda p: len(p.shape) < 5)
        shape = tuple(self.random.randint(1, 4) if n == 1 else n for n in x.shape)
        lead = self.shape(self.random.choice((0, 0, 1)))
        self.record("{0}.expand({shape})", x, shape=lead + shape)

    def flip(self) -> None:
        x = self.any(lambda p: len(p.shape) > 0)
        axes = tuple(a for a in range(len(x.shape)) if self.random.random() < 0.6)
        self.record("pt.flip({0}, {axes})", x, axes=axes)

    def index(self) -> None:
        x = self.any(lambda p: len(p.shape) > 0)
        keys = []
        for n in x.shape:
            a, b = sorted((self.random.randint(0, n - 1), self.random.randint(1, n)))
            step = self.random.choice((1, 1, 2, 3))
            forward = f"{a}:{max(b, a + 1)}:{step}"
            backward = f"::-{step}"
            keys.append(self.random.choice((":", forward, forward, backward, str(a), "None, :")))
        if len(x.shape) + sum("None" in k for k in keys) <= 5:
            self.record(f"{{0}}[{', '.join(keys)}]", x)

    def pad(self) -> None:
        x = self.any(lambda p: len(p.shape) > 0)
        widths = tuple((self.random.randint(0, 2), self.random.randint(0, 2)) for _ in x.shape)
        fill = self.random.choice((0, 1, -2)) if x.kind != "b" else self.random.choice((0, 1))
        self.record("{0}.pad({widths}, constant_values={fill})", x, widths=widths, fill=fill)

    def axes(self, x: Pair) -> Any:
        rank = len(x.shape)
        if self.random.random() < 0.2 or not rank:
            return None
        return tuple(sorted(self.random.sample(range(rank), self.random.randint(1, rank))))

    def reduce(self) -> None:
        x = self.any()
        keep = self.random.random() < 0.5
        forms = ("{0}.sum({axes}, keepdims={keep})", "{0}.max({axes}, keepdims={keep})")
        form = self.random.choice((*forms, forms[0], "pt.min({0}, {axes}, keepdims={keep})"))
        self.record(form, x, axes=self.axes(x), keep=keep)

    def reduce_exact(self) -> None:
        x = self.any(lambda p: p.exact)
        form = self.random.choice(("pt.any({0}, {axes})", "pt.all({0}, {axes})"))
        axis = self.random.randrange(len(x.shape)) if x.shape else None
        if self.random.random() < 0.5:
            form = self.random.choice(("pt.argmax({0}, {axis})", "pt.argmin({0}, {axis})"))
        self.record(form, x, axes=self.axes(x), axis=axis)

    def scan(self) -> None:
        x = self.any(lambda p: len(p.shape) > 0)
        axis = self.random.choice((None, *range(len(x.shape))))
        form = self.random.choice(
            ("{0}.cumsum({axis})", "{0}.cumsum({axis}) + 1", "{0}.cumprod({axis})")
        )
        self.record(form, x, axis=axis)

    def sort(self) -> None:
        if self.device.backend.max_buffers < 8:  # type: ignore[attr-defined]
            raise NoOperandsError  # no device has fewer, and some kernels need five
        x = self.any(lambda p: p.exact and len(p.shape) > 0)
        forms = ("pt.sort({0}, {axis}, descending={flag})", "pt.argsort({0}, {axis})")
        forms += ("pt.take_along_axis({0}, pt.argsort({0}, {axis}, descending={flag}), {axis})",)
        axis, flag = self.random.randrange(len(x.shape)), self.random.random() < 0.5
        self.record(self.random.choice(forms), x, axis=axis, flag=flag)

    def take(self) -> None:
        x = self.any(lambda p: len(p.shape) > 0)
        axis = self.random.choice((None, *range(len(x.shape))))
        n = size_of(x.shape) if axis is None else x.shape[axis]
        indices = self.any(lambda p: p.kind == "i" and len(p.shape) + len(x.shape) < 6)
        forms = ("pt.take({0}, {1} % {n}, {axis})", "({0} + 1).take({1} % {n}, {axis}) * 2")
        self.record(self.random.choice(forms), x, indices, axis=axis, n=n)

    def normalize(self) -> None:
        """An expression of a tensor and reductions of it."""
        x = self.any(lambda p: p.kind == "f")
        forms = (
            "{0} - pt.mean({0}, {axes}, keepdims=True)",
            "({0} - {0}.max({axes}, keepdims=True))",
            "pt.var({0}, {axes})",
            "{0}.sum({axes}) + {0}.max({axes})",
            "pt.exp({0} - {0}.max({axes}, keepdims=True)) / pt.exp({0} - {0}.max({axes},"
            " keepdims=True)).sum({axes}, keepdims=True)",
            "({0} - pt.mean({0}, {axes}, keepdims=True)) / pt.sqrt(pt.var({0}, {axes},"
            " keepdims=True) + 1)",
        )
        self.record(self.random.choice(forms), x, axes=self.axes(x), exact=False)

    def loop(self) -> None:
        """Similar steps, several of which may be in one kernel."""
        form = self.random.choice(("{0} + {1}", "{0} * {k} - {1}", "pt.relu({1}) - {0}"))
        a = self.any(lambda p: p.kind == "f")
        shape = a.shape
        for k in range(self.random.randint(2, 6)):
            b = self.any(lambda p: p.shape == shape and p.kind == "f")
            self.record(form, a, b, k=k)
            if self.random.random() < 0.3:
                a = b

    def matmul(self) -> None:
        a = self.any(lambda p: len(p.shape) in (1, 2, 3) and p.kind != "b")
        k, n = a.shape[-1], self.random.randint(1, 4)
        if self.random.random() < 0.5:
            b = self.leaf(self.random.choice(((k, n), (k,), (2, k, n))), "float32")
            form = "{0} @ {1}"
        else:
            b = self.any(lambda p: len(p.shape) == 2 and p.shape[-1] == k and p.kind != "b")
            form = "{0} @ {1}.T"
        form += self.random.choice(("", "", " + 1", ""))
        if a.shape[:-2] in ((), (1,), (2,)) or len(b.shape) < 3:
            self.record(form, a, b)

    def multiply_add(self) -> None:
        a = self.any(lambda p: len(p.shape) > 0 and p.kind != "b")
        b = self.partner(a)
        rank = max(len(a.shape), len(b.shape))
        axes = tuple(sorted(self.random.sample(range(rank), self.random.randint(1, rank))))
        form = self.random.choice(
            ("{0}.fused_multiply_add({1}, {axes})", "({0} * {1}).sum({axes})")
        )
        self.record(form, a, b, axes=axes)

    def outer(self) -> None:
        """A matrix product in disguise."""
        a = self.any(lambda p: len(p.shape) == 2 and p.kind != "b")
        b = self.leaf((a.shape[1], self.random.randint(1, 4)), "float32")
        self.record("({0}[:, :, None] * {1}[None, :, :]).sum(1)", a, b)

    def concat(self) -> None:
        a = self.any(lambda p: len(p.shape) > 0)
        b = self.any(lambda p: len(p.shape) == len(a.shape) and p.shape[1:] == a.shape[1:])
        forms = ["pt.stack([{0}, {0}], -1)", "pt.concat([{0}, {1}])", "pt.concat([{1}, {0}, {0}])"]
        forms += ["pt.concat([{0}[..., ::-1], {0}], -1)", "pt.concat([{0}, {0} + 1], 0)"]
        self.record(self.random.choice(forms), a, b)


STEPS: tuple[Callable[[Program], None], ...] = (
    Program.new_leaf, Program.create, Program.unary, Program.discontinuous, Program.to_float,
    Program.binary, Program.compare_two, Program.where, Program.reshape, Program.permute,
    Program.expand, Program.flip, Program.index, Program.pad, Program.reduce, Program.reduce_exact,
    Program.normalize, Program.loop, Program.matmul, Program.multiply_add, Program.outer,
    Program.concat, Program.scan, Program.sort, Program.take, Program.forget,
    Program.realize_some, Program.read_one,
)  # fmt: skip
WEIGHTS = (2, 2, 8, 2, 2, 10, 2, 3, 4, 4, 4, 3, 4, 4, 6, 1, 4, 3, 3, 3, 1, 3, 3, 2, 4, 8, 1, 1)
