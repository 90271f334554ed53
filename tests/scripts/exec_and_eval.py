import pijit as ms
from pijit import ops
names = {"ops": ops, "x": ms.Tensor([0.3])}
exec("""
def f(x):
    return ops.sin(x) * 2
for k in range(30):
    x = f(x) + k * 0.01
""", names)
print(float(names["x"]).hex(), eval("float(f(x))", names).hex(), sorted(k for k in names if k[0] != "_"))


def local():
    y = ms.Tensor([1.0])
    for _ in range(20):
        y = y * 0.9 + 0.1
        seen = sorted(locals())
    return seen, eval("float(y)").hex()


print(local(), "__file__" in globals(), __name__)
class Body:
    t = ms.Tensor([1.0])
    for k in range(20):
        t = t * 1.1 + k
    total = float(t).hex()


print(Body.total, Body.k)
