"""Datasets of images and labels that lie in a few files: MNIST, CIFAR and what is stored as they are."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check, mat
from pijit.dataset.datasets import Shuffle
from pijit.dataset.files import FileRows, Lines, Listed, UsageSet, WholeSet, _file, _folder, read_bytes
from pijit.dataset.sources import MappableDataset
from pijit.dataset.pipeline import Chunk

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any



_IDX = {8: ("bytes", np.dtype(np.uint8)), 12: ("int32", np.dtype(">i4"))}


def _idx(op, path, rank, kind=8):
    """The array of a file in the IDX format with elements of this kind."""
    name, dtype = _IDX[kind]
    try:
        size = os.path.getsize(path)
        with open(path, "rb") as f:
            head = f.read(4 + 4 * rank)
            if len(head) < 4 + 4 * rank:
                raise RuntimeError(f"[{op}] {path!r} is no IDX file: its header is cut off after {len(head)} bytes.")
            magic, *shape = struct.unpack(f">{1 + rank}I", head)
            if magic != (kind << 8) + rank:
                raise RuntimeError(f"[{op}] {path!r} is no IDX file of {name} with {rank} axes: its magic number is "
                                   f"{magic} instead of {(kind << 8) + rank}.")
            count = 1
            for s in shape:
                count *= s
            if size != len(head) + count * dtype.itemsize:
                raise RuntimeError(f"[{op}] {path!r} should hold {' x '.join(map(str, shape))} {name} after its "
                                   f"header, but holds {size - len(head)} bytes.")
            return np.fromfile(f, dtype, count).reshape(shape)
    except OSError as e:
        raise RuntimeError(f"[{op}] cannot read {path!r}: {e}") from e


def _joined(parts):
    """One column of the parts of each."""
    return [np.concatenate(c) if len(c) > 1 else c[0] for c in zip(*parts)]


class _Idx(Listed):
    """Images and labels in files in the IDX format. Kinds define `_files(usage)`: the pairs of files of a usage."""

    def _files(self):
        raise NotImplementedError

    def _pair(self, images, labels):
        op = type(self).__name__
        x, y = _idx(op, images, 3), self._marks(_idx(op, labels, self._rank, self._kind))
        if len(x) != len(y):
            raise RuntimeError(f"[{op}] {images!r} holds {len(x)} images, but {labels!r} {len(y)} labels.")
        if x.shape[1:] != (28, 28):
            raise RuntimeError(f"[{op}] {images!r} holds images of {x.shape[1]} x {x.shape[2]} instead of 28 x 28.")
        return x[..., None], y

    _rank, _kind = 1, 8  # of the labels

    def _marks(self, labels):
        return labels.astype(np.uint32)

    def _list(self):
        return dict(zip(("image", "label"), _joined([self._pair(*f) for f in self._files()])))


class MnistDataset(_Idx, UsageSet):
    """Images and labels in the files of MNIST: columns image (uint8 [28, 28, 1]) and label (uint32).

    Args:
        dataset_dir: the folder with train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
            t10k-labels-idx1-ubyte (or those of its usage).
        usage: "train", "test" or "all" (None).
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _usages = ("train", "test", "all")
    _prefixes = (("t10k", "test"), ("train", "train"))  # in the order of the files' names

    def _files(self):
        found = []
        for prefix, usage in self._prefixes:
            if self.usage not in (usage, "all"):
                continue
            images, labels = (_find(self.dataset_dir, prefix, kind) for kind in ("images", "labels"))
            if images is None or labels is None:
                if self.usage == "all" and images is None and labels is None:
                    continue
                raise RuntimeError(f"[{type(self).__name__}] there is no {prefix}-images-idx3-ubyte with "
                                   f"{prefix}-labels-idx1-ubyte in {self.dataset_dir!r}.")
            found.append((images, labels))
        if not found:
            names = " or ".join(f"{p}-images-idx3-ubyte" for p, _ in reversed(self._prefixes))
            raise RuntimeError(f"[{type(self).__name__}] there are no files {names} in {self.dataset_dir!r}.")
        return found


def _find(folder, prefix, kind):
    rank = 3 if kind == "images" else 1
    for name in (f"{prefix}-{kind}-idx{rank}-ubyte", f"{prefix}-{kind}.idx{rank}-ubyte"):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    return None


class FashionMnistDataset(MnistDataset):
    """Fashion-MNIST, whose files are like those of MNIST: see MnistDataset."""


class KMnistDataset(MnistDataset):
    """Kuzushiji-MNIST, whose files are like those of MNIST: see MnistDataset."""


