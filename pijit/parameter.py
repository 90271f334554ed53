"""Parameter: a tensor that networks train and save."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from pijit import _check
from pijit import hooks
from pijit._C import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Self
    from pijit.hooks import HookHandle

_UNNAMED = "Parameter#"  # and a number, until a Cell gives a name; parameters without one differ, too
_serial = itertools.count(1)


def unnamed(parameter: Any) -> bool:
    """Whether a parameter still waits for its name."""
    return str(parameter.name).startswith(_UNNAMED)


class Parameter(Tensor):
    """A named tensor with `requires_grad`. Assigning to it replaces its value in place."""

    name, requires_grad, layerwise_parallel, parallel_optimizer = "Parameter", True, False, True

    def __init__(self, default_input: Any = None, name: str | None = None, requires_grad: bool = True,
                 layerwise_parallel: bool = False, parallel_optimizer: bool = True, storage_format: str = "",
                 device: Any = None) -> None:
        if default_input is None:
            raise _check.refused("Parameter", "default_input", _check.value("be a tensor, a number or an array"), None,
                                 TypeError)
        super().__init__(default_input)
        if isinstance(default_input, Tensor):
            self._replace(default_input)
        if name is not None and not isinstance(name, str):
            raise _check.refused("Parameter", "name", _check.optional(_check.STR), name, ValueError)
        self.name: str = name if name is not None and name.strip() else f"{_UNNAMED}{next(_serial)}"
        self.requires_grad: bool = bool(requires_grad)
        self.layerwise_parallel: bool = layerwise_parallel
        self.parallel_optimizer: bool = parallel_optimizer

    @property
    def data(self) -> Self:
        return self

    def value(self) -> Tensor:
        """The current value as a plain tensor."""
        return self._alias()

    def set_data(self, data: Any, slice_shape: bool = False) -> Self:
        """Takes a new value; shape must agree unless slice_shape, dtype is converted."""
        if not isinstance(data, (Tensor, int, float)):
            raise _check.refused("Parameter.set_data", "data", _check.type_("a Tensor or a number"), data)
        if slice_shape:
            self._replace(data)
        else:
            self._renew(data)
        return self

    def register_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """As of a Tensor; the hook stays for all later gradients by this parameter."""
        return hooks.register(self, hook_fn, True)

    def clone(self, init: str = "same") -> Parameter:
        """A new parameter with this value, or filled by an initializer."""
        p = Parameter(self._alias(), name=self.name, requires_grad=self.requires_grad)
        if init != "same":
            from pijit.initializer import initializer
            p._assign(initializer(init, self.shape, self.dtype))
        return p

    def init_data(self, *args: Any, **kwargs: Any) -> Self:
        """Parameters hold data from the start."""
        return self

    def __deepcopy__(self, memo: Any) -> Parameter:
        p = Parameter(self._alias(), name=self.name, requires_grad=self.requires_grad)
        memo[id(self)] = p
        return p

    def __reduce__(self) -> Any:
        return _rebuild_parameter, (self.asnumpy(), self.dtype, self.name, self.requires_grad)

    def __repr__(self) -> str:
        return (f"Parameter (name={self.name}, shape={self.shape}, dtype={self.dtype}, "
                f"requires_grad={self.requires_grad})")

    __str__ = __repr__


def _rebuild_parameter(data, dtype, name, requires_grad):
    return Parameter(Tensor(data, dtype), name=name, requires_grad=requires_grad)


class ParameterTuple(tuple):
    """An immutable sequence of parameters."""

    def __new__(cls, iterable: Iterable[Parameter] = ()) -> Self:
        items = tuple(iterable)
        for p in items:
            if not isinstance(p, Parameter):
                raise _check.refused("ParameterTuple", "every element", _check.a(Parameter), p)
        by_name = {}
        for p in items:
            if by_name.setdefault(p.name, p) is not p and not unnamed(p):
                raise ValueError(
                    f"For 'ParameterTuple', two elements are named {p.name!r}: give each a name of its own.")
        return tuple.__new__(cls, items)

    def clone(self, prefix: str, init: str = "same") -> ParameterTuple:
        """New parameters named `prefix.<name>`."""
        out = []
        for p in self:
            q = p.clone(init)
            q.name = f"{prefix}.{p.name}"
            out.append(q)
        return ParameterTuple(out)
