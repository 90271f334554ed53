"""Options of the search for a way to distribute operators over devices, of which there is one: they are kept and read
back."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from typing import Any

_OPTIONS = {"fully_use_devices": False, "elementwise_op_strategy_follow": False, "enable_algo_approxi": False,
            "algo_approxi_epsilon": 0.1, "tensor_slice_align_enable": False, "tensor_slice_align_size": 16}
_values = {}


def set_algo_parameters(**kwargs: Any) -> None:
    """Sets options by keyword. ValueError for an unknown one, TypeError for a wrong type."""
    for key, value in kwargs.items():
        if key not in _OPTIONS:
            raise ValueError(f"For 'set_algo_parameters', the keyword argument {key!r} is not recognized.")
        kind = type(_OPTIONS[key])
        if not isinstance(value, kind) or kind is int and isinstance(value, bool):
            raise TypeError(f"For 'set_algo_parameters', {key!r} must be {kind.__name__}, but got "
                            f"{type(value).__name__}.")
    _values.update(kwargs)


def get_algo_parameters(attr_key: str) -> Any:
    """The value of an option. ValueError for an unknown one."""
    if attr_key not in _OPTIONS:
        raise ValueError(f"For 'get_algo_parameters', the argument {attr_key!r} is not recognized.")
    return _values.get(attr_key, _OPTIONS[attr_key])


def reset_algo_parameters() -> None:
    """All options as they were at the start."""
    _values.clear()


def set_op_strategy_config(mode: str = "SAVE", path: str = "") -> None:
    """Says whether strategies of operators are written to a file or read from it: with one device there are none.

    KeyError unless mode is "SAVE" or "LOAD" and path an absolute one that ends in .json, as in MindSpore."""
    if not path.startswith("/"):
        raise KeyError("For 'set_op_strategy_config', 'path' must be an absolute path.")
    if not path.endswith(".json"):
        raise KeyError("For 'set_op_strategy_config', 'path' must end in .json.")
    if mode not in ("SAVE", "LOAD"):
        raise KeyError(f"For 'set_op_strategy_config', 'mode' must be 'SAVE' or 'LOAD', but got {mode!r}.")


__all__ = ["set_algo_parameters", "reset_algo_parameters", "get_algo_parameters", "set_op_strategy_config"]
