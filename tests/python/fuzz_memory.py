"""Random calls of all ops with kernels, forward and gradients, on memory that begins behind or ends before a page
without access.

    python -m tests.python.fuzz_memory [--calls N] [--from K] [--only REGEX] [--isa avx512 avx2] [--jobs J]
    [--openmp T] [--seconds S]

Call k is the same on each machine. Each runs in child processes with PIJIT_GUARD=front and back, for each instruction
set, by one thread and by two. A child that dies, hangs or finds that memory was written beyond a buffer is a finding:
its call is named, and another child goes on with the next. Fresh memory holds something else at the front than at the
back, so results that differ are one too: of memory that nobody wrote. `--list` shows calls instead of running them.
Exit status 1: something was found."""

import argparse
import collections
import ctypes
import mmap
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
import zlib

import numpy as np

SIDES = ("front", "back")
ISAS = {"avx512": {}, "avx2": {"PIJIT_ISA": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}}
CONVOLUTIONS = 1 / 6  # of all calls

FLOATS = ("float32", "float64", "float16", "bfloat16")
WIDE = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
REAL = FLOATS + INTEGERS
ALL = REAL + ("bool",) + COMPLEX

OPS = []  # (name, dtypes, function of a Draw that returns a Call)


def op(name, dtypes):
    def add(make):
        OPS.append((name, dtypes, make))
        return make

    return add


class Call:
    """What is run: `function` of tensors of these arrays; its arguments as text."""

    def __init__(self, function, arrays, text, differentiable=False, jitted=False):
        self.function, self.arrays, self.text = function, arrays, text
        self.differentiable, self.jitted = bool(differentiable), bool(jitted)

    def __str__(self):
        shapes = ", ".join(f"{dtype}{list(a.shape)}" for a, dtype in self.arrays)
        return f"{self.text} of {shapes}{' with gradients' * self.differentiable}{', jitted' * self.jitted}"

    def run(self):
        import pijit as ms

        tensors = [ms.Tensor(a, dtype_of(dtype)) for a, dtype in self.arrays]
        function = self.function
        if self.differentiable:
            function = gradients(function, [k for k, (_, d) in enumerate(self.arrays) if d in FLOATS + COMPLEX])
        if self.jitted:
            function = ms.jit(function)
        result = function(*tensors)
        if self.jitted and not self.differentiable:  # weights are packed, given back, and read again
            for _ in range(3):
                result = function(*tensors)
            return flat(result) + tensors
        return flat(result)


def dtype_of(name):
    import pijit as ms

    return getattr(ms, "bool_" if name == "bool" else name)


def gradients(function, positions):
    import pijit as ms

    def loss(*x):
        y = flat(function(*x))
        terms = [(v * (v + 1)).sum() for v in y if v.dtype in (ms.float16, ms.float32, ms.float64, ms.bfloat16)]
        total = terms[0].astype(ms.float32)
        for t in terms[1:]:
            total = total + t.astype(ms.float32)
        return total, tuple(y)

    return ms.value_and_grad(loss, tuple(positions), has_aux=True)


def flat(v):
    return [v] if not isinstance(v, (tuple, list)) else [t for part in v for t in flat(part)]


def raw(name, *attributes):
    """An op of the extension by its name."""
    def call(*x):
        from pijit._C import ops

        return ops[name](*x, *attributes)

    return call


class Draw:
    """The random choices of one call."""

    def __init__(self, number, dtype):
        self.rng, self.dtype = np.random.default_rng([41, number]), dtype

    def one(self, *of):
        return of[int(self.rng.integers(len(of)))]

    def size(self, most=40):
        """Mostly small; around multiples of what a register holds; now and then 1."""
        kind = self.rng.integers(6)
        if kind == 0:
            return 1
        if kind == 1:
            return int(np.clip(self.one(4, 8, 16, 32, 64) + self.rng.integers(-1, 2), 1, most))
        return int(self.rng.integers(1, most + 1))

    def shape(self, low=0, high=4, elements=1 << 14):
        """Now and then as many elements as threads divide."""
        if self.rng.integers(12) == 0 and elements == 1 << 14:
            elements = 1 << 19
        rank = int(self.rng.integers(low, high + 1))
        most = max(2, int(elements ** (1 / max(rank, 1))))
        s = [self.size(min(most, 1 << 16) if rank < 3 or elements > 1 << 14 else 40) for _ in range(rank)]
        while np.prod(s, dtype=np.int64) > elements:
            s[int(np.argmax(s))] //= 2
        return tuple(s)

    def axis(self, shape):
        return int(self.rng.integers(len(shape)))

    def axes(self, shape):
        return tuple(k for k in range(len(shape)) if self.rng.integers(2)) or (self.axis(shape), ) if shape else ()

    def flag(self):
        return bool(self.rng.integers(2))

    def array(self, shape, dtype=None, low=None, high=None):
        dtype = dtype or self.dtype
        if dtype == "bool":
            return self.rng.integers(0, 2, shape).astype(bool), dtype
        if dtype in COMPLEX:
            x = self.rng.standard_normal(shape) + 1j * self.rng.standard_normal(shape)
            return np.asarray(x, dtype), dtype
        if dtype in INTEGERS:
            low = (0 if dtype.startswith("u") else -9) if low is None else low
            return self.rng.integers(low, 10 if high is None else high, shape).astype(dtype), dtype
        x = self.rng.uniform(low, high, shape) if low is not None else self.rng.standard_normal(shape)
        return np.asarray(x, "float32" if dtype == "bfloat16" else dtype), dtype

    def broadcast(self, shape):
        """A shape that broadcasts to this one."""
        cut = int(self.rng.integers(len(shape) + 1)) if self.rng.integers(3) == 0 else 0
        return tuple(1 if self.rng.integers(4) == 0 else n for n in shape[cut:])

    def call(self, name, arrays, *attributes, differentiable=False, jitted=None):
        text = f"{name}({', '.join(map(str, attributes))})"
        differentiable = differentiable and self.dtype in FLOATS and self.flag()
        jitted = self.rng.integers(3) == 0 if jitted is None else jitted
        return Call(raw(name, *attributes), arrays, text, differentiable, bool(jitted))


