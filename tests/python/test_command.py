"""The command `pijit` and what its doctor says."""

import importlib.machinery
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

import pytest

import pijit
from tools import tag

ROOT = pathlib.Path(__file__).resolve().parents[2]


COMPILER = shutil.which("cc") or shutil.which("gcc")


def command(*args, **variables):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PIJIT_", "ONEDNN_"))}
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
    ({"OMP_NUM_THREADS": "4096"}, "Kernels start 4096 threads"), ({"PIJIT_BACKEND": "reference"}, "reference kernels"),
    ({"PIJIT_ISA": "none"}, "PIJIT_ISA=none asks for that"), ({"PYTHONMALLOC": "debug"}, "checks each of Python's"),
    ({"ONEDNN_MAX_CPU_ISA": "SSE41"}, "ONEDNN_MAX_CPU_ISA=SSE41 keeps")])
def test_the_doctor_names_what_is_wrong(variables, told):
    r = command("doctor", **{**variables})
    assert r.returncode == 1 and told in r.stdout, r.stdout


def test_a_module_that_is_not_there():
    r = command("doctor", "--with", "no_such_module")
    assert r.returncode == 1 and "no_such_module" in r.stderr


def test_a_second_runtime_of_openmp_is_a_problem(tmp_path):
    """A library of that name, whatever it does."""
    compiler = COMPILER or pytest.skip("no compiler")
    made = tmp_path / "libomp.so.5"
    subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-o", made, "-"], input="int nothing;", text=True,
                   check=True)
    (tmp_path / "loads_it.py").write_text(f"import ctypes\nctypes.CDLL({str(made)!r})\n")
    r = command("doctor", "--with", "loads_it", PYTHONPATH=os.pathsep.join([str(ROOT), str(tmp_path)]))
    assert r.returncode == 1 and "Several OpenMP runtimes" in r.stdout and "libomp.so.5" in r.stdout


def told(where, program, *options, **variables):
    """What the doctor says in a program that has brought a conflict about."""
    (where / "program.py").write_text("import sys, threading\n" + program + "\nfrom pijit.doctor import doctor\n"
                                      "print(*doctor()['problems'], sep='\\n', file=sys.stderr)\n"
                                      "sys.stderr.flush()\n")
    r = subprocess.run([sys.executable, *options, "program.py"], cwd=where, capture_output=True, text=True,
                       env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **variables})
    assert r.returncode == 0, r.stderr
    return r.stderr


TOOLS = {
    "settrace": ("sys.settrace(lambda *_: None)", (), "by sys.settrace"),
    "setprofile": ("sys.setprofile(lambda *_: None)", (), "by sys.setprofile"),
    "coverage": ("", ("-m", "coverage", "run"), "coverage"),
    "cProfile": ("", ("-m", "cProfile", "-o", "times"), "cProfile" if sys.version_info >= (3, 12) else "Profile"),
    "line_profiler": ("import line_profiler; line_profiler.LineProfiler().enable()", (), "line_profiler"),
    "a tool of sys.monitoring": ("sys.monitoring.use_tool_id(3, 'my tool')", (), "my tool by sys.monitoring"),
}


@pytest.mark.parametrize("name", TOOLS)
def test_who_watches_is_told(name, tmp_path):
    program, options, said = TOOLS[name]
    if "monitoring" in name and not hasattr(sys, "monitoring"):
        pytest.skip("this CPython has no sys.monitoring")
    if name in ("coverage", "line_profiler"):
        pytest.importorskip(name)
    problems = told(tmp_path, program, *options)
    assert re.search(rf"traces this process \(.*{said}.*\): functions run plainly", problems), problems
    assert "report this" not in problems


def test_another_frame_hook_is_told(tmp_path):
    if not COMPILER or not (pathlib.Path(sysconfig.get_path("include")) / "Python.h").exists():
        pytest.skip("no C compiler, or no headers of CPython")
    subprocess.run([COMPILER, "-shared", "-fPIC", "-I", sysconfig.get_path("include"), "-o",
                    tmp_path / ("frame_hook" + importlib.machinery.EXTENSION_SUFFIXES[0]),
                    ROOT / "tests/python/frame_hook.c"], check=True)
    problems = told(tmp_path, "import frame_hook\nframe_hook.install(0)")
    assert "frame_hook" in problems and "evaluates frames" in problems
    assert "evaluates frames" not in told(tmp_path, "import pijit; pijit.enable()")  # ours


@pytest.mark.parametrize("library, said", [("libjemalloc.so.2", "libjemalloc.so.2 replaces malloc"), ("", "libasan")])
def test_what_is_preloaded_is_told(library, said, tmp_path):
    """A library of that name, whatever it does, and the compiler's address sanitizer."""
    compiler = COMPILER or pytest.skip("no compiler")
    if library:
        path = str(tmp_path / library)
        subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-o", path, "-"], input="int nothing;", text=True,
                       check=True)
    else:
        path = subprocess.run([compiler, "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
        if not os.path.isabs(path):
            pytest.skip("no address sanitizer")
    problems = told(tmp_path, "", LD_PRELOAD=path, ASAN_OPTIONS="detect_leaks=0")
    assert said in problems, problems


def test_threads_and_fork_are_told(tmp_path):
    begin = ("stop = threading.Event()\nthreading.Thread(target=stop.wait, daemon=True).start()\n"
             "import multiprocessing\nmultiprocessing.set_start_method({!r})")
    assert "2 threads run, and multiprocessing forks" in told(tmp_path, begin.format("fork"))
    assert "forks" not in told(tmp_path, begin.format("spawn"))


def test_an_old_numpy_is_told(tmp_path):
    """As far as it says so."""
    assert "NumPy 1.26.4 is older than 2.0" in told(tmp_path, "import numpy\nnumpy.__version__ = '1.26.4'")


def test_it_speaks_where_the_package_cannot_be_imported(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['numpy'] = None\n")
    r = command("doctor", PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT)]))
    assert r.returncode == 1 and "pip install numpy" in r.stdout and not r.stderr, r.stdout + r.stderr
    found = json.loads(command("doctor", "--json", PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT)])).stdout)
    assert found["python"]["numpy"] is None and found["processor"]["instructions"] and found["problems"]


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
