"""Losses."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit._numpy import np
from pijit.ops.function.clipping import clamp
from pijit.ops.function.creation import arange, _filled
from pijit.ops.function.elementwise import (abs, cast, exp, isfinite, log, logical_and, logical_not, _need_tensor, sqrt,
                                            square, stop_gradient)
from pijit.ops.function.joining import cat, stack
from pijit.ops.function.reduction import mean, sum
from pijit.ops.function.shapes import broadcast_to, expand_dims, reshape, _same_shape, squeeze
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from typing import Any
    from pijit._types import Number


def reduce_loss(x: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return mean(x)
    if reduction == "sum":
        return sum(x)
    if reduction != "none":
        raise ValueError(f"'reduction' must be 'none', 'mean' or 'sum', but got {reduction!r}.")
    return x


@_named(primitive="MSELoss", functional=True)
def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """(input - target)^2; of integers in float32.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        target (Tensor): what is wanted.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Returns:
        Tensor: a number, or of the inputs' shape. Floats keep their dtype; ints and complex give float32; not for
            bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `target` does not fit, or `reduction` is not one of those named.

    Example:
        >>> print(ops.mse_loss(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])))
        2.0
    """
    d = input - target
    return reduce_loss(square(d if d.dtype.is_floating_point else cast(d, mstype.float32)), reduction)


@_named(functional=True)
def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """|input - target|. Integers and bools keep their dtype.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        target (Tensor): what is wanted.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Returns:
        Tensor: a number, or of the inputs' shape. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor, or `target` is not a Tensor.
        ValueError: if the shape of `target` does not fit, or `reduction` is not one of those named.

    Example:
        >>> print(ops.l1_loss(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])))
        1.0
    """
    _need_tensor("l1_loss", "input", input)
    _need_tensor("l1_loss", "target", target)
    if input.dtype == mstype.bool_ and target.dtype == mstype.bool_:
        return reduce_loss(cast(_ops["logical_xor"](input, target), mstype.int32), reduction) != 0
    return reduce_loss(abs(input - target), reduction)


def smooth_l1_loss(input: Tensor, target: Tensor, beta: Number = 1.0, reduction: str = "none") -> Tensor:
    """Quadratic below beta, linear above (Girshick 2015).

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        target (Tensor): what is wanted.
        beta (number, optional): a factor. Default: 1.0.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'none'.

    Returns:
        Tensor: a number, or of the inputs' shape. Floats keep their dtype; ints give float32; not for bool and
            complex.

    Raises:
        ValueError: if the shape of `target` does not fit, or `reduction` is not one of those named.

    Example:
        >>> print(ops.smooth_l1_loss(Tensor([1.0, 2.0]), Tensor([1.5, 4.0])))
        [0.125 1.5  ]
    """
    _same_shape("smooth_l1_loss", input=input, target=target)
    d = abs(input - target)
    return reduce_loss(_ops["select"](d < beta, 0.5 * d * d / beta, d - 0.5 * beta), reduction)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """Quadratic below delta, linear above (Huber 1964).

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        target (Tensor): what is wanted.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.
        delta (float, optional): the border between the two parts. Default: 1.0.

    Returns:
        Tensor: a number, or of the inputs' shape. Floats keep their dtype; ints give float32; not for bool and
            complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `target` does not fit, or `reduction` is not one of those named.

    Example:
        >>> print(ops.huber_loss(Tensor([1.0, 2.0]), Tensor([1.5, 4.0])))
        0.8125
    """
    d = abs(input - target)
    return reduce_loss(_ops["select"](d < delta, 0.5 * d * d, delta * (d - 0.5 * delta)), reduction)


def _indices(name, inputs, target):
    """Class indices, one for each place of inputs; a size of 1 in the place of the classes is dropped."""
    if isinstance(target, Tensor) and (target.dtype.is_floating_point or target.dtype == mstype.bool_):
        raise _check.refused(name, "class indices", _check.value("be ints"), target.dtype, TypeError)
    axis = 1 if inputs.ndim > 1 else 0
    places = inputs.shape[:axis] + inputs.shape[axis + 1:]
    if target.ndim == inputs.ndim and target.shape == inputs.shape[:axis] + (1,) + inputs.shape[axis + 1:]:
        return reshape(target, places)
    if target.shape != places:
        raise _check.refused(name, "class indices", _check.shape(f"{places} for scores of shape {inputs.shape}"),
                             target.shape)
    return target


def _weights(name, weight, classes):
    if weight is not None and weight.shape != (classes,):
        raise _check.refused(name, "weight", _check.shape(f"{(classes,)}, one for each class"), weight.shape)


@_named(functional=True)
def nll_loss(inputs: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100,
             reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor:
    """Negative log likelihood.

    inputs [N, C] (or [N, C, d...]) of log-probabilities, target [N] (or [N, d...]) of class indices.

    Args:
        inputs (Tensor): the input [N, C], of int, float or complex dtype.
        target (Tensor): what is wanted.
        weight (Tensor, optional): a factor per class or element. Default: None.
        ignore_index (int, optional): a class that doesn't count. Default: -100.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.
        label_smoothing (float, optional): the share in [0, 1] that goes to all classes alike. Default: 0.0.

    Returns:
        Tensor: a number, or of target's shape. Floats and complex keep their dtype; ints give float32; not for
            bool.

    Raises:
        ValueError: if the shape of `target` does not fit, or `reduction` is not one of those named.

    Example:
        >>> print(ops.nll_loss(Tensor([[-0.5, -1.0]]), Tensor([0], ms.int32)))
        0.5
    """
    return _likelihood_loss("nll_loss", inputs, target, weight, ignore_index, reduction, label_smoothing)


def _likelihood_loss(name, inputs, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    """nll_loss, for the function or Cell of this name."""
    target = _indices(name, inputs, target)
    classes = inputs.shape[1]
    _weights(name, weight, classes)
    keep = target != ignore_index
    safe = _ops["select"](keep, target, 0)
    picked = -squeeze(_ops["gather_d"](inputs, expand_dims(safe, 1), 1), 1)
    w = (_ops["cast"](keep, inputs.dtype)
         if weight is None else _ops["gather"](weight, safe, 0) * _ops["cast"](keep, inputs.dtype))
    loss = picked * w
    if label_smoothing > 0:
        spread = -_ops["reduce_sum"](inputs if weight is None
                                     else inputs * reshape(weight, (1, -1) + (1,) * (inputs.ndim - 2)), 1, False)
        spread = spread * _ops["cast"](keep, inputs.dtype)
        loss = loss * (1.0 - label_smoothing) + spread * (label_smoothing / classes)
    if reduction == "mean":
        return sum(loss) / sum(w)
    return reduce_loss(loss, reduction)


@_named(functional=True)
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100,
                  reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor:
    """Softmax cross entropy. target holds class indices, or probabilities of input's shape.

    Args:
        input (Tensor): the input [N, C, ...] or [C], of float dtype.
        target (Tensor): what is wanted.
        weight (Tensor, optional): a factor per class or element. Default: None.
        ignore_index (int, optional): a class that doesn't count. Default: -100.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.
        label_smoothing (float, optional): the share in [0, 1] that goes to all classes alike. Default: 0.0.

    Returns:
        Tensor: a number, or one value per row. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        ValueError: if the shape of `target` does not fit, or `reduction` is not one of those named.

    Example:
        >>> print(ops.cross_entropy(Tensor([[0.0, 0.0]]), Tensor([0], ms.int32)))
        0.6931472
    """
    logp = _ops["log_softmax"](input, 1 if input.ndim > 1 else 0)
    if target.dtype.is_floating_point:
        if target.shape != input.shape:
            raise _check.refused("cross_entropy", "the probabilities", _check.shape(f"{input.shape} of the scores"),
                                 target.shape)
        if label_smoothing > 0:
            target = target * (1.0 - label_smoothing) + label_smoothing / input.shape[1]
        if weight is not None:
            _weights("cross_entropy", weight, input.shape[1])
            target = target * reshape(weight, (1, -1) + (1,) * (input.ndim - 2))
        loss = -_ops["reduce_sum"](logp * target, 1, False)
        return reduce_loss(loss, reduction)
    return _likelihood_loss("cross_entropy", logp, target, weight, ignore_index, reduction, label_smoothing)


@_named(functional=True)
def binary_cross_entropy(logits: Tensor, labels: Tensor, weight: Tensor | None = None,
                         reduction: str = "mean") -> Tensor:
    """Cross entropy of probabilities.

    Args:
        logits (Tensor): unnormalised scores.
        labels (Tensor): what is wanted.
        weight (Tensor, optional): a factor per class or element. Default: None.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Returns:
        Tensor: a number, or of the inputs' shape. Floats keep their dtype; bool and ints give float32; not for
            complex.

    Raises:
        ValueError: if the shape of `labels` does not fit, or `reduction` is not one of those named.

    Example:
        >>> print(ops.binary_cross_entropy(Tensor([0.5, 0.5]), Tensor([1.0, 0.0])))
        0.6931472
    """
    _same_shape("binary_cross_entropy", logits=logits, labels=labels)
    x = clamp(logits, 1e-12, 1.0 - 1e-7)
    loss = -(labels * log(x) + (1.0 - labels) * log(1.0 - x))
    return reduce_loss(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                     pos_weight: Tensor | None = None, reduction: str = "mean") -> Tensor:
    """Cross entropy of sigmoid(logits).

    Args:
        input (Tensor): the input, of any shape and int or float dtype.
        target (Tensor): what is wanted.
        weight (Tensor, optional): a factor per class or element. Default: None.
        pos_weight (Tensor, optional): a factor for positive examples. Default: None.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Returns:
        Tensor: a number, or of the inputs' shape. Floats keep their dtype; ints give float32; not for bool and
            complex.

    Raises:
        ValueError: if the shape of `target` does not fit, or the shape of `weight` does not fit, or the shape of
            `pos_weight` does not fit, or `reduction` is not one of those named.

    Example:
        >>> print(ops.binary_cross_entropy_with_logits(Tensor([0.0, 0.0]), Tensor([1.0, 0.0]), ops.ones(2),
        ...     ops.ones(2)))
        0.6931472
    """
    _same_shape("binary_cross_entropy_with_logits", input=input, target=target)
    if pos_weight is None:
        loss = _ops["softplus"](input) - target * input
    else:
        loss = (1.0 - target) * input + (1.0 + (pos_weight - 1.0) * target) * _ops["softplus"](-input)
    return reduce_loss(loss if weight is None else loss * weight, reduction)


def kl_div(logits: Tensor, labels: Tensor, reduction: str = "mean") -> Tensor:
    """labels * (log(labels) - logits).

    Args:
        logits (Tensor): unnormalised scores.
        labels (Tensor): what is wanted.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Returns:
        Tensor: a number, or of the inputs' shape. Floats keep their dtype; bool and ints give float32; not for
            complex.

    Raises:
        ValueError: if the shape of `labels` does not fit, or `reduction` is not one of those named.

    Example:
        >>> print(ops.kl_div(Tensor([-1.0, -2.0]), Tensor([0.5, 0.5])))
        0.4034264
    """
    _same_shape("kl_div", logits=logits, labels=labels)
    loss = _ops["select"](labels > 0, labels * (log(_ops["select"](labels > 0, labels, 1.0)) - logits), 0.0)
    if reduction == "batchmean":
        return sum(loss) / logits.shape[0]
    return reduce_loss(loss, reduction)


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                        reduction: str = "mean") -> Tensor:
    """max(0, -target * (input1 - input2) + margin), target 1 or -1.

    Args:
        input1 (Tensor): the first operand.
        input2 (Tensor): the second operand.
        target (Tensor): what is wanted.
        margin (float, optional): the margin. Default: 0.0.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Returns:
        Tensor: a number, or of the inputs' shape. Floats keep their dtype; ints give float32; not for bool and
            complex.

    Raises:
        TypeError: if `input1` is not a Tensor.
        ValueError: if the shape of `input2` does not fit, or the shape of `target` does not fit, or `reduction` is not
            one of those named.

    Example:
        >>> print(ops.margin_ranking_loss(Tensor([1.0, 2.0]), Tensor([2.0, 1.0]), Tensor([1.0, 1.0])))
        0.5
    """
    return reduce_loss(_ops["at_least"](-target * (input1 - input2) + margin, 0.0), reduction)


def hinge_embedding_loss(inputs: Tensor, targets: Tensor, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """inputs where targets are above 0 (1), max(0, margin - inputs) where they are below (-1).

    Args:
        inputs (Tensor): the input, of any shape and bool, int or float dtype.
        targets (Tensor): what is wanted.
        margin (float, optional): the margin. Default: 1.0.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Returns:
        Tensor: a number, or of the inputs' shape. Floats keep their dtype; bool and ints give float32; not for
            complex.

    Raises:
        TypeError: if `inputs` is not a Tensor.
        ValueError: if the shape of `targets` does not fit, or `reduction` is not one of those named.

    Example:
        >>> print(ops.hinge_embedding_loss(Tensor([0.5, 0.25]), Tensor([1.0, -1.0])))
        0.625
    """
    loss = _ops["select"](targets > 0, inputs,
                          _ops["select"](targets < 0, _ops["maximum"](margin - inputs, 0.0), 0.0 * inputs))
    return reduce_loss(loss, reduction)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 . x2 / (|x1| |x2|) along one axis, the norms at least eps.

    Args:
        x1 (Tensor): the first operand.
        x2 (Tensor): the second operand.
        dim (int, optional): the axis. Default: 1.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-08.

    Returns:
        Tensor without the axis. Floats keep their dtype; ints give float32; not for bool and complex.

    Raises:
        TypeError: if `x1` is not a Tensor.
        ValueError: if the shape of `x2` does not fit, or `dim` is out of range.

    Example:
        >>> print(ops.cosine_similarity(Tensor([[1.0, 0.0]]), Tensor([[1.0, 1.0]])))
        [0.70710677]
    """
    sizes = [_ops["maximum"](_ops["distance_root"](sum(square(x), dim)), eps) for x in (x1, x2)]
    return sum(x1 * x2, dim) / (sizes[0] * sizes[1])


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                          reduction: str = "mean") -> Tensor:
    """1 - cos where target is 1, max(0, cos - margin) where it is -1. input1, input2 [N, D] or [D].

    Args:
        input1 (Tensor): the first operand.
        input2 (Tensor): the second operand.
        target (Tensor): what is wanted.
        margin (float, optional): the margin. Default: 0.0.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Returns:
        Tensor: a number, or one value per row. Floats keep their dtype; ints give float32; not for bool and
            complex.

    Raises:
        ValueError: if the shapes of both don't broadcast, or `reduction` is not one of those named, or `margin` is not
            in [-1, 1].

    Example:
        >>> print(ops.cosine_embedding_loss(Tensor([[1.0, 0.0]]), Tensor([[0.0, 1.0]]), Tensor([1], ms.int32)))
        1.0
    """
    if not -1 <= margin <= 1:
        raise _check.refused("cosine_embedding_loss", "margin", _check.within(-1, 1), margin)
    axis = input1.ndim - 1 if input1.ndim < 2 else 1
    cos = sum(input1 * input2, axis) / sqrt((sum(square(input1), axis) + 1e-12) * (sum(square(input2), axis) + 1e-12))
    loss = _ops["select"](target == 1, 1.0 - cos,
                          _ops["select"](target == -1, _ops["maximum"](cos - margin, 0.0), 0.0 * cos))
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


