"""Operations on sound answer as those of MindSpore: values, types, shapes, and exceptions of wrong calls.

    python tests/mindspore/audio.py PYTHON [--facts]

PYTHON has MindSpore. --facts writes its answers for tests/python. The status is 1 where something differs."""

import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = ROOT / "tests" / "python" / "audio_calls.py"
FACTS = ROOT / "tests" / "python" / "facts_audio.json"
sys.path.insert(0, str(PROGRAM.parent))

import audio_calls  # noqa: E402


def answers(python, package):
    run = subprocess.run([python, str(PROGRAM), package], check=True, cwd=ROOT, stdout=subprocess.PIPE,
                         env={**os.environ, "PYTHONPATH": str(ROOT) if package == "pijit" else "", "GLOG_v": "4"})
    return json.loads(run.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python")
    parser.add_argument("--facts", action="store_true")
    options = parser.parse_args()
    theirs, ours = answers(options.python, "mindspore"), answers(sys.executable, "pijit")
    found = list(audio_calls.differences(ours, theirs))
    if options.facts:
        FACTS.write_text(json.dumps(theirs, indent=0) + "\n")
    print(*found, f"{len(theirs['answers'])} calls and {len(theirs['checks'])} arguments of operations on sound, "
                  f"{len(found)} differences", sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
