"""Losses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pijit import _check
from pijit import dtype as mstype
from pijit._C import Tensor
from pijit.nn.cell import Cell
from pijit.nn.layer.activation import LogSoftmax, get_activation
from pijit.nn.layer.common import OperatorCell
from pijit.ops import function as F
from pijit.ops import primitives as P
from pijit.ops.function.loss import _likelihood_loss, reduce_loss

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from pijit._types import Number


def _need_tensors(name, *values):
    for value in values:
        if not isinstance(value, Tensor):
            raise _check.refused(name, "the inputs", _check.type_("Tensors"), value)


class LossBase(Cell):
    """Base of losses: 'mean', 'sum' or 'none' over the elements.

    Args:
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Example:
        >>> print(nn.LossBase("sum").get_loss(Tensor([1.0, 2.0]), 0.5))
        1.5
    """

    average: bool
    reduce: bool
    reduce_mean: Any
    reduce_sum: Any
    mul: Any
    cast: Any

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        if reduction is None:
            reduction = "none"
        if reduction not in ("mean", "sum", "none"):
            raise _check.refused(type(self).__name__, "reduction", _check.one_of("none", "mean", "sum"), reduction)
        self.reduction = reduction
        self.average, self.reduce = reduction == "mean", reduction != "none"
        self.reduce_mean, self.reduce_sum, self.mul, self.cast = P.ReduceMean(), P.ReduceSum(), P.Mul(), P.Cast()

    def get_axis(self, x: Tensor) -> tuple[int, ...]:
        """All axes of x, as a tuple."""
        return tuple(range(x.ndim))

    def get_loss(self, x: Tensor, weights: float = 1.0) -> Any:
        """x, weighted and reduced."""
        x = self.mul(x, weights)
        if not self.reduce:
            return x
        return (self.reduce_mean if self.average else self.reduce_sum)(x, self.get_axis(x))


class MSELoss(LossBase):
    """Mean squared error.

    Args:
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Inputs:
        logits: Tensor.
        labels: Tensor of its shape.

    Outputs:
        Tensor: a number, or of logits's shape.

    Raises:
        ValueError: if `reduction` is not one of those named.

    Example:
        >>> print(nn.MSELoss()(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])))
        2.0
    """

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        _need_tensors("MSELoss", logits, labels)
        return F.mse_loss(logits, labels, self.reduction)


class L1Loss(LossBase):
    """Mean absolute error.

    Args:
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Inputs:
        logits: Tensor.
        labels: Tensor of its shape.

    Outputs:
        Tensor: a number, or of logits's shape.

    Raises:
        ValueError: if `reduction` is not one of those named.

    Example:
        >>> print(nn.L1Loss()(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])))
        1.0
    """

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.l1_loss(logits, labels, self.reduction)


class SmoothL1Loss(LossBase):
    """Quadratic below beta, linear above.

    Args:
        beta (number, optional): a factor. Default: 1.0.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'none'.

    Inputs:
        logits: Tensor.
        labels: Tensor of its shape.

    Outputs:
        Tensor: a number, or of logits's shape.

    Raises:
        ValueError: if `reduction` is not one of those named.

    Example:
        >>> print(nn.SmoothL1Loss()(Tensor([1.0, 2.0]), Tensor([1.5, 4.0])))
        [0.125 1.5  ]
    """

    def __init__(self, beta: Number = 1.0, reduction: str = "none") -> None:
        super().__init__(reduction)
        self.beta = beta
        self.smooth_l1_loss: Any = P.SmoothL1Loss(beta, self.reduction)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        _need_tensors("SmoothL1Loss", logits, labels)
        return self.smooth_l1_loss(logits, labels)


class HuberLoss(LossBase):
    """Quadratic below delta, linear above.

    Args:
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.
        delta (float, optional): the border between the two parts. Default: 1.0.

    Inputs:
        logits: Tensor.
        labels: Tensor of its shape.

    Outputs:
        Tensor: a number, or of logits's shape.

    Raises:
        ValueError: if `reduction` is not one of those named.

    Example:
        >>> print(nn.HuberLoss()(Tensor([1.0, 2.0]), Tensor([1.5, 4.0])))
        0.8125
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = delta

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        _need_tensors("HuberLoss", logits, labels)
        return F.huber_loss(logits, labels, self.reduction, self.delta)


