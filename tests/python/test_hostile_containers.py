"""Small programs that try to catch capture out: containers whose items die, deques that are full, sets whose order
shows how their table is filled, keys that Python code compares. Each runs with its state made in the function, given as
arguments, held by globals, attributes or cells, and with a break after each statement."""

import gc
import re
from collections import deque

import numpy as np
import pytest
from differential import run

import pijit as ms
from pijit import Tensor

X = Tensor(np.arange(1, 4, dtype=np.float32))
PRELUDE = """
import array, enum, functools, gc, time, weakref
from collections import Counter, OrderedDict, defaultdict, deque
LOG = []
class O:
    def __init__(s, v=0): s.v = v
class W(O): pass
class L:
    def __init__(s, name): s.name = name
    def __del__(s): LOG.append(s.name)
class K:
    def __init__(s, v): s.v = v
    def __eq__(s, o): LOG.append(("eq", s.v)); return isinstance(o, K) and s.v == o.v
    def __hash__(s): LOG.append(("hash", s.v)); return hash(s.v)
class Slots: __slots__ = ("a", "b", "__weakref__")
def brk(*a): time.time()
"""


def shown(v):
    if isinstance(v, (list, tuple)):
        return [shown(w) for w in v]
    if isinstance(v, Tensor):
        return v.asnumpy().tolist()
    if isinstance(v, dict):
        return type(v).__name__, [(shown(k), shown(w)) for k, w in v.items()]
    if isinstance(v, set) or hasattr(v, "popleft"):
        return type(v).__name__, [shown(w) for w in v]
    return type(v).__name__, shown(vars(v)) if hasattr(v, "__dict__") else repr(v)


def indented(lines, by=4):
    return "".join(f"{' ' * by}{line}\n" for line in lines)


def source(state, body, mode):
    """The program's text, and the names of its state that others hold."""
    lines, body = state.split("\n") if state else [], body.split("\n")
    names = [n for line in lines if (m := re.match(r"(\w+) = ", line)) for n in [m[1]]]
    head, start = "def f(x, n):\n", ["x = x * 2"]
    if mode == "inside":
        return head + indented(start + lines + body), []
    if mode == "breaks":
        broken = [part for line in body for part in (["brk()", line] if re.match(r"[\w(]", line) and not re.match(
            r"(except|else|elif|finally|case)\b", line) else [line])]
        return head + indented(start + lines + broken), []
    if mode == "global":
        return "\n".join(lines) + f"\n{head}    global {', '.join(names)}\n" + indented(start + body), names
    if mode == "argument":
        made = f"def args():\n{indented(lines)}    return {', '.join(names)},\n"
        return f"{made}def f(x, n, {', '.join(names)}):\n{indented(start + body)}", []
    if mode == "attribute":
        held = [f"H.{n} = {n}\ndel {n}" for n in names]
        return "\n".join([*lines, "H = O()", *held]) + f"\n{head}" + indented(
            [*(f"{n} = H.{n}" for n in names), *start, *body]), ["H"]
    nonlocals = f"nonlocal {', '.join(names)}"
    return (f"def make():\n{indented(lines)}    {head}" + indented([nonlocals, *start, *body], 8)
            + "    return f\nf = make()\n"), []


def programs(text):
    all = []
    for block in text.strip("\n").split("\n\n"):
        state, _, body = ("\n" + block).rpartition("\n--\n")
        for mode in ("inside", "breaks", "global", "argument", "attribute", "cell") if state else ("inside", "breaks"):
            all.append(pytest.param(state.strip("\n"), body, mode,
                                    id=f"{mode}-{(state + ';' + body).split(chr(10))[0][:40]}"))
    return all


@pytest.fixture(autouse=True)
def only_when_asked():
    """Cycles are collected where a program says so, not whenever the one way or the other has made enough objects."""
    gc.disable()
    yield
    gc.enable()


def check(state, body, mode):
    rows = []
    for jitted in (False, True):
        scope = {}
        exec(PRELUDE, scope)
        text, names = source(state, body, mode)
        exec(text, scope)
        f, log = scope["f"], scope["LOG"]
        if jitted:
            f = ms.jit(f)
        rows.append([])
        for n in (0, 1, 2, 1):
            args = scope["args"]() if "args" in scope else ()
            result = run(f, (X, n, *args), {})
            rows[-1].append((result, shown(args), [shown(scope[k]) for k in names], list(log)))
            del args
            rows[-1].append(list(log))
    assert rows[0] == rows[1], ms.explain(f)


