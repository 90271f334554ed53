"""The names of operators and functions of `ops`: what they are called as methods of Tensor, primitives, in `pijit.mint`
and in `pijit.numpy`.

Operators of the extension have a row each; what they compute stands in its op table, what `help` says of them in
`documentation.py`. Functions written in Python have a decorator, `named`, above them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Function = TypeVar("Function", bound=Callable[..., object])

# What functions written in Python are called besides: name -> function. Entered by `named`, so full once
# `pijit.ops.function` is loaded.
METHODS: dict[str, Callable[..., object]] = {}
PRIMITIVES: dict[str, Callable[..., object]] = {}
MINT: dict[str, Callable[..., object]] = {}
FUNCTIONAL: dict[str, Callable[..., object]] = {}  # mint.nn.functional


def named(*, method: bool | str = False, primitive: str = "", mint: bool | str = False,
          functional: bool | str = False) -> Callable[[Function], Function]:
    """Enters what a function is called besides its name in `ops`, and gives it back as it is: a method of Tensor, a
    primitive without attributes, a function of `mint` and of `mint.nn.functional`. True: by the function's own name;
    else names with spaces between them."""
    def enter(function: Function) -> Function:
        for names, known in ((method, METHODS), (primitive, PRIMITIVES), (mint, MINT), (functional, FUNCTIONAL)):
            for name in (function.__name__,) if names is True else (names or "").split():
                known[name] = function
        return function
    return enter


class Row(NamedTuple):
    """An op of the extension and its names."""

    op: str
    functions: list[str]
    methods: list[str]
    primitives: list[str]
    numpy: list[str]
    mint: list[str]


def _rows(text):
    for line in text.strip().splitlines():
        op, functions, *others = (cell.strip() for cell in line.split("|"))
        names = op if functions == "=" else functions
        yield Row(op, *((names if cell == "=" else cell).split() for cell in (functions, *others)))


# op | functions ("=": of the op's name) | methods | primitives | names in numpy and in mint ("=": the functions' names)
OPS = list(_rows("""
add           | =                                |               | Add TensorAdd | =                     |
sub           | =                                |               | Sub           |                       | =
mul           | mul multiply                     | mul           | Mul           | multiply              | mul
div           | realdiv                          |               | Div           |                       |
floor_div     | floor_divide floor_div floordiv  | floor_divide  | FloorDiv      | floor_divide          | floor_divide
mod           | mod floor_mod floormod remainder | mod remainder | FloorMod      | mod remainder         | remainder
fmod          | =                                | =             | Mod           | =                     | =
pow           | =                                | =             | Pow           | pow power             | =
atan2         | atan2 arctan2                    | atan2         | Atan2         | arctan2               | =
hypot         | =                                | =             | Hypot         | =                     |
maximum       | =                                | =             | Maximum       | =                     | =
minimum       | =                                | =             | Minimum       | =                     | =
neg           | neg negative                     | =             | Neg           | negative              | =
abs           | abs absolute                     | =             | Abs           | =                     | abs
sign          | sign sgn                         | =             | Sign          | sign                  | sign
square        | =                                | =             | Square        | =                     | =
sqrt          | =                                | =             | Sqrt          | =                     | =
rsqrt         | =                                | =             | Rsqrt         |                       | =
reciprocal    | =                                | =             | Reciprocal    | =                     | =
cbrt          | =                                |               |               |                       |
exp           | =                                | =             | Exp           | =                     | =
exp2          | =                                | =             |               | =                     | =
expm1         | =                                | =             | Expm1         | =                     | =
log           | =                                | =             | Log           | =                     | =
log2          | =                                | =             |               | =                     | =
log10         | =                                | =             |               | =                     | =
log1p         | =                                | =             | Log1p         | =                     | =
sin           | =                                | =             | Sin           | =                     | =
cos           | =                                | =             | Cos           | =                     | =
tan           | =                                | =             | Tan           | =                     | =
asin          | asin arcsin                      | =             | Asin          | arcsin                | =
acos          | acos arccos                      | =             | ACos          | arccos                | =
atan          | atan arctan                      | =             | Atan          | arctan                | =
sinh          | =                                | =             | Sinh          | =                     | =
cosh          | =                                | =             | Cosh          | =                     | =
tanh          | =                                | =             | Tanh          | =                     | =
asinh         | asinh arcsinh                    | =             | Asinh         | arcsinh               | =
acosh         | acosh arccosh                    | =             | Acosh         | arccosh               | =
atanh         | atanh arctanh                    | =             | Atanh         | arctanh               | =
erf           | =                                | =             | Erf           |                       | =
erfc          | =                                | =             | Erfc          |                       | =
erfcx         | =                                |               |               |                       |
lgamma        | =                                | =             | Lgamma        |                       |
digamma       | =                                | =             | Digamma       |                       |
floor         | =                                | =             | Floor         | =                     | =
ceil          | =                                | =             | Ceil          | =                     | =
trunc         | =                                | =             | Trunc         | =                     |
equal         | equal eq                         | =             | Equal         | equal                 | eq
not_equal     | not_equal ne                     | =             | NotEqual      | not_equal             | =
less          | less lt                          | =             | Less          | less                  | =
less_equal    | less_equal le                    | =             | LessEqual     | less_equal            | =
greater       | greater gt                       | =             | Greater       | greater               | =
greater_equal | greater_equal ge                 | =             | GreaterEqual  | greater_equal         | greater_equal
logical_and   | =                                | =             | LogicalAnd    | =                     | =
logical_or    | =                                | =             | LogicalOr     | =                     | =
logical_xor   | =                                | =             | LogicalXor    | =                     | =
logical_not   | =                                | =             | LogicalNot    | =                     | =
bitwise_and   | =                                | =             | BitwiseAnd    | =                     | =
bitwise_or    | =                                | =             | BitwiseOr     | =                     | =
bitwise_xor   | =                                | =             | BitwiseXor    | =                     | =
bitwise_not   | bitwise_not invert               | invert        | Invert        | invert                |
left_shift    | bitwise_left_shift               | =             | LeftShift     |                       |
right_shift   | bitwise_right_shift              | =             | RightShift    |                       |
isnan         | =                                | =             | IsNan         | =                     | =
isinf         | =                                | =             | IsInf         | =                     | =
isfinite      | =                                | =             | IsFinite      | =                     | =
relu6         | =                                |               | ReLU6         |                       |
sigmoid       | =                                | =             | Sigmoid       |                       | =
silu          | =                                |               |               |                       |
select        | select where                     |               | Select        | where                 | where
"""))
