"""Several processes by mpirun: collectives, training in data parallel, failures."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

import pijit as ms
from pijit.communication import _comm_helper

ROOT = pathlib.Path(__file__).parents[2]
PLUGIN = pathlib.Path(ms.__file__).parent / "libpijit_mpi.so"
pytestmark = pytest.mark.serial


@pytest.fixture(autouse=True)
def needs_mpi(request):
    if "module" in request.fixturenames:  # of other packages
        return
    if shutil.which("mpirun") is None:
        pytest.skip("there is no mpirun")
    if not PLUGIN.exists():
        pytest.skip("pijit was built without MPI")


def start(processes, *command, seconds=120, **variables):
    """(exit status, all output, seconds that it took)."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PIJIT_STRICT": "1",
           "OMPI_MCA_btl_vader_single_copy_mechanism": "none", **variables}
    begin = time.monotonic()
    r = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(processes), *command], env=env,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds, cwd=ROOT)
    return r.returncode, r.stdout, time.monotonic() - begin


def run(name, *arguments, processes=2, **variables):
    return start(processes, sys.executable, "-m", "tests.python.distributed_programs", name, *map(str, arguments),
                 **variables)


def numbers(name, *arguments, processes):
    status, out, _ = run(name, *arguments, processes=processes)
    assert status == 0, out
    return {key: np.array(line.split(), float) for key, line in re.findall(r"^(losses|state) (.*)$", out, re.M)}


@pytest.mark.parametrize("processes", [2, 4])
@pytest.mark.parametrize("name", ["collectives", "functions", "filling", "groups", "captured",
                                  "gradients_of_products", "other_order",
                                  "parts_of_other_sizes", "gathered_and_scattered", "edges_of_neighbours"])
def test_operations(name, processes):
    status, out, _ = run(name, processes=processes)
    assert status == 0 and "done" in out, out


@pytest.mark.parametrize("name", ["disagreements", "threads", "graph_that_fails", "again", "unread", "early",
                                  "interrupted"])
def test_two_processes(name):
    status, out, _ = run(name)
    assert status == 0 and "done" in out, out


@pytest.mark.parametrize("processes", [2, 4])
def test_store(processes):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    status, out, _ = run("store", port, processes=processes)
    assert status == 0 and "done" in out, out


def test_a_store_that_nobody_serves_or_comes_to():
    from pijit.mint.distributed import TCPStore
    with pytest.raises(RuntimeError, match="nobody serves the store at 127.0.0.1:1 within 0.2 s"):
        TCPStore("127.0.0.1", 1, timeout=0.2)
    with pytest.raises(RuntimeError, match="0 of 1 other processes have come within 0.2 s"):
        TCPStore("127.0.0.1", 0, 2, True, timeout=0.2)
    master = TCPStore("127.0.0.1", 0, is_master=True, timeout=0.2)
    other = TCPStore("127.0.0.1", master.port, timeout=0.2)
    for s in (master, other):
        with pytest.raises(RuntimeError, match="nobody has set the key 'none' within 0.2 s"):
            s.get("none")
        with pytest.raises(TypeError, match="value"):
            s.set("k", 1)
    with pytest.raises(ValueError, match="host_name"):
        TCPStore(world_size=2)


@pytest.mark.parametrize("mode,optimizer", [("graph", "momentum"), ("graph", "adam"), ("eager", "momentum")])
def test_losses_are_those_of_one_process_with_the_whole_batch(mode, optimizer):
    one = numbers("training", mode, optimizer, processes=1)
    for processes in (2, 4):
        several = numbers("training", mode, optimizer, processes=processes)
        np.testing.assert_allclose(several["losses"][:6], one["losses"][:6], rtol=0, atol=1e-5)
        np.testing.assert_allclose(several["losses"][6:], one["losses"][6:], rtol=1e-5)


@pytest.mark.parametrize("mode,optimizer", [("graph", "adamw"), ("eager", "lamb"), ("graph", "momentum")])
def test_states_of_optimizers_are_divided(mode, optimizer):
    one = numbers("training", mode, optimizer, processes=1)
    several = numbers("training", mode, optimizer, "sharded", processes=2)
    np.testing.assert_allclose(several["losses"], one["losses"], rtol=1e-5, atol=1e-5)
    assert several["state"] < 0.8 * one["state"]


