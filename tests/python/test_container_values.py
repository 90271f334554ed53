"""What containers hold after each step, and which object it is: code that gives or compares items sees the container as it is at that
moment, and equal objects are told apart."""

import array
import collections
import types

import numpy as np
import pytest
from differential import check_calls

import pijit as ms
from pijit import Tensor, ops

X = Tensor(np.arange(1, 3, dtype=np.float32))
PRELUDE = """
import array, collections, copy, functools, itertools, operator
class O:
    def __init__(s, v=0): s.v = v
class MyList(list): pass
class Same:
    def __eq__(s, o): return False
    __hash__ = None
class Equal:
    def __eq__(s, o): return True
    __hash__ = None
N, M = float("nan"), float("nan")
"""


def shown(v):
    """What others see of a container in the end."""
    if isinstance(v, (list, tuple, collections.deque, array.array)):
        return type(v).__name__, [shown(w) for w in v], getattr(v, "maxlen", None)
    if isinstance(v, (set, frozenset)):
        return type(v).__name__, [shown(w) for w in v]
    if isinstance(v, dict):
        return type(v).__name__, [(shown(k), shown(w)) for k, w in v.items()]
    if isinstance(v, Tensor):
        return v.asnumpy().tolist()
    if hasattr(v, "__dict__"):
        return type(v).__name__, shown(vars(v))
    return repr(v)


def program(body, state="", arguments=""):
    """f(x, arguments) of a body, over globals that `state` makes anew."""
    def make():
        scope = {"ops": ops, "Tensor": Tensor, "X": X}
        exec(PRELUDE, scope)
        own = set(scope)
        exec(state, scope)
        text = "".join(f"    {line}\n" for line in body.split("\n"))
        exec(f"def f(x{', ' + arguments if arguments else ''}):\n{text}", scope)
        names = [k for k, v in scope.items()
                 if k not in own and k != "f" and not isinstance(v, (types.FunctionType, types.ModuleType, type))]
        return scope["f"], lambda: [(k, shown(scope[k])) for k in names]
    return make


def run(body, state="", arguments="", calls=None, **counts):
    return check_calls(program(body, state, arguments), calls or [(X,)] * 3, **counts)


# --- a store at a place that varies ----------------------------------------------------------------------------

STORES = [
    "l[i] = 10", "operator.setitem(l, i, 10)", "l.__setitem__(i, 10)", "l[i - 1] = 10", "l[i] += 1", "l[i], l[0] = 5, 6", "l[i] = l[i - 1]",
    "put(l, i)", "for k in range(2):\n    l[i] = k", "l[i] = 10\nl[(i + 1) % 3] = 11", "l[i] = 7\ndel l[0]", "l[i] = 7\nl.insert(0, 9)",
    "l[i] = 7\nl.append(8)", "l[i] = 7\nl.pop()", "l[i] = 7\nl.reverse()", "l[i] = 7\nl.clear()\nl.extend((1, 2, 3))",
    "l[i] = 7\nl.extend([4, 5])", "l[i:i + 1] = [7, 8]", "l[i] = 7\nl[1:2] = [4, 5]", "m = l\nm[i] = 7", "del l[i]", "l[i] = 7\nl[i] = 8",
    "l[0] = 5\nl[i] = 7", "l.append(4)\nl[i] = 7", "l[i] = 7\nl[-1] = 8", "l[i] = 7\nl.sort()", "l[-i] = 7",
]
READS = [
    "l[1:3]", "l[:2]", "l[-2:]", "l[::2]", "l[::-1]", "l[2:0:-1]", "list(l)", "[v for v in l]", "sum(l)", "len(l)", "(l[0], l[-1])", "l[i]", "l[i - 1]",
    "10 in l", "l.index(l[1])", "l.count(7)", "l == [0, 7, 2]", "tuple(l)", "l[1:] + l[:1]", "l[i:]", "l.copy()", "repr(l)", "max(l)", "(*l,)",
    "operator.itemgetter(slice(1, 3))(l)", "l.__getitem__(slice(0, 2))", "[*map(str, l)]", "l * 2", "dict(enumerate(l))",
]
PUT = "def put(l, i): l[i] = 10"


@pytest.mark.parametrize(("store", "read"),
                         [(STORES[k], READS[(3 * k + j) % len(READS)]) for k in range(len(STORES)) for j in range(4)] + [(STORES[0], r) for r in READS])
@pytest.mark.parametrize("where", ["argument", "global"])
def test_a_read_after_a_store_at_a_place_that_varies(store, read, where):
    body = f"{store}\nreturn x + 1, {read}"
    places = [0, 1, 2, 0, 2, 1]
    if where == "argument":
        run(body, PUT, "l, i", [(X, [0, 1, 2, 3], i) for i in places])
    else:
        run(body, f"{PUT}\nl = [0, 1, 2, 3, 4, 5, 6, 7, 8]", "i", [(X, i) for i in places])


