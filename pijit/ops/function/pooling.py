"""Pooling: maxima and means of windows."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.ops.function.convolution import _conv_pad
from pijit.ops.function.creation import arange, ones, zeros
from pijit.ops.function.elementwise import cast, isnan, logical_and, logical_not, logical_or, minimum, pow
from pijit.ops.function.shapes import broadcast_to, expand_dims, _ints, reshape, squeeze, transpose
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from typing import Any
    from pijit._types import Number, Size


def _two(name, argument, x):
    """Numbers of the height and the width."""
    if isinstance(x, int):
        return (x, x)
    if not isinstance(x, (tuple, list)):
        raise _check.refused(name, argument, _check.type_("an int or a tuple of two ints"), x)
    if len(x) != 2:
        raise _check.refused(name, argument, _check.value("be an int or a tuple of two ints"), x)
    return tuple(x)


def _pool_pad(name, size, kernel, stride, mode, padding):
    mode = mode.lower()
    if mode == "same":
        return _conv_pad(size, kernel, stride, (1, 1), "same", 0)
    if mode == "pad":
        p = _two(name, "padding", padding)
        return (p[0], p[0], p[1], p[1])
    return (0, 0, 0, 0)


def _windows(name, size, kernel, stride, pad, dilation, ceil_mode):
    """Output sizes and the padding (top, bottom, left, right) that windows over them need."""
    out, full = [], []
    if builtins.min(*kernel, *stride, *dilation) < 1:
        raise _check.refused(name, "kernel sizes, strides and dilations", _check.at_least(1),
                             _check.several(kernel, stride, dilation))
    for i in (0, 1):
        low, high = pad[2 * i], pad[2 * i + 1]
        span = dilation[i] * (kernel[i] - 1) + 1
        if 2 * builtins.max(low, high) > kernel[i]:
            raise _check.refused(name, "padding", _check.at_most(f"half the kernel size {kernel[i]}"),
                                 builtins.max(low, high))
        n = size[i] + low + high - span
        if n < 0:
            raise _check.too_large(name, f"the window of {span}", f"the padded input of {size[i] + low + high}")
        count = n // stride[i] + 1
        if ceil_mode and n % stride[i] and count * stride[i] < size[i] + low:
            count += 1  # one more window, which begins inside the input or the padding before it
        out.append(count)
        full += [low, builtins.max((count - 1) * stride[i] + span - size[i] - low, high)]
    return out, full


def max_pool2d(x: Tensor, kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1,
               return_indices: bool = False, ceil_mode: bool = False, pad_mode: str = "pad") -> Any:
    """Maxima of windows of x [N, C, H, W]; with return_indices, also their places in the plane of H * W as int64.

    Args:
        x (Tensor): the input [N, C, H, W], of bool, int or float dtype.
        kernel_size (int or tuple): the size of windows.
        stride (int or tuple, optional): the distance between windows. Default: None.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        dilation (int or tuple, optional): the distance between the elements of a window. Default: 1.
        return_indices (bool, optional): whether to give the places as well. Default: False.
        ceil_mode (bool, optional): whether the last window may reach beyond the end. Default: False.
        pad_mode (str, optional): 'valid' (no border), 'same' (the size divided by the stride) or 'pad' (as
            `padding` says). Default: 'pad'.

    Returns:
        Tensor [N, C, h, w], or two. Bool, ints and floats keep their dtype; not for complex.

    Example:
        >>> print(ops.max_pool2d(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), 2))
        [[[[4.]]]]
    """
    k, d = _two("max_pool2d", "kernel_size", kernel_size), _two("max_pool2d", "dilation", dilation)
    if d != (1, 1) and builtins.min(d) < 1:
        raise _check.refused("max_pool2d", "dilation", _check.at_least(1), dilation)
    s = k if stride is None else _two("max_pool2d", "stride", stride)
    pad = _pool_pad("max_pool2d", x.shape[2:], k, s, pad_mode, padding)
    if not return_indices and not ceil_mode and d == (1, 1):
        return _ops["max_pool2d"](x, k, s, pad)
    h, w = x.shape[2:]
    (oh, ow), pad = _windows("max_pool2d", (h, w), k, s, pad, d, ceil_mode)
    padded = _ops["pad"](x, (0, 0, pad[0], pad[2]), (0, 0, pad[1], pad[3]), float("-inf"))
    best = at = None
    for i in builtins.range(k[0]):
        for j in builtins.range(k[1]):
            top, left = i * d[0], j * d[1]
            v = padded[:, :, top:top + (oh - 1) * s[0] + 1:s[0], left:left + (ow - 1) * s[1] + 1:s[1]]
            rows, columns = arange(oh) * s[0] + (top - pad[0]), arange(ow) * s[1] + (left - pad[2])
            place = expand_dims(rows, 1) * w + columns
            if best is None:
                best, at = v, place + _ops["cast"](v != v, place.dtype) * 0
                continue
            greater = logical_or(v > best, logical_and(isnan(v), logical_not(isnan(best))))
            best, at = _ops["select"](greater, v, best), _ops["select"](greater, place, at)
    return (best, at) if return_indices else best


def avg_pool2d(input_x: Tensor, kernel_size: Size = 1, stride: Size = 1, padding: Size = 0, ceil_mode: bool = False,
               count_include_pad: bool = True, divisor_override: int = 0, pad_mode: str = "pad") -> Tensor:
    """Means of windows of input_x [N, C, H, W], or their sums over divisor_override.

    Args:
        input_x (Tensor): the input [N, C, H, W], of float dtype.
        kernel_size (int or tuple, optional): the size of windows. Default: 1.
        stride (int or tuple, optional): the distance between windows. Default: 1.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        ceil_mode (bool, optional): whether the last window may reach beyond the end. Default: False.
        count_include_pad (bool, optional): whether the border counts in means. Default: True.
        divisor_override (int, optional): the divisor instead of the number of elements. Default: 0.
        pad_mode (str, optional): 'valid' (no border), 'same' (the size divided by the stride) or 'pad' (as
            `padding` says). Default: 'pad'.

    Returns:
        Tensor [N, C, h, w]. Floats keep their dtype; not for bool, ints and complex.

    Example:
        >>> print(ops.avg_pool2d(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), 2))
        [[[[2.5]]]]
    """
    k, s = _two("avg_pool2d", "kernel_size", kernel_size), _two("avg_pool2d", "stride", stride)
    pad = _pool_pad("avg_pool2d", input_x.shape[2:], k, s, pad_mode, padding)
    if not ceil_mode and not divisor_override:
        return _ops["avg_pool2d"](input_x, k, s, pad, count_include_pad)
    h, w = input_x.shape[2:]
    _, full = _windows("avg_pool2d", (h, w), k, s, pad, (1, 1), ceil_mode)

    def sums(x, low, high):
        x = _ops["pad"](x, (0, 0, *low), (0, 0, *high), 0.0)
        return _ops["avg_pool2d"](x, k, s, (0, 0, 0, 0), True) * float(k[0] * k[1])
    total = sums(input_x, (full[0], full[2]), (full[1], full[3]))
    if divisor_override:
        return total / float(divisor_override)
    if count_include_pad:  # but not what ceil_mode adds behind it
        counted = ones((1, 1, h + pad[0] + pad[1], w + pad[2] + pad[3]), input_x.dtype)
        return total / sums(counted, (0, 0), (full[1] - pad[1], full[3] - pad[3]))
    return total / sums(ones((1, 1, h, w), input_x.dtype), (full[0], full[2]), (full[1], full[3]))


@_named(functional=True)
def adaptive_avg_pool2d(input: Tensor, output_size: Size) -> Tensor:
    """Means of windows so that the output has the given size.

    Window i of n covers [floor(i h / n), ceil((i + 1) h / n)).

    Args:
        input (Tensor): the input, of 3 or 4 dimensions and any dtype.
        output_size (int or tuple): the size of the result.

    Returns:
        Tensor [N, C, *output_size]. Floats and complex keep their dtype; bool and ints give float32.

    Raises:
        ValueError: if `input` has neither 3 nor 4 dimensions.

    Example:
        >>> print(ops.adaptive_avg_pool2d(Tensor([[[1.0, 2.0], [3.0, 4.0]]]), 1))
        [[[2.5]]]
    """
    oh, ow = _two("adaptive_avg_pool2d", "output_size", output_size)
    if input.ndim not in (3, 4):
        raise _check.refused("adaptive_avg_pool2d", "the input", _check.dims(3, 4), input.ndim)
    h, w = input.shape[-2:]
    oh, ow = h if oh is None else oh, w if ow is None else ow
    if input.ndim == 4 and h % oh == 0 and w % ow == 0:
        k = (h // oh, w // ow)
        return _ops["avg_pool2d"](input, k, k)

    def weights(n, size):
        i, x = expand_dims(arange(n), 1), arange(size)
        begin, end = i * size // n, ((i + 1) * size + (n - 1)) // n
        inside = cast(logical_and(x >= begin, x < end), input.dtype)
        return inside / cast(end - begin, input.dtype)
    down, across = weights(oh, h), weights(ow, w)
    return _ops["matmul"](_ops["matmul"](down, cast(input, down.dtype), False, False), across, False, True)


def avg_pool1d(input_x: Tensor, kernel_size: Size = 1, stride: Size = 1, padding: Size = 0, ceil_mode: bool = False,
               count_include_pad: bool = True) -> Tensor:
    """Means of windows of input_x [N, C, L].

    Args:
        input_x (Tensor): the input [N, C, L], of float dtype.
        kernel_size (int or tuple, optional): the size of windows. Default: 1.
        stride (int or tuple, optional): the distance between windows. Default: 1.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        ceil_mode (bool, optional): whether the last window may reach beyond the end. Default: False.
        count_include_pad (bool, optional): whether the border counts in means. Default: True.

    Returns:
        Tensor [N, C, l]. Floats keep their dtype; not for bool, ints and complex.

    Example:
        >>> print(ops.avg_pool1d(Tensor([[[1.0, 3.0]]]), 2))
        [[[2.]]]
    """
    _dims("avg_pool1d", input_x, (3,))
    k, s, p = (_ints(v)[0] for v in (kernel_size, stride, padding))
    return squeeze(avg_pool2d(expand_dims(input_x, 2), (1, k), (1, s), (0, p), ceil_mode, count_include_pad), 2)


def _max_pool1d(x, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
    k, p, d = (_ints(v)[0] for v in (kernel_size, padding, dilation))
    s = k if stride is None else _ints(stride)[0]
    y = max_pool2d(expand_dims(x, -2), (1, k), (1, s), (0, p), (1, d), return_indices, ceil_mode)
    return (squeeze(y[0], -2), squeeze(y[1], -2)) if return_indices else squeeze(y, -2)


def _dims(name, x, allowed):
    if x.ndim not in allowed:
        raise _check.refused(name, "the input", _check.dims(*allowed), x.ndim)


def _triple(x):
    return (x,) * 3 if isinstance(x, int) else tuple(x)


def _places(kernel):
    return [(i, j, k) for i in builtins.range(kernel[0]) for j in builtins.range(kernel[1])
            for k in builtins.range(kernel[2])]


def _windows3d(name, x, kernel, stride, padding, dilation, ceil_mode, fill):
    """The elements at each place of the windows of x [N, C, D, H, W]: tensors of the output's shape, and the
    padding."""
    out, low, high = [], [0, 0], [0, 0]
    for n, k, s, p, d in zip(x.shape[2:], kernel, stride, padding, dilation):
        if k <= 0 or s <= 0 or d <= 0:
            raise ValueError(f"For '{name}', kernel_size, stride and dilation must be greater than 0.")
        if 2 * p > k:
            raise _check.refused(name, "padding", _check.at_most(f"half the kernel size {k}"), p)
        span = d * (k - 1) + 1
        room = n + 2 * p - span
        if room < 0:
            raise _check.too_large(name, f"the window of {span}", f"the padded input of {n + 2 * p}")
        count = room // s + 1
        if ceil_mode and room % s and count * s < n + p:
            count += 1
        out.append(count)
        low.append(p)
        high.append(builtins.max((count - 1) * s + span - n - p, p))
    padded = _ops["pad"](x, tuple(low), tuple(high), fill)
    parts = []
    for place in _places(kernel):
        at = [slice(i * d, i * d + (o - 1) * s + 1, s) for i, d, o, s in zip(place, dilation, out, stride)]
        parts.append(padded[(slice(None), slice(None), *at)])
    return parts, low[2:], high[2:]


def avg_pool3d(input_x: Tensor, kernel_size: Size = 1, stride: Size = 1, padding: Size = 0, ceil_mode: bool = False,
               count_include_pad: bool = True, divisor_override: int = 0) -> Tensor:
    """Means of windows of input_x [N, C, D, H, W], or their sums over divisor_override.

    Args:
        input_x (Tensor): the input [N, C, D, H, W], of any dtype.
        kernel_size (int or tuple, optional): the size of windows. Default: 1.
        stride (int or tuple, optional): the distance between windows. Default: 1.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        ceil_mode (bool, optional): whether the last window may reach beyond the end. Default: False.
        count_include_pad (bool, optional): whether the border counts in means. Default: True.
        divisor_override (int, optional): the divisor instead of the number of elements. Default: 0.

    Returns:
        Tensor [N, C, d, h, w]. Floats and complex keep their dtype; bool and ints give float32.

    Example:
        >>> print(ops.avg_pool3d(ops.ones((1, 1, 2, 2, 2)), 2))
        [[[[[1.]]]]]
    """
    _dims("avg_pool3d", input_x, (5,))
    k, s, p = _triple(kernel_size), _triple(stride), _triple(padding)

    def total(x):
        parts, low, high = _windows3d("avg_pool3d", x, k, s, p, (1, 1, 1), ceil_mode, 0.0)
        y = parts[0]
        for part in parts[1:]:
            y = y + part
        return y, low, high
    y, low, high = total(input_x)
    if divisor_override:
        return y / float(divisor_override)
    if not count_include_pad:
        return y / total(ones((1, 1, *input_x.shape[2:]), input_x.dtype))[0]
    if tuple(low) == tuple(high):
        return y / float(k[0] * k[1] * k[2])
    # not what ceil_mode adds behind it
    counted = _ops["pad"](ones((1, 1, *input_x.shape[2:]), input_x.dtype), (0, 0, *p), (0, 0, *p), 1.0)
    rest = [h - q for h, q in zip(high, p)]
    counted = _ops["pad"](counted, (0,) * 5, (0, 0, *rest), 0.0)
    return y / _windows_sum(counted, k, s, y.shape[2:])


def _windows_sum(x, kernel, stride, out):
    total = None
    for place in _places(kernel):
        at = [slice(i, i + (o - 1) * s + 1, s) for i, o, s in zip(place, out, stride)]
        part = x[(slice(None), slice(None), *at)]
        total = part if total is None else total + part
    return total


def max_pool3d(x: Tensor, kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """Maxima of windows of x [N, C, D, H, W].

    With return_indices, also their places in the volume of D * H * W as int64.

    Args:
        x (Tensor): the input [N, C, D, H, W], of bool, int or float dtype.
        kernel_size (int or tuple): the size of windows.
        stride (int or tuple, optional): the distance between windows. Default: None.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        dilation (int or tuple, optional): the distance between the elements of a window. Default: 1.
        ceil_mode (bool, optional): whether the last window may reach beyond the end. Default: False.
        return_indices (bool, optional): whether to give the places as well. Default: False.

    Returns:
        Tensor [N, C, d, h, w], or two. Bool, ints and floats keep their dtype; not for complex.

    Example:
        >>> print(ops.max_pool3d(ops.ones((1, 1, 2, 2, 2)), 2))
        [[[[[1.]]]]]
    """
    _dims("max_pool3d", x, (4, 5))
    if x.ndim == 4:
        y = max_pool3d(expand_dims(x, 0), kernel_size, stride, padding, dilation, ceil_mode, return_indices)
        return (squeeze(y[0], 0), squeeze(y[1], 0)) if return_indices else squeeze(y, 0)
    k, p, d = _triple(kernel_size), _triple(padding), _triple(dilation)
    s = k if stride is None else _triple(stride)
    parts, low, _ = _windows3d("max_pool3d", x, k, s, p, d, ceil_mode, float("-inf"))
    depth, height, width = parts[0].shape[2:]
    best = at = None
    for v, (i, j, m) in zip(parts, _places(k)):
        planes, rows, columns = (arange(n) * step + (o * dist - q)
                                 for n, step, o, dist, q in zip((depth, height, width), s, (i, j, m), d, low))
        place = (reshape(planes, (-1, 1, 1)) * x.shape[3] + reshape(rows, (-1, 1))) * x.shape[4] + columns
        if best is None:
            best, at = v, place + cast(v != v, place.dtype) * 0
            continue
        greater = logical_or(v > best, logical_and(isnan(v), logical_not(isnan(best))))
        best, at = _ops["select"](greater, v, best), _ops["select"](greater, place, at)
    return (best, at) if return_indices else best


def lp_pool1d(x: Tensor, norm_type: Number, kernel_size: Size, stride: Size | None = None,
              ceil_mode: bool = False) -> Tensor:
    """(sum over each window of x ** norm_type) ** (1 / norm_type), x [C, L] or [N, C, L].

    Args:
        x (Tensor): the input [C, L], of bool, int or float dtype.
        norm_type (number): the order of the norm.
        kernel_size (int or tuple): the size of windows.
        stride (int or tuple, optional): the distance between windows. Default: None.
        ceil_mode (bool, optional): whether the last window may reach beyond the end. Default: False.

    Returns:
        Tensor. Floats keep their dtype; bool and ints give float32; not for complex.

    Example:
        >>> print(ops.lp_pool1d(Tensor([[3.0, 4.0]]), 2, 2))
        [[5.]]
    """
    _dims("lp_pool1d", x, (2, 3))
    k = _ints(kernel_size)[0]
    s = k if stride is None else _ints(stride)[0]
    y = lp_pool2d(reshape(x, (1,) * (3 - x.ndim) + (*x.shape[:-1], 1, x.shape[-1])), norm_type, (1, k), (1, s),
                  ceil_mode)
    return reshape(y, (*x.shape[:-1], y.shape[-1]))


def lp_pool2d(x: Tensor, norm_type: Number, kernel_size: Size, stride: Size | None = None,
              ceil_mode: bool = False) -> Tensor:
    """(sum over each window of x ** norm_type) ** (1 / norm_type), x [N, C, H, W].

    Args:
        x (Tensor): the input [N, C, H, W], of bool, int or float dtype.
        norm_type (number): the order of the norm.
        kernel_size (int or tuple): the size of windows.
        stride (int or tuple, optional): the distance between windows. Default: None.
        ceil_mode (bool, optional): whether the last window may reach beyond the end. Default: False.

    Returns:
        Tensor. Floats keep their dtype; bool and ints give float32; not for complex.

    Example:
        >>> print(ops.lp_pool2d(ops.ones((1, 1, 2, 2)), 2, 2))
        [[[[2.]]]]
    """
    _dims("lp_pool2d", x, (4,))
    if not isinstance(norm_type, (int, float)) or isinstance(norm_type, bool):
        raise _check.refused("lp_pool2d", "norm_type", _check.NUMBER, norm_type)
    if norm_type == 0:
        raise _check.refused("lp_pool2d", "norm_type", _check.NOT_ZERO, 0)
    k = _two("lp_pool2d", "kernel_size", kernel_size)
    s = k if stride is None else _two("lp_pool2d", "stride", stride)
    sums = avg_pool2d(pow(x, float(norm_type)), k, s, 0, ceil_mode, True, 1)
    return pow(sums, 1.0 / norm_type)


def _adaptive_max(name, input, sizes, return_indices):
    """Maxima so that the last axes have the given sizes, and their flat places in them."""
    axes = builtins.range(input.ndim - len(sizes), input.ndim)
    shape = [input.shape[a] for a in axes]
    sizes = [n if size is None else size for size, n in zip(sizes, shape)]
    for size in sizes:
        if not isinstance(size, int) or isinstance(size, bool):
            raise _check.refused(name, "output_size", _check.INT, size)
        if size == 0 or size < (-1 if len(sizes) == 2 else 0):
            raise _check.refused(name, "output_size", _check.above(0), size)
    sizes = [n if size == -1 else size for size, n in zip(sizes, shape)]
    x, places = input, None
    lengths = []
    for k, (n, size) in enumerate(zip(shape, sizes)):  # each axis of n becomes (windows, places in a window)
        i = arange(size)
        begin, end = i * n // size, ((i + 1) * n + (size - 1)) // size
        length = -(-n // size) + (1 if n % size else 0)
        # windows shorter than the longest repeat their last element, which changes no maximum
        at = minimum(expand_dims(begin, 1) + arange(length), expand_dims(end - 1, 1))
        axis = axes[0] + 2 * k
        x = _ops["gather"](x, at, axis)
        lengths.append(length)
        step = reshape(at, (1,) * (2 * k) + at.shape + (1,) * (2 * (len(sizes) - 1 - k)))
        places = step if places is None else places * n + step
    count = len(sizes)
    lead = input.ndim - count
    order = [*builtins.range(lead), *(lead + 2 * k for k in builtins.range(count)),
             *(lead + 2 * k + 1 for k in builtins.range(count))]
    x = reshape(transpose(x, tuple(order)), (*input.shape[:lead], *sizes, math.prod(lengths)))
    best = expand_dims(_ops["argmax"](x, -1), -1)  # of equal elements the first, which has the whole gradient
    if not return_indices:
        return squeeze(_ops["gather_d"](x, best, -1), -1), None
    places = transpose(places, tuple(k - lead for k in order[lead:]))
    places = broadcast_to(reshape(places, (1,) * lead + (*sizes, math.prod(lengths))), x.shape)
    return squeeze(_ops["gather_d"](x, best, -1), -1), squeeze(_ops["gather_d"](places, best, -1), -1)


def adaptive_max_pool1d(input: Tensor, output_size: Size) -> Tensor:
    """Maxima of windows so that the last axis of input [N, C, L] has the given size.

    Args:
        input (Tensor): the input [N, C, L], of bool, int or float dtype.
        output_size (int or tuple): the size of the result.

    Returns:
        Tensor [N, C, output_size]. Bool, ints and floats keep their dtype; not for complex.

    Example:
        >>> print(ops.adaptive_max_pool1d(Tensor([[[1.0, 3.0]]]), 1))
        [[[3.]]]
    """
    _dims("adaptive_max_pool1d", input, (2, 3))
    return _adaptive_max("adaptive_max_pool1d", input, _ints(output_size), False)[0]


def adaptive_max_pool2d(input: Tensor, output_size: Size, return_indices: bool = False) -> Any:
    """Maxima of windows so that the output has the given size.

    With return_indices, also their places in the plane of H * W as int64.

    Args:
        input (Tensor): the input, of 3 or 4 dimensions and bool, int or float dtype.
        output_size (int or tuple): the size of the result; None or -1 is the input's.
        return_indices (bool, optional): whether to give the places as well. Default: False.

    Returns:
        Tensor [N, C, *output_size], or two. Bool, ints and floats keep their dtype; not for complex.

    Example:
        >>> print(ops.adaptive_max_pool2d(Tensor([[[1.0, 2.0], [3.0, 4.0]]]), 1))
        [[[4.]]]
    """
    _dims("adaptive_max_pool2d", input, (3, 4))
    y, at = _adaptive_max("adaptive_max_pool2d", input, _two("adaptive_max_pool2d", "output_size", output_size),
                          return_indices)
    return (y, at) if return_indices else y


def adaptive_max_pool3d(input: Tensor, output_size: Size, return_indices: bool = False) -> Any:
    """Maxima of windows so that the output has the given size.

    With return_indices, also their places in the volume as int32.

    Args:
        input (Tensor): the input, of 4 or 5 dimensions and bool, int or float dtype.
        output_size (int or tuple): the size of the result.
        return_indices (bool, optional): whether to give the places as well. Default: False.

    Returns:
        Tensor [N, C, *output_size], or two. Bool, ints and floats keep their dtype; not for complex.

    Example:
        >>> print(ops.adaptive_max_pool3d(ops.ones((1, 1, 2, 2, 2)), 1))
        [[[[[1.]]]]]
    """
    _dims("adaptive_max_pool3d", input, (4, 5))
    y, at = _adaptive_max("adaptive_max_pool3d", input, _triple(output_size), return_indices)
    return (y, cast(at, mstype.int32)) if return_indices else y


@_named(functional=True)
def adaptive_avg_pool1d(input: Tensor, output_size: Size) -> Tensor:
    """Means of windows so that the last axis of input [N, C, L] has the given size.

    Args:
        input (Tensor): the input [N, C, L], of float dtype.
        output_size (int or tuple): the size of the result.

    Returns:
        Tensor [N, C, output_size]. Floats keep their dtype; not for bool, ints and complex.

    Example:
        >>> print(ops.adaptive_avg_pool1d(Tensor([[[1.0, 3.0]]]), 1))
        [[[2.]]]
    """
    _dims("adaptive_avg_pool1d", input, (2, 3))
    n = _ints(output_size)[0]
    return squeeze(adaptive_avg_pool2d(expand_dims(input, -2), (1, n)), -2)


@_named(functional=True)
def adaptive_avg_pool3d(input: Tensor, output_size: Size) -> Tensor:
    """Means of windows so that the last three axes have the given sizes.

    Args:
        input (Tensor): the input, of 4 or 5 dimensions and float dtype.
        output_size (int or tuple): the size of the result.

    Returns:
        Tensor [N, C, *output_size]. Floats keep their dtype; not for bool, ints and complex.

    Example:
        >>> print(ops.adaptive_avg_pool3d(ops.ones((1, 1, 2, 2, 2)), 1))
        [[[[[1.]]]]]
    """
    _dims("adaptive_avg_pool3d", input, (4, 5))
    d, h, w = (n if size is None else size for size, n in zip(_triple(output_size), input.shape[-3:]))
    lead = input.shape[:-3]
    y = adaptive_avg_pool2d(input, (h, w)) if input.ndim == 4 else reshape(
        adaptive_avg_pool2d(reshape(input, (lead[0], -1, *input.shape[-2:])), (h, w)), (*lead, input.shape[-3], h, w))
    y = reshape(y, (*lead, y.shape[-3], h * w))
    y = reshape(adaptive_avg_pool2d(y, (d, h * w)), (*lead, d, h, w))
    return y if input.dtype.is_floating_point else cast(y, input.dtype)


def _unpool(name, x, indices, planes, sizes):
    """Zeros of the given sizes with x at the flat places `indices` of each of the last `planes` axes."""
    if tuple(x.shape) != tuple(indices.shape):
        raise _check.differ(name, ("x", "indices"), "shape", x.shape, indices.shape)
    lead = x.shape[:x.ndim - planes]
    size = 1
    for n in sizes:
        size *= n
    flat = zeros((*lead, size), x.dtype)
    y = _ops["scatter_d"](flat, reshape(indices, (*lead, -1)), reshape(x, (*lead, -1)), -1, "update")
    return reshape(y, (*lead, *sizes))


def _unpooled_sizes(name, x, kernel, stride, padding, output_size):
    planes = len(kernel)
    usual = [(n - 1) * s - 2 * p + k for n, k, s, p in zip(x.shape[x.ndim - planes:], kernel, stride, padding)]
    if output_size is None or output_size == ():
        return usual
    sizes = list(output_size)[-planes:]
    for got, want, s in zip(sizes, usual, stride):
        if not want - s < got < want + s:
            raise _check.refused(name, "output_size", _check.value(f"be within the stride of {usual}"), sizes)
    return sizes


def max_unpool1d(x: Tensor, indices: Tensor, kernel_size: Size, stride: Size | None = None, padding: Size = 0,
                 output_size: Size | None = None) -> Tensor:
    """The inverse of max pooling of [N, C, L] or [C, L]: x at its places, zeros elsewhere.

    Args:
        x (Tensor): the input, of 3 dimensions and any dtype.
        indices (Tensor): where: ints.
        kernel_size (int or tuple): the size of windows.
        stride (int or tuple, optional): the distance between windows. Default: None.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        output_size (int or tuple, optional): the size of the result. Default: None.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if the shape of `indices` does not fit.

    Example:
        >>> print(ops.max_unpool1d(Tensor([[[5.0, 7.0]]]), Tensor([[[1, 2]]]), 2))
        [[[0. 5. 7. 0.]]]
    """
    _dims("max_unpool1d", x, (2, 3))
    k, p = _ints(kernel_size)[:1], _ints(padding)[:1]
    s = k if stride is None or stride == 0 else _ints(stride)[:1]
    return _unpool("max_unpool1d", x, indices, 1, _unpooled_sizes("max_unpool1d", x, k, s, p, output_size))


@_named(functional=True)
def max_unpool2d(x: Tensor, indices: Tensor, kernel_size: Size, stride: Size | None = None, padding: Size = 0,
                 output_size: Size | None = None) -> Tensor:
    """The inverse of max pooling of [N, C, H, W] or [C, H, W]: x at its places, zeros elsewhere.

    Args:
        x (Tensor): the input, of 4 dimensions and any dtype.
        indices (Tensor): where: ints.
        kernel_size (int or tuple): the size of windows.
        stride (int or tuple, optional): the distance between windows. Default: None.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        output_size (int or tuple, optional): the size of the result. Default: None.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if the shape of `indices` does not fit.

    Example:
        >>> print(ops.max_unpool2d(Tensor([[[[5.0]]]]), Tensor([[[[3]]]]), 2))
        [[[[0. 0.]
           [0. 5.]]]]
    """
    _dims("max_unpool2d", x, (3, 4))
    k, p = _two("max_unpool2d", "kernel_size", kernel_size), _two("max_unpool2d", "padding", padding)
    s = k if stride is None or stride == 0 else _two("max_unpool2d", "stride", stride)
    return _unpool("max_unpool2d", x, indices, 2, _unpooled_sizes("max_unpool2d", x, k, s, p, output_size))


def max_unpool3d(x: Tensor, indices: Tensor, kernel_size: Size, stride: Size | None = None, padding: Size = 0,
                 output_size: Size | None = None) -> Tensor:
    """The inverse of max pooling of [N, C, D, H, W] or [C, D, H, W]: x at its places, zeros elsewhere.

    Args:
        x (Tensor): the input, of 5 dimensions and any dtype.
        indices (Tensor): where: ints.
        kernel_size (int or tuple): the size of windows.
        stride (int or tuple, optional): the distance between windows. Default: None.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        output_size (int or tuple, optional): the size of the result. Default: None.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if the shape of `indices` does not fit.

    Example:
        >>> print(ops.max_unpool3d(Tensor([[[[[5.0]]]]]), Tensor([[[[[7]]]]]), 2).sum())
        5.0
    """
    _dims("max_unpool3d", x, (4, 5))
    k, p = _triple(kernel_size), _triple(padding)
    s = k if stride is None or stride == 0 else _triple(stride)
    return _unpool("max_unpool3d", x, indices, 3, _unpooled_sizes("max_unpool3d", x, k, s, p, output_size))


def adaptive_avg_pool2d_ext(input: Tensor, output_size: Size) -> Tensor:
    """As adaptive_avg_pool2d.

    Args:
        input (Tensor): the input, of 3 or 4 dimensions and any dtype.
        output_size (int or tuple): the size of the result.

    Returns:
        Tensor. Floats and complex keep their dtype; bool and ints give float32.

    Example:
        >>> print(ops.adaptive_avg_pool2d_ext(ops.ones((1, 4, 4)), (2, 2)))
        [[[1. 1.]
          [1. 1.]]]
    """
    return adaptive_avg_pool2d(input, output_size)
