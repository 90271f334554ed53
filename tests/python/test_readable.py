"""What people read: reasons, hints, guards and times in their own words; pages in Jupyter's style."""

import re

import numpy as np
import pytest

import pijit as ms
from pijit import ops
from pijit.explanation import readable, unlike, useful
from pijit.profiling.figures import seconds
from pijit.profiling.html import STYLE

X = np.ones(5)
Z = X.astype(np.float16)  # halves are left to NumPy
T = ms.Tensor(np.ones(5, np.float32))


def told(f, *args):
    """What explain says after some calls."""
    f = ms.jit(f)
    for _ in range(3):
        f(*args)
    return str(ms.explain(f))


def items(a):
    s = T
    for i in range(len(a)):
        s = s * a[i]
    return s


def each(a):
    for v in a:
        s = str(v)
    return s


def deep(t, n):
    return t if n == 0 else deep(t * 2, n - 1) + 1


@pytest.mark.parametrize("f, args, said", [
    (lambda a, b: a * b, (Z, Z), ["(* of numpy.ndarray and numpy.ndarray)", "NumPy's arrays are computed by CPython"]),
    (lambda a, b: a // b, (Z, 2), ["(// of numpy.ndarray and int)"]),
    (lambda a, b: a @ b, (Z, Z), ["(@ of numpy.ndarray and numpy.ndarray)"]),
    (lambda a: np.dot(a, a), (Z,), ["numpy.dot()", "NumPy runs in CPython"]),
    (items, (X,), ["and numpy.float64)", "NumPy's numbers are computed by CPython"]),
    (deep, (T, 80), ["recursion of deep", "write the recursion as a loop"]),
])
def test_reasons(f, args, said):
    text = told(f, *args)
    for part in said:
        assert part in text, text
    assert not re.search(r"\(\d+ of ", text)


def grown(a):
    a += 1
    return a


def fib(n):
    return n[0] if n[0] < 2 else fib((n[0] - 1,)) + fib((n[0] - 2,))


def factors(a):
    return np.linalg.svd(a)


def swapped(a):
    return a.byteswap()


class Item:
    def __bool__(self):
        return bool(np.random.default_rng(0).random() < 2)


def chosen(item):
    return 1 if item else 2


def changing(n, a):
    return ops.relu(ms.Tensor(np.ones((n, 2), np.float32)) + a)


@pytest.mark.parametrize("f, args, said, unsaid", [
    (grown, (Z,), ["(+= of numpy.ndarray and int)"], ["in-place"]),
    (lambda a: np.sqrt(a), (Z,), ["pijit.numpy.sqrt computes the same of Tensors"], []),
    (factors, (np.ones((3, 3)),), ["NumPy itself runs this one"], ["pijit.numpy.svd"]),
    (lambda a: np.sqrt(a).tolist(), (X,), ["which has tolist(), too"], []),
    (swapped, (X,), ["NumPy itself does this one"], ["which has byteswap"]),
    (chosen, (Item(),), [], ["ops.where"]),
    (fib, ((9,),), ["it calls itself"], []),
    (items, (X,), [], ["it calls itself"]),
])
def test_reasons_and_what_is_not_said(f, args, said, unsaid):
    text = told(f, *args)
    assert all(part in text for part in said) and not any(part in text for part in unsaid), text


def test_what_helps_is_said_once():
    text = told(lambda x, a: x + a[0] ** 2 - (a @ a), T, Z)
    assert (text.count("break at") >= 4
            and text.count("NumPy itself does this one") == text.count("NumPy's numbers are computed") == 1), text


def test_a_value_that_keeps_changing_has_a_hint_of_its_own():
    f = ms.jit(changing)
    for n in range(1, 40):
        f(n, 1.0)
    unstable = [b for b in ms.explain(f).all_breaks if "keeps changing" in b.reason]
    assert not unstable or "pass the value as a Tensor" in unstable[0].hint


def test_a_loop_that_goes_on_names_the_line_of_its_body():
    def steps(a):
        s = 0
        for _ in range(20):
            s += np.linalg.svd(a)[1].sum()
        return s
    p = ms.profile(steps, np.ones((20, 20)), seconds=0.1)
    line = steps.__code__.co_firstlineno + 3
    assert not any("iterated in advance" in x.why for x in p.pieces)
    assert any(re.search(rf"its loop's body breaks at .*test_readable.py:{line}$", x.why) for x in p.pieces), [x.why
        for x in p.pieces]


@pytest.mark.parametrize("f", [items, each])
def test_a_loop_breaks_where_it_does(f):
    breaks = [line for line in told(f, X).splitlines() if "break at" in line]
    assert breaks and not any("iterator)" in b for b in breaks), breaks


@pytest.mark.parametrize("guard, said", [
    ("gt(add(-2, truediv(mul(3, stack2), w)), 0)", "-2 + 3 * (a value of this line) / w > 0"),
    ("neg(x) == 3", "-x == 3"),
    ("len(a) == 5", "len(a) == 5"),
    ("type(stack1) is float", "type(a value of this line) is float"),
    ("add(x, y", "add(x, y"),
    ("<function mean at 0x7f0905>.__closure__[1].cell_contents.__code__ is method.__code__",
     "mean.__closure__[1].cell_contents.__code__ is method.__code__"),
    ("type(a) is <function f.<locals>.g at 0x7f>", "type(a) is f.<locals>.g"),
])
def test_guards(guard, said):
    assert readable(guard) == said


def of_frames(a, b):
    @ms.jit
    def f(x):
        return ops.tanh(x) * a + b
    f(ops.ones((2, 3)))
    return f


def test_as_many_guards_as_the_head_counts():
    """Lines, with the guards that one says for several, and the number of the others."""
    f = of_frames(2.0, 3.0)
    guards, text = ms.explain(f).entries[0]["guards"], str(ms.explain(f))
    lines, count, more = useful(guards, 4)
    assert f"{count} guards" in text and f"and {more} more, in entries[0]['guards']" in text
    assert lines[1] == "a == 2.0 and b == 3.0" and any(g.endswith(" is cell") for g in guards)
    assert count == len(set(guards)) and more == count - 5
    assert useful(guards)[2] == sum(g.endswith((" is cell", " is unbound")) for g in guards)
    assert f"and {useful(guards)[2]} more, in entries[0][&#x27;guards&#x27;]" in ms.explain(f).to_html()
    given = ["x is y", "x is y and z", "x is y and z and u", "type(v) is cell", "n == 2", "n == 2"]
    assert useful(given) == (["n == 2", "x is y and z and u"], 3, 1) and useful(given, 1) == (["n == 2"], 3, 2)


def test_guards_that_did_not_hold():
    assert unlike("not lt(n, 3)") == "n < 3" and unlike("n == 3") == "not n == 3"


@pytest.mark.parametrize("s, said",
                         [(0.0048, "4.8 ms"), (4.8e-6, "4.8 µs"), (0.9996, "1 s"), (999.6e-6, "1 ms"), (0, "0 ns"),
                          (12.5e-9, "12.5 ns"), (12345, "12345 s"),
                                     (-0.02, "-20 ms"), (999.4e-6, "999 µs")])
def test_times_have_one_unit(s, said):
    assert seconds(s) == said


def test_rules_for_tables_beat_jupyters():
    """Jupyter's have two classes and an element: .jp-RenderedHTMLCommon:not(.jp-RenderedMarkdown) td."""
    selectors = [part.strip() for rule in re.findall(r"([^{}]+)\{", STYLE) for part in rule.split(",")]
    inner = [x for x in selectors if re.search(r"\.pijit\S* \S", x)]
    assert len(inner) > 30 and all(x.count(".") >= 3 for x in inner), [x for x in inner if x.count(".") < 3]


def test_explain_calls_what_is_not_decorated():
    def f(x):
        return ops.relu(x) * 2

    e = ms.explain(f, T)
    assert e.calls == 1 and len(e.graphs) == 1 and "f" in e.name
    j = ms.jit(f)
    assert ms.explain(j, x=T).calls == 1 and ms.explain(j).calls == 1
    with pytest.raises(TypeError, match="jitted"):
        ms.explain(f)


class Net(ms.nn.Cell):
    def construct(self, x):
        return ops.tanh(x)


def test_what_is_not_captured_yet_is_told_how():
    with pytest.raises(TypeError, match=r"explain\(f, \.\.\.\) with arguments captures a call"):
        ms.explain(items)


def test_explain_calls_methods():
    assert ms.explain(Net().construct, T).calls == 1


def chain(x):
    for _ in range(30):
        x = ops.tanh(x) * 0.5
    return x


def broken(x):
    return x * float((x + 1).asnumpy().sum())


@pytest.mark.parametrize("f", [chain, broken, lambda x: x + 1])
def test_the_parts_of_a_profile_are_the_call(f):
    p = ms.profile(f, T, seconds=0.2)
    assert p.wall == p.captured.median and sum(p.parts.values()) == pytest.approx(p.captured.median)
    assert sum(r["us"] for r in p.rows()) / 1e6 <= p.captured.median * 1.0001
    assert (sum(r["us"] for r in p.rows()) / 1e6 ==
            pytest.approx(p.parts.get("kernels", 0) + sum(k.time for k in p.kernels if not k.captured) / p.calls))
    assert all(x.whole / p.calls <= p.captured.median * 1.0001 for x in p.pieces)


def test_what_a_relation_found_is_not_told_as_what_it_compares_with():
    @ms.jit
    def f(x, counts):
        counts["calls"] += 1
        return x * 2 if counts["calls"] % 3 == 0 else x
    x, counts = ms.Tensor([1.0]), {"calls": 0}
    for _ in range(3):
        f(x, counts)
    text = str(ms.explain(f))
    assert "% 3 == 0: now 0" in text and "another 0" not in text
