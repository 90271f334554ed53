"""Devices: where Tensors lie, and what is said of devices that are not here."""

import numpy as np
import pytest
from differential import check

import pijit as ms

gpu_missing = pytest.mark.skipif(ms.hal.is_available("GPU"), reason="there is a GPU")


def test_tensors_say_where_they_lie():
    x = ms.Tensor([1.0, 2.0])
    assert x.device == "CPU"
    assert ms.Tensor([1.0], device="CPU").device == "CPU"
    assert ms.Tensor([1.0], device="cpu:0").device == "CPU"
    assert ms.Tensor(shape=(2,), dtype=ms.float32, init="ones", device="CPU").asnumpy().tolist() == [1, 1]
    assert x.to("CPU") is x and x.move_to("CPU") is x
    assert x.to(device="CPU", dtype=ms.float16).dtype == ms.float16


@gpu_missing
@pytest.mark.parametrize("ask", [
    lambda: ms.Tensor([1.0], device="GPU"),
    lambda: ms.Tensor(shape=(2,), dtype=ms.float32, init="ones", device="GPU:0"),
    lambda: ms.Tensor([1.0]).to("GPU"),
    lambda: ms.Tensor([1.0]).to("Ascend"),
    lambda: ms.Tensor([1.0]).move_to("GPU"),
    lambda: ms.Tensor([1.0]).to(device="GPU", dtype=ms.float16),
    lambda: ms.set_context(device_target="GPU"),
    lambda: ms.set_context(device_target="Ascend"),
    lambda: ms.set_device("GPU"),
])
def test_a_device_that_is_not_here(ask):
    with pytest.raises(RuntimeError, match="not available: this pijit has CPU"):
        ask()
    assert ms.get_context("device_target") == "CPU"
    assert ms.Tensor([1.0]).device == "CPU"


@pytest.mark.parametrize("ask", [lambda: ms.Tensor([1.0], device="toaster"), lambda: ms.Tensor([1.0]).to("toaster"),
                                 lambda: ms.set_context(device_target="toaster")])
def test_no_such_device(ask):
    with pytest.raises(ValueError, match="toaster"):
        ask()


def test_device_is_a_str():
    with pytest.raises(TypeError, match="device must be a str"):
        ms.Tensor([1.0], device=3)


def test_devices_under_capture():
    def f(x):
        y = x.to("CPU") * 2 + x.to("cpu:0")
        return y + 1 if x.device == "CPU" else y
    check(lambda: f, ms.Tensor(np.ones(3, np.float32)), graphs=1, breaks=0)
