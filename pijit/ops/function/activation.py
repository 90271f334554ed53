"""Activations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _C, _check, dtype as mstype, random as _random
from pijit._C import ops as _ops, Tensor
from pijit.compute_dtype import as_one
from pijit.ops.function.clipping import clamp, clip_by_value
from pijit.ops.function.creation import arange
from pijit.ops.function.elementwise import (abs, cast, exp, expm1, _in_dtype_of, log, _need_tensor, relu6,
                                            sigmoid, silu, stop_gradient, tanh)
from pijit.ops.function.joining import chunk, split
from pijit.ops.function.shapes import expand_dims, reshape
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from pijit._C import DType
    from pijit._types import Number


@_named(method=True)
def softmax(input: Tensor, axis: int = -1, *, dtype: DType | None = None) -> Tensor:
    """exp(x) / sum(exp(x)) along one axis.

    Args:
        input (Tensor): the input, of 1 dimension or more and float dtype.
        axis (int, optional): the axis; -1 is the last one. Default: -1.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        Tensor of input's shape. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.softmax(Tensor([0.0, 0.0, 0.0, 0.0])))
        [0.25 0.25 0.25 0.25]
    """
    if dtype is not None and _C.compute_dtype() is not None:
        return as_one(softmax, input, axis, dtype=dtype)
    return _ops["softmax"](input if dtype is None else cast(input, dtype), axis)


@_named(method=True)
def log_softmax(logits: Tensor, axis: int = -1) -> Tensor:
    """The logarithm of softmax.

    Args:
        logits (Tensor): unnormalised scores.
        axis (int, optional): the axis; -1 is the last one. Default: -1.

    Returns:
        Tensor of logits's shape. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `logits` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.log_softmax(Tensor([0.0, 0.0])))
        [-0.6931472 -0.6931472]
    """
    return _ops["log_softmax"](logits, axis)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x * Phi(x); approximate='tanh' uses Hendrycks & Gimpel's formula.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        approximate (str, optional): 'none' or 'tanh'. Default: 'none'.

    Returns:
        Tensor of input's shape. Floats keep their dtype; bool and ints give float32; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `approximate` is not 'none' or 'tanh'.

    Example:
        >>> print(ops.gelu(Tensor([-1.0, 0.0, 1.0])))
        [-0.15865526  0.          0.8413447 ]
    """
    if approximate not in ("none", "tanh"):
        raise _check.refused("gelu", "approximate", _check.one_of("none", "tanh"), approximate)
    return _ops["gelu"](input, approximate)


def _in_floats(op, f, x):
    """f(x) for a function of floats; of integers and bools computed in float32, and back in their dtype."""
    _need_tensor(op, "input", x)
    return f(x) if x.dtype.is_floating_point else cast(f(cast(x, mstype.float32)), x.dtype)


def leaky_relu(input: Tensor, alpha: float | Tensor = 0.2) -> Tensor:
    """x where x > 0, else alpha * x.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        alpha (float or Tensor, optional): the slope below 0. Default: 0.2.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.leaky_relu(Tensor([-1.0, 0.0, 2.0])))
        [-0.2  0.   2. ]
    """
    return _in_floats("leaky_relu", lambda x: _ops["leaky_relu"](x, alpha), input)


def elu(input_x: Tensor, alpha: float = 1.0) -> Tensor:
    """x where x > 0, else alpha * (exp(x) - 1).

    Args:
        input_x (Tensor): the input, of any shape and float dtype.
        alpha (float, optional): the scale below 0. Default: 1.0.

    Returns:
        Tensor of input_x's shape and dtype. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `input_x` is not a Tensor.

    Example:
        >>> print(ops.elu(Tensor([-1.0, 0.0, 2.0])))
        [-0.63212055  0.          2.        ]
    """
    return _ops["elu"](input_x, alpha)


