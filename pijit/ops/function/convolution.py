"""Convolutions."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from pijit import _check
from pijit._C import ops as _ops
from pijit.ops.function.elementwise import _need_tensor
from pijit.ops.function.shapes import expand_dims, _ints, _pair, reshape, _same_dtype, squeeze
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from pijit._C import Tensor
    from pijit._types import Size


def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Size = 1, pad_mode: str = "valid",
           padding: Size = 0, dilation: Size = 1, groups: int = 1) -> Tensor:
    """2-d convolution. input [N, C, H, W], weight [O, C / groups, kh, kw].

    Args:
        input (Tensor): [N, C, H, W].
        weight (Tensor): [O, C / groups, kh, kw].
        bias (Tensor, optional): what to add per channel. Default: None.
        stride (int or tuple, optional): the distance between windows. Default: 1.
        pad_mode (str, optional): 'valid' (no border), 'same' (the size divided by the stride) or 'pad' (as
            `padding` says). Default: 'valid'.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        dilation (int or tuple, optional): the distance between the elements of a window. Default: 1.
        groups (int, optional): how many groups the channels are divided into. Default: 1.

    Returns:
        Tensor [N, O, h, w]. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `weight` does not fit, or `pad_mode` is not one of those named.

    Example:
        >>> print(ops.conv2d(ops.ones((1, 1, 3, 3)), ops.ones((1, 1, 2, 2))))
        [[[[4. 4.]
           [4. 4.]]]]
    """
    _need_tensor("conv2d", "input", input)
    stride, dilation = _pair(stride), _pair(dilation)
    planes = input.ndim == weight.ndim == 4  # else the op says which shapes it takes
    pad = _conv_pad(input.shape[2:], weight.shape[2:], stride, dilation, pad_mode, padding) if planes else (0,) * 4
    return _ops["conv2d"](input, weight, bias, stride, pad, dilation, groups)


def _no_padding(name, mode, padding):
    """Raises ValueError where there is a padding that `mode` doesn't ask for."""
    if mode != "pad" and (padding if isinstance(padding, int) else builtins.any(padding)):
        raise _check.refused(name, "padding", _check.value(f"be 0 where 'pad_mode' is {mode!r}"), padding)


