import multiprocessing
import pijit as ms
from pijit import ops


def work(k):
    x = ms.Tensor([0.1, 0.2, 0.3])
    for _ in range(30):
        x = step(x, k)
    return [v.hex() for v in x.asnumpy().tolist()]


def step(x, k):
    return ops.sin(x) * 0.9 + k * 0.01


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        print(pool.map(work, [1, 2]))
    print(work(1))
