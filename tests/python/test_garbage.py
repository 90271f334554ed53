"""Nothing that a user can pass crashes the process or shows a fault of ours."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
CALLS = int(os.environ.get("PIJIT_FUZZ", "1500"))


@pytest.mark.parametrize("seed", [1, 2] if CALLS == 1500 else range(10, 20))
def test_garbage(seed, tmp_path):
    last = tmp_path / "last"
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PIJIT_STRICT": "0"}
    if "ASAN_OPTIONS" in env:
        env["ASAN_OPTIONS"] += ":allocator_may_return_null=1"
    r = subprocess.run([sys.executable, "-m", "tests.python.garbage", str(seed), str(CALLS), str(last)],
                       capture_output=True, text=True, env=env, cwd=tmp_path, timeout=900)
    odd = [line for line in r.stdout.splitlines() if line.startswith(("odd:", "takes too long:"))]
    assert (r.returncode == 0
            and not odd), f"exit {r.returncode} at {last.read_text()}\n" + "\n".join(odd) + r.stderr[-2000:]
