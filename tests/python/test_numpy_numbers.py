"""Loops over elements with NumPy's functions and classes of numbers, and over arrays of complex numbers: the same bits,
types, warnings and exceptions as plainly, by machine code."""

import itertools
import linecache
import random
import warnings

import number_loops
import numpy as np
import pytest

import pijit as ms

FLOATS = [0.0, -0.0, 1.0, -2.5, 0.1, 3.0, 1e300, -1e-300, 5e-324, 700.0, -745.5, 1e308, np.inf, -np.inf, np.nan]
COMPLEX = [
    complex(a, b) for a in FLOATS[:6] + [1e200, np.inf, np.nan] for b in (0.0, -0.0, 2.5, -1e-3, 1e200, np.nan)
]


def of_numpy(count):
    return [
        n
        for n, u in sorted(vars(np).items())
        if isinstance(u, np.ufunc) and u.nin == count and u.nout == 1 and n == u.__name__ and u.signature is None
    ]


def one_nan(v):
    """What a call shows, with one NaN for all: which of two a sum is, compilers choose, and otherwise for code that was
    specialised."""
    if type(v) is tuple and len(v) > 1 and type(v[-1]) is bytes and type(v[0]) is str:
        x = np.frombuffer(v[-1], v[0]).copy()
        if x.dtype.kind in "fc":
            parts = x.view(x.real.dtype)
            parts[np.isnan(parts)] = np.nan
        return *v[:-1], x.tobytes()
    return type(v)(map(one_nan, v)) if type(v) in (tuple, list) else v


def seen(f, args, name):
    """What a call shows, and what is in its arguments behind it."""
    args = number_loops.copied(args)
    return one_nan((number_loops.seen(f, args, name), number_loops.bits(tuple(args))))


def regions(jitted):
    return [r for r in ms.explain(jitted).regions if not r["why"]]


def same(source, *calls, expect=True, **names):
    """A function `f`, plain and jitted; whether it has machine code in the end."""
    name = f"<{abs(hash(source))}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space = {"np": np, **names}
    exec(compile(source, name, "exec"), space)
    f = space["f"]
    jitted = ms.jit(f)
    for args in calls:
        for _ in range(2):
            assert seen(jitted, args, name) == seen(f, args, name), args
    assert bool(regions(jitted)) == expect, str(ms.explain(jitted))
    return jitted


ONE = """
def f(x, out):
    for i in range(len(x)):
        out[i] = np.{0}(x[i])
    return type(np.{0}(x[0]))
"""
TWO = """
def f(x, y, out):
    for i in range(len(x)):
        for j in range(len(y)):
            out[i, j] = np.{0}(x[i], y[j])
"""


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", of_numpy(1))
def test_functions_of_one_number(name, dtype):
    u = getattr(np, name)
    rng = np.random.default_rng(3)
    with np.errstate(all="ignore"):
        special = np.array(FLOATS).astype(dtype)
        plain = [rng.normal(size=60).astype(dtype), rng.uniform(1e-3, 50, 60).astype(dtype), special]
        try:
            out = u(plain[0])
        except TypeError:
            return  # of integers alone
    calls = [(x, np.zeros(len(x), out.dtype)) for x in plain]
    same(ONE.format(name), *calls, expect=out.dtype.char in "dfl?bi")


@pytest.mark.parametrize(
    "dtypes",
    [
        ("float64", "float64"),
        ("float32", "float32"),
        ("float64", "int64"),
        ("int64", "int64"),
        ("int32", "int16"),
        ("float32", "float64"),
    ],
    ids="-".join,
)
@pytest.mark.parametrize("name", of_numpy(2))
def test_functions_of_two_numbers(name, dtypes):
    u = getattr(np, name)
    x, y = (np.array([1, 2, 3, 7, -4, 0, 5]).astype(t) for t in dtypes)
    if x.dtype.kind == "f":
        x[-1] = np.nan
    with np.errstate(all="ignore"):
        try:
            out = u(x[:, None], y[None])
        except (TypeError, ValueError):
            return
    same(
        TWO.format(name),
        (x[:5], y[:4], np.zeros_like(out)[:5, :4].copy()),
        (x, y, np.zeros_like(out)),
        expect=out.dtype.char in "dfl?bihBHI",
    )


@pytest.mark.parametrize(
    "value",
    [
        "x[i]",
        "float(x[i])",
        "i",
        "i - 2",
        "x[i] > 0",
        "1",
        "2.5",
        "np.float32(x[i])",
        "q[i]",
        "complex(x[i], 1)",
        "z[i]",
        "np.int8(i)",
        "b[i]",
    ],
)
@pytest.mark.parametrize(
    "function",
    [
        "sqrt",
        "exp",
        "abs",
        "sin",
        "isnan",
        "sign",
        "square",
        "floor",
        "float32",
        "float64",
        "int64",
        "int32",
        "uint8",
        "bool_",
        "complex128",
        "complex64",
        "conjugate",
        "real",
    ],
)
def test_what_functions_are_given(function, value):
    source = f"""
def f(x, q, z, b):
    s = 0
    last = None
    for i in range(len(x)):
        v = np.{function}({value})
        s = s + v * 2 if v == v else s - 1
        last = v
    return s, type(s), last, type(last)
"""
    x = np.array([0.5, 2.0, -1.0, 3.5, 0.0])
    q = np.array([4, -9, 100, 2**31, 7])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name = f"<given {function} {value}>"
        space = {"np": np}
        exec(compile(source, name, "exec"), space)
        jitted = ms.jit(space["f"])
        args = x, q, np.array([1 + 2j, 0, -1j, 3, 2.5 - 1j]), x > 0
        for _ in range(3):
            assert seen(jitted, args, name) == seen(space["f"], args, name)


