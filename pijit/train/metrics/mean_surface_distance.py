"""Mean surface distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit.train.metrics._surfaces import SurfaceMetric

if TYPE_CHECKING:
    from typing import Any


class MeanSurfaceDistance(SurfaceMetric):
    """The mean distance of points of the prediction's surface to that of the labels.

    With symmetric the mean of this and of that back.

    distance_metric: "euclidean", "chessboard" or "taxicab". update(y_pred, y, label_idx)."""

    def __init__(self, symmetric: bool = False, distance_metric: str = "euclidean") -> None:
        super().__init__(distance_metric)
        self.symmetric: Any = _check.need("MeanSurfaceDistance", "symmetric", symmetric, _check.BOOL)

    def eval(self) -> Any:
        """The distance; infinite where there is no surface. RuntimeError before any batch."""
        return self._mean(self.symmetric, 1)