def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: int = 2,
                        eps: float = 1e-6, swap: bool = False, reduction: str = "mean") -> Tensor:
    """max(0, |anchor - positive|_p - |anchor - negative|_p + margin) (Balntas et al.

    2016); swap: the lesser of the distances from the negative.

    Args:
        anchor (Tensor): the anchors.
        positive (Tensor): what should be near.
        negative (Tensor): what should be far.
        margin (float, optional): the margin. Default: 1.0.
        p (int, optional): the order of the norm. Default: 2.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-06.
        swap (bool, optional): whether the lesser distance from the negative counts. Default: False.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Returns:
        Tensor: a number, or one value per row. Floats keep their dtype; ints give float32; not for bool and
            complex.

    Raises:
        TypeError: if `anchor` is not a Tensor.
        ValueError: if the shape of `positive` does not fit, or the shape of `negative` does not fit, or `reduction` is
            not one of those named.

    Example:
        >>> print(ops.triplet_margin_loss(Tensor([[0.0, 0.0]]), Tensor([[1.0, 0.0]]), Tensor([[0.0, 1.0]])))
        1.0
    """
    near, far = _distance(anchor, positive, p, eps), _distance(anchor, negative, p, eps)
    if swap:
        far = _ops["minimum"](far, _distance(positive, negative, p, eps))
    return _triplet(near, far, margin, reduction)


