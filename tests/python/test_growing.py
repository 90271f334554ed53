"""Containers of C code that outlive the call: what grows is an operation on the object itself, guarded only by
what was read of it, so that one capture serves for ever."""

import types

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, ops
from tests.python.differential import check_calls

X = Tensor(np.arange(3, dtype=np.float32))


def program(body, state):
    def make():
        scope = {"ops": ops, "X": X}
        exec("import array, collections\n" + state, scope)
        exec("def f(x):\n" + "".join(f"    {line}\n" for line in body.split("\n")), scope)

        def seen():
            found = {}
            for k, v in scope.items():
                if k not in ("ops", "f", "X", "__builtins__") and not isinstance(v, types.ModuleType):
                    plain = v if isinstance(v, (dict, int)) else list(v)
                    found[k] = (type(v).__name__, sorted(plain, key=str) if isinstance(v, set) else plain,
                                getattr(v, "maxlen", None))
            return found
        return scope["f"], seen
    return make


DEQUE = "q = collections.deque([1, 2, 3])"
FULL = "q = collections.deque([1, 2, 3], maxlen=3)"
SET = "s = {1, 2, 'a'}"
BYTES = "b = bytearray(b'abc')"
FLOATS = "a = array.array('f', [0.1, 2.0])"


@pytest.mark.parametrize(("state", "body", "captures"), [
    # deque
    (DEQUE, "q.append(x * 2)\nreturn x + 1", 1),
    (DEQUE, "q.append(x * 2)\nreturn q[-1] + 1", 1),
    (DEQUE, "q.appendleft(x)\nreturn q[0] * 2", 1),
    (DEQUE, "q.extend([x, x + 1])\nreturn q[-2] * q[-1]", 1),
    (DEQUE, "q.extendleft([x, x + 1])\nreturn q[0] * q[1]", 1),
    (DEQUE, "q.append(x)\nreturn q.pop() * 2", 1),
    (DEQUE, "q.append(x)\nq.append(x)\nq.popleft()\nq.popleft()\nreturn x * 3", None),
    (DEQUE, "global q\nq += [x]\nreturn x + len(q)", None),
    (DEQUE, "q.append(7)\nq.rotate(1)\nreturn x + q[0]", None),
    (DEQUE, "q.clear()\nq.append(x)\nreturn q[0] + len(q)", 1),
    (DEQUE, "q[0] = 9\nreturn x + q[0]", 1),
    (DEQUE, "q.reverse()\nreturn x + q[0]", None),
    (DEQUE, "n = 0\nfor v in q:\n    n += v\nreturn x * n", 1),
    (DEQUE, "return x * (2 in q) + q.count(1) + q.index(3)", 1),
    (DEQUE, "for v in q:\n    q.append(v)\nreturn x", None),
    (DEQUE, "if q:\n    return x * 2\nreturn x", 1),
    (DEQUE, "q.pop()\nq.pop()\nreturn x * 2", None),
    ("q = collections.deque()", "try:\n    q.popleft()\nexcept IndexError as e:\n    x = x * 3\nreturn x", 1),
    ("q = collections.deque()", "q.append(1)\nreturn x + q[5]", None),
    (FULL, "q.append(x * 2)\nreturn x + 1", 1),
    (FULL, "q.append(x * 2)\nreturn q[-1] + 1", 1),
    (FULL, "q.append(x)\nreturn x * len(q)", 1),
    (FULL, "q.append(4)\nreturn x * q[0]", None),
    (FULL, "q.appendleft(x)\nreturn x * len(q)", 1),
    (FULL, "q.append(x)\nreturn ops.stack(list(q)[-1:]) * 2", None),
    (FULL, "q.extend([x] * 5)\nreturn q[0] * len(q)", None),
    (FULL, "q.insert(0, 5)\nreturn x", None),
    (DEQUE, "d = collections.deque([x, x * 2], 2)\nd.append(x * 3)\nreturn d[0] + d[1] + len(d)", 1),
    (DEQUE, "d = collections.deque(maxlen=2)\nfor k in range(4):\n    d.append(x * k)\nreturn list(d)", 1),
    (DEQUE, "d = collections.deque([x, 1])\nreturn d[0] * d[1], type(d), isinstance(q, collections.deque)", 1),
    # sets
    (SET, "s.add('b')\nreturn x + 1", 1),
    (SET, "s.add(5)\nreturn x * (5 in s) + (6 in s)", 1),
    (SET, "s.add(5)\nreturn x * len(s)", None),
    (SET, "s.discard(1)\ns.discard(8)\nreturn x * (1 in s)", 1),
    (SET, "s.update([4, 5, 6])\nreturn x * (4 in s)", 1),
    (SET, "s.add(3)\ns.remove(3)\nreturn x * (3 in s)", 1),
    (SET, "try:\n    s.remove(99)\nexcept KeyError:\n    x = x * 5\nreturn x", 1),
    (SET, "s.clear()\ns.add(1)\nreturn x * len(s) + (2 in s)", 1),
    (SET, "if s:\n    return x * 2\nreturn x", 1),
    (SET, "return x * len([v for v in s if v in (1, 2)])", 1),
    (SET, "try:\n    s.add([])\nexcept TypeError:\n    x = x * 5\nreturn x", None),
    (SET, "for v in s:\n    s.add(100)\nreturn x", None),
    # arrays of numbers
    (BYTES, "b.append(7)\nreturn x + 1", 1),
    (BYTES, "b.append(7)\nreturn x + b[-1]", 1),
    (BYTES, "b.extend([1, 2])\nreturn x + b[0]", 1),
    (BYTES, "b[0] = 255\nreturn x + b[0]", 1),
    (BYTES, "n = 0\nfor v in b:\n    n += v\nreturn x + n", 1),
    (BYTES, "try:\n    b.append(256)\nexcept ValueError:\n    x = x * 2\nreturn x", 1),
    (BYTES, "b.pop()\nb.append(1)\nreturn x", None),
    (FLOATS, "a.append(0.3)\nreturn x + 1", 1),
    (FLOATS, "a.append(0.3)\nreturn x * a[-1]", 1),
    (FLOATS, "a[0] = 1.1\nreturn x * a[0]", 1),
    (FLOATS, "return x * sum(a)", 1),
    (FLOATS, "try:\n    a.append('no')\nexcept TypeError:\n    x = x * 2\nreturn x", 1),
    ("a = array.array('i', [1])", "a.append(2)\na.extend([3, 4])\nreturn x * a[-1] + a[0]", 1),
    # lists
    ("l = [3, 1, 2]", "l.sort()\nreturn x * l[0]", None),
    ("l = [3, 1, 2]", "l.sort(key=lambda v: -v)\nreturn x * l[0]", None),
    ("l = [3, 1, 2, 1]", "l.remove(1)\nl.append(1)\nreturn x * len(l)", None),
    ("l = [3, 1, 2]", "return x * l.index(2) + l.count(1)", 1),
    ("l = []", "try:\n    l.pop()\nexcept IndexError:\n    x = x * 2\nreturn x", 1),
    ("l = [1]", "try:\n    l[3] = 1\nexcept IndexError:\n    x = x * 2\nreturn x", 1),
    ("l = [1]", "try:\n    del l[3]\nexcept IndexError:\n    x = x * 2\nreturn x", 1),
    ("d = {'a': 1}", "try:\n    del d['b']\nexcept KeyError:\n    x = x * 2\nreturn x", 1),
    ("d = {}\nn = 0", "global n\nn += 1\nd[n % 3] = 't'\nd['b'] = (1, 2)\nd.setdefault('z', 1)\nreturn x * 2, "
                      "list(d), d.popitem()", None),
    ("d = {'a': 1}\nn = 0", "global n\nn += 1\nd[n % 3] = x\ndel d[n % 3]\nreturn x * len(list(d.items()))", None),
    ("d = collections.Counter('a')", "del d['b']\nreturn x * 2", None),
    ("d = {'a': 1, 'b': 2}", "k, v = d.popitem()\nd[k] = v\nreturn x * v", 1),
])
def test_operations(state, body, captures):
    check_calls(program(body, state), [(X,)] * 4, captures=captures)


