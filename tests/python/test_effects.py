"""What a function does to objects that outlive the call: each effect is an operation on the object itself, in
the order of the program, and depends on nothing that the program did not read."""

import io
import collections
import gc
import sys
import threading
import types
import weakref

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, ops
from tests.python.differential import check, check_calls

X = Tensor(np.arange(3, dtype=np.float32))


def program(body, state="l = []"):
    """A maker of f(x) with that body, over global state."""
    def make():
        scope = {"ops": ops}
        exec(state, scope)
        exec("def f(x):\n" + "".join(f"    {line}\n" for line in body.split("\n")), scope)
        hidden = {"ops", "f", "__builtins__", "Slot", "slot"}
        return (scope["f"], lambda: {k: v for k, v in scope.items() if k not in hidden
                                     and not isinstance(v, types.ModuleType)})
    return make


@pytest.mark.parametrize(("body", "captures"), [
    ("l.append(x * 2)\nreturn x + 1", 1),
    ("l.append(1)\nl.append('a')\nreturn x + 1", 1),
    ("l.extend([x, x + 1])\nreturn x * 2", 1),
    ("global l\nl += [x, 2]\nreturn x * 2", 1),
    ("l.append(x * 2)\nreturn l[-1] + 1", 1),
    ("l.append(x * 2)\nl.append(x * 3)\nreturn l[-1] + l[-2]", 1),
    ("l.insert(0, x * 2)\nreturn l[0] + 1", 1),
    ("l.append(x)\ny = l.pop()\nreturn y * 2", 1),
    ("l.append(x)\nl[-1] = x * 3\nreturn l[-1]", 1),
    ("l.append(x * 2)\nreturn x + 1 if l else x", 1),
    ("y = x + 1 if l else x\nl.append(x * 2)\nreturn y", 2),
    ("y = l[-1] + x if l else x\nl.append(y)\nreturn y", 2),
    ("l.append([])\nl[-1].append(x)\nreturn x + 1", 1),
    ("l.append(x * 2)\nreturn x + len(l)", 1),
    ("for i in range(5): l.append(i)\nreturn x * 2", 1),
])
def test_a_list_that_grows_is_one_capture(body, captures):
    check(program(body), X, calls=50, breaks=0, captures=captures)


@pytest.mark.parametrize(("body", "captures"), [
    ("d['a'] = x * 2\nreturn x + 1", 1),
    ("d[len(d)] = x * 2\nreturn x + 1", 1),
    ("d['a'] = d.get('a', 0) + x\nreturn x + 1", 2),
    ("d.setdefault('loss', []).append(x * 2)\nreturn x + 1", 2),
    ("if 'a' not in d: d['a'] = []\nd['a'].append(x)\nreturn x * 2", 2),
    ("d.update(a=x, b=x + 1)\nreturn d['a'] + d['b']", 1),
    ("d['a'] = x\ny = d.pop('a')\nreturn y + 1", 1),
    ("d['a'] = x\ndel d['a']\nd['b'] = x * 2\nreturn d['b']", 1),
    ("global step\nstep += 1\nd[step] = x * 2\nreturn x + 1", 1),
])
def test_a_dict_that_grows(body, captures):
    check(program(body, "d = {}\nstep = 0"), X, calls=50, breaks=0, captures=captures)