def gaussian_nll_loss(x: Tensor, target: Tensor, var: Tensor, full: bool = False, eps: float = 1e-6,
                      reduction: str = "mean") -> Tensor:
    """(log(max(var, eps)) + (x - target)^2 / max(var, eps)) / 2, with full also log(2 pi) / 2.

    Args:
        x (Tensor): the input, of any shape and any dtype.
        target (Tensor): what is wanted.
        var (Tensor): the variance.
        full (bool, optional): whether the constant is added. Default: False.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-06.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Returns:
        Tensor: a number, or of the inputs' shape. Floats keep their dtype; ints give float32; not for bool and
            complex.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if the shape of `target` does not fit, or the shape of `var` does not fit, or `reduction` is not one
            of those named, or `eps` is not greater than 0.

    Example:
        >>> print(ops.gaussian_nll_loss(Tensor([1.0, 2.0]), Tensor([1.0, 4.0]), Tensor([1.0, 1.0])))
        1.0
    """
    if eps <= 0:
        raise _check.refused("gaussian_nll_loss", "eps", _check.above(0), eps)
    v = _ops["maximum"](var, eps)
    loss = 0.5 * (log(v) + square(x - target) / v)
    return reduce_loss(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


@_named(functional=True)
def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target * input)), target 1 or -1.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        target (Tensor): what is wanted.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Returns:
        Tensor: a number, or of the inputs' shape. Floats keep their dtype; ints give float32; not for bool and
            complex.

    Raises:
        ValueError: if the shape of `target` does not fit, or `reduction` is not one of those named.

    Example:
        >>> print(ops.soft_margin_loss(Tensor([0.0, 0.0]), Tensor([1.0, -1.0])))
        0.6931472
    """
    _same_shape("soft_margin_loss", input=input, target=target)
    return reduce_loss(_ops["softplus"](-target * input), reduction)


def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                reduction: str = "mean") -> Tensor:
    """Mean over the classes of the cross entropy of sigmoid(input). input, target [N, C].

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        target (Tensor): what is wanted.
        weight (Tensor, optional): a factor per class or element. Default: None.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Returns:
        Tensor: a number, or one value per row. Floats keep their dtype; bool and ints give float32; not for
            complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `target` does not fit, or `reduction` is not one of those named.

    Example:
        >>> print(ops.multilabel_soft_margin_loss(Tensor([[0.0, 0.0]]), Tensor([[1.0, 0.0]])))
        0.6931472
    """
    loss = _ops["softplus"](input) - target * input
    return reduce_loss(mean(loss if weight is None else loss * weight, -1), reduction)


def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1, weight: Tensor | None = None,
                      reduction: str = "mean") -> Tensor:
    """Sum over the other classes of max(0, margin - input[target] + input)^p, over C. input [N, C], target [N].

    Args:
        input (Tensor): the input [N, C], of bool, int or float dtype.
        target (Tensor): what is wanted.
        p (int, optional): the exponent, 1 or 2. Default: 1.
        margin (float, optional): the margin. Default: 1.
        weight (Tensor, optional): a factor per class or element. Default: None.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Returns:
        Tensor: a number, or one value per row. Floats keep their dtype; bool and ints give float32; not for
            complex.

    Raises:
        ValueError: if the shape of `target` does not fit, or `reduction` is not one of those named, or `p` is not 1 or
            2.

    Example:
        >>> print(ops.multi_margin_loss(Tensor([[1.0, 0.5]]), Tensor([0])))
        0.25
    """
    if p not in (1, 2):
        raise _check.refused("multi_margin_loss", "p", _check.one_of(1, 2), p)
    classes = input.shape[-1]
    at = expand_dims(target, -1)
    gap = _ops["maximum"](margin - _ops["gather_d"](input, at, -1) + input, 0.0)
    if p == 2:
        gap = square(gap)
    if weight is not None:
        gap = gap * _ops["gather"](weight, at, 0)
    others = arange(classes) != at
    return reduce_loss(sum(_ops["select"](others, gap, 0.0), -1) / float(classes), reduction)


def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Sum over labels j and other classes i of max(0, 1 - input[j] + input[i]), over C.

    target: labels up to the first -1. [N, C] or [C].

    Args:
        input (Tensor): the input, of 2 dimensions and int or float dtype.
        target (Tensor): what is wanted.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Returns:
        Tensor: a number, or one value per row. Floats keep their dtype; ints give float32; not for bool and
            complex.

    Raises:
        ValueError: if the shape of `target` does not fit, or `reduction` is not one of those named.

    Example:
        >>> print(ops.multilabel_margin_loss(Tensor([[0.0, 1.0]]), Tensor([[0, -1]], ms.int32)))
        1.0
    """
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


