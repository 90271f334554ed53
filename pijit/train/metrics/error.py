"""Mean absolute and mean squared error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit.train.metrics.metric import Metric, rearrange_inputs

if TYPE_CHECKING:
    from typing import Any


class _Error(Metric):
    """Errors summed over all elements, per sample (the first dimension)."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        """Forgets all batches."""
        self._sum, self._samples_num = 0.0, 0

    def _error(self, difference):
        raise NotImplementedError

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Takes predictions and true values of one shape."""
        y_pred, y = self._take("update", inputs, 2, "predicted value, true value")
        self._sum += float(self._error(y.reshape(y_pred.shape) - y_pred))
        self._samples_num += y.shape[0]

    def eval(self) -> Any:
        """The mean over the samples. RuntimeError before any batch."""
        if self._samples_num == 0:
            raise self._no_samples()
        return self._sum / self._samples_num


class MAE(_Error):
    """Mean absolute error: absolute differences summed over all elements, over the number of samples.

    Example:
        >>> m = nn.MAE()
        >>> m.update(Tensor([1.0, 2.0]), Tensor([1.0, 4.0]))
        >>> m.eval()
        1.0
    """

    def _error(self, difference):
        return np.abs(difference).sum()


class MSE(_Error):
    """Mean squared error: squared differences summed over all elements, over the number of samples.

    Example:
        >>> m = nn.MSE()
        >>> m.update(Tensor([1.0, 2.0]), Tensor([1.0, 4.0]))
        >>> m.eval()
        2.0
    """

    def _error(self, difference):
        return np.power(difference, 2).sum()
