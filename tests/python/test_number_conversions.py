"""What a float is as a bool or an integer: the same as a constant, as a Python number that varies, and in every
kernel."""

import math

import numpy as np
import pytest
from differential import check_calls

import pijit as ms
from pijit import _C, Tensor, ops

INF, NAN = math.inf, math.nan
VALUES = [0.5, -0.5, -1.0, -1.9, 2.7, 127.6, 128.0, 255.9, 256.0, 300.0, -129.0, 40000.0, 65536.5, 2147483648.0, -3e9,
          5e9, 1e18, 1.5e19, 1.9e19, INF, -INF,
          NAN, 1e-320]
L32, L64, H64 = -2**31, -2**63, 2**63
# What MindSpore 2.10 stores for them: ops.full, ops.full_like, ops.cast, Tensor(value, dtype).
STORED = {
    "uint8": [0, 0, 255, 255, 2, 127, 128, 255, 0, 44, 127, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    "int8": [0, 0, -1, -1, 2, 127, -128, -1, 0, 44, 127, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    "int16": [0, 0, -1, -1, 2, 127, 128, 255, 256, 300, -129, -25536, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    "uint16": [0, 0, 65535, 65535, 2, 127, 128, 255, 256, 300, 65407, 40000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    "int32": [0, 0, -1, -1, 2, 127, 128, 255, 256, 300, -129, 40000, 65536, L32, L32, L32, L32, L32, L32, L32, L32, L32,
              0],
    "uint32": [0, 0, 4294967295, 4294967295, 2, 127, 128, 255, 256, 300, 4294967167, 40000, 65536, 2147483648,
               1294967296, 705032704, 2808348672, 0, 0, 0, 0, 0, 0],
    "int64": [0, 0, -1, -1, 2, 127, 128, 255, 256, 300, -129, 40000, 65536, 2**31, -3 * 10**9, 5 * 10**9, 10**18, L64,
              L64, L64, L64, L64, 0],
    "uint64": [0, 0, 2**64 - 1, 2**64 - 1, 2, 127, 128, 255, 256, 300, 2**64 - 129, 40000, 65536, 2**31,
               2**64 - 3 * 10**9, 5 * 10**9, 10**18, 15 * 10**18, 0,
               0, H64, H64, 0],
    "bool": [True] * len(VALUES),
}


def stored(name, value):
    """The rule behind the table."""
    if name == "bool":
        return value != 0
    bits = np.dtype(name).itemsize * 8
    wide = 64 if bits == 64 or name == "uint32" else 32
    if name == "uint64" and value >= 2**63:
        whole = int(value) if value < 2**64 else 0
    else:
        whole = int(value) if -2**(wide - 1) <= value < 2**(wide - 1) else -2**(wide - 1)
    whole %= 2**bits
    return whole - 2**bits if name[0] == "i" and whole >= 2**(bits - 1) else whole


def test_the_rule_is_the_table():
    for name, expected in STORED.items():
        assert [stored(name, v) for v in VALUES] == expected, name


def zeros(name):
    return Tensor(np.zeros(2, name))


def set_item(x, q):
    x[0] = q
    return x


def of(name):
    """Ways by which a Python float becomes an element of that dtype."""
    dt = getattr(ms, {"bool": "bool_"}.get(name, name))
    return [lambda x, q: ops.full((1,), q, dtype=dt), lambda x, q: ops.full_like(x, q), lambda x, q: ops.cast(q, dt),
            set_item, lambda x, q: Tensor(q, dt),
            lambda x, q: Tensor([q, q], dt), lambda x, q: x.new_full((1,), q), lambda x, q: ops.fill(dt, (1,), q),
            lambda x, q: ops.pad(x, (1, 0), value=q)]


@pytest.mark.parametrize("name", STORED)
def test_python_floats_as_elements(name):
    for way in of(name):
        for value, expected in zip(VALUES, STORED[name]):
            assert way(zeros(name), value).asnumpy().flat[0].item() == expected, (name, value)


@pytest.mark.parametrize("name", STORED)
def test_python_floats_that_vary(name):
    """From the second value on a jitted function gets the number at run time."""
    for way in of(name):
        check_calls(lambda way=way: way, [(zeros(name), v) for v in [0.0, 0.5, 0.25, *VALUES]])


def test_truth_of_floats_that_vary():
    mask = Tensor([True, False])
    for f in (lambda q: ops.logical_and(mask, q), lambda q: ops.logical_or(mask, q), lambda q: ops.logical_xor(mask, q),
              lambda q: mask.logical_and(q),
              lambda q: ops.logical_not(q), lambda q: ops.where(mask, q, False), lambda q: ops.where(q, mask, False),
              lambda q: ops.select(mask, q, 1.0),
              lambda q: ops.masked_fill(mask, mask, q), lambda q: mask == q,
              lambda q: ops.where(ops.logical_and(mask, q), 1, 2),
              lambda q: ops.any(ops.cast(q, ms.bool_)), lambda q: ops.maximum(mask, q), lambda q: mask * q):
        check_calls(lambda f=f: f, [(v,) for v in (0.0, 0.5, 0.25, -0.0, NAN, -INF, 1e-320)])
    assert ops.logical_and(mask, 0.5).asnumpy().tolist() == [True, False]


@pytest.fixture(params=["", "avx2", "none"])
def isa(request):
    before = _C.get_option("isa")
    _C.set_option("isa", request.param)
    yield request.param
    _C.set_option("isa", before)


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
def test_kernels_convert_alike(isa, source, name):
    dt = getattr(ms, {"bool": "bool_"}.get(name, name))
    with np.errstate(over="ignore"):
        x = Tensor(np.array((VALUES + [0.0, -0.0]) * 3, np.float64)).astype(getattr(ms, source))
    expected = [stored(name, v) for v in (x.astype(ms.float64)).asnumpy().tolist()]
    assert x.astype(dt).asnumpy().tolist() == expected
    # within a kernel of several ops, of values that are neighbours in memory and of such that are not
    assert ms.jit(lambda x: (-(-x)).astype(dt))(x).asnumpy().tolist() == expected
    assert ms.jit(lambda x: (-(-x[::2])).astype(dt))(x).asnumpy().tolist() == expected[::2]
    assert (ms.jit(lambda x: ops.logical_and(x, x) if name == "bool" else x.astype(dt) + 0)(x).asnumpy().tolist() ==
            expected)
