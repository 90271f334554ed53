"""Order: sorting and what follows from it. Gradients flow to the chosen elements."""

from __future__ import annotations

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit._numpy import np
from pijit.ops.function.elementwise import cast, _need_tensor
from pijit.ops.function.shapes import _axis, narrow, ravel, squeeze
from pijit.ops.table import named as _named


def argsort(input: Tensor, axis: int = -1, descending: bool = False) -> Tensor:
    """Indices (int32) that sort along an axis; stable, NaN last (first if descending).

    Args:
        input (Tensor): the input, of 1 dimension or more and bool, int or float dtype.
        axis (int, optional): the axis; -1 is the last one. Default: -1.
        descending (bool, optional): whether the greatest come first. Default: False.

    Returns:
        int32 Tensor of input's shape. Bool and floats give int32; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.argsort(Tensor([3.0, 1.0, 2.0])))
        [1 2 0]
    """
    return cast(_ops["argsort"](input, axis, descending), mstype.int32)


def sort(input_x: Tensor, axis: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """(values in order along an axis, their indices as int32).

    Args:
        input_x (Tensor): the input, of 1 dimension or more and bool, int or float dtype.
        axis (int, optional): the axis; -1 is the last one. Default: -1.
        descending (bool, optional): whether the greatest come first. Default: False.

    Returns:
        (Tensor, int32 Tensor) of input_x's shape. Bool, ints and floats keep their dtype; not for complex.

    Raises:
        TypeError: if `input_x` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.sort(Tensor([3.0, 1.0, 2.0]))[0])
        [1. 2. 3.]
    """
    i = _ops["argsort"](input_x, axis, descending)
    return _ops["gather_d"](input_x, i, _axis(axis, input_x.ndim)), cast(i, mstype.int32)


@_named(method=True)
def msort(input: Tensor) -> Tensor:
    """Values in ascending order along the first axis.

    Args:
        input (Tensor): the input, of 1 dimension or more and bool, int or float dtype.

    Returns:
        Tensor of input's shape and dtype. Bool, ints and floats keep their dtype; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.msort(Tensor([3.0, 1.0, 2.0])))
        [1. 2. 3.]
    """
    return sort(input, 0)[0]


@_named(method=True)
def topk(input: Tensor, k: int, dim: int | None = None, largest: bool = True,
         sorted: bool = True) -> tuple[Tensor, Tensor]:
    """(the k largest, or smallest, values along a dimension, their indices as int32), in order.

    Args:
        input (Tensor): the input, of 1 dimension or more and bool, int or float dtype.
        k (int): which one, or how many.
        dim (int, optional): the axis; -1 is the last one. Default: None.
        largest (bool, optional): whether the greatest count, not the least. Default: True.
        sorted (bool, optional): whether they come in order; they do in any case. Default: True.

    Returns:
        (Tensor, int32 Tensor). Bool, ints and floats keep their dtype; not for complex.

    Raises:
        ValueError: if `k` is out of range.
        IndexError: if `dim` is out of range.

    Example:
        >>> print(ops.topk(Tensor([3.0, 1.0, 2.0]), 2)[0])
        [3. 2.]
    """
    axis = _axis(-1 if dim is None else dim, input.ndim)
    if not 0 <= k <= input.shape[axis]:
        raise _check.refused("topk", "k", _check.within(0, input.shape[axis]), k)
    i = _ops["topk"](input, k, axis, bool(largest))
    return _ops["gather_d"](input, i, axis), cast(i, mstype.int32)


def median(input: Tensor, axis: int | None = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """(the lower median along an axis, its index as int64); of all elements if axis is None.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        axis (int, optional): the axis; -1 is the last one. Default: -1.
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.

    Returns:
        (Tensor, int64 Tensor). Bool, ints and floats keep their dtype; not for complex.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.median(Tensor([3.0, 1.0, 2.0]))[0])
        2.0
    """
    if input.ndim == 0 and axis in (0, -1):
        return _ops["identity"](input), Tensor(0, mstype.int64)
    x = ravel(input) if axis is None else input
    a = 0 if axis is None else _axis(axis, input.ndim)
    i = narrow(_ops["argsort"](x, a, False), a, (x.shape[a] - 1) // 2, 1)
    v = _ops["gather_d"](x, i, a)
    if axis is None:
        return squeeze(v, 0), squeeze(i, 0)
    return (v, i) if keepdims else (squeeze(v, a), squeeze(i, a))


@_named(method=True)
def unique(input: Tensor) -> tuple[Tensor, Tensor]:
    """(the distinct values in order of their first appearance, for each element the index of its value: int64 for
    int64 values, else int32). The number of values depends on the data: not part of a graph.

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        (1-d Tensor, Tensor of input's shape). Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.unique(Tensor([2, 1, 2]))[0])
        [2 1]
    """
    _need_tensor("unique", "input", input)
    values, first, inverse = np.unique(input.asnumpy(), return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), np.int64 if values.dtype == np.int64 else np.int32)
    place[order] = np.arange(len(order))
    return Tensor(values[order], input.dtype), Tensor(place[inverse.reshape(input.shape)])
