"""Primitives that put elements elsewhere, order, select and make them."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

import numpy as np

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.compute_dtype import in_compute_dtype
from pijit.ops import function as F
from pijit.ops.function import (
    diagonals as _diagonals, scattering as _scattering, segments as _segments, sorting as _sorting)
from pijit.ops.function.parameter import _changed
from pijit.ops.function.shapes import _format
from pijit.ops.primitive import Primitive, primitive
from pijit.ops.primitive_arguments import _ints, _ints_of

if TYPE_CHECKING:
    from typing import Any


def _number(x):
    return x.item() if isinstance(x, Tensor) else x


@primitive
def MatrixDiagV3(x, k, num_rows, num_cols, padding_value, /, align="RIGHT_LEFT"):
    """Matrices with given diagonals."""
    return F.matrix_diag(x, k, num_rows, num_cols, padding_value, align)


@primitive
def MatrixDiagPartV3(x, k, padding_value, /, align="RIGHT_LEFT"):
    """Diagonals of matrices."""
    return F.matrix_diag_part(x, k, padding_value, align)


@primitive
def MatrixSetDiagV3(x, diagonal, k, /, align="RIGHT_LEFT"):
    """Matrices with some diagonals replaced."""
    return F.matrix_set_diag(x, diagonal, k, align)


def _fill(name, fill_value, wrap):
    if not isinstance(fill_value, float):
        raise _check.refused(name, "fill_value", _check.FLOAT, fill_value)


@primitive(check=_fill)
def FillDiagonal(input_x, /, fill_value, wrap=False):
    """input_x with one value on the diagonal; wrap: again and again down a tall matrix."""
    return _diagonals.fill_diagonal(input_x, fill_value, wrap)


@primitive
def TrilIndices(row, col, offset=0, dtype=mstype.int32):
    """[2, n] places of the lower triangle."""
    return F.tril_indices(row, col, offset, dtype=dtype)


@primitive
def TriuIndices(row, col, offset=0, dtype=mstype.int32):
    """[2, n] places of the upper triangle."""
    return F.triu_indices(row, col, offset, dtype=dtype)


def _segment(name, fn):
    def __call__(self, input_x, segment_ids):
        return fn(input_x, segment_ids)
    return type(name, (Primitive,), {"__call__": __call__, "__doc__": fn.__doc__, "__module__": __name__})


SegmentProd: Any
SegmentSum: Any
SegmentSum, SegmentProd = _segment("SegmentSum", _segments.segment_sum), _segment("SegmentProd", _segments.segment_prod)
SegmentMin: Any
SegmentMax: Any
SegmentMax, SegmentMin = _segment("SegmentMax", _segments.segment_max), _segment("SegmentMin", _segments.segment_min)
SegmentMean: Any = _segment("SegmentMean", _segments.segment_mean)


def _bound(name, sorted_x, values):
    if sorted_x.ndim != 2 or values.ndim != 2 or sorted_x.shape[0] != values.shape[0]:
        raise _check.expected(name, "two matrices of as many rows", _check.several(sorted_x.shape, values.shape))


@primitive
def LowerBound(sorted_x, values, /, out_type=mstype.int32):
    """Where values [rows, n] belong in sorted rows, before what is equal."""
    _bound("LowerBound", sorted_x, values)
    return _sorting.lower_bound(sorted_x, values, out_type)


@primitive
def UpperBound(sorted_x, values, /, out_type=mstype.int32):
    """Where values [rows, n] belong in sorted rows, behind what is equal."""
    _bound("UpperBound", sorted_x, values)
    return _sorting.upper_bound(sorted_x, values, out_type)


@primitive
def NthElement(input, n, /, reverse=False):
    """The n-th least element of each row (the n-th greatest with reverse), counted from 0."""
    k, size = _number(n), input.shape[-1]
    if not 0 <= k < size:
        raise _check.refused("NthElement", "n", _check.within(0, size, "[)"), k)
    return F.sort(input, -1, reverse)[0][..., k]


@primitive
def ListDiff(x, y, /, out_idx=mstype.int32):
    """(the elements of x that aren't in y, in their order; their places in x)."""
    a = x.asnumpy()
    at = np.flatnonzero(~np.isin(a, y.asnumpy()))
    return Tensor(a[at], x.dtype), Tensor(at, out_idx)


@primitive
def RaggedRange(starts, limits, deltas, /, Tsplits):
    """(where the ranges begin and end, the ranges start, start + delta, … below limit, one behind the other)."""
    if not starts.shape == limits.shape == deltas.shape:
        raise _check.refused("RaggedRange", "starts, limits and deltas", _check.value("be of one shape"),
                             _check.several(starts.shape, limits.shape, deltas.shape))
    rows = [np.arange(a, b, d) for a, b, d in zip(*(np.atleast_1d(t.asnumpy()) for t in (starts, limits, deltas)))]
    splits = np.cumsum([0, *(len(r) for r in rows)])
    return Tensor(splits, Tsplits), Tensor(np.concatenate(rows), starts.dtype)


_PAD_MODES = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "circular": "circular"}


