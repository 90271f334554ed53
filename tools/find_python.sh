#!/bin/sh
# tools/find_python.sh VERSION... prints the path of each CPython that is at hand: on PATH, unpacked by `make pythons`, or pyenv's newest.
root=$(cd "$(dirname "$0")/.." && pwd)
for v; do
  for p in "$(command -v "python$v")" "$root/build/pythons/bin/python$v" \
      $(ls -dr "${PYENV_ROOT:-$HOME/.pyenv}/versions/$v".*/bin/"python$v" 2>/dev/null); do
    if test -n "$p" && (cd / && "$p" -c '') 2>/dev/null; then
      echo "$p"
      break
    fi
  done
done
