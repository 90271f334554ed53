"""Programs of tests/scripts, run by plain python and with capture turned on in each way: output, exit code and files
are the same.

`make test` takes a few programs and ways; PIJIT_ALL_SCRIPTS=1 (`make test-scripts`) takes all of them."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "scripts"
ROOT = FOLDER.parents[1]
ALL = bool(os.environ.get("PIJIT_ALL_SCRIPTS"))
PROGRAMS = sorted(p.stem for p in FOLDER.glob("*.py"))
ARGS = {"argparse_options": ["one", "two"], "plain_python": ["-x", "--report"]}
INPUT = {"reads_input": "someone\n" + "\n".join(str(k / 7) for k in range(30))}
# Of these, another name in the source, or another first line, changes what is printed.
NOT_RENAMED = {"subprocess_child", "plain_python", "syntax_error", "error_of_an_op", "uncaught_error"}
COMPACT = [("training_loop", "-m pijit"), ("training_loop", "--as mindspore"), ("uncaught_error", "-m pijit"),
           ("loops_in_functions", "PIJIT_AUTO"), ("loops_over_sequences", "-m pijit"),
           ("caller_frames", "-m pijit"), ("atexit_order", "import pijit.auto"), ("sys_exit", "-m pijit -c"),
           ("plain_python", "-m pijit")]


def ran(tmp_path, program, way):
    """(stdout, stderr, exit code, files)"""
    work = tmp_path / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    script = work / f"{program}.py"
    source = (FOLDER / f"{program}.py").read_text()
    env = {k: v for k, v in os.environ.items() if not k.startswith("PIJIT_AUTO")}
    env.update(PYTHONPATH=str(ROOT), PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED="0", OMP_NUM_THREADS="1")
    args = ARGS.get(program, [])
    command = [sys.executable, script.name] + args
    if way == "import pijit.auto":
        source = "import pijit.auto; " + source
    elif way == "PIJIT_AUTO":
        env["PIJIT_AUTO"] = "1"
    elif way == "--as mindspore":
        # what an installed package's .pth file does at the start of child processes
        (tmp_path / "site").mkdir(exist_ok=True)
        shutil.copy(ROOT / "pijit_auto.pth", tmp_path / "site" / "sitecustomize.py")
        env["PYTHONPATH"] = os.pathsep.join([str(tmp_path / "site"), str(ROOT)])
        source = re.sub(r"\bpijit\b", "mindspore", source)
        command = [sys.executable, "-m", "pijit", "--as", "mindspore", script.name] + args
    elif way.startswith("-m pijit"):
        command[1:1] = ["-m", "pijit"]
    if way in ("-m", "-m pijit -m"):
        command[-1 - len(args):] = ["-m", program] + args
    if way in ("-c", "-m pijit -c"):
        command[-1 - len(args):] = ["-c", source] + args
    script.write_text(source)
    r = subprocess.run(command, cwd=work, env=env, input=INPUT.get(program, ""), capture_output=True, text=True,
                       timeout=300)
    files = {p.name: p.read_bytes() for p in work.iterdir() if p != script and p.is_file()}
    return r.stdout, r.stderr, r.returncode, files


def cases():
    if not ALL:
        return COMPACT
    out = [(p, w) for p in PROGRAMS for w in ("-m pijit", "PIJIT_AUTO", "import pijit.auto", "--as mindspore")
           if not (p in NOT_RENAMED and w in ("import pijit.auto", "--as mindspore"))]
    return (out + [(p, w) for p in ("training_loop", "uncaught_error", "plain_python", "caller_frames")
                   for w in ("-m pijit -m", "-m pijit -c")])


@pytest.mark.parametrize("program, way", cases())
def test_a_program_runs_as_in_plain_python(tmp_path, program, way):
    base = {"-m pijit -m": "-m", "-m pijit -c": "-c"}.get(way, "plain")
    plain, captured = ran(tmp_path, program, base), ran(tmp_path, program, way)
    assert captured == plain


def environment():
    """Of a program that must gain from capture, which it can't in tiles of a few bytes, and that turns it on itself."""
    env = {k: v for k, v in os.environ.items() if k not in ("PIJIT_TILE_BYTES", "PIJIT_CACHE_BYTES", "PIJIT_AUTO")}
    return {**env, "PYTHONPATH": str(ROOT)}


