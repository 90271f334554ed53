"""Classes that derive from dict, as configurations whose keys are attributes do, are read and changed like dicts."""

import collections
import copy

import pytest

import pijit as ms
from pijit import Tensor
from tests.python.differential import check


class Config(dict):
    limit = 3

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def double(self):
        return self["scale"] * 2

    def merged(self, **more):
        return {**self, **more}


class Namespace(dict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__ = self


class Counting(dict):
    def __missing__(self, key):
        return 7


class Loud(dict):
    def __getitem__(self, key):
        return super().__getitem__(key) * 2


class Sized(dict):
    def __len__(self):
        return 100

    def __bool__(self):
        return False


class Reversed(dict):
    def keys(self):
        return [k[::-1] for k in super().keys()]


class Slotted(dict):
    __slots__ = ("tag",)


class Guarded(dict):
    def __getattribute__(self, name):
        return 9 if name == "scale" else super().__getattribute__(name)


class Ordered(collections.OrderedDict):
    __getattr__ = Config.__getattr__


def config(kind=Config):
    return kind(scale=2.0, inner=kind(a=1, t=Tensor([5.0])), names=["x", "y"])


def items(x, c):
    for k, v in c["inner"].items():
        if k == "a":
            x = x * v
    return x, list(c), [k for k in c.keys() if k != "scale"]


def changed(x, c):
    c["count"] = c.get("count", 0) + 1
    c.setdefault("more", []).append(1)
    c.update(scale=c["scale"] + 1)
    del c["names"]
    c["names"] = ["z"]
    return x * c["count"] * c["scale"]


READS = {
    "attribute": lambda x, c: x * c.scale, "nested": lambda x, c: x * c.inner.a + c["inner"].t,
    "property": lambda x, c: x * c.double + c.limit, "method": lambda x, c: x * c.merged(k=4)["k"],
    "length": lambda x, c: x * len(c) + (1 if "scale" in c else 0),
    "getattr": lambda x, c: x * getattr(c, "nothing", 5) + hasattr(c, "scale") + hasattr(c, "nothing"),
    "items": items, "get": lambda x, c: x * c.get("scale", 1) + c.get("nothing", 2),
    "unpacked": lambda x, c: (x * {**c}["scale"], sorted({**c})),
    "dict": lambda x, c: (x * dict(c)["scale"], type(dict(c))),
    "copy": lambda x, c: (x * c.copy()["scale"], type(c.copy()), type(c), isinstance(c, dict)),
    "or": lambda x, c: (type(c | {"k": 1}), x * (c | {"k": 3})["k"]), "truth": lambda x, c: x * 3 if c else x * 2,
    "returned": lambda x, c: (x * 1, c["inner"]), "changed": changed,
}
KINDS = [Config, Namespace, Counting, Loud, Sized, Reversed, Slotted, Guarded, Ordered]


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("kind", KINDS)
def test_as_in_plain_python(name, kind):
    check(lambda: READS[name], Tensor([1.0, 2.0]), config(kind))


@pytest.mark.parametrize("name", READS)
def test_configurations_stay_in_one_graph(name):
    check(lambda: READS[name], Tensor([1.0, 2.0]), config(), graphs=1, breaks=0)


def test_what_changes_is_seen():
    c = config()
    f = ms.jit(lambda x: x * c.scale + c.inner.a)
    x = Tensor([1.0])
    assert float(f(x)) == 3
    c["scale"] = 6.0
    assert float(f(x)) == 7
    c["inner"]["a"] = 2
    assert float(f(x)) == 8
    c["inner"] = copy.deepcopy(c["inner"])
    assert float(f(x)) == 8
    Config.scale = 11  # a class attribute comes before __getattr__
    try:
        assert float(f(x)) == 13
    finally:
        del Config.scale
    c.__dict__["scale"] = 21
    assert float(f(x)) == 23
    del c.__dict__["scale"]
    del c["scale"]
    with pytest.raises(AttributeError, match="scale"):
        f(x)


def test_cells_hold_configurations():
    class Net(ms.nn.Cell):
        def __init__(self, cfg):
            super().__init__()
            self.cfg = cfg

        def construct(self, x):
            for _ in range(self.cfg.inner.a):
                x = x * self.cfg.scale
            return x
    check(lambda: Net(config()), Tensor([1.0]), graphs=1, breaks=0)


class Attributes(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__

    def __deepcopy__(self, memo):  # else KeyError
        return type(self)(copy.deepcopy(dict(self), memo))


class Lenient(dict):
    __getattr__ = dict.get

    def __deepcopy__(self, memo):  # else 3.9 asks it for __getstate__
        return type(self)(self)


class Items(list):
    __getattr__ = list.count  # of the name

    def __deepcopy__(self, memo):
        return type(self)(self)


@pytest.mark.parametrize("make", [Attributes, Lenient])
@pytest.mark.parametrize("text", [
    "x * cfg.scale", "x + cfg.scale + cfg['bias']", "x * cfg.inner['a']", "x * len(cfg.keys())",
    "hasattr(cfg, 'scale'), x * 2", "getattr(cfg, 'scale', 3) * x", "cfg.missing", "(cfg.missing, x * 2)",
    "getattr(cfg, 'missing', 5)", "cfg.get('missing', x)"])
def test_attributes_that_a_method_in_c_finds(make, text):
    """KeyError is no AttributeError: it is raised here, too, where a name is missing."""
    def made():
        scope = {}
        exec(f"def f(x, cfg):\n    return {text}", scope)
        return scope["f"]
    breaks = None if "missing" in text or "hasattr" in text or "getattr" in text else 0
    check(made, Tensor([1.0, 2.0]), make(scale=2, bias=1.5, inner={"a": 3}), breaks=breaks)


def test_attributes_that_a_method_of_lists_finds():
    def f(x, items):
        return x * items.a + items.b
    check(lambda: f, Tensor([1.0, 2.0]), Items(["a", "b", "a"]))
