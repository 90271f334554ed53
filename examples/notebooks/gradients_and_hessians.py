# %% [markdown]
# # Gradients and Hessians
# Logistic regression on scikit-learn's table of tumours, by gradient descent and by Newton's method. Derivatives are
# functions of functions:
# `value_and_grad`, `jacrev`, `hessian`; captured, a function and its derivatives are one graph.

# %%
# %load_ext pijit
# %pijit on
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import pijit as ms
from pijit import ops

table = load_breast_cancer()
data = table.data / np.abs(table.data).max(0)
x = ms.Tensor(np.hstack([data, np.ones((len(data), 1))]).astype(np.float32))
y = ms.Tensor((2.0 * table.target - 1).astype(np.float32))
x.shape

# %%
def loss(w):
    return ops.log(1 + ops.exp(-y * ops.matmul(x, w))).mean() + 5e-4 * (w * w).sum()


w = ms.Tensor(np.zeros(x.shape[1], np.float32))
value, slope = ms.value_and_grad(loss)(w)
print(value, slope.shape)

# %% [markdown]
# Gradient descent, many small steps.

# %%
with_gradient = ms.value_and_grad(loss)


def descend(w):
    value, g = with_gradient(w)
    return w - 1.5 * g, value


w, descent = ms.Tensor(np.zeros(x.shape[1], np.float32)), []
for _ in range(400):
    w, value = descend(w)
    descent.append(float(value))
descent[0], descent[-1]

# %% [markdown]
# Newton's method asks for the Hessian, and takes few steps.

# %%
second = ms.hessian(loss)
first = ms.grad(loss)


def newton(w):
    return w - ops.matmul(ms.mint.inverse(second(w)), first(w))


w, steps = ms.Tensor(np.zeros(x.shape[1], np.float32)), []
for _ in range(8):
    steps.append(float(loss(w)))
    w = newton(w)
right = ((ops.matmul(x, w) > 0).asnumpy() == (table.target == 1)).mean()
print(f"{right:.1%} right after {len(steps)} steps")

# %%
fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
ax.plot(descent, label="gradient descent", color="#2a78d6")
ax.plot(steps, marker="o", label="Newton", color="#eb6834")
ax.set(xlabel="step", ylabel="loss", xscale="symlog")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)

# %%
h = second(w).asnumpy()
print("symmetric up to", np.abs(h - h.T).max(), "smallest eigenvalue", np.linalg.eigvalsh(h).min())

# %% [markdown]
# Where the time of a Hessian goes:

# %%
# %pijit_profile newton(w)

# %%
# %pijit status
