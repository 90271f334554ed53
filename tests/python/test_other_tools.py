"""Tools for all Python programs, with captured functions: profilers, coverage, debuggers, `logging`; perf and gdb,
which see machine code (PIJIT_PERF)."""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """import sys
import pijit
from pijit import ops

@pijit.jit
def energy(x, w):
    y = ops.tanh(x * w)
    return ops.sum(y * 2)

@pijit.jit
def collatz(n):
    turns = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        turns += 1
    return turns

x, w = ops.ones((64, 64)), ops.ones((64,))
for _ in range(int(sys.argv[1])):
    energy(x, w)
    total = sum(map(collatz, range(1, 300)))
print(total)
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path / "program.py"


def run(*command, turns=20, **variables):
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **variables}
    r = subprocess.run([str(c) for c in command] + [str(turns)], env=env, capture_output=True, text=True, timeout=300)
    assert r.returncode == 0, r.stdout + r.stderr
    return r


def needs(module):
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")


# ---- perf and gdb

def records(dump):
    """Of a jitdump: (time, address, bytes of code, name, code)."""
    magic, version, size, machine, _, pid, _, _ = struct.unpack_from("=IIIIIIQQ", dump)
    assert (magic, version, size, machine) == (0x4A695444, 1, 40, 62)
    at = size
    while at < len(dump):
        number, length, time = struct.unpack_from("=IIQ", dump, at)
        assert number == 0
        process, _, address, again, bytes_, _ = struct.unpack_from("=IIQQQQ", dump, at + 16)
        assert process == pid and address == again
        name, _, code = dump[at + 56:at + length].partition(b"\0")
        assert len(code) == bytes_
        yield time, address, bytes_, name.decode(), code
        at += length


def test_generated_code_has_names(program):
    say_pid = "import os, runpy, sys; sys.argv[:1] = []; print(os.getpid()); runpy.run_path(sys.argv[0])"
    r = run(sys.executable, "-c", say_pid, program, PIJIT_PERF="1")
    pid = r.stdout.split()[0]
    names, dump = pathlib.Path(f"/tmp/perf-{pid}.map"), pathlib.Path(f"/tmp/jit-{pid}.dump")
    try:
        lines = [line.split(" ", 2) for line in names.read_text().splitlines()]
        told = list(records(dump.read_bytes()))
    finally:
        names.unlink()
        dump.unlink()
    assert [(int(a, 16), int(n, 16), name) for a, n, name in lines] == [t[1:4] for t in told]
    assert all(code[:1] != b"\0" for *_, code in told) and [t[0] for t in told] == sorted(t[0] for t in told)
    found = {t[3] for t in told}
    assert any(re.fullmatch(r"pijit::.*tanh.* program\.py:[78]", n) for n in found), found
    assert any(re.fullmatch(r"pijit::collatz program\.py:\d+", n) for n in found), found


def test_nothing_is_written_unasked(program):
    before = set(pathlib.Path("/tmp").glob("perf-*.map")) | set(pathlib.Path("/tmp").glob("jit-*.dump"))
    r = run("/bin/sh", "-c", 'echo $$; exec "$@"', "sh", sys.executable, program)
    pid = r.stdout.split()[0]
    assert not {pathlib.Path(f"/tmp/perf-{pid}.map"), pathlib.Path(f"/tmp/jit-{pid}.dump")} & (
        set(pathlib.Path("/tmp").iterdir()) - before)


def test_links_of_others_are_not_followed(program, tmp_path):
    """Names in a folder that all may write can be guessed."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    r = run("/bin/sh", "-c", 'ln -s "$VICTIM" /tmp/perf-$$.map; ln -s "$VICTIM" /tmp/jit-$$.dump; echo $$; exec "$@"',
            "sh", sys.executable, program, PIJIT_PERF="1", VICTIM=str(victim))
    pid = r.stdout.split()[0]
    assert victim.read_text() == "mine"
    for p in (pathlib.Path(f"/tmp/perf-{pid}.map"), pathlib.Path(f"/tmp/jit-{pid}.dump")):
        assert not p.is_symlink() and p.stat().st_size > 40
        p.unlink()


def test_perf_sees_names(program, tmp_path):
    perf = shutil.which("perf") or pytest.skip("no perf")
    data = tmp_path / "perf.data"
    if subprocess.run([perf, "record", "-q", "-e", "cpu-clock", "-o", data, "true"], capture_output=True).returncode:
        pytest.skip("perf may not record here")
    run(perf, "record", "-q", "-k", "mono", "-e", "cpu-clock", "-F", "5000", "-o", data, sys.executable, program,
        turns=3000, PIJIT_PERF="1")

    def report(data):
        return subprocess.run([perf, "report", "-i", data, "--stdio", "--sort", "symbol"], capture_output=True,
                              text=True, cwd=tmp_path).stdout
    assert re.search(r"pijit::collatz program\.py", report(data))
    merged = tmp_path / "merged.data"
    if subprocess.run([perf, "inject", "--jit", "-i", data, "-o", merged], cwd=tmp_path,
                      capture_output=True).returncode == 0:
        assert re.search(r"pijit::collatz program\.py", report(merged))


