"""CUDA C to machine code for each generation, without a GPU: nvrtc.py in.cu, by the library that
PIJIT_NVRTC_TOO names."""

import ctypes
import os
import pathlib
import sys

text = pathlib.Path(sys.argv[1]).read_bytes()
lib = ctypes.CDLL(os.environ["PIJIT_NVRTC_TOO"])
for capability in (80, 90, 100):
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert lib.nvrtcCreateProgram(ctypes.byref(program), text, b"pijit.cu", 0, None, None) == 0
    options = [f"--gpu-architecture=sm_{capability}".encode(), b"--std=c++17", b"--fmad=false"]
    if lib.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)):
        lib.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        lib.nvrtcGetProgramLog(program, log)
        sys.exit(f"NVRTC refuses a kernel for sm_{capability}:\n{log.value.decode()}")
    assert lib.nvrtcGetCUBINSize(program, ctypes.byref(size)) == 0 and size.value > 1000
    lib.nvrtcDestroyProgram(ctypes.byref(program))
