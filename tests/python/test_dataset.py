"""Datasets, operations on them, samplers, iterators: orders, shapes, types, errors, and that nothing stays behind."""

import gc
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import pijit
import pijit.dataset as ds
import pijit.dataset.transforms as T
import pijit.dataset.vision as V


class Source:
    def __init__(self, n=6):
        self.n = n

    def __getitem__(self, i):
        return np.array([i], np.int32), float(i)

    def __len__(self):
        return self.n


class Ragged:
    def __getitem__(self, i):
        return np.arange(i + 1), np.ones((i + 1, 2), np.float32)

    def __len__(self):
        return 4


def data(n=6, names=("x", "y"), **kw):
    return ds.GeneratorDataset(Source(n), list(names), shuffle=False, **kw)


def ragged():
    return ds.GeneratorDataset(Ragged(), ["a", "b"], shuffle=False)


def rows(d):
    return [[np.asarray(c).tolist() for c in r] for r in d.create_tuple_iterator(num_epochs=1, output_numpy=True)]


def first(d):
    """The first column."""
    return [r[0][0] if isinstance(r[0], list) else r[0] for r in rows(d)]


def names(d):
    return list(next(iter(d.create_dict_iterator(num_epochs=1))))


@pytest.fixture(autouse=True)
def seed():
    ds.config.set_seed(7)


# --- sources ----------------------------------------------------------------------------------------------------------


def test_generator_function():
    def generate():
        for i in range(5):
            yield np.array([i], np.float32), i

    d = ds.GeneratorDataset(generate, ["x", "y"])
    got = list(d.create_dict_iterator(num_epochs=1))
    assert isinstance(got[0]["x"], pijit.Tensor) and got[3]["y"].asnumpy() == 3 and got[0]["y"].dtype == pijit.int64
    assert (d.get_dataset_size(), d.get_batch_size(), d.get_col_names(), d.output_shapes(), d.output_types(),
            d.get_repeat_count(), d.num_classes()) == (5, 1, ["x", "y"], [[1], []], [np.float32, np.int64], 1, None)
    assert rows(ds.GeneratorDataset(generate, ["x", "y"], num_samples=2)) == [[[0.0], 0], [[1.0], 1]]
    assert sorted(first(ds.GeneratorDataset(generate, ["x", "y"], shuffle=True))) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("values, kinds", [
    ((1, 2.5, True, np.float16(1), np.uint8(3)), "int64 float64 bool float16 uint8"),
    (([1, 2], [3.0, 4]), "int64 float64"), (("a", b"bb", ["a", "bcd"]), "<U1 |S2 <U3"),
    ((pijit.Tensor([1, 2]),), "int64")])
def test_values(values, kinds):
    d = ds.GeneratorDataset([values], list("abcde")[:len(values)])
    (row,) = d.create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert [str(v.dtype) for v in row] == kinds.split()


def test_sources_are_iterated_anew_in_each_epoch():
    class Counts:
        def __iter__(self):
            return iter([(1,), (2,)])

    class Stateful:
        def __iter__(self):
            self.i = 0
            return self

        def __next__(self):
            self.i += 1
            if self.i > 2:
                raise StopIteration
            return (self.i,)

    for source in (Counts(), Stateful(), lambda: iter([(1,), (2,)]), [np.array(1), np.array(2)]):
        d = (ds.GeneratorDataset(source, ["a"], shuffle=False) if isinstance(source, list)
             else ds.GeneratorDataset(source, ["a"]))
        it = d.create_tuple_iterator(num_epochs=2)
        for _ in range(2):
            assert [int(r[0].asnumpy()) for r in it] == [1, 2]
        with pytest.raises(RuntimeError, match="beyond the specified number of epochs"):
            next(it)


def test_a_generator_may_use_its_buffer_again():
    def generate():
        buffer = np.zeros(3)
        for i in range(40):
            buffer[:] = i
            yield (buffer,)

    d = ds.GeneratorDataset(generate, ["x"])
    assert first(d) == list(range(40))
    assert [r[0][:, 0].tolist() for r in d.batch(16).create_tuple_iterator(num_epochs=1, output_numpy=True)] == [
        list(range(16)), list(range(16, 32)), list(range(32, 40))]


def test_a_map_does_not_write_to_the_source():
    x = np.zeros((4, 2))

    def write(v):
        v += 1
        return v

    class Views:
        def __getitem__(self, i):
            return (x[i],)

        def __len__(self):
            return 4

    for d in (ds.GeneratorDataset(Views(), ["x"]), ds.NumpySlicesDataset(x, ["x"]),
              ds.NumpySlicesDataset(x, ["x"]).batch(2)):
        assert np.all([r[0] for r in d.map(write, "x").create_tuple_iterator(num_epochs=1, output_numpy=True)])
    assert not x.any()


