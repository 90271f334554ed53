"""Hausdorff distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit.train.metrics._surfaces import SurfaceMetric, distances

if TYPE_CHECKING:
    from typing import Any


class HausdorffDistance(SurfaceMetric):
    """The longest of the distances from points of one segment's surface to the other.

    distance_metric: "euclidean", "chessboard" or "taxicab". percentile: this percentile of the distances in the place
        of their maximum, 0 to 100. directed: from predictions to labels only. crop: compute within the bounding box.
        update(y_pred, y, label_idx)."""

    def __init__(self, distance_metric: str = "euclidean", percentile: Any = None, directed: bool = False,
                 crop: bool = True) -> None:
        self.percentile: float | None = (percentile if percentile is None
                                         else float(_check.need("HausdorffDistance", "percentile", percentile,
                                                                _check.NUMBER)))
        self.directed: Any = _check.need("HausdorffDistance", "directed", directed, _check.BOOL)
        self._crop = _check.need("HausdorffDistance", "crop", crop, _check.BOOL)
        super().__init__(distance_metric)

    def _furthest(self, surface, target):
        found = distances(surface, target, self.distance_metric)
        if self.percentile is None or np.isinf(found[0]):
            return found.max()
        if not 0 <= self.percentile <= 100:
            raise _check.refused("HausdorffDistance", "percentile", _check.value("be from 0 to 100"), self.percentile)
        return np.percentile(found, self.percentile)

    def eval(self) -> Any:
        """The distance. RuntimeError before any batch."""
        p, y = self._surfaces()
        there = self._furthest(p, y)
        return there if self.directed else max(there, self._furthest(y, p))
