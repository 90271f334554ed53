"""Functions with an inverse, and the logs of their derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit import dtype as mstype
from pijit._C import Tensor
from pijit.nn.cell import Cell
from pijit.ops import function as F

if TYPE_CHECKING:
    from typing import Any
    from pijit._types import DTypeLike


class Bijector(Cell):
    """Base of bijectors.

    Methods: forward(value), inverse(value), forward_log_jacobian(value), inverse_log_jacobian(value), also as
    cell(name, value).

    Subclasses define _forward, _inverse and one of the jacobians with an underscore before their names. `param` holds
    what the function depends on, by name."""

    is_constant_jacobian: bool
    is_injective: bool
    name: str
    dtype: DTypeLike | None
    parameters: dict[bytes, bytes]

    def __init__(self, is_constant_jacobian: bool = False, is_injective: bool = True, name: str | None = None,
                 dtype: DTypeLike | None = None, param: dict[str, Any] | None = None) -> None:
        super().__init__()
        if name is not None and not isinstance(name, str):
            raise _check.refused("Bijector", "name", _check.STR, name)
        self.is_constant_jacobian, self.is_injective, self.name = (is_constant_jacobian, is_injective,
            name or type(self).__name__)
        self.dtype, self.parameters = dtype, dict(param or {})

    @staticmethod
    def _checked(value):
        if not isinstance(value, Tensor):
            raise TypeError(f"For a bijector, the value must be a Tensor, but got {type(value).__name__}.")
        return value

    def forward(self, value: Any) -> Any:
        """The function's value."""
        return self._forward(self._checked(value))

    def inverse(self, value: Any) -> Any:
        """Where the function has this value."""
        return self._inverse(self._checked(value))

    def forward_log_jacobian(self, value: Any) -> Any:
        """log |derivative of the function|."""
        return self._forward_log_jacobian(self._checked(value))

    def inverse_log_jacobian(self, value: Any) -> Any:
        """log |derivative of the inverse|."""
        return self._inverse_log_jacobian(self._checked(value))

    def _forward_log_jacobian(self, x):
        return -self._inverse_log_jacobian(self._forward(x))

    def _inverse_log_jacobian(self, y):
        return -self._forward_log_jacobian(self._inverse(y))

    def _forward(self, x):
        raise NotImplementedError(f"forward is not implemented for {self.name} bijector.")

    def _inverse(self, y):
        raise NotImplementedError(f"inverse is not implemented for {self.name} bijector.")

    def construct(self, name: str, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, name)(*args, **kwargs)

    def extend_repr(self) -> str:
        return ", ".join([f"{n} = {_shown(v)}" for n, v in self.parameters.items()])


def _shown(v):
    return v.asnumpy() if isinstance(v, Tensor) else v


def _parameter(name, what, value):
    if isinstance(value, Tensor):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float, list, tuple)):
        raise _check.refused(name, what, _check.type_("a number, a list or a Tensor"), value)
    return Tensor(value, mstype.float32)


class PowerTransform(Bijector):
    """(1 + x power) ** (1 / power); exp(x) for power 0. TypeError or ValueError unless power is a number >= 0."""

    def __init__(self, power: float | Tensor = 0.0, name: str = "PowerTransform") -> None:
        if isinstance(power, bool) or not isinstance(power, (int, float, Tensor)):
            raise _check.refused("PowerTransform", "power", _check.NUMBER, power)
        if not isinstance(power, Tensor) and power < 0:
            raise _check.refused("PowerTransform", "power", _check.at_least(0), power)
        super().__init__(name=name, param={"power": power})
        self.power: Tensor = _parameter("PowerTransform", "power", power)

    def _forward(self, x):
        zero = self.power == 0
        safe = F.select(zero, F.ones_like(self.power), self.power)
        return F.select(zero, F.exp(x), F.exp(F.log1p(x * safe) / safe))

    def _inverse(self, y):
        zero = self.power == 0
        safe = F.select(zero, F.ones_like(self.power), self.power)
        return F.select(zero, F.log(y), F.expm1(F.log(y) * safe) / safe)

    def _forward_log_jacobian(self, x):
        zero = self.power == 0
        safe = F.select(zero, F.ones_like(self.power), self.power)
        return F.select(zero, x, (1.0 / safe - 1.0) * F.log1p(x * safe))

    def _inverse_log_jacobian(self, y):
        return (self.power - 1.0) * F.log(y)


