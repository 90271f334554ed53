"""Tests on a GPU, side by side: tools/gpu/visit.sh tests gives it the folder of results and seconds. First each test of
tests/cuda/program.py in a process of its own, then files of tests/python with all Tensors on the GPU. What fails is
kept as a program of its own (failures.py), and its end shown."""

import concurrent.futures
import contextlib
import importlib.util
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import failures

ROOT = failures.ROOT
PROGRAM = ROOT / "tests" / "cuda" / "program.py"
FILES = """ops more_ops indexed fft linalg layouts branches loops_in_gradients regions_on_tape nn train training halves
  numerics recurrent_layers recurrent_primitives integer_gradients own_gradients complex composite mint dtype_rules
  mixed_precision models vmap views special probability short_axes training_programs user_programs sparse families
  stored_columns graph_numbers wrong_operands threads lifetimes effects dlpack devices""".split()


def one(out, name, seconds):
    command = [sys.executable, "tests/cuda/program.py", name]
    status, text, took = failures.call(command, seconds)
    if status:
        failures.keep(out, "tests", name, failures.of_script(PROGRAM, name, without_end=True), command, status, text)
    return name, status, text, took


class Keeps:
    """For pytest: keeps what fails as it fails, and notes which tests began and ended."""

    def __init__(self, out, notes):
        self.out, self.notes, self.kept = out, open(notes, "a", encoding="utf-8"), set()

    def note(self, what, nodeid):
        self.notes.write(f"{what} {nodeid}\n")
        self.notes.flush()

    def pytest_collection_modifyitems(self, config, items):
        """After a crash those that have not begun are left to do."""
        begun = {k for k, _ in noted(self.notes.name)}
        config.hook.pytest_deselected(items=[i for i in items if i.nodeid in begun])
        items[:] = [i for i in items if i.nodeid not in begun]

    def pytest_runtest_logstart(self, nodeid):
        self.note("begins", nodeid)

    def pytest_runtest_logfinish(self, nodeid):
        self.note("ends", nodeid)

    def pytest_runtest_logreport(self, report):
        if report.failed and report.nodeid not in self.kept:
            self.kept.add(report.nodeid)
            text = report.longreprtext + "".join(f"\n{name}\n{said}" for name, said in report.sections)
            crashed = re.search(r"worker '\w+' crashed", text)
            failures_of_pytest(self.out, report.nodeid, "crashed" if crashed else "failed", text)
            self.note("fails" if not crashed else "crashes", report.nodeid)

    def pytest_collectreport(self, report):
        if report.failed:
            self.note("is not collected:", report.nodeid)
            failures_of_pytest(self.out, report.nodeid, "not collected", report.longreprtext)


def noted(notes):
    """[(a test that began, has it ended?)], in order."""
    tests = {}
    for line in pathlib.Path(notes).read_text(encoding="utf-8").split("\n"):
        what, _, nodeid = line.partition(" ")
        if what in ("begins", "ends", "crashes"):
            tests[nodeid] = what != "begins"
    return list(tests.items())


def failures_of_pytest(out, nodeid, status, text, env=None):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", nodeid]
    name = nodeid.replace("tests/python/", "").replace(".py::", "-").removesuffix(".py")
    failures.keep(out, "tests", name, failures.of_test(nodeid), command, status, text, env)


def under_pytest(out, notes, args):
    import pytest
    sys.path.remove(str(pathlib.Path(__file__).parent))  # where `tests` is this file
    sys.exit(pytest.main(args, plugins=[Keeps(out, notes)]))


def main(out, seconds, each):
    failures.ends_with_its_processes()
    deadline = time.monotonic() + seconds - 10
    names = re.findall(r"^def (test_\w+)", PROGRAM.read_text(encoding="utf-8"), re.M)
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        bad = 0
        for name, status, text, took in pool.map(lambda n: one(out, n, each), names):
            if status:
                bad += 1
                print(f"{name}: {failures.told(status)}, {took:.1f} s\n{text[-900:]}", flush=True)
        print(f"program.py: {len(names) - bad} of {len(names)} pass", flush=True)
    if time.monotonic() > deadline - 5:
        print("no time for tests/python")
        return
    files = [f for n in FILES if (f := ROOT / "tests" / "python" / f"test_{n}.py").exists()]
    env = {**os.environ, "PIJIT_TEST_DEVICE": "GPU", "PIJIT_STRICT": "1", "OMP_NUM_THREADS": "1",
           "PIJIT_CUDA_SYNC": "1"}
    notes = pathlib.Path(f"{os.environ.get('TMPDIR', '/tmp')}/visit-{os.getpid()}.notes")
    notes.write_text("", encoding="utf-8")
    command = [sys.executable, __file__, "--pytest", out, str(notes), "-q", "--tb=short", "--durations=12", "-p",
               "no:cacheprovider", "-rfE", *(str(f.relative_to(ROOT)) for f in files)]
    workers = bool(importlib.util.find_spec("xdist"))
    if workers:
        command += ["-n", str(max(2, (os.cpu_count() or 4) - 2)), "--dist", "worksteal"]
    else:
        print("one after the other, as pytest-xdist is not here", flush=True)
    status, before = -1, -1
    while status < 0 and len(noted(notes)) > before and (before < 0 or time.monotonic() < deadline - 5):
        before = len(noted(notes))
        with open(f"{out}/pytest.txt", "ab") as log:
            start = log.tell()
            tests = failures.start(command, cwd=ROOT, env=env, stdout=log)
            try:
                status = tests.wait(max(1.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:  # what failed so far is told then
                for how, wait in ((signal.SIGINT, 6),) if workers else ((signal.SIGINT, 4), (signal.SIGABRT, 2)):
                    tests.send_signal(how)
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        tests.wait(wait)
                        break
                status = "no end within the stage's limit"
            failures.end(tests)
        said = pathlib.Path(f"{out}/pytest.txt").read_bytes()[start:].decode(errors="replace")
        for nodeid, ended in noted(notes):
            if not ended:
                with open(notes, "a", encoding="utf-8") as f:
                    f.write(f"ends {nodeid}\n")
                print(f"{nodeid}: {failures.told(status)}", flush=True)
                failures_of_pytest(out, nodeid, status, said[-20000:], env)
        if isinstance(status, str):
            break
    lines = notes.read_text(encoding="utf-8").split("\n")
    notes.unlink()
    said = pathlib.Path(f"{out}/pytest.txt").read_text(encoding="utf-8", errors="replace")
    print(said[-3000:] if not workers or not isinstance(status, str) else "", flush=True)  # else of pytest's own frames
    failed = [line for line in lines if line.startswith(("fails", "crashes", "is not"))]
    print(f"tests/python: {sum(line.startswith('begins') for line in lines)} began, {len(failed)} failed, and:",
          failures.told(status), flush=True)
    for line in failed[-40:]:
        print(line, flush=True)
    if not isinstance(status, str) and status not in (0, 1):  # not that tests fail, nor that there was no more time
        sys.exit(f"pytest ended: {failures.told(status)}")


if __name__ == "__main__":
    if sys.argv[1] == "--pytest":
        under_pytest(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        main(sys.argv[1], float(sys.argv[2]), float(os.environ.get("EACH", "100")))