class SoftmaxCrossEntropyWithLogits(OperatorCell, LossBase):
    """Softmax cross entropy; sparse labels are class indices, others probabilities.

    Args:
        sparse (bool, optional): whether labels are classes. Default: False.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'none'.

    Inputs:
        logits: Tensor [N, C].
        labels: Tensor [N] of classes, or [N, C].

    Outputs:
        Tensor: [N], or a number.

    Raises:
        ValueError: if `reduction` is not one of those named, or the shape of `labels` does not fit.
        IndexError: if there is no such class.

    Example:
        >>> print(nn.SoftmaxCrossEntropyWithLogits(sparse=True)(Tensor([[0.0, 0.0]]), Tensor([0], ms.int32)))
        [0.6931472]
    """

    def __init__(self, sparse: bool = False, reduction: str = "none") -> None:
        super().__init__(reduction)
        self.sparse = sparse
        self.operators(softmax_cross_entropy=P.SoftmaxCrossEntropyWithLogits(),
                       sparse_softmax_cross_entropy=P.SparseSoftmaxCrossEntropyWithLogits(),
                  one_hot=P.OneHot())

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        _need_tensors("SoftmaxCrossEntropyWithLogits", logits, labels)
        if self.replaced():
            if self.sparse and self.reduction == "mean":
                return self.sparse_softmax_cross_entropy(logits, labels)
            if self.sparse:
                labels = self.one_hot(labels, logits.shape[-1], 1.0, 0.0)
            return self.get_loss(self.softmax_cross_entropy(logits, labels)[0])
        if self.sparse:
            # Else -1 would be the last class, and nll_loss would ignore -100.
            labels = F.select(labels < 0, logits.shape[-1], labels)
            loss = _likelihood_loss("SoftmaxCrossEntropyWithLogits", F.log_softmax(logits, -1), labels,
                                    reduction="none")
        else:
            loss = -F.sum(F.log_softmax(logits, -1) * labels, -1)
        return reduce_loss(loss, self.reduction)


class CrossEntropyLoss(LossBase):
    """Softmax cross entropy with class weights, ignored indices and label smoothing.

    Args:
        weight (Tensor, optional): a factor per class or element. Default: None.
        ignore_index (int, optional): a class that doesn't count. Default: -100.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.
        label_smoothing (float, optional): the share in [0, 1] that goes to all classes alike. Default: 0.0.

    Inputs:
        logits: Tensor [N, C, ...].
        labels: Tensor [N, ...] of classes, or of logits's shape.

    Outputs:
        Tensor: a number, or of the classes' shape.

    Raises:
        ValueError: if `reduction` is not one of those named.

    Example:
        >>> print(nn.CrossEntropyLoss()(Tensor([[0.0, 0.0]]), Tensor([0], ms.int32)))
        0.6931472
    """

    weight: Tensor | None
    ignore_index: int
    label_smoothing: float

    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean",
                 label_smoothing: float = 0.0) -> None:
        super().__init__(reduction)
        self.weight, self.ignore_index, self.label_smoothing = weight, ignore_index, label_smoothing

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        _need_tensors("CrossEntropyLoss", logits, labels)
        return F.cross_entropy(logits, labels, self.weight, self.ignore_index, self.reduction, self.label_smoothing)


class NLLLoss(LossBase):
    """Negative log likelihood of log-probabilities.

    Args:
        weight (Tensor, optional): a factor per class or element. Default: None.
        ignore_index (int, optional): a class that doesn't count. Default: -100.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Inputs:
        logits: Tensor [N, C, ...] of log-probabilities.
        labels: Tensor [N, ...] of classes.

    Outputs:
        Tensor: a number, or of labels's shape.

    Raises:
        ValueError: if `reduction` is not one of those named.

    Example:
        >>> print(nn.NLLLoss()(Tensor([[-0.5, -1.0]]), Tensor([0], ms.int32)))
        0.5
    """

    weight: Tensor | None
    ignore_index: int

    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight, self.ignore_index = weight, ignore_index

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.nll_loss(logits, labels, self.weight, self.ignore_index, self.reduction)


