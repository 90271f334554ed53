"""Decompositions of matrices, what follows from them, and linear systems. A matrix is the last two dimensions of a
tensor; those before are a batch. float16 and bfloat16, where taken, are computed in float32."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from pijit import _check
from pijit.compute_dtype import one_operator_each
from pijit import dtype as mstype
from pijit._C import Tensor, ops as _ops
from pijit.ops.function.creation import arange, eye
from pijit.ops.function.elementwise import cast, _need_tensor
from pijit.ops.function.linalg import matmul
from pijit.ops.function.norms import norm
from pijit.ops.function.shapes import expand_dims, reshape, squeeze, swapaxes
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from typing import Any


def _matrix(name, x, square=False, halves=True, what="input", complex=False):
    """x, a matrix of float32 or float64, or complex where that is taken; raises TypeError and ValueError naming the
    function."""
    _need_tensor(name, what, x)
    if x.dtype not in (mstype.float32, mstype.float64) and not (complex and x.dtype in mstype.complex_type):
        if not halves or x.dtype not in (mstype.float16, mstype.bfloat16):
            others = ["a half"] * halves + ["complex"] * complex
            raise _check.refused(name, what, _check.dtypes("float32", "float64", *others), x.dtype)
        x = cast(x, mstype.float32)
    if x.ndim < 2:
        raise _check.refused(name, what, _check.least_dims(2), x.shape)
    if square and x.shape[-1] != x.shape[-2]:
        raise _check.refused(name, what, _check.value("be square matrices"), x.shape)
    return x


def _adjoint(x):
    """The transposed matrices, conjugated."""
    x = swapaxes(x, -1, -2)
    return _ops["conj"](x) if x.dtype in mstype.complex_type else x


def _like(x, input):
    """x in the dtype that `input` had."""
    return x if x.dtype == input.dtype else cast(x, input.dtype)


def _diagonal_as_matrix(v):
    return expand_dims(v, -1) * eye(v.shape[-1], dtype=v.dtype)


@_named(method=True)
def svd(input: Tensor, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """Singular value decomposition of [..., m, n].

    (s, u, v) with input = u @ diag(s) @ v^H and s in descending order, or s alone.

    u is [..., m, k] and v [..., n, k] for k = min(m, n); with full_matrices [..., m, m] and [..., n, n], which have no
    gradient unless m = n. The gradient of u and v counts as 0 between equal singular values; for complex input it holds
    for what does not depend on the phases of vectors. Raises TypeError unless input is float32, float64 or complex.

    Args:
        compute_uv (bool, optional): whether to give u and v. Default: True.

    Returns:
        (s, u, v), or s alone. Float32, float64 and complex keep their dtype (s too); not for bool and ints.

    Example:
        >>> print(ops.svd(Tensor([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False))
        [4. 3.]
    """
    x = _matrix("svd", input, halves=False, complex=True)
    m, n = x.shape[-2:]
    k = builtins.min(m, n)
    packed = _ops["svd"](x, bool(full_matrices and compute_uv and m != n))
    s = packed[..., m + n, :k]
    if not compute_uv:
        return s
    wide = full_matrices and m != n
    return s, packed[..., :m, :m if wide else k], packed[..., m:m + n, :n if wide else k]


@_named(method=True)
def qr(input: Tensor, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """(q, r) with input [..., m, n] = q @ r, q's columns orthonormal and r upper triangular.

    q [..., m, k] and r [..., k, n] for k = min(m, n), or k = m where mode is 'complete' (which has no gradient for m >
    n).

    Returns:
        (q, r). Floats and complex keep their dtype, r's diagonal is real; not for bool and ints.

    Raises:
        TypeError: if `input` is not a Tensor, or `mode` is not 'reduced' or 'complete'.

    Example:
        >>> print(ops.qr(Tensor([[0.0, 2.0], [3.0, 0.0]]))[1].abs())
        [[3. 0.]
         [0. 2.]]
    """
    x = _matrix("qr", input, complex=True)
    if mode not in ("reduced", "complete"):
        raise _check.refused("qr", "mode", _check.one_of("reduced", "complete"), mode, TypeError)
    m = x.shape[-2]
    packed = _ops["qr"](x, mode == "complete")
    return _like(packed[..., :m, :], input), _like(swapaxes(packed[..., m:, :], -1, -2), input)


def _eigh(x, lower=True):
    """(eigenvalues in ascending order, eigenvectors as columns) of symmetric matrices, of which one triangle is
    read."""
    packed = _ops["eigh"](x, lower)
    return packed[..., 0, :], packed[..., 1:, :]


def _hermitian(x, lower=True):
    """Hermitian matrices of one triangle of x."""
    n = x.shape[-1]
    below = reshape(arange(n), (1, n)) - reshape(arange(n), (n, 1))
    if not lower:
        below = -below
    half = _ops["select"](below < 0, x, 0.0)
    on = _ops["select"](below == 0, x, 0.0)
    if x.dtype in mstype.complex_type:
        on = cast(_ops["real"](on), x.dtype)
    return half + _adjoint(half) + on


def _complex_eigh(x, lower=True):
    """_eigh of Hermitian matrices: the singular value decomposition of what a multiple of 1 makes positive."""
    x = _hermitian(x, lower)
    shift = norm(x, "fro", (-2, -1), True)
    u, s = svd(x + shift * eye(x.shape[-1], dtype=x.dtype))[1::-1]
    order = arange(x.shape[-1] - 1, -1, -1)
    return _ops["gather"](s - squeeze(shift, -1), order, -1), _ops["gather"](u, order, -1)


def _square_of_any(name, x):
    """A square matrix, real or complex, of 32-bit or 64-bit parts."""
    _need_tensor(name, "A", x)
    if x.dtype not in (mstype.float32, mstype.float64, *mstype.complex_type):
        raise _check.refused(name, "A", _check.dtypes("float32", "float64", "complex64", "complex128"), x.dtype)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise _check.refused(name, "A", _check.value("be square matrices"), x.shape)
    return x


def eig(A: Tensor) -> tuple[Tensor, Tensor]:
    """(eigenvalues [..., n], eigenvectors as columns [..., n, n]) of square matrices [..., n, n].

    They are complex, in no particular order.

    Eigenvectors have length 1 and an arbitrary phase: gradients hold for what does not depend on it, and unless
        eigenvalues are equal.
    Raises TypeError unless A is float32, float64, complex64 or complex128, ValueError unless matrices are square.

    Returns:
        (Tensor, Tensor). Complex stays; float32 give complex64; float64 give complex128; not for bool and ints.

    Example:
        >>> print(ops.eig(Tensor([[2.0, 0.0], [0.0, 2.0]]))[0])
        [2.+0.j 2.+0.j]
    """
    packed = _ops["eig"](_square_of_any("eig", A))
    return packed[..., 0, :], packed[..., 1:, :]


@_named(method=True)
def eigvals(A: Tensor) -> Tensor:
    """The eigenvalues [..., n] of square matrices [..., n, n], complex, in no particular order. Errors as for `eig`.

    Args:
        A (Tensor): the matrices, along the last two axes.

    Returns:
        Tensor. Complex stays; float32 give complex64; float64 give complex128; not for bool and ints.

    Raises:
        TypeError: if `A` is not a Tensor.

    Example:
        >>> print(ops.eigvals(Tensor([[2.0, 0.0], [0.0, 2.0]])))
        [2.+0.j 2.+0.j]
    """
    return _ops["eig"](_square_of_any("eigvals", A))[..., 0, :]


@_named(method=True)
def cholesky(input_x: Tensor, upper: bool = False) -> Tensor:
    """The lower triangular l with input_x = l @ l^H, or its adjoint l^H.

    Raises RuntimeError where a matrix is not positive definite.

    Args:
        upper (bool, optional): whether triangles are upper ones. Default: False.

    Returns:
        Tensor of input_x's shape and dtype. Floats and complex keep their dtype; not for bool and ints.

    Example:
        >>> print(ops.cholesky(Tensor([[4.0, 2.0], [2.0, 5.0]])))
        [[2. 0.]
         [1. 2.]]
    """
    return _like(_ops["cholesky"](_matrix("cholesky", input_x, True, complex=True), upper), input_x)


@_named(method=True)
def cholesky_inverse(input_x: Tensor, upper: bool = False) -> Tensor:
    """The inverse of l @ l.T for input_x = l (upper: of u.T @ u), all of whose elements are read.

    Args:
        input_x (Tensor): the input, of 2 dimensions or more and float dtype.
        upper (bool, optional): whether triangles are upper ones. Default: False.

    Returns:
        Tensor of input_x's shape and dtype. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `input_x` is not a Tensor.

    Example:
        >>> print(ops.cholesky_inverse(Tensor([[2.0, 0.0], [0.0, 4.0]])))
        [[0.25   0.    ]
         [0.     0.0625]]
    """
    half = _ops["matrix_inverse"](_matrix("cholesky_inverse", input_x, True))
    other = swapaxes(half, -1, -2)
    return _like(matmul(half, other) if upper else matmul(other, half), input_x)


@_named(method=True)
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """x with l @ l.T @ x = input [..., n, k] for the lower triangular input2 = l [..., n, n].

    With upper, u.T @ u @ x = input.

    Args:
        input (Tensor): the input [..., n, k], of float dtype, that of the other operand.
        input2 (Tensor): the second operand.
        upper (bool, optional): whether triangles are upper ones. Default: False.

    Returns:
        Tensor of input's shape. Float32 and float64 keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `input2` does not fit.

    Example:
        >>> print(ops.cholesky_solve(Tensor([[4.0], [16.0]]), Tensor([[2.0, 0.0], [0.0, 4.0]])))
        [[1.]
         [1.]]
    """
    l = _matrix("cholesky_solve", input2, True, False, "input2")
    b = _matrix("cholesky_solve", input, False, False)
    half = _ops["solve_triangular"](l, b, not upper, upper)
    return _ops["solve_triangular"](l, half, not upper, not upper)


@_named(method=True, mint=True)
def inverse(input: Tensor) -> Tensor:
    """The inverse of [..., n, n]; not finite where a matrix is singular.

    Args:
        input (Tensor): the input, of 2 dimensions or more and float32, float64 or complex dtype.

    Returns:
        Tensor of input's shape and dtype. Float32, float64 and complex keep their dtype; not for bool and ints.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.inverse(Tensor([[2.0, 0.0], [0.0, 4.0]])))
        [[0.5  0.  ]
         [0.   0.25]]
    """
    return _ops["matrix_inverse"](_matrix("inverse", input, True, False, complex=True))


def pinv(x: Tensor, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """The pseudo-inverse [..., n, m] of [..., m, n]: singular values up to max(atol, rtol * the greatest) count as 0.

    By default rtol is max(m, n) * eps, or 0 where atol > 0. hermitian: x is symmetric, and its lower triangle alone is
    read.

    Returns:
        Tensor [..., n, m]. Float32, float64 and complex keep their dtype; not for bool and ints.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.pinv(Tensor([[2.0, 0.0], [0.0, 4.0]])))
        [[0.5  0.  ]
         [0.   0.25]]
    """
    if not isinstance(x, Tensor):
        raise _check.refused("pinv", "x", _check.TENSOR, x)
    x = _matrix("pinv", x, hermitian, False, "x", True)
    m, n = x.shape[-2:]
    if hermitian:
        x = _hermitian(x)
    cut = atol is not None or rtol is not None
    single = x.dtype in (mstype.float32, mstype.complex64)
    default = builtins.max(m, n) * (2.0 ** -23 if single else 2.0 ** -52)
    if rtol is None:
        if atol is None:
            rtol = default
        elif isinstance(atol, Tensor):
            rtol = _ops["select"](atol > 0, 0.0, default)
        else:
            rtol = 0.0 if atol > 0 else default
    one = tuple(x.shape[:-2]) + (1, 1)
    real = mstype.float32 if single else mstype.float64

    def as_limit(v):
        if v is None:
            v = 0.0
        v = cast(v, real) if isinstance(v, Tensor) else Tensor(v, real)
        return _ops["broadcast_to"](reshape(v, tuple(v.shape) + (1, 1)), one)
    if x.dtype in mstype.complex_type:
        return _complex_pinv(x, as_limit(atol), as_limit(rtol))
    return _ops["pinv"](x, as_limit(atol), as_limit(rtol), cut)


def _complex_pinv(x, atol, rtol):
    """v diag(1 / s) u^H, without the values up to a limit."""
    s, u, v = svd(x)
    lengths = expand_dims(_ops["real"](s), -2)
    if lengths.size == 0:
        return swapaxes(x, -1, -2)
    kept = lengths > _ops["maximum"](atol, rtol * lengths[..., :1])
    inverse = _ops["select"](kept, 1.0 / _ops["select"](kept, lengths, 1.0), 0.0)
    return matmul(v * cast(inverse, x.dtype), _adjoint(u))


@_named(primitive="MatrixDeterminant")
def det(input: Tensor) -> Tensor:
    """The determinants of [..., n, n]. The gradient is right where a matrix is singular as well.

    Args:
        input (Tensor): the input, of 2 dimensions or more and float or complex dtype.

    Returns:
        Tensor without the last two axes. Floats and complex keep their dtype; not for bool and ints.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.det(Tensor([[1.0, 2.0], [3.0, 4.0]])))
        -1.9999999
    """
    return _like(_ops["matrix_det"](_matrix("det", input, True, complex=True)), input)


@_named(method="slogdet log_matrix_determinant")
def slogdet(input: Tensor) -> tuple[Tensor, Tensor]:
    """(sign of the determinant, logarithm of its absolute value) of [..., n, n]; (0, -inf) for a singular matrix.

    For complex input the sign is the determinant over its absolute value, and both are complex.

    Args:
        input (Tensor): the input, of 2 dimensions or more and float or complex dtype.

    Returns:
        (Tensor, Tensor) without the last two axes.

    Example:
        >>> sign, logarithm = ops.slogdet(Tensor([[1.0, 2.0], [3.0, 4.0]]))
        >>> print(sign)
        -1.0
    """
    packed = _ops["slogdet"](_matrix("slogdet", input, True, complex=True))
    return _like(packed[..., 0], input), _like(packed[..., 1], input)


matrix_determinant, log_matrix_determinant = det, slogdet


def inv(x: Tensor) -> Tensor:
    """1 / x of each element, in x's dtype (of a matrix's inverse see inverse).

    Args:
        x (Tensor): the input, of any shape and any dtype.

    Returns:
        Tensor of x's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.inv(Tensor([2.0, 4.0])))
        [0.5  0.25]
    """
    return _like(_ops["reciprocal"](x), x)


@_named(method=True)
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinants of [..., n, n]: NaN where one is negative, -inf where it is 0.

    Args:
        input (Tensor): the input, of 2 dimensions or more and float or complex dtype.

    Returns:
        Tensor without the last two axes. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.logdet(Tensor([[1.0, 0.0], [0.0, 1.0]])))
        0.0
    """
    sign, log = slogdet(input)
    if input.dtype in mstype.complex_type:
        return _ops["log"](sign) + log
    return _ops["select"](sign < 0, float("nan"), log)


