"""What explanations say of loops that did not become machine code: where, why, and what would help."""

import os
import subprocess
import sys

import numpy as np
import pytest

import pijit as ms


def told(f, *args, calls=12):
    """(lines from the def on, line, why, help) of each loop without machine code."""
    jitted = ms.jit(f)
    for _ in range(calls):
        jitted(*args)
    first = f.__code__.co_firstlineno
    left = [r for r in ms.explain(jitted).regions if r["why"]]
    text = str(ms.explain(jitted))
    for r in left:
        assert "no machine code for the loop of line" in text and r["why"] in text and r["help"] in text
        assert r["runs"] == 0 and r["bytes"] == 0 and r["exits"] == [] and r["text"] == ""
    return [(tuple(line - first for line in r["lines"]), int(r["where"].rsplit(":")[-1]) - first, r["why"], r["help"])
            for r in left]


class Thing:
    y = 1


def outside():
    return 1


def reads_an_attribute(n):
    o, s = Thing(), 0
    for _ in range(n):
        s += 1
        s += o.y
    return s


def reads_a_dict(n):
    d, s = {"x": 1}, 0
    for _ in range(n):
        s += d["x"]
    return s


def makes_a_text(n):
    s = ""
    for i in range(n):
        s = f"{i}"
    return s


def makes_a_set(n):
    s = None
    for i in range(n):
        s = {i}
    return s


def calls_with_names(n):
    s = 0
    for i in range(n):
        s += round(i * 0.5, ndigits=None)
    return s


def loops_over_a_dict(n):
    s = 0
    for k in {1: n, 2: n}:
        s += k
    return s


def is_a_method_call(n):
    s = 0
    for i in range(n):
        s += i.bit_length()
    return s


def compares_by_is(n):
    s, last = 0, 1
    for i in range(n):
        s += i is last
    return s


@pytest.mark.parametrize("f, lines, line, why", [
    (reads_an_attribute, (2, 4), 4, "`.y` of a Thing is read"),
    (reads_a_dict, (2, 3), 3, "an item of a dict is read"),
    (makes_a_text, (2, 3), 3, "a text is made"),
    (makes_a_set, (2, 3), 3, "a set is made"),
    (calls_with_names, (2, 3), 3, "a function is called with names of arguments"),
    (is_a_method_call, (2, 3), 3, "`.bit_length` of an int is read"),
    (compares_by_is, (2, 3), 3, "`is` may compare numbers"),
], ids=lambda p: getattr(p, "__name__", None))
def test_why_a_loop_has_none(f, lines, line, why):
    (seen_lines, seen_line, seen, _), = told(f, 9)
    assert (seen_lines, seen_line, seen) == (lines, line, why)


def test_what_the_loop_is_over():
    (_, _, why, help), = told(loops_over_a_dict, 3)
    assert why in ("the loop is over a dict", "the loop is over a dict_keyiterator") and "range" in help


def test_of_arrays():
    def element(x, n):
        s = 0
        for i in range(n):
            s += x[i]
        return s
    (_, _, why, help), = told(element, np.ones(9, np.float16), 9)
    assert why == "an item of an array of float16 with 1 axis is read" and "float16" in help


def test_code_that_is_too_long():
    names = {}
    exec("def f(n):\n    s = 0\n    for i in range(n):\n" + "        s += i\n" * 1000 + "    return s\n", names)
    (lines, _, why, help), = told(names["f"], 3)
    assert lines == (2, 1002) and "too long" in why and "more than 2000" in why
    assert help == "the loop in a function of its own"


def test_a_loop_that_prints():
    def prints(n):
        s = 0
        for i in range(n):
            s += i
            print(end="")
        return s
    assert [why for _, _, why, _ in told(prints, 5)] == ["a function is called with names of arguments"]


LEAVES = """
import pijit

@pijit.jit
def leaves(n, x):
    s = 0
    for i in range(n):
        for _ in range(2):
            s += i
        s += x[0]
    return s

told = []
for _ in range(400):  # a busy machine makes each exit seem to be worth more
    leaves(400, {0: 1})
    told = told or [r["why"] for r in pijit.explain(leaves).regions if r["why"]]
    if told:
        break
print(*told)
"""


def test_a_loop_whose_code_is_given_up(tmp_path):
    script = tmp_path / "leaves.py"
    script.write_text(LEAVES)
    env = {k: v for k, v in os.environ.items() if not k.startswith("PIJIT_")}  # being strict takes longer than exits
    out = subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True, timeout=60)
    assert out.stdout == "its machine code was left too often: an item of a dict is read\n", out.stderr


OF_ARRAYS = """
import numpy as np
import pijit

@pijit.jit
def differences(x, xs):
    for j in range(len(xs)):
        if j != 2:
            x = x.reshape(3, 3).reshape(9) - xs[j]
    return x

calls = 0
while not pijit.explain(differences).graphs and calls < 400:
    differences(np.arange(9.), np.arange(20.))
    calls += 1
print(calls)
"""


def test_a_loop_over_arrays_soon_becomes_a_graph(tmp_path):
    script = tmp_path / "arrays.py"
    script.write_text(OF_ARRAYS)
    env = {k: v for k, v in os.environ.items() if not k.startswith("PIJIT_")}
    for _ in range(5):  # others may take the cores, and make turns look long
        out = subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True, timeout=60)
        if int(out.stdout) <= 3:  # the second call, or the third
            break
    else:
        raise AssertionError(f"{out.stdout} calls without a graph {out.stderr}")


def test_a_loop_with_machine_code_has_no_reason():
    def sums(n):
        s = outside.__name__ and 0
        for i in range(n):
            s += i
        return s

    def two(n):
        s = 0
        for i in range(n):
            s += i
        for k in {1, 2}:
            s += k
        return s

    def plain(n):
        return n + 1
    assert told(plain, 1) == []
    (lines, _, why, _), = told(two, 9)
    assert lines == (4, 5) and "set" in why


BEHIND = """
import numpy as np
import pijit

@pijit.jit
def turned(n):
    a = np.array([[1.0, 0.1], [0.0, 1.0]])
    b = np.array([[float(n), 0.5]]) * 2.0 + 1.0
    c = np.array([[1.0, b[0, 0]], [0.0, 1.0]])
    s = 0.0
    for k in range(n):
        s += a[k % 2, 1] * c[0, 1]
    return s

for n in range(40, 60):
    turned(n)
assert [r["runs"] for r in pijit.explain(turned).regions if r["runs"]] == [20]
"""


def test_no_code_is_tried_for_before_what_has_none(tmp_path):
    """Where a line that has no machine code comes before the loop, code is tried for behind it, once."""
    script = tmp_path / "behind.py"
    script.write_text(BEHIND)
    env = {k: v for k, v in os.environ.items() if not k.startswith("PIJIT_")} | {"PIJIT_LOG": "capture"}
    out = subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True, timeout=60, check=True)
    tried = [line for line in out.stderr.splitlines() if "turned: no region from line" in line]
    assert 1 <= len(tried) <= 6, "\n".join(tried)
