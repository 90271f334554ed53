"""The rest of NumPy's names on tensors. Arguments may be tensors, numbers, lists or tuples."""

from __future__ import annotations

import builtins
import operator
from typing import TYPE_CHECKING

import numpy as _np

from pijit import _check
from pijit import dtype as _t
from pijit._C import Tensor
from pijit._C import ops as _ops
from pijit.ops import function as _F
from pijit.ops.function.creation import _filled

if TYPE_CHECKING:
    import numpy as np
    from collections.abc import Callable
    from typing import Any
    from pijit._C import DType
    from pijit._types import ArrayLike, Axis, DTypeLike, Shape

__all__ = []


def _public(fn):
    __all__.append(fn.__name__)
    return fn


def _tensor(x):
    """x as a Tensor; ints in lists give int32, as those of MindSpore's numpy do."""
    if isinstance(x, Tensor):
        return x
    if not isinstance(x, (list, tuple)):
        return Tensor(x)
    x = Tensor(x)
    return _F.cast(x, _t.int32) if x.dtype == _t.int64 else x


def _floating(x):
    x = _tensor(x)
    return x if x.dtype.is_floating_point else _F.cast(x, _t.float32)


def _typed(x, dtype):
    return x if dtype is None else _F.cast(x, dtype)


def _axis(axis, ndim):
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for an array of {ndim} dimensions.")
    return axis % ndim


def _broadcast(*shapes):
    """The shape that all share."""
    rank = builtins.max([len(s) for s in shapes])
    out = []
    for k in range(-rank, 0):
        sizes = [s[k] for s in shapes if len(s) >= -k and s[k] != 1]
        if builtins.any(n != sizes[0] for n in sizes):
            raise ValueError(f"shapes {', '.join([str(tuple(s)) for s in shapes])} don't broadcast.")
        out.append(sizes[0] if sizes else 1)
    return tuple(out)


def _elementwise(name, fn, floating=False):
    def function(x, dtype=None):
        return _typed(fn((_floating if floating else _tensor)(x)), dtype)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name}, elementwise."
    globals()[name] = _public(function)


def _of_two(name, fn, floating=False):
    def function(x1, x2, dtype=None):
        to = _floating if floating else _tensor
        return _typed(fn(to(x1), to(x2)), dtype)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name}, elementwise."
    globals()[name] = _public(function)


for _n, _fn in {"deg2rad": _F.deg2rad, "rad2deg": _F.rad2deg, "radians": _F.deg2rad,
                "cbrt": lambda x: _F.sign(x) * _F.pow(_F.abs(x), 1 / 3), "rint": _F.round}.items():
    _elementwise(_n, _fn, True)
for _n, _fn in {"positive": lambda x: x + 0, "fabs": _F.abs, "bitwise_not": _F.invert, "signbit": _F.signbit}.items():
    _elementwise(_n, _fn)
for _n, _fn in {"heaviside": _F.heaviside, "copysign": _F.copysign, "logaddexp": _F.logaddexp,
                "logaddexp2": _F.logaddexp2}.items():
    _of_two(_n, _fn, True)
for _n, _fn in {"gcd": _F.gcd, "lcm": _F.lcm, "float_power": lambda a, b: _F.pow(_floating(a), b)}.items():
    _of_two(_n, _fn)


@_public
def fix(x: ArrayLike) -> Tensor:
    """Rounded towards 0."""
    return _F.trunc(_floating(x))


@_public
def divmod(x1: ArrayLike, x2: ArrayLike, dtype: DTypeLike | None = None) -> tuple[Tensor, Tensor | np.ndarray]:
    """(floor of the quotient, remainder)."""
    q = _F.floor_div(x1, x2)
    return _typed(q, dtype), _typed(x1 - q * x2, dtype)


@_public
def isposinf(x: ArrayLike) -> Tensor:
    """Which elements are +inf."""
    return _F.isposinf(x)


@_public
def isneginf(x: ArrayLike) -> Tensor:
    """Which elements are -inf."""
    return _F.isneginf(x)


@_public
def isscalar(element: ArrayLike) -> bool:
    """Whether element is a number, a bool or a str."""
    return isinstance(element, (int, float, bool, str))


