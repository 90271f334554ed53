"""The optimizers. Each says what its states are and how one parameter takes a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit import dtype as mstype
from pijit._C import Tensor
from pijit.experimental.optim.optimizer import Optimizer
from pijit.ops import function as F, updates
from pijit.parameter import Parameter

if TYPE_CHECKING:
    from pijit._types import Params


class SGD(Optimizer):
    """Gradient descent with momentum and dampening; with nesterov by the gradient ahead. lr must be given."""

    def __init__(self, params: Params, lr: float | Tensor, momentum: float = 0, dampening: float = 0,
                 weight_decay: float = 0.0, nesterov: bool = False, *, maximize: bool = False) -> None:
        super().__init__(params,
                         {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
                          "nesterov": nesterov,
                                  "maximize": maximize})
        self._state("accum")

    def _check_group(self, group):
        super()._check_group(group)
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise _check.refused("SGD", "'nesterov'", _check.value("come with 'momentum' > 0 and no 'dampening'"),
                                 _check.several(group["momentum"], group["dampening"]))

    def _update(self, group, index, p, g, lr, step):
        momentum = group["momentum"]
        if momentum:
            a = self.accum[index]
            # the first step takes the whole gradient
            keep = F.select(step > 1.0, 1.0 - float(group["dampening"]), 1.0) if group["dampening"] else 1.0
            g = updates.momentum(a, g, momentum, group["nesterov"], g * keep)
        p._assign(p - g * lr)


class Adam(Optimizer):
    """Adam (Kingma & Ba 2014), with amsgrad by the greatest second moments so far."""

    def __init__(self, params: Params, lr: float | Tensor = 1e-3, betas: tuple[float, ...] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.0, amsgrad: bool = False, *,
                 maximize: bool = False) -> None:
        super().__init__(params,
                         {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
                          "maximize": maximize})
        self._state("exp_avg")
        self._state("exp_avg_sq")
        if any(group["amsgrad"] for group in self.param_groups):
            self._state("max_exp_avg_sq")

    def _update(self, group, index, p, g, lr, step):
        beta1, beta2 = group["betas"]
        m, v = self.exp_avg[index], self.exp_avg_sq[index]
        updates.moments(m, v, g, beta1, beta2)
        if group["amsgrad"]:
            largest = self.max_exp_avg_sq[index]
            largest._assign(F.maximum(largest, v))
            v = largest
        scale = F.sqrt(v) / F.sqrt(1.0 - F.pow(Tensor(beta2, mstype.float32), step)) + group["eps"]
        p._assign(p - lr / (1.0 - F.pow(Tensor(beta1, mstype.float32), step)) * (m / scale))


class AdamW(Adam):
    """Adam, with a weight decay of the parameters themselves (Loshchilov & Hutter 2017)."""

    def __init__(self, params: Params, lr: float | Tensor = 1e-3, betas: tuple[float, ...] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *,
                 maximize: bool = False) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)

    def _decayed(self, p, g, lr, decay):
        if decay:
            p._assign(p * (1.0 - lr * decay))
        return g


class Adadelta(Optimizer):
    """Adadelta (Zeiler 2012)."""

    def __init__(self, params: Params, lr: float | Tensor = 1.0, rho: float = 0.9, eps: float = 1e-6,
                 weight_decay: float = 0.0, *, maximize: bool = False) -> None:
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize})
        self._state("square_avg")
        self._state("acc_delta")

    def _check_group(self, group):
        super()._check_group(group)
        _check.need("Adadelta", "rho", group["rho"], _check.within(0, 1))

    def _update(self, group, index, p, g, lr, step):  # noqa: ARG002
        rho, eps = group["rho"], group["eps"]
        v, d = self.square_avg[index], self.acc_delta[index]
        v._assign(v * rho + g * g * (1.0 - rho))
        delta = F.sqrt(d + eps) / F.sqrt(v + eps) * g
        d._assign(d * rho + delta * delta * (1.0 - rho))
        p._assign(p - delta * lr)


class Adagrad(Optimizer):
    """Adagrad (Duchi et al. 2011)."""

    def __init__(self, params: Params, lr: float | Tensor = 1e-2, lr_decay: float = 0.0, weight_decay: float = 0.0,
                 initial_accumulator_value: float = 0.0, eps: float = 1e-10, *, maximize: bool = False) -> None:
        for name, value in (("lr_decay", lr_decay), ("initial_accumulator_value", initial_accumulator_value)):
            _check.need("Adagrad", name, value, _check.at_least(0))
        super().__init__(params, {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
                                  "initial_accumulator_value": initial_accumulator_value, "maximize": maximize})
        self._state("accum", float(initial_accumulator_value))

    def _update(self, group, index, p, g, lr, step):
        a = self.accum[index]
        a._assign(a + g * g)
        p._assign(p - lr / (1.0 + (step - 1.0) * group["lr_decay"]) * (g / (F.sqrt(a) + group["eps"])))


class ASGD(Optimizer):
    """Averaged gradient descent (Polyak & Juditsky 1992); the averages stand in `ax`."""

    def __init__(self, params: Params, lr: float | Tensor = 1e-2, lambd: float = 1e-4, alpha: float = 0.75,
                 t0: float = 1e6, weight_decay: float = 0.0, maximize: bool = False) -> None:
        super().__init__(params,
                         {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
                          "maximize": maximize})
        self.eta: Parameter = Parameter(Tensor([float(v.asnumpy()) for v in self.lrs], mstype.float32), name="eta")
        self._state("ax")
        self.mu: Parameter = Parameter(Tensor(1.0, mstype.float32), name="mu")

    def _more_states(self, params):
        super()._more_states(params)
        self.eta = Parameter(F.concat([self.eta, F.reshape(self.lrs[-1], (1,))]), name="eta")

    def _update(self, group, index, p, g, lr, step):
        which = sum(1 for start in self.group_start_id[1:] if start <= index)
        last = self.group_start_id[which + 1] - 1 == index
        eta = self.eta[which]
        p._assign(p * (1.0 - eta * group["lambd"]) - g * eta)
        ax = self.ax[index]
        ax._assign(ax + (p - ax) * self.mu)
        if last:
            new = lr / F.pow(1.0 + group["lambd"] * lr * step, group["alpha"])
            self.eta._assign(F.concat([self.eta[:which], F.reshape(new, (1,)), self.eta[which + 1:]]))
        if index == len(self.parameters) - 1:
            self.mu._assign(1.0 / F.maximum(step - group["t0"], 1.0))


class Adamax(Optimizer):
    """Adam by the infinity norm (Kingma & Ba 2014)."""

    def __init__(self, params: Params, lr: float | Tensor = 2e-3, betas: tuple[float, ...] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.0, *, maximize: bool = False) -> None:
        super().__init__(params,
                         {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize})
        self._state("exp_avg")
        self._state("exp_inf")

    def _update(self, group, index, p, g, lr, step):
        beta1, beta2 = group["betas"]
        m, u = self.exp_avg[index], self.exp_inf[index]
        updates.average(m, g, beta1)
        u._assign(F.maximum(u * beta2, F.abs(g) + group["eps"]))
        p._assign(p - lr / (1.0 - F.pow(Tensor(beta1, mstype.float32), step)) * (m / u))


class RMSprop(Optimizer):
    """RMSprop (Hinton 2012); centered: by the variance in the place of the second moment."""

    def __init__(self, params: Params, lr: float | Tensor = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
                 weight_decay: float = 0.0, momentum: float = 0.0, centered: bool = False,
                 maximize: bool = False) -> None:
        super().__init__(params,
                         {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
                          "weight_decay": weight_decay,
                                  "maximize": maximize})
        self._state("mean_square")
        if any(group["centered"] for group in self.param_groups):
            self._state("mean_grad")
        if any(group["momentum"] for group in self.param_groups):
            self._state("moment")

    def _update(self, group, index, p, g, lr, step):
        alpha = group["alpha"]
        v = self.mean_square[index]
        v._assign(v * alpha + g * g * (1.0 - alpha))
        if group["centered"]:
            a = self.mean_grad[index]
            updates.average(a, g, alpha)
            scale = F.sqrt(v - a * a) + group["eps"]
        else:
            scale = F.sqrt(v) + group["eps"]
        step = g / scale
        if group["momentum"]:
            b = self.moment[index]
            b._assign(b * group["momentum"] + step)
            step = b
        p._assign(p - step * lr)


class Rprop(Optimizer):
    """Resilient backpropagation (Riedmiller & Braun 1993): steps that grow while a gradient keeps its sign."""

    def __init__(self, params: Params, lr: float | Tensor = 1e-2, etas: tuple[float, ...] = (0.5, 1.2),
                 step_sizes: tuple[float, ...] = (1e-6, 50), *, maximize: bool = False) -> None:
        _check.need("Rprop", "etas[0]", etas[0], _check.within(0, 1, "()"))
        _check.need("Rprop", "etas[1]", etas[1], _check.above(1))
        if not 0 < step_sizes[0] <= step_sizes[1]:
            raise _check.refused("Rprop", "step_sizes", _check.value("be positive and in order"), step_sizes)
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize})
        self._state("prev")
        rates = {id(p): float(group["lr"].asnumpy()) for group in self.param_groups for p in group["params"]}
        self._state("step_size", lambda p: rates.get(id(p)) or float(self.lrs[-1].asnumpy()))

    def _update(self, group, index, p, g, lr, step):  # noqa: ARG002
        (less, more), (least, most) = group["etas"], group["step_sizes"]
        before, size = self.prev[index], self.step_size[index]
        agree = F.sign(g * before)
        factor = F.select(agree > 0, float(more), F.select(agree < 0, float(less), 1.0))
        size._assign(F.clip_by_value(size * factor, float(least), float(most)))
        g = F.select(agree < 0, F.zeros_like(g), g)
        p._assign(p - F.sign(g) * size)
        before._assign(g)


class RAdam(Optimizer):
    """Rectified Adam (Liu et al. 2019)."""

    def __init__(self, params: Params, lr: float | Tensor = 1e-3, betas: tuple[float, ...] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.0) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})
        self._state("exp_avg")
        self._state("exp_avg_sq")

    def _update(self, group, index, p, g, lr, step):
        beta1, beta2 = group["betas"]
        m, v = self.exp_avg[index], self.exp_avg_sq[index]
        updates.moments(m, v, g, beta1, beta2)
        power1, power2 = F.pow(Tensor(beta1, mstype.float32), step), F.pow(Tensor(beta2, mstype.float32), step)
        longest = 2.0 / (1.0 - beta2) - 1.0
        length = longest - 2.0 * step * power2 / (1.0 - power2)
        rectified = (F.maximum((length - 4.0) * (length - 2.0) * longest,
                               0.0) / ((longest - 4.0) * (longest - 2.0) * length))
        adapted = F.sqrt(rectified) * F.sqrt(1.0 - power2) / (F.sqrt(v) + group["eps"])
        p._assign(p - lr * (m / (1.0 - power1)) * F.select(length > 5.0, adapted, F.ones_like(adapted)))


class NAdam(Optimizer):
    """Adam with Nesterov's momentum (Dozat 2016)."""

    def __init__(self, params: Params, lr: float | Tensor = 2e-3, betas: tuple[float, ...] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.0, momentum_decay: float = 4e-3) -> None:
        super().__init__(params,
                         {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                          "momentum_decay": momentum_decay})
        self._state("exp_avg")
        self._state("exp_avg_sq")
        self.mu_product: Parameter = Parameter(Tensor(1.0, mstype.float32), name="mu_product")

    def _check_group(self, group):
        super()._check_group(group)
        _check.need("NAdam", "momentum_decay", group["momentum_decay"], _check.at_least(0))

    def _update(self, group, index, p, g, lr, step):
        beta1, beta2 = group["betas"]
        base = Tensor(0.96, mstype.float32)
        mu = beta1 * (1.0 - 0.5 * F.pow(base, step * group["momentum_decay"]))
        following = beta1 * (1.0 - 0.5 * F.pow(base, (step + 1.0) * group["momentum_decay"]))
        product = self.mu_product * mu
        m, v = self.exp_avg[index], self.exp_avg_sq[index]
        updates.moments(m, v, g, beta1, beta2)
        scale = F.sqrt(v / (1.0 - F.pow(Tensor(beta2, mstype.float32), step))) + group["eps"]
        p._assign(p - lr * ((1.0 - mu) / (1.0 - product)) * g / scale - lr * (following / (1.0 - product * following)) *
                  m / scale)
        if index == len(self.parameters) - 1:
            self.mu_product._assign(product)


__all__ = ["AdamW", "SGD", "Adam", "Adadelta", "Adagrad", "ASGD", "Adamax", "RMSprop", "Rprop", "RAdam", "NAdam"]
