"""Generated programs: random straight-line code, branches, loops, containers, effects, functions and callbacks, plain
against jitted."""

import contextlib
import functools
import itertools
import math
import os
import sys
import threading

import numpy as np
from hypothesis import given, settings, strategies as st

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
        [f"return t * s + {other}"], [f"u = t + {name} * 0.1", "return ops.tanh(u) * s"],
        ["if s > 1:", "    return t - s", "return t * t"], ["print('in', s)", f"return t * s - {other}.mean()"],
        ["nonlocal count", "count += 1", "return t + count"],
        ["try:", "    print('try')", f"    return t * s + {other}", "finally:", "    log.append('g')"],
        ["log.append(t.shape)", "return t + s"],
        ["global total", "total = total + 1", "return t * total"],
        ["if t.sum() > 3:", "    raise ValueError(f'sum {s}')", "return t + s"],
        ["with quiet():", "    print('w')", "    t = t * s", f"return t + {other}"]]))
    lines = [f"def h{n}(t, s={draw(NUMBERS)}):"] + ["    " + line for line in body]
    use = draw(st.sampled_from([
        f"{name} = h{n}({name})", f"{name} = h{n}({name}, s=3) + h{n}({other})",
        f"{name} = list(starmap(h{n}, [({name},), ({other}, 2)]))[-1]",
        f"{name} = reduce(lambda p, q: p + h{n}(q), [{name}, {other}])",
        f"{name} = sorted([{name}, {other}], key=lambda t: float(h{n}(t).sum().asnumpy()))[0]",
        f"{name} = sum([h{n}(t) for t in [{name}, {other}]])", f"{name} = h{n}(*[{name}, 2])",
        f"{name} = twice(h{n}, {name})",
        f"{name} = next(iter(map(h{n}, [{name}])))",
        f"{name} = max(({name}, {other}), key=lambda t: float(h{n}(t).mean().asnumpy()))",
        f"{name} = each(h{n}, [{name}, {other}])",
        f"box.f = h{n}; {name} = box.f({name})"]))
    if draw(st.booleans()):
        return lines + [use]
    return lines + ["try:", f"    {use}", "except ValueError as e:", "    log.append(str(e))"]


@st.composite
def objects(draw, name):
    """Objects, generators, sets, with statements, unpacking; some of them alive across a break (hash() of a tensor is
    never captured)."""
    n, other, factor = draw(st.integers(0, 99)), draw(ATOMS), draw(NUMBERS)
    opaque = draw(st.sampled_from([[], [], ["hash(x)"]]))
    use = draw(st.sampled_from([
        [f"o{n}.scale *= 2", f"{name} = o{n}({name})"], [f"o{n}.kept = {name}", f"{name} = o{n}.kept + o{n}.twice"],
        [f"{name} = (o{n} + {name}).value({other})"], [f"box.last = o{n}.scale"],
        [f"log.append((o{n}.scale, o{n} == o{n}, len(o{n}), isinstance(o{n}, Thing)))"],
        [f"o{n}.items.append({name})", f"{name} = o{n}.items[-1] * len(o{n})"],
        [f"o{n}.twice = 3", f"{name} = o{n}({name})"],
        [f"{name} = Thing.of({factor})({name})"],
        [f"with o{n} as s:", f"    {name} = {name} * s"] + ["    " + line for line in opaque], [f"log.append(o{n})"],
        [f"for v in o{n}:", f"    {name} = {name} + v"],
        [f"if {name}.sum() > 1:", f"    {name} = o{n}({name})"],
        [f"other = o{n}", "other.scale = 7", f"{name} = {name} * o{n}.scale"]]))
    rest = draw(st.sampled_from([
        [f"{name} = sum(t * i for i, t in enumerate([{name}, {other}]))"],
        [f"g{n} = parts({name}, 3)", f"{name} = next(g{n})"] + opaque +
        [f"for t in g{n}:", f"    {name} = {name} + t * 0.5"],
        [f"first, *more = parts({name}, 2)", f"{name} = first + more[0]"],
        ["seen = {i % 3 for i in range(len(log))}", "seen.add(k)", "log.append(sorted(seen))"],
        ["log.append(any(v == k for v in counted(log, 4)))"],
        [f"{name} = reduce(lambda p, q: p * 0.5 + q, parts({name}, 2), {other})"],
        ["table.update(n=k)", "log.append(sorted(table | {'z': 1}, key=str))"],
        ["del table[max(table, key=str)]" if draw(st.booleans()) else "table.pop('q', None)"],
        [f"for i, t in zip(counted(log, 9), parts({name}, 2)):", f"    {name} = t + i"] +
        ["    " + line for line in opaque]]))
    return ([f"o{n} = {draw(st.sampled_from(['Thing', 'Derived']))}({factor})"] + opaque + use +
            (rest if draw(st.booleans()) else []))


