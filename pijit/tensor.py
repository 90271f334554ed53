"""Tensor methods written in Python on top of the extension type."""

import numpy as np

from pijit import dtype as mstype
from pijit._C import Tensor
from pijit.ops import function as F

_METHODS = {}
for _n in ("add sub mul div floor_divide mod fmod pow atan2 maximum minimum neg abs absolute sign square sqrt rsqrt reciprocal exp exp2 expm1 log "
           "log2 log10 log1p sin cos tan asin acos atan arcsin arccos arctan sinh cosh tanh asinh acosh atanh arcsinh arccosh arctanh erf erfc lgamma digamma floor ceil trunc "
           "round equal eq not_equal ne less lt less_equal le greater gt greater_equal ge logical_and logical_or logical_xor logical_not bitwise_and "
           "bitwise_or bitwise_xor invert isnan isinf isfinite sigmoid subtract multiply divide true_divide negative remainder hypot").split():
    _METHODS[_n] = getattr(F, _n)


def _method(op):
    def method(self, *args, **kwargs):
        return op(self, *args, **kwargs)
    return method


for _n, _op in _METHODS.items():
    setattr(Tensor, _n, _method(_op))
for _n in ("swapaxes expand_dims unsqueeze squeeze ravel broadcast_to split chunk narrow unbind flip tile "
           "repeat_interleave sum mean prod amax amin argmax argmin var std logsumexp cumsum count_nonzero norm gather_elements "
           "gather_nd index_select masked_fill masked_select nonzero clamp clip nan_to_num isclose lerp matmul mm bmm dot outer softmax "
           "log_softmax sort argsort topk median unique roll diagonal tril triu moveaxis movedim take relu addcmul addcdiv t").split():
    setattr(Tensor, _n, getattr(F, _n))


class _Methods:
    # in a class, so that `int` or `all` mean Python's own in the bodies
    def reshape(self, *shape):
        """The same elements in another shape."""
        return F.reshape(self, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)

    def flatten(self, order="C", *, start_dim=0, end_dim=-1):
        """Dimensions start_dim..end_dim merged: all by default, unlike ops.flatten, which keeps the first."""
        return F.flatten(self, order, start_dim=start_dim, end_dim=end_dim)

    def view(self, *shape):
        """As reshape."""
        return F.reshape(self, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)

    def transpose(self, *axes):
        """Dimensions permuted; reversed when no axes are given."""
        if len(axes) == 1 and not isinstance(axes[0], int):
            axes = axes[0]
        if axes is None or len(axes) == 0:
            axes = tuple(range(self.ndim - 1, -1, -1))
        return F.transpose(self, tuple(axes))

    def permute(self, *axes):
        """Dimensions permuted."""
        return F.transpose(self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes)

    def all(self, axis=None, keep_dims=False):
        """Logical and over axes."""
        return F.all(self, axis, keep_dims)

    def any(self, axis=None, keep_dims=False):
        """Logical or over axes."""
        return F.any(self, axis, keep_dims)

    def max(self, axis=None, keepdims=False, *, initial=None, where=True, return_indices=False):
        """The maximum, with indices on request."""
        v = F.amax(self, axis, keepdims)
        return (v, F.argmax(self, axis, keepdims)) if return_indices else v

    def min(self, axis=None, keepdims=False, *, initial=None, where=True, return_indices=False):
        """The minimum, with indices on request."""
        v = F.amin(self, axis, keepdims)
        return (v, F.argmin(self, axis, keepdims)) if return_indices else v

    def gather(self, input_indices, axis, batch_dims=0):
        """Slices of one axis by index."""
        return F.gather(self, input_indices, axis)

    def astype(self, dtype, copy=True):
        """Elements converted."""
        return F.cast(self, dtype)

    def to(self, dtype):
        """Elements converted."""
        return F.cast(self, dtype)

    def type(self, dtype=None):
        """Elements converted, or the dtype."""
        return self.dtype if dtype is None else F.cast(self, dtype)

    def float(self):
        """As float32."""
        return F.cast(self, mstype.float32)

    def half(self):
        """As float16."""
        return F.cast(self, mstype.float16)

    def int(self):
        """As int32."""
        return F.cast(self, mstype.int32)

    def long(self):
        """As int64."""
        return F.cast(self, mstype.int64)

    def bool(self):
        """As bool."""
        return F.cast(self, mstype.bool_)

    def copy(self):
        """The same value in a new tensor."""
        return self._alias()

    def clone(self):
        """The same value in a new tensor."""
        return self._alias()

    def contiguous(self):
        """Tensors are contiguous."""
        return self

    def is_contiguous(self):
        """Always true."""
        return True

    def numpy(self):
        """As asnumpy."""
        return self.asnumpy()

    def tolist(self):
        """Nested lists of Python scalars."""
        return self.asnumpy().tolist()

    def value(self):
        """The same value."""
        return self

    def dim(self):
        """The number of dimensions."""
        return self.ndim

    def numel(self):
        """The number of elements."""
        return self.size

    def allclose(self, other, rtol=1e-05, atol=1e-08, equal_nan=False):
        """Whether all elements are close."""
        return np.allclose(self.asnumpy(), np.asarray(other), rtol, atol, equal_nan)

    def assign_value(self, value):
        """Takes another value of the same shape."""
        return self._assign(value)

    def set_data(self, value):
        """Takes another value of the same shape."""
        return self._assign(value)

    def fill(self, value):
        """A tensor of this shape and dtype filled with one value."""
        return F.full(self.shape, value, dtype=self.dtype)

    def new_zeros(self, size, dtype=None):
        """Zeros of this dtype."""
        return F.zeros(size, self.dtype if dtype is None else dtype)

    def new_ones(self, size, dtype=None):
        """Ones of this dtype."""
        return F.ones(size, self.dtype if dtype is None else dtype)

    def double(self):
        """As float64."""
        return F.cast(self, mstype.float64)

    def bfloat16(self):
        """As bfloat16."""
        return F.cast(self, mstype.bfloat16)

    def expand(self, *size):
        """Broadcast to a shape, in which -1 keeps a dimension."""
        return F.expand(self, size[0] if len(size) == 1 and not isinstance(size[0], int) else size)

    def add_(self, other, *, alpha=1):
        """self + alpha * other, in place."""
        return self._assign(self + (other if alpha == 1 else other * alpha))

    def mul_(self, other):
        """self * other, in place."""
        return self._assign(self * other)

    def copy_(self, src):
        """The value of src, broadcast to this shape and in this dtype, in place."""
        return self._assign(F.broadcast_to(F.cast(src, self.dtype), self.shape))

    def fill_(self, value):
        """One value for all elements, in place."""
        return self._assign(F.full(self.shape, value, dtype=self.dtype))

    def zero_(self):
        """Zeros, in place."""
        return self._assign(F.zeros(self.shape, self.dtype))

    def scatter(self, axis, index, src):
        """src at the indices along an axis, the rest from self."""
        return F.tensor_scatter_elements(self, index, src, axis)

    def scatter_add(self, dim, index, src):
        """src added at the indices along a dimension."""
        return F.tensor_scatter_elements(self, index, src, dim, "add")

    def view_as(self, other):
        """The same elements in other's shape."""
        return F.reshape(self, other.shape)

    def expand_as(self, other):
        """Broadcast to other's shape."""
        return F.broadcast_to(self, other.shape)

    def where(self, condition, y):
        """self where condition, else y."""
        return F.select(condition, self, y)


