"""Masks, arrays of indexes, sorting and searching of ndarrays: the same to the bit, and captured."""

import numpy as np
import pytest

from tests.python.differential import check, check_calls
from tests.python.test_ndarrays import of

x = np.linspace(-3.0, 5.0, 24)
y = np.linspace(1.0, 2.0, 24)

MASKED = ["a[a > 0]", "a[a > 0] * 2", "a[k] + b[k]", "np.sqrt(b[k]) - 1", "1 / a[k]", "-a[k]", "a[k] ** 2",
          "a[k] > b[k]", "a[k].sum()", "np.sum(a[k])", "a[k].mean()", "a[a > 0].max()",
          "np.min(a[k] * b[k])", "(a[k] > 0).any()",
          "a[k] * a[0]", "a[k] - a.mean()", "np.abs(a[k] - b[k]).sum()", "a[a == a]", "a[a > 99].sum()",
          "np.maximum(a[k], 0)", "abs(a[k]).prod()"]


@pytest.mark.parametrize("text", MASKED)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
def test_masks_are_captured(text, dtype):
    e = check(of("k = (a > 0) & (b < 1.7)\n    return " + text), x.astype(dtype), y.astype(dtype), graphs=None)
    assert not e.breaks or dtype == "i4" and ("mean" in text or "**" in text), e


@pytest.mark.parametrize("text", ["a[a < 0] = 0", "a[k] = b[k]", "a[k] *= 2", "a[k] += b[k] * 3", "a[k] = a.mean()",
                                  "a[~k] = np.sqrt(b[~k])", "b[k] = 7\n    a[b > 5] = 1",
                                  "c = a[k]\n    a[k] = 5\n    b[k] = c",
                                  "c = a[k]\n    c += 1\n    a[k] = c", "a[k] = np.array([2.5])",
                                  "v = a[2:]\n    v[k[2:]] = 1"])
def test_stores_through_masks_are_captured(text):
    e = check(of(f"k = (a > 0) & (b < 1.7)\n    {text}\n    return a * 1"), x.copy(), y.copy())
    assert not e.breaks, e


@pytest.mark.parametrize("text", ["a[k].mean()", "a[k].max()", "np.mean(a[k])", "a[k].min()", "a[k].std()", "a[k][0]",
                                  "len(a[k])", "a[k].size",
                                  "list(a[k])", "a[k] @ a[k]", "a[k] + a[~k]", "a[k] + a",
                                  "a[k[:5]]", "a[k, 0]", "a[k[:, None]]", "a[k].reshape(2, -1)", "a[k] is a[k]",
                                  "a[k].sum(axis=1)", "float(a[k].sum())", "np.where(k)",
                                  "a[k][a[k] > 1]", "np.nonzero(k)", "np.flatnonzero(k)", "np.count_nonzero(k)",
                                  "np.unique(a[k])"])
def test_what_a_mask_cannot_have_is_numpys(text):
    for shift in (0, 99):
        check(of(f"k = a > {shift}\n    return {text}"), x, y)


def test_masks_of_rows_and_of_other_orders():
    m = x.reshape(6, 4)
    for a in (m, np.asfortranarray(m), m[::-1], m[:, ::2]):
        check(of("k = a[:, 0] > 0\n    return a[k], a[k] * 2, a[k] - b, a[k].sum(axis=0), a[a > 1].sum()"), a,
              y[:a.shape[1]])
        check(of("k = a[:, 0] > 0\n    a[k] = 5\n    a[a < 0] = b[0]\n    a[~k] *= b\n    return a"), a.copy(order="K"),
              y[:a.shape[1]])


@pytest.mark.parametrize("value", ["np.array([[5.0]])", "np.array([5.0])", "np.array([[[1.0]]])", "b[:1, None]",
                                   "b[:1]"])
def test_values_of_more_axes_than_places_have(value):
    for a in (x.copy(), x.reshape(6, 4).copy()):
        check(of(f"try:\n        a[a > 1] = {value}\n    except Exception as e:\n        return type(e), str(e)\n"
                 "    return a"), a, y)
        check(of(f"try:\n        a[a[:, 0] > 1] = {value}\n    except Exception as e:\n        return type(e), str(e)\n"
                 "    return a"), a.reshape(6, 4).copy(), y)


def test_sizes_and_masks_vary():
    e = check_calls(of("return a[a > b].sum(), a[a > b] * 2, a[a < b].size"),
                    [(x[:n].copy(), y[:n] + s) for n, s in ((24, 0), (7, -9), (9, 9), (24, 0), (3, 0), (1, 9))])
    assert e.compile_count <= 6
    odd = np.arange(16, dtype="u1").view("?")  # NumPy takes all that is not 0 for true
    check(of("return a[b], a[b].sum()"), x[:16], odd)


