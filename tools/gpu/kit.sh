#!/usr/bin/env bash
# Packs what a machine with a GPU, but neither compiler nor network, needs beside the repository's files:
# tools/gpu/kit.sh FOLDER PACKAGE PLUGIN VENV [FILE...] makes FOLDER/kit.tar.xz of PACKAGE's extension modules for the
# Python of VENV, the plug-in and the libraries that they load, stripped. tools/gpu/visit.sh unpacks it there. FILEs
# are of the working directory; there they replace the checkout's: programs that failed on the last visit, for one, in
# build/gpu/again. LEVEL is xz's: 1 is soon done, and a quarter larger.
set -euo pipefail
folder=$1 package=$2 plugin=$3 venv=$4; shift 4
suffix=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
mkdir -p "$folder" "$here"/{pijit,lib,tree}
cp "$package"/*"$suffix" "$plugin" "$here/pijit/"
cp -L "$venv/lib/libdnnl.so.3" "$here/lib/"
# The machine has a C library and libstdc++ of its own.
ldd "$here"/pijit/*.so | awk '/lib(absl|gomp)[^ ]* => \// {print $3}' | sort -u | xargs -I{} cp -L {} "$here/lib/"
strip --strip-unneeded "$here"/*/*.so*
git -C "$package/.." describe --always --dirty > "$here/commit" 2>/dev/null || echo "of no commit" > "$here/commit"
[ $# -eq 0 ] || cp --parents "$@" "$here/tree/"
tar -C "$here" --sort=name --owner=0 --group=0 --mtime=@0 -c . | xz -T0 "-${LEVEL:-6}" > "$folder/kit.tar.xz"
du -h "$folder/kit.tar.xz"
