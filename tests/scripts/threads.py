import threading
import pijit as ms
from pijit import ops
results, lock = {}, threading.Lock()


def step(x, k):
    return ops.cos(x) + k


def work(k):
    x = ms.Tensor([float(k)])
    for _ in range(60):
        x = step(x, k) * 0.5
    with lock:
        results[k] = float(x).hex()


threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(sorted(results.items()))


def fails():
    raise KeyError("in a thread")


threading.excepthook = lambda a: print("hook", a.exc_type.__name__, a.exc_value)
t = threading.Thread(target=fails)
t.start()
t.join()
