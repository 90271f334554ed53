"""Corner cases of objects, generators and calls inside captured functions: all a user can see is as in the plain
run."""

import warnings
import collections
import dataclasses

import numpy as np
import pytest
from differential import check

import pijit as ms
from pijit import Tensor, nn, ops

X = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3) / 3)
CASES = []


def case(f):
    CASES.append(f)
    return f


class Shared:
    log = []
    count = 0

    def __init__(self, v):
        self.log.append(v)
        self.v = v


@case
def shared_list(x):
    a = Shared(1)
    b = Shared(2)
    return a.log is b.log, len(Shared.log) > 0, a.v + b.v


@case
def class_counter(x):
    Shared.count += 1
    return Shared.count, x + Shared.count


class Holder:
    def __init__(self, a):
        self._a = a
        self.reads = 0

    @property
    def a(self):
        self.reads += 1
        return self._a

    def m(self, x, *, k=2):
        return x * self._a * k


@case
def prop_effects(x):
    p = Holder(x)
    q = p.a + p.a
    return q, p.reads, p


@case
def bound_method_kept(x):
    p = Holder(2)
    m = p.m
    d = {"m": m}
    id(x)
    return d["m"](x), m(x, k=5), m.__self__ is p


@case
def closure_over_instance(x):
    p = Holder(3)

    def g(y):
        p._a += 1
        return p.m(y)

    r = g(x)
    id(r)
    return r, g(x), p._a


HELD = []


@case
def into_global(x):
    HELD.append(Holder(x))
    return len(HELD) > 0, HELD[-1].m(2)


@case
def ids(x):
    p = Holder(1)
    c = [p, (p, {"k": p})]
    p.me = c
    id(p)
    return c[0] is c[1][0], c[1][1]["k"] is p, p.me is c


@case
def cyc_dict(x):
    p = Holder(1)
    p.d = {"self": p}
    p.l = [p]
    return p.d["self"] is p, p.l[0].d is p.d


@dataclasses.dataclass(order=True)
class D:
    n: int
    t: object = dataclasses.field(default=None, compare=False)
    tags: list = dataclasses.field(default_factory=lambda: ["z"])
    scale: dataclasses.InitVar[int] = 2

    def __post_init__(self, scale):
        self.n *= scale


@case
def dclass(x):
    a = D(1, x)
    b = D(2)
    return (a < b, a == D(1), b.tags is a.tags, a, sorted([D(3).n, D(1).n]),
            dataclasses.replace(b, n=9, scale=1) if a.n > 100 else None)


class Base:
    def __init__(self, **kw):
        self.base = kw.pop("base", 0)
        super().__init__(**kw)

    def who(self):
        return ["Base"]


class Mix:
    def __init__(self, mix=1, **kw):
        self.mix = mix
        super().__init__(**kw)

    def who(self):
        return ["Mix"] + super().who()


class Deriv(Mix, Base):
    def who(self):
        return ["Deriv"] + super().who()

    def again(self):
        return type(self)(mix=self.mix + 1)


@case
def mro(x):
    d = Deriv(mix=3, base=4)
    return d.who(), d.again().mix, d.base, Deriv.__mro__[1].__name__ if d.mix > 9 else 1


@case
def late_binding(x):
    fs = [lambda y: y * i for i in range(3)]
    gs = (f(x) for f in fs)
    return [g for g in gs]


def taker(g, n):
    out = []
    for v in g:
        out.append(v)
        if len(out) == n:
            break
    return out


@case
def partially(x):
    g = (x + i for i in range(5))
    a = taker(g, 2)
    b = taker(g, 1)
    return a, b, list(g)


@case
def gen_with_break_between(x):
    g = (x + i for i in range(3))
    id(x)
    a = next(g)
    return a, sum(g)


@case
def nested_gen(x):
    return sum(sum(x * j for j in range(i) if j % 2 == 0) for i in range(1, 4))


def echo(x):
    got = yield x
    yield got


@case
def send(x):
    g = echo(x)
    a = next(g)
    b = g.send(x + 1)
    return a, b


@case
def gen_return_value(x):
    def g():
        yield 1
        return x

    it = g()
    next(it)
    try:
        next(it)
    except StopIteration as e:
        return e.value


class Quiet:
    def __enter__(self):
        return self

    def __exit__(self, *a):
        return True


@case
def exit_true(x):
    with Quiet():
        y = x + 1
    with Quiet() as q:
        y = y + {}["k"]
    return y, q is not None


@case
def exit_return(x):
    with Quiet():
        return x * 2


@case
def loop_with(x):
    for i in range(3):
        with Quiet():
            if i == 1:
                continue
            if i == 2:
                break
            x = x + 1
    return x, i


class Cmp:
    def __init__(self, v):
        self.v = v

    def __eq__(self, o):
        return self.v == o

    def __lt__(self, o):
        return NotImplemented

    def __contains__(self, i):
        return i > self.v

    def __bool__(self):
        raise ValueError("no truth")


@case
def eq_tensor(x):
    c = Cmp(x)
    r = c == x
    return r, 5 in Cmp(3)


@case
def bool_raises(x):
    return 1 if Cmp(1) else 2


