"""Do type checkers take the examples and the programs on pages? `python tools/example_types.py [CHECKER ...]`.

basedpyright and mypy, in strict mode, but for what asks for annotations, of which such programs have none, and for what
a page of several programs has by its nature. Programs for MindSpore are read as pijit's. Copies that are checked lie in
build/types. Both checkers stand beside this Python."""

import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "types"
BLOCK = re.compile(r"^(<!-- not run: [^>]+ -->\n)?```python[^\n]*\n(.*?)^```", re.S | re.M)
# Of others, without types, or not here.
LEFT_OUT = {"workers"}
OFF = {
    "no annotations": "UnknownMemberType UnknownVariableType UnknownParameterType UnknownArgumentType "
                      "UnknownLambdaType MissingParameterType MissingTypeStubs MissingModuleSource "
                      "MissingTypeArgument UntypedNamedTuple UntypedBaseClass UntypedFunctionDecorator "
                      "UntypedClassDecorator",
    "modules of other packages, and those that are made at run time": "MissingImports",
    "a `construct` takes what its class takes": "IncompatibleMethodOverride",
    "attributes that are None until they are set": "OptionalCall OptionalMemberAccess OptionalIterable",
    "several programs in one file, cells, names after a loop": "Redeclaration DuplicateImport UnusedExpression "
                                                               "UnusedVariable UnusedImport "
                                                               "PossiblyUnboundVariable",
}
# What stubs of others don't know, or a program without annotations does that one with them would not: by file.
KNOWN = {
    "PB004": "gi_running",  # of generators
    "factors.py": "ToIndices|__setitem__|__getitem__|Invalid index type",  # NumPy's arrays take lists of its integers
    "diffuse.py": 'stack',  # and a list of arrays of bool
    "steps.py": "isinstance", "callbacks.py": "astype",
    "resumed.py": 'Literal\\[0\\]|sqrt|__iter__', "bert.py": "all_layers",
    "classify.py": "DynamicLossScaleUpdateCell|EMA", "mobilenetv3.py": "None", "shufflenet.py": "None",
}
MYPY = ("--strict --allow-untyped-defs --allow-incomplete-defs --allow-untyped-calls --allow-untyped-decorators "
        "--allow-subclassing-any --allow-any-generics --no-warn-return-any --no-warn-unused-ignores "
        "--disable-error-code import-untyped --disable-error-code import-not-found --disable-error-code no-redef "
        "--disable-error-code override --disable-error-code var-annotated --follow-imports silent "
        "--allow-redefinition --implicit-reexport --no-namespace-packages")


def copies():
    """Writes what is checked; the files."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    texts = {}
    for path in sorted((ROOT / "examples").rglob("*.py")):
        if not LEFT_OUT & set(path.parts):
            texts[path.relative_to(ROOT)] = path.read_text(encoding="utf-8")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        code = [b[2] for b in BLOCK.finditer(path.read_text(encoding="utf-8")) if not b[1]]
        if code:
            texts[path.relative_to(ROOT).with_suffix(".py")] = "\n".join(code)
    for name, text in texts.items():
        file = FOLDER / name.parent / (name.stem.replace("-", "_") + "_page" * (name.parts[0] != "examples") + ".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(re.sub(r"^(\s*(?:import|from) )mindspore\b", r"\1pijit", text, flags=re.M), encoding="utf-8")
    return sorted(FOLDER.rglob("*.py"))


def checker(name):
    return str(pathlib.Path(sys.executable).parent / name)


def basedpyright():
    """What it finds, as texts."""
    config = {"include": ["."], "typeCheckingMode": "strict", "pythonVersion": "3.11", "useLibraryCodeForTypes": False,
              "extraPaths": [str(ROOT), "examples/models", "examples/programs"],
              **{f"report{rule}": False for rules in OFF.values() for rule in rules.split()}}
    (FOLDER / "pyrightconfig.json").write_text(json.dumps(config))
    run = subprocess.run([checker("basedpyright"), "-p", str(FOLDER), "--pythonpath", sys.executable, "--outputjson"],
                         capture_output=True, text=True)
    try:
        report = json.loads(run.stdout)
    except ValueError:
        sys.exit(f"basedpyright gave no report:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    if not report["summary"]["filesAnalyzed"]:
        sys.exit("basedpyright found no file")
    return [f"{pathlib.Path(d['file']).relative_to(FOLDER)}:{d['range']['start']['line'] + 1}: {d['message']} "
            f"[{d.get('rule')}]" for d in report["generalDiagnostics"] if d["severity"] == "error"]


def mypy():
    """The same; each folder on its own, as programs of one name stand in several."""
    found = []
    for folder in sorted({p.parent for p in FOLDER.rglob("*.py")}):
        if folder.name == "toolkit":
            continue  # with the programs that import it
        command = [checker("mypy"), *MYPY.split(), "--cache-dir", str(ROOT / "build" / "mypy"),
                   *sorted(p.name for p in folder.glob("*.py"))]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                             env={"MYPYPATH": f"{ROOT}:{FOLDER}/examples/models"})
        found += [f"{folder.relative_to(FOLDER)}/{line}" for line in run.stdout.splitlines() if ": error:" in line]
        if run.returncode > 1 or (run.returncode and ": error:" not in run.stdout):
            sys.exit(f"mypy failed in {folder}:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    return found


def main(*names):
    files = copies()
    wrong = [f"{name}: {line}" for name in names or ("basedpyright", "mypy") for line in globals()[name]()
             if not any(file in line.partition(":")[0] and re.search(said, line) for file, said in KNOWN.items())]
    print("\n".join(wrong) or f"{len(files)} programs pass")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(*sys.argv[1:])
