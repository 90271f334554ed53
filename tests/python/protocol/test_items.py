"""PyObject_GetItem, PyObject_SetItem, PyObject_DelItem, PySequence_Contains, PyObject_GetIter and PyIter_Next over
objects of every sort."""

import pytest
from differential import check

from pijit import Tensor

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


ABSENT = ["len(a)", "a[0]", "a['k']", "a[0:1]", "a[None]", "del_item(a, 0)", "del_item(a, 'k')", "set_item(a, 0, 1)",
          "len({a: 1})", "{1: a}[a]", "a in {1, 2}", "iter(a) is a", "-a", "~a", "a + []", "[] + a", "a * (1, 2)",
          "a < 3", "3 < a", "[a] < [3]", "a @ a", "a << 1.5", "a['k']['m']",
          "(lambda *b: b)(*iter(a))", "divmod(a, [])"]


@pytest.mark.parametrize("text", ABSENT)
def test_an_absent_slot_raises_as_in_python(text):
    """Where the class has no slot, or those of both classes refuse, the text is CPython's, and handlers see it."""
    def set_item(a, k, v):
        a[k] = v

    def del_item(a, k):
        del a[k]

    def handled(a, x):
        try:
            r = f(a)
        except TypeError as e:
            r = str(e), e.args
        return r, x * 2
    f = eval(f"lambda a: {text}", {"set_item": set_item, "del_item": del_item})
    for name in ("int", "float", "text", "bytes", "none", "ellipsis", "tuple", "list", "dict", "set", "range",
                 "complex", "plain", "level", "flags", "Items", "tensor", "function", "class"):
        check(lambda: handled, OPERANDS[name](), Tensor([1.0]))
        check(lambda: (lambda a: f(a)), OPERANDS[name]())


def test_what_refuses_its_operands_is_handled_in_the_graph():
    def handled(x):
        found = []
        for f in (lambda: len(3), lambda: 3[0], lambda: {[]: 1}, lambda: [1] + (2,), lambda: "a" + 1, lambda: (1,) < 2,
                  lambda: -"a", lambda: {}[{}], lambda: None < 1, lambda: [1, 2] @ 3, lambda: [1] - [2]):
            try:
                f()
            except TypeError as e:
                found.append(str(e))
        return found, x * 2
    check(lambda: handled, Tensor([1.0]), breaks=0)
