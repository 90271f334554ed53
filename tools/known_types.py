"""How many of the public names have types that a checker knows: `python tools/known_types.py [floor in per cent]`.

Ends with an error below the floor, and says then which names lack types. basedpyright stands beside this Python."""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def completeness():
    """basedpyright's report of pijit, which its PYTHONPATH finds."""
    run = subprocess.run([pathlib.Path(sys.executable).parent / "basedpyright", "--verifytypes", "pijit",
                          "--ignoreexternal", "--pythonpath", sys.executable, "--outputjson"],
                         cwd=ROOT, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT)})
    try:
        return json.loads(run.stdout)["typeCompleteness"]
    except (ValueError, KeyError):
        sys.exit(f"basedpyright gave no report:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")


def main(floor="0"):
    report = completeness()
    counts = report["exportedSymbolCounts"]
    if not counts["withKnownType"]:
        sys.exit(f"basedpyright found no name of pijit in {ROOT}")
    share = 100 * report["completenessScore"]
    print(f"{share:.1f} % of {sum(counts.values())} public names have known types.")
    if share < float(floor):
        unknown = [s["name"] for s in report["symbols"]
                   if s["isExported"] and not (s["isTypeKnown"] and not s["isTypeAmbiguous"])]
        sys.exit(f"The floor is {floor} %. Names without known types:\n" + "\n".join(unknown))


if __name__ == "__main__":
    main(*sys.argv[1:])
