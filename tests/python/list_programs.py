"""Programs of loops that change lists whose items others hold, made at random: what a call shows, plain and jitted.
`python -m tests.python.list_programs FIRST LAST` runs many."""

import random
import sys

from tests.python.number_loops import bits, compiled, shared, without_signs_of_nan


class Int(int):
    """What is no int of Python's own."""


class Float(float):
    pass


class Dying:
    """Tells what a list has where it dies there."""

    def __init__(self, seen, of):
        self.seen, self.of = seen, of

    def __del__(self):
        self.seen.append([v if isinstance(v, (int, float)) else type(v).__name__ for v in self.of])


INTS = [0, 1, 2, -1, -5, -6, 7, 255, 256, 257, 258, 1000, -1000, 70000, 2**30 - 1, 2**30, -2**30, 2**31, 2**60, 2**62,
        2**63 - 1, -2**63, 2**63, 10**20]
FLOATS = [0.0, -0.0, 1.5, -2.25, 1e308, float("inf"), float("nan"), 3.0, 1e-300]


class Program:
    """f(p, q, e, n): lists of numbers, and a list of lists."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        pick = self.r.choice
        before = [pick(["x = p[0]", "x = 5", "x = n"]), pick(["t = (p[0], q[-1])", "t = p[:]", "t = q", "t = e[0]"]),
                  pick(["c = [0] * 6", "c = []", "c = [300, 400, 500, 600]", "c = p[:]", "c = [True] * 5",
                        "c = [0.5, 1.5, 2.5]", "c = [k * 200 for k in range(6)]", "c = [p[0], p[1]]"])]
        lines = ["@jit", "def f(p, q, e, n):", *("    " + b for b in before)]
        for _ in range(self.r.randint(1, 2)):
            lines += [f"    for i in {pick(['range(n)', 'range(n)', 'range(len(p))', 'range(3)'])}:"]
            for _ in range(self.r.randint(1, 4)):
                lines += self.statement("        ")
        lines.append("    return p, q, e, c, t, x")
        self.source = "\n".join(lines) + "\n"

    def index(self):
        return self.r.choice(["i", "i", "i", "-1", "0", "i - 1", "1", "2", "-2", "i % 3", "n - i - 1"])

    def name(self):
        return self.r.choice(["p", "p", "q", "c", "c", "e[0]", "e[1]", f"e[{self.r.choice(['i % 2', '-1'])}]"])

    def value(self, depth=0):
        pick = self.r.choice
        item = f"{self.name()}[{self.index()}]"
        if depth > 1 or self.r.random() < 0.3:
            return pick([item, item, "i", "x", repr(pick(INTS)), repr(pick([0.5, -1.5, 3.0])), "True", "n"])
        more = self.value(depth + 1)
        return pick([f"{item} + {more}", f"{item} - {more}", f"{item} * {pick(['3', '2', '0.5', more])}",
                     f"{item} // {pick(['3', more])}", f"min({item}, {more})", f"({item} < {more})", f"-{item}",
                     f"i * {pick(['100', '7', '40000000'])}", f"{item} % {pick(['7', '300'])}", f"len({self.name()})"])

    def statement(self, space):
        pick, name, at = self.r.choice, self.name(), self.index()
        k = self.r.random()
        if k < 0.35:
            return [f"{space}{name}[{at}] = {self.value()}"]
        if k < 0.5:
            return [f"{space}{name}[{at}] {pick(['+=', '-=', '*=', '//='])} {self.value(1)}"]
        if k < 0.6:
            other = self.index()
            return [f"{space}{name}[{at}], {name}[{other}] = {name}[{other}], {name}[{at}]"]
        if k < 0.72:
            return [f"{space}if len({name}) < 20: {name}.append({self.value()})"]
        if k < 0.8:
            return [f"{space}x = {self.value()}"]
        if k < 0.9:
            return [f"{space}if {self.value(1)} {pick(['<', '>', '=='])} {self.value(1)}:",
                    *self.statement(space + "    ")]
        return [space + pick([f"x = {name}.pop()", f"del {name}[{at}]", f"{name}.insert({at}, {self.value(1)})",
                              f"c = {pick('pq')}[:]", f"c = c + [{self.value(1)}]", f"{name}.reverse()",
                              f"x = {name}[{at}]", f"e[{pick('01')}] = {pick(['p', 'q', 'c'])}",
                              f"{name}.extend({pick('pq')}[:2])",
                              f"{name} = [{self.value(1)}] * 4" if name in "pqc" else "pass"])]

    def arguments(self):
        pick = self.r.choice
        kinds = [[0, 1, 2, -5, 256], [257, 300, 1000, 70000, 2**30 - 1], INTS, FLOATS, [True, False],
                 [1, 2.5, True, 1000], [300, Int(300), 7], [1.5, Float(2.5)], [400, None], [500, "a"]]
        weights = [4, 6, 3, 5, 3, 1, 1, 1, 1, 1]

        def items():
            some = self.r.choices(kinds, weights)[0]
            # each a new object, as sums are
            return [again(pick(some)) for _ in range(pick([2, 3, 5, 5, 6]))]
        p, q = items(), items()
        e = [items(), items()]
        for _ in range(self.r.randint(0, 3)):  # lists and items in several places
            what = pick(range(5))
            if what == 0:
                e[pick([0, 1])] = pick([p, q, e[0]])
            elif what == 1:
                q[pick([0, 1])] = p[pick([0, 1])]
            elif what == 2:
                p[:] = [p[0]] * len(p)
            elif what == 3:
                q = p
            else:
                e[0][:] = e[1]
        return p, q, e, pick([2, 3, 5, 6, 8])


def again(v):
    return type(v)(repr(v)) if type(v) in (int, float) else v


def copied(args, known):
    """With the same objects in the same places, numbers as well."""
    if isinstance(args, (list, tuple)) and type(args) in (list, tuple):
        if id(args) not in known:
            if type(args) is tuple:
                return tuple(copied(v, known) for v in args)
            known[id(args)] = new = []
            new.extend(copied(v, known) for v in args)
        return known[id(args)]
    return known.setdefault(id(args), again(args))


def kept_by_others(args, r):
    """What holds some of the items besides the lists."""
    p, q, e, _ = args
    holders = [(*p,), {k: v for k, v in enumerate(q)}.values(), e[0][:], (e[1][-1],)]
    return [list(h) if pick else [] for h, pick in zip(holders, r)]


def is_as_cpython_has_it(v):
    """Small ints and bools are one object each."""
    if type(v) in (list, tuple):
        return all(map(is_as_cpython_has_it, v))
    if type(v) is int and -5 <= v <= 256:
        return v is int(repr(v))
    return v is True or v is False if type(v) is bool else True


def shown(f, args, held, name, dying):
    seen = []
    if dying:
        args[0][-1] = Dying(seen, args[0])
    others = kept_by_others(args, held)
    try:
        result = "gives", bits(got := f(*args)), shared(got)
        assert is_as_cpython_has_it(got)
    except (ArithmeticError, IndexError, TypeError, ValueError, AttributeError, MemoryError) as e:
        tb, lines = e.__traceback__, []
        while tb:
            if tb.tb_frame.f_code.co_filename == name:
                lines.append(tb.tb_lineno)
            tb = tb.tb_next
        result = "raises", type(e).__name__, str(e), lines
        del e, tb
    assert is_as_cpython_has_it(list(args))
    tell = [[v if type(v) is not Dying else "dying" for v in o] for o in others]
    now = [[v if type(v) is not Dying else "dying" for v in a] if a is not args[2] else
           [[v if type(v) is not Dying else "dying" for v in row] for row in a] for a in args[:3]]
    result = None if dying and result[0] == "gives" else result
    return without_signs_of_nan((result, bits(now), bits(tell), bits(seen)))


def compare(seed, calls=4):
    """(source, plain, jitted) where they differ, or None."""
    import pijit
    program, name = Program(seed), f"<lists {seed}>"
    plain, jitted = compiled(program.source, name), compiled(program.source, name, pijit.jit)
    r = random.Random(seed)
    for call in range(calls):
        args, dying = program.arguments(), r.random() < 0.1
        again, held = copied(args, {}), [r.random() < 0.4 for _ in range(4)]
        one, other = shown(plain, args, held, name, dying), shown(jitted, again, held, name, dying)
        if one != other:
            return program.source, one, other
    return None


if __name__ == "__main__":
    for s in range(int(sys.argv[1]), int(sys.argv[2])):
        if different := compare(s):
            print(f"program {s}", *different, sep="\n")
