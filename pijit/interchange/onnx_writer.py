"""Networks as ONNX files, of operator set 18."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import numpy as np

from pijit import _C
from pijit.interchange import schema
from pijit.interchange.primitives import DTYPES, SAME
from pijit.interchange.writer import _dtypes, _unwritten, diagonal_places, holder, number_of, size_number
from pijit.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit.interchange.graph import Traced, Type

# Numbers of AttributeProto.AttributeType.
FLOAT, INT, STRING, INTS = 1, 2, 3, 7
_ELEMENTS = {name: number for name, (number, _) in DTYPES.items()}  # as in MindIR, but for bfloat16's of tensors

# on sizes; of whole numbers without a sign there is also a division
_OPERATORS = {ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul", ast.Div: "Div"}

# op -> operator with the same inputs, where it is called otherwise than the primitive
_SAME = {op: SAME[op] for op in (
    "add", "sub", "mul", "div", "pow", "neg", "abs", "sign", "sqrt", "reciprocal", "exp", "log", "sin", "cos", "tan",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "floor", "ceil", "equal", "less", "greater", "sigmoid",
    "round", "softplus", "mish")}
_SAME |= {"asin": "Asin", "acos": "Acos", "atan": "Atan", "maximum": "Max", "minimum": "Min", "at_least": "Max",
          "at_most": "Min", "less_equal": "LessOrEqual", "greater_equal": "GreaterOrEqual", "logical_and": "And",
          "logical_or": "Or", "logical_xor": "Xor", "logical_not": "Not", "isnan": "IsNaN", "relu": "Relu",
          "select": "Where", "identity": "Identity", "stop_gradient": "Identity"}


class Writer:
    """A file in the making. Values are named by texts."""

    def __init__(self, traced: Traced) -> None:
        from pijit.serialization import _raw
        self._raw = _raw
        self.model = schema.messages("onnx")["ModelProto"](ir_version=8, producer_name="pijit")
        self.model.opset_import.add(domain="", version=18)
        self.graph = self.model.graph
        self.graph.name = "network"
        self.names: dict[int, str] = {}
        self.types = {id: t for id, t in traced.graph.inputs} | {n.id: n.type for n in traced.graph.nodes}
        self.held: dict[int, tuple[Any, str]] = {}

    def info(self, where: Any, name: str, type: Type) -> str:
        value = where.add(name=name)
        value.type.tensor_type.elem_type = _ELEMENTS[type.dtype]
        value.type.tensor_type.shape.SetInParent()
        for d in type.shape:
            size = value.type.tensor_type.shape.dim.add()
            if isinstance(d, int):
                size.dim_value = d
            else:
                size.dim_param = str(d)
        return name

    def raw(self, raw: bytes, dtype: str, shape: Any, name: str = "") -> str:
        name = name or f"constant{len(self.graph.initializer)}"
        self.graph.initializer.add(name=name, data_type=_ELEMENTS[dtype], dims=shape, raw_data=raw)
        return name

    def value(self, v: Any) -> str:
        """A Parameter, Tensor or Python number that the network reads, or a NumPy array."""
        if id(v) in self.held:
            return self.held[id(v)][1]
        t = v if isinstance(v, _C.Tensor) else _C.Tensor(v)
        name = f"parameter:{v.name}:{len(self.held)}" if isinstance(v, Parameter) else ""
        name = self.raw(self._raw(t).tobytes(), t.dtype.name, t.shape, name)
        self.held[id(v)] = v, name
        return name

    def ints(self, v: Any) -> str:
        return self.raw(np.asarray(v, "<i8").tobytes(), "int64", [len(v)])

    def number(self, v: float, dtype: str) -> str:
        return self.value(_C.Tensor(v, getattr(_dtypes(), dtype)))

    def of(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        name = f"n{len(self.graph.node)}"
        node = self.graph.node.add(name=name, op_type=operator, input=inputs)
        node.output.extend([name, *(f"{name}.{k}" for k in range(1, outputs))])
        for key, v in attributes.items():
            a = node.attribute.add(name=key)
            if isinstance(v, (tuple, list)):
                a.type = INTS
                a.ints.extend(v)
            elif isinstance(v, str):
                a.type, a.s = STRING, v.encode()
            elif isinstance(v, float):
                a.type, a.f = FLOAT, v
            else:
                a.type, a.i = INT, int(v)
        return name


# --- operations: functions of the writer, the node and the names of its inputs

def _const(w, n, xs):
    if not n.attrs["value"].startswith("0x"):
        return size_number(w, n, n.attrs["value"], n.type.dtype, _counted, _OPERATORS)
    size = 1 if n.type.dtype == "bool" else getattr(_dtypes(), n.type.dtype).itemsize
    return w.raw((int(n.attrs["value"], 16) & ((1 << 8 * size) - 1)).to_bytes(size, "little"), n.type.dtype, [])


def _swapped(w, x, rank):
    return w.of("Transpose", x, perm=(*range(rank - 2), rank - 1, rank - 2))


def _matmul(w, n, xs):
    turn = (n.attrs["trans_a"], n.attrs["trans_b"])
    return w.of("MatMul", *(_swapped(w, x, len(w.types[i].shape)) if t else x for x, i, t in zip(xs, n.inputs, turn)))


def _dense(w, n, xs):
    y = w.of("MatMul", xs[0], _swapped(w, xs[1], 2))
    return y if xs[2] is None else w.of("Add", y, xs[2])


def _pads(a):
    t, b, l, r = a["pad"]
    return (t, l, b, r)


def _conv2d(w, n, xs):
    a = n.attrs
    return w.of("Conv", *(x for x in xs if x is not None), strides=a["stride"], pads=_pads(a), dilations=a["dilation"],
                group=a["group"], kernel_shape=w.types[n.inputs[1]].shape[2:])


def _conv2d_dx(w, n, xs):
    a = n.attrs
    return w.of("ConvTranspose", *xs, strides=a["stride"], pads=_pads(a), dilations=a["dilation"], group=a["group"],
                output_padding=_left(w, n))


def _left(w, n):
    """What the sizes of the result have more than the smallest that fit."""
    a, x, k = n.attrs, w.types[n.inputs[0]].shape[2:], w.types[n.inputs[1]].shape[2:]
    pads, out = a["pad"], n.attrs["shape"][2:]
    if any(not isinstance(d, int) for d in x):
        raise _unwritten(n, "where the image's size varies")
    return [out[d] - ((x[d] - 1) * a["stride"][d] + (k[d] - 1) * a["dilation"][d] + 1 - pads[2 * d] - pads[2 * d + 1])
            for d in (0, 1)]


def _pool(w, n, xs):
    more = {"count_include_pad": n.attrs["count_pad"]} if n.op == "avg_pool2d" else {}
    return w.of("AveragePool" if more else "MaxPool", xs[0], kernel_shape=n.attrs["kernel"], strides=n.attrs["stride"],
                pads=_pads(n.attrs), **more)


def _normalize(w, n, xs):
    x, mean, variance, *scale = xs
    y = w.of("Div", w.of("Sub", x, mean), w.of("Sqrt", w.of("Add", variance, w.number(n.attrs["eps"], n.type.dtype))))
    for operator, p in zip(("Mul", "Add"), scale):
        y = y if p is None else w.of(operator, y, p)
    return y


def _layer_norm(w, n, xs):
    shape = n.type.shape[n.attrs["begin"]:]
    if any(not isinstance(d, int) for d in shape):
        raise _unwritten(n, "where a normalized size varies")
    scale, *bias = xs[1:]
    if scale is None:
        scale = w.value(_C.Tensor(np.ones(shape, np.float32), getattr(_dtypes(), n.type.dtype)))
    return w.of("LayerNormalization", xs[0], scale, *(b for b in bias if b is not None),
                axis=n.attrs["begin"], epsilon=float(n.attrs["eps"]))


def _reduce(operator):
    def write(w, n, xs):
        axes = [w.ints(n.attrs["axis"])] if n.attrs["axis"] else []
        return w.of(operator, xs[0], *axes, keepdims=n.attrs["keepdims"])
    return write


def _counted(w, n, size, dtype):
    """A size that varies as a number."""
    name, axis, _ = holder(w, n, size)
    size = w.of("Gather", w.of("Shape", name), w.number(axis, "int64"))
    return size if dtype == "int64" else w.of("Cast", size, to=_ELEMENTS[dtype])


def _shape(w, n, shape):
    """A shape as a value. Sizes that vary are those of values that have them."""
    if all(isinstance(d, int) for d in shape):
        return w.ints(shape)
    parts = []
    for d in shape:
        if isinstance(d, int):
            parts.append(w.ints([d]))
        else:
            size = size_number(w, n, d, "int64", _counted, {**_OPERATORS, ast.FloorDiv: "Div", ast.Mod: "Mod"})
            parts.append(w.of("Reshape", size, w.ints([1])))
    return w.of("Concat", *parts, axis=0)


def _reshape(w, n, xs):
    shape = [d if isinstance(d, int) else -1 for d in n.type.shape]
    return w.of("Reshape", xs[0], w.ints(shape) if shape.count(-1) < 2 else _shape(w, n, n.type.shape), allowzero=True)


def _slice(w, n, xs):
    begin, end = list(n.attrs["begin"]), list(n.attrs["end"])
    for k, (d, step) in enumerate(zip(w.types[n.inputs[0]].shape, n.attrs["step"])):
        if not isinstance(end[k], int) or not isinstance(begin[k], int):
            if begin[k] != 0 or end[k] != d:
                raise _unwritten(n, "of a part of a size that varies")
            end[k] = 2**63 - 1
        elif step < 0 and end[k] == -1:  # before the first element
            end[k] = -2**63
    return w.of("Slice", xs[0], w.ints(begin), w.ints(end), w.ints(range(len(begin))), w.ints(n.attrs["step"]))


def _diagonal(w, n, xs):
    shape, (begin, end, step) = diagonal_places(w, n)
    x = w.of("Reshape", xs[0], w.ints(shape), allowzero=True)
    return w.of("Slice", x, w.ints(begin), w.ints(end), w.ints(range(len(begin))), w.ints(step))


def _gelu(w, n, xs):
    x, number = xs[0], lambda v: w.number(v, n.type.dtype)
    if n.attrs["approximate"] == "tanh":
        cube = w.of("Mul", w.of("Mul", w.of("Mul", x, x), x), number(0.044715))
        inner = w.of("Tanh", w.of("Mul", w.of("Add", x, cube), number((2 / np.pi) ** 0.5)))
    else:
        inner = w.of("Erf", w.of("Mul", x, number(0.5 ** 0.5)))
    return w.of("Mul", w.of("Mul", x, number(0.5)), w.of("Add", inner, number(1.0)))


def _argument(operator):
    return lambda w, n, xs: w.of(operator, xs[0], axis=n.attrs["axis"], keepdims=False)


def _floor_div(w, n, xs):
    if not n.type.dtype.startswith("float"):
        raise _unwritten(n, f"of {n.type.dtype}")
    return w.of("Floor", w.of("Div", *xs))


def _mod(w, n, xs):
    if not n.type.dtype.startswith("float"):
        return w.of("Mod", *xs)
    return w.of("Sub", xs[0], w.of("Mul", _floor_div(w, n, xs), xs[1]))


def _variance(w, n, xs):
    shape = w.types[n.inputs[0]].shape
    axes = tuple(n.attrs["axis"]) or tuple(range(len(shape)))
    away = w.of("Sub", xs[0], w.of("ReduceMean", xs[0], w.ints(axes), keepdims=True))
    total = w.of("ReduceSum", w.of("Mul", away, away), w.ints(axes), keepdims=n.attrs["keepdims"])
    return w.of("Div", total, number_of(w, n, [shape[k] for k in axes], n.attrs["ddof"], _counted))


def _topk(w, n, xs):
    pair = w.of("TopK", xs[0], w.ints([n.attrs["k"]]), outputs=2, axis=n.attrs["axis"], largest=n.attrs["largest"])
    return pair + ".1"


def _recurrent(w, n, xs):
    """An LSTM, step by step: the gates in the order input, forget, cell, output."""
    steps = w.types[n.inputs[0]].shape[0]
    if n.attrs["cell"] != "lstm" or xs[2] is not None or xs[5] is not None or not isinstance(steps, int):
        raise _unwritten(n, "other than of an LSTM over a fixed number of steps")
    gates, weight, h, c = xs[0], xs[1], xs[3], xs[4]
    order, hs, cs = slice(None, None, -1 if n.attrs["reverse"] else 1), [], []
    for t in range(steps)[order]:
        x = w.of("Gather", gates, w.value(np.int64(t)), axis=0)
        g = w.of("Split", w.of("Add", x, w.of("MatMul", h, weight)), outputs=4, axis=-1, num_outputs=4)
        kept = w.of("Mul", w.of("Sigmoid", g + ".1"), c)
        c = w.of("Add", kept, w.of("Mul", w.of("Sigmoid", g), w.of("Tanh", g + ".2")))
        h = w.of("Mul", w.of("Sigmoid", g + ".3"), w.of("Tanh", c))
        hs.append(h)
        cs.append(c)
    stack = lambda parts: w.of("Concat", *(w.of("Unsqueeze", p, w.ints([0])) for p in parts), axis=0)
    return stack([stack(hs[order]), stack(cs[order])])


def _pad(w, n, xs):
    return w.of("Pad", xs[0], w.ints([*n.attrs["low"], *n.attrs["high"]]), w.number(n.attrs["value"], n.type.dtype))


WRITE = {
    "const": _const, "matmul": _matmul, "dense": _dense, "conv2d": _conv2d, "conv2d_dx": _conv2d_dx, "pad": _pad,
    "max_pool2d": _pool, "avg_pool2d": _pool, "normalize": _normalize, "layer_norm": _layer_norm, "reshape": _reshape,
    "slice": _slice, "diagonal": _diagonal, "gelu": _gelu, "argmax": _argument("ArgMax"), "argmin": _argument("ArgMin"),
    "broadcast_to": lambda w, n, xs: w.of("Expand", xs[0], _shape(w, n, n.type.shape)),
    "softmax": lambda w, n, xs: w.of("Softmax", xs[0], axis=n.attrs["axis"]),
    "log_softmax": lambda w, n, xs: w.of("LogSoftmax", xs[0], axis=n.attrs["axis"]),
    "elu": lambda w, n, xs: w.of("Elu", xs[0], alpha=float(n.attrs["alpha"])),
    "leaky_relu": lambda w, n, xs: w.of("LeakyRelu", xs[0], alpha=float(n.attrs["alpha"])),
    "concat": lambda w, n, xs: w.of("Concat", *xs, axis=n.attrs["axis"]),
    "transpose": lambda w, n, xs: w.of("Transpose", xs[0], perm=n.attrs["perm"]),
    "gather": lambda w, n, xs: w.of("Gather", *xs, axis=n.attrs["axis"]),
    "gather_d": lambda w, n, xs: w.of("GatherElements", *xs, axis=n.attrs["axis"]),
    "cast": lambda w, n, xs: w.of("Cast", xs[0], to=_ELEMENTS[n.type.dtype]),
    "floor_div": _floor_div, "mod": _mod, "variance": _variance, "topk": _topk, "recurrent": _recurrent,
    "silu": lambda w, n, xs: w.of("Mul", xs[0], w.of("Sigmoid", xs[0])),
    "square": lambda w, n, xs: w.of("Mul", xs[0], xs[0]),
    "rsqrt": lambda w, n, xs: w.of("Reciprocal", w.of("Sqrt", xs[0])),
    "relu6": lambda w, n, xs: w.of("Clip", xs[0], w.number(0.0, n.type.dtype), w.number(6.0, n.type.dtype)),
    "not_equal": lambda w, n, xs: w.of("Not", w.of("Equal", *xs)),
    "cumsum": lambda w, n, xs: w.of("CumSum", xs[0], w.value(np.int64(n.attrs["axis"])), reverse=n.attrs["reverse"]),
}
WRITE |= {f"reduce_{k}": _reduce(f"Reduce{k.capitalize()}") for k in ("sum", "max", "min", "prod")}


def write(traced: Traced, inputs: list[tuple[str, str, Any]], path: str, output_names: Sequence[str] = (),
          holds_parameters: bool = True, parameters_are_inputs: bool = False) -> None:
    """Writes a network to `path`. inputs: name, dtype and shape of each. holds_parameters: whether values of Parameters
    are written. parameters_are_inputs: whether they are inputs; they are where their values are not written.
    RuntimeError names an operation that is not written."""
    from pijit.interchange.graph import Type
    w = Writer(traced)
    kinds = [Type(dtype, tuple(f"{name}_{k}" if d == -1 else d for k, d in enumerate(shape)))
             for name, dtype, shape in inputs]
    given = [w.info(w.graph.input, name, kind) for (name, _, _), kind in zip(inputs, kinds)]
    for number, v in traced.values.items():
        w.names[number] = given[v] if type(v) is int and v < len(given) else w.value(v)
    for n in traced.graph.live():
        xs = [None if i is None else w.names[i] for i in n.inputs]
        if n.op in WRITE:
            w.names[n.id] = WRITE[n.op](w, n, xs)
        elif n.op in _SAME and not n.attrs and None not in xs:
            w.names[n.id] = w.of(_SAME[n.op], *xs)
        else:
            raise _unwritten(n)
    _outputs(w, traced.result)
    for name, output in zip(output_names, w.graph.output):
        node = next(n for n in w.graph.node if n.output[0] == output.name)
        output.name = node.output[0] = name
    if parameters_are_inputs or not holds_parameters:
        _parameters_as_inputs(w, holds_parameters)
    with open(path, "wb") as f:
        f.write(w.model.SerializeToString())


def _parameters_as_inputs(w, with_values):
    from pijit.interchange.graph import Type
    held = [(v, name) for v, name in w.held.values() if isinstance(v, Parameter)]
    for v, name in held:
        w.info(w.graph.input, name, Type(v.dtype.name, tuple(v.shape)))
    if not with_values:
        names = {name for _, name in held}
        kept = [i for i in w.graph.initializer if i.name not in names]
        del w.graph.initializer[:]
        w.graph.initializer.extend(kept)


def _outputs(w, r):
    if isinstance(r, list):
        for x in r:
            _outputs(w, x)
    elif isinstance(r, int):  # a name of its own, as one value may be given twice, and inputs are none
        type = w.types[r]
        w.info(w.graph.output, w.of("Identity", w.names[r]), type)
    else:
        from pijit.interchange.graph import Type
        w.info(w.graph.output, w.of("Identity", w.value(r)), Type(r.dtype.name, tuple(r.shape)))
