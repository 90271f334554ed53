"""LossMonitor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit._C import Tensor
from pijit import _check
from pijit.train.callback._callback import Callback, loss_of

if TYPE_CHECKING:
    from pijit.train.callback._callback import RunContext


class LossMonitor(Callback):
    """Prints the loss every per_print_times steps (0: never), and the metrics after an epoch that was evaluated.

    A loss that is NaN or infinite raises ValueError."""

    def __init__(self, per_print_times: int = 1) -> None:
        self._per_print_times = _check.need("LossMonitor", "per_print_times", per_print_times, _check.INT,
                                            _check.at_least(0))
        self._last_print_time = 0

    def step_end(self, run_context: RunContext) -> None:
        """Looks at the loss of the step."""
        p = run_context.original_args()
        if p.get("mode") == "eval" and "cur_epoch_num" in p:  # within fit: the metrics are printed at the epoch's end
            return
        outputs = p.net_outputs
        loss = loss_of(outputs)
        epoch, step = p.get("cur_epoch_num", 1), (p.cur_step_num - 1) % p.batch_num + 1
        if isinstance(loss, (float, np.floating)) and not np.isfinite(loss):
            raise ValueError(
                f"In epoch: {epoch} step: {step}, loss is NAN or INF, training process cannot continue, terminating "
                f"training.")
        if p.cur_step_num <= self._last_print_time:  # another run with this callback
            self._last_print_time = 0
        if self._per_print_times and p.cur_step_num - self._last_print_time >= self._per_print_times:
            self._last_print_time = p.cur_step_num
            shown = float(loss) if isinstance(outputs, Tensor) else loss
            print(f"epoch: {epoch} step: {step}, loss is {shown!s}", flush=True)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Prints the metrics of the evaluation that followed the epoch, if there was one."""
        p = run_context.original_args()
        results = {k: v for k, v in p.get("eval_results", {}).items() if k != "eval_loss"}
        if results:
            print(f"Eval result: epoch {p.cur_epoch_num}, metrics: {results}", flush=True)
