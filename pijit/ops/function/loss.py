"""Losses."""

import math

from pijit import dtype as mstype
from pijit._C import Tensor, ops as _ops
from pijit.ops.function.creation import arange, full
from pijit.ops.function.elementwise import (abs, cast, exp, isfinite, log, logical_and, logical_not, _need_tensor, softplus_,
                                            sqrt, square, stop_gradient)
from pijit.ops.function.reduce import mean, sum
from pijit.ops.function.selection import clamp
from pijit.ops.function.shapes import _same_shape, broadcast_to, cat, expand_dims, reshape, squeeze, stack


def reduce_loss(x, reduction):
    if reduction == "mean":
        return mean(x)
    if reduction == "sum":
        return sum(x)
    if reduction != "none":
        raise ValueError(f"'reduction' must be 'none', 'mean' or 'sum', but got {reduction!r}.")
    return x


def mse_loss(input, target, reduction="mean"):
    """(input - target)^2; of integers in float32."""
    d = input - target
    return reduce_loss(square(d if d.dtype.is_floating_point else cast(d, mstype.float32)), reduction)


def l1_loss(input, target, reduction="mean"):
    """|input - target|. Integers and bools keep their dtype."""
    _need_tensor("l1_loss", "input", input)
    _need_tensor("l1_loss", "target", target)
    if input.dtype == mstype.bool_ and target.dtype == mstype.bool_:
        return reduce_loss(cast(_ops["logical_xor"](input, target), mstype.int32), reduction) != 0
    return reduce_loss(abs(input - target), reduction)


def smooth_l1_loss(input, target, beta=1.0, reduction="none"):
    """Quadratic below beta, linear above (Girshick 2015)."""
    _same_shape("smooth_l1_loss", input=input, target=target)
    d = abs(input - target)
    return reduce_loss(_ops["select"](d < beta, 0.5 * d * d / beta, d - 0.5 * beta), reduction)


def huber_loss(input, target, reduction="mean", delta=1.0):
    """Quadratic below delta, linear above (Huber 1964)."""
    d = abs(input - target)
    return reduce_loss(_ops["select"](d < delta, 0.5 * d * d, delta * (d - 0.5 * delta)), reduction)


def nll_loss(inputs, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    """Negative log likelihood. inputs [N, C] (or [N, C, d...]) of log-probabilities, target [N] (or [N, d...]) of class indices."""
    classes = inputs.shape[1]
    keep = target != ignore_index
    safe = _ops["select"](keep, target, 0)
    picked = -squeeze(_ops["gather_d"](inputs, expand_dims(safe, 1), 1), 1)
    w = _ops["cast"](keep, inputs.dtype) if weight is None else _ops["gather"](weight, safe, 0) * _ops["cast"](keep, inputs.dtype)
    loss = picked * w
    if label_smoothing > 0:
        spread = -_ops["reduce_sum"](inputs if weight is None else inputs * reshape(weight, (1, -1) + (1,) * (inputs.ndim - 2)), 1, False)
        spread = spread * _ops["cast"](keep, inputs.dtype)
        loss = loss * (1.0 - label_smoothing) + spread * (label_smoothing / classes)
    if reduction == "mean":
        return sum(loss) / sum(w)
    return reduce_loss(loss, reduction)


def cross_entropy(input, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    """Softmax cross entropy. target holds class indices, or probabilities of input's shape."""
    logp = _ops["log_softmax"](input, 1 if input.ndim > 1 else 0)
    if target.dtype.is_floating_point:
        if label_smoothing > 0:
            target = target * (1.0 - label_smoothing) + label_smoothing / input.shape[1]
        if weight is not None:
            target = target * reshape(weight, (1, -1) + (1,) * (input.ndim - 2))
        loss = -_ops["reduce_sum"](logp * target, 1, False)
        return reduce_loss(loss, reduction)
    return nll_loss(logp, target, weight, ignore_index, reduction, label_smoothing)


def binary_cross_entropy(logits, labels, weight=None, reduction="mean"):
    """Cross entropy of probabilities."""
    _same_shape("binary_cross_entropy", logits=logits, labels=labels)
    x = clamp(logits, 1e-12, 1.0 - 1e-7)
    loss = -(labels * log(x) + (1.0 - labels) * log(1.0 - x))
    return reduce_loss(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction="mean"):
    """Cross entropy of sigmoid(logits)."""
    _same_shape("binary_cross_entropy_with_logits", input=input, target=target)
    if pos_weight is None:
        loss = softplus_(input) - target * input
    else:
        loss = (1.0 - target) * input + (1.0 + (pos_weight - 1.0) * target) * softplus_(-input)
    return reduce_loss(loss if weight is None else loss * weight, reduction)


def kl_div(logits, labels, reduction="mean"):
    """labels * (log(labels) - logits)."""
    _same_shape("kl_div", logits=logits, labels=labels)
    loss = _ops["select"](labels > 0, labels * (log(_ops["select"](labels > 0, labels, 1.0)) - logits), 0.0)
    if reduction == "batchmean":
        return sum(loss) / logits.shape[0]
    return reduce_loss(loss, reduction)


def _same_shape(name, **tensors):
    shapes = {k: tuple(v.shape) for k, v in tensors.items()}
    if len(set(shapes.values())) > 1:
        raise ValueError(f"For '{name}', {' and '.join(repr(k) for k in shapes)} must have the same shape, but got {' and '.join(map(str, shapes.values()))}.")


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction="mean"):
    """max(0, -target * (input1 - input2) + margin), target 1 or -1."""
    return reduce_loss(_ops["maximum"](-target * (input1 - input2) + margin, 0.0), reduction)


def hinge_embedding_loss(inputs, targets, margin=1.0, reduction="mean"):
    """inputs where targets are above 0 (1), max(0, margin - inputs) where they are below (-1)."""
    loss = _ops["select"](targets > 0, inputs, _ops["select"](targets < 0, _ops["maximum"](margin - inputs, 0.0), 0.0 * inputs))
    return reduce_loss(loss, reduction)


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """x1 . x2 / (|x1| |x2|) along one axis, the norms at least eps."""
    dot = sum(x1 * x2, dim)
    return dot / (_ops["maximum"](sqrt(sum(square(x1), dim)), eps) * _ops["maximum"](sqrt(sum(square(x2), dim)), eps))


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction="mean"):
    """1 - cos where target is 1, max(0, cos - margin) where it is -1. input1, input2 [N, D] or [D]."""
    _same_shape("cosine_embedding_loss", input1=input1, input2=input2)
    if not -1 <= margin <= 1:
        raise ValueError(f"For 'cosine_embedding_loss', 'margin' must be in [-1, 1], but got {margin}.")
    axis = input1.ndim - 1 if input1.ndim < 2 else 1
    cos = sum(input1 * input2, axis) / sqrt((sum(square(input1), axis) + 1e-12) * (sum(square(input2), axis) + 1e-12))
    loss = _ops["select"](target == 1, 1.0 - cos, _ops["select"](target == -1, _ops["maximum"](cos - margin, 0.0), 0.0 * cos))
    return reduce_loss(loss, reduction)


