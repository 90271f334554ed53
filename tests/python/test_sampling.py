"""Functions of NumPy's arrays and of numbers that nobody decorated: samples of what runs find them."""

import os
import subprocess
import sys

import numpy as np
import pytest

from pijit import _launch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

FUNCTIONS = '''
import sys, time, traceback, warnings
import numpy as np

def wave(u, v):
    lap = np.zeros_like(u)
    lap[1:-1] = u[2:] + u[:-2] - 2 * u[1:-1]
    w = v + 0.1 * (lap - u * u * u * 0.1)
    return u + 0.1 * w, w

def scaled(a):
    a *= 1.5
    a += np.sqrt(a * a + 1)
    return a

def quotient(a, b):
    return a / b + 1

def collatz(n):
    k = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        k += 1
    return k

def energy(xs):
    e = 0.0
    for i in range(len(xs)):
        for j in range(i):
            e += (xs[i] - xs[j]) ** 2
    return e

def divided(xs, n):
    s = 0.0
    for k in range(300):
        s += xs[k] / (n - k)
    return s

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

rng = np.random.RandomState(0)
U, XS = rng.rand(20_000), rng.rand(60)
LIST = XS.tolist() * 6

def caught():
    try:
        divided(LIST, 299)
    except ZeroDivisionError:
        return traceback.format_exc()

def warned():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        r = quotient(U, U - U[7])
    return r.tobytes(), [(str(w.message), w.lineno) for w in seen]

CALLS = {
    "wave": lambda: [x.tobytes() for x in wave(U, U * 0.5)],
    "scaled": lambda: scaled(U.copy()).tobytes(),
    "quotient": warned,
    "collatz": lambda: [collatz(n) for n in range(600, 700)],
    "energy": lambda: energy(XS),
    "divided": caught,
    "fib": lambda: fib(15),
}
FIRST = {name: call() for name, call in CALLS.items()}

def rounds(done, seconds):
    """Calls all of them until then; the names of those that were ever different."""
    end, wrong = time.process_time() + seconds, set()
    while time.process_time() < end and not done():
        for name, call in CALLS.items():
            for k in range(20):
                if call() != FIRST[name]:
                    wrong.add(name)
    return sorted(wrong)

def captured():
    """Names of what is captured; a function that one of these calls is part of that."""
    automatic = sys.modules.get("pijit.automatic")
    return {r.name for r in automatic.report().regions if not r.deoptimized} if automatic else set()

def enough():
    return captured() >= {"collatz", "energy"} and bool(captured() & {"wave", "<lambda>"})
'''


