"""Runs a script in a real MindSpore and in pijit, and says where they differ.

    python -m pijit.compat.compare script.py [--python PATH] [--rtol 1e-4] [--atol 1e-5] [--repeat 1] [-- script's
    arguments]

PATH is the Python of an environment that has MindSpore (or set MINDSPORE_PYTHON). Each run has a folder of its own, a
copy of the script's, as working directory. Compared are what is printed, word by word, numbers within the tolerances;
the arrays that are saved (.npy, .npz, .ckpt, .safetensors) under the same names; how the scripts end (exit status, last
exception); and the times. The exit status is 0 where all agree, 1 where something differs, 2 where a run could not
start."""

from __future__ import annotations

import argparse
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|[-+]?\b(?:nan|inf)\b")
_ADDRESS = re.compile(r"0x[0-9a-f]+")
_NOISE = re.compile(r"^\[(?:WARNING|INFO|ERROR|DEBUG)\]|^\s*$")  # MindSpore's log
_ARRAYS = (".npy", ".npz", ".ckpt", ".safetensors")


class Run:
    """What one run left: its status, its output, its folder, its seconds."""

    status: Any
    out: Any
    err: Any
    folder: Any
    seconds: Any

    def __init__(self, status: Any, out: Any, err: Any, folder: Any, seconds: Any) -> None:
        self.status, self.out, self.err, self.folder, self.seconds = status, out, err, folder, seconds

    def exception(self) -> Any:
        """The type of the exception that ended it, or None."""
        if self.status == 0:
            return None
        for line in reversed(self.err.splitlines()):
            found = re.match(r"([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Iteration|Warning))(?::|$)", line)
            if found:
                return found.group(1).rpartition(".")[2]
        return f"status {self.status}"


def run(command: Any, script: Any, folder: Any, timeout: float, env: Any = None) -> Any:
    """One run of a script in a copy of its folder's files."""
    shutil.copytree(script.parent, folder, ignore=shutil.ignore_patterns("__pycache__", ".*"), dirs_exist_ok=True)
    before = _saved(folder)
    start = time.perf_counter()
    try:
        p = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=timeout,
                           env=env)
        status, out, err = p.returncode, p.stdout, p.stderr
    except subprocess.TimeoutExpired as e:
        status, out, err = 124, _text(e.stdout), _text(e.stderr) + f"\nTimeoutError: no end after {timeout} s"
    found = Run(status, out, err, folder, time.perf_counter() - start)
    found.saved = {n: p for n, p in _saved(folder).items() if n not in before or p[1] != before[n][1]}
    return found


def _text(data):
    return data.decode(errors="replace") if isinstance(data, bytes) else data or ""


def _saved(folder):
    """{name: (path, time and size)} of the files of arrays."""
    return {str(p.relative_to(folder)): (p, (p.stat().st_mtime_ns, p.stat().st_size))
            for p in sorted(pathlib.Path(folder).rglob("*")) if p.suffix in _ARRAYS and p.is_file()}


def _close(a, b, rtol, atol):
    a, b = float(a), float(b)
    return a == b or a != a and b != b or abs(a - b) <= atol + rtol * abs(b)


def same_line(a: Any, b: Any, rtol: Any, atol: Any) -> bool:
    """Whether two lines say the same: their words, whatever the spaces, and their numbers within tolerance."""
    a, b = _ADDRESS.sub("0x", a), _ADDRESS.sub("0x", b)
    if a == b:
        return True
    x, y = _NUMBER.findall(a), _NUMBER.findall(b)
    words = [re.sub(r"\s+", "", _NUMBER.sub("#", t)) for t in (a, b)]
    return len(x) == len(y) and words[0] == words[1] and all(_close(p, q, rtol, atol) for p, q in zip(x, y))


def prints(own: Any, real: Any, rtol: Any, atol: Any) -> list[str]:
    """The differences of two outputs, as lines for the report."""
    a, b = ([line.rstrip() for line in text.splitlines() if not _NOISE.search(line)] for text in (own, real))
    if len(a) == len(b):
        return [f"  line {k}\n    MindSpore: {y}\n    pijit:     {x}" for k, (x, y) in enumerate(zip(a, b), 1)
                if not same_line(x, y, rtol, atol)]
    # lines that are close count as equal
    known, keys = [], []
    for lines in (b, a):
        key = []
        for line in lines:
            at = next((k for k, other in enumerate(known) if same_line(line, other, rtol, atol)), None)
            if at is None:
                known.append(line)
                at = len(known) - 1
            key.append(at)
        keys.append(key)
    out = [f"  {len(b)} lines from MindSpore, {len(a)} from pijit"]
    for what, i, j, m, n in difflib.SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        if what != "equal":
            out += [f"    MindSpore {k + 1}: {b[k]}" for k in range(i, j)] + [f"    pijit {k + 1}:     {a[k]}"
                for k in range(m, n)]
    return out


def _arrays(path):
    """{name: array} of a file."""
    if path.suffix == ".npy":
        return {"": np.load(path, allow_pickle=False)}
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as f:
            return dict(f)
    from pijit import load_checkpoint
    return {n: p.asnumpy()
            for n, p in load_checkpoint(str(path),
                                        format="safetensors" if path.suffix == ".safetensors" else "ckpt").items()}


