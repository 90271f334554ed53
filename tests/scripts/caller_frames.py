import sys
import traceback
import pijit as ms
from pijit import ops


def where(depth=1):
    f = sys._getframe(depth)
    return f.f_code.co_name, f.f_lineno


def step(x, k):
    y = ops.sin(x)
    if k % 10 == 3:
        print(where(), len(traceback.extract_stack()))
    z = y * 2
    return z


x = ms.Tensor([1.0])
for k in range(30):
    x = step(x, k) * 0.5
    if k % 10 == 7:
        x = x + 0.25
        print(where(), [f.lineno for f in traceback.extract_stack()])
    x = x * 1.5
try:
    sys._getframe(1)
except ValueError as e:
    print(e)
print(step.__code__.co_firstlineno, sys.gettrace(), sys.getprofile())
traceback.print_stack()
