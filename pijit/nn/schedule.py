"""Learning-rate schedules: cells from the global step to a rate."""

import math

from pijit.nn.cell import Cell
from pijit.ops import function as F


class LearningRateSchedule(Cell):
    """Base: construct(global_step) gives a 0-d float32 tensor."""


class ExponentialDecayLR(LearningRateSchedule):
    """lr * decay_rate^(step / decay_steps)."""

    def __init__(self, learning_rate, decay_rate, decay_steps, is_stair=False):
        super().__init__()
        self.learning_rate, self.decay_rate, self.decay_steps, self.is_stair = learning_rate, decay_rate, decay_steps, is_stair

    def construct(self, global_step):
        p = F.cast(global_step, "float32") / self.decay_steps
        if self.is_stair:
            p = F.floor(p)
        return self.learning_rate * F.exp(p * math.log(self.decay_rate))


class NaturalExpDecayLR(ExponentialDecayLR):
    """lr * exp(-decay_rate * step / decay_steps)."""

    def construct(self, global_step):
        p = F.cast(global_step, "float32") / self.decay_steps
        if self.is_stair:
            p = F.floor(p)
        return self.learning_rate * F.exp(p * -self.decay_rate)


class InverseDecayLR(ExponentialDecayLR):
    """lr / (1 + decay_rate * step / decay_steps)."""

    def construct(self, global_step):
        p = F.cast(global_step, "float32") / self.decay_steps
        if self.is_stair:
            p = F.floor(p)
        return self.learning_rate / (1.0 + self.decay_rate * p)


class CosineDecayLR(LearningRateSchedule):
    """From max_lr to min_lr along half a cosine (Loshchilov & Hutter 2016)."""

    def __init__(self, min_lr, max_lr, decay_steps):
        super().__init__()
        self.min_lr, self.max_lr, self.decay_steps = min_lr, max_lr, decay_steps

    def construct(self, global_step):
        p = F.minimum(F.cast(global_step, "float32"), float(self.decay_steps))
        return self.min_lr + 0.5 * (self.max_lr - self.min_lr) * (1.0 + F.cos(p * (math.pi / self.decay_steps)))


class PolynomialDecayLR(LearningRateSchedule):
    """From learning_rate to end_learning_rate by a power of the rest."""

    def __init__(self, learning_rate, end_learning_rate, decay_steps, power, update_decay_steps=False):
        super().__init__()
        self.learning_rate, self.end_learning_rate, self.decay_steps, self.power = learning_rate, end_learning_rate, decay_steps, power

    def construct(self, global_step):
        p = F.minimum(F.cast(global_step, "float32"), float(self.decay_steps))
        return (self.learning_rate - self.end_learning_rate) * F.pow(1.0 - p / self.decay_steps, self.power) + self.end_learning_rate


class WarmUpLR(LearningRateSchedule):
    """Linear from 0 to learning_rate in warmup_steps."""

    def __init__(self, learning_rate, warmup_steps):
        super().__init__()
        self.learning_rate, self.warmup_steps = learning_rate, warmup_steps

    def construct(self, global_step):
        return self.learning_rate * F.minimum(F.cast(global_step, "float32") / self.warmup_steps, 1.0)


__all__ = ["LearningRateSchedule", "ExponentialDecayLR", "NaturalExpDecayLR", "InverseDecayLR", "CosineDecayLR", "PolynomialDecayLR", "WarmUpLR"]
