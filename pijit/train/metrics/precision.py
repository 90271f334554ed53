"""Precision."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pijit.train.metrics._classes import ClassCounts, averaged

if TYPE_CHECKING:
    from typing import Any


class Precision(ClassCounts):
    """True positives over predicted positives, for each class ("multilabel": for each sample).

    Inputs as Accuracy has them.

    Args:
        eval_type (str, optional): 'classification' or 'multilabel'. Default: 'classification'.

    Example:
        >>> m = nn.Precision()
        >>> m.update(Tensor([[0.2, 0.8], [0.9, 0.1]]), Tensor([1, 1]))
        >>> m.eval().tolist()
        [0.0, 1.0]
    """

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__(eval_type)

    def eval(self, average: bool = False) -> Any:
        """One value per class or sample (float64), or their mean with `average`. RuntimeError before any batch."""
        true, positives, _ = self._check_average(average)
        return averaged(true / (positives + sys.float_info.min), average)
