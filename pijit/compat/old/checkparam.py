"""MindSpore's checks of arguments: functions, as 2.0 and later have them, and `Validator` and `Rel`, as 1.x has them.

Each check gives the value back where it holds. Values of the wrong type raise TypeError, others ValueError, with the parameter's and the
operator's name."""

import builtins
import enum
import functools
import inspect
import math
import operator
import re

EQ, NE, LT, LE, GT, GE, INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH, IN, NOT_IN = range(1, 13)


class Rel(enum.IntEnum):
    """How a value has to compare with a number, a range or a collection."""

    EQ, NE, LT, LE, GT, GE, INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH, IN, NOT_IN = range(1, 13)

    @staticmethod
    def get_strs(rel):
        """The relation as text with places for numbers."""
        return _TEXTS.get(rel, "")

    @staticmethod
    def get_fns(rel):
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


def _whose(prim_name):
    return f"For '{prim_name}', the" if prim_name else "The"


def _what(arg_name):
    return f"'{arg_name}'" if arg_name else "input value"


def _subject(arg_name, prim_name):
    return f"{_whose(prim_name)} {_what(arg_name)}"


def _compared(arg_value, value, rel, kind, arg_name, prim_name):
    """A number of exactly this kind that compares with another as it should."""
    who, name = _subject(arg_name, prim_name), kind.__name__
    wanted = f"{name} and must {_TEXTS[rel].format(value)}"
    if isinstance(arg_value, bool) and kind is int:
        raise TypeError(f"{who} must be {wanted}, but got '{arg_value}' with type 'bool'.")
    if type(arg_value) is not kind and (
        isinstance(arg_value, bool) or not isinstance(arg_value, kind) or _is_numpys(arg_value)
    ):
        raise TypeError(f"{who} must be {name}, but got '{type(arg_value).__name__}'")
    if math.isinf(arg_value) or math.isnan(arg_value):
        raise ValueError(f"{who} must be legal value, but got '{arg_value}'.")
    if not _COMPARISONS[rel](arg_value, value):
        raise ValueError(f"{who} must be {wanted}, but got '{arg_value}' with type '{type(arg_value).__name__}'.")
    return arg_value


def _is_numpys(value):
    return type(value).__module__ == "numpy"


def _ranged(arg_value, lower_limit, upper_limit, rel, kind, arg_name, prim_name):
    who = _subject(arg_name, prim_name)
    if isinstance(arg_value, bool) or not isinstance(arg_value, kind):
        names = kind.__name__ if isinstance(kind, type) else [k.__name__ for k in kind]
        raise TypeError(f"{who} must be '{names}',  but got '{type(arg_value).__name__}'.")
    if not _in_range(arg_value, lower_limit, upper_limit, rel):
        raise ValueError(
            f"{who} must be in range of {_TEXTS[rel].format(lower_limit, upper_limit)}, but got {arg_value} "
            f"with type '{type(arg_value).__name__}'."
        )
    return arg_value


def check_int(arg_value, value, rel, arg_name=None, prim_name=None):
    return _compared(arg_value, value, rel, int, arg_name, prim_name)


def check_float(arg_value, value, rel, arg_name=None, prim_name=None):
    return _compared(arg_value, value, rel, float, arg_name, prim_name)


def check_equal_int(arg_value, value, arg_name=None, prim_name=None):
    return _compared(arg_value, value, EQ, int, arg_name, prim_name)


def _against_zero(name, kind, rel):
    def check(arg_value, arg_name=None, prim_name=None):
        return _compared(arg_value, 0, rel, kind, arg_name, prim_name)

    check.__name__ = check.__qualname__ = name
    return check


check_positive_int = _against_zero("check_positive_int", int, GT)
check_negative_int = _against_zero("check_negative_int", int, LT)
check_non_negative_int = _against_zero("check_non_negative_int", int, GE)
check_non_positive_int = _against_zero("check_non_positive_int", int, LE)
check_positive_float = _against_zero("check_positive_float", float, GT)
check_negative_float = _against_zero("check_negative_float", float, LT)
check_non_negative_float = _against_zero("check_non_negative_float", float, GE)
check_non_positive_float = _against_zero("check_non_positive_float", float, LE)


