"""What pijit/_check.py makes of a wrong argument: type and text of the error, which no function words by itself."""

import math
import pathlib

import pytest

from pijit import Tensor, _check, amp, dtype, nn, ops
from tools import raises

CHECKS = {
    "an int": (_check.INT, (3, -1), (True, 1.0, "3"), TypeError, "be an int"),
    "a number": (_check.NUMBER, (3, 1.5), (True, "3", None), TypeError, "be a number"),
    "a bool": (_check.BOOL, (True,), (1, None), TypeError, "be a bool"),
    "a str": (_check.STR, ("",), (b"", None), TypeError, "be a str"),
    "a sequence": (_check.SEQUENCE, ((), [1]), ("ab", {1}), TypeError, "be a tuple or a list"),
    "callable": (_check.FUNCTION, (len, nn.ReLU()), (3,), TypeError, "be callable"),
    "a Tensor": (_check.TENSOR, (Tensor([1.0]),), (1.0, [1.0]), TypeError, "be a Tensor"),
    "a dtype": (_check.DTYPE, (dtype.int32,), ("int32",), TypeError, "be a dtype"),
    "of a class": (_check.a(nn.Cell), (nn.ReLU(),), (nn.ReLU, 3), TypeError, "be a Cell"),
    "of classes": (_check.a(int, pathlib.Path), (3, pathlib.Path()), ("x",), TypeError, "be an int or a Path"),
    "or None": (_check.optional(_check.STR), (None, "x"), (3,), TypeError, "be a str or None"),
    "at least": (_check.at_least(0), (0, 2.5), (-1,), ValueError, "be at least 0"),
    "at most": (_check.at_most(0), (0, -2), (1,), ValueError, "be at most 0"),
    "above": (_check.above(0), (1e-9,), (0, -1), ValueError, "be greater than 0"),
    "below": (_check.below(1), (0.5,), (1, 2), ValueError, "be less than 1"),
    "closed": (_check.within(0, 1), (0, 1), (-0.1, 1.1, math.nan), ValueError, "be in [0, 1]"),
    "half open": (_check.within(0, 1, "[)"), (0,), (1, math.nan), ValueError, "be in [0, 1)"),
    "open": (_check.within(0, 1, "()"), (0.5,), (0, 1), ValueError, "be in (0, 1)"),
    "a choice": (_check.one_of("a", None, 3), ("a", None, 3), ("b",), ValueError, "be 'a', None or 3"),
    "not 0": (_check.NOT_ZERO, (1, -1), (0, 0.0), ValueError, "not be 0"),
    "not empty": (_check.NOT_EMPTY, ([1],), ((), ""), ValueError, "not be empty"),
    "dimensions": (_check.dims(3, 4), (3, 4), (2,), ValueError, "have 3 or 4 dimensions"),
    "one": (_check.dims(1), (1,), (0,), ValueError, "have 1 dimension"),
    "some": (_check.least_dims(2), (2, 5), (1,), ValueError, "have at least 2 dimensions"),
    "floating": (_check.FLOATING, (dtype.float16,), (dtype.int8,), TypeError, "be of a floating dtype"),
    "a shape": (_check.shape((2, 3)), ((2, 3), [2, 3]), ((3, 2),), ValueError, "have the shape (2, 3)"),
    "a length": (_check.length(2, "ints"), ((1, 2),), ((1,),), ValueError, "hold 2 ints"),
    "a multiple": (_check.multiple(8), (0, 16), (12,), ValueError, "be a multiple of 8"),
}


@pytest.mark.parametrize("name", CHECKS)
def test_checks(name):
    check, fit, unfit, error, words = CHECKS[name]
    assert check.words == words and check.error is error
    for v in fit:
        assert _check.need("f", "x", v, check) is v
    for v in unfit:
        with pytest.raises(error) as e:
            _check.need("f", "x", v, check)
        assert str(e.value) == f"For 'f', 'x' must {words}, but got {check.shown(v)}."