@pytest.mark.parametrize(("state", "body"), [
    ("l = [0, 1, 2]", "l[i] = x\nreturn l[1:3], x * 2"),
    ("l = [0, 1, 2]", "l[i] = [i]\nreturn l[1:3], l"),
    ("l = [[0], [1], [2]]", "l[i].append(i)\nreturn l[1:3], x"),
    ("l = [[0], [1], [2]]", "l[i][0] = i + 5\nreturn l[0][:], x"),
    ("l = [[0, 1, 2]] * 2", "l[0][i] = 5\nreturn l[1][1:3], x"),
    ("d = {'a': [0, 1, 2]}", "d['a'][i] = 5\nreturn d['a'][1:3], x"),
    ("o = O([0, 1, 2])", "o.v[i] = 5\nreturn o.v[1:3], x"),
    ("l = collections.deque([0, 1, 2])", "l[i] = 5\nreturn list(l)[1:3], l[-1], x"),
    ("l = collections.deque([0, 1, 2], 3)", "l[i] = 5\nreturn l[1], list(l), x"),
    ("l = array.array('i', [0, 1, 2])", "l[i] = 5\nreturn l[0], list(l)[1:3], x"),
    ("l = bytearray(b'abc')", "l[i] = 5\nreturn l[0], list(l)[1:3], x"),
    ("l = collections.UserList([0, 1, 2])", "l[i] = 5\nreturn list(l[1:3]), x"),
    ("l = MyList([0, 1, 2])", "l[i] = 5\nreturn l[1:3], x"),
    ("d = {0: 'a', 1: 'b'}", "d[i] = 5\nreturn d.get(1), list(d.values()), x"),
    ("d = {0: 'a', 1: 'b'}", "d[i] = 5\ndel d[0]\nd[0] = 6\nreturn list(d.items()), x"),
    ("d = collections.OrderedDict({0: 'a', 1: 'b'})", "d[i] = 5\nreturn list(d.items()), x"),
    ("d = collections.Counter('abc')", "d[i] += 1\nreturn d[0], sorted(d.values()), x"),
    ("d = collections.defaultdict(list)", "d[i].append(i)\nreturn d[0][:], [len(v) for v in d.values()], x"),
    ("s = {0, 100}", "s.add(i)\nreturn len(s), 1 in s, sorted(s), x"),
    ("l = [0, 1, 2]\nm = l", "l[i] = 5\nreturn m[1:3], x"),
    ("l = [0, 1, 2]", "if x.sum() > 0:\n    l[i] = 5\nreturn l[1:3], x"),
    ("l = [0, 1, 2]", "for k in range(3):\n    l[(i + k) % 3] = k\nreturn l[1:3], x"),
    ("l = [0, 1, 2]", "def g(): return l[1:3]\nl[i] = 5\nreturn g(), x"),
    ("l = [Tensor([0.]), Tensor([1.]), Tensor([2.])]", "old = l[i]\nl[i] = l[i - 1] + x\nl[1:3] = [c * 2 for c in l[1:3]]\nreturn old, l[i]"),
    ("l = [Tensor([0.])] * 4", "l[i % 4] = x * i\nreturn ops.cat(l[0:2]).sum() - ops.cat(l[2:4]).sum()"),
])
def test_other_containers_after_a_store_at_a_place_that_varies(state, body):
    run(body, state, "i", [(X, i) for i in (0, 1, 2, 0, 2, 1, 1)])


@pytest.mark.parametrize("body", [
    "l[0] = 1\nl[-3] = 2\nl[0] = 3\nreturn x", "l[-1] = 1\nl[2] = 2\nl[-1] = 3\nreturn l[2], x", "l[True] = 1\nl[1] = 2\nl[True] = 3\nreturn x",
    "d[1] = 5\nd[True] = 6\nd[1] = 7\nreturn x", "d[1] = 5\nd[1.0] = 6\nd[1] = 7\nreturn d[1], x", "d[0] = 5\nd[False] = 6\nd[0.0] = 7\nd[0] = 8\nreturn x",
    "d[1] = 5\ndel d[1]\nd[1.0] = 6\nreturn list(d), x", "d['a'] = 1\nd['b'] = 2\nd['a'] = 3\nreturn list(d.items()), x",
    "l[0] = 1\nprint(l)\nl[0] = 2\nreturn x", "l[1] = x\nl[-2] = x * 2\nl[1] = x * 3\nreturn l[1]",
])
def test_several_stores_to_one_place(body):
    run(body, "l = [7, 8, 9]\nd = {}")


# --- what gives items sees those before ------------------------------------------------------------------------

ENDLESS = "def some(l):\n    while len(l) < 6: yield len(l)\n"
GIVERS = [
    "(len({0}) for _ in range(3))", "map(lambda v: v + len({0}), [10, 20, 30])", "filter(lambda v: v not in {0}, [1, 2, 1, 3, 2])",
    "(v for v in [4, 5, 4, 6] if v not in {0})", "itertools.takewhile(lambda v: len({0}) < 4, range(9))", "itertools.chain([7], (len({0}) for _ in range(2)))",
    "itertools.islice((len({0}) for _ in range(9)), 2)", "itertools.accumulate((1, 2, 3), lambda a, b: a + b + len({0}))", "some({0})",
    "[len({0}) for _ in range(3)]", "tuple(len({0}) for _ in range(3))", "sorted(len({0}) - k for k in range(3))", "{{5: 1, 6: 2}}", "range(3)", "'ab'",
    "iter([len({0})] * 2)", "(1 // v for v in (1, 2, 0, 3))", "map(int, ['1', '2', 'x'])", "(v for v in ())", "reversed([1, 2])", "dict.fromkeys('pq').keys()",
]
CATCH = "try:\n    {}\nexcept (ZeroDivisionError, ValueError, RuntimeError, TypeError) as e:\n    r = type(e).__name__\nelse:\n    r = None\n"
GROW = {
    "l = [0]": ["l.extend({})", "l += {}", "l[0:1] = {}", "l[1:] = {}", "list.extend(l, {})", "operator.iadd(l, {})"],
    "l = collections.deque([0])": ["l.extend({})", "l.extendleft({})", "l += {}"],
    "l = collections.deque([0], 3)": ["l.extend({})", "l.extendleft({})", "l += {}"],
    "l = array.array('i', [0])": ["l.extend({})"],
    "l = bytearray(b'a')": ["l.extend({})"],
    "l = {100}": ["l.update({})", "l.difference_update({})", "l.intersection_update({})", "l.symmetric_difference_update({})", "l.update((5,), {})"],
    "l = MyList([0])": ["l.extend({})"],
    "l = collections.UserList([0])": ["l.extend({})"],
}