class EMnistDataset(MnistDataset):
    """EMNIST: columns image (uint8 [28, 28, 1], as stored: with rows and columns exchanged) and label (uint32).

    Args:
        dataset_dir: the folder with emnist-NAME-train-images-idx3-ubyte and the three files beside it.
        name: "byclass", "bymerge", "balanced", "letters", "digits" or "mnist".
        usage: "train", "test" or "all" (None). The others are those of MnistDataset, as are the errors."""

    def __init__(self, dataset_dir: str, name: str, usage: str | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None) -> None:
        self.name = check.choice("EMnistDataset", "name", name, ("byclass", "bymerge", "balanced", "letters", "digits",
                                                                "mnist"))
        self._prefixes = tuple((f"emnist-{name}-{part}", part) for part in ("test", "train"))
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache)


class QMnistDataset(_Idx):
    """QMNIST: columns image (uint8 [28, 28, 1]) and label (uint32, or uint32 [8] with all that is known of it).

    Args:
        dataset_dir: the folder with qmnist-train-images-idx3-ubyte, qmnist-train-labels-idx2-int, the same of
            qmnist-test, xnist-images-idx3-ubyte and xnist-labels-idx2-int (or those of its usage).
        usage: "train", "test", "test10k" (the first 10,000 rows of test), "test50k" (the others), "nist" or "all"
            (None: train, test and nist).
        compat: whether a label is the number alone.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _usages = ("train", "test", "test10k", "test50k", "nist", "all")
    _rank, _kind = 2, 12

    def __init__(self, dataset_dir: str, usage: str | None = None, compat: bool = True, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None) -> None:
        self.compat = check.boolean("QMnistDataset", "compat", compat)
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache)

    def _files(self):
        names = {"train": "qmnist-train", "test": "qmnist-test", "nist": "xnist"}
        parts = list(names) if self.usage == "all" else [self.usage.rstrip("0123456789k")]
        return [(self._path(f"{names[p]}-images-idx3-ubyte"), self._path(f"{names[p]}-labels-idx2-int")) for p in parts]

    def _marks(self, labels):
        if labels.shape[1] < 1:
            raise RuntimeError("[QMnistDataset] the labels have no columns.")
        return labels.astype(np.uint32)[:, 0].copy() if self.compat else labels.astype(np.uint32)

    def _list(self):
        columns = super()._list()
        part = {"test10k": slice(10000), "test50k": slice(10000, None)}.get(self.usage, slice(None))
        return {n: c[part] for n, c in columns.items()}


class Cifar10Dataset(UsageSet):
    """CIFAR-10 in its binary version: columns image (uint8 [32, 32, 3]) and label (uint32).

    Args:
        dataset_dir: the folder with data_batch_1.bin … data_batch_5.bin and test_batch.bin. usage: "train", "test" or
            "all" (None).
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _usages = ("train", "test", "all")
    _label_names: tuple[str, ...] = ("label",)  # each a byte before an image

    def _files(self):
        files = {"train": [f"data_batch_{i}.bin" for i in range(1, 6)], "test": ["test_batch.bin"]}
        return files["train"] + files["test"] if self.usage == "all" else files[self.usage]

    def _list(self):
        op, before = type(self).__name__, len(self._label_names)
        paths = [p for p in map(self._path, self._files()) if os.path.isfile(p)]
        if not paths:
            raise RuntimeError(f"[{op}] there is none of the files {', '.join(self._files())} in {self.dataset_dir!r}; "
                               "is it the binary version?")
        data = np.concatenate([_fixed(op, path, before + 3072) for path in paths])
        images = np.ascontiguousarray(data[:, before:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        return {"image": images, **{n: data[:, i].astype(np.uint32) for i, n in enumerate(self._label_names)}}


def _fixed(op, path, size):
    """The rows of a file, each of `size` bytes: uint8 [rows, size]."""
    try:
        data = np.fromfile(path, np.uint8)
    except OSError as e:
        raise RuntimeError(f"[{op}] cannot read {path!r}: {e}") from e
    if not len(data) or len(data) % size:
        raise RuntimeError(f"[{op}] {path!r} has {len(data)} bytes, which is no multiple of {size}, the size of a row; "
                           "is it the binary version?")
    return data.reshape(-1, size)


class Cifar100Dataset(Cifar10Dataset):
    """CIFAR-100 in its binary version: columns image (uint8 [32, 32, 3]), coarse_label and fine_label (uint32).

    Args: dataset_dir: the folder with train.bin and test.bin. The others are those of Cifar10Dataset."""

    _label_names = ("coarse_label", "fine_label")

    def _files(self):
        return ["train.bin", "test.bin"] if self.usage == "all" else [f"{self.usage}.bin"]


class STL10Dataset(UsageSet):
    """STL-10 in its binary version: columns image (uint8 [96, 96, 3]) and label (int32, from 0; -1 for none).

    Args:
        dataset_dir: the folder with train_X.bin, train_y.bin, test_X.bin, test_y.bin and unlabeled_X.bin (or those of
            its usage).
        usage: "train", "test", "unlabeled", "train+unlabeled" or "all" (None).
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments and files that are missing, RuntimeError when the pipeline runs
    for files that are broken."""

    _usages = ("train", "test", "unlabeled", "train+unlabeled", "all")

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None) -> None:
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache)
        for part in self._parts():
            for kind in "X" if part == "unlabeled" else "Xy":
                _file("STL10Dataset", "a file", self._path(f"{part}_{kind}.bin"))

    def _parts(self):
        return ["test", "train", "unlabeled"] if self.usage == "all" else self.usage.split("+")

    def _part(self, part):
        op = "STL10Dataset"
        images = _fixed(op, self._path(f"{part}_X.bin"), 3 * 96 * 96)
        images = images.reshape(-1, 3, 96, 96).transpose(0, 3, 2, 1)  # (stored by columns)
        if part == "unlabeled":
            return images, np.full(len(images), -1, np.int32)
        labels = np.frombuffer(read_bytes(op, self._path(f"{part}_y.bin")), np.uint8).astype(np.int32) - 1
        if len(labels) != len(images):
            raise RuntimeError(f"[{op}] {part}_X.bin holds {len(images)} images, but {part}_y.bin {len(labels)} "
                               "labels.")
        return images, labels

    def _list(self):
        return dict(zip(("image", "label"), _joined([self._part(p) for p in self._parts()])))


