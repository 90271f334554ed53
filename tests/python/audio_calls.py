"""Calls of mindspore.dataset.audio and what they answer, for tests and for MindSpore itself.

    python tests/python/audio_calls.py PACKAGE > answers.json

PACKAGE is mindspore or pijit. An answer is the type of an exception, or dtype, shape, largest magnitude and up to 12
elements of each array."""

import importlib
import inspect
import json
import sys

import numpy as np

# the arguments that a name needs
NEEDED = {
    "AllpassBiquad": "44100, 200.0", "BandBiquad": "44100, 200.0", "BandpassBiquad": "44100, 2000.0",
    "BandrejectBiquad": "44100, 2000.0", "BassBiquad": "44100, 6.0", "Biquad": "0.01, 0.02, 0.13, 1.0, 0.12, 0.3",
    "DBToAmplitude": "1.0, 0.5", "DCShift": "0.5", "DeemphBiquad": "44100", "DetectPitchFrequency": "1000",
    "EqualizerBiquad": "44100, 1500.0, 3.5", "Filtfilt": "[1.0, -0.5, 0.2], [0.3, 0.1, 0.2]", "Flanger": "4410",
    "HighpassBiquad": "44100, 1500.0", "InverseMelScale": "9, 4", "LFilter": "[1.0, -0.5, 0.2], [0.3, 0.1, 0.2]",
    "LowpassBiquad": "44100, 4000.0", "MaskAlongAxis": "1, 2, 0.5, 1", "MaskAlongAxisIID": "3, 0.5, 2",
    "PhaseVocoder": "1.3, np.linspace(0, 6.0, 5).reshape(5, 1)", "Phaser": "4410", "PitchShift": "1000, 4",
    "RiaaBiquad": "44100", "SpectralCentroid": "44100", "TrebleBiquad": "44100, 6.0", "Vol": "0.5",
    "create_dct": "5, 6", "linear_fbanks": "9, 0.0, 500.0, 4, 1000", "melscale_fbanks": "9, 0.0, 500.0, 4, 1000",
}
NAMES = """AllpassBiquad AmplitudeToDB Angle BandBiquad BandpassBiquad BandrejectBiquad BassBiquad Biquad ComplexNorm
ComputeDeltas Contrast DBToAmplitude DCShift DeemphBiquad DetectPitchFrequency Dither EqualizerBiquad Fade Filtfilt
Flanger FrequencyMasking Gain GriffinLim HighpassBiquad InverseMelScale InverseSpectrogram LFCC LFilter LowpassBiquad
MFCC Magphase MaskAlongAxis MaskAlongAxisIID MelScale MelSpectrogram MuLawDecoding MuLawEncoding Overdrive PhaseVocoder
Phaser PitchShift Resample RiaaBiquad SlidingWindowCmn SpectralCentroid Spectrogram TimeMasking TimeStretch TrebleBiquad
Vol create_dct linear_fbanks melscale_fbanks""".split()

# what each argument is tried with, the others being as they are needed
VALUES = """None True False -1 0 1 2 3 101 -1.0 0.0 1.0 1.5 0.5 101.0 1e39 2**31 'a' [] [1] [1.0] ['a'] (1.0,0.5) {}
{'sgd_lr':1} {'n_fft':4} np.float32(0.5) np.int32(1) np.ones(3) np.ones((3,1),'f') np.array(['a']) WindowType.HANN
BorderType.EDGE NormType.SLANEY MelType.SLANEY""".split()


def tone(*shape, dtype="float32", scale=0.8):
    t = np.arange(np.prod(shape, dtype=int))
    x = np.sin(t * 0.23) * 0.6 + np.cos(t * 1.7 + 1) * 0.3 + np.sin(t * t * 0.013) * 0.1
    return (x * scale).astype(dtype).reshape(shape)


def spec(*shape, dtype="float32"):
    """Numbers above 0."""
    return (np.abs(tone(*shape, dtype="float64")) + 0.01).astype(dtype)