class BCELoss(LossBase):
    """Cross entropy of probabilities.

    Args:
        weight (Tensor, optional): a factor per class or element. Default: None.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Inputs:
        logits: Tensor in [0, 1].
        labels: Tensor of its shape.

    Outputs:
        Tensor: a number, or of logits's shape.

    Raises:
        ValueError: if `reduction` is not one of those named.

    Example:
        >>> print(nn.BCELoss()(Tensor([0.5, 0.5]), Tensor([1.0, 0.0])))
        0.6931472
    """

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        _need_tensors("BCELoss", logits, labels)
        return F.binary_cross_entropy(logits, labels, self.weight, self.reduction)


class BCEWithLogitsLoss(LossBase):
    """Cross entropy of sigmoid(logits).

    Args:
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.
        weight (Tensor, optional): a factor per class or element. Default: None.
        pos_weight (Tensor, optional): a factor for positive examples. Default: None.

    Inputs:
        logits: Tensor.
        labels: Tensor of its shape.

    Outputs:
        Tensor: a number, or of logits's shape.

    Raises:
        ValueError: if `reduction` is not one of those named.

    Example:
        >>> print(nn.BCEWithLogitsLoss()(Tensor([0.0, 0.0]), Tensor([1.0, 0.0])))
        0.6931472
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(self, reduction: str = "mean", weight: Tensor | None = None, pos_weight: Tensor | None = None) -> None:
        super().__init__(reduction)
        self.weight, self.pos_weight = weight, pos_weight

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        _need_tensors("BCEWithLogitsLoss", logits, labels)
        return F.binary_cross_entropy_with_logits(logits, labels, self.weight, self.pos_weight, self.reduction)


class KLDivLoss(LossBase):
    """labels * (log(labels) - logits).

    Args:
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Inputs:
        logits: Tensor of log-probabilities.
        labels: Tensor of its shape.

    Outputs:
        Tensor: a number, or of logits's shape.

    Raises:
        ValueError: if `reduction` is not one of those named.

    Example:
        >>> print(nn.KLDivLoss()(Tensor([-1.0, -2.0]), Tensor([0.5, 0.5])))
        0.4034264
    """

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        _need_tensors("KLDivLoss", logits, labels)
        return F.kl_div(logits, labels, self.reduction)


class MAELoss(LossBase):
    """Mean absolute error.

    Args:
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Inputs:
        logits: Tensor.
        label: Tensor that broadcasts with it.

    Outputs:
        Tensor: a number, or of the common shape.

    Raises:
        ValueError: if `reduction` is not one of those named.

    Example:
        >>> print(nn.MAELoss()(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])))
        1.0
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.abs: Any = P.Abs()

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        return self.get_loss(self.abs(logits - label))


class RMSELoss(LossBase):
    """The root of the mean squared error.

    Inputs:
        logits: Tensor.
        label: Tensor of its shape.

    Outputs:
        0-d Tensor.

    Example:
        >>> print(nn.RMSELoss()(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])))
        1.4142135
    """

    def __init__(self) -> None:
        super().__init__()
        self.MSELoss: MSELoss = MSELoss()

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        return F.sqrt(self.MSELoss(logits, label))


class DiceLoss(LossBase):
    """1 - (2 sum(x y) + smooth) / (sum(x^2) + sum(y^2) + smooth) (Milletari et al. 2016).

    Args:
        smooth (float, optional): what is added to both parts of the quotient. Default: 1e-05.

    Inputs:
        logits: Tensor.
        label: Tensor of its shape.

    Outputs:
        0-d Tensor.

    Example:
        >>> print(nn.DiceLoss()(Tensor([1.0, 0.0]), Tensor([1.0, 0.0])))
        0.0
    """

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        _check.need("DiceLoss", "smooth", smooth, _check.above(0))
        self.smooth = smooth

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        if logits.shape != label.shape:
            raise _check.differ("DiceLoss", ("logits", "label"), "shape", logits.shape, label.shape)
        both = F.sum(logits * label)
        return 1.0 - (2.0 * both + self.smooth) / (F.sum(logits * logits) + F.sum(label * label) + self.smooth)


