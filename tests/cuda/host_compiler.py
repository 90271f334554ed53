"""CUDA C to a shared library of the host: host_compiler.py in.cu out.so capability. For PIJIT_CUDA_COMPILER.
Where PIJIT_NVRTC_TOO is set, NVRTC makes machine code of it, too, for each generation.

It is started for each kernel, and imports nothing that takes time. Without C++'s headers, of which kernels need
nothing, the compiler takes half of its time; the libraries of C are the process's."""

import os
import sys

OPTIONS = ["-std=c++17", "-O0", "-w", "-fPIC", "-march=x86-64-v3", "-ffp-contract=off", "-fwrapv", "-nostdinc++"]
COMPILER = os.environ.get("CXX", "c++")
HERE = os.path.dirname(os.path.abspath(__file__))
KERNEL = 'extern "C" __global__ void __launch_bounds__('
SYNCHRONIZED = ("pj_down", "__shfl", "__syncthreads")


def run(*command):
    if os.spawnvp(os.P_WAIT, command[0], command):
        sys.exit(f"{command[0]} failed")


shim = os.path.join(os.path.dirname(HERE), "cpp", "cuda", "host_shim.h")
if sys.argv[1] == "--shim":  # compiles the shim ahead, into a folder that PIJIT_SHIM may name from then on
    copy = os.path.join(sys.argv[2], "host_shim.h")
    with open(shim) as here, open(copy, "w") as there:
        there.write(here.read())
    run(COMPILER, *OPTIONS, "-x", "c++-header", "-o", f"{copy}.gch", copy)
    sys.exit()
if os.environ.get("PIJIT_SHIM"):
    shim = os.path.join(os.environ["PIJIT_SHIM"], "host_shim.h")
source, image = sys.argv[1:3]
with open(source) as f:
    text = f.read()
parts = [f'#include "{shim}"\n', text]
for kernel in text.split(KERNEL)[1:]:  # "128, 2) name(const Arguments a) { … }"
    head, _, body = kernel.partition("{")
    name, _, arguments = head.partition(")")[2].strip().partition("(const ")
    waits = any(x in body.partition("\n}\n")[0] for x in SYNCHRONIZED)
    parts.append(f'extern "C" void run_{name}(const void* a, unsigned blocks, unsigned threads) {{\n'
                 f"  pj_run([](const void* x) {{ {name}(*(const {arguments.split()[0]}*)x); }}, a, blocks, threads, "
                 f"{int(waits)});\n}}\n")
if os.environ.get("PIJIT_NVRTC_TOO"):
    os.environ.pop("LD_LIBRARY_PATH", None)
    run(sys.executable, os.path.join(HERE, "nvrtc.py"), source)
code = source.removesuffix(".cu") + ".cc"
with open(code, "w") as f:
    f.write("".join(parts))
run(COMPILER, *OPTIONS, "-nostdlib", "-shared", "-o", image, code)
