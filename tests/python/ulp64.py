"""Error of float64 functions in units in the last place, against MPFR (gmpy2) with 300 bits.

    python -m tests.python.ulp64 [--count N] [--seed S] [--screen] [NAME ...]

N arguments per function and kind of argument. MPFR takes some microseconds for each: with --screen the C library's long
double, a thousand times as fast and good to 2**-10 of a unit, finds those for it that may be worse than the worst so
far, so that 10**9 of them take minutes."""

import argparse
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile

import gmpy2
import numpy as np

import pijit as ms

BITS = 300  # MPFR reduces arguments exactly
ONE = {
    "exp": gmpy2.exp, "exp2": gmpy2.exp2, "expm1": gmpy2.expm1, "log": gmpy2.log, "log2": gmpy2.log2,
    "log10": gmpy2.log10, "log1p": gmpy2.log1p, "sin": gmpy2.sin, "cos": gmpy2.cos, "tan": gmpy2.tan,
    "asin": gmpy2.asin, "acos": gmpy2.acos, "atan": gmpy2.atan, "sinh": gmpy2.sinh, "cosh": gmpy2.cosh,
    "tanh": gmpy2.tanh, "asinh": gmpy2.asinh, "acosh": gmpy2.acosh, "atanh": gmpy2.atanh, "cbrt": gmpy2.cbrt,
    "erf": gmpy2.erf, "erfc": gmpy2.erfc, "rsqrt": gmpy2.rec_sqrt,
    "sigmoid": lambda x: 1 / (1 + gmpy2.exp(-x)),
}
TWO = {"pow": lambda x, y: x**y, "atan2": gmpy2.atan2, "hypot": gmpy2.hypot}
# Where results may be worse than `most`, or are of another kind or sign; `next` is where to go on when all room is
# used.
_SHIM = """#include <math.h>
static long double rsqrtl(long double x) { return 1 / sqrtl(x); }
static long double sigmoidl(long double x) { return 1 / (1 + expl(-x)); }
static double spacing(double x) {
  x = fabs(x);
  return x >= 0x1.fffffffffffffp1023 ? 0x1p971 : nextafter(x, INFINITY) - x;
}
#define SCREEN(name, exact) \\
  long name##_screen(long n, const double* x, const double* y, const double* got, double most, long room, \\
                     long* places, long* next) { \\
    long found = 0, i = 0; \\
    for (; i < n && found < room; ++i) { \\
      const double r = got[i]; \\
      const long double e = exact; \\
      const double want = (double)e; \\
      if (want != want && r != r) continue; \\
      if (want == r && want != 0 && most > 0.51) continue; \\
      const double ulp = (double)(fabsl(r - e) / spacing(want)); \\
      const int odd = !(fabs(r) < INFINITY) || !(fabs(want) < INFINITY) || signbit(r) != signbit(want); \\
      if (odd ? want == r && signbit(r) == signbit(want) : ulp < most - 0x1p-8) continue; \\
      if (!odd && ulp > most) most = ulp; \\
      places[found++] = i; \\
    } \\
    return *next = i, found; \\
  }
"""


