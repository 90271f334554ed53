"""Physics, signals and money: formulas, particles, fractals, integrals, filters of states."""

import numpy as np

from .cases import program


def forces(pos, mass, gravity, softening):
    x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    inverse = dx**2 + dy**2 + dz**2 + softening**2
    inverse[inverse > 0] = inverse[inverse > 0]**(-1.5)
    ax = gravity * (dx * inverse) @ mass
    ay = gravity * (dy * inverse) @ mass
    az = gravity * (dz * inverse) @ mass
    return np.hstack((ax, ay, az))


def energies(pos, vel, mass, gravity):
    kinetic = 0.5 * np.sum(mass * vel**2)
    x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    inverse = np.sqrt(dx**2 + dy**2 + dz**2)
    inverse[inverse > 0] = 1.0 / inverse[inverse > 0]
    return kinetic, gravity * np.sum(np.sum(np.triu(-(mass * mass.T) * inverse, 1)))


@program(small=(5, 3), medium=(60, 30))
def n_body(mass, pos, vel, turns, dt, gravity, softening):
    kinetic, potential = np.empty(turns + 1), np.empty(turns + 1)
    vel -= np.mean(mass * vel, axis=0) / np.mean(mass)
    acc = forces(pos, mass, gravity, softening)
    kinetic[0], potential[0] = energies(pos, vel, mass, gravity)
    for i in range(turns):
        vel += acc * dt / 2.0
        pos += vel * dt
        acc = forces(pos, mass, gravity, softening)
        vel += acc * dt / 2.0
        kinetic[i + 1], potential[i + 1] = energies(pos, vel, mass, gravity)
    return kinetic, potential


@n_body.arguments
def _(g, n, turns):
    return [20.0 * np.ones((n, 1)) / n, g.standard_normal((n, 3)), g.standard_normal((n, 3)), turns, 0.01, 1.0, 0.1]


@program(small=(12, 10, 8), medium=(150, 120, 40))
def mandelbrot_masks(nx, ny, most):
    x = np.linspace(-2.25, 0.75, nx)
    y = np.linspace(-1.25, 1.25, ny)
    c = x + y[:, None] * 1j
    n = np.zeros(c.shape, dtype=np.int64)
    z = np.zeros_like(c)
    for i in range(most):
        inside = np.less(abs(z), 2.0)
        n[inside] = i
        z[inside] = z[inside]**2 + c[inside]
    n[n == most - 1] = 0
    return z, n


@mandelbrot_masks.arguments
def _(g, nx, ny, most):
    return [nx, ny, most]


@program(small=(12, 10, 8), medium=(150, 120, 60))
def mandelbrot_shrinking(nx, ny, most):
    xi, yi = np.mgrid[0:nx, 0:ny]
    c = np.linspace(-2.0, 0.5, nx)[xi] + 1j * np.linspace(-1.25, 1.25, ny)[yi]
    n = np.zeros(c.shape, dtype=np.int64)
    xi.shape = yi.shape = c.shape = nx * ny
    where, found = np.arange(nx * ny), np.zeros(nx * ny, np.int64)
    point = np.zeros(nx * ny, c.dtype)
    for i in range(most):
        if not len(point):
            break
        np.multiply(point, point, point)
        np.add(point, c, point)
        gone = abs(point) > 2.0
        found[where[gone]] = i + 1
        stays = ~gone
        point, c, where = point[stays], c[stays], where[stays]
    n[:, :] = found.reshape(nx, ny)
    return n


@mandelbrot_shrinking.arguments
def _(g, nx, ny, most):
    return [nx, ny, most]


