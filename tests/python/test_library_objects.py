"""What programs are configured by: dataclasses, Enum classes, functions behind functools.lru_cache, copies."""

import copy
import dataclasses
import enum
import functools

import numpy as np
import pytest

import pijit as ms
from pijit import ops
from tests.python.differential import check, check_calls

X = ms.Tensor(np.arange(4, dtype=np.float32))


def made(f):
    return lambda: f


# --- dataclasses ---------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Config:
    lr: float = 0.1
    hidden: int = 4
    name: str = "a"
    betas: tuple = (0.9, 0.99)


@dataclasses.dataclass(frozen=True)
class Frozen:
    lr: float = 0.1
    hidden: int = 4


@dataclasses.dataclass
class Out:
    loss: object
    logits: object
    extra: dict = dataclasses.field(default_factory=dict)


def with_config(f, config=Config):
    def make():
        c = config()
        return lambda x: f(x, c), lambda: c

    return make


def replaced(x, c):
    d = dataclasses.replace(c, lr=0.5)
    return x * d.lr, d, d.hidden, d is c, dataclasses.replace(d) == d


def as_dict(x, c):
    d = dataclasses.asdict(c)
    d["betas"] = 1
    return x * d["lr"], d, dataclasses.astuple(c), dataclasses.asdict(Out(1.0, [1, Frozen()]))


def its_fields(x, c):
    names = [f.name for f in dataclasses.fields(c)]
    values = {f.name: getattr(c, f.name) for f in dataclasses.fields(type(c))}
    return x * len(names), names, values, dataclasses.is_dataclass(c)


def text(x, c):
    print(c)
    return x * 2 if c == Config() else x * 3, repr(c), str(Config(lr=2.0)), f"{c}"


@pytest.mark.parametrize("f", [replaced, as_dict, its_fields, text], ids=lambda f: f.__name__)
def test_dataclass(f):
    check(with_config(f), X, graphs=1, breaks=0, captures=1)


def test_frozen_dataclass():
    check(with_config(replaced, Frozen), X, graphs=1, breaks=0, captures=1)


def test_dataclass_of_tensors():
    def f(x):
        o = Out(loss=x.sum(), logits=x * 2)
        o.extra["k"] = x
        return dataclasses.replace(o, logits=None), o

    check(made(f), X, graphs=1, breaks=0, captures=1)


def test_replace_raises():
    def f(x, c):
        return dataclasses.replace(c, no=1)

    check(with_config(f), X)


# --- Enum classes -----------------------------------------------------------------------------------------------


class Color(enum.Enum):
    RED = 1
    GREEN = 2
    CRIMSON = 1


class Mode(str, enum.Enum):
    TRAIN = "train"
    EVAL = "eval"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


class Part(enum.Flag):
    A = enum.auto()
    B = enum.auto()


def members(x):
    for c in Color:
        x = x * c.value
    return x, [c.name for c in Color], len(Color), list(Color), sorted(Level), {c: c.value for c in Color}, max(Level)


def by_name(x):
    return x * Color["GREEN"].value, Color(2), Color["CRIMSON"] is Color.RED, Level["HIGH"] + 1, Mode["EVAL"]


def belongs(x):
    return (x * 2, Color.RED in Color, Level.LOW in Level, Part.A in (Part.A | Part.B), Color.GREEN in {Color.GREEN},
            bool(Color))


def not_there(x):
    try:
        Color["NO"]
    except KeyError as e:
        x = x * 3
        return x, e.args


@pytest.mark.parametrize("f", [members, by_name, belongs, not_there], ids=lambda f: f.__name__)
def test_enum(f):
    check(made(f), X, graphs=1, breaks=0, captures=1)


def test_enum_of_an_argument():
    def f(x, name, value):
        return x * Color[name].value if Mode(value) is Mode.TRAIN else x - Color[name].value

    calls = [(X, "RED", "train"), (X, "GREEN", "train"), (X, "GREEN", "eval"), (X, "RED", "eval")]
    check_calls(made(f), calls, breaks=0)


def test_enum_with_a_meta_class_of_its_own():
    class Meta(enum.EnumMeta):
        def __iter__(cls):
            return reversed(list(super().__iter__()))

        def __getitem__(cls, name):
            return super().__getitem__(name.upper())

    class Own(enum.Enum, metaclass=Meta):
        A = 1
        B = 2

    def f(x):
        return x * Own["b"].value, list(Own)

    check(made(f), X)


# --- functools.lru_cache -------------------------------------------------------------------------------------


