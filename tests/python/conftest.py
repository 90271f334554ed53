"""Settings of every test, which runs a file of tests belongs to, and PIJIT_TEST_AS=mindspore: the tests run as
programs written for MindSpore.

Then each file of tests is compiled with its `import pijit` statements reading `import mindspore`, under the alias that
`pijit.compat` installs, so that what a test asserts of `pijit` (results, graphs, breaks, captures) holds of `mindspore`
too."""

import ast
import itertools
import os
import signal
import sys
from importlib.machinery import PathFinder, SourceFileLoader

import pytest
from hypothesis import HealthCheck, settings

from tests.python.runs import FILES

os.environ.setdefault("PIJIT_STRICT", "1")
os.environ.setdefault("PIJIT_VERIFY", "1")
os.environ.setdefault("PIJIT_MEASURE", "0")  # else what is captured depended on how busy the machine is
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells start what runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Generated programs are the same ones at each run; new ones come with PIJIT_FUZZ, which says how many (make fuzz).
settings.register_profile("pijit", derandomize="PIJIT_FUZZ" not in os.environ, deadline=None,
                          suppress_health_check=list(HealthCheck))
settings.load_profile("pijit")
if "PYTEST_XDIST_WORKER" in os.environ:  # the cores are taken by the other workers
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_ignore_collect(collection_path, config):
    """Files of which -m takes no test are not read: that takes longer than many a run."""
    chosen = config.getoption("-m")
    if not chosen or collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    text = collection_path.read_text()
    marks = {mark: {collection_path.name in files} | ({True} if f"mark.{mark}" in text else set())
             for mark, files in FILES.items()}
    try:
        ways = [eval(chosen, {}, dict(zip(marks, way))) for way in itertools.product(*marks.values())]
    except Exception:  # it has other names
        return None
    return None if any(ways) else True


def pytest_collection_modifyitems(items):
    for item in items:
        for mark, files in FILES.items():
            if item.path.name in files:
                item.add_marker(getattr(pytest.mark, mark))


def _renamed(name):
    return "mindspore" + name[len("pijit"):] if name.partition(".")[0] == "pijit" else name


def _switches():
    """What holds of the whole process, and later files of the same process would run under."""
    from pijit import _C, compat

    was = {"paused": _C.pause_capture(False), "forbidden": _C.forbid_capture(False)}
    _C.pause_capture(was["paused"])
    _C.forbid_capture(was["forbidden"])
    was.update({o[0]: _C.get_option(o[0]) for o in _C.option_table()})
    return was | {"recording": _C.recording(), "graph mode": _C.graph_mode(), "tapes": len(_C.active_tapes()),
                  "names of": "mindspore" if compat._installed else "pijit"}


@pytest.fixture(autouse=True, scope="module")
def leaves_all_as_it_was():
    before = _switches()
    yield
    now = _switches()
    assert {k: v for k, v in now.items() if v != before[k]} == {}, "a file of tests leaves this behind"


class _Imports(ast.NodeTransformer):
    def visit_Import(self, node):
        made = []
        for a in node.names:
            name = _renamed(a.name)
            if name == a.name or a.asname:
                made.append(ast.Import([ast.alias(name, a.asname)]))
            else:  # `import pijit.x` binds `pijit`
                made += [ast.Import([ast.alias(name)]), ast.Import([ast.alias("mindspore", "pijit")])]
        return [ast.copy_location(n, node) for n in made]

    def visit_ImportFrom(self, node):
        if node.module and not node.level:
            node.module = _renamed(node.module)
        return node


class _Loader(SourceFileLoader):
    def get_code(self, fullname):
        path = self.get_filename(fullname)
        tree = _Imports().visit(ast.parse(self.get_data(path), path))
        return compile(ast.fix_missing_locations(tree), path, "exec")


class _Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        spec = PathFinder.find_spec(name, path, target)
        if spec and spec.origin and os.path.dirname(spec.origin) == os.path.dirname(__file__):
            spec.loader = _Loader(name, spec.origin)
            return spec
        return None


if os.environ.get("PIJIT_TEST_AS"):
    import pijit.compat
    pijit.compat.install(os.environ["PIJIT_TEST_AS"])
    sys.meta_path.insert(0, _Finder)

if os.environ.get("PIJIT_TEST_DEVICE"):  # all Tensors of the tests lie there
    import pijit
    pijit.set_context(device_target=os.environ["PIJIT_TEST_DEVICE"])