def test_a_step_of_the_programs_own():
    one = numbers("functional", processes=1)["losses"]
    np.testing.assert_allclose(numbers("functional", processes=2)["losses"], one, rtol=0, atol=1e-6)


def test_rank_0_writes_checkpoints(tmp_path):
    numbers("training", "graph", "momentum", "", tmp_path / "whole", processes=2)
    assert [p.name for p in (tmp_path / "whole").iterdir()] == ["net-1_6.ckpt"]
    numbers("training", "graph", "momentum", "sharded", tmp_path / "parts", processes=2)
    found = sorted(str(p.relative_to(tmp_path / "parts")) for p in (tmp_path / "parts").rglob("*.ckpt"))
    assert found == ["rank_0/net-1_6.ckpt", "rank_1/net-1_6.ckpt"]


def test_rows_of_datasets_are_divided(tmp_path):
    status, out, _ = run("shards", tmp_path)
    assert status == 0, out


@pytest.mark.parametrize("name,text", [
    ("raising", r"rank 1 of 2 \(process \d+ on .*\) ended with ValueError: no such file: the other ranks are ended"),
    ("killed", r"process rank 1 with PID .* exited on signal 9"),
    ("leaving", r"rank 1 of 2 has ended, so that it will not take part")])
def test_a_rank_that_dies_ends_the_others(name, text):
    status, out, seconds = run(name)
    assert status != 0 and re.search(text, out), out
    assert seconds < 10


@pytest.mark.parametrize("name,text", [
    ("late", r"no result within 2 s in group 'world': rank 1 of 2 has not come to it"),
    ("stopped", r"no result within 2 s in group 'world': rank 1 of 2 does not answer"),
    ("no_group", r"no result within 2 s in group 'pair': rank 1 of 2 has not come to it")])
def test_a_timeout_names_who_is_missing(name, text):
    status, out, seconds = run(name, PIJIT_COMM_TIMEOUT="2")
    assert status != 0 and re.search(text, out), out
    assert seconds < 12


def test_who_comes_after_a_timeout_is_told_so():
    status, out, _ = run("later", PIJIT_COMM_TIMEOUT="2")
    assert status == 3 and "told" in out, out