@pytest.mark.parametrize(("state", "body"), [
    (DEQUE, "q.append(x * 2)\nreturn x + q[-1]"),
    ("q = collections.deque(maxlen=4)", "q.append(x * 2)\nreturn x + q[-1]"),
    ("s = set()", "s.add(len('ab'))\nreturn x + (2 in s)"),
    (BYTES, "b.append(7)\nreturn x + b[-1]"),
    (FLOATS, "a.append(1.5)\nreturn x + a[-1]"),
    ("l = []", "l.append(x)\nreturn x + 1"),
])
def test_one_capture_for_ever(state, body):
    check_calls(program(body, state), [(X,)] * 40, captures=1, breaks=0)


def test_the_same_deque_as_an_argument_and_a_global():
    def make():
        import collections
        q = collections.deque([1])

        def f(x, other):
            q.append(2)
            return x * len(other)
        return (lambda x: f(x, q)), lambda: list(q)
    check_calls(make, [(X,)] * 3)


def test_what_is_appended_in_a_branch_that_breaks_is_undone():
    def make():
        import collections
        q, s = collections.deque(), set()

        def f(x):
            q.append(x)
            s.add(1)
            if float(x.sum()) > 0:
                q.append(x + 1)
                s.discard(1)
            return x * 2
        return f, lambda: ([t.asnumpy().tolist() for t in q], sorted(s))
    check_calls(make, [(X,), (Tensor(np.array([-1.0], np.float32)),), (X,)])


def test_gradients_go_through_a_deque_made_inside():
    import collections

    def f(x):
        q = collections.deque([x * 2], maxlen=2)
        q.append(x * x)
        q.append(x * 3)
        return (q[0] * q[1]).sum()

    plain, jitted = ms.grad(f)(X), ms.jit(ms.grad(f))(X)
    np.testing.assert_array_equal(plain.asnumpy(), jitted.asnumpy())


def test_tuples_and_keys_that_vary_in_one_set():
    def make():
        seen, table = set(), {}

        def f(x, n):
            seen.add(n)
            seen.add((1, n))
            table[n] = n
            table[(1, n)] = -n
            return x + 1, len(seen), (1, n) in seen, sorted(seen, key=repr), sorted(table.items(), key=repr)
        return f

    check_calls(make, [(ms.Tensor([1.0]), n) for n in (3, 5, 7, 5)])