@st.composite
def handled(draw, name, depth):
    """Exceptions: raised by statements, by lookups, by local functions; handled, raised again, passed through with and
    finally."""
    n, other = draw(st.integers(0, 99)), draw(ATOMS)
    opaque = draw(st.sampled_from([[], [], [], ["hash(x)"]]))
    kinds = ["ValueError", "KeyError", "IndexError", "ZeroDivisionError", "Bad", "Sized", "Sized", "StopIteration",
             "AttributeError", "TypeError", "RuntimeError"]
    kind = draw(st.sampled_from(kinds))
    condition = draw(st.sampled_from(["True", "True", "k > 1", f"{name}.shape[0] == 3", "flag", f"{name}.sum() > 2",
                                      "len(log) % 2"]))
    culprit = draw(st.sampled_from([
        [f"if {condition}:", f"    raise {kind}('m', k)"], [f"if {condition}:", f"    raise {kind}"],
        ["log.append(table['zz'])"], ["log.append(log[99])"],
        [f"{name} = {name} * (k // (len(log) - len(log)))"], ["next(iter([]))"], [f"{name} = {name}.nothing"],
        [f"def r{n}(t):", f"    log.append('r{n}')", f"    if {condition}:", f"        raise {kind}(f'{{t.shape}}')",
         "    return t * 2", f"{name} = r{n}({name})"], [f"{name} = {name} @ {name}"],
        [f"{name} = ops.cat([{name}, {name}[0]], 0)"], ["int('z')"], ["log.append(k)", f"{name} = {name} + 1"],
        ["with Thing(2) as s:", f"    {name} = {name} * s", f"    if {condition}:", f"        raise {kind}('w')"]]))
    inner = draw(block(depth=depth - 1)) if draw(st.booleans()) else []
    before, after = draw(st.sampled_from([([], inner), (inner, [])]))
    caught = draw(st.sampled_from([kind, kind, "Exception", f"({kind}, LookupError)", "ValueError",
                                   "(Bad, AttributeError)", "(LookupError, ArithmeticError, TypeError, ValueError)"]))
    name_it = draw(st.booleans())
    handler = draw(st.sampled_from([
        [f"{name} = {name} + 1"], ["log.append('caught')"],
        ["log.append((type(e).__name__, isinstance(e, Bad)))"] if name_it else ["pass"],
        ["log.append(str(e))"] if name_it else ["pass"],
        ["log.append(getattr(e, 'size', 'none'))"] if name_it else ["pass"],
        ["raise"], [f"{name} = {other} * 2", "raise"],
        ["raise KeyError('again') from e"] if name_it else ["raise Bad('again')"],
        ["log.append(len(e.args))"] if name_it else ["pass"], ["err = e", "log.append(1)"] if name_it else ["pass"],
        [f"return {name}, log"],
        ["try:", "    raise Bad('nested')", "except Bad:", "    log.append('nested')"]]))
    lines = (["try:"] + ["    " + line for line in before + opaque + culprit + after] +
             [f"except {caught}{' as e' if name_it else ''}:"] +
             ["    " + line for line in handler + draw(st.sampled_from([[], [], opaque]))])
    if draw(st.integers(0, 3)) == 0:
        lines += ["else:", "    log.append('else')", f"    {name} = {name} - 1"]
    if draw(st.integers(0, 3)) == 0:
        lines += ["finally:", f"    log.append({name}.shape)"]
    if draw(st.integers(0, 3)) == 0:
        lines = (["for j in range(3):"] + ["    " + line for line in lines] +
                 draw(st.sampled_from([[], [f"    {name} = {name} * 0.5"]])))
    if draw(st.integers(0, 2)) == 0:
        lines = (["try:"] + ["    " + line for line in lines] +
                 ["except Exception as f:", "    log.append(type(f).__name__)"])
    return lines


