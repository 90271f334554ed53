"""Confusion matrices, and figures made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit.train.metrics.metric import Metric, is_binary, rearrange_inputs

if TYPE_CHECKING:
    from typing import Any


class ConfusionMatrix(Metric):
    """How often each class (rows) was predicted as each class (columns), as a (num_classes, num_classes) matrix.

    normalize: "no_norm" counts; "target", "prediction" or "all": shares of the rows, the columns or all samples.
    threshold: scores above it are class 1, where predictions are scores of the shape of the labels. update(y_pred, y):
    scores (N, C, …) and labels (N, …), or predictions of the shape of the labels.

    Args:
        num_classes (int): the number of classes.
        normalize (str, optional): 'no_norm', 'target', 'prediction' or 'all'. Default: 'no_norm'.
        threshold (float, optional): from which a score counts as the class. Default: 0.5.

    Example:
        >>> m = nn.ConfusionMatrix(2)
        >>> m.update(Tensor([1, 0]), Tensor([1, 1]))
        >>> m.eval().tolist()
        [[0.0, 0.0], [1.0, 1.0]]
    """

    confusion_matrix: Any

    def __init__(self, num_classes: int, normalize: str = "no_norm", threshold: float = 0.5) -> None:
        super().__init__()
        self.num_classes: int = _check.need("ConfusionMatrix", "num_classes", num_classes, _check.INT,
                                            _check.at_least(1))
        self.normalize: Any = _check.need("ConfusionMatrix", "normalize", normalize, _check.one_of("no_norm",
                                          "target", "prediction", "all"))
        self.threshold: float = float(_check.need("ConfusionMatrix", "threshold", threshold, _check.NUMBER))
        self.clear()

    def clear(self) -> None:
        """Forgets all batches."""
        self.confusion_matrix = np.zeros((self.num_classes, self.num_classes))
        self._is_update = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Takes predictions and labels."""
        y_pred, y = self._take("update", inputs, 2, "predicted value, true value")
        if y_pred.ndim not in (y.ndim, y.ndim + 1):
            raise _check.refused("ConfusionMatrix.update", "the predictions",
                                 _check.shape("of the labels or one dimension more"),
                                 _check.several(y_pred.shape, y.shape))
        if y_pred.ndim == y.ndim + 1:
            y_pred = y_pred.argmax(axis=1)
        elif np.issubdtype(y_pred.dtype, np.floating):
            y_pred = y_pred >= self.threshold
        if y_pred.shape != y.shape:
            raise _check.unfit("ConfusionMatrix.update", f"labels of shape {y.shape}",
                               f"predictions of shape {y_pred.shape}")
        at = (y.reshape(-1) * self.num_classes + y_pred.reshape(-1)).astype(np.int64)
        if at.size and not (0 <= min(y.min(), y_pred.min()) and max(y.max(), y_pred.max()) < self.num_classes):
            raise ValueError(
                f"For 'ConfusionMatrix.update', predictions and labels must be in [0, {self.num_classes}), as "
                f"'num_classes' says.")
        self.confusion_matrix += np.bincount(at, minlength=self.num_classes ** 2).reshape(self.num_classes, -1)
        self._is_update = True

    def eval(self) -> np.ndarray:
        """The matrix, float64. RuntimeError before any batch."""
        if not self._is_update:
            raise self._no_samples()
        m = self.confusion_matrix.astype(float)
        if self.normalize == "no_norm":
            return m
        axis = {"target": 1, "prediction": 0, "all": None}[self.normalize]
        with np.errstate(divide="ignore", invalid="ignore"):
            m = m / m.sum(axis=axis, keepdims=axis is not None)
        return np.where(np.isnan(m), 0.0, m)


def _ratio(a, b):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.true_divide(a, b)


def _prevalence_threshold(tp, fp, tn, fn):
    sensitivity, specificity = _ratio(tp, tp + fn), _ratio(tn, tn + fp)
    return _ratio(np.sqrt(sensitivity * (1 - specificity)) + specificity - 1, sensitivity + specificity - 1)