def check_number(arg_name, arg_value, value, rel, prim_name):
    if not _COMPARISONS[rel](arg_value, value):
        raise ValueError(
            f"{_whose(prim_name)} argument '{arg_name}' must {_TEXTS[rel].format(value)}, but got {arg_value}."
        )
    return arg_value


def check_int_range(arg_value, lower_limit, upper_limit, rel, arg_name=None, prim_name=None):
    return _ranged(arg_value, lower_limit, upper_limit, rel, int, arg_name, prim_name)


def check_float_range(arg_value, lower_limit, upper_limit, rel, arg_name=None, prim_name=None):
    return _ranged(arg_value, lower_limit, upper_limit, rel, float, arg_name, prim_name)


def check_number_range(arg_value, lower_limit, upper_limit, rel, value_type, arg_name=None, prim_name=None):
    return _ranged(arg_value, lower_limit, upper_limit, rel, value_type, arg_name, prim_name)


def check_is_number(arg_value, arg_type, arg_name=None, prim_name=None):
    if isinstance(arg_value, arg_type) and not isinstance(arg_value, bool) and not _is_numpys(arg_value):
        if math.isinf(arg_value) or math.isnan(arg_value):
            raise ValueError(f"{_subject(arg_name, prim_name)} must be a legal value, but got '{arg_value}'.")
        return arg_value
    what = f"type of {_what(arg_name)}"
    raise TypeError(f"{_whose(prim_name)} {what} must be '{arg_type.__name__}', but got '{type(arg_value).__name__}'.")


def check_is_int(arg_value, arg_name=None, prim_name=None):
    return check_is_number(arg_value, int, arg_name, prim_name)


def check_is_float(arg_value, arg_name=None, prim_name=None):
    return check_is_number(arg_value, float, arg_name, prim_name)


def check_bool(arg_value, arg_name=None, prim_name=None):
    if not isinstance(arg_value, bool):
        raise TypeError(f"{_subject(arg_name, prim_name)} must be a bool, but got {type(arg_value).__name__}.")
    return arg_value


def check_string(arg_value, valid_values, arg_name=None, prim_name=None):
    if isinstance(arg_value, str) and arg_value in valid_values:
        return arg_value
    got = arg_value if isinstance(arg_value, str) else f"'{arg_value}'"
    raise ValueError(
        f"{_subject(arg_name, prim_name)} must be str and must be in '{valid_values}', but got "
        f"{repr(got) if isinstance(arg_value, str) else got}."
    )


def check(arg_name, arg_value, value_name, value, rel=EQ, prim_name=None, excp_cls=ValueError):
    if not _COMPARISONS[rel](arg_value, value):
        raise excp_cls(
            f"{_whose(prim_name)} '{arg_name}' should be {_TEXTS[rel].format(f'{value_name}: {value}')}, but got {arg_value}."
        )
    return arg_value


def _of_type(value, kinds):
    """isinstance, but a bool is no int."""
    return isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds or object in kinds)


def _listed(kinds):
    return tuple(kinds) if isinstance(kinds, (list, tuple)) else (kinds,)


def check_value_type(arg_name, arg_value, valid_types, prim_name=None):
    kinds = _listed(valid_types)
    if _of_type(arg_value, kinds):
        return arg_value
    names = [k.__name__ for k in kinds]
    wanted = f"'{names[0]}'" if len(names) == 1 else f"one of '{names}'"
    raise TypeError(
        f"{_whose(prim_name)} type of '{arg_name}' should be {wanted}, but got type '{type(arg_value).__name__}'."
    )


def check_isinstance(arg_name, arg_value, classes):
    if not isinstance(arg_value, classes):
        raise ValueError(f"The parameter '{arg_name}' must be isinstance of {classes}, but got {arg_value}.")
    return arg_value


def _shown(kind):
    """A dtype or kind of values as MindSpore's messages name it."""
    return str(kind) if not isinstance(kind, type) else kind.__name__


