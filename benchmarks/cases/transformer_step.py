"""Train step of a transformer encoder layer: 8 x 64 tokens of 256, 4 heads, 1024 hidden units, GELU, layer norm after
each half; mean squared error, Adam."""

B, T, D, H, F = 8, 64, 256, 4, 1024
SHAPES = [(D, D)] * 4 + [(F, D), (D, F)]


def work(size):
    """Forward, and twice for the gradients; those by the layer's input are not wanted."""
    weights = 4 * D * D + 2 * D * F
    return {"flops": 2 * B * T * (3 * weights - 3 * D * D + 3 * 2 * T * D)}


def _data():
    import numpy as np
    r = np.random.RandomState(0)
    return r.randn(B, T, D).astype(np.float32), r.randn(B, T, D).astype(np.float32)


def _weights():
    import numpy as np
    r = np.random.RandomState(1)
    return [(r.randn(*s) / np.sqrt(s[1])).astype(np.float32) for s in SHAPES]


def _pijit(use_jit):
    import pijit as ms
    from pijit import nn, ops
    x, y = map(ms.Tensor, _data())

    class Layer(nn.Cell):
        def __init__(self):
            super().__init__()
            q, k, v, o, up, down = map(ms.Tensor, _weights())
            self.q, self.k, self.v, self.o = (nn.Dense(D, D, weight_init=w, bias_init="zeros") for w in (q, k, v, o))
            self.up, self.down = (nn.Dense(D, F, weight_init=up, bias_init="zeros"),
                                  nn.Dense(F, D, weight_init=down, bias_init="zeros"))
            self.norm1, self.norm2 = nn.LayerNorm((D,), epsilon=1e-5), nn.LayerNorm((D,), epsilon=1e-5)

        def heads(self, x):
            return x.reshape(B, T, H, D // H).transpose(0, 2, 1, 3)

        def construct(self, x):
            q, k, v = self.heads(self.q(x)), self.heads(self.k(x)), self.heads(self.v(x))
            scores = ops.matmul(q, k.swapaxes(-1, -2)) * (D // H) ** -0.5
            mixed = ops.matmul(ops.softmax(scores, -1), v).transpose(0, 2, 1, 3).reshape(B, T, D)
            x = self.norm1(x + self.o(mixed))
            return self.norm2(x + self.down(ops.gelu(self.up(x), approximate="none")))
    net = Layer()
    loss_fn, opt = nn.MSELoss(), nn.Adam(net.trainable_params(), 1e-3)
    grad_fn = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, opt.parameters)

    def step(x, y):
        loss, grads = grad_fn(x, y)
        opt(grads)
        return loss
    if use_jit:
        step = ms.jit(step)
    return lambda: step(x, y).asnumpy()


def pijit(size):
    return _pijit(True)


def eager(size):
    return _pijit(False)


def _torch(compiled):
    import torch
    import torch.nn as nn
    x, y = map(torch.from_numpy, _data())

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Linear(D, D) for _ in range(4))
            self.up, self.down = nn.Linear(D, F), nn.Linear(F, D)
            self.norm1, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D)

        def heads(self, x):
            return x.reshape(B, T, H, D // H).transpose(1, 2)

        def forward(self, x):
            q, k, v = self.heads(self.q(x)), self.heads(self.k(x)), self.heads(self.v(x))
            scores = torch.matmul(q, k.transpose(-1, -2)) * (D // H) ** -0.5
            mixed = torch.matmul(torch.softmax(scores, -1), v).transpose(1, 2).reshape(B, T, D)
            x = self.norm1(x + self.o(mixed))
            return self.norm2(x + self.down(torch.nn.functional.gelu(self.up(x))))
    net = Layer()
    with torch.no_grad():
        for layer, w in zip((net.q, net.k, net.v, net.o, net.up, net.down), _weights()):
            layer.weight.copy_(torch.from_numpy(w))
            layer.bias.zero_()
    opt = torch.optim.Adam(net.parameters(), 1e-3)

    def forward(x, y):
        return torch.nn.functional.mse_loss(net(x), y)
    if compiled:
        forward = torch.compile(forward)

    def step():
        opt.zero_grad()
        loss = forward(x, y)
        loss.backward()
        opt.step()
        return loss.detach().numpy()
    return step


def torch(size):
    return _torch(False)


def torch_compile(size):
    return _torch(True)


def jax(size):
    import functools

    import jax
    import jax.numpy as jnp
    x, y = map(jnp.asarray, _data())
    params = [(jnp.asarray(w), jnp.zeros(w.shape[0])) for w in _weights()] + [(jnp.ones(D), jnp.zeros(D))] * 2

    def norm(x, p):
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * p[0] + p[1]

    def loss_fn(p, x, y):
        q, k, v = ((x @ p[i][0].T + p[i][1]).reshape(B, T, H, D // H).transpose(0, 2, 1, 3) for i in range(3))
        weights = jax.nn.softmax(q @ k.swapaxes(-1, -2) * (D // H) ** -0.5, -1)
        mixed = (weights @ v).transpose(0, 2, 1, 3).reshape(B, T, D)
        x = norm(x + mixed @ p[3][0].T + p[3][1], p[6])
        hidden = jax.nn.gelu(x @ p[4][0].T + p[4][1], approximate=False)
        return jnp.mean((norm(x + hidden @ p[5][0].T + p[5][1], p[7]) - y) ** 2)

    @functools.partial(jax.jit, donate_argnums=(0, 1, 2))
    def update(p, m, v, t, x, y):
        loss, g = jax.value_and_grad(loss_fn)(p, x, y)
        t = t + 1
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        rate = 1e-3 * jnp.sqrt(1 - 0.999 ** t) / (1 - 0.9 ** t)
        return jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), p, m, v), m, v, t, loss
    zeros = jax.tree.map(jnp.zeros_like, params)
    state = [jax.tree.map(jnp.array, params), zeros, jax.tree.map(jnp.zeros_like, params), jnp.float32(0)]

    def step():
        state[0], state[1], state[2], state[3], loss = update(*state, x, y)
        return loss.block_until_ready()
    return step
