"""numerics="fast": what convolutions of each kernel take in, against float64; and functions in cheaper forms."""

import os
import subprocess
import sys

import numpy as np
import pytest

import pijit as ms
from pijit import _C, JitConfig, Tensor, nn, ops

FAST = JitConfig(numerics="fast")
wide_only = pytest.mark.skipif(_C.channel_block() != 16, reason="kernels of AVX-512")
ACTIVATIONS = {"none": lambda x: x, "relu": ops.relu, "relu6": ops.relu6, "hardswish": ops.hardswish,
               "silu": ops.silu, "sigmoid": ops.sigmoid,
               "written out": lambda x: ops.relu6(3.0 + x) * x / 6.0}
# channels, filters, size, kernel, stride, groups: tiles of pixels; maps of channels; wide blocks; oneDNN.
CONVOLUTIONS = {"pointwise": (24, 40, (9, 7), 1, 1, 1), "many pixels": (5, 13, (30, 31), 1, 1, 1),
                "many channels": (520, 20, (8, 9), 1, 1, 1), "depthwise": (24, 24, (9, 11), 3, 1, 24),
                "depthwise stride": (40, 40, (13, 12), 5, 2, 40), "wide": (32, 48, (7, 7), 1, 1, 1),
                "wide window": (32, 32, (8, 9), 3, 1, 1), "blocks": (16, 32, (30, 29), 1, 1, 1),
                "plain": (6, 10, (9, 9), 3, 1, 1)}


def expected(x, conv, act, residual):
    x = Tensor(x.astype(np.float64))
    weight, bias = (Tensor(p.asnumpy().astype(np.float64)) for p in (conv.weight, conv.bias))
    y = ops.conv2d(x, weight, bias, conv.stride, "pad", conv.padding, 1, conv.group)
    return act(y + Tensor(residual.astype(np.float64)) if residual is not None else y).asnumpy()


