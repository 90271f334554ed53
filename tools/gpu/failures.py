"""Programs that failed on a GPU, each as a file that repeats it: the stages of tools/gpu/visit.sh put them into
$OUT/failures.tar as they fail, so that a visit that is cut off brings them, too.

A file's head says what failed and how, on what, and by which command and environment. Below stands the program: of a
test's file, what the test needs; modules of the tests that it imports go along. It runs with Python and pijit alone;
where it reads a data file of the repository, in the repository's folder. tools/gpu/visit.sh again runs such files."""

import ast
import contextlib
import dis
import fcntl
import functools
import os
import pathlib
import platform
import re
import shlex
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOM = 15 << 20  # a result file of a visit has at most 16 MiB
# Variables that say how pijit, its libraries and its peers run.
ENVIRONMENT = re.compile(r"(PIJIT|OMP|ONEDNN|CUDA|NVIDIA|NCCL|TORCH|XLA|PYTHON)[A-Z0-9_]*|LD_\w+|XDG_CACHE_HOME")
HEAD = 80, 300  # of what a program said: lines, and characters of each

_running = set()


def told(status):
    if isinstance(status, str):
        return status
    return f"status {status}" if status >= 0 else signal.Signals(-status).name


def start(command, stdout, **more):
    """A process that leads a group, which ends with it (`end`), and with this process at SIGTERM."""
    process = subprocess.Popen(list(map(str, command)), stdout=stdout, stderr=subprocess.STDOUT,
                               stdin=subprocess.DEVNULL, start_new_session=True, **more)
    _running.add(process.pid)
    return process


def end(process):
    _kill(process.pid, signal.SIGKILL)
    process.wait()
    _running.discard(process.pid)


def call(command, seconds, **more):
    """(status, text, seconds) of a process, which ends with all that it started: its status is text where it was
    stopped, after it has said where it was (visit.sh sets PYTHONFAULTHANDLER)."""
    begin = time.monotonic()
    with tempfile.TemporaryFile() as said:  # not a pipe, which what it started could hold open
        process = start(command, said, **more)
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = f"no end within {seconds:.0f} s"
            _kill(process.pid, signal.SIGABRT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(3)
        end(process)
        said.seek(0)
        return status, said.read().decode(errors="replace"), time.monotonic() - begin


def _kill(group, how):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, how)


def ends_with_its_processes():
    """At SIGTERM, by which `timeout` ends a stage."""
    def stop(*_):
        for group in list(_running):
            _kill(group, signal.SIGKILL)
        os._exit(143)
    signal.signal(signal.SIGTERM, stop)


class _Statement:
    def __init__(self, node, path):
        self.node = node
        self.binds, self.uses = set(), set()
        self.whole = False  # looks names up by itself
        code = compile(ast.Module([node], []), str(path), "exec", dont_inherit=True)
        self._read(code, True)
        decorators = getattr(node, "decorator_list", [])
        self.fixtures = set()  # pytest finds them by names of arguments
        for f in ast.walk(node):
            if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef)) and (
                    f.name.startswith("test") or any("fixture" in ast.unparse(d) for d in f.decorator_list)):
                self.fixtures |= {a.arg for a in (*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs)}
        self.first = min([node.lineno, *(d.lineno for d in decorators)])
        self.always = (isinstance(node, ast.ImportFrom) and node.module == "__future__" or "pytestmark" in self.binds or
                       any("autouse=True" in ast.unparse(d) for d in decorators))
        self.imports = isinstance(node, (ast.Import, ast.ImportFrom))
        self.defines = self.imports or isinstance(
            node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)) and bool(self.binds)

    def _read(self, code, top):
        for i in dis.get_instructions(code):
            if i.opname == "STORE_GLOBAL" or top and i.opname == "STORE_NAME":
                self.binds.add(i.argval)
            elif i.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                self.uses.add(i.argval)
        self.whole |= bool({"globals", "eval", "exec"} & self.uses)
        for c in code.co_consts:
            if hasattr(c, "co_code"):
                self._read(c, False)


@functools.lru_cache(4)
def _statements(path):
    body = ast.parse(path.read_text(encoding="utf-8")).body
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    return [_Statement(n, path) for n in body if not (isinstance(n, ast.If) and "__main__" in ast.unparse(n.test))]


