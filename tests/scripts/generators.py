import itertools
import pijit as ms
from pijit import ops


def batches(n):
    try:
        for k in range(n):
            yield ops.ones((2, 2)) * k
    finally:
        print("closed", n)


def mean(x):
    return ops.tanh(x).mean()


total = ms.Tensor(0.0)
for b in batches(40):
    total = total + mean(b)
for b in itertools.islice(batches(1000), 25):
    total = total * 0.5 + mean(b)
it = batches(30)
for b in it:
    total += mean(b)
    if float(b.sum()) > 60:
        break
else:
    print("not here")
it.close()
print(float(total).hex(), [float(mean(x)).hex() for x in batches(3)],
      {k: float(v.sum()) for k, v in enumerate(batches(4))})
