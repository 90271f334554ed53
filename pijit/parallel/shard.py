"""How tensors and functions are divided over devices, of which there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit.nn.cell import Cell

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Layout:
    """How a tensor's dimensions lie on a grid of devices: Layout((2, 2), ("dp", "mp"))("dp", "mp").

    device_matrix: a tuple of positive ints. alias_name: a name for each of its dimensions. rank_list: the devices, by
        default counted up. A call with a name, a tuple of names or "None" for each dimension of a tensor gives its
        layout; to_dict() tells it."""

    def __init__(self, device_matrix: Any, alias_name: Any, rank_list: Any = None) -> None:
        if not isinstance(device_matrix, tuple) or not isinstance(alias_name, tuple):
            raise _check.refused("Layout", "'device_matrix' and 'alias_name'", _check.value("be tuples"),
                                 _check.several(_check.type_name(device_matrix), _check.type_name(alias_name)),
                                 TypeError)
        if not all(type(n) is int for n in device_matrix) or not all(isinstance(a, str) for a in alias_name):
            raise _check.refused("Layout", "device_matrix", _check.value("hold ints and 'alias_name' strs"),
                                 _check.several(device_matrix, alias_name), TypeError)
        if any(n < 1 for n in device_matrix) or not all(alias_name):
            raise _check.refused("Layout", "device_matrix",
                                 _check.value("hold positive ints and 'alias_name' no empty names"),
                                 _check.several(device_matrix, alias_name))
        if len(device_matrix) != len(alias_name) or len(set(alias_name)) != len(alias_name):
            raise _check.refused("Layout", "the there",
                                 _check.value("be one name for each dimension of 'device_matrix', each another one"),
                                 _check.several(device_matrix, alias_name))
        count = 1
        for n in device_matrix:
            count *= n
        if rank_list is not None and (not isinstance(rank_list, list) or len(rank_list) != count):
            raise _check.refused("Layout", "rank_list", _check.value(f"be a list of {count} devices"), rank_list)
        self._device_matrix, self._alias_name, self._rank_list = (device_matrix, alias_name,
            list(range(count)) if rank_list is None else rank_list)
        self._map = None

    def __call__(self, *tensor_map: Any) -> Layout:
        def axis(name):
            if name == "None":
                return -1
            if name not in self._alias_name:
                raise _check.refused("Layout", "the names", _check.value(f"be of {self._alias_name} or 'None'"), name)
            return len(self._alias_name) - 1 - self._alias_name.index(name)
        out = Layout(self._device_matrix, self._alias_name, self._rank_list)
        out._map = tuple([tuple([axis(n) for n in name]) if isinstance(name, tuple) else axis(name)
                          for name in tensor_map])
        return out

    def to_dict(self) -> dict[str, Any]:
        """The layout as a dict. ValueError if it was not called yet."""
        if self._map is None:
            raise ValueError("For 'Layout.to_dict', the layout must be called with the tensor's dimensions first.")
        return {"device_matrix": self._device_matrix, "tensor_map": self._map,
                "interleaved_parallel": "interleaved_parallel" in self._alias_name,
                "alias_name": self._alias_name, "rank_list": self._rank_list}


def shard(fn: Callable[..., Any], in_strategy: Any, out_strategy: Any = None, parameter_plan: Any = None) -> Any:
    """fn, which runs as it is: there is one device.

    in_strategy: a tuple. TypeError if it isn't, or if fn can't be called. RuntimeError if a strategy asks for more than
        one device."""
    if not callable(fn) and not isinstance(fn, Cell):
        raise _check.refused("shard", "fn", _check.type_("a Cell or a function"), fn)
    _check.need("shard", "in_strategy", in_strategy, _check.TUPLE)
    _check.need("shard", "parameter_plan", parameter_plan, _check.optional(_check.DICT))
    for strategy in (in_strategy, out_strategy or (), tuple((parameter_plan or {}).values())):
        if _devices(strategy) > 1:
            raise RuntimeError(f"For 'shard', the strategy {strategy} asks for several devices, but there is one.")
    return fn


def _devices(strategy):
    """The greatest number in a strategy."""
    if isinstance(strategy, Layout):
        return len(strategy._rank_list)
    if isinstance(strategy, (tuple, list)):
        return max([_devices(s) for s in strategy], default=1)
    return strategy if isinstance(strategy, int) else 1


__all__ = ["Layout", "shard"]
