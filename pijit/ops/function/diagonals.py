"""Diagonals of matrices: taken out, put in, one or several at once, packed in rows."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor, views as _views
from pijit.compute_dtype import gives_compute_dtype
from pijit.ops.function.creation import arange, _filled
from pijit.ops.function.elementwise import cast, maximum, minimum, _need_tensor, select
from pijit.ops.function.joining import concat
from pijit.ops.function.shapes import _axis, expand_dims, moveaxis, narrow, ravel, reshape, transpose
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from typing import Any
    from pijit._types import Number

_ALIGNMENTS = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")


def _number(x):
    return x.item() if isinstance(x, Tensor) else x


def _band(name, k, align):
    """(lowest, highest) diagonal."""
    if not isinstance(align, str) or align not in _ALIGNMENTS:
        raise _check.refused(name, "align", _check.one_of(*_ALIGNMENTS), align)
    if not isinstance(k, (int, Tensor)):
        raise _check.refused(name, "k", _check.a(int, Tensor), k)
    k = k.asnumpy().ravel().tolist() if isinstance(k, Tensor) else [k]
    if len(k) not in (1, 2) or k[0] > k[-1]:
        raise _check.refused(name, "k", _check.value("be a diagonal, or the lowest and the highest one"), k)
    return k[0], k[-1]


def _need_rank(name, x, least):
    if not isinstance(x, Tensor):
        raise _check.refused(name, "x", _check.TENSOR, x)
    if x.ndim < least:
        raise _check.refused(name, "x", _check.least_dims(least), x.ndim)


def _longest(name, low, high, m, n):
    if not (-m < low < n or low == 0) or not (-m < high < n or high == 0):
        raise _check.refused(name, "k", _check.value(f"name diagonals of matrices of {m} rows and {n} columns"),
                             _check.several(low, high))
    return builtins.min(m + builtins.min(high, 0), n - builtins.max(low, 0))


def _shift(d, m, n, longest, align):
    """How far to the right the diagonals d begin."""
    above, below = align.split("_")
    room = longest - minimum(m + minimum(d, 0), n - maximum(d, 0))
    left = (d >= 0) & (above == "LEFT") | (d <= 0) & (below == "LEFT")
    return _ops["select"](left, 0, room)


def _spread(name, x, low, high, m, n, align):
    """(the band's elements at their places in [..., m, n], where the band is)."""
    longest = _longest(name, low, high, m, n)
    count = high - low + 1
    lead = x.shape[:-1] if count == 1 else x.shape[:-2]
    if x.shape[-1] != longest or count > 1 and x.shape[-2] != count:
        wanted = (*lead, longest) if count == 1 else (*lead, count, longest)
        raise ValueError(
            f"For '{name}', the diagonals {low} to {high} of matrices of {m} rows and {n} columns are packed as "
            f"{wanted}, but got {tuple(x.shape)}.")
    i, j = expand_dims(arange(m), 1), arange(n)
    d = j - i
    at = (high - d) * longest + minimum(i, j) + _shift(d, m, n, longest, align)
    flat = reshape(x, (*lead, count * longest))
    wide = _ops["gather"](flat, reshape(minimum(maximum(at, 0), count * longest - 1), (m * n,)), flat.ndim - 1)
    return reshape(wide, (*lead, m, n)), (d >= low) & (d <= high)


def matrix_diag(x: Tensor, k: int = 0, num_rows: int = -1, num_cols: int = -1, padding_value: int = 0,
                align: str = "RIGHT_LEFT") -> Tensor:
    """Matrices with given diagonals, padding_value elsewhere.

    x: [..., length] for one diagonal `k`, [..., count, length] for a band k = (lowest, highest), packed as `align`
        says. num_rows,
    num_cols: the matrices' size, by default the least that holds the diagonals (square where neither is given). Returns
        [..., rows, columns] of x's dtype. Raises ValueError for sizes that don't fit, TypeError where x is no Tensor.

    Example:
        >>> print(ops.matrix_diag(Tensor([1, 2], ms.int32)))
        [[1 0]
         [0 2]]
    """
    low, high = _band("matrix_diag", k, align)
    _need_rank("matrix_diag", x, 1 if low == high else 2)
    m, n = _number(num_rows), _number(num_cols)
    rows, columns = x.shape[-1] - builtins.min(high, 0), x.shape[-1] + builtins.max(low, 0)
    if m == -1 and n == -1:
        m = n = builtins.max(rows, columns)
    m, n = rows if m == -1 else m, columns if n == -1 else n
    wide, inside = _spread("matrix_diag", x, low, high, m, n, align)
    return _ops["select"](inside, wide, _number(padding_value))


def matrix_diag_part(x: Tensor, k: int, padding_value: Any, align: str = "RIGHT_LEFT") -> Tensor:
    """Diagonals of matrices.

    x: [..., m, n]. k: one diagonal, which gives [..., length], or (lowest, highest), which gives [..., count, length]
        packed as `align` says, with padding_value where a diagonal is shorter. Raises ValueError for diagonals there
        are not.

    Returns:
        Tensor. Ints, floats and complex keep their dtype; bool gives int64.

    Example:
        >>> print(ops.matrix_diag_part(Tensor([[1, 2], [3, 4]]), 0, 0))
        [1 4]
    """
    low, high = _band("matrix_diag_part", k, align)
    _need_rank("matrix_diag_part", x, 2)
    m, n = x.shape[-2:]
    longest = _longest("matrix_diag_part", low, high, m, n)
    d = expand_dims(high - arange(high - low + 1), 1)
    at = arange(longest) - _shift(d, m, n, longest, align)
    inside = (at >= 0) & (at < minimum(m + minimum(d, 0), n - maximum(d, 0)))
    place = (at + maximum(-d, 0)) * n + at + maximum(d, 0)
    flat = reshape(x, (*x.shape[:-2], m * n))
    found = _ops["gather"](flat, reshape(minimum(maximum(place, 0), m * n - 1), (-1,)), flat.ndim - 1)
    found = reshape(found, (*x.shape[:-2], high - low + 1, longest))
    found = _ops["select"](inside, found, _number(padding_value))
    return reshape(found, (*x.shape[:-2], longest)) if low == high else found


def matrix_set_diag(x: Tensor, diagonal: int, k: int = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """x [..., m, n] with its diagonals `k` (one, or from the lowest to the highest) replaced by `diagonal`.

    It is packed as `align` says.

    Raises ValueError where the diagonals' shape doesn't fit, TypeError where x is no Tensor.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.matrix_set_diag(Tensor([[1, 2], [3, 4]]), Tensor([9, 8])))
        [[9 2]
         [3 8]]
    """
    low, high = _band("matrix_set_diag", k, align)
    _need_rank("matrix_set_diag", x, 2)
    wide, inside = _spread("matrix_set_diag", diagonal, low, high, x.shape[-2], x.shape[-1], align)
    if wide.shape != x.shape:
        raise _check.refused("matrix_set_diag", "diagonal",
                             _check.value(f"have the leading dimensions {tuple(x.shape[:-2])}"), diagonal.shape)
    return _ops["select"](inside, wide, x)


# --- places ---

def fill_diagonal(input: Tensor, fill_value: Number, wrap: bool = False) -> Tensor:
    """input with one value on the diagonal: where all indices are equal.

    input: two dimensions, or more of one size. wrap: down a tall matrix the diagonal begins again, a row below. Raises
        ValueError for other shapes."""
    _need_tensor("fill_diagonal", "input", input)
    if input.ndim < 2 or input.ndim > 2 and len(set(input.shape)) > 1:
        raise _check.refused("fill_diagonal", "the input", _check.value("have 2 dimensions, or more of one size"),
                             input.shape)
    on = None
    rows = arange(input.shape[0])
    if input.ndim == 2 and wrap:
        rows = rows % (input.shape[1] + 1)
    first = reshape(rows, (-1,) + (1,) * (input.ndim - 1))
    for k in builtins.range(1, input.ndim):
        here = first == reshape(arange(input.shape[k]), (-1,) + (1,) * (input.ndim - 1 - k))
        on = here if on is None else on & here
    return _ops["select"](on, cast(Tensor(fill_value), input.dtype), input)


@gives_compute_dtype
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two dimensions, `offset` above the main one, as the last dimension.

    Args:
        input (Tensor): the input, of 2 dimensions or more and any dtype.
        offset (int, optional): which diagonal: 0 the main one, above it positive. Default: 0.
        dim1 (int, optional): the first of the two axes. Default: 0.
        dim2 (int, optional): the second of the two axes. Default: 1.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.diagonal(Tensor([[1, 2], [3, 4]])))
        [1 4]
    """
    _need_tensor("diagonal", "input", input)
    n = input.ndim
    a, b = _axis(dim1, n), _axis(dim2, n)
    if n < 2 or a == b:
        raise ValueError(f"For 'diagonal', expected two different dimensions, but got {dim1} and {dim2} of {n}.")
    x = transpose(input, tuple([k for k in builtins.range(n) if k not in (a, b)] + [a, b]))
    *lead, rows, cols = x.shape
    k = builtins.min(rows + builtins.min(offset, 0), cols - builtins.max(offset, 0))
    if k <= 0:
        return _ops["reshape"](narrow(narrow(x, -1, 0, 0), -2, 0, builtins.min(rows, 1)) if rows else x, (*lead, 0))
    return _views["diagonal"](x, offset)


def _embed_diagonal(x, offset):
    """[..., n] as the diagonal, `offset` above the main one, of zeros [..., m, m]."""
    right, down = builtins.max(offset, 0), builtins.max(-offset, 0)
    rank = x.ndim
    m = x.shape[-1] + right + down
    row = _ops["pad"](x, (0,) * (rank - 1) + (right,), (0,) * (rank - 1) + (down,), 0)
    places = _ops["arange"](0, 1, m, mstype.int64)
    on = expand_dims(places, 1) + offset == places
    return _ops["select"](on, expand_dims(row, -2), 0)


def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The last axis as the diagonal, `offset` above the main one, of two new axes dim1 and dim2.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        offset (int, optional): which diagonal: 0 the main one, above it positive. Default: 0.
        dim1 (int, optional): the first of the two axes. Default: -2.
        dim2 (int, optional): the second of the two axes. Default: -1.

    Returns:
        Tensor of one more dimension. Ints, floats and complex keep their dtype; bool gives int64.

    Example:
        >>> print(ops.diag_embed(Tensor([1, 2])))
        [[1 0]
         [0 2]]
    """
    n = input.ndim + 1
    a, b = _axis(dim1, n), _axis(dim2, n)
    if a == b:
        raise _check.refused("diag_embed", "'dim1' and 'dim2'", _check.value("differ"), _check.several(dim1, dim2))
    y = _embed_diagonal(input, offset)
    order = [k for k in builtins.range(n - 2)]
    for axis, source in sorted(((a, n - 2), (b, n - 1))):
        order.insert(axis, source)
    return _ops["transpose"](y, tuple(order))


@_named(method=True)
def diag(input: Tensor) -> Tensor:
    """A Tensor of twice as many dimensions with the elements on its diagonal: a matrix, for a vector.

    Args:
        input (Tensor): the input, of 1 to 4 dimensions and any dtype.

    Returns:
        Tensor. Ints, floats and complex keep their dtype; bool gives int64.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.diag(Tensor([1, 2])))
        [[1 0]
         [0 2]]
    """
    _need_tensor("diag", "input", input)
    if input.ndim == 0:
        raise _check.refused("diag", "the input", _check.least_dims(1), 0)
    return reshape(_embed_diagonal(ravel(input), 0), tuple(input.shape) * 2)


@_named(method=True)
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with the flattened input as its diagonal, `offset` above the main one.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        offset (int, optional): which diagonal: 0 the main one, above it positive. Default: 0.

    Returns:
        Tensor [n, n]. Ints, floats and complex keep their dtype; bool gives int64.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.diagflat(Tensor([1, 2])))
        [[1 0]
         [0 2]]
    """
    return _embed_diagonal(ravel(input), offset)


@_named(primitive="Trace", mint=True)
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal, in its dtype. Raises TypeError for bool.

    Args:
        input (Tensor): the input, of 2 dimensions and int, float or complex dtype.

    Returns:
        0-d Tensor. Ints, floats and complex keep their dtype; not for bool.

    Example:
        >>> print(ops.trace(Tensor([[1.0, 2.0], [3.0, 4.0]])))
        5.0
    """
    _need_tensor("trace", "input", input)
    if input.dtype == mstype.bool_:
        raise _check.refused("trace", "the input", _check.value("hold numbers"), input.dtype, TypeError)
    if input.ndim != 2:
        raise _check.refused("trace", "the input", _check.dims(2), input.ndim)
    return _ops["reduce_sum"](diagonal(input), (), False)


