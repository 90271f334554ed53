"""OrderedDict, defaultdict and Counter: made inside, and from outside, read and changed."""

import operator
import sys
from collections import ChainMap, Counter, OrderedDict, defaultdict

import numpy as np
import pytest
from tests.python.differential import check, check_calls

import pijit as ms
from pijit import ops

X = ms.Tensor(np.arange(4, dtype=np.float32))

NEW = sys.version_info >= (3, 10)  # Counters that are compared, and have a total


def made(f):
    return lambda: f


# --- made inside ---------------------------------------------------------------------------------------------


def ordered(x):
    d = OrderedDict()
    d["a"] = x * 2
    d["b"] = x + 1
    d["c"] = 3
    d.move_to_end("a")
    d.move_to_end("c", last=False)
    return d, list(d), [k for k, _ in d.items()], list(d.values())[0]


def ordered_pops(x):
    d = OrderedDict([("a", x), ("b", x * 2), ("c", 1)], d=4)
    first, last = d.popitem(last=False), d.popitem()
    try:
        OrderedDict().popitem()
    except KeyError as e:
        text = str(e)
    return first, last, d, text, isinstance(d, dict), type(d) is OrderedDict


def ordered_equal(x):
    a, b = OrderedDict(p=1, q=2), OrderedDict(q=2, p=1)
    return x * 2, a == b, a == dict(b), a != b, a | {"z": 1}, {"y": 0} | dict(a), a.copy(), OrderedDict(a) == a


def default_list(x):
    d = defaultdict(list)
    d["a"].append(x)
    d["b"].append(x * 2)
    d["a"].append(x + 1)
    return d, d["a"][0] + 1, d.default_factory is list, d.get("zzz"), "zzz" in d


def default_number(x):
    d = defaultdict(int)
    for k in ("a", "b", "a"):
        d[k] += 1
    e = defaultdict(float, {"loss": 1.5})
    e["loss"] += x.sum()
    e["other"] += x.max()
    return x * d["a"], dict(d), {k: v / 2 for k, v in e.items()}, d == {"a": 2, "b": 1}


def default_lambda(x):
    d = defaultdict(lambda: ops.zeros_like(x))
    for k in ("a", "b", "a"):
        d[k] = d[k] + x
    return d["a"], sorted(d)


def default_none(x):
    d = defaultdict(None)
    try:
        d["a"]
    except KeyError as e:
        return x * 2, e.args, d


def nested_default(x):
    d = defaultdict(lambda: defaultdict(int))
    d["a"]["b"] += 2
    d["a"]["c"] += 3
    return x * d["a"]["b"], {k: dict(v) for k, v in d.items()}


def counts(x):
    c = Counter()
    c["a"] += 1
    c["b"] += 2
    c.update(["a", "b", "c"])
    c.update({"a": 5}, z=1)
    c.subtract(["b"])
    del c["nothing"]
    return x * c["a"] + c["zzz"], c.most_common(2), c.most_common(1)[0][0], c.most_common(), c


def counts_of(x):
    c = Counter(["a", "b", "a"])
    return x * c["a"], c, sum(c.values()), c.total() if NEW else 0, Counter("hello")["l"], Counter(a=2) == {"a": 2}


def count_operators(x):
    a, b = Counter(a=3, b=2), Counter(a=1, c=2)
    d = a.copy()
    d += b
    return x * 2, a + b, a - b, a | b, a & b, +a, a == b, a <= d if NEW else 0, d


def largest(x):
    import heapq

    d = {"a": 3, "b": 1, "c": 2}
    return (
        x * heapq.nlargest(1, d.values())[0],
        heapq.nsmallest(2, d, key=d.get),
        sorted(d.items(), key=operator.itemgetter(1)),
        max(d.items(), key=operator.itemgetter(1, 0)),
        sorted([x.shape, (9,)], key=operator.itemgetter(0)),
    )


def getters(x):
    last = operator.itemgetter(-1)
    both = operator.attrgetter("ndim", "dtype.itemsize")
    return last([1, x]) * 2, both(x), operator.itemgetter(slice(1, 3))([1, 2, 3, 4])


def equal_dicts(x):
    d = {"a": 1, "b": [1, 2]}
    return x * 2, d == {"b": [1, 2], "a": 1}, d != {"a": 1}, {} == d, str(d), f"{d}", {(1, 2): 3} == {(1, 2): 3}


def keys_of_all_kinds(x):
    d = {(0, 1): x, int: x * 2, len: x * 3, x.dtype: 4}
    return d[(0, 1)], d[int] + d[len], d[x.dtype], list(d), [k for k in d if k is int], (0, 1) in d, (0, True) in d