def _distance(x, y, p, eps):
    d = abs(x - y + eps)
    if p == 2:
        return sqrt(sum(square(d), -1))
    if p == 1:
        return sum(d, -1)
    return _ops["pow"](sum(_ops["pow"](d, float(p)), -1), 1.0 / p)


def _triplet(positive, negative, margin, reduction):
    return reduce_loss(_ops["maximum"](positive - negative + margin, 0.0), reduction)


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, reduction="mean"):
    """max(0, |anchor - positive|_p - |anchor - negative|_p + margin) (Balntas et al. 2016); swap: the lesser of the distances from the negative."""
    near, far = _distance(anchor, positive, p, eps), _distance(anchor, negative, p, eps)
    if swap:
        far = _ops["minimum"](far, _distance(positive, negative, p, eps))
    return _triplet(near, far, margin, reduction)


def gaussian_nll_loss(x, target, var, full=False, eps=1e-6, reduction="mean"):
    """(log(max(var, eps)) + (x - target)^2 / max(var, eps)) / 2, with full also log(2 pi) / 2."""
    if eps <= 0:
        raise ValueError(f"For 'gaussian_nll_loss', 'eps' must be greater than 0, but got {eps}.")
    v = _ops["maximum"](var, eps)
    loss = 0.5 * (log(v) + square(x - target) / v)
    return reduce_loss(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def soft_margin_loss(input, target, reduction="mean"):
    """log(1 + exp(-target * input)), target 1 or -1."""
    _same_shape("soft_margin_loss", input=input, target=target)
    return reduce_loss(softplus_(-target * input), reduction)


def multilabel_soft_margin_loss(input, target, weight=None, reduction="mean"):
    """Mean over the classes of the cross entropy of sigmoid(input). input, target [N, C]."""
    loss = softplus_(input) - target * input
    return reduce_loss(mean(loss if weight is None else loss * weight, -1), reduction)


def multi_margin_loss(input, target, p=1, margin=1, weight=None, reduction="mean"):
    """Sum over the other classes of max(0, margin - input[target] + input)^p, over C. input [N, C], target [N]."""
    if p not in (1, 2):
        raise ValueError(f"For 'multi_margin_loss', 'p' must be 1 or 2, but got {p}.")
    classes = input.shape[-1]
    at = expand_dims(target, -1)
    gap = _ops["maximum"](margin - _ops["gather_d"](input, at, -1) + input, 0.0)
    if p == 2:
        gap = square(gap)
    if weight is not None:
        gap = gap * _ops["gather"](weight, at, 0)
    others = arange(classes) != at
    return reduce_loss(sum(_ops["select"](others, gap, 0.0), -1) / float(classes), reduction)


def multilabel_margin_loss(input, target, reduction="mean"):
    """Sum over labels j and other classes i of max(0, 1 - input[j] + input[i]), over C. target: labels up to the first -1. [N, C] or [C]."""
    _same_shape("multilabel_margin_loss", input=input, target=target)
    classes = input.shape[-1]
    at = arange(classes)
    ends = _ops["cast"](target < 0, input.dtype)
    valid = _ops["cumsum"](ends, -1) == 0  # before the first -1
    safe = _ops["select"](valid, target, 0)
    chosen = logical_and(expand_dims(at, -1) == expand_dims(safe, -2), expand_dims(valid, -2))  # [..., class, label]
    is_label = _ops["reduce_any"](chosen, -1, False)
    gap = _ops["maximum"](1.0 - expand_dims(_ops["gather_d"](input, safe, -1), -2) + expand_dims(input, -1), 0.0)
    counted = logical_and(expand_dims(logical_not(is_label), -1), expand_dims(valid, -2))
    loss = sum(_ops["select"](counted, gap, 0.0), (-2, -1)) / float(classes)
    return reduce_loss(loss, reduction)


def _log_sum(*terms):
    """log of the sum of exp of terms that may be -inf, with a gradient of 0 where all are."""
    top = stop_gradient(terms[0])
    for t in terms[1:]:
        top = _ops["maximum"](top, stop_gradient(t))
    safe = _ops["select"](isfinite(top), top, 0.0)
    total = exp(terms[0] - safe)
    for t in terms[1:]:
        total = total + exp(t - safe)
    some = total > 0
    return _ops["select"](some, log(_ops["select"](some, total, 1.0)) + safe, float("-inf"))


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """Connectionist temporal classification (Graves et al. 2006): (loss, log alpha [N, T, 2 S + 1]).

    log_probs [T, N, C] of log-probabilities, targets [N, S] of labels, lengths [N]. 'mean' divides each loss by its target's length first."""
    if log_probs.ndim != 3 or targets.ndim != 2:
        raise ValueError(f"For 'ctc_loss', 'log_probs' must have 3 dimensions and 'targets' 2, but got {log_probs.ndim} and {targets.ndim}.")
    steps, batch, classes = log_probs.shape
    if targets.shape[0] != batch:
        raise ValueError(f"For 'ctc_loss', 'targets' must have {batch} rows, but got {targets.shape[0]}.")
    if not 0 <= blank < classes:
        raise ValueError(f"For 'ctc_loss', 'blank' must be in [0, {classes}), but got {blank}.")
    input_lengths, target_lengths = (x if isinstance(x, Tensor) else Tensor(list(x), mstype.int64) for x in (input_lengths, target_lengths))
    places = 2 * targets.shape[1] + 1
    blanks = targets * 0 + blank
    labels = cat([reshape(stack([blanks, targets], 2), (batch, places - 1)), blanks[:, :1] if places > 1 else full((batch, 1), blank, dtype=targets.dtype)], 1)
    emitted = _ops["gather_d"](log_probs, broadcast_to(expand_dims(labels, 0), (steps, batch, places)), 2)
    low = float("-inf")

    def shifted(x, k, fill):
        return _ops["pad"](x, (0, k), (0, 0), fill)[:, :places]
    # a label may follow the one before the last blank, if they differ
    skip = logical_and(labels != blank, labels != shifted(labels, 2, -1))
    alpha = _ops["select"](arange(places) < 2, emitted[0], low)
    rows = [alpha]
    for t in range(1, steps):
        alpha = _log_sum(alpha, shifted(alpha, 1, low), _ops["select"](skip, shifted(alpha, 2, low), low)) + emitted[t]
        rows.append(alpha)
    table = stack(rows, 1)
    last = _ops["gather_d"](table, broadcast_to(reshape(input_lengths, (batch, 1, 1)) - 1, (batch, 1, places)), 1)
    last = reshape(last, (batch, places))
    end = expand_dims(target_lengths, 1) * 2
    final = _ops["gather_d"](last, end, 1)
    before = _ops["select"](end > 0, _ops["gather_d"](last, _ops["maximum"](end - 1, 0), 1), low)
    loss = -squeeze(_log_sum(final, before), 1)
    if zero_infinity:
        loss = _ops["select"](isfinite(loss), loss, 0.0)
    if reduction == "mean":
        return mean(loss / _ops["cast"](_ops["maximum"](target_lengths, 1), loss.dtype)), table
    return reduce_loss(loss, reduction), table
