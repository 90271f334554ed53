"""Reductions of the rows that belong together."""

from __future__ import annotations

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.ops.function.creation import _filled, ones
from pijit.ops.function.elementwise import cast, div, isfinite, logical_and, stop_gradient
from pijit.ops.function.shapes import reshape
from pijit.ops.function.sorting import _sorted_ids
from pijit.ops.table import named as _named


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
    y = _ops["scatter_nd"](_filled((num_segments + 1, *rest), start, dtype=x.dtype), reshape(ids, (-1, 1)), flat,
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


__all__ = ["sparse_segment_mean", "unsorted_segment_max", "unsorted_segment_min", "unsorted_segment_prod",
           "unsorted_segment_sum"]
