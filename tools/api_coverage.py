"""Compares pijit's public names with MindSpore's, and writes what is known of MindSpore's.

    python tools/api_coverage.py dump PYTHON PYTHON     from environments with MindSpore 2.7.1 and 2.10.0 writes
                                                        pijit/compat/reference.json (module
                                                        paths, names, where each is defined) and tools/api_names.json
                                                        (members, parameters)
    python tools/api_coverage.py                        writes docs/api-coverage.md, the table of docs/from-mindspore.md
                                                        and pijit/compat/homes.py (what MindSpore calls our classes)
    python tools/api_coverage.py missing ops            prints what a module lacks

A name works, or it works differently (its parameters have other names, or a note says how), or it raises
NotImplementedError when it is used; what differs stands in tools/api_notes.txt, why others raise in
pijit/compat/left_out.py."""

import argparse
import ast
import enum
import fnmatch
import importlib
import inspect
import json
import os
import pathlib
import pprint
import re
import subprocess
import sys
import types
import warnings

HERE = pathlib.Path(__file__).resolve().parent
NAMES, NOTES, PAGE = HERE / "api_names.json", HERE / "api_notes.txt", HERE.parent / "docs" / "api-coverage.md"
GUIDE = PAGE.with_name("from-mindspore.md")
REFERENCE = HERE.parent / "pijit" / "compat" / "reference.json"
HOMES = REFERENCE.with_name("homes.py")

MODULES = """mindspore mindspore.ops mindspore.nn mindspore.mint mindspore.mint.nn mindspore.mint.nn.functional
mindspore.mint.linalg mindspore.mint.special mindspore.mint.optim mindspore.numpy mindspore.numpy.fft
mindspore.common mindspore.common.dtype mindspore.common.initializer mindspore.common.api
mindspore.common.parameter mindspore.common.generator mindspore.context mindspore.amp mindspore.train
mindspore.train.callback mindspore.train.metrics mindspore.train.summary mindspore.nn.metrics
mindspore.nn.dynamic_lr mindspore.nn.learning_rate_schedule mindspore.nn.optim mindspore.nn.wrap
mindspore.nn.loss mindspore.nn.layer mindspore.nn.utils mindspore.nn.probability.distribution
mindspore.nn.probability.bijector mindspore.ops.functional mindspore.ops.operations mindspore.ops.composite
mindspore.ops.function mindspore.ops.primitive mindspore.experimental.optim
mindspore.experimental.optim.lr_scheduler mindspore.scipy.linalg mindspore.scipy.fft mindspore.scipy.optimize
mindspore.communication mindspore.communication.comm_func mindspore.communication.management
mindspore.parallel mindspore.parallel.nn mindspore.dataset mindspore.dataset.transforms
mindspore.dataset.vision mindspore.dataset.text mindspore.dataset.audio mindspore.mindrecord mindspore.hal
mindspore.runtime mindspore.profiler mindspore.device_context.cpu mindspore.log mindspore.boost
mindspore.rewrite mindspore.utils mindspore.multiprocessing mindspore.graph mindspore.tools
mindspore.safeguard mindspore.onnx mindspore.mint.distributed mindspore.experimental
mindspore.parallel.auto_parallel mindspore.device_context mindspore.nn.probability
mindspore.dataset.dataloader""".split()
CLASSES = {"mindspore.Tensor": ("mindspore", "Tensor"), "mindspore.Parameter": ("mindspore", "Parameter"),
           "mindspore.nn.Cell": ("mindspore.nn", "Cell"),
           "mindspore.nn.Optimizer": ("mindspore.nn", "Optimizer"),
           "mindspore.ops.Primitive": ("mindspore.ops", "Primitive")}


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
    return sorted({n for n in names if n[0] != "_" and n.isidentifier()
                   and not isinstance(getattr(module, n, None), types.ModuleType) and hasattr(module, n)
                   and (hasattr(module, "__all__") or getattr(getattr(module, n), "__module__", None) is None
                        or str(getattr(module, n).__module__).startswith(("mindspore", "abc")))})


