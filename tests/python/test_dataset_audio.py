"""Operations on sound against MindSpore 2.10 (facts_audio.json, by tests/mindspore/audio.py) and against SciPy; what is
random; in pipelines and worker processes."""

import json
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import audio_calls
import pijit.dataset as ds
import pijit.dataset.audio as A
from pijit.dataset.audio import arguments, transforms, utils

FACTS = json.loads((pathlib.Path(__file__).parent / "facts_audio.json").read_text())


def made(name):
    return eval(f"A.{name}({audio_calls.NEEDED.get(name, '')})", {"A": A, "np": np})


def test_answers_are_mindspores():
    pytest.importorskip("scipy")
    ours = {"answers": audio_calls.answers(A), "checks": audio_calls.checks(A)}
    assert ours["answers"].keys() == FACTS["answers"].keys() and ours["checks"].keys() == FACTS["checks"].keys()
    assert list(audio_calls.differences(ours, FACTS)) == []


def test_differences_are_seen():
    changed = json.loads(json.dumps(FACTS))
    call = next(c for c in changed["answers"] if c.startswith("Gain"))
    changed["answers"][call][3][0] += 1e-3
    changed["checks"]["Gain.gain_db"] = "." * len(audio_calls.VALUES)
    assert len(list(audio_calls.differences(FACTS, changed))) > 1


def test_every_name_is_there():
    assert set(audio_calls.NAMES) | set(utils._MODES) == set(A.__all__)
    assert set(transforms.__all__) == {n for n in audio_calls.NAMES if isinstance(getattr(A, n), type)}
    with pytest.raises(NotImplementedError, match="finds no speech"):
        A.Vad(16000)


def test_numbers_that_are_none():
    for argument in ("NaN", "1e300"):
        with pytest.raises(ValueError, match="gain_db"):
            A.Gain(float(argument))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_filters_are_those_of_scipy(dtype):
    signal = pytest.importorskip("scipy.signal")
    x = audio_calls.tone(3, 500, dtype=dtype)
    b, a = [0.2, 0.1, -0.05, 0.02], [2.0, -0.7, 0.3, 0.1]
    close = 1e-6 if dtype == "float32" else 1e-7  # coefficients are rounded to float32
    there = signal.lfilter(b, a, x)
    assert np.allclose(A.LFilter(a, b)(x), there, atol=close)
    there = signal.lfilter(b, a, there[..., ::-1])[..., ::-1]
    assert np.allclose(A.Filtfilt(a, b)(x), there, atol=close)
    low = signal.sosfilt([[*A.LowpassBiquad(8000, 900.0)._b, *A.LowpassBiquad(8000, 900.0)._a]] / np.float64(
        A.LowpassBiquad(8000, 900.0)._a[0]), x)
    assert np.allclose(A.LowpassBiquad(8000, 900.0)(x), low, atol=close)


def test_a_lowpass_keeps_low_tones_and_a_highpass_high_ones():
    t = np.arange(4000) / 8000
    low, high = (np.sin(2 * np.pi * f * t) * 0.5 for f in (50.0, 3500.0))
    power = lambda v: float((v[500:] ** 2).mean())
    assert power(A.LowpassBiquad(8000, 500.0)(low)) > 0.9 * power(low) > 100 * power(A.LowpassBiquad(8000, 500.0)(high))
    assert power(A.HighpassBiquad(8000, 500.0)(high)) > 0.9 * power(high) > 90 * power(
        A.HighpassBiquad(8000, 500.0)(low))


def test_spectra_are_those_of_numpy_and_come_back():
    x = audio_calls.tone(2, 300, dtype="float64")
    z = A.Spectrogram(32, power=0.0, center=False)(x)
    frames = np.lib.stride_tricks.sliding_window_view(x, 32, axis=-1)[:, ::16] * np.hanning(33)[:-1]
    assert np.allclose(z[..., 0] + 1j * z[..., 1], np.fft.rfft(frames).swapaxes(1, 2))
    z = A.Spectrogram(32, power=0.0)(x)
    assert np.allclose(A.InverseSpectrogram(300, 32)(z)[:, :288], x[:, :288])
    x = audio_calls.tone(2, 2, 16000)
    whole = A.Spectrogram(400)(x)
    assert whole.shape == (2, 2, 201, 81)
    assert np.allclose(A.MelSpectrogram(16000)(x), A.MelScale()(whole), rtol=1e-4, atol=1e-5)