@pytest.mark.parametrize("body", [
    "l.append(5)\nl.insert(0, 7)\ny = l.pop(0) + l.pop()\nl.append(8)\nreturn x * y, len(l), l[0], l[-1], l[2]",
    "a = l.pop()\nb = l.pop(0)\nl.append(a)\nl.insert(0, b)\nreturn x, list(l), l[1], l[-2], len(l)",
    "l[0] = 5\nl[-1] = 6\nl.append(9)\nreturn x + l[0] + l[-1] + l[-2], l[1:3], sorted(l)",
    "del l[0]\nl.append(3)\ndel l[-1]\nl[2] = l[0]\nreturn x * 2, l == [1, 2], [v for v in l]",
    "l[1] = 50\nl.append(l[1])\nl.reverse()\nl.insert(2, 'x')\nreturn x * 2, l.index(50), l.count(50)",
    "l.append(4)\nl.clear()\nl.append(1)\nl.append(2)\nl.append(3)\nl.append(4)\nreturn x, l[0], l[-1], len(l), "
    "bool(l)",
    "a = l[-1]\nl.insert(0, a)\nb = l[1]\nl.pop()\nreturn x * a + b, l[-1], l[0], tuple(l)",
    "while len(l) > 2: l.pop()\nl.extend(l)\nreturn x + len(l)",
    "try: l[99]\nexcept IndexError: l.append(0)\nreturn x * 2, l[-1]",
    "l.append(2)\nl.pop()\nl.pop()\nl.pop()\nl.append(1)\nl.append(2)\nreturn x * l[0], l[1], len(l)",
    "l[-1] += 1\nl[0] -= 1\nl[1] = l[-1]\nreturn x * 2, l",
])
def test_operations_on_a_list(body):
    e = check(program(body, "l = [1, 2, 3, 4]"), X, calls=4)
    assert all(b["reason"] == "the code raises an exception here" for b in e.breaks)


@pytest.mark.parametrize("body", [
    "d['c'] = 3\ndel d['a']\nd['a'] = 1\nreturn x * 2, list(d), list(d.values()), len(d)",
    "d['c'] = x\nd.pop('b')\nreturn x * 2, list(d.items()), 'b' in d, d.get('b', 5), bool(d)",
    "n = len(d)\nd['z'] = 1\nm = len(d)\nd['z'] = 2\ndel d['z']\nreturn x, n, m, len(d), list(d)",
    "d.clear()\nd['q'] = x * 2\nreturn d['q'], len(d), d.get('a')",
    "try: d['nope']\nexcept KeyError: d['nope'] = 1\nreturn x * 2, d['nope']",
    "d[k] = x\nd['a'] = 9\nd[k + 1] = x * 2\nreturn d[k], d[k + 1], d['a'], len(d)",
    "d[k] = x\nd[3] = 9\nreturn d[3], d[k], list(d)",
    "d[(1, 'a')] = x\nreturn d[(1, 'a')] * 2",
    "e = dict(d)\nd['a'] = 2\nreturn x, e['a'], d['a'], {**d}, d | {'w': 1}",
    "for key in list(d): d[key] = 7\nreturn x, d",
    "y = d.pop('n', None)\nd['n'] = 5\nreturn x, y, d.setdefault('n', 8), d.setdefault('m', 9)",
])
def test_operations_on_a_dict(body):
    e = check(program(body, "d = {'a': 1, 'b': 2}\nk = 3"), X, calls=4)
    assert all(b["reason"] == "the code raises an exception here" for b in e.breaks)


def test_effects_keep_the_order_of_the_program():
    seen = []

    class Box:
        pass
    box = Box()

    class Watched(list):
        pass

    class Stream:
        def write(self, text):
            seen.append((text, list(l), dict(vars(box)), dict(d)))

        def flush(self):
            pass
    l, d = [], {}

    @ms.jit
    def f(x):
        l.append(1)
        print("a")
        box.n = 1
        d["k"] = 2
        print("b")
        box.n = 2
        l[-1] = 3
        print("c")
        l.append(x)
        return x * 2
    out, sys.stdout = sys.stdout, Stream()
    try:
        f(X)
    finally:
        sys.stdout = out
    states = {text: rest for text, *rest in seen if text.strip()}
    assert states["a"] == [[1], {}, {}]
    assert states["b"] == [[1], {"n": 1}, {"k": 2}]
    assert states["c"] == [[3], {"n": 2}, {"k": 2}]
    assert len(l) == 2