@_named(method=True, functional=True)
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x, but 0 where -lambd <= x <= lambd.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        lambd (float, optional): the threshold. Default: 0.5.

    Returns:
        Tensor of input's shape. Floats keep their dtype; bool and ints give float32; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.hardshrink(Tensor([-1.0, 0.3, 2.0])))
        [-1.  0.  2.]
    """
    return _ops["select"]((input >= -lambd) & (input <= lambd), 0.0, input)


@_named(functional=True)
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by lambd, and 0 where -lambd <= x <= lambd.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        lambd (float, optional): the threshold. Default: 0.5.

    Returns:
        Tensor of input's shape. Floats keep their dtype; bool and ints give float32; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.softshrink(Tensor([-1.0, 0.3, 2.0])))
        [-0.5  0.   1.5]
    """
    return _ops["select"](input > lambd, input - lambd, _ops["select"](input < -lambd, input + lambd, input * 0.0))


@_named(primitive="SeLU", functional=True)
def selu(input_x: Tensor) -> Tensor:
    """Self-normalising ELU (Klambauer et al. 2017).

    Args:
        input_x (Tensor): the input, of any shape and any dtype.

    Returns:
        Tensor of input_x's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input_x` is not a Tensor.

    Example:
        >>> print(ops.selu(Tensor([-1.0, 0.0, 1.0])))
        [-1.1113307  0.         1.050701 ]
    """
    return _in_floats("selu", lambda x: _ops["elu"](x, 1.67326324) * 1.05070098, input_x)


@_named(primitive="PReLU", functional=True)
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """input where input > 0, else weight * input, a weight per channel.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        weight (Tensor): the slopes: one, or one per channel.

    Returns:
        Tensor of input's shape and dtype. Bool, ints and floats keep their dtype; not for complex.

    Raises:
        ValueError: if the shape of `weight` does not fit.

    Example:
        >>> print(ops.prelu(Tensor([[-1.0, 2.0], [-2.0, 3.0]]), Tensor([0.5, 0.25])))
        [[-0.5  2. ]
         [-1.   3. ]]
    """
    w = reshape(weight, (1, -1) + (1,) * (input.ndim - 2)) if input.ndim > 1 else weight
    return _in_dtype_of(input, _ops["select"](input > 0, input, input * w))


@_named(primitive="Softplus")
def softplus(input: Tensor, beta: Number = 1, threshold: Number = 20) -> Tensor:
    """log(1 + exp(beta * x)) / beta; x where beta * x is above the threshold.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        beta (number, optional): the sharpness. Default: 1.
        threshold (number, optional): above it the function is x itself. Default: 20.

    Returns:
        Tensor of input's shape. Floats keep their dtype; bool and ints give float32; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.softplus(Tensor([-1.0, 0.0, 30.0])))
        [ 0.3132617  0.6931472 30.       ]
    """
    scaled = input if beta == 1 else input * beta
    y = _ops["softplus"](scaled)
    return _ops["select"](scaled > threshold, input, y if beta == 1 else y / beta)


@_named(functional=True)
def logsigmoid(x: Tensor) -> Tensor:
    """log(sigmoid(x)).

    Args:
        x (Tensor): the input, of any shape and int or float dtype.

    Returns:
        Tensor of x's shape. Floats keep their dtype; ints give float32; not for bool and complex.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.logsigmoid(Tensor([-1.0, 0.0, 1.0])))
        [-1.3132617 -0.6931472 -0.3132617]
    """
    return -_ops["softplus"](-x)


@_named(primitive="Mish", functional=True)
def mish(x: Tensor) -> Tensor:
    """x * tanh(softplus(x)).

    Args:
        x (Tensor): the input, of any shape and bool, int or float dtype.

    Returns:
        Tensor of x's shape. Floats keep their dtype; bool and ints give float32; not for complex.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.mish(Tensor([-1.0, 0.0, 1.0])))
        [-0.30340147  0.          0.86509836]
    """
    _need_tensor("mish", "x", x)
    return _ops["mish"](x)