def inner(path):
    """Whether a module is none that programs import: builders of the package itself, generated kernels' registrations,
    the profiler's parts."""
    parts = path.split(".")
    return parts[0] in ("_akg", "lib", "include") or bool({"ops_generate", "_op_impl", "__main__"} & set(parts)) \
        or path.startswith(("profiler.", "_extends.parallel_compile"))


def module_paths(package):
    """Module paths below `mindspore`, "" for itself."""
    root = pathlib.Path(package.__file__).parent
    files = [f.relative_to(root).with_suffix("") for f in root.rglob("*.py")]
    paths = {".".join(f.parts[:-1] if f.name == "__init__" else f.parts) for f in files}
    paths |= {f.name.partition(".")[0] for f in root.glob("_c_*.so")}
    return sorted(p for p in paths if not inner(p))


def sort_of(obj):
    """What stands in for an object that is left out: a class of which sort, a function or a value."""
    if isinstance(obj, type):
        above = {c.__name__ for c in obj.__mro__[1:]}
        if issubclass(obj, BaseException):
            return "error"
        if issubclass(obj, enum.Enum):
            return "enum"
        return next((sort for base, sort in (("Optimizer", "optimizer"), ("Cell", "cell"), ("Primitive", "primitive"),
                                             ("Callback", "callback"))
                     if base in above), "class")
    return "function" if callable(obj) else "value"


def written_in(obj):
    """The module of a class or function, else None."""
    return (getattr(obj, "__module__", None) if isinstance(obj, (type, types.FunctionType, types.BuiltinFunctionType))
            else None)


def is_mindspores(obj):
    """Whether something that a module holds is MindSpore's own, or a constant."""
    if isinstance(obj, types.ModuleType):
        return obj.__name__.startswith("mindspore.") and not inner(obj.__name__[10:]) and hasattr(obj, "__file__")
    where = written_in(obj) or type(obj).__module__
    return (isinstance(where, str) and where.partition(".")[0] == "mindspore"
            or type(obj) in (int, float, str, bool, tuple, list, dict) and literal(obj) is not None)


def literal(value):
    """The value as text where it is one of Python's own, else None."""
    if isinstance(value, str) and value.startswith(os.getcwd()):  # of where the tool ran
        value = "." if value == os.getcwd() else ""
    text = repr(value)
    try:
        return text if len(text) < 200 and ast.literal_eval(text) == value else None
    except (ValueError, SyntaxError):
        return None


def survey():
    """What one MindSpore has: {"paths": {path: {name: home}}, "objects": {home: sort}, "enums": {home: [base,
    members]}}, where a home is "path:name", or "=literal"."""
    import mindspore
    warnings.simplefilter("ignore")
    first, objects, enums, paths, keep = {}, {}, {}, {}, []
    for path in module_paths(mindspore):
        paths[path] = names = {}
        try:
            module = importlib.import_module(f"mindspore.{path}".rstrip("."))
        except Exception as e:  # of a device that isn't there
            print(path, e, file=sys.stderr)
            continue
        listed = {n for n in getattr(module, "__all__", ()) if isinstance(n, str)}
        for name in sorted({*listed, *(n for n, v in vars(module).items() if n[:2] != "__" and is_mindspores(v))}):
            obj = getattr(module, name, None)
            if not name.isidentifier() or not hasattr(module, name):
                continue
            if isinstance(obj, types.ModuleType):
                if obj.__name__ != f"mindspore.{path}.{name}".replace("..", "."):  # one that it imports from elsewhere
                    names[name] = f"{obj.__name__.partition('.')[2]}:"
                continue
            owner = written_in(obj)
            own_name = obj.__qualname__ if owner else name
            if (isinstance(owner, str) and own_name.isidentifier()
                and getattr(sys.modules.get(owner), own_name, None) is obj):
                home = f"{owner}:{own_name}" if owner.partition(".")[0] != "mindspore" else f"{owner[10:]}:{own_name}"
            elif literal(obj) is not None:
                home = "=" + literal(obj)
            else:
                home = first.setdefault(id(obj), f"{path}:{name}")
                keep.append(obj)  # else another object got its id
            names[name] = home
            if home[0] != "=":
                objects[home] = sort_of(obj)
                if objects[home] == "enum":
                    base = next(c.__name__ for c in obj.__mro__ if c.__module__ == "enum")
                    enums[home] = [base, {n: literal(m.value) for n, m in obj.__members__.items()}]
    return {"paths": paths, "objects": objects, "enums": enums}


