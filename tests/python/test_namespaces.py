"""Dicts that are modules' own: names and attributes are read and written past them, and as dicts, in one function."""

import numpy as np
import pytest

import pijit as ms
from differential import freeze

PROGRAMS = {
    "write then read": """
GI = 3
D = globals()
def f(x):
    D['GI'] = GI + 1
    return x * GI, GI
""",
    "closure": """
GI = 3
def make(d):
    def bump():
        d['GI'] = d['GI'] + 1
    return bump
bump = make(globals())
def f(x):
    bump()
    return x * GI, GI
""",
    "partial": """
import functools
GI = 3
def make(d):
    def bump(x):
        d['GI'] = d['GI'] + 1
    return bump
bump = functools.partial(make(globals()))
def f(x):
    a = GI
    bump(1)
    return x * GI, GI, a
""",
    "read by item": """
GI = 3
D = globals()
def f(x):
    global GI
    GI = GI + 1
    return x * D['GI'], D['GI']
""",
    "get": """
GI = 3
D = globals()
def f(x):
    global GI
    GI = GI + 1
    return x * D.get('GI'), 'GI' in D, len(D) > 3
""",
    "del": """
GI = 3
D = globals()
def f(x):
    D['NEW'] = 2
    y = x * NEW
    del D['NEW']
    try:
        return y, NEW
    except NameError as e:
        return y, str(e)
""",
    "update": """
GI = 3
D = globals()
def f(x):
    D.update(GI=GI + 1)
    return x * GI, GI
""",
    "globals()": """
GI = 3
def f(x):
    globals()['GI'] += 1
    return x * GI, GI
""",
    "module dict": """
import sys, types
m = types.ModuleType('m'); m.v = 1
D = m.__dict__
def f(x):
    D['v'] = D['v'] + 1
    return x * m.v, m.v
""",
    "module attr": """
import sys, types
m = types.ModuleType('m'); m.v = 1
D = m.__dict__
def f(x):
    m.v = m.v + 1
    return x * D['v'], D['v']
""",
    "instance dict": """
class O: pass
o = O(); o.v = 1
D = o.__dict__
def f(x):
    D['v'] = D['v'] + 1
    return x * o.v, o.v
""",
    "in branch": """
GI = 3
D = globals()
def f(x):
    if x.sum() > 0:
        D['GI'] = GI + 1
    return x * GI, GI
""",
    "setattr of a module": """
import types
m = types.ModuleType('m'); m.v = 1
D = vars(m)
def f(x):
    setattr(m, 'v', m.v + 1)
    return x * D['v'], D['v']
""",
    "walked": """
GI = 3
D = globals()
def f(x):
    global GI
    GI = GI + 1
    return x * sum(v for k, v in D.items() if k == 'GI')
""",}


def names_of(source, jitted):
    names = {}
    exec(compile(source, "<program>", "exec"), names)
    if jitted:
        names["f"] = ms.jit(names["f"])
    return names


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_ways_see_each_other(name):
    plain, jitted = names_of(PROGRAMS[name], False), names_of(PROGRAMS[name], True)
    for _ in range(4):
        x = ms.Tensor(np.ones(2, np.float32))
        assert freeze(jitted["f"](x)) == freeze(plain["f"](x))
        assert jitted.get("GI") == plain.get("GI")
