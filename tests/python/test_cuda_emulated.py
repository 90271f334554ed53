"""The device GPU without a GPU: the plug-in with a driver whose GPU is the host. Kernels are the generated CUDA C,
taken for C++."""

import ast
import builtins
import importlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
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
def test_the_kit_for_a_visit(emulated, kit, tmp_path):
    """What tools/gpu/kit.sh packs fits beside the repository's files, and runs in a folder of its own."""
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if files.returncode:
        pytest.skip("no git")
    tree = [ROOT / name for name in files.stdout.splitlines()]
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


FAILING = """
import ctypes
import sys
import time

import numpy as np

import pijit as ms

unused = np.ones(3)
rng = np.random.default_rng(5)


def data(n):
    return ms.Tensor(rng.standard_normal(n), device="GPU")


def test_passes():
    assert (data(3) * 0).asnumpy().sum() == 0


def test_is_wrong():
    assert float((data(3) * 0).sum()) == 1, "it is 0"


def test_crashes():
    (data(3) + 1).asnumpy()
    ctypes.string_at(8)


def test_hangs():
    (data(3) + 1).asnumpy()
    time.sleep(1000)


for name, test in list(globals().items()):
    if name.startswith("test_") and (not sys.argv[1:] or name in sys.argv[1:]):
        test()
"""
FAILING_TESTS = """
import pytest
from tests.python.differential import check
import pijit as ms


@pytest.fixture
def one():
    return ms.Tensor([1.0])


@pytest.mark.parametrize("n", [2, 3])
def test_of_numbers(one, n):
    check(lambda: lambda x: x + 1, one)
    assert one.device == "GPU" and n < 3


def test_crashes(one):
    __import__("ctypes").string_at(8)


def test_after_the_crash(one):
    assert float(one) == 1


def test_hangs(one):
    __import__("time").sleep(1000)
"""
FINDS = """#!/bin/sh
while test "$1" != "$0" && case $1 in *python*) false;; esac; do shift; done
case $3 in test_passes) exec "$@";; test_crashes) "$@";; esac
echo "========= ERROR SUMMARY: 1 error"; exit 9
"""


@pytest.fixture(scope="module")
def kit(emulated, tmp_path_factory):
    """What tools/gpu/kit.sh packs, with another file instead of the probe's."""
    if not shutil.which("xz"):
        pytest.skip("no xz")
    folder = tmp_path_factory.mktemp("kit")
    changed = folder / "changed"  # whose files go along
    (changed / "tools/gpu").mkdir(parents=True)
    (changed / "tools/gpu/probe.py").write_text(PROBE)
    r = subprocess.run([ROOT / "tools/gpu/kit.sh", folder, ROOT / "pijit", PLUGIN, sys.prefix, "tools/gpu/probe.py"],
                       capture_output=True, text=True, cwd=changed, env={**os.environ, "LEVEL": "1"})
    assert r.returncode == 0, r.stderr
    return folder / "kit.tar.xz"


@pytest.fixture
def visit(emulated, kit, tmp_path):
    """A tree for tools/gpu/visit.sh whose tests fail in all ways: .run runs stages and unpacks what comes, .again runs
    a program that came."""
    tree = tmp_path / "tree"
    for name in ("pijit", "tools/gpu", "benchmarks"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("*.so", "__pycache__", "results"))
    (tree / "tests/python").mkdir(parents=True)
    for name in ("conftest", "runs", "differential", "__init__"):
        if (ROOT / f"tests/python/{name}.py").exists():
            shutil.copy(ROOT / f"tests/python/{name}.py", tree / "tests/python")
    (tree / "tests/cuda").mkdir()
    (tree / "tests/cuda/program.py").write_text(FAILING)
    (tree / "tests/python/test_ops.py").write_text(FAILING_TESTS)
    (tree / "build/gpu").mkdir(parents=True)
    shutil.copy(kit, tree / "build/gpu")
    env = {k: v for k, v in emulated.items() if k not in ("PYTHONPATH", "PIJIT_PLUGINS")}

    def run(*stages, **more):
        more = {"PYTHON": sys.executable, "OUT": str(tmp_path / "out"), "SHOW": "99999", **more}
        said = subprocess.run(["tools/gpu/visit.sh", *stages], cwd=tree, capture_output=True, text=True,
                              env={**env, **more})
        programs = {}
        if (tmp_path / "out/failures.tar").exists():
            with tarfile.open(tmp_path / "out/failures.tar") as tar:
                tar.extractall(tree / "build/gpu/again")
                programs = {name: tree / "build/gpu/again" / name for name in tar.getnames()}
        assert len(list((tmp_path / "out").iterdir())) <= 8
        return said.stdout + said.stderr, programs

    def again(program, seconds=100):
        r = subprocess.run([sys.executable, program], cwd=tmp_path, capture_output=True, text=True, timeout=seconds,
                           env={**emulated, "PYTHONPATH": str(ROOT)})
        return r.returncode, r.stdout + r.stderr
    return types.SimpleNamespace(run=run, again=again, tree=tree)


