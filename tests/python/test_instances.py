"""Objects of Python classes made, changed and used inside captured functions."""

import abc
import collections
import dataclasses
import dis
import enum
import sys
import types
import typing

import numpy as np
import pytest
from differential import check, check_calls

import pijit as ms
from pijit import Tensor, nn, ops


def tensor(*shape):
    return Tensor(np.asarray(np.random.RandomState(0).randn(*shape), np.float32))


class Scale:
    unit = 2

    def __init__(self, factor, *, shift=0):
        self.factor = factor
        self.shift = shift

    def __call__(self, x):
        return x * self.factor + self.shift

    @property
    def twice(self):
        return self.factor * 2

    @twice.setter
    def twice(self, v):
        self.factor = v / 2

    @classmethod
    def of(cls, v):
        return cls(v, shift=cls.unit)

    @staticmethod
    def plain(v):
        return v + 1


class Deep(Scale):
    def __init__(self, factor):
        super().__init__(factor, shift=1)
        self.more = [factor]

    def __call__(self, x):
        return super().__call__(x) - len(self.more)


class Vec:
    def __init__(self, items):
        self.items = list(items)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]

    def __setitem__(self, i, v):
        self.items[i] = v

    def __contains__(self, v):
        return any(v is x for x in self.items)

    def __iter__(self):
        return iter(self.items)

    def __add__(self, other):
        if not isinstance(other, Vec):
            return NotImplemented
        return Vec([a + b for a, b in zip(self.items, other.items)])

    def __radd__(self, other):
        return Vec([other + a for a in self.items])

    def __rmul__(self, k):
        return Vec([k * a for a in self.items])

    def __iadd__(self, other):
        self.items.append(other)
        return self

    def __neg__(self):
        return Vec([-a for a in self.items])

    def __eq__(self, other):
        return isinstance(other, Vec) and len(self) == len(other)

    def __lt__(self, other):
        return len(self) < len(other)

    def __bool__(self):
        return len(self.items) > 1


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


@dataclasses.dataclass
class State:
    x: object
    n: int = 3
    tags: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: object
    n: int = 3


class Lazy:
    def __getattr__(self, name):
        if name == "missing":
            raise AttributeError(name)
        return len(name)


class Node:
    def __init__(self, value):
        self.value, self.next = value, self


class Recorder:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        object.__setattr__(self, "last", name)


def use(x):
    s = Scale(3)
    s.extra = x
    return s(x) + s.extra + s.twice + Scale.plain(1) + s.unit


def returned(x):
    s = Scale(x, shift=2)
    s.history = [s.factor, 1]
    return s


def inherited(x):
    d = Deep(2)
    d.more.append(x)
    return d(x), d.more


def by_classmethod(x):
    return Scale.of(4)(x)


def setter(x):
    s = Scale(1)
    s.twice = 6
    return s(x), s


def operators(x):
    v = Vec([x, x + 1])
    w = v + v
    v += 3
    u = 2 * w
    return (len(v), v[0], w.items, u.items, x in v, -w, (1 + w).items, v == w, v != w, w < v, bool(Vec([])),
            sum(w[i] for i in [0, 1]))


def iterated(x):
    total = 0
    v = Vec([x, 2, x])
    v[1] = 5
    for a in v:
        total = total + a
    return total if v else None


def slots(x):
    s = Slots(x)
    s.b = 2
    return s.a * s.b, s.a, s.b, hasattr(s, "c")


def slots_returned(x):
    s = Slots(x)
    s.b = 2
    return [s, s.a]


def data(x):
    s = State(x)
    s.tags.append(s.n)
    return s, s == State(x) if s.n > 5 else dataclasses.is_dataclass(s)


def frozen(x):
    f = Frozen(x, n=4)
    return f.x * f.n, f


def lazy(x):
    o = Lazy()
    return x * o.abc, hasattr(o, "there"), getattr(o, "other", 7)


def cycle(x):
    n = Node(x)
    n.other = [n]
    return n.next is n, n.other[0] is n, n.value


def hooked(x):
    r = Recorder()
    r.a = x
    r.b = 2
    return r.a * r.b, r.last, r


def across_break(x):
    s = Scale(2)
    y = s(x)
    s.seen = [y]
    id(type(s).__name__)
    s.seen.append(s(y))
    return s.seen, s


def one_identity(x):
    s = Scale(2)
    pair = [s, s]
    s.factor = 5
    return pair[0] is pair[1], pair, isinstance(s, Scale), isinstance(s, Deep), type(s) is Scale, s == s, s == Scale(5)


