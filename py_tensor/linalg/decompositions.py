"""Linear solvers and decompositions of matrices in the last two axes of a tensor.

Dedicated kernels compute factors (`codegen/factorization.py`) and, by Jacobi rotations, eigenvalues
and singular values. All matrices of a batch are processed in parallel, and
nothing is read back from the GPU unless a docstring says so. Matrices may be complex.

Where NumPy raises `LinAlgError` because of the elements of a matrix, these functions raise it too
on the cpu device, and if they are computed on the host. On the GPU the elements are not read for
that: a matrix without a result gives infinities and NaN, and the others are not affected.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from py_tensor.adapters.hosted import from_host
from py_tensor.base import dtypes
from py_tensor.base.dtypes import DType
from py_tensor.base.errors import NotDifferentiableError, ShapeError, check_option
from py_tensor.base.shapes import Shape, broadcast
from py_tensor.codegen.factorization import SIDES
from py_tensor.ir.arrays import Array
from py_tensor.ir.node import NOT_DIFFERENTIABLE, Meta
from py_tensor.ir.op import CpuOp
from py_tensor.ir.recording import check_constant, is_recording
from py_tensor.ops.complex import conjugated, parts_of, squared_length
from py_tensor.ops.creation import arange, eye, ones, zeros
from py_tensor.ops.elementwise import floor, isfinite, maximum, sign, sqrt, where
from py_tensor.ops.factorization import CHOLESKY, DET, QR, SLOGDET, SOLVE, rotated
from py_tensor.ops.gather import take_along_axis
from py_tensor.ops.movement import broadcast_to, concat, converted, expand_dims, in_common_dtype
from py_tensor.ops.operands import Operand, known, node_of, tensors_of
from py_tensor.ops.rearrange import tril
from py_tensor.ops.record import Composition, build
from py_tensor.ops.rules import Results, differentiated_by
from py_tensor.ops.sorting import argsort, sort
from py_tensor.ops.transcendental import exp2, log2
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "EigResult", "EighResult", "LinAlgError", "QRResult", "SVDResult", "SlogdetResult", "cholesky",
    "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matrix_rank", "pinv", "qr",
    "slogdet", "solve", "svd", "svdvals",
]  # fmt: skip


class LinAlgError(ValueError):
    """Raised, as in NumPy, for matrices without a result."""


class SlogdetResult(NamedTuple):
    """The sign of a determinant and the logarithm of its absolute value."""

    sign: Tensor
    logabsdet: Tensor


class QRResult(NamedTuple):
    """The factors Q (orthogonal) and R (upper triangular)."""

    Q: Tensor
    R: Tensor


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EigResult(NamedTuple):
    """Eigenvalues, and eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class SVDResult(NamedTuple):
    """The factors U, S (singular values in descending order) and Vh."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def _floating(op: str, x: Operand) -> Tensor:
    """Convert matrices to floating point of at least 32 bits; raise LinAlgError for others."""
    x = tensor_of(x, op)
    if x.ndim < 2:
        raise LinAlgError(f"{op}: takes matrices, not shape {x.shape}")
    return converted(x, dtypes.at_least_single(x.dtype))


def _square(op: str, x: Operand) -> Tensor:
    x = _floating(op, x)
    if x.shape[-1] != x.shape[-2]:
        raise LinAlgError(f"{op}: takes square matrices, not shape {x.shape}")
    return x


def _adjoint(x: Tensor) -> Tensor:
    return conjugated(x.mT)


# -- Solutions and determinants -----------------------------------------------------------------


def solve(a: Operand, b: Operand) -> Tensor:
    """Solve the linear equations ``a @ x == b``.

    Parameters
    ----------
    a
        Square matrices, of shape (..., n, n).
    b
        A vector (n,), or matrices (..., n, k).

    Raises
    ------
    LinAlgError
        If the matrices are not square; on the cpu device also if one is singular. On the GPU the
        solution of a singular matrix is infinite or NaN.
    ShapeError
        If the shapes do not match.
    """
    a, b = tensors_of("solve", (a, b))
    a, b = in_common_dtype("solve", _square("solve", a), b)
    solution = _solved(a, b)
    _check_result("solve", "the matrix is singular", solution, a, b)
    return solution


def _check_result(op: str, words: str, result: Tensor, *operands: Tensor) -> None:
    """Raise LinAlgError where NumPy's function raises it, if the elements are on the host."""
    values = known(result)
    if values is None or not (values != values).any():
        return
    np, arrays = host.load_numpy(), [*map(known, operands)]
    # NumPy itself raises nothing in WebAssembly, which has no floating-point exceptions.
    refused = all(np.isfinite(x).all() for x in arrays)
    try:
        getattr(np.linalg, op)(*arrays)
    except np.linalg.LinAlgError:
        refused = True
    if refused:
        raise LinAlgError(f"{op}: {words}")


