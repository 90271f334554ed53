"""MindSpore's checks of arguments: functions, as 2.0 and later have them, and `Validator` and `Rel`, as 1.x has them.

Each check gives the value back where it holds. Values of the wrong type raise TypeError, others ValueError, with the
operator's and the parameter's name."""

from __future__ import annotations

import enum
import functools
import inspect
import math
import operator
import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from pijit._types import Axis, DTypeLike, Shape

EQ, NE, LT, LE, GT, GE, INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH, IN, NOT_IN = range(1, 13)


class Rel(enum.IntEnum):
    """How a value has to compare with a number, a range or a collection."""

    EQ, NE, LT, LE, GT, GE, INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH, IN, NOT_IN = range(1, 13)

    @staticmethod
    def get_strs(rel: Any) -> str:
        """The relation as text with places for numbers."""
        return _TEXTS.get(rel, "")

    @staticmethod
    def get_fns(rel: Any) -> Any:
        """The relation as a function."""
        return (
            _COMPARISONS[rel]
            if rel in _COMPARISONS
            else lambda value, lower, upper: _in_range(value, lower, upper, rel)
        )


_TEXTS = {
    EQ: "= {}",
    NE: "!= {}",
    LT: "< {}",
    LE: "<= {}",
    GT: "> {}",
    GE: ">= {}",
    INC_NEITHER: "({}, {})",
    INC_LEFT: "[{}, {})",
    INC_RIGHT: "({}, {}]",
    INC_BOTH: "[{}, {}]",
    IN: "in {}",
    NOT_IN: "not in {}",
}
_COMPARISONS = {
    EQ: operator.eq,
    NE: operator.ne,
    LT: operator.lt,
    LE: operator.le,
    GT: operator.gt,
    GE: operator.ge,
    IN: lambda x, y: x in y,
    NOT_IN: lambda x, y: x not in y,
}


def _in_range(value, lower, upper, rel):
    above = value >= lower if rel in (INC_LEFT, INC_BOTH) else value > lower
    return above and (value <= upper if rel in (INC_RIGHT, INC_BOTH) else value < upper)


def _raise(error, arg_name, prim_name, wanted, value):
    """Raises "Dense: 'units' has to be an int > 0, not 'a' (str)"."""
    whose, what = f"{prim_name}: " if prim_name else "", repr(arg_name) if arg_name else "the value"
    raise error(f"{whose}{what} has to be {wanted}, not {value!r} ({type(value).__name__})")


def _listed(kinds):
    return tuple(kinds) if isinstance(kinds, (list, tuple, set, frozenset)) else (kinds,)


def _named(kinds):
    """Classes, dtypes or kinds of values, as messages name them."""
    return " or ".join(str(getattr(k, "__name__", k)) for k in kinds)


def _is_number(value, kinds):
    """isinstance, but a bool is no number."""
    return isinstance(value, kinds) and not isinstance(value, bool)


def _finite(value, kind, wanted, arg_name, prim_name):
    if not _is_number(value, kind):
        _raise(TypeError, arg_name, prim_name, wanted, value)
    if not math.isfinite(value):
        _raise(ValueError, arg_name, prim_name, f"{wanted} and finite", value)


def _compared(arg_value, value, rel, kind, arg_name, prim_name):
    """A finite number of this kind that compares with another as it should."""
    wanted = f"{kind.__name__} {_TEXTS[rel].format(value)}"
    _finite(arg_value, kind, wanted, arg_name, prim_name)
    if not _COMPARISONS[rel](arg_value, value):
        _raise(ValueError, arg_name, prim_name, wanted, arg_value)
    return arg_value


def _ranged(arg_value, lower_limit, upper_limit, rel, kind, arg_name, prim_name):
    """A number of this kind, or of NumPy's, in a range."""
    error = None if _is_number(arg_value, (*_listed(kind), np.number)) else TypeError
    if error is None and not _in_range(arg_value, lower_limit, upper_limit, rel):
        error = ValueError
    if error is not None:
        wanted = f"{_named(_listed(kind))} in {_TEXTS[rel].format(lower_limit, upper_limit)}"
        _raise(error, arg_name, prim_name, wanted, arg_value)
    return arg_value


def check_int(arg_value: Any, value: Any, rel: Any, arg_name: str | None = None, prim_name: str | None = None) -> Any:
    return _compared(arg_value, value, rel, int, arg_name, prim_name)


