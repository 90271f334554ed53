"""Any instruction can be a break: what is captured before it stays, what follows is captured again."""

import collections
import contextlib
import itertools
import os
import sys
import threading
import traceback
import warnings

import numpy as np
import pytest
from differential import check, check_calls

import pijit as ms

X = ms.Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))


def plain(function):
    """The same function for every run."""
    return lambda: function


# --- the code behind a break by nature is captured, a number of times that is bounded ----------------------


def class_body(x):
    class Scale:
        k = 2

        def __call__(self, y):
            return y * self.k

    return Scale()(x) + 1


def f_string(x):
    y = x * 2
    text = f"{y}"
    z = y + 1
    return z * 2, text


def mask(x):
    y = x * 2 - 3
    z = y[y > 0]
    return z.sum() * 2 + x, z * 3


@pytest.mark.parametrize(("f", "most"), [(class_body, 40), (f_string, 4), (mask, 8)], ids=["class", "f-string", "mask"])
def test_captures_behind_are_bounded(f, most):
    e = check_calls(plain(f), [(X + k * 0.5,) for k in range(30)])
    assert len(e.graphs) >= 2 and e.compile_count <= most, e


# --- one instruction ---------------------------------------------------------------------------------------


def test_f_string_of_a_tensor():
    def f(x):
        y = x * 2
        text = f"sum {y.sum()} of {y.shape}"
        return y + 1, text, x * 3

    check(plain(f), X, graphs=2, breaks=1, captures=2)


def test_unpacking_an_iterator():
    def f(x, pairs):
        y = x * 2
        (a, b), c = y, (i for i in pairs if i)
        p, *q = reversed(list(c))
        z = a + b + p
        m, n, o = memoryview(bytes(pairs))
        return z * m, q, n, o, x * 3

    check(plain(f), X, [1, 2, 3])


def test_first_import():
    def make():
        for name in ("colorsys", "this_is_no_module"):
            sys.modules.pop(name, None)

        def f(x):
            y = x * 2
            import colorsys

            z = y + colorsys.ONE_THIRD
            try:
                import this_is_no_module
            except ImportError as e:
                return z * 2, e.name
            return this_is_no_module

        return f

    check(make, X, graphs=3, breaks=3, captures=4)


@pytest.mark.skipif(sys.version_info < (3, 15), reason="`lazy import` came with CPython 3.15")
def test_lazy_import():
    """A name that stands for a module not imported yet is read by CPython, which imports it then."""
    def make():
        for name in ("colorsys", "nturl2path"):
            sys.modules.pop(name, None)
        space = {"ms": ms}
        exec(
            "lazy import colorsys\n"
            "lazy from nturl2path import url2pathname\n"
            "def f(x):\n"
            "    y = x * 2\n"
            "    z = y + colorsys.ONE_THIRD\n"
            "    return z * 3, url2pathname is None\n",
            space,
        )
        return space["f"], lambda: "colorsys" in sys.modules

    check(make, X)


def test_stores():
    class Box:
        __slots__ = ("kept", "__dict__")

        @property
        def half(self):
            return self.__dict__["value"] / 2

        @half.setter
        def half(self, value):
            self.__dict__["value"] = value.__float__() * 2  # a break in the setter

    def make():
        box, array = Box(), np.zeros(3)

        def f(x):
            y = x * 2
            box.half = y.sum()
            array[1] = y[0, 1].__float__()
            array[2:] = 7
            z = y + 1
            box.kept = z
            del box.kept
            return z * 2, box.half

        return f, lambda: (vars(box), array)

    check(make, X, graphs=4, breaks=4, captures=5)


def test_global_and_deleted_names():
    def make():
        space = {"ms": ms, "counter": 0}
        exec(
            "def f(x):\n"
            "    global counter, gone\n"
            "    y = x * 2\n"
            "    counter = y.sum().__float__()\n"
            "    gone = 1\n"
            "    del gone\n"
            "    z = y + counter\n"
            "    try:\n"
            "        del gone\n"
            "    except NameError as e:\n"
            "        return z, str(e)\n",
            space,
        )
        return space["f"], lambda: (space["counter"], "gone" in space)

    check(make, X, graphs=2, breaks=4, captures=5)


def test_building_containers():
    def f(x, rest):
        y = x * 2
        values = [y, y.sum().__float__(), *iter(rest)]
        both = {"a": y.max().__float__(), **dict(b=1)}
        items = {1, *rest, y.min().__float__()}
        text = "".join([str(v) for v in rest])
        return values, both, sorted(items), text, y + 1

    check(plain(f), X, (3, 4), graphs=4, breaks=4, captures=5)


