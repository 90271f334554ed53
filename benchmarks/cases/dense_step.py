"""One Dense 1024 x 1024 + ReLU + MSE + Momentum(0.1, 0.9) on 32 x 1024."""


def work(size):
    return {"flops": 2 * 2 * 32 * 1024 * 1024}  # forward, and the gradient of the weight


def _data():
    import numpy as np
    r = np.random.RandomState(0)
    return (r.randn(32, 1024).astype(np.float32), r.randn(32, 1024).astype(np.float32),
            (r.randn(1024, 1024) / 32).astype(np.float32))


def _step(library, use_jit):
    import importlib
    ms = importlib.import_module(library)
    nn, ops = ms.nn, ms.ops
    x, y, w = map(ms.Tensor, _data())
    net = nn.Dense(1024, 1024, w, "zeros")
    loss_fn, opt = nn.MSELoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9)
    grad_fn = ms.value_and_grad(lambda x, y: loss_fn(ops.relu(net(x)), y), None, opt.parameters)

    def step(x, y):
        loss, grads = grad_fn(x, y)
        opt(grads)
        return loss
    if use_jit:
        step = ms.jit(step, capture_mode="bytecode")
    return lambda: step(x, y).asnumpy()


def pijit(size):
    return _step("pijit", True)


def eager(size):
    return _step("pijit", False)


def _torch(compiled):
    import torch
    x, y, w = map(torch.from_numpy, _data())
    layer = torch.nn.Linear(1024, 1024)
    layer.weight.data, layer.bias.data = w.clone(), torch.zeros(1024)
    opt = torch.optim.SGD(layer.parameters(), 0.1, momentum=0.9)

    def forward(x, y):
        return torch.nn.functional.mse_loss(torch.relu(layer(x)), y)
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
    x, y, w = map(jnp.asarray, _data())

    def loss_fn(p, x, y):
        return jnp.mean((jax.nn.relu(x @ p[0].T + p[1]) - y) ** 2)

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def update(p, m, x, y):
        loss, g = jax.value_and_grad(loss_fn)(p, x, y)
        m = jax.tree.map(lambda m, g: 0.9 * m + g, m, g)
        return jax.tree.map(lambda p, m: p - 0.1 * m, p, m), m, loss
    state = [(w, jnp.zeros(1024)), (jnp.zeros((1024, 1024)), jnp.zeros(1024))]

    def step():
        state[0], state[1], loss = update(state[0], state[1], x, y)
        return loss.block_until_ready()
    return step


def mindspore(size):
    return _step("mindspore", False)


def mindspore_pijit(size):
    return _step("mindspore", True)
