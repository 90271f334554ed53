"""One place for each question: what the sources may not contain, so that it stays so."""

import ast
import graphlib
import importlib
import pathlib
import pkgutil
import re

import pytest

CSRC = pathlib.Path(__file__).parents[2] / "csrc"
pytestmark = pytest.mark.skipif(not CSRC.exists(), reason="tests run without the sources")


def places(pattern, folder, but=()):
    """Lines below a folder of csrc that match, as "file:line"."""
    found = []
    for path in sorted([*(CSRC / folder).rglob("*.h"), *(CSRC / folder).rglob("*.cc")]):
        name = str(path.relative_to(CSRC))
        if name not in but:
            found += [f"{name}:{n}" for n, line in enumerate(path.read_text().split("\n"), 1)
                      if re.search(pattern, line)]
    return found


def test_one_place_says_whether_code_may_be_captured_now():
    # set_graph_mode's question to Python is about Cells, not about capture
    asked = r"\b(thread_is_traced|tape_needs_single_ops|interpreter_is_awaited|hook_is_off_here|stack_is_low)\("
    assert len(places(asked, "dispatch", but=["dispatch/permission.h"])) <= 1


def test_one_place_decides_plain_or_captured():
    assert not places(r"\bmedian|nth_element|min_element.*ns", "dispatch",
                      but=["dispatch/tier.h", "dispatch/tier.cc", "dispatch/automatic.cc"])


def test_dispatch_has_one_clock():
    assert not places(r"steady_clock|system_clock|high_resolution_clock", "dispatch")


@pytest.mark.parametrize("folder", ["graph", "compile", "runtime", "eager", "cpu", "cuda"])
def test_below_capture_ops_are_not_known_by_their_names(folder):
    assert not places(r"\bop(\(\))?(\.|->)name (==|!=) \"|op->name\.(starts_with|ends_with)\(", folder)


def test_lines_of_python_have_at_most_120_columns():
    root = CSRC.parent  # ruff lets lines be that end in a comment for tools
    folders = ("pijit", "tests", "benchmarks", "tools", "examples")
    files = [*root.glob("*.py"), *(f for folder in folders for f in (root / folder).rglob("*.py*"))]
    assert not [f"{f}:{n}" for f in files if f.suffix in (".py", ".pyi")
                for n, line in enumerate(f.read_text(errors="replace").split("\n"), 1) if len(line) > 120]


