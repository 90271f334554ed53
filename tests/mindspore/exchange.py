"""Files that MindSpore writes are read here, and ours there: checkpoints of networks with optimizers, whose training
goes on with the same losses, and MindRecord files.

    python tests/mindspore/exchange.py PYTHON FOLDER [--facts]

PYTHON has MindSpore. --facts writes the names, dtypes and shapes of its checkpoints for tests/python. The status is 1
where something differs."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FACTS = ROOT / "tests" / "python" / "facts_checkpoints.json"
PROGRAM = ROOT / "tests" / "python" / "exchanged.py"
CLOSE = 1e-5  # of losses, beside 1e-6: both packages round


def run(python, package, what, folder):
    subprocess.run(
        [python, "-W", "ignore", str(PROGRAM), package, what, str(folder)],
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT) if package == "pijit" else "", "GLOG_v": "3"},
    )
    return json.loads((folder / f"{package}-{what}.json").read_text())


def differences(writer, reader, written, read):
    for name, w in written["checkpoints"].items():
        r = read["checkpoints"][name]
        what = f"{name}, written by {writer}, read by {reader}"
        if r["left"] or not r["same"] or r["more"] != [3, 0.5, True, "é"]:
            yield f"{what}: {r}"
        if any(abs(a - b) > CLOSE * abs(b) + 1e-6 for a, b in zip(r["losses"], w["losses"])):
            yield f"{what}: losses {r['losses']} instead of {w['losses']}"
    if read["records"]["wrong"]:
        yield f"MindRecord files written by {writer}, read by {reader}: {read['records']['wrong']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--facts", action="store_true")
    options = parser.parse_args()
    sides = {"mindspore": options.python, "pijit": sys.executable}
    written, found = {}, []
    for package, python in sides.items():
        shutil.rmtree(options.folder / package, ignore_errors=True)
        (options.folder / package).mkdir(parents=True)
        written[package] = run(python, package, "write", options.folder / package)
    theirs, ours = written["mindspore"]["checkpoints"], written["pijit"]["checkpoints"]
    for name in theirs:
        for part in ("network", "optimizer"):
            a, b = ours[name][part], theirs[name][part]
            more, less = [x for x in a if x not in b], [x for x in b if x not in a]
            if more or less:
                found.append(f"{name}: the {part} has the parameters {more} instead of {less}")
    for writer, reader in (("mindspore", "pijit"), ("pijit", "mindspore")):
        read = run(sides[reader], reader, "read", options.folder / writer)
        found += differences(writer, reader, written[writer], read)
    if options.facts:
        FACTS.write_text(json.dumps({n: {k: v[k] for k in ("network", "optimizer")} for n, v in theirs.items()}) + "\n")
    print(*found, f"{len(theirs)} networks and their optimizers, {len(found)} differences", sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
