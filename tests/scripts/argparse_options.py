import argparse
import sys
import pijit as ms
from pijit import ops
parser = argparse.ArgumentParser(description="scales a vector")
parser.add_argument("factor", type=float)
parser.add_argument("--times", type=int, default=3)
parser.add_argument("rest", nargs="*")


def scaled(x, factor):
    return ops.tanh(x * factor) + 1.0


o = parser.parse_args(["0.5", "--times", "60"] + sys.argv[1:])
x = ms.Tensor([1.0, 2.0, 3.0])
for _ in range(o.times):
    x = scaled(x, o.factor)
print(o.rest, [v.hex() for v in x.asnumpy().tolist()], sys.argv[1:], parser.prog)
parser.parse_args(["much"])
