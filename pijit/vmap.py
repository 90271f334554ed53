"""Vectorisation of plain functions and Cells.

The function runs once, for one element of the batch, on a tape; each op's batching rule (csrc/graph/vmap.cc) then
computes what was recorded for all elements at once. Under `jit` the same becomes a graph transform."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit import _C
from pijit._C import Tensor
from pijit.grad import Transformed, _flatten, arrays_among, record
from pijit.mutables import plain_type
from pijit.ops import function as F

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class VmapFunction(Transformed):
    """What vmap returns: calling it gives fn's results for all elements of its mapped arguments."""

    fn: Callable[..., Any]
    in_axes: Any
    out_axes: Any

    def __init__(self, fn: Callable[..., Any], in_axes: Any, out_axes: Any) -> None:
        self.fn, self.in_axes, self.out_axes = fn, in_axes, out_axes

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not _flatten(args, []) and arrays_among(args):
            from pijit.ndarrays.transforms import mapped
            return mapped(self, args, kwargs)
        examples, batches = [], []
        inner = _take(tuple(args), self.in_axes, examples, batches)
        size = _batch_size(batches)
        value, results = vectorize(self.fn, inner, kwargs, examples, batches, size)
        return _place(value, self.out_axes, iter(results), size)


class _Ensemble(VmapFunction):
    """The same of several Cells of one kind: element i goes through Cell i."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        cells = list(self.fn)
        rows, batches = [], []
        for i in range(len(cells)):
            inner = _take(tuple(args), self.in_axes, [], batches, i)
            if batches and _batch_size(batches) != len(cells):
                raise RuntimeError(
                    f"For 'vmap', {len(cells)} cells need mapped arguments of size {len(cells)}, but got "
                    f"{_batch_size(batches)}.")
            rows.append(cells[i](*inner, **kwargs))
        leaves = [_flatten(r, []) for r in rows]
        stacked = [F.stack(column) for column in zip(*leaves)]
        return _place(rows[0], self.out_axes, iter(stacked), len(cells))


def _batch_size(batches):
    if not batches:
        raise RuntimeError("For 'vmap', 'in_axes' can't be None for all arguments.")
    size = batches[0].shape[0]
    for b in batches:
        if b.shape[0] != size:
            raise _check.refused("vmap", "all mapped arguments", _check.value("have one size along their axes"),
                                 _check.several(size, b.shape[0]), RuntimeError)
    return size


def _axis(axis, rank, which):
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise _check.refused("vmap", f"an axis in '{which}'", _check.value("be an int or None"), axis, RuntimeError)
    if not -rank <= axis < rank:
        raise _check.out_of_range("vmap", f"axis {axis} in '{which}' is", rank, error=RuntimeError)
    return axis + rank if axis < 0 else axis


def _spread(axes, n, which):
    """One entry of axes for each of n parts."""
    if not isinstance(axes, (tuple, list)):
        return (axes,) * n
    if len(axes) != n:
        raise _check.refused("vmap", which, _check.value(f"have one entry for each of {n} values"), axes, RuntimeError)
    return axes


def _take(x, axes, examples, batches, element=0):
    """x with one element in place of mapped tensors, which go to `batches` with their axis in front."""
    if isinstance(x, Tensor):
        if axes is None:
            return x
        batch = F.moveaxis(x, _axis(axes, len(x.shape), "in_axes"), 0)
        if batch.shape[0] == 0:
            example = F.zeros(batch.shape[1:], x.dtype)
        else:
            example = batch[element]._alias()
        examples.append(example)
        batches.append(batch)
        return example
    plain = plain_type(x)
    if plain is not None:
        parts = _spread(axes, len(x), "in_axes")
        if plain is not dict:
            return plain([_take(v, a, examples, batches, element) for v, a in zip(x, parts)])
        return {k: _take(x[k], a, examples, batches, element) for k, a in zip(x, parts)}
    if axes is not None and not isinstance(axes, (tuple, list)):
        raise _check.refused("vmap", f"the axis of a {type(x).__name__} in 'in_axes'",
                             _check.value("be None, as only Tensors are mapped"), axes, RuntimeError)
    return x


def _place(x, axes, results, size):
    """x with its tensors replaced by the results of all elements, their axis at its place in out_axes."""
    plain = plain_type(x)
    if plain is not None:
        if plain is not dict:
            return plain([_place(v, a, results, size) for v, a in zip(x, _spread(axes, len(x), "out_axes"))])
        return {k: _place(x[k], a, results, size) for k, a in zip(x, _spread(axes, len(x), "out_axes"))}
    y = None
    if isinstance(x, Tensor):
        y = next(results)
    elif isinstance(x, (bool, int, float)):
        x = Tensor(x)
    else:
        return x
    if axes is None:
        if y is not None:
            raise RuntimeError(
                "For 'vmap', a result that differs from element to element can't have None in 'out_axes'.")
        return x
    if y is None:  # the same for all elements
        y = F.broadcast_to(x, (size, *x.shape))
    return F.moveaxis(y, 0, _axis(axes, len(y.shape), "out_axes"))


def vectorize(fn: Callable[..., Any], args: Any, kwargs: Any, examples: Any, batches: Any,
              size: Any) -> tuple[Any, list[Tensor | None]]:
    """(fn(*args, **kwargs), its tensors for all elements): None where a tensor is the same for all.

    `examples` are the tensors in args that stand for one element of `batches`."""
    held = [x._held() for x in examples]
    tape = _C.Tape("batch")
    value = record(tape, held, fn, args, kwargs)
    return value, tape.batch(held, batches, _flatten(value, []), size)


def vmap(fn: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """A function that maps fn over an axis of its arguments, computing all elements at once.

    fn sees tensors without that axis. in_axes: the axis of each argument, an int, or None for one that is the
    same for all; or a tuple with one for each argument, nested as the arguments are. out_axes: where the axis
    goes in fn's results, likewise. Nests with itself, with gradients and with jit.

    Of ndarrays, fn is one of NumPy's: it sees arrays without the axis, and the results are ndarrays. TypeError for
    functions of NumPy's that have no rule.

    fn may be a CellList, whose Cells are the elements: cell i gets element i of the mapped arguments.

    In fn, what differs from element to element can't be read (`if x > 0`, `x.asnumpy()`, `print(x)`) nor stored in
    a Parameter. Random numbers drawn in fn are the same for all elements.

    Raises RuntimeError for axes that do not fit the arguments, sizes that differ and values that are read.

    Returns:
        A function.

    Example:
        >>> print(ops.vmap(lambda x: x.sum())(Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [3. 7.]
    """
    from pijit.nn import CellList
    if not callable(fn) and not isinstance(fn, CellList):
        raise _check.refused("vmap", "fn", _check.type_("a function, a Cell or a CellList"), fn, RuntimeError)
    return (_Ensemble if isinstance(fn, CellList) else VmapFunction)(fn, in_axes, out_axes)
