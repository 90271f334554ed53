"""Collectives of what lies on the GPU, by a stand-in of NCCL, on the device whose GPU is the host (tests/cuda)."""

import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from tests.cuda.stand_ins import COMPILER, PLUGIN, ROOT, build
from tests.python.test_distributed import numbers
from tests.python.test_distributed import PLUGIN as MPI
from tests.python.test_distributed import start as start_by_mpi

pytestmark = [pytest.mark.serial,
              pytest.mark.skipif(any(os.environ.get(k) for k in ("PIJIT_BACKEND", "PIJIT_ISA", "PIJIT_TEST_AS")),
                                 reason="once is enough: kernels are not the CPU's")]


@pytest.fixture(scope="module")
def emulated(tmp_path_factory):
    if not PLUGIN.exists() or not shutil.which(COMPILER):
        pytest.skip("the plug-in is not built here, or there is no compiler")
    if not MPI.exists() or not shutil.which("mpirun"):
        pytest.skip("pijit was built without MPI, or there is no mpirun")
    return {**build(tmp_path_factory.mktemp("nccl")), "PIJIT_TEST_DEVICE": "GPU", "CUDA_HOME": str(ROOT)}


def run(emulated, name, *arguments, processes=2, **variables):
    return start_by_mpi(processes, sys.executable, "-m", "tests.python.distributed_programs", name,
                        *map(str, arguments), **{**emulated, **variables})


@pytest.mark.parametrize("processes", [2, 4])
@pytest.mark.parametrize("name", ["moved_by_nccl", "messages_by_nccl", "collectives"])
def test_operations(emulated, name, processes):
    status, out, _ = run(emulated, name, processes=processes)
    assert status == 0 and "done" in out, out


@pytest.mark.parametrize("name", ["functions", "filling", "captured", "groups", "disagreements", "again",
                                  "parts_of_other_sizes", "gathered_and_scattered", "edges_of_neighbours", "threads",
                                  "gradients_of_products"])
def test_two_processes(emulated, name):
    status, out, _ = run(emulated, name)
    assert status == 0 and "done" in out, out


@pytest.mark.parametrize("streams", ["early", "late"])
@pytest.mark.parametrize("name", ["moved_by_nccl", "messages_by_nccl"])
def test_its_stream_waits_for_the_devices_and_the_devices_for_it(emulated, name, streams):
    status, out, _ = run(emulated, name, PIJIT_FAKE_STREAMS=streams)
    assert status == 0 and "done" in out, out


@pytest.mark.parametrize("mode,optimizer", [("graph", "momentum"), ("eager", "momentum")])
def test_losses_are_those_of_one_process_with_the_whole_batch(emulated, mode, optimizer):
    one = numbers("training", mode, optimizer, processes=1)
    for processes in (2, 4):
        status, out, _ = run(emulated, "training", mode, optimizer, processes=processes)
        assert status == 0, out
        several = np.array(re.search(r"^losses (.*)$", out, re.M)[1].split(), float)
        np.testing.assert_allclose(several[:6], one["losses"][:6], rtol=0, atol=1e-5)
        np.testing.assert_allclose(several[6:], one["losses"][6:], rtol=1e-5)


@pytest.mark.parametrize("name,how,text", [
    ("second_fails", "fails",
     r"rank 0 .*NCCL: what was started failed: remote process exited or there was a network error"),
    ("second_fails", "hangs",
     r"no result of all_reduce within 2 s in group 'world': all ranks have come to it, but it does not end"),
    ("second_fails", "dies", r"process rank 1 with PID .* exited on signal 9"),
    ("second_message_fails", "fails",
     r"rank \d: .*NCCL: what was started failed: remote process exited or there was a network error"),
    ("second_message_fails", "hangs", r"no result of (send_to|receive_from) within 2 s in group 'rank \d to rank \d'"),
    ("second_message_fails", "dies", r"process rank \d with PID .* exited on signal 9")])
def test_a_rank_that_fails_ends_the_others(emulated, name, how, text):
    status, out, seconds = run(emulated, name, PIJIT_FAKE_NCCL=how,
                               PIJIT_COMM_TIMEOUT="2" if how == "hangs" else "600")
    assert status != 0 and re.search(text, out), out
    assert seconds < 20


@pytest.mark.parametrize("name", ["raising", "killed", "leaving"])
def test_a_rank_that_dies_ends_the_others(emulated, name):
    status, out, seconds = run(emulated, name)
    assert status != 0 and re.search(r"rank 1", out), out
    assert seconds < 10


def test_without_a_communicator(emulated):
    status, out, _ = run(emulated, "moved_by_nccl", PIJIT_FAKE_NCCL="refuses")
    assert status != 0 and "[GPU] NCCL: making a communicator failed: an error" in out, out


WITHOUT = """
import warnings, pijit as ms
ms.set_context(device_target="GPU")
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    ms.communication.init()
assert any("libnccl has no ncclGetVersion: version 2.18 or later is needed" in str(w.message) for w in seen), seen
assert ms.communication.GlobalComm.BACKEND == "nccl"
assert float(ms.ops.AllReduce()(ms.Tensor(2.0))) == 4
"""


def test_with_another_library(emulated, tmp_path):
    """They go by MPI, and init says why."""
    shutil.copy(os.path.join(emulated["LD_LIBRARY_PATH"], "libcuda.so.1"), tmp_path)
    (tmp_path / "none.c").write_text("int none;\n")
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", tmp_path / "libnccl.so.2",
                    tmp_path / "none.c"], check=True)
    status, out, _ = start_by_mpi(2, sys.executable, "-c", WITHOUT, **{**emulated, "LD_LIBRARY_PATH": str(tmp_path)})
    assert status == 0, out


REAL = """
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
version, id = ctypes.c_int(), ctypes.create_string_buffer(128)
assert lib.ncclGetVersion(ctypes.byref(version)) == 0 and version.value >= 21800
assert lib.ncclGetUniqueId(id) == 0
for name in sys.argv[2:]:
    assert getattr(lib, name)
"""


@pytest.mark.skipif(not os.environ.get("PIJIT_NCCL_TOO"), reason="PIJIT_NCCL_TOO names no libnccl")
def test_functions_of_nccl():
    """NCCL itself exports what nccl.cc asks for; it needs no GPU for that."""
    names = re.findall(r'"(nccl[A-Z]\w+)"', (ROOT / "csrc/cuda/nccl.cc").read_text())
    r = subprocess.run([sys.executable, "-c", REAL, os.environ["PIJIT_NCCL_TOO"], *names], capture_output=True,
                       text=True)
    assert len(names) > 15 and r.returncode == 0, r.stderr
