"""Settings of the data pipeline: seed, workers, prefetching.

Settings that only tune the reference implementation (autotune, watchdog, shared memory …) are kept and returned, and
change nothing here."""

from __future__ import annotations

import enum
import os
import random
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["set_sending_batches", "load", "set_seed", "get_seed", "set_prefetch_size",
           "get_prefetch_size", "set_num_parallel_workers", "get_num_parallel_workers", "set_numa_enable",
           "get_numa_enable",
           "set_monitor_sampling_interval", "get_monitor_sampling_interval", "set_callback_timeout",
           "get_callback_timeout",
           "set_auto_num_workers", "get_auto_num_workers", "set_enable_shared_mem", "get_enable_shared_mem",
           "set_enable_autotune", "get_enable_autotune", "set_autotune_interval", "get_autotune_interval",
           "set_auto_offload", "get_auto_offload", "set_enable_watchdog", "get_enable_watchdog", "set_fast_recovery",
           "get_fast_recovery", "set_debug_mode", "get_debug_mode", "set_error_samples_mode", "get_error_samples_mode",
           "ErrorSamplesMode", "set_iterator_mode", "get_iterator_mode", "set_multiprocessing_timeout_interval",
           "get_multiprocessing_timeout_interval", "set_multiprocessing_start_method",
           "get_multiprocessing_start_method"]


class ErrorSamplesMode(enum.IntEnum):
    """What is done with a row whose processing fails: raise, put another in its place, or leave it out."""

    RETURN = 0
    REPLACE = 1
    SKIP = 2


_DEFAULT_SEED = 5489
_state = {"seed": None, "seedings": 0, "version": 0, "num_parallel_workers": None, "prefetch_size": 16,
          "numa_enable": False,
          "monitor_sampling_interval": 1000, "callback_timeout": 60, "auto_num_workers": False,
          "enable_shared_mem": True,
          "enable_autotune": False, "autotune_interval": 0, "auto_offload": False, "enable_watchdog": True,
          "fast_recovery": True, "debug_mode": False, "debug_hooks": [], "error_samples_mode": ErrorSamplesMode.RETURN,
          "iterator_mode": {"do_copy": False, "parallel_convert": False}, "multiprocessing_timeout_interval": 300,
          "multiprocessing_start_method": "fork"}


def set_seed(seed: int) -> None:
    """Sets the seed of shuffles, samplers and random operations, and of `random` and `numpy.random`.

    Args: seed: an int in [0, 2³²). With the same seed a pipeline gives the same rows, whatever the number of
        workers."""
    check.integer("set_seed", "seed", seed, 0, 2**32 - 1)
    from pijit import random as global_random
    _state["seed"], _state["seedings"] = int(seed), global_random._chosen.times
    _state["version"] += 1
    random.seed(int(seed))
    np.random.seed(int(seed))


def get_seed() -> Any:
    """The seed set by set_seed here or by mindspore.set_seed, the later of both, or 5489, which stands for none."""
    seed = _last_seed()
    return _DEFAULT_SEED if seed is None else seed


def _last_seed():
    from pijit import random as global_random
    if _state["seed"] is not None and _state["seedings"] == global_random._chosen.times:
        return _state["seed"]
    return None if global_random._chosen.seed is None else global_random._chosen.seed % 2**32


def _seed_version():
    from pijit import random as global_random
    return _state["version"], global_random._chosen.times


def _chosen_seed():
    """The seed of a new iterator: the one that was set, else a new one each time."""
    seed = _last_seed()
    return int.from_bytes(os.urandom(4), "little") if seed is None else seed


def set_num_parallel_workers(num: Any) -> None:
    """Sets how many workers an operation uses that names no number itself (int ≥ 1)."""
    _state["num_parallel_workers"] = check.integer("set_num_parallel_workers", "num", num, 1, check.INT32_MAX)


