"""Arguments of wrong types and sizes, everywhere: a Python exception that says what is wrong, in words that are ours
or Python's. pybind11's "Unable to cast ... to C++ type" is neither."""

import inspect
import itertools
import types

import numpy as np
import pytest

import pijit as ms
from pijit import _C, Parameter, Tensor, nn, ops
from pijit.initializer import Constant, Normal, One, Zero, initializer

NUMBERS = np.array([1.0, 2.0, 3.0], np.float32)
X = Tensor(NUMBERS)
FORBIDDEN = ("Unable to cast", "C++ type", "incompatible function arguments", "check failed", "std::")


class Indexable:
    def __index__(self):
        raise ZeroDivisionError("own error")


class Rude:
    def __getattr__(self, name):
        raise ZeroDivisionError(name)

    def __repr__(self):
        raise ZeroDivisionError("repr")


@pytest.fixture(autouse=True)
def fresh():
    X._replace(NUMBERS)  # some functions assign
    yield
    _C.pause_capture(False)  # these are among the functions
    _C.forbid_capture(False)
    _C.set_clock(None)
    while _C.recording():
        _C.record_stop((0, 0, 0, 0))


def wrong_values():
    held = [1]
    held.append(held)
    return [
        None, True, 5, -1, 2**70, 1.5, float("nan"), 1j, "x", "\udc80", b"b", [], (), [1, "a"], ("x", 2), {}, {1: 2},
        held, object(), Indexable(), Rude(), int, lambda: 0, slice(1, 2), range(3), np.zeros(2), np.array(["a"]),
        np.datetime64("2020-01-01"), X, Tensor(np.array([True])), [X, None], Parameter(X, name="p"),
    ]  # fmt: skip


def refuses(call, *args, **kwargs):
    """Calls; whatever comes, it is no C++ text. Returns the exception."""
    try:
        with np.errstate(all="ignore"):
            call(*args, **kwargs)
    except Exception as e:
        text = Exception.__str__(e)
        assert not any(f in text for f in FORBIDDEN), (call, type(e), text)
        return e
    return None


def functions_of_c():
    safe = {n: f for n, f in vars(_C).items() if callable(f) and not isinstance(f, type)}
    del safe["set_option"], safe["set_graph_mode"]  # below: they change things
    tape = _C.Tape()
    methods = {f"Tape.{n}": getattr(tape, n) for n in dir(tape) if not n.startswith("_") and n not in ("start", "stop")}
    kinds = {n: t for n, t in vars(_C).items() if isinstance(t, type)}
    return {**safe, **methods, **kinds}


@pytest.mark.parametrize("name", sorted(functions_of_c()))
def test_functions_of_the_extension(name):
    f = functions_of_c()[name]
    values = wrong_values()
    for n in range(5):
        refuses(f, *values[:n])
    for v in values:
        refuses(f, v)
        refuses(f, X, v)
        refuses(f, v, v)
        refuses(f, [X], v, [X])
        refuses(f, [v], [X], v)
        refuses(f, (X,), (X,), (X,), v)
        refuses(f, **{"\udc80": v})
        refuses(f, v, no_such_argument=v)


@pytest.mark.parametrize("args", [
    (5, "1"), ("log", 5), (None, None), ("\udc80", "1"), ("nothing", "1"), ("max_unroll", "many"), ("strict", "2"), (),
])
def test_set_option(args):
    assert isinstance(refuses(_C.set_option, *args), (TypeError, ValueError))


def test_set_graph_mode():
    for v in wrong_values():
        if not isinstance(v, bool):
            assert isinstance(refuses(_C.set_graph_mode, v), TypeError)


def public_functions():
    names = {n for n, f in vars(ops).items() if callable(f) and not isinstance(f, type) and not n.startswith("_")}
    return sorted(names - {"scalar_pow"})  # 2**70 ** 2**70 keeps Python itself busy


