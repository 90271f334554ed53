"""Callbacks with a state of their own."""

from collections import deque

import numpy as np

from mindspore import Tensor
from mindspore.train import Callback


class LossHistory(Callback):
    """Each step's loss; every `every` steps a line."""

    def __init__(self, every=0):
        super().__init__()
        self.every, self.losses, self.window = every, [], deque(maxlen=5)

    def on_train_step_end(self, run_context):
        params = run_context.original_args()
        out = params.net_outputs
        loss = out[0] if isinstance(out, (tuple, list)) else out
        loss = float(np.mean(loss.asnumpy() if isinstance(loss, Tensor) else loss))
        self.losses.append(loss)
        self.window.append(loss)
        if self.every and params.cur_step_num % self.every == 0:
            print(f"epoch {params.cur_epoch_num} step {params.cur_step_num}: loss {loss:.5f}, "
                  f"mean of {len(self.window)}: {np.mean(self.window):.5f}")


class EarlyStop(Callback):
    """Ends training once the mean loss of an epoch has not fallen for `patience` epochs."""

    def __init__(self, history, patience=2, margin=0.0):
        super().__init__()
        self.history, self.patience, self.margin = history, patience, margin
        self.best, self.waited, self.seen = float("inf"), 0, 0

    def on_train_epoch_end(self, run_context):
        mean = float(np.mean(self.history.losses[self.seen:]))
        self.seen = len(self.history.losses)
        if mean < self.best - self.margin:
            self.best, self.waited = mean, 0
            return
        self.waited += 1
        if self.waited >= self.patience:
            print("stopped early after epoch", run_context.original_args().cur_epoch_num)
            run_context.request_stop()


class Averages(Callback):
    """Evaluates with the averaged weights at the end of each epoch, and keeps the best result."""

    def __init__(self, evaluate, ema=None):
        super().__init__()
        self.evaluate, self.ema, self.results = evaluate, ema, []

    def on_train_epoch_end(self, run_context):
        if self.ema is not None:
            self.ema.swap_before_eval()
        result = self.evaluate()
        if self.ema is not None:
            self.ema.swap_after_eval()
        self.results.append(result)
        epoch = run_context.original_args().cur_epoch_num
        print(f"epoch {epoch}:", ", ".join(f"{k} {v:.4f}" for k, v in sorted(result.items())))
