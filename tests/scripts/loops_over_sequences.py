"""Loops over lists and tuples that are taken over while they run: some grow, some shrink, some lie in one another."""
from pijit import Tensor, ops

w = ops.ones((4, 4))


class Sum:
    alive = 0

    def __init__(self, value):
        self.value = value
        Sum.alive += 1

    def __del__(self):
        Sum.alive -= 1

    def __add__(self, x):
        return Sum(self.value + float(x))


def step(x):
    return ops.tanh(x * w) + ops.sin(x) * 0.5 - w


def growing(items):
    seen = 0
    for x in items:
        x = ops.tanh(x * w) + ops.sin(x) * 0.5 - w
        seen += 1
        if len(items) < 60:
            items.append(items[-1] + 1)
    return seen, x


def shrinking(items):
    seen = 0
    for x in items:
        x = ops.tanh(x * w) + ops.sin(x) * 0.5 - w
        seen += 1
        items.pop()
    return seen, x


def nested(rows, scales):
    total = w * 0
    for x in rows:
        for k in scales:
            total = total + ops.tanh(x * k) + ops.sin(x) * 0.5 - w
    return total


def summed(items, start):
    total, count = start, 0
    for a, b in items:
        y = step(a) * b
        count += len(y)
        total += (y.argmax(1) == 0).asnumpy().sum()
    return total, count


for again in range(3):
    seen, x = growing([w])
    print(seen, round(float(x.sum()), 4))
    seen, x = shrinking([w * k for k in range(60)])
    print(seen, round(float(x.sum()), 4))
    print(round(float(nested(tuple(w + k for k in range(20)), (1, 0.5, Tensor(2.0))).sum()), 3))
    total, count = summed([(w + k, w) for k in range(40)], Sum(1))
    print(total.value, count, Sum.alive)