@pytest.mark.parametrize("name", public_functions())
def test_public_functions(name):
    f = getattr(ops, name)
    try:
        parameters = inspect.signature(f).parameters.values()
        count = len([p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)])
    except (TypeError, ValueError):
        count = 2
    for v in wrong_values():
        for n in range(1, min(count, 3) + 1):
            refuses(f, *[v] * n)
        if count > 1:
            refuses(f, X, *[v] * min(count - 1, 2))
    refuses(f, X, **{"\udc80": 1})


@pytest.mark.parametrize("name", public_functions()[::7])
def test_public_functions_captured(name):
    f = getattr(ops, name)
    for v in ("x", "\udc80", 2**70, [1, "a"], object(), 1j):
        plain = refuses(f, X, v)
        jitted = refuses(ms.jit(lambda x, v: f(x, v)), X, v)
        assert type(plain) is type(jitted) and str(plain) == str(jitted)


def test_names_of_arguments_are_in_the_message():
    for call, error, words in [
        (lambda: Tensor(shape="ab", dtype=ms.float32), TypeError, "shape"),
        (lambda: Tensor(shape=(2, "a"), dtype=ms.float32), TypeError, "shape"),
        (lambda: Tensor(shape=(2, 1.5), dtype=ms.float32), TypeError, "shape"),
        (lambda: Tensor(shape=(2**70,), dtype=ms.float32), ValueError, "shape"),
        (lambda: Tensor(shape=(2**40, 2**40), dtype=ms.float32), ValueError, "shape"),
        (lambda: Tensor(shape=(1,) * 100, dtype=ms.float32), ValueError, "shape"),
        (lambda: Tensor(shape=(2,), dtype="\udc80"), TypeError, "dtype"),
        (lambda: _C.jit(lambda: 0, 5), TypeError, "whole"),
        (lambda: _C.Tape(5), TypeError, "use"),
        (lambda: _C.Tape("sideways"), ValueError, "use"),
        (lambda: _C.Tape().gradient([5], [X], [X]), TypeError, "outputs"),
        (lambda: _C.op("nothing"), ValueError, "nothing"),
        (lambda: _C.op(5), TypeError, "name"),
        (lambda: _C.ops["reduce_sum"](X, "x"), TypeError, "axis"),
    ]:
        e = refuses(call)
        assert type(e) is error and words in str(e), (type(e), e)


@pytest.mark.parametrize("init", [One(), Zero(), Constant(3), Normal(), "ones", "zeros", "normal", 2, 2.5])
@pytest.mark.parametrize("shape", [(2, 3), [2, 3], (4,), 4, [], ()])
def test_initializers(init, shape):
    dims = (shape,) if isinstance(shape, int) else tuple(shape)
    t = Tensor(shape=shape, dtype=ms.float32, init=init)
    assert t.shape == dims and t.dtype == ms.float32
    u = initializer(init, shape, ms.float16)
    assert u.shape == dims and u.dtype == ms.float16
    if isinstance(init, (One, Zero, Constant)):
        want = np.full(dims, {One: 1, Zero: 0, Constant: 3}[type(init)], np.float32)
        assert np.array_equal(t.asnumpy(), want) and np.array_equal(u.asnumpy(), want)


