"""History."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit.train.callback._callback import Callback, loss_of

if TYPE_CHECKING:
    from typing import Any
    from pijit.train.callback._callback import RunContext


class History(Callback):
    """Keeps the loss at the end of each epoch, and the metrics where it was evaluated.

    epoch: {"epoch": [numbers]}. history: {"net_output": [...], metric: [...]}, which grows from run to run."""

    def __init__(self) -> None:
        super().__init__()
        self.history: dict[Any, Any] = {}
        self.epoch: dict[str, list[Any]] = {}

    def begin(self, run_context: RunContext) -> None:  # noqa: ARG002
        """Starts the list of epochs anew."""
        self.epoch = {"epoch": []}

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Nothing: the epochs are those of training."""

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        """Nothing: the metrics are kept at the epoch's end."""

    def epoch_end(self, run_context: RunContext) -> None:
        """Keeps what the epoch gave."""
        p = run_context.original_args()
        self.epoch.setdefault("epoch", []).append(p.get("cur_epoch_num", 1))
        self.history.setdefault("net_output", []).append(_plain(loss_of(p.get("net_outputs"))))
        for name, value in (p.get("eval_results") or {}).items():
            self.history.setdefault(name, []).append(value)


def _plain(loss):
    """A NumPy number as Python's, with the digits that it is written with."""
    return float(str(loss)) if isinstance(loss, np.floating) else loss
