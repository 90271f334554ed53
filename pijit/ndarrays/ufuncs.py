"""Rules of ufuncs: which ops compute the same of Tensors.

Dtypes are NumPy's own answer (`ufunc.resolve_dtypes`). What has no derivative anywhere (comparisons, floor, isnan) is
computed by NumPy itself, of the values, and gives plain arrays; only in a mapped function, where values differ, it is
an op."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pijit._C import ops as _ops
from pijit.grad import Stand
from pijit.ndarrays.numbers import (common_dtype, dtype_of, holds_recorded, local, no_rule, refused, tensor_dtype,
                                    tensor_of)
from pijit.ndarrays.recorded import Recorded

if TYPE_CHECKING:
    from typing import Any


def _op(name):
    op = _ops[name]
    return lambda *xs: op(*xs)


def _constant(x, value):
    """A number of x's dtype."""
    return _ops["cast"](value, x.dtype)


def _scaled(factor):
    return lambda x: _ops["mul"](x, _constant(x, factor))


def _logaddexp(a, b):
    same = _ops["equal"](a, b)  # infinities, too
    d = _ops["select"](same, _constant(a, 0.0), _ops["sub"](a, b))
    return _ops["add"](_ops["maximum"](a, b), _ops["log1p"](_ops["exp"](_ops["neg"](_ops["abs"](d)))))


def _logaddexp2(a, b):
    two = _constant(a, math.log(2.0))
    return _ops["div"](_logaddexp(_ops["mul"](a, two), _ops["mul"](b, two)), two)


def _copysign(a, b):
    below = _ops["less"](b, _constant(b, 0.0))
    return _ops["mul"](_ops["abs"](a), _ops["select"](below, _constant(a, -1.0), _constant(a, 1.0)))


def _but_nan(of):
    def rule(a, b):
        return _ops["select"](_ops["isnan"](a), b, _ops["select"](_ops["isnan"](b), a, _ops[of](a, b)))
    return rule


def _clip(x, low, high):
    return _ops["minimum"](_ops["maximum"](x, low), high)


def matmul(a, b):
    """The product of matrices, or of vectors; rank 0 is refused as NumPy does."""
    if not a.ndim or not b.ndim:
        raise ValueError("matmul: Input operand does not have enough dimensions (numpy.matmul takes no scalars)")
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise ValueError(f"matmul: Input operands have a mismatch in their core dimensions: {a.shape} and {b.shape}")
    left, right = a.ndim == 1, b.ndim == 1
    if left:
        a = _ops["reshape"](a, (1, *a.shape))
    if right:
        b = _ops["reshape"](b, (*b.shape, 1))
    y = _ops["matmul"](a, b)
    if left:
        y = _ops["reshape"](y, (*y.shape[:-2], y.shape[-1]))
    return _ops["reshape"](y, y.shape[:-1]) if right else y


def _vecdot(a, b):
    return _ops["reduce_sum"](_ops["mul"](a, b), -1, False)


def _power(a, b):
    return _ops["pow"](a, b)


