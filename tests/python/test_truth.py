"""Truth under capture goes by the slots of the object's type, as CPython's does."""

import enum
import types
from typing import NamedTuple

import numpy as np
import pytest
from differential import check_calls

import pijit as ms
from pijit import Tensor

X = Tensor(np.array([1.0, 2.0], np.float32))


class Color(enum.Enum):
    RED = 0


class Level(enum.IntEnum):
    LOW = 0
    HIGH = 1


class Perm(enum.Flag):
    R = 1
    W = 2


class Bits(enum.IntFlag):
    A = 1


class Text(str, enum.Enum):
    NONE = ""
    SOME = "a"


class Sized(enum.Enum):
    A = 1

    def __len__(self):
        return 0


class Falsy(enum.Enum):
    A = 1

    def __bool__(self):
        return False


class NoClass(type):
    def __bool__(cls):
        return False


class EmptyClass(type):
    def __len__(cls):
        return 0


class Absent(metaclass=NoClass):
    pass


class Empty(metaclass=EmptyClass):
    pass


class SubAbsent(Absent):
    pass


class NoModule(types.ModuleType):
    def __bool__(self):
        return False


class Length:
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n


class Bool:
    def __init__(self, value):
        self.value = value

    def __bool__(self):
        return self.value


class BoolFirst(Length):
    def __bool__(self):
        return True


class NoBool(Length):
    __bool__ = None


class Point(NamedTuple):
    x: int


class Nothing(NamedTuple):
    pass


class FalseError(Exception):
    def __bool__(self):
        return False


class EmptyError(Exception):
    def __len__(self):
        return 0


VALUES = [
    Color.RED, Level.LOW, Level.HIGH, Perm.R, Perm.R & Perm.W, Perm.R | Perm.W, Bits.A, Bits(0), Bits(8), Text.NONE,
    Text.SOME, Sized.A, Falsy.A, Absent, Empty, SubAbsent, Color, Level, NoModule("m"), types.ModuleType("m"),
    Length(0), Length(2), Length(True), Length(-1), Length(1.5), Length("a"), Length(2**70), Bool(True),
    Bool(False), Bool(1), Bool(None), BoolFirst(0), NoBool(1), Point(0), Nothing(), FalseError(), EmptyError(),
    Exception(), 0, -0.0, float("nan"), 0j, 1j, "", "a", b"", range(0), range(3), None, ..., NotImplemented, (),
    (0,), [], [0], {}, {0: 0}, set(), {0}, frozenset(), np.float32(0), np.int8(2), np.bool_(False), len, print,
    type, object(), np.zeros(1), np.zeros(0), np.zeros(2), iter([]), (i for i in ()), zip(), slice(0),
    super(SubAbsent), lambda: 0, Length(0).__len__, Tensor([0.0]), Tensor([[2]]), Tensor([1.0, 2.0]),
    Tensor(np.zeros(0)),
]  # fmt: skip


@pytest.mark.parametrize("where", ["argument", "closure", "item"])
@pytest.mark.parametrize("number", range(len(VALUES)))
def test_truth(number, where):
    value = VALUES[number]

    def make():
        def questions(v):
            found = [bool(v), not v, 1 if v else 2, v and 5, not (v or 0)]
            if v:
                found.append("if")
            while not v:
                found.append("while")
                break
            return [f if isinstance(f, (bool, int, str)) else f is v for f in found] + [any([v]), all((v, v))]

        def argument(x, v):
            y = x * 2 if v else x * 3
            return y, questions(v)

        def closure(x, v):
            y = x * 2 if value else x * 3
            return y, questions(value)

        def item(x, v):
            held = [(v,)]
            y = x * 2 if held[0][0] else x * 3
            return y, questions(held[0][0])

        return {"argument": argument, "closure": closure, "item": item}[where]

    plain, jitted = make(), ms.jit(make())
    for _ in range(2):
        results = []
        for f in (plain, jitted):
            try:
                y, answers = f(X, value)
                results.append((y.asnumpy().tolist(), answers))
            except Exception as e:
                results.append((type(e), str(e)))
        assert results[0] == results[1]


def test_one_entry_per_member():
    def f(x, p):
        return x * 2 if p & Perm.W else x * 3

    both = Perm.R | Perm.W
    check_calls(lambda: f, [(X, Perm.R), (X, Perm.W), (X, both), (X, Perm.R), (X, both)], captures=3, breaks=0)


def test_truth_follows_later_changes():
    class Meta(type):
        pass

    class Kind(metaclass=Meta):
        pass

    class Item:
        pass

    class Answer(enum.Enum):
        A = 1

    item = Item()

    @ms.jit
    def f(x):
        return [bool(v) for v in (Kind, item, Answer.A, Item())], x + 1

    assert f(X)[0] == [True] * 4
    Meta.__bool__ = lambda cls: False
    assert f(X)[0] == [False, True, True, True]
    Item.__len__ = lambda self: 0
    assert f(X)[0] == [False, False, True, False]
    Answer.__bool__ = lambda self: False
    assert f(X)[0] == [False] * 4
    del Item.__len__, Meta.__bool__
    assert f(X)[0] == [True, True, False, True]
