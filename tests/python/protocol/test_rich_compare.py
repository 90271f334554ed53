"""PyObject_RichCompare (Objects/object.c) and, as containers ask, PyObject_RichCompareBool: which operand is asked, in
which order, and what holds where none answers."""

import pytest
from differential import check

from protocol.operands import COMPARISONS, all_operands, answering, compare, of_builtins, with_python

NAMES = " ".join(COMPARISONS.values())
Both = answering("Both", methods=NAMES)
Less = answering("Less", methods="lt le")
Equal = answering("Equal", methods="eq")  # object's __ne__ inverts it
Declining = answering("Declining", methods=NAMES, declines=True)
Derived = answering("Derived", Both, NAMES)
Heir = type("Heir", (Both,), {})
Number = answering("Number", int, NAMES)
Int = type("Int", (int,), {})
Text = type("Text", (str,), {})
Items = type("Items", (list,), {})
OPERANDS = all_operands(Both, Less, Equal, Declining, Derived, Heir, Number, Int, Text, Items)
OPERANDS |= {"Int": lambda: Int(3), "Number": lambda: Number(4), "Text": lambda: Text("ab"),
             "Items": lambda: Items([1]), "other pair": lambda: (1, 2.0), "other list": lambda: [1, 3],
             "other dict": lambda: {"s": 3, 1: 2},
             "keys": lambda: {1: 2, 2: 3}}
IN_PYTHON = ["Both", "Less", "Equal", "Declining", "Derived", "Heir", "Number", "Int", "Text", "Items", "plain"]


@pytest.mark.parametrize("sign", COMPARISONS)
def test_builtins_with_builtins(sign):
    wrong = compare(f"lambda a, b: a {sign} b", OPERANDS, of_builtins(OPERANDS, IN_PYTHON))
    assert not wrong, wrong


@pytest.mark.parametrize("sign", COMPARISONS)
def test_classes_in_python(sign):
    wrong = compare(f"lambda a, b: a {sign} b", OPERANDS, with_python(OPERANDS, IN_PYTHON))
    assert not wrong, wrong


@pytest.mark.parametrize("text", ["a is b", "a is not b", "a in [1, b]", "a in (b, 3)", "[a] == [b]",
                                  "(a, 1) != (b, 1)",
                                  "a.keys() == b.keys() if hasattr(a, 'keys') and hasattr(b, 'keys') else 0",
                                  "(a == a, a != a, a is a, a in [a])"])
def test_as_containers_ask(text):
    wrong = compare(f"lambda a, b: {text}", OPERANDS)
    assert not wrong, wrong


def test_methods_of_python_are_followed():
    for a, b in ((Both(), 1), (1, Both()), (Less(), Less()), (Declining(), Both()), (Both(), Derived()),
                 (None, Both())):
        check(lambda: lambda a, b: a < b, a, b, breaks=0)


def test_nan_is_itself_in_containers():
    nan = float("nan")
    for f in (lambda x: x == x, lambda x: [x] == [x], lambda x: x in (x,), lambda x: (x, 1) != (x, 1),
              lambda x: x in [nan]):
        check(lambda f=f: f, nan)
