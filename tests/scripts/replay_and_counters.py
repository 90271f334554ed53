"""A small RL-like loop: replay in a deque, epsilon schedule in a closure, counters, checkpoints by copy, log lines."""

import dataclasses
from collections import Counter, defaultdict, deque, OrderedDict, namedtuple
import numpy as np
import pijit as ms
from pijit import nn, ops, Tensor

Step = namedtuple("Step", "state action reward")


@dataclasses.dataclass
class Stats:
    actions: Counter = dataclasses.field(default_factory=Counter)
    rewards: dict = dataclasses.field(default_factory=lambda: defaultdict(list))
    visited: set = dataclasses.field(default_factory=set)
    best: float = -1e9

    def as_line(self):
        return ", ".join(f"{k}={v}" for k, v in sorted(self.actions.items()))


class Policy(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([nn.Dense(4, 8), nn.Dense(8, 3)])
        self.seen = 0

    def construct(self, x):
        self.seen += 1
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if i < len(self.layers) - 1:
                x = ops.tanh(x)
        return x


def make_epsilon(start, end, n):
    k = 0

    def eps():
        nonlocal k
        k = min(k + 1, n)
        return start + (end - start) * k / n

    return eps


def main(jit=lambda f: f):
    ms.set_seed(2)
    rng = np.random.default_rng(3)
    net = Policy()
    opt = nn.Adam(net.trainable_params(), learning_rate=0.01)
    eps = make_epsilon(1.0, 0.1, 10)
    stats = Stats()
    replay = deque(maxlen=5)
    scores = OrderedDict()

    def loss_fn(s, a, r):
        logits = net(s)
        logp = ops.log_softmax(logits, -1)
        picked = (logp * ops.one_hot(a, 3, Tensor(1.0), Tensor(0.0))).sum(-1)
        return -(picked * r).mean()

    grad = ms.value_and_grad(loss_fn, None, opt.parameters)

    def learn(step, s, a, r):
        loss, g = grad(s, a, r)
        opt(g)
        e = eps()
        stats.actions["learn"] += 1
        stats.rewards["mean"].append(r.mean())
        stats.visited |= {step % 3}
        replay.append(Step(s, a, r))
        scores[step] = loss
        scores.move_to_end(step, last=False)
        if len(scores) > 4:
            scores.popitem()
        if step % 4 == 0:
            print(f"step {step} eps {e:.3f} {stats.as_line()}")
        return loss * e

    def evaluate(s):
        best = max(replay, key=lambda t: t.reward.shape[0])
        q = net(s)
        total = 0.0
        for t in replay:
            total = total + t.reward.sum()
        i = 0
        while ops.abs(q).sum() > 1.0 and i < 8:
            q = q * 0.5
            i += 1
        return q, i, total / len(replay), best.action

    learn, evaluate = jit(learn), jit(evaluate)
    res = []
    for k in range(14):
        s = Tensor(rng.normal(size=(6, 4)).astype(np.float32))
        a = Tensor(rng.integers(0, 3, 6).astype(np.int32))
        r = Tensor(rng.normal(size=6).astype(np.float32))
        res.append(round(float(learn(k, s, a, r)), 5))
        if k % 3 == 2:
            q, i, t, b = evaluate(s)
            res.append((np.round(q.asnumpy(), 4).sum().round(3).tolist(), int(i), round(float(t), 4)))
    print(res, stats.as_line(), sorted(stats.visited), len(replay), list(scores), net.seen)
    return learn, evaluate


if __name__ == "__main__":
    main()
