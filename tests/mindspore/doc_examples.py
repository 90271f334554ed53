"""The examples in the docstrings of an installed MindSpore, run in it and here.

    python tests/mindspore/doc_examples.py PYTHON FOLDER [--only REGEX] [--floor PERCENT]

PYTHON has MindSpore. FOLDER keeps what was read from it, and what it answered, until its version is another; nothing of
MindSpore's text is stored elsewhere. Each API's examples run in a process of their own, in order, up to the first that
raises. Two figures are told:

- of the APIs whose examples pass in MindSpore, how many pass here. A pattern in doc_examples_left_out.txt, with a
  reason, takes an API out of this count; one that takes out what passes, or nothing, is an error.
- of the other APIs (there MindSpore itself prints something else or raises), how many print here what they print there,
  up to where MindSpore raises.

Printed texts are compared as doctest compares them, without white space, floats within 1e-3. The status is 1 below the
floor."""

import argparse
import collections
import concurrent.futures
import contextlib
import doctest
import fnmatch
import importlib
import inspect
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import types
import warnings

HERE = pathlib.Path(__file__).resolve()
ROOT = HERE.parent.parent.parent
LEFT_OUT = HERE.with_name("doc_examples_left_out.txt")
SECONDS = 120  # for one API, on a machine that does other things, too
WORKERS = os.cpu_count() or 1

MODULES = """mindspore mindspore.ops mindspore.nn mindspore.mint mindspore.mint.nn mindspore.mint.nn.functional
mindspore.mint.optim mindspore.mint.linalg mindspore.mint.special mindspore.numpy mindspore.train mindspore.amp
mindspore.dataset mindspore.dataset.vision mindspore.dataset.transforms mindspore.dataset.text
mindspore.common.initializer mindspore.experimental.optim mindspore.experimental.optim.lr_scheduler
mindspore.scipy.linalg mindspore.scipy.optimize mindspore.nn.probability.distribution
mindspore.nn.probability.bijector mindspore.ops.operations mindspore.runtime mindspore.hal mindspore.communication
mindspore.parallel mindspore.boost mindspore.rewrite mindspore.mindrecord mindspore.utils mindspore.nn.utils
mindspore.context""".split()
CLASSES = {"mindspore": ["Tensor", "Parameter"], "mindspore.nn": ["Cell"]}


# -- in MindSpore ------------------------------------------------------------------------------------------------------
def collect():
    """Name: [(source, expected)] of every public name that has examples for the CPU; each text once."""
    found, seen = {}, set()

    def add(name, value):
        text = None if isinstance(value, (int, float, str, types.ModuleType)) else inspect.getdoc(value)
        platforms = re.search(r"Supported Platforms:\s*\n\s*(.*)", text or "")
        if not text or text in seen or platforms and "CPU" not in platforms.group(1):
            return
        with contextlib.suppress(ValueError):  # examples that doctest cannot read
            examples = doctest.DocTestParser().get_examples(text)
            seen.add(text)
            if examples:
                found[name] = [(e.source, e.want) for e in examples]

    def add_all(where, owner, names):
        for name in names:
            with contextlib.suppress(Exception):  # an attribute that cannot be read has no examples
                if name[0] != "_":
                    add(f"{where}.{name}", getattr(owner, name))

    for path in MODULES:
        module = importlib.import_module(path)
        add_all(path, module, getattr(module, "__all__", None) or dir(module))
    for path, names in CLASSES.items():
        for name in names:
            cls = getattr(importlib.import_module(path), name)
            add_all(f"{path}.{name}", cls, dir(cls))
    return found


# -- in either ---------------------------------------------------------------------------------------------------------
def transcript(examples):
    """What each example printed; an exception ends it as [its type, its text]."""
    names, printed = {"__name__": "__main__"}, []
    for k, (source, _) in enumerate(examples):
        out = io.StringIO()
        path = pathlib.Path(f"example{k}.py").absolute()  # MindSpore's graph mode reads a function's source
        path.write_text(source)
        try:
            with contextlib.redirect_stdout(out), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(compile(source, path, "single"), names)
        except BaseException as e:
            printed.append([type(e).__name__, str(e)[:1000]])
            break
        printed.append(out.getvalue()[:20000])
    return printed


