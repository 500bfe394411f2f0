"""Random numbers from a counter-based generator: threefry2x32 with 20 rounds, as JAX uses.

John K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. The n-th number of a
generator depends on its seed and on n alone; seed and counter are fixed when the function is
called, so that it does not matter when, where or how the numbers are computed. Both devices draw
the same bits.
"""

from __future__ import annotations

import math
import os
from functools import wraps
from inspect import signature
from itertools import accumulate
from operator import index as as_index
from typing import Any

from py_tensor import dtypes
from py_tensor.backend.device import Device, parse
from py_tensor.dtypes import WORDS
from py_tensor.errors import ShapeError
from py_tensor.graph.bind import bind
from py_tensor.graph.node import Node, meta_of
from py_tensor.graph.op import NOT_DIFFERENTIABLE, Elementwise
from py_tensor.graph.primitives import const, index
from py_tensor.ops.creation import arange, zeros
from py_tensor.ops.define import empty_node, register
from py_tensor.ops.elementwise import equal, exp, minimum, where
from py_tensor.ops.gather import take
from py_tensor.ops.movement import converted, expand_dims, reshape
from py_tensor.ops.operands import Operand, int_like, number_like
from py_tensor.ops.reduction import sum
from py_tensor.ops.scan import cumsum
from py_tensor.ops.sorting import argsort
from py_tensor.ops.transcendental import log1p
from py_tensor.shapes import Shape, broadcast, normalize_axis, parse_shape, size_of
from py_tensor.tensor import Tensor, tensor_of

_MASK = 0xFFFFFFFF
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def _threefry(np: Any, index: Any, key0: Any, key1: Any) -> Any:
    """Word 0 of threefry2x32 for the counter (index, 0)."""
    x0 = index.astype(np.uint32) + key0
    x1 = np.zeros_like(x0) + key1
    keys = (key0, key1, key0 ^ key1 ^ np.uint32(0x1BD11BDA))
    for group in range(5):
        for r in _ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = ((x1 << np.uint32(r)) | (x1 >> np.uint32(32 - r))) ^ x0
        x0 = x0 + keys[(group + 1) % 3]
        x1 = x1 + keys[(group + 2) % 3] + np.uint32(group + 1)
    return x0


def _normal(np: Any, a: Any, b: Any) -> Any:
    """Box-Muller on two words: a radius from (0, 1], an angle from [0, 1)."""
    u = ((a >> np.uint32(8)).astype(np.float64) + 1) * 2.0**-24
    v = (b >> np.uint32(8)).astype(np.float64) * 2.0**-24
    return np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v)


def _randint(np: Any, bits: Any, low: Any, span: Any) -> Any:
    high = (bits.astype(np.uint64) * span.astype(np.uint64)) >> np.uint64(32)
    return low + high.astype(np.uint32).astype(np.int32)


def _upper_product(x: Tensor, factor: int) -> Tensor:
    """The upper 64 bits of the products of uint64 with a factor below 2**64."""
    above, below = x >> 32, x & _MASK
    crossed, straight = above * (factor & _MASK), below * (factor >> 32)
    middle = (below * (factor & _MASK) >> 32) + (crossed & _MASK) + (straight & _MASK)
    return above * (factor >> 32) + (crossed >> 32) + (straight >> 32) + (middle >> 32)