def _lu(x):
    """(l below and u on and above the diagonal, row exchanges from 0 on, order of the rows) of [..., m, n]."""
    m, n = x.shape[-2:]
    packed = _ops["lu"](x)
    k = builtins.min(m, n)
    return packed[..., :n], cast(packed[..., :k, n], mstype.int32), cast(packed[..., n + 1], mstype.int32)


def _by_lu(lu, order, b, trans=False):
    """x with a @ x = b (a.T @ x = b) for a's rows in `order` = l @ u."""
    at = expand_dims(order, -1)
    if trans:
        half = _ops["solve_triangular"](lu, b, False, True)
        x = _ops["solve_triangular"](lu, half, True, True, True)
        back = _ops["argsort"](at, x.ndim - 2 if at.ndim == x.ndim else at.ndim - 2, False)
        return _ops["gather_d"](x, _ops["broadcast_to"](back, x.shape), x.ndim - 2)
    shape = tuple(lu.shape[:-2]) + tuple(b.shape[-2:]) if lu.ndim >= b.ndim else tuple(b.shape)
    b = _ops["gather_d"](_ops["broadcast_to"](b, shape), _ops["broadcast_to"](at, shape), len(shape) - 2)
    half = _ops["solve_triangular"](lu, b, True, False, True)
    return _ops["solve_triangular"](lu, half, False)