def in_child(examples):
    """The transcript, from a forked process; one that dies or takes too long ends as an exception does."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        os.close(read)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1), os.dup2(null, 2)
        os.chdir(tempfile.mkdtemp(dir="."))
        with os.fdopen(write, "wb") as f:
            f.write(json.dumps(transcript(examples)).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as f:
        data = f.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return json.loads(data) if data else [["died", f"status {status}"]]


def answer_for(source, target, here):
    """Runs the examples of one file into another, in MindSpore or here."""
    if here:
        import pijit.compat
        pijit.compat.install("mindspore")
    import mindspore  # noqa: F401
    import numpy  # noqa: F401
    with open(target, "w") as f:
        for name, examples in json.loads(pathlib.Path(source).read_text()).items():
            f.write(json.dumps([name, in_child(examples)]) + "\n")
            f.flush()


# -- comparison --------------------------------------------------------------------------------------------------------
_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")
_ADDRESS = re.compile(r"0x[0-9a-f]+")


def same_text(want, got):
    want, got = (_ADDRESS.sub("0x", " ".join(text.split())) for text in (want, got))
    if want == got or doctest.OutputChecker().check_output(want + "\n", got + "\n", doctest.ELLIPSIS):
        return True
    words, words_here = (re.sub(r"[\s\[\](),]+", "", _NUMBER.sub("#", text)) for text in (want, got))
    if words != words_here:
        return False
    numbers = [[float(v) for v in _NUMBER.findall(text)] for text in (want, got)]
    return len(numbers[0]) == len(numbers[1]) and all(abs(a - b) <= 1e-3 * max(1, abs(a))
                                                      for a, b in zip(*numbers))


def against_text(examples, printed):
    """None where the examples print what their text says, else (example, what was expected, what came)."""
    for (source, want), got in zip(examples, printed):
        raised = isinstance(got, list)
        if raised and not (want.startswith("Traceback") and got[0] in want):
            return source, want, ": ".join(got)
        if not raised and want and not want.startswith("Traceback") and not same_text(want, got):
            return source, want, got
    return None


def against_other(examples, there, here):
    """None where what is printed there up to an exception is printed here, else (example, there, here)."""
    for (source, _), a, b in zip(examples, there, here):
        if isinstance(a, list):
            return None
        if isinstance(b, list) or not same_text(a, b):
            return source, a, ": ".join(b) if isinstance(b, list) else b
    return None


# -- the whole ---------------------------------------------------------------------------------------------------------
def run(python, names, examples, folder, here):
    """The transcripts of these APIs, by as many processes as there are processors. All that they write goes with a
    folder that they start in: MindSpore keeps checkpoints where it was imported."""
    shares = [names[k::WORKERS] for k in range(WORKERS)]
    paths = [(folder / f"in{k}.json", folder / f"out{k}.jsonl") for k in range(WORKERS)]

    def one(share, source, target):
        source.write_text(json.dumps({name: examples[name] for name in share}))
        subprocess.run([python, HERE, "--run-here" if here else "--run", source, target], check=True, cwd=scratch,
                       env={**os.environ, "GLOG_v": "3", "PYTHONPATH": str(ROOT) if here else ""})
        return [json.loads(line) for line in target.read_text().splitlines()]

    with (tempfile.TemporaryDirectory(prefix="doc_examples") as scratch,
          concurrent.futures.ThreadPoolExecutor(WORKERS) as pool):
        results = pool.map(one, shares, *zip(*paths))
        return {name: printed for result in results for name, printed in result}


def of_mindspore(python, folder):
    """The examples of the MindSpore of a Python and what it prints, from the folder where they are there."""
    version = subprocess.run([python, "-c", "import importlib.metadata as m; print(m.version('mindspore'))"],
                             capture_output=True, text=True, check=True).stdout.strip()
    kept = folder / f"mindspore-{version}.json"
    if not kept.exists():
        path = folder / "examples.json"
        subprocess.run([python, HERE, "--collect", path], check=True, env={**os.environ, "GLOG_v": "3"})
        examples = json.loads(path.read_text())
        kept.write_text(json.dumps([examples, run(python, list(examples), examples, folder, here=False)]))
    return version, *json.loads(kept.read_text())


def patterns_left_out():
    """Pattern: reason."""
    lines = (line.partition("#")[0].strip() for line in LEFT_OUT.read_text().splitlines())
    return {pattern: why.strip() for pattern, _, why in (line.partition(":") for line in lines if line)}


def summary(version, examples, there, here):
    """Prints what differs and the figures; the share in per cent, and whether the list of what is left out is right."""
    left_out, used = patterns_left_out(), set()
    passing, counted, passed, other, agreeing = 0, 0, 0, 0, 0
    kinds = collections.Counter()
    fine = True
    for name, printed in here.items():
        if against_text(examples[name], there[name]) is not None:
            other += 1
            differs = against_other(examples[name], there[name], printed)
            agreeing += differs is None
            kind = "MindSpore's own text is wrong here"
        else:
            passing += 1
            differs = against_text(examples[name], printed)
            pattern = next((p for p in left_out if fnmatch.fnmatchcase(name, p)), None)
            if pattern is not None:
                used.add(pattern)
                if differs is None:
                    fine = False
                    print(f"{name} passes, but is left out as {pattern}")
                kinds[left_out[pattern]] += 1
                continue
            counted += 1
            passed += differs is None
            kind = ""
        if differs is not None:
            source, want, got = (" ".join(v.split())[:300] for v in differs)
            print(f"{name} {kind and f'({kind})'}\n    {source}\n    there: {want}\n    here:  {got}")
    if len(here) == len(examples):
        for pattern in left_out.keys() - used:
            # what passes there by chance, as by the order of its threads, may not have passed when it was asked
            known = bool(fnmatch.filter(examples, pattern))
            fine = fine and known
            print(f"{'none of these passes there' if known else 'no example is named so'}: {pattern}")
    share = 100 * passed / max(1, counted)
    print(f"MindSpore {version}: {len(here)} APIs with examples, {passing} pass there.\n"
          f"Left out on purpose: {sum(kinds.values())} ({'; '.join(f'{n} {why}' for why, n in kinds.most_common())}).\n"
          f"Pass here: {passed} of the other {counted}, {share:.1f} %.\n"
          f"Where MindSpore's text is not what it prints: {agreeing} of {other} print here what they do there.")
    return share, fine


def main():
    if sys.argv[1:2] == ["--collect"]:
        pathlib.Path(sys.argv[2]).write_text(json.dumps(collect()))
        return
    if sys.argv[1:2] in (["--run"], ["--run-here"]):
        answer_for(sys.argv[2], sys.argv[3], sys.argv[1] == "--run-here")
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--floor", type=float, default=0)
    args = parser.parse_args()
    args.python, args.folder = os.path.abspath(args.python), args.folder.absolute()
    args.folder.mkdir(parents=True, exist_ok=True)
    version, examples, there = of_mindspore(args.python, args.folder)
    names = [name for name in examples if re.search(args.only, name)]
    share, fine = summary(version, examples, there, run(sys.executable, names, examples, args.folder, here=True))
    sys.exit(share < args.floor or not fine)


if __name__ == "__main__":
    main()