@pytest.mark.parametrize("threads_share", [1, 3])
@pytest.mark.parametrize("act", sorted(ACTIVATIONS))
@pytest.mark.parametrize("name", sorted(CONVOLUTIONS))
def test_what_follows_a_convolution(name, act, threads_share):
    channels, filters, size, kernel, stride, group = CONVOLUTIONS[name]
    r = np.random.default_rng(len(name) + len(act))
    conv = nn.Conv2d(channels, filters, kernel, stride, "pad", kernel // 2, group=group, has_bias=True)
    conv.bias.set_data(Tensor(r.standard_normal(filters).astype(np.float32)))
    x = r.standard_normal((threads_share, channels, *size)).astype(np.float32) * 3
    shape = conv(Tensor(x)).shape
    for residual in (None, r.standard_normal(shape).astype(np.float32)):
        def f(x, y, with_residual=residual is not None):
            return ACTIVATIONS[act](conv(x) + y if with_residual else conv(x))
        given = Tensor(x), Tensor(residual if residual is not None else np.float32(0))
        want = expected(x, conv, ACTIVATIONS[act], residual)
        fast, exact = ms.jit(f, jit_config=FAST), ms.jit(f)
        for _ in range(3):  # weights are kept from the second call on
            np.testing.assert_allclose(fast(*given).asnumpy(), want, rtol=1e-5, atol=1e-5 * np.abs(want).max())
        assert exact(*given).asnumpy().tobytes() == f(*given).asnumpy().tobytes()


@wide_only
@pytest.mark.parametrize("act", ["relu", "relu6", "hardswish", "written out"])
@pytest.mark.parametrize("name", ["pointwise", "depthwise"])
def test_no_loop_is_left(name, act):
    channels, filters, size, kernel, stride, group = CONVOLUTIONS[name]
    conv, norm = nn.Conv2d(channels, filters, kernel, stride, "pad", kernel // 2, group=group), nn.BatchNorm2d(filters)
    norm.set_train(False)
    f = ms.jit(lambda x: ACTIVATIONS[act](norm(conv(x))), jit_config=FAST)
    f(Tensor(np.ones((1, channels, *size), np.float32)))
    program = ms.explain(f).entries[0]["program"].partition("prologue of parameters")[0]
    assert "conv2d_post" in program and "loop" not in program, program


@wide_only
@pytest.mark.parametrize("act", ["relu", "relu6"])
@pytest.mark.parametrize("name", ["pointwise", "depthwise"])
def test_what_is_no_number_stays_so(name, act):
    channels, filters, size, kernel, stride, group = CONVOLUTIONS[name]
    conv = nn.Conv2d(channels, filters, kernel, stride, "pad", kernel // 2, group=group)
    x = np.ones((1, channels, *size), np.float32)
    x[0, 1, 4, 4] = np.nan
    f = ms.jit(lambda x: ACTIVATIONS[act](conv(x)), jit_config=FAST)
    want = np.isnan(ACTIVATIONS[act](conv(Tensor(x))).asnumpy())
    assert want.any() and (np.isnan(f(Tensor(x)).asnumpy()) == want).all()


@pytest.mark.parametrize("seed", range(40))
def test_depthwise_has_the_same_bits_in_either_layout(seed):
    """Between convolutions in blocks, and alone in the plain layout."""
    r = np.random.default_rng(seed)
    c = 16 * int(r.integers(1, 5))
    kernel, dilation = (int(v) for v in r.integers(1, 6, 2)), tuple(int(v) for v in r.choice((1, 1, 2), 2))
    kernel, stride = tuple(kernel), tuple(int(v) for v in r.choice((1, 1, 2), 2))
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    size = [max(int(v), e) for v, e in zip(r.integers(3, 20, 2), reach)]
    pads = tuple(int(r.integers(0, (e + 1) // 2 + 1)) for e in reach for _ in (0, 1))
    weights = [Tensor(r.standard_normal(s).astype(np.float32)) for s in ((c, c, 1, 1), (c, 1, *kernel), (c, c, 1, 1))]
    bias = Tensor(r.standard_normal(c).astype(np.float32)) if seed % 2 else None

    def f(x):
        y = ops.conv2d(x, weights[0])
        y = ops.conv2d(y, weights[1], bias, stride, "pad", pads, dilation, c)
        return ops.conv2d(y, weights[2])

    x = Tensor(r.standard_normal((int(r.integers(1, 3)), c, *size)).astype(np.float32))
    assert ms.jit(f)(x).asnumpy().tobytes() == f(x).asnumpy().tobytes()


@pytest.mark.parametrize("filters", [1, 5, 6, 7, 13])
@pytest.mark.parametrize("size", [(1, 1), (3, 5), (4, 4), (1, 17), (7, 9), (9, 15), (16, 20)])
def test_tiles_of_pixels(size, filters):
    r = np.random.default_rng(filters)
    for channels in (1, 3, 515):
        x, w = r.standard_normal((2, channels, *size)), r.standard_normal((filters, channels, 1, 1))

        def loss(x, w):
            y = ops.conv2d(x, w)
            return (y * y).sum(), y

        step = ms.value_and_grad(loss, (0, 1), has_aux=True)
        (_, y), (dx, _) = step(*(Tensor(v.astype(np.float32)) for v in (x, w)))
        (_, want), (wanted, _) = step(*(Tensor(v.astype(np.float32).astype(np.float64)) for v in (x, w)))
        for single, double in ((y, want.asnumpy()), (dx, wanted.asnumpy())):
            np.testing.assert_allclose(single.asnumpy(), double, rtol=1e-4, atol=1e-5 * np.abs(double).max())


@pytest.mark.parametrize("name", ["sigmoid", "silu"])
def test_cheaper_functions_are_within_bounds(name):
    """4 ULP against float64, where the result is no subnormal number."""
    x = np.concatenate([np.linspace(-85, 85, 200001), np.geomspace(1e-30, 1, 1000), -np.geomspace(1e-30, 1, 1000)])
    x = x.astype(np.float32)
    got = ms.jit(lambda x: getattr(ops, name)(x), jit_config=FAST)(Tensor(x)).asnumpy()
    wide = x.astype(np.float64)
    want = (wide if name == "silu" else 1.0) / (1.0 + np.exp(-wide))
    normal = np.abs(want) > np.finfo(np.float32).tiny
    ulp = np.spacing(np.abs(want).astype(np.float32)).astype(np.float64)
    assert (np.abs(got - want) / ulp)[normal].max() <= 4
    ends = ms.jit(lambda x: getattr(ops, name)(x), jit_config=FAST)(Tensor([np.nan, np.inf, -1e30], ms.float32))
    np.testing.assert_array_equal(ends.asnumpy(), [np.nan, 1 if name == "sigmoid" else np.inf, 0])


def winograd_case(seed):
    """Two convolutions next to each other, which keep channels in blocks; the second by 3 x 3 of many tiles."""
    r = np.random.default_rng(seed)
    block = _C.channel_block() or 8
    groups = int(r.choice((1, 1, 2, 3)))
    channels, filters = (block * groups * int(v) for v in r.integers(1, 9 if groups == 1 else 4, 2))
    pads = tuple(int(v) for v in r.integers(0, 3, 4))
    images = int(r.integers(1, 4))
    size = [int(v) + (15 if groups > 1 else 0) for v in r.integers(13, 31, 2)]
    x = r.standard_normal((images, channels, *size))
    shapes = (channels, channels, 1, 1), (filters, channels // groups, 3, 3)
    weights = [r.standard_normal(s) / np.sqrt(np.prod(s[1:])) for s in shapes]
    bias = r.standard_normal(filters) if seed % 3 else None
    act = ACTIVATIONS[("none", "relu", "relu6", "hardswish", "silu")[seed % 5]]
    out = size[0] + pads[0] + pads[1] - 2, size[1] + pads[2] + pads[3] - 2
    residual = r.standard_normal((images, filters, *out)) if seed % 2 else None
    tensors = [None if v is None else v.astype(np.float32) for v in (x, *weights, bias, residual)]

    def f(x, first, second, bias, residual):
        y = ops.conv2d(ops.conv2d(x, first), second, bias, 1, "pad", pads, 1, groups)
        return act(y if residual is None else y + residual)

    return f, tensors


@pytest.mark.parametrize("seed", range(30))
def test_products_at_points_agree_with_float64(seed):
    f, operands = winograd_case(seed)
    want = f(*(None if v is None else Tensor(v.astype(np.float64)) for v in operands)).asnumpy()
    operands = [None if v is None else Tensor(v) for v in operands]
    fast = ms.jit(f, jit_config=FAST)
    first = fast(*operands).asnumpy()
    np.testing.assert_allclose(first, want, rtol=0, atol=1e-5 * np.abs(want).max())
    for _ in range(2):  # weights are kept from the second call on
        assert fast(*operands).asnumpy().tobytes() == first.tobytes()
    operands[2].set_data(operands[2] * 2)
    want = f(*(None if v is None else v.astype(ms.float64) for v in operands)).asnumpy()
    np.testing.assert_allclose(fast(*operands).asnumpy(), want, rtol=0, atol=1e-5 * np.abs(want).max())


def test_products_at_points_do_not_depend_on_threads():
    """Nor are they taken for exact numerics, few pixels, or kernels that are not 3 x 3."""
    program = ("from test_fast_convolutions import *\nimport hashlib\n"
               "for seed in range(6):\n"
               "    f, operands = winograd_case(seed)\n"
               "    for config in FAST, None:\n"
               "        f_jit = ms.jit(f, jit_config=config)\n"
               "        y = f_jit(*(None if v is None else Tensor(v) for v in operands))\n"
               "        print(hashlib.sha1(y.asnumpy().tobytes()).hexdigest())\n"
               "        print('--', file=sys.stderr)\n")
    seen = set()
    for threads in "1", "2", "3":
        env = {**os.environ, "PIJIT_LOG": "dispatch", "OMP_NUM_THREADS": threads,
               "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
        run = subprocess.run([sys.executable, "-c", "import sys\n" + program], env=env, capture_output=True, text=True,
                             check=True)
        seen.add(run.stdout)
        chosen = ["-> winograd" in part for part in run.stderr.split("--\n")[:-1]]
        in_blocks = _C.channel_block() and os.environ.get("PIJIT_BACKEND") != "reference"
        assert chosen == [bool(in_blocks), False] * 6
    assert len(seen) == 1
