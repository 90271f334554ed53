"""Functions of ndarrays as people write them, plain and jitted: python benchmarks/ndarrays.py [WORD ...]

NumPy and the same function jitted, in turns within one process, at several sizes: the first call, the shortest of
later ones, and the ratio. Results are compared to the bit with NumPy's."""

import sys
import time

import numpy as np

import pijit as ms

ROUNDS = 15


def formula(x, y, z):
    return (x * y + z) * (x - z) / (y + 2) + np.sqrt(x * x + 1)


def two(x, y, z):
    return x * 2 + 1


def step(x, y, z):
    return np.where(x > y, x - y, 0.0) * z


def gauss(x, y, z):
    return np.exp(-x * x) * np.sin(y) + np.log(z)


def softmax(x, y, z):
    e = np.exp(x - x.max())
    return e / e.sum()


def norm(x, y, z):
    d = x - y
    return np.sqrt((d * d).sum() / d.size)


def laplace(x, y, z):
    return (x[:-2] + x[2:] - 2 * x[1:-1]) * 0.25


def stencil(x, y, z):
    y[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3
    return y


def update(x, y, z):
    y += 0.5 * x
    y *= 0.5
    return y


def equation_of_state(x, y, z):
    t2, s2 = x * x, y * y
    a = 999.842594 + 0.06793952 * x - 0.00909529 * t2 + 1.001685e-4 * t2 * x - 1.120083e-6 * t2 * t2
    b = 0.824493 - 0.0040899 * x + 7.6438e-5 * t2 - 8.2467e-7 * t2 * x + 5.3875e-9 * t2 * t2
    c = -0.00572466 + 1.0227e-4 * x - 1.6546e-6 * t2
    k = 19652.21 + 148.4206 * x - 2.327105 * t2 + 0.01360477 * t2 * x - 5.155288e-5 * t2 * t2
    return (a + b * y + c * y * np.sqrt(y) + 4.8314e-4 * s2) / (1 - z / (k + 54.6746 * y + 3.239908 * z))


def deviation(x, y, z):
    return (x - x.mean()) / x.std()


def moving_average(x, y, z):
    c = np.cumsum(x)
    return (c[4:] - c[:-4]) / 4


def joined(x, y, z):
    return np.concatenate((x - y, y - z, z * x)) + 1


def rolled(x, y, z):
    return np.roll(x, 1, 0) + np.roll(x, -1, 0) - 2 * x


def projected(x, y, z):
    a, b = x.reshape(-1, 4), y.reshape(-1, 4)
    return a.T @ b


CASES = [formula, two, step, gauss, softmax, norm, laplace, stencil, update, equation_of_state, deviation,
         moving_average, joined, rolled, projected]
SIZES = [8, 1000, 10_000, 100_000, 1_000_000]


def shortest(f, args, seconds):
    best, end = float("inf"), time.perf_counter() + seconds
    n = 1
    while time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(n):
            f(*args)
        took = (time.perf_counter() - begin) / n
        best = min(best, took)
        n = max(1, min(1000, int(2e-4 / took)))
    return best


def main():
    words = sys.argv[1:]
    print(f"{'':20}{'n':>9} {'NumPy':>10} {'jitted':>10}  ratio  first call")
    for f in CASES:
        if words and not any(w in f.__name__ for w in words):
            continue
        for n in SIZES:
            g = np.random.default_rng(n)
            args = [g.uniform(0.1, 5, n) for _ in range(3)]
            jitted = ms.jit(f)
            begin = time.perf_counter()
            first = jitted(*[a.copy() for a in args])
            took = time.perf_counter() - begin
            for _ in range(3):
                again = jitted(*[a.copy() for a in args])
            wanted = f(*[a.copy() for a in args])
            assert np.asarray(wanted).tobytes() == np.asarray(first).tobytes() == np.asarray(again).tobytes(), f
            plain = fast = float("inf")
            for _ in range(4):
                plain = min(plain, shortest(f, args, 0.1))
                fast = min(fast, shortest(jitted, args, 0.1))
            times = f"{plain * 1e6:8.2f}us {fast * 1e6:8.2f}us {plain / fast:6.2f} {took * 1e3:8.2f}ms"
            print(f"{f.__name__:20}{n:9} {times}", flush=True)


if __name__ == "__main__":
    main()