@pytest.mark.parametrize(("state", "body", "mode"), programs("""
l = [1, L('a'), 2]
--
l.pop(0)
l[0] = 5
return list(LOG), x + 1

l = [1, L('a'), 2]
--
l.pop(0)
del l[0]
return list(LOG), x + 1

l = [1, L('a'), 2]
--
l.insert(0, 7)
l[2] = 5
return list(LOG), x + 1

l = [1, L('a'), 2]
--
l.append(7)
l[-3] = 5
return list(LOG), x + 1

l = [L('a'), 1, L('b')]
--
l[0], l[1] = l[1], l[0]
r = list(LOG)
l[1] = 0
return r, list(LOG), x + 1

l = [1, L('a'), 2]
--
l[n] = 5
return list(LOG), x + 1

l = [1, L('a'), 2, [L('b')]]
--
r = l[n + 1]
l[n + 1] = 5
return x + 1

l = [L('a'), L('b'), L('c')]
--
l[:] = [1]
r = list(LOG)
return r, x + 1

l = deque([1, L('a'), 2])
--
l[n] = 5
return list(LOG), x + 1

l = deque([L('p'), L('q')])
--
l.rotate(1)
l.popleft()
r = list(LOG)
l[0] = 1
return r, list(LOG), x + 1

d = {0: 1, 1: [L('a')], 2: 3}
--
d[n] = 5
return list(LOG), x + 1

d = OrderedDict({0: L('z'), 1: L('a'), 2: 3})
--
d[n] = 5
r = list(LOG)
d.move_to_end(n)
d.popitem()
return r, list(LOG), x + 1

d = {0: L('z'), 1: L('a'), 2: 3}
--
d.setdefault(n, L('q'))
r = list(LOG)
d |= {n: 1}
return r, list(LOG), x + 1
"""))
def test_items_die_where_they_are_replaced(state, body, mode):
    check(state, body, mode)


@pytest.mark.parametrize(("state", "body", "mode"), programs("""
q = deque(maxlen=0)
--
q.append(L('gone'))
q.extend([1, 2])
return q, list(LOG), len(q), bool(q), x + 1

q = deque([1, 2], 2)
--
q.append(L(n))
r = list(LOG)
q.append(L(n + 10))
q.append(L(n + 20))
return r, list(LOG), x + 1

q = deque([1, 2], 2)
--
q.append(L('a'))
q.appendleft(3)
return list(LOG), x + 1

q = deque([1], 2)
--
q.append(L('a'))
q.appendleft(3)
return list(LOG), x + 1

q = deque([1, 2], 3)
--
a = L('a')
q.append(a)
a = None
r = list(LOG)
q.appendleft(5)
r1 = list(LOG)
q.append(6)
return r, r1, list(LOG), x + 1

q = deque([], 3)
--
a = L('a')
q.append(a)
a = None
y = x * 2
q.append(1)
q.append(2)
r = list(LOG)
q.append(3)
return r, list(LOG), y

q = deque([], 1)
--
q.extend([L('a'), L('b'), L('c')])
r = list(LOG)
return r, x + 1

q = deque([5], 1)
--
q.extendleft([L('a'), L('b'), L('c')])
r = list(LOG)
q.clear()
return r, list(LOG), x + 1

q = deque([L(1), L(2)], 2)
--
q.append(L(3))
r = list(LOG)
q.appendleft(L(4))
r2 = list(LOG)
q.extend([1, 2])
return r, r2, list(LOG), x + 1
"""))
def test_a_full_deque_lets_go_at_the_other_end(state, body, mode):
    check(state, body, mode)


