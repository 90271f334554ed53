"""One op each: arithmetic, comparison, logic, elementary functions."""

from pijit._C import ops as _ops

add, sub, mul, div = _ops["add"], _ops["sub"], _ops["mul"], _ops["div"]
subtract, multiply, divide, true_divide, realdiv = sub, mul, div, div, div
floor_divide = floor_div = floordiv = _ops["floor_div"]
mod = floor_mod = floormod = remainder = _ops["mod"]
fmod, pow, atan2, arctan2, hypot = _ops["fmod"], _ops["pow"], _ops["atan2"], _ops["atan2"], _ops["hypot"]
maximum, minimum = _ops["maximum"], _ops["minimum"]
neg, negative, abs, absolute, sign, sgn = _ops["neg"], _ops["neg"], _ops["abs"], _ops["abs"], _ops["sign"], _ops["sign"]
square, sqrt, rsqrt, reciprocal, cbrt = _ops["square"], _ops["sqrt"], _ops["rsqrt"], _ops["reciprocal"], _ops["cbrt"]
exp, exp2, expm1, log, log2, log10, log1p = (_ops[k] for k in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p"))
sin, cos, tan, asin, acos, atan = (_ops[k] for k in ("sin", "cos", "tan", "asin", "acos", "atan"))
arcsin, arccos, arctan = asin, acos, atan
sinh, cosh, tanh, asinh, acosh, atanh = (_ops[k] for k in ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"))
arcsinh, arccosh, arctanh = asinh, acosh, atanh
erf, erfc, lgamma, digamma = _ops["erf"], _ops["erfc"], _ops["lgamma"], _ops["digamma"]
floor, ceil, trunc, round = _ops["floor"], _ops["ceil"], _ops["trunc"], _ops["round"]
equal = eq = _ops["equal"]
not_equal = ne = _ops["not_equal"]
less = lt = _ops["less"]
less_equal = le = _ops["less_equal"]
greater = gt = _ops["greater"]
greater_equal = ge = _ops["greater_equal"]
logical_and, logical_or, logical_xor, logical_not = (_ops["logical_" + k] for k in ("and", "or", "xor", "not"))
bitwise_and, bitwise_or, bitwise_xor, bitwise_not = (_ops["bitwise_" + k] for k in ("and", "or", "xor", "not"))
invert = bitwise_not
bitwise_left_shift, bitwise_right_shift = _ops["left_shift"], _ops["right_shift"]
isnan, isinf, isfinite = _ops["isnan"], _ops["isinf"], _ops["isfinite"]
relu, relu6, sigmoid, silu, softplus_ = _ops["relu"], _ops["relu6"], _ops["sigmoid"], _ops["silu"], _ops["softplus"]
stop_gradient = _ops["stop_gradient"]
select = _ops["select"]
where = _ops["select"]


def sinc(input):
    """sin(pi x) / (pi x), 1 at 0; integers give float32."""
    x = input * 3.141592653589793
    zero = x == 0
    safe = select(zero, 1.0, x)
    return select(zero, 1.0, sin(safe) / safe)


def cast(input, dtype):
    """Elements converted to `dtype`."""
    return _ops["cast"](input, dtype)
