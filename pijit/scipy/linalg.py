"""Linear algebra by SciPy's names, on one matrix each. Integers are computed in float64. `overwrite_a`, `overwrite_b`
and `check_finite`
have no meaning here: nothing is overwritten, and matrices that are not finite give NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit import dtype as mstype
from pijit._C import Tensor, ops as _ops
from pijit.ops.function import decomposition as _d
from pijit.ops.function.elementwise import cast
from pijit.ops.function.linalg import matmul
from pijit.ops.function.diagonals import block_diag
from pijit.ops.function.shapes import expand_dims, reshape, squeeze

if TYPE_CHECKING:
    from typing import Any
    from pijit._types import ArrayLike

__all__ = ["block_diag", "cho_factor", "cho_solve", "cholesky", "det", "eigh", "inv", "lstsq", "lu", "lu_factor",
           "lu_solve", "solve_triangular"]


def _numbers(name, what, a, ranks, complex=False):
    if not isinstance(a, Tensor):
        raise _check.refused(name, what, _check.TENSOR, a)
    if complex and a.dtype in mstype.complex_type:
        pass
    elif a.dtype not in (mstype.int32, mstype.int64, mstype.float32, mstype.float64):
        raise _check.refused(name, what, _check.dtypes("int32", "int64", "float32", "float64"), a.dtype)
    if a.ndim not in ranks:
        raise _check.refused(name, what, _check.dims(*ranks), a.ndim)
    return cast(a, mstype.float64) if a.dtype in (mstype.int32, mstype.int64) else a


def _matrix(name, a, square=True, complex=False):
    a = _numbers(name, "a", a, (2,), complex)
    if square and a.shape[0] != a.shape[1]:
        raise _check.refused(name, "a", _check.value("be a square matrix"), a.shape)
    return a


def _system(name, a, b):
    a, b = _matrix(name, a), _numbers(name, "b", b, (1, 2))
    if b.shape[0] != a.shape[0]:
        raise _check.differ(name, ("the matrix", "b"), "number of rows", a.shape, b.shape)
    if b.dtype != a.dtype:
        raise _check.differ(name, ("the matrix", "b"), "dtype", a.dtype, b.dtype)
    return a, b


def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """The inverse of a square matrix; not finite for a singular one."""
    return _ops["matrix_inverse"](_matrix("inv", a))


def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """The determinant of a square matrix."""
    return _ops["matrix_det"](_matrix("det", a))


def cholesky(a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """The upper triangular u with a = u.T @ u (lower: l with a = l @ l.T).

    Raises RuntimeError unless a is positive definite."""
    return _ops["cholesky"](_matrix("cholesky", a), not lower)


def cho_factor(a: ArrayLike, lower: bool = False, overwrite_a: bool = False,
               check_finite: bool = True) -> tuple[Tensor, bool]:
    """(the triangular factor as of cholesky, lower)."""
    return _ops["cholesky"](_matrix("cho_factor", a), not lower), lower


def cho_solve(c_and_lower: Any, b: ArrayLike, overwrite_b: bool = False, check_finite: bool = True) -> Tensor:
    """x with a @ x = b, for cho_factor(a) and b [n] or [n, k]."""
    c, lower = c_and_lower
    c, b = _system("cho_solve", c, b)
    return _d._solve_triangular(c, _d._solve_triangular(c, b, lower, not lower), lower, lower)


def eigh(a: ArrayLike, b: ArrayLike | None = None, lower: bool = True, eigvals_only: bool = False,
         overwrite_a: bool = False, overwrite_b: bool = False, turbo: bool = True, eigvals: Any = None, type: int = 1,
         check_finite: bool = True) -> Any:
    """(eigenvalues in ascending order, eigenvectors as columns) of a symmetric matrix, of which one triangle is read;
    eigenvalues alone if eigvals_only. Raises ValueError where b, eigvals or type ask for a generalized or partial
    problem."""
    a = _matrix("eigh", a, complex=True)
    if b is not None or eigvals is not None or type != 1:
        raise _check.unsupported("eigh", "generalized and partial problems ('b', 'eigvals', 'type') are")
    w, v = (_d._complex_eigh if a.dtype in mstype.complex_type else _d._eigh)(a, lower)
    return w if eigvals_only else (w, v)


def lu_factor(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Tensor, Tensor]:
    """(l below and u on and above the diagonal of one matrix, the rows' exchanges).

    (Of the latter: for each row the row it changed places with, as int32)."""
    return _d._lu(_matrix("lu_factor", a))[:2]


def lu(a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False,
       check_finite: bool = True) -> tuple[Tensor, ...]:
    """(p, l, u) with a [m, n] = p @ l @ u, p as int32; (p @ l, u) if permute_l."""
    a = _matrix("lu", a, square=False)
    m, n = a.shape
    data, _, order = _d._lu(a)
    l, u = _d._triangles(data, m, n, m if m < n else n)
    if permute_l:
        return matmul(_d._row_exchanges(order, a.dtype), l), u
    return _d._row_exchanges(order, mstype.int32), l, u


def lu_solve(lu_and_piv: Any, b: ArrayLike, trans: int = 0, overwrite_b: bool = False,
             check_finite: bool = True) -> Tensor:
    """x with a @ x = b (trans 1 or 2: a.T @ x = b), for lu_factor(a) and b [n] or [n, k]."""
    data, pivots = lu_and_piv
    data, b = _system("lu_solve", data, b)
    if trans not in (0, 1, 2):
        raise _check.refused("lu_solve", "trans", _check.one_of(0, 1, 2), trans)
    order = _ops["lu_permutation"](pivots, data.shape[0])
    x = _d._by_lu(data, order, expand_dims(b, -1) if b.ndim == 1 else b, trans != 0)
    return squeeze(x, -1) if b.ndim == 1 else x


def lu_pivots_to_permutation(pivots: Any, permutation_size: Any) -> Tensor:
    """The order of permutation_size rows behind row exchanges."""
    return cast(_ops["lu_permutation"](pivots, permutation_size), pivots.dtype)


def solve_triangular(a: ArrayLike, b: ArrayLike, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False,
                     overwrite_b: bool = False, debug: Any = None, check_finite: bool = True) -> Tensor:
    """x with a @ x = b for the upper (lower) triangle of a, or a.T @ x = b where trans is 1, 2, 'T' or 'C'.

    B is [..., n] or [..., n, k]."""
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        raise _check.refused("solve_triangular", "'a' and 'b'", _check.value("be Tensors"),
                             _check.several(_check.type_name(a), _check.type_name(b)), TypeError)
    a = _numbers("solve_triangular", "a", a, tuple(range(2, 9)), True)
    b = _numbers("solve_triangular", "b", b, tuple(range(1, 9)), True)
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise _check.refused("solve_triangular", "trans", _check.one_of(0, 1, 2, "N", "T", "C"), trans)
    if trans in (2, "C") and a.dtype in mstype.complex_type:
        a = _ops["conj"](a)
    return _d._solve_triangular(a, b, bool(lower), trans not in (0, "N"), unit_diagonal)


def lstsq(A: ArrayLike, B: Any, rcond: Any = None, driver: Any = None) -> tuple[Any, ...]:
    """(x of least norm that minimises the norm of A @ x - B, squared residuals, rank of A, singular values).

    Residuals are empty unless A has full rank and more rows than columns."""
    A, B = _matrix("lstsq", A, square=False), _numbers("lstsq", "B", B, (1, 2))
    if A.shape[0] != B.shape[0]:
        raise _check.differ("lstsq", ("A", "B"), "number of rows", A.shape, B.shape)
    b = reshape(B, (B.shape[0], -1)) if B.ndim == 1 else B
    x = matmul(_d.pinv(A, rtol=rcond), b)
    s = _d.svd(A, compute_uv=False)
    m, n = A.shape
    limit = s[0] * (rcond if rcond is not None
                    else (m if m > n else n) * (2.0 ** -23 if A.dtype == mstype.float32 else 2.0 ** -52))
    rank = (s > limit).sum()
    error = matmul(A, x) - b
    residuals = (error * error).sum(0) if m > n and int(rank) == n else Tensor([], A.dtype)
    return squeeze(x, -1) if B.ndim == 1 else x, residuals, rank, s
