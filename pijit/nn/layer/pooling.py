"""Pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit.nn.cell import Cell
from pijit.nn.layer.common import OperatorCell, pair, positive
from pijit.ops import function as F
from pijit.ops import primitives as P
from pijit.ops.function.convolution import _conv_pad
from pijit.ops.function.shapes import _format

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import Tensor
    from pijit._types import Number, Size


class _Windows(OperatorCell):
    """A layer that slides windows, with its printed form."""

    def _keep(self, kernel_size, stride, pad_mode):
        for name, size in (("kernel_size", kernel_size), ("stride", stride)):
            if not isinstance(size, (int, tuple, list)):
                raise _check.refused(type(self).__name__, name, _check.type_("an int or a tuple of ints"), size)
        self._said = f"kernel_size={kernel_size}, stride={stride}, pad_mode={pad_mode.upper()}"

    def extend_repr(self) -> str:
        return self._said


class MaxPool2d(_Windows):
    """Maxima of windows of [N, C, H, W].

    Args:
        kernel_size (int or tuple, optional): the size of windows. Default: 1.
        stride (int or tuple, optional): the distance between windows. Default: 1.
        pad_mode (str, optional): 'valid' (no border), 'same' (the size divided by the stride) or 'pad' (as
            `padding` says). Default: 'valid'.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        dilation (int or tuple, optional): the distance between the elements of a window. Default: 1.
        return_indices (bool, optional): whether to give the places as well. Default: False.
        ceil_mode (bool, optional): whether the last window may reach beyond the end. Default: False.
        data_format (str, optional): 'NCHW' (of three axes 'NCDHW'), the one format there is. Default: 'NCHW'.

    Inputs:
        x: Tensor [N, C, H, W].

    Outputs:
        Tensor [N, C, h, w], or two.

    Raises:
        TypeError: if `kernel_size` is not an int, or `stride` is not an int.
        ValueError: if `kernel_size` is below 1, or `stride` is below 1, or `return_indices` is not a bool, or
            `ceil_mode` is not a bool, or `data_format` is not one of those named, or `padding` is out of range.

    Example:
        >>> print(nn.MaxPool2d(2, 2)(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]])))
        [[[[4.]]]]
    """

    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    pad_mode: str
    padding: Size
    dilation: tuple[int, ...]
    return_indices: bool
    ceil_mode: bool

    def __init__(self, kernel_size: Size = 1, stride: Size = 1, pad_mode: str = "valid", padding: Size = 0,
                 dilation: Size = 1, return_indices: bool = False, ceil_mode: bool = False,
                 data_format: str = "NCHW") -> None:
        super().__init__()
        self._keep(kernel_size, stride, pad_mode)
        _format("MaxPool2d", data_format)
        if pad_mode != "pad" and (padding or return_indices or ceil_mode or pair(dilation) != (1, 1)):
            raise _check.needs("MaxPool2d", "'padding', 'dilation', 'return_indices' or 'ceil_mode'", "pad_mode 'pad'")
        self.kernel_size, self.stride, self.pad_mode, self.padding = pair(kernel_size), pair(stride), pad_mode, padding
        for k in self.kernel_size + self.stride:
            positive("MaxPool2d", "kernel_size and stride", k)
        if any(2 * p > k for p, k in zip(pair(padding), self.kernel_size)):
            raise _check.refused("MaxPool2d", "padding", _check.at_most(f"half of kernel_size {self.kernel_size}"),
                                 padding)
        self.dilation, self.return_indices, self.ceil_mode = pair(dilation), return_indices, ceil_mode
        self.use_pad: bool = pad_mode == "pad"
        if not self.use_pad:
            self.max_pool: Any = P.MaxPool(self.kernel_size, self.stride, pad_mode)

    def construct(self, x: Tensor) -> Any:
        if not self.use_pad:
            return self.max_pool(x)
        return F.max_pool2d(x, self.kernel_size, self.stride, self.padding, self.dilation, self.return_indices,
                            self.ceil_mode, pad_mode=self.pad_mode)


def _average(cell):
    """The operator of a layer's means of windows."""
    if cell.pad_mode == "pad":
        pad = pair(cell.padding)
        return P.AvgPool3D((1, *cell.kernel_size), (1, *cell.stride), "pad", (0, 0, pad[0], pad[0], pad[1], pad[1]),
                           cell.ceil_mode, cell.count)
    return P.AvgPool(cell.kernel_size, cell.stride, cell.pad_mode)


