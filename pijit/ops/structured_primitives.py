"""Primitives that put elements elsewhere, reduce rows that belong together, compare, count, or hand values through."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit.compute_dtype import one_operator
from pijit import dtype as mstype
from pijit._C import Tensor, ops as _ops
from pijit.ops import function as F
from pijit.ops.function import (diagonals as _diagonals, scattering as _scattering, segments as _segments,
                                sorting as _sorting, special as _special)
from pijit.ops.function.creation import _filled
from pijit.ops.function.elementwise import _need_tensor
from pijit.ops.function.parameter import _changed
from pijit.ops.primitive import Primitive, primitive

if TYPE_CHECKING:
    from typing import Any


def _number(x):
    return x.item() if isinstance(x, Tensor) else x


def _ints(x):
    return x.asnumpy().ravel().tolist() if isinstance(x, Tensor) else list(x) if isinstance(x, (tuple, list)) else [x]


# --- diagonals ---

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
def TridiagonalMatMul(superdiag, maindiag, subdiag, rhs, /):
    """The product of tridiagonal matrices, given by their diagonals [..., 1, n], with rhs [..., n, m]; the
    superdiagonal's last and the subdiagonal's first element don't count."""
    n = rhs.shape[-2]
    up, main, down = (F.reshape(d, (*d.shape[:-2], n, 1)) for d in (superdiag, maindiag, subdiag))
    zero = rhs[..., :1, :] * 0
    above = F.cat([rhs[..., 1:, :], zero], -2)
    below = F.cat([zero, rhs[..., :-1, :]], -2)
    return up * above + main * rhs + down * below


@primitive
def TrilIndices(row, col, offset=0, dtype=mstype.int32):
    """[2, n] places of the lower triangle."""
    return F.tril_indices(row, col, offset, dtype=dtype)


@primitive
def TriuIndices(row, col, offset=0, dtype=mstype.int32):
    """[2, n] places of the upper triangle."""
    return F.triu_indices(row, col, offset, dtype=dtype)


# --- segments and order ---

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
def Median(input_x, /, global_median=False, axis=0, keep_dims=False, ignore_nan=False):
    """(medians along an axis, the lower of two, and their indices); the median of all elements, and 0, with
    global_median."""
    if global_median:
        flat = F.reshape(input_x, (-1,))
        values, _ = F.nanmedian(flat, 0) if ignore_nan else F.median(flat, 0)
        return values, F.zeros((), mstype.int64)
    return F.nanmedian(input_x, axis, keep_dims) if ignore_nan else F.median(input_x, axis, keep_dims)


@primitive
def Quantile(input, q, /, dim=None, keep_dims=False, ignore_nan=False):
    """Quantiles along a dimension."""
    return (F.nanquantile if ignore_nan else F.quantile)(input, q, dim, keep_dims)


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


# --- places ---

_PAD_MODES = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "circular": "circular"}


def _pad_mode(name, mode, contiguous):
    if mode not in _PAD_MODES:
        raise _check.refused(name, "mode", _check.one_of(*_PAD_MODES), mode)


@primitive(check=_pad_mode)
def PadV3(x, paddings, constant_value=None, /, mode="constant", paddings_contiguous=True):
    """Borders around the last dimensions, the last one first: (before, behind, …), or without paddings_contiguous all
    before, then all behind."""
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


def _formats(name, src_format, dst_format):
    for f in (src_format, dst_format):
        if f not in ("NHWC", "NCHW"):
            raise _check.refused(name, "the formats", _check.one_of("NHWC", "NCHW"), f)


@primitive(check=_formats)
def DataFormatDimMap(input_x, /, src_format="NHWC", dst_format="NCHW"):
    """Numbers of dimensions in one format as those in another."""
    places = Tensor([src_format.index(c) for c in dst_format], input_x.dtype)
    return _ops["gather"](places, input_x % 4, 0)


@primitive(check=_formats)
def DataFormatVecPermute(input_x, /, src_format="NHWC", dst_format="NCHW"):
    """[4] or [4, 2] numbers, one per dimension of a format, in the order of another."""
    if tuple(input_x.shape) not in ((4,), (4, 2)):
        raise _check.refused("DataFormatVecPermute", "the input", _check.shape("(4,) or (4, 2)"), input_x.shape)
    return _ops["gather"](input_x, Tensor([src_format.index(c) for c in dst_format], mstype.int64), 0)