def test_unhashable_key():
    def f(x):
        y = x * 2
        try:
            d = {[1]: y}
        except TypeError as e:
            d = str(e)
        return d, y + 1

    check(plain(f), X, graphs=1, breaks=0, captures=1)


@pytest.mark.parametrize("expression", ["{[1]}", "[1] in s", "[1] in d", "d[[1]]", "d.get([1])", "s.add([1])",
                                        "{k for k in ([1],)}", "s | {[1]}", "frozenset(s) == [1] or {} in s"])
def test_the_text_of_what_cannot_be_hashed(expression):
    """From 3.14 on, it says of what: a key or an element."""
    scope = {}
    exec(f"""def f(x, s, d):
    y = x * 2
    try:
        return y, {expression}
    except TypeError as e:
        return y + 1, str(e)""", scope)
    check(plain(scope["f"]), X, {1, 2}, {1: 2})


def test_a_class_made_inside():
    def f(x):
        y = x * 2

        class Local:
            scale = y.sum().__float__()

            def apply(self, t):
                return t * self.scale

        return Local().apply(y) + 1, Local.__qualname__

    check(plain(f), X, graphs=3, breaks=2, captures=4)


@pytest.mark.skipif(sys.version_info < (3, 10), reason="`match` came with CPython 3.10")
def test_match():
    from matching import Point, matched_and_more

    for p in (Point(0, 2), Point(1, 2), {"k": 1, "l": 2}, 5):
        check(plain(matched_and_more), X, p)


def test_full_stack():
    def g(*args, **kwargs):
        return args, kwargs

    def f(x):
        return g(x * 2, f"{x.sum()}", [x + 1, x.max().__float__(), (x - 1, f"{x.min()}")], k=x * 3,
                 l=x.mean().__float__())

    check(plain(f), X, graphs=4, breaks=4, captures=5)


def test_comprehensions():
    def f(x):
        rows = [r * 2 for r in x]
        numbers = [r.sum().__float__() for r in rows]
        named = {f"{n}": r + n for n, r in zip(numbers, rows)}
        return rows, numbers, named, {r.max().__float__() for r in rows}

    # from 3.12 on, comprehensions are loops of the function itself
    counts = {"graphs": 2, "breaks": 2, "captures": 3} if sys.version_info < (3, 12) else {}
    check(plain(f), X, **counts)


# --- with --------------------------------------------------------------------------------------------------


class Manager:
    def __init__(self, log, name, swallow=False):
        self.log, self.name, self.swallow = log, name, swallow

    def __enter__(self):
        self.log.append(f"enter {self.name}")
        return self

    def __exit__(self, kind, value, trace):
        self.log.append(
            f"exit {self.name} {kind and kind.__name__} {value} "
            f"{trace and trace.tb_lineno - trace.tb_frame.f_code.co_firstlineno}")
        return self.swallow


def test_break_inside_with():
    def make():
        log = []

        def f(x):
            y = x * 2
            with Manager(log, "a") as a, Manager(log, "b"):
                n = y.sum().__float__()
                z = y + n
                log.append(a.name)
            return z * 2

        return f, lambda: log

    check(make, X, graphs=2, breaks=1, captures=2)


def test_raising_inside_with():
    def make():
        log = []

        def f(x, text):
            y = x * 2
            with Manager(log, "outer", True):
                with Manager(log, "inner"):
                    n = int(text)
                    y = y + n
                log.append("not raised")
            return y * 2

        return f, lambda: log

    check(make, X, "7")
    check(make, X, "seven")


def test_lock_file_errstate():
    def make():
        lock = threading.Lock()

        def f(x):
            y = x * 2
            with lock:
                z = y + 1
                locked = lock.locked()
            with open(os.devnull) as file, np.errstate(divide="ignore"):
                text = file.read()
                z = z * 2
                inf = np.float64(1) / np.float64(0)
            return z - 1, locked, lock.locked(), text, inf

        return f

    check(make, X, graphs=4, breaks=11, captures=12)


def test_generator_based_manager():
    def make():
        log = []

        @contextlib.contextmanager
        def scope(name):
            log.append(f"enter {name}")
            try:
                yield name
            except ValueError as e:
                log.append(f"caught {e}")
            finally:
                log.append(f"exit {name}")

        def f(x, bad):
            y = x * 2
            with scope("a") as a:
                y = y + y.sum().__float__()
                if bad:
                    raise ValueError(a)
                y = y * 2
            with contextlib.suppress(KeyError):
                y = y + {}[a]
            return y - 1

        return f, lambda: log

    check(make, X, False)
    check(make, X, True)


