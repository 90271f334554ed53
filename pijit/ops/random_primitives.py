"""Primitives that draw."""

from __future__ import annotations

from pijit import _check, dtype as mstype, random as _random
from pijit._C import ops as _ops, Tensor
from pijit.compute_dtype import one_operator
from pijit.ops import function as F
from pijit.ops.function import distributions as D
from pijit.ops.function.creation import _filled
from pijit.ops.primitive import primitive
from pijit.ops.primitive_arguments import _ints_of


@primitive
def StandardNormal(shape, /, seed=0, seed2=0):
    """Standard normal numbers."""
    return F.standard_normal(_ints_of(shape))


@primitive
def UniformReal(shape, /, seed=0, seed2=0):
    """Uniform numbers in [0, 1)."""
    return F.rand(*_ints_of(shape))


@primitive
@one_operator
def UniformInt(shape, minval, maxval, /, seed=0, seed2=0):
    """Uniform int32 numbers in [minval, maxval)."""
    low, high = F.cast(minval, mstype.float32), F.cast(maxval, mstype.float32)
    return F.cast(F.minimum(F.floor(F.rand(*_ints_of(shape)) * (high - low)) + low, high - 1.0), mstype.int32)


@primitive
def RandomShuffle(x, /, seed=0, seed2=0):
    """The rows in random order."""
    return F.shuffle(x)


@primitive
def Randperm(n, /, max_length=1, pad=-1, dtype=mstype.int32):
    """The numbers 0 to n - 1 in random order, then `pad` up to max_length."""
    count = n.item() if isinstance(n, Tensor) else n
    return F.cat([F.randperm(count, dtype=dtype), _filled((max(max_length - count, 0),), pad, dtype=dtype)])


@primitive
def Bernoulli(x, p, /, seed=-1, offset=0):
    """1 with probability p, else 0."""
    return F.bernoulli(x, p)


@primitive
def Multinomial(x, num_samples, /, seed=0, seed2=0, dtype=mstype.int32):
    """Indices drawn with probabilities in proportion to rows."""
    return F.cast(F.multinomial(x, num_samples), dtype)


@primitive
def TruncatedNormal(shape, /, dtype=mstype.float32, seed=0, seed2=0):
    """Standard normal numbers within two standard deviations, by the inverse of the distribution."""
    share = 0.9544997361036416
    return F.cast(F.erfinv((F.rand(*_ints_of(shape)) * 2.0 - 1.0) * share) * 1.4142135623730951, dtype)


def _sizes(shape):
    return tuple(shape.asnumpy().tolist()) if isinstance(shape, Tensor) else tuple(shape)


@primitive
def Gamma(shape, alpha, beta, /, seed=0, seed2=0):
    """Numbers of the gamma distribution: [*shape, *broadcast of alpha and beta]."""
    return F.gamma(shape, alpha, beta)


@primitive
def RandomGamma(shape, alpha, /, seed=0, seed2=0):
    """Numbers of the gamma distribution of rate 1: [*shape, *alpha's shape]."""
    return F.random_gamma(shape, alpha)


@primitive
def Poisson(shape, mean, /, seed=0, seed2=0):
    """Numbers of the Poisson distribution, int32: [*shape, *mean's shape]."""
    return F.poisson(shape, mean)


@primitive
def RandomPoisson(shape, rate, /, seed=0, seed2=0, dtype=mstype.int64):
    """Numbers of the Poisson distribution: [*shape, *rate's shape]."""
    return F.random_poisson(shape, rate, dtype=dtype)


@primitive
def StandardLaplace(shape, /, seed=0, seed2=0):
    """Numbers of the Laplace distribution of mean 0 and scale 1."""
    return F.standard_laplace(shape)


@primitive
def Cauchy(size, median=0.0, sigma=1.0):
    """Numbers of the Cauchy distribution in the shape `size`."""
    return D.cauchy(size, median, sigma)


