"""Programs of loops over numbers, made at random, and what a call of one shows: `python -m tests.python.number_loops
FIRST LAST` runs many, plain and jitted."""

import contextlib
import copy
import io
import linecache
import math
import random
import struct
import sys
import warnings

import numpy as np

INTS = [0, 1, -1, 2, 3, -3, 7, 10, 63, 64, -64, 2**31, 2**53, 2**53 + 1, -2**53 - 1, 2**62, 2**63 - 1, -2**63,
        -2**63 + 1, 3037000500, -3037000500, 2**63, 10**20]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.0, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan, 2.0**53,
          2.0**63, 1e-9, 0.1]
FUNCTIONS = ["sqrt", "sin", "exp", "log", "floor", "ceil", "fabs", "isnan", "atan", "tanh", "trunc", "isinf", "log10"]
NUMPY = ["sqrt", "sin", "exp", "log", "abs", "floor", "isnan", "sign", "square", "tanh", "float32", "float64", "int64",
         "negative", "rint", "cbrt", "logical_not"]
NUMPY_OF_TWO = ["maximum", "minimum", "hypot", "arctan2", "add", "multiply", "floor_divide", "greater", "power", "fmod",
                "copysign", "true_divide"]
RANGES = ["0", "1", "2", "3", "5", "8", "-3, 2", "0, 6", "2, -1", "0, 10, 2", "10, -5, -2", "3, 10, -1", "10, 0, -3",
          "n", "n, n + 3", "min(5, abs(int(1)))", f"{2**63 - 3}, {2**63 - 1}", "2, n, n"]


