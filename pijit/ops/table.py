"""The names of operators: one row each, from which the functions of `ops`, the methods of Tensor, the primitives and
the names of `pijit.numpy` are made.

What an operator computes stands in the op table of the extension; what `help` says of it in `documentation.py`."""

from typing import NamedTuple


class Row(NamedTuple):
    """An op of the extension and its names."""

    op: str
    functions: list[str]
    methods: list[str]
    primitives: list[str]
    numpy: list[str]


def _rows(text):
    for line in text.strip().splitlines():
        op, functions, methods, primitives, numpy = (cell.strip() for cell in line.split("|"))
        names = op if functions == "=" else functions
        yield Row(op, *((names if cell == "=" else cell).split() for cell in (functions, methods, primitives, numpy)))


# op | functions ("=": of the op's name) | methods | primitives | names in numpy ("=": the functions' names)
OPS = list(_rows("""
add           | =                                |               | Add TensorAdd | =
sub           | =                                |               | Sub           |
mul           | mul multiply                     | mul           | Mul           | multiply
div           | realdiv                          |               | Div           |
floor_div     | floor_divide floor_div floordiv  | floor_divide  | FloorDiv      | floor_divide
mod           | mod floor_mod floormod remainder | mod remainder | FloorMod      | mod remainder
fmod          | =                                | =             | Mod           | =
pow           | =                                | =             | Pow           | pow power
atan2         | atan2 arctan2                    | atan2         | Atan2         | arctan2
hypot         | =                                | =             | Hypot         | =
maximum       | =                                | =             | Maximum       | =
minimum       | =                                | =             | Minimum       | =
neg           | neg negative                     | =             | Neg           | negative
abs           | abs absolute                     | =             | Abs           | =
sign          | sign sgn                         | =             | Sign          | sign
square        | =                                | =             | Square        | =
sqrt          | =                                | =             | Sqrt          | =
rsqrt         | =                                | =             | Rsqrt         |
reciprocal    | =                                | =             | Reciprocal    | =
cbrt          | =                                |               |               |
exp           | =                                | =             | Exp           | =
exp2          | =                                | =             |               | =
expm1         | =                                | =             | Expm1         | =
log           | =                                | =             | Log           | =
log2          | =                                | =             |               | =
log10         | =                                | =             |               | =
log1p         | =                                | =             | Log1p         | =
sin           | =                                | =             | Sin           | =
cos           | =                                | =             | Cos           | =
tan           | =                                | =             | Tan           | =
asin          | asin arcsin                      | =             | Asin          | arcsin
acos          | acos arccos                      | =             | ACos          | arccos
atan          | atan arctan                      | =             | Atan          | arctan
sinh          | =                                | =             | Sinh          | =
cosh          | =                                | =             | Cosh          | =
tanh          | =                                | =             | Tanh          | =
asinh         | asinh arcsinh                    | =             | Asinh         | arcsinh
acosh         | acosh arccosh                    | =             | Acosh         | arccosh
atanh         | atanh arctanh                    | =             | Atanh         | arctanh
erf           | =                                | =             | Erf           |
erfc          | =                                | =             | Erfc          |
lgamma        | =                                | =             | Lgamma        |
digamma       | =                                | =             | Digamma       |
floor         | =                                | =             | Floor         | =
ceil          | =                                | =             | Ceil          | =
trunc         | =                                | =             | Trunc         | =
equal         | equal eq                         | =             | Equal         | equal
not_equal     | not_equal ne                     | =             | NotEqual      | not_equal
less          | less lt                          | =             | Less          | less
less_equal    | less_equal le                    | =             | LessEqual     | less_equal
greater       | greater gt                       | =             | Greater       | greater
greater_equal | greater_equal ge                 | =             | GreaterEqual  | greater_equal
logical_and   | =                                | =             | LogicalAnd    | =
logical_or    | =                                | =             | LogicalOr     | =
logical_xor   | =                                | =             | LogicalXor    | =
logical_not   | =                                | =             | LogicalNot    | =
bitwise_and   | =                                | =             | BitwiseAnd    | =
bitwise_or    | =                                | =             | BitwiseOr     | =
bitwise_xor   | =                                | =             | BitwiseXor    | =
bitwise_not   | bitwise_not invert               | invert        | Invert        | invert
left_shift    | bitwise_left_shift               | =             | LeftShift     |
right_shift   | bitwise_right_shift              | =             | RightShift    |
isnan         | =                                | =             | IsNan         | =
isinf         | =                                | =             | IsInf         | =
isfinite      | =                                | =             | IsFinite      | =
relu6         | =                                |               | ReLU6         |
sigmoid       | =                                | =             | Sigmoid       |
silu          | =                                |               |               |
select        | select where                     |               | Select        | where
"""))