def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int = 0,
             reduction: str = "mean", zero_infinity: bool = False) -> tuple[Tensor, Tensor]:
    """Connectionist temporal classification (Graves et al. 2006): (loss, log alpha [N, T, 2 S + 1]).

    log_probs [T, N, C] of log-probabilities, targets [N, S] of labels, lengths [N]. 'mean' divides each loss by its
    target's length first.

    Args:
        input_lengths (Tensor): the steps of each example.
        target_lengths (Tensor): the labels of each example.
        blank (int, optional): the blank class. Default: 0.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.
        zero_infinity (bool, optional): whether infinite losses count as 0. Default: False.

    Returns:
        (Tensor, Tensor). Floats keep their dtype; bool and ints give float32; not for complex.

    Raises:
        ValueError: if the shape of `targets` does not fit, or the shape of `input_lengths` does not fit, or the shape
            of `target_lengths` does not fit, or `reduction` is not one of those named, or `log_probs` does not have 3
            dimensions and `targets` 2, or `blank` is out of range.

    Example:
        >>> print(ops.ctc_loss(ops.log_softmax(ops.zeros((2, 1, 3))), Tensor([[1]], ms.int32), Tensor([2], ms.int32),
        ...     Tensor([1], ms.int32))[0])
        1.0986123
    """
    if log_probs.ndim != 3 or targets.ndim != 2:
        raise _check.refused("ctc_loss", "log_probs", _check.value("have 3 dimensions and 'targets' 2"),
                             _check.several(log_probs.ndim, targets.ndim))
    steps, batch, classes = log_probs.shape
    if targets.shape[0] != batch:
        raise _check.refused("ctc_loss", "targets", _check.value(f"have {batch} rows"), targets.shape[0])
    if not 0 <= blank < classes:
        raise _check.refused("ctc_loss", "blank", _check.within(0, classes, "[)"), blank)
    input_lengths, target_lengths = (x if isinstance(x, Tensor) else Tensor(list(x), mstype.int64)
                                     for x in (input_lengths, target_lengths))
    places = 2 * targets.shape[1] + 1
    blanks = targets * 0 + blank
    labels = cat([reshape(stack([blanks, targets], 2), (batch, places - 1)),
                  blanks[:, :1] if places > 1 else _filled((batch, 1), blank, dtype=targets.dtype)], 1)
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
    used = reshape(arange(places), (1, 1, places)) <= reshape(target_lengths, (batch, 1, 1)) * 2
    last = _ops["gather_d"](table, broadcast_to(reshape(input_lengths, (batch, 1, 1)) - 1, (batch, 1, places)), 1)
    last = reshape(last, (batch, places))
    end = expand_dims(target_lengths, 1) * 2
    final = _ops["gather_d"](last, end, 1)
    before = _ops["select"](end > 0, _ops["gather_d"](last, _ops["maximum"](end - 1, 0), 1), low)
    loss = -squeeze(_log_sum(final, before), 1)
    table = _ops["select"](used, table, low)
    if zero_infinity:
        loss = _ops["select"](isfinite(loss), loss, 0.0)
    if reduction == "mean":
        return mean(loss / _ops["cast"](_ops["maximum"](target_lengths, 1), loss.dtype)), table
    return reduce_loss(loss, reduction), table