def test_numpy_slices():
    def told(*a, **k):
        d = ds.NumpySlicesDataset(*a, shuffle=False, **k)
        return d.get_col_names(), rows(d)

    assert told([1, 2]) == (["column_0"], [[1], [2]])
    assert told([[1, 2], [3, 4]]) == (["column_0"], [[[1, 2]], [[3, 4]]])
    assert told(([1, 2], [3.0, 4.0])) == (["column_0", "column_1"], [[1, 3.0], [2, 4.0]])
    assert told({"a": [1, 2], "b": [3.0, 4.0]}) == (["a", "b"], [[1, 3.0], [2, 4.0]])
    assert told([[1, 2], [3]]) == (["column_0"], [[[1, 2]], [[3]]])
    assert told(["a", "bb"], "w") == (["w"], [["a"], ["bb"]])
    for args, error in ((5, TypeError), ([], ValueError), (([1, 2], [1]), ValueError), (pijit.Tensor([1]), TypeError)):
        with pytest.raises(error, match="NumpySlicesDataset"):
            ds.NumpySlicesDataset(args)
    with pytest.raises(ValueError, match="required is 2"):
        ds.NumpySlicesDataset(([1, 2], [3, 4]), ["p"])
    assert rows(ds.PaddedDataset([{"a": np.zeros(1)}, {"a": np.ones(1)}])) == [[[0.0]], [[1.0]]]


def test_fake_images():
    def drawn(**kw):
        return list(ds.FakeImageDataset(6, (4, 3, 2), 5, **kw).create_dict_iterator(1, output_numpy=True))

    one = drawn(shuffle=False)
    assert len(one) == 6 and ds.FakeImageDataset().get_dataset_size() == 1000
    for row in one:
        assert row["image"].shape == (4, 3, 2) and row["image"].dtype == np.uint8
        assert row["label"].shape == () and row["label"].dtype == np.uint32 and row["label"] < 5
    assert len({row["image"].tobytes() for row in one}) == 6

    def same(a, b):
        return len(a) == len(b) and all([np.array_equal(x["image"], y["image"]) and x["label"] == y["label"]
                                         for x, y in zip(a, b)])
    assert same(one, drawn(shuffle=False)) and not same(one, drawn(shuffle=False, base_seed=1))
    assert same(one[1::2], drawn(shuffle=False, num_shards=2, shard_id=1)) and same(one[:2], drawn(
        shuffle=False, num_samples=2))
    by_class = drawn(sampler=ds.PKSampler(1, shuffle=False))
    assert len({int(row["label"]) for row in by_class}) == len(by_class) == len({int(row["label"]) for row in one})
    for wrong, error in (({"num_images": 0}, ValueError), ({"image_size": (2, 2)}, ValueError),
                         ({"image_size": 2}, TypeError), ({"num_classes": 0}, ValueError),
                         ({"num_images": "a"}, TypeError),
                         ({"image_size": (0, 2, 3)}, ValueError), ({"image_size": (2, 2, 2.5)}, TypeError),
                         ({"num_shards": 2}, ValueError), ({"cache": 1}, RuntimeError)):
        with pytest.raises(error):
            ds.FakeImageDataset(**wrong)


def test_strings_come_as_string_tensors():
    d = ds.NumpySlicesDataset(["a", "bcd"], shuffle=False)
    (one,) = next(iter(d))
    assert repr(one) == "Tensor(shape=[], dtype=String, value= 'a')" and str(one) == "a" and one.asnumpy() == "a"
    (both,) = next(iter(d.batch(2)))
    assert repr(both) == "Tensor(shape=[2], dtype=String, value= ['a', 'bcd'])" and both.shape == (2,)


def test_dict_columns():
    d = ds.GeneratorDataset([({"k": i, "v": np.ones(2)},) for i in range(3)], ["a"], shuffle=False)
    assert (d.map(lambda v: {"k": v["k"] + 1},
                  "a").batch(3).create_dict_iterator().__next__()["a"]["k"].asnumpy().tolist() == [1, 2, 3])


# --- the order of rows ------------------------------------------------------------------------------------------------


def test_random_access_is_shuffled_by_default_anew_in_each_epoch():
    d = ds.GeneratorDataset(Source(20), ["x", "y"])
    it = d.create_tuple_iterator(num_epochs=2, output_numpy=True)
    epochs = [[int(r[0][0]) for r in it] for _ in range(2)]
    assert epochs[0] != epochs[1] and sorted(epochs[0]) == sorted(epochs[1]) == list(range(20)) != epochs[0]
    again = d.create_tuple_iterator(num_epochs=2, output_numpy=True)
    assert [[int(r[0][0]) for r in again] for _ in range(2)] == epochs


def sampled(sampler, n=7):
    return first(ds.GeneratorDataset(Source(n), ["x", "y"], sampler=sampler))


