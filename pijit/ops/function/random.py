"""Random numbers, from the generator state of pijit.random."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype, random as _random
from pijit._C import ops as _ops, Tensor
from pijit._numpy import np
from pijit.compute_dtype import one_operator
from pijit.ops.function.elementwise import cast, floor, minimum, _need_tensor
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from pijit._C import DType
    from pijit._types import Number, Shape, TensorLike
    from pijit.random import Generator


def rand(*size: int, dtype: DType | None = None, seed: int | None = None) -> Tensor:
    """Uniform in [0, 1).

    Args:
        *size (int): the shape.
        dtype (dtype, optional): the dtype of the result. Default: None.
        seed (int, optional): where the random numbers begin; the global seed by default. Default: None.

    Returns:
        Tensor of the shape asked for.

    Example:
        >>> ops.rand(2, 3).shape
        (2, 3)
    """
    x = _random.uniform(_size(size))
    return x if dtype is None else cast(x, dtype)


def randn(*size: int, dtype: DType | None = None, seed: int | None = None) -> Tensor:
    """Standard normal.

    Args:
        *size (int): the shape.
        dtype (dtype, optional): the dtype of the result. Default: None.
        seed (int, optional): where the random numbers begin; the global seed by default. Default: None.

    Returns:
        Tensor of the shape asked for.

    Example:
        >>> ops.randn(2, 3).shape
        (2, 3)
    """
    x = _random.normal(_size(size))
    return x if dtype is None else cast(x, dtype)


def _size(size):
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else tuple(size)


def rand_like(input: Tensor, seed: int | None = None, *, dtype: DType | None = None) -> Tensor:
    """Uniform in [0, 1), of the same shape.

    Args:
        input (Tensor): the input, of any shape and float dtype.
        seed (int, optional): where the random numbers begin; the global seed by default. Default: None.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        Tensor of input's shape. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.rand_like(Tensor([1.0, 2.0])) < 1)
        [ True  True]
    """
    _need_tensor("rand_like", "input", input)
    if not (input.dtype if dtype is None else dtype).is_floating_point:
        raise _check.refused("rand_like", "the dtype", _check.FLOATING, input.dtype if dtype is None else dtype,
                             ValueError)
    return rand(*input.shape, dtype=input.dtype if dtype is None else dtype)


def randn_like(input: Tensor, seed: int | None = None, *, dtype: DType | None = None) -> Tensor:
    """Standard normal, of the same shape, float32 by default.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        seed (int, optional): where the random numbers begin; the global seed by default. Default: None.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        Tensor of input's shape. Bool, ints and complex give float32.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> ops.randn_like(Tensor([1.0, 2.0])).shape
        (2,)
    """
    _need_tensor("randn_like", "input", input)
    return randn(*input.shape, dtype=dtype)


def standard_normal(shape: Shape, seed: int | None = None) -> Tensor:
    """Standard normal.

    Args:
        shape (tuple of int): the shape of the result.
        seed (int, optional): where the random numbers begin; the global seed by default. Default: None.

    Returns:
        float32 Tensor of the shape asked for.

    Example:
        >>> ops.standard_normal((2, 3)).shape
        (2, 3)
    """
    return _random.normal(tuple(shape))


@one_operator
def uniform(shape: Shape, minval: TensorLike, maxval: TensorLike, seed: int | None = None,
            dtype: DType = mstype.float32) -> Tensor:
    """Uniform in [minval, maxval).

    Args:
        shape (tuple of int): the shape of the result.
        minval (Tensor or number): the lower bound.
        maxval (Tensor or number): the upper bound, which isn't reached.
        seed (int, optional): where the random numbers begin; the global seed by default. Default: None.
        dtype (dtype, optional): the dtype of the result. Default: float32.

    Returns:
        Tensor of the shape asked for.

    Example:
        >>> print(ops.uniform((3,), Tensor(5.0), Tensor(6.0)) >= 5)
        [ True  True  True]
    """
    return cast(_random.uniform(tuple(shape)) * (maxval - minval) + minval, dtype)


@one_operator
def normal(shape: Shape, mean: TensorLike, stddev: TensorLike, seed: int | None = None) -> Tensor:
    """N(mean, stddev^2).

    Args:
        shape (tuple of int): the shape of the result.
        mean (Tensor or number): the mean.
        stddev (Tensor or number): the deviation.
        seed (int, optional): where the random numbers begin; the global seed by default. Default: None.

    Returns:
        float32 Tensor of the shape asked for.

    Raises:
        ValueError: if the shape of `mean` does not fit, or the shape of `stddev` does not fit.

    Example:
        >>> ops.normal((2,), Tensor(0.0), Tensor(1.0)).shape
        (2,)
    """
    return _random.normal(tuple(shape)) * stddev + mean


def randint(low: Number, high: Number, size: Shape, seed: int | None = None, *, dtype: DType | None = None) -> Tensor:
    """Integers in [low, high).

    Args:
        low (number): the lower bound.
        high (number): the upper bound, which isn't reached.
        size (tuple of int): the sizes of the result.
        seed (int, optional): where the random numbers begin; the global seed by default. Default: None.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        int64 Tensor of shape `size`, or of `dtype`.

    Example:
        >>> print(ops.randint(3, 4, (2,)))
        [3 3]
    """
    x = floor(_random.uniform(tuple(size)) * float(high - low)) + float(low)
    return cast(minimum(x, float(high - 1)), mstype.int64 if dtype is None else dtype)


def randint_like(input: Tensor, low: Number, high: Number, seed: int | None = None, *,
                 dtype: DType | None = None) -> Tensor:
    """Integers in [low, high), of the same shape.

    Args:
        input (Tensor): the input, of any shape and int dtype.
        low (number): the lower bound.
        high (number): the upper bound, which isn't reached.
        seed (int, optional): where the random numbers begin; the global seed by default. Default: None.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        Tensor of input's shape. Ints keep their dtype; not for bool, floats and complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.randint_like(Tensor([1, 2]), 3, 4))
        [3 3]
    """
    _need_tensor("randint_like", "input", input)
    if (input.dtype if dtype is None else dtype) not in mstype.int_type + mstype.uint_type:
        raise _check.refused("randint_like", "the dtype", _check.value("be one of ints"),
                             input.dtype if dtype is None else dtype)
    return randint(low, high, input.shape, dtype=input.dtype if dtype is None else dtype)


def _mersenne_permutation(n, seed):
    """The permutation of std::shuffle by std::mt19937(seed), as MindSpore's CPU kernel draws it."""
    twister = np.random.MT19937()
    twister._legacy_seeding(seed)

    def below(k):  # equal shares of the 32-bit numbers; those left over are drawn anew
        share = 0xFFFFFFFF // k
        number = int(twister.random_raw())
        while number >= share * k:
            number = int(twister.random_raw())
        return number // share

    order, at = list(range(n)), 1

    def swap(other):
        nonlocal at
        order[at], order[other] = order[other], order[at]
        at += 1

    if n * n >= 1 << 32:
        while at < n:
            swap(below(at + 1))
        return order
    if n % 2 == 0 and n:
        swap(below(2))
    while at < n:  # two places by one number
        both = below((at + 1) * (at + 2))
        first, second = divmod(both, at + 2)
        swap(first)
        swap(second)
    return order


