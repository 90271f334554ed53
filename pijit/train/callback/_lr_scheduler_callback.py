"""LearningRateScheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit.train.callback._callback import Callback, optimizer_of
from pijit.train.callback._reduce_lr_on_plateau import set_learning_rate

if TYPE_CHECKING:
    from typing import Any
    from pijit.train.callback._callback import RunContext


class LearningRateScheduler(Callback):
    """Sets the learning rate after each step to learning_rate_function(rate, number of the step)."""

    def __init__(self, learning_rate_function: Any) -> None:
        super().__init__()
        _check.need("LearningRateScheduler", "learning_rate_function", learning_rate_function, _check.FUNCTION)
        self.learning_rate_function = learning_rate_function

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Nothing: rates follow the steps of training."""

    def step_end(self, run_context: RunContext) -> None:
        """Sets the rate."""
        p = run_context.original_args()
        set_learning_rate("LearningRateScheduler", optimizer_of(p),
                          lambda rate: float(self.learning_rate_function(rate, p.cur_step_num)))
