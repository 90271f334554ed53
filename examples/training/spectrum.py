"""Signals: the strongest frequencies, a filter by the Fourier transform, a spectrogram, an analytic signal's phase, and
a filter that is learnt as factors of the spectrum.

    python -m pijit --as mindspore examples/training/spectrum.py [--mode graph]
"""

import argparse

import numpy as np

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops

RATE, COUNT = 256, 512
ONE_SIDED = Tensor(np.array([1] + [2] * (COUNT // 2 - 1) + [1] + [0] * (COUNT // 2 - 1), np.float32))


def signal(seed=0):
    t = np.arange(COUNT) / RATE
    noise = np.random.RandomState(seed).normal(0, 0.4, COUNT)
    return Tensor((np.sin(2 * np.pi * 20 * t) + 0.5 * np.sin(2 * np.pi * 50 * t) + noise).astype(np.float32))


@ms.jit
def peaks(x):
    """The two strongest frequencies, and how strong they are."""
    spectrum = ops.rfft(x)
    magnitude = ops.sqrt(ops.square(ops.real(spectrum)) + ops.square(ops.imag(spectrum)))
    values, places = ops.topk(magnitude, 2)
    return ops.rfftfreq(COUNT, 1.0 / RATE)[places], values


@ms.jit
def low_pass(x, cutoff):
    keep = (ops.rfftfreq(x.shape[-1], 1.0 / RATE) <= cutoff).astype(ms.float32)
    return ops.irfft(ops.rfft(x) * keep, x.shape[-1])


@ms.jit
def spectrogram(x, frame=64, hop=32):
    frames = ops.stack([x[s:s + frame] for s in range(0, x.shape[-1] - frame + 1, hop)])
    return ops.real(ops.abs(ops.fft(frames * ops.hann_window(frame))))[:, :frame // 2 + 1]


@ms.jit
def analytic(x):
    """The absolute value and the phase of the signal whose negative frequencies are cut."""
    z = ops.ifft(ops.fft(x) * ONE_SIDED)
    return ops.ComplexAbs()(z), ops.Angle()(z)


class SpectralFilter(nn.Cell):
    """Complex factors of the spectrum, as real and imaginary parts."""

    def __init__(self, bins):
        super().__init__()
        self.gain = Parameter(ops.ones((bins,)), name="gain")
        self.turn = Parameter(ops.zeros((bins,)), name="turn")
        self.complex = ops.Complex()

    def construct(self, x):
        spectrum = ops.rfft(x)
        a, b = ops.real(spectrum), ops.imag(spectrum)
        return ops.irfft(self.complex(a * self.gain - b * self.turn, a * self.turn + b * self.gain), x.shape[-1])


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=["pynative", "graph"], default="pynative")
    args = parser.parse_args(argv)
    ms.set_context(mode=ms.GRAPH_MODE if args.mode == "graph" else ms.PYNATIVE_MODE)
    x = signal()
    frequencies, strengths = peaks(x)
    print("strongest:", [f"{v:.3f}" for v in frequencies.asnumpy()], [f"{v:.3f}" for v in strengths.asnumpy()])
    smooth = low_pass(x, 30.0)
    print("filtered:", smooth.shape, smooth.dtype, f"{float(ops.square(x - smooth).mean()):.4f}")
    image = spectrogram(x)
    print("spectrogram:", image.shape, image.dtype, int(image.mean(0).argmax()) * RATE // 64,
          f"{float(image.max()):.3f}")
    envelope, phase = analytic(low_pass(x, 30.0) - low_pass(x, 10.0))
    turns = np.unwrap(phase.asnumpy())
    print("frequency:", f"{(turns[-50] - turns[50]) / (2 * np.pi) / ((COUNT - 100) / RATE):.2f}",
          f"envelope: {float(envelope.mean()):.3f}")

    net = SpectralFilter(COUNT // 2 + 1)
    optimizer = nn.Adam(net.trainable_params(), learning_rate=0.05)
    inputs = ops.stack([signal(k) for k in range(8)])
    targets = ops.stack([low_pass(signal(k), 30.0) for k in range(8)])

    def forward(a, b):
        return ((net(a) - b) ** 2).mean()
    gradient = ms.value_and_grad(forward, None, net.trainable_params())
    for k in range(40):
        loss, grads = gradient(inputs, targets)
        optimizer(grads)
        if k % 10 == 0:
            print(f"step {k}: loss {float(loss):.4f}")
    gain = net.gain.asnumpy()
    print("learnt:", f"{gain[5:55].mean():.3f}", f"{np.abs(gain[70:]).mean():.3f}")


if __name__ == "__main__":
    main()
