"""What callbacks watch from epoch to epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit import log
from pijit.train.callback._callback import Callback, loss_of

if TYPE_CHECKING:
    from typing import Any

_LESS_IS_BETTER = ("loss", "eval_loss", "mae", "mse", "perplexity")


class Monitored(Callback):
    """Base of callbacks that act when a figure stops improving.

    monitor: "loss" (of the last step), "eval_loss" (of the last batch of the evaluation), or the name of a metric.
        mode: "min", "max", or "auto", which is "min" for losses, "mae", "mse" and "perplexity". min_delta: smaller
        changes are no improvement."""

    min_delta: float

    def __init__(self, monitor: Any, mode: Any, min_delta: Any) -> None:
        super().__init__()
        name = type(self).__name__
        self.monitor: Any = _check.need(name, "monitor", monitor, _check.STR)
        _check.need(name, "mode", mode, _check.one_of("auto", "min", "max"))
        _check.need(name, "min_delta", min_delta, _check.NUMBER)
        self.mode, self.min_delta = mode, abs(min_delta)
        self._smaller = mode == "min" or mode == "auto" and monitor in _LESS_IS_BETTER
        self.best: Any = self._worst()

    def _worst(self):
        return np.inf if self._smaller else -np.inf

    def _improved(self, value, reference):
        return value < reference - self.min_delta if self._smaller else value > reference + self.min_delta

    def _value(self, cb_params):
        """The figure, or None, with a warning, where the run doesn't have it."""
        results = cb_params.get("eval_results") or {}
        if self.monitor == "loss":
            value = loss_of(cb_params.get("net_outputs"))
        elif self.monitor in results:
            value = results[self.monitor]
        elif self.monitor == "eval_loss" and cb_params.get("eval_outputs") is not None:
            value = loss_of(cb_params.eval_outputs)
        else:
            log.warning("%s watches %r, which the run doesn't have; there are: %s.", type(self).__name__, self.monitor,
                        ", ".join(["loss", *results]))
            return None
        return float(np.mean(value))
