"""Activations."""

from pijit import dtype as mstype
from pijit._C import Tensor, ops as _ops
from pijit import random as _random
from pijit.ops.function.creation import arange
from pijit.ops.function.elementwise import (abs, cast, exp, expm1, log, _need_tensor, relu6, sigmoid, softplus_,
                                            stop_gradient, tanh)
from pijit.ops.function.selection import clamp
from pijit.ops.function.shapes import expand_dims, reshape, split


def softmax(input, axis=-1, *, dtype=None):
    """exp(x) / sum(exp(x)) along one axis."""
    return _ops["softmax"](input if dtype is None else cast(input, dtype), axis)


def log_softmax(logits, axis=-1):
    """The logarithm of softmax."""
    return _ops["log_softmax"](logits, axis)


def gelu(input, approximate="none"):
    """x * Phi(x); approximate='tanh' uses Hendrycks & Gimpel's formula."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f"For 'gelu', 'approximate' must be 'none' or 'tanh', but got {approximate!r}.")
    return _ops["gelu"](input, approximate)


def _in_floats(op, f, x):
    """f(x) for a function of floats; of integers and bools computed in float32, and back in their dtype."""
    _need_tensor(op, "input", x)
    return f(x) if x.dtype.is_floating_point else cast(f(cast(x, mstype.float32)), x.dtype)


def leaky_relu(input, alpha=0.2):
    """x where x > 0, else alpha * x."""
    return _in_floats("leaky_relu", lambda x: _ops["leaky_relu"](x, alpha), input)


def elu(input_x, alpha=1.0):
    """x where x > 0, else alpha * (exp(x) - 1)."""
    return _ops["elu"](input_x, alpha)


def hardshrink(input, lambd=0.5):
    """x, but 0 where -lambd <= x <= lambd."""
    return _ops["select"]((input >= -lambd) & (input <= lambd), 0.0, input)


def softshrink(input, lambd=0.5):
    """x moved towards 0 by lambd, and 0 where -lambd <= x <= lambd."""
    return _ops["select"](input > lambd, input - lambd, _ops["select"](input < -lambd, input + lambd, input * 0.0))


def selu(input_x):
    """Self-normalising ELU (Klambauer et al. 2017)."""
    return _in_floats("selu", lambda x: _ops["elu"](x, 1.67326324) * 1.05070098, input_x)


def prelu(input, weight):
    """input where input > 0, else weight * input, a weight per channel."""
    w = reshape(weight, (1, -1) + (1,) * (input.ndim - 2)) if input.ndim > 1 else weight
    return _ops["select"](input > 0, input, input * w)


def softplus(input, beta=1, threshold=20):
    """log(1 + exp(beta * x)) / beta; x where beta * x is above the threshold."""
    scaled = input if beta == 1 else input * beta
    y = softplus_(scaled)
    return _ops["select"](scaled > threshold, input, y if beta == 1 else y / beta)


def logsigmoid(x):
    """log(sigmoid(x))."""
    return -softplus_(-x)


def mish(x):
    """x * tanh(softplus(x))."""
    return x * tanh(softplus_(x))


def softsign(x):
    """x / (1 + |x|)."""
    return x / (1.0 + abs(x))


def tanhshrink(input):
    """x - tanh(x)."""
    return input - tanh(input)


def hardsigmoid(input):
    """relu6(x + 3) / 6."""
    return relu6(input + 3.0) / 6.0


def hardswish(input):
    """x * relu6(x + 3) / 6."""
    return _in_floats("hardswish", lambda x: x * relu6(x + 3.0) / 6.0, input)


def hardtanh(input, min_val=-1.0, max_val=1.0):
    """Limited to [min_val, max_val]."""
    return clamp(input, min_val, max_val)


def glu(x, axis=-1):
    """a * sigmoid(b) for the halves a, b of one axis."""
    a, b = split(x, x.shape[axis] // 2, axis)
    return a * sigmoid(b)


def celu(x, alpha=1.0):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)) (Barron 2017)."""
    if alpha == 0:
        raise ValueError("For 'celu', 'alpha' must not be 0.")
    return _ops["select"](x > 0, x, expm1(_ops["select"](x > 0, 0.0, x) / alpha) * alpha)


def fast_gelu(x):
    """x * exp(0.851 * (x - |x|)) / (1 + exp(-1.702 * |x|)), an approximation of GELU."""
    a = abs(x)
    return x * exp(0.851 * (x - a)) / (1.0 + exp(-1.702 * a))


def threshold(input, thr, value):
    """input where it is greater than thr, else value."""
    return _ops["select"](input > thr, input, _ops["cast"](value, input.dtype) if isinstance(input, Tensor) else value)


def softmin(x, axis=-1, *, dtype=None):
    """Softmax of -x."""
    return softmax(-x, axis, dtype=dtype)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3):
    """Leaky ReLU with a random slope in [lower, upper) for each element (Xu et al. 2015)."""
    _need_tensor("rrelu", "input", input)
    if not 0 <= lower <= upper <= 1:
        raise ValueError(f"For 'rrelu', 'lower' and 'upper' must be in [0, 1] and in this order, but got {lower} and {upper}.")
    slope = cast(_random.uniform(input.shape) * (upper - lower) + lower, input.dtype)
    return _ops["select"](input >= 0, input, input * slope)


def gumbel_softmax(logits, tau=1.0, hard=False, dim=-1):
    """Samples of the Gumbel-softmax distribution (Jang et al. 2016); hard: one-hot, with the gradient of the soft sample."""
    _need_tensor("gumbel_softmax", "logits", logits)
    if tau <= 0:
        raise ValueError(f"For 'gumbel_softmax', 'tau' must be greater than 0, but got {tau}.")
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