def _is_kind(kind, template):
    from pijit import kinds

    if kind == template:
        return True
    if isinstance(kind, kinds.TensorType):
        return isinstance(template, kinds.TensorType) and template.element is None
    name = _shown(template)
    dtype_names = {
        "Int": ("Int",),
        "UInt": ("UInt",),
        "Float": ("Float", "BFloat"),
        "Number": ("Int", "UInt", "Float", "BFloat", "Bool", "Complex"),
    }
    return name in dtype_names and _shown(kind).rstrip("0123456789") in dtype_names[name]


_MORE = (
    "The supported data types depend on the hardware that executes the operator, for more details, please refer to the MindSpore official "
    "website to get more information about the data type."
)


def check_subclass(arg_name, type_, template_types, prim_name, addition_error_info=None):
    templates = _listed(template_types)
    if any(_is_kind(type_, t) for t in templates):
        return
    names = ", ".join(_shown(t) for t in templates)
    more = f" {addition_error_info}" if addition_error_info else ""
    raise TypeError(
        f"{_whose(prim_name)} element of '{arg_name}' must be {names if len(templates) == 1 else 'one of ' + names}, but got "
        f"{_shown(type_)}{more}.{_MORE}"
    )


def check_type_name(arg_name, arg_type, valid_types, prim_name):
    from pijit import kinds

    kind = arg_type.element if isinstance(arg_type, kinds.TensorType) else arg_type
    kinds_ = _listed(valid_types) if not isinstance(valid_types, (set, frozenset)) else tuple(valid_types)
    if kind in kinds_:
        return kind
    wanted = _shown(kinds_[0]) if len(kinds_) == 1 else f"one of [{', '.join(repr(k) for k in kinds_)}]"
    raise TypeError(f"{_whose(prim_name)} '{arg_name}' should be {wanted}, but got '{kind!r}'.")


def check_tensor_dtype_valid(arg_name, arg_type, valid_dtypes, prim_name):
    from pijit import kinds

    check_subclass(arg_name, arg_type, [kinds.TensorType(t) for t in _listed(valid_dtypes)], prim_name)


def check_types_same_and_valid(args, valid_values, prim_name):
    """Types of arguments, by name, that are equal and among these."""
    first = None
    for name, kind in args.items():
        check_subclass(name, kind, valid_values, prim_name)
        first = _same(first, name, kind, prim_name, "should")


def _same(first, name, kind, prim_name, verb):
    if first is None:
        return name, kind
    if kind != first[1]:
        raise TypeError(
            f"{_whose(prim_name)} type of '{name}' {verb} be same as '{first[0]}', but got '{first[0]}' with type {_shown(first[1])} and "
            f"'{name}' with type {_shown(kind)}."
        )
    return first


def check_tensors_dtypes_same_and_valid(args, valid_dtypes, prim_name):
    from pijit import kinds

    check_types_same_and_valid(args, [kinds.TensorType(t) for t in _listed(valid_dtypes)], prim_name)


check_tensor_type_same = check_tensors_dtypes_same_and_valid


def check_scalar_or_tensor_types_same(args, valid_values, prim_name, allow_mix=False):
    """Dtypes of numbers or tensors, by name, that are equal and among these; with `allow_mix` numbers and tensors may stand beside each other."""
    from pijit import kinds

    first = None
    for name, kind in args.items():
        element = kind.element if isinstance(kind, kinds.TensorType) else kind
        check_type_name(name, element, valid_values, prim_name)
        first = _same(first, name, element if allow_mix else kind, prim_name, "must")


def check_valid_input(arg_name, arg_value, prim_name):
    if arg_value is None:
        raise ValueError(f"{_whose(prim_name)} '{arg_name}' can not be None, please check the network.")
    return arg_value


def check_element_type_of_iterable(arg_name, arg_value, valid_types, prim_name=None):
    check_value_type(arg_name, arg_value, [list, tuple, set], prim_name)
    _check_elements(arg_name, arg_value, valid_types, prim_name)


