"""What the library writes: pages in which names of files and functions are text, files that no link leads elsewhere;
and a wrong PIJIT_AS."""

import html.parser
import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

import pijit as ms
from pijit import Tensor
from pijit.report import Break, Region, Report, write

ROOT = pathlib.Path(__file__).resolve().parents[2]
EVIL = "<img src=x onerror=alert(1)>&\"'"
SOURCE = """
import os

import pijit as ms
from pijit import Tensor, ops

def helper(x):
    open(os.devnull).close()  # <img src=x onerror=alert(2)>
    return x + 1

def f(x, k):
    y = ops.sin(x) * k  # <img src=x onerror=alert(3)>
    y = helper(y)
    if x.sum() > 0:
        y = y + 1
    return ops.relu(y)

f.__name__ = f.__qualname__ = NAME
"""


class Tags(html.parser.HTMLParser):
    """What a browser would see."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.seen.update(f"{k}=" for k, _ in attrs if k.startswith("on"))


def check_page(text):
    tags = Tags()
    tags.feed(text)
    assert "onerror=alert" in text.replace("&lt;", ""), "the page names nothing that was to be escaped"
    assert not tags.seen & {"img", "script", "iframe", "onerror="}, tags.seen


@pytest.fixture
def module(tmp_path):
    folder = tmp_path / "a&b"
    folder.mkdir()
    path = folder / "<img src=x onerror=alert(1)>.py"
    path.write_text(SOURCE.replace("NAME", repr(EVIL)))
    spec = importlib.util.spec_from_file_location("evil", path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_explanations_escape_names(module):
    f = ms.jit(module.f)
    x = Tensor([1.0, 2.0])
    for k in (1.0, 2.0, 3.0, 4):
        f(x, k)
    f(Tensor([1, 2]), 1.0)
    e = ms.explain(f)
    assert len(e.entries) > 1 and e.all_breaks
    check_page(e._repr_html_())
    check_page(e.to_html())


def test_profiles_escape_names(module):
    x = Tensor([1.0, 2.0])
    p = ms.profile(module.f, x, 2.0)
    check_page(p.to_html())
    check_page(p._repr_html_())


def region(**kwargs):
    return Region(**{**dict(kind="function", name=EVIL, file=EVIL, line=3, calls=2, captured=1, plain_us=2.0,
                            captured_us=1.0, deoptimized="", graphs=1, graph_runs=1,
                            compile_ms=1.0, breaks=[Break(EVIL, EVIL, EVIL, EVIL)]), **kwargs})


def test_reports_escape_names():
    check_page(Report([region(), region(deoptimized=EVIL), region(kind="loop")]).to_html())


def test_cells_and_tensors_escape_names():
    from pijit.profiling.values_html import cell_html
    net = ms.nn.SequentialCell()
    net.insert_child_to_cell("<img src=x onerror=alert(1)>",
                             type("<img src=x onerror=alert(2)>", (ms.nn.Dense,), {})(2, 3))
    check_page(cell_html(net))
    p = ms.Parameter(Tensor([1.0]), name=EVIL)
    check_page(p._repr_html_())


def victim(tmp_path):
    other = tmp_path / "victim.txt"
    other.write_text("mine")
    return other


def test_pages_and_traces_are_not_written_through_links(tmp_path, module):
    other = victim(tmp_path)
    x = Tensor([1.0, 2.0])
    p, e = ms.profile(module.f, x, 2.0), ms.explain(ms.jit(module.f))
    for write_to in (p.to_html, p.to_json, e.to_html, lambda to: ms.trace.write(to, []),
                     lambda to: write(Report([]), str(to))):
        link = tmp_path / "out.html"
        link.symlink_to(other)
        with pytest.raises(OSError):
            write_to(link)
        link.unlink()
        link.symlink_to(tmp_path / "nothing")
        with pytest.raises(OSError):
            write_to(link)
        link.unlink()
        write_to(link)
        write_to(link)  # again, over its own file
        link.unlink()
    assert other.read_text() == "mine" and not (tmp_path / "nothing").exists()
    write(Report([]), "/dev/stderr")


def test_dumps_replace_links_and_replays_refuse_them(tmp_path):
    other = victim(tmp_path)
    dump, replay = tmp_path / "dump", tmp_path / "replay"
    dump.mkdir()
    replay.mkdir()
    program = "import os, pathlib, sys, pijit as ms\n" \
              "for k in range(40): pathlib.Path(sys.argv[1], f'{k:04}-' + sys.argv[3])" \
              ".symlink_to(sys.argv[2]) if sys.argv[3] else None\n" \
              "if sys.argv[4]: pathlib.Path(sys.argv[4], f'{os.getpid()}.txt').symlink_to(sys.argv[2])\n" \
              "ms.jit(lambda x: ms.ops.sin(x) + 1)(ms.Tensor([1.0]))\n" \
              "ms.jit(lambda x: ms.ops.cos(x) + 1)(ms.Tensor([1.0]))\n"

    def run(name, folder):
        r = subprocess.run([sys.executable, "-c", program, str(dump), str(other), name, folder], capture_output=True,
                           text=True, timeout=300,
                           env={**os.environ, "PIJIT_DUMP": str(dump), "PIJIT_REPLAY": str(replay),
                                "PYTHONPATH": str(ROOT)})
        assert r.returncode == 0, r.stderr
        return r.stderr

    run("", "")
    made = sorted(p.name for p in dump.iterdir())
    assert len(made) > 2 and len(list(replay.iterdir())) == 1
    for p in [*dump.iterdir(), *replay.iterdir()]:
        p.unlink()
    said = run(made[0][5:], str(replay))
    assert other.read_text() == "mine" and "[pijit:replay]" in said
    first = dump / made[0]
    assert first.is_file() and not first.is_symlink() and first.stat().st_size
    said = run("", "")  # the folder is full of files: they are replaced
    assert "dump" not in said


def test_what_cannot_be_dumped_is_said(tmp_path):
    r = subprocess.run([sys.executable, "-c", "import pijit as ms\nprint(ms.jit(lambda x: x + 1)(ms.Tensor([1.0])))"],
                       capture_output=True, text=True, timeout=300,
                       env={**os.environ, "PIJIT_DUMP": str(tmp_path / "missing"),
                            "PIJIT_REPLAY": str(tmp_path / "missing"), "PYTHONPATH": str(ROOT)})
    assert r.stdout == "[2.]\n" and "[pijit:dump]" in r.stderr and "No such file" in r.stderr


START = "import sys; sys.path.insert(0, sys.argv[1]); import os, _pijit_auto; _pijit_auto.start(); "


@pytest.mark.parametrize("name",
                         ["json", "os", "pijit", "MindSpore", "mindspore.ops", " mindspore", "numpy", "no.such", "1"])
def test_another_name_than_mindspore(name):
    """One line at the start; the program then runs as it is, its children, too."""
    program = START + "import json, os, numpy, pijit; from pijit import Tensor; " \
              "print(json.loads('[1]'), numpy.zeros(1), Tensor([2.0]), os.environ.get('PIJIT_AS')); " \
                      "print(pijit.__name__, json.__name__)"
    r = subprocess.run([sys.executable, "-c", program, str(ROOT)], capture_output=True, text=True, timeout=300,
                       env={**os.environ, "PIJIT_AUTO": "1", "PIJIT_AS": name})
    assert r.stdout == "[1] [0.] [2.] None\npijit json\n", r.stderr
    assert r.stderr == f"pijit: PIJIT_AS={name!r} is ignored: it can be 'mindspore' only\n"


def test_mindspore_itself():
    r = subprocess.run([sys.executable, "-c", START + "import mindspore; print(mindspore.Tensor([2.0]))", str(ROOT)],
                       capture_output=True, text=True, timeout=300,
                       env={**os.environ, "PIJIT_AUTO": "1", "PIJIT_AS": "mindspore"})
    assert (r.stdout, r.stderr) == ("[2.]\n", "")
