"""Operators of a program's own: `ops.Custom` runs Python functions on NumPy arrays; registrations of kernels are kept
as MindSpore describes them."""

from __future__ import annotations

import collections
import functools
import inspect
from typing import TYPE_CHECKING

import numpy as np

from pijit import dtype as mstype
from pijit._C import Tensor
from pijit.grad import with_own_gradient
from pijit.ops.primitive import Primitive

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self

_KERNELS = ("hybrid", "akg", "tbe", "aicpu", "aot", "julia")


def _tuple_of(value, of_one):
    """(a tuple with a value for each output, whether there is one output alone)."""
    several = isinstance(value, (list, tuple)) and not (of_one is int and all(isinstance(v, int) for v in value))
    return tuple(value) if several else (value,), not several


class Custom(Primitive):
    """An operator that calls a Python function with NumPy arrays. It runs where it stands, and ends a graph.

    Args:
        func (function): gets one array for each input Tensor, gives one array or a tuple of arrays.
        out_shape (function, tuple): the outputs' shapes, or a function of the inputs' shapes that gives them.
        out_dtype (function, dtype, tuple): the outputs' dtypes, or a function of the inputs' dtypes that gives them.
        func_type (str): "pyfunc"; kernels of the other kinds ("hybrid", "akg", "tbe", "aicpu", "aot", "julia") raise
            when they are called.
        bprop (function, optional): the gradient, bprop(*inputs, out, dout). Default: None, there is none.
        reg_info (str, dict, list, optional): what CustomRegOp gives. Default: None.

    Raises:
        TypeError: if func, out_shape or out_dtype is of another kind, or func's result has another dtype.
        ValueError: for another func_type, or where func's result has another shape.
        NotImplementedError: when a kernel that is not Python's is called.
        RuntimeError: when a gradient is asked for and there is no bprop.

    Example:
        >>> double = ops.Custom(lambda x: x * 2, lambda s: s, lambda t: t, "pyfunc")
        >>> print(double(Tensor([1.0, 2.0])))
        [2. 4.]
    """

    func: Callable[..., Any]
    out_shape: Callable[..., Any]
    out_dtype: Any
    bprop: Callable[..., Any]
    reg_info: Any

    def __init__(self, func: Callable[..., Any], out_shape: Callable[..., Any] | tuple[Any, ...] | None = None,
                 out_dtype: Any = None, func_type: str = "pyfunc", bprop: Callable[..., Any] | None = None,
                 reg_info: str | dict[str, Any] | list[Any] | None = None) -> None:
        super().__init__("Custom")
        if func_type not in ("pyfunc", *_KERNELS):
            raise ValueError(f"Custom: there is no func_type {func_type!r}; there are pyfunc, {', '.join(_KERNELS)}.")
        wanted = {"pyfunc": "a function", "aot": "a str (file:function)"}.get(func_type, "a function or a str")
        if not (callable(func) and func_type != "aot" or isinstance(func, str) and func_type != "pyfunc"):
            raise TypeError(f"Custom: with func_type {func_type!r}, 'func' has to be {wanted}, not {func!r}.")
        self.func, self.out_shape, self.out_dtype, self.func_type, self.bprop, self.reg_info = (
            func,
            out_shape,
            out_dtype,
            func_type,
            bprop,
            reg_info,
        )

    def _outputs(self, inputs):
        shapes, dtypes = self.out_shape, self.out_dtype
        if not callable(shapes) and not isinstance(shapes, (tuple, list)):
            raise TypeError(
                f"Custom: 'out_shape' has to be a tuple, a list or a function that gives one, not {shapes!r}."
            )
        if not callable(dtypes) and not isinstance(dtypes, (tuple, list, mstype.Type)):
            raise TypeError(
                "Custom: 'out_dtype' has to be a dtype, a tuple or list of them, or a function that gives one, "
                f"not {dtypes!r}."
            )
        if callable(shapes):
            shapes = shapes(*(list(x.shape) if isinstance(x, Tensor) else x for x in inputs))
        if callable(dtypes):
            dtypes = dtypes(*(x.dtype if isinstance(x, Tensor) else type(x) for x in inputs))
        shapes, one = _tuple_of(shapes, int)
        dtypes, _ = _tuple_of(dtypes, mstype.Type)
        if len(shapes) != len(dtypes):
            raise ValueError(f"Custom: there are {len(shapes)} shapes of outputs, but {len(dtypes)} dtypes.")
        return list(zip(map(tuple, shapes), dtypes)), one

    def _run(self, *inputs):
        outputs, one = self._outputs(inputs)
        results = self.func(*(x.asnumpy() if isinstance(x, Tensor) else x for x in inputs))
        if not isinstance(results, tuple) and (one or not isinstance(results, list)):
            results = (results,)
        name = getattr(self.func, "__name__", self.func)
        if len(results) != len(outputs):
            raise ValueError(
                f"Custom: {name} gives {len(results)} results, but there are {len(outputs)} shapes of outputs."
            )
        made = []
        for result, (shape, dtype) in zip(results, outputs):
            if result is None:
                raise TypeError(f"Custom: {name} gives None, where 'out_shape' says {shape}.")
            array = np.asarray(result, None if isinstance(result, np.ndarray) else mstype.dtype_to_nptype(dtype))
            if array.dtype != mstype.dtype_to_nptype(dtype):
                raise TypeError(f"Custom: {name} gives an array of {array.dtype}, where 'out_dtype' says {dtype}.")
            if array.shape != shape:
                raise ValueError(
                    f"Custom: {name} gives an array of shape {array.shape}, where 'out_shape' says {shape}."
                )
            made.append(Tensor(array, dtype))
        return made[0] if one else tuple(made)

    def _gradient(self, *args):
        if self.bprop is None:
            raise RuntimeError(f"Custom: {self.func!r} has no gradient; 'bprop' can give it.")
        return self.bprop(*args)

    def __call__(self, *inputs: Any) -> Any:
        if self.func_type != "pyfunc":
            raise NotImplementedError(
                f"Custom: kernels of func_type {self.func_type!r} are not implemented by pijit. The nearest there is: "
                'func_type="pyfunc", or the operators that it is made of under mindspore.jit.'
            )
        return with_own_gradient(self._run, self._gradient, "Custom", inputs, {})


