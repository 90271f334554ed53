"""CPython's own tests pass on jitted standard library modules, and under PIJIT_AUTO=1: some here, all by `make
test-cpython`."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests.python.stdlib import INTERPRETER, QUICK, TESTS

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize("module", TESTS if os.environ.get("PIJIT_ALL_MODULES") else QUICK)
def test_module(module):
    env = {**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", str(ROOT)), "PIJIT_STRICT": "1"}
    r = subprocess.run([sys.executable, "-m", "tests.python.stdlib", module], capture_output=True, text=True, env=env,
                       cwd=ROOT, timeout=600)
    if r.returncode == 2:
        pytest.skip("this Python comes without its tests")
    assert r.returncode == 0, f"exit {r.returncode}\n{r.stdout[-4000:]}{r.stderr[-2000:]}"


def failures(tmp_path, test, **env):
    """Which tests of CPython's test.`test` fail, or None where there are none. Child processes get the environment,
    too."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]), **env}
    r = subprocess.run([sys.executable, "-m", "test", test], capture_output=True, text=True, errors="replace", env=env,
                       cwd=tmp_path, timeout=600)
    # capture would not be on; in subinterpreters it is not, by nature
    others = [e for e in re.findall(r"Error in sitecustomize.*\n(.*)", r.stderr) if "subinterpreter" not in e]
    assert not others, others
    if "No module named" in r.stdout + r.stderr and r.returncode:
        return None
    failed = set(re.findall(r"^(?:FAIL|ERROR): (.*)$", r.stdout + r.stderr, re.M))
    if r.returncode not in (0, 4):  # 4: none was run
        print(r.stdout[-4000:], r.stderr[-2000:])
        failed = failed or {f"exit {r.returncode}"}
    return failed


# What an installed package does at the start of each process; then a program that works on Tensors, so that capture
# looks at calls.
SITE = """{pth}
if os.environ.get("PIJIT_AUTO"):
    import pijit
    def step(x): return pijit.ops.tanh(x) * 0.5 + x
    x = pijit.Tensor([1.0, 2.0])
    for _ in range(50): x = step(x)
"""


@pytest.mark.parametrize("test", INTERPRETER if os.environ.get("PIJIT_ALL_MODULES") else INTERPRETER[:2])
def test_under_automatic_capture(tmp_path, test):
    (tmp_path / "sitecustomize.py").write_text(SITE.format(pth=(ROOT / "pijit_auto.pth").read_text()))
    captured = failures(tmp_path, test, PIJIT_AUTO="1", PIJIT_STRICT="1")
    if captured is None:
        pytest.skip("this Python comes without its tests")
    if captured:
        captured -= failures(tmp_path, test)
    assert not captured
