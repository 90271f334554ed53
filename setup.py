"""Builds the extension with CMake; everything else stands in pyproject.toml."""

import os
import shutil
import subprocess
import sys

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


class CMakeBuild(build_ext):
    def build_extension(self, ext):
        source = os.path.dirname(os.path.abspath(__file__))
        target = os.path.dirname(os.path.abspath(self.get_ext_fullpath(ext.name)))
        build = os.path.join(source, self.build_temp)
        os.makedirs(build, exist_ok=True)
        subprocess.check_call(["cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                               "-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON",
                               f"-DPython_EXECUTABLE={sys.executable}", f"-DPIJIT_OUTPUT={target}"])
        subprocess.check_call(["cmake", "--build", build, "-j", str(os.cpu_count()), "--target", "extension"])
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


setup(ext_modules=[Extension("pijit._C", sources=[])], cmdclass={"build_ext": CMakeBuild, "build_py": WithStartup})
