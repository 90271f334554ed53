"""Lists of numbers, read and written in place by the machine code of loops."""

import sys

import numpy as np
import pytest

import pijit
from tests.python import number_loops


def differ(f, make, calls=3):
    """Runs f plainly and jitted on arguments of their own; results, exceptions with lines, and what became of the
    arguments must be the same. Gives the jitted function."""
    jitted = pijit.jit(f)

    def outcome(fn, args):
        try:
            return "gives", repr(fn(*args)), repr(args)
        except Exception as e:
            return type(e).__name__, str(e), e.__traceback__.tb_next.tb_lineno, repr(args)
    for _ in range(calls):
        assert outcome(jitted, make()) == outcome(f, make())
    return jitted


def is_one_run(jitted, calls=3):
    regions = pijit.explain(jitted).regions
    assert sum(r["runs"] for r in regions) == calls and not any(r["why"] for r in regions), regions


def sieve(n):
    prime = [True] * (n + 1)
    prime[0] = prime[1] = False
    i = 2
    while i * i <= n:
        if prime[i]:
            for k in range(i * i, n + 1, i):
                prime[k] = False
        i += 1
    count = 0
    for p in prime:
        if p:
            count += 1
    return count


def bubble_sort(a):
    n = len(a)
    for i in range(n):
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return a


def longest_common(a, b, table):
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                table[i][j] = table[i - 1][j - 1] + 1
            else:
                table[i][j] = max(table[i - 1][j], table[i][j - 1])
    return table[-1][-1]


def running_mean(x, width):
    out = []
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        if i >= width:
            s -= x[i - width]
        out.append(s / min(i + 1, width))
    return out


def total(rows):
    s = 0
    for row in rows:
        for v in row:
            s += v
    return s


def collatz_lengths(n):
    lengths = [0] * n
    lengths[1] = 1
    for start in range(2, n):
        k, steps = start, 0
        while k >= start:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            steps += 1
        lengths[start] = steps + lengths[k]
    return max(lengths), lengths


