"""Functions that differ from others in their parameters (`_ext`) or in that they change their operand (`_`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import random as _random
from pijit._C import Tensor, ops as _ops
from pijit.ops.function.elementary import float_power
from pijit.ops.function.elementwise import _need_tensor, cast, isnan, sigmoid, tanh
from pijit.ops.function.linalg import baddbmm, einsum
from pijit.ops.function.loss import mse_loss
from pijit.ops.function.pooling import adaptive_avg_pool2d
from pijit.ops.function.reduction import diff
from pijit.ops.function.shapes import chunk

if TYPE_CHECKING:
    from pijit._types import Number, Size, TensorLike
    from pijit.random import Generator


def adaptive_avg_pool2d_ext(input: Tensor, output_size: Size) -> Tensor:
    """As adaptive_avg_pool2d.

    Args:
        input (Tensor): the input, of 3 or 4 dimensions and any dtype.
        output_size (int or tuple): the size of the result.

    Returns:
        Tensor. Floats and complex keep their dtype; bool and ints give float32.

    Example:
        >>> print(ops.adaptive_avg_pool2d_ext(ops.ones((1, 4, 4)), (2, 2)))
        [[[1. 1.]
          [1. 1.]]]
    """
    return adaptive_avg_pool2d(input, output_size)


def baddbmm_ext(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2).

    Args:
        input (Tensor): the input, of any shape and any dtype.
        batch1 (Tensor): [b, n, m].
        batch2 (Tensor): [b, m, k].
        beta (number, optional): a factor. Default: 1.
        alpha (number, optional): a factor. Default: 1.

    Returns:
        Tensor. Ints, floats and complex keep their dtype; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `batch1` does not fit, or the shape of `batch2` does not fit.

    Example:
        >>> print(ops.baddbmm_ext(ops.ones((1, 2, 2)), ops.ones((1, 2, 2)), ops.ones((1, 2, 2))))
        [[[3. 3.]
          [3. 3.]]]
    """
    return baddbmm(input, batch1, batch2, beta=beta, alpha=alpha)


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


def chunk_ext(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """As chunk.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        chunks (int): how many pieces.
        dim (int, optional): the axis; -1 is the last one. Default: 0.

    Returns:
        tuple of Tensors. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if `dim` is out of range.

    Example:
        >>> for part in ops.chunk_ext(Tensor([1, 2, 3]), 2):
        ...     print(part)
        [1 2]
        [3]
    """
    return chunk(input, chunks, dim)


def diff_ext(input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None,
             append: Tensor | None = None) -> Tensor:
    """As diff.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        n (int, optional): how many. Default: 1.
        dim (int, optional): the axis; -1 is the last one. Default: -1.
        prepend (Tensor, optional): what to put in front first. Default: None.
        append (Tensor, optional): what to put behind first. Default: None.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.
        IndexError: if `dim` is out of range.

    Example:
        >>> print(ops.diff_ext(Tensor([1, 4, 9])))
        [3 5]
    """
    _need_tensor("diff_ext", "input", input)
    return diff(input, n, dim, prepend, append)


def einsum_ext(equation: str, *operands: Tensor) -> Tensor:
    """As einsum.

    Args:
        equation (str): the letters of each operand's axes, and of the result's behind ->.
        *operands (Tensor): what the function is called with.

    Returns:
        Tensor.

    Raises:
        ValueError: if `equation` is not one of those named, or the shape of `operands` does not fit.

    Example:
        >>> print(ops.einsum_ext("i,i->", Tensor([1.0, 2.0]), Tensor([3.0, 4.0])))
        11.0
    """
    return einsum(equation, *operands)


def float_power_ext(input: Tensor, exponent: TensorLike) -> Tensor:
    """As float_power.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        exponent (Tensor or number): the exponent.

    Returns:
        float64 Tensor. Bool, ints and complex give float64.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.float_power_ext(Tensor([1, 2]), 2))
        [1. 4.]
    """
    return float_power(input, exponent)


def isnan_ext(tensor: Tensor) -> Tensor:
    """As isnan.

    Args:
        tensor (Tensor): the input, of any shape and any dtype.

    Returns:
        bool Tensor. Bool stays; ints, floats and complex give bool.

    Raises:
        TypeError: if `tensor` is not a Tensor.

    Example:
        >>> print(ops.isnan_ext(Tensor([1.0, float("nan")])))
        [False  True]
    """
    return isnan(tensor)


def mse_loss_ext(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """As mse_loss.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        target (Tensor): what is wanted.
        reduction (str, optional): 'mean', 'sum' or 'none': what to make of the single values. Default: 'mean'.

    Returns:
        Tensor. Floats keep their dtype; ints and complex give float32; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `target` does not fit, or `reduction` is not one of those named.

    Example:
        >>> print(ops.mse_loss_ext(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])))
        2.0
    """
    return mse_loss(input, target, reduction)


# --- in place ---

def tanh_(input: Tensor) -> Tensor:
    """tanh, in place.

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        input. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.tanh_(Tensor([0.0, 1.0])))
        [0.        0.7615942]
    """
    _need_tensor("tanh_", "input", input)
    return input._assign(tanh(input))


def inplace_sigmoid(input: Tensor) -> Tensor:
    """The sigmoid, in place.

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        input. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.inplace_sigmoid(Tensor([0.0])))
        [0.5]
    """
    _need_tensor("inplace_sigmoid", "input", input)
    return input._assign(sigmoid(input))


def zero_(input: Tensor) -> Tensor:
    """Zeros, in place.

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        input. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.zero_(Tensor([1.0, 2.0])))
        [0. 0.]
    """
    _need_tensor("zero_", "input", input)
    return input._assign(_ops["broadcast_to"](Tensor(0, input.dtype), input.shape))


def clamp_(input: Tensor, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
    """Limits the elements to [min, max], in place.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        min (Tensor or number, optional): the lower bound. Default: None.
        max (Tensor or number, optional): the upper bound. Default: None.

    Returns:
        input. Bool, ints and floats keep their dtype; not for complex.

    Example:
        >>> print(ops.clamp_(Tensor([1.0, 5.0]), 2.0, 4.0))
        [2. 4.]
    """
    return input.clamp_(min, max)


def erfinv_(input: Tensor) -> Tensor:
    """The inverse error function, in place.

    Args:
        input (Tensor): the input, of any shape and int or float dtype.

    Returns:
        input. Ints and floats keep their dtype; not for bool and complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.erfinv_(Tensor([0.5])))
        [0.4769363]
    """
    _need_tensor("erfinv_", "input", input)
    return input.erfinv_()


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
    """Fills input with whole numbers in [from_, to); [0, from_) where one is given; all that the dtype holds by
    default.

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


# --- plain Python ---


__all__ = ["tanh_", "inplace_sigmoid", "zero_", "clamp_", "erfinv_", "uniform_", "normal_", "exponential_",
           "bernoulli_", "random_", "adaptive_avg_pool2d_ext", "baddbmm_ext", "bernoulli_ext", "chunk_ext",
           "diff_ext", "einsum_ext", "float_power_ext", "isnan_ext", "mse_loss_ext"]
