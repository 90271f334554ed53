"""Tensor methods with several signatures: MindSpore's own (axis, keepdims) beside PyTorch's (dim, keepdim).

Which one a call means is decided by the number, names and kinds of its arguments, in the order given here:
`x.max(1)` is by `dim` and gives values and indices, `x.max(axis=1)` gives values alone."""

import inspect
from typing import TYPE_CHECKING

from pijit import _check
from pijit import dtype as mstype
from pijit._C import Tensor, ops as _ops, views as _views
from pijit._numpy import is_loaded, load, np, when_loaded
from pijit.ops import function as F
from pijit.ops.function.creation import _filled
from pijit.ops.function.shapes import _flattened

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_INT = (int,)  # with NumPy's integers and bools where NumPy is there: see _Form.complete
_AXES = (int, tuple, list, type(None))
_FLAG = (bool,)
_DTYPE = (type(mstype.float32), type(None))


class _Form:
    """One signature: a function whose annotations are the types that its parameters take. Those of the functions of ops
    are text, for type checkers alone: such parameters take anything."""

    def __init__(self, fn):
        self.fn = fn
        itself, *parameters = inspect.signature(fn).parameters.values()
        self.signature = inspect.Signature([p.replace(annotation=p.empty) for p in (itself, *parameters)])
        taken = {p.name: None if p.annotation is p.empty or isinstance(p.annotation, str) else p.annotation
                 for p in parameters}
        self.kinds = tuple(taken[p.name] for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD)
        self.by_name = taken
        self.required = tuple(p.name for p in parameters if p.default is p.empty)
        self.text = str(self.signature.replace(parameters=[
            p for p in self.signature.parameters.values() if p.name != itself.name]))[1:-1]
        when_loaded(self.complete)

    def complete(self):
        """Takes NumPy's scalars where Python's are taken."""
        def more(kinds):
            if not isinstance(kinds, tuple):
                return kinds
            return (*kinds, *((np.integer,) if int in kinds else ()), *((np.bool_,) if bool in kinds else ()))
        self.kinds = tuple(map(more, self.kinds))
        self.by_name = {name: more(kinds) for name, kinds in self.by_name.items()}

    def takes(self, args, kwargs):
        if len(args) > len(self.kinds):
            return False
        for value, kind in zip(args, self.kinds):
            if kind is not None and not isinstance(value, kind):
                return False
        for name in kwargs:
            if name not in self.by_name:
                return False
            kind = self.by_name[name]
            if kind is not None and not isinstance(kwargs[name], kind):
                return False
        for name in self.required[len(args):]:
            if name not in kwargs:
                return False
        return True


def overloaded(name: str, doc: str, *functions: "Callable[..., Any]") -> "Callable[..., Any]":
    """A method of several signatures."""
    forms = tuple(_Form(f) for f in functions)
    # the shortest ways, of most calls: no argument, and one integer
    plain = next((f.fn for f in forms if f.takes((), {})), None)
    of_integer = next((f.fn for f in forms if f.takes((0,), {})), None)

    def method(self, *args, **kwargs):
        if not kwargs:
            if not args and plain is not None:
                return plain(self)
            if len(args) == 1 and type(args[0]) is int and of_integer is not None:
                return of_integer(self, args[0])
        for form in forms:
            if form.takes(args, kwargs):
                return form.fn(self, *args, **kwargs)
        if not is_loaded():  # but a program may have imported NumPy
            load()
            return method(self, *args, **kwargs)
        given = [type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in kwargs.items()]
        raise TypeError(f"Failed calling Tensor.{name} with ({', '.join(given)}). The signatures are: "
                        f"{', '.join([f'Tensor.{name}({form.text})' for form in forms])}.")
    method.__name__ = method.__qualname__ = name
    method.__doc__ = doc + "".join([f"\n\n    Tensor.{name}({form.text})" for form in forms])
    method.__module__ = __name__
    method.__signature__ = forms[0].signature
    method.forms = forms
    return method


