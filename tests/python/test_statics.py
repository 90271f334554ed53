"""Statics inside of functions run no Python code: csrc/python/names.h says why."""

import pathlib
import re

import pytest

CSRC = pathlib.Path(__file__).parents[2] / "csrc"
WITH_PYTHON = ("python", "objects", "entry", "capture", "dispatch", "bindings", "launch")
# What initializers may make: none of it runs Python code.
MADE = {"Automatics", "Gate", "Registry", "Waiting", "Watcher"}
NO_PYTHON = {("objects/operands.cc", "ops"): "looks operators up in the op table"}
STATIC = re.compile(r"^[ \t]+static\s+([^;={(]*?)(\w+)((?:\[\w*\])?)\s*(?==|\{|;)", re.M)
OBJECT = re.compile(r"^(const )?(Py\w*Object\s*\*|py::|LibraryObject|OnDemand)")
HARMLESS = re.compile(r"(?:reinterpret|static)_cast<[^>]*>\(\w+\)|sizeof\(\w+\)|OpTable::get\(\)\.at\(\"\w+\"\)"
                      r"|new (?:std|absl)::[\w:<>*, ]+;|new (?:" + "|".join(MADE) + r")\b")


def initializer(text, at):
    """What stands from there to the semicolon that ends the declaration."""
    depth = 0
    for k in range(at, len(text)):
        depth += (text[k] in "({[") - (text[k] in ")}]")
        if text[k] == ";" and depth == 0:
            return text[at:k + 1]
    raise ValueError(text[at:at + 80])


def faults(text, path="x.cc"):
    text = re.sub(r"//[^\n]*", "", text)
    found = []
    for m in STATIC.finditer(text):
        kind, name, what = m[1].strip(), m[2], initializer(text, m.end())
        if "thread_local" in kind or (path, name) in NO_PYTHON:
            continue
        bare = re.sub(r"\b(constinit|constexpr)\s+", "", kind)
        rest = re.sub(r'"[^"]*"', '""', HARMLESS.sub("", what))
        calls = re.search(r"\w\s*\(|\bnew\b|\[[^\]]*\]\s*[({]", rest)
        constant = "constinit" in kind or "constexpr" in kind
        if OBJECT.match(bare) or (calls and not constant):
            found.append(f"{path}: static {kind} {name}")
    return found


@pytest.mark.skipif(not CSRC.exists(), reason="tests run without the sources")
def test_statics_in_functions_run_no_python():
    wrong = [f for folder in WITH_PYTHON
             for path in sorted([*(CSRC / folder).rglob("*.h"), *(CSRC / folder).rglob("*.cc")])
             for f in faults(path.read_text(), str(path.relative_to(CSRC)))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("text", [
    'static PyObject* name = PyUnicode_InternFromString("x");', "static PyObject* const none = PyTuple_New(0);",
    "static const absl::flat_hash_map<PyTypeObject*, int> kinds = {\n{array_type(), 1}};",
    "static const auto* o = new Opcodes;", "static const bool done = [] {\n add(); return true; }();",
    'static constinit LibraryObject t{"functools", "partial"};', "static py::object kept;",
    "static auto* kept = new py::dict;", "static const py::object* const f = new py::object(method());"])
def test_others_are_found(text):
    assert faults("void f() {\n  " + text + "\n}\n")


@pytest.mark.parametrize("text", [
    'static const std::set<std::string> kNames = {"a(b)", "c"};', "static Registry& own();",
    "static uint64_t seen = 0;",
    'static const OpDef& cond = OpTable::get().at("cond");', "static auto* g = new Gate;",
    "static auto* m = new std::map<int, std::vector<int>>;", "static int size(int v) { return f(v); }",
    "static thread_local auto next = Clock::now();"])
def test_what_runs_no_python_may_stay(text):
    assert not faults("void f() {\n  " + text + "\n}\n")