def _check_elements(arg_name, values, valid_types, prim_name):
    kinds = _listed(valid_types)
    names = kinds[0].__name__ if len(kinds) == 1 else f"one of {[k.__name__ for k in kinds]}"
    for value in values:
        if not _of_type(value, kinds):
            raise TypeError(
                f"{_whose(prim_name)} type of '{arg_name}' should be {names}, but got '{value}' with type '{type(value).__name__}'."
            )


def check_element_type_of_dict(arg_name, arg_value, key_types, value_types, prim_name=None):
    check_value_type(arg_name, arg_value, [dict], prim_name)
    _check_elements(arg_name, arg_value, key_types, prim_name)
    _check_elements(arg_name, arg_value.values(), value_types, prim_name)


def check_size_and_element_type_of_tuple(arg_name, arg_value, expect_size, expect_element_type, prim_name=None):
    check_value_type(arg_name, arg_value, [tuple], prim_name)
    check_equal_int(len(arg_value), expect_size, arg_name + " size", prim_name)
    check_element_type_of_iterable(arg_name, arg_value, [expect_element_type], prim_name)


def _sequence(check_one):
    def check(sequence, arg_name=None, prim_name=None):
        for i, value in enumerate(sequence):
            check_one(value, f"{arg_name or 'arg_name'}[{i}]", prim_name)
        return sequence

    check.__name__ = check.__qualname__ = check_one.__name__ + "_sequence"
    return check


check_positive_int_sequence, check_non_negative_int_sequence = (
    _sequence(check_positive_int),
    _sequence(check_non_negative_int),
)
check_positive_float_sequence = _sequence(check_positive_float)

_FILE_NAME = r"^[0-9a-zA-Z@\_\-\.\:\/\\]+$"


def check_file_name_by_regular(target, reg=None, prim_name=None):
    reg = _FILE_NAME if reg is None else reg
    if not re.match(reg, target):
        raise ValueError(f"{_whose(prim_name)} '{target}' is illegal, it must be match regular '{reg}'.")
    return True


def check_str_by_regular(target, reg=None, flag=re.ASCII, prim_name=None):
    reg = r"^\w+[0-9a-zA-Z\_\.]*$" if reg is None else reg
    if not re.match(reg, target, flag):
        raise ValueError(
            f"{_whose(prim_name)} '{target}' is illegal, it must be match regular'{reg}' by flags'{flag}.'"
        )
    return True


def check_str_and_none_by_regular(target, reg=None, flag=re.ASCII, prim_name=None):
    return check_str_by_regular(target, r"^\w*[0-9a-zA-Z\_\.\-]*$" if reg is None else reg, flag, prim_name)


def check_pad_value_by_mode(pad_mode, padding, prim_name):
    if pad_mode != "pad" and padding != 0:
        raise ValueError(f"For '{prim_name}', padding must be zero when pad_mode is '{pad_mode}', but got {padding}.")
    return padding


def check_input_format(input_param):
    if input_param == "NCHW":
        return input_param
    raise ValueError(f"The data format must be NCHW, but got {input_param}.")


def check_type_support(dtype, device, supported_dtypes):
    from pijit import get_context

    return dtype in supported_dtypes or get_context("device_target") != device


def check_axis_in_range(axis, ndim):
    if not isinstance(axis, int):
        raise TypeError(f"The axes must be integers, but got {type(axis)}")
    if not -ndim <= axis < ndim:
        raise ValueError(f"The 'axis' must be in the range of [{-ndim}, {ndim}), but got {axis}.")
    return axis % ndim


def check_and_canonicalize_axes(axes, ndim):
    axes = axes if isinstance(axes, (tuple, list)) else (axes,)
    return tuple(check_axis_in_range(a, ndim) for a in axes)


def check_axis_valid(axes, ndim):
    if axes is None:
        return tuple(range(ndim))
    axes = check_and_canonicalize_axes(axes, ndim)
    if len(set(axes)) < len(axes):
        raise ValueError(f"duplicate axis: {axes}")
    return axes


