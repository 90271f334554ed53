"""PyNumber_Add and its kind (Objects/abstract.c, binary_op1): which operand is asked, in which order, and what is
raised."""

import pytest
from differential import check

from protocol.operands import BINARY, all_operands, answering, compare, of_builtins, with_python

NAMES = list(BINARY.values())
BOTH = " ".join(NAMES + ["r" + n for n in NAMES])
Both = answering("Both", methods=BOTH)
Left = answering("Left", methods=" ".join(NAMES))
Right = answering("Right", methods=" ".join("r" + n for n in NAMES))
Declining = answering("Declining", methods=BOTH, declines=True)
Derived = answering("Derived", Both, " ".join("r" + n for n in NAMES))  # comes before its base
Heir = type("Heir", (Both,), {})  # has its base's methods: does not
Number = answering("Number", int, " ".join("r" + n for n in NAMES))
Int = type("Int", (int,), {})
Real = type("Real", (float,), {})
OPERANDS = all_operands(Both, Left, Right, Declining, Derived, Heir, Number, Int, Real)
OPERANDS["Int"], OPERANDS["Real"], OPERANDS["Number"] = lambda: Int(5), lambda: Real(1.5), lambda: Number(4)
IN_PYTHON = ["Both", "Left", "Right", "Declining", "Derived", "Heir", "Number", "Int", "Real", "plain"]


@pytest.mark.parametrize("sign", BINARY)
def test_builtins_with_builtins(sign):
    wrong = compare(f"lambda a, b: a {sign} b", OPERANDS, of_builtins(OPERANDS, IN_PYTHON))
    assert not wrong, wrong


@pytest.mark.parametrize("sign", BINARY)
def test_classes_in_python(sign):
    wrong = compare(f"lambda a, b: a {sign} b", OPERANDS, with_python(OPERANDS, IN_PYTHON))
    assert not wrong, wrong


def test_methods_of_python_are_followed():
    for a, b in ((Both(), 1), (1, Both()), (Left(), Right()), (Declining(), Right()), (Both(), Derived()),
                 ([1], Both()), ((1,), Right()), (None, Right())):
        check(lambda: lambda a, b: a + b, a, b, breaks=0)


def test_a_method_that_declines_is_asked_once():
    def make():
        seen = []

        class A:
            def __add__(self, other):
                seen.append("add")
                return NotImplemented

        class B:
            def __radd__(self, other):
                seen.append("radd")
                return 7
        a, b = A(), B()
        return (lambda: (a + b, a + b)), lambda: seen
    check(make, breaks=0)