_FIGURES = {
    "sensitivity": lambda tp, fn, **_: _ratio(tp, tp + fn),
    "specificity": lambda fp, tn, **_: _ratio(tn, tn + fp),
    "precision": lambda tp, fp, **_: _ratio(tp, tp + fp),
    "negative predictive value": lambda tn, fn, **_: _ratio(tn, tn + fn),
    "miss rate": lambda tp, fn, **_: _ratio(fn, tp + fn),
    "fall out": lambda fp, tn, **_: _ratio(fp, tn + fp),
    "false discovery rate": lambda tp, fp, **_: _ratio(fp, tp + fp),
    "false omission rate": lambda tn, fn, **_: _ratio(fn, tn + fn),
    "prevalence threshold": _prevalence_threshold,
    "threat score": lambda tp, fp, fn, **_: _ratio(tp, tp + fn + fp),
    "accuracy": lambda tp, fp, tn, fn: _ratio(tp + tn, tp + fp + tn + fn),
    "balanced accuracy": lambda tp, fp, tn, fn: (_ratio(tp, tp + fn) + _ratio(tn, tn + fp)) / 2,
    "f1 score": lambda tp, fp, fn, **_: _ratio(2 * tp, 2 * tp + fn + fp),
    "matthews correlation coefficient": lambda tp, fp, tn, fn: _ratio(tp * tn - fp * fn,
        np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))),
    "fowlkes mallows index": lambda tp, fp, fn, **_: np.sqrt(_ratio(tp, tp + fp) * _ratio(tp, tp + fn)),
    "informedness": lambda tp, fp, tn, fn: _ratio(tp, tp + fn) + _ratio(tn, tn + fp) - 1,
    "markedness": lambda tp, fp, tn, fn: _ratio(tp, tp + fp) + _ratio(tn, tn + fn) - 1,
}
_OTHER_NAMES = {
    "recall": "sensitivity", "hit rate": "sensitivity", "true positive rate": "sensitivity", "tpr": "sensitivity",
    "true negative rate": "specificity", "tnr": "specificity", "positive predictive value": "precision",
    "ppv": "precision",
    "npv": "negative predictive value", "false negative rate": "miss rate", "fnr": "miss rate",
    "false positive rate": "fall out", "fpr": "fall out",
    "fdr": "false discovery rate", "for": "false omission rate", "pt": "prevalence threshold",
    "critical success index": "threat score", "ts": "threat score",
    "csi": "threat score", "acc": "accuracy", "ba": "balanced accuracy", "mcc": "matthews correlation coefficient",
    "fm": "fowlkes mallows index",
    "bookmaker informedness": "informedness", "bm": "informedness", "deltap": "markedness", "mk": "markedness",
    "f1": "f1 score",
}


_PER_SAMPLE = ("none", "mean_channel", "sum_channel")


def _figure(name):
    _check.need("ConfusionMatrixMetric", "metric_name", name, _check.STR)
    key = name.strip().lower().replace("_", " ")
    key = _OTHER_NAMES.get(key, key)
    if key not in _FIGURES:
        raise _check.refused("ConfusionMatrixMetric", "metric_name",
                             _check.value(f"be one of {sorted(_FIGURES)} or one of their other names"), name,
                             NotImplementedError)
    return _FIGURES[key]


def _nan_mean(x, axis):
    """The mean of what is no NaN, and 0 where there is nothing; and how many there were."""
    known = (~np.isnan(x)).astype(np.float64)
    count = known.sum(axis=axis)
    total = np.where(np.isnan(x), 0.0, x).sum(axis=axis)
    return np.where(count > 0, total / np.maximum(count, 1), 0.0), count