def report_of(tmp_path, source, *options):
    script = tmp_path / "program.py"
    script.write_text(source)
    where = tmp_path / "report.json"
    r = subprocess.run([sys.executable, "-m", "pijit", f"--report={where}", *options, str(script)], env=environment(),
                       capture_output=True, text=True, timeout=300)
    assert r.returncode == 0, r.stderr
    return r.stdout, json.loads(where.read_text())["regions"]


STEP = """
import pijit as ms
from pijit import ops
def step(x, w):
    for _ in range(8):
        x = ops.tanh(x * w) + ops.sin(x) * 0.5 - w
    return x
def tiny(x):
    return x
x = w = ops.ones((16, 16))
"""


def test_the_report_tells_what_was_captured(tmp_path):
    out, regions = report_of(tmp_path, STEP + """
for k in range(200):
    x = step(x, w)
    tiny(x)
print(float(x.sum()).hex())
""")
    assert out.startswith(("0x", "-0x"))
    step = next(r for r in regions if r["name"] == "step" and r["kind"] == "function")
    assert step["calls"] == 200 and step["captured"] > 100 and step["graph_runs"] > 100 and not step["deoptimized"]
    tiny = [r for r in regions if r["name"] == "tiny"]
    assert not tiny or tiny[0]["deoptimized"]  # nothing for a graph in it


def test_a_loop_of_a_module_is_captured(tmp_path):
    _, regions = report_of(tmp_path, STEP + """
for k in range(300):
    y = ops.tanh(x * w) + ops.sin(x) * 0.5
    x = y * 0.9 - w
    y = ops.tanh(x * w) + ops.sin(x) * 0.5
    x = y * 0.9 - w
print(k)
""")
    loop = next(r for r in regions if r["kind"] == "loop")
    assert loop["name"] == "<module>" and loop["line"] == 12 and loop["captured"] > 100 and loop["graph_runs"] > 20


def test_a_loop_whose_lines_run_many_ops_is_captured(tmp_path):
    """An iteration of more than eight ops began its measurement anew: such a loop was never taken over."""
    _, regions = report_of(tmp_path, """
import pijit as ms
from pijit import nn, ops
net = nn.SequentialCell(*[c for _ in range(6) for c in (nn.Dense(8, 8), nn.Tanh())])
x = ops.ones((4, 8))
for k in range(120):
    y = net(x)
    x = y * 0.5 + x * 0.5
print(x.shape)
""")
    loop = next(r for r in regions if r["kind"] == "loop")
    assert loop["line"] == 6 and loop["captured"] > 40 and loop["plain_us"] > 0


def test_a_loop_around_captured_functions_is_not_captured_once_more(tmp_path):
    """Their graphs were compiled again with the loop, for each of the places that it breaks at, and the optimizer's
    loop over its parameters was taken over while a step was run plainly to be timed."""
    _, regions = report_of(tmp_path, """
import pijit as ms
from pijit import nn, ops
net = nn.SequentialCell(*[c for _ in range(16) for c in (nn.Dense(8, 8), nn.Tanh())])
optimizer = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
gradient = ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params())
def step(x):
    loss, g = gradient(x)
    optimizer(g)
    return loss
def train():
    total = 0.0
    x = ops.ones((4, 8))
    for k in range(60):
        loss = step(x)
        total += float((loss * 2).asnumpy())
    return total
print(train())
""")
    assert [(r["kind"], r["name"]) for r in regions if r["captured"]] == [("function", "step")], regions


def test_a_decorated_function_keeps_its_graphs(tmp_path):
    """It became part of the loop's graph, and `explain` said that it was never called."""
    out, regions = report_of(tmp_path, STEP + """
step = ms.jit(step)
def outer(x): return ops.tanh(step(ops.tanh(x) * 0.5, w)) + 1
gradient = ms.grad(outer)
for k in range(200):
    x = outer(x)
    g = gradient(x)
e = ms.explain(step)
print(len(e.graphs), e.graph_runs >= 200)
""")
    assert out == "1 True\n"
    outer = next(r for r in regions if r["name"] == "outer")
    assert any("decorated function" in b["reason"] and b["detail"] == "step" for b in outer["breaks"])