def counted(op: str, path: str, values: Any) -> np.ndarray:
    """The whole numbers (int64 [n]) of a variable of a MATLAB file. RuntimeError where it holds something else."""
    found = np.asarray(values if isinstance(values, np.ndarray) else np.nan)
    if found.dtype.kind not in "iuf" or not (np.abs(found) < 2**31).all() or (found % 1 != 0).any():
        raise RuntimeError(f"[{op}] {path!r} should have whole numbers, but has {check.shown(values)}.")
    return found.reshape(-1).astype(np.int64)


class SVHNDataset(Listed):
    """SVHN, cropped digits: columns image (uint8 [32, 32, 3]) and label (uint32, 0 to 9).

    Args:
        dataset_dir: the folder with train_32x32.mat, test_32x32.mat and extra_32x32.mat (or those of its usage).
        usage: "train", "test", "extra" or "all" (None).
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments and files that are missing, RuntimeError when the pipeline runs
    for files that are broken."""

    _usages = ("train", "test", "extra", "all")

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = 1, shuffle: bool | None = None, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None) -> None:
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id)
        for part in self._parts():
            _file("SVHNDataset", "a file", self._path(f"{part}_32x32.mat"))

    def _parts(self):
        return ["train", "test", "extra"] if self.usage == "all" else [self.usage]

    def _part(self, part):
        path = self._path(f"{part}_32x32.mat")
        values = mat.load("SVHNDataset", path)
        x, y = values.get("X"), counted("SVHNDataset", path, values.get("y"))
        if not isinstance(x, np.ndarray) or x.dtype != np.uint8:
            raise RuntimeError(f"[SVHNDataset] {path!r} has no X of bytes.")
        x = x[..., None] if x.ndim == 3 else x
        if x.shape != (32, 32, 3, len(y)):
            raise RuntimeError(f"[SVHNDataset] {path!r} has X {list(x.shape)} instead of [32, 32, 3, {len(y)}].")
        return x.transpose(3, 0, 1, 2), (y % 10).astype(np.uint32)

    def _list(self):
        return dict(zip(("image", "label"), _joined([self._part(p) for p in self._parts()])))


class SemeionDataset(WholeSet):
    """Semeion: columns image (uint8 [16, 16], 0 and 1) and label (uint32).

    Args:
        dataset_dir: the folder with semeion.data.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for a file that is missing
    or broken."""

    def _list(self):
        images, labels = [], []
        path = self._path("semeion.data")
        for number, line in enumerate(Lines("SemeionDataset", path), 1):
            try:
                values = np.array(line.split(), np.float64)
            except ValueError as e:
                raise RuntimeError(f"[SemeionDataset] {path!r} has no numbers at line {number}: {e}") from e
            if len(values) != 266 or not np.isin(values, (0, 1)).all() or values[256:].sum() != 1:
                raise RuntimeError(f"[SemeionDataset] {path!r} should have 256 pixels and 10 marks at line {number}, "
                                   f"each 0 or 1, one mark 1, but has {len(values)} values.")
            images.append(values[:256].astype(np.uint8).reshape(16, 16))
            labels.append(int(values[256:].argmax()))
        return {"image": np.array(images, np.uint8), "label": np.array(labels, np.uint32)}


