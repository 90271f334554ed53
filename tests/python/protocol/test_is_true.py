"""PyObject_IsTrue (Objects/object.c): nb_bool, then a length, then True; PyObject_Size."""

import pytest
from differential import check

from protocol.operands import all_operands, compare


def giving(name, value, *methods):
    return type(name, (), {f"__{m}__": lambda self, value=value: value for m in methods})


Yes, No = giving("Yes", True, "bool"), giving("No", False, "bool")
NoBool, Empty, Full = giving("NoBool", 3, "bool"), giving("Empty", 0, "len"), giving("Full", 2, "len")
Negative, NoLength = giving("Negative", -1, "len"), giving("NoLength", "x", "len")
Both = type("Both", (Empty,), {"__bool__": lambda self: True})
Int, Items = type("Int", (int,), {}), type("Items", (list,), {})
OPERANDS = all_operands(Yes, No, NoBool, Empty, Full, Negative, NoLength, Both, Int, Items)
OPERANDS |= {"no text": lambda: "", "zero": lambda: 0.0, "no tuple": tuple, "no list": list, "no dict": dict,
             "no set": set}


@pytest.mark.parametrize("text", ["not a", "bool(a)", "1 if a else 2", "a and 3", "a or 3",
                                  "[x for x in (1, 2) if a]", "len(a)", "a.__len__()", "all([a, 1])", "any([a])"])
def test_truth_and_length(text):
    wrong = compare(f"lambda a, b: {text}", OPERANDS, [(name, "none") for name in OPERANDS])
    assert not wrong, wrong


def test_methods_of_python_are_followed():
    for x in (Yes(), No(), Empty(), Full(), Both()):
        check(lambda: lambda x: 1 if x else 2, x, breaks=0)
