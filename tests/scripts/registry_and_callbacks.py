"""Registry of layers in OrderedDict, callbacks, a cached mask, copies of state, solver loops."""

import functools
from collections import OrderedDict, defaultdict, deque
import numpy as np
import pijit as ms
from pijit import ops, Tensor

LAYERS = OrderedDict()


def register(name):
    def deco(f):
        LAYERS[name] = f
        return f

    return deco


@register("dense")
def dense(p, x):
    return ops.matmul(x, p["w"]) + p["b"]


@register("relu")
def relu(p, x):
    return ops.relu(x)


@register("norm")
def norm(p, x):
    m = x.mean(-1, keep_dims=True)
    v = ((x - m) ** 2).mean(-1, keep_dims=True)
    return (x - m) / ops.sqrt(v + 1e-5)


@functools.lru_cache
def causal(n):
    return ops.triu(ops.ones((n, n)), 1) * -1e9


class Callback:
    def on_step(self, state):
        pass


class History(Callback):
    def __init__(self):
        self.losses = []
        self.window = deque(maxlen=3)

    def on_step(self, state):
        self.losses.append(state["loss"])
        self.window.append(state["loss"])


class Best(Callback):
    def __init__(self):
        self.best = None
        self.at = -1

    def on_step(self, state):
        if state["step"] % 2 == 0:
            self.at = state["step"]


class Lr(Callback):
    def __init__(self, table):
        self.table = table
        self.lr = 0.1

    def on_step(self, state):
        for k in sorted(self.table, reverse=True):
            if state["step"] >= k:
                self.lr = self.table[k]
                break


def attend(x):
    s = ops.matmul(x, x.T) + causal(x.shape[0])
    return ops.matmul(ops.softmax(s, -1), x)


def build(spec, rng):
    ps = OrderedDict()
    for i, name in enumerate(spec):
        ps[f"{i}.{name}"] = (
            {"w": Tensor(rng.normal(size=(6, 6)).astype(np.float32) * 0.3), "b": Tensor(np.zeros(6, np.float32))}
            if name == "dense"
            else {}
        )
    return ps


def forward(ps, x):
    x = attend(x)
    for key, p in ps.items():
        name = key.split(".")[1]
        x = LAYERS[name](p, x)
    return x


def power_iteration(a, tol, most):
    v = ops.ones((a.shape[0],))
    err = Tensor(1.0)
    i = 0
    while err > tol and i < most:
        w = ops.matmul(a, v)
        w = w / ops.sqrt((w * w).sum())
        err = ops.abs(w - v).max()
        v = w
        i += 1
    return v, i, err / max(1, 1)


def main(jit=lambda f: f):
    rng = np.random.default_rng(0)
    ps = build(["dense", "relu", "norm", "dense"], rng)
    cbs = [History(), Best(), Lr({0: 0.1, 4: 0.05, 8: 0.01})]
    state = {"step": 0, "loss": None}
    stats = defaultdict(lambda: [0, 0.0])

    def loss_fn(ws, x, y):
        full = OrderedDict((k, dict(p)) for k, p in ps.items())
        for (k, p), w in zip([kp for kp in full.items() if kp[1]], ws):
            p["w"] = w
        return ((forward(full, x) - y) ** 2).mean()

    def step(x, y):
        names = [k for k, p in ps.items() if p]
        ws = [ps[k]["w"] for k in names]
        loss, gs = ms.value_and_grad(lambda *w: loss_fn(w, x, y), grad_position=tuple(range(len(ws))))(*ws)
        for k, g in zip(names, gs):
            ps[k]["w"] = ps[k]["w"] - cbs[2].lr * g
            s = stats[k]
            s[0] += 1
            s[1] = s[1] + ops.abs(g).max()
        state["step"] += 1
        state["loss"] = loss
        for cb in cbs:
            cb.on_step(state)
        return loss

    step, pit = jit(step), jit(power_iteration)
    for k in range(12):
        x = Tensor(rng.normal(size=(5, 6)).astype(np.float32))
        y = Tensor(rng.normal(size=(5, 6)).astype(np.float32))
        step(x, y)
    a = rng.normal(size=(6, 6)).astype(np.float32)
    a = Tensor(a @ a.T)
    out = [pit(a, t, n) for t, n in ((1e-3, 50), (1e-4, 100), (1e-5, 5))]
    print(
        [round(float(l), 5) for l in cbs[0].losses],
        len(cbs[0].window),
        cbs[1].at,
        cbs[2].lr,
        {k: (v[0], round(float(v[1]), 4)) for k, v in stats.items()},
    )
    print([(np.round(v.asnumpy(), 4).tolist(), int(i)) for v, i, e in out])
    return step, pit


if __name__ == "__main__":
    main()
