"""Area under a curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit import _check

if TYPE_CHECKING:
    from typing import Any


def auc(x: Any, y: Any, reorder: bool = False) -> float:
    """The area under a curve through points, by trapezoids.

    x, y: arrays (N,) with N >= 2. reorder: sort the points first; without it x must be monotone, ValueError
        otherwise."""
    for name, v in (("x", x), ("y", y)):
        if not isinstance(v, np.ndarray):
            raise _check.refused("auc", name, _check.type_("an array"), v)
    _check.need("auc", "reorder", reorder, _check.BOOL)
    if x.ndim != 1 or y.ndim != 1 or len(x) != len(y):
        raise _check.refused("auc", "'x' and 'y'", _check.value("be equally long vectors"),
                             _check.several(x.shape, y.shape))
    if len(x) < 2:
        raise _check.refused("auc", "the there", _check.at_least("2 points"), len(x))
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
