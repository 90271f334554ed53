"""Activations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit.initializer import initializer
from pijit.nn.cell import Cell
from pijit.nn.layer.common import positive
from pijit.ops import function as F
from pijit.ops import primitives as P
from pijit.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from pijit._C import Tensor
    from pijit._types import Init, Number

_activation = {}


def get_activation(name: str) -> Any:
    """The activation cell of a name, or None."""
    if name is None:
        return None
    if name not in _activation:
        raise _check.unknown("get_activation", "name", name, sorted(_activation), error=KeyError)
    return _activation[name]()


_DOC = """{what}

    Inputs:
        x: Tensor.

    Outputs:
        Tensor of x's shape.

    Raises:
        TypeError: where `x` is no Tensor.

    Example:
        >>> print(nn.{name}()(Tensor([-1.0, 0.0, 7.0])))
        {values}
    """


def _layer(name: str, what: str, values: str, fn: Callable[..., Any], key: Any = None,
           operator: Any = None) -> type[Any]:
    """The class of an activation without arguments. what: its formula; values: those of the example; operator: the
    attribute that holds the primitive, which a subclass calls, or replaces."""
    def construct(self, x):  # noqa: ARG001
        return fn(x)

    def __init__(self):
        Cell.__init__(self)
        setattr(self, operator, getattr(P, name)())

    def construct_by(self, x):
        return getattr(self, operator)(x)
    members = {"construct": construct} if operator is None else {"__init__": __init__, "construct": construct_by}
    cls = type(name, (Cell,),
               {**members, "__doc__": _DOC.format(what=what, name=name, values=values), "__module__": __name__})
    if key:
        _activation[key] = cls
    return cls


ReLU: type[Any] = _layer("ReLU", "max(x, 0).", "[0. 0. 7.]", F.relu, "relu", "relu")
ReLU6: type[Any] = _layer("ReLU6", "x limited to [0, 6].", "[0. 0. 6.]", F.relu6, "relu6", "relu6")
Sigmoid: type[Any]
Sigmoid = _layer("Sigmoid", "1 / (1 + exp(-x)).", "[0.26894143 0.5        0.99908894]", F.sigmoid, "sigmoid", "sigmoid")
Tanh: type[Any]
Tanh = _layer("Tanh", "The hyperbolic tangent.", "[-0.7615942   0.          0.99999833]", F.tanh, "tanh", "tanh")
SiLU: type[Any]
SiLU = _layer("SiLU", "x * sigmoid(x), also named swish.", "[-0.26894143  0.          6.9936223 ]", F.silu, "silu")
SeLU: type[Any]
SeLU = _layer("SeLU", "The self-normalising ELU (Klambauer et al. 2017).", "[-1.1113307  0.         7.354907 ]", F.selu,
              operator="selu")
Mish: type[Any]
Mish = _layer("Mish", "x * tanh(softplus(x)).", "[-0.30340147  0.          6.9999886 ]", F.mish, operator="mish")
Softsign: type[Any] = _layer("Softsign", "x / (1 + |x|).", "[-0.5    0.     0.875]", F.softsign, "softsign", "softsign")
LogSigmoid: type[Any]
LogSigmoid = _layer("LogSigmoid", "log(sigmoid(x)).", "[-1.3132617e+00 -6.9314718e-01 -9.1146649e-04]", F.logsigmoid,
                    "logsigmoid")
HSigmoid: type[Any]
HSigmoid = _layer("HSigmoid", "relu6(x + 3) / 6.", "[0.33333334 0.5        1.        ]", F.hardsigmoid, "hsigmoid",
                  "hsigmoid")
HSwish: type[Any]
HSwish = _layer("HSwish", "x * relu6(x + 3) / 6.", "[-0.33333334  0.          7.        ]", F.hardswish, "hswish",
                "hswish")
Tanhshrink: type[Any] = _layer("Tanhshrink", "x - tanh(x).", "[-0.23840582  0.          6.000002  ]", F.tanhshrink)
FastGelu: type[Any]
FastGelu = _layer("FastGelu", "x * exp(0.851 * (x - |x|)) / (1 + exp(-1.702 * |x|)), an approximation of GELU.",
                  "[-0.15420423  0.          6.9999533 ]", F.fast_gelu, "fast_gelu", "fast_gelu")


class GELU(Cell):
    """GELU activation; approximate=True uses the tanh form.

    Args:
        approximate (bool, optional): whether by the tanh form. Default: True.

    Inputs:
        x: Tensor.

    Outputs:
        Tensor of x's shape.

    Example:
        >>> print(nn.GELU()(Tensor([-1.0, 0.0, 1.0])))
        [-0.158808  0.        0.841192]
    """

    def __init__(self, approximate: bool = True) -> None:
        super().__init__()
        _check.need("GELU", "approximate", approximate, _check.BOOL)
        self.approximate = "tanh" if approximate else "none"

    def construct(self, x: Tensor) -> Tensor:
        return F.gelu(x, self.approximate)


class LeakyReLU(Cell):
    """x where x > 0, else alpha * x.

    Args:
        alpha (float, optional): the slope below 0. Default: 0.2.

    Inputs:
        x: Tensor.

    Outputs:
        Tensor of x's shape.

    Example:
        >>> print(nn.LeakyReLU()(Tensor([-1.0, 2.0])))
        [-0.2  2. ]
    """

    def __init__(self, alpha: float = 0.2) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        return F.leaky_relu(x, self.alpha)


class ELU(Cell):
    """x where x > 0, else alpha * (exp(x) - 1).

    Args:
        alpha (float, optional): the scale below 0. Default: 1.0.

    Inputs:
        x: Tensor.

    Outputs:
        Tensor of x's shape.

    Example:
        >>> print(nn.ELU()(Tensor([-1.0, 2.0])))
        [-0.63212055  2.        ]
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha
        self.elu: Any = P.Elu(alpha)

    def construct(self, x: Tensor) -> Tensor:
        return self.elu(x)