def get_num_parallel_workers() -> Any:
    """The number of workers of operations that name none: as many as there are cores, 8 at most, unless it was set."""
    return _state["num_parallel_workers"] or min(8, cores())


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_prefetch_size(size: Any) -> None:
    """Sets how many rows (or batches) are prepared ahead of the one that is used (int ≥ 1)."""
    _state["prefetch_size"] = check.integer("set_prefetch_size", "size", size, 1, check.INT32_MAX)


def get_prefetch_size() -> Any:
    """How many rows (or batches) are prepared ahead."""
    return _state["prefetch_size"]


def set_debug_mode(debug_mode_flag: bool, debug_hook_list: Any = None) -> None:
    """In debug mode everything runs in the caller's thread, one row after the other, so that debuggers work.

    Args:
        debug_mode_flag: bool.
        debug_hook_list: functions called with the row that enters and leaves each operation of a map."""
    check.boolean("set_debug_mode", "debug_mode_flag", debug_mode_flag)
    hooks = debug_hook_list or []
    if not isinstance(hooks, list):
        raise TypeError(f"[set_debug_mode] debug_hook_list must be a list of functions, but got {check.shown(hooks)}.")
    for i, hook in enumerate(hooks):
        if not callable(hook):
            raise TypeError(f"[set_debug_mode] debug_hook_list[{i}] must be callable, but got {check.shown(hook)}.")
    _state["debug_mode"], _state["debug_hooks"] = debug_mode_flag, hooks


def get_debug_mode() -> Any:
    """Whether debug mode is on."""
    return _state["debug_mode"]


def set_error_samples_mode(error_samples_mode: Any) -> None:
    """Sets what becomes of a row whose map fails: ErrorSamplesMode.RETURN raises, REPLACE repeats an earlier good row,
    SKIP leaves it out."""
    check.instance("set_error_samples_mode", "error_samples_mode", error_samples_mode, ErrorSamplesMode)
    _state["error_samples_mode"] = error_samples_mode


def get_error_samples_mode() -> Any:
    """The ErrorSamplesMode in force."""
    return _state["error_samples_mode"]


def set_multiprocessing_start_method(start_method: str = "fork") -> None:
    """Sets how worker processes start: "fork" or "spawn" (then all functions must be picklable)."""
    _state["multiprocessing_start_method"] = check.choice("set_multiprocessing_start_method", "start_method",
                                                          start_method,
                                                          ("fork", "spawn"))


def get_multiprocessing_start_method() -> Any:
    """How worker processes start."""
    return _state["multiprocessing_start_method"]


def set_iterator_mode(do_copy: bool = False, parallel_convert: bool = False) -> None:
    """Sets whether iterators copy what they give out, and convert columns in parallel (the latter changes nothing
    here)."""
    check.boolean("set_iterator_mode", "do_copy", do_copy)
    check.boolean("set_iterator_mode", "parallel_convert", parallel_convert)
    _state["iterator_mode"] = {"do_copy": do_copy, "parallel_convert": parallel_convert}


def get_iterator_mode() -> dict[Any, Any]:
    """The dict {"do_copy": …, "parallel_convert": …}."""
    return dict(_state["iterator_mode"])


def set_enable_autotune(enable: Any, filepath_prefix: Any = None) -> None:
    """Kept and returned; nothing is tuned here."""
    check.boolean("set_enable_autotune", "enable", enable)
    check.string("set_enable_autotune", "filepath_prefix", filepath_prefix, none=True)
    _state["enable_autotune"] = enable


def set_sending_batches(batch_num: Any) -> None:
    """Kept for scripts that send to a device; nothing is sent here."""
    check.integer("set_sending_batches", "batch_num", batch_num)


def load(file: Any) -> None:
    """Reads settings from a JSON file: the keys seed, numParallelWorkers, opConnectorSize (prefetch),
    monitorSamplingInterval.

    Raises RuntimeError when the file cannot be read as that."""
    import json
    check.string("config.load", "file", file)
    try:
        with open(file, encoding="utf-8") as f:
            values = json.load(f)
        if not isinstance(values, dict):
            raise ValueError("the top level is no object")
    except (OSError, ValueError) as e:
        raise RuntimeError(f"[config.load] cannot read settings from {file!r}: {e}") from e
    for key, setter in (("seed", set_seed), ("numParallelWorkers", set_num_parallel_workers),
                        ("opConnectorSize", set_prefetch_size),
                        ("monitorSamplingInterval", set_monitor_sampling_interval)):
        if key in values:
            setter(values[key])


