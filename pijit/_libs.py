"""What the extension needs before it can be loaded: a Python and a processor that it is for, the OpenMP runtime, and
oneDNN of the `onednn-cpu-gomp` wheel, unless it is inside. Where something is missing, the ImportError says what, and
what to do."""

import ctypes
import importlib.util
import os
import re
import sys
import sysconfig

if "t" in sys.abiflags:
    raise ImportError("pijit needs a Python with the global interpreter lock: this one was built without it.")


def _other_python():
    """The error for a Python that there is no extension for."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    others = [os.path.join(p, "pijit") for p in sys.path if os.path.exists(os.path.join(p, "pijit", "_run" + suffix))]
    if others:
        return ImportError(f"Python found pijit's sources, {os.path.dirname(__file__)}, before the pijit that is "
                           f"installed in {others[0]}: they have no extension module for this Python. Start Python in "
                           "another folder, or take theirs out of PYTHONPATH.")
    here = f"{sys.implementation.name} {sys.version_info[0]}.{sys.version_info[1]} on {sysconfig.get_platform()}"
    found = (re.fullmatch(r"_run\.cpython-(\d)(\d+)-.*\.so", f) for f in os.listdir(os.path.dirname(__file__)))
    there = sorted({(int(m[1]), int(m[2])) for m in found if m})
    built = ", ".join(f"{major}.{minor}" for major, minor in there)
    return ImportError(
        f"pijit has no extension module for this Python ({here}). " +
        (f"It is there for CPython {built}. " if there else "") +
        "Install a wheel for this Python, or `pip install` the sources with it; in the sources, `make build "
        f"PYTHON={os.path.basename(sys.executable or 'python3')}` builds it. It needs CPython 3.9 to 3.15 on Linux, "
        "x86-64.")


try:
    from pijit import _run
except ImportError as e:
    raise _other_python() from e

if not _run.in_main_interpreter():
    raise ImportError(
        "pijit works in Python's main interpreter only, as NumPy does: a subinterpreter cannot import it.")
if not hasattr(_run, "missing_instructions"):
    raise ImportError(f"pijit's extension module {_run.__file__} is older than the Python files beside it: `make "
                      "build` in the sources, or `pip install --force-reinstall` of the wheel.")
_missing = _run.missing_instructions()
if _missing:
    raise ImportError(f"pijit needs a processor with AVX2 and FMA; this one shows no {', no '.join(_missing)}. Choose "
                      "another machine, or, where it is a virtual one, a model of processor that has them (of QEMU: "
                      "-cpu host, or Haswell).")


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


# What is missing, by what the dynamic loader says, and where it is to be had.
_HELP = (
    (r"libdnnl\.so", "oneDNN, of the package that pijit was built against: `pip install onednn-cpu-gomp==2023.2.0`"),
    (r"libgomp\.so", "the OpenMP runtime of GCC: Debian's package libgomp1"),
    (r"libabsl_\w+\.so", "Abseil in the version that pijit was built against: `make deps build` in the sources, or a "
                         "wheel, which has it inside"),
    (r"(GLIBC|GLIBCXX|CXXABI)_[\d.]+' not found", "a newer system, or a build on this one: `make build` in the "
                                                  "sources"),
    (r"undefined symbol", "an extension module that was built with what is here: `make build` in the sources, or "
                          "`pip install --force-reinstall` of the wheel"),
)


def _explained(e):
    for pattern, what in _HELP:
        if re.search(pattern, str(e)):
            return ImportError(f"pijit's extension module cannot be loaded: {e}. It needs {what}.")
    return e


_load_openmp()
# It is loaded when it is needed.
if sys.modules["numpy"] is None if "numpy" in sys.modules else importlib.util.find_spec("numpy") is None:
    raise ModuleNotFoundError("pijit needs NumPy, which this Python doesn't have: `pip install numpy`.", name="numpy")
try:
    if not _run.onednn_inside:
        _load_onednn()
    from pijit import _C  # noqa: F401
except (OSError, ImportError) as e:
    raise _explained(e) from e
