"""Operations on data of any kind, and the base of all operations (TensorOperation)."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check, seeds
from pijit.dataset.pipeline import as_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any
    from pijit._types import Axis, DTypeLike


class TensorOperation:
    """Base of built-in operations: called with a row's values (ndarrays, numbers, lists, Tensors, PIL images).

    Kinds define `_run(*values)`; `_batched(rows)` does the same for rows stacked along a new first axis, where that
    gives the same result, and returns None where it cannot."""

    _builtin = True  # pure and thread-safe
    _random = False  # draws numbers
    _batched = None
    _arity = 1

    def __call__(self, *values: Any) -> Any:
        name = type(self).__name__
        if self._arity is not None and len(values) != self._arity:
            raise RuntimeError(
                f"[{name}] it takes {self._arity} column{'s' * (self._arity != 1)}, but got {len(values)}.")
        return self._run(*(v if type(v) is np.ndarray else _value(name, v) for v in values))

    def _run(self, *values):
        raise NotImplementedError


def _value(name, v):
    if isinstance(v, dict):
        raise TypeError(f"[{name}] expected an array, but got a dict.")
    if hasattr(v, "getbands"):  # a PIL image
        return v
    try:
        return as_value(v, f"[{name}] the caller")
    except TypeError:
        raise TypeError(f"[{name}] expected an array, a Tensor, a number, a string, a list or a PIL image, but got "
                        f"{check.shown(v)}.") from None


def array(name: str, v: Any) -> np.ndarray:
    """v as an ndarray: a PIL image becomes [height, width, channels] or [height, width]."""
    return v if type(v) is np.ndarray else np.asarray(v)


def numeric(name: str, v: Any) -> Any:
    """v as an ndarray of numbers or booleans. TypeError for strings."""
    v = array(name, v)
    if v.dtype.kind not in "biuf":
        raise TypeError(f"[{name}] the input must hold numbers, but holds {v.dtype}.")
    return v


def numpy_type(op: Any, t: Any) -> Any:
    """A dtype of either library as a NumPy dtype, "string" as np.str_; TypeError for anything else."""
    from pijit.dtype import dtype_to_nptype
    if t is None or check.is_real(t) or isinstance(t, (list, tuple, dict)):
        raise TypeError(f"[{op}] data_type must be a dtype, but got {check.shown(t)}.")
    if isinstance(t, (np.dtype, type, str)):
        try:
            return np.dtype(t)
        except TypeError:
            if isinstance(t, str) and t in ("string", "str"):
                return np.dtype(np.str_)
            raise TypeError(f"[{op}] data_type must be a dtype, but got {check.shown(t)}.") from None
    try:
        return np.dtype(dtype_to_nptype(t))
    except (TypeError, ValueError, KeyError, AttributeError):
        raise TypeError(f"[{op}] data_type must be a dtype, but got {check.shown(t)}.") from None


def cast(v: Any, dtype: DTypeLike) -> Any:
    """v.astype(dtype); floats become small integers as C does it, by way of int64."""
    if v.dtype == dtype:
        return v
    if v.dtype.kind == "f" and dtype.kind in "iu" and dtype.itemsize < 8:
        with np.errstate(invalid="ignore"):
            return v.astype(np.int64).astype(dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        return v.astype(dtype)


class TypeCast(TensorOperation):
    """Converts to another dtype.

    Args: data_type: a dtype of this library, of NumPy, or its name. Raises TypeError for others."""

    def __init__(self, data_type: DTypeLike) -> None:
        self.data_type: Any = numpy_type("TypeCast", data_type)

    def _run(self, v):
        v = array("TypeCast", v)
        if (v.dtype.kind in "US") != (self.data_type.kind in "US"):
            raise RuntimeError(
                f"[TypeCast] cannot convert {v.dtype} to {self.data_type}; text.ToNumber makes numbers of strings.")
        return cast(v, self.data_type)

    def _batched(self, rows):
        return cast(rows, self.data_type) if self.data_type.kind not in "US" else None


class OneHot(TensorOperation):
    """Puts 1 where the label is and 0 elsewhere, on a new last axis, of one label or a sequence.

    Axes of size 1 are left out.

    Args:
        num_classes: int ≥ 1.
        smoothing_rate: in [0, 1]; with ε the label has 1 − ε + ε / num_classes and others ε / num_classes, in float64.
    Raises RuntimeError for labels that are no integers or not below num_classes."""

    def __init__(self, num_classes: int, smoothing_rate: float = 0.0) -> None:
        self.num_classes: int = check.integer("OneHot", "num_classes", num_classes, 1, check.INT32_MAX)
        self.smoothing_rate: float = check.real("OneHot", "smoothing_rate", smoothing_rate, 0, 1)

    def _run(self, v):
        v = array("OneHot", v).squeeze()
        if v.ndim > 1:
            raise RuntimeError(
                f"[OneHot] only a label or a sequence of them is supported, but got the shape {v.shape}.")
        return self._hot(v)

    def _batched(self, rows):
        rows = rows.reshape([len(rows)] + [s for s in rows.shape[1:] if s != 1])
        return self._hot(rows) if rows.ndim <= 2 else None

    def _hot(self, v):
        if v.dtype.kind not in "iu":
            raise RuntimeError(f"[OneHot] labels must be integers, but are {v.dtype}.")
        if v.size and (v.min() < 0 or v.max() >= self.num_classes):
            raise RuntimeError(
                f"[OneHot] labels must be within [0, {self.num_classes}), but range from {v.min()} to {v.max()}.")
        hot = np.arange(self.num_classes) == v[..., None]
        if self.smoothing_rate == 0:
            return hot.astype(v.dtype)
        low = self.smoothing_rate / self.num_classes
        return np.where(hot, 1 - self.smoothing_rate + low, low)


class Fill(TensorOperation):
    """Fills with one value, converted to the input's type. Args: fill_value: a number, bool, str or bytes."""

    def __init__(self, fill_value: Any) -> None:
        self.fill_value: Any = check.instance("Fill", "fill_value", fill_value, (str, float, bool, int, bytes))

    def _run(self, v):
        v = array("Fill", v)
        if (v.dtype.kind in "US") != isinstance(self.fill_value, (str, bytes)):
            raise RuntimeError(f"[Fill] fill_value and the input must be both strings or both numbers, but are "
                               f"{check.shown(self.fill_value)} and {v.dtype}.")
        if v.dtype.kind in "US":
            value = np.asarray(self.fill_value)
            return np.full(v.shape, value, value.dtype if value.dtype.kind == v.dtype.kind else None)
        return np.broadcast_to(cast(np.asarray(self.fill_value), v.dtype), v.shape).copy()

    def _batched(self, rows):
        return self._run(rows) if rows.dtype.kind not in "US" else None