class DataType:
    """A dtype and the layout of a tensor, as registrations of kernels name them: (name of the dtype, layout)."""


_LAYOUTS = {
    "None": ("",),
    "Default": ("DefaultFormat",),
    "5HD": ("NC1HWC0",),
    "FracZ": ("FRACTAL_Z",),
    "FracNZ": ("FRACTAL_NZ",),
    "C1HWNCoC0": ("C1HWNCoC0",),
    "NCHW": ("NCHW",),
    "NHWC": ("NHWC",),
    "HWCN": ("HWCN",),
    "NDHWC": ("NDHWC",),
    "NCDHW": ("NCDHW",),
    "DHWCN": ("DHWCN",),
    "NDC1HWC0": ("NDC1HWC0",),
    "NC1HWC0": ("NC1HWC0",),
    "FRACTAL_Z_3D": ("FRACTAL_Z_3D",),
    "FracZNLSTM": ("FRACTAL_ZN_LSTM",),
    "FracZNRNN": ("FRACTAL_ZN_RNN",),
    "ND_RNNBIAS": ("ND_RNN_BIAS",),
    "ChannelLast": ("ChannelLast",),
    "Default_Tuple": ("DefaultFormat", "tuple"),
    "Default_List": ("DefaultFormat", "list"),
}
_DTYPES = {
    "None": "",
    "BOOL": "bool",
    **{f"I{n}": f"int{n}" for n in (8, 16, 32, 64)},
    **{f"U{n}": f"uint{n}" for n in (8, 16, 32, 64)},
    "F16": "float16",
    "F32": "float32",
    "F64": "float64",
    "BF16": "bfloat16",
    "C64": "complex64",
    "C128": "complex128",
}
for _short, _name in _DTYPES.items():
    for _layout, _rest in _LAYOUTS.items():
        setattr(DataType, f"{_short}_{_layout}", (_name, *_rest))