def set_numa_enable(numa_enable: Any) -> None:
    """Kept and returned; it changes nothing here."""
    _state["numa_enable"] = check.boolean("set_numa_enable", "numa_enable", numa_enable)


def set_auto_num_workers(enable: Any) -> None:
    """Kept and returned; it changes nothing here."""
    _state["auto_num_workers"] = check.boolean("set_auto_num_workers", "enable", enable)


def set_enable_shared_mem(enable: Any) -> None:
    """Kept and returned; it changes nothing here."""
    _state["enable_shared_mem"] = check.boolean("set_enable_shared_mem", "enable", enable)


def set_auto_offload(offload: Any) -> None:
    """Kept and returned; it changes nothing here."""
    _state["auto_offload"] = check.boolean("set_auto_offload", "offload", offload)


def set_enable_watchdog(enable: Any) -> None:
    """Kept and returned; it changes nothing here."""
    _state["enable_watchdog"] = check.boolean("set_enable_watchdog", "enable", enable)


def set_fast_recovery(fast_recovery: Any) -> None:
    """Kept and returned; it changes nothing here."""
    _state["fast_recovery"] = check.boolean("set_fast_recovery", "fast_recovery", fast_recovery)


def set_monitor_sampling_interval(interval: Any) -> None:
    """Kept and returned; it changes nothing here."""
    _state["monitor_sampling_interval"] = check.integer("set_monitor_sampling_interval", "interval", interval, 1,
                                                        check.INT32_MAX)


def set_callback_timeout(timeout: float) -> None:
    """Sets how many seconds a WaitedDSCallback waits for the training loop (int ≥ 1)."""
    _state["callback_timeout"] = check.integer("set_callback_timeout", "timeout", timeout, 1, check.INT32_MAX)


def set_autotune_interval(interval: Any) -> None:
    """Kept and returned; it changes nothing here."""
    _state["autotune_interval"] = check.integer("set_autotune_interval", "interval", interval, 0, check.INT32_MAX)


def set_multiprocessing_timeout_interval(interval: Any) -> None:
    """Kept and returned; it changes nothing here."""
    _state["multiprocessing_timeout_interval"] = check.integer("set_multiprocessing_timeout_interval", "interval",
                                                               interval, 1,
                                                               check.INT32_MAX)


def _getter(name):
    def get():
        return _state[name]
    get.__name__ = get.__qualname__ = f"get_{name}"
    get.__doc__ = f"The value that set_{name} set last."
    return get


get_multiprocessing_timeout_interval: Callable[[], Any]
get_autotune_interval: Callable[[], Any]
get_callback_timeout: Callable[[], Any]
get_monitor_sampling_interval: Callable[[], Any]
get_enable_autotune: Callable[[], Any]
get_fast_recovery: Callable[[], Any]
get_enable_watchdog: Callable[[], Any]
get_auto_offload: Callable[[], Any]
get_enable_shared_mem: Callable[[], Any]
get_auto_num_workers: Callable[[], Any]
get_numa_enable: Callable[[], Any]
(get_numa_enable, get_auto_num_workers, get_enable_shared_mem, get_auto_offload, get_enable_watchdog, get_fast_recovery,
 get_enable_autotune, get_monitor_sampling_interval, get_callback_timeout, get_autotune_interval,
 get_multiprocessing_timeout_interval) = map(_getter, (
     "numa_enable", "auto_num_workers", "enable_shared_mem", "auto_offload", "enable_watchdog", "fast_recovery",
     "enable_autotune",
     "monitor_sampling_interval", "callback_timeout", "autotune_interval", "multiprocessing_timeout_interval"))