@_named(primitive="Softsign")
def softsign(x: Tensor) -> Tensor:
    """x / (1 + |x|).

    Args:
        x (Tensor): the input, of any shape and any dtype.

    Returns:
        Tensor of x's shape. Floats and complex keep their dtype; bool and ints give float32.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.softsign(Tensor([-1.0, 0.0, 3.0])))
        [-0.5   0.    0.75]
    """
    return x / (1.0 + abs(x))


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x).

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        Tensor of input's shape. Floats and complex keep their dtype; bool and ints give float32.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.tanhshrink(Tensor([-1.0, 0.0, 1.0])))
        [-0.23840582  0.          0.23840582]
    """
    return input - tanh(input)


@_named(functional=True)
def hardsigmoid(input: Tensor) -> Tensor:
    """relu6(x + 3) / 6.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.

    Returns:
        Tensor of input's shape. Floats keep their dtype; bool and ints give float32; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.hardsigmoid(Tensor([-4.0, 0.0, 1.5])))
        [0.   0.5  0.75]
    """
    return relu6(input + 3.0) / 6.0


@_named(primitive="HSwish", functional=True)
def hardswish(input: Tensor) -> Tensor:
    """x * relu6(x + 3) / 6.

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.hardswish(Tensor([-4.0, 1.0, 4.0])))
        [-0.         0.6666667  4.       ]
    """
    return _in_floats("hardswish", lambda x: x * relu6(x + 3.0) / 6.0, input)


def hardtanh(input: Tensor, min_val: Number = -1.0, max_val: Number = 1.0) -> Tensor:
    """Limited to [min_val, max_val].

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        min_val (number, optional): the lower bound. Default: -1.0.
        max_val (number, optional): the upper bound. Default: 1.0.

    Returns:
        Tensor of input's shape and dtype. Bool, ints and floats keep their dtype; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.hardtanh(Tensor([-4.0, 0.5, 4.0])))
        [-1.   0.5  1. ]
    """
    return clip_by_value(input, min_val, max_val)


def glu(x: Tensor, axis: int = -1) -> Tensor:
    """a * sigmoid(b) for the halves a, b of one axis.

    Args:
        x (Tensor): the input, of 1 dimension or more and any dtype.
        axis (int, optional): the axis; -1 is the last one. Default: -1.

    Returns:
        Tensor, half as long along the axis. Floats and complex keep their dtype; bool and ints give float32.

    Raises:
        ValueError: if its size is odd.
        IndexError: if `axis` is out of range.

    Example:
        >>> print(ops.glu(Tensor([1.0, 2.0, 0.0, 0.0])))
        [0.5 1. ]
    """
    n = x.shape[axis]
    if n % 2:
        raise _check.refused("glu", f"the size of axis {axis}", _check.value("be even"), n)
    a, b = split(x, n // 2, axis)
    return a * sigmoid(b)


def celu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)) (Barron 2017).

    Args:
        x (Tensor): the input, of any shape and bool, int or float dtype.
        alpha (float, optional): the scale below 0, not 0. Default: 1.0.

    Returns:
        Tensor of x's shape. Floats keep their dtype; bool and ints give float32; not for complex.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if `alpha` is 0.

    Example:
        >>> print(ops.celu(Tensor([-1.0, 0.0, 2.0])))
        [-0.63212055  0.          2.        ]
    """
    if alpha == 0:
        raise _check.refused("celu", "alpha", _check.NOT_ZERO, 0)
    return _ops["select"](x > 0, x, expm1(_ops["select"](x > 0, 0.0, x) / alpha) * alpha)


@_named(primitive="FastGeLU FastGelu")
def fast_gelu(x: Tensor) -> Tensor:
    """x * exp(0.851 * (x - |x|)) / (1 + exp(-1.702 * |x|)), an approximation of GELU.

    Args:
        x (Tensor): the input, of any shape and int, float or complex dtype.

    Returns:
        Tensor of x's shape. Floats and complex keep their dtype; ints give float32; not for bool.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.fast_gelu(Tensor([-1.0, 0.0, 1.0])))
        [-0.15420423  0.          0.8457958 ]
    """
    a = abs(x)
    return x * exp(0.851 * (x - a)) / (1.0 + exp(-1.702 * a))


