"""SummaryRecord: figures, images and distributions of a run, in a file that TensorBoard shows."""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit.nn.cell import Cell

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
    """Writes values into an event file of TensorBoard.

    They are given by add_value, or by ScalarSummary and its like in a network.

    log_dir: the folder. file_suffix: how the file name ends. network: a Cell that record() may be asked about.
        max_file_size: the bytes after which nothing more is written, or None. file_prefix, num_process, raise_exception
        and export_options are accepted. Needs tensorboardX (ImportError otherwise). A context manager; close() ends
        it."""

    def __init__(self, log_dir: Any, file_prefix: str = "events", file_suffix: str = "_MS", num_process: int = 32,
                 network: Cell | None = None, max_file_size: Any = None, raise_exception: bool = False,
                 export_options: Any = None) -> None:
        name = "SummaryRecord"
        _check.need(name, "log_dir", log_dir, _check.STR)
        if not log_dir.strip():
            raise _check.refused(name, "log_dir", _check.value("not be blank"), log_dir)
        _check.need(name, "file_prefix", file_prefix, _check.STR)
        _check.need(name, "file_suffix", file_suffix, _check.STR)
        _check.need(name, "num_process", num_process, _check.INT, _check.at_least(1))
        _check.need(name, "network", network, _check.optional(_check.a(Cell)))
        if max_file_size is not None:
            _check.need(name, "max_file_size", max_file_size, _check.INT, _check.at_least(1))
        _check.need(name, "raise_exception", raise_exception, _check.BOOL)
        _check.need(name, "export_options", export_options, _check.optional(_check.DICT))
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
        _check.need("SummaryRecord.set_mode", "mode", mode, _check.one_of("train", "eval"))
        self._mode = mode

    def add_value(self, plugin: Any, name: str, value: Any) -> None:
        """Keeps a value for the next record().

        plugin: "scalar" (a Tensor of one element), "image" (N, C, H, W), "histogram" or "tensor" (any Tensor), or a
            lineage, whose value is shown as text. "graph", "dataset_graph" and "landscape" are accepted and left
            out."""
        _check.need("SummaryRecord.add_value", "plugin", plugin, _check.one_of(*_PLUGINS))
        if not isinstance(name, str) or not name:
            raise _check.refused("SummaryRecord.add_value", "name", _check.value("be a str that is not empty"), name)
        if plugin in ("scalar", "image", "histogram", "tensor"):
            _check.need("SummaryRecord.add_value", "value", value, _check.TENSOR)
            if plugin == "scalar" and value.size != 1:
                raise _check.refused("SummaryRecord.add_value", "a scalar", _check.value("have one element"),
                                     value.shape)
            if plugin == "image" and (value.ndim != 4 or value.shape[1] not in (1, 3)):
                raise _check.refused("SummaryRecord.add_value", "an image",
                                     _check.value("be of shape (N, 1 or 3, H, W)"), value.shape)
            value = value.asnumpy().copy()
        self._values.append((plugin, name, value))

    def record(self, step: int, train_network: Any = None, plugin_filter: Any = None) -> bool:
        """Writes the values since the last call. Returns whether it did: not after close(), nor beyond max_file_size.

        step: an int. plugin_filter: a function of a plugin's name that says whether it is written."""
        _check.need("SummaryRecord.record", "step", step, _check.INT)
        _check.need("SummaryRecord.record", "train_network", train_network, _check.optional(_check.a(Cell)))
        _check.need("SummaryRecord.record", "plugin_filter", plugin_filter, _check.optional(_check.FUNCTION))
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
