"""Primitives of linear algebra and sampling: before `/` stand the inputs, behind it the attributes."""

from pijit._C import Tensor, ops as _ops
from pijit.ops import function as F
from pijit.ops.function.sampling import resize_bicubic
from pijit.ops.primitive import primitive


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
    """Least squares over [..., m, n] and [..., m, k], with l2_regularizer (a number of float64) times the squared
    solution added."""
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
def ResizeBicubic(images, size, /, align_corners=False, half_pixel_centers=False):
    """Images resized by cubic convolution."""
    return resize_bicubic(images, size, align_corners, half_pixel_centers)


@primitive
def BesselI0e(x, /):
    """As ops.bessel_i0e."""
    return F.bessel_i0e(x)


@primitive
def BesselI1(x, /):
    """As ops.bessel_i1."""
    return F.bessel_i1(x)


@primitive
def BesselI1e(x, /):
    """As ops.bessel_i1e."""
    return F.bessel_i1e(x)


@primitive
def BesselJ0(x, /):
    """As ops.bessel_j0."""
    return F.bessel_j0(x)


@primitive
def BesselJ1(x, /):
    """As ops.bessel_j1."""
    return F.bessel_j1(x)


@primitive
def BesselK0(x, /):
    """As ops.bessel_k0."""
    return F.bessel_k0(x)


@primitive
def BesselK0e(x, /):
    """As ops.bessel_k0e."""
    return F.bessel_k0e(x)


@primitive
def BesselK1(x, /):
    """As ops.bessel_k1."""
    return F.bessel_k1(x)


@primitive
def BesselK1e(x, /):
    """As ops.bessel_k1e."""
    return F.bessel_k1e(x)


@primitive
def BesselY0(x, /):
    """As ops.bessel_y0."""
    return F.bessel_y0(x)


@primitive
def BesselY1(x, /):
    """As ops.bessel_y1."""
    return F.bessel_y1(x)


@primitive
def Igamma(a, x, /):
    """As ops.igamma."""
    return F.igamma(a, x)


@primitive
def Igammac(a, x, /):
    """As ops.igammac."""
    return F.igammac(a, x)


@primitive
def Zeta(x, q, /):
    """As ops.zeta."""
    return F.zeta(x, q)


@primitive
def Polygamma(a, x, /):
    """As ops.polygamma."""
    return F.polygamma(a, x)


__all__ = [n for n, v in globals().items() if isinstance(v, type) and v.__module__ == __name__]
