"""Elements and rows by index or by mask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _C, _check
from pijit._C import ops as _ops, Tensor
from pijit._numpy import np
from pijit.ops.function.creation import arange
from pijit.ops.function.elementwise import _need_tensor
from pijit.ops.function.joining import stack
from pijit.ops.function.shapes import _axis, expand_dims, ravel, reshape, transpose
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from typing import Any
    from pijit._types import TensorLike


def gather(input_params: Tensor, input_indices: Tensor, axis: int, batch_dims: int = 0) -> Tensor:
    """Slices of one axis by index; the first batch_dims dimensions of both go together.

    Args:
        input_params (Tensor): what to take from.
        input_indices (Tensor): which: ints.
        axis (int): the axis; -1 is the last one.
        batch_dims (int, optional): how many first dimensions both share. Default: 0.

    Returns:
        Tensor. Ints keep their dtype; not for bool, floats and complex.

    Raises:
        ValueError: if `axis` is out of range, or `batch_dims` is out of range.

    Example:
        >>> print(ops.gather(Tensor([[1, 2], [3, 4]]), Tensor([1, 0]), 0))
        [[3 4]
         [1 2]]
    """
    n = input_params.ndim
    batch = batch_dims + input_indices.ndim if batch_dims < 0 else batch_dims
    if batch == 0:
        return _ops["gather"](input_params, input_indices, axis)
    at = _axis(axis, n)
    if not 0 < batch <= at or batch > input_indices.ndim:
        raise _check.refused("gather", "batch_dims", _check.within(0, min(at, input_indices.ndim)), batch_dims)
    # coordinates of the batch dimensions beside the indices, then the other dimensions where they belong
    order = (*range(batch), at, *range(batch, at), *range(at + 1, n))
    shape = input_indices.shape
    places = [_ops["broadcast_to"](reshape(arange(shape[k]), (1,) * k + (shape[k],) + (1,) * (len(shape) - k - 1)),
                                   shape) for k in range(batch)]
    rows = gather_nd(transpose(input_params, order), stack([*places, _ops["cast"](input_indices, places[0].dtype)], -1))
    inner = len(shape) - batch
    between = tuple(range(len(shape), len(shape) + at - batch))
    return transpose(rows, (*range(batch), *between, *range(batch, batch + inner),
                            *range(len(shape) + at - batch, rows.ndim)))


def index_select(input: Tensor, axis: int, index: Tensor) -> Tensor:
    """Slices of one axis by a 1-d index.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        axis (int): the axis; -1 is the last one.
        index (Tensor): where: ints.

    Returns:
        Tensor. Ints keep their dtype; not for bool, floats and complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.index_select(Tensor([[1, 2], [3, 4]]), 1, Tensor([1])))
        [[2]
         [4]]
    """
    return _ops["gather"](input, index, axis)


def take(input: Tensor, indices: Tensor, axis: int | None = None) -> Tensor:
    """Elements by index; over the flattened input when axis is None.

    Args:
        input (Tensor): the input, of 2 dimensions or more and any dtype.
        indices (Tensor): where: ints.
        axis (int, optional): the axis; -1 is the last one. Default: None.

    Returns:
        Tensor. Ints keep their dtype; not for bool, floats and complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.take(Tensor([[1, 2], [3, 4]]), Tensor([0, 3])))
        [1 4]
    """
    if axis is None:
        return _ops["gather"](ravel(input), indices, 0)
    return _ops["gather"](input, indices, axis)


@_named(method=True, primitive="GatherD")
def gather_elements(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """take_along_axis.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        dim (int): the axis; -1 is the last one.
        index (Tensor): where: ints.

    Returns:
        Tensor of index's shape. Ints keep their dtype; not for bool, floats and complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `dim` is out of range, or the shape of `index` does not fit.

    Example:
        >>> print(ops.gather_elements(Tensor([[1, 2], [3, 4]]), 1, Tensor([[0], [1]])))
        [[1]
         [4]]
    """
    return _ops["gather_d"](input, index, dim)


def gather_d(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """take_along_axis.

    Args:
        x (Tensor): the input, of 1 dimension or more and any dtype.
        dim (int): the axis; -1 is the last one.
        index (Tensor): where: ints.

    Returns:
        Tensor of index's shape. Ints keep their dtype; not for bool, floats and complex.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if `dim` is out of range, or the shape of `index` does not fit.

    Example:
        >>> print(ops.gather_d(Tensor([[1, 2], [3, 4]]), 1, Tensor([[0], [1]])))
        [[1]
         [4]]
    """
    return gather_elements(x, dim, index)


@_named(method=True, primitive="GatherNd")
def gather_nd(input_x: Tensor, indices: Tensor) -> Tensor:
    """Blocks addressed by the last dimension of indices.

    Args:
        input_x (Tensor): the input, of 1 dimension or more and any dtype.
        indices (Tensor): where: ints.

    Returns:
        Tensor. Ints keep their dtype; not for bool, floats and complex.

    Raises:
        TypeError: if `input_x` is not a Tensor.
        ValueError: if the shape of `indices` does not fit.

    Example:
        >>> print(ops.gather_nd(Tensor([[1, 2], [3, 4]]), Tensor([[0, 1], [1, 0]])))
        [2 3]
    """
    return _ops["gather_nd"](input_x, indices)


@_named(method=True, primitive="MaskedFill")
def masked_fill(input_x: Tensor, mask: Tensor, value: TensorLike) -> Tensor:
    """value where mask is true.

    Args:
        input_x (Tensor): the input, of any shape and any dtype.
        mask (Tensor): bools that broadcast to the input.
        value (Tensor or number): the value to put there.

    Returns:
        Tensor of input_x's shape. Ints, floats and complex keep their dtype; bool gives int64.

    Raises:
        TypeError: if `input_x` is not a Tensor.

    Example:
        >>> print(ops.masked_fill(Tensor([1, 2, 3]), Tensor([True, False, True]), 0))
        [0 2 0]
    """
    return _ops["select"](mask, value, input_x)


@_named(method=True)
def nonzero(input: Tensor, as_tuple: bool = False) -> Any:
    """Indices of the elements that are not 0, a row each; as_tuple: a tensor per dimension.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        as_tuple (bool, optional): whether to give a tensor per dimension. Default: False.

    Returns:
        int64 Tensor [n, input.ndim], or a tuple of Tensors [n]. Bool, floats and complex give int64.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.nonzero(Tensor([[0, 1], [2, 0]])))
        [[0 1]
         [1 0]]
    """
    _need_tensor("nonzero", "input", input)
    if input.ndim == 0:
        x = input.asnumpy()
        return tuple([Tensor(i) for i in np.nonzero(x)]) if as_tuple else Tensor(np.argwhere(x))
    places = _C.nonzero(input, as_tuple)
    return tuple([places[k] for k in range(input.ndim)]) if as_tuple else places


@_named(method=True, mint=True)
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where mask is true. Their number depends on the data: not part of a graph.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        mask (Tensor): bools that broadcast to the input.

    Returns:
        1-d Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.masked_select(Tensor([1, 2, 3]), Tensor([True, False, True])))
        [1 3]
    """
    shape = np.broadcast_shapes(input.shape, mask.shape)
    places = np.flatnonzero(np.broadcast_to(mask.asnumpy(), shape))
    return _ops["gather"](_ops["reshape"](_ops["broadcast_to"](input, shape), (-1,)), Tensor(places.astype(np.int64)),
                          0)