# Of arguments with derivatives.
DERIVED: dict[Any, Any] = {
    np.add: _op("add"), np.subtract: _op("sub"), np.multiply: _op("mul"), np.true_divide: _op("div"),
    np.negative: _op("neg"), np.positive: _op("identity"), np.absolute: _op("abs"), np.fabs: _op("abs"),
    np.exp: _op("exp"), np.exp2: _op("exp2"), np.expm1: _op("expm1"), np.log: _op("log"), np.log2: _op("log2"),
    np.log10: _op("log10"), np.log1p: _op("log1p"), np.sqrt: _op("sqrt"), np.cbrt: _op("cbrt"),
    np.square: _op("square"), np.reciprocal: _op("reciprocal"), np.sin: _op("sin"), np.cos: _op("cos"),
    np.tan: _op("tan"), np.arcsin: _op("asin"), np.arccos: _op("acos"), np.arctan: _op("atan"), np.sinh: _op("sinh"),
    np.cosh: _op("cosh"), np.tanh: _op("tanh"), np.arcsinh: _op("asinh"), np.arccosh: _op("acosh"),
    np.arctanh: _op("atanh"), np.arctan2: _op("atan2"), np.hypot: _op("hypot"), np.maximum: _op("maximum"),
    np.minimum: _op("minimum"), np.power: _power,
    np.float_power: _power, np.remainder: _op("mod"), np.fmod: _op("fmod"), np.logaddexp: _logaddexp,
    np.logaddexp2: _logaddexp2, np.copysign: _copysign, np.deg2rad: _scaled(math.pi / 180),
    np.radians: _scaled(math.pi / 180), np.rad2deg: _scaled(180 / math.pi), np.degrees: _scaled(180 / math.pi),
    np.matmul: matmul, (getattr(np, "_core", None) or np.core).umath.clip: _clip,
}
DERIVED |= {getattr(np, f"f{name[:3]}"): _but_nan(name) for name in ("maximum", "minimum")}
if hasattr(np, "vecdot"):  # NumPy 2.1
    DERIVED[np.vecdot] = _vecdot
# Without a derivative: NumPy's own where values can be read, else an op, where there is one.
CONSTANT: dict[Any, Any] = {
    np.less: _op("less"), np.less_equal: _op("less_equal"), np.greater: _op("greater"),
    np.greater_equal: _op("greater_equal"), np.equal: _op("equal"), np.not_equal: _op("not_equal"),
    np.logical_and: _op("logical_and"), np.logical_or: _op("logical_or"), np.logical_xor: _op("logical_xor"),
    np.logical_not: _op("logical_not"), np.isnan: _op("isnan"), np.isinf: _op("isinf"), np.isfinite: _op("isfinite"),
    np.signbit: lambda x: _ops["less"](x, _constant(x, 0)), np.floor: _op("floor"), np.ceil: _op("ceil"),
    np.trunc: _op("trunc"), np.rint: _op("round"), np.sign: _op("sign"), np.floor_divide: _op("floor_div"),
    np.bitwise_and: _op("bitwise_and"), np.bitwise_or: _op("bitwise_or"), np.bitwise_xor: _op("bitwise_xor"),
    np.invert: _op("bitwise_not"), np.left_shift: _op("left_shift"), np.right_shift: _op("right_shift"),
    np.heaviside: lambda x, y: _ops["select"](_ops["equal"](x, _constant(x, 0)), y, _ops["select"](
        _ops["less"](x, _constant(x, 0)), _constant(x, 0), _constant(x, 1))),
}
_INSTEAD = {np.gcd: "", np.modf: "Use x - numpy.trunc(x)", np.nextafter: ""}


@lru_cache(maxsize=1024)
def _dtypes(ufunc, given):
    return ufunc.resolve_dtypes((*given, *(None,) * ufunc.nout))


def _value(x):
    return x.value if isinstance(x, Recorded) else x


def _operand(x):
    """An operand as rules take it: lists that hold recorded arrays become one."""
    if isinstance(x, (list, tuple)):
        return Recorded(tensor_of(x)) if holds_recorded(x) else np.asarray(x)
    return x


