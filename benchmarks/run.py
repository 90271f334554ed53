"""`make bench`: every case in every framework that is there, in one run; results are checked against each other.

Each case file (benchmarks/cases/*.py) holds one function per framework, written as plain user code:

    def pijit(size): ...   return step        (step() does the work once and returns a NumPy result, or is a Head)

and raises NotImplementedError where a framework does not serve a size. A case may say what a step must do at least:

    def work(size): ...    return {"bytes": n}     (read and written once)  or {"flops": n}

and each row tells then what share that is of the machine's bandwidth, as a copy of as many bytes by all cores has it,
or of its peak, as NumPy's product of float32 matrices has it. At the end come the ratios to the best peer.

A framework runs in a process of its own, with the Python that has it: the current one, or those listed in
PIJIT_BENCH_PYTHONS (colon-separated). All take their turns --rounds times, and each one's better round
counts: what else the machine does slows whole processes down. Arguments name cases, "numeric", or one size of them,
"numeric dot". With --isa avx2 every framework is asked to do without AVX-512, each in its own way. Reported per case:
first call, steady median and minimum, and the ratio of each peer's median to pijit's."""

import argparse
import concurrent.futures
import functools
import importlib.util
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent
NEEDS = {"pijit": "pijit", "eager": "pijit", "torch": "torch", "torch_compile": "torch", "jax": "jax", "numba": "numba",
         "numexpr": "numexpr", "numpy": "numpy", "mindspore": "mindspore",
         "mindspore_pijit": "mindspore"}
OWN = ("pijit", "eager")
AVX2 = {  # what each framework reads; torch.compile's code generator reads none of it (see worker)
    "PIJIT_ISA": "avx2",
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+sse4.2,+avx,+avx2,+fma,+bmi,+bmi2,+f16c,+lzcnt,+popcnt,+movbe",
    "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR",
}


