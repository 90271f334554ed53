"""Norms and distances."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.compute_dtype import one_operator
from pijit.ops.function.creation import ones_like, triu_indices, zeros_like
from pijit.ops.function.elementwise import abs, cast, pow, select, sqrt
from pijit.ops.function.joining import unbind
from pijit.ops.function.reduction import amax, amin, sum
from pijit.ops.function.shapes import _axis, expand_dims, _ints, reshape, _same_dtype, squeeze
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from pijit._C import DType
    from pijit._types import Axis, Number, TensorLike


def dist(input: Tensor, other: TensorLike, p: Number = 2) -> Tensor:
    """The p-norm of input - other, over all elements.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        other (Tensor or number): the second operand.
        p (number, optional): the order of the norm. Default: 2.

    Returns:
        0-d Tensor. Floats and complex keep their dtype; ints give float32; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `other` does not fit.

    Example:
        >>> print(ops.dist(Tensor([0.0, 0.0]), Tensor([3.0, 4.0])))
        5.0
    """
    d = abs(input - other)
    if p == float("inf"):
        return amax(d)
    return (sum(cast(d != 0, d.dtype))
            if p == 0 else _ops["distance_root"](sum(d * d)) if p == 2 else sum(d) if p == 1
            else pow(sum(pow(d, p)), 1.0 / p))


def lp_norm(x: Tensor, axis: int, p: Number = 2, keep_dims: bool = False, epsilon: float = 1e-12) -> Tensor:
    """(sum of |x|^p over axes) ^ (1 / p), at least epsilon.

    Args:
        x (Tensor): the input, of 2 dimensions or more and bool, int or float dtype.
        axis (int): the axis; -1 is the last one.
        p (number, optional): the order of the norm. Default: 2.
        keep_dims (bool, optional): whether axes stay, as axes of 1. Default: False.
        epsilon (float, optional): a small number that keeps the result finite. Default: 1e-12.

    Returns:
        Tensor without the axes, or with axes of 1. Floats keep their dtype; bool and ints give float32; not for
            complex.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.function.lp_norm(Tensor([[3.0, 4.0]]), 1))
        [5.]
    """
    total = sum(pow(abs(x), float(p)), _ints(axis), keep_dims)
    return pow(_ops["maximum"](total, epsilon), 1.0 / p)


@_named(method=True)
def renorm(input: Tensor, p: Number, axis: int, maxnorm: float) -> Tensor:
    """Slices along `axis` whose p-norm exceeds maxnorm, scaled down to it.

    Raises ValueError for p <= 0 or maxnorm <= 0.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        p (number): the order of the norm.
        axis (int): the axis; -1 is the last one.
        maxnorm (float): the greatest norm.

    Returns:
        Tensor of input's shape. Floats keep their dtype; bool and ints give float32; not for complex.

    Example:
        >>> print(ops.renorm(Tensor([[3.0, 4.0], [0.0, 1.0]]), 2, 0, 1.0))
        [[0.6 0.8]
         [0.  1. ]]
    """
    if p <= 0 or maxnorm < 0:
        raise _check.refused("renorm", "p", _check.value("be greater than 0 and 'maxnorm' at least 0"),
                             _check.several(p, maxnorm))
    a = _axis(axis, input.ndim)
    others = tuple([k for k in builtins.range(input.ndim) if k != a])
    size = pow(sum(pow(abs(input), float(p)), others, True), 1.0 / p)
    return input * select(size > maxnorm, maxnorm / (size + 1e-7), 1.0)


def l2_normalize(x: Tensor, axis: int = 0, epsilon: float = 1e-4) -> Tensor:
    """x / sqrt(max(sum of squares along the axis, epsilon)).

    Args:
        x (Tensor): the input, of any shape and bool, int or float dtype.
        axis (int, optional): the axis; -1 is the last one. Default: 0.
        epsilon (float, optional): the least sum of squares. Default: 0.0001.

    Returns:
        Tensor of x's shape. Floats keep their dtype; bool and ints give float32; not for complex.

    Raises:
        TypeError: if `axis` does not name one axis.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.function.l2_normalize(Tensor([3.0, 4.0])))
        [0.6 0.8]
    """
    if not isinstance(axis, int):
        if len(axis) != 1:
            raise _check.refused("L2Normalize", "axis", _check.value("name one axis"), axis, TypeError)
        axis = axis[0]
    _axis(axis, x.ndim)
    return x / sqrt(_ops["maximum"](sum(x * x, axis, True), epsilon))


def pdist(input: Tensor, p: Number = 2.0) -> Tensor:
    """p-norms of the differences of all pairs of rows [..., n, m]: [..., n (n - 1) / 2].

    Args:
        input (Tensor): the input, of 2 dimensions or more and int, float or complex dtype.
        p (number, optional): the order of the distance. Default: 2.0.

    Returns:
        Tensor [..., n (n - 1) / 2]. Floats and complex keep their dtype; ints give float32; not for bool.

    Example:
        >>> print(ops.pdist(Tensor([[0.0, 0.0], [3.0, 4.0]])))
        [5.]
    """
    if p < 0:
        raise _check.refused("pdist", "p", _check.at_least(0), p)
    n = input.shape[-2]
    first, second = unbind(triu_indices(n, n, 1))
    d = _ops["gather"](input, first, input.ndim - 2) - _ops["gather"](input, second, input.ndim - 2)
    a = abs(d)
    if p == float("inf"):
        return amax(a, -1)
    if p == 0:
        return sum(cast(a != 0, a.dtype), -1)
    if p == 1:
        return sum(a, -1)
    # where rows agree the norm has no gradient: 0 there
    total = sum(pow(a, float(p)), -1) if p != 2 else sum(d * d, -1)
    same = total == 0
    return select(same, zeros_like(total), pow(select(same, ones_like(total), total), 1.0 / p))


@one_operator
def vector_norm(x: Tensor, ord: Number | str = 2, axis: int | None = None, keepdims: bool = False, *,
                dtype: DType | None = None) -> Tensor:
    """The norm of order `ord` (a number, inf, -inf or 0) over axes.

    Args:
        x (Tensor): the input, of any shape and any dtype.
        ord (number or str, optional): the order of the norm. Default: 2.
        axis (int, optional): the axis; -1 is the last one. Default: None.
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        Tensor without the axes, or with axes of 1. Floats and complex keep their dtype; bool and ints give float32.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.vector_norm(Tensor([3.0, 4.0])))
        5.0
    """
    x = x if dtype is None else cast(x, dtype)
    d, axes = abs(x), None if axis is None else _ints(axis)
    if ord == float("inf"):
        return amax(d, axes, keepdims)
    if ord == float("-inf"):
        from pijit.ops.function.reduction import amin
        return amin(d, axes, keepdims)
    if ord == 0:
        return sum(cast(d != 0, d.dtype), axes, keepdims)
    if ord == 2:
        return sqrt(sum(d * d, axes, keepdims))
    return sum(d, axes, keepdims) if ord == 1 else pow(sum(pow(d, float(ord)), axes, keepdims), 1.0 / ord)


@one_operator
def matrix_norm(A: Tensor, ord: Number | str = "fro", axis: Axis = (-2, -1), keepdims: bool = False, *,
                dtype: DType | None = None) -> Tensor:
    """A matrix norm over two axes: 'fro', 1, -1, inf or -inf.

    Args:
        A (Tensor): the matrices, along the last two axes.
        ord (number or str, optional): the order of the norm. Default: 'fro'.
        axis (int, optional): the axis; -1 is the last one. Default: (-2, -1).
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        Tensor without the axes, or with axes of 1. Floats and complex keep their dtype; bool and ints give float32.

    Raises:
        TypeError: if `A` is not a Tensor, or `axis` is out of range.

    Example:
        >>> print(ops.matrix_norm(Tensor([[3.0, 0.0], [0.0, 4.0]])))
        5.0
    """
    return norm(A, ord, axis, keepdims, dtype=dtype)


@one_operator
def cdist(x1: Tensor, x2: Tensor, p: Number = 2.0) -> Tensor:
    """Distances of order p between the rows of x1 [..., P, M] and of x2 [..., R, M]: [..., P, R].

    Args:
        x1 (Tensor): the first operand.
        x2 (Tensor): the second operand.
        p (number, optional): the order of the distance. Default: 2.0.

    Returns:
        Tensor [..., P, R]. Floats and complex keep their dtype; ints give float32; not for bool.

    Raises:
        ValueError: if the shape of `x2` does not fit.

    Example:
        >>> print(ops.cdist(Tensor([[0.0, 0.0]]), Tensor([[3.0, 4.0]])))
        [[5.]]
    """
    _same_dtype("cdist", x1=x1, x2=x2)
    alike = x1.dtype == x2.dtype and x1.ndim >= 2 and x1.shape[:-2] == x2.shape[:-2]
    if p in (1, 2) and alike and x1.dtype in (mstype.float32, mstype.float64):
        total = _ops["distance_sums"](x1, x2, p == 2)
        return total if p == 1 else _root(total)
    d = _ops["abs"](expand_dims(x1, -2) - expand_dims(x2, -3))
    return _rows_norm(d, p)


def _rows_norm(d, p):
    if p < 0:
        raise ValueError(f"For a distance, 'p' must be at least 0, but got {p}.")
    if p == 0:
        return _ops["reduce_sum"](_ops["cast"](d != 0, d.dtype), -1, False)
    if p == float("inf"):
        return _ops["reduce_max"](d, -1, False)
    if p == 1:
        return _ops["reduce_sum"](d, -1, False)
    total = _ops["reduce_sum"](_ops["square"](d) if p == 2 else _ops["pow"](d, float(p)), -1, False)
    return _root(total, p)


def _root(total, p=2):
    """The p-th root, whose derivative at 0 counts as 0, as a distance's does."""
    if p == 2:
        return _ops["distance_root"](total)
    zero = total == 0
    safe = _ops["select"](zero, 1.0, total)
    return _ops["select"](zero, 0.0, _ops["pow"](safe, 1.0 / p))


