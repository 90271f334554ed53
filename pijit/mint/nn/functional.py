"""Functions of networks under PyTorch's names and arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import dtype as _t
from pijit._C import views as _views
from pijit.ops import function as _F
from pijit.ops.function.shapes import _flattened

from pijit.mint._arguments import _typed
from pijit.ops.table import FUNCTIONAL as _FUNCTIONAL

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any
    from pijit._C import Tensor
    from pijit._types import Axis, DTypeLike, Size

globals().update(_FUNCTIONAL)
globals().update({_n: getattr(_F, _n) for _n in ("tanh", "sigmoid")})
sigmoid_: Callable[..., Tensor]
relu_: Callable[..., Tensor]
relu_, sigmoid_ = (lambda input: input._assign(_F.relu(input))), (lambda input: input._assign(_F.sigmoid(input)))
relu_.__name__, sigmoid_.__name__ = "relu_", "sigmoid_"
relu_.__doc__, sigmoid_.__doc__ = "max(input, 0), in place.", "The sigmoid, in place."


def _maybe(input, y, inplace):
    return input._assign(y) if inplace else y


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0)."""
    return _maybe(input, _F.relu(input), inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """input limited to [0, 6]."""
    return _maybe(input, _F.relu6(input), inplace)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where it is greater than 0, else alpha * (exp(input) - 1)."""
    return _maybe(input, _F.elu(input, alpha), inplace)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """elu, in place."""
    return elu(input, alpha, True)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """input * sigmoid(input)."""
    return _maybe(input, _F.silu(input), inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Limited to [min_val, max_val]."""
    return _maybe(input, _F.hardtanh(input, min_val, max_val), inplace)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """hardtanh, in place."""
    return hardtanh(input, min_val, max_val, True)


def threshold(input: Tensor, threshold: Any, value: Any, inplace: bool = False) -> Tensor:
    """input where it is greater than a threshold, else a value."""
    return _maybe(input, _F.threshold(input, threshold, value), inplace)


def threshold_(input: Tensor, threshold_: Any, value: Any) -> Tensor:
    """threshold, in place."""
    return threshold(input, threshold_, value, True)


def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """input where it is greater than 0, else negative_slope * input."""
    return _F.leaky_relu(input, negative_slope)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """GELU, exactly or in 'tanh' form."""
    return _F.gelu(input, approximate)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """One half times the sigmoid of the other."""
    return _F.glu(input, dim)


def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """log(1 + exp(beta * input)) / beta."""
    return _F.softplus(input, beta, threshold)


def _last(input, dim):
    return (0 if input.ndim in (0, 1, 3) else 1) if dim is None else dim


def softmax(input: Tensor, dim: Axis | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Softmax along a dimension."""
    return _F.softmax(_typed(input, dtype), _last(input, dim))


def log_softmax(input: Tensor, dim: Axis | None = None, *, dtype: DTypeLike | None = None) -> Tensor:
    """Log-softmax along a dimension."""
    return _F.log_softmax(_typed(input, dtype), _last(input, dim))


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias."""
    return _F.dense(input, weight, bias)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Elements zeroed with probability p, the others scaled by 1 / (1 - p)."""
    return _maybe(input, _F.dropout(input, p, training), inplace)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels zeroed with probability p, the others scaled by 1 / (1 - p)."""
    return _maybe(input, _F.dropout2d(input, p, training), inplace)


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions merged."""
    return _flattened(_views, input, "C", start_dim, end_dim)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Rows (int64) with 1 at the index; as many as the greatest index needs where num_classes is -1."""
    if num_classes == -1:
        num_classes = int(_F.amax(tensor)) + 1
    return _F.one_hot(tensor, num_classes, 1, 0)


def pad(input: Tensor, pad: Size, mode: str = "constant", value: Any = None) -> Tensor:
    """A border around the last dimensions."""
    return _F.pad(input, pad, mode, value)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """input / max(its p-norm along a dimension, eps)."""
    return input / _F.clamp(_F.vector_norm(input, p, dim, True), eps, None)


def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool | None = None) -> Tensor:
    """input at the places that grid says."""
    return _F.grid_sample(input, grid, mode, padding_mode, bool(align_corners))


def upsample(input: Tensor, size: Any = None, scale_factor: float | Sequence[float] = None, mode: str = "nearest",
             align_corners: bool | None = None) -> Tensor:
    """As interpolate."""
    return _F.interpolate(input, size, scale_factor, mode, align_corners)


def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Quadratic below beta, linear above."""
    return _F.smooth_l1_loss(input, target, beta, reduction) if beta else _F.l1_loss(input, target, reduction)


def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                     reduction: str = "mean", pos_weight: Tensor | None = None) -> Tensor:
    """Cross entropy of sigmoid(input)."""
    return _F.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


def kl_div(input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """target * (log(target) - input); log_target: target holds logarithms."""
    if log_target:
        y = _F.exp(target) * (target - input)
        if reduction == "batchmean":
            return _F.sum(y) / input.shape[0]
        return _F.mean(y) if reduction == "mean" else _F.sum(y) if reduction == "sum" else y
    return _F.kl_div(input, target, reduction)


def _conv(fn, planes):
    def conv(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        if padding in ("same", "valid"):
            return fn(input, weight, bias, stride, padding, 0, dilation, groups)
        p = (padding,) * planes if isinstance(padding, int) else tuple(padding) * (planes if len(padding) == 1 else 1)
        if planes == 1:
            return fn(input, weight, bias, stride, "pad", p[0], dilation, groups)
        return fn(input, weight, bias, stride, "pad", tuple([v for v in p for _ in (0, 1)]), dilation, groups)
    conv.__name__ = conv.__qualname__ = f"conv{planes}d"
    conv.__doc__ = f"{planes}-d convolution. padding: a number, one per dimension, 'valid' or 'same'."
    return conv


conv3d: Callable[..., Tensor]
conv2d: Callable[..., Tensor]
conv1d: Callable[..., Tensor]
conv1d, conv2d, conv3d = _conv(_F.conv1d, 1), _conv(_F.conv2d, 2), _conv(_F.conv3d, 3)


def avg_pool1d(input: Tensor, kernel_size: Size, stride: Size | None = None, padding: Size = 0, ceil_mode: bool = False,
               count_include_pad: bool = True) -> Tensor:
    """Means of windows."""
    return _F.avg_pool1d(input, kernel_size, kernel_size if stride is None else stride, padding, ceil_mode,
                         count_include_pad)


def avg_pool2d(input: Tensor, kernel_size: Size, stride: Size | None = None, padding: Size = 0, ceil_mode: bool = False,
               count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """Means of windows."""
    return _F.avg_pool2d(input, kernel_size, kernel_size if stride is None else stride, padding, ceil_mode,
                         count_include_pad, divisor_override or 0)


def avg_pool3d(input: Tensor, kernel_size: Size, stride: Size | None = None, padding: Size = 0, ceil_mode: bool = False,
               count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """Means of windows."""
    return _F.avg_pool3d(input, kernel_size, kernel_size if stride is None else stride, padding, ceil_mode,
                         count_include_pad, divisor_override or 0)


def max_pool2d(input: Tensor, kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1, *,
               ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """Maxima of windows; on request with their places."""
    return _F.max_pool2d(input, kernel_size, stride, padding, dilation, return_indices, ceil_mode)


def adaptive_max_pool1d(input: Tensor, output_size: Size, return_indices: bool = False) -> Any:
    """Maxima of as many windows as asked for."""
    if not return_indices:
        return _F.adaptive_max_pool1d(input, output_size)
    n = output_size[0] if isinstance(output_size, (tuple, list)) else output_size
    y, at = _F.adaptive_max_pool2d(_F.expand_dims(input, -2), (1, n), True)
    return _F.squeeze(y, -2), _F.cast(_F.squeeze(at, -2), _t.int64)


def adaptive_max_pool2d(input: Tensor, output_size: Size, return_indices: bool = False) -> Any:
    """Maxima of as many windows as asked for."""
    return _F.adaptive_max_pool2d(input, output_size, return_indices)


__all__ = [n for n, v in globals().items() if n[0] != "_" and callable(v)]
