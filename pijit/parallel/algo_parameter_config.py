"""Options of the search for a way to distribute operators over devices, of which there is one: they are kept and read
back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check


if TYPE_CHECKING:
    from typing import Any

_OPTIONS = {"fully_use_devices": False, "elementwise_op_strategy_follow": False, "enable_algo_approxi": False,
            "algo_approxi_epsilon": 0.1, "tensor_slice_align_enable": False, "tensor_slice_align_size": 16}
_values = {}


def set_algo_parameters(**kwargs: Any) -> None:
    """Sets options by keyword. ValueError for an unknown one, TypeError for a wrong type."""
    for key, value in kwargs.items():
        if key not in _OPTIONS:
            raise _check.unknown("set_algo_parameters", "keyword argument", key)
        kind = type(_OPTIONS[key])
        if not isinstance(value, kind) or kind is int and isinstance(value, bool):
            raise _check.refused("set_algo_parameters", key, _check.type_(kind.__name__), value)
    _values.update(kwargs)


def get_algo_parameters(attr_key: str) -> Any:
    """The value of an option. ValueError for an unknown one."""
    if attr_key not in _OPTIONS:
        raise _check.unknown("get_algo_parameters", "argument", attr_key)
    return _values.get(attr_key, _OPTIONS[attr_key])


def reset_algo_parameters() -> None:
    """All options as they were at the start."""
    _values.clear()


def set_op_strategy_config(mode: str = "SAVE", path: str = "") -> None:
    """Says whether strategies of operators are written to a file or read from it: with one device there are none.

    KeyError unless mode is "SAVE" or "LOAD" and path an absolute one that ends in .json, as in MindSpore."""
    if not path.startswith("/"):
        raise _check.refused("set_op_strategy_config", "path", _check.value("be an absolute path"), path, KeyError)
    if not path.endswith(".json"):
        raise _check.refused("set_op_strategy_config", "path", _check.value("end in .json"), path, KeyError)
    if mode not in ("SAVE", "LOAD"):
        raise _check.refused("set_op_strategy_config", "mode", _check.one_of("SAVE", "LOAD"), mode, KeyError)


__all__ = ["set_algo_parameters", "reset_algo_parameters", "get_algo_parameters", "set_op_strategy_config"]
