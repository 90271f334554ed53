"""Random programs over ndarrays, which run plain and jitted.

    python -m tests.python.ndarray_programs [--programs N] [--from SEED] [--stores]

Compared: the bytes, dtypes, strides, flags and bases of results, the memory of all arguments, exceptions and
warnings with their lines. Two NaNs that meet in one operation have the same bits here: which of them a result
takes, NumPy decides otherwise from element to element (docs/differences.md)."""

import argparse
import random
import warnings

import numpy as np

import pijit

UNARY = [
    "-{}",
    "abs({})",
    "np.sqrt({})",
    "np.square({})",
    "np.floor({})",
    "np.rint({})",
    "np.isnan({})",
    "+{}",
    "np.isfinite({})",
    "~({} > 0)",
    "np.exp({})",
    "np.sin({})",
    "np.log({})",
    "np.tanh({})",
    "np.sign({})",
    "({}).T",
    "{}**2",
    "{}**0.5",
    "{}**3",
    "np.sum({})",
    "({}).sum(axis=0)",
    "np.mean({})",
    "np.max({})",
    "({}).min(axis=-1)",
    "({}).mean(axis=0)",
    "np.clip({}, -1, 2)",
    "({}).prod()",
    "{}[1:]",
    "{}[::2]",
    "{}[0]",
    "{}[..., :-1]",
    "{}[::-1]",
    "{}[None]",
    "np.sum({}, keepdims=True)",
    "np.reciprocal({})",
    "np.cumsum({})",
    "({}).cumsum(axis=0)",
    "np.cumprod({}, -1)",
    "np.std({})",
    "({}).var(axis=-1)",
    "np.ptp({})",
    "({}).std(axis=0, ddof=1)",
    "np.var({}, keepdims=True)",
    "np.diff({})",
    "np.diff({}, axis=0)",
    "np.roll({}, 2, 0)",
    "np.roll({}, 1)",
    "np.roll({}, -1, axis=0)",
    "np.full_like({}, 2)",
    "np.ptp({}, axis=-1)",
    "{0}[{0} > 0]",
    "np.sum({0}[{0} < 1])",
    "{0}[{0} != 2].mean()",
    "({0}[~({0} > 1)] * 2).max()",
    "np.sort({})",
    "np.argsort({})",
    "np.argmax({})",
    "({}).argmin(axis=-1)",
    "np.take({}, [0, -1])",
    "{}[[1, 0, 2]]",
    "{0}[np.argsort({0})]",
    "np.searchsorted(np.sort({0}), {0})",
    "np.sort({}, kind='stable')",
    "({}).real",
    "({}).imag",
    "np.conj({})",
    "({}).conj()",
    "1j * {}",
    "({}).astype(complex)",
    "np.real({})",
    "np.zeros_like({}, dtype=complex)",
    "({}).sum().real",
    "np.reshape({}, -1)",
    "({}).ravel()",
    "({}).copy()",
    "np.transpose({})",
    "np.squeeze({})",
    "np.round({}, 1)",
    "np.repeat({}, 2)",
    "np.expand_dims({}, 0)",
    "({}).reshape(-1, 1)",
    "({}).swapaxes(0, -1)",
    "np.trace({})",
    "np.count_nonzero({})",
    "np.nonzero({})[0]",
    "np.median({})",
    "np.unique({})",
    "np.fft.fft({})",
    "np.fft.rfft({})",
    "np.linalg.norm({})",
    "np.tile({}, 2)",
    "np.convolve(({}).ravel()[:20], [1, -2])",
    "np.percentile({}, 30)",
    "np.histogram({}, 3)[0]",
    "np.split({}, 2, -1)[1]",
    "np.flip({})",
    "np.diag(({}).ravel()[:9])",
    "({}).diagonal()",
    "np.tril(({}).reshape(-1)[:30])",
    "np.pad({}, 1)",
    "np.gradient(({}).ravel())",
    "np.nan_to_num({})",
    "np.einsum('i...->...', {})",
    "np.array({})",
    "({})[...]",
    "np.angle({})",
    "float(({}).sum())",
    "np.atleast_2d({})",
    "np.average({})",
    "np.cross({0}, {0})",
]
BINARY = [
    "({} + {})",
    "({} - {})",
    "({} * {})",
    "({} / {})",
    "np.maximum({}, {})",
    "np.minimum({}, {})",
    "({} < {})",
    "({} >= {})",
    "({} == {})",
    "({} != {})",
    "np.add({}, {})",
    "({} // {})",
    "({} % {})",
    "np.where({} > 0, {}, 1)",
    "np.fmax({}, {})",
    "np.logical_and({}, {})",
    "np.arctan2({}, {})",
    "np.hypot({}, {})",
    "({} @ {})",
    "({} & {})",
    "(({}).T @ {})",
    "({} @ ({}).T)",
    "({} @ ({})[0])",
    "np.concatenate([{}, {}])",
    "np.stack(({}, {}))",
    "np.stack([{}, {}], axis=-1)",
    "np.hstack(({}, {}))",
    "np.vstack([{}, {}])",
    "np.concatenate(({}, {}), axis=-1)",
    "np.array([{}, {}])",
    "np.outer(({}).ravel()[:30], ({}).ravel()[:40])",
    "np.interp({}, np.arange(5.0), ({}).ravel()[:5])",
    "np.vdot({}, {})",
    "np.inner({}, {})",
    "np.add.outer(({}).ravel()[:30], ({}).ravel()[:40])",
    "np.kron(({}).ravel()[:9], ({}).ravel()[:9])",
    "({} + 1j * {})",
    "np.column_stack([{}, {}])",
    "np.meshgrid(({}).ravel()[:30], ({}).ravel()[:9])[0]",
    "np.allclose({}, {})",
    "np.copysign({}, {})",
]
NUMBERS = [
    "2",
    "2",
    "0.5",
    "0.5",
    "-1.5",
    "3",
    "True",
    "np.float32(1.25)",
    "np.float64(2)",
    "0",
    "1e-300",
    "1e300",
    "-7",
    "np.int8(3)",
    "2j",
    "(1-0.5j)",
    "np.complex64(1j)",
]
STORES = [
    "{x} += {e}",
    "{x} *= {e}",
    "{x}[1:] = {e}",
    "{x}[:-1] = {x}[1:]",
    "{x}[...] = {e}",
    "{x}[0] = {e}",
    "{x} -= {e}",
    "{x}[::2] += {e}",
    "np.add({x}, {e}, out={x})",
    "np.multiply({x}, {e}, {x})",
    "{x}[1:-1] = {x}[:-2] + {x}[2:]",
    "{x} **= 2",
    "{x} /= {e}",
    "{x}[1:][::2] = {e}",
    "{x}.T[0] = {e}",
    "{x}[{x} > 0] = 3",
    "{x}[{x} < {e}] *= 2",
    "{x}[{e} > 1] = {e}",
    "{x}[({x} > 0) & ({x} < 2)] -= {x}[0]",
    "{x}.real[...] = 2",
    "{x}.imag += 1",
    "{x}.real *= {e}",
    "{x}.reshape(-1)[::2] = 5",
    "{x}.T[1:] = {e}",
    "np.copyto({x}, {e})",
    "np.fill_diagonal({x}, 0)",
    "{x}[[0, 1]] = {e}",
    "{x}.sort()",
    "{x}[np.argsort({x})] = {e}",
    "{x}[[0, 0]] += 1",
]
DTYPES = ["f8"] * 6 + ["f4"] * 3 + ["i8", "i4", "u1", "i1", "u8", "?", "i2"] + ["c16"] * 3 + ["c8"]
SHAPES = [(5,), (17,), (3, 4), (64,), (1000,), (2, 3, 4), (0,), (), (1,), (7, 1), (30, 40), (20000,)]


