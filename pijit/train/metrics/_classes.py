"""Counts per class, which precision, recall and F-scores are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit.train.metrics.metric import EvaluationBase, one_hot, rearrange_inputs

if TYPE_CHECKING:
    from typing import Any


class ClassCounts(EvaluationBase):
    """True positives, and positives among predictions and labels: for each class, and for "multilabel" for each
    sample."""

    def __init__(self, eval_type: Any) -> None:
        super().__init__(eval_type)
        self.clear()

    def clear(self) -> None:
        """Forgets all batches."""
        self._class_num = 0
        self._counts = np.zeros((3, 1 if self._type == "classification" else 0))

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Takes predictions and labels."""
        y_pred, y = self._batch(inputs)
        classes = y_pred.shape[1]
        if self._class_num not in (0, classes):
            raise ValueError(
                f"For '{type(self).__name__}.update', the number of classes was {self._class_num} in an earlier "
                f"batch, but is {classes} now.")
        self._class_num = classes
        if self._type == "classification":
            if y_pred.ndim == y.ndim + 1 and y.size and not 0 <= y.min() <= y.max() < classes:
                raise _check.refused(f"{type(self).__name__}.update", "the labels", _check.within(0, classes, "[)"),
                                     f"one of {y.min()} to {y.max()}")
            y = one_hot(y.argmax(axis=1) if y_pred.ndim == y.ndim else y, classes)
            y_pred = one_hot(y_pred.argmax(axis=1), classes)
        # (samples, classes): counted per class, or per sample where a sample has any number of classes
        y = np.moveaxis(y, 1, -1).reshape(-1, classes)
        y_pred = np.moveaxis(y_pred, 1, -1).reshape(-1, classes)
        counts = [y * y_pred, y_pred, y]
        if self._type == "classification":
            self._counts = self._counts + np.stack([c.sum(axis=0) for c in counts])
        else:
            self._counts = np.concatenate([self._counts, np.stack([c.sum(axis=1) for c in counts])], axis=1)

    def _check_average(self, average):
        _check.need(f"{type(self).__name__}.eval", "average", average, _check.BOOL)
        if self._class_num == 0:
            raise self._no_samples()
        return self._counts


def averaged(result: Any, average: Any) -> Any:
    """result, or its mean as a float."""
    return result.mean() if average else result
