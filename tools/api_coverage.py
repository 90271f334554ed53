"""Compares pijit's public names with MindSpore's, and writes docs/api-coverage.md.

    <Python with MindSpore 2.7.1> tools/api_coverage.py dump     writes tools/api_names.json: names of modules, members, parameters
    python tools/api_coverage.py                                 writes docs/api-coverage.md
    python tools/api_coverage.py missing ops                     prints what a module lacks

A name is there, or it differs (its parameters have other names, or a note says how), or it is missing, or it is left out on
purpose; notes and reasons stand in tools/api_notes.txt."""

import argparse
import fnmatch
import importlib
import inspect
import json
import pathlib
import sys
import types

HERE = pathlib.Path(__file__).resolve().parent
NAMES, NOTES, PAGE = HERE / "api_names.json", HERE / "api_notes.txt", HERE.parent / "docs" / "api-coverage.md"

MODULES = """mindspore mindspore.ops mindspore.nn mindspore.mint mindspore.mint.nn mindspore.mint.nn.functional mindspore.mint.linalg
mindspore.mint.special mindspore.mint.optim mindspore.numpy mindspore.numpy.fft mindspore.common mindspore.common.dtype mindspore.common.initializer
mindspore.common.api mindspore.common.parameter mindspore.common.generator mindspore.context mindspore.amp mindspore.train mindspore.train.callback
mindspore.train.metrics mindspore.train.summary mindspore.nn.metrics mindspore.nn.dynamic_lr mindspore.nn.learning_rate_schedule mindspore.nn.optim mindspore.nn.wrap
mindspore.nn.loss mindspore.nn.layer mindspore.nn.utils mindspore.nn.probability.distribution mindspore.nn.probability.bijector
mindspore.ops.functional mindspore.ops.operations mindspore.ops.composite mindspore.ops.function mindspore.ops.primitive
mindspore.experimental.optim mindspore.experimental.optim.lr_scheduler mindspore.scipy.linalg mindspore.scipy.fft mindspore.scipy.optimize
mindspore.communication mindspore.communication.comm_func mindspore.communication.management mindspore.parallel mindspore.parallel.nn
mindspore.dataset mindspore.dataset.transforms mindspore.dataset.vision mindspore.dataset.text mindspore.dataset.audio mindspore.mindrecord
mindspore.hal mindspore.runtime mindspore.profiler mindspore.device_context.cpu mindspore.log mindspore.boost mindspore.rewrite
mindspore.utils mindspore.multiprocessing""".split()
CLASSES = {"mindspore.Tensor": ("mindspore", "Tensor"), "mindspore.Parameter": ("mindspore", "Parameter"), "mindspore.nn.Cell": ("mindspore.nn", "Cell"),
           "mindspore.nn.Optimizer": ("mindspore.nn", "Optimizer"), "mindspore.ops.Primitive": ("mindspore.ops", "Primitive")}


def parameters(obj):
    """Names of an object's parameters, or None where they can't be known."""
    try:
        kinds = [p for p in inspect.signature(obj).parameters.values() if p.name != "self"]
    except (TypeError, ValueError):
        return None
    return ["*" * ((p.kind is p.VAR_POSITIONAL) + 2 * (p.kind is p.VAR_KEYWORD)) + p.name for p in kinds]


def kind(obj):
    if isinstance(obj, type):
        return "primitive" if any(c.__name__ == "Primitive" for c in obj.__mro__) else "class"
    return "function" if callable(obj) else "value"


def public(module):
    names = getattr(module, "__all__", None) or vars(module)
    return sorted({n for n in names if n[0] != "_" and n.isidentifier() and not isinstance(getattr(module, n, None), types.ModuleType) and hasattr(module, n)
                   and (hasattr(module, "__all__") or getattr(getattr(module, n), "__module__", None) is None
                        or str(getattr(module, n).__module__).startswith(("mindspore", "abc")))})


def dump():
    import mindspore
    facts = {"version": mindspore.__version__, "modules": {}}
    for path in MODULES:
        module = importlib.import_module(path)
        facts["modules"][path] = {n: [kind(getattr(module, n)), parameters(getattr(module, n))] for n in public(module)}
    for path, (module, name) in CLASSES.items():
        cls = getattr(importlib.import_module(module), name)
        facts["modules"][path] = {n: ["method", parameters(getattr(cls, n, None))] for n in sorted(dir(cls)) if n[0] != "_"}
    lines = [f'"{path}": {{\n' + ",\n".join(f"{json.dumps(n)}: {json.dumps(v)}" for n, v in names.items()) + "\n}" for path, names in facts["modules"].items()]
    NAMES.write_text(f'{{"version": "{facts["version"]}", "modules": {{\n' + ",\n".join(lines) + "\n}}\n")