@pytest.mark.parametrize("make, want", [
    (lambda: ds.SequentialSampler(), [0, 1, 2, 3, 4, 5, 6]), (lambda: ds.SequentialSampler(2, 3), [2, 3, 4]),
    (lambda: ds.SequentialSampler(5, 30), [5, 6]), (lambda: ds.SubsetSampler([3, 1, 5]), [3, 1, 5]),
    (lambda: ds.SubsetSampler([3, 1, 5], 2), [3, 1]), (lambda: ds.SubsetSampler(3), [3]),
    (lambda: [3, 1, 1], [3, 1, 1]),
    (lambda: ds.DistributedSampler(3, 0, False), [0, 3, 6]), (lambda: ds.DistributedSampler(3, 1, False), [1, 4, 0]),
    (lambda: ds.DistributedSampler(3, 2, False), [2, 5, 1]),
    (lambda: ds.DistributedSampler(3, 1, False, offset=0), [1, 4]),
    (lambda: ds.DistributedSampler(3, 0, False, offset=1), [2, 5]),
    (lambda: ds.DistributedSampler(3, 1, False, offset=1), [0, 3, 6]),
    (lambda: ds.DistributedSampler(3, 2, False, offset=2), [0, 3, 6]),
    (lambda: ds.DistributedSampler(3, 1, False, 2), [1, 4])])
def test_samplers(make, want):
    assert sampled(make()) == want
    assert ds.GeneratorDataset(Source(7), ["x", "y"], sampler=make()).get_dataset_size() == len(want)


def test_random_samplers():
    assert sorted(sampled(ds.RandomSampler())) == list(range(7)) and len(sampled(ds.RandomSampler(num_samples=3))) == 3
    assert len(sampled(ds.RandomSampler(replacement=True, num_samples=12))) == 7
    assert sorted(sampled(ds.SubsetRandomSampler([3, 1, 5]))) == [1, 3, 5]
    assert set(sampled(ds.WeightedRandomSampler([0, 0, 1, 0, 1, 0, 0], 6))) <= {2, 4}
    assert set(sampled(ds.WeightedRandomSampler([0, 0, 1, 0, 1, 0, 0], 2, False))) == {2, 4}
    shards = [sampled(ds.DistributedSampler(3, i)) for i in range(3)]
    assert set(sum(shards, [])) == set(range(7)) and all(len(s) == 3 for s in shards)

    class Mine(ds.Sampler):
        def __iter__(self):
            return iter([self.dataset_size - 1, 0])

    assert sampled(Mine()) == [6, 0] and sampled(Mine(1)) == [6]
    outer, inner = ds.SubsetSampler([0, 3]), ds.SequentialSampler(2, 4)
    outer.add_child(inner)
    assert sampled(outer) == [2, 5]
    counts = np.bincount(sampled(ds.WeightedRandomSampler([1.0] * 100 + [3.0] * 100 + [0.0] * 1800, 1000), 2000),
                         minlength=2000)
    assert 650 < counts[100:200].sum() < 850 and not counts[200:].any()


@pytest.mark.parametrize("call, error", [
    (lambda: sampled(ds.SubsetSampler([3, 100])), RuntimeError), (lambda: ds.SubsetSampler([1.5]), TypeError),
    (lambda: ds.DistributedSampler("3", 0), TypeError), (lambda: ds.RandomSampler(replacement=3), TypeError),
    (lambda: ds.RandomSampler(num_samples=-3), ValueError),
    (lambda: sampled(ds.WeightedRandomSampler([0, 0])), RuntimeError),
    (lambda: sampled(ds.WeightedRandomSampler([1, -1])), RuntimeError),
    (lambda: ds.WeightedRandomSampler("a"), TypeError),
    (lambda: sampled(ds.PKSampler(2)), ValueError), (lambda: sampled(5), TypeError),
    (lambda: sampled(ds.SequentialSampler(10)), RuntimeError),
    (lambda: sampled(ds.DistributedSampler(3, 3)), RuntimeError),
    (lambda: data(num_shards=4), ValueError), (lambda: data(num_shards=4, shard_id=4), ValueError),
    (lambda: ds.GeneratorDataset(Source(), ["a", "b"], shuffle=True, sampler=ds.SequentialSampler()), ValueError),
    (lambda: ds.GeneratorDataset(lambda: None, ["a"], sampler=[1]), ValueError),
    (lambda: data(num_samples=-1), ValueError)])
def test_sampler_errors(call, error):
    with pytest.raises(error):
        call()


def test_shards():
    assert first(data(num_shards=4, shard_id=1)) == [1, 5] and first(data(num_shards=4, shard_id=3)) == [3, 1]


def test_shuffle_repeat_skip_take():
    assert sorted(first(data(50).shuffle(8))) == list(range(50)) != first(data(50).shuffle(8))
    assert first(data(200).shuffle(10))[0] < 10  # the first row comes from the first ten
    assert (len(rows(data().repeat(3))), data().repeat(3).get_repeat_count(),
            data().repeat(3).batch(4).get_dataset_size(),
            data().batch(4).repeat(3).get_dataset_size(), data().repeat(3).repeat(2).get_repeat_count()) == (18, 3, 5,
                6, 2)
    assert len(rows(data(3).repeat().take(10))) == 10
    assert first(data().skip(4)) == [4, 5] and first(data().skip(40)) == [] and first(data().take(2)) == [0, 1]
    assert data().take(20).get_dataset_size() == 6 == len(data().take(-1))
    assert sorted(first(data(10).shuffle(4).repeat(2))) == sorted(list(range(10)) * 2)