# --- try ---------------------------------------------------------------------------------------------------


def test_break_inside_try():
    def f(x):
        y = x * 2
        try:
            n = y.sum().__float__()
            z = y + n
        except ValueError:
            z = y
        else:
            z = z * 2
        finally:
            w = x * 3
        return z, w

    check(plain(f), X, graphs=2, breaks=1, captures=2)


def test_handler_of_a_break():
    def f(x, text):
        y = x * 2
        try:
            n = int(text)
            z = y + n
        except KeyError:
            z = y
        except (ValueError, TypeError) as e:
            z = y - 1
            message = str(e), type(e.__traceback__).__name__
            return z * 2, message, sys.exc_info()[0]
        return z * 3, sys.exc_info()[0]

    check(plain(f), X, "7")
    check(plain(f), X, "seven")
    check(plain(f), X, None)


def test_raising_again():
    def f(x, how):
        y = x * 2
        try:
            try:
                int("no number")
            except ValueError as e:
                z = y + 1
                n = z.sum().__float__()
                if how == 0:
                    raise
                if how == 1:
                    raise KeyError(n) from e
                if how == 2:
                    raise KeyError(n)
                if how == 3:
                    raise e
                return z, n
            finally:
                y = y + y.max().__float__()
        except KeyError as e:
            return y, repr(e), repr(e.__cause__), repr(e.__context__), e.__suppress_context__, how
        finally:
            y = y * y.min().__float__()

    for how in range(5):
        check(plain(f), X, how)


def test_finally_overrides():
    def f(x, how):
        for i in range(3):
            try:
                y = x * x.sum().__float__()
                if how == 0:
                    return y
                if how == 1:
                    continue
                if how == 2:
                    break
                raise ValueError(i)
            finally:
                print("finally", i, y.sum().__float__())
        return x + i

    for how in range(4):
        check(plain(f), X, how)


def test_handled_exception_of_the_caller():
    def make():
        def f(x):
            y = x * 2
            before = repr(sys.exc_info()[1])
            try:
                int("no number")
            except ValueError:
                inside = repr(sys.exc_info()[1])
                y = y + y.sum().__float__()
            return y, before, inside, repr(sys.exc_info()[1])

        jitted = [f]

        def outer(x):
            try:
                raise KeyError("outer")
            except KeyError:
                return jitted[0](x)

        return outer

    check(make, X)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="`except*` came with CPython 3.11")
def test_exception_group():
    from exception_groups import group_split

    check(plain(group_split), X, graphs=4, breaks=5, captures=6)


# --- loops -------------------------------------------------------------------------------------------------


def test_break_inside_a_loop():
    def f(x, n):
        total, log = x * 0, []
        for i in range(n):
            total = total + x * i
            log.append(total.sum().__float__())
        return total, log

    for n in (5, 30):  # as many captures for any number of turns
        check(plain(f), X, n, graphs=3, breaks=4, captures=5)


@pytest.mark.parametrize("kind",
                         ["list", "tuple", "dict", "items", "enumerate", "zip", "reversed", "generator", "map", "set",
                          "str"])
def test_iterators_over_a_break(kind):
    def f(x, kind, values):
        it = {
            "list": lambda: list(values),
            "tuple": lambda: tuple(values),
            "dict": lambda: dict.fromkeys(values),
            "items": lambda: {v: v for v in values}.items(),
            "enumerate": lambda: enumerate(values, 2),
            "zip": lambda: zip(values, [x, x + 1, x + 2]),
            "reversed": lambda: reversed(values),
            "generator": lambda: (v + 1 for v in values),
            "map": lambda: map(abs, values),
            "set": lambda: set(values),
            "str": lambda: "abc",
        }[kind]()
        y = x * 2
        log = []
        for v in it:
            y = y + 1
            log.append((v, y.sum().__float__()))
            y = y * 2
        return y, log

    check(plain(f), X, kind, [1, 2, 3])


