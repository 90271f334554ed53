"""examples/training: what each program prints is what MindSpore 2.7.1 prints (facts_training.json), numbers within the
tolerance of float32; in graph mode it prints the very same."""

import json
import pathlib
import re
import runpy

import numpy as np
import pytest

import pijit as ms
from pijit import compat

ROOT = pathlib.Path(__file__).parents[2]
FACTS = json.loads(pathlib.Path(__file__).with_name("facts_training.json").read_text())
NUMBER = re.compile(r"\d+\.\d+(?:e-?\d+)?")


@pytest.mark.parametrize("name", FACTS)
def test_program(name, capsys):
    before, was = ms.get_context("mode"), compat._installed
    compat.install()
    printed = []
    try:
        program = runpy.run_path(str(ROOT / "examples" / "training" / f"{name}.py"), run_name="program")
        for mode in ("pynative", "graph"):
            ms.set_seed(1)
            program["main"](["--mode", mode])
            printed.append([line for line in capsys.readouterr().out.splitlines() if "epoch time" not in line])
    finally:
        if not was:
            compat.uninstall()
        ms.set_context(mode=before)
    assert printed[0] == printed[1]
    assert [NUMBER.sub("#", line) for line in printed[0]] == [NUMBER.sub("#", line) for line in FACTS[name]]
    for ours, theirs in zip(printed[0], FACTS[name]):
        np.testing.assert_allclose([float(v) for v in NUMBER.findall(ours)], [float(v) for v in NUMBER.findall(theirs)],
                                   rtol=2e-3, atol=2e-4, err_msg=ours)
