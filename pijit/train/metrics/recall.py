"""Recall."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pijit.train.metrics._classes import ClassCounts, averaged

if TYPE_CHECKING:
    from typing import Any


class Recall(ClassCounts):
    """True positives over actual positives, for each class ("multilabel": for each sample).

    Inputs as Accuracy has them.

    Args:
        eval_type (str, optional): 'classification' or 'multilabel'. Default: 'classification'.

    Example:
        >>> m = nn.Recall()
        >>> m.update(Tensor([[0.2, 0.8], [0.9, 0.1]]), Tensor([1, 1]))
        >>> m.eval().tolist()
        [0.0, 0.5]
    """

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__(eval_type)

    def eval(self, average: bool = False) -> Any:
        """One value per class or sample (float64), or their mean with `average`. RuntimeError before any batch."""
        true, _, actual = self._check_average(average)
        return averaged(true / (actual + sys.float_info.min), average)
