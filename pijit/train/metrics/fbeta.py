"""F-scores."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pijit import _check
from pijit.train.metrics._classes import ClassCounts, averaged

if TYPE_CHECKING:
    from typing import Any
    from pijit._types import Number


class Fbeta(ClassCounts):
    """(1 + beta²) · precision · recall / (beta² · precision + recall), for each class.

    beta: a number > 0, the weight of recall. Inputs as Accuracy has them.

    Args:
        beta (number): the weight of recall.

    Example:
        >>> m = nn.Fbeta(1)
        >>> m.update(Tensor([[0.2, 0.8], [0.9, 0.1]]), Tensor([1, 0]))
        >>> m.eval().tolist()
        [1.0, 1.0]
    """

    def __init__(self, beta: Number) -> None:
        super().__init__("classification")
        if float(_check.need("Fbeta", "beta", beta, _check.NUMBER)) <= 0:
            raise _check.refused("Fbeta", "beta", _check.above(0), beta)
        self.beta = beta

    def eval(self, average: bool = False) -> Any:
        """One value per class (float64), or their mean with `average`. RuntimeError before any batch."""
        true, positives, actual = self._check_average(average)
        tiny = sys.float_info.min
        precision, recall = true / (positives + tiny), true / (actual + tiny)
        weight = self.beta ** 2
        return averaged((1 + weight) * precision * recall / (weight * precision + recall + tiny), average)


class F1(Fbeta):
    """The harmonic mean of precision and recall, for each class.

    Example:
        >>> m = nn.F1()
        >>> m.update(Tensor([[0.2, 0.8], [0.9, 0.1]]), Tensor([1, 0]))
        >>> m.eval().tolist()
        [1.0, 1.0]
    """

    def __init__(self) -> None:
        super().__init__(1.0)
