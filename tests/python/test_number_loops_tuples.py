"""Loops over tuples by variable places and lists of tuples as machine code."""

import pytest
from test_number_loops_items import regions, same

import pijit as ms


def test_items_by_a_variable_place():
    source = """
OFFSETS = ((1, 0), (0, 1), (-1, 0), (0, -1))
WEIGHTS = (0.5, -0.25, 1e300)

def f(steps, own, mixed, d):
    x = y = 0
    total = 0.0
    for k in range(steps):
        dx, dy = OFFSETS[d]
        x += dx * own[k % len(own)]
        y += dy
        total += WEIGHTS[-1 - k % 3] * x
        d = (d + 1) % 4
    n = 0
    for k in range(steps):
        n += mixed[k % 2]
    return x, y, total, d, n, OFFSETS[d][0]
"""
    same(source, (50, (1, 2, 3), (1, 2), 0), (50, (1, 2, 3), (1, 2), -4), (3, (1,), (0, 0), 4), (3, (1,), (0, 0), -5),
         (0, (), (), 0), (9, (True, False), (1.5, 2.5), 1))
    same(source, (9, (1, 2.5), (1, 2), 0), (9, (1, 2), (1, 0.5), 0), (9, tuple(range(40)), (1, 2), True), expect=None)
    same(source, (9, (1, 2), (1, 2), 1.0), (9, (1, 10**30), (1, 2), 0), (9, (), (1, 2), 0), expect=None)


def test_lists_of_tuples():
    source = """
def f(items, capacity, points, best):
    for weight, value in items:
        for c in range(capacity, weight - 1, -1):
            v = best[c - weight] + value
            if v > best[c]:
                best[c] = v
    s, p, n = 0.0, None, 0
    for i in range(len(points)):
        for j in range(i):
            x1, y1, (z1, w1) = points[i]
            q = points[j]
            s += (x1 - q[0]) ** 2 + y1 * q[1] - z1 * q[2][1]
            n += w1
    for p, (a, b) in zip(points, items):
        s += p[0] * a - b
    return s, p, n
"""
    items = [(i * 7 % 23 + 1, i * 13 % 31 + 1) for i in range(9)]
    points = [(i * 0.5, i - 0.25, (i, i % 2 == 0)) for i in range(9)]
    same(source, (items, 50, points, [0] * 51), (items[:1], 50, points[:2], [0] * 51), ([], 50, points, [0] * 51))
    for odd in ([(1,)], [(1, 2, 3)], [[1, 2]], [(1, 2.5)], [(1, None)], [5], ["ab"], [()]):
        same(source, (items[:2] + odd + items[:2], 50, points, [0] * 51), expect=None)
        same(source, (odd + items, 50, points, [0] * 51), (items, 50, points + odd, [0] * 51), expect=None)


def test_the_tuples_are_the_same_objects():
    @ms.jit
    def f(points, out):
        last = None
        for p in points:
            last = p
            out[0] = p
            out.append(p)
        return last, points[0]
    points = [(1, 2.5), (3, 4.5), (5, 6.5)]
    for _ in range(3):
        out = [(0, 0.0)]
        last, first = f(points, out)
        assert last is points[-1] and first is points[0] and out[0] is last
        assert all(a is b for a, b in zip(out[1:], points))
    assert regions(f)


CONSTANT = (7, 8)


@pytest.mark.parametrize("body, result", [
    ("t = (k, 1); u = t", "t, u"),
    ("t = (k, 1)\n    if k % 3 == 0: u = t", "t, u"),
    ("t = (k, 1); u = (k, 1)", "t, u"),
    ("u = t; t = (k, u[0])", "t, u"),
    ("t = (k, (k, k)); u = t[1]; w = t", "t, u, t[1], w"),
    ("t = (1, 2); u = (1, 2)", "t, u"),
    ("t = CONSTANT; u = t", "t, u, CONSTANT"),
    ("m = ((1, 2), (3, 4), (5, 6)); t = m[k % 3]; u = m[2]", "t, u, *((1, 2), (3, 4), (5, 6))"),
    ("for t in ((1, 2), (3, 4)):\n      u = t", "t, u"),
    ("t = plus(t); u = t", "t, u"),
    ("t = (k, k); u = given(t)", "t, u"),
    ("t, u, w = u, w, (k, k)", "t, u, w"),
    ("w = (k, k)\n    if k % 2: t = w\n    elif k % 5 == 0: u = w\n    else: t = u", "t, u, w"),
    ("t = (k, (k, 2)); u, w = t", "t, t[1], w"),
])
def test_names_of_one_tuple_have_one_tuple(body, result):
    source = ("def plus(a):\n  b = (a[0] + 1, a[1])\n  return b\ndef given(a):\n  return a\n"
              f"def f(n):\n  t = u = w = (0, (1, 2))\n  for k in range(n):\n    {body}\n  return {result}")
    space = {"CONSTANT": CONSTANT}
    exec(source, space)
    f = ms.jit(space["f"])
    for n in (0, 1, 2, 7, 60, 60, 61, 5000, 5001):
        want, got = space["f"](n), f(n)
        assert got == want
        assert [[x is y for y in got] for x in got] == [[x is y for y in want] for x in want]
    assert regions(f)