def test_gdb_sees_names(program):
    gdb = shutil.which("gdb") or pytest.skip("no gdb")
    code = ("import runpy, sys, os, signal; sys.argv[:] = sys.argv[1:]; runpy.run_path(sys.argv[0]); "
            "os.kill(os.getpid(), signal.SIGUSR1)")
    r = subprocess.run([gdb, "-q", "-batch", "-nx", "-iex", "set debuginfod enabled off", "-ex", "run", "-ex",
                        "info functions pijit::collatz", "--args", sys.executable, "-c", code, program, "3"],
                       env={**os.environ, "PYTHONPATH": str(ROOT), "PIJIT_PERF": "1"}, capture_output=True, text=True,
                       timeout=300)
    if "ptrace" in r.stderr:
        pytest.skip("gdb may not trace here")
    assert re.search(r"0x[0-9a-f]+ +pijit::collatz program\.py:\d+", r.stdout), r.stdout + r.stderr


# ---- Python's own tools, and those that pip brings

def test_cprofile(program):
    r = run(sys.executable, "-m", "cProfile", program)
    assert re.search(r"^ +20 .* program.py:5\(energy\)$", r.stdout, re.M), r.stdout
    assert re.search(r"^ +5980 .* program.py:10\(collatz\)$", r.stdout, re.M), r.stdout


def test_coverage(program, tmp_path):
    needs("coverage")
    run(sys.executable, "-m", "coverage", "run", f"--data-file={tmp_path / 'data'}", program)
    subprocess.run([sys.executable, "-m", "coverage", "json", f"--data-file={tmp_path / 'data'}", "-o",
                    tmp_path / "lines.json"], check=True, capture_output=True)
    files = json.loads((tmp_path / "lines.json").read_text())["files"]
    assert [f["missing_lines"] for name, f in files.items() if name.endswith("program.py")] == [[]]


def test_line_profiler(program, tmp_path):
    needs("line_profiler")
    program.write_text(PROGRAM.replace("@pijit.jit\n", "@pijit.jit\n@profile\n"))
    r = run(sys.executable, "-m", "kernprof", "-l", "-v", "-o", tmp_path / "times.lprof", program)
    assert re.search(r"^ +8 +20 .*y = ops.tanh\(x \* w\)$", r.stdout, re.M), r.stdout


def test_line_profiler_around_a_captured_function(program, tmp_path):
    needs("line_profiler")
    program.write_text(PROGRAM.replace("@pijit.jit\n", "@profile\n@pijit.jit\n"))
    r = run(sys.executable, "-m", "kernprof", "-l", "-v", "-o", tmp_path / "times.lprof", program)
    assert re.search(r"^ +8 +20 .*y = ops.tanh\(x \* w\)$", r.stdout, re.M), r.stdout


