# %% [markdown]
# # How much does capture bring?
# The same functions plain and captured, over sizes. `pijit.profile` runs both ways in turn, so that what else
# the machine does falls on both alike.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

import pijit as ms
from pijit import nn, ops

image = (load_sample_image("china.jpg").mean(2) / 255).astype(np.float32)
image.shape

# %% [markdown]
# Three functions: a chain of elementwise operations (one kernel when captured), a filter, and a training step
# of a small network.

# %%
def contrast(x):
    y = (x - x.mean()) / (x.std() + 1e-3)
    return ops.sigmoid(2 * y) * ops.tanh(y) + 0.5 * ops.exp(-y * y)


def edges(x):
    dx, dy = x[1:-1, 2:] - x[1:-1, :-2], x[2:, 1:-1] - x[:-2, 1:-1]
    return ops.sqrt(dx * dx + dy * dy + 1e-6)


net = nn.SequentialCell(nn.Dense(32, 64), nn.Tanh(), nn.Dense(64, 1))
optimizer = nn.SGD(net.trainable_params(), 1e-3)
gradients = ms.value_and_grad(lambda x: ((net(x[:, :32]) - x[:, 32:33]) ** 2).mean(), None, optimizer.parameters)


def step(x):
    loss, grads = gradients(x)
    optimizer(grads)
    return loss


# %%
sizes = [40, 80, 160, 320]
results = {}
for f in (contrast, edges, step):
    results[f.__name__] = [ms.profile(f, ms.Tensor(image[:n, :n].copy()), seconds=0.4) for n in sizes]
for name, profiles in results.items():
    print(name, [f"{n}²: {p.speedup.value:.1f} ({p.speedup.low:.1f} to {p.speedup.high:.1f})"
                 for n, p in zip(sizes, profiles)])

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for (name, profiles), color in zip(results.items(), ("#2a78d6", "#1baf7a", "#eb6834")):
    s = [p.speedup for p in profiles]
    left.errorbar(sizes, [x.value for x in s], yerr=[[x.value - x.low for x in s], [x.high - x.value for x in s]],
                  marker="o", capsize=3, label=name, color=color)
    right.plot(sizes, [p.captured.median * 1e6 for p in profiles], marker="o", color=color, label=name)
    right.plot(sizes, [p.plain.median * 1e6 for p in profiles], marker="o", color=color, ls=":")
left.axhline(1, color="#b5b3ac", lw=1)
left.set(xlabel="pixels on a side", ylabel="times as fast captured", xscale="log")
right.set(xlabel="pixels on a side", ylabel="µs per call (dotted: plain)", xscale="log", yscale="log")
for ax in (left, right):
    ax.set_xticks(sizes, sizes)
    ax.minorticks_off()
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)

# %% [markdown]
# One profile says more: the parts of the time, and each kernel against what this machine can do.

# %%
results["contrast"][-1]

# %%
results["step"][0].plot()
