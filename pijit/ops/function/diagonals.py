"""Bands of matrices: several diagonals at once, packed in rows.

A band from diagonal `low` to `high` (0 is the main one, positive ones lie above) of matrices of m rows and n columns is
packed as [..., high - low + 1, length]: the highest diagonal first, each as long as the longest. What a shorter one
leaves is at its left or right, as `align` says for the diagonals above ("RIGHT_…": pushed to the right) and below the
main one ("…_LEFT")."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from pijit import _check
from pijit._C import Tensor, ops as _ops
from pijit.ops.function.creation import arange
from pijit.ops.function.elementwise import maximum, minimum
from pijit.ops.function.shapes import expand_dims, reshape

if TYPE_CHECKING:
    from typing import Any

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
    """x [..., m, n] with its diagonals `k` (one, or from the lowest to the highest) replaced by `diagonal`, packed as
    `align` says.

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


__all__ = ["matrix_diag", "matrix_diag_part", "matrix_set_diag"]
