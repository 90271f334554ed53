"""Padding, grids, stacks, flips, diagonals, pixels between channels and planes."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, views as _views
from pijit.ops.function.elementwise import _like, _need_tensor
from pijit.ops.function.shapes import (_axis, broadcast_to, cat, expand_dims, flip, _ints, narrow, ravel,
                                       repeat_interleave, reshape, swapaxes, transpose, _within)
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit._C import Tensor
    from pijit._types import Axis, Number, Shape, Size, TensorLike


def pad(input_x: Tensor, padding: Shape, mode: str = "constant", value: Number | None = None) -> Tensor:
    """Padded from the last dimension backwards: (left, right, top, bottom, ...).

    Args:
        input_x (Tensor): the input, of 1 dimension or more and any dtype.
        padding (tuple of int): (left, right, top, bottom, ...). Negative ones take elements away.
        mode (str, optional): 'constant', 'reflect', 'replicate' or 'circular'. Default: 'constant'.
        value (number, optional): the value of the border. Default: None.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if `mode` is not 'constant', 'reflect', 'replicate' or 'circular'.

    Example:
        >>> print(ops.pad(Tensor([1, 2]), (1, 2)))
        [0 1 2 0 0]
    """
    if mode not in ("constant", *_BORDERS):
        raise _check.refused("pad", "mode", _check.one_of("constant", "reflect", "replicate", "circular"), mode)
    p = _ints(padding)
    n = input_x.ndim
    if len(p) % 2 or len(p) // 2 > n:
        raise _check.refused("pad", "padding", _check.value(f"hold pairs for at most {n} dimensions"), p)
    if mode != "constant":
        for i in builtins.range(len(p) // 2):
            input_x = _bordered(input_x, n - 1 - i, p[2 * i], p[2 * i + 1], mode)
        return input_x
    low, high = [0] * n, [0] * n
    for i in builtins.range(len(p) // 2):
        before, behind = p[2 * i], p[2 * i + 1]
        if before < 0 or behind < 0:
            input_x = _cut(input_x, n - 1 - i, before, behind)
        low[n - 1 - i], high[n - 1 - i] = builtins.max(before, 0), builtins.max(behind, 0)
    return _ops["pad"](input_x, tuple(low), tuple(high), 0.0 if value is None else value)


# mode: (parts that stand before, behind) an axis of x, `count` elements each
_BORDERS = {
    "reflect": (lambda x, axis, count: flip(narrow(x, axis, 1, count), (axis,)),
                lambda x, axis, count: flip(narrow(x, axis, x.shape[axis] - 1 - count, count), (axis,))),
    "replicate": (lambda x, axis, count: repeat_interleave(narrow(x, axis, 0, 1), count, axis),
                  lambda x, axis, count: repeat_interleave(narrow(x, axis, x.shape[axis] - 1, 1), count, axis)),
    "circular": (lambda x, axis, count: narrow(x, axis, x.shape[axis] - count, count),
                 lambda x, axis, count: narrow(x, axis, 0, count)),
}


def _bordered(x, axis, before, behind, mode):
    n = x.shape[axis]
    most = {"reflect": n - 1, "circular": n}.get(mode)
    if most is not None and builtins.max(before, behind) > most:
        raise _check.refused("pad", f"a padding of mode {mode!r}", _check.at_most(f"{most} for a dimension of {n}"),
                             builtins.max(before, behind))
    first, last = _BORDERS[mode]
    parts = [x]
    if before > 0:
        parts.insert(0, first(x, axis, before))
    if behind > 0:
        parts.append(last(x, axis, behind))
    x = _ops["concat"](parts, axis) if len(parts) > 1 else x
    return _cut(x, axis, before, behind) if before < 0 or behind < 0 else x


def _cut(x, axis, before, behind):
    """Negative padding takes elements away."""
    low, length = builtins.max(-before, 0), x.shape[axis] + builtins.min(before, 0) + builtins.min(behind, 0)
    if length < 0:
        raise ValueError(f"For 'pad', a dimension of {x.shape[axis]} has too few elements for the padding "
                         f"{(before, behind)}.")
    return narrow(x, axis, low, length)


def meshgrid(*inputs: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Coordinate matrices from vectors.

    Args:
        *inputs (Tensor): the vectors, of 0 or 1 dimensions and any dtype.
        indexing (str, optional): 'xy' (rows and columns exchanged) or 'ij'. Default: 'xy'.

    Returns:
        tuple of Tensors. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> for part in ops.meshgrid(Tensor([1, 2]), Tensor([3, 4])):
        ...     print(part)
        [[1 2]
         [1 2]]
        [[3 3]
         [4 4]]
    """
    if indexing not in ("xy", "ij"):
        raise _check.refused("meshgrid", "indexing", _check.one_of("xy", "ij"), indexing)
    xs = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)) else inputs
    shape = [x.size for x in xs]
    out = []
    for i, x in enumerate(xs):
        s = [1] * len(xs)
        s[i] = -1
        g = _views["broadcast_to"](_views["reshape"](x, tuple(s)), tuple(shape))
        out.append(swapaxes(g, 0, 1) if indexing == "xy" and len(xs) > 1 else g)
    return tuple(out)


