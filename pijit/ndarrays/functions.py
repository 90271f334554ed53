"""Rules of NumPy's functions that are no ufuncs: shapes, joining, choices, new arrays, and small formulas.

What only moves elements (roll, tile, pad ...) NumPy itself does to an array of the elements' numbers; indexing.py makes
one gather of the answer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pijit._C import ops as _ops
from pijit.ndarrays import products, reductions
from pijit.ndarrays.indexing import gathered, places_of, rearranged
from pijit.ndarrays.numbers import (common_dtype, dtype_of, holds_recorded, normal_axes, normal_axis, not_out,
                                    refused, tensor_of)
from pijit.ndarrays.recorded import Recorded
from pijit.ndarrays.reductions import array_of

if TYPE_CHECKING:
    from typing import Any

_NONE: Any = np._NoValue


def rule_of(function: Any) -> Any:
    """The rule of a function of NumPy's, or None."""
    return RULES.get(function)


# -- shapes: views --

def _shape_of(a, shape):
    """A new shape, with the size that -1 stands for."""
    shape = tuple([int(n) for n in shape]) if isinstance(shape, (tuple, list)) else (int(shape),)
    return np.broadcast_to(np.zeros((), np.bool_), a.shape).reshape(shape).shape


def reshape(a: Any, /, shape: Any = None, order: Any = "C", *, newshape: Any = None, copy: Any = None) -> Any:
    """As numpy.reshape."""
    a = array_of(a)
    shape = newshape if shape is None else shape
    shape = _shape_of(a, a.shape if shape is None else shape)
    if order == "F":
        return transpose(reshape(transpose(a), shape[::-1]))
    if order not in ("C", "A"):
        raise refused("reshape", "'order' must be 'C' or 'F'", order)
    old = a.shape
    return a.view_of(lambda t: _ops["reshape"](t, shape), lambda t, v: _ops["reshape"](v, old))


def ravel(a: Any, order: Any = "C") -> Any:
    """As numpy.ravel."""
    return reshape(a, (-1,), "C" if order == "K" else order)


def transpose(a: Any, axes: Any = None) -> Any:
    """As numpy.transpose."""
    a = array_of(a)
    axes = tuple(range(a.ndim))[::-1] if axes is None else tuple([normal_axis("transpose", k, a.ndim) for k in axes])
    if sorted(axes) != list(range(a.ndim)):
        raise ValueError("axes don't match array")
    if a.ndim < 2:
        return a.view_of(lambda t: t, lambda t, v: v)
    back = tuple([axes.index(k) for k in range(a.ndim)])
    return a.view_of(lambda t: _ops["transpose"](t, axes), lambda t, v: _ops["transpose"](v, back))


def swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    """As numpy.swapaxes."""
    a = array_of(a)
    order = list(range(a.ndim))
    i, j = normal_axis("swapaxes", axis1, a.ndim), normal_axis("swapaxes", axis2, a.ndim)
    order[i], order[j] = order[j], order[i]
    return transpose(a, order)


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """As numpy.moveaxis."""
    a = array_of(a)
    return transpose(a, _moved(a.ndim, source, destination))


def _moved(rank, source, destination):
    """The order of axes that moveaxis gives."""
    source, destination = [normal_axes("moveaxis", tuple(k) if isinstance(k, range) else k, rank)
                           for k in (source, destination)]
    if len(source) != len(destination):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [k for k in range(rank) if k not in source]
    for to, k in sorted(zip(destination, source)):
        order.insert(to, k)
    return order


def squeeze(a: Any, axis: Any = None) -> Any:
    """As numpy.squeeze."""
    a = array_of(a)
    return reshape(a, np.squeeze(np.broadcast_to(np.zeros((), np.bool_), a.shape), axis).shape)


def expand_dims(a: Any, axis: Any) -> Any:
    """As numpy.expand_dims."""
    a = array_of(a)
    return reshape(a, np.expand_dims(np.broadcast_to(np.zeros((), np.bool_), a.shape), axis).shape)


