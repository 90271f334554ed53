"""Operations of pijit's graphs and primitives of MindIR files: which belongs to which, for writing and for reading.

Those that take the same inputs and nothing else stand in `pijit.ops.table`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit import ops
from pijit.ops.table import OPS

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# dtype -> its number in tensors of a file, and as an argument of primitives
DTYPES = {"float32": (1, 43), "uint8": (2, 37), "int8": (3, 32), "uint16": (4, 38), "int16": (5, 33), "int32": (6, 34),
          "int64": (7, 35), "bool": (9, 30), "float16": (10, 42), "float64": (11, 44), "uint32": (12, 39),
          "uint64": (13, 40), "complex64": (14, 51), "complex128": (15, 52), "bfloat16": (16, 45)}
OF_TENSORS = {number: name for name, (number, _) in DTYPES.items()}
OF_ARGUMENTS = {number: name for name, (_, number) in DTYPES.items()}

# op -> primitive with the same inputs
SAME = {row.op: row.primitives[0] for row in OPS if row.primitives}
SAME |= {"relu": "ReLU", "silu": "SiLU", "mish": "Mish", "softplus": "Softplus", "at_least": "Maximum",
         "at_most": "Minimum", "reduce_sum": "ReduceSum", "reduce_max": "ReduceMax", "reduce_min": "ReduceMin",
         "reduce_prod": "ReduceProd", "reduce_all": "ReduceAll", "reduce_any": "ReduceAny", "round": "Round"}

_PAD_MODES = {1: "same", 2: "valid"}  # numbers of words, as arguments


def _dtype(number):
    if number not in OF_ARGUMENTS:
        raise _check.unknown("load", "number of a dtype", number)
    import pijit
    return getattr(pijit, "bool_" if OF_ARGUMENTS[number] == "bool" else OF_ARGUMENTS[number])


def _axes(axis):
    return None if axis == () else axis


def _reduce(function):
    def run(a, x, axis=(), keep=False, *skip):
        return function(x, _axes(axis), keep)
    return run


def _ext(function):  # of mint: axis None is all; a dtype comes last
    def run(a, x, axis=None, keep=False, dtype=None):
        y = function(x, _axes(axis), keep)
        return y if dtype is None else y.astype(_dtype(dtype))
    return run


def _scalar(function):  # a number as second argument
    return lambda a, x, y: function(x, y)


def _conv2d(a, x, w):
    mode = a["pad_mode"].lower()
    padding = tuple(a["pad"]) if mode == "pad" else 0
    conv = ops.Conv2D(a["out_channel"], tuple(a["kernel_size"]), a.get("mode", 1), mode, padding,
                      tuple(a["stride"])[-2:], tuple(a["dilation"])[-2:], a["group"])
    return conv(x, w)


def _conv2d_transpose(a, x, w, shape):
    mode = a["pad_mode"].lower()
    padding = tuple(a["pad_list"]) if mode == "pad" else 0
    conv = ops.Conv2DTranspose(a["out_channel"], tuple(a["kernel_size"]), mode, padding, None, a.get("mode", 1),
                               tuple(a["stride"])[-2:], tuple(a["dilation"])[-2:], a["group"])
    return conv(x, w, tuple(shape))


def _max_pool(a, x):
    return ops.MaxPool(tuple(a["kernel_size"])[-2:], tuple(a["strides"])[-2:], a["pad_mode"].lower())(x)


def _avg_pool(a, x, kernel, strides, mode, _format=0):
    return ops.AvgPool(tuple(kernel)[-2:], tuple(strides)[-2:], _PAD_MODES[mode])(x)


def _batch_norm(a, x, scale, bias, mean, variance, training=False, eps=1e-5, momentum=0.1, _format=0):
    if training:
        raise _check.unsupported("load", "the primitive BatchNorm in training is",
                                 "export the network after set_train(False)")
    shape = (1, -1) + (1,) * (x.ndim - 2)
    scale = scale.reshape(shape) * ops.rsqrt(variance.reshape(shape) + eps)
    return (x - mean.reshape(shape)) * scale + bias.reshape(shape), mean, variance, mean, variance


def _layer_norm(a, x, gamma, beta, begin=-1, begin_params=-1, eps=1e-7):
    return ops.LayerNorm(begin, begin_params, eps)(x, gamma, beta)


def _group_norm(a, x, groups, gamma, beta, eps=1e-5):
    return ops.group_norm(x, groups, gamma, beta, eps), None, None


def _lstm(a, x, h, c, w):
    size, inputs = a["hidden_size"], a["input_size"]
    if a["num_layers"] != 1 or a["bidirectional"] or not a["has_bias"] or a.get("proj_size"):
        raise _check.unsupported("load", "the primitive LSTM of several layers or directions, or without a bias, is")
    w = w.reshape(-1)
    first, second = 4 * size * inputs, 4 * size * (inputs + size)
    gates = ops.matmul(x, w[:first].reshape(4 * size, inputs).T) + w[second:second + 4 * size]
    weight, h, c, outputs = w[first:second].reshape(4 * size, size).T, h[0], c[0], []
    for t in range(x.shape[0]):
        g = gates[t] + ops.matmul(h, weight)
        i, f, k, o = (g[:, p * size:(p + 1) * size] for p in range(4))
        c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(k)
        h = ops.sigmoid(o) * ops.tanh(c)
        outputs.append(h)
    return ops.stack(outputs), h[None], c[None], None, None


def _argument(function):
    def run(a, x, axis=-1, dtype=34):
        y = function(x, axis)
        return y.astype(_dtype(dtype))
    return run


def _strided_slice(a, x, begin, end, strides, *masks):
    return ops.strided_slice(x, tuple(begin), tuple(end), tuple(strides), *masks)


def _pad(a, x, paddings, value=None):
    if a.get("mode", "constant") != "constant":
        return ops.pad(x, tuple(paddings), a["mode"])
    return ops.pad(x, tuple(paddings), "constant", 0 if value is None else value)


def _matmul(a, x, y, trans_a=False, trans_b=False):
    return ops.matmul(x.swapaxes(-1, -2) if trans_a else x, y.swapaxes(-1, -2) if trans_b else y)


def _bias_add(a, x, b, _format=0):
    return x + (b if x.ndim < 3 else b.reshape((1, -1) + (1,) * (x.ndim - 2)))


def _split(a, x, axis=0, count=1):
    if not isinstance(count, int) or not 0 < count <= x.shape[axis]:
        raise _check.expected("load", f"1 to {x.shape[axis]} parts of the primitive Split", count)
    return ops.split(x, x.shape[axis] // count, axis)


def _shape(a, x):
    return tuple(x.shape)


# primitive -> function of its attributes and inputs
READ: dict[str, Callable[..., Any]] = {}


def _reader(function):
    return lambda a, *xs: function(*xs)


for _row in OPS:
    for _name in _row.primitives:
        READ[_name] = _reader(getattr(ops, _row.functions[0] if _row.functions else _row.op))
READ |= {
    "Load": lambda a, x, *_: x, "Depend": lambda a, x, *_: x, "UpdateState": lambda a, *_: None,
    "MakeTuple": lambda a, *xs: xs, "MakeList": lambda a, *xs: xs, "make_list": lambda a, *xs: xs,
    "TupleGetItem": lambda a, t, k: t[k],
    "ListGetItem": lambda a, t, k: t[k], "Shape": _shape, "StopGradient": lambda a, x: x, "Identity": lambda a, x: x,
    "ScalarMul": lambda a, x, y: x * y, "ScalarAdd": lambda a, x, y: x + y, "ScalarSub": lambda a, x, y: x - y,
    "ScalarFloorDiv": lambda a, x, y: x // y,
    "MatMul": _matmul, "BatchMatMul": _matmul, "MatMulExt": _matmul, "BatchMatMulExt": _matmul, "BiasAdd": _bias_add,
    "Dense": lambda a, x, w, b=None: ops.dense(x, w, b),
    "Conv2D": _conv2d, "Conv2DTranspose": _conv2d_transpose, "MaxPool": _max_pool, "AvgPool": _avg_pool,
    "AdaptiveAvgPool2D": lambda a, x: ops.adaptive_avg_pool2d(x, tuple(a["output_size"])),
    "BatchNorm": _batch_norm, "LayerNorm": _layer_norm, "GroupNorm": _group_norm, "LSTM": _lstm,
    "ReLU": _reader(ops.relu), "SiLU": _reader(ops.silu), "GeLU": lambda a, x: ops.gelu(x, approximate="tanh"),
    "Mish": _reader(ops.mish), "HSwish": _reader(ops.hardswish), "HSigmoid": _reader(ops.hardsigmoid),
    "Elu": lambda a, x, alpha=1.0: ops.elu(x, alpha),
    "Softplus": lambda a, x: ops.log1p(ops.exp(-ops.abs(x))) + ops.relu(x),
    "Softmax": lambda a, x, axis=-1: ops.softmax(x, axis[0] if isinstance(axis, tuple) else axis),
    "LogSoftmax": lambda a, x, axis=-1: ops.log_softmax(x, axis),
    "ReduceSum": _reduce(ops.sum), "ReduceMean": _reduce(ops.mean), "ReduceMax": _reduce(ops.amax),
    "ReduceMin": _reduce(ops.amin), "ReduceProd": _reduce(ops.prod), "ReduceAll": _reduce(ops.all),
    "ReduceAny": _reduce(ops.any), "SumExt": _ext(ops.sum), "MeanExt": _ext(ops.mean), "ProdExt": _ext(ops.prod),
    "Max": lambda a, x: x.max(), "Min": lambda a, x: x.min(), "Argmax": _argument(ops.argmax),
    "Argmin": _argument(ops.argmin), "CumSum": lambda a, x, axis, *_: ops.cumsum(x, axis),
    "ArgMaxWithValue": lambda a, x, axis=0, keep=False: ops.max(x, axis, keep)[::-1],
    "ArgMinWithValue": lambda a, x, axis=0, keep=False: ops.min(x, axis, keep)[::-1],
    "TopK": lambda a, x, k: ops.topk(x, k), "Sort": lambda a, x: ops.sort(x, a["axis"], a["descending"]),
    "Reshape": lambda a, x, shape: x.reshape(shape), "Transpose": lambda a, x, perm: x.transpose(perm),
    "ExpandDims": _reader(ops.expand_dims), "Squeeze": lambda a, x, axis=(): ops.squeeze(x, axis or None),
    "Flatten": _reader(ops.flatten), "Concat": lambda a, t, axis=0: ops.concat(t, axis),
    "Stack": lambda a, t: ops.stack(t, a["axis"]), "Tile": _reader(ops.tile), "BroadcastTo": _reader(ops.broadcast_to),
    "Split": _split, "StridedSlice": _strided_slice, "PadV3": _pad,
    "Cast": lambda a, x, dtype: x.astype(_dtype(dtype)), "Select": _reader(ops.where),
    "Gather": lambda a, x, i, axis, batch=0: ops.gather(x, i, axis, batch), "GatherD": _reader(ops.gather_d),
    "GatherNd": _reader(ops.gather_nd), "OneHot": lambda a, i, n, on, off, axis=-1: ops.one_hot(i, n, on, off, axis),
    "ReverseV2": lambda a, x, axis=None: ops.flip(x, a["axis"] if axis is None else axis),
    "ZerosLike": _reader(ops.zeros_like), "OnesLike": _reader(ops.ones_like), "Round": lambda a, x, *_: ops.round(x),
    "RemainderTensorTensor": _reader(ops.remainder),
    "ClampScalar": lambda a, x, low=None, high=None: ops.clamp(x, low, high),
    "Adds": _scalar(ops.add), "Subs": _scalar(ops.sub), "Muls": _scalar(ops.mul), "Divs": _scalar(ops.div),
    "LessScalar": _scalar(ops.less), "GreaterScalar": _scalar(ops.greater), "EqualScalar": _scalar(ops.equal),
    "LessEqualScalar": _scalar(ops.less_equal), "GreaterEqualScalar": _scalar(ops.greater_equal),
    "NotEqualScalar": _scalar(ops.not_equal), "RemainderTensorScalar": _scalar(ops.remainder),
}
