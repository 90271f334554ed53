"""DLPack both ways: with NumPy, with PyTorch where it is installed, and with objects that do it in every odd way."""

import ctypes
import gc
import importlib.util

import numpy as np
import pytest

import pijit as ms
from pijit.utils import from_dlpack, to_dlpack

pytestmark = pytest.mark.skipif(ms.get_context("device_target") != "CPU", reason="these Tensors lie on the CPU")
VERSIONED = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
DTYPES = [ms.bool_, ms.int8, ms.int16, ms.int32, ms.int64, ms.uint8, ms.uint16, ms.uint32, ms.uint64, ms.float16,
          ms.float32, ms.float64, ms.complex64, ms.complex128]


def tensor(t=ms.float32):
    return ms.Tensor(np.arange(12).reshape(3, 4) % 5).astype(t)


@pytest.mark.parametrize("t", DTYPES, ids=str)
def test_numpy_takes_and_gives(t):
    x = tensor(t)
    a = np.from_dlpack(x)
    assert a.shape == (3, 4) and (a == x.asnumpy()).all() and a.dtype == x.asnumpy().dtype
    y = ms.Tensor.from_dlpack(x.asnumpy())
    assert y.dtype == t and (y.asnumpy() == x.asnumpy()).all()


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3), (1, 1, 4), (2,) * 8])
def test_shapes(shape):
    a = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    assert (np.from_dlpack(ms.Tensor(a)) == a).all() and np.from_dlpack(ms.Tensor(a)).shape == shape
    for copy in (None, True, False):
        x = ms.Tensor.from_dlpack(a, copy=copy)
        assert x.shape == shape and (x.asnumpy() == a).all()


def test_devices_and_arguments():
    x = tensor()
    assert x.__dlpack_device__() == (1, 0)
    assert (from_dlpack(to_dlpack(x)).asnumpy() == x.asnumpy()).all()
    with pytest.raises(ValueError, match="no streams"):
        x.__dlpack__(stream=1)
    with pytest.raises(BufferError, match="no device"):
        x.__dlpack__(dl_device=(8, 0))
    with pytest.raises(BufferError, match="move data"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="takes DLPack 1.0"):
        x.__dlpack__(copy=False)
    with pytest.raises(TypeError):
        x.__dlpack__(7)
    with pytest.raises(TypeError, match="expected an object with __dlpack__"):
        from_dlpack(7)
    with pytest.raises(TypeError, match="must be a bool"):
        from_dlpack(np.ones(2), copy="no")


def address(x):
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    capsule = x.__dlpack__(max_version=(1, 0))
    made = New.from_address(pointer(capsule, b"dltensor_versioned"))
    assert (made.major, made.flags) == (1, 1)  # to be read alone
    return made.tensor.data


def test_what_leaves_cannot_change_the_tensor():
    x = tensor()
    before = x.asnumpy()
    a = np.from_dlpack(x)
    if a.flags.writeable:  # a copy
        a[0] = 9
    assert (x.asnumpy() == before).all()
    view = from_dlpack(x.__dlpack__(max_version=(1, 0)), copy=False)  # shared
    assert address(view) == address(x)
    x += 1  # takes another value, and leaves the shared one
    assert (view.asnumpy() == before).all()
    copied = from_dlpack(x.__dlpack__(max_version=(1, 0), copy=True))
    assert address(copied) != address(x) and (copied.asnumpy() == x.asnumpy()).all()


def test_in_place_steps_leave_shared_memory_alone():
    p = ms.Parameter(tensor(), name="p")
    view = from_dlpack(p.__dlpack__(max_version=(1, 0)), copy=False)
    before = p.asnumpy()

    @ms.jit
    def step(k):
        ms.ops.assign(p, p * k)
    for _ in range(3):
        step(ms.Tensor(2.0))
    assert (view.asnumpy() == before).all() and (p.asnumpy() == before * 8).all()


def test_what_comes_in():
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    copied, shared = from_dlpack(a), from_dlpack(a, copy=False)
    a[0, 0] = 99
    assert copied.asnumpy()[0, 0] == 0 and shared.asnumpy()[0, 0] == 99
    assert (from_dlpack(a.T).asnumpy() == a.T).all() and (from_dlpack(a[::-1, ::2]).asnumpy() == a[::-1, ::2]).all()
    with pytest.raises(BufferError, match="row-major"):
        from_dlpack(a.T, copy=False)
    assert (from_dlpack(a[1:], copy=False).asnumpy() == a[1:]).all()
    if VERSIONED:
        a.setflags(write=False)
        assert (from_dlpack(a).asnumpy() == a).all()


