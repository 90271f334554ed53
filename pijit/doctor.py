"""`pijit doctor`: what pijit finds on this machine, whether capture works, and what is known to go wrong.

    pijit doctor [--json] [--with MODULE ...]

The same by `python -m pijit.doctor`. `--with torch` imports that module as well, before it looks at which OpenMP
runtimes there are. The exit code is 1 where there is a problem."""

import difflib
import json
import os
import platform
import re
import sys
import sysconfig
from typing import Any

USAGE = """usage: pijit doctor [--json] [--with MODULE ...]

Says what pijit finds on this machine, whether capture works here, and what is known to go wrong.

options:
  --json          as JSON, for a report of a fault
  --with MODULE   import this module first, e.g. torch (may be given again)
  -h, --help
"""
# Variables that are no options of the compiler (csrc/base/config.def).
VARIABLES = {"PIJIT_AUTO", "PIJIT_AUTO_INCLUDE", "PIJIT_AUTO_EXCLUDE", "PIJIT_AUTO_REPORT", "PIJIT_AUTO_TRACE",
             "PIJIT_AS", "PIJIT_MINDSPORE", "PIJIT_PEERS", "PIJIT_CUDA_LIBRARIES", "PIJIT_COMM_TIMEOUT"}
OPENMP = re.compile(r"/(lib(?:gomp|iomp5|omp|mkl_rt)[^/]*\.so[^/]*)$")
FLAGS = ("avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_bf16", "avx512_fp16", "amx_tile")


def doctor(modules: "tuple[str, ...]" = ()) -> "dict[str, Any]":
    """What there is, as a dict by section ("python", "processor", "threads", "openmp", "devices", "capture",
    "environment"), and "problems": sentences that each say what to do.

    Args:
        modules (tuple of str): modules that are imported first.

    Raises:
        ImportError: one of them cannot be imported, or pijit cannot."""
    for name in modules:
        __import__(name)
    import numpy

    import pijit
    from pijit import _C

    problems: "list[str]" = []
    options = {variable: name for name, _, variable, _ in _C.option_table()}
    return {
        "pijit": {"version": pijit.__version__, "path": os.path.dirname(pijit.__file__)},
        "python": {"version": platform.python_version(), "implementation": platform.python_implementation(),
                   "executable": sys.executable, "debug build": bool(sysconfig.get_config_var("Py_DEBUG")),
                   "numpy": numpy.__version__, "libc": " ".join(platform.libc_ver()),
                   "system": platform.platform()},
        "processor": _processor(_C, problems),
        "threads": _threads(_C, problems),
        "openmp": _openmp(problems),
        "devices": _devices(_C),
        "capture": _capture(pijit, problems),
        "environment": _environment(_C, options, problems),
        "problems": problems}


def _lines(path: str) -> "list[str]":
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read().splitlines()
    except OSError:
        return []


def _processor(_C: Any, problems: "list[str]") -> "dict[str, Any]":
    about = dict(line.split(":", 1) for line in _lines("/proc/cpuinfo")[:40] if ":" in line)
    about = {k.strip(): v.strip() for k, v in about.items()}
    has = set(about.get("flags", "").split())
    used = {16: "avx512", 8: "avx2"}.get(_C.channel_block(), "none")
    asked = _C.get_option("isa")
    if used == "none" and asked != "none":
        problems.append("Kernels use no vector instructions: this processor or virtual machine shows no AVX2. Choose "
                        "a machine, or a model of virtual processor, that has it.")
    return {"model": about.get("model name", platform.processor() or "unknown"),
            "instructions": [f for f in FLAGS if f in has], "kernels use": used,
            "PIJIT_ISA": asked or None}


def _quota() -> "float | None":
    """Processors that a control group allows, where it limits them."""
    for line in _lines("/sys/fs/cgroup/cpu.max")[:1]:
        quota, _, period = line.partition(" ")
        if quota.isdigit() and period.isdigit():
            return int(quota) / int(period)
    return None


def _threads(_C: Any, problems: "list[str]") -> "dict[str, Any]":
    usable, quota = len(os.sched_getaffinity(0)), _quota()
    asked = {v: os.environ[v] for v in ("OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OMP_DYNAMIC", "OMP_PROC_BIND",
                                        "OMP_WAIT_POLICY", "PIJIT_NUM_THREADS") if v in os.environ}
    given = _C.get_option("num_threads")
    count = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    threads = int(given) if given.isdigit() and int(given) else int(count) if count.isdigit() else usable
    limit = min(usable, quota or usable)
    if threads > limit:
        problems.append(f"Kernels start {threads} threads, and {limit:g} processors may be used: they wait for one "
                        f"another. Set OMP_NUM_THREADS={max(1, int(limit))}.")
    return {"processors": os.cpu_count(), "usable": usable, "quota": quota, "of a kernel": threads, "variables": asked}


