"""Execution mode and device."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pijit import _check
from pijit import _C

if TYPE_CHECKING:
    from typing import Any

GRAPH_MODE = 0
PYNATIVE_MODE = 1
_KNOWN = ("CPU", "GPU", "Ascend", "Davinci")

LAX, COMPATIBLE, STRICT = 2, 1, 0

_context = {"mode": PYNATIVE_MODE, "device_target": "CPU", "device_id": 0, "save_graphs": False, "jit_config": {}}
# Options of other devices and of MindSpore's own compiler: checked, kept, and without effect. Their defaults.
_kept = {"aoe_config": {}, "aoe_tune_mode": "", "ascend_config": {}, "check_bprop": False, "compile_cache_path": "",
         "debug_level": 0, "deterministic": "OFF",
         "disable_format_transform": False, "enable_compile_cache": False, "enable_graph_kernel": False,
         "enable_reduce_precision": True, "env_config_path": "",
         "exec_order": "bfs", "gpu_config": {}, "grad_for_scalar": False, "graph_kernel_flags": "",
         "inter_op_parallel_num": 0, "jit_level": "",
         "jit_syntax_level": LAX, "max_call_depth": 1000, "max_device_memory": "1024GB", "memory_optimize_level": "O0",
         "mempool_block_size": "1GB",
         "op_timeout": 900, "precompile_only": False, "print_file_path": "", "profiling_options": "training_trace",
         "pynative_synchronize": False,
         "reserve_class_name_in_scope": True, "runtime_num_threads": 0, "save_graphs_path": ".",
         "support_binary": False, "variable_memory_max_size": "0GB",
         # of earlier versions
         "auto_tune_mode": "", "backend_policy": "ms", "device_num": 1, "enable_dump": False, "enable_profiling": False,
         "enable_sparse": False, "max_size": 0,
         "save_dump_path": ".",
         **dict.fromkeys(("enable_auto_mixed_precision", "enable_dynamic_memory", "enable_gpu_summary", "enable_hccl",
                          "enable_ir_fusion", "enable_loop_sink", "enable_mem_reuse", "enable_task_sink",
                          "save_ms_model"), False),
         "graph_memory_max_size": "0GB", "save_ms_model_path": "."}
_choices = {"deterministic": ("ON", "OFF"), "memory_optimize_level": ("O0", "O1"), "jit_level": ("", "O0", "O1", "O2"),
            "jit_syntax_level": (LAX, COMPATIBLE, STRICT),
            "save_graphs": (False, True, 0, 1, 2, 3), "debug_level": (0, 1)}
_override_device = os.environ.get("PIJIT_DEVICE") or None


def _check_device(target):
    _check.need("context.set_context", "device_target", target, _check.one_of(*_KNOWN))
    try:
        _C.find_device("context.set_context", target)
    except RuntimeError as e:
        raise RuntimeError(f"{e}. Run with PIJIT_DEVICE=CPU or `python -m pijit --device CPU` to override what a "
                           "script asks for.") from None


def _check_option(key, value):
    default = _context.get(key, _kept.get(key))
    if key in _choices:
        _check.need("context.set_context", key, value, _check.one_of(*_choices[key]))
    elif isinstance(value, bool) != isinstance(default, bool) or not isinstance(value, type(default)):
        raise _check.refused("context.set_context", key, _check.type_(type(default).__name__), value)
    elif key == "device_id" and not 0 <= value < 4096:
        raise _check.refused("context.set_context", "device_id", _check.within(0, 4095), value)
    elif type(value) is int and value < (key == "max_call_depth"):
        raise _check.refused("context.set_context", key,
                             _check.value(f'not be less than {int(key == "max_call_depth")}'), value)


def set_context(**kwargs: Any) -> None:
    """Sets mode (GRAPH_MODE or PYNATIVE_MODE), device_target and other options by keyword.

    Raises ValueError for an unknown key or value, RuntimeError for a device that is not there."""
    updates = {}
    for key, value in kwargs.items():
        if key == "mode":
            if value not in (GRAPH_MODE, PYNATIVE_MODE):
                raise _check.refused("context.set_context", "mode",
                                     _check.value("be GRAPH_MODE (0) or PYNATIVE_MODE (1)"), value)
        elif key == "device_target":
            value = _override_device or value
            _check_device(value)
        elif key in _context or key in _kept:
            _check_option(key, value)
        else:
            import difflib
            near = difflib.get_close_matches(key, [*_context, *_kept], 3)
            raise ValueError(f"For 'context.set_context', the keyword argument {key!r} is not recognized. The nearest "
                             f"there are: {', '.join(near) or 'none'}.")
        updates[key] = value
    _context.update(updates)
    if "device_target" in updates:
        from pijit import random
        _C.set_device("context.set_context", updates["device_target"])
        random.place(updates["device_target"])
    _C.set_graph_mode(_context["mode"] == GRAPH_MODE)


def get_context(attr_key: str) -> Any:
    """The value of one option."""
    if attr_key not in _context and attr_key not in _kept:
        raise _check.unknown("context.get_context", "argument", attr_key)
    return _context[attr_key] if attr_key in _context else _kept[attr_key]


def set_device(device_target: str, device_id: int = 0) -> None:
    """Chooses the device."""
    set_context(device_target=device_target, device_id=device_id)


def get_current_device() -> tuple[Any, Any]:
    """(the device's name, its number)."""
    return get_context("device_target"), get_context("device_id")


def set_auto_parallel_context(**kwargs: Any) -> None:
    """Sets options of training on several devices.

    All parallel modes are alike, as there is one device; what asks for more raises RuntimeError."""
    from pijit.parallel import _auto_parallel_context
    _auto_parallel_context.set_auto_parallel_context(**kwargs)


def get_auto_parallel_context(attr_key: str) -> Any:
    """The value of an option of set_auto_parallel_context. ValueError for an unknown one."""
    from pijit.parallel import _auto_parallel_context
    return _auto_parallel_context.get_auto_parallel_context(attr_key)


def reset_auto_parallel_context() -> None:
    """Options of set_auto_parallel_context as they were at the start."""
    from pijit.parallel import _auto_parallel_context
    _auto_parallel_context.reset_auto_parallel_context()


def set_ps_context(**kwargs: Any) -> None:
    """Sets options of parameter servers. RuntimeError for enable_ps=True, as there is one process."""
    from pijit.parallel import _ps_context
    _ps_context.set_ps_context(**kwargs)


def get_ps_context(attr_key: str) -> Any:
    """The value of an option of set_ps_context. ValueError for an unknown one."""
    from pijit.parallel import _ps_context
    return _ps_context.get_ps_context(attr_key)


def reset_ps_context() -> None:
    """Options of set_ps_context as they were at the start."""
    from pijit.parallel import _ps_context
    _ps_context.reset_ps_context()


class ParallelMode:
    """Names of parallel modes, which with one device are alike."""

    STAND_ALONE = "stand_alone"
    DATA_PARALLEL = "data_parallel"
    HYBRID_PARALLEL = "hybrid_parallel"
    SEMI_AUTO_PARALLEL = "semi_auto_parallel"
    AUTO_PARALLEL = "auto_parallel"
    MODE_LIST = [STAND_ALONE, DATA_PARALLEL, HYBRID_PARALLEL, SEMI_AUTO_PARALLEL, AUTO_PARALLEL]