def test_captured_functions_take_shared_data():
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    f = ms.jit(lambda x: (x * 2 + 1).sum(0))
    x = from_dlpack(a[1:], copy=False)
    for _ in range(3):
        assert (f(x).asnumpy() == (a[1:] * 2 + 1).sum(0)).all()
    assert (a == np.arange(12).reshape(3, 4)).all()


# A producer of our own, which counts calls of its deleter.

class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("rank", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


class Old(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]


class New(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)), ("flags", ctypes.c_uint64), ("tensor", Tensor)]


class Producer:
    def __init__(self, new=True, offset=0, device=1, code=2, bits=32, lanes=1, rank=1, major=1, flags=0, strides=None,
                 sizes=None, data=True, shape=True):
        self.deleted, self.asked = 0, []
        self.data = (ctypes.c_float * 64)(*range(64))
        self.made = made = (New if new else Old)()
        made.tensor = Tensor(ctypes.addressof(self.data) if data else None, (device, 0), rank, code, bits, lanes,
                             (ctypes.c_int64 * 10)(*(sizes or [4] * 10)) if shape else None,
                             (ctypes.c_int64 * 10)(*strides) if strides else None, offset)
        made.deleter = type(made.deleter)(self.delete)
        if new:
            made.major, made.flags = major, flags
        self.name = b"dltensor_versioned" if new else b"dltensor"
        self.device = device

    def delete(self, p):
        assert p == ctypes.addressof(self.made)
        self.deleted += 1

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, **how):
        self.asked.append(how)
        if not isinstance(self.made, New) and "max_version" in how:
            raise TypeError("unexpected keyword")
        destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.end)
        self.keep = destructor
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return make(ctypes.addressof(self.made), self.name, ctypes.cast(destructor, ctypes.c_void_p))

    def end(self, capsule):  # as the protocol has it: whoever has not taken the data deletes it
        valid = ctypes.pythonapi.PyCapsule_IsValid
        valid.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
        if valid(capsule, self.name):
            self.made.deleter(ctypes.addressof(self.made))


@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("how, live", [({}, 1), ({"copy": True}, 1), ({"copy": False}, 0)])
def test_a_deleter_is_called_once(new, how, live):
    p = Producer(new, offset=8)
    x = from_dlpack(p, **how)
    y = x.reshape(2, 2)
    assert x.asnumpy().tolist() == [2, 3, 4, 5] and p.deleted == live
    del x
    gc.collect()
    assert y.asnumpy().tolist() == [[2, 3], [4, 5]] and p.deleted == live
    del y
    gc.collect()
    assert p.deleted == 1
    assert p.asked == ([{"max_version": (1, 0)}] if new else [{"max_version": (1, 0)}, {}])


def test_a_copy_made_for_us_is_shared():
    p = Producer(flags=2)
    x = from_dlpack(p)
    assert p.deleted == 0 and x.asnumpy().tolist() == [0, 1, 2, 3]
    del x
    assert p.deleted == 1


@pytest.mark.parametrize("bad, says", [({"bits": 8}, "no dtype"), ({"lanes": 4}, "no dtype"), ({"code": 9}, "no dtype"),
                                       ({"device": 4}, "device of kind 4"), ({"rank": 9}, "at most 8"),
                                       ({"major": 2}, "version 2"), ({"rank": -1}, "at most 8"),
                                       ({"sizes": [-4]}, "not be negative, got -4"),
                                       ({"sizes": [2, -2**63], "rank": 2}, "not be negative"),
                                       ({"sizes": [0, -1], "rank": 2}, "not be negative"),
                                       ({"data": False}, "without data"),
                                       ({"data": False, "offset": 64}, "without data"),
                                       ({"shape": False}, "without sizes"), ({"bits": 0}, "no dtype"),
                                       ({"offset": 2**64 - 4}, "outside"), ({"offset": 2**63}, "outside"),
                                       ({"strides": [2**61] * 10}, "outside"), ({"strides": [-2**61] * 10}, "outside"),
                                       ({"strides": [2**62] * 10}, "outside"), ({"strides": [-2**63] * 10}, "outside"),
                                       ({"rank": 2, "strides": [2**60, 2**60] * 5}, "outside"),
                                       ({"sizes": [2**40, 2**20], "rank": 2}, "outside")])