class AvgPool2d(_Windows):
    """Means of windows of [N, C, H, W].

    Args:
        kernel_size (int or tuple, optional): the size of windows. Default: 1.
        stride (int or tuple, optional): the distance between windows. Default: 1.
        pad_mode (str, optional): 'valid' (no border), 'same' (the size divided by the stride) or 'pad' (as
            `padding` says). Default: 'valid'.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        ceil_mode (bool, optional): whether the last window may reach beyond the end. Default: False.
        count_include_pad (bool, optional): whether the border counts in means. Default: True.
        divisor_override (int, optional): the divisor instead of the number of elements. Default: None.
        data_format (str, optional): 'NCHW' (of three axes 'NCDHW'), the one format there is. Default: 'NCHW'.

    Inputs:
        x: Tensor [N, C, H, W].

    Outputs:
        Tensor [N, C, h, w].

    Raises:
        TypeError: if `kernel_size` is not an int, or `stride` is not an int.
        ValueError: if `kernel_size` is below 1, or `stride` is below 1, or `data_format` is not one of those named.

    Example:
        >>> print(nn.AvgPool2d(2, 2)(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]])))
        [[[[2.5]]]]
    """

    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    pad_mode: str
    padding: Size
    ceil_mode: bool
    divisor_override: int

    def __init__(self, kernel_size: Size = 1, stride: Size = 1, pad_mode: str = "valid", padding: Size = 0,
                 ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
                 data_format: str = "NCHW") -> None:
        super().__init__()
        self._keep(kernel_size, stride, pad_mode)
        self.kernel_size, self.stride, self.pad_mode, self.padding = pair(kernel_size), pair(stride), pad_mode, padding
        self.count: bool = count_include_pad and pad_mode == "pad"
        for k in self.kernel_size + self.stride:
            positive("AvgPool2d", "kernel_size and stride", k)
        _format("AvgPool2d", data_format)
        self.ceil_mode, self.divisor_override = ceil_mode, divisor_override or 0
        self.operators(avg_pool=_average(self))

    def construct(self, x: Tensor) -> Tensor:
        if self.replaced():
            return self.avg_pool(x)
        return F.avg_pool2d(x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count,
                            self.divisor_override, self.pad_mode)


class AdaptiveAvgPool2d(Cell):
    """Means of windows, for an output of the given size.

    Args:
        output_size (int or tuple): the size of the result.

    Inputs:
        x: Tensor [N, C, H, W] or [C, H, W].

    Outputs:
        Tensor [N, C, *output_size].

    Example:
        >>> print(nn.AdaptiveAvgPool2d(1)(Tensor([[[1.0, 2.0], [3.0, 4.0]]])))
        [[[2.5]]]
    """

    def __init__(self, output_size: Size) -> None:
        super().__init__()
        self.output_size = output_size
        self.adaptive_avgpool2d: Any = P.AdaptiveAvgPool2D(output_size)

    def construct(self, x: Tensor) -> Tensor:
        return self.adaptive_avgpool2d(x)


def _window(name, pad_mode, **sizes):
    if pad_mode.lower() not in ("same", "valid", "pad"):
        raise _check.refused(name, "pad_mode", _check.one_of("same", "valid", "pad"), pad_mode)
    return [positive(name, k, v[0] if isinstance(v, tuple) and len(v) == 1 else v) for k, v in sizes.items()]


def _lifted(x, name):
    """(x with an axis before the last, whether there is a batch)."""
    if x.ndim not in (2, 3):
        raise _check.refused(name, "the input", _check.dims(2, 3), x.ndim)
    return F.reshape(x, (1,) * (3 - x.ndim) + (*x.shape[:-1], 1, x.shape[-1])), x.ndim == 3


def _lowered(y, batch):
    return F.reshape(y, (*y.shape[0 if batch else 1:-2], y.shape[-1]))


