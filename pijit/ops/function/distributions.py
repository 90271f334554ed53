"""Random numbers of distributions, and samples of classes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype, random as _random
from pijit._C import ops as _ops, Tensor
from pijit.compute_dtype import one_operator_each
from pijit.ops.function.creation import arange, zeros
from pijit.ops.function.elementwise import (abs, cast, exp, floor, log, log1p, maximum, minimum, _need_tensor, pow,
                                            select, sign, sqrt)
from pijit.ops.function.random import multinomial
from pijit.ops.function.shapes import broadcast_to, expand_dims, reshape
from pijit.ops.function.special import igammac

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import DType
    from pijit._types import Number, Shape, TensorLike


def _sizes(name, shape):
    if isinstance(shape, Tensor):
        return tuple(shape.asnumpy().tolist())
    if not isinstance(shape, (tuple, list)):
        raise _check.refused(name, "shape", _check.TUPLE, shape)
    if any(isinstance(n, bool) or not isinstance(n, int) for n in shape):
        raise _check.refused(name, "shape", _check.value("hold ints"), shape, TypeError)
    if any(n <= 0 for n in shape):
        raise _check.refused(name, "the sizes", _check.above(0), shape)
    return tuple(shape)


def _joint(*shapes):
    """The shape that tensors of these shapes broadcast to."""
    rank = max(len(s) for s in shapes)
    out = [1] * rank
    for s in shapes:
        for k, n in enumerate(s, rank - len(s)):
            if n != 1 and out[k] not in (1, n):
                raise ValueError(f"The shapes {shapes} don't broadcast.")
            out[k] = n if n != 1 else out[k]
    return tuple(out)


def _open_uniform(shape):
    """Uniform in (0, 1)."""
    return maximum(_random.uniform(shape), 2.0 ** -25)


def standard_laplace(shape: Shape, seed: int | None = None) -> Tensor:
    """Numbers of the Laplace distribution of mean 0 and scale 1, [*shape] float32.

    Args:
        shape (tuple of int): the shape of the result.
        seed (int, optional): where the random numbers begin; the global seed by default. Default: None.

    Returns:
        float32 Tensor of the shape asked for.

    Example:
        >>> ops.standard_laplace((2, 3)).shape
        (2, 3)
    """
    u = _open_uniform(_sizes("standard_laplace", shape)) * 2.0 - 1.0
    return -sign(u) * log1p(-minimum(abs(u), 1.0 - 2.0 ** -24))


def laplace(shape: Shape, mean: TensorLike, lambda_param: Any, seed: int | None = None) -> Tensor:
    """Numbers of the Laplace distribution, float32.

    shape: the leading dimensions; mean, lambda_param (scale, > 0): Tensors whose shapes broadcast with it.

    Args:
        seed (int, optional): where the random numbers begin; the global seed by default. Default: None.

    Returns:
        float32 Tensor.

    Raises:
        ValueError: if the shape of `mean` does not fit, or the shape of `lambda_param` does not fit.

    Example:
        >>> ops.laplace((2,), Tensor(0.0), Tensor(1.0)).shape
        (2,)
    """
    whole = _joint(_sizes("laplace", shape), mean.shape, lambda_param.shape)
    return standard_laplace(whole) * lambda_param + mean


_TRIES = 24  # each accepts more than 95 % (Marsaglia & Tsang 2000): the rest is below 1e-31


def standard_gamma(alpha: Any) -> Tensor:
    """Numbers of the gamma distribution of rate 1 and the shape parameters `alpha` > 0, of alpha's shape, float32
    (Marsaglia & Tsang 2000).

    A fixed number of candidates is drawn, so that a captured draw is one graph."""
    small = alpha < 1.0
    d = _ops["select"](small, alpha + 1.0, alpha) - 1.0 / 3.0
    c = 1.0 / sqrt(d * 9.0)
    kept = d
    done = d < -1.0
    for _ in range(_TRIES):
        x = _random.normal(alpha.shape)
        v = pow(maximum(x * c + 1.0, 0.0), 3.0)
        u = _open_uniform(alpha.shape)
        good = (v > 0.0) & (log(u) < x * x * 0.5 + d - d * v + d * log(maximum(v, 1e-30)))
        kept = _ops["select"](good & ~done, d * v, kept)
        done = done | good
    boost = exp(log(_open_uniform(alpha.shape)) / alpha)
    return _ops["select"](small, kept * boost, kept)


def gamma(shape: Shape, alpha: Any, beta: Any, seed: int | None = None) -> Any:
    """Numbers of the gamma distribution, float32.

    shape: the leading dimensions; alpha (shape, > 0) and beta (rate, > 0): Tensors. Returns [*shape, *broadcast of
        alpha and beta]. Raises TypeError or ValueError for another kind of `shape`.

    Args:
        seed (int, optional): where the random numbers begin; the global seed by default. Default: None.

    Example:
        >>> ops.gamma((2,), Tensor([1.0, 2.0]), Tensor(1.0)).shape
        (2, 2)
    """
    whole = _sizes("gamma", shape) + _joint(alpha.shape, beta.shape)
    return standard_gamma(broadcast_to(alpha, whole)) / beta


def random_gamma(shape: Shape, alpha: Any, seed: int | None = None) -> Tensor:
    """Numbers of the gamma distribution of rate 1: [*shape, *alpha's shape] of alpha's dtype.

    shape: a Tensor of sizes. Raises TypeError where it is none, or alpha's dtype isn't floating.

    Args:
        seed (int, optional): where the random numbers begin; the global seed by default. Default: None.

    Returns:
        Tensor. Bool and ints give float32; not for floats and complex.

    Example:
        >>> ops.random_gamma(Tensor([2], ms.int32), Tensor([1.0, 2.0])).shape
        (2, 2)
    """
    if not isinstance(shape, Tensor):
        raise _check.refused("random_gamma", "shape", _check.TENSOR, shape)
    if not alpha.dtype.is_floating_point:
        raise _check.refused("random_gamma", "alpha", _check.FLOATING, alpha.dtype)
    whole = _sizes("random_gamma", shape) + tuple(alpha.shape)
    return cast(standard_gamma(broadcast_to(cast(alpha, mstype.float32), whole)), alpha.dtype)


def _poisson(rate):
    """Whole numbers (as float32) of the Poisson distribution: by its inverse, found by bisection on the incomplete
    gamma function, which is exact for all rates that float32 tells apart from a normal distribution."""
    u = _random.uniform(rate.shape)
    low = rate * 0.0 - 1.0
    high = floor(rate + sqrt(rate) * 8.0 + 32.0)
    for _ in range(28):
        middle = floor((low + high) * 0.5)
        enough = igammac(maximum(middle, 0.0) + 1.0, rate) > u  # P(X <= middle)
        enough = enough & (middle >= 0.0)
        high = _ops["select"](enough, middle, high)
        low = _ops["select"](enough, low, middle)
    return _ops["select"](rate > 0.0, high, rate * 0.0)


def poisson(shape: Shape, mean: TensorLike, seed: int | None = None) -> Tensor:
    """Numbers of the Poisson distribution, int32.

    shape: the leading dimensions; mean: a Tensor of rates. Returns [*shape, *mean's shape].

    Args:
        seed (int, optional): where the random numbers begin; the global seed by default. Default: None.

    Example:
        >>> ops.poisson((2,), Tensor([1.0, 5.0])).shape
        (2, 2)
    """
    whole = _sizes("poisson", shape) + tuple(mean.shape)
    return cast(_poisson(broadcast_to(cast(mean, mstype.float32), whole)), mstype.int32)


def random_poisson(shape: Tensor, rate: Any, seed: int | None = None, dtype: DType = mstype.float32) -> Tensor:
    """Numbers of the Poisson distribution: [*shape, *rate's shape] of `dtype`.

    shape: a Tensor of sizes. Raises TypeError where it is none.

    Args:
        seed (int, optional): where the random numbers begin; the global seed by default. Default: None.

    Returns:
        Tensor. Bool and ints give float32; not for floats and complex.

    Example:
        >>> ops.random_poisson(Tensor([2], ms.int32), Tensor([1.0, 5.0])).shape
        (2, 2)
    """
    if not isinstance(shape, Tensor):
        raise _check.refused("random_poisson", "shape", _check.type_("a Tensor of int32 or int64"), shape)
    whole = _sizes("random_poisson", shape) + tuple(rate.shape)
    return cast(_poisson(broadcast_to(cast(rate, mstype.float32), whole)), dtype)


def multinomial_with_replacement(x: Tensor, seed: int, offset: int, numsamples: Any,
                                 replacement: bool = False) -> Tensor:
    """Classes drawn in proportion to x [classes] or [rows, classes].

    The result is [rows, numsamples] int64, each class as often as it comes.

    Raises ValueError for another number of dimensions or of samples.

    Args:
        seed (int): where the random numbers begin; the global seed by default.
        offset (int): how far behind the seed.
        replacement (bool, optional): whether one class may come again. Default: False.

    Returns:
        int64 Tensor. Bool and floats give int64; not for complex.

    Example:
        >>> print(ops.multinomial_with_replacement(Tensor([0.0, 1.0]), 0, 0, 3, True))
        [1 1 1]
    """
    if x.ndim not in (1, 2):
        raise _check.refused("multinomial_with_replacement", "x", _check.dims(1, 2), x.ndim)
    return cast(multinomial(x, numsamples, True), mstype.int64)


def random_categorical(logits: Tensor, num_sample: int, seed: int = 0, dtype: DType = mstype.int64) -> Tensor:
    """Classes drawn with the probabilities softmax(logits).

    The result is [rows, num_sample] of `dtype` (int16, int32 or int64) for logits [rows, classes].

    Args:
        logits (Tensor): unnormalised scores.
        num_sample (int): how many to draw.
        seed (int, optional): where the random numbers begin; the global seed by default. Default: 0.
        dtype (dtype, optional): the dtype of the result. Default: int64.

    Returns:
        Tensor. Floats give int64; not for bool, ints and complex.

    Raises:
        TypeError: if `logits` is not a Tensor, or `dtype` is not int16, int32 or int64.
        ValueError: if `logits` does not have 2 dimensions.

    Example:
        >>> print(ops.random_categorical(Tensor([[0.0, 100.0]]), 3))
        [[1 1 1]]
    """
    if not isinstance(logits, Tensor):
        raise _check.refused("random_categorical", "logits", _check.TENSOR, logits)
    if logits.ndim != 2:
        raise _check.refused("random_categorical", "logits", _check.dims(2), logits.ndim)
    if dtype not in (mstype.int16, mstype.int32, mstype.int64):
        raise _check.refused("random_categorical", "dtype", _check.dtypes("int16", "int32", "int64"), dtype)
    return cast(multinomial(_ops["softmax"](logits, -1), num_sample, True), dtype)


def choice_with_mask(input_x: Tensor, count: int = 256, seed: int | None = None) -> tuple[Tensor, Tensor]:
    """Places of true elements, drawn at random without repetition.

    input_x: a bool Tensor of 1 to 5 dimensions. Returns (index [count, ndim] int32, mask [count] bool: which of them
        are elements; the others are zeros).

    Args:
        seed (int, optional): where the random numbers begin; the global seed by default. Default: None.

    Raises:
        TypeError: if `input_x` is not a Tensor, or the dtype of `input_x` is not bool.

    Example:
        >>> print(ops.choice_with_mask(Tensor([True, False, True]), 2)[1])
        [ True  True]
    """
    _need_tensor("choice_with_mask", "input_x", input_x)
    if input_x.dtype != mstype.bool_:
        raise _check.refused("choice_with_mask", "input_x", _check.dtypes("bool"), input_x.dtype)
    flat = reshape(input_x, (-1,))
    score = _ops["select"](flat, _random.uniform(flat.shape) + 1.0, 0.0)
    order = _ops["argsort"](score, 0, True)
    n = flat.shape[0]
    if n < count:
        order = _ops["concat"]([order, zeros((count - n,), order.dtype)], 0)
    order = order[:count]
    mask = _ops["gather"](flat, order, 0) & (arange(count) < n)
    columns, rest = [], cast(order, mstype.int32)
    for size in input_x.shape[::-1]:
        columns.append(rest % size)
        rest = rest // size
    index = _ops["concat"]([expand_dims(c, 1) for c in columns[::-1]], 1)
    return _ops["select"](expand_dims(mask, 1), index, 0), mask


def _expected(chance, num_sampled, unique, tries):
    """How often a class is expected among the samples."""
    return -_ops["expm1"](tries * log1p(-chance)) if unique else chance * float(num_sampled)


def _sampler(name, true_classes, num_true, num_sampled, unique, range_max, candidates, chance):
    for what, value in (("num_true", num_true), ("num_sampled", num_sampled), ("range_max", range_max)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise _check.refused(name, what, _check.INT, value)
        if not 1 <= value < 2 ** 63:
            raise _check.refused(name, what, _check.within(1, "2^63", "[)"), value)
    if true_classes.ndim != 2 or true_classes.shape[1] != num_true:
        raise _check.refused(name, "true_classes", _check.shape(f"[rows, {num_true}]"), true_classes.shape)
    if unique and num_sampled > range_max:
        raise _check.refused(name, "'num_sampled' without repetition", _check.at_most(range_max), num_sampled)
    tries = num_sampled
    if unique:
        chosen, tries = [], 0
        while len(chosen) < num_sampled:
            for c in candidates(num_sampled).asnumpy().tolist():
                if len(chosen) == num_sampled:
                    break
                tries += 1
                if c not in chosen:
                    chosen.append(c)
        sampled = Tensor(chosen, mstype.int64)
    else:
        sampled = candidates(num_sampled)
    return (cast(sampled, true_classes.dtype), _expected(chance(true_classes), num_sampled, unique, tries),
            _expected(chance(sampled), num_sampled, unique, tries))


def uniform_candidate_sampler(true_classes: Any, num_true: int, num_sampled: int, unique: Any, range_max: Any,
                              seed: int = 0,
                              remove_accidental_hits: bool = False) -> tuple[Tensor, Tensor | Any, Tensor | Any]:
    """Classes drawn uniformly from [0, range_max).

    true_classes: [rows, num_true] int32 or int64. Returns (the drawn classes [num_sampled], how often each true class
        is expected among them [rows, num_true] float32, the same for the drawn ones [num_sampled]). unique: no class
        comes twice. Raises ValueError where more are asked for than there are.

    Args:
        seed (int, optional): where the random numbers begin; the global seed by default. Default: 0.
        remove_accidental_hits (bool, optional): kept for its name. Default: False.

    Example:
        >>> ops.uniform_candidate_sampler(Tensor([[1], [2]]), 1, 3, True, 8)[0].shape
        (3,)
    """
    return _sampler("uniform_candidate_sampler", true_classes, num_true, num_sampled, unique, range_max,
                    lambda n: cast(minimum(floor(_random.uniform((n,)) * float(range_max)), float(range_max - 1)),
                                   mstype.int64),
                    lambda c: cast(c, mstype.float32) * 0.0 + 1.0 / range_max)


def log_uniform_candidate_sampler(true_classes: Tensor, num_true: int = 1, num_sampled: int = 5, unique: bool = True,
                                  range_max: int = 5, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Classes drawn from [0, range_max) with the chances log((c + 2) / (c + 1)) / log(range_max + 1).

    Small ones more often.

    Arguments and results as those of uniform_candidate_sampler.

    Args:
        true_classes (Tensor): the classes there are.
        num_true (int, optional): how many there are in a row. Default: 1.
        num_sampled (int, optional): how many to draw. Default: 5.
        unique (bool, optional): whether none comes twice. Default: True.
        seed (int, optional): where the random numbers begin; the global seed by default. Default: 0.

    Returns:
        (Tensor, Tensor, Tensor). Bool, ints, floats and complex keep their dtype.

    Example:
        >>> ops.log_uniform_candidate_sampler(Tensor([[1], [2]]), 1, 3, True, 8)[0].shape
        (3,)
    """
    # else _sampler says what is wrong
    span = (math.log(range_max + 1) if isinstance(range_max, int) and range_max > 0 else 1.0)

    def chance(c):
        c = cast(c, mstype.float32)
        return log((c + 2.0) / (c + 1.0)) / span
    return _sampler("log_uniform_candidate_sampler", true_classes, num_true, num_sampled, unique, range_max,
                    lambda n: cast(minimum(maximum(floor(exp(_random.uniform((n,)) * span)) - 1.0, 0.0),
                                           float(range_max - 1)), mstype.int64), chance)


def cauchy(shape: Shape, median: float = 0.0, sigma: float = 1.0) -> Tensor:
    """Numbers of the Cauchy distribution, float32."""
    return _ops["tan"]((_open_uniform(tuple(shape)) - 0.5) * math.pi) * sigma + median


def truncated_normal(shape: Shape, mean: TensorLike, stdevs: Any, low: Number, high: Number) -> Any:
    """Normal numbers between low and high, float64; between high and low where low > high.

    By the inverse of the distribution function, or behind `far` standard deviations of its tail: what is drawn there
    would be lost in the last digits of numbers close to 1."""
    from pijit.ops.function.elementary import erfinv
    mean, stdevs, low, high = (cast(x, mstype.float64) for x in (mean, stdevs, low, high))
    a, b = (minimum(low, high) - mean) / stdevs, (maximum(low, high) - mean) / stdevs
    above = a > 0.0  # the same interval below 0, where probabilities keep their digits
    a, b = select(above, -b, a), select(above, -a, b)
    u = cast(_random.uniform(tuple(shape)), mstype.float64)
    root, far = math.sqrt(2.0), 6.0
    p, q = (0.5 * _ops["erfc"](edge / -root) for edge in (a, b))
    near = root * erfinv(minimum(maximum(2.0 * (p + (q - p) * u) - 1.0, -1.0 + 2.0 ** -53), 1.0 - 2.0 ** -53))

    # -log of the tail's probability, but for a constant (Abramowitz & Stegun 26.2.12), and Newton's method to invert it
    def surprise(x):
        r = 1.0 / (x * x)
        return 0.5 * x * x + log(x) - log(1.0 - r * (1.0 - r * (3.0 - r * (15.0 - 105.0 * r))))
    least, most = maximum(-b, far), maximum(-a, far)
    start = surprise(least)
    want = start - log(1.0 - u * (1.0 - exp(start - surprise(most))))
    x = (least * least + 2.0 * (want - start)) ** 0.5
    for _ in range(4):
        x = x - (surprise(x) - want) / (x + 1.0 / x)
    x = select(b < -far, -x, near)
    x = minimum(maximum(select(above, -x, x), select(above, -b, a)), select(above, -a, b))
    return mean + stdevs * x


one_operator_each(globals())


__all__ = ["standard_laplace", "laplace", "gamma", "random_gamma", "poisson", "random_poisson",
           "multinomial_with_replacement", "random_categorical",
           "choice_with_mask", "uniform_candidate_sampler", "log_uniform_candidate_sampler"]