def handler(x):
    class_ = Scale
    return class_(2)(x)


def in_loop(x):
    out = []
    for i in range(3):
        out.append(Scale(i))
    return [o(x) for o in out], out


class Made:
    kinds = []

    def __new__(cls, x, *more):
        self = super().__new__(cls)
        self.made = x * 2
        return self


class MadeAndFilled(Made):
    def __init__(self, x, y):
        self.x = x + y


class MadeByObject:
    def __new__(cls, *args, **kwargs):
        self = object.__new__(cls)
        self.args = args
        return self

    def __init__(self, x, *, k=1):
        self.k = x * k


class Another:
    def __new__(cls, x):
        return Scale(x)

    def __init__(self, x):
        raise AssertionError("not called for another class")


class Cooperates(Made, abc.ABC):
    def __new__(cls, x):
        self = super().__new__(cls, x)
        self.made = self.made + 1
        return self


class Only:
    one = None

    def __init__(self):
        self.count = 0


ONLY = Only()


class Shared:
    def __new__(cls):
        return ONLY


def made_by_new(x):
    m, n, o = Made(x), MadeAndFilled(x, 3), MadeByObject(x, k=2)
    c, a = Cooperates(x), Another(2)
    return m.made, n.made, n.x, o.k, len(o.args), c.made, a(x), type(c) is Cooperates, m, n


def shared_by_new(x):
    s = Shared()
    return x * 2, s is ONLY, s.count


CASES = [made_by_new, shared_by_new, use, returned, inherited, by_classmethod, setter, iterated, slots, data, frozen,
         lazy, cycle, hooked, one_identity, handler, in_loop]


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_objects_made_inside_are_captured(f):
    check(lambda: f, tensor(2, 3), breaks=0)


def test_operators_of_classes():
    check(lambda: operators, tensor(2, 3))


def test_an_object_lives_on_behind_a_break():
    check(lambda: across_break, tensor(2, 3), breaks=1)


def test_objects_from_outside_have_operators_too():
    def make():
        v = Vec([tensor(2), 1])

        def f(x):
            w = v + Vec([x, 2])
            return w.items, len(v), v[0], -v, v == w, 1 in v if len(v) > 5 else x
        return f
    check(make, tensor(2), breaks=0)


def test_property_setters_of_objects_from_outside_run():
    def make():
        s = Scale(1)

        def f(x):
            s.twice = 8
            return s(x)
        return f, lambda: vars(s)
    check(make, tensor(2), breaks=0)


def test_a_changed_class_is_seen():
    class Local:
        k = 1

        def value(self):
            return self.k

    def make():
        Local.k = 1

        def f(x, k):
            return x * Local().value()
        return f
    f = ms.jit(make())
    x = tensor(2)
    assert np.array_equal(f(x, 0).asnumpy(), x.asnumpy())
    Local.k = 5
    assert np.array_equal(f(x, 0).asnumpy(), x.asnumpy() * 5)
    Local.value = lambda self: 7
    assert np.array_equal(f(x, 0).asnumpy(), x.asnumpy() * 7)


def test_mistakes_raise_what_python_raises():
    class Bad:
        def __init__(self):
            return 3

    class Abstract(abc.ABC):
        @abc.abstractmethod
        def f(self):
            pass

    class Plain:
        pass

    def bad(x):
        return Bad()

    def abstract(x):
        return Abstract()

    def arguments(x):
        return Plain(x)

    def missing(x):
        return Scale(1).nothing

    def too_many(x):
        return Scale(1, 2, 3)

    def no_such_slot(x):
        s = Slots(x)
        s.c = 1

    def unfilled_slot(x):
        return Slots(x).b

    def read_only(x):
        f = Frozen(x)
        f.x = 1

    for f in (bad, abstract, arguments, missing, too_many, read_only, no_such_slot, unfilled_slot):
        check(lambda f=f: f, tensor(2))


def test_slots_are_filled_in_the_object_that_comes_out():
    for f in (slots_returned, ms.jit(slots_returned)):
        x = tensor(2)
        s, a = f(x)
        assert type(s) is Slots and s.a is a is x and s.b == 2


def test_an_exception_in_getattr_is_seen_by_hasattr():
    def f(x):
        o = Lazy()
        return hasattr(o, "missing"), getattr(o, "missing", 7), x + 1
    check(lambda: f, tensor(2))


def test_what_python_sees_go_is_not_virtual():
    log = []

    class Loud:
        def __del__(self):
            log.append("gone")

    def f(x):
        Loud()
        return x + 1
    check(lambda: (log.clear(), (f, log.copy))[1], tensor(2))
    assert log == ["gone"] * 2


