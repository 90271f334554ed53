"""Distributions: densities, distribution functions, moments, divergences, samples.

Parameters are given when a distribution is made, or with each call behind the value: `Normal(0.0, 1.0).prob(x)`,
`Normal().prob(x, mean, sd)`; a call's come first. `d('prob', x)` calls by name."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pijit import _check
from pijit import dtype as mstype
from pijit import random as _random
from pijit._C import Tensor
from pijit.nn.cell import Cell
from pijit.nn.probability.bijector import Bijector, Exp as _Exp, GumbelCDF, Invert
from pijit.ops import function as F
from pijit.ops.function.distributions import _joint, _open_uniform, _poisson, standard_gamma
from pijit.ops.function.special import betainc

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import DType
    from pijit._types import ArrayLike, DTypeLike

_LOG_2PI = math.log(2 * math.pi)


class Distribution(Cell):
    """Base.

    A subclass names its parameters in `_named` and defines some of _prob, _log_prob, _cdf, _mean, _mode, _var, _sd,
    _entropy, _kl_loss and _sample, each of (value and) the parameters; the others follow.

    seed: kept; dtype: of values and parameters; param: the parameters by name."""

    seed: int
    dtype: DTypeLike
    name: str
    _named, _floats, _needs_lists = (), True, False

    def __init__(self, seed: int, dtype: DTypeLike, name: str, param: dict[str, Any] | None = None) -> None:
        super().__init__()
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
            raise _check.refused(type(self).__name__, "seed", _check.INT, seed)
        if seed is not None and seed < 0:
            raise _check.refused(type(self).__name__, "seed", _check.at_least(0), seed)
        if not isinstance(name, str):
            raise _check.refused(type(self).__name__, "name", _check.STR, name)
        if self._floats and not dtype.is_floating_point:
            raise _check.refused(type(self).__name__, "dtype", _check.FLOATING, dtype)
        self.seed, self.dtype, self.name = seed or 0, dtype, name
        self._own = {}
        parameter_type = dtype if dtype.is_floating_point else mstype.float32
        self.parameter_type = parameter_type
        for n, v in (param or {}).items():
            if n not in self._named:
                continue
            if self._needs_lists and isinstance(v, (int, float)):
                raise TypeError(f"Input {n} can't be scalar")
            if v is not None and not isinstance(v, (Tensor, int, float, list, tuple)):
                raise _check.refused(type(self).__name__, n, _check.type_("a number, a list or a Tensor"), v)
            self._own[n] = (None if v is None else F.cast(v, parameter_type) if isinstance(v, Tensor)
                            else Tensor(v, parameter_type))
        self._check(*[self._own.get(n) for n in self._named])

    def _check(self, *parameters):
        """Raises ValueError for parameters out of range."""

    def _positive(self, what, x):
        if x is not None and not bool((x > 0).all()):
            raise ValueError(f"{what} must be greater than zero.")

    # -- parameters --
    def _given(self, args, kwargs):
        """The parameters of a call: what it gives, else the distribution's own."""
        out = []
        for k, n in enumerate(self._named):
            v = args[k] if k < len(args) else kwargs.get(n)
            if v is None:
                v = self._own.get(n)
            elif not isinstance(v, Tensor):
                raise TypeError(f"For {n}, input type must be a Tensor or Parameter.")
            if v is None:
                raise TypeError(
                    f"the type {n} must be subclass of Tensor. It can not be None since it is not specified during "
                    f"initialization.")
            out.append(v if v.dtype == self.parameter_type else F.cast(v, self.parameter_type))
        return out

    def _value(self, value):
        if not isinstance(value, Tensor):
            raise TypeError("For value, input type must be a Tensor or Parameter.")
        return value if value.dtype == self.parameter_type else F.cast(value, self.parameter_type)

    def get_dist_args(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The parameters, those of the call first."""
        return tuple(self._given(args, kwargs))

    def get_dist_type(self, *args: Any, **kwargs: Any) -> str:  # noqa: ARG002
        """The distribution's name."""
        return type(self).__name__

    @property
    def batch_shape(self) -> tuple[int, ...] | None:
        """The shape that the parameters broadcast to, or None where one isn't given."""
        shapes = [v.shape for v in self._own.values() if v is not None]
        return _joint(*shapes) if len(shapes) == len(self._named) and shapes else None

    @property
    def broadcast_shape(self) -> tuple[int, ...] | None:
        """As batch_shape."""
        return self.batch_shape

    @property
    def is_scalar_batch(self) -> bool:
        """Whether all parameters are single numbers."""
        return self.batch_shape == ()

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__.get("_own")
        if own is not None and name in own:
            return own[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # -- what is asked for --
    def _has(self, name):
        return getattr(type(self), name, None) is not None

    def _need(self, *names):
        for n in names:
            if self._has(n):
                return n
        raise NotImplementedError(f"{names[0][1:]} is not implemented for {type(self).__name__} distribution.")

    def prob(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """The density (the probability, of whole numbers) at a value."""
        p, v = self._given(args, kwargs), self._value(value)
        return self._prob(v, *p) if self._need("_prob", "_log_prob") == "_prob" else F.exp(self._log_prob(v, *p))

    def log_prob(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """log of prob."""
        p, v = self._given(args, kwargs), self._value(value)
        return self._log_prob(v, *p) if self._need("_log_prob", "_prob") == "_log_prob" else F.log(self._prob(v, *p))

    def cdf(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """The probability of a number up to the value."""
        self._need("_cdf")
        return self._cdf(self._value(value), *self._given(args, kwargs))

    def log_cdf(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """log of cdf."""
        self._need("_cdf")
        p, v = self._given(args, kwargs), self._value(value)
        return self._log_cdf(v, *p) if self._has("_log_cdf") else F.log(self._cdf(v, *p))

    def survival_function(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """1 - cdf."""
        self._need("_cdf")
        p, v = self._given(args, kwargs), self._value(value)
        return self._survival(v, *p) if self._has("_survival") else 1.0 - self._cdf(v, *p)

    def log_survival(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """log of survival_function."""
        self._need("_cdf")
        p, v = self._given(args, kwargs), self._value(value)
        if self._has("_log_survival"):
            return self._log_survival(v, *p)
        return F.log(self._survival(v, *p) if self._has("_survival") else 1.0 - self._cdf(v, *p))

    def mean(self, *args: Any, **kwargs: Any) -> Any:
        """The mean."""
        self._need("_mean")
        return self._mean(*self._given(args, kwargs))

    def mode(self, *args: Any, **kwargs: Any) -> Any:
        """Where the density is greatest."""
        self._need("_mode")
        return self._mode(*self._given(args, kwargs))

    def var(self, *args: Any, **kwargs: Any) -> Any:
        """The variance."""
        return (self._var(*self._given(args, kwargs)) if self._need("_var", "_sd") == "_var"
                else F.square(self._sd(*self._given(args, kwargs))))

    def sd(self, *args: Any, **kwargs: Any) -> Any:
        """The standard deviation."""
        return (self._sd(*self._given(args, kwargs)) if self._need("_sd", "_var") == "_sd"
                else F.sqrt(self._var(*self._given(args, kwargs))))

    def entropy(self, *args: Any, **kwargs: Any) -> Any:
        """The entropy."""
        self._need("_entropy")
        return self._entropy(*self._given(args, kwargs))

    def kl_loss(self, dist: Any, *args: Any, **kwargs: Any) -> Any:
        """The Kullback-Leibler divergence from another distribution of this kind, whose parameters come first.
        ValueError for another kind."""
        self._need("_kl_loss")
        if dist != type(self).__name__:
            raise ValueError(f"Expected dist input is {type(self).__name__}, but got {dist}.")
        n = len(self._named)
        other = list(args[:n]) + [kwargs[f"{name}_b"] for name in self._named[len(args):] if f"{name}_b" in kwargs]
        if len(other) != n or not all(isinstance(v, Tensor) for v in other):
            raise TypeError(f"For 'kl_loss', the other distribution's {', '.join(self._named)} must be Tensors.")
        return self._kl_loss([F.cast(v, self.parameter_type) for v in other], *self._given(args[n:], kwargs))

    def cross_entropy(self, dist: Any, *args: Any, **kwargs: Any) -> Any:
        """entropy + kl_loss."""
        return self.entropy(*args[len(self._named):]) + self.kl_loss(dist, *args, **kwargs)

    def sample(self, shape: tuple[Any, ...] = (), *args: Any, **kwargs: Any) -> Tensor:
        """Numbers of the distribution: [*shape, *what the parameters broadcast to]. TypeError where shape is no
        tuple."""
        self._need("_sample")
        if not isinstance(shape, tuple):
            raise _check.refused("sample", "shape", _check.TUPLE, shape)
        p = self._given(args, kwargs)
        return F.cast(self._sample(shape + _joint((), *[v.shape for v in p]), *p), self.dtype)

    def construct(self, name: str, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, name)(*args, **kwargs)

    _shown_names = {}

    def extend_repr(self) -> str:
        if self.batch_shape and not isinstance(self, Categorical):
            return f"batch_shape = {self.batch_shape}"
        return ", ".join([f"{self._shown_names.get(n, n)} = {v.asnumpy()!s}" for n, v in self._own.items()
                          if v is not None])


class Normal(Distribution):
    """The normal distribution of a mean and a standard deviation sd > 0."""

    _named, _shown_names = ("mean", "sd"), {"sd": "standard deviation"}

    def __init__(self, mean: ArrayLike | None = None, sd: ArrayLike = None, seed: int | None = None,
                 dtype: DType = mstype.float32, name: str = "Normal") -> None:
        super().__init__(seed, dtype, name, {"mean": mean, "sd": sd})

    def _check(self, mean, sd):  # noqa: ARG002
        self._positive("Standard deviation", sd)

    def _log_prob(self, x, mean, sd):
        return -F.square((x - mean) / sd) * 0.5 - F.log(sd) - _LOG_2PI / 2

    def _cdf(self, x, mean, sd):
        return 0.5 * F.erfc((mean - x) / (sd * math.sqrt(2)))

    def _survival(self, x, mean, sd):
        return 0.5 * F.erfc((x - mean) / (sd * math.sqrt(2)))

    def _mean(self, mean, sd):
        return mean + sd * 0.0

    _mode = _mean

    def _sd(self, mean, sd):
        return sd + mean * 0.0

    def _entropy(self, mean, sd):
        return 0.5 + _LOG_2PI / 2 + F.log(sd) + mean * 0.0

    def _kl_loss(self, other, mean, sd):
        mean_b, sd_b = other
        gap = F.log(sd) - F.log(sd_b)
        return 0.5 * F.square((mean - mean_b) / sd_b) + 0.5 * F.expm1(2.0 * gap) - gap

    def _sample(self, shape, mean, sd):
        return _random.normal(shape) * sd + mean


# `mean` and the like are parameters of some and methods of all: the method has the name
class Uniform(Distribution):
    """The uniform distribution between low and high."""

    _named = ("low", "high")

    def __init__(self, low: ArrayLike | None = None, high: ArrayLike | None = None, seed: int | None = None,
                 dtype: DType = mstype.float32, name: str = "Uniform") -> None:
        super().__init__(seed, dtype, name, {"low": low, "high": high})

    def _check(self, low, high):
        if low is not None and high is not None and not bool((low < high).all()):
            raise ValueError("low must be less than high.")

    def _prob(self, x, low, high):
        return F.select((x >= low) & (x <= high), 1.0 / (high - low) + x * 0.0, 0.0)

    def _cdf(self, x, low, high):
        return F.minimum(F.maximum((x - low) / (high - low), 0.0), 1.0)

    def _mean(self, low, high):
        return (low + high) * 0.5

    def _var(self, low, high):
        return F.square(high - low) / 12.0

    def _entropy(self, low, high):
        return F.log(high - low)

    def _kl_loss(self, other, low, high):
        low_b, high_b = other
        return F.select((low_b <= low) & (high_b >= high), F.log(high_b - low_b) - F.log(high - low), float("inf"))

    def _sample(self, shape, low, high):
        return low + _random.uniform(shape) * (high - low)


class Exponential(Distribution):
    """The exponential distribution of a rate > 0."""

    _named = ("rate",)

    def __init__(self, rate: ArrayLike | None = None, seed: int | None = None, dtype: DType = mstype.float32,
                 name: str = "Exponential") -> None:
        super().__init__(seed, dtype, name, {"rate": rate})

    def _check(self, rate):
        self._positive("Rate", rate)

    def _log_prob(self, x, rate):
        return F.select(x >= 0, F.log(rate) - rate * x, float("-inf"))

    def _prob(self, x, rate):
        return F.select(x >= 0, rate * F.exp(-rate * x), 0.0)

    def _cdf(self, x, rate):
        return F.select(x >= 0, -F.expm1(-rate * x), 0.0)

    def _survival(self, x, rate):
        return F.select(x > 0, F.exp(-rate * x), 1.0)

    def _log_survival(self, x, rate):
        return F.select(x > 0, -rate * x, 0.0)

    def _mean(self, rate):
        return 1.0 / rate

    _sd = _mean

    def _mode(self, rate):
        return rate * 0.0

    def _entropy(self, rate):
        return 1.0 - F.log(rate)

    def _kl_loss(self, other, rate):
        return F.log(rate) - F.log(other[0]) + other[0] / rate - 1.0

    def _sample(self, shape, rate):
        return -F.log(_open_uniform(shape)) / rate


class Bernoulli(Distribution):
    """1 with probability probs, else 0."""

    _named, _floats = ("probs",), False

    def __init__(self, probs: ArrayLike = None, seed: int | None = None, dtype: DType = mstype.int32,
                 name: str = "Bernoulli") -> None:
        super().__init__(seed, dtype, name, {"probs": probs})

    def _check(self, probs):
        _check_probability(probs)

    def _prob(self, x, probs):
        return probs * x + (1.0 - probs) * (1.0 - x)

    def _log_prob(self, x, probs):
        return F.log(probs) * x + F.log1p(-probs) * (1.0 - x)

    def _cdf(self, x, probs):
        x = F.floor(x)
        return F.select(x < 0, 0.0, F.select(x < 1, 1.0 - probs + x * 0.0, 1.0))

    def _mean(self, probs):
        return probs

    def _mode(self, probs):
        return F.cast(probs > 0.5, mstype.int32)

    def _var(self, probs):
        return probs * (1.0 - probs)

    def _entropy(self, probs):
        return -(probs * F.log(probs)) - (1.0 - probs) * F.log1p(-probs)

    def _kl_loss(self, other, probs):
        b = other[0]
        return probs * F.log(probs / b) + (1.0 - probs) * F.log((1.0 - probs) / (1.0 - b))

    def _sample(self, shape, probs):
        return F.cast(_random.uniform(shape) < probs, mstype.int32)


def _check_probability(probs):
    if probs is None:
        return
    if not bool((probs > 0).all()):
        raise ValueError("Probabilities must be greater than zero")
    if not bool((probs < 1).all()):
        raise ValueError("Probabilities must be less than one")


class Geometric(Distribution):
    """How many failures come before the first success of probability probs."""

    _named, _floats = ("probs",), False

    def __init__(self, probs: ArrayLike = None, seed: int | None = None, dtype: DType = mstype.int32,
                 name: str = "Geometric") -> None:
        super().__init__(seed, dtype, name, {"probs": probs})

    def _check(self, probs):
        _check_probability(probs)

    def _prob(self, x, probs):
        x = F.floor(x)
        return F.select(x >= 0, F.exp(F.log1p(-probs) * F.maximum(x, 0.0)) * probs, 0.0)

    def _cdf(self, x, probs):
        x = F.floor(x)
        return F.select(x >= 0, -F.expm1(F.log1p(-probs) * (F.maximum(x, 0.0) + 1.0)), 0.0)

    def _mean(self, probs):
        return (1.0 - probs) / probs

    def _mode(self, probs):
        return F.cast(probs * 0.0, mstype.int32)

    def _var(self, probs):
        return (1.0 - probs) / F.square(probs)

    def _entropy(self, probs):
        return -(F.log(probs) + (1.0 - probs) / probs * F.log1p(-probs))

    def _kl_loss(self, other, probs):
        b = other[0]
        return F.log(probs / b) + (1.0 - probs) / probs * F.log((1.0 - probs) / (1.0 - b))

    def _sample(self, shape, probs):
        return F.floor(F.log(_open_uniform(shape)) / F.log1p(-probs))


class Categorical(Distribution):
    """Classes with the probabilities `probs` [..., classes], whose sum is 1."""

    _named, _floats = ("probs",), False

    def __init__(self, probs: ArrayLike = None, seed: int | None = None, dtype: DType = mstype.int32,
                 name: str = "Categorical") -> None:
        super().__init__(seed, dtype, name, {"probs": probs})

    def _check(self, probs):
        if probs is None:
            return
        if probs.ndim < 1 or probs.shape[-1] < 2:
            raise ValueError(
                f"probs must have at least 1 dimension of 2 classes, but got the shape {tuple(probs.shape)}.")
        if not bool((probs >= 0).all()) or not bool((F.abs(probs.sum(-1) - 1.0) < 1e-4).all()):
            raise ValueError("probs must be at least zero, with a sum of one.")

    def _places(self, x, probs):
        """Classes as ints within reach, and which of them there are."""
        at = F.cast(F.floor(x), mstype.int64)
        inside = (at >= 0) & (at < probs.shape[-1])
        at = F.minimum(F.maximum(at, 0), probs.shape[-1] - 1)
        whole = _joint(at.shape, probs.shape[:-1])
        return (F.broadcast_to(at, whole), F.broadcast_to(inside, whole),
                F.broadcast_to(probs, (*whole, probs.shape[-1])))

    def _prob(self, x, probs):
        at, inside, wide = self._places(x, probs)
        return F.select(inside, F.squeeze(F.gather_elements(wide, -1, F.expand_dims(at, -1)), -1), 0.0)

    def _cdf(self, x, probs):
        at, _, wide = self._places(x, F.cumsum(probs, -1))
        found = F.squeeze(F.gather_elements(wide, -1, F.expand_dims(at, -1)), -1)
        return F.select(x < 0, 0.0, F.select(x >= probs.shape[-1] - 1, 1.0, found))

    def _mean(self, probs):
        return F.sum(probs * F.cast(F.arange(probs.shape[-1]), probs.dtype), -1, True)

    def _var(self, probs):
        gap = F.cast(F.arange(probs.shape[-1]), probs.dtype) - self._mean(probs)
        return F.sum(probs * gap * gap, -1, True)

    def _mode(self, probs):
        return F.cast(F.argmax(probs, -1), mstype.int32)

    def _entropy(self, probs):
        return -F.sum(F.xlogy(probs, probs), -1)

    def _kl_loss(self, other, probs):
        return F.sum(F.xlogy(probs, probs) - F.xlogy(probs, other[0]), -1)

    def sample(self, shape: tuple[Any, ...] = (), *args: Any, **kwargs: Any) -> Tensor:
        """Classes: [*shape, *leading dimensions of probs]."""
        if not isinstance(shape, tuple):
            raise _check.refused("sample", "shape", _check.TUPLE, shape)
        probs, = self._given(args, kwargs)
        below = _random.uniform((*shape, *probs.shape[:-1], 1)) >= F.cumsum(probs, -1)
        return F.cast(F.minimum(F.sum(F.cast(below, mstype.int32), -1), probs.shape[-1] - 1), self.dtype)


class Cauchy(Distribution):
    """The Cauchy distribution of a location and a scale > 0. It has no mean and no variance."""

    _named, _shown_names = ("loc", "scale"), {"loc": "location"}

    def __init__(self, loc: ArrayLike = None, scale: ArrayLike = None, seed: int | None = None,
                 dtype: DType = mstype.float32, name: str = "Cauchy") -> None:
        super().__init__(seed, dtype, name, {"loc": loc, "scale": scale})

    def _check(self, loc, scale):  # noqa: ARG002
        self._positive("Scale", scale)

    def _log_prob(self, x, loc, scale):
        return -math.log(math.pi) - F.log(scale) - F.log1p(F.square((x - loc) / scale))

    def _cdf(self, x, loc, scale):
        return 0.5 + F.atan((x - loc) / scale) / math.pi

    def _mean(self, loc, scale):  # noqa: ARG002
        raise ValueError("Cauchy distribution has no mean.")

    def _var(self, loc, scale):  # noqa: ARG002
        raise ValueError("Cauchy distribution has no variance.")

    def _mode(self, loc, scale):
        return loc + scale * 0.0

    def _entropy(self, loc, scale):
        return math.log(4 * math.pi) + F.log(scale) + loc * 0.0

    def _kl_loss(self, other, loc, scale):
        loc_b, scale_b = other
        return F.log(F.square(scale + scale_b) + F.square(loc - loc_b)) - F.log(4.0 * scale * scale_b)

    def _sample(self, shape, loc, scale):
        return loc + scale * F.tan(math.pi * (_open_uniform(shape) - 0.5))


class Logistic(Distribution):
    """The logistic distribution of a location and a scale > 0."""

    _named, _shown_names = ("loc", "scale"), {"loc": "location"}

    def __init__(self, loc: ArrayLike = None, scale: ArrayLike = None, seed: int | None = None,
                 dtype: DType = mstype.float32, name: str = "Logistic") -> None:
        super().__init__(seed, dtype, name, {"loc": loc, "scale": scale})

    def _check(self, loc, scale):  # noqa: ARG002
        self._positive("Scale", scale)

    def _log_prob(self, x, loc, scale):
        z = F.abs((x - loc) / scale)
        return -z - 2.0 * F.log1p(F.exp(-z)) - F.log(scale)

    def _cdf(self, x, loc, scale):
        return F.sigmoid((x - loc) / scale)

    def _survival(self, x, loc, scale):
        return F.sigmoid((loc - x) / scale)

    def _log_cdf(self, x, loc, scale):
        return F.logsigmoid((x - loc) / scale)

    def _log_survival(self, x, loc, scale):
        return F.logsigmoid((loc - x) / scale)

    def _mean(self, loc, scale):
        return loc + scale * 0.0

    _mode = _mean

    def _sd(self, loc, scale):
        return scale * (math.pi / math.sqrt(3)) + loc * 0.0

    def _entropy(self, loc, scale):
        return F.log(scale) + 2.0 + loc * 0.0

    def _sample(self, shape, loc, scale):
        u = F.minimum(_open_uniform(shape), 1.0 - 2.0 ** -24)
        return loc + scale * (F.log(u) - F.log1p(-u))


class Gamma(Distribution):
    """The gamma distribution of a concentration > 0 and a rate > 0, which are lists or Tensors."""

    _named, _needs_lists = ("concentration", "rate"), True

    def __init__(self, concentration: ArrayLike = None, rate: ArrayLike | None = None, seed: int | None = None,
                 dtype: DType = mstype.float32, name: str = "Gamma") -> None:
        super().__init__(seed, dtype, name, {"concentration": concentration, "rate": rate})

    def _check(self, concentration, rate):
        self._positive("Concentration", concentration)
        self._positive("Rate", rate)

    def _log_prob(self, x, a, b):
        return F.xlogy(a - 1.0, x) + a * F.log(b) - b * x - F.lgamma(a)

    def _cdf(self, x, a, b):
        return F.igamma(*_wide(a, b * x))

    def _mean(self, a, b):
        return a / b

    def _mode(self, a, b):
        return F.select(a > 1, (a - 1.0) / b, float("nan"))

    def _var(self, a, b):
        return a / F.square(b)

    def _entropy(self, a, b):
        return a - F.log(b) + F.lgamma(a) + (1.0 - a) * F.digamma(a)

    def _kl_loss(self, other, a, b):
        c, d = other
        return (a - c) * F.digamma(a) + F.lgamma(c) - F.lgamma(a) + c * F.log(b) - c * F.log(d) + a * (d / b - 1.0)

    def _sample(self, shape, a, b):
        return standard_gamma(F.broadcast_to(a, shape)) / b


def _wide(*xs):
    """Tensors of one shape."""
    shape = _joint(*[x.shape for x in xs])
    return [F.broadcast_to(x, shape) for x in xs]


def _log_beta(a, b):
    return F.lgamma(a) + F.lgamma(b) - F.lgamma(a + b)


class Beta(Distribution):
    """The beta distribution of two concentrations > 0, which are lists or Tensors."""

    _named, _needs_lists = ("concentration1", "concentration0"), True

    def __init__(self, concentration1: ArrayLike = None, concentration0: ArrayLike = None, seed: int | None = None,
                 dtype: DType = mstype.float32, name: str = "Beta") -> None:
        super().__init__(seed, dtype, name, {"concentration1": concentration1, "concentration0": concentration0})

    def _check(self, concentration1, concentration0):
        self._positive("concentration1", concentration1)
        self._positive("concentration0", concentration0)

    def _log_prob(self, x, a, b):
        return F.xlogy(a - 1.0, x) + F.xlogy(b - 1.0, 1.0 - x) - _log_beta(a, b)

    def _cdf(self, x, a, b):
        return betainc(*_wide(a, b, x))

    def _mean(self, a, b):
        return a / (a + b)

    def _mode(self, a, b):
        return F.select((a > 1) & (b > 1), (a - 1.0) / (a + b - 2.0), float("nan"))

    def _var(self, a, b):
        return a * b / (F.square(a + b) * (a + b + 1.0))

    def _entropy(self, a, b):
        return _log_beta(a, b) - (a - 1.0) * F.digamma(a) - (b - 1.0) * F.digamma(b) + (a + b - 2.0) * F.digamma(a + b)

    def _kl_loss(self, other, a, b):
        c, d = other
        return (_log_beta(c, d) - _log_beta(a, b) + (a - c) * F.digamma(a) + (b - d) * F.digamma(b) + (c - a + d - b) *
                F.digamma(a + b))

    def _sample(self, shape, a, b):
        x = standard_gamma(F.broadcast_to(a, shape))
        return x / (x + standard_gamma(F.broadcast_to(b, shape)))


class Poisson(Distribution):
    """Whole numbers of a rate > 0, which is a list or a Tensor."""

    _named, _needs_lists = ("rate",), True

    def __init__(self, rate: ArrayLike | None = None, seed: int | None = None, dtype: DType = mstype.float32,
                 name: str = "Poisson") -> None:
        super().__init__(seed, dtype, name, {"rate": rate})

    def _check(self, rate):
        self._positive("Rate", rate)

    def _log_prob(self, x, rate):
        whole = (x >= 0) & (F.floor(x) == x)
        safe = F.maximum(F.floor(x), 0.0)
        return F.select(whole, F.xlogy(safe, rate) - rate - F.lgamma(safe + 1.0), float("-inf"))

    def _cdf(self, x, rate):
        safe = F.maximum(F.floor(x), 0.0)
        return F.select(x >= 0, F.igammac(*_wide(safe + 1.0, rate)), 0.0)

    def _mean(self, rate):
        return rate

    _var = _mean

    def _mode(self, rate):
        return F.floor(rate)

    def _sample(self, shape, rate):
        return _poisson(F.broadcast_to(rate, shape))


class HalfNormal(Distribution):
    """|x - mean| of a normal distribution, behind the mean: densities alone."""

    _named = ("mean", "sd")

    def __init__(self, mean: ArrayLike | None = None, sd: ArrayLike = None, seed: int | None = None,
                 dtype: DType = mstype.float32, name: str = "HalfNormal") -> None:
        super().__init__(seed, dtype, name, {"mean": mean, "sd": sd})

    def _check(self, mean, sd):  # noqa: ARG002
        self._positive("Standard deviation", sd)

    def _log_prob(self, x, mean, sd):
        inside = F.log(F.cast(x >= mean, x.dtype))
        return 0.5 * math.log(2 / math.pi) - F.log(sd) - 0.5 * F.square((x - mean) / sd) + inside

    def extend_repr(self) -> str:
        return ""


class Laplace(HalfNormal):
    """The Laplace distribution of a mean and a scale sd > 0: densities alone."""

    def __init__(self, mean: ArrayLike | None = None, sd: ArrayLike = None, seed: int | None = None,
                 dtype: DType = mstype.float32, name: str = "Laplace") -> None:
        Distribution.__init__(self, seed, dtype, name, {"mean": mean, "sd": sd})

    def _log_prob(self, x, mean, sd):
        return -F.abs(x - mean) / sd - math.log(2) - F.log(sd)


class StudentT(HalfNormal):
    """Student's t distribution of degrees of freedom df > 0, a mean and a scale sd > 0: densities alone."""

    _named = ("df", "mean", "sd")

    def __init__(self, df: ArrayLike = None, mean: ArrayLike | None = None, sd: ArrayLike = None,
                 seed: int | None = None, dtype: DType = mstype.float32, name: str = "StudentT") -> None:
        Distribution.__init__(self, seed, dtype, name, {"df": df, "mean": mean, "sd": sd})

    def _check(self, df, mean, sd):  # noqa: ARG002
        self._positive("Degrees of freedom", df)
        self._positive("Standard deviation", sd)

    def _log_prob(self, x, df, mean, sd):
        y = (x - mean) / sd
        norm = F.log(sd) + 0.5 * F.log(df) + 0.5 * math.log(math.pi) + F.lgamma(df * 0.5) - F.lgamma((df + 1.0) * 0.5)
        return -0.5 * (df + 1.0) * F.log1p(F.square(y) / df) - norm


class TransformedDistribution(Distribution):
    """The distribution of bijector(x) for x of a distribution. TypeError for other kinds of arguments."""

    def __init__(self, bijector: Any, distribution: Any, seed: int | None = None,
                 name: str = "transformed_distribution") -> None:
        if not isinstance(bijector, Bijector):
            raise _check.refused("TransformedDistribution", "bijector", _check.a(Bijector), bijector)
        if not isinstance(distribution, Distribution):
            raise _check.refused("TransformedDistribution", "distribution", _check.a(Distribution), distribution)
        super().__init__(seed, distribution.dtype, name)
        self._bijector, self._distribution = bijector, distribution

    @property
    def bijector(self) -> Bijector:
        """The function."""
        return self._bijector

    @property
    def distribution(self) -> Distribution:
        """What the function is applied to."""
        return self._distribution

    def _at(self, value):
        return self._bijector.inverse(self._value(value))

    def log_prob(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        return (self._distribution.log_prob(self._at(value), *args, **kwargs) +
                self._bijector.inverse_log_jacobian(self._value(value)))

    def prob(self, value: Any, *args: Any, **kwargs: Any) -> Tensor:
        return F.exp(self.log_prob(value, *args, **kwargs))

    def cdf(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        return self._distribution.cdf(self._at(value), *args, **kwargs)

    def log_cdf(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        return self._distribution.log_cdf(self._at(value), *args, **kwargs)

    def survival_function(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        return self._distribution.survival_function(self._at(value), *args, **kwargs)

    def log_survival(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        return self._distribution.log_survival(self._at(value), *args, **kwargs)

    def sample(self, shape: tuple[Any, ...] = (), *args: Any, **kwargs: Any) -> Any:
        return self._bijector.forward(self._distribution.sample(shape, *args, **kwargs))

    def mean(self, *args: Any, **kwargs: Any) -> Any:
        if not self._bijector.is_constant_jacobian:
            raise ValueError("mean function must be implemented for non-linear transformation")
        return self._bijector.forward(self._distribution.mean(*args, **kwargs))


class LogNormal(TransformedDistribution):
    """exp(x) of a normal distribution of mean loc and standard deviation scale > 0."""

    _named = ("loc", "scale")

    def __init__(self, loc: ArrayLike = None, scale: ArrayLike = None, seed: int = 0, dtype: DType = mstype.float32,
                 name: str = "LogNormal") -> None:
        super().__init__(_Exp(), Normal(loc, scale, seed, dtype), seed, name)
        self._own = dict(zip(self._named, self._distribution._own.values()))

    def mean(self, *args: Any, **kwargs: Any) -> Tensor:
        """The mean."""
        loc, scale = self._given(args, kwargs)
        return F.exp(loc + F.square(scale) * 0.5)

    def mode(self, *args: Any, **kwargs: Any) -> Tensor:
        """Where the density is greatest."""
        loc, scale = self._given(args, kwargs)
        return F.exp(loc - F.square(scale))

    def var(self, *args: Any, **kwargs: Any) -> Tensor:
        """The variance."""
        loc, scale = self._given(args, kwargs)
        return F.expm1(F.square(scale)) * F.exp(2.0 * loc + F.square(scale))

    def sd(self, *args: Any, **kwargs: Any) -> Tensor:
        """The standard deviation."""
        return F.sqrt(self.var(*args, **kwargs))

    def _entropy(self, loc, scale):
        return loc + 0.5 + F.log(scale) + _LOG_2PI / 2

    def _kl_loss(self, other, loc, scale):
        return Normal._kl_loss(self, other, loc, scale)


class Gumbel(TransformedDistribution):
    """Gumbel's distribution of a location and a scale > 0."""

    def __init__(self, loc: ArrayLike, scale: ArrayLike, seed: int = 0, dtype: DType = mstype.float32,
                 name: str = "Gumbel") -> None:
        bijector = GumbelCDF(loc, scale)
        super().__init__(Invert(bijector), Uniform(0.0, 1.0, seed, dtype), seed, name)
        self._gumbel_bijector = bijector
        self._named, self._own = ("loc", "scale"), {"loc": bijector.loc, "scale": bijector.scale}

    def log_prob(self, value: Any) -> Any:
        loc, scale = self._given((), {})
        z = (self._value(value) - loc) / scale
        return -(z + F.exp(-z)) - F.log(scale)

    def cdf(self, value: Any) -> Any:
        return self._gumbel_bijector.forward(self._value(value))

    def log_cdf(self, value: Any) -> Tensor:
        loc, scale = self._given((), {})
        return -F.exp(-(self._value(value) - loc) / scale)

    def survival_function(self, value: Any) -> Tensor:
        return -F.expm1(self.log_cdf(value))

    def log_survival(self, value: Any) -> Tensor:
        return F.log(self.survival_function(value))

    def _mean(self, loc, scale):
        return loc + scale * 0.5772156649015329

    def mean(self) -> Any:
        """The mean."""
        return self._mean(*self._given((), {}))

    def _mode(self, loc, scale):
        return loc + scale * 0.0

    def _sd(self, loc, scale):
        return scale * (math.pi / math.sqrt(6)) + loc * 0.0

    def _entropy(self, loc, scale):
        return 1.0 + F.log(scale) + 0.5772156649015329 + loc * 0.0

    def _kl_loss(self, other, loc, scale):
        loc_b, scale_b = other
        ratio = scale / scale_b
        return (F.log(scale_b) - F.log(scale) + 0.5772156649015329 * (ratio - 1.0)
                + F.expm1((loc_b - loc) / scale_b + F.lgamma(ratio + 1.0)) + (loc - loc_b) / scale_b)

    def sample(self, shape: tuple[Any, ...] = ()) -> Tensor:
        """Numbers of the distribution."""
        if not isinstance(shape, tuple):
            raise _check.refused("sample", "shape", _check.TUPLE, shape)
        u = F.minimum(_open_uniform(shape + _joint(*[v.shape for v in self._given((), {})])), 1.0 - 2.0 ** -24)
        return F.cast(self._gumbel_bijector.inverse(u), self.dtype)


__all__ = ["Bernoulli", "Beta", "Categorical", "Cauchy", "Distribution", "Exponential", "Gamma", "Geometric", "Gumbel",
           "HalfNormal", "Laplace", "LogNormal",
           "Logistic", "Normal", "Poisson", "StudentT", "TransformedDistribution", "Uniform"]