@_named(method=True)
def roll(input: Tensor, shifts: Size, dims: Axis | None = None) -> Tensor:
    """Elements shifted along dimensions, what leaves at the end coming in at the start; of the flattened
    tensor if dims is None.

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


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two dimensions, `offset` above the main one, as the last dimension.

    Args:
        input (Tensor): the input, of 2 dimensions or more and any dtype.
        offset (int, optional): which diagonal: 0 the main one, above it positive. Default: 0.
        dim1 (int, optional): the first of the two axes. Default: 0.
        dim2 (int, optional): the second of the two axes. Default: 1.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.diagonal(Tensor([[1, 2], [3, 4]])))
        [1 4]
    """
    _need_tensor("diagonal", "input", input)
    n = input.ndim
    a, b = _axis(dim1, n), _axis(dim2, n)
    if n < 2 or a == b:
        raise ValueError(f"For 'diagonal', expected two different dimensions, but got {dim1} and {dim2} of {n}.")
    x = transpose(input, tuple([k for k in builtins.range(n) if k not in (a, b)] + [a, b]))
    *lead, rows, cols = x.shape
    k = builtins.min(rows + builtins.min(offset, 0), cols - builtins.max(offset, 0))
    if k <= 0:
        return _ops["reshape"](narrow(narrow(x, -1, 0, 0), -2, 0, builtins.min(rows, 1)) if rows else x, (*lead, 0))
    begin = offset if offset >= 0 else -offset * cols
    ones = [1] * len(lead)
    return _views["slice"](reshape(x, (*lead, rows * cols)), (*[0 for _ in lead], begin),
                           (*lead, begin + (k - 1) * (cols + 1) + 1), (*ones, cols + 1))


def atleast_1d(inputs: Tensor | Sequence[Tensor]) -> Any:
    """At least one dimension.

    Args:
        inputs (Tensor, or a list or tuple of them): what gets dimensions.

    Returns:
        Tensor, or a list of them. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `inputs` is not a Tensor.

    Example:
        >>> print(ops.atleast_1d(Tensor(3)))
        [3]
    """
    return _each("atleast_1d", inputs, lambda x: reshape(x, (1,)) if x.ndim == 0 else x)


def atleast_2d(inputs: Tensor | Sequence[Tensor]) -> Any:
    """At least two dimensions, new ones in front.

    Args:
        inputs (Tensor, or a list or tuple of them): what gets dimensions.

    Returns:
        Tensor, or a list of them. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `inputs` is not a Tensor.

    Example:
        >>> print(ops.atleast_2d(Tensor(3)))
        [[3]]
    """
    return _each("atleast_2d", inputs, lambda x: reshape(x, (1,) * (2 - x.ndim) + tuple(x.shape)) if x.ndim < 2 else x)


