"""Data descriptors that classes of the user define: capture goes through __get__, __set__ and __delete__."""
import numpy as np
from differential import check

import pijit as ms

X = ms.Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))


class Kept:
    """Keeps its value in the object, under another name, and counts changes."""

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, owner=None):
        return self if obj is None else getattr(obj, self.name)

    def __set__(self, obj, value):
        setattr(obj, self.name, value)
        obj.changes += 1

    def __delete__(self, obj):
        delattr(obj, self.name)
        obj.changes -= 100


class Positive(Kept):
    def __set__(self, obj, value):
        if value <= 0:
            raise ValueError(f"{self.name[1:]} is to be above 0, not {value}")
        super().__set__(obj, value)


def thing_class():
    class Thing:
        weight = Kept()
        rate = Positive()

        def __init__(self):
            self.changes = 0
            self.weight = X * 2
            self.rate = 3

    return Thing


def seen(thing):
    return lambda: sorted((k, v.asnumpy().tolist() if isinstance(v, ms.Tensor) else v) for k, v in vars(thing).items())


def with_thing(function):
    """What makes the function and its thing for a run."""
    def make():
        thing = thing_class()()
        return lambda *args: function(thing, *args), seen(thing)

    return make


def test_given_object():
    def f(t, x):
        t.weight = t.weight * x + t.rate
        t.rate = t.rate + 1
        t.rate += 1
        return t.weight.sum()

    check(with_thing(f), X, graphs=1, breaks=0, captures=1)


def test_object_that_the_function_makes():
    def make():
        thing = thing_class()

        def f(x):
            t = thing()
            t.weight = x + t.weight
            t.rate = 7
            return t, t.weight * t.rate

        def run(x):
            t, y = f(x)
            return y, t.changes, t._weight, t._rate

        return run, lambda: None

    check(make, X, graphs=1, breaks=0, captures=1)


def test_deletion():
    def f(t, x):
        del t.weight
        y = x + t.rate
        try:
            y = y * t.weight
        except AttributeError:
            y = y * 5
        t.weight = y
        return y

    check(with_thing(f), X)


def test_what_it_refuses():
    def f(t, x, rate):
        t.weight = x + 1
        try:
            t.rate = rate
        except ValueError as e:
            return str(e), t.weight + 1
        return t.weight * t.rate

    check(with_thing(f), X, 5, breaks=0)
    check(with_thing(f), X, -1, breaks=0)
    check(with_thing(lambda t, x: setattr(t, "rate", -int(x.shape[0]))), X)


def test_descriptor_with_values_of_its_own():
    def make():
        class Scale:
            def __init__(self):
                self.factor = 2.0
                self.log = []

            def __get__(self, obj, owner):
                return self if obj is None else obj.x * self.factor

            def __set__(self, obj, value):
                self.log.append(value)
                self.factor = value
                obj.x = obj.x + value

        class Scaled:
            y = scale = Scale()

            def __init__(self):
                self.x = X

        s = Scaled()

        def f(k):
            s.y = k
            return s.y + 1

        return f, lambda: (s.scale.asnumpy().tolist(), Scaled.y.log)

    check(make, 3.0)


def test_only_set():
    """Without __get__ the object's own dict is read, and else the descriptor itself is what is found."""
    def make():
        class Upper:
            bonus = 10

            def __set__(self, obj, value):
                object.__setattr__(obj, "seen", value * 2)

        class A:
            u = Upper()

        a, b = A(), A()
        vars(a)["u"] = 5

        def f(x):
            a.u = 3
            b.u = 4
            return x * a.u + a.seen + b.u.bonus + b.seen

        return f, lambda: (vars(a), vars(b))

    check(make, X)


def test_later_changes_of_the_class():
    def make():
        thing = thing_class()()

        def f(x):
            thing.weight = x * 2
            return thing.weight + thing.changes

        def run(x):
            out = [f(x), f(x)]

            def store(self, obj, value):
                obj._weight = value * 100

            old, Kept.__set__ = Kept.__set__, store
            try:
                out.append(f(x))
            finally:
                Kept.__set__ = old
            type(thing).weight = property(lambda self: x - 1, lambda self, value: None)
            out.append(f(x))
            del type(thing).weight
            out.append(f(x))
            return out

        return run, seen(thing)

    check(make, X)


def test_properties():
    def make():
        log = []

        class P:
            def __init__(self):
                self._x = X + 1

            @property
            def x(self):
                return self._x

            @x.setter
            def x(self, value):
                log.append("set")
                self._x = value

            @x.deleter
            def x(self):
                log.append("del")
                self._x = X * 0 + 1

        p = P()

        def f(y):
            p.x = p.x + y
            a = p.x * 2
            del p.x
            return a, p.x + 1

        return f, lambda: (log, p._x.asnumpy().tolist())

    check(make, X, graphs=1, breaks=0)


def test_in_branches_on_tensors():
    def f(t, x):
        if x.sum() > 3:
            t.weight = x * 2
        else:
            t.weight = x * 3
        return t.weight + 1

    check(with_thing(f), X)
    check(with_thing(f), X - 5)
