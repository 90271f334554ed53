"""Masks on bands of frequencies and on stretches of time of spectrograms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit.dataset import seeds
from pijit.dataset.audio import arguments as args
from pijit.dataset.audio.arguments import AudioTensorOperation

if TYPE_CHECKING:
    import numpy as np

_NAMES = {-2: "frequency", -1: "time"}


class _Mask(AudioTensorOperation):
    _axes = ("frequency", "time")

    def _masked(self, v: np.ndarray, axis: int, start: int, width: int, value: float) -> np.ndarray:
        out = v.copy()
        out.swapaxes(axis, -1)[..., start:start + width] = value
        return out

    def _placed(self, v, axis, start, width, value):
        if start + width > v.shape[axis]:
            raise RuntimeError(f"[{type(self).__name__}] the mask's start and width must end within the "
                               f"{_NAMES[axis]} axis of length {v.shape[axis]}, but are {start} and {width}.")
        return self._masked(v, axis, start, width, value)

    def _drawn(self, v, axis, most, value):
        width = seeds.rng().randint(0, most)
        start = seeds.rng().randint(0, v.shape[axis] - width)
        return self._masked(v, axis, start, width, value)

    def _check_width(self, v, axis, name, width):
        if width > v.shape[axis]:
            raise RuntimeError(f"[{type(self).__name__}] {name} must not be above the length of the {_NAMES[axis]} "
                               f"axis, {v.shape[axis]}, but is {width}.")


def _axis(op, axis):
    """1 is the frequency axis, 2 the time axis, wherever they are."""
    args.integer(op, "axis", axis)
    if axis not in (1, 2):
        raise ValueError(f"[{op}] axis must be 1 (frequency) or 2 (time), but got {axis}.")
    return axis - 3


class MaskAlongAxis(_Mask):
    """Masks a part of spectra [..., frequency, time].

    Args: mask_start: at least 0. mask_width: at least 1. mask_value: what stands there. axis: 1 for frequencies, 2 for
        time. Raises RuntimeError for a mask that is not within the axis."""

    def __init__(self, mask_start: int, mask_width: int, mask_value: float, axis: int) -> None:
        op = "MaskAlongAxis"
        self.mask_start: int = args.integer(op, "mask_start", mask_start, 0)
        self.mask_width: int = args.integer(op, "mask_width", mask_width, 1)
        self.mask_value: float = args.number(op, "mask_value", mask_value)
        self.axis: int = _axis(op, axis)

    def _sound(self, v):
        return self._placed(v, self.axis, self.mask_start, self.mask_width, self.mask_value)


class MaskAlongAxisIID(_Mask):
    """Masks a random part of spectra [..., frequency, time].

    Args: mask_param: the largest width, at least 0. mask_value: what stands there. axis: 1 for frequencies, 2 for time.
        Raises RuntimeError for a mask_param above the axis' length."""

    _random = True

    def __init__(self, mask_param: int, mask_value: float, axis: int) -> None:
        op = "MaskAlongAxisIID"
        self.mask_param: int = args.integer(op, "mask_param", mask_param, 0)
        self.mask_value: float = args.number(op, "mask_value", mask_value)
        self.axis: int = _axis(op, axis)

    def _sound(self, v):
        self._check_width(v, self.axis, "mask_param", self.mask_param)
        return self._drawn(v, self.axis, self.mask_param, self.mask_value)


class _AxisMasking(_Mask):
    _axis: int
    _name: str

    def _set(self, iid_masks, width, mask_start, mask_value):
        op = type(self).__name__
        self.iid_masks: bool = args.boolean(op, "iid_masks", iid_masks)
        self.width: int = args.integer(op, self._name, width, 0)
        self.mask_start: int = args.integer(op, "mask_start", mask_start, 0)
        self.mask_value: float = args.number(op, "mask_value", mask_value, 0)

    @property
    def _random(self):
        return self.iid_masks

    def _sound(self, v):
        self._check_width(v, self._axis, self._name, self.width)
        if self.iid_masks:
            return self._drawn(v, self._axis, self.width, self.mask_value)
        return self._placed(v, self._axis, self.mask_start, self.width, self.mask_value)


class FrequencyMasking(_AxisMasking):
    """Masks frequencies of spectra [..., frequency, time].

    Args: iid_masks: a random width and place. freq_mask_param: the width, or the largest one. mask_start: the first
        frequency, where it is not random. mask_value: what stands there, at least 0."""

    _axis, _name = -2, "freq_mask_param"

    def __init__(self, iid_masks: bool = False, freq_mask_param: int = 0, mask_start: int = 0,
                 mask_value: float = 0.0) -> None:
        self._set(iid_masks, freq_mask_param, mask_start, mask_value)


class TimeMasking(_AxisMasking):
    """Masks a time of spectra [..., frequency, time].

    Args: iid_masks: a random width and place. time_mask_param: the width, or the largest one. mask_start: the first
        frame, where it is not random. mask_value: what stands there, at least 0."""

    _axis, _name = -1, "time_mask_param"

    def __init__(self, iid_masks: bool = False, time_mask_param: int = 0, mask_start: int = 0,
                 mask_value: float = 0.0) -> None:
        self._set(iid_masks, time_mask_param, mask_start, mask_value)


__all__ = ["FrequencyMasking", "MaskAlongAxis", "MaskAlongAxisIID", "TimeMasking"]