def block_diag(*inputs: Tensor) -> Tensor:
    """Matrices (vectors as rows, numbers as 1 x 1) along the diagonal of one, zeros elsewhere.

    Args:
        *inputs (Tensor): the blocks, of 0 to 2 dimensions and any dtype.

    Returns:
        Tensor [rows, columns]. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.block_diag(Tensor([[1, 2]]), Tensor([[3]])))
        [[1 2 0]
         [0 0 3]]
    """
    parts = [reshape(x, (1, -1)) if x.ndim < 2 else x for x in inputs]
    width = builtins.sum([p.shape[1] for p in parts])
    rows, left = [], 0
    for p in parts:
        rows.append(_ops["pad"](p, (0, left), (0, width - left - p.shape[1]), 0))
        left += p.shape[1]
    return concat(rows, 0)


def matrix_band_part(x: Tensor, lower: int, upper: int) -> Tensor:
    """The diagonals of [..., m, n] from `lower` below to `upper` above the main one, zeros elsewhere.

    A negative number keeps all there.

    Args:
        x (Tensor): the input, of 2 dimensions or more and any dtype.
        lower (int): how many diagonals below.
        upper (int): how many diagonals above.

    Returns:
        Tensor of x's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.matrix_band_part(Tensor([[1, 2], [3, 4]]), 0, 0))
        [[1 0]
         [0 4]]
    """
    m, n = x.shape[-2:]
    gap = expand_dims(arange(m), 1) - arange(n)
    keep = _filled((m, n), True, dtype=mstype.bool_)
    if isinstance(lower, Tensor) or lower >= 0:
        keep = keep & ((gap <= lower) | (lower < 0) if isinstance(lower, Tensor) else gap <= lower)
    if isinstance(upper, Tensor) or upper >= 0:
        keep = keep & ((-gap <= upper) | (upper < 0) if isinstance(upper, Tensor) else -gap <= upper)
    return select(keep, x, _filled(x.shape, 0, dtype=x.dtype))


