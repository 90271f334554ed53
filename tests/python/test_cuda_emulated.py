"""The device GPU without a GPU: the plug-in with a driver whose GPU is the host. Kernels are the generated CUDA C,
taken for C++."""

import importlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import types

import numpy as np
import pytest

from tests.cuda.stand_ins import COMPILER, HERE, PLUGIN, ROOT, build


@pytest.fixture(scope="module")
def emulated(tmp_path_factory):
    if not PLUGIN.exists() or not shutil.which(COMPILER):
        pytest.skip("the plug-in is not built here, or there is no compiler")
    return build(tmp_path_factory.mktemp("cuda"))


once = pytest.mark.skipif(any(os.environ.get(k) for k in ("PIJIT_BACKEND", "PIJIT_ISA", "PIJIT_TEST_AS")),
                          reason="once is enough: kernels are not the CPU's")


def run(emulated, *command, **more):
    return subprocess.run([sys.executable, *command], env={**emulated, **more}, capture_output=True, text=True)


@once
def test_programs(emulated):
    r = run(emulated, HERE / "program.py")
    assert r.returncode == 0, r.stdout + r.stderr
    assert "test_errors" in r.stdout


@once
@pytest.mark.parametrize("how", ["absent", "refuses", "apart"])
def test_without_all_of_cudnn(emulated, how):
    """It does not start, or has no algorithm: by tiles. It adds no bias by the way: by itself."""
    names = ("test_convolutions", "test_convolutions_in_tf32", "test_steps_with_convolutions_are_one_launch",
             "test_attention", "test_gradients_of_attention", "test_training_of_attention")
    r = run(emulated, HERE / "program.py", *names, *(["test_windows"] if how == "absent" else []), PIJIT_FAKE_CUDNN=how)
    assert r.returncode == 0, r.stdout + r.stderr


@once
@pytest.mark.parametrize("how", ["forward", "old"])
def test_attention_without_its_gradient(emulated, how):
    """Without a plan for the gradient, or with a library before 9.28, the forward half is products and a softmax, too;
    attention by itself is not."""
    names = "test_attention", "test_gradients_of_attention", "test_training_of_attention", "test_attention_of_a_layer"
    r = run(emulated, HERE / "program.py", *names, PIJIT_FAKE_CUDNN=how)
    assert r.returncode == 0, r.stdout + r.stderr


@once
def test_transforms_by_the_host(emulated):
    r = run(emulated, HERE / "program.py", "test_transforms", PIJIT_FAKE_CUFFT="refuses")
    assert r.returncode == 0, r.stdout + r.stderr


OPENED = """
import ctypes, pijit as ms
ms.Tensor([1.0], device="GPU").asnumpy()
print(ctypes.CDLL("libcuda.so.1").pijit_fake_opened())
"""


@once
@pytest.mark.parametrize("variables,number", [
    ({}, 0), ({"OMPI_COMM_WORLD_LOCAL_RANK": "2", "SLURM_LOCALID": "0"}, 2), ({"MPI_LOCALRANKID": "1"}, 1),
    ({"SLURM_LOCALID": "3"}, 3), ({"SLURM_LOCALID": "5"}, 1)])
def test_each_process_takes_a_gpu_of_its_machine(emulated, variables, number):
    own = {k: v for k, v in emulated.items() if k not in ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                                          "SLURM_LOCALID")}
    r = run(own, "-c", OPENED, PIJIT_FAKE_GPUS="4", **variables)
    assert r.stdout == f"{number}\n", r.stderr


CALLS_CUDNN = """
import numpy as np, pijit as ms
from pijit import ops
x, w = (ms.Tensor(np.ones(s, np.float32), device="GPU") for s in ((1, 2, 5, 5), (3, 2, 3, 3)))
try:
    ms.jit(lambda x, w: ops.conv2d(x + 1, w))(x, w)
except RuntimeError as e:
    print(e)
print((x + x).sum())
q = ms.Tensor(np.ones((1, 2, 5, 8), np.float16), device="GPU")
print(ms.jit(lambda q: ops.softmax(q @ q.swapaxes(-1, -2), -1) @ q, jit_config=ms.JitConfig(numerics="fast"))(q).sum())
"""


@once
@pytest.mark.parametrize("name", ["test_an_index_out_of_range", "test_branches", "test_dlpack"])
def test_programs_that_begin_so(emulated, name):
    """Nothing ran before, so that tables and caches are empty."""
    r = run(emulated, HERE / "program.py", name)
    assert r.returncode == 0, r.stdout + r.stderr


@once
def test_kernels_of_cudnn_that_fail(emulated):
    r = run(emulated, "-c", CALLS_CUDNN, PIJIT_FAKE_CUDNN="fails")
    says = "[GPU] cuDNN refuses conv2d of x [1,2,5,5] and w [3,2,3,3]: CUDNN_STATUS_EXECUTION_FAILED"
    assert r.stdout.startswith(says) and "100" in r.stdout, r.stdout + r.stderr
    assert r.stdout.endswith("80.0\n"), r.stdout + r.stderr  # what is jitted runs op by op, then