# --- loops: elementwise ops, reductions, random expressions


def elementwise_ops():
    """name -> (inputs, dtypes), as the extension has them."""
    floats = (
        "sqrt distance_root rsqrt reciprocal cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh "
        "cosh tanh asinh acosh atanh erf erfc erfcx "
              "lgamma digamma trigamma floor ceil trunc round relu6 sigmoid silu softplus mish gelu").split()
    return {**{n: (1, FLOATS) for n in floats}, **{n: (2, FLOATS) for n in ("atan2", "hypot")},
            **{n: (1, REAL) for n in ("neg", "abs", "sign", "square", "relu")},
            **{n: (2, REAL) for n in ("add", "sub", "mul", "div", "floor_div", "mod", "fmod", "maximum", "minimum",
                                      "at_least", "at_most",
                                      "pow")},
            **{n: (2, ALL) for n in ("equal", "not_equal")},
            **{n: (2, REAL) for n in ("less", "less_equal", "greater", "greater_equal")},
            **{n: (2, ("bool", )) for n in ("logical_and", "logical_or", "logical_xor")},
            "logical_not": (1, ("bool", )),
            **{n: (2, INTEGERS) for n in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")},
            "bitwise_not": (1, INTEGERS),
            **{n: (1, FLOATS) for n in ("isnan", "isinf", "isfinite")},
            **{n: (1, COMPLEX) for n in ("conj", "real", "imag", "angle")}}


def add_elementwise(name, count, dtypes):
    @op(name, dtypes)
    def make(d):
        shape = d.shape()
        shapes = [shape] + [d.broadcast(shape) for _ in range(count - 1)]
        low, high = (0, 7) if "shift" in name else (None, None)
        if name in ("gelu", ):
            return d.call(name, [d.array(shape)], d.one("none", "tanh"), differentiable=True)
        return d.call(name, [d.array(s, None, low, high) if low is not None else d.array(s) for s in shapes],
                      differentiable=d.dtype in FLOATS and name not in NO_GRADIENT)


NO_GRADIENT = set(
    "floor ceil trunc round trigamma sign isnan isinf isfinite equal not_equal less less_equal greater greater_equal "
    "digamma floor_div".split())


@op("leaky_relu", FLOATS)
@op("elu", FLOATS)
def _(d):
    return d.call(d.name, [d.array(d.shape())], 0.25, differentiable=True)


@op("select", ALL)
def _(d):
    shape = d.shape()
    return d.call("select", [d.array(d.broadcast(shape), "bool"), d.array(shape), d.array(d.broadcast(shape))],
                  differentiable=True)


@op("cast", ALL)
def _(d):
    to = d.one(*(REAL + ("bool", )))
    x = d.array(d.shape(), None, 0, 7) if d.dtype in REAL else d.array(d.shape())
    if d.dtype in COMPLEX:
        to = d.one(*COMPLEX)
    return Call(lambda x: x.astype(dtype_of(to)), [x], f"cast({to})", False, d.flag())


@op("complex", WIDE)
def _(d):
    shape = d.shape()
    return d.call("complex", [d.array(shape), d.array(shape)])


def add_reduction(name, dtypes):
    @op(name, dtypes)
    def make(d):
        shape = d.shape(1)
        return d.call(name, [d.array(shape)], d.axes(shape), d.flag(),
                      differentiable=name not in ("reduce_all", "reduce_any"))


@op("variance", FLOATS)
def _(d):
    shape = d.shape(1)
    return d.call("variance", [d.array(shape)], d.axes(shape), d.flag(), d.one(0, 1), differentiable=True)


@op("expression", FLOATS + ("int32", "int64"))
def _(d):
    """Loops that are fused: maps, broadcasts, reductions, slices and changes of axes in each other's place."""
    shape = d.shape(1, 3)
    inexact = d.dtype in FLOATS

    def grow(depth):
        if depth == 0:
            return d.one("x", "(x + y)", "x[..., ::-1]", "(y * 2 - x)")
        a, kind = grow(depth - 1), d.rng.integers(9)
        if kind < 2:
            return f"({a} {d.one('+', '-', '*')} {grow(depth - 1)})"
        if kind == 2:
            return f"({a} - {a}.sum({d.axis(shape)}, keepdims=True))"
        if kind == 3:
            return f"ops.{d.one('tanh', 'sigmoid', 'exp', 'square') if inexact else 'square'}({a})"
        if kind == 4:
            return f"({a} * {a}.max({d.axis(shape)}, keepdims=True))"
        if kind == 5:
            return f"ops.softmax({a}, {d.axis(shape)})" if inexact else f"({a} + 1)"
        if kind == 6 and len(shape) > 1:
            return f"({a}.swapaxes(0, -1) * 2).swapaxes(0, -1)"
        if kind == 7:
            return f"ops.cat([{a}[..., 1:], {a}[..., :1]], -1)"
        return f"ops.where({a} > 0, {a}, {grow(0)})"

    texts = [grow(d.one(1, 2, 3)) for _ in range(d.one(1, 1, 2))]
    texts[0] += d.one("", "", ".sum()", f".mean({d.axis(shape)})" if inexact else "", f".sum({d.axis(shape)})",
                      ".max()")
    text = f"lambda x, y: ({', '.join(texts)},)"

    def function(*x):
        import pijit as ms

        return eval(text, {"ops": ms.ops})(*x)

    return Call(function, [d.array(shape), d.array(d.broadcast(shape))], text, inexact and d.flag(), True)


# --- convolutions and pooling


@op("conv2d", FLOATS)
def convolution(d):
    # As they lead to different kernels: few channels, a group per channel, pointwise ones, strides and dilations that
    # share a divisor.
    groups = d.one(1, 1, 1, 1, 2, 3, 0)
    channels = d.one(1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 24, 31, 32, 33, 48, 64)
    filters = d.one(1, 2, 5, 8, 9, 16, 17, 24, 32, 40, 48, 64, 80)
    if groups == 0:
        groups, channels, filters = channels, 1, d.one(1, 1, 1, 2)
    elif groups > 1:
        channels, filters = min(channels, 16), min(filters, 16)
    kernel = d.one((1, 1), (1, 1), (1, 1), (3, 3), (3, 3), (5, 5), (1, 3), (3, 1), (2, 2), (7, 7), (4, 2), (9, 1))
    stride, dilation = (d.one((1, 1), (1, 1), (2, 2), (2, 2), (2, 1), (3, 3), (4, 4), (3, 2), (3, 1), (4, 1), (1, 2),
                              (1, 4), (2, 4)),
                        d.one((1, 1), (1, 1), (1, 1), (2, 2), (3, 3), (2, 1), (3, 2), (2, 3)))
    pads = d.one((0, 0, 0, 0), (0, 0, 0, 0), tuple(v for k in kernel for v in (k // 2, k // 2)),
                 tuple(int(v) for v in d.rng.integers(0, 3, 4)), tuple(v for k in kernel for v in (k - 1, k - 1)))
    images = d.one(1, 1, 2, 2, 3, 5)
    big = d.rng.integers(5 if kernel == (1, 1) else 40) == 0  # the sums of some kernels are divided only there
    side = [d.one(28, 30, 56, 57, 112, 224) if big else d.size(30) for _ in range(2)]
    reach = [(k - 1) * s + 1 for k, s in zip(kernel, dilation)]
    side = [max(n, r - p) for n, r, p in zip(side, reach, (pads[0] + pads[1], pads[2] + pads[3]))]
    side = [max(1, n) for n in side]
    while images * groups * channels * side[0] * side[1] > 1 << 21 and images > 1:
        images -= 1
    work = images * groups * channels * filters * kernel[0] * kernel[1] * side[0] * side[1]
    while work > (1 << 28 if big else 1 << 24) and filters > 1:
        filters, work = (filters + 1) // 2, work / 2
    x = d.array((images, groups * channels, *side))
    w = d.array((groups * filters, channels, *kernel))
    b = [d.array((groups * filters, ))] if d.flag() else []

    def function(x, w, b=None):
        from pijit import ops

        return ops.conv2d(x, w, b, stride, "pad", pads, dilation, groups)

    return Call(function, [x, w, *b], f"conv2d(stride={stride}, pad={pads}, dilation={dilation}, groups={groups})",
                True, d.rng.integers(3) == 0)


def add_pool(name, dtypes):
    @op(name, dtypes)
    def make(d):
        kernel = d.one((2, 2), (2, 2), (3, 3), (1, 2), (5, 3), (7, 7))
        stride = d.one((2, 2), kernel, (1, 1), (3, 2))
        pads = d.one((0, 0, 0, 0), (0, 0, 0, 0), tuple(k // 2 for k in kernel for _ in range(2)),
                     (0, kernel[0] - 1, kernel[1] - 1, 0))
        side = [max(k, d.size(40)) for k in kernel]
        shape = (d.one(1, 2, 3), d.one(1, 3, 8, 16, 17, 32), *(side if d.rng.integers(12) else (112, 113)))
        x = d.array(shape)
        if d.rng.integers(4) == 0 and d.dtype in FLOATS:
            x[0].flat[int(d.rng.integers(x[0].size))] = d.one(np.nan, -np.inf)
        return d.call(name, [x], kernel, stride, pads, *([d.flag()] if name == "avg_pool2d" else []),
                      differentiable=True)


@op("max_pool2d_pick", FLOATS)
def _(d):
    shape = (d.one(1, 3), d.one(1, 3, 8, 17), d.size(30) + 1, d.size(30) + 1)
    return d.call("max_pool2d_pick", [d.array(shape), d.array(shape)], (2, 2), d.one((2, 2), (1, 1)), (0, 0, 0, 0))


@op("followed", ("float32", ))
def _(d):
    """A convolution with the residual and activation that its kernel takes in."""
    channels, filters = d.one(1, 3, 8, 16, 24, 32, 40, 520), d.one(1, 5, 7, 16, 24, 32, 48, 64)
    kernel, stride = d.one(1, 1, 3, 5), d.one(1, 1, 2)
    groups = 1
    if d.flag():
        groups, filters = channels, channels
    side = [d.one(1, 4, 7, 14, 15, 30) for _ in range(2)]
    x, w, b = (d.array((d.one(1, 2, 3), channels, *side)), d.array((filters, channels // groups, kernel, kernel)),
               d.array((filters, )))
    out = [(n + kernel // 2 * 2 - kernel) // stride + 1 for n in side]
    residual = [d.array((x[0].shape[0], filters, *out))] if d.flag() else []
    activation = d.one("relu", "relu6", "hardswish", "silu", None)

    def function(x, w, b, residual=None):
        import pijit as ms
        from pijit import ops

        def f(x, w, b, y):
            z = ops.conv2d(x, w, b, stride, "pad", kernel // 2, 1, groups)
            z = z if y is None else z + y
            return getattr(ops, activation)(z) if activation else z

        return ms.jit(f, numerics="fast")(x, w, b, residual)

    return Call(function, [x, w, b, *residual], f"followed({stride}, {groups}, {activation})")


@op("points", ("float32", ))
def _(d):
    """A 3 x 3 convolution of many pixels between blocks, by values at points."""
    groups = d.one(1, 1, 2, 3)
    channels, filters = groups * d.one(8, 16, 32, 64), groups * d.one(8, 16, 32, 48)
    side = [d.one(12, 13, 14, 15, 16, 29) for _ in range(2)]
    pads = tuple(d.one(0, 1, 2) for _ in range(4))
    x, w, v, b = (d.array((d.one(1, 2), channels, *side)), d.array((channels, channels, 1, 1)),
                  d.array((filters, channels // groups, 3, 3)), d.array((filters, )))
    out = side[0] + pads[0] + pads[1] - 2, side[1] + pads[2] + pads[3] - 2
    residual = [d.array((x[0].shape[0], filters, *out))] if d.flag() else []
    activation = d.one("relu", "relu6", "hardswish", "silu", None)

    def function(x, w, v, b, residual=None):
        import pijit as ms
        from pijit import ops

        def f(x, w, v, b, y):
            z = ops.conv2d(ops.conv2d(x, w), v, b, 1, "pad", pads, 1, groups)
            z = z if y is None else z + y
            return getattr(ops, activation)(z) if activation else z

        return ms.jit(f, numerics="fast")(x, w, v, b, residual)

    return Call(function, [x, w, v, b, *residual], f"points({pads}, {groups}, {activation})")


@op("blocks", ("float32", ))
def _(d):
    """Programs whose values keep their channels in blocks: convolutions with what follows them, and poolings."""
    b = d.one(8, 16, 32)
    channels, side = d.one(1, 3, b, b), d.one(7, 8, 14, 15)
    pool, activation, numerics = d.one("max", "avg", None), d.one("relu", "sigmoid", None), d.one("fast", "exact")
    x, w, v, g = (d.array((d.one(1, 2), channels, side, side)), d.array((b, channels, 3, 3)),
                  d.array((2 * b, b, d.one(1, 3), 1)), d.array((b, )))

    def function(x, w, v, g):
        from pijit import ops

        y = ops.conv2d(x, w, g, 1, "same")
        y = (y - y.mean((0, 2, 3), keep_dims=True)) * g.reshape(1, -1, 1, 1)
        y = getattr(ops, activation)(y) if activation else y
        z = ops.conv2d(y, w[:, :1].broadcast_to((b, b, 3, 3)), None, 1, "same") + y
        z = {"max": lambda t: ops.max_pool2d(t, 2, 2), "avg": lambda t: ops.avg_pool2d(t, 3, 2, 1),
             None: lambda t: t}[pool](z)
        return ops.conv2d(z, v, None, 1, "pad", 1)

    def whole(*a):
        import pijit as ms

        return ms.jit(gradients(function, [0, 1, 2, 3]), numerics=numerics)(*a)

    return Call(whole, [x, w, v, g], f"blocks({b}, {pool}, {activation}, {numerics})")


# --- products, attention, recurrent layers, normalisation


@op("matmul", REAL + COMPLEX)
def _(d):
    ta, tb = d.flag(), d.flag()
    big = d.rng.integers(10) == 0
    m, n, k = ((d.one(64, 128, 129, 200, 257, 384, 512) if big else d.size(70)) for _ in range(3))
    batch = d.shape(0, 2, 6) if not big else ()
    a, b = (k, m) if ta else (m, k), (n, k) if tb else (k, n)
    return d.call("matmul", [d.array(d.broadcast(batch) + a), d.array(batch + b)], ta, tb, differentiable=True)


@op("dense of whole blocks", ("float32", ))
def _(d):
    """Rows and weights that fill registers, of some rows, twice: what is kept of the weights is read then."""
    m, k, n = d.size(140), 16 * d.size(12), 16 * d.size(20)

    def function(x, w, b):
        from pijit import ops

        return ops.dense(x, w, b), ops.dense(x + 1, w), ops.dense(x, w)

    return Call(function, [d.array((m, k)), d.array((n, k)), d.array((n, ))], "dense, three times", d.flag(), d.flag())


@op("kept weights", ("float32", "bfloat16"))
def _(d):
    """Weights of whole registers, of which the form alone may be kept: of a convolution and of a product."""
    groups, kernel = d.one(1, 1, 1, 2, 4), d.one(1, 1, 3, 5)
    channels, filters, n = 16 * d.one(1, 2, 3, 4, 6), 16 * groups * d.one(1, 2, 3, 4), 16 * d.size(16)
    side, stride = d.size(14), d.one(1, 1, 2)

    def function(x, w, v):
        from pijit import ops

        y = ops.conv2d(x, w, None, stride, "pad", kernel // 2, 1, groups)
        return y, ops.matmul(y.mean((2, 3)), v.T)

    return Call(function, [d.array((d.one(1, 2), channels * groups, side, side)),
                           d.array((filters, channels, kernel, kernel)), d.array((n, filters))],
                f"kept({groups}, {stride})", jitted=True)


@op("dense", REAL)
def _(d):
    big = d.rng.integers(10) == 0
    m, n, k = ((d.one(64, 128, 129, 257, 512) if big else d.size(70)) for _ in range(3))
    x, w = d.array((m, k) if d.flag() else (1, m, k)), d.array((n, k))
    return d.call("dense", [x, w] + [d.array((n, ))], differentiable=True)


@op("distance_sums", WIDE)
def _(d):
    batch, m = d.shape(0, 2, 6), d.size()
    return d.call("distance_sums", [d.array(batch + (d.size(), m)), d.array(batch + (d.size(), m))], d.flag(),
                  differentiable=True)


@op("attention", ("float32", ))
def _(d):
    heads, n, m, width = d.one(1, 2), d.size(70), d.size(70), d.one(4, 8, 15, 16, 33, 64)
    arrays = [d.array((2, heads, s, width)) for s in (n, m, m)]

    def function(q, k, v):
        from pijit import ops

        return ops.softmax(ops.matmul(q, k.swapaxes(-1, -2)) * 0.3, -1) @ v

    def whole(*a):
        import pijit as ms

        return ms.jit(gradients(function, [0, 1, 2]), numerics="fast")(*a)

    return Call(whole, arrays, f"attention({heads}, {n}, {m}, {width})")


@op("recurrent", ("float32", "float16"))
def _(d):
    kind, layers, both = d.one("LSTM", "GRU", "RNN"), d.one(1, 2), d.flag()
    inputs, hidden, steps, batch = d.size(40), d.size(40), d.one(1, 3, 7), d.size(9)
    seed = int(d.rng.integers(1 << 20))

    def function(x):
        import pijit as ms

        ms.set_seed(seed)
        layer = getattr(ms.nn, kind)(inputs, hidden, layers, bidirectional=both).to_float(getattr(ms, d.dtype))
        return layer(x)[0]

    return Call(function, [d.array((steps, batch, inputs))], f"{kind}({inputs}, {hidden}, {layers}, {both})", True)


@op("softmax", FLOATS)
@op("log_softmax", FLOATS)
@op("cumsum", REAL)
def _(d):
    shape = d.shape(1)
    name = d.name
    return d.call(name, [d.array(shape)], d.axis(shape), *([d.flag()] if name == "cumsum" else []), differentiable=True)


@op("layer_norm", FLOATS)
def _(d):
    shape = d.shape(1, 3)
    begin = d.axis(shape)
    return d.call("layer_norm", [d.array(s) for s in (shape, shape[begin:], shape[begin:])], begin, 1e-5,
                  differentiable=True)


@op("normalize", FLOATS)
def _(d):
    shape = d.shape(2, 4)
    channels = (shape[1], ) + (1, ) * (len(shape) - 2)
    variance = d.array(channels, None, 0.5, 2)
    return d.call("normalize", [d.array(shape), d.array(channels), variance, d.array(channels), d.array(channels)],
                  1e-5, differentiable=True)


# --- what moves data


@op("transpose", ALL)
def _(d):
    shape = d.shape(1, 5)
    return d.call("transpose", [d.array(shape)], tuple(int(k) for k in d.rng.permutation(len(shape))),
                  differentiable=True)


@op("concat", ALL)
def _(d):
    shape = d.shape(1)
    a, n = d.axis(shape), d.one(1, 2, 3, 5)
    shapes = [shape[:a] + (d.size(9), ) + shape[a + 1:] for _ in range(n)]
    return Call(lambda *x: raw("concat", a)(list(x)), [d.array(s) for s in shapes], f"concat({a})", d.dtype in FLOATS,
                d.flag())


def slices(d, shape):
    begin, end, step = [], [], []
    for n in shape:
        s = d.one(1, 1, 2, 3, -1, -2)
        low, high = sorted(int(v) for v in d.rng.integers(0, n + 1, 2))
        begin.append(low if s > 0 else max(0, high - 1))
        end.append(high if s > 0 else max(-1, low - 1))
        step.append(s)
    return tuple(begin), tuple(end), tuple(step)


@op("slice", ALL)
def _(d):
    shape = d.shape(1)
    return d.call("slice", [d.array(shape)], *slices(d, shape), differentiable=True)


@op("slice_update", ALL)
def _(d):
    shape = d.shape(1)
    begin, end, step = slices(d, shape)
    part = tuple(len(range(b, e, s)) for b, e, s in zip(begin, end, step))
    return d.call("slice_update", [d.array(shape), d.array(part)], begin, end, step, differentiable=True)


@op("dynamic_slice", ALL)
@op("dynamic_update_slice", ALL)
def _(d):
    shape = d.shape(1)
    a = int(d.rng.integers(len(shape)))
    length = int(d.rng.integers(shape[a] + 1))
    start = (np.array(d.rng.integers(shape[a] - length + 1)), "int64")
    if d.name == "dynamic_slice":
        return d.call("dynamic_slice", [d.array(shape), start], a, length, differentiable=True)
    part = shape[:a] + (length, ) + shape[a + 1:]
    return d.call("dynamic_update_slice", [d.array(shape), d.array(part), start], a, differentiable=True)


@op("diagonal", ALL)
def _(d):
    shape = d.shape(2)
    rows, columns = shape[-2:]
    if not rows or not columns:
        return None
    return d.call("diagonal", [d.array(shape)], int(d.rng.integers(1 - rows, columns)), differentiable=True)


@op("add_slices", REAL)
def _(d):
    shape = d.shape(1)
    parts, places, whole = [], ((), (), ()), d.flag()
    for _ in range(d.one(1, 2, 5)):
        begin, end, step = slices(d, shape)
        parts.append(tuple(len(range(b, e, s)) for b, e, s in zip(begin, end, step)))
        places = tuple(p + q for p, q in zip(places, (begin, end, step)))
    return Call(lambda *x: raw("add_slices", shape, *places)(x[0] if whole else None, list(x[whole:])),
                [d.array(s) for s in [shape] * whole + parts], f"add_slices({shape}, {places})", d.dtype in FLOATS)


@op("pad", REAL + ("bool", ))
def _(d):
    shape = d.shape(1)
    low, high = (tuple(int(v) for v in d.rng.integers(0, 4, len(shape))) for _ in range(2))
    return d.call("pad", [d.array(shape)], low, high, float(d.one(0, 1)), differentiable=True)


@op("broadcast_to", ALL)
def _(d):
    shape = d.shape()
    return d.call("broadcast_to", [d.array(d.broadcast(shape))], shape, differentiable=True)


@op("arange", REAL)
def _(d):
    return d.call("arange", [], 0.0, 1.0, d.size(200), dtype_of(d.dtype))


@op("one_hot", ("int32", "int64"))
def _(d):
    return d.call("one_hot", [d.array(d.shape(0, 2))], d.one(1, 7, 16, 33), 1.0, 0.0,
                  dtype_of(d.one("float32", "float64", "int32", "float16", "bool")))


def indices(d, shape, n):
    return d.array(shape, d.one("int32", "int64"), -n, n)


@op("gather", ALL)
@op("index_add", REAL)
def _(d):
    shape = d.shape(1)
    a = d.axis(shape)
    at = indices(d, d.shape(0, 2, 200), shape[a])
    updates = [d.array(shape[:a] + at[0].shape + shape[a + 1:])] if d.name == "index_add" else []
    return d.call(d.name, [d.array(shape), at, *updates], a, differentiable=True)


MODES = ("update", "add", "sub", "mul", "div", "max", "min")


@op("gather_d", ALL)
@op("scatter_d", REAL)
def _(d):
    shape = d.shape(1)
    a = d.axis(shape)
    at = indices(d, shape[:a] + (d.size(20), ) + shape[a + 1:], shape[a])
    if d.name == "gather_d":
        return d.call("gather_d", [d.array(shape), at], a, differentiable=True)
    mode = d.one(*MODES)
    return d.call("scatter_d", [d.array(shape), at, d.array(at[0].shape, None, 1, 5)], a, mode,
                  differentiable=mode == "add")


@op("gather_nd", ALL)
@op("scatter_nd", REAL)
def _(d):
    shape = d.shape(1)
    k = d.one(*range(1, len(shape) + 1))
    count = d.size(300)
    at = np.stack([d.rng.integers(-n, n, count) for n in shape[:k]], -1).astype(d.one("int32", "int64"))
    at = (at, str(at.dtype))
    if d.name == "gather_nd":
        return d.call("gather_nd", [d.array(shape), at], differentiable=True)
    mode = d.one(*MODES)
    return d.call("scatter_nd", [d.array(shape), at, d.array((count, ) + shape[k:], None, 1, 5)], mode,
                  differentiable=mode == "add")


@op("resize_linear", FLOATS)
def _(d):
    axes = d.one(1, 2, 2, 3)
    shape = (d.one(1, 2), d.one(1, 3)) + tuple(d.size(33 if axes < 3 else 9) for _ in range(axes))
    to = tuple(d.size(40 if axes < 3 else 12) for _ in range(axes))
    return d.call("resize_linear", [d.array(shape)], to, d.flag(), 0.0, 0.0, 0.0, differentiable=True)


@op("argsort", REAL + ("bool", ))
@op("topk", REAL + ("bool", ))
@op("argmax", REAL)
@op("argmin", REAL)
def _(d):
    shape = d.shape(1)
    a = d.axis(shape)
    more = {"argsort": (a, d.flag()), "topk": (int(d.rng.integers(0, shape[a] + 1)), a, d.flag())}.get(d.name, (a, ))
    return d.call(d.name, [d.array(shape)], *more)


@op("nonzero", REAL + ("bool", ))
def _(d):
    columns = d.flag()

    def function(x):
        from pijit._C import nonzero

        return nonzero(x, columns)

    return Call(function, [d.array(d.shape(1))], f"nonzero({columns})")


@op("random_bits", ("int64", ))
def _(d):
    return d.call("random_bits", [(np.array([7, int(d.rng.integers(1 << 40))]), "int64")], d.shape(), jitted=False)


# --- decompositions, transforms, special functions


def matrices(d, square=True, definite=False):
    batch, n = d.shape(0, 2, 9), d.one(1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17)
    m = n if square else d.one(1, 2, 4, 7, 9, 16)
    x, dtype = d.array(batch + (m, n))
    if definite:
        x = (x @ np.conj(np.swapaxes(x, -1, -2)) + n * np.eye(n)).astype(x.dtype)
    return x, dtype


def add_linalg(name, dtypes, make_attributes, square=True, definite=False, differentiable=True):
    @op(name, dtypes)
    def make(d):
        return d.call(name, [matrices(d, square, definite)], *make_attributes(d), differentiable=differentiable)


@op("solve", WIDE + COMPLEX)
@op("solve_triangular", WIDE + COMPLEX)
def _(d):
    a, dtype = matrices(d, True, True)
    attributes = (d.flag(), ) if d.name == "solve" else (d.flag(), d.flag(), d.flag())
    return d.call(d.name, [(a, dtype), d.array(a.shape[:-1] + (d.one(1, 2, 5), ))], *attributes, differentiable=True)


@op("lu_permutation", ("int32", "int64"))
def _(d):
    n = d.one(1, 3, 8)
    return d.call("lu_permutation", [d.array((d.one(1, 2), int(d.rng.integers(1, n + 1))), None, 0, n)], n,
                  jitted=False)


@op("pinv", WIDE)
def _(d):
    a, dtype = matrices(d, False)
    one = np.zeros(a.shape[:-2] + (1, 1), a.dtype)
    return d.call("pinv", [(a, dtype), (one, dtype), (one + 1e-6, dtype)], False, differentiable=True)


@op("fft", COMPLEX)
@op("rfft", WIDE)
@op("irfft", COMPLEX)
def _(d):
    shape = list(d.shape(1, 3, 4000))
    a, norm = d.axis(shape), d.one("backward", "forward", "ortho")
    more = (d.flag(), ) if d.name == "fft" else ()
    if d.name == "irfft":
        more = ((shape[a] - 1) * 2 + 1, )
    return d.call(d.name, [d.array(tuple(shape))], a, norm, *more)


@op("bessel", WIDE)
def _(d):
    return d.call("bessel", [d.array(d.shape(), None, 0.1, 30)],
                  d.one("i0", "i1", "i0e", "i1e", "j0", "j1", "y0", "y1", "k0", "k1", "k0e", "k1e"),
                  differentiable=True)


def add_special(name, count, differentiable):
    @op(name, WIDE)
    def make(d):
        shape = d.shape(0, 3, 2000)
        first = ((np.asarray(d.rng.integers(1, 4, shape), d.dtype), d.dtype) if name == "polygamma"
                 else d.array(shape, None, 1.1, 5))
        return d.call(name, [first] + [d.array(shape, None, 0.2, 0.9) for _ in range(count - 1)],
                      differentiable=differentiable)


def fill_table():
    for name, (count, dtypes) in elementwise_ops().items():
        add_elementwise(name, count, dtypes)
    for name, dtypes in {"reduce_sum": REAL + COMPLEX, "reduce_prod": REAL, "reduce_max": REAL, "reduce_min": REAL,
                         "reduce_all": ("bool", ), "reduce_any": ("bool", )}.items():
        add_reduction(name, dtypes)
    add_pool("max_pool2d", FLOATS)
    add_pool("avg_pool2d", FLOATS)
    none, both = lambda d: (), WIDE + COMPLEX
    add_linalg("cholesky", both, lambda d: (d.flag(), ), definite=True)
    for name in ("matrix_inverse", "matrix_det", "slogdet"):
        add_linalg(name, both, none, definite=True)
    add_linalg("adjugate", both, none, differentiable=False)
    add_linalg("lu", WIDE, none, square=False)
    add_linalg("qr", both, lambda d: (False, ), square=False)
    add_linalg("geqrf", WIDE, none, square=False, differentiable=False)
    add_linalg("eigh", WIDE, lambda d: (d.flag(), ), definite=True)
    add_linalg("eig", both, none, differentiable=False)
    add_linalg("svd", both, lambda d: (d.flag(), ), square=False, differentiable=False)
    add_linalg("matrix_exp", WIDE, none)
    for name, count, differentiable in (("igamma", 2, True), ("igammac", 2, True), ("igamma_da", 2, False),
                                        ("zeta", 2, False), ("polygamma", 2, False), ("nextafter", 2, False),
                                        ("betainc", 3, False)):
        add_special(name, count, differentiable)


fill_table()
CONVOLUTION = next(row for row in OPS if row[0] == "conv2d")
PAIRS = [(name, dtype, make) for name, dtypes, make in OPS if name != "conv2d" for dtype in dtypes]


def chosen(number, only):
    """The op, dtype and maker of a call: convolutions, mostly of float32, and all others in turn."""
    pairs = only if only is not None else PAIRS
    rng = np.random.default_rng([40, number])
    if not pairs or (only is None and rng.random() < CONVOLUTIONS):
        name, _, make = CONVOLUTION
        return name, str(rng.choice(FLOATS, p=(0.6, 0.1, 0.1, 0.2))), make
    return pairs[number % len(pairs)]


def call_of(number, only=None):
    name, dtype, make = chosen(number, only)
    d = Draw(number, dtype)
    d.name = name
    return name, dtype, make(d)


def pairs_like(pattern):
    if not pattern:
        return None
    return [(n, t, make) for n, dtypes, make in OPS for t in dtypes if re.fullmatch(pattern, n)
            or re.fullmatch(pattern, f"{n}:{t}")]


# --- a child: one side, one instruction set

STATE = struct.Struct("qq")  # the call that runs, and by how many threads
MAPPINGS = 40_000  # of memory that a child may have; the system's limit is 65,530
RESULT = struct.Struct("<qII")  # call, threads, a checksum; 1: refused


def checksum(tensors):
    value = 0
    for t in tensors:
        a = t.asnumpy()
        if a.dtype.kind in "fc":  # numbers that are none are alike
            a = np.where(np.isnan(a), np.zeros_like(a), a)
        value = zlib.crc32(np.ascontiguousarray(a).tobytes(), value)
    return value


def mappings():
    with open("/proc/self/maps", "rb") as f:
        return f.read().count(b"\n")


def child(first, past, step, pattern, state_file, result_file, deadline):
    ctypes.CDLL(None).prctl(1, 9)  # it ends with its parent
    from pijit._C import set_option

    if os.environ.get("LD_PRELOAD", "").endswith("guard_malloc.so"):
        assert ctypes.CDLL(None).guard_malloc_begin() >= 2
    only = pairs_like(pattern)
    with open(state_file, "r+b") as f:
        state = mmap.mmap(f.fileno(), STATE.size)
    with open(result_file, "ab", buffering=0) as results:
        for number in range(first, past, step):
            if time.time() > deadline or (number // step % 32 == 31 and mappings() > MAPPINGS):
                state[:] = STATE.pack(number, 0)
                return
            state[:] = STATE.pack(number, 0)
            call = call_of(number, only)[2]
            for threads in (1, 2):
                state[:] = STATE.pack(number, threads)
                set_option("num_threads", str(threads))
                try:
                    value = checksum(call.run()) | 2
                except Exception as e:  # refused, as for dtypes without the op
                    value = 1
                    if os.environ.get("PIJIT_FUZZ_ERRORS"):
                        print(f"call {number}: {call}: {type(e).__name__}: {e}", file=sys.stderr, flush=True)
                results.write(RESULT.pack(number, threads, value))
        else:
            state[:] = STATE.pack(number + step, 0)


# --- the parent


class Stream:
    """The calls of one instruction set and side, by one child after the other, as what is compiled for a call stays for
    a while."""

    MOST = 1500  # calls of a child

    def __init__(self, isa, side, offset, step, options, folder):
        self.isa, self.side, self.step, self.options = isa, side, step, options
        self.next, self.past = options.first + offset, options.first + options.calls
        self.state, self.results = (os.path.join(folder, f"{isa}-{side}-{offset}.{kind}")
                                    for kind in ("state", "results"))
        with open(self.state, "wb") as f:
            f.write(STATE.pack(self.next, 0))
        open(self.results, "wb").close()
        self.findings, self.process, self.seen = [], None, None

    def start(self):
        env = {**os.environ, **ISAS[self.isa], "PIJIT_GUARD": self.side, "PIJIT_STRICT": "1", "PIJIT_MEASURE": "0",
               "OMP_NUM_THREADS": str(self.options.openmp), "OMP_WAIT_POLICY": "passive"}
        if self.options.preload:
            env["LD_PRELOAD"] = self.options.preload
        self.log = tempfile.TemporaryFile("w+")
        past = min(self.past, self.next + self.MOST * self.step)
        arguments = [self.next, past, self.step, self.options.only or "", self.state, self.results,
                     self.options.deadline]
        program = f"from tests.python.fuzz_memory import child; child(*{arguments!r})"
        self.process = subprocess.Popen([sys.executable, "-c", program], env=env, stdout=self.log, stderr=self.log)
        self.seen = (None, time.time())

    def now(self):
        with open(self.state, "rb") as f:
            return STATE.unpack(f.read(STATE.size))

    def poll(self):
        """Whether it goes on."""
        code, (number, _) = self.process.poll(), self.now()
        if self.now() != self.seen[0]:
            self.seen = (self.now(), time.time())
        if code is None:
            if time.time() - self.seen[1] < self.options.patience:
                return True
            self.process.kill()
            self.process.wait()
            self.found("hangs")
        elif code != 0:
            self.found(f"ends with {code}")
        self.next = number if code == 0 else number + self.step  # a child ends now and then, as memory has it
        if self.next >= self.past or time.time() > self.options.deadline:
            return False
        self.start()
        return True

    def found(self, how):
        number, threads = self.now()
        self.log.seek(0)
        said = [line for line in self.log.read().splitlines() if line.strip()][-3:]
        self.findings.append((number, threads, f"{how}: {' | '.join(said)[-400:]}"))
        print(f"FOUND {self.isa} {self.side}, {threads} threads: call {number}: {describe(number, self.options)}: "
              f"{self.findings[-1][2]}", flush=True)

    def values(self):
        with open(self.results, "rb") as f:
            text = f.read()
        return {(n, t): v for n, t, v in RESULT.iter_unpack(text[:len(text) // RESULT.size * RESULT.size])}


def describe(number, options):
    name, dtype, call = call_of(number, pairs_like(options.only))
    return f"{name}:{dtype} {call}"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=146_000, help="per instruction set: 200 of each op and dtype")
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--only", help="a pattern of ops, or op:dtype")
    parser.add_argument("--isa", nargs="*", default=list(ISAS), choices=list(ISAS))
    parser.add_argument("--side", nargs="*", default=list(SIDES), choices=list(SIDES))
    parser.add_argument("--openmp", type=int, default=2, help="OMP_NUM_THREADS of the children")
    parser.add_argument("--jobs", type=int, default=1, help="children per instruction set and side")
    parser.add_argument("--seconds", type=float, default=1e9, help="to end after, whatever was run")
    parser.add_argument("--patience", type=float, default=300, help="seconds that a call may take")
    parser.add_argument("--malloc", action="store_true",
                        help="what Eigen and oneDNN allocate by themselves, too (guard_malloc.c)")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args(arguments)
    options.deadline = time.time() + options.seconds
    if options.list:
        for number in range(options.first, options.first + options.calls):
            print(number, describe(number, options))
        return 0
    started = time.time()
    with tempfile.TemporaryDirectory() as folder:
        options.preload = os.path.join(folder, "guard_malloc.so") if options.malloc else ""
        if options.malloc:
            subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", options.preload,
                            os.path.join(os.path.dirname(__file__), "guard_malloc.c")], check=True)
        streams = [Stream(isa, side, k, options.jobs, options, folder) for isa in options.isa for side in options.side
                   for k in range(options.jobs)]
        for s in streams:
            s.start()
        running = list(streams)
        while running:
            time.sleep(0.2)
            running = [s for s in running if s.poll()]
        return report(streams, options, time.time() - started)


def report(streams, options, seconds):
    differing, counts, convolutions, refused, runs = (0, collections.Counter(), collections.Counter(),
                                                      collections.Counter(), 0)
    only = pairs_like(options.only)
    for isa in options.isa:
        values = {side: {} for side in SIDES}
        for s in streams:
            if s.isa == isa:
                values[s.side].update(s.values())
        runs += sum(map(len, values.values()))
        for key in sorted(values["front"].keys() & values["back"].keys()):
            one, other = values["front"][key], values["back"][key]
            if one != other:
                differing += 1
                print(f"DIFFERS {isa}, {key[1]} threads: call {key[0]}: {describe(key[0], options)}: {one:x} at the "
                      f"front, {other:x} at the back", flush=True)
        for number in {n for v in values.values() for n, _ in v}:
            name, dtype, _ = chosen(number, only)
            bad = any(v.get((number, 1)) == 1 for v in values.values())
            (refused if bad else counts)[name, dtype] += 1
            convolutions[isa] += name == "conv2d" and not bad
    found = sum(len(s.findings) for s in streams)
    print(f"{sum(counts.values())} calls ({runs} runs) in {seconds:.0f} s, {dict(convolutions)} of them convolutions "
          f"with gradients; "
          f"of {len(counts)} pairs of op and dtype, the fewest {min(counts.values(), default=0)}; refused: "
          f"{sum(refused.values())}; {found} found, {differing} differ")
    never = sorted(f"{n}:{t}" for n, t in refused if (n, t) not in counts)
    if never:
        print("always refused:", " ".join(never))
    return 1 if found or differing else 0


if __name__ == "__main__":
    sys.exit(main())