@_named(method=True)
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """x with a @ x = b [..., n, k], for the factors and row exchanges (counted from 1) of a.

    Args:
        b (Tensor): the right-hand sides.
        LU_data (Tensor): both triangles in one matrix.
        LU_pivots (Tensor): int32: the exchanges of rows.

    Returns:
        Tensor of b's shape. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `b` is not a Tensor, or `LU_pivots` is not a Tensor.
        ValueError: if the shape of `LU_data` does not fit, or the shape of `LU_pivots` does not fit.

    Example:
        >>> print(ops.lu_solve(Tensor([[2.0], [8.0]]), Tensor([[2.0, 0.0], [0.0, 4.0]]), Tensor([1, 2], ms.int32)))
        [[1.]
         [2.]]
    """
    lu = _matrix("lu_solve", LU_data, True, what="LU_data")
    right = _matrix("lu_solve", b, what="b")
    _need_tensor("lu_solve", "LU_pivots", LU_pivots)
    if right.shape[-2] != lu.shape[-1]:
        raise _check.differ("lu_solve", ("b", "LU_data"), "number of rows", b.shape, LU_data.shape)
    return _like(_by_lu(lu, _ops["lu_permutation"](LU_pivots - 1, lu.shape[-1]), right), b)


def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True,
              unpack_pivots: bool = True) -> tuple[Any, Any, Any]:
    """(p, l, u) with a = p @ l @ u, for the factors [..., m, n] and row exchanges (counted from 1) of a.

    unpack_pivots=False leaves p out, unpack_data=False l and u: None stands for what is left out.

    Args:
        LU_data (Tensor): both triangles in one matrix.
        LU_pivots (Tensor): int32: the exchanges of rows.

    Returns:
        (p, l, u). Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `LU_data` is not a Tensor, or `LU_pivots` is not a Tensor.
        ValueError: if the shape of `LU_pivots` does not fit, or `LU_data` does not have at least 2 dimensions.

    Example:
        >>> print(ops.lu_unpack(Tensor([[2.0, 1.0], [0.5, 4.0]]), Tensor([1, 2], ms.int32))[2])
        [[2. 1.]
         [0. 4.]]
    """
    _need_tensor("lu_unpack", "LU_data", LU_data)
    _need_tensor("lu_unpack", "LU_pivots", LU_pivots)
    if LU_data.ndim < 2:
        raise _check.refused("lu_unpack", "LU_data", _check.least_dims(2), LU_data.shape)
    m, n = LU_data.shape[-2:]
    k = builtins.min(m, n)
    p = l = u = None
    if unpack_pivots:
        p = _row_exchanges(_ops["lu_permutation"](LU_pivots - 1, m), LU_data.dtype)
    if unpack_data:
        l, u = _triangles(LU_data, m, n, k)
    return p, l, u