ITERATORS = {
    "count": lambda x, values: zip(range(3), itertools.count(5, 2)),
    "counted": lambda x, values: itertools.takewhile(lambda n: n < 4, itertools.count(1)),
    "chain": lambda x, values: itertools.chain(values, (7, 8)),
    "islice": lambda x, values: enumerate(itertools.islice(values, 1, None)),
    "repeat": lambda x, values: itertools.repeat(2, 3),
    "starmap": lambda x, values: itertools.starmap(lambda a, b: a * b, zip(values, values)),
    "accumulate": lambda x, values: itertools.accumulate(values, initial=3),
    "pairwise": lambda x, values: itertools.pairwise(values),
    "product": lambda x, values: itertools.product(values, "ab"),
    "combinations": lambda x, values: itertools.combinations(values, 2),
    "zip_longest": lambda x, values: itertools.zip_longest(values, range(2), fillvalue=0),
    "filter": lambda x, values: filter(lambda v: v != 2, values),
    "map": lambda x, values: map(lambda v: v * 2, values),
    "map of tensors": lambda x, values: map(lambda v: x * v, values),
    "reversed": lambda x, values: reversed(values),
    "deque": lambda x, values: collections.deque(values),
    "generators": lambda x, values: zip((v for v in values), (x + v for v in values)),
}
if sys.version_info < (3, 10):
    del ITERATORS["pairwise"]


@pytest.mark.parametrize("kind", ITERATORS)
def test_loops_over_library_iterators_over_a_break(kind):
    """CPython makes what it could not be given half-way; the loop's body is captured."""
    def make():
        of = ITERATORS[kind]

        def f(x, values):
            y, log = x * 2, []
            for v in of(x, values):
                y = ms.ops.tanh(y) + 1
                log.append((v, y.sum().__float__()))
                y = y * 2
            return y, log

        return f

    assert len(check(make, X, [1, 2, 3], calls=3).graphs) >= 2


def test_an_iterator_under_way_that_stays_visible():
    def f(x, values):
        it = itertools.chain(values, [x])
        first = next(it)
        y = x * first
        y.sum().__float__()
        second = next(it)
        y = y * second
        y.sum().__float__()
        return y + list(it)[-1], type(it).__name__

    check(plain(f), X, [2, 3, 4])


def test_while_with_state():
    def f(x):
        y, n, log = x, 0, []
        while True:
            y = y * 2
            n += 1
            if y.sum().__float__() > 100:
                break
            if n == 1:
                continue
            log.append(f"{y.max()}")
        else:
            return None
        return y, n, log

    check(plain(f), X, graphs=4, breaks=4, captures=5)


def test_nested_loops_and_with():
    def make():
        log = []

        def f(x):
            y = x
            for a in [1, 2]:
                with Manager(log, a):
                    for b, c in {"u": 1, "v": 2}.items():
                        try:
                            y = y * a + y.sum().__float__()
                            if c == 2 and a == 2:
                                raise KeyError(b)
                        except KeyError as e:
                            y = y - 1
                            log.append(repr(e))
                            break
                    else:
                        y = y + 100
            return y

        return f, lambda: log

    check(make, X, graphs=9, breaks=9, captures=10)


# --- callees -----------------------------------------------------------------------------------------------


def test_break_inside_a_callee():
    def g(x, k):
        y = x * k
        n = y.sum().__float__()
        return y + n

    def f(x):
        y = x * 2
        z = g(y, 3) + g(x, k=2)
        return z * 2

    check(plain(f), X)


def test_handler_around_a_callee():
    def h(x, text):
        y = x + 1
        return y * int(text)

    def g(x, text):
        y = x * 2
        z = h(y, text)
        return z + 1

    def f(x, text):
        try:
            return g(x, text) * 2
        except ValueError as e:
            return x - 1, str(e), [r.name for r in traceback.extract_tb(e.__traceback__)]

    check(plain(f), X, "7")
    check(plain(f), X, "seven")


# --- frames and tracebacks ---------------------------------------------------------------------------------


def positions(e):
    frames = traceback.extract_tb(e.__traceback__)
    columns = ("end_lineno", "colno", "end_colno")  # from 3.11 on
    return [(r.name, r.lineno, *(getattr(r, c, None) for c in columns)) for r in frames if r.filename == __file__]


RAISING = {
    "call": lambda x: (x * 2, int("no"), x),
    "add": lambda x: (x * 2, 1 + "a", x),
    "index": lambda x: (x * 2, [][0], x),
    "key": lambda x: (x * 2, {}["no key"], x),
    "attribute": lambda x: (x * 2, (1).no_attribute, x),
    "compare": lambda x: (x * 2, 1 < "a", x),
    "format": lambda x: (x * 2, f"{1:no format}", x),
    "unary": lambda x: (x * 2, -"a", x),
    "iterate": lambda x: (x * 2, [*1], x),
    "truth": lambda x: (x * 2, 1 if x else 2, x),
    "contains": lambda x: (x * 2, 1 in 2, x),
    "name": lambda x: (x * 2, no_such_name, x),  # noqa: F821
    "starred": lambda x: (x * 2, print(*1), x),
    "keywords": lambda x: (x * 2, dict(a=1, **{"a": 2}), x),
    "slice": lambda x: (x * 2, "abc"["a":], x),
}


