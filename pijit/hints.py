"""Hints to MindSpore's graph compiler, which pijit does not need: accepted, without an effect on results."""

from __future__ import annotations

import inspect
import types
from typing import TYPE_CHECKING

from pijit import _check

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _checked(name, fn):
    if not callable(fn):
        raise _check.expected(name, "a function", _check.type_name(fn), TypeError)
    return fn


def lazy_inline(fn: Callable[..., Any] | None = None, attrs: Any = None, policy: Any = None) -> Any:  # noqa: ARG001
    """Decorates the __init__ of a Cell whose graph MindSpore is to share among uses."""
    return (lambda f: _checked("lazy_inline", f)) if fn is None else _checked("lazy_inline", fn)


def no_inline(fn: Callable[..., Any] | None = None) -> Any:
    """Decorates a function whose graph MindSpore is to keep apart."""
    return (lambda f: _checked("no_inline", f)) if fn is None else _checked("no_inline", fn)


def recompute(block: Any, *args: Any, **kwargs: Any) -> Any:
    """block(*args, **kwargs), a Cell's result; MindSpore computes its insides anew for the gradient, to save memory."""
    from pijit.nn import Cell
    _check.need("recompute", "block", block, _check.a(Cell))
    return block(*args, **kwargs)


def set_recursion_limit(recursion_limit: int = 1000) -> None:
    """Says how deep MindSpore's graph compiler may recur; captures follow Python's own limit.

    TypeError unless it is an int, ValueError below 1."""
    _check.need("set_recursion_limit", "recursion_limit", recursion_limit, _check.INT, _check.above(0))


def enable_dynamic(**kwargs: Any) -> Any:
    """Decorates a function some arguments of which vary in size.

    Before or after jit. Tensors of unknown sizes describe the arguments. The first call compiles for all sizes, and
    other dtypes raise TypeError, other shapes ValueError.

    ValueError without arguments or for one that the function lacks, TypeError for one that has no shape."""
    if not kwargs:
        raise ValueError("For 'enable_dynamic', at least one argument must be described.")
    for name, value in kwargs.items():
        for one in value if isinstance(value, (tuple, list)) else (value,):
            if not hasattr(one, "shape"):
                raise _check.refused("enable_dynamic", name, _check.type_("described by a Tensor"), one)

    def described(fn):
        from pijit import _C
        from pijit.jit import signature
        parameters = list(inspect.signature(_checked("enable_dynamic", fn)).parameters)
        for name in kwargs:
            if name not in parameters:
                raise _check.none_such("enable_dynamic", "argument", name)
        last = max(parameters.index(name) for name in kwargs)
        given = [None if isinstance(kwargs.get(n), (tuple, list)) else kwargs.get(n) for n in parameters[:last + 1]]
        if type(fn) is types.FunctionType:
            fn._dynamic_inputs = given
        else:
            _C.set_signature(fn, signature(given))
        return fn
    return described


def ms_memory_recycle() -> None:
    """Gives memory back that nothing uses any more: garbage of Python, and what is kept for the next results."""
    import gc
    from pijit.runtime import empty_cache
    gc.collect()
    empty_cache()
