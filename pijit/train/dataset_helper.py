"""DatasetHelper: the batches of a dataset, epoch by epoch."""

from __future__ import annotations

import itertools
import types
from typing import TYPE_CHECKING

from pijit import _check
from pijit.nn.cell import Cell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class DatasetHelper:
    """Iterates over the batches of a dataset; each `for` over it is one epoch.

    dataset: an object with create_tuple_iterator or create_dict_iterator (AttributeError otherwise).
    dataset_sink_mode, sink_size: accepted; batches are always handed over one by one. epoch_num: how many epochs
    there will be."""

    def __init__(self, dataset: Any, dataset_sink_mode: bool = True, sink_size: int = -1, epoch_num: int = 1) -> None:
        _check.need("DatasetHelper", "dataset_sink_mode", dataset_sink_mode, _check.BOOL)
        _check.need("DatasetHelper", "sink_size", sink_size, _check.INT, _check.at_least(-1))
        if sink_size == 0:
            raise _check.refused("DatasetHelper", "sink_size", _check.value("be -1 or positive"), 0)
        self._dataset, self._epochs = dataset, epoch_num
        if not hasattr(dataset, "create_tuple_iterator") and not hasattr(dataset, "create_dict_iterator"):
            raise AttributeError(
                f"a dataset must have 'create_tuple_iterator' or 'create_dict_iterator', but a "
                f"{type(dataset).__name__} has neither.")
        self._iterator = None

    def _create(self):
        make = getattr(self._dataset, "create_tuple_iterator", None) or self._dataset.create_dict_iterator
        try:
            return make(num_epochs=self._epochs, do_copy=False)
        except TypeError:  # a dataset of the user's own knows fewer arguments
            try:
                return make(num_epochs=self._epochs)
            except TypeError:
                return make()

    def __iter__(self) -> Iterator[Any]:
        if self._iterator is None:
            self._iterator = self._create()
        batches = iter(self._iterator)
        try:
            first = next(batches)
        except StopIteration:
            if not isinstance(self._iterator, types.GeneratorType) and batches is not self._iterator:
                return iter(())
            # one that serves a single epoch, such as a generator
            self._iterator = self._create()
            return iter(self._iterator)
        return itertools.chain((first,), batches)

    def end_epoch(self) -> None:
        """Prepares the dataset for the next epoch."""
        reset = getattr(self._dataset, "reset", None)
        if callable(reset):
            reset()

    def sink_size(self) -> int:
        """The number of steps that are done at a time: 1."""
        return 1

    def types_shapes(self) -> tuple[Any, Any]:
        """(dtypes, shapes) of the columns, as the dataset tells them."""
        return self._dataset.output_types(), self._dataset.output_shapes()

    def get_data_info(self) -> tuple[Any, Any]:
        """Types and shapes of the columns, as the dataset tells them."""
        return self.types_shapes()

    def stop_send(self) -> None:
        """Nothing is sent to a device ahead of time."""

    def release(self) -> None:
        """Lets the iterator go."""
        self._iterator = None

    def continue_send(self) -> None:
        """Nothing is sent to a device ahead of time."""


def connect_network_with_dataset(network: Cell, dataset_helper: Any) -> Any:
    """Binds a network to a dataset on devices that read datasets themselves: RuntimeError on the CPU."""
    _check.need("connect_network_with_dataset", "network", network, _check.a(Cell))
    _check.need("connect_network_with_dataset", "dataset_helper", dataset_helper, _check.a(DatasetHelper))
    raise RuntimeError(
        "For 'connect_network_with_dataset', the CPU can't read a dataset by itself: iterate over the DatasetHelper "
        "and call the network.")


__all__ = ["DatasetHelper", "connect_network_with_dataset"]
