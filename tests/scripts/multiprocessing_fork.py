import multiprocessing
import pijit as ms
from pijit import ops


def step(x, k):
    return ops.sin(x) * 0.9 + k * 0.01


def work(queue, k):
    x = ms.Tensor([0.1, 0.2, 0.3])
    for _ in range(30):
        x = step(x, k)
    queue.put([v.hex() for v in x.asnumpy().tolist()])


x = ms.Tensor([1.0])
for _ in range(20):
    x = step(x, 2)
print(float(x).hex())
queue = multiprocessing.get_context("fork").Queue()
processes = [multiprocessing.get_context("fork").Process(target=work, args=(queue, 3)) for _ in range(2)]
for p in processes:
    p.start()
print(sorted(queue.get() for _ in processes))
for p in processes:
    p.join()
print([p.exitcode for p in processes])
