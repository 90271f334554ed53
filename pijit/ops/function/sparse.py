"""Functions of COOTensor and CSRTensor. How many values a result has must be known to stay in a graph: sums of sparse
tensors, products of two of them and conversions of dense tensors count what isn't 0, and so run outside of graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit import dtype as mstype
from pijit._C import Tensor, ops as _ops
from pijit.ops.function.elementwise import _need_tensor
from pijit.sparse_tensor import COOTensor, CSRTensor, RowTensor, SparseTensor, _need
from pijit.ops.function import elementwise as _e, activation as _a
from pijit.ops.function.creation import arange, zeros
from pijit.ops.function.indexing import gather_nd, nonzero
from pijit.ops.function.scattering import tensor_scatter_add
from pijit.ops.function.sorting import searchsorted
from pijit.ops.function.linalg import matmul
from pijit.ops.function.joining import concat, stack
from pijit.ops.function.shapes import broadcast_to, expand_dims, swapaxes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit._C import DType
    from pijit._types import Shape, TensorLike


def _need_kind(name, what, x, kind):
    if not isinstance(x, kind):
        raise _check.refused(name, what, _check.type_(f"a {kind.__name__}"), x)


def _gather(x, places):
    return _ops["gather"](x, places, 0)


def _rows(indptr, count):
    """The row of each of `count` values."""
    return searchsorted(indptr, arange(0, count, dtype=indptr.dtype), right=True, out_int32=True) - 1


def _starts(rows, height):
    """Where each row begins among values whose rows ascend."""
    return _e.cast(searchsorted(rows, arange(0, height + 1, dtype=rows.dtype)), rows.dtype)


def _summed(values, rows, height):
    """[height, ...]: the sums of values by rows."""
    return _ops["index_add"](zeros((height,) + values.shape[1:], values.dtype), _e.cast(rows, mstype.int64), values, 0)


def _coo_to_dense(indices, values, shape):
    return tensor_scatter_add(zeros(shape, values.dtype), indices, values)


def _flat_order(indices, shape):
    """The place of each index in the dense tensor, in memory's order."""
    places = _e.cast(indices[:, 0], mstype.int64)
    for k in range(1, len(shape)):
        places = places * shape[k] + _e.cast(indices[:, k], mstype.int64)
    return places


def _coalesce(indices, values, shape):
    places, which = _unique(_flat_order(indices, shape))
    values = _ops["index_add"](zeros(places.shape, values.dtype), which, values, 0)
    return COOTensor(_e.cast(_unflattened(places, shape), indices.dtype), values, shape)


def _unique(x):
    """(the elements in order, each once; the number of each element of x among them)."""
    order = _ops["argsort"](x, 0, False)
    ascending = _gather(x, order)
    if x.size == 0:
        return x, order
    fresh = concat((Tensor([True]), ascending[1:] != ascending[:-1]))
    number = _ops["cumsum"](_e.cast(fresh, mstype.int64), 0) - 1
    which = _ops["scatter_d"](order, order, number, 0, "update")
    return ascending[fresh], which


def _unflattened(places, shape):
    columns = []
    for n in reversed(shape):
        columns.append(places % n)
        places = places // n
    return stack(tuple(reversed(columns)), 1)


def _sum(x1, x2):
    if x1.shape != x2.shape:
        raise _check.refused("coo_add", "the shapes", _check.value("agree"), _check.several(x1.shape, x2.shape))
    if x1.dtype != x2.dtype or x1.indices.dtype != x2.indices.dtype:
        raise TypeError(
            f"For 'coo_add', the dtypes must agree, but got values of {x1.dtype} and {x2.dtype}, indices of "
            f"{x1.indices.dtype} "
                        f"and {x2.indices.dtype}.")
    return _coalesce(concat((x1.indices, x2.indices)), concat((x1.values, x2.values)), x1.shape)


def coo_add(x1: COOTensor, x2: COOTensor, thresh: Tensor) -> COOTensor:
    """The sum of two COOTensors, its indices in order, without values below `thresh` in absolute value.

    Args:
        x1 (COOTensor): the first operand.
        x2 (COOTensor): the second operand.
        thresh (Tensor): the threshold.

    Returns:
        COOTensor.

    Raises:
        TypeError: if `thresh` is not a Tensor.
        IndexError: if the shape of `thresh` does not fit.

    Example:
        >>> coo = ms.COOTensor(Tensor([[0, 1]], ms.int32), Tensor([2.0]), (2, 2))
        >>> print(ops.coo_add(coo, coo, Tensor(0.0)).values)
        [4.]
    """
    _need_kind("coo_add", "x1", x1, COOTensor)
    _need_kind("coo_add", "x2", x2, COOTensor)
    if not isinstance(thresh, Tensor):
        raise _check.refused("coo_add", "thresh", _check.TENSOR, thresh)
    y = _sum(x1, x2)
    large = y.values.abs() >= thresh
    return COOTensor(y.indices[large], y.values[large], y.shape)


