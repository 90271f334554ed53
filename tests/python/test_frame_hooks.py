"""Other tools that evaluate frames (PEP 523) beside ours: on top of it and below, coming and going in any order."""

import importlib.util
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import textwrap

import pytest

HERE = pathlib.Path(__file__).parent
COMPILER = shutil.which("cc") or shutil.which("gcc")
pytestmark = pytest.mark.skipif(not COMPILER or not (pathlib.Path(sysconfig.get_path("include")) / "Python.h").exists(),
                                reason="no C compiler, or no headers of CPython")
# f breaks at `at`, which the tests set, and calls a function that is captured below the break.
PROGRAM = """
import random, sys
sys.path.insert(0, {folder!r})
import frame_hook as tools
import pijit as ms
from pijit import Tensor

x = Tensor([1.0, 2.0])
def look(): return tools.calls(0)  # a break
steps = [look]
def at(y):
    for step in steps: step()
    return y * 2
def inner(x): return (x * 2 + 1) * (x - 1)
def plain(x, n):
    y = x + n
    return inner(at(y)) + y
f = ms.jit(plain)
def check(n=1):
    want, got = inner((x + n) * 2) + (x + n), f(x, n)
    assert got.asnumpy().tolist() == want.asnumpy().tolist(), (got, want)
for k in range(3): check()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    built = tmp_path_factory.mktemp("frame_hook") / ("frame_hook" + importlib.machinery.EXTENSION_SUFFIXES[0])
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-I", sysconfig.get_path("include"), "-o", str(built),
                    str(HERE / "frame_hook.c")], check=True)
    return str(built.parent)


def run(folder, code):
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(folder=folder) + textwrap.dedent(code)],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stdout} {done.stderr[-2000:]}"
    return done.stdout


SEQUENCES = {
    "installed while ours is active": """
        steps[:] = [lambda: tools.install(0)]
        check(); steps[:] = [look]; check(); check()
    """,
    "removed while ours is on top": """
        tools.install(0); check()
        steps[:] = [lambda: tools.uninstall(0)]
        check(); steps[:] = [look]; check(); tools.uninstall(0); check()
    """,
    "removed by force while ours is on top": """
        tools.install(0); check()
        steps[:] = [lambda: tools.uninstall(0, True)]
        check(); steps[:] = [look]; check(); check()
    """,
    "puts ours back when ours is off": """
        steps[:] = [lambda: tools.install(0)]
        check(); steps[:] = [look]; tools.uninstall(0); check(); check()
    """,
    "takes ours away": """
        steps[:] = [tools.reset]
        check(); steps[:] = [look]; check(); check()
    """,
    "comes and goes": """
        steps[:] = [lambda: tools.install(0), lambda: tools.uninstall(0), lambda: tools.install(0)]
        for k in range(20): check(); tools.uninstall(0)
    """,
    "calls CPython's own": """
        steps[:] = [lambda: tools.install(0, True)]
        for k in range(5): check()
        steps[:] = [look]; check(); tools.uninstall(0); check()
    """,
    "runs code of its own at each frame": """
        g = ms.jit(lambda x: x * 3)
        steps[:] = [lambda: tools.install(0, False, lambda: g(x))]
        for k in range(5): check()
        steps[:] = [look]; check(); tools.uninstall(0); check()
    """,
    "two on top of each other": """
        steps[:] = [lambda: tools.install(0), lambda: tools.install(1)]
        for k in range(5): check()
        steps[:] = [lambda: tools.uninstall(1)]
        check(); steps[:] = [look]; check()
        tools.uninstall(0); check(); tools.uninstall(1); tools.uninstall(0); check()
    """,
    "one below and one on top": """
        tools.install(0); check()
        steps[:] = [lambda: tools.install(1)]
        check(); check(); steps[:] = [lambda: tools.uninstall(0), lambda: tools.uninstall(1)]
        check(); steps[:] = [look]; check(); tools.uninstall(1); check(); tools.uninstall(0); check()
    """,
    "whole scripts are captured": """
        from pijit import automatic
        with automatic.enabled():
            for k in range(10): plain(x, k)
            tools.install(0)
            for k in range(10): plain(x, k); check(k)
            tools.uninstall(0)
            for k in range(10): plain(x, k); check(k)
            tools.install(1); tools.install(2)
            for k in range(10): plain(x, k); check(k)
        check(); tools.uninstall(2); tools.uninstall(1); check()
    """,
    "generators and classes": """
        def numbers(x):
            for k in range(3):
                at(x)
                yield inner(x) + k
        class C:
            def __call__(self, x): return sum(numbers(x), x)
        h, c = ms.jit(lambda c, x: c(x) + 1), C()
        for step in (lambda: tools.install(0), lambda: None, lambda: tools.install(1), lambda: tools.uninstall(1)):
            steps[:] = [step]
            got = h(c, x).asnumpy().tolist(); steps.clear(); assert got == (c(x) + 1).asnumpy().tolist()
    """,
    "deep recursion": """
        sys.setrecursionlimit(20000)
        def down(x, n): return x if n == 0 else down(x, n - 1) + at(x) * 0
        d = ms.jit(down)
        steps[:] = [lambda: tools.install(0)]
        try: print(d(x, 15000))
        except RecursionError as e: print(e)
        steps[:] = [look]; check(); check()
    """,
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequence(name, folder):
    run(folder, SEQUENCES[name])


def test_random_sequences(folder):
    run(folder, """
        draw = random.Random(5)
        def step():
            k = draw.randrange(3)
            return draw.choice(
                [lambda: tools.install(k), lambda: tools.install(k), lambda: tools.uninstall(k), lambda: None])
        for turn in range(300):
            steps[:] = [step() for _ in range(draw.randrange(4))] + [look]
            check(turn)
            for s in [step() for _ in range(draw.randrange(3))]: s()
            steps[:] = [look]
            check(turn)
            if turn % 20 == 19: tools.reset()
    """)


def test_both_see_the_calls(folder):
    """The other tool sees the frames that run, and ours still captures below a break."""
    assert run(folder, """
        tools.install(0)
        steps[:] = [look]
        before = tools.calls(0)
        for k in range(50): check(k)
        assert tools.calls(0) > before
        assert ms.explain(f).callees
        print("both")
    """) == "both\n"
