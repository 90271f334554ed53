"""Optimizers with parameter groups that are dicts, and learning-rate schedulers."""

from pijit.experimental.optim import lr_scheduler, optimizers  # noqa: F401
from pijit.experimental.optim.optimizer import Optimizer
from pijit.experimental.optim.optimizers import *  # noqa: F403

__all__ = ["Optimizer", *optimizers.__all__]
