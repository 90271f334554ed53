"""Primitives of layers: activations, losses, normalisation, convolutions, sequences."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

import numpy as np

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.ops import function as F
from pijit.ops.function import image as _image
from pijit.ops.function.convolution import _conv_pad
from pijit.ops.function.creation import _filled
from pijit.ops.function.shapes import _format
from pijit.ops.primitive import primitive
from pijit.ops.primitive_arguments import _ints_of, _plane

if TYPE_CHECKING:
    from typing import Any


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
    """log_probs with the least value for words that would repeat n words of state_seq.

    log_probs are [batch, beam, vocabulary], state_seq [batch, beam, length]."""
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


@primitive
def LogSoftmaxExt(input, dim=None, dtype=None, /):
    """log(softmax(input)) along a dimension."""
    x = input if dtype is None else F.cast(input, dtype)
    return F.log_softmax(x, (0 if x.ndim in (0, 1, 3) else 1) if dim is None else dim)


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
def CTCGreedyDecoder(inputs, sequence_length, /, merge_repeated=True):
    """(indices [n, 2], values [n], shape [2] of the decoded words; log probabilities [batch, 1])."""
    return F.ctc_greedy_decoder(inputs, sequence_length, merge_repeated)


@primitive
def CTCLoss(x, labels_indices, labels_values, sequence_length, /, preprocess_collapse_repeated=False,
            ctc_merge_repeated=True,
            ignore_longer_outputs_than_inputs=False):
    """(losses [batch], their gradient) for x [time, batch, classes] and labels as a sparse tensor.

    The last class is the blank.  inf where a label with its repeats needs more steps than there are."""
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
    """(outputs [time, batch, directions * hidden], h, c, reserve, state) of a long short-term memory.

    It runs over x [time, batch, input_size].

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


def _one_of(*choices):
    def check(name, value, *_):
        if value not in choices:
            raise _check.refused(name, "the attribute", _check.one_of(*choices), value)
    return check


_reduction = _one_of("none", "mean", "sum")


@primitive
def InTopK(x1, x2, /, k):
    """Whether the class x2 is among the k greatest of each row."""
    return F.intopk(x1, x2, k)


@primitive
def ChannelShuffle(x, /, group):
    """Channels of [N, C, H, W] interleaved over groups."""
    return F.channel_shuffle(x, group)


@primitive
def L2Normalize(x, /, axis=0, epsilon=1e-4):
    """x over its Euclidean norm along an axis."""
    return F.l2_normalize(x, axis, epsilon)


@primitive
def HShrink(input_x, /, lambd=0.5):
    """0 within [-lambd, lambd]."""
    return F.hardshrink(input_x, lambd)


@primitive
def SoftShrink(input_x, /, lambd=0.5):
    """Towards 0 by lambd."""
    return F.softshrink(input_x, lambd)


@primitive
def CeLU(input_x, /, alpha=1.0):
    """max(x, 0) + min(alpha (exp(x / alpha) - 1), 0)."""
    return F.celu(input_x, alpha)


@primitive
def GLU(x, /, axis=-1):
    """One half times the sigmoid of the other."""
    return F.glu(x, axis)


@primitive
def RmsNorm(x, gamma, /, epsilon=1e-6):
    """(x over its root mean square, times gamma; the reciprocal of that root)."""
    return F.rms_norm(x, gamma, epsilon)


@primitive
def LRN(x, /, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5, norm_region="ACROSS_CHANNELS"):
    """Local response normalisation."""
    return F.lrn(x, depth_radius, bias, alpha, beta, norm_region)


def _weighted(reduction, ignore_index):
    def loss(logits, labels, weight):
        keep = labels != ignore_index
        safe = F.select(keep, labels, F.zeros_like(labels))
        w = F.gather(weight, safe, 0) * F.cast(keep, weight.dtype)
        total = F.sum(w)
        each = -F.reshape(F.gather_elements(logits, 1, F.expand_dims(safe, 1)), labels.shape) * w
        if reduction == "none":
            return each, total
        return F.sum(each) / total if reduction == "mean" else F.sum(each), total
    return loss


@primitive(check=_reduction)
def NLLLoss(logits, labels, weight, /, reduction="mean", ignore_index=-100):
    """(negative log likelihood of [N, C] for classes [N], the sum of their weights)."""
    return _weighted(reduction, ignore_index)(logits, labels, weight)


@primitive(check=_reduction)
def BinaryCrossEntropy(logits, labels, weight=None, /, reduction="mean"):
    """Cross entropy of probabilities."""
    return F.binary_cross_entropy(logits, labels, weight, reduction)


@primitive(check=_reduction)
def BCEWithLogitsLoss(logits, label, weight, pos_weight, /, reduction="mean"):
    """Cross entropy of sigmoid(logits)."""
    return F.binary_cross_entropy_with_logits(logits, label, weight, pos_weight, reduction)


@primitive
def SmoothL1Loss(logits, labels, /, beta=1.0, reduction="none"):
    """Quadratic below beta, linear above."""
    if beta <= 0:
        raise _check.refused("SmoothL1Loss", "beta", _check.above(0), beta, RuntimeError)
    return F.smooth_l1_loss(logits, labels, beta, reduction)


@primitive(check=_one_of("none", "mean", "sum", "batchmean"))
def KLDivLoss(logits, labels, /, reduction="mean"):
    """labels * (log(labels) - logits)."""
    return F.kl_div(logits, labels, reduction)


@primitive(check=_reduction)
def SoftMarginLoss(logits, labels, /, reduction="mean"):
    """log(1 + exp(-labels * logits))."""
    return F.soft_margin_loss(logits, labels, reduction)


