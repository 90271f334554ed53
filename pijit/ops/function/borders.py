"""Borders around tensors."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.ops.function.joining import repeat_interleave
from pijit.ops.function.rearranging import flip
from pijit.ops.function.shapes import _ints, narrow

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit._types import Number, Shape


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


def mirror_pad(input_x: Tensor, paddings: Tensor | Sequence[Any], mode: str) -> Tensor:
    """A border of mirrored elements, (before, behind) for each dimension.

    'REFLECT' leaves the edge out, 'SYMMETRIC' repeats it.

    Args:
        input_x (Tensor): the input, of 1 dimension or more and any dtype.
        paddings (Tensor or sequence): (before, behind) for each axis.
        mode (str): which of the ways described above.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if the shape of `paddings` does not fit, or `mode` is not 'REFLECT' or 'SYMMETRIC'.

    Example:
        >>> print(ops.mirror_pad(Tensor([1, 2, 3]), Tensor([[1, 1]], ms.int32), "REFLECT"))
        [2 1 2 3 2]
    """
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise _check.refused("mirror_pad", "mode", _check.one_of("REFLECT", "SYMMETRIC"), mode)
    pairs = paddings.asnumpy().tolist() if isinstance(paddings, Tensor) else paddings
    edge = 1 if mode == "REFLECT" else 0
    for axis, (before, behind) in enumerate(pairs):
        n = input_x.shape[axis]
        if builtins.max(before, behind) > n - edge or builtins.min(before, behind) < 0:
            raise _check.refused("mirror_pad", f"paddings of an axis of {n}", _check.within(0, n - edge),
                                 (before, behind))
        if before or behind:
            at = [*builtins.range(before - 1 + edge, edge - 1, -1), *builtins.range(n),
                  *builtins.range(n - 1 - edge, n - 1 - edge - behind, -1)]
            input_x = _ops["gather"](input_x, Tensor(at, mstype.int64), axis)
    return input_x


def padding(x: Tensor, pad_dim_size: int = 8) -> Tensor:
    """The last dimension, of 1, extended by zeros to pad_dim_size.

    Args:
        x (Tensor): the input, of 2 dimensions or more and any dtype.
        pad_dim_size (int, optional): the size of the last dimension. Default: 8.

    Returns:
        Tensor [..., pad_dim_size]. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.padding(Tensor([[1.0]]), 3))
        [[1. 0. 0.]]
    """
    if x.shape[-1] != 1 or x.ndim < 2:
        raise _check.refused("padding", "the input", _check.value("have at least 2 dimensions and the last must be 1"),
                             x.shape)
    if pad_dim_size <= 0:
        raise _check.refused("padding", "pad_dim_size", _check.above(0), pad_dim_size)
    return _ops["pad"](x, (0,) * x.ndim, (0,) * (x.ndim - 1) + (pad_dim_size - 1,), 0)
