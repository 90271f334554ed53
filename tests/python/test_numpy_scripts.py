"""The programs of examples/numpy, whose functions run plain and behind @jit: results are the same to the bit."""

import importlib.util
import pathlib
import types

import pytest

import pijit
from tests.python.differential import freeze

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "numpy"
PROGRAMS = sorted(p.stem for p in FOLDER.glob("*.py"))
# Fully captured, but for loops in Python.
WHOLE = {"options": ("black_scholes", "paths", "asian", "up_and_out", "price"), "wave2d": ("laplacian", "energy"),
         "softmax_regression": ("softmax", "loss_and_gradient"), "heat1d": ("step", "total"),
         "kalman": ("predict",), "averages": ("sharpe",)}


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
    for n in WHOLE.get(name, ()):
        e = pijit.explain(jitted[n])
        assert not e.breaks and (e.graphs or not e.compile_count), e
