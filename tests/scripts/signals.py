import os
import signal
import pijit as ms
from pijit import ops
seen = []
signal.signal(signal.SIGUSR1, lambda n, frame: seen.append((n, frame.f_code.co_name)))


def step(x):
    return ops.tanh(x) + 0.1


x = ms.Tensor([1.0])
for k in range(60):
    x = step(x)
    if k % 20 == 10:
        os.kill(os.getpid(), signal.SIGUSR1)
print(seen, float(x).hex())
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.3)
try:
    while True:
        x = step(x)
except KeyboardInterrupt:
    print("interrupted")
signal.raise_signal(signal.SIGINT)
