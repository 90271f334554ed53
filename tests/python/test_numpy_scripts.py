"""The programs of examples/numpy, whose functions run plain, behind @jit, as samples find them and under
`python -m pijit`: results are the same to the bit."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import time
import types

import numpy as np
import pytest

import pijit
from tests.python.differential import freeze

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "numpy"
PROGRAMS = sorted(p.stem for p in FOLDER.glob("*.py"))
# Fully captured, but for loops in Python.
WHOLE = {"options": ("black_scholes", "paths", "asian", "up_and_out", "price"), "wave2d": ("laplacian", "energy"),
         "softmax_regression": ("softmax", "loss_and_gradient"), "heat1d": ("step", "total"),
         "kalman": ("predict",), "averages": ("sharpe",),
         "bootstrap": ("moments", "bootstrap", "correlation", "density"),
         "burgers": ("upwind", "lax_wendroff", "limited", "variation"), "dynamic": ("floyd",),
         "factors": ("gram_schmidt", "householder"), "ising": ("around",), "kmeans": ("distances", "assign", "inertia"),
         "life": ("step", "step_on_torus"), "lorenz": ("lorenz", "oscillators", "energy"),
         "mandelbrot": ("turns", "boundary"), "montecarlo": ("integral", "walk", "log_density"),
         "nbody": ("accelerations",), "network": ("gradients", "adam"), "pca": ("standardize", "covariance"),
         "poisson2d": ("apply", "residual", "jacobi", "red_black"), "splines": ("linear", "lagrange", "spline")}


def load(name):
    spec = importlib.util.spec_from_file_location(f"numpy_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_script_of_arrays(name):
    wanted = freeze(load(name).main())
    module = load(name)
    jitted = {n: pijit.jit(f) for n, f in vars(module).items() if isinstance(f, types.FunctionType) and n != "main"}
    vars(module).update(jitted)
    for _ in range(4):
        assert freeze(module.main()) == wanted
    # NumPy up to 2.2 adds up long axes by parts, which is left to it
    for n in WHOLE.get(name, ()) if np.lib.NumpyVersion(np.__version__) >= "2.3.0" else ():
        e = pijit.explain(jitted[n])
        assert not e.breaks and (e.graphs or e.regions or not e.compile_count), e


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_script_whose_functions_samples_find(name):
    module = load(name)
    wanted = freeze(module.main())
    with pijit.enabled():
        end = time.process_time() + 1
        while time.process_time() < end:
            assert freeze(module.main()) == wanted


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_script_under_the_command_line(name):
    environment = {**os.environ, "PYTHONPATH": str(FOLDER.parents[1]), "OMP_NUM_THREADS": "1"}
    said = [subprocess.run([sys.executable, *way, str(FOLDER / f"{name}.py")], env=environment, capture_output=True,
                           text=True, timeout=120) for way in ([], ["-m", "pijit"])]
    assert said[0].returncode == said[1].returncode == 0, said[1].stderr
    assert said[0].stdout == said[1].stdout and said[0].stdout
