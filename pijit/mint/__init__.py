"""Functions under the names and with the arguments that PyTorch has: `dim`, `keepdim`, `correction` (MindSpore's
`mint`)."""

from __future__ import annotations

import typing as _typing
from typing import TYPE_CHECKING

import numpy as _np

from pijit import _check
from pijit.compute_dtype import one_operator
from pijit import dtype as _t
from pijit import random as _random
from pijit._C import Tensor
from pijit._C import ops as _ops, views as _views
from pijit.mint._arguments import _axes, _typed
from pijit.ops import function as _F
from pijit.ops.function.creation import _filled
from pijit.ops.function.shapes import _flattened, _swapped
from pijit.ops.table import MINT as _MINT, OPS as _OPS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit._C import DType
    from pijit._types import Axis, DTypeLike, Number, Shape, Size, TensorLike
    from pijit.random import Generator

globals().update(_MINT)
globals().update({_n: getattr(_F, _n) for _row in _OPS for _n in _row.mint})
bitwise_not = _F.invert


def add(input: Tensor, other: TensorLike, *, alpha: float = 1) -> Tensor:
    """input + alpha * other."""
    return _F.add(input, other if alpha == 1 else other * alpha)


def sub(input: Tensor, other: TensorLike, *, alpha: float = 1) -> Tensor:
    """input - alpha * other."""
    return _F.sub(input, other if alpha == 1 else other * alpha)


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """input + value * tensor1 / tensor2."""
    return _F.addcdiv(input, tensor1, tensor2, value)


def allclose(input: Tensor, other: TensorLike, rtol: float = 1e-05, atol: float = 1e-08,
             equal_nan: bool = False) -> bool:
    """Whether all elements are close, as a bool."""
    return bool(_F.all(_F.isclose(input, other, rtol, atol, equal_nan)))


def equal(input: Tensor, other: TensorLike) -> bool:
    """Whether shapes and elements agree, as a bool."""
    return tuple(input.shape) == tuple(other.shape) and bool(_F.all(input == other))


# --- reductions ---

def sum(input: Tensor, dim: Axis | None = None, keepdim: bool = False, *, dtype: DTypeLike | None = None) -> Tensor:
    """The sum over dimensions."""
    return _F.sum(input, _axes(dim), keepdim, dtype=dtype)


def nansum(input: Tensor, dim: Axis | None = None, keepdim: bool = False, *, dtype: DTypeLike | None = None) -> Tensor:
    """The sum of what isn't NaN."""
    return input.nansum(dim, keepdim, dtype=dtype)


def mean(input: Tensor, dim: Axis | None = None, keepdim: bool = False, *, dtype: DTypeLike | None = None) -> Tensor:
    """The mean over dimensions."""
    return _F.mean(_typed(input, dtype), _axes(dim), keepdim)


def prod(input: Tensor, dim: Axis | None = None, keepdim: bool = False, *, dtype: DTypeLike | None = None) -> Tensor:
    """The product over a dimension."""
    return _F.prod(input, dim, keepdim, dtype)


def all(input: Tensor, dim: Axis | None = None, keepdim: bool = False) -> Tensor:
    """Whether all elements are true."""
    return _F.all(_F.cast(input, _t.bool_), _axes(dim), keepdim)


def any(input: Tensor, dim: Axis | None = None, keepdim: bool = False) -> Tensor:
    """Whether an element is true."""
    return _F.any(_F.cast(input, _t.bool_), _axes(dim), keepdim)


def amax(input: Tensor, dim: Axis = (), keepdim: bool = False) -> Tensor:
    """The maximum over dimensions."""
    return _F.amax(input, _axes(dim), keepdim)


def amin(input: Tensor, dim: Axis = (), keepdim: bool = False) -> Tensor:
    """The minimum over dimensions."""
    return _F.amin(input, _axes(dim), keepdim)


def argmax(input: Tensor, dim: Axis | None = None, keepdim: bool = False) -> Tensor:
    """The index (int64) of the maximum along a dimension, or of the flattened tensor."""
    return _F.cast(_F.argmax(input, dim, keepdim), _t.int64)


def argmin(input: Tensor, dim: Axis | None = None, keepdim: bool = False) -> Tensor:
    """The index (int64) of the minimum along a dimension, or of the flattened tensor."""
    return _F.cast(_F.argmin(input, dim, keepdim), _t.int64)


