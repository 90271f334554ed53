"""`pijit.numpy`: NumPy's names on tensors."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

import numpy as _np

from pijit import _check
from pijit import dtype as _t
from pijit._C import Tensor
from pijit.ops import function as _F
from pijit.ops.function.creation import _filled
from pijit.ops.table import OPS as _OPS

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import DType
    from pijit._types import ArrayLike, Axis, DTypeLike, Shape

bool_: DType
int64: DType
int32: DType
float64: DType
float32: DType
float32, float64, int32, int64, bool_ = _t.float32, _t.float64, _t.int32, _t.int64, _t.bool_
newaxis: Any
nan: Any
inf: Any
e: Any
pi: Any
pi, e, inf, nan, newaxis = _np.pi, _np.e, _np.inf, _np.nan, None

for _row in _OPS:
    for _n in _row.numpy:
        globals()[_n] = getattr(_F, _n if _n in _row.functions else _row.functions[0])
subtract, divide, true_divide, einsum = _F.subtract, _F.divide, _F.true_divide, _F.einsum


def around(a: ArrayLike, decimals: int = 0) -> Tensor:
    """Rounded to so many decimals."""
    return _F.round(a, decimals=decimals)




def _default(x, dtype):
    """The dtype of new numbers: int32 for ints."""
    return int32 if dtype is None and x.dtype == int64 else dtype


def _typed(x, dtype):
    return x if dtype is None else _F.cast(x, dtype)


def matmul(x1: ArrayLike, x2: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
    """Matrix product."""
    return _typed(_F.matmul(x1, x2), dtype)


def dot(a: ArrayLike, b: ArrayLike) -> Any:
    """Scalar product of vectors; of more dimensions, the sum over a's last and b's last but one."""
    a, b = _tensor(a), _tensor(b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return _F.tensor_dot(a, b, ([a.ndim - 1], [b.ndim - 2 if b.ndim > 1 else 0]))


def outer(a: ArrayLike, b: ArrayLike) -> Tensor:
    """Products of all pairs of elements."""
    return _F.outer(_F.ravel(a), _F.ravel(b))


def tensordot(a: ArrayLike, b: ArrayLike, axes: Axis = 2) -> Tensor:
    """Sums of products over pairs of axes."""
    return _F.tensor_dot(a, b, axes)


def reshape(x: ArrayLike, new_shape: Any) -> Tensor:
    """The same elements in another shape."""
    return _F.reshape(x, new_shape)


def ravel(x: ArrayLike) -> Tensor:
    """All elements in one dimension."""
    return _F.ravel(x)


def transpose(a: ArrayLike, axes: Axis | None = None) -> Any:
    """Axes permuted; reversed by default."""
    return a.transpose() if axes is None else _F.transpose(a, tuple(axes))


def swapaxes(x: ArrayLike, axis1: Any, axis2: Any) -> Tensor:
    """Two axes change places."""
    return _F.swapaxes(x, axis1, axis2)


def moveaxis(a: ArrayLike, source: Any, destination: Any) -> Tensor:
    """Axes moved to other places."""
    return _F.moveaxis(a, source, destination)


def expand_dims(a: ArrayLike, axis: Axis) -> Tensor:
    """A dimension of 1 inserted."""
    return _F.expand_dims(a, axis)


def squeeze(a: ArrayLike, axis: Axis | None = None) -> Tensor:
    """Without dimensions of 1."""
    return _F.squeeze(a, axis)


def broadcast_to(array: ArrayLike, shape: Shape) -> Tensor:
    """Repeated to a shape."""
    return _F.broadcast_to(array, shape)


def stack(arrays: Any, axis: Axis = 0) -> Tensor:
    """Joined along a new axis."""
    return _F.stack(arrays, axis)


def concatenate(arrays: Any, axis: Axis = 0) -> Tensor:
    """Joined along an axis; flattened first when axis is None."""
    return _F.cat([_F.ravel(a) for a in arrays], 0) if axis is None else _F.cat(arrays, axis)


def flip(m: ArrayLike, axis: Axis | None = None) -> Tensor:
    """The order of elements reversed, along all axes by default."""
    axes = tuple(range(m.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    return _F.flip(m, axes)


def tile(a: ArrayLike, reps: Any) -> Tensor:
    """Repeated per axis."""
    return _F.tile(a, (reps,) if isinstance(reps, int) else tuple(reps))


def take(a: ArrayLike, indices: Any, axis: Axis | None = None, mode: str = "clip") -> Tensor:
    """Elements by index; of the flattened array when axis is None. mode: 'clip', 'wrap' or 'raise'."""
    if mode not in ("clip", "wrap", "raise"):
        raise _check.refused("take", "mode", _check.one_of("clip", "wrap", "raise"), mode)
    n = a.size if axis is None else a.shape[axis]
    if mode == "clip":
        indices = _F.clamp(indices, 0, n - 1)
    elif mode == "wrap":
        indices = _F.mod(indices, n)
    return _F.take(a, indices, axis)


def argmax(a: ArrayLike, axis: Axis | None = None) -> Tensor:
    """Index of the first maximum."""
    return _F.argmax(a, axis)


def argmin(a: ArrayLike, axis: Axis | None = None) -> Tensor:
    """Index of the first minimum."""
    return _F.argmin(_tensor(a), axis)


def cumsum(a: ArrayLike, axis: Axis | None = None, dtype: DTypeLike | None = None) -> Any:
    """Running sums; of the flattened array by default."""
    return _tensor(a).cumsum(axis=axis, dtype=dtype)


def clip(x: ArrayLike, xmin: Any = None, xmax: Any = None, dtype: DTypeLike | None = None) -> Tensor:
    """Limited to an interval."""
    return _typed(_F.clip_by_value(x, xmin, xmax), dtype)


def tril(m: ArrayLike, k: int = 0) -> Tensor:
    """The elements on and below a diagonal."""
    return _F.tril(m, k)


def triu(m: ArrayLike, k: int = 0) -> Tensor:
    """The elements on and above a diagonal."""
    return _F.triu(m, k)


def zeros_like(a: ArrayLike, dtype: DTypeLike | None = None, shape: Shape | None = None) -> Tensor:
    """Zeros in the shape and dtype of another array."""
    return full_like(a, 0, dtype, shape)


def ones_like(a: ArrayLike, dtype: DTypeLike | None = None, shape: Shape | None = None) -> Tensor:
    """Ones in the shape and dtype of another array."""
    return full_like(a, 1, dtype, shape)


def full_like(a: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike | None = None,
              shape: Shape | None = None) -> Tensor:
    """One value in the shape and dtype of another array."""
    return _filled(a.shape if shape is None else shape, fill_value, dtype=a.dtype if dtype is None else dtype)


def eye(N: int, M: int = None, k: int = 0, dtype: DTypeLike = float32) -> Tensor:
    """Ones on a diagonal."""
    rows, columns = _F.arange(N), _F.arange(N if M is None else M)
    return _F.cast(_F.expand_dims(rows, 1) + k == columns, dtype)


def linspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, retstep: bool = False,
             dtype: DTypeLike | None = None, axis: Axis = 0) -> Any:  # noqa: ARG001
    """num values at equal distances from start to stop."""
    if num < 1 or not endpoint:
        values = _F.linspace(start, stop, num + 1)[:-1]
    else:
        values = _F.linspace(start, stop, num)
    values = _typed(values, dtype)
    return (values, (stop - start) / builtins.max(num - 1 if endpoint else num, 1)) if retstep else values


def array(obj: ArrayLike, dtype: DTypeLike | None = None, copy: bool = True, ndmin: int = 0) -> Tensor:  # noqa: ARG001
    """A tensor from data."""
    t = Tensor(obj, dtype) if dtype is not None else Tensor(obj)
    if not isinstance(obj, (Tensor, _np.ndarray)):
        t = _typed(t, _default(t, dtype))
    return _F.reshape(t, (1,) * (ndmin - t.ndim) + t.shape) if t.ndim < ndmin else t


def asarray(a: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
    """A tensor from data."""
    return array(a, dtype)


def zeros(shape: Shape, dtype: DTypeLike = float32) -> Tensor:
    """Zeros."""
    return _filled(shape, 0, dtype=dtype)


def ones(shape: Shape, dtype: DTypeLike = float32) -> Tensor:
    """Ones."""
    return _filled(shape, 1, dtype=dtype)


def full(shape: Shape, fill_value: Any, dtype: DTypeLike | None = None) -> Tensor:
    """One value everywhere."""
    if isinstance(fill_value, (list, tuple)):
        fill_value = Tensor(fill_value)
    x = (_F.broadcast_to(fill_value, shape) if isinstance(fill_value, Tensor)
         else _F.broadcast_to(Tensor(fill_value), shape))
    return _typed(x, _default(x, dtype))


empty = zeros


def arange(start: Any, stop: Any = None, step: Any = None, dtype: DTypeLike | None = None) -> Tensor:
    """Values from start to stop (not included)."""
    x = _F.arange(start, stop, 1 if step is None else step, dtype=dtype)
    return _typed(x, _default(x, dtype))


def sum(a: ArrayLike, axis: Axis | None = None, dtype: DTypeLike | None = None, keepdims: bool = False,
        initial: Any = None) -> Any:
    """Sum over axes."""
    return (a if isinstance(a, Tensor) else Tensor(a)).sum(axis=axis, dtype=dtype, keepdims=keepdims, initial=initial)


def mean(a: ArrayLike, axis: Axis | None = None, keepdims: bool = False, dtype: DTypeLike | None = None) -> Tensor:
    """Arithmetic mean over axes."""
    return _F.mean(_typed(_tensor(a), dtype), axis, keepdims)


def prod(a: ArrayLike, axis: Axis | None = None, dtype: DTypeLike | None = None, keepdims: bool = False,
         initial: Any = None) -> Any:
    """Product over axes."""
    r = _F.prod(_tensor(a), axis, keepdims, dtype)
    return r if initial is None else r * initial


def max(a: ArrayLike, axis: Axis | None = None, keepdims: bool = False, initial: Any = None,
        where: bool = True) -> Tensor:
    """Maximum over axes."""
    return _F.amax(a, axis, keepdims, initial=initial, where=where)


def min(a: ArrayLike, axis: Axis | None = None, keepdims: bool = False, initial: Any = None,
        where: bool = True) -> Tensor:
    """Minimum over axes."""
    return _F.amin(a, axis, keepdims, initial=initial, where=where)


amax, amin = max, min


def all(a: ArrayLike, axis: Axis | None = None, keepdims: bool = False) -> Tensor:
    """Logical and over axes."""
    return _F.all(a, axis, keepdims)


def any(a: ArrayLike, axis: Axis | None = None, keepdims: bool = False) -> Tensor:
    """Logical or over axes."""
    return _F.any(_tensor(a), axis, keepdims)


def var(x: ArrayLike, axis: Axis | None = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Variance."""
    return _F.var(_tensor(x), axis, ddof, keepdims)


