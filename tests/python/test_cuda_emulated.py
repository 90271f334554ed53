"""The device GPU without a GPU: the plug-in with a driver whose GPU is the host. Kernels are the generated CUDA C,
taken for C++."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
HERE = ROOT / "tests" / "cuda"
PLUGIN = ROOT / "build" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "libpijit_cuda.so"
COMPILER = os.environ.get("CXX", "c++")


@pytest.fixture(scope="module")
def emulated(tmp_path_factory):
    if not PLUGIN.exists() or not shutil.which(COMPILER):
        pytest.skip("the plug-in is not built here, or there is no compiler")
    folder = tmp_path_factory.mktemp("cuda")
    for name, source in (("libcuda.so.1", "fake_driver.cc"), ("libcublasLt.so.13", "fake_cublaslt.cc")):
        subprocess.run([COMPILER, "-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-fvisibility=hidden",
                        "-o", folder / name, HERE / source], check=True)
    return {**os.environ, "LD_LIBRARY_PATH": str(folder), "PIJIT_PLUGINS": str(PLUGIN.parent),
            "XDG_CACHE_HOME": str(folder), "PIJIT_CUDA_COMPILER": f"{sys.executable} {HERE / 'host_compiler.py'}",
            "PYTHONPATH": str(ROOT)}


@pytest.mark.skipif(any(os.environ.get(k) for k in ("PIJIT_BACKEND", "PIJIT_ISA", "PIJIT_TEST_AS")),
                    reason="once is enough: kernels are not the CPU's")
def test_programs(emulated):
    r = subprocess.run([sys.executable, HERE / "program.py"], env=emulated, capture_output=True, text=True)
    assert r.returncode == 0, r.stdout + r.stderr
    assert "test_errors" in r.stdout


def test_without_a_driver(emulated, tmp_path):
    env = {**emulated, "LD_LIBRARY_PATH": str(tmp_path)}
    program = "import pijit; pijit.set_context(device_target='GPU')"
    r = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert r.returncode == 1
    assert "RuntimeError" in r.stderr and "this pijit has CPU" in r.stderr, r.stderr