def test_split():
    a, b = data().split([4, 2], randomize=False)
    assert first(a) == [0, 1, 2, 3] and first(b) == [4, 5]
    a, b = data().split([4, 2])
    assert sorted(first(a) + first(b)) == list(range(6))
    it = a.create_tuple_iterator(num_epochs=2, output_numpy=True)
    assert {int(r[0][0]) for r in it} == {int(r[0][0]) for r in it}  # the same rows in each epoch
    assert ([len(p) for p in data(10).split([0.55, 0.45])] == [6, 4]
            and [len(p) for p in data(10).split([0.33, 0.33, 0.34])] == [4, 3, 3])
    a, b = data().batch(2).split([1, 2], randomize=False)
    assert rows(a) == [[[[0], [1]], [0.0, 1.0]]] and len(rows(b)) == 2
    for sizes, error in (([4, 2], RuntimeError), ([0.4, 0.2], ValueError), ([4, 0.2], ValueError), ([], ValueError),
                         (4, TypeError)):
        with pytest.raises(error, match="split"):
            data(10).split(sizes)


# --- map --------------------------------------------------------------------------------------------------------------


def test_map_columns():
    assert rows(data(2).map(lambda v: v + 1)) == [[[1], 0.0], [[2], 1.0]]  # without names: the first column
    assert names(data().map(lambda v: (v, v), "x", ["a", "b"])) == ["a", "b", "y"]
    assert names(data().map(lambda v: v, "y", ["z"])) == ["x", "z"]
    assert names(data().map(lambda y, x: (y, x, y), ["y", "x"], ["p", "q", "r"])) == ["p", "q", "r"]
    assert names(data().map(lambda y, x: y, ["y", "x"], ["p"])) == ["p"]
    assert names(data().map(lambda y: y, "y", ["x"])) == ["x"]
    assert (rows(data(2).map([lambda v: v + 1, lambda v: v * 2, T.TypeCast(pijit.float32)], "x")) ==
            [[[2.0], 0.0], [[4.0], 1.0]])
    assert (rows(data(1).map(lambda v: "abc", "x")) == [["abc", 0.0]]
            and rows(data(1).map(lambda v: [1, 2], "x")) == [[[1, 2], 0.0]])
    assert rows(data(1).map(lambda v: pijit.Tensor([1, 2]), "x")) == [[[1, 2], 0.0]]
    assert names(data().rename("x", "z")) == ["z", "y"] and names(data().rename(["x", "y"], ["y", "x"])) == ["y", "x"]
    assert names(data().project(["y", "x"])) == ["y", "x"]


@pytest.mark.parametrize("call, error, text", [
    (lambda: rows(data().map(lambda x, y: (x, y))), RuntimeError, "missing 1 required positional"),
    (lambda: rows(data().map(lambda x: (x, x), ["y"], ["a"])), RuntimeError, "number of columns"),
    (lambda: rows(data().map(lambda x: x, "w")), RuntimeError, "'w' doesn't exist"),
    (lambda: data().map(lambda x: x, ["x", "x"]), ValueError, "twice"), (lambda: data().map(5), ValueError, "callable"),
    (lambda: data().map(V.HWC2CHW, "x"), ValueError, "HWC2CHW()"),
    (lambda: rows(data().map(lambda x: None)), RuntimeError, "NoneType"),
    (lambda: rows(data().map(lambda x: 1 / 0)), RuntimeError, "ZeroDivisionError"),
    (lambda: data().map(lambda x: x, "x", column_order=["x"]), TypeError, "column_order"),
    (lambda: data().map(lambda x: x, "x", num_parallel_workers=0), ValueError, "num_parallel_workers"),
    (lambda: rows(data().project("z")), RuntimeError, "'z'"),
    (lambda: data().rename(["x", "y"], ["y"]), ValueError, "rename"),
    (lambda: rows(data().rename("q", "y")), RuntimeError, "'q'"),
    (lambda: rows(data().rename("x", "y")), RuntimeError, "already"),
    (lambda: data().batch(0), ValueError, "batch_size"), (lambda: data().batch(2.0), TypeError, "batch_size"),
    (lambda: data().batch(2, "a"), TypeError, "drop_remainder"),
    (lambda: rows(ragged().batch(2)), RuntimeError, r"\(1,\), this one \(2,\)"),
    (lambda: rows(data().batch(lambda info: 0)), RuntimeError, "greater than 0"),
    (lambda: data().shuffle(1), ValueError, "buffer_size"), (lambda: data().repeat(0), ValueError, "count"),
    (lambda: data().take(0), ValueError, "count"), (lambda: data().skip(-1), ValueError, "count"),
    (lambda: ds.zip((data(),)), ValueError, "two or more"), (lambda: ds.zip(data()), TypeError, "tuple"),
    (lambda: rows(ds.zip((data(), data()))), RuntimeError, "more than one"), (lambda: data() + 5, TypeError, "concat"),
    (lambda: rows(data() + data(2, ("a", "b"))), RuntimeError, "same"), (lambda: data().filter(3), TypeError, "filter"),
    (lambda: rows(data() + data().map(T.TypeCast(pijit.float32), "x")), RuntimeError, "data types"),
    (lambda: data().create_tuple_iterator(num_epochs=0), RuntimeError, "num_epochs"),
    (lambda: data().create_tuple_iterator(num_epochs="a"), TypeError, "num_epochs"),
    (lambda: data().create_dict_iterator(output_numpy=3), TypeError, "output_numpy"),
    (lambda: data().create_tuple_iterator(columns=["q"]), RuntimeError, "'q'"),
    (lambda: data().apply(lambda d: 5), TypeError, "return a dataset"),
    (lambda: data().apply(5), TypeError, "function"),
    (lambda: ds.GeneratorDataset(5, ["a"]), TypeError, "source"),
    (lambda: ds.GeneratorDataset(Source()), ValueError, "columns_names"),
    (lambda: ds.GeneratorDataset(Source(), ["a", 3]), TypeError, r"column_names\[1\]"),
    (lambda: rows(ds.GeneratorDataset(Source(), ["a"])), RuntimeError, "column_names is: 1 and .* is: 2"),
    (lambda: rows(ds.GeneratorDataset(Source(), ["a", "b"], column_types=[pijit.float32, None])), RuntimeError,
     "column_types"),
    (lambda: rows(ds.GeneratorDataset([(None,)], ["a"])), RuntimeError, "NoneType")])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def broken(x):
    return {}[int(x[0])]


