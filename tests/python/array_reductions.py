"""Generated loops that reduce arrays: of every layout, along every choice of axes, of expressions and views."""

import random

import numpy as np

DTYPES = (np.float64, np.float64, np.float32, np.float32, np.int64, np.int32, bool)
OPERANDS = ("x", "x", "x*y", "x+y", "x*y+x", "x-y", "-x", "x[:]", "x.T", "x[1:]", "np.maximum(x, y)", "np.exp(x)*y",
            "x > y")


class Reduction:
    """`text` of a function f(x, y, n), its arguments, and the line that computes."""

    def __init__(self, seed):
        self.r = r = random.Random(seed)
        rank, dtype = r.choice((1, 2, 2, 3, 3, 4, 5)), r.choice(DTYPES)
        self.x = self.array(rank, dtype)
        shape = [n if r.random() < 0.6 else 1 for n in self.x.shape]
        self.y = np.resize(self.array(2, dtype), shape).astype(dtype)
        if r.random() < 0.4:
            self.y = self.y.T.copy().T
        axes = [a - rank if r.random() < 0.3 else a for a in r.sample(range(rank), r.randint(1, rank))]
        axis = axes[0] if len(axes) == 1 and r.random() < 0.7 else None if r.random() < 0.1 else tuple(axes)
        of, name = r.choice(OPERANDS), r.choice(("sum", "sum", "sum", "mean", "max", "min"))
        keeps = r.choice(("", "", ", keepdims=True", ", keepdims=False"))
        self.line = r.choice((f"np.{name}({of}, axis={axis}{keeps})", f"np.{name}({of}, {axis}{keeps})",
                              f"({of}).{name}(axis={axis}{keeps})"))
        self.text = "\n".join(["def f(x, y, n):", "    out = None", "    for i in range(n):",
                               f"        out = {self.line}", "    return out", ""])

    def array(self, rank, dtype):
        r = self.r
        shape = [r.choice((1, 2, 3, 4, 5, 8, 17)) for _ in range(rank)]
        room = [n + r.choice((0, 0, 2)) for n in shape]
        g = np.random.default_rng(r.randrange(10**6))
        x = g.standard_normal(room) * r.choice((1, 1, 1e30))
        if dtype is bool:
            x = x > 0
        elif np.dtype(dtype).kind == "i":
            x = g.integers(-100, 100, room)
        x = x.astype(dtype)
        if x.dtype.kind == "f" and r.random() < 0.3:
            flat = x.reshape(-1)
            for v in (np.nan, np.inf, -np.inf, -0.0, 0.0, -0.0, 0.0):
                if r.random() < 0.6:
                    flat[r.randrange(flat.size)] = v
            if r.random() < 0.3:
                x = np.where(g.random(room) < 0.5, -0.0, 0.0).astype(dtype)
        x = x[tuple(slice(0, n) for n in shape)]
        axes = r.sample(range(rank), rank)
        steps = tuple(slice(None, None, r.choice((1, -1))) for _ in shape)
        return r.choice((lambda: x, lambda: np.asfortranarray(x), lambda: x.transpose(axes), lambda: x[steps],
                         lambda: np.ascontiguousarray(x), lambda: np.ascontiguousarray(x.transpose(axes))))()
