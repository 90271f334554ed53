# %% [markdown]
# # Why is it slow?
# Capture splits a function where it cannot go on: there a *graph breaks*, and CPython runs the line. Each break has a
# line, a reason and a hint.
# The table of wines of scikit-learn: scale it, then weigh the neighbours of each wine.

# %%
# %load_ext pijit
import time

import numpy as np
from sklearn.datasets import load_wine

import pijit as ms
from pijit import ops

wine = load_wine()
x = ms.Tensor(wine.data.astype(np.float32))
y = ms.Tensor(np.eye(3, dtype=np.float32)[wine.target])
x

# %% [markdown]
# ## As one might write it first

# %%
times = []


def scaled(x):
    spread = x.std(0)
    if float(spread.min()) < 1e-6:  # asks for a number: the graph ends here
        spread = spread + 1
    return (x - x.mean(0)) / spread


@ms.jit
def votes(x, y, width):
    begin = time.perf_counter()
    z = scaled(x)
    distance = ((z[:, None] - z[None]) ** 2).sum(2)
    near = ops.exp(-distance / width)
    total = near.asnumpy().sum()
    share = ops.matmul(near, y) / near.sum(1, keepdims=True)
    times.append(time.perf_counter() - begin)
    return share, total


for width in (1.0, 2.0, 2.0):
    share, total = votes(x, y, width)
print(f"{(share.asnumpy().argmax(1) == wine.target).mean():.1%} right")
ms.explain(votes)

# %% [markdown]
# ## What its hints say
# Measure outside, keep Tensors, decide with `ops.where`.

# %%
def scaled_without_numbers(x):
    spread = x.std(0)
    return (x - x.mean(0)) / ops.where(spread < 1e-6, spread + 1, spread)


@ms.jit
def votes_in_one_graph(x, y, width):
    z = scaled_without_numbers(x)
    distance = ((z[:, None] - z[None]) ** 2).sum(2)
    near = ops.exp(-distance / width)
    return ops.matmul(near, y) / near.sum(1, keepdims=True), near.sum()


for width in (1.0, 2.0, 2.0):
    share, total = votes_in_one_graph(x, y, width)
print(ms.explain(votes_in_one_graph))

# %% [markdown]
# ## What it brought

# %%
before, after = (ms.profile(f, x, y, 2.0, seconds=0.6) for f in (votes, votes_in_one_graph))
print(before.headline())
print(after.headline())

# %%
before

# %% [markdown]
# `%%pijit_compare` runs a cell both ways from the same state and compares the bits of all results.

# %%
# %%pijit_compare
nearest = votes_in_one_graph(x, y, 0.5)[0].argmax(1)
