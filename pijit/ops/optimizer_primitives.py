"""Primitives that update Parameters in place: the steps of optimizers. Each gives the new values."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from pijit import _check
from pijit import _C
from pijit.compute_dtype import as_update
from pijit.ops import function as F, updates
from pijit.ops.primitive import Primitive
from pijit.parameter import Parameter

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import Tensor
    from pijit._types import Rate
    from pijit.nn.cell import Cell


def shrunk(x: Tensor, rate: Any, l1: float, l2: float) -> Any:
    """The proximal operator of rate * (l1 |x| + l2 x^2 / 2)."""
    return F.sign(x) * F.maximum(F.abs(x) - rate * l1, 0.0) / (1.0 + rate * l2)


def _checked(cls):
    """Makes the calls of a step check its Parameters first: those with dimensions are of one shape, for steps on rows
    also floating. What they answer are the new values, as plain Tensors."""
    if "__call__" not in vars(cls):
        return
    step = cls.__call__

    def __call__(self, *args):
        shape = None
        for x in args:
            if isinstance(x, Parameter) and x.ndim > 0 and cls is not SGD:
                if shape is None:
                    shape = x.shape
                if x.shape != shape:
                    raise _check.refused(type(self).__name__, "the Parameters", _check.value("have one shape"),
                                         _check.several(tuple(shape), tuple(x.shape)))
                if not x.dtype.is_floating_point and type(self).__name__.startswith("Sparse"):
                    raise _check.refused(type(self).__name__, "the Parameters", _check.FLOATING, x.dtype)
        new = step(self, *args) if _C.compute_dtype() is None else as_update(step, self, *args)
        return tuple(x._alias() for x in new) if isinstance(new, tuple) else new._alias()
    __call__.__doc__ = step.__doc__
    __call__.__signature__ = inspect.signature(step)
    cls.__call__ = __call__


class _Locking(Primitive):
    def __init__(self, use_locking: bool = False) -> None:
        super().__init__()
        self.use_locking = use_locking


class ApplyMomentum(Primitive):
    """Gradient descent with momentum: accumulation = accumulation * momentum + gradient * gradient_scale.

    The step is lr * accumulation, with Nesterov's method lr * (gradient + momentum * accumulation)."""

    use_nesterov: bool
    use_locking: bool
    gradient_scale: float

    def __init__(self, use_nesterov: bool = False, use_locking: bool = False, gradient_scale: float = 1.0) -> None:
        super().__init__()
        self.use_nesterov, self.use_locking, self.gradient_scale = use_nesterov, use_locking, gradient_scale

    def __call__(self, variable: Parameter, accumulation: Any, learning_rate: Rate, gradient: Tensor,
                 momentum: float) -> Tensor:
        g = gradient if self.gradient_scale == 1.0 else gradient * self.gradient_scale
        return variable._assign(variable - updates.momentum(accumulation, g, momentum, self.use_nesterov) *
                                learning_rate)


class ApplyGradientDescent(Primitive):
    """var -= alpha * delta."""

    def __call__(self, variable: Parameter, alpha: Any, delta: Any) -> Tensor:
        return variable._assign(variable - delta * alpha)


class SGD(Primitive):
    """Gradient descent with momentum and dampening.

    Where stat > 0 the step is the first: it takes the whole gradient, and stat becomes 0."""

    dampening: float
    weight_decay: float
    nesterov: bool

    def __init__(self, dampening: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False) -> None:
        super().__init__()
        if nesterov and dampening != 0:
            raise _check.refused("SGD", "dampening", _check.value("be 0 if 'nesterov' is set"), dampening)
        self.dampening, self.weight_decay, self.nesterov = dampening, weight_decay, nesterov

    def __call__(self, parameters: Any, gradient: Tensor, learning_rate: Rate, accum: Tensor, momentum: float,
                 stat: Any) -> Any:
        g = gradient + parameters * self.weight_decay if self.weight_decay else gradient
        accum._assign(F.select(stat > 0, g, accum * momentum + g * (1.0 - self.dampening)))
        stat._assign(F.zeros_like(stat))
        step = g + accum * momentum if self.nesterov else accum
        return parameters._assign(parameters - step * learning_rate)