class Relational(enum.IntEnum):
    """Comparisons of Mask."""

    EQ = 0
    NE = 1
    GT = 2
    GE = 3
    LT = 4
    LE = 5


_COMPARE = {Relational.EQ: np.equal, Relational.NE: np.not_equal, Relational.GT: np.greater,
            Relational.GE: np.greater_equal,
            Relational.LT: np.less, Relational.LE: np.less_equal}


class Mask(TensorOperation):
    """Compares each element with a constant.

    Args: operator: a Relational. constant: a number, bool, str or bytes. dtype: the type of the result, bool or
        numbers."""

    def __init__(self, operator: Relational, constant: Any, dtype: DTypeLike = np.bool_) -> None:
        self.operator: Any = check.instance("Mask", "operator", operator, Relational)
        self.constant: Any = check.instance("Mask", "constant", constant, (str, float, bool, int, bytes))
        self.dtype: Any = numpy_type("Mask", dtype)
        if self.dtype.kind in "US":
            raise RuntimeError("[Mask] dtype must be bool or a type of numbers, but got string.")

    def _run(self, v):
        v = array("Mask", v)
        if (v.dtype.kind in "US") != isinstance(self.constant, (str, bytes)):
            raise RuntimeError(
                f"[Mask] the input and constant must be both strings or both numbers, but are {v.dtype} and "
                               f"{check.shown(self.constant)}.")
        return _COMPARE[self.operator](v, self.constant).astype(self.dtype)

    def _batched(self, rows):
        return self._run(rows)


