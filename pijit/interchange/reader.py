"""MindIR files, checked and made networks that run. Nothing of a file is run but primitives that `primitives` knows."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from pijit import _check
from pijit.interchange import schema
from pijit.interchange.primitives import OF_TENSORS, READ
from pijit.nn import Cell
from pijit.parameter import Parameter

if TYPE_CHECKING:
    from typing import Any

_BESIDE = re.compile(r"[^/\\.][^/\\]*_variables/data_\d+")  # the only files that a file may name
_NUMBERS = (3, 4, 5, 6, 7, 13, 12, 2)  # types of attributes that are ints


class _Bad(ValueError):
    """What is wrong with a file, without its name."""


class Step(NamedTuple):
    """One operation: function of (attributes, *values); inputs and output are places."""

    function: Any
    attributes: dict[str, Any]
    inputs: list[int]
    output: int


class Closure(NamedTuple):
    """A function of the file with its first arguments."""

    graph: Any
    args: tuple[Any, ...]


class Function:
    """A graph that is read: places of inputs, steps, place of the result."""

    def __init__(self, name: str) -> None:
        self.name, self.inputs, self.steps, self.output = name, [], [], -1


class Network(Cell):
    """The network of a file, for nn.GraphCell."""

    def __init__(self, main: Function, constants: dict[int, Any], places: list[tuple[int, Parameter]]) -> None:
        super().__init__(auto_prefix=False)
        self._main, self._constants = main, constants
        self._places = places
        for _, p in places:
            self.insert_param_to_cell(p.name, p, check_name_contain_dot=False)

    def construct(self, *inputs: Any) -> Any:
        if len(inputs) != len(self._main.inputs):
            raise _check.expected("GraphCell", f"{len(self._main.inputs)} inputs", len(inputs))
        env = dict(self._constants)
        for place, p in self._places:
            env[place] = p
        return _run(self._main, inputs, env)


def _run(function, args, outer):
    while True:
        env = dict(outer)
        for place, v in zip(function.inputs, args):
            env[place] = v
        last = function.steps[-1] if function.steps else None
        for step in function.steps:
            values = [env[i] for i in step.inputs]
            if step.function is not _call:
                env[step.output] = step.function(step.attributes, *values)
                continue
            closure = Closure(values[0].graph, values[0].args + tuple(values[1:]))
            if step is last and step.output == function.output:
                break  # a call at the end is a jump: loops are made of them
            env[step.output] = _run(closure.graph, closure.args, outer)
        else:
            return env[function.output]
        function, args = closure.graph, closure.args


def _call():
    """Stands for a call of a function of the file."""


def _partial(attributes, closure, *args):
    return Closure(closure.graph, closure.args + args)


def _switch(attributes, condition, yes, no):
    return yes if condition else no


_CONTROL = {"Partial": _partial, "Switch": _switch}


class _Reader:
    def __init__(self, path):
        self.path = path
        self.places: dict[str, int] = {}
        self.constants: dict[int, Any] = {}
        self.parameters: list[tuple[int, Parameter]] = []
        self.functions: dict[str, Function] = {}

    def place(self, name):
        return self.places.setdefault(name, len(self.places))

    # --- values

    def tensor(self, t, raw=None):
        from pijit.serialization import _tensor
        dtype = OF_TENSORS.get(t.data_type)
        if dtype is None:
            raise _Bad(f"{t.data_type} is the number of no dtype")
        if any(d < 0 for d in t.dims):
            raise _Bad(f"the tensor {t.name!r} has the shape {tuple(t.dims)}")
        try:
            return _tensor(self.path, t.name, dtype, tuple(t.dims), t.raw_data if raw is None else raw)
        except (ValueError, OverflowError) as e:
            raise _Bad(f"the tensor {t.name!r} does not fit its data") from e

    def attribute(self, a, depth=0):
        if depth > 16:
            raise _Bad("tuples stand in each other more than 16 deep")
        kind = a.type
        if kind in (20, 21):
            return tuple(self.attribute(v, depth + 1) for v in a.values)
        if kind == 9:
            return bool(a.ints[0] if a.ints else a.i)
        if kind in _NUMBERS:
            return a.ints[0] if a.ints else a.i
        if kind == 1:
            return a.floats[0] if a.floats else a.f
        if kind == 11:
            return a.doubles[0] if a.doubles else a.d
        if kind == 8:
            return (a.strings[0] if a.strings else a.s).decode("utf-8", "replace")
        if kind in (17, 19) and (a.tensors or a.HasField("t")):
            return self.tensor(a.tensors[0] if a.tensors else a.t)
        if kind in (23, 24, 25, 36):
            return None
        raise _Bad(f"the attribute {a.name!r} is of the unknown type {kind}")

    def parameter(self, m):
        raw = self.beside(m.external_data) if m.HasField("external_data") else None
        name = m.ref_key or m.name.rpartition(":")[2]
        if not name or name in (p.name for _, p in self.parameters):
            raise _Bad(f"there are several parameters named {name!r}, or it has no name")
        self.parameters.append((self.place(m.name), Parameter(self.tensor(m, raw), name=name)))

    def beside(self, e):
        if not _BESIDE.fullmatch(e.location):
            raise _Bad(f"it names the file {e.location!r} for parameters, and only NAME_variables/data_NUMBER beside "
                       "it is read")
        folder = os.path.realpath(os.path.dirname(self.path) or ".")
        path = os.path.realpath(os.path.join(folder, e.location))
        if os.path.commonpath([folder, path]) != folder or not os.path.isfile(path):
            raise _Bad(f"the file {e.location!r} with parameters is not there")
        if e.offset < 0 or e.length < 0 or e.offset + e.length > os.path.getsize(path):
            raise _Bad(f"the file {e.location!r} has no {e.length} bytes at {e.offset}")
        with open(path, "rb") as f:
            f.seek(e.offset)
            return f.read(e.length)

    # --- graphs

    def read(self, model):
        graphs = [model.graph, *model.functions]
        self.primitives = {p.name: (p.op_type, {a.name: a for a in p.attribute}) for p in model.primitives}
        for g in graphs:
            if g.name in self.functions:
                raise _Bad(f"there are several functions named {g.name!r}")
            self.functions[g.name] = Function(g.name)
            self.constants[self.place(g.name)] = Closure(self.functions[g.name], ())
            for m in g.parameter:
                self.parameter(m)
            for n in g.node:
                if n.op_type == "Constant":
                    if len(n.output) != 1 or len(n.attribute) != 1:
                        raise _Bad(f"the constant {n.name!r} has no value")
                    self.constants[self.place(n.output[0])] = self.attribute(n.attribute[0])
        for g in graphs:
            self.graph(g, self.functions[g.name])
        return Network(self.functions[model.graph.name], self.constants, self.parameters)

    def graph(self, g, function):
        known = set(self.constants) | {place for place, _ in self.parameters}
        for i in g.input:
            function.inputs.append(self.place(i.name))
        known |= set(function.inputs)
        for n in g.node:
            if n.op_type == "Constant":
                continue
            if len(n.output) != 1:
                raise _Bad(f"the node {n.name!r} has {len(n.output)} outputs")
            function.steps.append(self.step(n, known))
            known.add(function.steps[-1].output)
        if len(g.output) != 1 or self.places.get(g.output[0].name) not in known:
            raise _Bad(f"the graph {g.name!r} has no result")
        function.output = self.place(g.output[0].name)

    def step(self, n, known):
        for i in n.input:
            if self.places.get(i) not in known:
                raise _Bad(f"the node {n.name!r} reads {i!r}, which is computed by none before it")
        inputs, key = [self.place(i) for i in n.input], n.op_type.removeprefix("REF::")
        output = self.place(n.output[0])
        if output in known:
            raise _Bad(f"there are several values named {n.output[0]!r}")
        if key not in self.primitives:
            if self.places.get(key) not in known:
                raise _check.unknown("load", "primitive", key)
            return Step(_call, {}, [self.place(key), *inputs], output)
        name, attributes = self.primitives[key]
        function = _CONTROL.get(name) or READ.get(name)
        if function is None:
            raise _check.unknown("load", "primitive", name)
        return Step(function, {k: self.attribute(a) for k, a in attributes.items()}, inputs, output)


def _check_texts(message):
    """Refuses texts that are not UTF-8, which protobuf hands out as bytes."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_STRING:
            if any(not isinstance(v, str) for v in ([value] if isinstance(value, (str, bytes)) else value)):
                raise _Bad(f"a {field.name} is not encoded in UTF-8")
        elif field.type == field.TYPE_MESSAGE:
            for part in [value] if hasattr(value, "ListFields") else value:
                _check_texts(part)


def load(path: str) -> tuple[Network, list[tuple[str, tuple[int, ...]]]]:
    """A file's network, and the dtypes and shapes of its inputs (-1: it varies). ValueError says what is wrong with a
    file, or names a primitive that is not known."""
    with open(path, "rb") as f:
        data = f.read()
    model = schema.messages("mind_ir")["ModelProto"]()
    from google.protobuf.message import DecodeError
    try:
        model.ParseFromString(data)
        _check_texts(model)
        if not model.HasField("graph"):
            raise _Bad("it holds no graph")
        network = _Reader(path).read(model)
        inputs = [(OF_TENSORS.get(i.tensor[0].data_type, "float32"), tuple(i.tensor[0].dims)) if i.tensor else
                  ("", ()) for i in model.graph.input]
    except (_Bad, DecodeError, UnicodeDecodeError, RecursionError, OverflowError) as e:
        raise ValueError(f"For 'load', {path!r} is no MindIR file that can be read: {e}.") from None
    return network, inputs
