"""Callback, the context that it gets, and the list of callbacks that one run of a Model calls."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

from pijit import compat
from pijit._C import Tensor
from pijit import _check

if TYPE_CHECKING:
    from typing import Any, Self

_OLD_NAMES = ("begin", "epoch_begin", "epoch_end", "step_begin", "step_end", "end")


class Callback:
    """Base of callbacks: code that Model calls at fixed points of training and evaluation.

    Every method takes a RunContext. The methods on_train_* and on_eval_* are called during training and during
    evaluation; unless a subclass defines them, they call begin, epoch_begin, step_begin, step_end, epoch_end and end.
    A callback is entered as a context manager before a run and left after it, whether or not the run raises."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        return None

    def begin(self, run_context: RunContext) -> None:
        """Before the first epoch."""

    def epoch_begin(self, run_context: RunContext) -> None:
        """Before each epoch."""

    def epoch_end(self, run_context: RunContext) -> None:
        """After each epoch."""

    def step_begin(self, run_context: RunContext) -> None:
        """Before each step."""

    def step_end(self, run_context: RunContext) -> None:
        """After each step."""

    def end(self, run_context: RunContext) -> None:
        """After the last epoch."""

    def on_train_begin(self, run_context: RunContext) -> None:
        """Before training."""
        self.begin(run_context)

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Before each epoch of training."""
        self.epoch_begin(run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """After each epoch of training."""
        self.epoch_end(run_context)

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Before each step of training."""
        self.step_begin(run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """After each step of training."""
        self.step_end(run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        """After training."""
        self.end(run_context)

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Before evaluation."""
        self.begin(run_context)

    def on_eval_epoch_begin(self, run_context: RunContext) -> None:
        """Before the pass over the data of an evaluation."""
        self.epoch_begin(run_context)

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        """After the pass over the data of an evaluation."""
        self.epoch_end(run_context)

    def on_eval_step_begin(self, run_context: RunContext) -> None:
        """Before each step of evaluation."""
        self.step_begin(run_context)

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """After each step of evaluation."""
        self.step_end(run_context)

    def on_eval_end(self, run_context: RunContext) -> None:
        """After evaluation."""
        self.end(run_context)


class InternalCallbackParam(dict):
    """What a run tells its callbacks, by key or by attribute (`cb_params.cur_epoch_num`)."""

    def __getattr__(self, name: str) -> Any:
        return self[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class RunContext:
    """What a callback gets: the parameters of the run, and a way to stop it.

    original_args: a dict. TypeError for anything else."""

    def __init__(self, original_args: Any) -> None:
        self._original_args = _check.need("RunContext", "original_args", original_args, _check.DICT)
        self._stop_requested = False

    def original_args(self) -> Any:
        """The parameters of the run (epoch_num, batch_num, cur_epoch_num, cur_step_num, net_outputs, network,
        optimizer, …)."""
        return self._original_args

    def request_stop(self) -> None:
        """Asks for the end of the run: no further step is done."""
        self._stop_requested = True

    def get_stop_requested(self) -> bool:
        """Whether someone has asked for the end of the run."""
        return self._stop_requested


def checked_callbacks(callbacks: Any) -> Any:
    """The callbacks of an argument that may be None, one callback or a list; TypeError for anything else."""
    if callbacks is None:
        return []
    callbacks = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
    for c in callbacks:
        if not isinstance(c, Callback):
            raise TypeError(f"'callbacks' must be a Callback or a list of Callbacks, but got {type(c).__name__}.")
    return callbacks


def check_new_names(callbacks: Any) -> None:
    """ValueError for callbacks of users that define names that training and evaluation share.

    Under Model.fit these would be called for both, mixed."""
    for c in callbacks:
        if compat.own_module_of(type(c)):
            continue
        old = [n for n in _OLD_NAMES if getattr(type(c), n) is not getattr(Callback, n)]
        if old:
            raise ValueError(
                f"For 'Model.fit', the callback {type(c).__name__} defines {old}, which training and evaluation share: "
                             "define the methods that begin with 'on_train' or 'on_eval' instead.")


class CallbackManager(Callback):
    """Calls the callbacks of a list one after the other."""

    def __init__(self, callbacks: Any) -> None:
        self.callbacks = checked_callbacks(callbacks)
        self._stack = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for c in self.callbacks:
                if hasattr(c, "__enter__"):
                    stack.enter_context(c)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> bool | None:
        return self._stack.__exit__(*error)


def _forward(name):
    def call(self, run_context):
        for c in self.callbacks:
            getattr(c, name)(run_context)
    call.__name__ = name
    return call


for _name in [n for n in vars(Callback) if n.startswith("on_")]:
    setattr(CallbackManager, _name, _forward(_name))


def loss_of(net_outputs: Any) -> Any:
    """The loss in what a network returned: the outputs themselves or the first of them, as a number if it is one."""
    loss = net_outputs
    if isinstance(loss, (tuple, list)) and loss and isinstance(loss[0], Tensor):
        loss = loss[0]
    if isinstance(loss, Tensor):
        loss = np.mean(loss.asnumpy())
    return loss


def optimizer_of(cb_params: Any) -> Any:
    """The optimizer of a run: Model's, or that of its training network; None if there is neither."""
    optimizer = cb_params.get("optimizer")
    if optimizer is None:
        optimizer = getattr(cb_params.get("train_network") or cb_params.get("network"), "optimizer", None)
    return optimizer
