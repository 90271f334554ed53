"""Optimizers. Called with a tuple of gradients in the order of their parameters."""

from pijit import dtype as mstype
from pijit._C import Tensor
from pijit.nn.cell import Cell
from pijit.nn.schedule import LearningRateSchedule
from pijit.ops import function as F
from pijit.parameter import Parameter, ParameterTuple


class Optimizer(Cell):
    """Base: parameters (or groups as dicts with 'params', 'lr', 'weight_decay'), rates and the global step."""

    def __init__(self, learning_rate, parameters, weight_decay=0.0, loss_scale=1.0):
        super().__init__(auto_prefix=False)
        parameters = list(parameters)
        if not parameters:
            raise ValueError(f"For '{type(self).__name__}', 'parameters' must not be empty.")
        if loss_scale <= 0:
            raise ValueError(f"For '{type(self).__name__}', 'loss_scale' must be greater than 0, but got {loss_scale}.")
        groups = parameters if isinstance(parameters[0], dict) else [{"params": parameters}]
        flat, rates, decays = [], [], []
        self._schedules = []
        for group in groups:
            rate = self._rate(group.get("lr", learning_rate), len(rates))
            decay = group.get("weight_decay", weight_decay)
            if not isinstance(decay, (int, float)) or decay < 0:
                raise ValueError(f"For '{type(self).__name__}', 'weight_decay' must be a number >= 0, but got {decay!r}.")
            for p in group["params"]:
                if not isinstance(p, Parameter):
                    raise TypeError(f"For '{type(self).__name__}', the elements of 'parameters' must be Parameters, but got {type(p).__name__}.")
                flat.append(p)
                rates.append(rate)
                decays.append(float(decay))
        self.parameters = ParameterTuple(flat)
        self.rates, self.weight_decays = tuple(rates), tuple(decays)
        self.learning_rate = rates[0]
        self.loss_scale = float(loss_scale)
        self.global_step = Parameter(Tensor([0], mstype.int32), name="global_step", requires_grad=False)
        self._dynamic = any(isinstance(r, LearningRateSchedule) for r in rates)

    def _rate(self, rate, index):
        if isinstance(rate, LearningRateSchedule):
            return rate
        if isinstance(rate, (list, tuple)):
            return _ListSchedule(rate)
        if isinstance(rate, Tensor) and rate.ndim == 1:
            return _ListSchedule(rate.asnumpy().tolist())
        if isinstance(rate, Tensor):
            rate = rate.item()
        if not isinstance(rate, (int, float)) or isinstance(rate, bool):
            raise TypeError(f"For '{type(self).__name__}', 'learning_rate' must be a number, a Tensor, a list or a schedule, but got {type(rate).__name__}.")
        if rate < 0:
            raise ValueError(f"For '{type(self).__name__}', 'learning_rate' must be >= 0, but got {rate}.")
        return Parameter(Tensor(float(rate), mstype.float32), name="learning_rate" if index == 0 else f"learning_rate_{index}", requires_grad=False)

    def get_lr(self):
        """The current rate (of the first group)."""
        return self._lr(0)

    def _lr(self, i):
        r = self.rates[i]
        return F.reshape(r(self.global_step), ()) if self._dynamic and isinstance(r, LearningRateSchedule) else r

    def _state(self, name, init=0):
        out = []
        for p in self.parameters:
            q = Parameter(F.full(p.shape, init, dtype=p.dtype), name=f"{name}.{p.name}", requires_grad=False)
            self.insert_param_to_cell(f"{name}.{p.name}.{len(out)}", q, check_name_contain_dot=False)
            out.append(q)
        return ParameterTuple(out)

    def _gradients(self, gradients):
        if len(gradients) != len(self.parameters):
            raise ValueError(f"For '{self.cls_name}', expected {len(self.parameters)} gradients, but got {len(gradients)}.")
        out = []
        for p, g, decay in zip(self.parameters, gradients, self.weight_decays):
            if self.loss_scale != 1.0:
                g = g * (1.0 / self.loss_scale)
            if decay > 0:
                g = g + p * decay
            out.append(g)
        return out

    def _step(self):
        self.global_step._assign(self.global_step + 1)


class _ListSchedule(LearningRateSchedule):
    """The rate of each step from a list; the last one stays."""

    def __init__(self, rates):
        super().__init__()
        self.table = Tensor([float(r) for r in rates], mstype.float32)

    def construct(self, global_step):
        return F.gather(self.table, F.minimum(global_step, self.table.size - 1), 0)


