"""Tensor methods written in Python on top of the extension type."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from pijit import _check
from pijit import _C, dtype as mstype
from pijit import hooks
from pijit import random as _random
from pijit._C import Tensor
from pijit._C import ops as _ops
from pijit._numpy import np
from pijit.compute_dtype import in_compute_dtype
from pijit.ops import function as F
from pijit.ops.function.creation import _filled
from pijit.ops.function.shapes import _swapped
from pijit.ops.table import METHODS as _METHODS, OPS as _OPS
from pijit.overloads import METHODS as _OVERLOADED, _cast

if TYPE_CHECKING:
    from typing import Any


def _repeat_elements(self, repeats, axis=None):
    return F.repeat_interleave(self, repeats, axis)


def _method(op):
    def method(self, *args, **kwargs):
        return op(self, *args, **kwargs)
    method.__doc__ = op.__doc__
    method.__wrapped__ = op  # what inspect.signature shows
    return method


for _row in _OPS:
    for _n in _row.methods:
        setattr(Tensor, _n, _method(_ops[_row.op]))
        getattr(Tensor, _n).__name__ = getattr(Tensor, _n).__qualname__ = _n
for _n, _op in _METHODS.items():
    setattr(Tensor, _n, _op)
for _n in ("sub", "mul", "div", "max", "min"):
    setattr(Tensor, "scatter_" + _n, getattr(F, "tensor_scatter_" + _n))
Tensor.to_coo, Tensor.to_csr = F.dense_to_sparse_coo, F.dense_to_sparse_csr
Tensor.bitwise_not, Tensor.soft_shrink = _method(F.invert), F.softshrink
Tensor.nelement, Tensor.matrix_determinant = F.numel, F.det


def _in_place(name, fn):
    def method(self, *args, **kwargs):
        return self._assign(F.cast(fn(self, *args, **kwargs), self.dtype))
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"As {name[:-1]}, in place."
    method.__wrapped__ = fn
    setattr(Tensor, name, method)


for _n in "exp log floor sigmoid sign tanh clamp erfinv remainder masked_fill index_fill floor_divide".split():
    _in_place(_n + "_", getattr(F, _n))
_in_place("addmm_", F.addmm)
_in_place("index_add_", lambda self, dim, index, source, *,
          alpha=1: _ops["index_add"](self, index, source if alpha == 1 else source * alpha, dim))
_in_place("scatter_add_", lambda self, dim, index, src: F.tensor_scatter_elements(self, index, src, dim, "add"))
_in_place("index_copy_", lambda self, dim, index, source: F.tensor_scatter_elements(
    self, F.broadcast_to(F.reshape(index, tuple(-1 if k == dim % self.ndim else 1 for k in range(self.ndim))),
                         source.shape), source, dim))


_DType = type(mstype.float32)


def _same_bytes(x, dtype):
    """The bytes of x as elements of another dtype, a view of them."""
    if dtype == x.dtype:
        return x._alias()
    size = x.dtype.itemsize
    if x.ndim == 0 and dtype.itemsize != size:
        raise ValueError(f"For 'Tensor.view', a number of {x.dtype} can't be seen as {dtype}, which has another size.")
    if x.ndim and x.shape[-1] * size % dtype.itemsize:
        raise ValueError(f"For 'Tensor.view', the last dimension's {x.shape[-1]} elements of {x.dtype} are no whole "
                         f"number of elements of {dtype}.")
    return x._bytes_as(dtype)


class _Methods:
    # in a class, so that `int` or `all` mean Python's own in the bodies
    def reshape(self, *shape):
        """The same elements in another shape."""
        return F.reshape(self, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)

    def view(self, *size, shape=None, dtype=None):
        """As reshape; of a dtype, the same bytes as elements of that dtype, of which the last dimension then has more
        or fewer.

        Raises:
            ValueError: if elements of another size don't fill the last dimension."""
        if len(size) == 1 and isinstance(size[0], _DType):
            dtype = size[0]
        if dtype is not None:
            return _same_bytes(self, dtype)
        size = size if shape is None else (shape,)
        return F.reshape(self, size[0] if len(size) == 1 and not isinstance(size[0], int) else size)

    def transpose(self, *args, axes=None, dim0=None, dim1=None):
        """Dimensions permuted, reversed by default; two integers name two dimensions that change places."""
        for given in (dim0, dim1, axes):
            if given is not None:
                args = (*args, given)
        if len(args) == 1 and not isinstance(args[0], int):
            args = args[0]
        elif len(args) == 2:
            return _swapped("transpose", self, args[0], args[1])
        if args is None or len(args) == 0:
            args = tuple(range(self.ndim - 1, -1, -1))
        return F.transpose(self, tuple(args))

    def permute(self, *args, axis=None, dims=None):
        """Dimensions permuted."""
        order = axis if axis is not None else dims
        if order is None:
            order = args[0] if len(args) == 1 and not isinstance(args[0], int) else args
        return F.transpose(self, order)

    def astype(self, dtype, copy=True):
        """Elements converted; of a Tensor of that dtype a view, or without `copy` itself."""
        return _cast(self, dtype) if copy else F.cast(self, dtype)

    def type(self, dtype=None):
        """Elements converted, or the dtype."""
        return self.dtype if dtype is None else _cast(self, dtype)

    def float(self):
        """As float32."""
        return _cast(self, mstype.float32)

    def half(self):
        """As float16."""
        return _cast(self, mstype.float16)

    def int(self):
        """As int32."""
        return _cast(self, mstype.int32)

    def long(self):
        """As int64."""
        return _cast(self, mstype.int64)

    def bool(self):
        """As bool."""
        return _cast(self, mstype.bool_)

    def copy(self):
        """The same value in a new tensor."""
        return self._alias()

    def clone(self):
        """The same value in a new tensor."""
        return self._alias()

    def contiguous(self):
        """The Tensor; a copy of a view whose elements don't lie side by side in what it is a view of."""
        return self._contiguous()

    def is_contiguous(self):
        """Whether the elements lie side by side: not those of a view with gaps or of a transposed one."""
        return self._layout()[2]

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
        """Takes another value, which may have another shape and dtype."""
        if not isinstance(value, Tensor):
            raise _check.refused("Tensor.assign_value", "value", _check.TENSOR, value)
        return self._replace(value)

    def set_data(self, value):
        """Takes another value of the same shape."""
        return self._renew(value)

    def fill(self, value):
        """A tensor of this shape and dtype filled with one value."""
        return _filled(self.shape, value, dtype=self.dtype)

    def new_zeros(self, size, dtype=None):
        """Zeros of this dtype."""
        return in_compute_dtype(F.zeros(size, self.dtype)) if dtype is None else F.zeros(size, dtype)

    def new_ones(self, size, dtype=None):
        """Ones of this dtype."""
        return in_compute_dtype(F.ones(size, self.dtype)) if dtype is None else F.ones(size, dtype)

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

    def sub_(self, other, *, alpha=1):
        """self - alpha * other, in place."""
        return self._assign(self - (other if alpha == 1 else other * alpha))

    def div_(self, other, *, rounding_mode=None):
        """self / other, in place."""
        return self._assign(self.div(other, rounding_mode=rounding_mode))

    def mul_(self, other):
        """self * other, in place."""
        return self._assign(self * other)

    def copy_(self, src):
        """The value of src, broadcast to this shape and in this dtype, in place."""
        return self._assign(F.broadcast_to(F.cast(src, self.dtype), self.shape))

    def fill_(self, value):
        """One value for all elements, in place."""
        return self._assign(_filled(self.shape, value, dtype=self.dtype))

    def zero_(self):
        """Zeros, in place."""
        return self._assign(F.zeros(self.shape, self.dtype))

    def scatter_add(self, dim, index, src):
        """src added at the indices along a dimension."""
        return F.tensor_scatter_elements(self, index, src, dim, "add")

    def type_as(self, other):
        """In other's dtype."""
        return F.cast(self, other.dtype)

    def ndimension(self):
        """The number of dimensions."""
        return self.ndim

    def stride(self, dim=None):
        """Elements between neighbours, per dimension, or along one."""
        strides = self._layout()[0]
        return strides if dim is None else strides[dim]

    def argwhere(self):
        """Indices of the elements that are not 0."""
        return F.nonzero(self)

    def addmm(self, mat1, mat2, *, beta=1, alpha=1):
        """beta * self + alpha * (mat1 @ mat2)."""
        return F.addmm(self, mat1, mat2, beta=beta, alpha=alpha)

    def repeat(self, *repeats, **numpys):
        """The tensor side by side with itself, as often as said per dimension.

        With `axis=` as NumPy's, and as MindSpore before 2.5: elements repeated along the axis, None for those of a flat
        array."""
        if numpys:
            return _repeat_elements(self, *repeats, **numpys)
        return F.tile(self, repeats[0] if len(repeats) == 1 and not isinstance(repeats[0], int) else repeats)

    def trace(self, offset=0, axis1=0, axis2=1, dtype=None):
        """The sum of the diagonal of two axes, `offset` above the main one."""
        return F.sum(F.diagonal(self, offset, axis1, axis2), -1, dtype=dtype)

    def det(self):
        """The determinant."""
        return F.det(self)

    def inv(self):
        """1 / x."""
        return F.reciprocal(self)

    def itemset(self, *args):
        """A copy with one element, at a place (or of a tensor of one), replaced."""
        a = self.asnumpy().copy()
        if not args:
            raise ValueError("For 'Tensor.itemset', expected a value, or a place and a value.")
        if len(args) == 1:
            a[(0,) * a.ndim if a.size == 1 else ()] = args[0]
            if a.size != 1:
                raise IndexError(f"For 'Tensor.itemset', a place is needed for a tensor of {a.size} elements.")
        else:
            at = args[0] if len(args) == 2 else args[:-1]
            a[np.unravel_index(at, a.shape) if isinstance(at, int) else tuple(at)] = args[-1]
        return Tensor(a, self.dtype)

    def resize(self, *new_shape):
        """A copy of another size: the elements in order, then zeros."""
        shape = new_shape[0] if len(new_shape) == 1 and isinstance(new_shape[0], (tuple, list)) else new_shape
        size = 1
        for n in shape:
            if n < 0:
                raise _check.refused("Tensor.resize", "the sizes", _check.at_least(0), tuple(shape))
            size *= n
        flat = F.ravel(self)
        flat = F.narrow(flat, 0, 0, size) if size <= self.size else F.pad(flat, (0, size - self.size))
        return F.reshape(flat, tuple(shape))

    def scatter_(self, dim, index, src):
        """Puts the elements of src (or a number) at `index` along dim, in place."""
        src = src if isinstance(src, Tensor) else _filled(index.shape, src, dtype=self.dtype)
        return self._assign(F.scatter(self, dim, index, src))

    def uniform(self, from_=0.0, to=1.0, generator=None):  # noqa: ARG002
        """Random numbers in [from_, to) of this shape and dtype."""
        return F.cast(F.uniform(self.shape, from_, to), self.dtype)

    def byte(self):
        """As uint8."""
        return F.cast(self, mstype.uint8)

    def short(self):
        """As int16."""
        return F.cast(self, mstype.int16)

    def new_full(self, size, fill_value, *, dtype=None):
        """One value, of this dtype."""
        return _filled(size, fill_value, dtype=self.dtype if dtype is None else dtype)

    def new_empty(self, size, *, dtype=None, device=None):  # noqa: ARG002
        """A tensor (of zeros) of this dtype."""
        return F.zeros(size, self.dtype if dtype is None else dtype)

    def is_signed(self):
        """Whether the dtype has negative numbers."""
        return self.dtype.name[0] not in "ub" or self.dtype == mstype.bfloat16

    @property
    def has_init(self):
        """False: no initializer is left to run."""
        return False

    def top_k(self, k, sorted=True):
        """(the k largest along the last axis, their indices as int32)."""
        return F.topk(self, k, None, True, sorted)

    def argmax_with_value(self, axis=0, keep_dims=False):
        """(values, indices) of the maxima along an axis; over everything, the maximum and index 0."""
        return F.max(self, axis, keep_dims)

    def argmin_with_value(self, axis=0, keep_dims=False):
        """(values, indices) of the minima along an axis; over everything, the minimum and index 0."""
        return F.min(self, axis, keep_dims)

    def choose(self, choices, mode="clip"):
        """choices[self], elementwise."""
        from pijit import numpy
        return numpy.choose(self, choices, mode)

    def searchsorted(self, v, side="left", sorter=None):
        """Where the elements of v belong in this sorted tensor, as int32."""
        from pijit import numpy
        return numpy.searchsorted(self, v, side, sorter)

    def inplace_update(self, v, indices):
        """The rows `indices` replaced by v: a new tensor."""
        return F.inplace_update(self, v, indices)

    def sum_to_size(self, *size):
        """Summed over what a broadcast of `size` to this shape would repeat."""
        size = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
        lead = self.ndim - len(size)
        if lead < 0 or builtins.any(n != m and n != 1 for n, m in zip(size, self.shape[lead:])):
            raise ValueError(f"For 'Tensor.sum_to_size', {size} can't be broadcast to {tuple(self.shape)}.")
        axes = tuple(range(lead)) + tuple(lead + k for k, n in enumerate(size) if n == 1 != self.shape[lead + k])
        return F.reshape(F.sum(self, axes, True, dtype=self.dtype), size) if axes else self

    def uniform_(self, from_=0.0, to=1.0, *, generator=None):
        """Uniform numbers in [from_, to), in place."""
        return self._assign(F.cast(_random.uniform(self.shape, generator) * (to - from_) + from_, self.dtype))

    def normal_(self, mean=0.0, std=1.0, *, generator=None):
        """Normal numbers, in place."""
        return self._assign(F.cast(_random.normal(self.shape, generator) * std + mean, self.dtype))

    def exponential_(self, lambd=1.0, *, generator=None):
        """Numbers of the exponential distribution, in place."""
        if lambd <= 0:
            raise _check.refused("Tensor.exponential_", "lambd", _check.above(0), lambd)
        return self._assign(F.cast(-F.log1p(-_random.uniform(self.shape, generator)) / lambd, self.dtype))

    def bernoulli_(self, p=0.5, *, generator=None):
        """1 with probability p, else 0, in place."""
        return self._assign(F.cast(_random.uniform(self.shape, generator) < p, self.dtype))

    def register_hook(self, hook_fn):
        """hook_fn(grad) runs when the whole gradient by this tensor is known; what it returns, if not None, goes on in
        its place.

        Within a function that is being differentiated, that is its gradient; elsewhere, each later one by this very
        tensor. Returns a handle whose remove() takes the hook away. TypeError for what can't be called; RuntimeError,
        when the gradient is taken, where the hook returns no Tensor, ValueError where it has another shape or dtype."""
        return hooks.register(self, hook_fn, False)

    def init_data(self, slice_index=None, shape=None, opt_shard_group=None):  # noqa: ARG002
        """Tensors hold data from the start."""
        return self

    @property
    def init(self):
        """None: no initializer is left to run."""
        return None

    @property
    def data(self):
        """The same values, without a gradient."""
        return F.stop_gradient(self)

    def frac(self):
        """What is behind the decimal point, with the sign of self."""
        return F.frac(self)

    def xlogy(self, other):
        """self * log(other), 0 where self is 0."""
        return F.xlogy(self, other)

    def isposinf(self):
        """Which elements are +inf."""
        return F.isposinf(self)

    def isneginf(self):
        """Which elements are -inf."""
        return F.isneginf(self)

    def logaddexp(self, other):
        """log(exp(self) + exp(other)), shifted by the greater one."""
        return F.logaddexp(self, other)

    def reshape_as(self, other):
        """The same elements in other's shape."""
        return F.reshape(self, other.shape)

    def view_as(self, other):
        """The same elements in other's shape."""
        return F.reshape(self, other.shape)

    def ptp(self, axis=None, keepdims=False):
        """Maximum minus minimum."""
        return F.amax(self, axis, keepdims) - F.amin(self, axis, keepdims)

    def expand_as(self, other=None, *, x=None):
        """Broadcast to other's shape."""
        return F.broadcast_to(self, (x if other is None else other).shape)



