"""A network's graph, as capture took it down: nodes in order, with what they read, attributes and types."""

from __future__ import annotations

import contextlib
import re
import sys
from typing import TYPE_CHECKING, NamedTuple

from pijit import _C
from pijit import _check

if TYPE_CHECKING:
    from typing import Any

DTYPES = {"bool": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16",
          "u32": "uint32", "u64": "uint64", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
          "c64": "complex64", "c128": "complex128"}


class Type(NamedTuple):
    """dtype (its name), shape: ints, and texts where a size varies."""

    dtype: str
    shape: tuple[Any, ...]


class Node:
    """One value of a graph."""

    def __init__(self, id: int, op: str, inputs: list[Any], attrs: dict[str, Any], type: Type, place: str) -> None:
        self.id, self.op, self.inputs, self.attrs, self.type, self.place = id, op, inputs, attrs, type, place
        self.regions: list[Graph] = []


class Graph:
    """inputs: (id, Type) each; nodes; outputs: ids."""

    def __init__(self) -> None:
        self.inputs: list[tuple[int, Type]] = []
        self.nodes: list[Node] = []
        self.outputs: list[int] = []

    def live(self) -> list[Node]:
        """The nodes that the outputs need, in order."""
        needed, found = set(self.outputs), []
        for node in reversed(self.nodes):
            if node.id in needed or node.op == "require":
                needed.update(i for i in node.inputs if i is not None)
                found.append(node)
        return found[::-1]


def _split(text):
    """Parts between commas that stand in no bracket or quotes."""
    parts, depth, quoted, begin = [], 0, False, 0
    for k, c in enumerate(text):
        quoted ^= c == '"'
        if not quoted:
            depth += (c in "([") - (c in ")]")
            if c == "," and depth == 0:
                parts.append(text[begin:k].strip())
                begin = k + 1
    return [*parts, text[begin:].strip()] if text.strip() else []


def _size(text):
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def _type(text):
    dtype, dims = re.fullmatch(r"(\w+)\[(.*?)\](?:@\w+)?", text).groups()
    return Type(DTYPES[dtype], tuple(_size(d) for d in _split(dims)))


def _attribute(text):
    if text in ("true", "false"):
        return text == "true"
    if text[0] == '"':
        return text[1:-1]
    if text[0] == "(" and text[-1] == ")":
        return tuple(_size(d) for d in _split(text[1:-1]))
    if text in DTYPES:
        return DTYPES[text]
    try:
        return _size(text) if re.fullmatch(r"-?\d+", text) else float(text)
    except ValueError:
        return text  # a size that varies


def _ids(text):
    return [None if i == "none" else int(i[1:]) for i in _split(text)]


def parse(text: str) -> Graph:
    """The graph of a text that `_C.captured_call` gave."""
    lines = iter([line.strip() for line in text.splitlines()])
    return _graph(lines, next(lines))


def _graph(lines, first):
    g = Graph()
    for part in _split(first[first.index("(") + 1:first.rindex(")")]):
        id, type = re.match(r"%(\d+): (\S+)", part).groups()
        g.inputs.append((int(id), _type(type)))
    for line in lines:
        if line.startswith("return"):
            g.outputs = [int(part.split("%")[-1]) for part in _split(line[6:])]
            next(lines)  # }
            return g
        if line == "region":
            g.nodes[-1].regions.append(_graph(lines, next(lines)))
            continue
        line, _, place = line.partition("  # ")
        id, type, op, args, attrs = re.fullmatch(r"%(\d+): (.*?) = (\w+)\((.*?)\)(?: \{(.*)\})?", line).groups()
        pairs = [p.partition("=") for p in _split(attrs or "")]
        values = {k: _attribute(v) for k, _, v in pairs}
        if op == "const":
            values = {"value": args}
        g.nodes.append(Node(int(id), op, [] if op == "const" else _ids(args), values, _type(type), place))
    raise ValueError("the graph has no end")


class Traced(NamedTuple):
    """A network's graph: values: what each of its inputs is, by id (a number: that input of the network; else a Tensor
    or number); result: what the network gives, with ids in place of Tensors of the graph."""

    graph: Graph
    values: dict[int, Any]
    result: Any


@contextlib.contextmanager
def _capture_on():
    """Capture is on, also in a program that runs plainly, and below a debugger or a profiler."""
    forbidden = _C.forbid_capture(False)
    tracer, profiler = sys.gettrace(), sys.getprofile()
    sys.settrace(None)
    sys.setprofile(None)
    try:
        yield
    finally:
        sys.setprofile(profiler)
        sys.settrace(tracer)
        _C.forbid_capture(forbidden)


def trace(who: str, net: Any, inputs: tuple[Any, ...], shapes: list[Any]) -> Traced:
    """Captures a call. shapes: per input a shape with -1 where a size varies. RuntimeError where there is no graph of
    the whole call, or where it changes something."""
    names = [f"x{k}" for k in range(len(inputs))]
    made: dict[str, Any] = {}
    exec(f"def run(net{''.join(', ' + n for n in names)}):\n    return net({', '.join(names)})\n", made)
    run = _C.jit(made["run"], True, True, False)
    if any(-1 in s for s in shapes):
        _C.set_signature(run, [None, *((x.dtype, tuple(s)) for x, s in zip(inputs, shapes))])
    with _capture_on():
        run(net, *inputs)
        call = _C.captured_call(run, (net, *inputs))
    if call is None:
        raise RuntimeError(f"For '{who}', the network is no single graph: pijit.explain says where it breaks.")
    if call["effects"]:
        raise RuntimeError(f"For '{who}', the network changes something when it runs ({'; '.join(call['effects'])}), "
                           "which no file holds: call set_train(False) before.")
    fixed = [c for c in call["constraints"] if " == " in c]
    if fixed:
        raise RuntimeError(f"For '{who}', a size is to vary, but the network works for one only: {fixed[0]}.")
    graph = parse(call["graph"]) if call["graph"] else Graph()
    values = {}
    for (number, _), v in zip(graph.inputs, call["inputs"]):
        values[number] = next((k for k, x in enumerate(inputs) if x is v), v)
    places = {id(t): k for t, k in call["places"]}
    own = {id(v): i for i, v in zip(values, call["inputs"])}
    return Traced(graph, values, _result(who, call["result"], lambda t: graph.outputs[places[id(t)]]
                                         if id(t) in places else own.get(id(t), t)))


def _result(who, o, id_of):
    if isinstance(o, (tuple, list)):
        return [_result(who, x, id_of) for x in o]
    if isinstance(o, dict):
        return [_result(who, x, id_of) for x in o.values()]
    if isinstance(o, _C.Tensor):
        return id_of(o)
    raise _check.refused(who, "the network's result", _check.type_("Tensors, or tuples, lists and dicts of them"), o)
