"""Permutations, samples, bytes and spawning: further methods of `Generator`."""

from __future__ import annotations

import builtins
import math
from typing import Any

from py_tensor.backends.choice import default_device, parse
from py_tensor.base import dtypes
from py_tensor.base.errors import ShapeError
from py_tensor.base.shapes import Shape, normalize_axis, parse_shape, size_of
from py_tensor.ir.node import Device
from py_tensor.ops.creation import zeros
from py_tensor.ops.gather import take_along_axis
from py_tensor.ops.operands import Operand, int_like, numbers_of
from py_tensor.ops.out import stored_whole
from py_tensor.random.bit_generator import count_of
from py_tensor.random.define import Draw, Size
from py_tensor.random.generator import Core
from py_tensor.random.threefry import random_bits
from py_tensor.tensors.tensor import Tensor, tensor_of


def permutation(self: Core, x: Operand, axis: int = 0) -> Tensor:
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
        return _order(self, (max(count, 0),), 0, default_device())
    x = tensor_of(x, "permutation")
    axis = normalize_axis("permutation", axis, x.ndim)
    return x.take(_order(self, (x.shape[axis],), 0, x.device), axis) if x.size else x.copy()


def _order(self: Core, shape: Shape, axis: int, device: Device) -> Tensor:
    """Return the indices along an axis in random order."""
    if not size_of(shape):
        return zeros(shape, dtypes.int32, device=device)
    return Draw(self.bit_generator, shape, device).by(random_bits).argsort(axis)


def permuted(self: Core, x: Operand, *, axis: int | None = None, out: Any = None) -> Tensor:
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
    flat = x if axis is not None else x.reshape(x.size)
    line = normalize_axis("permuted", axis or 0, flat.ndim)
    flat = take_along_axis(flat, _order(self, flat.shape, line, x.device), line)
    return stored_whole("permuted", flat.reshape(x.shape), out)


def shuffle(self: Core, x: Any, axis: int = 0) -> None:
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
    self: Core,
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
    axis = normalize_axis("choice", axis, len(dimensions))
    n, shape = dimensions[axis], parse_shape("choice", () if size is None else size)
    count = size_of(shape)
    if (count and not n) or (not replace and count > n):
        raise ValueError(f"choice: cannot draw {count} of {n} elements with replace={replace}")
    chances = None if p is None else _chances(p, n, device)
    if not count:
        indices = zeros(shape, dtypes.int32, device=device)
    elif not replace:
        indices = _race(self, n, chances, count, device).reshape(shape)
    elif chances is None:
        indices = self.randint(0, n, shape, device=device)
    else:
        indices = _weighted(self, chances, shape)
    return indices if pool is None else pool.take(indices, axis)


def _weighted(self: Core, chances: Tensor, shape: Shape) -> Tensor:
    """Draw indices with probabilities proportional to weights."""
    order = (chances == 0).argsort()  # zeros last, so that rounding never selects them
    sums = chances.take(order).cumsum()
    drawn = sums.searchsorted(self.rand(shape, device=chances.device) * sums[-1], "right")
    return order.take(drawn.minimum((chances > 0).sum() - 1))


def _race(self: Core, n: int, chances: Tensor | None, count: int, device: Device) -> Tensor:
    """Draw indices without replacement: those of the smallest exponential times."""
    if chances is None:
        return _order(self, (n,), 0, device)[:count]
    if (others := int((chances > 0).sum())) < count:
        raise ValueError(f"choice: cannot draw {count} of {others} elements with nonzero p")
    times = Draw(self.bit_generator, (n,), device, chances.dtype).exponentials()
    return (times / chances).argsort()[:count]


def bytes(self: Core, length: int) -> builtins.bytes:
    """Return random bytes, computed on the host: the words in little-endian byte order.

    Parameters
    ----------
    length : int
        The number of bytes. Raises ValueError if it is negative.
    """
    count = count_of("bytes", "length", length)
    words = Draw(self.bit_generator, (-(-count // 4),), parse("cpu")).by(random_bits)
    return words.numpy().tobytes()[:count]


def _chances(p: Operand, n: int, device: Device) -> Tensor:
    """Return the checked probabilities of n slices as a tensor."""
    chances = tensor_of(p, "choice", device=device)
    if chances.shape != (n,):
        raise ShapeError(f"choice: p of shape {chances.shape} does not match {n} elements")
    if not isinstance(p, Tensor):
        numbers, _ = numbers_of("choice", p)
        broken = [number for number in numbers if not number >= 0]
        if broken:
            raise ValueError(f"choice: p must be at least 0, not {broken[0]}")
        total = math.fsum(numbers)
        known = dtypes.BY_NAME.get(str(getattr(p, "dtype", "")), dtypes.float64)
        eps = 2.0 ** (1 - (known.digits or dtypes.float64.digits))
        if abs(total - 1) > math.sqrt(eps):  # as in NumPy
            raise ValueError(f"choice: the sum of p must be 1, not {total}")
    return chances
