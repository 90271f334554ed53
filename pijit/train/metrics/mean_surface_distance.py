"""Mean surface distance."""

from pijit.train._checks import check_bool
from pijit.train.metrics._surfaces import SurfaceMetric


class MeanSurfaceDistance(SurfaceMetric):
    """The mean distance of points of the prediction's surface to that of the labels; with symmetric the
    mean of this and of that back.

    distance_metric: "euclidean", "chessboard" or "taxicab". update(y_pred, y, label_idx)."""

    def __init__(self, symmetric=False, distance_metric="euclidean"):
        super().__init__(distance_metric)
        self.symmetric = check_bool("MeanSurfaceDistance", "symmetric", symmetric)

    def eval(self):
        """The distance; infinite where there is no surface. RuntimeError before any batch."""
        return self._mean(self.symmetric, 1)
