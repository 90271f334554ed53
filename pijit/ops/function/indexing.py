"""Gather and scatter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _C, _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit._numpy import np
from pijit.ops.function.creation import arange, full, zeros
from pijit.ops.function.elementwise import isfinite, logical_and, _need_tensor, stop_gradient
from pijit.ops.function.parameter import _changed
from pijit.ops.function.shapes import _axis, expand_dims, ravel, reshape, stack, transpose
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit._types import Number, Shape, Size, TensorLike


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


def tensor_scatter_elements(input_x: Tensor, indices: Tensor, updates: Tensor, axis: int = 0,
                            reduction: str = "none") -> Tensor:
    """input_x with updates written (or added) along one axis.

    Args:
        input_x (Tensor): the input, of 1 dimension or more and a number dtype, that of the other operand.
        indices (Tensor): where: ints.
        updates (Tensor): what to put there.
        axis (int, optional): the axis; -1 is the last one. Default: 0.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'none'.

    Returns:
        Tensor of input_x's shape and dtype. Ints keep their dtype; not for bool, floats and complex.

    Raises:
        TypeError: if `input_x` is not a Tensor.
        ValueError: if the shape of `indices` does not fit, or the shape of `updates` does not fit, or `axis` is out of
            range, or `reduction` is not one of those named.

    Example:
        >>> print(ops.tensor_scatter_elements(Tensor([1, 2, 3]), Tensor([0, 2]), Tensor([9, 8])))
        [9 2 8]
    """
    return _ops["scatter_d"](input_x, indices, updates, axis, "update" if reduction == "none" else reduction)


def scatter(input: Tensor, axis: int, index: Tensor, src: Tensor) -> Tensor:
    """input with src written along one axis.

    Args:
        input (Tensor): the input, of 1 dimension or more and a number dtype, that of the other operand.
        axis (int): the axis; -1 is the last one.
        index (Tensor): where: ints.
        src (Tensor): what to put there.

    Returns:
        Tensor of input's shape and dtype. Ints keep their dtype; not for bool, floats and complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `axis` is out of range, or the shape of `index` does not fit, or the shape of `src` does not fit.

    Example:
        >>> print(ops.scatter(Tensor([1, 2, 3]), 0, Tensor([0, 2]), Tensor([9, 8])))
        [9 2 8]
    """
    return _ops["scatter_d"](input, index, src, axis, "update")


@_named(primitive="ScatterNd")
def scatter_nd(indices: Tensor, updates: Tensor, shape: Shape) -> Tensor:
    """Zeros of `shape` with updates added.

    Args:
        indices (Tensor): where: ints.
        updates (Tensor): what to put there.
        shape (tuple of int): the shape of the result.

    Returns:
        Tensor of the shape asked for. Ints keep their dtype; not for bool, floats and complex.

    Raises:
        TypeError: if `indices` is not a Tensor.
        ValueError: if the shape of `updates` does not fit.

    Example:
        >>> print(ops.scatter_nd(Tensor([[0], [2]]), Tensor([9, 8]), (4,)))
        [9 0 8 0]
    """
    return _ops["scatter_nd"](zeros(shape, updates.dtype), indices, updates, "add")


@_named(primitive="TensorScatterUpdate")
def tensor_scatter_update(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Blocks replaced.

    Args:
        input_x (Tensor): the input, of 1 dimension or more and a number dtype, that of the other operand.
        indices (Tensor): where: ints.
        updates (Tensor): what to put there.

    Returns:
        Tensor of input_x's shape and dtype. Ints keep their dtype; not for bool, floats and complex.

    Raises:
        TypeError: if `input_x` is not a Tensor.
        ValueError: if the shape of `indices` does not fit, or the shape of `updates` does not fit.

    Example:
        >>> print(ops.tensor_scatter_update(Tensor([1, 2, 3]), Tensor([[0], [2]]), Tensor([9, 8])))
        [9 2 8]
    """
    return _ops["scatter_nd"](input_x, indices, updates, "update")


