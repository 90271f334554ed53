import atexit
import sys
import pijit as ms
atexit.register(print, "first registered")
atexit.register(lambda: print("second registered", flush=True))


def half(x):
    return x * 0.5


x = ms.Tensor([64.0])
for k in range(100):
    x = half(x)
    if float(x) < 1e-3:
        print(k)
        sys.exit(7)