def randperm(n: int, seed: int | None = None, offset: int = 0, dtype: DType = mstype.int64) -> Tensor:
    """The numbers 0 to n - 1 in random order. With a seed or an offset, the order that MindSpore gives on the CPU.

    Args:
        n (int): how many.
        seed (int, optional): where the random numbers begin; the global seed by default. Default: None.
        offset (int, optional): what the numbers begin with instead, unless 0. Default: 0.
        dtype (dtype, optional): the dtype of the result. Default: int64.

    Returns:
        1-d Tensor.

    Example:
        >>> print(ops.randperm(4).sort()[0])
        [0 1 2 3]
    """
    if seed is not None or offset:
        return Tensor(_mersenne_permutation(n, (offset or seed or 0) & 0xFFFFFFFF), dtype)
    return cast(_ops["argsort"](_random.uniform((n,)), 0, False), dtype)


def shuffle(x: Tensor, seed: int | None = None) -> Tensor:
    """The rows of x in random order.

    Args:
        x (Tensor): the input, of 1 dimension or more and any dtype.
        seed (int, optional): where the random numbers begin; the global seed by default. Default: None.

    Returns:
        Tensor of x's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.shuffle(Tensor([5, 5, 5])))
        [5 5 5]
    """
    _need_tensor("shuffle", "x", x)
    return _ops["gather"](x, randperm(x.shape[0]), 0)


@_named(method=True)
@one_operator
def bernoulli(input: Tensor, p: float | Tensor = 0.5, seed: int | None = None) -> Tensor:
    """1 with probability p, else 0: of input's shape and dtype.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        p (Tensor or float, optional): the probability of 1. Default: 0.5.
        seed (int, optional): where the random numbers begin; the global seed by default. Default: None.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.bernoulli(Tensor([1.0, 2.0]), 1.0))
        [1. 1.]
    """
    if not isinstance(p, Tensor) and not 0 <= p <= 1:
        raise _check.refused("bernoulli", "p", _check.within(0, 1), p)
    return cast(_random.uniform(input.shape) < p, input.dtype)


