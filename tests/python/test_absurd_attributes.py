"""Absurd numbers in the places of attributes: a part of the calls of absurd_attributes.py, which runs all; and pooling,
whose errors were those of std::vector."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from pijit import Tensor, ops

HERE = pathlib.Path(__file__).parent
X = Tensor(np.arange(96, dtype=np.float32).reshape(1, 4, 4, 6))


def test_a_part_of_the_sweep():
    env = dict(os.environ)
    if "ASAN_OPTIONS" in env:
        env["ASAN_OPTIONS"] += ":allocator_may_return_null=1"
    r = subprocess.run([sys.executable, HERE / "absurd_attributes.py", "5", "50"], capture_output=True, text=True,
                       timeout=600, env=env)
    assert r.returncode == 0, (r.returncode, r.stdout[-3000:], r.stderr[-2000:])


@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d"])
@pytest.mark.parametrize("stride", [2**31, 2**40, 2**62, (2**62, 3), (2**31 - 1, 2**31 - 1), 7])
def test_a_stride_beyond_the_plane(name, stride):
    """There is one window."""
    pool = getattr(ops, name)
    a = pool(X, 2, stride).asnumpy()
    s = stride if isinstance(stride, tuple) else (stride, stride)
    assert np.array_equal(a, pool(X, 2, tuple(min(v, 7) for v in s)).asnumpy())


@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d"])
@pytest.mark.parametrize(("argument", "value", "error"), [
    ("kernel_size", 0, ValueError), ("kernel_size", -2**62, ValueError), ("kernel_size", 2**62, ValueError),
    ("kernel_size", (1, 2, 3), ValueError), ("kernel_size", (), ValueError),
    ("kernel_size", 1.5, TypeError), ("kernel_size", (1.5, 2), TypeError), ("stride", 0, ValueError),
    ("stride", -1, ValueError), ("stride", (1,) * 9, ValueError),
    ("stride", "2", TypeError), ("padding", -1, ValueError), ("padding", 2**62, ValueError),
    ("padding", (1,), ValueError), ("padding", (1,) * 5, ValueError),
    ("padding", 1e300, TypeError), ("padding", {}, TypeError)])
def test_pooling_names_what_is_wrong(name, argument, value, error):
    with pytest.raises(error, match=name):
        getattr(ops, name)(X, **{"kernel_size": 2, "stride": 1, argument: value})


@pytest.mark.parametrize("value", [0, -1, -2**62, 2**62, (), (1,), (1, 2, 3), (0, 1), "2", 1.5])
def test_dilation_names_what_is_wrong(value):
    with pytest.raises((TypeError, ValueError), match="max_pool2d"):
        ops.max_pool2d(X, 2, 1, 0, value)


@pytest.mark.parametrize("wrong",
                         [{"stride": -2**62}, {"stride": 0}, {"kernel_size": 0}, {"kernel_size": -1}, {"dilation": 0}])
@pytest.mark.parametrize("more", [{"return_indices": True}, {"ceil_mode": True}])
def test_pooling_with_places(wrong, more):
    with pytest.raises(ValueError, match="max_pool2d"):
        ops.max_pool2d(X, **{"kernel_size": 2, "stride": 1, **more, **wrong})


@pytest.mark.parametrize(("argument", "value"),
                         [("num_sampled", 0), ("num_sampled", 1e300), ("range_max", 1e300), ("range_max", 2**70),
                          ("range_max", "8"), ("num_true", -1)])
@pytest.mark.parametrize("name", ["uniform_candidate_sampler", "log_uniform_candidate_sampler"])
def test_samplers_end(name, argument, value):
    with pytest.raises((TypeError, ValueError), match=name):
        getattr(ops, name)(Tensor([[1], [2]]),
                           **{"num_true": 1, "num_sampled": 3, "unique": True, "range_max": 8, argument: value})
