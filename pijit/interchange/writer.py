"""Networks as MindIR files."""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit import _C
from pijit.interchange import schema
from pijit.interchange.primitives import DTYPES, SAME
from pijit.parameter import Parameter

if TYPE_CHECKING:
    from typing import Any
    from collections.abc import Callable
    from pijit.interchange.graph import Graph, Node, Traced, Type

# Numbers of AttributeProto.AttributeType.
FLOAT, INT64, STRING, BOOL, TENSORS, TUPLE = 1, 7, 8, 9, 19, 20
_SPLIT = 1 << 30  # bytes of parameters above which they stand beside, as protocol buffers end at 2 GiB
_ALIGNED = 64
_OPERATORS = {ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul", ast.Div: "Div", ast.FloorDiv: "FloorDiv",
              ast.Mod: "FloorMod"}


def _fill(attribute, v, inside=False):
    """Puts a Python value into an attribute; as a part of a tuple, numbers stand in lists."""
    if isinstance(v, (tuple, list)):
        attribute.type = TUPLE
        for x in v:
            _fill(attribute.values.add(), x, True)
        return
    kind = (BOOL if isinstance(v, bool) else INT64 if isinstance(v, int) else
            FLOAT if isinstance(v, float) else STRING)
    attribute.type = kind
    v = v.encode() if kind == STRING else v
    one, many = {FLOAT: ("f", "floats"), STRING: ("s", "strings")}.get(kind, ("i", "ints"))
    if inside:
        getattr(attribute, many).append(v)
    else:
        setattr(attribute, one, int(v) if kind == BOOL else v)