@pytest.mark.parametrize("kw",
                         [{}, {"num_parallel_workers": 2}, {"num_parallel_workers": 2, "python_multiprocessing": True}])
def test_a_users_exception_comes_with_its_traceback_and_after_the_rows_before_it(kw):
    def at_three(x):
        return broken(x) if x[0] == 3 else x

    got = []
    with pytest.raises(RuntimeError, match="KeyError: 3") as info:
        for row in data().map(at_three, "x", **kw).create_tuple_iterator(num_epochs=1):
            got.append(int(row[0].asnumpy()[0]))
    assert got == [0, 1, 2]
    assert "in broken" in str(info.value) and __file__ in str(info.value)

    def generate():
        yield (np.array(1),)
        raise KeyError("mine")

    got = []
    with pytest.raises(RuntimeError, match="KeyError: 'mine'") as info:
        got += ds.GeneratorDataset(generate, ["a"]).batch(1)
    assert "in generate" in str(info.value) and isinstance(info.value.__cause__, KeyError)


def test_error_samples_mode():
    try:
        for mode, want in ((ds.config.ErrorSamplesMode.SKIP, [0, 1, 2, 4, 5]),
                           (ds.config.ErrorSamplesMode.REPLACE, [0, 1, 2, 2, 4, 5])):
            ds.config.set_error_samples_mode(mode)
            assert first(data().map(lambda x: broken(x) if x[0] == 3 else x, "x")) == want
    finally:
        ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.RETURN)


def pipeline(**kw):
    x = np.arange(40 * 12 * 12 * 3).reshape(40, 12, 12, 3).astype(np.uint8)
    d = ds.NumpySlicesDataset((x, np.arange(40)), ["x", "y"])
    noise = [V.RandomCrop(8, 2), V.RandomHorizontalFlip(), T.RandomApply([V.AdjustBrightness(1.5)]),
             V.Rescale(1 / 255, 0.0), V.HWC2CHW()]
    return d.map(noise, "x", **kw).shuffle(9).batch(7)


def test_a_seed_gives_the_same_rows_for_any_number_of_workers():
    plain = rows(pipeline(num_parallel_workers=1))
    assert rows(pipeline()) == rows(pipeline(num_parallel_workers=3)) == rows(pipeline(num_parallel_workers=2)) == plain
    ds.config.set_seed(8)
    assert rows(pipeline()) != plain

    def noisy(x):
        return x + np.random.rand()

    def by(n):
        ds.config.set_seed(3)
        return rows(data().map(noisy, "y", num_parallel_workers=n, python_multiprocessing=True))

    assert by(2) == by(3)


def test_the_global_seed_counts_too():
    def order():
        return first(ds.GeneratorDataset(Source(30), ["x", "y"]))

    pijit.set_seed(11)
    assert ds.config.get_seed() == 11
    a = order()
    ds.config.set_seed(12)
    b = order()
    pijit.set_seed(13)
    c = order()
    pijit.set_seed(11)
    assert a == order() and len({tuple(a), tuple(b), tuple(c)}) == 3


def test_config():
    kept = {"numa_enable": True, "fast_recovery": False, "callback_timeout": 30, "auto_num_workers": True,
            "enable_shared_mem": False,
            "monitor_sampling_interval": 5, "autotune_interval": 3, "enable_watchdog": False, "num_parallel_workers": 3,
            "prefetch_size": 4}
    before = dict(ds.config._state)
    try:
        for name, value in kept.items():
            getattr(ds.config, f"set_{name}")(value)
            assert getattr(ds.config, f"get_{name}")() == value
        ds.config.set_numa_enable(numa_enable=False)
        assert len(rows(data().batch(2))) == 3 and all(callable(getattr(ds.config, n)) for n in ds.config.__all__)
    finally:
        ds.config._state.update(before)
    for call, error in ((lambda: ds.config.set_seed(-1), ValueError), (lambda: ds.config.set_seed("1"), TypeError),
                        (lambda: ds.config.set_prefetch_size(0), ValueError),
                        (lambda: ds.config.set_num_parallel_workers(1.5), TypeError),
                        (lambda: ds.config.set_multiprocessing_start_method("x"), ValueError),
                        (lambda: ds.config.load("none"), RuntimeError)):
        with pytest.raises(error):
            call()