class Program:
    """The source of a function f(a, b, x, y, n), or f(a, b, x, y, n, p, q) of arrays p, of rank 1, and q, of rank 2,
    or of a list and a list of lists.
    With functions it calls others: g of two numbers and h of three, and r, which calls itself. With `made` it makes
    lists c and d of numbers and e of lists."""

    def __init__(self, seed, arrays=False, functions=False, lists=False, made=False):
        self.random = random.Random(seed)
        self.arrays, self.lists, self.made = arrays or lists, lists, made
        self.functions = []
        self.loops = 0
        lines = self.helpers() if functions else []
        self.names = ["a", "b", "x", "y"]
        self.loops = 0
        lines += ["@jit", "def f(a, b, x, y, n, p, q):" if self.arrays else "def f(a, b, x, y, n):"]
        if made:
            lines += [f"    {name} = {self.new_list()}" for name in "cd"] + ["    e = " + self.new_rows()]
        for _ in range(self.random.randint(2, 5)):
            lines += self.statement(1, 0, False)
        if not self.loops:
            lines += ["    for i in range(6):", *self.body(2, 1, True)]
        lines.append("    return (" + ", ".join(self.names) + ",)" + (" + (c, d, e)" if made else ""))
        self.source = "\n".join(lines) + "\n"

    def helpers(self):
        """Functions, the later of which may call those before; some jitted themselves."""
        pick = self.random.choice
        arrays, made, self.arrays, self.made = self.arrays, self.made, False, False
        lines = [f"K, n = {self.number()}, {pick([2, 3])}"]
        for name, arguments in (("g", "u, v"), ("h", f"u, v, w={self.number()}")):
            self.names = ["u", "v", "w"][:len(arguments.split(","))] + ["K"]
            lines += [pick(["@jit", "# plain"]), f"def {name}({arguments}):"]
            kept = self.names.pop()
            for _ in range(self.random.randint(0, 2)):
                lines += self.statement(1, 2, False)
            self.names.append(kept)
            if self.random.random() < 0.4:
                lines.append(f"    return {self.expression()} if {self.condition()} else {self.expression()}")
            else:
                lines.append(f"    return {self.expression()}" if self.random.random() < 0.9 else "    pass")
            self.functions.append((name, 2 + (name == "h")))
        self.names = ["u", "v", "n"]
        step, base = pick(["n - 1", "n - 1", "n - 2", "n // 2"]), pick(["n <= 0", "n < 1", "not n > 0", "n < 2"])
        order = pick(["n, u, v", "n, u"])
        self.names = order.split(", ")
        lines += ["@jit", f"def r({order}):", f"    if {base}:", f"        return {self.expression()}"]
        if self.random.random() < 0.3:
            lines.append(f"    u = {self.expression()}")
        call = "r(" + ", ".join([step, *(self.expression(2) for _ in self.names[1:])]) + ")"
        other = pick([call, self.expression(2), "r(" + ", ".join([step, *self.names[1:]]) + ")"])
        lines.append("    return " + pick([call, f"{call} {pick('+-*')} {other}", f"{call} + {self.expression(1)}",
                                           f"({call} if {self.condition(1)} else {other})",
                                           f"{pick(['min', 'max'])}({call}, {other})"]))
        self.functions.append(("r", len(self.names)))
        self.arrays, self.made = arrays, made
        return lines

    def call(self, depth):
        name, count = self.random.choice(self.functions)
        given = count - (name == "h" and self.random.random() < 0.5)
        arguments = [self.expression(depth + 1) for _ in range(given)]
        if name == "r":
            arguments[0] = self.random.choice(["3", "5", "4", "2", "0", "True", "3", "5"])
        return f"{name}({', '.join(arguments)})"

    def number(self):
        pick, k = self.random.choice, self.random.random()
        if k < 0.45:
            return repr(pick([0, 1, 2, 3, -1, 5, 7, 10, -2]))
        if k < 0.6:
            return repr(pick(INTS))
        if k < 0.8:
            return repr(pick([0.5, 1.0, 2.0, -1.5, 0.25]))
        if k < 0.9:
            return f"float('{pick(FLOATS)!r}')"
        return pick(["True", "False"])

    def expression(self, depth=0):
        pick, k = self.random.choice, self.random.random()
        if self.arrays and self.random.random() < 0.25:
            columns = "len(q[0])" if self.lists else "q.shape[1]"
            return pick([self.element(depth), self.element(depth), "len(p)", columns])
        if self.made and depth < 2 and self.random.random() < 0.2:
            return self.list_value(depth)
        if self.functions and depth < 2 and self.random.random() < 0.3:
            return self.call(depth)
        if depth > 2 or k < 0.35:
            return pick(self.names) if self.random.random() < 0.75 else self.number()
        if k < 0.7:
            op = pick("+ - * + - * / // % ** << >> & | ^".split())
            right = self.expression(depth + 1)
            if op == "**":  # other powers and shifts take all memory, or for ever
                right = pick(["2", "3", "0.5", "0", "1", "-1", "5"])
            if op in ("<<", ">>"):
                right = pick(["1", "2", "3", "10", "62", "63", "64", "-1", "True"])
            return f"({self.expression(depth + 1)} {op} {right})"
        if k < 0.78:
            return f"(-{self.expression(depth + 1)})" if self.random.random() < 0.7 else f"(~{pick(self.names)})"
        if k < 0.86:
            return f"{pick(['abs', 'int', 'float', 'bool', 'round'])}({self.expression(depth + 1)})"
        if k < 0.9:
            return f"{pick(['min', 'max'])}({self.expression(depth + 1)}, {self.expression(depth + 1)})"
        if k < 0.95:
            if self.arrays and not self.lists and pick(range(3)) == 0:
                return pick([f"np.{pick(NUMPY)}({self.expression(depth + 1)})",
                             f"np.{pick(NUMPY_OF_TWO)}({self.expression(depth + 1)}, {self.expression(depth + 1)})"])
            return f"math.{pick(FUNCTIONS)}({self.expression(depth + 1)})"
        if k < 0.97:
            return f"({self.expression(depth + 1)} if {self.condition(depth + 1)} else {self.expression(depth + 1)})"
        return self.condition(depth + 1)

    def index(self, depth):
        pick = self.random.choice
        if self.lists and self.random.random() < 0.5:
            return pick(["0", "1", "-1", "2", "i % 3", "j % 2", "-1 - i % 2"])
        if self.random.random() < 0.8:
            return pick(["0", "1", "-1", "2", "i", "j", "i", "i - 1", "n", "i % 3", "-i", "a"])
        return self.expression(depth + 1)

    def element(self, depth=0):
        if self.random.random() < 0.5:
            return f"p[{self.index(depth)}]"
        if self.lists or self.random.random() < 0.3:
            row = self.random.choice([f"q[{self.index(depth)}]", "row"])
            return f"{row}[{self.index(depth)}]"
        return f"q[{self.index(depth)}, {self.index(depth)}]"

    def new_list(self):
        """Of numbers; small, as what it is made of grows in loops."""
        pick = self.random.choice
        item = self.expression(2)
        return pick(["[]", f"[{item}]", f"[{item}, {self.expression(2)}]", "[0] * 5", "[0.0] * 4", f"[{item}] * 3",
                     "[1, 2, 3, 4]", "[1.5, 2.5, -3.5]", "[True, False, True]", "list(range(5))",
                     "list(range(6, 0, -2))",
                     "[k for k in range(5)]", "[k * 0.5 for k in range(4)]", "[k * 2 for k in range(6) if k % 2]",
                     "[k - 1 for k in (1, 2, 3)]", f"[{item} for _ in range(3)]"])

    def new_rows(self):
        return self.random.choice(["[]", "[[0] * 3 for _ in range(4)]", "[[0.0] * 2] * 3", "[[1, 2], [3, 4]]",
                                   "[[i * j for j in range(3)] for i in range(3)]", f"[{self.new_list()}]"])

    def from_lists(self):
        pick = self.random.choice
        name, at = pick("cd"), self.index(2)
        part = pick([":2", "1:", "::-1", ":", "-2:", "1:4:2", "a:", ":x", "i:5", "::n", ":-1"])
        return pick([self.new_list(), self.new_list(), "c", "d", f"{name}[{part}]", f"{name}[{part}]", f"c[{at}:][:6]",
                     f"list({name})", f"{name}.copy()", "(c + d)[:8]", f"{name} * (len({name}) < 4)", f"e[{at}]",
                     f"[v for v in {name}]", f"[v + 1 for v in {name} if v]"])

    def list_value(self, depth):
        pick = self.random.choice
        name, at = pick("cd"), self.index(2)
        return pick([f"{name}[{at}]", f"{name}[{at}]", f"{name}[{at}]", f"len({name})", f"sum({name})", f"min({name})",
                     f"max({name})", f"({self.expression(depth + 2)} in {name})", f"{name}.pop()", f"{name}.pop({at})",
                     f"e[{at}][{at}]", "len(e)", f"len(e[{at}])", f"any({name})", f"all({name})",
                     f"(a in (1, 2, {at}))"])

    def list_statement(self):
        pick, value = self.random.choice, self.expression(1)
        name, at = pick("cd"), self.index(2)
        few = f"if len({name}) < 9: "
        return pick([f"{name} = {self.from_lists()}", f"{name} = {self.from_lists()}", f"{few}{name}.append({value})",
                     f"{few}{name}.append({value})", f"{name}[{at}] = {value}", f"{name}[{at}] += {value}",
                     f"{name}[{at}], {name}[0] = {name}[0], {name}[{at}]", f"del {name}[{at}]",
                     f"{few}{name} += {pick('cd')}",
                     f"{few}{name}.extend([{value}, 2])", f"{few}{name}.insert({at}, {value})", f"{name}.clear()",
                     f"{name}.reverse()", f"{name}.sort()", f"{few}{name} *= 2", "c = d", "c, d = d, c",
                     f"if len(e) < 6: e.append({pick(['c', 'd', '[]', f'[{value}]'])})",
                     f"e[{at}] = {self.from_lists()}",
                     f"e[{at}][{at}] = {value}", f"if {name}: u = {name}[-1]", f"u, v = {name}",
                     "e = " + self.new_rows(),
                     f"{name} = [{value}, {value}]"])

    def condition(self, depth=0):
        pick, k = self.random.choice, self.random.random()
        if k < 0.7:
            return f"({self.expression(depth + 1)} {pick('< <= == != > >='.split())} {self.expression(depth + 1)})"
        if k < 0.8:
            return f"({self.expression(depth + 1)} {pick(['and', 'or'])} {self.expression(depth + 1)})"
        return f"(not {self.expression(depth + 1)})" if k < 0.9 else self.expression(depth + 1)

    def body(self, indent, depth, in_loop):
        return [line for _ in range(self.random.randint(1, 3)) for line in self.statement(indent, depth, in_loop)]

    def assignment(self, space):
        pick = self.random.choice
        if self.made and self.random.random() < 0.5:
            return [space + self.list_statement()]
        if self.lists and self.random.random() < 0.1:
            return [f"{space}{pick(['p', 'p', 'q[0]', 'row'])}.append({self.expression()})"]
        if self.arrays and self.random.random() < 0.35:
            return [f"{space}{self.element()} {pick(['=', '=', '+=', '-=', '*=', '/='])} {self.expression()}"]
        name = pick(self.names) if self.random.random() < 0.8 else pick("tuv")
        if self.random.random() < 0.35 and name in self.names:
            return [f"{space}{name} {pick('+ - * + - // % & | ^ /'.split())}= {self.expression()}"]
        lines = [f"{space}{name} = {self.expression()}"]
        if name not in self.names and self.random.random() < 0.6:
            self.names.append(name)
        return lines

    def statement(self, indent, depth, in_loop):
        pick, k, space = self.random.choice, self.random.random(), "    " * indent
        if k < 0.5 or depth > 3:
            return self.assignment(space)
        if k < 0.65:
            lines = [f"{space}if {self.condition()}:", *self.body(indent + 1, depth + 1, in_loop)]
            if self.random.random() < 0.5:
                lines += [f"{space}else:", *self.body(indent + 1, depth + 1, in_loop)]
            return lines
        if k < 0.7 and in_loop:
            return [f"{space}if {self.condition()}:", f"{space}    {pick(['break', 'continue'])}"]
        if k < 0.73:
            return [f"{space}a, b = b, {self.expression()}"]
        if k < 0.75:
            return [f"{space}print({self.expression()})"]
        if k < 0.77:
            caught = pick(["ZeroDivisionError", "OverflowError", "ValueError", "(ArithmeticError, ValueError)"])
            body = [f"{space}try:", *self.body(indent + 1, depth + 2, in_loop)]
            end = [f"{space}finally:", f"{space}    {pick(self.names)} = {self.number()}"]
            handler = [f"{space}except {caught}{pick([' as error', ''])}:",
                       f"{space}    {pick(self.names)} = {self.number()}"]
            if pick(range(6)) == 0:
                handler.append(f"{space}    raise")
            return body + pick([handler, handler, end, handler + end])
        self.loops += 1
        if self.random.random() < 0.25:
            count = f"w{self.loops}"
            return [f"{space}{count} = 0", f"{space}while {count} < {pick([3, 6, 10])}:", f"{space}    {count} += 1",
                    *self.body(indent + 1, depth + 1, True)]
        name = "ijkl"[depth % 4]
        if name not in self.names and self.random.random() < 0.5:
            self.names.append(name)
        over = f"range({pick(RANGES)})"
        if self.arrays and self.random.random() < 0.3:
            over = pick(["p", "q[0]", "q[i]", "row", "q", "p"])
            name = "row" if over == "q" else name
        if self.made and self.random.random() < 0.3:
            over = pick(["c[:6]", "d[:6]", "e[:3]", "list(range(4))", "[1, 2, 3]"])
            name = "row" if over == "e[:3]" else name
        lines = [f"{space}for {name} in {over}:", *self.body(indent + 1, depth + 1, True)]
        if self.random.random() < 0.15:
            lines += [f"{space}else:", *self.body(indent + 1, depth + 1, in_loop)]
        return lines

    def value(self):
        pick, k = self.random.choice, self.random.random()
        if k < 0.4:
            return pick([0, 1, 2, 5, -4, 9])
        if k < 0.55:
            return pick(INTS)
        if k < 0.8:
            return pick([0.5, 1.5, -2.0, 3.0])
        return pick(FLOATS) if k < 0.95 else pick([True, False])

    def arguments(self, call):
        numbers = self.numbers(call)
        if not self.arrays:
            return numbers
        pick = self.random.choice
        if self.lists:
            kinds = [[1, 2, -3, 0, 5, 2**29, 2**62, 2**63], [1.5, -2.0, 0.0, 3.0, 1e308, math.inf, math.nan],
                     [True, False]]
            of_p, of_q = pick(kinds), pick(kinds)
            if pick(range(6)) == 0:
                of_p = [1, 2.0, True, 3]
            p = [pick(of_p) for _ in range(pick([0, 3, 4, 6, 6, 6]))]
            q = [[pick(of_q) for _ in range(4)] for _ in range(3)]
            if pick(range(6)) == 0:
                q[1] = pick([q[0], [], p])
            return [*numbers, p, q]
        p = np.array([pick([1.5, -2.0, 0.0, 3.0, 1e308, math.inf, math.nan]) for _ in range(pick([3, 4, 6]))])
        q = np.array([[pick([1, 2, -3, 0, 5, 2**62]) for _ in range(4)] for _ in range(3)])
        if pick(range(4)) == 0:
            p = np.repeat(p, 2)[::pick([2, -2])]
        if pick(range(4)) == 0:
            q = pick([q.T, q[::-1], q.astype(float), q[:, ::2], q > 0])
        if pick(range(8)) == 0:
            q = p[:4].copy().reshape(2, -1)[:, ::-1] if len(p) % 2 == 0 else np.ones((3, 3), np.float32)
        if pick(range(3)) == 0:
            with np.errstate(all="ignore"):
                p = p.astype(pick(["f4", "i4", "i2"])) if p.dtype == float else p
                q = q.astype(pick(["f4", "i4", "u1", "i1", "u2", "u4"]))
        if pick(range(8)) == 0:
            p.flags.writeable = False
        return [*numbers, p, q]

    def numbers(self, call):
        pick = self.random.choice
        if call == 0 or self.random.random() < 0.5:
            return [pick([1, 2, 5, 9, -3]), pick([1, 2, 7]), pick([0.5, 2.0, -1.5]), pick([1.0, 3.5]), pick([0, 1, 4])]
        return [self.value(), self.value(), self.value(), self.value(), pick([0, 1, 4, 7])]