def sequence_mask(lengths: Tensor, maxlen: int | None = None) -> Tensor:
    """[..., maxlen]: True at the first `lengths` places.

    Args:
        lengths (Tensor): the lengths: ints.
        maxlen (int, optional): the greatest length. Default: None.

    Returns:
        bool Tensor [*lengths.shape, maxlen]. Bool stays; ints and floats give bool; not for complex.

    Raises:
        TypeError: if `lengths` is not a Tensor.
        ValueError: if `maxlen` is less than 0.

    Example:
        >>> print(ops.sequence_mask(Tensor([1, 3], ms.int32), 3))
        [[ True False False]
         [ True  True  True]]
    """
    _need_tensor("sequence_mask", "lengths", lengths)
    if maxlen is not None and maxlen < 0:
        raise _check.refused("sequence_mask", "maxlen", _check.at_least(0), maxlen)
    if maxlen is None:
        maxlen = int(_ops["reduce_max"](lengths, (), False))
    return arange(maxlen) < expand_dims(lengths, -1)


def argwhere(input: Tensor) -> Tensor:
    """Indices of the elements that aren't 0, a row each. Their number depends on the data: not part of a graph.

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        int64 Tensor [n, input.ndim]. Bool, floats and complex give int64.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.argwhere(Tensor([0, 5, 6])))
        [[1]
         [2]]
    """
    _need_tensor("argwhere", "input", input)
    return nonzero(input)


def unravel_index(indices: Tensor, dims: Tensor) -> Tensor:
    """The coordinates [rank, n] of flat indices in a tensor of shape `dims`.

    Args:
        indices (Tensor): where: ints.
        dims (Tensor): the shape.

    Returns:
        Tensor [rank, n]. Ints and floats keep their dtype; not for bool and complex.

    Raises:
        TypeError: if `indices` is not a Tensor.

    Example:
        >>> print(ops.function.unravel_index(Tensor([3], ms.int32), Tensor([2, 2], ms.int32)))
        [[1]
         [1]]
    """
    _need_tensor("unravel_index", "indices", indices)
    sizes = dims.asnumpy().tolist() if isinstance(dims, Tensor) else list(dims)
    parts, rest = [], indices
    for n in sizes[::-1]:
        parts.append(rest % n)
        rest = rest // n
    return stack(parts[::-1], 0)