class RegOp:
    """A description of a kernel, put together by calls that give the object back; `get_op_info()` gives it as a
    dict."""

    # of each table the names of an entry's values; a value is a str, but for those of _KINDS
    _extra, _columns = (
        {},
        {"input": "index name paramType", "output": "index name paramType", "attr": "name paramType type value"},
    )

    def __init__(self, op_name: str = "") -> None:
        if not isinstance(op_name, str) or not op_name.strip():
            raise ValueError(
                f"{type(self).__name__}: 'op_name' has to be a str that names the operator, not {op_name!r}."
            )
        self._info = {
            "op_name": op_name,
            "inputs": [],
            "outputs": [],
            "attr": [],
            "fusion_type": "",
            "dtype_format": [],
            **self._extra,
        }

    def _checked(self, name, value):
        kind = _KINDS.get(name, str)
        if not isinstance(value, kind):
            raise TypeError(f"{type(self).__name__}: {name!r} has to be {kind.__name__}, not {value!r}.")
        return value

    def _entry(self, table, column, values, more):
        names = self._columns[column].split()
        if len(values) > len(names):
            raise TypeError(f"{type(self).__name__}: {column} takes {len(names)} values, but {len(values)} were given.")
        given = {**{n: v for n, v in zip(names, values) if v is not None}, **more}
        self._info[table].append({n: self._checked(n, v) for n, v in given.items()})
        return self

    def _set(self, key, value):
        self._info[key] = self._checked(key, value)
        return self

    def fusion_type(self, fusion_type: Any) -> Self:
        """How the kernel may be fused."""
        return self._set("fusion_type", fusion_type)

    def dtype_format(self, *args: Any) -> Self:
        """The dtypes and layouts of all inputs and outputs, members of DataType. ValueError for another number, or for
        what is none."""
        wanted = len(self._info["inputs"]) + len(self._info["outputs"])
        if len(args) != wanted or not all(isinstance(a, tuple) and len(a) in (2, 3) for a in args):
            raise ValueError(
                f"{type(self).__name__}: 'dtype_format' takes a DataType for each of the {wanted} inputs and outputs, "
                f"not {args}."
            )
        self._info["dtype_format"].append(tuple(args))
        return self

    def get_op_info(self) -> dict[Any, Any]:
        """The description as a dict."""
        return dict(self._info)

    def input(self, index: Any = None, name: str | None = None, *values: Any, **more: Any) -> Self:
        """Describes an input."""
        return self._entry("inputs", "input", (index, name, *values), more)

    def output(self, index: Any = None, name: str | None = None, *values: Any, **more: Any) -> Self:
        """Describes an output."""
        return self._entry("outputs", "output", (index, name, *values), more)

    def attr(self, name: str | None = None, *values: Any, **more: Any) -> Self:
        """Describes an attribute."""
        return self._entry("attr", "attr", (name, *values), more)


_KINDS = {
    "index": int,
    "compute_cost": int,
    **dict.fromkeys("needCompile need_compile async_flag partial_flag needCheckSupport dynamicFormat".split(), bool),
    **dict.fromkeys("dynamicRankSupport dynamicShapeSupport dynamicCompileStatic".split(), bool),
    **dict.fromkeys("real_input_index input_to_attr_index unknown_shape_formats".split(), list),
}


class CustomRegOp(RegOp):
    """The description of a kernel of ops.Custom.

    Args:
        op_name (str): the operator's name. Default: "Custom".

    Raises:
        ValueError: if the name is empty or no str.

    Example:
        >>> info = ops.CustomRegOp("double").input(0, "x").output(0, "y").target("CPU").get_op_info()
        >>> print(info["inputs"], info["target"])
        [{'index': 0, 'name': 'x', 'paramType': 'required'}] CPU
    """

    _extra, _columns = {"target": "UnKnown"}, {**RegOp._columns, "attr": "name paramType type defaultValue"}

    def __init__(self, op_name: str = "Custom") -> None:
        super().__init__(op_name)

    def input(self, index: Any = None, name: str | None = None, param_type: str = "required", **more: Any) -> Self:
        """Describes an input."""
        return super().input(index, name, param_type, **more)

    def output(self, index: Any = None, name: str | None = None, param_type: str = "required", **more: Any) -> Self:
        """Describes an output."""
        return super().output(index, name, param_type, **more)

    def attr(self, name: str | None = None, param_type: Any = None, value_type: Any = None, default_value: Any = None,
             **more: Any) -> Self:
        """Describes an attribute."""
        return super().attr(name, param_type, value_type, default_value, **more)

    def target(self, target: Tensor | None = None) -> Self:
        """The device of the kernel."""
        return self._set("target", target)


class CpuRegOp(RegOp):
    """The description of a kernel of MindSpore's library for the CPU: it is kept, no kernel follows from it."""

    _extra, _columns = {"imply_type": "CPU"}, {**RegOp._columns, "attr": "name type value"}


class AiCPURegOp(RegOp):
    """The description of a kernel of AiCPU: it is kept, no kernel follows from it."""

    _extra, _columns = {"imply_type": "AiCPU"}, {**RegOp._columns, "attr": "name type value"}


class AkgGpuRegOp(RegOp):
    """The description of an AKG kernel: it is kept, no kernel follows from it."""

    _extra, _columns = {"imply_type": "AKG", "processor": "CUDA"}, {**RegOp._columns, "attr": "name paramType type"}


class AkgAscendRegOp(AkgGpuRegOp):
    """The description of an AKG kernel: it is kept, no kernel follows from it."""

    _extra = {"imply_type": "AKG", "processor": "AiCore"}


class AkgCpuRegOp(AkgGpuRegOp):
    """The description of an AKG kernel: it is kept, no kernel follows from it."""

    _extra = {"imply_type": "AKG", "processor": "CPU"}