def test_without_a_launcher_there_is_one_process():
    program = "import pijit as ms; c = ms.communication; c.init(); print(c.get_rank(), c.get_group_size())"
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMI"))}
    r = subprocess.run([sys.executable, "-c", program], env={**env, "PYTHONPATH": str(ROOT)}, capture_output=True,
                       text=True, timeout=60)
    assert r.stdout == "0 1\n", r.stderr
    r = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
                       env={**env, "PYTHONPATH": str(ROOT), "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "4"})
    assert "SLURM_STEP_NUM_TASKS=4 asks for 4 processes" in r.stderr


@pytest.mark.parametrize("variables,asks,by_mpi", [
    # srun -n 4 with one of its PMI plug-ins, by which MPI's library finds the other tasks
    ({"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "4", "PMIX_RANK": "2"}, ("SLURM_STEP_NUM_TASKS", "4"), True),
    ({"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "4", "PMI_RANK": "2", "PMI_SIZE": "4"}, ("PMI_SIZE", "4"), True),
    # without: four programs, each of them alone
    ({"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "4"}, ("SLURM_STEP_NUM_TASKS", "4"), False),
    # srun -n 1, a batch script on nodes for four tasks, salloc's shell
    ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1", "PMIX_RANK": "0"}, None, False),
    ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_JOB_ID": "7"}, None, False),
    ({"SLURM_NTASKS": "4", "SLURM_STEP_NUM_TASKS": "4"}, None, False),
    # mpirun in a batch script
    ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "OMPI_COMM_WORLD_SIZE": "4"}, ("OMPI_COMM_WORLD_SIZE", "4"), True)])
def test_variables_of_slurm(variables, asks, by_mpi, monkeypatch):
    for name in list(os.environ):
        if name.startswith(("OMPI_", "PMI", "SLURM_", "RANK_SIZE", "MS_WORKER_NUM", "WORLD_SIZE")):
            monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert _comm_helper.launched() == asks
    assert _comm_helper.launched_by_mpi() is by_mpi


def test_mpirun_in_a_batch_script_of_slurm():
    """Each process has the script's variables, which say that it is task 0."""
    program = ("import pijit as ms; c = ms.communication; c.init(); "
               "import os; text = f'rank {c.get_rank()} of {c.get_group_size()} here {c.get_local_rank()}\\n'; "
               "os.write(1, text.encode())")  # at once, as the processes share a pipe
    status, out, _ = start(2, "env", "SLURM_PROCID=0", "SLURM_LOCALID=0", "SLURM_NTASKS=2", sys.executable, "-c",
                           program)
    assert status == 0, out
    assert sorted(re.findall("rank . of . here .", out)) == ["rank 0 of 2 here 0", "rank 1 of 2 here 1"], out


def test_a_job_of_slurm():
    """The example's script, as sbatch would start it."""
    folder = ROOT / "examples" / "distributed"
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
           "SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_CPUS_PER_TASK": "1",
           "MPIRUN_OPTIONS": "--allow-run-as-root --oversubscribe"}
    r = subprocess.run(["bash", str(folder / "slurm.sh"), str(folder / "collectives.py")], capture_output=True,
                       text=True, env=env, timeout=120)
    assert r.returncode == 0 and "1 sum [1. 2.]" in r.stdout, r.stdout + r.stderr


FAILS = """
import os, sys, tempfile
import pytest
from pijit import communication
from pijit.communication import management
from pijit._C import Tensor
from pijit.ops import AllReduce
c, library = communication, management._LIBRARY
os.environ["PIJIT_COMM_TIMEOUT"] = "-1"
with pytest.raises(ValueError, match="PIJIT_COMM_TIMEOUT"):
    c.init()
del os.environ["PIJIT_COMM_TIMEOUT"]
with tempfile.NamedTemporaryFile(suffix=".so") as other:
    management._LIBRARY = other.name
    with pytest.raises(RuntimeError, match="cannot be loaded"):
        c.init()
management._LIBRARY = sys.argv[1]
with pytest.raises(RuntimeError, match="belongs to another build"):
    c.init()
with pytest.raises(RuntimeError, match="init"):
    AllReduce()(Tensor([1.0])) if c.GlobalComm.INITED else c.create_group("some", [0])
assert c.get_group_size() == 1 and not c.GlobalComm.INITED
management._LIBRARY = library
c.init()
assert float(AllReduce()(Tensor(1.0))) == 2
c.release()
c.init()
assert float(AllReduce()(Tensor(1.0))) == 2
"""


def test_init_that_fails_can_be_called_again(tmp_path):
    (tmp_path / "other.c").write_text("const char* pijit_transport_version(void) { return \"0\"; }\n")
    library = tmp_path / "other.so"
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", library, tmp_path / "other.c"], check=True)
    status, out, _ = start(2, sys.executable, "-c", FAILS, str(library))
    assert status == 0, out


HALF_WAY = """
import sys
import pytest
from pijit import Tensor, communication as c, ops
from pijit.communication import management
management._LIBRARY = sys.argv[1]
with pytest.raises(RuntimeError, match="the network is down"):
    c.init()
assert c.get_group_size() == 1 and not c.GlobalComm.INITED
with pytest.raises(RuntimeError, match="init"):
    c.create_group("some", [0])
for _ in range(2):
    c.init()
    assert (c.get_rank(), c.get_group_size()) == (0, 2)
    assert float(ops.AllReduce()(Tensor(3.0))) == 3
    c.release()
assert c.get_group_size() == 1
"""


def test_init_that_fails_half_way_leaves_nothing(tmp_path):
    """With a transport of its own, which ends with an error where a group is left."""
    compiler, library = shutil.which(os.environ.get("CXX", "c++")), tmp_path / "transport.so"
    if compiler is None:
        pytest.skip("there is no compiler")
    subprocess.run([compiler, "-std=c++20", "-march=x86-64-v3", "-shared", "-fPIC", "-fvisibility=hidden",
                    f"-I{ROOT / 'csrc'}", "-o", library, ROOT / "tests/python/failing_transport.cc"], check=True)
    r = subprocess.run([sys.executable, "-c", HALF_WAY, library], capture_output=True, text=True, timeout=60,
                       env={**os.environ, "PYTHONPATH": str(ROOT), "OMPI_COMM_WORLD_SIZE": "2"})
    assert r.returncode == 0, r.stderr


def test_init_by_the_launcher_of_another_mpi():
    """Each process would be alone: an error, each time."""
    program = ("import pytest; from pijit import communication as c\n"
               "for _ in range(2):\n    with pytest.raises(RuntimeError, match='MPI finds one'):\n        c.init()\n"
               "assert not c.GlobalComm.INITED")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMI"))}
    r = subprocess.run([sys.executable, "-c", program], env={**env, "PYTHONPATH": str(ROOT), "PMI_SIZE": "3"},
                       capture_output=True, text=True, timeout=60)
    assert r.returncode == 0, r.stderr


def msrun(*arguments):
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, "-m", "pijit.msrun", *map(str, arguments)], env=env, capture_output=True,
                          text=True, timeout=100)


def test_msrun(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import sys\nfrom pijit import communication as c\nc.init()\n"
                      "print('rank', c.get_rank(), 'of', c.get_group_size(), *sys.argv[1:])\n")
    r = msrun("--worker_num", 2, "--log_dir", tmp_path / "logs", script, "--lr", "0.1")
    assert r.returncode == 0, r.stdout + r.stderr
    for rank in range(2):
        assert (tmp_path / "logs" / f"worker_{rank}.log").read_text() == f"rank {rank} of 2 --lr 0.1\n"
    script.write_text("import os\nfrom pijit import communication as c\nc.init()\n"
                      "numbers = [os.environ[k] for k in ('RANK_ID', 'RANK_SIZE', 'DEVICE_ID')]\n"
                      "os.write(1, f'{c.get_rank()} {numbers}\\n'.encode())\n")
    r = msrun("--worker_num=2", "--local_worker_num=2", "--master_addr=127.0.0.1", "--master_port=8118",
              "--node_rank=0", "--join=True", "--cluster_time_out=300", script)
    assert sorted(r.stdout.split("\n"))[1:] == [f"{k} ['{k}', '2', '{k}']" for k in range(2)], r.stdout + r.stderr
    script.write_text("raise SystemExit(3)")
    assert msrun("--worker_num", 2, script).returncode == 3
    for wrong in (["--worker_num", "-1"], ["--master_addr", "10.0.0.1"], ["--mpirun", "no_mpirun"],
                  ["--node_rank", "1"], ["--worker_num", "4", "--local_worker_num", "2"]):
        assert msrun(*wrong, script).returncode == 2


def test_mpi4py_beside():
    pytest.importorskip("mpi4py")
    program = ("from mpi4py import MPI; import pijit as ms; c = ms.communication; c.init(); "
               "x = ms.ops.AllReduce()(ms.Tensor([1.0])); assert MPI.COMM_WORLD.allreduce(1) == 2 == float(x)")
    status, out, _ = start(2, sys.executable, "-c", program)
    assert status == 0, out


def test_examples():
    for path in sorted((ROOT / "examples" / "distributed").glob("*.py")):
        status, out, _ = start(2, sys.executable, str(path))
        assert status == 0, out


@pytest.mark.parametrize("module", ["dask.distributed", "ray"])
def test_jitted_functions_run_in_workers_of(module):
    pytest.importorskip(module)
    script = ROOT / "examples" / "distributed" / "workers" / f"with_{module.split('.')[0]}.py"
    r = subprocess.run([sys.executable, str(script)], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True,
                       text=True, timeout=200)
    assert r.returncode == 0 and "6 parts" in r.stdout, r.stdout + r.stderr