def test_a_trace_is_written(tmp_path):
    where = tmp_path / "trace.json"
    report_of(tmp_path, STEP + "for k in range(50): x = step(x, w)", "--trace", str(where))
    kinds = {e.get("cat") for e in json.loads(where.read_text())["traceEvents"]}
    assert {"capture", "kernel"} <= kinds


def test_the_package_is_there_at_exit(tmp_path):
    """What ends the program, SystemExit, ended an import of the package, too; importlib then took it out of
    sys.modules."""
    script = tmp_path / "program.py"
    script.write_text("""
import atexit, pijit, sys, threading, time
def late(where):
    from pijit import report
    print(where, sys.modules["pijit"] is pijit, pijit.report is report)
atexit.register(late, "atexit")
threading.Thread(target=lambda: (time.sleep(0.3), late("thread"))).start()
""")
    env = {k: v for k, v in environment().items() if k != "PYTHONPATH"}
    r = subprocess.run([sys.executable, "-m", "pijit", "--report=-", str(script)], env=env, cwd=ROOT,
                       capture_output=True, text=True)
    assert r.stdout == "thread True True\natexit True True\n"
    assert r.stderr.startswith("pijit: no function") and r.returncode == 0


def test_profilers_and_debuggers_run_it(tmp_path):
    """cProfile's own names were cleared with those of __main__; a restarted program had lost its arguments."""
    script = tmp_path / "program.py"
    script.write_text(STEP + "for k in range(30): x = step(x, w)\nprint(k)\n")

    def output(*command, commands=""):
        r = subprocess.run([sys.executable, "-m", *command], env=environment(), cwd=tmp_path, input=commands,
                           capture_output=True, text=True)
        assert r.returncode == 0, r.stderr
        return r.stdout

    assert re.search(r"^ +30 .* program.py:4\(step\)$", output("cProfile", "-m", "pijit", script.name), re.M)
    assert re.search(r"^ +30 .* program.py:4\(step\)$", output("pijit", "-m", "cProfile", script.name), re.M)
    steps = "b program.py:6\nc\np x.shape\ncl 1\nc\n"
    seen = output("pdb", "-m", "pijit", script.name, commands=steps + steps.replace("1", "2") + "q\n")
    assert seen.count("(16, 16)") == 2 and len(re.findall(r"^(?:\(Pdb\) )?29$", seen, re.M)) == 2
    assert "(16, 16)" in output("pijit", "-m", "pdb", script.name, commands=steps + "q\n")


def test_packages_are_included_and_excluded(tmp_path):
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "mylib.py").write_text(STEP)
    source = """
import sys; sys.path.insert(0, {!r})
import mylib
x = mylib.x
for k in range(100): x = mylib.step(x, mylib.w)
""".format(str(tmp_path / "site-packages"))
    for options, there in (((), False), (("--include", "mylib.*"), True),
                           (("--include", "my*", "--exclude", "mylib"), False)):
        _, regions = report_of(tmp_path, source, *options)
        assert any(r["name"] == "step" for r in regions) == there, options


def test_enable_and_disable():
    code = """
import pijit as ms
from pijit import automatic, ops
def step(x):
    for _ in range(8): x = ops.tanh(x) + ops.sin(x) * 0.5
    return x
x = ops.ones((16, 16))
for _ in range(20): x = step(x)
assert not automatic.report().regions
with ms.enabled():
    for _ in range(50): x = step(x)
captured = automatic.report().regions[0].captured
assert captured > 10
for _ in range(50): x = step(x)
assert automatic.report().regions[0].captured == captured
ms.enable(exclude=["__main__"])
ms.disable()
try:
    ms.enable(include=[3])
except TypeError as e:
    print(e)
"""
    r = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, timeout=300)
    assert r.returncode == 0, r.stderr
    assert "'include' must be a pattern" in r.stdout


