"""`pijit.numpy`: NumPy's names on tensors."""

import numpy as _np

from pijit import dtype as _t
from pijit._C import Tensor
from pijit.ops import function as _F

float32, float64, int32, int64, bool_ = _t.float32, _t.float64, _t.int32, _t.int64, _t.bool_
pi, e, inf, nan, newaxis = _np.pi, _np.e, _np.inf, _np.nan, None

for _n in ("add subtract multiply divide true_divide floor_divide mod fmod pow maximum minimum negative abs absolute sign square sqrt reciprocal exp exp2 expm1 log log2 log10 "
           "log1p sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh hypot floor ceil trunc equal not_equal less less_equal greater greater_equal "
           "logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor invert isnan isinf isfinite where matmul dot outer "
           "reshape transpose swapaxes moveaxis expand_dims squeeze ravel broadcast_to stack flip tile zeros_like ones_like full_like eye linspace meshgrid "
           "argmax argmin cumsum clip tensordot einsum tril triu take").split():
    globals()[_n] = getattr(_F, _n)
power, remainder, around, concatenate = _F.pow, _F.mod, _F.round, _F.cat


def array(obj, dtype=None, copy=True, ndmin=0):
    """A tensor from data."""
    t = Tensor(obj, dtype) if dtype is not None else Tensor(obj)
    return _F.reshape(t, (1,) * (ndmin - t.ndim) + t.shape) if t.ndim < ndmin else t


asarray = array


def zeros(shape, dtype=float32):
    """Zeros."""
    return _F.full(shape, 0, dtype=dtype)


def ones(shape, dtype=float32):
    """Ones."""
    return _F.full(shape, 1, dtype=dtype)


def full(shape, fill_value, dtype=None):
    """One value everywhere."""
    return _F.full(shape, fill_value, dtype=dtype)


empty = zeros


def arange(start, stop=None, step=None, dtype=None):
    """Values from start to stop (not included)."""
    return _F.arange(start, stop, 1 if step is None else step, dtype=dtype)


def _reduction(fn):
    def reduce(a, axis=None, keepdims=False):
        return fn(a, axis, keepdims)
    return reduce


sum, mean, prod = _reduction(_F.sum), _reduction(_F.mean), _reduction(_F.prod)
max = amax = _reduction(_F.amax)
min = amin = _reduction(_F.amin)
all, any = _reduction(_F.all), _reduction(_F.any)


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
