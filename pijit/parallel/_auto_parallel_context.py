"""The parallel context: options of training on several devices, which are kept and read back. Data parallel training
uses them; what asks for more devices than there are processes raises RuntimeError."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit.communication._comm_helper import World

if TYPE_CHECKING:
    from typing import Any

_MODES = ("stand_alone", "data_parallel", "hybrid_parallel", "semi_auto_parallel", "auto_parallel")
_SEARCH = ("recursive_programming", "dynamic_programming", "sharding_propagation")
_FUSION = {"mode": "auto", "config": None}

# option: (value at the start, type)
_OPTIONS = {
    "device_num": (1, int), "global_rank": (0, int), "gradients_mean": (False, bool),
    "gradient_fp32_sync": (True, bool), "parallel_mode": ("stand_alone", str),
    "auto_parallel_search_mode": ("recursive_programming", str), "search_mode": ("recursive_programming", str),
    "sharding_propagation": (False, bool),
    "parameter_broadcast": (False, bool), "strategy_ckpt_load_file": ("", str), "strategy_ckpt_save_file": ("", str),
    "full_batch": (False, bool),
    "dataset_strategy": ("data_parallel", (str, tuple, list)), "enable_parallel_optimizer": (False, bool),
    "all_reduce_fusion_config": ([], list),
    "pipeline_stages": (1, int), "pipeline_result_broadcast": (False, bool), "pipeline_interleave": (False, bool),
    "pipeline_scheduler": ("1f1b", str),
    "pipeline_config": ({"pipeline_interleave": False, "pipeline_scheduler": "1f1b"}, dict),
    "grad_accumulation_step": (1, int),
    "loss_repeated_mean": (True, bool), "parallel_optimizer_config": ({}, dict),
    "parallel_optimizer_threshold": (64, int),
    "comm_fusion": ({"openstate": True, "allreduce": _FUSION, "allgather": _FUSION, "reducescatter": _FUSION}, dict),
    "strategy_ckpt_config": ({"load_file": "", "save_file": "", "only_trainable_params": True}, dict),
    "enable_alltoall": (False, bool),
    "force_fp32_communication": (False, bool), "group_ckpt_save_file": ("", str),
    "communi_parallel_mode": ("all_group_parallel", str),
    "optimizer_weight_shard_size": (-1, int), "optimizer_weight_shard_aggregated_save": (False, bool),
    "auto_pipeline": (False, bool),
    "dump_local_norm": (False, bool), "dump_local_norm_path": ("", str), "dump_device_local_norm": (False, bool),
    "enable_micro_batch_interleaved": (False, bool),
    "auto_parallel_new_interface": (False, bool), "gradient_accumulation_shard": (False, bool),
}
_values = {}
_EARLIER = {"mirror_mean": "gradients_mean", "cast_before_mirror": "gradient_fp32_sync"}  # names of MindSpore 1.0


def set_auto_parallel_context(**kwargs: Any) -> None:
    """Sets options of training on several devices: parallel_mode, gradients_mean, …

    All parallel modes are accepted where there is one process, as they are alike then; with several, data_parallel is
    supported. Another device_num and global_rank than there are, and pipeline_stages above 1, raise RuntimeError;
    unknown options and values ValueError, wrong types TypeError. Nothing changes then."""
    kwargs = {_EARLIER.get(key, key): value for key, value in kwargs.items()}
    for key, value in kwargs.items():
        if key not in _OPTIONS:
            raise _check.unknown("set_auto_parallel_context", "keyword argument", key)
        kind = _OPTIONS[key][1]
        if not isinstance(value, kind) or kind is int and isinstance(value, bool):
            names = kind.__name__ if isinstance(kind, type) else " or ".join(k.__name__ for k in kind)
            raise _check.refused("set_auto_parallel_context", key, _check.type_(names), value)
        if key == "parallel_mode" and value not in _MODES:
            raise _check.refused("set_auto_parallel_context", "parallel_mode", _check.one_of(*_MODES), value)
        if key in ("search_mode", "auto_parallel_search_mode") and value not in _SEARCH:
            raise _check.refused("set_auto_parallel_context", key, _check.one_of(*_SEARCH), value)
        if key == "dataset_strategy" and isinstance(value, str) and value not in ("full_batch", "data_parallel"):
            raise _check.refused("set_auto_parallel_context", "dataset_strategy",
                                 _check.one_of("full_batch", "data_parallel"), value)
        if key == "global_rank" and not 0 <= value <= 4095:
            raise _check.refused("set_auto_parallel_context", "global_rank", _check.within(0, 4095), value)
        if key in ("device_num", "pipeline_stages", "grad_accumulation_step") and value < 1:
            raise _check.refused("set_auto_parallel_context", key, _check.value("be a positive integer"), value)
        n, rank = World.all.size, World.rank
        if (key == "device_num" and value not in (1, n) or key == "pipeline_stages" and value > 1
                or key == "global_rank" and value not in (0, rank)):
            there_is = "one device and one process (rank 0 of 1)" if n == 1 else f"data parallel on rank {rank} of {n}"
            raise _check.refused("set_auto_parallel_context", key, _check.value(f"be what {there_is} allow"), value,
                                 RuntimeError)
        if key == "parallel_mode" and n > 1 and value not in ("stand_alone", "data_parallel"):
            raise _check.refused("set_auto_parallel_context", "parallel_mode",
                                 _check.value("be 'stand_alone' or 'data_parallel' with several processes"), value,
                                 RuntimeError)
    for key, value in kwargs.items():
        _values[key] = value
        if key in ("search_mode", "auto_parallel_search_mode"):
            _values["search_mode"] = _values["auto_parallel_search_mode"] = value
        if key == "full_batch":
            _values["dataset_strategy"] = "full_batch" if value else "data_parallel"
        if key == "dataset_strategy":
            _values["full_batch"] = value == "full_batch"


def get_auto_parallel_context(attr_key: Any) -> Any:
    """The value of an option. ValueError for an unknown one."""
    if attr_key not in _OPTIONS:
        raise _check.unknown("get_auto_parallel_context", "argument", attr_key)
    of_world = {"device_num": World.all.size, "global_rank": World.rank}
    return _values.get(attr_key, of_world.get(attr_key, _OPTIONS[attr_key][0]))


def reset_auto_parallel_context() -> None:
    """All options as they were at the start."""
    _values.clear()