@once
@pytest.mark.skipif(not os.environ.get("PIJIT_ALL_EMULATED"), reason="it takes minutes: make test-emulated")
@pytest.mark.parametrize("by", ["a process", "workers"])
def test_what_fails_comes_as_a_program(visit, by):
    """A test that is wrong, one that dies by a signal and one that does not end: each is a file that does the same, and
    says by which command and environment it was found. Other tests go on."""
    if by == "workers":
        pytest.importorskip("xdist")
        (visit.tree / "tests/cuda/program.py").write_text("def test_nothing():\n    pass\n\n\ntest_nothing()\n")
        says, programs = visit.run("tests=90")
    else:
        tests = visit.tree / "tools/gpu/tests.py"
        tests.write_text(tests.read_text().replace('importlib.util.find_spec("xdist")', "False"))
        says, programs = visit.run("tests=130", EACH="30", PYTEST_ADDOPTS="-p no:xdist")
        assert "program.py: 1 of 4 pass" in says, says
        status, text = visit.again(programs["tests/test_is_wrong.py"])
        assert status == 1 and "AssertionError: it is 0" in text, text
        wrong = programs["tests/test_is_wrong.py"].read_text()
        assert "# tests: test_is_wrong: status 1\n" in wrong and "tests/cuda/program.py test_is_wrong\n" in wrong
        assert "AssertionError: it is 0" in wrong and "LD_LIBRARY_PATH=" in wrong and "unused" not in wrong
        assert visit.again(programs["tests/test_crashes.py"])[0] == -signal.SIGSEGV
        assert "# tests: test_crashes: SIGSEGV\n" in programs["tests/test_crashes.py"].read_text()
        assert "# tests: test_hangs: no end within 30 s\n" in programs["tests/test_hangs.py"].read_text()
        assert "in test_hangs" in programs["tests/test_hangs.py"].read_text()  # where it was
        with pytest.raises(subprocess.TimeoutExpired):
            visit.again(programs["tests/test_hangs.py"], 20)
    of_pytest = {name for name in programs if name.startswith("tests/test_ops-")}
    assert of_pytest == {f"tests/test_ops-test_{n}.py" for n in ("of_numbers-3", "crashes", "hangs")}, says
    status, text = visit.again(programs["tests/test_ops-test_of_numbers-3.py"])
    assert status == 1 and "GPU and 3 < 3" in text and "1 failed" in text, text
    assert "PIJIT_TEST_DEVICE=GPU" in programs["tests/test_ops-test_of_numbers-3.py"].read_text()
    assert visit.again(programs["tests/test_ops-test_crashes.py"])[0] == -signal.SIGSEGV
    assert "no end within" in programs["tests/test_ops-test_hangs.py"].read_text()


