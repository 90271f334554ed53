"""Tests of other packages with each test function jitted, against the same ones plain.

    python -m tests.python.jitted_tests [--jobs N] PACKAGE [PATTERN ...]

PACKAGE is a module with tests, such as numpy._core; PATTERN: parts of the names of its test files. What fails jitted is
run plain in other processes. Exit status 1: a test fails jitted, and not plain; its report is shown."""

import argparse
import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types

import pytest

# What they look at is how often objects are held (docs/differences.md): they may fail where they do.
COUNT_REFERENCES = {
    "test___array___refcount", "test_array_array", "test_check_reference", "test_dtype_reference_leaks",
    "test_for_reference_leak", "test_frompyfunc_leaks", "test_iter_object_arrays_conversions", "test_iter_refcount",
    "test_nditer_multi_index_set_refcount", "test_partial_iteration_error", "test_reduce_casterrors",
    "test_reduction_no_reference_leak", "test_refcount_dictionary_setting", "test_reference_leak",
    "test_scalar_interface", "test_sf_error_special_refcount", "test_small_regressions",
    "test_structured_arrays_with_objects2",
    "test_structured_object_create_delete", "test_structured_object_indexing", "test_structured_object_item_setting",
    "test_take_object_fail", "test_ufunc_out_casterrors", "test_ufunc_reduce_memoryleak", "test_view_discard_refcount"}
WAY = "PIJIT_JITTED_TESTS"  # "jitted" or "plain"
SEEN = "PIJIT_TESTS_SEEN"  # the file that outcomes go to


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Of pytest: calls the test function, jitted."""
    if os.environ.get(WAY) != "jitted":
        return None
    import pijit

    bound = pyfuncitem.obj
    f = getattr(bound, "__func__", bound)
    if type(f) is not types.FunctionType:
        return None
    generated = getattr(f, "hypothesis", None)
    if generated is not None:  # calls the test itself with what it generates
        inner = generated.inner_test
        if type(inner) is types.FunctionType:
            generated.inner_test = pijit.jit(inner)
        return None
    jitted = pijit.jit(f)
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    jitted(*([] if f is bound else [bound.__self__]), **given)
    return True


outcomes = {}


def pytest_runtest_logreport(report):
    """Of pytest: the worst of a test's steps counts."""
    was = outcomes.get(report.nodeid, ("", ""))
    if report.failed or (report.when == "call" and was[0] != "failed") or (report.skipped and not was[0]):
        outcomes[report.nodeid] = report.outcome, report.longreprtext if report.failed else ""


def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput") and os.environ.get(SEEN):
        pathlib.Path(os.environ[SEEN]).write_text(json.dumps(outcomes))


def counts_references(name, report):
    return name.split("::")[-1].split("[")[0] in COUNT_REFERENCES and ("refcount" in report or "x.resize" in report)


def files_of(package, patterns):
    where = pathlib.Path(importlib.import_module(package).__path__[0])
    return sorted(f for f in where.glob("**/tests/test_*.py") if not patterns or any(p in f.name for p in patterns))


def seen(package, files, jobs, way, folder):
    """What each test of these files comes to, by its name."""
    file = pathlib.Path(folder) / f"{way}.json"
    root = pathlib.Path(__file__).parents[2]
    env = {**os.environ, "NPY_AVAILABLE_MEM": "2 GB", WAY: way, SEEN: str(file), "PYTHONPATH": str(root),
           "PIJIT_STRICT": "1", "PIJIT_MEASURE": "0"}  # all is captured that can be
    top = importlib.import_module(package.split(".")[0]).__path__[0]
    out = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "tests.python.jitted_tests", "-p",
                          "no:cacheprovider", "--confcutdir", top, "-n", str(jobs), *map(str, files)],
                         env=env, cwd=folder, capture_output=True, text=True)
    if not file.exists():
        sys.exit(f"{way}: pytest ended with {out.returncode}\n{out.stdout[-4000:]}{out.stderr[-4000:]}")
    print(f"{way}: {out.stdout.strip().splitlines()[-1]}", flush=True)
    return json.loads(file.read_text())


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.python.jitted_tests")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("package")
    parser.add_argument("patterns", nargs="*")
    options = parser.parse_args()
    files = files_of(options.package, options.patterns)
    with tempfile.TemporaryDirectory() as folder:
        jitted = seen(options.package, files, options.jobs, "jitted", folder)
        failed = {name: report for name, (outcome, report) in jitted.items() if outcome == "failed"}
        worse = {name: report for name, report in failed.items() if not counts_references(name, report)}
        again = {pathlib.Path(name.split("::")[0]).name for name in worse}
        plain = {}
        if worse:
            plain = seen(options.package, [f for f in files if f.name in again], options.jobs, "plain", folder)
    worse = {name: report for name, report in worse.items() if plain.get(name, ("missing",))[0] != "failed"}
    for name, report in worse.items():
        print(f"\n--- {name}: {plain.get(name, ('missing',))[0]} plain\n{report[-1500:]}")
    print(f"{options.package}: {len(jitted)} tests, {len(failed)} fail jitted, {len(worse)} of them not plain")
    return 1 if worse or not jitted else 0


if __name__ == "__main__":
    sys.exit(main())
