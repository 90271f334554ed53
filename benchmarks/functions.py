"""`make bench-functions`: every elementwise function, alone and followed by each reduction, jitted against eager.

On 64 x 64 and 512 x 512, or the sizes given. The two take turns in one process, and each one's shortest time counts:
of TURNS turns, and of up to five times as many where jitted seems slower, since what else the machine does is in both.
Prints the rows where jitted takes over LIMIT times as long, and a summary."""

import sys
import time

import numpy as np

import pijit as ms
from pijit import ops

LIMIT, TURNS = 1.05, 3
UNARY = (
    "abs acos acosh asin asinh atan atanh cbrt ceil celu cos cosh digamma elu erf erfc erfinv exp exp2 expm1 floor "
    "frac gelu hardshrink hardsigmoid hardswish lgamma log log10 log1p log2 logsigmoid mish neg reciprocal relu relu6 "
    "round rsqrt selu sigmoid sign silu sin sinh softplus softsign sqrt square tan tanh trunc"
).split()
BINARY = "add atan2 div floor_div fmod hypot maximum minimum mul pow sub".split()
REDUCTIONS = {"sum": lambda y: y.sum(), "mean": lambda y: y.mean(1), "max": lambda y: y.max(0)}


def shortest(f, x, seconds=0.02):
    begin = time.perf_counter()
    f(*x)
    calls = max(1, int(seconds / 8 / max(time.perf_counter() - begin, 1e-7)))
    best = float("inf")
    for _ in range(8):
        t = time.perf_counter()
        for _ in range(calls):
            f(*x)
        best = min(best, (time.perf_counter() - t) / calls)
    return best


def rows(sizes, dtypes):
    r = np.random.RandomState(0)
    for name in UNARY + BINARY:
        g = getattr(ops, name, None)
        if g is None:
            continue
        for dtype in dtypes:
            for n in sizes:
                x = [ms.Tensor(r.uniform(0.1, 0.9, (n, n)).astype(dtype)) for _ in range(2 if name in BINARY else 1)]
                for kind, reduce in {"": lambda y: y, **REDUCTIONS}.items():

                    def one(a, g=g, reduce=reduce):
                        return reduce(g(a))

                    def two(a, b, g=g, reduce=reduce):
                        return reduce(g(a, b))

                    f = two if name in BINARY else one
                    j = ms.jit(f)
                    for _ in range(3):
                        j(*x), f(*x)
                    eager, jitted = float("inf"), float("inf")
                    for turn in range(5 * TURNS):
                        if turn >= TURNS and jitted <= LIMIT * eager:
                            break
                        eager, jitted = min(eager, shortest(f, x)), min(jitted, shortest(j, x))
                    yield f"{name} {dtype} {n}x{n} {kind}".rstrip(), eager, jitted


def main():
    sizes = [int(a) for a in sys.argv[1:]] or [64, 512]
    ratios = []
    for name, eager, jitted in rows(sizes, ("float32", "float64")):
        ratios.append(jitted / eager)
        if ratios[-1] > LIMIT:
            print(
                f"  {name:32} eager {eager * 1e6:9.2f} us   jitted {jitted * 1e6:9.2f} us   {ratios[-1]:5.2f}x",
                flush=True,
            )
    mean, above = np.exp(np.mean(np.log(ratios))), sum(r > LIMIT for r in ratios)
    print(f"{len(ratios)} cases, {above} above {LIMIT}; geometric mean {mean:.3f}, worst {max(ratios):.2f}")


if __name__ == "__main__":
    main()