def test_py_spy(program, tmp_path):
    """What is captured whole has no frame while its machine code runs: the line that calls it is seen."""
    spy = shutil.which("py-spy", path=os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]))
    if not spy:
        pytest.skip("no py-spy")
    program.write_text(PROGRAM.replace("print(total)", "    plain(x)\nprint(total)").replace("x, w =", """def plain(x):
    for _ in range(2):
        x.asnumpy().tolist()

x, w ="""))
    r = subprocess.run([spy, "record", "-r", "200", "-f", "raw", "-o", tmp_path / "stacks", "--", sys.executable,
                        program, "5000"], capture_output=True, text=True, timeout=300,
                       env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"})
    if r.returncode and ("ermission" in r.stderr or "ersion" in r.stderr):
        pytest.skip(r.stderr)
    stacks = (tmp_path / "stacks").read_text()
    assert re.search(r"^<module> \(.*program\.py:25\) \d", stacks, re.M), r.stderr
    assert re.search(r"^<module> \(.*program\.py:26\);plain \(.*program\.py:20\) \d", stacks, re.M), r.stderr


class Debugger:
    """A client of the debug adapter protocol."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.stream, self.number, self.kept = self.socket.makefile("rwb"), 0, []

    def next(self):
        length = 0
        while line := self.stream.readline().strip():
            length = int(line.split(b":")[1])
        return json.loads(self.stream.read(length))

    def wait(self, kind, name):
        for m in self.kept:
            if (m["type"], m.get("event") or m.get("command")) == (kind, name):
                self.kept.remove(m)
                return m
        while True:
            m = self.next()
            if (m["type"], m.get("event") or m.get("command")) == (kind, name):
                return m
            self.kept.append(m)

    def send(self, command, **arguments):
        self.number += 1
        text = json.dumps({"type": "request", "seq": self.number, "command": command, "arguments": arguments}).encode()
        self.stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
        self.stream.flush()

    def ask(self, command, **arguments):
        self.send(command, **arguments)
        return self.wait("response", command)["body"]


def test_debugpy(program):
    """A breakpoint in a function that was captured before somebody looked, and one in a loop over numbers."""
    needs("debugpy")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    program.write_text(PROGRAM.replace("for _ in", "energy(x, w)\nenergy(x, w)\nassert pijit.explain(energy).graphs\n"
                       f"import debugpy\ndebugpy.listen(('127.0.0.1', {port}))\nprint('ready', flush=True)\n"
                       "debugpy.wait_for_client()\nfor _ in"))
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    with subprocess.Popen([sys.executable, "-X", "frozen_modules=off", program, "2"] if sys.version_info >= (3, 11) else
                          [sys.executable, program, "2"], env=env, stdout=subprocess.PIPE, text=True) as p:
        try:
            assert p.stdout.readline() == "ready\n"
            d = Debugger(port)
            d.ask("initialize", adapterID="test")
            d.send("attach", justMyCode=False)
            d.wait("event", "initialized")
            d.ask("setBreakpoints", source={"path": str(program)}, breakpoints=[{"line": 8}, {"line": 15}])
            d.send("configurationDone")
            for line, what, value in ((8, "y.shape", "(64, 64)"), (15, "turns", "0")):
                thread = d.wait("event", "stopped")["body"]["threadId"]
                frame = d.ask("stackTrace", threadId=thread)["stackFrames"][0]
                assert frame["line"] == line
                assert d.ask("evaluate", expression=what, frameId=frame["id"])["result"] == value
                d.ask("setBreakpoints", source={"path": str(program)}, breakpoints=[{"line": 15}] if line == 8 else [])
                d.send("continue", threadId=thread)
            d.wait("event", "terminated")
            d.socket.close()
            assert p.stdout.readline() == "14151\n" and p.wait(60) == 0
        finally:
            p.kill()


# ---- logging

LOGGED = """import logging, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout, format="%(name)s %(levelname)s %(message)s")
"""
CALLS = """
import pijit
@pijit.jit
def f(x):
    y = x * 2
    class Here:
        pass
    return y + 1
f(pijit.ops.ones(3)); f(pijit.ops.ones(3))
"""


def logged(text, **variables):
    r = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True,
                       env={**os.environ, "PYTHONPATH": str(ROOT), **variables})
    assert r.returncode == 0, r.stderr
    return r


def test_lines_go_to_the_logger_of_their_channel():
    wanted = 'logging.getLogger("pijit.breaks").setLevel(logging.INFO)\n'
    for text in (LOGGED + wanted + CALLS, LOGGED + "import pijit\n" + wanted + CALLS,
                 "import pijit.log\n" + LOGGED + wanted + CALLS):
        r = logged(text)
        lines = [line for line in r.stdout.splitlines() if line.startswith("pijit")]
        assert lines and all(re.match(r"pijit\.breaks INFO .*:\d+: ", line) for line in lines), r.stdout
        assert not r.stderr


def test_all_channels_by_one_level():
    r = logged(LOGGED + CALLS.replace("import pijit\n", "import pijit\nlogging.getLogger('pijit').setLevel(10)\n"))
    found = set(re.findall(r"^pijit\.(\w+) (?:DEBUG|INFO) ", r.stdout, re.M))
    assert found >= {"breaks", "passes", "kernels", "exec"}, r.stdout


def test_the_root_logger_turns_nothing_on():
    assert logged(LOGGED + CALLS).stdout == ""


def test_stderr_has_what_the_variable_asks_for():
    r = logged(LOGGED + "logging.getLogger('pijit.kernels').setLevel(10)\n" + CALLS, PIJIT_LOG="breaks")
    assert "[pijit:breaks]" in r.stderr and "kernels" not in r.stderr
    assert "pijit.kernels DEBUG" in r.stdout and "pijit.breaks" not in r.stdout


def test_a_level_that_is_raised_again():
    r = logged(LOGGED + "log = logging.getLogger('pijit.exec')\nlog.setLevel(10)\n" + CALLS +
               "\nimport time; time.sleep(0.01); print('raised')\nlog.setLevel(logging.WARNING)\n"
               "f(pijit.ops.ones(3))\n")
    before, _, after = r.stdout.partition("raised\n")
    assert "pijit.exec DEBUG" in before and after == ""


def test_a_handler_that_calls_what_it_tells_of():
    """Lines come between two instructions of the program, so that a handler may do what it likes."""
    r = logged(LOGGED + "class H(logging.Handler):\n    def emit(self, r):\n        seen.append(r.getMessage())\n"
               "        if len(seen) < 9: f(pijit.ops.ones(len(seen)))\n"
               "seen = []\nlogging.getLogger('pijit.kernels').setLevel(10)\n"
               "logging.getLogger('pijit.kernels').addHandler(H())\n" + CALLS + "print(len(seen) > 1)\n")
    assert r.stdout.endswith("True\n") and not r.stderr