@once
def test_a_stage_that_crashes_leaves_the_next_alone(visit, tmp_path):
    """What compute-sanitizer finds, a stage that is killed, and a benchmark that is."""
    tool = tmp_path / "bin/compute-sanitizer"
    tool.parent.mkdir()
    tool.write_text(FINDS)
    tool.chmod(0o755)
    networks = (visit.tree / "benchmarks/cuda.py").read_text()
    (visit.tree / "benchmarks/cuda.py").write_text(networks.replace(
        '"small mlp": lambda how:', '"small mlp": lambda how: os.kill(os.getpid(), 11) or'))
    says, programs = visit.run("probe", "sanitizer=300", "profile=300", "alone=300", PROFILE="small mlp",
                               ALONE="small mlp:tf32,small mlp:exact", PROBE_DIES="1",
                               PATH=f"{tool.parent}:{os.environ['PATH']}")
    for stage, status in (("probe", 139), ("sanitizer", 0), ("profile", 0), ("alone", 0)):
        assert f"== {stage}: status {status}," in says, says
    assert "kill" in programs["profile/small-mlp.py"].read_text()
    assert "# probe: stage: SIGSEGV\n" in programs["probe/stage.sh"].read_text()
    for kind in ("memcheck", "racecheck", "synccheck", "initcheck"):
        head = programs[f"sanitizer/{kind}-test_is_wrong.py"].read_text()
        assert f"--tool {kind}" in head and "status 9" in head and "ERROR SUMMARY: 1 error" in head
        assert f"sanitizer/{kind}-test_passes.py" not in programs
    for name in ("profile/small-mlp.py", "alone/small-mlp-tf32.py", "alone/small-mlp-exact.py"):
        assert visit.again(programs[name])[0] == -signal.SIGSEGV


HANGS = """
import subprocess
import sys
import time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
print("here", flush=True)


def waits():
    time.sleep(1000)


waits()
"""


def test_what_does_not_end_is_kept_too(monkeypatch, tmp_path):
    """It says where it was, and what it started ends with it; so is what dies by a signal."""
    monkeypatch.syspath_prepend(ROOT / "tools/gpu")
    failures = importlib.import_module("failures")
    for name, text, seconds in (("hangs", HANGS, 8), ("dies", "import ctypes\nctypes.string_at(8)\n", 60)):
        (tmp_path / f"{name}.py").write_text(text)
        command = [sys.executable, tmp_path / f"{name}.py"]
        env = {**os.environ, "PYTHONFAULTHANDLER": "1", "PIJIT_MEASURE": "0"}
        status, said, _ = failures.call(command, seconds, env=env)
        failures.keep(tmp_path, "tests", name, text, command, status, said + "x" * 10**6, env)
        failures.keep(tmp_path, "tests", name, None, command, status, said, env)
    with tarfile.open(tmp_path / "failures.tar") as tar:
        tar.extractall(tmp_path / "again")
        assert tar.getnames() == ["tests/hangs.py", "tests/hangs.sh", "tests/dies.py", "tests/dies.sh"]
    hangs, dies = ((tmp_path / f"again/tests/{name}.py").read_text() for name in ("hangs", "dies"))
    assert "# tests: hangs: no end within 8 s\n" in hangs and "#   here\n" in hangs and "in waits" in hangs
    assert "# tests: dies: SIGSEGV\n" in dies and "string_at" in dies and "PIJIT_MEASURE=0" in dies
    assert len(dies) < 5000
    assert subprocess.run([sys.executable, tmp_path / "again/tests/dies.py"]).returncode == -signal.SIGSEGV
    assert subprocess.run(["sh", tmp_path / "again/tests/dies.sh"]).returncode == -signal.SIGSEGV


def test_programs_of_failed_tests_are_whole(monkeypatch):
    """They have all names that they use: of the first and the last test of each file that runs on a GPU."""
    monkeypatch.syspath_prepend(ROOT / "tools/gpu")
    failures = importlib.import_module("failures")
    files = re.search(r'FILES = """(.*?)"""', (ROOT / "tools/gpu/tests.py").read_text(), re.S)[1].split()
    for path in [HERE / "program.py", *(ROOT / f"tests/python/test_{name}.py" for name in files)]:
        tests = [n for n in re.findall(r"^(?:def|class) ([tT]est_?\w+)", path.read_text(), re.M)]
        for name in {tests[0], tests[-1]}:
            parts = [failures._Statement(n, path)
                     for n in ast.parse(failures.part(path, [name], path.parent == HERE)).body]
            had = {*dir(builtins), "__file__", "__name__"}.union(*(s.binds for s in parts))
            assert set().union(*(s.uses for s in parts)) <= had, (path.name, name)


PROBE = """
import os
import pijit as ms
if "PROBE_DIES" in os.environ:
    os.kill(os.getpid(), 11)
assert ms.__file__.startswith(os.getcwd())
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
