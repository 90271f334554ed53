"""PyObject_GetItem, PyObject_SetItem, PyObject_DelItem, PySequence_Contains, PyObject_GetIter and PyIter_Next over
objects of every sort."""

import pytest
from differential import check

from protocol.operands import all_operands, answering, compare
from protocol.test_in_place import function

Items = answering("Items", methods="getitem setitem delitem iter")  # else it has no end
Has = answering("Has", methods="contains")
List, Dict = type("List", (list,), {}), type("Dict", (dict,), {"__missing__": lambda self, key: ("missing", key)})


class Iterates:
    def __iter__(self):
        return iter((1, 2))


class Generates:
    def __iter__(self):
        yield 1
        yield 2


class Indexed:  # as sequences were iterated before __iter__
    def __getitem__(self, k):
        if k > 2:
            raise IndexError(k)
        return k * 2


class NoIterator:
    def __iter__(self):
        return 3


OPERANDS = all_operands(Items, Has, List, Dict, Iterates, Generates, Indexed, NoIterator)
OPERANDS |= {"List": lambda: List([1, 2]), "Dict": lambda: Dict({1: 2}), "zero": lambda: 0, "minus": lambda: -1,
             "far": lambda: 9, "part": lambda: slice(0, 1)}
KEYS = "zero bool minus far float text none tuple part slice level list class".split()


@pytest.mark.parametrize("lines", [["return a[b]"], ["a[b] = 7", "return a"], ["del a[b]", "return a"],
                                   ["return b in a"], ["return b not in a"]])
def test_items(lines):
    wrong = compare(function(*lines), OPERANDS, [(a, b) for a in OPERANDS for b in KEYS])
    assert not wrong, wrong


@pytest.mark.parametrize("text", ["[x for x in a]", "list(a)", "tuple(a)", "(lambda *r: r)(*a)", "next(iter(a))",
                                  "next(iter(a), b)", "sum(a)", "max(a)", "sorted(a)", "[*zip(a, (1, 2))]",
                                  "[*enumerate(a)]", "[*map(str, a)]", "dict.fromkeys(a)", "[*reversed(a)]",
                                  "len(set(a))"])
def test_iteration(text):
    wrong = compare(f"lambda a, b: {text}", OPERANDS, [(name, "none") for name in OPERANDS])
    assert not wrong, wrong


@pytest.mark.parametrize("text", ["a, = b", "x, y = b", "x, *y = b"])
def test_unpacking(text):
    f = function(text, "return x if 'x' in locals() else a")
    wrong = compare(f, OPERANDS, [("none", name) for name in OPERANDS])
    assert not wrong, wrong


def test_methods_of_python_are_followed():
    check(lambda: lambda x: (x[1], 3 in x), type("A", (Items, Has), {})(), breaks=0)
    check(lambda: lambda x: [k for k in x], Generates(), breaks=0)
