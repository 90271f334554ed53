"""Fourier transforms against NumPy, gradients against finite differences, jitted as eager, errors of MindSpore's
types."""

import numpy as np
import pytest

import pijit as ms
import pijit.numpy.fft
import pijit.scipy.fft
from pijit import Tensor, ops
from tests.python.differential import check
from tests.python.test_complex import numeric, weighted

rng = np.random.default_rng(3)
SIZES = [1, 2, 3, 4, 8, 12, 15, 30, 61, 67, 128, 331, 1000]


def close(x, want, tolerance=1e-10):
    np.testing.assert_allclose(x.asnumpy(), want, rtol=tolerance, atol=tolerance * max(1, np.abs(want).max()))


@pytest.mark.parametrize("n", SIZES)
def test_sizes(n):
    z = rng.normal(size=(2, n)) + 1j * rng.normal(size=(2, n))
    x = z.real.copy()
    for norm in (None, "backward", "ortho", "forward"):
        close(ops.fft(Tensor(z), norm=norm), np.fft.fft(z, norm=norm))
        close(ops.ifft(Tensor(z), norm=norm), np.fft.ifft(z, norm=norm))
        close(ops.rfft(Tensor(x), norm=norm), np.fft.rfft(x, norm=norm))
        close(ops.irfft(Tensor(z), n=n, norm=norm), np.fft.irfft(z, n=n, norm=norm))
        close(ops.hfft(Tensor(z), n=n, norm=norm), np.fft.hfft(z, n=n, norm=norm))
        close(ops.ihfft(Tensor(x), norm=norm), np.fft.ihfft(x, norm=norm))
    close(ops.fft(Tensor(z.astype(np.complex64))), np.fft.fft(z), 2e-6)


def test_lengths_and_dimensions():
    z = rng.normal(size=(3, 4, 5)) + 1j * rng.normal(size=(3, 4, 5))
    t = Tensor(z)
    for n, dim in ((2, 0), (7, 1), (None, -2), (5, 2)):
        close(ops.fft(t, n, dim), np.fft.fft(z, n, dim))
        close(ops.irfft(t, n, dim), np.fft.irfft(z, n, dim))
    for s, dim in ((None, None), ((2, 3), None), ((2, 3), (0, 1)), (None, (0, 2)), ((6, 6, 6), None)):
        axes = dim if dim is not None else None if s is None else tuple(range(3 - len(s), 3))
        for name in ("fftn", "ifftn", "irfftn"):
            close(getattr(ops, name)(t, s, dim), getattr(np.fft, name)(z, s, axes))
        close(ops.rfftn(Tensor(z.real.copy()), s, dim), np.fft.rfftn(z.real, s, axes))
    for name in ("fft2", "ifft2", "irfft2"):
        close(getattr(ops, name)(t, norm="ortho"), getattr(np.fft, name)(z, norm="ortho"))
    close(ops.hfft2(t), np.fft.irfftn(z.conj(), axes=(-2, -1), norm="forward"))
    close(ops.ihfft2(Tensor(z.real.copy())), np.fft.rfftn(z.real, axes=(-2, -1), norm="forward").conj())
    close(ops.ihfftn(ops.hfftn(t, s=(3, 4, 9))),
          np.fft.rfftn(np.fft.irfftn(z.conj(), (3, 4, 9), norm="forward"), norm="forward").conj())


def test_dtypes_as_measured():
    for dtype, spectrum, back in ((ms.float32, ms.complex64, ms.float32), (ms.int32, ms.complex64, ms.float32),
                                  (ms.float64, ms.complex128, ms.float64),
                                  (ms.float16, ms.complex64, ms.float32), (ms.complex64, ms.complex64, ms.float32)):
        x = Tensor([1, 2, 3], dtype)
        assert ops.fft(x).dtype == ops.ifft(x).dtype == ops.rfft(x).dtype == ops.ihfft(x).dtype == spectrum
        assert ops.irfft(x).dtype == ops.hfft(x).dtype == back
    z = Tensor(np.array([1 + 2j, -3 + 0.5j, 2], np.complex64))
    close(ops.irfft(z), [-0.75, -0.5, 2.25, 0.0], 1e-6)
    close(ops.hfft(z), [-3, 0, 9, -2], 1e-6)
    close(ops.rfft(z), [2.5j, 1.933 + 6.0801j], 1e-4)
    close(ops.irfft(z, 1), [1.0])
    assert (ops.fftfreq(5).dtype == ms.float32
            and ops.fftfreq(4, dtype=ms.float64).asnumpy().tolist() == [0, 0.25, -0.5, -0.25])


def test_frequencies_and_shifts():
    for n in (1, 2, 5, 8):
        for d in (1.0, 0.5):
            close(ops.fftfreq(n, d), np.fft.fftfreq(n, d), 1e-6)
            close(ops.rfftfreq(n, d), np.fft.rfftfreq(n, d), 1e-6)
    x = rng.normal(size=(3, 4))
    for dim in (None, 0, (0, 1)):
        assert np.array_equal(ops.fftshift(Tensor(x), dim).asnumpy(), np.fft.fftshift(x, dim))
        assert np.array_equal(ops.ifftshift(Tensor(x), dim).asnumpy(), np.fft.ifftshift(x, dim))


def dct_matrix(n):
    k, j = np.mgrid[:n, :n]
    return np.cos(np.pi * k * (2 * j + 1) / (2 * n)) * np.where(k == 0, np.sqrt(1 / n), np.sqrt(2 / n))


