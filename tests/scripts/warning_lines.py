import warnings
import pijit as ms
from pijit import ops


def old(x):
    warnings.warn("old is old", DeprecationWarning, stacklevel=2)
    return ops.relu(x) * 0.5


def caller(x):
    y = old(x)
    warnings.warn("here")
    return y + 1


x = ms.Tensor([1.0, -1.0])
for _ in range(30):
    x = caller(x)
warnings.simplefilter("error")
try:
    caller(x)
except DeprecationWarning as e:
    print(repr(e), e.__traceback__.tb_next.tb_lineno)
warnings.resetwarnings()
for _ in range(20):
    x = x * 2 - x
    warnings.warn("in the loop", stacklevel=1)
print(x.asnumpy().tolist())
