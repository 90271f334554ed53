"""Tensors joined, repeated and taken apart."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor, views as _views
from pijit.compute_dtype import gives_compute_dtype, in_compute_dtype, one_operator
from pijit.ops.function.elementwise import _like, _need_tensor
from pijit.ops.function.shapes import (_axis, expand_dims, _ints, narrow, ravel, reshape, _same_dtype, squeeze,
                                        swapaxes, _within)
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit._types import Axis, Shape, Size


def meshgrid(*inputs: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Coordinate matrices from vectors.

    Args:
        *inputs (Tensor): the vectors, of 0 or 1 dimensions and any dtype.
        indexing (str, optional): 'xy' (rows and columns exchanged) or 'ij'. Default: 'xy'.

    Returns:
        tuple of Tensors. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> for part in ops.meshgrid(Tensor([1, 2]), Tensor([3, 4])):
        ...     print(part)
        [[1 2]
         [1 2]]
        [[3 3]
         [4 4]]
    """
    if indexing not in ("xy", "ij"):
        raise _check.refused("meshgrid", "indexing", _check.one_of("xy", "ij"), indexing)
    xs = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)) else inputs
    shape = [x.size for x in xs]
    out = []
    for i, x in enumerate(xs):
        s = [1] * len(xs)
        s[i] = -1
        g = _views["broadcast_to"](_views["reshape"](x, tuple(s)), tuple(shape))
        out.append(swapaxes(g, 0, 1) if indexing == "xy" and len(xs) > 1 else g)
    return tuple(out)


def atleast_1d(inputs: Tensor | Sequence[Tensor]) -> Any:
    """At least one dimension.

    Args:
        inputs (Tensor, or a list or tuple of them): what gets dimensions.

    Returns:
        Tensor, or a list of them. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `inputs` is not a Tensor.

    Example:
        >>> print(ops.atleast_1d(Tensor(3)))
        [3]
    """
    return _each("atleast_1d", inputs, lambda x: reshape(x, (1,)) if x.ndim == 0 else x)


def atleast_2d(inputs: Tensor | Sequence[Tensor]) -> Any:
    """At least two dimensions, new ones in front.

    Args:
        inputs (Tensor, or a list or tuple of them): what gets dimensions.

    Returns:
        Tensor, or a list of them. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `inputs` is not a Tensor.

    Example:
        >>> print(ops.atleast_2d(Tensor(3)))
        [[3]]
    """
    return _each("atleast_2d", inputs, lambda x: reshape(x, (1,) * (2 - x.ndim) + tuple(x.shape)) if x.ndim < 2 else x)


def atleast_3d(inputs: Tensor | Sequence[Tensor]) -> Any:
    """At least three dimensions: [n] becomes [1, n, 1], [m, n] [m, n, 1].

    Args:
        inputs (Tensor, or a list or tuple of them): what gets dimensions.

    Returns:
        Tensor, or a list of them. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `inputs` is not a Tensor.

    Example:
        >>> ops.atleast_3d(Tensor([1, 2])).shape
        (1, 2, 1)
    """
    def widen(x):
        if x.ndim >= 3:
            return x
        return reshape(x, {0: (1, 1, 1), 1: (1, *x.shape, 1), 2: (*x.shape, 1)}[x.ndim])
    return _each("atleast_3d", inputs, widen)


def _each(name, inputs, f):
    if isinstance(inputs, (tuple, list)):
        return _like(inputs, [_each(name, x, f) for x in inputs])
    _need_tensor(name, "inputs", inputs)
    return f(inputs)