def facts_of_this_one():
    """What `dump` asks each Python for."""
    import mindspore
    facts = {"version": mindspore.__version__, "modules": {}, **survey()}
    for path in MODULES:
        try:
            module = importlib.import_module(path)
        except ModuleNotFoundError:  # of another version
            continue
        facts["modules"][path] = {n: [kind(getattr(module, n)), parameters(getattr(module, n))] for n in public(module)}
    for path, (module, name) in CLASSES.items():
        cls = getattr(importlib.import_module(module), name)
        facts["modules"][path] = {n: ["method", parameters(getattr(cls, n, None))] for n in sorted(dir(cls))
                                  if n[0] != "_"}
    return facts


def dump(pythons):
    """Merges what the Pythons' MindSpores have; where they differ the first counts, also in where something is
    defined."""
    merged = {"versions": [], "modules": {}, "paths": {}, "objects": {}, "enums": {}}
    for python in pythons:
        run = subprocess.run([python, __file__, "facts"], stdout=subprocess.PIPE, text=True, check=True)
        facts = json.loads(run.stdout.splitlines()[-1])
        merged["versions"].append(facts["version"])
        moved = {home: merged["paths"][path][name] for path, names in facts["paths"].items()
                 for name, home in names.items()
                 if merged["paths"].get(path, {}).get(name, home) != home
                 and "=" not in (home[0], merged["paths"][path][name][0])}
        facts["paths"] = {path: {n: moved.get(home, home) for n, home in names.items()}
                          for path, names in facts["paths"].items()}
        facts["objects"] = {moved.get(home, home): sort for home, sort in facts["objects"].items()}
        for key in ("modules", "paths"):
            for path, names in facts[key].items():
                into = merged[key].setdefault(path, {})
                into.update({n: v for n, v in names.items() if n not in into})
        for key in ("objects", "enums"):
            merged[key] = {**facts[key], **merged[key]}
    lines = [f'"{path}": {{\n' + ",\n".join(f"{json.dumps(n)}: {json.dumps(v)}" for n, v in sorted(names.items())) +
             "\n}"
             for path, names in merged["modules"].items()]
    NAMES.write_text(f'{{"versions": {json.dumps(merged["versions"])}, "modules": {{\n' + ",\n".join(lines) + "\n}}\n")
    sorts = {}
    for home, sort in merged["objects"].items():
        path, _, name = home.partition(":")
        sorts.setdefault(path, {}).setdefault(sort, []).append(name)
    sorts = {path: {sort: " ".join(sorted(names)) for sort, names in sorted(by.items())}
             for path, by in sorted(sorts.items())}
    written = {"paths": {path: packed(names) for path, names in sorted(merged["paths"].items())}, "sorts": sorts,
               "enums": dict(sorted(merged["enums"].items()))}
    REFERENCE.write_text("{" + ",\n".join(
        f'"{part}": {{\n' + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in rows.items()) + "\n}"
        for part, rows in written.items()) + "}\n")


def packed(names):
    """{home path: "name name=name there"} of {name: home}; literals stand at "=" as [name, text]."""
    result = {}
    for name, home in sorted(names.items()):
        if home[0] == "=":
            result.setdefault("=", {})[name] = home[1:]
            continue
        path, _, there = home.partition(":")
        result[path] = f"{result.get(path, '')} {name if name == there else f'{name}={there}'}".strip()
    return result


