"""Conway's game of life by slices and by rolling, and what comes of some known figures."""

import numpy as np


def neighbours(z):
    n = np.zeros(z.shape, dtype=int)
    n[1:-1, 1:-1] = (z[:-2, :-2] + z[:-2, 1:-1] + z[:-2, 2:] + z[1:-1, :-2] + z[1:-1, 2:] + z[2:, :-2]
                     + z[2:, 1:-1] + z[2:, 2:])
    return n


def step(z):
    n = neighbours(z)
    birth = (n == 3) & (z == 0)
    survive = ((n == 2) | (n == 3)) & (z == 1)
    z[...] = 0
    z[birth | survive] = 1
    return z


def step_on_torus(z):
    n = sum(np.roll(np.roll(z, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
    return np.where((n == 3) | ((z == 1) & (n == 2)), 1, 0)


def evolve(z, turns):
    alive = np.empty(turns, dtype=int)
    for k in range(turns):
        step(z)
        alive[k] = z.sum()
    return alive


def evolve_on_torus(z, turns):
    for _ in range(turns):
        z = step_on_torus(z)
    return z


def place(shape, figure, at):
    z = np.zeros(shape, dtype=int)
    figure = np.array(figure)
    i, j = at
    z[i:i + figure.shape[0], j:j + figure.shape[1]] = figure
    return z


def box(z):
    rows, columns = np.nonzero(z)
    if rows.size == 0:
        return None
    return rows.min(), rows.max(), columns.min(), columns.max()


def main(size=64, turns=40):
    glider = place((size, size), [[0, 1, 0], [0, 0, 1], [1, 1, 1]], (3, 3))
    pentomino = place((size, size), [[0, 1, 1], [1, 1, 0], [0, 1, 0]], (size // 2, size // 2))
    torus = evolve_on_torus(glider.copy(), turns)
    return evolve(glider, turns), box(glider), evolve(pentomino, turns), box(pentomino), box(torus), pentomino


if __name__ == "__main__":
    print(main()[:5])
