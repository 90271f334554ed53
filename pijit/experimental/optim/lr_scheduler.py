"""Schedulers: each step() gives an optimizer's groups new learning rates."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING

from pijit import _check
from pijit import dtype as mstype
from pijit._C import Tensor
from pijit.experimental.optim.optimizer import Optimizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


def _float(rate):
    return float(rate.asnumpy()) if isinstance(rate, Tensor) else float(rate)


def _set(group, rate):
    group["lr"]._assign(Tensor(_float(rate), mstype.float32))


def _int(owner, name, value, least=None):
    _check.need(owner, name, value, _check.INT)
    if least is not None and value < least:
        raise _check.refused(owner, name, _check.at_least(least), value)
    return value


class LRScheduler:
    """Base. A subclass defines get_lr(), which gives the groups' rates for the epoch `last_epoch`.

    optimizer: an optimizer of pijit.experimental.optim; TypeError for anything else. last_epoch: the epoch before the
        first, -1 at the start."""

    optimizer: Any
    last_epoch: int

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise _check.refused(type(self).__name__, "optimizer", _check.type_("an optimizer of experimental.optim"),
                                 optimizer)
        _int(type(self).__name__, "last_epoch", last_epoch, -1)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", Tensor(_float(group["lr"]), mstype.float32))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"For '{type(self).__name__}', the group {i} must have 'initial_lr' to go on from epoch "
                    f"{last_epoch}.")
        self.optimizer, self.last_epoch = optimizer, last_epoch
        self.base_lrs: list[Any] = [group["initial_lr"] for group in optimizer.param_groups]
        self._last_lr: list[Any] = [group["lr"] for group in optimizer.param_groups]
        self.step()

    def _rates(self):
        return [_float(group["lr"]) for group in self.optimizer.param_groups]

    def _bases(self):
        return [_float(rate) for rate in self.base_lrs]

    @staticmethod
    def get_lr() -> Any:
        """The groups' rates for the epoch last_epoch."""
        raise NotImplementedError("a subclass of LRScheduler must define get_lr().")

    def get_last_lr(self) -> list[Tensor]:
        """The groups' rates, as a list of Tensors."""
        return [Tensor(_float(group["lr"]), mstype.float32) for group in self.optimizer.param_groups]

    def step(self, epoch: Any = None) -> None:
        """Goes to the next epoch, or to `epoch`, and sets the rates."""
        if epoch is None:
            self.last_epoch += 1
            values = self.get_lr()
        else:
            self.last_epoch = epoch
            values = self._closed() if hasattr(self, "_closed") else self.get_lr()
        for group, rate in zip(self.optimizer.param_groups, values):
            _set(group, rate)
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]


