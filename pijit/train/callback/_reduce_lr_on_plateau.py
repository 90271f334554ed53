"""ReduceLROnPlateau."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit._C import Tensor
from pijit.parameter import Parameter
from pijit.train.callback._callback import optimizer_of
from pijit.train.callback._monitored import Monitored

if TYPE_CHECKING:
    from typing import Any
    from pijit.nn.optimizer import Optimizer
    from pijit.train.callback._callback import RunContext


def set_learning_rate(name: str, optimizer: Optimizer, change: Any) -> Any:
    """Gives an optimizer's only rate the value change(rate). Returns whether it changed."""
    if optimizer is None:
        raise ValueError(f"For '{name}', the model has no optimizer.")
    rate = optimizer.learning_rate
    if (getattr(optimizer, "is_group_lr", False) or getattr(optimizer, "_dynamic", False)
        or not isinstance(rate, Parameter)):
        raise _check.needs(name, "the optimizer",
                           "one learning rate that is a number: it has a schedule, or rates by group")
    old = float(rate.asnumpy())
    new = change(old)
    if new != old:
        rate._assign(Tensor(new, rate.dtype))
    return new != old


class ReduceLROnPlateau(Monitored):
    """Reduces the learning rate when a figure has not improved for `patience` epochs.

    monitor, mode, min_delta: as Monitored. factor: what the rate is multiplied by, in (0, 1). verbose: prints new
        rates.
    cooldown: epochs to wait after a reduction. min_lr: the least rate."""

    cooldown_counter: int
    wait: int
    best: Any

    def __init__(self, monitor: str = "eval_loss", factor: float = 0.1, patience: int = 10, verbose: bool = False,
                 mode: str = "auto", min_delta: float = 1e-4, cooldown: int = 0, min_lr: float = 0) -> None:
        super().__init__(monitor, mode, min_delta)
        _check.need("ReduceLROnPlateau", "factor", factor, _check.FLOAT, _check.within(0, 1, "()"))
        self.factor = factor
        self.patience: int = _check.need("ReduceLROnPlateau", "patience", patience, _check.INT, _check.at_least(0))
        self.verbose: Any = _check.need("ReduceLROnPlateau", "verbose", verbose, _check.BOOL)
        self.cooldown: int = _check.need("ReduceLROnPlateau", "cooldown", cooldown, _check.INT, _check.at_least(0))
        _check.need("ReduceLROnPlateau", "min_lr", min_lr, _check.NUMBER, _check.at_least(0))
        self.min_lr = min_lr
        self.cooldown_counter = self.wait = 0

    def on_train_begin(self, run_context: RunContext) -> None:  # noqa: ARG002
        """Starts anew."""
        self.cooldown_counter = self.wait = 0
        self.best = self._worst()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Looks at the figure."""
        p = run_context.original_args()
        set_learning_rate("ReduceLROnPlateau", optimizer_of(p), lambda rate: rate)
        value = self._value(p)
        if value is None:
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.wait = 0
        if self._improved(value, self.best):
            self.best, self.wait = value, 0
        elif self.cooldown_counter == 0:
            self.wait += 1
            if self.wait >= self.patience:
                reduced = []

                def change(rate):
                    shown = float(f"{rate:.7g}")  # rates are float32: its value as written, not what it is as a double
                    if shown <= self.min_lr:
                        return rate
                    reduced.append(max(shown * self.factor, self.min_lr))
                    return reduced[0]
                if set_learning_rate("ReduceLROnPlateau", optimizer_of(p), change) and self.verbose:
                    print(f"Epoch {p.cur_epoch_num:05d}: ReduceLROnPlateau reducing learning rate to {reduced[0]:.7g}.",
                          flush=True)
                self.cooldown_counter, self.wait = self.cooldown, 0