class PReLU(Cell):
    """x where x > 0, else weight * x, with weights learnt.

    Args:
        channel (int, optional): 1, or the number of channels. Default: 1.
        w (Tensor, str, Initializer or float, optional): what the slopes are at first. Default: 0.25.

    Inputs:
        x: Tensor [N, C, ...].

    Outputs:
        Tensor of x's shape.

    Example:
        >>> print(nn.PReLU()(Tensor([[-1.0, 2.0]])))
        [[-0.25  2.  ]]
    """

    def __init__(self, channel: int = 1, w: Init = 0.25) -> None:
        super().__init__()
        self.w: Parameter = Parameter(initializer(w, [positive("PReLU", "channel", channel)]), name="a")
        self.prelu: Any = P.PReLU()

    def construct(self, x: Tensor) -> Tensor:
        return self.prelu(x, self.w)


def _check_axis(name, axis):
    if not isinstance(axis, (int, tuple)) or isinstance(axis, bool):
        raise _check.refused(name, "axis", _check.INT, axis)


class Softmax(Cell):
    """Softmax along one axis.

    Args:
        axis (int, optional): the axis; -1 is the last one. Default: -1.

    Inputs:
        x: Tensor.

    Outputs:
        Tensor of x's shape.

    Example:
        >>> print(nn.Softmax()(Tensor([0.0, 0.0])))
        [0.5 0.5]
    """

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        _check_axis("Softmax", axis)
        self.axis = axis
        self.softmax: Any = P.Softmax(axis)

    def construct(self, x: Tensor) -> Tensor:
        return self.softmax(x)


class LogSoftmax(Cell):
    """Log-softmax along one axis.

    Args:
        axis (int, optional): the axis; -1 is the last one. Default: -1.

    Inputs:
        x: Tensor.

    Outputs:
        Tensor of x's shape.

    Example:
        >>> print(nn.LogSoftmax()(Tensor([0.0, 0.0])))
        [-0.6931472 -0.6931472]
    """

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        _check_axis("LogSoftmax", axis)
        self.axis = axis
        self.log_softmax: Any = P.LogSoftmax(axis)

    def construct(self, x: Tensor) -> Tensor:
        return self.log_softmax(x)


class CELU(Cell):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).

    Args:
        alpha (float, optional): the scale below 0. Default: 1.0.

    Inputs:
        x: Tensor.

    Outputs:
        Tensor of x's shape.

    Example:
        >>> print(nn.CELU()(Tensor([-1.0, 2.0])))
        [-0.63212055  2.        ]
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        if alpha == 0:
            raise _check.refused("CELU", "alpha", _check.NOT_ZERO, 0)
        self.alpha = alpha
        self.celu: Any = P.CeLU(alpha)

    def construct(self, x: Tensor) -> Tensor:
        return self.celu(x)


class GLU(Cell):
    """a * sigmoid(b) for the halves a, b of one axis.

    Args:
        axis (int, optional): the axis; -1 is the last one. Default: -1.

    Inputs:
        x: Tensor.

    Outputs:
        Tensor, half as long along the axis.

    Example:
        >>> print(nn.GLU()(Tensor([1.0, 2.0, 0.0, 0.0])))
        [0.5 1. ]
    """

    dim: int
    spilt: Any
    sigmoid: Any

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = self.dim = axis
        self.spilt, self.sigmoid = P.Split(axis, 2), P.Sigmoid()  # the first so spelt by MindSpore

    def construct(self, x: Tensor) -> Tensor:
        first, second = self.spilt(x)
        return first * self.sigmoid(second)


