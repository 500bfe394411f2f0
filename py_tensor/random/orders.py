"""Permutations, choices, bytes and children: methods of `Generator` that draw no distribution."""

from __future__ import annotations

import math
from typing import Any, Self

from py_tensor.backend.device import Device, parse
from py_tensor.errors import ShapeError
from py_tensor.ops.creation import arange, zeros
from py_tensor.ops.elementwise import equal, minimum
from py_tensor.ops.gather import take, take_along_axis
from py_tensor.ops.movement import reshape
from py_tensor.ops.operands import Operand, int_like, numbers_of
from py_tensor.ops.out import stored_whole
from py_tensor.ops.reduction import sum
from py_tensor.ops.scan import cumsum
from py_tensor.ops.searching import searchsorted
from py_tensor.ops.sorting import argsort
from py_tensor.random.core import Core
from py_tensor.random.parameters import Draw, Size, count_of
from py_tensor.shapes import Shape, normalize_axis, parse_shape, size_of
from py_tensor.tensor import Tensor, tensor_of

_FEW = 1024  # of which two have the same word with a chance of 2**-13
_PRECISION = {"float16": 0.03125, "float32": 3.5e-4}  # roots of eps, as in NumPy


class Orders(Core):
    """The methods of `Generator` that draw from what there is."""

    def permutation(self, x: Operand, axis: int = 0) -> Tensor:
        """The slices of `x` along `axis` in random order; of an int, the numbers below it."""
        count = int_like(x)
        x = tensor_of(x, "permutation") if count is None else arange(count)
        at = normalize_axis("permutation", axis, x.ndim)
        return take(x, self._order((x.shape[at],), 0, x.device), at) if x.size else x.copy()

    def _order(self, shape: Shape, axis: int, device: Device) -> Tensor:
        """Places along an axis in random order: sorted by random words.

        What has equal words stays in the order it has. Of many, where some are equal, that order
        is random: they are sorted twice.
        """
        order = argsort(self._words(shape, device), axis=axis)
        if shape[axis] <= _FEW:
            return order
        return take_along_axis(order, argsort(self._words(shape, device), axis=axis), axis)

    def permuted(self, x: Operand, *, axis: int | None = None, out: Any = None) -> Tensor:
        """The elements of `x` in random order along `axis`, each line in its own; of all by None.

        An `out` has the shape of `x`, which it may be.
        """
        x = tensor_of(x, "permuted")
        flat = x if axis is not None else reshape(x, (x.size,))
        at = normalize_axis("permuted", axis or 0, flat.ndim)
        if x.size:
            flat = take_along_axis(flat, self._order(flat.shape, at, x.device), at)
        else:
            flat = flat.copy()
        return stored_whole("permuted", reshape(flat, x.shape), out)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Put the slices of `x` along `axis` in random order, in place.

        The order of a list, or of NumPy's array, is read, and its elements are moved on the host.

        Raises
        ------
        NotImplementedError
            For an axis of a list.
        """
        if isinstance(x, Tensor):
            x[...] = self.permutation(x, axis)
        elif hasattr(x, "__array_interface__"):
            axis = normalize_axis("shuffle", axis, x.ndim)
            x[...] = x.take(self.permutation(x.shape[axis]).numpy(), axis)
        elif axis:
            raise NotImplementedError("shuffle: takes an axis of arrays alone, not of a list")
        else:
            x[:] = [x[i] for i in self.permutation(len(x)).tolist()]

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
            For more slices than there are, where each is drawn once; for nothing to draw from; for
            probabilities that the host knows, of which one is negative or whose sum is not 1.
        """
        number = int_like(a)
        if number is not None and number < 0:
            raise ValueError(f"choice: a must not be negative, got {number}")
        pool = tensor_of(a, "choice") if number is None else arange(number)
        at = normalize_axis("choice", axis, pool.ndim)
        n, shape = pool.shape[at], parse_shape("choice", () if size is None else size)
        count = size_of(shape)
        if (count and not n) or (not replace and count > n):
            raise ValueError(f"choice: takes {count} of {n} elements, with replace={replace}")
        chances = None if p is None else _chances(p, pool, n)
        if not count:
            return zeros((*pool.shape[:at], *shape, *pool.shape[at + 1 :]), pool.dtype)
        if not replace:
            return take(pool, reshape(self._race(pool, n, chances, count), shape), at)
        if chances is None:
            return take(pool, self.randint(0, n, shape, device=pool.device), at)
        order = argsort(equal(chances, 0))  # those of 0 last, where no rounding reaches them
        sums = cumsum(take(chances, order))
        drawn = searchsorted(sums, self.rand(shape, device=pool.device) * sums[-1], "right")
        return take(pool, take(order, minimum(drawn, sum(chances > 0) - 1)), at)

    def _race(self, pool: Tensor, n: int, chances: Tensor | None, count: int) -> Tensor:
        """The places of those that come soonest, in a race of exponential times."""
        if chances is not None and (others := int(sum(chances > 0))) < count:
            raise ValueError(f"choice: {count} of {others} elements whose p is not 0")
        if chances is None:
            return self._order((n,), 0, pool.device)[:count]
        times = self._exponentials(Draw((), (n,), pool.device, chances.dtype))
        return argsort(times / chances)[:count]

    def bytes(self, length: int) -> bytes:
        """So many random bytes; they are computed on the host."""
        count = count_of("bytes", "length", length)
        words = self._words((-(-count // 4),), parse("cpu"))
        return words.numpy().tobytes()[:count]

    def spawn(self, n_children: int) -> list[Self]:
        """Generators whose numbers are independent of these and of each other."""
        return [type(self)(made) for made in self.bit_generator.spawn(n_children)]


def _chances(p: Operand, pool: Tensor, n: int) -> Tensor:
    """How probable each of n slices is."""
    found = tensor_of(p, "choice", device=pool.device)
    if found.shape != (n,):
        raise ShapeError(f"choice: p of shape {found.shape} for {n} elements")
    if not isinstance(p, Tensor):
        numbers, _ = numbers_of("choice", p)
        broken = [number for number in numbers if not number >= 0]
        if broken:
            raise ValueError(f"choice: p must not be negative, got {broken[0]}")
        total = math.fsum(numbers)
        if abs(total - 1) > _PRECISION.get(str(getattr(p, "dtype", "")), 1.5e-8):
            raise ValueError(f"choice: the sum of p must be 1, got {total}")
    return found