_KEPT_ARGUMENTS = {
    "MFCC": "dict(n_fft=16, win_length=16, hop_length=8, f_min=0.0, f_max=8000.0, pad=0, window=WindowType.HANN, "
            "power=2.0, normalized=False, center=True, pad_mode=BorderType.REFLECT, onesided=True, norm=NormType.NONE, "
            "mel_scale=MelType.HTK, n_mels=8)",
    "LFCC": "dict(n_fft=16, win_length=16, hop_length=8, pad=0, window=WindowType.HANN, power=2.0, normalized=False, "
            "center=True, pad_mode=BorderType.REFLECT, onesided=True)",
}
_SOUND = ["tone(60)", "tone(2,50)", "tone(2,2,40,dtype='float64')", "(tone(2,50)*100).astype('int16')"]
_FLOATS = [*_SOUND[:3], "tone(2,30,dtype='float16')", "tone(2,20)>0"]
_ANY = ["tone(12)", "tone(2,2,6,dtype='float64')", "(tone(2,10)*100).astype('int16')", "tone(2,10,dtype='float16')",
        "np.float32(0.3)"]
_PAIRS = ["tone(5,2)", "tone(2,3,4,2,dtype='float64')", "(tone(5,2)*50).astype('int32')", "tone(5,3)", "tone(2)"]
_SPECTRA = ["spec(4,12)", "spec(2,2,4,12,dtype='float64')", "(spec(4,12)*90).astype('int16')", "spec(12)"]
_COMPLEX = ["tone(5,8,2)", "tone(2,5,8,2)", "tone(2,2,5,8,2,dtype='float64')", "tone(5,8)", "tone(5,8,3)"]
_DELAYED = ["tone(1,300)", "tone(2,3,150,dtype='float64')", "tone(4,100,dtype='float16')", "tone(5,50)"]
_LONG = ["tone(600)", "tone(2,2,550,dtype='float64')", "tone(100)"]

