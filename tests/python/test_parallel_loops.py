"""Loops whose turns threads share: results, memory, exceptions and warnings are those of their turns one by one."""

import subprocess
import sys

import numpy as np
import pytest

import pijit as ms
from tests.python.parallel_loops import ParallelLoop
from tests.python.test_vector_loops import loaded, seen


@pytest.fixture
def always():
    before = ms.get_option("parallel_loops")
    ms.set_option("parallel_loops", "always")
    yield
    ms.set_option("parallel_loops", before)


def compare(program, seeds):
    """How many turns were shared."""
    function = loaded(program.text)
    jitted = ms.jit(function)
    for k in seeds:
        wanted = seen(function, program.arguments(k))
        for _ in range(2):
            assert seen(jitted, program.arguments(k)) == wanted, (k, program.text)
    return sum(r["shared_turns"] for r in ms.explain(jitted).regions)


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_generated_nests(first, always):
    loops = 0
    for seed in range(first, first + 50):
        loops += compare(ParallelLoop(seed), range(12 * seed, 12 * seed + 12)) > 0
    assert loops >= 5