def _pad_mode(name, mode, contiguous):
    if mode not in _PAD_MODES:
        raise _check.refused(name, "mode", _check.one_of(*_PAD_MODES), mode)


@primitive(check=_pad_mode)
def PadV3(x, paddings, constant_value=None, /, mode="constant", paddings_contiguous=True):
    """Borders around the last dimensions, the last one first.

    (before, behind, …), or without paddings_contiguous all before, then all behind."""
    pads = _ints(paddings)
    if not paddings_contiguous:
        half = len(pads) // 2
        pads = [v for pair in zip(pads[:half], pads[half:]) for v in pair]
    if mode == "constant":
        return F.pad(x, pads, "constant", 0 if constant_value is None else _number(constant_value))
    return F.pad(x, pads, _PAD_MODES[mode])


@primitive
def IndexPut(x1, x2, indices, /, accumulate=0):
    """x1 with the values x2 at the places that the index tensors name, added there with accumulate."""
    return _scattering.index_put(x1, tuple(indices), x2, bool(accumulate))


@primitive
def InplaceUpdateV2(x, indices, v, /):
    """x with the rows `indices` replaced by v."""
    return F.inplace_update(x, v, indices)


@primitive
def MaskedScatter(x, mask, updates, /):
    """x with the elements of updates, in order, where mask is true."""
    return _scattering.masked_scatter(x, mask, updates)


@primitive
def ScatterAddWithAxis(input_x, indices, updates, /, axis=0):
    """input_x with updates added at indices along an axis."""
    return F.tensor_scatter_elements(input_x, indices, updates, axis, "add")


@primitive
def CopyWithSlice(x, y, /):
    """Gives x the values of y, in place."""
    return _changed(x, F.broadcast_to(F.cast(y, x.dtype), x.shape))


@primitive
def ParallelConcat(values, /):
    """Tensors of one row each, one below the other."""
    for k, v in enumerate(values):
        if v.ndim < 1 or v.shape[0] != 1:
            raise ValueError(f"For 'ParallelConcat', each input must have one row, but input {k} has the shape "
                             f"{tuple(v.shape)}.")
    return F.cat(list(values), 0)


@primitive
def Pack(input_x, /, axis=0):
    """Tensors joined along a new axis."""
    return F.stack(list(input_x), axis)


@primitive
def Unpack(input_x, /, axis=0, num=None):
    """The parts along an axis, without it."""
    return F.unbind(input_x, axis)


@primitive
def Expand(x, shape, /):
    """Broadcast to a shape, in which -1 keeps a dimension."""
    return F.expand(x, tuple(_ints(shape)))


@primitive
def BatchToSpaceNDV2(input_x, block_shape, crops, /):
    """Blocks of the batch moved to the plane."""
    return F.batch_to_space_nd(input_x, _ints(block_shape),
                               crops.asnumpy().tolist() if isinstance(crops, Tensor) else crops)


@primitive
def ConjugateTranspose(x, perm, /):
    """Dimensions permuted, elements conjugated."""
    y = F.transpose(x, tuple(_ints(perm)))
    return y if x.dtype.name[0] != "c" else y.conj()


@primitive
def LogSpace(start, end, /, steps=10, base=10, dtype=mstype.float32):
    """`steps` powers of base, from base ** start to base ** end."""
    return F.cast(F.logspace(start, end, steps, base), dtype)


