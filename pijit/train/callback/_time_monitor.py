"""TimeMonitor."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pijit import _check
from pijit.train.callback._callback import Callback

if TYPE_CHECKING:
    from typing import Any
    from pijit.train.callback._callback import RunContext


class TimeMonitor(Callback):
    """Prints the time of each epoch, and of its steps.

    data_size: the number of steps per epoch to divide by; by default (and with 0) that of the dataset. data_time: the
        average time that each step waited for its data is printed too."""

    data_size: int | None

    def __init__(self, data_size: Any = None, data_time: bool = False) -> None:
        self.data_size = data_size if data_size is None else _check.need("TimeMonitor", "data_size", data_size,
                                                                         _check.INT, _check.at_least(0))
        self.data_time: Any = _check.need("TimeMonitor", "data_time", data_time, _check.BOOL)
        self._began = {}
        self._waited = self._since = 0.0

    def on_train_step_begin(self, run_context: RunContext) -> None:  # noqa: ARG002
        """Ends the wait for data."""
        if self.data_time:
            self._waited += time.time() - self._since

    def on_train_step_end(self, run_context: RunContext) -> None:  # noqa: ARG002
        """Begins the wait for the next data."""
        self._since = time.time()

    def epoch_begin(self, run_context: RunContext) -> None:
        """Starts the clock."""
        self._began[run_context.original_args().get("mode", "train")] = self._since = time.time()
        self._waited = 0.0

    def epoch_end(self, run_context: RunContext) -> None:
        """Prints the times."""
        p = run_context.original_args()
        mode = p.get("mode", "train")
        if mode not in self._began:
            return
        elapsed = (time.time() - self._began[mode]) * 1000
        steps = self.data_size or p.get("batch_num") or 1
        text = f"{mode.title()} epoch time: {elapsed:5.3f} ms, per step time: {elapsed / steps:5.3f} ms"
        if self.data_time:
            text += f" (data time: {self._waited * 1000 / steps:5.3f} ms)"
        print(text, flush=True)
