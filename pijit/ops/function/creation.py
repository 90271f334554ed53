"""Tensors from scratch, windows and places of triangles among them."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.compute_dtype import gives_compute_dtype, one_operator
from pijit.ops.function.elementwise import abs, cast, cos, _need_tensor, _number, pow
from pijit.ops.function.shapes import expand_dims, _ints, moveaxis
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from pijit._C import DType
    from pijit._types import Number, Shape, Size, TensorLike


@gives_compute_dtype
def full(size: Size, fill_value: Number, *, dtype: DType | None = None) -> Tensor:
    """A tensor of `size` filled with one value.

    Args:
        size (int or tuple of int): the shape.
        fill_value (number): the value of all elements.
        dtype (dtype, optional): the dtype of the result; int64 by default, whatever the value is, as in MindSpore.
            Default: None.

    Returns:
        Tensor of shape `size`.

    Example:
        >>> print(ops.full((2, 2), 3.0, dtype=ms.float32))
        [[3. 3.]
         [3. 3.]]
    """
    return _filled(size, fill_value, dtype)


def _filled(size, value, dtype):
    """The same in that dtype, whatever Cell runs."""
    return _ops["broadcast_to"](_number(value, mstype.int64 if dtype is None else dtype), _ints(size))


@gives_compute_dtype
def fill(type: DType, shape: Shape, value: Number) -> Tensor:
    """A tensor of `shape` and dtype `type` filled with `value`.

    Args:
        type (dtype): the dtype of the result.
        shape (tuple of int): the shape of the result.
        value (number): the value of all elements.

    Returns:
        Tensor of the shape and dtype asked for.

    Example:
        >>> print(ops.fill(ms.int32, (2,), 7))
        [7 7]
    """
    return _filled(shape, value, type)


def _fill(type, shape, value):
    return _filled(shape, value, type)


_fill.__name__ = "fill"
_named(primitive="Fill")(_fill)


@_named(primitive="Zeros")
def zeros(size: Size, dtype: DType | None = None) -> Tensor:
    """A tensor filled with zeros.

    Args:
        size (int or tuple of int): the shape.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        Tensor of shape `size`, float32 by default.

    Example:
        >>> print(ops.zeros((2, 2)))
        [[0. 0.]
         [0. 0.]]
    """
    return _filled(size, 0, mstype.float32 if dtype is None else dtype)


@_named(primitive="Ones")
def ones(shape: Size, dtype: DType | None = None) -> Tensor:
    """A tensor filled with ones.

    Args:
        shape (int or tuple of int): the shape.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        Tensor of the shape asked for, float32 by default.

    Example:
        >>> print(ops.ones((2, 2), ms.int32))
        [[1 1]
         [1 1]]
    """
    return _filled(shape, 1, mstype.float32 if dtype is None else dtype)


@_named(primitive="ZerosLike", mint=True)
def zeros_like(input: Tensor, *, dtype: DType | None = None) -> Tensor:
    """Zeros of the same shape and dtype.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        Tensor of input's shape. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.zeros_like(Tensor([1, 2])))
        [0 0]
    """
    _need_tensor("zeros_like", "input", input)
    return _filled(input.shape, 0, input.dtype if dtype is None else dtype)


@_named(primitive="OnesLike", mint=True)
def ones_like(input: Tensor, *, dtype: DType | None = None) -> Tensor:
    """Ones of the same shape and dtype. TypeError where input is no Tensor.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        Tensor of input's shape. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.ones_like(Tensor([1, 2])))
        [1 1]
    """
    _need_tensor("ones_like", "input", input)
    return _filled(input.shape, 1, input.dtype if dtype is None else dtype)


@_named(mint=True)
@gives_compute_dtype
def full_like(input: Tensor, fill_value: Number, *, dtype: DType | None = None) -> Tensor:
    """One value in the same shape and dtype.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        fill_value (number): the value of all elements.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        Tensor of input's shape. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.full_like(Tensor([1, 2]), 5))
        [5 5]
    """
    return full(input.shape, fill_value, dtype=input.dtype if dtype is None else dtype)


def arange(start: Number = 0, end: Number | None = None, step: Number = 1, *, dtype: DType | None = None) -> Tensor:
    """Values from start to end (not included) by step.

    Args:
        start (number, optional): the first value. Default: 0.
        end (number, optional): the end, which isn't reached. Default: None.
        step (number, optional): the distance. Default: 1.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        1-d Tensor: int64 of ints, else float32.

    Example:
        >>> print(ops.arange(0, 6, 2))
        [0 2 4]
    """
    if end is None:
        start, end = 0, start
    if dtype is None:
        dtype = (mstype.float32 if isinstance(start, float) or isinstance(end, float) or isinstance(step, float)
                 else mstype.int64)
    if step == 0:
        raise _check.refused("arange", "step", _check.NOT_ZERO, 0)
    if isinstance(start, int) and isinstance(end, int) and isinstance(step, int):
        count = builtins.max(0, -((start - end) // step))
    else:
        count = builtins.max(0, math.ceil((end - start) / step))
    return _ops["arange"](start, step, count, dtype)


def range(start: Number, end: Number | None = None, step: Number = 1, maxlen: int = 1000000) -> Tensor:
    """Like arange, of at most maxlen values; of floating Tensors in their dtype.

    Args:
        start (number): the first value.
        end (number, optional): the end, which isn't reached. Default: None.
        step (number, optional): the distance. Default: 1.
        maxlen (int, optional): the greatest length. Default: 1000000.

    Returns:
        1-d Tensor.

    Example:
        >>> print(ops.range(0, 6, 2))
        [0 2 4]
    """
    dtype = [x.dtype for x in (start, end, step) if isinstance(x, Tensor)]
    if dtype:
        start, end, step = [x.item() if isinstance(x, Tensor) else x for x in (start, end, step)]
    if end is not None and (start > end if step > 0 else start < end):
        raise ValueError(f"For 'range', 'end' {end} can't be reached from 'start' {start} by steps of {step}.")
    r = arange(start, end, step, dtype=dtype[0] if dtype and dtype[0].is_floating_point else None)
    if r.size > maxlen:
        raise _check.too_large("range", f"the number of values {r.size}", f"'maxlen' {maxlen}")
    return r


@one_operator
def linspace(start: Number, end: TensorLike, steps: int) -> Tensor:
    """`steps` values from start to end, both included. ValueError for less than one.

    Args:
        start (number): the first value.
        end (number or Tensor): the last value.
        steps (int): how many values.

    Returns:
        1-d Tensor, float32 of numbers.

    Example:
        >>> print(ops.linspace(0, 1, 5))
        [0.   0.25 0.5  0.75 1.  ]
    """
    if steps < 1:
        raise _check.refused("linspace", "steps", _check.at_least(1), steps)
    if steps == 1:
        if isinstance(start, Tensor):
            return _ops["reshape"](start if start.dtype.is_floating_point else _ops["cast"](start, mstype.float32),
                                   (1,))
        return _filled((1,), float(start), mstype.float32)
    return _ops["arange"](0, 1, steps, mstype.float32) * ((end - start) / (steps - 1)) + start


def eye(n: int, m: int | None = None, dtype: DType | None = None) -> Tensor:
    """[n, m] (n by default) with ones on the diagonal, float32 by default. ValueError for sizes below 0.

    Args:
        n (int): the number of rows.
        m (int, optional): the number of columns. Default: None.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        Tensor [n, m].

    Example:
        >>> print(ops.eye(2, 3))
        [[1. 0. 0.]
         [0. 1. 0.]]
    """
    m = n if m is None else m
    if n < 0 or m < 0:
        raise _check.refused("eye", "the sizes", _check.at_least(0), _check.several(n, m))
    d = mstype.float32 if dtype is None else dtype
    return _ops["cast"](expand_dims(arange(n), 1) == arange(m), d)


@_named(method=True, mint=True)
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangle; the rest is 0.

    Args:
        input (Tensor): the input, of 2 dimensions or more and any dtype.
        diagonal (int, optional): which diagonal: 0 the main one, above it positive. Default: 0.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.tril(Tensor([[1, 2], [3, 4]])))
        [[1 0]
         [3 4]]
    """
    m, n = input.shape[-2:]
    keep = (expand_dims(arange(m), 1) + diagonal) >= arange(n)
    return _ops["select"](keep, input, zeros_like(input))