# (names, their arguments by |, their inputs)
_TABLE = [
    ("AllpassBiquad BandBiquad BandpassBiquad BandrejectBiquad LowpassBiquad HighpassBiquad",
     "44100, 200.0|44100, 2000.0, 0.3", _FLOATS),
    ("BandBiquad BandpassBiquad", "44100, 2000.0, 0.3, True", _FLOATS),
    ("BassBiquad TrebleBiquad", "44100, 6.0|44100, -3.5, 500., 0.4", _FLOATS),
    ("Biquad", "0.01, 0.02, 0.13, 1.0, 0.12, 0.3|0.01, 0.02, 0.13, 3.0, 0.12, 0.3", _FLOATS),
    ("DeemphBiquad", "44100|48000", _FLOATS), ("RiaaBiquad", "44100|48000|88200|96000", _FLOATS),
    ("EqualizerBiquad", "44100, 1500.0, 3.5|44100, 1500.0, -13.5, 0.2", _FLOATS),
    ("LFilter Filtfilt", "[1.0, -0.5, 0.2], [0.3, 0.1, 0.2]|[2.0, -0.5, 0.2, 0.1], [0.3, 0.1, 3.2, 4]|[2.0], [3.0]|"
                         "[2.0, -0.5, 0.2, 0.1], [0.3, 0.1, 3.2, 4], False", _FLOATS),
    ("AmplitudeToDB", "|ScaleType.MAGNITUDE|ScaleType.POWER, 2.0, 0.01, 3.0|ScaleType.MAGNITUDE, 5, 0.1, 10",
     [*_SPECTRA, "spec(2,3,5,6) * np.logspace(-12,3,180).reshape(2,3,5,6)", "np.zeros((2,3))", "np.array(['a'])"]),
    ("DBToAmplitude", "1.0, 0.5|2, 1|-3.5, 0.7", _ANY), ("Contrast", "|0|33.0", _ANY), ("Gain", "|0|-6.5", _ANY),
    ("DCShift", "0.5|-0.5|0.5, 0.05|-0.5, 0.05|1.5, 0.02|-1.5, 0.02|0.0, 0.1|0.9, -0.1|-0.5, -0.5|-0.5, 0.7",
     [*_ANY, "np.linspace(-2, 2, 17)"]),
    ("Vol", "0.5|2|3.0, GainType.POWER|6.0, GainType.DB|-6.0, GainType.DB", _ANY),
    ("MuLawEncoding", "|16|1|2", _ANY),
    ("MuLawDecoding", "|16|1|2", [*_ANY, "np.arange(-3, 20)", "np.arange(30.).reshape(2, 15)"]),
    ("Overdrive", "|0, 0|50., 10|100, 100.", _ANY),
    ("Fade", "|3|3, 4|1, 1|11|0, 10, FadeShape.EXPONENTIAL|10, 10, FadeShape.HALF_SINE|3, 4, FadeShape.QUARTER_SINE|"
             "5, 10, FadeShape.LOGARITHMIC", _ANY),
    ("Dither", "|DensityFunction.TPDF, True", _ANY),
    ("Dither", "DensityFunction.RPDF", ["np.full((2, 9), 0.3, 'f')"]),
    ("Angle", "", _PAIRS), ("ComplexNorm Magphase", "|2|0.5|0|3.3", _PAIRS),
    ("Spectrogram", "16|16, power=1.0|16, power=0.0|16, power=0.0, onesided=False|16, onesided=False|"
                    "16, normalized=True, power=1.5|16, 12, 5, 3|16, 12, 5, center=False|16, 1|17, 12, 30|"
                    "16, pad_mode=BorderType.EDGE|16, pad_mode=BorderType.CONSTANT|15, pad_mode=BorderType.SYMMETRIC|"
                    "15, 9, window=WindowType.KAISER|15, window=WindowType.BARTLETT|16, window=WindowType.BLACKMAN|"
                    "16, window=WindowType.HAMMING|100", [*_SOUND, "tone(3)", "np.array(1.0)"]),
    ("SpectralCentroid", "16000, 16|44100, 16, 12, 5|8000, 15, pad=3|0, 15", _SOUND),
    ("MelScale", "4, 1000, n_stft=9|4, 1000, n_stft=9, norm=NormType.SLANEY|"
                 "4, 1000, 100., 400., 9, NormType.SLANEY, MelType.SLANEY|4, 1001, f_max=600, n_stft=9|"
                 "4, 1000, n_stft=8", ["spec(9,5)", "spec(2,2,9,5,dtype='float64')", "spec(9)"]),
    ("MelSpectrogram", "16000, 16, n_mels=4|16000, 16, 12, 5, n_mels=4, pad=2|16000, 16, n_mels=4, center=False|"
                       "16000, 16, n_mels=4, norm=NormType.SLANEY, mel_scale=MelType.SLANEY|",
     [*_SOUND[:2], "tone(3)"]),
    ("MFCC", f"16000, 5, melkwargs={_KEPT_ARGUMENTS['MFCC']}|16000, 5, 2, NormMode.NONE, True, "
             f"{_KEPT_ARGUMENTS['MFCC']}|16000, 30", ["tone(60)", "tone(2,600)", "(tone(2,50)*100).astype('int16')"]),
    ("LFCC", f"16000, 8, 5, speckwargs={_KEPT_ARGUMENTS['LFCC']}|16000, 8, 5, 100., 5000., 2, NormMode.NONE, True, "
             f"{_KEPT_ARGUMENTS['LFCC']}|", ["tone(60)", "tone(2,600)", "(tone(2,50)*100).astype('int16')"]),
    ("InverseSpectrogram", "None, 16|30, 16|100, 16|None, 16, 12, 5|None, 16, normalized=True|None, 16, center=False|"
                           "20, 16, 12, 5, 2|None, 15",
     ["tone(9,5,2)", "tone(2,9,5,2)", "tone(2,2,9,5,2,dtype='float64')", "tone(9,5)", "tone(9,5,3)"]),
    ("InverseSpectrogram", "None, 10, onesided=False|None, 10, 8, 3, onesided=False, center=False", ["tone(10,5,2)"]),
    ("GriffinLim", "16, rand_init=False|16, 4, 12, 5, rand_init=False|16, 4, power=1.0, rand_init=False|"
                   "16, 4, momentum=0.0, rand_init=False|16, 4, length=60, rand_init=False|"
                   "16, 4, length=5, rand_init=False|16, 4, 17, rand_init=False",
     ["spec(9,8)", "spec(2,9,8)", "spec(2,2,9,8,dtype='float64')", "spec(8,8)"]),
    ("ComputeDeltas", "|3|4|7|5, BorderType.CONSTANT|5, BorderType.REFLECT|7, BorderType.SYMMETRIC", _SPECTRA),
    ("SlidingWindowCmn", "|3, 2|3, 2, True|4, 2, True, True|3, 2, False, True|100, 2, False, True|0, 0|2, 6|0, 0, True",
     [*_SPECTRA, "spec(30,3)"]),
    ("Resample", "|16000, 8000|8000, 16000|44100, 16000|3, 2, ResampleMethod.KAISER_WINDOW|3.7, 2|7, 7|0.5, 1|"
                 "48000, 44100, ResampleMethod.KAISER_WINDOW, 10, 0.9, 12.0|"
                 "5, 6, ResampleMethod.SINC_INTERPOLATION, 3, 0.5", [*_SOUND, "tone(1)"]),
    ("PhaseVocoder", "1.3, np.linspace(0, 6, 5).reshape(5, 1)|0.5, np.linspace(0, 6, 5, dtype='f').reshape(5, 1)|"
                     "1, np.ones((5, 1), 'f')|2.0, np.ones(5, 'f')|2.0, np.ones((1, 5), 'f')", _COMPLEX),
    ("TimeStretch", "4, 5, 1.3|None, 5, 0.7|3, 5|", _COMPLEX),
    ("PitchShift", "100, 4, 12, 64|200, 4, 12, 64, 48, 10|100, -5, 12, 64, window=WindowType.HAMMING|80, 0, 12, 64|"
                   "80, 12, 12, 64", _LONG),
    ("DetectPitchFrequency", "1000, 0.02, 5|1000, 0.02, 5, 50, 300|16000, 0.005, 3|1000, 0.02, 5, 300, 400|"
                             "1000, 1.0, 30", [*_LONG[:2], "(tone(2,600)*100).astype('int16')", "np.zeros(900)"]),
    ("Flanger", "4410|44100|4410, 5.0, 3.0|4410, 1., 2., 50.|"
                "4410, 1., 2., -50., 100., 5., 50., Modulation.TRIANGULAR|"
                "4410, 0., 2., 30., 71., 10., 25., Modulation.SINUSOIDAL, Interpolation.QUADRATIC|4410, 0., 0., 50.",
     [*_DELAYED, "tone(50)"]),
    ("Phaser", "4410|44100|4410, 0.8, 1.2, 5.0, 0.9, 2.0, False|4410, delay_ms=0.3", [*_DELAYED, "tone(500)"]),
    ("MaskAlongAxis", "1, 2, 0.5, 1|1, 2, 0.5, 2|3, 2, 0.5, 1", _SPECTRA),
    ("FrequencyMasking TimeMasking", "|False, 2, 1, 0.5|False, 0, 1, 0.5|False, 5, 0|False, 2, 3|True, 13", _SPECTRA),
    ("create_dct", "1, 1|6, 5|13, 40, NormMode.ORTHO", None),
    ("linear_fbanks melscale_fbanks", "9, 100.0, 400.0, 4, 1001|1, 0.0, 500.0, 4, 1000|10, 20., 30000., 5, 16000",
     None),
    ("melscale_fbanks", "20, 0.0, 8000.0, 8, 16000, NormType.SLANEY, MelType.SLANEY", None),
]


