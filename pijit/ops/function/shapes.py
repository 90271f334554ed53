"""Shapes: reshape, transpose, broadcast, slices of them."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING

from pijit import _C, _check
from pijit._C import ops as _ops, Tensor, views as _views
from pijit._numpy import np
from pijit.compute_dtype import gives_compute_dtype, one_operator
from pijit.ops.function.elementwise import _need_tensor
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import DType
    from pijit._types import Axis, Shape, Size, TensorLike


def _ints(x):
    if isinstance(x, Tensor):
        return tuple(x.asnumpy().reshape(-1).tolist())
    if isinstance(x, int):
        return (x,)
    return tuple(x)


def _pair(x: Any) -> Any:
    return (x, x) if isinstance(x, int) else tuple(x)


def _format(name, value):
    known = ("NCHW", "NHWC")
    if value not in known:
        raise _check.refused(name, "data_format", _check.one_of(*known), value)
    if value != "NCHW":
        raise ValueError(f"For '{name}', the data_format {value!r} is not supported on the CPU.")


def _axis(axis, ndim):
    return axis + ndim if axis < 0 else axis


def _within(name, axis, ndim):
    if not -ndim <= axis < ndim:
        raise _check.refused(name, "the axis", _check.within(-ndim, ndim, "[)"), axis)


def _same_dtype(op, **tensors):
    """Raises TypeError where Tensors differ in dtype; floating ones may in a Cell that computes in one of its own."""
    (a, x), *others = [(name, t) for name, t in tensors.items() if isinstance(t, Tensor)] or [("", None)]
    for b, y in others:
        if y.dtype != x.dtype and (_C.compute_dtype() is None or not x.dtype.is_floating_point
                                   or not y.dtype.is_floating_point):
            raise _check.differ(op, (a, b), "dtype", x.dtype, y.dtype)


def _same_shape(op, **tensors):
    """Raises ValueError where two Tensors differ in shape: operators that compare element with element don't
    broadcast."""
    (a, x), (b, y) = tensors.items()
    if isinstance(x, Tensor) and isinstance(y, Tensor) and x.shape != y.shape:
        raise _check.differ(op, (a, b), "shape", tuple(x.shape), tuple(y.shape))


@_named(primitive="Shape")
def shape(input_x: Tensor) -> tuple[int, ...]:
    """The shape as a tuple.

    Args:
        input_x (Tensor): the input, of any shape and any dtype.

    Returns:
        tuple of ints. Takes bool, ints, floats and complex.

    Raises:
        TypeError: if `input_x` is not a Tensor.

    Example:
        >>> ops.shape(Tensor([[1, 2]]))
        (1, 2)
    """
    _need_tensor("shape", "input_x", input_x)
    return input_x.shape


@_named(primitive="Rank")
def rank(input_x: Tensor) -> int:
    """The number of dimensions.

    Args:
        input_x (Tensor): the input, of any shape and any dtype.

    Returns:
        int. Takes bool, ints, floats and complex.

    Raises:
        TypeError: if `input_x` is not a Tensor.

    Example:
        >>> ops.rank(Tensor([[1, 2]]))
        2
    """
    _need_tensor("rank", "input_x", input_x)
    return input_x.ndim


@_named(primitive="Size")
def size(input_x: Tensor) -> int:
    """The number of elements.

    Args:
        input_x (Tensor): the input, of any shape and any dtype.

    Returns:
        int. Takes bool, ints, floats and complex.

    Raises:
        TypeError: if `input_x` is not a Tensor.

    Example:
        >>> ops.size(Tensor([[1, 2]]))
        2
    """
    _need_tensor("size", "input_x", input_x)
    return input_x.size


def numel(input: Tensor) -> int:
    """The number of elements.

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        int. Takes bool, ints, floats and complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> ops.numel(Tensor([[1, 2]]))
        2
    """
    _need_tensor("numel", "input", input)
    return input.size


@_named(primitive="DType")
def dtype(x: Tensor) -> DType:
    """The element type.

    Args:
        x (Tensor): the input, of any shape and any dtype.

    Returns:
        A dtype. Takes bool, ints, floats and complex.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> ops.dtype(Tensor([1.0]))
        mindspore.float32
    """
    _need_tensor("dtype", "x", x)
    return x.dtype


@_named(primitive="Reshape", mint=True)
def reshape(input: Tensor, shape: Shape) -> Tensor:
    """The same elements in another shape; one dimension may be -1.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        shape (tuple of int): the shape of the result.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.reshape(Tensor([1, 2, 3, 4]), (2, -1)))
        [[1 2]
         [3 4]]
    """
    return _views["reshape"](input, _ints(shape))


@_named(primitive="Transpose")
def transpose(input: Tensor, dims: Shape | None = None, *, input_perm: Shape | None = None) -> Tensor:
    """Dimensions permuted. input_perm is the older name of dims.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        dims (tuple of int, optional): the order. Default: None.
        input_perm (tuple of int, optional): the older name of dims. Default: None.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.transpose(Tensor([[1, 2], [3, 4]]), (1, 0)))
        [[1 3]
         [2 4]]
    """
    order = input_perm if dims is None else dims
    if order is None:
        raise TypeError("transpose() needs 'dims', the order of the dimensions.")
    n = input.ndim
    return _views["transpose"](input, tuple([_axis(a, n) for a in order]))


def permute(input: Tensor, axis: Shape) -> Tensor:
    """Dimensions in another order.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        axis (tuple of int): the order.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.permute(Tensor([[1, 2]]), (1, 0)))
        [[1]
         [2]]
    """
    return transpose(input, axis)


@_named(method=True, mint=True)
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Two dimensions exchanged.

    Args:
        input (Tensor): the input, of 2 dimensions or more and any dtype.
        axis0 (int): the first of the two axes.
        axis1 (int): the second of the two axes.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if `axis0` is out of range, or `axis1` is out of range.

    Example:
        >>> print(ops.swapaxes(Tensor([[1, 2]]), 0, 1))
        [[1]
         [2]]
    """
    return _swapped("swapaxes", input, axis0, axis1)