class Writer:
    """A file in the making. Values are named by texts."""

    def __init__(self, traced: Traced) -> None:
        from pijit.serialization import _raw
        self._raw = _raw
        self.model = schema.messages("mind_ir")["ModelProto"](
            ir_version="1.1", producer_name="pijit", model_version="2.10.0", little_endian=True, mind_ir_version=3)
        self.graph = self.model.graph
        self.graph.name = "network"
        self.count = 0  # of nodes
        self.names: dict[int, str] = {}
        self.types = {id: t for id, t in traced.graph.inputs} | {n.id: n.type for n in traced.graph.nodes}
        self.constants: dict[Any, str] = {}
        self.parameters: list[Any] = []  # (message, value)

    # --- values

    def input(self, name: str, dtype: str, shape: Any) -> str:
        value = self.graph.input.add(name=f"{self.graph.name}:{name}")
        value.tensor.add(data_type=DTYPES[dtype][0], dims=shape)
        return value.name

    def parameter(self, p: Parameter) -> str:
        known = next((m.name for m, v in self.parameters if v is p), None)
        if known is not None:
            return known
        taken = {m.ref_key for m, _ in self.parameters}
        key = p.name if p.name not in taken else f"{p.name}${len(taken)}"
        m = self.graph.parameter.add(name="network:" + key, ref_key=key, data_type=DTYPES[p.dtype.name][0],
                                     dims=p.shape)
        self.parameters.append((m, p))
        return m.name

    def _constant(self):
        self.count += 1
        name = f"constant{self.count}"
        # in the first graph, which is read before the functions
        node = self.model.graph.node.add(op_type="Constant", name=name, output=[name])
        return name, node.attribute.add(name="value")

    def constant(self, v: Any) -> str:
        key = (type(v), str(v))
        if key not in self.constants:
            self.constants[key], attribute = self._constant()
            _fill(attribute, v)
        return self.constants[key]

    def tensor(self, raw: bytes, dtype: str, shape: Any) -> str:
        key = (raw, dtype, tuple(shape))
        if key not in self.constants:
            self.constants[key], attribute = self._constant()
            attribute.type = TENSORS
            attribute.tensors.add(data_type=DTYPES[dtype][0], dims=shape, name="value0", raw_data=raw)
        return self.constants[key]

    def number(self, v: float, dtype: str) -> str:
        """A number as a Tensor without dimensions."""
        t = _C.Tensor(v, getattr(_dtypes(), "bool_" if dtype == "bool" else dtype))
        return self.tensor(self._raw(t).tobytes(), dtype, ())

    def call(self, primitive: str, inputs: list[str], **attributes: Any) -> str:
        self.count += 1
        number = self.count
        p = self.model.primitives.add(name=f"{primitive}:{number}", op_type=primitive, prim_type=1 if attributes else 2)
        for name, v in attributes.items():
            _fill(p.attribute.add(name=name), v)
        return self.node(p.name, inputs)

    def node(self, key: str, inputs: list[str]) -> str:
        """A node of a primitive, or of a function: by its name, or by that of the value that it is."""
        self.count += 1
        name = f"{self.graph.name}:n{self.count}"
        self.graph.node.add(name=name, output=[name], input=inputs, op_type=f"REF::{key}")
        return name

    # --- graphs

    def nodes(self, graph: Graph) -> list[str]:
        """Writes the nodes of a graph whose inputs have names. Returns the names of its outputs."""
        for n in graph.live():
            xs = [None if i is None else self.names[i] for i in n.inputs]
            if n.op in WRITE:
                self.names[n.id] = WRITE[n.op](self, n, xs)
            elif n.op in SAME and not n.attrs and None not in xs:
                self.names[n.id] = self.call(SAME[n.op], xs)
            else:
                raise _unwritten(n)
        return [self.names[i] for i in graph.outputs]

    def function(self, types: list[Type], body: Callable[[list[str]], str]) -> str:
        """A function of values of these types. `body` writes it, from the inputs' names, and gives the result's."""
        outer = self.graph, self.names, self.types
        self.count += 1
        self.graph, self.names, self.types = self.model.functions.add(name=f"function{self.count}"), {}, {}
        given = [self.input(f"x{k}", t.dtype, [d if isinstance(d, int) else -1 for d in t.shape])
                 for k, t in enumerate(types)]
        self.graph.output.add(name=body(given))
        name = self.graph.name
        self.graph, self.names, self.types = outer
        return name

    def region(self, graph: Graph, given: list[str]) -> list[str]:
        """Writes the nodes of a region, inside a function. Returns the names of its outputs."""
        self.names |= {id: name for (id, _), name in zip(graph.inputs, given)}
        self.types |= dict(graph.inputs) | {n.id: n.type for n in graph.nodes}
        return self.nodes(graph)

    def branch(self, condition: str, yes: str, no: str, args: list[str]) -> str:
        """Calls one of two functions."""
        closures = [self.call("Partial", [f, *args]) for f in (yes, no)]
        return self.node(self.call("Switch", [condition, *closures]), [])

    def of(self, primitive: str, *inputs: Any, **attributes: Any) -> str:
        """`call`, with Python values among the inputs: texts are names of values."""
        return self.call(primitive, [x if isinstance(x, str) else self.constant(x) for x in inputs], **attributes)

    def value(self, v: Any) -> str:
        """What the network reads: a Parameter, Tensor or number."""
        if isinstance(v, Parameter):
            return self.parameter(v)
        if isinstance(v, _C.Tensor):
            return self.tensor(self._raw(v).tobytes(), v.dtype.name, v.shape)
        return self.constant(v)

    # --- files

    def save(self, path: str) -> None:
        """Writes the file, and `NAME_variables/data_0` beside it where the parameters are large."""
        total = sum(v.nbytes for _, v in self.parameters)
        if total <= _SPLIT:
            for m, v in self.parameters:
                m.raw_data = self._raw(v).tobytes()
        else:
            path = path[:-len(".mindir")] + "_graph.mindir"
            self._beside(path[:-len("_graph.mindir")] + "_variables")
        with open(path, "wb") as f:
            f.write(self.model.SerializeToString())

    def _beside(self, folder):
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "data_0"), "wb") as f:
            f.write(b"\x01".ljust(_ALIGNED, b"\0"))  # little endian
            for m, v in self.parameters:
                raw = self._raw(v).tobytes()
                m.external_data.location = os.path.basename(folder) + "/data_0"
                m.external_data.offset, m.external_data.length = f.tell(), len(raw)
                f.write(raw + b"\0" * (-len(raw) % _ALIGNED))


