"""What `help` and `inspect.signature` say of operators that are objects of the extension: elementwise functions,
mostly.

Other operators than these have the names of their inputs in `pijit._C`. Binary ones take Tensors and numbers that
broadcast; the result's dtype is the one that both are promoted to: a Python number doesn't make a Tensor's dtype wider,
but for its kind."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_ONE, _TWO = "(input)", "(input, other)"
_BROADCAST = (
    "\n\ninput, other: Tensors or numbers, at least one of them a Tensor, of shapes that broadcast. Returns a Tensor "
    "of the common shape and dtype. Raises "
              "TypeError for\nother types, ValueError for shapes that don't broadcast.")
_COMPARE = (
    "\n\ninput, other: Tensors or numbers, at least one of them a Tensor, of shapes that broadcast. Returns a bool "
    "Tensor of the common shape. Raises TypeError\n"
            "for other types, ValueError for shapes that don't broadcast.")
_FLOATING = (
    "\n\ninput: a Tensor of any number dtype; ints are computed as float32. Returns a Tensor of its shape. Raises "
    "TypeError for anything else.")
_KEEPS = (
    "\n\ninput: a Tensor of a number dtype. Returns a Tensor of its shape and dtype. Raises TypeError for anything "
    "else.")
_TESTS = "\n\ninput: a Tensor. Returns a bool Tensor of its shape. Raises TypeError for anything else."
_BITS = (
    "\n\ninput, other: Tensors of ints or bools (other may be a number) of shapes that broadcast. Returns a Tensor of "
    "the common shape and dtype. Raises TypeError "
         "for floating\ndtypes.")

# name: (signature, what it does, the rest)
_TABLE = {
    "add": (_TWO, "The sum: input + other. Of two bools the logical or.", _BROADCAST),
    "sub": (_TWO, "The difference: input - other.", _BROADCAST),
    "mul": (_TWO, "The product: input * other. Of two bools the logical and.", _BROADCAST),
    "div": (_TWO, "The quotient input / other, floating also of ints; of a number by 0 infinite or NaN.", _BROADCAST),
    "floor_div": (_TWO, "The quotient, rounded down: floor(input / other). Of ints by 0 without meaning.", _BROADCAST),
    "mod": (_TWO, "The remainder of the quotient that is rounded down: it has the sign of other, as Python's %.",
            _BROADCAST),
    "fmod": (_TWO, "The remainder of the quotient that is rounded towards 0: it has the sign of input, as C's fmod.",
             _BROADCAST),
    "pow": ("(input, exponent)",
            "input to the power of exponent; NaN where a negative number has an exponent that isn't whole.",
            _BROADCAST.replace("input, other", "input, exponent")),
    "atan2": (_TWO, "The angle, in radians, between the axis of other and the point (other, input), in [-pi, pi].",
              _BROADCAST),
    "hypot": (_TWO, "sqrt(input^2 + other^2), without overflow on the way.", _BROADCAST),
    "maximum": (
        _TWO, "The greater of both, elementwise; NaN where one is NaN. The gradient goes to the greater, to input "
              "where they are equal.", _BROADCAST),
    "minimum": (
        _TWO, "The lesser of both, elementwise; NaN where one is NaN. The gradient goes to the lesser, to input where "
              "they are equal.", _BROADCAST),
    "neg": (_ONE, "-input.", _KEEPS),
    "abs": (_ONE, "The absolute value. Its gradient at 0 is 0. Of complex numbers it is complex as well, as MindSpore "
                  "has it: ops.real of it is the number.", _KEEPS),
    "sign": (_ONE, "-1, 0 or 1, as input is less than 0, 0, or greater.", _KEEPS),
    "square": (_ONE, "input * input.", _KEEPS),
    "sqrt": (_ONE, "The square root; NaN of numbers below 0.", _FLOATING),
    "rsqrt": (_ONE, "1 / sqrt(input); infinite at 0, NaN below.", _FLOATING),
    "reciprocal": (_ONE, "1 / input; infinite at 0.", _FLOATING),
    "cbrt": (_ONE, "The cube root, of negative numbers too.", _FLOATING),
    "exp": (_ONE, "e to the power of input.", _FLOATING),
    "exp2": (_ONE, "2 to the power of input.", _FLOATING),
    "expm1": (_ONE, "exp(input) - 1, exact for small input.", _FLOATING),
    "log": (_ONE, "The natural logarithm; minus infinity at 0, NaN below.", _FLOATING),
    "log2": (_ONE, "The logarithm to the base 2; minus infinity at 0, NaN below.", _FLOATING),
    "log10": (_ONE, "The logarithm to the base 10; minus infinity at 0, NaN below.", _FLOATING),
    "log1p": (_ONE, "log(1 + input), exact for small input; minus infinity at -1, NaN below.", _FLOATING),
    "sin": (_ONE, "The sine of radians.", _FLOATING),
    "cos": (_ONE, "The cosine of radians.", _FLOATING),
    "tan": (_ONE, "The tangent of radians.", _FLOATING),
    "asin": (_ONE, "The inverse sine, in [-pi/2, pi/2]; NaN outside of [-1, 1].", _FLOATING),
    "acos": (_ONE, "The inverse cosine, in [0, pi]; NaN outside of [-1, 1].", _FLOATING),
    "atan": (_ONE, "The inverse tangent, in [-pi/2, pi/2].", _FLOATING),
    "sinh": (_ONE, "The hyperbolic sine.", _FLOATING),
    "cosh": (_ONE, "The hyperbolic cosine.", _FLOATING),
    "tanh": (_ONE, "The hyperbolic tangent, in [-1, 1].", _FLOATING),
    "asinh": (_ONE, "The inverse hyperbolic sine.", _FLOATING),
    "acosh": (_ONE, "The inverse hyperbolic cosine, from 0 on; NaN of numbers below 1.", _FLOATING),
    "atanh": (_ONE, "The inverse hyperbolic tangent; infinite at -1 and 1, NaN outside.", _FLOATING),
    "erf": (_ONE, "The error function: 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to input.", _FLOATING),
    "erfc": (_ONE, "1 - erf(input), exact for large input.", _FLOATING),
    "erfcx": (_ONE, "exp(input^2) * erfc(input), for large input about 1 / (sqrt(pi) input).", _FLOATING),
    "lgamma": (_ONE, "log |gamma(input)|; infinite at 0 and negative whole numbers.", _FLOATING),
    "digamma": (_ONE, "The derivative of lgamma; NaN at negative whole numbers.", _FLOATING),
    "floor": (_ONE, "The greatest whole number that isn't above input. The gradient is 0.", _KEEPS),
    "ceil": (_ONE, "The least whole number that isn't below input. The gradient is 0.", _KEEPS),
    "trunc": (_ONE, "input without what is behind its decimal point. The gradient is 0.", _KEEPS),
    "equal": (_TWO, "Where both are equal; NaN equals nothing.", _COMPARE),
    "not_equal": (_TWO, "Where both differ; NaN differs from all.", _COMPARE),
    "less": (_TWO, "Where input < other.", _COMPARE),
    "less_equal": (_TWO, "Where input <= other.", _COMPARE),
    "greater": (_TWO, "Where input > other.", _COMPARE),
    "greater_equal": (_TWO, "Where input >= other.", _COMPARE),
    "logical_and": (_TWO, "Where both are true; numbers are where they aren't 0.", _COMPARE),
    "logical_or": (_TWO, "Where one or both are true; numbers are where they aren't 0.", _COMPARE),
    "logical_xor": (_TWO, "Where exactly one is true; numbers are where they aren't 0.", _COMPARE),
    "logical_not": (_ONE, "Where input is false; numbers are where they are 0.", _TESTS),
    "bitwise_and": (_TWO, "The bits that both have.", _BITS),
    "bitwise_or": (_TWO, "The bits that one or both have.", _BITS),
    "bitwise_xor": (_TWO, "The bits that exactly one has.", _BITS),
    "bitwise_not": (_ONE, "The bits that input doesn't have; of a bool its opposite.",
                    "\n\ninput: a Tensor of ints or bools. Returns a Tensor of its shape and dtype. Raises TypeError "
                    "for "
                    "floating dtypes."),
    "left_shift": (_TWO, "The bits moved up by other places: input * 2^other.", _BITS),
    "right_shift": (_TWO, "The bits moved down by other places: floor(input / 2^other).", _BITS),
    "isnan": (_ONE, "Where input is NaN.", _TESTS),
    "isinf": (_ONE, "Where input is infinite, of either sign.", _TESTS),
    "isfinite": (_ONE, "Where input is neither infinite nor NaN.", _TESTS),
    "relu6": (_ONE, "input limited to [0, 6].", _KEEPS),
    "sigmoid": (_ONE, "1 / (1 + exp(-input)), in [0, 1].", _FLOATING),
    "silu": (_ONE, "input * sigmoid(input), also named swish.", _FLOATING),
    "select": ("(condition, input, other)", "input where the condition is true, other elsewhere.",
               "\n\ncondition: a bool Tensor; input, other: Tensors or numbers; all broadcast. Returns a Tensor of "
               "the common shape and of the dtype of both. Gradients "
               "go to the one that\nwas taken. Raises TypeError for another condition, ValueError for shapes that "
               "don't broadcast."),
}


# name: (a call, what it prints)
_EXAMPLES = {
    "add": ("ops.add(Tensor([1.0, 5.0]), Tensor([3.0, 2.0]))", "[4. 7.]"),
    "sub": ("ops.sub(Tensor([1.0, 5.0]), Tensor([3.0, 2.0]))", "[-2.  3.]"),
    "mul": ("ops.mul(Tensor([1.0, 5.0]), Tensor([3.0, 2.0]))", "[ 3. 10.]"),
    "div": ("ops.div(Tensor([1, 3]), 2)", "[0.5 1.5]"),
    "floor_div": ("ops.floor_div(Tensor([7, -7]), 2)", "[ 3 -4]"),
    "mod": ("ops.mod(Tensor([7, -7]), 3)", "[1 2]"),
    "fmod": ("ops.fmod(Tensor([7.0, -7.0]), 3)", "[ 1. -1.]"),
    "pow": ("ops.pow(Tensor([2.0, 3.0]), 2)", "[4. 9.]"),
    "atan2": ("ops.atan2(Tensor([1.0, 0.0]), Tensor([0.0, -1.0]))", "[1.5707964 3.1415927]"),
    "hypot": ("ops.hypot(Tensor([3.0]), Tensor([4.0]))", "[5.]"),
    "maximum": ("ops.maximum(Tensor([1.0, 5.0]), Tensor([3.0, 2.0]))", "[3. 5.]"),
    "minimum": ("ops.minimum(Tensor([1.0, 5.0]), Tensor([3.0, 2.0]))", "[1. 2.]"),
    "neg": ("ops.neg(Tensor([-2.0, 3.0]))", "[ 2. -3.]"),
    "abs": ("ops.abs(Tensor([-2.0, 3.0]))", "[2. 3.]"),
    "sign": ("ops.sign(Tensor([-2.0, 0.0, 3.0]))", "[-1.  0.  1.]"),
    "square": ("ops.square(Tensor([-2.0, 3.0]))", "[4. 9.]"),
    "sqrt": ("ops.sqrt(Tensor([4.0, 9.0]))", "[2. 3.]"),
    "rsqrt": ("ops.rsqrt(Tensor([4.0, 16.0]))", "[0.5  0.25]"),
    "reciprocal": ("ops.reciprocal(Tensor([2.0, 4.0]))", "[0.5  0.25]"),
    "cbrt": ("ops.cbrt(Tensor([8.0, -27.0]))", "[ 2. -3.]"),
    "exp": ("ops.exp(Tensor([0.0, 0.5]))", "[1.        1.6487212]"),
    "exp2": ("ops.exp2(Tensor([0.0, 0.5]))", "[1.        1.4142135]"),
    "expm1": ("ops.expm1(Tensor([0.0, 0.5]))", "[0.        0.6487213]"),
    "log": ("ops.log(Tensor([1.0, 2.0]))", "[0.        0.6931472]"),
    "log2": ("ops.log2(Tensor([1.0, 8.0]))", "[0. 3.]"),
    "log10": ("ops.log10(Tensor([1.0, 100.0]))", "[0. 2.]"),
    "log1p": ("ops.log1p(Tensor([0.0, 0.5]))", "[0.        0.4054651]"),
    "sin": ("ops.sin(Tensor([0.0, 0.5]))", "[0.         0.47942555]"),
    "cos": ("ops.cos(Tensor([0.0, 0.5]))", "[1.         0.87758255]"),
    "tan": ("ops.tan(Tensor([0.0, 0.5]))", "[0.        0.5463025]"),
    "asin": ("ops.asin(Tensor([0.0, 0.5]))", "[0.        0.5235988]"),
    "acos": ("ops.acos(Tensor([0.0, 0.5]))", "[1.5707964 1.0471976]"),
    "atan": ("ops.atan(Tensor([0.0, 0.5]))", "[0.        0.4636476]"),
    "sinh": ("ops.sinh(Tensor([0.0, 0.5]))", "[0.        0.5210953]"),
    "cosh": ("ops.cosh(Tensor([0.0, 0.5]))", "[1.       1.127626]"),
    "tanh": ("ops.tanh(Tensor([0.0, 0.5]))", "[0.         0.46211717]"),
    "asinh": ("ops.asinh(Tensor([0.0, 0.5]))", "[0.        0.4812118]"),
    "acosh": ("ops.acosh(Tensor([1.0, 2.0]))", "[0.       1.316958]"),
    "atanh": ("ops.atanh(Tensor([0.0, 0.5]))", "[0.         0.54930615]"),
    "erf": ("ops.erf(Tensor([0.0, 0.5]))", "[0.        0.5204999]"),
    "erfc": ("ops.erfc(Tensor([0.0, 0.5]))", "[1.         0.47950011]"),
    "erfcx": ("ops.erfcx(Tensor([0.0, 20.0]))", "[1.         0.02817435]"),
    "lgamma": ("ops.lgamma(Tensor([1.0, 4.0]))", "[0.        1.7917595]"),
    "digamma": ("ops.digamma(Tensor([1.0, 4.0]))", "[-0.5772157  1.2561177]"),
    "floor": ("ops.floor(Tensor([-1.5, 2.5]))", "[-2.  2.]"),
    "ceil": ("ops.ceil(Tensor([-1.5, 2.5]))", "[-1.  3.]"),
    "trunc": ("ops.trunc(Tensor([-1.5, 2.5]))", "[-1.  2.]"),
    "equal": ("ops.equal(Tensor([1.0, 5.0]), Tensor([3.0, 2.0]))", "[False False]"),
    "not_equal": ("ops.not_equal(Tensor([1.0, 5.0]), Tensor([3.0, 2.0]))", "[ True  True]"),
    "less": ("ops.less(Tensor([1.0, 5.0]), Tensor([3.0, 2.0]))", "[ True False]"),
    "less_equal": ("ops.less_equal(Tensor([1.0, 5.0]), Tensor([3.0, 2.0]))", "[ True False]"),
    "greater": ("ops.greater(Tensor([1.0, 5.0]), Tensor([3.0, 2.0]))", "[False  True]"),
    "greater_equal": ("ops.greater_equal(Tensor([1.0, 5.0]), Tensor([3.0, 2.0]))", "[False  True]"),
    "logical_and": ("ops.logical_and(Tensor([True, True]), Tensor([True, False]))", "[ True False]"),
    "logical_or": ("ops.logical_or(Tensor([False, True]), Tensor([False, False]))", "[False  True]"),
    "logical_xor": ("ops.logical_xor(Tensor([True, True]), Tensor([True, False]))", "[False  True]"),
    "logical_not": ("ops.logical_not(Tensor([True, False]))", "[False  True]"),
    "bitwise_and": ("ops.bitwise_and(Tensor([6, 5]), Tensor([3, 3]))", "[2 1]"),
    "bitwise_or": ("ops.bitwise_or(Tensor([6, 5]), Tensor([3, 3]))", "[7 7]"),
    "bitwise_xor": ("ops.bitwise_xor(Tensor([6, 5]), Tensor([3, 3]))", "[5 6]"),
    "bitwise_not": ("ops.bitwise_not(Tensor([0, 5]))", "[-1 -6]"),
    "left_shift": ("ops.bitwise_left_shift(Tensor([1, 3]), Tensor([2, 1]))", "[4 6]"),
    "right_shift": ("ops.bitwise_right_shift(Tensor([8, 3]), Tensor([2, 1]))", "[2 1]"),
    "isnan": ("ops.isnan(Tensor([1.0, float('nan')]))", "[False  True]"),
    "isinf": ("ops.isinf(Tensor([1.0, float('inf')]))", "[False  True]"),
    "isfinite": ("ops.isfinite(Tensor([1.0, float('inf')]))", "[ True False]"),
    "relu6": ("ops.relu6(Tensor([-1.0, 3.0, 9.0]))", "[0. 3. 6.]"),
    "sigmoid": ("ops.sigmoid(Tensor([0.0, 0.5]))", "[0.5        0.62245935]"),
    "silu": ("ops.silu(Tensor([0.0, 0.5]))", "[0.         0.31122968]"),
    "select": ("ops.select(Tensor([True, False]), Tensor([1.0, 2.0]), Tensor([3.0, 4.0]))", "[1. 4.]"),
}


def text(name: str) -> str | None:
    """The docstring of an operator, or None."""
    entry = _TABLE.get(name)
    if entry is None:
        return None
    call, shown = _EXAMPLES[name]
    return f"{entry[1]}{entry[2]}\n\nExample:\n    >>> print({call})\n    {shown}\n"


def signature(name: str) -> Any:
    """The signature of an operator, by MindSpore's names of arguments, or None."""
    entry = _TABLE.get(name)
    if entry is None:
        return None
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(n.strip(), kind) for n in entry[0][1:-1].split(",")])
