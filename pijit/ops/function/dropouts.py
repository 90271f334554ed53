"""Elements and channels set to zero at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check, random as _random
from pijit._C import ops as _ops, Tensor
from pijit.compute_dtype import one_operator
from pijit.ops.function.creation import zeros_like
from pijit.ops.function.elementwise import cast, _need_tensor

if TYPE_CHECKING:
    from pijit._types import Number


@one_operator
def dropout(input: Tensor, p: float = 0.5, training: bool = True, seed: int | None = None) -> Tensor:
    """Elements zeroed with probability p, the others scaled by 1 / (1 - p).

    Args:
        input (Tensor): the input, of any shape and any dtype.
        p (float, optional): the probability, in [0, 1). Default: 0.5.
        training (bool, optional): whether elements are dropped; the input itself is given otherwise. Default: True.
        seed (int, optional): where the random numbers begin; the global seed by default. Default: None.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.dropout(Tensor([1.0, 2.0]), 0.5, training=False))
        [1. 2.]
    """
    if not 0.0 <= p <= 1.0:
        raise _check.refused("dropout", "p", _check.within(0, 1), p)
    if not training:
        return input
    if p == 0:
        _need_tensor("dropout", "input", input)
        return input._held()  # another Tensor, as it is for other p
    if p == 1:
        return zeros_like(input)

    keep = _random.uniform(input.shape) >= p
    return cast(_ops["select"](keep, input * (1.0 / (1.0 - p)), 0.0), input.dtype)


@one_operator
def _dropout_channels(name, input, p, training, ranks):
    if input.ndim not in ranks:
        raise _check.refused(name, "the input", _check.dims(*ranks), input.ndim)
    if not 0.0 <= p <= 1.0:
        raise _check.refused(name, "p", _check.within(0, 1), p)
    if not training or p == 0:
        return input
    if p == 1:
        return zeros_like(input)
    planes = ranks[-1] - 2
    keep = _random.uniform((*input.shape[:input.ndim - planes], *(1,) * planes)) >= p
    return cast(_ops["select"](keep, input * (1.0 / (1.0 - p)), 0.0), input.dtype)


def dropout1d(input: Tensor, p: Number = 0.5, training: bool = True) -> Tensor:
    """Whole channels of [N, C, L] or [C, L] zeroed with probability p, the others scaled by 1 / (1 - p).

    Args:
        input (Tensor): the input, of 2 or 3 dimensions and any dtype.
        p (number, optional): the probability. Default: 0.5.
        training (bool, optional): whether elements are dropped; the input itself is given otherwise. Default: True.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.dropout1d(ops.ones((1, 1, 2)), 0.5, training=False))
        [[[1. 1.]]]
    """
    return _dropout_channels("dropout1d", input, p, training, (2, 3))


def dropout2d(input: Tensor, p: Number = 0.5, training: bool = True) -> Tensor:
    """Whole channels of [N, C, H, W] zeroed with probability p, the others scaled by 1 / (1 - p).

    Args:
        input (Tensor): the input, of 4 dimensions and any dtype.
        p (number, optional): the probability. Default: 0.5.
        training (bool, optional): whether elements are dropped; the input itself is given otherwise. Default: True.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.dropout2d(ops.ones((1, 1, 1, 2)), 0.5, training=False))
        [[[[1. 1.]]]]
    """
    return _dropout_channels("dropout2d", input, p, training, (4,))


def dropout3d(input: Tensor, p: Number = 0.5, training: bool = True) -> Tensor:
    """Whole channels of [N, C, D, H, W] zeroed with probability p, the others scaled by 1 / (1 - p).

    Args:
        input (Tensor): the input, of 5 dimensions and any dtype.
        p (number, optional): the probability. Default: 0.5.
        training (bool, optional): whether elements are dropped; the input itself is given otherwise. Default: True.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.dropout3d(ops.ones((1, 1, 1, 1, 2)), 0.5, training=False))
        [[[[[1. 1.]]]]]
    """
    return _dropout_channels("dropout3d", input, p, training, (5,))
