"""Solutions and decompositions of matrices, which lie in the last two axes of a tensor.

Factors are computed by kernels of their own (`codegen/factorization.py`), eigenvalues and singular
values by a loop over rotations, whose passes are alike. All matrices of a batch advance at once, and
nothing is read back. What has no solution holds infinities and NaN, where NumPy raises: to raise, the
GPU would have to be waited for. Matrices may be complex.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from py_tensor import dtypes
from py_tensor.backend.host import host
from py_tensor.errors import ShapeError
from py_tensor.ops.complex import conjugated, parts_of, squared_length
from py_tensor.ops.creation import eye, ones, zeros
from py_tensor.ops.define import build
from py_tensor.ops.elementwise import abs, equal, sign, sqrt, where
from py_tensor.ops.factorization import CHOLESKY, DET, QR, SLOGDET, SOLVE
from py_tensor.ops.gather import take_along_axis
from py_tensor.ops.linalg import matmul
from py_tensor.ops.movement import (
    broadcast_to,
    concat,
    converted,
    diagonal,
    expand_dims,
    in_common_dtype,
    pad,
    swapaxes,
)
from py_tensor.ops.operands import Operand
from py_tensor.ops.rearrange import tril
from py_tensor.ops.reduction import max, sum
from py_tensor.ops.sorting import argsort
from py_tensor.shapes import broadcast, size_of
from py_tensor.tensor import Tensor, tensor_of


class LinAlgError(ValueError):
    """What NumPy raises for matrices that have no such result."""


class SlogdetResult(NamedTuple):
    """The sign of a determinant, or its angle, and the logarithm of its absolute value."""

    sign: Tensor
    logabsdet: Tensor


class QRResult(NamedTuple):
    """An orthogonal matrix and a triangular one."""

    Q: Tensor
    R: Tensor


class EighResult(NamedTuple):
    """Eigenvalues, ascending, and eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EigResult(NamedTuple):
    """Eigenvalues, and eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class SVDResult(NamedTuple):
    """Orthonormal columns, singular values, descending, and orthonormal rows."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def _floating(op: str, x: Operand) -> Tensor:
    """Matrices in floating point, of 32 bits at least."""
    x = tensor_of(x, op)
    if x.ndim < 2:
        raise ShapeError(f"{op}: takes matrices, not shape {x.shape}")
    return converted(x, dtypes.promote(dtypes.floating(x.dtype), dtypes.float32))


def _square(op: str, x: Operand) -> Tensor:
    x = _floating(op, x)
    if x.shape[-1] != x.shape[-2]:
        raise LinAlgError(f"{op}: takes square matrices, not shape {x.shape}")
    return x


def _adjoint(x: Tensor) -> Tensor:
    return conjugated(swapaxes(x, -1, -2))


# -- Solutions and determinants -----------------------------------------------------------------


def solve(x1: Operand, x2: Operand, /) -> Tensor:
    """The solutions of linear equations: ``x1 @ result`` is `x2`.

    Parameters
    ----------
    x1
        Square matrices, of shape (..., n, n).
    x2
        A vector (n,), or matrices (..., n, k).

    Raises
    ------
    LinAlgError
        For matrices that are not square.
    ShapeError
        If the numbers of rows differ.
    """
    a, b = in_common_dtype("solve", _square("solve", x1), x2)
    is_vector = b.ndim == 1
    b = expand_dims(b, -1) if is_vector else b
    if b.ndim < 2 or b.shape[-2] != a.shape[-1]:
        raise ShapeError(f"solve: {a.shape[-1]} equations, and right sides of shape {b.shape}")
    batch = broadcast("solve", a.shape[:-2], b.shape[:-2])
    a = broadcast_to(a, (*batch, *a.shape[-2:]))
    if not size_of((*batch, *b.shape[-2:])):
        return zeros(
            (*batch, a.shape[-1]) if is_vector else (*batch, *b.shape[-2:]),
            a.dtype,
            device=a.device,
        )
    b = broadcast_to(b, (*batch, *b.shape[-2:]))
    columns = concat([swapaxes(a, -1, -2), swapaxes(b, -1, -2)], -2)
    found = build(SOLVE, (columns,), 0)[..., a.shape[-1] :, :]
    return found[..., 0, :] if is_vector else swapaxes(found, -1, -2)


