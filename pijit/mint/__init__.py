"""Functions under the names and with the arguments that PyTorch has: `dim`, `keepdim`, `correction` (MindSpore's
`mint`)."""

import numpy as _np

from pijit import dtype as _t
from pijit import random as _random
from pijit._C import Tensor
from pijit._C import ops as _ops
from pijit.ops import function as _F
from pijit.ops.function.shapes import _swapped

for _n in (
    "abs acos acosh addbmm addmm addmv arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 "
    "atanh baddbmm bitwise_and bitwise_or "
           "bitwise_xor bmm broadcast_to ceil cos cosh diff div divide dot dstack einsum eq erf erfc erfinv exp exp2 "
           "expm1 float_power floor "
           "floor_divide fmod frac gcd greater greater_equal gt histc hstack inverse isclose isfinite isinf isnan "
           "isneginf le lerp less less_equal log log10 log1p log2 logaddexp "
           "logaddexp2 logical_and logical_not logical_or logical_xor lt masked_select matmul maximum minimum mm mul "
           "mv nan_to_num ne neg negative not_equal "
           "outer pow ravel reciprocal remainder reshape round rsqrt searchsorted sigmoid sign sin sinc sinh sqrt "
           "square sub swapaxes t tan tanh tril triu "
           "unique_consecutive unsqueeze where xlogy zeros_like ones_like full_like clamp narrow trace").split():
    globals()[_n] = getattr(_F, _n)
bitwise_not = _F.invert


def _typed(x, dtype):
    return x if dtype is None else _F.cast(x, dtype)


def _axes(dim):
    return None if dim is None or dim == () else tuple(dim) if isinstance(dim, list) else dim


def add(input, other, *, alpha=1):
    """input + alpha * other."""
    return _F.add(input, other if alpha == 1 else other * alpha)


def sub(input, other, *, alpha=1):
    """input - alpha * other."""
    return _F.sub(input, other if alpha == 1 else other * alpha)


def addcdiv(input, tensor1, tensor2, *, value=1):
    """input + value * tensor1 / tensor2."""
    return _F.addcdiv(input, tensor1, tensor2, value)


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are close, as a bool."""
    return bool(_F.all(_F.isclose(input, other, rtol, atol, equal_nan)))


def equal(input, other):
    """Whether shapes and elements agree, as a bool."""
    return tuple(input.shape) == tuple(other.shape) and bool(_F.all(input == other))


# --- reductions ---

def sum(input, dim=None, keepdim=False, *, dtype=None):
    """The sum over dimensions."""
    return _F.sum(input, _axes(dim), keepdim, dtype=dtype)


def nansum(input, dim=None, keepdim=False, *, dtype=None):
    """The sum of what isn't NaN."""
    return input.nansum(dim, keepdim, dtype=dtype)


def mean(input, dim=None, keepdim=False, *, dtype=None):
    """The mean over dimensions."""
    return _F.mean(_typed(input, dtype), _axes(dim), keepdim)


def prod(input, dim=None, keepdim=False, *, dtype=None):
    """The product over a dimension."""
    return _F.prod(input, dim, keepdim, dtype)


def all(input, dim=None, keepdim=False):
    """Whether all elements are true."""
    return _F.all(_F.cast(input, _t.bool_), _axes(dim), keepdim)


def any(input, dim=None, keepdim=False):
    """Whether an element is true."""
    return _F.any(_F.cast(input, _t.bool_), _axes(dim), keepdim)


def amax(input, dim=(), keepdim=False):
    """The maximum over dimensions."""
    return _F.amax(input, _axes(dim), keepdim)


def amin(input, dim=(), keepdim=False):
    """The minimum over dimensions."""
    return _F.amin(input, _axes(dim), keepdim)


def argmax(input, dim=None, keepdim=False):
    """The index (int64) of the maximum along a dimension, or of the flattened tensor."""
    return _F.cast(_F.argmax(input, dim, keepdim), _t.int64)


def argmin(input, dim=None, keepdim=False):
    """The index (int64) of the minimum along a dimension, or of the flattened tensor."""
    return _F.cast(_F.argmin(input, dim, keepdim), _t.int64)


def max(input, *args, **kwargs):
    """The maximum of all elements; (values, indices) along `dim`; the greater of each pair where a tensor is given."""
    return _extremum(_F.maximum, amax, argmax, input, *args, **kwargs)


