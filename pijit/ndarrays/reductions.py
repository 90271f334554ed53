"""Rules of what joins elements: sums, products, extremes, means, and what runs along an axis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pijit._C import Tensor, ops as _ops
from pijit.ndarrays.indexing import gathered, places_of
from pijit.ndarrays.numbers import (holds_recorded, normal_axes, normal_axis, not_out, refused, tensor_dtype,
                                    tensor_of)
from pijit.ndarrays.recorded import Recorded

if TYPE_CHECKING:
    from typing import Any

_NONE: Any = np._NoValue


def array_of(x: Any) -> Recorded:
    """An argument as a recorded array: lists of recorded numbers, and constants, too."""
    return x if isinstance(x, Recorded) else Recorded(tensor_of(x))


def _given(x):
    return x is not None and x is not _NONE


def _selected(name, x, where, initial):
    """x with another number where `where` is not true, and the axes' sizes are unchanged."""
    if not _given(where) or where is True:
        return x
    if not _given(initial):
        raise refused(name, "'initial' must be given with 'where'", None)
    return np.where(where, x, initial)


def _sum_dtype(name, x, dtype):
    """The dtype of a sum or product: small integers become int64 or uint64."""
    if _given(dtype):
        return np.dtype(dtype)
    return getattr(np, name)(np.zeros(1, x.dtype)).dtype


def _total(name, op, neutral):
    def rule(a, axis=None, dtype=None, out=None, keepdims=_NONE, initial=_NONE, where=_NONE):
        not_out(name, out)
        a = array_of(a)
        a = array_of(_selected(name, a, where, neutral))
        t = tensor_of(a, _sum_dtype(name, a, dtype))
        y = Recorded(_ops[op](t, normal_axes(name, axis, a.ndim), keepdims is True) if a.ndim else t)
        if _given(initial):
            return y + initial if name == "sum" else y * initial
        return y
    return rule


sum_: Any = _total("sum", "reduce_sum", 0)
prod: Any = _total("prod", "reduce_prod", 1)


def _extreme(name, op):
    def rule(a, axis=None, out=None, keepdims=_NONE, initial=_NONE, where=_NONE):
        not_out(name, out)
        a = array_of(a)
        a = array_of(_selected(name, a, where, initial))
        axes = normal_axes(name, axis, a.ndim)
        if not math.prod([a.shape[k] for k in axes]) and not _given(initial):
            raise ValueError(f"zero-size array to reduction operation {name}imum which has no identity")
        y = Recorded(_ops[op](a.tensor, axes, keepdims is True) if axes else a.tensor)
        if _given(initial):
            return np.maximum(y, initial) if name == "max" else np.minimum(y, initial)
        return y
    return rule


max_: Any = _extreme("max", "reduce_max")
min_: Any = _extreme("min", "reduce_min")


def _count(a, axes, keepdims, where):
    """How many elements there are along axes, or how many of them `where` lets through."""
    if not _given(where) or where is True:
        return math.prod([a.shape[k] for k in axes])
    return np.sum(np.broadcast_to(where, a.shape), axis=axes, keepdims=keepdims)


def _mean_dtype(a, dtype):
    return np.dtype(dtype) if _given(dtype) else a.dtype if a.dtype.kind in "fc" else np.dtype(np.float64)


def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = _NONE,
         where: Any = _NONE) -> Any:
    """As numpy.mean."""
    not_out("mean", out)
    a = array_of(a)
    axes, keep = normal_axes("mean", axis, a.ndim), keepdims is True
    a = Recorded(tensor_of(a, _mean_dtype(a, dtype)))
    return _divided(sum_(a, axis=axes, keepdims=keep, where=where), _count(a, axes, keep, where))


def _divided(total, count):
    """A quotient of total's dtype, as NumPy's own functions compute it; 0 / 0 is NaN."""
    return total / (count if isinstance(count, Recorded) else np.asarray(count)).astype(total.dtype)


