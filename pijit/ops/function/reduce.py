"""Reductions and norms."""

from pijit import dtype as mstype
from pijit._C import ops as _ops
from pijit.ops.function.creation import zeros
from pijit.ops.function.elementwise import abs, cast, exp, isfinite, log, sqrt, stop_gradient
from pijit.ops.function.shapes import _axis, _ints, expand_dims, ravel, squeeze


def _axes(axis):
    if axis is None:
        return ()
    return axis if isinstance(axis, int) else tuple(axis)


# What sums and products of these count in.
_SMALL = frozenset((mstype.bool_, mstype.int8, mstype.int16, mstype.int32, mstype.uint8))


def sum(input, dim=None, keepdim=False, *, dtype=None):
    """Sum over axes (all by default); bool and integers of up to 32 bits give int64."""
    if dtype is not None:
        input = cast(input, dtype)
    elif input.dtype in _SMALL:
        input = cast(input, mstype.int64)
    return _ops["reduce_sum"](input, _axes(dim), keepdim)


def _count(x, axis):
    if axis is None or axis == ():
        return x.size
    n = 1
    for a in _ints(axis):
        n *= x.shape[a]
    return n


def mean(x, axis=None, keep_dims=False):
    """Arithmetic mean over axes (all by default); integers give float32."""
    if not x.dtype.is_floating_point:
        x = cast(x, mstype.float32)
    n = _count(x, axis)
    return _ops["reduce_sum"](x, _axes(axis), keep_dims) / (float(n) if n else float("nan"))


def prod(input, axis=None, keep_dims=False, dtype=None):
    """Product over axes; bool and integers of up to 32 bits give int64."""
    if dtype is not None:
        input = cast(input, dtype)
    elif input.dtype in _SMALL:
        input = cast(input, mstype.int64)
    return _ops["reduce_prod"](input, _axes(axis), keep_dims)


def _extremum(pair, reduce, x, axis, keep, initial, where):
    if where is not None and where is not True:
        if initial is None:
            raise ValueError(f"For '{reduce}', 'where' needs 'initial': what no element decides has no value.")
        x = _ops["select"](where, x, initial)
    r = _ops[reduce](x, _axes(axis), keep)
    return r if initial is None else _ops[pair](r, initial)


def amax(input, axis=None, keepdims=False, *, initial=None, where=None):
    """Maximum over axes, of elements where a condition holds, and of `initial`."""
    return _extremum("maximum", "reduce_max", input, axis, keepdims, initial, where)


def amin(input, axis=None, keepdims=False, *, initial=None, where=None):
    """Minimum over axes, of elements where a condition holds, and of `initial`."""
    return _extremum("minimum", "reduce_min", input, axis, keepdims, initial, where)


def all(input, axis=None, keep_dims=False):
    """Logical and over axes."""
    return _ops["reduce_all"](input, _axes(axis), keep_dims)


def any(input, axis=None, keep_dims=False):
    """Logical or over axes."""
    return _ops["reduce_any"](input, _axes(axis), keep_dims)


def argmax(input, dim=None, keepdim=False):
    """Index of the (first) maximum; over all elements when dim is None."""
    return _arg(_ops["argmax"], input, dim, keepdim)


def argmin(input, axis=None, keepdims=False):
    """Index of the (first) minimum as int32; over all elements when axis is None."""
    return cast(_arg(_ops["argmin"], input, axis, keepdims), mstype.int32)


def _arg(op, x, axis, keep):
    if axis is None:
        return op(ravel(x), 0)
    r = op(x, axis)
    return expand_dims(r, _axis(axis, x.ndim)) if keep else r


def max(input, axis=None, keepdims=False, *, initial=None, where=None):
    """(values, indices) along one axis; over everything, the maximum and index 0, as MindSpore has it."""
    if axis is None:
        return amax(input, initial=initial, where=where), zeros((), mstype.int64)
    return amax(input, axis, keepdims, initial=initial, where=where), argmax(input, axis, keepdims)