class MaxPool1d(_Windows):
    """Maxima of windows of [N, C, L] or [C, L].

    Args:
        kernel_size (int or tuple, optional): the size of windows. Default: 1.
        stride (int or tuple, optional): the distance between windows. Default: 1.
        pad_mode (str, optional): 'valid' (no border), 'same' (the size divided by the stride) or 'pad' (as
            `padding` says). Default: 'valid'.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        dilation (int or tuple, optional): the distance between the elements of a window. Default: 1.
        return_indices (bool, optional): whether to give the places as well. Default: False.
        ceil_mode (bool, optional): whether the last window may reach beyond the end. Default: False.

    Inputs:
        x: Tensor [N, C, L] or [C, L].

    Outputs:
        Tensor [N, C, l], or two.

    Raises:
        TypeError: if `kernel_size` is not an int, or `stride` is not an int.
        ValueError: if `kernel_size` is below 1, or `stride` is below 1, or `pad_mode` is not one of those named, or
            `return_indices` is not a bool, or `ceil_mode` is not a bool.

    Example:
        >>> print(nn.MaxPool1d(2, 2)(Tensor([[1.0, 3.0]])))
        [[3.]]
    """

    kernel_size: tuple[int, int]
    stride: tuple[int, int]
    pad_mode: str
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    return_indices: bool
    ceil_mode: bool

    def __init__(self, kernel_size: Size = 1, stride: Size = 1, pad_mode: str = "valid", padding: Size = 0,
                 dilation: Size = 1, return_indices: bool = False, ceil_mode: bool = False) -> None:
        super().__init__()
        k, s = _window("MaxPool1d", pad_mode, kernel_size=kernel_size, stride=stride)
        self._keep((1, k), (1, s), pad_mode)
        padding, dilation = (v[0] if isinstance(v, tuple) else v for v in (padding, dilation))
        if pad_mode.lower() != "pad" and (padding or return_indices or ceil_mode or dilation != 1):
            raise _check.needs("MaxPool1d", "'padding', 'dilation', 'return_indices' or 'ceil_mode'", "pad_mode 'pad'")
        self.kernel_size, self.stride, self.pad_mode = (1, k), (1, s), pad_mode.lower()
        self.padding, self.dilation, self.return_indices, self.ceil_mode = ((0, padding), (1, dilation), return_indices,
            ceil_mode)
        self.use_pad: bool = self.pad_mode == "pad"
        self.operators(max_pool=P.MaxPool(self.kernel_size, self.stride, "valid" if self.use_pad else self.pad_mode))

    def construct(self, x: Tensor) -> Any:
        x, batch = _lifted(x, "MaxPool1d")
        if self.replaced():
            return _lowered(self.max_pool(x), batch)
        y = F.max_pool2d(x, self.kernel_size, self.stride, self.padding, self.dilation, self.return_indices,
                         self.ceil_mode, pad_mode=self.pad_mode)
        return (_lowered(y[0], batch), _lowered(y[1], batch)) if self.return_indices else _lowered(y, batch)


class AvgPool1d(_Windows):
    """Means of windows of [N, C, L] or [C, L].

    Args:
        kernel_size (int or tuple, optional): the size of windows. Default: 1.
        stride (int or tuple, optional): the distance between windows. Default: 1.
        pad_mode (str, optional): 'valid' (no border), 'same' (the size divided by the stride) or 'pad' (as
            `padding` says). Default: 'valid'.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        ceil_mode (bool, optional): whether the last window may reach beyond the end. Default: False.
        count_include_pad (bool, optional): whether the border counts in means. Default: True.

    Inputs:
        x: Tensor [N, C, L] or [C, L].

    Outputs:
        Tensor [N, C, l].

    Raises:
        TypeError: if `kernel_size` is not an int, or `stride` is not an int.
        ValueError: if `kernel_size` is below 1, or `stride` is below 1, or `pad_mode` is not one of those named.

    Example:
        >>> print(nn.AvgPool1d(2, 2)(Tensor([[1.0, 3.0]])))
        [[2.]]
    """

    kernel_size: tuple[int, int]
    stride: tuple[int, int]
    pad_mode: str
    padding: tuple[int, ...]
    ceil_mode: bool

    def __init__(self, kernel_size: Size = 1, stride: Size = 1, pad_mode: str = "valid", padding: Size = 0,
                 ceil_mode: bool = False, count_include_pad: bool = True) -> None:
        super().__init__()
        k, s = _window("AvgPool1d", pad_mode, kernel_size=kernel_size, stride=stride)
        self._keep((1, k), (1, s), pad_mode)
        self.kernel_size, self.stride, self.pad_mode = (1, k), (1, s), pad_mode.lower()
        self.padding, self.ceil_mode = (0, padding[0] if isinstance(padding, tuple) else padding), ceil_mode
        self.count: bool = count_include_pad and self.pad_mode == "pad"
        self.operators(avg_pool=_average(self))

    def construct(self, x: Tensor) -> Tensor:
        x, batch = _lifted(x, "AvgPool1d")
        if self.replaced():
            return _lowered(self.avg_pool(x), batch)
        return _lowered(F.avg_pool2d(x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count, 0,
                                     self.pad_mode), batch)


