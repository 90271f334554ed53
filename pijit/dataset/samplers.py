"""Samplers: which rows of a random-access dataset an epoch has, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check
from pijit.dataset.datasets import Shuffle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


class BuiltinSampler:
    """Base of the samplers of this module. A child sampler chooses the rows that this one chooses from."""

    def __init__(self, num_samples: int | None = None) -> None:
        name = type(self).__name__
        self.num_samples: int | None = check.integer(name, "num_samples", num_samples, 0, check.INT64_MAX, none=True)
        self.child_sampler: Any = None

    def add_child(self, sampler: Any) -> None:
        """Lets `sampler` choose rows first. Raises RuntimeError for a second child, TypeError for no sampler."""
        if self.child_sampler is not None:
            raise RuntimeError(
                f"[{type(self).__name__}.add_child] there is a child sampler already; a sampler has one.")
        if sampler is not None and not isinstance(sampler, (BuiltinSampler, Sampler)):
            raise TypeError(
                f"[{type(self).__name__}.add_child] sampler must be a sampler, but got {check.shown(sampler)}.")
        self.child_sampler = sampler

    def get_child(self) -> Any:
        """The child sampler or None."""
        return self.child_sampler

    def get_num_samples(self) -> int | None:
        """The number of rows asked for, None for all."""
        return self.num_samples

    def is_shuffled(self) -> Any:
        """Whether rows come in random order."""
        return self.child_sampler is not None and self.child_sampler.is_shuffled()

    def is_sharded(self) -> Any:
        """Whether rows are a shard of the data."""
        return self.child_sampler is not None and self.child_sampler.is_sharded()

    def _limit(self, n):
        return n if not self.num_samples else min(n, self.num_samples)

    def _own(self, n, rng, epoch, labels):
        raise NotImplementedError

    def _indices(self, n, rng, epoch, labels=None):
        """The places of rows of this epoch among n, an int64 array."""
        if self.child_sampler is not None:
            below = np.asarray(self.child_sampler._indices(n, rng, epoch, labels), np.int64)
            return below[_in_range(self, self._own(len(below), rng, epoch, None if labels is None else labels[below]),
                                   len(below))]
        return _in_range(self, self._own(n, rng, epoch, labels), n)

    def _count(self, n):
        if self.child_sampler is not None:
            n = self.child_sampler._count(n)
        return self._own_count(n)

    def _own_count(self, n):
        return self._limit(n)


def _in_range(sampler, indices, n):
    indices = np.asarray(indices, np.int64)
    bad = (indices < 0) | (indices >= n)
    if bad.any():
        raise RuntimeError(
            f"[{type(sampler).__name__}] Sample ID ({indices[bad.argmax()]}) is out of bound, expected range "
                           f"[0, {n - 1}].")
    return indices


class SequentialSampler(BuiltinSampler):
    """Rows in order.

    Args: start_index: the first row, None for 0. num_samples: how many, None for all.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when there are not more rows than start_index."""

    def __init__(self, start_index: Any = None, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self.start_index: int | None = check.integer("SequentialSampler", "start_index", start_index, 0, none=True)

    def _own(self, n, rng, epoch, labels):
        start = self.start_index or 0
        if start >= n and n:
            raise RuntimeError(
                f"[SequentialSampler] start_index must be less than the number of rows, but got {start} for {n} rows.")
        return np.arange(start, start + self._limit(n - start))

    def _own_count(self, n):
        return self._limit(max(0, n - (self.start_index or 0)))


class RandomSampler(BuiltinSampler):
    """Rows in random order, a new one in each epoch.

    Args: replacement: rows may come more than once. num_samples: how many, None for all. shuffle: a Shuffle mode."""

    def __init__(self, replacement: bool = False, num_samples: int | None = None,
                 shuffle: bool = Shuffle.GLOBAL) -> None:
        super().__init__(num_samples)
        self.replacement: bool = check.boolean("RandomSampler", "replacement", replacement)
        self.shuffle: Any = check.instance("RandomSampler", "shuffle", shuffle, (bool, Shuffle), none=True)
        self.deterministic = False
        self.reshuffle_each_epoch = True

    def is_shuffled(self) -> bool:
        """True."""
        return True

    def _own(self, n, rng, epoch, labels):
        if self.replacement:
            return rng.integers(0, n, self._own_count(n)) if n else np.arange(0)
        return rng.permutation(n)[:self._limit(n)]

    def _own_count(self, n):
        return self._limit(n)


class SubsetSampler(BuiltinSampler):
    """These rows, in this order.

    Args: indices: an int or an iterable of ints. num_samples: only the first ones.
    Raises TypeError for other things, RuntimeError when the pipeline runs for a place there is not."""

    def __init__(self, indices: Any, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        name = type(self).__name__
        if check.is_int(indices):
            indices = [indices]
        if isinstance(indices, (str, bytes)) or not hasattr(indices, "__iter__"):
            raise TypeError(f"[{name}] indices must be an int or an iterable of ints, but got {check.shown(indices)}.")
        indices = indices.tolist() if isinstance(indices, np.ndarray) else list(indices)
        for i, v in enumerate(indices):
            if not check.is_int(v):
                raise TypeError(f"[{name}] indices[{i}] must be an int, but got {check.shown(v)}.")
        self.indices: list[int] = [int(v) for v in indices]

    def _own(self, n, rng, epoch, labels):
        return np.array(self.indices, np.int64)[:self._limit(len(self.indices))]

    def _own_count(self, n):
        return self._limit(len(self.indices))


class SubsetRandomSampler(SubsetSampler):
    """These rows in random order, a new one in each epoch."""

    def is_shuffled(self) -> bool:
        """True."""
        return True

    def _own(self, n, rng, epoch, labels):
        return rng.permutation(np.array(self.indices, np.int64))[:self._limit(len(self.indices))]


class DistributedSampler(BuiltinSampler):
    """Every num_shards-th row, so that num_shards processes have different ones.

    Args:
        num_shards, shard_id: ints, 0 ≤ shard_id < num_shards.
        shuffle: shuffles all rows (with the seed that all processes share) before they are dealt out.
        num_samples: how many, None for all of the shard.
        offset: the shard that the first row goes to; then no row comes twice, and shards may differ in size by one.
            With -1 all shards are equally large, and the last rows are the first ones again."""

    def __init__(self, num_shards: int, shard_id: int, shuffle: bool = True, num_samples: int | None = None,
                 offset: float = -1) -> None:
        super().__init__(num_samples)
        op = "DistributedSampler"
        self.num_shards: int = check.integer(op, "num_shards", num_shards)
        self.shard_id: int = check.integer(op, "shard_id", shard_id)
        self.shuffle: Any = check.instance(op, "shuffle", shuffle, (bool, Shuffle))
        self.offset: int = check.integer(op, "offset", offset)

    def _checked(self):
        if self.num_shards < 1 or not 0 <= self.shard_id < self.num_shards:
            raise RuntimeError(
                f"[DistributedSampler] shard_id must be within [0, num_shards), but got {self.shard_id} of "
                               f"{self.num_shards} shards.")
        if not -1 <= self.offset < self.num_shards:
            raise RuntimeError(
                f"[DistributedSampler] offset must be within [-1, num_shards), but got {self.offset} for "
                               f"{self.num_shards} shards.")

    def is_shuffled(self) -> bool:
        """Whether shuffle was asked for."""
        return bool(self.shuffle)

    def is_sharded(self) -> bool:
        """True."""
        return self.num_shards > 1

    def _own(self, n, rng, epoch, labels):
        from pijit.dataset import config
        self._checked()
        if self.shuffle:
            # not the iterator's generator: all processes must deal out the same order
            order = np.random.default_rng((config.get_seed(), epoch)).permutation(n)
        else:
            order = np.arange(n)
        if not n:
            return order
        if self.offset == -1:
            places = (np.arange(-(-n // self.num_shards)) * self.num_shards + self.shard_id) % n
        else:
            places = np.arange((self.shard_id - self.offset) % self.num_shards, n, self.num_shards)
        return order[places[:self._limit(len(places))]]

    def _own_count(self, n):
        self._checked()
        if self.offset == -1:
            return self._limit(-(-n // self.num_shards))
        return self._limit(len(range((self.shard_id - self.offset) % self.num_shards, n, self.num_shards)))


class PKSampler(BuiltinSampler):
    """`num_val` rows of each of P classes: for datasets of files with labels.

    Args:
        num_val: int ≥ 1. num_class: must be None (all classes).
        shuffle: takes the classes in random order. class_column: the column of labels. num_samples: how many rows at
            most."""

    def __init__(self, num_val: Any, num_class: Any = None, shuffle: bool = False, class_column: str = "label",
                 num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self.num_val: int = check.integer("PKSampler", "num_val", num_val)
        if num_class is not None:
            raise NotImplementedError("[PKSampler] num_class must be None: all classes are taken.")
        self.shuffle: Any = check.instance("PKSampler", "shuffle", shuffle, (bool, Shuffle))
        self.class_column: str | None = check.string("PKSampler", "class_column", class_column)

    def is_shuffled(self) -> bool:
        """Whether shuffle was asked for."""
        return bool(self.shuffle)

    def _own(self, n, rng, epoch, labels):
        if labels is None:
            raise RuntimeError("[PKSampler] the dataset has no labels to choose by.")
        if self.num_val < 1:
            raise RuntimeError(f"[PKSampler] num_val must be at least 1, but got {self.num_val}.")
        classes = np.unique(labels)
        if self.shuffle:
            classes = rng.permutation(classes)
        out = []
        for c in classes:
            of_class = np.flatnonzero(labels == c)
            out.append(rng.permutation(of_class)[:self.num_val] if len(of_class) >= self.num_val else
                       rng.choice(of_class, self.num_val))
        out = np.concatenate(out) if out else np.arange(0)
        return out[:self._limit(len(out))]

    def _count(self, n):
        return None


class WeightedRandomSampler(BuiltinSampler):
    """Rows at random, with probabilities in proportion to weights.

    Args:
        weights: a list of numbers ≥ 0, one per row. num_samples: how many, None for as many as there are rows.
        replacement: rows may come more than once.
    Raises TypeError for no numbers; RuntimeError when the pipeline runs for negative ones, for too many, for zeros
    alone."""

    def __init__(self, weights: Any, num_samples: int | None = None, replacement: bool = True) -> None:
        super().__init__(num_samples)
        if isinstance(weights, (str, bytes)) or not hasattr(weights, "__iter__"):
            raise TypeError(
                f"[WeightedRandomSampler] weights must be a list of numbers, but got {check.shown(weights)}.")
        weights = weights.tolist() if isinstance(weights, np.ndarray) else list(weights)
        for i, w in enumerate(weights):
            if not check.is_real(w):
                raise TypeError(f"[WeightedRandomSampler] weights[{i}] must be a number, but got {check.shown(w)}.")
        self.weights = weights
        self.replacement: bool = check.boolean("WeightedRandomSampler", "replacement", replacement)

    def is_shuffled(self) -> bool:
        """True."""
        return True

    def _own(self, n, rng, epoch, labels):
        w = np.array(self.weights, np.float64)
        if not len(w):
            raise RuntimeError("[WeightedRandomSampler] weights must not be empty.")
        if (w < 0).any() or not np.isfinite(w).all():
            bad = int(np.argmax((w < 0) | ~np.isfinite(w)))
            raise RuntimeError(
                f"[WeightedRandomSampler] weights must be finite and not negative, but weights[{bad}] is {w[bad]}.")
        if len(w) > n:
            raise RuntimeError(
                f"[WeightedRandomSampler] there must not be more weights than rows, but got {len(w)} for {n} rows.")
        if not w.any():
            raise RuntimeError("[WeightedRandomSampler] weights must not be all zero.")
        count = self._own_count(n)
        if self.replacement:
            return rng.choice(len(w), count, p=w / w.sum())
        if count > len(w):
            raise RuntimeError(
                f"[WeightedRandomSampler] num_samples must not be more than the number of weights without replacement, "
                               f"but got {count} for {len(w)}.")
        # the order of exponential clocks with these rates; rows of weight zero come last
        with np.errstate(divide="ignore"):
            return np.argsort(rng.exponential(size=len(w)) / w, kind="stable")[:count]

    def _own_count(self, n):
        return self._limit(n)


class Sampler:
    """Base of a user's samplers: override __iter__, which yields the places of rows.

    `dataset_size` and `num_samples` are set.

    Args: num_samples: how many rows at most, None for all that __iter__ yields."""

    def __init__(self, num_samples: int | None = None) -> None:
        self.num_samples: int | None = check.integer(type(self).__name__, "num_samples", num_samples, 0, none=True)
        self.dataset_size: int = 0
        self.child_sampler: Any = None

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"[{type(self).__name__}] a sampler must define __iter__.")

    def add_child(self, sampler: Any) -> None:
        """Lets `sampler` choose rows first."""
        BuiltinSampler.add_child(self, sampler)

    get_child: Callable[..., Any] = BuiltinSampler.get_child
    get_num_samples: Callable[..., int | None] = BuiltinSampler.get_num_samples

    def is_shuffled(self) -> bool:
        """Whether rows come in random order: unknown, so True."""
        return True

    def is_sharded(self) -> bool:
        """Whether rows are a shard of the data: unknown, so False unless its child says so."""
        return self.child_sampler is not None and self.child_sampler.is_sharded()

    def _indices(self, n, rng, epoch, labels=None):
        below = None
        if getattr(self, "child_sampler", None) is not None:
            below = np.asarray(self.child_sampler._indices(n, rng, epoch, labels), np.int64)
            n = len(below)
        self.dataset_size = n
        indices = _collect(self, getattr(self, "num_samples", None))
        return indices if below is None else below[_in_range(self, indices, n)]

    def _count(self, n):
        return None


class IterSampler(Sampler):
    """The sampler of an iterable of places."""

    def __init__(self, source: Any, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self.source = source

    def __iter__(self) -> Iterator[Any]:
        return iter(self.source)

    def _count(self, n):
        if hasattr(self.source, "__len__"):
            return min(len(self.source), self.num_samples or check.INT64_MAX)
        return None


def _collect(sampler, limit):
    from pijit.dataset.pipeline import user_error
    out = []
    try:
        for i in sampler:
            if limit and len(out) == limit:
                break
            i = i.item() if isinstance(i, np.ndarray) and i.size == 1 else i
            if not check.is_int(i):
                raise TypeError(f"[{type(sampler).__name__}] __iter__ must yield ints, but yielded {check.shown(i)}.")
            out.append(int(i))
    except TypeError:
        raise
    except Exception as e:
        raise user_error(f"[{type(sampler).__name__}] __iter__", e) from e
    return np.array(out, np.int64)


def choose(op: Any, sampler: Any, num_samples: int, shuffle: bool, num_shards: int, shard_id: int,
           random_by_default: bool = True) -> DistributedSampler:
    """The sampler that a dataset's arguments mean. Raises ValueError for arguments that exclude one another."""
    check.integer(op, "num_samples", num_samples, 0, check.INT64_MAX, none=True)
    check.instance(op, "shuffle", shuffle, (bool, Shuffle), none=True)
    check.integer(op, "num_shards", num_shards, 1, check.INT32_MAX, none=True)
    check.integer(op, "shard_id", shard_id, 0, check.INT32_MAX, none=True)
    if (num_shards is None) != (shard_id is None):
        raise ValueError(
            f"[{op}] num_shards and shard_id need to be passed in together, but got {num_shards} and {shard_id}.")
    if num_shards is not None and shard_id >= num_shards:
        raise ValueError(f"[{op}] shard_id should be less than num_shards, but got {shard_id} and {num_shards}.")
    if sampler is not None:
        if (shuffle is not None or num_shards is not None or num_samples is not None
            and isinstance(sampler, BuiltinSampler)):
            raise ValueError(
                f"[{op}] Conflicting arguments during sampler assignments. sampler cannot be given together with "
                             f"num_samples: {num_samples}, num_shards: {num_shards}, shard_id: {shard_id}, shuffle: "
                             f"{shuffle}.")
        if isinstance(sampler, (BuiltinSampler, Sampler)):
            if not isinstance(sampler, BuiltinSampler) and num_samples and not sampler.num_samples:
                sampler.num_samples = num_samples
            return sampler
        if hasattr(sampler, "__iter__") and not isinstance(sampler, (str, bytes)):
            return IterSampler(sampler, num_samples)
        raise TypeError(f"[{op}] sampler must be a sampler or an iterable of ints, but got {check.shown(sampler)}.")
    shuffle = random_by_default if shuffle is None else bool(shuffle) and shuffle != Shuffle.FALSE
    if num_shards is not None:
        return DistributedSampler(num_shards, shard_id, shuffle, num_samples)
    return RandomSampler(num_samples=num_samples) if shuffle else SequentialSampler(num_samples=num_samples)