def atleast_3d(inputs: Tensor | Sequence[Tensor]) -> Any:
    """At least three dimensions: [n] becomes [1, n, 1], [m, n] [m, n, 1].

    Args:
        inputs (Tensor, or a list or tuple of them): what gets dimensions.

    Returns:
        Tensor, or a list of them. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `inputs` is not a Tensor.

    Example:
        >>> ops.atleast_3d(Tensor([1, 2])).shape
        (1, 2, 1)
    """
    def widen(x):
        if x.ndim >= 3:
            return x
        return reshape(x, {0: (1, 1, 1), 1: (1, *x.shape, 1), 2: (*x.shape, 1)}[x.ndim])
    return _each("atleast_3d", inputs, widen)


def _each(name, inputs, f):
    if isinstance(inputs, (tuple, list)):
        return _like(inputs, [_each(name, x, f) for x in inputs])
    _need_tensor(name, "inputs", inputs)
    return f(inputs)


@_named(mint=True)
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along axis 1, vectors along axis 0.

    Args:
        tensors (sequence of Tensor): what to join.

    Returns:
        Tensor.

    Example:
        >>> print(ops.hstack((Tensor([1, 2]), Tensor([3]))))
        [1 2 3]
    """
    parts = [atleast_1d(x) for x in tensors]
    return cat(parts, 0 if parts[0].ndim == 1 else 1)


def vstack(inputs: Sequence[Tensor]) -> Tensor:
    """Joined along axis 0, vectors as rows.

    Args:
        inputs (sequence of Tensor): what to join.

    Returns:
        Tensor.

    Example:
        >>> print(ops.vstack((Tensor([1, 2]), Tensor([3, 4]))))
        [[1 2]
         [3 4]]
    """
    return cat([atleast_2d(x) for x in inputs], 0)


def row_stack(tensors: Sequence[Tensor]) -> Tensor:
    """As vstack.

    Args:
        tensors (sequence of Tensor): what to join.

    Returns:
        Tensor.

    Example:
        >>> print(ops.row_stack((Tensor([1, 2]), Tensor([3, 4]))))
        [[1 2]
         [3 4]]
    """
    return vstack(tensors)


@_named(mint=True)
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along axis 2.

    Args:
        tensors (sequence of Tensor): what to join.

    Returns:
        Tensor.

    Example:
        >>> print(ops.dstack((Tensor([1, 2]), Tensor([3, 4]))))
        [[[1 3]
          [2 4]]]
    """
    return cat([atleast_3d(x) for x in tensors], 2)


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along axis 1, vectors as columns.

    Args:
        tensors (sequence of Tensor): what to join.

    Returns:
        Tensor.

    Example:
        >>> print(ops.column_stack((Tensor([1, 2]), Tensor([3, 4]))))
        [[1 3]
         [2 4]]
    """
    return cat([reshape(x, (-1, 1)) if x.ndim < 2 else x for x in tensors], 1)


def expand_as(input: Tensor, other: TensorLike) -> Tensor:
    """Broadcast to other's shape.

    Args:
        input (Tensor): the input, of a shape that broadcasts to the one asked for and any dtype.
        other (Tensor or number): the second operand.

    Returns:
        Tensor of other's shape. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `other` does not fit.

    Example:
        >>> print(ops.expand_as(Tensor([1, 2]), ops.zeros((2, 2))))
        [[1 2]
         [1 2]]
    """
    return broadcast_to(input, other.shape)


def view_as(input: Tensor, other: TensorLike) -> Tensor:
    """In other's shape.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        other (Tensor or number): the second operand.

    Returns:
        Tensor of other's shape. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `other` does not fit.

    Example:
        >>> print(ops.view_as(Tensor([1, 2, 3, 4]), ops.zeros((2, 2))))
        [[1 2]
         [3 4]]
    """
    return reshape(input, other.shape)


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


def _embed_diagonal(x, offset):
    """[..., n] as the diagonal, `offset` above the main one, of zeros [..., m, m]."""
    right, down = builtins.max(offset, 0), builtins.max(-offset, 0)
    rank = x.ndim
    m = x.shape[-1] + right + down
    row = _ops["pad"](x, (0,) * (rank - 1) + (right,), (0,) * (rank - 1) + (down,), 0)
    places = _ops["arange"](0, 1, m, mstype.int64)
    on = expand_dims(places, 1) + offset == places
    return _ops["select"](on, expand_dims(row, -2), 0)


def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The last axis as the diagonal, `offset` above the main one, of two new axes dim1 and dim2.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        offset (int, optional): which diagonal: 0 the main one, above it positive. Default: 0.
        dim1 (int, optional): the first of the two axes. Default: -2.
        dim2 (int, optional): the second of the two axes. Default: -1.

    Returns:
        Tensor of one more dimension. Ints, floats and complex keep their dtype; bool gives int64.

    Example:
        >>> print(ops.diag_embed(Tensor([1, 2])))
        [[1 0]
         [0 2]]
    """
    n = input.ndim + 1
    a, b = _axis(dim1, n), _axis(dim2, n)
    if a == b:
        raise _check.refused("diag_embed", "'dim1' and 'dim2'", _check.value("differ"), _check.several(dim1, dim2))
    y = _embed_diagonal(input, offset)
    order = [k for k in builtins.range(n - 2)]
    for axis, source in sorted(((a, n - 2), (b, n - 1))):
        order.insert(axis, source)
    return _ops["transpose"](y, tuple(order))


