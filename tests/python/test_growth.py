"""Programs that do something new each time hold no more and more memory (growth.py); make test-memory takes larger numbers."""

import os
import pathlib
import subprocess
import sys

import pytest

from tests.python import growth

ROOT = pathlib.Path(__file__).parents[2]
ALL = "PIJIT_ALL_GROWTH" in os.environ
OPTIONS = {} if ALL else {"PIJIT_PROGRAM_BYTES": str(1 << 20), "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64"}
NUMBERS = {"constants": (1000, 9000, 3), "callees": (400, 1600, 12)}  # turns, turns, MB


@pytest.mark.skipif("ASAN_OPTIONS" in os.environ, reason="the sanitizer keeps freed memory")
@pytest.mark.parametrize("kind", growth.KINDS)
def test_memory_comes_back(kind):
    few, many, most = (10**4, 10**5, 20) if ALL else NUMBERS.get(kind, (400, 1600, 3))
    env = {**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", str(ROOT)), "PIJIT_VERIFY": "0", "MALLOC_ARENA_MAX": "1", **OPTIONS}
    r = subprocess.run([sys.executable, "-m", "tests.python.growth", kind, str(few), str(many)], capture_output=True, text=True, env=env, cwd=ROOT, timeout=3600)
    assert r.returncode == 0, r.stderr[-2000:]
    more = int(r.stdout.split()[0]) / 2**20
    print(f"{kind}: {more:.1f} MB more after {many} than after {few}")
    assert more < most, f"{more:.1f} MB more after {many} than after {few}"