@_named(primitive="TensorScatterAdd")
def tensor_scatter_add(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Blocks added.

    Args:
        input_x (Tensor): the input, of 1 dimension or more and a number dtype, that of the other operand.
        indices (Tensor): where: ints.
        updates (Tensor): what to put there.

    Returns:
        Tensor of input_x's shape and dtype. Ints keep their dtype; not for bool, floats and complex.

    Raises:
        TypeError: if `input_x` is not a Tensor.
        ValueError: if the shape of `indices` does not fit, or the shape of `updates` does not fit.

    Example:
        >>> print(ops.tensor_scatter_add(Tensor([1, 2, 3]), Tensor([[0], [2]]), Tensor([9, 8])))
        [10  2 11]
    """
    return _ops["scatter_nd"](input_x, indices, updates, "add")


@_named(primitive="TensorScatterSub")
def tensor_scatter_sub(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Blocks subtracted.

    Args:
        input_x (Tensor): the input, of 1 dimension or more and a number dtype, that of the other operand.
        indices (Tensor): where: ints.
        updates (Tensor): what to put there.

    Returns:
        Tensor of input_x's shape and dtype. Ints keep their dtype; not for bool, floats and complex.

    Raises:
        TypeError: if `input_x` is not a Tensor.
        ValueError: if the shape of `indices` does not fit, or the shape of `updates` does not fit.

    Example:
        >>> print(ops.tensor_scatter_sub(Tensor([1, 2, 3]), Tensor([[0], [2]]), Tensor([9, 8])))
        [-8  2 -5]
    """
    return _ops["scatter_nd"](input_x, indices, updates, "sub")


@_named(primitive="TensorScatterMul")
def tensor_scatter_mul(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Blocks multiplied.

    Args:
        input_x (Tensor): the input, of 1 dimension or more and a number dtype, that of the other operand.
        indices (Tensor): where: ints.
        updates (Tensor): what to put there.

    Returns:
        Tensor of input_x's shape and dtype. Ints keep their dtype; not for bool, floats and complex.

    Raises:
        TypeError: if `input_x` is not a Tensor.
        ValueError: if the shape of `indices` does not fit, or the shape of `updates` does not fit.

    Example:
        >>> print(ops.tensor_scatter_mul(Tensor([1, 2, 3]), Tensor([[0], [2]]), Tensor([9, 8])))
        [ 9  2 24]
    """
    return _ops["scatter_nd"](input_x, indices, updates, "mul")


@_named(primitive="TensorScatterDiv")
def tensor_scatter_div(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Blocks divided.

    Args:
        input_x (Tensor): the input, of 1 dimension or more and a number dtype, that of the other operand.
        indices (Tensor): where: ints.
        updates (Tensor): what to put there.

    Returns:
        Tensor of input_x's shape and dtype. Bool, ints and floats keep their dtype; not for complex.

    Raises:
        TypeError: if `input_x` is not a Tensor.
        ValueError: if the shape of `indices` does not fit, or the shape of `updates` does not fit.

    Example:
        >>> print(ops.tensor_scatter_div(Tensor([1.0, 2.0, 3.0]), Tensor([[0], [2]]), Tensor([2.0, 2.0])))
        [0.5 2.  1.5]
    """
    return _ops["scatter_nd"](input_x, indices, updates, "div")


@_named(primitive="TensorScatterMax")
def tensor_scatter_max(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Block maxima.

    Args:
        input_x (Tensor): the input, of 1 dimension or more and a number dtype, that of the other operand.
        indices (Tensor): where: ints.
        updates (Tensor): what to put there.

    Returns:
        Tensor of input_x's shape and dtype. Ints keep their dtype; not for bool, floats and complex.

    Raises:
        TypeError: if `input_x` is not a Tensor.
        ValueError: if the shape of `indices` does not fit, or the shape of `updates` does not fit.

    Example:
        >>> print(ops.tensor_scatter_max(Tensor([1, 2, 3]), Tensor([[0], [2]]), Tensor([9, 2])))
        [9 2 3]
    """
    return _ops["scatter_nd"](input_x, indices, updates, "max")


@_named(primitive="TensorScatterMin")
def tensor_scatter_min(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Block minima.

    Args:
        input_x (Tensor): the input, of 1 dimension or more and a number dtype, that of the other operand.
        indices (Tensor): where: ints.
        updates (Tensor): what to put there.

    Returns:
        Tensor of input_x's shape and dtype. Ints keep their dtype; not for bool, floats and complex.

    Raises:
        TypeError: if `input_x` is not a Tensor.
        ValueError: if the shape of `indices` does not fit, or the shape of `updates` does not fit.

    Example:
        >>> print(ops.tensor_scatter_min(Tensor([1, 2, 3]), Tensor([[0], [2]]), Tensor([9, 2])))
        [1 2 2]
    """
    return _ops["scatter_nd"](input_x, indices, updates, "min")


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


@_named(functional=True)
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
              norm_type: Number = 2.0, scale_grad_by_freq: bool = False) -> Tensor:
    """Rows of weight by index; no gradient flows to the row of padding_idx.

    Args:
        input (Tensor): the input, of any shape and int dtype.
        weight (Tensor): the table [rows, columns].
        padding_idx (int, optional): a row without a gradient. Default: None.
        max_norm (float, optional): the greatest norm. Default: None.
        norm_type (number, optional): the order of the norm. Default: 2.0.
        scale_grad_by_freq (bool, optional): kept for its name. Default: False.

    Returns:
        Tensor of shape (*input.shape, columns of weight). Ints give float32; not for bool, floats and complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `padding_idx` is out of range.

    Example:
        >>> print(ops.embedding(Tensor([1, 0]), Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[3. 4.]
         [1. 2.]]
    """
    if max_norm is not None or scale_grad_by_freq or norm_type != 2.0:
        raise _check.unsupported("embedding", "'max_norm', 'norm_type' and 'scale_grad_by_freq' are")
    if padding_idx is not None:
        n = weight.shape[0]
        if not -n <= padding_idx < n:
            raise _check.refused("embedding", "padding_idx", _check.within(-n, n, "[)"), padding_idx)
        row = expand_dims(arange(n) == padding_idx % n, 1)
        weight = _ops["select"](row, stop_gradient(weight), weight)
    return _ops["gather"](weight, input, 0)


def index_add(x: Tensor, indices: Tensor, y: TensorLike, axis: int, use_lock: bool = True,
              check_index_bound: bool = True) -> Tensor:
    """y's slices added to those of x at `indices` along one axis.

    Args:
        x (Tensor): the input, of 1 dimension or more and a number dtype, that of the other operand.
        indices (Tensor): where: ints.
        y (Tensor or number): the second operand.
        axis (int): the axis; -1 is the last one.
        use_lock (bool, optional): kept for its name. Default: True.
        check_index_bound (bool, optional): kept for its name. Default: True.

    Returns:
        Tensor of x's shape and dtype. Float32 keep their dtype; not for bool, ints and complex.

    Raises:
        ValueError: if the shape of `indices` does not fit, or the shape of `y` does not fit.
        IndexError: if `axis` is out of range.

    Example:
        >>> print(ops.index_add(ms.Parameter(Tensor([1.0, 2.0, 3.0]), name="x"), Tensor([0, 2], ms.int32),
        ...     Tensor([10.0, 10.0]), 0))
        [11.  2. 13.]
    """
    if indices.ndim != 1 or y.shape[axis] != indices.shape[0]:
        raise _check.refused("index_add", "indices", _check.value(f"be a vector as long as axis {axis} of 'y'"),
                             _check.several(indices.shape, y.shape))
    return _ops["index_add"](x, indices, y, axis % x.ndim)


@_named(method=True)
def index_fill(x: Tensor, axis: int, index: Tensor, value: TensorLike) -> Tensor:
    """x with `value` in the slices `index` of one axis.

    Args:
        x (Tensor): the input, of 1 dimension or more and any dtype.
        axis (int): the axis; -1 is the last one.
        index (Tensor): where: ints.
        value (Tensor or number): the value to put there.

    Returns:
        Tensor of x's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.index_fill(Tensor([1, 2, 3]), 0, Tensor([0, 2], ms.int32), 9))
        [9 2 9]
    """
    axis = axis % x.ndim
    n = x.shape[axis]
    index = reshape(index, (-1, 1))
    hit = _ops["reduce_any"](_ops["equal"](_ops["select"](index < 0, index + n, index), arange(n)), 0, False)
    value = _ops["cast"](value, x.dtype)
    return _ops["select"](reshape(hit, (-1,) + (1,) * (x.ndim - 1 - axis)), value, x)


def inplace_add(x: Tensor, v: TensorLike, indices: Size) -> Tensor:
    """x with v added to the rows `indices`: a new tensor.

    Args:
        x (Tensor): the input, of 1 dimension or more and a number dtype, that of the other operand.
        v (Tensor or number): the second operand.
        indices (int or tuple of int): which rows.

    Returns:
        Tensor of x's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if the shape of `v` does not fit.

    Example:
        >>> print(ops.inplace_add(Tensor([1, 2, 3]), Tensor([10]), 0))
        [11  2  3]
    """
    return _rows("inplace_add", x, v, indices, "add")


def inplace_sub(x: Tensor, v: TensorLike, indices: Size) -> Tensor:
    """x with v subtracted from the rows `indices`: a new tensor.

    Args:
        x (Tensor): the input, of 1 dimension or more and a number dtype, that of the other operand.
        v (Tensor or number): the second operand.
        indices (int or tuple of int): which rows.

    Returns:
        Tensor of x's shape and dtype. Ints, floats and complex keep their dtype; not for bool.

    Raises:
        ValueError: if the shape of `v` does not fit.

    Example:
        >>> print(ops.inplace_sub(Tensor([1, 2, 3]), Tensor([10]), 0))
        [-9  2  3]
    """
    return _rows("inplace_sub", x, -v, indices, "add")


def inplace_update(x: Tensor, v: TensorLike, indices: Size) -> Tensor:
    """x with v as the rows `indices`: a new tensor.

    Args:
        x (Tensor): the input, of 1 dimension or more and a number dtype, that of the other operand.
        v (Tensor or number): the second operand.
        indices (int or tuple of int): which rows.

    Returns:
        Tensor of x's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if the shape of `v` does not fit.

    Example:
        >>> print(ops.inplace_update(Tensor([1, 2, 3]), Tensor([10]), 0))
        [10  2  3]
    """
    return _rows("inplace_update", x, v, indices, "update")


def _rows(name, x, v, indices, mode):
    if isinstance(indices, Tensor):
        at = reshape(indices, (-1, 1))
    else:
        rows = [indices] if isinstance(indices, int) else list(indices)
        count = x.shape[0]
        least = -count if mode == "update" else 0
        if [k for k in rows if not least <= k < count]:
            raise _check.refused(name, "indices", _check.within(least, count, "[)"), indices)
        at = Tensor([k + count if k < 0 else k for k in rows], mstype.int64).reshape(-1, 1)
    if v.shape != (at.shape[0], *x.shape[1:]):
        raise _check.refused(name, "v", _check.shape((at.shape[0], *x.shape[1:])), v.shape)
    return _ops["scatter_nd"](x, at, v, mode=mode)


def inplace_index_add(var: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
    """Adds updates to the slices `indices` of one axis of a Parameter.

    Args:
        var (Tensor): the variance.
        indices (Tensor): where: ints.
        updates (Tensor): what to put there.
        axis (int): the axis; -1 is the last one.

    Returns:
        Tensor: var's new value.

    Raises:
        ValueError: if the shape of `indices` does not fit, or the shape of `updates` does not fit.
        IndexError: if `axis` is out of range.

    Example:
        >>> print(ops.inplace_index_add(ms.Parameter(Tensor([1.0, 2.0]), name="v"), Tensor([1], ms.int32),
        ...     Tensor([5.0]), 0))
        [1. 7.]
    """
    return _changed(var, index_add(var, indices, updates, axis))


@_named(method=True)
def select_scatter(input: Tensor, src: Tensor, axis: int, index: int) -> Tensor:
    """input with src as the slice `index` of one axis.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        src (Tensor): what to put there.
        axis (int): the axis; -1 is the last one.
        index (int): which slice.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if the shape of `src` does not fit.

    Example:
        >>> print(ops.select_scatter(ops.zeros((2, 2)), ops.ones(2), 0, 1))
        [[0. 0.]
         [1. 1.]]
    """
    axis = axis % input.ndim
    at = (slice(None),) * axis
    if src.shape != (*input.shape[:axis], *input.shape[axis + 1:]):
        raise _check.refused("select_scatter", "src",
                             _check.value(f"have the shape of the slice along axis {axis} of {input.shape}"), src.shape)
    y = input.copy()
    y[at + (index,)] = src
    return y


@_named(method=True)
def slice_scatter(input: Tensor, src: Tensor, axis: int = 0, start: Number | None = None, end: Number | None = None,
                  step: Number = 1) -> Tensor:
    """input with src as the slices start:end:step of one axis.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        src (Tensor): what to put there.
        axis (int, optional): the axis; -1 is the last one. Default: 0.
        start (number, optional): the first value. Default: None.
        end (number, optional): the end, which isn't reached. Default: None.
        step (number, optional): the distance. Default: 1.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if the shape of `src` does not fit, or `axis` is out of range.

    Example:
        >>> print(ops.slice_scatter(ops.zeros((3, 1)), ops.ones((2, 1)), 0, 0, 2))
        [[1.]
         [1.]
         [0.]]
    """
    axis = axis % input.ndim
    y = input.copy()
    at = (slice(None),) * axis + (slice(start, end, step),)
    if src.shape != y[at].shape:
        raise _check.refused("slice_scatter", "src", _check.shape(f"{y[at].shape} of the slices"), src.shape)
    y[at] = src
    return y


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


def _segments(name, x, segment_ids, num_segments, start, mode):
    n = segment_ids.ndim
    if tuple(x.shape[:n]) != tuple(segment_ids.shape):
        raise _check.refused(name, "the first dimensions of 'x'", _check.value("be those of 'segment_ids'"),
                             _check.several(x.shape, segment_ids.shape))
    if isinstance(num_segments, Tensor):
        num_segments = int(num_segments)
    if num_segments <= 0:
        raise _check.refused(name, "num_segments", _check.above(0), num_segments)
    rest = tuple(x.shape[n:])
    flat, ids = reshape(x, (-1, *rest)), reshape(segment_ids, (-1,))
    # negative ids belong to no segment: to one more, which is cut off
    ids = _ops["select"](ids < 0, num_segments, ids)
    y = _ops["scatter_nd"](full((num_segments + 1, *rest), start, dtype=x.dtype), reshape(ids, (-1, 1)), flat,
                           mode=mode)
    return y[:num_segments]


def _segment_extremum(name, x, segment_ids, num_segments, mode):
    """Extrema, whose gradient goes in equal shares to the elements that have them. A segment without elements has the
    least or greatest value of the dtype."""
    if x.dtype == mstype.bool_ or x.dtype in mstype.complex_type:
        raise _check.refused(name, "x", _check.value("be of ints or floats"), x.dtype, TypeError)
    start = mstype.finite_range(x.dtype)[0 if mode == "max" else 1]
    best = _segments(name, stop_gradient(x), segment_ids, num_segments, start, mode)
    if not x.dtype.is_floating_point:
        return best
    own = _ops["select"](reshape(segment_ids < 0, (*segment_ids.shape, *(1,) * (x.ndim - segment_ids.ndim))), False,
                         _ops["equal"](stop_gradient(x), _ops["gather"](best, _ops["maximum"](segment_ids, 0), 0)))
    share = _ops["cast"](logical_and(own, isfinite(x)), x.dtype)
    count = _ops["maximum"](_segments(name, share, segment_ids, num_segments, 0, "add"), 1.0)
    mean = _segments(name, _ops["select"](share > 0, x, 0.0), segment_ids, num_segments, 0, "add") / count
    return best + (mean - stop_gradient(mean))


@_named(primitive="UnsortedSegmentSum")
def unsorted_segment_sum(input_x: Tensor, segment_ids: Tensor, num_segments: int) -> Tensor:
    """Sums of the elements with each segment id.

    Args:
        input_x (Tensor): the input, of 1 dimension or more and any dtype.
        segment_ids (Tensor): the segment of each row.
        num_segments (int): how many segments there are.

    Returns:
        Tensor [num_segments, ...]. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if the shape of `segment_ids` does not fit.

    Example:
        >>> print(ops.unsorted_segment_sum(Tensor([1, 2, 3]), Tensor([0, 1, 0], ms.int32), 2))
        [4 2]
    """
    return _segments("unsorted_segment_sum", input_x, segment_ids, num_segments, 0, "add")


@_named(method=True, primitive="UnsortedSegmentProd")
def unsorted_segment_prod(x: Tensor, segment_ids: Tensor, num_segments: int) -> Tensor:
    """Products of the elements with each segment id; 1 where there are none.

    Args:
        x (Tensor): the input, of 1 dimension or more and bool, int or float dtype.
        segment_ids (Tensor): the segment of each row.
        num_segments (int): how many segments there are.

    Returns:
        Tensor [num_segments, ...]. Bool, ints and floats keep their dtype; not for complex.

    Raises:
        ValueError: if the shape of `segment_ids` does not fit.

    Example:
        >>> print(ops.unsorted_segment_prod(Tensor([1.0, 2.0, 3.0]), Tensor([0, 1, 0], ms.int32), 2))
        [3. 2.]
    """
    return _segments("unsorted_segment_prod", x, segment_ids, num_segments, 1, "mul")


@_named(method=True, primitive="UnsortedSegmentMax")
def unsorted_segment_max(x: Tensor, segment_ids: Tensor, num_segments: int) -> Tensor:
    """Maxima of the elements with each segment id; the least value where there are none.

    Args:
        x (Tensor): the input, of 1 dimension or more and int or float dtype.
        segment_ids (Tensor): the segment of each row.
        num_segments (int): how many segments there are.

    Returns:
        Tensor [num_segments, ...]. Ints and floats keep their dtype; not for bool and complex.

    Raises:
        ValueError: if the shape of `segment_ids` does not fit.

    Example:
        >>> print(ops.unsorted_segment_max(Tensor([1.0, 2.0, 3.0]), Tensor([0, 1, 0], ms.int32), 2))
        [3. 2.]
    """
    return _segment_extremum("unsorted_segment_max", x, segment_ids, num_segments, "max")


@_named(method=True, primitive="UnsortedSegmentMin")
def unsorted_segment_min(x: Tensor, segment_ids: Tensor, num_segments: int) -> Tensor:
    """Minima of the elements with each segment id; the greatest value where there are none.

    Args:
        x (Tensor): the input, of 1 dimension or more and int or float dtype.
        segment_ids (Tensor): the segment of each row.
        num_segments (int): how many segments there are.

    Returns:
        Tensor [num_segments, ...]. Ints and floats keep their dtype; not for bool and complex.

    Raises:
        ValueError: if the shape of `segment_ids` does not fit.

    Example:
        >>> print(ops.unsorted_segment_min(Tensor([1.0, 2.0, 3.0]), Tensor([0, 1, 0], ms.int32), 2))
        [1. 2.]
    """
    return _segment_extremum("unsorted_segment_min", x, segment_ids, num_segments, "min")


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


@_named(method=True)
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each integer from 0 on is there, or the sums of their weights.

    Args:
        input (Tensor): the input, of 1 dimension and int or float dtype.
        weights (Tensor, optional): a weight per element. Default: None.
        minlength (int, optional): the least length of the result. Default: 0.

    Returns:
        Tensor: ints, or of weights's dtype. Ints give float32; floats are rounded towards 0; not for bool and complex.

    Example:
        >>> print(ops.bincount(Tensor([0, 1, 1, 3])))
        [1. 2. 0. 1.]
    """
    if input.ndim != 1:
        raise _check.refused("bincount", "the input", _check.dims(1), input.ndim)
    if minlength < 0:
        raise _check.refused("bincount", "minlength", _check.at_least(0), minlength)
    if input.dtype.is_floating_point:
        input = _ops["cast"](input, mstype.int64)
    size = max(int(_ops["reduce_max"](input, (), False)) + 1 if input.size else 0, minlength)
    if input.size and int(_ops["reduce_min"](input, (), False)) < 0:
        raise ValueError("For 'bincount', the elements must not be negative.")
    counts = full((input.size,), 1, dtype=mstype.float32) if weights is None else weights
    return _ops["index_add"](full((size,), 0, dtype=counts.dtype), input, counts, 0)


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