@pytest.mark.parametrize(("state", "grow", "k"), [(s, g, k) for s, all in GROW.items() for g in all for k in range(len(GIVERS))])
@pytest.mark.parametrize("made", ["outside", "inside"])
def test_what_gives_items_sees_those_before(state, grow, k, made):
    if (made == "inside" and k % 2) or (grow != "l.extend({})" and k % 3 == 1):
        pytest.skip("a third of all")
    body = CATCH.format(grow.format(GIVERS[k].format("l"))) + "return x * 2, r, list(l), len(l)"
    if made == "outside":
        run("global l\n" + body, ENDLESS + state)
    else:
        run(f"{state}\n" + body, ENDLESS)


@pytest.mark.parametrize(("state", "body"), [
    ("l = [0, 1]", "l.extend(l)\nreturn x, l"), ("l = [0, 1]", "l += l\nreturn x, l"), ("l = [0, 1]", "l.extend(reversed(l))\nreturn x, l"),
    ("l = [0, 1]", "l.extend(v + 1 for v in l if len(l) < 5)\nreturn x, l"), ("l = [0, 1]", "l.extend(l[:])\nreturn x, l"),
    ("l = [0, 1]", "g = (len(l) for _ in range(5))\nl.extend(itertools.islice(g, 2))\nl.extend(g)\nreturn x, l"),
    ("l = [0, 1]", "l.extend(l.pop() for _ in range(2))\nreturn x, l"), ("l = [0, 1]", "l.extend(l.append(9) or 1 for _ in range(2))\nreturn x, l"),
    ("l = [3, 1, 2]", "l[1:3] = (l[-1] * k for k in range(4))\nreturn x, l"), ("l = [3, 1, 2]", "l[1:3] = (l.append(k) or k for k in range(2))\nreturn x, l"),
    ("l = [3, 1, 2]", "l[1:1] = (len(l) for _ in range(2))\nreturn x, l"), ("l = [3, 1, 2]", "l[::2] = (len(l) + k for k in range(2))\nreturn x, l"),
    ("l = [3, 1, 2]", "l[:] = (v for v in l if v > 1)\nreturn x, l"), ("l = [3, 1, 2]", "l[1:] = (l.pop() for _ in range(2))\nreturn x, l"),
    ("l = [3, 1, 2]", "l[0:2] = (l.clear() or 1 for _ in range(1))\nreturn x, l"), ("l = [3, 1, 2]", "l[2:0:-1] = (len(l), l[0])\nreturn x, l"),
    ("l = [3, 1, 2]", "l[-2:] = l\nreturn x, l"), ("l = [3, 1, 2]", "l[5:] = l[:1]\nreturn x, l"), ("l = [3, 1, 2]", "l[2:1] = [7]\nreturn x, l"),
    ("l = [3, 1, 2]", "l.__setitem__(slice(0, 1), (len(l) for _ in range(2)))\nreturn x, l"),
    ("l = [3, 1, 2]", "operator.setitem(l, slice(0, 1), map(lambda v: v + len(l), [1, 2]))\nreturn x, l"),
    ("l = [3, 1, 2]", "try:\n    l[0:2] = (1 // v for v in (1, 0))\nexcept ZeroDivisionError:\n    pass\nreturn x, l"),
    ("o = O([1])", "o.v += (v for v in [1, 2, 3, 2] if v not in o.v)\nreturn x * len(o.v)"),
    ("o = O([1])", "m = o.v\nm.extend(len(o.v) for _ in range(2))\nreturn x, m is o.v, o.v"),
    ("d = {'a': [0]}", "d['a'].extend(len(d['a']) for _ in range(2))\nreturn x, d['a']"),
    ("", "hs = [x]\nhs.extend(hs[-1] * 0.5 + k for k in range(3))\nreturn ops.stack(hs), hs[-1]"),
    ("", "y = [x, x]\ny.extend(y[-1] + 1 for _ in range(3))\ny += (v * 2 for v in y[:2])\nreturn y, [v is x for v in y]"),
    ("", "l = []\ntry:\n    l.extend(x[k] for k in (0, 1, 5))\nexcept IndexError:\n    pass\nreturn len(l), l"),
    ("q = collections.deque([1, 2])", "try:\n    q.extend(v for v in q)\nexcept RuntimeError as e:\n    return x, str(e), list(q)\nreturn x"),
    ("q = collections.deque([1, 2])", "try:\n    q.extend(iter(q))\nexcept RuntimeError as e:\n    return x, str(e), list(q)\nreturn x"),
    ("q = collections.deque([1, 2])", "q.extend(q)\nq.extendleft(q)\nreturn x, list(q)"),
    ("q = collections.deque([1, 2], 3)", "q.extend(q)\nq += q\nreturn x, list(q)"),
    ("q = collections.deque([1, 2])", "q.extend(q.popleft() + len(q) for _ in range(2))\nreturn x, list(q)"),
    ("a = array.array('i', [1])", "try:\n    a.extend([2, 'no', 3])\nexcept TypeError:\n    pass\nreturn x, list(a)"),
    ("a = array.array('i', [1])\nb = array.array('f', [2.0])", "try:\n    a.extend(b)\nexcept TypeError:\n    pass\na.extend(a)\nreturn x, list(a)"),
    ("a = array.array('i', [1])", "try:\n    a += [2]\nexcept TypeError:\n    pass\nreturn x, list(a)"),
    ("b = bytearray(b'ab')", "try:\n    b.extend([1, 300])\nexcept ValueError:\n    pass\nb.extend(array.array('i', [1]))\nreturn x, list(b)"),
    ("d = {'a': 0}", "d.update((str(k), len(d)) for k in range(3))\nreturn x, list(d.items())"),
    ("d = {'a': 0}", "try:\n    d.update((str(1 // k), len(d)) for k in (1, 0))\nexcept ZeroDivisionError:\n    pass\nreturn x, list(d.items())"),
    ("d = {'a': 0}", "d |= ((str(k), len(d)) for k in range(3))\nreturn x, list(d.items())"),
    ("d = collections.OrderedDict(a=0)", "d.update((str(k), len(d)) for k in range(3))\nreturn x, list(d.items())"),
    ("d = collections.Counter('a')", "d.update(str(len(d)) for _ in range(3))\nreturn x, list(d.items())"),
    ("d = collections.defaultdict(int)", "d.update((k, len(d)) for k in range(3))\nreturn x, list(d.items())"),
    ("s = {1}", "s |= {v for v in range(3) if v not in s}\ns -= {v for v in s if v > 1}\nreturn x, sorted(s)"),
    ("s = {1, 2, 3, 4}", "s.difference_update(v for v in [1, 2, 3] if len(s) > 2)\nreturn x, sorted(s)"),
    ("s = {1, 2, 3, 4}", "s.difference_update([1], (len(s) for _ in range(2)))\nreturn x, sorted(s)"),
    ("s = {1, 2}", "g = iter([7, 1, 5, 6])\nreturn x, s.isdisjoint(g), list(g)"), ("s = {1, 2}", "g = iter([1, 7, 5])\nreturn x, s.issuperset(g), list(g)"),
    ("", "s = {1, 2}\ng = (v for v in [7, 1, 5, 6])\nreturn x, s.isdisjoint(g), list(g), frozenset(s).issubset(v for v in (1, 2))"),
    ("log = []", "def g():\n    try:\n        yield 1\n        yield 2\n    finally:\n        log.append(len(l))\nl = []\nl.extend(g())\nreturn x, l"),
    ("l = []", "def g():\n    l.extend(v for v in (1, 2))\n    yield len(l)\n    l.append(7)\n    yield len(l)\nl.extend(g())\nreturn x, l"),
    ("l = [1]", "if x.sum() > 0:\n    l.extend(len(l) for _ in range(2))\nreturn x, l"),
    ("l = [1]", "for k in range(2):\n    l.extend(len(l) + k for _ in range(2))\nreturn x, l"),
    ("l = [1]", "def grow(m): m.extend(len(l) for _ in range(2))\ngrow(l)\nreturn x, l"),
])
def test_growing_by_what_reads_it(state, body):
    run(body, state)


