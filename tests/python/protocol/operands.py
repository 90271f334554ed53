"""Operands of every sort for the tests of the protocol: objects of built-in classes, of subclasses of them with and
without methods of their own, of classes in Python, and of classes without the slot that is asked for."""

import builtins
import collections
import enum
import itertools
import types

from differential import check

from pijit import Tensor

BUILTINS = {"__builtins__": builtins}  # 3.9 adds none to a function's globals

BINARY = {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow",
          "@": "matmul", "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift"}
COMPARISONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


class Plain:
    """No slot at all."""

    def __repr__(self):
        return "Plain"


def answering(name, base=object, methods="", declines=False):
    """A class whose methods tell how they were called, or decline."""
    def method(m):
        def answer(self, *others):
            return NotImplemented if declines else (name, m, *(type(o).__name__ for o in others))
        return answer
    content = {f"__{m}__": method(m) for m in methods.split()}
    made = type(name, (base,), content | {"__repr__": lambda self: name})
    if "eq" in methods.split():
        made.__hash__ = base.__hash__
    return made


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Flags(enum.Flag):
    A = 1
    B = 2


Pair = collections.namedtuple("Pair", "x y")


def all_operands(*classes):
    """Factories of new objects, by name."""
    made = {
        "int": lambda: 3, "bool": lambda: True, "float": lambda: 2.5, "complex": lambda: 1 + 2j,
        "text": lambda: "a%s", "bytes": lambda: b"ab", "none": lambda: None, "ellipsis": lambda: ...,
        "tuple": lambda: (1, 2), "pair": lambda: Pair(1, 2), "list": lambda: [1, 2],
        "dict": lambda: {1: 2, "s": 3}, "counter": lambda: collections.Counter("aab"),
        "set": lambda: {1, 2}, "frozenset": lambda: frozenset((2, 3)), "range": lambda: range(3),
        "slice": lambda: slice(1), "deque": lambda: collections.deque((1, 2)),
        "class": lambda: int, "function": lambda: len, "level": lambda: Level.HIGH, "flags": lambda: Flags.B,
        "tensor": lambda: Tensor([1.0, 2.0]), "whole": lambda: Tensor([1, 2]), "plain": Plain}
    for cls in classes:
        made[cls.__name__] = cls
    return made


def of_builtins(operands, in_python):
    """Pairs of operands whose classes are C's."""
    return itertools.product([n for n in operands if n not in in_python], repeat=2)


def with_python(operands, in_python):
    """Pairs of operands, one of which at least is of a class in Python."""
    return [(a, b) for a, b in itertools.product(operands, repeat=2) if a in in_python or b in in_python]


def compare(f, operands, pairs=None, **kwargs):
    """Plain against jitted, for each pair of operands; what differs, as text. `f`: of a and b, or its text."""
    wrong = []
    for a, b in pairs or itertools.product(operands, repeat=2):
        try:
            check(lambda: eval(f, {}) if isinstance(f, str) else types.FunctionType(f.__code__, BUILTINS),
                  operands[a](), operands[b](), **kwargs)
        except AssertionError as e:
            name = f if isinstance(f, str) else f.__name__
            wrong.append(f"{name} of {a} and {b}: {str(e).strip().splitlines()[0][:300]}")
    return "\n".join(wrong)
