"""LambdaCallback."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit.train.callback._callback import Callback

if TYPE_CHECKING:
    from typing import Any

_NAMES = ("on_train_epoch_begin", "on_train_epoch_end", "on_train_step_begin", "on_train_step_end", "on_train_begin",
          "on_train_end",
          "on_eval_epoch_begin", "on_eval_epoch_end", "on_eval_step_begin", "on_eval_step_end", "on_eval_begin",
          "on_eval_end")


class LambdaCallback(Callback):
    """Calls functions of the run context at the points that their names say."""

    def __init__(self, on_train_epoch_begin: Any = None, on_train_epoch_end: Any = None,
                 on_train_step_begin: Any = None, on_train_step_end: Any = None, on_train_begin: Any = None,
                 on_train_end: Any = None, on_eval_epoch_begin: Any = None, on_eval_epoch_end: Any = None,
                 on_eval_step_begin: Any = None, on_eval_step_end: Any = None, on_eval_begin: Any = None,
                 on_eval_end: Any = None) -> None:
        super().__init__()
        given = locals()
        for name in _NAMES:
            f = given[name]
            if f is not None and not callable(f):
                raise _check.refused("LambdaCallback", name, _check.type_("a function of the run context"), f)
            setattr(self, name, f or _nothing)


def _nothing(run_context):
    """What is called where no function was given."""