@st.composite
def on_values(draw, name, depth):
    """What only a run knows: numbers of Tensors, what is raised on them, loops that are left by them."""
    other, number, n = draw(ATOMS), draw(NUMBERS), draw(st.integers(0, 99))
    scalar = draw(st.sampled_from([f"{name}.sum()", f"{name}.mean()", f"({name} * {other}).max()",
                                   f"({name} > 0).astype(ms.int32).sum()", f"({name} > 1).any()"]))
    value = draw(st.sampled_from([f"float({scalar})", f"{scalar}.item()", f"bool({scalar})", f"float({scalar})",
                                  scalar]))
    test = draw(st.sampled_from([f"{name}.sum() > {number}", f"float({name}.mean()) < {number}", f"({name} > -9).all()",
                                 f"not ({other} > 1).any()", f"v{n} > {number}", f"k > 1 or {name}.max() < 5",
                                 f"any(t.sum() > {number} for t in [{name}, {other}])",
                                 f"v{n} != v{n} or {name}.min() < {number}", f"math.isfinite({name}.mean())"]))
    leave = draw(st.sampled_from(["break", "break", "continue", f"return {name}, i", f"{name} = {name} - 1; break",
                                  "log.append(i); break", "raise Bad(i)", "pass"]))
    use = draw(st.sampled_from([
        [f"{name} = {name} * v{n}"], [f"log.append(v{n})"], [f"box.last = [v{n}, {name}]"],
        [f"{name} = {name} + (v{n} * 2 - 1)"], [f"print(v{n}, k)"], [f"log.append(f'{{v{n}}}')"],
        [f"table['v'] = v{n}"],
        [f"log.append((v{n} > {number}, v{n} == k))"], [f"v{n} = max([v{n}, {name}.max()])", f"log.append(v{n})"],
        [f"log.append(math.isnan(v{n}))"], ["hash(x)", f"{name} = {name} - v{n}"],
        [f"if {test}:", f"    v{n} = v{n} * 2", f"log.append(v{n})"], [f"if {test}:", "    box.count += 1"],
        [f"{name} = partial(pick, k=v{n})({name})"],
        [f"if {test}:", f"    {name} = {name} * v{n}", "else:", f"    box.last = v{n}"],
        [f"print('%(v)s %(k)d' % {{'v': v{n}, 'k': k}})", "log.append('{:>4} {n}'.format(k, n=len(log)))"]]))
    lines = [f"v{n} = {value}"] + use
    form = draw(st.integers(0, 5))
    if form == 1:
        lines += [f"assert {test}, f'{{k}}'"]
    elif form == 2:
        lines += [f"if {test}:", "    raise Bad('on value', k)"]
    elif form == 3:
        over = draw(st.sampled_from(["range(4)", "range(k, 3)", "[1, 2, 3]", "enumerate([x, y])", "zip([1, 2], [x, y])",
                                     "counted(log, 3)", "parts(x, 3)", "range(30)"]))
        inner = draw(block(depth=0)) if depth else []
        lines += [f"for i in {over}:",
                  f"    {name} = {name} * 0.5 + 0.25"] + ["    " + line for line in inner] + [f"    if {test}:",
                      f"        {leave}"]
        lines += draw(st.sampled_from([[], [f"    {name} = {name} + 1"],
                                       [f"    {name} = {name} * 0.5", f"    if {other}.sum() > {number}:",
                                        "        break"]]))
        lines += draw(st.sampled_from([[], ["else:", f"    {name} = {name} - 1"]]))
    elif form == 4:
        head = draw(st.sampled_from([f"while i < 5 and ({name} * {name}).sum() < 90:",
                                     f"while ({name} * {name}).sum() < 90 and i < 6:",
                                     f"while not ({name} > 3).any() and i != 7:",
                                     f"while ({name} * {name}).sum() < 90:"]))
        lines += ["i = 0", head, f"    {name} = {name} * 1.5 + 1", "    i += 1"]
        kept = other if other in NAMES else name
        lines += draw(st.sampled_from([[], [f"    if {name}.max() > 4:", "        break"],
                                       ["    if i >= 3:", "        break"],
                                       [f"    if {test}:", f"        {kept} = {name} * 0.5"],
                                       [f"    if {name}.min() > 3:", f"        return {name}, i"]]))
        lines += ["    if i > 40:", "        break"]
    if form in (1, 2, 3) and draw(st.booleans()):
        lines = (["try:"] + ["    " + line for line in lines] +
                 ["except (AssertionError, Bad) as e:", "    log.append(str(e))"])
    return lines