def inv(x: Operand, /) -> Tensor:
    """The inverses of square matrices. Raises LinAlgError for others."""
    x = _square("inv", x)
    return solve(x, eye(x.shape[-1], dtype=x.dtype, device=x.device))


def det(x: Operand, /) -> Tensor:
    """The determinants of square matrices. Raises LinAlgError for others."""
    x = _square("det", x)
    if not x.size:
        return ones(x.shape[:-2], x.dtype, device=x.device)
    return build(DET, (x,), 0)[..., 0]


def slogdet(x: Operand, /) -> SlogdetResult:
    """The sign of each determinant, or its angle as a number of size 1, and its logarithm."""
    x = _square("slogdet", x)
    if not x.size:
        sign = ones(x.shape[:-2], x.dtype, device=x.device)
        return SlogdetResult(sign, _real(sign * 0))
    found = build(SLOGDET, (x,), 0)
    return SlogdetResult(found[..., 0], _real(found[..., 1]))


def cholesky(x: Operand, /, *, upper: bool = False) -> Tensor:
    """The triangular matrix whose product with its adjoint is a positive definite matrix.

    The lower triangle is read alone. A matrix that is not positive definite gives NaN.

    Parameters
    ----------
    upper : bool
        Whether the result is an upper triangle, its own adjoint to the left.
    """
    x = _square("cholesky", x)
    if x.size:
        x = tril(build(CHOLESKY, (_adjoint(x) if upper else x,), 0))
    return _adjoint(x) if upper else x


# -- Orthogonal factors -------------------------------------------------------------------------


def qr(x: Operand, /, *, mode: str = "reduced") -> Any:
    """An orthogonal matrix and an upper triangle whose product each matrix is.

    By Householder's reflections (Householder, Unitary triangularization of a nonsymmetric matrix,
    1958).

    Parameters
    ----------
    mode : {"reduced", "complete", "r"}
        Whether there are as many columns as the smaller side, or as rows; "r" gives the triangle
        alone.

    Raises
    ------
    ValueError
        For another mode.
    """
    x = _floating("qr", x)
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"qr: mode is reduced, complete or r, not {mode!r}")
    m, n = x.shape[-2:]
    count = m if mode == "complete" else min(m, n)
    beside = 0 if mode == "r" else count
    identity = broadcast_to(
        eye(beside, m, dtype=x.dtype, device=x.device), (*x.shape[:-2], beside, m)
    )
    found = concat([identity, swapaxes(x, -1, -2)], -2)
    if x.size:
        found = build(QR, (found,), beside)
    r = swapaxes(found[..., beside:, :count], -1, -2)
    return r if mode == "r" else QRResult(swapaxes(found[..., :beside, :], -1, -2), r)


def _rotation(first: Tensor, second: Tensor, across: Tensor) -> tuple[Tensor, Tensor]:
    """The cosine and the sine that make a Hermitian matrix of two rows diagonal.

    The sine has the angle of the element across. (Golub and Van Loan, Matrix Computations, 8.5.)
    """
    size = abs(across)
    is_apart = size > 0
    tau = (second - first) / where(is_apart, 2 * size, 1)
    tangent = where(tau < 0, -1.0, 1.0) / (abs(tau) + sqrt(1 + tau * tau))
    tangent = where(is_apart, tangent, 0.0)
    cosine = 1 / sqrt(1 + tangent * tangent)
    return cosine, tangent * cosine * sign(across)


