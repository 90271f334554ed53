"""examples/programs: what each program prints is what real MindSpore 2.10 prints (facts_programs.json), numbers within
the tolerance of float32; captured, and in GRAPH_MODE. The facts are what

    <Python with MindSpore 2.10> tests/python/test_package_programs.py [programs]

finds."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve()
FOLDER = HERE.parents[2] / "examples" / "programs"
FACTS = HERE.with_name("facts_programs.json")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
COARSE = {"accumulate": 1e-2, "generate": 1e-2}  # in half precision; with steps as large as gradients are small


def printed(command, name, *args):
    path = os.pathsep.join([str(HERE.parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory() as folder:  # MindSpore writes some files where it is
        r = subprocess.run([sys.executable, *command, str(FOLDER / f"{name}.py"), *args], cwd=folder, env=env,
                           capture_output=True, text=True, timeout=1000)
    assert r.returncode == 0, r.stderr[-2000:]
    return r.stdout.splitlines()


if __name__ == "__main__":
    known = json.loads(FACTS.read_text()) if FACTS.exists() else {}
    for known_name in sys.argv[1:] or sorted(path.stem for path in FOLDER.glob("*.py")):
        known[known_name] = printed([], known_name)
        FACTS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    raise SystemExit

import numpy as np  # noqa: E402
import pytest  # noqa: E402

KNOWN = json.loads(FACTS.read_text())


def test_there_are_facts_of_each_program():
    assert sorted(KNOWN) == sorted(path.stem for path in FOLDER.glob("*.py"))


@pytest.mark.parametrize("way", ["captured", "graph mode"])
@pytest.mark.parametrize("name", KNOWN)
def test_program(name, way):
    lines = printed(["-m", "pijit", "--as", "mindspore"], name, *(["--mode", "graph"] if way == "graph mode" else []))
    assert [NUMBER.sub("#", line) for line in lines] == [NUMBER.sub("#", line) for line in KNOWN[name]]
    for ours, theirs in zip(lines, KNOWN[name]):
        np.testing.assert_allclose([float(v) for v in NUMBER.findall(ours)], [float(v) for v in NUMBER.findall(theirs)],
                                   rtol=2e-3, atol=COARSE.get(name, 2e-3), err_msg=ours)