def cached(decorate):
    """A program with fresh functions, whose accounts are compared."""

    def make():
        calls = []

        @decorate
        def rate(n):
            calls.append(n)
            return 0.1 * 0.5**n

        @decorate
        def table(n, scale):
            calls.append((n, scale))
            return [scale * k for k in range(n)]

        @decorate
        def mask(n):
            calls.append(n)
            return ops.ones((n,)) * 2

        def f(x, n):
            t = table(3, 0.5)
            return x * rate(n) + t[1], x * mask(4), t is table(3, 0.5), mask(4)

        return f, lambda: (calls, [tuple(g.cache_info()) for g in (rate, table, mask)])

    return make


DECORATORS = {
    "cache": functools.cache,
    "lru_cache": functools.lru_cache,
    "lru_cache()": functools.lru_cache(),
    "small": functools.lru_cache(maxsize=2),
    "none": functools.lru_cache(maxsize=0),
    "typed": functools.lru_cache(typed=True),
}


@pytest.mark.parametrize("decorate", DECORATORS.values(), ids=DECORATORS)
def test_cached_functions(decorate):
    check_calls(cached(decorate), [(X, n) for n in (0, 1, 0, 1, 2, 0, 2, 1, 3)])


@pytest.mark.parametrize("decorate", [functools.cache, functools.lru_cache()])
def test_what_is_kept_is_captured(decorate):
    @decorate
    def rate(n):
        return 0.1 * 0.5**n

    @decorate
    def mask(n):
        return ops.ones((n,)) * 2

    for n in range(4):
        rate(n)
    mask(4)

    def f(x, n):
        return x * rate(n) * mask(4)

    check_calls(made(f), [(X, n) for n in (0, 1, 2, 3, 0)], breaks=0, captures=2)


def test_kept_while_the_program_changes():
    scope = {"base": 1.0}

    def make():
        scope["base"] = 1.0

        @functools.cache
        def rate(n):
            print("computed", n)
            return scope["base"] * n

        def f(x, n, clear):
            scope["base"] = scope["base"] + 1
            if clear:
                rate.cache_clear()
            print("before")
            y = x * rate(n)
            print("after")
            return y

        return f

    calls = [(X, 1, False), (X, 1, False), (X, 2, False), (X, 2, True), (X, 1, False), (X, 2, False), (X, 2, False)]
    check_calls(make, calls)


# --- copies ------------------------------------------------------------------------------------------------------


def shallow(x):
    inner = [1, 2]
    d, l, s = {"a": inner, "b": x}, [x, inner], {1, 2}
    c, m, t = copy.copy(d), copy.copy(l), copy.copy(s)
    c["z"] = 1
    m.append(3)
    t.add(5)
    return (x * 2, d, c, c["a"] is inner, l, m, m[0] is x, s, t, copy.copy((inner,))[0] is inner, copy.copy("a"),
            copy.copy(2.5))


def deep(x):
    inner = [1, [2, 3]]
    both = copy.deepcopy({"p": inner, "q": inner, "t": (1, inner), "u": (1, 2), "s": {4, 5}})
    both["p"].append(7)
    return x * both["q"][0], both, inner, both["p"] is both["q"], both["t"][1] is both["p"]


def of_tensors(x):
    d = {"w": x, "v": [x]}
    c = copy.deepcopy(d)
    e = copy.copy(x)
    return c["w"] * 2, c["w"] is x, c, e is x, e + 1


def of_instances(x):
    o = Out(1.0, [x])
    c, d = copy.copy(o), copy.deepcopy(o)
    c.loss = 2.0
    d.extra["k"] = 1
    return x, o, c, d, c.logits is o.logits, d.logits is o.logits, c.extra is o.extra


@pytest.mark.parametrize("f", [shallow, deep, of_tensors, of_instances], ids=lambda f: f.__name__)
def test_copies(f):
    check(made(f), X, graphs=1, breaks=0, captures=1)


def test_copies_of_what_is_outside():
    def make():
        state = {"a": [1, 2], "b": (3, [4])}

        def f(x):
            c, d = copy.copy(state), copy.deepcopy(state)
            c["z"] = 1
            d["a"].append(5)
            return x * c["a"][0], c, d, d["b"][1] is state["b"][1], c["a"] is state["a"]

        return f, lambda: state

    check(make, X, graphs=1, breaks=0, captures=1)


def test_copies_that_are_not_followed():
    class Own:
        def __init__(self):
            self.copied = 0

        def __copy__(self):
            self.copied += 1
            return 7

        def __deepcopy__(self, memo):
            return len(memo)

    def make():
        own, config = Own(), Config()

        def f(x):
            loop = [1]
            loop.append(loop)
            c = copy.copy(config)
            c.lr = 3.0
            return x * copy.copy(own), copy.deepcopy([own]), len(copy.deepcopy(loop)), c, config.lr

        return f, lambda: (own, config)

    check(make, X)
