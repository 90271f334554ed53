"""Model: training, evaluation and prediction with callbacks and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit import context, nn
from pijit._C import Tensor
from pijit.communication._comm_helper import World
from pijit.nn.wrap.grad_reducer import broadcast_parameters
from pijit.parallel._auto_parallel_context import get_auto_parallel_context
from pijit.amp import LossScaleManager, build_train_network, checked_level
from pijit.nn.optimizer import Optimizer
from pijit.train.callback._callback import (CallbackManager, InternalCallbackParam, RunContext, check_new_names,
                                            checked_callbacks)
from pijit.train.dataset_helper import DatasetHelper
from pijit.train.metrics import get_metrics
from pijit.train.metrics.loss import Loss

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from pijit.nn.cell import Cell

_OPTIONS = ("loss_scale_manager", "keep_batchnorm_fp32", "boost_config_dict", "acc_level")


class Model:
    """A network with what its training and evaluation need.

    network: a Cell. loss_fn: a Cell or function of (outputs, labels); without it the network itself returns its loss.
    optimizer: an Optimizer; without it the network is called as it is, which then does a step itself. metrics: a dict
        of name →
    Metric, or a set of names. eval_network: a Cell whose outputs the metrics get, instead of network and loss_fn;
    eval_indexes: three positions in them, of the loss, the outputs and the labels. amp_level: "O0" (float32), "O1",
        "O2",
    "O3" or "auto", as `amp.auto_mixed_precision` has them; O2 scales the loss dynamically. boost_level: accepted, all
    levels are alike. loss_scale_manager and keep_batchnorm_fp32 override what amp_level says.

    In GRAPH_MODE a training step is one graph; in PYNATIVE_MODE it runs op by op. TypeError and ValueError name the
    argument that is wrong."""

    def __init__(self, network: Cell, loss_fn: Cell | Callable[..., Any] = None, optimizer: Optimizer | None = None,
                 metrics: Any = None, eval_network: Any = None, eval_indexes: Any = None, amp_level: str = "O0",
                 boost_level: str = "O0", **kwargs: Any) -> None:
        _check.need("Model", "network", network, _check.a(nn.Cell))
        if loss_fn is not None and not callable(loss_fn):
            raise _check.refused("Model", "loss_fn", _check.type_("a Cell or a function"), loss_fn)
        if optimizer is not None and not isinstance(optimizer, Optimizer) and not _is_optimizer(optimizer):
            raise _check.refused("Model", "optimizer", _check.a(Optimizer), optimizer)
        checked_level("Model", amp_level)
        _check.need("Model", "boost_level", boost_level, _check.one_of("O0", "O1", "O2"))
        for key in kwargs:
            _check.need("Model", "kwargs", key, _check.one_of(*_OPTIONS))
        if kwargs.get("loss_scale_manager") is not None:
            _check.need("Model", "loss_scale_manager", kwargs["loss_scale_manager"], _check.a(LossScaleManager))
        self._network, self._loss_fn, self._optimizer = network, loss_fn, optimizer
        self._amp_level, self._boost_level = amp_level, boost_level
        self._options = {k: v for k, v in kwargs.items() if k in ("loss_scale_manager", "keep_batchnorm_fp32")}
        self._loss_scale_manager = kwargs.get("loss_scale_manager")
        self._metric_fns = get_metrics(metrics) or {}
        self._train_network = self._build_train_network()
        self._eval_network, self._eval_indexes = self._build_eval_network(metrics, eval_network, eval_indexes)
        self._predict_network = network

    def _build_train_network(self):
        if self._optimizer is not None:
            return build_train_network(self._network, self._optimizer, self._loss_fn, self._amp_level,
                                       self._boost_level, **self._options)
        if self._loss_fn is not None:
            return nn.WithLossCell(self._network, self._loss_fn)
        return self._network

    def _build_eval_network(self, metrics, eval_network, eval_indexes):
        if eval_indexes is not None and (not isinstance(eval_indexes, list) or len(eval_indexes) != 3):
            raise _check.refused("Model", "eval_indexes",
                                 _check.value("be None or a list of 3 positions: of loss, outputs and labels"),
                                 eval_indexes)
        if eval_network is not None:
            _check.need("Model", "eval_network", eval_network, _check.a(nn.Cell))
            if eval_indexes is None:
                return eval_network, []
            return eval_network, eval_indexes
        if metrics and self._loss_fn is None:
            raise ValueError("For 'Model', 'metrics' need a 'loss_fn' or an 'eval_network', but got neither.")
        if self._loss_fn is None:
            return None, []
        return nn.WithEvalCell(self._network, self._loss_fn, self._amp_level in ("O2", "O3", "auto")), [0, 1, 2]

    @property
    def train_network(self) -> Any:
        """The Cell that does a training step."""
        return self._train_network

    @property
    def eval_network(self) -> Any:
        """The Cell that evaluation runs, or None."""
        return self._eval_network

    @property
    def predict_network(self) -> Cell:
        """The Cell that predict runs."""
        return self._predict_network

    # -- training --
    def train(self, epoch: int, train_dataset: Any, callbacks: Any = None, dataset_sink_mode: bool = False,
              sink_size: int = -1, initial_epoch: int = 0) -> None:
        """Trains for `epoch` epochs, or for those that are left after initial_epoch.

        train_dataset: an object with get_dataset_size and create_tuple_iterator (or create_dict_iterator). callbacks: a
        Callback or a list of Callbacks. dataset_sink_mode and sink_size are accepted; steps are done one by one."""
        self._train("Model.train", epoch, train_dataset, callbacks, dataset_sink_mode, sink_size, initial_epoch)

    def fit(self, epoch: int, train_dataset: Any, valid_dataset: Any = None, valid_frequency: int | list[int] = 1,
            callbacks: Any = None, dataset_sink_mode: bool = False, valid_dataset_sink_mode: bool = False,
            sink_size: int = -1, initial_epoch: int = 0) -> None:
        """Trains like `train`, and evaluates on valid_dataset after every valid_frequency-th epoch.

        valid_frequency: an int, or a list, tuple or set of the epochs after which to evaluate. The metrics stand in
        the callbacks' parameters as `eval_results`."""
        if isinstance(valid_frequency, (list, tuple, set, frozenset)):
            for e in valid_frequency:
                _check.need("Model.fit", "valid_frequency", e, _check.INT, _check.at_least(0))
            due = lambda e: e in valid_frequency
        else:
            _check.need("Model.fit", "valid_frequency", valid_frequency, _check.INT, _check.at_least(0))
            due = lambda e: valid_frequency > 0 and e % valid_frequency == 0
        if valid_dataset is not None and not self._metric_fns:
            raise _check.needs("Model.fit", "the model", "'metrics' if 'valid_dataset' is given, but it has none")
        _check.need("Model.fit", "valid_dataset_sink_mode", valid_dataset_sink_mode, _check.BOOL)
        callbacks = checked_callbacks(callbacks)
        check_new_names(callbacks)
        self._train("Model.fit", epoch, train_dataset, callbacks, dataset_sink_mode, sink_size, initial_epoch,
                    valid_dataset, due)

    def _train(self, name, epoch, train_dataset, callbacks, dataset_sink_mode, sink_size, initial_epoch,
               valid_dataset=None, due=None):
        _check.need(name, "epoch", epoch, _check.INT, _check.at_least(1))
        _check.need(name, "initial_epoch", initial_epoch, _check.INT, _check.at_least(0))
        _check.need(name, "dataset_sink_mode", dataset_sink_mode, _check.BOOL)
        _check.need(name, "sink_size", sink_size, _check.INT, _check.at_least(-1))
        if sink_size == 0:
            raise _check.refused(name, "sink_size", _check.value("be -1 or positive"), 0)
        if initial_epoch >= epoch:
            raise _check.refused(name, "epoch", _check.above("'initial_epoch'"), _check.several(epoch, initial_epoch))
        helper = DatasetHelper(train_dataset, False, -1, epoch - initial_epoch)
        p = InternalCallbackParam(
            train_network=self._train_network, epoch_num=epoch - initial_epoch,
                                  batch_num=train_dataset.get_dataset_size(), mode="train",
            loss_fn=self._loss_fn, optimizer=self._optimizer, parallel_mode=get_auto_parallel_context("parallel_mode"),
            device_number=World.all.size,
                                  train_dataset=train_dataset,
            train_dataset_element=None, network=self._network, last_save_ckpt_step=None, latest_ckpt_file=None,
            loss_scale_manager=self._loss_scale_manager, is_arf=False, initial_step=None, dataset_sink_mode=False,
                                  cur_step_num=0)
        if dataset_sink_mode and sink_size > 0:
            p.batch_num = sink_size
        manager = CallbackManager(callbacks)
        p.list_callback = manager.callbacks
        run = RunContext(p)
        if get_auto_parallel_context("parameter_broadcast"):
            divided = getattr(self._optimizer, "use_parallel", False)  # states, which differ
            broadcast_parameters(self._network if divided else self._train_network)
        with manager:
            manager.on_train_begin(run)
            for i in range(initial_epoch, epoch):
                p.cur_epoch_num = i + 1
                self._train_network.set_train()
                manager.on_train_epoch_begin(run)
                before = p.cur_step_num
                for batch in helper:
                    batch = _inputs(batch)
                    if self._loss_fn is not None and len(batch) != 2:
                        raise ValueError(f"For '{name}', the 'train_dataset' must give two elements (data, label) as "
                                         f"the model has a 'loss_fn', but gave {len(batch)}: "
                                         "compute the loss within the network, or give columns to choose.")
                    p.cur_step_num += 1
                    p.train_dataset_element = batch
                    manager.on_train_step_begin(run)
                    outputs = p.net_outputs = self._train_network(*batch)
                    self._after_step(outputs)
                    manager.on_train_step_end(run)
                    if run.get_stop_requested():
                        break
                helper.end_epoch()
                if p.cur_step_num == before:
                    raise RuntimeError(f"For '{name}', the 'train_dataset' gave no batch: it is empty, or its iterator "
                                       "was used up.")
                if valid_dataset is not None and due(i + 1) and not run.get_stop_requested():
                    self._eval_within(p, valid_dataset, manager, run)
                else:
                    p.eval_results = {}
                manager.on_train_epoch_end(run)
                if run.get_stop_requested():
                    break
            manager.on_train_end(run)

    def _after_step(self, outputs):
        """Tells a loss scale that is kept in Python about the step."""
        manager = self._loss_scale_manager
        several = isinstance(outputs, tuple) and len(outputs) > 1 and isinstance(outputs[1], Tensor)
        if manager is not None and manager.get_drop_overflow_update() and several:
            manager.update_loss_scale(bool(outputs[1].asnumpy()))

    # -- evaluation --
    def _clear_metrics(self):
        for m in self._metric_fns.values():
            m.clear()

    def _update_metrics(self, outputs):
        outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        if self._eval_indexes and len(outputs) < 3:
            raise ValueError("For 'Model.eval', the 'eval_network' must give at least three outputs as there are "
                             f"'eval_indexes', but gave {len(outputs)}.")
        for m in self._metric_fns.values():
            if self._eval_indexes:
                at, y_pred, y = self._eval_indexes
                if isinstance(m, Loss):
                    m.update(outputs[at])
                else:
                    m.update(outputs[y_pred], outputs[y])
            else:
                m.update(*outputs)

    def _eval_loop(self, p, dataset, manager, run):
        self._clear_metrics()
        self._eval_network.set_train(False)
        manager.on_eval_begin(run)
        manager.on_eval_epoch_begin(run)
        helper = DatasetHelper(dataset, False, -1, 1)
        for batch in helper:
            batch = _inputs(batch)
            p.cur_step_num += 1
            p.eval_dataset_element = batch
            manager.on_eval_step_begin(run)
            outputs = p.net_outputs = self._eval_network(*batch)
            manager.on_eval_step_end(run)
            self._update_metrics(outputs)
            if run.get_stop_requested():
                break
        helper.end_epoch()
        manager.on_eval_epoch_end(run)
        p.metrics = {k: m.eval() for k, m in self._metric_fns.items()}
        p.eval_results = dict(p.metrics)
        manager.on_eval_end(run)
        return p.metrics

    def _eval_within(self, p, dataset, manager, run):
        """The evaluation of an epoch of fit: callbacks see its parameters in the place of the training's."""
        train = {k: p[k] for k in ("cur_step_num", "batch_num", "net_outputs", "mode")}
        p.update(cur_step_num=0, batch_num=dataset.get_dataset_size(), mode="eval", eval_network=self._eval_network,
                 valid_dataset=dataset)
        self._eval_loop(p, dataset, manager, run)
        last = p.net_outputs
        p.update(train)
        p.eval_outputs = last
        self._train_network.set_train()

    def eval(self, valid_dataset: Any, callbacks: Any = None, dataset_sink_mode: bool = False) -> dict[str, Any]:
        """The metrics over a dataset, as a dict of name → value. The Model must have metrics."""
        if not self._metric_fns:
            raise _check.needs("Model.eval", "the model", "'metrics', but it has none")
        _check.need("Model.eval", "dataset_sink_mode", dataset_sink_mode, _check.BOOL)
        p = InternalCallbackParam(
            eval_network=self._eval_network, valid_dataset=valid_dataset, batch_num=valid_dataset.get_dataset_size(),
                                  mode="eval", cur_step_num=0,
            network=self._network, dataset_sink_mode=False, loss_fn=self._loss_fn, optimizer=self._optimizer)
        manager = CallbackManager(callbacks)
        p.list_callback = manager.callbacks
        run = RunContext(p)
        with manager:
            return self._eval_loop(p, valid_dataset, manager, run)

    # -- prediction --
    def predict(self, *predict_data: Any, backend: Any = None, config: Any = None) -> Any:
        """The network's outputs for inputs, in evaluation mode.

        predict_data: Tensors, None, numbers, strings, and lists, tuples and dicts of them; TypeError for anything
            else."""
        _check.need("Model.predict", "backend", backend, _check.one_of(None, "lite"))
        if backend is not None:
            raise RuntimeError(f"For 'Model.predict', 'backend' must be None, but got {backend!r}: inference by other "
                               "engines is not supported.")
        for x in predict_data:
            if not _may_predict(x):
                raise _check.refused("Model.predict", "the inputs",
                                     _check.type_("Tensors, None, numbers, strings, or lists, tuples and dicts of "
                                                  "them"), x)
        self._predict_network.set_train(False)
        return self._predict_network(*predict_data)

    def build(self, train_dataset: Any = None, valid_dataset: Any = None, sink_size: int = -1, epoch: int = 1,
              sink_mode: bool = True) -> Any:
        """Compilation before the first step, which only devices that run whole datasets know: RuntimeError on the
        CPU."""
        raise RuntimeError("For 'Model.build', compilation ahead of the first step is not supported on "
                           f"{context.get_context('device_target')}: the first step compiles.")

    def infer_train_layout(self, train_dataset: Any, dataset_sink_mode: bool = True, sink_size: int = -1) -> Any:
        """How parameters are distributed over devices: RuntimeError, as there is one device."""
        raise RuntimeError("For 'Model.infer_train_layout', the parallel mode must be 'semi_auto_parallel' or "
                           "'auto_parallel', but it is 'stand_alone'.")

    def infer_predict_layout(self, *predict_data: Any, skip_backend_compile: bool = False) -> Any:
        """How parameters are distributed over devices: RuntimeError, as there is one device."""
        raise RuntimeError("For 'Model.infer_predict_layout', the parallel mode must be 'semi_auto_parallel' or "
                           "'auto_parallel', but it is 'stand_alone'.")


def _is_optimizer(x):
    """Whether x is one of the optimizers of pijit.experimental, which are loaded on demand."""
    return isinstance(x, nn.Cell) and hasattr(x, "param_groups")


def _may_predict(x):
    if isinstance(x, (list, tuple)):
        return all(_may_predict(v) for v in x)
    if isinstance(x, dict):
        return all(_may_predict(v) for v in x.values())
    return x is None or isinstance(x, (Tensor, int, float, str))


def _inputs(batch):
    """The inputs of a step as a list of Tensors: arrays and numbers are converted."""
    if isinstance(batch, dict):
        batch = list(batch.values())
    elif not isinstance(batch, (list, tuple)):
        batch = [batch]
    return [Tensor(x) if isinstance(x, (np.ndarray, np.generic, int, float)) else x for x in batch]


__all__ = ["Model"]
