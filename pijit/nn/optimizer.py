"""What optimizers have in common: groups of parameters, rates and decays by schedules, the global step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit import dtype as mstype
from pijit._C import Tensor
from pijit.communication import _collectives
from pijit.communication._comm_helper import World
from pijit.nn.cell import Cell, CellInOwnDtypes
from pijit.nn.container import CellList
from pijit.nn.cell_state import _Read
from pijit.nn.schedule import LearningRateSchedule
from pijit.ops import function as F
from pijit.ops.composite import HyperMap, Map
from pijit.ops.primitives import AssignAdd
from pijit.parallel._auto_parallel_context import get_auto_parallel_context
from pijit.parameter import Parameter, ParameterTuple
from pijit.ops.function.creation import _filled

if TYPE_CHECKING:
    from typing import Any
    from pijit._types import Params, Rate


class Optimizer(CellInOwnDtypes):
    """Base: parameters, rates and the global step.

    `parameters` holds Parameters, or groups as dicts with 'params' and, where they differ from the arguments, 'lr',
    'weight_decay' and 'grad_centralization'; a dict {'order_params': [...]} says in which order the gradients come.
    Rates and weight decays may be schedules of the global step. A subclass's construct may use get_lr,
    get_weight_decay, decay_weight, scale_grad, gradients_centralization and flatten_gradients.

    Args:
        learning_rate (float, Tensor, list or LearningRateSchedule): the rate, or that of each step.
        parameters (list of Parameter or of dict): the parameters, or groups of them with 'params' and their own
            rates.
        weight_decay (float or Cell, optional): the factor of parameters that is added to gradients. Default: 0.0.
        loss_scale (float, optional): what gradients are divided by. Default: 1.0.

    Example:
        >>> net = nn.Dense(2, 1)
        >>> print(nn.SGD(net.trainable_params(), 0.1).get_lr())
        Parameter (name=learning_rate, shape=(), dtype=Float32, requires_grad=True)
    """

    unique: bool
    param_rank: Any
    init_params: Any
    init_learning_rate: Any
    params: Any
    rates: tuple[Any, ...]
    weight_decays: tuple[Any, ...]
    dynamic_lr: bool
    need_scale: bool
    param_length: int
    exec_weight_decay: bool
    dynamic_decay_flags: bool
    decay_flags: tuple[Any | bool, ...]
    optim_filter: tuple[bool, ...]
    reciprocal_scale: float
    use_parallel: bool
    dev_num: int
    enable_tuple_broaden: bool
    skip_auto_parallel_compile: bool
    map_: Any
    map_reverse: Any
    hyper_map: Any
    hyper_map_reverse: Any
    global_step_increase_tensor: Tensor
    assignadd: Any
    _fixed_decay = False  # whether weight_decay must be a number
    # what programs read of MindSpore's optimizers besides
    unique = _unique = True
    param_rank, init_params, init_args, init_learning_rate = None, None, None, None
    params = _parameters = _Read(lambda self: self.parameters)

    def __init__(self, learning_rate: Rate, parameters: Params,
                 weight_decay: float | Cell = 0.0, loss_scale: float = 1.0) -> None:
        super().__init__(auto_prefix=False)
        name = type(self).__name__
        if parameters is None:
            raise _check.refused(name, "parameters", _check.value("be a list of Parameters"), None)
        parameters = list(parameters)
        if self.init_params is None:
            self.init_params, self.init_learning_rate = ({"params": parameters},
                                                         learning_rate if isinstance(learning_rate, float) else None)
            self.init_args: Any = {"weight_decay": weight_decay, "loss_scale": loss_scale}
        if not parameters:
            raise _check.empty(name, "parameters")
        _check.need(name, "loss_scale", loss_scale, _check.NUMBER, _check.above(0))
        groups, order = self._groups(parameters)
        default = None
        options = {}  # by the parameter's id: (rate, decay, centralised)
        self.is_group: bool = isinstance(parameters[0], dict)
        self.is_group_lr: bool = any("lr" in g for g in groups)
        self.is_group_params_ordered: bool = order is not None
        for k, group in enumerate(groups):
            if "lr" in group:
                rate = self._rate(group["lr"], f"learning_rate_group_{k}")
            else:
                rate = default = self._rate(learning_rate, "learning_rate") if default is None else default
            decay = self._checked_decay(group.get("weight_decay", weight_decay))
            centralised = group.get("grad_centralization", False)
            _check.need(name, "grad_centralization", centralised, _check.BOOL)
            for p in group["params"]:
                if id(p) in options:
                    raise RuntimeError(f"For '{name}', the parameter {p.name!r} stands in two groups or twice in one.")
                options[id(p)] = (rate, decay, centralised)
        # in the order of MindSpore's checkpoints
        self.global_step: Parameter = Parameter(Tensor([0], mstype.int32), name="global_step")
        if not self.is_group_lr:
            self.learning_rate: Any = default
        flat = [p for g in groups for p in g["params"]] if order is None else order
        names = set()
        for p in flat:
            if p.name in names:
                raise ValueError(f"For '{name}', the parameter name {p.name!r} stands for two parameters: give each a "
                                 "name of its own.")
            names.add(p.name)
        self.parameters: ParameterTuple = ParameterTuple(flat)
        rates, decays, centralised = zip(*[options[id(p)] for p in flat])
        self.rates, self.weight_decays, self._centralised = tuple(rates), tuple(decays), tuple(centralised)
        self.grad_centralization: bool = any(centralised)
        self.dynamic_weight_decay: bool = any(isinstance(d, LearningRateSchedule) for d in decays)
        if self.is_group_lr:  # for each parameter, in files by the names of its group
            self.learning_rate = (
                CellList([r if isinstance(r, LearningRateSchedule) else _Constant(r) for r in rates], auto_prefix=False)
                if any(isinstance(r, LearningRateSchedule) for r in rates) else ParameterTuple(rates))
        self.loss_scale: float = float(loss_scale)
        self._dynamic = any(isinstance(r, LearningRateSchedule) for r in rates)
        self.dynamic_lr, self.need_scale, self.param_length = self._dynamic, self.loss_scale != 1.0, len(flat)
        self.unique, self._target = True, "CPU"
        # what constructs of subclasses use beside the methods
        self.exec_weight_decay, self.dynamic_decay_flags = any(map(self._decays,
                                                                   range(len(flat)))), self.dynamic_weight_decay
        self.decay_flags = tuple([self._decays(i) for i in range(len(flat))])
        self.reciprocal_scale = 1.0 / self.loss_scale
        self._divide(flat)
        self.enable_tuple_broaden, self.skip_auto_parallel_compile = True, False
        self.map_, self.map_reverse = Map(), Map(None, True)
        self.hyper_map, self.hyper_map_reverse = HyperMap(), HyperMap(None, True)
        self.assignadd, self.global_step_increase_tensor = AssignAdd(), Tensor([1], mstype.int32)

    @property
    def weight_decay(self) -> Any:
        """The weight decay as it was given; of groups a tuple, one for each parameter."""
        return self.weight_decays if self.is_group else self.weight_decays[0]

    @classmethod
    def _groups(cls, parameters):
        """(the groups, the parameters in the order asked for or None), checked."""
        if not any(isinstance(p, dict) for p in parameters):
            for p in parameters:
                if not isinstance(p, Parameter):
                    raise _check.refused(cls.__name__, "the elements of 'parameters'", _check.type_("Parameters"), p)
            return [{"params": parameters}], None
        groups, order = [], None
        for group in parameters:
            if not isinstance(group, dict):
                raise TypeError(f"For '{cls.__name__}', the elements of 'parameters' must be Parameters alone or dicts "
                                f"alone, but got a {type(group).__name__} beside a dict.")
            if "order_params" in group:
                if len(group) > 1:
                    raise _check.refused(cls.__name__, "the dict with 'order_params'",
                                         _check.value("have no other key"), list(group))
                order = list(group["order_params"])
                continue
            unknown = [k for k in group if k not in ("params", "lr", "weight_decay", "grad_centralization")]
            if unknown:
                raise _check.refused(cls.__name__, "the keys of a group",
                                     _check.one_of("params", "lr", "weight_decay", "grad_centralization",
                                                   "order_params"), unknown, KeyError)
            if "params" not in group:
                raise _check.refused(cls.__name__, "a group", _check.value("have the key 'params'"), list(group),
                                     KeyError)
            params = [group["params"]] if isinstance(group["params"], Parameter) else list(group["params"])
            if not params:
                raise _check.empty(cls.__name__, "params")
            for p in params:
                if not isinstance(p, Parameter):
                    raise _check.refused(cls.__name__, "the elements of 'params'", _check.type_("Parameters"), p)
            groups.append({**group, "params": params})
        if not groups:
            raise ValueError(f"For '{cls.__name__}', 'parameters' must hold a group with 'params'.")
        if order is not None and sorted(map(id, order)) != sorted([id(p) for g in groups for p in g["params"]]):
            raise ValueError(f"For '{cls.__name__}', 'order_params' must hold the parameters of all groups, each once.")
        return groups, order

    def _checked_decay(self, decay):
        if isinstance(decay, LearningRateSchedule) and not self._fixed_decay:
            return decay
        if not isinstance(decay, (int, float)) or isinstance(decay, bool):
            raise _check.refused(type(self).__name__, "weight_decay",
                                 _check.type_(f'a number{"" if self._fixed_decay else " or a schedule"}'), decay)
        _check.need(type(self).__name__, "weight_decay", decay, _check.at_least(0))
        return float(decay)

    def _decay(self, i):
        """The weight decay of a parameter at this step: a float, or a tensor where it is a schedule."""
        d = self.weight_decays[i]
        return (F.reshape(d(self.global_step), ())
                if self.dynamic_weight_decay and isinstance(d, LearningRateSchedule) else d)

    def _decays(self, i):
        return not isinstance(self.weight_decays[i], float) or self.weight_decays[i] > 0

    def _rate(self, rate, name):
        if isinstance(rate, LearningRateSchedule):
            return rate
        if isinstance(rate, (list, tuple)):
            return _ListSchedule(rate, name)
        if isinstance(rate, Tensor) and rate.ndim == 1:
            return _ListSchedule(rate.asnumpy().tolist(), name)
        if isinstance(rate, Tensor):
            rate = rate.item()
        if not isinstance(rate, (int, float)) or isinstance(rate, bool):
            raise _check.refused(type(self).__name__, "learning_rate",
                                 _check.type_("a number, a Tensor, a list or a schedule"), rate)
        _check.need(type(self).__name__, "learning_rate", rate, _check.at_least(0))
        return Parameter(Tensor(float(rate), mstype.float32), name=name)

    def get_lr(self) -> Any:
        """The current rate; of groups with rates of their own a tuple, one for each parameter."""
        return tuple([self._lr(i) for i in range(self.param_length)]) if self.is_group_lr else self._lr(0)

    def get_weight_decay(self) -> Any:
        """The current weight decay; of groups a tuple, one for each parameter."""
        if not self.is_group:
            return self._decay(0)
        return tuple([self._decay(i) for i in range(self.param_length)])

    def get_lr_parameter(self, param: Any) -> Any:
        """What holds the rate of a parameter (or of each of a list): a Parameter, or the schedule."""
        if not isinstance(param, (Parameter, list)):
            raise _check.refused("get_lr_parameter", "param", _check.type_("a Parameter or a list of them"), param)
        out = []
        for p in [param] if isinstance(param, Parameter) else param:
            at = [i for i, own in enumerate(self.parameters) if own is p]
            if not at:
                raise ValueError(f"For 'get_lr_parameter', the parameter {p.name!r} is none of the optimizer's.")
            out.append(self.rates[at[0]])
        return out[0] if isinstance(param, Parameter) else out

    def decay_weight(self, gradients: Any) -> tuple[Any, ...]:
        """The gradients with the weights' decay added."""
        self._count(gradients)
        return tuple([g + self.parameters[i] * self._decay(i) if self._decays(i) else g
                      for i, g in enumerate(gradients)])

    def scale_grad(self, gradients: Any) -> Any:
        """The gradients over the loss scale."""
        return tuple([g * (1.0 / self.loss_scale) for g in gradients]) if self.need_scale else gradients

    def gradients_centralization(self, gradients: Any) -> Any:
        """The gradients, those of parameters of groups with grad_centralization without their mean over all axes but
        the first (Yong et al. 2020)."""
        if not self.grad_centralization:
            return gradients
        return tuple([g - F.mean(g, tuple(range(1, g.ndim)), True) if on and g.ndim > 1 else g
                      for g, on in zip(gradients, self._centralised)])

    def flatten_gradients(self, gradients: Any) -> Tensor:
        """The gradients: parameters lie in memory one by one."""
        return gradients

    def _divide(self, flat):
        """Which parameters this process updates: with enable_parallel_optimizer, about as many bytes as each other one
        of those that train together (Rajbhandari et al. 2020, stage 1); it holds no state of the others."""
        self.use_parallel = (World.all.size > 1 and get_auto_parallel_context("enable_parallel_optimizer")
                             and get_auto_parallel_context("parallel_mode") == "data_parallel")
        self._world = World.all
        owners = [World.rank] * len(flat)
        if self.use_parallel:
            loads = [0] * self._world.size
            for i in sorted(range(len(flat)), key=lambda i: (-flat[i].size, i)):
                owners[i] = loads.index(min(loads))
                loads[owners[i]] += flat[i].size * flat[i].itemsize
        self._owners, self.dev_num = tuple(owners), self._world.size if self.use_parallel else 1
        self._owned = tuple([i for i in range(len(flat)) if owners[i] == World.rank])
        self.optim_filter = tuple([owner == World.rank for owner in owners])
        if self.use_parallel:
            self.param_rank = self._owners

    def broadcast_params(self, optim_result: Any) -> ParameterTuple:  # noqa: ARG002
        """The parameters, with the values of the processes that update them."""
        if not self.use_parallel:
            return self.parameters
        dtypes = []
        for p in self.parameters:
            if p.dtype not in dtypes:
                dtypes.append(p.dtype)
        for dtype in dtypes:
            self._exchange(dtype)
        return self.parameters

    def _exchange(self, dtype):
        """Gives the parameters of a dtype the values of their owners: one vector of each process, as long as the
        longest of them."""
        parts = [[i for i in range(self.param_length) if self._owners[i] == rank and self.parameters[i].dtype == dtype]
                 for rank in range(self._world.size)]
        sizes = [sum([self.parameters[i].size for i in part]) for part in parts]
        most = max(sizes)
        own = [F.reshape(self.parameters[i], (-1,)) for i in parts[self._world.own]]
        if sizes[self._world.own] < most:
            own.append(F.zeros((most - sizes[self._world.own],), dtype))
        values = _collectives.all_gather(own[0] if len(own) == 1 else F.concat(own, 0), self._world)
        for rank in range(self._world.size):
            at = rank * most
            for i in parts[rank]:
                p = self.parameters[i]
                if rank != self._world.own:
                    p._assign(F.reshape(values[at:at + p.size], p.shape))
                at += p.size

    @property
    def target(self) -> str:
        """The device that updates parameters: 'CPU'."""
        return self._target

    @target.setter
    def target(self, value: Any) -> None:
        _check.need(type(self).__name__, "target", value, _check.one_of("CPU", "GPU", "Ascend"))
        self._target = "CPU"

    def _lr(self, i):
        r = self.rates[i]
        return F.reshape(r(self.global_step), ()) if self._dynamic and isinstance(r, LearningRateSchedule) else r

    def _state(self, name, init=0):
        return ParameterTuple([Parameter(_filled(p.shape if owned else (0,), init, dtype=p.dtype),
                                         name=f"{name}.{p.name}")
                               for p, owned in zip(self.parameters, self.optim_filter)])

    def _count(self, gradients):
        if len(gradients) != len(self.parameters):
            raise _check.expected(self.cls_name, f"{len(self.parameters)} gradients", len(gradients))

    def _gradients(self, gradients):
        self._count(gradients)
        out = []
        for i, (p, g) in enumerate(zip(self.parameters, gradients)):
            if self.loss_scale != 1.0:
                g = g * (1.0 / self.loss_scale)
            if self._decays(i):
                g = g + p * self._decay(i)
            out.append(g)
        return self.gradients_centralization(out) if self.grad_centralization else out

    def _step(self):
        if self.use_parallel:
            self.broadcast_params(None)
        self.global_step._assign(self.global_step + 1)


class _Constant(LearningRateSchedule):
    """A rate that stays, among schedules."""

    def __init__(self, rate: Parameter) -> None:
        super().__init__()
        self.learning_rate: Parameter = rate

    def construct(self, global_step: Any) -> Tensor:  # noqa: ARG002
        return self.learning_rate * 1.0


class _ListSchedule(LearningRateSchedule):
    """The rate of each step from a list; the last one stays."""

    def __init__(self, rates: Any, name: str) -> None:
        super().__init__()
        self.learning_rate: Parameter = Parameter(Tensor([float(r) for r in rates], mstype.float32), name=name)

    def construct(self, global_step: Any) -> Tensor:
        return F.gather(self.learning_rate, F.minimum(global_step, self.learning_rate.size - 1), 0)


def _at_least(name, least=0, open_end=False, **values):
    for k, v in values.items():
        _check.need(name, k, v, _check.NUMBER)
        if v < least or (open_end and v == least):
            raise _check.refused(name, k, _check.value(f'be {"greater than" if open_end else "at least"} {least}'), v)