def notes():
    """(pattern, how it differs) of each line of the notes."""
    rows = [line.split("|") for line in NOTES.read_text().splitlines() if line.strip() and line[0] != "#"]
    return [(pattern.strip(), text.strip()) for pattern, text in rows]


def owner(path):
    """pijit's module or class for one of MindSpore's, or None."""
    if path in CLASSES:
        module, name = CLASSES[path]
        return getattr(owner(module), name, None)
    try:
        return importlib.import_module(path)
    except ImportError:
        return None


STATES = ("works", "differs", "raises", "missing")


def compare(facts):
    """{path: {name: (state, text)}}; states are those of STATES."""
    import pijit.compat
    from pijit.compat import left_out, reference
    pijit.compat.install()
    rows, result = notes(), {}
    listed = {f"mindspore.{path}".rstrip("."): {n: ["", None] for n, home in reference.homes(path).items()
                                                if n[0] != "_" and home == f"{path}:{n}"}
              for path in reference._facts()["paths"] if not any(p[:1] == "_" for p in path.split("."))}
    for path, names in {**listed, **facts["modules"]}.items():
        there = owner(path)
        result[path] = states = {}
        for name, (what, wanted) in names.items():
            note = next((text for pattern, text in rows if fnmatch.fnmatchcase(f"{path}.{name}", pattern)), None)
            obj = getattr(there, name, None) if there is not None else None
            if there is None or not hasattr(there, name):
                states[name] = ("missing", "")
            elif left_out.is_left_out(obj):
                states[name] = ("raises", left_out.reason(obj._left_out).rstrip("."))
            elif note:
                states[name] = ("differs", note)
            else:
                own = parameters(obj) if what in ("function", "method", "class", "primitive") else None
                lacks = ([] if own is None or wanted is None or any(p[0] == "*" for p in own + wanted)
                         else [p for p in wanted if p not in own])
                states[name] = ("differs", "no parameter " + ", ".join(lacks)) if lacks else ("works", "")
    return result


FIRST = ["", "nn", "ops", "train", "mint", "mint.nn", "common", "dataset", "dataset.vision", "dataset.transforms",
         "dataset.text"]


def write_homes():
    """pijit/compat/homes.py: for each module of pijit {where MindSpore defines it: names} of the classes that the
    module defines."""
    from pijit.compat import left_out, reference
    found, paths = {}, reference._facts()["paths"]
    for path in [*FIRST, *paths]:
        module = owner(f"mindspore.{path}".rstrip("."))
        for name, home in reference.homes(path).items():
            there, _, its_name = home.partition(":")
            cls = getattr(module, name, None)
            if isinstance(cls, type) and name == cls.__qualname__ and not left_out.is_left_out(cls):
                own = pijit_module(cls)
                if own and getattr(sys.modules.get(own), name, None) is cls:
                    places = found.setdefault((own, name), [None, path])
                    if places[0] is None and its_name == name and there in paths:
                        places[0] = there
    table = {}
    for (own, name), (defined, seen) in sorted(found.items()):
        at, there = table.setdefault(own.partition(".")[2], {}), seen if defined is None else defined
        at[there] = f"{at.get(there, '')} {name}".strip()
    text = pprint.pformat(table, width=118, sort_dicts=False)
    # a module with one class is not broken by pprint, however long its name
    text = re.sub(r"^(?=.{121})( +)('[^']*': \{)", r"\1\2\n\1    ", text, flags=re.M)
    HOMES.write_text(
        '"""Where MindSpore defines our classes: {our module: {its module: names}}. Written by '
        'tools/api_coverage.py."""\n\nHOMES = '
        + text + "\n")


def pijit_module(cls):
    """The module of pijit that defines a class, under the alias or not, or None."""
    from pijit import compat
    return compat.own_module_of(cls)


