"""An epidemic in age groups by its equations, and in people by chance."""

import numpy as np


def rates(state, contacts, infect, recover, groups):
    s, i, r = state
    force = infect * (contacts @ (i / groups))
    return np.stack([-force * s, force * s - recover * i, recover * i])


def course(state, contacts, infect, recover, h, turns):
    groups = state.sum(axis=0)
    path = np.empty((turns + 1, *state.shape))
    path[0] = state
    for k in range(turns):
        k1 = rates(state, contacts, infect, recover, groups)
        k2 = rates(state + h / 2 * k1, contacts, infect, recover, groups)
        state = state + h * k2
        path[k + 1] = state
    return path


def people(x, y, ill, days, draws, reach=0.06, infect=0.3, length=6):
    since = np.where(ill, 0, -1)
    counts = []
    for day in range(days):
        sick = (since >= 0) & (since < length)
        d2 = (x[:, None] - x[None, sick]) ** 2 + (y[:, None] - y[None, sick]) ** 2
        meets = (d2 < reach**2).sum(axis=1)
        caught = (since < 0) & (draws[day] < 1 - (1 - infect) ** meets)
        since[since >= 0] += 1
        since[caught] = 0
        counts.append([np.count_nonzero(since < 0), sick.sum(), (since >= length).sum()])
    return np.array(counts)


def peak(path):
    sick = path[:, 1].sum(axis=1)
    return sick.argmax(), sick.max(), path[-1, 2].sum() / path[0].sum()


def main(n=200):
    rng = np.random.default_rng(2)
    contacts = np.array([[8.0, 3.0, 1.0], [3.0, 6.0, 2.0], [1.0, 2.0, 3.0]])
    state = np.array([[990.0, 1500.0, 700.0], [10.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    path = course(state, contacts, 0.03, 0.1, 0.5, 160)
    ill = np.zeros(n, dtype=bool)
    ill[:5] = True
    return peak(path), path[::40], people(rng.random(n), rng.random(n), ill, 20, rng.random((20, n)))


if __name__ == "__main__":
    print(main()[0])