@program(small=(4, 3, 5), medium=(50, 3, 32))
def contour_integral(hamiltonians, points, y):
    order = hamiltonians.shape[0]
    n = hamiltonians.shape[1]
    p0, p1 = np.zeros((n, n), np.complex128), np.zeros((n, n), np.complex128)
    for z in points:
        t = np.zeros((n, n), np.complex128)
        for k in range(order):
            t += z**(order // 2 - k) * hamiltonians[k]
        x = np.linalg.inv(t)
        if abs(z) < 1.0:
            x = -x
        p0 += x @ y
        p1 += z * (x @ y)
    return p0, p1


@contour_integral.arguments
def _(g, n, order, count):
    def number(*shape):
        return g.random(shape) + 1j * g.random(shape)
    return [number(order, n, n), number(count), np.eye(n, dtype=np.complex128)]


@program(small=(2, 3, 2, 2, 3, 3, 4), medium=(2, 4, 3, 3, 6, 4, 12))
def self_energies(neighbours, dh, green, d, sigma):
    for k in range(green.shape[0]):
        for e in range(green.shape[1]):
            for q in range(d.shape[0]):
                for w in range(d.shape[1]):
                    for i in range(3):
                        for a in range(neighbours.shape[0]):
                            for b in range(neighbours.shape[1]):
                                if e - w >= 0:
                                    left = green[k, e - w, neighbours[a, b]] @ dh[a, b, i]
                                    right = d[q, w, a, b, i] * dh[a, b, i]
                                    sigma[k, e, a] += left @ right


@self_energies.arguments
def _(g, nk, ne, nq, nw, atoms, nb, norb):
    def number(*shape):
        return g.random(shape) + 1j * g.random(shape)
    return [g.integers(0, atoms, (atoms, nb)), number(atoms, nb, 3, norb, norb), number(nk, ne, atoms, norb, norb),
            number(nq, nw, atoms, nb, 3), np.zeros((nk, ne, atoms, norb, norb), np.complex128)]


@program(small=(6,), medium=(400,))
def kalman(measured, dt, noise, error):
    f = np.array([[1.0, dt], [0.0, 1.0]])
    h = np.array([[1.0, 0.0]])
    q = noise * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
    x, p = np.zeros(2), np.eye(2)
    out = np.empty((len(measured), 2))
    for t in range(len(measured)):
        x = f @ x
        p = f @ p @ f.T + q
        s = (h @ p @ h.T)[0, 0] + error
        gain = (p @ h.T)[:, 0] / s
        x = x + gain * (measured[t] - x[0])
        p = p - np.outer(gain, h @ p)
        out[t] = x
    return out


@kalman.arguments
def _(g, n):
    return [np.cumsum(g.standard_normal(n)), 0.1, 0.5, 1.0]


@program(small=(20, 4), medium=(5000, 60))
def monte_carlo(normal, price, strike, rate, volatility, years):
    steps = normal.shape[0]
    dt = years / steps
    path = np.full(normal.shape[1], price)
    total = np.zeros(normal.shape[1])
    for t in range(steps):
        path = path * np.exp((rate - 0.5 * volatility**2) * dt + volatility * np.sqrt(dt) * normal[t])
        total += path
    payoff = np.maximum(total / steps - strike, 0.0)
    return np.exp(-rate * years) * payoff.mean(), payoff.std()


@monte_carlo.arguments
def _(g, paths, steps):
    return [g.standard_normal((steps, paths)), 100.0, 105.0, 0.03, 0.2, 1.0]


@program(small=(200, 8), medium=(100_000, 100))
def azimuthal_integration(data, radius, count):
    largest = radius.max()
    result = np.zeros(count)
    for i in range(count):
        r1 = largest * i / count
        r2 = largest * (i + 1) / count
        mask = np.logical_and(r1 <= radius, radius < r2)
        values = data[mask]
        result[i] = values.mean()
    return result


@azimuthal_integration.arguments
def _(g, n, count):
    return [g.random(n), g.random(n), count]


@program(small=(20,), medium=(200_000,))
def arc_distance(theta1, phi1, theta2, phi2):
    t = np.sin((theta2 - theta1) / 2)**2 + np.cos(theta1) * np.cos(theta2) * np.sin((phi2 - phi1) / 2)**2
    return 2 * np.arctan2(np.sqrt(t), np.sqrt(1 - t))


@arc_distance.arguments
def _(g, n):
    return [g.random(n) for _ in range(4)]


def normal_distribution(x):
    k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    w = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    w = 1.0 - 0.39894228040143268 * np.exp(-0.5 * x * x) * w
    return np.where(x < 0, 1.0 - w, w)


@program(small=(20,), medium=(100_000,))
def black_scholes(price, strike, years, rate, volatility):
    root = np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * volatility**2) * years) / (volatility * root)
    d2 = d1 - volatility * root
    n1, n2 = normal_distribution(d1), normal_distribution(d2)
    discount = np.exp(-rate * years)
    call = price * n1 - strike * discount * n2
    return call, strike * discount * (1.0 - n2) - price * (1.0 - n1)


@black_scholes.arguments
def _(g, n):
    return [g.uniform(5, 30, n), g.uniform(1, 100, n), g.uniform(0.25, 10, n), 0.02, 0.3]


@program(small=(8, 9), medium=(700, 800))
def compute(x, y, a, b, c):
    return np.clip(x, 2, 10) * a + y * b + c


@compute.arguments
def _(g, n, m):
    return [g.integers(0, 1000, (n, m)), g.integers(0, 1000, (n, m)), 4, 3, 9]


@program(small=(10,), medium=(2000,))
def go_fast(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


@go_fast.arguments
def _(g, n):
    return [g.random((n, n))]
