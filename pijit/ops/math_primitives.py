"""Primitives of arithmetic, reductions, counts and special functions."""

from __future__ import annotations

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.compute_dtype import one_operator
from pijit.ops import function as F
from pijit.ops.function import special as _special
from pijit.ops.primitive import primitive
from pijit.ops.primitive_arguments import _ints_of


@primitive
def Median(input_x, /, global_median=False, axis=0, keep_dims=False, ignore_nan=False):
    """(medians along an axis, the lower of two, and their indices).

    The median of all elements, and 0, with global_median."""
    if global_median:
        flat = F.reshape(input_x, (-1,))
        values, _ = F.nanmedian(flat, 0) if ignore_nan else F.median(flat, 0)
        return values, F.zeros((), mstype.int64)
    return F.nanmedian(input_x, axis, keep_dims) if ignore_nan else F.median(input_x, axis, keep_dims)


@primitive
def Quantile(input, q, /, dim=None, keep_dims=False, ignore_nan=False):
    """Quantiles along a dimension."""
    return (F.nanquantile if ignore_nan else F.quantile)(input, q, dim, keep_dims)


@primitive
def NextAfter(x1, x2, /):
    """The next number from x1 in the direction of x2."""
    return F.nextafter(x1, x2)


@primitive
def Betainc(a, b, x, /):
    """The regularised incomplete beta function at x in [0, 1]; it has a gradient by x."""
    return _special.betainc(a, b, x)


@primitive
def Eps(x, /):
    """The distance from 1 to the next number of x's dtype, in x's shape."""
    return F.eps(x)


@primitive
def LerpScalar(input, end, weight, /):
    """input + weight * (end - input) for a number `weight`."""
    return F.lerp(input, end, weight)


@primitive
def EqualCount(x, y, /):
    """How many elements are equal: [1] of x's dtype."""
    return F.reshape(F.cast(F.sum(F.cast(F.equal(x, y), mstype.int32)), x.dtype), (1,))


