"""Attributes that are more than values: read-only ones of built-in classes and exceptions, __class__, __doc__, those of
tracebacks."""

import functools
import sys
import traceback
import types

import numpy as np
import pytest
from differential import check

import pijit as ms
from pijit import Tensor

X = Tensor(np.array([1.0, 2.0, 3.0], np.float32))


def attempt(log, act):
    try:
        log.append(act())
    except (AttributeError, TypeError, ValueError) as e:
        log.append((type(e).__name__, str(e)))


# --- assignments that a class refuses


def of_numbers(x):
    log = []
    for o, name in ((3, "real"), (3, "numerator"), (2.5, "imag"), (1j, "real"), (True, "denominator"), ("s", "upper"),
                    (b"b", "x"), (None, "x"),
                    ((1,), "count"), (range(3), "start"), (slice(1), "stop"), ([], "append"), ({}, "keys"),
                    (set(), "add"),
                    (frozenset(), "add"), (bytearray(), "x"), (len, "__name__"), (int, "real"), (object(), "x")):
        attempt(log, lambda: setattr(o, name, 1))
    return x + len(log), log


def of_a_slice(x):
    s, r, p = slice(1, 2), range(3), property(len)
    log = []
    try:
        s.start = 3
    except AttributeError as e:
        log.append(str(e))
    try:
        r.step = 3
    except AttributeError as e:
        log.append(str(e))
    try:
        p.fget = max
    except AttributeError as e:
        log.append(str(e))
    return x + s.start, log, s.start, r.step, p.fget is len


def of_functions(x):
    def g(a=1):
        "doc"
        return a
    log = []
    attempt(log, lambda: setattr(g, "__closure__", ()))
    attempt(log, lambda: setattr(g, "__globals__", {}))
    attempt(log, lambda: setattr(g, "__name__", 3))
    attempt(log, lambda: setattr(g, "__code__", 3))
    attempt(log, lambda: setattr(g, "__defaults__", 3))
    g.__doc__ = "other"
    g.__defaults__ = (5,)
    g.__name__ = "h"
    g.extra = 4
    return x + g(), log, g.__doc__, g.__name__, g.extra


def of_methods(x):
    class C:
        def m(self):
            "md"
    c = C()
    log = []
    for name in ("__doc__", "__func__", "__self__", "other"):
        attempt(log, lambda: setattr(c.m, name, 1))
    return x + 1, log, c.m.__doc__, c.m.__class__.__name__, [].append.__class__.__name__


def of_partials(x):
    p = functools.partial(max, 3)
    log = []
    for name in ("func", "args", "keywords"):
        attempt(log, lambda: setattr(p, name, 1))
    p.extra = 2
    return x + p(1), log, p.extra


def of_partials_directly(x):
    p = functools.partial(max, 3)
    try:
        p.func = min
    except AttributeError as e:
        return x + p(5), str(e)
    return x


class Slotted:
    __slots__ = ("a",)


class Other:
    b = Slotted.a  # a place in objects of another class
    prop = property(lambda self: 4)


def of_slots(x):
    s, o = Slotted(), Other()
    log = []
    s.a = 3
    attempt(log, lambda: setattr(s, "c", 1))
    attempt(log, lambda: setattr(o, "b", 1))
    attempt(log, lambda: o.b)
    attempt(log, lambda: setattr(o, "prop", 1))
    try:
        o.b = 5
    except TypeError as e:
        log.append(str(e))
    return x + s.a, log


# --- of exceptions


def of_groups(x):
    eg = ExceptionGroup("eg", [TypeError(1), OSError(2)])  # noqa: F821
    log = []
    for name, v in (("message", "new"), ("exceptions", [1])):
        try:
            setattr(eg, name, v)
            log.append(name)
        except AttributeError as e:
            log.append(str(e))
    try:
        eg.message = "q"
    except AttributeError as e:
        log.append(str(e))
    try:
        eg.exceptions = ()
    except AttributeError as e:
        log.append(str(e))
    return x, log, eg.message, len(eg.exceptions)


