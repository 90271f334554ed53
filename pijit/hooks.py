"""Hooks on the gradients of Tensors and Parameters."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from pijit import _check
from pijit import _C

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

kept: dict[Any, Any] = {}  # of tensors that are no part of a gradient being taken: hooks by the object's id


class HookHandle:
    """Removes a hook."""

    active: bool
    owner: Any

    def __init__(self, owner: Any = None) -> None:
        self.active, self.owner = True, owner

    def remove(self) -> None:
        """The hook runs no more."""
        self.active = False
        if self.owner in kept:
            kept[self.owner] = [pair for pair in kept[self.owner] if pair[0] is not self]
            if not kept[self.owner]:
                del kept[self.owner]


def _caller(handle, hook):
    """What a tape calls: gives the gradient that goes on."""
    def on_gradient(grad):
        changed = hook(grad) if handle.active else None
        return grad if changed is None else changed
    return on_gradient


def register(x: Any, hook: Callable[..., Any], stays: Any) -> HookHandle:
    """A hook on the gradient of a Tensor: in each gradient that is being taken and knows x.

    Where there is none, or it `stays`, in those to come that are by x, too."""
    if not callable(hook):
        raise _check.refused("Tensor.register_hook", "hook", _check.FUNCTION, hook)
    tapes = [t for t in _C.active_tapes() if t.watches(x)]
    if tapes and not stays:
        handle = HookHandle()
        function = _caller(handle, hook)
    else:
        handle = HookHandle(id(x))
        function = _caller(handle, hook)
        _keep(x, handle, function)
    for t in tapes:
        t.hook(x, function)
    return handle


def _keep(x, handle, function):
    if id(x) not in kept:
        weakref.finalize(x, kept.pop, id(x), None).atexit = False
    kept[id(x)] = [*kept.get(id(x), ()), (handle, function)]


def attach(tape: Any, tensors: Any, leaves: Any) -> None:
    """Puts the hooks of tensors on a tape that watches `leaves` in their place."""
    for x, leaf in zip(tensors, leaves):
        for _, function in kept.get(id(x), ()):
            tape.hook(leaf, function)