def _at_least(rank):
    function = getattr(np, f"atleast_{rank}d")

    def rule(*arrays):
        found = [reshape(array_of(a), function(np.broadcast_to(np.zeros((), np.bool_), np.shape(a))).shape)
                 for a in arrays]
        return found[0] if len(found) == 1 else tuple(found)
    return rule


def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """As numpy.broadcast_to; the result can't be stored into."""
    a = array_of(array)
    shape = np.broadcast_to(np.broadcast_to(np.zeros((), np.bool_), a.shape), shape).shape
    return a.view_of(lambda t: _ops["broadcast_to"](t, shape), None)


def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    """As numpy.broadcast_arrays."""
    shape = np.broadcast_shapes(*[np.shape(a) for a in args])
    return tuple([broadcast_to(a, shape) for a in args])


# -- elements moved --

def _moving(name, function=None):
    """The rule of a function that only moves elements of its first argument, leaves some out or repeats them; where it
    makes new ones, these are 0."""
    function = function or getattr(np, name)

    def rule(a, *args, **kwargs):
        not_out(name, kwargs.pop("out", None))
        if holds_recorded(args) or holds_recorded(kwargs):
            raise refused(name, "arguments but the first must be plain", "a recorded array")
        return rearranged(array_of(a), lambda places: function(places, *args, **kwargs))
    return rule


def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    """As numpy.diagonal; the result can't be stored into."""
    a = array_of(a)
    places = np.diagonal(places_of(a.shape), offset, axis1, axis2)
    return a.view_of(lambda t: gathered(t, places), None)