def _pad3d(name, size, kernel, stride, pad_mode, padding):
    if pad_mode == "pad":
        return (padding,) * 3 if isinstance(padding, int) else tuple(padding)
    if pad_mode == "valid":
        return (0, 0, 0)
    pad = _conv_pad(size, kernel, stride, (1, 1, 1), "same", 0)
    if pad[::2] != pad[1::2]:
        raise ValueError(
            f"For '{name}', pad_mode 'same' would need different padding on the two sides here; use 'pad'.")
    return pad[::2]


class MaxPool3d(_Windows):
    """Maxima of windows of [N, C, D, H, W] or [C, D, H, W].

    Args:
        kernel_size (int or tuple, optional): the size of windows. Default: 1.
        stride (int or tuple, optional): the distance between windows. Default: 1.
        pad_mode (str, optional): 'valid' (no border), 'same' (the size divided by the stride) or 'pad' (as
            `padding` says). Default: 'valid'.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        dilation (int or tuple, optional): the distance between the elements of a window. Default: 1.
        return_indices (bool, optional): whether to give the places as well. Default: False.
        ceil_mode (bool, optional): whether the last window may reach beyond the end. Default: False.

    Inputs:
        x: Tensor [N, C, D, H, W] or [C, D, H, W].

    Outputs:
        Tensor, or two.

    Raises:
        ValueError: if `pad_mode` is not one of those named.

    Example:
        >>> nn.MaxPool3d(2, 2)(ops.ones((1, 1, 2, 2, 2))).shape
        (1, 1, 1, 1, 1)
    """

    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    pad_mode: str
    padding: Size
    dilation: Size
    return_indices: bool
    ceil_mode: bool

    def __init__(self, kernel_size: Size = 1, stride: Size = 1, pad_mode: str = "valid", padding: Size = 0,
                 dilation: Size = 1, return_indices: bool = False, ceil_mode: bool = False) -> None:
        super().__init__()
        self._keep(kernel_size, stride, pad_mode)
        _window("MaxPool3d", pad_mode)
        self.kernel_size, self.stride = ((v,) * 3 if isinstance(v, int) else tuple(v) for v in (kernel_size, stride))
        self.pad_mode, self.padding, self.dilation = pad_mode.lower(), padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode
        pads = (() if self.pad_mode != "pad" else (padding,) * 6 if isinstance(padding, int)
                else tuple(p for v in padding for p in (v, v)))
        self.operators(max_pool=P.MaxPool3D(self.kernel_size, self.stride, self.pad_mode, pads or 0))

    def construct(self, x: Tensor) -> Any:
        if self.replaced():
            return self.max_pool(x) if x.ndim == 5 else F.squeeze(self.max_pool(F.expand_dims(x, 0)), 0)
        pad = _pad3d("MaxPool3d", x.shape[-3:], self.kernel_size, self.stride, self.pad_mode, self.padding)
        return F.max_pool3d(x, self.kernel_size, self.stride, pad, self.dilation, self.ceil_mode, self.return_indices)


