"""Optimizers. Called with a tuple of gradients in the order of their parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit import dtype as mstype
from pijit._C import Tensor
from pijit.nn.optimizer import Optimizer, _at_least
from pijit.ops import function as F, updates
from pijit.ops.optimizer_primitives import ApplyFtrl, shrunk
from pijit.parameter import Parameter, ParameterTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any
    from pijit._types import Params, Rate
    from pijit.nn.cell import Cell


class SGD(Optimizer):
    """Gradient descent with momentum and dampening (Sutskever et al. 2013).

    Args:
        params (list of Parameter or of dict): the parameters, or groups of them with 'params' and their own rates.
        learning_rate (float, Tensor, list or LearningRateSchedule, optional): the rate, or that of each step.
            Default: 0.1.
        momentum (float, optional): the share of the step before. Default: 0.0.
        dampening (float, optional): the share of gradients that is left out. Default: 0.0.
        weight_decay (float or Cell, optional): the factor of parameters that is added to gradients. Default: 0.0.
        nesterov (bool, optional): whether by Nesterov's momentum. Default: False.
        loss_scale (float, optional): what gradients are divided by. Default: 1.0.

    Inputs:
        gradients: tuple of Tensors.

    Outputs:
        True, after the parameters' change.

    Raises:
        ValueError: if `nesterov` is not a bool, or `momentum` is less than 0.

    Example:
        >>> net = nn.Dense(2, 1)
        >>> nn.SGD(net.trainable_params(), 0.1)((ops.ones((1, 2)), ops.ones(1)))
        True
    """

    momentum: Parameter
    has_momentum: bool
    dampening: float
    nesterov: bool
    accum: ParameterTuple
    stat: ParameterTuple
    _fixed_decay = True

    def __init__(self, params: Params, learning_rate: Rate = 0.1,
                 momentum: float = 0.0, dampening: float = 0.0, weight_decay: float | Cell = 0.0,
                 nesterov: bool = False, loss_scale: float = 1.0) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _check.need("SGD", "momentum", momentum, _check.at_least(0))
        if nesterov and (momentum <= 0 or dampening != 0):
            raise _check.needs("SGD", "'nesterov'", "'momentum' > 0 and no 'dampening'")
        self.momentum = Parameter(Tensor(float(momentum), mstype.float32), name="momentum")
        self.has_momentum, self.dampening, self.nesterov = momentum > 0, float(dampening), nesterov
        self.accum, self.stat = self._state("accum"), self._state("stat", 1)

    def construct(self, gradients: tuple[Tensor, ...]) -> bool:
        gradients = self._gradients(gradients)
        for i in self._owned:
            p, g = self.parameters[i], gradients[i]
            if self.has_momentum:
                a, first = self.accum[i], self.stat[i]
                # the first step takes the whole gradient
                taken = F.select(first > 0, g, g * (1.0 - self.dampening)) if self.dampening else None
                g = updates.momentum(a, g, self.momentum, self.nesterov, taken)
                first._assign(F.zeros_like(first))
            p._assign(p - self._lr(i) * g)
        self._step()
        return True


class Momentum(Optimizer):
    """v = momentum * v + g; p = p - lr * v (with nesterov: p - lr * (g + momentum * v)).

    Args:
        params (list of Parameter or of dict): the parameters, or groups of them with 'params' and their own rates.
        learning_rate (float, Tensor, list or LearningRateSchedule): the rate, or that of each step.
        momentum (float): the share of the step before.
        weight_decay (float or Cell, optional): the factor of parameters that is added to gradients. Default: 0.0.
        loss_scale (float, optional): what gradients are divided by. Default: 1.0.
        use_nesterov (bool, optional): whether by Nesterov's momentum. Default: False.

    Inputs:
        gradients: tuple of Tensors.

    Outputs:
        True, after the parameters' change.

    Example:
        >>> net = nn.Dense(2, 1)
        >>> len(nn.Momentum(net.trainable_params(), 0.1, 0.9).parameters)
        2
    """

    momentum: Parameter

    def __init__(self, params: Params, learning_rate: Rate, momentum: float,
                 weight_decay: float | Cell = 0.0, loss_scale: float = 1.0, use_nesterov: bool = False) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _check.need("Momentum", "momentum", momentum, _check.NUMBER, _check.at_least(0))
        self.momentum = Parameter(Tensor(float(momentum), mstype.float32), name="momentum")
        self.use_nesterov = use_nesterov
        self.moments: ParameterTuple = self._state("moments")

    def construct(self, gradients: tuple[Tensor, ...]) -> bool:
        gradients = self._gradients(gradients)
        for i in self._owned:
            p, m, g = self.parameters[i], self.moments[i], gradients[i]
            p._assign(p - self._lr(i) * updates.momentum(m, g, self.momentum, self.use_nesterov))
        self._step()
        return True


class _Adam(Optimizer):
    beta1: float
    beta2: float
    eps: float
    moment1: ParameterTuple
    moment2: ParameterTuple
    _powers, _power_shape = (), ()  # names and shape of the betas' powers
    _moments = ("moment1", "moment2")

    def __init__(self, params: Params, learning_rate: Rate, beta1: float, beta2: float, eps: float,
                 weight_decay: float | Cell, loss_scale: float) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        for name, v in (("beta1", beta1), ("beta2", beta2)):
            _check.need(type(self).__name__, name, v, _check.within(0, 1, "[)"))
        _check.need(type(self).__name__, "eps", eps, _check.above(0))
        self.beta1, self.beta2, self.eps = float(beta1), float(beta2), float(eps)
        for name in self._powers:
            setattr(self, name, Parameter(F.ones(self._power_shape, mstype.float32), name=name))
        self.moment1, self.moment2 = [self._state(name) for name in self._moments]


class Adam(_Adam):
    """Kingma & Ba 2014, with bias correction folded into the rate.

    Args:
        params (list of Parameter or of dict): the parameters, or groups of them with 'params' and their own rates.
        learning_rate (float, Tensor, list or LearningRateSchedule, optional): the rate, or that of each step.
            Default: 0.001.
        beta1 (float, optional): the decay of the first moment. Default: 0.9.
        beta2 (float, optional): the decay of the second moment. Default: 0.999.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-08.
        use_locking (bool, optional): kept for its name. Default: False.
        use_nesterov (bool, optional): whether by Nesterov's momentum. Default: False.
        weight_decay (float or Cell, optional): the factor of parameters that is added to gradients. Default: 0.0.
        loss_scale (float, optional): what gradients are divided by. Default: 1.0.
        use_amsgrad (bool, optional): whether the greatest second moment counts. Default: False.

    Inputs:
        gradients: tuple of Tensors.

    Outputs:
        True, after the parameters' change.

    Example:
        >>> net = nn.Dense(2, 1)
        >>> nn.Adam(net.trainable_params())((ops.ones((1, 2)), ops.ones(1)))
        True
    """

    use_nesterov: bool
    use_amsgrad: bool
    _powers = ("beta1_power", "beta2_power")

    def __init__(self, params: Params, learning_rate: Rate = 1e-3,
                 beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8, use_locking: bool = False,
                 use_nesterov: bool = False, weight_decay: float | Cell = 0.0, loss_scale: float = 1.0,
                 use_amsgrad: bool = False, **kwargs: Any) -> None:
        unknown = [key for key in kwargs if key not in ("use_lazy", "use_offload")]
        if unknown:
            raise _check.refused("Adam", "further keywords", _check.one_of("use_lazy", "use_offload"), unknown,
                                 KeyError)
        if use_nesterov and use_amsgrad:
            raise _check.at_most_one("Adam", "use_nesterov", "use_amsgrad")
        super().__init__(params, learning_rate, beta1, beta2, eps, weight_decay, loss_scale)
        self.use_nesterov, self.use_amsgrad = use_nesterov, use_amsgrad
        self.vhat: ParameterTuple | None = self._state("vhat") if use_amsgrad else None

    def construct(self, gradients: tuple[Tensor, ...]) -> bool:
        gradients = self._gradients(gradients)
        self.beta1_power._assign(self.beta1_power * self.beta1)
        self.beta2_power._assign(self.beta2_power * self.beta2)
        correction = F.reshape(F.sqrt(1.0 - self.beta2_power) / (1.0 - self.beta1_power), ())
        for i in self._owned:
            p, m, v, g = self.parameters[i], self.moment1[i], self.moment2[i], gradients[i]
            updates.moments(m, v, g, self.beta1, self.beta2)
            if self.use_amsgrad:  # the greatest second moment so far (Reddi et al. 2018)
                v = self.vhat[i]
                v._assign(F.maximum(v, self.moment2[i]))
            if self.use_nesterov:  # Dozat 2016
                m = updates.ahead(m, g, self.beta1)
            p._assign(p - self._lr(i) * correction * m / (F.sqrt(v) + self.eps))
        self._step()
        return True


class LazyAdam(Adam):
    """Adam; dense gradients update every row.

    Args:
        params (list of Parameter or of dict): the parameters, or groups of them with 'params' and their own rates.
        learning_rate (float, Tensor, list or LearningRateSchedule, optional): the rate, or that of each step.
            Default: 0.001.
        beta1 (float, optional): the decay of the first moment. Default: 0.9.
        beta2 (float, optional): the decay of the second moment. Default: 0.999.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-08.
        use_locking (bool, optional): kept for its name. Default: False.
        use_nesterov (bool, optional): whether by Nesterov's momentum. Default: False.
        weight_decay (float or Cell, optional): the factor of parameters that is added to gradients. Default: 0.0.
        loss_scale (float, optional): what gradients are divided by. Default: 1.0.

    Inputs:
        gradients: tuple of Tensors.

    Outputs:
        True, after the parameters' change.

    Example:
        >>> net = nn.Dense(2, 1)
        >>> nn.LazyAdam(net.trainable_params())((ops.ones((1, 2)), ops.ones(1)))
        True
    """

    _power_shape = (1,)

    def __init__(self, params: Params, learning_rate: Rate = 1e-3,
                 beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8, use_locking: bool = False,
                 use_nesterov: bool = False, weight_decay: float | Cell = 0.0, loss_scale: float = 1.0) -> None:
        super().__init__(params, learning_rate, beta1, beta2, eps, use_locking, use_nesterov, weight_decay, loss_scale)


class AdamOffload(Adam):
    """Adam, computed on the CPU.

    Args:
        params (list of Parameter or of dict): the parameters, or groups of them with 'params' and their own rates.
        learning_rate (float, Tensor, list or LearningRateSchedule, optional): the rate, or that of each step.
            Default: 0.001.
        beta1 (float, optional): the decay of the first moment. Default: 0.9.
        beta2 (float, optional): the decay of the second moment. Default: 0.999.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-08.
        use_locking (bool, optional): kept for its name. Default: False.
        use_nesterov (bool, optional): whether by Nesterov's momentum. Default: False.
        weight_decay (float or Cell, optional): the factor of parameters that is added to gradients. Default: 0.0.
        loss_scale (float, optional): what gradients are divided by. Default: 1.0.

    Inputs:
        gradients: tuple of Tensors.

    Outputs:
        True, after the parameters' change.

    Example:
        >>> net = nn.Dense(2, 1)
        >>> nn.AdamOffload(net.trainable_params())((ops.ones((1, 2)), ops.ones(1)))
        True
    """

    _power_shape = (1,)

    def __init__(self, params: Params, learning_rate: Rate = 1e-3,
                 beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8, use_locking: bool = False,
                 use_nesterov: bool = False, weight_decay: float | Cell = 0.0, loss_scale: float = 1.0) -> None:
        super().__init__(params, learning_rate, beta1, beta2, eps, use_locking, use_nesterov, weight_decay, loss_scale)


class AdamWeightDecay(_Adam):
    """Adam without bias correction, with decoupled weight decay (Loshchilov & Hutter 2017).

    Args:
        params (list of Parameter or of dict): the parameters, or groups of them with 'params' and their own rates.
        learning_rate (float, Tensor, list or LearningRateSchedule, optional): the rate, or that of each step.
            Default: 0.001.
        beta1 (float, optional): the decay of the first moment. Default: 0.9.
        beta2 (float, optional): the decay of the second moment. Default: 0.999.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-06.
        weight_decay (float or Cell, optional): the factor of parameters that is added to gradients. Default: 0.0.

    Inputs:
        gradients: tuple of Tensors.

    Outputs:
        True, after the parameters' change.

    Example:
        >>> net = nn.Dense(2, 1)
        >>> nn.AdamWeightDecay(net.trainable_params())((ops.ones((1, 2)), ops.ones(1)))
        True
    """

    _moments = ("adam_m", "adam_v")

    def __init__(self, params: Params, learning_rate: Rate = 1e-3,
                 beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-6, weight_decay: float | Cell = 0.0) -> None:
        super().__init__(params, learning_rate, beta1, beta2, eps, weight_decay, 1.0)

    def construct(self, gradients: tuple[Tensor, ...]) -> bool:
        self._count(gradients)
        for i in self._owned:
            p, m, v, g = self.parameters[i], self.moment1[i], self.moment2[i], gradients[i]
            updates.moments(m, v, g, self.beta1, self.beta2)
            update = m / (F.sqrt(v) + self.eps)
            if self._decays(i):
                update = update + p * self._decay(i)
            p._assign(p - self._lr(i) * update)
        self._step()
        return True


class RMSProp(Optimizer):
    """Hinton's RMSProp; centered subtracts the squared mean gradient (Graves 2013).

    Args:
        params (list of Parameter or of dict): the parameters, or groups of them with 'params' and their own rates.
        learning_rate (float, Tensor, list or LearningRateSchedule, optional): the rate, or that of each step.
            Default: 0.1.
        decay (float, optional): the decay of the mean square. Default: 0.9.
        momentum (float, optional): the share of the step before. Default: 0.0.
        epsilon (float, optional): a small number that keeps the result finite. Default: 1e-10.
        use_locking (bool, optional): kept for its name. Default: False.
        centered (bool, optional): whether the squared mean gradient is subtracted. Default: False.
        loss_scale (float, optional): what gradients are divided by. Default: 1.0.
        weight_decay (float or Cell, optional): the factor of parameters that is added to gradients. Default: 0.0.

    Inputs:
        gradients: tuple of Tensors.

    Outputs:
        True, after the parameters' change.

    Example:
        >>> net = nn.Dense(2, 1)
        >>> nn.RMSProp(net.trainable_params())((ops.ones((1, 2)), ops.ones(1)))
        True
    """

    decay: float
    momentum: float
    epsilon: float
    centered: bool
    ms: ParameterTuple
    moment: ParameterTuple

    def __init__(self, params: Params, learning_rate: Rate = 0.1,
                 decay: float = 0.9, momentum: float = 0.0, epsilon: float = 1e-10, use_locking: bool = False,
                 centered: bool = False, loss_scale: float = 1.0, weight_decay: float | Cell = 0.0) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if decay < 0 or momentum < 0 or epsilon <= 0:
            raise ValueError("For 'RMSProp', 'decay' and 'momentum' must be >= 0 and 'epsilon' > 0.")
        self.decay, self.momentum, self.epsilon, self.centered = float(decay), float(momentum), float(epsilon), centered
        self.mg: ParameterTuple | None = self._state("mean_grad") if centered else None
        self.ms, self.moment = self._state("mean_square", 1), self._state("moment")

    def construct(self, gradients: tuple[Tensor, ...]) -> bool:
        gradients = self._gradients(gradients)
        for i in self._owned:
            p, s, m, g = self.parameters[i], self.ms[i], self.moment[i], gradients[i]
            p._assign(p - updates.rmsprop(s, m, g, self._lr(i), self.decay, self.momentum, self.epsilon,
                                          self.mg[i] if self.centered else None))
        self._step()
        return True


class Adagrad(Optimizer):
    """p -= lr * g / sqrt(sum of g^2 so far) (Duchi et al. 2011).

    Args:
        params (list of Parameter or of dict): the parameters, or groups of them with 'params' and their own rates.
        accum (float, optional): the sum of squares at first. Default: 0.1.
        learning_rate (float, Tensor, list or LearningRateSchedule, optional): the rate, or that of each step.
            Default: 0.001.
        update_slots (bool, optional): whether the sums of squares are updated. Default: True.
        loss_scale (float, optional): what gradients are divided by. Default: 1.0.
        weight_decay (float or Cell, optional): the factor of parameters that is added to gradients. Default: 0.0.

    Inputs:
        grads: tuple of Tensors.

    Outputs:
        True, after the parameters' change.

    Example:
        >>> net = nn.Dense(2, 1)
        >>> nn.Adagrad(net.trainable_params())((ops.ones((1, 2)), ops.ones(1)))
        True
    """

    accum: ParameterTuple
    update_slots: bool

    def __init__(self, params: Params, accum: float = 0.1,
                 learning_rate: Rate = 1e-3, update_slots: bool = True, loss_scale: float = 1.0,
                 weight_decay: float | Cell = 0.0) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _at_least("Adagrad", accum=accum)
        self.accum, self.update_slots = self._state("accum", accum), update_slots

    def construct(self, grads: tuple[Tensor, ...]) -> bool:
        grads = self._gradients(grads)
        for i in self._owned:
            p, a, g = self.parameters[i], self.accum[i], grads[i]
            if self.update_slots:
                a._assign(a + g * g)
            p._assign(p - self._lr(i) * g * F.rsqrt(a))
        self._step()
        return True


class Adadelta(Optimizer):
    """Steps in proportion to the root mean square of the steps before (Zeiler 2012).

    Args:
        params (list of Parameter or of dict): the parameters, or groups of them with 'params' and their own rates.
        learning_rate (float, Tensor, list or LearningRateSchedule, optional): the rate, or that of each step.
            Default: 1.0.
        rho (float, optional): the decay of the mean squares. Default: 0.9.
        epsilon (float, optional): a small number that keeps the result finite. Default: 1e-06.
        loss_scale (float, optional): what gradients are divided by. Default: 1.0.
        weight_decay (float or Cell, optional): the factor of parameters that is added to gradients. Default: 0.0.

    Inputs:
        grads: tuple of Tensors.

    Outputs:
        True, after the parameters' change.

    Example:
        >>> net = nn.Dense(2, 1)
        >>> nn.Adadelta(net.trainable_params())((ops.ones((1, 2)), ops.ones(1)))
        True
    """

    rho: float
    epsilon: float
    accum: ParameterTuple
    accum_update: ParameterTuple

    def __init__(self, params: Params, learning_rate: Rate = 1.0,
                 rho: float = 0.9, epsilon: float = 1e-6, loss_scale: float = 1.0,
                 weight_decay: float | Cell = 0.0) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _check.need("Adadelta", "rho", rho, _check.within(0, 1))
        _at_least("Adadelta", epsilon=epsilon)
        self.rho, self.epsilon = float(rho), float(epsilon)
        self.accum, self.accum_update = self._state("accum"), self._state("accum_update")

    def construct(self, grads: tuple[Tensor, ...]) -> bool:
        grads = self._gradients(grads)
        for i in self._owned:
            p, a, u, g = self.parameters[i], self.accum[i], self.accum_update[i], grads[i]
            p._assign(p - self._lr(i) * updates.adadelta(a, u, g, self.rho, self.epsilon))
        self._step()
        return True


class AdaMax(_Adam):
    """Adam with the greatest gradient in place of the second moment (Kingma & Ba 2014, section 7.1).

    Args:
        params (list of Parameter or of dict): the parameters, or groups of them with 'params' and their own rates.
        learning_rate (float, Tensor, list or LearningRateSchedule, optional): the rate, or that of each step.
            Default: 0.001.
        beta1 (float, optional): the decay of the first moment. Default: 0.9.
        beta2 (float, optional): the decay of the second moment. Default: 0.999.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-08.
        weight_decay (float or Cell, optional): the factor of parameters that is added to gradients. Default: 0.0.
        loss_scale (float, optional): what gradients are divided by. Default: 1.0.

    Inputs:
        gradients: tuple of Tensors.

    Outputs:
        True, after the parameters' change.

    Example:
        >>> net = nn.Dense(2, 1)
        >>> nn.AdaMax(net.trainable_params())((ops.ones((1, 2)), ops.ones(1)))
        True
    """

    _powers, _power_shape = ("beta1_power",), (1,)

    def __init__(self, params: Params, learning_rate: Rate = 1e-3,
                 beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8, weight_decay: float | Cell = 0.0,
                 loss_scale: float = 1.0) -> None:
        super().__init__(params, learning_rate, beta1, beta2, eps, weight_decay, loss_scale)

    def construct(self, gradients: tuple[Tensor, ...]) -> bool:
        gradients = self._gradients(gradients)
        self.beta1_power._assign(self.beta1_power * self.beta1)
        for i in self._owned:
            p, m, v, g = self.parameters[i], self.moment1[i], self.moment2[i], gradients[i]
            updates.infinity_moments(m, v, g, self.beta1, self.beta2)
            p._assign(p - self._lr(i) / F.reshape(1.0 - self.beta1_power, ()) * m / (v + self.eps))
        self._step()
        return True


class ASGD(Optimizer):
    """Gradient descent with a decaying rate.

    `ax` holds the average of the parameters from step t0 on (Polyak & Juditsky 1992).

    Args:
        params (list of Parameter or of dict): the parameters, or groups of them with 'params' and their own rates.
        learning_rate (float, Tensor, list or LearningRateSchedule, optional): the rate, or that of each step.
            Default: 0.1.
        lambd (float, optional): the decay. Default: 0.0001.
        alpha (float, optional): the exponent of the decay. Default: 0.75.
        t0 (float, optional): from which step on the average is taken. Default: 1e+06.
        weight_decay (float or Cell, optional): the factor of parameters that is added to gradients. Default: 0.0.

    Inputs:
        gradients: tuple of Tensors.

    Outputs:
        True, after the parameters' change.

    Example:
        >>> net = nn.Dense(2, 1)
        >>> nn.ASGD(net.trainable_params())((ops.ones((1, 2)), ops.ones(1)))
        True
    """

    lambd: float
    alpha: float
    t0: float
    mu: ParameterTuple
    eta: ParameterTuple

    def __init__(self, params: Params, learning_rate: Rate = 0.1,
                 lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6, weight_decay: float | Cell = 0.0) -> None:
        super().__init__(learning_rate, params, weight_decay)
        _at_least("ASGD", lambd=lambd, alpha=alpha, t0=t0)
        self.lambd, self.alpha, self.t0 = float(lambd), float(alpha), float(t0)
        self.mu, self.eta = [ParameterTuple([Parameter(Tensor(v, mstype.float32), name=f"{name}_{p.name}")
                                              for p in self.parameters])
                             for name, v in (("mu", 1.0), ("eta", 0.0))]
        self.ax: ParameterTuple = self._state("ax_")

    def construct(self, gradients: tuple[Tensor, ...]) -> bool:
        gradients = self._gradients(gradients)
        steps = F.cast(F.reshape(self.global_step, ()), mstype.float32)
        for i in self._owned:
            p, ax, g, lr = self.parameters[i], self.ax[i], gradients[i], self._lr(i)
            eta = F.select(steps == 0, lr, self.eta[i])
            p._assign(p * (1.0 - self.lambd * eta) - eta * g)
            ax._assign(F.select(self.mu[i] == 1, p, ax + (p - ax) * self.mu[i]))
            self.eta[i]._assign(lr / F.pow(1.0 + self.lambd * lr * (steps + 1.0), self.alpha))
            self.mu[i]._assign(1.0 / F.maximum(steps + 1.0 - self.t0, 1.0))
        self._step()
        return True


class Rprop(Optimizer):
    """Step sizes that grow while a gradient keeps its sign and shrink where it changes (Riedmiller & Braun 1993).

    Args:
        params (list of Parameter or of dict): the parameters, or groups of them with 'params' and their own rates.
        learning_rate (float, Tensor, list or LearningRateSchedule, optional): the rate, or that of each step.
            Default: 0.1.
        etas (tuple of float, optional): the factors of a step that changed its sign, and of one that kept it.
            Default: (0.5, 1.2).
        step_sizes (tuple of float, optional): the least and the greatest step. Default: (1e-06, 50.0).
        weight_decay (float or Cell, optional): the factor of parameters that is added to gradients. Default: 0.0.

    Inputs:
        gradients: tuple of Tensors.

    Outputs:
        True, after the parameters' change.

    Example:
        >>> net = nn.Dense(2, 1)
        >>> nn.Rprop(net.trainable_params())((ops.ones((1, 2)), ops.ones(1)))
        True
    """

    etas: tuple[float, ...]
    step_sizes: tuple[float, ...]
    prev: ParameterTuple
    step_size: ParameterTuple

    def __init__(self, params: Params, learning_rate: Rate = 0.1,
                 etas: Sequence[float] = (0.5, 1.2), step_sizes: Sequence[float] = (1e-6, 50.0),
                 weight_decay: float | Cell = 0.0) -> None:
        super().__init__(learning_rate, params, weight_decay)
        if len(etas) != 2 or not 0 < etas[0] < 1 < etas[1]:
            raise _check.refused("Rprop", "etas", _check.value("be (in (0, 1), above 1)"), etas)
        if len(step_sizes) != 2 or not 0 <= step_sizes[0] <= step_sizes[1]:
            raise _check.refused("Rprop", "step_sizes", _check.value("be (least, greatest)"), step_sizes)
        self.etas, self.step_sizes = tuple(map(float, etas)), tuple(map(float, step_sizes))
        self.prev, self.step_size = self._state("prev"), self._state("step_size")

    def construct(self, gradients: tuple[Tensor, ...]) -> bool:
        gradients = self._gradients(gradients)
        first = F.reshape(self.global_step, ()) == 0
        for i in self._owned:
            p, prev, size, g = self.parameters[i], self.prev[i], self.step_size[i], gradients[i]
            same = prev * g
            factor = F.select(same > 0, self.etas[1], F.select(same < 0, self.etas[0], 1.0))
            size._assign(F.clip_by_value(F.select(first, F.ones_like(size) * self._lr(i), size) * factor,
                                         *self.step_sizes))
            g = F.select(same < 0, F.zeros_like(g), g)  # no step, and no memory of the sign, where it changed
            p._assign(p - F.sign(g) * size)
            prev._assign(g)
        self._step()
        return True


class ProximalAdagrad(Optimizer):
    """Adagrad with l1 and l2 penalties applied by their proximal operator (Duchi & Singer 2009).

    Args:
        params (list of Parameter or of dict): the parameters, or groups of them with 'params' and their own rates.
        accum (float, optional): the sum of squares at first. Default: 0.1.
        learning_rate (float, Tensor, list or LearningRateSchedule, optional): the rate, or that of each step.
            Default: 0.001.
        l1 (float, optional): the factor of the sum of absolute values. Default: 0.0.
        l2 (float, optional): the factor of the sum of squares. Default: 0.0.
        use_locking (bool, optional): kept for its name. Default: False.
        loss_scale (float, optional): what gradients are divided by. Default: 1.0.
        weight_decay (float or Cell, optional): the factor of parameters that is added to gradients. Default: 0.0.

    Inputs:
        grads: tuple of Tensors.

    Outputs:
        True, after the parameters' change.

    Example:
        >>> net = nn.Dense(2, 1)
        >>> nn.ProximalAdagrad(net.trainable_params())((ops.ones((1, 2)), ops.ones(1)))
        True
    """

    l1: float
    l2: float
    accum: ParameterTuple

    def __init__(self, params: Params, accum: float = 0.1,
                 learning_rate: Rate = 1e-3, l1: float = 0.0, l2: float = 0.0, use_locking: bool = False,
                 loss_scale: float = 1.0, weight_decay: float | Cell = 0.0) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _at_least("ProximalAdagrad", accum=accum, l1=l1, l2=l2)
        self.l1, self.l2, self.accum = float(l1), float(l2), self._state("accum", accum)

    def construct(self, grads: tuple[Tensor, ...]) -> bool:
        grads = self._gradients(grads)
        for i in self._owned:
            p, a, g = self.parameters[i], self.accum[i], grads[i]
            a._assign(a + g * g)
            rate = self._lr(i) * F.rsqrt(a)
            p._assign(shrunk(p - rate * g, rate, self.l1, self.l2))
        self._step()
        return True


class FTRL(Optimizer):
    """Follow the regularised leader (McMahan et al. 2013).

    Args:
        params (list of Parameter or of dict): the parameters, or groups of them with 'params' and their own rates.
        initial_accum (float, optional): the sum of squares at first. Default: 0.1.
        learning_rate (float, Tensor, list or LearningRateSchedule, optional): the rate, or that of each step.
            Default: 0.001.
        lr_power (float, optional): the exponent of the rate. Default: -0.5.
        l1 (float, optional): the factor of the sum of absolute values. Default: 0.0.
        l2 (float, optional): the factor of the sum of squares. Default: 0.0.
        use_locking (bool, optional): kept for its name. Default: False.
        loss_scale (float, optional): what gradients are divided by. Default: 1.0.
        weight_decay (float or Cell, optional): the factor of parameters that is added to gradients. Default: 0.0.

    Inputs:
        grads: tuple of Tensors.

    Outputs:
        True, after the parameters' change.

    Example:
        >>> net = nn.Dense(2, 1)
        >>> nn.FTRL(net.trainable_params())((ops.ones((1, 2)), ops.ones(1)))
        True
    """

    lr_power: float
    l1: float
    l2: float
    moments: ParameterTuple
    linear: ParameterTuple

    def __init__(self, params: Params, initial_accum: float = 0.1,
                 learning_rate: Rate = 1e-3, lr_power: float = -0.5, l1: float = 0.0, l2: float = 0.0,
                 use_locking: bool = False, loss_scale: float = 1.0, weight_decay: float | Cell = 0.0) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _at_least("FTRL", initial_accum=initial_accum, l1=l1, l2=l2)
        _check.need("FTRL", "lr_power", lr_power, _check.at_most(0))
        self.lr_power, self.l1, self.l2 = float(lr_power), float(l1), float(l2)
        self.moments, self.linear = self._state("moments", initial_accum), self._state("linear")
        self._apply = ApplyFtrl()

    def construct(self, grads: tuple[Tensor, ...]) -> bool:
        grads = self._gradients(grads)
        for i in self._owned:
            self._apply(self.parameters[i], self.moments[i], self.linear[i], grads[i], self._lr(i), self.l1, self.l2,
                        self.lr_power)
        self._step()
        return True


class Lamb(_Adam):
    """Adam's step, scaled per parameter by |p| / |step| (You et al. 2019).

    Args:
        params (list of Parameter or of dict): the parameters, or groups of them with 'params' and their own rates.
        learning_rate (float, Tensor, list or LearningRateSchedule): the rate, or that of each step.
        beta1 (float, optional): the decay of the first moment. Default: 0.9.
        beta2 (float, optional): the decay of the second moment. Default: 0.999.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-06.
        weight_decay (float or Cell, optional): the factor of parameters that is added to gradients. Default: 0.0.

    Inputs:
        gradients: tuple of Tensors.

    Outputs:
        True, after the parameters' change.

    Example:
        >>> net = nn.Dense(2, 1)
        >>> nn.Lamb(net.trainable_params(), 0.1)((ops.ones((1, 2)), ops.ones(1)))
        True
    """

    _moments = ("lamb_m", "lamb_v")

    def __init__(self, params: Params, learning_rate: Rate, beta1: float = 0.9,
                 beta2: float = 0.999, eps: float = 1e-6, weight_decay: float | Cell = 0.0) -> None:
        super().__init__(params, learning_rate, beta1, beta2, eps, weight_decay, 1.0)

    def construct(self, gradients: tuple[Tensor, ...]) -> bool:
        self._count(gradients)
        steps = F.cast(F.reshape(self.global_step, ()), mstype.float32) + 1.0
        power1, power2 = F.pow(self.beta1, steps), F.pow(self.beta2, steps)
        for i in self._owned:
            p, m, v, g = self.parameters[i], self.moment1[i], self.moment2[i], gradients[i]
            updates.moments(m, v, g, self.beta1, self.beta2)
            step = m / (1.0 - power1) / (F.sqrt(v / (1.0 - power2)) + self.eps)
            if self._decays(i):
                step = step + p * self._decay(i)
            length, size = F.sqrt(F.sum(p * p)), F.sqrt(F.sum(step * step))
            ratio = F.select((length > 0) & (size > 0), length / F.maximum(size, 1e-38), 1.0)
            p._assign(p - self._lr(i) * ratio * step)
        self._step()
        return True


class LARS(Optimizer):
    """Another optimizer on gradients scaled per parameter by coefficient * |p| / (|g| + weight_decay |p| + epsilon)
    (You et al. 2017).

    lars_filter(p): whether a parameter's gradient is scaled.

    Args:
        optimizer (Optimizer): what changes the parameters.
        epsilon (float, optional): a small number that keeps the result finite. Default: 1e-05.
        coefficient (float, optional): the trust coefficient. Default: 0.001.
        use_clip (bool, optional): whether rates are limited to 1. Default: False.
        lars_filter (function, optional): says of which parameters rates are scaled.

    Inputs:
        gradients: tuple of Tensors.

    Outputs:
        True, after the parameters' change.

    Example:
        >>> net = nn.Dense(2, 1)
        >>> nn.LARS(nn.SGD(net.trainable_params(), 0.1))((ops.ones((1, 2)), ops.ones(1)))
        True
    """

    opt: Any
    epsilon: float
    coefficient: float
    use_clip: bool
    weight_decays: tuple[Any, ...]
    dynamic_weight_decay: bool

    def __init__(self, optimizer: Optimizer, epsilon: float = 1e-5, coefficient: float = 1e-3, use_clip: bool = False,
                 lars_filter: Callable[[Parameter], bool] = lambda p: "LayerNorm" not in p.name and "bias" not in p.name
                 ) -> None:
        _check.need("LARS", "optimizer", optimizer, _check.a(Optimizer))
        super().__init__(0.0, optimizer.parameters)
        # the rates and steps are those of the other; checkpoints have these names
        self.learning_rate.name = "fake_lr"
        self.fake_param: Parameter = Parameter(Tensor(0.0, mstype.float32), name="fake_param")
        self.global_step: Parameter = optimizer.global_step
        _at_least("LARS", epsilon=epsilon, coefficient=coefficient)
        self.opt, self.epsilon = optimizer, float(epsilon)
        self.coefficient, self.use_clip = float(coefficient), use_clip
        self.filtered: tuple[bool, ...] = tuple(bool(lars_filter(p)) for p in optimizer.parameters)
        # it is part of the scaled gradient
        self.weight_decays, self.dynamic_weight_decay = optimizer.weight_decays, optimizer.dynamic_weight_decay
        optimizer.weight_decays = (0.0,) * len(self.weight_decays)

    def construct(self, gradients: tuple[Tensor, ...]) -> Any:
        self._count(gradients)
        scaled = []
        for i in range(len(gradients)):
            p, g, decay = self.parameters[i], gradients[i], self._decay(i)
            if self.filtered[i]:
                length, size = F.sqrt(F.sum(p * p)), F.sqrt(F.sum(g * g))
                ratio = F.select((length > 0) & (size > 0),
                                 self.coefficient * length / (size + decay * length + self.epsilon), 1.0)
                if self.use_clip:
                    ratio = F.minimum(ratio / self.opt._lr(i), 1.0)
                g = (g + p * decay) * ratio
            elif self._decays(i):
                g = g + p * decay
            scaled.append(g)
        return self.opt(tuple(scaled))


class AdaFactor(Optimizer):
    """Adam with second moments of matrices kept as sums of rows and columns (Shazeer & Stern 2018).

    Args:
        params (list of Parameter or of dict): the parameters, or groups of them with 'params' and their own rates.
        learning_rate (float, Tensor, list or LearningRateSchedule, optional): the rate, or that of each step.
            Default: None.
        eps (float, optional): a small number that keeps the result finite. Default: (1e-30, 0.001).
        clip_threshold (float, optional): the greatest root mean square of a step. Default: 1.0.
        decay_rate (float, optional): the factor. Default: 0.8.
        beta1 (float, optional): the decay of the first moment. Default: 0.9.
        weight_decay (float or Cell, optional): the factor of parameters that is added to gradients. Default: 0.0.
        scale_parameter (bool, optional): whether rates are relative to the parameters. Default: True.
        relative_step (bool, optional): whether the rate follows from the number of steps. Default: True.
        warmup_init (bool, optional): whether the first rates are small. Default: False.
        compression (bool, optional): kept for its name. Default: False.
        loss_scale (float, optional): what gradients are divided by. Default: 1.0.

    Inputs:
        gradients: tuple of Tensors.

    Outputs:
        True, after the parameters' change.

    Raises:
        ValueError: if `warmup_init` is not a bool, or `compression` is not a bool, or `eps` does not hold two numbers.

    Example:
        >>> net = nn.Dense(2, 1)
        >>> nn.AdaFactor(net.trainable_params(), 0.1, relative_step=False)((ops.ones((1, 2)), ops.ones(1)))
        True
    """

    eps: tuple[float, ...]
    clip_threshold: float
    decay_rate: float
    beta1: float
    scale_parameter: bool
    relative_step: bool
    warmup_init: bool
    columns: ParameterTuple

    def __init__(self, params: Params, learning_rate: Rate | None = None,
                 eps: float | tuple[float, ...] = (1e-30, 1e-3), clip_threshold: float = 1.0, decay_rate: float = 0.8,
                 beta1: float = 0.9, weight_decay: float | Cell = 0.0, scale_parameter: bool = True,
                 relative_step: bool = True, warmup_init: bool = False, compression: bool = False,
                 loss_scale: float = 1.0) -> None:
        if learning_rate is not None and relative_step:
            raise _check.exactly_one("AdaFactor", "learning_rate", "relative_step")
        if learning_rate is None and not relative_step:
            raise _check.exactly_one("AdaFactor", "learning_rate", "relative_step")
        if warmup_init and not relative_step:
            raise _check.needs("AdaFactor", "'warmup_init'", "'relative_step'")
        if compression:
            raise _check.unsupported("AdaFactor", "'compression' is")
        super().__init__(0.0 if learning_rate is None else learning_rate, params, weight_decay, loss_scale)
        if len(eps) != 2:
            raise _check.refused("AdaFactor", "eps", _check.value("hold two numbers"), eps)
        _at_least("AdaFactor", eps=eps[0], clip_threshold=clip_threshold, decay_rate=decay_rate, beta1=beta1)
        self.eps, self.clip_threshold = tuple(map(float, eps)), float(clip_threshold)
        self.decay_rate, self.beta1 = float(decay_rate), float(beta1)
        self.scale_parameter, self.relative_step, self.warmup_init = scale_parameter, relative_step, warmup_init
        self.exp_avg: ParameterTuple | None = self._state("exp_avg") if beta1 > 0 else None

        def second_moments(name, shape):
            return ParameterTuple([Parameter(F.zeros(shape(p.shape), p.dtype), name=f"{name}_{p.name}")
                                   for p in self.parameters])
        self.rows: ParameterTuple = second_moments("exp_avg_sq_row", lambda s: s[:-1] if len(s) > 1 else (1,))
        self.columns = second_moments("exp_avg_sq_col", lambda s: s[:-2] + s[-1:] if len(s) > 1 else (1,))
        self.whole: ParameterTuple = second_moments("exp_avg_sq", lambda s: s if len(s) < 2 else (1,))
        self.step: Parameter = Parameter(Tensor([0.0], mstype.float32), name="afactor_step")

    def construct(self, gradients: tuple[Tensor, ...]) -> bool:
        self._count(gradients)
        steps = F.cast(F.reshape(self.global_step, ()), mstype.float32) + 1.0
        keep = 1.0 - F.pow(steps, -self.decay_rate)
        for i in self._owned:
            p, g = self.parameters[i], gradients[i]
            if self.loss_scale != 1.0:
                g = g * (1.0 / self.loss_scale)
            lr = self._lr(i)
            if self.relative_step:
                lr = F.minimum(1e-6 * steps if self.warmup_init else 1e-2, F.rsqrt(steps))
            if self.scale_parameter:
                lr = lr * F.maximum(F.sqrt(F.mean(p * p)), self.eps[1])
            squares = g * g + self.eps[0]
            if p.ndim > 1:
                r, c = self.rows[i], self.columns[i]
                r._assign(r * keep + F.mean(squares, -1) * (1.0 - keep))
                c._assign(c * keep + F.mean(squares, -2) * (1.0 - keep))
                step = F.expand_dims(F.rsqrt(r / F.mean(r, -1, True)), -1) * F.expand_dims(F.rsqrt(c), -2) * g
            else:
                v = self.whole[i]
                updates.average(v, squares, keep)
                step = F.rsqrt(v) * g
            step = step / F.maximum(F.sqrt(F.mean(step * step)) / self.clip_threshold, 1.0) * lr
            if self.exp_avg is not None:
                m = self.exp_avg[i]
                updates.average(m, step, self.beta1)
                step = m
            if self._decays(i):
                step = step + p * (lr * self._decay(i))
            p._assign(p - step)
        self.step._assign(self.step + 1.0)
        self._step()
        return True


__all__ = [n for n, v in globals().items() if isinstance(v, type) and issubclass(v, Optimizer)]
