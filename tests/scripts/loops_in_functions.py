import pijit as ms
from pijit import ops


def run(n):
    x, log = ms.Tensor([1.0, 2.0]), []
    k = 0
    while k < n:
        try:
            x = ops.tanh(x) + 0.1
            if k % 7 == 6:
                raise LookupError(k)
            x = x * 1.01
        except LookupError as e:
            log.append(e.args[0])
            k += 1
            continue
        finally:
            k += 1
        if k > n - 3:
            break
    else:
        log.append("else")
    for i, (a, b) in enumerate(zip(range(50), range(50, 0, -1))):
        x = x + a * 0.001
        x = x - b * 0.001
        if i == 47:
            return x, log, i, a, b
    return None


x, *rest = run(60)
print([v.hex() for v in x.asnumpy().tolist()], rest)
for i in range(3): x = x * 2
for j in [1, 2, 3] * 15: x = x * 0.5 + j
print([v.hex() for v in x.asnumpy().tolist()], i, j)