def _difference(a, b, rtol, atol):
    """Why two arrays differ, or None."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"MindSpore {b.dtype}{list(b.shape)}, pijit {a.dtype}{list(a.shape)}"
    if a.dtype.kind not in "fc":
        wrong = int((a != b).sum())
        return f"{wrong} of {a.size} elements differ" if wrong else None
    x, y = (a.astype(np.complex128 if a.dtype.kind == "c" else np.float64),
            b.astype(np.complex128 if b.dtype.kind == "c" else np.float64))
    close = np.isclose(x, y, rtol, atol, equal_nan=True)
    if close.all():
        return None
    return f"{int((~close).sum())} of {a.size} elements differ, the most by {np.nanmax(np.abs(x - y)):.3g}"


def files(own: Any, real: Any, rtol: Any, atol: Any) -> tuple[list[Any], int]:
    """(the differences of the saved arrays, how many arrays were compared)."""
    out, count = [], 0
    for name in sorted({*own.saved, *real.saved}):
        if name not in own.saved or name not in real.saved:
            out.append(f"  {name}: saved by {'MindSpore' if name in real.saved else 'pijit'} alone")
            continue
        try:
            a, b = _arrays(own.saved[name][0]), _arrays(real.saved[name][0])
        except Exception as e:  # a file that can't be read is a finding of its own
            out.append(f"  {name}: cannot be read: {type(e).__name__}: {e}")
            continue
        for key in sorted({*a, *b}):
            count += 1
            shown = f"{name}:{key}" if key else name
            if key not in a or key not in b:
                out.append(f"  {shown}: in {'MindSpore' if key in b else 'pijit'}'s file alone")
                continue
            why = _difference(a[key], b[key], rtol, atol)
            if why:
                out.append(f"  {shown}: {why}")
    return out, count


def compare(script: Any, python: Any, arguments: tuple[Any, ...] = (), rtol: float = 1e-4, atol: float = 1e-5,
            repeat: int = 1, timeout: int = 3600, write: Any = print) -> int:
    """Runs and compares; the exit status. `write` takes the report's lines."""
    script = pathlib.Path(script).resolve()
    commands = {"MindSpore": [python, script.name, *arguments],
                "pijit": [sys.executable, "-m", "pijit", "--as", "mindspore", script.name, *arguments]}
    home = str(pathlib.Path(__file__).resolve().parents[2])  # where this pijit lies, installed or not
    env = {"MindSpore": None,
           "pijit": {**os.environ,
                     "PYTHONPATH": os.pathsep.join([home, *filter(None, [os.environ.get("PYTHONPATH")])])}}
    with tempfile.TemporaryDirectory(prefix="pijit-compare-") as space:
        best = {}
        for k in range(repeat):
            for name, command in commands.items():
                r = run(command, script, pathlib.Path(space) / f"{name}{k}", timeout, env[name])
                if name not in best:
                    best[name] = r
                best[name].seconds = min(best[name].seconds, r.seconds)
        own, real = best["pijit"], best["MindSpore"]
        if real.status and re.search(r"No module named '?mindspore'?", real.err):
            write(f"MindSpore can't be imported by {python}: give --python the Python of an environment that has it.")
            return 2
        ends = ([] if own.exception() == real.exception()
                else [f"  MindSpore: {real.exception() or 'ends'}", f"  pijit:     {own.exception() or 'ends'}"])
        if ends and own.status:
            ends += ["  " + line for line in own.err.strip().splitlines()[-6:]]
        said = prints(own.out, real.out, rtol, atol)
        saved, count = files(own, real, rtol, atol)
    lines = len([line for line in real.out.splitlines() if not _NOISE.search(line)])
    for title, found, how_many in (("End", ends, ""), ("Prints", said, f"{lines} lines"),
                                   ("Saved arrays", saved, f"{count} arrays")):
        write(f"{title}: {'differ' if found else 'same'}" + (f" ({how_many})" if how_many else ""))
        for line in found:
            write(line)
    write(f"Seconds: MindSpore {real.seconds:.2f}, pijit {own.seconds:.2f}: "
          f"{real.seconds / max(own.seconds, 1e-9):.2f} times as fast")
    return 1 if ends or said or saved else 0


def main(argv: Any = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m pijit.compat.compare",
                                     description="Runs a script in a real MindSpore and in pijit, and says where they "
                                                 "differ.")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs="*", help="the script's own arguments, behind --")
    parser.add_argument("--python",
                        default=os.environ.get("MINDSPORE_PYTHON", shutil.which("python3") or sys.executable),
                        help="the Python of an environment with MindSpore")
    parser.add_argument("--rtol", type=float, default=1e-4, help="relative tolerance of numbers")
    parser.add_argument("--atol", type=float, default=1e-5, help="absolute tolerance of numbers")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each, of which the fastest counts")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds that a run may take")
    o = parser.parse_args(argv)
    if not os.path.isfile(o.script):
        parser.error(f"no such file: {o.script}")
    if shutil.which(o.python) is None:
        print(f"no such Python: {o.python}")
        return 2
    return compare(o.script, o.python, o.arguments, o.rtol, o.atol, max(o.repeat, 1), o.timeout)


if __name__ == "__main__":
    sys.exit(main())
