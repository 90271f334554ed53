"""Datasets of image files, whose labels are their folders or stand in lists beside them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check, mat
from pijit.dataset.files import (Computed, Images, Listed, UsageImages, WholeImages, _file, _folder, files_below,
                                 folders_in, read_bytes, read_lines)
from pijit.dataset.image_arrays import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any
    from pijit.dataset.datasets import Shuffle

_KINDS = (".jpg", ".jpeg", ".png", ".bmp")


class _Labelled(Listed):
    """Image files with labels. Kinds define `_rows()`, which gives (path, label) of each."""

    _label_type: Any = np.uint32
    _label_name = "label"

    def _rows(self) -> Iterable[tuple[str, Any]]:
        raise NotImplementedError

    def _list(self):
        rows = list(self._rows())
        labels = [label for _, label in rows]
        if self._label_type is not str:
            labels = np.array(labels, self._label_type)
        return {"image": Images(type(self).__name__, [path for path, _ in rows], self.decode), self._label_name: labels}


class _Classes(_Labelled):
    """Image files in a folder for each class. Kinds define `_top()`, the folder of the folders."""

    _label_type = np.int32

    def _top(self):
        return self.dataset_dir

    def _classes(self):
        return folders_in(self._top())

    def num_classes(self) -> int | None:
        """The number of classes."""
        return len(self._classes())

    def _rows(self):
        for label, name in enumerate(self._classes()):
            for path in files_below(os.path.join(self._top(), name), _KINDS):
                yield path, label


class ImageFolderDataset(Listed):
    """Images in one folder for each class.

    Columns image (the file's bytes, or decoded uint8 [height, width, 3]) and label (int32).

    Args:
        dataset_dir: the folder of the folders, whose names in order are the classes.
        extensions: a list of extensions of files that count, such as [".jpg"]; None for all.
        class_indexing: a dict from names of folders to labels; other folders are left out. decode: decodes the images.
        decrypt: a callable (path) → bytes that reads a file.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs and there are no files, or
    broken ones."""

    extensions: Any
    class_indexing: Any
    decrypt: Callable[..., Any]

    def __init__(self, dataset_dir: str, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | Shuffle = None, sampler: Any = None, extensions: Any = None,
                 class_indexing: Any = None, decode: bool = False, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None, decrypt: Callable[..., Any] | None = None) -> None:
        op = "ImageFolderDataset"
        self.extensions = _extensions(op, extensions)
        self.class_indexing = class_labels(op, class_indexing)
        self.decrypt = _reader(op, decrypt)
        super().__init__(dataset_dir, None, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache, decode)
        self._user_code = decrypt is not None

    def _columns(self):
        return ["image", "label"]

    def get_class_indexing(self) -> dict[Any, Any] | dict[str, int]:
        """A dict from the classes' names to their labels."""
        if self.class_indexing is not None:
            return dict(self.class_indexing)
        return {n: i for i, n in enumerate(folders_in(self.dataset_dir))}

    def num_classes(self) -> int:
        """The number of classes."""
        return len(self.get_class_indexing())

    def _list(self):
        paths, labels = [], []
        wanted = None if self.extensions is None else {e.lower() for e in self.extensions}
        for name, label in sorted(self.get_class_indexing().items()):
            folder = self._path(name)
            if not os.path.isdir(folder):
                raise RuntimeError(f"[ImageFolderDataset] class_indexing names {name!r}, but there is no such folder "
                                   f"in {self.dataset_dir!r}.")
            found = list(files_below(folder, wanted))
            paths += found
            labels += [label] * len(found)
        if not paths:
            raise RuntimeError(f"[ImageFolderDataset] there are no files of classes in {self.dataset_dir!r}"
                               f"{f' with the extensions {self.extensions}' if self.extensions else ''}.")
        return {"image": Images("ImageFolderDataset", paths, self.decode, self.decrypt),
                "label": np.array(labels, np.int32)}


def _extensions(op, value):
    if value is not None:
        check.instance(op, "extensions", value, list)
        for i, e in enumerate(value):
            check.string(op, f"extensions[{i}]", e)
    return value


def class_labels(op: str, value: Any) -> dict[str, int] | None:
    """class_indexing: a dict from names to labels, or None. Raises TypeError and ValueError for anything else."""
    check.instance(op, "class_indexing", value, dict, none=True)
    for k, v in (value or {}).items():
        check.string(op, "a key of class_indexing", k)
        check.integer(op, f"class_indexing[{k!r}]", v, -check.INT32_MAX, check.INT32_MAX)
    return value


def _reader(op, decrypt):
    if decrypt is not None and not callable(decrypt):
        raise TypeError(f"[{op}] decrypt must be callable, but got {check.shown(decrypt)}.")
    return decrypt


class Caltech101Dataset(Listed):
    """Caltech 101.

    Columns image (the file's bytes, or decoded), category (int64) and annotation (float64 [2, points], the contour), as
    `target_type` says.

    Args:
        dataset_dir: the folder with 101_ObjectCategories and Annotations.
        target_type: "category" (None), "annotation" or "all". decode: decodes the images.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _renamed = {"Faces": "Faces_2", "Faces_easy": "Faces_3", "Motorbikes": "Motorbikes_16",
                "airplanes": "Airplanes_Side_2"}

    def __init__(self, dataset_dir: str, target_type: str | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = 1, shuffle: bool | None = None, decode: bool = False,
                 sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None) -> None:
        op = "Caltech101Dataset"
        self.target_type = check.choice(op, "target_type", target_type, ("category", "annotation", "all"),
                                        none=True) or "category"
        super().__init__(dataset_dir, None, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         None, decode)

    def get_class_indexing(self) -> dict[str, int]:
        """A dict from the classes' names to their labels."""
        names = [n for n in folders_in(self._path("101_ObjectCategories")) if n != "BACKGROUND_Google"]
        return {n: i for i, n in enumerate(names)}

    def _contour(self, path):
        found = mat.load("Caltech101Dataset", path).get("obj_contour")
        if not isinstance(found, np.ndarray) or found.dtype.kind not in "iuf":
            raise RuntimeError(f"[Caltech101Dataset] {path!r} has no obj_contour.")
        return found

    def _list(self):
        images, labels, contours = [], [], []
        for name, label in self.get_class_indexing().items():
            for path in files_below(self._path("101_ObjectCategories", name), (".jpg",), deep=False):
                number = os.path.splitext(os.path.basename(path))[0].rpartition("_")[2]
                images.append(path)
                labels.append(label)
                contours.append(self._path("Annotations", self._renamed.get(name, name), f"annotation_{number}.mat"))
        columns = {"image": Images("Caltech101Dataset", images, self.decode), "category": np.array(labels, np.int64),
                   "annotation": Computed(contours, self._contour)}
        return {n: c for n, c in columns.items() if n == "image" or self.target_type in (n, "all")}


class Caltech256Dataset(_Classes, WholeImages):
    """Caltech 256: columns image (the file's bytes, or decoded uint8 [height, width, 3]) and label (int32).

    Args:
        dataset_dir: the folder with 001.ak47 and the folders beside it, whose names in order are the classes.
        decode: decodes the images.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""


class OmniglotDataset(_Classes):
    """Omniglot: columns image (the file's bytes, or decoded uint8 [height, width, 3]) and label (int32).

    Args:
        dataset_dir: the folder with images_background and images_evaluation.
        background: whether to read images_background (None, True) or images_evaluation. decode: decodes the images.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    def __init__(self, dataset_dir: str, background: bool | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None, decode: bool = False,
                 sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
                 cache: Any = None) -> None:
        background = check.boolean("OmniglotDataset", "background", background, none=True)
        self.background = True if background is None else background
        super().__init__(dataset_dir, None, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache, decode)

    def _top(self):
        return self._path("images_background" if self.background else "images_evaluation")

    def _classes(self):
        return [os.path.join(a, c) for a in folders_in(self._top()) for c in folders_in(os.path.join(self._top(), a))]


class RenderedSST2Dataset(_Classes, UsageImages):
    """Rendered SST2.

    Columns image (the file's bytes, or decoded uint8 [height, width, 3]) and label (uint32: 0 for negative, 1 for
    positive).

    Args:
        dataset_dir: the folder with train, test and valid, each with negative and positive.
        usage: "train", "test", "val" or "all" (None). decode: decodes the images.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _usages = ("train", "test", "val", "all")
    _label_type = np.uint32

    def _classes(self):
        return ["negative", "positive"]

    def _rows(self):
        for part in ("test", "train", "valid") if self.usage == "all" else [self.usage.replace("val", "valid")]:
            for label, name in enumerate(self._classes()):
                for path in files_below(self._path(part, name), _KINDS):
                    yield path, label


class LSUNDataset(_Labelled):
    """LSUN, unpacked: columns image (the file's bytes, or decoded uint8 [height, width, 3]) and label (uint32).

    Args:
        dataset_dir: the folder with bedroom_train, bedroom_val and the folders beside them, and test.
        usage: "train", "test", "valid" or "all" (None: train and valid, whose labels go on from folder to folder).
        classes: a list of the classes to read, such as ["bedroom"], which are then the labels in this order; None for
            all. decode: decodes the images.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _usages = ("train", "test", "valid", "all")

    def __init__(self, dataset_dir: str, usage: str | None = None, classes: Sequence[str] | None = None,
                 num_samples: int | None = None, num_parallel_workers: int | None = None, shuffle: bool | None = None,
                 decode: bool = False, sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
                 cache: Any = None) -> None:
        check.instance("LSUNDataset", "classes", classes, list, none=True)
        for i, c in enumerate(classes or ()):
            check.string("LSUNDataset", f"classes[{i}]", c)
        self.classes = classes
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache, decode)

    def _folders(self):
        if self.usage == "test":
            return ["test"]
        ends = {"train": ("_train",), "valid": ("_val",), "all": ("_train", "_val")}[self.usage]
        if self.classes is not None:
            return [c + e for c in self.classes for e in ends]
        return [n for n in folders_in(self.dataset_dir) if n.endswith(ends)]

    def num_classes(self) -> int:
        """The number of classes."""
        return len({n.rpartition("_")[0] for n in self._folders()} - {""})

    def _rows(self):
        for label, name in enumerate(self._folders()):
            if not os.path.isdir(self._path(name)):
                raise RuntimeError(f"[LSUNDataset] there is no folder {name!r} in {self.dataset_dir!r}.")
            for path in files_below(self._path(name), _KINDS):
                yield path, label


class SUN397Dataset(_Labelled, WholeImages):
    """SUN397: columns image (the file's bytes, or decoded uint8 [height, width, 3]) and label (uint32).

    Args:
        dataset_dir: the folder with ClassName.txt, whose lines in order are the classes, and the folders that it names.
        decode: decodes the images.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    def _rows(self):
        for label, name in enumerate(read_lines("SUN397Dataset", self._path("ClassName.txt"))):
            folder = inside(self, name.strip().strip("/"))
            for path in files_below(folder, _KINDS, deep=False):
                yield path, label


def inside(dataset: Listed, *parts: str) -> str:
    """The path of a file that a list of the data set names. RuntimeError for names that lead out of its folder."""
    for name in parts:
        if os.path.isabs(name) or ".." in name.replace("\\", "/").split("/") or "\0" in name:
            raise RuntimeError(f"[{type(dataset).__name__}] a list in {dataset.dataset_dir!r} names {name!r}, which is "
                               "not in that folder.")
    return dataset._path(*parts)


def fields(op: str, path: str, line: str, count: int, separator: str | None = None) -> list[str]:
    """The fields of a line of a list. RuntimeError where it has others than `count`."""
    found = line.split(separator)
    if len(found) != count:
        raise RuntimeError(f"[{op}] {path!r} should have {count} fields in each line, but has {line[:60]!r}.")
    return found


def whole_number(op: str, path: str, text: str, least: int = -check.INT32_MAX) -> int:
    """An int of a list. RuntimeError for another text, and for what the column's type cannot hold: `least` is 0 for
    unsigned ones."""
    try:
        value = int(text)
    except ValueError:
        value = None
    if value is None or not least <= value <= check.INT32_MAX:
        raise RuntimeError(f"[{op}] {path!r} should have a whole number{' from 0' if not least else ''}, but has "
                           f"{text[:40]!r}.")
    return value


class Food101Dataset(_Labelled, UsageImages):
    """Food101: columns image (the file's bytes, or decoded uint8 [height, width, 3]) and label (a string).

    Args:
        dataset_dir: the folder with images and meta, where train.txt and test.txt name images.
        usage: "train", "test" or "all" (None). decode: decodes the images.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _usages = ("train", "test", "all")
    _label_type = str

    def _rows(self):
        for part in ("train", "test") if self.usage == "all" else [self.usage]:
            for name in read_lines("Food101Dataset", self._path("meta", f"{part}.txt")):
                yield inside(self, "images", f"{name.strip()}.jpg"), name.partition("/")[0]


class Places365Dataset(_Labelled):
    """Places365: columns image (the file's bytes, or decoded uint8 [height, width, 3]) and label (uint32).

    Args:
        dataset_dir: the folder with the lists places365_train-standard.txt, places365_train-challenge.txt and
            places365_val.txt and the folders of images.
        usage: "train-standard" (None), "train-challenge" or "val". small: whether to read images of 256 x 256.
        decode: decodes the images.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _usages, _default = ("train-standard", "train-challenge", "val"), "train-standard"

    def __init__(self, dataset_dir: str, usage: str | None = None, small: bool = True, decode: bool = False,
                 num_samples: int | None = None, num_parallel_workers: int | None = None, shuffle: bool | None = None,
                 sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
                 cache: Any = None) -> None:
        self.small = check.boolean("Places365Dataset", "small", small)
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache, decode)

    def _rows(self):
        op, size, part = "Places365Dataset", "256" if self.small else "large", self.usage.rpartition("-")[2]
        folder = f"val_{size}" if part == "val" else f"data_{size}_{part}"
        names = ["places365_val.txt"] if part == "val" else [f"places365_train{c}{part}.txt" for c in "-_"]
        path = self._path(next((n for n in names if os.path.isfile(self._path(n))), names[0]))
        for line in read_lines(op, path):
            name, label = fields(op, path, line, 2)
            yield inside(self, folder, name.lstrip("/")), whole_number(op, path, label, 0)


class CelebADataset(Listed):
    """CelebA: columns image (the file's bytes, or decoded uint8 [height, width, 3]) and attr (uint32 [40], 0 or 1).

    Args:
        dataset_dir: the folder with the images, list_attr_celeba.txt and, for a part, list_eval_partition.txt.
        usage: "train", "valid", "test" or "all". decode: decodes the images.
        extensions: a list of extensions of files that count, such as [".jpg"]; None for all.
        decrypt: a callable (path) → bytes that reads a file.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _usages = ("all", "train", "valid", "test")

    def __init__(self, dataset_dir: str, num_parallel_workers: int | None = None, shuffle: bool | None = None,
                 usage: str = "all", sampler: Any = None, decode: bool = False, extensions: Sequence[str] | None = None,
                 num_samples: int | None = None, num_shards: int | None = None, shard_id: int | None = None,
                 cache: Any = None, decrypt: Callable[[str], bytes] | None = None) -> None:
        self.extensions = _extensions("CelebADataset", extensions)
        self.decrypt = _reader("CelebADataset", decrypt)
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache, decode)
        self._user_code = decrypt is not None

    def _wanted(self):
        """The names of the images of the usage; None for all."""
        if self.usage == "all":
            return None
        op, path = "CelebADataset", self._path("list_eval_partition.txt")
        part = str(("train", "valid", "test").index(self.usage))
        return {n for n, p in (fields(op, path, line, 2) for line in read_lines(op, path)) if p == part}

    def _list(self):
        op, path = "CelebADataset", self._path("list_attr_celeba.txt")
        lines, wanted, names, marks = read_lines(op, path), self._wanted(), [], []
        kinds = None if self.extensions is None else {e.lower() for e in self.extensions}
        if len(lines) < 2:
            raise RuntimeError(f"[{op}] {path!r} should have a number of rows and names of attributes first.")
        attributes = len(lines[1].split())
        for line in lines[2:]:
            name, *values = fields(op, path, line, attributes + 1)
            if (wanted is None or name in wanted) and (kinds is None or os.path.splitext(name)[1].lower() in kinds):
                names.append(inside(self, name))
                marks.append([v == "1" for v in values])
        return {"image": Images(op, names, self.decode, self.decrypt), "attr": np.array(marks, np.uint32)}


class DIV2KDataset(Listed):
    """DIV2K.

    Columns hr_image and lr_image, the images of high and of low resolution (the files' bytes, or decoded uint8 [height,
    width, 3]).

    Args:
        dataset_dir: the folder with DIV2K_train_HR, DIV2K_train_LR_bicubic and the folders beside them.
        usage: "train", "valid" or "all". downgrade: "bicubic", "unknown", "mild", "difficult" or "wild".
        scale: 2, 3 or 4; 8 too with "bicubic"; only 4 with the last three. decode: decodes the images.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _usages, _default = ("train", "valid", "all"), "train"

    def __init__(self, dataset_dir: str, usage: str = "train", downgrade: str = "bicubic", scale: int = 2,
                 num_samples: int | None = None, num_parallel_workers: int | None = None, shuffle: bool | None = None,
                 decode: bool | None = None, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None) -> None:
        op = "DIV2KDataset"
        scales = {"bicubic": (2, 3, 4, 8), "unknown": (2, 3, 4), "mild": (4,), "difficult": (4,), "wild": (4,)}
        self.downgrade = check.choice(op, "downgrade", downgrade, tuple(scales))
        self.scale = check.integer(op, "scale", scale)
        if scale not in scales[downgrade]:
            raise ValueError(f"[{op}] scale must be {' or '.join(map(str, scales[downgrade]))} with downgrade "
                             f"{downgrade!r}, but got {scale}.")
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache, decode)

    def _low(self, part, stem):
        if self.scale == 8:
            return self._path(f"DIV2K_{part}_LR_x8", f"{stem}x8.png")
        if self.downgrade in ("bicubic", "unknown"):
            return self._path(f"DIV2K_{part}_LR_{self.downgrade}", f"X{self.scale}", f"{stem}x{self.scale}.png")
        return self._path(f"DIV2K_{part}_LR_{self.downgrade}", f"{stem}x4{self.downgrade[0]}.png")

    def _list(self):
        high, low = [], []
        for part in ("train", "valid") if self.usage == "all" else [self.usage]:
            for path in files_below(self._path(f"DIV2K_{part}_HR"), (".png",), deep=False):
                high.append(path)
                low.append(self._low(part, os.path.splitext(os.path.basename(path))[0]))
        return {"hr_image": Images("DIV2KDataset", high, self.decode),
                "lr_image": Images("DIV2KDataset", low, self.decode)}


class FlickrDataset(Listed):
    """Flickr8k and Flickr30k.

    Columns image (the file's bytes, or decoded uint8 [height, width, 3]) and annotation (strings [5]), in the order of
    the images' names.

    Args:
        dataset_dir: the folder of the images. annotation_file: the path of Flickr8k.token.txt or the like.
        decode: decodes the images.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    def __init__(self, dataset_dir: str, annotation_file: str, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None, decode: bool | None = None,
                 sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
                 cache: Any = None) -> None:
        super().__init__(dataset_dir, None, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache, decode)
        self.annotation_file = _file("FlickrDataset", "annotation_file", annotation_file)

    def _list(self):
        op, found = "FlickrDataset", {}
        for line in read_lines(op, self.annotation_file):
            mark, words = fields(op, self.annotation_file, line, 2, "\t")
            found.setdefault(mark.rpartition("#")[0], []).append(words)
        for name, words in found.items():
            if len(words) != 5:
                raise RuntimeError(f"[{op}] {self.annotation_file!r} should have 5 annotations of each image, but has "
                                   f"{len(words)} of {name!r}.")
        found = dict(sorted(found.items()))
        return {"image": Images(op, [inside(self, n) for n in found], self.decode),
                "annotation": [np.array(w) for w in found.values()]}


class Flowers102Dataset(Listed):
    """Oxford 102 Flower.

    Columns image and, for segmentation, segmentation (the files' bytes, or decoded uint8 [height, width, 3]), and label
    (uint32).

    Args:
        dataset_dir: the folder with imagelabels.mat, setid.mat, jpg and, for segmentation, segmim.
        task: "Classification" or "Segmentation". usage: "train", "valid", "test" or "all". decode: decodes the images.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _usages = ("train", "valid", "test", "all")

    def __init__(self, dataset_dir: str, task: str = "Classification", usage: str = "all",
                 num_samples: int | None = None, num_parallel_workers: int | None = 1, shuffle: bool | None = None,
                 decode: bool = False, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None) -> None:
        self.task = check.choice("Flowers102Dataset", "task", task, ("Classification", "Segmentation"))
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         None, decode)
        for folder in ("jpg", "segmim") if task == "Segmentation" else ("jpg",):
            _folder("Flowers102Dataset", self._path(folder))
        for name in ("imagelabels.mat", "setid.mat"):
            _file("Flowers102Dataset", "a file", self._path(name))

    def get_class_indexing(self) -> dict[str, int]:
        """A dict from the flowers' names to their labels."""
        return {n: i for i, n in enumerate(_FLOWERS)}

    def _numbers(self, path, name):
        return counted("Flowers102Dataset", path, mat.load("Flowers102Dataset", path).get(name))

    def _list(self):
        op = "Flowers102Dataset"
        sets = {"train": ["trnid"], "valid": ["valid"], "test": ["tstid"], "all": ["trnid", "tstid", "valid"]}
        places = np.concatenate([self._numbers(self._path("setid.mat"), n) for n in sets[self.usage]])
        labels = self._numbers(self._path("imagelabels.mat"), "labels")
        if ((places < 1) | (places > len(labels))).any() or (labels < 1).any():
            raise RuntimeError(f"[{op}] setid.mat and imagelabels.mat in {self.dataset_dir!r} do not fit together.")
        columns = {"image": Images(op, [self._path("jpg", f"image_{i:05}.jpg") for i in places], self.decode)}
        if self.task == "Segmentation":
            columns["segmentation"] = Images(op, [self._path("segmim", f"segmim_{i:05}.jpg") for i in places],
                                             self.decode)
        return {**columns, "label": (labels[places - 1] - 1).astype(np.uint32)}


class LFWDataset(Listed):
    """Labeled Faces in the Wild.

    Columns image and label, or image1, image2 and label (the files' bytes, or decoded uint8 [height, width, 3]; uint32:
    the person, or whether both are the same one).

    Args:
        dataset_dir: the folder with lfw, lfw_funneled or lfw-deepfunneled, lfw-names.txt, and the lists people*.txt or
            pairs*.txt.
        task: "people" (None) or "pairs". usage: "10fold", "train", "test" or "all" (None).
        image_set: "original", "funneled" (None) or "deepfunneled". decode: decodes the images.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _usages = ("10fold", "train", "test", "all")
    _sets = {"original": "lfw", "funneled": "lfw_funneled", "deepfunneled": "lfw-deepfunneled"}

    def __init__(self, dataset_dir: str, task: str | None = None, usage: str | None = None,
                 image_set: str | None = None, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, decode: bool = False, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None) -> None:
        op = "LFWDataset"
        self.task = check.choice(op, "task", task, ("people", "pairs"), none=True) or "people"
        self.image_set = check.choice(op, "image_set", image_set, tuple(self._sets), none=True) or "funneled"
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache, decode)

    def _face(self, name, number):
        return inside(self, self._sets[self.image_set], name, f"{name}_{number:04}.jpg")

    def _lines(self):
        """(path of the list, fields) of the lines of the lists that are more than a count."""
        ends = {"10fold": [""], "train": ["DevTrain"], "test": ["DevTest"], "all": ["DevTrain", "DevTest"]}[self.usage]
        for end in ends:
            path = self._path(f"{self.task}{end}.txt")
            lines = [line.split() for line in read_lines("LFWDataset", path)]
            for line in lines[self.task == "pairs":]:  # the first line of pairs says how many there are
                if len(line) > 1:
                    yield path, line

    def _people(self):
        op, path = "LFWDataset", self._path("lfw-names.txt")
        labels = {line.split()[0]: i for i, line in enumerate(read_lines(op, path))}
        faces, people = [], []
        for path, (name, *count) in self._lines():
            count = whole_number(op, path, " ".join(count))
            if name not in labels or not 0 <= count <= 10000:
                raise RuntimeError(f"[{op}] {path!r} has {count} images of {name!r}, who is not in lfw-names.txt.")
            faces += [self._face(name, k) for k in range(1, count + 1)]
            people += [labels[name]] * count
        return {"image": Images(op, faces, self.decode), "label": np.array(people, np.uint32)}

    def _pairs(self):
        op, first, second, same = "LFWDataset", [], [], []
        for path, line in self._lines():
            if len(line) == 3:
                line = [line[0], line[1], line[0], line[2]]
            elif len(line) != 4:
                raise RuntimeError(f"[{op}] {path!r} should have three or four fields in each line, but has "
                                   f"{line[:6]}.")
            first.append(self._face(line[0], whole_number(op, path, line[1])))
            second.append(self._face(line[2], whole_number(op, path, line[3])))
            same.append(line[0] == line[2])
        return {"image1": Images(op, first, self.decode), "image2": Images(op, second, self.decode),
                "label": np.array(same, np.uint32)}

    def _list(self):
        return self._people() if self.task == "people" else self._pairs()


class ManifestDataset(Listed):
    """Images that a manifest file names.

    Columns image (the file's bytes, or decoded uint8 [height, width, 3]) and label (int32, or int32 [labels] where
    there are several).

    Args:
        dataset_file: the path of the file, each line of which is a JSON object with source, usage and annotation.
        usage: "train", "eval" or "inference".
        class_indexing: a dict from names to labels; images without one of these are left out. None: the names in order.
        decode: decodes the images.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    def __init__(self, dataset_file: str, usage: str = "train", num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
                 class_indexing: dict[str, int] | None = None, decode: bool = False, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None) -> None:
        op = "ManifestDataset"
        self.dataset_file = _file(op, "dataset_file", dataset_file)
        self.class_indexing = class_labels(op, class_indexing)
        self._usages = ("train", "eval", "inference")
        super().__init__(os.path.dirname(os.path.abspath(dataset_file)), usage, num_samples, num_parallel_workers,
                         shuffle, sampler, num_shards, shard_id, cache, decode)

    def _entries(self):
        """(path, names of labels) of the rows of the usage."""
        for number, line in enumerate(read_lines("ManifestDataset", self.dataset_file), 1):
            try:
                entry = json.loads(line)
                usage, path = entry.get("usage", ""), entry["source"]
                names = [a["name"] for a in entry.get("annotation", ()) if a.get("name")]
                if not all(isinstance(x, str) for x in (usage, path, *names)):
                    raise TypeError("a name is no text")
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
                raise RuntimeError(f"[ManifestDataset] {self.dataset_file!r} has no entry of an image at line "
                                   f"{number}: {type(e).__name__}: {e}") from e
            if usage.lower() == self.usage:
                yield path, names

    def get_class_indexing(self) -> dict[str, int]:
        """A dict from the names of labels to labels."""
        if self.class_indexing is not None:
            return dict(self.class_indexing)
        return {n: i for i, n in enumerate(sorted({n for _, names in self._entries() for n in names}))}

    def num_classes(self) -> int:
        """The number of labels."""
        return len(self.get_class_indexing())

    def _list(self):
        labels, paths, found = self.get_class_indexing(), [], []
        for path, names in self._entries():
            mine = [labels[n] for n in names if n in labels]
            if mine:
                paths.append(path)
                found.append(np.array(mine if len(mine) > 1 else mine[0], np.int32))
        if found and all(f.ndim == 0 for f in found):
            found = np.array(found, np.int32)
        return {"image": Images("ManifestDataset", paths, self.decode), "label": found}


class PhotoTourDataset(Listed):
    """PhotoTour.

    The column image (uint8 [64, 64, 1]), or the columns image1, image2 and matches (uint32: 1 where both show the same
    point).

    Args:
        dataset_dir: the folder with the folder `name`, in which patches0000.bmp …, info.txt and
            m50_100000_100000_0.txt lie.
        name: "notredame", "yosemite", "liberty", or one of these with "_harris". usage: "train" (None) or "test".
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _usages, _default = ("train", "test"), "train"

    def __init__(self, dataset_dir: str, name: str, usage: str | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None) -> None:
        places = ("notredame", "yosemite", "liberty")
        self.name = check.choice("PhotoTourDataset", "name", name, (*places, *(f"{p}_harris" for p in places)))
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache)
        self._kept: tuple[Any, Any] = (None, None)

    def _patch(self, i):
        number = i // 256
        kept, image = self._kept
        if kept != number:
            from pijit.dataset.vision.utils import decode
            path = self._path(self.name, f"patches{number:04}.bmp")
            image = np.asarray(decode(read_bytes("PhotoTourDataset", path), "PhotoTourDataset", "L"))
            if image.shape != (1024, 1024):
                raise RuntimeError(f"[PhotoTourDataset] {path!r} should be 1024 x 1024, but is {image.shape}.")
            self._kept = number, image
        row, column = divmod(i % 256, 16)
        return image[64 * row:64 * row + 64, 64 * column:64 * column + 64, None]

    def _list(self):
        op, path = "PhotoTourDataset", self._path(self.name, "info.txt")
        count = len(read_lines(op, path))
        if self.usage == "train":
            return {"image": Computed(range(count), self._patch)}
        path = self._path(self.name, "m50_100000_100000_0.txt")
        lines = [fields(op, path, line, 7) for line in read_lines(op, path)]
        rows = np.array([[whole_number(op, path, v) for v in line] for line in lines], np.int64).reshape(-1, 7)
        for k in (0, 3):
            if len(rows) and not 0 <= rows[:, k].min() <= rows[:, k].max() < max(count, 1):
                raise RuntimeError(f"[{op}] {path!r} names patches that are not among the {count} of info.txt.")
        return {"image1": Computed(rows[:, 0].tolist(), self._patch),
                "image2": Computed(rows[:, 3].tolist(), self._patch),
                "matches": (rows[:, 1] == rows[:, 4]).astype(np.uint32)}


class SBUDataset(WholeImages):
    """SBU Captioned Photo: columns image (the file's bytes, or decoded uint8 [height, width, 3]) and caption (strings).

    Args:
        dataset_dir: the folder with SBU_captioned_photo_dataset_urls.txt, SBU_captioned_photo_dataset_captions.txt and
            sbu_images; rows without a file there are left out. decode: decodes the images.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments and lists that are missing, RuntimeError when the pipeline runs
    for files that are broken."""

    def __init__(self, dataset_dir: str, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, decode: bool = False, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None) -> None:
        super().__init__(dataset_dir, num_samples, num_parallel_workers, shuffle, decode, sampler, num_shards, shard_id,
                         cache)
        for kind in ("urls", "captions"):
            _file("SBUDataset", "a list", self._list_of(kind))

    def _list_of(self, kind):
        return self._path(f"SBU_captioned_photo_dataset_{kind}.txt")

    def _list(self):
        op = "SBUDataset"
        urls, captions = (read_lines(op, self._list_of(kind)) for kind in ("urls", "captions"))
        if len(urls) != len(captions):
            raise RuntimeError(f"[{op}] {self.dataset_dir!r} has {len(urls)} addresses, but {len(captions)} captions.")
        paths, words = [], []
        for url, caption in zip(urls, captions):
            name = url.strip().partition("://")[2].partition("/")[2]
            path = inside(self, "sbu_images", "m_" + name.replace("/", "_"))
            if os.path.isfile(path):
                paths.append(path)
                words.append(caption.rstrip())
        return {"image": Images(op, paths, self.decode), "caption": words}


_FLOWERS = (
    "pink primrose, hard-leaved pocket orchid, canterbury bells, sweet pea, english marigold, tiger lily, moon "
    "orchid, bird of paradise, monkshood, globe thistle, snapdragon, colt's foot, king protea, spear thistle, "
    "yellow iris, globe-flower, purple coneflower, peruvian lily, balloon flower, giant white arum lily, fire lily, "
    "pincushion flower, fritillary, red ginger, grape hyacinth, corn poppy, prince of wales feathers, stemless "
    "gentian, artichoke, sweet william, carnation, garden phlox, love in the mist, mexican aster, alpine sea holly, "
    "ruby-lipped cattleya, cape flower, great masterwort, siam tulip, lenten rose, barbeton daisy, daffodil, sword "
    "lily, poinsettia, bolero deep blue, wallflower, marigold, buttercup, oxeye daisy, common dandelion, petunia, "
    "wild pansy, primula, sunflower, pelargonium, bishop of llandaff, gaura, geranium, orange dahlia, pink-yellow "
    "dahlia?, cautleya spicata, japanese anemone, black-eyed susan, silverbush, californian poppy, osteospermum, "
    "spring crocus, bearded iris, windflower, tree poppy, gazania, azalea, water lily, rose, thorn apple, morning "
    "glory, passion flower, lotus, toad lily, anthurium, frangipani, clematis, hibiscus, columbine, desert-rose, "
    "tree mallow, magnolia, cyclamen, watercress, canna lily, hippeastrum, bee balm, ball moss, foxglove, "
    "bougainvillea, camellia, mallow, mexican petunia, bromelia, blanket flower, trumpet creeper, "
    "blackberry lily").split(", ")