@primitive
def EditDistance(hypothesis_indices, hypothesis_values, hypothesis_shape, truth_indices, truth_values, truth_shape, /,
                 normalize=True):
    """Levenshtein's distances of sequences given as sparse tensors, over the length of the true ones with `normalize`:
    float32 of the shape of the leading dimensions."""
    shape = np.maximum(hypothesis_shape.asnumpy(), truth_shape.asnumpy())[:-1]

    def rows(indices, values):
        found = {}
        for at, v in zip(indices.asnumpy().tolist(), values.asnumpy().tolist()):
            found.setdefault(tuple(at[:-1]), []).append(v)
        return found
    said, true = rows(hypothesis_indices, hypothesis_values), rows(truth_indices, truth_values)
    out = np.zeros(shape, np.float32)
    for at in np.ndindex(*shape):
        a, b = said.get(at, []), true.get(at, [])
        row = list(builtins.range(len(b) + 1))
        for i, x in enumerate(a, 1):
            new = [i]
            for j, y in enumerate(b, 1):
                new.append(builtins.min(row[j] + 1, new[-1] + 1, row[j - 1] + (x != y)))
            row = new
        out[at] = row[-1] if not normalize else row[-1] / len(b) if b else float("inf") if a else 0.0
    return Tensor(out)


@primitive
def Reusing(x, /):
    """x."""
    return _ops["identity"](x) if isinstance(x, Tensor) else x


@primitive
def TensorToTuple(input_x, /):
    """The numbers of a vector as a tuple."""
    if not isinstance(input_x, Tensor):
        raise _check.refused("TensorToTuple", "the input", _check.TENSOR, input_x)
    if input_x.ndim != 1:
        raise _check.refused("TensorToTuple", "the input", _check.dims(1), input_x.ndim)
    return tuple(input_x.asnumpy().tolist())


def _blocks(name, block_size, data_format="NCHW"):
    _format(name, data_format)
    if not isinstance(block_size, int) or isinstance(block_size, bool):
        raise _check.refused(name, "block_size", _check.INT, block_size)
    if block_size < 2:
        raise _check.refused(name, "block_size", _check.at_least(2), block_size)


@primitive
def Sort(x, /, axis=-1, descending=False):
    """(values in order along an axis, their indices as int32)."""
    return F.sort(x, axis, descending)


@primitive
def TopK(input_x, k, /, sorted=True):
    """(the k largest along the last axis, their indices as int32)."""
    return F.topk(input_x, k.item() if isinstance(k, Tensor) else k)


@primitive
def SearchSorted(sorted_sequence, values, /, dtype=mstype.int64, right=False):
    """Where values belong in a sorted sequence."""
    return F.reshape(F.cast(F.searchsorted(sorted_sequence, values, right=right), dtype), values.shape)


@primitive
def UniqueConsecutive(x, /, return_inverse=False, return_counts=False, dim=None):
    """(values without their immediate repetitions, each element's place among them, how often each stood).

    0 stands for what isn't asked for."""
    values, places, counts = F.unique_consecutive(x, True, True, dim)
    nothing = F.zeros((), mstype.int64)
    return (values, F.cast(places, mstype.int64) if return_inverse else nothing,
            F.cast(counts, mstype.int64) if return_counts else nothing)


@primitive
def UniqueWithPad(x, pad_num, /):
    """Distinct values, then pad_num; and the places of the elements' values."""
    return F.unique_with_pad(x, pad_num)


@primitive
def Unstack(input_x, /, axis=0, num=None):
    """The parts along an axis, without it."""
    return F.unbind(input_x, axis)


