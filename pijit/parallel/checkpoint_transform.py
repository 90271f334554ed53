"""Checkpoints of training on several devices. There is one device, whose checkpoints are whole."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from pijit import _check
from pijit import serialization
from pijit.serialization import load_segmented_checkpoints
from pijit.nn.cell import Cell
from pijit.ops import function as F
from pijit.parameter import Parameter

if TYPE_CHECKING:
    from typing import Any


def _several(name):
    return RuntimeError(f"For '{name}', there is one device: checkpoints that are divided over several devices by a "
                        "strategy "
                        "are not supported.")


def rank_list_for_transform(rank_id: Any, src_strategy_file: Any = None, dst_strategy_file: Any = None) -> list[int]:
    """The devices whose checkpoints make up that of rank_id: [rank_id]. RuntimeError where there are strategies."""
    _check.need("rank_list_for_transform", "rank_id", rank_id, _check.INT, _check.at_least(0))
    if src_strategy_file is not None or dst_strategy_file is not None:
        raise _several("rank_list_for_transform")
    return [rank_id]


def transform_checkpoint_by_rank(rank_id: Any, checkpoint_files_map: Any, save_checkpoint_file_name: Any,
                                 src_strategy_file: Any = None, dst_strategy_file: Any = None) -> None:
    """Writes the checkpoint of rank_id to another file. RuntimeError where there are strategies."""
    rank_list_for_transform(rank_id, src_strategy_file, dst_strategy_file)
    if not isinstance(checkpoint_files_map, dict) or rank_id not in checkpoint_files_map:
        raise _check.refused("transform_checkpoint_by_rank", "checkpoint_files_map",
                             _check.value(f"be a dict with a file for {rank_id}"), checkpoint_files_map)
    serialization.save_checkpoint(serialization.load_checkpoint(checkpoint_files_map[rank_id]),
                                  save_checkpoint_file_name)


def transform_checkpoints(src_checkpoints_dir: Any, dst_checkpoints_dir: Any, ckpt_prefix: Any,
                          src_strategy_file: Any = None, dst_strategy_file: Any = None, process_num: int = 1,
                          output_format: str = "ckpt") -> Any:
    """Divides checkpoints anew over devices: RuntimeError, as there is one."""
    raise _several("transform_checkpoints")


rank_list_for_convert, convert_checkpoint_by_rank = rank_list_for_transform, transform_checkpoint_by_rank
convert_checkpoints = transform_checkpoints


def unified_safetensors(src_dir: Any, src_strategy_file: Any, dst_dir: Any, merge_with_redundancy: bool = True,
                        file_suffix: Any = None, max_process_num: int = 64, choice_func: Any = None,
                        split_dst_file: tuple[Any, ...] = ()) -> None:
    """Merges the .safetensors files below src_dir into dst_dir/part0.safetensors.

    Says in dst_dir/param_name_map.json which file holds which parameter.

    file_suffix: files are taken that end so. choice_func(name): whether a parameter is taken, or its new name. Raises
    ValueError where there are no files, or two hold different values for a name, RuntimeError where there is a
    strategy."""
    if src_strategy_file is not None:
        raise _several("unified_safetensors")
    ending = (file_suffix or "") + ".safetensors"
    files = sorted(os.path.join(folder, f) for folder, _, found in os.walk(src_dir) for f in found
                   if f.endswith(ending))
    if not files:
        raise ValueError(f"For 'unified_safetensors', there is no file '*{ending}' in {src_dir!r}.")
    merged = {}
    for path in files:
        for name, p in serialization.load_checkpoint(path, format="safetensors").items():
            chosen = True if choice_func is None else choice_func(name)
            name = chosen if isinstance(chosen, str) else name
            if chosen and name in merged and (merged[name].shape != p.shape or bool((merged[name] != p).any())):
                raise ValueError(f"For 'unified_safetensors', two files hold different values for {name!r}.")
            if chosen:
                merged[name] = p
    os.makedirs(dst_dir, exist_ok=True)
    serialization.save_checkpoint(merged, os.path.join(dst_dir, "part0.safetensors"), format="safetensors")
    with open(os.path.join(dst_dir, "param_name_map.json"), "w", encoding="utf-8") as f:
        json.dump({"weight_map": dict.fromkeys(merged, "part0.safetensors")}, f)


def merge_pipeline_strategys(src_strategy_dirs: Any, dst_strategy_file: Any) -> Any:
    """Merges strategies of the stages of a pipeline: RuntimeError, as there is one device."""
    raise _several("merge_pipeline_strategys")


def sync_pipeline_shared_parameters(net: Cell) -> None:
    """Makes parameters equal that several stages of a pipeline share: with one stage they are.

    TypeError if net is no Cell."""
    _check.need("sync_pipeline_shared_parameters", "net", net, _check.a(Cell))


def load_distributed_checkpoint(network: Cell, checkpoint_filenames: Any = None, predict_strategy: Any = None,
                                train_strategy_filename: Any = None, strict_load: bool = False, dec_key: Any = None,
                                dec_mode: str = "AES-GCM", format: str = "ckpt", **options: Any) -> None:
    """Loads a checkpoint of one device into a network. RuntimeError for several files or strategies."""
    one = isinstance(checkpoint_filenames, (list, tuple)) and len(checkpoint_filenames) == 1
    if not one or predict_strategy or train_strategy_filename:
        raise _several("load_distributed_checkpoint")
    values = serialization.load_checkpoint(checkpoint_filenames[0], format=format)
    serialization.load_param_into_net(network, values, strict_load)


def merge_sliced_parameter(sliced_parameters: Any, strategy: Any = None) -> Any:
    """The Parameter whose slices along the first axis, in the order of their devices, are sliced_parameters.

    Raises TypeError and ValueError for what is no list of Parameters of one name, shape and dtype, RuntimeError for a
    strategy that slices in another way."""
    name = "merge_sliced_parameter"
    _check.need(name, "sliced_parameters", sliced_parameters, _check.LIST)
    if not sliced_parameters:
        raise _check.empty(name, "sliced_parameters")
    _check.need(name, "strategy", strategy, _check.optional(_check.DICT))
    for p in sliced_parameters:
        if not isinstance(p, Parameter):
            raise _check.refused(name, "sliced_parameters", _check.value("hold Parameters", shown=_check.type_name), p,
                                 TypeError)
    first = sliced_parameters[0]
    if any((p.name, p.shape, p.dtype) != (first.name, first.shape, first.dtype) for p in sliced_parameters):
        raise _check.refused(name, "the slices", _check.value("have one name, shape and dtype"),
                             [(p.name, p.shape, str(p.dtype)) for p in sliced_parameters[:4]])
    if strategy:
        raise _several(name)
    whole = first if len(sliced_parameters) == 1 or not first.ndim else F.concat([p * 1 for p in sliced_parameters], 0)
    return Parameter(whole, name=first.name, requires_grad=first.requires_grad)


def restore_group_info_list(group_info_file_name: Any) -> Any:
    """The devices that hold the same parameters: RuntimeError, as there is one."""
    raise _several("restore_group_info_list")


def build_searched_strategy(strategy_filename: Any) -> Any:
    """A strategy from its file: RuntimeError, as there is one device."""
    raise _several("build_searched_strategy")


def parameter_broadcast(net: Cell, layout: Any, cur_rank: int = 0, initial_rank: int = 0) -> None:
    """Gives parameters to the devices that hold the same ones: with one device they have them."""
    _check.need("parameter_broadcast", "net", net, _check.a(Cell))


__all__ = ["rank_list_for_transform", "transform_checkpoint_by_rank", "transform_checkpoints", "rank_list_for_convert",
           "convert_checkpoint_by_rank", "convert_checkpoints", "merge_pipeline_strategys", "unified_safetensors",
           "sync_pipeline_shared_parameters", "load_distributed_checkpoint", "load_segmented_checkpoints",
           "merge_sliced_parameter", "restore_group_info_list", "build_searched_strategy", "parameter_broadcast"]