def _pull_solved(g: Tensor, y: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """With B for g's cotangent of b: the cotangent of a is -B y^T."""
    is_vector = b.ndim == 1
    of_b = _solved(a.mT, expand_dims(g, -1) if is_vector else g)
    y = expand_dims(y, -1) if is_vector else y
    of_a = -(of_b @ y.mT)
    of_b = of_b[..., 0] if is_vector else of_b
    return _summed_to(of_a, a.shape), _summed_to(of_b, b.shape)


def _summed_to(g: Tensor, shape: Shape) -> Tensor:
    """Return the cotangent of an operand that was broadcast."""
    g = g.sum(tuple(range(g.ndim - len(shape))))
    axes = tuple(axis for axis, n in enumerate(shape) if n != g.shape[axis])
    return g.sum(axes, keepdims=True) if axes else g


@differentiated_by(_pull_solved)
def _solved(a: Tensor, b: Tensor) -> Tensor:
    """Like `solve`, without checking the elements."""
    return _solution((a, b))


@Composition
def _solution(a: Tensor, b: Tensor) -> Tensor:
    is_vector = b.ndim == 1
    words = f"solve: b of shape {b.shape} does not match a of shape {a.shape}"
    b = expand_dims(b, -1) if is_vector else b
    if b.ndim < 2 or b.shape[-2] != a.shape[-1]:
        raise ShapeError(words)
    try:
        batch = broadcast("solve", a.shape[:-2], b.shape[:-2])
    except ShapeError:
        raise ShapeError(words) from None
    a = broadcast_to(a, (*batch, *a.shape[-2:]))
    right = broadcast_to(b, (*batch, *b.shape[-2:])).mT
    if right.size:
        rows = build(SOLVE, (concat([a.mT, right], -2),), 0)[..., a.shape[-1] :, :]
    else:
        rows = zeros(right.shape, a.dtype, device=a.device)
    return rows[..., 0, :] if is_vector else rows.mT


def inv(a: Operand) -> Tensor:
    """Return the inverse of square matrices.

    Raises
    ------
    LinAlgError
        If the matrices are not square; on the cpu device also if one is singular. On the GPU the
        inverse of a singular matrix is infinite or NaN.
    """
    x = _square("inv", a)
    inverse = unchecked_inverse(x)
    _check_result("inv", "the matrix is singular", inverse, x)
    return inverse


def _pull_inverse(g: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
    return (-(y.mT @ g @ y.mT),)


@differentiated_by(_pull_inverse)
def unchecked_inverse(x: Tensor) -> Tensor:
    """Like `inv`, without checking the elements."""
    return _inverse((x,))


@Composition
def _inverse(x: Tensor) -> Tensor:
    return _solution((x, eye(x.shape[-1], dtype=x.dtype, device=x.device)))


def det(a: Operand) -> Tensor:
    """Return the determinant of square matrices. Raises LinAlgError for others."""
    x = _square("det", a)
    if not x.size:
        return ones(x.shape[:-2], x.dtype, device=x.device)
    return _determinant_of(x)


def _pull_determinant(g: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
    """The derivative is the matrix of cofactors: y x^-T, or of a singular matrix by its SVD.

    Each is computed of a matrix for which it and its derivatives are finite.
    """
    n = x.shape[-1]
    is_singular = expand_dims(y == 0, (-2, -1))
    regular = where(is_singular, _identity(x, n), x)
    steps = _identity(x, n) * arange(1, n + 1, dtype=dtypes.real_of(x.dtype), device=x.device)
    by_inverse = unchecked_inverse(regular).mT * expand_dims(y, (-2, -1))
    u, s, vh = svd(where(is_singular, x, steps), full_matrices=False)
    others = _identity(x, n).astype(dtypes.bool_)
    products = where(others, 1, expand_dims(s, -2)).prod(-1)  # of all singular values but one
    turn = expand_dims(_determinant_of(u) * _determinant_of(vh), (-2, -1))
    by_values = turn * (conjugated(u) * expand_dims(products, -2)) @ conjugated(vh)
    return (expand_dims(g, (-2, -1)) * where(is_singular, by_values, by_inverse),)


@differentiated_by(_pull_determinant)
def _determinant_of(x: Tensor) -> Tensor:
    return _determinant((x,))


@Composition
def _determinant(x: Tensor) -> Tensor:
    return build(DET, (x,), 0)[..., 0]


def slogdet(a: Operand) -> SlogdetResult:
    """Return the sign of each determinant (modulus 1 if complex), and the log of its modulus."""
    x = _square("slogdet", a)
    if not x.size:
        sign = ones(x.shape[:-2], x.dtype, device=x.device)
        return SlogdetResult(sign, _real(sign * 0))
    return SlogdetResult(*_logarithm(x))


def _pull_logarithm(g: Results, y: Results, x: Tensor) -> tuple[Tensor]:
    """The differential of log(det x) is t = tr(x^-1 dx): its modulus has Re t, its sign i Im t."""
    of_trace = converted(g[1], x.dtype)
    if x.dtype.is_complex:
        of_trace = of_trace - 1j * _real(g[0] * y[0] * 1j)
    return (expand_dims(of_trace, (-2, -1)) * unchecked_inverse(x).mT,)


@differentiated_by(_pull_logarithm)
def _logarithm(x: Tensor) -> tuple[Tensor, ...]:
    return _parts_of_slogdet((build(SLOGDET, (x,), 0),))


@Composition
def _parts_of_slogdet(pairs: Tensor) -> tuple[Tensor, Tensor]:
    return pairs[..., 0], _real(pairs[..., 1])


def cholesky(a: Operand, /, *, upper: bool = False) -> Tensor:
    """Return the Cholesky decomposition of positive-definite matrices.

    Only the lower triangle is read.

    Parameters
    ----------
    upper : bool
        Whether to return the upper triangular factor.

    Raises
    ------
    LinAlgError
        If the matrices are not square; on the cpu device also if one is not positive definite. On
        the GPU the result is NaN.
    """
    x = _square("cholesky", a)
    if not x.size:
        return x
    lower_half = _adjoint(x) if upper else x
    factor = _factor(lower_half)
    _check_result("cholesky", "the matrix is not positive definite", factor, lower_half)
    return _adjoint(factor) if upper else factor


def _pull_factor(g: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
    """I. Murray, "Differentiation of the Cholesky decomposition", arXiv:1602.07527, eq. 10."""
    inner = _lower_half(_adjoint(y) @ conjugated(g))
    inverse = unchecked_inverse(y)
    whole = _adjoint(inverse) @ inner @ inverse
    return (conjugated(whole + _adjoint(whole)) / 2,)


def _lower_half(x: Tensor) -> Tensor:
    """Return the lower triangle, with half of the diagonal."""
    return tril(x) - _identity(x, x.shape[-1]) * x / 2


@differentiated_by(_pull_factor)
def _factor(x: Tensor) -> Tensor:
    """Like `cholesky`, without checking the elements."""
    return _triangle((x,))


@Composition
def _triangle(x: Tensor) -> Tensor:
    return tril(build(CHOLESKY, (x,), 0))


# -- Orthogonal factors -------------------------------------------------------------------------


def qr(a: Operand, mode: str = "reduced") -> Any:
    """Return the QR decomposition of matrices.

    Uses Householder reflections (Householder, Unitary triangularization of a nonsymmetric matrix,
    1958).

    Parameters
    ----------
    mode : {"reduced", "complete", "r", "raw"}
        "reduced" and "complete" set the number of columns of Q to the smaller side or to the number
        of rows; "r" returns only R. "raw" returns the reflections in LAPACK's form, a matrix (n, m)
        and the factors; these are computed on the host by NumPy, which waits for the GPU.

    Raises
    ------
    ValueError
        If the mode is unknown.
    """
    x = _floating("qr", a)
    check_option("qr", "mode", mode, ("reduced", "complete", "r", "raw"))
    if mode == "raw":
        check_constant(node_of(x), "qr")
        stacked: Any = host.load_numpy().linalg.qr(x.numpy(), mode="raw")
        return tuple(from_host("qr", factor, x.dtype, x.device) for factor in stacked)
    if mode == "r" and not is_recording():
        return _transposed((_reflected((x,), 0),), min(x.shape[-2:]))
    result = QRResult(*_factors(x, is_complete=mode == "complete"))
    return result.R if mode == "r" else result


def _pull_factors(g: Results, y: Results, x: Tensor, *, is_complete: bool) -> tuple[Tensor]:
    """M. Seeger and others, "Auto-differentiating linear algebra", arXiv:1710.08717, section 4.3.

    Of a wide matrix the columns beyond the square are Q^H times those of x.
    """
    q, r = y
    m, n = x.shape[-2:]
    if is_complete and m > n:
        raise NotDifferentiableError(
            f"qr: with mode='complete', the last {m - n} of the {m} columns of Q have no derivative"
        )
    of_q, of_r = (conjugated(part) for part in g)
    of_rest = of_r[..., m:]  # empty, unless the matrix is wide
    if m < n:
        of_q = of_q + x[..., m:] @ _adjoint(of_rest)
        of_r, r = of_r[..., :m], r[..., :m]
    inner = r @ _adjoint(of_r) - _adjoint(of_q) @ q
    low = tril(inner, -1)
    middle = low + _adjoint(low) + _identity(inner, inner.shape[-1]) * _real(inner)
    of_x = _adjoint(_solved(r, _adjoint(of_q + q @ middle)))
    if m < n:
        of_x = concat((of_x, q @ of_rest), -1)
    return (conjugated(of_x),)


@differentiated_by(_pull_factors)
def _factors(x: Tensor, *, is_complete: bool) -> tuple[Tensor, Tensor]:
    m, n = x.shape[-2:]
    count = m if is_complete else min(m, n)
    return _parts_of_qr((_reflected((x,), count),), count, count)


@Composition
def _reflected(x: Tensor, rows: int) -> Tensor:
    """Return the columns of Q, the first `rows` of them, and of R."""
    columns = concat([_identity(x, rows, x.shape[-2]), x.mT], -2)
    return build(QR, (columns,), rows) if x.size else columns


@Composition
def _parts_of_qr(stacked: Tensor, rows: int, count: int) -> tuple[Tensor, Tensor]:
    q, r = stacked[..., :rows, :], stacked[..., rows:, :count]
    return q.mT, r.mT


@Composition
def _transposed(stacked: Tensor, count: int) -> Tensor:
    return stacked[..., :count].mT


# -- Eigenvalues and singular values ------------------------------------------------------------


def _real(x: Tensor) -> Tensor:
    return parts_of(x)[0] if x.dtype.is_complex else x


def _identity(x: Tensor, n: int, m: int | None = None) -> Tensor:
    """Return the first `n` rows of identities with `m` columns, one for each matrix of `x`."""
    one = eye(n, m, dtype=x.dtype, device=x.device)
    return broadcast_to(one, (*x.shape[:-2], *one.shape))


@Composition
def _scaled(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the powers of two that scale matrices to magnitudes of about 1, and the quotients.

    Matrices with an infinity or a NaN become zeros, and their powers NaN.
    """
    size = abs(x).max((-2, -1), keepdims=True)
    is_finite = isfinite(size)
    scale = exp2(floor(log2(where(is_finite & (size > 0), size, 1))))
    return where(is_finite, scale, math.nan), where(is_finite, x / scale, 0)


def _sorted(values: Tensor, *matrices: Tensor, descending: bool = False) -> tuple[Tensor, ...]:
    """Sort values, and the columns of matrices in the same order."""
    order = argsort(values, -1, descending=descending)
    columns = expand_dims(order, -2)
    return take_along_axis(values, order, -1), *(
        take_along_axis(x, broadcast_to(columns, x.shape), -1) for x in matrices
    )


def eigh(a: Operand, UPLO: str = "L") -> EighResult:  # noqa: N803 - NumPy's name
    """Return eigenvalues and eigenvectors of symmetric or Hermitian matrices, by Jacobi rotations.

    A matrix with an infinity or a NaN gives NaN.

    Parameters
    ----------
    UPLO : {"L", "U"}
        Whether to read the lower or the upper triangle.

    Raises
    ------
    LinAlgError
        If the matrices are not square.
    ValueError
        If `UPLO` is unknown.
    """
    x = _square("eigh", a)
    check_option("eigh", "UPLO", UPLO, ("L", "U", "l", "u"))
    if not x.size:
        return EighResult(zeros(x.shape[:-1], dtypes.real_of(x.dtype), device=x.device), x)
    return EighResult(*_diagonalized(x, is_lower=UPLO in "Ll"))


def _pull_diagonalized(g: Results, y: Results, x: Tensor, *, is_lower: bool) -> tuple[Tensor]:
    """M. Giles, "Collected matrix derivative results", 2008, section 3.1.

    Vectors of equal eigenvalues have no derivative; those terms are 0.
    """
    values, vectors = y
    of_values, of_vectors = g[0], conjugated(g[1])
    gaps = expand_dims(values, -2) - expand_dims(values, -1)
    are_equal = gaps == 0
    rates = where(are_equal, 0, 1 / where(are_equal, 1, gaps))
    inner = rates * (_adjoint(vectors) @ of_vectors)
    inner = inner + _identity(x, x.shape[-1]) * expand_dims(of_values, -1)
    whole = vectors @ inner @ _adjoint(vectors)
    return (conjugated(whole + _adjoint(whole)) / 2,)


@differentiated_by(_pull_diagonalized)
def _diagonalized(x: Tensor, *, is_lower: bool) -> tuple[Tensor, ...]:
    scale, a = _scaled((_lower((x,), is_lower),))
    if x.device.uses_numpy or x.shape[-1] <= SIDES[x.dtype]:
        decomposed = _parts_of_rows((rotated(a),))
    else:
        decomposed = _by_columns((a,))
    return _unscaled((scale, *decomposed))


@Composition
def _lower(x: Tensor, is_lower: bool) -> Tensor:
    return tril(x if is_lower else _adjoint(x))


@Composition
def _parts_of_rows(stacked: Tensor) -> tuple[Tensor, Tensor]:
    return _real(stacked[..., -1, :]), stacked[..., :-1, :]


@Composition
def _unscaled(scale: Tensor, values: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
    return values * scale[..., 0], where(isfinite(scale), vectors, math.nan)


@Composition
def _by_columns(a: Tensor) -> tuple[Tensor, ...]:
    """Return eigenvalues and eigenvectors of Hermitian matrices from their lower triangles.

    Adding a multiple of the identity makes the matrices positive definite, with a condition number
    of at most 5. Their left and right singular vectors are then eigenvectors, whose accuracy is
    that of the orthogonality of the columns, whatever the eigenvalues of the original matrices.
    """
    low, identity = tril(a, -1), _identity(a, a.shape[-1])
    a = low + _adjoint(low) + identity * _real(a)
    squares = squared_length(a @ a).sum((-2, -1), keepdims=True)
    shift = maximum(1.5 * sqrt(sqrt(squares)), 1)  # at least 1.5 times the largest eigenvalue
    columns = rotated(a + shift * identity, a.shape[-1])
    vectors = columns / sqrt(squared_length(columns).sum(-2, keepdims=True))
    values = _real(conjugated(vectors) * (a @ vectors)).sum(-2)
    return _sorted(values, vectors)


def eigvalsh(a: Operand, UPLO: str = "L") -> Tensor:  # noqa: N803
    """Return the eigenvalues of symmetric or Hermitian matrices in ascending order; see `eigh`."""
    return eigh(a, UPLO).eigenvalues


def svd(
    a: Operand, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """Return the singular value decomposition, by one-sided Jacobi rotations (Hestenes, 1958).

    On the cpu device NumPy computes it. A matrix with an infinity gives NaN.

    Parameters
    ----------
    full_matrices : bool
        Whether U and Vh are square; otherwise they have as many columns and rows as there are
        singular values.
    compute_uv : bool
        Whether to return all three as an `SVDResult`, or only the singular values.
    hermitian : bool
        Whether the matrices are symmetric or Hermitian, so that `eigh` is used.

    Raises
    ------
    LinAlgError
        If `a` is not a matrix; on the cpu device also if it contains NaN. On the GPU the result is
        NaN.
    """
    x = _without_nan("svd", _floating("svd", a))
    if hermitian:
        return _of_hermitian(x, compute_uv)
    if not compute_uv:
        return svdvals(x)
    return SVDResult(*_decomposed(x, full_matrices=full_matrices))


def _pull_decomposed(g: Results, y: Results, x: Tensor, *, full_matrices: bool) -> tuple[Tensor]:
    """J. Townsend, "Differentiating the singular value decomposition", 2016.

    Z. Wan and S. Zhang, arXiv:1909.02659, have the term for complex matrices. Vectors of equal
    singular values have no derivative; those terms are 0.
    """
    (m, n), (u, s, vh) = x.shape[-2:], y
    if full_matrices and m != n:
        raise NotDifferentiableError(
            f"svd: with full_matrices, the last {abs(m - n)} vectors of one side have no"
            " derivative; use full_matrices=False"
        )
    of_u, of_s, of_v = conjugated(g[0]), g[1], g[2].mT
    v, k = _adjoint(vh), s.shape[-1]
    squares = s * s
    gaps = expand_dims(squares, -2) - expand_dims(squares, -1)
    are_equal = gaps == 0
    rates = where(are_equal, 0, 1 / where(are_equal, 1, gaps))
    turn_u, turn_v = _adjoint(u) @ of_u, vh @ of_v
    skew_u, skew_v = turn_u - _adjoint(turn_u), turn_v - _adjoint(turn_v)
    row, column = expand_dims(s, -2), expand_dims(s, -1)
    inverse = where(s == 0, 0, 1 / where(s == 0, 1, s))
    inner = (skew_u * rates) * row + column * (skew_v * rates)
    diagonal = converted(of_s, x.dtype)
    if x.dtype.is_complex:
        diagonal = diagonal + skew_u.diagonal(0, -2, -1) * inverse / 2
    inner = inner + _identity(inner, k) * expand_dims(diagonal, -1)
    whole = u @ inner
    if m > k:
        whole = whole + (of_u - u @ turn_u) * expand_dims(inverse, -2)
    whole = whole @ vh
    if n > k:
        whole = whole + (u * expand_dims(inverse, -2)) @ _adjoint(of_v - v @ turn_v)
    return (conjugated(whole),)


@differentiated_by(_pull_decomposed)
def _decomposed(x: Tensor, *, full_matrices: bool) -> SVDResult:
    m, n = x.shape[-2:]
    if m < n:
        transposed = svd(_adjoint(x), full_matrices)
        return SVDResult(_adjoint(transposed.Vh), transposed.S, _adjoint(transposed.U))
    if not x.size:
        values = zeros((*x.shape[:-2], n), dtypes.real_of(x.dtype), device=x.device)
        return SVDResult(_identity(x, m)[..., : m if full_matrices else n], values, _identity(x, n))
    if m == n or (x.device.computes_cpu_ops and not full_matrices):
        return _reduced_svd(x)
    scale, a = _scaled((x,))
    q, r = qr(a, mode="complete" if full_matrices else "reduced")
    u, s, vh = _reduced_svd(r[..., :n, :] * where(isfinite(scale), 1, scale))
    u = q[..., :n] @ u
    if full_matrices:
        u = concat((u, where(isfinite(scale), q[..., n:], math.nan)), -1)
    return SVDResult(u, s * scale[..., 0], vh)


def _without_nan(op: str, x: Tensor) -> Tensor:
    """Return the matrices; raise LinAlgError if they are on the host and contain NaN."""
    values = known(x)
    if values is not None and (values != values).any():
        raise LinAlgError(f"{op}: a matrix with NaN has no singular values")
    return x


def _by_lapack(np: Any, operands: tuple[Array, ...], with_vectors: Any) -> Array:
    """Return a row of singular values, above it those of U, and below it those of V."""
    (x,) = operands
    finite = np.isfinite(x).all((-2, -1), keepdims=True)
    decomposed = np.linalg.svd(np.where(finite, x, 0), full_matrices=False, compute_uv=with_vectors)
    values = (decomposed[1] if with_vectors else decomposed)[..., None, :].astype(x.dtype)
    if with_vectors:
        v = np.conj(np.swapaxes(decomposed[2], -1, -2))
        values = np.concatenate((decomposed[0], values, v), -2)
    return np.where(finite, values, np.asarray(np.nan, x.dtype))


def _shape_by_lapack(metas: tuple[Meta, ...], with_vectors: Any) -> tuple[Shape, DType]:
    *batch, m, n = metas[0].shape
    return (*batch, m + 1 + n if with_vectors else 1, n), metas[0].dtype


_LAPACK = CpuOp("svd", vjp=NOT_DIFFERENTIABLE, result=_shape_by_lapack, numpy=_by_lapack)


def _reduced_svd(x: Tensor) -> SVDResult:
    """Return the reduced decomposition of square matrices, or on the cpu device of tall ones.

    Columns that are zero or only rounding errors are not left singular vectors. They are replaced
    by orthonormal columns of a QR decomposition, which preserves all others.
    """
    m, n = x.shape[-2:]
    if x.device.computes_cpu_ops:
        return SVDResult(*_parts_of_svd((build(_LAPACK, (x,), True),), m))
    scale, a = _scaled((x,))
    turned = rotated(concat((a, _identity(a, n)), -2), n)
    w, v = turned[..., :n, :], turned[..., n:, :]
    sizes, w, v = _sorted(sqrt(squared_length(w).sum(-2)), w, v, descending=True)
    q, r = qr(w)
    turn = r.diagonal(0, -2, -1)
    u = q * expand_dims(where(turn == 0, 1, sign(turn)), -2)
    is_finite = isfinite(scale)
    u, vh = (where(is_finite, y, math.nan) for y in (u, _adjoint(v)))
    return SVDResult(u, sizes * scale[..., 0], vh)


@Composition
def _parts_of_svd(stacked: Tensor, m: int) -> tuple[Tensor, Tensor, Tensor]:
    u, values, v = stacked[..., :m, :], stacked[..., m, :], stacked[..., m + 1 :, :]
    return u, _real(values), _adjoint(v)


def _of_hermitian(x: Tensor, compute_uv: bool) -> Any:
    """Decompose Hermitian matrices, whose singular values are the absolute eigenvalues."""
    values, vectors = eigh(x)
    if not compute_uv:
        return sort(abs(values), -1, descending=True)
    _, values, u = _sorted(abs(values), expand_dims(values, -2), vectors, descending=True)
    signs = where(values < 0, -1, 1)
    return SVDResult(u, abs(values)[..., 0, :], _adjoint(u * signs))


def svdvals(x: Operand, /) -> Tensor:
    """Return the singular values of matrices in descending order; see `svd`."""
    x = _without_nan("svdvals", _floating("svdvals", x))
    if is_recording():  # the derivative takes the vectors
        return svd(x, full_matrices=False).S
    m, n = x.shape[-2:]
    if m < n:
        return svdvals(_adjoint(x))
    if not x.size:
        return zeros((*x.shape[:-2], n), dtypes.real_of(x.dtype), device=x.device)
    if x.device.computes_cpu_ops:
        return _real(build(_LAPACK, (x,), False)[..., 0, :])
    scale, a = _scaled((x,))
    w = rotated(qr(a, mode="r") if m > n else a, n)
    (values,) = _sorted(sqrt(squared_length(w).sum(-2)), descending=True)
    return values * scale[..., 0]


# -- By singular values -------------------------------------------------------------------------


def _count(x: Tensor, s: Tensor, rtol: Any) -> Tensor:
    """Return which singular values of a matrix count: those above `rtol` times the largest."""
    if rtol is None:
        rtol = float(max(x.shape[-2:])) * dtypes.epsilon(x.dtype)
    elif not isinstance(rtol, float):
        rtol = expand_dims(tensor_of(rtol, "rtol", device=x.device), -1)
    return s > rtol * s.max(-1, keepdims=True, initial=0)


def by_singular_values(x: Tensor, rtol: Any, y: Tensor | None = None) -> tuple[Tensor, ...]:
    """Return the pseudo-inverse, or its product with `y`; the rank; and the singular values."""
    if is_recording():
        s = svdvals(x)
        inverse = _pseudo_inverse(x, rtol=rtol)
        return inverse if y is None else inverse @ y, _count(x, s, rtol).sum(-1), s
    return _by_singular_values(x, rtol, y)


def _pull_pseudo_inverse(g: Tensor, y: Tensor, x: Tensor, *, rtol: Any) -> tuple[Tensor]:
    """G. Golub and V. Pereyra, SIAM Journal on Numerical Analysis 10, 1973: of constant rank."""
    g, across = conjugated(g), _adjoint(y)
    left = _identity(y, x.shape[-2]) - x @ y
    right = _identity(y, x.shape[-1]) - y @ x
    whole = left @ _adjoint(g) @ y @ across + across @ y @ _adjoint(g) @ right
    return (conjugated(whole - across @ g @ across),)


@differentiated_by(_pull_pseudo_inverse)
def _pseudo_inverse(x: Tensor, *, rtol: Any) -> Tensor:
    return _by_singular_values(x, rtol)[0]


def _by_singular_values(x: Tensor, rtol: Any, y: Tensor | None = None) -> tuple[Tensor, ...]:
    u, s, vh = svd(x, full_matrices=False)
    counts = _count(x, s, rtol)
    inverse = expand_dims(where(counts, 1 / where(counts, s, 1), 0.0), -1)
    across = _adjoint(u) if y is None else _adjoint(u) @ y
    return _adjoint(vh) @ (inverse * across), counts.sum(-1), s


def pinv(
    a: Operand,
    rcond: Operand | None = None,
    hermitian: bool = False,
    *,
    rtol: Operand | None = None,
) -> Tensor:
    """Return the Moore-Penrose pseudo-inverse.

    Parameters
    ----------
    rtol : optional
        Singular values below `rtol` times the largest count as 0. The default is NumPy's 1e-15 in
        double precision, otherwise the larger side times the precision of the dtype. `rcond` is an
        alias.
    hermitian : bool
        Accepted; has no effect.
    """
    x = _floating("pinv", a)
    threshold = rcond if rtol is None else rtol
    if threshold is None and x.dtype.has_64_bits:
        threshold = 1e-15
    return by_singular_values(x, threshold)[0]


def matrix_rank(
    A: Operand,  # noqa: N803
    tol: Operand | None = None,
    hermitian: bool = False,
    *,
    rtol: Operand | None = None,
) -> Tensor:
    """Return the rank (int32): the number of singular values above `rtol` times the largest.

    `rtol` is as in `pinv`; `tol` is an absolute threshold instead. The rank of a vector is 1, or 0
    if all elements are 0.
    """
    x = tensor_of(A, "matrix_rank")
    if x.ndim < 2:
        return converted(x.any(), dtypes.int32)
    x = _floating("matrix_rank", x)
    s = svdvals(x)
    if tol is not None:
        bound = tensor_of(tol, "matrix_rank", device=x.device)
        return (s > (expand_dims(bound, -1) if bound.ndim else bound)).sum(-1)
    return _count(x, s, rtol).sum(-1)


def lstsq(a: Operand, b: Operand, rcond: float | None = None) -> Any:
    """Return the least-squares solution of ``a @ x = b``, as in NumPy.

    Singular values below `rcond` times the largest count as 0; a negative `rcond` means the
    precision of the dtype.

    Returns
    -------
    tuple
        The minimum-norm solution; the sums of squared residuals, empty unless `a` has full rank and
        more rows than columns; the rank; and the singular values. Waits for the GPU.

    Raises
    ------
    LinAlgError
        If `a` is not a matrix, or `b` is not a vector or matrix with the same number of rows.
    """
    x, y = tensors_of("lstsq", (a, b))
    x, y = in_common_dtype("lstsq", _floating("lstsq", x), y)
    if x.ndim != 2 or y.ndim not in (1, 2) or len(x) != len(y):
        words = f"the same number of rows, not shapes {x.shape} and {y.shape}"
        raise LinAlgError(f"lstsq: a and b must have {words}")
    least = dtypes.epsilon(x.dtype) if rcond is not None and rcond < 0 else rcond
    columns = expand_dims(y, 1) if y.ndim == 1 else y
    solution, counted, s = by_singular_values(x, least, columns)
    rank, rest = int(counted), squared_length(columns - x @ solution).sum(0)
    if rank < x.shape[1] or x.shape[0] <= x.shape[1]:
        rest = rest[:0]
    return (solution[:, 0] if y.ndim == 1 else solution), rest, rank, s


# -- General matrices ---------------------------------------------------------------------------


def eig(a: Operand) -> EigResult:
    """Return eigenvalues and eigenvectors of square matrices, computed on the host by NumPy.

    There is no GPU algorithm: the function waits for the GPU, and `pt.explain` reports that the
    result comes from the host. Results are always complex, as in the array API standard and in
    NumPy since 2.5; ``found.eigenvalues.real`` gives the real parts.

    Raises
    ------
    LinAlgError
        If the matrices are not square or not finite.
    """
    x = _square("eig", a)
    check_constant(node_of(x), "eig")
    np, matrices = host.load_numpy(), x.numpy()
    if not np.isfinite(matrices).all():
        raise LinAlgError("eig: the matrix contains infinities or NaN")
    values, vectors = np.linalg.eig(matrices)
    target = dtypes.complex_of(x.dtype)
    return EigResult(*(from_host("eig", v, target, x.device) for v in (values, vectors)))


def eigvals(a: Operand) -> Tensor:
    """Return the eigenvalues of square matrices, always complex; see `eig`."""
    return eig(a).eigenvalues