def expression(r, names, depth):
    if depth == 0 or r.random() < 0.15:
        return r.choice(names * 3 + NUMBERS)
    if r.random() < 0.35:
        return r.choice(UNARY).format(expression(r, names, depth - 1))
    return r.choice(BINARY).format(expression(r, names, depth - 1), expression(r, names, depth - 1))


def array(r, dtype, shape):
    g = np.random.default_rng(r.randrange(1 << 30))
    if dtype in ("c16", "c8"):
        part = "f8" if dtype == "c16" else "f4"
        a = np.empty(shape, dtype)
        a.real, a.imag = array(r, part, shape), array(r, part, shape)
        return a
    if dtype in ("f8", "f4"):
        a = (np.asarray(g.standard_normal(shape)) * 10).astype(dtype)
        for v in (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-320, 1e308):
            if a.size and r.random() < 0.08:
                with np.errstate(all="ignore"):
                    a.reshape(-1)[r.randrange(a.size)] = v
        return a
    if dtype == "?":
        return np.asarray(g.integers(0, 2, shape)).astype(bool)
    i = np.iinfo(dtype)
    low, high = (max(i.min, -9), 9) if r.random() < 0.7 else (i.min, i.max)
    return np.asarray(g.integers(low, high, shape, dtype=dtype, endpoint=True))