class StepLR(LRScheduler):
    """The rate times gamma every step_size epochs."""

    step_size: int
    gamma: float

    def __init__(self, optimizer: Optimizer, step_size: Any, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = _int("StepLR", "step_size", step_size, 1), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The groups' rates."""
        same = self.last_epoch == 0 or self.last_epoch % self.step_size != 0
        return [r if same else r * self.gamma for r in self._rates()]

    def _closed(self):
        return [b * self.gamma ** (self.last_epoch // self.step_size) for b in self._bases()]


class MultiStepLR(LRScheduler):
    """The rate times gamma at each of the milestones."""

    def __init__(self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1,
                 last_epoch: int = -1) -> None:
        if not isinstance(milestones, (list, tuple)):
            raise _check.refused("MultiStepLR", "milestones", _check.LIST, milestones)
        self.milestones: Any = Counter([_int("MultiStepLR", "milestones", m, 0) for m in milestones])
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The groups' rates."""
        return [r * self.gamma ** self.milestones[self.last_epoch] for r in self._rates()]

    def _closed(self):
        done = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [b * self.gamma ** done for b in self._bases()]


class ExponentialLR(LRScheduler):
    """The rate times gamma every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The groups' rates."""
        return [r if self.last_epoch == 0 else r * self.gamma for r in self._rates()]

    def _closed(self):
        return [b * self.gamma ** self.last_epoch for b in self._bases()]


class LinearLR(LRScheduler):
    """The rate times a factor that goes from start_factor to end_factor in total_iters epochs."""

    start_factor: float
    end_factor: float
    total_iters: int

    def __init__(self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0,
                 total_iters: int = 5, last_epoch: int = -1) -> None:
        _check.need("LinearLR", "start_factor", start_factor, _check.within(0, 1, "(]"))
        _check.need("LinearLR", "end_factor", end_factor, _check.within(0, 1))
        self.start_factor, self.end_factor, self.total_iters = (start_factor, end_factor,
                                                                _int("LinearLR", "total_iters", total_iters, 1))
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch):
        return (self.start_factor + (self.end_factor - self.start_factor) *
                min(self.total_iters, epoch) / self.total_iters)

    def get_lr(self) -> list[float]:
        """The groups' rates."""
        change = (self._factor(0) if self.last_epoch == 0
                  else self._factor(self.last_epoch) / self._factor(self.last_epoch - 1)
                  if self.last_epoch <= self.total_iters else 1.0)
        return [r * change for r in self._rates()]

    def _closed(self):
        return [b * self._factor(self.last_epoch) for b in self._bases()]


class ConstantLR(LRScheduler):
    """The rate times factor in the first total_iters epochs."""

    factor: float
    total_iters: int

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5,
                 last_epoch: int = -1) -> None:
        _check.need("ConstantLR", "factor", factor, _check.within(0, 1))
        self.factor, self.total_iters = factor, _int("ConstantLR", "total_iters", total_iters, 0)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The groups' rates."""
        if self.last_epoch == 0:
            return [r * self.factor for r in self._rates()]
        if self.last_epoch == self.total_iters:
            return [r / self.factor if self.factor else b for r, b in zip(self._rates(), self._bases())]
        return self._rates()

    def _closed(self):
        return [b * (self.factor if self.last_epoch < self.total_iters else 1.0) for b in self._bases()]


class PolynomialLR(LRScheduler):
    """From the rate to 0 in total_iters epochs, by a power of what is left of them."""

    total_iters: int
    power: float

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = _int("PolynomialLR", "total_iters", total_iters, 1), power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float | Any]:
        """The groups' rates."""
        e, n = self.last_epoch, self.total_iters
        change = 1.0 if e == 0 or e > n else ((1.0 - e / n) / (1.0 - (e - 1) / n)) ** self.power
        return [r * change for r in self._rates()]

    def _closed(self):
        left = 1.0 - min(self.last_epoch, self.total_iters) / self.total_iters
        return [b * left ** self.power for b in self._bases()]


class LambdaLR(LRScheduler):
    """The rate at the start times lr_lambda(epoch): a function, or a list with one for each group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
                 last_epoch: int = -1) -> None:
        self.lr_lambdas: list[Any] = _lambdas("LambdaLR", optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The groups' rates."""
        return [b * f(self.last_epoch) for b, f in zip(self._bases(), self.lr_lambdas)]


class MultiplicativeLR(LRScheduler):
    """The rate times lr_lambda(epoch) every epoch: a function, or a list with one for each group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
                 last_epoch: int = -1) -> None:
        self.lr_lambdas: list[Any] = _lambdas("MultiplicativeLR", optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float] | list[Any]:
        """The groups' rates."""
        if self.last_epoch == 0:
            return self._rates()
        return [r * f(self.last_epoch) for r, f in zip(self._rates(), self.lr_lambdas)]


def _lambdas(owner, optimizer, functions):
    if not isinstance(optimizer, Optimizer):
        raise _check.refused(owner, "optimizer", _check.type_("an optimizer of experimental.optim"), optimizer)
    count = len(optimizer.param_groups)
    functions = list(functions) if isinstance(functions, (list, tuple)) else [functions] * count
    if len(functions) != count:
        raise _check.refused(owner, "lr_lambda", _check.value(f"hold a function for each of {count} groups"),
                             len(functions))
    for f in functions:
        if not callable(f):
            raise _check.refused(owner, "lr_lambda", _check.type_("a function of the epoch"), f)
    return functions


