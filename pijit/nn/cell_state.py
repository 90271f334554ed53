"""What Cell keeps besides its computation: buffers, its state as a dict, flags, scopes, and what several devices would
need."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import NamedTuple, TYPE_CHECKING, TypeVar

from pijit import _check
from pijit import compat
from pijit._C import Tensor
from pijit.nn import parameter_hooks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, Self
    from pijit._C import DType

_store = object.__setattr__


class _Keys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class _IncompatibleKeys(_Keys):
    """What load_state_dict did not find: (missing_keys, unexpected_keys)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"

    __str__ = __repr__


class _Removable:
    """Removes a hook."""

    def __init__(self, hooks: Any, key: Any) -> None:
        self._hooks, self._key = hooks, key

    def remove(self) -> None:
        self._hooks.pop(self._key, None)


def _own(cell, name):
    """A table of the cell's own, made where it is first needed."""
    if name not in cell.__dict__:
        _store(cell, name, {})
    return cell.__dict__[name]


class _Read:
    """An attribute that is computed, until a program stores something under its name."""

    def __init__(self, compute: Any) -> None:
        self.compute = compute

    def __get__(self, cell: Any, owner: Any = None) -> Any:
        return self if cell is None else self.compute(cell)


class CellState:
    """The base of Cell that holds these methods."""

    bprop_debug: bool
    param_prefix: str
    cell_type: Any
    mixed_precision_type: Any
    is_top_cell: bool
    arguments_key: str
    grad_ops_label: bool
    enable_backward_hook: bool
    compile_phase: Any
    create_time: int
    has_bprop: _Read
    cell_init_args: _Read
    global_cells: weakref.WeakKeyDictionary[Any, Any]
    parameter_layout_dict: _Read
    compile_cache: _Read
    parallel_parameter_name_list: _Read
    parallel_parameter_merge_net_dict: _Read
    phase_cache: _Read
    exist_names: _Read
    exist_objs: _Read
    _buffers, _unsaved_buffers, _func_graph_flags = {}, {}, {}
    _state_dict_hooks, _state_dict_pre_hooks, _load_pre_hooks, _load_post_hooks = {}, {}, {}, {}
    _inputs, _scope, _stage, _segment = None, None, None, None
    T_destination = TypeVar("T_destination", bound=dict)
    bprop_debug, param_prefix, cell_type = False, "", None
    compiled = False  # cells are captured again wherever they are used

    @property
    def phase(self) -> str:
        """'train', or 'predict' of a cell that set_train(False) was called on."""
        return self._phase

    @phase.setter
    def phase(self, value: Any) -> None:
        _store(self, "_phase", value)

    # -- buffers --
    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Keeps a Tensor (or None) that is no parameter as the attribute `name`; with `persistent` it is part of
        state_dict.

        Raises TypeError for another kind of name or value, KeyError for an empty name, one with a dot, or one that is
        taken."""
        if not isinstance(name, str):
            raise _check.refused("register_buffer", "name", _check.STR, name)
        if not name or "." in name:
            raise _check.refused("register_buffer", "name", _check.value("not be empty nor hold a dot"), name, KeyError)
        if name not in self._buffers and hasattr(self, name):
            raise KeyError(f"For 'register_buffer', the attribute {name!r} already exists.")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise _check.refused("register_buffer", f"the buffer {name!r}", _check.optional(_check.TENSOR), tensor)
        _own(self, "_buffers")[name] = tensor
        if persistent:
            _own(self, "_unsaved_buffers").pop(name, None)
        else:
            _own(self, "_unsaved_buffers")[name] = True
        _store(self, name, tensor)

    def named_buffers(self, prefix: str = "", recurse: bool = True,
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """(name, buffer) pairs, each buffer once."""
        seen = set()
        for path, cell in self.cells_and_names(prefix) if recurse else [(prefix, self)]:
            for name in cell._buffers:
                value = cell.__dict__.get(name)
                if value is None or remove_duplicate and id(value) in seen:
                    continue
                seen.add(id(value))
                yield (path + "." if path else "") + name, value

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers."""
        for _, value in self.named_buffers(recurse=recurse):
            yield value

    def get_sub_cell(self, target: str) -> Any:
        """The cell at a path such as 'layers.0.dense'; this one for ''. AttributeError where there is none."""
        cell = self
        for part in target.split(".") if target else ():
            if not hasattr(cell, part):
                raise AttributeError(f"{type(cell).__name__} has no attribute `{part}`")
            cell = getattr(cell, part)
            if not isinstance(cell, CellState):
                raise AttributeError(f"`{part}` is not a Cell")
        return cell

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path such as 'layers.0.mask'. AttributeError where there is none."""
        path, _, name = target.rpartition(".")
        cell = self.get_sub_cell(path)
        if not hasattr(cell, name):
            raise AttributeError(f"{type(cell).__name__} has no attribute `{name}`")
        if name not in cell._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return cell.__dict__[name]

    # -- state as a dict --
    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, p in self._params.items():
            if p is not None:
                destination[prefix + name] = p
        for name in self._buffers:
            value = self.__dict__.get(name)
            if value is not None and name not in self._unsaved_buffers:
                destination[prefix + name] = value
        if type(self).get_extra_state is not CellState.get_extra_state:
            destination[prefix + "_extra_state"] = self.get_extra_state()

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Parameters and persistent buffers by the paths of their attributes, as an OrderedDict of the objects
        themselves.

        destination: a dict to add them to; prefix: what paths begin with; keep_vars: kept."""
        for name, value in zip(("destination", "prefix", "keep_vars"), args):
            destination, prefix, keep_vars = (value, prefix, keep_vars) if name == "destination" else (destination,
                value, keep_vars) if name == "prefix" else (
                destination, prefix, value)
        destination = OrderedDict() if destination is None else destination
        for hook in list(self._state_dict_pre_hooks.values()):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, cell in self._cells.items():
            if cell is not None:
                cell.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in list(self._state_dict_hooks.values()):
            changed = hook(self, destination, prefix, {})
            if changed is not None:
                destination = changed
        return destination

    def _load_from_state_dict(self, state_dict, local_metadata, prefix, strict, missing_keys, unexpected_keys,
                              error_msgs):
        for hook in list(self._load_pre_hooks.values()):
            hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        wanted = {name: p for name, p in self._params.items() if p is not None}
        wanted.update({n: self.__dict__.get(n) for n in self._buffers if n not in self._unsaved_buffers
                       and self.__dict__.get(n) is not None})
        for name, own in wanted.items():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            given = state_dict[key]
            if not isinstance(given, Tensor):
                error_msgs.append(f"{key!r} must be a Tensor, but got {type(given).__name__}.")
            elif given.shape != own.shape:
                error_msgs.append(
                    f"size mismatch for {key}: the state has the shape {tuple(given.shape)}, the cell "
                    f"{tuple(own.shape)}.")
            else:
                own._assign(given.astype(own.dtype))
        extra = prefix + "_extra_state"
        if type(self).set_extra_state is not CellState.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    first = key[len(prefix):].partition(".")
                    known = first[0] in self._cells if first[1] else first[0] in wanted
                    if not known:
                        unexpected_keys.append(key)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> _IncompatibleKeys:
        """Gives parameters and persistent buffers the values that a dict has under their paths.

        Returns (missing_keys, unexpected_keys). strict: RuntimeError where there are any. RuntimeError where shapes
        differ, TypeError where state_dict is no mapping."""
        if not hasattr(state_dict, "keys"):
            raise _check.refused("load_state_dict", "state_dict", _check.DICT, state_dict)
        state_dict, missing, unexpected, errors = OrderedDict(state_dict), [], [], []

        def load(cell, prefix):
            cell._load_from_state_dict(state_dict, {}, prefix, True, missing, unexpected, errors)
            for name, child in cell._cells.items():
                if child is not None:
                    load(child, f"{prefix}{name}.")
            keys = _IncompatibleKeys(missing, unexpected)
            for hook in list(cell._load_post_hooks.values()):
                if hook(cell, keys) is not None:
                    raise RuntimeError(
                        "For 'register_load_state_dict_post_hook', hooks must return None: they may change the keys "
                        "they are given.")
        load(self, "")
        if strict:
            for what, keys in (("Unexpected", unexpected), ("Missing", missing)):
                if keys:
                    errors.insert(0, f"{what} key(s) in state_dict: {', '.join([repr(k) for k in keys])}.")
        if errors:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors))
        return _IncompatibleKeys(missing, unexpected)

    def get_extra_state(self) -> Any:
        """What else state_dict is to hold: defined by subclasses."""
        raise RuntimeError(f"For '{type(self).__name__}', 'get_extra_state' is not defined.")

    def set_extra_state(self, state: Any) -> Any:
        """Takes what get_extra_state gave: defined by subclasses."""
        raise RuntimeError(f"For '{type(self).__name__}', 'set_extra_state' is not defined.")

    def _add_state_hook(self, table, hook):
        if not callable(hook):
            raise TypeError(f"a hook must be callable, but got {type(hook).__name__}.")
        hooks = _own(self, table)
        key = max(hooks, default=-1) + 1
        hooks[key] = hook
        return _Removable(hooks, key)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> _Removable:
        """hook(cell, prefix, keep_vars) runs before state_dict collects."""
        return self._add_state_hook("_state_dict_pre_hooks", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> _Removable:
        """hook(cell, state_dict, prefix, metadata) runs when state_dict has collected; it may return another dict."""
        return self._add_state_hook("_state_dict_hooks", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> _Removable:
        """hook(cell, state_dict, prefix, metadata, strict, missing_keys, unexpected_keys, error_msgs) runs before
        load_state_dict takes a cell's values."""
        return self._add_state_hook("_load_pre_hooks", hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> _Removable:
        """hook(cell, incompatible_keys) runs when load_state_dict is done with a cell; it may change the keys."""
        return self._add_state_hook("_load_post_hooks", hook)

    # -- flags, inputs, scopes --
    def add_flags(self, **flags: Any) -> Self:
        """Sets attributes, which get_flags lists. Returns the cell."""
        _own(self, "_func_graph_flags").update(flags)
        for name, value in flags.items():
            setattr(self, name, value)
        return self

    def add_flags_recursive(self, **flags: Any) -> Self:
        """add_flags for this cell and all below. Returns the cell."""
        for _, cell in self.cells_and_names():
            cell.add_flags(**flags)
        return self

    def get_flags(self) -> dict[str, Any]:
        """The flags of add_flags, as a dict."""
        return dict(self._func_graph_flags)

    def get_inputs(self) -> Any:
        """What set_inputs was given, or None."""
        return self._inputs

    def generate_scope(self) -> None:
        """Names the scope of every cell below by its path and class."""
        for path, cell in self.cells_and_names():
            if cell is not self:
                names, at, parts = path.split("."), self, []
                for name in names:
                    at = at._cells[name]
                    parts.append(f"{name}-{type(at).__name__}")
                _store(cell, "_scope", "Default/" + "/".join(parts))

    def get_scope(self) -> Any:
        """The scope that generate_scope gave, or None."""
        return self._scope

    def update_cell_prefix(self) -> None:
        """Gives every cell its path as param_prefix."""
        for path, cell in self.cells_and_names():
            _store(cell, "param_prefix", path)

    def update_cell_type(self, cell_type: str) -> None:
        """Sets cell_type, which says what the cell is for."""
        _store(self, "cell_type", cell_type)

    def check_names(self) -> None:
        """ValueError where two parameters share a name."""
        seen = set()
        for p in self.get_parameters():
            if p.name in seen:
                raise ValueError(f"For 'Cell', two parameters are named {p.name!r}: give one of them another name.")
            seen.add(p.name)

    def check_names_and_refresh_name(self) -> None:
        """check_names, after parameters took the names of their paths."""
        self.update_parameters_name()
        self.check_names()

    def cast_inputs(self, inputs: Any, dst_type: DType) -> tuple[Any, ...]:
        """The tensors among inputs, those of a floating dtype in another one, as a tuple."""
        return tuple([x.astype(dst_type) if isinstance(x, Tensor) and x.dtype.is_floating_point else x for x in inputs])

    def compile_and_run(self, *args: Any, **kwargs: Any) -> Any:
        """The cell's result: compiling comes by itself."""
        return self(*args, **kwargs)

    # -- what several devices would need: there is one --
    @property
    def pipeline_stage(self) -> Any:
        """The stage of a pipeline that the cell belongs to; kept."""
        return self._stage

    @pipeline_stage.setter
    def pipeline_stage(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int):
            raise _check.refused("Cell", "pipeline_stage", _check.INT, value)
        if value < 0:
            raise _check.refused("Cell", "pipeline_stage", _check.at_least(0), value)
        _store(self, "_stage", value)

    @property
    def pipeline_segment(self) -> int:
        """The segment of a stage that the cell belongs to; kept. AttributeError before it is set."""
        if self._segment is None:
            raise AttributeError(f"The {type(self).__name__!r} object has no attribute 'pipeline_segment'.")
        return self._segment

    @pipeline_segment.setter
    def pipeline_segment(self, value: int) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            raise _check.refused("Cell", "pipeline_segment", _check.INT, value)
        if value < 0:
            raise _check.refused("Cell", "pipeline_segment", _check.at_least(0), value)
        _store(self, "_segment", value)

    def parameters_broadcast_dict(self, recurse: bool = True) -> OrderedDict[Any, Any] | None:
        """Name → parameter of those that processes share, or None: one process shares none that are layer-wise
        parallel."""
        found = OrderedDict((p.name, p) for p in self.get_parameters(recurse) if not p.layerwise_parallel)
        return found or None

    def set_broadcast_flag(self, mode: bool = True) -> Self:
        """Says whether parameters are sent to other processes first: there is one. Returns the cell."""
        if not isinstance(mode, bool):
            raise _check.refused("set_broadcast_flag", "mode", _check.BOOL, mode)
        return self

    def set_comm_fusion(self, fusion_type: int, recurse: bool = True) -> Self:
        """Gives the trained parameters the number of the group whose gradients travel together; kept. Returns the
        cell."""
        if isinstance(fusion_type, bool) or not isinstance(fusion_type, int):
            raise _check.refused("set_comm_fusion", "fusion_type", _check.INT, fusion_type)
        if fusion_type < 0:
            raise _check.refused("set_comm_fusion", "fusion_type", _check.at_least(0), fusion_type)
        for p in self.trainable_params(recurse):
            p.comm_fusion = fusion_type
        return self

    def set_data_parallel(self) -> None:
        """Says that the batch is divided over devices: there is one."""

    def remove_redundant_parameters(self) -> None:
        """Takes away what other devices hold as well: nothing."""

    def offload(self, backward_prefetch: str = "Auto") -> None:
        """Says that activations may leave the device's memory: there is one memory."""

    def shard(self, in_strategy: Any, out_strategy: Any = None, parameter_plan: Any = None, device: str = "Ascend",
              level: int = 0) -> Self:
        """Says how inputs are divided over devices: there is one. Returns the cell's own call."""
        if not isinstance(in_strategy, tuple):
            raise _check.refused("Cell.shard", "in_strategy", _check.TUPLE, in_strategy)
        return self

    def set_boost(self, boost_type: Any) -> Self:
        """Says that training may skip work (`less_bn`, `grad_freeze`, `adasum`): nothing is skipped. Returns the
        cell."""
        if boost_type not in ("less_bn", "grad_freeze", "adasum"):
            raise _check.refused("set_boost", "boost_type", _check.one_of("less_bn", "grad_freeze", "adasum"),
                                 boost_type)
        return self

    @property
    def jit_config_dict(self) -> dict[Any, Any]:
        """The options of set_jit_config, as a dict."""
        config = self.__dict__.get("_jit_config")
        return dict(getattr(config, "jit_config_dict", None) or {})

    # -- what programs read of MindSpore's cells besides --
    _phase, _dynamic_shape_inputs, _parameter_layout_dict, _recompute_cell = "train", None, None, None
    _bprop_debug, _param_prefix, _is_check_and_refresh, _init_flag, _compiled = False, "", False, False, False
    _amp_level, _cell_init_args, _has_config_recompute, mixed_precision_type = "", "", False, None
    is_top_cell, arguments_key, grad_ops_label, enable_backward_hook, compile_phase = False, "", False, False, None
    _attr_synced, _construct_inputs_names, _id, create_time, IGNORE_LIST = False, (), 1, 0, ()
    _in_strategy, _out_strategy, global_cells = None, None, weakref.WeakKeyDictionary()
    cell_init_args, _cell_tag = _Read(lambda self: self._cell_init_args), _Read(
        lambda self: f"{type(self).__module__}.{type(self).__qualname__}")
    _params_list, _forward_hook_with_kwargs, _forward_pre_hook_with_kwargs = (_Read(lambda self: OrderedDict()),) * 3
    _create_time = _Read(lambda self: self.create_time)
    _forward_hook, _forward_pre_hook = (_Read(lambda self: self._forward_hooks),
                                        _Read(lambda self: self._forward_pre_hooks))
    _backward_hook, _cell_backward_hook = _Read(lambda self: self._backward_hooks), None
    _user_parameters, has_bprop = (_Read(lambda self: list(self.get_parameters())),
                                   _Read(lambda self: type(self).bprop is not None))
    _jit_config_dict = _Read(lambda self: self.jit_config_dict)
    parameter_layout_dict, compile_cache = (_Read(lambda self: _own(self, "_layouts")), _Read(lambda self: set()))
    parallel_parameter_name_list, parallel_parameter_merge_net_dict = (_Read(lambda self: []), _Read(lambda self: {}))
    phase_cache, exist_names, exist_objs = (_Read(lambda self: {}), _Read(lambda self: set()),
                                            _Read(lambda self: set()))
    _compile_cache, _phase_cache = compile_cache, phase_cache

    @property
    def _primitives(self):
        """Primitives among the attributes, by name."""
        from pijit.ops import Primitive
        return OrderedDict((n, v) for n, v in self.__dict__.items() if isinstance(v, Primitive))

    def get_mixed_precision_type(self) -> Any:
        """The kind that set_mixed_precision_type chose, or None."""
        return self.mixed_precision_type

    def set_mixed_precision_type(self, mixed_type: Any, recursive: bool = True) -> None:
        """Keeps a kind of mixed precision, of the inner cells as well; to_float and amp change dtypes."""
        for cell in [c for _, c in self.cells_and_names()] if recursive else [self]:
            _store(cell, "mixed_precision_type", mixed_type)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Gives floating parameters and buffers another dtype, and all the device of a name or Tensor, as `Tensor.to`.
        Returns the cell."""
        probe = Tensor([0.0]).to(*args, **kwargs)
        dtype_given = kwargs.get("dtype") is not None or any(not isinstance(a, (str, bool)) for a in args)
        for _, cell in self.cells_and_names():
            for name, tensor in [*cell._params.items(), *cell._buffers.items()]:
                if (tensor is not None and dtype_given and tensor.dtype.is_floating_point
                    and tensor.dtype != probe.dtype):
                    if name in cell._params:
                        tensor._replace(tensor.astype(probe.dtype))
                    else:
                        setattr(cell, name, tensor.astype(probe.dtype))
        return self

    def to_empty(self, *, device: Any = None, recurse: bool = True) -> Self:
        """Moves parameters to a device, values not kept: there is one. Returns the cell."""
        return self

    def run_construct(self, cast_inputs: Any, kwargs: Any) -> Any:
        """What construct gives."""
        return self.construct(*cast_inputs, **kwargs)


CellState.register_parameter_forward_hook = parameter_hooks.register
for _name in ("get_func_graph_proto", "register_saved_tensors_hooks"):
    setattr(CellState, _name, compat.raising_method(f"nn.Cell.{_name}"))

__all__ = ["CellState"]
