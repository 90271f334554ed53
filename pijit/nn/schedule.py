"""Learning-rate schedules: cells from the global step to a rate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pijit import _check
from pijit.nn.cell import CellInOwnDtypes
from pijit.nn.layer.common import positive
from pijit.ops import function as F

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import Tensor


class LearningRateSchedule(CellInOwnDtypes):
    """Base: construct(global_step) gives a 0-d float32 tensor."""


class ExponentialDecayLR(LearningRateSchedule):
    """lr * decay_rate^(step / decay_steps).

    Args:
        learning_rate (float): the first rate.
        decay_rate (float): the factor.
        decay_steps (int): after how many steps it is reached.
        is_stair (bool, optional): whether the rate falls in steps. Default: False.

    Inputs:
        global_step: Tensor, int32.

    Outputs:
        0-d Tensor.

    Example:
        >>> print(nn.ExponentialDecayLR(0.1, 0.5, 2)(Tensor(2, ms.int32)))
        0.05
    """

    learning_rate: float
    decay_rate: float
    decay_steps: int
    is_stair: bool

    def __init__(self, learning_rate: float, decay_rate: float, decay_steps: int, is_stair: bool = False) -> None:
        super().__init__()
        _positive(type(self).__name__, learning_rate=learning_rate, decay_rate=decay_rate)
        positive(type(self).__name__, "decay_steps", decay_steps)
        self.learning_rate, self.decay_rate, self.decay_steps, self.is_stair = (learning_rate, decay_rate, decay_steps,
            is_stair)

    def construct(self, global_step: Tensor) -> Tensor:
        p = F.cast(global_step, "float32") / self.decay_steps
        if self.is_stair:
            p = F.floor(p)
        return self.learning_rate * F.exp(p * math.log(self.decay_rate))


class NaturalExpDecayLR(ExponentialDecayLR):
    """lr * exp(-decay_rate * step / decay_steps).

    Args:
        learning_rate (float, Tensor, list or LearningRateSchedule): the rate, or that of each step.
        decay_rate (float): the factor.
        decay_steps (int): after how many steps it is reached.
        is_stair (bool, optional): whether the rate falls in steps. Default: False.

    Inputs:
        global_step: Tensor, int32.

    Outputs:
        0-d Tensor.

    Example:
        >>> print(nn.NaturalExpDecayLR(0.1, 0.5, 2)(Tensor(2, ms.int32)))
        0.060653068
    """

    def construct(self, global_step: Tensor) -> Tensor:
        p = F.cast(global_step, "float32") / self.decay_steps
        if self.is_stair:
            p = F.floor(p)
        return self.learning_rate * F.exp(p * -self.decay_rate)


class InverseDecayLR(ExponentialDecayLR):
    """lr / (1 + decay_rate * step / decay_steps).

    Args:
        learning_rate (float, Tensor, list or LearningRateSchedule): the rate, or that of each step.
        decay_rate (float): the factor.
        decay_steps (int): after how many steps it is reached.
        is_stair (bool, optional): whether the rate falls in steps. Default: False.

    Inputs:
        global_step: Tensor, int32.

    Outputs:
        0-d Tensor.

    Example:
        >>> print(nn.InverseDecayLR(0.1, 0.5, 2)(Tensor(2, ms.int32)))
        0.06666667
    """

    def construct(self, global_step: Tensor) -> Tensor:
        p = F.cast(global_step, "float32") / self.decay_steps
        if self.is_stair:
            p = F.floor(p)
        return self.learning_rate / (1.0 + self.decay_rate * p)


class CosineDecayLR(LearningRateSchedule):
    """From max_lr to min_lr along half a cosine (Loshchilov & Hutter 2016).

    Args:
        min_lr (float): the last rate.
        max_lr (float): the first rate.
        decay_steps (int): after how many steps it is reached.

    Inputs:
        global_step: Tensor, int32.

    Outputs:
        0-d Tensor.

    Example:
        >>> print(nn.CosineDecayLR(0.01, 0.1, 4)(Tensor(2, ms.int32)))
        0.055
    """

    min_lr: float
    max_lr: float
    decay_steps: int

    def __init__(self, min_lr: float, max_lr: float, decay_steps: int) -> None:
        super().__init__()
        _not_negative("CosineDecayLR", min_lr=min_lr)
        _positive("CosineDecayLR", max_lr=max_lr)
        positive("CosineDecayLR", "decay_steps", decay_steps)
        if min_lr >= max_lr:
            raise _check.refused("CosineDecayLR", "max_lr", _check.above("'min_lr'"), _check.several(max_lr, min_lr))
        self.min_lr, self.max_lr, self.decay_steps = min_lr, max_lr, decay_steps

    def construct(self, global_step: Tensor) -> Tensor:
        p = F.minimum(F.cast(global_step, "float32"), float(self.decay_steps))
        return self.min_lr + 0.5 * (self.max_lr - self.min_lr) * (1.0 + F.cos(p * (math.pi / self.decay_steps)))


class PolynomialDecayLR(LearningRateSchedule):
    """From learning_rate to end_learning_rate by a power of the rest.

    Args:
        learning_rate (float): the first rate.
        end_learning_rate (float): the last rate.
        decay_steps (int): after how many steps it is reached.
        power (float): the exponent.
        update_decay_steps (bool, optional): whether the decay begins again. Default: False.

    Inputs:
        global_step: Tensor, int32.

    Outputs:
        0-d Tensor.

    Example:
        >>> print(nn.PolynomialDecayLR(0.1, 0.01, 4, 1.0)(Tensor(2, ms.int32)))
        0.055
    """

    learning_rate: float
    end_learning_rate: float
    decay_steps: int
    power: float

    def __init__(self, learning_rate: float, end_learning_rate: float, decay_steps: int, power: float,
                 update_decay_steps: bool = False) -> None:
        super().__init__()
        _positive("PolynomialDecayLR", learning_rate=learning_rate, power=power)
        _not_negative("PolynomialDecayLR", end_learning_rate=end_learning_rate)
        positive("PolynomialDecayLR", "decay_steps", decay_steps)
        self.learning_rate, self.end_learning_rate, self.decay_steps, self.power = (learning_rate, end_learning_rate,
            decay_steps, power)
        self.update_decay_steps = update_decay_steps

    def construct(self, global_step: Tensor) -> Tensor:
        step = F.cast(global_step, "float32")
        steps = float(self.decay_steps)
        if self.update_decay_steps:  # begins anew, more slowly, whenever it has ended
            steps = steps * F.maximum(F.ceil(step / steps), 1.0)
        else:
            step = F.minimum(step, steps)
        return ((self.learning_rate - self.end_learning_rate) * F.pow(1.0 - step / steps, self.power) +
                self.end_learning_rate)


class WarmUpLR(LearningRateSchedule):
    """Linear from 0 to learning_rate in warmup_steps.

    Args:
        learning_rate (float): the last rate.
        warmup_steps (int): the number of steps.

    Inputs:
        global_step: Tensor, int32.

    Outputs:
        0-d Tensor.

    Example:
        >>> print(nn.WarmUpLR(0.1, 4)(Tensor(2, ms.int32)))
        0.05
    """

    learning_rate: float
    warmup_steps: int

    def __init__(self, learning_rate: float, warmup_steps: int) -> None:
        super().__init__()
        _not_negative("WarmUpLR", learning_rate=learning_rate)
        positive("WarmUpLR", "warmup_steps", warmup_steps)
        self.learning_rate, self.warmup_steps = learning_rate, warmup_steps

    def construct(self, global_step: Tensor) -> Tensor:
        return self.learning_rate * F.minimum(F.cast(global_step, "float32") / self.warmup_steps, 1.0)


# Lists with the rate of each step. Epoch e = floor(i / step_per_epoch).
def _rates(name, rate, total_step, step_per_epoch, **counts):
    for key, value in {"total_step": total_step, "step_per_epoch": step_per_epoch, **counts}.items():
        positive(name, key, value)
    return [float(rate(i // step_per_epoch)) for i in range(total_step)]


def _positive(name, **numbers):
    for key, value in numbers.items():
        _check.need(name, key, value, _check.FLOAT, _check.above(0))


def _not_negative(name, **numbers):
    for key, value in numbers.items():
        _check.need(name, key, value, _check.FLOAT, _check.at_least(0))


def exponential_decay_lr(learning_rate: float, decay_rate: float, total_step: int, step_per_epoch: int,
                         decay_epoch: int, is_stair: bool = False) -> list[float]:
    """learning_rate * decay_rate^(e / decay_epoch) per step; the exponent rounded down with is_stair."""
    _positive("exponential_decay_lr", learning_rate=learning_rate, decay_rate=decay_rate)
    return _rates("exponential_decay_lr",
                  lambda e: learning_rate * decay_rate ** (e // decay_epoch if is_stair else e / decay_epoch),
                  total_step, step_per_epoch, decay_epoch=decay_epoch)


def natural_exp_decay_lr(learning_rate: float, decay_rate: float, total_step: int, step_per_epoch: int,
                         decay_epoch: int, is_stair: bool = False) -> list[float]:
    """learning_rate * exp(-decay_rate * e) per step; e rounded down to a multiple of decay_epoch with is_stair."""
    _positive("natural_exp_decay_lr", learning_rate=learning_rate, decay_rate=decay_rate)
    return _rates("natural_exp_decay_lr",
                  lambda e: learning_rate *
                  math.e ** (-decay_rate * (e // decay_epoch * decay_epoch if is_stair else e)), total_step,
                  step_per_epoch,
                  decay_epoch=decay_epoch)


def inverse_decay_lr(learning_rate: float, decay_rate: float, total_step: int, step_per_epoch: int, decay_epoch: int,
                     is_stair: bool = False) -> list[float]:
    """learning_rate / (1 + decay_rate * e / decay_epoch) per step; the quotient rounded down with is_stair."""
    _positive("inverse_decay_lr", learning_rate=learning_rate, decay_rate=decay_rate)
    return _rates("inverse_decay_lr",
                  lambda e: learning_rate / (1 + decay_rate * (e // decay_epoch if is_stair else e / decay_epoch)),
                  total_step, step_per_epoch, decay_epoch=decay_epoch)


def cosine_decay_lr(min_lr: Any, max_lr: Any, total_step: int, step_per_epoch: int, decay_epoch: int) -> list[float]:
    """Half a cosine from max_lr to min_lr over decay_epoch epochs, then min_lr."""
    if not isinstance(min_lr, float) or min_lr < 0:
        raise (ValueError if isinstance(min_lr, float)
               else TypeError)(f"For 'cosine_decay_lr', 'min_lr' must be a float >= 0, but got {min_lr!r}.")
    _positive("cosine_decay_lr", max_lr=max_lr)
    if min_lr >= max_lr:
        raise _check.refused("cosine_decay_lr", "max_lr", _check.above("'min_lr'"), _check.several(max_lr, min_lr))
    return _rates("cosine_decay_lr",
                  lambda e: min_lr + 0.5 * (max_lr - min_lr) *
                  (1 + math.cos(math.pi * min(e, decay_epoch) / decay_epoch)), total_step, step_per_epoch,
                  decay_epoch=decay_epoch)


def polynomial_decay_lr(learning_rate: float, end_learning_rate: Any, total_step: int, step_per_epoch: int,
                        decay_epoch: int, power: Any, update_decay_epoch: bool = False) -> list[float]:
    """(learning_rate - end) * (1 - min(e, d) / d)^power + end per step.

    d is decay_epoch, or the next multiple of it with update_decay_epoch."""
    _positive("polynomial_decay_lr", learning_rate=learning_rate, power=power)
    if not isinstance(end_learning_rate, float) or end_learning_rate < 0:
        raise (ValueError if isinstance(end_learning_rate, float)
               else TypeError)(
                   f"For 'polynomial_decay_lr', 'end_learning_rate' must be a float >= 0, but got "
                   f"{end_learning_rate!r}.")

    def rate(e):
        d = decay_epoch * max(1, math.ceil(e / decay_epoch)) if update_decay_epoch else decay_epoch
        return (learning_rate - end_learning_rate) * (1 - min(e, d) / d) ** power + end_learning_rate
    return _rates("polynomial_decay_lr", rate, total_step, step_per_epoch, decay_epoch=decay_epoch)


def piecewise_constant_lr(milestone: Any, learning_rates: Any) -> list[Any]:
    """learning_rates[k] for the steps before milestone[k] and from milestone[k - 1] on."""
    for key, value in (("milestone", milestone), ("learning_rates", learning_rates)):
        _check.need("piecewise_constant_lr", key, value, _check.SEQUENCE)
    if len(milestone) != len(learning_rates):
        raise _check.differ("piecewise_constant_lr", ("milestone", "learning_rates"), "length", len(milestone),
                            len(learning_rates))
    out = []
    for stop, rate in zip(milestone, learning_rates):
        _positive("piecewise_constant_lr", learning_rates=rate)
        if isinstance(stop, bool) or not isinstance(stop, int):
            raise _check.refused("piecewise_constant_lr", "milestone",
                                 _check.value("hold ints", shown=_check.type_name), stop, TypeError)
        if stop <= len(out):
            raise _check.refused("piecewise_constant_lr", "each of 'milestone'",
                                 _check.value("be greater than the one before (and than 0)"), list(milestone))
        out += [rate] * (stop - len(out))
    return out


def warmup_lr(learning_rate: float, total_step: int, step_per_epoch: int, warmup_epoch: Any) -> list[float]:
    """learning_rate * min(e, warmup_epoch) / warmup_epoch per step."""
    _positive("warmup_lr", learning_rate=learning_rate)
    return _rates("warmup_lr", lambda e: learning_rate * (min(e, warmup_epoch) / warmup_epoch), total_step,
                  step_per_epoch, warmup_epoch=warmup_epoch)


__all__ = ["LearningRateSchedule", "ExponentialDecayLR", "NaturalExpDecayLR", "InverseDecayLR", "CosineDecayLR",
           "PolynomialDecayLR", "WarmUpLR",
           "exponential_decay_lr", "natural_exp_decay_lr", "inverse_decay_lr", "cosine_decay_lr", "polynomial_decay_lr",
           "piecewise_constant_lr", "warmup_lr"]
