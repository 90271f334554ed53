"""Python that stays in one graph: match statements, deleted attributes, slices and numbers of classes of one's own,
descriptors, slice assignment, generators that clean up."""

import contextlib
import enum
import sys

import numpy as np
import pytest
from differential import check, check_calls

import pijit as ms

X = ms.Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))


def plain(function):
    """The same function for every run."""
    return lambda: function


class Mode(enum.Enum):
    FAST = 2
    SLOW = 3


class Size(enum.IntEnum):
    TWO = 2
    THREE = 3


class Count(int):
    pass


class Loud(int):
    def __mul__(self, other):
        return int(self) * other + 1

    __rmul__ = __mul__


# --- match ---------------------------------------------------------------------------------------------------


if sys.version_info >= (3, 10):
    from matching import Bad, Point, matched, matched_badly, matched_by_too_many
else:
    Bad = Point = lambda *_: None
needs_match = pytest.mark.skipif(sys.version_info < (3, 10), reason="`match` came with CPython 3.10")


@needs_match
@pytest.mark.parametrize(
    "what",
    [Point(1, 2.5), Point(3, 2.0), {"scale": 3, "k": 1}, {"other": 1}, 4, 2.5, "abc", [2, 3, 4], (), None, object],
)
def test_match(what):
    if sys.version_info < (3, 11) and isinstance(what, dict) and "scale" in what:
        return check(plain(matched), X, what, breaks=1, captures=2)  # what a pattern leaves is an instruction there
    check(plain(matched), X, what, graphs=None if what is None else 1, breaks=0, captures=1)


@needs_match
def test_match_against_a_class_that_is_wrong():
    check(plain(matched_badly), X, Bad())
    check(plain(matched_by_too_many), X, Point(1, 2.0))


# --- attributes ------------------------------------------------------------------------------------------------


class Box:
    kept = 5


def test_deleted_attribute():
    def f(x, box):
        box.t = x * 2
        y = box.t + 1
        del box.t
        del box.old
        return y, hasattr(box, "t"), getattr(box, "old", None)

    def call():
        box = Box()
        box.old = 3
        return X, box

    check_calls(plain(f), [call(), call()], graphs=1, breaks=0, captures=1)


def test_attribute_of_the_class_appears_again():
    def f(x, box):
        box.kept = 7
        a = box.kept
        del box.kept
        b = box.kept
        box.kept = 8
        delattr(box, "kept")
        return x * a + b

    check_calls(plain(f), [(X, Box()), (X, Box())], graphs=1)


def test_deletion_of_what_is_not_there():
    def f(x, box):
        y = x * 2
        try:
            del box.nothing
        except AttributeError as e:
            return y, str(e)
        return y

    check(plain(f), X, Box())

    def g(x):
        box = Box()
        box.a = x
        del box.a
        del box.a
        return x

    check(plain(g), X)


def test_own_delattr():
    class Noisy:
        def __delattr__(self, name):
            print("del", name)
            object.__delattr__(self, name)

    def f(x, o):
        o.a = x * 2
        y = o.a
        del o.a
        return y, vars(o) == {}

    check_calls(plain(f), [(X, Noisy()), (X, Noisy())])


def test_descriptor_in_python():
    class Scaled:
        def __get__(self, o, cls=None):
            return 3 if o is None else o.factor * 2

    class Holder:
        scale = Scaled()

        def __init__(self, factor):
            self.factor = factor

    def f(x, o):
        return x * o.scale

    def calls():
        return [(X, Holder(2)), (X, Holder(2))]

    check_calls(plain(f), calls(), graphs=1, breaks=0, captures=1)


# --- slices, keys, numbers ---------------------------------------------------------------------------------


def test_slice_that_is_passed_in():
    def f(x, s):
        return x[s] * 2, s, s.stop

    check_calls(plain(f), [(X, slice(0, 1)), (X, slice(0, 1)), (X, slice(1, 2)), (X, slice(None, None, 2))], breaks=0)


def test_enum_members_as_keys():
    def f(x, table):
        return x * table[Mode.FAST] + table[(1, 2)]

    check(plain(f), X, {Mode.FAST: 2.0, (1, 2): 3.0}, graphs=1, breaks=0, captures=1)

    def g(x, mode):
        seen = {mode: 1}
        seen[Mode.SLOW] = 2
        return x * seen[mode], len(seen)

    check_calls(plain(g), [(X, Mode.FAST), (X, Mode.SLOW), (X, Mode.FAST)], breaks=0)


@pytest.mark.parametrize("n", [Size.TWO, Count(3), Count(-7)])
def test_numbers_of_classes(n):
    def f(x, n):
        return x * n + 1, n + 1, n * 2, 5 - n, n < 3, -n, x / n, n == 3, 2**n

    check(plain(f), X, n, breaks=0, captures=1)
    check(plain(f), X, Loud(n))


