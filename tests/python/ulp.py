"""Error of float32 functions in units in the last place, against float64 NumPy and SciPy.

    python -m tests.python.ulp [--stride N] [NAME ...]     every N-th float32 (1: all 2**32)"""

import argparse
import sys

import numpy as np
import scipy.special

import pijit as ms

BLOCK = 1 << 22

_INFO = np.finfo(np.float32)
SPECIAL = np.array([s * v for v in (0, 1, 2, 0.5, np.inf, np.nan, _INFO.max, _INFO.tiny, _INFO.smallest_subnormal, 87, 88, 89, 104, 120) for s in (1, -1)], np.float32)

FUNCTIONS = {
    "exp": np.exp, "log": np.log, "tanh": np.tanh, "erf": scipy.special.erf, "sigmoid": scipy.special.expit, "sin": np.sin, "cos": np.cos, "tan": np.tan, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "exp2": np.exp2, "expm1": np.expm1, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "erfc": scipy.special.erfc, "cbrt": np.cbrt,
    "lgamma": lambda x: np.where(np.isneginf(x), np.inf, scipy.special.gammaln(x)), "digamma": scipy.special.digamma, "softplus": lambda x: np.logaddexp(0, x),
    "silu": lambda x: x * scipy.special.expit(x), "reciprocal": lambda x: 1 / x,
}


def worst(name, stride=1):
    """(greatest error in ULP, where) over every `stride`-th bit pattern; inf where a special value differs."""
    function, op, most, at = FUNCTIONS[name], ms._C.ops[name], 0.0, 0.0
    for start in range(0, 1 << 32, BLOCK * stride):
        bits = np.arange(start, min(start + BLOCK * stride, 1 << 32), stride, dtype=np.uint64).astype(np.uint32)
        x = np.concatenate([bits.view(np.float32), SPECIAL])
        got = op(ms.Tensor(x)).asnumpy()
        with np.errstate(all="ignore"):
            exact = function(x.astype(np.float64))
            want = exact.astype(np.float32)
            special = ~np.isfinite(want)
            wrong = special & ~((got == want) | (np.isnan(got) & np.isnan(want)))
            # near the largest float an infinity is one unit away
            wrong &= ~(np.isinf(want) & (np.abs(got) == np.finfo(np.float32).max) & (np.sign(got) == np.sign(want)))
            if wrong.any():
                return np.inf, float(x[wrong][0])
            ulp = np.abs(got[~special].astype(np.float64) - exact[~special]) / np.spacing(np.abs(want[~special])).astype(np.float64)
        if ulp.size and not ulp.max() <= most:
            most, at = float(ulp.max()), float(x[~special][np.argmax(ulp)])
    return most, at


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    bad = 0
    for name in options.names or FUNCTIONS:
        ulp, x = worst(name, options.stride)
        bad += not ulp <= 2
        print(f"{name:12} {ulp:8.3f} ULP at {x!r}", flush=True)
    sys.exit(bad > 0)
