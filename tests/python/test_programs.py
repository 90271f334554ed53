"""Generated programs: random straight-line code, branches, loops, containers, effects, functions and callbacks, plain against jitted."""

import contextlib
import functools
import itertools
import os

import numpy as np
from hypothesis import HealthCheck, given, settings, strategies as st

import pijit as ms
from pijit import Tensor
from tests.python.differential import check_calls

EXAMPLES = int(os.environ.get("PIJIT_FUZZ", "150"))
NAMES = ["a", "b", "c"]
ATOMS = st.sampled_from(NAMES + ["x", "y"])
NUMBERS = st.sampled_from(["2", "0.5", "-1", "3", "k", "(k + 1)", "x.shape[0]"])


@st.composite
def expression(draw, depth=2):
    kind = draw(st.integers(0, 7)) if depth else 0
    e = lambda: draw(expression(depth=depth - 1))  # noqa: E731
    if kind <= 1:
        return draw(ATOMS)
    if kind == 2:
        return f"({e()} {draw(st.sampled_from(['+', '-', '*']))} {draw(NUMBERS)})"
    if kind == 3:
        return f"({e()} {draw(st.sampled_from(['+', '-', '*']))} {e()})"
    if kind == 4:
        return f"ops.{draw(st.sampled_from(['tanh', 'relu', 'sigmoid', 'abs', 'square']))}({e()})"
    if kind == 5:
        return f"({e()} - {e()}.mean())"
    if kind == 6:
        return f"ops.softmax({e()}, {draw(st.sampled_from(['0', '1', '-1']))})"
    return f"({e()} + {e()}.sum({draw(st.sampled_from(['0', '1']))}, keepdim=True) * 0.1)"


@st.composite
def calls(draw, name):
    """A local function and a use of it: closures, defaults, nonlocal names, callbacks of C code, generators."""
    n = draw(st.integers(0, 99))
    other = draw(ATOMS)
    body = draw(st.sampled_from([
        [f"return t * s + {other}"], [f"u = t + {name} * 0.1", "return ops.tanh(u) * s"], ["if s > 1:", "    return t - s", "return t * t"], ["print('in', s)", f"return t * s - {other}.mean()"],
        ["nonlocal count", "count += 1", "return t + count"], ["try:", "    print('try')", f"    return t * s + {other}", "finally:", "    log.append('g')"], ["log.append(t.shape)", "return t + s"],
        ["global total", "total = total + 1", "return t * total"], ["if t.sum() > 3:", "    raise ValueError(f'sum {s}')", "return t + s"], ["with quiet():", "    print('w')", "    t = t * s", f"return t + {other}"]]))
    lines = [f"def h{n}(t, s={draw(NUMBERS)}):"] + ["    " + line for line in body]
    use = draw(st.sampled_from([
        f"{name} = h{n}({name})", f"{name} = h{n}({name}, s=3) + h{n}({other})", f"{name} = list(starmap(h{n}, [({name},), ({other}, 2)]))[-1]", f"{name} = reduce(lambda p, q: p + h{n}(q), [{name}, {other}])",
        f"{name} = sorted([{name}, {other}], key=lambda t: float(h{n}(t).sum().asnumpy()))[0]", f"{name} = sum([h{n}(t) for t in [{name}, {other}]])", f"{name} = h{n}(*[{name}, 2])", f"{name} = twice(h{n}, {name})",
        f"{name} = next(iter(map(h{n}, [{name}])))", f"{name} = max(({name}, {other}), key=lambda t: float(h{n}(t).mean().asnumpy()))", f"{name} = each(h{n}, [{name}, {other}])",
        f"box.f = h{n}; {name} = box.f({name})"]))
    if draw(st.booleans()):
        return lines + [use]
    return lines + ["try:", f"    {use}", "except ValueError as e:", "    log.append(str(e))"]


