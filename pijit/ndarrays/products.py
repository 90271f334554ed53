"""Rules of products of arrays and of numpy.linalg."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pijit._C import ops as _ops
from pijit.ndarrays.numbers import common_dtype, normal_axes, normal_axis, not_out, refused, tensor_of
from pijit.ndarrays.recorded import Recorded
from pijit.ndarrays.reductions import array_of
from pijit.ndarrays.ufuncs import matmul as _matmul
from pijit.ops import function as F

if TYPE_CHECKING:
    from typing import Any

_NONE: Any = np._NoValue


def _pair(a, b):
    """Two operands as Tensors of their common dtype."""
    dtype = common_dtype(a, b)
    return tensor_of(a, dtype), tensor_of(b, dtype)


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """As numpy.dot."""
    not_out("dot", out)
    a, b = array_of(a), array_of(b)
    if not a.ndim or not b.ndim:
        return np.multiply(a, b)
    if b.ndim <= 2:
        s, t = _pair(a, b)
        if a.ndim > 2:  # one product of matrices
            if a.shape[-1] != b.shape[0]:
                raise ValueError(f"shapes {a.shape} and {b.shape} not aligned")
            return Recorded(_ops["reshape"](_matmul(_ops["reshape"](s, (-1, a.shape[-1])), t),
                                            (*a.shape[:-1], *b.shape[1:])))
        return Recorded(_matmul(s, t))
    return tensordot(a, b, (a.ndim - 1, b.ndim - 2))


def inner(a: Any, b: Any) -> Any:
    """As numpy.inner."""
    a, b = array_of(a), array_of(b)
    return np.multiply(a, b) if not a.ndim or not b.ndim else tensordot(a, b, (-1, -1))


def outer(a: Any, b: Any, out: Any = None) -> Any:
    """As numpy.outer."""
    not_out("outer", out)
    return np.reshape(a, (-1, 1)) * np.reshape(b, (1, -1))


def vdot(a: Any, b: Any) -> Any:
    """As numpy.vdot."""
    return dot(np.conjugate(np.reshape(a, -1)), np.reshape(b, -1))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """As numpy.tensordot."""
    a, b = array_of(a), array_of(b)
    if isinstance(axes, (int, np.integer)):
        left, right = tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    else:
        left, right = [(k,) if isinstance(k, (int, np.integer)) else tuple(k) for k in axes]
    left = tuple([normal_axis("tensordot", k, a.ndim) for k in left])
    right = tuple([normal_axis("tensordot", k, b.ndim) for k in right])
    if [a.shape[k] for k in left] != [b.shape[k] for k in right]:
        raise ValueError("shape-mismatch for sum")
    s, t = _pair(a, b)
    free = [k for k in range(a.ndim) if k not in left]
    other = [k for k in range(b.ndim) if k not in right]
    n = math.prod([a.shape[k] for k in left])
    rows, columns = math.prod([a.shape[k] for k in free]), math.prod([b.shape[k] for k in other])
    s = _ops["reshape"](_ops["transpose"](s, (*free, *left)) if s.ndim else s, (rows, n))
    t = _ops["reshape"](_ops["transpose"](t, (*right, *other)) if t.ndim else t, (n, columns))
    return Recorded(_ops["reshape"](_ops["matmul"](s, t), (*[a.shape[k] for k in free], *[b.shape[k] for k in other])))


def einsum(*operands: Any, out: Any = None, dtype: Any = None, order: Any = "K", casting: Any = "safe",
           optimize: Any = False) -> Any:
    """As numpy.einsum, with the subscripts as a text."""
    not_out("einsum", out)
    if not operands or not isinstance(operands[0], str):
        raise refused("einsum", "the subscripts must be a str", operands[0] if operands else None)
    given = [array_of(x) for x in operands[1:]]
    dtype = common_dtype(*given) if dtype is None else np.dtype(dtype)
    np.einsum(operands[0], *[np.broadcast_to(np.zeros((), dtype), x.shape) for x in given[:2]],
              *[np.broadcast_to(np.zeros((), dtype), x.shape) for x in given[2:]], optimize=True)  # NumPy's errors
    return Recorded(F.einsum(operands[0].replace(" ", ""), *[tensor_of(x, dtype) for x in given]))


def kron(a: Any, b: Any) -> Any:
    """As numpy.kron."""
    a, b = array_of(a), array_of(b)
    rank = max(a.ndim, b.ndim)
    m, n = (1,) * (rank - a.ndim) + a.shape, (1,) * (rank - b.ndim) + b.shape
    wide = [(k, 1) for k in m], [(1, k) for k in n]
    x, y = (np.reshape(v, sum(s, ())) for v, s in zip((a, b), wide))
    return np.reshape(x * y, tuple([i * j for i, j in zip(m, n)]))


def cross(a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None) -> Any:
    """As numpy.cross, of vectors of three elements (or of two, where NumPy has that)."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = np.moveaxis(array_of(a), axisa, -1), np.moveaxis(array_of(b), axisb, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise refused("cross", "both arrays must hold vectors of 3 elements", (a.shape, b.shape))
    p, q = [a[..., k] for k in range(3)], [b[..., k] for k in range(3)]
    return np.stack([p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]], axis=axisc)