class SGD(Optimizer):
    """Gradient descent with momentum and dampening (Sutskever et al. 2013)."""

    def __init__(self, params, learning_rate=0.1, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, loss_scale=1.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if momentum < 0:
            raise ValueError(f"For 'SGD', 'momentum' must be >= 0, but got {momentum}.")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("For 'SGD', 'nesterov' needs a positive 'momentum' and no 'dampening'.")
        self.momentum, self.dampening, self.nesterov = float(momentum), float(dampening), nesterov
        if momentum > 0:
            self.accum = self._state("accum")
            self.started = Parameter(Tensor(0.0, mstype.float32), name="started", requires_grad=False)

    def construct(self, gradients):
        gradients = self._gradients(gradients)
        for i in range(len(gradients)):
            p, g = self.parameters[i], gradients[i]
            if self.momentum > 0:
                a = self.accum[i]
                # the first step takes the whole gradient
                keep = 1.0 - self.dampening * self.started
                a._assign(a * self.momentum + g * keep)
                g = g + a * self.momentum if self.nesterov else a
            p._assign(p - self._lr(i) * g)
        if self.momentum > 0:
            self.started._assign(F.ones_like(self.started))
        self._step()
        return True


class Momentum(Optimizer):
    """v = momentum * v + g; p = p - lr * v (with nesterov: p - lr * (g + momentum * v))."""

    def __init__(self, params, learning_rate, momentum, weight_decay=0.0, loss_scale=1.0, use_nesterov=False):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if not isinstance(momentum, (int, float)) or isinstance(momentum, bool):
            raise TypeError(f"For 'Momentum', 'momentum' must be a number, but got {type(momentum).__name__}.")
        if momentum < 0:
            raise ValueError(f"For 'Momentum', 'momentum' must be >= 0, but got {momentum}.")
        self.momentum, self.use_nesterov = float(momentum), use_nesterov
        self.moments = self._state("moments")

    def construct(self, gradients):
        gradients = self._gradients(gradients)
        for i in range(len(gradients)):
            p, m, g = self.parameters[i], self.moments[i], gradients[i]
            m._assign(m * self.momentum + g)
            if self.use_nesterov:
                p._assign(p - self._lr(i) * (g + m * self.momentum))
            else:
                p._assign(p - self._lr(i) * m)
        self._step()
        return True


class _Adam(Optimizer):
    decoupled = False

    def __init__(self, params, learning_rate, beta1, beta2, eps, weight_decay, loss_scale):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        for name, v in (("beta1", beta1), ("beta2", beta2)):
            if not 0 <= v < 1:
                raise ValueError(f"For '{type(self).__name__}', {name!r} must be in [0, 1), but got {v}.")
        if eps <= 0:
            raise ValueError(f"For '{type(self).__name__}', 'eps' must be greater than 0, but got {eps}.")
        self.beta1, self.beta2, self.eps = float(beta1), float(beta2), float(eps)
        self.moment1, self.moment2 = self._state("moment1"), self._state("moment2")


class Adam(_Adam):
    """Kingma & Ba 2014, with bias correction folded into the rate."""

    def __init__(self, params, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, use_locking=False, use_nesterov=False, weight_decay=0.0,  # noqa: ARG002
                 loss_scale=1.0, use_amsgrad=False, **kwargs):  # noqa: ARG002
        if use_nesterov or use_amsgrad:
            raise ValueError("For 'Adam', 'use_nesterov' and 'use_amsgrad' are not supported.")
        super().__init__(params, learning_rate, beta1, beta2, eps, weight_decay, loss_scale)
        self.beta1_power = Parameter(Tensor(1.0, mstype.float32), name="beta1_power", requires_grad=False)
        self.beta2_power = Parameter(Tensor(1.0, mstype.float32), name="beta2_power", requires_grad=False)

    def construct(self, gradients):
        gradients = self._gradients(gradients)
        self.beta1_power._assign(self.beta1_power * self.beta1)
        self.beta2_power._assign(self.beta2_power * self.beta2)
        correction = F.sqrt(1.0 - self.beta2_power) / (1.0 - self.beta1_power)
        for i in range(len(gradients)):
            p, m, v, g = self.parameters[i], self.moment1[i], self.moment2[i], gradients[i]
            m._assign(m * self.beta1 + g * (1.0 - self.beta1))
            v._assign(v * self.beta2 + g * g * (1.0 - self.beta2))
            p._assign(p - self._lr(i) * correction * m / (F.sqrt(v) + self.eps))
        self._step()
        return True


class AdamWeightDecay(_Adam):
    """Adam without bias correction, with decoupled weight decay (Loshchilov & Hutter 2017)."""

    def __init__(self, params, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay=0.0):
        super().__init__(params, learning_rate, beta1, beta2, eps, weight_decay, 1.0)

    def construct(self, gradients):
        if len(gradients) != len(self.parameters):
            raise ValueError(f"For '{self.cls_name}', expected {len(self.parameters)} gradients, but got {len(gradients)}.")
        for i in range(len(gradients)):
            p, m, v, g = self.parameters[i], self.moment1[i], self.moment2[i], gradients[i]
            m._assign(m * self.beta1 + g * (1.0 - self.beta1))
            v._assign(v * self.beta2 + g * g * (1.0 - self.beta2))
            update = m / (F.sqrt(v) + self.eps)
            if self.weight_decays[i] > 0:
                update = update + p * self.weight_decays[i]
            p._assign(p - self._lr(i) * update)
        self._step()
        return True


class RMSProp(Optimizer):
    """Hinton's RMSProp; centered subtracts the squared mean gradient (Graves 2013)."""

    def __init__(self, params, learning_rate=0.1, decay=0.9, momentum=0.0, epsilon=1e-10, use_locking=False, centered=False, loss_scale=1.0, weight_decay=0.0):  # noqa: ARG002
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if decay < 0 or momentum < 0 or epsilon <= 0:
            raise ValueError("For 'RMSProp', 'decay' and 'momentum' must be >= 0 and 'epsilon' > 0.")
        self.decay, self.momentum, self.epsilon, self.centered = float(decay), float(momentum), float(epsilon), centered
        self.ms, self.moment = self._state("mean_square", 1), self._state("moment")
        self.mg = self._state("mean_gradient") if centered else None

    def construct(self, gradients):
        gradients = self._gradients(gradients)
        for i in range(len(gradients)):
            p, s, m, g = self.parameters[i], self.ms[i], self.moment[i], gradients[i]
            s._assign(s * self.decay + g * g * (1.0 - self.decay))
            if self.centered:
                a = self.mg[i]
                a._assign(a * self.decay + g * (1.0 - self.decay))
                den = s - a * a + self.epsilon
            else:
                den = s + self.epsilon
            m._assign(m * self.momentum + self._lr(i) * g * F.rsqrt(den))
            p._assign(p - m)
        self._step()
        return True


__all__ = ["Optimizer", "SGD", "Momentum", "Adam", "AdamWeightDecay", "RMSProp"]
