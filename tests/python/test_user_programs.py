"""Programs as users write them, of tests/scripts: decorated functions print what plain ones print, in few captures."""

import contextlib
import io
import pathlib
import runpy

import pytest

import pijit as ms
from tests.python.pairs import pairs

SCRIPTS = pathlib.Path(__file__).resolve().parents[1] / "scripts"
# The most breaks and captures of each decorated function.
PROGRAMS = {
    "metrics_and_schedules": [(0, 4), (0, 1)],
    "registry_and_callbacks": [(1, 8), (0, 4)],
    "replay_and_counters": [(12, 20), (0, 8)],
}


def ran(name, jit):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        functions = runpy.run_path(str(SCRIPTS / f"{name}.py"))["main"](jit)
    return out.getvalue(), functions


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    plain, _ = ran(name, lambda f: f)
    jitted, functions = ran(name, ms.jit)
    assert jitted == plain
    for f, (breaks, captures) in pairs(functions, PROGRAMS[name]):
        e = ms.explain(f)
        assert len(e.breaks) <= breaks and e.compile_count <= captures, e
