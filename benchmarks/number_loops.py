"""Loops over numbers and elements as people write them: python benchmarks/number_loops.py [WORD ...]

Plain Python, jitted, and Numba where it is installed, in one process: the first call, and the shortest of later ones.
Results are compared to the bit with plain Python's. Numba gets the same functions with its own decorator."""

import math
import random
import sys
import time

import numpy as np

import pijit as ms

try:
    import numba
except ImportError:
    numba = None

ROUNDS = 7


def mandelbrot_complex(w, most):
    n = 0
    for y in range(w):
        for x in range(w):
            c, z = complex(3.0 * x / w - 2.0, 2.0 * y / w - 1.0), 0j
            for _ in range(most):
                z = z * z + c
                if abs(z) > 2.0:
                    break
                n += 1
    return n


def mandelbrot(w, most):
    n = 0
    for y in range(w):
        for x in range(w):
            cr, ci = 3.0 * x / w - 2.0, 2.0 * y / w - 1.0
            zr = zi = 0.0
            for _ in range(most):
                t = zr * zr - zi * zi + cr
                zi = 2.0 * zr * zi + ci
                zr = t
                if zr * zr + zi * zi > 4.0:
                    break
                n += 1
    return n


def collatz(n):
    best = at = 0
    for s in range(1, n):
        k, x = 0, s
        while x != 1:
            if x % 2 == 0:
                x //= 2
            else:
                x = 3 * x + 1
            k += 1
        if k > best:
            best, at = k, s
    return best, at


def gcds(n):
    s = 0
    for i in range(1, n):
        for j in range(1, n):
            a, b = i, j
            while b:
                a, b = b, a % b
            s += a
    return s


def primes(n):
    c = 0
    for i in range(2, n):
        j, prime = 2, True
        while j * j <= i:
            if i % j == 0:
                prime = False
                break
            j += 1
        if prime:
            c += 1
    return c


def simpson(n):
    h, s = 1.0 / n, 0.0
    for i in range(n):
        a = i * h
        m, b = a + 0.5 * h, a + h
        s += h / 6.0 * (math.exp(-a * a) + 4.0 * math.exp(-m * m) + math.exp(-b * b))
    return s


def monte_carlo(n):
    x, hits = 12345, 0
    for _ in range(n):
        x = (1103515245 * x + 12345) % 2147483648
        a = x / 2147483648
        x = (1103515245 * x + 12345) % 2147483648
        b = x / 2147483648
        if a * a + b * b <= 1.0:
            hits += 1
    return 4.0 * hits / n


def runge_kutta(n):
    x, v, h = 1.0, 0.0, 0.001
    for _ in range(n):
        a1, b1 = v, -x
        a2, b2 = v + 0.5 * h * b1, -(x + 0.5 * h * a1)
        a3, b3 = v + 0.5 * h * b2, -(x + 0.5 * h * a2)
        a4, b4 = v + h * b3, -(x + h * a3)
        x += h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        v += h / 6.0 * (b1 + 2.0 * b2 + 2.0 * b3 + b4)
    return x, v


def logistic(n):
    x, s = 0.3, 0.0
    for _ in range(n):
        x = 3.9 * x * (1.0 - x)
        s += x
    return s / n


def sum_of_elements(a):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s += a[i, j]
    return s


def axpy(a, b):
    for i in range(a.size):
        b[i] = a[i] * 2.0 + b[i]


def floyd(d):
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                t = d[i, k] + d[k, j]
                if t < d[i, j]:
                    d[i, j] = t


def seidel(u, turns):
    n, m = u.shape
    for _ in range(turns):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


def sieve(p):
    n, c = len(p), 0
    for i in range(2, n):
        if p[i] == 0:
            c += 1
            j = i * i
            while j < n:
                p[j] = 1
                j += i
    return c


