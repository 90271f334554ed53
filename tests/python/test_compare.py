"""The tool that runs a script in MindSpore and in pijit. A Python with a small package named mindspore stands in for
the real one."""

import os
import stat
import sys

import numpy as np
import pytest

from pijit.compat import compare

FAKE = '''
import numpy as np


class Tensor:
    def __init__(self, a):
        self.a = np.asarray(a, np.float32)

    def __mul__(self, other):
        return Tensor(self.a * other * {factor})

    def asnumpy(self):
        return self.a

    def __str__(self):
        return str(self.a)
'''


@pytest.fixture
def reference(tmp_path):
    """The path of a Python whose `mindspore` multiplies by `factor` too much."""
    def make(factor=1.0, present=True):
        home = tmp_path / f"reference{factor}{present}"
        if present:
            (home / "mindspore").mkdir(parents=True, exist_ok=True)
            (home / "mindspore" / "__init__.py").write_text(FAKE.format(factor=factor))
        home.mkdir(exist_ok=True)
        path = home / "python"
        safe = "-P" if sys.version_info >= (3, 11) else ""
        path.write_text(f'#!/bin/sh\nPYTHONPATH="{home}" exec "{sys.executable}" {safe} "$@"\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)
    return make


@pytest.fixture
def script(tmp_path):
    def make(text):
        folder = tmp_path / "scripts"
        folder.mkdir(exist_ok=True)
        (folder / "s.py").write_text("import mindspore as ms\nimport numpy as np\nimport sys\n" + text)
        return folder / "s.py"
    return make


def report(script, python, **options):
    lines = []
    status = compare.compare(script, python, write=lines.append, **options)
    return status, "\n".join(lines)


def test_same(script, reference):
    status, text = report(
        script("x = ms.Tensor([1.0, 2.0]) * 1.00001\nprint('loss:', x)\nnp.save('x.npy', x.asnumpy())\n"), reference())
    assert (status == 0 and "Prints: same (1 lines)" in text and "Saved arrays: same (1 arrays)" in text
            and "times as fast" in text), text


def test_within_tolerance(script, reference):
    s = script("x = ms.Tensor([1.0, 2.0]) * 3\nprint('loss:', x)\nnp.savez('x.npz', x=x.asnumpy(), n=np.arange(3))\n")
    assert report(s, reference(1.00001))[0] == 0
    status, text = report(s, reference(1.01))
    assert status == 1 and "line 1\n    MindSpore: loss: [3.03 6.06]\n    pijit:     loss: [3. 6.]" in text, text
    assert "x.npz:x: 2 of 2 elements differ, the most by 0.06" in text and "(2 arrays)" in text, text
    assert report(s, reference(1.01), rtol=0.1)[0] == 0


def test_files_and_lines_of_one_side(script, reference):
    s = script(
        "own = hasattr(ms, 'ops')\nprint('a')\nprint('b' if own else 'c')\nif own:\n    print('more')\n    "
        "np.save('y.npy', np.ones(2))\nprint('z')\n")
    status, text = report(s, reference())
    assert (status == 1 and "3 lines from MindSpore, 4 from pijit" in text and "pijit 3:     more" in text
            and "pijit 4" not in text), text
    assert "y.npy: saved by pijit alone" in text


def test_dtypes_and_shapes(script, reference):
    s = script(
        "own = hasattr(ms, 'ops')\nnp.save('y.npy', np.ones(2, np.float64 if own else np.float32))\nnp.save('i.npy', "
        "np.arange(3) + own)\n")
    status, text = report(s, reference())
    assert (status == 1 and "y.npy: MindSpore float32[2], pijit float64[2]" in text
            and "i.npy: 3 of 3 elements differ" in text), text


def test_ends(script, reference):
    status, text = report(script("raise ValueError('x') if hasattr(ms, 'ops') else TypeError('y')\n"), reference())
    assert status == 1 and "MindSpore: TypeError" in text and "pijit:     ValueError" in text, text
    assert report(script("raise ValueError('x')\n"), reference())[0] == 0
    status, text = report(script("if hasattr(ms, 'ops'):\n    sys.exit(3)\n"), reference())
    assert status == 1 and "MindSpore: ends" in text and "pijit:     status 3" in text, text


def test_arguments_and_folders(script, reference):
    s = script("print(sys.argv[1:], open('data.txt').read())\nopen('data.txt', 'w').write('changed')\n")
    (s.parent / "data.txt").write_text("as it was")
    status, text = report(s, reference(), arguments=("--lr", "0.1"), repeat=2)
    assert status == 0 and (s.parent / "data.txt").read_text() == "as it was", text


def test_without_mindspore(script, reference):
    status, text = report(script("print(1)\n"), reference(present=False))
    assert status == 2 and "can't be imported" in text


def test_lines():
    same = compare.same_line
    assert same("loss 0.30001", "loss 0.30002", 1e-3, 0) and not same("loss 0.3", "loss 0.4", 1e-3, 0)
    assert same("[ 1.  2.]", "[1. 2.]", 0, 0) and not same("step 1", "stop 1", 1, 1) and not same("1 2", "1", 1, 1)
    assert same("x nan", "x nan", 0, 0) and same("<f at 0x7fa1>", "<f at 0x55>", 0, 0)


def test_checkpoints(script, reference, tmp_path):
    import pijit as ms
    ms.save_checkpoint([{"name": "w", "data": ms.Tensor(np.ones((2, 2), np.float32))}], str(tmp_path / "a.ckpt"))
    s = script(
        "import shutil\nif hasattr(ms, 'ops'):\n    import pijit\n    pijit.save_checkpoint([{'name': 'w', 'data': "
        "ms.Tensor(np.full((2, 2), 1.5, np.float32))}], 'a.ckpt')\n"
               f"else:\n    shutil.copyfile({str(tmp_path / 'a.ckpt')!r}, 'a.ckpt')\n")
    status, text = report(s, reference())
    assert status == 1 and "a.ckpt:w: 4 of 4 elements differ, the most by 0.5" in text, text


def test_command(script, reference, capsys, monkeypatch):
    monkeypatch.setenv("MINDSPORE_PYTHON", reference())
    assert compare.main([str(script("print(1.5)\n"))]) == 0 and "Prints: same" in capsys.readouterr().out
    assert compare.main([str(script("print(1)\n")), "--python", "/no/such/python"]) == 2
    with pytest.raises(SystemExit):
        compare.main([os.devnull + "/none.py"])
