"""Cosine transforms by SciPy's names. They are orthogonal, whether `norm` is None or 'ortho'; of type II, the inverse
of type III."""

from pijit.ops.function.fourier import _axes, _cosine, _dct, _idct, _numbers

__all__ = ["dct", "dctn", "idct", "idctn"]


def dct(x, type=2, n=None, axis=-1, norm=None):
    """The cosine transform along an axis, of length n, which cuts x or fills it with 0. Raises ValueError for another
    type or norm."""
    return _cosine("dct", x, type, n, axis, norm, _dct)


def idct(x, type=2, n=None, axis=-1, norm=None):
    """The inverse of `dct`."""
    return _cosine("idct", x, type, n, axis, norm, _idct)


def _several(f, name, x, type, s, axes, norm):
    for axis, n in _axes(name, _numbers(name, x), s, axes):
        x = f(x, type, n, axis, norm)
    return x


def dctn(x, type=2, s=None, axes=None, norm=None):
    """The cosine transform along several axes (default: all, or the last len(s))."""
    return _several(dct, "dctn", x, type, s, axes, norm)


def idctn(x, type=2, s=None, axes=None, norm=None):
    """The inverse of `dctn`."""
    return _several(idct, "idctn", x, type, s, axes, norm)