def _sum_by_dim(self, dim: _AXES = None, keepdim: _FLAG = False, *, dtype: _DTYPE = None):
    return F.sum(self, dim, keepdim, dtype=dtype)


def _sum_by_axis(self, axis: _AXES = None, dtype: _DTYPE = None, keepdims: _FLAG = False, initial=None):
    r = F.sum(self, axis, keepdims, dtype=dtype)
    return r if initial is None else r + initial


def _mean_by_axis(self, axis: _AXES = None, keep_dims: _FLAG = False):
    return F.mean(self, axis, keep_dims)


def _mean_by_dim(self, dim: _AXES = None, keepdim: _FLAG = False, *, dtype: _DTYPE = None):
    return F.mean(self if dtype is None else F.cast(self, dtype), dim, keepdim)


def _prod_by_dim(self, dim: _AXES = None, keepdim: _FLAG = False, dtype: _DTYPE = None):
    return F.prod(self, dim, keepdim, dtype)


def _prod_by_axis(self, axis: _AXES = None, keep_dims: _FLAG = False, dtype: _DTYPE = None):
    return F.prod(self, axis, keep_dims, dtype)


def _std_by_dim(self, dim: _AXES = None, *, correction: _INT = 0, keepdim: _FLAG = False):
    return F.std(self, dim, correction, keepdim)


def _std_by_axis(self, axis: _AXES = None, ddof=0, keepdims: _FLAG = False):
    return F.std(self, axis, ddof, keepdims)


def _var_by_axis(self, axis: _AXES = None, ddof=0, keepdims: _FLAG = False):
    return F.var(self, axis, ddof, keepdims)


def _var_by_dim(self, dim: _AXES = None, *, correction: _INT = 1, keepdim: _FLAG = False):
    return F.var(self, dim, correction, keepdim)


def _extremum(reduce, arg, with_index):
    def whole(self):
        return reduce(self)

    def by_dim(self, dim: _INT, keepdim: _FLAG = False):
        return reduce(self, dim, keepdim), F.cast(arg(self, dim, keepdim), mstype.int64)

    def by_axis(self, axis: _AXES = None, keepdims: _FLAG = False, *, initial=None, where=True, return_indices=False):
        if return_indices:
            return with_index(self, axis, keepdims, initial=initial, where=where)
        return reduce(self, axis, keepdims, initial=initial, where=where)
    return whole, by_dim, by_axis


def _logical(reduce):
    def by_axis(self, axis: _AXES = None, keep_dims: _FLAG = False):
        return reduce(self, axis, keep_dims)

    def by_dim(self, dim: _AXES = None, keepdim: _FLAG = False):
        return reduce(self, dim, keepdim)
    return by_axis, by_dim


def _arg(fn):
    def by_axis(self, axis: (*_INT, type(None)) = None, keepdims: _FLAG = False):
        return fn(self, axis, keepdims)

    def by_dim(self, dim: (*_INT, type(None)) = None, keepdim: _FLAG = False):
        return fn(self, dim, keepdim)
    return by_axis, by_dim


def _sorting(fn):
    def by_dim(self, dim: _INT = -1, descending: _FLAG = False, stable: _FLAG = False):  # noqa: ARG001
        return fn(self, dim, descending)  # stable in any case

    def by_axis(self, axis: _INT = -1, descending: _FLAG = False):
        return fn(self, axis, descending)
    return by_dim, by_axis


def _median_by_axis(self, axis: _INT = -1, keepdims: _FLAG = False):
    return F.median(self, axis, keepdims)


def _median_by_dim(self, dim: _INT = -1, keepdim: _FLAG = False):
    return F.median(self, dim, keepdim)


def _nansum_by_dim(self, dim: _AXES = None, keepdim: _FLAG = False, *, dtype: _DTYPE = None):
    zeros = F.select(F.isnan(self), F.zeros_like(self), self) if self.dtype.is_floating_point else self
    return F.sum(zeros, dim, keepdim, dtype=dtype)


