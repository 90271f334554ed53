"""Loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit.train.metrics.metric import Metric, rearrange_inputs

if TYPE_CHECKING:
    from typing import Any


class Loss(Metric):
    """The mean of the losses of batches.

    Example:
        >>> m = nn.Loss()
        >>> m.update(Tensor(0.5))
        >>> m.eval()
        0.5
    """

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        """Forgets all batches."""
        self._sum_loss, self._total_num = 0, 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Takes a loss: 0-d, or a vector, whose mean counts."""
        (loss,) = self._take("update", inputs, 1, "loss")
        if loss.ndim > 1 or loss.size == 0:
            raise _check.refused("Loss.update", "the loss", _check.value("be a number or a vector"), loss.shape)
        self._sum_loss += float(loss.mean())
        self._total_num += 1

    def eval(self) -> float:
        """The mean, a float. RuntimeError before any batch."""
        if self._total_num == 0:
            raise self._no_samples()
        return self._sum_loss / self._total_num
