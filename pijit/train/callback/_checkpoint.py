"""ModelCheckpoint and its configuration."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from pijit import _check
from pijit import serialization
from pijit._C import Tensor
from pijit.nn.cell import Cell
from pijit.communication._comm_helper import World
from pijit.parallel._auto_parallel_context import get_auto_parallel_context
from pijit.train.callback._callback import Callback

if TYPE_CHECKING:
    from typing import Any
    from pijit.train.callback._callback import RunContext

_INFO = ("epoch_num", "step_num")


class CheckpointConfig:
    """When ModelCheckpoint saves, and how much it keeps.

    save_checkpoint_steps: every how many steps, or save_checkpoint_seconds: every how many seconds (which counts only
    where the former is 0 or None). keep_checkpoint_max: how many files are kept, or keep_checkpoint_per_n_minutes: one
    for every n minutes. integrated_save: accepted. async_save: False, True, "thread" or "process": a thread writes the
    file. saved_network: what is saved in place of the training network. append_info: a list of "epoch_num", "step_num"
    and dicts, which are saved too.
    exception_save: saves also when training raises. format: "ckpt" or "safetensors". Encryption is refused."""

    def __init__(self, save_checkpoint_steps: int = 1, save_checkpoint_seconds: int = 0, keep_checkpoint_max: int = 5,
                 keep_checkpoint_per_n_minutes: int = 0, integrated_save: bool = True, async_save: bool = False,
                 saved_network: Any = None, append_info: Any = None, enc_key: Any = None, enc_mode: str = "AES-GCM",
                 exception_save: bool = False, crc_check: bool = False, remove_redundancy: bool = False,
                 format: str = "ckpt", **kwargs: Any) -> None:
        name = "CheckpointConfig"
        given = {"save_checkpoint_steps": save_checkpoint_steps, "save_checkpoint_seconds": save_checkpoint_seconds,
                 "keep_checkpoint_max": keep_checkpoint_max,
                 "keep_checkpoint_per_n_minutes": keep_checkpoint_per_n_minutes}
        for key, value in given.items():
            if value is not None:
                _check.need(name, key, value, _check.INT, _check.at_least(0))
        if not any(given.values()):
            raise ValueError(f"For '{name}', at least one of {list(given)} must be greater than 0.")
        _check.need(name, "saved_network", saved_network, _check.optional(_check.a(Cell)))
        if enc_key is not None:
            raise _check.unsupported(name, "encryption ('enc_key') is")
        if not isinstance(async_save, bool):
            _check.need(name, "async_save", async_save, _check.one_of("process", "thread"))
        self._save_checkpoint_steps, self._save_checkpoint_seconds = save_checkpoint_steps, save_checkpoint_seconds
        if save_checkpoint_steps:
            self._save_checkpoint_seconds = None
        self._keep_checkpoint_max, self._keep_checkpoint_per_n_minutes = (keep_checkpoint_max,
            keep_checkpoint_per_n_minutes)
        if keep_checkpoint_max:
            self._keep_checkpoint_per_n_minutes = None
        elif not keep_checkpoint_per_n_minutes:
            self._keep_checkpoint_max = 1
        self._integrated_save = _check.need(name, "integrated_save", integrated_save, _check.BOOL)
        self._async_save = async_save
        self._saved_network = saved_network
        self._append_dict = self._appended(append_info)
        self._enc_key, self._enc_mode = None, enc_mode
        self.exception_save: Any = _check.need(name, "exception_save", exception_save, _check.BOOL)
        self._crc_check = _check.need(name, "crc_check", crc_check, _check.BOOL)
        self.remove_redundancy: Any = _check.need(name, "remove_redundancy", remove_redundancy, _check.BOOL)
        self._format = _check.need(name, "format", format, _check.one_of("ckpt", "safetensors"))
        self._map_param_inc = kwargs.get("incremental", False)

    @staticmethod
    def _appended(info):
        if info is None:
            return None
        _check.need("CheckpointConfig", "append_info", info, _check.LIST)
        out = {}
        for item in info:
            if isinstance(item, str):
                if item not in _INFO:
                    raise _check.refused("CheckpointConfig", "the strings in 'append_info'",
                                         _check.value(f"be of {list(_INFO)}"), item)
                out[item] = 0
            elif isinstance(item, dict):
                for key, value in item.items():
                    if not isinstance(key, str) or not isinstance(value, (int, float, bool, str, Tensor)):
                        raise _check.refused("CheckpointConfig", "a dict in 'append_info'",
                                             _check.value("map strings to numbers, strings or Tensors"),
                                             _check.entry(key, value), TypeError)
                out.update(item)
            else:
                raise _check.refused("CheckpointConfig", "append_info",
                                     _check.value("hold strings and dicts", shown=_check.type_name), item, TypeError)
        return out

    @property
    def save_checkpoint_steps(self) -> int:
        """Every how many steps."""
        return self._save_checkpoint_steps

    @property
    def save_checkpoint_seconds(self) -> int | None:
        """Every how many seconds, or None."""
        return self._save_checkpoint_seconds

    @property
    def keep_checkpoint_max(self) -> int:
        """How many files are kept."""
        return self._keep_checkpoint_max

    @property
    def keep_checkpoint_per_n_minutes(self) -> int | None:
        """A file is kept for every how many minutes, or None."""
        return self._keep_checkpoint_per_n_minutes

    @property
    def integrated_save(self) -> Any:
        """As given."""
        return self._integrated_save

    @property
    def async_save(self) -> bool:
        """Whether a thread writes the files."""
        return self._async_save

    @property
    def saved_network(self) -> Any:
        """What is saved in place of the training network, or None."""
        return self._saved_network

    @property
    def enc_key(self) -> Any:
        """None."""
        return self._enc_key

    @property
    def enc_mode(self) -> str:
        """As given."""
        return self._enc_mode

    @property
    def crc_check(self) -> Any:
        """As given."""
        return self._crc_check

    @property
    def format(self) -> Any:
        """"ckpt" or "safetensors"."""
        return self._format

    @property
    def append_dict(self) -> dict[Any, Any] | None:
        """What is saved besides the parameters, or None."""
        return self._append_dict

    @property
    def map_param_inc(self) -> Any:
        """As given."""
        return self._map_param_inc

    def get_checkpoint_policy(self) -> dict[str, Any]:
        """When is saved and what is kept, as a dict."""
        return {"save_checkpoint_steps": self._save_checkpoint_steps,
                "save_checkpoint_seconds": self._save_checkpoint_seconds,
                "keep_checkpoint_max": self._keep_checkpoint_max,
                "keep_checkpoint_per_n_minutes": self._keep_checkpoint_per_n_minutes,
                "saved_network": self._saved_network}


class CheckpointManager:
    """The files of one prefix that a ModelCheckpoint has written, oldest first."""

    def __init__(self) -> None:
        self._files = []
        self._kept_at = time.time()

    @property
    def ckpt_files(self) -> list[Any]:
        """The files."""
        return list(self._files)

    @property
    def ckpt_num(self) -> int:
        """How many there are."""
        return len(self._files)

    def add(self, path: str, config: Any) -> None:
        """Takes note of a file that will be written, and removes those that are not to be kept."""
        if path in self._files:
            self._files.remove(path)
        if config.keep_checkpoint_max:
            while len(self._files) >= config.keep_checkpoint_max:
                self._remove(self._files[0])
        elif config.keep_checkpoint_per_n_minutes:
            # of those within one period the last is kept
            if time.time() - self._kept_at < config.keep_checkpoint_per_n_minutes * 60:
                if self._files:
                    self._remove(self._files[-1])
            else:
                self._kept_at = time.time()
        self._files.append(path)

    def _remove(self, path):
        self._files.remove(path)
        if os.path.exists(path):
            os.remove(path)


class ModelCheckpoint(Callback):
    """Saves the training network, with the optimizer's state, during training.

    prefix: how the file names begin, without "/"; if files are there that begin so, a number is appended. Or a function
        of the run's parameters that gives the whole name. directory: where; the working directory by default. config: a
        CheckpointConfig. Files are named prefix-epoch_step.ckpt.

    Where several processes train together (data_parallel), rank 0 writes what all of them hold. With
    enable_parallel_optimizer each holds states that the others have not: then each writes below rank_<its number>."""

    def __init__(self, prefix: str = "CKP", directory: Any = None, config: Any = None) -> None:
        super().__init__()
        if not callable(prefix) and (not isinstance(prefix, str) or "/" in prefix):
            raise _check.refused("ModelCheckpoint", "prefix", _check.value("be a function or a str without '/'"),
                                 prefix)
        if directory is not None and not callable(directory):
            _check.need("ModelCheckpoint", "directory", directory, _check.STR)
        if config is not None:
            _check.need("ModelCheckpoint", "config", config, _check.a(CheckpointConfig))
        self._prefix, self._config = prefix, config or CheckpointConfig()
        self._directory = os.path.abspath(directory or ".")
        together = World.all.size > 1 and get_auto_parallel_context("parallel_mode") == "data_parallel"
        if together and get_auto_parallel_context("enable_parallel_optimizer"):
            self._directory = os.path.join(self._directory, f"rank_{World.rank}")
        self._writes: bool = not together or World.rank == 0 or get_auto_parallel_context("enable_parallel_optimizer")
        os.makedirs(self._directory, exist_ok=True)
        self._manager = CheckpointManager()
        self._latest_ckpt_file_name = ""
        self._started = False
        self._last_triggered_step = 0
        self._last_time = time.time()
        self._params = None

    @property
    def latest_ckpt_file_name(self) -> str:
        """The path of the last file, or ""."""
        return self._latest_ckpt_file_name

    @property
    def _get_manager(self):
        return self._manager

    def __exit__(self, kind: Any, *error: Any) -> None:
        if kind is not None and self._config.exception_save and self._params is not None:
            self._save(self._params, "_breakpoint")
        serialization.wait_for_writers()

    def on_train_begin(self, run_context: RunContext) -> None:
        """Chooses the prefix."""
        p = run_context.original_args()
        self._params, self._last_triggered_step, self._last_time = p, 0, time.time()
        if not self._started and not callable(self._prefix):
            self._prefix = self._unused(self._prefix)
        self._started = True

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Nothing: training is saved."""

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Nothing: training is saved."""

    def on_eval_end(self, run_context: RunContext) -> None:
        """Nothing: training is saved."""

    def _unused(self, prefix):
        """The prefix, with a number behind it if files begin with it."""
        ends = (".ckpt", ".safetensors")
        taken = {f.rsplit("-", 1)[0] for f in os.listdir(self._directory) if f.endswith(ends) and "-" in f}
        if prefix not in taken:
            return prefix
        numbers = [0]
        for t in taken:
            head, _, tail = t.rpartition("_")
            if head == prefix and tail.isdigit():
                numbers.append(int(tail))
        return f"{prefix}_{max(numbers) + 1}"

    def step_end(self, run_context: RunContext) -> None:
        """Saves if it is time to."""
        p = run_context.original_args()
        steps, seconds = self._config.save_checkpoint_steps, self._config.save_checkpoint_seconds
        if (steps and p.cur_step_num - self._last_triggered_step >= steps or seconds
            and time.time() - self._last_time >= seconds):
            self._save(p)

    def end(self, run_context: RunContext) -> None:
        """Saves the last step, if it isn't yet."""
        p = run_context.original_args()
        if ((self._config.save_checkpoint_steps or self._config.save_checkpoint_seconds)
            and p.cur_step_num > self._last_triggered_step):
            self._save(p)

    def _save(self, p, suffix=""):
        if not self._writes:
            return
        config = self._config
        step = (p.cur_step_num - 1) % p.batch_num + 1
        name = self._prefix(p) if callable(self._prefix) else f"{self._prefix}-{p.get('cur_epoch_num', 1)}_{step}"
        path = os.path.join(self._directory, f"{name}{suffix}.{config.format}")
        info = config.append_dict
        if info is not None:
            info = dict(info)
            if "epoch_num" in info:
                info["epoch_num"] += p.cur_epoch_num
            if "step_num" in info:
                info["step_num"] += p.cur_step_num
        self._manager.add(path, config)
        serialization.save_checkpoint(config.saved_network or p.train_network, path, config.integrated_save,
                                      bool(config.async_save), info, format=config.format)
        self._latest_ckpt_file_name = path
        self._last_triggered_step, self._last_time = p.cur_step_num, time.time()
        p.last_save_ckpt_step, p.latest_ckpt_file = p.cur_step_num, path
