"""SummaryCollector."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit._C import Tensor
from pijit.train.callback._callback import Callback, loss_of, optimizer_of

if TYPE_CHECKING:
    from typing import Any, Self
    from pijit.train.callback._callback import RunContext

_KINDS = {"collect_metric": bool, "collect_graph": bool, "collect_train_lineage": bool, "collect_eval_lineage": bool,
          "collect_input_data": bool,
          "collect_dataset_graph": bool, "histogram_regular": (str, type(None)),
          "collect_landscape": (dict, type(None))}


class SummaryCollector(Callback):
    """Writes what a run shows into an event file of TensorBoard.

    The loss, the learning rate, distributions of parameters and input images.

    summary_dir: the folder. collect_freq: every how many steps. collect_specified_data: what: "collect_metric" (loss,
        rate and metrics), "collect_input_data" (the first column, where it is images), "collect_train_lineage" and
        "collect_eval_lineage" (what was trained how, as text), "histogram_regular" (a regular expression of parameters'
        names; None: the first five). "collect_graph", "collect_dataset_graph" and "collect_landscape" are accepted and
        left out. keep_default_action: what isn't named is collected too. custom_lineage_data: more text by name.
        collect_tensor_freq: as collect_freq for distributions. Needs tensorboardX."""

    def __init__(self, summary_dir: Any, collect_freq: int = 10, num_process: int = 32,
                 collect_specified_data: Any = None, keep_default_action: bool = True, custom_lineage_data: Any = None,
                 collect_tensor_freq: Any = None, max_file_size: Any = None, export_options: Any = None) -> None:
        super().__init__()
        name = "SummaryCollector"
        _check.need(name, "summary_dir", summary_dir, _check.STR)
        _check.need(name, "collect_freq", collect_freq, _check.INT, _check.at_least(1))
        _check.need(name, "num_process", num_process, _check.INT, _check.at_least(1))
        _check.need(name, "collect_specified_data", collect_specified_data, _check.optional(_check.DICT))
        _check.need(name, "keep_default_action", keep_default_action, _check.BOOL)
        _check.need(name, "custom_lineage_data", custom_lineage_data, _check.optional(_check.DICT))
        for key, value in (custom_lineage_data or {}).items():
            _check.need(name, "custom_lineage_data", key, _check.STR)
            _check.need(name, f"custom_lineage_data -> {key}", value, _check.a(int, float, str))
        for key, value in (("collect_tensor_freq", collect_tensor_freq), ("max_file_size", max_file_size)):
            if value is not None:
                _check.need(name, key, value, _check.INT, _check.at_least(1))
        _check.need(name, "export_options", export_options, _check.optional(_check.DICT))
        given = dict(collect_specified_data or {})
        unknown = set(given) - set(_KINDS)
        if unknown:
            raise _check.refused(name, "the keys of 'collect_specified_data'", _check.value(f"be of {list(_KINDS)}"),
                                 sorted(map(str, unknown)))
        for key, value in given.items():
            _check.need(name, key, value, _check.a(_KINDS[key]))
        default = {key: keep_default_action for key, kind in _KINDS.items() if kind is bool}
        self._what = {**default, **given}
        self._histograms = "histogram_regular" in given or keep_default_action
        self._pattern = given.get("histogram_regular")
        self._folder, self._every, self._max = summary_dir, collect_freq, max_file_size
        self._tensor_every = collect_tensor_freq or collect_freq
        self._lineage = custom_lineage_data or {}
        self._record = None

    def __enter__(self) -> Self:
        from pijit.train.summary import SummaryRecord
        self._record = SummaryRecord(self._folder, max_file_size=self._max)
        return self

    def __exit__(self, *error: Any) -> None:
        self._record.close()
        self._record = None

    def begin(self, run_context: RunContext) -> None:
        """Writes what is known of the run."""
        p = run_context.original_args()
        if p.get("mode") == "eval":
            return
        for key, value in self._lineage.items():
            self._record.add_value("custom_lineage_data", f"custom/{key}", value)
        if self._what["collect_train_lineage"]:
            optimizer, loss_fn = optimizer_of(p), p.get("loss_fn")
            about = {"network": type(p.network).__name__,
                     "loss_fn": type(loss_fn).__name__ if loss_fn is not None else None,
                     "optimizer": type(optimizer).__name__ if optimizer is not None else None, "epoch": p.epoch_num,
                     "batch_num": p.batch_num}
            self._record.add_value("train_lineage", "train_lineage", about)
        self._record.record(0)

    def step_end(self, run_context: RunContext) -> None:
        """Writes the figures of a step."""
        p = run_context.original_args()
        if p.get("mode") == "eval":
            return
        step = p.cur_step_num
        if step % self._every == 0 or step == 1:
            if self._what["collect_metric"]:
                self._scalar("loss", loss_of(p.get("net_outputs")))
                optimizer = optimizer_of(p)
                if optimizer is not None:
                    self._scalar("learning_rate", np.asarray(optimizer.get_lr().asnumpy()).reshape(-1)[0])
            if self._what["collect_input_data"]:
                first = (p.get("train_dataset_element") or [None])[0]
                if isinstance(first, Tensor) and first.ndim == 4 and first.shape[1] in (1, 3):
                    self._record.add_value("image", "input_data/auto", first)
        if self._histograms and (step % self._tensor_every == 0 or step == 1):
            params = [q for q in p.train_network.trainable_params() if self._pattern is None
                      or re.match(self._pattern, q.name)]
            for q in params[:5] if self._pattern is None else params:
                self._record.add_value("histogram", f"{q.name}/auto", q)
        self._record.record(step)

    def _scalar(self, name, value):
        if isinstance(value, (int, float, np.number)):
            self._record.add_value("scalar", f"{name}/auto", Tensor(float(value)))

    def epoch_end(self, run_context: RunContext) -> None:
        """Writes the metrics of an evaluation that followed the epoch."""
        p = run_context.original_args()
        if p.get("mode") != "eval" and self._what["collect_metric"]:
            self._metrics(p.get("eval_results"), p.cur_step_num)

    def end(self, run_context: RunContext) -> None:
        """Writes the metrics of an evaluation."""
        p = run_context.original_args()
        if p.get("mode") == "eval" and "cur_epoch_num" not in p and self._what["collect_eval_lineage"]:
            self._metrics(p.get("metrics"), p.cur_step_num)

    def _metrics(self, results, step):
        for key, value in (results or {}).items():
            if np.ndim(value) == 0:
                self._scalar(f"eval_{key}", value)
        self._record.record(step)