def notes():
    """(pattern, differs or left out, text) of each line of the notes."""
    rows = []
    for line in NOTES.read_text().splitlines():
        if line.strip() and line[0] != "#":
            pattern, state, text = (part.strip() for part in line.split("|"))
            rows.append((pattern, state, text))
    return rows


def owner(path):
    """pijit's module or class for one of MindSpore's, or None."""
    if path in CLASSES:
        module, name = CLASSES[path]
        return getattr(owner(module), name, None)
    try:
        return importlib.import_module(path)
    except ImportError:
        return None


def compare(facts):
    """{path: {name: (state, text)}}; states are there, differs, missing, left out."""
    import pijit.compat
    pijit.compat.install()
    rows, result = notes(), {}
    for path, names in facts["modules"].items():
        there = owner(path)
        result[path] = states = {}
        for name, (what, wanted) in names.items():
            note = next(((state, text) for pattern, state, text in rows if fnmatch.fnmatchcase(f"{path}.{name}", pattern)), None)
            obj = getattr(there, name, None) if there is not None else None
            has = there is not None and hasattr(there, name)
            if has and note and note[0] == "differs":
                states[name] = note
            elif has:
                own = parameters(obj) if what in ("function", "method", "class", "primitive") else None
                lacks = [] if own is None or wanted is None or any(p[0] == "*" for p in own + wanted) else [p for p in wanted if p not in own]
                states[name] = ("differs", "no parameter " + ", ".join(lacks)) if lacks else ("there", "")
            else:
                states[name] = note if note and note[0] == "left out" else ("missing", "")
    return result


def page(facts, result):
    out = ["# Names of MindSpore in pijit", "",
           f"Public names of MindSpore {facts['version']}, by module. Written by `tools/api_coverage.py`; don't edit.", "",
           "| module | names | there | differs | left out | missing | there or differs, of those not left out |", "|---|---|---|---|---|---|---|"]
    for path, states in result.items():
        for part, members in parts(path, facts, states):
            n = {s: sum(state == s for state, _ in members.values()) for s in ("there", "differs", "left out", "missing")}
            rest = len(members) - n["left out"]
            share = f"{100 * (n['there'] + n['differs']) / rest:.0f} %" if rest else "–"
            out.append(f"| {part} | {len(members)} | {n['there']} | {n['differs']} | {n['left out']} | {n['missing']} | {share} |")
    for path, states in result.items():
        for part, members in parts(path, facts, states):
            out += ["", f"## {part}"]
            names = [n for n, (s, _) in members.items() if s == "there"]
            if names:
                out += ["", "There: " + ", ".join(names)]
            for state, title in (("differs", "Differs"), ("left out", "Left out")):
                by_text = {}
                for n, (s, text) in members.items():
                    if s == state:
                        by_text.setdefault(text, []).append(n)
                if by_text:
                    out += ["", f"{title}:"] + [f"- {', '.join(ns)}: {text}" for text, ns in sorted(by_text.items())]
            names = [n for n, (s, _) in members.items() if s == "missing"]
            if names:
                out += ["", "Missing: " + ", ".join(names)]
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text("\n".join(out) + "\n")


def parts(path, facts, states):
    """A module's states; of `ops` in two parts."""
    if path != "mindspore.ops":
        return [(path, states)]
    primitive = {n for n, (what, _) in facts["modules"][path].items() if what == "primitive"}
    return [(path + ", functions", {n: s for n, s in states.items() if n not in primitive}),
            (path + ", primitives", {n: s for n, s in states.items() if n in primitive})]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["dump", "write", "missing"], default="write")
    parser.add_argument("module", nargs="?", help="for missing: below mindspore")
    o = parser.parse_args()
    if o.what == "dump":
        return dump()
    sys.path.insert(0, str(HERE.parent))
    facts = json.loads(NAMES.read_text())
    result = compare(facts)
    if o.what == "missing":
        for path, states in result.items():
            for part, members in parts(path, facts, states):
                names = [n for n, (s, _) in members.items() if s == "missing"]
                if not o.module or path == ("mindspore." + o.module if o.module != "mindspore" else o.module):
                    print(f"{part}: {len(names)} of {len(members)}\n   {' '.join(names)}")
        return None
    return page(facts, result)


if __name__ == "__main__":
    main()
