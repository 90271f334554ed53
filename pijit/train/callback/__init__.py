"""Callbacks of training and evaluation."""

from pijit.train.callback._callback import Callback, InternalCallbackParam, RunContext  # noqa: F401
from pijit.train.callback._loss_monitor import LossMonitor
from pijit.train.callback._time_monitor import TimeMonitor

__all__ = ["Callback", "LossMonitor", "TimeMonitor", "RunContext"]