@functools.cache
def bandwidth(total):
    """Bytes a second, read and written, of a copy by all cores that takes `total` bytes in all."""
    import numpy as np
    cores = len(os.sched_getaffinity(0))
    n = max(1, total // 2 // cores // 8)
    pairs = [(np.ones(n), np.empty(n)) for _ in range(cores)]
    reps = max(1, 2**28 // (16 * n * cores))

    def copy(pair):
        for _ in range(reps):
            np.copyto(pair[1], pair[0])
    with concurrent.futures.ThreadPoolExecutor(cores) as pool:
        list(pool.map(copy, pairs))
        times = []
        for _ in range(5):
            t = time.perf_counter()
            list(pool.map(copy, pairs))
            times.append(time.perf_counter() - t)
    return 16 * n * cores * reps / min(times)


@functools.cache
def peak():
    """Operations a second of NumPy's product of float32 matrices, on all cores."""
    import numpy as np
    n = 2048
    a, times = np.ones((n, n), np.float32), []
    for _ in range(5):
        t = time.perf_counter()
        a @ a
        times.append(time.perf_counter() - t)
    return 2 * n**3 / min(times)


def share(work, seconds):
    if not work:
        return ""
    if "bytes" in work:
        return f"   {work['bytes'] / seconds / bandwidth(work['bytes']) * 100:3.0f} % of bandwidth"
    return f"   {work['flops'] / seconds / peak() * 100:3.0f} % of peak"


def load(case):
    spec = importlib.util.spec_from_file_location(case, HERE / "cases" / f"{case}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def worker(case, framework, size):
    """Runs one case and prints a line of JSON."""
    import numpy as np
    module = load(case)
    if framework == "torch_compile" and os.environ.get("PIJIT_ISA") == "avx2":
        import torch._inductor.config
        torch._inductor.config.cpp.simdlen = 256
    step = getattr(module, framework)(size)
    t = time.perf_counter()
    result = step()
    first = time.perf_counter() - t
    if hasattr(step, "head"):
        result = step.head(result)
    t = time.perf_counter()
    step()
    # Short calls are timed many at a time: the clock's own time counts, and so does how fast the processor has become.
    reps = max(getattr(module, "CALLS", 1), int(1e-4 / (time.perf_counter() - t)))
    times = []
    deadline = time.perf_counter() + getattr(module, "SECONDS", 2.0)
    warm = 5
    while len(times) < 15 or (time.perf_counter() < deadline and len(times) < 400):
        t = time.perf_counter()
        for _ in range(reps):
            step()
        times.append((time.perf_counter() - t) / reps)
        if warm:
            warm -= 1
            times.clear()
    print(json.dumps({"first": first, "median": statistics.median(times), "min": min(times),
                      "result": np.asarray(result, np.float64).reshape(-1)[:64].tolist()}))


def pythons():
    return [sys.executable] + [p for p in os.environ.get("PIJIT_BENCH_PYTHONS", "").split(":") if p]


def find_python(package):
    for p in pythons():
        if subprocess.run([p, "-c",
                           f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"],
                           cwd="/", env={**os.environ, "PYTHONPATH": str(ROOT) if package == "pijit" else ""},
                          capture_output=True).returncode == 0:
            return p
    return None


def call(command, env, limit):
    """The finished process, or None where it took more seconds than that: then what it started is ended, too."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
                               start_new_session=True)
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def main():
    parser = argparse.ArgumentParser(description="pijit against its peers, case by case")
    parser.add_argument("cases", nargs="*", metavar="CASE",
                        help='a case ("numeric") or one size of it ("numeric dot"); all if none is named')
    parser.add_argument("--rounds", type=int, default=2, help="turns of every framework; its better one counts")
    parser.add_argument("--without", default="", metavar="FRAMEWORK,...", help="frameworks to leave out")
    parser.add_argument("--limit", type=int, default=300, metavar="SECONDS", help="for one framework and case")
    parser.add_argument("--isa", choices=["avx2"], help="ask every framework for this instruction set")
    options = parser.parse_args()
    only = options.cases
    if options.isa:
        os.environ.update(AVX2)
    for framework in filter(None, options.without.split(",")):
        if NEEDS.pop(framework, None) is None:
            sys.exit(f"--without: no framework is called {framework}; there are {', '.join(NEEDS)}")
    import numpy as np
    available, ratios = {}, {}
    for framework, package in NEEDS.items():
        available[framework] = find_python(package)
    for path in sorted((HERE / "cases").glob("*.py")):
        case = path.stem
        module = load(case)
        for size in getattr(module, "SIZES", [None]):
            if only and case not in only and f"{case} {size}" not in only:
                continue
            print(f"\n{case}{'' if size is None else f' [{size}]'}: {module.__doc__.splitlines()[0]}")
            rows, reference = {}, None
            work = module.work(size) if hasattr(module, "work") else {}
            for framework in list(NEEDS) * options.rounds:
                if not hasattr(module, framework) or not available[framework]:
                    continue
                env = {**os.environ, "PYTHONPATH": str(ROOT) if NEEDS[framework] == "pijit" else ""}
                command = [available[framework], str(HERE / "run.py"), "--worker", case, framework, json.dumps(size)]
                r = call(command, env, options.limit)
                if r is None:  # one peer's compiler must not end the run
                    print(f"  {framework:16} took over {options.limit} s")
                    continue
                if "NotImplementedError" in r.stderr:
                    continue
                if r.returncode:
                    print(f"  {framework:16} failed: "
                          f"{r.stderr.strip().splitlines()[-1] if r.stderr.strip() else r.returncode}")
                    continue
                row = json.loads(r.stdout.strip().splitlines()[-1])
                if framework not in rows or row["median"] < rows[framework]["median"]:
                    rows[framework] = row
            for framework, row in rows.items():
                result = np.array(row["result"])
                if reference is None:
                    reference = result
                same = np.allclose(result, reference, rtol=2e-3, atol=1e-4) or getattr(module, "CHECK", True) is False
                base = rows["pijit"]["median"] if "pijit" in rows else float("nan")
                print(f"  {framework:16} first {row['first'] * 1e3:10.2f} ms   median {row['median'] * 1e6:12.2f} us  "
                      f" min {row['min'] * 1e6:12.2f} us   {row['median'] / base:7.2f}x"
                      + share(work, row["median"]) + ("" if same else "   RESULT DIFFERS"), flush=True)
            peers = {framework: row["median"] for framework, row in rows.items() if framework not in OWN}
            if "pijit" in rows and peers:
                best = min(peers, key=peers.get)
                ratios[f"{case} {size or ''}"] = (rows["pijit"]["median"] / peers[best], best)
    if ratios:
        print(f"\npijit's time as a share of the best peer's; geometric mean "
              f"{statistics.geometric_mean(r for r, _ in ratios.values()):.2f}")
        for name, (ratio, best) in sorted(ratios.items(), key=lambda item: item[1]):
            print(f"  {ratio:6.2f}  {name:40} {best}")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "--worker":
        worker(sys.argv[2], sys.argv[3], json.loads(sys.argv[4]))
    else:
        main()