@_named(method=True)
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """input with src along a diagonal of two dimensions.

    Args:
        input (Tensor): the input, of 2 dimensions or more and any dtype.
        src (Tensor): what to put there.
        offset (int, optional): which diagonal: 0 the main one, above it positive. Default: 0.
        dim1 (int, optional): the first of the two axes. Default: 0.
        dim2 (int, optional): the second of the two axes. Default: 1.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if the shape of `src` does not fit.

    Example:
        >>> print(ops.diagonal_scatter(ops.zeros((2, 2)), ops.ones(2)))
        [[1. 0.]
         [0. 1.]]
    """
    a, b = _axis(dim1, input.ndim), _axis(dim2, input.ndim)
    x = moveaxis(input, (a, b), (-2, -1))
    m, n = x.shape[-2:]
    wanted = diagonal(x, offset, -2, -1).shape
    if tuple(src.shape) != tuple(wanted):
        raise _check.refused("diagonal_scatter", "src", _check.value(f"have the diagonal's shape {tuple(wanted)}"),
                             src.shape)
    rows, columns = expand_dims(arange(m), 1), arange(n)
    on = columns - rows == offset
    at = minimum(maximum(rows + builtins.min(offset, 0), 0), builtins.max(src.shape[-1] - 1, 0)) + columns * 0
    wide = _ops["gather"](src, reshape(at, (-1,)), src.ndim - 1)
    wide = reshape(wide, (*src.shape[:-1], m, n))
    return moveaxis(select(on, wide, x), (-2, -1), (a, b))


__all__ = ["block_diag", "diag", "diag_embed", "diagflat", "diagonal", "diagonal_scatter", "matrix_band_part",
           "matrix_diag", "matrix_diag_part", "matrix_set_diag", "trace"]
