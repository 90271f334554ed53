"""`pijit.numpy`: NumPy's names on tensors."""

import builtins

import numpy as _np

from pijit import dtype as _t
from pijit._C import Tensor
from pijit.ops import function as _F
from pijit.ops.table import OPS as _OPS

float32, float64, int32, int64, bool_ = _t.float32, _t.float64, _t.int32, _t.int64, _t.bool_
pi, e, inf, nan, newaxis = _np.pi, _np.e, _np.inf, _np.nan, None

for _row in _OPS:
    for _n in _row.numpy:
        globals()[_n] = getattr(_F, _n if _n in _row.functions else _row.functions[0])
subtract, divide, true_divide, meshgrid, einsum = _F.subtract, _F.divide, _F.true_divide, _F.meshgrid, _F.einsum


def around(a, decimals=0):
    """Rounded to so many decimals."""
    return _F.round(a, decimals=decimals)




def _default(x, dtype):
    """The dtype of new numbers: int32 for ints."""
    return int32 if dtype is None and x.dtype == int64 else dtype


def _typed(x, dtype):
    return x if dtype is None else _F.cast(x, dtype)


def matmul(x1, x2, dtype=None):
    """Matrix product."""
    return _typed(_F.matmul(x1, x2), dtype)


def dot(a, b):
    """Scalar product of vectors; of more dimensions, the sum over a's last and b's last but one."""
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return _F.tensor_dot(a, b, ([a.ndim - 1], [b.ndim - 2 if b.ndim > 1 else 0]))


def outer(a, b):
    """Products of all pairs of elements."""
    return _F.outer(_F.ravel(a), _F.ravel(b))


def tensordot(a, b, axes=2):
    """Sums of products over pairs of axes."""
    return _F.tensor_dot(a, b, axes)


def reshape(x, new_shape):
    """The same elements in another shape."""
    return _F.reshape(x, new_shape)


def ravel(x):
    """All elements in one dimension."""
    return _F.ravel(x)


def transpose(a, axes=None):
    """Axes permuted; reversed by default."""
    return a.transpose() if axes is None else _F.transpose(a, tuple(axes))


def swapaxes(x, axis1, axis2):
    """Two axes change places."""
    return _F.swapaxes(x, axis1, axis2)


def moveaxis(a, source, destination):
    """Axes moved to other places."""
    return _F.moveaxis(a, source, destination)


def expand_dims(a, axis):
    """A dimension of 1 inserted."""
    return _F.expand_dims(a, axis)


def squeeze(a, axis=None):
    """Without dimensions of 1."""
    return _F.squeeze(a, axis)


def broadcast_to(array, shape):
    """Repeated to a shape."""
    return _F.broadcast_to(array, shape)


def stack(arrays, axis=0):
    """Joined along a new axis."""
    return _F.stack(arrays, axis)


def concatenate(arrays, axis=0):
    """Joined along an axis; flattened first when axis is None."""
    return _F.cat([_F.ravel(a) for a in arrays], 0) if axis is None else _F.cat(arrays, axis)


