"""Compares what two versions of capture made of the same programs.

    PIJIT_REPLAY=/tmp/before python -m pytest tests/python/test_effects.py    # the old version
    PIJIT_REPLAY=/tmp/after  python -m pytest tests/python/test_effects.py    # the new one
    python tools/replay_diff.py /tmp/before /tmp/after [function]

Each folder holds one file per process with the entries that it captured. Entries of the same function and
place are compared in the order of their capture; prints the differences and ends with 1 if there are any."""

import collections
import difflib
import pathlib
import sys


def entries(folder):
    found = collections.defaultdict(list)
    for file in sorted(pathlib.Path(folder).glob("*.txt"), key=lambda f: f.stat().st_mtime_ns):
        for text in ("\n" + file.read_text(errors="replace")).split("\n=== ")[1:]:
            head, _, body = text.partition("\n")
            found[head].append(body)
    return found


def main(before, after, only=""):
    old, new = entries(before), entries(after)
    differing = 0
    for head in sorted(old.keys() | new.keys()):
        if only not in head or old[head] == new[head]:
            continue
        differing += 1
        print(f"=== {head}: {len(old[head])} captures before, {len(new[head])} after")
        a, b = ("--- next\n".join(found[head]).splitlines() for found in (old, new))
        print("\n".join(difflib.unified_diff(a, b, "before", "after", lineterm="", n=1)))
    print(f"{differing} of {len(old.keys() | new.keys())} places differ", file=sys.stderr)
    return differing > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