def min(input, axis=None, keepdims=False, *, initial=None, where=None):
    """(values, indices) along one axis; over everything, the minimum and index 0."""
    if axis is None:
        return amin(input, initial=initial, where=where), zeros((), mstype.int64)
    return amin(input, axis, keepdims, initial=initial, where=where), argmin(input, axis, keepdims)


def var(input, axis=None, ddof=0, keepdims=False):
    """Variance over axes, with n - ddof as divisor."""
    if not input.dtype.is_floating_point:
        input = cast(input, mstype.float32)
    return _ops["variance"](input, _axes(axis), keepdims, int(ddof))


def std(input, axis=None, ddof=0, keepdims=False):
    """Standard deviation over axes."""
    return sqrt(var(input, axis, ddof, keepdims))


def logsumexp(input, dim, keepdim=False):
    """log(sum(exp(x))), shifted by the maximum."""
    m = stop_gradient(_ops["reduce_max"](input, _axes(dim), True))
    m = _ops["select"](isfinite(m), m, 0.0)
    s = log(_ops["reduce_sum"](exp(input - m), _axes(dim), True)) + m
    return s if keepdim else squeeze(s, dim)


def cumsum(x, axis, dtype=None):
    """Running sums."""
    return _ops["cumsum"](x if dtype is None else cast(x, dtype), axis, False)


def cumprod(input, dim, dtype=None):
    """Running products along one dimension, in log2(size) steps of pairwise products (Hillis and Steele, "Data parallel
    algorithms", CACM 1986). Raises ValueError for a dimension out of range."""
    x = input if dtype is None else cast(input, dtype)
    rank = len(x.shape)
    if not -rank <= dim < rank:
        raise ValueError(f"For 'cumprod', 'dim' must be in [{-rank}, {rank}), but got {dim}.")
    dim = _axis(dim, rank)
    size, step = x.shape[dim], 1
    while step < size:
        before = [slice(None)] * rank
        low, high = list(before), list(before)
        low[dim], high[dim] = slice(0, step), slice(step, size)
        before[dim] = slice(0, size - step)
        x = _ops["concat"]([x[tuple(low)], x[tuple(high)] * x[tuple(before)]], axis=dim)
        step *= 2
    return x


def count_nonzero(x, axis=(), keep_dims=False, dtype=mstype.int32):
    """The number of elements that are not 0."""
    return _ops["reduce_sum"](cast(x != 0, dtype), _axes(axis), keep_dims)


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """The norm of vectors (one dimension) or matrices (two): Euclidean and Frobenius by default.

    ord: for vectors any number, inf and -inf; for matrices 'fro', 1, -1, inf and -inf. Those that need
    singular values (2, -2, 'nuc' of matrices) raise ValueError."""
    if dtype is not None:
        A = cast(A, dtype)
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
            return sqrt(sum(A * A, dims, keepdim))
        return sum(x, dims, keepdim) if ord == 1 else _ops["pow"](sum(_ops["pow"](x, float(ord)), dims, keepdim), 1.0 / ord)
    if len(dims) == 2 and ord == "fro":
        return sqrt(sum(A * A, dims, keepdim))
    if len(dims) == 2 and ord in (1, -1, float("inf"), -float("inf")):
        rows, columns = _axis(dims[0], A.ndim), _axis(dims[1], A.ndim)
        along, over = (rows, columns) if ord in (1, -1) else (columns, rows)
        lines = sum(abs(A), along, True)
        r = amax(lines, over, True) if ord > 0 else amin(lines, over, True)
        return r if keepdim else squeeze(r, (rows, columns))
    raise ValueError(f"For 'norm', 'ord' {ord!r} of {len(dims)} dimensions is not supported: it must be a number for one dimension, and 'fro', 1, -1, inf or -inf for two.")