@pytest.mark.parametrize("kind", RAISING)
def test_places_of_errors(kind):
    f = RAISING[kind]
    jitted = ms.jit(f)
    seen = []
    for g in (f, jitted, jitted):
        with pytest.raises(Exception) as info:
            g(X)
        seen.append((type(info.value), str(info.value), positions(info.value)[1:]))
    assert seen[0] == seen[1] == seen[2]


def test_names_of_the_calling_frame():
    def locals_of_caller():
        frame = sys._getframe(1)
        return (sorted((k, v) for k, v in frame.f_locals.items() if isinstance(v, (int, str))), frame.f_code.co_name,
                frame.f_lineno)

    def f(x, n):
        y = x * 2
        text = "abc"
        first = locals_of_caller()
        n += 1
        z = y + n
        second = locals_of_caller()
        return z, text, first, second

    check(plain(f), X, 5, graphs=2, breaks=2, captures=3)


def test_names_that_closures_share_in_the_calling_frame():
    """A variable that nothing reads any more, in a cell as a closure of another variable reads it."""
    def f(x, k, other):
        def scaled(t):
            return t * k + other
        y = scaled(x)
        scaled = None
        names = sorted((n, v) for n, v in sys._getframe(0).f_locals.items() if isinstance(v, int))
        return y, names

    check(plain(f), X, 2, 3)


def test_names_behind_a_branch_on_a_tensor_in_the_calling_frame():
    def f(x, k, flag):
        count, y = 0, x * 2  # noqa: F841  (looked up in the frame)
        if y.sum() > 3:
            y = y + 1
        while y.sum() < 100 and y.max() < 60:
            y = y * 2
        names = sorted((n, v) for n, v in sys._getframe(0).f_locals.items() if isinstance(v, int))
        return y, names

    check(plain(f), X, 2, True)


def test_place_of_a_warning():
    def f(x):
        y = x * 2
        warnings.warn("here", stacklevel=1)
        return y + 1

    jitted = ms.jit(f)
    lines = []
    for g in (f, jitted, jitted):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            g(X)
        lines.append([(w.filename, w.lineno, str(w.message)) for w in seen])
    assert lines[0] == lines[1] == lines[2]


def test_objects_live_as_long_as_their_names():
    def make():
        log = []

        class Loud:
            def __init__(self, name):
                self.name = name

            def __del__(self):
                log.append(f"{self.name} died")

        def f(x):
            a = Loud("a")
            b = Loud("b")
            y = x * 2
            log.append(y.sum().__float__())
            del b
            y = y + 1
            log.append(y.sum().__float__())
            a = None
            log.append(y.max().__float__())
            return y, a

        return f, lambda: log

    check(make, X)


def test_numbers_of_a_loop_stay_in_the_frame():
    """Numbers that a loop on a Tensor counts are seen behind a break, whether they are read or not."""
    def numbers_of_caller():
        return sorted((k, v) for k, v in sys._getframe(1).f_locals.items() if isinstance(v, (int, float)))

    def f(x):
        y = x + 1
        n, step = 0, 0.5
        while x.sum() < 9:
            x = x + 1
            n += 1
            step = step * 2
        first = numbers_of_caller()
        if float(y.sum()) > 4:
            y = y * 2
        return y, first, numbers_of_caller()

    check_calls(plain(f), [(X,), (X + 4,), (X - 1,)])


def test_globals_without_builtins():
    """Code that is looked at from within such a function finds what it needs all the same."""
    def make():
        def helper(x, y=3):
            if x is None:
                return None
            return [x, y]

        def asked(a, helper):
            a.sum().item()
            b = a * 2
            first = helper(b)
            a.own = first
            second = f"{b}"
            return first, second, a.own, helper(None)

        return type(asked)(asked.__code__, {})  # as `exec` would not make it

    def helper(x, y=3):
        return [x, y]

    for fresh in (helper, make().__class__(helper.__code__.replace(co_name="other"), {}, "other", (4,))):
        check(make, X, fresh)


def test_exceptions_where_callers_hold_much():
    """What an exception takes with it is found out without a look at what frames around hold, which run on."""
    def f(x):
        z = x * 2
        try:
            import this_is_no_module
        except ImportError as e:
            return z * 2, e.name
        return this_is_no_module

    few = check(plain(f), X)
    around = [[k] for k in range(50_000)]
    many = check(plain(f), X)
    assert len(around) == 50_000 and [b.why for b in few.all_breaks] == [b.why for b in many.all_breaks]