def var(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = _NONE, *,
        where: Any = _NONE, mean: Any = _NONE, correction: Any = _NONE) -> Any:
    """As numpy.var."""
    not_out("var", out)
    a = array_of(a)
    ddof = correction if _given(correction) else ddof
    axes, keep = normal_axes("var", axis, a.ndim), keepdims is True
    a = Recorded(tensor_of(a, _mean_dtype(a, dtype)))
    middle = mean if _given(mean) else _mean(a, axis=axes, keepdims=True, where=where)
    d = a - middle
    count = np.maximum(_count(a, axes, keep, where) - ddof, 0)
    return _divided(sum_(d * d, axis=axes, keepdims=keep, where=where), count)


_mean = mean


def std(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = _NONE, *,
        where: Any = _NONE, mean: Any = _NONE, correction: Any = _NONE) -> Any:
    """As numpy.std."""
    not_out("std", out)
    return np.sqrt(var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction))


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = _NONE) -> Any:
    """As numpy.ptp."""
    not_out("ptp", out)
    return max_(a, axis=axis, keepdims=keepdims) - min_(a, axis=axis, keepdims=keepdims)


def _truth(name, op):
    """all and any: constants."""
    def rule(a, axis=None, out=None, keepdims=_NONE, *, where=_NONE):
        not_out(name, out)
        a = array_of(a)
        axes = normal_axes(name, axis, a.ndim)
        if not a.is_mapped:
            return getattr(np, name)(a.value, axis=axes, keepdims=keepdims is True,
                                     **({"where": where} if _given(where) else {}))
        a = _selected(name, a, where, name == "all")
        t = tensor_of(a != 0)
        return Recorded(_ops[op](t, axes, keepdims is True) if axes else t)
    return rule


all_: Any = _truth("all", "reduce_all")
any_: Any = _truth("any", "reduce_any")


def _place_of(name, op):
    """argmax and argmin: constants."""
    def rule(a, axis=None, out=None, *, keepdims=_NONE):
        not_out(name, out)
        a = array_of(a)
        keep = {} if keepdims is _NONE else {"keepdims": keepdims}
        if not a.is_mapped:
            return getattr(np, name)(a.value, axis=axis, **keep)
        t = _ops["reshape"](a.tensor, (a.size,)) if axis is None else a.tensor
        y = Recorded(_ops["cast"](_ops[op](t, 0 if axis is None else normal_axis(name, axis, a.ndim)),
                                  tensor_dtype(np.dtype(np.int64))))
        return np.expand_dims(y, tuple(range(a.ndim)) if axis is None else axis) if keepdims is True else y
    return rule


def _without_nan(name, of, neutral):
    def rule(a, axis=None, dtype=None, out=None, keepdims=_NONE, initial=_NONE, where=_NONE):
        not_out(name, out)
        return of(np.where(np.isnan(a), neutral, a), axis=axis, dtype=dtype, keepdims=keepdims, initial=initial,
                  where=where)
    return rule


nansum: Any = _without_nan("nansum", sum_, 0)
nanprod: Any = _without_nan("nanprod", prod, 1)


def nanmean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = _NONE,
            where: Any = _NONE) -> Any:
    """As numpy.nanmean."""
    not_out("nanmean", out)
    there = ~np.isnan(a) if not _given(where) else ~np.isnan(a) & where
    return mean(np.where(there, a, 0), axis=axis, dtype=dtype, keepdims=keepdims, where=there)


def nanvar(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = _NONE,
           where: Any = _NONE, mean: Any = _NONE, correction: Any = _NONE) -> Any:
    """As numpy.nanvar."""
    not_out("nanvar", out)
    there = ~np.isnan(a) if not _given(where) else ~np.isnan(a) & where
    return var(np.where(there, a, 0), axis, dtype, None, ddof, keepdims, where=there, mean=mean, correction=correction)


def nanstd(*args: Any, **kwargs: Any) -> Any:
    """As numpy.nanstd."""
    return np.sqrt(nanvar(*args, **kwargs))


def _nan_extreme(name, of, neutral):
    def rule(a, axis=None, out=None, keepdims=_NONE, initial=_NONE, where=_NONE):
        not_out(name, out)
        return of(np.where(np.isnan(a), neutral, a), axis=axis, keepdims=keepdims, initial=initial, where=where)
    return rule


