"""Primitives that hand values through and look at them: checks, dumps, Python functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit import _check, dtype as mstype
from pijit._C import Tensor
from pijit.ops import function as F
from pijit.ops.function.elementwise import _need_tensor
from pijit.ops.primitive import Primitive, primitive
from pijit.ops.primitive_arguments import _ints

if TYPE_CHECKING:
    from typing import Any


_ENUM = {n: k for k, n in zip((30, 32, 33, 34, 35, 37, 38, 39, 40, 42, 43, 44, 45),
                              "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
                              "bfloat16".split())}


@primitive
def DtypeToEnum(op_name, arg_name, dtype, /):
    """MindSpore's number of a dtype."""
    return _ENUM[dtype.name.lower()]


@primitive
def CheckNumerics(x, /):
    """x; RuntimeError where it holds NaN or infinities."""
    _need_tensor("CheckNumerics", "x", x)
    if not x.dtype.is_floating_point:
        raise _check.refused("CheckNumerics", "the input", _check.FLOATING, x.dtype)
    if not bool(F.all(F.isfinite(x))):
        raise RuntimeError(f"For 'CheckNumerics', the tensor has {'NaN' if bool(F.any(F.isnan(x))) else 'Inf'} values.")
    return x


@primitive
def FloatStatus(x, /):
    """[1] float32: 1 where x holds NaN or infinities, else 0."""
    return F.reshape(F.cast(F.logical_not(F.all(F.isfinite(x))), mstype.float32), (1,))


@primitive
def Assert(condition, input_data, /, summarize=3):
    """Raises RuntimeError where the condition is false.

    Prints the first `summarize` elements of each tensor of input_data before."""
    if not bool(condition):
        print("For 'Assert' condition is false.")
        for x in input_data:
            print("input data: [" + " ".join(f"{v:g}" if isinstance(v, float) else str(v)
                                             for v in _ints(x)[:summarize]) + "]")
        raise RuntimeError("assert failed")


@primitive
def PyFunc(inputs, /, fn, in_types, in_shapes, out_types, out_shapes, stateful=True):
    """fn, called with NumPy arrays; its results as a tuple of tensors of out_types."""
    given = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    result = fn(*(x.asnumpy() for x in given))
    return tuple(Tensor(np.asarray(r), t)
                 for r, t in zip(result if isinstance(result, (tuple, list)) else (result,), out_types))


class InsertGradientOf(Primitive):
    """Hands its input through; on the way back f gets the gradient, and gives the one that goes on."""

    def __init__(self, f: Any) -> None:
        super().__init__()
        if not callable(f):
            raise _check.refused("InsertGradientOf", "f", _check.FUNCTION, f)
        self.f = f

    def __call__(self, x: Tensor) -> Any:
        from pijit.grad import with_own_gradient
        def bprop(v, out, dout):
            return (self.f(dout),)
        return with_own_gradient(lambda v: v, bprop, "InsertGradientOf", (x,), {})


class DumpGradient(Primitive):
    """Hands x through; on the way back the gradient is saved, by TensorDump, under a name."""

    def __call__(self, path: str, x: Tensor, input_output: Any) -> Any:
        from pijit.grad import with_own_gradient

        def save(v, out, dout):
            TensorDump()(path, dout)
            return (dout,)
        return with_own_gradient(lambda v: v, save, "DumpGradient", (x,), {})


class TensorDump(Primitive):
    """Saves a tensor as `<file>_<dtype>_<number of the dump>.npy`."""

    def __init__(self, input_output: Any = None) -> None:
        super().__init__()
        self.input_output = input_output

    def __call__(self, file: Any, tensor: Tensor) -> None:
        F.tensordump(file, tensor)


class MoveTo(Primitive):
    """x: there is one device."""

    def __call__(self, input: Tensor, to: str = "CPU", blocking: bool = True) -> Tensor:
        return F.move_to(input, to, blocking)


__all__ = [n for n, v in globals().items() if isinstance(v, type) and v.__module__ == __name__]