def _turned(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Columns in pairs, those of the first and of the second half, rotated."""
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    cosine, sine = expand_dims(cosine, -2), expand_dims(sine, -2)
    turned = first * cosine - second * conjugated(sine), first * sine + second * cosine
    return concat(turned, -1)


def _next_pairs(n: int) -> list[int]:
    """Where columns come from for the next pairs: all but the first move on in a circle.

    After n - 1 times each has met each other once (Brent and Luk, The solution of singular-value
    and symmetric eigenvalue problems on multiprocessor arrays, 1985).
    """
    half = n // 2
    circle = [*range(1, half), *range(n - 1, half - 1, -1)]
    back = dict(zip(circle, [circle[-1], *circle[:-1]], strict=True))
    return [0, *(back[i] for i in range(1, n))]


def _sweeps(n: int, dtype: dtypes.DType) -> int:
    """How often all pairs are rotated: the convergence is quadratic in the end."""
    return (6 if dtypes.real_of(dtype) is dtypes.float32 else 8) + n.bit_length() // 2


def eigh(x: Operand, /) -> EighResult:
    """Eigenvalues and eigenvectors of symmetric or Hermitian matrices, by Jacobi's rotations.

    The lower triangle is read alone.

    Raises
    ------
    LinAlgError
        For matrices that are not square.
    """
    x = _square("eigh", x)
    n = x.shape[-1]
    a = tril(x) + _adjoint(tril(x, -1))
    v = broadcast_to(eye(n, dtype=x.dtype, device=x.device), x.shape)
    if n % 2:  # one more, apart from all others
        a = pad(a, [(0, 0)] * (x.ndim - 2) + [(0, 1), (0, 1)])
        v = pad(v, [(0, 0)] * (x.ndim - 2) + [(0, 1), (0, 1)])
    size = a.shape[-1]
    half, order = size // 2, _next_pairs(size) if size > 1 else []
    for _ in range(_sweeps(n, x.dtype) * (size - 1) if n > 1 else 0):
        along = _real(diagonal(a, 0, -2, -1))
        across = diagonal(a[..., :half, half:], 0, -2, -1)
        cosine, sine = _rotation(along[..., :half], along[..., half:], across)
        a = _adjoint(_turned(a, cosine, sine))
        a = _adjoint(_turned(a, cosine, sine))[..., order, :][..., order]
        v = _turned(v, cosine, sine)[..., order]
    values = _real(diagonal(a, 0, -2, -1))
    if n % 2:  # all pairs have met: each column is where it was
        values, v = values[..., :n], v[..., :n, :n]
    places = argsort(values, -1)
    values = take_along_axis(values, places, -1)
    return EighResult(values, take_along_axis(v, expand_dims(places, -2), -1))


def _real(x: Tensor) -> Tensor:
    return parts_of(x)[0] if x.dtype.kind == "c" else x


def eigvalsh(x: Operand, /) -> Tensor:
    """The eigenvalues of symmetric or Hermitian matrices, ascending; as `eigh` has them."""
    return eigh(x).eigenvalues


def svd(x: Operand, /, *, full_matrices: bool = True) -> SVDResult:
    """Singular values and vectors, by rotations of columns (Hestenes, 1958).

    Parameters
    ----------
    full_matrices : bool
        Whether the orthogonal matrices are square; otherwise they have as many columns and rows as
        there are singular values.
    """
    x = _floating("svd", x)
    m, n = x.shape[-2:]
    if m < n:
        found = svd(_adjoint(x), full_matrices=full_matrices)
        return SVDResult(_adjoint(found.Vh), found.S, _adjoint(found.U))
    w, v = _rotated(x)
    sizes = sqrt(sum(squared_length(w), -2))
    places = argsort(sizes, -1, descending=True)
    sizes = take_along_axis(sizes, places, -1)
    w, v = (take_along_axis(y, expand_dims(places, -2), -1) for y in (w, v))
    q, r = qr(w, mode="complete" if full_matrices else "reduced")
    turn = diagonal(r, 0, -2, -1)
    turn = where(equal(turn, 0), 1, sign(turn))
    if full_matrices and m > n:
        turn = pad(turn, [(0, 0)] * (turn.ndim - 1) + [(0, m - n)], constant_values=1)
    return SVDResult(q * expand_dims(turn, -2), sizes, _adjoint(v))


def _rotated(x: Tensor) -> tuple[Tensor, Tensor]:
    """The matrices times a product of rotations, with orthogonal columns, and these rotations."""
    n = x.shape[-1]
    v = broadcast_to(eye(n, dtype=x.dtype, device=x.device), (*x.shape[:-2], n, n))
    if n < 2:
        return x, v
    if n % 2:
        widths = [(0, 0)] * (x.ndim - 2)
        x, v = pad(x, [*widths, (0, 0), (0, 1)]), pad(v, [*widths, (0, 0), (0, 1)])
    size = x.shape[-1]
    half, order = size // 2, _next_pairs(size)
    for _ in range(_sweeps(n, x.dtype) * (size - 1)):
        first, second = x[..., :half], x[..., half:]
        across = sum(conjugated(first) * second, -2)
        length, other = sum(squared_length(first), -2), sum(squared_length(second), -2)
        cosine, sine = _rotation(length, other, across)
        x = _turned(x, cosine, sine)[..., order]
        v = _turned(v, cosine, sine)[..., order]
    return x[..., :n], v[..., :n]


def svdvals(x: Operand, /) -> Tensor:
    """The singular values of matrices, descending; as `svd` has them."""
    x = _floating("svdvals", x)
    w, _ = _rotated(x if x.shape[-2] >= x.shape[-1] else _adjoint(x))
    sizes = sqrt(sum(squared_length(w), -2))
    return take_along_axis(sizes, argsort(sizes, -1, descending=True), -1)


# -- By singular values -------------------------------------------------------------------------


def _tolerance(x: Tensor, given: Any) -> Any:
    """Relative to the largest singular value, below which others count as 0."""
    if given is not None:
        return expand_dims(tensor_of(given, "rtol", device=x.device), -1)
    bits = 52 if dtypes.real_of(x.dtype) is dtypes.float64 else 23
    return float(x.shape[-1] if x.shape[-1] > x.shape[-2] else x.shape[-2]) * 2.0**-bits


def pinv(x: Operand, /, *, rtol: Operand | None = None) -> Tensor:
    """The pseudo-inverses of Moore and Penrose.

    Parameters
    ----------
    rtol : optional
        Below this part of the largest singular value, others count as 0; by default the larger side
        times the precision of the dtype.
    """
    x = _floating("pinv", x)
    u, s, vh = svd(x, full_matrices=False)
    cut = _tolerance(x, rtol) * max(s, -1, keepdims=True, initial=0)
    inverse = where(s > cut, 1 / where(s > cut, s, 1), 0.0)
    return matmul(_adjoint(vh), expand_dims(inverse, -1) * _adjoint(u))


def matrix_rank(x: Operand, /, *, rtol: Operand | None = None) -> Tensor:
    """How many singular values are above a part `rtol` of the largest, as int32; see `pinv`."""
    x = _floating("matrix_rank", x)
    s = svdvals(x)
    return sum(s > _tolerance(x, rtol) * max(s, -1, keepdims=True, initial=0), -1)


def lstsq(a: Operand, b: Operand, rcond: float | None = None) -> Any:
    """The least squares solution of ``a @ x = b``, as NumPy gives it.

    Returns
    -------
    tuple
        The solution of least length, the sums of squared residuals, which are empty unless `a` has
        full rank and more rows than columns, the rank, and the singular values. Waits for the GPU.
    """
    x, y = in_common_dtype("lstsq", _floating("lstsq", a), b)
    u, s, vh = svd(x, full_matrices=False)
    columns = expand_dims(y, 1) if y.ndim == 1 else y
    cut = _tolerance(x, rcond) * max(s, -1, keepdims=True, initial=0)
    inverse = where(s > cut, 1 / where(s > cut, s, 1), 0.0)
    found = matmul(_adjoint(vh), expand_dims(inverse, -1) * matmul(_adjoint(u), columns))
    rank = int(sum(s > cut))
    rest = sum(squared_length(columns - matmul(x, found)), 0)
    if rank < x.shape[1] or x.shape[0] <= x.shape[1]:
        rest = rest[:0]
    return (found[:, 0] if y.ndim == 1 else found), rest, rank, s


# -- General matrices ---------------------------------------------------------------------------


def eig(x: Operand, /) -> EigResult:
    """Eigenvalues and eigenvectors of square matrices, complex always, on the host by NumPy.

    There is no such algorithm on the GPU: it is waited for.
    """
    x = _square("eig", x)
    values, vectors = host.load_numpy().linalg.eig(x.numpy())
    target = dtypes.complex_of(x.dtype)
    return EigResult(
        *(tensor_of(v, "eig", dtype=target, device=x.device) for v in (values, vectors))
    )


def eigvals(x: Operand, /) -> Tensor:
    """The eigenvalues of square matrices, complex always; as `eig` has them."""
    return eig(x).eigenvalues
