import sys
import pijit as ms
total = ms.Tensor([0.0])
name = input("name? ")
for line in sys.stdin:
    total = total * 0.9 + float(line)
    print(line.rstrip(), float(total).hex())
try:
    input()
except EOFError as e:
    print(repr(e))
print("bye", name)