def _row_exchanges(order, dtype):
    """p with p @ (rows in order) = the rows as they were."""
    n = order.shape[-1]
    return cast(expand_dims(order, -2) == reshape(arange(n, dtype=order.dtype), (n, 1)), dtype)


def _triangles(lu, m, n, k):
    below = reshape(arange(n), (1, n)) - reshape(arange(m), (m, 1))
    l = _ops["select"](below < 0, lu, 0)[..., :k] + cast(below[:, :k] == 0, lu.dtype)
    return l, _ops["select"](below >= 0, lu, 0)[..., :k, :]


@_named(method=True)
def lstsq(input: Tensor, A: Tensor) -> Tensor:
    """The x of least norm among those that minimise the norm of input @ x - A.

    x is [n, k] for input [m, n] and A [m, k] (or [m]: k = 1).

    Args:
        input (Tensor): [m, n].
        A (Tensor): [m, k] or [m].

    Returns:
        Tensor [n, k]. Floats and complex keep their dtype; not for bool and ints.

    Raises:
        TypeError: if `input` is not a Tensor, or `A` is not a Tensor.
        ValueError: if the shape of `A` does not fit.

    Example:
        >>> print(ops.lstsq(Tensor([[1.0, 0.0], [0.0, 2.0]]), Tensor([[3.0], [4.0]])))
        [[3.]
         [2.]]
    """
    a, b = _matrix("lstsq", input, complex=True), A
    _need_tensor("lstsq", "A", b)
    b = cast(b, a.dtype) if b.dtype in (mstype.float16, mstype.bfloat16) else b
    if a.ndim != 2 or b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        raise _check.expected("lstsq", "input [m, n] and A [m, k] or [m]", _check.several(input.shape, A.shape))
    if b.dtype != a.dtype:
        raise _check.differ("lstsq", ("input", "A"), "dtype", input.dtype, A.dtype)
    return _like(matmul(pinv(a), reshape(b, (b.shape[0], -1)) if b.ndim == 1 else b), input)