def check_axis_type(axis, type_int=True, type_tuple=True, type_list=True):
    kinds = (int,) * type_int + (tuple,) * type_tuple + (list,) * type_list
    if not isinstance(axis, kinds):
        raise TypeError(
            f"For Tensor.ptp, the axis should be {''.join(f'{k.__name__}, ' for k in kinds)}, but got {type(axis)}."
        )
    for a in axis if isinstance(axis, (tuple, list)) else ():
        if not isinstance(a, int):
            raise TypeError(f"For Tensor.ptp, the axis should be int, but got {type(a)}.")
    return True


def check_swapaxes_axis(axes, ndim):
    return (
        check_axis_in_range(axes, ndim) if isinstance(axes, int) else tuple(check_axis_in_range(a, ndim) for a in axes)
    )


def check_transpose_axis(axes, ndim):
    if not axes or axes == (None,):
        return tuple(reversed(range(ndim)))
    if len(axes) == 1 and isinstance(axes[0], (tuple, list)):
        axes = tuple(axes[0])
    if len(axes) != ndim:
        raise ValueError(
            f"For Tensor.transpose, the number of axes must be equal to the dimension of Tensor, but got {len(axes)} in the number of axes."
        )
    return tuple(axes)


def check_reshape_shp(shp):
    return tuple(shp[0]) if len(shp) == 1 and isinstance(shp[0], (tuple, list)) else shp


def check_flatten_order(order):
    if order not in ("C", "F"):
        raise ValueError(f"For Tensor.flatten, the parameter 'order' must be 'C' or 'F', but got '{order}'")


def check_astype_dtype(dtype):
    from pijit import dtype as mstype

    if isinstance(dtype, str):
        found = getattr(mstype, dtype.lower() + "_" * (dtype.lower() in ("int", "float", "bool")), None)
        if not isinstance(found, mstype.Type):
            raise TypeError(
                f"For Tensor.astype, the input type must be one of {sorted(n for n in dir(mstype) if n[0] != '_')}, but got '{dtype}'."
            )
        return found
    if dtype in (int, float, bool):
        return mstype.pytype_to_dtype(dtype)
    if not isinstance(dtype, mstype.Type):
        raise TypeError(
            f"For Tensor.astype, the input type must be one of {(*mstype.number_type, mstype.bool_)}, but got '{dtype}'."
        )
    return dtype


def infer_out_shape(*shapes):
    """The shape to which these broadcast."""
    out = []
    for dims in zip(*((1,) * (max(map(len, shapes)) - len(s)) + tuple(s) for s in shapes)):
        size = next((d for d in dims if d != 1), 1)
        if any(d not in (1, size) for d in dims):
            raise ValueError(
                f"For Tensor, the dimension on each axis must be 1 or the max value on the axis to support broadcasting, but got shapes {shapes}"
            )
        out.append(size)
    return tuple(out)


def prepare_shape_for_squeeze(shape, axes):
    if not isinstance(axes, (int, tuple, list)):
        raise TypeError(
            f"For Tensor.squeeze, the parameter 'axes' must be one of [int, tuple, list], but got {type(axes)}"
        )
    axes = check_and_canonicalize_axes(axes, len(shape))
    for a in axes:
        if shape[a] != 1:
            raise ValueError(f"For Tensor.squeeze, the shape of parameter 'axis' {axes} must be 1, but got {shape[a]}.")
    return tuple(d for i, d in enumerate(shape) if i not in axes)


def check_reduce_shape(ori_shape, shape, axis, prim_name, arg_name1, arg_name2):
    axes = {a % len(ori_shape) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))}
    kept = tuple(d for i, d in enumerate(ori_shape) if i not in axes)
    if tuple(shape) != kept:
        raise ValueError(
            f"For '{prim_name}', the shape of parameter '{arg_name1}' reduced on 'axis': {axis} must be equal to the shape of "
            f"'{arg_name2}': {tuple(shape)}, but got {tuple(ori_shape)}."
        )


def expanded_shape(ndim, axis_size, axis):
    axis = check_axis_in_range(axis, ndim)
    return tuple(axis_size if i == axis else 1 for i in range(ndim))


def tuple_slice(tup, start, end):
    return tup[start:end]


def max_(*args):
    return builtins.max(*args)


