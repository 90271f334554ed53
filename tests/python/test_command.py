"""The command `pijit` and what its doctor says."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import pijit
from pijit.doctor import doctor
from tools import tag

ROOT = pathlib.Path(__file__).resolve().parents[2]


def command(*args, **variables):
    env = {k: v for k, v in os.environ.items() if not k.startswith("PIJIT_")}
    env.update({"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **variables})
    return subprocess.run([sys.executable, str(ROOT / "_pijit_command.py"), *args], env=env, capture_output=True,
                          text=True)


def test_help_and_version():
    assert command("--help").stdout.startswith("usage: pijit COMMAND") and command().returncode == 0
    assert command("--version").stdout.startswith("pijit 0.")
    assert "--as mindspore" in command("run", "--help").stdout
    assert command("doctor", "--help").stdout.startswith("usage: pijit doctor")


@pytest.mark.parametrize("args", [("walk",), ("completion",), ("completion", "csh"), ("doctor", "--jsno"), ("run",)])
def test_mistakes(args):
    r = command(*args)
    assert r.returncode == 2 and "error" in r.stderr and not r.stdout


def test_it_runs_a_program(tmp_path):
    script = tmp_path / "program.py"
    script.write_text("import sys\nfrom pijit import ops\nprint(sys.argv[1:], float(ops.ones(3).sum()))\nsys.exit(3)\n")
    r = command("run", str(script), "--report", "x")
    assert (r.stdout, r.returncode) == ("['--report', 'x'] 3.0\n", 3)


def test_the_doctor_finds_nothing_wrong():
    r = command("doctor", "--json")
    found = json.loads(r.stdout)
    assert r.returncode == 0 and not found["problems"], found["problems"]
    assert found["capture"]["works"] and found["capture"]["graphs"] == 1
    assert found["python"]["version"] == sys.version.split()[0] and found["threads"]["of a kernel"] == 1
    assert any("gomp" in path for path in found["openmp"])
    text = command("doctor").stdout
    assert text.startswith("pijit\n  version: ") and text.endswith("no problem found\n")


@pytest.mark.parametrize("variables, told", [
    ({"PIJIT_REPROT": "1"}, "PIJIT_REPROT is no variable of pijit's"), ({"PIJIT_LOGS": "x"}, "is PIJIT_LOG meant?"),
    ({"OMP_NUM_THREADS": "4096"}, "Kernels start 4096 threads"), ({"PIJIT_BACKEND": "reference"}, "reference kernels")])
def test_the_doctor_names_what_is_wrong(variables, told):
    r = command("doctor", **{**variables})
    assert r.returncode == 1 and told in r.stdout, r.stdout


def test_a_module_that_is_not_there():
    r = command("doctor", "--with", "no_such_module")
    assert r.returncode == 1 and "no_such_module" in r.stderr


def test_a_second_runtime_of_openmp_is_a_problem(tmp_path):
    """A library of that name, whatever it does."""
    compiler = shutil.which("cc") or pytest.skip("no compiler")
    made = tmp_path / "libomp.so.5"
    subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-o", made, "-"], input="int nothing;", text=True,
                   check=True)
    (tmp_path / "loads_it.py").write_text(f"import ctypes\nctypes.CDLL({str(made)!r})\n")
    r = command("doctor", "--with", "loads_it", PYTHONPATH=os.pathsep.join([str(ROOT), str(tmp_path)]))
    assert r.returncode == 1 and "Several OpenMP runtimes" in r.stdout and "libomp.so.5" in r.stdout


def test_a_tracer_is_told():
    before = sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        problems = doctor()["problems"]
    finally:
        sys.settrace(before)
    assert any("traces this process" in p for p in problems)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell, tmp_path):
    text = command("completion", shell).stdout
    assert "doctor" in text
    if shell == "bash" and shutil.which("bash"):
        (tmp_path / "completion").write_text(text)
        r = subprocess.run(["bash", "-c", "source completion; COMP_WORDS=(pijit run --re); COMP_CWORD=2; _pijit; "
                            "echo ${COMPREPLY[@]}"], cwd=tmp_path, capture_output=True, text=True)
        assert r.stdout == "--report\n", r.stderr


def test_the_version_stands_everywhere():
    """Releases are tags of git: those that there are agree with CHANGELOG.md."""
    assert tag.version() == pijit.__version__
    assert re.search(r'"pijit==([^"]+)"', (ROOT / "packaging/cuda13/pyproject.toml").read_text())[1] == tag.version()
    if (ROOT / ".git").exists():
        tags = [t[1:] for t in tag.git("tag", "--list", "v*").split()]
        released = [m[1] for m in tag.SECTION.finditer((ROOT / "CHANGELOG.md").read_text())]
        assert tag.wrong_with_tags(tags, released, tag.version()) == []


@pytest.mark.parametrize("now, tags, sections, unreleased, found", [
    ("0.1.0", [], ["0.1.0 - 2026-12-01"], "", 0), ("0.1.0", [], [], "", 1), ("0.1.0", [], [], "- a change\n", 2),
    ("0.1.0", ["0.1.0"], ["0.1.0 - 2026-12-01"], "", 1), ("0.2.0", ["0.1.0"], ["0.1.0 - 2026-12-01"], "", 1),
    ("0.2.0", ["0.1.0"], ["0.2.0 - 2026-12-02", "0.1.0 - 2026-12-01"], "", 0),
    ("0.10.0", ["0.9.0"], ["0.10.0 - 2026-12-02", "0.9.0 - 2026-12-01"], "", 0),
    ("0.2.0", [], ["0.2.0 - 2026-12-02", "0.1.0 - 2026-12-01"], "", 1),
    ("0.1.0", ["0.2.0"], ["0.1.0 - 2026-12-01"], "", 2)])
def test_what_is_in_the_way_of_a_release(now, tags, sections, unreleased, found):
    text = f"# Changes\n\n## Unreleased\n\n{unreleased}\n" + "".join(f"## {s}\n\n- x\n\n" for s in sections)
    assert len(tag.in_the_way(now, tags, text, False)) == found
    assert len(tag.in_the_way(now, tags, text, True)) == found + 1
