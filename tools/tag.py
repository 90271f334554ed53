"""`make tag`: this commit becomes the release of `pijit.__version__`: the tag v0.1.0 for 0.1.0.

What must be so before is checked: nothing is uncommitted, the version is the same wherever it stands and newer than all
that were released, and CHANGELOG.md has its section with a date and nothing that is not released. `--check` only says
what is in the way of a release, and whether the tags that there are agree with CHANGELOG.md."""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACES = {"pijit/__init__.py": r'^__version__ = "([^"]+)"', "CITATION.cff": r"^version: (\S+)",
          "packaging/cuda13/pyproject.toml": r'^version = "([^"]+)"'}
SECTION = re.compile(r"^## (\d+\.\d+\.\d+) - (\d{4}-\d{2}-\d{2})$", re.M)


def git(*args):
    return subprocess.run(["git", "-C", str(ROOT), *args], capture_output=True, text=True, check=True).stdout.strip()


def version():
    """Raises SystemExit where places differ."""
    said = {name: re.search(pattern, (ROOT / name).read_text(), re.M)[1] for name, pattern in PLACES.items()}
    if len(set(said.values())) > 1:
        raise SystemExit(f"the version differs from place to place: {said}")
    return next(iter(said.values()))


def numbers(v):
    return tuple(int(n) for n in v.split("."))


def wrong_with_tags(tags, released, now):
    """What is wrong with the tags' versions, beside the sections of CHANGELOG.md, newest first, and the version now."""
    found = [f"v{v} is a tag and has no section in CHANGELOG.md" for v in tags if v not in released]
    found += [f"CHANGELOG.md says that {v} is released, and there is no tag v{v}"
              for v in released[1:] if v not in tags]
    found += [f"v{v} is a tag, and the version is {now}" for v in tags if numbers(v) > numbers(now)]
    if list(released) != sorted(released, key=numbers, reverse=True):
        found.append("CHANGELOG.md's versions are not in order, newest first")
    return found


def in_the_way(now, tags, text, changed):
    """Of a release of `now`. changed: is something not committed?"""
    released = [m[1] for m in SECTION.finditer(text)]
    found = wrong_with_tags(tags, released, now)
    if changed:
        found.append("something is not committed")
    if now in tags:
        found.append(f"{now} is released already: pijit/__init__.py names the next version")
    if released[:1] != [now]:
        found.append(f"CHANGELOG.md has no section `## {now} - <date>` before all others")
    if re.search(r"^## Unreleased\n+(?!## )\S", text, re.M):
        found.append("CHANGELOG.md has changes under Unreleased")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="tag nothing")
    args = parser.parse_args()
    now = version()
    tags = [t[1:] for t in git("tag", "--list", "v*").split()]
    text = (ROOT / "CHANGELOG.md").read_text()
    found = in_the_way(now, tags, text, bool(git("status", "--porcelain")))
    for line in found:
        print(line)
    if found or args.check:
        sys.exit(bool(found))
    git("tag", "-a", f"v{now}", "-m", f"pijit {now}")
    print(f"tagged v{now}")


if __name__ == "__main__":
    main()
