"""Plain and captured times of four functions on a photograph of scikit-learn, as a table and as a plot
(speedups.png)."""

import os
import tempfile

import matplotlib
import numpy as np
from sklearn.datasets import load_sample_image

import pijit as ms
from pijit import ops

matplotlib.use("Agg")

photo = ms.Tensor((load_sample_image("flower.jpg") / 255).astype(np.float32)[:256, :384].copy())


def gray(x):
    return x[:, :, 0] * 0.299 + x[:, :, 1] * 0.587 + x[:, :, 2] * 0.114


def vignette(x):
    h, w, _ = x.shape
    v, u = ops.linspace(-1.0, 1.0, h).reshape((h, 1)), ops.linspace(-1.0, 1.0, w).reshape((1, w))
    return x * ops.exp(-(u * u + v * v)).expand_dims(2)


def edges(x):
    g = gray(x)
    dx, dy = g[:, 1:] - g[:, :-1], g[1:] - g[:-1]
    return ops.sqrt(dx[:-1] ** 2 + dy[:, :-1] ** 2)


def tones(x):
    y = (x - x.mean((0, 1))) / x.std((0, 1))
    return ops.clamp(0.5 + 0.25 * ops.tanh(y) * (1 + 0.1 * ops.sin(y)), 0.0, 1.0)


profiles = [ms.profile(f, photo, seconds=0.5) for f in (gray, vignette, edges, tones)]
for p in profiles:
    print(p.headline())
path = os.path.join(tempfile.mkdtemp(), "speedups.png")
profiles[-1].plot().savefig(path)
print("the last one drawn:", os.path.getsize(path) > 10000)
