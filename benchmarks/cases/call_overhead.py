"""x * 2 + 1 on 8 elements: what a call costs."""

CALLS = 2000


def _x():
    import numpy as np
    return np.arange(8, dtype=np.float32)


def _f(x):
    return x * 2 + 1


def pijit(size):
    import pijit as ms
    f, x = ms.jit(_f), ms.Tensor(_x())
    return lambda: f(x)


def eager(size):
    import pijit as ms
    x = ms.Tensor(_x())
    return lambda: _f(x)


def numpy(size):
    x = _x()
    return lambda: _f(x)


def numba(size):
    import numba
    f, x = numba.njit(_f), _x()
    return lambda: f(x)


def torch(size):
    import torch
    x = torch.from_numpy(_x())
    return lambda: _f(x)


def torch_compile(size):
    import torch
    f, x = torch.compile(_f), torch.from_numpy(_x())
    return lambda: f(x)


def jax(size):
    import jax
    f, x = jax.jit(_f), jax.numpy.asarray(_x())
    return lambda: f(x)


def numexpr(size):
    import numexpr
    x = _x()
    return lambda: numexpr.evaluate("x * 2 + 1", {"x": x})


def mindspore(size):
    import mindspore as ms
    x = ms.Tensor(_x())
    return lambda: _f(x).asnumpy()


def mindspore_pijit(size):
    import mindspore as ms
    f, x = ms.jit(_f, capture_mode="bytecode"), ms.Tensor(_x())
    return lambda: f(x).asnumpy()
