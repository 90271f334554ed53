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
import threading
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
FRAME_HOOK = re.compile(r"_C\.[^/]*\.so$")  # ours
ALLOCATOR = re.compile(r"(jemalloc|tcmalloc|mimalloc|hoard|snmalloc|rpmalloc|tbbmalloc)")
CHECKER = re.compile(r"lib(asan|ubsan|tsan|lsan|msan|duma|efence|dmalloc)|vgpreload|heaptrack|memray")
FLAGS = ("avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_bf16", "avx512_fp16", "amx_tile")


def doctor(modules: "tuple[str, ...]" = ()) -> "dict[str, Any]":
    """What there is, as a dict by section ("python", "processor", "threads", "openmp", "memory", "devices",
    "capture", "environment"), and "problems": sentences that each say what to do.

    Args:
        modules (tuple of str): modules that are imported first.

    Raises:
        ImportError: one of them cannot be imported, or pijit cannot."""
    for name in modules:
        __import__(name)
    import pijit
    from pijit import _C

    problems: "list[str]" = []
    options = {variable: name for name, _, variable, _ in _C.option_table()}
    return {
        "pijit": {"version": pijit.__version__, "path": os.path.dirname(pijit.__file__)},
        "python": _python(problems),
        "processor": _processor(_C, problems),
        "threads": _threads(_C, problems),
        "openmp": _openmp(problems),
        "memory": _memory(problems),
        "devices": _devices(_C, problems),
        "capture": _capture(pijit, problems),
        "environment": _environment(_C, options, problems),
        "problems": problems}


def _without_pijit(error: ImportError) -> "dict[str, Any]":
    """What can be said where pijit cannot be imported."""
    problems = [str(error)]
    return {"python": _python(problems), "processor": _cpu(), "openmp": _openmp(problems),
            "memory": _memory(problems),
            "environment": {k: v for k, v in sorted(os.environ.items()) if k.startswith("PIJIT_")},
            "problems": problems}


def _python(problems: "list[str]") -> "dict[str, Any]":
    try:
        import numpy
        version = numpy.__version__
    except ImportError:
        version = None  # the error of `import pijit` says what to do
    if version and int(version.split(".")[0]) < 2:
        problems.append(f"NumPy {version} is older than 2.0: functions of NumPy's arrays run plainly, and only "
                        "those of Tensors are captured. `pip install 'numpy>=2'`.")
    gil = getattr(sys, "_is_gil_enabled", None)
    return {"version": platform.python_version(), "implementation": platform.python_implementation(),
            "executable": sys.executable, "debug build": bool(sysconfig.get_config_var("Py_DEBUG")),
            "global interpreter lock": gil() if gil else True, "numpy": version,
            "libc": " ".join(platform.libc_ver()), "system": platform.platform()}


def _lines(path: str) -> "list[str]":
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read().splitlines()
    except OSError:
        return []


def _mapped() -> "list[tuple[int, int, str]]":
    """(from, to, path) of the files that are mapped into this process."""
    found = []
    for line in _lines("/proc/self/maps"):
        fields = line.split(None, 5)
        if len(fields) == 6 and fields[5].startswith("/"):
            low, _, high = fields[0].partition("-")
            found.append((int(low, 16), int(high, 16), fields[5]))
    return found


def _cpu() -> "dict[str, Any]":
    about = dict(line.split(":", 1) for line in _lines("/proc/cpuinfo")[:40] if ":" in line)
    about = {k.strip(): v.strip() for k, v in about.items()}
    has = set(about.get("flags", "").split())
    return {"model": about.get("model name", platform.processor() or "unknown"),
            "instructions": [f for f in FLAGS if f in has]}


