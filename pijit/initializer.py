"""Initial values of parameters.

Each parameter's numbers come from a generator of its own, whose seed is the one number taken from NumPy's (which
set_seed seeds), as in MindSpore: a program's own np.random numbers don't depend on how large its parameters are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pijit import _check
from pijit import dtype as mstype
from pijit._C import Tensor
from pijit._numpy import np

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import DType
    from pijit._types import DTypeLike, Shape


def _numbers():
    """The generator of one parameter."""
    return np.random.Generator(np.random.PCG64(np.random.randint(0, 2**62, dtype=np.int64)))


def _calculate_fan_in_and_fan_out(shape):
    """(inputs, outputs) of one element of a weight. ValueError for fewer than 2 dimensions."""
    if len(shape) < 2:
        raise ValueError(f"a weight of shape {tuple(shape)} has no inputs and outputs: they need 2 dimensions.")
    receptive = math.prod(shape[2:])
    return shape[1] * receptive, shape[0] * receptive


class Initializer:
    """Base of initializers.

    A subclass of a program's own defines `_initialize(self, arr)`, which fills a NumPy array of the parameter's shape
    and dtype in place; those here define `_values(shape)`, which gives a float64 array."""

    _kwargs, _seed = {}, None  # of those that don't call __init__

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs

    @property
    def seed(self) -> tuple[Any, int] | tuple[int, Any | int]:
        """(the global seed, one of this initializer), which differ from call to call; what is set is the first one less
        1."""
        if self._seed is not None:
            return self._seed + 1, 0
        from pijit.compat.old import values
        from pijit.random import get_seed
        return values._get_graph_seed(get_seed() or 0, "init")

    @seed.setter
    def seed(self, value: Any) -> None:
        self._seed = value

    def __call__(self, arr: Any) -> Any:
        """Fills a NumPy array. For a shape it gives an array instead."""
        if not isinstance(arr, np.ndarray):
            return self._values(tuple(arr))
        return self._initialize(arr)

    def _initialize(self, arr):
        _assignment(arr, self._values(arr.shape))

    def _values(self, shape):
        if type(self)._initialize is Initializer._initialize:
            raise NotImplementedError(f"For '{type(self).__name__}', `_initialize(self, arr)` isn't defined.")
        arr = np.zeros(shape)
        self._initialize(arr)
        return arr


def _assignment(arr, num):
    """Stores a number, or numbers of arr's shape, in the array, which is given back. ValueError for another shape."""
    arr[...] = num
    return arr


def _calculate_correct_fan(shape, mode):
    """The inputs (mode "fan_in") or outputs ("fan_out") of one element of a weight."""
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"'mode' has to be 'fan_in' or 'fan_out', not {mode!r}.")
    return _calculate_fan_in_and_fan_out(shape)[mode.lower() == "fan_out"]


def _calculate_in_and_out(arr):
    """(inputs, outputs) of one element of an array. ValueError for fewer than 2 dimensions."""
    return _calculate_fan_in_and_fan_out(arr.shape)


def _calculate_gain(nonlinearity, param=None):
    """By how much a nonlinearity lessens deviations; `param` is leaky_relu's slope, 0.01 if None."""
    if nonlinearity in ("linear", "sigmoid") or nonlinearity.startswith("conv"):
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity != "leaky_relu":
        raise ValueError("'nonlinearity' has to be 'linear', 'sigmoid', 'tanh', 'relu', 'leaky_relu' or a convolution, "
                         f"not {nonlinearity!r}.")
    slope = 0.01 if param is None else param
    if isinstance(slope, bool) or not isinstance(slope, (int, float)):
        raise ValueError(f"the slope of 'leaky_relu' has to be int or float, not {slope!r}.")
    return math.sqrt(2.0 / (1 + slope**2))


def _init_random_normal(mean, sigma, shape):
    """float32 numbers of N(mean, sigma^2)."""
    return _numbers().normal(mean, sigma, shape).astype(np.float32)


def _init_random_uniform(a, b, shape):
    """float32 numbers of U(a, b)."""
    return _numbers().uniform(a, b, shape).astype(np.float32)