def chained(x):
    c = ChainMap({"k": x}, {"k": 1, "a": x * 2})
    c["z"] = 3
    inner = c.new_child({"q": x + 1})
    del c["z"]
    return c["k"] + inner["a"], list(inner), dict(inner), len(c), "a" in c, inner.parents is c, c.get("none", 7), inner


def keys_of_one_value(x):
    d = dict.fromkeys(["a", "b", "a"], x * 2)
    return d, dict.fromkeys(d), list(dict.fromkeys(range(3), 2.0)), dict.fromkeys({"k": 1}.items())


INSIDE = [
    ordered, ordered_pops, ordered_equal, default_list, default_number, default_lambda, default_none, nested_default,
    counts, counts_of, count_operators, largest, getters, equal_dicts, keys_of_all_kinds, chained, keys_of_one_value,
]  # fmt: skip


@pytest.mark.parametrize("f", INSIDE, ids=lambda f: f.__name__)
def test_made_inside(f):
    check(made(f), X, graphs=1, breaks=0, captures=1)


def test_methods_of_classes_are_those_of_the_class():
    class Own(dict):
        pass

    def f(x, make):
        own, given = Own.fromkeys("ab", x), make("ab", 1)
        return type(own).__name__, own, given, OrderedDict.fromkeys("ab")

    check(made(f), X, dict.fromkeys)
    for bad in (lambda x: dict.fromkeys([[]]), lambda x: dict.fromkeys(3), lambda x: dict.fromkeys()):
        check(made(bad), X)


class Mapping:
    def __init__(self, x):
        self.x = x

    def keys(self):
        return (k for k in "abc")

    def __getitem__(self, key):
        return self.x * ord(key)


def test_dicts_of_mappings():
    def f(x):
        d = dict(Mapping(x), c=1)
        d.update(Mapping(x + 1))
        return d, dict(ChainMap({"a": x}, d), z=2), {**d}

    check(made(f), X, graphs=1, breaks=0)

    def fails(x):
        class NoItems:
            def keys(self):
                return ["a"]
        return dict(NoItems())

    check(made(fails), X)


def test_chained_from_outside():
    def ops(c, x):
        c["n"] = c["n"] + 1
        return x * c["n"] + c["low"], list(c), c.maps[1] is not c.maps[0]

    check(outside(lambda: ChainMap({"n": 1}, {"n": 5, "low": 2.0}), ops), X, calls=4)


def test_merged_by_a_branch():
    def f(x):
        if x.sum() > 3:
            d = OrderedDict(a=2.0)
        else:
            d = OrderedDict(a=1.0)
        return d["a"] * x, d

    check_calls(made(f), [(X,), (X * 0,)], graphs=1, breaks=0, captures=1)


def test_behind_a_break():
    def f(x):
        d = defaultdict(list)
        d["a"].append(x)
        print(f"{x}")
        d["b"].append(x * 2)
        return d, x + len(d)

    check(made(f), X, breaks=1)


# --- from outside ----------------------------------------------------------------------------------------------


def outside(start, ops):
    def make():
        d = start()
        return lambda x, *args: ops(d, x, *args), lambda: (d, list(d))

    return make


def test_ordered_read():
    def ops(d, x):
        y = x * d["a"] + d.get("b", 0)
        for k, v in d.items():
            y = y + v
        return y, len(d), "a" in d, list(d), sum(d.values()), [k for k in d], next(iter(d.items()))

    check(outside(lambda: OrderedDict(a=1.5, b=2.0), ops), X, graphs=1, breaks=0, captures=1)


def test_ordered_in_its_order():
    def start():
        d = OrderedDict(a=1, b=2, c=3)
        d.move_to_end("a")
        return d

    def ops(d, x):
        return x * next(iter(d.values())), list(d.items())

    check(outside(start, ops), X, graphs=1, breaks=0, captures=1)


def test_order_is_guarded():
    d = OrderedDict(a=2, b=3)

    def make():
        d.move_to_end("a", last=False)
        return lambda x: (x * next(iter(d.values())), d.move_to_end(next(iter(d))))

    check(make, X, calls=6, breaks=0)


@pytest.mark.parametrize("last", [True, False])
def test_move_to_end(last):
    def ops(d, x, k):
        d.move_to_end(k, last=last)
        y = x * 2
        d["new"] = 1
        d.move_to_end("new", last=not last)
        d.move_to_end("b")
        return y, d.pop("new"), d.popitem(), next(iter(d)), d.setdefault("b", 5)

    check_calls(outside(lambda: OrderedDict(a=1, b=2, c=3), ops), [(X, k) for k in "acacb"])


