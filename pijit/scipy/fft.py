"""Cosine transforms by SciPy's names. They are orthogonal, whether `norm` is None or 'ortho'; of type II, the inverse
of type III."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit.ops.function.spectral import _axes, _cosine, _dct, _idct, _numbers

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import Tensor
    from pijit._types import ArrayLike, Axis

__all__ = ["dct", "dctn", "idct", "idctn"]


def dct(x: ArrayLike, type: int = 2, n: int = None, axis: Axis = -1, norm: str = None) -> Tensor:
    """The cosine transform along an axis, of length n, which cuts x or fills it with 0.

    Raises ValueError for another type or norm."""
    return _cosine("dct", x, type, n, axis, norm, _dct)


def idct(x: ArrayLike, type: int = 2, n: int = None, axis: Axis = -1, norm: str = None) -> Tensor:
    """The inverse of `dct`."""
    return _cosine("idct", x, type, n, axis, norm, _idct)


def _several(f, name, x, type, s, axes, norm):
    for axis, n in _axes(name, _numbers(name, x), s, axes):
        x = f(x, type, n, axis, norm)
    return x


def dctn(x: ArrayLike, type: int = 2, s: Any = None, axes: Axis | None = None, norm: str = None) -> Tensor:
    """The cosine transform along several axes (default: all, or the last len(s))."""
    return _several(dct, "dctn", x, type, s, axes, norm)


def idctn(x: ArrayLike, type: int = 2, s: Any = None, axes: Axis | None = None, norm: str = None) -> Tensor:
    """The inverse of `dctn`."""
    return _several(idct, "idctn", x, type, s, axes, norm)
