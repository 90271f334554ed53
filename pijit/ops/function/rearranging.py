"""Elements in other places: reversed, rolled, turned, exchanged between depth, batch, channels and planes."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.compute_dtype import gives_compute_dtype
from pijit.ops.function.creation import arange
from pijit.ops.function.elementwise import cast, _need_tensor, select
from pijit.ops.function.shapes import _axis, _ints, narrow, ravel, reshape, swapaxes, _within
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit._types import Axis, Shape, Size


@_named(method=True)
def reverse_sequence(x: Tensor, seq_lengths: Tensor, seq_dim: int, batch_dim: int = 0) -> Tensor:
    """The first seq_lengths[b] elements along seq_dim in reverse order, for each b along batch_dim.

    Args:
        x (Tensor): the input, of 2 dimensions or more and any dtype.
        seq_lengths (Tensor): how many elements to reverse.
        seq_dim (int): the axis of elements.
        batch_dim (int, optional): the axis of examples. Default: 0.

    Returns:
        Tensor of x's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if the shape of `seq_lengths` does not fit.

    Example:
        >>> print(ops.reverse_sequence(Tensor([[1, 2, 3]]), Tensor([2], ms.int32), 1))
        [[2 1 3]]
    """
    _within("reverse_sequence", seq_dim, x.ndim)
    _within("reverse_sequence", batch_dim, x.ndim)
    s, b = _axis(seq_dim, x.ndim), _axis(batch_dim, x.ndim)
    if s == b:
        raise _check.refused("reverse_sequence", "'seq_dim' and 'batch_dim'", _check.value("differ"),
                             _check.several(seq_dim, batch_dim))
    if seq_lengths.ndim != 1 or seq_lengths.shape[0] != x.shape[b]:
        raise _check.refused("reverse_sequence", "seq_lengths", _check.shape((x.shape[b],)), seq_lengths.shape)
    lengths = reshape(cast(seq_lengths, mstype.int64), tuple([-1 if k == b else 1 for k in builtins.range(x.ndim)]))
    at = reshape(arange(x.shape[s]), tuple([-1 if k == s else 1 for k in builtins.range(x.ndim)]))
    return _ops["gather_d"](x, _ops["broadcast_to"](select(at < lengths, lengths - 1 - at, at), x.shape), s)


@gives_compute_dtype
def depth_to_space(x: Tensor, block_size: int) -> Tensor:
    """[N, C b b, H, W] as [N, C, H b, W b]: blocks of depth become blocks of the plane.

    Args:
        x (Tensor): the input, of 4 dimensions and any dtype.
        block_size (int): the size of blocks.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> ops.function.depth_to_space(ops.ones((1, 4, 1, 1)), 2).shape
        (1, 1, 2, 2)
    """
    n, c, h, w = x.shape
    if c % (block_size * block_size):
        raise _check.refused("DepthToSpace", "the number of channels",
                             _check.multiple(f"block_size squared, {block_size * block_size}"), c)
    x = reshape(x, (n, block_size, block_size, c // (block_size * block_size), h, w))
    return reshape(_ops["transpose"](x, (0, 3, 4, 1, 5, 2)),
                   (n, c // (block_size * block_size), h * block_size, w * block_size))


@gives_compute_dtype
def space_to_depth(x: Tensor, block_size: int) -> Tensor:
    """[N, C, H b, W b] as [N, C b b, H, W]: blocks of the plane become depth.

    Args:
        x (Tensor): the input, of 4 dimensions and any dtype.
        block_size (int): the size of blocks.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> ops.function.space_to_depth(ops.ones((1, 1, 2, 2)), 2).shape
        (1, 4, 1, 1)
    """
    n, c, h, w = x.shape
    if h % block_size or w % block_size:
        raise _check.refused("SpaceToDepth", "height and width",
                             _check.value(f"be multiples of block_size {block_size}"), _check.several(h, w))
    x = reshape(x, (n, c, h // block_size, block_size, w // block_size, block_size))
    return reshape(_ops["transpose"](x, (0, 3, 5, 1, 2, 4)),
                   (n, c * block_size * block_size, h // block_size, w // block_size))


@gives_compute_dtype
def batch_to_space_nd(input_x: Tensor, block_shape: Sequence[int], crops: Sequence[Any]) -> Tensor:
    """Blocks of the batch moved to the plane [N, C, H, W], then its borders cropped.

    Args:
        input_x (Tensor): the input, of 4 dimensions and any dtype.
        block_shape (sequence of int): the size of blocks.
        crops (sequence): (before, behind) for each axis.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> ops.batch_to_space_nd(ops.ones((4, 1, 1, 1)), [2, 2], [[0, 0], [0, 0]]).shape
        (1, 1, 2, 2)
    """
    if isinstance(block_shape, int):
        block_shape = (block_shape,) * 2
    n, c, h, w = input_x.shape
    (a, b), ((top, bottom), (left, right)) = block_shape, crops
    if n % (a * b):
        raise _check.refused("batch_to_space_nd", "the batch", _check.multiple(f"the blocks' size {a * b}"), n)
    x = reshape(input_x, (a, b, n // (a * b), c, h, w))
    x = reshape(_ops["transpose"](x, (2, 3, 4, 0, 5, 1)), (n // (a * b), c, h * a, w * b))
    return x[:, :, top:h * a - bottom, left:w * b - right]


def space_to_batch_nd(input_x: Tensor, block_size: int, paddings: Tensor | Sequence[Any]) -> Tensor:
    """[N, C, H, W], or [N, ..., H, W], padded with zeros, then blocks of the plane moved to the batch.

    Args:
        input_x (Tensor): the input, of 3 dimensions or more and any dtype.
        block_size (int): the size of blocks.
        paddings (Tensor or sequence): (before, behind) for each axis.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input_x` is not a Tensor.

    Example:
        >>> ops.space_to_batch_nd(ops.ones((1, 1, 2, 2)), [2, 2], [[0, 0], [0, 0]]).shape
        (4, 1, 1, 1)
    """
    if isinstance(block_size, int):
        block_size = (block_size,) * 2
    (a, b), ((top, bottom), (left, right)) = block_size, paddings
    lead = (0,) * (input_x.ndim - 2)
    x = _ops["pad"](input_x, (*lead, top, left), (*lead, bottom, right), 0.0)
    n, *inner, h, w = x.shape
    if h % a or w % b:
        raise _check.refused("space_to_batch_nd", "the padded height and width",
                             _check.value(f"be multiples of the blocks' sizes {a} and {b}"), _check.several(h, w))
    x = reshape(x, (n, math.prod(inner), h // a, a, w // b, b))
    return reshape(_ops["transpose"](x, (3, 5, 0, 1, 2, 4)), (n * a * b, *inner, h // a, w // b))


def invert_permutation(x: Shape) -> tuple[int, ...]:
    """The tuple of ints that takes a permutation back. ValueError where x is none.

    Args:
        x (tuple of int): the numbers 0 to n - 1 in some order.

    Returns:
        tuple of ints.

    Example:
        >>> ops.function.invert_permutation((2, 0, 1))
        (1, 2, 0)
    """
    if sorted(x) != list(builtins.range(len(x))):
        raise _check.refused("InvertPermutation", "x", _check.value(f"be a permutation of 0 to {len(x) - 1}"), x)
    out = [0] * len(x)
    for i, v in enumerate(x):
        out[v] = i
    return tuple(out)


@_named(method=True)
def roll(input: Tensor, shifts: Size, dims: Axis | None = None) -> Tensor:
    """Elements shifted along dimensions, what leaves at the end coming in at the start.

    Of the flattened tensor if dims is None.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        shifts (int or tuple of int): how far.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.roll(Tensor([1, 2, 3]), 1))
        [3 1 2]
    """
    if dims is None:
        return reshape(roll(ravel(input), shifts, 0), input.shape)
    shifts, dims = _ints(shifts), _ints(dims)
    if len(shifts) != len(dims):
        raise _check.refused("roll", "'shifts' and 'dims'", _check.value("agree in number"),
                             _check.several(len(shifts), len(dims)))
    for k, d in zip(shifts, dims):
        _within("roll", d, input.ndim)
        n = input.shape[d]
        k = k % n if n else 0
        if k:
            input = _ops["concat"]([narrow(input, d, n - k, k), narrow(input, d, 0, n - k)], _axis(d, input.ndim))
    return input


@_named(method=True)
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged.

    Args:
        input (Tensor): the input, of 2 dimensions or more and any dtype.
        dim0 (int): the first of the two axes.
        dim1 (int): the first of the two axes.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if `dim1` is out of range.

    Example:
        >>> print(ops.swapdims(Tensor([[1, 2]]), 0, 1))
        [[1]
         [2]]
    """
    return swapaxes(input, dim0, dim1)


@_named(method=True)
@gives_compute_dtype
def fliplr(input: Tensor) -> Tensor:
    """Axis 1 reversed.

    Args:
        input (Tensor): the input, of 2 dimensions or more and any dtype.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.fliplr(Tensor([[1, 2]])))
        [[2 1]]
    """
    _need_tensor("fliplr", "input", input)
    return flip(input, (1,))


@_named(method=True)
@gives_compute_dtype
def flipud(input: Tensor) -> Tensor:
    """Axis 0 reversed.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.flipud(Tensor([[1], [2]])))
        [[2]
         [1]]
    """
    _need_tensor("flipud", "input", input)
    return flip(input, (0,))


@_named(method=True)
@gives_compute_dtype
def rot90(input: Tensor, k: int, dims: Shape) -> Tensor:
    """Turned k times by 90 degrees in the plane of two axes, from the first towards the second.

    Args:
        input (Tensor): the input, of 2 dimensions or more and any dtype.
        k (int): how many quarter turns.
        dims (tuple of int): the two axes.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.rot90(Tensor([[1, 2], [3, 4]]), 1, (0, 1)))
        [[2 4]
         [1 3]]
    """
    a, b = (_axis(d, input.ndim) for d in dims)
    if a == b:
        raise _check.refused("rot90", "dims", _check.value("be two different axes"), dims)
    k %= 4
    if k == 0:
        return input
    if k == 2:
        return flip(input, (a, b))
    return flip(swapaxes(input, a, b), (a,)) if k == 1 else swapaxes(flip(input, (a,)), a, b)


@_named(functional=True)
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """[..., C r^2, H, W] to [..., C, H r, W r] (Shi et al. 2016).

    Args:
        input (Tensor): the input, of 3 dimensions or more and any dtype.
        upscale_factor (int): the factor.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> ops.pixel_shuffle(ops.zeros((1, 4, 1, 1)), 2).shape
        (1, 1, 2, 2)
    """
    r = upscale_factor
    *lead, c, h, w = input.shape
    if r <= 0 or c % (r * r):
        raise _check.refused("pixel_shuffle", "the channels", _check.multiple("upscale_factor^2"), _check.several(c, r))
    n = len(lead)
    x = reshape(input, (*lead, c // (r * r), r, r, h, w))
    x = _ops["transpose"](x, (*builtins.range(n), n, n + 3, n + 1, n + 4, n + 2))
    return reshape(x, (*lead, c // (r * r), h * r, w * r))


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """[..., C, H r, W r] to [..., C r^2, H, W].

    Args:
        input (Tensor): the input, of 3 dimensions or more and any dtype.
        downscale_factor (int): the factor.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> ops.pixel_unshuffle(ops.zeros((1, 1, 2, 2)), 2).shape
        (1, 4, 1, 1)
    """
    r = downscale_factor
    *lead, c, h, w = input.shape
    if r <= 0 or h % r or w % r:
        raise _check.refused("pixel_unshuffle", "height and width", _check.value("be multiples of downscale_factor"),
                             _check.several(h, w, r))
    n = len(lead)
    x = reshape(input, (*lead, c, h // r, r, w // r, r))
    x = _ops["transpose"](x, (*builtins.range(n), n, n + 2, n + 4, n + 1, n + 3))
    return reshape(x, (*lead, c * r * r, h // r, w // r))


def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    """Channels of [N, C, ...] taken from the groups in turn (Zhang et al. 2017).

    Args:
        x (Tensor): the input, of 4 dimensions and any dtype.
        groups (int): how many groups the channels are divided into.

    Returns:
        Tensor of x's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.channel_shuffle(Tensor([[[[1]], [[2]], [[3]], [[4]]]], ms.float32), 2).ravel())
        [1. 3. 2. 4.]
    """
    n, c, *rest = x.shape
    if groups <= 0 or c % groups:
        raise _check.refused("channel_shuffle", "groups", _check.value(f"divide the {c} channels"), groups)
    return reshape(swapaxes(reshape(x, (n, groups, c // groups, *rest)), 1, 2), x.shape)


@_named(method=True)
@gives_compute_dtype
def flip(input: Tensor, dims: Shape) -> Tensor:
    """Axes reversed. ValueError for an axis there is not.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        dims (tuple of int): the axes.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.flip(Tensor([1, 2, 3]), (0,)))
        [3 2 1]
    """
    s = input.shape
    n = len(s)
    for a in _ints(dims):
        _within("flip", a, n)
    axes = [_axis(a, n) for a in _ints(dims)]
    if len(set(axes)) != len(axes):
        raise _check.refused("flip", "dims", _check.value("name different axes"), dims)
    begin = tuple([s[a] - 1 if a in axes and s[a] else 0 for a in builtins.range(n)])
    end = tuple([-1 if a in axes and s[a] else s[a] for a in builtins.range(n)])
    return _ops["slice"](input, begin, end, tuple([-1 if a in axes and s[a] else 1 for a in builtins.range(n)]))


@_named(method=True)
def reverse(x: Tensor, axis: Axis) -> Tensor:
    """The order of elements reversed along axes.

    Args:
        x (Tensor): the input, of 1 dimension or more and any dtype.
        axis (int): the axis; -1 is the last one.

    Returns:
        Tensor of x's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.function.reverse(Tensor([1, 2, 3]), [0]))
        [3 2 1]
    """
    return flip(x, axis)