@_public
def isclose(a: ArrayLike, b: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Where elements are close."""
    return _F.isclose(_tensor(a), _tensor(b), rtol, atol, equal_nan)


# --- shapes ---

@_public
def roll(a: ArrayLike, shift: Any, axis: Axis | None = None) -> Tensor:
    """Elements shifted along axes (of the flattened array by default).

    What leaves at the end coming in at the start."""
    a = _tensor(a)
    if axis is None:
        total = shift if isinstance(shift, int) else builtins.sum(shift)
        return _F.reshape(_F.roll(_F.ravel(a), total, 0), a.shape)
    for k in (axis,) if isinstance(axis, int) else axis:
        _axis(k, a.ndim)
    return _F.roll(a, shift, axis)


@_public
def split(x: ArrayLike, indices_or_sections: Any, axis: Axis = 0) -> tuple[Tensor, ...]:
    """Equal parts along an axis, or parts that end at the given indices. ValueError where equal parts don't exist."""
    if isinstance(indices_or_sections, int):
        n = x.shape[_axis(axis, x.ndim)]
        if indices_or_sections <= 0 or n % indices_or_sections:
            raise _check.refused("split", "indices_or_sections", _check.value(f"divide the size {n} of the axis"),
                                 indices_or_sections)
    return array_split(x, indices_or_sections, axis)


@_public
def array_split(x: ArrayLike, indices_or_sections: Any, axis: Axis = 0) -> tuple[Tensor, ...]:
    """As split, but parts may differ in size by one."""
    return _F.tensor_split(x, indices_or_sections, _axis(axis, x.ndim))


@_public
def hsplit(x: ArrayLike, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Parts along the second axis (of a vector: the first)."""
    return split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


@_public
def vsplit(x: ArrayLike, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Parts along the first axis."""
    return split(x, indices_or_sections, 0)


@_public
def dsplit(x: ArrayLike, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Parts along the third axis."""
    return split(x, indices_or_sections, 2)


@_public
def repeat(a: ArrayLike, repeats: Any, axis: Axis | None = None) -> Tensor:
    """Each element so often in a row; of the flattened array by default. `repeats` may hold a number for each."""
    a = _tensor(a)
    if axis is None:
        a, axis = _F.ravel(a), 0
    axis = _axis(axis, a.ndim)
    if isinstance(repeats, (tuple, list)) and len(repeats) == 1:
        repeats = repeats[0]
    if isinstance(repeats, int):
        return _F.repeat_interleave(a, repeats, axis)
    if len(repeats) != a.shape[axis]:
        raise _check.refused("repeat", "repeats", _check.length(a.shape[axis], "numbers"), len(repeats))
    return _F.cat([_F.repeat_interleave(_F.narrow(a, axis, i, 1), n, axis) for i, n in enumerate(repeats)], axis)


@_public
def append(arr: ArrayLike, values: ArrayLike, axis: Axis | None = None) -> Tensor:
    """values behind arr; both flattened by default."""
    arr, values = _tensor(arr), _tensor(values)
    return _F.cat([_F.ravel(arr), _F.ravel(values)], 0) if axis is None else _F.cat([arr, values], axis)


@_public
def rollaxis(x: ArrayLike, axis: Axis, start: float = 0) -> Tensor:
    """An axis moved before another."""
    axis = _axis(axis, x.ndim)
    start = start + x.ndim if start < 0 else start
    return _F.moveaxis(x, axis, start - 1 if start > axis else start)


def _atleast(n):
    def function(*arys):
        out = []
        for a in map(_tensor, arys):
            if n == 3 and a.ndim == 2:
                a = _F.expand_dims(a, 2)
            elif n == 3 and a.ndim == 1:
                a = _F.reshape(a, (1, -1, 1))
            elif a.ndim < n:
                a = _F.reshape(a, (1,) * (n - a.ndim) + a.shape)
            out.append(a)
        return out[0] if len(out) == 1 else out
    function.__name__ = function.__qualname__ = f"atleast_{n}d"
    function.__doc__ = f"With at least {n} dimensions."
    return _public(function)


atleast_3d: Callable[..., Any]
atleast_2d: Callable[..., Any]
atleast_1d: Callable[..., Any]
atleast_1d, atleast_2d, atleast_3d = _atleast(1), _atleast(2), _atleast(3)


@_public
def hstack(tup: Any) -> Tensor:
    """Joined along the second axis (vectors: the first)."""
    parts = [atleast_1d(a) for a in tup]
    return _F.cat(parts, 0 if parts[0].ndim == 1 else 1)


@_public
def vstack(tup: Any) -> Tensor:
    """Joined along the first axis, vectors as rows."""
    return _F.cat([atleast_2d(a) for a in tup], 0)


@_public
def dstack(tup: Any) -> Tensor:
    """Joined along the third axis."""
    return _F.cat([atleast_3d(a) for a in tup], 2)


@_public
def column_stack(tup: Any) -> Tensor:
    """Joined along the second axis, vectors as columns."""
    return _F.cat([_F.reshape(_tensor(a), (-1, 1)) if _tensor(a).ndim < 2 else a for a in tup], 1)


@_public
def broadcast_arrays(*args: Any) -> list[Tensor]:
    """Repeated to the shape that all share."""
    shape = _broadcast(*[a.shape for a in args])
    return [_F.broadcast_to(a, shape) for a in args]


@_public
def fliplr(m: ArrayLike) -> Tensor:
    """The columns reversed."""
    return _F.flip(m, (1,))


@_public
def flipud(m: ArrayLike) -> Tensor:
    """The rows reversed."""
    return _F.flip(m, (0,))


@_public
def rot90(a: ArrayLike, k: int = 1, axes: tuple[int, ...] = (0, 1)) -> Tensor:
    """Turned by quarter circles in the plane of two axes."""
    return _F.rot90(a, k, axes)


@_public
def size(a: ArrayLike, axis: Axis | None = None) -> Any:
    """How many elements there are, along an axis or altogether."""
    a = _tensor(a)
    return a.size if axis is None else a.shape[axis]


@_public
def pad(arr: ArrayLike, pad_width: Any, mode: str = "constant", stat_length: Any = None, constant_values: int = 0,
        end_values: int = 0, reflect_type: str = "even", **kwargs: Any) -> Tensor:
    """A border around arr, (before, behind) for each axis.

    By mode 'constant', 'edge', 'wrap', 'empty', 'reflect', 'symmetric', 'linear_ramp', 'maximum', 'minimum' or
    'mean'."""
    arr = _tensor(arr)
    n = arr.ndim

    def pairs(value):
        if not isinstance(value, (tuple, list)):
            return ((value, value),) * n
        if not isinstance(value[0], (tuple, list)):
            return ((value[0], value[-1]),) * n
        return tuple((v[0], v[-1]) for v in value) * (n if len(value) == 1 else 1)
    width, constants, ends = pairs(pad_width), pairs(constant_values), pairs(end_values)
    if len(width) != n or builtins.any(w < 0 for p in width for w in p):
        raise _check.refused("pad", "pad_width",
                             _check.value(f"hold a pair of numbers of at least 0 for each of {n} axes"), pad_width)
    for axis, (before, behind) in enumerate(width):
        size = arr.shape[axis]

        def piece(count, value):
            return _filled((*arr.shape[:axis], count, *arr.shape[axis + 1:]), value, dtype=arr.dtype)
        if mode in ("constant", "empty"):
            parts = piece(before, constants[axis][0]), piece(behind, constants[axis][1])
        elif mode in ("edge", "wrap", "reflect", "symmetric"):
            at = _F.arange(-before, size + behind)
            if mode == "edge":
                at = _F.clamp(at, 0, size - 1)
            else:
                period = size if mode == "wrap" else 2 * size if mode == "symmetric" else builtins.max(2 * size - 2, 1)
                at = _F.mod(at, period)
                at = _F.select(at < size, at, period - at if mode == "reflect" else period - 1 - at)
            arr = _ops["gather"](arr, at, axis)
            continue
        elif mode == "linear_ramp":
            first, last = _F.narrow(arr, axis, 0, 1), _F.narrow(arr, axis, size - 1, 1)
            shape = (-1,) + (1,) * (n - 1 - axis)

            def ramp(edge, end, count, reverse):
                if not count:
                    return piece(0, 0)
                share = _F.reshape(Tensor([i / count for i in range(count)], _t.float32), shape)
                values = _F.cast(end + (_F.cast(edge, _t.float32) - end) * share, arr.dtype)
                return _F.flip(values, (axis,)) if reverse else values
            parts = ramp(first, ends[axis][0], before, False), ramp(last, ends[axis][1], behind, True)
        elif mode in ("maximum", "minimum", "mean"):
            lengths = pairs(stat_length)[axis] if stat_length is not None else (size, size)
            reduce = {"maximum": _F.amax, "minimum": _F.amin, "mean": _F.mean}[mode]

            def statistic(count, part):
                return _F.broadcast_to(_F.cast(reduce(part, axis, True), arr.dtype), piece(count, 0).shape)
            parts = (statistic(before, _F.narrow(arr, axis, 0, builtins.min(lengths[0], size))),
                     statistic(behind, _F.narrow(arr, axis, builtins.max(size - lengths[1], 0),
                                                 builtins.min(lengths[1], size))))
        else:
            raise _check.refused("pad", "mode",
                                 _check.one_of("constant", "edge", "wrap", "empty", "reflect", "symmetric",
                                               "linear_ramp", "maximum", "minimum", "mean"), mode)
        arr = _F.cat([parts[0], arr, parts[1]], axis)
    return arr


# --- matrices ---

@_public
def diag(v: ArrayLike, k: int = 0) -> Tensor:
    """The k-th diagonal of a matrix, or a matrix with a vector on it."""
    v = _tensor(v)
    if v.ndim == 1:
        return _F.diag_embed(v, k)
    if v.ndim != 2:
        raise _check.refused("diag", "the input", _check.dims(1, 2), v.ndim)
    return _ops["identity"](_F.diagonal(v, k))


@_public
def diagflat(v: ArrayLike, k: int = 0) -> Tensor:
    """A matrix with all elements on its k-th diagonal."""
    return _F.diag_embed(_F.ravel(_tensor(v)), k)


@_public
def diagonal(a: ArrayLike, offset: float = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """A diagonal of two axes."""
    return _F.diagonal(a, offset, axis1, axis2)


@_public
def trace(a: ArrayLike, offset: float = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike | None = None) -> Tensor:
    """The sum of a diagonal."""
    return _F.sum(_F.diagonal(a, offset, axis1, axis2), -1, dtype=a.dtype if dtype is None else dtype)


@_public
def identity(n: Any, dtype: DTypeLike = _t.float32) -> Tensor:
    """The identity matrix."""
    return _F.eye(n, n, dtype)


@_public
def tri(N: int, M: int = None, k: int = 0, dtype: DTypeLike = _t.float32) -> Tensor:
    """Ones on and below a diagonal."""
    return _F.cast(_F.expand_dims(_F.arange(N), 1) + k >= _F.arange(N if M is None else M), dtype)


@_public
def tril_indices(n: Any, k: int = 0, m: ArrayLike | None = None) -> tuple[Tensor, ...]:
    """(rows, columns) of the elements on and below a diagonal."""
    return tuple(_F.unbind(_F.tril_indices(n, n if m is None else m, k, dtype=_t.int32)))


@_public
def triu_indices(n: Any, k: int = 0, m: ArrayLike | None = None) -> tuple[Tensor, ...]:
    """(rows, columns) of the elements on and above a diagonal."""
    return tuple(_F.unbind(_F.triu_indices(n, n if m is None else m, k, dtype=_t.int32)))


@_public
def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Tensor, ...]:
    """tril_indices for a matrix's shape."""
    return tril_indices(arr.shape[0], k, arr.shape[1])


@_public
def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Tensor, ...]:
    """triu_indices for a matrix's shape."""
    return triu_indices(arr.shape[0], k, arr.shape[1])


@_public
def diag_indices(n: Any, ndim: int = 2) -> tuple[Tensor, ...]:
    """Indices of the main diagonal."""
    return (_F.arange(n, dtype=_t.int32),) * ndim


@_public
def vander(x: ArrayLike, N: int = None, increasing: bool = False) -> Tensor:
    """Powers of a vector as columns."""
    x = _tensor(x)
    y = _F.vander(x, N)
    return _F.flip(y, (1,)) if increasing else y


@_public
def inner(a: ArrayLike, b: ArrayLike) -> Tensor:
    """Sums of products over the last axis."""
    return _F.inner(_tensor(a), _tensor(b))


@_public
def kron(a: ArrayLike, b: ArrayLike) -> Tensor:
    """Kronecker product."""
    return _F.kron(_tensor(a), _tensor(b))


@_public
def cross(a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1,
          axis: Axis | None = None) -> Tensor:
    """Vector products; of vectors of 2, their third component."""
    a, b = _tensor(a), _tensor(b)
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = _F.moveaxis(a, axisa, -1), _F.moveaxis(b, axisb, -1)
    m, n = a.shape[-1], b.shape[-1]
    if m not in (2, 3) or n not in (2, 3):
        raise _check.refused("cross", "the vectors", _check.value("have 2 or 3 elements"), _check.several(m, n))
    z = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    if m == n == 2:
        return z
    az = a[..., 2] if m == 3 else _F.zeros_like(a[..., 0])
    bz = b[..., 2] if n == 3 else _F.zeros_like(b[..., 0])
    return _F.moveaxis(_F.stack([a[..., 1] * bz - az * b[..., 1], az * b[..., 0] - a[..., 0] * bz, z], -1), -1, axisc)


@_public
def multi_dot(arrays: Any) -> Any:
    """The product of matrices, in the order with the fewest operations."""
    arrays = [_tensor(a) for a in arrays]
    first, last = arrays[0].ndim == 1, arrays[-1].ndim == 1
    if first:
        arrays[0] = _F.expand_dims(arrays[0], 0)
    if last:
        arrays[-1] = _F.expand_dims(arrays[-1], 1)
    sizes = [a.shape[0] for a in arrays] + [arrays[-1].shape[1]]
    n = len(arrays)
    best = [[(0, i)] * n for i in range(n)]  # (operations, where to divide) of the product of arrays i to j
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            best[i][j] = builtins.min([(best[i][k][0] + best[k + 1][j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                                       for k in range(i, j)])

    def product(i, j):
        return arrays[i] if i == j else _F.matmul(product(i, best[i][j][1]), product(best[i][j][1] + 1, j))
    y = product(0, n - 1)
    if first:
        y = _F.squeeze(y, 0)
    return _F.squeeze(y, -1) if last else y


@_public
def norm(x: ArrayLike, ord: Any = None, axis: Axis | None = None, keepdims: bool = False) -> Tensor:
    """A matrix or vector norm."""
    x = _floating(x)
    if axis is None and (ord is None or ord in ("f", "fro") and x.ndim == 2 or ord == 2 and x.ndim == 1):
        y = _F.sqrt(_F.sum(_F.square(x)))
        return _F.reshape(y, (1,) * x.ndim) if keepdims else y
    if axis is None:
        axis = tuple(range(x.ndim))
    if isinstance(axis, int) or len(axis) == 1:
        return _F.vector_norm(x, 2 if ord is None else ord, axis, keepdims)
    if ord in (None, "f", "fro"):
        return _F.sqrt(_F.sum(_F.square(x), tuple(axis), keepdims))
    return _F.norm(x, ord, tuple(axis), keepdims)


# --- statistics ---

@_public
def average(x: ArrayLike, axis: Axis | None = None, weights: Any = None, returned: bool = False) -> Any:
    """The mean, by weights if given; `returned`: with the sum of the weights."""
    x = _floating(x)
    if weights is None:
        y = _F.mean(x, axis)
        total = _filled(y.shape, float(x.size // builtins.max(y.size, 1)), dtype=_t.float32)
    else:
        w = _floating(weights)
        if w.ndim == 1 and x.ndim > 1:
            a = _axis(axis, x.ndim)
            w = _F.broadcast_to(_F.reshape(w, (-1,) + (1,) * (x.ndim - 1 - a)), x.shape)
        total = _F.sum(w, axis)
        y = _F.sum(x * w, axis) / total
    return (y, total) if returned else y


@_public
def ptp(x: ArrayLike, axis: Axis | None = None, keepdims: bool = False) -> Tensor:
    """Maximum minus minimum."""
    return _F.amax(x, axis, keepdims) - _F.amin(x, axis, keepdims)


@_public
def count_nonzero(x: ArrayLike, axis: Axis | None = None, keepdims: bool = False) -> Tensor:
    """How many elements aren't 0."""
    return _F.count_nonzero(x, () if axis is None else axis, keepdims)


@_public
def sometrue(a: ArrayLike, axis: Axis | None = None, keepdims: bool = False) -> Tensor:
    """As any."""
    return _F.any(_F.cast(a, _t.bool_), axis, keepdims)


@_public
def cumprod(a: ArrayLike, axis: Axis | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Running products; of the flattened array by default."""
    a = _tensor(a)
    return _F.cumprod(_F.ravel(a), 0, dtype) if axis is None else _F.cumprod(a, axis, dtype)


def _without_nan(a, fill):
    a = _tensor(a)
    return _F.select(_F.isnan(a), _F.full_like(a, fill), a) if a.dtype.is_floating_point else a


@_public
def nansum(a: ArrayLike, axis: Axis | None = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tensor:
    """Sum of what isn't NaN."""
    return _F.sum(_typed(_without_nan(a, 0), dtype), axis, keepdims)


@_public
def nancumsum(a: ArrayLike, axis: Axis | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Running sums, NaN as 0."""
    a = _without_nan(a, 0)
    return (_typed(a, dtype).cumsum(axis=0 if axis is None else axis) if axis is not None
            else _F.ravel(_typed(a, dtype)).cumsum(axis=0))


@_public
def nanmax(a: ArrayLike, axis: Axis | None = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tensor:
    """Maximum of what isn't NaN."""
    return _typed(_F.amax(_without_nan(a, float("-inf")), axis, keepdims), dtype)


@_public
def nanmin(a: ArrayLike, axis: Axis | None = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tensor:
    """Minimum of what isn't NaN."""
    return _typed(_F.amin(_without_nan(a, float("inf")), axis, keepdims), dtype)


def _kept(a, axis):
    return _F.sum(_F.cast(_F.logical_not(_F.isnan(a)), a.dtype), axis, True)


@_public
def nanmean(a: ArrayLike, axis: Axis | None = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tensor:
    """Mean of what isn't NaN."""
    a = _floating(a)
    return _typed(_F.nanmean(a, axis, keepdims), dtype)


@_public
def nanvar(a: ArrayLike, axis: Axis | None = None, dtype: DTypeLike | None = None, ddof: int = 0,
           keepdims: bool = False) -> Tensor:
    """Variance of what isn't NaN."""
    a = _floating(a)
    n = _kept(a, axis)
    d = _without_nan(a - _F.sum(_without_nan(a, 0), axis, True) / n, 0)
    y = _F.sum(d * d, axis, True) / (n - ddof)
    if not keepdims:
        y = _F.reshape(y, _F.sum(a, axis).shape)
    return _typed(y, dtype)


@_public
def nanstd(a: ArrayLike, axis: Axis | None = None, dtype: DTypeLike | None = None, ddof: int = 0,
           keepdims: bool = False) -> Tensor:
    """Standard deviation of what isn't NaN."""
    return _F.sqrt(nanvar(a, axis, dtype, ddof, keepdims))


@_public
def cov(m: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None,
        fweights: Any = None, aweights: Any = None, dtype: DTypeLike | None = None) -> Tensor:
    """Covariances of variables, which are rows (columns without rowvar)."""
    m = _floating(m)
    m = _F.expand_dims(m, 0) if m.ndim == 1 else m
    m = m if rowvar or m.shape[0] == 1 else _F.transpose(m, (1, 0))
    if y is not None:
        y = _floating(y)
        y = _F.expand_dims(y, 0) if y.ndim == 1 else y
        m = _F.cat([m, y if rowvar or y.shape[0] == 1 else _F.transpose(y, (1, 0))], 0)
    correction = (0 if bias else 1) if ddof is None else ddof
    weights = [None if w is None else _tensor(w) for w in (fweights, aweights)]
    y = _F.cov(m, correction=correction, fweights=weights[0], aweights=weights[1])
    return _typed(_F.reshape(y, ()) if y.size == 1 else y, dtype)


@_public
def corrcoef(x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, dtype: DTypeLike | None = None) -> Tensor:
    """Correlations of variables."""
    c = cov(x, y, rowvar)
    if c.ndim == 0:
        return c / c
    d = _F.sqrt(_F.diagonal(c))
    return _typed(c / _F.expand_dims(d, 1) / d, dtype)


@_public
def bincount(x: ArrayLike, weights: Any = None, minlength: int = 0, length: Any = None) -> Tensor:
    """How often each int from 0 on occurs, or the sums of their weights."""
    x = _tensor(x)
    if length is None:
        return _F.bincount(x, None if weights is None else _tensor(weights), minlength)
    w = _F.ones(x.shape, _t.int32) if weights is None else _tensor(weights)
    return _ops["scatter_nd"](_F.zeros((length,), w.dtype), _F.reshape(x, (-1, 1)), w, "add")


@_public
def histogram_bin_edges(a: ArrayLike, bins: int = 10, range: Any = None, weights: Any = None) -> Tensor:
    """The borders of the parts that histogram counts in."""
    if not isinstance(bins, int):
        return _tensor(bins)
    return Tensor(_np.histogram_bin_edges(_tensor(a).asnumpy(), bins, range).astype(_np.float32))


@_public
def histogram(a: ArrayLike, bins: int = 10, range: Any = None, weights: Any = None,
              density: bool = False) -> tuple[Tensor, Tensor]:
    """(how many elements lie in each part of the range, the parts' borders)."""
    given = None if isinstance(bins, int) else _tensor(bins)
    edges = bins if given is None else given.asnumpy()
    w = None if weights is None else _tensor(weights).asnumpy()
    count, at = _np.histogram(_tensor(a).asnumpy(), edges, range, density=density, weights=w)
    return Tensor(count.astype(_np.float32)), Tensor(at.astype(_np.float32)) if given is None else given


@_public
def histogramdd(sample: Any, bins: int = 10, range: Any = None, weights: Any = None,
                density: bool = False) -> tuple[Tensor, list[Tensor]]:
    """(how many points lie in each cell of a grid, the grid's borders)."""
    points = (_np.stack([_tensor(s).asnumpy() for s in sample], 1) if isinstance(sample, (list, tuple))
              else sample.asnumpy())
    edges = ([b if isinstance(b, int) else _tensor(b).asnumpy() for b in bins] if isinstance(bins, (list, tuple))
             else bins)
    count, at = _np.histogramdd(points, edges, range, density=density,
                                weights=None if weights is None else _tensor(weights).asnumpy())
    return Tensor(count.astype(_np.float32)), [Tensor(e.astype(_np.float32)) for e in at]


@_public
def histogram2d(x: ArrayLike, y: ArrayLike, bins: int = 10, range: Any = None, weights: Any = None,
                density: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """histogramdd of two variables."""
    count, (first, second) = histogramdd((x, y), bins, range, weights, density)
    return count, first, second


@_public
def digitize(x: ArrayLike, bins: Any, right: ArrayLike = False) -> Tensor:
    """Which part, between monotonic borders, each element lies in."""
    x, bins = _tensor(x), _tensor(bins)
    values = bins.asnumpy()
    if len(values) > 1 and values[0] > values[-1]:
        return _F.cast(len(values) - _F.searchsorted(_F.flip(bins, (0,)), x, right=right), _t.int32)
    return _F.cast(_F.searchsorted(bins, x, right=not right), _t.int32)


@_public
def searchsorted(a: ArrayLike, v: ArrayLike, side: str = "left", sorter: Any = None) -> Tensor:
    """Where elements belong in a sorted sequence."""
    a, v = _tensor(a), _tensor(v)
    if side not in ("left", "right"):
        raise _check.refused("searchsorted", "side", _check.one_of("left", "right"), side)
    if sorter is not None:
        a = _ops["gather"](a, _tensor(sorter), 0)
    return _F.cast(_F.searchsorted(a, v, right=side == "right"), _t.int32)


@_public
def interp(x: ArrayLike, xp: Any, fp: Any, left: ArrayLike = None, right: ArrayLike = None) -> Tensor:
    """Piecewise linear between the points (xp, fp)."""
    x, xp, fp = _floating(x), _floating(xp), _floating(fp)
    n = xp.shape[0]
    at = _F.clamp(_F.searchsorted(xp, x), 1, n - 1)
    x0, x1 = _ops["gather"](xp, at - 1, 0), _ops["gather"](xp, at, 0)
    y0, y1 = _ops["gather"](fp, at - 1, 0), _ops["gather"](fp, at, 0)
    y = y0 + (y1 - y0) * ((x - x0) / (x1 - x0))
    y = _F.select(x <= xp[0], (fp[0] if left is None else left) + _F.zeros_like(y), y)
    y = _F.select(x == xp[0], fp[0] + _F.zeros_like(y), y)
    y = _F.select(x > xp[n - 1], (fp[n - 1] if right is None else right) + _F.zeros_like(y), y)
    return y


# --- differences, polynomials ---

@_public
def diff(a: ArrayLike, n: int = 1, axis: Axis = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """n-th differences along an axis."""
    return _F.diff(_tensor(a), n, axis, prepend, append)


@_public
def ediff1d(ary: ArrayLike, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """Differences of the flattened array, with numbers before and behind."""
    x = _F.ravel(_tensor(ary))
    parts = [] if to_begin is None else [_F.ravel(_tensor(to_begin))]
    parts.append(_F.diff(x))
    if to_end is not None:
        parts.append(_F.ravel(_tensor(to_end)))
    return _F.cat(parts, 0) if len(parts) > 1 else parts[0]


@_public
def gradient(f: Any, *varargs: Any, axis: Axis | None = None, edge_order: int = 1) -> Any:
    """Central differences along each axis (one-sided at the ends), over distances given by varargs."""
    f = _floating(f)
    if edge_order != 1:
        raise _check.refused("gradient", "edge_order", _check.one_of(1), edge_order)
    axes = tuple(range(f.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    steps = varargs if len(varargs) == len(axes) else (varargs or (1.0,)) * len(axes)
    out = []
    for a, h in zip(axes, steps):
        a = _axis(a, f.ndim)
        n = f.shape[a]
        inner = (_F.narrow(f, a, 2, n - 2) - _F.narrow(f, a, 0, n - 2)) / (2 * h)
        first, last = (_F.narrow(f, a, 1, 1) - _F.narrow(f, a, 0, 1),
                       _F.narrow(f, a, n - 1, 1) - _F.narrow(f, a, n - 2, 1))
        out.append(_F.cat([first / h, inner, last / h], a))
    return out[0] if len(out) == 1 else out


@_public
def trapz(y: ArrayLike, x: ArrayLike | None = None, dx: float = 1.0, axis: Axis = -1) -> Tensor:
    """The integral by the trapezoidal rule."""
    y, x = _floating(y), None if x is None else _floating(x)
    if x is not None and x.ndim == 1 < y.ndim:  # along the axis
        x = _F.reshape(x, (-1,) + (1,) * (y.ndim - 1 - _axis(axis, y.ndim)))
        x = _F.broadcast_to(x, y.shape)
    return _F.trapz(y, x, dx=dx, dim=axis)


@_public
def unwrap(p: Any, discont: float = 3.141592653589793, axis: Axis = -1) -> Tensor:
    """Angles without jumps of more than discont, by adding full circles."""
    p = _floating(p)
    a = _axis(axis, p.ndim)
    d = _F.diff(p, 1, a)
    circle = 2 * _np.pi
    wrapped = d + _np.pi - _F.floor((d + _np.pi) / circle) * circle - _np.pi
    wrapped = _F.select(_F.logical_and(wrapped == -_np.pi, d > 0), _F.full_like(wrapped, _np.pi), wrapped)
    shift = _F.select(_F.abs(d) < discont, _F.zeros_like(d), wrapped - d)
    return _F.cat([_F.narrow(p, a, 0, 1), _F.narrow(p, a, 1, p.shape[a] - 1) + shift.cumsum(axis=a)], a)


def _aligned(a1, a2):
    a1, a2 = atleast_1d(a1), atleast_1d(a2)
    n = builtins.max(a1.shape[0], a2.shape[0])
    return tuple(_ops["pad"](a, (n - a.shape[0],), (0,), 0) for a in (a1, a2))


@_public
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Tensor:
    """The sum of polynomials, the highest power first."""
    return operator.add(*_aligned(a1, a2))


@_public
def polysub(a1: ArrayLike, a2: ArrayLike) -> Tensor:
    """The difference of polynomials."""
    return operator.sub(*_aligned(a1, a2))


@_public
def polymul(a1: ArrayLike, a2: ArrayLike) -> Tensor:
    """The product of polynomials."""
    return convolve(a1, a2)


@_public
def polyval(p: Any, x: ArrayLike) -> Any:
    """A polynomial's values (Horner)."""
    p, x = _tensor(p), _tensor(x)
    y = _F.zeros_like(x)
    for k in range(p.shape[0]):
        y = y * x + p[k]
    return y


@_public
def polyder(p: Any, m: int = 1) -> Any:
    """The m-th derivative of a polynomial."""
    p = atleast_1d(p)
    for _ in range(m):
        n = p.shape[0]
        p = p[:n - 1] * _F.arange(n - 1, 0, -1).astype(p.dtype) if n > 1 else p[:0]
    return p


@_public
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The m-th integral of a polynomial, with constants k."""
    p = _floating(atleast_1d(p))
    constants = ([0] * m if k is None else list(k) * m if isinstance(k, (tuple, list)) and len(k) == 1 else list(k)
                 if isinstance(k, (tuple, list)) else [k] * m)
    for c in constants[:m]:
        p = _F.cat([p / _F.cast(_F.arange(p.shape[0], 0, -1), p.dtype), _filled((1,), c, dtype=p.dtype)], 0)
    return p


@_public
def convolve(a: ArrayLike, v: ArrayLike, mode: str = "full") -> Tensor:
    """The convolution of vectors: 'full', 'same' or 'valid'."""
    a, v = _floating(atleast_1d(a)), _floating(atleast_1d(v))
    if mode not in ("full", "same", "valid"):
        raise _check.refused("convolve", "mode", _check.one_of("full", "same", "valid"), mode)
    if a.shape[0] < v.shape[0]:
        a, v = v, a
    m, n = a.shape[0], v.shape[0]
    before = {"full": n - 1, "same": (n - 1) // 2 if n % 2 else n // 2, "valid": 0}[mode]
    behind = {"full": n - 1, "same": (n - 1) // 2, "valid": 0}[mode]
    x = _ops["pad"](a, (before,), (behind,), 0.0)
    count = m + before + behind - n + 1
    y = _F.conv1d(_F.reshape(x, (1, 1, -1)), _F.reshape(_F.flip(v, (0,)), (1, 1, -1)))
    return _F.reshape(y, (-1,))[:count]


@_public
def correlate(a: ArrayLike, v: ArrayLike, mode: str = "valid") -> Tensor:
    """The cross-correlation of vectors."""
    a, v = _floating(atleast_1d(a)), _floating(atleast_1d(v))
    if a.shape[0] >= v.shape[0]:
        return convolve(a, _F.flip(v, (0,)), mode)
    return _F.flip(convolve(v, _F.flip(a, (0,)), mode), (0,))


# --- choice, sets, indices ---

@_public
def choose(a: ArrayLike, choices: Any, mode: str = "clip") -> Tensor:
    """choices[a], elementwise. mode: 'clip', 'wrap' or 'raise' (as 'clip')."""
    a = _tensor(a)
    choices = ([_tensor(c) for c in choices] if isinstance(choices, (tuple, list))
               else [choices[k] for k in range(choices.shape[0])])
    a = _F.mod(a, len(choices)) if mode == "wrap" else _F.clamp(a, 0, len(choices) - 1)
    shape = _broadcast(a.shape, *[c.shape for c in choices])
    y = _F.broadcast_to(choices[0], shape)
    for k in range(1, len(choices)):
        y = _F.select(a == k, choices[k], y)
    return y


@_public
def select(condlist: ArrayLike, choicelist: Any, default: int = 0) -> Any:
    """The first of choicelist whose condition holds, elementwise."""
    y = None
    for c, x in zip(reversed([_tensor(c) for c in condlist]), reversed([_tensor(x) for x in choicelist])):
        y = _F.select(c, x, _F.full_like(x, default) if y is None else y)
    return y


@_public
def piecewise(x: ArrayLike, condlist: ArrayLike, funclist: Any, *args: Any, **kw: Any) -> Any:
    """x by functions (or numbers), each where its condition holds; one more than conditions: elsewhere."""
    x = _tensor(x)
    conditions = [_tensor(c) for c in condlist] if isinstance(condlist, (list, tuple)) else [condlist]

    def value(f):
        return f(x, *args, **kw) if callable(f) else _F.full_like(x, f)
    y = value(funclist[len(conditions)]) if len(funclist) > len(conditions) else _F.zeros_like(x)
    for c, f in zip(conditions, funclist):
        y = _F.select(c, value(f), y)
    return y


@_public
def isin(element: ArrayLike, test_elements: Any, invert: bool = False) -> Tensor:
    """Which elements are among others."""
    e, t = _tensor(element), _F.ravel(_tensor(test_elements))
    found = _F.any(_F.expand_dims(e, -1) == t, -1) if t.size else _filled(e.shape, False, dtype=_t.bool_)
    return _F.logical_not(found) if invert else found


@_public
def in1d(ar1: ArrayLike, ar2: ArrayLike, invert: bool = False) -> Tensor:
    """isin of the flattened array."""
    return isin(_F.ravel(_tensor(ar1)), ar2, invert)


@_public
def meshgrid(*xi: ArrayLike, sparse: bool = False, indexing: str = "xy") -> list[Tensor]:
    """The coordinates of a grid, a Tensor for each vector; `sparse` leaves the dimensions that it repeats as 1."""
    if indexing not in ("xy", "ij"):
        raise _check.refused("meshgrid", "indexing", _check.one_of("xy", "ij"), indexing)
    order = [*range(len(xi))]
    if indexing == "xy" and len(xi) > 1:
        order[:2] = [1, 0]
    parts = [_F.reshape(_tensor(x), tuple([-1 if at == k else 1 for k in range(len(xi))]))
             for x, at in zip(xi, order)]
    if sparse:
        return parts
    shape = _broadcast(*[p.shape for p in parts]) if parts else ()
    return [_ops["broadcast_to"](p, shape) for p in parts]


@_public
def intersect1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The sorted values that both have."""
    got = _np.intersect1d(_tensor(ar1).asnumpy(), _tensor(ar2).asnumpy(), assume_unique, return_indices)
    return tuple(Tensor(g) for g in got) if return_indices else Tensor(got)


@_public
def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Tensor:
    """The sorted values of the first that the second lacks."""
    return Tensor(_np.setdiff1d(_tensor(ar1).asnumpy(), _tensor(ar2).asnumpy(), assume_unique))


@_public
def unique(x: ArrayLike, return_inverse: bool = False) -> Any:
    """The distinct values in the order of their first appearance.

    On request, the index of each element's value in the flattened array."""
    values, place = _F.unique(_F.ravel(_tensor(x)))
    return (values, place) if return_inverse else values


@_public
def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Tensor:
    """Whether shapes and elements agree, as a tensor."""
    a, b = _tensor(a1), _tensor(a2)
    if a.shape != b.shape:
        return Tensor(False)
    same = a == b
    if equal_nan:
        same = _F.logical_or(same, _F.logical_and(_F.isnan(a), _F.isnan(b)))
    return _F.all(same)


@_public
def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Tensor:
    """Whether elements agree where shapes broadcast, as a tensor."""
    a, b = _tensor(a1), _tensor(a2)
    for m, n in zip(a.shape[::-1], b.shape[::-1]):
        if m != n and 1 not in (m, n):
            return Tensor(False)
    return _F.all(a == b)


@_public
def argwhere(a: ArrayLike) -> Any:
    """Indices of the elements that aren't 0, a row each."""
    return _F.nonzero(_tensor(a))


@_public
def take_along_axis(arr: ArrayLike, indices: Any, axis: Axis) -> Tensor:
    """Elements along an axis by index arrays; of the flattened array if axis is None."""
    if axis is None:
        return _F.gather_elements(_F.ravel(arr), 0, indices)
    a = _axis(axis, arr.ndim)
    shape = tuple(indices.shape[k] if k == a else builtins.max(arr.shape[k], indices.shape[k]) for k in range(arr.ndim))
    whole = tuple(arr.shape[k] if k == a else shape[k] for k in range(arr.ndim))
    return _F.gather_elements(_F.broadcast_to(arr, whole), a, _F.broadcast_to(indices, shape))


@_public
def unravel_index(indices: Any, shape: Shape, order: str = "C") -> tuple[Any, ...]:
    """Coordinates of flat indices, a tensor each."""
    indices = indices if isinstance(indices, Tensor) else _F.cast(_tensor(indices), _t.int32)
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    parts, rest = [], indices
    for n in sizes[::-1] if order == "C" else sizes:
        parts.append(_F.mod(rest, n))
        rest = _F.floor_div(rest, n)
    return tuple(parts[::-1] if order == "C" else parts)


@_public
def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "clip", order: str = "C") -> Any:
    """Flat indices of coordinates. mode: 'clip' or 'wrap'."""
    dims = (dims,) if isinstance(dims, int) else tuple(dims)
    parts = [multi_index[k] for k in range(len(dims))]
    parts = [_F.mod(p, n) if mode == "wrap" else _F.clamp(p, 0, n - 1) for p, n in zip(parts, dims)]
    flat = None
    for p, n in zip(parts, dims) if order == "C" else zip(parts[::-1], dims[::-1]):
        flat = p if flat is None else flat * n + p
    return flat


@_public
def indices(dimensions: Any, dtype: DTypeLike = _t.int32, sparse: bool = False) -> tuple[Tensor, ...]:
    """The coordinates of a grid, a tensor for each dimension."""
    parts = [_F.cast(_F.reshape(_F.arange(n), (-1,) + (1,) * (len(dimensions) - 1 - k)), dtype)
             for k, n in enumerate(dimensions)]
    if sparse:
        return tuple(_F.reshape(p, (1,) * (len(dimensions) - p.ndim) + p.shape) for p in parts)
    return tuple(_F.broadcast_to(p, tuple(dimensions)) for p in parts)


@_public
def ix_(*args: Any) -> tuple[Tensor, ...]:
    """Vectors along axes of their own."""
    return tuple(_F.reshape(_tensor(a), (1,) * k + (-1,) + (1,) * (len(args) - 1 - k)) for k, a in enumerate(args))


class _Grid:
    """grid[start:stop:step, ...]: coordinates; a step of n j gives n of them, both ends included."""

    name: str
    sparse: Any

    def __init__(self, name: str, sparse: Any) -> None:
        self.name, self.sparse = name, sparse

    def __getitem__(self, keys: Any) -> Any:
        parts = [self._values(k) for k in (keys if isinstance(keys, tuple) else (keys,))]
        if not isinstance(keys, tuple):
            return parts[0]
        if self.sparse:
            return list(ix_(*parts))
        grids = _F.meshgrid(*parts, indexing="ij")
        return _F.stack(list(grids), 0)

    @staticmethod
    def _values(k):
        start = 0 if k.start is None else k.start
        if isinstance(k.step, complex):
            return _F.linspace(float(start), float(k.stop), int(builtins.abs(k.step)))
        values = _F.arange(start, k.stop, 1 if k.step is None else k.step)
        return _F.cast(values, _t.int32) if values.dtype == _t.int64 else values


ogrid: _Grid
mgrid: _Grid
mgrid, ogrid = _Grid("mgrid", False), _Grid("ogrid", True)
__all__ += ["mgrid", "ogrid"]


@_public
def apply_along_axis(func1d: Any, axis: Axis, arr: ArrayLike, *args: Any, **kwargs: Any) -> Tensor:
    """func1d of each line along an axis."""
    arr = _tensor(arr)
    a = _axis(axis, arr.ndim)
    x = _F.moveaxis(arr, a, -1)
    lead = x.shape[:-1]
    rows = _F.reshape(x, (-1, x.shape[-1]))
    out = [_tensor(func1d(rows[k], *args, **kwargs)) for k in range(rows.shape[0])]
    y = _F.stack(out, 0)
    y = _F.reshape(y, (*lead, *out[0].shape))
    for _ in range(out[0].ndim):  # the result's axes stand where the line's was
        y = _F.moveaxis(y, -1, a)
    return y


@_public
def apply_over_axes(func: Callable[..., Any], a: ArrayLike, axes: Axis) -> Any:
    """func(a, axis) for one axis after the other; a dropped axis is put back."""
    a = _tensor(a)
    for axis in (axes,) if isinstance(axes, int) else axes:
        axis = _axis(axis, a.ndim)
        y = func(a, axis)
        a = y if y.ndim == a.ndim else _F.expand_dims(y, axis)
    return a


# --- making arrays ---

@_public
def asfarray(a: ArrayLike, dtype: DTypeLike = _t.float32) -> Tensor:
    """A floating-point tensor."""
    return _F.cast(_tensor(a), dtype if dtype.is_floating_point else _t.float32)


@_public
def empty_like(prototype: Any, dtype: DTypeLike | None = None, shape: Shape | None = None) -> Tensor:
    """A tensor in the shape and dtype of another."""
    prototype = _tensor(prototype)
    return _F.zeros(prototype.shape if shape is None else shape, prototype.dtype if dtype is None else dtype)


@_public
def logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: float = 10.0,
             dtype: DTypeLike | None = None, axis: Axis = 0) -> Tensor:
    """base ** e for num numbers e from start to stop."""
    parts = builtins.max(num - 1 if endpoint else num, 1)
    e = _ops["arange"](0, 1, num, _t.float64) * ((stop - start) / parts) + start
    return _F.cast(_F.pow(Tensor(float(base), _t.float64), e), _t.float32 if dtype is None else dtype)


@_public
def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: DTypeLike | None = None,
              axis: Axis = 0) -> Tensor:
    """num numbers from start to stop in equal ratios."""
    if start * stop <= 0:
        raise _check.refused("geomspace", "'start' and 'stop'", _check.value("have the same sign and not be 0"),
                             _check.several(start, stop))
    parts = builtins.max(num - 1 if endpoint else num, 1)
    e = _ops["arange"](0, 1, num, _t.float64) / parts
    return _F.cast(_F.pow(Tensor(stop / start, _t.float64), e) * start, _t.float32 if dtype is None else dtype)


def _window(name, of_length):
    def function(M):
        return of_length(M, False, dtype=_t.float32)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The {name} window of M points."
    return _public(function)


blackman: Callable[[int], Tensor]
bartlett: Callable[[int], Tensor]
bartlett, blackman = _window("bartlett", _F.bartlett_window), _window("blackman", _F.blackman_window)
hanning: Callable[[int], Tensor]
hamming: Callable[[int], Tensor]
hamming, hanning = _window("hamming", _F.hamming_window), _window("hanning", _F.hann_window)


@_public
def array_str(a: ArrayLike) -> str:
    """The text of an array."""
    return str(_tensor(a))


@_public
def promote_types(type1: Any, type2: Any) -> DType:
    """The dtype that holds both."""
    return (_F.zeros((1,), _dtype_of(type1)) + _F.zeros((1,), _dtype_of(type2))).dtype


def _dtype_of(x):
    """The dtype of a Tensor or a number, or what a dtype of NumPy, a class or a name means."""
    if isinstance(x, type(_t.float32)):
        return x
    if isinstance(x, (str, type, _np.dtype)):
        return _t.pytype_to_dtype(_np.dtype(x).type)
    dtype = _tensor(x).dtype
    return _t.int32 if isinstance(x, int) and dtype == _t.int64 else dtype


@_public
def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype of a result of these tensors and dtypes."""
    kinds = [_dtype_of(x) for x in arrays_and_dtypes]
    y = kinds[0]
    for k in kinds[1:]:
        y = promote_types(y, k)
    return y