class USPSDataset(FileRows):
    """USPS: columns image (uint8 [16, 16, 1]) and label (uint32, from 0).

    Args:
        dataset_dir: the folder with usps and usps.t, both unpacked. usage: "train", "test" or "all" (None).
        shuffle: a bool or a Shuffle, GLOBAL by default. num_samples, num_parallel_workers, num_shards, shard_id: as in
            GeneratorDataset.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _names_of_columns = ("image", "label")

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | Shuffle = Shuffle.GLOBAL,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None) -> None:
        self.dataset_dir = dataset_dir
        self.usage = check.choice("USPSDataset", "usage", usage, ("train", "test", "all"), none=True) or "all"
        super().__init__(dataset_dir, num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache)

    def _find(self, op, dataset_files):
        names = {"train": ["usps"], "test": ["usps.t"], "all": ["usps", "usps.t"]}[self.usage]
        return [os.path.join(_folder(op, dataset_files), n) for n in names]

    def _source(self, file):
        return Lines("USPSDataset", file)

    def _values(self, file, row):
        label, *pixels = row.split()
        try:
            pairs = [p.split(":") for p in pixels]
            if [int(k) for k, _ in pairs] != list(range(1, 257)):
                raise ValueError(f"{len(pairs)} pixels")
            values = np.array([v for _, v in pairs], np.float32)
            if not (abs(values) <= 1).all() or not 1 <= int(label) <= 10:
                raise ValueError("a value out of range")
        except ValueError as e:
            raise RuntimeError(f"[USPSDataset] {file!r} should have a label from 1 to 10 and 256 pixels from -1 to 1 "
                               f"in each line, but has {row[:40]!r}: {e}") from e
        image = ((values + np.float32(1)) / np.float32(2) * np.float32(255)).astype(np.uint8)
        return image.reshape(16, 16, 1), np.array(int(label) - 1, np.uint32)


class FakeImageDataset(MappableDataset):
    """Images without a meaning: columns image (uint8) and label (uint32), the same in each run.

    Args:
        num_images: how many. image_size: (height, width, channels). num_classes: how many labels there are.
        base_seed: row k is drawn with the seed base_seed + k.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments."""

    def __init__(self, num_images: int = 1000, image_size: Sequence[int] = (224, 224, 3), num_classes: int = 10,
                 base_seed: int = 0, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None) -> None:
        op = "FakeImageDataset"
        self.num_images = check.integer(op, "num_images", num_images, 1, check.INT32_MAX)
        check.instance(op, "image_size", image_size, (list, tuple))
        if len(image_size) != 3:
            raise ValueError(f"[{op}] image_size must be (height, width, channels), but got {check.shown(image_size)}.")
        self.image_size = [check.integer(op, f"image_size[{i}]", s, 1, check.INT32_MAX)
                           for i, s in enumerate(image_size)]
        self.num_labels = check.integer(op, "num_classes", num_classes, 1, check.INT32_MAX)
        self.base_seed = check.integer(op, "base_seed", base_seed, 0, check.INT32_MAX)
        if cache is not None:
            raise RuntimeError(f"[{op}] cache needs a cache server, which there is none of; leave it out.")
        super().__init__(num_parallel_workers, sampler, num_samples, shuffle, num_shards, shard_id)

    def _columns(self):
        return ["image", "label"]

    def _length(self):
        return self.num_images

    def _label(self, i):
        return int(self._words(i, 1)[0]) * self.num_labels >> 32

    def _labels(self, column):
        return [self._label(i) for i in range(self.num_images)] if column == "label" else super()._labels(column)

    def _words(self, i, n):
        """n words of 32 bits of the Mersenne Twister with the row's seed."""
        return np.random.RandomState(self.base_seed + i)._bit_generator.random_raw(n)

    def _image(self, i):
        """The bytes of numbers of a normal distribution, in which negative ones are zero: so MindSpore fills images."""
        size = self.image_size[0] * self.image_size[1] * self.image_size[2]
        numbers = -(-size // 8)
        drawn, words = np.zeros(0), 8 * numbers + 64
        while len(drawn) < numbers:
            w = self._words(i, words).reshape(-1, 4).astype(np.float64)
            u = (w[:, ::2] + w[:, 1::2] * 2.0**32) / 2.0**64  # a number of 53 bits from two words
            x, y = 2 * u[:, 0] - 1, 2 * u[:, 1] - 1
            r = x * x + y * y
            inside = (r <= 1) & (r != 0)
            x, y, r = x[inside], y[inside], r[inside]
            factor = np.sqrt(-2 * np.log(r) / r)
            drawn, words = np.stack([y * factor, x * factor], 1).reshape(-1), 2 * words
        return np.maximum(drawn[:numbers], 0).astype("<f8").view(np.uint8)[:size].reshape(self.image_size)

    def _read(self, indices):
        indices = indices.tolist()
        return Chunk(len(indices), {"image": np.stack([self._image(i) for i in indices]),
                                    "label": np.array([self._label(i) for i in indices], np.uint32)})
