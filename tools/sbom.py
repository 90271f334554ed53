"""Which software of others is in a wheel, or comes with it: as a bill of materials (CycloneDX), and as a page of the
site.

    python tools/sbom.py [FILE]       writes JSON; `make wheels` puts it beside the wheels"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def _found(path, pattern):
    return re.search(pattern, (ROOT / path).read_text(), re.M)[1]


def version():
    return _found("pijit/__init__.py", r'^__version__ = "([^"]+)"')


def components():
    """(name, version, licence as SPDX has it, where it is). A version that the builder's system has is told where it
    is found, else left empty."""
    def header(path, pattern, default=""):
        file = pathlib.Path(path)
        found = re.search(pattern, file.read_text(errors="replace")) if file.exists() else None
        return ".".join(g for g in found.groups() if g) if found else default

    def asked(*command):
        try:
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            return ""
    eigen = (r"EIGEN_WORLD_VERSION (\d+)\s+#define EIGEN_MAJOR_VERSION (\d+)\s+#define EIGEN_MINOR_VERSION (\d+)")
    inside, beside = "inside", "installed beside it by pip"
    return [
        ("oneDNN", _found("tools/onednn.sh", r"\bversion=(\S+)"), "Apache-2.0", inside),
        ("AsmJit", header("/usr/include/asmjit/core/api-config.h", r"ASMJIT_LIBRARY_VERSION \w+ /\* ([\d.]+)"),
         "Zlib", inside),
        ("Abseil", asked("dpkg-query", "-W", "-f", "${Version}", "libabsl-dev"), "Apache-2.0", inside),
        ("Eigen", header("/usr/include/eigen3/Eigen/src/Core/util/Macros.h", eigen), "MPL-2.0", inside),
        ("pybind11", asked(sys.executable, "-c", "import pybind11; print(pybind11.__version__)"), "BSD-3-Clause",
         inside),
        ("libgomp", asked("gcc", "-dumpfullversion"), "GPL-3.0-or-later WITH GCC-exception-3.1",
         "inside, as a shared library"),
        ("NumPy", "", "BSD-3-Clause", beside), ("Pillow", "", "MIT-CMU", beside)]


def sbom():
    parts = [{"type": "library", "name": name, **({"version": number} if number else {}),
              "licenses": [{"expression": licence}], "properties": [{"name": "pijit:where", "value": where}]}
             for name, number, licence, where in components()]
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "metadata": {"component": {"type": "library", "name": "pijit", "version": version(),
                                       "licenses": [{"license": {"id": "Apache-2.0"}}]}},
            "components": parts}


def page():
    rows = [f"| {name} | {licence} | {where} |" for name, _, licence, where in components()]
    return "\n".join(["# Licences", "", "pijit has the licence Apache-2.0. A wheel has or needs software of others:",
                      "",
                      "| what | licence | where |", "|---|---|---|", *rows, "",
                      "`python tools/sbom.py` writes this as a bill of materials, in the form of CycloneDX, with "
                      "the", "versions of the system that it runs on. The texts lie in the wheel, as `LICENSE-…`.",
                      ""])


if __name__ == "__main__":
    text = json.dumps(sbom(), indent=2) + "\n"
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