class MultiClassDiceLoss(LossBase):
    """Dice losses of the columns of [N, C], weighted, and their mean.

    Args:
        weights (Tensor, optional): a weight per element. Default: None.
        ignore_indiex (int, optional): a column that doesn't count. Default: None.
        activation (str, Cell or function, optional): what is applied to the output. Default: 'softmax'.

    Inputs:
        logits: Tensor [N, C].
        label: Tensor of its shape.

    Outputs:
        0-d Tensor.

    Example:
        >>> print(nn.MultiClassDiceLoss(activation=None)(Tensor([[1.0, 0.0], [0.0, 1.0]]),
        ...     Tensor([[1.0, 0.0], [0.0, 1.0]])))
        0.0
    """

    weights: Tensor | None
    ignore_indiex: int | None

    def __init__(self, weights: Tensor | None = None, ignore_indiex: int | None = None,
                 activation: str | Cell | Callable[..., Any] = "softmax") -> None:
        super().__init__()
        self.binarydiceloss: DiceLoss = DiceLoss(1e-5)
        self.weights, self.ignore_indiex = weights, ignore_indiex
        self.activation: Any = get_activation(activation) if isinstance(activation, str) else activation

    def construct(self, logits: Tensor, label: Tensor) -> Any:
        if self.activation is not None:
            logits = self.activation(logits)
        total = 0.0
        for k in range(label.shape[1]):
            if k != self.ignore_indiex:
                loss = self.binarydiceloss(logits[:, k], label[:, k])
                total = total + (loss if self.weights is None else loss * self.weights[k])
        return total / label.shape[1]


