"""Distances between the surfaces of segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit.train.metrics.metric import Metric, rearrange_inputs

if TYPE_CHECKING:
    from typing import Any


def _ndimage():
    try:
        from scipy import ndimage
    except ImportError:
        raise ImportError("metrics of surface distances need SciPy: pip install scipy") from None
    return ndimage


def edges(y_pred: Any, y: Any, label_idx: Any, crop: Any) -> Any:
    """The surfaces, as bool arrays, of the segments where predictions and labels are label_idx."""
    y_pred, y = (y_pred == label_idx) if y_pred.dtype != bool else y_pred, (y == label_idx) if y.dtype != bool else y
    both = y_pred | y
    if not both.any():
        return np.zeros_like(y_pred), np.zeros_like(y)
    if crop:
        box = []
        for axis in range(both.ndim):
            used = np.nonzero(both.any(axis=tuple(a for a in range(both.ndim) if a != axis)))[0]
            box.append(slice(max(used[0] - 1, 0), min(used[-1] + 2, both.shape[axis])))
        y_pred, y = y_pred[tuple(box)], y[tuple(box)]
    erode = _ndimage().binary_erosion
    return erode(y_pred) ^ y_pred, erode(y) ^ y


def distances(surface: Any, target: Any, metric: Any) -> Any:
    """The distance of each point of a surface to another one: infinite where one of them is empty."""
    if not target.any() or not surface.any():
        return np.array([np.inf])
    image = _ndimage()
    if metric == "euclidean":
        field = image.distance_transform_edt(~target)
    else:
        field = image.distance_transform_cdt(~target, metric=metric)
    return np.asarray(field)[surface]


class SurfaceMetric(Metric):
    """Base: update(y_pred, y, label_idx) keeps the surfaces of the last batch."""

    _crop = True

    def __init__(self, distance_metric: Any) -> None:
        super().__init__()
        _check.need(type(self).__name__, "distance_metric", distance_metric,
                    _check.one_of("euclidean", "chessboard", "taxicab"))
        self.distance_metric = distance_metric
        self.clear()

    def clear(self) -> None:
        """Forgets all batches."""
        self._pred_edges = self._label_edges = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Takes predictions, labels, and the label whose segments are compared."""
        if len(inputs) != 3:
            raise _check.expected(f"{type(self).__name__}.update",
                                  "3 inputs (predicted value, true value, label index)", len(inputs))
        y_pred, y, label_idx = self._convert_data(inputs[0]), self._convert_data(inputs[1]), inputs[2]
        if not isinstance(label_idx, (int, float)):
            raise _check.refused(f"{type(self).__name__}.update", "the label index", _check.a(int, float), label_idx,
                                 ValueError)
        if y_pred.size == 0 or y_pred.shape != y.shape:
            raise _check.refused(f"{type(self).__name__}.update", "predictions and labels",
                                 _check.value("have one shape and not be empty"), _check.several(y_pred.shape, y.shape))
        if label_idx not in y_pred and label_idx not in y:
            raise ValueError(
                f"For '{type(self).__name__}.update', the label index {label_idx} is neither among the predictions "
                f"nor among the labels.")
        self._pred_edges, self._label_edges = edges(y_pred, y, label_idx, self._crop)

    def _surfaces(self):
        if self._pred_edges is None:
            raise self._no_samples()
        return self._pred_edges, self._label_edges

    def _mean(self, symmetric, power):
        """The mean of powers of distances from predictions to labels; if symmetric the mean of this and that back."""
        p, y = self._surfaces()
        out = (distances(p, y, self.distance_metric) ** power).mean()
        return (out + (distances(y, p, self.distance_metric) ** power).mean()) / 2 if symmetric else out