def _openmp(problems: "list[str]") -> "list[str]":
    paths = sorted({line.split(None, 5)[-1] for line in _lines("/proc/self/maps") if OPENMP.search(line)})
    kinds = {re.match(r"lib[a-z]+5?", os.path.basename(p)).group() for p in paths}  # pyright: ignore
    if len(paths) > 1:
        problems.append("Several OpenMP runtimes are loaded (" + ", ".join(os.path.basename(p) for p in paths) +
                        "): each keeps threads of its own, and they disturb one another. Set OMP_NUM_THREADS so that "
                        "together they have no more than the processors, or OMP_WAIT_POLICY=passive." +
                        (" Import pijit first." if len(kinds) > 1 else ""))
    return paths


def _devices(_C: Any) -> "dict[str, Any]":
    import ctypes.util
    return {"there are": list(_C.devices()), "NVIDIA's driver": ctypes.util.find_library("cuda"),
            "plug-ins": sorted(f for f in os.listdir(os.path.dirname(__file__)) if f.startswith("libpijit_"))}


def _capture(pijit: Any, problems: "list[str]") -> "dict[str, Any]":
    """Captures a function, and says whether that worked."""
    if sys.gettrace() or sys.getprofile():
        problems.append("A debugger, profiler or coverage tool traces this process: functions run plainly meanwhile.")

    def f(x: Any) -> Any:
        return (x * 2 + 1).sum()
    g = pijit.jit(f)
    x = pijit.ops.ones((4, 4))
    same = all(float(g(x).asnumpy()) == float(f(x).asnumpy()) for _ in range(3))
    e = pijit.explain(g)
    works = bool(e.graphs) and same
    if not works:
        problems.append("A function that is one graph elsewhere was " + ("captured with a wrong result." if e.graphs
                        else "not captured: " + "; ".join(str(b) for b in e.breaks) or "no reason is known.") +
                        " Please report this with the output of `pijit doctor --json`.")
    dynamo = sys.modules.get("torch._dynamo")
    if dynamo:
        problems.append("torch.compile is loaded: it sets CPython's frame hook, too. A function that one of the two "
                        "has compiled is not seen by the other.")
    return {"works": works, "graphs": len(e.graphs), "torch.compile is loaded": bool(dynamo)}


def _environment(_C: Any, options: "dict[str, str]", problems: "list[str]") -> "dict[str, str]":
    found = {k: v for k, v in sorted(os.environ.items()) if k.startswith("PIJIT_")}
    known = VARIABLES | set(options)
    for name in found:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            problems.append(f"{name} is no variable of pijit's" + (f": is {near[0]} meant?" if near else "."))
    if os.environ.get("PIJIT_GUARD"):
        problems.append("PIJIT_GUARD puts each buffer beside a page without access: all is slow. It is for tests.")
    if os.environ.get("PIJIT_BACKEND") == "reference":
        problems.append("PIJIT_BACKEND=reference: only the reference kernels compute, which are slow.")
    return found


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}={v}" for k, v in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)


def _text(found: "dict[str, Any]") -> str:
    lines = []
    for section, value in found.items():
        if section == "problems":
            continue
        lines.append(section)
        for k, v in (value.items() if isinstance(value, dict) else [("loaded", value)]):
            lines.append(f"  {k}: {_shown(v)}")
        if not value:
            lines.append("  nothing is set" if section == "environment" else "  none")
    lines.append("")
    problems = found["problems"]
    lines += ["problems"] + [f"  {p}" for p in problems] if problems else ["no problem found"]
    return "\n".join(lines) + "\n"


def main(argv: "list[str] | None" = None) -> int:
    """Prints what `doctor` finds; 1 where there is a problem, 2 for arguments that are not understood."""
    rest, as_json, modules = list(sys.argv[1:] if argv is None else argv), False, []
    while rest:
        word = rest.pop(0)
        if word in ("-h", "--help"):
            sys.stdout.write(USAGE)
            return 0
        if word == "--json":
            as_json = True
        elif word == "--with" and rest:
            modules.append(rest.pop(0))
        elif word.startswith("--with="):
            modules.append(word[7:])
        else:
            sys.stderr.write(USAGE.splitlines()[0] + f"\npijit doctor: error: {word}: not understood\n")
            return 2
    try:
        found = doctor(tuple(modules))
    except ImportError as e:
        sys.stderr.write(f"pijit doctor: {e}\n")
        return 1
    sys.stdout.write(json.dumps(found, indent=2) + "\n" if as_json else _text(found))
    return 1 if found["problems"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
