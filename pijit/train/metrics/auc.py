"""Area under a curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any


def auc(x: Any, y: Any, reorder: bool = False) -> float:
    """The area under a curve through points, by trapezoids.

    x, y: arrays (N,) with N >= 2. reorder: sort the points first; without it x must be monotone, ValueError
        otherwise."""
    for name, v in (("x", x), ("y", y)):
        if not isinstance(v, np.ndarray):
            raise TypeError(f"For 'auc', '{name}' must be an array, but got {type(v).__name__}.")
    if not isinstance(reorder, bool):
        raise TypeError(f"For 'auc', 'reorder' must be a bool, but got {type(reorder).__name__}.")
    if x.ndim != 1 or y.ndim != 1 or len(x) != len(y):
        raise ValueError(
            f"For 'auc', 'x' and 'y' must be equally long vectors, but got the shapes {x.shape} and {y.shape}.")
    if len(x) < 2:
        raise ValueError(f"For 'auc', there must be at least 2 points, but got {len(x)}.")
    sign = 1
    if reorder:
        order = np.lexsort((y, x))
        x, y = x[order], y[order]
    else:
        steps = np.diff(x)
        if np.any(steps < 0):
            if not np.all(steps <= 0):
                raise ValueError("For 'auc', 'x' must be increasing or decreasing, or 'reorder' be set.")
            sign = -1
    return float(sign * np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2))
