"""Devices, and what `pijit.runtime` says of streams and memory, asked by device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit import _C, context, runtime
from pijit.runtime import (Event as Event, Stream as Stream, StreamCtx as StreamCtx,
                           communication_stream as communication_stream, current_stream as current_stream,
                           default_stream as default_stream, set_cur_stream as set_cur_stream,
                           synchronize as synchronize)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_TARGETS = ("CPU", "GPU", "Ascend")


def _target(name, target):
    """The device, checked: ValueError for an unknown one, and for one that isn't here."""
    if target is None:
        return context.get_context("device_target")
    _check.need(f"hal.{name}", "device_target", target, _check.one_of(*_TARGETS))
    if not _there(target):
        raise ValueError(
            f"For 'hal.{name}', the device {target} is not available here: hal.is_available tells which are.")
    return target


def _there(target):
    try:
        _C.find_device("hal", target)
    except RuntimeError:
        return False
    return True


def is_available(device_target: str) -> bool:
    """Whether there are devices of this kind."""
    _check.need("hal.is_available", "device_target", device_target, _check.one_of(*_TARGETS))
    return _there(device_target)


def is_initialized(device_target: str) -> bool:
    """Whether devices of this kind are in use."""
    return _target("is_initialized", device_target) in _C.devices()


def device_count(device_target: str | None = None) -> int:
    """How many devices of this kind there are: 1."""
    _target("device_count", device_target)
    return 1


def _check_id(name, device_id):
    _check.need(f"hal.{name}", "device_id", device_id, _check.INT)
    if device_id != 0:
        raise _check.refused(f"hal.{name}", "device_id", _check.one_of(0), device_id)


def get_device_name(device_id: int, device_target: str | None = None) -> Any:
    """The device's name, as "CPU"."""
    _check_id("get_device_name", device_id)
    return _target("get_device_name", device_target)


def get_device_capability(device_id: int, device_target: str | None = None) -> None:
    """None: what GPUs have."""
    _check_id("get_device_capability", device_id)
    _target("get_device_capability", device_target)


def get_device_properties(device_id: int, device_target: str | None = None) -> None:
    """None: what GPUs and Ascends have."""
    _check_id("get_device_properties", device_id)
    _target("get_device_properties", device_target)


def get_arch_list(device_target: str | None = None) -> None:
    """None: what GPUs have."""
    _target("get_arch_list", device_target)


def _of(name):
    f = getattr(runtime, name)

    def call(device_target=None):
        _target(name, device_target)
        return f()
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f.__doc__
    return call


memory_summary: Callable[..., Any]
memory_stats: Callable[..., Any]
memory_stats, memory_summary = _of("memory_stats"), _of("memory_summary")
reset_max_memory_reserved: Callable[..., Any]
max_memory_reserved: Callable[..., Any]
memory_reserved: Callable[..., Any]
memory_reserved, max_memory_reserved, reset_max_memory_reserved = (_of("memory_reserved"), _of("max_memory_reserved"),
    _of("reset_max_memory_reserved"))
reset_max_memory_allocated: Callable[..., Any]
max_memory_allocated: Callable[..., Any]
memory_allocated: Callable[..., Any]
memory_allocated, max_memory_allocated, reset_max_memory_allocated = (_of("memory_allocated"),
    _of("max_memory_allocated"), _of("reset_max_memory_allocated"))
empty_cache: Callable[..., Any]
reset_peak_memory_stats: Callable[..., Any]
reset_peak_memory_stats, empty_cache = _of("reset_peak_memory_stats"), _of("empty_cache")
