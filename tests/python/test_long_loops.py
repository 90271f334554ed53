"""Loops with many turns: one graph where all of them fit, CPython's where they don't, told after few of them; a loop
that ends in another way than with its items is followed to that end."""
import numpy as np
import pijit as ms
import pytest
from pijit import Tensor, nn, ops


class Recurrent(nn.Cell):
    def __init__(self):
        super().__init__()
        self.of_input, self.of_state, self.out = nn.Dense(4, 12), nn.Dense(3, 12), nn.Dense(3, 1)

    def construct(self, x):
        h = c = ops.zeros((x.shape[1], 3), ms.float32)
        for t in range(x.shape[0]):
            i, f, o, u = ops.split(self.of_input(x[t]) + self.of_state(h), 3, 1)
            c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(u)
            h = ops.sigmoid(o) * ops.tanh(c)
        return self.out(h)


def test_500_steps_of_a_recurrent_network_are_one_graph():
    net = Recurrent()
    opt = nn.SGD(net.trainable_params(), 0.1)
    x, y = Tensor(np.random.RandomState(0).randn(500, 2, 4).astype(np.float32)), Tensor([[1.0], [0.0]])
    gradient = ms.value_and_grad(lambda x, y: ((net(x) - y)**2).mean(), None, opt.parameters)

    def step(x, y):
        loss, grads = gradient(x, y)
        opt(grads)
        return loss

    start = [p.asnumpy().copy() for p in net.get_parameters()]
    plain = [float(step(x, y)) for _ in range(2)]
    for p, v in zip(net.get_parameters(), start):
        p.set_data(Tensor(v))
    jitted = ms.jit(step)
    assert [float(jitted(x, y)) for _ in range(2)] == plain
    assert len(ms.explain(jitted).entries) == 1 and not ms.explain(jitted).breaks


FAR = 10**9
BODIES = {
    "break": "for k in range(FAR):\n        x = x + 1\n        if k == 40: break",
    "return": "for k in range(FAR):\n        x = x + 1\n        if k == 40: return x",
    "an exception": "try:\n        for k in range(FAR):\n            x = x + 1\n"
                    "            if k == 40: raise ValueError\n    except ValueError: pass",
    "an exception of a call": "items = iter([1] * 40)\n    try:\n        for k in range(FAR):\n"
                              "            x = x + next(items)\n    except StopIteration: pass",
    "the shortest": "for k, y in zip(range(FAR), [1] * 40):\n        x = x + y",
    "enumerate": "for k, y in enumerate(range(FAR)):\n        x = x + 1\n        if k == 40: break",
    "outer": "for k in range(FAR):\n        for j in range(20):\n            x = x + 1\n        if k == 9: break",
    "else": "for k in range(40):\n        x = x + 1\n    else: x = x * 2",
    "a generator": "def items():\n        for k in range(FAR): yield k\n    for k in items():\n        x = x + 1\n"
                   "        if k == 40: break",
    "a generator's parts": "def items():\n        yield from range(FAR)\n    for k in items():\n        x = x + 1\n"
                           "        if k == 40: break",
    "an expression": "k = next(k for k in range(FAR) if k == 40)\n    x = x + k",
    "map": "for k in map(abs, range(FAR)):\n        x = x + 1\n        if k == 40: break",
    "continue": "for k in range(60):\n        if k % 2: continue\n        x = x + 1",
}


@pytest.mark.parametrize("name", BODIES)
def test_loops_that_end_before_their_items_do(name):
    space = {"FAR": FAR}
    exec(f"def f(x):\n    {BODIES[name]}\n    return x", space)
    f, x = space["f"], Tensor([1.0, 2.0])
    jitted = ms.jit(f)
    for _ in range(2):
        assert jitted(x).asnumpy().tolist() == f(x).asnumpy().tolist()
    assert not ms.explain(jitted).breaks and len(ms.explain(jitted).entries) == 1


def test_a_loop_that_does_not_fit():
    def f(x):
        for _ in range(3000):
            x = x * 0.5 + 1
        return x

    before = ms._C.get_option("max_unroll")
    ms._C.set_option("max_unroll", "100")
    try:
        jitted = ms.jit(f)
        assert jitted(Tensor([1.0])).asnumpy().tolist() == f(Tensor([1.0])).asnumpy().tolist()
        assert [b.id for b in ms.explain(jitted).all_breaks] == ["PB012"]
    finally:
        ms._C.set_option("max_unroll", before)
