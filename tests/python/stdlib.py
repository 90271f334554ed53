"""Runs CPython's own tests of a standard library module, all its functions and methods jitted: python -m
tests.python.stdlib MODULE.

There are no tensors in it: what is tested is that captured Python behaves as Python. Prints the tests that fail
jitted but not plainly, and exits with 1 if there are any, or 2 where this Python has no tests of its own."""

import contextlib
import importlib
import io
import sys
import types
import unittest
import warnings

import pijit as ms

# Module -> its test in CPython's test package.
TESTS = {"statistics": "statistics", "textwrap": "textwrap", "fractions": "fractions", "difflib": "difflib",
         "string": "string", "csv": "csv", "configparser": "configparser", "ipaddress": "ipaddress",
         "collections": "collections", "contextlib": "contextlib", "urllib.parse": "urlparse", "enum": "enum",
         "calendar": "calendar", "heapq": "heapq", "shlex": "shlex", "html": "html", "graphlib": "graphlib",
         "reprlib": "reprlib", "pprint": "pprint", "copy": "copy", "base64": "base64", "operator": "operator",
         "colorsys": "colorsys", "bisect": "bisect", "fnmatch": "fnmatch", "posixpath": "posixpath",
         "ntpath": "ntpath", "dataclasses": "dataclasses", "tokenize": "tokenize", "ast": "ast", "random": "random",
         "argparse": "argparse", "optparse": "optparse", "json.encoder": "json", "json.decoder": "json",
         "http.cookies": "http_cookies", "mimetypes": "mimetypes", "uuid": "uuid", "plistlib": "plistlib",
         "types": "types", "abc": "abc", "weakref": "weakref", "dis": "dis", "pickle": "pickle", "getopt": "getopt",
         "quopri": "quopri", "datetime": "datetime", "sched": "sched", "queue": "queue", "codeop": "codeop",
         "cmd": "cmd", "netrc": "netrc", "linecache": "linecache", "stat": "stat", "filecmp": "filecmp"}
QUICK = ["textwrap", "string", "csv", "configparser", "collections", "urllib.parse", "difflib", "dataclasses"]

# Of the interpreter and of libraries that look into it: their names in the test package.
INTERPRETER = ["test_" + t for t in (
    "functools contextlib generators dict list exceptions traceback inspect dataclasses enum json collections copy "
    "pickle sys sys_settrace "
    "sys_setprofile descr scope super with coroutines asyncgen warnings weakref gc call extcall patma frame bdb pdb "
    "doctest logging fractions "
    "statistics random itertools heapq operator types typing threading textwrap string argparse configparser csv ast "
    "dis code compile "
    "builtin exception_group raise runpy atexit site").split()]


@contextlib.contextmanager
def jitted(module):
    saved = []
    for owner in [module] + [c for c in vars(module).values() if isinstance(c, type)
                             and c.__module__ == module.__name__]:
        for name, f in list(vars(owner).items()):
            if (isinstance(f, types.FunctionType) and f.__module__ == module.__name__
                and name not in ("__init_subclass__", "__class_getitem__", "__new__")):
                with contextlib.suppress(AttributeError, TypeError):
                    setattr(owner, name, ms.jit(f))
                    saved.append((owner, name, f))
    try:
        yield
    finally:
        for owner, name, f in saved:
            setattr(owner, name, f)


def failures(module, use_jit):
    tests = importlib.import_module("test.test_" + TESTS[module.__name__])
    result = unittest.TestResult()
    with contextlib.redirect_stdout(io.StringIO()), jitted(module) if use_jit else contextlib.nullcontext():
        unittest.defaultTestLoader.loadTestsFromModule(tests).run(result)
    return {case.id(): text for case, text in result.failures + result.errors}


def main(name):
    warnings.simplefilter("ignore")
    module = importlib.import_module(name)
    try:
        plain = failures(module, False)
    except ModuleNotFoundError:
        return 2
    new = {k: text for k, text in failures(module, True).items() if k not in plain}
    for k, text in new.items():
        print(f"fails jitted: {k}\n{text}")
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
