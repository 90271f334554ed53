"""Newton's method for a Poisson regression on scikit-learn's table of diabetes: gradient and Hessian as one captured
graph, checked against a sum of outer products."""

import numpy as np
from sklearn.datasets import load_diabetes

import pijit as ms
from pijit import ops

table = load_diabetes()
x = ms.Tensor(np.hstack([table.data * 10, np.ones((len(table.data), 1))]).astype(np.float32))
y = ms.Tensor((table.target / 50).astype(np.float32))


def loss(w):
    eta = ops.matmul(x, w)
    return (ops.exp(eta) - y * eta).mean() + 1e-3 * (w * w).sum()


gradient, curvature = ms.grad(loss), ms.hessian(loss)


@ms.jit
def newton(w):
    g, h = gradient(w), curvature(w)
    return w - ops.matmul(ops.inverse(h), g), ops.sqrt((g * g).sum()), h


w = ms.Tensor(np.zeros(x.shape[1], np.float32))
for k in range(12):
    w, slope, h = newton(w)
    print(f"step {k}: loss {float(loss(w)):.6f}, slope {float(slope):.2e}")
    if float(slope) < 1e-5:
        break

last = newton(w)[2].asnumpy()
a, mu = x.asnumpy().astype(np.float64), np.exp(x.asnumpy().astype(np.float64) @ w.asnumpy())
by_hand = (a.T * mu) @ a / len(a) + 2e-3 * np.eye(a.shape[1])
print("Hessian agrees with the formula up to", f"{np.abs(last - by_hand).max():.1e}")
assert np.abs(last - by_hand).max() < 1e-3 and float(slope) < 1e-3
print(ms.profile(newton, w, seconds=0.5).headline())