@pytest.mark.parametrize("body", [
    "l = []\nl.extend(v * 2 for v in xs)\nreturn ops.stack(l)", "l = [x]\nl += (v + 1 for v in xs)\nreturn ops.stack(l)",
    "l = []\nl.extend(map(lambda v: v * 2, xs))\nreturn ops.stack(l)", "l = []\nl.extend(v for v in xs if v is not x)\nreturn ops.stack(l)",
    "l = [x]\nl[1:] = (v * 2 for v in xs)\nreturn ops.stack(l)", "q = collections.deque(maxlen=2)\nq.extend(v * 2 for v in xs)\nreturn q[0] + q[1]",
    "s = set()\ns.update(k for k in range(len(xs)))\nreturn x * len(s)", "l = []\nl.extend(zip(xs, range(3)))\nreturn l[0][0] * 2",
    "l = [3, 1, 2]\nl.sort(key=lambda v: -v)\nreturn x * l[0]", "d = {}\nd.update((k, v * 2) for k, v in enumerate(xs))\nreturn d[0] + d[1]",
    "hs = [x]\nhs.extend(hs[-1] * 0.5 + k for k in range(3))\nreturn ops.stack(hs)", "t = tuple(xs)\nu = t[:] + ()\nreturn x * (u is t) + u[0]",
    "return x * (3 in [1, 2, 3]) + [1, 2, 1].count(1)", "d = {(1, k): k for k in range(3)}\nreturn x * d[1, 2] + sum(k for _, k in d)",
])
def test_fast_idioms_are_one_graph(body):
    run(body, "", "xs", [(X, [X, X + 1])] * 3, graphs=1, breaks=0, captures=1)