def _processor(_C: Any, problems: "list[str]") -> "dict[str, Any]":
    about = _cpu()
    asked = _C.get_option("isa")
    used = "none" if asked == "none" else {16: "avx512", 8: "avx2"}.get(_C.channel_block(), "none")
    if used == "none" != asked:
        problems.append("Kernels use no vector instructions: this processor or virtual machine shows no AVX2. Choose "
                        "a machine, or a model of virtual processor, that has it.")
    best = "avx512" if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= set(about["instructions"]) else "avx2"
    if asked == "avx512" != best:
        problems.append(f"PIJIT_ISA=avx512, and this processor has no AVX-512: kernels use {used}. Leave it out.")
    elif asked and used != best:
        problems.append(f"Kernels use {used.replace('none', 'no code of their own')}, and this processor has {best}: "
                        f"PIJIT_ISA={asked} asks for that. It is for tests.")
    limit = os.environ.get("ONEDNN_MAX_CPU_ISA") or os.environ.get("DNNL_MAX_CPU_ISA")
    if limit:
        problems.append(f"ONEDNN_MAX_CPU_ISA={limit} keeps products and convolutions from newer instructions. Leave it "
                        "out.")
    return {**about, "kernels use": used}


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
    running = threading.active_count()
    if running > 1 and _forks():
        problems.append(f"{running} threads run, and multiprocessing forks: what others have locked stays locked in "
                        "the child. Call multiprocessing.set_start_method('spawn'), or start processes before threads.")
    return {"processors": os.cpu_count(), "usable": usable, "quota": quota, "of a kernel": threads, "variables": asked,
            "processes fork": _forks()}


def _forks() -> "bool | None":
    """Does multiprocessing start processes by fork? None where the program has not loaded it."""
    multiprocessing = sys.modules.get("multiprocessing")
    if multiprocessing is None:
        return None
    # the default comes first, and is not settled by this
    method = multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]
    return method == "fork"


def _openmp(problems: "list[str]") -> "list[str]":
    paths = sorted({path for _, _, path in _mapped() if OPENMP.search(path)})
    kinds = {re.match(r"lib[a-z]+5?", os.path.basename(p)).group() for p in paths}  # pyright: ignore
    if len(paths) > 1:
        problems.append("Several OpenMP runtimes are loaded (" + ", ".join(os.path.basename(p) for p in paths) +
                        "): each keeps threads of its own, and they disturb one another. Set OMP_NUM_THREADS so that "
                        "together they have no more than the processors, or OMP_WAIT_POLICY=passive." +
                        (" Import pijit first." if len(kinds) > 1 else "") +
                        (" Start processes by spawn: a forked child may wait for the other runtime's threads for ever."
                         if _forks() else ""))
    return paths


def _memory(problems: "list[str]") -> "dict[str, Any]":
    """What stands in front of the C library's malloc."""
    preloaded = re.split("[ :]+", os.environ.get("LD_PRELOAD", "").strip(" :"))
    names = sorted({os.path.basename(path) for _, _, path in _mapped()} | {os.path.basename(p) for p in preloaded if p})
    allocators = [n for n in names if ALLOCATOR.search(n)]
    checkers = [n for n in names if CHECKER.search(n)]
    if allocators:
        problems.append(f"{', '.join(allocators)} replaces malloc: what the process holds is given back to the system "
                        "when that library chooses. Captured functions are the same; memory of the process may look "
                        "as if it grew. Compare without LD_PRELOAD before you report that.")
    if checkers:
        problems.append(f"{', '.join(checkers)} watches memory: all is slow, and times mean nothing. Run without it.")
    hooks = os.environ.get("PYTHONMALLOC")
    if hooks and "debug" in hooks:
        problems.append(f"PYTHONMALLOC={hooks} checks each of Python's allocations: calls are slow. Leave it out.")
    return {"LD_PRELOAD": os.environ.get("LD_PRELOAD") or None, "allocators": allocators, "PYTHONMALLOC": hooks}