def test_numbers_of_classes_that_vary():
    def f(x, n):
        return x * n, n + 1

    check_calls(plain(f), [(X, Count(k)) for k in range(6)], breaks=0)
    check_calls(plain(f), [(X, m) for m in (Size.TWO, Size.THREE, Size.TWO)], breaks=0)


def test_slice_assignment():
    def f(x, given):
        own = [1, 2, 3, 4]
        own[1:3] = [5, 6, 7]
        own[::2] = (x, 8, 9)
        given[1:2] = [4, 5]
        given[5:] = iter([1])
        return own, x * given[2], sum(given)

    check_calls(plain(f), [(X, [1, 2, 3]), (X, [1, 2, 3])], graphs=1, breaks=0, captures=1)

    def wrong(x, given):
        given[::2] = [1]
        return x

    check_calls(plain(wrong), [(X, [1, 2, 3]), (X, [1, 2, 3])])


# --- generators -----------------------------------------------------------------------------------------------


def test_context_manager_of_a_generator():
    def make():
        log = []

        @contextlib.contextmanager
        def scaled(by):
            log.append("in")
            try:
                yield by * 2
            finally:
                log.append("out")

        def f(x):
            with scaled(3) as s:
                y = x * s
            return y + 1

        return f, lambda: log

    check(make, X, graphs=1, breaks=0, captures=1)


def test_generator_with_finally():
    def make():
        log = []

        def numbers():
            try:
                yield 1
                yield 2
            finally:
                log.append("done")

        def whole(x):
            for n in numbers():
                x = x * n
            log.append("behind")
            return x

        return whole, lambda: log

    check(make, X, graphs=1, breaks=0)


def test_generator_that_is_left():
    def make():
        log = []

        def numbers():
            try:
                yield 1
                yield 2
            finally:
                log.append("closed")

        def f(x):
            for n in numbers():
                x = x * n
                break
            log.append("behind")
            return x

        return f, lambda: log

    check(make, X)


def test_exception_in_a_context_manager_of_a_generator():
    def make():
        log = []

        @contextlib.contextmanager
        def quiet():
            try:
                yield
            except ValueError as e:
                log.append(str(e))
            finally:
                log.append("out")

        def f(x, bad):
            with quiet():
                x = x * 2
                if bad:
                    raise ValueError("no")
                x = x + 1
            return x * 3

        return f, lambda: log

    check_calls(make, [(X, False), (X, True), (X, False)])


# --- classes -------------------------------------------------------------------------------------------------


def test_attribute_of_a_class_that_is_set():
    def make():
        class Counter:
            steps, names = 0, ()

        class Derived(Counter):
            pass

        def f(x):
            Counter.steps += 1
            Counter.names = (*Counter.names, "n") if Counter.steps < 3 else ()
            return x * Derived.steps, Counter.names

        return f, lambda: (Counter.steps, Counter.names, vars(Derived).get("steps"))

    explained = check_calls(make, [(X,)] * 30, breaks=0)
    assert explained.compile_count <= 4


def test_method_that_is_replaced():
    def make():
        class A:
            def value(self):
                return 2

        a = A()

        def f(x):
            y = x * a.value()
            A.value = lambda self: 3
            z = x * a.value()
            A.kept = 5
            return y, z, a.kept

        return f, lambda: (a.value(), A.kept)

    check_calls(make, [(X,)] * 4)


class Shown(int):
    def __str__(self):
        return "str"

    def __repr__(self):
        return "repr"

    def __format__(self, how):
        return "format" + how


class Odd(float):
    def __str__(self):
        return "str"

    def __int__(self):
        return 77

    def __float__(self):
        return 55.5


@pytest.mark.parametrize("text", [
    "'%s' % n", "'%r' % n", "'%d' % n", "'%5.1f' % n", "'%s' % (n,)", "'%(k)s' % {'k': n}", "b'%d' % n", "b'%a' % n",
    "bytearray(b'%d') % n", "f'{n}'", "f'{n!r}'", "f'{n!s:>9}'", "f'{n:>9}'", "str(n)", "repr(n)", "format(n, '>4')",
    "'{:>8}'.format(n)", "'{0!r}'.format(n)", "type('')('%s') % n"])
def test_texts_ask_the_number_itself(text):
    """What a class of numbers shows of itself is not what its number shows, before a break as elsewhere."""
    for behind in ("id(made)", "kept = made is n", "pass"):
        space = {}
        exec(f"def f(n):\n    made = {text}\n    {behind}\n    return made", space)
        for n in (Size.TWO, Shown(3), Odd(2.5), 4):
            check(plain(space["f"]), n)