def test_one_hot():
    hot = T.OneHot(4)
    assert hot(np.array(2)).tolist() == hot([2]).tolist() == hot(np.array([[2]])).tolist() == [0, 0, 1, 0]
    assert (hot(np.array([[1], [2]], np.uint8)).tolist() == [[0, 1, 0, 0], [0, 0, 1, 0]]
            and hot(np.uint8(1)).dtype == np.uint8)
    assert np.allclose(T.OneHot(5, 0.1)(2), [0.02, 0.02, 0.92, 0.02, 0.02]) and T.OneHot(5, 0.1)(2).dtype == np.float64
    labels = np.arange(6).reshape(6, 1) % 4
    d = ds.NumpySlicesDataset(labels, ["y"], shuffle=False)
    assert rows(d.map(hot, "y")) == [[hot(v).tolist()] for v in labels] and d.map(hot, "y").output_shapes() == [[4]]
    for bad in (4, -1, 1.0, np.ones((2, 2), int)):
        with pytest.raises(RuntimeError, match="OneHot"):
            hot(bad)


def test_operations_on_whole_chunks_give_what_they_give_row_by_row():
    x = np.random.default_rng(0).integers(0, 256, (50, 5, 6, 3)).astype(np.uint8)
    for ops in ([V.Rescale(1 / 255, 0.5)], [V.Normalize([121.0, 115, 100], [70.0, 68, 71]), V.HWC2CHW()],
                [V.ToTensor()], [V.HWC2CHW(), V.VerticalFlip()],
                [V.HorizontalFlip(), V.VerticalFlip()], [T.TypeCast("int8"), T.Mask(T.Relational.GT, 3)], [T.Fill(7)],
                [V.HWC2CHW(), V.Normalize([0.1, 0.2, 0.3], [0.5, 0.6, 0.7], False)], [V.ToType(np.float16)]):
        whole = [r[0] for r in ds.NumpySlicesDataset(x, ["x"], shuffle=False).map(ops,
            "x").create_tuple_iterator(output_numpy=True, num_epochs=1)]
        for row, got in zip(x, whole):
            for op in ops:
                row = op(row)
            assert row.dtype == got.dtype and np.array_equal(row, got), ops
        assert np.array_equal(np.stack(whole),
                              np.concatenate([r[0] for r in ds.NumpySlicesDataset(x, ["x"], shuffle=False).map(
            ops, "x").batch(8).create_tuple_iterator(output_numpy=True, num_epochs=1)]))


# --- batches ----------------------------------------------------------------------------------------------------------


def test_batch():
    assert [(b[0].shape, b[1].dtype) for b in data().batch(4)] == [((4, 1), pijit.float64), ((2, 1), pijit.float64)]
    assert ([b[0].shape for b in data().batch(4, drop_remainder=True)] == [(4, 1)]
            and rows(data().batch(100, True)) == [])
    b = data().batch(4)
    assert (b.get_dataset_size(), b.get_batch_size(), b.output_shapes(), b.output_shapes(estimate=True)) == (
        2, 4, [[4, 1], [4]], [[None, 1], [None]])
    assert rows(data().batch(lambda info: info.get_batch_num() + 1)) == [
        [[[0]], [0.0]], [[[1], [2]], [1.0, 2.0]], [[[3], [4], [5]], [3.0, 4.0, 5.0]]]
    assert rows(data(4).batch(2).batch(2)) == [[[[[0], [1]], [[2], [3]]], [[0.0, 1.0], [2.0, 3.0]]]]
    assert len(rows(data(700).batch(300))) == 3 and len(rows(data().batch(-1))) == 1


def test_per_batch_map():
    def add(x, info):
        assert isinstance(x, list) and isinstance(x[0], np.ndarray)
        return ([v + info.get_batch_num() + 10 * info.get_epoch_num() for v in x],)

    d = data().batch(4, per_batch_map=add, input_columns=["x"])
    assert rows(d) == [[[[0], [1], [2], [3]], [0.0, 1.0, 2.0, 3.0]], [[[5], [6]], [4.0, 5.0]]]
    assert (names(data().batch(4, per_batch_map=lambda x, info: (x, x), input_columns=["x"],
                               output_columns=["a", "b"])) == ["a", "b", "y"])
    assert rows(data().batch(4, per_batch_map=lambda x, y, info: (np.stack(x) * 2, y)))[1] == [[[8], [10]], [4.0, 5.0]]
    assert (rows(data().batch(4, per_batch_map=add, input_columns=["x"], num_parallel_workers=2,
                              python_multiprocessing=True)) == rows(d))
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        rows(data().batch(4, per_batch_map=lambda x, info: 1 / 0, input_columns="x"))


