"""Generated loops of statements with arrays: made, kept, exchanged, stored into, read by NumPy."""

import random


class Program:
    """Text of a function f(a, b, m, n, k, x) of two vectors, two matrices of vectors as rows, places and a number."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.vectors, self.matrices, self.numbers = ["a", "b"], ["m", "n"], ["x", "t"]
        lines = ["def f(a, b, m, n, k, x):", "    t = 0.5", "    for i in range(8):"]
        for _ in range(self.r.randint(2, 7)):
            lines += self.statement("        ")
        self.text = "\n".join([*lines, f"    return {', '.join(self.vectors + self.matrices + self.numbers)}", ""])

    def vector(self, deep=2):
        r = self.r
        if deep == 0 or r.random() < 0.25:
            return r.choice([r.choice(self.vectors), f"{r.choice(self.matrices)}[i % 4]",
                             f"{r.choice(self.vectors)}[::-1]", f"{r.choice(self.matrices)}.T[:, 1]"])
        v, w = self.vector(deep - 1), self.vector(deep - 1)
        return r.choice([
            f"({v} {r.choice('+-*')} {w})", f"({v} {r.choice('+-*/')} {self.number()})", f"({self.number()} - {v})",
            f"np.where({self.mask(deep - 1)}, {v}, {w})", f"np.maximum({v}, {w})", f"np.abs({v})",
            f"np.tanh({v})", f"np.sin({v})", f"({v})[k]", f"np.roll({v}, {r.choice(['1', 'i'])})",
            f"np.clip({v}, -3, 4)", f"({self.matrix(deep - 1)} @ {v})", f"np.cumsum({v})",
            f"np.sqrt(np.abs({v}))", f"(-{v})", f"({v})**2", f"np.concatenate((({v})[:2], ({w})[2:]))",
            f"({v}).copy()", f"np.exp(-np.abs({v}))", f"np.sort({v})",
            f"{self.matrix(deep - 1)}.sum(axis={r.randint(0, 1)})", f"np.dot({v}, {self.matrix(deep - 1)})"])

    def matrix(self, deep=2):
        r = self.r
        if deep <= 0 or r.random() < 0.3:
            return r.choice([r.choice(self.matrices), f"{r.choice(self.matrices)}.T",
                             f"{r.choice(self.matrices)}[::-1]", f"{r.choice(self.matrices)}[:, ::-1]"])
        p, q = self.matrix(deep - 1), self.matrix(deep - 1)
        return r.choice([
            f"({p} {r.choice('+-*')} {q})", f"({p} * {self.vector(deep - 1)})", f"({p} + {self.number()})",
            f"({p} @ {q} * 0.1)", f"np.outer({self.vector(0)}, {self.vector(0)})", f"np.where({p} > 0, {q}, {p})",
            f"np.minimum({p}, {self.vector(0)}[:, None])", f"({p}).T", f"np.cos({p})",
            f"np.add.outer({self.vector(0)}, {self.vector(0)})", f"({p})[k]", f"np.zeros_like({p})"])

    def mask(self, deep):
        r = self.r
        one = f"({self.vector(deep)} {r.choice(['<', '>=', '!='])} {r.choice([self.number(), self.vector(0)])})"
        return r.choice([one, one, f"({one} & ({self.vector(0)} > -1))", f"~{one}"])

    def number(self):
        r = self.r
        return r.choice(["0.5", "2", "i", "t", "x", f"{r.choice(self.vectors)}[i % 4]", "0.25"])

    def bounded(self, made):
        return f"np.clip({made}, -8.0, 8.0)" if self.r.random() < 0.5 else f"np.tanh({made}) * 3"

    def statement(self, indent):
        r = self.r
        v, m = r.choice(self.vectors), r.choice(self.matrices)
        kind = r.randint(0, 13)
        if kind <= 3:
            name = r.choice([v, v, f"v{len(self.vectors)}"])
            lines = [f"{name} = {self.bounded(self.vector())}"]
            if name not in self.vectors and len(indent) == 8:
                self.vectors.append(name)
            elif name not in self.vectors:
                lines = [f"{v} = {self.bounded(self.vector())}"]
        elif kind <= 5:
            lines = [f"{m} = {self.bounded(self.matrix())}"]
        elif kind == 6:
            lines = [f"{v}[{r.choice(['1:', ':-1', '::2', ':'])}] = {self.number()}"]
        elif kind == 7:
            lines = [f"{v} {r.choice(['+=', '-=', '*='])} {self.vector(1)} * 0.25"]
        elif kind == 8:
            lines = [f"{self.vectors[0]}, {self.vectors[-1]} = {self.vectors[-1]}, {self.vectors[0]}"]
        elif kind == 9:
            total = r.choice(["({}).sum()", "np.max({})", "({}).mean()", "np.sum({})", "np.min({})"])
            lines = [f"t = {total.format(self.vector(1))} * 0.1"]
        elif kind == 10:
            lines = [f"{m}[i % 4] = {self.vector(1)}"]
        elif kind == 11 and len(indent) == 8:
            lines = [f"if {r.choice(['i % 3 == 0', 't > 0.1', 'i > 4'])}:"]
            lines += self.statement("            ")
            return [indent + lines[0], *(indent + "    " + line.strip() for line in lines[1:])]
        elif kind == 12:
            lines = [f"{m}[:, 1] = {self.vector(1)} * 0.5"]
        else:
            lines = [f"{v}[i % 4] = {self.number()}"]
        return [indent + line for line in lines]