RNG = np.random.RandomState(4)
NUMBERS = RNG.randint(-1000, 1000, 40).tolist()
PROGRAMS = {
    "sieve": (sieve, lambda: [300]),
    "bubble_sort ints": (bubble_sort, lambda: [list(NUMBERS)]),
    "bubble_sort floats": (bubble_sort, lambda: [[n / 7 for n in NUMBERS]]),
    "bubble_sort large": (bubble_sort, lambda: [[n * 2 ** 50 for n in NUMBERS]]),
    "longest_common": (longest_common, lambda: [NUMBERS[:20], NUMBERS[5:30], [[0] * 26 for _ in range(21)]]),
    "running_mean": (running_mean, lambda: [[n / 3 for n in NUMBERS], 5]),
    "total": (total, lambda: [[list(range(k, k + 9)) for k in range(12)]]),
    "collatz_lengths": (collatz_lengths, lambda: [200]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    f, make = PROGRAMS[name]
    jitted = differ(f, make)
    regions = pijit.explain(jitted).regions
    assert regions and not any(r["why"] for r in regions), regions
    assert sum(r["runs"] for r in regions) <= 6  # a loop or two in each call


def get(a, i):
    r = None
    for k in range(3):
        r = a[i + k]
    return r


@pytest.mark.parametrize("i", [0, 1, -1, -3, -4, 2, 5, -9, True, 2 ** 70])
def test_an_index(i):
    for a in ([1, 2, 3], [1.5, 2.5, 3.5], [True, False, True], [2 ** 62, -2 ** 62, 7], [2 ** 63, 1, 2],
              [0, 0, 2 ** 64], []):
        differ(get, lambda: [list(a), i])


@pytest.mark.parametrize("items", [[1, 2.0, 3], [1.0, 2, 3.0], [True, 2, 3], [1, True, None], [1, "two", 3],
                                   [None, 1, 2], [1, [2], 3], [[1], 2, [3]], [[1, 2, 3], [1.0, 2.0, 3.0]],
                                   [np.float64(1), 2.0, 3.0], [np.int64(1)] * 3])
def test_items_of_several_types(items):
    def each(a):
        r = []
        for v in a:
            if type(v) is list:
                for w in v:
                    r.append(w)
            else:
                r.append(v)
        return r

    def kept(a):
        last = None
        for v in a:
            last = v
        return last
    differ(get, lambda: [list(items), 0])
    differ(each, lambda: [list(items)])
    differ(kept, lambda: [list(items)])


@pytest.mark.parametrize("value", [1, 2.5, True, 2 ** 62, 2 ** 64, None, "s", np.float64(2), np.int64(3),
                                   np.float32(0.1)])
@pytest.mark.parametrize("items", [[0, 0, 0, 0], [0.0] * 4, [False] * 4, [None] * 4, ["s"] * 4, [[1]] * 4])
def test_stores(items, value):
    def fill(a, v):
        for i in range(len(a)):
            a[i] = v
            a[-1] = v
        return a

    def push(a, v):
        for i in range(5):
            a.append(v)
        return len(a)
    differ(fill, lambda: [list(items), value])
    differ(push, lambda: [list(items), value])


def test_what_was_stored_before_an_exception_stays():
    def f(a, n):
        for i in range(n):
            a[i] = i * 2
            a.append(i)
        return a

    def g(a, b):
        for i in range(len(a)):
            a[i] = 100 // b[i]
        return a
    differ(f, lambda: [[0] * 4, 50])
    differ(f, lambda: [[0] * 4, -1])
    differ(g, lambda: [[1] * 5, [1, 2, 3, 0, 5]])
    differ(g, lambda: [[1] * 5, [1, 2]])


def test_a_list_grows_while_it_is_gone_through():
    def f(a, n):
        s = 0
        for v in a:
            s += v
            if len(a) < n:
                a.append(v + 1)
        return s, a
    differ(f, lambda: [[1, 2, 3], 50])


def test_one_list_by_two_names_and_rows_that_are_one():
    def f(a, b):
        for i in range(len(a)):
            a[i] = b[len(b) - 1 - i] + 1
        return a, b, a is b

    def g(rows):
        for i in range(len(rows)):
            for j in range(len(rows[i])):
                rows[i][j] = rows[i][j] * 2 + i
        return rows

    def both():
        a = [1, 2, 3, 4]
        return [a, a]
    differ(f, both)
    differ(f, lambda: [[1, 2, 3], [4, 5, 6]])
    differ(g, lambda: [[[1, 2, 3]] * 3])
    differ(g, lambda: [[[1, 2, 3], [4], []]])
    differ(g, lambda: [[[], [4], [1]]])


def test_what_an_item_was_dies_at_its_line():
    """An object with __del__ is replaced: CPython does that."""
    died = []

    class Dies:
        def __del__(self):
            died.append(len(died))

    def f(a):
        seen = []
        for i in range(len(a)):
            a[i] = i
            seen.append(len(died))
        return seen
    jitted = pijit.jit(f)
    for g in (f, jitted, jitted):
        died.clear()
        assert g([1, 2, Dies(), 4, Dies(), 6]) == [0, 0, 1, 1, 2, 2]


def test_no_reference_is_lost_or_kept():
    def f(a, b, out):
        for i in range(len(a)):
            for k in range(3):
                v = a[i]
                out[i] = v + b[k] * 1.5
                out.append(v * 2.5)
        return v
    big, small = [10.0 ** k for k in range(200)], [1000001, 1000002, 1000003]
    jitted = pijit.jit(f)
    jitted(big, small, [0.0] * 200)
    objects = [*big, *small]
    before = [sys.getrefcount(o) for o in objects]
    for _ in range(20):
        jitted(big, small, [0.0] * 200)
    assert [sys.getrefcount(o) for o in objects] == before


def test_subclasses_and_lists_of_others_are_cpythons():
    class Odd(list):
        def __getitem__(self, i):
            return 7

        def append(self, v):
            list.append(self, -v)

    def f(a):
        s = 0
        for i in range(3):
            s += a[i]
            a.append(s)
        for v in a:
            s += v
        return s, list(a)
    differ(f, lambda: [Odd([1, 2, 3])])
    differ(f, lambda: [[1, 2, 3]])
    differ(f, lambda: [(1, 2, 3)])


def test_rows_are_the_lists_themselves():
    def f(rows, n):
        row = None
        for i in range(n):
            row = rows[i]
            for j in range(len(row)):
                row[j] = row[j] + i
        return row
    rows = [[1, 2], [3, 4], [5, 6]]
    jitted = pijit.jit(f)
    assert jitted(rows, 3) is rows[2] and jitted(rows, 2) is rows[1]
    assert rows == [[1, 2], [3 + 2, 4 + 2], [5 + 2, 6 + 2]]
    differ(f, lambda: [[[1, 2], [3, 4]], 3])


def weighted(a, b):
    s, last = 0, None
    for i, v in enumerate(a):
        for w, (k, u) in zip(b, enumerate(a, 3)):
            s += v * w + i * k - u
            last = k
    return s, last, i


def dots(rows, x):
    out = []
    for row in rows:
        s = 0.0
        for a, b in zip(row, x):
            s += a * b
        out.append(s)
    return out


@pytest.mark.parametrize("a", [[1, 2, 3], [1.5, 2.5], [], [1, 2.5, 3], [True, False], [1, None], np.arange(3.0),
                               np.array([1, 2, 300], np.int16)])
@pytest.mark.parametrize("b", [[4, 5, 6, 7], [0.5], [], [2, "x"], range(3), range(9, 0, -4)])
def test_enumerate_and_zip(a, b):
    differ(weighted, lambda: [a, b])


def test_zip_of_rows_is_one_run():
    jitted = differ(dots, lambda: [[[1.0, 2.0, 3.0]] * 4, [0.5, 0.25, 4.0]])
    is_one_run(jitted)


def test_an_exit_within_enumerate_and_zip():
    """CPython goes on with an iterator that stands where the loop stood."""
    def f(a, b, seen):
        n = 0
        for i, (v, w) in enumerate(zip(a, b), 10):
            n += v * w
            if n > 50:
                seen[i] = n  # a dict: CPython does it
                n = 0
        return n, seen

    def g(a, start):
        n = 0
        for i, v in enumerate(a, start):
            n = i + v
        return n
    differ(f, lambda: [list(range(20)), range(3, 30), {}])
    differ(f, lambda: [[k * 1.5 for k in range(20)], [2] * 12, {}])
    for start in (0, -5, True, 2 ** 63 - 2, 2 ** 64, 1.5, None):
        differ(g, lambda: [[1, 2, 3, 4], start])


def test_steps_that_vary():
    def f(n, steps):
        seen = []
        for step in steps:
            for k in range(0, n, step):
                seen.append(k)
            for k in range(n, -n, -step):
                seen.append(k)
        return seen
    differ(f, lambda: [20, [1, 2, 3, 7, 100]])
    differ(f, lambda: [20, [3, -2, 5]])
    differ(f, lambda: [20, [3, 0, 5]])
    differ(f, lambda: [2 ** 62, [2 ** 61, 2 ** 62]])
    differ(f, lambda: [2 ** 63 - 1, [2 ** 62]])


def test_random_numbers_are_those_of_the_generator():
    import random

    def pi(n):
        inside = 0
        for _ in range(n):
            x, y = random.random(), random.random()
            if x * x + y * y < 1.0:
                inside += 1
        return 4 * inside / n

    def walk(draw, n):
        at, most = 0, 0
        for _ in range(n):
            at += 1 if draw() < 0.5 else -1
            most = max(most, at)
        return at, most

    own = random.Random(3)
    for f, args in ((pi, (3000,)), (walk, (own.random, 500))):
        jitted = pijit.jit(f)
        for _ in range(3):
            random.seed(5)
            own.seed(6)
            expected = f(*args), random.getstate(), own.getstate()
            random.seed(5)
            own.seed(6)
            assert (jitted(*args), random.getstate(), own.getstate()) == expected
        is_one_run(jitted)


@pytest.mark.parametrize("functions", [False, True])
@pytest.mark.parametrize("part", range(3))
def test_programs_of_lists_at_random(part, functions):
    for seed in range(part * 200, part * 200 + 200):
        different = number_loops.compare(seed, lists=True, functions=functions)
        assert different is None, "\n".join(map(str, different))


def test_a_list_that_a_finalizer_empties():
    """Making the variables at the end of the loop starts a collection, in which the outer list lets go of a row."""
    import gc
    rows, kept = [], []

    class Empties:
        def __del__(self):
            rows.clear()
            kept.extend([9.0] * 3 for _ in range(200))

    @pijit.jit
    def f(m, n):
        row, t = m[0], (0, 0.0)
        for i in range(n):
            row = m[i % 3]
            t = (i, row[0])
        return t, row
    was = gc.get_threshold()
    try:
        for threshold in range(1, 9):
            gc.disable()
            rows[:] = [[1.0, 2.0], [3.0], [4.0]]
            f(rows, 300)
            gc.collect()
            gc.enable()
            gc.set_threshold(100000)
            garbage = Empties()
            garbage.itself = garbage
            del garbage
            gc.set_threshold(threshold)
            try:
                t, row = f(rows, 300)
            except IndexError:  # emptied before it began
                continue
            finally:
                gc.disable()
            assert row == [4.0] and t == (299, 4.0) and not any(row is k for k in kept)
    finally:
        gc.set_threshold(*was)
        gc.enable()


def test_sums_beyond_64_bits_beside_the_steps_of_a_range():
    def f(a, b, step):
        last, seen = 0, []
        for i in range(a, b, 5):
            last = i + 5
        for i in range(a, b, step):
            seen.append(i + step)
        for k, i in enumerate(range(b, a, -5)):
            last = max(last, i - 5)
        return last, seen[-1:], i - 5
    differ(f, lambda: [2 ** 63 - 5010, 2 ** 63 - 1, 7])
    differ(f, lambda: [-2 ** 63 + 3, -2 ** 63 + 4000, 9])
