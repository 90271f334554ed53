"""PyObject_Call (Objects/call.c): what is called, with which self, and what is raised where a class has no tp_call."""

import collections
import functools
import operator
import traceback

import pytest
from differential import check

from pijit import Tensor, ops
from protocol.operands import all_operands


def plain(*args, **kwargs):
    return ("plain", args, sorted(kwargs.items()))


class Base:
    kept = staticmethod(plain)
    code = len

    def __init__(self, tag=0):
        self.tag = tag

    def __call__(self, *args, **kwargs):
        return (type(self).__name__, self.tag, args, sorted(kwargs.items()))

    def bound(self, *args):
        return ("bound", type(self).__name__, args)

    @classmethod
    def of_class(cls, *args):
        return ("class", cls.__name__, args)

    @staticmethod
    def static(*args):
        return ("static", args)


class Heir(Base):
    pass


class Own(Base):
    def __call__(self, *args, **kwargs):
        return ("own", super().__call__(*args, **kwargs))


class Returns:
    """__call__ is no function: bound as its class says, or not at all."""
    __call__ = Base("inner")


class Kept:
    __call__ = staticmethod(plain)


class OfClass:
    __call__ = classmethod(plain)


class Partly:
    __call__ = functools.partial(plain, 7)


class Nothing:
    __call__ = None


class Never:
    pass


class Late:
    def __init__(self):
        self.__call__ = plain  # the class is asked, not the object


class Raises:
    def __call__(self, *args, **kwargs):
        raise KeyError("from __call__")


class Number(int):
    def __call__(self, *args, **kwargs):
        return ("number", args)


class Text(str):
    pass


class Meta(type):
    def __call__(cls, *args, **kwargs):
        return ("meta", cls.__name__, args)


class Made(metaclass=Meta):
    pass


Pair = collections.namedtuple("Pair", "x y")
Callable = type("Callable", (Pair,), {"__call__": lambda self, *a, **k: ("pair", self.x, a)})
Listed = type("Listed", (list,), {"__call__": lambda self, *a, **k: ("list", len(self), a)})


@functools.lru_cache(None)
def cached(*args, **kwargs):
    return ("cached", args)


CALLED = all_operands(Base, Heir, Own, Returns, Kept, OfClass, Partly, Nothing, Never, Late, Raises) | {
    "Number": lambda: Number(3), "Text": lambda: Text("a"), "callable pair": lambda: Callable(1, 2),
    "callable list": lambda: Listed([1]), "the class": lambda: Base, "the heir": lambda: Heir, "made": lambda: Made,
    "lambda": lambda: lambda *a, **k: (a, sorted(k)), "plain function": lambda: plain, "bound": lambda: Heir(1).bound,
    "unbound": lambda: Base.bound, "of class": lambda: Heir.of_class, "static": lambda: Heir.static,
    "kept": lambda: Heir().kept, "bound call": lambda: Own(2).__call__, "code of class": lambda: Base.code,
    "method of C": lambda: "b".join, "descriptor": lambda: str.join, "wrapper": lambda: int.__add__,
    "bound wrapper": lambda: (2).__add__, "partial": lambda: functools.partial(plain, 1, k=2),
    "partial of an object": lambda: functools.partial(Heir(3), 1),
    "partial of partial": lambda: functools.partial(functools.partial(plain, 1), 2), "cached": lambda: cached,
    "getter": lambda: operator.itemgetter(0), "attributes": lambda: operator.attrgetter("real"),
    "caller": lambda: operator.methodcaller("count", 1), "exception": lambda: lambda *a: repr(ValueError(*a)),
    "op": lambda: ops.add, "module": lambda: operator}
ARGUMENTS = {"none": "()", "one": "(a)", "a sequence": "([1, 2])", "two": "(a, 1)", "named": "(k=a)",
             "both": "(a, k=1)", "expanded": "(*[1, 2])", "expanded names": "(**{'k': 1})",
             "all": "(1, *[a], k=2, **{'m': 3})"}


@pytest.mark.parametrize("given", ARGUMENTS)
def test_calls(given):
    wrong = []
    for name, made in CALLED.items():
        try:
            check(lambda: eval(f"lambda a: f{ARGUMENTS[given]}", {"f": made()}), 5)
        except AssertionError as e:
            wrong.append(f"{name}: {str(e).strip().splitlines()[0][:300]}")
    assert not wrong, "\n".join(wrong)


def test_what_code_makes_is_called():
    def function():
        def inner(a, *rest, k=3, **more):
            return a, rest, k, more
        made, part, bound = Own(4), functools.partial(inner, 1, k=5), Heir(6).bound
        return (made(1, k=2), part(2), part(2, k=6, m=7), bound(8), inner(1, 2), Base.bound(made, 1),
                functools.partial(made, 1)(2), (lambda: 9)(), Heir.of_class(1), Heir.static(2), made.kept(3))
    check(lambda: function, breaks=0)


def test_methods_of_python_are_followed():
    for f in (Base(1), Heir(1), Own(1), Number(3), Callable(1, 2), Heir(1).bound, Heir.of_class, Heir.static,
              functools.partial(plain, 1), functools.partial(Base(2), k=1), plain, Base):
        check(lambda f=f: lambda x: (f(1), x * 2), Tensor([1.0]), breaks=0)


ABSENT = ["int", "bool", "float", "complex", "text", "bytes", "none", "ellipsis", "tuple", "pair", "list", "dict",
          "set", "frozenset", "range", "slice", "deque", "level", "flags", "tensor", "plain", "Never", "Late", "Text"]


@pytest.mark.parametrize("name", ABSENT)
def test_an_absent_slot_is_handled_in_the_graph(name):
    def handled(f, x):
        try:
            f(1)
        except TypeError as e:
            return x * 2, str(e), type(e).__name__, e.args
        return x
    check(lambda: handled, CALLED[name](), Tensor([1.0, 2.0]), breaks=0)


def test_a_class_gets_the_slot_later():
    class Grows:
        pass

    def make():
        def f(o):
            try:
                return o(1)
            except TypeError:
                return "absent"
        return f
    grown = Grows()
    check(make, grown)
    f = __import__("pijit").jit(make())
    assert f(grown) == "absent"
    Grows.__call__ = lambda self, x: ("now", x)
    assert f(grown) == ("now", 1)
    del Grows.__call__
    assert f(grown) == "absent"


def lines_of(f, *args):
    """Function and line, below it, of each frame that an exception comes through."""
    try:
        f(*args)
    except Exception as e:
        return type(e), str(e), [(t.name, t.lineno) for t in traceback.extract_tb(e.__traceback__)][1:]
    return None


@pytest.mark.parametrize("f, args", [(3, ()), (Never(), (1,)), (Raises(), ()), (plain, 3), (lambda a: a, ()),
                                     (lambda: 0, (1,)), (Base, (1, 2, 3)), (Base.bound, ()), (len, (3,)),
                                     (functools.partial(lambda: 0, 1), ()), (str.join, (3, [])), (Nothing(), ()),
                                     (int.__add__, ("a", 1)), (operator.itemgetter(9), ([1],))])
def test_lines_and_texts_are_those_of_python(f, args):
    def calls(f, args, x):
        y = x * 2
        return f(*args), y
    jitted = __import__("pijit").jit(calls)
    for _ in range(2):
        assert lines_of(jitted, f, args, Tensor([1.0])) == lines_of(calls, f, args, Tensor([1.0]))
