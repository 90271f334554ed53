"""What examples show is the same on every machine: `make examples` runs them."""

import importlib.util
import json
import os
import pathlib
import re
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
# A path from the root: below a folder that systems have, or this one.
COMMON = "bin build data etc home mnt opt private root srv tmp usr var work workspace Users"
FOLDERS = {*COMMON.split(), *(f for f in os.listdir("/") if len(f) > 2)}
ABSOLUTE = re.compile(rf"(?<![\w./<])/(?:{'|'.join(map(re.escape, sorted(FOLDERS)))})/[\w.-]+")


def shown(path):
    """All text of an example, with what its cells gave, but pictures."""
    if path.suffix != ".ipynb":
        yield path.read_text()
        return

    def texts(x, key=""):
        if isinstance(x, dict):
            for k, v in x.items():
                if not k.startswith("image/"):
                    yield from texts(v, k)
        elif isinstance(x, list):
            yield from texts("".join(x)) if all(isinstance(v, str) for v in x) else (t for v in x for t in texts(v))
        elif isinstance(x, str):
            yield x

    for text in texts(json.loads(path.read_text())):
        yield re.sub(r"data:[\w/+-]+;base64,[\w/+=]+", "", text)


FILES = sorted(p for p in EXAMPLES.rglob("*") if p.suffix in (".py", ".ipynb", ".md", ".txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(EXAMPLES)))
def test_no_path_of_a_machine(path):
    found = [m[0] for text in shown(path) for m in ABSOLUTE.finditer(text)]
    assert not found


spec = importlib.util.spec_from_file_location("build_notebooks", EXAMPLES / "notebooks" / "build.py")
build = importlib.util.module_from_spec(spec)
spec.loader.exec_module(build)


@pytest.mark.parametrize("name", build.names())
def test_outputs_are_of_the_code_that_prints_them(name):
    metadata = json.loads((EXAMPLES / "notebooks" / f"{name}.ipynb").read_text())["metadata"]
    if metadata["language_info"]["version"].split(".")[:2] != [str(n) for n in sys.version_info[:2]]:
        pytest.skip("the digest is of syntax trees, which another version of Python writes otherwise")
    assert (metadata.get("printed_by") ==
            build.printed_by(name)), f"run it again: python examples/notebooks/build.py {name}"


def test_other_code_that_prints_is_seen(monkeypatch, tmp_path):
    name = build.names()[0]
    before = build.printed_by(name)
    (tmp_path / "pijit").mkdir()
    for at in ("pijit/notebook.py", "pijit/trace.py"):
        (tmp_path / at).write_text((build.ROOT / at).read_text())
    monkeypatch.setattr(build, "ROOT", tmp_path)
    fewer = build.printed_by(name)
    (tmp_path / "pijit/trace.py").write_text((tmp_path / "pijit/trace.py").read_text() +
                                             "\n# a comment prints nothing\n")
    assert before != fewer == build.printed_by(name)
    (tmp_path / "pijit/trace.py").write_text((tmp_path / "pijit/trace.py").read_text() + "\nX = 1\n")
    assert build.printed_by(name) != fewer


def test_such_paths_are_seen():
    assert ABSOLUTE.search("in /tmp/ipykernel_28644/677921118.py:6") and ABSOLUTE.search('File "/home/someone/x.py"')
    assert not ABSOLUTE.search("a/tmp/b <br></b> https://example.org/tmp/x ./usr/x")
