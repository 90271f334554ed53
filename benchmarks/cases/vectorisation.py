"""Gradients of each of 256 samples for a network 64-128-128-10, and the Hessian of its output's sum by the 64 inputs;
tanh throughout."""

from head import Head


SIZES = ["per_sample_gradients", "hessian"]
SECONDS = 1.0
CALLS = 10


def _data():
    import numpy as np
    r = np.random.RandomState(0)
    sizes = (64, 128, 128, 10)
    weights = [(r.randn(m, n) / m ** 0.5).astype(np.float32) for m, n in zip(sizes, sizes[1:])]
    return weights, r.randn(256, 64).astype(np.float32), r.randn(256, 10).astype(np.float32)


def _network(tanh):
    def network(weights, x):
        for w in weights[:-1]:
            x = tanh(x @ w)
        return x @ weights[-1]

    def loss(weights, x, y):
        return ((network(weights, x) - y) ** 2).sum()
    return network, loss


def _pijit(name, use_jit):
    import pijit as ms
    weights, x, y = _data()
    weights, x, y = tuple(map(ms.Tensor, weights)), ms.Tensor(x), ms.Tensor(y)
    network, loss = _network(ms.ops.tanh)
    if name == "hessian":
        f, args = ms.hessian(lambda v: network(weights, v).sum()), (x[0],)
    else:
        # Gradients by the items of a tuple are left out, as in MindSpore: each matrix is an argument.
        by_weights = ms.grad(lambda x, y, *weights: loss(weights, x, y), (2, 3, 4))
        f, args = ms.vmap(by_weights, (0, 0, None, None, None)), (x, y, *weights)
    if use_jit:
        f = ms.jit(f)
    return Head(lambda: f(*args), lambda r: r.asnumpy())


def pijit(name):
    return _pijit(name, True)


def eager(name):
    return _pijit(name, False)


def _torch(name, compiled):
    import torch
    from torch.func import grad, hessian, vmap
    weights, x, y = _data()
    weights, x, y = tuple(map(torch.from_numpy, weights)), torch.from_numpy(x), torch.from_numpy(y)
    network, loss = _network(torch.tanh)
    if name == "hessian":
        f, args = hessian(lambda v: network(weights, v).sum()), (x[0],)
    else:
        f, args = vmap(grad(loss), (None, 0, 0)), (weights, x, y)
    if compiled:
        f = torch.compile(f)
    return Head(lambda: f(*args), lambda r: r.numpy())


def torch(name):
    return _torch(name, False)


def torch_compile(name):
    return _torch(name, True)


def jax(name):
    import jax
    import jax.numpy as jnp
    import numpy as np
    weights, x, y = _data()
    weights, x, y = tuple(map(jnp.asarray, weights)), jnp.asarray(x), jnp.asarray(y)
    network, loss = _network(jnp.tanh)
    if name == "hessian":
        f, args = jax.jit(jax.hessian(lambda v: network(weights, v).sum())), (x[0],)
    else:
        f, args = jax.jit(jax.vmap(jax.grad(loss), (None, 0, 0))), (weights, x, y)
    return Head(lambda: jax.block_until_ready(f(*args)), np.asarray)
