"""Grids that are updated from their neighbours, turn by turn."""

import numpy as np

from .cases import program


def grids(shape, count, dtype=np.float64):
    return lambda g: [g.random(shape).astype(dtype) for _ in range(count)]


@program(small=(3, 20), medium=(400, 4000))
def jacobi_1d(turns, a, b):
    for _ in range(turns):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])


@jacobi_1d.arguments
def _(g, turns, n):
    return [turns, *grids(n, 2)(g)]


@program(small=(3, 12), medium=(60, 150))
def jacobi_2d(turns, a, b):
    for _ in range(turns):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])


@jacobi_2d.arguments
def _(g, turns, n):
    return [turns, *grids((n, n), 2)(g)]


@program(small=(2, 10), medium=(4, 120))
def seidel_2d(turns, a):
    n = a.shape[0]
    for _ in range(turns):
        for i in range(1, n - 1):
            a[i, 1:-1] += (a[i - 1, :-2] + a[i - 1, 1:-1] + a[i - 1, 2:] + a[i, 2:] + a[i + 1, :-2] +
                           a[i + 1, 1:-1] + a[i + 1, 2:])
            for j in range(1, n - 1):
                a[i, j] += a[i, j - 1]
                a[i, j] /= 9.0


@seidel_2d.arguments
def _(g, turns, n):
    return [turns, *grids((n, n), 1)(g)]


@program(small=(2, 6), medium=(15, 30))
def heat_3d(turns, a, b):
    for _ in range(turns):
        for u, v in ((a, b), (b, a)):
            c = u[1:-1, 1:-1, 1:-1]
            v[1:-1, 1:-1, 1:-1] = (0.125 * (u[2:, 1:-1, 1:-1] - 2.0 * c + u[:-2, 1:-1, 1:-1]) +
                                   0.125 * (u[1:-1, 2:, 1:-1] - 2.0 * c + u[1:-1, :-2, 1:-1]) +
                                   0.125 * (u[1:-1, 1:-1, 2:] - 2.0 * c + u[1:-1, 1:-1, :-2]) + c)


@heat_3d.arguments
def _(g, turns, n):
    return [turns, *grids((n, n, n), 2)(g)]


@program(small=(3, 8, 9), medium=(60, 120, 140))
def fdtd_2d(ex, ey, hz, source):
    for t in range(len(source)):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


@fdtd_2d.arguments
def _(g, turns, n, m):
    return [*grids((n, m), 3)(g), np.arange(turns) * 0.1]