# -- numpy.linalg --

def _matrix(name, a, square=True):
    """An argument as a floating Tensor of matrices. Raises LinAlgError as NumPy does."""
    a = array_of(a)
    if a.ndim < 2:
        raise np.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if square and a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    if a.dtype.kind in "iub":
        a = array_of(a.astype(np.float64))
    if a.dtype == np.float16:
        raise TypeError("array type float16 is unsupported in linalg")
    if not a.is_mapped and square and name in ("inv", "solve", "cholesky"):
        # NumPy's errors, of matrices that are singular or not positive definite
        np.linalg.solve(a.value, np.zeros((*a.shape[:-1], 1), a.dtype)) if name == "solve" else getattr(
            np.linalg, name)(a.value)
    return a.tensor


def det(a: Any) -> Any:
    """As numpy.linalg.det."""
    return Recorded(F.det(_matrix("det", a)))


def inv(a: Any) -> Any:
    """As numpy.linalg.inv."""
    return Recorded(_ops["matrix_inverse"](_matrix("inv", a)))


def solve(a: Any, b: Any) -> Any:
    """As numpy.linalg.solve."""
    a, b = array_of(a), array_of(b)
    dtype = np.result_type(common_dtype(a, b), np.float32)
    s = _matrix("solve", Recorded(tensor_of(a, dtype)))
    t = tensor_of(b, dtype)
    if not b.ndim:
        raise ValueError("solve: the right-hand side must have at least one dimension")
    vector = b.ndim == 1
    if vector:
        t = _ops["reshape"](t, (*t.shape, 1))
    batch = np.broadcast_shapes(s.shape[:-2], t.shape[:-2])
    y = _ops["solve"](_ops["broadcast_to"](s, (*batch, *s.shape[-2:])),
                      _ops["broadcast_to"](t, (*batch, *t.shape[-2:])))
    return Recorded(_ops["reshape"](y, y.shape[:-1]) if vector else y)


def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """As numpy.linalg.cholesky. The gradient is that of a symmetric matrix."""
    y = Recorded(F.cholesky(_matrix("cholesky", a)))
    return np.swapaxes(y, -1, -2) if upper else y


def _named(name, *parts):
    """Several results, in NumPy's named tuple."""
    kind = type(getattr(np.linalg, name)(np.eye(1)))
    return kind(*parts) if issubclass(kind, tuple) and hasattr(kind, "_fields") else parts


def slogdet(a: Any) -> Any:
    """As numpy.linalg.slogdet."""
    sign, log = F.slogdet(_matrix("slogdet", a))
    return _named("slogdet", Recorded(sign), Recorded(log))


def _signs(mine, theirs, axis):
    """1 or -1 for each vector along an axis of what we found, so that it points where NumPy's does."""
    return np.where(np.sum(mine.value * theirs, axis=axis, keepdims=True) < 0, -1, 1).astype(mine.dtype)


def eigh(a: Any, UPLO: str = "L") -> Any:
    """As numpy.linalg.eigh."""
    a = array_of(a)
    packed = Recorded(_ops["eigh"](_matrix("eigh", a), UPLO.upper() != "U"))
    values, vectors = packed[..., 0, :], packed[..., 1:, :]
    if not a.is_mapped:
        vectors = vectors * _signs(vectors, np.linalg.eigh(a.value, UPLO)[1], -2)
    return _named("eigh", values, vectors)


def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """As numpy.linalg.eigvalsh."""
    return eigh(a, UPLO)[0]


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """As numpy.linalg.svd. Gradients need full_matrices=False, or a square matrix."""
    a = array_of(a)
    t = _matrix("svd", a, False)
    if not compute_uv:
        return Recorded(F.svd(t, False, False))
    if full_matrices and a.shape[-1] != a.shape[-2]:
        raise refused("linalg.svd", "'full_matrices' must be False", True)
    s, u, v = [Recorded(x) for x in F.svd(t, False, True)]
    if not a.is_mapped:
        sign = _signs(u, np.linalg.svd(a.value, full_matrices=False)[0], -2)
        u, v = u * sign, v * sign
    return _named("svd", u, s, np.swapaxes(v, -1, -2))