class PadEnd(TensorOperation):
    """Pads at the ends of axes to a shape; longer ones are cut.

    Args: pad_shape: a list of ints ≥ 1, or None for an axis that stays. pad_value: a number or str; None for 0 or
        ""."""

    pad_value: Any

    def __init__(self, pad_shape: Sequence[int | None], pad_value: Any = None) -> None:
        check.instance("PadEnd", "pad_shape", pad_shape, list)
        for i, s in enumerate(pad_shape):
            check.integer("PadEnd", f"pad_shape[{i}]", s, 1, none=True)
        self.pad_shape = pad_shape
        self.pad_value = check.instance("PadEnd", "pad_value", pad_value, (str, float, bool, int, bytes), none=True)

    def _run(self, v):
        v = array("PadEnd", v)
        if len(self.pad_shape) != v.ndim:
            raise RuntimeError(
                f"[PadEnd] pad_shape must have as many axes as the input, but is {self.pad_shape} for shape {v.shape}.")
        strings = v.dtype.kind in "US"
        if self.pad_value is not None and strings != isinstance(self.pad_value, (str, bytes)):
            raise RuntimeError(f"[PadEnd] pad_value and the input must be both strings or both numbers, but are "
                               f"{check.shown(self.pad_value)} and {v.dtype}.")
        shape = [have if want is None else want for have, want in zip(v.shape, self.pad_shape)]
        value = ("" if strings else 0) if self.pad_value is None else self.pad_value
        out = np.full(shape, value, np.result_type(v.dtype, np.asarray(value).dtype) if strings else None)
        if not strings:
            out = cast(out, v.dtype)
        cut = tuple(slice(min(a, b)) for a, b in zip(v.shape, shape))
        out[cut] = v[cut]
        return out


class Slice(TensorOperation):
    """Takes a part of each axis.

    Args: slices: for each axis an int, a list of ints, a slice, None or True for all; `...` for all that follow. An int
        keeps its axis, with length 1."""

    def __init__(self, *slices: Any) -> None:
        for s in slices:
            if not (s is None or s is Ellipsis or isinstance(s, (bool, slice)) or check.is_int(s)
                    or isinstance(s, list) and all(check.is_int(i) for i in s)):
                raise TypeError(
                    f"[Slice] slices must be ints, lists of ints, slices, None, True or ..., but got {check.shown(s)}.")
            if s is False:
                raise TypeError("[Slice] slices must not be False.")
        self.slices = slices

    def _run(self, v):
        v = array("Slice", v)
        if len(self.slices) > v.ndim:
            raise RuntimeError(f"[Slice] there are {len(self.slices)} slices for an input with {v.ndim} axes.")
        for axis, s in enumerate(self.slices):
            if s is Ellipsis:
                break
            if s is None or s is True:
                continue
            if isinstance(s, slice):
                s = range(*s.indices(v.shape[axis]))
                if not len(s):
                    raise RuntimeError(f"[Slice] the slice of axis {axis} is empty for shape {v.shape}.")
            s = [s] if check.is_int(s) else list(s)
            for i in s:
                if not -v.shape[axis] <= i < v.shape[axis]:
                    raise RuntimeError(f"[Slice] Index {i} is out of bounds for axis {axis} of shape {v.shape}.")
            v = np.take(v, s, axis)
        return v.copy() if not v.flags.owndata else v