def _init_truncated_normal(a, b, mean, sigma, shape):
    """float32 numbers of N(mean, sigma^2), redrawn outside [a, b] standard deviations."""
    return TruncatedNormal(sigma, mean, a, b)._values(shape).astype(np.float32)


def _register(*aliases):
    """Decorator of a class: `initializer` finds it by its name in small letters and by these."""
    def add(cls):
        for name in (cls.__name__.lower(), *aliases):
            _INITIALIZER_ALIAS[name] = cls
        return cls
    return add


class Constant(Initializer):
    """One number. ValueError for more."""

    def __init__(self, value: Any) -> None:
        super().__init__(value=value)
        self.value = value

    def _values(self, shape):
        if np.ndim(self.value):
            raise _check.refused("Constant", "value", _check.value("be a number"), self.value)
        return np.full(shape, self.value)


class Zero(Initializer):
    def _values(self, shape):
        return np.zeros(shape)


class One(Initializer):
    def _values(self, shape):
        return np.ones(shape)


class Uniform(Initializer):
    """U(-scale, scale)."""

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def _values(self, shape):
        return _numbers().uniform(-self.scale, self.scale, shape)


class Normal(Initializer):
    """N(mean, sigma^2)."""

    sigma: float
    mean: float

    def __init__(self, sigma: float = 0.01, mean: float = 0.0) -> None:
        super().__init__(sigma=sigma, mean=mean)
        self.sigma, self.mean = sigma, mean

    def _values(self, shape):
        return _numbers().normal(self.mean, self.sigma, shape)


def _truncated(numbers, a, b, n):
    """n numbers of the standard normal distribution between a and b, drawn by rejection (Robert, 1995): of each
    proposal at least a fifth is accepted, wherever the bounds lie."""
    if math.isnan(a) or math.isnan(b):
        return np.full(n, math.nan)
    if b < 0:  # the same interval on the other side
        return -_truncated(numbers, -b, -a, n)
    if a == b:
        return np.full(n, float(a))
    if a > 0.5:  # a tail: exponential from a, cut off at b
        most = -math.expm1(-a * (b - a))

        def propose(k):  # pyright: ignore[reportRedeclaration]
            x = np.minimum(a - np.log1p(-numbers.random(k) * most) / a, b)
            return x, numbers.random(k) <= np.exp(-0.5 * (x - a) ** 2)
    elif b - a < 2:
        nearest = max(a, 0)

        def propose(k):
            x = numbers.uniform(a, b, k)
            return x, numbers.random(k) <= np.exp(0.5 * (nearest * nearest - x * x))
    else:
        def propose(k):
            x = numbers.normal(0, 1, k)
            return x, (x >= a) & (x <= b)
    out = np.empty(n)
    left = np.arange(n)
    while left.size:
        x, accepted = propose(left.size)
        out[left[accepted]] = x[accepted]
        left = left[~accepted]
    return out


class TruncatedNormal(Initializer):
    """N(mean, sigma^2) between mean + a sigma and mean + b sigma; between b and a where a > b.

    Raises ValueError for a sigma below 0, RuntimeError for one of 0."""

    sigma: float
    mean: float
    a: float
    b: float

    def __init__(self, sigma: float = 0.01, mean: float = 0.0, a: float = -2.0, b: float = 2.0) -> None:
        super().__init__(sigma=sigma, mean=mean, a=a, b=b)
        self.sigma, self.mean, self.a, self.b = sigma, mean, a, b

    def _values(self, shape):
        if self.sigma < 0:
            raise _check.refused("TruncatedNormal", "sigma", _check.above(0), self.sigma)
        if self.sigma == 0:
            raise _check.refused("TruncatedNormal", "sigma", _check.above(0), 0, RuntimeError)
        low, high = (self.b, self.a) if self.a > self.b else (self.a, self.b)
        x = _truncated(_numbers(), low, high, math.prod(shape))
        return x.reshape(shape) * self.sigma + self.mean


class XavierUniform(Initializer):
    """Glorot & Bengio 2010."""

    def __init__(self, gain: int = 1) -> None:
        super().__init__(gain=gain)
        self.gain = gain

    def _values(self, shape):
        fan_in, fan_out = _calculate_fan_in_and_fan_out(shape)
        b = self.gain * math.sqrt(6.0 / (fan_in + fan_out))
        return _numbers().uniform(-b, b, shape)


