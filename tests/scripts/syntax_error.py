import sys
print("never printed")
x = = 1