def common_subsequence(x, y, t):
    for i in range(len(x)):
        for j in range(len(y)):
            if x[i] == y[j]:
                t[i + 1, j + 1] = t[i, j] + 1
            else:
                t[i + 1, j + 1] = max(t[i, j + 1], t[i + 1, j])
    return t[len(x), len(y)]


def forces(pos, mass):
    s = 0.0
    for i in range(len(mass)):
        for j in range(len(mass)):
            s += (pos[j, 0] - pos[i, 0]) * mass[j]
    return s


def bump(x):
    return math.exp(-x * x) * (1.0 + 0.1 * x)


def clipped(x, low=0.0, high=0.9):
    return low if x < low else high if x > high else x


def helpers(n):
    s = 0.0
    for i in range(n):
        s += clipped(bump(i * 1e-4))
    return s


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def ackermann(m, n):
    if m == 0:
        return n + 1
    return ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1))


def common_divisors(n):
    s = 0
    for i in range(1, n):
        s += divisor(i * 7919, n)
    return s


def divisor(a, b):
    while b:
        a, b = b, a % b
    return a


def over_an_array(x):
    s = 0.0
    for v in x:
        s += v * v
    return s


def over_rows(a):
    s = 0.0
    for row in a:
        for v in row:
            s += v
    return s


def chained_indices(a):
    s = 0.0
    for i in range(len(a)):
        for j in range(len(a[i])):
            s += a[i][j] * a[j][i]
    return s


# Numba wants its decorator on the functions that these call, too.
CALLS = {helpers, fibonacci, ackermann, common_divisors}


def sieve_of_a_list(n):
    prime = [True] * (n + 1)
    i, count = 2, 0
    while i <= n:
        if prime[i]:
            count += 1
            for k in range(i * i, n + 1, i):
                prime[k] = False
        i += 1
    return count