def test_classes_that_the_library_makes_are_not_the_users(tmp_path):
    """A named tuple's __new__ stood in reports as a lambda in a file <string>."""
    _, regions = report_of(tmp_path, STEP + """
from collections import namedtuple
Both = namedtuple("Both", "x w")
for k in range(100):
    both = Both(x, w)
    x = step(both.x, both.w)
print(float(x.sum()).hex())
""")
    assert {r["name"] for r in regions} == {"step"}, regions


def test_reports_are_text_and_html():
    from pijit.report import Break, Region, Report
    r = Report([Region("function", "f<T>", "a.py", 3, 100, 90, 50.0, 10.0, "", 1, 90, 2.0,
                       [Break("why", "d", "a.py:4", "do this")] * 2),
                Region("loop", "<module>", "a.py", 9, 64, 64, 5.0, 9.0, "no gain", 1, 64, 1.0, [])])
    text = r.text()
    assert ("1 regions captured, 1 deoptimized" in text and "break at a.py:4: why (d), 2 times" in text
            and "no gain" in text)
    assert "f&lt;T&gt;" in r.to_html() and json.loads(r.to_json())["regions"][0]["saved_s"] == pytest.approx(0.0016)
    assert Report([]).text().startswith("pijit: no function")


def test_a_program_without_tensors_finds_no_module_more(tmp_path):
    script = tmp_path / "modules.py"
    script.write_text("import sys; print(*sys.modules)")

    def modules(*command):
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        return set(subprocess.run([sys.executable, *command], cwd=tmp_path, env=env, capture_output=True, text=True,
                                  check=True).stdout.split())
    own = {"pijit._launch", "pijit._run", "atexit", "importlib.machinery"}
    assert modules("-m", "pijit", str(script)) - modules("-m", "modules") <= own


def test_archives_and_folders_are_programs(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "__main__.py").write_text(
        "import sys, os; print(os.path.basename(sys.argv[0]), __name__, sys.argv[1:], sys.path[0] == sys.argv[0])")
    shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path / "folder")
    for what in ("folder", "packed.zip"):
        out = [subprocess.run([sys.executable, *way, str(tmp_path / what), "-x"],
                              env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
               for way in ((), ("-m", "pijit"))]
        assert out[0].returncode == 0 and (out[0].stdout, out[0].stderr) == (out[1].stdout, out[1].stderr), out


def test_a_subinterpreter_gets_an_error():
    """It waited for ever."""
    pytest.importorskip("_xxsubinterpreters")
    code = ("import _xxsubinterpreters as s\ni = s.create()\n"
            "try:\n    s.run_string(i, 'import pijit')\nexcept s.RunFailedError as e:\n    print(e)")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    r = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60)
    # from 3.12 on, a module that is imported before says so
    assert "main interpreter only" in r.stdout or "does not support loading in subinterpreters" in r.stdout, r


def test_bad_command_lines():
    for args, message in ((["--as", "torch", "x.py"], "invalid choice"), (["nofile.py"], "no such file"),
                          (["--nonsense", "x"], "unrecognized"),
                          ([], "required"), (["-m"], "argument expected")):
        r = subprocess.run([sys.executable, "-m", "pijit", *args], env={**os.environ, "PYTHONPATH": str(ROOT)},
                           capture_output=True, text=True)
        assert r.returncode == 2 and message in r.stderr and "Traceback" not in r.stderr, (args, r.stderr)


def launched(tmp_path, source, *options, **more):
    """stdout and stderr of a program of `python -m pijit`, and its exit code."""
    script = tmp_path / "program.py"
    script.write_text(source)
    r = subprocess.run([sys.executable, "-m", "pijit", *options, str(script)], env={**environment(), **more},
                       capture_output=True, text=True, timeout=300)
    return r.stdout, r.stderr, r.returncode


def test_the_version_is_told():
    r = subprocess.run([sys.executable, "-m", "pijit", "--version"], env=environment(), capture_output=True, text=True)
    import pijit
    assert r.returncode == 0 and r.stdout.startswith(f"pijit {pijit.__version__}, Python 3.")


