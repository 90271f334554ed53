"""Layers on sparse tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit.nn.cell import Cell
from pijit.ops.function.sparse import _need_kind, _with_matrix
from pijit.sparse_tensor import COOTensor

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import Tensor

__all__ = ["SparseTensorDenseMatmul", "SparseToDense"]


class SparseToDense(Cell):
    """A COOTensor as a Tensor.

    Inputs:
        input: COOTensor.

    Outputs:
        Tensor.

    Example:
        >>> print(nn.SparseToDense()(ms.COOTensor(Tensor([[0, 1]], ms.int32), Tensor([2.0]), (2, 2))))
        [[0. 2.]
         [0. 0.]]
    """

    def construct(self, input: COOTensor) -> Tensor:
        _need_kind("SparseToDense", "input", input, COOTensor)
        return input.to_dense()


class SparseTensorDenseMatmul(Cell):
    """The product of the sparse matrix (indices, values, sparse_shape) and a dense one, each transposed on request.

    Args:
        adjoint_st (bool, optional): whether the sparse matrix is transposed. Default: False.
        adjoint_dt (bool, optional): whether the dense matrix is transposed. Default: False.

    Inputs:
        indices: Tensor [n, 2].
        values: Tensor [n].
        sparse_shape: tuple.
        dense: Tensor.

    Outputs:
        Tensor.

    Raises:
        TypeError: if `adjoint_st` is not a bool, or `adjoint_dt` is not a bool.

    Example:
        >>> print(nn.SparseTensorDenseMatmul()(Tensor([[0, 1]]), Tensor([2.0]), (2, 2), ops.ones((2, 1))))
        [[2.]
         [0.]]
    """

    adjoint_st: bool
    adjoint_dt: bool

    def __init__(self, adjoint_st: bool = False, adjoint_dt: bool = False) -> None:
        super().__init__()
        for name, value in (("adjoint_st", adjoint_st), ("adjoint_dt", adjoint_dt)):
            _check.need("SparseTensorDenseMatmul", name, value, _check.BOOL)
        self.adjoint_st, self.adjoint_dt = adjoint_st, adjoint_dt

    def construct(self, indices: Tensor, values: Tensor, sparse_shape: Any, dense: Tensor) -> Tensor:
        sparse = COOTensor(indices, values, sparse_shape)
        return _with_matrix(sparse, dense, "SparseTensorDenseMatmul", self.adjoint_st, self.adjoint_dt)