def bits(v):
    """v as what tells any two values apart."""
    if type(v) is float:
        return type(v).__name__, struct.pack("d", v)
    if type(v) is complex:
        return type(v).__name__, struct.pack("dd", v.real, v.imag)
    if isinstance(v, np.generic):
        return str(v.dtype), v.tobytes()
    if isinstance(v, np.ndarray):
        return str(v.dtype), v.shape, v.strides, v.tobytes()
    if isinstance(v, (tuple, list)):
        return type(v).__name__, *map(bits, v)
    return type(v).__name__, v


def shared(v, lists=None):
    """The lists in v, each as the number of the first that is the same object."""
    lists = [] if lists is None else lists
    if isinstance(v, list):
        lists.append(v)
    for item in v if isinstance(v, (list, tuple)) else ():
        shared(item, lists)
    return [next(k for k, other in enumerate(lists) if other is one) for one in lists]


def seen(function, args, name):
    """What a call of code compiled under that name shows."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            given = function(*args)
            result = "value", bits(given), shared(given)
        except TimeoutError:
            raise
        except Exception as e:
            frames, tb = [], e.__traceback__
            while tb:
                if tb.tb_frame.f_code.co_filename == name:
                    # CPython 3.11 tells the line before where one instruction stands for two
                    line = 0 if isinstance(e, UnboundLocalError) else tb.tb_lineno
                    frames.append((line, sorted((k, bits(v)) for k, v in tb.tb_frame.f_locals.items() if k != ".0")))
                tb = tb.tb_next
            result = "raises", type(e).__name__, str(e), frames
    told = [(w.category.__name__, str(w.message), w.lineno, w.filename == name) for w in warned]
    return result, out.getvalue(), told


def compiled(source, name, jit=lambda f: f):
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space = {"math": math, "np": np, "jit": jit}
    exec(compile(source, name, "exec"), space)
    return space["f"]


def copied(args):
    return [copy_of(v) for v in args] if not args or type(args[-1]) is not list else copy.deepcopy(args)


def copy_of(v):
    """A number, or an array of its own memory with the same strides, or a tuple of such."""
    if type(v) is tuple and any(isinstance(i, np.ndarray) for i in v):
        return tuple(map(copy_of, v))
    if not isinstance(v, np.ndarray):
        return v
    if type(v) is not np.ndarray or not v.size:
        return v.copy()
    room = v.size * 32
    new = np.ndarray(v.shape, v.dtype, np.zeros(2 * room, v.dtype), room * v.itemsize, v.strides)
    new[...] = v
    if not v.flags.writeable:
        new.flags.writeable = False
    return new


def without_dead(plain, jitted):
    """What a plain call shows, without variables of its frames that the jitted one lacks: nothing reads them any more,
    see docs/differences.md."""
    if plain[0][0] != "raises" or jitted[0][0] != "raises" or len(plain[0][3]) != len(jitted[0][3]):
        return plain
    frames = []
    for (line, variables), (_, others) in zip(plain[0][3], jitted[0][3]):
        there = {name for name, _ in others}
        frames.append((line, [v for v in variables if v[0] in there]))
    return (*plain[0][:3], frames), *plain[1:]


def without_signs_of_nan(v):
    """What a call shows, but for which of two NaN a sum is: CPython's compiler chooses that, and otherwise once the
    addition is specialised, so that the same plain call shows both."""
    if type(v) in (tuple, list):
        if len(v) == 2 and v[0] == "float" and type(v[1]) is bytes and math.isnan(struct.unpack("d", v[1])[0]):
            return "float", "nan"
        return type(v)([without_signs_of_nan(x) for x in v])
    return v


def compare(seed, calls=4, arrays=False, functions=False, lists=False, made=False):
    """Whether a jitted program shows something else than the plain one: (source, arguments, plain, jitted), or None."""
    import pijit as ms
    program, name = Program(seed, arrays, functions, lists, made), f"<program {seed}>"
    plain, jitted = compiled(program.source, name), compiled(program.source, name, ms.jit)
    for call in range(calls):
        args = program.arguments(call)
        again = copied(args)
        one, other = seen(plain, args, name), seen(jitted, again, name)
        if made:
            one = without_dead(one, other)
        one, other = without_signs_of_nan((one, bits(tuple(args)))), without_signs_of_nan((other, bits(tuple(again))))
        if one != other:
            return program.source, args, again, one, other
    return None


if __name__ == "__main__":
    import signal

    def give_up(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, give_up)
    for s in range(int(sys.argv[1]), int(sys.argv[2])):
        signal.alarm(2)
        try:
            if different := compare(s, arrays="arrays" in sys.argv[3:], functions="functions" in sys.argv[3:],
                                    lists="lists" in sys.argv[3:], made="made" in sys.argv[3:]):
                print(f"program {s}, {different[1]}", *different, sep="\n")
        except TimeoutError:
            print(f"program {s} takes long")
        finally:
            signal.alarm(0)
