"""Commands of a shell on pages: each runs here, or a line says why not."""

import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(?:sh|bash|console)\n(.*?)^```$", re.M | re.S)
NOT_RUN = {
    r"(PIJIT_BENCH_PYTHONS=\S+ )?make bench(-\w+)?\b.*": "benchmarks take hours",
    r"make (build|wheels)": "tests run in what the first has built; `make test-wheel` builds wheels",
    r"python -m pip install dist/.*": "`make test-wheel` and `make test-clean-root` do it, away from the sources",
    r"export PYTHONPATH=\$PWD": "all tests run so",
    r"(PIJIT_PERF=1 )?perf .*": "test_other_tools.py, where perf may record",
}
PROGRAM = "import sys\nfrom pijit import ops\nprint(ops.tanh(ops.ones(3)).sum())\n"


def commands():
    for page in PAGES:
        for block in BLOCK.findall(page.read_text(encoding="utf-8")):
            for line in block.splitlines():
                if line.strip() and not line.startswith("#"):
                    yield pytest.param(re.split(r"\s+# ", line)[0].strip(), id=f"{page.name}: {line[:50]}")


@pytest.mark.parametrize("command", commands())
def test_command(command, tmp_path):
    if any(re.fullmatch(pattern, command) for pattern in NOT_RUN):
        return
    for name in ("program.py", "energy.py", "reaction.py"):
        (tmp_path / name).write_text(PROGRAM)
    (tmp_path / "pijit").write_text(f"#!/bin/sh\nexec {sys.executable} {ROOT}/_pijit_command.py \"$@\"\n")
    (tmp_path / "pijit").chmod(0o755)
    words = shlex.split(command)
    words[0] = {"python": sys.executable, ".venv/bin/python": sys.executable}.get(words[0], words[0])
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{tmp_path}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    for name in [n for n in env if n.startswith("PIJIT_")]:
        del env[name]  # the doctor names those that are for tests
    r = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert r.returncode == 0, r.stdout + r.stderr


def test_reasons_are_used():
    told = [p.values[0] for p in commands()]
    assert len(told) > 10 and all(any(re.fullmatch(pattern, c) for c in told) for pattern in NOT_RUN)
