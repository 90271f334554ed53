"""Imports in captured functions of what was not imported before, and classes in C that were never made ready."""

import importlib.util
import subprocess
import sys
import textwrap

import pytest

import pijit

pytestmark = pytest.mark.versions
BODIES = [
    "from pack import inner\n    return inner.VALUE, inner.__name__",
    "from pack import inner as i, other\n    return i.VALUE, other.VALUE",
    "from pack.deep import leaf\n    return leaf.VALUE",
    "import pack.deep.leaf\n    return pack.deep.leaf.VALUE",
    "import pack.deep.leaf as leaf\n    return leaf.VALUE",
    "from pack import VALUE, inner\n    return VALUE + inner.VALUE",
    "from pack.inner import VALUE\n    return VALUE",
    "from pack import lazy\n    return lazy",
    "from pack import nothing\n    return nothing",
    "try:\n        from pack import nothing\n    except ImportError as e:\n        return str(e).split('(')[0], e.name",
    "from pack.inner import nothing\n    return nothing",
    "def g():\n        from pack import inner\n        return inner.VALUE\n    return g() + g()",
]


def forget():
    for name in [m for m in sys.modules if m == "pack" or m.startswith("pack.")]:
        module = sys.modules.pop(name)
        if name != "pack":
            parent, _, last = name.rpartition(".")
            vars(sys.modules.get(parent, module)).pop(last, None)


def outcome(f):
    import pack  # noqa: F401
    try:
        return f()
    except ImportError as e:
        return type(e).__name__, str(e), e.__traceback__.tb_next.tb_lineno


@pytest.mark.parametrize("body", BODIES)
def test_a_first_import(body, tmp_path, monkeypatch):
    files = {"pack/__init__.py": "VALUE = 1\ndef __getattr__(name):\n    if name == 'lazy': return 5\n"
                                 "    raise AttributeError(name)\n",
             "pack/inner.py": "VALUE = 2", "pack/other.py": "VALUE = 3", "pack/deep/__init__.py": "",
             "pack/deep/leaf.py": "VALUE = 4"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    space = {}
    exec(compile(f"def f():\n    {body}\n", "<import>", "exec"), space)
    f = space["f"]
    forget()
    wanted = outcome(f)
    jitted = pijit.jit(f)
    try:
        for _ in range(3):  # each time for the first time, then again
            forget()
            assert outcome(jitted) == wanted
            assert outcome(jitted) == wanted
    finally:
        forget()


@pytest.mark.skipif(importlib.util.find_spec("_testbuffer") is None, reason="this Python comes without _testbuffer")
def test_a_class_that_was_never_made_ready():
    """_testbuffer.ndarray has no order of bases before its first attribute."""
    for call in ("_testbuffer.ndarray([1, 2], shape=(2,), format='i')", "_testbuffer.staticarray()"):
        program = f"""
            import _testbuffer, pijit

            def f():
                x = {call}
                return len(x)

            print(pijit.jit(f)(), f())
        """
        r = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60)
        assert r.returncode in (0, 1) and "Segmentation" not in r.stderr, r.stderr
        if r.returncode == 0:
            first, second = r.stdout.split()
            assert first == second
        else:
            assert "TypeError" in r.stderr or "BufferError" in r.stderr, r.stderr
