"""A script as people write it: no decorator, nothing about capture. It paints a photograph of scikit-learn by gradient
descent: the fewest brightness changes that still look like it (total variation).

    python examples/scripts/whole_script.py                                  plainly
    python -m pijit --report examples/scripts/whole_script.py                captured, and what that brought"""

import numpy as np
from sklearn.datasets import load_sample_image

import pijit as ms
from pijit import ops

STEPS, WEIGHT = 60, 0.12


def smoothness(x):
    dx, dy = x[:, 1:] - x[:, :-1], x[1:] - x[:-1]
    return ops.sqrt(dx * dx + 1e-4).sum() + ops.sqrt(dy * dy + 1e-4).sum()


def loss(x, noisy):
    return ((x - noisy) ** 2).sum() / 2 + WEIGHT * smoothness(x)


def clean(noisy):
    slope = ms.value_and_grad(loss)
    x = noisy
    for k in range(STEPS):
        value, g = slope(x, noisy)
        x = x - 0.06 * g
        if k % 20 == 0:
            print(f"step {k}: {float(value):.1f}")
    return x


def main():
    photo = (load_sample_image("china.jpg").mean(2) / 255).astype(np.float32)[100:300, 200:500]
    noisy = photo + np.random.RandomState(0).normal(0, 0.1, photo.shape).astype(np.float32)
    cleaned = clean(ms.Tensor(noisy)).asnumpy()
    before, after = np.sqrt(((noisy - photo) ** 2).mean()), np.sqrt(((cleaned - photo) ** 2).mean())
    print(f"noise {before:.4f}, then {after:.4f}")
    assert after < before


if __name__ == "__main__":
    main()