def _nansum_by_axis(self, axis: _AXES = None, keepdims: _FLAG = False, *, dtype: _DTYPE = None):
    return _nansum_by_dim(self, axis, keepdims, dtype=dtype)


def _cumsum_by_dim(self, dim: _INT, *, dtype: _DTYPE = None):
    if dtype is None and not self.dtype.is_floating_point and self.dtype not in (mstype.int64, mstype.uint32,
                                                                                 mstype.uint64):
        dtype = mstype.int32
    return F.cumsum(self, dim, dtype)


def _cumsum_by_axis(self, axis: (*_INT, type(None)) = None, dtype: _DTYPE = None):
    return _cumsum_by_dim(F.ravel(self), 0, dtype=dtype) if axis is None else _cumsum_by_dim(self, axis, dtype=dtype)


def _count_by_dim(self, dim: _AXES = None):
    return F.count_nonzero(self, () if dim is None else dim)


def _count_by_axis(self, axis: _AXES = (), keep_dims: _FLAG = False, dtype: _DTYPE = None):
    return F.count_nonzero(self, () if axis is None else axis, keep_dims, mstype.int32 if dtype is None else dtype)


def _logsumexp(self, dim: _AXES, keepdim: _FLAG = False):
    return F.logsumexp(self, dim, keepdim)


def _logsumexp_by_axis(self, axis: _AXES, keep_dims: _FLAG = False):
    return F.logsumexp(self, axis, keep_dims)


def _split_by_dim(self, split_size: (*_INT, tuple, list), dim: _INT = 0):
    return F.split(self, split_size, dim)


def _split_by_axis(self, split_size_or_sections: (*_INT, tuple, list), axis: _INT = 0):
    return F.split(self, split_size_or_sections, axis)


def _split_by_number(self, axis: _INT = 0, *, output_num: _INT):  # of MindSpore 1.x
    return F.split(self, axis=axis, output_num=output_num)


def _flatten_dims(self, start_dim: _INT = 0, end_dim: _INT = -1):
    return _flattened(_views, self, "C", start_dim, end_dim)


def _flatten_order(self, order: str = "C", *, start_dim: _INT = 0, end_dim: _INT = -1):
    return _flattened(_views, self, order, start_dim, end_dim)


def _gather_elements(self, dim: _INT, index: Tensor):
    return F.gather_elements(self, dim, index)


def _gather_slices(self, input_indices: Tensor, axis: _INT, batch_dims: _INT = 0):
    return F.gather(self, input_indices, axis, batch_dims)


def _swapped(self, dim0: _INT, dim1: _INT):
    return F.swapaxes(self, dim0, dim1)


def _transposed(self, axes: (tuple, list, type(None)) = None):
    return F.transpose(self, tuple(range(self.ndim - 1, -1, -1)) if axes is None or len(axes) == 0 else tuple(axes))


def _select_index(self, dim: _INT, index: _INT):
    return F.squeeze(F.narrow(self, dim, index if index >= 0 else index + self.shape[dim], 1), dim)


def _select_elements(self, condition: Tensor, y):
    return F.select(condition, self, y)


def _where_other(self, condition: Tensor, other):
    return F.where(condition, self, other)


def _where_elements(self, condition: Tensor, y):
    return F.where(condition, self, y)


def _scatter_by_dim(self, dim: _INT, index: Tensor, src):
    src = src if isinstance(src, Tensor) else _filled(index.shape, src, dtype=self.dtype)
    return F.tensor_scatter_elements(self, index, src, dim)


def _scatter_reduced(self, dim: _INT, index: Tensor, src, reduce: (str,)):
    if reduce not in ("add", "multiply"):
        raise _check.refused("Tensor.scatter", "reduce", _check.one_of("add", "multiply"), reduce)
    src = src if isinstance(src, Tensor) else _filled(index.shape, src, dtype=self.dtype)
    return F.tensor_scatter_elements(self, index, src, dim, "add" if reduce == "add" else "mul")


def _scatter_by_axis(self, axis: _INT, index: Tensor, src):
    return _scatter_by_dim(self, axis, index, src)