def test_phases_are_found_again():
    x = np.sin(np.arange(800) * 0.3).astype("float32")
    power = A.Spectrogram(64)(x)
    for start in (True, False):
        again = A.Spectrogram(64)(A.GriffinLim(64, 60, rand_init=start)(power))
        apart = np.abs(np.sqrt(again) - np.sqrt(power))[:, 3:-3].mean()
        assert apart < 0.2 * np.sqrt(power).mean()


def test_spectra_of_mel_filters():
    mel = audio_calls.spec(2, 4, 5)
    found = A.InverseMelScale(9, 4, 1000, max_iter=20000)(mel)
    assert found.shape == (2, 9, 5) and (found >= 0).all() and found.dtype == np.float32
    assert np.abs(A.MelScale(4, 1000, n_stft=9)(found) - mel).max() < 0.15
    assert A.InverseMelScale(9, 4, 1000, max_iter=3)(mel[0]).shape == (1, 9, 5)


@pytest.mark.parametrize("old, new", [(8000, 16000), (44100, 16000), (17959, 16000), (3, 7)])
def test_a_tone_stays_the_tone_at_another_rate(old, new):
    x = np.sin(2 * np.pi * 0.02 * np.arange(3000))
    y = A.Resample(old, new, lowpass_filter_width=16)(x)
    assert y.shape == (-(-3000 * new // old),)
    t = np.arange(len(y)) * old / new
    middle = slice(len(y) // 5, -len(y) // 5)
    assert np.abs(y - np.sin(2 * np.pi * 0.02 * t))[middle].max() < 0.02


def test_pitch():
    x = np.sin(2 * np.pi * 200 * np.arange(8000) / 8000).astype("float32")
    up = A.PitchShift(8000, 12)(x)
    assert up.shape == x.shape
    assert abs(np.median(A.DetectPitchFrequency(8000)(x)) - 200) < 2
    assert abs(np.median(A.DetectPitchFrequency(8000)(up)[10:-10]) - 400) < 8


def one_by_one(x, back, gain, decay):
    y = np.zeros(len(x))
    for t in range(len(x)):
        y[t] = x[t] * gain + decay * (y[t - back[t]] if t >= back[t] else 0)
    return y


@pytest.mark.parametrize("sinusoidal", [True, False])
def test_phaser_feeds_back(sinusoidal):
    phaser = A.Phaser(4000, 0.6, 1.0, 4.0, 0.7, 1.5, sinusoidal)
    x = audio_calls.tone(2, 900, dtype="float64")
    back = 1 + (-np.resize(phaser.swing, 900)) % phaser.delay
    there = np.stack([np.clip(one_by_one(row, back, phaser.gain_in, phaser.decay), -1, 1) for row in x])
    assert np.allclose(phaser(x), there, atol=1e-6)


def test_masks_lie_within_their_range():
    ds.config.set_seed(3)
    seen = set()
    for operation, axis in ((A.MaskAlongAxisIID(3, 0.5, 2), 1), (A.TimeMasking(True, 3, 0, 0.5), 1),
                            (A.FrequencyMasking(True, 3, 0, 0.5), 0), (A.MaskAlongAxisIID(3, 0.5, 1), 0)):
        for _ in range(60):
            out = operation(np.zeros((2, 5, 6), "float32"))
            lines = out.any(axis=(0, 2 - axis)) if axis else out.any(axis=(0, 2))
            at = np.flatnonzero(lines)
            assert len(at) <= 3 and (not len(at) or at[-1] - at[0] == len(at) - 1)
            assert set(np.unique(out)) <= {0.0, 0.5}
            seen.add((axis, len(at)))
    assert seen == {(a, n) for a in (0, 1) for n in range(4)}


def test_random_operations_follow_the_seed():
    def run():
        ds.config.set_seed(5)
        return [A.MaskAlongAxisIID(4, 0.0, 1)(audio_calls.spec(9, 8)), A.GriffinLim(16, 2)(audio_calls.spec(9, 8)),
                A.Dither(A.DensityFunction.GPDF)(audio_calls.tone(2, 50))]
    assert all(np.array_equal(a, b) for a, b in zip(run(), run()))


@pytest.mark.parametrize("name", [n for n in audio_calls.NAMES if isinstance(getattr(A, n), type)])
def test_operations_are_pickled_and_leave_their_input_alone(name):
    operation = made(name)
    again = pickle.loads(pickle.dumps(operation))
    x = {"PhaseVocoder": audio_calls.tone(5, 8, 2, dtype="float64"), "MelScale": audio_calls.spec(201, 4),
         "InverseMelScale": audio_calls.spec(4, 3), "GriffinLim": audio_calls.spec(201, 4),
         "InverseSpectrogram": audio_calls.tone(201, 4, 2)}.get(name)
    if x is None:
        x = audio_calls.tone(5, 8, 2) if operation._axes[-1:] == ("complex",) else audio_calls.tone(3, 1200)
    before = x.copy()
    ds.config.set_seed(1)
    first = operation(x)
    ds.config.set_seed(1)
    second = again(x)
    several = lambda v: v if isinstance(v, tuple) else (v,)
    for a, b in zip(several(first), several(second)):
        assert np.array_equal(a, b) and not np.shares_memory(a, x)
    assert np.array_equal(x, before)


@pytest.mark.parametrize("workers", [{}, {"python_multiprocessing": True, "num_parallel_workers": 2}])
def test_in_a_pipeline(workers):
    sound = audio_calls.tone(6, 400)
    chain = [A.LowpassBiquad(8000, 900.0), A.Spectrogram(64), A.AmplitudeToDB(), A.TimeMasking(False, 2, 3, 0.0)]
    data = ds.NumpySlicesDataset({"x": sound}, shuffle=False).map(chain, "x", **workers).batch(2)
    rows = np.concatenate([b["x"].asnumpy() for b in data.create_dict_iterator(num_epochs=1)])
    for x, row in zip(sound, rows):
        for operation in chain:
            x = operation(x)
        assert np.array_equal(x, row)


def test_inputs_that_are_none():
    for x in (0.5, [0.1, 0.2], "a", np.float32(1)):
        with pytest.raises(TypeError, match="ndarray"):
            A.Gain()(x)
    with pytest.raises(RuntimeError, match="numbers"):
        A.Gain()(np.array(["a"]))
    with pytest.raises(RuntimeError, match="time"):
        A.Contrast()(np.array(0.5))
    assert A.Gain()(np.array(0.5)).shape == ()


def test_inputs_of_every_kind():
    for name in transforms.__all__:
        operation = made(name)
        for shape in ((0,), (2, 0), (3, 0, 2), (0, 9, 4), (2, 5, 0, 2)):
            with pytest.raises(RuntimeError):
                operation(np.zeros(shape, "float32"))
    x = audio_calls.tone(2, 1200, dtype="float64")
    views = x.astype(">f8"), np.repeat(x, 2, axis=1)[:, ::2], x[::-1, ::-1].copy()[::-1, ::-1]
    for operation in (A.Gain(), A.Spectrogram(64), A.MuLawDecoding(), A.Fade(3, 4), A.Flanger(8000), A.Phaser(8000)):
        assert operation(x).dtype == np.float64
        for view in views:
            assert np.array_equal(operation(view), operation(x)) and operation(view).dtype.isnative


@pytest.mark.filterwarnings("error")
def test_infinities_pass_without_a_word():
    x = np.full((4, 900), np.inf, "float32")
    for operation in (A.Contrast(), A.Overdrive(), A.Spectrogram(64), A.AmplitudeToDB(), A.Dither(), A.Phaser(8000)):
        for value in (np.inf, 1e30, np.nan):
            assert operation(np.full_like(x, value)).dtype == np.float32


def test_without_scipy():
    program = ("import sys\nsys.modules['scipy'] = None\nimport numpy as np, pijit.dataset.audio as A\n"
               "x = np.ones(600, 'float32')\nassert A.Spectrogram()(x).shape == (201, 4)\n"
               "try:\n    A.LowpassBiquad(8000, 900.0)(x)\nexcept ImportError as e:\n    print(e)\n")
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "pip install scipy" in out


def test_old_paths():
    from pijit.dataset.audio.transforms import AudioTensorOperation, LowpassBiquad
    from pijit.dataset.audio.utils import create_dct
    assert issubclass(LowpassBiquad, AudioTensorOperation) and AudioTensorOperation is arguments.AudioTensorOperation
    assert create_dct is A.create_dct