def _dtypes():
    import pijit
    return pijit


# --- operations: functions of the writer, the node and the names of its inputs

def holder(w: Any, n: Node, size: str) -> tuple[str, int, int]:
    """The smallest value so far that has a size which varies, as graphs print it: its name, axis and rank."""
    found = []
    for id, name in w.names.items():
        t = w.types[id]
        if size in t.shape:
            found.append((len(t.shape), np.prod([d for d in t.shape if isinstance(d, int)]), name, t.shape.index(size)))
    if not found:
        raise _unwritten(n, "of a size that varies and that no value has")
    rank, _, name, axis = min(found)
    return name, axis, rank


def size_number(w: Any, n: Node, text: str, dtype: str, counted: Callable[..., str], operators: dict[type, str]) -> str:
    """A number computed of sizes that vary. `counted` gives a size as a number."""
    def value(t):
        if isinstance(t, ast.Name) or any(ast.unparse(t).replace(" ", "") in w.types[id].shape for id in w.names):
            return counted(w, n, ast.unparse(t).replace(" ", ""), dtype)
        if isinstance(t, ast.Constant):
            return w.number(t.value, dtype)
        if isinstance(t, ast.BinOp) and type(t.op) in operators:
            return w.of(operators[type(t.op)], value(t.left), value(t.right))
        raise _unwritten(n, "of a size that varies")
    return value(ast.parse(text, mode="eval").body)


def _row(w, name, axis, rank):
    """As many zeros as a value's axis has elements."""
    zeros = w.of("Cast", w.of("ZerosLike", name), DTYPES["float32"][1])
    others = tuple(a for a in range(rank) if a != axis)
    return w.of("ReduceSum", zeros, others, False, False) if others else zeros


def _counted(w, n, size, dtype):
    """A size that varies as a number: ones of that many elements are summed up."""
    ones = w.of("Cast", w.of("OnesLike", _row(w, *holder(w, n, size))), DTYPES["int64"][1])
    return w.of("Cast", w.of("ReduceSum", ones, (), False, False), DTYPES[dtype][1])


def number_of(w: Any, n: Node, sizes: list[Any], less: int, counted: Callable[..., str]) -> str:
    """How many elements there are of these sizes, less some. `counted` gives one that varies as a number."""
    dtype = n.type.dtype
    fixed = float(np.prod([d for d in sizes if isinstance(d, int)]))
    varying = [d for d in sizes if not isinstance(d, int)]
    if not varying:
        return w.number(fixed - less, dtype)
    number = w.number(fixed, dtype)
    for d in varying:
        number = w.of("Mul", number, counted(w, n, d, dtype))
    return w.of("Sub", number, w.number(float(less), dtype)) if less else number


def _const(w, n, xs):
    if not n.attrs["value"].startswith("0x"):
        return size_number(w, n, n.attrs["value"], n.type.dtype, _counted, _OPERATORS)
    size = {"bool": 1}.get(n.type.dtype) or getattr(_dtypes(), n.type.dtype).itemsize
    return w.tensor((int(n.attrs["value"], 16) & ((1 << 8 * size) - 1)).to_bytes(size, "little"), n.type.dtype, ())


def _matmul(w, n, xs):
    ranks = [len(w.types[i].shape) for i in n.inputs]
    a, b = n.attrs["trans_a"], n.attrs["trans_b"]
    if ranks == [2, 2]:
        return w.of("MatMul", *xs, a, b)
    swapped = [_swapped(w, x, r) if t else x for x, r, t in zip(xs, ranks, (a, b))]
    return w.of("MatMulExt", *swapped)


def _swapped(w, x, rank):
    return w.of("Transpose", x, (*range(rank - 2), rank - 1, rank - 2))