def max(input: Tensor, *args: Any, **kwargs: Any) -> Any:
    """The maximum of all elements; (values, indices) along `dim`; the greater of each pair where a tensor is given."""
    return _extremum(_F.maximum, amax, argmax, input, *args, **kwargs)


def min(input: Tensor, *args: Any, **kwargs: Any) -> Any:
    """The minimum of all elements; (values, indices) along `dim`; the lesser of each pair where a tensor is given."""
    return _extremum(_F.minimum, amin, argmin, input, *args, **kwargs)


def _extremum(of_two, reduce, arg, input, dim=None, keepdim=False, other=None):
    if isinstance(dim, Tensor) or other is not None:
        return of_two(input, dim if other is None else other)
    return reduce(input) if dim is None else (reduce(input, dim, keepdim), arg(input, dim, keepdim))


def median(input: Tensor, dim: Axis | None = None, keepdim: bool = False) -> Any:
    """The lower median of all elements, or (values, indices) along `dim`."""
    return _F.median(input, None)[0] if dim is None else _F.median(input, dim, keepdim)


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """(the k-th smallest values along a dimension, their indices as int64)."""
    n = input.shape[dim]
    if not 1 <= k <= n:
        raise _check.refused("kthvalue", "k", _check.within(1, n), k)
    at = _F.narrow(_ops["argsort"](input, dim, False), dim, k - 1, 1)
    v = _F.gather_elements(input, dim, at)
    at = _F.cast(at, _t.int64)
    return (v, at) if keepdim else (_F.squeeze(v, dim), _F.squeeze(at, dim))


def logsumexp(input: Tensor, dim: int, keepdim: bool = False) -> Tensor:
    """log of the sum of exp over dimensions."""
    return _F.logsumexp(input, dim, keepdim)


