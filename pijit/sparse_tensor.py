"""Sparse tensors: values of elements that are not 0, and where they stand. They are Python objects that hold Tensors,
so that captured code makes, reads and returns them without leaving the graph; what they compute is
`pijit.ops.function.sparse`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit import dtype as mstype
from pijit._C import Tensor
from pijit._numpy import np

if TYPE_CHECKING:
    from typing import Any
    from pijit._types import Axis, DTypeLike, Shape

__all__ = ["COOTensor", "CSRTensor", "RowTensor", "SparseTensor"]


def _need(kind, name, x):
    if not isinstance(x, Tensor):
        raise _check.refused(kind, name, _check.TENSOR, x)


def _need_indices(kind, name, x, rank):
    _need(kind, name, x)
    if x.dtype not in (mstype.int16, mstype.int32, mstype.int64):
        raise _check.refused(kind, name, _check.dtypes("int16", "int32", "int64"), x.dtype)
    if x.ndim != rank:
        raise _check.refused(kind, name, _check.dims(rank), x.shape)


def _checked_shape(kind, shape):
    if not isinstance(shape, tuple):
        raise _check.refused(kind, "shape", _check.TUPLE, shape)
    for n in shape:
        if isinstance(n, bool) or not isinstance(n, int):
            raise _check.refused(kind, "shape", _check.value("hold integers", shown=_check.type_name), n, TypeError)
        if n <= 0:
            raise _check.refused(kind, "the dimensions of 'shape'", _check.above(0), shape)
    return shape


def _shown(x):
    """A Tensor in the text of a sparse one."""
    exact = {"float_kind": lambda v: f"{v: .8e}"} if x.dtype.is_floating_point else None
    text = np.array2string(x.asnumpy(), separator=" ", formatter=exact)
    return f"Tensor(shape={list(x.shape)}, dtype={x.dtype}, value={chr(10) if x.ndim > 1 else ''}{text})"


class _Sparse:
    """What COOTensor and CSRTensor share."""

    @property
    def dtype(self) -> Any:
        """Of the values."""
        return self.values.dtype

    @property
    def size(self) -> Any:
        """How many values are stored."""
        return self.values.size

    @property
    def itemsize(self) -> Any:
        """Bytes of one value."""
        return self.values.itemsize

    @property
    def ndim(self) -> int:
        """How many dimensions the dense tensor has."""
        return len(self.shape)

    def astype(self, dtype: DTypeLike) -> Any:
        """The values converted to a dtype."""
        return self._with(self.values.astype(dtype))

    def abs(self) -> Any:
        """The absolute values."""
        return self._with(self.values.abs())

    def __neg__(self) -> Any:
        return self._with(-self.values)

    def __abs__(self) -> Any:
        return self.abs()

    def _unsupported(self, what, other):
        raise TypeError(f"{type(self).__name__} {what} with {type(other)} is not supported.")

    def __truediv__(self, other: Any) -> Any:
        return self._scaled(other, "divide", lambda v, d: v / d)

    def __mul__(self, other: Any) -> Any:
        return self._scaled(other, "multiply", lambda v, d: v * d)

    def _scaled(self, other, what, f):
        if isinstance(other, (int, float)):
            return self._with(f(self.values, other))
        if not isinstance(other, Tensor):
            self._unsupported(what, other)
        return self._with(f(self.values, self._places_of(other)))


class COOTensor(_Sparse):
    """A sparse tensor of `shape`: values[i] stands at indices[i], the rest is 0.

    indices: [n, rank] of int16, int32 or int64; values: [n]; shape: a tuple; or another COOTensor as coo_tensor. Raises
        TypeError and
    ValueError where these don't fit together. Where an index occurs more than once, values are summed."""

    indices: Any
    values: Any
    shape: Any

    def __init__(self, indices: Any = None, values: Any = None, shape: Shape | None = None,
                 coo_tensor: Any = None) -> None:
        if coo_tensor is not None:
            if not isinstance(coo_tensor, COOTensor):
                raise _check.refused("COOTensor", "coo_tensor", _check.a(COOTensor), coo_tensor)
            indices, values, shape = coo_tensor.indices, coo_tensor.values, coo_tensor.shape
        elif indices is None or values is None or shape is None:
            raise _check.together("COOTensor", "indices", "values", "shape", error=TypeError)
        _need_indices("COOTensor", "indices", indices, 2)
        _need("COOTensor", "values", values)
        _checked_shape("COOTensor", shape)
        if values.ndim != 1 or values.shape[0] != indices.shape[0]:
            raise _check.refused("COOTensor", "values", _check.shape((indices.shape[0],)), values.shape)
        if indices.shape[1] != len(shape):
            raise ValueError(f"For 'COOTensor', 'indices' address {indices.shape[1]} dimensions, but 'shape' has "
                             f"{len(shape)}.")
        self.indices, self.values, self.shape = indices, values, shape

    def __repr__(self) -> str:
        return (f"COOTensor(shape={list(self.shape)}, dtype={self.dtype}, indices={_shown(self.indices)}, "
                f"values={_shown(self.values)})")

    def _with(self, values):
        return COOTensor(self.indices, values, self.shape)

    def _places_of(self, dense):
        from pijit.ops.function import broadcast_to, gather_nd
        return gather_nd(dense if dense.shape == self.shape else broadcast_to(dense, self.shape), self.indices)

    def to_dense(self) -> Tensor:
        """The whole tensor."""
        from pijit.ops.function.sparse import _coo_to_dense
        return _coo_to_dense(self.indices, self.values, self.shape)

    def to_csr(self) -> CSRTensor:
        """The matrix as a CSRTensor. Raises ValueError unless it has 2 dimensions."""
        from pijit.ops.function.sparse import _coo_to_csr
        return _coo_to_csr(self)

    def to_tuple(self) -> tuple[Any, ...]:
        """(indices, values, shape)."""
        return self.indices, self.values, self.shape

    def coalesce(self) -> COOTensor:
        """The indices in order, each once; the values of equal ones are summed."""
        from pijit.ops.function.sparse import _coalesce
        return _coalesce(self.indices, self.values, self.shape)

    def add(self, other: Any, thresh: Any) -> COOTensor:
        """The sum with another COOTensor without what is below `thresh`, by `ops.coo_add`."""
        from pijit.ops.function.sparse import coo_add
        return coo_add(self, other, thresh)

    def __add__(self, other: Any) -> COOTensor | Tensor:
        if isinstance(other, COOTensor):
            from pijit.ops.function.sparse import _sum
            return _sum(self, other)
        if isinstance(other, Tensor):
            return self.to_dense() + other
        return self._unsupported("add", other)

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, COOTensor):
            return self + -other
        if isinstance(other, Tensor):
            return self.to_dense() - other
        return self._unsupported("subtract", other)


