"""What Cell.to_float means for functions of several ops: they are one operator to their callers."""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING

from pijit import _C
from pijit._C import Tensor
from pijit.mutables import plain_type

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ParamSpec, TypeVar
    P = ParamSpec("P")
    R = TypeVar("R")


def in_own_dtypes(f: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """f(*args, **kwargs), whose ops compute in the dtypes of their operands, whatever Cell runs."""
    before = _C.compute_dtype()
    try:
        _C.compute_in(None)
        return f(*args, **kwargs)
    finally:
        _C.compute_in(before)


def cast_to(x: Any, dtype: Any, updates: bool = False) -> Any:
    """Floating Tensors in x, which may be a tuple or list, in dtype; but for Parameters that the function changes: all
    where it `updates`, else those that are no weights."""
    if isinstance(x, Tensor):
        state = type(x) is not Tensor and (updates or not x.requires_grad)
        return x if state or not x.dtype.is_floating_point or x.dtype == dtype else _C.ops["cast"](x, dtype)
    plain = plain_type(x)
    return plain([cast_to(v, dtype, updates) for v in x]) if plain is tuple or plain is list else x


def as_one(f: Callable[..., R], *args: Any, **kwargs: Any) -> R:
    """f(*args, **kwargs) as one operator: in a Cell that computes in another dtype its floating arguments are cast, and
    not what it makes of them, such as statistics, places and random numbers in float32."""
    dtype = _C.compute_dtype()
    return in_own_dtypes(f, *[cast_to(x, dtype) for x in args], **{k: cast_to(x, dtype) for k, x in kwargs.items()})


def as_update(f: Callable[..., R], *args: Any) -> R:
    """The same for an f that changes Parameters, which stay in their dtypes."""
    dtype = _C.compute_dtype()
    return in_own_dtypes(f, *[cast_to(x, dtype, True) for x in args])


def one_operator(f: Callable[P, R]) -> Callable[P, R]:
    """f, always as one operator."""
    @functools.wraps(f)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if _C.compute_dtype() is None:
            return f(*args, **kwargs)
        return as_one(f, *args, **kwargs)
    return call


def in_compute_dtype(x: Any) -> Any:
    """Floating Tensors in x, as operators of the Cell that runs take them."""
    dtype = _C.compute_dtype()
    return x if dtype is None else cast_to(x, dtype)


def gives_compute_dtype(f: Callable[P, R]) -> Callable[P, R]:
    """f, whose floating results are cast: as operators there do whose operands are no Tensors, or are only moved."""
    @functools.wraps(f)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return in_compute_dtype(f(*args, **kwargs))
    return call


def one_operator_each(module: dict[str, Any]) -> None:
    """Makes each public function that a module defines one operator."""
    for name, f in list(module.items()):
        if isinstance(f, types.FunctionType) and f.__module__ == module["__name__"] and not name.startswith("_"):
            module[name] = one_operator(f)
