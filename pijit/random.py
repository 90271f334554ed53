"""The global generator: a [seed, counter] tensor, advanced by every draw (Philox4x32-10).

A draw is ordinary tensor code, so eager and jitted runs consume the same numbers."""

import numpy as np

from pijit._C import Tensor, ops as _ops
from pijit.parameter import Parameter

_state = Parameter(Tensor(np.zeros(2, np.int64)), name="random_state", requires_grad=False)
_step = Tensor(np.array([0, 1], np.int64))
_seed = None


def set_seed(seed):
    """Restarts the generator. `seed` is a non-negative int."""
    global _seed
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise TypeError(f"For 'set_seed', the argument 'seed' must be int, but got {type(seed).__name__}.")
    if seed < 0:
        raise ValueError(f"For 'set_seed', 'seed' must be non-negative, but got {seed}.")
    _seed = seed
    _state._assign(Tensor(np.array([seed, 0], np.int64)))
    np.random.seed(seed % 2**32)


def get_seed():
    """The seed that was set, or None."""
    return _seed


def bits(shape):
    """uint32 random bits."""
    out = _ops["random_bits"](_state, shape)
    _state._assign(_state + _step)
    return out


def uniform(shape):
    """float32 in [0, 1), 24 random bits each."""
    return _ops["cast"](_ops["right_shift"](bits(shape), 8), "float32") * 5.9604644775390625e-08


def normal(shape):
    """float32 standard normal numbers (Box & Muller 1958)."""
    u1 = uniform(shape)
    u2 = uniform(shape)
    r = _ops["sqrt"](_ops["log"](1.0 - u1) * -2.0)
    return r * _ops["cos"](u2 * 6.283185307179586)
