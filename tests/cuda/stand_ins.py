"""Libraries that stand in for the driver, cuBLASLt, cuDNN, cuFFT and NCCL, so that the plug-in runs without a GPU."""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
PLUGIN = ROOT / "build" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "libpijit_cuda.so"
COMPILER = os.environ.get("CXX", "c++")
SOURCES = {"libcuda.so.1": "fake_driver.cc", "libcublasLt.so.13": "fake_cublaslt.cc",
           "libcudnn.so.9": "fake_cudnn.cc", "libcufft.so.12": "fake_cufft.cc",
           "libnccl.so.2": "fake_nccl.cc"}


def build(folder):
    """Compiles them into a folder, and gives the environment of a process that is to use them."""
    for name, source in SOURCES.items():
        subprocess.run([COMPILER, "-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-fvisibility=hidden",
                        "-o", folder / name, HERE / source], check=True)
    compiler = HERE / "host_compiler.py"
    subprocess.run([sys.executable, compiler, "--shim", folder], check=True)
    own = {k: v for k, v in os.environ.items() if k not in ("PIJIT_CUDA_SYNC", "CUDA_HOME")}
    return {**own, "LD_LIBRARY_PATH": str(folder), "PIJIT_PLUGINS": str(PLUGIN.parent),
            "PIJIT_SHIM": str(folder), "XDG_CACHE_HOME": str(folder), "PYTHONPATH": str(ROOT),
            "PIJIT_CUDA_COMPILER": f"{sys.executable} -S {compiler}"}
