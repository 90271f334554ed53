import sys
import pijit as ms
lines = []


def f(x):
    y = x * 2
    z = y + 1
    return z


def tracer(frame, event, arg):
    if frame.f_code.co_filename == __file__:
        lines.append((event, frame.f_code.co_name, frame.f_lineno))
        return tracer


x = ms.Tensor([1.0])
for _ in range(20):
    x = f(x) * 0.25
sys.settrace(tracer)
f(x)
sys.settrace(None)
print(lines)
lines.clear()
sys.setprofile(lambda frame, event, arg: lines.append(event) if frame.f_code is f.__code__ else None)
f(x)
sys.setprofile(None)
print([e for e in lines if e in ("call", "return")], float(f(x)).hex())