def trace(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None) -> Any:
    """As numpy.trace."""
    not_out("trace", out)
    return reductions.sum_(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    """As numpy.take."""
    not_out("take", out)
    a = array_of(a)
    if not isinstance(indices, Recorded) or not indices.is_mapped:
        indices = indices.value if isinstance(indices, Recorded) else indices
        return rearranged(a, lambda places: np.take(places, indices, axis, None, mode))
    if axis is None:
        a, axis = ravel(a), 0
    axis, n = normal_axis("take", axis, a.ndim), a.shape[normal_axis("take", axis, a.ndim)]
    at = tensor_of(indices, np.int64)
    at = _ops["select"](_ops["less"](at, 0), _ops["add"](at, n), at)
    found = _ops["gather"](a.tensor, _ops["reshape"](at, (at.size,)), axis)
    return Recorded(_ops["reshape"](found, (*a.shape[:axis], *indices.shape, *a.shape[axis + 1:])))


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """As numpy.pad, in the modes that take elements of the array, and by constants."""
    a = array_of(array)
    if mode in ("edge", "reflect", "symmetric", "wrap", "empty") and kwargs.get("reflect_type", "even") == "even":
        return rearranged(a, lambda places: np.pad(places, pad_width, "constant" if mode == "empty" else mode))
    if mode != "constant":
        raise refused("pad", "'mode' must be 'constant', 'edge', 'reflect', 'symmetric' or 'wrap'", mode)
    value = kwargs.pop("constant_values", 0)
    if kwargs:
        raise ValueError(f"unsupported keyword arguments for mode 'constant': {set(kwargs)}")
    if isinstance(value, Recorded):
        inside = np.pad(np.ones(a.shape, np.bool_), pad_width)
        return where(inside, rearranged(a, lambda places: np.pad(places, pad_width)), value)
    found = rearranged(a, lambda places: np.pad(places, pad_width))
    if np.any(np.asarray(value)):
        return found + np.pad(np.zeros(a.shape, a.dtype), pad_width, constant_values=value)
    return found


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """As numpy.compress."""
    not_out("compress", out)
    condition = condition.value if isinstance(condition, Recorded) else condition
    return rearranged(array_of(a), lambda places: np.compress(condition, places, axis))


# -- joining and parting --

def concatenate(arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = None) -> Any:
    """As numpy.concatenate."""
    not_out("concatenate", out)
    arrays = [array_of(a) for a in arrays]
    if axis is None:
        arrays, axis = [ravel(a) for a in arrays], 0
    np.concatenate([np.broadcast_to(np.zeros((), np.bool_), a.shape) for a in arrays], axis)  # NumPy's errors
    wanted = np.dtype(dtype) if dtype is not None else common_dtype(*arrays)
    return Recorded(_ops["concat"]([tensor_of(a, wanted) for a in arrays],
                                   normal_axis("concatenate", axis, arrays[0].ndim)))


def stack(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = None) -> Any:
    """As numpy.stack."""
    not_out("stack", out)
    arrays = [array_of(a) for a in arrays]
    if len({a.shape for a in arrays}) > 1:
        raise ValueError("all input arrays must have the same shape")
    axis = normal_axis("stack", axis, arrays[0].ndim + 1)
    return concatenate([expand_dims(a, axis) for a in arrays], axis, dtype=dtype)


def _stacked(least, axis):
    def rule(tup, *, dtype=None, casting=None):
        parts = [_at_least(least)(a) for a in tup]
        return concatenate(parts, 0 if axis == 1 and parts[0].ndim == 1 else axis, dtype=dtype)
    return rule


def column_stack(tup: Any) -> Any:
    """As numpy.column_stack."""
    parts = [array_of(a) for a in tup]
    return concatenate([a if a.ndim >= 2 else reshape(a, (-1, 1)) for a in parts], 1)


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """As numpy.append."""
    return concatenate((arr, values), axis)


def block(arrays: Any) -> Any:
    """As numpy.block."""
    def depth(x):
        return 1 + max([depth(v) for v in x]) if isinstance(x, list) else 0

    def rank(x):
        return max([rank(v) for v in x]) if isinstance(x, list) else np.ndim(x)

    def joined(x, level):
        if not isinstance(x, list):
            a = array_of(x)
            return reshape(a, (1,) * (width - a.ndim) + a.shape)
        return concatenate([joined(v, level + 1) for v in x], level - levels)
    levels = depth(arrays)
    width = max(levels, rank(arrays))
    return joined(arrays, 0)


def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    """As numpy.array_split."""
    return _split(np.array_split, ary, indices_or_sections, axis)


def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    """As numpy.split."""
    return _split(np.split, ary, indices_or_sections, axis)


def _split(function, ary, sections, axis):
    a = array_of(ary)
    axis = normal_axis("split", axis, a.ndim)
    parts = function(np.arange(a.shape[axis]), sections)
    return [a[(slice(None),) * axis + (slice(p[0], p[-1] + 1) if p.size else slice(0, 0),)] for p in parts]


def unstack(x: Any, /, *, axis: Any = 0) -> Any:
    """As numpy.unstack."""
    return tuple(moveaxis(x, axis, 0))


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """As numpy.meshgrid."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    n = len(xi)
    parts = [reshape(x, (1,) * k + (-1,) + (1,) * (n - k - 1)) for k, x in enumerate(xi)]
    if indexing == "xy" and n > 1:
        parts = [swapaxes(p, 0, 1) for p in parts]
    if not sparse:
        parts = [Recorded(p.tensor) for p in broadcast_arrays(*parts)]
    return tuple(parts)


# -- choices --

def where(condition: Any, x: Any = _NONE, y: Any = _NONE, /) -> Any:
    """As numpy.where, with three arguments; with one, the places where the condition is true, a constant."""
    if x is _NONE and y is _NONE:
        return np.where(array_of(condition).value)
    if isinstance(condition, Recorded) and not condition.is_mapped:
        condition = condition.value
    condition = array_of(np.not_equal(condition, 0) if dtype_of(condition) != np.dtype(np.bool_) else condition)
    dtype = common_dtype(x, y)
    return Recorded(_ops["select"](condition.tensor, tensor_of(x, dtype), tensor_of(y, dtype)))


def clip(a: Any, a_min: Any = _NONE, a_max: Any = _NONE, out: Any = None, *, min: Any = _NONE, max: Any = _NONE,
         dtype: Any = None, **kwargs: Any) -> Any:
    """As numpy.clip."""
    not_out("clip", out)
    if kwargs:
        raise refused("clip", "keywords of ufuncs must not be given", kwargs)
    low, high = min if a_min is _NONE else a_min, max if a_max is _NONE else a_max
    if low is not _NONE and low is not None:
        a = np.maximum(a, low)
    if high is not _NONE and high is not None:
        a = np.minimum(a, high)
    return a if dtype is None else a.astype(dtype)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """As numpy.select."""
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError("list of cases must be same length as list of conditions, and not empty")
    found = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist)):
        found = where(condition, choice, found)
    return found


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """As numpy.piecewise; each function is called with the whole array."""
    if not isinstance(condlist, (list, tuple)) or not isinstance(condlist[0], (list, tuple, np.ndarray, Recorded)) \
            and np.ndim(x):
        condlist = [condlist]
    functions, conditions = list(funclist), list(condlist)
    if len(functions) == len(conditions) + 1:
        default = functions.pop()
    elif len(functions) == len(conditions):
        default = 0
    else:
        raise ValueError("with {} condition(s), either {} or {} functions are expected".format(
            len(conditions), len(conditions), len(conditions) + 1))

    def applied(f):
        return f(x, *args, **kw) if callable(f) else f
    found = np.zeros_like(x) + applied(default)
    for condition, f in zip(conditions, functions):
        found = where(condition, applied(f), found)
    return found


def triangle(name: str) -> Any:
    """The rule of tril and triu."""
    mask = getattr(np, name)

    def rule(m, k=0):
        a = array_of(m)
        kept = mask(np.ones(a.shape[-2:] if a.ndim > 1 else (*a.shape, *a.shape), np.bool_), k)
        return where(kept, a, np.zeros((), a.dtype))
    return rule


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """As numpy.nan_to_num."""
    x = array_of(x)
    bound = np.finfo(x.dtype).max
    y = where(np.isnan(x), nan, x)
    y = where(np.isinf(x) & (x > 0), bound if posinf is None else posinf, y)
    return where(np.isinf(x) & (x < 0), -bound if neginf is None else neginf, y)


# -- new arrays of the same kind --

def _like(value):
    def rule(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
        a = array_of(a)
        return Recorded(tensor_of(np.full(a.shape if shape is None else shape, value,
                                          a.dtype if dtype is None else dtype)))
    return rule


def full_like(a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *,
              device: Any = None) -> Any:
    """As numpy.full_like."""
    found = _like(0)(a, dtype, order, subok, shape)
    found[...] = fill_value
    return found


def copy(a: Any, order: Any = "K", subok: bool = False) -> Any:
    """As numpy.copy."""
    return array_of(a).copy()


def linspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
             axis: Any = 0, *, device: Any = None) -> Any:
    """As numpy.linspace."""
    share = np.linspace(0.0, 1.0, num, endpoint=endpoint)
    dtype_ = common_dtype(start, stop, 1.0) if dtype is None else np.dtype(dtype)
    a, b = [Recorded(tensor_of(x, dtype_)) for x in (start, stop)]
    a, b = broadcast_arrays(a, b)
    share = share.astype(dtype_).reshape((-1,) + (1,) * a.ndim)
    found = a * (1 - share) + b * share
    found = moveaxis(found, 0, axis) if axis else found
    return (found, (b - a) / (num - 1 if endpoint else num)) if retstep else found


# -- formulas --

def _round(a, decimals=0, out=None):
    """round: a constant, as it has no derivative."""
    not_out("round", out)
    a = array_of(a)
    if not a.is_mapped:
        return np.round(a.value, decimals)
    factor = 10.0 ** decimals
    return np.rint(a * factor) / factor


def diff(a: Any, n: Any = 1, axis: Any = -1, prepend: Any = _NONE, append: Any = _NONE) -> Any:
    """As numpy.diff."""
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    a = array_of(a)
    axis = normal_axis("diff", axis, a.ndim)
    ends = []
    for x in (prepend, append):
        if x is not _NONE and not np.ndim(x):
            x = np.broadcast_to(x, [1 if k == axis else m for k, m in enumerate(a.shape)])
        ends.append([] if x is _NONE else [x])
    if ends[0] or ends[1]:
        a = concatenate([*ends[0], a, *ends[1]], axis)
    for _ in range(n):
        first = (slice(None),) * axis
        a = a[(*first, slice(1, None))] - a[(*first, slice(None, -1))]
    return a


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """As numpy.ediff1d."""
    found = diff(ravel(ary))
    parts = [*([] if to_begin is None else [ravel(to_begin)]), found, *([] if to_end is None else [ravel(to_end)])]
    return found if len(parts) == 1 else concatenate(parts)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    """As numpy.trapezoid."""
    y = array_of(y)
    axis = normal_axis("trapezoid", axis, y.ndim)
    first = (slice(None),) * axis
    if x is None:
        d = dx
    else:
        x = array_of(x)
        d = diff(x, axis=0 if x.ndim == 1 else axis)
        d = reshape(d, [-1 if k == axis else 1 for k in range(y.ndim)]) if x.ndim == 1 else d
    return reductions.sum_(d * (y[(*first, slice(1, None))] + y[(*first, slice(None, -1))]) / 2.0, axis=axis)


def sinc(x: Any) -> Any:
    """As numpy.sinc; its derivative at 0 is 0."""
    x = array_of(x)
    y = np.pi * x
    near = np.abs(y) < 1e-2  # where a series of three terms has all digits
    safe = where(near, np.ones((), x.dtype), y)
    square = y * y
    return where(near, 1 - square / 6 * (1 - square / 20 * (1 - square / 42)), np.sin(safe) / safe)


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """As numpy.interp."""
    if period is not None:
        raise refused("interp", "'period' must not be given", period)
    x, xp, fp = array_of(x), array_of(xp), array_of(fp)
    if x.is_mapped or xp.is_mapped:
        raise refused("interp", "'x' and 'xp' must be the same for all elements of a mapped function", x)
    at = np.clip(np.searchsorted(xp.value, x.value, side="right"), 1, max(len(xp) - 1, 1))
    if len(xp) == 1:
        inside = fp[np.zeros(x.shape, np.int64)]
    else:
        low = xp[at - 1]
        slope = (fp[at] - fp[at - 1]) / (xp[at] - low)
        inside = fp[at - 1] + slope * (x - low)
    inside = where(x < xp[0], fp[0] if left is None else left, inside)
    return where(x > xp[-1], fp[-1] if right is None else right, inside)


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """As numpy.convolve."""
    a, v = ravel(array_of(a)), ravel(array_of(v))
    if not a.size or not v.size:
        raise ValueError("a cannot be empty" if not a.size else "v cannot be empty")
    if v.size > a.size:
        a, v = v, a
    n, m = a.size, v.size
    if mode not in ("full", "same", "valid"):
        raise ValueError("mode must be one of 'valid', 'same', or 'full'")
    wide = pad(a, m - 1)
    rows = wide[np.arange(n + m - 1)[:, None] + np.arange(m)[::-1]]
    found = products.dot(rows, v)
    first, count = {"full": (0, n + m - 1), "same": ((m - 1) // 2, n), "valid": (m - 1, n - m + 1)}[mode]
    return found[first:first + count]


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """As numpy.correlate."""
    a, v = array_of(a), array_of(v)
    if v.size > a.size:
        return convolve(v[::-1], a, mode)[::-1]
    return convolve(a, v[::-1], mode)


def polyval(p: Any, x: Any) -> Any:
    """As numpy.polyval."""
    found = np.zeros(np.shape(x), common_dtype(p, x)) if np.ndim(x) else 0
    for c in array_of(p):
        found = found * x + c
    return found


def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """As numpy.vander."""
    x = array_of(x)
    n = len(x) if N is None else N
    x = Recorded(tensor_of(x, np.promote_types(x.dtype, int)))  # as NumPy
    columns = [np.ones(x.shape, x.dtype) if k == 0 else x ** k for k in range(n)]
    return stack(columns if increasing else columns[::-1], 1)


def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, fweights: Any = None,
        aweights: Any = None, *, dtype: Any = None) -> Any:
    """As numpy.cov, without weights."""
    if fweights is not None or aweights is not None:
        raise refused("cov", "weights must not be given", fweights if fweights is not None else aweights)

    def rows(x):
        x = _at_least(2)(x)
        return x if rowvar or x.shape[0] == 1 else transpose(x)
    x = rows(array_of(m)) if y is None else concatenate([rows(array_of(m)), rows(array_of(y))])
    x = Recorded(tensor_of(x, np.result_type(x.dtype, np.float64) if dtype is None else dtype))
    d = x - reductions.mean(x, axis=1, keepdims=True)
    count = x.shape[1] - ((0 if bias else 1) if ddof is None else ddof)
    return squeeze(products.dot(d, transpose(d)) / count)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """As numpy.corrcoef."""
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return c / c
    d = np.sqrt(np.diagonal(c))
    return clip(c / d[:, None] / d[None, :], -1, 1)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """As numpy.gradient, for even distances and edge_order=1."""
    f = array_of(f)
    if edge_order != 1:
        raise refused("gradient", "'edge_order' must be 1", edge_order)
    axes = normal_axes("gradient", axis, f.ndim)
    steps = list(varargs) * (len(axes) if len(varargs) == 1 else 1) if varargs else [1.0] * len(axes)
    if len(steps) != len(axes) or any(np.ndim(h) for h in steps):
        raise refused("gradient", "distances must be one number, or one for each axis", varargs)
    found = []
    for k, h in zip(axes, steps):
        if f.shape[k] < 2:
            raise ValueError("Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) "
                             "elements are required.")
        d = diff(f, axis=k)
        first = (slice(None),) * k
        middle = (f[(*first, slice(2, None))] - f[(*first, slice(None, -2))]) / (2.0 * h)
        found.append(concatenate([d[(*first, slice(0, 1))] / h, middle, d[(*first, slice(-1, None))] / h], k))
    return found[0] if len(found) == 1 else tuple(found)


def apply_along_axis(func1d: Any, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """As numpy.apply_along_axis."""
    a = moveaxis(array_of(arr), axis, -1)
    lead = a.shape[:-1]
    rows = [array_of(func1d(row, *args, **kwargs)) for row in reshape(a, (math.prod(lead), a.shape[-1]))]
    found = stack(rows)
    found = reshape(found, (*lead, *rows[0].shape))
    axis = normal_axis("apply_along_axis", axis, a.ndim)
    inner = rows[0].ndim
    return moveaxis(found, range(len(lead), len(lead) + inner), range(axis, axis + inner)) if inner else found


# -- constants: shapes and values that are asked for --

def _asked(name, function=None):
    """The rule of a function whose result has no derivative: NumPy's own, of the values."""
    function = function or getattr(np, name)

    def rule(*args, **kwargs):
        return function(*_values(args), **_values(kwargs))
    return rule


def _counted(name, weights_at):
    """The rule of a function that counts. Raises TypeError for recorded weights, which have derivatives."""
    count = _asked(name)

    def rule(*args, **kwargs):
        weights = args[weights_at] if len(args) > weights_at else kwargs.get("weights")
        if holds_recorded(weights):
            raise refused(name, "'weights' must be plain", "a recorded array")
        return count(*args, **kwargs)
    return rule


def _values(x):
    """x with values in place of recorded arrays. Raises TypeError for mapped ones."""
    if isinstance(x, Recorded):
        return x.value
    if isinstance(x, (tuple, list)):
        return type(x)([_values(v) for v in x])
    return {k: _values(v) for k, v in x.items()} if isinstance(x, dict) else x


def _part(name):
    def rule(val):
        x = array_of(val)
        if x.dtype.kind == "c":
            return Recorded(_ops[name](x.tensor))
        if name == "real":
            return x
        return np.zeros(x.shape, x.dtype)
    return rule


def unique(ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
           axis: Any = None, **kwargs: Any) -> Any:
    """As numpy.unique of the flat array; the gradient goes to the first of equal elements."""
    a = array_of(ar)
    if axis is not None:
        raise refused("unique", "'axis' must be None", axis)
    _, first, inverse, counts = np.unique(a.value, True, True, True, **kwargs)
    values = ravel(a)[first]
    more = [x for x, wanted in ((first, return_index), (inverse, return_inverse), (counts, return_counts)) if wanted]
    return (values, *more) if more else values


RULES: dict[Any, Any] = {
    np.reshape: reshape, np.ravel: ravel, np.transpose: transpose, np.swapaxes: swapaxes, np.moveaxis: moveaxis,
    np.squeeze: squeeze, np.expand_dims: expand_dims, np.atleast_1d: _at_least(1), np.atleast_2d: _at_least(2),
    np.atleast_3d: _at_least(3), np.broadcast_to: broadcast_to, np.broadcast_arrays: broadcast_arrays,
    np.diagonal: diagonal, np.trace: trace, np.take: take, np.pad: pad, np.compress: compress,
    np.extract: lambda condition, arr: compress(np.ravel(condition), ravel(arr)),
    np.concatenate: concatenate, np.stack: stack, np.vstack: _stacked(2, 0), np.hstack: _stacked(1, 1),
    np.dstack: _stacked(3, 2), np.column_stack: column_stack, np.append: append, np.block: block,
    np.array_split: array_split, np.split: split, np.meshgrid: meshgrid,
    np.hsplit: lambda ary, s: split(ary, s, 0 if np.ndim(ary) == 1 else 1), np.vsplit: lambda ary, s: split(ary, s, 0),
    np.dsplit: lambda ary, s: split(ary, s, 2), np.where: where, np.clip: clip, np.select: select,
    np.piecewise: piecewise, np.tril: triangle("tril"), np.triu: triangle("triu"), np.nan_to_num: nan_to_num,
    np.zeros_like: _like(0), np.ones_like: _like(1), np.empty_like: _like(0), np.full_like: full_like, np.copy: copy,
    np.linspace: linspace, np.round: _round, np.around: _round, np.diff: diff, np.ediff1d: ediff1d, np.sinc: sinc,
    np.interp: interp, np.convolve: convolve, np.correlate: correlate, np.polyval: polyval, np.vander: vander,
    np.cov: cov, np.corrcoef: corrcoef, np.gradient: gradient, np.apply_along_axis: apply_along_axis,
    np.real: _part("real"), np.imag: _part("imag"), np.unique: unique,
    np.bincount: _counted("bincount", 1), np.histogram: _counted("histogram", 4),
    **{getattr(np, name): _moving(name) for name in
       "roll flip fliplr flipud rot90 tile repeat diag diagflat resize delete rollaxis".split()},
    **{getattr(np, name): _asked(name) for name in
       "shape ndim size iscomplexobj isrealobj result_type nonzero flatnonzero argwhere count_nonzero searchsorted "
       "digitize array_equal array_equiv allclose isclose may_share_memory shares_memory "
       "can_cast array_repr array_str array2string isposinf isneginf fix nanargmax nanargmin lexsort isin "
       "argpartition".split() if hasattr(np, name)},
    **reductions.RULES, **products.RULES,
}


def _shape_rule(name):
    def rule(a, *args):
        x = array_of(a)
        return getattr(np, name)(np.broadcast_to(np.zeros((), np.bool_), x.shape), *args)
    return rule


RULES.update({getattr(np, name): _shape_rule(name) for name in ("shape", "ndim", "size")})
RULES.update({np.iscomplexobj: lambda x: array_of(x).dtype.kind == "c",
              np.isrealobj: lambda x: array_of(x).dtype.kind != "c",
              np.result_type: lambda *xs: np.result_type(*[x.dtype if isinstance(x, Recorded) else x for x in xs]),
              np.can_cast: lambda x, *args, **kw: np.can_cast(x.dtype if isinstance(x, Recorded) else x, *args, **kw)})
for _name in ("trapezoid", "trapz"):
    if _name in np.__dict__:
        RULES[np.__dict__[_name]] = trapezoid
for _name, _rule in (("unstack", unstack), ("cumulative_sum", lambda x, /, *, axis=None, dtype=None, out=None,
                                            include_initial=False: _cumulative("cumsum", x, axis, include_initial)),
                     ("matrix_transpose", lambda x, /: array_of(x).mT)):
    if hasattr(np, _name):
        RULES[getattr(np, _name)] = _rule


def _cumulative(name, x, axis, initial):
    if initial:
        raise refused("cumulative_sum", "'include_initial' must be False", True)
    return RULES[getattr(np, name)](x, axis)
