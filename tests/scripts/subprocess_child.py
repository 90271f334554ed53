import subprocess
import sys
import pijit as ms
code = (
    "import sys, pijit as ms; x = ms.Tensor([2.0])\nfor k in range(20): x = x * 0.5 + k\nprint(float(x), "
    "sys.argv[1:]); sys.exit(3)")
r = subprocess.run([sys.executable, "-c", code, "a"], capture_output=True, text=True)
print(r.returncode, r.stdout, r.stderr)
x = ms.Tensor([1.0])
for _ in range(20):
    x = x * 0.5 + 1
print(float(x))