def matrix_solve(matrix: Tensor, rhs: Tensor, adjoint: bool = False) -> Tensor:
    """x with matrix @ x = rhs (adjoint: its conjugate transpose @ x = rhs), for [..., n, n] and [..., n, k].

    Raises ValueError where a matrix is singular.

    Returns:
        Tensor of rhs's shape. Floats and complex keep their dtype; not for bool and ints.

    Example:
        >>> print(ops.matrix_solve(Tensor([[2.0, 0.0], [0.0, 4.0]]), Tensor([[2.0], [8.0]])))
        [[1.]
         [2.]]
    """
    a, b = _matrix("matrix_solve", matrix, True, what="matrix", complex=True), rhs
    if b.ndim == a.ndim:
        b = _matrix("matrix_solve", b, what="rhs", complex=True)
    if b.ndim != a.ndim or tuple(a.shape[:-1]) != tuple(b.shape[:-1]):
        raise _check.refused("matrix_solve", "'matrix' and 'rhs'", _check.value("agree but for the last dimension"),
                             _check.several(matrix.shape, rhs.shape))
    if adjoint and a.dtype in mstype.complex_type:
        return _ops["solve"](_adjoint(a), b, False)
    return _like(_ops["solve"](a, b, adjoint), rhs)


def matrix_exp(input: Tensor) -> Tensor:
    """The exponential of [..., n, n].

    Args:
        input (Tensor): the input, of 2 dimensions or more and float or complex dtype.

    Returns:
        Tensor of input's shape and dtype. Floats and complex keep their dtype; not for bool and ints.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.matrix_exp(Tensor([[0.0, 0.0], [0.0, 0.0]])))
        [[1. 0.]
         [0. 1.]]
    """
    x = _matrix("matrix_exp", input, True, complex=True)
    if x.dtype not in mstype.complex_type:
        return _like(_ops["matrix_exp"](x), input)
    # a + bi as the real matrix [[a, -b], [b, a]]
    n, a, b = x.shape[-1], _ops["real"](x), _ops["imag"](x)
    rows = [_ops["concat"]([a, -b], -1), _ops["concat"]([b, a], -1)]
    y = _ops["matrix_exp"](_ops["concat"](rows, -2))
    return _ops["complex"](y[..., :n, :n], y[..., n:, :n])


