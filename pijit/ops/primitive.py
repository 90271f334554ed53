"""What primitives are: objects that are called with tensors."""

from __future__ import annotations

import copy
import functools
import inspect
from typing import TYPE_CHECKING, overload

from pijit import _check
from pijit import compat

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self


class Primitive:
    """Base of primitives: an instance is called with tensors.

    Attributes that say where and how MindSpore runs an operator (device, stage, shards) are kept and have no effect
    here."""

    update_parameter: bool
    set_hook_fn: Callable[..., Any]
    set_prim_type: Callable[..., Any]
    set_inplace_prim: Callable[..., Any]
    set_signatures: Callable[..., Any]
    set_const_input_indexes: Callable[..., Any]
    __mindspore_signature__: tuple[Any, ...]

    _given: tuple[str, ...] = ("name",)  # what __init__ is given, by name

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        code = getattr(cls.__init__, "__code__", None)
        cls._given = code.co_varnames[1:code.co_argcount] if code else ()

    def __init__(self, name: str | None = None) -> None:
        self.name: str = name or type(self).__name__

    def __repr__(self) -> str:
        given = ", ".join([f"{k}={v}" for k, v in self.__dict__.items() if k != "name" and k[0] != "_"])
        return f"Prim[{self.__dict__.get('name', type(self).__name__)}]" + (f"<{given}>" if given else "")

    def add_prim_attr(self, name: str, value: Any) -> Self:
        """Sets an attribute. Returns the primitive."""
        if not isinstance(name, str):
            raise _check.refused("add_prim_attr", "name", _check.STR, name)
        setattr(self, name, value)
        return self

    def del_prim_attr(self, name: str) -> Self:
        """Takes an attribute away, if it is there. Returns the primitive."""
        self.__dict__.pop(name, None)
        return self

    def get_attr_dict(self) -> dict[str, Any]:
        """The attributes, by name."""
        return {k: v for k, v in self.__dict__.items() if k != "name" and k[0] != "_"}

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes, by name."""
        return self.get_attr_dict()

    def add_attr(self, name: str, value: Any) -> Self:
        """As add_prim_attr."""
        return self.add_prim_attr(name, value)

    def del_attr(self, name: str) -> Self:
        """As del_prim_attr."""
        return self.del_prim_attr(name)

    def set_user_data(self, key: Any, value: Any) -> None:
        """Keeps a value that is no attribute under a key."""
        self.__dict__.setdefault("_user_data", {})[key] = value

    def get_user_data(self, key: Any) -> Any:
        """What set_user_data kept under a key, or None."""
        return self.__dict__.get("_user_data", {}).get(key)

    def set_instance_name(self, instance_name: str) -> Self:
        """As set_prim_instance_name."""
        return self.set_prim_instance_name(instance_name)

    def set_prim_instance_name(self, instance_name: str) -> Self:
        """Gives this instance a name. Returns the primitive."""
        self._instance_name = instance_name
        return self

    @property
    def instance_name(self) -> Any:
        """This instance's name, the primitive's by default."""
        return self.__dict__.get("_instance_name", self.name)

    def init_prim_io_names(self, inputs: Any, outputs: Any) -> None:
        """Names the inputs and outputs."""
        self._io_names = tuple(inputs), tuple(outputs)

    def set_device(self, device_target: str) -> Self:
        """Says on which device to run: there is one. Returns the primitive."""
        return self.add_prim_attr("primitive_target", device_target)

    def set_stage(self, stage: Any) -> Self:
        """Says in which stage of a pipeline to run: there is one. Returns the primitive."""
        return self.add_prim_attr("stage", stage)

    def shard(self, in_strategy: Any = None, out_strategy: Any = None) -> Self:
        """Says how to divide inputs and outputs over devices: there is one. Returns the primitive."""
        for name, value in (("in_strategy", in_strategy), ("out_strategy", out_strategy)):
            if value is not None:
                if not isinstance(value, tuple):
                    raise _check.refused("shard", name, _check.TUPLE, value)
                self.add_prim_attr(name, value)
        return self

    def place(self, role: Any, rank_id: Any) -> None:
        """Says which process runs it: there is one."""

    def recompute(self, mode: bool = True) -> Self:
        """Says whether the result is computed again for gradients; graphs decide that by themselves. Returns the
        primitive."""
        if not isinstance(mode, bool):
            raise _check.refused("recompute", "mode", _check.BOOL, mode)
        return self.add_prim_attr("recompute_", mode)

    # what programs read of MindSpore's primitives besides
    _update_parameter, update_parameter, __mindspore_signature__ = False, False, ()
    init_attrs = attrs

    def _clone(self):
        """Another primitive with the same attributes."""
        return copy.copy(self)

    def _kept(self, *args: Any, **kwargs: Any) -> Self:
        """Kept for its name. Returns the primitive."""
        return self

    set_const_prim = set_const_input_indexes = set_signatures = set_inplace_prim = set_prim_type = set_hook_fn = _kept

    def __call__(self, *inputs: Any) -> Any:
        from pijit.ops import custom
        return custom.run_registered(self, inputs)

    def check_elim(self, *args: Any) -> Any:
        """(False, None): no call is known before it runs."""
        return False, None


class PrimitiveWithInfer(Primitive):
    """Kept for its name."""


class PrimitiveWithCheck(Primitive):
    """Kept for its name."""


def prim_attr_register(fn: Callable[..., Any]) -> Callable[..., None]:
    """For the `__init__` of a primitive: its arguments become attributes before it runs."""
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def __init__(self, *args, **kwargs):
        Primitive.__init__(self, type(self).__name__)
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            self.add_prim_attr(name, value)
        fn(self, *args, **kwargs)
    return __init__


prim_arg_register = prim_attr_register


@overload
def primitive(fn: Callable[..., Any]) -> type[Any]: ...
@overload
def primitive(fn: None = None, *, check: Callable[..., Any] | None = None) -> Callable[[Callable[..., Any]], type[Any]]:
    ...


def primitive(fn: Any = None, *, check: Callable[..., Any] | None = None) -> Any:
    """A primitive class from a function whose positional-only parameters are the inputs, and whose others are the
    attributes:

        @primitive
        def Sort(x, /, axis=-1, descending=False): ...

    is used as `Sort(axis=0)(x)`. `check` is called with the primitive's name and attributes when one is made."""
    if fn is None:
        return lambda f: primitive(f, check=check)
    parameters = list(inspect.signature(fn).parameters.values())
    inputs = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)]
    attributes = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    defaults = {f"_{p.name}": p.default for p in parameters if p.default is not p.empty}

    def declared(ps):
        def one(p):
            return f", {'*' * (p.kind is p.VAR_POSITIONAL)}{p.name}{f'=_{p.name}' if p.default is not p.empty else ''}"
        return "".join(map(one, ps))
    given = ", ".join([("*" if p.kind is p.VAR_POSITIONAL else "") + p.name
                       for p in inputs] + [f"{p.name}=self.{p.name}" for p in attributes])
    # written out, as one would by hand: captured code reads these functions
    text = f"def __init__(self{declared(attributes)}):\n    Primitive.__init__(self)\n"
    text += f"    _check({', '.join([repr(fn.__name__)] + [p.name for p in attributes])})\n" if check else ""
    text += "".join(f"    self.{p.name} = {p.name}\n" for p in attributes)
    text += f"def __call__(self{declared(inputs)}):\n    return _fn({given})\n"
    space = {"Primitive": Primitive, "_fn": fn, "_check": check, "__name__": fn.__module__, **defaults}
    exec(compile(text, f"<primitive {fn.__name__}>", "exec"), space)
    return type(fn.__name__, (Primitive,), {"__init__": space["__init__"], "__call__": space["__call__"],
                                            "__doc__": fn.__doc__, "__module__": fn.__module__})


__getattr__, __dir__ = compat.names(__name__, {"parallel.shard": "Layout"})  # loaded when it is asked for