def part(path, names, without_end=False):
    """Of a file's text, what the functions or classes `names` need. without_end: its last statement runs all tests."""
    statements = _statements(path)[:-1 if without_end else None]
    own = {b for s in statements if not s.imports for b in s.binds}
    wanted, kept, before = set(names), [], -1
    while len(kept) > before:
        before = len(kept)
        for s in statements:
            if s in kept:
                continue
            if s.defines:
                take = s.always or bool(s.binds & wanted)
            else:  # it changes what is kept, or something outside of the file
                mentions = (s.binds | s.uses) & own
                take = not mentions or bool(mentions & wanted)
            if take:
                kept.append(s)
                wanted |= {b for x in statements for b in x.binds} if s.whole else s.uses | s.fixtures | s.binds
    lines = path.read_text(encoding="utf-8").split("\n")
    return "\n".join("\n".join(lines[s.first - 1:s.node.end_lineno]) + ("\n" if not s.defines or s.imports else "\n\n")
                     for s in statements if s in kept)


def _modules_of_tests(text, found):
    """The tests' modules that a text imports, those that they need first: {name: path}."""
    for node in ast.walk(ast.parse(text)):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        for name in names:
            for path in (ROOT / (name.replace(".", "/") + ".py"), ROOT / "tests" / "python" / f"{name}.py"):
                first = name.split(".")[0]
                if path.is_file() and name not in found and (first == "tests" or path.parent.name == "python"):
                    found[name] = None  # it may import itself, in turn
                    _modules_of_tests(path.read_text(encoding="utf-8"), found)
                    del found[name]
                    found[name] = path
                    break
    return found


_BRINGS = '''
def _brings(name, path, text):
    """A module that went along."""
    import sys
    import types
    parts = name.split(".")
    for k in range(1, len(parts)):
        if ".".join(parts[:k]) not in sys.modules:
            package = sys.modules[".".join(parts[:k])] = types.ModuleType(".".join(parts[:k]))
            package.__path__ = []
    module = sys.modules[name] = types.ModuleType(name)
    module.__file__ = path
    exec(compile(text, path, "exec"), vars(module))
    if len(parts) > 1:
        setattr(sys.modules[".".join(parts[:-1])], parts[-1], module)

'''


def of_script(path, name, *args, without_end=False, modules=()):
    """A program of a call of a script's function, with the modules (name, path) that it imports."""
    text = part(path, [name], without_end)
    brought = {**dict(modules), **_modules_of_tests(text, {})}
    return _with_modules(text, brought, path) + f"\n{name}({', '.join(map(repr, args))})\n"


def of_test(node):
    """A program of a test of pytest, by its id."""
    file, _, name = node.partition("::")
    path = ROOT / file
    top = re.split(r"::|\[", name)[0]
    text = path.read_text(encoding="utf-8")
    if any(top in s.binds for s in _statements(path)):
        text = part(path, [top])
    brought = _modules_of_tests(text, {})
    head = "import pijit\n\nif os.environ.get(\"PIJIT_TEST_DEVICE\"):\n" \
           "    pijit.set_context(device_target=os.environ[\"PIJIT_TEST_DEVICE\"])\n"
    if "hypothesis" in text:
        head += "from hypothesis import HealthCheck, settings\n\n" \
                "settings.register_profile(\"pijit\", derandomize=True, deadline=None, " \
                "suppress_health_check=list(HealthCheck))\nsettings.load_profile(\"pijit\")\n"
    end = f"""
if __name__ == "__main__":
    import sys

    import pytest
    sys.exit(pytest.main(["-q", "-c", os.devnull, "--rootdir", os.path.dirname(_HERE), "-p", "no:cacheprovider",
                          _HERE + {("::" + name if name else "")!r}]))
"""
    return "_HERE = os.path.abspath(__file__)\n" + head + _with_modules(text, brought, path) + end


def _literal(text):
    """As lines, where they can be written so."""
    return repr(text) if "'''" in text or text.endswith(("'", "\\")) else f"r'''{text}'''"


def _with_modules(text, brought, path):
    def where(p):
        p = pathlib.Path(p)
        return str(p.relative_to(ROOT)) if ROOT in p.parents else str(p)
    head = ""
    if brought:
        head += _BRINGS + "\n" + "".join(
            f"_brings({name!r}, {where(p)!r}, {_literal(pathlib.Path(p).read_text(encoding='utf-8'))})\n"
            for name, p in brought.items()) + "\n"
    if re.search(r"\b__file__\b", text):
        head += "# Run it in the repository's folder: it reads files there.\n" \
                f"__file__ = os.path.abspath({where(path)!r})\n"
    return head + text