def screens():
    """Functions of the C library's long double that find the worst results; None where there is no compiler."""
    if not shutil.which("cc"):
        return None
    lines = ([f"SCREEN({name}, {name}l(x[i]))" for name in ONE] +
             [f"SCREEN({name}, {name}l(x[i], y[i]))" for name in TWO])
    with tempfile.TemporaryDirectory() as at:
        source, library = os.path.join(at, "shim.c"), os.path.join(at, "shim.so")
        with open(source, "w") as f:
            f.write(_SHIM + "\n".join(lines) + "\n")
        subprocess.run(["cc", "-O2", "-fno-builtin", "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
        return ctypes.CDLL(library)


BLOCK = 1 << 16  # arguments of each kind
ROOM = 4096      # candidates at a time
# Where most of a function happens.
RANGE = {"exp": (-746, 710), "exp2": (-1075, 1024), "expm1": (-40, 710), "sinh": (-710.5, 710.5), "tanh": (-22, 22),
         "cosh": (-710.5, 710.5), "asin": (-1, 1), "acos": (-1, 1), "atanh": (-1, 1), "log1p": (-1, 20), "log": (0, 20),
         "log2": (0, 20), "log10": (0, 20), "acosh": (1, 50), "erf": (-6, 6), "erfc": (-6, 27.3), "sigmoid": (-745, 50)}
_INFO = np.finfo(np.float64)
_EDGES = (0, 1, 2, 0.5, np.inf, np.nan, _INFO.max, _INFO.tiny, _INFO.smallest_subnormal, 709.78, 710.4, 745.1, 745.2,
          1024, 1075, 1e300, 3, 1e17)
SPECIAL = np.array([s * v for v in _EDGES for s in (1, -1)])


def arguments(name, count, rng):
    """Arguments: any bits, the range of interest, around 1, all sizes, near multiples of pi / 2, special ones."""
    low, high = RANGE.get(name, (-100, 100))
    bits = rng.integers(0, 1 << 64, count, dtype=np.uint64, endpoint=False).view(np.float64)
    sign = rng.choice([-1.0, 1.0], count)
    sizes = sign * rng.uniform(1, 2, count) * np.exp2(rng.integers(-60, 40, count))
    near = rng.integers(1, 1 << 40, count) >> rng.integers(0, 40, count)
    multiples = np.nextafter(near * (np.pi / 2), sign * np.inf) * sign
    far = np.ldexp(np.pi / 2, rng.integers(30, 1020, count)) * sign
    # 6381956970095103 * 2^797: the float64 that comes nearest to a multiple of pi / 2
    hardest = np.ldexp(6381956970095103.0, np.arange(-60, 900, 7))
    parts = [bits, rng.uniform(low, high, count), rng.uniform(-2, 2, count), sizes, multiples, far, hardest, SPECIAL]
    return np.concatenate(parts)


def error(got, exact):
    """ULPs between a float64 and an MPFR value; inf where one of them is not finite and the other is, or differs."""
    want = float(exact)
    if np.isnan(want) or np.isnan(got):
        return 0.0 if np.isnan(want) and np.isnan(got) else np.inf
    if np.isinf(want) or np.isinf(got):  # next to the largest float64 an infinity is one unit away
        near = max(abs(want), abs(got)) == np.inf and min(abs(want), abs(got)) == _INFO.max
        return 0.0 if want == got else 1.0 if near and want * got > 0 else np.inf
    if want == 0 and got == 0:
        return 0.0 if np.signbit(want) == np.signbit(got) else np.inf
    return float(abs(gmpy2.mpfr(got) - exact) / np.spacing(min(abs(want), np.nextafter(_INFO.max, 0))))


def columns_of(name, count, rng):
    if name in ONE:
        return [arguments(name, count, rng)]
    x, y = arguments("", count, rng), arguments("", count, rng)
    n = len(SPECIAL)
    columns = [np.concatenate([x, np.repeat(SPECIAL, n)]), np.concatenate([y, np.tile(SPECIAL, n)])]
    if name == "pow":  # results that are neither 0 nor infinite
        x = np.exp2(rng.uniform(-1000, 1000, 2 * count))
        columns = [np.concatenate([columns[0], x]),
                   np.concatenate([columns[1], rng.uniform(-1070, 1024, 2 * count) / np.log2(x)])]
    return columns


def candidates(screen, name, columns, got, most):
    """Places of results that may be worse than `most`, by the C library's long double."""
    def pointer(a):
        return a.ctypes.data_as(ctypes.c_void_p)
    columns = [np.ascontiguousarray(c) for c in columns]
    places, go_on, begin = np.empty(ROOM, np.int64), ctypes.c_long(), 0
    while begin < got.size:
        parts = [c[begin:] for c in (columns[0], columns[-1], got)]
        found = getattr(screen, name + "_screen")(
            ctypes.c_long(got.size - begin), *[pointer(p) for p in parts], ctypes.c_double(most), ctypes.c_long(ROOM),
            pointer(places), ctypes.byref(go_on))
        yield from (begin + places[:found]).tolist()
        begin += go_on.value


def worst(name, count, seed=0, screen=None):
    """(greatest error in ULP, the arguments of it, how many arguments there were)."""
    rng = np.random.default_rng(seed)
    most, where, total = 0.0, None, 0
    function = ONE.get(name) or TWO[name]
    for begin in range(0, count, BLOCK):
        columns = columns_of(name, min(BLOCK, count - begin), rng)
        got = np.ascontiguousarray(getattr(ms.ops, name)(*[ms.Tensor(c) for c in columns]).asnumpy())
        total += got.size
        places = range(got.size) if screen is None else candidates(screen, name, columns, got, most)
        with gmpy2.context(gmpy2.get_context(), precision=BITS):
            for i in places:
                values = [float(c[i]) for c in columns]
                e = error(float(got[i]), function(*[gmpy2.mpfr(v) for v in values]))
                if not e <= most:
                    most, where = e, values
    return most, where, total


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--screen", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    bad, screen = 0, screens() if options.screen else None
    for function in options.names or [*ONE, *TWO]:
        ulp, at, total = worst(function, options.count, options.seed, screen)
        bad += not ulp <= 2
        print(f"{function:8} {ulp:8.3f} ULP at {at} of {total:,} arguments", flush=True)
    sys.exit(bad > 0)
