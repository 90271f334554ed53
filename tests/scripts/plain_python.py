import collections
import json
import sys
# No tensor at all.
counts = collections.Counter("the quick brown fox jumps over the lazy dog".split())


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


print(fib(15), json.dumps(counts, sort_keys=True), __name__, sys.argv[1:],
      sorted(k for k in globals() if k[:2] == "__"))
print(__spec__ and (__spec__.name, __spec__.origin), type(__loader__).__name__, __package__, __doc__, __loader__.name,
      sys.modules["__main__"].__dict__ is globals())
with open("out.txt", "w") as f:
    f.write(str(counts.most_common(1)))
1 / 0
