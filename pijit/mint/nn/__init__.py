"""Layers under PyTorch's names and arguments (MindSpore's `mint.nn`)."""

from __future__ import annotations

import math as _math
from typing import TYPE_CHECKING

from pijit import _check
from pijit import dtype as _t
from pijit import nn as _nn
from pijit.initializer import HeUniform as _HeUniform
from pijit.initializer import Uniform as _Uniform
from pijit.initializer import initializer as _initializer
from pijit.mint.nn import functional
from pijit.nn.cell import Cell
from pijit.nn.layer.common import positive as _positive
from pijit.ops import function as _F
from pijit.parameter import Parameter

from pijit.nn import (AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool1d, ConstantPad1d,
                      ConstantPad2d, ConstantPad3d,
                      Identity, L1Loss, LogSigmoid, Mish, MSELoss, PixelShuffle, PixelUnshuffle, ReflectionPad1d,
                      ReflectionPad2d, ReflectionPad3d, ReLU,
                      ReplicationPad1d, ReplicationPad2d, ReplicationPad3d, Sigmoid, SoftMarginLoss, Tanh, ZeroPad2d)
from pijit.ops.function.creation import _filled

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import Tensor
    from pijit._types import DTypeLike, Init, Size


class _Function(Cell):
    """A layer that is a function with arguments fixed: the names and defaults of `_arguments`."""

    _function = None
    _arguments = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        names = list(self._arguments)
        if len(args) > len(names):
            raise _check.expected(type(self).__name__, f"at most {len(names)} arguments", len(args), TypeError)
        given = dict(zip(names, args))
        for name in kwargs:
            if name not in self._arguments or name in given:
                raise TypeError(
                    f"For '{type(self).__name__}', the argument {name!r} is not there or given twice; its arguments "
                    f"are {', '.join(names) or 'none'}.")
        values = {**self._arguments, **given, **kwargs}
        for name, v in values.items():
            if v is _REQUIRED:
                raise TypeError(f"For '{type(self).__name__}', the argument {name!r} is missing.")
        self._fixed = values

    def construct(self, *inputs: Any) -> Any:
        return self._function(*inputs, **self._fixed)

    def extend_repr(self) -> str:
        return ", ".join([f"{k}={v}" for k, v in self._fixed.items()])


_REQUIRED = object()


def _layer(name, function, doc, **arguments):
    return type(name, (_Function,),
                {"_function": staticmethod(function), "_arguments": arguments, "__doc__": doc, "__module__": __name__})


Flatten: Any = _layer("Flatten", functional.flatten, "Dimensions merged, as a view.", start_dim=1, end_dim=-1)
ReLU6: Any = _layer("ReLU6", functional.relu6, "Limited to [0, 6].", inplace=False)
ELU = _layer("ELU", functional.elu, "x where x > 0, else alpha * (exp(x) - 1).", alpha=1.0, inplace=False)
SELU = _layer("SELU", _F.selu, "Scaled ELU.")
SiLU: Any = _layer("SiLU", functional.silu, "x * sigmoid(x).", inplace=False)
GELU = _layer("GELU", functional.gelu, "GELU, exactly or in 'tanh' form.", approximate="none")
Hardtanh: Any = _layer("Hardtanh", functional.hardtanh, "Limited to [min_val, max_val].", min_val=-1.0, max_val=1.0,
                       inplace=False)
Hardshrink: Any = _layer("Hardshrink", _F.hardshrink, "0 within [-lambd, lambd].", lambd=0.5)
Softshrink: Any = _layer("Softshrink", _F.softshrink, "Towards 0 by lambd.", lambd=0.5)
Hardsigmoid: Any = _layer("Hardsigmoid", _F.hardsigmoid, "min(max(x / 6 + 1 / 2, 0), 1).")
Hardswish: Any = _layer("Hardswish", _F.hardswish, "x * hardsigmoid(x).")
Threshold: Any = _layer("Threshold", functional.threshold, "x where it is greater than a threshold, else a value.",
                        threshold=_REQUIRED, value=_REQUIRED, inplace=False)