@_named(method=True, mint=True)
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangle; the rest is 0.

    Args:
        input (Tensor): the input, of 2 dimensions or more and any dtype.
        diagonal (int, optional): which diagonal: 0 the main one, above it positive. Default: 0.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.triu(Tensor([[1, 2], [3, 4]])))
        [[1 2]
         [0 4]]
    """
    m, n = input.shape[-2:]
    keep = (expand_dims(arange(m), 1) + diagonal) <= arange(n)
    return _ops["select"](keep, input, zeros_like(input))


def one_hot(indices: Tensor, depth: int, on_value: TensorLike = 1, off_value: TensorLike = 0, axis: int = -1) -> Tensor:
    """Rows with on_value at the index.

    Args:
        indices (Tensor): the classes: ints.
        depth (int): the number of classes.
        on_value (Tensor or number, optional): the value at the class. Default: 1.
        off_value (Tensor or number, optional): the value elsewhere. Default: 0.
        axis (int, optional): where the classes' axis goes. Default: -1.

    Returns:
        Tensor with a further axis of `depth`.

    Raises:
        TypeError: if `indices` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.one_hot(Tensor([0, 2]), 3))
        [[1 0 0]
         [0 0 1]]
    """
    d = (on_value.dtype if isinstance(on_value, Tensor) else mstype.float32 if isinstance(on_value, float)
         else mstype.int64)
    if isinstance(on_value, Tensor) or isinstance(off_value, Tensor):
        hit = _ops["one_hot"](indices, depth, 1, 0, mstype.int32)
        x = _ops["select"](_ops["not_equal"](hit, 0), _ops["cast"](on_value, d), _ops["cast"](off_value, d))
    else:
        x = _ops["one_hot"](indices, depth, on_value, off_value, d)
    return x if axis == -1 or axis == indices.ndim else moveaxis(x, -1, axis)


@_named(method=True)
def fills(x: Tensor, value: TensorLike) -> Tensor:
    """One value in x's shape and dtype.

    Args:
        x (Tensor): the input, of any shape and any dtype.
        value (Tensor or number): the value to put there.

    Returns:
        Tensor of x's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.fills(Tensor([1.0, 2.0]), 9))
        [9. 9.]
    """
    return _filled(x.shape, value, x.dtype)


def eps(x: Tensor) -> Tensor:
    """The distance from 1 to the next number of x's dtype, in x's shape. x: a Tensor of float16, float32 or float64.

    Args:
        x (Tensor): the input, of any shape and float dtype.

    Returns:
        Tensor of x's shape and dtype. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `x` is not a Tensor, or the dtype of `x` is not floating.

    Example:
        >>> print(ops.eps(Tensor([5.0], ms.float16)))
        [0.000977]
    """
    _need_tensor("eps", "x", x)
    if not x.dtype.is_floating_point:
        raise _check.refused("eps", "x", _check.FLOATING, x.dtype)
    return _filled(x.shape, 2.0 ** -{"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}[x.dtype.name.lower()],
                dtype=x.dtype)


def vander(x: Tensor, N: int | None = None) -> Tensor:
    """Powers of a vector as columns, from the (N - 1)-th down to the 0-th.

    Args:
        x (Tensor): the input, of 1 dimension and any dtype.
        N (int, optional): the number of columns. Default: None.

    Returns:
        Tensor [n, N]. Floats and complex keep their dtype; bool gives int64.

    Example:
        >>> print(ops.vander(Tensor([2.0, 3.0]), 3))
        [[4. 2. 1.]
         [9. 3. 1.]]
    """
    if x.ndim != 1:
        raise _check.refused("vander", "the input", _check.dims(1), x.ndim)
    n = x.shape[0] if N is None else N
    if n <= 0:
        raise _check.refused("vander", "N", _check.above(0), N)
    if not x.dtype.is_floating_point and x.dtype not in mstype.complex_type:
        x = cast(x, mstype.int64)
    powers = cast(arange(n - 1, -1, -1), x.dtype)
    return pow(expand_dims(x, 1), powers)


@one_operator
def logspace(start: Number, end: Number, steps: int, base: int = 10, *, dtype: DType = mstype.float32) -> Tensor:
    """base ** e for `steps` numbers e from start to end.

    Args:
        start (number): the first value.
        end (number): the end, which isn't reached.
        steps (int): how many values.
        base (int, optional): the base. Default: 10.
        dtype (dtype, optional): the dtype of the result. Default: float32.

    Returns:
        1-d Tensor.

    Example:
        >>> print(ops.logspace(0, 2, 3))
        [  1.  10. 100.]
    """
    if steps < 0:
        raise _check.refused("logspace", "steps", _check.at_least(0), steps)
    e = linspace(float(start), float(end), steps)
    return cast(pow(Tensor(float(base), mstype.float32), e), dtype)


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: DType = mstype.int64) -> Tensor:
    """Rows and columns [2, n] of the elements of a row x col matrix on and below a diagonal.

    Args:
        row (int): the number of rows.
        col (int): the number of columns.
        offset (int, optional): which diagonal: 0 the main one, above it positive. Default: 0.
        dtype (dtype, optional): int32 or int64. Default: int64.

    Returns:
        Tensor [2, n].

    Example:
        >>> print(ops.tril_indices(2, 2))
        [[0 1 1]
         [0 0 1]]
    """
    return _triangle("tril_indices", row, col, dtype, lambda i: (0, builtins.min(builtins.max(i + offset + 1, 0), col)))


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: DType = mstype.int64) -> Tensor:
    """Rows and columns [2, n] of the elements of a row x col matrix on and above a diagonal.

    Args:
        row (int): the number of rows.
        col (int): the number of columns.
        offset (int, optional): which diagonal: 0 the main one, above it positive. Default: 0.
        dtype (dtype, optional): int32 or int64. Default: int64.

    Returns:
        Tensor [2, n].

    Example:
        >>> print(ops.triu_indices(2, 2))
        [[0 0 1]
         [0 1 1]]
    """
    return _triangle("triu_indices", row, col, dtype, lambda i: (builtins.min(builtins.max(i + offset, 0), col), col))


def _triangle(name, row, col, dtype, columns):
    for n in (row, col):
        if not isinstance(n, int):
            raise _check.refused(name, "'row' and 'col'", _check.type_("ints"), n)
        if not 0 <= n < 2 ** 31:
            raise _check.refused(name, "'row' and 'col'", _check.value("be at least 0 and less than 2 ** 31"), n)
    if dtype not in (mstype.int32, mstype.int64):
        raise _check.refused(name, "dtype", _check.dtypes("int32", "int64"), dtype)
    ends = [columns(i) for i in builtins.range(row)]
    if builtins.sum([b - a for a, b in ends]) > 1e6:  # too many for lists
        import numpy as np
        rows = np.repeat(np.arange(row), [b - a for a, b in ends])
        return Tensor(np.stack([rows, np.concatenate([np.arange(a, b) for a, b in ends])]), dtype)
    places = [(i, j) for i, (a, b) in enumerate(ends) for j in builtins.range(a, b)]
    return Tensor([[p[0] for p in places], [p[1] for p in places]], dtype)


def _window(name, window_length, periodic, dtype, f, default=mstype.float32):
    """f(share of the period), in float64, for each place of the window."""
    if isinstance(window_length, Tensor) and name in ("bartlett_window", "blackman_window"):
        window_length = window_length.item()
    if not isinstance(window_length, int) or isinstance(window_length, bool):
        raise _check.refused(name, "window_length", _check.INT, window_length)
    if window_length < 0:
        raise _check.refused(name, "window_length", _check.at_least(0), window_length)
    dtype = default if dtype is None else dtype
    if not dtype.is_floating_point:
        raise _check.refused(name, "dtype", _check.FLOATING, dtype)
    if window_length <= 1:
        return ones((window_length,), dtype)
    share = _ops["arange"](0, 1, window_length, mstype.float64) / (window_length if periodic else window_length - 1)
    return cast(f(share), dtype)


@one_operator
def bartlett_window(window_length: int | Tensor, periodic: bool = True, *, dtype: DType | None = None) -> Tensor:
    """The triangle from 0 to 1 and back.

    Args:
        window_length (int or Tensor): the number of elements.
        periodic (bool, optional): whether the window is one period long (one element of a longer symmetric one is
            left out). Default: True.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        1-d float32 Tensor.

    Example:
        >>> print(ops.bartlett_window(4))
        [0.  0.5 1.  0.5]
    """
    return _window("bartlett_window", window_length, periodic, dtype, lambda t: 1 - abs(2 * t - 1))


@one_operator
def blackman_window(window_length: int | Tensor, periodic: bool = True, *, dtype: DType | None = None) -> Tensor:
    """0.42 - 0.5 cos + 0.08 cos of the double angle.

    Args:
        window_length (int or Tensor): the number of elements.
        periodic (bool, optional): whether the window is one period long (one element of a longer symmetric one is
            left out). Default: True.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        1-d float32 Tensor.

    Example:
        >>> print(ops.blackman_window(4))
        [-1.3877788e-17  3.4000000e-01  1.0000000e+00  3.4000000e-01]
    """
    return _window("blackman_window", window_length, periodic, dtype,
                   lambda t: 0.42 - 0.5 * cos(2 * math.pi * t) + 0.08 * cos(4 * math.pi * t))


@one_operator
def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *,
                   dtype: DType | None = None) -> Tensor:
    """alpha - beta cos.

    Args:
        window_length (int): the number of elements.
        periodic (bool, optional): whether the window is one period long (one element of a longer symmetric one is
            left out). Default: True.
        alpha (float, optional): the constant. Default: 0.54.
        beta (float, optional): the factor of the cosine. Default: 0.46.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        1-d float32 Tensor.

    Example:
        >>> print(ops.hamming_window(4))
        [0.08 0.54 1.   0.54]
    """
    return _window("hamming_window", window_length, periodic, dtype, lambda t: alpha - beta * cos(2 * math.pi * t))


@one_operator
def hann_window(window_length: int, periodic: bool = True, *, dtype: DType | None = None) -> Tensor:
    """0.5 - 0.5 cos.

    Args:
        window_length (int): the number of elements.
        periodic (bool, optional): whether the window is one period long (one element of a longer symmetric one is
            left out). Default: True.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        1-d float32 Tensor.

    Example:
        >>> print(ops.hann_window(4))
        [0.  0.5 1.  0.5]
    """
    return _window("hann_window", window_length, periodic, dtype, lambda t: 0.5 - 0.5 * cos(2 * math.pi * t),
                   mstype.float64)


@one_operator
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *,
                  dtype: DType | None = None) -> Tensor:
    """The modified Bessel function of order 0 along a half circle, over its greatest value.

    Args:
        window_length (int): the number of elements.
        periodic (bool, optional): whether the window is one period long (one element of a longer symmetric one is
            left out). Default: True.
        beta (float, optional): the sharpness. Default: 12.0.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        1-d float32 Tensor.

    Example:
        >>> print(ops.kaiser_window(4))
        [5.27734413e-05 2.15672745e-01 1.00000000e+00 2.15672745e-01]
    """
    import numpy as np
    top = float(np.i0(beta))
    return _window("kaiser_window", window_length, periodic, dtype,
                   lambda t: Tensor(np.i0(beta * np.sqrt(np.maximum(1 - (2 * t.asnumpy() - 1) ** 2, 0))) / top),
                   mstype.float64)
