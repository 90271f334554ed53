import functools
import operator
import pijit as ms
from pijit import ops


def make(rate):
    count = 0

    def step(x):
        nonlocal count
        count += 1
        return x - rate * ops.sin(x)

    return step, lambda: count


steps = [make(r / 10) for r in range(1, 4)]
x = ms.Tensor([1.0, 2.0])
for k in range(30):
    x = functools.reduce(lambda v, s: s[0](v), steps, x)
print([c() for _, c in steps], [v.hex() for v in x.asnumpy().tolist()])
double = lambda v: v + v
print([float(double(t).sum()).hex() for t in [x * k for k in range(20)]], operator.add(double(x), x).shape)


def fact(x, n):
    return x if n == 0 else fact(x * n, n - 1)


print([float(fact(ms.Tensor([1.0]), n)[0]) for n in range(15)])
