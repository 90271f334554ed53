"""Several processes on several machines (network_hosts.py): the same programs, and a machine that goes away."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest

import pijit as ms
from tests.python.network_hosts import ROOT, Hosts

pytestmark = pytest.mark.serial
PROGRAMS = (sys.executable, "-m", "tests.python.distributed_programs")


@pytest.fixture
def hosts(request, tmp_path):
    if not (pathlib.Path(ms.__file__).parent / "libpijit_mpi.so").exists():
        pytest.skip("pijit was built without MPI")
    for command in ("mpirun", "ip", "unshare"):
        if shutil.which(command) is None:
            pytest.skip(f"there is no {command}")
    made = Hosts(tmp_path, getattr(request, "param", 2))
    try:
        try:
            made.make()
        except subprocess.CalledProcessError as e:
            pytest.skip(f"network namespaces cannot be made here: {e.stderr.strip()}")
        yield made
    finally:
        made.drop()


@pytest.mark.parametrize("hosts,name", [(2, "collectives"), (4, "functions"), (2, "captured")], indirect=["hosts"])
def test_operations(hosts, name):
    out, _ = hosts.start(*PROGRAMS, name).communicate(timeout=100)
    assert "done" in out, out


@pytest.mark.parametrize("hosts", [4], indirect=True)
def test_each_host_has_one_process(hosts):
    p = hosts.start(*PROGRAMS, "on_hosts", "0")
    out, _ = p.communicate(timeout=60)
    assert p.returncode == 0, out
    assert sorted(re.findall(r"host (\d) (\w+) (\d)", out)) == [(str(k), f"h{k}", "0") for k in range(4)], out


def losses(out):
    return [float(x) for x in re.search(r"^losses (.*)$", out, re.M)[1].split()]


def test_losses_are_those_of_one_process(hosts):
    several = hosts.start(*PROGRAMS, "training", "graph", "momentum")
    out, _ = several.communicate(timeout=100)
    assert several.returncode == 0, out
    one = subprocess.run([*PROGRAMS, "training", "graph", "momentum"],
                         env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=ROOT, capture_output=True, text=True,
                         check=True, timeout=100)
    assert losses(out) == pytest.approx(losses(one.stdout), rel=1e-5, abs=1e-5)


def unplugged(hosts, *options, **variables):
    """What the processes print when h1's link goes down while they run, and after how many seconds they end."""
    p = hosts.start(*PROGRAMS, "on_hosts", "60", options=options, **variables)
    lines = []
    while sum(line.startswith("host") for line in lines) < 2:
        lines.append(p.stdout.readline())
        assert lines[-1], "".join(lines)
    time.sleep(0.5)
    hosts.inside("h1", "ip", "link", "set", "port", "down")
    begin = time.monotonic()
    return p, begin


def test_mpirun_names_a_host_that_goes_away(hosts):
    keepalive = [x for name, n in (("time", 2), ("intvl", 1), ("probes", 3))
                 for x in ("--mca", f"oob_tcp_keepalive_{name}", n)]
    p, begin = unplugged(hosts, *keepalive)
    out, _ = p.communicate(timeout=60)
    assert p.returncode != 0 and re.search(r"lost communication with a remote daemon.*on node h1", out, re.S), out
    assert time.monotonic() - begin < 20


def test_ranks_name_a_host_that_goes_away(hosts):
    p, begin = unplugged(hosts, PIJIT_COMM_TIMEOUT="3")
    out = ""
    while "does not answer" not in out:
        line = p.stdout.readline()
        assert line, out
        out += line
    assert re.search(r"no result within 3 s in group 'world': rank 1 of 2 \(on h1\) does not answer", out), out
    assert time.monotonic() - begin < 20
    p.kill()
