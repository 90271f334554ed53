"""Execution mode and device."""

import os

from pijit import _C

GRAPH_MODE = 0
PYNATIVE_MODE = 1
DEVICES = ("CPU",)
_KNOWN = ("CPU", "GPU", "Ascend", "Davinci")

_context = {"mode": PYNATIVE_MODE, "device_target": "CPU", "device_id": 0, "save_graphs": False, "jit_config": {}}
_ignored = {"save_graphs_path", "enable_graph_kernel", "max_call_depth", "precompile_only", "deterministic", "pynative_synchronize",
            "jit_syntax_level", "memory_optimize_level", "max_device_memory", "runtime_num_threads", "inter_op_parallel_num",
            "graph_kernel_flags", "enable_compile_cache", "compile_cache_path", "reserve_class_name_in_scope", "jit_level",
            "op_timeout", "debug_level", "print_file_path", "env_config_path", "exec_order", "device_num", "check_bprop",
            "max_size", "variable_memory_max_size", "enable_reduce_precision"}
_override_device = os.environ.get("PIJIT_DEVICE") or None


def _check_device(target):
    if target not in _KNOWN:
        raise ValueError(f"For 'context.set_context', 'device_target' must be one of {_KNOWN}, but got {target!r}.")
    if target not in DEVICES:
        raise RuntimeError(f"device_target={target!r} is not available: this build of pijit has {', '.join(DEVICES)}. "
                           "Run with PIJIT_DEVICE=CPU or `python -m pijit --device CPU` to override what a script asks for.")


def set_context(**kwargs):
    """Sets mode (GRAPH_MODE or PYNATIVE_MODE), device_target and other options by keyword.

    Raises ValueError for an unknown key or value, RuntimeError for a device that is not there."""
    updates = {}
    for key, value in kwargs.items():
        if key == "mode":
            if value not in (GRAPH_MODE, PYNATIVE_MODE):
                raise ValueError(f"For 'context.set_context', 'mode' must be GRAPH_MODE (0) or PYNATIVE_MODE (1), but got {value!r}.")
        elif key == "device_target":
            value = _override_device or value
            _check_device(value)
        elif key not in _context and key not in _ignored:
            raise ValueError(f"For 'context.set_context', the keyword argument {key!r} is not recognized.")
        updates[key] = value
    _context.update(updates)
    _C.set_graph_mode(_context["mode"] == GRAPH_MODE)


def get_context(attr_key):
    """The value of one option."""
    if attr_key not in _context and attr_key not in _ignored:
        raise ValueError(f"For 'context.get_context', the argument {attr_key!r} is not recognized.")
    return _context.get(attr_key)


def set_device(device_target, device_id=0):
    """Chooses the device."""
    set_context(device_target=device_target, device_id=device_id)


def set_auto_parallel_context(**kwargs):
    """Sets options of training on several devices. All parallel modes are alike, as there is one device; what asks for more raises RuntimeError."""
    from pijit.parallel import _auto_parallel_context
    _auto_parallel_context.set_auto_parallel_context(**kwargs)


def get_auto_parallel_context(attr_key):
    """The value of an option of set_auto_parallel_context. ValueError for an unknown one."""
    from pijit.parallel import _auto_parallel_context
    return _auto_parallel_context.get_auto_parallel_context(attr_key)


def reset_auto_parallel_context():
    """Options of set_auto_parallel_context as they were at the start."""
    from pijit.parallel import _auto_parallel_context
    _auto_parallel_context.reset_auto_parallel_context()


def set_ps_context(**kwargs):
    """Sets options of parameter servers. RuntimeError for enable_ps=True, as there is one process."""
    from pijit.parallel import _ps_context
    _ps_context.set_ps_context(**kwargs)


def get_ps_context(attr_key):
    """The value of an option of set_ps_context. ValueError for an unknown one."""
    from pijit.parallel import _ps_context
    return _ps_context.get_ps_context(attr_key)


def reset_ps_context():
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