class CSRTensor(_Sparse):
    """A sparse matrix by rows.

    values[indptr[i]:indptr[i + 1]] stand in row i, in the columns that `indices` names at the same places.

    indptr: [rows + 1], indices: [n], of one of int16, int32 and int64; values: [n], or [n, ...] where `shape` has more
        than two
    dimensions; or another CSRTensor as csr_tensor. Raises TypeError and ValueError where these don't fit together."""

    indptr: Any
    indices: Any
    values: Any
    shape: Any

    def __init__(self, indptr: Any = None, indices: Any = None, values: Any = None, shape: Shape | None = None,
                 csr_tensor: Any = None) -> None:
        if csr_tensor is not None:
            if not isinstance(csr_tensor, CSRTensor):
                raise _check.refused("CSRTensor", "csr_tensor", _check.a(CSRTensor), csr_tensor)
            indptr, indices, values, shape = csr_tensor.indptr, csr_tensor.indices, csr_tensor.values, csr_tensor.shape
        elif indptr is None or indices is None or values is None or shape is None:
            raise _check.together("CSRTensor", "indptr", "indices", "values", "shape", error=TypeError)
        _need_indices("CSRTensor", "indptr", indptr, 1)
        _need_indices("CSRTensor", "indices", indices, 1)
        _need("CSRTensor", "values", values)
        _checked_shape("CSRTensor", shape)
        if indptr.dtype != indices.dtype:
            raise _check.differ("CSRTensor", ("indptr", "indices"), "dtype", indptr.dtype, indices.dtype)
        if len(shape) < 2:
            raise _check.refused("CSRTensor", "shape", _check.least_dims(2), shape)
        if indptr.shape[0] != shape[0] + 1:
            raise _check.refused("CSRTensor", "indptr", _check.shape(f"({shape[0] + 1},) for {shape[0]} rows"),
                                 indptr.shape)
        if values.shape != indices.shape + shape[2:]:
            raise _check.refused("CSRTensor", "values", _check.shape(indices.shape + shape[2:]), values.shape)
        self.indptr, self.indices, self.values, self.shape = indptr, indices, values, shape

    def __repr__(self) -> str:
        return (f"CSRTensor(shape={list(self.shape)}, dtype={self.dtype}, indptr={_shown(self.indptr)}, "
                f"indices={_shown(self.indices)}, "
                f"values={_shown(self.values)})")

    def _with(self, values):
        return CSRTensor(self.indptr, self.indices, values, self.shape)

    def _places_of(self, dense):
        from pijit.ops.function.sparse import csr_gather
        return csr_gather(self.indptr, self.indices, dense, self.shape)

    def to_dense(self) -> Tensor:
        """The whole matrix."""
        return self.to_coo().to_dense() if len(self.shape) == 2 else self._to_dense()

    def _to_dense(self):
        from pijit.ops.function.sparse import _csr_to_dense
        return _csr_to_dense(self)

    def to_coo(self) -> COOTensor:
        """The matrix as a COOTensor. Raises ValueError unless it has 2 dimensions."""
        from pijit.ops.function.sparse import _csr_to_coo
        return _csr_to_coo(self)

    def to_tuple(self) -> tuple[Any | Any, Any | Any, Any, Any]:
        """(indptr, indices, values, shape)."""
        return self.indptr, self.indices, self.values, self.shape

    def mv(self, dense_vector: Any) -> Tensor:
        """The product with a column [columns, 1], by `ops.csr_mv`."""
        from pijit.ops.function.sparse import csr_mv
        return csr_mv(self, dense_vector)

    def mm(self, matrix: Any) -> Any:
        """The product with a matrix: a Tensor with a Tensor, a CSRTensor with a CSRTensor."""
        from pijit.ops.function.sparse import _product, csr_mm
        return csr_mm(self, matrix) if isinstance(matrix, CSRTensor) else _product("mm", self, matrix)

    def sum(self, axis: Axis) -> Tensor:
        """The sums of rows, [rows, 1], by `ops.csr_reduce_sum`."""
        from pijit.ops.function.sparse import csr_reduce_sum
        return csr_reduce_sum(self, axis)

    def add(self, b: Any, alpha: Any, beta: Any) -> CSRTensor:
        """alpha * self + beta * b, by `ops.csr_add`."""
        from pijit.ops.function.sparse import csr_add
        return csr_add(self, b, alpha, beta)

    def __add__(self, other: Any) -> CSRTensor:
        return self._combined(other, 1.0, "add")

    def __sub__(self, other: Any) -> CSRTensor:
        return self._combined(other, -1.0, "subtract")

    def _combined(self, other, beta, what):
        from pijit.ops.function.sparse import csr_add
        if not isinstance(other, CSRTensor):
            self._unsupported(what, other)
        return csr_add(self, other, 1.0, beta)


class RowTensor:
    """Rows of a tensor of `shape`, the rest of which is 0: values[i] is row indices[i]."""

    indices: Any
    values: Any
    dense_shape: Any

    def __init__(self, indices: Any = None, values: Any = None, shape: Shape | None = None,
                 row_tensor: Any = None) -> None:
        if row_tensor is not None:
            if not isinstance(row_tensor, RowTensor):
                raise _check.refused("RowTensor", "row_tensor", _check.a(RowTensor), row_tensor)
            indices, values, shape = row_tensor.indices, row_tensor.values, row_tensor.dense_shape
        _need_indices("RowTensor", "indices", indices, 1)
        _need("RowTensor", "values", values)
        _checked_shape("RowTensor", shape)
        if values.shape != indices.shape + shape[1:]:
            raise _check.refused("RowTensor", "values", _check.shape(indices.shape + shape[1:]), values.shape)
        self.indices, self.values, self.dense_shape = indices, values, shape

    @property
    def dtype(self) -> Any:
        """Of the values."""
        return self.values.dtype


class SparseTensor(COOTensor):
    """COOTensor under its former name."""

    def __init__(self, indices: Any, values: Any, shape: Shape) -> None:
        COOTensor.__init__(self, indices, values, shape)
