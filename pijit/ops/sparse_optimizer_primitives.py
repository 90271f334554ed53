"""Primitives that update rows of Parameters in place, those that sparse gradients name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit._C import ops as _ops
from pijit.ops import function as F, updates
from pijit.ops.optimizer_primitives import _checked, _ftrl, _Locking, shrunk
from pijit.ops.primitive import Primitive

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import Tensor


def _rows(parameter, indices):
    return F.gather(parameter, indices, 0)


def _put(parameter, indices, rows):
    return parameter._assign(F.tensor_scatter_update(parameter, F.reshape(indices, (-1, 1)), rows))


class SparseApplyAdagrad(Primitive):
    """Adagrad on the rows `indices`: (var, accum)."""

    lr: float
    update_slots: bool
    use_locking: bool

    def __init__(self, lr: float, update_slots: bool = True, use_locking: bool = False) -> None:
        super().__init__()
        if lr < 0:
            raise _check.refused("SparseApplyAdagrad", "lr", _check.at_least(0), lr)
        self.lr, self.update_slots, self.use_locking = lr, update_slots, use_locking

    def __call__(self, var: Tensor, accum: Tensor, grad: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
        v, a = _rows(var, indices), _rows(accum, indices)
        if self.update_slots:
            a = a + grad * grad
            _put(accum, indices, a)
        return _put(var, indices, v - self.lr * grad * F.rsqrt(a)), accum


class _SparseFtrl(Primitive):
    lr: float
    l1: float
    l2: float
    lr_power: Any
    use_locking: bool

    def __init__(self, lr: float, l1: float, l2: float, lr_power: Any, use_locking: bool = False) -> None:
        super().__init__()
        if lr <= 0 or l1 < 0 or l2 < 0 or lr_power > 0:
            raise ValueError(
                f"For '{type(self).__name__}', 'lr' must be > 0, 'l1' and 'l2' >= 0 and 'lr_power' <= 0, "
                f"but got {lr}, {l1}, {l2}, {lr_power}.")
        self.lr, self.l1, self.l2, self.lr_power, self.use_locking = lr, l1, l2, lr_power, use_locking


class SparseApplyFtrl(_SparseFtrl):
    """FTRL on the rows `indices`: (var, accum, linear)."""

    def __call__(self, var: Tensor, accum: Tensor, linear: Any, grad: Tensor,
                 indices: Tensor) -> tuple[Tensor | Any, ...]:
        new = _ftrl(_rows(var, indices), _rows(accum, indices), _rows(linear, indices), grad, self.lr, self.l1, self.l2,
                    self.lr_power)
        return tuple(_put(p, indices, rows) for p, rows in zip((var, accum, linear), new))


class SparseApplyProximalAdagrad(_Locking):
    """Proximal Adagrad on the rows `indices`: (var, accum)."""

    def __call__(self, var: Tensor, accum: Tensor, lr: Any, l1: float, l2: float, grad: Tensor,
                 indices: Tensor) -> tuple[Tensor, Tensor]:
        a = _rows(accum, indices) + grad * grad
        rate = lr * F.rsqrt(a)
        v = shrunk(_rows(var, indices) - rate * grad, rate, l1, l2)
        return _put(var, indices, v), _put(accum, indices, a)


class SparseApplyAdagradV2(Primitive):
    """Adagrad with epsilon on the rows `indices`: (var, accum)."""

    lr: float
    epsilon: float
    use_locking: bool
    update_slots: bool

    def __init__(self, lr: float, epsilon: float, use_locking: bool = False, update_slots: bool = True) -> None:
        super().__init__()
        if lr <= 0:
            raise _check.refused("SparseApplyAdagradV2", "lr", _check.above(0), lr)
        self.lr, self.epsilon, self.use_locking, self.update_slots = lr, epsilon, use_locking, update_slots

    def __call__(self, var: Tensor, accum: Tensor, grad: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
        v, a = _rows(var, indices), _rows(accum, indices)
        if self.update_slots:
            a = a + grad * grad
            _put(accum, indices, a)
        return _put(var, indices, v - self.lr * grad / (F.sqrt(a) + self.epsilon)), accum


class SparseApplyAdadelta(Primitive):
    """Adadelta on the rows `indices`: (var, accum, accum_update)."""

    epsilon: float
    use_locking: bool

    def __init__(self, epsilon: float, use_locking: bool = False) -> None:
        super().__init__()
        if epsilon <= 0:
            raise _check.refused("SparseApplyAdadelta", "epsilon", _check.above(0), epsilon)
        self.epsilon, self.use_locking = epsilon, use_locking

    def __call__(self, var: Tensor, accum: Tensor, accum_update: Any, lr: Any, rho: Any, grad: Tensor,
                 indices: Tensor) -> tuple[Tensor, Tensor, Any]:
        v, a, u = _rows(var, indices), _rows(accum, indices), _rows(accum_update, indices)
        a = a * rho + grad * grad * (1.0 - rho)
        step = F.sqrt(u + self.epsilon) * F.rsqrt(a + self.epsilon) * grad
        _put(accum, indices, a)
        _put(accum_update, indices, u * rho + step * step * (1.0 - rho))
        return _put(var, indices, v - step * lr), accum, accum_update


class SparseApplyFtrlV2(Primitive):
    """FTRL with shrinkage on the rows `indices`: (var, accum, linear)."""

    lr: float
    l1: float
    l2: float
    l2_shrinkage: Any
    lr_power: Any
    use_locking: bool

    def __init__(self, lr: float, l1: float, l2: float, l2_shrinkage: Any, lr_power: Any,
                 use_locking: bool = False) -> None:
        super().__init__()
        self.lr, self.l1, self.l2, self.l2_shrinkage, self.lr_power, self.use_locking = (lr, l1, l2, l2_shrinkage,
            lr_power, use_locking)

    def __call__(self, var: Tensor, accum: Tensor, linear: Any, grad: Tensor,
                 indices: Tensor) -> tuple[Tensor, Tensor, Any]:
        v, a, z = _rows(var, indices), _rows(accum, indices), _rows(linear, indices)
        total = a + grad * grad
        before, now = F.pow(a, -self.lr_power), F.pow(total, -self.lr_power)
        z = z + grad + v * (2.0 * self.l2_shrinkage) - (now - before) / self.lr * v
        new = -F.sign(z) * F.maximum(F.abs(z) - self.l1, 0.0) / (now / self.lr + 2.0 * self.l2)
        return _put(var, indices, new), _put(accum, indices, total), _put(linear, indices, z)


class SparseApplyRMSProp(Primitive):
    """RMSProp on the rows `indices`: (var, ms, mom)."""

    rho: float
    momentum: float
    epsilon: float
    use_locking: bool

    def __init__(self, rho: float, momentum: float, epsilon: float, use_locking: bool = False) -> None:
        super().__init__()
        if epsilon <= 0 or momentum < 0 or not 0 <= rho <= 1:
            raise ValueError(
                f"For 'SparseApplyRMSProp', 'epsilon' must be > 0, 'momentum' >= 0 and 'rho' in [0, 1], but got "
                f"{epsilon}, {momentum}, {rho}.")
        self.rho, self.momentum, self.epsilon, self.use_locking = rho, momentum, epsilon, use_locking

    def __call__(self, var: Tensor, ms: Any, mom: Any, lr: Any, grad: Tensor,
                 indices: Tensor) -> tuple[Tensor, Any, Any]:
        v, s, m = _rows(var, indices), _rows(ms, indices), _rows(mom, indices)
        s = s * self.rho + grad * grad * (1.0 - self.rho)
        m = m * self.momentum + lr * grad * F.rsqrt(s + self.epsilon)
        return _put(var, indices, v - m), _put(ms, indices, s), _put(mom, indices, m)


def _joined(parameter, grad, indices):
    """Zeros of the parameter's shape with the gradient's rows added at their places."""
    return _ops["scatter_nd"](F.zeros_like(parameter), F.reshape(indices, (-1, 1)), grad, "add")


def _hit(parameter, indices):
    """Which rows the indices name, as a column."""
    rows = _ops["scatter_nd"](F.zeros((parameter.shape[0],), parameter.dtype), F.reshape(indices, (-1, 1)),
                              F.ones(indices.shape, parameter.dtype), "update")
    return F.reshape(rows > 0, (-1,) + (1,) * (parameter.ndim - 1))


class FusedSparseAdam(Primitive):
    """Adam with a sparse gradient, repeated rows of which are added: all rows move, as m does.

    With use_nesterov the named ones. (var, m, v)."""

    use_locking: bool
    use_nesterov: bool
    lazy = False

    def __init__(self, use_locking: bool = False, use_nesterov: bool = False) -> None:
        super().__init__()
        self.use_locking, self.use_nesterov = use_locking, use_nesterov

    def __call__(self, var: Tensor, m: Tensor, v: Tensor, beta1_power: Any, beta2_power: Any, lr: Any, beta1: float,
                 beta2: float, epsilon: float, gradient: Tensor, indices: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        g = _joined(var, gradient, indices)
        rate = lr * F.sqrt(1.0 - beta2_power) / (1.0 - beta1_power)
        new_m, new_v = m * beta1 + g * (1.0 - beta1), v * beta2 + g * g * (1.0 - beta2)
        step = updates.ahead(new_m, g, beta1) if self.use_nesterov else new_m
        new = var - rate * step / (F.sqrt(new_v) + epsilon)
        if self.lazy:
            hit = _hit(var, indices)
            new_m, new_v, new = F.select(hit, new_m, m), F.select(hit, new_v, v), F.select(hit, new, var)
        elif self.use_nesterov:
            new = F.select(_hit(var, indices), new, var)
        m._assign(new_m)
        v._assign(new_v)
        return var._assign(new), m, v


class FusedSparseLazyAdam(FusedSparseAdam):
    """The same on the rows that the indices name alone."""

    lazy = True


class FusedSparseFtrl(_SparseFtrl):
    """FTRL with a sparse gradient, repeated rows of which are added: (var, accum, linear)."""

    def __call__(self, var: Tensor, accum: Tensor, linear: Any, grad: Tensor,
                 indices: Tensor) -> tuple[Tensor, Tensor, Any]:
        hit = _hit(var, indices)
        new = _ftrl(var, accum, linear, _joined(var, grad, indices), self.lr, self.l1, self.l2, self.lr_power)
        for p, value in zip((var, accum, linear), new):
            p._assign(F.select(hit, value, p))
        return var, accum, linear


class FusedSparseProximalAdagrad(_Locking):
    """Proximal Adagrad with a sparse gradient, repeated rows of which are added: (var, accum)."""

    def __call__(self, var: Tensor, accum: Tensor, lr: Any, l1: float, l2: float, grad: Tensor,
                 indices: Tensor) -> tuple[Tensor, Tensor]:
        hit, g = _hit(var, indices), _joined(var, grad, indices)
        a = accum + g * g
        rate = lr * F.rsqrt(a)
        accum._assign(F.select(hit, a, accum))
        return var._assign(F.select(hit, shrunk(var - rate * g, rate, l1, l2), var)), accum


__all__ = [n for n, v in globals().items() if n[0] != "_" and isinstance(v, type) and v.__module__ == __name__]
for _name in __all__:
    _checked(globals()[_name])
