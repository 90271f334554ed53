"""Networks that MindSpore exports are run here, and ours there.

    python tests/mindspore/networks.py PYTHON FOLDER [--data]

PYTHON has MindSpore. --data puts its files and results where tests/python reads them. The status is 1 where a file is
refused or a result differs."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = ROOT / "tests" / "python" / "exported_networks.py"
DATA = ROOT / "tests" / "python" / "mind_ir"


def run(python, package, what, folder):
    env = {**os.environ, "PYTHONPATH": str(ROOT) if package == "pijit" else "", "GLOG_v": "3"}
    done = subprocess.run([python, "-W", "ignore", str(PROGRAM), package, what, str(folder)], cwd=ROOT, env=env)
    return done.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--data", action="store_true")
    options = parser.parse_args()
    sides, failed = {"mindspore": options.python, "pijit": sys.executable}, 0
    for package, python in sides.items():
        shutil.rmtree(options.folder / package, ignore_errors=True)
        (options.folder / package).mkdir(parents=True)
        failed += run(python, package, "write", options.folder / package)
    for writer, reader in (("mindspore", "pijit"), ("pijit", "mindspore"), ("pijit", "pijit")):
        print(f"written by {writer}, read by {reader}:", flush=True)
        failed += run(sides[reader], reader, "read", options.folder / writer)
    if options.data:
        shutil.copytree(options.folder / "mindspore", DATA, dirs_exist_ok=True)
        for path in DATA.iterdir():
            path.chmod(0o644)  # MindSpore's may be read only
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
