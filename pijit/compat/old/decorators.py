"""Decorators of MindSpore's inner modules."""

from __future__ import annotations

import functools
import inspect
import warnings
from typing import TYPE_CHECKING

from pijit.jit import jit_class as ms_class  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def deprecated(version: Any, substitute: Any, use_substitute_name: bool = False, module_prefix: str = "") -> Any:
    """Decorator: calls warn, once for each function, that it is deprecated since a version and what stands in its
    place.

    use_substitute_name: the class whose `__init__` this is gets the name as `substitute_name`."""

    def decorate(fn):
        name = module_prefix + (
            fn.__name__
            if not fn.__qualname__.endswith("__init__")
            else fn.__qualname__.rpartition(".")[0].rpartition(".")[2]
        )
        warned = []

        @functools.wraps(fn)
        def call(*args, **kwargs):
            if not warned:
                warned.append(True)
                warnings.warn(
                    f"{name} is deprecated since MindSpore {version}: {substitute} stands in its place.",
                    DeprecationWarning,
                    2,
                )
            if use_substitute_name and args and fn.__name__ == "__init__":
                type(args[0]).substitute_name = substitute
            return fn(*args, **kwargs)

        return call

    return decorate


def cell_attr_register(fn: Callable[..., Any] | None = None, attrs: Any = None) -> Any:
    """Decorator of a Cell's `__init__`: its arguments are kept as `cell_init_args`, or those that `attrs` names."""

    def decorate(init):
        signature = inspect.signature(init)

        @functools.wraps(init)
        def __init__(self, *args, **kwargs):
            init(self, *args, **kwargs)
            bound = signature.bind(self, *args, **kwargs)
            if attrs is None:
                bound.apply_defaults()
                values = list(bound.arguments.values())[1:]
            else:
                bound.apply_defaults()
                values = [bound.arguments[a] for a in ([attrs] if isinstance(attrs, str) else attrs)]
            for name in ("_cell_init_args", "cell_init_args"):
                object.__setattr__(self, name, f"{type(self).__name__}{values}")

        return __init__

    return decorate if fn is None else decorate(fn)


def opt_init_args_register(fn: Callable[..., Any]) -> Any:
    """Decorator of an optimizer's `__init__`: its arguments are kept as `init_args`, `init_params` and
    `init_learning_rate`."""
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def __init__(self, *args, **kwargs):
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        given = dict(list(bound.arguments.items())[1:])
        fn(self, *args, **kwargs)
        params = given.pop("params", None)
        kept = {
            "init_params": {"params": params},
            "init_learning_rate": given.pop("learning_rate", None),
            "init_args": given,
        }
        for name, value in kept.items():
            object.__setattr__(self, name, value)

    return __init__


class _LogActionOnce:
    """Decorator: the warnings that a logger of MindSpore gives within the function are given the first time alone, for
    each key.

    Args:
        logger: the logger.
        key (str): what the warnings are about.
        no_warning (bool): leaves the first ones out as well. Default: False.
    """

    _done = set()

    def __init__(self, logger: Any, key: str, no_warning: bool = False) -> None:
        self.logger, self.key, self.no_warning = logger, key, no_warning

    def __call__(self, fn: Callable[..., Any]) -> Any:
        @functools.wraps(fn)
        def call(*args, **kwargs):
            if not hasattr(self.logger, "warning"):
                return fn(*args, **kwargs)
            quiet = self.no_warning or self.key in self._done
            warning = self.logger.warning

            def once(*args, **kwargs):
                if not quiet and self.key not in self._done:
                    self._done.add(self.key)
                    warning(*args, **kwargs)

            self.logger.warning = once
            try:
                return fn(*args, **kwargs)
            finally:
                self.logger.warning = warning

        return call