def qr(a: Any, mode: str = "reduced") -> Any:
    """As numpy.linalg.qr."""
    if mode not in ("reduced", "r"):
        raise refused("linalg.qr", "'mode' must be 'reduced' or 'r'", mode)
    a = array_of(a)
    q, r = [Recorded(x) for x in F.qr(_matrix("qr", a, False))]
    if not a.is_mapped:
        sign = _signs(q, np.linalg.qr(a.value)[0], -2)
        q, r = q * sign, r * np.swapaxes(sign, -1, -2)
    return r if mode == "r" else _named("qr", q, r)


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = _NONE) -> Any:
    """As numpy.linalg.pinv, with the default bound of singular values."""
    if rcond is not None or rtol is not _NONE:
        raise refused("linalg.pinv", "neither 'rcond' nor 'rtol' must be given", rcond if rcond is not None else rtol)
    return Recorded(F.pinv(_matrix("pinv", a, False)))


def matrix_power(a: Any, n: Any) -> Any:
    """As numpy.linalg.matrix_power."""
    a = Recorded(_matrix("matrix_power", a))
    if not isinstance(n, (int, np.integer)):
        raise TypeError("exponent must be an integer")
    if n < 0:
        a, n = inv(a), -n
    found = None
    while n:
        if n & 1:
            found = a if found is None else found @ a
        a, n = a @ a, n >> 1
    return found if found is not None else a * 0 + np.eye(a.shape[-1], dtype=a.dtype)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """As numpy.linalg.norm."""
    x = array_of(x)
    if x.dtype.kind in "iub":
        x = array_of(x.astype(np.float64))
    rank = x.ndim if axis is None else len(normal_axes("linalg.norm", axis, x.ndim))
    if axis is None and (ord is None or ord in ("f", "fro") and x.ndim == 2 or ord == 2 and x.ndim == 1):
        y = np.sqrt(np.sum(np.square(np.abs(x) if x.dtype.kind == "c" else x).reshape(-1)))
        return y.reshape((1,) * x.ndim) if keepdims else y
    axes = normal_axes("linalg.norm", axis, x.ndim)
    if rank == 1:
        size = np.abs(x)
        if ord is None or ord == 2:
            return np.sqrt(np.sum(np.square(size), axis=axes, keepdims=keepdims))
        if ord in (np.inf, -np.inf):
            return (np.max if ord > 0 else np.min)(size, axis=axes, keepdims=keepdims)
        if ord == 0:
            return np.sum((size != 0).astype(x.dtype), axis=axes, keepdims=keepdims)
        if isinstance(ord, str):
            raise ValueError(f"Invalid norm order '{ord}' for vectors")
        total = np.sum(size if ord == 1 else np.power(size, ord), axis=axes, keepdims=keepdims)
        return total if ord == 1 else np.power(total, 1 / ord)
    if rank != 2:
        raise ValueError("Improper number of dimensions to norm.")
    if ord is None or ord in ("f", "fro"):
        return np.sqrt(np.sum(np.square(np.abs(x)), axis=axes, keepdims=keepdims))
    m = np.moveaxis(x, axes, (-2, -1))
    if ord in (1, -1, np.inf, -np.inf):
        y = np.sum(np.abs(m), axis=-2 if ord in (1, -1) else -1)
        y = (np.max if ord > 0 else np.min)(y, axis=-1)
    elif ord in (2, -2, "nuc"):
        s = svd(m, compute_uv=False)
        y = np.sum(s, axis=-1) if ord == "nuc" else (np.max if ord > 0 else np.min)(s, axis=-1)
    else:
        raise ValueError("Invalid norm order for matrices.")
    return np.expand_dims(y, axes) if keepdims else y


def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """As numpy.linalg.multi_dot, from the left."""
    not_out("linalg.multi_dot", out)
    found = arrays[0]
    for a in arrays[1:]:
        found = np.dot(found, a)
    return found


RULES: dict[Any, Any] = {
    np.dot: dot, np.inner: inner, np.outer: outer, np.vdot: vdot, np.tensordot: tensordot, np.einsum: einsum,
    np.kron: kron, np.cross: cross, np.linalg.det: det, np.linalg.inv: inv, np.linalg.solve: solve,
    np.linalg.cholesky: cholesky, np.linalg.slogdet: slogdet, np.linalg.eigh: eigh, np.linalg.eigvalsh: eigvalsh,
    np.linalg.svd: svd, np.linalg.qr: qr, np.linalg.pinv: pinv, np.linalg.matrix_power: matrix_power,
    np.linalg.norm: norm, np.linalg.multi_dot: multi_dot,
}
if hasattr(np.linalg, "svdvals"):  # the names of the array API standard, which call the others in Python
    RULES[np.linalg.svdvals] = lambda x, /: svd(x, compute_uv=False)
