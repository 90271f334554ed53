"""Ids of breaks: a row each, a page each, and programs that have such a break and are mended."""
import importlib.util
import pathlib

import pytest

import pijit as ms
from differential import freeze


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


breaks = loaded(pathlib.Path(__file__).resolve().parents[2] / "tools/breaks.py")
PROGRAMS = sorted(breaks.PROGRAMS.glob("PB*.py"))


def program(path):
    if path.stem == "PB023":
        pytest.importorskip("pandas")
    return loaded(path)


def called(f, calls, raises):
    for args in calls:
        if raises:
            with pytest.raises(raises):
                f(*args)
        else:
            result = f(*args)
    return None if raises else result


@pytest.mark.parametrize("path", PROGRAMS, ids=[p.stem for p in PROGRAMS])
def test_programs(path):
    m = program(path)
    calls, raises = getattr(m, "CALLS", [m.ARGS] * 2), getattr(m, "RAISES", None)
    breaks, mended = ms.jit(m.breaks), ms.jit(m.mended)
    result = called(breaks, calls, raises)
    found = {b.id: b for b in ms.explain(breaks).all_breaks}
    assert path.stem in found and f"[{path.stem}]" in str(ms.explain(breaks)), found
    better = called(mended, calls, None)
    assert not ms.explain(mended).all_breaks, ms.explain(mended)
    if getattr(m, "SAME", not raises):
        expected = result[0] if isinstance(result, tuple) else result
        assert freeze(better) == freeze(expected)


def test_every_id_has_a_page_and_most_a_program():
    rows = breaks.rows()
    ids = [key for key, *_ in rows]
    written = [line for line in breaks.ROWS.read_text(encoding="utf-8").split("\n")
               if line.startswith(("BREAK(", "CASE("))]
    assert len(set(ids)) == len(ids) == len(written)
    # those of the automatic way, and ours
    assert set(ids) - {p.stem for p in PROGRAMS} == {"PB011", "PB016"}
    for name, text in breaks.pages().items():
        assert (breaks.PAGES / name).read_text(encoding="utf-8") == text, "python tools/breaks.py"


def test_what_is_asked_is_the_object_and_not_the_line():
    """A user's own name is no hint: nothing reads the line."""
    def f(x):
        np = time = logging = x * 2  # noqa: F841
        return [np] * int(np.sum())
    f = ms.jit(f)
    f(ms.Tensor([1.0]))
    assert [b.id for b in ms.explain(f).all_breaks] == ["PB032"]


def test_a_function_of_the_users_own_in_a_module_of_the_same_name(tmp_path):
    """`random.py` of a user's is told as its C function says."""
    (tmp_path / "clocks.py").write_text("import time\nfrom pijit import ops\n\n"
                                        "def f(x):\n    return ops.relu(x) * (time.time() > 0)\n")
    f = ms.jit(loaded(tmp_path / "clocks.py").f)
    f(ms.Tensor([1.0]))
    assert [b.id for b in ms.explain(f).all_breaks] == ["PB025"]
