"""experimental.MapParameter: a table of embedding rows by key."""

import copy
import pickle

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, nn, ops
from pijit.experimental import MapParameter


def keys(*k):
    return Tensor(list(k), ms.int32) if k else Tensor(np.zeros(0, np.int32))


def table(**options):
    return MapParameter(**{"value_shape": 3, "default_value": "zeros", "name": "m", **options})


def test_rows_are_put_found_and_erased():
    m = table()
    assert m.get(keys(1, 2, 3)).tolist() == [[0, 0, 0]] * 3 and len(m) == 3
    assert m.put(keys(1, 2), Tensor([[1.0, 1, 1], [2, 2, 2]])) is m
    assert m.get(keys(1, 2, 3)).tolist() == [[1, 1, 1], [2, 2, 2], [0, 0, 0]]
    assert m.erase(keys(2, 3)) is m
    assert m.get_keys().tolist() == [1] and m.get_values().tolist() == [[1, 1, 1]]
    assert [t.tolist() for t in m.get_data()] == [[1], [[1, 1, 1]]] and m.get_keys().dtype == ms.int32


def test_what_a_new_row_holds():
    assert table(default_value=2.5).get(keys(4)).tolist() == [[2.5] * 3]
    assert table(default_value="ones", value_shape=(2, 2), value_dtype=ms.float16).get(keys(4)).dtype == ms.float16
    m = table(default_value="normal")
    first = m.get(keys(5, 5))
    assert (first[0] == first[1]).all() and (m.get(keys(5))[0] == first[0]).all() and len(m) == 1
    m.get(keys(6), False)
    assert len(m) == 1 and m.get(keys()).shape == (0, 3)


def test_the_last_row_of_a_key_counts():
    m = table().put(keys(1, 1), Tensor([[1.0] * 3, [2.0] * 3]))
    assert m.get(keys(1)).tolist() == [[2.0] * 3]
    m.get(keys(1)).asnumpy()[:] = 7
    assert m.get(keys(1)).tolist() == [[2.0] * 3]


def test_first_rows():
    m = table(key_tensor=keys(3, 4), value_tensor=Tensor(np.ones((2, 3), np.float32)))
    assert m.get_keys().tolist() == [3, 4] and isinstance(m, ms.Parameter) and m.name == "m" and m.requires_grad


def test_data_travels():
    m = table().put(keys(1, 2), Tensor(np.arange(6, dtype=np.float32).reshape(2, 3)))
    k, v, status = m.export_data()
    assert (k.tolist(), v.shape, status.tolist()) == ([1, 2], (2, 3), [1, 1])
    m.put(keys(2), Tensor([[9.0] * 3])).erase(keys(1))
    k, v, status = m.export_data(incremental=True)
    assert (k.tolist(), v.tolist(), status.tolist()) == ([2, 1], [[9.0] * 3], [1, 2])
    assert [len(p) for p in m.export_bytes()] == [4, 12, 4] and m.export_slice_data()[-1] is True
    other = table()
    other.import_data(m.export_data())
    for c in (other, copy.deepcopy(m), m.clone(), pickle.loads(pickle.dumps(m))):
        assert c.get_keys().tolist() == [2] and c.get_values().tolist() == [[9.0] * 3]
        c.put(keys(8), Tensor([[1.0] * 3]))
    assert len(m) == 1 and "rows=1" in repr(m) and m.asnumpy().shape == (1, 3) and len(m.clone("ones")) == 0


@pytest.mark.parametrize("call, kind, said", [
    (lambda: table(key_dtype=ms.float32), TypeError, "'key_dtype'"),
    (lambda: table(value_dtype=3), TypeError, "'value_dtype'"),
    (lambda: table(value_shape=0), TypeError, "'value_shape'"),
    (lambda: table(value_shape="a"), TypeError, "'value_shape'"),
    (lambda: table(default_value=None), TypeError, "'default_value'"),
    (lambda: table(key_tensor=keys(1)), ValueError, "together"),
    (lambda: table(nothing=1), TypeError, "nothing"),
    (lambda: table().get([1]), TypeError, "'key_tensor'"),
    (lambda: table().get(Tensor([1.0])), ValueError, "'key_tensor'"),
    (lambda: table().put(keys(1), Tensor([[1.0]])), ValueError, "'value_tensor'"),
    (lambda: table().put(keys(1), [[1.0] * 3]), TypeError, "'value_tensor'"),
    (lambda: table().erase(keys(1)), KeyError, "no key 1"),
])
def test_mistakes(call, kind, said):
    with pytest.raises(kind, match=said):
        call()


def test_a_network_looks_rows_up():
    """As users of such a table write it: rows by id, a loss, rows put back."""

    class Table(MapParameter):
        pass

    class Recommender(nn.Cell):
        def __init__(self):
            super().__init__()
            self.items = Table(value_shape=4, default_value="ones", name="items")
            self.head = nn.Dense(4, 1, weight_init="ones", has_bias=False)

        def construct(self, rows):
            return self.head(rows).sum()

    net = Recommender()
    ids = keys(10, 20, 10)
    step = ms.value_and_grad(net, 0)
    before = float(net(net.items.get(ids)))
    for _ in range(3):
        loss, grad = step(net.items.get(ids))
        net.items.put(ids, net.items.get(ids) - 0.1 * grad)
    assert float(net(net.items.get(ids))) < before == 12 and len(net.items) == 2
    assert [p.name for p in net.get_parameters()] == ["items", "head.weight"]


def test_captured_functions_look_rows_up():
    m = table(default_value="ones")
    f = ms.jit(lambda k, w: ops.tanh(m.get(k) * w).sum())
    for k in range(3):
        assert abs(float(f(keys(k, 5), Tensor(0.5))) - 6 * np.tanh(0.5)) < 1e-5
    assert len(m) == 4