@st.composite
def block(draw, depth=2):
    lines = []
    for _ in range(draw(st.integers(1, 6 if depth == 2 else 3))):
        kind = draw(st.integers(0, 11 if depth else 5))
        name = draw(st.sampled_from(NAMES))
        if kind <= 3:
            lines.append(f"{name} = {draw(expression())}")
        elif kind == 4:
            lines.append(draw(st.sampled_from([f"log.append({name})", "table['n'] = table.get('n', 0) + 1", "table[len(log)] = len(table)", "log.append([1, (2, 'k')])", "box.count += 1",
                                               f"box.last = {name}.shape", f"print('at', {name}.shape)"])))
        elif kind == 5:
            lines.append(f"{name} = ops.where({draw(ATOMS)} > {draw(NUMBERS)}, {draw(expression(1))}, {name})")
        elif kind == 10:
            lines += draw(calls(name))
        elif kind == 11:
            lines += draw(st.sampled_from([
                [f"{name}[0] = {draw(NUMBERS)}"], [f"{name} += {draw(ATOMS)}"], [f"{name} = ops.cat([{name}[:, 1:], {name}[:, :1]], 1)"], [f"{name} = {name}.T.reshape({name}.shape)"],
                ["for i in range(4):", f"    {name} = {name} * 0.5 + i", "    if i == k:", "        continue", f"    if i > 1 and {name}.shape[0] == 3:", "        break", "else:", "    log.append('else')"],
                ["if k == 3:", f"    return {name}, log"], [f"log.append({name}[{draw(st.sampled_from(['0', 'k', '4', '-3']))}])"], [f"{name} = {name} / (k - 1)"],
                [f"pair = ({name}, {draw(ATOMS)})", f"{name}, rest = pair[::-1]"], [f"table['{name}'] = {name}", f"{name} = table.pop('{name}') * 2"], [f"print(f'{{{name}.shape}} {{k}}')"]]))
        elif kind == 6:
            other = draw(st.sampled_from([n for n in NAMES if n != name]))
            lines += ["i = 0", f"while ({name} * {name}).sum() < {draw(st.sampled_from(['4', '40']))}:",
                      f"    {name} = {name} * {name} + {draw(st.sampled_from(['1', 'k * k', 'i + 1']))}"]  # grows: the loop ends
            lines += draw(st.sampled_from([[], ["    i += 1"], [f"    {other} = {other} + {name}"], ["    log.append(i)"], [f"    if {name}.sum() > 9:", f"        {other} = {other} - 1"]]))
            lines += ["    if i > 50:", "        break"] if draw(st.booleans()) else []
        else:
            inner = ["    " + line for line in draw(block(depth=depth - 1))]
            head = draw(st.sampled_from([
                "for i in range(3):", f"if {name}.shape[0] == 3:", "if flag:", f"if {name}.sum() > {draw(NUMBERS)}:", f"if {name}.mean() > 0:", "if k > 1:", "for v in [x, y]:", "try:", "if len(log) % 2:"]))
            lines += [head] + inner
            if head == "try:":
                lines += ["finally:", "    log.append('f')"]
            elif head.startswith("if") and draw(st.booleans()):
                lines += ["else:"] + ["    " + line for line in draw(block(depth=0))]
    return lines


def run_program(source, flag):
    def make():
        class Box:
            count, last = 0, None

        def twice(f, t):
            return f(f(t))

        def each(f, ts):
            def results():
                for t in ts:
                    yield f(t)
            return sum(results())

        @contextlib.contextmanager
        def quiet():
            yield

        space = {"ms": ms, "ops": ms.ops, "log": [], "table": {}, "box": Box(), "reduce": functools.reduce, "starmap": itertools.starmap, "twice": twice, "each": each, "quiet": quiet}
        exec(source, space)
        return space["f"], lambda: (space["log"], space["table"], vars(space["box"]), space["total"])

    def call(rows, k):
        return (Tensor(np.linspace(-1, 1, rows * 4, dtype=np.float32).reshape(rows, 4)), Tensor(np.linspace(0.2, 2, rows * 4, dtype=np.float32).reshape(rows, 4)), flag, k)

    try:
        check_calls(make, [call(3, 1), call(3, 1), call(5, 3), call(2, 2), call(3, -1)])
    except AssertionError:
        print(source)
        raise


def function(name, lines, result):
    body = "".join(f"    {line}\n" for line in lines)
    return f"def {name}(x, y, flag, k):\n    a, b, c, count = x, y, x * y, 0\n{body}    return {result}\n"


SETTINGS = settings(max_examples=EXAMPLES, deadline=None, derandomize=EXAMPLES == 150, suppress_health_check=list(HealthCheck))


@SETTINGS
@given(block(), st.booleans(), st.sampled_from(["a", "(a, b, c)", "(a, b, c, k * 2)", "[a, log]", "{'a': a, 'n': len(log)}"]))
def test_generated_programs(lines, flag, result):
    run_program("total = 0\n" + function("f", lines, result), flag)


@SETTINGS
@given(block(), st.booleans(), st.sampled_from(["ms.grad(g, (0, 1))", "ms.value_and_grad(g)", "ms.jit(ms.grad(g))", "ms.grad(ms.jit(g), 1)", "ms.value_and_grad(g, 1)"]), st.sampled_from(["", "print('before'); "]))
def test_generated_gradients(lines, flag, transform, before):
    inner = function("g", lines, "(a * 0.5 + b * c).sum()")
    run_program(f"total = 0\n{inner}def f(x, y, flag, k):\n    {before}return {transform}(x, y, flag, k)\n", flag)