@pytest.mark.parametrize(
    "modes",
    [
        dict(),
        dict(over="ignore"),
        dict(divide="raise"),
        dict(under="warn"),
        dict(all="raise"),
        dict(invalid="ignore", divide="call"),
    ],
    ids=str,
)
def test_modes_of_errors(modes):
    source = """
def f(x, y):
    s = 0.0
    for i in range(len(x)):
        s += np.log(x[i]) + np.exp(y[i]) * np.sqrt(x[i])
    return s
"""
    ones = np.ones(5)
    calls = [
        (ones, ones),
        (np.array([1.0, 0.0, 2.0]), ones[:3]),
        (np.array([1.0, -1.0, 2.0]), ones[:3]),
        (ones[:3], np.array([1.0, 710.0, 2.0])),
        (ones[:3], np.array([1.0, -740.0, 2.0])),
        (ones, ones),
    ]
    told = []
    with np.errstate(call=lambda kind, flag: told.append(kind), **modes):
        same(source, *calls, expect=modes.get("under") is None and modes.get("all") is None)


def test_functions_of_constants_alone():
    same(
        """
def f(n):
    s = 0.0
    for i in range(n):
        s += np.sqrt(2.0) + np.float32(0.5)
        if np.isnan(1):
            s = 0.0
    return s, type(s)
""",
        (5,),
        (9,),
    )


def test_functions_by_other_names():
    same(
        """
def f(x):
    s = 0.0
    for v in x:
        s += root(v) + LOG(v)
    return s
""",
        (np.arange(1.0, 9.0),),
        root=np.sqrt,
        LOG=np.log,
    )


@pytest.mark.parametrize("double", [np.frompyfunc(lambda v: v * 2, 1, 1), np.vecdot, np.linalg.norm])
def test_other_functions_are_left(double):
    same(
        """
def f(x):
    s = 0.0
    for v in x:
        s += double(v) if other else double(v, v)
    return s
""",
        (np.arange(1.0, 9.0),),
        double=double,
        other=double is not np.vecdot,
        expect=False,
    )


@pytest.mark.parametrize("extreme", ["max", "min"])
@pytest.mark.parametrize("other", ["0.5", "1", "x[0]", "q[i]", "np.float32(0.25)", "True"])
def test_extremes_of_two_types(extreme, other):
    source = f"""
def f(x, q):
    s, t, last = 0.0, 0, None
    for i in range(len(x)):
        last = {extreme}(x[i], {other})
        s += {extreme}({other}, x[i])
        t = t + {extreme}(float(x[i]), {other})
    return s, t, last, type(s), type(t), type(last)
"""
    x = np.array([0.1, 0.7, 1.0, 1.5, -2.0, np.nan, 0.5])
    same(source, (x, np.arange(7)), (x[::-1], np.arange(7) - 3), (x.astype("f4"), np.arange(7)), expect=True)


# --- arrays of complex numbers

OPERATIONS = [
    "z[i] + w[j]",
    "z[i] - w[j]",
    "z[i] * w[j]",
    "z[i] / w[j]",
    "-z[i]",
    "+z[i]",
    "z[i].conjugate()",
    "z[i].conj()",
    "z[i] ** 2",
    "w[j] ** 3",
    "z[i] * 2",
    "2.5 * z[i]",
    "z[i] + 1j",
    "(1 - 2j) * w[j]",
    "z[i] * x[j]",
    "x[j] * z[i]",
    "x[j] * 1j",
    "1j * x[j]",
    "2j / z[i]",
    "z[i] - True",
    "1j * q[j]",
    "z[i] * q[j]",
    "complex(z[i]) * x[j]",
    "np.exp(z[i])",
    "np.sqrt(z[i])",
    "np.conj(z[i]) * w[j]",
    "np.complex64(z[i]) * 3",
]
NUMBERS = [
    "abs(z[i])",
    "z[i].real",
    "w[j].imag",
    "np.abs(z[i] * w[j])",
    "abs(w[j]) ** 2",
    "z[i].real * w[j].imag",
    "z[i] == w[j]",
    "z[i] != 1j",
    "not z[i]",
    "z[i] == x[j]",
    "x[j] == w[j]",
    "np.angle(z[i])",
]