BITS = Elementwise(
    "random_bits",
    wgsl={"*": "random_bits({0}, {1}, {2})"},
    numpy=_threefry,
    accepts=WORDS,
    cost=60,
    vjp=NOT_DIFFERENTIABLE,
)
UNIFORM = Elementwise(
    "rand",
    wgsl={"*": "uniform_from_bits({0})"},
    numpy=lambda np, bits: (bits >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24),
    accepts=WORDS,
    gives=dtypes.float32,
    vjp=NOT_DIFFERENTIABLE,
)
NORMAL = Elementwise(
    "randn",
    wgsl={"*": "normal_from_bits({0}, {1})"},
    numpy=_normal,
    accepts=WORDS,
    cost=50,
    gives=dtypes.float32,
    vjp=NOT_DIFFERENTIABLE,
)
RANDINT = Elementwise(
    "randint",
    wgsl={"*": "randint_from_bits({0}, bitcast<i32>({1}), {2})"},
    numpy=lambda np, bits, low, span: _randint(np, bits, low.astype(np.int32), span),
    accepts=WORDS,
    cost=8,
    gives=dtypes.int32,
    vjp=NOT_DIFFERENTIABLE,
)
# From all of int32: its span does not fit a word, and the word itself is the draw.
RANDINT_ANY = Elementwise(
    "randint",
    wgsl={"*": "bitcast<i32>({0} + {1})"},
    numpy=lambda np, bits, low: (bits + low).astype(np.int32),
    accepts=WORDS,
    gives=dtypes.int32,
    vjp=NOT_DIFFERENTIABLE,
)
OFFSET = Elementwise(
    "offset",
    wgsl={"*": "{0} + {1}"},
    numpy=lambda np, x, y: x + y,
    accepts=WORDS,
    vjp=NOT_DIFFERENTIABLE,
)


