"""Generated nests of loops whose turns threads can share, or nearly: rows that are stored, sums of integers, values
that outlive the loops, tests that keep turns from a store, views that share memory, exceptions in the midst."""

import random

import numpy as np


class ParallelLoop:
    """Text of a function f(a, b, m, w, p, q, g, n), and its arguments: two vectors and two matrices of floats, two
    vectors and a matrix of integers, and how many turns."""

    def __init__(self, seed):
        self.r = r = random.Random(seed)
        self.apart = r.random() < 0.7  # turns store in rows of their own, and hand on sums of integers alone
        self.lines = ["def f(a, b, m, w, p, q, g, n):",
                      "    s, t, u, k, x, c, j, found = 0.0, 0.5, 0, 3, 1.0, 1, -1, False"]
        first = r.choice(("0", "0", "1", "2"))
        last = r.choice(("n", "n", "n - 1", "len(a)", "m.shape[0]", "m.shape[0] - 1", "n + 1", "len(p)"))
        indent = "    "
        if r.random() < 0.2:
            self.add(indent, f"for turn in range({r.choice(('2', '3', 'c + 2'))}):")
            indent += "    "
        self.add(indent, f"for i in range({first}, {last}):")
        for _ in range(r.randint(1, 3)):
            self.statement(indent + "    ", 0)
        if r.random() < 0.3:
            self.add(indent, r.choice(("u += k", "t = x", "s = t + i", "b[0] = s")))
        self.add("    ", "return s, t, u, k, x, c, i, j, found")
        self.text = "\n".join([*self.lines, ""])

    def add(self, indent, line):
        self.lines.append(indent + line)

    def place(self, deep):
        """Of an element: of the turn's row mostly."""
        r = self.r
        if self.apart and r.random() < 0.9:
            return r.choice(("m[i, j]", "m[i, j]", "w[i, j]", "m[i, j + 1]", "w[i, j - 1]") if deep else
                            ("a[i]", "b[i]", "m[i, 0]", "w[i, 1]", "m[i, -1]"))
        if deep == 0:
            return r.choice(("a[i]", "b[i]", "a[i - 1]", "b[i + 1]", "m[i, 0]", "m[i, -1]", "w[i, 1]", "w[i, c]",
                             "m[0, 0]", "a[i % 5]", "b[p[i]]", "b[-i - 1]", "m[i % 3, 0]"))
        return r.choice(("m[i, j]", "m[i, j]", "m[i, j]", "w[i, j]", "w[j, i]", "m[i - 1, j]", "m[i, j + 1]", "a[j]",
                         "m[(i + 1) % 4, j]", "w[i, j - 1]", "m[i][j]", "w[i, q[j]]", "b[i]"))

    def number(self, deep, more=2):
        r = self.r
        if more == 0 or r.random() < 0.2:
            return r.choice((self.place(deep), self.place(deep), "0.25", "2", "x", "i", "t", "float(p[i])"))
        a, b = self.number(deep, more - 1), self.number(deep, more - 1)
        return r.choice((f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} / ({b} + 3.5))", f"abs({a})",
                         f"min({a}, {b})", f"({a} if {a} > {b} else {b})", f"math.sqrt(abs({a}))", f"math.sin({a})",
                         f"({a} / {b})"))

    def integer(self, deep, more=1):
        r = self.r
        if more == 0 or r.random() < 0.3:
            return r.choice(("p[i]", "q[i]", "i", "3", "c", "g[i, 1]", *(("g[i, j]", "j", "p[j]") if deep else ())))
        a, b = self.integer(deep, more - 1), self.integer(deep, more - 1)
        return r.choice((f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} % 7)", f"({a} // 3)", f"({a} & {b})"))

    def inner(self, indent, deep):
        r = self.r
        turns = r.choice(("range(m.shape[1])", "range(m.shape[1])", "range(w.shape[1] - 1)", "range(1, m.shape[1] - 1)",
                          "range(i)", "range(i, m.shape[1])", "range(3)", "range(0)", "range(m.shape[1] - 1, -1, -1)",
                          "range(0, m.shape[1], 2)", "range(p[i] % 5)", "range(m.shape[1] + 1)"))
        self.add(indent, f"for j in {turns}:")
        for _ in range(r.randint(1, 3)):
            self.statement(indent + "    ", deep + 1)
        if r.random() < 0.15:
            self.add(indent + "    ", f"if {self.number(deep + 1, 1)} > 3.0: {r.choice(('break', 'continue'))}")

    def statement(self, indent, deep):
        r = self.r
        kind = r.randint(0, 15)
        if kind <= 4 and deep < 2:
            if r.random() < 0.5 or self.apart:
                self.add(indent, r.choice(("x = 0.0", "x = 1.0", "x = 0.0", "x = float(i)")))
            self.inner(indent, deep)
            return
        if kind == 5:
            self.add(indent, f"k = {self.integer(deep)}")
            self.add(indent, "while k > 2:")
            self.add(indent + "    ", r.choice(("k = k // 2", "k -= 3", "k = k // 2; u += 1")))
            return
        if kind == 6:
            test = r.choice(("i < len(b)", "i + 1 < len(a)", "len(b) > i", "not i >= len(b)", "c > 0", "len(a) > 3",
                             "i != 4", "i % 2 == 0", "p[i] > 50", "found",
                             *(("j < i", "j != i", "j < w.shape[1]") if deep else ())))
            self.add(indent, f"if {test}:")
            self.statement(indent + "    ", deep)
            if r.random() < 0.3:
                self.add(indent, "else:")
                self.add(indent + "    ", f"x = {self.number(deep, 1)}")
            return
        self.add(indent, self.simple(deep, kind))

    def simple(self, deep, kind):
        r = self.r
        if self.apart and (kind == 15 or (kind in (11, 13, 14) and not deep and r.random() < 0.8)):
            kind = 10
        if kind <= 9:
            return f"{self.place(deep)} = {self.number(deep)}"
        if kind == 10:
            return f"u {r.choice(('+', '+', '-'))}= {self.integer(deep)}"
        if kind == 11:
            return f"x {r.choice(('', '+', '*'))}= {self.number(deep, 1)}"
        if kind == 12:
            return f"{self.place(deep)} {r.choice('+-*')}= {self.number(deep, 1)}"
        if kind == 13:
            return r.choice((f"t = {self.number(deep)}", f"k = {self.integer(deep)}", f"g[i, 0] = {self.integer(deep)}",
                             "found = x > 0.5", "found = not found"))
        if kind == 14:
            return r.choice((f"if {self.number(deep, 1)} < 0.0: u += 1", f"if {self.number(deep, 1)} > 0.5: t = x",
                             "if p[i] > 90: c = 2", f"if u > 10**17: u = {self.integer(deep)}", "u += p[i] * 10**15"))
        return r.choice((f"s += {self.number(deep, 1)}", "if i > 40 and p[i] == 7: break", "if p[i] == 13: continue",
                         "if p[i] == 99: raise KeyError(i)" if not deep else "u += j"))

    def arguments(self, seed):
        r, g = random.Random(seed), np.random.default_rng(seed)
        n, width = r.choice((1, 3, 4, 5, 9, 24, 60, 90)), r.choice((1, 2, 3, 9, 33, 80))
        dtype = r.choice((np.float64, np.float64, np.float64, np.float32))
        room = (g.random(4 * (n + 3) * (width + 4)) * 4 - 2).astype(dtype)
        size = n * width
        m, w = room[:size].reshape(n, width), room[size:2 * size].reshape(n, width)
        a, b = room[2 * size:][:n], room[2 * size + n + 1:][:n]
        kind = r.randint(0, 10)
        if kind == 1:
            w = room[r.choice((1, width, width * (n // 2))):][:size].reshape(n, width)
        if kind == 2:
            m = room[:2 * size].reshape(n, 2 * width)[:, ::2]
        if kind == 3:
            m = m[::-1]
        if kind == 4:
            m, w = room[:size].reshape(width, n).T, room[size:2 * size].reshape(width, n).T
        if kind == 5:
            a = m[:, 0]
        if kind == 6:
            a, b = b, a[::-1]
        if kind == 7:
            b = b[:n // 2]
        if kind == 8:
            w = w[:, :width - 1]
        if kind == 9:
            m = np.broadcast_to(a, (n, n)) if r.random() < 0.3 else m[:, ::-1]
        p = g.integers(0, 100, n + 2).astype(r.choice((np.int64, np.int32, np.uint8)))
        q = g.integers(0, width, max(n, width)).astype(r.choice((np.int64, np.int16)))
        whole = g.integers(-5, 100, (n, width + 2)).astype(r.choice((np.int64, np.int32)))
        for x in (a, b, m):
            if r.random() < 0.1 and x.size and x.flags.writeable:
                x[(0,) * x.ndim] = r.choice((np.nan, np.inf, 1e308 if dtype is np.float64 else 3e38, 0.0))
        return [a, b, m, w, p, q, whole, n - r.choice((0, 0, 0, 1))], room
