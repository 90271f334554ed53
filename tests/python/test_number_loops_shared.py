"""Items of lists that others hold, too, where the machine code of loops puts numbers in their places."""

import sys

import pytest

import pijit
from tests.python import list_programs
from tests.python.test_number_loops_lists import differ, is_one_run


@pytest.mark.parametrize("part", range(6))
def test_generated_programs(part):
    for seed in range(part * 60, part * 60 + 60):
        different = list_programs.compare(seed)
        assert different is None, "\n".join(map(str, different))


def add_to_all(a, n):
    for k in range(len(a)):
        a[k] += n
    return a


@pytest.mark.parametrize("items", [[1000, 2000, 70000], [1.5, 2.5, -0.0], [2**29, 2**30, 2**31], [250, 256, -7],
                                   [-1000, -5, -2**40], [2**62, 2**61, 1]])
@pytest.mark.parametrize("n", [1, 500, -600, 0, 0.5, 2**29, 2**30])
def test_what_others_hold_stays(items, n):
    """As another list, a tuple and a dict of the same objects."""
    def held(a, n):
        kept, t, d = a[:], (a[0], a[1]), {0: a[2]}
        add = a[0]
        for k in range(len(a)):
            a[k] += n
            a[k] = a[k] + add - add
        return a, kept, t, d, add
    differ(held, lambda: [[type(v)(repr(v)) for v in items], n])
    differ(add_to_all, lambda: [[type(v)(repr(v)) for v in items], n])
    differ(add_to_all, lambda: [[type(items[0])(repr(items[0]))] * 4, n])


def test_small_ints_are_the_ones_there_are():
    def small(a, n):
        for k in range(len(a)):
            a[k] = a[k] - n
            a.append(k - 8) if len(a) < 600 else None
        return a
    jitted = pijit.jit(small)
    for _ in range(3):
        for v in jitted([1000 + k for k in range(300)], 1100):
            assert not -5 <= v <= 256 or v is int(repr(v))


def references():
    return [sys.getrefcount(v) for v in (True, False, 0, 1, 7, 100, 256)]


def test_references_are_counted():
    def change(a, b, c):
        for k in range(len(a)):
            a[k] = k % 9
            b[k] = k % 3 == 0
            b[k] = not b[k]
            c.append(7)
            c.append(k < 5)
            a[k] += 100 - a[k]
        for k in range(len(a)):
            a[k] += 1000
            a[k] -= 1000 + a[k] // 2000
        return len(c)
    jitted = pijit.jit(change)
    args = [list(range(3000)), [True] * 3000, []]
    jitted(*args)
    del args
    before = references()
    for _ in range(5):
        jitted(list(range(3000)), [True] * 3000, [])
    assert max(abs(a - b) for a, b in zip(before, references())) < 200
    lists = [list(range(3000)), [True] * 3000, []]
    others = [list(range(3000)), [True] * 3000, []]
    before = references()
    jitted(*lists)
    between = references()
    change(*others)
    one, other = ([b - a for a, b in zip(*two)] for two in ((before, between), (between, references())))
    assert max(abs(a - b) for a, b in zip(one, other)) < 200, (one, other)


def test_numbers_of_several_digits():
    def total(a):
        s = 0
        for v in a:
            s ^= v
        return s
    edges = [v for e in (0, 1, 29, 30, 31, 59, 60, 61, 62) for v in (2**e - 1, 2**e, 2**e + 1)]
    items = edges + [-v for v in edges] + [2**63 - 1, -2**63 + 1]
    is_one_run(differ(total, lambda: [items]))
    for beyond in (2**63, -2**63, -2**63 - 1, 2**64, 2**90, 2**120):
        differ(total, lambda beyond=beyond: [[*items, beyond, 3]])


def test_appends_of_a_long_loop():
    def grow(n):
        r = []
        for k in range(n):
            r.append(k & 127)
        return r
    differ(grow, lambda: [100_000])


class Dies:
    def __init__(self, of):
        self.of = of

    def __del__(self):
        self.of.append(len(self.of))


@pytest.mark.parametrize("others", [0, 1])
def test_what_dies_where_it_is_overwritten(others):
    def fill(a, at):
        for k in range(len(a)):
            if k >= at:
                a[k] = k
        return a

    def run(f):
        seen = []
        a = [1, 2, 3, 4, 5, 6, Dies(seen), 8]
        kept = [a[6]] * others
        f(a, 2)
        return repr(a), list(seen), len(kept)
    jitted = pijit.jit(fill)
    for _ in range(3):
        assert run(jitted) == run(fill)


def test_what_dies_where_a_dead_list_had_it():
    def fill(a, n):
        c = a[:]
        for k in range(n):
            c = [True] * 4
            a[-1] = k
        return len(c)

    def run(f):
        seen = []
        a = [1, 2, 3]
        a[-1] = list_programs.Dying(seen, a)
        f(a, 3)
        return a, seen
    jitted = pijit.jit(fill)
    for _ in range(4):
        jitted([1, 2, 3], 3)
    for _ in range(3):
        assert run(jitted) == run(fill)
