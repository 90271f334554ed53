"""PyObject_GetIter and PyIter_Next (Objects/abstract.c): which class iterates, what ends it, and what is raised where
the slot is absent."""

import collections
import itertools

import pytest
from differential import check

from pijit import Tensor
from protocol.operands import all_operands


class Counts:
    def __init__(self, n=3):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n <= 0:
            raise StopIteration("done")
        self.n -= 1
        return self.n


class Derived(Counts):
    def __next__(self):
        return super().__next__() * 10


class NextAlone:
    def __next__(self):
        return 1


class NoNext:
    def __iter__(self):
        return [1, 2]


class Never:
    __iter__ = None


class Fails:
    def __iter__(self):
        return self

    def __next__(self):
        raise KeyError("in __next__")


class Indexed:
    def __getitem__(self, k):
        if k > 2:
            raise IndexError(k)
        return k * 2


List, Text = type("List", (list,), {}), type("Text", (str,), {})
ITERATED = all_operands(Counts, Derived, NextAlone, NoNext, Never, Fails, Indexed) | {
    "List": lambda: List([1, 2]), "Text": lambda: Text("ab"), "list iterator": lambda: iter([1, 2]),
    "dict iterator": lambda: iter({1: 2}), "items": lambda: {1: 2}.items(), "set iterator": lambda: iter({1}),
    "text iterator": lambda: iter("ab"), "range iterator": lambda: iter(range(3)), "zip": lambda: zip([1], "a"),
    "enumerate": lambda: enumerate("ab"), "map": lambda: map(str, [1]), "filter": lambda: filter(None, [0, 1]),
    "reversed": lambda: reversed([1, 2]), "generator": lambda: (x * 2 for x in [1, 2]),
    "chain": lambda: itertools.chain([1], [2]), "empty": lambda: iter(()), "deque iterator":
    lambda: iter(collections.deque([1]))}
USES = {"next": "next(a)", "next or": "next(a, 'end')", "twice": "(next(a, 0), next(a, 0))",
        "iter": "next(iter(a), 'none')",
        "loop": "[x for x in a]", "tuple": "tuple(a)", "star": "[*a]", "unpack": "(lambda x, y: (x, y))(*a)",
        "zip": "list(zip(a, [7, 8]))", "enumerate": "list(enumerate(a, 1))", "map": "list(map(repr, a))",
        "sum": "sum(a)", "max": "max(a)", "in": "1 in a", "yield": "list((lambda: (yield from a))())",
        "any": "any(a)", "sorted": "sorted(a)", "join": "''.join(a)", "dict": "dict.fromkeys(a)"}


@pytest.mark.parametrize("use", USES)
def test_uses(use):
    wrong = []
    for name, made in ITERATED.items():
        if name == "NextAlone" and use in ("loop", "tuple"):
            continue
        try:
            check(lambda: eval(f"lambda make: [(lambda a: {USES[use]})(make())]", {}), made)
        except AssertionError as e:
            wrong.append(f"{name}: {str(e).strip().splitlines()[0][:300]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("use", ["next", "next or", "loop", "star", "zip"])
def test_uses_of_what_comes_from_outside(use):
    wrong = []
    for name, made in ITERATED.items():
        try:
            check(lambda: eval(f"lambda: {USES[use]}", {"a": made()}), calls=3)
        except AssertionError as e:
            wrong.append(f"{name}: {str(e).strip().splitlines()[0][:300]}")
    assert not wrong, "\n".join(wrong)


def test_an_absent_slot_is_handled_in_the_graph():
    def handled(a, x):
        found = []
        for f in (lambda: next(a), lambda: iter(a), lambda: [y for y in a], lambda: max(a)):
            try:
                f()
            except TypeError as e:
                found.append(str(e))
        return x * 2, found
    for name in ("int", "float", "none", "ellipsis", "plain", "level", "flags", "complex"):
        check(lambda: handled, ITERATED[name](), Tensor([1.0]), breaks=0)


def test_a_method_in_python_is_asked_by_next():
    def f(x):
        a = Counts(2)
        return next(a), next(a) + x, next(Derived(2))
    check(lambda: f, Tensor([1.0]), breaks=0)


def test_what_ends_it_keeps_its_value():
    def f():
        a = Counts(0)
        try:
            next(a)
        except StopIteration as e:
            return e.value, e.args, next(a, 4)
        return None
    check(lambda: f)