class Pair(typing.NamedTuple):
    x: object
    n: int = 3

    def __add__(self, other):
        return Pair(self.x + other.x, self.n + other.n)

    @property
    def both(self):
        return self.x * self.n


Point = collections.namedtuple("Point", "a b", defaults=[7])


class Mode(enum.Enum):
    TRAIN = "train"
    TEST = "test"

    def flag(self):
        return self is Mode.TRAIN


class Number(enum.IntEnum):
    ONE = 1
    TWO = 2


def test_named_tuples():
    def make():
        outside = Pair(tensor(2, 3), 5)

        def f(x):
            p = Pair(x)
            q = p + outside
            r = Point(b=x, a=2)
            a, b = r
            print(f"{Pair(1)} {Point(1, b='k')} {q.n}")
            return (p, q, q.both, r.a, r[1] is x, b is x, r, Point(1), isinstance(p, tuple), type(r).__name__, len(p),
                    p.n, outside, Point(1) == (1, 7), p[1:])
        return f
    check(make, tensor(2, 3), breaks=0)

    def branch(x):
        p = Pair(x, 1) if x.sum() > 0 else Pair(-x, 1)
        return p, p.both
    for t in (tensor(3), -tensor(3)):
        check(lambda: branch, t)

    def wrong(x):
        return Pair(x, 1, 2)
    check(lambda: wrong, tensor(2))


def test_enums():
    def make():
        mode = Mode.TEST
        table = {Mode.TRAIN: 2, Mode.TEST: 3}

        def f(x, m):
            if m is Mode.TRAIN:
                x = x + 1
            y = x * table[m] + len(m.value) + (m == mode) + m.flag()
            return (y, m, Mode.TEST.name, m != Mode.TEST, m in (Mode.TRAIN,), Number.ONE, [m for m in Mode],
                    Number.TWO + 1)
        return f
    check_calls(make, [(tensor(2), Mode.TRAIN), (tensor(2), Mode.TEST), (tensor(2), Mode.TRAIN)])


def test_a_class_with_new_or_a_metaclass():
    class Single:
        it = None

        def __new__(cls):
            if cls.it is None:
                cls.it = super().__new__(cls)
            return cls.it

    class Meta(type):
        def __call__(cls, *args):
            return super().__call__(*args), "meta"

    class Made(metaclass=Meta):
        pass

    def f(x):
        return Single() is Single(), type(Made()[0]).__name__, x + 1
    check(lambda: f, tensor(2))


def test_gradients_of_functions_made_inside_are_one_graph():
    def grad(x):
        return ms.grad(lambda a: (a * a * a).sum())(x)

    def operation(x, y):
        return ops.GradOperation(get_all=True)(lambda a, b: (a * b).sum())(x, y)

    def second(x):
        return (ms.grad(ms.grad(lambda a: (a * a * a).sum()), 0)(x) if x.ndim == 0
                else ms.value_and_grad(lambda a: (a.sum(), a), has_aux=True)(x))
    check(lambda: grad, tensor(2, 3), graphs=1, breaks=0)
    check(lambda: operation, tensor(2, 3), tensor(2, 3), graphs=1, breaks=0)
    check(lambda: second, tensor(2, 3), graphs=1, breaks=0)
    check(lambda: second, tensor(), graphs=1, breaks=0)


def test_a_training_step_that_makes_its_gradient_function_is_one_graph():
    def make():
        net = nn.SequentialCell(nn.Dense(4, 8, weight_init="ones"), nn.ReLU(), nn.Dense(8, 2, weight_init="ones"))
        loss_fn, opt = nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9)

        def step(x, y):
            def forward(x, y):
                logits = net(x)
                return loss_fn(logits, y), logits
            (loss, logits), grads = ms.value_and_grad(forward, None, opt.parameters, has_aux=True)(x, y)
            opt(grads)
            return loss, logits
        return step, lambda: [p.asnumpy().tobytes() for p in net.trainable_params()]
    check(make, tensor(3, 4), Tensor(np.array([0, 1, 0], np.int32)), graphs=1, breaks=0, calls=4)


def test_primitives_and_layers_made_inside():
    def f(x):
        y = ops.ReduceSum(keep_dims=True)(x, 1)
        return ops.Add()(nn.ReLU()(x), y), nn.Softmax()(x), nn.Flatten()(x)
    check(lambda: f, tensor(2, 3))


