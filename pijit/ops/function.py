"""Operators as functions. Plain names of single ops are the extension's own callables."""

import builtins
import math

import numpy as np

from pijit import dtype as mstype
from pijit import random as _random
from pijit._C import Tensor, dtype as _as_dtype, ops as _ops

# --- one op each -----------------------------------------------------------------------------------
add, sub, mul, div = _ops["add"], _ops["sub"], _ops["mul"], _ops["div"]
subtract, multiply, divide, true_divide, realdiv = sub, mul, div, div, div
floor_divide = floor_div = floordiv = _ops["floor_div"]
mod = floor_mod = floormod = remainder = _ops["mod"]
fmod, pow, atan2, arctan2, hypot = _ops["fmod"], _ops["pow"], _ops["atan2"], _ops["atan2"], _ops["hypot"]
maximum, minimum = _ops["maximum"], _ops["minimum"]
neg, negative, abs, absolute, sign, sgn = _ops["neg"], _ops["neg"], _ops["abs"], _ops["abs"], _ops["sign"], _ops["sign"]
square, sqrt, rsqrt, reciprocal, cbrt = _ops["square"], _ops["sqrt"], _ops["rsqrt"], _ops["reciprocal"], _ops["cbrt"]
exp, exp2, expm1, log, log2, log10, log1p = (_ops[k] for k in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p"))
sin, cos, tan, asin, acos, atan = (_ops[k] for k in ("sin", "cos", "tan", "asin", "acos", "atan"))
arcsin, arccos, arctan = asin, acos, atan
sinh, cosh, tanh, asinh, acosh, atanh = (_ops[k] for k in ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"))
arcsinh, arccosh, arctanh = asinh, acosh, atanh
erf, erfc, lgamma, digamma = _ops["erf"], _ops["erfc"], _ops["lgamma"], _ops["digamma"]
floor, ceil, trunc, round = _ops["floor"], _ops["ceil"], _ops["trunc"], _ops["round"]
equal = eq = _ops["equal"]
not_equal = ne = _ops["not_equal"]
less = lt = _ops["less"]
less_equal = le = _ops["less_equal"]
greater = gt = _ops["greater"]
greater_equal = ge = _ops["greater_equal"]
logical_and, logical_or, logical_xor, logical_not = (_ops["logical_" + k] for k in ("and", "or", "xor", "not"))
bitwise_and, bitwise_or, bitwise_xor, bitwise_not = (_ops["bitwise_" + k] for k in ("and", "or", "xor", "not"))
invert = bitwise_not
bitwise_left_shift, bitwise_right_shift = _ops["left_shift"], _ops["right_shift"]
isnan, isinf, isfinite = _ops["isnan"], _ops["isinf"], _ops["isfinite"]
relu, relu6, sigmoid, silu, softplus_ = _ops["relu"], _ops["relu6"], _ops["sigmoid"], _ops["silu"], _ops["softplus"]
stop_gradient = _ops["stop_gradient"]
select = _ops["select"]
where = _ops["select"]


def cast(input, dtype):
    """Elements converted to `dtype`."""
    return _ops["cast"](input, dtype)


# --- shapes ----------------------------------------------------------------------------------------
def _ints(x):
    if isinstance(x, Tensor):
        return tuple(x.asnumpy().reshape(-1).tolist())
    if isinstance(x, int):
        return (x,)
    return tuple(x)


def _axis(axis, ndim):
    return axis + ndim if axis < 0 else axis


def _as_tensor(x):
    return x if isinstance(x, Tensor) else Tensor(x)


def shape(input_x):
    """The shape as a tuple."""
    return input_x.shape


def rank(input_x):
    """The number of dimensions."""
    return input_x.ndim


def size(input_x):
    """The number of elements."""
    return input_x.size


numel = size


def dtype(input_x):
    """The element type."""
    return input_x.dtype


def reshape(input, shape):
    """The same elements in another shape; one dimension may be -1."""
    return _ops["reshape"](input, _ints(shape))


def transpose(input, input_perm):
    """Dimensions permuted."""
    n = input.ndim
    return _ops["transpose"](input, tuple([_axis(a, n) for a in input_perm]))


permute = transpose


def swapaxes(input, axis0, axis1):
    """Two dimensions exchanged."""
    n = input.ndim
    perm = list(builtins.range(n))
    a, b = _axis(axis0, n), _axis(axis1, n)
    if not (0 <= a < n and 0 <= b < n):
        raise ValueError(f"For 'swapaxes', axes {axis0} and {axis1} are out of range for {n} dimensions.")
    perm[a], perm[b] = perm[b], perm[a]
    return _ops["transpose"](input, tuple(perm))


def moveaxis(x, source, destination):
    """Dimensions moved to new places."""
    n = x.ndim
    src = [_axis(a, n) for a in _ints(source)]
    dst = [_axis(a, n) for a in _ints(destination)]
    perm = [a for a in builtins.range(n) if a not in src]
    for d, s in sorted(zip(dst, src)):
        perm.insert(d, s)
    return _ops["transpose"](x, tuple(perm))


movedim = moveaxis


def t(input):
    """The transpose of a matrix."""
    return _ops["transpose"](input, (1, 0)) if input.ndim == 2 else input


def expand_dims(input_x, axis):
    """A dimension of 1 inserted at `axis`."""
    s = list(input_x.shape)
    n = len(s) + 1
    if not -n <= axis < n:
        raise ValueError(f"For 'expand_dims', 'axis' must be in [{-n}, {n}), but got {axis}.")
    s.insert(axis + n if axis < 0 else axis, 1)
    return _ops["reshape"](input_x, tuple(s))


unsqueeze = expand_dims


def squeeze(input, axis=None):
    """Dimensions of 1 removed: all, or those named."""
    s = input.shape
    n = len(s)
    if axis is None:
        return _ops["reshape"](input, tuple([d for d in s if d != 1]))
    drop = [_axis(a, n) for a in _ints(axis)]
    for a in drop:
        if not 0 <= a < n:
            raise ValueError(f"For 'squeeze', 'axis' {axis} is out of range for {n} dimensions.")
        if s[a] != 1:
            raise ValueError(f"Cannot select an axis to squeeze out which has size not equal to one: axis {a} of shape {s}.")
    return _ops["reshape"](input, tuple([s[a] for a in builtins.range(n) if a not in drop]))


def flatten(input, order="C", *, start_dim=1, end_dim=-1):
    """Dimensions start_dim..end_dim merged."""
    s = input.shape
    n = len(s)
    if n == 0:
        return _ops["reshape"](input, (1,))
    a, b = _axis(start_dim, n), _axis(end_dim, n)
    if n == 1:
        a, b = 0, 0
    return _ops["reshape"](input, s[:a] + (-1,) + s[b + 1:])


def ravel(input):
    """All elements in one dimension."""
    return _ops["reshape"](input, (-1,))


def broadcast_to(input, shape):
    """Broadcast to `shape`; -1 keeps a dimension."""
    return _ops["broadcast_to"](input, _ints(shape))


def expand(input, size):
    """Broadcast to `size`."""
    return _ops["broadcast_to"](input, _ints(size))


def cat(tensors, axis=0):
    """Joined along an existing axis."""
    return _ops["concat"](tensors, axis)


concat = cat


def stack(tensors, axis=0):
    """Joined along a new axis."""
    if len(tensors) == 0:
        raise ValueError("For 'stack', 'tensors' must not be empty.")
    return _ops["concat"]([expand_dims(x, axis) for x in tensors], axis)


def split(tensor, split_size_or_sections, axis=0):
    """Pieces of split_size along `axis` (the last may be smaller), or of the sizes listed."""
    n = tensor.shape[axis]
    if isinstance(split_size_or_sections, int):
        k = split_size_or_sections
        if k <= 0:
            raise ValueError(f"For 'split', 'split_size_or_sections' must be > 0, but got {k}.")
        sizes = [builtins.min(k, n - i) for i in builtins.range(0, n, k)]
    else:
        sizes = list(split_size_or_sections)
        if builtins.sum(sizes) != n:
            raise ValueError(f"For 'split', the sections {sizes} do not add up to {n}, the size of axis {axis}.")
    out = []
    at = 0
    for k in sizes:
        out.append(narrow(tensor, axis, at, k))
        at += k
    return tuple(out)


def chunk(input, chunks, axis=0):
    """At most `chunks` pieces along `axis`."""
    n = input.shape[axis]
    return split(input, -(-n // chunks), axis)


def narrow(input, axis, start, length):
    """`length` elements of one axis, from `start`."""
    s = input.shape
    a = _axis(axis, len(s))
    begin, end = [0] * len(s), list(s)
    begin[a], end[a] = start, start + length
    return _ops["slice"](input, tuple(begin), tuple(end), (1,) * len(s))


def slice(input_x, begin, size):
    """The box of `size` at `begin`; a size of -1 reaches to the end."""
    s = input_x.shape
    end = tuple([s[i] if size[i] == -1 else begin[i] + size[i] for i in builtins.range(len(s))])
    return _ops["slice"](input_x, tuple(begin), end, (1,) * len(s))


def strided_slice(input_x, begin, end, strides):
    """Python slices per axis."""
    return input_x[tuple([builtins.slice(b, e, st) for b, e, st in zip(begin, end, strides)])]


def unbind(input, dim=0):
    """The slices along one axis."""
    return tuple([squeeze(narrow(input, dim, i, 1), dim) for i in builtins.range(input.shape[dim])])


unstack = unbind


def flip(input, dims):
    """Axes reversed."""
    s = input.shape
    n = len(s)
    axes = [_axis(a, n) for a in _ints(dims)]
    begin = tuple([s[a] - 1 if a in axes and s[a] else 0 for a in builtins.range(n)])
    end = tuple([-1 if a in axes and s[a] else s[a] for a in builtins.range(n)])
    return _ops["slice"](input, begin, end, tuple([-1 if a in axes and s[a] else 1 for a in builtins.range(n)]))


reverse = flip


def tile(input, dims):
    """Repeated dims[i] times along axis i."""
    reps = list(_ints(dims))
    s = list(input.shape)
    while len(reps) < len(s):
        reps.insert(0, 1)
    while len(s) < len(reps):
        s.insert(0, 1)
    inner, wide = [], []
    for r, d in zip(reps, s):
        inner += [1, d]
        wide += [r, d]
    x = _ops["broadcast_to"](_ops["reshape"](input, tuple(inner)), tuple(wide)) if len(wide) <= 8 else None
    if x is None:
        x = _ops["reshape"](input, tuple(s))
        for a, r in enumerate(reps):
            if r != 1:
                x = _ops["concat"]([x] * r, a)
        return x
    return _ops["reshape"](x, tuple([r * d for r, d in zip(reps, s)]))


def repeat_interleave(input, repeats, axis=None):
    """Each element repeated in place."""
    if axis is None:
        input, axis = ravel(input), 0
    s = input.shape
    a = _axis(axis, len(s))
    x = _ops["broadcast_to"](expand_dims(input, a + 1), s[:a + 1] + (repeats,) + s[a + 1:])
    return _ops["reshape"](x, s[:a] + (s[a] * repeats,) + s[a + 1:])


def pad(input_x, padding, mode="constant", value=None):
    """Padded from the last dimension backwards: (left, right, top, bottom, ...)."""
    if mode != "constant":
        raise ValueError(f"For 'pad', 'mode' must be 'constant', but got {mode!r}.")
    p = _ints(padding)
    n = input_x.ndim
    if len(p) % 2 or len(p) // 2 > n:
        raise ValueError(f"For 'pad', 'padding' must hold pairs for at most {n} dimensions, but got {p}.")
    low, high = [0] * n, [0] * n
    for i in builtins.range(len(p) // 2):
        low[n - 1 - i], high[n - 1 - i] = p[2 * i], p[2 * i + 1]
    return _ops["pad"](input_x, tuple(low), tuple(high), 0.0 if value is None else value)


def meshgrid(*inputs, indexing="xy"):
    """Coordinate matrices from vectors."""
    xs = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)) else inputs
    shape = [x.size for x in xs]
    out = []
    for i, x in enumerate(xs):
        s = [1] * len(xs)
        s[i] = -1
        g = _ops["broadcast_to"](_ops["reshape"](x, tuple(s)), tuple(shape))
        out.append(swapaxes(g, 0, 1) if indexing == "xy" and len(xs) > 1 else g)
    return tuple(out)


# --- creation --------------------------------------------------------------------------------------
def full(size, fill_value, *, dtype=None):
    """A tensor of `size` filled with one value."""
    if dtype is None:
        dtype = mstype.bool_ if isinstance(fill_value, bool) else mstype.int64 if isinstance(fill_value, int) else mstype.float32
    return _ops["broadcast_to"](_ops["cast"](fill_value, dtype), _ints(size))


def fill(type, shape, value):
    """A tensor of `shape` and dtype `type` filled with `value`."""
    return full(shape, value, dtype=type)


def zeros(size, dtype=None):
    """Zeros."""
    return full(size, 0, dtype=mstype.float32 if dtype is None else dtype)


def ones(shape, dtype=None):
    """Ones."""
    return full(shape, 1, dtype=mstype.float32 if dtype is None else dtype)


def zeros_like(input, *, dtype=None):
    """Zeros of the same shape and dtype."""
    return full(input.shape, 0, dtype=input.dtype if dtype is None else dtype)


def ones_like(input, *, dtype=None):
    """Ones of the same shape and dtype."""
    return full(input.shape, 1, dtype=input.dtype if dtype is None else dtype)


def full_like(input, fill_value, *, dtype=None):
    """One value in the same shape and dtype."""
    return full(input.shape, fill_value, dtype=input.dtype if dtype is None else dtype)


def arange(start=0, end=None, step=1, *, dtype=None):
    """Values from start to end (not included) by step."""
    if end is None:
        start, end = 0, start
    if dtype is None:
        dtype = mstype.float32 if isinstance(start, float) or isinstance(end, float) or isinstance(step, float) else mstype.int64
    if step == 0:
        raise ValueError("For 'arange', 'step' must not be 0.")
    if isinstance(start, int) and isinstance(end, int) and isinstance(step, int):
        count = builtins.max(0, -((start - end) // step))
    else:
        count = builtins.max(0, math.ceil((end - start) / step))
    return _ops["arange"](start, step, count, dtype)


def range(start, end=None, step=1, maxlen=1000000):  # noqa: A001
    """Like arange."""
    return arange(start, end, step)


def linspace(start, end, steps):
    """`steps` values from start to end, both included."""
    if steps == 1:
        return full((1,), float(start))
    return _ops["arange"](0, 1, steps, mstype.float32) * ((end - start) / (steps - 1)) + start


def eye(n, m=None, dtype=None):
    """Ones on the diagonal."""
    m = n if m is None else m
    d = mstype.float32 if dtype is None else dtype
    return _ops["cast"](expand_dims(arange(n), 1) == arange(m), d)


def tril(input, diagonal=0):
    """The lower triangle; the rest is 0."""
    m, n = input.shape[-2:]
    keep = (expand_dims(arange(m), 1) + diagonal) >= arange(n)
    return _ops["select"](keep, input, zeros_like(input))


def triu(input, diagonal=0):
    """The upper triangle; the rest is 0."""
    m, n = input.shape[-2:]
    keep = (expand_dims(arange(m), 1) + diagonal) <= arange(n)
    return _ops["select"](keep, input, zeros_like(input))


def one_hot(indices, depth, on_value=1, off_value=0, axis=-1):
    """Rows with on_value at the index."""
    d = on_value.dtype if isinstance(on_value, Tensor) else mstype.float32 if isinstance(on_value, float) else mstype.int64
    on = on_value.item() if isinstance(on_value, Tensor) else on_value
    off = off_value.item() if isinstance(off_value, Tensor) else off_value
    x = _ops["one_hot"](indices, depth, on, off, d)
    return x if axis == -1 or axis == indices.ndim else moveaxis(x, -1, axis)


# --- random ----------------------------------------------------------------------------------------
def rand(*size, dtype=None, seed=None):
    """Uniform in [0, 1)."""
    x = _random.uniform(_size(size))
    return x if dtype is None else cast(x, dtype)


def randn(*size, dtype=None, seed=None):
    """Standard normal."""
    x = _random.normal(_size(size))
    return x if dtype is None else cast(x, dtype)


def _size(size):
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else tuple(size)


def rand_like(input, seed=None, *, dtype=None):
    """Uniform in [0, 1), of the same shape."""
    return rand(*input.shape, dtype=input.dtype if dtype is None else dtype)


def randn_like(input, seed=None, *, dtype=None):
    """Standard normal, of the same shape."""
    return randn(*input.shape, dtype=input.dtype if dtype is None else dtype)


def standard_normal(shape, seed=None):
    """Standard normal."""
    return _random.normal(tuple(shape))


def uniform(shape, minval, maxval, seed=None, dtype=mstype.float32):
    """Uniform in [minval, maxval)."""
    return cast(_random.uniform(tuple(shape)) * (maxval - minval) + minval, dtype)


def normal(shape, mean, stddev, seed=None):
    """N(mean, stddev^2)."""
    return _random.normal(tuple(shape)) * stddev + mean


def randint(low, high, size, seed=None, *, dtype=None):
    """Integers in [low, high)."""
    x = floor(_random.uniform(tuple(size)) * float(high - low)) + float(low)
    return cast(minimum(x, float(high - 1)), mstype.int64 if dtype is None else dtype)


def dropout(input, p=0.5, training=True, seed=None):
    """Elements zeroed with probability p, the others scaled by 1 / (1 - p)."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"For 'dropout', 'p' must be in [0, 1], but got {p}.")
    if not training or p == 0:
        return input
    if p == 1:
        return zeros_like(input)

    keep = _random.uniform(input.shape) >= p
    return _ops["select"](keep, input * (1.0 / (1.0 - p)), 0.0)


# --- reductions ------------------------------------------------------------------------------------
def _axes(axis):
    if axis is None:
        return ()
    return axis if isinstance(axis, int) else tuple(axis)


def sum(input, dim=None, keepdim=False, *, dtype=None):
    """Sum over axes (all by default)."""
    if dtype is not None:
        input = cast(input, dtype)
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
    """Product over axes."""
    if dtype is not None:
        input = cast(input, dtype)
    return _ops["reduce_prod"](input, _axes(axis), keep_dims)


def amax(input, axis=None, keepdims=False, *, initial=None, where=None):
    """Maximum over axes."""
    return _ops["reduce_max"](input, _axes(axis), keepdims)


def amin(input, axis=None, keepdims=False, *, initial=None, where=None):
    """Minimum over axes."""
    return _ops["reduce_min"](input, _axes(axis), keepdims)


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
        return amax(input), zeros((), mstype.int64)
    return amax(input, axis, keepdims), argmax(input, axis, keepdims)


def min(input, axis=None, keepdims=False, *, initial=None, where=None):
    """(values, indices) along one axis; over everything, the minimum and index 0."""
    if axis is None:
        return amin(input), zeros((), mstype.int64)
    return amin(input, axis, keepdims), argmin(input, axis, keepdims)


def var(input, axis=None, ddof=0, keepdims=False):
    """Variance over axes, with n - ddof as divisor."""
    m = mean(input, axis, True)
    d = input - m
    n = _count(input, axis) - int(ddof)
    return _ops["reduce_sum"](d * d, _axes(axis), keepdims) / (float(n) if n > 0 else 0.0)


def std(input, axis=None, ddof=0, keepdims=False):
    """Standard deviation over axes."""
    return sqrt(var(input, axis, ddof, keepdims))


def logsumexp(input, axis, keep_dims=False):
    """log(sum(exp(x))), shifted by the maximum."""
    m = stop_gradient(_ops["reduce_max"](input, _axes(axis), True))
    m = _ops["select"](isfinite(m), m, 0.0)
    s = log(_ops["reduce_sum"](exp(input - m), _axes(axis), True)) + m
    return s if keep_dims else squeeze(s, axis)


def cumsum(x, axis, dtype=None):
    """Running sums."""
    return _ops["cumsum"](x if dtype is None else cast(x, dtype), axis, False)


def count_nonzero(x, axis=(), keep_dims=False, dtype=mstype.int32):
    """The number of elements that are not 0."""
    return _ops["reduce_sum"](cast(x != 0, dtype), _axes(axis), keep_dims)


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """The Frobenius or Euclidean norm."""
    if ord not in (None, 2, "fro"):
        raise ValueError(f"For 'norm', 'ord' must be None, 2 or 'fro', but got {ord!r}.")
    return sqrt(sum(A * A, dim, keepdim))


# --- gather and scatter ----------------------------------------------------------------------------
def gather(input_params, input_indices, axis, batch_dims=0):
    """Slices of one axis by index."""
    return _ops["gather"](input_params, input_indices, axis)


def index_select(input, axis, index):
    """Slices of one axis by a 1-d index."""
    return _ops["gather"](input, index, axis)


def take(input, indices, axis=None):
    """Elements by index; over the flattened input when axis is None."""
    if axis is None:
        return _ops["gather"](ravel(input), indices, 0)
    return _ops["gather"](input, indices, axis)


def gather_elements(input, dim, index):
    """take_along_axis."""
    return _ops["gather_d"](input, index, dim)


gather_d = gather_elements


def gather_nd(input_x, indices):
    """Blocks addressed by the last dimension of indices."""
    return _ops["gather_nd"](input_x, indices)


def tensor_scatter_elements(input_x, indices, updates, axis=0, reduction="none"):
    """input_x with updates written (or added) along one axis."""
    return _ops["scatter_d"](input_x, indices, updates, axis, "update" if reduction == "none" else reduction)


def scatter(input, axis, index, src):
    """input with src written along one axis."""
    return _ops["scatter_d"](input, index, src, axis, "update")


def scatter_nd(indices, updates, shape):
    """Zeros of `shape` with updates added."""
    return _ops["scatter_nd"](zeros(shape, updates.dtype), indices, updates, "add")


def tensor_scatter_update(input_x, indices, updates):
    """Blocks replaced."""
    return _ops["scatter_nd"](input_x, indices, updates, "update")


def tensor_scatter_add(input_x, indices, updates):
    """Blocks added."""
    return _ops["scatter_nd"](input_x, indices, updates, "add")


def tensor_scatter_sub(input_x, indices, updates):
    """Blocks subtracted."""
    return _ops["scatter_nd"](input_x, indices, updates, "sub")


def tensor_scatter_mul(input_x, indices, updates):
    """Blocks multiplied."""
    return _ops["scatter_nd"](input_x, indices, updates, "mul")


def tensor_scatter_max(input_x, indices, updates):
    """Block maxima."""
    return _ops["scatter_nd"](input_x, indices, updates, "max")


def tensor_scatter_min(input_x, indices, updates):
    """Block minima."""
    return _ops["scatter_nd"](input_x, indices, updates, "min")


def masked_fill(input_x, mask, value):
    """value where mask is true."""
    return _ops["select"](mask, value, input_x)


def nonzero(input):
    """Indices of the elements that are not 0, a row each."""
    return Tensor(np.argwhere(input.asnumpy()))


def masked_select(input, mask):
    """The elements where mask is true."""
    a, m = np.broadcast_arrays(input.asnumpy(), mask.asnumpy())
    return Tensor(a[m])


# --- selection -------------------------------------------------------------------------------------
def clamp(input, min=None, max=None):
    """Elements limited to [min, max]."""
    if min is None and max is None:
        raise ValueError("For 'clamp', at least one of 'min' and 'max' must be given.")
    if min is not None:
        input = maximum(input, min)
    if max is not None:
        input = minimum(input, max)
    return input


clip = clamp


def clip_by_value(x, clip_value_min=None, clip_value_max=None):
    """Elements limited to [clip_value_min, clip_value_max]."""
    return clamp(x, clip_value_min, clip_value_max)


def clip_by_norm(x, max_norm, norm_type=2.0, error_if_nonfinite=False):
    """Scaled down so that the norm is at most max_norm."""
    n = norm(x)
    return x * minimum(max_norm / (n + 1e-6), 1.0)


def clip_by_global_norm(x, clip_norm=1.0, use_norm=None):
    """All scaled down together so that their joint norm is at most clip_norm."""
    total = sum(square(x[0]))
    for g in x[1:]:
        total = total + sum(square(g))
    n = sqrt(total)
    scale = clip_norm / maximum(n, clip_norm)
    return tuple([g * scale for g in x])


def nan_to_num(input, nan=0.0, posinf=None, neginf=None):
    """NaN and infinities replaced."""
    big = 3.4028234663852886e38
    x = _ops["select"](isnan(input), nan, input)
    x = _ops["select"](equal(x, float("inf")), big if posinf is None else posinf, x)
    return _ops["select"](equal(x, float("-inf")), -big if neginf is None else neginf, x)


def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """|input - other| <= atol + rtol * |other|."""
    close = logical_or(equal(input, other), logical_and(less_equal(abs(input - other), atol + rtol * abs(other)), isfinite(other)))
    return logical_or(close, logical_and(isnan(input), isnan(other))) if equal_nan else close


def lerp(input, end, weight):
    """input + weight * (end - input)."""
    return input + weight * (end - input)


def addn(x):
    """The sum of several tensors."""
    r = x[0]
    for y in x[1:]:
        r = r + y
    return r


def addcmul(input, tensor1, tensor2, value=1):
    """input + value * tensor1 * tensor2."""
    return input + tensor1 * tensor2 * value


def addcdiv(input, tensor1, tensor2, value=1):
    """input + value * tensor1 / tensor2."""
    return input + tensor1 / tensor2 * value


# --- matrix products -------------------------------------------------------------------------------
def matmul(input, other):
    """Matrix product with NumPy's rules for 1-d operands and batches."""
    if input.ndim == 0 or other.ndim == 0:
        raise ValueError("For 'matmul', operands must have at least 1 dimension.")
    a = _ops["reshape"](input, (1,) + input.shape) if input.ndim == 1 else input
    b = _ops["reshape"](other, other.shape + (1,)) if other.ndim == 1 else other
    r = _ops["matmul"](a, b)
    if input.ndim == 1:
        r = squeeze(r, -2)
    return squeeze(r, -1) if other.ndim == 1 else r


mm = matmul


def bmm(input_x, mat2):
    """Batched matrix product of 3-d tensors."""
    return _ops["matmul"](input_x, mat2)


batch_matmul = bmm


def dense(input, weight, bias=None):
    """input @ weight.T + bias."""
    return _ops["dense"](input, weight, bias)


linear = dense


def dot(input, other):
    """The product over the last axis of input and the second-last of other."""
    if input.ndim == 1 or other.ndim == 1 or (input.ndim == 2 and other.ndim == 2):
        return matmul(input, other)
    return tensor_dot(input, other, ((input.ndim - 1,), (other.ndim - 2,)))


def outer(input, vec2):
    """All products of two vectors."""
    return expand_dims(input, 1) * vec2


def tensor_dot(x1, x2, axes):
    """Products summed over the named axes."""
    if isinstance(axes, int):
        axes = (tuple(builtins.range(x1.ndim - axes, x1.ndim)), tuple(builtins.range(axes)))
    a, b = [_axis(k, x1.ndim) for k in _ints(axes[0])], [_axis(k, x2.ndim) for k in _ints(axes[1])]
    ra = [k for k in builtins.range(x1.ndim) if k not in a]
    rb = [k for k in builtins.range(x2.ndim) if k not in b]
    n = 1
    for k in a:
        n *= x1.shape[k]
    l = _ops["reshape"](_ops["transpose"](x1, tuple(ra + a)), (-1, n))
    r = _ops["reshape"](_ops["transpose"](x2, tuple(b + rb)), (n, -1))
    return _ops["reshape"](_ops["matmul"](l, r), tuple([x1.shape[k] for k in ra] + [x2.shape[k] for k in rb]))


tensordot = tensor_dot


def einsum(equation, *operands):
    """Einstein summation; operands are contracted from left to right."""
    eq = equation.replace(" ", "")
    if "." in eq:
        raise ValueError("For 'einsum', '...' is not supported: name all the dimensions.")
    left, arrow, right = eq.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise ValueError(f"For 'einsum', the equation names {len(terms)} operands, but got {len(operands)}.")
    if not arrow:
        right = "".join([c for c in sorted(set(left.replace(",", ""))) if left.count(c) == 1])
    x, tx = _einsum_diagonal(operands[0], terms[0])
    for i in builtins.range(1, len(terms)):
        y, ty = _einsum_diagonal(operands[i], terms[i])
        later = "".join(terms[i + 1:]) + right
        x, tx = _einsum_pair(x, tx, y, ty, later)
    drop = tuple([k for k, c in enumerate(tx) if c not in right])
    if drop:
        x = _ops["reduce_sum"](x, drop, False)
        tx = "".join([c for c in tx if c in right])
    for c in right:
        if c not in tx:
            raise ValueError(f"For 'einsum', the output index {c!r} is in no operand.")
    return _ops["transpose"](x, tuple([tx.index(c) for c in right]))


def _einsum_diagonal(x, term):
    if x.ndim != len(term):
        raise ValueError(f"For 'einsum', the term {term!r} does not fit a tensor of shape {x.shape}.")
    while len(set(term)) < len(term):
        for c in term:
            if term.count(c) > 1:
                i = term.index(c)
                j = term.index(c, i + 1)
                break
        n = x.shape[i]
        perm = [k for k in builtins.range(x.ndim) if k not in (i, j)] + [i, j]
        x = _ops["transpose"](x, tuple(perm))
        x = _ops["reduce_sum"](x * eye(n, dtype=x.dtype), (x.ndim - 1,), False)
        term = "".join([term[k] for k in perm[:-2]]) + c
    return x, term


def _einsum_pair(x, tx, y, ty, later):
    both = [c for c in tx if c in ty]
    batch = [c for c in both if c in later]
    contract = [c for c in both if c not in later]
    fx, fy = [c for c in tx if c not in ty], [c for c in ty if c not in tx]
    dims = {}
    for term, v in ((tx, x), (ty, y)):
        for c, d in zip(term, v.shape):
            if dims.setdefault(c, d) != d:
                raise ValueError(f"For 'einsum', index {c!r} has sizes {dims[c]} and {d}.")

    def group(v, term, parts):
        v = _ops["transpose"](v, tuple([term.index(c) for p in parts for c in p]))
        shape = [dims[c] for c in parts[0]]
        for p in parts[1:]:
            n = 1
            for c in p:
                n *= dims[c]
            shape.append(n)
        return _ops["reshape"](v, tuple(shape))

    r = _ops["matmul"](group(x, tx, [batch, fx, contract]), group(y, ty, [batch, contract, fy]))
    out = batch + fx + fy
    return _ops["reshape"](r, tuple([dims[c] for c in out])), "".join(out)


# --- networks --------------------------------------------------------------------------------------
def _pair(x):
    return (x, x) if isinstance(x, int) else tuple(x)


def conv2d(input, weight, bias=None, stride=1, pad_mode="valid", padding=0, dilation=1, groups=1):
    """2-d convolution. input [N, C, H, W], weight [O, C / groups, kh, kw]."""
    stride, dilation = _pair(stride), _pair(dilation)
    return _ops["conv2d"](input, weight, bias, stride, _conv_pad(input.shape[2:], weight.shape[2:], stride, dilation, pad_mode, padding), dilation, groups)


def _conv_pad(size, kernel, stride, dilation, mode, padding):
    if mode == "valid":
        return (0, 0, 0, 0)
    if mode == "same":
        out = []
        for n, k, s, d in zip(size, kernel, stride, dilation):
            total = builtins.max((-(-n // s) - 1) * s + d * (k - 1) + 1 - n, 0)
            out += [total // 2, total - total // 2]
        return tuple(out)
    if mode != "pad":
        raise ValueError(f"For 'conv2d', 'pad_mode' must be 'valid', 'same' or 'pad', but got {mode!r}.")
    if isinstance(padding, int):
        return (padding,) * 4
    p = tuple(padding)
    return (p[0], p[0], p[1], p[1]) if len(p) == 2 else p


def conv1d(input, weight, bias=None, stride=1, pad_mode="valid", padding=0, dilation=1, groups=1):
    """1-d convolution. input [N, C, L], weight [O, C / groups, k]."""
    stride, dilation = _ints(stride)[0], _ints(dilation)[0]
    p = padding if isinstance(padding, int) else tuple(padding)[0]
    pad = _conv_pad((1, input.shape[2]), (1, weight.shape[2]), (1, stride), (1, dilation), pad_mode, (0, 0, p, p))
    y = _ops["conv2d"](expand_dims(input, 2), expand_dims(weight, 2), bias, (1, stride), pad, (1, dilation), groups)
    return squeeze(y, 2)


def _pool_pad(size, kernel, stride, mode, padding):
    mode = mode.lower()
    if mode == "same":
        return _conv_pad(size, kernel, stride, (1, 1), "same", 0)
    if mode == "pad":
        p = _pair(padding)
        return (p[0], p[0], p[1], p[1])
    return (0, 0, 0, 0)


def max_pool2d(x, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False, pad_mode="pad"):
    """Maxima of windows. x [N, C, H, W]."""
    if return_indices or ceil_mode or dilation not in (1, (1, 1)):
        raise ValueError("For 'max_pool2d', return_indices, ceil_mode and dilation are not supported.")
    k = _pair(kernel_size)
    s = k if stride is None else _pair(stride)
    return _ops["max_pool2d"](x, k, s, _pool_pad(x.shape[2:], k, s, pad_mode, padding))


def avg_pool2d(input_x, kernel_size=1, stride=1, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=0, pad_mode="pad"):
    """Means of windows. input_x [N, C, H, W]."""
    if ceil_mode or divisor_override:
        raise ValueError("For 'avg_pool2d', ceil_mode and divisor_override are not supported.")
    k, s = _pair(kernel_size), _pair(stride)
    return _ops["avg_pool2d"](input_x, k, s, _pool_pad(input_x.shape[2:], k, s, pad_mode, padding), count_include_pad)


def adaptive_avg_pool2d(input, output_size):
    """Means of windows so that the output has the given size, which must divide the input's."""
    oh, ow = _pair(output_size)
    h, w = input.shape[2:]
    oh, ow = h if oh is None else oh, w if ow is None else ow
    if h % oh or w % ow:
        raise ValueError(f"For 'adaptive_avg_pool2d', the output size {(oh, ow)} must divide the input size {(h, w)}.")
    k = (h // oh, w // ow)
    return _ops["avg_pool2d"](input, k, k)


def batch_norm(input_x, running_mean, running_var, weight, bias, training=False, momentum=0.1, eps=1e-5):
    """Batch normalisation over all axes but 1 (Ioffe & Szegedy 2015). In training the running statistics
    are updated: running = (1 - momentum) * running + momentum * batch, with the unbiased variance."""
    shape = (1, -1) + (1,) * (input_x.ndim - 2)
    if training:
        axes = (0,) + tuple(builtins.range(2, input_x.ndim))
        n = input_x.size // builtins.max(input_x.shape[1], 1)
        m = mean(input_x, axes, True)
        d = input_x - m
        v = mean(d * d, axes, True)
        unbiased = stop_gradient(v) * (n / builtins.max(n - 1, 1))
        running_mean._assign(running_mean * (1.0 - momentum) + reshape(stop_gradient(m), (-1,)) * momentum)
        running_var._assign(running_var * (1.0 - momentum) + reshape(unbiased, (-1,)) * momentum)
    else:
        d = input_x - reshape(running_mean, shape)
        v = reshape(running_var, shape)
    y = d * rsqrt(v + eps)
    if weight is not None:
        y = y * reshape(weight, shape)
    if bias is not None:
        y = y + reshape(bias, shape)
    return y


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Layer normalisation over the last dimensions (Ba et al. 2016)."""
    axes = tuple(builtins.range(input.ndim - len(normalized_shape), input.ndim))
    if tuple(input.shape[input.ndim - len(normalized_shape):]) != tuple(normalized_shape):
        raise ValueError(f"For 'layer_norm', the last dimensions of {input.shape} must be {tuple(normalized_shape)}.")
    m = mean(input, axes, True)
    d = input - m
    y = d * rsqrt(mean(d * d, axes, True) + eps)
    if weight is not None:
        y = y * weight
    return y if bias is None else y + bias


def softmax(input, axis=-1, *, dtype=None):
    """exp(x) / sum(exp(x)) along one axis."""
    return _ops["softmax"](input if dtype is None else cast(input, dtype), axis)


def log_softmax(logits, axis=-1):
    """The logarithm of softmax."""
    return _ops["log_softmax"](logits, axis)


def gelu(input, approximate="none"):
    """x * Phi(x); approximate='tanh' uses Hendrycks & Gimpel's formula."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f"For 'gelu', 'approximate' must be 'none' or 'tanh', but got {approximate!r}.")
    return _ops["gelu"](input, approximate)


def leaky_relu(input, alpha=0.2):
    """x where x > 0, else alpha * x."""
    return _ops["leaky_relu"](input, alpha)


def elu(input_x, alpha=1.0):
    """x where x > 0, else alpha * (exp(x) - 1)."""
    return _ops["elu"](input_x, alpha)


def selu(input_x):
    """Self-normalising ELU (Klambauer et al. 2017)."""
    return _ops["elu"](input_x, 1.67326324) * 1.05070098


def prelu(x, weight):
    """x where x > 0, else weight * x, a weight per channel."""
    w = reshape(weight, (1, -1) + (1,) * (x.ndim - 2)) if x.ndim > 1 else weight
    return _ops["select"](x > 0, x, x * w)


def softplus(input, beta=1, threshold=20):
    """log(1 + exp(beta * x)) / beta."""
    return softplus_(input * beta) / beta if beta != 1 else softplus_(input)


def logsigmoid(x):
    """log(sigmoid(x))."""
    return -softplus_(-x)


def mish(x):
    """x * tanh(softplus(x))."""
    return x * tanh(softplus_(x))


def softsign(x):
    """x / (1 + |x|)."""
    return x / (1.0 + abs(x))


def tanhshrink(input):
    """x - tanh(x)."""
    return input - tanh(input)


def hardsigmoid(input):
    """relu6(x + 3) / 6."""
    return relu6(input + 3.0) / 6.0


def hardswish(input):
    """x * relu6(x + 3) / 6."""
    return input * relu6(input + 3.0) / 6.0


def hardtanh(input, min_val=-1.0, max_val=1.0):
    """Limited to [min_val, max_val]."""
    return clamp(input, min_val, max_val)


def glu(x, axis=-1):
    """a * sigmoid(b) for the halves a, b of one axis."""
    a, b = split(x, x.shape[axis] // 2, axis)
    return a * sigmoid(b)


def bias_add(input_x, bias):
    """A bias per channel (axis 1)."""
    return input_x + reshape(bias, (1, -1) + (1,) * (input_x.ndim - 2))


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False):
    """Rows of weight by index."""
    return _ops["gather"](weight, input, 0)


# --- losses ----------------------------------------------------------------------------------------
def _reduce_loss(x, reduction):
    if reduction == "mean":
        return mean(x)
    if reduction == "sum":
        return sum(x)
    if reduction != "none":
        raise ValueError(f"'reduction' must be 'none', 'mean' or 'sum', but got {reduction!r}.")
    return x


def mse_loss(input, target, reduction="mean"):
    """(input - target)^2."""
    return _reduce_loss(square(input - target), reduction)


def l1_loss(input, target, reduction="mean"):
    """|input - target|."""
    return _reduce_loss(abs(input - target), reduction)


def smooth_l1_loss(input, target, beta=1.0, reduction="none"):
    """Quadratic below beta, linear above (Girshick 2015)."""
    d = abs(input - target)
    return _reduce_loss(_ops["select"](d < beta, 0.5 * d * d / beta, d - 0.5 * beta), reduction)


def huber_loss(input, target, reduction="mean", delta=1.0):
    """Quadratic below delta, linear above (Huber 1964)."""
    d = abs(input - target)
    return _reduce_loss(_ops["select"](d < delta, 0.5 * d * d, delta * (d - 0.5 * delta)), reduction)


def nll_loss(inputs, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    """Negative log likelihood. inputs [N, C] (or [N, C, d...]) of log-probabilities, target [N] (or [N, d...]) of class indices."""
    classes = inputs.shape[1]
    keep = target != ignore_index
    safe = _ops["select"](keep, target, 0)
    picked = -squeeze(_ops["gather_d"](inputs, expand_dims(safe, 1), 1), 1)
    w = _ops["cast"](keep, inputs.dtype) if weight is None else _ops["gather"](weight, safe, 0) * _ops["cast"](keep, inputs.dtype)
    loss = picked * w
    if label_smoothing > 0:
        spread = -_ops["reduce_sum"](inputs if weight is None else inputs * reshape(weight, (1, -1) + (1,) * (inputs.ndim - 2)), 1, False)
        spread = spread * _ops["cast"](keep, inputs.dtype)
        loss = loss * (1.0 - label_smoothing) + spread * (label_smoothing / classes)
    if reduction == "mean":
        return sum(loss) / sum(w)
    return _reduce_loss(loss, reduction)


def cross_entropy(input, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    """Softmax cross entropy. target holds class indices, or probabilities of input's shape."""
    logp = _ops["log_softmax"](input, 1 if input.ndim > 1 else 0)
    if target.dtype.is_floating_point:
        if label_smoothing > 0:
            target = target * (1.0 - label_smoothing) + label_smoothing / input.shape[1]
        if weight is not None:
            target = target * reshape(weight, (1, -1) + (1,) * (input.ndim - 2))
        loss = -_ops["reduce_sum"](logp * target, 1, False)
        return _reduce_loss(loss, reduction)
    return nll_loss(logp, target, weight, ignore_index, reduction, label_smoothing)


def binary_cross_entropy(logits, labels, weight=None, reduction="mean"):
    """Cross entropy of probabilities."""
    x = clamp(logits, 1e-12, 1.0 - 1e-7)
    loss = -(labels * log(x) + (1.0 - labels) * log(1.0 - x))
    return _reduce_loss(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy_with_logits(logits, label, weight=None, pos_weight=None, reduction="mean"):
    """Cross entropy of sigmoid(logits)."""
    if pos_weight is None:
        loss = softplus_(logits) - label * logits
    else:
        loss = (1.0 - label) * logits + (1.0 + (pos_weight - 1.0) * label) * softplus_(-logits)
    return _reduce_loss(loss if weight is None else loss * weight, reduction)


def kl_div(logits, labels, reduction="mean"):
    """labels * (log(labels) - logits)."""
    loss = _ops["select"](labels > 0, labels * (log(_ops["select"](labels > 0, labels, 1.0)) - logits), 0.0)
    if reduction == "batchmean":
        return sum(loss) / logits.shape[0]
    return _reduce_loss(loss, reduction)


# --- state -----------------------------------------------------------------------------------------
def assign(variable, value):
    """Gives a parameter a new value."""
    return variable._assign(value)


def assign_add(variable, value):
    """Adds to a parameter."""
    return variable._assign(variable + value)


def assign_sub(variable, value):
    """Subtracts from a parameter."""
    return variable._assign(variable - value)


def depend(value, expr):
    """value; eager order already holds."""
    return value


def print_(*args):
    """Prints values."""
    print(*args)


def is_tensor(obj):
    """Whether obj is a tensor."""
    return isinstance(obj, Tensor)


def mutable(input_data, dynamic_len=False):
    """input_data; pijit treats containers of tensors as mutable always."""
    return input_data


def scalar_to_tensor(input_x, dtype=mstype.float32):
    """A 0-d tensor."""
    return Tensor(input_x, dtype)


def typeof(x):
    """The dtype of a tensor."""
    return _as_dtype(x.dtype)


__all__ = [n for n in globals() if not n.startswith("_") and n not in ("builtins", "math", "np", "mstype", "Tensor", "softplus_")]