def _decreased(x, how):
    """x (N, C, …) reduced over samples and channels; NaNs do not count."""
    if how == "none":
        return x
    if how == "mean":
        per_sample, count = _nan_mean(x, 1)
        per_sample = np.where(count > 0, per_sample, np.nan)
        return _nan_mean(per_sample, 0)[0]
    if how == "mean_batch":
        return _nan_mean(x, 0)[0]
    if how == "mean_channel":
        return _nan_mean(x, 1)[0]
    axis = {"sum": (0, 1), "sum_batch": 0, "sum_channel": 1}[how]
    return np.where(np.isnan(x), 0.0, x).sum(axis=axis)


class ConfusionMatrixMetric(Metric):
    """A figure of binary confusion matrices, one per sample and channel.

    skip_channel: the first channel (background) does not count. metric_name: "sensitivity", "specificity", "precision",
    "accuracy", "f1 score", … calculation_method: the figure is computed for each sample and channel of a batch and then
    reduced, and batches are averaged by their sizes; otherwise all counts are added first. decrease: how the former is
    reduced: "none", "mean", "sum", "mean_batch", "sum_batch", "mean_channel" or "sum_channel". update(y_pred, y): 0s
    and 1s of one shape (N, C, …)."""

    def __init__(self, skip_channel: bool = True, metric_name: str = "sensitivity", calculation_method: bool = False,
                 decrease: str = "mean") -> None:
        super().__init__()
        self.skip_channel: Any = _check.need("ConfusionMatrixMetric", "skip_channel", skip_channel, _check.BOOL)
        self.calculation_method: Any = _check.need("ConfusionMatrixMetric", "calculation_method", calculation_method,
                                                   _check.BOOL)
        self.metric_name = metric_name
        _check.need("ConfusionMatrixMetric", "decrease", decrease, _check.one_of("none", "mean", "sum", "mean_batch",
                    "sum_batch", "mean_channel", "sum_channel"))
        self.decrease = decrease
        self._figure = _figure(metric_name)
        self.clear()

    def clear(self) -> None:
        """Forgets all batches."""
        self._total_num, self._sum = 0, 0.0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Takes predictions and labels."""
        y_pred, y = self._take("update", inputs, 2, "predicted value, true value")
        if y_pred.shape != y.shape:
            raise _check.refused("ConfusionMatrixMetric.update", "predictions and labels",
                                 _check.value("have one shape"), _check.several(y_pred.shape, y.shape))
        if y_pred.ndim < 2:
            raise _check.refused("ConfusionMatrixMetric.update", "predictions and labels",
                                 _check.value("be of shape (N, C, …)"), y_pred.shape)
        if not (is_binary(y_pred) and is_binary(y)):
            raise ValueError("For 'ConfusionMatrixMetric.update', predictions and labels must be 0 or 1.")
        if self.skip_channel and y.shape[1] > 1:
            y_pred, y = y_pred[:, 1:], y[:, 1:]
        p = y_pred.reshape(y_pred.shape[0], y_pred.shape[1], -1).astype(float)
        t = y.reshape(p.shape).astype(float)
        tp, tn = (p * t).sum(-1), ((1 - p) * (1 - t)).sum(-1)
        fp, fn = (p * (1 - t)).sum(-1), ((1 - p) * t).sum(-1)
        counts = (tp, fp, tn, fn)
        self._total_num += len(tp)
        if not self.calculation_method:
            self._sum = self._sum + np.array([c.sum() for c in counts])
            return
        figure = _decreased(self._figure(tp=tp, fp=fp, tn=tn, fn=fn), self.decrease)
        if self.decrease in _PER_SAMPLE:
            self._sum = figure if isinstance(self._sum, float) else np.concatenate([self._sum, figure])
        else:
            self._sum = self._sum + figure * len(tp)

    def eval(self) -> Any:
        """The figure: of all counts an array of one; of samples a number or an array. RuntimeError before any batch."""
        if self._total_num == 0:
            raise self._no_samples()
        if not self.calculation_method:
            return self._figure(**dict(zip(("tp", "fp", "tn", "fn"), self._sum.reshape(4, 1))))
        if self.decrease in _PER_SAMPLE:
            return self._sum
        figure = self._sum / self._total_num
        return float(figure) if np.ndim(figure) == 0 else figure
