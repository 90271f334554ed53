"""Calls public functions with arguments of all kinds, in a process of its own: python -m tests.python.garbage SEED
CALLS.

Any Python exception is fine but those that betray a fault of ours; a crash is seen by who started the process.
Prints what was odd; the last call stands in the file given as third argument."""

import os
import random
import resource
import signal
import sys
import warnings

import numpy as np

import pijit as ms
from pijit import Tensor, nn, ops

SKIPPED = {"set_context", "load_checkpoint", "save_checkpoint", "export", "set_device", "context", "load", "dataset",
           "get_context", "Print", "__new__", "__init_subclass__", "__subclasshook__", "__reduce__",
           "__reduce_ex__", "__class__", "__setattr__", "__delattr__", "__sizeof__", "print"}
SHAPES = [(3, 4), (2, 2), (4,), (), (0,), (0, 3), (3, 0), (1, 3, 5, 5), (2, 3, 4), (1,) * 8, (2, 1), (5, 5)]
DTYPES = [np.float32] * 5 + [np.int32, np.int64, np.bool_, np.float16, np.float64, np.uint8, np.int8]
VALUES = [None, True, 0, 1, -1, 2, -7, 3, 2**31, -2**63, 2**63, 2**70, 0.5, float("nan"), float("inf"), 1e300, 1j,
          "mean", "abc", "", (), [], (0,), (1, 2), (-1,), [2, 2], (0, 1), (2**40, 2**40), (3, 4),
          ((1, 1), (0, 0)), {}, slice(None), ms.float32, ms.int32, ms.bool_, ms.float16, abs, object(), Ellipsis]
FAULTS = ("SystemError", "AssertionError", "UnboundLocalError", "NameError")


def argument():
    r = random.random()
    if r < 0.55:
        data = (np.random.RandomState(random.randrange(1000)).randn(*random.choice(SHAPES)) *
                random.choice([1, 3, 1e30, 0]))
        return Tensor(np.asarray(data).astype(random.choice(DTYPES)))
    if r < 0.6:
        return [Tensor(np.ones((2, 3), np.float32)), random.choice(VALUES)]
    return random.choice(VALUES)


def shown(a):
    return f"{a.dtype}{a.shape}" if isinstance(a, Tensor) else repr(a)[:60]


def main(seed, calls, last):
    random.seed(seed)
    warnings.simplefilter("ignore")
    if "ASAN_OPTIONS" not in os.environ:  # the sanitizer maps far more
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    targets = [(f"{prefix}.{k}", getattr(module, k))
               for prefix, module in (("ops", ops), ("nn", nn), ("numpy", ms.numpy), ("ms", ms), ("Tensor", Tensor))
               for k in dir(module)
               if k not in SKIPPED and (prefix == "Tensor" or not k.startswith("_")) and callable(getattr(module, k))]

    def too_long(*_):
        raise TimeoutError
    signal.signal(signal.SIGALRM, too_long)
    with open(last, "w", buffering=1) as log:
        for _ in range(calls):
            name, f = random.choice(targets)
            args = [argument() for _ in range(random.randrange(5))]
            if name.startswith("Tensor."):
                args.insert(0, Tensor(np.random.randn(3, 4).astype(np.float32)))
            call = f"{name}({', '.join(map(shown, args))})"
            log.seek(0)
            log.truncate()
            log.write(call)
            signal.alarm(120 if "ASAN_OPTIONS" in os.environ else 20)
            try:
                r = f(*args)
                if isinstance(r, nn.Cell) and random.random() < 0.5:
                    r = r(*[argument() for _ in range(random.randrange(1, 3))])
                if isinstance(r, Tensor) and r.size < 1000:
                    repr(r)
                if random.random() < 0.3 and not name.startswith(("nn.", "ms.")):
                    log.write(" jitted")
                    ms.jit(lambda *a: f(*a))(*args)
            except TimeoutError:
                print("takes too long:", call)
            except MemoryError:
                pass
            except Exception as e:
                if (type(e).__name__ in FAULTS
                    or any(s in str(e) for s in ("check failed", "std::", "basic_string", "vector::"))):
                    print(f"odd: {call}: {type(e).__name__}: {str(e)[:200]}")
            finally:
                signal.alarm(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
