"""Values that a network hands to SummaryRecord: ScalarSummary and its like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit._C import Tensor
from pijit.ops.primitive import Primitive

if TYPE_CHECKING:
    from typing import Any

_LIMIT = 10000  # values are kept until someone records them; where nobody does the oldest go
_values = []


def take() -> list[tuple[Any, Any, Any]]:
    """The values since the last call, as (plugin, name, array)."""
    out = [(plugin, name, value.asnumpy().copy()) for plugin, name, value in _values]
    _values.clear()
    return out


class _Summary(Primitive):
    """Keeps a Tensor under a name until the next SummaryRecord.record."""

    plugin = ""

    def __call__(self, name: str, value: Any) -> None:
        if not isinstance(name, str) or not name:
            raise _check.refused(type(self).__name__, "the name", _check.value("be a str that is not empty"), name,
                                 TypeError)
        if not isinstance(value, Tensor):
            raise _check.refused(type(self).__name__, "the value", _check.TENSOR, value)
        if len(_values) >= _LIMIT:
            del _values[0]
        _values.append((self.plugin, name, value))


class ScalarSummary(_Summary):
    """Keeps a figure."""

    plugin = "scalar"


class ImageSummary(_Summary):
    """Keeps images (N, C, H, W)."""

    plugin = "image"


class TensorSummary(_Summary):
    """Keeps a Tensor, which is shown by its distribution."""

    plugin = "tensor"


class HistogramSummary(_Summary):
    """Keeps a Tensor, which is shown by its distribution."""

    plugin = "histogram"


__all__ = ["ScalarSummary", "ImageSummary", "TensorSummary", "HistogramSummary"]
