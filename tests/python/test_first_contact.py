"""What people see first of a name: the first line of what help() says, and its types in an editor."""

import importlib
import inspect
import json
import pathlib
import re
import subprocess
import sys

import pytest

from pijit.compat import left_out

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = json.loads((ROOT / "tools" / "api_names.json").read_text())["modules"]


def public():
    """(name, object) of what is ours: each object once."""
    found = {}
    for module, names in NAMES.items():
        try:
            space = importlib.import_module(module.replace("mindspore", "pijit", 1))
        except ImportError:
            continue
        for name in names:
            obj = getattr(space, name, None)
            if callable(obj) and getattr(obj, "__module__", "").startswith("pijit") and not left_out.is_left_out(obj):
                found.setdefault(id(obj), (f"{module}.{name}", obj))
    return list(found.values())


PUBLIC = public()


def test_first_lines_are_sentences():
    wrong = [name for name, obj in PUBLIC
             if not re.search(r"[.:;!?)]$", (inspect.getdoc(obj) or "").split("\n")[0].strip())]
    assert len(PUBLIC) > 2000 and not wrong


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="one type checker for all versions")
def test_jit_keeps_types(tmp_path):
    checker = ROOT / ".venv" / "bin" / "basedpyright"
    if not checker.exists():
        pytest.skip("no type checker is installed")
    program = tmp_path / "program.py"
    program.write_text("import pijit\n\n@pijit.jit\ndef f(x: int, *, y: str) -> float:\n    return 1.0\n\n"
                       "@pijit.jit(fullgraph=True)\ndef g(x: int) -> str:\n    return ''\n\n"
                       "reveal_type(f)\nreveal_type(g)\nreveal_type(pijit.jit(len))\n")
    r = subprocess.run([checker, "--pythonpath", sys.executable, program], cwd=ROOT, capture_output=True, text=True)
    assert '"(x: int, *, y: str) -> float"' in r.stdout and '"(x: int) -> str"' in r.stdout, r.stdout