@pytest.mark.parametrize("last", [True, False])
def test_moves_are_operations(last):
    def ops(d, x):
        d.move_to_end("b", last=last)
        y = x * d["b"]
        d["new"] = 1
        d.move_to_end("new", last=not last)
        d.move_to_end("a", last=last)
        return y, len(d)

    check(outside(lambda: OrderedDict(a=1, b=2, c=3), ops), X, calls=5, breaks=0, captures=2)


@pytest.mark.parametrize("last", [True, False])
def test_order_after_moves(last):
    def ops(d, x):
        d.move_to_end("b", last=last)
        d["new"] = 1
        d.move_to_end("new", last=not last)
        d.move_to_end("a", last=last)
        return x * 2, list(d), d.popitem(last), d.popitem(not last), list(d.items())

    check(outside(lambda: OrderedDict(a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=8), ops), X, calls=2)


@pytest.mark.parametrize("last", [True, False])
def test_move_a_key_that_varies(last):
    def ops(d, x, k):
        d[k] = x * 2
        d.move_to_end(k, last=last)
        return d[k] + 1

    check_calls(outside(lambda: OrderedDict(a=1), ops), [(X, k) for k in range(12)], breaks=0, captures=2)


def test_order_that_a_key_that_varies_decides():
    def ops(d, x, k):
        d[k] = x * 2
        d.move_to_end(k, last=False)
        if len(d) > 3:
            d.popitem()
        return list(d), x + 1

    check_calls(outside(OrderedDict, ops), [(X, k % 7) for k in range(20)])


def test_text_of_a_dict_that_counts():
    def ops(d, x):
        d["n"] += 1
        y = x * 2
        return y + 1, f"{d}", d == {"n": 3}

    e = check(outside(lambda: {"n": 0}, ops), X, calls=20)
    assert e.compile_count <= 6, e


def test_move_what_is_not_there():
    def ops(d, x):
        d.move_to_end("zzz")
        return x

    check(outside(lambda: OrderedDict(a=1), ops), X)


def test_ordered_changes():
    def ops(d, x):
        d["c"] = x * 2
        d["a"] = x + 1
        d.update({"z": 2}, y=3)
        d.update([("p", 1)])
        d.move_to_end("a")
        d["q"] = d.pop("z")
        return x + d["a"], len(d), list(d), d.popitem(last=False)

    check(outside(lambda: OrderedDict(a=1, b=2), ops), X, breaks=0)


def test_least_recently_used():
    def ops(d, x, k):
        if k in d:
            d.move_to_end(k)
        else:
            d[k] = x * 2
            if len(d) > 2:
                d.popitem(last=False)
        return d[k]

    e = check_calls(outside(OrderedDict, ops), [(X, k) for k in "abacadabaeacab"])
    assert e.compile_count <= 10, e


def test_default_grows():
    def ops(d, x):
        d["loss"].append(x.sum())
        d["n"].append(1)
        return x * len(d)

    check(outside(lambda: defaultdict(list), ops), X, calls=6, breaks=0, captures=2)


@pytest.mark.parametrize("more", [lambda x: 1.5, lambda x: x.sum()])
def test_default_adds(more):
    def ops(d, x):
        d["loss"] += more(x)
        d["n"] += 1
        return x * 2

    check(outside(lambda: defaultdict(float), ops), X, calls=6, breaks=0)


def test_counter_counts():
    def ops(c, x):
        c["steps"] += 1
        c.update({"n": 2})
        c.update(["w", "w"])
        return x * 2

    check(outside(Counter, ops), X, calls=6, breaks=0)


def test_counter_read():
    def ops(c, x):
        for _, n in c.most_common():
            x = x * n
        return x, c.total() if NEW else 0, c["nothing"], c + c

    check(outside(lambda: Counter(a=3, b=2), ops), X, graphs=1, breaks=0, captures=1)


def test_getter_from_outside():
    key = operator.itemgetter(1)

    def f(x):
        return sorted([("a", 2), ("b", 1)], key=key), x * key((1, 2))

    check(made(f), X, graphs=1, breaks=0, captures=1)


def test_registry():
    layers = OrderedDict(relu=ops.relu, double=lambda x: x * 2)
    by_type = {int: lambda x, k: x + k, float: lambda x, k: x * k}

    def f(x, name, k):
        for n, layer in layers.items():
            if n == name:
                x = layer(x)
        return by_type[type(k)](x, k)

    check_calls(made(f), [(X, "relu", 1), (X, "double", 2.0), (X, "relu", 1)], breaks=0)
