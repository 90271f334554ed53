"""EarlyStopping."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit.train.callback._monitored import Monitored

if TYPE_CHECKING:
    from typing import Any
    from pijit.train.callback._callback import RunContext


class EarlyStopping(Monitored):
    """Stops training when a figure has not improved for `patience` epochs.

    monitor, min_delta, mode: as Monitored. verbose: prints when it stops. baseline: only what is better than this
        counts as an improvement. restore_best_weights: the network gets back the parameters of the best epoch."""

    baseline: float | None
    wait: int
    stopped_epoch: int
    best: Any

    def __init__(self, monitor: str = "eval_loss", min_delta: float = 0, patience: int = 0, verbose: bool = False,
                 mode: str = "auto", baseline: Any = None, restore_best_weights: bool = False) -> None:
        super().__init__(monitor, mode, min_delta)
        self.patience: int = _check.need("EarlyStopping", "patience", patience, _check.INT, _check.at_least(0))
        self.verbose: Any = _check.need("EarlyStopping", "verbose", verbose, _check.BOOL)
        self.baseline = baseline if baseline is None else float(_check.need("EarlyStopping", "baseline", baseline,
                                                                            _check.NUMBER))
        self.restore_best_weights: Any = _check.need("EarlyStopping", "restore_best_weights", restore_best_weights,
                                                     _check.BOOL)
        self.wait = self.stopped_epoch = 0
        self.best_weights_param_dict: Any = None

    def on_train_begin(self, run_context: RunContext) -> None:  # noqa: ARG002
        """Starts anew."""
        self.wait = self.stopped_epoch = 0
        self.best = self._worst()
        self.best_weights_param_dict = None

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Looks at the figure."""
        p = run_context.original_args()
        value = self._value(p)
        if value is None:
            return
        network = p.train_network
        if self.restore_best_weights and self.best_weights_param_dict is None:
            self.best_weights_param_dict = _values(network)
        self.wait += 1
        if self._improved(value, self.best):
            self.best = value
            if self.restore_best_weights:
                self.best_weights_param_dict = _values(network)
            if self.baseline is None or self._improved(value, self.baseline):
                self.wait = 0
        if self.wait >= self.patience:
            self.stopped_epoch = p.cur_epoch_num
            run_context.request_stop()
            if self.restore_best_weights and self.best_weights_param_dict is not None:
                if self.verbose:
                    print("Restoring model weights from the end of the best epoch.", flush=True)
                for param, data in zip(network.get_parameters(), self.best_weights_param_dict.values()):
                    param._assign(data)

    def on_train_end(self, run_context: RunContext) -> None:  # noqa: ARG002
        """Tells that training stopped early."""
        if self.stopped_epoch > 0 and self.verbose:
            print(f"Epoch {self.stopped_epoch:05d}: early stopping", flush=True)


def _values(network):
    """Copies of a network's parameters."""
    return {name: p.copy() for name, p in network.parameters_dict().items()}