def test_a_program_for_mindspore_is_told_how_to_run(tmp_path):
    out, error, code = launched(tmp_path, "import mindspore_of_nobody")
    assert code == 1 and "--as" not in error
    out, error, code = launched(tmp_path, "import sys; sys.modules['mindspore'] = None\nimport mindspore.nn")
    assert code == 1 and "ModuleNotFoundError" in error and "with --as mindspore" in error
    assert (launched(tmp_path, "import mindspore\nprint(mindspore.ops.ones(2).sum())", PIJIT_AS="mindspore")[0] ==
            "2.0\n")


def test_a_program_runs_plainly(tmp_path):
    source = STEP + """
import threading
jitted = ms.jit(step)
class Net(ms.nn.Cell):
    def construct(self, x): return step(x, w)
ms.set_context(mode=ms.GRAPH_MODE)
def run():
    for k in range(40):
        jitted(x, w)
        Net()(x)
        step(x, w)
t = threading.Thread(target=run)
t.start()
t.join()
run()
print(len(ms.explain(jitted).graphs), len(ms.automatic.report().regions))
"""
    assert launched(tmp_path, source, "--plain")[0] == "0 0\n"
    assert (launched(tmp_path, source.replace("pijit", "mindspore").replace("automatic.report().regions", "__name__"),
                     "--as", "mindspore", "--plain")[0] == "0 9\n")
    assert launched(tmp_path, source)[0] != "0 0\n"
    launched(tmp_path, source, "--plain", f"--report={tmp_path / 'r.txt'}")
    assert re.fullmatch(r"pijit: captured nothing, as --plain asks; the program took [\d.]+ m?s\n",
                        (tmp_path / "r.txt").read_text())


def test_programs_of_numpy_are_told_what_is_captured(tmp_path):
    for source in ("import numpy as np\nfor k in range(30): np.sqrt(np.ones(3))\n", "import numpy, pijit\n"):
        launched(tmp_path, source, f"--report={tmp_path / 'r.txt'}")
        text = (tmp_path / "r.txt").read_text()
        assert ("pijit: no function or loop that gains by it ran often enough" in text
                and "@pijit.jit captures them from the first call on" in text), text
    launched(tmp_path, "print(3)\n", f"--report={tmp_path / 'r.txt'}")
    assert "NumPy" not in (tmp_path / "r.txt").read_text()


@pytest.mark.parametrize("program, installed",
                         [("import pijit, mindspore; import mindspore.nn", False),
                          ("import mindspore.ops; import mindspore, pijit", True)])
def test_the_name_counts_without_capture(tmp_path, program, installed):
    """PIJIT_AS alone, where pijit is imported first, and where its .pth file is installed."""
    if installed:
        shutil.copy(ROOT / "pijit_auto.pth", tmp_path / "sitecustomize.py")
    env = ({k: v for k, v in os.environ.items() if not k.startswith("PIJIT_AUTO")} |
           {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]), "PIJIT_AS": "mindspore"})
    r = subprocess.run([sys.executable, "-c",
                        program + "; print(mindspore is pijit, mindspore.Tensor([1.0]), mindspore.automatic._on)"],
                        env=env,
                       capture_output=True, text=True, timeout=300)
    assert r.stdout == "True [1.] False\n", r.stderr


def test_the_report_begins_with_the_whole_program(tmp_path):
    source = STEP + "for k in range(400): x = step(x, w)\n"
    for name in ("report.txt", "report.html", "report.json"):
        launched(tmp_path, source, f"--report={tmp_path / name}")
    text, page = (tmp_path / "report.txt").read_text(), (tmp_path / "report.html").read_text()
    assert re.match(
        r"pijit: the program took [\d.]+ m?s; plain [\d.]+ m?s by estimate: (about [\d.]+ [mµ]?s (saved|lost)|no gain)",
        text), text
    assert "the program took" in page and 'class="pijit pj-page"' in page and "plain, by estimate" in page
    told = json.loads((tmp_path / "report.json").read_text())
    assert told["plain_s"] == pytest.approx(told["took_s"] + told["saved_s"])