@st.composite
def block(draw, depth=2):
    lines = []
    for _ in range(draw(st.integers(1, 6 if depth == 2 else 3))):
        kind = draw(st.integers(0, 18 if depth else 5))
        name = draw(st.sampled_from(NAMES))
        if kind <= 3:
            lines.append(f"{name} = {draw(expression())}")
        elif kind == 4:
            lines.append(draw(st.sampled_from([f"log.append({name})", "table['n'] = table.get('n', 0) + 1",
                                               "table[len(log)] = len(table)", "log.append([1, (2, 'k')])",
                                               "box.count += 1",
                                               f"box.last = {name}.shape", f"print('at', {name}.shape)"])))
        elif kind == 5:
            lines.append(f"{name} = ops.where({draw(ATOMS)} > {draw(NUMBERS)}, {draw(expression(1))}, {name})")
        elif kind == 10:
            lines += draw(calls(name))
        elif kind >= 16:
            lines += draw(on_values(name, depth))
        elif kind >= 14:
            lines += draw(handled(name, depth))
        elif kind >= 12:
            lines += draw(objects(name))
        elif kind == 11:
            lines += draw(st.sampled_from([
                [f"test = {name}.sum() > {draw(NUMBERS)} {draw(st.sampled_from(['and', 'or']))} {draw(ATOMS)}.mean() "
                 f"> 0", f"{name} = ops.where(test, {name}, {draw(ATOMS)})", "log.append(test)"],
                [f"{name}[0] = {draw(NUMBERS)}"], [f"{name} += {draw(ATOMS)}"],
                [f"{name} = ops.cat([{name}[:, 1:], {name}[:, :1]], 1)"], [f"{name} = {name}.T.reshape({name}.shape)"],
                ["for i in range(4):", f"    {name} = {name} * 0.5 + i", "    if i == k:", "        continue",
                 f"    if i > 1 and {name}.shape[0] == 3:", "        break", "else:", "    log.append('else')"],
                ["if k == 3:", f"    return {name}, log"],
                [f"log.append({name}[{draw(st.sampled_from(['0', 'k', '4', '-3']))}])"], [f"{name} = {name} / (k - 1)"],
                [f"pair = ({name}, {draw(ATOMS)})", f"{name}, rest = pair[::-1]"],
                [f"table['{name}'] = {name}", f"{name} = table.pop('{name}') * 2"],
                [f"print(f'{{{name}.shape}} {{k}}')"]]))
        elif kind == 6:
            other = draw(st.sampled_from([n for n in NAMES if n != name]))
            more = draw(st.sampled_from(["", "", f" and {name}.max() < 9", " and i < 20",
                                         f" or {other}.sum() < -50 and {name}.max() < 1e6",
                                         f" and not ({name}.min() > 5)"]))
            lines += ["i = 0", f"while ({name} * {name}).sum() < {draw(st.sampled_from(['4', '40']))}{more}:",
                      # grows: the loop ends
                      f"    {name} = {name} * {name} + {draw(st.sampled_from(['1', 'k * k', 'i + 1']))}"]
            lines += draw(st.sampled_from([[], ["    i += 1"], [f"    {other} = {other} + {name}"],
                                           ["    log.append(i)"],
                                           [f"    if {name}.sum() > 9:", f"        {other} = {other} - 1"]]))
            lines += ["    if i > 50:", "        break"] if draw(st.booleans()) else []
        else:
            inner = ["    " + line for line in draw(block(depth=depth - 1))]
            head = draw(st.sampled_from([
                "for i in range(3):", f"if {name}.shape[0] == 3:", "if flag:", f"if {name}.sum() > {draw(NUMBERS)}:",
                f"if {name}.mean() > 0:", "if k > 1:", "for v in [x, y]:", "try:", "if len(log) % 2:"]))
            lines += [head] + inner
            if head == "try:":
                lines += ["finally:", "    log.append('f')"]
            elif head.startswith("if") and draw(st.booleans()):
                lines += ["else:"] + ["    " + line for line in draw(block(depth=0))]
    return lines