@primitive
def ReverseV2(input, /, axis):
    """Reversed along axes."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    for a in axes:
        if not -input.ndim <= a < input.ndim:
            raise _check.refused("ReverseV2", "axis", _check.within(-input.ndim, input.ndim, "[)"), a)
    return F.flip(input, axes)


@primitive
def ReverseSequence(x, seq_lengths, /, seq_dim, batch_dim=0):
    """The first seq_lengths[b] elements along seq_dim in reverse order, for each b along batch_dim."""
    return F.reverse_sequence(x, seq_lengths, seq_dim, batch_dim)


@primitive(check=_blocks)
def DepthToSpace(x, /, block_size, data_format="NCHW"):
    """Blocks of depth become blocks of the plane."""
    return F.depth_to_space(x, block_size)


@primitive(check=_blocks)
def SpaceToDepth(x, /, block_size, data_format="NCHW"):
    """Blocks of the plane become depth."""
    return F.space_to_depth(x, block_size)


@primitive
def BatchToSpace(input_x, /, block_size, crops):
    """Blocks of the batch moved to the plane."""
    return F.batch_to_space_nd(input_x, block_size, crops)


@primitive
def SpaceToBatch(input_x, /, block_size, paddings):
    """Blocks of the plane moved to the batch."""
    return F.space_to_batch_nd(input_x, block_size, paddings)


@primitive
def BatchToSpaceND(input_x, /, block_shape, crops):
    """Blocks of the batch moved to the plane."""
    return F.batch_to_space_nd(input_x, block_shape, crops)


@primitive
def SpaceToBatchND(input_x, /, block_shape, paddings):
    """Blocks of the plane moved to the batch."""
    return F.space_to_batch_nd(input_x, block_shape, paddings)


@primitive
def Roll(input_x, /, shift, axis):
    """Elements shifted along axes, what leaves at the end coming in at the start."""
    return F.roll(input_x, shift, axis)


@primitive
def Meshgrid(inputs, /, indexing="xy"):
    """Grids of coordinates."""
    return F.meshgrid(*inputs, indexing=indexing)


@primitive
def SplitV(input_x, /, size_splits, split_dim, num_split):
    """Pieces of given sizes along an axis."""
    return F.split_by_sizes(input_x, list(size_splits), split_dim)


@primitive
def Tril(x, /, diagonal=0):
    """The lower triangle."""
    return F.tril(x, diagonal)


@primitive
def Triu(x, /, diagonal=0):
    """The upper triangle."""
    return F.triu(x, diagonal)


@primitive
def MatrixBandPart(x, lower, upper, /):
    """Some diagonals of matrices, zeros elsewhere."""
    return F.matrix_band_part(x, lower, upper)


@primitive
def Diag(input_x, /):
    """A matrix with a vector on its diagonal."""
    return F.diag(input_x)


@primitive
def DiagPart(input_x, /):
    """The diagonal of a matrix."""
    return _ops["identity"](F.diagonal(input_x))


@primitive
def MirrorPad(input_x, paddings, /, mode="REFLECT"):
    """A border of mirrored elements."""
    return F.mirror_pad(input_x, paddings, mode)


@primitive
def Padding(x, /, pad_dim_size=8):
    """The last dimension extended by zeros."""
    return F.padding(x, pad_dim_size)


@primitive
def IndexAdd(x, indices, y, /, axis, use_lock=True, check_index_bound=True):
    """A Parameter with y added at indices of one axis, in place."""
    return _changed(x, F.index_add(x, indices, y, axis))


@primitive
def IndexFill(x, dim, index, value, /):
    """value at the indices of one axis."""
    return F.index_fill(x, dim, index, value)


@primitive
def MaskedSelect(x, mask, /):
    """The elements where mask is true."""
    return F.masked_select(x, mask)


@primitive
def NonZero(x, /):
    """Indices of the elements that aren't 0."""
    return F.nonzero(x)


@primitive
def UnravelIndex(indices, dims, /):
    """Coordinates of flat indices."""
    return F.unravel_index(indices, dims)


@primitive
def InvertPermutation(input_x, /):
    """The permutation that takes one back."""
    return F.invert_permutation(input_x)


@primitive
def IdentityN(x, /):
    """Its inputs."""
    return tuple([_ops["identity"](t) for t in x])


@primitive
def TensorScatterElements(data, indices, updates, /, axis=0, reduction="none"):
    """updates at the indices along an axis."""
    return F.tensor_scatter_elements(data, indices, updates, axis, reduction)


@primitive
def Eye(n, m, t, /):
    """Ones on the diagonal."""
    return F.eye(n, m, t)


@primitive
def LinSpace(start, stop, num, /):
    """`num` values from start to stop, both included."""
    return F.linspace(start, stop, num)


@primitive
def FillV2(shape, value, /):
    """A tensor of a shape filled with one value."""
    return _ops["broadcast_to"](in_compute_dtype(value), tuple(_ints_of(shape)))


@primitive
def Fills(x, value, /):
    """One value in x's shape and dtype."""
    return F.fills(x, value)


@primitive
def TupleToArray(input_x, /):
    """A tensor of a tuple of numbers."""
    return F.tuple_to_array(input_x)


@primitive
def ScalarToArray(input_x, /):
    """A 0-d tensor of a number."""
    return F.scalar_to_array(input_x)


@primitive
def ScalarToTensor(input_x, dtype=mstype.float32, /):
    """A 0-d tensor of a number."""
    return F.scalar_to_tensor(input_x, dtype)


@primitive
def ScalarCast(input_x, input_y, /):
    """A number as another Python type."""
    return F.scalar_cast(input_x, input_y)


__all__ = [n for n, v in globals().items() if isinstance(v, type) and v.__module__ == __name__]
