"""Black-Scholes call and put prices, float32."""

from head import Head


SIZES = [1000, 1000000, 10000000]
SECONDS = 1.0


def work(n):
    return {"bytes": 5 * 4 * n}


def _data(n):
    import numpy as np
    r = np.random.RandomState(0)
    return [a.astype(np.float32) for a in (r.uniform(5, 30, n), r.uniform(1, 100, n), r.uniform(0.25, 10, n))]


def _prices(s, k, t, log, exp, sqrt, erf):
    r, v = 0.02, 0.3
    root = v * sqrt(t)
    d1 = (log(s / k) + (r + 0.5 * v * v) * t) / root
    d2 = d1 - root
    c1 = 0.5 + 0.5 * erf(d1 * 0.7071067811865476)
    c2 = 0.5 + 0.5 * erf(d2 * 0.7071067811865476)
    disc = k * exp(-r * t)
    call = s * c1 - disc * c2
    return call, call - s + disc


def pijit(size):
    import pijit as ms
    from pijit import ops
    x = [ms.Tensor(a) for a in _data(size)]
    f = ms.jit(lambda s, k, t: _prices(s, k, t, ops.log, ops.exp, ops.sqrt, ops.erf))
    return Head(lambda: f(*x)[0])


def eager(size):
    import pijit as ms
    from pijit import ops
    x = [ms.Tensor(a) for a in _data(size)]
    return Head(lambda: _prices(*x, ops.log, ops.exp, ops.sqrt, ops.erf)[0])


def numpy(size):
    import numpy as np

    def erf(x):  # Abramowitz & Stegun 7.1.26: NumPy has none
        t = 1 / (1 + 0.3275911 * np.abs(x))
        y = (1 - (((((1.061405429 * t - 1.453152027) * t) + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t *
             np.exp(-x * x))
        return np.sign(x) * y
    x = _data(size)
    return Head(lambda: _prices(*x, np.log, np.exp, np.sqrt, erf)[0])


def torch(size):
    import torch
    x = [torch.from_numpy(a) for a in _data(size)]
    return Head(lambda: _prices(*x, torch.log, torch.exp, torch.sqrt, torch.erf)[0])


def torch_compile(size):
    import torch
    x = [torch.from_numpy(a) for a in _data(size)]
    f = torch.compile(lambda s, k, t: _prices(s, k, t, torch.log, torch.exp, torch.sqrt, torch.erf))
    return Head(lambda: f(*x)[0])


def jax(size):
    import jax
    import jax.numpy as jnp
    x = [jnp.asarray(a) for a in _data(size)]
    f = jax.jit(lambda s, k, t: _prices(s, k, t, jnp.log, jnp.exp, jnp.sqrt, jax.scipy.special.erf))

    def step():
        r = f(*x)
        r[1].block_until_ready()
        return r[0]
    return Head(step)


def numba(size):
    import math

    import numba
    import numpy as np

    @numba.njit(parallel=True, fastmath=True)
    def prices(s, k, t):
        call, put = np.empty_like(s), np.empty_like(s)
        for i in numba.prange(len(s)):
            root = np.float32(0.3) * math.sqrt(t[i])
            d1 = (math.log(s[i] / k[i]) + np.float32(0.02 + 0.045) * t[i]) / root
            c1 = np.float32(0.5) + np.float32(0.5) * math.erf(d1 * np.float32(0.7071067811865476))
            c2 = np.float32(0.5) + np.float32(0.5) * math.erf((d1 - root) * np.float32(0.7071067811865476))
            disc = k[i] * math.exp(np.float32(-0.02) * t[i])
            call[i] = s[i] * c1 - disc * c2
            put[i] = call[i] - s[i] + disc
        return call, put
    x = _data(size)
    return Head(lambda: prices(*x)[0])


def numexpr(size):
    import numexpr

    def prices(s, k, t):
        root = numexpr.evaluate("0.3 * sqrt(t)")
        d1 = numexpr.evaluate("(log(s / k) + 0.065 * t) / root")

        def erf(x):  # Abramowitz & Stegun 7.1.26: numexpr has none
            u = numexpr.evaluate("1 / (1 + 0.3275911 * abs(x))")
            return numexpr.evaluate(
                "where(x < 0, -1, 1) * (1 - (((((1.061405429 * u - 1.453152027) * u) + 1.421413741) * u - "
                "0.284496736) * u + 0.254829592) * u * exp(-x * x))")
        e1 = erf(numexpr.evaluate("d1 * 0.7071067811865476"))
        e2 = erf(numexpr.evaluate("(d1 - root) * 0.7071067811865476"))
        call = numexpr.evaluate("s * (0.5 + 0.5 * e1) - k * exp(-0.02 * t) * (0.5 + 0.5 * e2)")
        return call, numexpr.evaluate("call - s + k * exp(-0.02 * t)")
    x = _data(size)
    return Head(lambda: prices(*x)[0])


def mindspore(size):
    import mindspore as ms
    from mindspore import ops
    x = [ms.Tensor(a) for a in _data(size)]
    return Head(lambda: _prices(*x, ops.log, ops.exp, ops.sqrt, ops.erf)[0].asnumpy())


def mindspore_pijit(size):
    import mindspore as ms
    from mindspore import ops
    x = [ms.Tensor(a) for a in _data(size)]
    f = ms.jit(lambda s, k, t: _prices(s, k, t, ops.log, ops.exp, ops.sqrt, ops.erf), capture_mode="bytecode")
    return Head(lambda: f(*x)[0].asnumpy())
