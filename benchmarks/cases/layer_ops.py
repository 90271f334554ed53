"""One layer's forward pass.

Softmax, layer norm and GELU on 256 x 1024, batch norm (training) on 32 x 32 x 28 x 28, pooling on 32 x 32 x 56 x 56,
Dense 1024 x 1024 with a residual."""

from head import Head


SIZES = ["softmax", "layer_norm", "gelu", "batch_norm", "max_pool_3x3", "avg_pool_2x2", "dense_residual"]
SECONDS = 1.0
CALLS = 10


def work(name):
    """Operands and results, once each; a product's operations."""
    n = 4 * 256 * 1024
    images = 4 * 32 * 32 * 56 * 56
    return {"flops": 2 * 256 * 1024 * 1024} if name == "dense_residual" else {
        "bytes": {"batch_norm": 2 * images // 4, "max_pool_3x3": images + images // 4,
                  "avg_pool_2x2": images + images // 4}.get(name, 2 * n)}


def _data(name):
    import numpy as np
    r = np.random.RandomState(0)
    shape = {"batch_norm": (32, 32, 28, 28), "max_pool_3x3": (32, 32, 56, 56),
             "avg_pool_2x2": (32, 32, 56, 56)}.get(name, (256, 1024))
    return r.randn(*shape).astype(np.float32), (r.randn(1024, 1024) * 0.03).astype(np.float32)


def _pijit(name, use_jit):
    import pijit as ms
    from pijit import nn, ops
    x, w = map(ms.Tensor, _data(name))
    norm = nn.LayerNorm((1024,), epsilon=1e-5)
    batch_norm = nn.BatchNorm2d(32)
    batch_norm.set_train()
    max_pool, avg_pool, dense = nn.MaxPool2d(3, 2), nn.AvgPool2d(2, 2), nn.Dense(1024, 1024, has_bias=False)
    dense.weight.set_data(w)
    f = {"softmax": lambda x: ops.softmax(x, -1), "layer_norm": lambda x: norm(x),
         "gelu": lambda x: ops.gelu(x, approximate="none"), "batch_norm": lambda x: batch_norm(x),
         "max_pool_3x3": lambda x: max_pool(x),
         "avg_pool_2x2": lambda x: avg_pool(x), "dense_residual": lambda x: dense(x) + x}[name]
    if use_jit:
        f = ms.jit(f)
    return Head(lambda: f(x), lambda r: r.asnumpy())


def pijit(name):
    return _pijit(name, True)


def eager(name):
    return _pijit(name, False)


def _torch(name, compiled):
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
    x, w = map(torch.from_numpy, _data(name))
    layer = {"layer_norm": lambda: nn.LayerNorm(1024), "batch_norm": lambda: nn.BatchNorm2d(32),
             "max_pool_3x3": lambda: nn.MaxPool2d(3, 2), "avg_pool_2x2": lambda: nn.AvgPool2d(2, 2)}.get(name)
    if layer:
        f = layer()
    else:
        f = {"softmax": lambda x: F.softmax(x, -1), "gelu": lambda x: F.gelu(x),
             "dense_residual": lambda x: F.linear(x, w) + x}[name]
    if compiled:
        f = torch.compile(f)

    def step():
        with torch.no_grad():
            return f(x)
    return Head(step, lambda r: r.numpy())


def torch(name):
    return _torch(name, False)


def torch_compile(name):
    return _torch(name, True)


def jax(name):
    import jax
    import jax.numpy as jnp
    import numpy as np
    x, w = map(jnp.asarray, _data(name))

    def normalised(x, axes):
        mean = x.mean(axes, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(axes, keepdims=True) + 1e-5)

    def pooled(x, size, start, combine):
        return jax.lax.reduce_window(x, start, combine, (1, 1, size, size), (1, 1, 2, 2), "VALID")
    f = {"softmax": lambda x: jax.nn.softmax(x, -1), "layer_norm": lambda x: normalised(x, -1),
         "gelu": lambda x: jax.nn.gelu(x, approximate=False), "batch_norm": lambda x: normalised(x, (0, 2, 3)),
         "max_pool_3x3": lambda x: pooled(x, 3, -jnp.inf, jax.lax.max),
         "avg_pool_2x2": lambda x: pooled(x, 2, 0.0, jax.lax.add) / 4, "dense_residual": lambda x: x @ w.T + x}[name]
    f = jax.jit(f)
    return Head(lambda: f(x).block_until_ready(), np.asarray)
