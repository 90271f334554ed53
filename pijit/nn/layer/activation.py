"""Activations."""

from pijit.initializer import initializer
from pijit.nn.cell import Cell
from pijit.nn.layer.common import positive
from pijit.ops import function as F
from pijit.ops import primitives as P
from pijit.parameter import Parameter

_ACTIVATIONS = {}


def get_activation(name):
    """The activation cell of a name, or None."""
    if name is None:
        return None
    if name not in _ACTIVATIONS:
        raise KeyError(f"For 'get_activation', the name {name!r} is not one of {sorted(_ACTIVATIONS)}.")
    return _ACTIVATIONS[name]()


def _activation(name, fn, key=None, operator=None):
    """`operator` names the attribute that holds the primitive: what a subclass calls, or replaces."""
    def construct(self, x):  # noqa: ARG001
        return fn(x)

    def __init__(self):
        Cell.__init__(self)
        setattr(self, operator, getattr(P, name)())

    def construct_by(self, x):
        return getattr(self, operator)(x)
    members = {"construct": construct} if operator is None else {"__init__": __init__, "construct": construct_by}
    cls = type(name, (Cell,), {**members, "__doc__": f"{name} activation.", "__module__": __name__})
    if key:
        _ACTIVATIONS[key] = cls
    return cls


ReLU = _activation("ReLU", F.relu, "relu", "relu")
ReLU6 = _activation("ReLU6", F.relu6, "relu6", "relu6")
Sigmoid = _activation("Sigmoid", F.sigmoid, "sigmoid", "sigmoid")
Tanh = _activation("Tanh", F.tanh, "tanh", "tanh")
SiLU = _activation("SiLU", F.silu, "silu")
SeLU = _activation("SeLU", F.selu, operator="selu")
Mish = _activation("Mish", F.mish, operator="mish")
Softsign = _activation("Softsign", F.softsign, "softsign", "softsign")
LogSigmoid = _activation("LogSigmoid", F.logsigmoid, "logsigmoid")
HSigmoid = _activation("HSigmoid", F.hardsigmoid, "hsigmoid", "hsigmoid")
HSwish = _activation("HSwish", F.hardswish, "hswish", "hswish")
Tanhshrink = _activation("Tanhshrink", F.tanhshrink)
FastGelu = _activation("FastGelu", F.fast_gelu, "fast_gelu", "fast_gelu")


class GELU(Cell):
    """GELU activation; approximate=True uses the tanh form."""

    def __init__(self, approximate=True):
        super().__init__()
        self.approximate = "tanh" if approximate else "none"

    def construct(self, x):
        return F.gelu(x, self.approximate)


class LeakyReLU(Cell):
    """x where x > 0, else alpha * x."""

    def __init__(self, alpha=0.2):
        super().__init__()
        self.alpha = alpha

    def construct(self, x):
        return F.leaky_relu(x, self.alpha)


class ELU(Cell):
    """x where x > 0, else alpha * (exp(x) - 1)."""

    def __init__(self, alpha=1.0):
        super().__init__()
        self.alpha = alpha
        self.elu = P.Elu(alpha)

    def construct(self, x):
        return self.elu(x)


class PReLU(Cell):
    """x where x > 0, else weight * x, with weights learnt."""

    def __init__(self, channel=1, w=0.25):
        super().__init__()
        self.w = Parameter(initializer(w, [positive("PReLU", "channel", channel)]), name="a")
        self.prelu = P.PReLU()

    def construct(self, x):
        return self.prelu(x, self.w)


class Softmax(Cell):
    """Softmax along one axis."""

    def __init__(self, axis=-1):
        super().__init__()
        self.axis = axis
        self.softmax = P.Softmax(axis)

    def construct(self, x):
        return self.softmax(x)


class LogSoftmax(Cell):
    """Log-softmax along one axis."""

    def __init__(self, axis=-1):
        super().__init__()
        self.axis = axis
        self.log_softmax = P.LogSoftmax(axis)

    def construct(self, x):
        return self.log_softmax(x)


class CELU(Cell):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""

    def __init__(self, alpha=1.0):
        super().__init__()
        if alpha == 0:
            raise ValueError("For 'CELU', 'alpha' must not be 0.")
        self.alpha = alpha
        self.celu = P.CeLU(alpha)

    def construct(self, x):
        return self.celu(x)


class GLU(Cell):
    """a * sigmoid(b) for the halves a, b of one axis."""

    def __init__(self, axis=-1):
        super().__init__()
        self.axis = self.dim = axis
        self.spilt, self.sigmoid = P.Split(axis, 2), P.Sigmoid()  # the first so spelt by MindSpore

    def construct(self, x):
        first, second = self.spilt(x)
        return first * self.sigmoid(second)


class Hardtanh(Cell):
    """Limited to [min_val, max_val]."""

    def __init__(self, min_val=-1.0, max_val=1.0):
        super().__init__()
        if min_val > max_val:
            raise ValueError(f"For 'Hardtanh', 'min_val' must not be above 'max_val', but got {min_val} and {max_val}.")
        self.min_val, self.max_val = min_val, max_val

    def construct(self, x):
        return F.hardtanh(x, self.min_val, self.max_val)


class HShrink(Cell):
    """x, but 0 where -lambd <= x <= lambd."""

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd
        self.hshrink = P.HShrink(lambd)

    def construct(self, input_x):
        return self.hshrink(input_x)


class SoftShrink(Cell):
    """x moved towards 0 by lambd, and 0 where -lambd <= x <= lambd."""

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd
        self.softshrink = P.SoftShrink(lambd)

    def construct(self, input_x):
        return self.softshrink(input_x)


class Threshold(Cell):
    """x where it is greater than a threshold, else a value."""

    def __init__(self, threshold, value):
        super().__init__()
        self.threshold, self.value = threshold, value

    def construct(self, input_x):
        return F.threshold(input_x, self.threshold, self.value)


class RReLU(Cell):
    """Leaky ReLU with random slopes in [lower, upper) (Xu et al. 2015)."""

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3):
        super().__init__()
        if not 0 <= lower <= upper <= 1:
            raise ValueError(f"For 'RReLU', 'lower' and 'upper' must be in [0, 1] and in this order, but got {lower} and {upper}.")
        self.lower, self.upper = lower, upper

    def construct(self, x):
        return F.rrelu(x, self.lower, self.upper)


class Softmin(Softmax):
    """Softmax of -x along one axis."""

    def construct(self, x):
        return F.softmin(x, self.axis)


class Softmax2d(Cell):
    """Softmax over the channels of [N, C, H, W] or [C, H, W]."""

    def __init__(self):
        super().__init__()
        self.softmax, self.shape = P.Softmax(-3), P.Shape()

    def construct(self, input):
        if len(self.shape(input)) not in (3, 4):
            raise ValueError(f"For 'Softmax2d', the input must have 3 or 4 dimensions, but got {input.ndim}.")
        return self.softmax(input)


_ACTIVATIONS.update({"gelu": GELU, "leakyrelu": LeakyReLU, "elu": ELU, "softmax": Softmax, "logsoftmax": LogSoftmax, "softmin": Softmin, "hshrink": HShrink, "softshrink": SoftShrink})