def _swapped(name, input, axis0, axis1):
    n = input.ndim
    perm = list(builtins.range(n))
    a, b = _axis(axis0, n), _axis(axis1, n)
    if not (0 <= a < n and 0 <= b < n):
        raise _check.out_of_range(name, f"axes {axis0} and {axis1} are", n)
    perm[a], perm[b] = perm[b], perm[a]
    return _views["transpose"](input, tuple(perm))


@_named(method="moveaxis movedim")
def moveaxis(x: Tensor, source: Size, destination: Size) -> Tensor:
    """Dimensions moved to new places.

    Args:
        x (Tensor): the input, of 3 dimensions or more and any dtype.
        source (int or tuple of int): which axes.
        destination (int or tuple of int): where they go.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> ops.moveaxis(ops.zeros((2, 3, 4)), 0, 2).shape
        (3, 4, 2)
    """
    n = x.ndim
    for a in (*_ints(source), *_ints(destination)):
        _within("moveaxis", a, n)
    src = [_axis(a, n) for a in _ints(source)]
    dst = [_axis(a, n) for a in _ints(destination)]
    perm = [a for a in builtins.range(n) if a not in src]
    for d, s in sorted(zip(dst, src)):
        perm.insert(d, s)
    return _views["transpose"](x, tuple(perm))


movedim = moveaxis


@_named(method=True, mint=True)
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix.

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.t(Tensor([[1, 2]])))
        [[1]
         [2]]
    """
    return _views["transpose"](input, (1, 0)) if input.ndim == 2 else input


@_named(method=True, primitive="ExpandDims")
def expand_dims(input_x: Tensor, axis: int) -> Tensor:
    """A dimension of 1 inserted at `axis`.

    Args:
        input_x (Tensor): the input, of any shape and any dtype.
        axis (int): the axis; -1 is the last one.

    Returns:
        Tensor of one more dimension. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.expand_dims(Tensor([1, 2]), 0))
        [[1 2]]
    """
    return _with_axis("expand_dims", "axis", input_x, axis)


def _with_axis(name, argument, input_x, axis):
    s = list(input_x.shape)
    n = len(s) + 1
    if not -n <= axis < n:
        raise _check.refused(name, argument, _check.within(-n, n, "[)"), axis)
    s.insert(axis + n if axis < 0 else axis, 1)
    return _views["reshape"](input_x, tuple(s))


@_named(mint=True)
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A dimension of 1 inserted at `dim`.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        dim (int): the axis; -1 is the last one.

    Returns:
        Tensor of one more dimension. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if `dim` is out of range.

    Example:
        >>> print(ops.unsqueeze(Tensor([1, 2]), 1))
        [[1]
         [2]]
    """
    return _with_axis("unsqueeze", "dim", input, dim)


