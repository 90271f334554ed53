"""Primitives on sparse tensors, given by their parts."""

from __future__ import annotations

from pijit import _check
from pijit._C import Tensor
from pijit.ops import function as F
from pijit.ops.function.sparse import _with_matrix
from pijit.ops.primitive import primitive
from pijit.sparse_tensor import COOTensor


@primitive
def Coalesce(x_indices, x_values, x_shape, /):
    """Sparse indices [rank, n] in order, each once, with the sums of their values."""
    return F.coalesce(x_indices, x_values, x_shape)


@primitive
def SparseToDense(indices, values, sparse_shape, /):
    """The tensor of shape sparse_shape with values[i] at indices[i]."""
    return COOTensor(indices, values, tuple(sparse_shape)).to_dense()


@primitive
def SparseTensorDenseMatmul(indices, values, sparse_shape, dense, /, adjoint_st=False, adjoint_dt=False):
    """The product of a sparse matrix and a dense one, each transposed on request."""
    return _with_matrix(COOTensor(indices, values, tuple(sparse_shape)), dense, "SparseTensorDenseMatmul", adjoint_st,
                        adjoint_dt)


@primitive
def SparseTensorDenseAdd(x1_indices, x1_values, x1_shape, x2, /):
    """The sum of a sparse tensor and a dense one of the same shape."""
    shape = tuple(x1_shape) if isinstance(x1_shape, (tuple, list)) else tuple(x1_shape.asnumpy().tolist())
    if x2.shape != shape:
        raise _check.refused("SparseTensorDenseAdd", "x2", _check.shape(shape), x2.shape)
    return COOTensor(x1_indices, x1_values, shape) + x2


@primitive
def SparseSlice(indices, values, shape, start, size, /):
    """(indices, values, shape) of the part of a sparse tensor from `start` on, of at most `size`."""
    begin, wanted, whole = (tuple(x.asnumpy().tolist()) for x in (start, size, shape))
    ends = [b + s if s >= 0 else n for b, s, n in zip(begin, wanted, whole)]
    ends = [e if e < n else n for e, n in zip(ends, whole)]
    places = indices.asnumpy()
    kept = ((places >= begin) & (places < ends)).all(1)
    kept = F.nonzero(Tensor(kept))[:, 0]
    return (F.gather(indices, kept, 0) - Tensor(begin, indices.dtype), F.gather(values, kept, 0),
            Tensor([e - b if e > b else 0 for b, e in zip(begin, ends)], indices.dtype))


__all__ = [n for n, v in globals().items() if isinstance(v, type) and v.__module__ == __name__]