Softmax: Any = _layer("Softmax", functional.softmax, "Softmax along a dimension.", dim=None)
LogSoftmax: Any = _layer("LogSoftmax", functional.log_softmax, "Log-softmax along a dimension.", dim=None)
AvgPool1d: Any = _layer("AvgPool1d", functional.avg_pool1d, "Means of windows.", kernel_size=_REQUIRED, stride=None,
                        padding=0, ceil_mode=False, count_include_pad=True)
AvgPool2d: Any = _layer("AvgPool2d", functional.avg_pool2d, "Means of windows.", kernel_size=_REQUIRED, stride=None,
                        padding=0, ceil_mode=False, count_include_pad=True,
                        divisor_override=None)
AvgPool3d: Any = _layer("AvgPool3d", functional.avg_pool3d, "Means of windows.", kernel_size=_REQUIRED, stride=None,
                        padding=0, ceil_mode=False, count_include_pad=True,
                        divisor_override=None)
MaxPool2d: Any = _layer("MaxPool2d", functional.max_pool2d, "Maxima of windows.", kernel_size=_REQUIRED, stride=None,
                        padding=0, dilation=1, return_indices=False, ceil_mode=False)
AdaptiveMaxPool2d: Any = _layer("AdaptiveMaxPool2d", functional.adaptive_max_pool2d,
                                "Maxima of as many windows as asked for.", output_size=_REQUIRED, return_indices=False)
MaxUnpool2d: Any = _layer("MaxUnpool2d", functional.max_unpool2d, "The inverse of MaxPool2d, zeros elsewhere.",
                          kernel_size=_REQUIRED, stride=None, padding=0)
Fold: Any
Fold = _layer("Fold", _F.fold, "Columns of patches summed into images.", output_size=_REQUIRED, kernel_size=_REQUIRED,
              dilation=1, padding=0, stride=1)
Unfold: Any = _layer("Unfold", _F.unfold, "Patches of images as columns.", kernel_size=_REQUIRED, dilation=1, padding=0,
                     stride=1)
Upsample: Any = _layer("Upsample", _F.interpolate, "Sizes changed.", size=None, scale_factor=None, mode="nearest",
                       align_corners=None, recompute_scale_factor=None)
UpsamplingNearest2d: Any
UpsamplingNearest2d = _layer("UpsamplingNearest2d", _F.interpolate,
                             "Sizes changed, each element that of the nearest place.", size=None, scale_factor=None)
UpsamplingBilinear2d: Any
UpsamplingBilinear2d = _layer("UpsamplingBilinear2d",
                              lambda x, size, scale_factor: _F.interpolate(x, size, scale_factor, "bilinear", True),
                              "Sizes changed, linear between places, corners on corners.", size=None, scale_factor=None)
BCELoss: Any
BCELoss = _layer("BCELoss", _F.binary_cross_entropy, "Cross entropy of probabilities.", weight=None, reduction="mean")
BCEWithLogitsLoss: Any = _layer("BCEWithLogitsLoss", functional.binary_cross_entropy_with_logits,
                                "Cross entropy of sigmoid(logits).", weight=None, reduction="mean", pos_weight=None)
KLDivLoss: Any = _layer("KLDivLoss", functional.kl_div, "target * (log(target) - input).", reduction="mean",
                        log_target=False)
SmoothL1Loss: Any = _layer("SmoothL1Loss", functional.smooth_l1_loss, "Quadratic below beta, linear above.",
                           reduction="mean", beta=1.0)
NLLLoss: Any
NLLLoss = _layer("NLLLoss", _F.nll_loss, "Negative log likelihood.", weight=None, ignore_index=-100, reduction="mean")
CrossEntropyLoss: Any = _layer("CrossEntropyLoss", _F.cross_entropy, "Softmax cross entropy.", weight=None,
                               ignore_index=-100, reduction="mean", label_smoothing=0.0)

CosineEmbeddingLoss: Any
CosineEmbeddingLoss = _layer("CosineEmbeddingLoss", _F.cosine_embedding_loss,
                             "1 - cos of two vectors where the target is 1, max(0, cos - margin) where it is -1.",
                             margin=0.0, reduction="mean")