@program(small=(2, 8), medium=(10, 100))
def alternating_directions(turns, u):
    n = u.shape[0]
    v, p, q = np.zeros_like(u), np.zeros_like(u), np.zeros_like(u)
    dx, dt = 1.0 / n, 1.0 / turns
    b1, b2 = 2.0 * dt / (dx * dx), dt / (dx * dx)
    a, c = -b1 / 2.0, -b2 / 2.0
    b, d = 1.0 + b1, 1.0 + b2
    for _ in range(turns):
        v[0, 1:-1] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, n - 1):
            p[1:-1, j] = -a / (a * p[1:-1, j - 1] + b)
            q[1:-1, j] = (-c * u[j, :-2] + (1.0 + 2.0 * c) * u[j, 1:-1] - c * u[j, 2:] -
                          a * q[1:-1, j - 1]) / (a * p[1:-1, j - 1] + b)
        v[-1, 1:-1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        u[1:-1, 0] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = u[1:-1, 0]
        for j in range(1, n - 1):
            p[1:-1, j] = -c / (c * p[1:-1, j - 1] + d)
            q[1:-1, j] = (-a * v[:-2, j] + (1.0 + 2.0 * a) * v[1:-1, j] - a * v[2:, j] -
                          c * q[1:-1, j - 1]) / (c * p[1:-1, j - 1] + d)
        u[1:-1, -1] = 1.0
        for j in range(n - 2, 0, -1):
            u[1:-1, j] = p[1:-1, j] * u[1:-1, j + 1] + q[1:-1, j]


@alternating_directions.arguments
def _(g, turns, n):
    return [turns, *grids((n, n), 1)(g)]


@program(small=(6, 7, 3), medium=(128, 128, 20))
def horizontal_diffusion(field, out, weight):
    n, m = out.shape[0], out.shape[1]
    lap = 4.0 * field[1:n + 3, 1:m + 3, :] - (field[2:n + 4, 1:m + 3, :] + field[0:n + 2, 1:m + 3, :] +
                                              field[1:n + 3, 2:m + 4, :] + field[1:n + 3, 0:m + 2, :])
    along = lap[1:, 1:m + 1, :] - lap[:-1, 1:m + 1, :]
    fx = np.where(along * (field[2:n + 3, 2:m + 2, :] - field[1:n + 2, 2:m + 2, :]) > 0, 0, along)
    across = lap[1:n + 1, 1:, :] - lap[1:n + 1, :-1, :]
    fy = np.where(across * (field[2:n + 2, 2:m + 3, :] - field[2:n + 2, 1:m + 2, :]) > 0, 0, across)
    out[:, :, :] = field[2:n + 2, 2:m + 2, :] - weight * (fx[1:, :, :] - fx[:-1, :, :] + fy[:, 1:, :] - fy[:, :-1, :])


@horizontal_diffusion.arguments
def _(g, n, m, k):
    return [g.random((n + 4, m + 4, k)), np.empty((n, m, k)), g.random((n, m, k))]


@program(small=(5, 6, 4), medium=(48, 48, 40))
def vertical_advection(rate, position, wind, u, stage, out):
    n, m, k = u.shape
    c, d = np.empty_like(u), np.empty_like(u)
    w = wind[:-1] + wind[1:]
    for z in range(k):
        if z == 0:
            g = 0.25 * w[:, :, 1]
            c[:, :, 0] = g * 0.5
            b = rate - c[:, :, 0]
            right = rate * position[:, :, 0] + stage[:, :, 0] - g * 0.5 * (u[:, :, 1] - u[:, :, 0])
            divisor = 1.0 / b
            d[:, :, 0] = right * divisor
            c[:, :, 0] = c[:, :, 0] * divisor
        elif z < k - 1:
            before, after = -0.25 * w[:, :, z], 0.25 * w[:, :, z + 1]
            a, e = before * 0.5, after * 0.5
            b = rate - a - e
            right = (rate * position[:, :, z] + stage[:, :, z] - before * 0.5 * (u[:, :, z - 1] - u[:, :, z]) -
                     after * 0.5 * (u[:, :, z + 1] - u[:, :, z]))
            divisor = 1.0 / (b - c[:, :, z - 1] * a)
            c[:, :, z] = e * divisor
            d[:, :, z] = (right - d[:, :, z - 1] * a) * divisor
        else:
            before = -0.25 * w[:, :, z]
            a = before * 0.5
            b = rate - a
            right = rate * position[:, :, z] + stage[:, :, z] - before * 0.5 * (u[:, :, z - 1] - u[:, :, z])
            divisor = 1.0 / (b - c[:, :, z - 1] * a)
            d[:, :, z] = (right - d[:, :, z - 1] * a) * divisor
    last = d[:, :, k - 1]
    out[:, :, k - 1] = rate * (last - position[:, :, k - 1])
    for z in range(k - 2, -1, -1):
        last = d[:, :, z] - c[:, :, z] * last
        out[:, :, z] = rate * (last - position[:, :, z])


@vertical_advection.arguments
def _(g, n, m, k):
    shape = (n, m, k)
    return [3.0 / 20.0, g.random(shape), g.random((n + 1, m, k)), g.random(shape), g.random(shape), np.zeros(shape)]


def pressure_source(b, rho, dt, u, v, dx, dy):
    b[1:-1, 1:-1] = rho * (1 / dt * ((u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx) +
                                     (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)) -
                           ((u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx))**2 -
                           2 * ((u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)) -
                           ((v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy))**2)


def pressure(turns, p, dx, dy, b):
    for _ in range(turns):
        old = p.copy()
        p[1:-1, 1:-1] = (((old[1:-1, 2:] + old[1:-1, :-2]) * dy**2 + (old[2:, 1:-1] + old[:-2, 1:-1]) * dx**2) /
                         (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1])
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0


@program(small=(3, 4, 11), medium=(12, 20, 61))
def cavity_flow(turns, inner, u, v, p, dx, dy, dt, rho, nu):
    b = np.zeros_like(p)
    for _ in range(turns):
        un, vn = u.copy(), v.copy()
        pressure_source(b, rho, dt, u, v, dx, dy)
        pressure(inner, p, dx, dy, b)
        u[1:-1, 1:-1] = (un[1:-1, 1:-1] - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, :-2]) -
                         vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[:-2, 1:-1]) -
                         dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2]) +
                         nu * (dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, :-2]) +
                               dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[:-2, 1:-1])))
        v[1:-1, 1:-1] = (vn[1:-1, 1:-1] - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, :-2]) -
                         vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[:-2, 1:-1]) -
                         dt / (2 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1]) +
                         nu * (dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, :-2]) +
                               dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[:-2, 1:-1])))
        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = 0
        v[-1, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0


@cavity_flow.arguments
def _(g, turns, inner, n):
    h = 2.0 / (n - 1)
    return [turns, inner, *(np.zeros((n, n)) for _ in range(3)), h, h, 1.0 / (n - 1)**2, 1.0, 0.1]


@program(small=(2, 3, 8), medium=(10, 15, 41))
def channel_flow(most, inner, u, v, p, dx, dy, dt, rho, nu, force):
    moved, turns = 1.0, 0
    while moved > 1e-5 and turns < most:
        un, vn = u.copy(), v.copy()
        east, west = np.roll(un, -1, axis=1), np.roll(un, 1, axis=1)
        veast, vwest = np.roll(vn, -1, axis=1), np.roll(vn, 1, axis=1)
        b = np.zeros_like(p)
        ux, vy = (east[1:-1] - west[1:-1]) / (2 * dx), (vn[2:] - vn[:-2]) / (2 * dy)
        uy, vx = (un[2:] - un[:-2]) / (2 * dy), (veast[1:-1] - vwest[1:-1]) / (2 * dx)
        b[1:-1] = rho * ((ux + vy) / dt - ux**2 - 2 * uy * vx - vy**2)
        for _ in range(inner):
            pn = p.copy()
            p[1:-1] = (((np.roll(pn, -1, axis=1)[1:-1] + np.roll(pn, 1, axis=1)[1:-1]) * dy**2 +
                        (pn[2:] + pn[:-2]) * dx**2) / (2 * (dx**2 + dy**2)) -
                       dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1])
            p[-1, :] = p[-2, :]
            p[0, :] = p[1, :]
        px = np.roll(p, -1, axis=1)[1:-1] - np.roll(p, 1, axis=1)[1:-1]
        u[1:-1] = (un[1:-1] - un[1:-1] * dt / dx * (un[1:-1] - west[1:-1]) -
                   vn[1:-1] * dt / dy * (un[1:-1] - un[:-2]) - dt / (2 * rho * dx) * px +
                   nu * (dt / dx**2 * (east[1:-1] - 2 * un[1:-1] + west[1:-1]) +
                         dt / dy**2 * (un[2:] - 2 * un[1:-1] + un[:-2])) + force * dt)
        v[1:-1] = (vn[1:-1] - un[1:-1] * dt / dx * (vn[1:-1] - vwest[1:-1]) -
                   vn[1:-1] * dt / dy * (vn[1:-1] - vn[:-2]) - dt / (2 * rho * dy) * (p[2:] - p[:-2]) +
                   nu * (dt / dx**2 * (veast[1:-1] - 2 * vn[1:-1] + vwest[1:-1]) +
                         dt / dy**2 * (vn[2:] - 2 * vn[1:-1] + vn[:-2])))
        u[0, :] = u[-1, :] = v[0, :] = v[-1, :] = 0
        moved = (np.sum(u) - np.sum(un)) / np.sum(u)
        turns += 1
    return turns


@channel_flow.arguments
def _(g, most, inner, n):
    h = 2.0 / (n - 1)
    return [most, inner, *(np.zeros((n, n)) for _ in range(2)), np.ones((n, n)), h, h, 0.01, 1.0, 0.1, 1.0]
