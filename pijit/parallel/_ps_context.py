"""The context of parameter servers, which are other processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check


if TYPE_CHECKING:
    from typing import Any

_OPTIONS = {"enable_ps": False, "enable_ssl": False, "client_password": "", "server_password": "",
            "config_file_path": "", "scheduler_manage_port": 0,
            "recovery_mode": False}
_values = {}


def set_ps_context(**kwargs: Any) -> None:
    """Sets options of parameter servers. RuntimeError for enable_ps=True, as there is one process; ValueError for an
    unknown option."""
    for key, value in kwargs.items():
        if key not in _OPTIONS:
            raise _check.unknown("set_ps_context", "keyword argument", key)
        if key == "enable_ps" and value:
            raise RuntimeError(
                "For 'set_ps_context', 'enable_ps' needs other processes, but there is one process (rank 0 of 1).")
    _values.update(kwargs)


def get_ps_context(attr_key: Any) -> Any:
    """The value of an option. ValueError for an unknown one."""
    if attr_key not in _OPTIONS:
        raise _check.unknown("get_ps_context", "argument", attr_key)
    return _values.get(attr_key, _OPTIONS[attr_key])


def reset_ps_context() -> None:
    """All options as they were at the start."""
    _values.clear()
