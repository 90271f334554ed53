"""NumPy's own tests with each test function jitted: some here, all by `make test-numpy`."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.serial
@pytest.mark.skipif(not (pathlib.Path(np.__file__).parent / "_core" / "tests").is_dir(),
                    reason="NumPy without its tests")
@pytest.mark.parametrize("package, files", [("numpy._core", ["test_numeric.py", "test_api.py", "test_shape_base.py"]),
                                            ("numpy.lib", ["test_twodim_base.py", "test_shape_base.py"])])
def test_some(package, files):
    r = subprocess.run([sys.executable, "-m", "tests.python.jitted_tests", "--jobs", "2", package, *files], cwd=ROOT,
                       capture_output=True, text=True, timeout=600)
    assert r.returncode == 0, r.stdout[-6000:] + r.stderr[-3000:]
