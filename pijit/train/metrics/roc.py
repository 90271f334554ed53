"""Receiver operating characteristic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit.train.metrics.metric import Metric, rearrange_inputs

if TYPE_CHECKING:
    from typing import Any


def _curve(scores, labels, pos_label):
    """(false positive rates, true positive rates, thresholds), thresholds descending."""
    order = np.argsort(scores)[::-1]
    scores, labels = scores[order], labels[order]
    ends = np.append(np.nonzero(np.diff(scores))[0], labels.size - 1)
    hit = (labels == pos_label).astype(np.int64)
    true = np.cumsum(hit)[ends]
    false = 1 + ends - true
    true, false = np.insert(true, 0, 0), np.insert(false, 0, 0)
    thresholds = np.insert(scores[ends], 0, scores[ends][0] + 1)
    if false[-1] <= 0:
        raise ValueError(
            "For 'ROC.eval', there are no negative samples, so that the false positive rate has no meaning.")
    if true[-1] <= 0:
        raise ValueError(
            "For 'ROC.eval', there are no positive samples, so that the true positive rate has no meaning.")
    return false / false[-1], true / true[-1], thresholds


class ROC(Metric):
    """The curve of true over false positive rates of a classifier.

    class_num: the number of classes, or None for two. pos_label: which label counts as positive (1 by default; with
        more classes each in turn). update(y_pred, y): scores (N,) and labels (N,); with classes scores (N, C) and
        labels (N,)."""

    pos_label: int | None
    y_pred: list[Any]
    y: list[Any]

    def __init__(self, class_num: Any = None, pos_label: Any = None) -> None:
        super().__init__()
        self.class_num: int | None = class_num if class_num is None else _check.need("ROC", "class_num", class_num,
                                                                                     _check.INT, _check.at_least(1))
        self.pos_label = pos_label if pos_label is None else _check.need("ROC", "pos_label", pos_label, _check.INT,
                                                                         _check.at_least(-2 ** 63))
        self.clear()

    def clear(self) -> None:
        """Forgets all batches."""
        self.y_pred, self.y = [], []

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Takes scores and labels."""
        y_pred, y = self._take("update", inputs, 2, "predicted value, true value")
        if y_pred.ndim == y.ndim:
            y_pred, y = y_pred.reshape(-1), y.reshape(-1)
            if self.class_num not in (None, 1):
                raise _check.refused("ROC.update", "class_num",
                                     _check.value("be None or 1 for scores of the shape of the labels"), self.class_num)
        elif y_pred.ndim == y.ndim + 1:
            if self.class_num != y_pred.shape[1]:
                raise _check.refused("ROC.update", "class_num",
                                     _check.value(f"be the number of classes of the scores, {y_pred.shape[1]}"),
                                     self.class_num)
            if self.pos_label is not None:
                raise _check.refused("ROC.update", "pos_label", _check.value("be None where there are classes"),
                                     self.pos_label)
            y_pred = np.moveaxis(y_pred, 1, 0).reshape(self.class_num, -1).T
            y = y.reshape(-1)
        else:
            raise _check.refused("ROC.update", "the scores", _check.shape("of the labels or one dimension more"),
                                 _check.several(y_pred.shape, y.shape))
        self.y_pred.append(y_pred)
        self.y.append(y)

    def eval(self) -> tuple[Any, Any, np.ndarray] | tuple[list[Any], ...]:
        """(false positive rates, true positive rates, thresholds); lists of such arrays, one per class, where there are
        classes."""
        if not self.y:
            raise self._no_samples()
        y_pred, y = np.concatenate(self.y_pred), np.concatenate(self.y)
        if y_pred.ndim == 1:
            return _curve(y_pred, y, 1 if self.pos_label is None else self.pos_label)
        curves = [_curve(y_pred[:, c], y, c) for c in range(self.class_num)]
        return tuple([list(part) for part in zip(*curves)])
