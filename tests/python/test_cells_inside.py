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
