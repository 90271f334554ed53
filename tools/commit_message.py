#!/usr/bin/env python3
"""Checks a commit message: a subject of at most 72 characters, an empty line, and a body that says why."""

import sys


def faults(text):
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines or not lines[0].strip():
        return ["there is no subject"]
    if lines[0].startswith(("Merge ", "Revert ", "fixup!", "squash!")):
        return []
    found = []
    if len(lines[0]) > 72:
        found.append(f"the subject has {len(lines[0])} characters, 72 are allowed")
    if len(lines) > 1 and lines[1].strip():
        found.append("the second line is not empty")
    if not any(line.strip() for line in lines[2:]):
        found.append("there is no body that says why")
    return found


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as f:
        wrong = faults(f.read())
    for fault in wrong:
        print(fault, file=sys.stderr)
    sys.exit(bool(wrong))