@_named(method=True)
def squeeze(input: Tensor, axis: Axis | None = None) -> Tensor:
    """Dimensions of 1 removed: all, or those named (where they are 1).

    Args:
        input (Tensor): the input, of any shape and any dtype.
        axis (int, optional): the axis; -1 is the last one. Default: None.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.squeeze(Tensor([[1, 2]])))
        [1 2]
    """
    s = input.shape
    n = len(s)
    if axis is None:
        return _views["reshape"](input, tuple([d for d in s if d != 1]))
    drop = [_axis(a, n) for a in _ints(axis)]
    for a in drop:
        if not 0 <= a < n:
            raise _check.out_of_range("squeeze", f"'axis' {axis} is", n)
    return _views["reshape"](input, tuple([s[a] for a in builtins.range(n) if a not in drop or s[a] != 1]))


@one_operator
def flatten(input: Tensor, order: str = "C", *, start_dim: int = 1, end_dim: int = -1) -> Tensor:
    """Dimensions start_dim..end_dim merged; order 'F' reads the elements with the first dimension fastest.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        order (str, optional): the order. Default: 'C'.
        start_dim (int, optional): the first dimension. Default: 1.
        end_dim (int, optional): the last dimension. Default: -1.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `order` is not 'C' or 'F'.

    Example:
        >>> ops.flatten(ops.zeros((2, 3, 4))).shape
        (2, 12)
    """
    return _flattened(_ops, input, order, start_dim, end_dim)


def _holds_zero(sizes):  # one by one: `0 in sizes` fixes sizes that vary
    for d in sizes:
        if d == 0:
            return True
    return False


def _flattened(ops, input, order, start_dim, end_dim):  # by `_ops` a copy, by `_views` a view
    _need_tensor("flatten", "input", input)
    if order not in ("C", "F"):
        raise _check.refused("flatten", "order", _check.one_of("C", "F"), order)
    n = input.ndim
    if order == "F":
        input = _ops["transpose"](input, tuple(builtins.range(n - 1, -1, -1)))
    s = input.shape
    if n == 0:
        return ops["reshape"](input, (1,))
    a, b = _axis(start_dim, n), _axis(end_dim, n)
    if n == 1:
        a, b = 0, 0
    if _holds_zero(s[:a] + s[b + 1:]):  # the size of the rest doesn't follow
        return ops["reshape"](input, (*s[:a], math.prod(s[a:b + 1]), *s[b + 1:]))
    return ops["reshape"](input, s[:a] + (-1,) + s[b + 1:])