@primitive
def MultiMarginLoss(inputs, target, weight=None, /, p=1, margin=1.0, reduction="mean"):
    """How far other classes come within the margin."""
    return F.multi_margin_loss(inputs, target, p, margin, weight, reduction)


@primitive(check=_reduction)
def MultilabelMarginLoss(x, target, /, reduction="mean"):
    """The same for several classes."""
    return F.multilabel_margin_loss(x, target, reduction)


@primitive
def TripletMarginLoss(x, positive, negative, margin, /, p=2, swap=False, eps=1e-06, reduction="mean"):
    """How far a negative comes within the margin of a positive."""
    return F.triplet_margin_loss(x, positive, negative, margin, p, eps, swap, reduction)


@primitive
def SparseSoftmaxCrossEntropyWithLogits(logits, labels, /, is_grad=False):
    """Mean cross entropy of softmax(logits) for classes; or its gradient."""
    if is_grad:
        hot = F.one_hot(labels, logits.shape[1], 1.0, 0.0)
        return (F.softmax(logits, -1) - hot) / logits.shape[0]
    return F.cross_entropy(logits, labels)


@primitive
def CTCLossV2(log_probs, targets, input_lengths, target_lengths, /, blank=0, reduction="none", zero_infinity=False):
    """Connectionist temporal classification (Graves et al. 2006)."""
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)


def _dropped(x, keep_prob, planes):
    if x.ndim != planes + 2:
        raise _check.refused(f"Dropout{planes}D", "the input", _check.dims(planes + 2), x.ndim)
    keep = F.rand(*x.shape[:2], *(1,) * planes) < keep_prob
    if not 0 <= keep_prob <= 1:
        raise _check.refused(f"Dropout{planes}D", "keep_prob", _check.within(0, 1), keep_prob)
    y = F.cast(F.select(keep, x * (1.0 / keep_prob if keep_prob else 0.0), 0.0), x.dtype)
    return y, F.broadcast_to(keep, x.shape)


@primitive
def Dropout2D(x, /, keep_prob=0.5):
    """(output, mask) of dropout of whole channels of [N, C, H, W]."""
    return _dropped(x, keep_prob, 2)


@primitive
def Dropout3D(x, /, keep_prob=0.5):
    """(output, mask) of dropout of whole channels of [N, C, D, H, W]."""
    return _dropped(x, keep_prob, 3)


@primitive
def Conv3D(x, weight, bias=None, /, out_channel=1, kernel_size=1, mode=1, pad_mode="valid", pad=0, stride=1, dilation=1,
           group=1, data_format="NCDHW"):
    """3-d convolution."""
    return F.conv3d(x, weight, bias, stride, pad_mode, pad, dilation, group)


@primitive
def Conv2DTranspose(x, weight, input_size, /, out_channel, kernel_size, pad_mode="valid", pad=0, pad_list=None, mode=1,
                    stride=1, dilation=1, group=1,
                    data_format="NCHW"):
    """The gradient of a 2-d convolution in its input [N, C, H, W].

    The input has the shape input_size; weight [O, C / group, kh, kw]."""
    _format("Conv2DTranspose", data_format)
    s, d = ((v,) * 2 if isinstance(v, int) else tuple(v)[-2:] for v in (stride, dilation))
    size = _ints_of(input_size)
    p = tuple(pad_list) if pad_list else _conv_pad(size[2:], weight.shape[2:], s, d, pad_mode.lower(), pad)
    return _ops["conv2d_dx"](x, weight, s, tuple(p), d, group, size)


Conv2DBackpropInput: type[Any] = type("Conv2DBackpropInput", (Conv2DTranspose,),
                                      {"__doc__": Conv2DTranspose.__doc__, "__module__": __name__})


@primitive
def Conv3DTranspose(dout, weight, /, in_channel, out_channel, kernel_size, mode=1, pad_mode="valid", pad=0, stride=1,
                    dilation=1, group=1, output_padding=0,
                    data_format="NCDHW"):
    """Transposed 3-d convolution. weight [in_channel, out_channel / group, kd, kh, kw]."""
    return F.conv3d_transpose(dout, weight, pad_mode, pad, stride, dilation, group, output_padding)


@primitive
def DepthwiseConv2dNative(x, weight, /, channel_multiplier, kernel_size, mode=3, pad_mode="valid", pad=0, stride=1,
                          dilation=1, group=1):
    """A convolution of each channel by itself. weight [channel_multiplier, C, kh, kw]."""
    multiplier, channels, h, w = weight.shape
    kernels = F.reshape(F.transpose(weight, (1, 0, 2, 3)), (channels * multiplier, 1, h, w))
    return F.conv2d(x, kernels, None, stride, pad_mode, pad, dilation, channels)


@primitive
def Dilation2D(x, filter, /, stride, dilation, pad_mode="SAME", data_format="NCHW"):
    """Grey dilation of [N, C, H, W] by a filter [C, kh, kw]."""
    return _image.dilation_2d(x, filter, _plane(stride), _plane(dilation), pad_mode.upper())


@primitive
def DeformableOffsets(x, offsets, /, strides, pads, ksize, dilations=(1, 1, 1, 1), data_format="NCHW",
                      deformable_groups=1, modulated=True):
    """The elements of deformed windows, side by side."""
    return _image.deformable_offsets(x, offsets, _plane(strides), tuple(pads), tuple(ksize), _plane(dilations),
                                deformable_groups, modulated)


__all__ = [n for n, v in globals().items() if isinstance(v, type) and v.__module__ == __name__]