def _dense(w, n, xs):
    x, weight, bias = xs
    if len(w.types[n.inputs[0]].shape) == 2:
        y = w.of("MatMul", x, weight, False, True)
        return y if bias is None else w.of("BiasAdd", y, bias, 0)
    y = w.of("MatMulExt", x, _swapped(w, weight, 2))
    return y if bias is None else w.of("Add", y, bias)


def _conv_attributes(w, n, weight, channels):
    a = n.attrs
    pad = tuple(a["pad"])
    return {"kernel_size": weight[2:], "mode": 1, "out_channel": channels, "pad": pad, "pad_mode": "pad",
            "pad_list": pad, "format": "NCHW", "groups": a["group"], "group": a["group"],
            "stride": (1, 1, *a["stride"]), "dilation": (1, 1, *a["dilation"])}


def _conv2d(w, n, xs):
    weight = w.types[n.inputs[1]].shape
    y = w.of("Conv2D", *xs[:2], **_conv_attributes(w, n, weight, weight[0]), input_names=("x", "w"),
             output_names=("output",))
    return y if len(xs) < 3 or xs[2] is None else w.of("BiasAdd", y, xs[2], 0)


def _conv2d_dx(w, n, xs):
    weight = w.types[n.inputs[1]].shape
    sizes = n.attrs["shape"]
    if isinstance(sizes[0], int) or sizes[0] != w.types[n.inputs[0]].shape[0]:
        sizes = _fixed(n, "shape")
    elif all(isinstance(d, int) for d in sizes[1:]):
        sizes = w.of("MakeTuple", w.of("TupleGetItem", w.of("Shape", xs[0]), 0), *sizes[1:])
    else:
        raise _unwritten(n, "where the image's size varies")
    return w.of("Conv2DTranspose", *xs, sizes, **_conv_attributes(w, n, weight, weight[0]),
                input_names=("out_backprop", "filter", "input_sizes"), output_names=("output",))


def _fixed(n, name):
    v = n.attrs[name]
    if any(not isinstance(d, int) for d in v):
        raise _unwritten(n, "where a size varies")
    return v


def _padded(w, x, rank, low, high, value, dtype):
    pairs = tuple(p for k in reversed(range(rank)) for p in (low[k], high[k]))
    return w.of("PadV3", x, pairs, w.number(value, dtype), mode="constant", paddings_contiguous=True,
                input_names=("x", "paddings", "value"), output_names=("y",))


def _pad(w, n, xs):
    return _padded(w, xs[0], len(n.type.shape), n.attrs["low"], n.attrs["high"], n.attrs["value"], n.type.dtype)


def _window(w, n, x, value):
    t, b, l, r = n.attrs["pad"]
    return _padded(w, x, 4, (0, 0, t, l), (0, 0, b, r), value, n.type.dtype) if t or b or l or r else x


def _max_pool(w, n, xs):
    return w.of("MaxPool", _window(w, n, xs[0], float("-inf")), kernel_size=(1, 1, *n.attrs["kernel"]),
                strides=(1, 1, *n.attrs["stride"]), pad_mode="VALID", format="NCHW", input_names=("x",),
                output_names=("output",))


def _avg_pool(w, n, xs):
    pool = lambda x: w.of("AvgPool", x, tuple(n.attrs["kernel"]), tuple(n.attrs["stride"]), 2, 0)
    y = pool(_window(w, n, xs[0], 0.0))
    if n.attrs["count_pad"] or not any(n.attrs["pad"]):
        return y
    h, v = w.types[n.inputs[0]].shape[2:]
    if not isinstance(h, int) or not isinstance(v, int):
        raise _unwritten(n, "with padding where the image's size varies")
    dtype = getattr(_dtypes(), n.type.dtype)
    ones = _C.Tensor(np.ones((1, 1, h, v), np.float32), dtype)
    return w.of("Div", y, pool(_window(w, n, w.value(ones), 0.0)))


def _normalize(w, n, xs):
    x, mean, variance, *scale = xs
    root = w.of("Sqrt", w.of("Add", variance, w.number(n.attrs["eps"], n.type.dtype)))
    y = w.of("Div", w.of("Sub", x, mean), root)
    for primitive, p in zip(("Mul", "Add"), scale):
        y = y if p is None else w.of(primitive, y, p)
    return y