def of_typed_members(x):
    log = []
    u = UnicodeDecodeError("utf8", b"a", 0, 1, "r")
    try:
        u.start = "s"
    except TypeError:
        log.append("start")
    u.end = 7
    try:
        u.reason = 3
        log.append(u.reason)
    except TypeError:
        log.append("reason")
    b = BlockingIOError()
    try:
        b.characters_written = "s"
    except (TypeError, ValueError):
        log.append("written")
    return x + u.end, log, u.start


def of_other_exceptions(x):
    log = []
    s = SystemExit(1)
    s.code = 4
    i = ImportError("m", name="n")
    i.name = "other"
    v = StopIteration(3)
    v.value = 5
    o = OSError(2, "text")
    o.errno = 9
    a = AttributeError("t", name="n", obj=3)
    a.obj = 8
    y = SyntaxError("bad")
    y.lineno = "text"
    k = KeyError(1)
    k.args = [4, 5]
    log += [s.code, i.name, v.value, o.errno, a.obj, y.lineno, k.args]
    return x + len(log), log, str(o), str(k)


def of_bases(x):
    log = []
    e = KeyError(1)
    for name in ("__cause__", "__context__", "__traceback__", "args", "__suppress_context__"):
        try:
            setattr(e, name, 4)
            log.append(name)
        except TypeError as error:
            log.append(str(error))
    try:
        del e.args
    except TypeError as error:
        log.append(str(error))
    e.__cause__ = ValueError(2)
    e.extra = 3
    return x + e.extra, log, e.__suppress_context__, e.__class__.__name__, type(e.__cause__).__name__


def of_caught_exceptions(x):
    try:
        raise ValueError("v")
    except ValueError as e:
        kind = e.__class__
        e.note = 3
        e.args = (e.note, 4)
        return x + e.note, kind is ValueError, e.args, str(e)


# --- __class__


class Lies:
    __class__ = 413


class Pretends:
    @property
    def __class__(self):
        return int


class Usual:
    pass


def class_of_arguments(x, *given):
    return x + 1, [o.__class__ for o in given], isinstance(given[1], int), getattr(given[0], "__class__")


def class_of_objects_made(x):
    a, b, c = Lies(), Pretends(), Usual()
    return x + 1, a.__class__, b.__class__, c.__class__, isinstance(b, int), type(b), isinstance(c, Usual)


def class_in_a_dict(x):
    a, b = Usual(), Lies()
    vars(a)["__class__"] = 5
    vars(b)["__class__"] = 6
    return x + 1, a.__class__, b.__class__


def class_assigned(x):
    a = Usual()
    a.__class__ = Other
    log = []
    attempt(log, lambda: setattr(a, "__class__", 3))
    return x + a.prop, type(a), log


class Named(tuple):
    __class__ = "named"


def class_of_a_tuple(x):
    return x + 1, Named((1, 2)).__class__, (1, 2).__class__, {}.__class__, x.__class__


# --- __doc__


class Documented:
    "cd"

    def m(self):
        "md"

    @property
    def p(self):
        "pd"

    @staticmethod
    def s():
        "sd"


def documentation(x):
    c = Documented()
    log = [c.m.__doc__, Documented.__doc__, Documented.m.__doc__]
    Documented.m.__doc__ = "new"
    log.append(c.m.__doc__)
    try:
        c.m.__doc__ = "q"
    except AttributeError as e:
        log.append(str(e))
    Documented.__doc__ = "cn"
    log += [Documented.__doc__, c.__doc__]
    Documented.m.__doc__ = "md"
    Documented.__doc__ = "cd"
    return x, log


def documentation_in_other_ways(x):
    c = Documented()
    log = [Documented.s.__doc__, c.s.__doc__, Documented.p.__doc__]
    c.m.__func__.__doc__ = "by func"
    log.append(Documented.m.__doc__)
    f = Documented.m
    f.__doc__ = None
    log.append(c.m.__doc__)
    f.__name__ = "renamed"
    log += [c.m.__name__, Documented.m.__name__, f.__qualname__]
    f.__qualname__ = "Q.n"
    log.append(c.m.__qualname__)
    f.__name__, f.__qualname__, f.__doc__ = "m", "Documented.m", "md"
    return x + 1, log


