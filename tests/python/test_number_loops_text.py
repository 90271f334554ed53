"""Loops over the characters of strings as machine code."""

import pytest
from test_number_loops_items import regions, same

import pijit as ms

NARROW = ["", "a", "kitten", "Sitting 42, x_1!\t\n", "\x00\x7f\x80\xe9\xff\xb5\xb2\xdf", "ABCabc" * 30]
WIDE = ["\u0100", "ab\u20acd", "a\U0001f600b", "Łódź" * 9]
TEXTS = NARROW + WIDE


def test_characters_by_place_and_in_turn():
    source = """
def f(s, n):
    last, count, h = None, 0, 5381
    for ch in s:
        h = (h * 33 + ord(ch)) & 0xffffffff
        last = ch
    for i, ch in enumerate(s):
        if ch == s[-1 - i]:
            count += 1
        if "a" <= ch <= "z" or ch != "x" and ch > s[0]:
            count += i
    for i in range(n):
        count += ord(s[i])
    return h, count, last, ch, len(s)
"""
    same(source, *[(s, n) for s in NARROW for n in (0, 3)])
    same(source, *[(s, n) for s in WIDE for n in (0, 3)], expect=None)
    same(source, *[(s, 2) for s in TEXTS], expect=None)


def test_levenshtein():
    source = """
def f(a, b):
    previous = list(range(len(b) + 1))
    for i, ca in enumerate(a):
        current = [i + 1]
        for j, cb in enumerate(b):
            current.append(min(previous[j + 1] + 1, current[j] + 1, previous[j] + (ca != cb)))
        previous = current
    return previous[-1]
"""
    same(source, *[(a, b) for a in NARROW for b in NARROW])
    same(source, *[(a, b) for a in TEXTS for b in WIDE], expect=None)


def test_what_characters_are():
    source = """
def f(s):
    seen = []
    for c in s:
        k = c.isalpha() + 2 * c.isdigit() + 4 * c.isalnum() + 8 * c.isspace() + 16 * c.isupper()
        seen.append(k + 32 * c.islower() + 64 * c.isdecimal() + 128 * c.isidentifier())
        seen.append(256 * (c in "([{") + 512 * (c not in "_-") + 1024 * (c == "ab") + 2048 * (c == 3) + (not c))
    return seen
"""
    same(source, ("".join(map(chr, range(256))),), *[(s,) for s in TEXTS])


@pytest.mark.parametrize("use", ["c.upper()", "c.lower()", "chr(ord(c) + 1)", "chr(300 - ord(c))", "int(c)", "ord(c)",
                                 "chr(ord(c) - 70)", "c", "min(ord(c), 90)", "c + c", "c * 2", "float(c)"])
def test_what_is_made_of_characters(use):
    source = f"""
def f(s):
    made = []
    for c in s:
        made.append({use})
    return made
"""
    texts = ["abcXYZ", "0123456789", "a1\xb5", "\xdfa", "\xff", "\xb2", "12 ", "FG"]
    same(source, *[(s,) for s in texts], expect=None)


def test_lists_of_characters():
    source = """
def f(s, w, board):
    grid = [["."] * w for _ in range(3)]
    stack, out = [], []
    for i, c in enumerate(s):
        grid[i % 3][i % w] = c
        if c in "([{":
            stack.append(c)
        elif stack and stack[-1] == "(" and c == ")":
            out.append(stack.pop())
        if c in stack:
            out.append(c)
    n = 0
    for row in board:
        for x in row:
            if x == "#":
                n += 1
    for k in range(len(board)):
        board[k][k] = s[k]
    return grid, stack, out, n
"""
    boards = [[list("#.#"), list("..#")], [list("###")], [["#", 1, "ab"]], [["\u20ac"]], [["a", "bc"], ["d", "e"]]]
    same(source, *[(s, 4, b) for s in ["(a(b)c)[d]e", "xyzzy", "(()"] for b in boards])
    same(source, *[(s, 4, b) for s in WIDE for b in boards], expect=None)


def test_errors_are_at_their_lines():
    source = """
def f(s, t, out):
    n = 0
    for i in range(len(s)):
        out[0] = i
        if s[i] == t[i]:
            n += 1
        out[1] = n
    return n
"""
    same(source, ("abc", "abcd", [0, 0]), ("abcde", "abc", [0, 0]), ("abc", "", [0, 0]), ("a", "\u0100", [0, 0]),
         ("abc", b"abc", [0, 0]), ("abc", ["a", "b", "x"], [0, 0]))


def test_one_character_as_an_argument():
    source = """
def f(s, c, d):
    n = 0
    for i in range(len(s)):
        n += s[i] == c
        n += s[i] != d
    return n
"""
    same(source, ("banana", "a", "n"), ("banana", "an", "n"), ("banana", "\u0100", "n"), ("banana", "", ""),
         ("banana", 3, None))


def test_the_same_objects():
    @ms.jit
    def f(s):
        last = ""
        for i in range(len(s)):
            last = s[i]
        return last
    for s in ("abc", "\xe9t\xe9"):
        assert f(s) is s[-1] and f(s) is s[-1]
    assert regions(f)


def test_iterators_that_are_under_way():
    @ms.jit
    def f(s):
        it = iter(s)
        first = next(it)
        n = 0
        for c in it:
            n = n * 3 + (c == first)
        return n, list(it)
    for s in ("abcabca", "\xe9t\xe9"):
        for _ in range(3):
            assert f(s) == f.__wrapped__(s)