def frozen(x):
    if isinstance(x, tuple):
        return tuple(frozen(v) for v in x)
    if isinstance(x, np.ndarray):
        base = None if x.base is None else type(x.base).__name__
        return "ndarray", x.dtype.str, id(x.dtype), x.shape, x.strides, str(x.flags), base, x.tobytes()
    return (type(x).__name__, x.tobytes()) if isinstance(x, np.generic) else (type(x).__name__, repr(x))


def run(f, args):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            result = "value", frozen(f(*args))
        except Exception as e:
            result = type(e).__name__, str(e), e.__traceback__.tb_next and e.__traceback__.tb_next.tb_lineno
    return result, [(w.category.__name__, str(w.message), w.lineno) for w in said], [frozen(a) for a in args]


def program(r, stores):
    names, lines = ["a", "b", "c"], ["def f(a, b, c):"]
    for k in range(r.randrange(1, 4)):
        if stores and r.random() < 0.6:
            lines.append("    " + r.choice(STORES).format(x=r.choice(names), e=expression(r, names, r.randrange(3))))
        lines.append(f"    t{k} = {expression(r, names, r.randrange(1, 4))}")
        names.append(f"t{k}")
    given = r.sample(names[3:], r.randrange(1, len(names) - 2))
    return "\n".join(lines + [f"    return {', '.join(given)}"])


def compare(seed, stores=False):
    """None, or what differs; whether anything was captured."""
    r = random.Random(seed)
    text = program(r, stores)
    base = r.choice(SHAPES)

    def shape():
        q = r.random()
        return base if q < 0.7 else base[1:] if q < 0.8 else tuple(1 if r.random() < 0.5 else d for d in base)

    kinds = [(r.choice(DTYPES), shape(), r.random() < 0.12) for _ in range(3)]

    def arguments(call):
        q = random.Random(seed * 10 + call)
        made = [array(q, dtype, s) for dtype, s, _ in kinds]
        return [np.asfortranarray(x) if fortran and x.ndim else x for x, (*_, fortran) in zip(made, kinds)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 2[1:]
        code = compile(text, f"program{seed}", "exec")
    functions = []
    for _ in range(2):
        scope = {"np": np}
        exec(code, scope)
        functions.append(scope["f"])
    plain, jitted = functions[0], pijit.jit(functions[1])
    for call in range(3):
        before, after = run(plain, arguments(call)), run(jitted, arguments(call))
        if before != after:
            return (
                f"seed {seed}, call {call}\n{text}\n{kinds}\nplain  {before[:2]}\njitted {after[:2]}\n"
                f"arguments differ: {before[2] != after[2]}\n{pijit.explain(jitted)}"
            ), True
    return None, bool(pijit.explain(jitted).graphs)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--programs", type=int, default=1000)
    options.add_argument("--from", type=int, default=0, dest="first")
    options.add_argument("--stores", action="store_true")
    options = options.parse_args()
    captured = differ = 0
    for seed in range(options.first, options.first + options.programs):
        text, graph = compare(seed, options.stores)
        captured += graph
        if text:
            differ += 1
            print(text, flush=True)
    print(f"{options.programs} programs, {captured} with graphs, {differ} differ")


if __name__ == "__main__":
    main()