@_named(mint=True)
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along axis 1, vectors along axis 0.

    Args:
        tensors (sequence of Tensor): what to join.

    Returns:
        Tensor.

    Example:
        >>> print(ops.hstack((Tensor([1, 2]), Tensor([3]))))
        [1 2 3]
    """
    parts = [atleast_1d(x) for x in tensors]
    return cat(parts, 0 if parts[0].ndim == 1 else 1)


def vstack(inputs: Sequence[Tensor]) -> Tensor:
    """Joined along axis 0, vectors as rows.

    Args:
        inputs (sequence of Tensor): what to join.

    Returns:
        Tensor.

    Example:
        >>> print(ops.vstack((Tensor([1, 2]), Tensor([3, 4]))))
        [[1 2]
         [3 4]]
    """
    return cat([atleast_2d(x) for x in inputs], 0)


def row_stack(tensors: Sequence[Tensor]) -> Tensor:
    """As vstack.

    Args:
        tensors (sequence of Tensor): what to join.

    Returns:
        Tensor.

    Example:
        >>> print(ops.row_stack((Tensor([1, 2]), Tensor([3, 4]))))
        [[1 2]
         [3 4]]
    """
    return vstack(tensors)


@_named(mint=True)
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along axis 2.

    Args:
        tensors (sequence of Tensor): what to join.

    Returns:
        Tensor.

    Example:
        >>> print(ops.dstack((Tensor([1, 2]), Tensor([3, 4]))))
        [[[1 3]
          [2 4]]]
    """
    return cat([atleast_3d(x) for x in tensors], 2)


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along axis 1, vectors as columns.

    Args:
        tensors (sequence of Tensor): what to join.

    Returns:
        Tensor.

    Example:
        >>> print(ops.column_stack((Tensor([1, 2]), Tensor([3, 4]))))
        [[1 3]
         [2 4]]
    """
    return cat([reshape(x, (-1, 1)) if x.ndim < 2 else x for x in tensors], 1)


def repeat_elements(x: Tensor, rep: int, axis: int = 0) -> Tensor:
    """Each element of an axis repeated.

    Args:
        x (Tensor): the input, of 1 dimension or more and any dtype.
        rep (int): how often.
        axis (int, optional): the axis; -1 is the last one. Default: 0.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.repeat_elements(Tensor([1, 2]), 2))
        [1 1 2 2]
    """
    return repeat_interleave(x, rep, axis)


def cartesian_prod(*inputs: Tensor) -> Tensor:
    """All combinations of the elements of 1-d tensors, a row each.

    Args:
        *inputs (Tensor): the vectors, of 1 dimension and any dtype.

    Returns:
        Tensor [n, number of inputs]. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.cartesian_prod(Tensor([1, 2]), Tensor([3, 4])))
        [[1 3]
         [1 4]
         [2 3]
         [2 4]]
    """
    if len(inputs) == 1:
        return inputs[0]
    return stack([reshape(g, (-1,)) for g in meshgrid(*inputs, indexing="ij")], 1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All r-element selections of a 1-d tensor, a row each, in the order of itertools.

    Args:
        input (Tensor): the input, of 1 dimension and any dtype.
        r (int, optional): the size of a selection. Default: 2.
        with_replacement (bool, optional): whether one element may come again. Default: False.

    Returns:
        Tensor [n, r]. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.combinations(Tensor([1, 2, 3])))
        [[1 2]
         [1 3]
         [2 3]]
    """
    import itertools
    if input.ndim != 1:
        raise _check.refused("combinations", "the input", _check.dims(1), input.ndim)
    if r < 0:
        raise _check.refused("combinations", "r", _check.at_least(0), r)
    pick = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = [list(c) for c in pick(builtins.range(input.shape[0]), r)]
    if not rows or r == 0:
        return _ops["reshape"](narrow(input, 0, 0, 0), (0, r) if r else (0,))
    return _ops["gather"](input, Tensor(rows, mstype.int64), 0)


