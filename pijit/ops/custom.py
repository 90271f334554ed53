"""Operators of a program's own: `ops.Custom` runs Python functions on NumPy arrays; registrations of kernels are kept as MindSpore describes them."""

import collections
import functools
import inspect

import numpy as np

from pijit import dtype as mstype
from pijit._C import Tensor
from pijit.grad import with_own_gradient
from pijit.ops.primitive import Primitive

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
        func_type (str): "pyfunc"; kernels of the other kinds ("hybrid", "akg", "tbe", "aicpu", "aot", "julia") raise when they are called.
        bprop (function, optional): the gradient, bprop(*inputs, out, dout). Default: None, there is none.
        reg_info (str, dict, list, optional): what CustomRegOp gives. Default: None.

    Raises:
        TypeError: where func, out_shape or out_dtype is of another kind, or func's result has another dtype.
        ValueError: for another func_type, or where func's result has another shape.
        NotImplementedError: when a kernel that is not Python's is called.
        RuntimeError: when a gradient is asked for and there is no bprop.

    Example:
        >>> double = ops.Custom(lambda x: x * 2, lambda s: s, lambda t: t, "pyfunc")
        >>> print(double(Tensor([1.0, 2.0])))
        [2. 4.]
    """

    def __init__(self, func, out_shape=None, out_dtype=None, func_type="pyfunc", bprop=None, reg_info=None):
        super().__init__("Custom")
        if func_type != "pyfunc" and func_type not in _KERNELS:
            raise ValueError(
                f"For 'Custom', 'func_type': {func_type}, 'func': {func}, 'func_type' must be one of "
                f"{['pyfunc', *_KERNELS]}, but got {func_type}"
            )
        if not callable(func) and not isinstance(func, str) or func_type == "pyfunc" and isinstance(func, str):
            raise TypeError(f"For 'Custom', 'func' must be of type function or str, but got {type(func)}")
        self.func, self.out_shape, self.out_dtype, self.func_type, self.bprop, self.reg_info = (
            func,
            out_shape,
            out_dtype,
            func_type,
            bprop,
            reg_info,
        )

    def _outputs(self, inputs):
        who = f"For 'Custom', 'func_type': {self.func_type}, 'func': {self.func}, "
        shapes, dtypes = self.out_shape, self.out_dtype
        if shapes is None or not callable(shapes) and not isinstance(shapes, (tuple, list)):
            raise TypeError(f"{who}'out_shape' must be one of [tuple, list, function], but got {type(shapes)}")
        if dtypes is None or not callable(dtypes) and not isinstance(dtypes, (tuple, list, mstype.Type)):
            raise TypeError(
                f"{who}'out_dtype' must be one of [mindspore.dtype, tuple, list, function], but got {type(dtypes)}"
            )
        if callable(shapes):
            shapes = shapes(*(list(x.shape) if isinstance(x, Tensor) else x for x in inputs))
        if callable(dtypes):
            dtypes = dtypes(*(x.dtype if isinstance(x, Tensor) else type(x) for x in inputs))
        shapes, one = _tuple_of(shapes, int)
        dtypes, _ = _tuple_of(dtypes, mstype.Type)
        return list(zip([tuple(s) for s in shapes], dtypes * len(shapes) if len(dtypes) < len(shapes) else dtypes)), one

    def _run(self, *inputs):
        outputs, one = self._outputs(inputs)
        results = self.func(*(x.asnumpy() if isinstance(x, Tensor) else x for x in inputs))
        results = results if isinstance(results, (tuple, list)) and not one else (results,)
        if len(results) != len(outputs):
            raise ValueError(
                f"For 'Custom', {self.func} gives {len(results)} results, but 'out_shape' names {len(outputs)}."
            )
        made = []
        for result, (shape, dtype) in zip(results, outputs):
            array = np.asarray(result, None if isinstance(result, np.ndarray) else mstype.dtype_to_nptype(dtype))
            if array.dtype != mstype.dtype_to_nptype(dtype):
                raise TypeError(
                    f"For 'Custom', a result of {self.func} has dtype {array.dtype}, but 'out_dtype' says {dtype}."
                )
            if array.shape != shape:
                raise ValueError(
                    f"For 'Custom', a result of {self.func} has shape {array.shape}, but 'out_shape' says {shape}."
                )
            made.append(Tensor(array, dtype))
        return made[0] if one else tuple(made)

    def _gradient(self, *args):
        if self.bprop is None:
            raise RuntimeError("Illegal primitive Custom's bprop not defined")
        return self.bprop(*args)

    def __call__(self, *inputs):
        if self.func_type != "pyfunc":
            raise NotImplementedError(
                f"For 'Custom', kernels of func_type {self.func_type!r} are not implemented by pijit. The nearest there is: "
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
    """A description of a kernel, put together by calls that give the object back; `get_op_info()` gives it as a dict."""

    _extra, _columns = (
        {},
        {"input": "index name paramType", "output": "index name paramType", "attr": "name paramType type value"},
    )

    def __init__(self, op_name=""):
        if not isinstance(op_name, str):
            raise ValueError("op name value must be string.")
        if not op_name.strip():
            raise ValueError("op name is empty.")
        self._info = {
            "op_name": op_name,
            "inputs": [],
            "outputs": [],
            "attr": [],
            "fusion_type": "",
            "dtype_format": [],
            **self._extra,
        }

    def _entry(self, table, column, values, more):
        names = self._columns[column].split()
        entry = {n: v for n, v in zip(names, values) if v is not None}
        self._info[table].append({**entry, **more})
        return self

    def fusion_type(self, fusion_type):
        """How the kernel may be fused."""
        self._info["fusion_type"] = fusion_type
        return self

    def dtype_format(self, *args):
        """The dtypes and layouts of inputs and outputs, members of DataType."""
        self._info["dtype_format"].append(tuple(args))
        return self

    def get_op_info(self):
        """The description as a dict."""
        return dict(self._info)

    def input(self, index=None, name=None, *values, **more):
        """Describes an input."""
        return self._entry("inputs", "input", (index, name, *values), more)

    def output(self, index=None, name=None, *values, **more):
        """Describes an output."""
        return self._entry("outputs", "output", (index, name, *values), more)

    def attr(self, name=None, *values, **more):
        """Describes an attribute."""
        return self._entry("attr", "attr", (name, *values), more)


class CustomRegOp(RegOp):
    """The description of a kernel of ops.Custom.

    Args:
        op_name (str): the operator's name. Default: "Custom".

    Raises:
        ValueError: where the name is empty or no str.

    Example:
        >>> info = ops.CustomRegOp("double").input(0, "x").output(0, "y").target("CPU").get_op_info()
        >>> print(info["inputs"], info["target"])
        [{'index': 0, 'name': 'x', 'paramType': 'required'}] CPU
    """

    def __init__(self, op_name="Custom"):
        super().__init__(op_name)
        self._info["target"] = ""

    def input(self, index=None, name=None, param_type="required", **more):
        """Describes an input."""
        return self._entry("inputs", "input", (index, name, param_type), more)

    def output(self, index=None, name=None, param_type="required", **more):
        """Describes an output."""
        return self._entry("outputs", "output", (index, name, param_type), more)

    def attr(self, name=None, param_type=None, value_type=None, default_value=None, **more):
        """Describes an attribute."""
        return self._entry("attr", "attr", (name, param_type, value_type, default_value), more)

    def target(self, target=None):
        """The device of the kernel."""
        self._info["target"] = target or ""
        return self


class CpuRegOp(RegOp):
    """The description of a kernel of MindSpore's library for the CPU: it is kept, no kernel follows from it."""

    _extra = {"imply_type": "CPU"}


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


