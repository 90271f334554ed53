"""Finds the OpenMP runtime and the oneDNN library of the `onednn-cpu-gomp` wheel and loads it before the extension."""

import ctypes
import os
import sys

# A spinning barrier stalls whenever anything else wants the core; these bound it. They must be set
# before the OpenMP runtime starts, and a user's own settings win.
os.environ.setdefault("GOMP_SPINCOUNT", "20000")


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
_load_onednn()
