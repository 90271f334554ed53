"""Builds the extension with CMake; everything else stands in pyproject.toml."""

import importlib.metadata
import os
import shutil
import subprocess
import sys
import sysconfig

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py


def bundle(folder, wanted):
    """Copies the shared libraries that those of the folder need, as far as they are wanted, beside them."""
    for name in os.listdir(folder):
        if ".so" not in name:
            continue
        for line in subprocess.check_output(["ldd", os.path.join(folder, name)], text=True).splitlines():
            library, _, path = line.strip().partition(" => ")
            if wanted(library) and not os.path.exists(os.path.join(folder, library)):
                shutil.copy(os.path.realpath(path.split(" (")[0]), os.path.join(folder, library))


# Debian's packages that are part of what is built.
INSIDE = ("libabsl-dev", "libasmjit-dev", "libeigen3-dev", "libgomp1")


def licences(target, documents="/usr/share/doc"):
    """Copies the licences of software of others that is inside beside the extension, as they ask for."""
    texts = {package: os.path.join(documents, package, "copyright") for package in INSIDE}
    texts.update({"pybind11": str(f.locate()) for f in importlib.metadata.files("pybind11") or ()
                  if f.name.startswith("LICENSE")})
    for name, text in texts.items():
        if os.path.exists(text):
            shutil.copyfile(text, os.path.join(target, f"LICENSE-{name}"))


# What a build takes: a program, or a header that the compiler finds; what it is called, and its package on Debian.
PROGRAMS = [("cmake", "CMake", "cmake"), ("ninja", "Ninja", "ninja-build"),
            (os.environ.get("CXX", "g++"), "a C++ compiler", "g++")]
HEADERS = [("absl/container/flat_hash_map.h", "Abseil", "libabsl-dev"), ("asmjit/asmjit.h", "AsmJit", "libasmjit-dev"),
           ("eigen3/Eigen/Core", "Eigen", "libeigen3-dev")]


def missing_for_build():
    """Names and packages of what is not there."""
    missing = [(name, package) for program, name, package in PROGRAMS if not shutil.which(program)]
    compiler = shutil.which(PROGRAMS[-1][0])
    python = os.path.join(sysconfig.get_path("include"), "Python.h")
    headers = [*HEADERS, (python, "Python's headers", f"python{sys.version_info[0]}.{sys.version_info[1]}-dev")]
    for header, name, package in headers if compiler else []:
        found = subprocess.run([compiler, "-std=c++17", "-fsyntax-only", "-x", "c++", "-"], capture_output=True,
                               text=True, input=f'#if !__has_include("{header}")\n#error\n#endif\n')
        if found.returncode:
            missing.append((name, package))
    return missing


class CMakeBuild(build_ext):
    def build_extension(self, ext):
        if missing := missing_for_build():
            names, packages = zip(*missing)
            raise SystemExit("pijit is built from its sources here, as no wheel fits. Missing for that: "
                             f"{', '.join(names)}.\n"
                             f"On Debian or Ubuntu: apt-get install {' '.join(packages)}")
        source = os.path.dirname(os.path.abspath(__file__))
        target = os.path.dirname(os.path.abspath(self.get_ext_fullpath(ext.name)))
        build = os.path.join(source, self.build_temp)
        os.makedirs(build, exist_ok=True)
        subprocess.check_call(["cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                               "-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON",
                               f"-DPython_EXECUTABLE={sys.executable}", f"-DPIJIT_OUTPUT={target}",
                               # released wheels belong to no library of MPI
                               f"-DPIJIT_MPI={'OFF' if os.environ.get('PIJIT_ONEDNN') else 'ON'}"])
        subprocess.check_call(["cmake", "--build", build, "-j", str(os.cpu_count()), "--target", "extension"])
        if inside := os.environ.get("PIJIT_ONEDNN"):
            for name in ("LICENSE", "THIRD-PARTY-PROGRAMS"):
                shutil.copy(os.path.join(source, inside, name), os.path.join(target, f"{name}-oneDNN"))
        licences(target)
        bundle(target, lambda name: name.startswith("libabsl_"))
        # The OpenMP runtime, for systems without a compiler's libraries (pijit/_libs.py).
        compiler = os.environ.get("CXX", "g++")
        libgomp = subprocess.check_output([compiler, "-print-file-name=libgomp.so.1"], text=True).strip()
        if os.path.isabs(libgomp):
            shutil.copy(os.path.realpath(libgomp), os.path.join(target, "libgomp.so.1"))


class WithStartup(build_py):
    """The .pth file beside the package: python reads it at each start (PIJIT_AUTO)."""

    def run(self):
        super().run()
        self.copy_file("pijit_auto.pth", os.path.join(self.build_lib, "pijit_auto.pth"))


# A folder that `make onednn` made: oneDNN becomes part of the extension, which is a wheel of its own else.
REQUIRES = ["numpy>=1.22", "pillow>=9.1", "onednn-cpu-gomp==2023.2.0"]
if os.environ.get("PIJIT_ONEDNN"):
    REQUIRES = [r for r in REQUIRES if "onednn" not in r]

setup(install_requires=REQUIRES, ext_modules=[Extension("pijit._C", sources=[])],
      cmdclass={"build_ext": CMakeBuild, "build_py": WithStartup})