@_named(method=True)
def matrix_power(input: Tensor, n: int) -> Tensor:
    """input [..., k, k] to an integer power, by repeated squaring; a negative n is a power of the inverse.

    Raises ValueError for a singular matrix or an integer one to a negative power.

    Returns:
        Tensor of input's shape and dtype. Ints, complex, float32 and float64 keep their dtype; not for bool.

    Example:
        >>> print(ops.matrix_power(Tensor([[1.0, 1.0], [0.0, 1.0]]), 3))
        [[1. 3.]
         [0. 1.]]
    """
    _need_tensor("matrix_power", "input", input)
    if isinstance(n, bool) or not isinstance(n, int):
        raise _check.refused("matrix_power", "n", _check.INT, n)
    if input.dtype in (mstype.float16, mstype.bfloat16, mstype.bool_):
        raise _check.refused("matrix_power", "input", _check.value("be float32, float64 or integers"), input.dtype,
                             TypeError)
    if input.ndim < 2 or input.shape[-1] != input.shape[-2]:
        raise _check.refused("matrix_power", "input", _check.value("be square matrices"), input.shape)
    one = eye(input.shape[-1], dtype=input.dtype)
    if n < 0:
        if not input.dtype.is_floating_point and input.dtype not in mstype.complex_type:
            raise _check.refused("matrix_power", "'n' of integers", _check.at_least(0), n)
        input, n = _ops["solve"](input, _ops["broadcast_to"](one, input.shape)), -n
    result = None
    while n:
        if n & 1:
            result = input if result is None else matmul(result, input)
        n >>= 1
        if n:
            input = matmul(input, input)
    return _ops["broadcast_to"](one, input.shape) if result is None else result