def coalesce(x_indices: Tensor, x_values: Tensor, x_shape: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(the indices in order, each once; the sums of the values at equal ones; x_shape).

    The indices are [rank, n], a column each.

    Args:
        x_indices (Tensor): int64 [rank, n].
        x_values (Tensor): floating [n].
        x_shape (Tensor): int64 [rank].

    Returns:
        (Tensor, Tensor, Tensor). Int64 keep their dtype; not for bool, floats and complex.

    Raises:
        TypeError: if `x_indices` is not a Tensor.
        ValueError: if the shape of `x_values` does not fit, or the shape of `x_shape` does not fit, or the shape of
            `x_indices` does not fit.

    Example:
        >>> print(ops.coalesce(Tensor([[0, 0, 1], [1, 1, 0]]), Tensor([1.0, 2.0, 3.0]), Tensor([2, 2]))[1])
        [3. 3.]
    """
    for name, x, rank, dtypes in (("x_indices", x_indices, 2, (mstype.int64,)),
                                  ("x_values", x_values, 1, mstype.float_type),
                                  ("x_shape", x_shape, 1, (mstype.int64,))):
        _need("coalesce", name, x)
        if x.dtype not in dtypes:
            raise _check.refused("coalesce", name, _check.value(f'be of {" or ".join([str(t) for t in dtypes])}'),
                                 x.dtype, TypeError)
        if x.ndim != rank:
            raise _check.refused("coalesce", name, _check.dims(rank), x.ndim)
    if x_indices.shape != (x_shape.shape[0], x_values.shape[0]):
        raise _check.refused("coalesce", "x_indices", _check.shape((x_shape.shape[0], x_values.shape[0])),
                             x_indices.shape)
    coo = _coalesce(swapaxes(x_indices, 0, 1), x_values, tuple(x_shape.asnumpy().tolist()))
    return swapaxes(coo.indices, 0, 1), coo.values, x_shape


def make_row_tensor(indices: Tensor, values: Tensor, dense_shape: Shape) -> RowTensor:
    """RowTensor(indices, values, dense_shape).

    Args:
        indices (Tensor): where: ints.
        values (Tensor): the values.
        dense_shape (tuple of int): the whole shape.

    Returns:
        RowTensor. Takes int32 and int64; not for bool, floats and complex.

    Raises:
        TypeError: if `indices` is not a Tensor.
        ValueError: if the shape of `values` does not fit.

    Example:
        >>> ops.make_row_tensor(Tensor([0]), Tensor([[1.0, 2.0]]), (3, 2)).dense_shape
        (3, 2)
    """
    return RowTensor(indices, values, dense_shape)


def row_tensor_get_indices(row_tensor: RowTensor) -> Tensor:
    """Which rows a RowTensor holds.

    Args:
        row_tensor (RowTensor): the rows.

    Returns:
        Tensor.

    Example:
        >>> print(ops.row_tensor_get_indices(ms.RowTensor(Tensor([0]), Tensor([[1.0, 2.0]]), (3, 2))))
        [0]
    """
    return row_tensor.indices


def row_tensor_get_values(row_tensor: RowTensor) -> Tensor:
    """The rows that a RowTensor holds.

    Args:
        row_tensor (RowTensor): the rows.

    Returns:
        Tensor.

    Example:
        >>> print(ops.row_tensor_get_values(ms.RowTensor(Tensor([0]), Tensor([[1.0, 2.0]]), (3, 2))))
        [[1. 2.]]
    """
    return row_tensor.values


def row_tensor_get_dense_shape(row_tensor: RowTensor) -> Any:
    """A RowTensor's shape.

    Args:
        row_tensor (RowTensor): the rows.

    Returns:
        tuple of ints.

    Example:
        >>> ops.row_tensor_get_dense_shape(ms.RowTensor(Tensor([0]), Tensor([[1.0, 2.0]]), (3, 2)))
        (3, 2)
    """
    return row_tensor.dense_shape


def row_tensor_add(x: RowTensor, y: Tensor) -> Tensor:
    """A Tensor with the rows of a RowTensor added.

    Args:
        x (RowTensor): the rows.
        y (Tensor): of the whole shape.

    Returns:
        Tensor.

    Raises:
        ValueError: if the shape of `y` does not fit.

    Example:
        >>> print(ops.row_tensor_add(ms.RowTensor(Tensor([0]), Tensor([[1.0, 2.0]]), (2, 2)), ops.ones((2, 2))))
        [[2. 3.]
         [1. 1.]]
    """
    _need_kind("row_tensor_add", "x", x, RowTensor)
    _need("row_tensor_add", "y", y)
    if tuple(y.shape) != tuple(x.dense_shape):
        raise _check.refused("row_tensor_add", "y", _check.shape(x.dense_shape), y.shape)
    return _ops["index_add"](y, x.indices, x.values, 0)


def coo_concat(sp_input: Sequence[COOTensor], concat_dim: int = 0) -> COOTensor:
    """COOTensors joined along a dimension, the indices in order.

    Args:
        sp_input (tuple of COOTensor): what to join.
        concat_dim (int, optional): the dimension. Default: 0.

    Returns:
        COOTensor.

    Example:
        >>> coo = ms.COOTensor(Tensor([[0, 1]]), Tensor([2.0]), (2, 2))
        >>> ops.coo_concat((coo, coo)).shape
        (4, 2)
    """
    if not isinstance(sp_input, tuple) or not sp_input:
        raise _check.refused("coo_concat", "sp_input", _check.type_("a tuple of COOTensors"), sp_input)
    for x in sp_input:
        _need_kind("coo_concat", "sp_input", x, COOTensor)
    rank = len(sp_input[0].shape)
    if not -rank <= concat_dim < rank:
        raise _check.refused("coo_concat", "concat_dim", _check.within(-rank, rank, "[)"), concat_dim)
    dim, begin, indices = concat_dim % rank, 0, []
    for x in sp_input:
        shift = Tensor([begin if k == dim else 0 for k in range(rank)], x.indices.dtype)
        indices.append(x.indices + shift)
        begin += x.shape[dim]
    shape = tuple(begin if k == dim else n for k, n in enumerate(sp_input[0].shape))
    indices, values = concat(tuple(indices)), concat(tuple(x.values for x in sp_input))
    order = _ops["argsort"](_flat_order(indices, shape), 0, False)
    return COOTensor(_gather(indices, order), _gather(values, order), shape)


def _coo_to_csr(x):
    if len(x.shape) != 2:
        raise _check.refused("to_csr", "the tensor", _check.dims(2), x.shape)
    order = _ops["argsort"](_flat_order(x.indices, x.shape), 0, False)
    indices = _gather(x.indices, order)
    return CSRTensor(_starts(indices[:, 0], x.shape[0]), indices[:, 1], _gather(x.values, order), x.shape)


def _csr_to_coo(x):
    if len(x.shape) != 2:
        raise _check.refused("to_coo", "the tensor", _check.dims(2), x.shape)
    rows = _e.cast(_rows(x.indptr, x.indices.shape[0]), x.indices.dtype)
    return COOTensor(stack((rows, x.indices), 1), x.values, x.shape)


def _csr_to_dense(x):
    rows = _e.cast(_rows(x.indptr, x.indices.shape[0]), x.indices.dtype)
    return tensor_scatter_add(zeros(x.shape, x.values.dtype), stack((rows, x.indices), 1), x.values)


def csr_to_coo(tensor: CSRTensor) -> COOTensor:
    """A CSRTensor as a COOTensor.

    Args:
        tensor (CSRTensor): the sparse matrix.

    Returns:
        COOTensor.

    Example:
        >>> csr = ms.CSRTensor(Tensor([0, 1, 2]), Tensor([1, 0]), Tensor([2.0, 3.0]), (2, 2))
        >>> print(ops.csr_to_coo(csr).indices)
        [[0 1]
         [1 0]]
    """
    _need_kind("csr_to_coo", "tensor", tensor, CSRTensor)
    return _csr_to_coo(tensor)


def csr_to_dense(csr_tensor: CSRTensor) -> Tensor:
    """A CSRTensor as a Tensor.

    Args:
        csr_tensor (CSRTensor): the sparse matrix.

    Returns:
        Tensor.

    Example:
        >>> csr = ms.CSRTensor(Tensor([0, 1, 2]), Tensor([1, 0]), Tensor([2.0, 3.0]), (2, 2))
        >>> print(ops.csr_to_dense(csr))
        [[0. 2.]
         [3. 0.]]
    """
    _need_kind("csr_to_dense", "csr_tensor", csr_tensor, CSRTensor)
    return csr_tensor.to_dense()


def csr2coo(indptr: Tensor, nnz: int) -> Tensor:
    """The row of each of `nnz` values, of the dtype of indptr.

    Args:
        indptr (Tensor): where each row begins.
        nnz (int): the number of values.

    Returns:
        Tensor [nnz]. Bool, ints and floats keep their dtype; not for complex.

    Raises:
        TypeError: if `indptr` is not a Tensor.

    Example:
        >>> print(ops.csr2coo(Tensor([0, 1, 2], ms.int32), 2))
        [0 1]
    """
    _need_tensor("csr2coo", "indptr", indptr)
    return _e.cast(_rows(indptr, int(nnz)), indptr.dtype)


def coo2csr(row_indices: Tensor, height: int) -> Tensor:
    """Where each of `height` rows begins among values whose rows ascend.

    Args:
        row_indices (Tensor): the row of each value.
        height (int): the number of rows.

    Returns:
        Tensor [height + 1]. Bool, ints and floats keep their dtype; not for complex.

    Raises:
        TypeError: if `row_indices` is not a Tensor.

    Example:
        >>> print(ops.coo2csr(Tensor([0, 1], ms.int32), 2))
        [0 1 2]
    """
    _need_tensor("coo2csr", "row_indices", row_indices)
    return _starts(row_indices, int(height))


def dense_to_sparse_coo(tensor: Tensor) -> COOTensor:
    """A Tensor's elements that are not 0, as a COOTensor with indices of int32.

    Args:
        tensor (Tensor): the input, of 1 dimension or more and any dtype.

    Returns:
        COOTensor. Takes bool, ints, floats and complex.

    Raises:
        TypeError: if `tensor` is not a Tensor.
        ValueError: if `tensor` does not have at least 1 dimension.

    Example:
        >>> print(ops.dense_to_sparse_coo(Tensor([[0.0, 2.0], [3.0, 0.0]])).indices)
        [[0 1]
         [1 0]]
    """
    _need("dense_to_sparse_coo", "tensor", tensor)
    if tensor.ndim == 0:
        raise _check.refused("dense_to_sparse_coo", "tensor", _check.least_dims(1), 0)
    indices = _e.cast(nonzero(tensor), mstype.int32)
    return COOTensor(indices, gather_nd(tensor, indices), tensor.shape)


def dense_to_sparse_csr(tensor: Tensor) -> CSRTensor:
    """A matrix's elements that are not 0, as a CSRTensor with indices of int32.

    Args:
        tensor (Tensor): the input, of 2 dimensions and any dtype.

    Returns:
        CSRTensor. Takes bool, ints, floats and complex.

    Raises:
        TypeError: if `tensor` is not a Tensor.
        ValueError: if `tensor` does not have 2 dimensions.

    Example:
        >>> print(ops.dense_to_sparse_csr(Tensor([[0.0, 2.0], [3.0, 0.0]])).indptr)
        [0 1 2]
    """
    _need("dense_to_sparse_csr", "tensor", tensor)
    if tensor.ndim != 2:
        raise _check.refused("dense_to_sparse_csr", "tensor", _check.dims(2), tensor.shape)
    return _coo_to_csr(dense_to_sparse_coo(tensor))


def csr_gather(indptr: Tensor, indices: Tensor, dense: Tensor, sparse_shape: Shape) -> Tensor:
    """The elements of `dense`, broadcast to sparse_shape, at the places of a CSRTensor.

    Args:
        indptr (Tensor): where each row begins.
        indices (Tensor): where: ints.
        dense (Tensor): the dense operand.
        sparse_shape (tuple of int): the whole shape.

    Returns:
        Tensor [n]. Ints give float32; not for bool, floats and complex.

    Raises:
        ValueError: if the shape of `indices` does not fit, or the shape of `dense` does not fit.

    Example:
        >>> print(ops.csr_gather(Tensor([0, 1, 2], ms.int32), Tensor([1, 0], ms.int32),
        ...     Tensor([[1.0, 2.0], [3.0, 4.0]]), (2, 2)))
        [2. 3.]
    """
    rows = _e.cast(_rows(indptr, indices.shape[0]), indices.dtype)
    shape = tuple(sparse_shape)
    return gather_nd(dense if dense.shape == shape else broadcast_to(dense, shape), stack((rows, indices), 1))


def csr_mul(x: CSRTensor, y: TensorLike) -> Tensor | CSRTensor:
    """A CSRTensor times a Tensor that broadcasts to it, at its places.

    Args:
        x (CSRTensor): the sparse matrix.
        y (Tensor or number): the second operand.

    Returns:
        Tensor, or CSRTensor.

    Raises:
        ValueError: if the shape of `y` does not fit.

    Example:
        >>> csr = ms.CSRTensor(Tensor([0, 1, 2], ms.int32), Tensor([1, 0], ms.int32), Tensor([2.0, 3.0]), (2, 2))
        >>> print(ops.csr_mul(csr, ops.ones((2, 2))).values)
        [2. 3.]
    """
    _need_kind("csr_mul", "x", x, CSRTensor)
    return x * y if isinstance(y, Tensor) else (x * y).values


def csr_div(x: CSRTensor, y: TensorLike) -> Tensor | CSRTensor:
    """A CSRTensor divided by a Tensor that broadcasts to it, at its places.

    Args:
        x (CSRTensor): the sparse matrix.
        y (Tensor or number): the second operand.

    Returns:
        Tensor, or CSRTensor.

    Raises:
        ValueError: if the shape of `y` does not fit.

    Example:
        >>> csr = ms.CSRTensor(Tensor([0, 1, 2], ms.int32), Tensor([1, 0], ms.int32), Tensor([2.0, 3.0]), (2, 2))
        >>> print(ops.csr_div(csr, ops.full((2, 2), 2.0)).values)
        [1.  1.5]
    """
    _need_kind("csr_div", "x", x, CSRTensor)
    return x / y if isinstance(y, Tensor) else (x / y).values


def csr_add(a: CSRTensor, b: CSRTensor, alpha: Tensor, beta: Tensor) -> CSRTensor:
    """alpha * a + beta * b for CSRTensors of one shape.

    Args:
        a (CSRTensor): the first matrix.
        b (CSRTensor): the second matrix.
        alpha (Tensor): the factor of a.
        beta (Tensor): the factor of b.

    Returns:
        CSRTensor.

    Raises:
        ValueError: if the shape of `alpha` does not fit, or the shape of `beta` does not fit.

    Example:
        >>> csr = ms.CSRTensor(Tensor([0, 1, 2], ms.int32), Tensor([1, 0], ms.int32), Tensor([2.0, 3.0]), (2, 2))
        >>> print(ops.csr_add(csr, csr, Tensor(1.0), Tensor(1.0)).values)
        [4. 6.]
    """
    _need_kind("csr_add", "a", a, CSRTensor)
    _need_kind("csr_add", "b", b, CSRTensor)
    if a.shape != b.shape:
        raise _check.refused("csr_add", "the shapes", _check.value("agree"), _check.several(a.shape, b.shape))
    return _coo_to_csr(_sum((a * _number(alpha, a)).to_coo(), (b * _number(beta, b)).to_coo()))


def _number(x, like):
    return float(x) if like.dtype.is_floating_point else int(x)


def _product(name, a, dense):
    _need(name, "the dense matrix", dense)
    if len(a.shape) != 2 or dense.ndim != 2:
        raise _check.refused(name, "the both", _check.dims(2), _check.several(a.shape, dense.shape))
    if a.shape[1] != dense.shape[0]:
        raise _check.unfit(name, f"the matrix {a.shape}", f"the dense one {dense.shape}")
    if a.dtype != dense.dtype:
        raise _check.refused(name, "the dtypes", _check.value("agree"), _check.several(a.dtype, dense.dtype), TypeError)
    rows = _rows(a.indptr, a.indices.shape[0])
    return _summed(expand_dims(a.values, 1) * _gather(dense, a.indices), rows, a.shape[0])


def csr_mv(csr_tensor: CSRTensor, dense: Tensor) -> Tensor:
    """The product of a CSRTensor [m, n] and a column [n, 1]: [m, 1].

    Args:
        csr_tensor (CSRTensor): the sparse matrix.
        dense (Tensor): the dense operand.

    Returns:
        Tensor [m, 1].

    Raises:
        ValueError: if the shape of `dense` does not fit.

    Example:
        >>> csr = ms.CSRTensor(Tensor([0, 1, 2], ms.int32), Tensor([1, 0], ms.int32), Tensor([2.0, 3.0]), (2, 2))
        >>> print(ops.csr_mv(csr, ops.ones((2, 1))))
        [[2.]
         [3.]]
    """
    _need_kind("csr_mv", "csr_tensor", csr_tensor, CSRTensor)
    return _product("csr_mv", csr_tensor, dense)


def csr_mm(a: CSRTensor, b: CSRTensor, trans_a: bool = False, trans_b: bool = False, adjoint_a: bool = False,
           adjoint_b: bool = False) -> CSRTensor:
    """The product of two sparse matrices, each transposed on request, as a CSRTensor of what isn't 0.

    Args:
        a (CSRTensor): the first matrix.
        b (CSRTensor): the second matrix.
        trans_a (bool, optional): whether a is transposed. Default: False.
        trans_b (bool, optional): whether b is transposed. Default: False.
        adjoint_a (bool, optional): whether a is transposed and conjugate. Default: False.
        adjoint_b (bool, optional): whether b is transposed and conjugate. Default: False.

    Returns:
        CSRTensor.

    Example:
        >>> csr = ms.CSRTensor(Tensor([0, 1, 2], ms.int32), Tensor([1, 0], ms.int32), Tensor([2.0, 3.0]), (2, 2))
        >>> print(ops.csr_mm(csr, csr).values)
        [6. 6.]
    """
    _need_kind("csr_mm", "a", a, CSRTensor)
    _need_kind("csr_mm", "b", b, CSRTensor)
    x, y = a.to_dense(), b.to_dense()
    x = swapaxes(x, 0, 1) if trans_a or adjoint_a else x
    y = swapaxes(y, 0, 1) if trans_b or adjoint_b else y
    from pijit.ops.function.complex_numbers import conj
    product = dense_to_sparse_csr(matmul(conj(x) if adjoint_a else x, conj(y) if adjoint_b else y))
    return CSRTensor(_e.cast(product.indptr, a.indptr.dtype), _e.cast(product.indices, a.indices.dtype), product.values,
                     product.shape)


def csr_reduce_sum(csr_tensor: CSRTensor, axis: int) -> Tensor:
    """The sums of rows of a CSRTensor [m, n]: [m, 1]. Raises ValueError for another axis.

    Args:
        csr_tensor (CSRTensor): the sparse matrix.
        axis (int): the axis; -1 is the last one.

    Returns:
        Tensor [m, 1].

    Example:
        >>> csr = ms.CSRTensor(Tensor([0, 1, 2], ms.int32), Tensor([1, 0], ms.int32), Tensor([2.0, 3.0]), (2, 2))
        >>> print(ops.csr_reduce_sum(csr, 1))
        [[2.]
         [3.]]
    """
    _need_kind("csr_reduce_sum", "csr_tensor", csr_tensor, CSRTensor)
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise _check.refused("csr_reduce_sum", "axis", _check.INT, axis)
    if axis not in (1, 1 - len(csr_tensor.shape)):
        raise _check.refused("csr_reduce_sum", "axis", _check.one_of(1), axis)
    rows = _rows(csr_tensor.indptr, csr_tensor.indices.shape[0])
    return expand_dims(_summed(csr_tensor.values, rows, csr_tensor.shape[0]), 1)


def csr_softmax(logits: CSRTensor, dtype: DType) -> CSRTensor:
    """The softmax of each row of a CSRTensor over its stored values, in `dtype`.

    Args:
        logits (CSRTensor): the sparse matrix.
        dtype (dtype): the dtype of the result.

    Returns:
        CSRTensor.

    Example:
        >>> csr = ms.CSRTensor(Tensor([0, 1, 2], ms.int32), Tensor([1, 0], ms.int32), Tensor([2.0, 3.0]), (2, 2))
        >>> print(ops.csr_softmax(csr, ms.float32).values)
        [1. 1.]
    """
    _need_kind("csr_softmax", "logits", logits, CSRTensor)
    rows, height = _e.cast(_rows(logits.indptr, logits.indices.shape[0]), mstype.int64), logits.shape[0]
    values = _e.cast(logits.values, dtype)
    least = zeros((height,), dtype) - float("inf")
    top = _ops["scatter_d"](least, rows, _e.stop_gradient(values), 0, "max")
    e = _e.exp(values - _gather(top, rows))
    return logits._with(e / _gather(_summed(e, rows, height), rows))


def make_coo_tensor(indices: Tensor, values: Tensor, dense_shape: Shape) -> COOTensor:
    """COOTensor(indices, values, dense_shape).

    Args:
        indices (Tensor): where: ints.
        values (Tensor): the values.
        dense_shape (tuple of int): the whole shape.

    Returns:
        COOTensor. Takes int32 and int64; not for bool, floats and complex.

    Raises:
        TypeError: if `indices` is not a Tensor.
        ValueError: if the shape of `values` does not fit.

    Example:
        >>> ops.make_coo_tensor(Tensor([[0, 1]]), Tensor([2.0]), (2, 2)).shape
        (2, 2)
    """
    return COOTensor(indices, values, dense_shape)


def make_csr_tensor(indptr: Tensor, indices: Tensor, values: Tensor, dense_shape: Shape) -> CSRTensor:
    """CSRTensor(indptr, indices, values, dense_shape).

    Args:
        indptr (Tensor): where each row begins.
        indices (Tensor): where: ints.
        values (Tensor): the values.
        dense_shape (tuple of int): the whole shape.

    Returns:
        CSRTensor. Takes int32 and int64; not for bool, floats and complex.

    Raises:
        TypeError: if `indptr` is not a Tensor.
        ValueError: if the shape of `indices` does not fit, or the shape of `values` does not fit.

    Example:
        >>> ops.make_csr_tensor(Tensor([0, 1, 2]), Tensor([1, 0]), Tensor([2.0, 3.0]), (2, 2)).shape
        (2, 2)
    """
    return CSRTensor(indptr, indices, values, dense_shape)


def make_sparse_tensor(indices: Tensor, values: Tensor, dense_shape: Shape) -> SparseTensor:
    """SparseTensor(indices, values, dense_shape).

    Args:
        indices (Tensor): where: ints.
        values (Tensor): the values.
        dense_shape (tuple of int): the whole shape.

    Returns:
        SparseTensor. Takes int32 and int64; not for bool, floats and complex.

    Raises:
        TypeError: if `indices` is not a Tensor.
        ValueError: if the shape of `values` does not fit.

    Example:
        >>> ops.make_sparse_tensor(Tensor([[0, 1]]), Tensor([2.0]), (2, 2)).shape
        (2, 2)
    """
    return SparseTensor(indices, values, dense_shape)


def coo_tensor_get_indices(coo_tensor: COOTensor) -> Tensor:
    """A COOTensor's indices.

    Args:
        coo_tensor (COOTensor): the sparse tensor.

    Returns:
        Tensor.

    Example:
        >>> print(ops.coo_tensor_get_indices(ms.COOTensor(Tensor([[0, 1]]), Tensor([2.0]), (2, 2))))
        [[0 1]]
    """
    return coo_tensor.indices


def coo_tensor_get_values(coo_tensor: COOTensor) -> Tensor:
    """A COOTensor's values.

    Args:
        coo_tensor (COOTensor): the sparse tensor.

    Returns:
        Tensor.

    Example:
        >>> print(ops.coo_tensor_get_values(ms.COOTensor(Tensor([[0, 1]]), Tensor([2.0]), (2, 2))))
        [2.]
    """
    return coo_tensor.values


def coo_tensor_get_dense_shape(coo_tensor: COOTensor) -> Any:
    """A COOTensor's shape.

    Args:
        coo_tensor (COOTensor): the sparse tensor.

    Returns:
        tuple of ints.

    Example:
        >>> ops.coo_tensor_get_dense_shape(ms.COOTensor(Tensor([[0, 1]]), Tensor([2.0]), (2, 2)))
        (2, 2)
    """
    return coo_tensor.shape


def csr_tensor_get_indptr(csr_tensor: CSRTensor) -> Tensor:
    """Where a CSRTensor's rows begin.

    Args:
        csr_tensor (CSRTensor): the sparse matrix.

    Returns:
        Tensor.

    Example:
        >>> print(ops.csr_tensor_get_indptr(ms.CSRTensor(Tensor([0, 1]), Tensor([1]), Tensor([2.0]), (1, 2))))
        [0 1]
    """
    return csr_tensor.indptr


def csr_tensor_get_indices(csr_tensor: CSRTensor) -> Tensor:
    """The columns of a CSRTensor's values.

    Args:
        csr_tensor (CSRTensor): the sparse matrix.

    Returns:
        Tensor.

    Example:
        >>> print(ops.csr_tensor_get_indices(ms.CSRTensor(Tensor([0, 1]), Tensor([1]), Tensor([2.0]), (1, 2))))
        [1]
    """
    return csr_tensor.indices


def csr_tensor_get_values(csr_tensor: CSRTensor) -> Tensor:
    """A CSRTensor's values.

    Args:
        csr_tensor (CSRTensor): the sparse matrix.

    Returns:
        Tensor.

    Example:
        >>> print(ops.csr_tensor_get_values(ms.CSRTensor(Tensor([0, 1]), Tensor([1]), Tensor([2.0]), (1, 2))))
        [2.]
    """
    return csr_tensor.values


def csr_tensor_get_dense_shape(csr_tensor: CSRTensor) -> tuple[int, ...]:
    """A CSRTensor's shape.

    Args:
        csr_tensor (CSRTensor): the sparse matrix.

    Returns:
        tuple of ints.

    Example:
        >>> ops.csr_tensor_get_dense_shape(ms.CSRTensor(Tensor([0, 1]), Tensor([1]), Tensor([2.0]), (1, 2)))
        (1, 2)
    """
    return csr_tensor.shape


def _with_matrix(x, dense, name, adjoint_sparse, adjoint_dense):
    """A COOTensor times a dense matrix, each transposed on request."""
    _need(name, "dense", dense)
    if adjoint_dense:
        dense = swapaxes(dense, 0, 1)
    rows, columns = (1, 0) if adjoint_sparse else (0, 1)
    if len(x.shape) != 2 or dense.ndim != 2 or x.shape[columns] != dense.shape[0]:
        raise _check.unfit(name, f"a matrix of shape {x.shape}", f"one of shape {dense.shape}")
    return _summed(expand_dims(x.values, 1) * _gather(dense, x.indices[:, columns]), x.indices[:, rows], x.shape[rows])


_DOC = """`ops.{op}` of the values that a {kind} stores.

    Args:
        x ({kind}): the sparse tensor.

    Returns:
        {kind} of x's indices and shape.

    Raises:
        TypeError: where `x` is no {kind}.

    Example:
        >>> x = {example}
        >>> print(ops.{name}(x).values)
        {shown}
    """
_MADE = {"COOTensor": "ms.COOTensor(Tensor([[0, 1]], ms.int32), Tensor([1.0]), (2, 2))",
         "CSRTensor": "ms.CSRTensor(Tensor([0, 1], ms.int32), Tensor([1], ms.int32), Tensor([1.0]), (1, 2))"}
_SHOWN = {  # of 1
    "abs": "[1.]", "acos": "[0.]", "acosh": "[0.]", "asin": "[1.5707964]", "asinh": "[0.8813736]",
    "atan": "[0.7853982]",
    "atanh": "[inf]", "ceil": "[1.]", "cos": "[0.5403023]", "cosh": "[1.5430807]", "exp": "[2.7182817]",
    "expm1": "[1.7182819]",
    "floor": "[1.]", "inv": "[1.]", "isfinite": "[ True]", "isinf": "[False]", "isnan": "[False]", "log": "[0.]",
    "log1p": "[0.6931472]", "neg": "[-1.]", "relu": "[1.]", "relu6": "[1.]", "round": "[1.]", "sigmoid": "[0.73105854]",
    "sin": "[0.84147096]", "sinh": "[1.1752012]", "softsign": "[0.5]", "sqrt": "[1.]", "square": "[1.]",
    "tan": "[1.5574077]",
    "tanh": "[0.7615942]",
}


def _on_values(kind, name, fn):
    def f(x):
        if not isinstance(x, kind):
            raise _check.refused(f.__name__, "x", _check.type_(f"a {kind.__name__}"), x)
        return x._with(fn(x.values))
    f.__name__ = f.__qualname__ = f"{'coo' if kind is COOTensor else 'csr'}_{name}"
    f.__doc__ = _DOC.format(name=f.__name__, op=name, kind=kind.__name__, example=_MADE[kind.__name__],
                            shown=_SHOWN[name])
    return f


_UNARY = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor inv isfinite isinf isnan log log1p neg relu "
    "relu6 round sigmoid "
          "sin sinh softsign sqrt square tan tanh").split()
for _n in _UNARY:
    _fn = {"inv": _e.reciprocal, "softsign": _a.softsign}.get(_n) or getattr(_e, _n)
    globals()["coo_" + _n] = _on_values(COOTensor, _n, _fn)
    globals()["csr_" + _n] = _on_values(CSRTensor, _n, _fn)

__all__ = ([n for n in globals() if n.startswith(("coo_", "csr_", "make_", "dense_to_", "row_tensor_"))] +
           ["coalesce", "coo2csr", "csr2coo"])