def test_objects_in_a_branch_on_a_tensor():
    def f(x):
        s = Scale(2)
        if x.sum() > 0:
            t = Scale(3)
            y = t(x)
        else:
            y = s(x)
        return y, s
    check_calls(lambda: f, [(tensor(3),), (-tensor(3),)])

    def g(x):
        s = Scale(2)
        if x.sum() > 0:
            s.factor = 3
        return s(x), s
    check_calls(lambda: g, [(tensor(3),), (-tensor(3),)])


def test_missing_attributes_by_getattr_and_properties():
    class Odd:
        @property
        def bad(self):
            raise AttributeError("inside")

        @property
        def worse(self):
            raise KeyError("inside")

        def __getattr__(self, name):
            if name == "there":
                return 5
            raise AttributeError(name)
    odd = Odd()

    def asked(x):
        return (x * 2, (hasattr(odd, "bad"), hasattr(odd, "there"), hasattr(odd, "nope"), getattr(odd, "nope", 7),
                        getattr(odd, "bad", 8)))
    check(lambda: asked, Tensor([1.0, 2.0]), graphs=1, breaks=0)

    def caught(x):
        try:
            y = getattr(odd, "nope")
        except AttributeError:
            y = 3
        try:
            hasattr(odd, "worse")
        except KeyError:
            y += 1
        return x * y
    check(lambda: caught, Tensor([1.0, 2.0]), graphs=1, breaks=0)


def test_attributes_that_a_cell_has_not():
    class Net(nn.Cell):
        def construct(self, x):
            if hasattr(self, "scale"):
                return x * self.scale
            return x + getattr(self, "shift", 3)
    check(lambda: Net(), Tensor([1.0, 2.0]), graphs=1, breaks=0)


def test_new_that_raises_or_changes():
    def other(cls, x):
        self = object.__new__(cls)
        self.x = x * 3
        return self

    def make():
        class Refuses:
            def __new__(cls, x):
                return super().__new__(cls, x)

        class Changes:
            def __new__(cls, x):
                self = super().__new__(cls)
                self.x = x * 2
                return self

        def f(x, kind):
            if kind == "new":
                Changes.__new__ = other
            return (Refuses if kind == "refuses" else Changes)(x).x
        return f
    x = tensor(2)
    check_calls(make, [(x, ""), (x, ""), (x, "refuses"), (x, "new"), (x, "")])


class Counter:
    def __init__(self, t):
        self.n, self.t, self.kept = 0, t, []

    def add(self, x):
        self.t = self.t + x
        self.n += 1
        return self.t

    def total(self, x):
        return self.t + x * self.scale if hasattr(self, "scale") else self.t + x

    def read(self):
        return self.n, self.t


def specialised(function):
    """Are all its reads of attributes CPython's quick ones, after some calls?"""
    names = [i.opname for i in dis.get_instructions(function, adaptive=True) if i.opname.startswith("LOAD_ATTR")]
    return bool(names) and all("_" in n[len("LOAD_ATTR"):] and "ADAPTIVE" not in n for n in names)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="CPython specialises from 3.11 on")
@pytest.mark.parametrize("method", ["add", "total"])
def test_attributes_stay_quick_for_other_code(method):
    one = ms.Tensor(1.0)
    for _ in range(2):
        kind = type("Kind", (Counter,), {n: types.FunctionType(getattr(Counter, n).__code__, globals(), n)
                                         for n in ("add", "total", "read")})
        setattr(kind, method, ms.jit(getattr(kind, method)))
        plain, x = Counter(one), kind(one)
        for _ in range(100):
            assert float(getattr(x, method)(one)) == float(getattr(plain, method)(one))
        for _ in range(300):
            x.read()
        assert specialised(kind.read)
        assert list(vars(x)) == list(vars(plain)) and x.read() == (plain.n, x.t)


def test_a_dict_that_others_hold_stays_the_objects():
    one = ms.Tensor(1.0)
    x = Counter(one)
    held = x.__dict__
    add = ms.jit(Counter.add)
    for k in range(20):
        add(x, one)
        assert held is x.__dict__ and held["n"] == k + 1
        held["n"] = k + 1
        held[f"new{k}"] = k
    assert list(held) == ["n", "t", "kept"] + [f"new{k}" for k in range(20)]
    y = Counter(one)
    for k in range(20):
        add(y, one)
        if k == 7:
            del y.kept
            y.last = 1
        if k == 9:
            held = y.__dict__
        if k == 12:
            y.__dict__ = dict(held)
    assert y.n == 20 and list(vars(y)) == ["n", "t", "last"] and vars(y) is not held and held["n"] == 13
