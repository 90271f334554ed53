"""What several of mint's modules do with their arguments."""

from __future__ import annotations

from pijit.ops import function as _F


def _typed(x, dtype):
    return x if dtype is None else _F.cast(x, dtype)


def _axes(dim):
    return None if dim is None or dim == () else tuple(dim) if isinstance(dim, list) else dim
