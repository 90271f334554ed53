"""Primitives on complex and sparse tensors, and Fourier transforms."""

from pijit import _check
from pijit import dtype as mstype
from pijit._C import Tensor
from pijit.ops import function as F
from pijit.ops.function.spectral import _norm, _with_size
from pijit.ops.function.sparse import _with_matrix
from pijit.ops.primitive import primitive
from pijit.sparse_tensor import COOTensor

__all__ = ["Eig", "FFTWithSize", "MatrixLogarithm", "STFT", "SparseSlice", "SparseTensorDenseAdd",
           "SparseTensorDenseMatmul", "SparseToDense"]


@primitive
def FFTWithSize(x, /, signal_ndim, inverse, real, norm="backward", onesided=True, signal_sizes=()):
    """The Fourier transform over the last signal_ndim (1 to 3) dimensions: complex to complex unless `real`, else of
    real values to their spectrum (its first half if onesided) or, `inverse`, back, with the last of signal_sizes as
    length (default: an even one)."""
    if signal_ndim not in (1, 2, 3):
        raise _check.refused("FFTWithSize", "signal_ndim", _check.one_of(1, 2, 3), signal_ndim)
    return _with_size(x, signal_ndim, inverse, real, _norm("FFTWithSize", norm), onesided, signal_sizes)


@primitive
def STFT(x, window, /, n_fft, hop_length, win_length, normalized, onesided, return_complex):
    """ops.stft of a signal that isn't continued at its ends."""
    return F.stft(x, n_fft, hop_length, win_length, window, False, "REFLECT", normalized, onesided, return_complex)


@primitive
def MatrixLogarithm(x, /):
    """The principal logarithms of complex matrices [..., n, n] that have n eigenvectors."""
    if not isinstance(x, Tensor) or x.dtype not in mstype.complex_type:
        raise _check.refused("MatrixLogarithm", "x", _check.value("be a Tensor of complex64 or complex128"),
                             getattr(x, "dtype", type(x).__name__), TypeError)
    values, vectors = F.eig(x)
    return F.matmul(vectors * F.expand_dims(F.log(values), -2), F.inverse(vectors))


@primitive
def Eig(x, /, compute_v=False):
    """(eigenvalues, eigenvectors) of square matrices; without compute_v the latter are an empty tensor."""
    if not isinstance(compute_v, bool):
        raise _check.refused("Eig", "compute_v", _check.BOOL, compute_v)
    if compute_v:
        return F.eig(x)
    values = F.eigvals(x)
    return values, F.zeros((0,), values.dtype)


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