# --- sort ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("body", [
    "seen = []\ndef key(v):\n    seen.append(len(l))\n    return -v\nl.sort(key=key)\nreturn x, l, seen",
    "l.sort(key=lambda v: l.index(v) if v in l else -v)\nreturn x, l", "l.sort(key=lambda v: (list(l), -v))\nreturn x, l",
    "l.sort(key=lambda v: -v if l else v, reverse=True)\nreturn x, l", "try:\n    l.sort(key=lambda v: (l.append(v), v)[1])\nexcept ValueError as e:\n    return x, str(e), l",
    "try:\n    l.sort(key=lambda v: 1 // (v - 1))\nexcept ZeroDivisionError:\n    pass\nreturn x, l",
    "try:\n    l.sort(key=lambda v: (l.append(v), 1 // (v - 2))[1])\nexcept ZeroDivisionError:\n    pass\nreturn x, l",
    "try:\n    l.sort(key=lambda v: (l.append(7), l.pop(), v)[2])\nexcept ValueError as e:\n    return x, str(e), l",
    "l.sort(key=lambda v: (l.clear(), v)[1])\nreturn x, l", "l.sort(key=lambda v: (l.extend([]), v)[1])\nreturn x, l", "l.sort(key=lambda v: (l.sort(), -v)[1])\nreturn x, l",
    "l.sort(key=lambda v: len(sorted(l)) - v)\nreturn x, l", "r = sorted(l, key=lambda v: (len(l), -v))\nreturn x, r, l",
    "m = l\nl.sort(key=lambda v: len(m) - v)\nreturn x, l, m is l", "l.sort()\nl.sort(reverse=True)\nreturn x, l", "list.sort(l, key=lambda v: len(l) - v)\nreturn x, l",
    "print(len(l))\nl.sort(key=lambda v: print(l, v) or -v)\nreturn x, l", "for k in range(2):\n    l.sort(key=lambda v: (len(l) + v) * (-1) ** k)\nreturn x, l",
    "if x.sum() > 0:\n    l.sort(key=lambda v: len(l) - v)\nreturn x, l", "o = O(l)\no.v.sort(key=lambda v: len(o.v) - v)\nreturn x, l", "l.append(9)\nl.sort(key=lambda v: len(l) - v)\nreturn x, l",
    "try:\n    l.sort(key=lambda v: [1, 'a'][v % 2])\nexcept TypeError:\n    pass\nreturn x, sorted(l)",
])
@pytest.mark.parametrize("made", ["outside", "inside"])
def test_a_list_is_empty_while_it_is_sorted(body, made):
    if made == "outside":
        run(body, "l = [3, 1, 2]")
    else:
        run("l = [3, 1, 2]\n" + body)


# --- identity --------------------------------------------------------------------------------------------------

SAME = ["tuple({0})", "{0}[:]", "{0}[0:]", "{0}[:99]", "{0}[::1]", "{0}[-9:]", "{0} + ()", "() + {0}", "{0} * 1", "1 * {0}", "True * {0}", "{0}.__class__({0})", "(*{0},)", "h(*{0})", "{0}[1:]", "{0}[::-1]",
        "{0} * 0", "{0} * 2", "{0} + (5,)", "{0}[0:1]", "{0}.__add__(())", "{0}.__mul__(1)", "{0}.__getitem__(slice(None))", "copy.copy({0})", "copy.deepcopy({0})", "operator.mul({0}, 1)", "operator.concat({0}, ())",
        "tuple(list({0}))", "tuple(iter({0}))", "next(iter([{0}]))", "{0}.__iadd__(()) if 0 else {0}", "max([{0}])", "dict(a={0})['a']", "[{0}].copy()[0]", "(lambda v: v)({0})"]


@pytest.mark.parametrize("expression", SAME)
@pytest.mark.parametrize("made", ["argument", "constant", "built", "global", "named"])
def test_tuples_that_are_one_object(expression, made):
    h = "def h(*a): return a\nPair = collections.namedtuple('Pair', 'a b')\nT = (8, 9)"
    e = expression.format("t")
    if made == "argument":
        run(f"u = {e}\nreturn x, u is t, u", h, "t", [(X, (1, 2)), (X, ()), (X, (3,)), (X, (1, 2))])
    elif made == "constant":
        run(f"t = (1, 2)\nu = {e}\nt = ()\nv = {e}\nreturn x, u, v, v is t, (1, 2) is (1, 2)", h)
    elif made == "built":
        run(f"t = (x, 1)\nu = {e}\nreturn x, u is t, len(u)", h)
    elif made == "global":
        run(f"t = T\nu = {e}\nreturn x, u is t, u is T, u", h)
    else:
        run(f"t = Pair(1, 2)\nu = {e}\nreturn x, u is t, type(u).__name__, tuple(u)", h)


