"""Builds the plug-in with CMake from the sources two folders up."""

import os
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.environ.get("PIJIT_SOURCE", os.path.dirname(os.path.dirname(HERE)))


class Plugin(build_ext):
    def build_extension(self, ext):  # noqa: ARG002
        build = os.path.abspath(self.build_temp)
        os.makedirs(build, exist_ok=True)
        subprocess.check_call(["cmake", "-S", SOURCE, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                               "-DPIJIT_PLUGIN_ONLY=ON", f"-DPython_EXECUTABLE={sys.executable}"])
        subprocess.check_call(["cmake", "--build", build, "-j", str(os.cpu_count()), "--target", "pijit_cuda"])
        target = os.path.join(os.path.abspath(self.build_lib), "pijit_cuda13")
        os.makedirs(target, exist_ok=True)
        shutil.copy(os.path.join(build, "libpijit_cuda.so"), target)
        # Abseil's libraries, as pijit's own wheel has them beside it.
        for line in subprocess.check_output(["ldd", os.path.join(target, "libpijit_cuda.so")], text=True).splitlines():
            library, _, path = line.strip().partition(" => ")
            if library.startswith("libabsl_"):
                shutil.copy(os.path.realpath(path.split(" (")[0]), os.path.join(target, library))


setup(ext_modules=[Extension("pijit_cuda13.plugin", sources=[])], cmdclass={"build_ext": Plugin})
