#!/usr/bin/env bash
# Runs on a machine with a GPU, from the repository's root: tools/gpu/visit.sh STAGE... with build/gpu/kit.tar.xz
# (make gpu-kit). Stages: probe, tests, sanitizer, bench, alone (bench without peers), profile, again (programs that
# failed before, in build/gpu/again); BENCH and ALONE name some of their benchmarks, with commas between, PROFILE some
# networks, WAYS PyTorch's ways; EACH is the limit of a test of tests/cuda/program.py in seconds. Each stage has a limit
# of its own, and one that fails or crashes does not take the next with it. A number after a stage, as in tests=120, is
# its limit in seconds. Results go to $OUT (default: build/gpu/out), at most eight files: what each stage said, and
# failures.tar with each program that failed as a file of its own (tools/gpu/failures.py).
set -uo pipefail
out=${OUT:-build/gpu/out}
root=$(mktemp -d)
mkdir -p "$out"
python=${PYTHON:-python3}
# by Python, as not each machine has xz
"$python" -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' build/gpu/kit.tar.xz "$root" || exit 1
cp "$root"/pijit/*.so pijit/
[ ! -d "$root/tree" ] || cp -r "$root/tree/." .
export PYTHONPATH=$PWD PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PYTHONFAULTHANDLER=1 XDG_CACHE_HOME=$root/cache
GPU_KIT=$(cat "$root/commit") && export GPU_KIT
echo "pijit $GPU_KIT"
export LD_LIBRARY_PATH=$root/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
IFS=, read -r -a bench <<< "${BENCH:-}"
IFS=, read -r -a alone <<< "${ALONE:-}"
IFS=, read -r -a profile <<< "${PROFILE:-}"

stage() {  # its name, its limit, a command
  local name=$1 limit=$2 begin=$SECONDS; shift 2
  echo "== $name (at most $limit s)"
  timeout -k 5 "$limit" "$@" 2>&1 | tee "$out/$name.txt" | tail -c "${SHOW:-3000}"
  local status=${PIPESTATUS[0]}
  [ "$status" = 0 ] || "$python" tools/gpu/failures.py stage "$out" "$name" "$status" "$@"
  echo "== $name: status $status, $((SECONDS - begin)) s"
}

for asked; do
  limit=${asked#*=}; [ "$limit" = "$asked" ] && limit=
  case ${asked%%=*} in
    probe) SHOW=6000 stage probe "${limit:-60}" "$python" tools/gpu/probe.py "$out" ;;
    tests) stage tests "${limit:-200}" "$python" tools/gpu/tests.py "$out" "${limit:-200}" ;;
    sanitizer) stage sanitizer "${limit:-150}" "$python" tools/gpu/sanitizer.py "$out" "${limit:-150}" ;;
    bench) SHOW=5000 stage bench "${limit:-240}" "$python" benchmarks/cuda.py --together ${WAYS:+--ways=$WAYS} "${bench[@]}"
           "$python" tools/gpu/failures.py benchmarks "$out" bench ${WAYS:+--ways=$WAYS} ;;
    alone) SHOW=6000 stage alone "${limit:-100}" "$python" benchmarks/cuda.py --alone "${alone[@]}"
           "$python" tools/gpu/failures.py benchmarks "$out" alone --alone ;;
    profile) SHOW=100 stage profile "${limit:-60}" env PIJIT_CUDA_SYNC=1 "$python" tools/gpu/profile.py "$out" "${limit:-60}" "${profile[@]}" ;;
    again) SHOW=6000 stage again "${limit:-60}" "$python" tools/gpu/again.py ;;
    *) echo "there is no stage $asked"; exit 2 ;;
  esac
done
rm -rf "$root"
