"""CPython's own tests pass on jitted standard library modules: some here, all by `make test-cpython`."""

import os
import pathlib
import subprocess
import sys

import pytest

from tests.python.stdlib import QUICK, TESTS

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize("module", TESTS if os.environ.get("PIJIT_ALL_MODULES") else QUICK)
def test_module(module):
    env = {**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", str(ROOT)), "PIJIT_STRICT": "1"}
    r = subprocess.run([sys.executable, "-m", "tests.python.stdlib", module], capture_output=True, text=True, env=env, cwd=ROOT, timeout=600)
    if r.returncode == 2:
        pytest.skip("this Python comes without its tests")
    assert r.returncode == 0, f"exit {r.returncode}\n{r.stdout[-4000:]}{r.stderr[-2000:]}"