def attributes_of_functions_by_several_names(x):
    f, c = Documented.m, Documented()
    f.count = 1
    Documented.m.count += 1
    got = c.m.count
    del f.count
    return x + got, hasattr(Documented.m, "count")


# --- tracebacks


def raises():
    raise ValueError("t")


def traceback_attributes(x):
    try:
        raises()
    except Exception as e:
        tb = e.__traceback__
    log = [isinstance(tb.tb_next, types.TracebackType), tb.tb_frame is sys._getframe(), type(tb.tb_lasti).__name__,
           type(tb.tb_lineno).__name__, tb.tb_lineno, tb.tb_next.tb_next is None]
    try:
        tb.tb_next = "x"
    except TypeError as e:
        log.append(str(e))
    try:
        tb.tb_next = tb
    except ValueError as e:
        log.append(str(e))
    tb.tb_next = None
    try:
        del tb.tb_next
    except TypeError as e:
        log.append(str(e))
    try:
        tb.nope
    except AttributeError as e:
        log.append(str(e))
    for name in ("tb_frame", "tb_lasti", "tb_lineno", "other"):
        try:
            setattr(tb, name, 1)
            log.append(name)
        except AttributeError as e:
            log.append(str(e))
    return x, log


def traceback_names(x):
    try:
        raises()
    except ValueError as e:
        rows = [(r.name, r.lineno) for r in traceback.extract_tb(e.__traceback__)]
        same = sys.exc_info()[2] is e.__traceback__
    return x + 1, rows, same


def traceback_taken_away(x):
    log = []
    try:
        raises()
    except ValueError as e:
        kept = e
        log.append(e.with_traceback(None) is e)
        log.append(e.__traceback__)
    try:
        raise kept
    except ValueError as e:
        log.append([r.name for r in traceback.extract_tb(e.__traceback__)])
        e.__traceback__ = None
        log.append(e.__traceback__)
    return x + 1, log


def traceback_given(x):
    try:
        raises()
    except ValueError as e:
        tb = e.__traceback__
    try:
        raise KeyError("k").with_traceback(tb)
    except KeyError as e:
        return x + 1, [r.name for r in traceback.extract_tb(e.__traceback__)]


def traceback_chain(x):
    try:
        try:
            raises()
        except ValueError as e:
            raise KeyError("k") from e
    except KeyError as e:
        chain = [e, e.__cause__, e.__context__]
        return x + 1, [[r.name for r in traceback.extract_tb(k.__traceback__)] for k in chain]


def traceback_locals(x):
    held = 5
    try:
        raises()
    except ValueError as e:
        f = e.__traceback__.tb_frame
        return x + held, f.f_locals["held"], f.f_code.co_name, f.f_lineno > 0


if sys.version_info < (3, 11):
    del of_groups
PLAIN = [f for f in list(globals().values()) if getattr(f, "__module__", None) == __name__ and
         getattr(getattr(f, "__code__", None), "co_varnames", ())[:1] == ("x",) and f is not class_of_arguments]


@pytest.mark.parametrize("f", PLAIN, ids=[f.__name__ for f in PLAIN])
def test_same_as_plain(f):
    check(lambda: f, X, calls=3)


def test_class_of_arguments():
    g = ms.jit(class_of_arguments)
    for given in ((Lies(), Pretends(), Usual()), (Lies(), Pretends(), Usual()), (Usual(), Lies(), 3)):
        plain, jitted = class_of_arguments(X, *given), g(X, *given)
        assert plain[1:] == jitted[1:]


def test_common_attributes_stay_one_graph():
    def f(x):
        u, s = Usual(), Slotted()
        u.a, s.a = 2, 3
        try:
            raise ValueError(u.a)
        except ValueError as e:
            e.seen = 1
            n = e.seen + e.args[0]
        return x * n, u.__class__ is Usual, e_name(s)

    check(lambda: f, X, graphs=1, breaks=0)


def e_name(o):
    return o.__class__.__name__