def _conv_pad(size, kernel, stride, dilation, mode, padding):
    """(before, behind) for each axis, one after the other."""
    _no_padding("convolution", mode, padding)
    if mode == "valid":
        return (0,) * (2 * len(kernel))
    if mode == "same":
        out = []
        for n, k, s, d in zip(size, kernel, stride, dilation):
            total = builtins.max((-(-n // s) - 1) * s + d * (k - 1) + 1 - n, 0)
            out += [total // 2, total - total // 2]
        return tuple(out)
    if mode != "pad":
        raise ValueError(f"For a convolution, 'pad_mode' must be 'valid', 'same' or 'pad', but got {mode!r}.")
    if isinstance(padding, int):
        return (padding,) * (2 * len(kernel))
    p = tuple(padding)
    return tuple([v for q in p for v in (q, q)]) if len(p) == len(kernel) else p


def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Size = 1, pad_mode: str = "valid",
           padding: Size = 0, dilation: Size = 1, groups: int = 1) -> Tensor:
    """1-d convolution. input [N, C, L], weight [O, C / groups, k].

    Args:
        input (Tensor): [N, C, L].
        weight (Tensor): [O, C / groups, k].
        bias (Tensor, optional): what to add per channel. Default: None.
        stride (int or tuple, optional): the distance between windows. Default: 1.
        pad_mode (str, optional): 'valid' (no border), 'same' (the size divided by the stride) or 'pad' (as
            `padding` says). Default: 'valid'.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        dilation (int or tuple, optional): the distance between the elements of a window. Default: 1.
        groups (int, optional): how many groups the channels are divided into. Default: 1.

    Returns:
        Tensor [N, O, l]. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        ValueError: if the shape of `weight` does not fit, or `pad_mode` is not one of those named.

    Example:
        >>> print(ops.conv1d(ops.ones((1, 1, 4)), ops.ones((1, 1, 2))))
        [[[2. 2. 2.]]]
    """
    stride, dilation = _ints(stride)[0], _ints(dilation)[0]
    p = padding if isinstance(padding, int) else tuple(padding)[0]
    pad = _conv_pad((1, input.shape[2]), (1, weight.shape[2]), (1, stride), (1, dilation), pad_mode, (0, 0, p, p))
    y = _ops["conv2d"](expand_dims(input, 2), expand_dims(weight, 2), bias, (1, stride), pad, (1, dilation), groups)
    return squeeze(y, 2)


def bias_add(input_x: Tensor, bias: Tensor) -> Tensor:
    """A bias per channel (axis 1).

    Args:
        input_x (Tensor): the input, of 2 dimensions or more and any dtype, that of the other operand.
        bias (Tensor): [C].

    Returns:
        Tensor of input_x's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if the shape of `bias` does not fit.

    Example:
        >>> print(ops.bias_add(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([10.0, 20.0])))
        [[11. 22.]
         [13. 24.]]
    """
    if bias.ndim != 1 or bias.shape[0] != input_x.shape[1]:
        raise _check.refused("bias_add", "bias", _check.shape((input_x.shape[1],)), bias.shape)
    _same_dtype("bias_add", input_x=input_x, bias=bias)
    return input_x + reshape(bias, (1, -1) + (1,) * (input_x.ndim - 2))


def _sizes(name, size, kernel, stride, padding, dilation):
    """How many windows there are along each axis."""
    out = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation):
        if builtins.min(k, s, d) <= 0 or p < 0:
            raise ValueError(
                f"For '{name}', kernel_size, stride and dilation must be greater than 0 and padding at least 0.")
        room = n + 2 * p - d * (k - 1) - 1
        if room < 0:
            raise _check.too_large(name, f"the window of {d * (k - 1) + 1}", f"the padded input of {n + 2 * p}")
        out.append(room // s + 1)
    return out


def _transposed(name, input, weight, bias, stride, pad, output_padding, groups, dilation):
    """The adjoint of a convolution in its input; pad (top, bottom, left, right)."""
    size = []
    for i in (0, 1):
        if output_padding[i] >= builtins.max(stride[i], dilation[i]):
            raise _check.refused(name, "output_padding", _check.value("be less than stride or dilation"),
                                 output_padding[i])
        size.append((input.shape[2 + i] - 1) * stride[i] - pad[2 * i] - pad[2 * i + 1] + dilation[i] *
                    (weight.shape[2 + i] - 1) + 1 + output_padding[i])
    if builtins.min(size) <= 0:
        raise ValueError(f"For '{name}', the output would have size {size}.")
    shape = (input.shape[0], weight.shape[1] * groups, *size)
    y = _ops["conv2d_dx"](input, weight, stride, pad, dilation, groups, shape)
    return y if bias is None else bias_add(y, bias)


@_named(functional=True)
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Size = 1, padding: Size = 0,
                     output_padding: Size = 0, groups: int = 1, dilation: Size = 1) -> Tensor:
    """Transposed 2-d convolution (Zeiler et al. 2010). input [N, C, H, W], weight [C, O / groups, kh, kw].

    Args:
        input (Tensor): [N, C, H, W].
        weight (Tensor): [C, O / groups, kh, kw].
        bias (Tensor, optional): what to add per channel. Default: None.
        stride (int or tuple, optional): the distance between windows. Default: 1.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        output_padding (int or tuple, optional): how much to add at the end of each axis. Default: 0.
        groups (int, optional): how many groups the channels are divided into. Default: 1.
        dilation (int or tuple, optional): the distance between the elements of a window. Default: 1.

    Returns:
        Tensor [N, O, h, w]. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        IndexError: if the shape of `weight` does not fit.

    Example:
        >>> print(ops.conv_transpose2d(ops.ones((1, 1, 2, 2)), ops.ones((1, 1, 2, 2))))
        [[[[1. 2. 1.]
           [2. 4. 2.]
           [1. 2. 1.]]]]
    """
    p = _pair(padding)
    return _transposed("conv_transpose2d", input, weight, bias, _pair(stride), (p[0], p[0], p[1], p[1]),
                       _pair(output_padding), groups, _pair(dilation))


def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Size = 1, pad_mode: str = "valid",
           padding: Size = 0, dilation: Size = 1, groups: int = 1) -> Tensor:
    """3-d convolution, as a sum of 2-d ones. input [N, C, D, H, W], weight [O, C / groups, kd, kh, kw].

    Args:
        input (Tensor): [N, C, D, H, W].
        weight (Tensor): [O, C / groups, kd, kh, kw].
        bias (Tensor, optional): what to add per channel. Default: None.
        stride (int or tuple, optional): the distance between windows. Default: 1.
        pad_mode (str, optional): 'valid' (no border), 'same' (the size divided by the stride) or 'pad' (as
            `padding` says). Default: 'valid'.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        dilation (int or tuple, optional): the distance between the elements of a window. Default: 1.
        groups (int, optional): how many groups the channels are divided into. Default: 1.

    Returns:
        Tensor [N, O, d, h, w]. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `weight` does not fit, or `pad_mode` is not one of those named.

    Example:
        >>> print(ops.conv3d(ops.ones((1, 1, 2, 2, 2)), ops.ones((1, 1, 2, 2, 2))))
        [[[[[8.]]]]]
    """
    _need_tensor("conv3d", "input", input)
    if input.ndim != 5 or weight.ndim != 5:
        raise _check.refused("conv3d", "'input' and 'weight'", _check.dims(5), _check.several(input.ndim, weight.ndim))
    s, d = ((v,) * 3 if isinstance(v, int) else tuple(v) for v in (stride, dilation))
    pad = _conv_pad(input.shape[2:], weight.shape[2:], s, d, pad_mode, padding)
    x = _ops["pad"](input, (0, 0, pad[0], 0, 0), (0, 0, pad[1], 0, 0), 0.0)
    n, c, depth, h, w = x.shape
    (out,) = _sizes("conv3d", (depth,), weight.shape[2:3], s[:1], (0,), d[:1])
    total = None
    for k in builtins.range(weight.shape[2]):
        planes = x[:, :, k * d[0]:k * d[0] + (out - 1) * s[0] + 1:s[0]]
        planes = reshape(_ops["transpose"](planes, (0, 2, 1, 3, 4)), (n * out, c, h, w))
        y = _ops["conv2d"](planes, weight[:, :, k], None, s[1:], tuple(pad[2:]), d[1:], groups)
        total = y if total is None else total + y
    y = _ops["transpose"](reshape(total, (n, out, *total.shape[1:])), (0, 2, 1, 3, 4))
    return y if bias is None else bias_add(y, bias)


def _transposed3d(name, x, weight, bias, stride, pad, output_padding, groups, dilation):
    """The adjoint of a 3-d convolution in its input, as a sum of 2-d ones; pad (front, behind, top, bottom, left,
    right)."""
    n, c, depth, h, w = x.shape
    planes = reshape(_ops["transpose"](x, (0, 2, 1, 3, 4)), (n * depth, c, h, w))
    full = (depth - 1) * stride[0] + dilation[0] * (weight.shape[2] - 1) + 1
    size = full - pad[0] - pad[1] + output_padding[0]
    if size <= 0:
        raise ValueError(f"For '{name}', the output would have depth {size}.")
    if output_padding[0] >= builtins.max(stride[0], dilation[0]):
        raise _check.refused(name, "output_padding", _check.value("be less than stride or dilation"), output_padding[0])
    total = None
    for k in builtins.range(weight.shape[2]):
        y = _transposed(name, planes, weight[:, :, k], None, stride[1:], tuple(pad[2:]), tuple(output_padding[1:]),
                        groups, dilation[1:])
        y = _ops["transpose"](reshape(y, (n, depth, *y.shape[1:])), (0, 2, 1, 3, 4))
        if stride[0] > 1:  # zeros between the planes
            lead, rest = y.shape[:2], y.shape[3:]
            y = _ops["pad"](reshape(y, (*lead, depth, 1, *rest)), (0,) * 6, (0, 0, 0, stride[0] - 1, 0, 0), 0.0)
            y = reshape(y, (*lead, depth * stride[0], *rest))[:, :, :(depth - 1) * stride[0] + 1]
        first = k * dilation[0]
        y = _ops["pad"](y, (0, 0, first, 0, 0), (0, 0, full + output_padding[0] - first - y.shape[2], 0, 0), 0.0)
        total = y if total is None else total + y
    total = total[:, :, pad[0]:pad[0] + size]
    return total if bias is None else bias_add(total, bias)


def conv3d_transpose(inputs: Tensor, weight: Tensor, pad_mode: str = "valid", padding: Size = 0, stride: Size = 1,
                     dilation: Size = 1, group: int = 1, output_padding: Size = 0) -> Tensor:
    """Transposed 3-d convolution. inputs [N, C, D, H, W], weight [C, O / group, kd, kh, kw].

    Args:
        inputs (Tensor): [N, C, D, H, W].
        weight (Tensor): [C, O / group, kd, kh, kw].
        pad_mode (str, optional): 'valid' (no border), 'same' (the size divided by the stride) or 'pad' (as
            `padding` says). Default: 'valid'.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        stride (int or tuple, optional): the distance between windows. Default: 1.
        dilation (int or tuple, optional): the distance between the elements of a window. Default: 1.
        group (int, optional): how many groups the channels are divided into. Default: 1.
        output_padding (int or tuple, optional): how much to add at the end of each axis. Default: 0.

    Returns:
        Tensor [N, O, d, h, w]. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        IndexError: if the shape of `weight` does not fit.

    Example:
        >>> ops.conv3d_transpose(ops.ones((1, 1, 1, 1, 1)), ops.ones((1, 2, 1, 2, 2))).shape
        (1, 2, 1, 2, 2)
    """
    s, d, o = ((v,) * 3 if isinstance(v, int) else tuple(v)[-3:] for v in (stride, dilation, output_padding))
    return _transposed3d("conv3d_transpose", inputs, weight, None, s,
                         _transposed_pad(inputs.shape[2:], weight.shape[2:], s, d, pad_mode, padding), o, group, d)


def _transposed_pad(size, kernel, stride, dilation, mode, padding):
    """What a transposed convolution cuts off: before and behind, for each axis."""
    if mode == "same":
        out = []
        for n, k, s, d in zip(size, kernel, stride, dilation):
            cut = builtins.max((n - 1) * s + d * (k - 1) + 1 - n * s, 0)
            out += [cut // 2, cut - cut // 2]
        return tuple(out)
    if mode == "valid":
        return (0,) * (2 * len(kernel))
    p = (padding,) * (2 * len(kernel)) if isinstance(padding, int) else tuple(padding)
    return p if len(p) == 2 * len(kernel) else tuple([v for v in p for _ in (0, 1)])
