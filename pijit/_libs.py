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
