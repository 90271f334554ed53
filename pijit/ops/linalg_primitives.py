"""Primitives of linear algebra."""

from __future__ import annotations

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.ops import function as F
from pijit.ops.primitive import primitive


@primitive
def TridiagonalMatMul(superdiag, maindiag, subdiag, rhs, /):
    """The product of tridiagonal matrices, given by their diagonals [..., 1, n], with rhs [..., n, m].

    The superdiagonal's last and the subdiagonal's first element don't count."""
    n = rhs.shape[-2]
    up, main, down = (F.reshape(d, (*d.shape[:-2], n, 1)) for d in (superdiag, maindiag, subdiag))
    zero = rhs[..., :1, :] * 0
    above = F.cat([rhs[..., 1:, :], zero], -2)
    below = F.cat([zero, rhs[..., :-1, :]], -2)
    return up * above + main * rhs + down * below


@primitive
def NuclearNorm(x, /, dim=None, keepdim=False):
    """The sum of the singular values of matrices: of x, or over two dimensions of it."""
    if dim is None:
        if x.ndim != 2:
            raise _check.needs("NuclearNorm", f"an input of {x.ndim} dimensions", "'dim'")
        dim = (0, 1)
    axes = [d % x.ndim for d in dim]
    if len(axes) != 2 or axes[0] == axes[1]:
        raise _check.refused("NuclearNorm", "dim", _check.value("name two dimensions"), dim)
    y = F.sum(F.svd(F.moveaxis(x, tuple(axes), (-2, -1)), compute_uv=False), -1)
    if keepdim:
        y = (F.expand_dims(F.expand_dims(y, 0), 0)
             if x.ndim == 2 else F.reshape(y, tuple(1 if k in axes else n for k, n in enumerate(x.shape))))
    return y


@primitive
def MatrixInverse(x, /, adjoint=False):
    """The inverse of matrices, or of the transposed ones."""
    return F.inverse(F.adjoint(x) if adjoint else x)


@primitive
def MatrixSolve(matrix, rhs, /, adjoint=False):
    """x with matrix x = rhs."""
    return F.matrix_solve(matrix, rhs, adjoint)


@primitive
def MatrixPower(x, /, n):
    """The n-th power of matrices."""
    return F.matrix_power(x, n)


@primitive
def Cholesky(input_x, /, upper=False):
    """The Cholesky factor of matrices."""
    return F.cholesky(input_x, upper)


@primitive
def CholeskyInverse(x, /, upper=False):
    """The inverse, from a Cholesky factor."""
    return F.cholesky_inverse(x, upper)


@primitive
def CholeskySolve(x1, x2, /, upper=False):
    """x with A x = x1, for the Cholesky factor x2 of A."""
    return F.cholesky_solve(x1, x2, upper)


@primitive
def LogMatrixDeterminant(x, /):
    """(sign, log of the absolute value) of determinants."""
    return F.slogdet(x)


@primitive
def Svd(input, /, full_matrices=False, compute_uv=True):
    """(singular values, u, v); without compute_uv two tensors of one 0 stand for u and v."""
    if compute_uv:
        return F.svd(input, full_matrices)
    zero = F.zeros((1,), input.dtype)
    return F.svd(input, compute_uv=False), zero, zero


@primitive
def Qr(x, /, full_matrices=False):
    """(q, r); full_matrices: q is square."""
    return F.qr(x, "complete" if full_matrices else "reduced")


@primitive
def MatrixExp(x, /):
    """Exponentials of matrices."""
    return F.matrix_exp(x)


@primitive
def MatrixTriangularSolve(matrix, rhs, /, lower=True, adjoint=False):
    """The solution of a triangular system [..., n, n] for [..., n, k]."""
    return _ops["solve_triangular"](matrix, rhs, lower, adjoint)


@primitive
def Lstsq(x, a, /, fast=True, l2_regularizer=0.0):
    """Least squares."""
    return F.lstsq(x, a)


@primitive
def MatrixSolveLs(matrix, rhs, l2_regularizer, /, fast=True):
    """Least squares over [..., m, n] and [..., m, k].

    With l2_regularizer (a number of float64) times the squared solution added."""
    l2 = float(l2_regularizer.item()) if isinstance(l2_regularizer, Tensor) else float(l2_regularizer)
    if l2 == 0:
        return F.matmul(F.pinv(matrix), rhs)
    mt = F.swapaxes(matrix, -1, -2)
    return _ops["solve"](F.matmul(mt, matrix) + l2 * F.eye(matrix.shape[-1], dtype=matrix.dtype), F.matmul(mt, rhs))


@primitive
def LuSolve(x, lu_data, lu_pivots, /):
    """The solution for the right side x, from the factors."""
    return F.lu_solve(x, lu_data, lu_pivots)


@primitive
def LuUnpack(LU_data, LU_pivots, /, unpack_data=True, unpack_pivots=True):
    """(p, l, u) from the factors."""
    return F.lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots)


@primitive
def Geqrf(x, /):
    """(reflections and r, factors)."""
    return F.geqrf(x)


@primitive
def Orgqr(x, tau, /):
    """q from geqrf's reflections."""
    return F.orgqr(x, tau)


@primitive
def Ormqr(x, tau, other, /, left=True, transpose=False):
    """The product of q, given by geqrf's reflections, and another matrix."""
    return F.ormqr(x, tau, other, left, transpose)


@primitive
def MatrixLogarithm(x, /):
    """The principal logarithms of complex matrices [..., n, n] that have n eigenvectors."""
    if not isinstance(x, Tensor) or x.dtype not in mstype.complex_type:
        raise _check.refused("MatrixLogarithm", "x", _check.value("be a Tensor of complex64 or complex128"),
                             getattr(x, "dtype", type(x).__name__), TypeError)
    values, vectors = F.eig(x)
    return F.matmul(vectors * F.expand_dims(F.log(values), -2), F.inverse(vectors))


@primitive
def Eig(x, /, compute_v=False):
    """(eigenvalues, eigenvectors) of square matrices; without compute_v the latter are an empty tensor."""
    if not isinstance(compute_v, bool):
        raise _check.refused("Eig", "compute_v", _check.BOOL, compute_v)
    if compute_v:
        return F.eig(x)
    values = F.eigvals(x)
    return values, F.zeros((0,), values.dtype)


__all__ = [n for n, v in globals().items() if isinstance(v, type) and v.__module__ == __name__]
