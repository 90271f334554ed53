"""Data sets of files: what MindSpore reads from small folders in their published formats, and what is read here.

    python tests/mindspore/sets.py PYTHON FOLDER [--facts] [--only NAME]

PYTHON has MindSpore. --facts writes its answers for tests/python/test_dataset_more.py. The status is 1 where something
differs that test_dataset_more.py does not name as known."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from tests.python.made_sets import FACTS, differences, packed  # noqa: E402  (the repository is on no path before)


def answers(python, package, folder, only):
    path = folder / f"{package}.json"
    subprocess.run(
        [python, "-W", "ignore", str(ROOT / "tests" / "python" / "made_sets.py"), package, str(folder / "made"),
         str(path), *([only] if only else [])],
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT) if package == "pijit" else "", "GLOG_v": "4"},
    )
    return json.loads(path.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--facts", action="store_true")
    parser.add_argument("--only", help="a data set's name, without Dataset")
    options = parser.parse_args()
    shutil.rmtree(options.folder / "made", ignore_errors=True)
    (options.folder / "made").mkdir(parents=True)
    theirs = answers(options.python, "mindspore", options.folder, options.only)
    ours = answers(sys.executable, "pijit", options.folder, options.only)
    if options.facts:
        FACTS.write_bytes(packed(theirs))
    found = list(differences(theirs, ours))
    print(*found, f"{len(theirs)} answers, {len(found)} differences", sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