@primitive
def CompareAndBitpack(x, threshold, /):
    """x > threshold, eight elements of the last axis in a uint8, the first as its highest bit.

    Of bools x itself, the first as its lowest bit."""
    if x.shape[-1] % 8:
        raise _check.refused("CompareAndBitpack", "the last dimension", _check.multiple(8), x.shape[-1])
    true = x if x.dtype == mstype.bool_ else x > threshold
    weights = [1, 2, 4, 8, 16, 32, 64, 128] if x.dtype == mstype.bool_ else [128, 64, 32, 16, 8, 4, 2, 1]
    bits = F.reshape(F.cast(true, mstype.int32), (*x.shape[:-1], x.shape[-1] // 8, 8))
    return F.cast(F.sum(bits * Tensor(weights, mstype.int32), -1), mstype.uint8)


@primitive
def ConfusionMatrix(labels, predictions, weights=None, /, num_classes=None, dtype="int32"):
    """[num_classes, num_classes]: how often (or with which weights) a label met a prediction."""
    w = F.ones(labels.shape, mstype.float32) if weights is None else weights
    at = F.cast(labels, mstype.int64) * num_classes + F.cast(predictions, mstype.int64)
    counts = _ops["scatter_nd"](F.zeros((num_classes * num_classes,), w.dtype), F.reshape(at, (-1, 1)),
                                F.reshape(w, (-1,)), "add")
    return F.cast(F.reshape(counts, (num_classes, num_classes)),
                  getattr(mstype, dtype) if isinstance(dtype, str) else dtype)


@primitive
@one_operator
def HistogramFixedWidth(x, range, /, nbins, dtype="int32"):
    """How many elements lie in each of nbins parts of a range [2]; those outside count for the first or the last."""
    low, high = range[0], range[1]
    at = F.floor((F.cast(F.reshape(x, (-1,)), mstype.float32) - low) / (high - low) * float(nbins))
    at = F.cast(F.minimum(F.maximum(at, 0.0), float(nbins - 1)), mstype.int64)
    return _ops["scatter_nd"](F.zeros((nbins,), mstype.int32), F.reshape(at, (-1, 1)), F.ones(at.shape, mstype.int32),
                              "add")


@primitive
def MapUniform(input, per_group_size, group_num, /):
    """The number input mod group_num of a group, times the groups' size, plus the place in it.

    By division towards 0."""
    place = F.div(input, group_num, rounding_mode="trunc")
    return (input - place * group_num) * per_group_size + place


@primitive
def ArgMinWithValue(x, /, axis=0, keep_dims=False):
    """(index, value) of the minimum along one axis."""
    return F.cast(F.argmin(x, axis, keep_dims), mstype.int64), F.amin(x, axis, keep_dims)


@primitive
def Cummax(x, /, axis):
    """(running maxima, their indices)."""
    return F.cummax(x, axis)


@primitive
def Cummin(x, /, axis):
    """(running minima, their indices)."""
    return F.cummin(x, axis)


@primitive
def Bucketize(x, /, boundaries):
    """Which part, between boundaries, each element lies in."""
    return F.cast(F.bucketize(x, list(boundaries), right=True), mstype.int32)


@primitive
def CumulativeLogsumexp(x, axis, /, exclusive=False, reverse=False):
    """log of the running sums of exp."""
    return F.cumulative_logsumexp(x, axis.item() if isinstance(axis, Tensor) else axis, exclusive, reverse)


@primitive
def ReduceStd(input_x, /, axis=(), unbiased=True, keep_dims=False):
    """(standard deviation, mean) over axes."""
    axes = None if axis == () else axis
    return F.std(input_x, axes, 1 if unbiased else 0, keep_dims), F.mean(input_x, axes, keep_dims)


@primitive
def LpNorm(input, /, axis, p=2, keep_dims=False, epsilon=1e-12):
    """The p-norm over axes."""
    return F.lp_norm(input, axis, p, keep_dims, epsilon)


@primitive
def EuclideanNorm(x, axes, /, keep_dims=False):
    """The Euclidean norm over axes."""
    return F.sqrt(F.sum(F.square(x), _ints_of(axes), keep_dims))


@primitive
def Renorm(x, /, p, dim, maxnorm):
    """Slices scaled down to a norm."""
    return F.renorm(x, p, dim, maxnorm)


@primitive
def Einsum(x, /, equation):
    """Einstein summation of a tuple of tensors."""
    return F.einsum(equation, *x)


@primitive
def Cdist(x1, x2, /, p=2.0):
    """Norms of differences of rows."""
    return F.cdist(x1, x2, p)


@primitive
def Pdist(x, /, p=2.0):
    """Norms of differences of all pairs of rows."""
    return F.pdist(x, p)


@primitive
def Cross(x1, x2, /, dim=-65530):
    """Vector products along a dimension of 3; the first such one by default."""
    if dim == -65530:
        dim = [n == 3 for n in x1.shape].index(True)
    return F.cross(x1, x2, dim)


@primitive
def Bincount(array, size, weights, /):
    """Sums of weights by the ints of `array`, of `size` classes."""
    n = size.item() if isinstance(size, Tensor) else size
    return _ops["scatter_nd"](F.zeros((n,), weights.dtype), F.reshape(array, (-1, 1)), F.reshape(weights, (-1,)), "add")


@primitive
def CountNonZero(x, /, dims=None):
    """How many elements aren't 0, over dimensions."""
    return F.count_nonzero(x, () if dims is None else dims, dtype=mstype.int64)


@primitive
def SquareSumAll(x, y, /):
    """(sum of x^2, sum of y^2)."""
    return F.sum(F.square(x)), F.sum(F.square(y))


@primitive
def IsClose(input, other, /, rtol=1e-05, atol=1e-08, equal_nan=True):
    """Where elements are close."""
    return F.isclose(input, other, rtol, atol, equal_nan)


@primitive
def Logit(input, /, eps=-1.0):
    """log(x / (1 - x)), of x kept in [eps, 1 - eps]."""
    return F.logit(input, None if eps == -1.0 else eps)


@primitive
def Lerp(start, end, weight, /):
    """start + weight * (end - start)."""
    return F.lerp(start, end, weight)


@primitive
def Addcmul(input, tensor1, tensor2, value, /):
    """input + value * tensor1 * tensor2."""
    return F.addcmul(input, tensor1, tensor2, value)


@primitive
def Addcdiv(input, tensor1, tensor2, value, /):
    """input + value * tensor1 / tensor2."""
    return F.addcdiv(input, tensor1, tensor2, value)


@primitive
def ApproximateEqual(x, y, /, tolerance=1e-05):
    """Where |x - y| < tolerance."""
    return F.approximate_equal(x, y, tolerance)


@primitive
def Mvlgamma(x, /, p):
    """log of the multivariate gamma function."""
    return F.mvlgamma(x, p)


@primitive
def Histogram(x, /, bins=100, min=0.0, max=0.0):
    """How many elements lie in each part of a range."""
    return F.histc(x, bins, min, max)


@primitive
def BesselI0e(x, /):
    """As ops.bessel_i0e."""
    return F.bessel_i0e(x)


@primitive
def BesselI1(x, /):
    """As ops.bessel_i1."""
    return F.bessel_i1(x)


@primitive
def BesselI1e(x, /):
    """As ops.bessel_i1e."""
    return F.bessel_i1e(x)


@primitive
def BesselJ0(x, /):
    """As ops.bessel_j0."""
    return F.bessel_j0(x)


@primitive
def BesselJ1(x, /):
    """As ops.bessel_j1."""
    return F.bessel_j1(x)


@primitive
def BesselK0(x, /):
    """As ops.bessel_k0."""
    return F.bessel_k0(x)


@primitive
def BesselK0e(x, /):
    """As ops.bessel_k0e."""
    return F.bessel_k0e(x)


@primitive
def BesselK1(x, /):
    """As ops.bessel_k1."""
    return F.bessel_k1(x)


@primitive
def BesselK1e(x, /):
    """As ops.bessel_k1e."""
    return F.bessel_k1e(x)


@primitive
def BesselY0(x, /):
    """As ops.bessel_y0."""
    return F.bessel_y0(x)


@primitive
def BesselY1(x, /):
    """As ops.bessel_y1."""
    return F.bessel_y1(x)


@primitive
def Igamma(a, x, /):
    """As ops.igamma."""
    return F.igamma(a, x)


@primitive
def Igammac(a, x, /):
    """As ops.igammac."""
    return F.igammac(a, x)


@primitive
def Zeta(x, q, /):
    """As ops.zeta."""
    return F.zeta(x, q)


@primitive
def Polygamma(a, x, /):
    """As ops.polygamma."""
    return F.polygamma(a, x)


__all__ = [n for n, v in globals().items() if isinstance(v, type) and v.__module__ == __name__]