@_named(method=True)
@one_operator
def norm(A: Tensor, ord: Number | str | None = None, dim: Axis | None = None, keepdim: bool = False, *,
         dtype: DType | None = None) -> Tensor:
    """The norm of vectors (one dimension) or matrices (two): Euclidean and Frobenius by default.

    ord: for vectors any number, inf and -inf; for matrices 'fro', 1, -1, inf, -inf, and 2, -2 and 'nuc' of the singular
        values
    (the greatest, the least, their sum). Raises TypeError for a string as order of vectors, else ValueError.

    Args:
        A (Tensor): the matrices, along the last two axes.
        dim (int or tuple of int, optional): the axes. Default: None.
        keepdim (bool, optional): whether axes stay, as axes of 1. Default: False.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        Tensor. Floats and complex keep their dtype; bool and ints give float32.

    Example:
        >>> print(ops.norm(Tensor([3.0, 4.0])))
        5.0
    """
    if dtype is not None:
        A = cast(A, dtype)
    if A.dtype in mstype.complex_type and ord not in (2, -2, "nuc"):  # of lengths; the dtype stays, as in MindSpore
        return cast(norm(_ops["real"](abs(A)), ord, dim, keepdim), A.dtype)
    if ord is None:
        return sqrt(sum(A * A, dim, keepdim))
    dims = tuple(range(A.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) == 1 and isinstance(ord, (int, float)):
        x = abs(A)
        if ord == float("inf"):
            return amax(x, dims, keepdim)
        if ord == -float("inf"):
            return amin(x, dims, keepdim)
        if ord == 0:
            return cast(sum(cast(A != 0, A.dtype), dims, keepdim), A.dtype)
        if ord == 2:
            return sqrt(sum(x * x, dims, keepdim))
        return sum(x, dims, keepdim) if ord == 1 else _ops["pow"](sum(_ops["pow"](x, float(ord)), dims, keepdim),
                                                                  1.0 / ord)
    if len(dims) == 2 and ord == "fro":
        return sqrt(sum(A * A, dims, keepdim))
    if len(dims) == 2 and ord in (1, -1, float("inf"), -float("inf")):
        rows, columns = _axis(dims[0], A.ndim), _axis(dims[1], A.ndim)
        along, over = (rows, columns) if ord in (1, -1) else (columns, rows)
        lines = sum(abs(A), along, True)
        r = amax(lines, over, True) if ord > 0 else amin(lines, over, True)
        return r if keepdim else squeeze(r, (rows, columns))
    if len(dims) == 2 and ord in (2, -2, "nuc"):
        rows, columns = _axis(dims[0], A.ndim), _axis(dims[1], A.ndim)
        if rows == columns:
            raise _check.refused("norm", "dim", _check.value("name two dimensions"), dim)
        m, n = A.shape[rows], A.shape[columns]
        x = _ops["transpose"](A, (*[k for k in range(A.ndim) if k not in (rows, columns)], rows, columns))
        half = x.dtype in (mstype.float16, mstype.bfloat16)
        s = _ops["svd"](cast(x, mstype.float32) if half else x)[..., m + n, :]
        r = sum(s, -1) if ord == "nuc" else s[..., 0] if ord == 2 else s[..., -1]
        r = cast(r, A.dtype) if half else r
        return reshape(r, tuple([1 if k in (rows, columns) else A.shape[k] for k in range(A.ndim)])) if keepdim else r
    if len(dims) == 1 and isinstance(ord, str):
        raise _check.refused("norm", "'ord' of vectors", _check.value("be a number"), ord, TypeError)
    raise ValueError(f"For 'norm', 'ord' {ord!r} of {len(dims)} dimensions is not supported: it must be a number for "
                     "one "
                     "dimension, and 'fro', 'nuc', 1, -1, 2, -2, inf or -inf for two.")