LOOP = """r = []
try:
    for v in q:
        r.append(v)
        {}
        if len(r) > 5: break
except RuntimeError as e: r.append(str(e))
return r, list(q), x + 1"""
STEPS = [
    "q.reverse()", "q.rotate(1)", "q.rotate(len(q))", "q.rotate(0)", "q.extend(())", "q.extendleft([])", "q += ()",
    "q[0] = v",
    "q.append(v)", "q.append(q.popleft())", "del q[0]", "q.insert(1, 7)", "q.clear()", "q *= 1",
    "q.extend(w for w in ())",
    "try: q.remove(9)\n        except ValueError: r.append('no')",
    "try: del q[9]\n        except IndexError: r.append('no')",
    "try: q.insert(0, 9)\n        except IndexError: r.append('full')",
]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("state", ["q = deque([1, 2, 3])", "q = deque([1])", "q = deque([1, 2, 3], 3)"])
@pytest.mark.parametrize("mode", ["inside", "argument"])
def test_what_ends_the_iteration_of_a_deque(state, step, mode):
    check(state, LOOP.format(step), mode)


@pytest.mark.parametrize(("state", "body", "mode"), programs("""
q = deque([1, 2])
--
r = []
it = iter(q)
list(it)
q.append(1)
try: r.append(next(it, 'end'))
except RuntimeError as e: r.append(str(e))
return r, q, x + 1

q = deque([])
--
r = []
it = iter(q)
try: q.pop()
except IndexError as e: r.append(str(e))
q.clear()
q.rotate(2)
try: r.append(next(it, 'end'))
except RuntimeError as e: r.append(str(e))
return r, q, x + 1

s = {1, 2, 3}
--
s.add((1, 2))
t = s | {9}
return list(t), list(s.copy()), list(set(s)), list(s - {1}), list(s & {3, (1, 2), 1}), list(s ^ {7}), x + 1

s = set()
for v in (24, 16, 8, 0): s.add(v)
--
r = list(s & {0, 8, 16, 24, 9}), list({0, 8, 16, 24} & s), list(s ^ {2}), list({64} | s), list({64}.union(s))
return r, list(s | {64}), list(frozenset(s)), list(s.copy()), list(s - {1}), [*s], list(s.difference([8])), x + 1

s = set(range(0, 800, 8))
for v in range(0, 780, 8): s.discard(v)
--
r = list(s & {784, 792}), list({784, 792, 5} & s), list(s ^ {2}), list({64} | s), list({64}.union(s))
return r, list(s | {64}), list(frozenset(s)), list(s.copy()), list(s - {1}), [*s], x + 1

s = {8 * i for i in range(20)}
for i in range(10): s.discard(16 * i)
t = {0, 64, 128, 5}
--
t |= s
u = set()
u.update(s)
v = set(s)
v.add(n)
return list(t), list(u), list(v), v.pop(), u.pop(), x + 1

s = {8 * i for i in range(20)}
for i in range(10): s.discard(16 * i)
t = {0, 64, 128, 5}
--
t.update(s)
s.update(t)
s.difference_update({8})
t.symmetric_difference_update(s)
return len(s), x + 1

s = {'a', 'b', 'c', 'd', 'e', 'f'}
--
t = s | {'g'}
u = s - {'a'}
return list(t), list(u), list(s & t), list(s ^ {'q'}), [*s.copy()], list(t | s), list(set(s) | t), [*frozenset(s)], -x

s = {K(1), 2}
--
r = 2 in s, 1 in s, 5 in s
s.add(n)
return r, list(LOG), len(s), x + 1

s = {K(1), 2}
--
s.discard(n)
return list(LOG), len(s), x + 1

k = 1
--
r = []
try: k += 'a'
except TypeError as e: r.append(str(e))
try: k **= 'a'
except TypeError as e: r.append(str(e))
try: k = k + 'a'
except TypeError as e: r.append(str(e))
k += 1; k *= 3; k **= 2; k //= 5; k %= 4; k <<= 3; k >>= 1; k &= 7; k |= 8; k ^= 3; k /= 2; k -= 1
return r, k, x + 1

t = [1, 2]
--
try: t[-n] += 'a'
except TypeError as e: return t, str(e), x + 1

--
m = x.sum().item() * float('nan')
l = [m]
return m in l, l.count(m), l == [m], {m: 1}.get(m), (m,) == (m,), m == m, m != m, m < m, x + 1

m = float('nan')
--
y = x + 1 if m == m else x * 2
y = y + 1 if m != float('nan') else y
k = m * n
return y, k == k, k != m, [k] == [k], k in (k, m)
"""))
def test_order_and_texts(state, body, mode):
    check(state, body, mode)