def _layer_norm(w, n, xs):
    begin = n.attrs["begin"]
    shape = n.type.shape[begin:]
    given = list(xs[1:]) + [None] * (3 - len(xs))
    for k, v in enumerate((1, 0)):
        if given[k] is None:
            if any(not isinstance(d, int) for d in shape):
                raise _unwritten(n, "where a normalized size varies")
            given[k] = w.value(_C.Tensor(np.full(shape, v, np.float32), getattr(_dtypes(), n.type.dtype)))
    return w.of("TupleGetItem", w.of("LayerNorm", xs[0], *given, begin, begin, float(n.attrs["eps"])), 0)


def _reduce(w, n, xs):
    more = (False,) if n.op == "reduce_sum" else ()
    return w.of(SAME[n.op], xs[0], tuple(n.attrs["axis"]), n.attrs["keepdims"], *more)


def _variance(w, n, xs):
    shape = w.types[n.inputs[0]].shape
    axes = tuple(n.attrs["axis"]) or tuple(range(len(shape)))
    away = w.of("Square", w.of("Sub", xs[0], w.of("ReduceMean", xs[0], axes, True)))
    total = w.of("ReduceSum", away, axes, n.attrs["keepdims"], False)
    return w.of("Div", total, number_of(w, n, [shape[k] for k in axes], n.attrs["ddof"], _counted))


def _reshape(w, n, xs):
    shape = list(n.type.shape)
    varying = [k for k, d in enumerate(shape) if not isinstance(d, int)]
    if len(varying) > 1:
        raise _unwritten(n, "where several sizes vary")
    for k in varying:
        shape[k] = -1
    return w.of("Reshape", xs[0], tuple(shape))


def _broadcast(w, n, i, x):
    """A value by its id, in a node's shape. A size that varies it gets from zeros of that many elements."""
    shape, own, dtype = list(n.type.shape), list(w.types[i].shape), w.types[i].dtype
    if own == shape:
        return x
    own = [1] * (len(shape) - len(own)) + own
    for k, size in enumerate(shape):
        if isinstance(size, int):
            continue
        if own[k] != size:
            column = w.of("Reshape", _row(w, *holder(w, n, size)), (-1, *(1 for _ in shape[k + 1:])))
            column = w.of("Cast", column, DTYPES[dtype][1])
            x = w.of("LogicalOr" if dtype == "bool" else "Sub", x, column)
        shape[k] = -1
    return w.of("BroadcastTo", x, tuple(shape))


def _slice(w, n, xs):
    shape = w.types[n.inputs[0]].shape
    begin, end, step = (list(n.attrs[k]) for k in ("begin", "end", "step"))
    mask = 0
    for k, d in enumerate(shape):
        if not isinstance(d, int):
            if begin[k] != 0 or end[k] != d or step[k] != 1:
                raise _unwritten(n, "of a part of a size that varies")
            end[k], mask = 1, mask | 1 << k
        elif step[k] < 0 and end[k] == -1:  # before the first element
            end[k] = -d - 1
    return w.of("StridedSlice", xs[0], tuple(begin), tuple(end), tuple(step), 0, mask, 0, 0, 0)


def diagonal_places(w, n):
    """What `diagonal` of a node is: the shape with the last two axes joined, and the slice of that one."""
    *lead, rows, columns = w.types[n.inputs[0]].shape
    if not all([isinstance(d, int) for d in (*lead, rows, columns)]):
        raise _unwritten(n, "where a size varies")
    first = n.attrs["offset"] if n.attrs["offset"] >= 0 else -n.attrs["offset"] * columns
    last = first + (n.type.shape[-1] - 1) * (columns + 1) + 1
    return ((*lead, rows * columns), ((0,) * len(lead) + (first,), (*lead, last), (1,) * len(lead) + (columns + 1,)))