def page(facts, result):
    def counts(states):
        return [sum(state == s for state, _ in states) for s in STATES]

    everything = {}
    for path, states in result.items():
        for name, state in states.items():
            everything[path, name] = state
    n = counts(everything.values())
    out = ["# Names of MindSpore in pijit", "",
           f"Public names of MindSpore {' and '.join(facts['versions'])}, by module. Written by "
           f"`tools/api_coverage.py`; don't edit.", "",
           "Every module and every name can be imported. A name *works*; or it works, and *differs* in what its line "
           "below says; or it *raises* "
           "NotImplementedError when it is used (of a class: when an instance is made), with the reason and the "
           "nearest that there is.", "",
           f"All {len(result)} modules and classes: {len(everything)} names, of which {n[0]} work, {n[1]} work "
           f"differently, {n[2]} raise, "
           f"{n[3]} are missing. Of modules without a line below what they define counts.", "",
           "| module | names | works | differs | raises | missing |", "|---|---|---|---|---|---|"]
    shown = [part for path in facts["modules"] for part in parts(path, facts, result[path])]
    for part, members in shown:
        out.append(f"| {part} | {len(members)} | " + " | ".join(str(c) for c in counts(members.values())) + " |")
    for part, members in shown:
        out += ["", f"## {part}"]
        names = [n for n, (s, _) in members.items() if s == "works"]
        if names:
            out += ["", "Works: " + ", ".join(names)]
        for state, title in (("differs", "Works differently"), ("raises", "Raises"), ("missing", "Missing")):
            by_text = {}
            for n, (s, text) in members.items():
                if s == state:
                    by_text.setdefault(text, []).append(n)
            if by_text:
                out += ["", f"{title}:"] + [f"- {', '.join(ns)}{': ' if text else ''}{text}"
                                            for text, ns in sorted(by_text.items())]
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text("\n".join(out) + "\n")


def guide(facts, result):
    """The table of what raises in the guide: by reason, the names of the modules that programs import first."""
    rows, modules = {}, [p for p in facts["modules"] if p.count(".") < 2 or p.startswith("mindspore.dataset.")]
    for path in modules:
        for name, (state, text) in result[path].items():
            if state == "raises":
                names = rows.setdefault(text, [])
                if name not in [n.rpartition(".")[2] for n in names]:
                    names.append(f"{path}.{name}".removeprefix("mindspore."))
    out = ["| why | nearest | names |", "|---|---|---|"]
    for text, names in sorted(rows.items(), key=lambda row: -len(row[1])):
        why, _, nearest = text.partition(". The nearest there is: ")
        shown = ", ".join(f"`{n}`" for n in names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        out.append(f"| {why} | {nearest} | {shown} |")
    before, begin, rest = GUIDE.read_text().partition("<!-- raises: by `make api` -->\n")
    GUIDE.write_text(before + begin + "\n".join(out) + "\n<!-- end -->" + rest.partition("<!-- end -->")[2])


def parts(path, facts, states):
    """A module's states; of `ops` in two parts."""
    if path != "mindspore.ops":
        return [(path, states)]
    primitive = {n for n, (what, _) in facts["modules"][path].items() if what == "primitive"}
    return [(path + ", functions", {n: s for n, s in states.items() if n not in primitive}),
            (path + ", primitives", {n: s for n, s in states.items() if n in primitive})]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["dump", "facts", "write", "missing"], default="write")
    parser.add_argument("argument", nargs="*",
                        help="for dump: Pythons with MindSpore, for missing: a module below mindspore")
    o = parser.parse_args()
    if o.what == "facts":
        print(json.dumps(facts_of_this_one()))
        return None
    if o.what == "dump":
        return dump(o.argument)
    sys.path.insert(0, str(HERE.parent))
    facts = json.loads(NAMES.read_text())
    result = compare(facts)
    if o.what == "missing":
        for path, states in result.items():
            for part, members in parts(path, facts, states):
                names = [n for n, (s, _) in members.items() if s == "missing"]
                if (not o.argument or path ==
                    ("mindspore." + o.argument[0] if o.argument[0] != "mindspore" else "mindspore")):
                    print(f"{part}: {len(names)} of {len(members)}\n   {' '.join(names)}")
        return None
    write_homes()
    page(facts, result)
    return guide(facts, result)


if __name__ == "__main__":
    main()