@_named(method=True)
@one_operator
def multinomial(input: Tensor, num_samples: int, replacement: bool = True, seed: int | None = None) -> Tensor:
    """Indices drawn with probabilities in proportion to the rows of input [classes] or [rows, classes], as int32.

    Args:
        input (Tensor): the input [classes], of bool, int or float dtype.
        num_samples (int): how many to draw.
        replacement (bool, optional): whether one class may come again. Default: True.
        seed (int, optional): where the random numbers begin; the global seed by default. Default: None.

    Returns:
        int64 Tensor [num_samples] or [rows, num_samples]. Bool and floats give int32; not for complex.

    Example:
        >>> print(ops.multinomial(Tensor([0.0, 1.0]), 3))
        [1 1 1]
    """
    if num_samples <= 0:
        raise _check.refused("multinomial", "num_samples", _check.above(0), num_samples)
    if input.ndim not in (1, 2):
        raise _check.refused("multinomial", "input", _check.dims(1, 2), input.ndim)
    weights = input / _ops["reduce_sum"](input, -1, True)
    if not replacement:  # the largest of log(weight) + Gumbel noise (Kool et al. 2019)
        if num_samples > input.shape[-1]:
            raise _check.refused("multinomial", "'num_samples' without replacement", _check.at_most(input.shape[-1]),
                                 num_samples)
        noise = -_ops["log"](-_ops["log"](_ops["maximum"](_random.uniform(input.shape), 1e-20)))
        order = _ops["argsort"](_ops["log"](weights) + noise, -1, True)
        return cast(order[..., :num_samples], mstype.int32)
    sums = _ops["cumsum"](weights, -1)
    at = _random.uniform((*input.shape[:-1], num_samples, 1))
    below = _ops["cast"](at >= sums.reshape((*input.shape[:-1], 1, input.shape[-1])), mstype.int32)
    return _ops["minimum"](_ops["reduce_sum"](below, -1, False), input.shape[-1] - 1)


def bernoulli_ext(input: Tensor, *, generator: Generator | None = None) -> Tensor:
    """1 with the probabilities `input`, else 0: of input's dtype.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        generator (Generator, optional): where the random numbers come from. Default: None.

    Returns:
        Tensor of input's shape and dtype. Bool, ints and floats keep their dtype; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.bernoulli_ext(Tensor([0.0, 1.0])))
        [0. 1.]
    """
    _need_tensor("bernoulli_ext", "input", input)
    return cast(_random.uniform(input.shape, generator) < input, input.dtype)


def uniform_(input: Tensor, from_: Number = 0.0, to: Number | str = 1.0, *,
             generator: Generator | None = None) -> Tensor:
    """Fills input with uniform numbers in [from_, to).

    Args:
        input (Tensor): the input, of any shape and any dtype.
        from_ (number, optional): the lower bound. Default: 0.0.
        to (str or number, optional): the target. Default: 1.0.
        generator (Generator, optional): where the random numbers come from. Default: None.

    Returns:
        input. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.uniform_(ops.zeros(3)) < 1)
        [ True  True  True]
    """
    _need_tensor("uniform_", "input", input)
    return input.uniform_(from_, to, generator=generator)


def normal_(input: Tensor, mean: TensorLike = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fills input with normal numbers.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        mean (Tensor or number, optional): the mean. Default: 0.0.
        std (float, optional): the deviation. Default: 1.0.
        generator (Generator, optional): where the random numbers come from. Default: None.

    Returns:
        input. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> ops.normal_(ops.zeros(3)).shape
        (3,)
    """
    _need_tensor("normal_", "input", input)
    return input.normal_(mean, std, generator=generator)


def exponential_(input: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fills input with numbers of the exponential distribution of rate `lambd`.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        lambd (float, optional): the threshold. Default: 1.0.
        generator (Generator, optional): where the random numbers come from. Default: None.

    Returns:
        input. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.exponential_(ops.zeros(3)) >= 0)
        [ True  True  True]
    """
    _need_tensor("exponential_", "input", input)
    return input.exponential_(lambd, generator=generator)


def bernoulli_(input: Tensor, p: Number = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fills input with ones, of probability p, and zeros.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        p (number, optional): the probability. Default: 0.5.
        generator (Generator, optional): where the random numbers come from. Default: None.

    Returns:
        input. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.bernoulli_(ops.zeros(3), 1.0))
        [1. 1. 1.]
    """
    return input.bernoulli_(p, generator=generator)


def random_(input: Tensor, from_: Number = 0, to: Number | str | None = None, *,
            generator: Generator | None = None) -> Tensor:
    """Fills input with whole numbers in [from_, to).

    In [0, from_) where one is given; all that the dtype holds by default.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        from_ (number, optional): the lower bound. Default: 0.
        to (str or number, optional): the target. Default: None.
        generator (Generator, optional): where the random numbers come from. Default: None.

    Returns:
        input. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.random_(ops.zeros(3), 0, 1))
        [0. 0. 0.]
    """
    return input.random_(from_, to, generator=generator)