CUDNN = """
import ctypes
lib = ctypes.CDLL({path!r})
def made(kind):
    d = ctypes.c_void_p()
    assert getattr(lib, f"cudnnCreate{{kind}}Descriptor")(ctypes.byref(d)) == 0
    return d
def ints(*v):
    return (ctypes.c_int * len(v))(*v)
x, w, c, a = (made(k) for k in ("Tensor", "Filter", "Convolution", "Activation"))
for t in (0, 1, 2, 9):
    assert lib.cudnnSetTensorNdDescriptor(x, t, 4, ints(2, 4, 9, 8), ints(288, 72, 8, 1)) == 0
    assert lib.cudnnSetFilterNdDescriptor(w, t, 0, 4, ints(6, 2, 3, 3)) == 0
    assert lib.cudnnSetConvolutionNdDescriptor(c, 2, ints(1, 0), ints(2, 1), ints(1, 2), 1, t == 1) == 0
    assert lib.cudnnSetConvolutionGroupCount(c, 2) == 0
    for math in (0, 1, 3):
        assert lib.cudnnSetConvolutionMathType(c, math) == 0
    y = ints(0, 0, 0, 0)
    assert lib.cudnnGetConvolutionNdForwardOutputDim(c, x, w, 4, y) == 0 and list(y) == [2, 6, 5, 4]
for mode in (0, 1, 2, 5, 6):
    assert lib.cudnnSetActivationDescriptor(a, mode, 1, ctypes.c_double(0)) == 0
assert lib.cudnnSetActivationDescriptorSwishBeta(a, ctypes.c_double(1)) == 0
"""


@once
@pytest.mark.skipif(not os.environ.get("PIJIT_CUDNN_TOO"), reason="PIJIT_CUDNN_TOO names no libcudnn")
def test_descriptors_of_cudnn():
    """cuDNN itself takes the descriptors that cudnn.cc makes; it needs no GPU for them."""
    r = subprocess.run([sys.executable, "-c", CUDNN.format(path=os.environ["PIJIT_CUDNN_TOO"])], capture_output=True,
                       text=True)
    assert r.returncode == 0, r.stderr


# Of the driver, what cuDNN needs to make a plan: kernels that it compiles are taken and not looked at.
DRIVER = """
static int it;
int cuDriverGetVersion(int* v) { return *v = 13000, 0; }
int cuGetErrorString(int e, const char** s) { return *s = "an error", 0; }
"""
TAKES = {"cuLibraryLoadData", "cuLibraryGetKernel", "cuKernelGetFunction", "cuModuleLoadData", "cuModuleGetFunction"}
DOES = {"cuKernelSetAttribute", "cuKernelGetAttribute", "cuLibraryUnload", "cuModuleUnload"}


@once
@pytest.mark.skipif(not os.environ.get("PIJIT_CUDNN_TOO"), reason="PIJIT_CUDNN_TOO names no libcudnn")
def test_cudnn_plans_attention(emulated, tmp_path):
    """cuDNN itself takes the graphs that attention.cc makes, of gradients, too, and has plans for sm_80, sm_90 and
    sm_100; those of gradients add up in order."""
    cudnn = pathlib.Path(os.environ["PIJIT_CUDNN_TOO"]).resolve()
    file = b"".join((cudnn.parent / f"libcudnn_{p}.so.9").read_bytes()
                    for p in ("graph", "engines_runtime_compiled", "engines_precompiled"))
    for name, source, wanted, more in (("libcuda.so.1", "fake_driver.cc", rb"cu[A-Z]\w+", DRIVER),
                                       ("libcublasLt.so.13", "fake_cublaslt.cc", rb"cublasLt[A-Z]\w+", "")):
        known = (HERE / source).read_text() + more
        names = sorted({n.decode() for n in re.findall(rb"\b(" + wanted + rb")(?=\0)", file)})
        stub = tmp_path / "stub.c"
        stub.write_text(more + "".join(
            f"int {n}(void** p) {{ return *p = &it, 0; }}\n" if n in TAKES else
            f"int {n}() {{ return {100 * (n not in DOES)}; }}\n"
            for n in names if not re.search(rf"\b{n}\(", known)))
        subprocess.run(["cc", "-w", "-c", "-fPIC", "-fno-builtin", "-o", tmp_path / "stub.o", stub], check=True)
        subprocess.run([COMPILER, "-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-o", tmp_path / name, HERE / source,
                        tmp_path / "stub.o"], check=True)
    paths = f"{tmp_path}:{emulated['LD_LIBRARY_PATH']}:{cudnn.parent}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    r = run(emulated, HERE / "program.py", "test_attention", "test_gradients_of_attention",
            "test_training_of_attention", LD_LIBRARY_PATH=paths, PIJIT_FAKE_CUDNN_TOO=str(cudnn))
    assert r.returncode == 0, r.stdout + r.stderr


