"""What `import pijit` says where it cannot work: what is missing, and what to do."""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")


@pytest.fixture
def package(tmp_path):
    """A copy of the package, whose extension modules a test may take away."""
    there = tmp_path / "pijit"
    there.mkdir()
    for p in (ROOT / "pijit").iterdir():
        if p.name != "__pycache__" and not p.name.startswith(("_C.", "_run.")):
            (there / p.name).symlink_to(p)
    for name in ("__init__.py", "_libs.py", "_launch.py"):  # these look at where they stand
        (there / name).unlink()
        shutil.copy(ROOT / "pijit" / name, there / name)
    for name in ("_C", "_run"):
        (there / (name + SUFFIX)).symlink_to(ROOT / "pijit" / (name + SUFFIX))
    return there


def said(package, before=""):
    """The last line of the traceback of an import; empty: there is none."""
    r = subprocess.run([sys.executable, "-c", f"{before}\nimport pijit\npijit.run_check()"], capture_output=True,
                       text=True, cwd=package.parent, env={**os.environ, "PYTHONPATH": str(package.parent)})
    assert (r.returncode == 0) == (not r.stderr), r.stderr
    return r.stderr.strip().split("\n")[-1]


def test_it_works(package):
    assert said(package) == ""


def test_a_python_that_it_was_not_built_for(package):
    (package / ("_run" + SUFFIX)).unlink()
    (package / "_run.cpython-38-x86_64-linux-gnu.so").touch()
    error = said(package)
    here = f"cpython {sys.version_info[0]}.{sys.version_info[1]} on linux-x86_64"
    assert error.startswith(f"ImportError: pijit has no extension module for this Python ({here}). It is there for "
                            "CPython 3.8. Install a wheel"), error
    (package / "_run.cpython-38-x86_64-linux-gnu.so").unlink()
    assert f"({here}). Install a wheel for this Python" in said(package) and "make build PYTHON=python" in said(package)


def test_sources_hide_what_is_installed(package, tmp_path):
    installed = tmp_path / "installed" / "pijit"
    installed.mkdir(parents=True)
    shutil.move(package / ("_run" + SUFFIX), installed)
    error = said(package, f"import sys; sys.path.append({str(installed.parent)!r})")
    assert error.startswith(f"ImportError: Python found pijit's sources, {package}, before the pijit that is "
                            f"installed in {installed}: "), error


def test_an_extension_of_older_sources(package):
    (package / ("_run" + SUFFIX)).unlink()
    (package / "_run.py").write_text("def run(f, *args): return f(*args)\ndef in_main_interpreter(): return True\n")
    assert "_run.py is older than the Python files beside it: `make build`" in said(package)


def test_a_processor_without_avx2(package):
    other = ("import importlib.util, sys\n"
             f"spec = importlib.util.spec_from_file_location('pijit._run', {str(package / ('_run' + SUFFIX))!r})\n"
             "run = sys.modules['pijit._run'] = importlib.util.module_from_spec(spec)\n"
             "spec.loader.exec_module(run)\nassert run.missing_instructions() == []\n"
             "run.missing_instructions = lambda: ['AVX2', 'BMI2']\n"
             "import types; sys.modules['pijit'] = types.ModuleType('pijit'); sys.modules['pijit']._run = run\n"
             f"sys.modules['pijit'].__path__ = [{str(package)!r}]\nimport pijit._libs")
    assert said(package, other) == (
        "ImportError: pijit needs a processor with AVX2 and FMA; this one shows no AVX2, no BMI2. Choose another "
        "machine, or, where it is a virtual one, a model of processor that has them (of QEMU: -cpu host, or Haswell).")


def test_the_module_that_asks_for_the_processor_runs_on_all(tmp_path):
    objdump = shutil.which("objdump") or pytest.skip("no objdump")
    code = subprocess.run([objdump, "-d", ROOT / "pijit" / ("_run" + SUFFIX)], capture_output=True, text=True).stdout
    assert "PyInit__run" in code and "%ymm" not in code and "vmov" not in code


@pytest.mark.parametrize("library, told", [
    ("libdnnl.so.9", "pip install onednn-cpu-gomp=="), ("libgomp.so.9", "Debian's package libgomp1"),
    ("libabsl_hash.so.30000101", "`make deps build` in the sources, or a wheel")])
def test_a_library_that_is_not_there(package, tmp_path, library, told):
    compiler = shutil.which("cc") or pytest.skip("no compiler")
    made = package / ("_C" + SUFFIX)
    made.unlink()

    def build(text, *arguments):
        subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-", "-x", "none", *arguments], input=text, text=True,
                       check=True)
    build("int nothing;", f"-Wl,-soname,{library}", "-o", tmp_path / library)
    build("void *PyInit__C(void) { extern int nothing; return &nothing; }", tmp_path / library, "-o", made)
    (tmp_path / library).unlink()
    error = said(package)
    assert error.startswith(f"ImportError: pijit's extension module cannot be loaded: {library}: cannot open"), error
    assert "It needs " in error and told in error, error


def test_an_extension_that_does_not_fit(package):
    compiler = shutil.which("cc") or pytest.skip("no compiler")
    made = package / ("_C" + SUFFIX)
    made.unlink()
    subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", made], text=True, check=True,
                   input="void *PyInit__C(void) { extern void *not_there(void); return not_there(); }")
    assert "undefined symbol: not_there. It needs an extension module that was built with what is here: `make build`" \
        in said(package)


def test_without_numpy(package):
    assert said(package, "import sys; sys.modules['numpy'] = None") == (
        "ModuleNotFoundError: pijit needs NumPy, which this Python doesn't have: `pip install numpy`.")
