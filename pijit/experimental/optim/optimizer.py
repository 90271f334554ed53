"""The base of optimizers whose parameter groups are dicts that programs read and change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pijit import _check
from pijit import dtype as mstype
from pijit._C import Tensor
from pijit.nn.cell import CellInOwnDtypes
from pijit.ops import function as F
from pijit.parameter import Parameter, ParameterTuple
from pijit.ops.function.creation import _filled

if TYPE_CHECKING:
    from typing import Any


class Optimizer(CellInOwnDtypes):
    """Base: called with a tuple of gradients in the order of the parameters.

    params: Parameters, or dicts with "params" and options that differ from `defaults`. param_groups: the groups as
    dicts, in which "lr" is a Parameter. A subclass defines `_update(group, index, parameter, gradient, lr)`."""

    param_groups: list[Any]
    lrs: list[Any]
    group_start_id: list[int]

    def __init__(self, params: Any, defaults: Any) -> None:
        super().__init__(auto_prefix=False)
        name = type(self).__name__
        if isinstance(params, (Tensor, dict, str)) or not isinstance(params, Iterable):
            raise _check.refused(name, "params", _check.type_("a list of Parameters or dicts"), params)
        params = list(params)
        if not params:
            raise _check.empty(name, "params")
        self.defaults = defaults
        self.param_groups, self.lrs, self.group_start_id = [], [], [0]
        self.parameters: ParameterTuple = ParameterTuple(())
        groups = params if isinstance(params[0], dict) else [{"params": params}]
        for group in groups:
            self.add_param_group(dict(group))
        self.state_step: Parameter = Parameter(Tensor([0], mstype.int32), name="state_step")

    def add_param_group(self, param_group: Any) -> None:
        """Adds a group: a dict with "params" and options. TypeError and ValueError for what is no Parameter or here
        already."""
        name = type(self).__name__
        _check.need(name, "a parameter group", param_group, _check.DICT)
        if "params" not in param_group:
            raise _check.refused(name, "a parameter group", _check.value("have 'params'"), list(param_group), KeyError)
        params = param_group["params"]
        params = [params] if isinstance(params, Parameter) else list(params)
        here = {id(p) for p in self.parameters}
        for p in params:
            if not isinstance(p, Parameter):
                raise _check.refused(name, "params", _check.value("hold Parameters", shown=_check.type_name), p,
                                     TypeError)
            if id(p) in here:
                raise ValueError(f"For '{name}', the parameter {p.name!r} is in more than one place.")
            here.add(id(p))
        group = {"params": params, **{k: param_group.get(k, v) for k, v in self.defaults.items()},
                 **{k: v for k, v in param_group.items() if k != "params"}}
        index = len(self.param_groups)
        group["lr"] = self._rate(group["lr"], index)
        # an attribute, so that it is one of the optimizer's parameters: saved, and part of what graphs may assign
        setattr(self, f"learning_rate_group_{index}", group["lr"])
        self._check_group(group)
        self.param_groups.append(group)
        self.lrs.append(group["lr"])
        self.group_start_id.append(self.group_start_id[-1] + len(params))
        self.parameters = ParameterTuple([*self.parameters, *params])
        if index and "state_step" in self.__dict__:
            self._more_states(params)

    def _rate(self, lr, index):
        name = type(self).__name__
        if isinstance(lr, Tensor):
            lr = float(lr.asnumpy())
        if isinstance(lr, bool) or not isinstance(lr, (int, float)):
            raise _check.refused(name, "lr", _check.type_("a number or a Tensor"), lr)
        _check.need(name, "lr", lr, _check.at_least(0))
        return Parameter(Tensor(float(lr), mstype.float32), name=f"learning_rate_group_{index}")

    def _check_group(self, group):
        name = type(self).__name__
        decay = group.get("weight_decay", 0.0)
        _check.need(name, "weight_decay", decay, _check.NUMBER, _check.at_least(0))
        for key in ("eps", "momentum"):
            if group.get(key, 0) < 0:
                raise _check.refused(name, key, _check.at_least(0), group[key])
        for i, beta in enumerate(group.get("betas", ())):
            _check.need(name, f"betas[{i}]", beta, _check.within(0, 1, "[)"))

    # -- states: a ParameterTuple with a value per parameter --
    def _state(self, name, init=0.0):
        """Makes the states `name`; init is a number, or a function of a parameter that gives one."""
        def make(p):
            return Parameter(_filled(p.shape, init(p) if callable(init) else init, dtype=p.dtype),
                             name=f"{name}.{p.name}")
        made = self.__dict__.setdefault("_states_made", {})
        made[name] = make
        setattr(self, name, ParameterTuple([make(p) for p in self.parameters]))

    def _more_states(self, params):
        for name, make in self.__dict__.get("_states_made", {}).items():
            setattr(self, name, ParameterTuple([*getattr(self, name), *[make(p) for p in params]]))

    def construct(self, gradients: Tensor) -> bool:
        if len(gradients) != len(self.parameters):
            raise _check.expected(type(self).__name__, f"{len(self.parameters)} gradients", len(gradients))
        self._begin()
        step = F.cast(F.reshape(self.state_step, ()), mstype.float32) + 1.0
        i = 0
        for group in self.param_groups:
            lr, decay, maximize = group["lr"], group.get("weight_decay", 0.0), group.get("maximize", False)
            for p in group["params"]:
                g = gradients[i]
                if maximize:
                    g = -g
                self._update(group, i, p, self._decayed(p, g, lr, decay), lr, step)
                i += 1
        self.state_step._assign(self.state_step + 1)
        return True

    def _begin(self):
        """What is done once per step."""

    def _decayed(self, p, g, lr, decay):  # noqa: ARG002
        """The gradient with the weight decay's part."""
        return g + p * decay if decay else g

    def _update(self, group, index, p, g, lr, step):
        raise NotImplementedError(f"{type(self).__name__} does not define its step.")

    def __repr__(self) -> str:
        lines = []
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {k}: {float(f'{float(group[k].asnumpy()):.7g}') if k == 'lr' else group[k]}"
                      for k in sorted(group) if k != "params"]
        return f"{type(self).__name__} (\n" + "\n".join(lines) + "\n)"


__all__ = ["Optimizer"]