def test_cosine_transforms():
    from pijit.scipy.fft import dct, dctn, idct, idctn
    for n in (1, 2, 3, 4, 7, 8):
        x = rng.normal(size=(2, n))
        close(dct(Tensor(x)), x @ dct_matrix(n).T)
        close(idct(Tensor(x), norm="ortho"), x @ dct_matrix(n))
        close(idctn(dctn(Tensor(x))), x)
    close(dct(Tensor([1.5, 2.5, -1.0])), [1.7321, 1.7678, -1.8371], 1e-4)
    close(dct(Tensor([1.5, 2.5, -1.0]), n=4), [1.5, 1.927, 0, -1.8806], 1e-4)
    z = Tensor(np.array([1 + 2j, -3 + 0.5j, 2], np.complex64))
    close(dct(z), [1.4434j, -0.7071 + 1.4142j, 3.6742 + 0.4082j], 1e-4)
    close(idct(z), [-0.7275 + 1.5083j, -1.0556 + 1.1547j, 3.5152 + 0.8011j], 1e-4)
    for f in (lambda: dct(z, type=3), lambda: dct(z, norm="forward")):
        with pytest.raises(ValueError):
            f()


def test_stft():
    x = Tensor(np.arange(10, dtype=np.float32))
    z = ops.stft(x, 4, hop_length=2, return_complex=True)
    close(z, [[4, 6, 14, 22, 30, 32], [2, -2 + 2j, -2 + 2j, -2 + 2j, -2 + 2j, -2j], [0, -2, -2, -2, -2, 0]], 1e-5)
    assert (ops.stft(x, 4, hop_length=2).shape == (3, 6, 2)
            and ops.stft(ops.stack((x, x)), 4, hop_length=2, return_complex=True).shape == (2, 3, 6))


def test_with_size():
    z = Tensor(np.array([1 + 2j, -3 + 0.5j, 2], np.complex64))
    x = Tensor([1.5, 2.5, -1.0])
    close(ops.FFTWithSize(1, False, False)(z), np.fft.fft(z.asnumpy()), 1e-5)
    close(ops.FFTWithSize(1, False, True)(x), np.fft.rfft(x.asnumpy()), 1e-5)
    close(ops.FFTWithSize(1, True, True)(z), [-0.75, -0.5, 2.25, 0.0], 1e-5)
    close(ops.FFTWithSize(1, False, True, "ortho", False)(x), np.fft.fft(x.asnumpy(), norm="ortho"), 1e-5)
    close(ops.FFTWithSize(1, True, True, signal_sizes=(5,))(z), np.fft.irfft(z.asnumpy(), 5), 1e-5)


A = rng.normal(size=(2, 5)) + 1j * rng.normal(size=(2, 5))
GRADS = {
    "fft": (ops.fft, A), "ifft": (lambda z: ops.ifft(z, 4, norm="ortho"), A), "rfft": (ops.rfft, A.real.copy()),
    "rfft even": (lambda x: ops.rfft(x, 6, 0), A.real.copy()),
    "irfft": (ops.irfft, A), "irfft odd": (lambda z: ops.irfft(z, 9, norm="forward"), A), "hfft": (ops.hfft, A),
    "ihfft": (ops.ihfft, A.real.copy()),
    "fftn": (ops.fftn, A), "irfft2": (ops.irfft2, A), "rfft2": (ops.rfft2, A.real.copy()),
    "dct": (pijit.scipy.fft.dct, A.real.copy()),
    "idct": (pijit.scipy.fft.idct, A.real.copy()),
    "filter": (lambda x: ops.irfft(ops.rfft(x) * Tensor([1.0, 2.0, 0.5]), 5), A.real.copy()),
}


@pytest.mark.parametrize("name", GRADS)
def test_gradients(name):
    f, x = GRADS[name]
    got = ms.grad(lambda a: weighted(f(a)))(Tensor(x)).asnumpy()
    np.testing.assert_allclose(got, numeric(lambda a: weighted(f(a)), [x], 0), rtol=1e-6, atol=1e-6)
    check(lambda: lambda a: (f(a), ms.grad(lambda b: weighted(f(b)))(a)), Tensor(x), graphs=1, breaks=0)


def test_numpys_names():
    f = pijit.numpy.fft
    x = rng.normal(size=(3, 4)).astype(np.float32)
    close(f.fft(x.tolist(), axis=0), np.fft.fft(x, axis=0), 1e-5)
    close(f.rfft2(Tensor(x), axes=(0, 1)), np.fft.rfft2(x), 1e-5)
    assert set(f.__all__) == {"fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2",
                              "hfft2", "ihfft2", "fftn", "ifftn", "rfftn", "irfftn",
                              "hfftn", "ihfftn", "fftfreq", "rfftfreq", "fftshift", "ifftshift"}


def test_vmap():
    z = Tensor(A)
    close(ms.vmap(ops.fft)(z), np.fft.fft(A))
    close(ms.vmap(lambda x: ops.irfft(ops.rfft(x), 5))(z.real()), A.real)


def test_errors():
    z = Tensor(A)
    for error, f in ((TypeError, lambda: ops.fft([1, 2])), (TypeError, lambda: ops.fft(z, 1.5)),
                     (TypeError, lambda: ops.fft(Tensor([True]))),
                     (ValueError, lambda: ops.fft(z, 0)), (ValueError, lambda: ops.fft(z, -1)),
                     (ValueError, lambda: ops.fft(z, dim=3)),
                     (ValueError, lambda: ops.fft(z, norm="x")), (ValueError, lambda: ops.fft(z[0, 0])),
                     (ValueError, lambda: ops.fft2(z[0])),
                     (ValueError, lambda: ops.fftn(z, s=(1, 2), dim=(0,))),
                     (ValueError, lambda: ops.fftn(z, dim=(0, 0))), (ValueError, lambda: ops.fftfreq(0))):
        with pytest.raises(error):
            f()