def test_zip_is_as_cpython_39_has_it():
    found = []
    for folder in ("pijit", "tests", "benchmarks", "tools", "examples"):
        for path in sorted((CSRC.parent / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            for node in ast.walk(ast.parse(text)) if "zip(" in text else ():
                if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "zip" and node.keywords:
                    found.append(f"{path}:{node.lineno}")
    assert not found  # tests have pairs()


def test_flags_of_the_compiler_belong_to_folders():
    text = (CSRC.parent / "CMakeLists.txt").read_text()
    assert not [line for line in text.split("\n") if "set_source_files_properties" in line
                and "COMPILE_OPTIONS" in line]


def test_passes_stand_in_one_list():
    assert not places(r"\bdump_stage\(", "compile", but=["compile/pipeline.cc", "compile/compile.cc"])
    assert not places(r"\bdump_stage\(|verify\(\)", "compile/passes")
    listed = set(re.findall(r'#include "compile/passes/(\w+)\.h"', (CSRC / "compile" / "pipeline.cc").read_text()))
    assert listed == {path.stem for path in (CSRC / "compile" / "passes").glob("*.h")}
    declared = re.findall(r"^std::unique_ptr<Graph> (\w+)\(", (CSRC / "compile" / "pipeline.cc").read_text(), re.M)
    assert len(declared) >= 2 and not places("|".join(rf"^std::unique_ptr<Graph> {f}\(.*\);$" for f in declared),
                                              "compile", but=["compile/pipeline.cc", "compile/pipeline.h"])


def test_no_value_becomes_one_of_another_kind():
    assert not places(r"->kind = ", "")
    assert len(places(r"^  const Kind kind;", "capture")) == 1


def test_what_a_kind_may_ask_knows_no_kinds():
    text = (CSRC / "capture/context.h").read_text()
    assert '#include "capture/values' not in text
    body = text[text.index("class Context :"):]
    declared = re.findall(r"^  (?:\[\[noreturn\]\] |virtual |static |explicit )*[\w:<>*& ]*?\b\w+\(",
                          body[:body.index("\n};")], re.M)
    assert len(declared) <= 38, "what only a kind or the protocol needs is in values/ or protocol/"


def test_a_value_has_what_all_kinds_have():
    text = (CSRC / "capture/value.h").read_text()
    body = text[text.index("struct Value : CaptureSlots {"):]
    fields = re.findall(r"^  (?!const Kind kind|using )[\w:<>]+ \w+(?: = [^;(]+)?;", body[:body.index("\n};")], re.M)
    assert len(fields) <= 4, fields


def test_a_kind_is_known_to_its_own_header():
    named = re.compile(r"\b(?!as_)\w+Value\b")
    for header in ("value.h", "values/container.h", "values/growing.h", "values/keyed.h"):
        code = re.sub(r"//[^\n]*", "", (CSRC / "capture" / header).read_text())
        assert not {n for n in named.findall(code) if n != "Value"}, header


def test_names_are_rows_of_tables():
    chains = places(r"\b(name|text|n|from) *== *\"", "capture")
    assert len(chains) <= 10, "see Method and Member in capture/value.h"


def test_kinds_are_asked_and_not_told_apart():
    assert not places(r"\bValue::k[A-Z]\w*", "")
    assert len(places(r"->kind (==|!=)", "capture")) <= 5


def _sources():
    return sorted([*CSRC.rglob("*.h"), *CSRC.rglob("*.cc")])


def _without_texts(code):
    """Code with blanks for comments, texts and lines of the preprocessor."""
    def blank(m):
        return re.sub(r"[^\n]", " ", m[0])
    texts = r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
    code = re.sub(rf"//[^\n]*|/\*.*?\*/|{texts}", blank, code, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, code, flags=re.M)


def _classes(code):
    """(name, what stands in it and not in braces inside) of each class."""
    for m in re.finditer(r"\b(?:class|struct)\s+([\w:]+)(?:\s+final)?\s*(?::[^;{}()]*)?\{", code):
        depth, own, at = 1, [], m.end()
        for brace in re.compile("[{}]").finditer(code, at):
            if depth == 1:
                own.append(code[at:brace.start()] + brace[0])
            depth += 1 if brace[0] == "{" else -1
            at = brace.end()
            if depth == 1:
                own.append(";")
            elif depth == 0:
                break
        yield m[1], "".join(own)


def _functions(body):
    """Names of the functions that a class declares or defines."""
    body = re.sub(r"\b(?:public|private|protected)\s*:", ";", body)
    body = re.sub(r"<[^<>;(]*(?:<[^<>;(]*>[^<>;(]*)*>", " ", body)
    declared = (re.match(r"\s*(?:\[\[\w+\]\]\s*)?[\w:&*\s]*?(~?\w+|operator\W+)\s*\(", d) for d in body.split(";"))
    return {m[1] for m in declared if m and "=" not in m[0]
            and not re.match(r"\s*(using|friend|typedef|static_assert|return|enum)\b", m[0])}


def test_no_class_has_more_than_40_functions():
    sizes = {}
    for path in _sources():
        for name, body in _classes(_without_texts(path.read_text())):
            where = f"{path.relative_to(CSRC)}:{name}"
            sizes[where] = max(sizes.get(where, 0), len(_functions(body)))
    assert sizes["capture/tracer.h:Tracer"] > 30  # they are counted at all
    assert not {w: n for w, n in sizes.items() if n > 40}


def test_functions_are_read_at_a_glance():
    long, of_capture = [], []
    for path in _sources():
        lines = [line.rstrip() for line in _without_texts(path.read_text()).split("\n")]
        for n, line in enumerate(lines):
            begins = re.match(r"( {0,2})(?!(?:if|for|while|switch|struct|class|namespace)\b)[\w:<>\[].*\{$", line)
            if begins and line.endswith((") {", "const {", "override {")):
                end = next((k for k in range(n, len(lines)) if lines[k].startswith(begins[1] + "}")), n)
                if end - n + 1 > 95 and path.is_relative_to(CSRC / "capture"):
                    of_capture.append(f"{path.name}:{n + 1}")
                if end - n + 1 > 100 and not re.search(r"\bregister_\w+\(", line):  # tables of ops and kernels
                    long.append(f"{path.name}:{n + 1}")
    assert not of_capture, "a function of more than 95 lines has parts with names"
    assert len(long) <= 3, long


# One of each kind of addition: what names it, and in how many files at most, beside those with its mathematics. Tests,
# texts that tests compare with, and generated files are not counted.
ADDITIONS = {
    "an elementwise op": (r"\berfcx\b", 3),
    "an op with a kernel": (r"\bresize_linear\b", 4),
    "a kind of value": (r"\bBytearrayValue\b", 3),  # its header, its code, its line in kinds.cc
    "a name of MindSpore": (r"\bfmax\b|\bFmax\b", 1),  # as function, method and primitive
    "a pass": (r"\bslice_parts\b", 2),
}


@pytest.mark.parametrize("what", ADDITIONS)
def test_an_addition_takes_few_files(what):
    named, most = ADDITIONS[what]
    root = CSRC.parent
    found = [p for folder in (CSRC, root / "pijit") for p in sorted(folder.rglob("*"))
             if p.suffix in (".h", ".cc", ".def", ".py") and not re.match(r"float\d\d_math", p.name)
             and p.name != "homes.py" and re.search(named, p.read_text(encoding="utf-8"))]
    assert 0 < len(found) <= most, found


# Words of before; in their places stand the field's: resume point, on-stack replacement, function cache, deoptimized,
# comparison, dynamic, guard cache, joint partition, rematerialize, fast math, unroll, fusion group, metadata,
# oversubscription, GIL.
OLD_WORDS = {
    r"\b(Point|Stand|Front|State|Account|Trial)\b|\b(stand|front)(_?\.|->)|\b[jJ]udged\b": "csrc/dispatch",
    r"[gG]iven[_ ]back": "csrc/dispatch pijit/report.py pijit/notebook.py pijit/explanation.py pijit/profiling "
                        "docs/scripts.md CONTRIBUTING.md README.md",
    r"\btrials?\b|\b\w+_trial_?\b": "csrc/dispatch pijit/jit.py",
    r"[vV]arying|\b(un)?sourced\b|\bunfixed\b|\bkVarying\b": "csrc docs README.md CONTRIBUTING.md",
    r"\bMemo\b|memo\.(h|cc)|\*memo\*": "csrc docs CONTRIBUTING.md",
    r"\bDifferentiated\b|differentiated\.(h|cc)": "csrc docs/architecture.md docs/internals CONTRIBUTING.md",
    r"\b[rR]ecompute|\brelax(ed)?\b|short.axes":
        "csrc/compile csrc/graph docs/architecture.md docs/internals CONTRIBUTING.md",
    r"[wW]idens\b|\b[uU]nits?\b": "csrc/compile csrc/graph/op.h docs/architecture.md docs/internals CONTRIBUTING.md",
    r"\b[sS]ubjects?(Ref|_of)?\b": "csrc pijit/profiling pijit/trace.py",
    r"[cC]rowding|[oO]uter.?[lL]ock|\bcall-outs?\b": "csrc docs README.md CONTRIBUTING.md",
}


@pytest.mark.parametrize("words", OLD_WORDS)
def test_the_fields_terms_stand_for_what_they_mean(words):
    root, found = CSRC.parent, []
    for where in OLD_WORDS[words].split():
        files = [root / where] if (root / where).is_file() else sorted((root / where).rglob("*"))
        found += [f"{f.relative_to(root)}:{n}" for f in files if f.suffix in (".h", ".cc", ".def", ".py", ".md")
                  for n, line in enumerate(f.read_text(encoding="utf-8").split("\n"), 1) if re.search(words, line)]
    assert not found


def _worded(path):
    """Lines of errors that a function words by itself: raise X("For 'op', …")."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        text = node.exc.args[0] if isinstance(node, ast.Raise) and getattr(node.exc, "args", None) else None
        text = text.values[0] if isinstance(text, ast.JoinedStr) else text
        if isinstance(text, ast.Constant) and str(text.value).startswith("For '"):
            yield node.lineno


def test_errors_of_arguments_are_worded_in_one_place():
    assert sum(len([*_worded(path)]) for path in (CSRC.parent / "pijit").rglob("*.py")) <= 150, "see pijit/_check.py"


def _imports(module, path, modules):
    """The modules that a module imports before it does anything else."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[:len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for a in node.names:
                if f"{base}.{a.name}" in modules:
                    yield f"{base}.{a.name}"
                elif a.name not in ("_C", "_run"):
                    yield base


def test_modules_import_each_other_in_no_circle():
    root = CSRC.parent
    modules = {".".join(p.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): p
               for p in (root / "pijit").rglob("*.py")}
    wanted = {m: {i for i in _imports(m, p, modules) if i in modules} - {m} for m, p in modules.items()}
    try:
        tuple(graphlib.TopologicalSorter(wanted).static_order())
    except graphlib.CycleError as e:
        raise AssertionError(f"a circle of imports: {' <- '.join(e.args[1])}") from None


def test_no_function_of_ops_has_the_name_of_a_module():
    import pijit.ops.function as functions
    modules = {m.name: importlib.import_module(f"{functions.__name__}.{m.name}")
               for m in pkgutil.iter_modules(functions.__path__)}
    defined = {n for m in modules.values() for n, v in vars(m).items() if callable(v) and not n.startswith("_")}
    assert not modules.keys() & (defined | {*functions.__all__}), "importing the module would hide the function"
    assert all(getattr(functions, n) is m for n, m in modules.items())
