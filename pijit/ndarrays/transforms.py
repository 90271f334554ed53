"""grad, vmap, jvp and the other transforms, of functions of ndarrays.

Each opens the arguments: their arrays become Tensors, the function one of these Tensors alone (`lifted`), which sees
recorded arrays in their places. The transform of Tensors does the rest, and its results become arrays again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit import _C, _check
from pijit._C import Tensor
from pijit.grad import Stand
from pijit.ndarrays.numbers import FLOATS, Unrecorded, back, checked_dtype, holds_recorded, local, tensor_of
from pijit.ndarrays.recorded import Recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any


ALONE: _check.Check = _check.Check("be ndarrays alone or Tensors alone", None, TypeError)


class _Slot:
    """The place of an array in the arguments; `scalar`: it was a number."""

    __slots__ = ("scalar",)

    def __init__(self, scalar: bool) -> None:
        self.scalar = scalar


def _made(like, parts):
    """A tuple, list or named tuple of the same kind with other parts."""
    if isinstance(like, list):
        return list(parts)
    return type(like)(*parts) if hasattr(like, "_fields") else tuple(parts)


def _is_array(x):
    return isinstance(x, (np.ndarray, np.generic, Stand))


def _tensor(name, where, x):
    """An argument as a Tensor. Raises TypeError for what has no derivative."""
    if isinstance(x, np.ndarray) and type(x) not in (np.ndarray, np.memmap):
        raise _check.refused(name, where, _check.type_("a numpy.ndarray itself (numpy.asarray makes one)"), x)
    dtype = x.dtype if _is_array(x) else np.dtype(np.float64)
    if dtype.name not in FLOATS:
        raise _check.refused(name, f"{where}, which is differentiated by,", _check.value(
            "have dtype float16, float32 or float64 (convert it with astype, or leave it out of the positions)"),
            dtype.name, TypeError)
    return tensor_of(x)


def _opened(name, where, x, tensors):
    """x with a slot in place of each array and float, which go to `tensors`."""
    if _is_array(x) or type(x) is float:
        tensors.append(_tensor(name, where, x))
        return _Slot(not isinstance(x, (np.ndarray, Stand)))
    if isinstance(x, (tuple, list)):
        return _made(x, [_opened(name, where, v, tensors) for v in x])
    if isinstance(x, dict):
        return {k: _opened(name, where, v, tensors) for k, v in x.items()}
    if x is None:
        return None
    if isinstance(x, Tensor):
        raise _check.refused(name, where, ALONE, _check.several("both"))
    raise _check.refused(name, f"{where}, which is differentiated by,", _check.type_(
        "an ndarray, a float, or a tuple, list or dict of these"), x)


def _filled(x, values):
    """x with values in the slots."""
    if isinstance(x, _Slot):
        return next(values)
    if isinstance(x, (tuple, list)):
        return _made(x, [_filled(v, values) for v in x])
    return {k: _filled(v, values) for k, v in x.items()} if isinstance(x, dict) else x


def _slots(x, out):
    if isinstance(x, _Slot):
        out.append(x)
    elif isinstance(x, (tuple, list, dict)):
        for v in x.values() if isinstance(x, dict) else x:
            _slots(v, out)
    return out


class _Opened:
    """The arguments at some positions, opened."""

    def __init__(self, name: str, args: Sequence[Any], positions: Sequence[int]) -> None:
        _C.pause_capture(_C.pause_capture(True))  # a capture ends here, and calls the transform as a whole
        self.name, self.args, self.positions = name, args, positions
        self.tensors: list[Tensor] = []
        self.forms = [_opened(name, f"argument {p}", args[p], self.tensors) for p in positions]
        self.slots = _slots(self.forms, [])

    def with_values(self, values: Iterator[Any]) -> list[Any]:
        """The arguments, others in the slots."""
        args = list(self.args)
        for p, form in zip(self.positions, self.forms):
            args[p] = _filled(form, values)
        return args

    def arrays(self, tensors: Sequence[Tensor]) -> tuple[Any, ...]:
        """One value for each position, of Tensors such as gradients."""
        it = iter([back(t, s.scalar) for t, s in zip(tensors, self.slots)])
        return tuple([_filled(f, it) for f in self.forms])


def _as_tensors(name, x):
    """What the function returned, with Tensors in place of recorded arrays."""
    if isinstance(x, Recorded):
        return x.tensor
    if isinstance(x, (tuple, list)):
        return _made(x, [_as_tensors(name, v) for v in x])
    if isinstance(x, dict):
        return {k: _as_tensors(name, v) for k, v in x.items()}
    if isinstance(x, Tensor) or isinstance(x, np.ndarray) and x.dtype == object:
        raise _check.refused(name, "what a function of ndarrays returns", _check.value(
            "be arrays of numbers"), "a Tensor" if isinstance(x, Tensor) else "an ndarray of objects", TypeError)
    return x


def _as_arrays(x):
    """What the transform of Tensors returned, with arrays in their place."""
    if isinstance(x, Tensor):
        return back(x)
    if isinstance(x, (tuple, list)):
        return _made(x, [_as_arrays(v) for v in x])
    return {k: _as_arrays(v) for k, v in x.items()} if isinstance(x, dict) else x


def _called(fn, args, kwargs):
    """fn(*args, **kwargs), uncaptured: the rules are for ops as they come. Raises TypeError where NumPy makes another
    error of it: what was stored into a plain ndarray can't be recorded."""
    paused = _C.pause_capture(True)
    try:
        return fn(*args, **kwargs)
    except ValueError as e:
        if isinstance(e.__cause__, Unrecorded):
            raise e.__cause__ from None
        raise
    finally:
        _C.pause_capture(paused)


