"""Kernels keep to their memory: calls between pages without access (PIJIT_GUARD), those of fuzz_memory.py and those
that failed once."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

import pijit as ms
from tests.python import fuzz_memory

ROOT = pathlib.Path(__file__).parent.parent.parent

# Whoever asks for other instructions than the processor's asks for the same calls again.
once = pytest.mark.skipif(any(os.environ.get(k) for k in ("PIJIT_ISA", "PIJIT_BACKEND", "PIJIT_TEST_DEVICE")),
                          reason="tested with all instructions by the default run")


def guarded(side, program, *arguments, **variables):
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PIJIT_GUARD": side, "PIJIT_MEASURE": "0", **variables}
    return subprocess.run([sys.executable, "-c", program, *arguments], env=env, capture_output=True, text=True,
                          timeout=600)


@once
def test_random_calls_keep_to_their_memory(capfd):
    found, said = fuzz_memory.main(["--calls", "500"]), capfd.readouterr().out
    assert found == 0, said
    assert int(re.search(r"(\d+) calls", said)[1]) > 980, said


def test_all_ops_are_called():
    """But for those that others stand for: gradients are taken of what they are of, and no kernel of its own runs the
    rest."""
    gradients = {"conv2d_dx", "conv2d_dw", "max_pool2d_dx", "avg_pool2d_dx", "resize_linear_dx",
                 "recurrent_gradient"}
    views = {"identity", "stop_gradient", "reshape", "require"}
    numpys = {"numpy_loop", "numpy_reduce", "numpy_accumulate", "numpy_matmul",
              "numpy_masked_reduce", "numpy_count", "numpy_sort", "numpy_extreme", "numpy_search",
              "numpy_take", "numpy_put"}  # below
    several = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce_to", "gather_to", "scatter_from",
               "all_to_all", "barrier", "send_to", "receive_from", "all_reduce_start",
               "all_reduce_wait"}  # processes: test_distributed.py
    called = {name for name, _, _ in fuzz_memory.OPS}
    assert {row["name"] for row in ms._C.op_table()} - called == gradients | views | numpys | several


@once
@pytest.mark.parametrize("side", ["back", "front"])
def test_numpys_loops_keep_to_their_memory(side):
    """Random programs of ndarrays, whose larger arrays, and all that is between, lie between the pages."""
    program = "import sys; sys.argv[1:] = ['--programs', '400', '--stores']; " \
              "from tests.python import ndarray_programs as n; n.main()"
    r = guarded(side, program)
    assert r.returncode == 0 and ", 0 differ" in r.stdout, r.stdout + r.stderr
    assert int(re.search(r"(\d+) with graphs", r.stdout)[1]) > 130, r.stdout


# (channels, filters, kernel, stride, dilation, groups, images, height, width, padding) whose weight gradients wrote out
# of oneDNN's memory (6035),
# and their neighbours: around a block of channels, other kernels and strides, a stride along one axis alone.
STRIDED = [(3, 48, 1, 2, 1, 1, 2, 224, 224, 0), (2, 48, 1, 2, 2, 1, 2, 224, 224, 0),
           (1, 16, 1, 4, 2, 1, 3, 112, 112, 0), (5, 16, 1, 2, 2, 1, 3, 112, 30, 0), (1, 24, 1, 4, 2, 1, 1, 56, 56, 0),
           (5, 48, 1, 2, 1, 1, 2, 14, 14, 0), (5, 16, 1, 2, 1, 1, 1, 56, 30, 0), (1, 16, 1, 2, 3, 1, 3, 224, 224, 0)]
SIZES = ((16, 2, 1, 0), (32, 3, 2, 0), (48, 2, 8, 1), (9, 2, 1, 0), (64, (1, 2), 2, 0), (64, (2, 1), 3, 0))
NEIGHBOURS = [(c, f, 1, s, 1, 1, n, 17, 18, p) for c in (1, 2, 3, 7, 8, 9, 12, 15, 16, 17, 24, 31, 33)
              for f, s, n, p in SIZES]
NEIGHBOURS += [(c, 48, 1, 2, 1, 1, 2, 112, 56, 0) for c in (3, 7, 8, 9, 12, 15, 17)]
NEIGHBOURS += [(c, f, k, 2, 1, g, 2, 16, 19, 1)
               for c, f, k, g in ((6, 32, 1, 2), (12, 48, 1, 3), (5, 40, 2, 1), (3, 16, 3, 1), (7, 16, (1, 3), 1),
                                  (4, 4, 1, 4))]

CONVOLUTIONS = '''
import sys
import numpy as np
import pijit as ms
from pijit import ops
rng = np.random.default_rng(0)
for case in eval(sys.argv[1]):
    c, f, k, stride, dilation, groups, n, h, w, pad = case
    k = k if isinstance(k, tuple) else (k, k)
    print(case, flush=True)
    for dtype in (ms.float32, ms.float16, ms.bfloat16):
        x, v = (ms.Tensor(rng.standard_normal(s).astype(np.float32)).astype(dtype)
                for s in ((n, c, h, w), (f, c // groups, *k)))
        def loss(x, v):
            y = ops.conv2d(x, v, None, stride, "pad", pad, dilation, groups)
            return (y * y).sum()
        for step in (ms.grad(loss, (0, 1)), ms.jit(ms.grad(loss, (0, 1)))):
            for g in step(x, v): assert dtype == ms.float16 or np.isfinite(g.asnumpy().astype(np.float32)).all()
'''


@once
@pytest.mark.parametrize("isa", fuzz_memory.ISAS)
@pytest.mark.parametrize("side", ["front", "back"])
def test_strided_pointwise_convolutions(side, isa):
    r = guarded(side, CONVOLUTIONS, repr(STRIDED + NEIGHBOURS), **fuzz_memory.ISAS[isa])
    assert r.returncode == 0, f"{r.stdout.splitlines()[-1:]} {r.stderr[-1000:]}"


# (images, channels, height, width), (filters, channels of a group, kernel), strides, padding, dilation, groups, where
# bfloat16 went wrong with AMX: rows left out and columns not, windows on padding alone, one column of results.
BFLOAT16 = [((2, 32, 27, 28), (8, 32, 1, 1), (2, 1), (0, 0, 2, 0), (2, 3), 1),
            ((2, 32, 27, 27), (8, 32, 1, 1), (4, 1), (0, 1, 1, 0), (2, 1), 1),
            ((5, 16, 25, 24), (24, 16, 1, 1), (3, 1), (0, 0, 2, 0), (1, 1), 1),
            ((1, 24, 26, 20), (1, 24, 1, 3), (3, 1), (0, 2, 2, 2), (3, 3), 1),
            ((1, 24, 29, 27), (8, 24, 2, 2), (4, 1), (1, 0, 0, 2), (3, 3), 1),
            ((1, 32, 28, 12), (8, 32, 1, 1), (4, 1), (0, 2, 2, 0), (1, 2), 1),
            ((1, 16, 1, 27), (1, 16, 2, 2), (2, 2), (2, 1, 1, 2), (3, 2), 1),
            ((1, 72, 1, 20), (24, 24, 2, 2), (1, 4), (1, 2, 0, 0), (3, 2), 3),
            ((2, 1, 1, 22), (1, 1, 2, 2), (2, 4), (2, 2, 0, 1), (3, 2), 1),
            ((1, 16, 27, 1), (8, 16, 2, 2), (2, 2), (1, 2, 2, 1), (2, 3), 1),
            ((1, 1, 29, 1), (16, 1, 1, 3), (2, 2), (0, 0, 1, 1), (1, 1), 1),
            ((1, 7, 19, 7), (8, 7, 3, 3), (3, 3), (0, 0, 0, 0), (3, 3), 1),
            ((2, 3, 26, 2), (40, 3, 4, 2), (3, 2), (0, 0, 0, 0), (1, 1), 1),
            ((2, 8, 12, 1), (24, 8, 3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 1),
            ((1, 1, 30, 7), (64, 1, 7, 7), (2, 2), (0, 0, 0, 0), (1, 1), 1),
            ((2, 32, 13, 5), (32, 16, 1, 3), (3, 3), (0, 0, 1, 1), (3, 3), 2)]

# Convolutions and their gradients, of these cases and random ones, against float64.
NUMBERS = '''
import sys
import numpy as np
import pijit as ms
rng = np.random.default_rng(int(sys.argv[2]))
def random():
    while True:
        g = int(rng.choice([1, 1, 1, 2, 3]))
        c, f = (g * int(rng.choice([1, 3, 5, 8, 16, 24, 32])) for _ in "cf")
        k, pad = [int(v) for v in rng.choice([1, 1, 2, 3, 5], 2)], tuple(int(v) for v in rng.choice([0, 0, 1, 2], 4))
        stride, dilation = (tuple(int(v) for v in rng.choice(a, 2)) for a in ([1, 1, 2, 3, 4], [1, 1, 1, 2, 3]))
        side = [int(v) for v in rng.integers(1, 30, 2)]
        reach = [(n - 1) * d + 1 for n, d in zip(k, dilation)]
        if side[0] + pad[0] + pad[1] >= reach[0] and side[1] + pad[2] + pad[3] >= reach[1]:
            return (int(rng.choice([1, 2])), c, *side), (f, c // g, *k), stride, pad, dilation, g
for case in eval(sys.argv[1]) + [random() for _ in range(int(sys.argv[3]))]:
    of_x, of_w, stride, pad, dilation, groups = case
    print(case, flush=True)
    conv = ms.ops.Conv2D(of_w[0], of_w[2:], pad_mode="pad", pad=pad, stride=stride, dilation=dilation, group=groups)
    gradient = ms.grad(lambda x, w: conv(x, w).square().sum(), (0, 1))
    x, w = (ms.Tensor(rng.standard_normal(s).astype(np.float32)).astype(ms.bfloat16) for s in (of_x, of_w))
    def all_of(x, w):
        return [v.astype(ms.float64).asnumpy() for v in (conv(x, w), *gradient(x, w))]
    made = [all_of(x.astype(t), w.astype(t)) for t in (ms.float64, ms.float32, ms.bfloat16)]
    for got, last in ((made[1], 1e-3), (made[2], 6e-2)):
        for name, a, b in zip(("y", "dx", "dw"), got, made[0]):
            assert np.abs(a - b).max() <= last * (np.abs(b).max() + 1e-3), (name, last)
'''


@once
@pytest.mark.parametrize("isa", fuzz_memory.ISAS)
@pytest.mark.parametrize("side", ["front", "back"])
def test_numbers_of_convolutions(side, isa):
    r = guarded(side, NUMBERS, repr(BFLOAT16), "1", "120", **fuzz_memory.ISAS[isa])
    assert r.returncode == 0, f"{r.stdout.splitlines()[-1:]} {r.stderr[-1000:]}"


# Weight gradients of bfloat16 in groups with dilation, where oneDNN's are wrong or read beyond their memory.
DILATED = [(c, f, k, 1, dilation, groups, 2, h, w, 0)
           for c, f, groups in ((8, 32, 2), (2, 16, 2), (12, 36, 3), (8, 16, 8), (32, 32, 2))
           for k, dilation in ((1, 2), (3, 2), (7, (2, 1)), ((1, 3), (2, 1)), ((3, 1), 3))
           for h, w in ((20, 20), (56, 44))]
# Others of rows that are shorter than a stride, behind whose end it reads.
NARROW = [(c, f, (3, k), stride, 1, 1, n, 7, w, 0) for c, f, n in ((1, 40, 5), (1, 16, 1), (2, 24, 2))
          for w, k, stride in ((1, 1, 2), (1, 1, (1, 3)), (2, 2, (1, 3)), (2, 1, 4), (3, 2, 4), (3, 3, 2))]

GRADIENTS = '''
import sys
import numpy as np
import pijit as ms
from pijit._C import ops
rng = np.random.default_rng(0)
pair = lambda v: v if isinstance(v, tuple) else (v, v)
for case in eval(sys.argv[1]):
    c, f, k, stride, dilation, groups, n, h, w, pad = case
    print(case, flush=True)
    k, dilation, stride = pair(k), pair(dilation), pair(stride)
    out = [(size - (a - 1) * d - 1) // s + 1 for size, a, d, s in zip((h, w), k, dilation, stride)]
    for dtype, last in ((ms.float32, 1e-4), (ms.bfloat16, 2e-2)):
        x, dy = (ms.Tensor(rng.standard_normal(s).astype(np.float32)).astype(dtype)
                 for s in ((n, c, h, w), (n, f, *out)))
        want, got = (ops["conv2d_dw"](*(t.astype(d) for t in (x, dy)), stride, (pad, ) * 4, dilation, groups,
                                      (f, c // groups, *k)).astype(ms.float64).asnumpy()
                     for d in (ms.float64, dtype))
        assert np.abs(got - want).max() <= last * np.abs(want).max()
'''


@once
@pytest.mark.parametrize("isa", fuzz_memory.ISAS)
@pytest.mark.parametrize("side", ["front", "back"])
def test_gradients_of_weights(side, isa):
    r = guarded(side, GRADIENTS, repr(DILATED + NARROW), **fuzz_memory.ISAS[isa])
    assert r.returncode == 0, f"{r.stdout.splitlines()[-1:]} {r.stderr[-1000:]}"


TOUCH = '''
import ctypes, sys
import numpy as np
import pijit as ms
x = ms.Tensor(np.zeros({size}, np.uint8)) + 1
a = np.from_dlpack(x)
(ctypes.c_char * 1).from_address(a.ctypes.data + {offset})[0] = b"x"
print("written", flush=True)
del a, x
import gc; gc.collect()
print("released", flush=True)
'''


@once
@pytest.mark.skipif("ASAN_OPTIONS" in os.environ, reason="the sanitizer takes the signal")
@pytest.mark.parametrize("size", [1, 100, 4096, 5000, 100_000])
def test_what_is_written_beside_a_buffer_is_found(size):
    """At the page, at once; on the other side, where the page is not full, when the buffer goes."""
    for side, offset in (("front", -1), ("back", size)):
        r = guarded(side, TOUCH.format(size=size, offset=offset))
        assert r.returncode == -11 and "written" not in r.stdout, (side, r)
    for side, offset in (("front", size), ("back", -1)) if size % 4096 else ():
        r = guarded(side, TOUCH.format(size=size, offset=offset))
        assert r.returncode == -6 and "written" in r.stdout and "was written" in r.stderr, (side, r)
    assert guarded("back", TOUCH.format(size=size, offset=size - 1)).stdout == "written\nreleased\n"


def test_a_program_has_no_arena_there():
    program = ("import numpy as np, pijit as ms\nfrom pijit import ops\n"
               "print(ms.jit(lambda x: ops.softmax(ops.cumsum(x @ x, 0) @ x, -1).sum(0))(ms.Tensor(np.ones((40, 40), "
               "np.float32))).shape)")
    sizes = {side: guarded(side, program, PIJIT_LOG="kernels").stderr.partition("arena ")[2].split()[0]
             for side in ("", "front", "back")}
    assert sizes["front"] == sizes["back"] == "0" != sizes[""]


def test_another_side_is_refused():
    r = guarded("both", "import pijit as ms; ms.Tensor([1.0])")
    assert r.returncode == 1 and "guard: expected front or back" in r.stderr