def test_padded_batch():
    ones, zeros = [1.0, 1.0], [0.0, 0.0]
    assert rows(ragged().padded_batch(2, pad_info={}))[0] == [[[0, 0], [0, 1]], [[ones, zeros], [ones, ones]]]
    got = rows(ragged().project(["a"]).padded_batch(2, pad_info={"a": ([5], -1)}))
    assert got[0] == [[[0, -1, -1, -1, -1], [0, 1, -1, -1, -1]]]
    got = rows(ragged().padded_batch(2, pad_info={"a": ([1], -1), "b": ([None, 3], 7)}))
    assert got[0] == [[[0], [0]], [[[1.0, 1.0, 7.0], [7.0] * 3], [[1.0, 1.0, 7.0]] * 2]]
    for info, text in (({"q": ([1], 0)}, "'q'"), ({"a": ([1, 2], 0)}, "rank"), (None, "different shapes")):
        with pytest.raises(RuntimeError, match=text):
            rows(ragged().padded_batch(2, pad_info=info))


def test_bucket_batch_by_length():
    def run(d, *a, **k):
        return rows(d.bucket_batch_by_length(*a, **k))

    a = ragged().project(["a"])
    assert run(a, ["a"], [3], [2, 2]) == [[[[0, 0], [0, 1]]], [[[0, 1, 2, 0], [0, 1, 2, 3]]]]
    assert (run(a, ["a"], [3, 6], [2, 2, 2], pad_to_bucket_boundary=True) ==
            [[[[0, 0], [0, 1]]], [[[0, 1, 2, 0, 0], [0, 1, 2, 3, 0]]]])
    assert run(a, ["a"], [2, 4], [2, 1, 1]) == [[[[0, 1]]], [[[0, 1, 2]]], [[[0, 1, 2, 3]]], [[[0]]]]
    assert run(a, ["a"], [2], [2, 2], drop_remainder=True) == [[[[0, 1, 0], [0, 1, 2]]]]
    assert len(run(ragged(), ["a", "b"], [3], [2, 2], element_length_function=lambda a, b: len(a) + len(b))) == 3
    assert a.bucket_batch_by_length(["a"], [2], [2, 2]).get_dataset_size() == 3
    for args, error in (((["a"], [2], [2]), ValueError), ((["a"], [2, 1], [2, 2, 2]), ValueError),
                        ((["a", "b"], [2], [2, 2]), ValueError),
                        ((["a"], [], [2]), ValueError), ((["a"], [0], [2, 2]), ValueError),
                        ((["a"], 3, [2, 2]), TypeError)):
        with pytest.raises(error, match="bucket_batch_by_length"):
            ragged().bucket_batch_by_length(*args)


def test_zip_concat_filter_flat_map():
    assert rows(ds.zip((data(3), data(2, ("a", "b"))))) == [[[0], 0.0, [0], 0.0], [[1], 1.0, [1], 1.0]]
    assert len(data(3).zip(data(2, ("a", "b")))) == 2
    assert first(data(2) + data(3)) == [0, 1, 0, 1, 2] and len(data(2).concat([data(3), data(1)])) == 6
    assert (first(data().filter(lambda x: x[0] % 2 == 0, "x")) == [0, 2, 4]
            and len(data().filter(lambda x, y: y > 3)) == 2)
    assert (first(data(2).flat_map(lambda x, y: ds.NumpySlicesDataset(np.arange(2) + int(x[0]), shuffle=False))) ==
            [0, 1, 1, 2])


def test_sampler_of_concatenated_datasets():
    def sampled_both(sampler):
        both = data(4) + data(3)
        both.use_sampler(sampler)
        assert len(both) == len(rows(both))
        return first(both)

    assert sampled_both(ds.DistributedSampler(2, 0, shuffle=False)) == [0, 2, 0, 2]
    assert sampled_both(ds.DistributedSampler(2, 1, shuffle=False)) == [1, 3, 1]
    assert sampled_both(ds.DistributedSampler(3, 2, shuffle=False)) == [2, 1]
    assert sorted(sampled_both(ds.RandomSampler())) == [0, 0, 1, 1, 2, 2, 3]
    for sampler, error in ((ds.SequentialSampler(), TypeError), (ds.DistributedSampler(2, 0, False, 3), ValueError),
                           (ds.DistributedSampler(2, 0), ValueError)):
        with pytest.raises(error):
            sampled_both(sampler)


def test_a_dataset_is_not_zipped_with_itself():
    d = ds.GeneratorDataset(Source(), ["x", "y"])
    with pytest.raises(ValueError, match="not a tree"):
        ds.zip((d.project("x"), d.project("y")))


def test_batch_sampler_and_collate():
    d = ds.GeneratorDataset(Source(), ["x", "y"], batch_sampler=[[0, 1], [5]])
    assert rows(d) == [[[[0], [1]], [0.0, 1.0]], [[[5]], [5.0]]] and len(d) == 2
    d = ds.GeneratorDataset(Source(), ["x"], batch_sampler=[[0, 1], [5]],
                            collate_fn=lambda items: (np.array([i[1] for i in items]),))
    assert rows(d) == [[[0.0, 1.0]], [[5.0]]]


