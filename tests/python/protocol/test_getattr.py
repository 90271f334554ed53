"""PyObject_GetAttr, PyObject_SetAttr and PyObject_DelAttr over objects of every sort: the class's data descriptors, the
object's own, the class's others, __getattr__; str() and repr()."""

import pytest

from protocol.operands import all_operands, compare
from protocol.test_in_place import function


class Named:
    __slots__ = ()

    def __repr__(self):
        return type(self).__name__


class Property(Named):
    @property
    def x(self):
        return "got"

    @x.setter
    def x(self, value):
        self.y = value


class Descriptor:
    def __get__(self, obj, cls):
        return "described", obj is None, cls.__name__


class Described(Named):
    x = Descriptor()


class Slots(Named):
    __slots__ = "x"

    def __init__(self):
        self.x = 4

    def __eq__(self, other):
        return type(other) is Slots and getattr(self, "x", None) == getattr(other, "x", None)

    __hash__ = None


class Own(Named):
    x = 1

    def __init__(self):
        self.x = 2


class ClassOnly(Own):
    def __init__(self):
        pass


class Missing(Named):
    def __getattr__(self, name):
        if name not in "xyz":
            raise AttributeError(name)
        return "missing " + name


class Refuses(Named):
    def __setattr__(self, name, value):
        raise AttributeError("no " + name)


class Method(Named):
    def x(self, *args):
        return "called", args

    def __str__(self):
        return "as text"


class Reads(Named):
    def __getattribute__(self, name):
        return "read " + name if name in "xyz" else object.__getattribute__(self, name)


OPERANDS = all_operands(Property, Described, Slots, Own, ClassOnly, Missing, Refuses, Method, Reads)
USES = ["return a.x", "a.x = 5\nreturn a.x", "del a.x\nreturn a.x", "return getattr(a, 'x', 'none')",
        "return hasattr(a, 'x')", "return a.__class__.__name__", "return type(a).x", "return str(a)", "return repr(a)",
        "return f'{a}'", "return a.x(1)", "return a.__doc__", "a.x += 1\nreturn a.x"]


@pytest.mark.parametrize("use", USES)
def test_attributes(use):
    changes = use.startswith(("a.x", "del"))  # members of enums are there for all runs
    names = [n for n in OPERANDS if not (changes and n in ("level", "flags"))]
    wrong = compare(function(*use.split("\n")), OPERANDS, [(name, "none") for name in names])
    assert not wrong, wrong