class AvgPool3d(_Windows):
    """Means of windows of [N, C, D, H, W] or [C, D, H, W].

    Args:
        kernel_size (int or tuple, optional): the size of windows. Default: 1.
        stride (int or tuple, optional): the distance between windows. Default: 1.
        pad_mode (str, optional): 'valid' (no border), 'same' (the size divided by the stride) or 'pad' (as
            `padding` says). Default: 'valid'.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        ceil_mode (bool, optional): whether the last window may reach beyond the end. Default: False.
        count_include_pad (bool, optional): whether the border counts in means. Default: True.
        divisor_override (int, optional): the divisor instead of the number of elements. Default: None.

    Inputs:
        x: Tensor [N, C, D, H, W] or [C, D, H, W].

    Outputs:
        Tensor.

    Raises:
        ValueError: if `pad_mode` is not one of those named.

    Example:
        >>> nn.AvgPool3d(2, 2)(ops.ones((1, 1, 2, 2, 2))).shape
        (1, 1, 1, 1, 1)
    """

    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    pad_mode: str
    padding: Size
    ceil_mode: bool
    count: bool
    divisor: int

    def __init__(self, kernel_size: Size = 1, stride: Size = 1, pad_mode: str = "valid", padding: Size = 0,
                 ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> None:
        super().__init__()
        self._keep(kernel_size, stride, pad_mode)
        _window("AvgPool3d", pad_mode)
        self.kernel_size, self.stride = ((v,) * 3 if isinstance(v, int) else tuple(v) for v in (kernel_size, stride))
        self.pad_mode, self.padding, self.ceil_mode = pad_mode.lower(), padding, ceil_mode
        self.count, self.divisor = count_include_pad and self.pad_mode == "pad", divisor_override or 0
        pads = (0 if self.pad_mode != "pad" else (padding,) * 6 if isinstance(padding, int)
                else tuple(p for v in padding for p in (v, v)))
        self.operators(avg_pool=P.AvgPool3D(self.kernel_size, self.stride, self.pad_mode, pads, ceil_mode, self.count,
                                            self.divisor))

    def construct(self, x: Tensor) -> Tensor:
        if x.ndim not in (4, 5):
            raise _check.refused("AvgPool3d", "the input", _check.dims(4, 5), x.ndim)
        if self.replaced():
            return self.avg_pool(x) if x.ndim == 5 else F.squeeze(self.avg_pool(F.expand_dims(x, 0)), 0)
        pad = _pad3d("AvgPool3d", x.shape[-3:], self.kernel_size, self.stride, self.pad_mode, self.padding)
        y = F.avg_pool3d(x if x.ndim == 5 else F.expand_dims(x, 0), self.kernel_size, self.stride, pad, self.ceil_mode,
                         self.count, self.divisor)
        return y if x.ndim == 5 else F.squeeze(y, 0)


class _Adaptive(Cell):
    def __init__(self, output_size: Size) -> None:
        super().__init__()
        self.output_size = output_size


class AdaptiveAvgPool1d(_Adaptive):
    """Means of windows, for an output [N, C, output_size].

    Args:
        output_size (int or tuple): the size of the result.

    Inputs:
        input: Tensor [N, C, L].

    Outputs:
        Tensor [N, C, output_size].

    Example:
        >>> print(nn.AdaptiveAvgPool1d(1)(Tensor([[[1.0, 3.0]]])))
        [[[2.]]]
    """

    def construct(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool3d(_Adaptive):
    """Means of windows, for an output of the given three sizes.

    Args:
        output_size (int or tuple): the size of the result.

    Inputs:
        input: Tensor [N, C, D, H, W].

    Outputs:
        Tensor [N, C, *output_size].

    Example:
        >>> nn.AdaptiveAvgPool3d(1)(ops.ones((1, 1, 2, 2, 2))).shape
        (1, 1, 1, 1, 1)
    """

    def __init__(self, output_size: Size) -> None:
        super().__init__(output_size)
        self.adaptive_avg_pool3d: Any = P.AdaptiveAvgPool3D(output_size)

    def construct(self, input: Tensor) -> Tensor:
        return self.adaptive_avg_pool3d(input)


class AdaptiveMaxPool1d(_Adaptive):
    """Maxima of windows, for an output [N, C, output_size].

    Args:
        output_size (int or tuple): the size of the result.

    Inputs:
        input: Tensor [N, C, L].

    Outputs:
        Tensor [N, C, output_size].

    Example:
        >>> print(nn.AdaptiveMaxPool1d(1)(Tensor([[[1.0, 3.0]]])))
        [[[3.]]]
    """

    def construct(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool1d(input, self.output_size)


class AdaptiveMaxPool2d(Cell):
    """Maxima of windows, for an output of the given size; with return_indices, also their places.

    Args:
        output_size (int or tuple): the size of the result.
        return_indices (bool, optional): whether to give the places as well. Default: False.

    Inputs:
        input: Tensor [N, C, H, W] or [C, H, W].

    Outputs:
        Tensor [N, C, *output_size], or two.

    Example:
        >>> print(nn.AdaptiveMaxPool2d(1)(Tensor([[[1.0, 2.0], [3.0, 4.0]]])))
        [[[4.]]]
    """

    output_size: Size
    return_indices: bool

    def __init__(self, output_size: Size, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def construct(self, input: Tensor) -> Any:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(OperatorCell):
    """Maxima of windows, for an output of the given three sizes; with return_indices, also their places.

    Args:
        output_size (int or tuple): the size of the result.
        return_indices (bool, optional): whether to give the places as well. Default: False.

    Inputs:
        input: Tensor [N, C, D, H, W].

    Outputs:
        Tensor [N, C, *output_size], or two.

    Example:
        >>> nn.AdaptiveMaxPool3d(1)(ops.ones((1, 1, 2, 2, 2))).shape
        (1, 1, 1, 1, 1)
    """

    output_size: Size
    return_indices: bool

    def __init__(self, output_size: Size, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices
        self.operators(adaptive_max_pool3d=P.AdaptiveMaxPool3D())

    def construct(self, input: Tensor) -> Any:
        if self.replaced():
            y, places = self.adaptive_max_pool3d(input, self.output_size)
            return (y, places) if self.return_indices else y
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _LPPool(Cell):
    norm_type: Number
    kernel_size: Size
    stride: Size | None
    ceil_mode: bool

    def __init__(self, norm_type: Number, kernel_size: Size, stride: Size | None = None,
                 ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode


class LPPool1d(_LPPool):
    """(sum over each window of x ** norm_type) ** (1 / norm_type) of [N, C, L] or [C, L].

    Args:
        norm_type (number): the order of the norm.
        kernel_size (int or tuple): the size of windows.
        stride (int or tuple, optional): the distance between windows. Default: None.
        ceil_mode (bool, optional): whether the last window may reach beyond the end. Default: False.

    Inputs:
        x: Tensor [N, C, L] or [C, L].

    Outputs:
        Tensor.

    Example:
        >>> print(nn.LPPool1d(2, 2)(Tensor([[3.0, 4.0]])))
        [[5.]]
    """

    def construct(self, x: Tensor) -> Tensor:
        return F.lp_pool1d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPool):
    """(sum over each window of x ** norm_type) ** (1 / norm_type) of [N, C, H, W].

    Args:
        norm_type (number): the order of the norm.
        kernel_size (int or tuple): the size of windows.
        stride (int or tuple, optional): the distance between windows. Default: None.
        ceil_mode (bool, optional): whether the last window may reach beyond the end. Default: False.

    Inputs:
        x: Tensor [N, C, H, W].

    Outputs:
        Tensor.

    Example:
        >>> print(nn.LPPool2d(2, 2)(ops.ones((1, 1, 2, 2))))
        [[[[2.]]]]
    """

    def construct(self, x: Tensor) -> Tensor:
        return F.lp_pool2d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class _MaxUnpool(Cell):
    kernel_size: Size
    stride: Size
    padding: Size
    unpool = None

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = (kernel_size,
                                                       kernel_size if stride is None or stride == 0 else stride,
                                                       padding)

    def construct(self, x: Tensor, indices: Tensor, output_size: Size | None = None) -> Any:
        return type(self).unpool(x, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpool):
    """The inverse of MaxPool1d with return_indices: zeros but for the maxima.

    Args:
        kernel_size (int or tuple): the size of windows.
        stride (int or tuple, optional): the distance between windows. Default: None.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.

    Inputs:
        x: Tensor [N, C, L] or [C, L].
        indices: int64 Tensor, the places.
        output_size: the size of the result, by default the least.

    Outputs:
        Tensor.

    Example:
        >>> print(nn.MaxUnpool1d(2)(Tensor([[[5.0, 7.0]]]), Tensor([[[1, 2]]])))
        [[[0. 5. 7. 0.]]]
    """

    unpool: Any = staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpool):
    """The inverse of MaxPool2d with return_indices: zeros but for the maxima.

    Args:
        kernel_size (int or tuple): the size of windows.
        stride (int or tuple, optional): the distance between windows. Default: None.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.

    Inputs:
        x: Tensor [N, C, H, W].
        indices: int64 Tensor, the places.
        output_size: the size of the result, by default the least.

    Outputs:
        Tensor.

    Example:
        >>> print(nn.MaxUnpool2d(2)(Tensor([[[[5.0]]]]), Tensor([[[[3]]]])))
        [[[[0. 0.]
           [0. 5.]]]]
    """

    unpool: Any = staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpool):
    """The inverse of MaxPool3d with return_indices: zeros but for the maxima.

    Args:
        kernel_size (int or tuple): the size of windows.
        stride (int or tuple, optional): the distance between windows. Default: None.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.

    Inputs:
        x: Tensor [N, C, D, H, W].
        indices: int64 Tensor, the places.
        output_size: the size of the result, by default the least.

    Outputs:
        Tensor.

    Example:
        >>> nn.MaxUnpool3d(2)(Tensor([[[[[5.0]]]]]), Tensor([[[[[7]]]]])).shape
        (1, 1, 2, 2, 2)
    """

    unpool: Any = staticmethod(F.max_unpool3d)
