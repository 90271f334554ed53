"""Metric: the base of metrics, and what several of them share."""

from __future__ import annotations

import functools
from abc import ABCMeta, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit._C import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self


class Metric(metaclass=ABCMeta):
    """Base of metrics: `clear` starts anew, `update` takes a batch, `eval` gives the result over all batches.

    A metric that is called with a batch gives the result of this batch alone."""

    def __init__(self) -> None:
        self._indexes = None

    def _convert_data(self, data):
        """A Tensor, list, tuple or array as an array."""
        if isinstance(data, Tensor):
            return data.asnumpy()
        if isinstance(data, (list, tuple)):
            return np.array([v.asnumpy() if isinstance(v, Tensor) else v for v in data])
        if isinstance(data, np.ndarray):
            return data
        raise _check.refused(type(self).__name__, "the input", _check.type_("a Tensor, a list or an array"), data)

    def _take(self, name, inputs, count, meaning):
        """`count` inputs as arrays; ValueError for another number of them."""
        if len(inputs) != count:
            raise _check.expected(f"{type(self).__name__}.{name}", f"{count} inputs ({meaning})", len(inputs))
        return [self._convert_data(x) for x in inputs]

    def _no_samples(self):
        """The error of an evaluation before any batch."""
        return RuntimeError(f"For '{type(self).__name__}.eval', there are no samples yet: call 'update' first.")

    @property
    def indexes(self) -> Any:
        """The positions of the inputs that update takes, or None: all."""
        return getattr(self, "_indexes", None)

    def set_indexes(self, indexes: Any) -> Self:
        """Lets an update under rearrange_inputs take these of its inputs, in this order. Returns the metric.

        indexes: a list of ints; ValueError for anything else."""
        if not isinstance(indexes, list) or not all(type(i) is int for i in indexes):
            raise _check.refused("set_indexes", "indexes", _check.value("be a list of ints"), indexes)
        self._indexes = indexes
        return self

    def __call__(self, *inputs: Any) -> Any:
        self.clear()
        self.update(*inputs)
        return self.eval()

    @abstractmethod
    def clear(self) -> None:
        """Forgets all batches."""

    @abstractmethod
    def eval(self) -> Any:
        """The result over all batches."""

    @abstractmethod
    def update(self, *inputs: Any) -> Any:
        """Takes a batch."""


def rearrange_inputs(func: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator of `update`: it takes the inputs at the positions that set_indexes has set, in this order."""
    @functools.wraps(func)
    def update(self, *inputs):
        indexes = self.indexes
        return func(self, *([inputs[i] for i in indexes] if indexes else inputs))
    return update


class EvaluationBase(Metric):
    """Base of metrics of classifiers. eval_type: "classification" (one class per sample) or "multilabel" (any
    number)."""

    def __init__(self, eval_type: Any) -> None:
        super().__init__()
        if eval_type not in ("classification", "multilabel"):
            raise _check.refused(type(self).__name__, "eval_type", _check.one_of("classification", "multilabel"),
                                 eval_type, TypeError)
        self._type = eval_type

    def _check_shape(self, y_pred, y):
        if self._type == "classification":
            if y_pred.ndim != y.ndim + 1 and y_pred.shape != y.shape:
                raise _check.refused(f"{type(self).__name__}.update", "the predictions",
                                     _check.value("have the shape of the labels, or one dimension more"),
                                     _check.several(y_pred.shape, y.shape))
            if y_pred.ndim == y.ndim + 1 and (y_pred.shape[0],) + y_pred.shape[2:] != y.shape:
                raise _check.unfit(f"{type(self).__name__}.update", f"labels of shape {y.shape}",
                                   f"predictions of shape {y_pred.shape}")
        elif y_pred.shape != y.shape:
            raise _check.refused(f"{type(self).__name__}.update", "predictions and labels",
                                 _check.value("have one shape"), _check.several(y_pred.shape, y.shape))

    def _check_value(self, y_pred, y):
        if self._type == "multilabel" and not (is_binary(y_pred) and is_binary(y)):
            raise ValueError(
                f"For '{type(self).__name__}.update', predictions and labels must be 0 or 1 as 'eval_type' is "
                f"'multilabel'.")

    def _batch(self, inputs):
        """(predictions, labels) of a batch, checked; one-hot labels as they are."""
        y_pred, y = self._take("update", inputs, 2, "predicted value, true value")
        self._check_shape(y_pred, y)
        self._check_value(y_pred, y)
        return y_pred, y


def is_binary(x: Any) -> bool:
    """Whether all elements are 0 or 1."""
    return bool(np.all((x == 0) | (x == 1)))


def is_one_hot(x: Any) -> Any:
    """Whether each row (along axis 1) has a single 1 and otherwise 0."""
    return x.ndim > 1 and is_binary(x) and bool(np.all(x.sum(axis=1) == 1))


def one_hot(x: Any, classes: Any) -> np.ndarray:
    """(N, …) indices as (N, classes, …) of 0 and 1."""
    return np.moveaxis(np.eye(classes, dtype=np.int64)[x.astype(np.int64)], -1, 1)