def call(ufunc: Any, method: str, inputs: Any, kwargs: Any) -> Any:
    """What NumPy calls for a ufunc, or a method of one, of recorded arrays."""
    name = ufunc.__name__
    out = kwargs.pop("out", None)
    if out is not None and any(o is not None for o in out):
        into = out[0]
        if method == "__call__" and len(out) == 1 and isinstance(into, Recorded):
            return _into(into, call(ufunc, method, inputs, kwargs))
        raise refused(name, "'out' must not be an ndarray", into,
                      "Write a new array: x = x + y in place of x += y, where x is a plain array and y is not.")
    inputs = [_operand(x) for x in inputs]
    if method == "__call__":
        return _elementwise(ufunc, inputs, **kwargs)
    from pijit.ndarrays import reductions
    if method == "reduce" and ufunc in reductions.REDUCED:
        kwargs.setdefault("axis", 0)
        return reductions.REDUCED[ufunc](*inputs, **kwargs)
    if method == "accumulate" and ufunc in reductions.ACCUMULATED:
        kwargs.setdefault("axis", 0)
        return reductions.ACCUMULATED[ufunc](*inputs, **kwargs)
    if method == "outer" and len(inputs) == 2:
        a, b = inputs
        a = np.reshape(a, (*np.shape(a), *(1,) * np.ndim(b)))
        return _elementwise(ufunc, [a, b], **kwargs)
    raise no_rule(f"{name}.{method}")


def _into(target, found):
    if np.shape(found) != target.shape or not np.can_cast(found.dtype, target.dtype, "same_kind"):
        raise refused("ufunc", f"'out' must have the result's shape {np.shape(found)} and a dtype that {found.dtype} "
                               f"may become", target)
    target.store(tensor_of(found, target.dtype))
    return target


def _elementwise(ufunc, inputs, where=True, dtype=None, casting="same_kind", order="K", subok=True):
    """A ufunc, called."""
    if where is not True:
        raise refused(ufunc.__name__, "'where' must not be given", where, "Use numpy.where.")
    if ufunc is np.divmod:
        return _elementwise(np.floor_divide, inputs), _elementwise(np.remainder, inputs)
    if ufunc is np.conjugate:
        x = inputs[0]
        return Recorded(_ops["conj"](x.tensor) if x.dtype.kind == "c" else x.tensor)
    given = [dtype_of(x) for x in inputs]
    if dtype is not None:
        given = [np.dtype(dtype)] * len(given)
    rule = CONSTANT.get(ufunc)
    if rule is not None:
        if not local.maps or not any(isinstance(x, Recorded) and x.is_mapped for x in inputs):
            return ufunc(*[_value(x) for x in inputs]) if dtype is None else ufunc(*[_value(x) for x in inputs],
                                                                                   dtype=dtype)
    else:
        rule = DERIVED.get(ufunc)
        if rule is None:
            raise no_rule(ufunc.__name__, _INSTEAD.get(ufunc, ""))
        if ufunc is np.power:
            small = _small_power(*inputs, given)
            if small is not None:
                return small
    found = _dtypes(ufunc, tuple(given))
    y = rule(*[tensor_of(x, d) for x, d in zip(inputs, found)])
    wanted = tensor_dtype(found[-1])
    return Recorded(y if y.dtype == wanted else _ops["cast"](y, wanted))


def _small_power(x, n, given):
    """x**n of a floating x by products, for a small whole number n: all its derivatives are right where x is 0. None
    for others."""
    if not isinstance(x, Recorded) or given[0].kind != "f" or isinstance(n, Stand):
        return None
    if type(n) not in (int, float):
        if given[1].kind not in "iuf" or common_dtype(x, n) != x.dtype:
            return None
        if np.ndim(n):
            none = np.asarray(n) == 0  # where the power is 1 whatever x is
            return np.power(np.where(none, np.ones((), x.dtype), x), Recorded(tensor_of(n))) if none.any() else None
        n = n.item()
    t = x.tensor
    if n == 0:
        return Recorded(tensor_of(np.ones(x.shape, x.dtype)))
    if n == 0.5:
        return Recorded(_ops["sqrt"](t))
    if n == -1:
        return Recorded(_ops["reciprocal"](t))
    if not 1 <= n <= 16 or n != int(n):
        return None
    n, found = int(n), None
    while n:
        if n & 1:
            found = t if found is None else _ops["mul"](found, t)
        n >>= 1
        if n:
            t = _ops["square"](t)
    return Recorded(found)