@pytest.mark.parametrize("mode", ["warn", "raise"])
def test_masks_warn_of_what_they_have_alone(mode):
    with np.errstate(all=mode):
        check(of("k = a != 0\n    c = b / 1\n    return 1 / a[k], np.log(b[b > 0])"), np.round(x), np.round(y) - 1)
        check(of("k = a >= 0\n    return 1 / a[k]"), np.round(x), y)
        check(of("k = a > 99\n    c = a[k].mean()\n    return c"), x, y)


PICKED = ["a[i]", "a[i] * 2 + b[i]", "a[i[::-1]]", "a[[0, -1, 3]]", "a[i].sum()", "np.take(a, i)", "a.take(i, axis=0)",
          "np.take(a, [1, 2])", "np.take_along_axis(a, np.argsort(a, axis=-1), axis=-1)", "a[np.argsort(a)]",
          "np.sort(a)", "np.sort(a * b)[::-1]", "np.sort(a, kind='stable')", "a.argsort(kind='mergesort')",
          "np.argmax(a)", "a.argmin()", "np.searchsorted(np.sort(a), b)", "np.sort(b).searchsorted(a, side='right')",
          "np.sort(a).cumsum()", "a[i.astype('i2')]", "a[np.argsort(-a)[:3]]", "np.argsort(a).argsort()"]


@pytest.mark.parametrize("text", PICKED)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_arrays_of_indexes_are_captured(text, dtype):
    i = np.array([3, 0, -1, 3, 23, -24])
    e = check(of("return " + text, "a, b, i"), np.round(x * y).astype(dtype), y.astype(dtype), i)
    assert not e.breaks or "sum" in text, e


@pytest.mark.parametrize("text", ["a[i] = 1", "a[i] = b[i]", "a[i] += 1", "a[i] *= b[i]", "a.sort()",
                                  "a[:] = np.sort(b)", "np.put_along_axis(a, np.argsort(b), 7, axis=-1)",
                                  "a[np.argsort(a)] = b", "c = a[i]\n    c += 1\n    a[i] = c",
                                  "v = a[2:]\n    v[i] = 3",
                                  "a[i] = np.arange(6) * 1.0\n    a[i] -= 2"])
def test_stores_at_arrays_of_indexes_are_captured(text):
    i = np.array([3, 0, -1, 3, 20, -22])
    e = check(of(f"{text}\n    return a * 1", "a, b, i"), x[::-1].copy(), y.copy(), i)
    assert not e.breaks or "arange" in text, e


def test_indexes_of_several_axes():
    m, i, j = x.reshape(6, 4), np.array([5, 0, -1]), np.array([3, -4, 1])
    text = ("return m[i], m[i, j], m[i, 0], m[-1, j], m[i[:, None], j], m[i, :], np.take(m, j, axis=1), np.take(m, i), "
            "m[:, j], m[i][:, j], m[np.arange(3), j] * 2, np.argmax(m), m.argmax(axis=1), np.argmax(m, 0), np.sort(m), "
            "np.argsort(m, axis=0)")
    for a in (m, np.asfortranarray(m), m[::-1], np.repeat(m, 2, 1)[:, ::2]):
        check(of(text, "m, i, j"), a, i, j)
    store = "m[i, j] = 9\n    m[i] += 1\n    m[i, 0] *= 2\n    m[i[:, None], j] = m[0, 0]\n    return m"
    for a in (m.copy(), np.asfortranarray(m)):
        check(of(store, "m, i, j"), a, i, j)


@pytest.mark.parametrize("line", ["r = a[i]", "a[i] = 0", "r = np.take(a, i)", "a[0] = 7; a[i] += 1", "a[[0, 99]]",
                                  "c = a[i]; r = b", "np.take_along_axis(a, i, axis=0)", "a[i, i]", "a[i, :, :]",
                                  "a[i] = b[:4]", "a[i] = [5]", "a[i] = None", "a[i.astype('f8')]", "r = a[[]]",
                                  "r = a[[True, False]]"])
def test_what_numpy_says_of_indexes_it_says_here(line):
    text = f"r = None\n    try:\n        {line}\n    except Exception as e:\n        return type(e), str(e), a"
    text += "\n    return r, a"
    for last in (3, 24, -25, 2**40):
        check(of(text, "a, b, i"), x.copy(), y, np.array([1, last]))


def test_a_place_out_of_bounds_among_others():
    e = check_calls(of("return a[i] * 2, b.sum()", "a, b, i"),
                    [(x, y, np.array([1, k])) for k in (2, 3, 24, 5, -24, -25, 0, 1)])
    assert e.graphs


def test_comparing_nans_raises_no_flags_here_either():
    odd = np.array([np.nan, 1, 0.0, -0.0, np.nan, -1, 3])
    with np.errstate(all="raise"):
        check(of("c = a * 2 + b\n    return np.sort(c), np.argsort(c), np.argmax(c), np.searchsorted(np.sort(c), b)"),
              odd, odd[::-1].copy(), graphs=1, breaks=0)
