#!/usr/bin/env bash
# Unpacks CPythons of Debian's development release beside the system, which stays as it is, and makes a launcher for each:
# tools/pythons.sh FOLDER VERSION... gives FOLDER/bin/pythonVERSION. They bring their own C library, so sys.executable is
# the launcher and programs that they start find it by its name.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd); shift
. "$(dirname "$0")/debian.sh"
mkdir -p "$folder"/{debs,root,bin}
debian "$folder" deb sid
packages="libc6 zlib1g libexpat1 libffi8 libssl3t64 libbz2-1.0 liblzma5 libsqlite3-0 libuuid1 libncursesw6 libtinfo6 libzstd1 libgcc-s1
  libstdc++6 libreadline8t64 libgomp1 python3-pip-whl"
for v; do
  packages="$packages python$v python$v-minimal libpython$v libpython$v-minimal libpython$v-stdlib libpython$v-dev python$v-dev python$v-venv"
done
(cd "$folder/debs" && apt -qq download $packages)
for deb in "$folder"/debs/*.deb; do dpkg-deb -x "$deb" "$folder/root"; done
# Where python looks for its library and headers, from the launcher's place.
ln -sfn root/usr/lib "$folder/lib"
ln -sfn root/usr/include "$folder/include"
for v; do
  # The system's pip is too old for new versions.
  sed -i "s|'/usr/share/python-wheels|'$folder/root/usr/share/python-wheels|" "$folder/root/usr/lib/python$v"/_sysconfigdata_*.py
  ln -sfn ../x86_64-linux-gnu "$folder/root/usr/include/python$v/x86_64-linux-gnu"  # of pyconfig.h
  cat > "$folder/bin/python$v" <<END
#!/bin/sh
exec $folder/root/usr/lib64/ld-linux-x86-64.so.2 --argv0 "\$0" --library-path \
  $folder/root/usr/lib/x86_64-linux-gnu:$folder/root/lib/x86_64-linux-gnu $folder/root/usr/bin/python$v "\$@"
END
  chmod +x "$folder/bin/python$v"
  "$folder/bin/python$v" --version
done