for _n, _op in vars(_Methods).items():
    if not _n.startswith("__"):
        setattr(Tensor, _n, _op)


def from_numpy(array):
    """A tensor with the array's data."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"The input of 'from_numpy' must be a numpy.ndarray, but got {array.__class__.__name__}.")
    return Tensor(array)


def from_dlpack(x):
    """A tensor with a copy of the data of any object that exports DLPack on the CPU."""
    return Tensor(np.from_dlpack(x))


Tensor.from_numpy = staticmethod(from_numpy)
Tensor.from_dlpack = staticmethod(from_dlpack)
# a copy leaves: tensors are values, and whoever gets the capsule may write
Tensor.__dlpack__ = lambda self, **kwargs: self.asnumpy().__dlpack__(**kwargs)
Tensor.__dlpack_device__ = lambda self: (1, 0)
Tensor.T = property(lambda self: self.transpose())
Tensor.__array_priority__ = 1000
Tensor.__matmul__ = lambda self, other: F.matmul(self, other)
Tensor.__rmatmul__ = lambda self, other: F.matmul(other if isinstance(other, Tensor) else Tensor(other), self)
Tensor.__str__ = lambda self: str(self.asnumpy())
Tensor.__format__ = lambda self, spec: format(self.item() if spec and self.size == 1 else str(self), spec)


def _repr(self):
    return f"Tensor(shape={list(self.shape)}, dtype={self.dtype}, value=" + ("\n" if self.ndim else " ") + np.array2string(self.asnumpy(), separator=", ", precision=8) + ")"


Tensor.__repr__ = _repr
Tensor.__deepcopy__ = lambda self, memo: self._alias()
Tensor.__copy__ = lambda self: self._alias()
Tensor.__reduce__ = lambda self: (_rebuild, (self.asnumpy(), self.dtype))
Tensor.__contains__ = lambda self, x: np.asarray(x) in self.asnumpy()


def _rebuild(data, dtype):
    return Tensor(data, dtype)
