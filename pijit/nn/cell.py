"""Cell: the base of networks."""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import TYPE_CHECKING

from pijit import _check
from pijit import _C
from pijit import dtype as mstype
from pijit import random as _random
from pijit.compute_dtype import in_own_dtypes
from pijit.grad import with_own_gradient
from pijit._C import Tensor
from pijit.nn import parameter_hooks
from pijit.nn.cell_state import CellState
from pijit.parameter import Parameter, ParameterTuple, unnamed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, ValuesView
    from typing import Any, Self
    from pijit._C import DType


class _Handle:
    """Removes a hook."""

    def __init__(self, owner: Any, hooks: Any, key: Any) -> None:
        self._owner, self._hooks, self._key = owner, hooks, key

    def remove(self) -> None:
        self._hooks.pop(self._key, None)
        self._owner._update_plain()


_store = object.__setattr__  # past Cell.__setattr__


class Cell(CellState):
    """A network, or a part of one: parameters, child cells, and `construct`.

    Attributes that are Parameters or Cells are registered in the order of assignment. A method
    `bprop(self, *inputs, out, dout)` replaces the derived gradient."""

    training: bool
    if TYPE_CHECKING:  # parameters and Cells are attributes by the names that they are given
        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, auto_prefix: bool = True, flags: Any = None) -> None:  # noqa: ARG002
        _store(self, "_has_tables", True)
        _store(self, "_params", {})
        _store(self, "_cells", {})
        _store(self, "_forward_pre_hooks", {})
        _store(self, "_forward_hooks", {})
        _store(self, "_backward_hooks", {})
        _store(self, "_backward_pre_hooks", {})
        _store(self, "_auto_prefix", auto_prefix)
        _store(self, "training", False)
        _store(self, "requires_grad", False)
        _store(self, "_compute_dtype", None)
        _store(self, "_has_extras", type(self).bprop is not Cell.bprop)
        _store(self, "_plain", not self._has_extras)

    bprop = None
    _keeps_calls = False  # after set_grad
    _averages = ()  # then what calls change
    _parameter_hooks: dict[str, Any] = {}  # noqa: RUF012  never changed, but replaced
    _last_call = None
    _computes_in_own_dtypes = False  # whatever to_float says of the Cells around it

    @property
    def cls_name(self) -> str:
        """The name of the class."""
        return type(self).__name__

    def _update_plain(self):
        _store(self, "_has_extras",
               bool(type(self).bprop is not Cell.bprop or self._forward_pre_hooks or self._forward_hooks
                    or self._backward_hooks or self._backward_pre_hooks or self._parameter_hooks
                    or self._compute_dtype is not None))
        _store(self, "_plain", not self._has_extras and not self._keeps_calls)

    # -- attributes --
    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            self.insert_param_to_cell(name, value)
        elif isinstance(value, Cell):
            if name == "construct":
                from pijit.jit import as_construct
                jitted = as_construct(self, value)
                if jitted is not None:
                    _store(self, name, jitted)
                    return
            self.insert_child_to_cell(name, value)
        else:
            params, cells = self._params, self._cells
            if name in self._tuples:
                self._forget_tuple(name)
            if name in params:
                if isinstance(value, Tensor):
                    params[name].set_data(value)
                    return
                if value is not None:
                    raise TypeError(f"For 'Cell', the attribute {name!r} is a Parameter and takes a Tensor, but got "
                                    f"{type(value).__name__}.")
                del params[name]
            elif name in cells:
                if value is not None:
                    raise TypeError(f"For 'Cell', the attribute {name!r} is a Cell and takes a Cell, but got "
                                    f"{type(value).__name__}.")
                del cells[name]
            elif name in self._buffers and value is not None and not isinstance(value, Tensor):
                raise TypeError(f"For 'Cell', the attribute {name!r} is a buffer and takes a Tensor, "
                                f"but got {type(value).__name__}.")
            if isinstance(value, ParameterTuple):
                self._remember_tuple(name, value)
            _store(self, name, value)

    def _remember_tuple(self, name, value):
        self._need_init("parameters")
        added = {}
        for k, p in enumerate(value):  # by their own names, as in MindSpore
            if unnamed(p):
                self._tuple_names += 1
                p.name = f"Parameter${self._tuple_names}"
            if self._params.get(p.name) is not p and added.get(p.name) is not p:
                added[f"{name}[{k}]" if p.name in self._params or p.name in added else p.name] = p
        self._params.update(added)
        _store(self, "_tuples", {**self._tuples, name: tuple(added)})

    def _forget_tuple(self, name):
        for key in self._tuples[name]:
            self._params.pop(key, None)
        _store(self, "_tuples", {k: v for k, v in self._tuples.items() if k != name})

    def _need_init(self, what):
        if not self._has_tables:
            raise AttributeError(f"For 'Cell', call super().__init__() before assigning {what}.")

    def __delattr__(self, name: str) -> None:
        if name in self._tuples:
            self._forget_tuple(name)
        self._params.pop(name, None)
        self._cells.pop(name, None)
        if name in self._buffers:
            del self._buffers[name]
        object.__delattr__(self, name)

    def insert_param_to_cell(self, param_name: str, param: Parameter | None,
                             check_name_contain_dot: bool = True) -> None:
        """Registers a parameter under a name."""
        if not isinstance(param_name, str) or not param_name or (check_name_contain_dot and "." in param_name):
            raise KeyError(f"For 'insert_param_to_cell', bad parameter name {param_name!r}.")
        self._need_init("parameters")
        if param is not None:
            if not isinstance(param, Parameter):
                raise _check.refused("insert_param_to_cell", "param", _check.a(Parameter), param)
            if unnamed(param):
                param.name = param_name
        self._cells.pop(param_name, None)
        self._params[param_name] = param
        _store(self, param_name, param)

    def insert_child_to_cell(self, child_name: str, child_cell: Cell | None) -> None:
        """Registers a child cell under a name."""
        if not isinstance(child_name, str) or not child_name:
            raise _check.refused("insert_child_to_cell", "child_name", _check.value("be a str"), child_name, TypeError)
        self._need_init("cells")
        if not isinstance(child_cell, Cell):
            raise _check.refused("insert_child_to_cell", "child_cell", _check.a(Cell), child_cell)
        if self._auto_prefix and (child_cell._params or child_cell._cells):
            child_cell.update_parameters_name(child_name + ".")
        self._params.pop(child_name, None)
        self._cells[child_name] = child_cell
        _store(self, child_name, child_cell)

    # -- enumeration --
    def parameters_and_names(self, name_prefix: str = "", expand: bool = True) -> Iterator[tuple[str, Parameter]]:
        """(name, parameter) pairs, each parameter once."""
        seen = set()
        cells = self.cells_and_names(name_prefix) if expand else [(name_prefix, self)]
        for prefix, cell in cells:
            for name, p in cell._params.items():
                if p is not None and id(p) not in seen:
                    seen.add(id(p))
                    yield (prefix + "." if prefix else "") + name, p

    def cells_and_names(self, name_prefix: str = "", _seen: Any = None) -> Iterator[tuple[str, Cell]]:
        """(name, cell) pairs, this cell first."""
        seen = set() if _seen is None else _seen
        if id(self) in seen:
            return
        seen.add(id(self))
        yield name_prefix, self
        for name, c in self._cells.items():
            if c is not None:
                for found in c.cells_and_names((name_prefix + "." if name_prefix else "") + name, seen):
                    yield found

    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        """All parameters."""
        for _, p in self.parameters_and_names(expand=expand):
            yield p

    def trainable_params(self, recurse: bool = True) -> list[Parameter]:
        """Parameters with requires_grad."""
        return [p for p in self.get_parameters(recurse) if p.requires_grad]

    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        """Parameters without requires_grad."""
        return [p for p in self.get_parameters(recurse) if not p.requires_grad]

    def parameters_dict(self, recurse: bool = True) -> OrderedDict[str, Parameter]:
        """Name → parameter, of all: those that share a name stand under the paths of their attributes."""
        found = list(self.parameters_and_names(expand=recurse))
        count = Counter(p.name for _, p in found)
        taken = {p.name: p for _, p in found if count[p.name] == 1}
        named = OrderedDict()
        for path, p in found:
            name, k = p.name if count[p.name] == 1 else path, 1
            while name in named or name in taken and taken[name] is not p:
                k += 1
                name = f"{path}${k}"
            named[name] = p
        return named

    def cells(self) -> ValuesView[Cell]:
        """Child cells."""
        return self._cells.values()

    def name_cells(self) -> OrderedDict[str, Cell]:
        """Name → child cell."""
        return OrderedDict(self._cells)

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Names parameters by a prefix and their path of attributes; those of a ParameterTuple by the names they
        had."""
        for name, p in self.parameters_and_names(expand=recurse):
            p.name = prefix + name

    def apply(self, fn: Callable[..., Any]) -> Self:
        """Calls fn on every cell, children first."""
        for c in self._cells.values():
            c.apply(fn)
        fn(self)
        return self

    # -- modes --
    def set_train(self, mode: bool = True) -> Self:
        """Training or evaluation, for this cell and its children."""
        if not isinstance(mode, bool):
            raise _check.refused("set_train", "mode", _check.BOOL, mode)
        for _, c in self.cells_and_names():
            _store(c, "training", mode)
            if not mode or "_phase" in c.__dict__:
                _store(c, "_phase", "train" if mode else "predict")
        return self

    def set_grad(self, requires_grad: bool = True) -> Self:
        """Says that gradients will be asked for. Where this Cell is called in training, and then its gradient at the
        same inputs, that is the gradient of the call: dropout masks are the same, and moving averages change once."""
        for _, c in self.cells_and_names():
            _store(c, "requires_grad", requires_grad)
        _store(self, "_keeps_calls", bool(requires_grad))
        _store(self, "_averages", tuple(self.untrainable_params()) if requires_grad else ())
        self._update_plain()
        return self

    def to_float(self, dst_type: DType) -> Self:
        """Makes this cell and its children compute in dst_type (float16, bfloat16 or float32): operators that run
        within their calls, in functions and further cells as well, cast their floating operands first. Casts, and what
        gives other shapes or parts of a Tensor, leave dtypes as they are; so do parameters and optimizers."""
        if dst_type not in (mstype.float16, mstype.bfloat16, mstype.float32):
            raise _check.refused("to_float", "dst_type", _check.dtypes("float16", "bfloat16", "float32"), dst_type,
                                 ValueError)
        for _, c in self.cells_and_names():
            if not c._computes_in_own_dtypes:
                _store(c, "_compute_dtype", dst_type)
                c._update_plain()
        return self

    _params, _cells, _has_tables = {}, {}, False  # until __init__ has run
    _tuple_names = 0  # given to parameters of ParameterTuples
    _tuples = {}  # by the attribute of a ParameterTuple, the names under which its parameters stand

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compiles for such inputs: runs once, and gives parameters and the random generator the values back that they
        had."""
        from pijit import random
        before = [(p, p._held()) for p in (*self.get_parameters(), random._state)]
        try:
            self(*args, **kwargs)
        finally:
            for p, value in before:
                p._replace(value)

    def set_inputs(self, *inputs: Any, **kwargs: Any) -> None:
        """Says which inputs to expect, for get_inputs; shapes are learnt from calls. ValueError where inputs come by
        position and by name."""
        if inputs and kwargs:
            raise ValueError("For 'Cell.set_inputs', inputs must come by position or by name, but got both.")
        _store(self, "_inputs", kwargs or inputs)

    def set_jit_config(self, jit_config: Any) -> None:
        """Options of compilation for this cell."""
        _store(self, "_jit_config", jit_config)

    def recompute(self, **kwargs: Any) -> None:
        """A memory hint that pijit does not need."""

    def init_parameters_data(self, auto_parallel_mode: bool = False) -> dict[Parameter, Parameter]:  # noqa: ARG002
        """The parameters, each by itself: they hold data from the start."""
        return {p: p for p in self.get_parameters()}

    # -- calls --
    def construct(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ARG002
        """The computation: defined by subclasses."""
        raise AttributeError(f"For 'Cell', the method 'construct' of {type(self).__name__} is not defined.")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._plain:
            return _C.run_cell(self, args, kwargs) if _C.graph_mode() else self.construct(*args, **kwargs)
        if self._keeps_calls:
            trains = self.training or any([c is not None and c.training for c in self._cells.values()])
            if trains and not _C.active_tapes():
                _store(self, "_last_call", (args, kwargs, [p._held() for p in (_random._state, *self._averages)]))
            if not self._has_extras:
                return _C.run_cell(self, args, kwargs) if _C.graph_mode() else self.construct(*args, **kwargs)
        if self._compute_dtype is None:
            return self._call_with_extras(args, kwargs)
        before = _C.compute_dtype()
        try:
            _C.compute_in(self._compute_dtype)  # inside: an interrupt may come once it is set
            return self._call_with_extras(args, kwargs)
        finally:
            _C.compute_in(before)

    def _last_call_with(self, args, kwargs):
        """What the last call of this Cell began with, if it had these arguments; it is forgotten."""
        last = self._last_call
        if last is None:
            return None
        _store(self, "_last_call", None)
        same = (len(args) == len(last[0]) and all([a is b for a, b in zip(args, last[0])])
                and kwargs.keys() == last[1].keys() and all([kwargs[k] is last[1][k] for k in kwargs]))
        return last[2] if same else None

    def _as_in_a_call(self, begin, run, *args):
        """run(*args) with what calls change as it was when one began; it is put back afterwards."""
        changed = (_random._state, *self._averages)
        now = [p._held() for p in changed]
        for p, value in zip(changed, begin):
            p._renew(value)
        try:
            return run(*args)
        finally:
            for p, value in zip(changed, now):
                p._renew(value)

    def _call_with_extras(self, args, kwargs):
        for hook, with_kwargs in list(self._forward_pre_hooks.values()):
            changed = hook(self, args, kwargs) if with_kwargs else hook(self, args)
            if changed is None:
                continue
            if not with_kwargs:
                args = changed if isinstance(changed, tuple) else (changed,)
            elif (isinstance(changed, tuple) and len(changed) == 2 and isinstance(changed[0], tuple)
                  and isinstance(changed[1], dict)):
                args, kwargs = changed
            else:
                raise _check.refused(self.cls_name, "a forward pre-hook with 'with_kwargs'",
                                     _check.value("return None or (args, kwargs)", shown=_check.type_name), changed,
                                     RuntimeError)
        tapes = _C.active_tapes() if self._backward_hooks or self._backward_pre_hooks else []
        if tapes:
            return self._call_with_backward_hooks(args, kwargs, tapes)
        return self._call_forward(args, kwargs)

    def _call_forward(self, args, kwargs):
        out = self._compute(args, kwargs)
        for hook, with_kwargs in list(self._forward_hooks.values()):
            changed = hook(self, args, kwargs, out) if with_kwargs else hook(self, args, out)
            if changed is not None:
                out = changed
        return out

    def _compute(self, args, kwargs):
        if type(self).bprop is not Cell.bprop:
            return with_own_gradient(self.construct, self.bprop, type(self).__name__, args, kwargs)
        if self._parameter_hooks:
            return parameter_hooks.run(self, args, kwargs)
        return self.construct(*args, **kwargs)

    def _call_with_backward_hooks(self, args, kwargs, tapes):
        inner, seen = list(args), []
        tensors = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        followed = [i for i in tensors if any([t.watches(args[i]) for t in tapes])]
        for i in followed:
            inner[i] = args[i]._detached()

        def on_input(cts):
            given = iter(cts)
            grads = tuple([next(given) if i in followed else None for i in tensors])
            for hook in list(self._backward_hooks.values()):
                changed = hook(self, grads, seen[-1] if seen else None)
                if changed is not None:
                    grads = changed if isinstance(changed, tuple) else (changed,)
            if len(grads) != len(tensors):
                raise ValueError(f"a backward hook of {self.cls_name} must return {len(tensors)} gradients, but got "
                                 f"{len(grads)}.")
            return [g for i, g in zip(tensors, grads) if i in followed]

        for t in tapes:
            if any([t.watches(args[i]) for i in followed]):
                t.record_custom([args[i] for i in followed], [inner[i] for i in followed], on_input)
        out = self._call_forward(tuple(inner), kwargs)
        single = isinstance(out, Tensor)
        made = [out] if single else list(out)
        outs = [o._detached() for o in made]

        def on_output(cts):
            grads = tuple(cts)
            for hook in list(self._backward_pre_hooks.values()):
                changed = hook(self, grads)
                if changed is not None:
                    grads = changed if isinstance(changed, tuple) else (changed,)
            seen.append(grads)
            if not followed and tensors:  # only weights are differentiated: nothing is known of the inputs
                on_input(())
            return list(grads)

        for t in tapes:
            if any([t.watches(o) for o in made]):
                t.record_custom(made, outs, on_output)
        return outs[0] if single else tuple(outs)

    # -- hooks --
    def _register(self, hooks, fn, with_kwargs=None):
        if not callable(fn):
            raise TypeError(f"a hook must be callable, but got {type(fn).__name__}.")
        key = max(hooks, default=-1) + 1
        hooks[key] = fn if with_kwargs is None else (fn, bool(with_kwargs))
        self._update_plain()
        return _Handle(self, hooks, key)

    def register_forward_pre_hook(self, hook_fn: Callable[..., Any], with_kwargs: bool = False) -> _Handle:
        """hook(cell, inputs) runs before construct and may replace the inputs; with_kwargs: hook(cell, inputs, kwargs),
        which may replace both."""
        return self._register(self._forward_pre_hooks, hook_fn, with_kwargs)

    def register_forward_hook(self, hook_fn: Callable[..., Any], with_kwargs: bool = False) -> _Handle:
        """hook(cell, inputs, output) runs after construct and may replace the output; with_kwargs: hook(cell, inputs,
        kwargs, output)."""
        return self._register(self._forward_hooks, hook_fn, with_kwargs)

    def register_backward_pre_hook(self, hook_fn: Callable[..., Any]) -> _Handle:
        """hook(cell, grad_output) runs before gradients pass and may replace grad_output."""
        return self._register(self._backward_pre_hooks, hook_fn)

    def register_backward_hook(self, hook_fn: Callable[..., Any]) -> _Handle:
        """hook(cell, grad_input, grad_output) runs when gradients pass and may replace grad_input."""
        return self._register(self._backward_hooks, hook_fn)

    def __repr__(self) -> str:
        lines = [f"  ({n}): " + repr(c).replace("\n", "\n  ") for n, c in self._cells.items()]
        extra = self.extend_repr()
        if not lines and "\n" not in extra:
            return f"{type(self).__name__}({extra})"
        extra = extra.replace("\n", "\n  ")
        return f"{type(self).__name__}(\n" + ("  " + extra + "\n" if extra else "") + "\n".join(lines) + "\n)"

    def _repr_html_(self):
        from pijit.profiling.values_html import cell_html
        return cell_html(self)

    def extend_repr(self) -> str:
        """What repr shows between the brackets."""
        return ""


class CellInOwnDtypes(Cell):
    """A Cell that computes in the dtypes of its operands, in whichever Cell's construct it is called: optimizers and
    schedules."""

    _computes_in_own_dtypes = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _C.compute_dtype() is None:
            return Cell.__call__(self, *args, **kwargs)
        return in_own_dtypes(Cell.__call__, self, *args, **kwargs)


class GraphCell(Cell):
    """Runs a network that `pijit.load` read.

    params_init: values for its parameters, by name; an unknown name raises KeyError."""

    def __init__(self, graph: Any, params_init: Any = None, obf_random_seed: Any = None) -> None:
        super().__init__(auto_prefix=False)
        if not hasattr(graph, "network"):
            raise _check.refused("GraphCell", "graph", _check.type_("what pijit.load gives"), graph)
        if obf_random_seed is not None:
            raise ValueError("For 'GraphCell', networks are not obfuscated: 'obf_random_seed' must be None.")
        self.graph = graph
        self.network: Any = graph.network
        if params_init is not None:
            known = self.parameters_dict()
            for name, value in params_init.items():
                if name not in known:
                    raise _check.none_such("GraphCell", "parameter", name, error=KeyError)
                known[name].set_data(value)

    def construct(self, *inputs: Any) -> Any:
        return self.network(*inputs)


__all__ = ["Cell", "GraphCell", "ParameterTuple"]
