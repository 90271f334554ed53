"""Tests of other packages with each test function jitted, against the same ones plain.

    python -m tests.python.jitted_tests [--jobs N] PACKAGE [PATTERN ...]

PACKAGE is a module with tests, such as numpy._core; PATTERN: parts of the names of its test files. Both ways run in
processes of their own. Exit status 1: a test passed plain, and does not jitted; its report is shown."""

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

# What they look at is how often objects are held (docs/differences.md).
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


def seen(package, patterns, jobs, way, folder):
    """What each test comes to, by its name."""
    file = pathlib.Path(folder) / f"{way}.json"
    root = pathlib.Path(__file__).parents[2]
    env = {**os.environ, "NPY_AVAILABLE_MEM": "2 GB", WAY: way, SEEN: str(file), "PYTHONPATH": str(root),
           "PIJIT_STRICT": "1", "PIJIT_MEASURE": "0"}  # all is captured that can be
    where, top = (pathlib.Path(importlib.import_module(p).__path__[0]) for p in (package, package.split(".")[0]))
    files = sorted(str(f) for f in where.glob("**/tests/test_*.py")
                   if not patterns or any(p in f.name for p in patterns))
    out = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "tests.python.jitted_tests", "-p",
                          "no:cacheprovider", "--confcutdir", str(top), "-n", str(jobs), *files],
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
    with tempfile.TemporaryDirectory() as folder:
        plain, jitted = (seen(options.package, options.patterns, options.jobs, way, folder)
                         for way in ("plain", "jitted"))
    worse = [name for name, (outcome, _) in plain.items()
             if outcome != "failed" and jitted.get(name, ("missing", ""))[0] != outcome
             and name.split("::")[-1].split("[")[0] not in COUNT_REFERENCES]
    for name in worse:
        print(f"\n--- {name}: {plain[name][0]} plain, {jitted.get(name, ('missing',))[0]} jitted\n"
              f"{jitted.get(name, ('', ''))[1][-1500:]}")
    print(f"{options.package}: {len(plain)} tests, {sum(o == 'failed' for o, _ in plain.values())} fail plain, "
          f"{len(worse)} more jitted")
    return 1 if worse or not plain else 0


if __name__ == "__main__":
    sys.exit(main())