# Breaks that stand for others: each is an instruction that capture does not follow, or whose outcome it must see run.
BREAKS = [
    ["hash(x)"],
    ["log.append({n}.sum().__float__())"],
    ["{n} = {n} * {n}.mean().__float__()"],
    ["log.append(f'{float({n}.sum()):.3f}')"],
    ["log.append(f'{{n}.shape} {hash(x) == hash(x)!r:>5}')"],
    ["lo, hi = bounds({n})", "{n} = {n} * 0.5 + lo - hi"],
    ["first, *most = iter(bounds({n}))", "{n} = {n} - first"],
    ["import bisect", "log.append(bisect.bisect([1, 2, 3], k))"],
    ["from colorsys import ONE_SIXTH as sixth", "{n} = {n} * sixth"],
    ["box.last = float({n}.mean())", "del box.last"],
    ["table[float({n}.max()) > 1] = [*bounds({n}), {n}]"],
    ["log.append([float(t.sum()) for t in [{n}, x]])"],
    ["log.append({f'{i}': float(t.max()) for i, t in enumerate([{n}, y])})"],
    ["array[k % 3] = float({n}.min())", "{n} = {n} + float(array[k % 3])"],
    ["{n} = pick({n}, float({n}.sum()), [x, float(y.sum())], k=f'{k}')"],
    ["log.append(locals_of_caller())"],
    ["class Made:", "    size = float({n}.sum())", "log.append((Made.__qualname__, Made.size))"],
    [
        "match bounds({n}):",
        "    case [lo, hi] if lo < hi:",
        "        {n} = {n} + lo",
        "    case _:",
        "        log.append('no case')",
    ],
    ["{n} = (lambda t, u=float({n}.sum()): t * u)({n})"],
    ["log.append(sys.exc_info()[0])"],
    ["box.total = float({n}.sum())"],
    ["int('z' if k > 1 else '7')"],
    ["log.append(array[k + 1])"],
    ["{n} = {n} * next(opaque)"],
    ["log.append({}[f'{k}'])"],
    ["raise Bad(float({n}.max()))"],
]


