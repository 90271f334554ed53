#!/usr/bin/env bash
# oneDNN from Debian's source package, to be linked into the extension: tools/onednn.sh FOLDER makes FOLDER/lib/libdnnl.a and FOLDER/include,
# with the primitives that pijit uses (csrc/cpu/onednn). PIJIT_ONEDNN=FOLDER builds the extension with it; about 15 minutes on two cores.
set -euo pipefail
suite=trixie version=3.7.2  # of upstream; a stable release keeps it
made="$version, threads of pijit"  # what cmake/FindOneDNN.cmake looks for
tools=$(cd "$(dirname "$0")" && pwd)
folder=$(mkdir -p "$1" && cd "$1" && pwd)
. "$tools/debian.sh"
test "$(cat "$folder/.version" 2>/dev/null)" != "$made" || exit 0
debian "$folder" deb-src "$suite"
cd "$folder"
rm -rf source onednn_* include lib
apt -qq source --download-only onednn >/dev/null
# Debian's own changes are for its library's name, its tests and other processors; fixes of upstream's next release are wanted.
dpkg-source --no-check --skip-patches -x onednn_"$version"*.dsc source >/dev/null
for fix in source/debian/patches/upstream-*.patch "$tools"/onednn-*.patch; do patch -s -d source -p1 < "$fix"; done
cmake -S source -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$folder" -DCMAKE_INSTALL_LIBDIR=lib \
  -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_CXX_FLAGS="-fvisibility=hidden -ffunction-sections -fdata-sections" \
  $(command -v ccache >/dev/null && echo -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache) \
  -DDNNL_LIBRARY_TYPE=STATIC -DDNNL_CPU_RUNTIME=OMP -DDNNL_ARCH_OPT_FLAGS= -DONEDNN_BUILD_GRAPH=OFF \
  -DDNNL_BUILD_DOC=OFF -DDNNL_BUILD_EXAMPLES=OFF -DDNNL_BUILD_TESTS=OFF -DDNNL_VERBOSE=OFF \
  -DDNNL_ENABLE_ITT_TASKS=OFF -DDNNL_ENABLE_JIT_PROFILING=OFF \
  "-DDNNL_ENABLE_PRIMITIVE=BATCH_NORMALIZATION;BINARY;CONVOLUTION;ELTWISE;INNER_PRODUCT;LAYER_NORMALIZATION;MATMUL;POOLING;REORDER;SOFTMAX" >configure.log
cmake --build build -j "$(nproc)" >build.log || { tail -30 build.log; exit 1; }
cmake --install build >/dev/null
# Its parallel regions run in pijit's threads (csrc/cpu/onednn/openmp.cc).
nm -u lib/libdnnl.a | awk '$2 ~ /^(GOMP|omp)_/ {print $2, "pijit_" $2}' | sort -u >openmp.txt
objcopy --redefine-syms=openmp.txt lib/libdnnl.a
rm openmp.txt
cp source/LICENSE source/THIRD-PARTY-PROGRAMS .
rm -rf build source onednn_*
echo "$made" > .version