def _diagonal(w, n, xs):
    shape, places = diagonal_places(w, n)
    return w.of("StridedSlice", w.of("Reshape", xs[0], shape), *places, 0, 0, 0, 0, 0)


def _topk(w, n, xs):
    if n.attrs["axis"] not in (-1, len(n.type.shape) - 1):
        raise _unwritten(n, "on another axis than the last")
    x = xs[0] if n.attrs["largest"] else w.of("Neg", xs[0])
    pair = w.of("TopK", x, n.attrs["k"], sorted=True, input_names=("input", "k"), output_names=("values", "indices"))
    return w.of("Cast", w.of("TupleGetItem", pair, 1), DTYPES[n.type.dtype][1])


def _one_hot(w, n, xs):
    on, off = (w.number(n.attrs[k], n.type.dtype) for k in ("on", "off"))
    return w.of("OneHot", xs[0], n.attrs["depth"], on, off, -1)


def _gelu(w, n, xs):
    x, dtype = xs[0], n.type.dtype
    if n.attrs["approximate"] == "tanh":
        return w.of("GeLU", x)
    half = w.of("Mul", x, w.number(0.5, dtype))
    erf = w.of("Erf", w.of("Mul", x, w.number(0.5 ** 0.5, dtype)))
    return w.of("Mul", half, w.of("Add", erf, w.number(1.0, dtype)))


def _leaky(w, n, xs):
    x = xs[0]
    zero, slope = w.number(0.0, n.type.dtype), w.number(n.attrs["alpha"], n.type.dtype)
    return w.of("Add", w.of("Maximum", x, zero), w.of("Mul", w.of("Minimum", x, zero), slope))


def _arange(w, n, xs):
    a = n.attrs
    if not all(isinstance(a[k], (int, float)) for k in ("start", "step", "size")):
        raise _unwritten(n, "where a size varies")
    counted = np.arange(a["size"], dtype=np.float64 if isinstance(a["step"], float) else np.int64)
    values = a["start"] + a["step"] * counted
    return w.value(_C.Tensor(values, getattr(_dtypes(), n.type.dtype)))


def _select(w, n, xs):
    return w.of("Select", *(_broadcast(w, n, i, x) for i, x in zip(n.inputs, xs)))


def _recurrent(w, n, xs):
    """An LSTM, step by step: the gates in the order input, forget, cell, output."""
    a = n.attrs
    steps = w.types[n.inputs[0]].shape[0]
    if a["cell"] != "lstm" or xs[2] is not None or xs[5] is not None or not isinstance(steps, int):
        raise _unwritten(n, "other than of an LSTM over a fixed number of steps")
    gates, weight, h, c = xs[0], xs[1], xs[3], xs[4]
    hs, cs = [], []
    for t in range(steps)[::-1 if a["reverse"] else 1]:
        x = w.of("Gather", gates, w.value(_C.Tensor(t, _dtypes().int32)), 0, 0)
        g = w.of("Add", x, w.of("MatMul", h, weight, False, False))
        parts = w.of("Split", g, -1, 4)
        i, f, k, o = (w.of("TupleGetItem", parts, p) for p in range(4))
        kept = w.of("Mul", w.of("Sigmoid", f), c)
        c = w.of("Add", kept, w.of("Mul", w.of("Sigmoid", i), w.of("Tanh", k)))
        h = w.of("Mul", w.of("Sigmoid", o), w.of("Tanh", c))
        hs.append(h)
        cs.append(c)
    order = slice(None, None, -1 if a["reverse"] else 1)
    stack = lambda parts: w.of("Concat", w.of("MakeTuple", *(w.of("ExpandDims", p, 0) for p in parts)), 0)
    both = w.of("MakeTuple", *(w.of("ExpandDims", stack(p[order]), 0) for p in (hs, cs)))
    return w.of("Concat", both, 0)


def _cond(w, n, xs):
    types = [w.types[i] for i in n.inputs[1:]]
    made = [w.function(types, lambda given, r=r: w.of("MakeTuple", *w.region(r, given))) for r in n.regions]
    return w.branch(xs[0], *made, xs[1:])