@_named(method=True)
def geqrf(input: Tensor) -> tuple[Tensor, Tensor]:
    """(a, tau) as LAPACK has the QR decomposition of [..., m, n].

    R on and above a's diagonal, below it the vectors of the reflections 1 - tau v v.T without their leading 1. No
    gradient: see qr.

    Args:
        input (Tensor): the input, of 2 dimensions or more and float dtype.

    Returns:
        (a, tau).

    Example:
        >>> a, tau = ops.geqrf(Tensor([[3.0, 0.0], [0.0, 4.0]]))
        >>> print(ops.triu(a).abs())
        [[3. 0.]
         [0. 4.]]
    """
    x = _matrix("geqrf", input)
    m, n = x.shape[-2:]
    packed = _ops["geqrf"](x)
    return _like(packed[..., :m, :], input), _like(packed[..., m, :builtins.min(m, n)], input)


def _reflected(a, tau, x, transpose):
    """The product q (its transpose) of geqrf's reflections, times x: q = 1 - v t v.T with t = (1 + diag(tau) striu(v.T
    v))^-1 diag(tau) (Schreiber & Van Loan 1989)."""
    m, k = a.shape[-2], tau.shape[-1]
    below = reshape(arange(k), (1, k)) - reshape(arange(m), (m, 1))
    v = _ops["select"](below < 0, a[..., :k], 0.0) + cast(below == 0, a.dtype)
    vt = _adjoint(v)
    tau = expand_dims(tau, -1)
    t = tau * matmul(vt, v)
    if transpose:  # t.T = diag(tau) (1 + diag(tau) striu(v.T v))^-T
        y = tau * _solve_triangular(t, matmul(vt, x), False, True, True)
    else:
        y = _solve_triangular(t, tau * matmul(vt, x), False, False, True)
    return x - matmul(v, y)