def std(x: ArrayLike, axis: Axis | None = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Standard deviation."""
    return _F.std(_tensor(x), axis, ddof, keepdims)


def randn(*shape: Any, dtype: DTypeLike = float32) -> Tensor:
    """Standard normal."""
    return _F.randn(*shape, dtype=dtype)


def rand(*shape: Any, dtype: DTypeLike = float32) -> Tensor:
    """Uniform in [0, 1)."""
    return _F.rand(*shape, dtype=dtype)


def randint(minval: Any, maxval: Any = None, shape: Shape | None = None, dtype: DTypeLike = int32) -> Tensor:
    """Integers in [minval, maxval)."""
    lo, hi = (0, minval) if maxval is None else (minval, maxval)
    return _F.randint(lo, hi, () if shape is None else shape, dtype=dtype)


from pijit.numpy.more import *  # noqa: E402, F403
from pijit.numpy.more import _tensor  # noqa: E402

int16: DType
int8: DType
float16: DType
float16, int8, int16 = _t.float16, _t.int8, _t.int16
uint64: DType
uint32: DType
uint16: DType
uint8: DType
uint8, uint16, uint32, uint64 = _t.uint8, _t.uint16, _t.uint32, _t.uint64
int_: DType
float_: DType
float_, int_ = _t.float32, _t.int32
round = around

__all__ = [n for n in globals() if n[0] != "_" and n not in ("annotations", "TYPE_CHECKING")]

if TYPE_CHECKING:  # what pijit/ops/table.py names is made when the module is loaded, or later
    def __getattr__(name: str) -> Any: ...
