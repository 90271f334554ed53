"""Top-k accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit.train.metrics.metric import Metric, rearrange_inputs

if TYPE_CHECKING:
    from typing import Any


class TopKCategoricalAccuracy(Metric):
    """The share of samples whose class is among the k highest scores.

    update(y_pred, y): scores (N, C), and classes (N,) or one-hot labels (N, C).

    Args:
        k (int): how many classes are looked at.

    Example:
        >>> m = nn.TopKCategoricalAccuracy(2)
        >>> m.update(Tensor([[0.2, 0.7, 0.1]]), Tensor([0]))
        >>> float(m.eval())
        1.0
    """

    def __init__(self, k: int) -> None:
        super().__init__()
        self.k: int = _check.need(type(self).__name__, "k", k, _check.INT, _check.at_least(1))
        self.clear()

    def clear(self) -> None:
        """Forgets all batches."""
        self._correct_num = self._samples_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Takes scores and labels."""
        y_pred, y = self._take("update", inputs, 2, "predicted value, true value")
        if y_pred.ndim == y.ndim:
            y = y.argmax(axis=1)
        if y_pred.ndim != 2 or y.shape != y_pred.shape[:1]:
            raise _check.refused(f"{type(self).__name__}.update", "the scores",
                                 _check.value("be of shape (N, C) and the labels (N,) or (N, C)"),
                                 _check.several(y_pred.shape, y.shape))
        best = np.argsort(-y_pred, axis=-1, kind="stable")[:, :self.k]  # of equal scores the first
        self._correct_num += int((best == y.reshape(-1, 1)).sum())
        self._samples_num += y.shape[0]

    def eval(self) -> Any:
        """The share, a float. RuntimeError before any batch."""
        if self._samples_num == 0:
            raise self._no_samples()
        return self._correct_num / self._samples_num


class Top1CategoricalAccuracy(TopKCategoricalAccuracy):
    """TopKCategoricalAccuracy of k = 1.

    Example:
        >>> m = nn.Top1CategoricalAccuracy()
        >>> m.update(Tensor([[0.2, 0.8], [0.9, 0.1]]), Tensor([1, 1]))
        >>> float(m.eval())
        0.5
    """

    def __init__(self) -> None:
        super().__init__(1)


class Top5CategoricalAccuracy(TopKCategoricalAccuracy):
    """TopKCategoricalAccuracy of k = 5.

    Example:
        >>> m = nn.Top5CategoricalAccuracy()
        >>> m.update(Tensor([[0.1, 0.2, 0.3, 0.1, 0.2, 0.1]]), Tensor([2]))
        >>> float(m.eval())
        1.0
    """

    def __init__(self) -> None:
        super().__init__(5)
