"""Operators as primitives: `ops.Add()(x, y)`. Each wraps a function of `pijit.ops.function`.

Here stand those that layers use, and simple ones; the families behind `_FAMILIES` are loaded, all at once, where one of
their names is asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from pijit import _check
from pijit import compat
from pijit import dtype as mstype
from pijit._C import Tensor, ops as _ops
from pijit.compute_dtype import gives_compute_dtype, in_compute_dtype
from pijit.ops import function as F
from pijit.ops.primitive import (  # noqa: F401
    Primitive, PrimitiveWithCheck, PrimitiveWithInfer, prim_arg_register, prim_attr_register)
from pijit.ops.function.elementwise import _in_dtype_of, _need_tensor
from pijit.ops.function.convolution import _no_padding
from pijit.ops.function.shapes import _format, _same_shape
from pijit.ops.function.parameter import _changed
from pijit.ops.table import OPS as _OPS, PRIMITIVES as _PRIMITIVES

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import DType
    from pijit._types import Axis, Number, Shape, Size, TensorLike


def _simple(name, fn, doc):
    def __call__(self: Any, *args: Any) -> Any:
        return fn(*args)
    return type(name, (Primitive,), {"__call__": __call__, "__doc__": doc, "__module__": __name__})


def _identity(x):
    _need_tensor("Identity", "x", x)
    return in_compute_dtype(x)._held()


_identity.__name__ = "identity"
_SIMPLE = {name: _ops[row.op] for row in _OPS for name in row.primitives}
_SIMPLE |= _PRIMITIVES
_SIMPLE |= {name: gives_compute_dtype(_PRIMITIVES[name]) for name in ("ZerosLike", "OnesLike")}
_SIMPLE |= {"Identity": _identity, "ComplexAbs": lambda x: F.real(F.abs(x))}
for _name, _fn in _SIMPLE.items():
    globals()[_name] = _simple(_name, _fn, f"Primitive of ops.{getattr(_fn, '__name__', _name.lower())}.")


def _keeping(name, fn, doc):
    """A primitive whose result has its first input's dtype, that of ints too."""
    def __call__(self: Any, x: Tensor, *args: Any) -> Any:
        y = fn(x, *args)
        return (y if not isinstance(x, Tensor) or x.dtype.is_floating_point or x.dtype in mstype.complex_type
                or x.dtype == mstype.bool_ else F.cast(y, x.dtype))
    return type(name, (Primitive,), {"__call__": __call__, "__doc__": doc, "__module__": __name__})


Inv: Any = _keeping("Inv", F.reciprocal, "1 / x, in x's dtype: of ints rounded towards 0.")
RealDiv: Any = _keeping("RealDiv", _ops["div"], "x / y, in x's dtype: of ints rounded towards 0.")
HSigmoid: Any = _keeping("HSigmoid", F.hardsigmoid, "relu6(x + 3) / 6, in x's dtype: of ints rounded towards 0.")


class DynamicShape(Primitive):
    """The shape as a vector of int64."""

    def __init__(self, dtype: DType = 9) -> None:
        super().__init__()
        self.dtype = dtype

    def __call__(self, x: Tensor) -> Tensor:
        return F.dyn_shape(x)


class Round(Primitive):
    """To the nearest integer, ties to even; or to so many decimals."""

    def __call__(self, x: Tensor, decimals: int = 0) -> Tensor:
        return F.round(x, decimals=decimals)


class MatMul(Primitive):
    """Matrix product of 2-d tensors."""

    transpose_a: bool
    transpose_b: bool

    def __init__(self, transpose_a: bool = False, transpose_b: bool = False) -> None:
        super().__init__()
        self.transpose_a, self.transpose_b = transpose_a, transpose_b

    def __call__(self, x: Tensor, y: TensorLike) -> Tensor:
        for name, t in (("x", x), ("y", y)):
            if isinstance(t, Tensor) and t.ndim != 2:
                raise _check.refused("MatMul", name, _check.dims(2), t.ndim)
        return _ops["matmul"](x, y, self.transpose_a, self.transpose_b)


class BatchMatMul(MatMul):
    """Matrix product over the last two dimensions, of tensors whose others are the same."""

    def __call__(self, x: Tensor, y: TensorLike) -> Tensor:
        if isinstance(x, Tensor) and isinstance(y, Tensor) and x.shape[:-2] != y.shape[:-2]:
            raise _check.refused("BatchMatMul", "all dimensions but the last two", _check.value("be the same"),
                                 _check.several(x.shape, y.shape))
        return _ops["matmul"](x, y, self.transpose_a, self.transpose_b)


