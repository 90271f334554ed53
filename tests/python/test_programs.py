"""Generated programs: random straight-line code, branches, loops, containers and effects, plain against jitted."""

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
def block(draw, depth=2):
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.integers(0, 9 if depth else 5))
        name = draw(st.sampled_from(NAMES))
        if kind <= 3:
            lines.append(f"{name} = {draw(expression())}")
        elif kind == 4:
            lines.append(draw(st.sampled_from([f"log.append({name})", "table['n'] = table.get('n', 0) + 1", "table[len(log)] = len(table)", "log.append([1, (2, 'k')])", "box.count += 1",
                                               f"box.last = {name}.shape", f"print('at', {name}.shape)"])))
        elif kind == 5:
            lines.append(f"{name} = ops.where({draw(ATOMS)} > {draw(NUMBERS)}, {draw(expression(1))}, {name})")
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


@settings(max_examples=EXAMPLES, deadline=None, derandomize=EXAMPLES == 150, suppress_health_check=list(HealthCheck))
@given(block(), st.booleans(), st.sampled_from(["a", "(a, b, c)", "(a, b, c, k * 2)", "[a, log]", "{'a': a, 'n': len(log)}"]))
def test_generated_programs(lines, flag, result):
    source = "def f(x, y, flag, k):\n    a, b, c = x, y, x * y\n" + "".join(f"    {line}\n" for line in lines) + f"    return {result}\n"

    def make():
        class Box:
            count, last = 0, None
        space = {"ops": ms.ops, "log": [], "table": {}, "box": Box()}
        exec(source, space)
        return space["f"], lambda: (space["log"], space["table"], vars(space["box"]))

    def call(rows, k):
        return (Tensor(np.linspace(-1, 1, rows * 4, dtype=np.float32).reshape(rows, 4)), Tensor(np.linspace(0.2, 2, rows * 4, dtype=np.float32).reshape(rows, 4)), flag, k)

    try:
        check_calls(make, [call(3, 1), call(3, 1), call(5, 3), call(2, 2), call(3, -1)])
    except AssertionError:
        print(source)
        raise