@pytest.mark.parametrize("made", ["argument", "constant"])
@pytest.mark.parametrize("of", [
    ("'abc'", ["{0} * 1", "{0}[:]", "str({0})", "{0} + ''", "'' + {0}", "f'{{{0}}}'", "{0}.strip()", "{0}[0:3]", "{0}.replace('z', 'y')", "{0}[::1]", "''.join([{0}])", "{0} % ()"]),
    ("b'abc'", ["{0} * 1", "{0}[:]", "bytes({0})", "{0} + b''", "{0}.strip()"]),
    ("frozenset({1, 2})", ["frozenset({0})", "{0}.copy()", "copy.copy({0})", "copy.deepcopy({0})", "{0} | {{1}}", "{0} | frozenset()", "frozenset(set({0}))"]),
    ("10 ** 20", ["int({0})", "+{0}", "{0} + 0", "abs({0})", "{0} * 1", "copy.deepcopy({0})", "max({0}, 1)", "round({0})"]),
    ("1.5", ["float({0})", "+{0}", "{0} + 0", "{0} * 1.0", "abs({0})", "min([{0}])"]),
])
def test_other_constants_that_are_one_object(made, of):
    value, expressions = of
    for e in expressions:
        if made == "argument":
            calls = [(X, eval(value)), (X, eval(value)), (X, eval(value))]
            run(f"u = {e.format('t')}\nreturn x, u is t, u", "", "t", calls)
        else:
            run(f"t = {value}\nu = {e.format('t')}\nreturn x, u is t, u")


@pytest.mark.parametrize(("body", "arguments"), [
    ("t = (1, 2)\nd = {t: t}\nreturn x, next(iter(d)) is t, d[t] is t, next(iter(dict(d))) is t, list(d)[0] is t, list(d.items())[0][0] is t", ""),
    ("t = (1, x.shape[0])\nd = {t: 5}\nreturn x, next(iter(d)) is t, d.popitem()[0] is t", ""),
    ("t = (1, x.shape[0])\ns = {t}\nreturn x, next(iter(s)) is t, next(iter(s | {5} - {5})) is t, min(s) is t, [*s][0] is t, next(iter(frozenset(s))) is t, s.pop() is t", ""),
    ("a, b = (1, 2), tuple([1, 2])\nd = {a: 1}\nd[b] = 2\ns = {a}\ns.add(b)\nreturn x, next(iter(d)) is a, next(iter(s)) is a, a is b, d", ""),
    ("a, b = (1, 2), tuple([1, 2])\nd = {a: 1}\ndel d[a]\nd[b] = 2\nreturn x, next(iter(d)) is a, next(iter(d)) is b", ""),
    ("t = tuple([1, 2])\nd, s = {t: 0}, {t, 7}\nreturn x, t, d, s, [k is t for k in d], [k is t for k in s if k != 7]", ""),
    ("d, s = {t: 0}, {t}\nreturn x, [k is t for k in d], [k is t for k in s], d, s", "t"),
    ("d = {}\nd.setdefault(t, 1)\ne = collections.OrderedDict(d)\nreturn x, next(iter(e)) is t, next(iter(d.keys())) is t, sorted(d)[0] is t", "t"),
    ("d = {1: 'a'}\nd[1.0] = 'b'\nd[True] = 'c'\nreturn x, list(d.items()), {1.0, 1, True}, {0: 'a', 0.0: 'b', False: 'c'}", ""),
    ("t = (1, 2)\nl = [t]\nm, n = l.copy(), list(l)\nreturn x, l[0] is t, m[0] is t, n[0] is t, l[:][0] is t, (l + l)[1] is t, (l * 2)[1] is t, l.pop() is t", ""),
    ("c = collections.Counter([t, t])\nq = collections.deque([t])\nreturn x, next(iter(c)) is t, q[0] is t, q.pop() is t", "t"),
])
def test_items_and_keys_stay_the_objects_that_they_are(body, arguments):
    run(body, "", arguments, [(X, (1, 2)), (X, (1, 3)), (X, (1, 2))] if arguments else None)


def test_identities_of_results():
    """Which of the objects that a call gives are one."""
    def f(x, t):
        a = tuple([1, 2])
        return a, {a: 1}, {a}, {(t, 3): 0}, t, {t: 1}, {t}, {a, t} | {9}

    def seen(r):
        a, d, s, _, t, dt, st, both = r
        return [next(iter(d)) is a, next(iter(s)) is a, next(iter(dt)) is t, next(iter(st)) is t, [k is a or k is t for k in both if k != 9]]

    jitted = ms.jit(lambda x, t: f(x, t))
    for t in ((5, 6), (7, 8), (5, 6)):
        r = jitted(X, t)
        assert seen(r) == seen(f(X, t)) and r[4] is t


def test_a_constant_of_the_code_is_one_object_in_all_calls():
    def f(x):
        return (1, 2, (3, "a")), x + 1

    jitted = ms.jit(f)
    assert jitted(X)[0] is jitted(X)[0] is f(X)[0]


# --- NaN and objects that compare in their own way --------------------------------------------------------------