def check_float(arg_value: Any, value: Any, rel: Any, arg_name: str | None = None, prim_name: str | None = None) -> Any:
    return _compared(arg_value, value, rel, float, arg_name, prim_name)


def check_equal_int(arg_value: Any, value: Any, arg_name: str | None = None, prim_name: str | None = None) -> Any:
    return _compared(arg_value, value, EQ, int, arg_name, prim_name)


def _against_zero(name, kind, rel):
    def check(arg_value, arg_name=None, prim_name=None):
        return _compared(arg_value, 0, rel, kind, arg_name, prim_name)

    check.__name__ = check.__qualname__ = name
    return check


check_positive_int: Callable[..., Any] = _against_zero("check_positive_int", int, GT)
check_negative_int: Callable[..., Any] = _against_zero("check_negative_int", int, LT)
check_non_negative_int: Callable[..., Any] = _against_zero("check_non_negative_int", int, GE)
check_non_positive_int: Callable[..., Any] = _against_zero("check_non_positive_int", int, LE)
check_positive_float: Callable[..., Any] = _against_zero("check_positive_float", float, GT)
check_negative_float: Callable[..., Any] = _against_zero("check_negative_float", float, LT)
check_non_negative_float: Callable[..., Any] = _against_zero("check_non_negative_float", float, GE)
check_non_positive_float: Callable[..., Any] = _against_zero("check_non_positive_float", float, LE)


def check_number(arg_name: str, arg_value: Any, value: Any, rel: Any, prim_name: str | None) -> Any:
    if not _COMPARISONS[rel](arg_value, value):
        _raise(ValueError, arg_name, prim_name, _TEXTS[rel].format(value), arg_value)
    return arg_value


def check_int_range(arg_value: Any, lower_limit: Any, upper_limit: Any, rel: Any, arg_name: str | None = None,
                    prim_name: str | None = None) -> Any:
    return _ranged(arg_value, lower_limit, upper_limit, rel, int, arg_name, prim_name)


def check_float_range(arg_value: Any, lower_limit: Any, upper_limit: Any, rel: Any, arg_name: str | None = None,
                      prim_name: str | None = None) -> Any:
    return _ranged(arg_value, lower_limit, upper_limit, rel, float, arg_name, prim_name)


def check_number_range(arg_value: Any, lower_limit: Any, upper_limit: Any, rel: Any, value_type: Any,
                       arg_name: str | None = None, prim_name: str | None = None) -> Any:
    return _ranged(arg_value, lower_limit, upper_limit, rel, value_type, arg_name, prim_name)


def check_is_number(arg_value: Any, arg_type: Any, arg_name: str | None = None, prim_name: str | None = None) -> Any:
    _finite(arg_value, arg_type, arg_type.__name__, arg_name, prim_name)
    return arg_value