def calls():
    """(name, arguments, input or None)."""
    for names, arguments, inputs in _TABLE:
        for name in names.split():
            for a in arguments.split("|"):
                for x in inputs if inputs is not None else [None]:
                    yield name, a, x


def _brief(value):
    if isinstance(value, tuple):
        return [_brief(v) for v in value]
    flat = value.reshape(-1)
    if value.dtype.kind == "b":
        flat = flat.astype(int)
    at = np.unique(np.linspace(0, max(flat.size - 1, 0), 12).astype(int))
    size = float(np.abs(flat[np.isfinite(flat)]).max(initial=0)) if flat.size else 0.0
    return [str(value.dtype), list(value.shape), float(f"{size:.9g}"),
            [float(f"{v:.9g}") for v in flat[at].astype(float)] if flat.size else []]


def answers(audio):
    """{call: answer}."""
    known = {**vars(audio), "np": np, "tone": tone, "spec": spec}
    found = {}
    for name, arguments, x in calls():
        try:
            value = eval(f"{name}({arguments})", known)
            answer = _brief(value if x is None else value(eval(x, known)))
        except Exception as e:
            answer = type(e).__name__
        found[f"{name}({arguments})" + ("" if x is None else f" of {x}")] = answer
    return found


def checks(audio):
    """{name.argument: the first letters of what each value raises, or .}."""
    known, found = {**vars(audio), "np": np}, {}
    for name in NAMES:
        function = getattr(audio, name)
        parameters = [p for p in inspect.signature(function).parameters if p != "self"]
        base = eval(f"dict(zip(parameters, ({NEEDED[name]},)))", {**known, "parameters": parameters}
                    ) if name in NEEDED else {}
        for p in parameters:
            letters = ""
            for value in VALUES:
                try:
                    function(**{**base, p: eval(value, known)})
                    letters += "."
                except Exception as e:
                    letters += type(e).__name__[0]
            found[f"{name}.{p}"] = letters
    return found