def _holds_numbers(x):
    """Whether an array or a number is x, or is in it."""
    if isinstance(x, (tuple, list, dict)):
        return any(_holds_numbers(v) for v in (x.values() if isinstance(x, dict) else x))
    return _is_array(x) or isinstance(x, (int, float, complex, Tensor))


def _lifted(opened, fn, kwargs, has_aux=False):
    """fn as a function of the Tensors that stand in the slots."""
    def flat(*tensors):
        args = opened.with_values(iter([Recorded(t) for t in tensors]))
        reads = local.reads
        value = _called(fn, args, kwargs)
        head = value[0] if has_aux and isinstance(value, (tuple, list)) and value else value
        if not _holds_numbers(head):
            raise _check.refused(opened.name, "what the function returns", _check.type_("an array or a number"), head)
        if local.reads != reads and not holds_recorded(head):
            raise _check.refused(opened.name, "what the function returns", _check.value(
                "be computed of its arrays"), "a constant, as float(x) or x.item() made a number on the way to it",
                TypeError)
        return _as_tensors(opened.name, value)
    return flat


def gradients(g: Any, args: Sequence[Any], kwargs: Any, sens: Any) -> Any:
    """What a GradFunction gives for ndarrays.

    Raises:
        TypeError: if weights are given, too, or an array can't be differentiated by.
        RuntimeError: if there is no argument at a position."""
    from pijit.grad import GradFunction
    name = "value_and_grad" if g.with_value else "grad"
    if g.weights is not None:
        raise _check.refused(name, "what is differentiated by beside 'weights'", _check.value(
            "be Tensors (or nothing: grad_position=None)"), "an ndarray", TypeError)
    positions = g.positions_among(args)
    if g.positions != "all" and max(g.positions) >= len(args):
        raise RuntimeError(f"grad_position {max(g.positions)} is out of range for {len(args)} positional arguments.")
    opened = _Opened(name, args, positions)
    flat = GradFunction(_lifted(opened, g.fn, kwargs, g.has_aux), tuple(range(len(opened.tensors))), None, g.has_aux,
                        True, sens is not None, True)
    value, found = flat(*opened.tensors, *(() if sens is None else (_all_tensors(sens),)))
    by_arg = opened.arrays(found)
    if not g.tuple_out and len(by_arg) == 1:
        by_arg = by_arg[0]
    if g.with_value:
        return _as_arrays(value), by_arg
    return (by_arg, tuple([_as_arrays(v) for v in value[1:]])) if g.has_aux else by_arg


def _all_tensors(x):
    """Cotangents or tangents as Tensors."""
    if isinstance(x, (tuple, list)):
        return _made(x, [_all_tensors(v) for v in x])
    if isinstance(x, dict):
        return {k: _all_tensors(v) for k, v in x.items()}
    return x if isinstance(x, Tensor) else tensor_of(x)