@pytest.mark.parametrize(("state", "body", "mode"), programs("""
--
a = id(L('id')) > 0, id(L('again')) > 0
return a, list(LOG), x + 1

--
o = O(L('inner'))
a = id(o.v) > 0
l = [L('of a list')]
b = id(l) > 0, id(l[0]) > 0
o = l = None
return a, b, list(LOG), x + 1

--
o = W(3)
r = weakref.ref(o)
y = x * o.v
o = [o]
a = r() is None
o = None
return a, r() is None, y

--
o = W(3)
r = weakref.ref(o)
t = (1, [o])
o = 5
brk()
a = r() is None
brk()
t = None
return a, r() is None, x + 1

--
o = W(W(3))
r = weakref.ref(o.v)
t = [o.v]
o = None
brk()
a = r() is None
t = None
return a, r() is None, x + 1

--
l = []
m = l
brk()
l.append(L('a'))
l = None
r = list(LOG)
m = None
return r, list(LOG), x + 1

--
d = {}
def put(q): q['k'] = L('p'); brk()
put(d)
r = list(LOG)
return r, x + 1

--
b = L('b')
c = L('c')
a = L('a')
return list(LOG), x + 1

--
a, b = L('a'), L('b')
c = L('c')
a, c = c, a
return list(LOG), x + 1

--
a = L('a') and L('b')
c = L('c') or L('d')
e = L('e') if x.ndim else L('f')
return list(LOG), x + 1

--
e = ValueError(L('a'))
try:
    raise e
except ValueError as q:
    pass
brk()
e = None
return list(LOG), x + 1

--
alive = weakref.WeakSet()
class E(Exception): pass
last = None
for i in range(6):
    try:
        e = E(i)
        alive.add(e)
        raise e
    except E as q:
        last = q
    e = None
    brk()
return len(alive), x + 1

--
refs = []
class E(Exception): pass
def boom():
    e = E()
    refs.append(weakref.ref(e))
    raise e
keep = None
for i in range(5):
    try:
        boom()
    except E as e:
        keep = e
    brk()
return [r() is None for r in refs], x + 1
"""))
def test_lives_as_long_as_plainly(state, body, mode):
    check(state, body, mode)


AT_THE_ENDS = [-2 ** 63, -2 ** 63 + 1, 2 ** 63 - 1, 2 ** 63, -2 ** 64]
PLACES = """
l[i] | l[i] = 1 | del l[i] | l.pop(i) | l.insert(i, 5) | l[i:] | l[:i] | l[::i] | l[i:] = [1] | l * i | l.index(1, i)
t[i] | t[i:] | t.index(1, i) | s[i] | s[:i] | s * i | s.find("a", i) | d[i] | dq[i] | dq[i] = 1 | del dq[i]
dq.insert(i, 1) | dq.rotate(i) | r[i] | x[i] | x[i:] | x[:i] | b[i] | b[i] = 1
[1, 2, 3][i] | range(5)[i] | (1, 2, 3)[i]
"""


@pytest.mark.parametrize("grows", [False, True])
@pytest.mark.parametrize("place", [p.strip() for line in PLACES.strip().split("\n") for p in line.split(" | ")])
def test_places_at_the_ends_of_machine_ints(place, grows):
    line = place if re.search(r" = |^del ", place) else f"got = {place}"
    first = "l.append(9); dq.append(3); l[-1] = 8" if grows else "pass"
    space = {}
    exec(f"def f(x, l, t, s, d, dq, r, b, i):\n    y, got = x + 1, None\n    {first}\n    {line}\n"
         "    return y.sum(), got, l, list(dq), b", space)
    jitted = ms.jit(space["f"])

    def seen(f, i):
        try:
            return repr(f(X, [1, 2, 3, 4], (1, 2, 3), "abc", {1: 2}, deque([1, 2, 3]), range(4), bytearray(b"abc"), i))
        except Exception as e:
            return type(e), str(e)
    for i in AT_THE_ENDS:
        assert seen(jitted, i) == seen(space["f"], i), (line, i)