def _devices(_C: Any, problems: "list[str]") -> "dict[str, Any]":
    import ctypes.util
    if "GPU" in _C.devices() and _forks():
        problems.append("There is a GPU, and multiprocessing forks: a child of a process that used the GPU cannot use "
                        "it. Call multiprocessing.set_start_method('spawn') first.")
    return {"there are": list(_C.devices()), "NVIDIA's driver": ctypes.util.find_library("cuda"),
            "plug-ins": sorted(f for f in os.listdir(os.path.dirname(__file__)) if f.startswith("libpijit_"))}


def _watchers() -> "list[str]":
    """What watches this thread's Python code, by the ways that CPython has for that."""
    found = []
    for way, tool in (("sys.settrace", sys.gettrace()), ("sys.setprofile", sys.getprofile())):
        if tool:
            found.append(f"{getattr(type(tool), '__module__', '')}.{type(tool).__qualname__} by {way}"
                         if type(tool).__module__ != "builtins" else
                         f"{getattr(tool, '__module__', None) or 'a function'} by {way}")
    monitoring = getattr(sys, "monitoring", None)
    if monitoring:
        names = [monitoring.get_tool(k) for k in range(6)]
        found += [f"{n} by sys.monitoring" for n in names if n and n != "pijit"]
    return found


def _other_frame_hook() -> "str | None":
    """The file whose function evaluates frames (PEP 523), where it is neither CPython's nor ours."""
    import ctypes
    try:
        state = ctypes.pythonapi.PyInterpreterState_Get
        state.restype = ctypes.c_void_p
        get = ctypes.pythonapi._PyInterpreterState_GetEvalFrameFunc
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
        at = get(state())
        default = ctypes.cast(ctypes.pythonapi._PyEval_EvalFrameDefault, ctypes.c_void_p).value
    except AttributeError:
        return None
    if at is None or at == default:
        return None
    path = next((p for low, high, p in _mapped() if low <= at < high), "a library that is not known")
    return None if os.path.dirname(path) == os.path.dirname(__file__) and FRAME_HOOK.search(path) else path


def _capture(pijit: Any, problems: "list[str]") -> "dict[str, Any]":
    """Captures a function, and says whether that worked."""
    watchers = _watchers()
    if watchers:
        problems.append(f"A debugger, profiler or coverage tool traces this process ({', '.join(watchers)}): functions "
                        "run plainly meanwhile. Time them without it.")
    hook = _other_frame_hook()  # before ours is set

    def f(x: Any) -> Any:
        return (x * 2 + 1).sum()
    g = pijit.jit(f)
    x = pijit.ops.ones((4, 4))
    same = all(float(g(x).asnumpy()) == float(f(x).asnumpy()) for _ in range(3))
    e = pijit.explain(g)
    works = bool(e.graphs) and same
    if not same or not (works or watchers):
        problems.append("A function that is one graph elsewhere was " + ("captured with a wrong result." if e.graphs
                        else "not captured: " + "; ".join(str(b) for b in e.breaks) or "no reason is known.") +
                        " Please report this with the output of `pijit doctor --json`.")
    if hook:
        problems.append(f"{os.path.basename(hook)} evaluates frames, as torch.compile does (PEP 523). pijit calls it "
                        "for what it does not capture; a function that one of the two has compiled is not seen by the "
                        "other. Decorate each function by one of them.")
    elif "torch._dynamo" in sys.modules:
        problems.append("torch.compile is loaded: it sets CPython's frame hook, too. A function that one of the two "
                        "has compiled is not seen by the other. Decorate each function by one of them.")
    return {"works": works, "graphs": len(e.graphs), "watched by": watchers, "another frame hook": hook,
            "torch.compile is loaded": "torch._dynamo" in sys.modules}


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
        if e.name in modules:
            sys.stderr.write(f"pijit doctor: {e}\n")
            return 1
        found = _without_pijit(e)
    sys.stdout.write(json.dumps(found, indent=2) + "\n" if as_json else _text(found))
    return 1 if found["problems"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