def _index_add_by_dim(self, dim: _INT, index: Tensor, source: Tensor, *, alpha=1):
    return _ops["index_add"](self, index, source if alpha == 1 else source * alpha, dim)


def _index_add_by_axis(self, indices: Tensor, y: Tensor, axis: _INT, use_lock=True, check_index_bound=True):
    return F.index_add(self, indices, y, axis, use_lock, check_index_bound)


def _scaled(op):
    def with_alpha(self, other, *, alpha=1):
        return op(self, other if alpha == 1 else other * alpha)

    def with_y(self, y):
        return op(self, y)
    return with_alpha, with_y


def _div(self, other, *, rounding_mode=None):
    return F.div(self, other, rounding_mode=rounding_mode)


def _cast(x, dtype):
    """x in another dtype; of the same one a view."""
    y = F.cast(x, dtype)
    return x._view() if y is x else y


def _to_dtype(self, dtype: _DTYPE = None, non_blocking=False, copy=False):  # noqa: ARG001
    return self if dtype is None else _cast(self, dtype)


def _to_device(self, device: (str, type(None)), dtype: _DTYPE = None, non_blocking=False, copy=False):  # noqa: ARG001
    if device is not None and device.upper().removesuffix(":0") != self.device:
        self = self._on_device(device)
    return self if dtype is None else _cast(self, dtype)


def _to_other(self, other: Tensor, non_blocking=False, copy=False):  # noqa: ARG001
    return _cast(self, other.dtype)


# -- what NumPy's functions call: np.sum(x) is x.sum(axis=None, out=None) --
_NOTHING = (type(None),)


def _numpy_sum(self, *, out: _NOTHING, axis: _AXES = None, dtype=None, keepdims: _FLAG = False,  # noqa: ARG001
               initial=None):
    return _sum_by_axis(self, axis, None if dtype is None else mstype.dtype(dtype), keepdims, initial)


def _numpy_prod(self, *, out: _NOTHING, axis: _AXES = None, dtype=None, keepdims: _FLAG = False,  # noqa: ARG001
                initial=None):
    r = _prod_by_axis(self, axis, keepdims, None if dtype is None else mstype.dtype(dtype))
    return r if initial is None else r * initial


def _numpy_mean(self, *, out: _NOTHING, axis: _AXES = None, dtype=None, keepdims: _FLAG = False):  # noqa: ARG001
    return F.mean(self if dtype is None else F.cast(self, mstype.dtype(dtype)), axis, keepdims)


def _numpy_spread(reduce):
    def form(self, *, out: _NOTHING, axis: _AXES = None, dtype=None, ddof=0, keepdims: _FLAG = False):  # noqa: ARG001
        return reduce(self if dtype is None else F.cast(self, mstype.dtype(dtype)), axis, ddof, keepdims)
    return form


def _numpy_logical(reduce):
    def form(self, *, out: _NOTHING, axis: _AXES = None, keepdims: _FLAG = False):  # noqa: ARG001
        return reduce(self, axis, keepdims)
    return form


def _numpy_extremum(reduce):
    def form(self, *, out: _NOTHING, axis: _AXES = None, keepdims: _FLAG = False, initial=None,  # noqa: ARG001
             where=True):
        return reduce(self, axis, keepdims, initial=initial, where=where)
    return form


def _renamed(op, **names):
    """The method of an op, whose parameters have further names."""
    def method(self, *args, **kwargs):
        if kwargs:
            kwargs = {names.get(k, k): v for k, v in kwargs.items()}
        return op(self, *args, **kwargs)
    method.__name__ = method.__qualname__ = op.__name__
    method.__doc__ = op.__doc__
    method.__wrapped__ = op
    return method


