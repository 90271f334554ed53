import sys
import pijit as ms
x = ms.Tensor([1.0])
try:
    for k in range(50):
        x = x * 1.5 + 0.5
        if k == 40:
            raise SystemExit(f"stopped at {k}: {float(x):.4e}")
finally:
    print("cleaned", file=sys.stderr)