class Hardtanh(Cell):
    """Limited to [min_val, max_val].

    Args:
        min_val (number, optional): the lower bound. Default: -1.0.
        max_val (number, optional): the upper bound. Default: 1.0.

    Inputs:
        x: Tensor.

    Outputs:
        Tensor of x's shape.

    Example:
        >>> print(nn.Hardtanh()(Tensor([-4.0, 0.5, 4.0])))
        [-1.   0.5  1. ]
    """

    min_val: Number
    max_val: Number

    def __init__(self, min_val: Number = -1.0, max_val: Number = 1.0) -> None:
        super().__init__()
        if min_val > max_val:
            raise _check.refused("Hardtanh", "min_val", _check.value("not be above 'max_val'"),
                                 _check.several(min_val, max_val))
        self.min_val, self.max_val = min_val, max_val

    def construct(self, x: Tensor) -> Tensor:
        return F.hardtanh(x, self.min_val, self.max_val)


class HShrink(Cell):
    """x, but 0 where -lambd <= x <= lambd.

    Args:
        lambd (float, optional): the threshold. Default: 0.5.

    Inputs:
        input_x: Tensor.

    Outputs:
        Tensor of its shape.

    Example:
        >>> print(nn.HShrink()(Tensor([-1.0, 0.3, 2.0])))
        [-1.  0.  2.]
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd
        self.hshrink: Any = P.HShrink(lambd)

    def construct(self, input_x: Tensor) -> Tensor:
        return self.hshrink(input_x)


class SoftShrink(Cell):
    """x moved towards 0 by lambd, and 0 where -lambd <= x <= lambd.

    Args:
        lambd (float, optional): the threshold. Default: 0.5.

    Inputs:
        input_x: Tensor.

    Outputs:
        Tensor of its shape.

    Example:
        >>> print(nn.SoftShrink()(Tensor([-1.0, 0.3, 2.0])))
        [-0.5  0.   1.5]
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd
        self.softshrink: Any = P.SoftShrink(lambd)

    def construct(self, input_x: Tensor) -> Tensor:
        return self.softshrink(input_x)


class Threshold(Cell):
    """x where it is greater than a threshold, else a value.

    Args:
        threshold (number): the threshold.
        value (number): the value below it.

    Inputs:
        input_x: Tensor.

    Outputs:
        Tensor of its shape.

    Example:
        >>> print(nn.Threshold(0.5, -1.0)(Tensor([0.0, 1.0])))
        [-1.  1.]
    """

    threshold: Number
    value: Number

    def __init__(self, threshold: Number, value: Number) -> None:
        super().__init__()
        self.threshold, self.value = threshold, value

    def construct(self, input_x: Tensor) -> Tensor:
        return F.threshold(input_x, self.threshold, self.value)


class RReLU(Cell):
    """Leaky ReLU with random slopes in [lower, upper) (Xu et al. 2015).

    Args:
        lower (float, optional): the lower bound of the slopes. Default: 0.125.
        upper (float, optional): the upper bound of the slopes. Default: 0.333.

    Inputs:
        x: Tensor.

    Outputs:
        Tensor of x's shape.

    Example:
        >>> print(nn.RReLU()(Tensor([1.0, 2.0])))
        [1. 2.]
    """

    lower: float
    upper: float

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3) -> None:
        super().__init__()
        if not 0 <= lower <= upper <= 1:
            raise _check.refused("RReLU", "'lower' and 'upper'", _check.value("be in [0, 1] and in this order"),
                                 _check.several(lower, upper))
        self.lower, self.upper = lower, upper

    def construct(self, x: Tensor) -> Tensor:
        return F.rrelu(x, self.lower, self.upper)


class Softmin(Softmax):
    """Softmax of -x along one axis.

    Args:
        axis (int, optional): the axis; -1 is the last one. Default: -1.

    Inputs:
        x: Tensor.

    Outputs:
        Tensor of x's shape.

    Example:
        >>> print(nn.Softmin()(Tensor([0.0, 0.0])))
        [0.5 0.5]
    """

    def construct(self, x: Tensor) -> Tensor:
        return F.softmin(x, self.axis)


class Softmax2d(Cell):
    """Softmax over the channels of [N, C, H, W] or [C, H, W].

    Inputs:
        input: Tensor [N, C, H, W] or [C, H, W].

    Outputs:
        Tensor of its shape.

    Example:
        >>> print(nn.Softmax2d()(ops.zeros((2, 1, 1))).ravel())
        [0.5 0.5]
    """

    softmax: Any
    shape: Any

    def __init__(self) -> None:
        super().__init__()
        self.softmax, self.shape = P.Softmax(-3), P.Shape()

    def construct(self, input: Tensor) -> Tensor:
        if len(self.shape(input)) not in (3, 4):
            raise _check.refused("Softmax2d", "the input", _check.dims(3, 4), input.ndim)
        return self.softmax(input)


_activation.update(elu=ELU, gelu=GELU, hardtanh=Hardtanh, hshrink=HShrink, leakyrelu=LeakyReLU, logsoftmax=LogSoftmax,
                   mish=Mish, prelu=PReLU,
                   rrelu=RReLU, softmax=Softmax, softmax2d=Softmax2d, softmin=Softmin, softshrink=SoftShrink,
                   tanhshrink=Tanhshrink,
                   threshold=Threshold)
