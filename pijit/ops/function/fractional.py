"""Max pooling over windows of one size that lie at random places (Graham 2014)."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from pijit import _check
from pijit.compute_dtype import one_operator
from pijit import dtype as mstype
from pijit import random as _random
from pijit._C import ops as _ops
from pijit.ops.function.creation import arange
from pijit.ops.function.elementwise import cast, floor
from pijit.ops.function.shapes import expand_dims, reshape

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit._C import Tensor
    from pijit._types import Size


def _begins(n, k, m, sample):
    """Where m windows of k begin on an axis of n: [N, C, m], by one random number each for N and C."""
    i = cast(arange(m), sample.dtype)
    if m == 1:
        return cast(expand_dims(sample, -1) * 0.0 + float(n - k), mstype.int64)
    share = (n - k) / (m - 1)
    u = expand_dims(sample, -1)
    first = floor((i + u) * share) - floor(u * share)
    return cast(_ops["select"](i == m - 1, float(n - k), first), mstype.int64)


def fractional_max(name: str, x: Tensor, kernel: Size, size: Any, samples: Any) -> tuple[Tensor, Tensor]:
    """(maxima, their flat places) of windows of x [N, C, *volume]; samples [N, C, axes] of numbers in [0, 1): the last
    is that of the first axis."""
    axes = len(kernel)
    if x.ndim != axes + 2:
        raise _check.refused(name, "the input", _check.dims(axes + 2), x.ndim)
    if tuple(samples.shape) != (*x.shape[:2], axes):
        raise _check.refused(name, "the random samples", _check.shape((*x.shape[:2], axes)), samples.shape)
    for n, k, m in zip(x.shape[2:], kernel, size):
        if m < 1 or k < 1 or m + k - 1 > n:
            raise ValueError(f"For '{name}', {m} windows of {k} don't fit into {n} elements.")
    lead = x.shape[:2]
    places, y = None, x
    order = (0, 1, 2) if axes == 3 else (1, 0)
    # each axis of n becomes (windows, places in a window)
    for a, (n, k, m) in enumerate(zip(x.shape[2:], kernel, size)):
        first = _begins(n, k, m, samples[..., order[a]])
        at = expand_dims(first, -1) + arange(k)
        axis = 2 + 2 * a
        before, behind = y.shape[2:axis], y.shape[axis + 1:]
        index = reshape(at, (*lead, *(1,) * len(before), m * k, *(1,) * len(behind)))
        y = _ops["gather_d"](y, _ops["broadcast_to"](index, (*lead, *before, m * k, *behind)), axis)
        y = reshape(y, (*lead, *before, m, k, *behind))
        step = reshape(at, (*lead, *(1,) * (2 * a), m, k, *(1,) * (2 * (axes - 1 - a))))
        places = step if places is None else places * n + step
    turn = (0, 1, *(2 + 2 * k for k in builtins.range(axes)), *(3 + 2 * k for k in builtins.range(axes)))
    y = reshape(_ops["transpose"](y, turn), (*lead, *size, -1))
    places = _ops["broadcast_to"](reshape(_ops["transpose"](places, turn), (*lead, *size, -1)), y.shape)
    best = expand_dims(_ops["argmax"](y, -1), -1)
    return (reshape(_ops["gather_d"](y, best, -1), (*lead, *size)),
            reshape(_ops["gather_d"](places, best, -1), (*lead, *size)))


def _pooled(name, input, kernel_size, output_size, output_ratio, return_indices, samples, axes):
    def sizes(what, value):
        value = (value,) * axes if isinstance(value, (int, float)) else tuple(value)
        if len(value) != axes:
            raise _check.refused(name, what, _check.length(axes, "numbers"), value)
        return value
    if (output_size is None) == (output_ratio is None):
        raise _check.exactly_one(name, "output_size", "output_ratio")
    batched = input.ndim == axes + 2
    x = input if batched else expand_dims(input, 0)
    if x.ndim != axes + 2:
        raise _check.refused(name, "the input", _check.dims(axes + 1, axes + 2), input.ndim)
    if output_ratio is not None:
        ratio = sizes("output_ratio", output_ratio)
        if not all(0 < r < 1 for r in ratio):
            raise _check.refused(name, "output_ratio", _check.value("lie in (0, 1)"), ratio)
        size = tuple(int(n * r) for n, r in zip(x.shape[2:], ratio))
    else:
        size = sizes("output_size", output_size)
    if samples is None:
        samples = _random.uniform((*x.shape[:2], axes))
    y, at = fractional_max(name, x, sizes("kernel_size", kernel_size), size, samples)
    if not batched:
        y, at = reshape(y, y.shape[1:]), reshape(at, at.shape[1:])
    return (y, at) if return_indices else y


@one_operator
def fractional_max_pool2d(input: Tensor, kernel_size: Size, output_size: Size | None = None,
                          output_ratio: float | Sequence[float] | None = None, return_indices: bool = False,
                          _random_samples: Any = None) -> Any:
    """Maxima of windows at random places of input [N, C, H, W] or [C, H, W].

    kernel_size: the windows' size; output_size: how many there are per axis, or output_ratio in (0, 1): their share of
        the input's size.
    _random_samples: [N, C, 2] numbers in [0, 1) in place of drawn ones. Returns the maxima, with return_indices also
        their places in the plane (int64). Raises ValueError where the windows don't fit.

    Example:
        >>> ops.fractional_max_pool2d(ops.ones((1, 1, 4, 4)), (2, 2), (2, 2)).shape
        (1, 1, 2, 2)
    """
    return _pooled("fractional_max_pool2d", input, kernel_size, output_size, output_ratio, return_indices,
                   _random_samples, 2)


@one_operator
def fractional_max_pool3d(input: Tensor, kernel_size: Size, output_size: Size | None = None,
                          output_ratio: float | Sequence[float] | None = None, return_indices: bool = False,
                          _random_samples: Any = None) -> Any:
    """Maxima of windows at random places of input [N, C, D, H, W] or [C, D, H, W].

    Arguments and results as those of fractional_max_pool2d, for three axes; _random_samples: [N, C, 3].

    Args:
        kernel_size (int or tuple): the size of windows.
        output_size (int or tuple, optional): the size of the result. Default: None.
        output_ratio (float or tuple, optional): the share of the input's size. Default: None.
        return_indices (bool, optional): whether to give the places as well. Default: False.

    Returns:
        Tensor. Bool, ints and floats keep their dtype; not for complex.

    Example:
        >>> ops.fractional_max_pool3d(ops.ones((1, 1, 4, 4, 4)), (2, 2, 2), (2, 2, 2)).shape
        (1, 1, 2, 2, 2)
    """
    return _pooled("fractional_max_pool3d", input, kernel_size, output_size, output_ratio, return_indices,
                   _random_samples, 3)


__all__ = ["fractional_max_pool2d", "fractional_max_pool3d"]
