"""CUDA C to a shared library of the host: host_compiler.py in.cu out.so capability. For PIJIT_CUDA_COMPILER.
Where PIJIT_NVRTC_TOO is set, NVRTC makes machine code of it, too, for each generation."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

OPTIONS = ["-std=c++17", "-O0", "-w", "-fPIC", "-march=x86-64-v3", "-ffp-contract=off", "-fwrapv"]
COMPILER = os.environ.get("CXX", "c++")
shim = pathlib.Path(__file__).parents[1] / "cpp" / "cuda" / "host_shim.h"
if sys.argv[1] == "--shim":  # compiles the shim ahead, into a folder that PIJIT_SHIM may name from then on
    copy = pathlib.Path(shutil.copy(shim, sys.argv[2]))
    sys.exit(subprocess.call([COMPILER, *OPTIONS, "-x", "c++-header", "-o", f"{copy}.gch", copy]))
if os.environ.get("PIJIT_SHIM"):
    shim = pathlib.Path(os.environ["PIJIT_SHIM"], "host_shim.h")
source, image = sys.argv[1:3]
text = pathlib.Path(source).read_text()
parts = [f'#include "{shim}"\n', text]
for name, args in re.findall(r'extern "C" __global__ void __launch_bounds__\([\d, ]+\) (\w+)\(const (\w+) a\)', text):
    body = text.split(f" {name}(const", 1)[1].split("\n}\n", 1)[0]
    parts.append(f'extern "C" void run_{name}(const void* a, unsigned blocks, unsigned threads) {{\n'
                 f"  pj_run([](const void* x) {{ {name}(*(const {args}*)x); }}, a, blocks, threads, "
                 f"{int(any(x in body for x in ('pj_down', '__shfl', '__syncthreads')))});\n}}\n")
if os.environ.get("PIJIT_NVRTC_TOO"):
    subprocess.run([sys.executable, pathlib.Path(__file__).with_name("nvrtc.py"), source], check=True,
                   env={k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"})
code = pathlib.Path(source).with_suffix(".cc")
code.write_text("".join(parts))
subprocess.run([COMPILER, *OPTIONS, "-shared", "-o", image, code], check=True)