def test_sync_wait_and_callbacks():
    seen = []
    d = data(4).sync_wait("go", callback=seen.append)
    got = []
    for row in d.create_dict_iterator(num_epochs=1):
        got.append(int(row["x"].asnumpy()[0]))
        d.sync_update("go", data=len(got))
    assert got == [0, 1, 2, 3] and seen == [1, 2, 3, 4]
    it = data(4).sync_wait("go").create_dict_iterator(num_epochs=1)
    next(it)
    del it  # waits for an update that never comes; it must end all the same

    class Tell(ds.DSCallback):
        def ds_epoch_begin(self, context):
            seen.append(("epoch", context.cur_epoch_num))

        def ds_step_end(self, context):
            seen.append(context.cur_step_num)

    seen.clear()
    rows(data(3).map(lambda x: x, "x", callbacks=Tell()))
    assert seen == [("epoch", 1), 1, 2, 3]


# --- iterators, threads and processes ---------------------------------------------------------------------------------


def wait_for(condition):
    end = time.time() + 10
    while not condition() and time.time() < end:
        time.sleep(0.01)
    return condition()


def pipeline_threads():
    return [t for t in threading.enumerate() if t.name.startswith("pijit-dataset")]


def test_a_dropped_iterator_leaves_no_thread_and_no_process():
    import multiprocessing
    gc.collect()
    assert wait_for(lambda: not pipeline_threads())
    before = len(multiprocessing.active_children())
    for kw in ({}, {"num_parallel_workers": 2}, {"num_parallel_workers": 2, "python_multiprocessing": True}):
        it = data(1000).map(lambda x: x, "x", **kw).repeat().create_dict_iterator()
        for _ in range(3):
            next(it)
        assert pipeline_threads()
        del it
        assert wait_for(lambda: not pipeline_threads()), kw
        assert wait_for(lambda: len(multiprocessing.active_children()) == before)
    it = data(10).create_dict_iterator()
    next(it)
    it.stop()
    assert wait_for(lambda: not pipeline_threads())
    with pytest.raises(RuntimeError, match="stopped"):
        next(it)


def test_rows_of_a_generator_are_taken_as_they_are_needed():
    taken = []

    def generate():
        for i in range(1000):
            taken.append(i)
            yield (i,)

    it = ds.GeneratorDataset(generate, ["x"]).create_tuple_iterator()
    next(it)
    time.sleep(0.1)
    assert len(taken) <= ds.config.get_prefetch_size() + 3
    it.stop()


def test_debug_mode_runs_in_this_thread():
    seen = set()
    ds.config.set_debug_mode(True, [lambda *row: seen.add(len(row))])
    try:
        here = threading.get_ident()
        assert rows(data(3).map(lambda x: np.array(threading.get_ident() == here), "x").project("x")) == [[True]] * 3
        assert seen == {1}
    finally:
        ds.config.set_debug_mode(False)


def run_script(text, **kw):
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60,
                          env=dict(os.environ), **kw)


def test_the_interpreter_ends_with_iterators_alive():
    got = run_script("""
import numpy as np, pijit.dataset as ds
its = []
for kw in ({}, dict(num_parallel_workers=2), dict(num_parallel_workers=2, python_multiprocessing=True)):
    d = ds.NumpySlicesDataset(np.arange(1000), ["x"]).map(lambda x: x + 1, "x", **kw).batch(3).repeat()
    its.append(d.create_dict_iterator())
    next(its[-1])
print("end")
""")
    assert (got.returncode, got.stdout, got.stderr) == (0, "end\n", "")


def test_a_worker_process_that_dies_is_an_error():
    def die(x):
        os._exit(3)

    with pytest.raises(RuntimeError):
        rows(data().map(die, "x", num_parallel_workers=2, python_multiprocessing=True))


def test_import_is_light():
    got = run_script("""
import sys, pijit
print([m for m in sys.modules if m.startswith(("PIL", "pijit.dataset.", "concurrent", "multiprocessing"))])
print(pijit.dataset.GeneratorDataset.__name__, "PIL" in sys.modules)
""")
    assert got.stdout == "[]\nGeneratorDataset False\n", got.stderr


@pytest.mark.parametrize("kw", ["num_parallel_workers=2", "num_parallel_workers=2, python_multiprocessing=True"])
def test_an_interrupt_ends_all(kw):
    start = time.time()
    got = run_script(f"""
import os, signal, threading, time
import numpy as np, pijit.dataset as ds
signal.signal(signal.SIGINT, signal.default_int_handler)
def slow(x):
    time.sleep(50)
d = ds.NumpySlicesDataset(np.arange(5), ["x"]).map(slow, "x", {kw})
it = d.create_dict_iterator()
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    next(it)
except KeyboardInterrupt:
    print("interrupted")
""")
    assert (got.returncode, got.stdout, got.stderr) == (0, "interrupted\n", "") and time.time() - start < 30
