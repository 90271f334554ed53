import sys
import pijit as ms
from pijit import ops
seen = []


def watch(frame, event, arg):
    if event in ("call", "return"):
        seen.append((event, frame.f_code.co_name))


def trace(frame, event, arg):
    seen.append((event, frame.f_code.co_name, frame.f_lineno))
    return trace


def warm(x):
    return ops.tanh(x) * 0.5


def first(k):
    return second(k) + 1


def second(k):
    return k * 2


x = ms.Tensor([1.0, 2.0])
for _ in range(30):
    x = warm(x)
ops.relu(x)
sys.setprofile(watch)
first(1)
sys.setprofile(None)
print(seen)
seen.clear()


def third(k):
    return len(str(k))


ops.relu(x)
sys.settrace(trace)
third(1)
sys.settrace(None)
print(seen)