class Concatenate(TensorOperation):
    """Joins columns of one axis, with arrays before and after them.

    Args: axis: 0 or -1. prepend, append: ndarrays with one axis, or None. Raises RuntimeError for different types or
        ranks."""

    prepend: Any
    append: Any
    _arity = None

    def __init__(self, axis: Axis = 0, prepend: Any = None, append: Any = None) -> None:
        check.integer("Concatenate", "axis", axis)
        if axis not in (0, -1):
            raise ValueError(f"[Concatenate] axis must be 0 or -1: only 1D concatenation supported; got {axis}.")
        for name, v in (("prepend", prepend), ("append", append)):
            check.instance("Concatenate", name, v, np.ndarray, none=True)
            if v is not None and v.ndim != 1:
                raise ValueError(f"[Concatenate] {name} must have one axis, but has shape {v.shape}.")
        self.axis, self.prepend, self.append = axis, prepend, append

    def _run(self, *values):
        parts = [array("Concatenate", v) for v in values]
        parts = (([] if self.prepend is None else [self.prepend]) + parts +
                 ([] if self.append is None else [self.append]))
        for p in parts:
            if p.ndim != 1:
                raise RuntimeError(f"[Concatenate] only 1D input is supported, but got shape {p.shape}.")
            if p.dtype != parts[0].dtype and not p.dtype.kind == parts[0].dtype.kind == "U":
                raise RuntimeError(
                    f"[Concatenate] all inputs must have one type, but are {parts[0].dtype} and {p.dtype}.")
        return np.concatenate(parts)


class Duplicate(TensorOperation):
    """Gives a column twice."""

    def _run(self, v):
        v = array("Duplicate", v)
        return v, v.copy()


class Unique(TensorOperation):
    """The different elements in the order they come, each element's place in them, and their numbers.

    Places and numbers are int32."""

    def _run(self, v):
        v = array("Unique", v).reshape(-1)
        _, first, inverse, counts = np.unique(v, return_index=True, return_inverse=True, return_counts=True)
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return v[first[order]], rank[inverse.reshape(-1)].astype(np.int32), counts[order].astype(np.int32)


def _check_list(op, name, transforms):
    check.instance(op, name, transforms, list)
    if not transforms:
        raise ValueError(f"[{op}] {name} list can not be empty.")
    for i, t in enumerate(transforms):
        if not callable(t) or isinstance(t, type):
            raise TypeError(f"[{op}] {name}[{i}] is neither a transforms op (TensorOperation) nor a callable pyfunc: "
                            f"{check.shown(t)}.")
    return transforms


def _untuple(values):
    return values[0] if len(values) == 1 else tuple(values)


def _apply(op, values):
    out = op(*values)
    return out if type(out) is tuple else (out,)


class _Group(TensorOperation):
    """An operation made of others, which may be a user's functions."""

    _arity = None
    _random = True

    def __init__(self, transforms: Sequence[Any]) -> None:
        self.transforms: Any = _check_list(type(self).__name__, "transforms", transforms)

    def _calls_user(self):
        return any(not getattr(t, "_builtin", False) or getattr(t, "_calls_user", bool)() for t in self.transforms)


class Compose(_Group):
    """Applies operations one after the other.

    Args: transforms: a list of operations or callables. Raises TypeError for others, ValueError for an empty list."""

    @property
    def _random(self):
        return any(getattr(t, "_random", False) for t in self.transforms)

    def _flat(self):
        out = []
        for t in self.transforms:
            out += t._flat() if hasattr(t, "_flat") else [t]
        return out

    def __call__(self, *values: Any) -> Any:
        for t in self.transforms:
            values = _apply(t, values)
        return _untuple(values)


class RandomApply(_Group):
    """Applies all of the operations with probability `prob`, or none. Args: transforms: a list. prob: in [0, 1]."""

    def __init__(self, transforms: Sequence[Any], prob: float = 0.5) -> None:
        super().__init__(transforms)
        self.prob: float = check.real("RandomApply", "prob", prob, 0, 1)

    def __call__(self, *values: Any) -> Any:
        if seeds.rng().random() < self.prob:
            for t in self.transforms:
                values = _apply(t, values)
        return _untuple(values)


class RandomChoice(_Group):
    """Applies one of the operations. Args: transforms: a list."""

    def __call__(self, *values: Any) -> Any:
        return _untuple(_apply(seeds.rng().choice(self.transforms), values))


class RandomOrder(_Group):
    """Applies all of the operations, in random order. Args: transforms: a list."""

    def __call__(self, *values: Any) -> Any:
        for t in seeds.rng().sample(self.transforms, len(self.transforms)):
            values = _apply(t, values)
        return _untuple(values)


def not_random(function: Callable[..., Any]) -> Any:
    """Marks a user's function as one that draws no random numbers; accepted, it changes nothing here."""
    function.random = False
    return function