class Adam(Primitive):
    """Kingma & Ba 2014: (var, m, v)."""

    use_locking: bool
    use_nesterov: bool

    def __init__(self, use_locking: bool = False, use_nesterov: bool = False) -> None:
        super().__init__()
        self.use_locking, self.use_nesterov = use_locking, use_nesterov

    def __call__(self, var: Tensor, m: Tensor, v: Tensor, beta1_power: Any, beta2_power: Any, lr: Any, beta1: float,
                 beta2: float, epsilon: float, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        one = F.ones_like(var)
        rate = lr * F.sqrt(one * (1.0 - beta2_power)) / (1.0 - beta1_power)
        updates.moments(m, v, gradient, beta1, beta2)
        step = updates.ahead(m, gradient, beta1) if self.use_nesterov else m
        return var._assign(var - rate * step / (F.sqrt(v) + epsilon)), m, v


class ApplyAdaMax(Primitive):
    """Kingma & Ba 2014, section 7.1: (var, m, v)."""

    def __call__(self, var: Tensor, m: Tensor, v: Tensor, beta1_power: Any, lr: Any, beta1: float, beta2: float,
                 epsilon: float, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        updates.infinity_moments(m, v, grad, beta1, beta2)
        return var._assign(var - m * (lr / (1.0 - beta1_power)) / (v + epsilon)), m, v


class ApplyAdadelta(Primitive):
    """Zeiler 2012: (var, accum, accum_update)."""

    def __call__(self, var: Tensor, accum: Tensor, accum_update: Any, lr: Any, rho: Any, epsilon: float,
                 grad: Tensor) -> tuple[Tensor, Tensor, Any]:
        return (var._assign(var - updates.adadelta(accum, accum_update, grad, rho, epsilon) * lr), accum,
                accum_update)


class ApplyAdagrad(Primitive):
    """Duchi et al. 2011: (var, accum)."""

    epsilon: float = 0.0

    def __init__(self, update_slots: bool = True) -> None:
        super().__init__()
        self.update_slots = update_slots

    def __call__(self, var: Tensor, accum: Tensor, lr: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        if self.update_slots:
            accum._assign(accum + grad * grad)
        return var._assign(var - lr * grad / (F.sqrt(accum) + self.epsilon)), accum


class ApplyAdagradV2(ApplyAdagrad):
    """Adagrad with epsilon added to the root: (var, accum)."""

    def __init__(self, epsilon: float, update_slots: bool = True) -> None:
        super().__init__(update_slots)
        self.epsilon = epsilon


class ApplyAddSign(Primitive):
    """(alpha + sign_decay * sign(grad) * sign(m)) * grad (Bello et al. 2017): (var, m)."""

    def __call__(self, var: Tensor, m: Tensor, lr: Any, alpha: Any, sign_decay: Any, beta: Any,
                 grad: Tensor) -> tuple[Tensor, Tensor]:
        updates.average(m, grad, beta)
        return var._assign(var - lr * (alpha + sign_decay * F.sign(grad) * F.sign(m)) * grad), m


class ApplyPowerSign(Primitive):
    """exp(logbase * sign_decay * sign(grad) * sign(m)) * grad (Bello et al. 2017): (var, m)."""

    def __call__(self, var: Tensor, m: Tensor, lr: Any, logbase: Any, sign_decay: Any, beta: Any,
                 grad: Tensor) -> tuple[Tensor, Tensor]:
        updates.average(m, grad, beta)
        return var._assign(var - lr * F.exp(logbase * sign_decay * F.sign(grad) * F.sign(m)) * grad), m


class ApplyRMSProp(_Locking):
    """Hinton's RMSProp."""

    def __call__(self, var: Tensor, mean_square: Any, moment: Any, learning_rate: Rate, grad: Tensor, decay: Any,
                 momentum: float, epsilon: float) -> Tensor:
        return var._assign(var - updates.rmsprop(mean_square, moment, grad, learning_rate, decay, momentum, epsilon))


class ApplyCenteredRMSProp(_Locking):
    """RMSProp with the squared mean gradient taken off (Graves 2013)."""

    def __call__(self, var: Tensor, mean_gradient: Any, mean_square: Any, moment: Any, grad: Tensor,
                 learning_rate: Rate, decay: Any, momentum: float, epsilon: float) -> Tensor:
        return var._assign(var - updates.rmsprop(mean_square, moment, grad, learning_rate, decay, momentum, epsilon,
                                                 mean_gradient))


def _ftrl(var, accum, linear, grad, lr, l1, l2, lr_power):
    """New (var, accum, linear) of McMahan et al. 2013."""
    total = accum + grad * grad
    before, now = F.pow(accum, -lr_power), F.pow(total, -lr_power)
    z = linear + grad - (now - before) / lr * var
    return -F.sign(z) * F.maximum(F.abs(z) - l1, 0.0) / (now / lr + 2.0 * l2), total, z


class ApplyFtrl(_Locking):
    """Follow the regularised leader (McMahan et al. 2013)."""

    def __call__(self, var: Tensor, accum: Tensor, linear: Any, grad: Tensor, lr: Any, l1: float, l2: float,
                 lr_power: Any) -> Tensor:
        new = _ftrl(var, accum, linear, grad, lr, l1, l2, lr_power)
        accum._assign(new[1])
        linear._assign(new[2])
        return var._assign(new[0])


class ApplyProximalAdagrad(_Locking):
    """Adagrad with l1 and l2 penalties (Duchi & Singer 2009): (var, accum)."""

    def __call__(self, var: Tensor, accum: Tensor, lr: Any, l1: float, l2: float,
                 grad: Tensor) -> tuple[Tensor, Tensor]:
        accum._assign(accum + grad * grad)
        rate = lr * F.rsqrt(accum)
        return var._assign(shrunk(var - rate * grad, rate, l1, l2)), accum


class ApplyProximalGradientDescent(Primitive):
    """Gradient descent with l1 and l2 penalties (Duchi & Singer 2009)."""

    def __call__(self, var: Tensor, alpha: Any, l1: float, l2: float, delta: Any) -> Tensor:
        return var._assign(shrunk(var - delta * alpha, alpha, l1, l2))


class AdamWeightDecay(_Locking):
    """Adam without bias correction and with decoupled weight decay: (var, m, v)."""

    def __call__(self, var: Tensor, m: Tensor, v: Tensor, lr: Any, beta1: float, beta2: float, epsilon: float,
                 decay: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        g = F.cast(gradient, m.dtype)
        updates.moments(m, v, g, beta1, beta2)
        step = m / (F.sqrt(v) + epsilon) + var * decay
        return var._assign(var - F.cast(step * lr, var.dtype)), m, v


class FusedCastAdamWeightDecay(_Locking):
    """AdamWeightDecay with gradients of half precision, divided by a global norm."""

    def __call__(self, var: Tensor, m: Tensor, v: Tensor, lr: Any, beta1: float, beta2: float, epsilon: float,
                 decay: Any, gradient: Tensor, global_norm: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
        return AdamWeightDecay()(var, m, v, lr, beta1, beta2, epsilon, decay, F.cast(gradient, m.dtype) / global_norm)


class AdamNoUpdateParam(Primitive):
    """The step that Adam would take: m and v are updated, the parameter is the caller's to change."""

    use_locking: bool
    use_nesterov: bool

    def __init__(self, use_locking: bool = False, use_nesterov: bool = False) -> None:
        super().__init__()
        self.use_locking, self.use_nesterov = use_locking, use_nesterov

    def __call__(self, m: Tensor, v: Tensor, beta1_power: Any, beta2_power: Any, lr: Any, beta1: float, beta2: float,
                 epsilon: float, gradient: Tensor) -> Any:
        rate = lr * F.sqrt(F.ones_like(m) * (1.0 - beta2_power)) / (1.0 - beta1_power)
        updates.moments(m, v, gradient, beta1, beta2)
        step = updates.ahead(m, gradient, beta1) if self.use_nesterov else m
        return -rate * step / (F.sqrt(v) + epsilon)


class ApplyAdamWithAmsgradV2(_Locking):
    """Adam with the greatest second moment so far (Reddi et al. 2018): (var, m, v, vhat)."""

    def __call__(self, var: Tensor, m: Tensor, v: Tensor, vhat: Any, beta1_power: Any, beta2_power: Any, lr: Any,
                 beta1: float, beta2: float, epsilon: float, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, Any]:
        rate = lr * F.sqrt(F.ones_like(var) * (1.0 - beta2_power)) / (1.0 - beta1_power)
        updates.moments(m, v, grad, beta1, beta2)
        vhat._assign(F.maximum(vhat, v))
        return var._assign(var - rate * m / (F.sqrt(vhat) + epsilon)), m, v, vhat


class ApplyAdamWithAmsgrad(ApplyAdamWithAmsgradV2):
    """The same with beta1, beta2 and epsilon as attributes."""

    beta1: float
    beta2: float
    epsilon: float

    def __init__(self, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
                 use_locking: bool = False) -> None:
        super().__init__(use_locking)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon

    def __call__(self, var: Tensor, m: Tensor, v: Tensor, vhat: Any, beta1_power: Any, beta2_power: Any, lr: Any,
                 grad: Tensor) -> tuple[Tensor, Tensor, Tensor, Any]:
        return super().__call__(var, m, v, vhat, beta1_power, beta2_power, lr, self.beta1, self.beta2, self.epsilon,
                                grad)


class ApplyAdagradDA(_Locking):
    """Adagrad by dual averaging (Duchi et al. 2011): var."""

    def __call__(self, var: Tensor, gradient_accumulator: Any, gradient_squared_accumulator: Any, grad: Tensor, lr: Any,
                 l1: float, l2: float, global_step: Any) -> Tensor:
        total = gradient_accumulator._assign(gradient_accumulator + grad)
        squares = gradient_squared_accumulator._assign(gradient_squared_accumulator + grad * grad)
        step = F.cast(global_step, var.dtype)
        pull = F.sign(total) * F.maximum(F.abs(total) - l1 * step, 0.0)
        return var._assign(-lr * pull / (l2 * step * lr + F.sqrt(squares)))


class ApplyKerasMomentum(Primitive):
    """Momentum as Keras has it: (var, accum)."""

    use_locking: bool
    use_nesterov: bool

    def __init__(self, use_locking: bool = False, use_nesterov: bool = False) -> None:
        super().__init__()
        self.use_locking, self.use_nesterov = use_locking, use_nesterov

    def __call__(self, var: Tensor, accum: Tensor, lr: Any, grad: Tensor, momentum: float) -> tuple[Tensor, Tensor]:
        accum._assign(accum * momentum - grad * lr)
        return var._assign(var + accum * momentum - grad * lr if self.use_nesterov else var + accum), accum


class FusedWeightScaleApplyMomentum(Primitive):
    """Momentum on the gradient times loss_scale, with weight_decay times the variable: var."""

    def __call__(self, weight_decay: float | Cell, loss_scale: float, variable: Parameter, accumulation: Any,
                 learning_rate: Rate, gradient: Tensor, momentum: float) -> Tensor:
        g = gradient * loss_scale + variable * weight_decay
        accumulation._assign(accumulation * momentum + g)
        return variable._assign(variable - accumulation * learning_rate)


__all__ = [n for n, v in globals().items() if isinstance(v, type) and n[0] != "_" and v is not Primitive]
for _name in __all__:
    _checked(globals()[_name])