_machine = None


def machine():
    global _machine
    if _machine is None:
        gpu = "no nvidia-smi"
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                                 capture_output=True, text=True, timeout=20).stdout.strip().split("\n")[0]
        _machine = f"{gpu}; CPython {platform.python_version()}; pijit {os.environ.get('GPU_KIT', 'of the checkout')}"
    return _machine


def _comment(text):
    lines, characters = HEAD
    return "".join(f"#   {line[:characters]}".rstrip() + "\n" for line in text.rstrip().split("\n")[-lines:])


def keep(out, stage, name, program, command, status, text, env=None):
    """Writes a program that failed into the archive. program: Python; None: the command alone, as a shell's script."""
    env = {k: v for k, v in sorted((os.environ if env is None else env).items()) if ENVIRONMENT.fullmatch(k)}
    line = shlex.join(map(str, command))
    head = f"# {stage}: {name}: {told(status)}\n# {machine()}\n" \
           f"# The command, in the repository's folder:\n#   {line}\n# Its environment:\n" + \
           _comment("\n".join(f"{k}={shlex.quote(v)}" for k, v in env.items())) + \
           "# It said (at most the last lines):\n" + _comment(text)
    file = f"{stage}/" + re.sub(r"[^\w.-]+", "-", name).strip("-.")[-100:]
    if program is None:
        file += ".sh"
        exports = "".join(f"export {k}={shlex.quote(v)}\n" for k, v in env.items())
        body = f"#!/bin/sh\n{head}{exports}exec {line}\n"
    else:
        file += ".py"
        own = {k: v for k, v in env.items() if not k.startswith(("LD_", "PYTHON", "XDG_"))}
        body = head + "# python3 with this file does the same.\n\nimport os\n\nfor _k, _v in " + \
            "{" + "".join(f"\n        {k!r}: {v!r}," for k, v in own.items()) + "}.items():\n" \
            "    os.environ.setdefault(_k, _v)\n\n" + program
    _add(pathlib.Path(out), file, body.encode())


def _add(out, file, data):
    archive = out / "failures.tar"
    with open(os.path.join(tempfile.gettempdir(), f"failures-{os.getuid()}.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # stages have several processes
        new = out / "failures.tar.new"  # so that it is whole whenever a visit is cut off
        new.write_bytes(archive.read_bytes() if archive.exists() else b"")
        with tarfile.open(new, "a" if new.stat().st_size else "w") as tar:
            names, first = set(tar.getnames()), file
            for k in range(2, 1000):
                if file not in names:
                    break
                stem, dot, end = first.rpartition(".")
                file = f"{stem}-{k}{dot}{end}"
            info = tarfile.TarInfo(file)
            info.size, info.mode, info.mtime = len(data), 0o755, int(time.time())
            with tempfile.SpooledTemporaryFile() as f:
                f.write(data)
                f.seek(0)
                tar.addfile(info, f)
        if new.stat().st_size > ROOM:
            new.unlink()
            print(f"no room in failures.tar for {file}", flush=True)
            return
        os.replace(new, archive)


def of_benchmarks(out, stage, flags):
    """benchmarks/cuda.py says which of its benchmarks failed; each runs in a process of its own."""
    said = (pathlib.Path(out) / f"{stage}.txt").read_text(encoding="utf-8", errors="replace")
    path = ROOT / "benchmarks" / "cuda.py"
    for name, how in re.findall(r"^(.+): failed, (.+)$", said, re.M):
        program = path.read_text(encoding="utf-8").partition('if __name__ == "__main__":')[0]
        program += f"main({[name, *flags]!r})\n"
        keep(out, stage, name, program, [sys.executable, "benchmarks/cuda.py", name, *flags], how, said[-20000:])


if __name__ == "__main__":
    what, out, stage = sys.argv[1:4]
    if what == "benchmarks":
        of_benchmarks(out, stage, sys.argv[4:])
    else:  # a stage that ended by itself: its status and command
        status = int(sys.argv[4])
        status = "no end within its limit" if status in (124, 137) else -(status - 128) if status > 128 else status
        said = (pathlib.Path(out) / f"{stage}.txt").read_text(encoding="utf-8", errors="replace")
        keep(out, stage, "stage", None, sys.argv[5:], status, said)
