"""Reading and storing elements of recorded arrays by any index of NumPy's.

Slices, integers, None and `...` are ops of Tensors, and what they give is a view. For any other index NumPy itself
says, of an array of numbers of places, which element goes where: one gather, or one selection, does the rest."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from pijit._C import Tensor, ops as _ops
from pijit.ndarrays.numbers import refused, tensor_of
from pijit.ndarrays.recorded import Recorded

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def gathered(t: Tensor, places: np.ndarray[Any, Any]) -> Tensor:
    """The elements at places of the flat array, in the shape of `places`."""
    if not places.size:
        return Tensor(np.zeros(places.shape, np.float32)).astype(t.dtype) if not t.size else _ops["reshape"](
            _ops["gather"](_ops["reshape"](t, (-1,)), Tensor(np.zeros(0, np.int64)), 0), places.shape)
    flat = _ops["reshape"](t, (t.size,))
    found = _ops["gather"](flat, Tensor(np.ascontiguousarray(places.reshape(-1), np.int64)), 0)
    return _ops["reshape"](found, places.shape)


def places_of(shape: tuple[int, ...], first: int = 0) -> np.ndarray[Any, Any]:
    """The number of each element of an array of this shape."""
    size = 1
    for n in shape:
        size *= n
    return np.arange(first, first + size, dtype=np.int64).reshape(shape)


def _plain(index):
    """One part of an index without recorded arrays, but of mapped integers."""
    if isinstance(index, Recorded):
        if index.dtype.kind == "f":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        if index.is_mapped:
            if index.dtype.kind == "b":
                raise TypeError("In a function that vmap maps, a mask that differs from element to element must not be "
                                "an index, as the number of elements would differ. Use numpy.where(mask, x, 0).")
            return index
        return index.value
    if isinstance(index, slice):
        return slice(*[None if v is None else operator.index(v) for v in (index.start, index.stop, index.step)])
    if isinstance(index, list):
        return np.asarray(index) if index else np.zeros(0, np.int64)
    return index


def _basic(parts):
    return all(p is None or p is Ellipsis or isinstance(p, slice)
               or isinstance(p, (int, np.integer)) and not isinstance(p, bool) for p in parts)


def _parts(index):
    return [_plain(p) for p in index] if isinstance(index, tuple) else [_plain(index)]


def _checked(parts, shape):
    """The index, after NumPy has raised what it raises for one that does not fit, and has said what shape it gives."""
    index = tuple(parts)
    return index, np.broadcast_to(np.zeros((), np.bool_), shape)[index].shape


def get(x: Recorded, index: Any) -> Any:
    """x[index]."""
    parts = _parts(index)
    if _basic(parts):
        index, shape = _checked(parts, x.shape)
        index = tuple([int(p) if isinstance(p, np.integer) else p for p in index])

        def take(t):
            return t if not index else _shaped(t[index], shape)
        if all(isinstance(p, (int, np.integer)) for p in parts) and len(parts) == x.ndim and parts:
            return Recorded(take(x.tensor))

        def place(t, v):
            return _stored(t, index, v)
        return x.view_of(take, place)
    if any(isinstance(p, Recorded) for p in parts):
        return _of_mapped(x, parts)
    return Recorded(gathered(x.tensor, places_of(x.shape)[tuple(parts)]))


def _shaped(t, shape):
    return t if t.shape == shape else _ops["reshape"](t, shape)


def _of_mapped(x, parts):
    """x[i, j, ...] of integers, some of which differ from element to element of a mapped function."""
    if not all(isinstance(p, (Recorded, int, np.integer, np.ndarray)) for p in parts):
        raise refused("ndarray.__getitem__", "an index that differs from element to element of a mapped function must "
                      "stand among integers only", "slices, None or ... beside it", "Use numpy.take along an axis.")
    flat, rest = None, x.shape[len(parts):]
    if len(parts) > x.ndim:
        raise IndexError(f"too many indices for array: array is {x.ndim}-dimensional, but {len(parts)} were indexed")
    for p, n in zip(parts, x.shape):
        at = tensor_of(p, np.int64)
        at = _ops["select"](_ops["less"](at, 0), _ops["add"](at, n), at)
        flat = at if flat is None else _ops["add"](_ops["mul"](flat, n), at)
    count = 1
    for n in x.shape[:len(parts)]:
        count *= n
    found = _ops["gather"](_ops["reshape"](x.tensor, (count, *rest)), flat, 0)
    return Recorded(found)


def _stored(t, index, v):
    """t with v stored at a basic index."""
    t = _ops["identity"](t)
    t[index if index else ...] = v
    return t


def put(x: Recorded, index: Any, value: Any) -> None:
    """x[index] = value."""
    parts = _parts(index)
    if any(isinstance(p, Recorded) for p in parts):
        raise refused("ndarray.__setitem__", "an index must not differ from element to element of a mapped function",
                      index, "Use numpy.where.")
    value = tensor_of(value, x.dtype)
    if _basic(parts):
        index, shape = _checked(parts, x.shape)
        index = tuple([int(p) if isinstance(p, np.integer) else p for p in index])
        value = _fitted(value, shape)
        if value.size:
            x.store(_shaped(value, x.shape) if not index or index == (Ellipsis,) else _stored(x.tensor, index, value))
        return
    places = places_of(x.shape)[tuple(parts)]
    value = _fitted(value, places.shape)
    if not places.size:
        return
    last = np.full(x.size, -1, np.int64)  # which element of the value comes to each place: of several, the last
    last[places.reshape(-1)] = np.arange(places.size)
    last = last.reshape(x.shape)
    new = gathered(value, np.maximum(last, 0))
    x.store(_ops["select"](Tensor(last >= 0), new, x.tensor))


def _fitted(value, shape):
    """A value in the shape of the place it goes to."""
    given = value.shape
    while len(given) > len(shape) and given[0] == 1:
        given = given[1:]
    try:
        fits = np.broadcast_shapes(given, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"could not broadcast input array from shape {value.shape} into shape {shape}")
    return _ops["broadcast_to"](_shaped(value, given), shape)


def rearranged(x: Recorded, move: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> Recorded:
    """x with its elements moved, left out or repeated as `move` does to an array of their numbers, which count from 1;
    where that gives 0 there is a 0."""
    places = np.asarray(move(places_of(x.shape, 1)))
    if places.size and places.min() > 0:
        return Recorded(gathered(x.tensor, places - 1))
    found = gathered(x.tensor, np.maximum(places - 1, 0)) if x.size else tensor_of(np.zeros(places.shape), x.dtype)
    return Recorded(_ops["select"](Tensor(places > 0), found, _ops["cast"](0, found.dtype)))