@primitive
def NoRepeatNGram(state_seq, log_probs, /, ngram_size=1):
    """log_probs [batch, beam, vocabulary] with the least value for words that would repeat n words of state_seq [batch,
    beam, length]."""
    words = state_seq.asnumpy()
    if not 0 < ngram_size <= words.shape[-1]:
        raise _check.refused("NoRepeatNGram", "ngram_size", _check.within(1, words.shape[-1]), ngram_size)
    barred = np.zeros(log_probs.shape, bool)
    for at in np.ndindex(words.shape[:-1]):
        row = words[at]
        last = row[len(row) - ngram_size + 1:]
        for k in builtins.range(len(row) - ngram_size + 1):
            if (row[k:k + ngram_size - 1] == last).all():
                barred[(*at, row[k + ngram_size - 1])] = True
    return F.select(Tensor(barred), _filled(log_probs.shape, mstype.finite_range(log_probs.dtype)[0],
                                           dtype=log_probs.dtype), log_probs)


# --- arithmetic, comparison, counts ---

@primitive
def NextAfter(x1, x2, /):
    """The next number from x1 in the direction of x2."""
    return F.nextafter(x1, x2)


@primitive
def Betainc(a, b, x, /):
    """The regularised incomplete beta function at x in [0, 1]; it has a gradient by x."""
    return _special.betainc(a, b, x)


@primitive
def Eps(x, /):
    """The distance from 1 to the next number of x's dtype, in x's shape."""
    return F.eps(x)


@primitive
def LerpScalar(input, end, weight, /):
    """input + weight * (end - input) for a number `weight`."""
    return F.lerp(input, end, weight)


@primitive
def LogSoftmaxExt(input, dim=None, dtype=None, /):
    """log(softmax(input)) along a dimension."""
    x = input if dtype is None else F.cast(input, dtype)
    return F.log_softmax(x, (0 if x.ndim in (0, 1, 3) else 1) if dim is None else dim)


@primitive
def LogSpace(start, end, /, steps=10, base=10, dtype=mstype.float32):
    """`steps` powers of base, from base ** start to base ** end."""
    return F.cast(F.logspace(start, end, steps, base), dtype)


def _window(name, fn):
    def __init__(self, periodic=True, dtype=mstype.float32):
        Primitive.__init__(self)
        self.periodic, self.dtype = periodic, dtype

    def __call__(self, window_length):
        return fn(_ints(window_length)[0], self.periodic, dtype=self.dtype)
    return type(name, (Primitive,), {"__init__": __init__, "__call__": __call__, "__doc__": fn.__doc__,
                                     "__module__": __name__})


BartlettWindow: Any = _window("BartlettWindow", F.bartlett_window)
BlackmanWindow: Any = _window("BlackmanWindow", F.blackman_window)


@primitive
def HammingWindow(length, /, periodic=True, alpha=0.54, beta=0.46, dtype=mstype.float32):
    """The Hamming window."""
    return F.hamming_window(_ints(length)[0], periodic, alpha, beta, dtype=dtype)


@primitive
def NuclearNorm(x, /, dim=None, keepdim=False):
    """The sum of the singular values of matrices: of x, or over two dimensions of it."""
    if dim is None:
        if x.ndim != 2:
            raise _check.needs("NuclearNorm", f"an input of {x.ndim} dimensions", "'dim'")
        dim = (0, 1)
    axes = [d % x.ndim for d in dim]
    if len(axes) != 2 or axes[0] == axes[1]:
        raise _check.refused("NuclearNorm", "dim", _check.value("name two dimensions"), dim)
    y = F.sum(F.svd(F.moveaxis(x, tuple(axes), (-2, -1)), compute_uv=False), -1)
    if keepdim:
        y = (F.expand_dims(F.expand_dims(y, 0), 0)
             if x.ndim == 2 else F.reshape(y, tuple(1 if k in axes else n for k, n in enumerate(x.shape))))
    return y