METHODS: "dict[str, Callable[..., Any]]" = {
    name: overloaded(name, doc, *forms) for name, doc, forms in (
        ("sum", "Sum over axes (all by default); small integers give int64.", (_sum_by_dim, _sum_by_axis, _numpy_sum)),
        ("mean", "Arithmetic mean over axes (all by default).", (_mean_by_axis, _mean_by_dim, _numpy_mean)),
        ("prod", "Product over axes (all by default); small integers give int64.",
         (_prod_by_dim, _prod_by_axis, _numpy_prod)),
        ("std", "Standard deviation over axes, with n - correction as divisor.",
         (_std_by_dim, _std_by_axis, _numpy_spread(F.std))),
        ("var", "Variance over axes, with n - ddof as divisor.",
         (_var_by_axis, _var_by_dim, _numpy_spread(F.var))),
        ("max", "The maximum; by `dim` with its index.",
         (*_extremum(F.amax, F.argmax, F.max), _numpy_extremum(F.amax))),
        ("min", "The minimum; by `dim` with its index.",
         (*_extremum(F.amin, F.argmin, F.min), _numpy_extremum(F.amin))),
        ("all", "Logical and over axes.", (*_logical(F.all), _numpy_logical(F.all))),
        ("any", "Logical or over axes.", (*_logical(F.any), _numpy_logical(F.any))),
        ("argmax", "Index of the first maximum as int64; of all elements by default.", _arg(F.argmax)),
        ("argmin", "Index of the first minimum as int32; of all elements by default.", _arg(F.argmin)),
        ("sort", "(values, indices) in order along a dimension.", _sorting(F.sort)),
        ("argsort", "Indices that sort along a dimension.", _sorting(F.argsort)),
        ("median", "The median along a dimension (the last by default), with its index.",
         (_median_by_axis, _median_by_dim)),
        ("nansum", "Sum over axes with NaN as 0.", (_nansum_by_dim, _nansum_by_axis)),
        ("cumsum", "Running sums along a dimension.", (_cumsum_by_dim, _cumsum_by_axis)),
        ("count_nonzero", "The number of elements that are not 0.", (_count_by_dim, _count_by_axis)),
        ("logsumexp", "log(sum(exp(x))) over dimensions.", (_logsumexp, _logsumexp_by_axis)),
        ("split", "Parts along a dimension.", (_split_by_dim, _split_by_axis, _split_by_number)),
        ("flatten", "Dimensions start_dim..end_dim merged: all by default, unlike ops.flatten, which keeps the first.",
         (_flatten_dims, _flatten_order)),
        ("gather", "Elements by index along `dim`, or slices of `axis`.", (_gather_elements, _gather_slices)),
        ("select", "The slice at an index of a dimension, or elements where a condition holds.",
         (_select_index, _select_elements)),
        ("where", "self where condition, else other.", (_where_other, _where_elements)),
        ("scatter", "src at the indices along a dimension, the rest from self.",
         (_scatter_by_dim, _scatter_reduced, _scatter_by_axis)),
        ("index_add", "alpha * source added to the slices of a dimension that the indices name.",
         (_index_add_by_dim, _index_add_by_axis)),
        ("add", "self + alpha * other.", _scaled(F.add)),
        ("sub", "self - alpha * other.", _scaled(F.sub)),
        ("div", "self / other, rounded down ('floor') or towards 0 ('trunc') on request.", (_div,)),
        ("to", "Elements converted.", (_to_dtype, _to_device, _to_other)),
    )
}
METHODS |= {
    "chunk": _renamed(F.chunk, dim="axis"), "index_select": _renamed(F.index_select, dim="axis"),
            "narrow": _renamed(F.narrow, dim="axis"),
    "unsqueeze": _renamed(F.unsqueeze, axis="dim"), "tile": _renamed(F.tile, reps="dims"),
            "matmul": _renamed(F.matmul, tensor2="other"), "mm": _renamed(F.mm),
    "isclose": _renamed(F.isclose, x2="other"), "repeat_interleave": _renamed(F.repeat_interleave, dim="axis"),
    "take": _renamed(F.take, index="indices"), "diagonal": _renamed(F.diagonal, axis1="dim1", axis2="dim2"),
            "multiply": _renamed(F.multiply, value="other"),
}
