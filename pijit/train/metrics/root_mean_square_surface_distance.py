"""Root mean square surface distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit.train.metrics._surfaces import SurfaceMetric

if TYPE_CHECKING:
    from typing import Any


class RootMeanSquareDistance(SurfaceMetric):
    """The root of the mean squared distance of points of the prediction's surface to that of the labels.

    With symmetric of both directions.

    distance_metric: "euclidean", "chessboard" or "taxicab". update(y_pred, y, label_idx)."""

    def __init__(self, symmetric: bool = False, distance_metric: str = "euclidean") -> None:
        super().__init__(distance_metric)
        self.symmetric: Any = _check.need("RootMeanSquareDistance", "symmetric", symmetric, _check.BOOL)

    def eval(self) -> Any:
        """The distance; infinite where there is no surface. RuntimeError before any batch."""
        return np.sqrt(self._mean(self.symmetric, 2))