def bubble_sort(a):
    for i in range(len(a)):
        for j in range(len(a) - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return a[0], a[-1]


def edit_distance(a, b):
    before = list(range(len(b) + 1))
    for i, x in enumerate(a):
        now = [i + 1]
        for j, y in enumerate(b):
            now.append(min(before[j + 1] + 1, now[j] + 1, before[j] + (x != y)))
        before = now
    return before[-1]


def knapsack(weights, values, room):
    best = [0] * (room + 1)
    for w, v in zip(weights, values):
        for k in range(room, w - 1, -1):
            if best[k - w] + v > best[k]:
                best[k] = best[k - w] + v
    return best[room]


def matrix_product(a, b, c):
    for i in range(len(a)):
        for j in range(len(b[0])):
            s = 0.0
            for k in range(len(b)):
                s += a[i][k] * b[k][j]
            c[i][j] = s
    return c[0][0]


def pi_by_chance(n):
    inside = 0
    for _ in range(n):
        x, y = random.random(), random.random()
        if x * x + y * y < 1.0:
            inside += 1
    return 4 * inside / n


def blur(image, out):
    for i in range(1, image.shape[0] - 1):
        for j in range(1, image.shape[1] - 1):
            s = 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    s += int(image[i + di, j + dj])
            out[i, j] = s // 9


def smoothed(x, y):
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = y[i - 1] * 0.9 + x[i] * 0.1


def histogram(x, counts):
    for v in x:
        counts[v] += 1


def programs():
    r = np.random.RandomState(0)
    return [
        (mandelbrot, lambda: (100, 100)), (mandelbrot_complex, lambda: (100, 100)), (collatz, lambda: (20_000,)),
        (gcds, lambda: (200,)),
        (primes, lambda: (20_000,)), (simpson, lambda: (50_000,)), (monte_carlo, lambda: (100_000,)),
        (runge_kutta, lambda: (50_000,)), (logistic, lambda: (200_000,)),
        (sum_of_elements, lambda a=r.rand(300, 300): (a,)), (axpy, lambda a=r.rand(50_000): (a, np.ones(50_000))),
        (floyd, lambda d=r.rand(60, 60): (d.copy(),)), (seidel, lambda u=r.rand(100, 100): (u.copy(), 3)),
        (sieve, lambda: (np.zeros(50_000, np.int64),)),
        (common_subsequence, lambda x=r.randint(0, 4, 200), y=r.randint(0, 4, 200):
            (x, y, np.zeros((201, 201), np.int64))),
        (forces, lambda p=r.rand(150, 3), m=r.rand(150): (p, m)),
        (helpers, lambda: (20_000,)), (fibonacci, lambda: (22,)), (ackermann, lambda: (2, 100)),
        (common_divisors, lambda: (10_000,)), (over_an_array, lambda x=r.rand(100_000): (x,)),
        (over_rows, lambda a=r.rand(300, 300): (a,)), (chained_indices, lambda a=r.rand(200, 200): (a,)),
        (sieve_of_a_list, lambda: (200_000,)), (bubble_sort, lambda x=r.randint(0, 10**6, 300).tolist(): (list(x),)),
        (edit_distance, lambda a=r.randint(0, 4, 300).tolist(), b=r.randint(0, 4, 280).tolist(): (a, b)),
        (knapsack, lambda w=r.randint(1, 40, 60).tolist(), v=r.randint(1, 99, 60).tolist(): (w, v, 1000)),
        (matrix_product, lambda a=r.rand(60, 60).tolist(): (a, a, [[0.0] * 60 for _ in range(60)])),
        (pi_by_chance, lambda: (random.seed(1) or 100_000,)),
        (blur, lambda x=r.randint(0, 256, (120, 160)).astype(np.uint8): (x, np.zeros_like(x))),
        (smoothed, lambda x=r.rand(50_000).astype(np.float32): (x, np.zeros_like(x))),
        (histogram, lambda x=r.randint(0, 256, 100_000).astype(np.uint8): (x, np.zeros(256, np.int32)))]


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def timed(function, arguments):
    """The first call, the shortest of later ones, and what the first one gave, with its arrays."""
    times = []
    for k in range(ROUNDS):
        args = arguments()
        begin = time.perf_counter()
        result = function(*args)
        times.append(time.perf_counter() - begin)
        if k == 0:
            shown = repr(result), [a.tobytes() for a in args if isinstance(a, np.ndarray)]
    return times[0], min(times[1:]), shown


def peer_row(function, arguments, jitted, ratios):
    """Numba's columns; nothing where it refuses the function, such as for lists of lists as arguments."""
    try:
        begin, peer, _ = timed(numba.njit(function), arguments)
    except (numba.core.errors.NumbaError, TypeError):
        return "    refuses"
    ratios.append(peer / jitted)
    return f" {peer * 1e3:7.3f} ms {ratios[-1]:7.2f} {begin * 1e3:5.0f} ms"


def main(words):
    print(f"{'':20s} {'plain':>10s} {'jit':>10s} {'ratio':>7s} {'first':>8s}" +
          (f" {'numba':>10s} {'ratio':>7s} {'first':>8s}" if numba else ""))
    ratios, against, firsts = [], [], []
    for function, arguments in programs():
        if words and not any(w in function.__name__ for w in words):
            continue
        _, plain, shown = timed(function, arguments)
        first, jitted, same = timed(ms.jit(function), arguments)
        assert same == shown, f"{function.__name__} gives something else"
        ratios.append(plain / jitted)
        firsts.append(first)
        row = (f"{function.__name__:20s} {plain * 1e3:7.2f} ms {jitted * 1e3:7.3f} ms {ratios[-1]:7.1f} "
               f"{first * 1e3:5.1f} ms")
        if numba and function not in CALLS:
            row += peer_row(function, arguments, jitted, against)
        print(row, flush=True)
    print(f"geometric mean of {len(ratios)}: {mean(ratios):.1f}; first call, median: "
          f"{1e3 * sorted(firsts)[len(firsts) // 2]:.1f} ms")
    if against:
        print(f"Numba's time by ours, geometric mean of {len(against)}: {mean(against):.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