@_named(method=True)
def diag(input: Tensor) -> Tensor:
    """A Tensor of twice as many dimensions with the elements on its diagonal: a matrix, for a vector.

    Args:
        input (Tensor): the input, of 1 to 4 dimensions and any dtype.

    Returns:
        Tensor. Ints, floats and complex keep their dtype; bool gives int64.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.diag(Tensor([1, 2])))
        [[1 0]
         [0 2]]
    """
    _need_tensor("diag", "input", input)
    if input.ndim == 0:
        raise _check.refused("diag", "the input", _check.least_dims(1), 0)
    return reshape(_embed_diagonal(ravel(input), 0), tuple(input.shape) * 2)


@_named(method=True)
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with the flattened input as its diagonal, `offset` above the main one.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        offset (int, optional): which diagonal: 0 the main one, above it positive. Default: 0.

    Returns:
        Tensor [n, n]. Ints, floats and complex keep their dtype; bool gives int64.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.diagflat(Tensor([1, 2])))
        [[1 0]
         [0 2]]
    """
    return _embed_diagonal(ravel(input), offset)


@_named(primitive="Trace", mint=True)
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal, in its dtype. Raises TypeError for bool.

    Args:
        input (Tensor): the input, of 2 dimensions and int, float or complex dtype.

    Returns:
        0-d Tensor. Ints, floats and complex keep their dtype; not for bool.

    Example:
        >>> print(ops.trace(Tensor([[1.0, 2.0], [3.0, 4.0]])))
        5.0
    """
    _need_tensor("trace", "input", input)
    if input.dtype == mstype.bool_:
        raise _check.refused("trace", "the input", _check.value("hold numbers"), input.dtype, TypeError)
    if input.ndim != 2:
        raise _check.refused("trace", "the input", _check.dims(2), input.ndim)
    return _ops["reduce_sum"](diagonal(input), (), False)


def repeat_elements(x: Tensor, rep: int, axis: int = 0) -> Tensor:
    """Each element of an axis repeated.

    Args:
        x (Tensor): the input, of 1 dimension or more and any dtype.
        rep (int): how often.
        axis (int, optional): the axis; -1 is the last one. Default: 0.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.repeat_elements(Tensor([1, 2]), 2))
        [1 1 2 2]
    """
    return repeat_interleave(x, rep, axis)


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
