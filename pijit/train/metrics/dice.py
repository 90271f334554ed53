"""Dice coefficient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit.train.metrics.metric import Metric, rearrange_inputs

if TYPE_CHECKING:
    from typing import Any


class Dice(Metric):
    """2 |A ∩ B| / (|A| + |B|), summed over batches, over the number of samples.

    smooth: a float > 0 that is added to the denominator.

    Args:
        smooth (float, optional): what is added to both parts of the quotient. Default: 1e-05.

    Example:
        >>> m = nn.Dice()
        >>> m.update(Tensor([[0.0, 1.0]]), Tensor([[0.0, 1.0]]))
        >>> round(float(m.eval()), 3)
        1.0
    """

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        if _check.need("Dice", "smooth", smooth, _check.FLOAT) <= 0:
            raise _check.refused("Dice", "smooth", _check.above(0), smooth)
        self.smooth = smooth
        self.clear()

    def clear(self) -> None:
        """Forgets all batches."""
        self._dice_coeff_sum, self._samples_num = 0.0, 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Takes predictions and labels of one shape."""
        y_pred, y = self._take("update", inputs, 2, "predicted value, true value")
        if y_pred.shape != y.shape:
            raise _check.refused("Dice.update", "predictions and labels", _check.value("have one shape"),
                                 _check.several(y_pred.shape, y.shape))
        self._samples_num += y.shape[0]
        both = np.dot(y_pred.flatten(), y.flatten())
        sizes = np.dot(y_pred.flatten(), y_pred.flatten()) + np.dot(y.flatten(), y.flatten())
        self._dice_coeff_sum += 2 * float(both) / float(sizes + self.smooth)

    def eval(self) -> Any:
        """The coefficient, a float. RuntimeError before any batch."""
        if self._samples_num == 0:
            raise self._no_samples()
        return self._dice_coeff_sum / self._samples_num
