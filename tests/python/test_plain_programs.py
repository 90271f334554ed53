"""Programs that once ran differently under jit than plainly: plain_programs.txt, run by plain_programs.py."""

import os
import pickle
import subprocess
import sys

import plain_programs
import pytest

import pijit


@pytest.fixture(scope="module")
def differences():
    paths = [os.path.dirname(os.path.dirname(pijit.__file__)), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run([sys.executable, plain_programs.__file__], capture_output=True, timeout=300, check=False,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in paths if p)})
    assert done.returncode == 0, done.stderr.decode()
    return pickle.loads(done.stdout)


@pytest.mark.parametrize(("name", "source"), [(name, source) for name, source, _ in plain_programs.programs()])
def test_program(differences, name, source):
    if differences[name]:
        plain, jitted = differences[name]
        assert plain == jitted, source
