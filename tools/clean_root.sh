#!/usr/bin/env bash
# Wheels where there is nothing else: tools/clean_root.sh FOLDER DIST PYTHON... makes a bare Debian in FOLDER/root, once, with neither a
# compiler nor OpenMP, and in it, for each CPython, which is lent, an empty environment without network; installs DIST's wheel there and
# runs, as no root user in another folder, tools/wheel_check.py, demo.py, cells of a notebook and a script by `python -m pijit`.
set -euo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mkdir -p "$1" && cd "$1" && pwd)
dist=$(cd "$2" && pwd)
shift 2
root=$folder/root
. "$repository/tools/debian.sh"
# What CPythons that were built on this Debian load (those of `make pythons` bring theirs), and what Debian's pip reads at its start.
libraries=ca-certificates,libssl3,libffi8,zlib1g,libbz2-1.0,liblzma5,libsqlite3-0,libreadline8,libncursesw6,libuuid1,libgdbm6,libexpat1
if ! test -e "$root/.ready"; then
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  rm -rf "$root"
  debootstrap --variant=minbase --include=$libraries "$suite" "$root" "$(mirror)" >"$folder/debootstrap.log"
  touch "$root/.ready"
fi
mkdir -p "$root/check"
cp "$repository"/{demo.py,tools/wheel_check.py,tools/notebook_check.py,requirements/demo.txt,requirements/notebook.txt} "$root/check/"
sed -i '/^-r/d; /onednn\|pybind/d' "$root"/check/*.txt

for python; do
  python=$("$python" -c 'import os, sys; print(os.path.realpath(sys.executable))')
  prefix=$("$python" -c 'import sys; print(sys.base_prefix)')
  case $prefix in "$repository"/build/pythons/*) prefix=$repository/build/pythons ;; esac
  tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  rm -rf "$root/wheels" && mkdir -p "$root/wheels" "$root$prefix"
  cp "$dist"/pijit-*-"$tag"-*.whl "$root/wheels/"
  helper=$folder/download-$tag
  test -x "$helper/bin/pip" || "$python" -m venv --clear "$helper"
  "$helper/bin/pip" download -q --disable-pip-version-check --only-binary :all: -d "$root/wheels" "$root"/wheels/pijit-*.whl \
    -r "$root/check/demo.txt" -r "$root/check/notebook.txt"
  # Mounts and network of its own: what is lent is there for this run alone, and nothing can be fetched.
  unshare --mount --net bash -euc '
    root=$1 prefix=$2 python=$3
    mount --bind "$prefix" "$root$prefix"
    mount -o remount,bind,ro "$root$prefix"
    mount -t proc proc "$root/proc"
    mount -t tmpfs tmpfs "$root/tmp"
    ip link set lo up 2>/dev/null || true
    chroot "$root" env -i PATH=/usr/bin:/bin:/usr/sbin HOME=/tmp/home LANG=C.UTF-8 bash -euc "
      ! command -v g++ && ! command -v gcc && ! command -v cc && ! ldconfig -p | grep -q libgomp
      mkdir -p /tmp/home/work && cd /tmp/home/work
      \"$python\" -m venv /tmp/home/env
      pip() { /tmp/home/env/bin/python -m pip -q --disable-pip-version-check --no-cache-dir install --no-index --find-links /wheels \"\$@\"; }
      pip pijit
      /tmp/home/env/bin/python /check/wheel_check.py
      pip -r /check/demo.txt -r /check/notebook.txt
      cp /check/demo.py /check/notebook_check.py .
      /tmp/home/env/bin/python demo.py >demo.txt 2>demo.log || { cat demo.log; false; }
      tail -1 demo.txt && test -s demo.png
      /tmp/home/env/bin/python notebook_check.py"
  ' bash "$root" "$prefix" "$python"
done