@st.composite
def broken(draw, name, depth=2):
    """Statements around breaks: with, try, loops over iterators, callees, handlers that break and raise."""
    n = draw(st.integers(0, 99))
    some = lambda: [line.replace("{n}", name) for line in draw(st.sampled_from(BREAKS))]  # noqa: E731
    inner = lambda: (
        draw(broken(name, depth - 1))
        if depth and draw(st.integers(0, 2)) == 0
        else [f"{name} = {draw(expression(1))}"] + some() + [f"{name} = {name} * 0.5 + 1"]
    )
    indent = lambda lines: ["    " + line for line in lines]  # noqa: E731
    kind = draw(st.integers(0, 7))
    if kind == 0:
        return some() + [f"{name} = {draw(expression(1))}"]
    if kind == 1:
        head = draw(
            st.sampled_from(
                [
                    "with Thing(2) as s:",
                    "with lock:",
                    "with quiet():",
                    "with suppress(Bad, LookupError):",
                    "with Thing(1), np.errstate(divide='ignore') as e:",
                    "with noisy('a') as v, noisy('b'):",
                    "with swallowing:",
                ]
            )
        )
        return [head] + indent(inner())
    if kind == 2:
        lines = ["try:"] + indent(inner())
        form = draw(st.integers(0, 3))
        if form:
            caught = draw(
                st.sampled_from(
                    [
                        "(ValueError, LookupError) as e",
                        "Bad as e",
                        "Exception as e",
                        "(TypeError, IndexError, KeyError) as e",
                    ]
                )
            )
            handler = draw(
                st.sampled_from(
                    [
                        ["log.append(repr(e))"],
                        some(),
                        some() + ["raise"],
                        ["raise KeyError(1) from e"],
                        ["raise e"],
                        some() + [f"{name} = {name} - 1"],
                        ["log.append((sys.exc_info()[1] is e, e.__context__ is None))"],
                        inner(),
                    ]
                )
            )
            lines += [f"except {caught}:"] + indent(handler)
        if form == 2:
            lines += ["else:"] + indent(some())
        if form != 1:
            lines += ["finally:"] + indent(draw(st.sampled_from([["log.append('f')"], some()])))
        if draw(st.booleans()):
            lines = (
                ["try:"]
                + indent(lines)
                + [
                    "except Exception as f:",
                    "    log.append((type(f).__name__, type(f.__context__).__name__, type(f.__cause__).__name__))",
                ]
            )
        return lines
    if kind == 3:
        over = draw(
            st.sampled_from(
                [
                    "range(3)",
                    "[1, 2, 3]",
                    "(4, 5)",
                    "enumerate([x, y])",
                    "zip([1, 2], [x, y])",
                    "{'u': 1, 'v': 2}",
                    "{'u': 1, 'v': 2}.items()",
                    "parts(x, 2)",
                    "counted(log, 3)",
                    "reversed([1, 2])",
                    "iter([1, 2, 3])",
                    "map(abs, [1, -2])",
                    "'ab'",
                    "x",
                    "range(k, 4)",
                ]
            )
        )
        leave = draw(
            st.sampled_from(
                [
                    [],
                    [],
                    ["if len(log) > 6:", "    break"],
                    ["if len(log) % 2:", "    continue", f"{name} = {name} - 1"],
                ]
            )
        )
        tail = draw(st.sampled_from([[], ["else:", "    log.append('else')"]]))
        return [f"for v{n} in {over}:"] + indent(inner() + leave) + ["    log.append(1)"] + tail
    if kind == 4:
        return [f"w{n} = 0", f"while w{n} < 3:", f"    w{n} += 1"] + indent(inner())
    if kind == 5:
        body = indent(
            inner() + draw(st.sampled_from([[], ["if k > 1:", f"    return {name} * 2"]])) + [f"return {name} + s"]
        )
        use = draw(
            st.sampled_from(
                [
                    f"{name} = c{n}({name})",
                    f"{name} = c{n}({name}, s=2) * c{n}({name})",
                    f"{name} = twice(c{n}, {name})",
                    f"{name} = pick(c{n}({name}), f'{{k}}', c{n}({name}), k=1)",
                ]
            )
        )
        lines = [f"def c{n}({name}, s=1):"] + body + [use]
        return (
            lines
            if draw(st.booleans())
            else lines[:-1]
            + ["try:", f"    {use}", "except (ValueError, LookupError) as e:", "    log.append(str(e))"]
        )
    if kind == 6:
        return (
            [f"if float({name}.sum()) > {draw(NUMBERS)}:"]
            + indent(inner())
            + draw(st.sampled_from([[], ["else:"] + indent(some())]))
        )
    return inner()


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

        class Bad(ValueError):
            pass

        class Sized(Exception):
            def __init__(self, *args):
                super().__init__(*args)
                self.size = len(args)

        class Thing:
            def __init__(self, scale):
                self.scale, self.items = scale, []

            def __call__(self, t):
                return t * self.scale

            def __add__(self, t):
                made = type(self)(self.scale)
                made.value = lambda u: t + u * self.scale
                return made

            def __len__(self):
                return len(self.items) + 1

            def __enter__(self):
                log.append("enter")
                return self.scale

            def __exit__(self, *exc):
                log.append("exit")

            def __iter__(self):
                for i in range(2):
                    yield self.scale + i

            def __repr__(self):
                return f"{type(self).__name__}({self.scale}, {len(self.items)})"

            @property
            def twice(self):
                return self.scale * 2

            @twice.setter
            def twice(self, v):
                self.scale = v / 2

            @classmethod
            def of(cls, scale):
                return cls(scale)

        class Derived(Thing):
            def __init__(self, scale):
                super().__init__(scale)
                self.items.append(scale)

            def __call__(self, t):
                return super().__call__(t) + len(self)

            def __eq__(self, other):
                return isinstance(other, Thing) and len(self) == len(other)

        def parts(t, n):
            for i in range(n):
                yield t * i + 1

        def counted(log, n):
            for i in range(n):
                log.append(i)
                yield i

        class Swallowing:
            def __enter__(self):
                return self

            def __exit__(self, kind, value, trace):
                log.append((kind and kind.__name__, str(value), trace is None))
                return kind is not None and issubclass(kind, (ValueError, LookupError))

        @contextlib.contextmanager
        def noisy(name):
            log.append(f"enter {name}")
            try:
                yield name
            except LookupError as e:
                log.append(f"{name} {e!r}")
                raise
            finally:
                log.append(f"leave {name}")

        def bounds(t):
            return [float(t.min()), float(t.max())]

        def pick(t, *others, k):
            log.append((len(others), k))
            return t + 1

        def locals_of_caller():
            return sorted((k, v) for k, v in sys._getframe(1).f_locals.items() if isinstance(v, (int, str)))

        log = []
        space = {"bounds": bounds, "pick": pick, "noisy": noisy, "swallowing": Swallowing(), "np": np, "sys": sys,
                 "lock": threading.RLock(), "math": math, "partial": functools.partial, "suppress": contextlib.suppress,
                 "array": np.zeros(3), "opaque": itertools.cycle([1, 2]), "locals_of_caller": locals_of_caller,
                 "Thing": Thing, "Derived": Derived, "Bad": Bad, "Sized": Sized, "parts": parts, "counted": counted,
                 "ms": ms, "ops": ms.ops, "log": log,
                 "table": {}, "box": Box(), "reduce": functools.reduce, "starmap": itertools.starmap, "twice": twice,
                 "each": each, "quiet": quiet}
        exec(source, space)
        return (space["f"], lambda: (space["log"], space["table"], vars(space["box"]), space["total"], space["array"],
                                     space["lock"]._is_owned()))

    def call(rows, k):
        return (Tensor(np.linspace(-1, 1, rows * 4, dtype=np.float32).reshape(rows, 4)),
                Tensor(np.linspace(0.2, 2, rows * 4, dtype=np.float32).reshape(rows, 4)), flag, k)

    try:
        check_calls(make, [call(3, 1), call(3, 1), call(5, 3), call(2, 2), call(3, -1)])
    except AssertionError:
        print(source)
        raise


