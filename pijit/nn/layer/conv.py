"""Convolutions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pijit import _check
from pijit import dtype as mstype
from pijit.initializer import HeUniform, Uniform, initializer
from pijit.nn.cell import Cell
from pijit.nn.layer.common import OperatorCell, pair, positive
from pijit._C import Tensor
from pijit.ops import function as F
from pijit.ops.function.elementwise import _need_tensor
from pijit.ops import primitives as P
from pijit.ops.function.convolution import _no_padding, _transposed
from pijit.ops.function.shapes import _format
from pijit.parameter import Parameter

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import DType
    from pijit._types import DTypeLike, Init, Size


def _channels(name, in_channels, out_channels, group, pad_mode, padding=0):
    """(in_channels, out_channels, group), checked."""
    for arg, v in (("in_channels", in_channels), ("out_channels", out_channels), ("group", group)):
        positive(name, arg, v)
    if in_channels % group or out_channels % group:
        raise _check.refused(name, "group", _check.value("divide 'in_channels' and 'out_channels'"),
                             _check.several(group, in_channels, out_channels))
    if pad_mode not in ("same", "valid", "pad"):
        raise _check.refused(name, "pad_mode", _check.one_of("same", "valid", "pad"), pad_mode)
    _no_padding(name, pad_mode, padding)
    return in_channels, out_channels, group


def _shown(cell):
    """What a convolution's printed form says between the brackets."""
    return (f"input_channels={cell.in_channels}, output_channels={cell.out_channels}, kernel_size={cell.kernel_size}, "
            f"stride={cell.stride}, "
            f"pad_mode={cell.pad_mode}, padding={cell.padding}, dilation={cell.dilation}, group={cell.group}, "
            f"has_bias={cell.has_bias}, "
            f"weight_init={cell.weight_init}, bias_init={cell.bias_init}, format={cell.data_format}")


def _of_one_row(weight_init):
    """The first value of a 1-d convolution's weights as those of a 2-d one."""
    if isinstance(weight_init, Tensor) and weight_init.ndim == 3:
        return F.expand_dims(weight_init, 2)
    return weight_init


def _initializers(cell, weight_init, bias_init, fan_in, data_format):
    """Keeps what the weights and the bias start from, MindSpore's choice where nothing is given, and the format."""
    cell.weight_init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
    cell.bias_init = Uniform(1 / math.sqrt(fan_in)) if bias_init is None and cell.has_bias else bias_init
    cell.data_format = data_format


