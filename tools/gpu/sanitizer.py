"""Kernels under NVIDIA's compute-sanitizer: tools/gpu/visit.sh sanitizer gives it the folder of results and seconds. A
process per tool and test of tests/cuda/program.py, those with kernels of our own first; what had no time is named, and
what was found comes with its program."""

import concurrent.futures
import os
import re
import shutil
import sys
import time

import failures

PROGRAM = failures.ROOT / "tests" / "cuda" / "program.py"
FIRST = ["test_sorts_and_scans", "test_gathers_and_scatters", "test_moves", "test_ops", "test_windows",
         "test_products_by_tiles", "test_branches", "test_whole_steps_are_one_launch"]
TOOLS = ["memcheck", "racecheck", "synccheck", "initcheck"]


def main(out, seconds):
    end = time.monotonic() + seconds - 10
    tool = shutil.which("compute-sanitizer", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")
    if tool is None:
        print("left out: compute-sanitizer is neither on PATH nor in /usr/local/cuda/bin")
        return
    failures.ends_with_its_processes()
    names = re.findall(r"^def (test_\w+)", PROGRAM.read_text(encoding="utf-8"), re.M)
    names = [n for n in FIRST if n in names] + [n for n in names if n not in FIRST and n != "test_errors"]
    tasks = [(t, n) for n in names for t in TOOLS]

    def run(task):
        kind, name = task
        left = end - time.monotonic()
        if left < 5:
            return *task, "no time", ""
        command = [tool, "--tool", kind, "--error-exitcode", "9", "--print-limit", "5", sys.executable,
                   "tests/cuda/program.py", name]
        status, text, _ = failures.call(command, left)
        if status:
            failures.keep(out, "sanitizer", f"{kind} {name}",
                          failures.of_script(PROGRAM, name, without_end=True), command, status, text)
        return *task, status, text
    counts = {}
    with concurrent.futures.ThreadPoolExecutor(max(2, (os.cpu_count() or 4) - 2)) as pool:
        for kind, name, status, text in pool.map(run, tasks):
            counts[kind, status] = counts.get((kind, status), 0) + 1
            said = " ".join(re.findall(r"ERROR SUMMARY: .*|RACECHECK SUMMARY: .*", text))
            if status:
                print(f"{kind} {name}: {failures.told(status)} {said}", flush=True)
    print(counts)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
