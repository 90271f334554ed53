"""One place for each fact of the build: a version that stands in several files is the same in all of them."""

import ast
import json
import os
import pathlib
import re
import subprocess
import sys
import sysconfig

import pytest

from tests.python.runs import FILES
from tools import sbom

ROOT = pathlib.Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not (ROOT / "CMakeLists.txt").exists(), reason="tests run without the sources")


def text(name):
    return (ROOT / name).read_text()


def constant(module, name):
    return re.search(rf"set\({name} ([0-9.]+)\)", text(f"cmake/{module}.cmake"))[1]


def test_one_version_of_the_onednn_wheel():
    wheel = constant("FindOneDNN", "ONEDNN_WHEEL_VERSION")
    found = {}
    for name in ["pyproject.toml", "setup.py", "packaging/cuda13/pyproject.toml",
                 *(f"requirements/{p.name}" for p in (ROOT / "requirements").iterdir())]:
        for package, version in re.findall(r"(onednn-[\w-]*)\s*([=<>~!]=[^\"',\s]*)?", text(name)):
            found[name, package] = version
    assert {package for _, package in found} == {"onednn-cpu-gomp", "onednn-devel-cpu-gomp"}
    assert found and set(found.values()) == {f"=={wheel}"}, found


def test_the_library_that_is_loaded_is_the_one_that_was_linked():
    version = constant("FindOneDNN", "ONEDNN_VERSION")
    names = set(re.findall(r"libdnnl\.so[.\d]*", text("pijit/_libs.py")))
    assert names == {f"libdnnl.so.{version}", f"libdnnl.so.{version.partition('.')[0]}"}


def test_requirements_are_what_the_package_requires():
    """What setup.py and pyproject.toml require is installed by requirements/demo.txt, with the same bounds."""
    project = text("pyproject.toml")
    required = re.findall(r'"([^"]+)"', re.search(r"^REQUIRES = \[(.*)\]", text("setup.py"), re.M)[1])
    build = re.findall(r'"([^"]+)"', re.search(r"^requires = \[(.*)\]", project, re.M)[1])
    installed = {line.strip() for name in ("build", "demo") for line in text(f"requirements/{name}.txt").splitlines()}
    assert set(required) | set(build) - {"setuptools>=65", "wheel"} <= installed


def test_presets_configure_what_cmake_knows():
    options = set(re.findall(r"(?:option|set)\((PIJIT_\w+)",
                             text("CMakeLists.txt") + "".join(
                                 text(f"cmake/{name}.cmake") for name in ("PrecompiledHeaders", "CompileTogether"))))
    used = {name for preset in json.loads(text("CMakePresets.json"))["configurePresets"]
            for name in preset.get("cacheVariables", {}) if name.startswith("PIJIT_")}
    assert used <= options


def test_cpythons_insides_are_read_without_precompiled_headers():
    """Those have CPython's outside alone, beside which headers of some versions do not compile."""
    reads = [str(p.relative_to(ROOT)) for p in (ROOT / "csrc" / "python").glob("*.cc")
             if re.search('#include ("python/interpreter.h"|<internal/)', p.read_text())]
    listed = re.search(r"set_source_files_properties\(([^)]*)PROPERTIES SKIP_PRE", text("CMakeLists.txt"))
    assert sorted(listed[1].split()) == sorted(reads)


@pytest.mark.parametrize("mark", sorted(FILES))
def test_files_of_marks_exist(mark):
    assert not [name for name in FILES[mark] if not (ROOT / "tests" / "python" / name).exists()]
    assert f'"{mark}: ' in text("pyproject.toml")


def test_one_list_of_pythons():
    """The versions of CPython that pijit says it runs on, wherever they stand."""
    project = text("pyproject.toml")
    minors = [int(m) for m in re.findall(r"Python :: 3\.(\d+)", project)]
    names = [f"3.{m}" for m in minors]
    assert minors == list(range(minors[0], minors[-1] + 1))
    assert f'requires-python = ">=3.{minors[0]},<3.{minors[-1] + 1}"' in project
    assert re.findall(r"^\| (3\.\d+) \|", text("docs/versions.md"), re.M) == names
    assert re.search(r"^WHEELS \?= (.*)", text("Makefile"), re.M)[1].split() == names
    tried = re.search(r"for v in ([\d ]+); do \$\(MAKE\) slice", text("Makefile"))[1].split()
    assert sorted(["11", "14", *tried], key=int) == [str(m) for m in minors]
    for name in ("README.md", "docs/versions.md", "docs/from-mindspore.md"):
        assert f"{names[0]} to {names[-1]}" in text(name), name
    assert "make slice-python3.14" in text(".ci/run")


def test_a_wheel_has_the_licences_of_what_is_inside(tmp_path):
    names = {"licences", "INSIDE"}
    tree = ast.parse(text("setup.py"))
    tree.body = [node for node in tree.body if isinstance(node, ast.Import) or getattr(node, "name", None) in names
                 or isinstance(node, ast.Assign) and node.targets[0].id in names]
    space = {}
    exec(compile(tree, "setup.py", "exec"), space)
    for package in space["INSIDE"]:
        (tmp_path / "doc" / package).mkdir(parents=True)
        (tmp_path / "doc" / package / "copyright").write_text(package)
    (tmp_path / "made").mkdir()
    space["licences"](str(tmp_path / "made"), str(tmp_path / "doc"))
    assert {p.name for p in (tmp_path / "made").iterdir()} == {
        *(f"LICENSE-{package}" for package in space["INSIDE"]), "LICENSE-pybind11"}


def test_the_bill_of_materials_names_licences():
    told = sbom.sbom()
    assert told["bomFormat"] == "CycloneDX" and told["metadata"]["component"]["version"] == sbom.version()
    assert len(told["components"]) >= 8 and all(c["licenses"][0]["expression"] for c in told["components"])


def test_a_build_says_what_is_missing(tmp_path):
    pytest.importorskip("setuptools")
    ended = subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--build-lib", str(tmp_path), "--build-temp",
                            str(tmp_path)], cwd=ROOT, env={**os.environ, "PATH": str(tmp_path), "CXX": "g++"},
                           capture_output=True, text=True, timeout=300)
    assert ended.returncode and "Missing for that: CMake, Ninja, a C++ compiler.\n" in ended.stderr, ended.stderr
    assert "apt-get install cmake ninja-build g++\n" in ended.stderr
    assert not list(tmp_path.iterdir())


def test_no_symbol_is_newer_than_the_glibc_that_wheels_are_for():
    """manylinux_2_34, as tools/wheels.sh asks for."""
    newest = {}
    for path in sorted((ROOT / "pijit").glob(f"_*{sysconfig.get_config_var('EXT_SUFFIX')}")):
        told = subprocess.run(["objdump", "-T", path], capture_output=True, text=True, check=True).stdout
        newest[path.name] = [line.split()[-1] for line in told.splitlines()
                             if (m := re.search(r"GLIBC_2\.(\d+)", line)) and int(m[1]) > 34]
    assert newest and not any(newest.values()), newest
