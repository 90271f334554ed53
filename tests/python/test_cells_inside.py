"""Cells made, replaced and changed while a function is captured; attributes in slots."""

import dataclasses
import sys

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, nn
from differential import check, check_calls

X = Tensor(np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8))


def test_a_cell_made_inside():
    def make():
        return lambda x: nn.Softmax(-1)(nn.ReLU()(x) * 2)
    check(make, X, graphs=1, breaks=0)


def test_parts_of_containers():
    def make():
        layers = nn.CellList([nn.Dense(8, 8) for _ in range(4)])
        sequence = nn.SequentialCell([nn.Dense(8, 8), nn.ReLU(), nn.Dense(8, 3)])

        def f(x):
            for layer in layers[1:]:
                x = layer(x)
            return sequence[:2](x), layers[-1](x)
        return f, lambda: [p.name for p in layers.get_parameters()]
    ms.set_seed(3)
    check(make, X, graphs=1, breaks=0)


def test_a_slice_leaves_the_names_of_parameters():
    layers = nn.CellList([nn.Dense(2, 2) for _ in range(3)])
    before = [p.name for p in layers.get_parameters()]
    part = layers[1:]
    assert [p.name for p in layers.get_parameters()] == before
    assert [p.name for p in part.get_parameters()] == before[2:]


def cells():
    return nn.CellDict({"a": nn.ReLU(), "b": nn.Tanh()})


def listed():
    return nn.CellList([nn.ReLU(), nn.Tanh()])


# As MindSpore 2.10 raises.
MISUSED = {
    "a dot": (lambda: cells().update({"a.b": nn.ReLU()}), KeyError),
    "a dot set": (lambda: cells().__setitem__("a.b", nn.ReLU()), KeyError),
    "nothing": (lambda: cells().__setitem__("", nn.ReLU()), KeyError),
    "an attribute": (lambda: nn.CellDict({"training": nn.ReLU()}), KeyError),
    "a method": (lambda: nn.CellDict([("construct", nn.ReLU())]), KeyError),
    "keys": (lambda: nn.CellDict({"keys": nn.ReLU()}), KeyError),
    "_cells": (lambda: nn.CellDict({"_cells": nn.ReLU()}), KeyError),
    "a number": (lambda: cells().__setitem__(1, nn.ReLU()), TypeError),
    "no Cell": (lambda: cells().__setitem__("c", 3), TypeError),
    "del": (lambda: cells().__delitem__("q"), KeyError),
    "del of a number": (lambda: cells().__delitem__(0), KeyError),
    "pop": (lambda: cells().pop("q"), KeyError),
    "call of a dict": (lambda: cells()(X), NotImplementedError),
    "call of a list": (lambda: listed()(X), NotImplementedError),
    "a list's name": (lambda: listed()["a"], TypeError),
    "a sequence's name": (lambda: nn.SequentialCell(nn.ReLU())["a"], TypeError),
    "insert": (lambda: listed().insert(0, 3), TypeError),
    "+= of no list": (lambda: listed().__iadd__(3), TypeError),
    "+= of no Cells": (lambda: listed().__iadd__([3]), TypeError),
}


@pytest.mark.parametrize("name", MISUSED)
def test_containers_misused(name):
    f, error = MISUSED[name]
    with pytest.raises(error):
        f()


def test_cells_added_in_place():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.layers = nn.CellList()
            self.layers += [nn.Dense(8, 8)]
            self.layers += (nn.Dense(8, 2),)

        def construct(self, x):
            for layer in self.layers:
                x = layer(x)
            return x
    net = Net()
    assert [p.name for p in net.get_parameters()] == ["layers.0.weight", "layers.0.bias", "layers.1.weight",
                                                      "layers.1.bias"]
    assert type(net.layers) is nn.CellList and net(X).shape[-1] == 2
    named = cells()
    named["a"] = nn.GELU()  # in its place
    del named["b"]
    assert list(named) == ["a"] and type(named["a"]) is nn.GELU and not hasattr(named, "b")


class Remembers(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(8, 8)
        self.count = 0

    def construct(self, x):
        self.act = nn.Tanh()
        self.count = self.count + 1
        self.last = x
        x = self.act(self.dense(x))
        self.last = x
        return x


def test_attributes_and_cells_assigned_in_construct():
    def make():
        ms.set_seed(1)
        net = Remembers()
        return (lambda x: net(x)), lambda: (net.count, net.last, type(net.act).__name__, list(net._cells))
    # The first call adds `act`, the others replace it.
    e = check(make, X, calls=6, breaks=0)
    assert e.compile_count <= 3, e


def test_refused_assignments_raise_as_eagerly():
    def make():
        net = Remembers()

        def f(x):
            y = x * 2
            try:
                net.dense = 3
            except TypeError as e:
                return y, str(e)
        return f
    check(make, X)


def test_assignment_before_init_raises():
    class Early(nn.Cell):
        def __init__(self):
            self.d = nn.Dense(2, 2)
            super().__init__()
    with pytest.raises(AttributeError, match="super"):
        Early()


@dataclasses.dataclass(**{"slots": True} if sys.version_info >= (3, 10) else {})
class Point:
    x: Tensor
    scale: float = 2.0


class Slotted:
    __slots__ = ("total", "__dict__")


def test_slots_are_read_and_written():
    def make():
        p, s = Point(X), Slotted()
        s.total = X
        s.other = 1.0

        def f(x):
            s.total = s.total + x * p.scale
            p.scale = 3.0
            p.x = s.total
            return p.x + s.other
        return f, lambda: (p.x, p.scale, s.total)
    check_calls(make, [(X,)] * 6, breaks=0)


def test_a_slot_that_is_not_set():
    def make():
        s = Slotted()

        def f(x):
            try:
                return x + s.total
            except AttributeError:
                s.total = 1.0
                return x * 2
        return f
    check(make, X, calls=4)


class Counted:
    def __init__(self):
        object.__setattr__(self, "log", [])

    def __setattr__(self, name, value):
        self.log.append(name)
        object.__setattr__(self, name, value)


def test_a_class_with_its_own_setattr():
    def make():
        c = Counted()

        def f(x):
            c.a = x
            c.b = c.a * 2
            return c.b
        return f, lambda: c.log
    check(make, X, graphs=1, breaks=0, calls=5)