class BroadcastTo(Primitive):
    """Broadcast to a fixed shape."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape: tuple[int, ...] = tuple(shape)

    def __call__(self, x: Tensor) -> Tensor:
        return F.broadcast_to(x, self.shape)


class StridedSlice(Primitive):
    """Python slices per axis, with masks as in ops.strided_slice."""

    masks: tuple[int, int, int, int, int]

    def __init__(self, begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0,
                 shrink_axis_mask: int = 0) -> None:
        super().__init__()
        self.masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)

    def __call__(self, input_x: Tensor, begin: Shape, end: Shape, strides: Shape) -> Tensor:
        return F.strided_slice(input_x, begin, end, strides, *self.masks)


class Gather(Primitive):
    """Slices of one axis by index."""

    def __init__(self, batch_dims: int = 0) -> None:
        super().__init__()
        self.batch_dims = batch_dims

    def __call__(self, input_params: Tensor, input_indices: Tensor, axis: Axis) -> Tensor:
        return F.gather(input_params, input_indices, axis, self.batch_dims)


GatherV2 = Gather


class Range(Primitive):
    """Values from start to limit (not included) by delta, at most maxlen of them."""

    def __init__(self, maxlen: int = 1000000) -> None:
        super().__init__()
        self.maxlen = maxlen

    def __call__(self, start: Number, limit: Any, delta: Any) -> Tensor:
        return F.range(start, limit, delta, maxlen=self.maxlen)


class BiasAdd(Primitive):
    """A bias per channel (axis 1)."""

    def __init__(self, data_format: str = "NCHW") -> None:
        super().__init__()
        if data_format != "NCDHW":  # channels on axis 1 as well
            _format("BiasAdd", data_format)

    def __call__(self, input_x: Tensor, bias: Tensor) -> Tensor:
        return F.bias_add(input_x, bias)


class _Reduce(Primitive):
    def __init__(self, keep_dims: bool = False) -> None:
        super().__init__()
        self.keep_dims = keep_dims


class ReduceSum(_Reduce):
    """Sums over axes; () means all, or none with skip_mode."""

    def __init__(self, keep_dims: bool = False, skip_mode: bool = False) -> None:
        super().__init__(keep_dims)
        self.skip_mode = skip_mode

    def __call__(self, x: Tensor, axis: Axis = ()) -> Tensor:
        if axis == () and self.skip_mode:
            return x
        return F.sum(x, None if axis == () else axis, self.keep_dims, dtype=x.dtype)


def _reduce(name, fn):
    def __call__(self: Any, x: Tensor, axis: Axis = ()) -> Any:
        return fn(x, None if axis == () else axis, self.keep_dims)
    return type(name, (_Reduce,),
                {"__call__": __call__, "__doc__": f"{name} over axes; () means all.", "__module__": __name__})


ReduceProd: Any
ReduceMean: Any
ReduceMean, ReduceProd = (_reduce("ReduceMean", F.mean),
                          _reduce("ReduceProd", lambda x, axis, keep: F.prod(x, axis, keep, x.dtype)))
ReduceMin: Any
ReduceMax: Any
ReduceMax, ReduceMin = _reduce("ReduceMax", F.amax), _reduce("ReduceMin", F.amin)
ReduceAny: Any
ReduceAll: Any
ReduceAll, ReduceAny = _reduce("ReduceAll", F.all), _reduce("ReduceAny", F.any)


class _Axis(Primitive):
    default = 0

    def __init__(self, axis: Axis | None = None) -> None:
        super().__init__()
        self.axis: Axis = self.default if axis is None else axis


class Concat(_Axis):
    """Joined along an existing axis."""

    def __call__(self, xs: Any) -> Tensor:
        return F.cat(xs, self.axis)


class Stack(_Axis):
    """Joined along a new axis."""

    def __call__(self, xs: Any) -> Tensor:
        return F.stack(xs, self.axis)


class Softmax(_Axis):
    """Softmax along one axis."""

    default = -1

    def __call__(self, x: Tensor) -> Tensor:
        return F.softmax(x, self.axis)


class LogSoftmax(Softmax):
    """Log-softmax along one axis."""

    def __call__(self, x: Tensor) -> Tensor:
        return F.log_softmax(x, self.axis)


class Squeeze(Primitive):
    """Dimensions of 1 removed."""

    def __init__(self, axis: Axis = ()) -> None:
        super().__init__()
        self.axis = axis

    def __call__(self, x: Tensor) -> Tensor:
        return F.squeeze(x, None if self.axis == () else self.axis)


class Argmax(Primitive):
    """Index of the maximum, as output_type."""

    axis: Axis
    output_type: DType

    def __init__(self, axis: Axis = -1, output_type: DType = mstype.int32) -> None:
        super().__init__()
        self.axis, self.output_type = axis, output_type

    def __call__(self, x: Tensor) -> Tensor:
        return F.cast(F.argmax(x, self.axis), self.output_type)


class Argmin(Argmax):
    """Index of the minimum, as output_type."""

    def __call__(self, x: Tensor) -> Tensor:
        return F.cast(F.argmin(x, self.axis), self.output_type)


class ArgMaxWithValue(Primitive):
    """(index, value) of the maximum along one axis."""

    axis: Axis
    keep_dims: bool

    def __init__(self, axis: Axis = 0, keep_dims: bool = False) -> None:
        super().__init__()
        self.axis, self.keep_dims = axis, keep_dims

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return F.cast(F.argmax(x, self.axis, self.keep_dims), mstype.int64), F.amax(x, self.axis, self.keep_dims)


class CumSum(Primitive):
    """Running sums."""

    exclusive: bool
    reverse: bool

    def __init__(self, exclusive: bool = False, reverse: bool = False) -> None:
        super().__init__()
        self.exclusive, self.reverse = exclusive, reverse

    def __call__(self, x: Tensor, axis: Axis) -> Tensor:
        y = _ops["cumsum"](x, axis, self.reverse)
        return y - x if self.exclusive else y


class OneHot(Primitive):
    """Rows with on_value at the index."""

    def __init__(self, axis: Axis = -1) -> None:
        super().__init__()
        self.axis = axis

    def __call__(self, indices: Tensor, depth: int, on_value: Any, off_value: Any) -> Tensor:
        return F.one_hot(indices, depth, on_value, off_value, self.axis)


class Split(Primitive):
    """Equal pieces along one axis."""

    axis: Axis
    output_num: int

    def __init__(self, axis: Axis = 0, output_num: int = 1) -> None:
        super().__init__()
        self.axis, self.output_num = axis, output_num

    def __call__(self, x: Tensor) -> tuple[Tensor, ...]:
        if not -x.ndim <= self.axis < x.ndim or x.shape[self.axis] % self.output_num:
            raise ValueError(
                f"For 'Split', axis {self.axis} of a shape {tuple(x.shape)} can't be divided into {self.output_num} "
                f"equal pieces.")
        return F.split(x, x.shape[self.axis] // self.output_num, self.axis)


class Pad(Primitive):
    """Zeros around a tensor: a pair per dimension."""

    def __init__(self, paddings: Any) -> None:
        super().__init__()
        self.paddings = paddings

    def __call__(self, x: Tensor) -> Tensor:
        return _ops["pad"](x, tuple([p[0] for p in self.paddings]), tuple([p[1] for p in self.paddings]), 0.0)


class Flatten(Primitive):
    """All dimensions but the first merged."""

    def __call__(self, x: Tensor) -> Tensor:
        return F.flatten(x) if x.ndim != 1 else F.reshape(x, (x.shape[0], 1))


class GeLU(Primitive):
    """GELU in tanh form."""

    def __call__(self, x: Tensor) -> Tensor:
        return F.gelu(x, "tanh")


Gelu = GeLU


class Elu(Primitive):
    """Exponential linear unit."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def __call__(self, x: Tensor) -> Tensor:
        return F.elu(x, self.alpha)