def run(tmp_path, source, *options):
    script = tmp_path / "program.py"
    script.write_text(FUNCTIONS + source)
    env = {k: v for k, v in os.environ.items() if not k.startswith("PIJIT_AUTO")}
    env.update(PYTHONPATH=ROOT, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    r = subprocess.run([sys.executable, *options, str(script)], env=env, capture_output=True, text=True,
                       timeout=500)
    assert r.returncode == 0, r.stderr
    return r.stdout, r.stderr


def test_functions_of_arrays_and_numbers_are_captured_as_they_run(tmp_path):
    out, error = run(tmp_path, """
import pijit.auto
print(rounds(enough, 60), enough())
import threading
print([t.name for t in threading.enumerate()], [type(f).__name__ for f in (wave, collatz)])
""")
    assert out == "[] True\n['MainThread'] ['function', 'function']\n" and not error


@pytest.mark.serial
def test_a_busy_program_loads_the_package_itself(tmp_path):
    out, error = run(tmp_path, """
print("pijit" in sys.modules)
print(rounds(lambda: bool(captured() & {"<lambda>", "wave", "collatz", "energy"}), 90))
print("pijit" in sys.modules, bool(captured()))
""", "-m", "pijit")
    assert out == "False\n[]\nTrue True\n" and not error


def test_nothing_is_loaded_for_programs_that_are_told_to_run_plainly_or_wait(tmp_path):
    out, _ = run(tmp_path, """
print(rounds(lambda: False, 0.2), len(captured()))
time.sleep(2.5)
print("pijit._C" in sys.modules)
""", "-m", "pijit")
    assert out == "[] 0\nFalse\n"
    out, _ = run(tmp_path, "print(rounds(lambda: False, 3), len(captured()))", "-m", "pijit", "--plain")
    assert out == "[] 0\n"


def test_children_and_the_end_of_capture(tmp_path):
    out, error = run(tmp_path, """
import os, pijit
warnings.simplefilter("error")  # CPython 3.12 warns of threads that a child does not have
pijit.enable()
rounds(lambda: bool(captured()), 60)
for k in range(3):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        print(rounds(lambda: False, 0.3), end=" ")
        pijit.disable()
        pijit.enable()
        print(rounds(lambda: False, 0.3))
        sys.stdout.flush()
        os._exit(k)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
for k in range(50):
    pijit.disable()
    pijit.enable()
pijit.disable()
before = sum(r.captured for r in pijit.automatic.report().regions)
print(rounds(lambda: False, 0.3), sum(r.captured for r in pijit.automatic.report().regions) == before)
""")
    assert out == "".join(f"[] []\n{k}\n" for k in range(3)) + "[] True\n" and not error


@pytest.mark.serial
def test_a_busy_child_loads_the_package(tmp_path):
    out, error = run(tmp_path, """
import multiprocessing
def work(k):
    wrong = rounds(lambda: bool(captured() & {"<lambda>", "wave", "collatz", "energy"}), 90)
    return wrong, "pijit" in sys.modules, bool(captured())
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print(pool.map(work, [1]), "pijit" in sys.modules)
""", "-m", "pijit")
    assert out == "[([], True, True)] False\n" and not error


def test_tracers_see_everything(tmp_path):
    out, error = run(tmp_path, """
import pijit.auto
lines = set()
def trace(frame, event, argument):
    lines.add((frame.f_code.co_name, event))
    return trace
sys.settrace(trace)
print(rounds(lambda: False, 0.5))
sys.settrace(None)
print(captured(), {("wave", "line"), ("collatz", "line"), ("fib", "return")} <= lines)
""")
    assert out == "[]\nset() True\n" and not error


def look_from(filename, busy):
    names = {"look": busy.look}
    exec(compile("def f():\n    return look()", filename, "exec"), names)
    return names["f"]()


def test_when_a_program_is_busy_with_its_own_functions(monkeypatch):
    """The package is loaded where most of ten looks find the program's own code, and nothing is being imported."""
    loaded = []
    monkeypatch.setitem(sys.modules, "numpy", np)
    monkeypatch.setattr(_launch, "load_package", lambda: loaded.append(1))
    monkeypatch.delitem(sys.modules, "pijit")
    own, library = "/home/me/program.py", os.path.join(os.path.dirname(os.__file__), "json.py")
    busy = _launch.Busy()
    assert not any(look_from(library, busy) for k in range(20)) and not loaded
    assert not any(look_from(own, busy) for k in range(7)) and not loaded
    assert not look_from("<frozen importlib._bootstrap>", busy) and not loaded
    assert look_from(own, busy) and loaded
    busy = _launch.Busy()
    monkeypatch.delitem(sys.modules, "numpy")
    assert not any(look_from(own, busy) for k in range(20)) and loaded == [1]
    monkeypatch.setitem(sys.modules, "pijit", _launch)
    assert look_from(own, busy) and loaded == [1]
    assert not _launch.is_own("/x/site-packages/y/z.py") and not _launch.is_own("<frozen runpy>")


MODULE = """
import pijit.auto, pijit.automatic
import sys, time
import numpy as np
n = 20000
u = np.exp(-(np.linspace(0, 1, n) - 0.5) ** 2 * 100)
v = np.zeros(n)
first, seen, steps = u, [], 0
def captured(): return {(r.kind, r.name) for r in pijit.automatic.report().regions if r.captured and not r.deoptimized}
def go_on(k):
    if k % 50 == 0:
        seen.append((k, float(u[k % n]).hex(), float(v.sum()).hex()))
    return k < 400 or MORE
k = 0
while go_on(k):
    a = u[2:] - 2 * u[1:-1] + u[:-2]
    v[1:-1] += a * 0.2
    u = u + v * 0.5
    u[0] = u[-1] = 0
    k += 1
print(k, *seen, float(first.sum()).hex(), u.flags.owndata, v.flags.owndata, sep="\\n")
print(captured(), file=sys.stderr)
"""


@pytest.mark.serial
@pytest.mark.skipif(sys.version_info < (3, 10), reason="see docs/versions.md")
def test_a_loop_of_a_module_over_arrays_is_taken_over(tmp_path):
    """And gives what CPython gives, for as many turns as it took until then."""
    until = '(time.process_time() < 60 and ("loop", "<module>") not in captured())'
    out, err = run(tmp_path, MODULE.replace("MORE", until))
    assert "('loop', '<module>')" in err, err
    plain = MODULE.replace("import pijit.auto, pijit.automatic", "def captured(): pass").replace(
        "def captured(): return", "#")
    assert run(tmp_path, plain.replace("MORE", "k < " + out.split("\n")[0]))[0] == out


def test_a_loop_of_a_module_over_numbers_is_left_alone(tmp_path):
    out, err = run(tmp_path, """
import pijit.auto, pijit.automatic
import time
import numpy as np
a = np.arange(1000.0)
s = k = 0
while time.process_time() < 2.5:
    for j in range(2000):
        s += j % 7
        if s > 1000:
            s -= 1000
    k += 1
print(s, [r for r in pijit.automatic.report().regions if r.kind == "loop" and not r.deoptimized])
""")
    assert out.endswith(" []\n"), out