def differs(ours, theirs):
    """What is different in two answers, or None. Filters round each step there, and once here."""
    if isinstance(ours, str) or isinstance(theirs, str):
        return None if ours == theirs else f"{ours} instead of {theirs}"
    if not isinstance(theirs[0], str):
        return next((d for d in map(differs, ours, theirs) if d), None)
    if ours[:2] != theirs[:2]:
        return f"{ours[:2]} instead of {theirs[:2]}"
    a, b = np.array(ours[3]), np.array(theirs[3])
    close = {"float64": 1e-5, "float16": 1e-3}.get(ours[0], 3e-5) * theirs[2] + 1e-14
    if not np.allclose(a, b, rtol=0, atol=close, equal_nan=True):
        return f"{a.tolist()} instead of {b.tolist()}"
    return None


# argument: values that MindSpore lets pass, or where it raises the exception of a step inside
_LEFT_OUT = {"MFCC.sample_rate": {"0", "1"}, "InverseMelScale.sgdargs": set(VALUES) - {"{}", "{'sgd_lr':1}", "None"}}


def differences(ours, theirs):
    """What is different in two dicts of answers and checks."""
    for call, answer in theirs["answers"].items():
        different = differs(ours["answers"][call], answer)
        if different:
            yield f"{call}: {different}"
    for argument, letters in theirs["checks"].items():
        for value, a, b in zip(VALUES, ours["checks"][argument], letters):
            if a != b and value not in _LEFT_OUT.get(argument, ()):
                yield f"{argument}={value}: {a} instead of {b}"


if __name__ == "__main__":
    module = importlib.import_module(f"{sys.argv[1]}.dataset.audio")
    json.dump({"answers": answers(module), "checks": checks(module)}, sys.stdout, indent=0)