class XavierNormal(Initializer):
    """Glorot & Bengio 2010."""

    def __init__(self, gain: int = 1) -> None:
        super().__init__(gain=gain)
        self.gain = gain

    def _values(self, shape):
        fan_in, fan_out = _calculate_fan_in_and_fan_out(shape)
        return _numbers().normal(0, self.gain * math.sqrt(2.0 / (fan_in + fan_out)), shape)


class HeUniform(Initializer):
    """He et al. 2015."""

    negative_slope: float
    mode: str
    nonlinearity: str

    def __init__(self, negative_slope: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> None:
        super().__init__(negative_slope=negative_slope, mode=mode, nonlinearity=nonlinearity)
        self.negative_slope, self.mode, self.nonlinearity = negative_slope, mode, nonlinearity

    def _values(self, shape):
        b = math.sqrt(3.0) * self._deviation(shape)
        return _numbers().uniform(-b, b, shape)

    def _deviation(self, shape):
        fan = _calculate_correct_fan(shape, self.mode)
        return _calculate_gain(self.nonlinearity, self.negative_slope) / math.sqrt(fan)


class HeNormal(HeUniform):
    """He et al. 2015."""

    def _values(self, shape):
        return _numbers().normal(0, self._deviation(shape), shape)


class Identity(Initializer):
    def _values(self, shape):
        if len(shape) != 2:
            raise _check.refused("Identity", "the shape", _check.dims(2), shape)
        return np.eye(*shape)


class Orthogonal(Initializer):
    """Saxe et al. 2013."""

    def __init__(self, gain: float = 1.0) -> None:
        super().__init__(gain=gain)
        self.gain = gain

    def _values(self, shape):
        if len(shape) < 2:
            raise _check.refused("Orthogonal", "the shape", _check.least_dims(2), shape)
        rows, cols = shape[0], int(np.prod(shape[1:]))
        q, r = np.linalg.qr(_numbers().normal(0, 1, (max(rows, cols), min(rows, cols))))
        q = q * np.sign(np.diag(r))
        return (q if rows >= cols else q.T).reshape(shape) * self.gain


class Dirac(Initializer):
    """Convolution weights that pass as many input channels on as they can, in each group."""

    def __init__(self, groups: int = 1) -> None:
        super().__init__(groups=groups)
        if not isinstance(groups, int) or groups <= 0:
            raise _check.refused("Dirac", "groups", _check.value("be an int greater than 0"), groups)
        self.groups = groups

    def _values(self, shape):
        if len(shape) not in (3, 4, 5):
            raise _check.refused("Dirac", "the shape", _check.dims(3, 4, 5), shape)
        if shape[0] % self.groups:
            raise _check.refused("Dirac", "the first dimension", _check.multiple(f"'groups' {self.groups}"), shape)
        x, out = np.zeros(shape), shape[0] // self.groups
        centre = tuple(n // 2 for n in shape[2:])
        for g in range(self.groups):
            for k in range(min(out, shape[1])):
                x[(g * out + k, k, *centre)] = 1
        return x


class Sparse(Initializer):
    """N(0, sigma^2), with a fraction of zeros in each column (Martens 2010)."""

    sparsity: Any
    sigma: float

    def __init__(self, sparsity: Any, sigma: float = 0.01) -> None:
        super().__init__(sparsity=sparsity, sigma=sigma)
        _check.need("Sparse", "sparsity", sparsity, _check.within(0, 1))
        self.sparsity, self.sigma = sparsity, sigma

    def _values(self, shape):
        if len(shape) != 2:
            raise _check.refused("Sparse", "the shape", _check.dims(2), shape)
        numbers = _numbers()
        x = numbers.normal(0, self.sigma, shape)
        for column in range(shape[1]):
            x[numbers.permutation(shape[0])[:math.ceil(self.sparsity * shape[0])], column] = 0
        return x


class VarianceScaling(Initializer):
    """Variance scale / fan, from a uniform, normal or (at two deviations) truncated normal distribution."""

    scale: float

    def __init__(self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal") -> None:
        super().__init__(scale=scale, mode=mode, distribution=distribution)
        _check.need("VarianceScaling", "scale", scale, _check.above(0))
        _check.need("VarianceScaling", "mode", mode, _check.one_of("fan_in", "fan_out", "fan_avg"))
        _check.need("VarianceScaling", "distribution", distribution,
                    _check.one_of("uniform", "truncated_normal", "untruncated_normal"))
        self.scale, self.mode, self.distribution = scale, mode, distribution

    def _values(self, shape):
        fan_in, fan_out = _calculate_fan_in_and_fan_out(shape)
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        sigma = math.sqrt(self.scale / max(fan, 1))
        if self.distribution == "uniform":
            return _numbers().uniform(-math.sqrt(3) * sigma, math.sqrt(3) * sigma, shape)
        if self.distribution == "untruncated_normal":
            return _numbers().normal(0, sigma, shape)
        # the deviation of a normal distribution cut at 2 is 0.8796
        return TruncatedNormal(sigma / 0.87962566103423978, 0.0, -2.0, 2.0)._values(shape)


_INITIALIZER_ALIAS = {"zeros": Zero, "zero": Zero, "ones": One, "one": One, "uniform": Uniform, "normal": Normal,
                      "truncatednormal": TruncatedNormal,
                      "truncated_normal": TruncatedNormal, "xavier_uniform": XavierUniform,
                      "xavieruniform": XavierUniform,
                      "xavier_normal": XavierNormal,
                      "xaviernormal": XavierNormal, "he_uniform": HeUniform, "heuniform": HeUniform,
                      "he_normal": HeNormal,
                      "henormal": HeNormal,
                      "identity": Identity, "orthogonal": Orthogonal, "dirac": Dirac,
                      "variance_scaling": VarianceScaling,
                      "variancescaling": VarianceScaling, "sparse": Sparse}


def _resolve(init):
    if isinstance(init, Initializer):
        return init
    if isinstance(init, (int, float)):
        return Constant(init)
    if isinstance(init, str):
        if init.lower() not in _INITIALIZER_ALIAS:
            raise _check.unknown("initializer", "name", init, sorted(_INITIALIZER_ALIAS))
        return _INITIALIZER_ALIAS[init.lower()]()
    raise _check.refused("initializer", "init", _check.type_("a Tensor, a str, a number or an Initializer"), init)


skipped: dict[str, int] = {"depth": 0}  # within how many nn.no_init_parameters we are


def fill(init: Any, shape: Shape, dtype: DTypeLike) -> Any:
    """A NumPy array of initial values."""
    init, kind = _resolve(init), mstype.dtype_to_nptype(dtype)
    if type(init)._initialize is Initializer._initialize:
        return init._values(tuple(shape)).astype(kind)
    arr = np.zeros(tuple(shape), kind)
    init(arr)
    return arr


def initializer(init: Any, shape: Shape | None = None, dtype: DType | None = mstype.float32) -> Tensor:
    """A tensor of `shape` filled by `init`: a Tensor, a name, a number or an Initializer.

    Raises ValueError for a shape with other than positive ints, or one that an initializer can't fill; TypeError for
    another `init` or `dtype`."""
    if isinstance(init, Tensor):
        if shape is not None and tuple(shape) != init.shape:
            raise _check.differ("initializer", ("init", "shape"), "shape", init.shape, tuple(shape))
        return init
    shape = (shape,) if isinstance(shape, (int, float)) else tuple(shape)
    if not all(isinstance(d, (int, np.integer)) and d > 0 for d in shape):
        raise _check.refused("initializer", "the dimensions in 'shape'", _check.value("be ints greater than 0"), shape)
    if not isinstance(dtype, mstype.Type):
        error = ValueError if dtype is None else TypeError
        raise _check.refused("initializer", "dtype", _check.value("be a dtype"), dtype, error)
    if skipped["depth"]:
        return Tensor(np.zeros(shape, mstype.dtype_to_nptype(dtype)), dtype)
    return Tensor(fill(init, shape, dtype), dtype)
