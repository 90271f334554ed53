"""Losses."""

from pijit._C import ops as _ops
from pijit.ops.function.elementwise import abs, log, softplus_, square
from pijit.ops.function.reduce import mean, sum
from pijit.ops.function.selection import clamp
from pijit.ops.function.shapes import expand_dims, reshape, squeeze


def reduce_loss(x, reduction):
    if reduction == "mean":
        return mean(x)
    if reduction == "sum":
        return sum(x)
    if reduction != "none":
        raise ValueError(f"'reduction' must be 'none', 'mean' or 'sum', but got {reduction!r}.")
    return x


def mse_loss(input, target, reduction="mean"):
    """(input - target)^2."""
    return reduce_loss(square(input - target), reduction)


def l1_loss(input, target, reduction="mean"):
    """|input - target|."""
    return reduce_loss(abs(input - target), reduction)


def smooth_l1_loss(input, target, beta=1.0, reduction="none"):
    """Quadratic below beta, linear above (Girshick 2015)."""
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
    x = clamp(logits, 1e-12, 1.0 - 1e-7)
    loss = -(labels * log(x) + (1.0 - labels) * log(1.0 - x))
    return reduce_loss(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy_with_logits(logits, label, weight=None, pos_weight=None, reduction="mean"):
    """Cross entropy of sigmoid(logits)."""
    if pos_weight is None:
        loss = softplus_(logits) - label * logits
    else:
        loss = (1.0 - label) * logits + (1.0 + (pos_weight - 1.0) * label) * softplus_(-logits)
    return reduce_loss(loss if weight is None else loss * weight, reduction)


def kl_div(logits, labels, reduction="mean"):
    """labels * (log(labels) - logits)."""
    loss = _ops["select"](labels > 0, labels * (log(_ops["select"](labels > 0, labels, 1.0)) - logits), 0.0)
    if reduction == "batchmean":
        return sum(loss) / logits.shape[0]
    return reduce_loss(loss, reduction)