@primitive
def EqualCount(x, y, /):
    """How many elements are equal: [1] of x's dtype."""
    return F.reshape(F.cast(F.sum(F.cast(F.equal(x, y), mstype.int32)), x.dtype), (1,))


@primitive
def CompareAndBitpack(x, threshold, /):
    """x > threshold, eight elements of the last axis in a uint8, the first as its highest bit; of bools x itself, the
    first as its lowest bit."""
    if x.shape[-1] % 8:
        raise _check.refused("CompareAndBitpack", "the last dimension", _check.multiple(8), x.shape[-1])
    true = x if x.dtype == mstype.bool_ else x > threshold
    weights = [1, 2, 4, 8, 16, 32, 64, 128] if x.dtype == mstype.bool_ else [128, 64, 32, 16, 8, 4, 2, 1]
    bits = F.reshape(F.cast(true, mstype.int32), (*x.shape[:-1], x.shape[-1] // 8, 8))
    return F.cast(F.sum(bits * Tensor(weights, mstype.int32), -1), mstype.uint8)


@primitive
def ConfusionMatrix(labels, predictions, weights=None, /, num_classes=None, dtype="int32"):
    """[num_classes, num_classes]: how often (or with which weights) a label met a prediction."""
    w = F.ones(labels.shape, mstype.float32) if weights is None else weights
    at = F.cast(labels, mstype.int64) * num_classes + F.cast(predictions, mstype.int64)
    counts = _ops["scatter_nd"](F.zeros((num_classes * num_classes,), w.dtype), F.reshape(at, (-1, 1)),
                                F.reshape(w, (-1,)), "add")
    return F.cast(F.reshape(counts, (num_classes, num_classes)),
                  getattr(mstype, dtype) if isinstance(dtype, str) else dtype)


@primitive
@one_operator
def HistogramFixedWidth(x, range, /, nbins, dtype="int32"):
    """How many elements lie in each of nbins parts of a range [2]; those outside count for the first or the last."""
    low, high = range[0], range[1]
    at = F.floor((F.cast(F.reshape(x, (-1,)), mstype.float32) - low) / (high - low) * float(nbins))
    at = F.cast(F.minimum(F.maximum(at, 0.0), float(nbins - 1)), mstype.int64)
    return _ops["scatter_nd"](F.zeros((nbins,), mstype.int32), F.reshape(at, (-1, 1)), F.ones(at.shape, mstype.int32),
                              "add")


@primitive
def MapUniform(input, per_group_size, group_num, /):
    """The number input mod group_num of a group, times the groups' size, plus the place in it: by division towards
    0."""
    place = F.div(input, group_num, rounding_mode="trunc")
    return (input - place * group_num) * per_group_size + place


@primitive
def ComputeAccidentalHits(true_classes, sampled_candidates, /, num_true=1):
    """(rows, columns, least float32 numbers) of the true classes [rows, num_true] that are among the drawn ones [n]."""
    true, drawn = true_classes.asnumpy(), sampled_candidates.asnumpy()
    if true.ndim != 2 or true.shape[1] != num_true:
        raise _check.refused("ComputeAccidentalHits", "true_classes", _check.shape(f"[rows, {num_true}]"), true.shape)
    rows, _, columns = np.nonzero(true[:, :, None] == drawn)
    least = _filled((len(rows),), mstype.finite_range(mstype.float32)[0], dtype=mstype.float32)
    return Tensor(rows, mstype.int32), Tensor(columns, true_classes.dtype), least


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


# --- sequences ---

@primitive
def CTCGreedyDecoder(inputs, sequence_length, /, merge_repeated=True):
    """(indices [n, 2], values [n], shape [2] of the decoded words; log probabilities [batch, 1])."""
    return F.ctc_greedy_decoder(inputs, sequence_length, merge_repeated)


@primitive
def CTCLoss(x, labels_indices, labels_values, sequence_length, /, preprocess_collapse_repeated=False,
            ctc_merge_repeated=True,
            ignore_longer_outputs_than_inputs=False):
    """(losses [batch], their gradient) for x [time, batch, classes], whose last class is the blank, and labels as a
    sparse tensor. inf where a label with its repeats needs more steps than there are."""
    from pijit.grad import value_and_grad
    if not ctc_merge_repeated:
        raise _check.unsupported("CTCLoss", "ctc_merge_repeated=False is")
    time, batch, classes = x.shape
    rows = [[] for _ in builtins.range(batch)]
    for (b, _), v in zip(labels_indices.asnumpy().tolist(), labels_values.asnumpy().tolist()):
        if not (preprocess_collapse_repeated and rows[b] and rows[b][-1] == v):
            rows[b].append(v)
    lengths, impossible = sequence_length.asnumpy().tolist(), []
    for b, row in enumerate(rows):
        if len(row) > lengths[b] and not ignore_longer_outputs_than_inputs:
            raise RuntimeError(f"For 'CTCLoss', sequence {b} has {lengths[b]} steps, fewer than its label of "
                               f"{len(row)}.")
        impossible.append(len(row) + builtins.sum(p == q for p, q in zip(row, row[1:])) > lengths[b])
    longest = builtins.max([len(row) for row in rows] + [1])
    target = Tensor([row + [0] * (longest - len(row)) for row in rows], mstype.int32)
    sizes = Tensor([len(row) for row in rows], mstype.int32)

    def each(logits):
        loss = F.ctc_loss(F.log_softmax(logits, -1), target, F.cast(sequence_length, mstype.int32), sizes, classes - 1,
                          "none", True)[0]
        return F.sum(loss), loss
    (_, losses), gradient = value_and_grad(each, 0, None, True)(x)
    if builtins.any(impossible):  # no path there: the loss is infinite, its gradient 0
        losses = F.select(Tensor(impossible), float("inf"), losses)
    return losses, gradient


@primitive
def LSTM(x, h, c, w, /, input_size, hidden_size, num_layers, has_bias, bidirectional, dropout, proj_size=0):
    """(outputs [time, batch, directions * hidden], h, c, reserve, state) of a long short-term memory over x [time,
    batch, input_size].

    h, c: [layers * directions, batch, hidden]; w: all weights in one column, first those of inputs and states, layer by
        layer and direction by
    direction, then the biases of inputs and states, or the sums of both."""
    if proj_size:
        raise _check.refused("LSTM", "proj_size", _check.one_of(0), proj_size)
    directions = 2 if bidirectional else 1
    flat, at, weights = F.reshape(w, (-1,)), 0, []

    def take(*shape):
        nonlocal at
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        at += count
        return F.reshape(flat[at - count:at], shape)
    gates = 4 * hidden_size
    for layer in builtins.range(num_layers):
        for _ in builtins.range(directions):
            size = input_size if layer == 0 else hidden_size * directions
            weights.append([take(gates, size), take(gates, hidden_size)])
    summed = has_bias and flat.shape[0] - at == gates * len(weights)
    for pair in weights:
        pair += [take(gates), None if summed else take(gates)] if has_bias else [None, None]
    y, hs, cs = x, [], []
    for layer in builtins.range(num_layers):
        sides = []
        for d in builtins.range(directions):
            wi, wh, bi, bh = weights[layer * directions + d]
            state, cell, outs = h[layer * directions + d], c[layer * directions + d], []
            inputs = F.dense(y, wi, bi)
            order = builtins.range(x.shape[0])
            for t in order if d == 0 else reversed(order):
                g = inputs[t] + F.dense(state, wh, bh)
                i, f, n, o = F.chunk(g, 4, -1)
                cell = F.sigmoid(f) * cell + F.sigmoid(i) * F.tanh(n)
                state = F.sigmoid(o) * F.tanh(cell)
                outs.append(state)
            hs.append(state)
            cs.append(cell)
            sides.append(F.stack(outs if d == 0 else outs[::-1], 0))
        y = sides[0] if directions == 1 else F.cat(sides, -1)
        if dropout and layer + 1 < num_layers:
            y = F.dropout(y, dropout)
    return y, F.stack(hs, 0), F.stack(cs, 0), F.zeros((1, 1), x.dtype), F.zeros((1, 1), x.dtype)


# --- values handed through, checks, files ---

@primitive
def Coalesce(x_indices, x_values, x_shape, /):
    """Sparse indices [rank, n] in order, each once, with the sums of their values."""
    return F.coalesce(x_indices, x_values, x_shape)


@primitive
def Reusing(x, /):
    """x."""
    return _ops["identity"](x)


@primitive
def TensorToTuple(input_x, /):
    """The numbers of a vector as a tuple."""
    if not isinstance(input_x, Tensor):
        raise _check.refused("TensorToTuple", "the input", _check.TENSOR, input_x)
    if input_x.ndim != 1:
        raise _check.refused("TensorToTuple", "the input", _check.dims(1), input_x.ndim)
    return tuple(input_x.asnumpy().tolist())


_ENUM = {n: k for k, n in zip((30, 32, 33, 34, 35, 37, 38, 39, 40, 42, 43, 44, 45),
                              "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
                              "bfloat16".split())}


@primitive
def DtypeToEnum(op_name, arg_name, dtype, /):
    """MindSpore's number of a dtype."""
    return _ENUM[dtype.name.lower()]


@primitive
def CheckNumerics(x, /):
    """x; RuntimeError where it holds NaN or infinities."""
    _need_tensor("CheckNumerics", "x", x)
    if not x.dtype.is_floating_point:
        raise _check.refused("CheckNumerics", "the input", _check.FLOATING, x.dtype)
    if not bool(F.all(F.isfinite(x))):
        raise RuntimeError(f"For 'CheckNumerics', the tensor has {'NaN' if bool(F.any(F.isnan(x))) else 'Inf'} values.")
    return x


@primitive
def FloatStatus(x, /):
    """[1] float32: 1 where x holds NaN or infinities, else 0."""
    return F.reshape(F.cast(F.logical_not(F.all(F.isfinite(x))), mstype.float32), (1,))


@primitive
def Assert(condition, input_data, /, summarize=3):
    """Prints the first `summarize` elements of each tensor of input_data and raises RuntimeError where the condition is
    false."""
    if not bool(condition):
        print("For 'Assert' condition is false.")
        for x in input_data:
            print("input data: [" + " ".join(f"{v:g}" if isinstance(v, float) else str(v)
                                             for v in _ints(x)[:summarize]) + "]")
        raise RuntimeError("assert failed")


@primitive
def PyFunc(inputs, /, fn, in_types, in_shapes, out_types, out_shapes, stateful=True):
    """fn, called with NumPy arrays; its results as a tuple of tensors of out_types."""
    given = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    result = fn(*(x.asnumpy() for x in given))
    return tuple(Tensor(np.asarray(r), t)
                 for r, t in zip(result if isinstance(result, (tuple, list)) else (result,), out_types))


class InsertGradientOf(Primitive):
    """Hands its input through; on the way back f gets the gradient, and gives the one that goes on."""

    def __init__(self, f: Any) -> None:
        super().__init__()
        if not callable(f):
            raise _check.refused("InsertGradientOf", "f", _check.FUNCTION, f)
        self.f = f

    def __call__(self, x: Tensor) -> Any:
        from pijit.grad import with_own_gradient
        def bprop(v, out, dout):
            return (self.f(dout),)
        return with_own_gradient(lambda v: v, bprop, "InsertGradientOf", (x,), {})


class DumpGradient(Primitive):
    """Hands x through; on the way back the gradient is saved, by TensorDump, under a name."""

    def __call__(self, path: str, x: Tensor, input_output: Any) -> Any:
        from pijit.grad import with_own_gradient

        def save(v, out, dout):
            TensorDump()(path, dout)
            return (dout,)
        return with_own_gradient(lambda v: v, save, "DumpGradient", (x,), {})


class TensorDump(Primitive):
    """Saves a tensor as `<file>_<dtype>_<number of the dump>.npy`."""

    def __init__(self, input_output: Any = None) -> None:
        super().__init__()
        self.input_output = input_output

    def __call__(self, file: Any, tensor: Tensor) -> None:
        F.tensordump(file, tensor)


class MoveTo(Primitive):
    """x: there is one device."""

    def __call__(self, input: Tensor, to: str = "CPU", blocking: bool = True) -> Tensor:
        return F.move_to(input, to, blocking)


__all__ = [n for n in globals() if n[0].isupper() and n not in ("Tensor", "F", "S", "X", "Primitive", "TYPE_CHECKING")]