def min_(*args):
    return builtins.min(*args)


def is_stub_tensor(tensor):
    """False: results are tensors at once."""
    return False


def _repeated(n, sequence):
    def expand(m):
        if isinstance(m, (tuple, list)):
            if len(m) != n:
                what = "an sequence" if sequence else "an int number"
                raise TypeError(
                    f"When expanding {what} to tuple, input {'sequence' if sequence else 'tuple'} dimension must be {n}, but got {m}"
                )
            return tuple(m)
        if isinstance(m, bool) or not isinstance(m, int):
            raise TypeError(
                f"When expanding an int number to tuple, input type must be integer or tuple[int], but got {type(m)}"
            )
        return (m,) * n

    return expand


once, twice, triple = (_repeated(n, False) for n in (1, 2, 3))
once_sequence, twice_sequence, triple_sequence = (_repeated(n, True) for n in (1, 2, 3))


def check_input_data(*data, data_class):
    """Values, also in lists, tuples and dicts, of these classes, and not None."""
    for item in data:
        if isinstance(item, (list, tuple)):
            for x in item:
                check_input_data(x, data_class=data_class)
        elif isinstance(item, dict):
            for x in item.values():
                check_input_data(x, data_class=data_class)
        elif not isinstance(item, data_class):
            names = [c.__name__ if isinstance(c, type) else c for c in _listed(data_class)]
            raise TypeError(
                f"The types of input data must be in the Union({names}, tuple[{names}], list[{names}], dict[{names}]), "
                f"but got type {item if item is None else type(item).__name__}."
            )


def check_input_dataset(*dataset, dataset_type):
    return bool(dataset) and all(isinstance(d, dataset_type) for d in dataset)


def check_output_data(data):
    if data is None:
        raise RuntimeError("Executor return data can not be None.")


def check_hook_fn(hook_fn):
    if not callable(hook_fn):
        raise TypeError(
            f"When using 'hook_type(hook_fn)', the type of 'hook_fn' must be python function, but got {type(hook_fn)}."
        )
    return True


def args_type_check(*type_args, **type_kwargs):
    """Decorator: arguments of the function have to be instances of these, or its defaults. Methods are checked behind `self`."""

    def decorate(fn):
        signature = inspect.signature(fn)
        wanted = signature.bind_partial(*type_args, **type_kwargs).arguments

        @functools.wraps(fn)
        def checked(*args, **kwargs):
            for name, value in signature.bind(*args, **kwargs).arguments.items():
                if name in wanted and value is not None and not isinstance(value, wanted[name]):
                    raise TypeError(f"The parameter '{name}' must be {wanted[name]}, but got {type(value)}")
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
    def check_integer(arg_name, arg_value, value, rel, prim_name):
        """1.0's `check_int`."""
        return check_int(arg_value, value, rel, arg_name, prim_name)

    @staticmethod
    def check_type(arg_name, arg_value, valid_types):
        """1.0's `check_value_type`."""
        return check_value_type(arg_name, arg_value, valid_types)

    @staticmethod
    def get_typename(t):
        """The name of a class or kind."""
        return getattr(t, "__name__", str(t))

    @staticmethod
    def check_const_input(arg_name, arg_value, prim_name):
        """Raises ValueError for None: the value isn't known."""
        if arg_value is None:
            raise ValueError(f"{_whose(prim_name)} '{arg_name}' must be a constant value, but got {arg_value}.")
        return arg_value


for _name, _check in list(globals().items()):
    if (
        _name.startswith("check")
        and callable(_check)
        and not hasattr(Validator, _name)
        or _name in ("expanded_shape", "infer_out_shape", "prepare_shape_for_squeeze", "tuple_slice", "max_", "min_")
    ):
        setattr(
            Validator,
            _name,
            staticmethod(
                _any_order(_check) if _name in ("check_int", "check_int_range", "check_float_range") else _check
            ),
        )


def check_int_positive(arg_name, arg_value, op_name):
    """1.0's `check_positive_int`."""
    return check_positive_int(arg_value, arg_name, op_name)


check_type = Validator.check_type