def var(input: Tensor, dim: Axis | None = None, *, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The variance over dimensions."""
    return _F.var(input, _axes(dim), correction, keepdim)


def std(input: Tensor, dim: Axis | None = None, *, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The standard deviation over dimensions."""
    return _F.std(input, _axes(dim), correction, keepdim)


def var_mean(input: Tensor, dim: Axis | None = None, *, correction: int = 1,
             keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """(variance, mean) over dimensions."""
    return var(input, dim, correction=correction, keepdim=keepdim), mean(input, dim, keepdim)


def std_mean(input: Tensor, dim: Axis | None = None, *, correction: int = 1,
             keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """(standard deviation, mean) over dimensions."""
    return std(input, dim, correction=correction, keepdim=keepdim), mean(input, dim, keepdim)


def count_nonzero(input: Tensor, dim: Axis | None = None) -> Tensor:
    """How many elements aren't 0, as int64."""
    return _F.count_nonzero(input, () if dim is None else dim, dtype=_t.int64)


def norm(input: Tensor, p: float | str = "fro", dim: Axis | None = None, keepdim: bool = False, *,
         dtype: DTypeLike | None = None) -> Tensor:
    """The p-norm over dimensions."""
    x = _typed(input, dtype)
    if p in ("fro", 2, 2.0):
        return _F.sqrt(_F.sum(_F.square(x), _axes(dim), keepdim))
    return _F.vector_norm(x, p, _axes(dim), keepdim)


def cumsum(input: Tensor, dim: int, dtype: DTypeLike | None = None) -> Tensor:
    """Running sums."""
    return _F.cumsum(input, dim, dtype)


def cumprod(input: Tensor, dim: int, dtype: DTypeLike | None = None) -> Tensor:
    """Running products."""
    return _F.cumprod(input, dim, dtype)


def cummax(input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """(running maxima, their indices)."""
    return _F.cummax(input, dim)


def cummin(input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """(running minima, their indices)."""
    return _F.cummin(input, dim)


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each int from 0 on occurs, or the sums of their weights."""
    return _F.bincount(input, weights, minlength)


# --- order ---

def sort(input: Tensor, *, dim: int = -1, descending: bool = False, stable: bool = False) -> tuple[Tensor, Tensor]:
    """(values in order along a dimension, their indices as int64)."""
    v, i = _F.sort(input, dim, descending)
    return v, _F.cast(i, _t.int64)


def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices (int64) that sort along a dimension."""
    return _F.cast(_F.argsort(input, dim, descending), _t.int64)


def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """(the k largest or smallest along a dimension, their indices as int64)."""
    v, i = _F.topk(input, k, dim, largest, sorted)
    return v, _F.cast(i, _t.int64)


def unique(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
           dim: Axis | None = None) -> Any:
    """The distinct values in order (slices along `dim`); on request each element's place among them, and how often each
    occurs."""
    got = _np.unique(input.asnumpy(), False, return_inverse, return_counts, dim)
    if not isinstance(got, tuple):
        return Tensor(got)
    out = [Tensor(got[0])]
    if return_inverse:
        out.append(Tensor(got[1].reshape(input.shape if dim is None else -1).astype(_np.int64)))
    if return_counts:
        out.append(Tensor(got[-1].astype(_np.int64)))
    return tuple(out)


# --- places ---

def broadcast_to(input: Tensor, shape: Shape) -> Tensor:
    """Repeated to a shape."""
    return _F.broadcast_to(input, tuple(shape))


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of (nearly) equal size."""
    return _F.chunk(input, chunks, dim)


def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of a size, or of sizes."""
    return _F.split(tensor, split_size_or_sections, dim)


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Joined along a dimension."""
    return _F.cat(tensors, dim)


concat = cat


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Joined along a new dimension."""
    return _F.stack(tensors, dim)


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions merged."""
    return _flattened(_views, input, "C", start_dim, end_dim)


def flip(input: Tensor, dims: Axis) -> Tensor:
    """Reversed along dimensions."""
    return _F.flip(input, dims)


def gather(input: Tensor, dim: int, index: Any) -> Tensor:
    """Elements along a dimension by index."""
    return _F.gather_elements(input, dim, index)


def index_select(input: Tensor, dim: int, index: Any) -> Tensor:
    """Slices of a dimension by index."""
    return _F.index_select(input, dim, index)


def index_add(input: Tensor, dim: int, index: Any, source: Tensor, *, alpha: float = 1) -> Tensor:
    """alpha * source added to the slices that the indices name."""
    return _ops["index_add"](input, index, source if alpha == 1 else source * alpha, dim)


def scatter(input: Tensor, dim: int, index: Any, src: Tensor) -> Tensor:
    """src (a tensor or a number) put at indices along a dimension."""
    src = src if isinstance(src, Tensor) else _filled(index.shape, src, dtype=input.dtype)
    return _F.scatter(input, dim, index, src)


def scatter_add(input: Tensor, dim: int, index: Any, src: Tensor) -> Tensor:
    """src added at indices along a dimension."""
    return _F.tensor_scatter_elements(input, index, src, dim, "add")


def select(input: Tensor, dim: int, index: Any) -> Tensor:
    """One slice of a dimension."""
    return _F.squeeze(_F.narrow(input, dim, index + input.shape[dim] if index < 0 else index, 1), dim)


def meshgrid(*tensors: Any, indexing: Any = None) -> tuple[Tensor, ...]:
    """Grids of coordinates, rows first by default."""
    return _F.meshgrid(*tensors, indexing="ij" if indexing is None else indexing)


def permute(input: Tensor, dims: Axis) -> Tensor:
    """Dimensions in another order."""
    return _F.transpose(input, tuple(dims))


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged."""
    return _swapped("transpose", input, dim0, dim1)


def squeeze(input: Tensor, dim: Axis | None = None) -> Tensor:
    """Without dimensions of 1."""
    return input.squeeze() if dim is None else input.squeeze(dim)


def tile(input: Tensor, dims: Axis) -> Tensor:
    """Repeated along dimensions."""
    return _F.tile(input, dims)


def roll(input: Tensor, shifts: Any, dims: Axis | None = None) -> Tensor:
    """Shifted along dimensions, what leaves coming in at the other end; of the flattened tensor by default."""
    return (_F.reshape(_F.roll(_F.ravel(input), shifts, 0), input.shape) if dims is None
            else _F.roll(input, shifts, dims))


def repeat_interleave(input: Tensor, repeats: Tensor | Size, dim: Axis | None = None, *,
                      output_size: Size | None = None) -> Tensor:
    """Each element so often in a row."""
    return _F.repeat_interleave(input, repeats, dim)


def take(input: Tensor, index: Any) -> Tensor:
    """Elements of the flattened tensor."""
    return _F.take(input, index)


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The parts along a dimension, without it."""
    return _F.unbind(input, dim)


def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A diagonal of a matrix, or a matrix with a vector on it."""
    return _F.diag_embed(input, diagonal) if input.ndim == 1 else _F.diagonal(input, diagonal)


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Indices of the elements that aren't 0."""
    return _F.nonzero(input, as_tuple)


def clone(input: Tensor) -> Tensor:
    """The same value in a new tensor."""
    return input.clone()


def cross(input: Tensor, other: TensorLike, dim: Axis | None = None) -> Tensor:
    """Vector products along a dimension of 3; the first such one by default."""
    if dim is None:
        dim = [n == 3 for n in input.shape].index(True)
    return _F.cross(input, other, dim)


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """p-norms of differences of rows."""
    return _F.cdist(x1, x2, float(p))


def softmax(input: Tensor, dim: int, *, dtype: DTypeLike | None = None) -> Tensor:
    """Softmax along a dimension."""
    return _F.softmax(_typed(input, dtype), dim)


def real(input: Tensor) -> Tensor:
    """input: there are real numbers only."""
    return input


def polar(abs: Any, angle: Any) -> Tensor:
    """abs * exp(i angle), of two float32 Tensors of one shape: complex64, complex128 of float64."""
    return _F.polar(abs, angle)


def imag(input: Tensor) -> Tensor:
    """Zeros: there are real numbers only."""
    return _F.zeros_like(input)


def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Size = 1, padding: Size = 0,
           dilation: Size = 1, groups: int = 1) -> Tensor:
    """2-d convolution."""
    from pijit.mint.nn import functional
    return functional.conv2d(input, weight, bias, stride, padding, dilation, groups)


# --- new tensors ---

def _size(size):
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else tuple(size)


def arange(start: float = 0, end: Number | None = None, step: float = 1, *, dtype: DTypeLike | None = None) -> Tensor:
    """Values from start to end (not included) by step."""
    return _F.arange(start, end, step, dtype=dtype)


def full(size: Any, fill_value: Number, *, dtype: DTypeLike | None = None) -> Tensor:
    """One value everywhere: of bool, int64 or float32 by default, as the value is."""
    if dtype is None:
        dtype = _t.bool_ if isinstance(fill_value, bool) else _t.int64 if isinstance(fill_value, int) else _t.float32
    return _filled(size, fill_value, dtype=dtype)


def zeros(*size: Any, dtype: DTypeLike | None = None) -> Tensor:
    """Zeros."""
    return _F.zeros(_size(size), dtype)


def ones(*size: Any, dtype: DTypeLike | None = None) -> Tensor:
    """Ones."""
    return _F.ones(_size(size), dtype)


def empty(*size: Any, dtype: DTypeLike | None = None, device: Any = None) -> Tensor:
    """A tensor (of zeros)."""
    return _F.zeros(_size(size), dtype)


def empty_like(input: Tensor, *, dtype: DTypeLike | None = None, device: Any = None) -> Tensor:
    """A tensor (of zeros) in the shape and dtype of another."""
    return _F.zeros_like(input, dtype=dtype)


def eye(n: int, m: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Ones on the diagonal."""
    return _F.eye(n, m, dtype)


def linspace(start: Number, end: Number, steps: int, *, dtype: DTypeLike | None = None) -> Tensor:
    """`steps` values from start to end, both included."""
    return _typed(_F.linspace(start, end, steps), dtype)


def rand(*size: Any, generator: Generator | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Uniform in [0, 1)."""
    return _typed(_random.uniform(_size(size), generator), dtype)


def rand_like(input: Tensor, *, dtype: DTypeLike | None = None) -> Tensor:
    """Uniform in [0, 1), of the same shape."""
    return _typed(_random.uniform(input.shape), input.dtype if dtype is None else dtype)


def randn(*size: Any, generator: Generator | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Standard normal."""
    return _typed(_random.normal(_size(size), generator), dtype)


def randn_like(input: Tensor, *, dtype: DTypeLike | None = None) -> Tensor:
    """Standard normal, of the same shape."""
    return _typed(_random.normal(input.shape), input.dtype if dtype is None else dtype)


def randint(*args: Any, low: float = 0, high: Number | None = None, size: Any = None,
            generator: Generator | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Integers in [low, high): randint(low, high, size) or randint(high, size)."""
    if len(args) == 3:
        low, high, size = args
    elif len(args) == 2:
        (high, size) = args if size is None else (None, None)
        if high is None:
            low, high = args
    elif len(args) == 1:
        high = args[0]
    x = _F.floor(_random.uniform(tuple(size), generator) * float(high - low)) + float(low)
    return _F.cast(_F.minimum(x, float(high - 1)), _t.int64 if dtype is None else dtype)


def randint_like(input: Tensor, *args: Any, low: float = 0, high: Number | None = None,
                 dtype: DTypeLike | None = None) -> Tensor:
    """Integers in [low, high), of the same shape: randint_like(x, low, high) or randint_like(x, high)."""
    if args:
        low, high = args if len(args) == 2 else (low, args[0])
    return randint(low, high, tuple(input.shape), dtype=input.dtype if dtype is None else dtype)


def randperm(n: int, *, generator: Generator | None = None, dtype: DType = _t.int64) -> Tensor:
    """The numbers 0 to n - 1 in random order."""
    return _F.cast(_ops["argsort"](_random.uniform((n,), generator), 0, False), dtype)


def normal(mean: float = 0.0, std: float = 1.0, size: Any = None, generator: Generator | None = None) -> Tensor:
    """Normal numbers of mean and std, which may be tensors that give the size."""
    if size is None:
        size = (mean + std).shape if isinstance(mean, Tensor) or isinstance(std, Tensor) else ()
    return _random.normal(tuple(size), generator) * std + mean


def bernoulli(input: Tensor, *, generator: Generator | None = None) -> Tensor:
    """1 with the probabilities in input, else 0."""
    return _F.cast(_random.uniform(input.shape, generator) < input, input.dtype)


def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *,
                generator: Generator | None = None) -> Tensor:
    """Indices (int64) drawn with probabilities in proportion to rows."""
    return _F.multinomial(input, num_samples, replacement)


# --- parts of a batch normalisation over several processes ---

@one_operator
def batch_norm_stats(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """(the means, the reciprocal standard deviations) of the channels of input [N, C, ...], as float32."""
    axes = (0, *range(2, input.ndim))
    x = _F.cast(input, _t.float32)
    m = _F.mean(x, axes)
    return m, _F.rsqrt(_F.var(x, axes, 0) + eps)


@one_operator
def batch_norm_gather_stats_with_counts(input: Tensor, mean: TensorLike, invstd: Any,
                                        running_mean: Tensor | None = None, running_var: Tensor | None = None,
                                        momentum: float = 0.1, eps: float = 1e-5,
                                        counts: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """(the means, the reciprocal standard deviations) over all parts.

    mean and invstd [parts, C] tell of them, and counts [parts] say how large they are.

    Running statistics that are given are updated in place."""
    n = _F.expand_dims(_F.cast(counts, _t.float32), 1)
    total = _F.sum(n)
    m = _F.sum(mean * n, 0) / total
    var = _F.sum((1.0 / (invstd * invstd) - eps + mean * mean) * n, 0) / total - m * m
    if running_mean is not None:
        running_mean._assign(_F.cast(running_mean * (1.0 - momentum) + m * momentum, running_mean.dtype))
    if running_var is not None:
        running_var._assign(_F.cast(running_var * (1.0 - momentum) + var * (total / (total - 1.0)) * momentum,
                                    running_var.dtype))
    return m, _F.rsqrt(var + eps)


def batch_norm_elemt(input: Tensor, weight: Tensor | None = None, bias: Tensor | None = None,
                     mean: TensorLike | None = None, invstd: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """(input - mean) * invstd * weight + bias, all of channels [C]."""
    def wide(v):
        return _F.reshape(v, (1, -1) + (1,) * (input.ndim - 2))
    y = (input - wide(mean)) * wide(invstd)
    y = y if weight is None else y * wide(weight)
    return _F.cast(y if bias is None else y + wide(bias), input.dtype)


def triangular_solve(b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False,
                     unitriangular: bool = False) -> tuple[Tensor, Tensor]:
    """(x with A @ x = b for one triangle of A [..., n, n] and b [..., n, k], A)."""
    from pijit.ops.function.decomposition import _solve_triangular
    return _solve_triangular(A, b, not upper, transpose, unitriangular), A


__all__ = [n for n, v in globals().items() if n[0] != "_" and callable(v) and v is not Tensor]

from pijit.mint import linalg, nn, special  # noqa: E402,F401

from pijit import compat as _compat  # noqa: E402

__getattr__, __dir__ = _compat.names(__name__)  # submodules, when one is asked for
if _typing.TYPE_CHECKING:  # what is loaded when it is asked for (tools/stubs.py)
    from pijit.mint import distributed as distributed, optim as optim
# -- to here --

if TYPE_CHECKING:  # what pijit/ops/table.py names is made when the module is loaded, or later
    def __getattr__(name: str) -> Any: ...
