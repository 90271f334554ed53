"""Accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit.train.metrics.metric import EvaluationBase, rearrange_inputs

if TYPE_CHECKING:
    from typing import Any


class Accuracy(EvaluationBase):
    """The share of samples that are classified correctly.

    update(y_pred, y): for "classification" scores (N, C, …) and classes (N, …) or one-hot labels (N, C, …); for
    "multilabel" 0s and 1s of one shape (N, C, …), a sample being correct if all of its labels are.

    Args:
        eval_type (str, optional): 'classification' or 'multilabel'. Default: 'classification'.

    Example:
        >>> m = nn.Accuracy()
        >>> m.update(Tensor([[0.2, 0.8], [0.9, 0.1]]), Tensor([1, 1]))
        >>> m.eval()
        0.5
    """

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__(eval_type)
        self.clear()

    def clear(self) -> None:
        """Forgets all batches."""
        self._correct_num = self._total_num = 0
        self._class_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Takes predictions and labels."""
        y_pred, y = self._batch(inputs)
        if self._class_num not in (0, y_pred.shape[1]):
            raise ValueError(
                f"For 'Accuracy.update', the number of classes was {self._class_num} in an earlier batch, but is "
                f"{y_pred.shape[1]} now.")
        self._class_num = y_pred.shape[1]
        if self._type == "classification":
            classes = y.argmax(axis=1) if y_pred.ndim == y.ndim else y
            right = y_pred.argmax(axis=1) == classes
        else:
            right = (y_pred == y).all(axis=1)
        self._correct_num += int(right.sum())
        self._total_num += right.size

    def eval(self) -> Any:
        """The share, a float. RuntimeError before any batch."""
        if self._total_num == 0:
            raise self._no_samples()
        return self._correct_num / self._total_num
