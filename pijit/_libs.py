"""Loads the OpenMP runtime before the extension, and oneDNN of the `onednn-cpu-gomp` wheel, unless it is inside."""

import ctypes
import os
import sys

if "t" in sys.abiflags:
    raise ImportError("pijit needs a Python with the global interpreter lock: this one was built without it.")

from pijit import _run  # noqa: E402

if not _run.in_main_interpreter():
    raise ImportError(
        "pijit works in Python's main interpreter only, as NumPy does: a subinterpreter cannot import it.")

# A barrier that spins keeps the core from the thread it waits for whenever other processes want the cores: with 20,000
# turns a LeNet step of 0.15 ms took 3.5 ms beside them, with 1,000 turns (some 20 us, about what a sleeping thread
# takes to wake) 0.19 ms, and no more than before on an idle machine. It must be set before the OpenMP runtime starts,
# and a user's own setting wins.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def _load_openmp():
    try:
        ctypes.CDLL("libgomp.so.1", mode=ctypes.RTLD_GLOBAL)
    except OSError:  # the wheel brings a copy for systems without one
        copy = os.path.join(os.path.dirname(__file__), "libgomp.so.1")
        if os.path.exists(copy):
            ctypes.CDLL(copy, mode=ctypes.RTLD_GLOBAL)


def _load_onednn():
    near = os.path.join(sys.prefix, "lib", "libdnnl.so.3.2")  # where pip puts this wheel's library
    if os.path.exists(near):
        ctypes.CDLL(near, mode=ctypes.RTLD_GLOBAL)
        return
    import importlib.metadata  # takes longer than all else here
    try:
        files = importlib.metadata.files("onednn-cpu-gomp") or []
    except importlib.metadata.PackageNotFoundError:
        return  # the dynamic loader may still find it
    for f in files:
        if f.name == "libdnnl.so.3":
            path = f.locate()
            if os.path.exists(path):
                ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
                return


_load_openmp()
if not _run.onednn_inside:
    _load_onednn()
