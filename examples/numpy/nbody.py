"""Bodies under gravity by broadcasting and velocity Verlet: energies, momenta and the centre of mass."""

import numpy as np


def accelerations(pos, mass, g, softening):
    d = pos[None, :, :] - pos[:, None, :]
    inverse = (d ** 2).sum(axis=2) + softening ** 2
    inverse = inverse ** -1.5
    return g * (d * (mass[None, :, None] * inverse[:, :, None])).sum(axis=1)


def accelerations_by_axes(pos, mass, g, softening):
    x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    inv3 = dx ** 2 + dy ** 2 + dz ** 2 + softening ** 2
    inv3[inv3 > 0] = inv3[inv3 > 0] ** (-1.5)
    ax, ay, az = g * (dx * inv3) @ mass, g * (dy * inv3) @ mass, g * (dz * inv3) @ mass
    return np.stack((ax, ay, az), axis=-1)


def energy(pos, vel, mass, g, softening):
    kinetic = 0.5 * np.sum(mass[:, None] * vel ** 2)
    d = pos[None, :, :] - pos[:, None, :]
    r = np.sqrt((d ** 2).sum(axis=-1) + softening ** 2)
    upper = np.triu(mass[:, None] * mass[None, :] / r, 1)
    return kinetic, -g * upper.sum()


def centre(pos, mass):
    return np.sum(pos * mass[:, None], axis=0) / np.sum(mass)


def simulate(pos, vel, mass, g, softening, dt, steps):
    acc = accelerations(pos, mass, g, softening)
    history = np.zeros((steps, 2))
    for k in range(steps):
        vel += acc * dt / 2
        pos += vel * dt
        acc = accelerations(pos, mass, g, softening)
        vel += acc * dt / 2
        history[k] = energy(pos, vel, mass, g, softening)
    return history


def main(count=40, steps=30):
    rng = np.random.default_rng(17)
    mass = rng.uniform(0.5, 1.5, count) / count
    pos, vel = rng.standard_normal((count, 3)), 0.3 * rng.standard_normal((count, 3))
    vel -= np.mean(mass[:, None] * vel, 0) / np.mean(mass)
    history = simulate(pos, vel, mass, 1.0, 0.1, 0.01, steps)
    other = accelerations_by_axes(pos, mass, 1.0, 0.1)
    total = history.sum(axis=1)
    return history, np.ptp(total) / np.abs(total[0]), centre(pos, mass), other, pos


if __name__ == "__main__":
    print(main()[1:3])