@once
@pytest.mark.skipif(not os.environ.get("PIJIT_ALL_EMULATED"), reason="it takes minutes: make test-emulated")
def test_regions_are_those_of_the_cpu(emulated):
    """Branches and loops on Tensors, and their gradients: as many graphs as on the CPU, and the same bits."""
    files = [ROOT / "tests" / "python" / f"test_{n}.py" for n in ("branches", "loops_in_gradients", "regions_on_tape")]
    r = run(emulated, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, PIJIT_TEST_DEVICE="GPU", PIJIT_STRICT="1",
            PIJIT_CUDA_SYNC="1")
    assert r.returncode == 0, r.stdout + r.stderr


@once
@pytest.mark.skipif(not os.environ.get("PIJIT_NVRTC_TOO"), reason="PIJIT_NVRTC_TOO names no libnvrtc")
def test_kernels_become_machine_code(emulated, tmp_path):
    """NVRTC takes every kernel that the programs have, for sm_80, sm_90 and sm_100."""
    r = run(emulated, HERE / "program.py", XDG_CACHE_HOME=str(tmp_path))
    assert r.returncode == 0, r.stdout + r.stderr


FAILS = """
import pijit as ms
from pijit import ops
ms.set_context(device_target="GPU")
x = ms.Tensor([[1.0, 2.0], [3.0, 4.0]])

@ms.jit
def f(x):
    y = ops.exp(x).sum(0)
    return ops.cumsum(y, 0)  # the second kernel

try:
    r = f(x)
    print("returned")
    r.asnumpy()
except RuntimeError as e:
    print(e)
"""


@once
def test_a_kernel_that_fails(emulated, tmp_path):
    file = tmp_path / "fails.py"
    file.write_text(FAILS)
    late = run(emulated, file, PIJIT_FAKE_FAILS="2")
    says = "returned\n[GPU] a kernel, or waiting for it, failed: CUDA_ERROR_700"
    assert late.stdout.startswith(says), late.stdout + late.stderr
    assert "cannot use the GPU any more. Run it again with PIJIT_CUDA_SYNC=1" in late.stdout
    at_once = run(emulated, file, PIJIT_FAKE_FAILS="2", PIJIT_CUDA_SYNC="1")
    assert at_once.stdout.startswith("[GPU] cumsum failed: CUDA_ERROR_700"), at_once.stdout + at_once.stderr
    assert "fails.py:10)" in at_once.stdout


