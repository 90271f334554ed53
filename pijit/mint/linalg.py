"""Norms and decompositions, under PyTorch's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit.ops import function as _F

from pijit.mint._arguments import _axes, _typed

if TYPE_CHECKING:
    from pijit._C import Tensor
    from pijit._types import Axis, DTypeLike, Number


def vector_norm(x: Tensor, ord: int = 2, dim: Axis | None = None, keepdim: bool = False, *,
                dtype: DTypeLike | None = None) -> Tensor:
    """The norm of order `ord` over dimensions."""
    return _F.vector_norm(x, ord, _axes(dim), keepdim, dtype=dtype)


def matrix_norm(A: Tensor, ord: float | str = "fro", dim: Axis = (-2, -1), keepdim: bool = False, *,
                dtype: DTypeLike | None = None) -> Tensor:
    """A matrix norm over two dimensions."""
    return _F.matrix_norm(A, ord, tuple(dim), keepdim, dtype=dtype)


def norm(A: Tensor, ord: Number | str | None = None, dim: Axis | None = None, keepdim: bool = False, *,
         dtype: DTypeLike | None = None) -> Tensor:
    """A vector norm, or a matrix norm where two dimensions are named."""
    A = _typed(A, dtype)
    if dim is not None and not isinstance(dim, int) and len(dim) == 2 and ord is not None:
        return matrix_norm(A, ord, dim, keepdim)
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim)


def inv(input: Tensor) -> Tensor:
    """The inverse of [..., n, n]."""
    return _F.inverse(input)


def qr(A: Tensor, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """(q, r) with A = q @ r; mode: 'reduced', 'complete', or 'r' for r alone (q is empty)."""
    if mode == "r":
        r = _F.qr(A)[1]
        return _F.zeros((0,), A.dtype), r
    return _F.qr(A, mode)