class Dropout(Cell):
    """Zeroes elements with probability p while training."""

    p: float
    inplace: bool

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.p, self.inplace = p, inplace

    def construct(self, input: Tensor) -> Tensor:
        return functional.dropout(input, self.p, self.training, self.inplace)

    def extend_repr(self) -> str:
        return f"p={self.p}"


class Dropout2d(Dropout):
    """Zeroes whole channels with probability p while training."""

    def construct(self, input: Tensor) -> Tensor:
        return functional.dropout2d(input, self.p, self.training, self.inplace)


class ZeroPad1d(ConstantPad1d):
    """Zeros around the last dimension."""

    def __init__(self, padding: Size) -> None:
        super().__init__(padding, 0)


class ZeroPad3d(ConstantPad3d):
    """Zeros around the last three dimensions."""

    def __init__(self, padding: Size) -> None:
        super().__init__(padding, 0)


class Linear(Cell):
    """x @ weight.T + bias. weight [out_features, in_features]."""

    in_features: int
    out_features: int
    has_bias: bool
    weight: Parameter

    def __init__(self, in_features: int, out_features: int, bias: bool = True, weight_init: Init | None = None,
                 bias_init: Init | None = None, dtype: DTypeLike | None = None) -> None:
        super().__init__()
        self.in_features, self.out_features = (_positive("Linear", "in_features", in_features),
                                               _positive("Linear", "out_features", out_features))
        dtype = _t.float32 if dtype is None else dtype
        self.has_bias, self.bias = bias, None
        self.weight = Parameter(_initializer(_HeUniform(_math.sqrt(5)) if weight_init is None else weight_init,
                                             [out_features, in_features], dtype), name="weight")
        if bias:
            self.bias: Any = Parameter(_initializer(_Uniform(1 / _math.sqrt(in_features)) if bias_init is None
                                                    else bias_init, [out_features], dtype), name="bias")

    def construct(self, x: Tensor) -> Tensor:
        return _F.dense(x, self.weight, self.bias)

    def extend_repr(self) -> str:
        return f"input_features={self.in_features}, output_features={self.out_features}, has_bias={self.has_bias}"