def _along(name, step):
    """cumsum and cumprod."""
    def rule(a, axis=None, dtype=None, out=None):
        not_out(name, out)
        a = array_of(a)
        a = Recorded(tensor_of(a, _sum_dtype(name, a, dtype)))
        if axis is None or not a.ndim:
            a, axis = a.reshape(-1), 0
        return step(a, normal_axis(name, axis, a.ndim))
    return rule


def _cumsum(a, axis):
    return Recorded(_ops["cumsum"](a.tensor, axis))


def _cumprod(a, axis):
    """By products with what lies 1, 2, 4 ... places before: each is differentiated right where a factor is 0."""
    t, n, shift = a.tensor, a.shape[axis], 1
    low, high = [0] * a.ndim, [0] * a.ndim
    while shift < n:
        before = t[(slice(None),) * axis + (slice(0, n - shift),)]
        low[axis] = shift
        t = _ops["mul"](t, _ops["pad"](before, tuple(low), tuple(high), 1))
        shift *= 2
    return Recorded(t)


cumsum: Any = _along("cumsum", _cumsum)
cumprod: Any = _along("cumprod", _cumprod)


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = _NONE) -> Any:
    """As numpy.average."""
    if weights is None:
        found = mean(a, axis=axis, keepdims=keepdims)
        a = array_of(a)
        total = np.full(np.shape(found), _count(a, normal_axes("average", axis, a.ndim), False, None), found.dtype)
        return (found, total) if returned else found
    a, w = array_of(a), array_of(weights)
    axes = normal_axes("average", axis, a.ndim)
    if w.shape != a.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        if w.shape != tuple([a.shape[k] for k in axes]):
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        order = sorted(range(len(axes)), key=axes.__getitem__)
        w = np.transpose(w, order).reshape([n if k in axes else 1 for k, n in enumerate(a.shape)])
    total = sum_(np.broadcast_to(w, a.shape) * np.ones((), a.dtype), axis=axes, keepdims=keepdims)
    found = sum_(a * w, axis=axes, keepdims=keepdims) / total
    return (found, total) if returned else found


# -- order --

def order_of(name: str, a: Recorded, axis: int, kind: Any = None) -> Any:
    """The places of a's elements along an axis, the smallest first."""
    if a.is_mapped:
        return Recorded(_ops["cast"](_ops["argsort"](a.tensor, axis, False), tensor_dtype(np.dtype(np.int64))))
    return np.argsort(a.value, axis=axis, kind=kind or "stable")


def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """As numpy.argsort: a constant."""
    a = array_of(a)
    if axis is None:
        a, axis = a.reshape(-1), 0
    return order_of("argsort", a, normal_axis("argsort", axis, a.ndim), kind)


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """As numpy.take_along_axis."""
    a = array_of(arr)
    if axis is None:
        a, axis = a.reshape(-1), 0
    axis = normal_axis("take_along_axis", axis, a.ndim)
    if not isinstance(indices, Recorded):
        return Recorded(gathered(a.tensor, np.take_along_axis(places_of(a.shape), indices, axis)))
    shape = tuple([n if k == axis else np.broadcast_shapes((m,), (n,))[0]
                   for k, (m, n) in enumerate(zip(a.shape, indices.shape))])
    other = tuple([1 if k == axis else n for k, n in enumerate(shape)])
    t = _ops["broadcast_to"](a.tensor, tuple([a.shape[k] if k == axis else n for k, n in enumerate(shape)]))
    at = _ops["broadcast_to"](tensor_of(indices, np.int64), shape)
    at = _ops["select"](_ops["less"](at, 0), _ops["add"](at, a.shape[axis]), at)
    step = math.prod(t.shape[axis + 1:])
    first = np.take(places_of(t.shape), [0], axis).reshape(other)
    flat = _ops["add"](_ops["mul"](at, step), Tensor(first))
    found = _ops["gather"](_ops["reshape"](t, (t.size,)), _ops["reshape"](flat, (flat.size,)), 0)
    return Recorded(_ops["reshape"](found, shape))


