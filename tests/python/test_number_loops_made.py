"""Lists that the machine code of loops makes: what they hold, who else sees them, and where they are left."""

import gc
import math
import sys
import tracemalloc

import pytest

import pijit
from tests.python import number_loops
from tests.python.test_number_loops_lists import differ


def edit_distance(a, b):
    before = list(range(len(b) + 1))
    for i, x in enumerate(a):
        now = [i + 1]
        for j, y in enumerate(b):
            now.append(min(before[j + 1] + 1, now[j] + 1, before[j] + (x != y)))
        before = now
    return before[-1], before


def knapsack(weights, values, room):
    best = [0] * (room + 1)
    for w, v in zip(weights, values):
        for k in range(room, w - 1, -1):
            if best[k - w] + v > best[k]:
                best[k] = best[k - w] + v
    return best[room], best


def product(a, b, n):
    c = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(n):
                s += a[i][k] * b[k][j]
            c[i][j] = s
    return c


def pascal(n):
    rows = [[1]]
    for _ in range(n):
        last, row = rows[-1], [1]
        for k in range(len(last) - 1):
            row.append(last[k] + last[k + 1])
        row.append(1)
        rows.append(row)
    return rows


def primes(n):
    found = []
    for k in range(2, n):
        prime = True
        for p in found:
            if p * p > k:
                break
            if k % p == 0:
                prime = False
                break
        if prime:
            found.append(k)
    return found, sum(found), max(found), len(found)


def depths(n):
    """A stack in a list."""
    stack, seen, deep = [1], [], 0
    while stack:
        k = stack.pop()
        deep = max(deep, len(stack))
        if k > n:
            continue
        seen.append(k)
        stack.append(2 * k)
        stack.append(2 * k + 1)
    return seen, deep


def squares(n):
    s = 0
    for k in range(n):
        a = [i * k for i in range(k) if i % 2]
        b = [x + 1 for x in a]
        s += sum(a) + len(b)
    return s, a, b


def windows(x, width):
    out = []
    for i in range(len(x) - width + 1):
        out.append(sum(x[i:i + width]) / width)
    return out, x[::-1], x[:2], x[-2:], x[1:-1:2]


def merge_sort(a):
    width = 1
    while width < len(a):
        out = []
        for start in range(0, len(a), 2 * width):
            left, right = a[start:start + width], a[start + width:start + 2 * width]
            i = j = 0
            while i < len(left) and j < len(right):
                if left[i] <= right[j]:
                    out.append(left[i])
                    i += 1
                else:
                    out.append(right[j])
                    j += 1
            out += left[i:] + right[j:]
        a = out
        width *= 2
    return a


def queue(n):
    waiting, order = list(range(n)), []
    while waiting:
        for _ in range(2):
            if len(waiting) > 1:
                waiting.append(waiting.pop(0))
        order.append(waiting.pop(0))
    return order


def life(grid, turns):
    h, w = len(grid), len(grid[0])
    for _ in range(turns):
        new = [[0] * w for _ in range(h)]
        for i in range(h):
            for j in range(w):
                n = 0
                for di in (-1, 0, 1):
                    n += 0 if di == 5 else 0
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        n += grid[(i + di) % h][(j + dj) % w]
                n -= grid[i][j]
                new[i][j] = 1 if n == 3 or (n == 2 and grid[i][j]) else 0
        grid = new
    return grid


