"""data_sink."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit.jit import JitConfig, jit
from pijit.train.dataset_helper import DatasetHelper

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def data_sink(fn: Callable[..., Any], dataset: Any, sink_size: int = 1, jit_config: Any = None,
              input_signature: Any = None) -> Any:
    """A function without arguments that calls fn with the next sink_size batches of a dataset.

    It gives what the last call returned.

    fn: a function of a batch's columns. jit_config: compiles fn where it is a JitConfig. input_signature: as jit has
        it. When the dataset ends it begins again."""
    _check.need("data_sink", "fn", fn, _check.FUNCTION)
    _check.need("data_sink", "sink_size", sink_size, _check.INT, _check.at_least(1))
    if jit_config is not None:
        _check.need("data_sink", "jit_config", jit_config, _check.a(JitConfig))
        fn = jit(fn, input_signature=input_signature, jit_config=jit_config)
    helper = DatasetHelper(dataset, False, -1, -1)
    batches = iter(())

    def following():
        nonlocal batches
        for _ in range(2):
            for batch in batches:
                return list(batch.values()) if isinstance(batch, dict) else batch
            batches = iter(helper)
        raise RuntimeError("For 'data_sink', the dataset gave no batch: it is empty.")

    def sink():
        out = None
        for _ in range(sink_size):
            out = fn(*following())
        return out
    return sink


__all__ = ["data_sink"]