def min(input, *args, **kwargs):
    """The minimum of all elements; (values, indices) along `dim`; the lesser of each pair where a tensor is given."""
    return _extremum(_F.minimum, amin, argmin, input, *args, **kwargs)


def _extremum(of_two, reduce, arg, input, dim=None, keepdim=False, other=None):
    if isinstance(dim, Tensor) or other is not None:
        return of_two(input, dim if other is None else other)
    return reduce(input) if dim is None else (reduce(input, dim, keepdim), arg(input, dim, keepdim))


def median(input, dim=None, keepdim=False):
    """The lower median of all elements, or (values, indices) along `dim`."""
    return _F.median(input, None)[0] if dim is None else _F.median(input, dim, keepdim)


def kthvalue(input, k, dim=-1, keepdim=False):
    """(the k-th smallest values along a dimension, their indices as int64)."""
    n = input.shape[dim]
    if not 1 <= k <= n:
        raise ValueError(f"For 'kthvalue', 'k' must be in [1, {n}], but got {k}.")
    at = _F.narrow(_ops["argsort"](input, dim, False), dim, k - 1, 1)
    v = _F.gather_elements(input, dim, at)
    at = _F.cast(at, _t.int64)
    return (v, at) if keepdim else (_F.squeeze(v, dim), _F.squeeze(at, dim))


def logsumexp(input, dim, keepdim=False):
    """log of the sum of exp over dimensions."""
    return _F.logsumexp(input, dim, keepdim)


def var(input, dim=None, *, correction=1, keepdim=False):
    """The variance over dimensions."""
    return _F.var(input, _axes(dim), correction, keepdim)


def std(input, dim=None, *, correction=1, keepdim=False):
    """The standard deviation over dimensions."""
    return _F.std(input, _axes(dim), correction, keepdim)


def var_mean(input, dim=None, *, correction=1, keepdim=False):
    """(variance, mean) over dimensions."""
    return var(input, dim, correction=correction, keepdim=keepdim), mean(input, dim, keepdim)


def std_mean(input, dim=None, *, correction=1, keepdim=False):
    """(standard deviation, mean) over dimensions."""
    return std(input, dim, correction=correction, keepdim=keepdim), mean(input, dim, keepdim)


def count_nonzero(input, dim=None):
    """How many elements aren't 0, as int64."""
    return _F.count_nonzero(input, () if dim is None else dim, dtype=_t.int64)


def norm(input, p="fro", dim=None, keepdim=False, *, dtype=None):
    """The p-norm over dimensions."""
    x = _typed(input, dtype)
    if p in ("fro", 2, 2.0):
        return _F.sqrt(_F.sum(_F.square(x), _axes(dim), keepdim))
    return _F.vector_norm(x, p, _axes(dim), keepdim)


def cumsum(input, dim, dtype=None):
    """Running sums."""
    return _F.cumsum(input, dim, dtype)


def cumprod(input, dim, dtype=None):
    """Running products."""
    return _F.cumprod(input, dim, dtype)


def cummax(input, dim):
    """(running maxima, their indices)."""
    return _F.cummax(input, dim)


def cummin(input, dim):
    """(running minima, their indices)."""
    return _F.cummin(input, dim)


def bincount(input, weights=None, minlength=0):
    """How often each int from 0 on occurs, or the sums of their weights."""
    return _F.bincount(input, weights, minlength)


# --- order ---

def sort(input, *, dim=-1, descending=False, stable=False):
    """(values in order along a dimension, their indices as int64)."""
    v, i = _F.sort(input, dim, descending)
    return v, _F.cast(i, _t.int64)


def argsort(input, dim=-1, descending=False, stable=False):
    """The indices (int64) that sort along a dimension."""
    return _F.cast(_F.argsort(input, dim, descending), _t.int64)


def topk(input, k, dim=-1, largest=True, sorted=True):
    """(the k largest or smallest along a dimension, their indices as int64)."""
    v, i = _F.topk(input, k, dim, largest, sorted)
    return v, _F.cast(i, _t.int64)


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
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

def broadcast_to(input, shape):
    """Repeated to a shape."""
    return _F.broadcast_to(input, tuple(shape))


def chunk(input, chunks, dim=0):
    """Parts of (nearly) equal size."""
    return _F.chunk(input, chunks, dim)


def split(tensor, split_size_or_sections, dim=0):
    """Parts of a size, or of sizes."""
    return _F.split(tensor, split_size_or_sections, dim)


def cat(tensors, dim=0):
    """Joined along a dimension."""
    return _F.cat(tensors, dim)


