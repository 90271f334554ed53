"""SummaryRecord: figures, images and distributions of a run, in a file that TensorBoard shows."""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING

import numpy as np

from pijit._C import Tensor
from pijit.nn.cell import Cell
from pijit.train._checks import check_bool, check_int, check_type

if TYPE_CHECKING:
    from typing import Any, Self

_SHOWN = ("scalar", "image", "histogram", "tensor", "custom_lineage_data", "train_lineage", "eval_lineage")
_PLUGINS = (*_SHOWN, "dataset_graph", "graph", "landscape")


def _writer(folder, suffix):
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        raise ImportError(
            "summaries need tensorboardX, which writes TensorBoard's files: pip install tensorboardX") from None
    return SummaryWriter(folder, filename_suffix=suffix)


class SummaryRecord:
    """Writes values that were given by add_value, or by ScalarSummary and its like in a network, into an event file of
    TensorBoard.

    log_dir: the folder. file_suffix: how the file name ends. network: a Cell that record() may be asked about.
        max_file_size: the bytes after which nothing more is written, or None. file_prefix, num_process, raise_exception
        and export_options are accepted. Needs tensorboardX (ImportError otherwise). A context manager; close() ends
        it."""

    def __init__(self, log_dir: Any, file_prefix: str = "events", file_suffix: str = "_MS", num_process: int = 32,
                 network: Cell | None = None, max_file_size: Any = None, raise_exception: bool = False,
                 export_options: Any = None) -> None:
        name = "SummaryRecord"
        check_type(name, "log_dir", log_dir, str)
        if not log_dir.strip():
            raise ValueError(f"For '{name}', 'log_dir' must not be blank.")
        check_type(name, "file_prefix", file_prefix, str)
        check_type(name, "file_suffix", file_suffix, str)
        check_int(name, "num_process", num_process, 1)
        check_type(name, "network", network, (Cell, type(None)))
        if max_file_size is not None:
            check_int(name, "max_file_size", max_file_size, 1)
        check_bool(name, "raise_exception", raise_exception)
        check_type(name, "export_options", export_options, (dict, type(None)))
        self._folder = os.path.abspath(log_dir)
        self._max, self._mode, self._network = max_file_size, "train", network
        self._values = []
        self._writer = _writer(self._folder, file_suffix)
        self._file = max(glob.glob(os.path.join(glob.escape(self._folder), "*tfevents*" + glob.escape(file_suffix))),
                         key=os.path.getmtime)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    @property
    def log_dir(self) -> str:
        """The path of the file."""
        return self._file

    def set_mode(self, mode: Any) -> None:
        """"train", or "eval", which has tags of its own."""
        if mode not in ("train", "eval"):
            raise ValueError(f"For 'SummaryRecord.set_mode', 'mode' must be 'train' or 'eval', but got {mode!r}.")
        self._mode = mode

    def add_value(self, plugin: Any, name: str, value: Any) -> None:
        """Keeps a value for the next record().

        plugin: "scalar" (a Tensor of one element), "image" (N, C, H, W), "histogram" or "tensor" (any Tensor), or a
            lineage, whose value is shown as text. "graph", "dataset_graph" and "landscape" are accepted and left
            out."""
        if plugin not in _PLUGINS:
            raise ValueError(
                f"For 'SummaryRecord.add_value', 'plugin' must be one of {list(_PLUGINS)}, but got {plugin!r}.")
        if not isinstance(name, str) or not name:
            raise ValueError(
                f"For 'SummaryRecord.add_value', 'name' must be a str that is not empty, but got {name!r}.")
        if plugin in ("scalar", "image", "histogram", "tensor"):
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"For 'SummaryRecord.add_value', 'value' must be a Tensor, but got {type(value).__name__}.")
            if plugin == "scalar" and value.size != 1:
                raise ValueError(
                    f"For 'SummaryRecord.add_value', a scalar must have one element, but got the shape {value.shape}.")
            if plugin == "image" and (value.ndim != 4 or value.shape[1] not in (1, 3)):
                raise ValueError(
                    f"For 'SummaryRecord.add_value', an image must be of shape (N, 1 or 3, H, W), but got "
                    f"{value.shape}.")
            value = value.asnumpy().copy()
        self._values.append((plugin, name, value))

    def record(self, step: int, train_network: Any = None, plugin_filter: Any = None) -> bool:
        """Writes the values since the last call. Returns whether it did: not after close(), nor beyond max_file_size.

        step: an int. plugin_filter: a function of a plugin's name that says whether it is written."""
        if isinstance(step, bool) or not isinstance(step, int):
            raise TypeError(f"For 'SummaryRecord.record', 'step' must be an int, but got {type(step).__name__}.")
        check_type("SummaryRecord.record", "train_network", train_network, (Cell, type(None)))
        if plugin_filter is not None and not callable(plugin_filter):
            raise TypeError(
                f"For 'SummaryRecord.record', 'plugin_filter' must be a function, but got "
                f"{type(plugin_filter).__name__}.")
        from pijit.ops import summary
        values = self._values + summary.take()
        self._values = []
        if self._writer is None or self._max is not None and os.path.getsize(self._file) >= self._max:
            return False
        prefix = "" if self._mode == "train" else "eval/"
        for plugin, name, value in values:
            if plugin in _SHOWN and (plugin_filter is None or plugin_filter(plugin)):
                self._put(plugin, prefix + name, value, step)
        self._writer.flush()
        return True

    def _put(self, plugin, name, value, step):
        if plugin == "scalar":
            self._writer.add_scalar(name, float(np.asarray(value).reshape(())), step)
        elif plugin == "image":
            span = float(value.max() - value.min()) if value.size else 0.0
            self._writer.add_images(name, (value - value.min()) / span if span else np.zeros(value.shape), step)
        elif plugin in ("histogram", "tensor"):
            finite = value[np.isfinite(value)] if np.issubdtype(value.dtype, np.floating) else value
            if finite.size:
                self._writer.add_histogram(name, finite.reshape(-1).astype(np.float64), step)
        else:
            self._writer.add_text(name, str(value), step)

    def flush(self) -> None:
        """Writes what is still held back."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """Ends the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


__all__ = ["SummaryRecord"]