def _while_loop(w, n, xs):
    """A function that calls itself, at its end, from the function of its body."""
    types, (condition, body) = [w.types[i] for i in n.inputs], n.regions
    leave = w.function(types, lambda given: w.of("MakeTuple", *given))

    def loop(given):
        itself = w.graph.name
        again = w.function(types, lambda inner: w.node(itself, w.region(body, inner)))
        return w.branch(w.region(condition, given)[0], again, leave, given)
    return w.node(w.function(types, loop), xs)


def _same(w, n, xs):
    return xs[0]


WRITE = {
    "const": _const, "matmul": _matmul, "dense": _dense, "conv2d": _conv2d, "conv2d_dx": _conv2d_dx, "pad": _pad,
    "max_pool2d": _max_pool, "avg_pool2d": _avg_pool, "normalize": _normalize, "layer_norm": _layer_norm,
    "variance": _variance, "reshape": _reshape,
    "broadcast_to": lambda w, n, xs: _broadcast(w, n, n.inputs[0], xs[0]), "slice": _slice, "diagonal": _diagonal,
    "topk": _topk, "one_hot": _one_hot, "gelu": _gelu, "leaky_relu": _leaky, "arange": _arange, "select": _select,
    "recurrent": _recurrent, "identity": _same, "stop_gradient": _same, "cond": _cond,
    "while_loop": _while_loop, "result": lambda w, n, xs: w.of("TupleGetItem", xs[0], n.attrs["index"]),
    "softmax": lambda w, n, xs: w.of("Softmax", xs[0], (n.attrs["axis"],)),
    "log_softmax": lambda w, n, xs: w.of("LogSoftmax", xs[0], n.attrs["axis"]),
    "elu": lambda w, n, xs: w.of("Elu", xs[0], float(n.attrs["alpha"])),
    "argmax": lambda w, n, xs: w.of("Argmax", xs[0], n.attrs["axis"], DTYPES[n.type.dtype][1]),
    "argmin": lambda w, n, xs: w.of("Argmin", xs[0], n.attrs["axis"], DTYPES[n.type.dtype][1]),
    "cumsum": lambda w, n, xs: w.of("CumSum", xs[0], n.attrs["axis"], False, n.attrs["reverse"]),
    "concat": lambda w, n, xs: w.of("Concat", w.of("MakeTuple", *xs), n.attrs["axis"]),
    "transpose": lambda w, n, xs: w.of("Transpose", xs[0], tuple(n.attrs["perm"])),
    "gather": lambda w, n, xs: w.of("Gather", *xs, n.attrs["axis"], 0),
    "gather_d": lambda w, n, xs: w.of("GatherD", xs[0], n.attrs["axis"], xs[1]),
    "cast": lambda w, n, xs: w.of("Cast", xs[0], DTYPES[n.type.dtype][1]),
    "round": lambda w, n, xs: w.of("Round", xs[0], 0),
}
WRITE |= {f"reduce_{k}": _reduce for k in ("sum", "max", "min", "prod", "all", "any")}


def _unwritten(n: Node, how: str = "") -> Exception:
    place = f", in {n.place}" if n.place else ""
    return _check.unsupported("export", f"the operation {n.op!r}{' ' + how if how else ''}{place} is",
                              error=RuntimeError)


def write(traced: Traced, inputs: list[tuple[str, str, Any]], path: str) -> None:
    """Writes a network to `path`. inputs: name, dtype and shape of each. RuntimeError names an operation that the
    format has no primitive for."""
    w = Writer(traced)
    given = [w.input(*x) for x in inputs]
    for number, v in traced.values.items():
        w.names[number] = given[v] if type(v) is int and number in w.types and v < len(given) else w.value(v)
    w.nodes(traced.graph)
    name = _result(w, traced.result)
    w.graph.output.add(name=name)
    w.save(path)


def _result(w, r):
    if isinstance(r, list):
        return w.of("MakeTuple", *(_result(w, x) for x in r))
    return w.names[r] if isinstance(r, int) else w.value(r)