class Dropout(Primitive):
    """(output, mask) of dropout that keeps elements with probability keep_prob."""

    def __init__(self, keep_prob: float = 0.5, Seed0: int = 0, Seed1: int = 0) -> None:
        super().__init__()
        self.keep_prob = keep_prob

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mask = F.rand(*x.shape) < self.keep_prob
        return F.select(mask, x * (1.0 / self.keep_prob), 0.0), F.cast(mask, x.dtype)


class Conv2D(Primitive):
    """2-d convolution."""

    out_channel: Any
    kernel_size: tuple[int, ...]
    pad_mode: str
    pad: Size
    stride: Size
    dilation: Size
    group: int

    def __init__(self, out_channel: Any, kernel_size: Size, mode: int = 1, pad_mode: str = "valid", pad: Size = 0,
                 stride: Size = 1, dilation: Size = 1, group: int = 1, data_format: str = "NCHW") -> None:
        super().__init__()
        _format("Conv2D", data_format)
        if mode != 1:
            raise _check.refused("Conv2D", "mode", _check.one_of(1), mode)
        _no_padding("Conv2D", pad_mode, pad)
        self.out_channel, self.kernel_size = (out_channel,
                                              (kernel_size, kernel_size) if isinstance(kernel_size, int)
                                              else tuple(kernel_size))
        self.pad_mode, self.pad, self.stride, self.dilation, self.group = pad_mode, pad, stride, dilation, group

    def __call__(self, x: Tensor, w: Any) -> Tensor:
        if w.ndim == 4 and (w.shape[0] != self.out_channel or w.shape[2:] != self.kernel_size):
            raise _check.refused("Conv2D", "the weight",
                                 _check.shape((self.out_channel, w.shape[1], *self.kernel_size)), w.shape)
        return F.conv2d(x, w, None, self.stride, self.pad_mode, self.pad, self.dilation, self.group)