class Generator:
    """A stream of random numbers.

    Parameters
    ----------
    seed : int, optional
        0 to 2**64 - 1; by default one from the operating system.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = int.from_bytes(os.urandom(8)) if seed is None else as_index(seed)
        if not 0 <= self.seed < 2**64:
            raise ValueError(f"Generator: seed must be 0 to 2**64 - 1, got {seed}")
        self._drawn = 0

    def __repr__(self) -> str:
        return f"Generator(seed={self.seed})"

    def _bits(self, shape: Shape, device: Device) -> Node:
        """Fresh words, one per element."""
        size = size_of(shape)
        high, low = divmod(self._drawn, 2**32)
        if low + size > 2**32:  # a draw does not cross into the next block of counters
            high, low = high + 1, 0
        self._drawn = high * 2**32 + low + size
        keys = (self.seed & _MASK, (self.seed >> 32) ^ (high & _MASK))
        numbers = index(shape, device, dtypes.uint32)
        counter = bind(OFFSET, (numbers, const(low, dtypes.uint32, device)))
        return bind(BITS, (counter, *(const(k, dtypes.uint32, device) for k in keys)))

    def _draw(
        self, op: Elementwise, words: int, shape: Shape, dtype: Any, device: Any, *more: int
    ) -> Tensor:
        place = parse(device)
        meta = meta_of(shape, dtype, place)
        place.backend.check(op.name, meta_of((), dtype, place))
        if not meta.size:
            return Tensor(empty_node(meta))
        inputs = [self._bits(shape, place) for _ in range(words)]
        inputs += [const(value, dtypes.uint32, place) for value in more]
        return Tensor(bind(op, tuple(inputs)))

    def rand(self, *shape: Any, device: str | Device | None = None) -> Tensor:
        """float32 from the uniform distribution over [0, 1), multiples of 2**-24."""
        return self._draw(UNIFORM, 1, _shape("rand", shape), dtypes.float32, device)

    def randn(self, *shape: Any, device: str | Device | None = None) -> Tensor:
        """float32 from the standard normal distribution, by the Box-Muller transform."""
        return self._draw(NORMAL, 2, _shape("randn", shape), dtypes.float32, device)

    def randint(
        self,
        low: int,
        high: int | None = None,
        size: int | Shape | None = (),
        dtype: object = None,
        *,
        device: str | Device | None = None,
    ) -> Tensor:
        """Integers from `low` up to but not including `high`.

        From 0 up to `low` if `high` is None. The result has `dtype`, int32 by default. A range
        that int32 does not hold takes two words of the stream for each element.

        Raises
        ------
        TypeError
            If a bound is no int.
        ValueError
            If the range is empty, or reaches past the dtype, or past int32 where that is floating.
        """
        try:
            low, high = (0, as_index(low)) if high is None else (as_index(low), as_index(high))
        except TypeError:
            raise TypeError(
                f"randint: low and high are ints, not {low!r} and {high!r};"
                " the shape is randint(low, high, size), or randint(high, size=size)"
            ) from None
        kind = dtypes.int32 if dtype is None else dtypes.parse(dtype)
        fits = low >= -(2**31) and high <= 2**31
        widest = kind if kind.kind in "iu" else dtypes.int32
        if low >= high or not (
            fits or (dtypes.holds(widest, low) and dtypes.holds(widest, high - 1))
        ):
            raise ValueError(f"randint: [{low}, {high}) is empty, or reaches past {widest}")
        for end in (low, high - 1):
            if not dtypes.holds(kind, end):
                raise ValueError(f"randint: {end} is out of bounds for {kind}")
        shape = parse_shape("randint", () if size is None else size)
        if not fits:
            found = self._draw_of_64_bits(shape, device, low, high)
        elif high - low == 2**32:
            found = self._draw(RANDINT_ANY, 1, shape, dtypes.int32, device, low % 2**32)
        else:
            found = self._draw(RANDINT, 1, shape, dtypes.int32, device, low % 2**32, high - low)
        return converted(found, kind)

    def _draw_of_64_bits(self, shape: Shape, device: Any, low: int, high: int) -> Tensor:
        """uint64: the integers from `low` up to `high`, modulo 2**64."""
        place = parse(device)
        if not size_of(shape):
            return Tensor(empty_node(meta_of(shape, dtypes.uint64, place)))
        above, below = (
            converted(Tensor(self._bits(shape, place)), dtypes.uint64) for _ in range(2)
        )
        drawn = (above << 32) | below
        if high - low < 2**64:
            drawn = _upper_product(drawn, high - low)
        return drawn + low % 2**64

    # -- NumPy's names ----------------------------------------------------------------------------

    def random(self, size: Size = None) -> Tensor:
        """float32 from the uniform distribution over [0, 1); `random_sample` is the same."""
        return self.rand(() if size is None else size)

    random_sample = random

    def uniform(self, low: Operand = 0.0, high: Operand = 1.0, size: Size = None) -> Tensor:
        """float32 from the uniform distribution over [low, high)."""
        low, high = _own(low), _own(high)
        found = self.random(_spread(size, low, high)) * (high - low) + low
        return where(found >= high, low, found)  # which rounding makes of the last below it

    def standard_normal(self, size: Size = None) -> Tensor:
        """float32 from the standard normal distribution."""
        return self.randn(() if size is None else size)

    def normal(self, loc: Operand = 0.0, scale: Operand = 1.0, size: Size = None) -> Tensor:
        """float32 from the normal distribution of mean `loc` and standard deviation `scale`."""
        return self.standard_normal(_spread(size, loc, scale)) * _own(scale) + _own(loc)

    def lognormal(self, mean: Operand = 0.0, sigma: Operand = 1.0, size: Size = None) -> Tensor:
        """float32 whose logarithms are `normal`."""
        return exp(self.normal(mean, sigma, size))

    def exponential(self, scale: Operand = 1.0, size: Size = None) -> Tensor:
        """float32 from the exponential distribution of mean `scale`."""
        return -log1p(-self.random(_spread(size, scale))) * _own(scale)

    def binomial(self, n: int, p: Operand, size: Size = None) -> Tensor:
        """int32: how many of `n` trials succeed, each with probability `p`.

        For a number `p` it is looked up where a uniform number lies among the sums of the
        probabilities (inversion: Devroye, "Non-Uniform Random Variate Generation", 1986, III.2).
        For a tensor the trials are counted, 2**10 of each draw at a time.

        Raises
        ------
        ValueError
            For a negative `n`, or a number `p` that is not between 0 and 1.
        """
        trials, chance = as_index(n), number_like(p)
        is_chance = chance is None or (not isinstance(chance, complex) and 0 <= chance <= 1)
        if trials < 0 or not is_chance:
            raise ValueError(f"binomial: {n} trials of probability {p}")
        shape = parse_shape("binomial", _spread(size, p))
        if chance is not None:
            least, sums = _binomial_sums(trials, chance.real)
            return _inverted(sums, self.random(shape)) + least
        chances = expand_dims(tensor_of(p, "binomial"), -1)
        found = zeros(shape, dtypes.int32)
        for start in range(0, trials, 2**10):
            count = min(trials - start, 2**10)
            found = found + sum(self.random((*shape, count)) < chances, -1)
        return found

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Size = None,
        dtype: object = None,
        endpoint: bool = False,
    ) -> Tensor:
        """Integers from `low` up to but not including `high`, or with it where `endpoint` is true.

        From 0 up to `low` if `high` is None. The result has `dtype`, int32 by default.
        """
        low, high = (0, low) if high is None else (low, high)
        return self.randint(low, as_index(high) + endpoint, () if size is None else size, dtype)

    def permutation(self, x: Operand, axis: int = 0) -> Tensor:
        """The slices of `x` along `axis` in random order; of an int, the numbers below it."""
        count = int_like(x)
        x = tensor_of(x, "permutation") if count is None else arange(count)
        at = normalize_axis("permutation", axis, x.ndim)
        keys = Tensor(self._bits((x.shape[at],), x.device)) if x.shape[at] else x
        return take(x, argsort(keys), at) if x.size else x.copy()

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Put the slices of `x` along `axis` in random order, in place; a list too."""
        if isinstance(x, Tensor):
            x[...] = self.permutation(x, axis)
            return
        if hasattr(x, "__array_interface__"):
            x[...] = x.take(self.permutation(x.shape[axis]).tolist(), axis)
            return
        order = self.permutation(len(x)).tolist()
        x[:] = [x[i] for i in order]

    def choice(
        self,
        a: Operand,
        size: Size = None,
        replace: bool = True,
        p: Operand | None = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> Tensor:
        """Slices of `a` along `axis`, drawn at random; of an int, numbers below it.

        Parameters
        ----------
        replace : bool
            Whether one may be drawn more than once.
        p : optional
            How probable each is; by default all are alike. What has 0 is never drawn: to know
            that there are enough others, where each is drawn once, they are counted and read.
        shuffle : bool
            Accepted: what is drawn once comes in random order.

        Raises
        ------
        ValueError
            For more slices than there are, where each is drawn once; for nothing to draw from.
        """
        number = int_like(a)
        pool = tensor_of(a, "choice") if number is None else arange(number)
        at = normalize_axis("choice", axis, pool.ndim)
        n, shape = pool.shape[at], parse_shape("choice", () if size is None else size)
        count = size_of(shape)
        if (count and not n) or (not replace and count > n):
            raise ValueError(f"choice: {count} of {n} elements")
        chances = None if p is None else tensor_of(p, "choice", device=pool.device)
        if chances is not None and chances.shape != (n,):
            raise ShapeError(f"choice: p of shape {chances.shape} for {n} elements")
        if not replace:  # the first of those that come soonest, in a race of exponential times
            if chances is not None and (others := int(sum(chances > 0))) < count:
                raise ValueError(f"choice: {count} of {others} elements whose p is not 0")
            times = self.exponential(1.0, n)
            order = argsort(times if chances is None else times / chances)
            return take(pool, reshape(order[:count], shape), at)
        if chances is None:
            return take(pool, self.randint(0, n, shape), at) if count else pool[:0].reshape(shape)
        order = argsort(equal(chances, 0))  # those of 0 last, where no rounding reaches them
        sums = cumsum(take(chances, order))
        drawn = _inverted(sums, self.random(shape) * sums[-1])
        return take(pool, take(order, minimum(drawn, sum(chances > 0) - 1)), at)


def _inverted(sums: Tensor | list[float], drawn: Tensor) -> Tensor:
    """What numbers stand for by a cumulative distribution."""
    from py_tensor.ops.searching import searchsorted  # which few programs need

    return searchsorted(sums, drawn, "right")


def _binomial_sums(n: int, p: float) -> tuple[int, list[float]]:
    """The probabilities of at most k successes, from the least k that is drawn on."""
    mode = min(math.floor((n + 1) * p), n)
    reach = math.ceil(8 * math.sqrt(n * p * (1 - p))) + 20  # beyond lies less than 2**-48
    below, above = [1.0], [1.0]  # as multiples of that of the mode, away from it
    for k in range(mode, max(mode - reach, 0), -1):
        below.append(below[-1] * (k * (1 - p)) / ((n - k + 1) * p))
    for k in range(mode, min(mode + reach, n)):
        above.append(above[-1] * ((n - k) * p) / ((k + 1) * (1 - p)))
    sums = [*accumulate([*below[:0:-1], *above])]
    return mode - len(below) + 1, [v / sums[-1] for v in sums]


Size = int | Shape | None


def _own(value: Operand) -> Operand:
    """A parameter of a distribution: a number, or a tensor."""
    if isinstance(value, bool | int | float):
        return value
    found = tensor_of(value, "random")
    dtypes.REAL.check("random", found.dtype)
    return found


def _spread(size: Size, *parameters: Operand) -> Any:
    """The shape asked for, or that of the parameters together."""
    if size is not None:
        return size
    shapes = (x.shape for x in map(_own, parameters) if isinstance(x, Tensor))
    return broadcast("random", *shapes)


def _shape(op: str, given: tuple[Any, ...]) -> Shape:
    """``rand(2, 3)`` and ``rand((2, 3))`` alike."""
    return parse_shape(op, given[0] if len(given) == 1 else given)


_default = Generator()


def manual_seed(seed: int) -> Generator:
    """Start the generator behind `rand`, `randn` and `randint` anew from a seed; returns it."""
    global _default
    _default = Generator(seed)
    return _default


def rand(*shape: Any, device: str | Device | None = None) -> Tensor:
    """float32 from the uniform distribution over [0, 1); `rand(2, 3)` or `rand((2, 3))`."""
    return _default.rand(*shape, device=device)


def randn(*shape: Any, device: str | Device | None = None) -> Tensor:
    """float32 from the standard normal distribution."""
    return _default.randn(*shape, device=device)


def randint(
    low: int,
    high: int | None = None,
    size: int | Shape | None = (),
    dtype: object = None,
    *,
    device: str | Device | None = None,
) -> Tensor:
    """Integers from `low` up to but not including `high`.

    From 0 up to `low` if `high` is None. The result has `dtype`, int32 by default.
    """
    return _default.randint(low, high, size, dtype, device=device)


RandomState = Generator


def default_rng(seed: int | Generator | None = None) -> Generator:
    """A generator from a seed; one that is given comes back."""
    return seed if isinstance(seed, Generator) else Generator(seed)


def seed(seed: int | None = None) -> None:
    """Start the generator behind the functions of this module anew, as `manual_seed` does."""
    manual_seed(Generator(seed).seed)


def _of_default(name: str) -> Any:
    """A method of the generator behind the functions of this module, as a function."""
    method: Any = getattr(Generator, name)

    @wraps(method)
    def function(*args: Any, **options: Any) -> Any:
        return method(_default, *args, **options)

    found = signature(method)
    vars(function)["__signature__"] = found.replace(parameters=[*found.parameters.values()][1:])
    return function


random = random_sample = ranf = sample = _of_default("random")
binomial, choice, exponential, lognormal, normal, permutation, shuffle, standard_normal, uniform = (
    _of_default(name)
    for name in (
        "binomial", "choice", "exponential", "lognormal", "normal", "permutation", "shuffle",
        "standard_normal", "uniform",
    )
)  # fmt: skip

for _function in (rand, randn, randint):
    register(_function, method=False)
