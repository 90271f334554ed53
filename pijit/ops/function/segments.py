"""Reductions of the rows that belong together, and what finds places in sorted rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit import dtype as mstype
from pijit._C import Tensor, ops as _ops
from pijit.ops.function.creation import ones
from pijit.ops.function.elementwise import cast, div
from pijit.ops.function.indexing import (searchsorted, unsorted_segment_max, unsorted_segment_min,
                                         unsorted_segment_prod, unsorted_segment_sum)
from pijit.ops.function.shapes import reshape

if TYPE_CHECKING:
    from typing import Any


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


def _no_rows(x, ids, empty, result):
    """The result, with `empty` in the segments without a row."""
    missing = sorted(set(range(ids[-1] + 1)) - set(ids)) if ids else []
    if missing:
        result = _ops["scatter_nd"](result, Tensor([[k] for k in missing], mstype.int64),
                                    _ops["broadcast_to"](Tensor(empty, x.dtype), (len(missing), *x.shape[1:])),
                                    "update")
    return result


def segment_sum(x: Tensor, segment_ids: Tensor) -> Tensor:
    """Sums of the rows of x [n, ...] with the same id; segment_ids [n] are sorted. Zeros where an id has no row."""
    ids = _sorted_ids("SegmentSum", x, segment_ids)
    return unsorted_segment_sum(x, segment_ids, ids[-1] + 1 if ids else 0)


def segment_prod(x: Tensor, segment_ids: Tensor) -> Tensor:
    """Products of the rows of x with the same id. Ones where an id has no row."""
    ids = _sorted_ids("SegmentProd", x, segment_ids)
    return unsorted_segment_prod(x, segment_ids, ids[-1] + 1 if ids else 0)


def segment_max(x: Tensor, segment_ids: Tensor) -> Tensor:
    """Maxima of the rows of x with the same id. Zeros where an id has no row."""
    ids = _sorted_ids("SegmentMax", x, segment_ids)
    return _no_rows(x, ids, 0, unsorted_segment_max(x, segment_ids, ids[-1] + 1 if ids else 0))


def segment_min(x: Tensor, segment_ids: Tensor) -> Tensor:
    """Minima of the rows of x with the same id. Zeros where an id has no row."""
    ids = _sorted_ids("SegmentMin", x, segment_ids)
    return _no_rows(x, ids, 0, unsorted_segment_min(x, segment_ids, ids[-1] + 1 if ids else 0))


def segment_mean(x: Tensor, segment_ids: Tensor) -> Tensor:
    """Means of the rows of x with the same id. Zeros where an id has no row."""
    ids = _sorted_ids("SegmentMean", x, segment_ids)
    return _means(x, segment_ids, ids[-1] + 1 if ids else 0)


def _means(x, segment_ids, count):
    total = unsorted_segment_sum(x, segment_ids, count)
    rows = unsorted_segment_sum(ones((x.shape[0],), mstype.int32), segment_ids, count)
    rows = reshape(cast(_ops["maximum"](rows, 1), x.dtype), (-1,) + (1,) * (x.ndim - 1))
    return _ops["div"](total, rows) if x.dtype.is_floating_point else div(total, rows, rounding_mode="trunc")


def sparse_segment_mean(x: Tensor, indices: Tensor, segment_ids: Tensor) -> Tensor:
    """Means of the rows x[indices] with the same id.

    x: [rows, ...] of a floating dtype; indices, segment_ids: [n] int32 or int64, segment_ids sorted. Returns [last id +
        1, ...]. Raises TypeError or ValueError for other dtypes and shapes.

    Example:
        >>> print(ops.sparse_segment_mean(Tensor([[1.0], [3.0]]), Tensor([0, 1], ms.int32), Tensor([0, 0], ms.int32)))
        [[2.]]
    """
    for name, t in (("x", x), ("indices", indices), ("segment_ids", segment_ids)):
        if not isinstance(t, Tensor):
            raise _check.refused("sparse_segment_mean", name, _check.TENSOR, t)
    if indices.dtype != segment_ids.dtype:
        raise _check.differ("sparse_segment_mean", ("indices", "segment_ids"), "dtype", indices.dtype,
                            segment_ids.dtype)
    if indices.ndim != 1 or indices.shape != segment_ids.shape:
        raise _check.differ("sparse_segment_mean", ("indices", "segment_ids"), "length", indices.shape,
                            segment_ids.shape)
    rows = _ops["gather"](x, indices, 0)
    ids = _sorted_ids("sparse_segment_mean", rows, segment_ids)
    return _means(rows, segment_ids, ids[-1] + 1 if ids else 0)


def lower_bound(sorted_x: Any, values: Tensor, out_type: Any) -> Tensor:
    """Where the values belong in the sorted rows: before what is equal."""
    return cast(searchsorted(sorted_x, values), out_type)


def upper_bound(sorted_x: Any, values: Tensor, out_type: Any) -> Tensor:
    """Where the values belong in the sorted rows: behind what is equal."""
    return cast(searchsorted(sorted_x, values, right=True), out_type)


__all__ = ["sparse_segment_mean"]
