"""Attributes that programs set on Tensors: `t.tag = 3`.

Tensors have no `__dict__`: it would make each of them larger to make and to free. What is set lies in a table, and a
name that was set once is looked up there by a descriptor of the class, so that other names and other attributes cost
what they cost without. Parameters and subclasses have a `__dict__` each, which comes first.

A value that refers to its Tensor keeps it alive."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from pijit._C import Tensor
from pijit._attribute_error import attribute_error
from pijit.compat import left_out
from pijit.parameter import Parameter

if TYPE_CHECKING:
    from typing import Any

_held = {}  # the address of a Tensor: (a weak reference that takes it out, its attributes by name)
_NOTHING = object()


class _Attribute:
    """What finds an attribute of one name; what the class had under it is what other Tensors have."""

    def __init__(self, name: str, of_all: Any) -> None:
        self.name, self.of_all = name, of_all

    def __get__(self, tensor: Any, owner: Any = None) -> Any:
        if tensor is not None and id(tensor) in _held:
            found = _held[id(tensor)][1]
            if self.name in found:
                return found[self.name]
        if self.of_all is not _NOTHING:
            get = getattr(type(self.of_all), "__get__", None)
            return self.of_all if get is None else get(self.of_all, tensor, owner)
        raise _missing(tensor if tensor is not None else owner, self.name)


def _missing(x, name):
    what = f"type object {x.__name__!r}" if isinstance(x, type) else f"{type(x).__name__!r} object"
    return attribute_error(f"{what} has no attribute {name!r}", name, obj=x)


def _of_class(kind, name):
    """What a class has under the name, without asking it."""
    return next((c.__dict__[name] for c in kind.__mro__ if name in c.__dict__), _NOTHING)


def _set(self, name, value):
    try:
        return object.__setattr__(self, name, value)
    except AttributeError:
        found = _of_class(type(self), name)
        if hasattr(type(found), "__get__") and type(found) is not _Attribute and not left_out.is_left_out(found):
            raise  # a method, or what can't be set
    if type(found) is not _Attribute:
        setattr(Tensor, name, _Attribute(name, found))
    key = id(self)
    if key not in _held:
        # what it needs is bound: at the end of the interpreter there are no globals any more
        _held[key] = weakref.ref(self, lambda _, pop=_held.pop: pop(key, None)), {}
    _held[key][1][name] = value


def _delete(self, name):
    found = _held[id(self)][1] if id(self) in _held else {}
    if name in found:
        del found[name]
    else:
        object.__delattr__(self, name)


Tensor.__setattr__, Tensor.__delattr__ = _set, _delete
Parameter.__setattr__, Parameter.__delattr__ = object.__setattr__, object.__delattr__