def threshold(input: Tensor, thr: Number, value: Number) -> Tensor:
    """input where it is greater than thr, else value.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        thr (number): the threshold.
        value (number): the value below it.

    Returns:
        Tensor of input's shape and dtype. Bool, ints and floats keep their dtype; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.threshold(Tensor([0.0, 1.0, 2.0]), 0.5, -1.0))
        [-1.  1.  2.]
    """
    return _ops["select"](input > thr, input, _ops["cast"](value, input.dtype) if isinstance(input, Tensor) else value)


def softmin(x: Tensor, axis: int = -1, *, dtype: DType | None = None) -> Tensor:
    """Softmax of -x.

    Args:
        x (Tensor): the input, of 1 dimension or more and float dtype.
        axis (int, optional): the axis; -1 is the last one. Default: -1.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        Tensor of x's shape. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.softmin(Tensor([0.0, 0.0])))
        [0.5 0.5]
    """
    return softmax(-x, axis, dtype=dtype)


def rrelu(input: Tensor, lower: Number = 1.0 / 8, upper: float = 1.0 / 3) -> Tensor:
    """Leaky ReLU with a random slope in [lower, upper) for each element (Xu et al. 2015).

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        lower (number, optional): the lower bound. Default: 0.125.
        upper (float, optional): the upper bound. Default: 0.333.

    Returns:
        Tensor of input's shape and dtype. Bool, ints and floats keep their dtype; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.rrelu(Tensor([1.0, 2.0])))
        [1. 2.]
    """
    _need_tensor("rrelu", "input", input)
    if not 0 <= lower <= upper <= 1:
        raise _check.refused("rrelu", "'lower' and 'upper'", _check.value("be in [0, 1] and in this order"),
                             _check.several(lower, upper))
    slope = cast(_random.uniform(input.shape) * (upper - lower) + lower, input.dtype)
    return _ops["select"](input >= 0, input, input * slope)


def gumbel_softmax(logits: Tensor, tau: float | Tensor = 1.0, hard: bool = False, dim: int = -1) -> Tensor:
    """Samples of the Gumbel-softmax distribution (Jang et al.

    2016); hard: one-hot, with the gradient of the soft sample.

    Args:
        logits (Tensor): unnormalised scores.
        tau (Tensor or float, optional): the temperature. Default: 1.0.
        hard (bool, optional): whether the result is one-hot. Default: False.
        dim (int, optional): the axis; -1 is the last one. Default: -1.

    Returns:
        Tensor of logits's shape. Bool and ints give float32; not for complex.

    Raises:
        TypeError: if `logits` is not a Tensor.
        ValueError: if `dim` is out of range, or `tau` is not greater than 0.

    Example:
        >>> print(ops.gumbel_softmax(Tensor([[0.0, 1.0]]), hard=True).sum())
        1.0
    """
    _need_tensor("gumbel_softmax", "logits", logits)
    if tau <= 0:
        raise _check.refused("gumbel_softmax", "tau", _check.above(0), tau)
    noise = -log(-log(clamp(_random.uniform(logits.shape), 1e-20, 1.0 - 1e-7)))
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    axis = dim % logits.ndim
    best = expand_dims(_ops["argmax"](soft, axis), axis)
    places = reshape(arange(logits.shape[axis]), (-1,) + (1,) * (logits.ndim - 1 - axis))
    one_hot = cast(places == best, soft.dtype)
    return stop_gradient(one_hot - soft) + soft


soft_shrink = softshrink


# --- layers of transformers ---

def swiglu(input: Tensor, dim: int = -1) -> Tensor:
    """silu of the first half of a dimension times the second half. ValueError where the dimension's size is odd.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        dim (int, optional): the axis; -1 is the last one. Default: -1.

    Returns:
        Tensor, half as long along the dimension. Floats and complex keep their dtype; bool and ints give float32.

    Raises:
        TypeError: if `input` is not a Tensor.
        IndexError: if `dim` is out of range.

    Example:
        >>> print(ops.swiglu(Tensor([0.0, 1.0, 2.0, 3.0])))
        [0.        2.1931756]
    """
    _need_tensor("swiglu", "input", input)
    if input.shape[dim] % 2:
        raise _check.refused("swiglu", f"dimension {dim}", _check.value("have an even size"), input.shape[dim])
    a, b = chunk(input, 2, dim)
    return silu(a) * b