@pytest.mark.parametrize("dtypes", [("D", "D"), ("F", "F"), ("D", "F"), ("F", "D")], ids="".join)
@pytest.mark.parametrize("operation", OPERATIONS + NUMBERS)
def test_complex_elements(operation, dtypes):
    one, other = dtypes
    result = one if operation in OPERATIONS else "d"
    source = f"""
def f(z, w, x, q, out):
    v = 0
    for i in range(len(z)):
        for j in range(len(w)):
            v = {operation}
            out[i, j] = v
    return v, type(v)
"""
    rng = np.random.default_rng(5)

    def values(n, t):
        return (rng.normal(size=n) + 1j * rng.normal(size=n)).astype(t)

    calls = []
    for n in (5, 9):
        calls.append(
            (values(n, one), values(4, other), rng.normal(size=4), np.arange(4) - 1, np.zeros((n, 4), result))
        )
    calls.append(
        (values(8, one)[::2], values(8, other)[::-2], rng.normal(size=4), np.arange(4), np.zeros((4, 4), result).T)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        special = np.array(COMPLEX).astype(one), np.array(COMPLEX[::7]).astype(other)
        many = len(special[1])
        calls.append((*special, np.resize(FLOATS, many), np.arange(many), np.zeros((len(special[0]), many), result)))
        same(source, *calls, expect=True)


def test_complex_values_go_on():
    """Through variables that change their type, breaks, iterations and exits."""
    source = """
def f(z, out):
    s = 0
    for v in z:
        s = s + v
        if abs(s) > 3:
            s = 0.5
    row = out[0]
    for i in range(len(row)):
        row[i] = s
        out[1][i] = z[i] * row[i]
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            if out[i, j].imag < 0:
                out[i, j] = out[i, j].real
            else:
                out[i, j] += 1
    return s, type(s), v
"""
    z = np.array([1 + 1j, 2 - 1j, -0.5j, 3, 1e-3j])
    for t in "DF":
        same(
            source,
            (z.astype(t), np.zeros((3, 5), "D")),
            (z.astype(t), np.zeros((3, 5), "F")),
            (z.astype(t)[::-1], np.zeros((5, 3), "D").T),
        )


def test_refused_stores_raise_as_plainly():
    source = """
def f(z, out):
    for i in range(len(z)):
        out[i] = z[i]
    return out
"""
    z = np.array([1 + 0j, 2 + 1j, 3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(source, (z, np.zeros(3)), (z, np.zeros(3, int)), (z, np.zeros(2, "D")), expect=False)
    frozen = np.zeros(3, "D")
    frozen.flags.writeable = False
    same(source, (z, np.zeros(3, "D")), (z, frozen), (z * 1e200, np.zeros(3, "F")))


def test_unaligned_and_swapped_arrays():
    source = """
def f(z):
    s = 0
    for i in range(len(z)):
        s += z[i]
    return s
"""
    z = np.arange(4) * (1 + 2j)
    odd = np.frombuffer(b"\\0" + z.tobytes(), "D", 4, 1)
    fields = np.zeros(4, [("a", "f8"), ("z", "c16"), ("b", "i4")])["z"]
    same(
        source,
        (z,),
        (odd,),
        (z.astype(">c16"),),
        (fields,),
        (z[::-1],),
        (np.broadcast_to(z[0], 4),),
        (z.reshape(2, 2),),
    )


def expression(pick, deep):
    leaf = ["z[i]", "w[i]", "x[i]", "c", "k", "1j", "2", "0.5", "s", "(1+2j)", "z[i].real", "abs(w[i])"]
    if deep == 0 or pick(range(4)) == 0:
        return pick(leaf)
    one, two = expression(pick, deep - 1), expression(pick, deep - 1)
    return pick(
        [f"({one} {pick('+-*/')} {two})"] * 6
        + [
            f"(-{one})",
            f"abs({one})",
            f"np.sqrt({one})",
            f"np.exp({one})",
            f"({one} if {two} == {one} else {two})",
            f"np.maximum(x[i], abs({one}))",
        ]
    )


@pytest.mark.parametrize("seed", range(60))
def test_generated(seed):
    pick = random.Random(seed).choice
    body = []
    for _ in range(pick([1, 2, 3])):
        body.append(
            pick(["s = {}", "c = {}", "s += {}", "out[i] = {}", "z[i] = {}", "k = abs({})"]).format(
                expression(pick, 3)
            )
        )
    lines = "\n        ".join(body)
    source = (
        "def f(z, w, x, out):\n    s, c, k = 0.5, 1j, 1\n"
        f"    for i in range(len(z)):\n        {lines}\n    return s, c, k\n"
    )
    rng = np.random.default_rng(seed)
    n = 6
    calls = []
    for t, u in itertools.product("DF", "DF"):
        z = (rng.normal(size=n) + 1j * rng.normal(size=n)).astype(t)
        w = np.resize(np.array(COMPLEX)[rng.permutation(len(COMPLEX))], n).astype(u) if t != u else z[::-1].astype(u)
        calls.append((z, w, rng.normal(size=n).astype(pick("df")), np.zeros(n, pick("DF"))))
    name = f"<generated {seed}>"
    space = {"np": np}
    exec(compile(source, name, "exec"), space)
    jitted = ms.jit(space["f"])
    for args in calls * 2:
        assert seen(space["f"], args, name) == seen(jitted, args, name), source
