"""OnRequestExit."""

from __future__ import annotations

import json
import os
import signal
import threading
from typing import TYPE_CHECKING

from pijit import _check
from pijit import log, serialization
from pijit.train.callback._callback import Callback

if TYPE_CHECKING:
    from typing import Any, Self
    from pijit.train.callback._callback import RunContext


class OnRequestExit(Callback):
    """Ends a run after its current step when a signal arrives, or when a file says so, and saves the network.

    save_ckpt: write directory/file_name_train.ckpt (file_name_eval.ckpt in an evaluation). save_mindir: accepted; that
        format is not written. config_file: a JSON file, which ends the run when it holds {"GracefulExit": 1}. sig: the
        signal, SIGTERM by default; SIGKILL and SIGINT are refused with ValueError. Without a main thread only the file
        is looked at."""

    def __init__(self, save_ckpt: bool = True, save_mindir: bool = True, file_name: str = "Net", directory: str = "./",
                 config_file: Any = None, sig: Any = signal.SIGTERM) -> None:
        super().__init__()
        self.save_ckpt: Any = _check.need("OnRequestExit", "save_ckpt", save_ckpt, _check.BOOL)
        self.save_mindir: Any = _check.need("OnRequestExit", "save_mindir", save_mindir, _check.BOOL)
        if isinstance(sig, bool) or not isinstance(sig, int):
            raise _check.refused("OnRequestExit", "sig", _check.type_("a signal"), sig)
        if sig in (signal.SIGINT, signal.SIGKILL):
            raise _check.refused("OnRequestExit", "sig", _check.value("not be SIGINT or SIGKILL"), sig)
        self.sig = sig
        _check.need("OnRequestExit", "file_name", file_name, _check.STR)
        _check.need("OnRequestExit", "directory", directory, _check.STR)
        if config_file is not None:
            _check.need("OnRequestExit", "config_file", config_file, _check.STR)
        os.makedirs(directory, exist_ok=True)
        self.stem: str = os.path.join(os.path.abspath(directory), file_name)
        self.config_file = config_file
        self.stop: bool = False
        self._before = None

    def _on_signal(self, signum, frame):  # noqa: ARG002
        self.stop = True

    def __enter__(self) -> Self:
        self.stop = False
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(self.sig, self._on_signal)
        return self

    def __exit__(self, *error: Any) -> None:
        if self._before is not None:
            signal.signal(self.sig, self._before)
            self._before = None

    def _asked(self):
        if self.config_file is not None and os.path.exists(self.config_file):
            try:
                with open(self.config_file, encoding="utf-8") as f:
                    if json.load(f).get("GracefulExit") == 1:
                        self.stop = True
            except (OSError, ValueError, AttributeError) as e:
                log.warning("OnRequestExit can't read %s: %s", self.config_file, e)
        return self.stop

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Ends training if it was asked for."""
        if self._asked():
            run_context.request_stop()

    def on_train_end(self, run_context: RunContext) -> None:
        """Saves the training network, with the optimizer's state."""
        if self.stop:
            self._save(run_context.original_args().train_network, "train")

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Ends the evaluation if it was asked for."""
        if self._asked():
            run_context.request_stop()

    def on_eval_end(self, run_context: RunContext) -> None:
        """Saves the network."""
        p = run_context.original_args()
        if self.stop and p.get("train_network") is None:
            self._save(p.network, "eval")

    def _save(self, network, what):
        if self.save_ckpt:
            serialization.save_checkpoint(network, f"{self.stem}_{what}.ckpt")