@pytest.mark.parametrize("made, text", [
    (_check.refused("f", "x", _check.INT, 1.5), "For 'f', 'x' must be an int, but got float."),
    (_check.refused("f", "the input", _check.dims(3), 2), "For 'f', the input must have 3 dimensions, but got 2."),
    (_check.refused("f", "x", _check.one_of("a", "b"), "c", KeyError), "For 'f', 'x' must be 'a' or 'b', but got 'c'."),
    (_check.refused("f", "x", _check.value("go up"), _check.several(1, "b", 2)),
     "For 'f', 'x' must go up, but got 1, 'b' and 2."),
    (_check.refused("f", "x", _check.value("map"), _check.entry("k", 3)), "For 'f', 'x' must map, but got 'k': int."),
    (_check.differ("f", ("a", "the matrix"), "dtype", dtype.int8, dtype.int16),
     "For 'f', 'a' and the matrix must have the same dtype, but got Int8 and Int16."),
    (_check.expected("f", "a function", _check.type_name(3), TypeError), "For 'f', expected a function, but got int."),
    (_check.exactly_one("f", "a", "b"), "For 'f', exactly one of 'a' and 'b' must be given."),
    (_check.out_of_range("f", "axis 3 is", 1), "For 'f', axis 3 is out of range for 1 dimension."),
    (_check.unknown("f", "name", "a", ["b"]), "For 'f', the name 'a' is not recognized: it is not one of ['b']."),
    (_check.unsupported("f", "'x' is", "'y' is there"), "For 'f', 'x' is not supported: 'y' is there."),
])
def test_texts(made, text):
    assert (made.args[0] if isinstance(made, KeyError) else str(made)) == text


def test_the_first_check_that_does_not_hold_is_told():
    with pytest.raises(TypeError, match="an int"):
        _check.need("f", "x", "a", _check.INT, _check.at_least(1))
    with pytest.raises(ValueError, match="at least 1"):
        _check.need("f", "x", 0, _check.INT, _check.at_least(1))


@pytest.mark.parametrize("call, text", [
    (lambda: nn.Dropout(p=2.0), "For 'Dropout', 'p' must be in [0, 1), but got 2.0."),
    (lambda: ops.gelu(Tensor([1.0]), "x"), "For 'gelu', 'approximate' must be 'none' or 'tanh', but got 'x'."),
    (lambda: nn.Conv1d(3, 4, 3)(Tensor([1.0])), "For 'Conv1d', the input must have 3 dimensions, but got 1."),
    (lambda: amp.build_train_network(3, 4), "For 'build_train_network', 'network' must be a Cell, but got int."),
])
def test_functions_say_it_so(call, text):
    with pytest.raises((TypeError, ValueError)) as e:
        call()
    assert str(e.value) == text


MODULE = '''
def f(x, p, mode):
    """Something.

    Raises:
        TypeError: if `x` is wide.
        ValueError: if `p` is out of range, or the moon is full.

    Example:
        >>> f(1, 2)
    """
    _check.need("f", "x", x, _check.TENSOR)
    if not 0 <= p < 1:
        raise _check.refused("f", "p", _check.within(0, 1, "[)"), p)
    if mode not in _MODES:
        raise _check.refused("f", "mode", _check.one_of(*_MODES), mode, KeyError)
'''


def test_docstrings_follow_from_checks():
    text = raises.rewritten(MODULE)
    assert text[text.index("Raises:"):text.index("Example:")].split("\n") == [
        "Raises:", "        TypeError: if `x` is wide, or `x` is not a Tensor.",
        "        ValueError: if `p` is not in [0, 1), or the moon is full.",
        "        KeyError: if `mode` is not one of those named.", "", "    "]
    assert raises.rewritten(text) == text


def test_docstrings_of_the_package_are_those_that_follow():
    assert raises.main(check=True) == 0, "python tools/raises.py writes them"
