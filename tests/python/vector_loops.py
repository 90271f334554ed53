"""Generated loops over elements whose turns can be computed by vectors, or nearly: views that share memory, sums,
values that outlive the loop, tests that fail in the midst."""

import random

import numpy as np


class VectorLoop:
    """Text of a function f(a, b, c, p, q, m, n), and its arguments: three vectors of floats, two of integers, a matrix,
    and how many turns."""

    def __init__(self, seed):
        self.r = r = random.Random(seed)
        self.matrix = r.random() < 0.3
        lines = ["def f(a, b, c, p, q, m, n):", "    s, t, u, k = 0.0, 0.5, 0, 3"]
        first = r.choice(("0", "1", "2", "n // 3"))
        last = r.choice(("n", "n - 1", "n - 2", "len(a)", "a.shape[0] - 1", "n + 1"))
        indent = "    "
        if self.matrix:
            lines.append("    for j in range(1, m.shape[0] - 1):")
            indent += "    "
            last = r.choice(("m.shape[1]", "m.shape[1] - 1", "n"))
        lines.append(f"{indent}for i in range({first}, {last}):")
        for _ in range(r.randint(1, 4)):
            lines.append(f"{indent}    {self.statement()}")
        lines.append("    return s, t, u, k")
        self.text = "\n".join([*lines, ""])

    def index(self):
        return self.r.choice(("i", "i", "i", "i", "i - 1", "i + 1", "i - 2"))

    def element(self):
        r = self.r
        if self.matrix and r.random() < 0.5:
            return r.choice((f"m[j, {self.index()}]", "m[j - 1, i]", "m[j + 1, i]", f"m[i % 3, {self.index()}]",
                             "m[j, 0]"))
        return f"{r.choice('abc')}[{self.index()}]"

    def number(self, deep=2):
        r = self.r
        if deep == 0 or r.random() < 0.2:
            return r.choice((self.element(), self.element(), "0.25", "2", "t", "i", "p[i]", "s * 0",
                             "float(q[i])"))
        x, y = self.number(deep - 1), self.number(deep - 1)
        return r.choice((f"({x} + {y})", f"({x} - {y})", f"({x} * {y})", f"({x} / ({y} + 3.5))", f"abs({x})",
                         f"(-{x})", f"min({x}, {y})", f"max({x}, {y})", f"({x} if {x} > {y} else {y})", f"({x} * 0.5)",
                         f"{self.element()}**2", f"math.sqrt(abs({x}))"))

    def integer(self, deep=1):
        r = self.r
        if deep == 0 or r.random() < 0.3:
            return r.choice(("p[i]", "q[i]", "i", "3", "k", "p[i - 1]", "int(q[i])"))
        x, y = self.integer(deep - 1), self.integer(deep - 1)
        return r.choice((f"({x} + {y})", f"({x} - {y})", f"({x} * 3)", f"({x} & {y})", f"({x} // 4)", f"({x} % 7)",
                         f"({x} // -3)", f"({x} % -5)", f"({x} // 1000003)"))

    def statement(self):
        r = self.r
        kind = r.randint(0, 13)
        if kind == 13:  # only a part of the turns has such an element
            v = r.choice("abc")
            test, at = r.choice(((f"i < len({v})", "i"), (f"len({v}) > i", "i"), (f"i + 1 < len({v})", "i + 1"),
                                 (f"i >= 3 and i < len({v})", "i - 3"), (f"not i >= len({v})", "i")))
            return f"if {test}: " + r.choice((f"{self.element()} = {v}[{at}] * 0.5", f"s += {v}[{at}]",
                                              f"t = {v}[{at}] + 1.0", f"{v}[{at}] = {self.number(1)}"))
        if kind == 12:
            turns = r.choice(("range(3)", "range(-1, 2)", "range(1, 5)", "range(2)", "range(0)", "range(7)"))
            x = f"{r.choice('abc')}[i + d]"
            return f"for d in {turns}: " + r.choice((
                f"s += {x}", f"t = t + {x} * d", "u += p[i] + d", f"{self.element()} = {x} * 0.5",
                f"s += {x} if {x} > {self.number(1)} else d", "k = k + d * q[i]"))
        if kind <= 3:
            return f"{self.element()} = {self.number()}"
        if kind == 4:
            return f"s += {self.number(1)}"
        if kind == 5:
            return f"t = {self.number()}"
        if kind == 6:
            return f"u += {self.integer()}"
        if kind == 7:
            return f"q[i] = {self.integer()}"
        if kind == 8:
            return f"if {self.number(1)} < {self.number(1)}: {self.element()} = {self.number(1)}"
        if kind == 9:
            return f"k = {self.integer()}"
        if kind == 10:
            return f"{self.element()} {r.choice('+-*')}= {self.number(1)}"
        return f"s = s - {self.number(1)}"

    def arguments(self, seed):
        r, g = random.Random(seed), np.random.default_rng(seed)
        n = r.choice((1, 5, 23, 24, 25, 60, 130, 511, 512, 513, 700, 1300))
        dtype = r.choice((np.float64, np.float64, np.float64, np.float32))
        room = (g.random(6 * n + 20) * 4 - 2).astype(dtype)
        kind = r.randint(0, 8)
        vectors = [room[k * (n + 3):][:n] for k in range(3)]
        if kind == 1:
            vectors = [room[k:][:n] for k in (0, 1, 4)]
        if kind == 2:
            vectors = [room[k * n:][:2 * n:2] for k in range(3)]
        if kind == 3:
            vectors[r.randrange(3)] = room[:n][::-1]
        if kind == 4:
            vectors[1] = vectors[0]
        if kind == 5:
            vectors[2] = g.random(n + 3)
        if kind >= 7:
            k = r.randrange(3)
            vectors[k] = vectors[k][:n // 2]
        whole = r.choice((np.int64, np.int32, np.uint8, np.int16))
        p = g.integers(0, 100, n + 2).astype(r.choice((np.int64, np.int32, np.uint8)))
        q = g.integers(0, 100, n).astype(whole)
        if whole is np.int64 and r.random() < 0.3:  # beyond what float64 has
            q[r.randrange(n)] = r.choice((2**53 - 1, 2**53, -2**53, 2**62 + 12345, -2**63))
        m = g.random((5, n)).astype(dtype)
        if r.random() < 0.3:
            m = np.asfortranarray(m)
        for x in (*vectors, m):
            if r.random() < 0.15 and x.size:
                large = 1e308 if dtype is np.float64 else 3e38
                x.reshape(-1)[r.randrange(x.size)] = r.choice((np.nan, np.inf, large, 0.0))
        return [*vectors, p, q, m, n - r.choice((0, 0, 0, 1))], room
