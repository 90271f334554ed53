"""Order: sorting and what follows from it. Gradients flow to the chosen elements."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit._numpy import np
from pijit.ops.function.creation import _filled
from pijit.ops.function.elementwise import cast, _need_tensor
from pijit.ops.function.joining import concat
from pijit.ops.function.shapes import _axis, expand_dims, reshape
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit._types import Axis, Number


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


@_named(method=True)
def unique(input: Tensor) -> tuple[Tensor, Tensor]:
    """(the distinct values in order of their first appearance, for each element the index of its value).

    Indices are int64 for int64 values, else int32. The number of values depends on the data: not part of a graph.

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


def kthvalue(input: Tensor, k: int, dim: Axis = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """(the k-th least elements along a dimension, their indices as int64); k counts from 1.

    Raises ValueError where k isn't in [1, size]."""
    _need_tensor("kthvalue", "input", input)
    x = reshape(input, (1,)) if input.ndim == 0 else input
    size = x.shape[dim]
    if not 1 <= k <= size:
        raise _check.refused("kthvalue", "k", _check.within(1, size), k)
    values, at = sort(x, dim, False)
    axis = dim % x.ndim
    part = tuple(slice(k - 1, k) if d == axis else slice(None) for d in builtins.range(x.ndim))
    values, at = values[part], cast(at[part], mstype.int64)
    if not keepdim or input.ndim == 0:
        shape = tuple(n for d, n in enumerate(values.shape) if d != axis)
        values, at = reshape(values, shape), reshape(at, shape)
    return values, at


def top_k(input_x: Tensor, k: int, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """(the k largest along the last axis, in descending order; their indices as int32).

    Args:
        input_x (Tensor): the input, of 1 dimension or more and bool, int or float dtype.
        k (int): which one, or how many.
        sorted (bool, optional): whether they come in order; they do in any case. Default: True.

    Returns:
        (Tensor, int32 Tensor). Bool, ints and floats keep their dtype; not for complex.

    Example:
        >>> print(ops.top_k(Tensor([1.0, 3.0, 2.0]), 2)[0])
        [3. 2.]
    """
    return topk(input_x, k)


@_named(mint=True)
def searchsorted(sorted_sequence: Tensor, values: Tensor, *, out_int32: bool = False, right: bool = False,
                 side: str | None = None, sorter: Tensor | None = None) -> Tensor:
    """Where values would be inserted into rows in ascending order; right: behind equal elements.

    Args:
        sorted_sequence (Tensor): rows in ascending order.
        values (Tensor): the values.
        out_int32 (bool, optional): whether places are int32. Default: False.
        right (bool, optional): whether behind equal elements. Default: False.
        side (str, optional): 'left' or 'right', in place of right. Default: None.
        sorter (Tensor, optional): the order of a sequence that isn't sorted. Default: None.

    Returns:
        int64 Tensor of values's shape. Bool and floats give int64; not for complex.

    Example:
        >>> print(ops.searchsorted(Tensor([1.0, 3.0, 5.0]), Tensor([0.0, 3.0, 6.0])))
        [0 1 3]
    """
    if side is not None:
        if side not in ("left", "right"):
            raise _check.refused("searchsorted", "side", _check.one_of("left", "right"), side)
        if right and side == "left":
            raise _check.refused("searchsorted", "side", _check.value("not be 'left' where 'right' is True"), side)
        right = side == "right"
    if sorter is not None:
        sorted_sequence = _ops["gather_d"](sorted_sequence, sorter, -1)
    values = values if isinstance(values, Tensor) else Tensor(values, sorted_sequence.dtype)
    rows, x = expand_dims(sorted_sequence, -2), expand_dims(values, -1)
    before = rows <= x if right else rows < x
    return _ops["reduce_sum"](_ops["cast"](before, mstype.int32 if out_int32 else mstype.int64), -1, False)


def bucketize(input: Tensor, boundaries: Sequence[float], *, right: bool = False) -> Tensor:
    """The bucket of each element: between which of the ascending boundaries it lies, as int32.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        boundaries (list of float): the borders, ascending.
        right (bool, optional): whether behind equal elements. Default: False.

    Returns:
        int32 Tensor of input's shape. Bool and floats give int32; not for complex.

    Example:
        >>> print(ops.bucketize(Tensor([0.5, 2.0, 9.0]), [1.0, 5.0]))
        [0 1 2]
    """
    borders = list(boundaries)
    dtype = input.dtype if input.dtype.is_floating_point or not [b for b in borders if b != int(b)] else mstype.float32
    return searchsorted(Tensor(borders, dtype), input, out_int32=True, right=right)


def intopk(x1: Tensor, x2: Tensor, k: int) -> Tensor:
    """Whether the class x2[i] is among the k greatest of the row x1[i].

    Args:
        x1 (Tensor): scores [n, classes].
        x2 (Tensor): classes [n]: ints.
        k (int): how many are looked at.

    Returns:
        bool Tensor [n]. Bool stays; ints and floats give bool; not for complex.

    Raises:
        TypeError: if `x1` is not a Tensor.
        ValueError: if the shape of `x2` does not fit.

    Example:
        >>> print(ops.intopk(Tensor([[1.0, 2.0, 3.0]]), Tensor([1], ms.int32), 2))
        [ True]
    """
    own = _ops["gather_d"](x1, expand_dims(x2, -1), -1)
    return _ops["reduce_sum"](_ops["cast"](x1 > own, mstype.int32), -1, False) < k


@_named(method=True, mint=True)
def unique_consecutive(input: Tensor, return_inverse: bool = False, return_counts: bool = False,
                       dim: Axis | None = None) -> Any:
    """Values without their immediate repetitions (slices along `dim`).

    On request each element's place among them, and how often each stood.

    Their number depends on the data: not part of a graph.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        return_inverse (bool, optional): whether to give each element's place. Default: False.
        return_counts (bool, optional): whether to give how often. Default: False.

    Returns:
        Tensor, or a tuple with what was asked for. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.unique_consecutive(Tensor([1, 1, 2, 1])))
        [1 2 1]
    """
    _need_tensor("unique_consecutive", "input", input)
    import numpy as np
    a = input.asnumpy()
    x = a.ravel() if dim is None else np.moveaxis(a, dim, 0)
    n = x.shape[0]
    new = np.ones(n, bool)
    if n > 1:
        new[1:] = (x[1:] != x[:-1]).reshape(n - 1, -1).any(1)
    values = x[new] if dim is None else np.moveaxis(x[new], 0, dim)
    out = [Tensor(np.ascontiguousarray(values), input.dtype)]
    if return_inverse:
        place = np.cumsum(new).astype(np.int64) - 1
        out.append(Tensor(place.reshape(a.shape) if dim is None else place))
    if return_counts:
        out.append(Tensor(np.diff(np.append(np.flatnonzero(new), n)).astype(np.int64)))
    return out[0] if len(out) == 1 else tuple(out)


@_named(method=True)
def unique_with_pad(x: Tensor, pad_num: Number) -> tuple[Tensor, Tensor]:
    """(the distinct values of a vector in the order of their first appearance; each element's place among them).

    Behind the values stands pad_num.

    Args:
        x (Tensor): the input, of 1 dimension and any dtype.
        pad_num (number): what fills the rest.

    Returns:
        (Tensor, Tensor). Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.unique_with_pad(Tensor([1, 2, 1]), 0)[0])
        [1 2 0]
    """
    _need_tensor("unique_with_pad", "x", x)
    values, place = unique(x)
    rest = _filled((x.shape[0] - values.shape[0],), pad_num, dtype=x.dtype)
    return concat([values, rest], 0), place


def _sorted_ids(name, x, segment_ids):
    """The ids as numbers, which say how many segments there are."""
    if segment_ids.dtype not in (mstype.int32, mstype.int64):
        raise _check.refused(name, "segment_ids", _check.dtypes("int32", "int64"), segment_ids.dtype)
    if segment_ids.ndim != 1 or x.ndim < 1 or segment_ids.shape[0] != x.shape[0]:
        raise _check.refused(name, "segment_ids", _check.shape((x.shape[0] if x.ndim else 0,)), segment_ids.shape)
    ids = segment_ids.asnumpy().tolist()
    if any(a > b for a, b in zip(ids, ids[1:])) or ids and ids[0] < 0:
        raise _check.refused(name, "segment_ids", _check.value("be sorted and not negative"), ids[:16])
    return ids


def lower_bound(sorted_x: Any, values: Tensor, out_type: Any) -> Tensor:
    """Where the values belong in the sorted rows: before what is equal."""
    return cast(searchsorted(sorted_x, values), out_type)


def upper_bound(sorted_x: Any, values: Tensor, out_type: Any) -> Tensor:
    """Where the values belong in the sorted rows: behind what is equal."""
    return cast(searchsorted(sorted_x, values, right=True), out_type)


__all__ = ["argsort", "bucketize", "intopk", "msort", "searchsorted", "sort", "top_k", "topk", "unique",
           "unique_consecutive", "unique_with_pad"]