def ctc_greedy_decoder(inputs: Any, sequence_length: Any,
                       merge_repeated: bool = True) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The best class at each step, without blanks and (merge_repeated) immediate repetitions.

    inputs: [time, batch, classes] float32 or float64, whose last class is the blank; sequence_length: [batch] int32.
        Returns (indices [n, 2]
    int64 of (batch, place), values [n] int64, shape [2] int64, log probabilities [batch, 1]: minus the sums of the best
    inputs). Raises RuntimeError for sequences longer than there are steps.

    Example:
        >>> print(ops.ctc_greedy_decoder(Tensor([[[0.9, 0.1]], [[0.1, 0.9]]]), Tensor([2], ms.int32))[1])
        [0]
    """
    _need_tensor("ctc_greedy_decoder", "inputs", inputs)
    _need_tensor("ctc_greedy_decoder", "sequence_length", sequence_length)
    if inputs.ndim != 3 or sequence_length.ndim != 1 or sequence_length.shape[0] != inputs.shape[1]:
        raise _check.expected("ctc_greedy_decoder", "inputs [time, batch, classes] and sequence_length [batch]",
                              _check.several(inputs.shape, sequence_length.shape))
    lengths = sequence_length.asnumpy().tolist()
    if builtins.max(lengths) > inputs.shape[0]:
        raise _check.refused("ctc_greedy_decoder", "sequence_length", _check.at_most(inputs.shape[0]), lengths,
                             RuntimeError)
    best = _ops["argmax"](inputs, -1).asnumpy()
    at, values, longest = [], [], 0
    for b, length in enumerate(lengths):
        previous, count = -1, 0
        for c in best[:length, b].tolist():
            if c != inputs.shape[2] - 1 and not (merge_repeated and c == previous):
                at.append([b, count])
                values.append(c)
                count += 1
            previous = c
        longest = builtins.max(longest, count)
    inside = expand_dims(arange(inputs.shape[0]), 1) < cast(sequence_length, mstype.int64)
    top = _ops["select"](inside, _ops["reduce_max"](inputs, -1, False), 0.0)
    score = -reshape(_ops["reduce_sum"](top, 0, False), (-1, 1))
    return (Tensor(np.array(at, np.int64).reshape(-1, 2)), Tensor(np.array(values, np.int64)),
            Tensor(np.array([len(lengths), longest], np.int64)), score)


def mse_loss_ext(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """As mse_loss.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        target (Tensor): what is wanted.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Returns:
        Tensor. Floats keep their dtype; ints and complex give float32; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `target` does not fit, or `reduction` is not one of those named.

    Example:
        >>> print(ops.mse_loss_ext(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])))
        2.0
    """
    return mse_loss(input, target, reduction)