@pytest.mark.parametrize("how", [{}, {"copy": True}, {"copy": False}])
@pytest.mark.parametrize("flags", [0, 2])
def test_what_is_refused_is_given_back(bad, says, how, flags):
    p = Producer(**{"flags": flags, **bad})
    with pytest.raises(BufferError, match=says):
        from_dlpack(p, **how)
    gc.collect()
    assert p.deleted == 1


@pytest.mark.parametrize("sizes", [[2**62, 4], [2**63 - 1, 2**63 - 1], [2**61]])
def test_sizes_that_no_memory_holds(sizes):
    p = Producer(sizes=sizes, rank=len(sizes))
    with pytest.raises((MemoryError, BufferError)):
        from_dlpack(p)
    gc.collect()
    assert p.deleted == 1


def test_an_empty_tensor_needs_no_data():
    x = from_dlpack(Producer(sizes=[0, 2**62, 2**62], rank=3, data=False, strides=[2**62] * 10))
    assert x.shape == (0, 2**62, 2**62)
    assert from_dlpack(Producer(rank=0, shape=False)).item() == 0


@pytest.mark.parametrize("answer", [None, 1, (), (1,), ("cpu", 0), (1.5, 0), [1, 0], (2**70, 0)])
def test_wrong_answers_of_where_data_lies(answer):
    p = Producer()
    p.__class__ = type("Liar", (Producer,), {"__dlpack_device__": lambda self: answer})
    with pytest.raises((TypeError, ValueError), match=r"\[from_dlpack\]"):
        from_dlpack(p)


@pytest.mark.parametrize("version", [(), (1,), 1, "1.0", (1.0, 0), [], (1, 0, 0), (2**70, 0)])
def test_wrong_versions(version):
    with pytest.raises((TypeError, ValueError), match=r"\[__dlpack__\].*max_version"):
        ms.Tensor([1.0]).__dlpack__(max_version=version)


def test_a_capsule_is_taken_once():
    p = Producer()
    c = p.__dlpack__()
    assert from_dlpack(c).shape == (4,) and p.deleted == 1
    with pytest.raises(ValueError, match="nobody has taken"):
        from_dlpack(c)
    del c
    gc.collect()
    assert p.deleted == 1


def test_strides_backward_and_of_nothing():
    assert from_dlpack(Producer(strides=[-1] * 10, offset=12)).asnumpy().tolist() == [3, 2, 1, 0]
    p = Producer(rank=2, strides=[0, 1] * 5)
    assert from_dlpack(p).asnumpy().tolist() == [[0, 1, 2, 3]] * 4 and p.deleted == 1


def test_a_capsule_that_nobody_takes():
    x = ms.Tensor(np.ones(1 << 16, np.float32))
    before = ms._C.allocated_bytes()
    for how in ({}, {"max_version": (1, 0)}, {"max_version": (1, 0), "copy": True}):
        c = x.__dlpack__(**how)
        del c
    assert ms._C.allocated_bytes() == before


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("t", [t for t in DTYPES if t not in (ms.uint16, ms.uint32, ms.uint64)] + [ms.bfloat16],
                         ids=str)
def test_torch_takes_and_gives(t):
    import torch
    x = tensor(t)
    y = torch.from_dlpack(x)
    assert tuple(y.shape) == (3, 4) and y.dtype == getattr(torch, str(x.dtype).lower().replace("bool_", "bool"))
    assert (y.float().numpy() == x.astype(ms.float32).asnumpy()).all()
    y[0] = 0
    assert (x.asnumpy() == tensor(t).asnumpy()).all()
    for z in (y, y.T, y[:, ::2]):
        assert (from_dlpack(z).astype(ms.float32).asnumpy() == z.float().numpy()).all()
    y[1] = 1
    shared = from_dlpack(y, copy=False)
    y[1] = 0
    assert (shared.astype(ms.float32).asnumpy() == y.float().numpy()).all()
    with pytest.raises((BufferError, RuntimeError)):
        from_dlpack(torch.ones(3).to_sparse())
