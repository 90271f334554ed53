"""Includes go down only, and the core knows no Python."""

import pathlib
import re

import pytest

CSRC = pathlib.Path(__file__).parents[2] / "csrc"
pytestmark = pytest.mark.skipif(not CSRC.exists(), reason="tests run without the sources")
# What a folder may include beside itself. A folder that is not named here has no place yet.
BELOW = {
    "base": set(),
    "graph": {"base"},
    "runtime": {"graph"},
    "region": {"runtime"},
    "cpu": {"region"},
    "cuda": {"runtime"},
    "mpi": {"runtime"},
    "compile": {"runtime"},
    "eager": {"compile"},
    "python": {"base"},
    "objects": {"python", "eager", "region"},
    "entry": {"objects"},
    "capture": {"entry"},
    "dispatch": {"capture"},
    "bindings": {"dispatch"},
    "launch": {"python"},
}
CORE = {"base", "graph", "runtime", "region", "cpu", "cuda", "mpi", "compile", "eager"}


def allowed(folder):
    below = BELOW[folder]
    return below.union(*(allowed(b) for b in below))


def includes():
    for path in sorted([*CSRC.rglob("*.h"), *CSRC.rglob("*.cc"), *CSRC.rglob("*.def")]):
        folder = path.relative_to(CSRC).parts[0]
        for name in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', path.read_text(), re.M):
            yield path.relative_to(CSRC), folder, name


def test_every_folder_has_its_place():
    assert {p.name for p in CSRC.iterdir() if p.is_dir()} == set(BELOW)


def test_includes_go_down():
    own = set(BELOW)
    wrong = [f"{path} includes {name}" for path, folder, name in includes()
             if name.split("/")[0] in own and "/" in name and name.split("/")[0] not in {folder} | allowed(folder)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("folder", sorted(CORE))
def test_the_core_knows_no_python(folder):
    wrong = [f"{path} includes {name}" for path, f, name in includes()
             if f == folder and (name in ("Python.h", "frameobject.h") or name.startswith("pybind11"))]
    assert not wrong, "\n".join(wrong)


def test_devices_are_not_named_outside_of_their_folders():
    users = {folder for _, folder, name in includes() if name.startswith(("cpu/", "cuda/"))}
    assert users <= {"cpu", "cuda"}


def test_headers_do_not_include_all_of_pybind11():
    """Each file that does compiles all that pybind11 does for calls: two seconds and 80 KB (python/define.h)."""
    whole = re.compile(r"pybind11/(pybind11|numpy|eval|embed|stl|functional|operators)\.h")
    users = {str(path) for path, _, name in includes() if path.suffix == ".h" and whole.match(name)}
    assert users == {"python/define.h"}
    assert len({path for path, _, name in includes() if whole.match(name) or name == "python/define.h"}) <= 12


def test_only_csrc_python_tells_versions_of_cpython_apart():
    wrong = [str(path.relative_to(CSRC)) for path in [*CSRC.rglob("*.h"), *CSRC.rglob("*.cc"), *CSRC.rglob("*.def")]
             if re.search("PY_(VERSION_HEX|M(AJOR|INOR)_VERSION)", path.read_text())
             and path.relative_to(CSRC).parts[0] != "python"]
    assert not wrong, wrong