def split_by_sizes(x: Tensor, sizes: Shape, axis: int) -> tuple[Tensor, ...]:
    """Pieces of the given sizes along an axis; one of them may be -1, for what is left.

    Args:
        x (Tensor): the input, of 1 dimension or more and any dtype.
        sizes (tuple of int): the size of each piece.
        axis (int): the axis; -1 is the last one.

    Returns:
        tuple of Tensors. Bool, ints, floats and complex keep their dtype.

    Raises:
        IndexError: if `axis` is out of range.

    Example:
        >>> for part in ops.function.split_by_sizes(Tensor([1, 2, 3]), (1, -1), 0):
        ...     print(part)
        [1]
        [2 3]
    """
    n = x.shape[axis]
    if builtins.any(s == -1 for s in sizes):
        rest = n - builtins.sum([s for s in sizes if s != -1])
        sizes = [rest if s == -1 else s for s in sizes]
    if builtins.sum(sizes) != n or builtins.min(sizes) < 0:
        raise _check.refused("SplitV", "size_splits", _check.value(f"add up to {n}"), sizes)
    out, at = [], 0
    for s in sizes:
        out.append(narrow(x, axis, at, s))
        at += s
    return tuple(out)


def cat(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Joined along an existing axis.

    Args:
        tensors (sequence of Tensor): what to join.
        axis (int, optional): the axis; -1 is the last one. Default: 0.

    Returns:
        Tensor.

    Example:
        >>> print(ops.cat((Tensor([1, 2]), Tensor([3]))))
        [1 2 3]
    """
    return _ops["concat"](tensors, axis)


concat = cat


def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Joined along a new axis. A single Tensor is a sequence of one.

    Args:
        tensors (sequence of Tensor): what to join.
        axis (int, optional): the axis; -1 is the last one. Default: 0.

    Returns:
        Tensor of one more dimension.

    Example:
        >>> print(ops.stack((Tensor([1, 2]), Tensor([3, 4]))))
        [[1 2]
         [3 4]]
    """
    if isinstance(tensors, Tensor):
        tensors = (tensors,)
    if len(tensors) == 0:
        raise _check.empty("stack", "tensors")
    for x in tensors:
        if x.dtype != tensors[0].dtype:
            _same_dtype("stack", **{"the first tensor": tensors[0], "a further one": x})
    return _ops["concat"]([expand_dims(x, axis) for x in tensors], axis)


def split(tensor: Tensor, split_size_or_sections: Size | None = None, axis: int = 0, *,
          output_num: int | None = None) -> tuple[Tensor, ...]:
    """Pieces of split_size along `axis` (the last may be smaller), or of the sizes listed.

    Args:
        tensor (Tensor): the input, of 1 dimension or more and any dtype.
        split_size_or_sections (int or sequence of int): the size of pieces.
        axis (int, optional): the axis; -1 is the last one. Default: 0.
        output_num (int, optional): how many equal pieces, as in MindSpore 1.x, in place of their size. Default: None.

    Returns:
        tuple of Tensors. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if neither the size nor the number of pieces is given.
        ValueError: if `axis` is out of range, or the axis is not a multiple of output_num, or `split_size_or_sections`
            is not greater than 0.

    Example:
        >>> for part in ops.split(Tensor([1, 2, 3]), 2):
        ...     print(part)
        [1 2]
        [3]
    """
    _within("split", axis, tensor.ndim)
    n = tensor.shape[axis]
    if output_num is not None:
        if output_num <= 0 or n % output_num:
            raise _check.refused("split", "output_num", _check.value(f"divide the size {n} of axis {axis}"), output_num)
        split_size_or_sections = n // output_num
    elif split_size_or_sections is None:
        raise TypeError("split() missing 1 required positional argument: 'split_size_or_sections'")
    if isinstance(split_size_or_sections, int):
        k = split_size_or_sections
        if k <= 0:
            raise _check.refused("split", "split_size_or_sections", _check.above(0), k)
        sizes = [builtins.min(k, n - i) for i in builtins.range(0, n, k)]
    else:
        tensor, sizes = in_compute_dtype(tensor), list(split_size_or_sections)
        if builtins.sum(sizes) != n:
            raise _check.refused("split", "the sections", _check.value(f"add up to {n}, the size of axis {axis}"),
                                 sizes)
    out = []
    at = 0
    for k in sizes:
        out.append(narrow(tensor, axis, at, k))
        at += k
    return tuple(out)


def chunk(input: Tensor, chunks: int, axis: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces along `axis`. ValueError for less than one, or another axis than there is.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        chunks (int): how many pieces.
        axis (int, optional): the axis; -1 is the last one. Default: 0.

    Returns:
        tuple of Tensors. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if `axis` is out of range, or `chunks` is not greater than 0.

    Example:
        >>> for part in ops.chunk(Tensor([1, 2, 3]), 2):
        ...     print(part)
        [1 2]
        [3]
    """
    _within("chunk", axis, input.ndim)
    if chunks <= 0:
        raise _check.refused("chunk", "chunks", _check.above(0), chunks)
    n = input.shape[axis]
    return split(input, -(-n // chunks), axis) if n else tuple([input for _ in builtins.range(chunks)])


@_named(method=True)
@gives_compute_dtype
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along one axis.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        dim (int, optional): the axis; -1 is the last one. Default: 0.

    Returns:
        tuple of Tensors. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if `dim` is out of range.

    Example:
        >>> for part in ops.unbind(Tensor([[1, 2], [3, 4]])):
        ...     print(part)
        [1 2]
        [3 4]
    """
    _within("unbind", dim, input.ndim)
    return tuple([squeeze(narrow(input, dim, i, 1), dim) for i in builtins.range(input.shape[dim])])


def unstack(input_x: Tensor, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along one axis.

    Args:
        input_x (Tensor): the input, of 1 dimension or more and any dtype.
        axis (int, optional): the axis; -1 is the last one. Default: 0.

    Returns:
        tuple of Tensors. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> for part in ops.unstack(Tensor([[1, 2], [3, 4]])):
        ...     print(part)
        [1 2]
        [3 4]
    """
    return unbind(input_x, axis)


@_named(method=True)
def tensor_split(input: Tensor, indices_or_sections: Size, axis: Axis = 0) -> tuple[Tensor, ...]:
    """Pieces along `axis`: that many, the first ones longer by 1 where the size does not divide, or between indices.

    Raises ValueError for less than one piece and TypeError for other kinds.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        indices_or_sections (int or sequence of int): how many pieces, or where to cut.

    Returns:
        tuple of Tensors. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> for part in ops.tensor_split(Tensor([1, 2, 3]), 2):
        ...     print(part)
        [1 2]
        [3]
    """
    _within("tensor_split", axis, input.ndim)
    n = input.shape[axis]
    if isinstance(indices_or_sections, int) and not isinstance(indices_or_sections, bool):
        k = indices_or_sections
        if k <= 0:
            raise _check.refused("tensor_split", "indices_or_sections", _check.above(0), k)
        if k > builtins.max(n, 1 << 20):
            raise _check.refused("tensor_split", "indices_or_sections", _check.at_most(builtins.max(n, 1 << 20)), k)
        ends = [(i + 1) * (n // k) + builtins.min(i + 1, n % k) for i in builtins.range(k)]
    elif isinstance(indices_or_sections, (tuple, list)):
        ends = [*indices_or_sections, n]
    else:
        raise _check.refused("tensor_split", "indices_or_sections", _check.type_("an int, a tuple or a list"),
                             indices_or_sections)
    axis = _axis(axis, len(input.shape))
    out, begin = [], 0
    for end in ends:
        out.append(input[(builtins.slice(None),) * axis + (builtins.slice(begin, end),)]._view())
        begin = end
    return tuple(out)


@_named(method=True)
def hsplit(input: Tensor, indices_or_sections: Size) -> tuple[Tensor, ...]:
    """tensor_split along the second axis.

    Args:
        input (Tensor): the input, of 2 dimensions or more and any dtype.
        indices_or_sections (int or sequence of int): how many pieces, or where to cut.

    Returns:
        tuple of Tensors. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> for part in ops.hsplit(Tensor([[1, 2]]), 2):
        ...     print(part)
        [[1]]
        [[2]]
    """
    return _split_along("hsplit", input, indices_or_sections, 1)


@_named(method=True)
def vsplit(input: Tensor, indices_or_sections: Size) -> tuple[Tensor, ...]:
    """tensor_split along the first axis.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        indices_or_sections (int or sequence of int): how many pieces, or where to cut.

    Returns:
        tuple of Tensors. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> for part in ops.vsplit(Tensor([[1], [2]]), 2):
        ...     print(part)
        [[1]]
        [[2]]
    """
    return _split_along("vsplit", input, indices_or_sections, 0)


@_named(method=True)
def dsplit(input: Tensor, indices_or_sections: Size) -> tuple[Tensor, ...]:
    """tensor_split along the third axis.

    Args:
        input (Tensor): the input, of 3 dimensions or more and any dtype.
        indices_or_sections (int or sequence of int): how many pieces, or where to cut.

    Returns:
        tuple of Tensors. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> for part in ops.dsplit(Tensor([[[1, 2]]]), 2):
        ...     print(part)
        [[[1]]]
        [[[2]]]
    """
    return _split_along("dsplit", input, indices_or_sections, 2)


def _split_along(name, input, indices_or_sections, axis):
    if len(input.shape) <= axis:
        raise _check.expected(name, f"a tensor of at least {axis + 1} dimensions", len(input.shape))
    return tensor_split(input, indices_or_sections, axis)


@_named(primitive="Tile")
@one_operator
def tile(input: Tensor, dims: Shape) -> Tensor:
    """Repeated dims[i] times along axis i.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        dims (tuple of int): the axes.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.tile(Tensor([1, 2]), (2,)))
        [1 2 1 2]
    """
    reps = list(_ints(dims))
    s = list(input.shape)
    while len(reps) < len(s):
        reps.insert(0, 1)
    while len(s) < len(reps):
        s.insert(0, 1)
    inner, wide = [], []
    for r, d in zip(reps, s):
        inner += [1, d]
        wide += [r, d]
    x = _ops["broadcast_to"](_ops["reshape"](input, tuple(inner)), tuple(wide)) if len(wide) <= 8 else None
    if x is None:
        x = _ops["reshape"](input, tuple(s))
        for a, r in enumerate(reps):
            if r != 1:
                x = _ops["concat"]([x] * r, a)
        return x
    return _ops["reshape"](x, tuple([r * d for r, d in zip(reps, s)]))


@one_operator
def repeat_interleave(input: Tensor, repeats: Tensor | Size, axis: Axis | None = None) -> Tensor:
    """Each element repeated in place: so many times, or as often as a list or Tensor says for each of the axis.

    Raises ValueError for negative numbers, and where `repeats` and the axis differ in size.

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.repeat_interleave(Tensor([1, 2]), 2))
        [1 1 2 2]
    """
    if axis is None:
        input, axis = ravel(input), 0
    s = input.shape
    _within("repeat_interleave", axis, len(s))
    a = _axis(axis, len(s))
    if not isinstance(repeats, int):
        counts = [int(k) for k in (repeats.asnumpy().ravel() if isinstance(repeats, Tensor) else repeats)]
        if len(counts) == 1:
            repeats = counts[0]
        else:
            if len(counts) != s[a] or builtins.min(counts) < 0:
                raise _check.refused("repeat_interleave", "repeats",
                                     _check.value(f"hold {s[a]} numbers >= 0, one for each element of axis {axis}"),
                                     counts)
            at = [k for k in builtins.range(s[a]) for _ in builtins.range(counts[k])]
            return _ops["gather"](input, Tensor(at, mstype.int64), a)
    if repeats < 0:
        raise _check.refused("repeat_interleave", "repeats", _check.at_least(0), repeats)
    x = _ops["broadcast_to"](expand_dims(input, a + 1), s[:a + 1] + (repeats,) + s[a + 1:])
    return _ops["reshape"](x, s[:a] + (s[a] * repeats,) + s[a + 1:])


def chunk_ext(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """As chunk.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        chunks (int): how many pieces.
        dim (int, optional): the axis; -1 is the last one. Default: 0.

    Returns:
        tuple of Tensors. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if `dim` is out of range.

    Example:
        >>> for part in ops.chunk_ext(Tensor([1, 2, 3]), 2):
        ...     print(part)
        [1 2]
        [3]
    """
    return chunk(input, chunks, dim)