for _n, _op in (*vars(_Methods).items(), *_OVERLOADED.items()):
    if not _n.startswith("__"):
        if getattr(_op, "__qualname__", "").startswith("_Methods."):
            _op.__qualname__ = f"Tensor.{_n}"  # as errors of calls say it
        setattr(Tensor, _n, _op)


def from_numpy(array: Any) -> Tensor:
    """A tensor with the array's data."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"The input of 'from_numpy' must be a numpy.ndarray, but got {array.__class__.__name__}.")
    return Tensor(array)


def from_dlpack(dlpack: Any, *, copy: bool | None = None) -> Tensor:
    """A tensor with the data of any object that exports DLPack, or of a DLPack capsule, on the device where it lies.

    Tensors are values: as whoever made the data may write to it, it is copied, unless it was made for this call.

    Args:
        dlpack: an object with `__dlpack__` and `__dlpack_device__`, or a capsule.
        copy (bool, optional): False shares the data in any case; what is written to it is then seen here, too.

    Returns:
        Tensor.

    Raises:
        BufferError: the dtype or the device is none of ours, or `copy` is False and sharing isn't possible.

    Example:
        >>> import numpy as np
        >>> import pijit as ms
        >>> ms.Tensor.from_dlpack(np.array([1.0, 2.0])).dtype
        mindspore.float64
    """
    return _C.from_dlpack(dlpack, copy)


def _dlpack(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    """A DLPack capsule with the data: shared, to be read alone, where the other side knows version 1.0; else a copy."""
    return _C.to_dlpack(self, stream, max_version, dl_device, copy)


Tensor.from_numpy = staticmethod(from_numpy)
Tensor.from_dlpack = staticmethod(from_dlpack)
Tensor.__dlpack__ = _dlpack
Tensor.__dlpack_device__ = lambda self: (1 if self.device == "CPU" else 2, 0)
Tensor.T = property(lambda self: self.transpose())
Tensor.arctan2 = Tensor.atan2
Tensor.mT = property(lambda self: F.swapaxes(self, -1, -2))
Tensor.__array_priority__ = 1000
Tensor.__matmul__ = lambda self, other: F.matmul(self, other)
Tensor.__rmatmul__ = lambda self, other: F.matmul(
    Tensor(other) if isinstance(other, (list, tuple, np.ndarray)) else other, self)
Tensor.__round__ = lambda self: F.round(self)
Tensor.__format__ = lambda self, spec: format(self.item() if spec and self.size == 1 else str(self), spec)


def _repr_html(self):
    from pijit.profiling.values_html import tensor_html
    return tensor_html(self)


Tensor._repr_html_ = _repr_html
Tensor.__deepcopy__ = lambda self, memo: self._alias()  # noqa: ARG005
Tensor.__copy__ = lambda self: self._alias()
Tensor.__reduce__ = lambda self: (_rebuild, (self.asnumpy(), self.dtype))
Tensor.__contains__ = lambda self, x: np.asarray(x) in self.asnumpy()


def _rebuild(data, dtype):
    return Tensor(data, dtype)
