"""Functions that stand between a cell's parameters and its `construct`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from pijit.nn.cell import Cell

_store = object.__setattr__  # past Cell.__setattr__
_OP = "register_parameter_forward_hook"


def _pairs(cell, hook):
    if callable(hook):
        return [(list(cell.get_parameters()), hook)]
    _check.need(_OP, "hook", hook, _check.a(list))
    pairs = []
    for item in hook:
        _check.need(_OP, "an item of hook", item, _check.a(dict))
        if "params" not in item or "hook" not in item:
            raise _check.refused(_OP, "an item of hook", _check.value("hold 'params' and 'hook'"), list(item))
        for p in item["params"]:
            _check.need(_OP, "all of params", p, _check.a(Parameter))
        if not callable(item["hook"]):
            raise _check.refused(_OP, "hook", _check.FUNCTION, item["hook"])
        pairs.append((list(item["params"]), item["hook"]))
    return pairs


def register(self: Cell, hook: Callable[..., Any] | list[dict[str, Any]]) -> None:
    """While `construct` of the cell that holds a parameter runs, hook(parameter) stands in its place; gradients are by
    the parameter.

    hook: a function, for all parameters of the network, or a list of dicts {"params": [parameters], "hook": function}.
    Raises TypeError or ValueError for anything else. Code of other cells that reads the parameter sees it as it is."""
    for parameters, f in _pairs(self, hook):
        chosen = {id(p) for p in parameters}
        for _, cell in self.cells_and_names():
            named = {name: f for name, p in cell._params.items() if id(p) in chosen}
            if named:
                _store(cell, "_parameter_hooks", {**cell._parameter_hooks, **named})
                cell._update_plain()


def run(cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """cell.construct(*args, **kwargs) with hooks in the parameters' places."""
    hooks = cell._parameter_hooks
    try:
        for name, f in hooks.items():
            _store(cell, name, f(cell._params[name]))
        return cell.construct(*args, **kwargs)
    finally:
        for name in hooks:
            _store(cell, name, cell._params[name])


__all__ = ["register", "run"]