def jacobians(j: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """What a JacobianFunction gives for ndarrays. Raises TypeError where an array can't be differentiated by."""
    from pijit import jacobian
    name = "jacfwd" if j.forward else "jacrev"
    opened = _Opened(name, args, j.positions)
    flat = _lifted(opened, j.fn, kwargs, j.has_aux)
    run = jacobian.push if j.forward else jacobian.pull
    value, columns = run(flat, opened.tensors, {}, tuple(range(len(opened.tensors))), j.has_aux)
    it = iter(columns)

    def packed(x):
        if isinstance(x, (tuple, list)):
            return _made(x, [packed(v) for v in x])
        if isinstance(x, dict):
            return {k: packed(v) for k, v in x.items()}
        if not isinstance(x, Tensor):
            return None
        found = opened.arrays([next(it) for _ in opened.tensors])
        return found[0] if len(found) == 1 else found
    found = packed(value[0] if j.has_aux else value)
    if not j.has_aux:
        return found
    return found, _as_arrays(value[1] if len(value) == 2 else tuple(value[1:]))


def pushed(name: str, transform: Callable[..., Any], fn: Callable[..., Any], inputs: Sequence[Any],
           v: Sequence[Any] | None, has_aux: bool) -> Any:
    """jvp or linearize of ndarrays: `transform` is that of Tensors.

    Raises:
        TypeError: if an array can't be differentiated by.
        ValueError: if the tangents are not formed as the arrays are."""
    opened = _Opened(name, inputs, range(len(inputs)))
    flat = _lifted(opened, fn, {}, has_aux)

    def tangents(given):
        found = []
        for form, t in zip(opened.forms, given):
            _matched(name, form, t, found)
        return tuple([_ops_cast(t, x) for t, x in zip(found, opened.tensors)])
    if v is not None:
        return _as_arrays(transform(flat, tuple(opened.tensors), tangents(v), has_aux))
    value, push = transform(flat, tuple(opened.tensors))

    def push_arrays(*given):
        if len(given) == 1 and len(inputs) > 1 and isinstance(given[0], (tuple, list)):
            given = tuple(given[0])
        if len(given) != len(inputs):
            raise _check.refused(name, "the tangents", _check.length(len(inputs)), given)
        return _as_arrays(push(*tangents(given)))
    return _as_arrays(value), push_arrays


def _ops_cast(t, x):
    return t if t.dtype == x.dtype else _C.ops["cast"](t, x.dtype)


def _matched(name, form, t, found):
    """The tangents of one argument, which is formed as the argument is."""
    if isinstance(form, _Slot):
        found.append(tensor_of(t))
    elif isinstance(form, (tuple, list, dict)):
        if not isinstance(t, type(form)) or len(t) != len(form):
            raise _check.refused(name, "'inputs' and 'v'", _check.value("be formed alike"), t)
        for k in form if isinstance(form, dict) else range(len(form)):
            _matched(name, form[k], t[k], found)


def mapped(m: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """What a VmapFunction gives for ndarrays.

    Raises:
        TypeError: if Tensors and arrays are both mapped, or the function reads a value that differs.
        RuntimeError: if axes do not fit the arguments, or sizes differ."""
    from pijit.vmap import VmapFunction, _spread
    tensors: list[Any] = []
    axes: list[Any] = []

    def opened(x, axis):
        if isinstance(x, Tensor):
            raise _check.refused("vmap", "the arguments", ALONE, _check.several("both"))
        if _is_array(x):
            if axis is None:
                return x
            checked_dtype(x.dtype)
            tensors.append(tensor_of(x))
            axes.append(axis)
            return _Slot(False)
        if isinstance(x, (tuple, list)):
            return _made(x, [opened(v, a) for v, a in zip(x, _spread(axis, len(x), "in_axes"))])
        if isinstance(x, dict):
            if isinstance(axis, dict):
                return {k: opened(v, axis.get(k)) for k, v in x.items()}
            return {k: opened(x[k], a) for k, a in zip(x, _spread(axis, len(x), "in_axes"))}
        if axis is not None and not isinstance(axis, (tuple, list, dict)):
            raise _check.refused("vmap", f"the axis of a {type(x).__name__} in 'in_axes'",
                                 _check.value("be None, as only arrays are mapped"), axis, RuntimeError)
        return x
    _C.pause_capture(_C.pause_capture(True))  # as in _Opened
    form = opened(tuple(args), m.in_axes)

    def flat(*given):
        local.maps += 1
        try:
            return whole(_called(m.fn, _filled(form, iter([Recorded(t) for t in given])), kwargs))
        finally:
            local.maps -= 1

    def whole(x):
        """The results, constants as Tensors, too: they are the same for all elements."""
        if isinstance(x, (tuple, list)):
            return _made(x, [whole(v) for v in x])
        if isinstance(x, dict):
            return {k: whole(v) for k, v in x.items()}
        if isinstance(x, (bool, int, float, np.generic)) or isinstance(x, np.ndarray) and x.dtype != object:
            return tensor_of(x)
        return _as_tensors("vmap", x)
    if not tensors:
        raise RuntimeError("For 'vmap', 'in_axes' can't be None for all arguments.")
    return _as_arrays(VmapFunction(flat, tuple(axes), m.out_axes)(*tensors))


def series(name: str, transform: Callable[..., Any], fn: Callable[..., Any], primals: Any, more: Any) -> Any:
    """jet or derivative of ndarrays: `transform` is that of Tensors. Raises TypeError as `grad` does."""
    single = not isinstance(primals, (tuple, list))
    opened = _Opened(name, (primals,) if single else tuple(primals), range(1 if single else len(primals)))
    more = more if isinstance(more, int) else _all_tensors(more)
    return _as_arrays(transform(_lifted(opened, fn, {}), opened.tensors[0] if single else tuple(opened.tensors), more))


def check(name: str, inputs: Sequence[Any]) -> None:
    """Raises TypeError where an input can't be differentiated by."""
    _Opened(name, inputs, range(len(inputs)))