NANS = ["[m].count(n)", "n in [m]", "[m].index(n) if n in [m] else -1", "(n,) == (m,)", "[n] == [m]", "[m, n].count(n)", "n in (m, 1.0)", "(m, 2).index(n) if n in (m, 2) else -1", "[1, [n]] == [1, [m]]", "{1: n} == {1: m}",
        "collections.deque([n]) == collections.deque([m])", "collections.deque([m]).count(n)", "len({n: 1, m: 2})", "len({n, m})", "{n: 1}.get(m)", "n in {m}", "n in {m: 1}", "(1, n) in [(1, m)]", "len({(1, n), (1, m)})",
        "[n] < [m]", "(n, 1) < (m, 2)", "sorted([(n, 2), (m, 1)], key=lambda p: 0)[0][1]", "max([(n, 1), (m, 2)])[1]", "n == m", "frozenset([n]) == frozenset([m])", "[complex(n)] == [complex(m)]", "dict.fromkeys([n, m]).__len__()",
        "collections.Counter([n, m]).total()", "len(collections.Counter([n, m]))", "[n].remove(m) if n in [m] else 0", "n is m", "[n, m].index(m)", "(n,) != (m,)", "list({n: 0})[0] is n", "{n}.pop() is n", "{n} == {m}", "{n} & {m} == set()"]


@pytest.mark.parametrize("expression", NANS)
def test_nan_is_found_by_its_identity(expression):
    nan, other = float("nan"), float("nan")
    calls = [(nan, nan), (nan, other), (nan, nan), (1.0, 1.0), (1.0, 2.0), (nan, 1.0), (2.0, nan), (nan, nan), (nan, other)]
    scope = {}
    exec(PRELUDE + f"def f(x, n, m): return x + 1, {expression}", scope)
    f = scope["f"]
    jitted = ms.jit(f)
    for n, m in calls:  # as they are: a copy would be another NaN
        plain, found = f(X, n, m), jitted(X, n, m)
        assert repr(plain[1]) == repr(found[1]), (n is m, n, m, ms.explain(jitted))


@pytest.mark.parametrize("expression", [
    "[a].count(b)", "b in [a]", "[a, b].index(b)", "b in (a,)", "[a].count(a)", "a in [a]", "[a, b].index(a)", "[a] == [a]", "[a] == [b]", "(a,) == (b,)", "(a,) == (a,)", "collections.deque([a]).count(b)", "a == a", "1 in [a]", "[1, a].index(a)",
])
@pytest.mark.parametrize("state", ["a, b = Same(), Same()", "a, b = Equal(), Equal()", "a, b = O(), O()", "a = b = Same()", "a = b = O()", "a, b = Tensor([1.]), Tensor([1.])", "a, b = [1], [1]", "a = b = [[]]"])
def test_items_are_compared_by_identity_first(expression, state):
    run(f"return x + 1, {expression}", state)
    run(f"{state}\nreturn x + 1, {expression}")


def test_two_arguments_that_become_one_object():
    for expression in ("[a].count(b)", "b in [a]", "b in (a, 1)", "[a, 1].index(b) if b in [a] else -1"):
        scope = {}
        exec(PRELUDE + f"def f(x, a, b): return x + 1, {expression}", scope)
        f, one, two = scope["f"], scope["Same"](), scope["Same"]()
        jitted = ms.jit(f)
        for a, b in ((one, two), (one, one), (two, one), (two, two)):
            assert f(X, a, b)[1] == jitted(X, a, b)[1], (expression, a is b)


@pytest.mark.parametrize("body", [
    "class E:\n    def __eq__(s, o):\n        l.append(1)\n        return False\nl = [0, 1, 2]\nn = l.count(E()) if len(l) < 3 else 0\nreturn x, n, len(l)",
    "class E:\n    def __eq__(s, o):\n        if len(l) < 9: l.append(s)\n        return False\ne = E()\nl = [0]\nreturn x, l.count(e), len(l)",
    "class E:\n    def __eq__(s, o):\n        l.clear()\n        return False\ne = E()\nl = [0, 1]\ntry:\n    l.remove(e)\nexcept ValueError:\n    pass\nreturn x, l",
])
def test_a_comparison_that_changes_the_list(body):
    run(body)


