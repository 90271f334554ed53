"""Kernels under NVIDIA's compute-sanitizer: tools/gpu/visit.sh sanitizer. A process per tool and test of
tests/cuda/program.py, those with kernels of our own first; what had no time is named."""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "cuda" / "program.py"
FIRST = ["test_sorts_and_scans", "test_gathers_and_scatters", "test_moves", "test_ops", "test_windows",
         "test_products_by_tiles", "test_branches", "test_whole_steps_are_one_launch"]
TOOLS = ["memcheck", "racecheck", "synccheck", "initcheck"]
SECONDS = 140


def main(out):
    begin = time.monotonic()
    tool = shutil.which("compute-sanitizer", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")
    if tool is None:
        print("left out: compute-sanitizer is neither on PATH nor in /usr/local/cuda/bin")
        return
    names = re.findall(r"^def (test_\w+)", PROGRAM.read_text(encoding="utf-8"), re.M)
    tasks = [(t, n) for n in FIRST + [n for n in names if n not in FIRST and n != "test_errors"] for t in TOOLS]

    def run(task):
        kind, name = task
        left = SECONDS - (time.monotonic() - begin)
        if left < 5:
            return *task, "no time", ""
        command = [tool, "--tool", kind, "--error-exitcode", "9", "--print-limit", "5", sys.executable, PROGRAM, name]
        try:
            r = subprocess.run(command, capture_output=True, text=True, timeout=left)
        except subprocess.TimeoutExpired:
            return *task, "not ended", ""
        return *task, r.returncode, r.stdout + r.stderr
    counts = {}
    with concurrent.futures.ThreadPoolExecutor(max(2, (os.cpu_count() or 4) - 2)) as pool, \
            open(f"{out}/sanitizer-reports.txt", "w", encoding="utf-8") as log:
        for kind, name, status, text in pool.map(run, tasks):
            counts[kind, status] = counts.get((kind, status), 0) + 1
            said = " ".join(re.findall(r"ERROR SUMMARY: .*|RACECHECK SUMMARY: .*", text))
            log.write(f"== {kind} {name}: {status} {said}\n" + (text[:20000] if status else "") + "\n")
            if status:
                print(f"{kind} {name}: {status} {said}", flush=True)
    print(counts)


if __name__ == "__main__":
    main(sys.argv[1])
