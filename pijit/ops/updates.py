"""What a step of an optimizer makes of its states: the formulas that layers of nn, primitives and experimental.optim
share. Each changes the states in place; what it gives is subtracted from the parameter, times the rate where that is no
argument."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit.ops import function as F

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import Tensor


def average(mean: Any, new: Any, decay: Any) -> None:
    """A moving average: mean * decay + new * (1 - decay)."""
    mean._assign(mean * decay + new * (1.0 - decay))


def moments(m: Any, v: Any, g: Tensor, beta1: Any, beta2: Any) -> None:
    """The moving averages of gradients and of their squares (Adam: Kingma & Ba 2014)."""
    average(m, g, beta1)
    average(v, g * g, beta2)


def ahead(m: Any, g: Tensor, beta1: Any) -> Any:
    """The first moment a step later, if the gradient stays (Nesterov's: Dozat 2016)."""
    return m * beta1 + g * (1.0 - beta1)


def infinity_moments(m: Any, v: Any, g: Tensor, beta1: Any, beta2: Any) -> None:
    """The average of gradients and the greatest of them, which decays (AdaMax: Kingma & Ba 2014, section 7.1)."""
    average(m, g, beta1)
    v._assign(F.maximum(v * beta2, F.abs(g)))


def momentum(accum: Any, g: Tensor, factor: Any, nesterov: bool, taken: Any = None) -> Any:
    """The gradients so far, each step's less by a factor; `taken`: what is added in g's place."""
    accum._assign(accum * factor + (g if taken is None else taken))
    return g + accum * factor if nesterov else accum


def adadelta(accum: Any, accum_update: Any, g: Tensor, rho: Any, epsilon: Any) -> Any:
    """The gradient in proportion to the root mean square of the steps before (Zeiler 2012)."""
    average(accum, g * g, rho)
    step = F.sqrt(accum_update + epsilon) * F.rsqrt(accum + epsilon) * g
    average(accum_update, step * step, rho)
    return step


def rmsprop(mean_square: Any, moment: Any, g: Tensor, lr: Any, decay: Any, factor: Any, epsilon: Any,
            mean_gradient: Any = None) -> Any:
    """Hinton's RMSProp with momentum, times the rate; with `mean_gradient` by the variance (Graves 2013)."""
    average(mean_square, g * g, decay)
    if mean_gradient is None:
        scale = mean_square + epsilon
    else:
        average(mean_gradient, g, decay)
        scale = mean_square - mean_gradient * mean_gradient + epsilon
    moment._assign(moment * factor + lr * g * F.rsqrt(scale))
    return moment
