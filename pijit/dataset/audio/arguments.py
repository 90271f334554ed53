"""What arguments of audio operations must be, and what their inputs must be.

Numbers are MindSpore's: `int` and `float` of Python (bools and NumPy's float32 are refused), floats within ±2²⁴,
rounded to float32."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check
from pijit.dataset.transforms.transforms import TensorOperation

if TYPE_CHECKING:
    from typing import Any

LARGEST = 2.0 ** 24
INT32_MIN = -2**31


def integer(op: str, name: str, value: Any, low: int = INT32_MIN, none: bool = False, zero: bool = True) -> Any:
    """Returns `value`, an int of at least `low` within int32. TypeError for another type, ValueError for another
    number, and for 0 unless `zero`."""
    if value is None and none:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"[{op}] {name} must be an int, but got {check.shown(value)}.")
    if not low <= value <= check.INT32_MAX:
        bounds = "within int32" if low == INT32_MIN else f"at least {low} and within int32"
        raise ValueError(f"[{op}] {name} must be {bounds}, but got {value}.")
    if value == 0 and not zero:
        raise ValueError(f"[{op}] {name} must not be 0.")
    return value


def number(op: str, name: str, value: Any, low: float | None = None, high: float | None = None, ends: str = "[]",
           none: bool = False, whole: bool = True) -> Any:
    """Returns `value`, an int (unless `whole` is False) or a float, as the nearest float32. TypeError for another type,
    ValueError outside of the interval, whose brackets are `ends`, for NaN and beyond ±2²⁴."""
    if value is None and none:
        return None
    if not isinstance(value, (int, float) if whole else float) or isinstance(value, bool):
        raise TypeError(f"[{op}] {name} must be {'an int or a float' if whole else 'a float'}, but got "
                        f"{check.shown(value)}.")
    below = low is not None and (value < low or (ends[0] == "(" and value == low))
    above = high is not None and (value > high or (ends[1] == ")" and value == high))
    if below or above or not abs(value) <= LARGEST:
        left = -LARGEST if low is None else low
        right = LARGEST if high is None else high
        raise ValueError(f"[{op}] {name} must be in {ends[0]}{left}, {right}{ends[1]}, but got {value}.")
    return float(np.float32(value))


def positive(op: str, name: str, value: Any, none: bool = False) -> Any:
    """A number above 0."""
    return number(op, name, value, 0, ends="(]", none=none)


def boolean(op: str, name: str, value: Any) -> bool:
    """A bool; TypeError for anything else."""
    if not isinstance(value, bool):
        raise TypeError(f"[{op}] {name} must be a bool, but got {check.shown(value)}.")
    return value


def member(op: str, name: str, value: Any, kind: Any) -> Any:
    """A member of an enumeration; TypeError for anything else."""
    return check.instance(op, name, value, kind)


def coefficients(op: str, a_coeffs: Any, b_coeffs: Any) -> tuple[list[float], list[float]]:
    """The coefficients of a recursive filter. TypeError for no lists or tuples of numbers, ValueError for none and for
    different lengths."""
    for name, values in (("a_coeffs", a_coeffs), ("b_coeffs", b_coeffs)):
        check.instance(op, name, values, (list, tuple))
        for i, value in enumerate(values):
            number(op, f"{name}[{i}]", value)
    if len(a_coeffs) != len(b_coeffs):
        raise ValueError(f"[{op}] a_coeffs and b_coeffs must have the same length, but have {len(a_coeffs)} and "
                         f"{len(b_coeffs)}.")
    if not a_coeffs:
        raise ValueError(f"[{op}] a_coeffs and b_coeffs must not be empty.")
    if a_coeffs[0] == 0:
        raise ValueError(f"[{op}] a_coeffs[0] must not be 0.")
    return [float(v) for v in a_coeffs], [float(v) for v in b_coeffs]


class AudioTensorOperation(TensorOperation):
    """Base of operations on sound. `_axes` names the last axes that an input has; `_sound` computes of an ndarray that
    is float64 where the input is, else float32."""

    _axes = ("time",)
    _builtin = True

    def __call__(self, *values: Any) -> Any:
        for v in values:
            if not isinstance(v, np.ndarray):
                raise TypeError(f"[{type(self).__name__}] the input must be an ndarray, but is {check.shown(v)}.")
        return super().__call__(*values)

    def _run(self, v: Any) -> Any:
        with np.errstate(all="ignore"):  # as MindSpore, which says nothing of infinities
            return self._sound(self._floats(v))

    def _sound(self, v):
        raise NotImplementedError

    def _floats(self, v):
        v = self._numbers(v)
        return v if v.dtype == np.float64 else v.astype(np.float32, copy=False)

    def _numbers(self, v):
        """v as an ndarray of numbers with the axes that the operation needs. Raises RuntimeError for any other, and
        for an empty one."""
        op = type(self).__name__
        v = np.asarray(v)
        if v.ndim < len(self._axes) or self._axes[-1:] == ("complex",) and v.shape[-1] != 2:
            shape = ", ".join(self._axes).replace("complex", "complex=2")
            raise RuntimeError(f"[{op}] the input must have the shape <..., {shape}>, but has {v.shape}.")
        if v.dtype.kind not in "biuf":
            raise RuntimeError(f"[{op}] the input must hold numbers, but holds {v.dtype}.")
        if not v.size:
            raise RuntimeError(f"[{op}] the input must not be empty, but has the shape {v.shape}.")
        return v if v.dtype.isnative else v.astype(v.dtype.newbyteorder("="))


def decibels(gain: float, per_tenfold: float = 20) -> float:
    """The factor that a gain in decibels stands for, of amplitudes; infinite beyond float64."""
    with np.errstate(over="ignore"):
        return float(np.power(10.0, gain / per_tenfold))
