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

ROUNDS = 15


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


def newton(n):
    s = 0.0
    for k in range(1, n):
        x = 1.0 + k
        while abs(x * x - k) > 1e-12 * k:
            x -= (x * x - k) / (2.0 * x)
        s += x
    return s


def compensated_sum(x):
    s = rest = 0.0
    for v in x:
        y = v - rest
        t = s + y
        rest = (t - s) - y
        s = t
    return s


def normal_distribution(x):
    return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))


def black_scholes(prices, strike, rate, volatility, years, out):
    for i in range(len(prices)):
        spread = volatility * np.sqrt(years)
        d1 = (np.log(prices[i] / strike) + (rate + 0.5 * volatility**2) * years) / spread
        out[i] = (prices[i] * normal_distribution(d1) -
                  strike * np.exp(-rate * years) * normal_distribution(d1 - spread))


def decay(n, h):
    x, v = 1.0, 0.0
    for _ in range(n):
        a = -2.0 * x - 0.1 * v
        x, v = x + h * v, v + h * a
    return x, v


def time_warp(a, b, cost):
    cost[:, 0] = cost[0, :] = np.inf
    cost[0, 0] = 0.0
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            d = abs(a[i - 1] - b[j - 1])
            cost[i, j] = d + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    return cost[len(a), len(b)]


def life(board, after):
    n, m = board.shape
    for i in range(n):
        for j in range(m):
            alive = 0
            for di in (-1, 0, 1):
                for dj in (-1, 0, 1):
                    if di or dj:
                        alive += board[(i + di) % n, (j + dj) % m]
            after[i, j] = alive == 3 or (alive == 2 and board[i, j])


def pairwise_distances(points, out):
    for i in range(points.shape[0]):
        for j in range(points.shape[0]):
            d = 0.0
            for k in range(points.shape[1]):
                t = points[i, k] - points[j, k]
                d += t * t
            out[i, j] = np.sqrt(d)


def n_body(pos, vel, mass, steps, dt):
    n = len(mass)
    for _ in range(steps):
        for i in range(n):
            for j in range(i + 1, n):
                dx = pos[i, 0] - pos[j, 0]
                dy = pos[i, 1] - pos[j, 1]
                dz = pos[i, 2] - pos[j, 2]
                d = dx * dx + dy * dy + dz * dz
                mag = dt / (d * math.sqrt(d))
                vel[i, 0] -= dx * mass[j] * mag
                vel[i, 1] -= dy * mass[j] * mag
                vel[i, 2] -= dz * mass[j] * mag
                vel[j, 0] += dx * mass[i] * mag
                vel[j, 1] += dy * mass[i] * mag
                vel[j, 2] += dz * mass[i] * mag
        for i in range(n):
            for k in range(3):
                pos[i, k] += dt * vel[i, k]


def nearest_centers(points, centers, labels):
    for i in range(points.shape[0]):
        best, at = np.inf, 0
        for c in range(centers.shape[0]):
            d = 0.0
            for k in range(points.shape[1]):
                d += (points[i, k] - centers[c, k]) ** 2
            if d < best:
                best, at = d, c
        labels[i] = at


def sparse_product(data, indices, starts, x, y):
    for i in range(len(y)):
        s = 0.0
        for k in range(starts[i], starts[i + 1]):
            s += data[k] * x[indices[k]]
        y[i] = s


def largest_drawdown(prices):
    peak, worst = prices[0], 0.0
    for p in prices:
        peak = max(peak, p)
        worst = max(worst, (peak - p) / peak)
    return worst


def moving_average(x, width, out):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        if i >= width:
            s -= x[i - width]
        out[i] = s / min(i + 1, width)


def convolution(x, w, out):
    for i in range(len(out)):
        s = 0.0
        for k in range(len(w)):
            s += x[i + k] * w[k]
        out[i] = s


def laplace(u, v, turns):
    for _ in range(turns):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        u, v = v, u
    return u[1, 1]


def queens(n, row, left, right):
    if row == n:
        return 1
    found = 0
    for column in range(n):
        a, b, c = 1 << column, 1 << (row + column), 1 << (row - column + n)
        if not (left & a or right & b or (right >> 32) & c):
            found += queens(n, row + 1, left | a, right | b | (c << 32))
    return found


def walk(steps, out):
    x = 0.0
    for i in range(len(out)):
        x += steps[i] * 0.1 - 0.05 * x
        out[i] = x


def ising(spins, chances, beta):
    n, m = spins.shape
    flipped = 0
    for i in range(n):
        for j in range(m):
            around = spins[(i + 1) % n, j] + spins[i - 1, j] + spins[i, (j + 1) % m] + spins[i, j - 1]
            cost = 2 * spins[i, j] * around
            if cost <= 0 or chances[i, j] < math.exp(-beta * cost):
                spins[i, j] = -spins[i, j]
                flipped += 1
    return flipped