def check_is_int(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> Any:
    return check_is_number(arg_value, int, arg_name, prim_name)


def check_is_float(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> Any:
    return check_is_number(arg_value, float, arg_name, prim_name)


def check_bool(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> Any:
    if not isinstance(arg_value, bool):
        _raise(TypeError, arg_name, prim_name, "bool", arg_value)
    return arg_value


def check_string(arg_value: Any, valid_values: Any, arg_name: str | None = None, prim_name: str | None = None) -> Any:
    if not isinstance(arg_value, str) or arg_value not in valid_values:
        _raise(ValueError, arg_name, prim_name, f"one of {valid_values}", arg_value)
    return arg_value


def check(arg_name: str, arg_value: Any, value_name: Any, value: Any, rel: Any = EQ, prim_name: str | None = None,
          excp_cls: Any = ValueError) -> Any:
    if not _COMPARISONS[rel](arg_value, value):
        _raise(excp_cls, arg_name, prim_name, f"{_TEXTS[rel].format(value)}, which is {value_name!r}", arg_value)
    return arg_value


def check_value_type(arg_name: str, arg_value: Any, valid_types: Any, prim_name: str | None = None) -> Any:
    kinds = _listed(valid_types)
    if not isinstance(arg_value, kinds) or isinstance(arg_value, bool) and not {bool, object} & set(kinds):
        _raise(TypeError, arg_name, prim_name, f"of type {_named(kinds)}", arg_value)
    return arg_value


def check_isinstance(arg_name: str, arg_value: Any, classes: Any) -> Any:
    if not isinstance(arg_value, classes):
        _raise(ValueError, arg_name, None, f"of type {_named(_listed(classes))}", arg_value)
    return arg_value


def _kind_name(kind):
    return kind.__name__ if isinstance(kind, type) else str(kind)


_WIDER = {
    "Int": {"Int"},
    "UInt": {"UInt"},
    "Float": {"Float"},
    "Number": {"Int", "UInt", "Float", "BFloat", "Bool", "Complex"},
}


def is_kind(kind: Any, template: Any) -> bool:
    """Whether a dtype or kind is another, or among those that it stands for."""
    from pijit import kinds

    if isinstance(kind, kinds.TensorType):
        return isinstance(template, kinds.TensorType) and template.element in (None, kind.element)
    name, wider = _kind_name(kind), _kind_name(template)
    return name == wider or name.rstrip("0123456789") in _WIDER.get(wider, ())


def check_subclass(arg_name: str, type_: Any, template_types: Any, prim_name: str | None,
                   addition_error_info: Any = None) -> None:
    templates = _listed(template_types)
    if not any(is_kind(type_, t) for t in templates):
        more = f" {addition_error_info}" if addition_error_info else ""
        _raise(TypeError, arg_name, prim_name, f"of kind {_named(templates)}{more}", type_)


def check_type_name(arg_name: str, arg_type: Any, valid_types: Any, prim_name: str | None) -> Any:
    from pijit import kinds

    kind = arg_type.element if isinstance(arg_type, kinds.TensorType) else arg_type
    if kind not in _listed(valid_types):
        _raise(TypeError, arg_name, prim_name, f"of dtype {_named(_listed(valid_types))}", kind)
    return kind


def _tensor_kinds(dtypes):
    from pijit import kinds

    return [kinds.TensorType(t) for t in _listed(dtypes)]


def check_tensor_dtype_valid(arg_name: str, arg_type: Any, valid_dtypes: Any, prim_name: str | None) -> None:
    check_subclass(arg_name, arg_type, _tensor_kinds(valid_dtypes), prim_name)


def _check_same(kinds, prim_name):
    """Kinds by name, which have to be one."""
    first = next(iter(kinds), None)
    for name, kind in kinds.items():
        if kind != kinds[first]:
            _raise(TypeError, name, prim_name, f"of the kind of {first!r}, {kinds[first]}", kind)


def check_types_same_and_valid(args: Any, valid_values: Any, prim_name: str | None) -> None:
    """Types of arguments, by name, that are equal and among these."""
    for name, kind in args.items():
        check_subclass(name, kind, valid_values, prim_name)
    _check_same(args, prim_name)


def check_tensors_dtypes_same_and_valid(args: Any, valid_dtypes: Any, prim_name: str | None) -> None:
    check_types_same_and_valid(args, _tensor_kinds(valid_dtypes), prim_name)


check_tensor_type_same = check_tensors_dtypes_same_and_valid


def check_scalar_or_tensor_types_same(args: Any, valid_values: Any, prim_name: str | None,
                                      allow_mix: bool = False) -> None:
    """Dtypes of numbers or tensors, by name, that are equal and among these; with `allow_mix` numbers and tensors may
    stand beside each other."""
    dtypes = {name: check_type_name(name, kind, valid_values, prim_name) for name, kind in args.items()}
    _check_same(dtypes if allow_mix else args, prim_name)


def check_valid_input(arg_name: str, arg_value: Any, prim_name: str | None) -> Any:
    if arg_value is None:
        _raise(ValueError, arg_name, prim_name, "given", arg_value)
    return arg_value


def _check_elements(arg_name, values, valid_types, prim_name):
    kinds = _listed(valid_types)
    for value in values:
        if not isinstance(value, kinds):
            _raise(TypeError, arg_name, prim_name, f"made of {_named(kinds)}", value)


def check_element_type_of_iterable(arg_name: str, arg_value: Any, valid_types: Any,
                                   prim_name: str | None = None) -> None:
    check_value_type(arg_name, arg_value, [list, tuple], prim_name)
    _check_elements(arg_name, arg_value, valid_types, prim_name)


def check_element_type_of_dict(arg_name: str, arg_value: Any, key_types: Any, value_types: Any,
                               prim_name: str | None = None) -> None:
    check_value_type(arg_name, arg_value, [dict], prim_name)
    _check_elements(arg_name, arg_value, key_types, prim_name)
    _check_elements(arg_name, arg_value.values(), value_types, prim_name)


def check_size_and_element_type_of_tuple(arg_name: str, arg_value: Any, expect_size: Any, expect_element_type: Any,
                                         prim_name: str | None = None) -> None:
    check_value_type(arg_name, arg_value, [tuple], prim_name)
    if len(arg_value) != expect_size:
        _raise(ValueError, arg_name, prim_name, f"of {expect_size} elements", arg_value)
    _check_elements(arg_name, arg_value, expect_element_type, prim_name)


def _sequence(check_one):
    def check(sequence, arg_name=None, prim_name=None):
        for i, value in enumerate(sequence):
            check_one(value, f"{arg_name or 'element'}[{i}]", prim_name)
        return sequence

    check.__name__ = check.__qualname__ = check_one.__name__ + "_sequence"
    return check


check_positive_int_sequence: Callable[..., Any] = _sequence(check_positive_int)
check_non_negative_int_sequence: Callable[..., Any] = _sequence(check_non_negative_int)
check_positive_float_sequence: Callable[..., Any] = _sequence(check_positive_float)


def _matches(target, reg, flag, what, prim_name):
    if not re.match(reg, target, flag):
        _raise(ValueError, what, prim_name, f"a text that {reg!r} matches", target)
    return True


def check_file_name_by_regular(target: Any, reg: Any = None, prim_name: str | None = None) -> bool:
    return _matches(
        target, r"[\w@.:/\\-]+$" if reg is None else reg, re.ASCII if reg is None else 0, "file name", prim_name
    )


def check_str_by_regular(target: Any, reg: Any = None, flag: Any = re.ASCII, prim_name: str | None = None) -> bool:
    return _matches(target, r"\w[\w.]*$" if reg is None else reg, flag, "name", prim_name)


def check_str_and_none_by_regular(target: Any, reg: Any = None, flag: Any = re.ASCII,
                                  prim_name: str | None = None) -> bool:
    return _matches(target, r"[\w.-]*$" if reg is None else reg, flag, "name", prim_name)


def check_pad_value_by_mode(pad_mode: str, padding: Any, prim_name: str | None) -> Any:
    if pad_mode != "pad" and padding != 0:
        _raise(ValueError, "padding", prim_name, f"0 with pad_mode {pad_mode!r}", padding)
    return padding


def check_input_format(input_param: Any) -> Any:
    if input_param != "NCHW":
        _raise(ValueError, "format", None, "'NCHW'", input_param)
    return input_param


def check_type_support(dtype: DTypeLike, device: Any, supported_dtypes: Any) -> Any:
    from pijit import get_context

    return dtype in supported_dtypes or get_context("device_target") != device


def check_axis_in_range(axis: Axis, ndim: int) -> Any:
    if not isinstance(axis, int):
        _raise(TypeError, "axis", None, "int", axis)
    if not -ndim <= axis < ndim:
        _raise(ValueError, "axis", None, f"int in [{-ndim}, {ndim})", axis)
    return axis % ndim


def check_and_canonicalize_axes(axes: Axis, ndim: int) -> tuple[Any | int, ...]:
    return tuple(check_axis_in_range(a, ndim) for a in (axes if isinstance(axes, (tuple, list)) else (axes,)))


def check_axis_valid(axes: Axis, ndim: int) -> tuple[int, ...]:
    if axes is None:
        return tuple(range(ndim))
    axes = check_and_canonicalize_axes(axes, ndim)
    if len(set(axes)) < len(axes):
        _raise(ValueError, "axes", None, "different from each other", axes)
    return axes


def check_axis_type(axis: Axis, type_int: bool = True, type_tuple: bool = True, type_list: bool = True) -> bool:
    check_value_type(
        "axis",
        int(axis) if isinstance(axis, bool) else axis,
        (int,) * type_int + (tuple,) * type_tuple + (list,) * type_list,
    )
    if not isinstance(axis, int):
        _check_elements("axis", axis, int, None)
    return True


def check_swapaxes_axis(axes: Axis, ndim: int) -> Any:
    return check_axis_in_range(axes, ndim) if isinstance(axes, int) else check_and_canonicalize_axes(axes, ndim)


def check_transpose_axis(axes: Axis, ndim: int) -> tuple[int, ...] | tuple[Any, ...]:
    if not axes or axes == (None,):
        return tuple(reversed(range(ndim)))
    check_value_type("axes", axes, [tuple, list], "Tensor.transpose")
    if len(axes) == 1 and isinstance(axes[0], (tuple, list)):
        axes = axes[0]
    if len(axes) != ndim:
        _raise(ValueError, "axes", "Tensor.transpose", f"{ndim} numbers", axes)
    return tuple(axes)


def check_reshape_shp(shp: Any) -> Any:
    if len(shp) != 1:
        return shp
    if not isinstance(shp[0], (int, tuple, list)):
        _raise(TypeError, "shape", "Tensor.reshape", "ints, or a tuple or list of them", shp[0])
    return shp if isinstance(shp[0], int) else tuple(shp[0])


def check_flatten_order(order: Any) -> None:
    if not isinstance(order, str):
        _raise(TypeError, "order", "Tensor.flatten", "str", order)
    if order not in ("C", "F"):
        _raise(ValueError, "order", "Tensor.flatten", "'C' or 'F'", order)


def check_astype_dtype(dtype: DTypeLike) -> Any:
    """The dtype that `Tensor.astype` makes of one, a name or a class. TypeError where there is none."""
    from pijit import dtype as mstype

    found = dtype
    if isinstance(dtype, str):
        name = {"int": "int64", "float": "float64", "float_": "float64", "bool": "bool_"}.get(
            dtype.lower(), dtype.lower()
        )
        found = vars(mstype).get(name)
    elif dtype in (int, float, bool):
        found = {int: mstype.int64, float: mstype.float64, bool: mstype.bool_}[dtype]
    if not isinstance(found, mstype.Type):
        _raise(TypeError, "dtype", "Tensor.astype", "a dtype", dtype)
    return found


def infer_out_shape(*shapes: Any) -> tuple[Any, ...]:
    """The shape to which these broadcast."""
    rank = max([len(s) for s in shapes], default=0)
    columns = [[1] * (rank - len(s)) + list(s) for s in shapes]
    out = []
    for axis in range(rank):
        sizes = [c[axis] for c in columns]
        size = max(sizes) if 0 not in sizes else 0
        if any([d not in (1, size) for d in sizes]):
            _raise(ValueError, "shapes", None, "such that they broadcast", shapes)
        out.append(size)
    return tuple(out)


def prepare_shape_for_squeeze(shape: Shape, axes: Axis) -> tuple[int, ...]:
    if not isinstance(axes, (int, tuple, list)):
        _raise(TypeError, "axes", "Tensor.squeeze", "int, tuple or list", axes)
    axes = check_and_canonicalize_axes(axes, len(shape))
    if any(shape[a] != 1 for a in axes):
        _raise(ValueError, "axes", "Tensor.squeeze", f"axes of size 1 in shape {tuple(shape)}", axes)
    return tuple(d for i, d in enumerate(shape) if i not in axes)


def check_reduce_shape(ori_shape: Any, shape: Shape, axis: Axis, prim_name: str | None, arg_name1: Any,
                       arg_name2: Any) -> None:
    axes = check_and_canonicalize_axes(axis, len(ori_shape))
    kept = tuple(d for i, d in enumerate(ori_shape) if i not in axes)
    if tuple(shape) != kept:
        _raise(
            ValueError,
            arg_name2,
            prim_name,
            f"of shape {kept}, as is {arg_name1!r} without the axes {axes}",
            tuple(shape),
        )


def expanded_shape(ndim: int, axis_size: Any, axis: Axis) -> tuple[Any | int, ...]:
    axis = check_axis_in_range(axis, ndim)
    return tuple(axis_size if i == axis else 1 for i in range(ndim))


def tuple_slice(tup: Any, start: Any, end: Any) -> Any:
    return tup[start:end]


def max_(*args: Any) -> Any:
    return max(*args)


def min_(*args: Any) -> Any:
    return min(*args)


def is_stub_tensor(tensor: Any) -> bool:
    """False: results are tensors at once."""
    return False


def _repeated(n, kinds):
    """What makes n numbers of one; n of these kinds stay as they are."""

    def expand(m):
        if isinstance(m, kinds) and len(m) == n:
            return tuple(m)
        if not _is_number(m, int):
            _raise(TypeError, "size", None, f"an int, or {n} of them", m)
        return (m,) * n

    return expand


triple: Callable[..., Any]
twice: Callable[..., Any]
once: Callable[..., Any]
once, twice, triple = (_repeated(n, tuple) for n in (1, 2, 3))
triple_sequence: Callable[..., Any]
twice_sequence: Callable[..., Any]
once_sequence: Callable[..., Any]
once_sequence, twice_sequence, triple_sequence = (_repeated(n, (tuple, list)) for n in (1, 2, 3))


def check_input_data(*data: Any, data_class: Any) -> None:
    """Values, also in lists, tuples and dicts, of these classes, and not None."""
    for item in data:
        if isinstance(item, (list, tuple, dict)):
            check_input_data(*(item.values() if isinstance(item, dict) else item), data_class=data_class)
        elif not isinstance(item, _listed(data_class)):
            _raise(TypeError, "data", None, f"{_named(_listed(data_class))}, or a tuple, list or dict of them", item)


def check_input_dataset(*dataset: Any, dataset_type: Any) -> bool:
    return bool(dataset) and all(isinstance(d, dataset_type) for d in dataset)


def check_output_data(data: Any) -> None:
    if data is None:
        _raise(RuntimeError, "output", None, "a value", data)


def check_hook_fn(hook_fn: Callable[..., Any]) -> None:
    if not callable(hook_fn):
        _raise(TypeError, "hook_fn", None, "a function", hook_fn)


def args_type_check(*type_args: Any, **type_kwargs: Any) -> Any:
    """Decorator: arguments of the function have to be None or instances of these. Methods are checked behind `self`."""

    def decorate(fn):
        signature = inspect.signature(fn)
        wanted = signature.bind_partial(*type_args, **type_kwargs).arguments
        names = [
            p.name for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]

        @functools.wraps(fn)
        def checked(*args, **kwargs):
            for name, value in [*zip(names, args), *kwargs.items()]:
                if name in wanted and value is not None and not isinstance(value, wanted[name]):
                    _raise(TypeError, name, fn.__name__, f"of type {_named(_listed(wanted[name]))}", value)
            return fn(*args, **kwargs)

        return checked

    return decorate


def _any_order(check):
    """A check that takes the parameter's name first, as 1.0 has it, or the value."""

    @functools.wraps(check)
    def either(*args, **kwargs):
        if args and isinstance(args[0], str) and len(args) > 1 and not isinstance(args[1], str):
            *values, prim_name = args[1:]
            if not isinstance(prim_name, (str, type(None))):
                values, prim_name = args[1:], None
            return check(*values, args[0], prim_name, **kwargs)
        return check(*args, **kwargs)

    return either


class Validator:
    """The checks of this module, as methods: 1.x programs call `Validator.check_positive_int(...)`."""

    @staticmethod
    def check_integer(arg_name: str, arg_value: Any, value: Any, rel: Any, prim_name: str | None) -> Any:
        """1.0's `check_int`."""
        return check_int(arg_value, value, rel, arg_name, prim_name)

    @staticmethod
    def check_type(arg_name: str, arg_value: Any, valid_types: Any) -> Any:
        """1.0's `check_value_type`."""
        return check_value_type(arg_name, arg_value, valid_types)

    @staticmethod
    def get_typename(t: Any) -> Any:
        """The name of a class or kind."""
        return getattr(t, "__name__", str(t))

    @staticmethod
    def check_const_input(arg_name: str, arg_value: Any, prim_name: str | None) -> Any:
        """Raises ValueError for None: the value isn't known."""
        return check_valid_input(arg_name, arg_value, prim_name)


_OTHER_METHODS = ("expanded_shape", "infer_out_shape", "prepare_shape_for_squeeze", "tuple_slice", "max_", "min_")
for _name, _check in list(globals().items()):
    if _name.startswith("check") and not hasattr(Validator, _name) or _name in _OTHER_METHODS:
        _either = _name in ("check_int", "check_int_range", "check_float_range")
        setattr(Validator, _name, staticmethod(_any_order(_check) if _either else _check))


def check_int_positive(arg_name: str, arg_value: Any, op_name: Any) -> Any:
    """1.0's `check_positive_int`."""
    return check_positive_int(arg_value, arg_name, op_name)


check_type = Validator.check_type