@once
def test_the_kit_for_a_visit(emulated, tmp_path):
    """What tools/gpu/kit.sh packs fits beside the repository's files, and runs in a folder of its own."""
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if files.returncode or not shutil.which("xz"):
        pytest.skip("no git, or no xz")
    changed = tmp_path / "changed"  # whose files go along
    (changed / "tools/gpu").mkdir(parents=True)
    (changed / "tools/gpu/probe.py").write_text(PROBE)
    r = subprocess.run([ROOT / "tools/gpu/kit.sh", tmp_path, ROOT / "pijit", PLUGIN, sys.prefix, "tools/gpu/probe.py"],
                       capture_output=True, text=True, cwd=changed)
    assert r.returncode == 0, r.stderr
    kit, tree = tmp_path / "kit.tar.xz", [ROOT / name for name in files.stdout.splitlines()]
    assert kit.stat().st_size + sum(f.stat().st_size for f in tree if f.is_file()) < 62 << 20
    copy = tmp_path / "tree"
    for name in ("pijit", "tests/cuda", "tests/cpp/cuda", "tools/gpu"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    (copy / "build/gpu").mkdir(parents=True)
    shutil.copy(kit, copy / "build/gpu")
    env = {k: v for k, v in emulated.items() if k not in ("PYTHONPATH", "PIJIT_PLUGINS")}
    r = subprocess.run(["tools/gpu/visit.sh", "probe"], cwd=copy, capture_output=True, text=True,
                       env={**env, "PYTHON": sys.executable, "OUT": str(tmp_path / "out")})
    assert r.returncode == 0 and "12.0 GPU" in r.stdout, r.stdout + r.stderr
    assert "12.0 GPU" in (tmp_path / "out" / "probe.txt").read_text()


PROBE = """
import pijit as ms
assert ms.__file__.startswith(__import__("os").getcwd())
ms.set_context(device_target="GPU")
x = ms.Tensor([1.0, 2.0, 3.0])
print((x + x).sum(), x.device)
"""


IN_WHEELS = """
import sys, numpy as np, pijit as ms
from pijit import ops
x, w, z = (ms.Tensor(np.ones(s, t), device="GPU") for s, t in (((1, 2, 5, 5), np.float32), ((3, 2, 3, 3), np.float32),
                                                                ((4, 4), np.complex64)))
ops.conv2d(x, w).asnumpy(), ops.fft(z).asnumpy(), (w[0, 0] @ w[0, 1]).asnumpy()
assert ms._C.lacks_device_collectives("GPU") is None
with open("/proc/self/maps", encoding="utf-8") as maps:
    print(*sorted({line.split()[-1] for line in maps if sys.argv[1] in line}))
"""


@once
@pytest.mark.parametrize("layout", [
    {"libcublasLt.so.13": "cu13", "libcudnn.so.9": "cudnn", "libcufft.so.12": "cu13", "libnccl.so.2": "nccl"},
    {"libcublasLt.so.12": "cublas", "libcudnn.so.9": "cudnn", "libcufft.so.11": "cufft", "libnccl.so.2": "nccl"}])
def test_libraries_lie_in_nvidias_wheels(emulated, tmp_path, layout):
    """Of CUDA 13, and of 12. They are found in a folder of packages, where nothing else names them."""
    fakes, site, alone = pathlib.Path(emulated["LD_LIBRARY_PATH"]), tmp_path / "site-packages", tmp_path / "driver"
    alone.mkdir()
    shutil.copy(fakes / "libcuda.so.1", alone)
    wanted = []
    for name, part in layout.items():
        folder = site / "nvidia" / part / "lib"
        folder.mkdir(parents=True, exist_ok=True)
        stem = name.split(".")[0]
        shutil.copy(next(f for f in fakes.iterdir() if f.name.startswith(stem)), folder / name)
        wanted.append(str(folder / name))
    r = run(emulated, "-c", IN_WHEELS, str(site), LD_LIBRARY_PATH=str(alone), PYTHONPATH=f"{ROOT}:{site}")
    assert r.returncode == 0 and r.stdout.split() == sorted(wanted), r.stdout + r.stderr


@once
def test_a_compiler_lies_in_nvidias_wheels(emulated, tmp_path):
    """NVRTC, too; what is missing is named."""
    code = "import pijit as ms\nms.set_context(device_target='GPU')\nprint(open('/proc/self/maps').read())"
    folder, alone = tmp_path / "site-packages/nvidia/cu13/lib", tmp_path / "driver"
    folder.mkdir(parents=True), alone.mkdir()
    shutil.copy(pathlib.Path(emulated["LD_LIBRARY_PATH"]) / "libcuda.so.1", alone)
    env = {k: v for k, v in emulated.items() if k != "PIJIT_CUDA_COMPILER"}
    how = {"LD_LIBRARY_PATH": str(alone), "PYTHONPATH": f"{ROOT}:{tmp_path / 'site-packages'}"}
    stub = tmp_path / "nvrtc.c"
    stub.write_text("int nvrtcVersion(int* a, int* b) { *a = 13; *b = 0; return 0; }\n" + "".join(
        f"int nvrtc{name}(void) {{ return 1; }}\n" for name in (
            "CreateProgram", "CompileProgram", "GetCUBINSize", "GetCUBIN", "GetProgramLogSize", "GetProgramLog",
            "DestroyProgram")))
    library = folder / "libnvrtc.so.13"
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", library, stub], check=True)
    assert str(library) in run(env, "-c", code, **how).stdout


LONG = """
import numpy as np, pijit as ms
a = np.arange(3_000_000, dtype=np.float32)
x = ms.Tensor(a, device="GPU")
assert ((x + x).asnumpy() == a + a).all()
"""


@once
def test_long_transfers_without_page_locked_memory(emulated):
    r = run(emulated, "-c", LONG, PIJIT_FAKE_NO_LOCKED="1")
    assert r.returncode == 0, r.stdout + r.stderr


@once
def test_networks_of_the_benchmark(monkeypatch):
    """`make bench-cuda` runs where a GPU is; here its networks train on the CPU."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    bench = importlib.import_module("cuda")
    steps = []

    def twice(step, wait):
        steps.append([np.asarray(step()) for _ in range(2)])
        wait()
        return 1.0
    monkeypatch.setattr(bench, "best", twice)
    for benchmark in bench.networks(types.SimpleNamespace(torch=None, jax=None), small=True).values():
        benchmark("exact")
    assert len(steps) == 7 and all(np.isfinite(y).all() for pair in steps for y in pair)


def test_without_a_driver(emulated, tmp_path):
    env = {**emulated, "LD_LIBRARY_PATH": str(tmp_path)}
    program = "import pijit; pijit.set_context(device_target='GPU')"
    r = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert r.returncode == 1
    assert "RuntimeError" in r.stderr and "this pijit has CPU" in r.stderr, r.stderr