@_named(method=True)
def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """The first n columns of the product of geqrf's reflections.

    q [..., m, n] for input [..., m, n] and input2 = tau [..., k].

    Args:
        input (Tensor): the input [..., m, n], of float or complex dtype.
        input2 (Tensor): the factors of the reflections.

    Returns:
        Tensor [..., m, n].

    Example:
        >>> print(ops.orgqr(*ops.geqrf(Tensor([[3.0, 0.0], [0.0, 4.0]]))).abs())
        [[1. 0.]
         [0. 1.]]
    """
    a, tau = _matrix("orgqr", input, complex=True), input2
    _need_tensor("orgqr", "input2", tau)
    m, n = a.shape[-2:]
    if m < n or tau.ndim != a.ndim - 1 or tau.shape[-1] > n:
        raise _check.expected("orgqr", "input [..., m, n] with m >= n and input2 [..., k] with k <= n",
                              _check.several(input.shape, input2.shape))
    columns = cast(reshape(arange(m), (m, 1)) == reshape(arange(n), (1, n)), a.dtype)
    return _like(_reflected(a, cast(tau, a.dtype), _ops["broadcast_to"](columns, a.shape), False), input)


@_named(method=True)
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """q @ other, or other @ q where left is False, for the product q of geqrf's reflections (transpose: its transpose).

    Args:
        input (Tensor): the input, of 2 dimensions or more and float dtype, that of the other operands.
        tau (Tensor): the factors of the reflections.
        other (Tensor): the matrix to multiply.
        left (bool, optional): whether q stands on the left. Default: True.
        transpose (bool, optional): whether q is transposed. Default: False.

    Returns:
        Tensor of other's shape.

    Raises:
        TypeError: if `input` is not a Tensor, or `tau` is not a Tensor.

    Example:
        >>> print(ops.ormqr(*ops.geqrf(Tensor([[3.0, 0.0], [0.0, 4.0]])), ops.eye(2)).abs())
        [[1. 0.]
         [0. 1.]]
    """
    a, x = _matrix("ormqr", input, what="input"), _matrix("ormqr", other, what="other")
    _need_tensor("ormqr", "tau", tau)
    if a.shape[-2] != x.shape[-2 if left else -1]:
        raise ValueError(f"For 'ormqr', q has {a.shape[-2]} rows, which 'other' {other.shape} does not fit.")
    tau = cast(tau, a.dtype)
    if left:
        return _like(_reflected(a, tau, x, transpose), other)
    return _like(swapaxes(_reflected(a, tau, swapaxes(x, -1, -2), not transpose), -1, -2), other)


def _condition_number(a, p=None):
    """norm(a, p) * norm(inverse of a, p), for p None or 2 by singular values; infinite for a singular matrix."""
    complex = a.dtype in mstype.complex_type
    a = a if complex or a.dtype.is_floating_point else cast(a, mstype.float32)
    a = _matrix("cond", a, p not in (None, 2, -2), what="A", complex=True)
    if p in (None, 2, -2):
        s = svd(a, compute_uv=False)
        s = _ops["real"](s) if complex else s
        top, least = s[..., 0], s[..., -1]
        return least / top if p == -2 else top / least
    size = norm(a, p, (-2, -1))
    r = size * norm(_ops["matrix_inverse"](a), p, (-2, -1))
    return _ops["select"]((r != r) & (size == size), float("inf"), r)


def _solve_triangular(a, b, lower=True, trans=False, unit_diagonal=False):
    """x with a @ x = b (trans: a.T @ x = b) for one triangle of a; b may be a vector."""
    vector = b.ndim == a.ndim - 1
    b = expand_dims(b, -1) if vector else b
    if a.dtype in mstype.complex_type:
        n = a.shape[-1]
        below = reshape(arange(n), (1, n)) - reshape(arange(n), (n, 1))
        a = _ops["select"](below <= 0 if lower else below >= 0, a, 0.0)
        a = _ops["select"](below == 0, 1.0, a) if unit_diagonal else a
        x = _ops["solve"](swapaxes(a, -1, -2) if trans else a, b, False)
    else:
        x = _ops["solve_triangular"](a, b, lower, trans, unit_diagonal)
    return squeeze(x, -1) if vector else x


one_operator_each(globals())
