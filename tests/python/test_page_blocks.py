"""Every Python block of README.md and docs/ runs, and prints what the page shows."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests.python.page_blocks import blocks, is_like

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_BLOCKS = [p for p in PAGES if "```python" in p.read_text(encoding="utf-8")]
# A page of a break is one program: they share a process.
BREAKS = [p for p in WITH_BLOCKS if p.parent.name == "breaks"]


def check(pages):
    env = {k: v for k, v in os.environ.items() if not k.startswith("PIJIT_")}
    env |= {"PYTHONPATH": str(ROOT), "PIJIT_MEASURE": "0", "PIJIT_STRICT": "1", "OMP_NUM_THREADS": "1"}
    r = subprocess.run([sys.executable, "-m", "tests.python.page_blocks", *map(str, pages)], env=env, cwd=ROOT,
                       capture_output=True, text=True)
    assert r.returncode == 0, r.stdout + r.stderr


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="messages and hashes are those of one version")
@pytest.mark.parametrize("page", [p for p in WITH_BLOCKS if p not in BREAKS], ids=lambda p: p.stem)
def test_blocks(page):
    check([page])


def test_blocks_of_breaks():
    check(BREAKS)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_block_is_left_out(page):
    """Fences that the runner does not know of would never run."""
    text = page.read_text(encoding="utf-8")
    assert len(re.findall(r"^ *(?:```|~~~)py", text, re.M)) == len(blocks(text))
    assert not re.search(r"^<!-- not run(?!: \w)", text, re.M)


def test_what_is_alike():
    assert is_like("3 kernels, 16.2 ms to compile", "3 kernels, 4 s to compile\n")
    assert is_like("[0.25 1.]", "[0.250001 1.]") and not is_like("[0.25 1.]", "[0.26 1.]")
    assert not is_like("3 kernels", "4 kernels") and not is_like("a\nb", "a")
    assert is_like("a ... b", "a x\ny b") and not is_like("", "something")