class MaxPool(Primitive):
    """Maxima of windows."""

    kernel_size: Size
    strides: Size
    pad_mode: str

    def __init__(self, kernel_size: Size = 1, strides: Size = 1, pad_mode: str = "valid",
                 data_format: str = "NCHW") -> None:
        super().__init__()
        _format(type(self).__name__, data_format)
        self.kernel_size, self.strides, self.pad_mode = kernel_size, strides, pad_mode

    def __call__(self, x: Tensor) -> Any:
        return F.max_pool2d(x, self.kernel_size, self.strides, pad_mode=self.pad_mode)


class AvgPool(MaxPool):
    """Means of windows."""

    def __call__(self, x: Tensor) -> Tensor:
        return F.avg_pool2d(x, self.kernel_size, self.strides, count_include_pad=False, pad_mode=self.pad_mode)


class SoftmaxCrossEntropyWithLogits(Primitive):
    """(loss, gradient) for labels given as probabilities."""

    def __call__(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        _same_shape("SoftmaxCrossEntropyWithLogits", logits=logits, labels=labels)
        return -F.sum(F.log_softmax(logits, -1) * labels, -1), F.softmax(logits, -1) - labels


class SigmoidCrossEntropyWithLogits(Primitive):
    """Elementwise cross entropy of sigmoid(logits)."""

    def __call__(self, logits: Tensor, label: Tensor) -> Tensor:
        _same_shape("SigmoidCrossEntropyWithLogits", logits=logits, label=label)
        return F.binary_cross_entropy_with_logits(logits, label, reduction="none")


class L2Loss(Primitive):
    """sum(x^2) / 2."""

    def __call__(self, x: Tensor) -> Tensor:
        return F.sum(F.square(x)) * 0.5


class _ScatterUpdate(Primitive):
    """Changes a Parameter at rows given by indices, in the order of the indices, and gives its new value.

    Indices of the first axis, of any shape; updates have their shape, then a row's. Raises IndexError for indices out
    of range."""

    mode = "update"

    def __init__(self, use_locking: bool = False) -> None:
        super().__init__()
        self.use_locking = use_locking

    def _indices(self, indices):
        return F.reshape(indices, (*indices.shape, 1))

    def __call__(self, input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        return _changed(input_x, _ops["scatter_nd"](input_x, self._indices(indices), updates, mode=self.mode))


class _ScatterNdUpdate(_ScatterUpdate):
    """The same for elements or slices given by their first coordinates, the last axis of indices."""

    def _indices(self, indices):
        return indices


def _scatter(name, base, mode):
    return type(name, (base,), {"mode": mode, "__doc__": base.__doc__, "__module__": __name__})


ScatterNdUpdate: Any
ScatterUpdate: Any
ScatterUpdate, ScatterNdUpdate = (_scatter("ScatterUpdate", _ScatterUpdate, "update"),
                                  _scatter("ScatterNdUpdate", _ScatterNdUpdate, "update"))
ScatterMul: Any
ScatterSub: Any
ScatterAdd: Any
ScatterAdd, ScatterSub, ScatterMul = (_scatter("ScatterAdd", _ScatterUpdate, "add"),
                                      _scatter("ScatterSub", _ScatterUpdate, "sub"),
                                      _scatter("ScatterMul", _ScatterUpdate, "mul"))
ScatterMin: Any
ScatterMax: Any
ScatterDiv: Any
ScatterDiv, ScatterMax, ScatterMin = (_scatter("ScatterDiv", _ScatterUpdate, "div"),
                                      _scatter("ScatterMax", _ScatterUpdate, "max"),
                                      _scatter("ScatterMin", _ScatterUpdate, "min"))
ScatterNdSub: Any
ScatterNdAdd: Any
ScatterNdAdd, ScatterNdSub = (_scatter("ScatterNdAdd", _ScatterNdUpdate, "add"),
                              _scatter("ScatterNdSub", _ScatterNdUpdate, "sub"))
ScatterNdDiv: Any
ScatterNdMul: Any
ScatterNdMul, ScatterNdDiv = (_scatter("ScatterNdMul", _ScatterNdUpdate, "mul"),
                              _scatter("ScatterNdDiv", _ScatterNdUpdate, "div"))
ScatterNdMin: Any
ScatterNdMax: Any
ScatterNdMax, ScatterNdMin = (_scatter("ScatterNdMax", _ScatterNdUpdate, "max"),
                              _scatter("ScatterNdMin", _ScatterNdUpdate, "min"))
ScatterNonAliasingAdd: Any = _scatter("ScatterNonAliasingAdd", _ScatterNdUpdate, "add")


class InplaceAdd(Primitive):
    """x with v added to the rows `indices`: a new tensor.

    InplaceSub, InplaceUpdate: the same with another operation."""

    put: Any = staticmethod(F.inplace_add)

    def __init__(self, indices: Any) -> None:
        super().__init__()
        self.indices: tuple[int, ...] = (indices,) if isinstance(indices, int) else tuple(indices)

    def __call__(self, x: Tensor, v: Tensor) -> Tensor:
        return self.put(x, v, self.indices)


class InplaceSub(InplaceAdd):
    """Rows minus v."""

    put: Any = staticmethod(F.inplace_sub)


class InplaceUpdate(InplaceAdd):
    """Rows replaced by v."""

    put: Any = staticmethod(F.inplace_update)


class EmbeddingLookup(Primitive):
    """Rows `input_indices - offset` of input_params; zeros where that is out of range."""

    def __call__(self, input_params: Any, input_indices: Any, offset: int) -> Tensor:
        rows = input_indices - offset
        inside = (rows >= 0) & (rows < input_params.shape[0])
        found = _ops["gather"](input_params, F.select(inside, rows, F.zeros_like(rows)), axis=0)
        return F.select(F.reshape(inside, (*inside.shape, *[1] * (input_params.ndim - 1))), found, F.zeros_like(found))


class Unique(Primitive):
    """(values in the order of their first appearance, the place of each element's value among them)."""

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return F.unique(x)


class CumProd(Primitive):
    """Running products; exclusive: without the element itself; reverse: from the end."""

    exclusive: bool
    reverse: bool

    def __init__(self, exclusive: bool = False, reverse: bool = False) -> None:
        super().__init__()
        self.exclusive, self.reverse = exclusive, reverse

    def __call__(self, x: Tensor, axis: Axis) -> Tensor:
        axis = axis + x.ndim if axis < 0 else axis
        if self.reverse:
            x = F.flip(x, (axis,))
        y = F.cumprod(x, axis)
        if self.exclusive:
            size = y.shape[axis]
            first = F.ones((*y.shape[:axis], min(size, 1), *y.shape[axis + 1:]), y.dtype)
            y = F.cat([first, y[(slice(None),) * axis + (slice(0, max(size - 1, 0)),)]], axis)
        return F.flip(y, (axis,)) if self.reverse else y


class NanToNum(Primitive):
    """NaN and infinities replaced; None: 0 and the greatest and least finite values."""

    nan: Any
    posinf: Any
    neginf: Any

    def __init__(self, nan: Any = None, posinf: Any = None, neginf: Any = None) -> None:
        super().__init__()
        self.nan, self.posinf, self.neginf = nan, posinf, neginf

    def __call__(self, x: Tensor) -> Tensor:
        return F.nan_to_num(x, 0.0 if self.nan is None else self.nan, self.posinf, self.neginf)


class LayerNorm(Primitive):
    """(normalised and scaled x, means, variances) over the axes from begin_norm_axis on."""

    begin_norm_axis: int
    begin_params_axis: int
    epsilon: float

    def __init__(self, begin_norm_axis: int = 1, begin_params_axis: int = 1, epsilon: float = 1e-7) -> None:
        super().__init__()
        self.begin_norm_axis, self.begin_params_axis, self.epsilon = begin_norm_axis, begin_params_axis, epsilon

    def __call__(self, input_x: Tensor, gamma: Any, beta: Any) -> tuple[Tensor | Any, Tensor, Tensor]:
        begin = self.begin_norm_axis + (input_x.ndim if self.begin_norm_axis < 0 else 0)
        axes = tuple(range(begin, input_x.ndim))
        if gamma.shape == input_x.shape[begin:]:
            y = F.layer_norm(input_x, input_x.shape[begin:], gamma, beta, self.epsilon)
        else:
            y = _in_dtype_of(input_x, F.layer_norm(input_x, input_x.shape[begin:], None, None, self.epsilon) * gamma
                             + beta)
        wide = F.cast(input_x, mstype.float32)
        return y, F.mean(wide, axes, True), _ops["variance"](wide, axis=axes, keepdims=True)


class MaxPoolWithArgmax(Primitive):
    """(maxima of windows, their places among the elements of all channels, as int32)."""

    kernel_size: Size
    strides: Size
    pad_mode: str

    def __init__(self, kernel_size: Size = 1, strides: Size = 1, pad_mode: str = "valid",
                 data_format: str = "NCHW") -> None:
        super().__init__()
        _format("MaxPoolWithArgmax", data_format)
        self.kernel_size, self.strides, self.pad_mode = kernel_size, strides, pad_mode

    def __call__(self, x: Tensor) -> tuple[Any, Tensor]:
        y, places = F.max_pool2d(x, self.kernel_size, self.strides, return_indices=True, pad_mode=self.pad_mode)
        _, c, h, w = x.shape
        return y, F.cast(places + F.reshape(F.arange(c), (c, 1, 1)) * (h * w), mstype.int32)


class BatchNorm(Primitive):
    """(normalised and scaled x, means, variances, the two again).

    In training those of the batch, and `mean` and `variance` are updated."""

    is_training: bool
    epsilon: float
    momentum: float

    def __init__(self, is_training: bool = False, epsilon: float = 1e-5, momentum: float = 0.1,
                 data_format: str = "NCHW") -> None:
        super().__init__()
        _format("BatchNorm", data_format)
        self.is_training, self.epsilon, self.momentum = is_training, epsilon, momentum

    def __call__(self, input_x: Tensor, scale: Any, bias: Tensor, mean: TensorLike, variance: Any) -> Any:
        if not self.is_training:
            return (F.batch_norm(input_x, mean, variance, scale, bias, False, self.momentum, self.epsilon), mean,
                    variance, mean, variance)
        axes = (0,) + tuple(range(2, input_x.ndim))
        m, v = F.mean(input_x, axes), F.var(input_x, axes, 0)
        y = F.batch_norm(input_x, mean, variance, scale, bias, True, self.momentum, self.epsilon)
        return y, m, v, m, v


class SparseGatherV2(Primitive):
    """Slices of one axis by index."""

    def __call__(self, input_params: Tensor, input_indices: Tensor, axis: Axis) -> Tensor:
        return F.gather(input_params, input_indices, axis)


class InplaceIndexAdd(Primitive):
    """Adds updates to the slices `indices` of one axis of a Parameter."""

    def __init__(self, axis: Axis) -> None:
        super().__init__()
        self.axis = axis

    def __call__(self, var: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        return F.inplace_index_add(var, indices, updates, self.axis)


class BesselI0(Primitive):
    """The modified Bessel function of order 0."""

    def __call__(self, x: Tensor) -> Tensor:
        return F.i0(x)


_HERE = [n for n in globals() if n[0].isupper() and n != "TYPE_CHECKING"] + ["prim_arg_register", "prim_attr_register"]
_FAMILIES = ("array debug image linalg math nn optimizer pooling random recurrent sparse "
             "sparse_optimizer spectral").split()


def _load():
    """The names of this module and its families, which are loaded, with their values."""
    found = {n: globals()[n] for n in _HERE}
    for family in _FAMILIES:
        module = importlib.import_module(f"pijit.ops.{family}_primitives")
        found.update({n: getattr(module, n) for n in module.__all__ if n not in _HERE})
    together = importlib.import_module("pijit.ops.communication")
    found.update(AllReduce=together.AllReduce, ReduceOp=together.ReduceOp)
    globals().update(found)
    return found


__getattr__, __dir__ = compat.names(__name__, load=lambda name: _load().get(name) if name[:1].isupper() else None,
                                    known=lambda: list(_load()))

if TYPE_CHECKING:  # what pijit/ops/table.py names is made when the module is loaded, or later
    def __getattr__(name: str) -> Any: ...