def flip(m, axis=None):
    """The order of elements reversed, along all axes by default."""
    axes = tuple(range(m.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    return _F.flip(m, axes)


def tile(a, reps):
    """Repeated per axis."""
    return _F.tile(a, (reps,) if isinstance(reps, int) else tuple(reps))


def take(a, indices, axis=None, mode="clip"):
    """Elements by index; of the flattened array when axis is None. mode: 'clip', 'wrap' or 'raise'."""
    if mode not in ("clip", "wrap", "raise"):
        raise ValueError(f"For 'take', 'mode' must be 'clip', 'wrap' or 'raise', but got {mode!r}.")
    n = a.size if axis is None else a.shape[axis]
    if mode == "clip":
        indices = _F.clamp(indices, 0, n - 1)
    elif mode == "wrap":
        indices = _F.mod(indices, n)
    return _F.take(a, indices, axis)


def argmax(a, axis=None):
    """Index of the first maximum."""
    return _F.argmax(a, axis)


def argmin(a, axis=None):
    """Index of the first minimum."""
    return _F.argmin(a, axis)


def cumsum(a, axis=None, dtype=None):
    """Running sums; of the flattened array by default."""
    return a.cumsum(axis=axis, dtype=dtype)


def clip(x, xmin=None, xmax=None, dtype=None):
    """Limited to an interval."""
    return _typed(_F.clamp(x, xmin, xmax), dtype)


def tril(m, k=0):
    """The elements on and below a diagonal."""
    return _F.tril(m, k)


def triu(m, k=0):
    """The elements on and above a diagonal."""
    return _F.triu(m, k)


def zeros_like(a, dtype=None, shape=None):
    """Zeros in the shape and dtype of another array."""
    return full_like(a, 0, dtype, shape)


def ones_like(a, dtype=None, shape=None):
    """Ones in the shape and dtype of another array."""
    return full_like(a, 1, dtype, shape)


def full_like(a, fill_value, dtype=None, shape=None):
    """One value in the shape and dtype of another array."""
    return _F.full(a.shape if shape is None else shape, fill_value, dtype=a.dtype if dtype is None else dtype)


def eye(N, M=None, k=0, dtype=float32):
    """Ones on a diagonal."""
    rows, columns = _F.arange(N), _F.arange(N if M is None else M)
    return _F.cast(_F.expand_dims(rows, 1) + k == columns, dtype)


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):  # noqa: ARG001
    """num values at equal distances from start to stop."""
    if num < 1 or not endpoint:
        values = _F.linspace(start, stop, num + 1)[:-1]
    else:
        values = _F.linspace(start, stop, num)
    values = _typed(values, dtype)
    return (values, (stop - start) / builtins.max(num - 1 if endpoint else num, 1)) if retstep else values


def array(obj, dtype=None, copy=True, ndmin=0):  # noqa: ARG001
    """A tensor from data."""
    t = Tensor(obj, dtype) if dtype is not None else Tensor(obj)
    if not isinstance(obj, (Tensor, _np.ndarray)):
        t = _typed(t, _default(t, dtype))
    return _F.reshape(t, (1,) * (ndmin - t.ndim) + t.shape) if t.ndim < ndmin else t


def asarray(a, dtype=None):
    """A tensor from data."""
    return array(a, dtype)


def zeros(shape, dtype=float32):
    """Zeros."""
    return _F.full(shape, 0, dtype=dtype)


def ones(shape, dtype=float32):
    """Ones."""
    return _F.full(shape, 1, dtype=dtype)


def full(shape, fill_value, dtype=None):
    """One value everywhere."""
    if isinstance(fill_value, (list, tuple)):
        fill_value = Tensor(fill_value)
    x = (_F.broadcast_to(fill_value, shape) if isinstance(fill_value, Tensor)
         else _F.full(shape, fill_value, dtype=dtype))
    return _typed(x, _default(x, dtype))


empty = zeros


def arange(start, stop=None, step=None, dtype=None):
    """Values from start to stop (not included)."""
    x = _F.arange(start, stop, 1 if step is None else step, dtype=dtype)
    return _typed(x, _default(x, dtype))


def sum(a, axis=None, dtype=None, keepdims=False, initial=None):
    """Sum over axes."""
    return a.sum(axis=axis, dtype=dtype, keepdims=keepdims, initial=initial)


def mean(a, axis=None, keepdims=False, dtype=None):
    """Arithmetic mean over axes."""
    return _F.mean(_typed(a, dtype), axis, keepdims)


def prod(a, axis=None, dtype=None, keepdims=False, initial=None):
    """Product over axes."""
    r = _F.prod(a, axis, keepdims, dtype)
    return r if initial is None else r * initial


def max(a, axis=None, keepdims=False, initial=None, where=True):
    """Maximum over axes."""
    return _F.amax(a, axis, keepdims, initial=initial, where=where)


def min(a, axis=None, keepdims=False, initial=None, where=True):
    """Minimum over axes."""
    return _F.amin(a, axis, keepdims, initial=initial, where=where)


amax, amin = max, min


def all(a, axis=None, keepdims=False):
    """Logical and over axes."""
    return _F.all(a, axis, keepdims)


def any(a, axis=None, keepdims=False):
    """Logical or over axes."""
    return _F.any(a, axis, keepdims)


def var(x, axis=None, ddof=0, keepdims=False):
    """Variance."""
    return _F.var(x, axis, ddof, keepdims)


def std(x, axis=None, ddof=0, keepdims=False):
    """Standard deviation."""
    return _F.std(x, axis, ddof, keepdims)


def randn(*shape, dtype=float32):
    """Standard normal."""
    return _F.randn(*shape, dtype=dtype)


def rand(*shape, dtype=float32):
    """Uniform in [0, 1)."""
    return _F.rand(*shape, dtype=dtype)


def randint(minval, maxval=None, shape=None, dtype=int32):
    """Integers in [minval, maxval)."""
    lo, hi = (0, minval) if maxval is None else (minval, maxval)
    return _F.randint(lo, hi, () if shape is None else shape, dtype=dtype)


from pijit.numpy.more import *  # noqa: E402, F403

float16, int8, int16 = _t.float16, _t.int8, _t.int16
uint8, uint16, uint32, uint64 = _t.uint8, _t.uint16, _t.uint32, _t.uint64
float_, int_ = _t.float32, _t.int32
round = around