# Functions written in Python (in `ops/function`), of one primitive or more: function | primitives
PRIMITIVES = {
    function.strip(): primitives.split() for function, primitives in (line.split("|") for line in """
round                 | Rint
expand_dims           | ExpandDims
broadcast_to          | BroadcastToOp
gather_elements       | GatherD
gather_nd             | GatherNd
masked_fill           | MaskedFill
lerp                  | Lerp
relu                  | ReLU
sinc                  | Sinc
erfinv                | Erfinv
fmax                  | Fmax
fmin                  | Fmin
gcd                   | Gcd
ger                   | Ger
heaviside             | Heaviside
lcm                   | Lcm
unsorted_segment_max  | UnsortedSegmentMax
unsorted_segment_min  | UnsortedSegmentMin
unsorted_segment_prod | UnsortedSegmentProd
xdivy                 | Xdivy
angle                 | Angle
conj                  | Conj
imag                  | Imag
real                  | Real
selu                  | SeLU
softplus              | Softplus
softsign              | Softsign
mish                  | Mish
hardswish             | HSwish
prelu                 | PReLU
cast                  | Cast
reshape               | Reshape
transpose             | Transpose
shape                 | Shape
rank                  | Rank
size                  | Size
dtype                 | DType
tile                  | Tile
slice                 | Slice
zeros_like            | ZerosLike
ones_like             | OnesLike
zeros                 | Zeros
ones                  | Ones
fill                  | Fill
scatter_nd            | ScatterNd
tensor_scatter_update | TensorScatterUpdate
tensor_scatter_add    | TensorScatterAdd
addn                  | AddN
assign                | Assign
assign_add            | AssignAdd
assign_sub            | AssignSub
depend                | Depend
stop_gradient         | StopGradient
dense                 | Dense
print_                | Print
mse_loss              | MSELoss
dyn_shape             | TensorShape
xlogy                 | Xlogy
squared_difference    | SquaredDifference
div_no_nan            | DivNoNan
mul_no_nan            | MulNoNan
truncate_div          | TruncateDiv
truncate_mod          | TruncateMod
fast_gelu             | FastGeLU FastGelu
trace                 | Trace
accumulate_n          | AccumulateNV2
population_count      | PopulationCount
unsorted_segment_sum  | UnsortedSegmentSum
tensor_scatter_sub    | TensorScatterSub
tensor_scatter_mul    | TensorScatterMul
tensor_scatter_div    | TensorScatterDiv
tensor_scatter_max    | TensorScatterMax
tensor_scatter_min    | TensorScatterMin
complex               | Complex
polar                 | Polar
det                   | MatrixDeterminant
""".strip().splitlines())
}

# Functions written in Python that are methods of Tensor, as they are.
METHODS = """
round subtract divide true_divide swapaxes expand_dims squeeze ravel broadcast_to unbind flip amax amin norm
gather_elements gather_nd masked_fill masked_select nonzero clamp clip nan_to_num lerp bmm dot outer softmax
log_softmax topk unique roll tril triu moveaxis movedim relu addcmul addcdiv t cumprod hsplit vsplit inner sinc
hardshrink reverse svd qr cholesky cholesky_inverse cholesky_solve inverse slogdet log_matrix_determinant logdet
lu_solve lstsq matrix_power geqrf orgqr ormqr igamma igammac i0 addbmm addmv addr aminmax approximate_equal baddbmm
bincount copysign cov cross cummax cummin deg2rad rad2deg diag diagflat diagonal_scatter diff dsplit erfinv fills
fliplr flipud float_power fmax fmin gcd ger heaviside histc index_fill isreal lcm ldexp logaddexp2 logcumsumexp logit
msort mvlgamma nanmean nanmedian nanquantile positive quantile renorm reverse_sequence rot90 select_scatter signbit
slice_scatter swapdims tensor_split unique_consecutive unique_with_pad unsorted_segment_max unsorted_segment_min
unsorted_segment_prod xdivy multinomial bernoulli eigvals is_complex angle conj imag real is_floating_point adjoint
""".split()
