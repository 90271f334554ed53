import atexit
import pijit as ms
from pijit import ops


class Noisy:
    def __init__(self, name):
        self.name, self.t = name, ms.Tensor([1.0])

    def turn(self, x):
        return ops.sin(self.t * x)

    def __del__(self):
        print("gone", self.name)


atexit.register(lambda: print("atexit", float(x).hex()))
kept, x = Noisy("kept"), ms.Tensor([0.5])
for _ in range(30):
    short = Noisy("short") if _ == 0 else short
    x = kept.turn(x) + short.turn(x)
del short
print("end")
