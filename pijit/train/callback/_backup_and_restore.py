"""BackupAndRestore."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pijit import serialization
from pijit import _check
from pijit.train.callback._callback import Callback

if TYPE_CHECKING:
    from typing import Any
    from pijit.train.callback._callback import RunContext


class BackupAndRestore(Callback):
    """Saves the training network, with the optimizer's state, after epochs.

    Goes on from there when training is run again.

    backup_dir: the folder of backup.ckpt, made if need be. save_freq: "epoch", or every how many epochs.
        delete_checkpoint: removes the file when training has ended."""

    def __init__(self, backup_dir: Any, save_freq: int | str = "epoch", delete_checkpoint: bool = True) -> None:
        super().__init__()
        _check.need("BackupAndRestore", "backup_dir", backup_dir, _check.STR)
        self.save_freq: int = 1 if save_freq == "epoch" else _check.need("BackupAndRestore", "save_freq", save_freq,
                                                                         _check.INT, _check.at_least(1))
        self.delete_checkpoint: Any = _check.need("BackupAndRestore", "delete_checkpoint", delete_checkpoint,
                                                  _check.BOOL)
        os.makedirs(backup_dir, exist_ok=True)
        self.backup_file: str = os.path.join(os.path.abspath(backup_dir), "backup.ckpt")

    def on_train_begin(self, run_context: RunContext) -> None:
        """Loads a backup that is there."""
        if os.path.exists(self.backup_file):
            found = serialization.load_checkpoint(self.backup_file)
            serialization.load_param_into_net(run_context.original_args().train_network, found)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Saves a backup."""
        p = run_context.original_args()
        if p.cur_epoch_num % self.save_freq == 0:
            serialization.save_checkpoint(p.train_network, self.backup_file)

    def on_train_end(self, run_context: RunContext) -> None:  # noqa: ARG002
        """Removes the backup."""
        if self.delete_checkpoint and os.path.exists(self.backup_file):
            os.remove(self.backup_file)
