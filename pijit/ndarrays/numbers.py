"""Between NumPy's values and Tensors: conversion, dtypes, what is an array, and what errors say."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pijit import _C
from pijit._C import Tensor, ops as _ops
from pijit.grad import Stand

if TYPE_CHECKING:
    from typing import Any

FLOATS = "float16", "float32", "float64"
_KNOWN = frozenset(("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "complex64",
                    "complex128", *FLOATS))


class _Local(threading.local):
    """What is so on this thread."""

    maps = 0  # mapped functions that are running
    reads = 0  # numbers that were read, by functions that are running


local: _Local = _Local()


class Unrecorded(TypeError):
    """A number was read where it would become a constant, or differs from element to element."""


def no_rule(name: str, instead: str = "") -> TypeError:
    """The error of a function of NumPy's that has no rule."""
    return TypeError(f"For 'numpy.{name}', a function that is differentiated or mapped must use NumPy functions that "
                     f"have a rule, but this one has none. "
                     f"{instead or 'Use others, or compute this of plain arrays outside of the function'} "
                     f"(docs/numpy.md lists them).")


def refused(name: str, what: str, got: Any, instead: str = "") -> TypeError:
    """The error of an argument that a rule does not take."""
    shown = type(got).__name__ if isinstance(got, (np.ndarray, Stand)) else repr(got)
    return TypeError(f"For 'numpy.{name}' of an array that is differentiated or mapped, {what}, but got {shown}."
                     f"{' ' + instead if instead else ''}")


def not_out(name: str, out: Any) -> None:
    """Raises where `out` is given: what an array holds that NumPy fills can't be recorded."""
    if out is not None and out is not np._NoValue:
        raise refused(name, "'out' must not be given", out, "Use the result: `x = numpy.add(x, y)`.")


def is_mapped(t: Tensor) -> bool:
    """Whether a value differs from element to element of a mapped function, so that no number can be read."""
    if not local.maps:
        return False
    try:
        t.asnumpy()
    except RuntimeError:
        return True
    return False


def value_of(t: Tensor) -> Any:
    """A Tensor's elements as NumPy has them, to be read only; a NumPy scalar for rank 0."""
    if local.maps:
        try:
            return t.asnumpy()[()]
        except RuntimeError:
            raise Unrecorded("In a function that vmap maps, a value that differs from element to element must not be "
                             "read or branched on. Use numpy.where, or return it.") from None
    return t.asnumpy()[()]


def checked_dtype(dtype: Any) -> np.dtype[Any]:
    """A dtype that Tensors have, too. Raises TypeError for others."""
    dtype = np.dtype(dtype)
    if dtype.name not in _KNOWN:
        raise TypeError(f"Arrays that are differentiated or mapped must have a dtype of bool, integers, floats up to "
                        f"float64 or complex numbers, but got {dtype.name}. Convert it with astype.")
    return dtype.newbyteorder("=")


@lru_cache(maxsize=256)
def tensor_dtype(dtype: np.dtype[Any]) -> Any:
    """The dtype of Tensors that has this one's values."""
    return Tensor(np.zeros((), dtype)).dtype


@lru_cache(maxsize=256)
def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype of arrays that has this one's values. Raises TypeError for bfloat16, which NumPy does not have."""
    return _ops["broadcast_to"](_ops["cast"](0, dtype), ()).asnumpy().dtype


def holds_recorded(x: Any) -> bool:
    """Whether a recorded array is x, or stands in it at any depth."""
    if isinstance(x, Stand):
        return True
    if isinstance(x, (tuple, list)):
        return any(holds_recorded(v) for v in x)
    return isinstance(x, dict) and any(holds_recorded(v) for v in x.values())


def dtype_of(x: Any) -> Any:
    """The dtype of an operand; int, float or complex for Python's numbers, whose dtype is weak (NEP 50)."""
    if isinstance(x, Stand):
        return x.dtype
    if type(x) in (int, float, complex):
        return type(x)
    if isinstance(x, Tensor):
        raise TypeError("A function of ndarrays that is differentiated or mapped must not mix them with Tensors. Give "
                        "it Tensors alone, or take their values before (x.asnumpy()).")
    return checked_dtype(plain(x).dtype)


def plain(x: Any) -> np.ndarray[Any, Any]:
    """A constant operand as an ndarray. Raises TypeError for subclasses, whose masks or products would be lost."""
    if isinstance(x, np.ndarray) and type(x) not in (np.ndarray, np.memmap):
        raise TypeError(f"Operands beside arrays that are differentiated or mapped must be plain numpy.ndarrays or "
                        f"numbers, but got a {type(x).__name__}. Convert it with numpy.asarray.")
    return np.asarray(x)


def common_dtype(*xs: Any) -> np.dtype[Any]:
    """The dtype that NumPy gives operands together."""
    given = [dtype_of(x) for x in xs]
    return np.result_type(*[{int: 0, float: 0.0, complex: 0j}[d] if type(d) is type else d for d in given])


def tensor_of(x: Any, dtype: Any = None) -> Tensor:
    """An operand as a Tensor, of a dtype; a copy of arrays, which the program may change."""
    if isinstance(x, Stand):
        t = x.tensor
        return t if dtype is None or x.dtype == dtype else _ops["cast"](t, tensor_dtype(np.dtype(dtype)))
    if isinstance(x, (tuple, list)) and holds_recorded(x):
        parts = [tensor_of(v) for v in x]
        dtype = common_dtype(*x) if dtype is None and not any(isinstance(v, (tuple, list)) for v in x) else dtype
        if dtype is not None:
            parts = [_ops["cast"](p, tensor_dtype(np.dtype(dtype))) for p in parts]
        return _ops["concat"]([_ops["reshape"](p, (1, *p.shape)) for p in parts], 0)
    if isinstance(x, Tensor):
        dtype_of(x)
    x = plain(x)
    checked_dtype(x.dtype)
    return Tensor(x if dtype is None else x.astype(checked_dtype(dtype)))


def back(t: Tensor, scalar: bool = True) -> Any:
    """A Tensor as what a function of NumPy returns: an ndarray of its own, a NumPy scalar for rank 0; as long as a
    function around differentiates or maps it, a recorded array."""
    for tape in _C.active_tapes():
        if tape.watches(t):
            from pijit.ndarrays.recorded import Recorded
            return Recorded(t)
    found = np.array(t.asnumpy())
    return found[()] if scalar and not found.ndim else found


def normal_axis(name: str, axis: Any, rank: int) -> int:
    """An axis counted from the front. Raises AxisError for one that there is not, TypeError for no integer."""
    try:
        axis = axis.__index__()
    except (AttributeError, TypeError):
        raise refused(name, "'axis' must be an integer", axis) from None
    if not -rank <= axis < rank:
        raise np.exceptions.AxisError(axis, rank)
    return axis % rank


def normal_axes(name: str, axis: Any, rank: int) -> tuple[int, ...]:
    """Axes counted from the front; None stands for all. Raises ValueError for one that is given twice."""
    if axis is None:
        return tuple(range(rank))
    axes = tuple([normal_axis(name, a, rank) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))])
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    return axes