concat = cat


def stack(tensors, dim=0):
    """Joined along a new dimension."""
    return _F.stack(tensors, dim)


def flatten(input, start_dim=0, end_dim=-1):
    """Dimensions merged."""
    return _F.flatten(input, start_dim=start_dim, end_dim=end_dim)


def flip(input, dims):
    """Reversed along dimensions."""
    return _F.flip(input, dims)


def gather(input, dim, index):
    """Elements along a dimension by index."""
    return _F.gather_elements(input, dim, index)


def index_select(input, dim, index):
    """Slices of a dimension by index."""
    return _F.index_select(input, dim, index)


def index_add(input, dim, index, source, *, alpha=1):
    """alpha * source added to the slices that the indices name."""
    return _ops["index_add"](input, index, source if alpha == 1 else source * alpha, dim)


def scatter(input, dim, index, src):
    """src (a tensor or a number) put at indices along a dimension."""
    src = src if isinstance(src, Tensor) else _F.full(index.shape, src, dtype=input.dtype)
    return _F.scatter(input, dim, index, src)


def scatter_add(input, dim, index, src):
    """src added at indices along a dimension."""
    return _F.tensor_scatter_elements(input, index, src, dim, "add")


def select(input, dim, index):
    """One slice of a dimension."""
    return _F.squeeze(_F.narrow(input, dim, index + input.shape[dim] if index < 0 else index, 1), dim)


def meshgrid(*tensors, indexing=None):
    """Grids of coordinates, rows first by default."""
    return _F.meshgrid(*tensors, indexing="ij" if indexing is None else indexing)


def permute(input, dims):
    """Dimensions in another order."""
    return _F.transpose(input, tuple(dims))


def transpose(input, dim0, dim1):
    """Two dimensions exchanged."""
    return _swapped("transpose", input, dim0, dim1)


def squeeze(input, dim=None):
    """Without dimensions of 1."""
    return input.squeeze() if dim is None else input.squeeze(dim)


def tile(input, dims):
    """Repeated along dimensions."""
    return _F.tile(input, dims)


def roll(input, shifts, dims=None):
    """Shifted along dimensions, what leaves coming in at the other end; of the flattened tensor by default."""
    return (_F.reshape(_F.roll(_F.ravel(input), shifts, 0), input.shape) if dims is None
            else _F.roll(input, shifts, dims))


def repeat_interleave(input, repeats, dim=None, *, output_size=None):
    """Each element so often in a row."""
    return _F.repeat_interleave(input, repeats, dim)


def take(input, index):
    """Elements of the flattened tensor."""
    return _F.take(input, index)


def unbind(input, dim=0):
    """The parts along a dimension, without it."""
    return _F.unbind(input, dim)


def diag(input, diagonal=0):
    """A diagonal of a matrix, or a matrix with a vector on it."""
    return _F.diag_embed(input, diagonal) if input.ndim == 1 else _F.diagonal(input, diagonal)


def nonzero(input, *, as_tuple=False):
    """Indices of the elements that aren't 0."""
    return _F.nonzero(input, as_tuple)


def clone(input):
    """The same value in a new tensor."""
    return input.clone()


def cross(input, other, dim=None):
    """Vector products along a dimension of 3; the first such one by default."""
    if dim is None:
        dim = [n == 3 for n in input.shape].index(True)
    return _F.cross(input, other, dim)


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """p-norms of differences of rows."""
    return _F.cdist(x1, x2, float(p))


def softmax(input, dim, *, dtype=None):
    """Softmax along a dimension."""
    return _F.softmax(_typed(input, dtype), dim)


def real(input):
    """input: there are real numbers only."""
    return input


def polar(abs, angle):
    """abs * exp(i angle), of two float32 Tensors of one shape: complex64, complex128 of float64."""
    return _F.polar(abs, angle)


def imag(input):
    """Zeros: there are real numbers only."""
    return _F.zeros_like(input)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """2-d convolution."""
    from pijit.mint.nn import functional
    return functional.conv2d(input, weight, bias, stride, padding, dilation, groups)


# --- new tensors ---

def _size(size):
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else tuple(size)


def arange(start=0, end=None, step=1, *, dtype=None):
    """Values from start to end (not included) by step."""
    return _F.arange(start, end, step, dtype=dtype)


def full(size, fill_value, *, dtype=None):
    """One value everywhere."""
    return _F.full(size, fill_value, dtype=dtype)