# --- copies ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("state", "body"), [
    ("", "o = O(1)\ns = frozenset([o])\nd = copy.deepcopy(s)\ne = next(iter(d))\ne.v = 5\nreturn x, d is s, e is o, o.v"),
    ("o = O(1)\ns = frozenset([o])", "d = copy.deepcopy(s)\nnext(iter(d)).v = 5\nreturn x, d is s, o.v"), ("s = frozenset({1, (2, 3)})", "d = copy.deepcopy(s)\nreturn x, d is s, d == s, copy.copy(s) is s"),
    ("o = O(1)\ns = {o}", "d = copy.deepcopy(s)\nnext(iter(d)).v = 5\nreturn x, d is s, o.v"), ("", "d = copy.deepcopy([frozenset({1})])\nreturn x, d"), ("", "o = O([1])\nl = [o, (o, frozenset([o]))]\nd = copy.deepcopy(l)\nd[0].v.append(2)\nreturn x, o.v, d[0] is d[1][0], next(iter(d[1][1])) is d[0]"),
    ("s = frozenset({(1, 2)})", "t = next(iter(copy.deepcopy(s)))\nreturn x, t is next(iter(s)), t"),
    ("d = collections.OrderedDict(a=[1])\nd.tag = ['t']", "c, e = copy.copy(d), copy.deepcopy(d)\nreturn x, hasattr(c, 'tag'), c.tag is d.tag, e.tag, e.tag is d.tag, dict(c), e['a'] is d['a']"),
    ("d = collections.OrderedDict(a=[1])\nd.tag = ['t']", "return x, hasattr(d.copy(), 'tag'), hasattr(collections.OrderedDict(d), 'tag'), hasattr(copy.deepcopy([d])[0], 'tag')"),
    ("d = collections.OrderedDict(a=[1])", "c, e = copy.copy(d), copy.deepcopy(d)\nreturn x, vars(c), c, e, e['a'] is d['a'], c['a'] is d['a']"),
    ("d = collections.OrderedDict(a=[1])\nn = 0", "global n\nn += 1\nif n == 2:\n    d.tag = 5\nreturn x, vars(copy.copy(d)), vars(copy.deepcopy(d))"),
    ("", "d = collections.OrderedDict(a=1)\nd.tag = 5\nreturn x, copy.copy(d).tag, copy.deepcopy({'k': d})['k'].tag"),
    ("d = collections.Counter('ab')\nd.tag = 5", "return x, hasattr(copy.copy(d), 'tag'), hasattr(copy.deepcopy(d), 'tag'), copy.copy(d)"),
    ("d = collections.defaultdict(list, a=[1])", "c, e = copy.copy(d), copy.deepcopy(d)\nc['z'].append(1)\nreturn x, c, e, e['a'] is d['a'], 'z' in d"),
    ("d = collections.defaultdict(functools.partial(list, (1,)))", "c, e = copy.copy(d), copy.deepcopy(d)\nreturn x, c.default_factory is d.default_factory, e.default_factory is d.default_factory, e['q']"),
    ("q = collections.deque([[1]], 3)", "c, e = copy.copy(q), copy.deepcopy(q)\nreturn x, c[0] is q[0], e[0] is q[0], c.maxlen, e.maxlen"), ("l = MyList([1])\nl.tag = 5", "return x, copy.copy(l).tag, copy.deepcopy(l).tag, type(l[:]).__name__"),
    ("u = collections.UserList([[1]])", "c = copy.copy(u)\nreturn x, c.data is u.data, c[0] is u[0], copy.deepcopy(u)[0] is u[0]"),
])
def test_copies(state, body):
    run(body, state)


# --- containers that hold themselves ----------------------------------------------------------------------------

@pytest.mark.parametrize("body", [
    "d = collections.deque(range(3), maxlen=4)\nd.append(d)\nreturn x + len(d), repr(d)", "d = collections.deque()\nd.append(d)\nreturn x, repr(d), d[0] is d", "d = collections.deque()\nd.append([d])\nreturn x, str(d), f'{d}'",
    "l = []\nl.append(l)\nreturn x, repr(l), l[0] is l", "d = {}\nd['a'] = d\nreturn x, repr(d), d['a'] is d", "l = []\nd = collections.deque([l])\nl.append(d)\nreturn x, repr(l), repr(d)", "d = collections.OrderedDict()\nd['a'] = d\nreturn x, repr(d)",
    "a, b = collections.deque(), collections.deque()\na.append(a)\nb.append(b)\ntry:\n    return x, a == b\nexcept RecursionError:\n    return x, 'rec'", "a, b = [], []\na.append(a)\nb.append(b)\ntry:\n    return x, a == b\nexcept RecursionError:\n    return x, 'rec'",
    "a = collections.deque()\na.append(a)\nreturn x, a == a, a in a, a.count(a), a.index(a)", "a = []\na.append(a)\nreturn x, a == a, a in a, a.count(a), a.index(a)", "a = collections.deque()\na.append(a)\nreturn x, copy.copy(a)[0] is a, len(list(a))",
    "a = collections.deque()\na.append(a)\nb = copy.deepcopy(a)\nreturn x, b[0] is b, b is a", "a = []\nt = (a,)\na.append(t)\nreturn x, repr(t), t in a", "q = collections.deque([1])\nq.append(q)\nq.extend(v for v in [q, 2])\nreturn x, len(q), q[2] is q",
    "a = collections.deque()\na.append(a)\ntry:\n    return x, a < a\nexcept RecursionError:\n    return x, 'rec'", "a = collections.UserList()\na.append(a)\nreturn x, len(a), a[0] is a",
])
def test_a_container_that_holds_itself(body):
    run(body)


def test_a_deque_from_outside_that_holds_itself():
    q = collections.deque([1, 2], 5)
    q.append(q)
    f = ms.jit(lambda x, q: (x + len(q), repr(q), q[2] is q, q.count(q)))
    for _ in range(3):
        assert f(X, q)[1:] == ("deque([1, 2, [...]], maxlen=5)", True, 1)


# --- NotImplemented as a truth value ----------------------------------------------------------------------------

@pytest.mark.parametrize("expression", ["bool(NotImplemented)", "not NotImplemented", "1 if NotImplemented else 2", "NotImplemented and 3", "[v for v in [NotImplemented] if v]", "any([NotImplemented])", "list(filter(None, [NotImplemented]))",
                                        "O(1).__eq__(2) or 4", "operator.truth(NotImplemented)"])
def test_the_truth_of_not_implemented_warns_each_time(expression):
    scope = {}
    exec(PRELUDE + f"def f(x): return x + 1, {expression}", scope)
    jitted = ms.jit(scope["f"])
    for _ in range(3):
        with pytest.warns(DeprecationWarning) as plain:
            a = scope["f"](X)[1]
        with pytest.warns(DeprecationWarning) as found:
            b = jitted(X)[1]
        assert a == b
        assert [str(w.message) for w in plain] == [str(w.message) for w in found]
