"""Occlusion sensitivity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit._C import Tensor
from pijit.train.metrics.metric import Metric, rearrange_inputs

if TYPE_CHECKING:
    from typing import Any


class OcclusionSensitivity(Metric):
    """How much a classifier's score falls when a part of the image is covered, for each place of the image.

    pad_val: what covers. margin: m covers from m places before to m - 1 behind, an int or one per dimension. n_batch:
        how many images are computed at once. b_box: which part of the image to look at, [min, max] of each dimension
        but the first one after another, or None. update(model, image, label): a function of batches, a single image (1,
        …), and the class."""

    def __init__(self, pad_val: float = 0.0, margin: float = 2, n_batch: int = 128, b_box: Any = None) -> None:
        super().__init__()
        self.pad_val: float = float(_check.need("OcclusionSensitivity", "pad_val", pad_val, _check.NUMBER))
        if not isinstance(margin, (list, tuple)):
            _check.need("OcclusionSensitivity", "margin", margin, _check.INT, _check.at_least(0))
        self.margin = margin
        self.n_batch: int = _check.need("OcclusionSensitivity", "n_batch", n_batch, _check.INT, _check.at_least(1))
        _check.need("OcclusionSensitivity", "b_box", b_box, _check.optional(_check.LIST))
        self.b_box: list[Any] = b_box
        self.clear()

    def clear(self) -> None:
        """Forgets the image."""
        self._result = None

    def _bounds(self, shape):
        """The first and the last place to cover, in each dimension but the first."""
        if self.b_box is None:
            return [0] * (len(shape) - 1), [n - 1 for n in shape[1:]]
        box = self.b_box
        if len(box) != 2 * (len(shape) - 1):
            raise _check.refused("OcclusionSensitivity", "b_box",
                                 _check.value(f"hold two numbers for each of the image's dimensions {shape[1:]}"), box)
        low = [0 if b == -1 else b for b in box[0::2]]
        high = [n - 1 if b == -1 else b for b, n in zip(box[1::2], shape[1:])]
        for a, b, n in zip(low, high, shape[1:]):
            if not 0 <= a <= b < n:
                raise _check.refused("OcclusionSensitivity", "b_box",
                                     _check.value(f"lie within the image of shape {shape}"), box)
        return low, high

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Takes a model, an image and a class."""
        if len(inputs) != 3:
            raise _check.expected("OcclusionSensitivity.update", "3 inputs (model, image, label)", len(inputs))
        model, image, label = inputs[0], self._convert_data(inputs[1]), self._convert_data(inputs[2])
        _check.need("OcclusionSensitivity.update", "the model", model, _check.FUNCTION)
        if image.shape[0] != 1:
            raise _check.refused("OcclusionSensitivity.update", "the there", _check.value("be a single image (1, …)"),
                                 image.shape, RuntimeError)
        if label.size != 1:
            raise _check.refused("OcclusionSensitivity.update", "the there", _check.value("be a single label"),
                                 label.size)
        label = int(label.reshape(-1)[0])
        margins = list(self.margin) if isinstance(self.margin, (list, tuple)) else [self.margin] * (image.ndim - 1)
        if len(margins) != image.ndim - 1:
            raise _check.refused("OcclusionSensitivity", "margin",
                                 _check.value(f"hold a number for each of the image's dimensions {image.shape[1:]}"),
                                 self.margin)
        low, high = self._bounds(image.shape)
        shape = [b - a + 1 for a, b in zip(low, high)]
        base = model(Tensor(image)).asnumpy()[0, label]
        scores, images = [], []

        def run():
            if images:
                out = model(Tensor(np.concatenate(images))).asnumpy()
                scores.extend(out[:, label])
                images.clear()
        for place in np.ndindex(*shape):
            covered = image.copy()
            centre = [p + a for p, a in zip(place, low)]
            covered[(slice(None), *[slice(max(0, c - m), c + m) for c, m in zip(centre, margins)])] = self.pad_val
            images.append(covered)
            if len(images) == self.n_batch:
                run()
        run()
        self._result = (base - np.array(scores)).reshape(shape)

    def eval(self) -> Any:
        """The fall of the score, an array of the image's shape (or the b_box's). RuntimeError before any image."""
        if self._result is None:
            raise self._no_samples()
        return self._result
