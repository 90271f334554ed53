import contextlib
import functools
import inspect
import pijit as ms
from pijit import ops
calls = []


def counted(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        calls.append(f.__name__)
        return f(*args, **kwargs)
    return inner


@counted
def square(x, *, shift=0.0):
    "squares"
    return x * x + shift


@functools.lru_cache
def scale(k):
    return ms.Tensor([float(k)])


@contextlib.contextmanager
def noted(name):
    calls.append("in " + name)
    try:
        yield name
    finally:
        calls.append("out " + name)


class Box:
    @property
    def value(self):
        return ops.exp(self._v)

    @staticmethod
    def twice(x):
        return x + x

    @classmethod
    def make(cls, v):
        b = cls()
        b._v = v
        return b


x = ms.Tensor([0.1])
for k in range(25):
    with noted("n"):
        x = square(x, shift=0.2) * scale(k % 3)
        x = Box.twice(Box.make(x).value) * 0.1
print(float(x).hex(), len(calls), calls[:4], scale.cache_info())
print(inspect.signature(square), inspect.getsource(square.__wrapped__), square.__doc__,
      inspect.getsourcelines(Box.twice)[1])