class CosineAnnealingLR(LRScheduler):
    """Between the rate and eta_min along a cosine whose half takes T_max epochs."""

    T_max: int
    eta_min: float

    def __init__(self, optimizer: Optimizer, T_max: Any, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = _int("CosineAnnealingLR", "T_max", T_max, 1), eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The groups' rates."""
        return [self.eta_min + (b - self.eta_min) * (1.0 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2.0
                for b in self._bases()]


class CosineAnnealingWarmRestarts(LRScheduler):
    """From the rate to eta_min along half a cosine that takes T_0 epochs, then T_mult times as many, and so on."""

    T_i: Any
    T_mult: int
    eta_min: int
    T_cur: int

    def __init__(self, optimizer: Optimizer, T_0: Any, T_mult: int = 1, eta_min: float = 0,
                 last_epoch: int = -1) -> None:
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise _check.refused("CosineAnnealingWarmRestarts", name, _check.value("be an int >= 1"), value)
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The groups' rates."""
        return [self.eta_min + (b - self.eta_min) * (1.0 + math.cos(math.pi * self.T_cur / self.T_i)) / 2.0
                for b in self._bases()]

    def step(self, epoch: Any = None) -> None:
        """Goes to the next epoch, or to `epoch`, which may be a fraction, and sets the rates."""
        epoch = self.last_epoch + 1 if epoch is None else epoch
        _check.need("CosineAnnealingWarmRestarts.step", "epoch", epoch, _check.at_least(0))
        self.T_i, self.T_cur = self.T_0, epoch
        if self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            while self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        self.last_epoch = math.floor(epoch)
        for group, rate in zip(self.optimizer.param_groups, self.get_lr()):
            _set(group, rate)
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]


class CyclicLR(LRScheduler):
    """Up from base_lr to max_lr in step_size_up steps and down again in step_size_down (Smith 2015).

    base_lr, max_lr: numbers, or lists with one for each group. mode: "triangular"; "triangular2" with half the height
        each cycle; "exp_range" with the height times gamma each step. scale_fn: the factor of the height as a function
        of the cycle or, with scale_mode="iterations", of the step."""

    total_size: float
    step_ratio: float
    mode: str
    gamma: float

    def __init__(self, optimizer: Optimizer, base_lr: Any, max_lr: float, step_size_up: int = 2000,
                 step_size_down: Any = None, mode: str = "triangular", gamma: float = 1.0, scale_fn: Any = None,
                 scale_mode: str = "cycle", last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise _check.refused("CyclicLR", "optimizer", _check.type_("an optimizer of experimental.optim"), optimizer)
        count = len(optimizer.param_groups)

        def per_group(name, value):
            value = list(value) if isinstance(value, (list, tuple)) else [value] * count
            if len(value) != count:
                raise _check.refused("CyclicLR", name, _check.value(f"hold a rate for each of {count} groups"),
                                     len(value))
            return [float(v) for v in value]
        if scale_fn is None and mode not in ("triangular", "triangular2", "exp_range"):
            raise _check.refused("CyclicLR", "mode", _check.one_of("triangular", "triangular2", "exp_range"), mode)
        _check.need("CyclicLR", "scale_mode", scale_mode, _check.one_of("cycle", "iterations"))
        lows = per_group("base_lr", base_lr)
        self.max_lrs: list[float] = per_group("max_lr", max_lr)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size, self.step_ratio = up + down, up / (up + down)
        self.mode, self.gamma, self._scale, self.scale_mode = mode, gamma, scale_fn, scale_mode
        if scale_fn is None and mode == "exp_range":
            self.scale_mode = "iterations"
        if last_epoch == -1:
            for group, low in zip(optimizer.param_groups, lows):
                _set(group, low)
        super().__init__(optimizer, last_epoch)
        self.base_lrs: list[Tensor] = [Tensor(low, mstype.float32) for low in lows]

    def scale_fn(self, x: Tensor) -> Any:
        """The factor of the height."""
        if self._scale is not None:
            return self._scale(x)
        return {"triangular": lambda: 1.0, "triangular2": lambda: 1.0 / 2.0 ** (x - 1),
                "exp_range": lambda: self.gamma ** x}[self.mode]()

    def get_lr(self) -> list[Any | Any]:
        """The groups' rates."""
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1.0) / (self.step_ratio - 1.0)
        factor = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        return [low + (high - low) * height * factor for low, high in zip(self._bases(), self.max_lrs)]


class SequentialLR:
    """Schedulers one after the other, the next one from each milestone on."""

    optimizer: Any
    last_epoch: int

    def __init__(self, optimizer: Optimizer, schedulers: Any, milestones: Any, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise _check.refused("SequentialLR", "optimizer", _check.type_("an optimizer of experimental.optim"),
                                 optimizer)
        for s in schedulers:
            if s.optimizer is not optimizer:
                raise ValueError("For 'SequentialLR', all 'schedulers' must be of the same 'optimizer'.")
        if len(milestones) != len(schedulers) - 1:
            raise _check.refused("SequentialLR", "the there", _check.value("be one scheduler more than milestones"),
                                 _check.several(len(schedulers), len(milestones)))
        self.optimizer, self._schedulers, self._milestones, self.last_epoch = (optimizer, list(schedulers),
            list(milestones), last_epoch + 1)
        for group in optimizer.param_groups:  # each scheduler has set a rate when it was made
            _set(group, group["initial_lr"])
        for s in self._schedulers:
            s.last_epoch -= 1
        self._schedulers[0].step()
        self._last_lr = self._schedulers[0]._last_lr

    def step(self) -> None:
        """Goes to the next epoch and sets the rates."""
        self.last_epoch += 1
        which = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[which]
        if which > 0 and self._milestones[which - 1] == self.last_epoch:
            scheduler.step(0)
        else:
            scheduler.step()
        self._last_lr = scheduler._last_lr

    def get_last_lr(self) -> list[Tensor]:
        """The groups' rates, as a list of Tensors."""
        return [Tensor(_float(group["lr"]), mstype.float32) for group in self.optimizer.param_groups]


class ReduceLROnPlateau:
    """The rate times factor when a figure has not improved for more than `patience` epochs.

    mode: "min" or "max". threshold, threshold_mode: what counts as an improvement, by "rel" or "abs". cooldown: epochs
        to wait after a reduction. min_lr: the least rate, or a list with one for each group. eps: smaller reductions
        are left out."""

    optimizer: Any
    factor: float
    patience: int
    eps: float
    threshold: float
    cooldown: int
    cooldown_counter: int
    mode_worse: float
    best: float
    num_bad_epochs: int
    last_epoch: int

    def __init__(self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10,
                 threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0, min_lr: float = 0,
                 eps: float = 1e-8) -> None:
        if not isinstance(optimizer, Optimizer):
            raise _check.refused("ReduceLROnPlateau", "optimizer", _check.type_("an optimizer of experimental.optim"),
                                 optimizer)
        _check.need("ReduceLROnPlateau", "factor", factor, _check.below(1))
        _check.need("ReduceLROnPlateau", "mode", mode, _check.one_of("min", "max"))
        _check.need("ReduceLROnPlateau", "threshold_mode", threshold_mode, _check.one_of("rel", "abs"))
        count = len(optimizer.param_groups)
        self.min_lrs: list[Any] = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * count
        if len(self.min_lrs) != count:
            raise _check.refused("ReduceLROnPlateau", "min_lr", _check.value(f"hold a rate for each of {count} groups"),
                                 len(self.min_lrs))
        self.optimizer, self.mode, self.factor, self.patience, self.eps = optimizer, mode, factor, patience, eps
        self.threshold, self.threshold_mode, self.cooldown, self.cooldown_counter = (threshold, threshold_mode,
            cooldown, 0)
        self.mode_worse = self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs, self.last_epoch = 0, 0
        self._last_lr = [group["lr"] for group in optimizer.param_groups]

    def _better(self, value):
        if math.isinf(self.best):
            return value < self.best if self.mode == "min" else value > self.best
        margin = self.threshold * (self.best if self.threshold_mode == "rel" else 1.0)
        return value < self.best - margin if self.mode == "min" else value > self.best + margin

    @property
    def in_cooldown(self) -> bool:
        """Whether a reduction was not long ago."""
        return self.cooldown_counter > 0

    def step(self, metrics: Any) -> None:
        """Takes the figure of an epoch."""
        value = _float(metrics)
        self.last_epoch += 1
        if self._better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.optimizer.param_groups, self.min_lrs):
                old = _float(group["lr"])
                new = max(old * self.factor, least)
                if old - new > self.eps:
                    _set(group, new)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[Tensor]:
        """The groups' rates, as a list of Tensors."""
        return [Tensor(_float(group["lr"]), mstype.float32) for group in self.optimizer.param_groups]


__all__ = ["StepLR", "LinearLR", "LRScheduler", "ExponentialLR", "PolynomialLR", "MultiplicativeLR", "ConstantLR",
           "MultiStepLR", "LambdaLR", "SequentialLR",
           "ReduceLROnPlateau", "CyclicLR", "CosineAnnealingWarmRestarts", "CosineAnnealingLR"]