def function(name, lines, result):
    body = "".join(f"    {line}\n" for line in lines)
    return f"def {name}(x, y, flag, k):\n    a, b, c, count = x, y, x * y, 0\n{body}    return {result}\n"


SETTINGS = settings(max_examples=EXAMPLES)


@SETTINGS
@given(block(), st.booleans(),
       st.sampled_from(["a", "(a, b, c)", "(a, b, c, k * 2)", "[a, log]", "{'a': a, 'n': len(log)}"]))
def test_generated_programs(lines, flag, result):
    run_program("total = 0\n" + function("f", lines, result), flag)


@SETTINGS
@given(st.lists(st.one_of(broken("a"), broken("b"), block(depth=1)), min_size=1, max_size=3), st.booleans())
def test_generated_breaks(parts, flag):
    run_program("total = 0\n" + function("f", sum(parts, []), "(a, b, c)"), flag)


@SETTINGS
@given(block(), st.booleans(),
       st.sampled_from(["ms.grad(g, (0, 1))", "ms.value_and_grad(g)", "ms.jit(ms.grad(g))", "ms.grad(ms.jit(g), 1)",
                        "ms.value_and_grad(g, 1)"]), st.sampled_from(["", "print('before'); "]))
def test_generated_gradients(lines, flag, transform, before):
    inner = function("g", lines, "(a * 0.5 + b * c).sum()")
    run_program(f"total = 0\n{inner}def f(x, y, flag, k):\n    {before}return {transform}(x, y, flag, k)\n", flag)
