"""Elements and rows put, or added, at places that indices or masks name: in new tensors, and in Parameters."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from pijit import _C, _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.compute_dtype import as_update
from pijit.ops.function.creation import arange, zeros
from pijit.ops.function.elementwise import cast, _need_tensor
from pijit.ops.function.indexing import nonzero
from pijit.ops.function.joining import stack
from pijit.ops.function.parameter import _changed
from pijit.ops.function.shapes import broadcast_to, reshape
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from collections.abc import Callable
    from pijit._types import Number, Shape, Size, TensorLike


def _index_tensors(name, x, indices):
    """The index tensors as one [*places, count] and the shape of what they name."""
    parts = []
    for t in indices:
        if not isinstance(t, Tensor):
            raise _check.refused(name, "indices", _check.value("hold Tensors", shown=_check.type_name), t, TypeError)
        if t.dtype == mstype.bool_:
            at = nonzero(t)
            parts += [at[:, k] for k in builtins.range(t.ndim)]
        else:
            parts.append(t)
    if len(parts) > x.ndim:
        raise _check.refused(name, "the number of indices", _check.at_most(x.ndim), len(parts))
    rank = builtins.max([t.ndim for t in parts])
    shape = [1] * rank
    for t in parts:
        for k, n in enumerate(t.shape, rank - t.ndim):
            shape[k] = n if shape[k] == 1 else shape[k]
    whole = [cast(broadcast_to(t, tuple(shape)), mstype.int64) for t in parts]
    whole = [_ops["select"](t < 0, t + n, t) for t, n in zip(whole, x.shape)]
    return stack(whole, -1), (*shape, *x.shape[len(parts):])


def index_put(input: Tensor, indices: Tensor, values: Tensor, accumulate: bool = False) -> Tensor:
    """input with `values` at the places that index tensors name, or added there.

    indices: a tuple of Tensors, ints that broadcast, or bools, one for each of the first dimensions; values: a Tensor
        of input's dtype that
    broadcasts to input[indices]. Returns a new tensor. Raises TypeError where the dtypes differ, ValueError for too
    many indices."""
    _need_tensor("index_put", "input", input)
    if values.dtype != input.dtype:
        raise _check.refused("index_put", "values", _check.value(f"be of the input's dtype {input.dtype}"),
                             values.dtype, TypeError)
    at, shape = _index_tensors("index_put", input, indices)
    return _ops["scatter_nd"](input, at, broadcast_to(values, tuple(shape)), "add" if accumulate else "update")


def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """input with the elements of `source`, in their order, where mask is true.

    mask: a bool Tensor that broadcasts with input; source: of input's dtype, with at least as many elements as are
        asked for. Raises TypeError for
    other dtypes."""
    for name, t in (("input", input), ("mask", mask), ("source", source)):
        _need_tensor("masked_scatter", name, t)
    if mask.dtype != mstype.bool_:
        raise _check.refused("masked_scatter", "mask", _check.dtypes("bool"), mask.dtype)
    if source.dtype != input.dtype:
        raise _check.refused("masked_scatter", "source", _check.value(f"be of the input's dtype {input.dtype}"),
                             source.dtype, TypeError)
    whole = reshape(broadcast_to(mask, input.shape), (-1,))
    at = _ops["cumsum"](cast(whole, mstype.int64), 0) - 1
    at = _ops["minimum"](_ops["maximum"](at, 0), source.size - 1)
    taken = reshape(_ops["gather"](reshape(source, (-1,)), at, 0), input.shape)
    return _ops["select"](reshape(whole, input.shape), taken, input)


def put_(input: Tensor, index: Tensor, source: int | Tensor, accumulate: bool = False) -> Tensor:
    """Puts the elements of source at flat places of input, in place; adds them there with accumulate. Returns input.

    Args:
        input (Tensor): the input, of any shape and a number dtype, that of the other operand.
        index (Tensor): where: ints.
        source (Tensor or int): what is taken.
        accumulate (bool, optional): whether values are added to those there. Default: False.

    Returns:
        input. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `index` does not fit, or the shape of `source` does not fit.

    Example:
        >>> print(ops.put_(Tensor([1, 2, 3]), Tensor([0]), Tensor([9])))
        [9 2 3]
    """
    flat = _ops["scatter_nd"](reshape(input, (-1,)), reshape(cast(index, mstype.int64), (-1, 1)),
                              reshape(source, (-1,)), "add" if accumulate else "update")
    return input._assign(reshape(flat, input.shape))


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


_SCATTER = """A Parameter with {what} changed by updates ({mode}), in place.

    Args:
        input_x (Parameter): what is changed.
        indices (Tensor): {where}.
        updates (Tensor): of input_x's dtype, a slice for each of the indices.{more}

    Returns:
        Tensor: the new value.

    Raises:
        IndexError: where an index is out of range.
        ValueError: where the shape of `updates` doesn't fit.

    Example:
        >>> x = ms.Parameter(Tensor([1.0, 2.0, 3.0]), name="x")
        >>> print(ops.{name}(x, Tensor({at}, ms.int32), Tensor([10.0, 20.0])))
        {value}
    """


def _scattered(mode):
    def update(input_x, indices, updates):
        if _C.compute_dtype() is not None:
            return as_update(update, input_x, indices, updates)
        return _changed(input_x, _ops["scatter_nd"](input_x, reshape(indices, (*indices.shape, 1)), updates, mode))
    update.__name__ = update.__qualname__ = f"scatter_{mode}"
    update.__doc__ = _SCATTER.format(what="rows named by indices", mode=mode, where="ints, any shape",
                                     name=f"scatter_{mode}", at="[0, 2]", more="",
                                     value={"add": "[11.  2. 23.]", "div": "[0.1  2.   0.15]", "max": "[10.  2. 20.]",
                                            "min": "[1. 2. 3.]",
                                            "mul": "[10.  2. 60.]", "update": "[10.  2. 20.]"}[mode])
    return update


def _scattered_nd(mode):
    def update(input_x, indices, updates, use_locking=False):
        if _C.compute_dtype() is not None:
            return as_update(update, input_x, indices, updates)
        return _changed(input_x, _ops["scatter_nd"](input_x, indices, updates, mode))
    update.__name__ = update.__qualname__ = f"scatter_nd_{mode}"
    update.__doc__ = _SCATTER.format(what="elements or slices at coordinates", mode=mode,
                                     where="[..., k] ints: coordinates along the first k axes",
                                     name=f"scatter_nd_{mode}", at="[[0], [2]]",
                                     more="\n        use_locking (bool, optional): kept for its name. Default: False.",
                                     value={"add": "[11.  2. 23.]", "div": "[0.1  2.   0.15]", "max": "[10.  2. 20.]",
                                            "min": "[1. 2. 3.]",
                                            "mul": "[10.  2. 60.]", "sub": "[ -9.   2. -17.]",
                                            "update": "[10.  2. 20.]"}[mode])
    return update


scatter_update: Callable[..., Tensor]
scatter_mul: Callable[..., Tensor]
scatter_min: Callable[..., Tensor]
scatter_max: Callable[..., Tensor]
scatter_div: Callable[..., Tensor]
scatter_add: Callable[..., Tensor]
scatter_add, scatter_div, scatter_max, scatter_min, scatter_mul, scatter_update = (_scattered(m)
                                                                                   for m in ("add", "div", "max", "min",
                                                                                             "mul", "update"))
scatter_nd_update: Callable[..., Tensor]
scatter_nd_sub: Callable[..., Tensor]
scatter_nd_mul: Callable[..., Tensor]
scatter_nd_min: Callable[..., Tensor]
scatter_nd_max: Callable[..., Tensor]
scatter_nd_div: Callable[..., Tensor]
scatter_nd_add: Callable[..., Tensor]
scatter_nd_add, scatter_nd_div, scatter_nd_max, scatter_nd_min, scatter_nd_mul, scatter_nd_sub, scatter_nd_update = (
    _scattered_nd(m) for m in ("add", "div", "max", "min", "mul", "sub", "update"))


__all__ = ["index_add", "index_fill", "inplace_add", "inplace_index_add", "inplace_sub", "inplace_update", "put_",
           "scatter", "scatter_add", "scatter_div", "scatter_max", "scatter_min", "scatter_mul", "scatter_nd",
           "scatter_nd_add", "scatter_nd_div", "scatter_nd_max", "scatter_nd_min", "scatter_nd_mul", "scatter_nd_sub",
           "scatter_nd_update", "scatter_update", "select_scatter", "slice_scatter", "tensor_scatter_add",
           "tensor_scatter_div", "tensor_scatter_elements", "tensor_scatter_max", "tensor_scatter_min",
           "tensor_scatter_mul", "tensor_scatter_sub", "tensor_scatter_update"]
