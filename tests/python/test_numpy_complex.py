"""complex64 and complex128 arrays in captured code: NumPy's own loops, views of parts, masks, products."""

import numpy as np
import pytest

import pijit
from tests.python.differential import check
from tests.python.pairs import pairs

rng = np.random.default_rng(7)


def numbers(*shape, dtype=np.complex128):
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


SPECIAL = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e308, 5e-324])
Z, W, M, N = numbers(50), numbers(50), numbers(6, 5), numbers(5, 4)
X, F = rng.normal(size=50), rng.normal(size=50).astype(np.float32)
ODD = np.array([complex(a, b) for a in SPECIAL for b in SPECIAL])
ODD2 = ODD[rng.permutation(len(ODD))]


def stores(z, x):
    r = np.zeros(z.shape, complex)
    r[1:] = z[:-1] * 1j
    r[0] = 2 - 1j
    r += x
    r *= z
    z[::2] = r[::2]
    return r


def stores_in_parts(z, x):
    z.real[:] = x
    z.imag[1:] += 2 * x[:-1]
    z.real *= 0.5
    a = z.copy()
    a.imag = 3.0 if False else a.imag
    b = z.real[::2]
    return a, z.real, z.imag, b, b + 1, z * 2


def masks(z):
    m = np.abs(z) > 1
    big = z[m]
    z[m] = z[m] * 0.5
    z[~m] = 1j
    return big, z, z[m].sum(), np.where(m, z, 0), np.where(m, z, z.conj())


def mandelbrot(c):
    z = np.zeros(c.shape, complex)
    count = np.zeros(c.shape, int)
    for _ in range(6):
        z = z * z + c
        count += np.abs(z) < 2
    return z, count