class TBERegOp(RegOp):
    """The description of a TBE kernel: it is kept, no kernel follows from it."""

    _extra = {
        "imply_type": "TBE",
        "async_flag": False,
        "binfile": "",
        "compute_cost": 10,
        "kernel": "",
        "partial_flag": False,
        "reshape_type": "",
        "dynamicRankSupport": False,
        "dynamicShapeSupport": False,
        "dynamicCompileStatic": False,
        "needCheckSupport": False,
        "dynamicFormat": False,
        "op_pattern": "",
        "real_input_index": [],
        "input_to_attr_index": [],
        "unknown_shape_formats": [],
    }
    _columns = {
        "input": "index name needCompile paramType shape valueDepend",
        "output": "index name need_compile paramType shape",
        "attr": "name paramType type value defaultValue",
    }

    def unknown_shape_formats(self, unknown_shape_formats: Any) -> Self:
        """Adds a list of layouts to the description."""
        self._info["unknown_shape_formats"] = [
            *self._info["unknown_shape_formats"],
            self._checked("unknown_shape_formats", unknown_shape_formats),
        ]
        return self


def _setter(key):
    def set_value(self, value):
        return self._set(key, value)

    set_value.__doc__ = f"Sets {key!r} of the description."
    return set_value


for _method, _key in {
    "async_flag": "async_flag",
    "binfile_name": "binfile",
    "compute_cost": "compute_cost",
    "kernel_name": "kernel",
    "partial_flag": "partial_flag",
    "reshape_type": "reshape_type",
    "dynamic_rank_support": "dynamicRankSupport",
    "dynamic_shape": "dynamicShapeSupport",
    "dynamic_compile_static": "dynamicCompileStatic",
    "op_pattern": "op_pattern",
    "need_check_supported": "needCheckSupport",
    "is_dynamic_format": "dynamicFormat",
    "real_input_index": "real_input_index",
    "input_to_attr_index": "input_to_attr_index",
}.items():
    setattr(TBERegOp, _method, _setter(_key))


def op_info_register(op_info: str | dict[str, Any]) -> Callable[..., Any]:
    """Decorator of a kernel for other devices. The function stays as it is: pijit has kernels of its own.

    Args:
        op_info (str, dict): what a RegOp gives.

    Returns:
        A decorator.

    Example:
        >>> ops.op_info_register({"op_name": "f"})(abs)(-3)
        3
    """
    return lambda kernel: kernel


def custom_info_register(*reg_info: Any) -> Callable[..., Any]:
    """Decorator that keeps descriptions of a kernel with the function that ops.Custom gets.

    Args:
        reg_info (dict): what CustomRegOp gives.

    Returns:
        A decorator.

    Example:
        >>> info = ops.CustomRegOp("double").target("CPU").get_op_info()
        >>> ops.custom_info_register(info)(lambda x: x * 2)(3)
        6
    """

    def keep(func):
        @functools.wraps(func)
        def call(*args, **kwargs):
            return func(*args, **kwargs)

        call.reg_info = reg_info
        return call

    return keep


class VmImplRegistry(collections.UserDict):
    """Primitive → the function that computes it in Python: `register(primitive)` is a decorator of a function that
    takes the primitive and gives a function of the inputs."""

    def register(self, prim: Any) -> Any:
        """Decorator: a primitive's class, an instance or its name."""

        def add(fn):
            self[_name_of(prim)] = fn
            return fn

        return add


def _name_of(prim):
    return prim if isinstance(prim, str) else prim.__name__ if inspect.isclass(prim) else prim.name


vm_impl_registry: VmImplRegistry = VmImplRegistry()


def get_vm_impl_fn(prim: Primitive | str) -> Callable[..., Any] | None:
    """What was registered for a primitive, made for it, or None.

    Args:
        prim (Primitive, str): the primitive or its name.

    Returns:
        A function of the primitive's inputs, or None.

    Example:
        >>> print(ops.get_vm_impl_fn("NoSuchOperator"))
        None
    """
    make = vm_impl_registry.get(_name_of(prim))
    return make(prim) if make is not None else None


def run_registered(prim: Any, inputs: Any) -> Any:
    """What `Primitive.__call__` does for a class that doesn't define it: runs the registered Python function.

    Raises NotImplementedError where there is none."""
    run = get_vm_impl_fn(prim)
    if run is None:
        raise NotImplementedError(
            f"For '{prim.name}', there is no kernel: pijit runs operators that it knows, "
            f"ops.Custom(func_type=\"pyfunc\") and what is "
            "registered by vm_impl_registry.register."
        )
    return run(*inputs)
