"""Permutations, samples, bytes and spawning: further methods of `Generator`."""

from __future__ import annotations

import math
from typing import Any, Self

from py_tensor import dtypes
from py_tensor.backend.choice import default_device, parse
from py_tensor.errors import ShapeError
from py_tensor.graph.node import Device
from py_tensor.ops.creation import zeros
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

_PRECISION = {"float16": 0.03125, "float32": 3.5e-4}  # roots of eps, as in NumPy


class Orders(Core):
    """Methods of `Generator` for permutations and samples."""

    def permutation(self, x: Operand, axis: int = 0) -> Tensor:
        """Permute the slices of `x` along `axis` randomly; for an int, permute a range.

        The slices are sorted by random 32-bit words. Two slices with the same word keep their
        order, so the probability of that order is 1/2 + 2**-33.

        Parameters
        ----------
        x : int or array_like
            Of any dtype; an int means the numbers below it, on the default device.
        axis : int
            The axis along which slices are moved.

        Returns
        -------
        Tensor
            With the shape and dtype of `x`.

        Raises
        ------
        AxisError
            If `x` does not have this axis.
        """
        count = int_like(x)
        if count is not None:
            return self._order((max(count, 0),), 0, default_device())
        x = tensor_of(x, "permutation")
        at = normalize_axis("permutation", axis, x.ndim)
        return take(x, self._order((x.shape[at],), 0, x.device), at) if x.size else x.copy()

    def _order(self, shape: Shape, axis: int, device: Device) -> Tensor:
        """Return the indices along an axis in random order."""
        if not size_of(shape):
            return zeros(shape, dtypes.int32, device=device)
        return argsort(self._words(shape, device), axis=axis)

    def permuted(self, x: Operand, *, axis: int | None = None, out: Any = None) -> Tensor:
        """Permute the elements along `axis`, each line independently; None permutes all.

        Parameters
        ----------
        x : array_like
            Of any dtype.
        axis : int, optional
            By default all elements are permuted.
        out : Tensor or NumPy array, optional
            The destination, with the shape of `x`; it may be `x`.

        Raises
        ------
        AxisError
            If `x` does not have this axis.
        ValueError
            If `out` has a different shape.
        """
        x = tensor_of(x, "permuted")
        flat = x if axis is not None else reshape(x, (x.size,))
        at = normalize_axis("permuted", axis or 0, flat.ndim)
        flat = take_along_axis(flat, self._order(flat.shape, at, x.device), at)
        return stored_whole("permuted", reshape(flat, x.shape), out)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Shuffle the slices of `x` along `axis` in place.

        For a list or a NumPy array, the order is read and the elements are moved on the host.

        Parameters
        ----------
        x : Tensor, NumPy array or list
            The object to shuffle.
        axis : int
            The axis along which slices are moved.

        Raises
        ------
        AxisError
            If an array does not have this axis.
        NotImplementedError
            If `axis` is used with a list.
        """
        if isinstance(x, Tensor):
            x[...] = self.permutation(x, axis)
        elif hasattr(x, "__array_interface__"):
            axis = normalize_axis("shuffle", axis, x.ndim)
            x[...] = x.take(self.permutation(x.shape[axis]).numpy(), axis)
        elif axis:
            raise NotImplementedError("shuffle: axis is only for arrays, not for a list")
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
        """Draw random slices of `a` along `axis`; for an int, numbers below it.

        Parameters
        ----------
        a : int or array_like
            Of any dtype; an int means the numbers below it, on the default device.
        size : int or tuple of ints, optional
            Replaces `axis` in the shape of the result; by default that axis is removed.
        replace : bool
            Whether a slice can be drawn more than once. Without replacement, all slices are sorted
            by random numbers, and the first ones are taken.
        p : optional
            The probability of each slice, by default uniform. Slices with probability 0 are never
            drawn. Without replacement, the number of nonzero probabilities is read and checked.
        shuffle : bool
            Accepted; samples without replacement are always in random order.

        Raises
        ------
        ValueError
            If the sample is larger than the population without replacement, the population is
            empty, or host probabilities are negative or do not sum to 1.
        """
        number = int_like(a)
        if number is not None and number < 0:
            raise ValueError(f"choice: a must be at least 0, not {number}")
        pool = tensor_of(a, "choice") if number is None else None
        if pool is not None and not pool.ndim:
            raise ValueError(f"choice: a must be an int or have at least 1 axis, not {a!r}")
        device = pool.device if pool is not None else default_device()
        dimensions = pool.shape if pool is not None else (number or 0,)
        at = normalize_axis("choice", axis, len(dimensions))
        n, shape = dimensions[at], parse_shape("choice", () if size is None else size)
        count = size_of(shape)
        if (count and not n) or (not replace and count > n):
            raise ValueError(f"choice: cannot draw {count} of {n} elements with replace={replace}")
        chances = None if p is None else _chances(p, n, device)
        if not count:
            places = zeros(shape, dtypes.int32, device=device)
        elif not replace:
            places = reshape(self._race(n, chances, count, device), shape)
        elif chances is None:
            places = self.randint(0, n, shape, device=device)
        else:
            places = self._weighted(chances, shape)
        if pool is None:
            return places
        if not count:
            return zeros(
                (*pool.shape[:at], *shape, *pool.shape[at + 1 :]), pool.dtype, device=device
            )
        return take(pool, places, at)

    def _weighted(self, chances: Tensor, shape: Shape) -> Tensor:
        """Draw indices with probabilities proportional to weights."""
        order = argsort(equal(chances, 0))  # zeros last, so that rounding never selects them
        sums = cumsum(take(chances, order))
        drawn = searchsorted(sums, self.rand(shape, device=chances.device) * sums[-1], "right")
        return take(order, minimum(drawn, sum(chances > 0) - 1))

    def _race(self, n: int, chances: Tensor | None, count: int, device: Device) -> Tensor:
        """Draw indices without replacement: those of the smallest exponential times."""
        if chances is None:
            return self._order((n,), 0, device)[:count]
        if (others := int(sum(chances > 0))) < count:
            raise ValueError(f"choice: cannot draw {count} of {others} elements with nonzero p")
        times = self._exponentials(Draw((), (n,), device, chances.dtype))
        return argsort(times / chances)[:count]

    def bytes(self, length: int) -> bytes:
        """Return random bytes, computed on the host: the words in little-endian byte order.

        Parameters
        ----------
        length : int
            The number of bytes. Raises ValueError if it is negative.
        """
        count = count_of("bytes", "length", length)
        words = self._words((-(-count // 4),), parse("cpu"))
        return words.numpy().tobytes()[:count]

    def spawn(self, n_children: int) -> list[Self]:
        """Create generators with independent streams.

        Parameters
        ----------
        n_children : int
            The number of generators. Raises ValueError if it is negative. Keys are hashed on the
            host from the seed and the number spawned before (`SeedSequence.spawn`).
        """
        return [type(self)(made) for made in self.bit_generator.spawn(n_children)]


def _chances(p: Operand, n: int, device: Device) -> Tensor:
    """Return the checked probabilities of n slices as a tensor."""
    found = tensor_of(p, "choice", device=device)
    if found.shape != (n,):
        raise ShapeError(f"choice: p of shape {found.shape} does not match {n} elements")
    if not isinstance(p, Tensor):
        numbers, _ = numbers_of("choice", p)
        broken = [number for number in numbers if not number >= 0]
        if broken:
            raise ValueError(f"choice: p must be at least 0, not {broken[0]}")
        total = math.fsum(numbers)
        if abs(total - 1) > _PRECISION.get(str(getattr(p, "dtype", "")), 1.5e-8):
            raise ValueError(f"choice: the sum of p must be 1, not {total}")
    return found