def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """As numpy.sort."""
    if order is not None:
        raise refused("sort", "'order' must not be given", order)
    a = array_of(a)
    if axis is None:
        a, axis = a.reshape(-1), 0
    axis = normal_axis("sort", axis, a.ndim)
    return take_along_axis(a, order_of("sort", a, axis, kind), axis)


def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    """As numpy.partition."""
    a = array_of(a)
    if axis is None:
        a, axis = a.reshape(-1), 0
    return take_along_axis(a, np.argpartition(a.value, kth, axis, kind, order), axis)


def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """As numpy.median."""
    return quantile(a, 0.5, axis, out, overwrite_input, keepdims=keepdims, name="median")


def quantile(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
             method: str = "linear", keepdims: bool = False, *, weights: Any = None, name: str = "quantile") -> Any:
    """As numpy.quantile, by straight lines between the elements."""
    not_out(name, out)
    if method != "linear":
        raise refused(name, "'method' must be 'linear'", method)
    if weights is not None or holds_recorded(q):
        raise refused(name, "neither weights nor recorded quantiles must be given", weights if weights is not None
                      else q)
    a = array_of(a)
    a = Recorded(tensor_of(a, _mean_dtype(a, None)))
    axes = normal_axes(name, axis, a.ndim)
    kept = [k for k in range(a.ndim) if k not in axes]
    rows = np.transpose(a, (*kept, *axes)).reshape(*[a.shape[k] for k in kept], -1)
    n = rows.shape[-1]
    weak = not isinstance(q, (np.ndarray, np.generic, list, tuple))  # of a number, the array's dtype stays
    q = np.asarray(q, np.float64)
    if not n or q.size and not (q.min() >= 0 and q.max() <= 1):
        raise ValueError("Quantiles must be in the range [0, 1]" if n else "cannot take a quantile of no elements")
    rows = sort(rows, -1)
    at = q.reshape(-1) * (n - 1)
    low = np.floor(at).astype(np.int64)
    share = (at - low).astype(a.dtype if weak else np.float64)
    first = np.take(rows, low, axis=-1)
    found = first + (np.take(rows, np.minimum(low + 1, n - 1), axis=-1) - first) * share
    found = np.moveaxis(found, -1, 0)
    shape = tuple([1 if k in axes else n for k, n in enumerate(a.shape)]) if keepdims else tuple(
        [a.shape[k] for k in kept])
    return np.reshape(found, (*q.shape, *shape))


def percentile(a: Any, q: Any, *args: Any, **kwargs: Any) -> Any:
    """As numpy.percentile."""
    if holds_recorded(q):
        raise refused("percentile", "'q' must be a plain number", q)
    q = q / 100 if isinstance(q, (int, float)) else np.asarray(q, np.float64) / 100
    return quantile(a, q, *args, name="percentile", **kwargs)


REDUCED: dict[Any, Any] = {np.add: sum_, np.multiply: prod, np.maximum: max_, np.minimum: min_, np.logical_and: all_,
                           np.logical_or: any_}
ACCUMULATED: dict[Any, Any] = {np.add: cumsum, np.multiply: cumprod}

RULES: dict[Any, Any] = {
    np.sum: sum_, np.prod: prod, np.max: max_, np.min: min_, np.amax: max_,
    np.amin: min_, np.mean: mean, np.var: var, np.std: std, np.ptp: ptp,
    np.all: all_, np.any: any_, np.argmax: _place_of("argmax", "argmax"), np.argmin: _place_of("argmin", "argmin"),
    np.nansum: nansum, np.nanprod: nanprod, np.nanmean: nanmean, np.nanvar: nanvar, np.nanstd: nanstd,
    np.nanmax: _nan_extreme("nanmax", max_, -np.inf), np.nanmin: _nan_extreme("nanmin", min_, np.inf),
    np.cumsum: cumsum, np.cumprod: cumprod, np.average: average, np.sort: sort, np.argsort: argsort,
    np.partition: partition,
    np.take_along_axis: take_along_axis, np.median: median, np.quantile: quantile, np.percentile: percentile,
}
