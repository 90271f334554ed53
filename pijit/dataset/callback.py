"""Callbacks of a map: subclasses of DSCallback are told of steps and epochs of the pipeline."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from pijit.dataset import check, config
from pijit.train.callback._callback import Callback

if TYPE_CHECKING:
    from typing import Any
    from pijit.train.callback._callback import RunContext


class CallbackParam:
    """What a DSCallback is told: cur_epoch_num and cur_step_num_in_epoch from 1, cur_step_num over all epochs."""

    cur_epoch_num: Any
    cur_step_num_in_epoch: Any
    cur_step_num: Any

    def __init__(self, epoch: Any, step: Any, total: Any) -> None:
        self.cur_epoch_num, self.cur_step_num_in_epoch, self.cur_step_num = epoch, step, total


class DSCallback:
    """Base of callbacks of a map (`callbacks=`).

    Override ds_begin, ds_epoch_begin, ds_epoch_end, ds_step_begin, ds_step_end.

    Args: step_size: the step methods are called every `step_size` steps (int ≥ 1)."""

    def __init__(self, step_size: int = 1) -> None:
        self.step_size: int = check.integer(type(self).__name__, "step_size", step_size, 1)

    def ds_begin(self, ds_run_context: Any) -> None:
        """Called before the first row."""

    def ds_epoch_begin(self, ds_run_context: Any) -> None:
        """Called before each epoch."""

    def ds_epoch_end(self, ds_run_context: Any) -> None:
        """Called after each epoch."""

    def ds_step_begin(self, ds_run_context: Any) -> None:
        """Called before a row."""

    def ds_step_end(self, ds_run_context: Any) -> None:
        """Called after a row."""


class WaitedDSCallback(Callback, DSCallback):
    """A DSCallback that waits for training.

    Override sync_epoch_begin and sync_step_begin, which run before an epoch (a step) of the pipeline, after the
    training loop has called epoch_end (step_end) of the one before.

    They are called with the training loop's run context and this pipeline's CallbackParam."""

    def __init__(self, step_size: int = 1) -> None:
        super().__init__(step_size)
        self._steps = threading.Semaphore(0)
        self._epochs = threading.Semaphore(0)
        self._context = None
        self._ended = False

    def sync_epoch_begin(self, train_run_context: Any, ds_run_context: Any) -> None:
        """Called before an epoch but the first."""

    def sync_step_begin(self, train_run_context: Any, ds_run_context: Any) -> None:
        """Called before a step but the first."""

    def epoch_end(self, run_context: RunContext) -> None:
        """To be called by the training loop after an epoch."""
        self._context = run_context
        self._epochs.release()

    def step_end(self, run_context: RunContext) -> None:
        """To be called by the training loop after a step."""
        self._context = run_context
        self._steps.release()

    def end(self, run_context: RunContext) -> None:
        """To be called by the training loop at its end: nothing waits any more."""
        self._context, self._ended = run_context, True
        self._steps.release()
        self._epochs.release()

    def _wait(self, semaphore, what):
        if not self._ended and not semaphore.acquire(timeout=config.get_callback_timeout()):
            raise RuntimeError(
                f"[{type(self).__name__}] waited {config.get_callback_timeout()} s for {what} of the training loop; "
                               "pass this callback to it too, or call it there.")

    def ds_epoch_begin(self, ds_run_context: Any) -> None:
        """Waits for epoch_end, then calls sync_epoch_begin."""
        if ds_run_context.cur_epoch_num > 1 and type(self).sync_epoch_begin is not WaitedDSCallback.sync_epoch_begin:
            self._wait(self._epochs, "epoch_end")
            self.sync_epoch_begin(self._context, ds_run_context)

    def ds_step_begin(self, ds_run_context: Any) -> None:
        """Waits for step_end, then calls sync_step_begin."""
        if ds_run_context.cur_step_num > self.step_size and \
                type(self).sync_step_begin is not WaitedDSCallback.sync_step_begin:
            self._wait(self._steps, "step_end")
            self.sync_step_begin(self._context, ds_run_context)