class Conv2d(Cell):
    """2-d convolution. weight [out_channels, in_channels / group, kh, kw].

    Args:
        in_channels (int): the number of channels of the input.
        out_channels (int): the number of channels of the output.
        kernel_size (int or tuple): the size of windows.
        stride (int or tuple, optional): the distance between windows. Default: 1.
        pad_mode (str, optional): 'valid' (no border), 'same' (the size divided by the stride) or 'pad' (as
            `padding` says). Default: 'same'.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        dilation (int or tuple, optional): the distance between the elements of a window. Default: 1.
        group (int, optional): how many groups the channels are divided into. Default: 1.
        has_bias (bool, optional): whether there is a bias. Default: False.
        weight_init (Tensor, str, Initializer or number, optional): what the weights are at first. Default: None.
        bias_init (Tensor, str, Initializer or number, optional): what the biases are at first. Default: None.
        data_format (str, optional): 'NCHW' (of three axes 'NCDHW'), the one format there is. Default: 'NCHW'.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        x: Tensor [N, C, H, W].

    Outputs:
        Tensor [N, O, h, w].

    Raises:
        TypeError: if `in_channels` is not an int, or `out_channels` is not an int, or `kernel_size` is not an int.
        ValueError: if `in_channels` is below 1, or `out_channels` is below 1, or `kernel_size` is below 1, or
            `pad_mode` is not one of those named, or has a `padding` it does not ask for, or `data_format` is not one of
            those named.

    Example:
        >>> nn.Conv2d(3, 4, 3)(ops.ones((1, 3, 5, 5))).shape
        (1, 4, 5, 5)
    """

    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    pad_mode: str
    has_bias: bool
    bias: Parameter | None
    conv2d: Any
    in_channels: Any
    out_channels: Any
    group: Any

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size = 1, pad_mode: str = "same",
                 padding: Size = 0, dilation: Size = 1, group: int = 1, has_bias: bool = False,
                 weight_init: Init | None = None, bias_init: Init | None = None, data_format: str = "NCHW",
                 dtype: DType = mstype.float32) -> None:
        super().__init__()
        _format("Conv2d", data_format)
        self.in_channels, self.out_channels, self.group = _channels("Conv2d", in_channels, out_channels, group,
            pad_mode, padding)
        self.kernel_size, self.stride, self.dilation = pair(kernel_size), pair(stride), pair(dilation)
        for k in (kernel_size, stride, dilation):
            if not isinstance(k, int) and len(k) != 2:
                raise _check.refused("Conv2d", "the sizes", _check.value("be ints or tuples of 2 ints"), k, TypeError)
        for k in self.kernel_size + self.stride + self.dilation:
            positive("Conv2d", "kernel_size, stride and dilation", k)
        self.pad_mode, self.has_bias = pad_mode, has_bias
        self.padding: int | tuple[int, ...] = padding if isinstance(padding, int) else tuple(padding)
        shape = [out_channels, in_channels // group, *self.kernel_size]
        _initializers(self, weight_init, bias_init, shape[1] * shape[2] * shape[3], data_format)
        self.weight: Parameter = Parameter(initializer(self.weight_init, shape, dtype), name="weight")
        self.bias = Parameter(initializer(self.bias_init, [out_channels], dtype), name="bias") if has_bias else None
        self.conv2d = P.Conv2D(out_channels, self.kernel_size, 1, pad_mode, self.padding, self.stride, self.dilation,
                               group, data_format)
        self.bias_add: Any = P.BiasAdd(data_format)

    def construct(self, x: Tensor) -> Tensor:
        y = self.conv2d(x, self.weight)
        return self.bias_add(y, self.bias) if self.has_bias else y

    def extend_repr(self) -> str:
        return _shown(self)


class Conv1d(Cell):
    """1-d convolution.

    weight [out_channels, in_channels / group, 1, k], as a 2-d one of one row; a Tensor of three dimensions can give its
    first value.

    Args:
        in_channels (int): the number of channels of the input.
        out_channels (int): the number of channels of the output.
        kernel_size (int or tuple): the size of windows.
        stride (int or tuple, optional): the distance between windows. Default: 1.
        pad_mode (str, optional): 'valid' (no border), 'same' (the size divided by the stride) or 'pad' (as
            `padding` says). Default: 'same'.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        dilation (int or tuple, optional): the distance between the elements of a window. Default: 1.
        group (int, optional): how many groups the channels are divided into. Default: 1.
        has_bias (bool, optional): whether there is a bias. Default: False.
        weight_init (Tensor, str, Initializer or number, optional): what the weights are at first. Default: None.
        bias_init (Tensor, str, Initializer or number, optional): what the biases are at first. Default: None.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        x: Tensor [N, C, L].

    Outputs:
        Tensor [N, O, l].

    Raises:
        TypeError: if `in_channels` is not an int, or `out_channels` is not an int, or `kernel_size` is not an int.
        ValueError: if `in_channels` is below 1, or `out_channels` is below 1, or `kernel_size` is below 1, or
            `pad_mode` is not one of those named.

    Example:
        >>> nn.Conv1d(3, 4, 3)(ops.ones((1, 3, 5))).shape
        (1, 4, 5)
    """

    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    pad_mode: str
    padding: Any
    has_bias: bool
    bias: Parameter | None
    conv2d: Any
    bias_add: Any
    expand_dims: Any
    squeeze: Any
    in_channels: Any
    out_channels: Any
    group: Any
    shape: Any

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size = 1, pad_mode: str = "same",
                 padding: Size = 0, dilation: Size = 1, group: int = 1, has_bias: bool = False,
                 weight_init: Init | None = None, bias_init: Init | None = None, dtype: DType = mstype.float32) -> None:
        super().__init__()
        for name, v in (("in_channels", in_channels), ("out_channels", out_channels), ("kernel_size", kernel_size),
                        ("stride", stride), ("dilation", dilation), ("group", group)):
            positive("Conv1d", name, v)
        self.in_channels, self.out_channels, self.group = _channels("Conv1d", in_channels, out_channels, group,
            pad_mode, padding)
        self.kernel_size, self.stride, self.dilation = (1, kernel_size), (1, stride), (1, dilation)
        self.pad_mode, self.padding, self.has_bias = (pad_mode,
                                                      (0, 0, padding, padding) if isinstance(padding, int)
                                                      else (0, 0, *padding), has_bias)
        shape = [out_channels, in_channels // group, 1, kernel_size]
        _initializers(self, _of_one_row(weight_init), bias_init, shape[1] * shape[3], "NCHW")
        self.weight: Parameter = Parameter(initializer(self.weight_init, shape, dtype), name="weight")
        self.bias = Parameter(initializer(self.bias_init, [out_channels], dtype), name="bias") if has_bias else None
        self.conv2d, self.bias_add = (P.Conv2D(out_channels, self.kernel_size, 1, pad_mode, self.padding, self.stride,
                                               self.dilation, group), P.BiasAdd())
        self.expand_dims, self.squeeze, self.shape = P.ExpandDims(), P.Squeeze(2), P.Shape()

    def construct(self, x: Tensor) -> Tensor:
        if len(self.shape(x)) != 3:
            raise _check.refused("Conv1d", "the input", _check.dims(3), x.ndim)
        y = self.conv2d(self.expand_dims(x, 2), self.weight)
        return self.squeeze(self.bias_add(y, self.bias) if self.has_bias else y)

    def extend_repr(self) -> str:
        return _shown(self)


class _Transposed(OperatorCell):
    """A transposed convolution; weight [in_channels, out_channels / group, kh, kw]. In mode 'same' the output has
    stride times the size, in 'valid' it holds each window whole."""

    kernel_size: Size
    stride: Size
    dilation: Size
    pad_mode: str
    output_padding: Size
    has_bias: bool
    in_channels: Any
    out_channels: Any
    group: Any

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size, pad_mode: str,
                 padding: Size, output_padding: Size, dilation: Size, group: int, has_bias: bool, weight_init: Init,
                 bias_init: Init, dtype: DTypeLike) -> None:
        super().__init__()
        name = type(self).__name__
        self.in_channels, self.out_channels, self.group = _channels(name, in_channels, out_channels, group, pad_mode)
        if pad_mode != "pad" and (any(padding) or any(output_padding)):
            raise _check.needs(name, "'padding' or 'output_padding'", "pad_mode 'pad'")
        for k in kernel_size + stride + dilation:
            positive(name, "kernel_size, stride and dilation", k)
        self.kernel_size, self.stride, self.dilation, self.pad_mode, self._pads, self.output_padding = (kernel_size,
            stride, dilation, pad_mode, padding, output_padding)
        self.has_bias, self.bias = has_bias, None
        shape = self._weight_shape()
        fan_in = shape[1]
        for k in kernel_size:
            fan_in *= k
        _initializers(self, weight_init, bias_init, fan_in, "NCHW")
        self.weight: Parameter = Parameter(initializer(self.weight_init, shape, dtype), name="weight")
        if has_bias:
            self.bias: Any = Parameter(initializer(self.bias_init, [out_channels], dtype), name="bias")
        make = P.Conv2DTranspose if name == "Conv2dTranspose" else P.Conv2DBackpropInput
        pads = {"pad": 0, "pad_list": padding} if pad_mode == "pad" else {}
        self.operators(conv2d_transpose=make(in_channels, kernel_size, pad_mode, **pads, stride=stride,
                                             dilation=dilation, group=group), bias_add=P.BiasAdd(),
                  shape=P.Shape())

    def _weight_shape(self):
        return [self.in_channels, self.out_channels // self.group, *self.kernel_size]

    def _apply(self, x, weight):
        if self.replaced():
            return self._by_operators(x, weight)
        pad, extra = [], []
        for n, k, s, d, p in zip(x.shape[2:], self.kernel_size, self.stride, self.dilation,
                                 (self._pads[:2], self._pads[2:])):
            whole = (n - 1) * s + d * (k - 1) + 1
            if self.pad_mode == "pad":
                pad += p
                extra.append(0)
            elif self.pad_mode == "same":
                cut = max(whole - n * s, 0)
                pad += [cut // 2, cut - cut // 2]
                extra.append(max(n * s - whole, 0))
            else:
                pad += [0, 0]
                extra.append(max(s - (d * (k - 1) + 1), 0))
        y = _transposed(self.cls_name, x, weight, self.bias, self.stride, tuple(pad), extra, self.group, self.dilation)
        if any(self.output_padding):  # zeros below and to the right, as MindSpore has it
            y = F.pad(y, (0, self.output_padding[1], 0, self.output_padding[0]))
        return y

    def _by_operators(self, x, weight):
        sizes = []
        for n, k, s, d, p, more in zip(self.shape(x)[2:], self.kernel_size, self.stride, self.dilation,
                                       (self._pads[:2], self._pads[2:]), self.output_padding):
            whole = d * (k - 1) + 1
            sizes.append(n * s if self.pad_mode == "same" else n * s + max(whole - s, 0) if self.pad_mode == "valid"
                         else (n - 1) * s + whole - sum(p) + more)
        y = self.conv2d_transpose(x, weight, (x.shape[0], self.out_channels, *sizes))
        return self.bias_add(y, self.bias) if self.has_bias else y

    def extend_repr(self) -> str:
        return _shown(self)


class Conv2dTranspose(_Transposed):
    """Transposed 2-d convolution (Zeiler et al. 2010). weight [in_channels, out_channels / group, kh, kw].

    Args:
        in_channels (int): the number of channels of the input.
        out_channels (int): the number of channels of the output.
        kernel_size (int or tuple): the size of windows.
        stride (int or tuple, optional): the distance between windows. Default: 1.
        pad_mode (str, optional): 'valid' (no border), 'same' (the size divided by the stride) or 'pad' (as
            `padding` says). Default: 'same'.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        output_padding (int or tuple, optional): how much to add at the end of each axis. Default: 0.
        dilation (int or tuple, optional): the distance between the elements of a window. Default: 1.
        group (int, optional): how many groups the channels are divided into. Default: 1.
        has_bias (bool, optional): whether there is a bias. Default: False.
        weight_init (Tensor, str, Initializer or number, optional): what the weights are at first. Default: None.
        bias_init (Tensor, str, Initializer or number, optional): what the biases are at first. Default: None.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        x: Tensor [N, C, H, W].

    Outputs:
        Tensor [N, O, h, w].

    Raises:
        TypeError: if `in_channels` is not an int, or `out_channels` is not an int, or `kernel_size` is not an int.
        ValueError: if `in_channels` is below 1, or `out_channels` is below 1, or `kernel_size` is below 1, or
            `pad_mode` is not one of those named.

    Example:
        >>> nn.Conv2dTranspose(3, 4, 2, stride=2)(ops.ones((1, 3, 5, 5))).shape
        (1, 4, 10, 10)
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size = 1, pad_mode: str = "same",
                 padding: Size = 0, output_padding: Size = 0, dilation: Size = 1, group: int = 1,
                 has_bias: bool = False, weight_init: Init | None = None, bias_init: Init | None = None,
                 dtype: DType = mstype.float32) -> None:
        pad = (padding,) * 4 if isinstance(padding, int) else tuple(padding)
        super().__init__(in_channels, out_channels, pair(kernel_size), pair(stride), pad_mode, pad,
                         pair(output_padding), pair(dilation), group, has_bias,
                         weight_init, bias_init, dtype)
        self.padding = padding

    def construct(self, x: Tensor) -> Tensor:
        _need_tensor("Conv2dTranspose", "x", x)
        if x.ndim not in (3, 4):
            raise _check.refused("Conv2dTranspose", "the input", _check.dims(4), x.ndim)
        return (self._apply(x, self.weight) if x.ndim == 4
                else F.squeeze(self._apply(F.expand_dims(x, 0), self.weight), 0))


class Conv1dTranspose(_Transposed):
    """Transposed 1-d convolution. weight [in_channels, out_channels / group, 1, k].

    Args:
        in_channels (int): the number of channels of the input.
        out_channels (int): the number of channels of the output.
        kernel_size (int or tuple): the size of windows.
        stride (int or tuple, optional): the distance between windows. Default: 1.
        pad_mode (str, optional): 'valid' (no border), 'same' (the size divided by the stride) or 'pad' (as
            `padding` says). Default: 'same'.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        dilation (int or tuple, optional): the distance between the elements of a window. Default: 1.
        group (int, optional): how many groups the channels are divided into. Default: 1.
        has_bias (bool, optional): whether there is a bias. Default: False.
        weight_init (Tensor, str, Initializer or number, optional): what the weights are at first. Default: None.
        bias_init (Tensor, str, Initializer or number, optional): what the biases are at first. Default: None.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        x: Tensor [N, C, L].

    Outputs:
        Tensor [N, O, l].

    Raises:
        TypeError: if `in_channels` is not an int, or `out_channels` is not an int, or `kernel_size` is not an int.
        ValueError: if `in_channels` is below 1, or `out_channels` is below 1, or `kernel_size` is below 1, or
            `pad_mode` is not one of those named.

    Example:
        >>> nn.Conv1dTranspose(3, 4, 2, stride=2)(ops.ones((1, 3, 5))).shape
        (1, 4, 10)
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size = 1, pad_mode: str = "same",
                 padding: Size = 0, dilation: Size = 1, group: int = 1, has_bias: bool = False,
                 weight_init: Init | None = None, bias_init: Init | None = None, dtype: DType = mstype.float32) -> None:
        for name, v in (("kernel_size", kernel_size), ("stride", stride), ("dilation", dilation)):
            positive("Conv1dTranspose", name, v)
        super().__init__(in_channels, out_channels, (1, kernel_size), (1, stride), pad_mode, (0, 0, padding, padding),
                         (0, 0), (1, dilation), group, has_bias,
                         _of_one_row(weight_init), bias_init, dtype)
        self.padding: tuple[int, ...] = (0, 0, padding, padding)
        self.operators(expand_dims=P.ExpandDims(), squeeze=P.Squeeze(2))

    def construct(self, x: Tensor) -> Tensor:
        if x.ndim != 3:
            raise _check.refused("Conv1dTranspose", "the input", _check.dims(3), x.ndim)
        return self.squeeze(self._apply(self.expand_dims(x, 2), self.weight))


class Conv3d(Cell):
    """3-d convolution. weight [out_channels, in_channels / group, kd, kh, kw].

    Args:
        in_channels (int): the number of channels of the input.
        out_channels (int): the number of channels of the output.
        kernel_size (int or tuple): the size of windows.
        stride (int or tuple, optional): the distance between windows. Default: 1.
        pad_mode (str, optional): 'valid' (no border), 'same' (the size divided by the stride) or 'pad' (as
            `padding` says). Default: 'same'.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        dilation (int or tuple, optional): the distance between the elements of a window. Default: 1.
        group (int, optional): how many groups the channels are divided into. Default: 1.
        has_bias (bool, optional): whether there is a bias. Default: False.
        weight_init (Tensor, str, Initializer or number, optional): what the weights are at first. Default: None.
        bias_init (Tensor, str, Initializer or number, optional): what the biases are at first. Default: None.
        data_format (str, optional): 'NCHW' (of three axes 'NCDHW'), the one format there is. Default: 'NCDHW'.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        x: Tensor [N, C, D, H, W].

    Outputs:
        Tensor [N, O, d, h, w].

    Raises:
        TypeError: if `in_channels` is not an int, or `out_channels` is not an int, or `kernel_size` is not an int.
        ValueError: if `in_channels` is below 1, or `out_channels` is below 1, or `kernel_size` is below 1, or
            `pad_mode` is not one of those named, or has a `padding` it does not ask for, or `data_format` is not
            'NCDHW'.

    Example:
        >>> nn.Conv3d(3, 4, 3)(ops.ones((1, 3, 5, 5, 5))).shape
        (1, 4, 5, 5, 5)
    """

    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    pad_mode: str
    padding: Size
    has_bias: bool
    conv3d: Any
    in_channels: Any
    out_channels: Any
    group: Any

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size = 1, pad_mode: str = "same",
                 padding: Size = 0, dilation: Size = 1, group: int = 1, has_bias: bool = False,
                 weight_init: Init | None = None, bias_init: Init | None = None, data_format: str = "NCDHW",
                 dtype: DType = mstype.float32) -> None:
        super().__init__()
        if data_format != "NCDHW":
            raise _check.refused("Conv3d", "data_format", _check.one_of("NCDHW"), data_format)
        self.in_channels, self.out_channels, self.group = _channels("Conv3d", in_channels, out_channels, group,
            pad_mode, padding)
        self.kernel_size, self.stride, self.dilation = ((v,) * 3 if isinstance(v, int) else tuple(v)
                                                        for v in (kernel_size, stride, dilation))
        for k in (kernel_size, stride, dilation):
            if isinstance(k, list) or isinstance(k, tuple) and len(k) != 3:
                raise _check.refused("Conv3d", "the sizes", _check.value("be ints or tuples of 3 ints"), k, TypeError)
        for k in self.kernel_size + self.stride + self.dilation:
            positive("Conv3d", "kernel_size, stride and dilation", k)
        self.pad_mode, self.padding, self.has_bias, self.bias = pad_mode, padding, has_bias, None
        shape = [out_channels, in_channels // group, *self.kernel_size]
        fan_in = shape[1] * shape[2] * shape[3] * shape[4]
        _initializers(self, weight_init, bias_init, fan_in, data_format)
        self.weight: Parameter = Parameter(initializer(self.weight_init, shape, dtype), name="weight")
        if has_bias:
            self.bias: Any = Parameter(initializer(self.bias_init, [out_channels], dtype), name="bias")

        self.conv3d = P.Conv3D(out_channels, self.kernel_size, 1, pad_mode, padding, self.stride, self.dilation, group,
                               data_format)
        self.bias_add: Any = P.BiasAdd(data_format)

    def construct(self, x: Tensor) -> Tensor:
        y = self.conv3d(x, self.weight)
        return self.bias_add(y, self.bias) if self.has_bias else y

    def extend_repr(self) -> str:
        return _shown(self)


class Conv3dTranspose(Cell):
    """Transposed 3-d convolution (Zeiler et al. 2010). weight [in_channels, out_channels / group, kd, kh, kw].

    Args:
        in_channels (int): the number of channels of the input.
        out_channels (int): the number of channels of the output.
        kernel_size (int or tuple): the size of windows.
        stride (int or tuple, optional): the distance between windows. Default: 1.
        pad_mode (str, optional): 'valid' (no border), 'same' (the size divided by the stride) or 'pad' (as
            `padding` says). Default: 'same'.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        dilation (int or tuple, optional): the distance between the elements of a window. Default: 1.
        group (int, optional): how many groups the channels are divided into. Default: 1.
        output_padding (int or tuple, optional): how much to add at the end of each axis. Default: 0.
        has_bias (bool, optional): whether there is a bias. Default: False.
        weight_init (Tensor, str, Initializer or number, optional): what the weights are at first. Default: None.
        bias_init (Tensor, str, Initializer or number, optional): what the biases are at first. Default: None.
        data_format (str, optional): 'NCHW' (of three axes 'NCDHW'), the one format there is. Default: 'NCDHW'.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        x: Tensor [N, C, D, H, W].

    Outputs:
        Tensor [N, O, d, h, w].

    Raises:
        TypeError: if `in_channels` is not an int, or `out_channels` is not an int, or `kernel_size` is not an int.
        ValueError: if `in_channels` is below 1, or `out_channels` is below 1, or `kernel_size` is below 1, or
            `pad_mode` is not one of those named, or has a `padding` it does not ask for, or `padding` is not a number
            or 6 of them, at least 0, or `data_format` is not 'NCDHW'.

    Example:
        >>> nn.Conv3dTranspose(3, 4, 2, stride=2)(ops.ones((1, 3, 2, 2, 2))).shape
        (1, 4, 4, 4, 4)
    """

    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    output_padding: tuple[int, ...]
    padding: Size
    pad_mode: str
    has_bias: bool
    in_channels: Any
    out_channels: Any
    group: Any

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size = 1, pad_mode: str = "same",
                 padding: Size = 0, dilation: Size = 1, group: int = 1, output_padding: Size = 0,
                 has_bias: bool = False, weight_init: Init | None = None, bias_init: Init | None = None,
                 data_format: str = "NCDHW", dtype: DType = mstype.float32) -> None:
        super().__init__()
        if data_format != "NCDHW":
            raise _check.refused("Conv3dTranspose", "data_format", _check.one_of("NCDHW"), data_format)
        self.in_channels, self.out_channels, self.group = _channels("Conv3dTranspose", in_channels, out_channels, group,
            pad_mode)
        self.kernel_size, self.stride, self.dilation, self.output_padding = ((v,) * 3 if isinstance(v, int)
            else tuple(v)
                                                                             for v in (kernel_size, stride, dilation,
                                                                                 output_padding))
        for k in self.kernel_size + self.stride + self.dilation:
            positive("Conv3dTranspose", "kernel_size, stride and dilation", k)
        self.padding, pads = padding, (padding,) * 6 if isinstance(padding, int) else tuple(padding)
        if pad_mode != "pad" and (any(pads) or any(self.output_padding)):
            raise _check.needs("Conv3dTranspose", "'padding' or 'output_padding'", "pad_mode 'pad'")
        if len(pads) != 6 or min(pads) < 0:
            raise _check.refused("Conv3dTranspose", "padding", _check.value("be a number or 6 of them, at least 0"),
                                 padding)
        self.pad_mode, self.has_bias, self.bias = pad_mode, has_bias, None
        shape = [in_channels, out_channels // group, *self.kernel_size]
        fan_in = shape[1] * shape[2] * shape[3] * shape[4]
        _initializers(self, weight_init, bias_init, fan_in, data_format)
        self.weight: Parameter = Parameter(initializer(self.weight_init, shape, dtype), name="weight")
        if has_bias:
            self.bias: Any = Parameter(initializer(self.bias_init, [out_channels], dtype), name="bias")
        self.conv3d_transpose: Any = P.Conv3DTranspose(in_channels, out_channels, self.kernel_size, 1, pad_mode, pads,
                                                       self.stride, self.dilation, group,
                                                       self.output_padding, data_format)
        self.bias_add: Any = P.BiasAdd(data_format)

    def construct(self, x: Tensor) -> Tensor:
        if x.ndim != 5:
            raise _check.refused("Conv3dTranspose", "the input", _check.dims(5), x.ndim)
        y = self.conv3d_transpose(x, self.weight)
        return self.bias_add(y, self.bias) if self.has_bias else y

    def extend_repr(self) -> str:
        return _shown(self)
