"""Gradients of primitives, given by the user."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from pijit import _check
from pijit.grad import with_own_gradient
from pijit.ops import primitives

if TYPE_CHECKING:
    from typing import Any


class BpropRegistry(collections.UserDict):
    """Primitive class → its bprop getter. An entry replaces the gradient of calls of that primitive.

    A getter takes the primitive and gives a function bprop(*inputs, out, dout), which returns one gradient for each
    input (None: zero). Deleting an entry brings the derived gradient back."""

    def register(self, prim: Any) -> Any:
        """Decorator that registers a getter for a primitive: its class, an instance or its name.

        Raises TypeError for anything else and ValueError for a name that is no primitive's."""
        cls = _class_of(prim)

        def add(getter):
            if not callable(getter):
                raise _check.refused("bprop_getters.register", "the getter", _check.FUNCTION, getter)
            self[cls] = getter
            return getter
        return add

    def __setitem__(self, cls: Any, getter: Any) -> None:
        cls = _class_of(cls)
        self.pop(cls, None)
        super().__setitem__(cls, (getter, cls.__dict__.get("__call__")))
        plain, name = cls.__call__, cls.__name__

        def __call__(self, *args, **kwargs):
            def forward(*args, **kwargs):
                return plain(self, *args, **kwargs)

            def bprop(*args):
                return getter(self)(*args)
            if type(self) is not cls:  # a primitive derived from this one
                return forward(*args, **kwargs)
            return with_own_gradient(forward, bprop, name, args, kwargs)
        __call__.__doc__ = plain.__doc__
        cls.__call__ = __call__

    def __getitem__(self, cls: Any) -> Any:
        return super().__getitem__(_class_of(cls))[0]

    def __delitem__(self, cls: Any) -> None:
        cls = _class_of(cls)
        _, own = self.data.pop(cls)
        if own is None:
            del cls.__call__
        else:
            cls.__call__ = own


def _class_of(prim):
    if isinstance(prim, str):
        found = getattr(primitives, prim, None)
        if not isinstance(found, type) or not issubclass(found, primitives.Primitive):
            raise _check.none_such("bprop_getters.register", "primitive", prim)
        return found
    cls = prim if isinstance(prim, type) else type(prim)
    if not issubclass(cls, primitives.Primitive):
        raise _check.expected("bprop_getters.register", "a primitive", prim, TypeError)
    return cls


bprop_getters: BpropRegistry = BpropRegistry()
