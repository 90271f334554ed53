"""Callbacks of training and evaluation."""

from pijit.train.callback._backup_and_restore import BackupAndRestore
from pijit.train.callback._callback import (  # noqa: F401
    Callback, CallbackManager as _CallbackManager, InternalCallbackParam, RunContext)
from pijit.train.callback._callback import InternalCallbackParam as _InternalCallbackParam  # noqa: F401
from pijit.train.callback._checkpoint import (  # noqa: F401
    CheckpointConfig, CheckpointManager as _CheckpointManager, ModelCheckpoint)
from pijit.train.callback._early_stop import EarlyStopping
from pijit.train.callback._history import History
from pijit.train.callback._lambda_callback import LambdaCallback
from pijit.train.callback._loss_monitor import LossMonitor
from pijit.train.callback._lr_scheduler_callback import LearningRateScheduler
from pijit.train.callback._on_request_exit import OnRequestExit
from pijit.train.callback._reduce_lr_on_plateau import ReduceLROnPlateau
from pijit.train.callback._summary_collector import SummaryCollector
from pijit.train.callback._time_monitor import TimeMonitor

__all__ = ["BackupAndRestore", "Callback", "CheckpointConfig", "EarlyStopping", "History", "LambdaCallback",
           "LearningRateScheduler", "LossMonitor",
           "ModelCheckpoint", "OnRequestExit", "ReduceLROnPlateau", "RunContext", "SummaryCollector", "TimeMonitor"]