@pytest.mark.parametrize("name", ["f\udc80", "n\udc80.x", "\ud800\udc00"])
def test_names_with_lone_surrogates(name):
    class Box:
        pass

    box = Box()

    def f(x, key):
        y = x + 1
        setattr(box, key, 5)
        found = getattr(box, key), getattr(box, key + "a", None), hasattr(box, key)
        return y, found, {key: 1}[key], f"<{key}>", key + "b"

    assert f(X, name)[1:] == ms.jit(f)(X, name)[1:]
    renamed = f.__code__.replace(co_name=name, co_filename=name + ".py")
    inner = types.FunctionType(renamed, f.__globals__, name, None, f.__closure__)
    jitted = ms.jit(inner)
    for _ in range(2):
        assert jitted(X, "k")[1:] == f(X, "k")[1:]
    str(ms.explain(jitted))
    changed = (lambda abc: abc + X).__code__
    variable = types.FunctionType(changed.replace(co_varnames=(name,)), {"X": X})
    jitted = ms.jit(variable)
    assert np.array_equal(jitted(X).asnumpy(), [2, 4, 6])
    assert np.array_equal(jitted(**{name: X}).asnumpy(), [2, 4, 6])
    str(ms.explain(jitted))
    raising = ms.jit(types.FunctionType((lambda d: d["k"]).__code__.replace(co_name=name), {}))
    with pytest.raises(KeyError):
        raising({})


def test_layers_and_primitives():
    layers = [nn.Dense, nn.Conv2d, nn.BatchNorm2d, nn.LayerNorm, nn.Dropout, nn.Embedding, nn.LSTM]
    for make, v in itertools.product([*layers, ops.ReduceSum, ops.Concat, ops.Cast], wrong_values()):
        refuses(make, v, 2)
        refuses(make, 2, v)
        refuses(lambda make=make, v=v: make()(v))


@pytest.mark.parametrize("mode", ["same", "valid"])
def test_a_padding_needs_its_mode(mode):
    x, w = ops.ones((1, 1, 5, 5)), ops.ones((2, 1, 3, 3))
    for make in (lambda p: nn.Conv1d(1, 2, 3, pad_mode=mode, padding=p),
                 lambda p: nn.Conv2d(1, 2, 3, pad_mode=mode, padding=p),
                 lambda p: nn.Conv3d(1, 2, 3, pad_mode=mode, padding=p),
                 lambda p: ops.Conv2D(2, 3, pad_mode=mode, pad=p),
                 lambda p: ops.conv2d(x, w, None, 1, mode, p),
                 lambda p: nn.Conv2d(1, 2, 3, pad_mode=mode, padding=(p,) * 4)):
        make(0)
        with pytest.raises(ValueError, match="'padding' must be 0"):
            make(1)


def test_convolutions_say_which_shapes_they_take():
    for x, w in ((ops.ones((1, 5, 5)), ops.ones((2, 1, 3, 3))), (ops.ones((1, 1, 5, 5)), ops.ones((1, 3, 3)))):
        with pytest.raises(ValueError, match=r"expected x\[N,C,H,W\] and w\[O,C/group,kh,kw\]"):
            ops.conv2d(x, w)


SCORES = Tensor([[1.0, 2.0, 0.5], [0.1, 0.2, 0.3]])
LOSSES = [ops.cross_entropy, ops.nll_loss, nn.CrossEntropyLoss(), nn.SoftmaxCrossEntropyWithLogits(sparse=True)]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("labels", [Tensor([1]), Tensor([1, 2, 0]), Tensor([[1, 0, 0], [0, 1, 0]]), Tensor(1)])
def test_losses_take_one_class_per_row(loss, labels):
    with pytest.raises(ValueError, match=r"class indices must have the shape \(2,\)"):
        loss(SCORES, labels)


@pytest.mark.parametrize("loss", LOSSES)
def test_classes_in_a_column(loss):
    assert np.array_equal(loss(SCORES, Tensor([[1], [2]])).asnumpy(), loss(SCORES, Tensor([1, 2])).asnumpy())


def test_classes_that_there_are_not():
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True)
    for labels in ([1, 3], [-1, 0], [-100, 0]):
        with pytest.raises(IndexError):
            loss(SCORES, Tensor(labels))
    with pytest.raises(ValueError, match="probabilities must have the shape"):
        ops.cross_entropy(SCORES, Tensor([1.0, 2.0]))
    with pytest.raises(TypeError, match="class indices must be ints"):
        ops.nll_loss(SCORES, Tensor([1.0, 2.0]))
