"""PyNumber_InPlaceAdd and its kind (Objects/abstract.c, binary_iop1): __iadd__ first, then as a binary operator; of
sequences after the methods of numbers."""

import itertools

import pytest
from differential import check

import pijit as ms

from protocol.operands import BINARY, all_operands, answering, compare

NAMES = list(BINARY.values())
InPlace = answering("InPlace", methods=" ".join("i" + n for n in NAMES))
Declining = answering("Declining", methods=" ".join(m + n for n in NAMES for m in ("", "r", "i")), declines=True)
Binary = answering("Binary", methods=" ".join(NAMES))
Right = answering("Right", methods=" ".join("r" + n for n in NAMES))
Int = type("Int", (int,), {})
OPERANDS = all_operands(InPlace, Declining, Binary, Right, Int)
OPERANDS["Int"] = lambda: Int(5)
CHANGED = """list dict counter set deque InPlace Declining Binary Int tensor tuple frozenset int text level plain
    none""".split()
MADE = "list dict set tuple frozenset int text".split()


def function(*lines):
    """A function of a and b."""
    scope = {}
    exec("def f(a, b):\n    " + "\n    ".join(lines), scope)
    return scope["f"]


@pytest.mark.parametrize("sign", BINARY)
def test_in_place(sign):
    f = function(f"a {sign}= b", "return a")
    wrong = compare(f, OPERANDS, itertools.product(CHANGED, OPERANDS))
    assert not wrong, wrong


@pytest.mark.parametrize("sign", BINARY)
def test_in_place_of_what_is_made_here(sign):
    f = function("a = c = type(a)(a)", f"a {sign}= b", "return a, c, a is c")
    wrong = compare(f, OPERANDS, itertools.product(MADE, OPERANDS))
    assert not wrong, wrong


def test_identity_stays():
    def lists(x):
        a = b = [1]
        a += (2, 3)
        a *= 2
        return a, a is b, x * 2

    def dicts(x):
        a = b = {1: 2}
        a |= {3: 4}
        return a, a is b, x * 2

    def sets(x):
        a = b = {1, 2}
        a |= {3}
        a -= {1}
        return a, a is b, x * 2
    for f in (lists, dicts, sets):
        check(lambda f=f: f, ms.Tensor([1.0]), breaks=0)


def test_methods_of_numbers_come_before_those_of_sequences():
    class Adds:
        def __radd__(self, other):
            return "radd"

        def __iter__(self):
            return iter((1, 2))

    def f(x):
        x += Adds()
        return x
    check(lambda: f, [1])
    check(lambda: f, (1,))