def metropolis(n):
    x, s = 0.0, 0.0
    for _ in range(n):
        y = x + random.random() - 0.5
        if random.random() < math.exp(min(0.0, 0.5 * (x * x - y * y))):
            x = y
        s += x
    return s / n


def kalman(z, out, q, r):
    x, p = 0.0, 1.0
    for i in range(len(z)):
        p = p + q
        gain = p / (p + r)
        x = x + gain * (z[i] - x)
        p = (1.0 - gain) * p
        out[i] = x


def pendulum(t, y):
    return y[1], -math.sin(y[0]) - 0.1 * y[1] + 0.2 * math.cos(t)


def step_of(f, t, y, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, (y[0] + h / 2 * k1[0], y[1] + h / 2 * k1[1]))
    k3 = f(t + h / 2, (y[0] + h / 2 * k2[0], y[1] + h / 2 * k2[1]))
    k4 = f(t + h, (y[0] + h * k3[0], y[1] + h * k3[1]))
    return (y[0] + h / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0]),
            y[1] + h / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1]))


def integrated(n):
    y = (0.1, 0.0)
    for i in range(n):
        y = step_of(pendulum, i * 0.01, y, 0.01)
    return y


def checksum(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ 0xEDB88320 if crc & 1 else crc >> 1
    return crc ^ 0xFFFFFFFF


def parsed(text):
    numbers, x, inside = [], 0, False
    for c in text:
        if 48 <= c <= 57:
            x, inside = x * 10 + c - 48, True
        elif inside:
            numbers.append(x)
            x, inside = 0, False
    return sum(numbers), len(numbers)


def counted_words(text):
    counts = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1
    return max(counts.values()), len(counts)


def primes_of_a_list(n):
    primes = []
    for k in range(2, n):
        for p in primes:
            if p * p > k:
                primes.append(k)
                break
            if k % p == 0:
                break
        else:
            primes.append(k)
    return len(primes), primes[-1]


def fourier(x, out):
    n = len(x)
    for k in range(n):
        s = 0j
        for j in range(n):
            s += x[j] * np.exp(-2j * np.pi * k * j / n)
        out[k] = s


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
        (histogram, lambda x=r.randint(0, 256, 100_000).astype(np.uint8): (x, np.zeros(256, np.int32))),
        (newton, lambda: (10_000,)), (compensated_sum, lambda x=r.rand(100_000): (x,)),
        (black_scholes, lambda x=50 + 100 * r.rand(5_000): (x, 100.0, 0.05, 0.2, 1.0, np.zeros_like(x))),
        (decay, lambda: (100_000, 1e-3)),
        (time_warp, lambda a=r.rand(200), b=r.rand(180): (a, b, np.zeros((201, 181)))),
        (life, lambda b=r.randint(0, 2, (60, 80)): (b, np.zeros_like(b))),
        (pairwise_distances, lambda p=r.rand(120, 3): (p, np.zeros((120, 120)))),
        (n_body, lambda p=r.rand(8, 3), v=r.rand(8, 3), m=r.rand(8): (p.copy(), v.copy(), m, 100, 1e-3)),
        (nearest_centers, lambda p=r.rand(1000, 4), c=r.rand(8, 4): (p, c, np.zeros(1000, np.int64))),
        (sparse_product, sparse_matrix), (largest_drawdown, lambda x=50 + r.rand(50_000): (x,)),
        (moving_average, lambda x=r.rand(50_000): (x, 20, np.zeros_like(x))),
        (convolution, lambda x=r.rand(5_000), w=r.rand(15): (x, w, np.zeros(4_986))),
        (laplace, lambda u=r.rand(100, 100): (u.copy(), u.copy(), 4)), (queens, lambda: (7, 0, 0, 0)),
        (walk, lambda x=r.rand(50_000): (x, np.zeros_like(x))),
        (ising, lambda c=r.rand(100, 100), s=r.choice([-1, 1], (100, 100)): (s.copy(), c, 0.4)),
        (metropolis, lambda: (random.seed(1) or 50_000,)),
        (kalman, lambda z=r.rand(50_000): (z, np.zeros_like(z), 1e-5, 0.01)), (integrated, lambda: (3_000,)),
        (checksum, lambda d=r.bytes(10_000): (d,)),
        (parsed, lambda t=" ".join(map(str, r.randint(0, 10**4, 5_000))).encode(): (t,)),
        (counted_words, lambda t=" ".join(map(str, r.randint(0, 999, 20_000))): (t,)),
        (primes_of_a_list, lambda: (10_000,)),
        (fourier, lambda x=r.rand(120) + 0j: (x, np.zeros_like(x)))]


def sparse_matrix():
    r = np.random.RandomState(1)
    counts = r.randint(0, 20, 2_000)
    starts = np.concatenate([[0], np.cumsum(counts)])
    return r.rand(starts[-1]), r.randint(0, 500, starts[-1]), starts, r.rand(500), np.zeros(2_000)


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