FUNCTIONS = {
    "arithmetic": lambda z, w: (z + w, z - w, z * w, z / w, -z, +z, z * 2, 2j * z, z + 1.5, 1 / z, z - 1j, z / 3),
    "functions": lambda z, w: (
        np.exp(z), np.sqrt(z), np.log(z), np.sin(z), np.abs(z), abs(w), np.conj(z), z.conj(), np.square(z),
        np.reciprocal(z), np.power(z, w), z**2, z.conjugate() * z, np.tanh(z), np.isnan(z), np.isfinite(z), np.sign(z)),
    "comparisons": lambda z, w: (z == w, z != w, z == 1, (z == z).all(), z < w, np.maximum(z, w), z.any()),
    "sums": lambda z, w: (z.sum(), np.sum(z * w), z.mean(), z.prod(), np.cumsum(z), (z * w.conj()).sum()),
    "parts": lambda z, w: (z.real, z.imag, z.real + z.imag, z.real * w, np.abs(z).max(), np.sqrt(z.real**2 + z.imag**2),
                           z.sum().real, z[3].imag + 1, z[1:7].real, w[5:].imag.copy()),
    "elements": lambda z, w: (z[3], z[-1] * z, z[2:8], z[::3] * 2 + w[:17]),
    "new": lambda z, w: (np.zeros(5, complex) + z[:5], np.ones((2, 3), np.complex64) * z[0], np.zeros_like(z) + w,
                         np.full_like(z, 2j), np.empty_like(z).shape, np.concatenate([z, w]), np.stack([z, w]),
                         np.roll(z, 3, 0), z.copy(), z.astype(np.complex64), z.astype(bool)),
    "orders": lambda z, w: (np.sort(z), np.argsort(z), z.argmax(), z[np.arange(3)], z.take(np.arange(4))),
    "shapes": lambda z, w: (z.reshape(5, 10).T * 2, z.reshape(5, 10).sum(axis=0), z.reshape(5, 10).sum(axis=1),
                            z.reshape(5, 10).mean(axis=0), z.reshape(5, 10).T.copy()),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions(name, dtype):
    check(lambda: FUNCTIONS[name], Z.astype(dtype), W.astype(dtype), calls=4, breaks=0)


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_numbers_at_the_edges(name, dtype):
    with np.errstate(all="ignore"):
        z, w = ODD.astype(dtype)[:80], ODD2.astype(dtype)[:80]
        a, b = z[:50], w[:50]
    check(lambda: FUNCTIONS[name], a.copy(), b.copy(), calls=3)

    def quiet(z, w):
        with np.errstate(all="ignore"):
            return FUNCTIONS[name](z, w)

    with np.errstate(all="ignore"):
        check(lambda: FUNCTIONS[name], a.copy(), b.copy(), calls=3)


@pytest.mark.parametrize("f", [stores, stores_in_parts])
def test_stores(f):
    check(lambda: f, Z, X, calls=4)


def test_masks():
    check(lambda: masks, Z, calls=4)


def test_a_set_of_points():
    check(lambda: mandelbrot, Z * 0.7, calls=4, breaks=0)


def test_with_real_arrays():
    def f(z, x, g):
        return (
            z * x,
            x * 1j,
            x + z,
            g * z,
            g * 1j,
            x * np.complex64(2 - 1j),
            np.where(x > 0, x, z),
            x == z,
            g / (1 + 2j),
        )

    check(lambda: f, Z, X, F, calls=4, breaks=0)
    check(lambda: f, Z.astype(np.complex64), X, F, calls=4, breaks=0)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_products(dtype):
    def f(m, n, z, w):
        return m @ n, m @ n[:, 0].copy(), z @ w, z.dot(w), m.T @ m, m.conj().T @ m, n.T @ m.T, m @ m.T

    check(lambda: f, M.astype(dtype), N.astype(dtype), Z.astype(dtype), W.astype(dtype), calls=4, breaks=0)


def test_parts_are_views():
    f = pijit.jit(lambda z: (z.real, z.imag, z * 2))
    z = Z.copy()
    for _ in range(4):
        re, im, _ = f(z)
        assert re.base is z and im.base is z and re.strides == (16,)
        re[0] = 77
        im[0] = 5
        assert z[0] == 77 + 5j


def test_a_transform_between_expressions():
    def f(x):
        y = np.fft.rfft(x * 2 + 1)
        z = np.fft.irfft(y * y.conj() / len(x))
        return z * x + np.fft.fft(z).real

    check(lambda: f, X, calls=4)


def test_sizes_that_vary():
    f = lambda z: (z * 2j + z.conj(), z.sum(), z.real * 2, np.abs(z).max())  # noqa: E731
    jitted = pijit.jit(f)
    for n in (3, 4, 5, 7, 9, 4, 100):
        for got, wanted in pairs(jitted(Z[:n].copy() if n <= 50 else numbers(n)), f(Z[:n])):
            if n <= 50:
                assert np.asarray(got).tobytes() == np.asarray(wanted).tobytes()


def test_what_warns():
    def f(z):
        return z.astype(float) + 1, z.astype(np.float32)

    check(lambda: f, Z, calls=3)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_other_ways_through_memory(dtype):
    """NumPy's loops take other code for other steps, whose bits differ."""

    def f(z, w, a, b):
        return z[::-1] * w, np.abs(z[::-1]), np.square(w[::-2]), z.real[::-1] + 1, np.square(a), a * b, np.abs(b)

    check(lambda: f, Z.astype(dtype), W.astype(dtype), np.array(Z[3], dtype), np.array([W[4]], dtype), calls=3)


@pytest.mark.filterwarnings("always")
def test_what_is_lost_of_a_number():
    def f(z, c):
        return float(np.complex64(2 + 1j) * 2), np.array([1j, 2]).astype(float), float(z.sum()), float(c), int(c.real)

    check(lambda: f, Z, np.complex128(3 + 1j), calls=3)


def test_numbers_beside_python_s():
    def f(x, z):
        return 1j * x[2], x[2] * 1j, 1j - z[1].real, z[0] * 2j, abs(1j - x[1]), np.subtract(1j, x[3])

    for t in (np.float64, np.float32):
        check(lambda: f, X.astype(t), Z, calls=3)
        check(lambda: f, X.astype(t), Z.astype(np.complex64), calls=3)


def test_a_number_that_is_stored_in():
    def f(z, x, w):
        np.multiply(z, z, z)
        x *= x
        np.square(w, out=w)
        return z + 1, x, w

    for z in Z[:8]:
        check(lambda: f, *(np.array(z + k) for k in range(3)), calls=3)