@_named(method=True, mint=True)
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension.

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        1-d Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.ravel(Tensor([[1, 2], [3, 4]])))
        [1 2 3 4]
    """
    return _views["reshape"](input, (-1,))


@_named(method=True, primitive="BroadcastToOp", mint=True)
def broadcast_to(input: Tensor, shape: Shape) -> Tensor:
    """Broadcast to `shape`; -1 keeps a dimension.

    Args:
        input (Tensor): the input, of a shape that broadcasts to the one asked for and any dtype.
        shape (tuple of int): the shape of the result.

    Returns:
        Tensor of the shape asked for. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.broadcast_to(Tensor([1, 2]), (2, 2)))
        [[1 2]
         [1 2]]
    """
    return _views["broadcast_to"](input, _ints(shape))


def expand(input_x: Tensor, size: Shape) -> Tensor:
    """Broadcast to `size`.

    Args:
        input_x (Tensor): the input, of a shape that broadcasts to the one asked for and any dtype.
        size (tuple of int): the sizes of the result.

    Returns:
        Tensor of the shape asked for. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input_x` is not a Tensor.
        ValueError: if the shape of `size` does not fit.

    Example:
        >>> print(ops.expand(Tensor([1, 2]), Tensor([2, 2], ms.int32)))
        [[1 2]
         [1 2]]
    """
    return _views["broadcast_to"](input_x, _ints(size))


@_named(mint=True)
def narrow(input: Tensor, axis: int, start: int, length: int) -> Tensor:
    """`length` elements of one axis, from `start`.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        axis (int): the axis; -1 is the last one.
        start (int): the first element.
        length (int): how many.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.narrow(Tensor([1, 2, 3]), 0, 1, 2))
        [2 3]
    """
    s = input.shape
    _within("narrow", axis, len(s))
    a = _axis(axis, len(s))
    begin, end = [0] * len(s), list(s)
    begin[a], end[a] = start, start + length
    return _views["slice"](input, tuple(begin), tuple(end), (1,) * len(s))


@_named(primitive="Slice")
def slice(input_x: Tensor, begin: Shape, size: Shape) -> Tensor:
    """The box of `size` at `begin`; a size of -1 reaches to the end.

    Args:
        input_x (Tensor): the input, of 1 dimension or more and any dtype.
        begin (tuple of int): where to begin, per axis.
        size (tuple of int): how many, per axis.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.slice(Tensor([1, 2, 3]), (1,), (2,)))
        [2 3]
    """
    s = input_x.shape
    if len(begin) != len(s) or len(size) != len(s):
        raise _check.refused("slice", "'begin' and 'size'", _check.value(f"have {len(s)} elements each"),
                             _check.several(begin, size))
    if [b for b in begin if b < 0]:
        raise _check.refused("slice", "begin", _check.value("not be below 0"), begin)
    end = tuple([s[i] if size[i] == -1 else begin[i] + size[i] for i in builtins.range(len(s))])
    return _views["slice"](input_x, tuple(begin), end, (1,) * len(s))


@gives_compute_dtype
def strided_slice(input_x: Tensor, begin: Shape, end: Shape, strides: Shape, begin_mask: int = 0, end_mask: int = 0,
                  ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0) -> Tensor:
    """Python slices per axis.

    Bit k of a mask: place k has no begin, no end, is `...`, a new axis, or an index that drops its axis.

    Args:
        input_x (Tensor): the input, of 1 dimension or more and any dtype.
        begin (tuple of int): where to begin, per axis.
        end (tuple of int): where to end, per axis.
        strides (tuple of int): the step along each axis.
        begin_mask (int, optional): axes without a begin. Default: 0.
        end_mask (int, optional): axes without an end. Default: 0.
        ellipsis_mask (int, optional): the place of .... Default: 0.
        new_axis_mask (int, optional): places of new axes. Default: 0.
        shrink_axis_mask (int, optional): axes that go. Default: 0.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input_x` is not a Tensor.

    Example:
        >>> print(ops.strided_slice(Tensor([1, 2, 3]), (0,), (3,), (2,)))
        [1 3]
    """
    index = []
    for k in builtins.range(len(begin)):
        bit = 1 << k
        if ellipsis_mask & bit:
            index.append(Ellipsis)
        elif new_axis_mask & bit:
            index.append(None)
        elif shrink_axis_mask & bit:
            index.append(begin[k])
        else:
            index.append(builtins.slice(None if begin_mask & bit else begin[k], None if end_mask & bit else end[k],
                                        strides[k]))
    return input_x[tuple(index)]._view()


def reshape_(input: Tensor, shape: Shape) -> Tensor:
    """The same elements in another shape.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        shape (tuple of int): the shape of the result.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> ops.reshape_(Tensor([1, 2]), (2, 1)).shape
        (2, 1)
    """
    return reshape(input, shape)


@_named(primitive="TensorShape")
def dyn_shape(input_x: Tensor) -> Tensor:
    """The shape as a vector of int64.

    Args:
        input_x (Tensor): the input, of any shape and any dtype.

    Returns:
        int64 Tensor. Bool, floats and complex give int64.

    Raises:
        TypeError: if `input_x` is not a Tensor.

    Example:
        >>> print(ops.dyn_shape(Tensor([[1, 2]])))
        [1 2]
    """
    _need_tensor("dyn_shape", "input_x", input_x)
    return Tensor(np.array(input_x.shape, np.int64))


def shape_(x: Tensor) -> tuple[int, ...]:
    """The shape as a tuple.

    Args:
        x (Tensor): the input, of any shape and any dtype.

    Returns:
        tuple of ints. Takes bool, ints, floats and complex.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> ops.shape_(Tensor([[1, 2]]))
        (1, 2)
    """
    _need_tensor("shape_", "x", x)
    return x.shape


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