class Exp(PowerTransform):
    """exp(x)."""

    def __init__(self, name: str = "Exp") -> None:
        super().__init__(0.0, name)

    def _forward(self, x):
        return F.exp(x)

    def _inverse(self, y):
        return F.log(y)

    def _forward_log_jacobian(self, x):
        return x

    def _inverse_log_jacobian(self, y):
        return -F.log(y)

    def extend_repr(self) -> str:
        return "exp"


class ScalarAffine(Bijector):
    """scale x + shift. ValueError for a scale of 0."""

    scale: Tensor
    shift: Tensor

    def __init__(self, scale: float | Tensor = 1.0, shift: float | Tensor = 0.0, name: str = "ScalarAffine") -> None:
        super().__init__(True, True, name, param={"scale": scale, "shift": shift})
        self.scale, self.shift = _parameter("ScalarAffine", "scale", scale), _parameter("ScalarAffine", "shift", shift)

    def _forward(self, x):
        return x * self.scale + self.shift

    def _inverse(self, y):
        return (y - self.shift) / self.scale

    def _forward_log_jacobian(self, x):  # noqa: ARG002
        return F.log(F.abs(self.scale))


class Softplus(Bijector):
    """log(1 + exp(sharpness x)) / sharpness."""

    def __init__(self, sharpness: float | Tensor = 1.0, name: str = "Softplus") -> None:
        super().__init__(name=name, param={"sharpness": sharpness})
        self.sharpness: Tensor = _parameter("Softplus", "sharpness", sharpness)

    def _forward(self, x):
        v = x * self.sharpness
        return (F.maximum(v, 0.0) + F.log1p(F.exp(-F.abs(v)))) / self.sharpness

    def _inverse(self, y):
        v = y * self.sharpness
        return (v + F.log(-F.expm1(-v))) / self.sharpness

    def _forward_log_jacobian(self, x):
        v = x * self.sharpness
        return F.minimum(v, 0.0) - F.log1p(F.exp(-F.abs(v)))

    def _inverse_log_jacobian(self, y):
        return -F.log(-F.expm1(-y * self.sharpness))


class GumbelCDF(Bijector):
    """exp(-exp(-(x - loc) / scale)), the distribution function of Gumbel's distribution.

    ValueError unless scale > 0."""

    loc: Tensor
    scale: Tensor

    def __init__(self, loc: float | Tensor = 0.0, scale: float | Tensor = 1.0, name: str = "GumbelCDF") -> None:
        super().__init__(name=name, param={"loc": loc, "scale": scale})
        self.loc, self.scale = _parameter("GumbelCDF", "loc", loc), _parameter("GumbelCDF", "scale", scale)
        if not bool((self.scale > 0).all()):
            raise _check.refused("GumbelCDF", "scale", _check.above(0), scale)

    def _forward(self, x):
        return F.exp(-F.exp(-(x - self.loc) / self.scale))

    def _inverse(self, y):
        return self.loc - self.scale * F.log(-F.log(y))

    def _forward_log_jacobian(self, x):
        z = (x - self.loc) / self.scale
        return -z - F.exp(-z) - F.log(self.scale)

    def _inverse_log_jacobian(self, y):
        return F.log(self.scale / (-y * F.log(y)))


class Invert(Bijector):
    """The inverse of a bijector. TypeError for anything else."""

    def __init__(self, bijector: Any, name: str = "") -> None:
        if not isinstance(bijector, Bijector):
            raise _check.refused("Invert", "bijector", _check.a(Bijector), bijector)
        super().__init__(bijector.is_constant_jacobian, bijector.is_injective, name or "Invert" + bijector.name)
        self._bijector = bijector

    @property
    def bijector(self) -> Bijector:
        """What is inverted."""
        return self._bijector

    def _forward(self, x):
        return self._bijector._inverse(x)

    def _inverse(self, y):
        return self._bijector._forward(y)

    def _forward_log_jacobian(self, x):
        return self._bijector._inverse_log_jacobian(x)

    def _inverse_log_jacobian(self, y):
        return self._bijector._forward_log_jacobian(y)


__all__ = ["Bijector", "Exp", "GumbelCDF", "Invert", "PowerTransform", "ScalarAffine", "Softplus"]
