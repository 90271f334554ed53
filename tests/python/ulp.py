"""Error of float32 functions in units in the last place, against float64 NumPy and SciPy.

    python -m tests.python.ulp [--stride N] [--count N] [NAME ...]     every N-th float32 (1: all 2**32)"""

import argparse
import sys

import numpy as np
import scipy.special

import pijit as ms

BLOCK = 1 << 22

_INFO = np.finfo(np.float32)
SPECIAL = np.array([s * v
                    for v in (0, 1, 2, 0.5, np.inf, np.nan, _INFO.max, _INFO.tiny, _INFO.smallest_subnormal, 87, 88, 89,
                              104, 120) for s in (1, -1)], np.float32)

FUNCTIONS = {
    "exp": np.exp, "log": np.log, "tanh": np.tanh, "erf": scipy.special.erf, "sigmoid": scipy.special.expit,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "exp2": np.exp2, "expm1": np.expm1, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "erfc": scipy.special.erfc, "erfcx": scipy.special.erfcx, "cbrt": np.cbrt,
    "lgamma": lambda x: np.where(np.isneginf(x), np.inf, scipy.special.gammaln(x)), "digamma": scipy.special.digamma,
    "softplus": lambda x: np.logaddexp(0, x),
    "silu": lambda x: x * scipy.special.expit(x), "reciprocal": lambda x: 1 / x,
    "mish": lambda x: x * np.tanh(np.logaddexp(0, x)),
}
TWO = {"pow": np.power, "atan2": np.arctan2, "hypot": np.hypot}


def errors(got, exact):
    """(error of each result in ULP, whether it is a special value that differs)"""
    want = exact.astype(np.float32)
    special = ~np.isfinite(want)
    wrong = special & ~((got == want) | (np.isnan(got) & np.isnan(want)))
    # near the largest float an infinity is one unit away
    wrong &= ~(np.isinf(want) & (np.abs(got) == _INFO.max) & (np.sign(got) == np.sign(want)))
    wrong |= (want == 0) & (got == 0) & (np.signbit(want) != np.signbit(got))
    ulp = np.abs(got.astype(np.float64) - exact) / np.spacing(np.abs(want)).astype(np.float64)
    return np.where(special, 0.0, ulp), wrong


def worst(name, stride=1):
    """(greatest error in ULP, where) over every `stride`-th bit pattern; inf where a special value or sign differs."""
    function, op, most, at = FUNCTIONS[name], ms._C.ops[name], 0.0, 0.0
    for start in range(0, 1 << 32, BLOCK * stride):
        bits = np.arange(start, min(start + BLOCK * stride, 1 << 32), stride, dtype=np.uint64).astype(np.uint32)
        x = np.concatenate([bits.view(np.float32), SPECIAL])
        got = op(ms.Tensor(x)).asnumpy()
        with np.errstate(all="ignore"):
            ulp, wrong = errors(got, function(x.astype(np.float64)))
        if wrong.any():
            return np.inf, float(x[wrong][0])
        if not ulp.max() <= most:
            most, at = float(ulp.max()), float(x[np.argmax(ulp)])
    return most, at


def worst_of_two(name, count, seed=0):
    """The same of a function of two arguments: any bits, all sizes, near each other, special; finite powers."""
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(0, 1 << 32, count, dtype=np.uint64).astype(np.uint32).view(np.float32) for _ in range(2))
    sizes = np.exp2(rng.uniform(-126, 127, count)) * rng.choice([-1, 1], count)
    middle = [rng.uniform(-1, 1, count) * np.exp2(rng.uniform(-5, 5, count)) for _ in range(2)]
    near_one = 1 + rng.uniform(-0.5, 0.5, count) * np.exp2(-rng.uniform(0, 23, count))
    bases = np.concatenate([np.exp2(rng.uniform(-149, 128, count)), near_one]).astype(np.float32)
    with np.errstate(all="ignore"):
        exponents = rng.uniform(-150, 128, 2 * count) / np.log2(bases.astype(np.float64))
        columns = [np.concatenate(c).astype(np.float32) for c in (
            [x, sizes, middle[0], bases, np.repeat(SPECIAL, len(SPECIAL))],
            [y, sizes * rng.uniform(0, 2, count), middle[1], exponents, np.tile(SPECIAL, len(SPECIAL))])]
        got = ms._C.ops[name](*[ms.Tensor(c) for c in columns]).asnumpy()
        ulp, wrong = errors(got, TWO[name](*[c.astype(np.float64) for c in columns]))
    at = np.argmax(np.where(wrong, np.inf, ulp))
    return np.inf if wrong.any() else float(ulp[at]), tuple(float(c[at]) for c in columns)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--count", type=int, default=1 << 22, help="arguments of each kind for a function of two")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    bad = 0
    for name in options.names or [*FUNCTIONS, *TWO]:
        ulp, x = worst_of_two(name, options.count) if name in TWO else worst(name, options.stride)
        bad += not ulp <= 2
        print(f"{name:12} {ulp:8.3f} ULP at {x!r}", flush=True)
    sys.exit(bad > 0)