def zeros(*size, dtype=None):
    """Zeros."""
    return _F.zeros(_size(size), dtype)


def ones(*size, dtype=None):
    """Ones."""
    return _F.ones(_size(size), dtype)


def empty(*size, dtype=None, device=None):
    """A tensor (of zeros)."""
    return _F.zeros(_size(size), dtype)


def empty_like(input, *, dtype=None, device=None):
    """A tensor (of zeros) in the shape and dtype of another."""
    return _F.zeros_like(input, dtype=dtype)


def eye(n, m=None, dtype=None):
    """Ones on the diagonal."""
    return _F.eye(n, m, dtype)


def linspace(start, end, steps, *, dtype=None):
    """`steps` values from start to end, both included."""
    return _typed(_F.linspace(start, end, steps), dtype)


def rand(*size, generator=None, dtype=None):
    """Uniform in [0, 1)."""
    return _typed(_random.uniform(_size(size), generator), dtype)


def rand_like(input, *, dtype=None):
    """Uniform in [0, 1), of the same shape."""
    return _typed(_random.uniform(input.shape), input.dtype if dtype is None else dtype)


def randn(*size, generator=None, dtype=None):
    """Standard normal."""
    return _typed(_random.normal(_size(size), generator), dtype)


def randn_like(input, *, dtype=None):
    """Standard normal, of the same shape."""
    return _typed(_random.normal(input.shape), input.dtype if dtype is None else dtype)


def randint(*args, low=0, high=None, size=None, generator=None, dtype=None):
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


def randint_like(input, *args, low=0, high=None, dtype=None):
    """Integers in [low, high), of the same shape: randint_like(x, low, high) or randint_like(x, high)."""
    if args:
        low, high = args if len(args) == 2 else (low, args[0])
    return randint(low, high, tuple(input.shape), dtype=input.dtype if dtype is None else dtype)


def randperm(n, *, generator=None, dtype=_t.int64):
    """The numbers 0 to n - 1 in random order."""
    return _F.cast(_ops["argsort"](_random.uniform((n,), generator), 0, False), dtype)


def normal(mean=0.0, std=1.0, size=None, generator=None):
    """Normal numbers of mean and std, which may be tensors that give the size."""
    if size is None:
        size = (mean + std).shape if isinstance(mean, Tensor) or isinstance(std, Tensor) else ()
    return _random.normal(tuple(size), generator) * std + mean


def bernoulli(input, *, generator=None):
    """1 with the probabilities in input, else 0."""
    return _F.cast(_random.uniform(input.shape, generator) < input, input.dtype)


def multinomial(input, num_samples, replacement=False, *, generator=None):
    """Indices (int64) drawn with probabilities in proportion to rows."""
    return _F.multinomial(input, num_samples, replacement)


# --- parts of a batch normalisation over several processes ---

def batch_norm_stats(input, eps):
    """(the means, the reciprocal standard deviations) of the channels of input [N, C, ...], as float32."""
    axes = (0, *range(2, input.ndim))
    x = _F.cast(input, _t.float32)
    m = _F.mean(x, axes)
    return m, _F.rsqrt(_F.var(x, axes, 0) + eps)


def batch_norm_gather_stats_with_counts(input, mean, invstd, running_mean=None, running_var=None, momentum=0.1,
                                        eps=1e-5, counts=None):
    """(the means, the reciprocal standard deviations) over all parts, of which mean and invstd [parts, C] tell and
    counts [parts] say how large they are.

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


def batch_norm_elemt(input, weight=None, bias=None, mean=None, invstd=None, eps=1e-5):
    """(input - mean) * invstd * weight + bias, all of channels [C]."""
    def wide(v):
        return _F.reshape(v, (1, -1) + (1,) * (input.ndim - 2))
    y = (input - wide(mean)) * wide(invstd)
    y = y if weight is None else y * wide(weight)
    return _F.cast(y if bias is None else y + wide(bias), input.dtype)


def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False):
    """(x with A @ x = b for one triangle of A [..., n, n] and b [..., n, k], A)."""
    from pijit.ops.function.decomposition import _solve_triangular
    return _solve_triangular(A, b, not upper, transpose, unitriangular), A


__all__ = [n for n, v in globals().items() if n[0] != "_" and callable(v) and v is not Tensor]

from pijit.mint import linalg, nn, special  # noqa: E402,F401

from pijit import compat as _compat  # noqa: E402

__getattr__, __dir__ = _compat.names(__name__)  # submodules, when one is asked for