@primitive
def LogNormalReverse(input, /, mean=1.0, std=2.0):
    """Numbers exp(N(mean, std^2)) in the input's shape and dtype."""
    if not input.dtype.is_floating_point:
        raise _check.refused("LogNormalReverse", "the input", _check.FLOATING, input.dtype)
    return F.cast(F.exp(_random.normal(input.shape) * std + mean), input.dtype)


@primitive
def ParameterizedTruncatedNormal(shape, mean, stdevs, min, max, /, seed=0, seed2=0):
    """Normal numbers between bounds (in either order).

    Mean, stdevs, min and max count per batch, the first of the sizes, or are one number."""
    size = _sizes(shape)

    def wide(x):
        return x if x.ndim == 0 or x.size == 1 else F.reshape(x, (-1,) + (1,) * (len(size) - 1))
    return F.cast(D.truncated_normal(size, *[wide(x) for x in (mean, stdevs, min, max)]), mean.dtype)


@primitive
def NonDeterministicInts(shape, /, dtype=mstype.int64):
    """Random ints of the whole range of int32 or int64."""
    size = _sizes(shape)
    high, low = (F.cast(F.floor(_random.uniform(size) * 65536.0), mstype.int64) for _ in range(2))
    if dtype == mstype.int32:
        return F.cast((high - 32768) * 65536 + low, mstype.int32)
    more, less = (F.cast(F.floor(_random.uniform(size) * 65536.0), mstype.int64) for _ in range(2))
    return F.cast(((high - 32768) * 65536 + low) * 4294967296 + more * 65536 + less, dtype)


@primitive
def RandpermV2(n, /, seed=None, offset=0, dtype=mstype.int64):
    """The numbers 0 to n - 1 in random order."""
    return F.randperm(n.item() if isinstance(n, Tensor) else n, seed, offset, dtype)


@primitive
def RandomCategorical(logits, num_sample, seed=0, /, dtype=mstype.int64):
    """Classes drawn with the probabilities softmax(logits): [rows, num_sample]."""
    return F.random_categorical(logits, num_sample, seed, dtype)


@primitive
def MultinomialWithReplacement(x, seed, offset, /, numsamples, replacement=False):
    """Classes drawn in proportion to the rows of x: [rows, numsamples] int64."""
    return F.multinomial_with_replacement(x, seed, offset, numsamples, replacement)


@primitive
def RandomChoiceWithMask(input_x, /, count=256, seed=0, seed2=0):
    """(places of true elements [count, ndim] int32, which of them are elements)."""
    return F.choice_with_mask(input_x, count)


@primitive
def UniformCandidateSampler(true_classes, /, num_true, num_sampled, unique, range_max, seed=0,
                            remove_accidental_hits=False):
    """(drawn classes, how often the true ones are expected, how often the drawn ones)."""
    return F.uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed,
                                       remove_accidental_hits)


@primitive
def LogUniformCandidateSampler(true_classes, /, num_true=1, num_sampled=5, unique=True, range_max=5, seed=0):
    """(drawn classes, how often the true ones are expected, how often the drawn ones)."""
    return F.log_uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed)


@primitive
def DropoutGenMask(shape, keep_prob, /, Seed0=0, Seed1=0):
    """The mask of a dropout over `shape` as bits of uint8, eight elements in each, in blocks of 16."""
    count = 1
    for n in _sizes(shape):
        count *= n
    size = -(-count // 128) * 128
    keep = F.reshape(F.cast(_random.uniform((size,)) < keep_prob, mstype.int32), (-1, 8))
    return F.cast(F.sum(keep * Tensor([1 << k for k in range(8)], mstype.int32), 1), mstype.uint8)


@primitive
def DropoutDoMask(input_x, mask, keep_prob, /):
    """input_x where the mask of DropoutGenMask has a bit, over keep_prob; zeros elsewhere."""
    bits = F.expand_dims(F.cast(mask, mstype.int32), 1) // Tensor([1 << k for k in range(8)], mstype.int32) % 2
    keep = F.reshape(F.reshape(bits, (-1,))[:input_x.size], input_x.shape) > 0
    return _ops["select"](keep, input_x / keep_prob, 0.0)


__all__ = [n for n, v in globals().items() if isinstance(v, type) and v.__module__ == __name__]
