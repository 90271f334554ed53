"""Perplexity."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit.train.metrics.metric import Metric, rearrange_inputs

if TYPE_CHECKING:
    from typing import Any


class Perplexity(Metric):
    """exp of the mean negative logarithm of the probabilities that were predicted for the labels.

    ignore_label: a label that does not count, or None. update(probabilities (…, C), labels (…)), or lists of such
        pairs.

    Args:
        ignore_label (int, optional): a class that doesn't count. Default: None.

    Example:
        >>> m = nn.Perplexity()
        >>> m.update(Tensor([[0.5, 0.5]]), Tensor([1]))
        >>> float(m.eval())
        2.0000000038093084
    """

    def __init__(self, ignore_label: int | None = None) -> None:
        super().__init__()
        self.ignore_label: int | None = (ignore_label if ignore_label is None
                                         else _check.need("Perplexity", "ignore_label", ignore_label, _check.INT,
                                                          _check.at_least(-2 ** 63)))
        self.clear()

    def clear(self) -> None:
        """Forgets all batches."""
        self._sum_metric, self._num_inst = 0.0, 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Takes probabilities and labels."""
        if len(inputs) != 2:
            raise _check.expected("Perplexity.update", "2 inputs (predicted probabilities, labels)", len(inputs))
        preds = [self._convert_data(inputs[0])]
        labels = [self._convert_data(inputs[1])]
        loss, count = 0.0, 0
        for pred, label in zip(preds, labels):
            if label.size != pred.size / pred.shape[-1]:
                raise RuntimeError(
                    f"For 'Perplexity.update', predictions of shape {pred.shape} do not fit labels of shape "
                    f"{label.shape}: "
                                   "there must be a row of probabilities for each label.")
            label = label.reshape(-1).astype(np.int64)
            chosen = pred.reshape(-1, pred.shape[-1])[np.arange(label.size), label]
            if self.ignore_label is not None:
                ignored = label == self.ignore_label
                count -= int(ignored.sum())
                chosen = chosen * (1 - ignored) + ignored
            loss -= np.sum(np.log(np.maximum(1e-10, chosen)))
            count += chosen.size
        self._sum_metric += loss
        self._num_inst += count

    def eval(self) -> float:
        """The perplexity, a float. RuntimeError before any batch."""
        if self._num_inst == 0:
            raise self._no_samples()
        return math.exp(self._sum_metric / self._num_inst)
