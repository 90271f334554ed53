"""Initial values of parameters. Numbers come from NumPy's generator, seeded by set_seed."""

import math

import numpy as np

from pijit import dtype as mstype
from pijit._C import Tensor


def _fans(shape):
    if len(shape) == 0:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    receptive = int(np.prod(shape[2:], dtype=np.int64))
    return shape[1] * receptive, shape[0] * receptive


class Initializer:
    """Base: `_values(shape)` gives a float64 array."""

    def __call__(self, shape):
        return self._values(tuple(shape))


class Constant(Initializer):
    def __init__(self, value):
        self.value = value

    def _values(self, shape):
        return np.full(shape, self.value)


class Zero(Initializer):
    def _values(self, shape):
        return np.zeros(shape)


class One(Initializer):
    def _values(self, shape):
        return np.ones(shape)


class Uniform(Initializer):
    """U(-scale, scale)."""

    def __init__(self, scale=0.07):
        self.scale = scale

    def _values(self, shape):
        return np.random.uniform(-self.scale, self.scale, shape)


class Normal(Initializer):
    """N(mean, sigma^2)."""

    def __init__(self, sigma=0.01, mean=0.0):
        self.sigma, self.mean = sigma, mean

    def _values(self, shape):
        return np.random.normal(self.mean, self.sigma, shape)


class TruncatedNormal(Initializer):
    """N(mean, sigma^2), redrawn outside [a, b] standard deviations."""

    def __init__(self, sigma=0.01, mean=0.0, a=-2.0, b=2.0):
        self.sigma, self.mean, self.a, self.b = sigma, mean, a, b

    def _values(self, shape):
        x = np.random.normal(0, 1, shape)
        bad = (x < self.a) | (x > self.b)
        while bad.any():
            x[bad] = np.random.normal(0, 1, int(bad.sum()))
            bad = (x < self.a) | (x > self.b)
        return x * self.sigma + self.mean


class XavierUniform(Initializer):
    """Glorot & Bengio 2010."""

    def __init__(self, gain=1):
        self.gain = gain

    def _values(self, shape):
        fan_in, fan_out = _fans(shape)
        b = self.gain * math.sqrt(6.0 / (fan_in + fan_out))
        return np.random.uniform(-b, b, shape)


class XavierNormal(Initializer):
    """Glorot & Bengio 2010."""

    def __init__(self, gain=1):
        self.gain = gain

    def _values(self, shape):
        fan_in, fan_out = _fans(shape)
        return np.random.normal(0, self.gain * math.sqrt(2.0 / (fan_in + fan_out)), shape)


def _he_gain(nonlinearity, slope):
    gains = {"relu": math.sqrt(2.0), "tanh": 5.0 / 3, "leaky_relu": math.sqrt(2.0 / (1 + slope**2)), "sigmoid": 1.0, "linear": 1.0}
    if nonlinearity not in gains:
        raise ValueError(f"For initializers, 'nonlinearity' must be one of {sorted(gains)}, but got {nonlinearity!r}.")
    return gains[nonlinearity]


class HeUniform(Initializer):
    """He et al. 2015."""

    def __init__(self, negative_slope=0, mode="fan_in", nonlinearity="leaky_relu"):
        self.slope, self.mode, self.nonlinearity = negative_slope, mode, nonlinearity

    def _values(self, shape):
        fan = _fans(shape)[0 if self.mode == "fan_in" else 1]
        b = _he_gain(self.nonlinearity, self.slope) * math.sqrt(3.0 / fan)
        return np.random.uniform(-b, b, shape)


class HeNormal(HeUniform):
    """He et al. 2015."""

    def _values(self, shape):
        fan = _fans(shape)[0 if self.mode == "fan_in" else 1]
        return np.random.normal(0, _he_gain(self.nonlinearity, self.slope) / math.sqrt(fan), shape)


class Identity(Initializer):
    def _values(self, shape):
        if len(shape) != 2:
            raise ValueError(f"For 'Identity', the shape must have 2 dimensions, but got {shape}.")
        return np.eye(*shape)


class Orthogonal(Initializer):
    """Saxe et al. 2013."""

    def __init__(self, gain=1.0):
        self.gain = gain

    def _values(self, shape):
        if len(shape) < 2:
            raise ValueError(f"For 'Orthogonal', the shape must have at least 2 dimensions, but got {shape}.")
        rows, cols = shape[0], int(np.prod(shape[1:]))
        q, r = np.linalg.qr(np.random.normal(0, 1, (max(rows, cols), min(rows, cols))))
        q = q * np.sign(np.diag(r))
        return (q if rows >= cols else q.T).reshape(shape) * self.gain


_by_name = {"zeros": Zero, "zero": Zero, "ones": One, "one": One, "uniform": Uniform, "normal": Normal, "truncatednormal": TruncatedNormal,
            "truncated_normal": TruncatedNormal, "xavier_uniform": XavierUniform, "xavieruniform": XavierUniform, "xavier_normal": XavierNormal,
            "xaviernormal": XavierNormal, "he_uniform": HeUniform, "heuniform": HeUniform, "he_normal": HeNormal, "henormal": HeNormal,
            "identity": Identity, "orthogonal": Orthogonal}


def _resolve(init):
    if isinstance(init, Initializer):
        return init
    if isinstance(init, (int, float)):
        return Constant(init)
    if isinstance(init, str):
        if init.lower() not in _by_name:
            raise ValueError(f"For 'initializer', the name {init!r} is not one of {sorted(_by_name)}.")
        return _by_name[init.lower()]()
    raise TypeError(f"For 'initializer', 'init' must be a Tensor, a str, a number or an Initializer, but got {type(init).__name__}.")


def fill(init, shape, dtype):
    """A NumPy array of initial values."""
    return _resolve(init)(tuple(shape)).astype(mstype.dtype_to_nptype(dtype))


def initializer(init, shape=None, dtype=mstype.float32):
    """A tensor of `shape` filled by `init`: a Tensor, a name, a number or an Initializer."""
    if isinstance(init, Tensor):
        if shape is not None and tuple(shape) != init.shape:
            raise ValueError(f"For 'initializer', the shape of 'init' is {init.shape}, but 'shape' is {tuple(shape)}.")
        return init
    if isinstance(shape, int):
        shape = (shape,)
    return Tensor(fill(init, tuple(shape), dtype), dtype)
