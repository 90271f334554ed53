"""Finds the oneDNN library of the `onednn-cpu-gomp` wheel and loads it before the extension."""

import ctypes
import importlib.metadata
import os

# A spinning barrier stalls whenever anything else wants the core; these bound it. They must be set
# before the OpenMP runtime starts, and a user's own settings win.
os.environ.setdefault("GOMP_SPINCOUNT", "20000")


def _load_onednn():
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


_load_onednn()