class _Conv(Cell):
    in_channels: int
    out_channels: int
    groups: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: Any
    weight: Parameter
    bias: Parameter | None
    planes = 0

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size = 1, padding: Size = 0,
                 dilation: Size = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros",
                 dtype: DTypeLike | None = None) -> None:
        super().__init__()
        name = type(self).__name__
        for arg, v in (("in_channels", in_channels), ("out_channels", out_channels), ("groups", groups)):
            _positive(name, arg, v)
        if in_channels % groups or out_channels % groups:
            raise _check.refused(name, "groups", _check.value("divide 'in_channels' and 'out_channels'"),
                                 _check.several(groups, in_channels, out_channels))
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise _check.refused(name, "padding_mode", _check.one_of("zeros", "reflect", "replicate", "circular"),
                                 padding_mode)
        self.in_channels, self.out_channels, self.groups, self.padding_mode = (in_channels, out_channels, groups,
            padding_mode)
        self.kernel_size, self.stride, self.dilation = ((v,) * self.planes if isinstance(v, int) else tuple(v)
                                                        for v in (kernel_size, stride, dilation))
        self.padding = (padding if isinstance(padding, str) else (padding,) * self.planes if isinstance(padding, int)
                        else tuple(padding))
        dtype = _t.float32 if dtype is None else dtype
        fan_in = in_channels // groups * _math.prod(self.kernel_size)
        self.weight = Parameter(_initializer(_HeUniform(_math.sqrt(5)),
                                             [out_channels, in_channels // groups, *self.kernel_size], dtype),
                                             name="weight")
        self.bias = (Parameter(_initializer(_Uniform(1 / _math.sqrt(fan_in)), [out_channels], dtype), name="bias")
                     if bias else None)

    def construct(self, input: Tensor) -> Any:
        padding = self.padding
        if self.padding_mode != "zeros" and not isinstance(padding, str):
            border = [v for p in padding[::-1] for v in (p, p)]
            input, padding = _F.pad(input, border, self.padding_mode), 0
        return getattr(functional, f"conv{self.planes}d")(input, self.weight, self.bias,
                                                          self.stride if self.planes > 1 else self.stride[0], padding,
                                                          self.dilation if self.planes > 1 else self.dilation[0],
                                                          self.groups)

    def extend_repr(self) -> str:
        return (f"in_channels={self.in_channels}, out_channels={self.out_channels}, kernel_size={self.kernel_size}, "
                f"stride={self.stride}, "
                f"padding={self.padding}, dilation={self.dilation}, groups={self.groups}, "
                f"bias={self.bias is not None}, padding_mode={self.padding_mode}")


class Conv1d(_Conv):
    """1-d convolution. weight [out_channels, in_channels / groups, k]."""

    planes = 1


class Conv2d(_Conv):
    """2-d convolution. weight [out_channels, in_channels / groups, kh, kw]."""

    planes = 2


class Conv3d(_Conv):
    """3-d convolution. weight [out_channels, in_channels / groups, kd, kh, kw]."""

    planes = 3


class ConvTranspose2d(Cell):
    """Transposed 2-d convolution. weight [in_channels, out_channels / groups, kh, kw]."""

    bias: Parameter | None

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size = 1, padding: Size = 0,
                 output_padding: Size = 0, groups: int = 1, bias: bool = True, dilation: Size = 1,
                 padding_mode: str = "zeros", dtype: DTypeLike | None = None) -> None:
        super().__init__()
        if padding_mode != "zeros":
            raise _check.refused("ConvTranspose2d", "padding_mode", _check.one_of("zeros"), padding_mode)
        kernel = (kernel_size,) * 2 if isinstance(kernel_size, int) else tuple(kernel_size)
        self.options: tuple[Any, ...] = (stride, padding, output_padding, groups, dilation)
        dtype = _t.float32 if dtype is None else dtype
        shape = [in_channels, out_channels // groups, *kernel]
        self.weight: Parameter = Parameter(_initializer(_HeUniform(_math.sqrt(5)), shape, dtype), name="weight")
        self.bias = (Parameter(_initializer(_Uniform(1 / _math.sqrt(shape[1] * kernel[0] * kernel[1])), [out_channels],
                                            dtype), name="bias") if bias else None)

    def construct(self, input: Tensor) -> Tensor:
        return _F.conv_transpose2d(input, self.weight, self.bias, *self.options)


class _BatchNorm(Cell):
    num_features: int
    eps: float
    momentum: float
    affine: bool
    track_running_stats: bool
    running_mean: Parameter | None
    running_var: Parameter | None
    ranks: tuple[Any, ...] = ()

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True,
                 track_running_stats: bool = True, dtype: DTypeLike | None = None) -> None:
        super().__init__()
        n = _positive(type(self).__name__, "num_features", num_features)
        dtype = _t.float32 if dtype is None else dtype
        self.num_features, self.eps, self.momentum, self.affine, self.track_running_stats = (n, eps, momentum, affine,
            track_running_stats)
        self.weight: Parameter | None = Parameter(_initializer("ones", [n], dtype), name="weight") if affine else None
        self.bias: Parameter | None = Parameter(_initializer("zeros", [n], dtype), name="bias") if affine else None
        self.running_mean = (Parameter(_initializer("zeros", [n], dtype), name="running_mean", requires_grad=False)
                             if track_running_stats else None)
        self.running_var = (Parameter(_initializer("ones", [n], dtype), name="running_var", requires_grad=False)
                            if track_running_stats else None)

    def construct(self, input: Tensor) -> Tensor:
        if input.ndim not in self.ranks:
            raise _check.refused(type(self).__name__, "the input", _check.dims(*self.ranks), input.ndim)
        mean, var = self.running_mean, self.running_var
        if not self.track_running_stats:  # those of the batch, in evaluation as well
            mean, var = _F.zeros((self.num_features,), input.dtype), _F.ones((self.num_features,), input.dtype)
        return _F.batch_norm(input, mean, var, self.weight, self.bias, self.training or not self.track_running_stats,
                             self.momentum, self.eps)

    def extend_repr(self) -> str:
        return (
            f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"track_running_stats={self.track_running_stats}")


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of [N, C] or [N, C, L]."""

    ranks: tuple[int, int] = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of [N, C, H, W]."""

    ranks: tuple[int] = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of [N, C, D, H, W]."""

    ranks: tuple[int] = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation across processes: of the one process there is."""

    ranks: tuple[int, int, int, int] = (2, 3, 4, 5)

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True,
                 track_running_stats: bool = True, process_group: Any = None, dtype: DTypeLike | None = None) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype)
        self.process_group = process_group