def test_what_others_append_meanwhile_stays():
    l = []

    class Stream:
        def write(self, text):
            l.append(text)

        def flush(self):
            pass

    class Dying:
        def __del__(self):
            l.append("died")
    box = [Dying()]

    @ms.jit
    def f(x):
        l.append(1)
        box[0] = x
        print("p", end="")
        l.append(2)
        return x * 2
    out, sys.stdout = sys.stdout, Stream()
    try:
        f(X)
        box[0] = Dying()
        f(X)
    finally:
        sys.stdout = out
    assert [v for v in l if v != ""] == [1, "died", "p", 2, 1, "died", "p", 2]


def test_appends_of_several_threads_all_arrive():
    l, d = [], {}

    @ms.jit
    def f(x, i):
        l.append(i)
        d[i] = x
        return x * 2 + ops.tanh(x)
    f(X, 0)

    def work(base):
        for i in range(250):
            f(X, base + i)
    threads = [threading.Thread(target=work, args=(1000 * k,)) for k in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(l) == 1001 and sorted(l[1:]) == sorted(1000 * k + i for k in range(1, 5) for i in range(250))
    assert len(d) == 1001


def test_a_long_list_costs_no_more_than_a_short_one():
    l, d = [0] * 1_000_000, dict.fromkeys(range(10_000))

    @ms.jit
    def f(x):
        l.append(x)
        d["k"] = x
        return x * 2
    f(X)
    text = str(ms.explain(f))
    assert "len(" not in text and "tuple(" not in text
    assert len(l) == 1_000_001 and d["k"] is X


def test_memory_is_flat():
    l, d = [], {}

    class Box:
        pass
    box = Box()

    @ms.jit
    def f(x):
        l.append(x * 2)
        d["a"] = l[-1]
        box.last = l.pop()
        return box.last
    for _ in range(100):
        f(X)
    gc.collect()
    before = len(gc.get_objects()), sys.getallocatedblocks()
    for _ in range(20_000):
        f(X)
    gc.collect()
    after = len(gc.get_objects()), sys.getallocatedblocks()
    assert abs(after[0] - before[0]) < 50 and abs(after[1] - before[1]) < 500
    assert ms.explain(f).compile_count == 1


@pytest.mark.parametrize(("body", "captures"), [
    ("global step\nstep += 1\nreturn x * step", 2),
    ("global step\nstep += 1\nif step % 10 == 0: return x * 3\nreturn x * 2", 3),
    ("global step\nstep += 1\nd['n'] = f'step {step}'\nreturn x * 2", 2),
    ("global step\nstep += 1\nprint(f'step {step:04d}', step, x)\nreturn x * 2", 2),
    ("global step\nstep += 1\nd['n'] = str(step) + '%d of %s' % (step, 'n') + '{:>5}'.format(step)\nreturn x * 2", 2),
    ("global step\nstep += 1\nd[f'{step!r:>8}'] = x\nreturn x * 2", 2),
    ("global step\nstep += 1\nname = f'layer{step}'.upper()\nreturn (x * 2, name) if name.startswith('L') else x", 2),
    ("global step\nstep += 1\nreturn x * (math.cos(step * math.pi / 50) + step ** 2), -step, ~step, abs(-step), "
     "divmod(7, 2)", 2),
    ("global step\nstep += 1\nreturn x * (2 if step in (10, 20) else 1)", 3),
    ("global step\nstep += 1\nif step > 10 and step < 20: return x\nreturn x * 2, step == step + 1, step < step + 1",
     4),
    ("global step\nstep += 1\nif step not in d: d[step] = []\nd[step].append(x)\nreturn x * 2", 3),
    ("global ema\nema = 0.9 * ema + 0.1 * len(d)\nd[str(ema)] = 1\nreturn x * ema, round(ema, 3), int(ema), "
     "f'{ema:.3f}'", 2),
    ("global step\nstep += 1\nreturn x * [1.5, 2.5, 3.5][step % 3], 'abc'[step % 3], (1, 2, 3)[step % 3]", 4),
])
def test_counters_and_texts_that_change(body, captures):
    e = check(program(body, "import math\nd = {}\nstep = 0\nema = 1.0\nbreak_ = None"), X, calls=50, breaks=0)
    assert e.compile_count <= captures


def test_large_numbers_and_errors_in_what_is_computed():
    body = "global n, k\nn = n * 7 + 1\nk -= 1\nreturn x * 2, n, n // k, str(n)[:k % 5]"
    check(program(body, "n = 2**40\nk = 4"), X, calls=8)


def test_texts_as_arguments():
    def make():
        log = {}

        def f(x, tag):
            log[tag] = x
            return (x * 2 if tag == "a" else x + 1), tag + "!", len(tag), tag in ("a", "b"), "a" in tag
        return f, lambda: list(log)
    e = check_calls(make, [(X, t) for t in ["a", "b", "c", "dd", "a", "", "é", "a\udc80"] * 2], breaks=0)
    assert e.compile_count <= 12


@pytest.mark.parametrize("body", [
    "r = []\nfor k, v in d.items():\n    r.append(v)\n    d['b'] = 10\nreturn x * 2, r",
    "r = []\nfor k in d:\n    r.append(d[k])\n    d['b'] = x\nreturn x * 2, r",
    "it = iter(d.values())\nd['a'] = 5\nreturn x + 1, next(it)",
    "for k in d: d[k + 'x'] = 1\nreturn x",
    "for k in list(d): d[k + 'x'] = 1\nreturn x * 2, list(d)",
    "for k in d.keys(): del d[k]\nreturn x",
    "try:\n    for k in d: d.pop('a', None)\nexcept RuntimeError as e: return x * 2, str(e)",
    "s = {1, 2}\ntry:\n    for k in s: s.add(k + 10)\nexcept RuntimeError as e: return x * 2, str(e)",
    "r = []\nfor k in d:\n    r.append(k)\n    if k == 'a': del d['a']; d['z'] = 3\nreturn x * 2, r",
    "l = [1]\nfor v in l:\n    if len(l) < 6: l.append(v + 1)\nreturn x * 2, l",
    "l = [1, 2, 3, 4]\nfor v in l: l.remove(v) if False else l.pop()\nreturn x * 2, l",
    "l = [1]\nit = iter(l)\na = list(it)\nl.append(2)\nreturn x * 2, a, list(it)",
    "it = iter(d)\na = list(it)\nreturn x * 2, a, next(it, 'end'), next(it, 'end')",
])
def test_containers_that_change_under_iteration(body):
    check(program(body, "d = {'a': 1, 'b': 2}"), X, calls=3)


@pytest.mark.parametrize(("body", "captures", "breaks"), [
    ("dd['loss'].append(1)\ndd['n'].append(x.shape[0])\nreturn x * 2", 2, 0),
    ("c['n'] += 1\nc[f'{c[\"n\"] % 3}'] += 1\nreturn x * 2", None, None),
    ("c['n'] += 1\nreturn x * c['n']", 1, 0),
    ("od['a'] = od.get('a', 0) + 1\nod['b'] = 2\nod['a'] = 5\nreturn x * 2, 'a' in od, len(od)", None, 0),
    ("s.add(1)\ns.add('a')\ns.discard(7)\nreturn x * 2", 1, 0),
    ("global n\nn += 1\nif n % 5 not in s: s.add(n % 5)\nreturn x * 2", 2, 0),
    ("global n\nn += 1\nq.append(n)\nq.appendleft(-n)\nq.extend([1, 2])\nreturn x * 2", 1, 0),
    ("global n\nn += 1\nif len(q) > 3: q.clear()\nq.append(n)\nreturn x * 2, bool(s)", 2, 0),
    ("s.add(3)\nreturn x * 2, len(s), 3 in s", None, None),
    ("s.clear()\ns.add(2)\nreturn x * 2, sorted(s), dict(c), list(q)", None, None),
    ("dd['n'].append(1)\nreturn x * 2, dict(dd), len(dd), list(dd), {**dd}", None, None),
    ("try: od['zz']\nexcept KeyError as e: od['k'] = 1\nreturn x * 2, str(e) if False else 1", None, None),
])
def test_other_containers(body, captures, breaks):
    state = (
        "import collections\ndd = collections.defaultdict(list)\nc = collections.Counter(n=0)\nod = "
        "collections.OrderedDict()\n"
             "s = set()\nq = collections.deque(maxlen=9)\nn = 0")
    check(program(body, state), X, calls=50, captures=captures, breaks=breaks)


@pytest.mark.parametrize(("body", "captures"), [
    ("global n\nn += 1\nbuf[n % 4] = x\nreturn x * 2", 1),
    ("global n\nn += 1\nbuf[n % 4] = n\nreturn x * 2, buf[n % 4]", None),
    ("global n\nn += 1\nreturn x * table[n % 3]", 4),
    ("global n\nn += 1\nbuf[n % 4] = n\nbuf.append(n)\nreturn x * 2, buf[-1], buf[0], len(buf)", None),
    ("l.append(x)\ns = x\nfor v in l[-2:]: s = s + v\nreturn s, l[:1]", 3),
    ("l.append(len(l))\nreturn x * sum(l) / len(l)", None),
    ("l.append(len(l))\ny = x * 2\nz = max(l)\nreturn y + z", None),
    ("for v in l: pass\nl.append(1)\nreturn x * 2", None),
    ("d[len(d)] = 1\ny = x * 2\nk = list(d)\nreturn y + len(k)", None),
    ("import operator\noperator.setitem(buf, 0, 9)\noperator.iadd(l, [1])\ny = operator.is_(l, l)\nreturn x * 2, "
     "buf, y", None),
    ("slot.n += 1\nreturn x * slot.n, f'{slot.n}'", 1),
    ("m.count = getattr(m, 'count', 0) + 1\nreturn x * 2, m.count", 3),
])
def test_places_and_parts_that_vary(body, captures):
    state = (
        "class Slot:\n    __slots__ = ('n',)\nslot = Slot()\nslot.n = 0\nimport types\nl = []\nd = {}\nbuf = [None] * "
        "4\ntable = [1.5, 2.5, 3.5]\nn = 0\nm = types.ModuleType('m')")
    e = check(program(body, state), X, calls=50)
    # None: captures end, in 50 calls after 8 to 22 of them (the number depends on addresses).
    assert e.compile_count <= (captures or 32), str(e)


def test_what_keeps_changing_is_left_alone_and_the_rest_stays_captured():
    names = []

    @ms.jit
    def f(x, name, layers):
        y = ops.tanh(x) * 2
        names.append(name)
        z = TABLE.get(name, 1) + len(layers)
        return ops.exp(y) + z
    for i in range(200):
        out = f(X, f"name{i}", [0] * (i % 50))
        assert np.array_equal(out.asnumpy(), (ops.exp(ops.tanh(X) * 2) + (1 + i % 50)).asnumpy())
    e = ms.explain(f)
    assert e.compile_count <= 24, str(e)
    for _ in range(2):  # of calls with breaks, some run plainly, to be compared
        f(X, "new", [])
    assert ms.explain(f).graph_runs > e.graph_runs
    assert len(names) == 202


TABLE = {"name3": 1}


def test_a_bad_caller_does_not_turn_off_others():
    @ms.jit
    def f(x, k):
        return x * 2 if k > 3 else x + 1
    shapes = [Tensor(np.ones(tuple([1] * r + [2]), np.float32)) for r in range(8)]
    for dtype in (np.float32, np.int32, np.float64, np.int8):
        for s in shapes:
            f(Tensor(s.asnumpy().astype(dtype)), 5)
    e = ms.explain(f)
    count = e.compile_count
    for _ in range(20):
        f(shapes[3], 5)
    assert ms.explain(f).compile_count <= count + 2


def test_print_where_its_error_is_handled():
    class Full:
        def write(self, text):
            raise OSError("full")

        def flush(self):
            pass

    @ms.jit
    def f(x):
        y = x * 2
        try:
            print("p")
        except OSError:
            y = y + 100
        return y
    out, sys.stdout = sys.stdout, Full()
    try:
        r = f(X)
    finally:
        sys.stdout = out
    assert np.array_equal(r.asnumpy(), X.asnumpy() * 2 + 100)


def test_a_trainer_of_200_steps():
    def make():
        ms.set_seed(1)
        net = ms.nn.SequentialCell(ms.nn.Dense(4, 8), ms.nn.ReLU(), ms.nn.Dense(8, 1))

        class Trainer:
            def __init__(self):
                self.loss_fn = ms.nn.MSELoss()
                self.opt = ms.nn.Adam(net.trainable_params(), 0.01)
                self.grad_fn = ms.value_and_grad(lambda x, y: self.loss_fn(net(x), y), None, self.opt.parameters)
                self.losses, self.history, self.by_step = [], {"loss": []}, {}
                self.metrics = collections.defaultdict(list)
                self.counts, self.step = collections.Counter(), 0

            def train_step(self, x, y):
                loss, grads = self.grad_fn(x, y)
                self.opt(grads)
                self.losses.append(loss)
                self.history["loss"].append(loss)
                self.metrics["loss"].append(loss)
                self.counts["steps"] += 1
                self.step += 1
                self.by_step[self.step] = loss
                if self.step % 100 == 0:
                    print(f"step {self.step}, loss {float(loss):.4f}")
                return loss
        t = Trainer()
        return (t.train_step,
                lambda: (t.losses[-1], len(t.losses), len(t.history["loss"]), len(t.metrics["loss"]), dict(t.counts),
                         t.step, list(t.by_step)[-2:]))
    rng = np.random.default_rng(0)
    batches = [(Tensor(rng.standard_normal((4, 4)).astype(np.float32)),
                Tensor(rng.standard_normal((4, 1)).astype(np.float32))) for _ in range(200)]
    e = check_calls(make, batches)
    assert e.compile_count <= 6, str(e)
    assert len(e.breaks) == 1  # float(loss), at every 100th step


def test_weak_references_call_back_where_the_object_dies():
    def make():
        log = []

        class Thing:
            pass

        def f(x):
            thing = Thing()
            ref = weakref.ref(thing, lambda _: log.append("dead"))
            log.append("before")
            del thing
            log.append("after")
            return x + 1, ref() is None
        return f, lambda: log
    check(make, X, calls=3)


def test_an_entry_outlives_its_place_in_the_cache(monkeypatch):
    """A stream that prints calls the function that prints until the entry that runs there is given up."""
    inner = []

    class Stream(io.StringIO):
        def write(self, text):
            if text.strip() and len(inner) % 61 == 0:  # not below itself
                for k in range(60):
                    inner.append(k)
                    x = ms.Tensor(np.ones((2,) * (k % 6 + 1), ["f4", "f8", "i4", "i8", "f2"][k % 5]))
                    assert f(x, k)[1] == [k]
                inner.append(None)
            return len(text)

    @ms.jit
    def f(x, k):
        y = (x * 2).sum()
        print("a", x.ndim)
        return y + 1, [k]
    monkeypatch.setattr("sys.stdout", Stream())
    for i in range(4):
        y, k = f(ms.Tensor(np.ones(3, np.float32)), i)
        assert (float(y), k) == (7.0, [i])
    monkeypatch.undo()
    assert inner and ms.explain(f).compile_count > 16