@case
def lt_unsupported(x):
    return Cmp(1) < 3


class Sub(dict):
    pass


@case
def dict_subclass(x):
    d = Sub(a=x)
    d["b"] = 2
    return d["a"], len(d)


class L2(list):
    def total(self):
        return sum(self)


@case
def list_subclass(x):
    l = L2([1, 2])
    l.append(x)
    return l.total(), l


class Meth:
    def __init__(self):
        self.f = lambda y: y + 1

    def __getattr__(self, n):
        return n + "!"


@case
def inst_attr_func(x):
    m = Meth()
    return m.f(x), m.zzz, m.__class__.__name__


@case
def setattr_getattr(x):
    p = Holder(1)
    setattr(p, "k", x)
    setattr(p, "_a", 4)
    return getattr(p, "k"), getattr(p, "nope", 7), hasattr(p, "k"), p.m(1)


@case
def del_attr(x):
    p = Holder(1)
    del p._a
    return hasattr(p, "_a"), x


@case
def vars_(x):
    p = Holder(x)
    return sorted(vars(p)), p.__dict__["reads"]


@case
def obj_as_key(x):
    p = Holder(1)
    return {p: x}[p]


@case
def print_obj(x):
    print("a", Holder(1)._a, x.shape, sep=",")
    print()
    print("b", end="")
    return x


class Acc:
    def __init__(self):
        self.total = 0
        self.n = 0

    def add(self, v):
        self.total = self.total + v
        self.n += 1
        return self

    def mean(self):
        return self.total / self.n


@case
def accumulate(x):
    a = Acc()
    for i in range(4):
        a.add(x * i).add(1)
    return a.mean(), a


@case
def grad_with_objects(x):
    def loss(y):
        a = Acc()
        a.add(y * y).add(y)
        return a.mean().sum()

    return ms.grad(loss)(x), ms.value_and_grad(loss)(x)


@case
def cell_made(x):
    return nn.Dense(3, 2, weight_init="ones", bias_init="ones")(x), nn.SequentialCell(nn.ReLU(), nn.Flatten())(x)


@case
def namedtuple_local(x):
    Q = collections.namedtuple("Q", "u v")
    q = Q(x, 1)
    return q.u * 2, q._replace(v=5).v, q._asdict()["v"]


@case
def starred_call(x):
    def f(a, b=2, *c, d=4, **e):
        return a * b + sum(c) * d + len(e)

    return f(x), f(x, 1, 2, 3, d=1, z=3), f(*[x, 3], **{"d": 2})


NamedPair = collections.namedtuple("NamedPair", "a b")


@case
def operators_on_named_tuples(x):
    pair = NamedPair(x, (x * 2, x))
    still, same, wide = ops.stop_gradient(pair), ops.identity(pair), ops.atleast_3d(NamedPair(x, x))
    return still.a + still.b[0], same is pair, wide.b, ops.clip_by_norm(NamedPair(x, x), 1.0).b, type(still).__name__


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_corner_case(f):
    def make():
        Shared.log.clear()
        Shared.count = 0
        HELD.clear()
        return f

    check(make, X, calls=3)


def test_operators_on_tuples_of_parameters():
    net = nn.Dense(2, 2)
    weights = ms.ParameterTuple(net.trainable_params())
    assert ops.identity(weights) is weights and type(ops.stop_gradient(weights)) is tuple
    pair = NamedPair(X, (X, X))
    still = ops.stop_gradient(pair)
    assert type(still) is NamedPair and type(still.b) is tuple and ops.identity(pair) is pair
    assert [p.shape for p in ops.clip_by_norm(weights, 1.0)] == [p.shape for p in weights]
    from pijit.amp import DynamicLossScaler
    from pijit.compat.old.training import _grad_scale_map

    for scaled in (DynamicLossScaler(2.0, 2, 10).scale(weights), _grad_scale_map(Tensor(2.0), weights)):
        assert type(scaled) is tuple and np.array_equal(scaled[0].asnumpy(), 2 * weights[0].asnumpy())

    class Two(nn.Cell):
        def __init__(self):
            super().__init__()
            self.layer = nn.Dense(2, 2)

        def construct(self, x):
            return NamedPair(self.layer(x), x)

    found = ms.amp.auto_mixed_precision(Two(), "O3")(ops.ones((1, 2)))
    assert type(found) is NamedPair and found.a.dtype == ms.float32


@pytest.mark.parametrize("f", [lambda x: ~True, lambda x: ~x, lambda x: (~(x == x), x),
                               lambda x: [~v for v in (x, False)], lambda x: ~(x and True) + 1,
                               lambda x: not NotImplemented, lambda x: x if NotImplemented else 0,
                               lambda x: bool(NotImplemented)])
def test_operators_that_warn_do_so_each_time(f):
    # `~` of a bool from CPython 3.12 on; the truth of NotImplemented up to 3.13, from then on an error
    def told(g):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            results = []
            for k in range(6):
                try:
                    results.append(g(k % 2 == 0))
                except TypeError as e:
                    results.append(str(e))
        return results, [(w.category, str(w.message), w.lineno) for w in seen]
    assert told(ms.jit(f)) == told(f)