class FocalLoss(LossBase):
    """-(1 - p)^gamma log p of the label's class (Lin et al.

    2017). logits [N, C(, H(, W))], labels of class indices, or one-hot of logits' shape.

    Args:
        weight (Tensor, optional): a factor per class or element. Default: None.
        gamma (float, optional): the exponent. Default: 2.0.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Inputs:
        logits: Tensor [N, C, ...].
        targets: Tensor [N, 1, ...] of classes, or of logits's shape.

    Outputs:
        Tensor.

    Raises:
        ValueError: if `reduction` is not one of those named.

    Example:
        >>> print(nn.FocalLoss()(Tensor([[0.0, 0.0]]), Tensor([[1]], ms.int32)))
        0.1732868
    """

    weight: Tensor | None
    gamma: float
    logsoftmax: Any

    def __init__(self, weight: Tensor | None = None, gamma: float = 2.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight, self.gamma, self.logsoftmax = weight, float(gamma), LogSoftmax(1)

    def construct(self, logits: Tensor, targets: Tensor) -> Tensor:
        n, c = logits.shape[:2]
        logp = self.logsoftmax(F.reshape(logits, (n, c, -1)))
        targets = F.reshape(targets, (n, targets.shape[1], -1))
        if targets.shape[1] == 1:
            at = F.cast(targets, mstype.int32)
            own = F.squeeze(F.gather_elements(logp, 1, at), 1)
            loss = -F.pow(1.0 - F.exp(own), self.gamma) * own
            if self.weight is not None:
                loss = loss * F.gather(self.weight, F.squeeze(at, 1), 0)
            loss = F.mean(loss, 1)
        else:
            loss = -F.pow(1.0 - F.exp(logp), self.gamma) * logp * targets
            if self.weight is not None:
                loss = loss * F.reshape(self.weight, (1, -1, 1))
            loss = F.mean(loss, -1)
        return self.get_loss(loss)


class PoissonNLLLoss(LossBase):
    """exp(x) - y x, or x - y log(x + eps) where x is no logarithm; full: with Stirling's term of log(y!) where y > 1.

    Args:
        log_input (bool, optional): whether inputs are logarithms. Default: True.
        full (bool, optional): whether the constant is added. Default: False.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-08.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Inputs:
        input: Tensor.
        target: Tensor of its shape.

    Outputs:
        Tensor: a number, or of input's shape.

    Raises:
        ValueError: if `reduction` is not one of those named, or `eps` is not greater than 0.

    Example:
        >>> print(nn.PoissonNLLLoss()(Tensor([0.0, 0.0]), Tensor([1.0, 2.0])))
        1.0
    """

    log_input: bool
    full: bool
    eps: float

    def __init__(self, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean") -> None:
        super().__init__(reduction)
        _check.need("PoissonNLLLoss", "eps", eps, _check.above(0))
        self.log_input, self.full, self.eps = log_input, full, eps

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        loss = F.exp(input) - target * input if self.log_input else input - target * F.log(input + self.eps)
        if self.full:
            y = F.maximum(target, 1.0)
            loss = loss + F.select(target > 1, y * F.log(y) - y + 0.5 * F.log(2 * math.pi * y), 0.0)
        return self.get_loss(loss)


class CosineEmbeddingLoss(LossBase):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1.

    Args:
        margin (float, optional): the margin. Default: 0.0.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Inputs:
        logits_x1: Tensor [N, D].
        logits_x2: Tensor of its shape.
        labels: Tensor [N] of 1 and -1.

    Outputs:
        Tensor: a number, or [N].

    Raises:
        ValueError: if `reduction` is not one of those named.

    Example:
        >>> print(nn.CosineEmbeddingLoss()(Tensor([[1.0, 0.0]]), Tensor([[0.0, 1.0]]), Tensor([1], ms.int32)))
        1.0
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin: float = float(margin)

    def construct(self, logits_x1: Tensor, logits_x2: Tensor, labels: Tensor) -> Tensor:
        _need_tensors("CosineEmbeddingLoss", logits_x1, logits_x2, labels)
        return F.cosine_embedding_loss(logits_x1, logits_x2, labels, self.margin, self.reduction)


class MarginRankingLoss(LossBase):
    """max(0, -target * (input1 - input2) + margin).

    Args:
        margin (float, optional): the margin. Default: 0.0.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Inputs:
        input1: Tensor.
        input2: Tensor of its shape.
        target: Tensor of 1 and -1.

    Outputs:
        Tensor: a number, or of input1's shape.

    Raises:
        ValueError: if `reduction` is not one of those named.

    Example:
        >>> print(nn.MarginRankingLoss()(Tensor([1.0, 2.0]), Tensor([2.0, 1.0]), Tensor([1.0, 1.0])))
        0.5
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin: float = float(margin)

    def construct(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        _need_tensors("MarginRankingLoss", input1, input2, target)
        return F.margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


class HingeEmbeddingLoss(LossBase):
    """x where the label is 1, max(0, margin - x) where it is -1.

    Args:
        margin (float, optional): the margin. Default: 1.0.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Inputs:
        logits: Tensor.
        labels: Tensor of 1 and -1.

    Outputs:
        Tensor: a number, or of logits's shape.

    Raises:
        ValueError: if `reduction` is not one of those named.

    Example:
        >>> print(nn.HingeEmbeddingLoss()(Tensor([0.5, 0.25]), Tensor([1.0, -1.0])))
        0.625
    """

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin: float = float(margin)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.hinge_embedding_loss(logits, labels, self.margin, self.reduction)


class TripletMarginLoss(LossBase):
    """max(0, |x - positive|_p - |x - negative|_p + margin) (Balntas et al. 2016).

    Args:
        p (int, optional): the order of the norm. Default: 2.
        swap (bool, optional): whether the lesser distance from the negative counts. Default: False.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-06.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.
        margin (float, optional): the margin. Default: 1.0.

    Inputs:
        x: Tensor [N, D].
        positive, negative: Tensors of its shape.
        margin: in place of the layer's.

    Outputs:
        Tensor: a number, or [N].

    Raises:
        ValueError: if `reduction` is not one of those named.

    Example:
        >>> print(nn.TripletMarginLoss()(Tensor([[0.0, 0.0]]), Tensor([[1.0, 0.0]]), Tensor([[0.0, 1.0]])))
        1.0
    """

    p: int
    swap: bool
    eps: float
    margin: float

    def __init__(self, p: int = 2, swap: bool = False, eps: float = 1e-6, reduction: str = "mean",
                 margin: float = 1.0) -> None:
        super().__init__(reduction)
        self.p, self.swap, self.eps, self.margin = p, swap, eps, margin

    def construct(self, x: Tensor, positive: Tensor, negative: Tensor, margin: float | None = None) -> Tensor:
        _need_tensors("TripletMarginLoss", x, positive, negative)
        return F.triplet_margin_loss(x, positive, negative, self.margin if margin is None else margin, self.p, self.eps,
                                     self.swap, self.reduction)


class TripletMarginWithDistanceLoss(LossBase):
    """max(0, d(x, positive) - d(x, negative) + margin), d Euclidean by default.

    Args:
        distance_function (function, optional): of two Tensors. Default: None.
        swap (bool, optional): whether the lesser distance from the negative counts. Default: False.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.
        margin (float, optional): the margin. Default: 1.0.

    Inputs:
        x: Tensor [N, D].
        positive, negative: Tensors of its shape.

    Outputs:
        Tensor: a number, or [N].

    Raises:
        ValueError: if `reduction` is not one of those named, or `margin` is not greater than 0.

    Example:
        >>> print(nn.TripletMarginWithDistanceLoss()(Tensor([[0.0, 0.0]]), Tensor([[1.0, 0.0]]), Tensor([[0.0, 1.0]])))
        1.0
    """

    swap: bool
    margin: float
    minimum: Any
    maximum: Any

    def __init__(self, distance_function: Callable[..., Any] | None = None, swap: bool = False, reduction: str = "mean",
                 margin: float = 1.0) -> None:
        super().__init__(reduction)
        _check.need("TripletMarginWithDistanceLoss", "margin", margin, _check.above(0))
        self.distance_function: Callable[..., Any] = self._euclidean if distance_function is None else distance_function
        self.swap, self.margin = swap, margin
        self.minimum, self.maximum = P.Minimum(), P.Maximum()

    @staticmethod
    def _euclidean(x, y):
        return F.sqrt(F.sum(F.square(x - y), -1) + 1e-16)

    def construct(self, x: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        near, far = self.distance_function(x, positive), self.distance_function(x, negative)
        if self.swap:
            far = self.minimum(far, self.distance_function(positive, negative))
        return self.get_loss(self.maximum(near - far + self.margin, 0.0))


class GaussianNLLLoss(LossBase):
    """(log(max(var, eps)) + (x - y)^2 / max(var, eps)) / 2.

    Args:
        full (bool, optional): whether the constant is added. Default: False.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-06.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Inputs:
        logits: Tensor, the means.
        labels: Tensor of its shape.
        var: Tensor, the variances.

    Outputs:
        Tensor: a number, or of logits's shape.

    Raises:
        ValueError: if `reduction` is not one of those named.

    Example:
        >>> print(nn.GaussianNLLLoss()(Tensor([1.0, 2.0]), Tensor([1.0, 4.0]), Tensor([1.0, 1.0])))
        1.0
    """

    full: bool
    eps: float

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.full, self.eps = full, eps

    def construct(self, logits: Tensor, labels: Tensor, var: Tensor) -> Tensor:
        return F.gaussian_nll_loss(logits, labels, var, self.full, self.eps, self.reduction)


class SoftMarginLoss(LossBase):
    """log(1 + exp(-label * x)).

    Args:
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Inputs:
        logits: Tensor.
        labels: Tensor of 1 and -1.

    Outputs:
        Tensor: a number, or of logits's shape.

    Raises:
        ValueError: if `reduction` is not one of those named.

    Example:
        >>> print(nn.SoftMarginLoss()(Tensor([0.0, 0.0]), Tensor([1.0, -1.0])))
        0.6931472
    """

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.soft_margin_loss(logits, labels, self.reduction)


class MultiLabelSoftMarginLoss(LossBase):
    """Mean over the classes of the cross entropy of sigmoid(x).

    Args:
        weight (Tensor, optional): a factor per class or element. Default: None.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Inputs:
        x: Tensor [N, C].
        target: Tensor of its shape.

    Outputs:
        Tensor: a number, or [N].

    Raises:
        ValueError: if `reduction` is not one of those named.

    Example:
        >>> print(nn.MultiLabelSoftMarginLoss()(Tensor([[0.0, 0.0]]), Tensor([[1.0, 0.0]])))
        0.6931472
    """

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, x: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(x, target, self.weight, self.reduction)


class MultiMarginLoss(LossBase):
    """Sum over the other classes of max(0, margin - x[y] + x)^p, over the number of classes.

    Args:
        p (int, optional): the exponent, 1 or 2. Default: 1.
        margin (float, optional): the margin. Default: 1.0.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.
        weight (Tensor, optional): a factor per class or element. Default: None.

    Inputs:
        x: Tensor [N, C].
        target: Tensor [N] of classes.
        weight: Tensor [C], in place of the layer's.

    Outputs:
        Tensor: a number, or [N].

    Raises:
        ValueError: if `p` is not 1 or 2, or `reduction` is not one of those named.

    Example:
        >>> print(nn.MultiMarginLoss()(Tensor([[1.0, 0.5]]), Tensor([0])))
        0.25
    """

    margin: float
    weight: Tensor | None

    def __init__(self, p: int = 1, margin: float = 1.0, reduction: str = "mean", weight: Tensor | None = None) -> None:
        super().__init__(reduction)
        _check.need("MultiMarginLoss", "p", p, _check.one_of(1, 2))
        self.p, self.margin, self.weight = p, margin, weight
        self.multi_margin_loss: Any = P.MultiMarginLoss(p, margin, self.reduction)

    def construct(self, x: Tensor, target: Tensor, weight: Tensor | None = None) -> Tensor:
        return self.multi_margin_loss(x, target, self.weight if weight is None else weight)


class CTCLoss(LossBase):
    """Connectionist temporal classification (Graves et al. 2006).

    Args:
        blank (int, optional): the blank class. Default: 0.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.
        zero_infinity (bool, optional): whether infinite losses count as 0. Default: False.

    Inputs:
        log_probs: Tensor [T, N, C], or [T, C] of a single sequence.
        targets: Tensor [N, S] of classes, or [S].
        input_lengths, target_lengths: Tensors [N], or [1].

    Outputs:
        Tensor: a number, or [N].

    Raises:
        ValueError: if `reduction` is not one of those named.

    Example:
        >>> print(nn.CTCLoss()(ops.log_softmax(ops.zeros((2, 1, 3))), Tensor([[1]], ms.int32), Tensor([2], ms.int32),
        ...     Tensor([1], ms.int32)))
        1.0986123
    """

    blank: int
    zero_infinity: bool

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def construct(self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor) -> Tensor:
        if log_probs.ndim == 2:
            loss = F.ctc_loss(F.expand_dims(log_probs, 1), F.expand_dims(targets, 0), input_lengths, target_lengths,
                              self.blank, self.reduction, self.zero_infinity)[0]
            return F.squeeze(loss, 0) if self.reduction == "none" else loss
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction,
                          self.zero_infinity)[0]


class MultilabelMarginLoss(LossBase):
    """Sum over labels j and other classes i of max(0, 1 - x[j] + x[i]), over the number of classes.

    Args:
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Inputs:
        x: Tensor [N, C].
        target: Tensor of its shape, classes up to the first -1.

    Outputs:
        Tensor: a number, or [N].

    Raises:
        ValueError: if `reduction` is not one of those named.

    Example:
        >>> print(nn.MultilabelMarginLoss()(Tensor([[0.0, 1.0]]), Tensor([[0, -1]], ms.int32)))
        1.0
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.multilabel_margin_loss: Any = P.MultilabelMarginLoss(self.reduction)

    def construct(self, x: Tensor, target: Tensor) -> Tensor:
        return self.multilabel_margin_loss(x, target)


__all__ = [n for n, v in globals().items() if isinstance(v, type) and issubclass(v, LossBase)]