TRAINING = """
import numpy as np
import pijit as ms
from pijit import nn, ops, dataset as ds
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(6, 3)
    def construct(self, x):
        return ops.relu(self.fc(x))
ms.set_seed(1)
rng = np.random.RandomState(0)
X, Y = rng.rand(64, 6).astype(np.float32), rng.randint(0, 3, 64).astype(np.int32)
net = Net()
opt = nn.Momentum(net.trainable_params(), 0.05, 0.9)
x, y = ms.Tensor(X[:8]), ms.Tensor(Y[:8])
"""
WAYS = {
    "Model": (
        "data = ds.NumpySlicesDataset((X, Y), ['x', 'y'], shuffle=False).batch(8)\nfrom pijit.train import Model\n"
              "model = Model(net, nn.CrossEntropyLoss(), opt, metrics={'acc'})\nmodel.fit(20, data, data, "
              "callbacks=[])\nprint(model.eval(data))\n",
              {"Net in TrainOneStepCell", "Net in WithEvalCell"}),
    "TrainOneStepCell": ("step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), opt)\n"
                         "def go():\n    it = iter(range(90))\n    while next(it, None) is not None:\n        yield "
                         "step(x, y)\nprint(list(go())[-1])\n", {"Net in TrainOneStepCell"}),
    "ForwardValueAndGrad": (
        "step = nn.ForwardValueAndGrad(nn.WithLossCell(net, nn.CrossEntropyLoss()), weights=opt.parameters, "
        "get_by_list=True)\n"
                            "def go():\n    it = iter(range(90))\n    while next(it, None) is not None:\n        v, g "
                            "= step(x, y)\n        opt(g)\n        yield v\n"
                            "print(list(go())[-1])\n", {"Net in ForwardValueAndGrad", "Momentum"}),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_runs_a_users_cell_is_captured_as_the_users(tmp_path, way):
    """In generators, which are CPython's: no loop of the user's takes the steps in."""
    body, wanted = WAYS[way]
    told, _, _ = launched(tmp_path, TRAINING + body, f"--report={tmp_path / 'r.json'}")
    assert told == launched(tmp_path, TRAINING + body, "--plain")[0]
    regions = {r["name"]: r for r in json.loads((tmp_path / "r.json").read_text())["regions"]}
    assert wanted <= set(regions), set(regions)
    for name in wanted:
        r = regions[name]
        assert r["captured"] > 20 and r["graph_runs"] > 20, r
        if " in " in name:
            assert r["file"].startswith(str(tmp_path)) and r["line"] == 9, r
    launched(tmp_path, TRAINING + body, f"--report={tmp_path / 'r.json'}", "--exclude", "pijit.nn.*")
    assert not any(" in " in r["name"] for r in json.loads((tmp_path / "r.json").read_text())["regions"])


def test_a_report_escapes_and_gives_hints():
    from pijit.report import Break, Region, Report
    odd = Region("function", "f<b>", "/tmp/a<i>&.py", 3, 10, 5, 4800.0, 9600.0, "", 1, 5, 76.0,
                 [Break("call of a function that cannot be captured", "np.dot", "/tmp/a<i>&.py:4",
                        "NumPy runs in CPython: pijit.ops has the same functions", "PB022")] * 3)
    back = Region("loop", "g", "/tmp/b.py", 9, 10, 5, 0.0, 0.0, "no graph ran in it", 1, 0, 20.0, [])
    r = Report([odd, back], took=0.5)
    html, text = r.to_html(), r.text()
    assert ("<i>" not in html.split("<main>")[1].replace('<i style', "") and "f&lt;b&gt;" in html
            and "pijit.ops has the same functions" in html)
    assert ("4.8 ms" in text and "9.6 ms" in text and "0.1 s lost" in text.replace("100 ms", "0.1 s")
            and ", 3 times" in text and "hint: NumPy runs in CPython" in text)
    assert "deoptimized, 20 ms lost" in text and r.saved_s == pytest.approx(-0.12)
