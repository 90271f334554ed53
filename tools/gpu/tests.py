"""Tests on a GPU, side by side: tools/gpu/visit.sh tests gives it a folder and seconds. First each test of
tests/cuda/program.py in a process of its own, then files of tests/python with all Tensors on the GPU. What fails is
written to the folder, and its end shown."""

import concurrent.futures
import contextlib
import importlib.util
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "cuda" / "program.py"
FILES = """ops more_ops indexed fft linalg layouts branches loops_in_gradients regions_on_tape nn train training halves
  numerics recurrent_layers recurrent_primitives integer_gradients own_gradients complex composite mint dtype_rules
  mixed_precision models vmap views special probability short_axes training_programs user_programs sparse families
  stored_columns graph_numbers wrong_operands threads lifetimes effects dlpack devices""".split()


def one(name):
    begin = time.perf_counter()
    try:
        r = subprocess.run([sys.executable, PROGRAM, name], capture_output=True, text=True, timeout=100)
        status, text = r.returncode, r.stdout + r.stderr
    except subprocess.TimeoutExpired as e:
        status, text = "timeout", str(e.stdout) + str(e.stderr)
    return name, status, text, time.perf_counter() - begin


def main(out, seconds):
    deadline = time.monotonic() + seconds - 10
    names = re.findall(r"^def (test_\w+)", PROGRAM.read_text(encoding="utf-8"), re.M)
    with concurrent.futures.ThreadPoolExecutor(12) as pool, open(f"{out}/program.txt", "w", encoding="utf-8") as log:
        bad = 0
        for name, status, text, seconds in pool.map(one, names):
            if status:
                bad += 1
                print(f"{name}: {status}\n{text[-900:]}", flush=True)
            log.write(f"== {name}: {status}, {seconds:.1f} s\n{text if status else ''}\n")
        print(f"program.py: {len(names) - bad} of {len(names)} pass", flush=True)
    files = [f for n in FILES if (f := ROOT / "tests" / "python" / f"test_{n}.py").exists()]
    env = {**os.environ, "PIJIT_TEST_DEVICE": "GPU", "PIJIT_STRICT": "1", "OMP_NUM_THREADS": "1",
           "PIJIT_CUDA_SYNC": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "--durations=12", "-p", "no:cacheprovider", "-rfE",
               *map(str, files)]
    if importlib.util.find_spec("xdist"):
        command += ["-n", str(max(2, (os.cpu_count() or 4) - 2)), "--dist", "worksteal"]
    else:
        print("one after the other, as pytest-xdist is not here", flush=True)
    with open(f"{out}/pytest.txt", "w", encoding="utf-8") as log:
        tests = subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=subprocess.STDOUT)
        try:
            tests.wait(max(1.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:  # what failed so far is told then
            tests.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                tests.wait(8)
    print(pathlib.Path(f"{out}/pytest.txt").read_text(encoding="utf-8")[-3000:])


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
