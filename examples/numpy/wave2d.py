"""A membrane: the wave equation in two dimensions by leapfrog, with damping at the border."""

import numpy as np


def laplacian(u, h):
    out = np.zeros_like(u)
    out[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]) / h ** 2
    return out


def gaussian(n, centre, width):
    x = np.linspace(0, 1, n)
    X, Y = np.meshgrid(x, x, indexing="ij")
    return np.exp(-((X - centre[0]) ** 2 + (Y - centre[1]) ** 2) / width ** 2)


def sponge(n, margin, strength):
    d = np.arange(n)
    edge = np.minimum(d, n - 1 - d)
    ramp = np.clip((margin - edge) / margin, 0, 1) ** 2 * strength
    return np.maximum(ramp[:, None], ramp[None, :])


def step(u, before, damping, c, h, dt):
    new = (2 - damping * dt) * u - (1 - damping * dt) * before + (c * dt) ** 2 * laplacian(u, h)
    new[0, :] = new[-1, :] = 0
    new[:, 0] = new[:, -1] = 0
    return new


def energy(u, before, c, h, dt):
    velocity = (u - before) / dt
    gx, gy = np.diff(u, axis=0) / h, np.diff(u, axis=1) / h
    return 0.5 * h * h * (np.sum(velocity ** 2) + c ** 2 * (np.sum(gx ** 2) + np.sum(gy ** 2)))


def simulate(u, damping, c, h, dt, steps):
    before = u.copy()
    energies = []
    for k in range(steps):
        u, before = step(u, before, damping, c, h, dt), u
        if k % 10 == 0:
            energies.append(energy(u, before, c, h, dt))
    return u, np.array(energies)


def main(size=65, steps=60):
    h = 1 / (size - 1)
    u, energies = simulate(gaussian(size, (0.4, 0.5), 0.1), sponge(size, 10, 5.0), 1.0, h, 0.5 * h, steps)
    return u, energies, u.min(), u.max(), np.unravel_index(np.argmax(u), u.shape)


if __name__ == "__main__":
    print(main()[1:])