@pytest.mark.parametrize("body", [
    "t = (k, k * k); out.append(t); last = t",
    "out.append(t := (k, k * k)); last = t",
    "t = (k, k * k); out.append(t); out[0] = t; last = out[0]",
    "t = (k, k * k); out.append((t, 1)[0]); last = t",
    "t = (k, k * k)\n        if k % 3 == 0: last = t\n        out.append(t)",
])
def test_a_tuple_in_a_list_is_that_of_the_variable(body):
    space = {}
    exec("def f(n):\n    out = [(0, 0)]\n    last = None\n    for k in range(n):\n"
         f"        {body}\n    return out, last", space)
    f = ms.jit(space["f"])
    for _ in range(3):
        out, last = f(50)
        want, wanted = space["f"](50)
        assert (out, last) == (want, wanted)
        assert [o is last for o in out] == [o is wanted for o in want]


def test_a_stack_of_tuples():
    source = """
def f(h, w, grid):
    seen = [[False] * w for _ in range(h)]
    stack = [(0, 0)]
    seen[0][0] = True
    count = 0
    order = []
    while stack:
        i, j = stack.pop()
        count += 1
        order.append((count, i / 2, (i, j)))
        for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            a, b = i + di, j + dj
            if 0 <= a < h and 0 <= b < w and not seen[a][b] and grid[a][b] == 0:
                seen[a][b] = True
                stack.append((a, b))
    return count, order[-3:], seen
"""
    grid = [[int((i * 7 + j * 13) % 5 == 1) for j in range(30)] for i in range(40)]
    same(source, (40, 30, grid), (1, 1, grid), (3, 30, grid), (41, 30, grid), (40, 31, grid))


def test_many_tuples_die():
    source = """
def f(n):
    stack, s = [], 0
    for k in range(n):
        stack.append((k, k * 0.5))
        if k % 3:
            a, b = stack.pop()
            s += a + b
        stack[-1] = (s, 0.25)
        stack.insert(0, (k, s))
    return s, stack[:5], len(stack)
"""
    same(source, (100,), (1,), (0,))
    same("def f(n):\n    s = 0\n    q = [(0, 1)]\n    for k in range(n):\n        q.append((k, s % 97))\n"
         "        a, b = q.pop()\n        s += a * b\n    return s, q\n", (500_000,), (3,))


USES = """
q.sort()
q.reverse()
q.extend([(7, 8)])
q = q + [(k, k)]
q = q[1:] + q[:1]
q *= 2 if len(q) < 50 else 1
q.clear(); q.append((k, 1))
q = q.copy()
x = min(q)
x = (1, 2) in q
q.append((k, "ab"))
q.append((k, [k]))
q.append((k,))
q.append((k, 1.5))
del q[0]; q.append((3, 4))
q[k % len(q)] = k
q[0] = (1, 10**20)
x = q[0] == q[-1]
x = q[0] + q[1]
q[0] = (q[1], q[2])
x = sum(q[0])
x = max(q[k % 2])
"""


@pytest.mark.parametrize("use", USES.strip().split("\n"))
def test_what_is_done_to_lists_of_tuples(use):
    source = f"""
def f(n, q):
    x = s = 0
    for k in range(n):
        {use}
        for a, b in q[:2]:
            s += a
    return x, s, q
"""
    same(source, (20, [(3, 1), (2, 9), (2, 4)]), (1, [(3, 1), (2, 9), (2, 4)]), (0, []), expect=None)