class GroupNorm(Cell):
    """Normalisation over groups of channels."""

    num_groups: int
    num_channels: int
    eps: float
    affine: bool
    weight: Parameter | None
    bias: Parameter | None

    def __init__(self, num_groups: int, num_channels: Any, eps: float = 1e-5, affine: bool = True,
                 dtype: DTypeLike | None = None) -> None:
        super().__init__()
        self.num_groups, self.num_channels = (_positive("GroupNorm", "num_groups", num_groups),
                                              _positive("GroupNorm", "num_channels", num_channels))
        if num_channels % num_groups:
            raise _check.refused("GroupNorm", "num_channels", _check.multiple("'num_groups'"),
                                 _check.several(num_channels, num_groups))
        dtype = _t.float32 if dtype is None else dtype
        self.eps, self.affine = eps, affine
        self.weight = Parameter(_initializer("ones", [num_channels], dtype), name="weight") if affine else None
        self.bias = Parameter(_initializer("zeros", [num_channels], dtype), name="bias") if affine else None

    def construct(self, input: Tensor) -> Tensor:
        return _F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class LayerNorm(Cell):
    """Normalisation over the last dimensions."""

    normalized_shape: tuple[int, ...]
    eps: float
    elementwise_affine: bool
    weight: Parameter | None

    def __init__(self, normalized_shape: Size, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
                 dtype: DTypeLike | None = None) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        dtype = _t.float32 if dtype is None else dtype
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.weight = (Parameter(_initializer("ones", list(self.normalized_shape), dtype), name="weight")
                       if elementwise_affine else None)
        self.bias: Parameter | None = (Parameter(_initializer("zeros", list(self.normalized_shape), dtype), name="bias")
                                       if elementwise_affine and bias else None)

    def construct(self, input: Tensor) -> Tensor:
        return _F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class PReLU(Cell):
    """x where x > 0, else weight * x, with weights learnt."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, dtype: DTypeLike | None = None) -> None:
        super().__init__()
        self.weight: Parameter = Parameter(_filled((_positive("PReLU", "num_parameters", num_parameters),), init,
                                                   dtype=_t.float32 if dtype is None else dtype), name="weight")

    def construct(self, input: Tensor) -> Tensor:
        return _F.prelu(input, self.weight)


class Embedding(Cell):
    """Rows of a table by index."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    max_norm: float | None
    norm_type: float
    scale_grad_by_freq: bool

    def __init__(self, num_embeddings: Any, embedding_dim: Any, padding_idx: int | None = None,
                 max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                 _weight: Any = None, dtype: DTypeLike | None = None) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = (_positive("Embedding", "num_embeddings", num_embeddings),
                                                   _positive("Embedding", "embedding_dim", embedding_dim))
        self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq = (padding_idx, max_norm, norm_type,
            scale_grad_by_freq)
        table = (_initializer("normal", [num_embeddings, embedding_dim], _t.float32 if dtype is None else dtype)
                 if _weight is None else _weight)
        if padding_idx is not None and _weight is None:
            rows = table.asnumpy().copy()
            rows[padding_idx] = 0
            table = type(table)(rows)
        self.weight: Parameter = Parameter(table, name="weight")

    def construct(self, input: Tensor) -> Tensor:
        return _F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
                            self.scale_grad_by_freq)


__all__ = [n for n, v in globals().items() if n[0] != "_" and isinstance(v, type) and issubclass(v, Cell)
           and v is not Cell]
del _nn