def _setter(key):
    def set_value(self, value):
        self._info[key] = value
        return self

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
    "unknown_shape_formats": "unknown_shape_formats",
}.items():
    setattr(TBERegOp, _method, _setter(_key))


def op_info_register(op_info):  # noqa: ARG001
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


def custom_info_register(*reg_info):
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

        call.reg_info = reg_info[0] if len(reg_info) == 1 else list(reg_info)
        return call

    return keep


class VmImplRegistry(collections.UserDict):
    """Primitive → the function that computes it in Python: `register(primitive)` is a decorator of a function that takes the primitive and gives
    a function of the inputs."""

    def register(self, prim):
        """Decorator: a primitive's class, an instance or its name."""

        def add(fn):
            self[_name_of(prim)] = fn
            return fn

        return add


def _name_of(prim):
    return prim if isinstance(prim, str) else prim.__name__ if inspect.isclass(prim) else prim.name


vm_impl_registry = VmImplRegistry()


def get_vm_impl_fn(prim):
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


def run_registered(prim, inputs):
    """What `Primitive.__call__` does for a class that doesn't define it: runs the registered Python function.

    Raises NotImplementedError where there is none."""
    run = get_vm_impl_fn(prim)
    if run is None:
        raise NotImplementedError(
            f"For '{prim.name}', there is no kernel: pijit runs operators that it knows, ops.Custom(func_type=\"pyfunc\") and what is "
            "registered by vm_impl_registry.register."
        )
    return run(*inputs)