X = [((k * 7919) % 1000) / 8 - 40 for k in range(60)]
PROGRAMS = {
    "edit_distance": (edit_distance, lambda: [[k * 7 % 5 for k in range(30)], [k * 3 % 5 for k in range(26)]]),
    "knapsack": (knapsack, lambda: [[3, 4, 5, 9, 14] * 4, [3, 4, 4, 10, 15] * 4, 90]),
    "product": (product, lambda: [[X[k:k + 6] for k in range(6)], [X[k + 9:k + 15] for k in range(6)], 6]),
    "pascal": (pascal, lambda: [30]),
    "primes": (primes, lambda: [300]),
    "depths": (depths, lambda: [200]),
    "squares": (squares, lambda: [30]),
    "windows": (windows, lambda: [list(X), 7]),
    "merge_sort": (merge_sort, lambda: [list(X)]),
    "queue": (queue, lambda: [40]),
    "life": (life, lambda: [[[(i * 7 + j * 3) % 4 == 0 and 1 or 0 for j in range(9)] for i in range(8)], 5]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    f, make = PROGRAMS[name]
    jitted = differ(f, make)
    regions = pijit.explain(jitted).regions
    assert regions and sum(r["runs"] for r in regions), pijit.explain(jitted)


@pytest.mark.parametrize("part", range(4))
def test_programs_that_make_lists_at_random(part):
    for seed in [1013, *range(part * 150, part * 150 + 150)]:
        different = number_loops.compare(seed, made=True)
        assert different is None, "\n".join(map(str, different))


def test_one_list_by_several_names():
    def f(n):
        a = [0] * n
        b = a
        rows = [a, b, [1]]
        for i in range(n):
            a[i] += i
            b[i] += rows[0][i]
            rows[1].append(i)
        c = a[:]
        c[0] = 99
        return a, b, c, rows
    jitted = differ(f, lambda: [5])
    a, b, c, rows = jitted(5)
    assert a is b and rows[0] is a and rows[1] is b and c is not a
    same = pijit.jit(lambda n: [[0.0] * n] * 3)(4)
    assert same[0] is same[2]


# From 3.12 on, comprehensions are part of their function, whose variables of the same names they put aside.
def shares_its_name(n):
    i, s = 7, 0
    for k in range(n):
        a = [i * k for i in range(k)]
        s += sum(a) + i
    return s, i, a


def one_name_for_two(n):
    s = 0.0
    for k in range(n):
        a = [x * k for x in range(5)]
        b = [x * 0.5 for x in a]
        c = [x for x in b if x > 1]
        s += sum(b) + len(c)
    return s, a, b, c


def nested(n):
    s = 0
    for k in range(n):
        rows = [[i * j + k for j in range(4)] for i in range(3)]
        s += sum([sum(row) for row in rows])
    return s, rows


def of_pairs(n):
    xs, s = [k * 0.25 for k in range(n)], 0.0
    for k in range(n):
        a = [i * x for i, x in enumerate(xs) if i != k]
        b = [x * y - k for x, y in zip(xs, a)]
        s += sum(a) - sum(b)
    return s, a, b


def in_while(n):
    a, turns = [1], 0
    while len(a) < n:
        a = [y + t for y in a for t in range(2)]
        turns += 1
    return a, turns


def first_bound_by_one(n):
    out = []
    for k in range(n):
        if k % 2:
            out.append(sum([i * i for i in range(k)]))
        else:
            for i in range(3):
                out.append(i - k)
    return out, i


def many(n):
    s = 0
    for k in range(n):
        a = [i + 1 for i in range(k)]
        b = [j * 2 for j in a]
        c = [m - 3 for m in b]
        d = [p * p for p in c if p]
        s += sum(a) + sum(b) + sum(c) + sum(d)
    return s, a, b, c, d


COMPREHENSIONS = {f.__name__: f for f in (shares_its_name, one_name_for_two, nested, of_pairs, in_while,
                                          first_bound_by_one, many)}


@pytest.mark.parametrize("name", COMPREHENSIONS)
def test_comprehensions_in_loops(name):
    jitted = differ(COMPREHENSIONS[name], lambda: [20])
    assert any(r["runs"] for r in pijit.explain(jitted).regions), pijit.explain(jitted)


def test_a_comprehension_that_raises_gives_the_variable_back():
    def inside(n, at):
        i, seen = "kept", []
        for k in range(n):
            try:
                a = [10 // (at - i - k) for i in range(5)]
            except ZeroDivisionError:
                seen.append(i)
                continue
            seen.append(sum(a))
        return i, seen

    def unbound(n, at):
        for k in range(n):
            a = [10 // (at - i - k) for i in range(5)]
        return a

    def afterwards(n, at):
        for k in range(n):
            try:
                a = [10 // (at - i - k) for i in range(5)]
            except ZeroDivisionError:
                return i  # noqa: F821
        return a

    def in_one(n, at):
        s = 0
        for k in range(n):
            s += sum([sum([10 // (at - i - j - k) for i in range(3)]) for j in range(3)])
        return s
    for f in (inside, unbound, afterwards, in_one):
        for at in (100, 12, 3):
            differ(f, lambda: [12, at])


def test_each_turn_makes_another_list():
    def f(n):
        rows = []
        for i in range(n):
            row = []
            for j in range(i):
                row.append(i * j)
            rows.append(row)
            rows.append(row)
        return rows
    jitted = differ(f, lambda: [9])
    rows = jitted(9)
    assert len({id(row) for row in rows}) == 9 and rows[4] is rows[5]


def test_an_exit_leaves_the_lists_that_there_are():
    """A big int, a wrong index, a division by 0 and an object that is no number in the middle of loops."""
    def big(n):
        a = [1]
        for _ in range(n):
            a.append(a[-1] * 3)
        return a

    def fails(n, k):
        a, b = [0] * n, []
        try:
            for i in range(n + 3):
                b.append(i)
                a[i] = 10 // (k - i)
        except (IndexError, ZeroDivisionError) as e:
            return a, b, str(e), i
        return a, b

    def mixed(x):
        a = []
        for v in x:
            a.append(v)
            a.append(len(a))
        return a

    def inner(n):
        total = []
        for i in range(n):
            total.append(sum([i ** 9 * j for j in range(9)]))
        return total
    differ(big, lambda: [60])
    for k in (100, 3, 0):
        differ(fails, lambda: [5, k])
    differ(mixed, lambda: [[1, 2, "x", None, 2.5, [1], 2 ** 70]])
    differ(inner, lambda: [300])


def test_errors_tell_their_lines():
    def no_memory(n):
        a = [0]
        for i in range(3):
            a = [i] * (n ** i)
        return a

    def pops(n):
        a = [1, 2]
        for _ in range(n):
            a.pop()
        return a

    def empty(n):
        s = 0
        for i in range(n):
            a = [0] * (2 - i)
            s += max(a)
        return s

    def step(n):
        a = [1, 2, 3]
        for i in range(n, -2, -1):
            a = a[::i]
        return a

    def deletes(n):
        a = list(range(n))
        for i in range(n):
            del a[i]
        return a
    differ(no_memory, lambda: [2 ** 40])
    differ(pops, lambda: [5])
    differ(empty, lambda: [5])
    differ(step, lambda: [2])
    differ(deletes, lambda: [7])


def test_what_dies_is_seen_where_it_dies():
    """A list in a list is replaced, popped and deleted, which holds an object with __del__."""
    died = []

    class Dies:
        def __del__(self):
            died.append(len(died))

    def replaced(a):
        seen = []
        for i in range(len(a)):
            a[i] = [i]
            seen.append(len(died))
        return seen

    def taken(a):
        seen = []
        while a:
            a.pop()
            seen.append(len(died))
        return seen

    def deleted(a):
        seen = []
        while a:
            del a[0]
            seen.append(len(died))
        return seen

    def cleared(a):
        seen = []
        for row in a:
            row.clear()
            seen.append(len(died))
        return seen
    for f in (replaced, taken, deleted, cleared):
        jitted = pijit.jit(f)
        for _ in range(3):
            died.clear()
            expected = f([[1], [Dies()], [2], [3, Dies()], [4]])
            died.clear()
            assert jitted([[1], [Dies()], [2], [3, Dies()], [4]]) == expected


def test_no_reference_of_a_list_is_lost_or_kept():
    def f(rows, x, n):
        kept = []
        for i in range(n):
            row = rows[i % 3]
            kept.append(row)
            kept.append(row + x)
            rows[2] = x[:]
            y = rows[2]
            rows.append(y)
            rows.pop()
        return kept, y
    x = [10 ** 6 + k for k in range(5)]
    rows = [[1], [2.5], [3]]
    jitted = pijit.jit(f)
    jitted(rows, x, 8)
    rows[2] = [3]
    objects = [*x, x, rows[0], rows[1]]
    before = [sys.getrefcount(o) for o in objects]
    for _ in range(10):
        result = jitted(rows, x, 8)
        rows[2] = [3]
        del result
    assert [sys.getrefcount(o) for o in objects] == before


def test_memory_of_dead_lists_is_given_back():
    def f(n, width):
        row = [0] * width
        for i in range(n):
            new = [0] * width
            for k in range(0, width, 50):
                new[k] = row[k] + i
            row = new
        return row[0]
    jitted = pijit.jit(f)
    assert jitted(5, 100) == f(5, 100)
    tracemalloc.start()
    try:
        assert jitted(2000, 5000) == sum(range(2000))  # 80 MB in all
        peak = tracemalloc.get_traced_memory()[1]
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(5):
            jitted(300, 500)
        gc.collect()
        assert peak < 40e6 and tracemalloc.get_traced_memory()[0] < before + 100_000
    finally:
        tracemalloc.stop()


def test_comprehensions():
    def f(n, w):
        k = 3
        a = [[i * j + k for j in range(w)] for i in range(n)]
        b = [x for row in a for x in row if x % 2]
        s = 0
        for row in a:
            s += sum([x + k for x in row])
        return a, b, s

    def shadowed(n):
        i, out = 7, []
        for j in range(n):
            out.append([i for i in range(j)])
            out.append([j for _ in range(2)])
        return i, out

    def of_a_function(n):
        return [math.sqrt(k) for k in range(n)], [abs(k - 3) for k in range(n)]
    differ(f, lambda: [5, 4])
    differ(shadowed, lambda: [5])
    differ(of_a_function, lambda: [9])
    differ(f, lambda: [5, -1])


@pytest.mark.parametrize("value", [math.nan, 1, 1.0, True, 2 ** 70, None, "a"])
def test_in(value):
    def f(x, a, n):
        found = 0
        for i in range(n):
            if x in a:
                found += 1
            if i in (1, 2, 5) and i not in a:
                found += 10
        return found
    for a in ([1, 2, 3], [value], [], [1.0, math.nan], [True], ["a", None]):
        differ(f, lambda: [value, a, 6])


def test_sorts_and_other_methods():
    def f(x):
        for i in range(3):
            a = x + [i]
            a.sort()
            a.reverse()
            a.insert(1, i)
            a.insert(-100, i)
            a.extend(a)
            a *= 2
            b = a.copy()
            b.clear()
        return a, b, any(a), all(a), min(a), max(a), sum(a)
    for x in ([3, 1, 2], [2.5, -0.0, 0.0], [True, False], [1, 2.5], ["b", "a"], [2 ** 70, 1], [math.nan, 1.0, -1.0]):
        differ(f, lambda: [list(x)])
