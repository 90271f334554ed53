"""Datasets of images with boxes, masks and other marks beside them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check, mat
from pijit.dataset.files import (Computed, Images, Listed, UsageImages, _file, files_below, read_bytes, read_json,
                                 read_lines)
from pijit.dataset.image_folders import _reader, class_labels, fields, inside, whole_number

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_META = "_meta-filename"


def _number(op, path, text):
    """A float of a text. RuntimeError for another text."""
    try:
        return float(text)
    except (ValueError, TypeError):
        raise RuntimeError(f"[{op}] {path!r} should have a number, but has {str(text)[:40]!r}.") from None


class CityscapesDataset(Listed):
    """Cityscapes.

    Columns image and task (the files' bytes, or decoded uint8 [height, width, 3]; with task="polygon" the text of the
    JSON file).

    Args:
        dataset_dir: the folder with leftImg8bit and gtFine or gtCoarse.
        usage: "train", "test", "val" or "all"; with quality_mode="coarse" "train", "train_extra", "val" or "all".
        quality_mode: "fine" or "coarse". task: "instance", "semantic", "polygon" or "color".
        decode: decodes the images.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _default = "train"
    _ends = {"instance": "instanceIds.png", "semantic": "labelIds.png", "polygon": "polygons.json",
             "color": "color.png"}

    def __init__(self, dataset_dir: str, usage: str = "train", quality_mode: str = "fine", task: str = "instance",
                 num_samples: int | None = None, num_parallel_workers: int | None = None, shuffle: bool | None = None,
                 decode: bool | None = None, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None) -> None:
        op = "CityscapesDataset"
        self.task = check.choice(op, "task", task, tuple(self._ends))
        self.quality_mode = check.choice(op, "quality_mode", quality_mode, ("fine", "coarse"))
        self._parts = ("train", "test", "val") if quality_mode == "fine" else ("train", "train_extra", "val")
        self._usages = (*self._parts, "all")
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache, decode)

    def _polygons(self, path):
        return json.dumps(read_json("CityscapesDataset", path), ensure_ascii=False, separators=(",", ":"),
                          sort_keys=True)

    def _list(self):
        op, images, marks, kind = "CityscapesDataset", [], [], f"gt{self.quality_mode.capitalize()}"
        for part in self._parts if self.usage == "all" else [self.usage]:
            for path in files_below(self._path("leftImg8bit", part), (".png",)):
                name = os.path.basename(path)
                if name.endswith("_leftImg8bit.png"):
                    city = os.path.basename(os.path.dirname(path))
                    images.append(path)
                    marks.append(self._path(kind, part, city,
                                            name.replace("leftImg8bit.png", f"{kind}_{self._ends[self.task]}")))
        return {"image": Images(op, images, self.decode),
                "task": Computed(marks, self._polygons) if self.task == "polygon" else Images(op, marks, self.decode)}


class KITTIDataset(UsageImages):
    """KITTI, objects.

    Columns image (the file's bytes, or decoded uint8 [height, width, 3]) and, with usage="train", label (uint32
    [objects, 1]: the place of the kind among those that there are, in order), truncated (float32), occluded (uint32),
    alpha (float32), bbox (float32 [objects, 4]), dimensions, location (float32 [objects, 3]) and rotation_y (float32).

    Args:
        dataset_dir: the folder with data_object_image_2 and data_object_label_2.
        usage: "train" (None) or "test". decode: decodes the images.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _usages, _default = ("train", "test"), "train"
    _fields = {"truncated": (1, 2, np.float32), "occluded": (2, 3, np.uint32), "alpha": (3, 4, np.float32),
               "bbox": (4, 8, np.float32), "dimensions": (8, 11, np.float32), "location": (11, 14, np.float32),
               "rotation_y": (14, 15, np.float32)}

    def _objects(self, path):
        """(kinds, numbers [objects, 15]) of a file; the first number is no number but stands for the kind."""
        op = "KITTIDataset"
        lines = [fields(op, path, line, 15) for line in read_lines(op, path)]
        numbers = np.array([[0, *(_number(op, path, v) for v in line[1:])] for line in lines]).reshape(-1, 15)
        if not (abs(numbers[:, 2]) < 2**31).all():
            raise RuntimeError(f"[{op}] {path!r} has an occlusion that is no small number.")
        return [line[0] for line in lines], numbers

    def _list(self):
        part = "training" if self.usage == "train" else "testing"
        paths = list(files_below(self._path("data_object_image_2", part, "image_2"), (".png", ".jpg"), deep=False))
        columns = {"image": Images("KITTIDataset", paths, self.decode)}
        if self.usage == "test":
            return columns
        stems = [os.path.splitext(os.path.basename(p))[0] for p in paths]
        found = [self._objects(self._path("data_object_label_2", part, "label_2", f"{s}.txt")) for s in stems]
        kinds = sorted({k for names, _ in found for k in names})
        columns["label"] = [np.array([[kinds.index(n)] for n in names], np.uint32).reshape(-1, 1) for names, _ in found]
        for name, (start, stop, dtype) in self._fields.items():
            columns[name] = [n[:, start:stop].astype(np.int64).astype(dtype) if dtype is np.uint32 else
                             n[:, start:stop].astype(dtype) for _, n in found]
        return columns


class SBDataset(Listed):
    """Semantic Boundaries.

    Columns image (the file's bytes, or decoded uint8 [height, width, 3]) and task (float64 [20, height, width] with
    boundaries, uint8 [height, width] with segments).

    Args:
        dataset_dir: the folder with img, cls, train.txt, val.txt and, where it is asked for, train_noval.txt.
        task: "Boundaries" or "Segmentation". usage: "train", "val", "train_noval" or "all" (train and val).
        decode: decodes the images.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError, ValueError and FileNotFoundError for wrong arguments, RuntimeError when the pipeline runs for
    files that are missing or broken."""

    _usages = ("train", "val", "train_noval", "all")

    def __init__(self, dataset_dir: str, task: str = "Boundaries", usage: str = "all", num_samples: int | None = None,
                 num_parallel_workers: int | None = 1, shuffle: bool | None = None, decode: bool | None = None,
                 sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None) -> None:
        self.task = check.choice("SBDataset", "task", task, ("Boundaries", "Segmentation"))
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         None, decode)
        for part in self._parts():
            if not os.path.isfile(self._path(f"{part}.txt")):
                raise FileNotFoundError(f"[SBDataset] {self._path(f'{part}.txt')} not found")

    def _parts(self):
        return ["train", "val"] if self.usage == "all" else [self.usage]

    def _marks(self, path):
        found = mat.load("SBDataset", path).get("GTcls")
        marks = found.get(self.task) if isinstance(found, dict) else None
        if self.task == "Segmentation" and isinstance(marks, np.ndarray):
            return marks.astype(np.uint8)
        if isinstance(marks, list) and marks and all(isinstance(m, np.ndarray) and m.shape == marks[0].shape
                                                     for m in marks):
            return np.array(marks, np.float64)
        raise RuntimeError(f"[SBDataset] {path!r} has no {self.task} of GTcls.")

    def _list(self):
        op = "SBDataset"
        names = [n.strip() for p in self._parts() for n in read_lines(op, self._path(f"{p}.txt"))]
        return {"image": Images(op, [inside(self, "img", f"{n}.jpg") for n in names], self.decode),
                "task": Computed([inside(self, "cls", f"{n}.mat") for n in names], self._marks)}


class WIDERFaceDataset(UsageImages):
    """WIDER Face.

    Columns image (the file's bytes, or decoded uint8 [height, width, 3]) and, but for usage="test", bbox (int32 [faces,
    4]), blur, expression, illumination, occlusion, pose and invalid (int32 [faces]). Rows are in the order of the
    images' names, columns in the order of the files, as MindSpore has them: where a file has invalid, occlusion and
    pose after one another, as the published ones, these come under the names occlusion, pose and invalid.

    Args:
        dataset_dir: the folder with WIDER_train, WIDER_val, WIDER_test and wider_face_split.
        usage: "train", "test", "valid" or "all" (None: train and valid). decode: decodes the images.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _usages = ("train", "test", "valid", "all")
    _fields = ("blur", "expression", "illumination", "occlusion", "pose", "invalid")

    def _faces(self, part):
        """{path: numbers [faces, 10]} of a part."""
        op, path, found = "WIDERFaceDataset", self._path("wider_face_split", f"wider_face_{part}_bbx_gt.txt"), {}
        lines = iter(read_lines(op, path))
        for name in lines:
            count = whole_number(op, path, next(lines, ""), 0)
            # (an image without faces has a line of zeros)
            faces = [fields(op, path, next(lines, ""), 10) for _ in range(max(count, 1))]
            found[inside(self, f"WIDER_{part}", "images", name.strip())] = np.array(
                [[whole_number(op, path, v) for v in face] for face in faces], np.int32)
        return found

    def _list(self):
        op = "WIDERFaceDataset"
        if self.usage == "test":
            names = read_lines(op, self._path("wider_face_split", "wider_face_test_filelist.txt"))
            paths = sorted(inside(self, "WIDER_test", "images", n.strip()) for n in names)
            return {"image": Images(op, paths, self.decode)}
        found = {}
        for part in ("train", "val") if self.usage == "all" else [self.usage.replace("valid", "val")]:
            found.update(self._faces(part))
        paths = sorted(found)
        faces = [found[p] for p in paths]
        return {"image": Images(op, paths, self.decode), "bbox": [f[:, :4] for f in faces],
                **{n: [f[:, k] for f in faces] for k, n in enumerate(self._fields, 4)}}


class VOCDataset(Listed):
    """Visual Object Classes.

    Columns image and target (the files' bytes, or decoded uint8 [height, width, 3]), or image, bbox (float32 [objects,
    4]: x, y, width, height), label, difficult and truncate (uint32 [objects, 1]).

    Args:
        dataset_dir: the folder with JPEGImages, ImageSets and SegmentationClass or Annotations.
        task: "Segmentation" or "Detection". usage: the list of images: ImageSets/Segmentation/USAGE.txt or
            ImageSets/Main/USAGE.txt.
        class_indexing: with task="Detection" a dict from names to labels; other objects are left out. None: the names
            in order. decode: decodes the images.
        extra_metadata: gives a column _meta-filename, which is seen once it is renamed.
        decrypt: a callable (path) → bytes that reads an image.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments and a list that is missing, RuntimeError when the pipeline runs
    for files that are missing or broken."""

    def __init__(self, dataset_dir: str, task: str = "Segmentation", usage: str = "train",
                 class_indexing: dict[str, int] | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None, decode: bool = False,
                 sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
                 extra_metadata: bool = False, decrypt: Callable[[str], bytes] | None = None) -> None:
        op = "VOCDataset"
        self.task = check.choice(op, "task", task, ("Segmentation", "Detection"))
        self.class_indexing = class_labels(op, class_indexing)
        if class_indexing is not None and task == "Segmentation":
            raise ValueError(f"[{op}] class_indexing is supported only in 'Detection' task.")
        self.extra_metadata = check.boolean(op, "extra_metadata", extra_metadata)
        self.decrypt = _reader(op, decrypt)
        self._usages = (check.string(op, "usage", usage) or "train",)
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache, decode)
        self._names_file = inside(self, "ImageSets", "Segmentation" if task == "Segmentation" else "Main",
                                  f"{usage}.txt")
        _file(op, "a list", self._names_file)
        self._user_code = decrypt is not None

    def _stems(self):
        return [line.split()[0] for line in read_lines("VOCDataset", self._names_file) if line.strip()]

    def _objects(self, stem):
        """[(name, box, difficult, truncated)] of an image."""
        op, path = "VOCDataset", inside(self, "Annotations", f"{stem}.xml")
        root = parse_xml(op, path)
        found = []
        for item in root.iter("object"):
            box = item.find("bndbox")
            if box is None or item.findtext("name") is None:
                raise RuntimeError(f"[{op}] {path!r} has an object without a name or bndbox.")
            x, y, right, below = (_number(op, path, box.findtext(n)) for n in ("xmin", "ymin", "xmax", "ymax"))
            marks = [whole_number(op, path, item.findtext(n) or "0", 0) for n in ("difficult", "truncated")]
            if not (0 <= x <= right and 0 <= y <= below):
                raise RuntimeError(f"[{op}] {path!r} has the box {[x, y, right, below]}, which is none.")
            found.append((item.findtext("name"), (x, y, right - x, below - y), *marks))
        if not found:
            raise RuntimeError(f"[{op}] {path!r} has no object.")
        return found

    def _all_objects(self):
        if not hasattr(self, "_objects_found"):
            self._objects_found = {s: self._objects(s) for s in self._stems()}
        return self._objects_found

    def get_class_indexing(self) -> dict[str, int]:
        """A dict from the names of objects to labels. NotImplementedError unless the task is "Detection"."""
        if self.task != "Detection":
            raise NotImplementedError("[VOCDataset] only 'Detection' has classes of objects.")
        if self.class_indexing is not None:
            return dict(self.class_indexing)
        names = {o[0] for objects in self._all_objects().values() for o in objects}
        return {n: i for i, n in enumerate(sorted(names))}

    def _list(self):
        op = "VOCDataset"
        if self.task == "Segmentation":
            stems = self._stems()
            marks = {"target": Images(op, [inside(self, "SegmentationClass", f"{s}.png") for s in stems], self.decode,
                                      self.decrypt)}
        else:
            labels, stems, kept = self.get_class_indexing(), [], []
            for stem, objects in self._all_objects().items():
                mine = [o for o in objects if o[0] in labels]
                if mine:
                    stems.append(stem)
                    kept.append(mine)
            marks = {"bbox": [np.array([o[1] for o in mine], np.float32) for mine in kept],
                     "label": [_upright([labels[o[0]] for o in mine]) for mine in kept],
                     "difficult": [_upright([o[2] for o in mine]) for mine in kept],
                     "truncate": [_upright([o[3] for o in mine]) for mine in kept]}
        paths = [inside(self, "JPEGImages", f"{s}.jpg") for s in stems]
        return {"image": Images(op, paths, self.decode, self.decrypt), **marks,
                **({_META: stems} if self.extra_metadata else {})}


def _upright(numbers):
    return np.array(numbers, np.int64).astype(np.uint32).reshape(-1, 1)


def parse_xml(op: str, path: str) -> Any:
    """The root of an XML file. RuntimeError for other files, and for those that define entities, which could grow."""
    from xml.etree import ElementTree
    data = read_bytes(op, path)
    if b"<!ENTITY" in data or b"<!DOCTYPE" in data:
        raise RuntimeError(f"[{op}] {path!r} defines a document type; it is left alone.")
    try:
        return ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError, LookupError, RecursionError) as e:
        raise RuntimeError(f"[{op}] {path!r} is no XML file: {e}") from e


class CocoDataset(Listed):
    """COCO: columns image (the file's bytes, or decoded uint8 [height, width, 3]) and those of the task:

    Detection: bbox (float32 [objects, 4]), category_id and iscrowd (uint32 [objects, 1]). Stuff: segmentation (float32
    [parts, longest], filled up with -1) and iscrowd. Keypoint: keypoints (float32 [objects, longest]) and
    num_keypoints. Panoptic: bbox, category_id, iscrowd and area (uint32 [objects, 1]). Captioning: captions (strings
    [captions, 1]).
    Images without marks are left out.

    Args:
        dataset_dir: the folder of the images. annotation_file: the path of the JSON file.
        task: "Detection", "Stuff", "Panoptic", "Keypoint" or "Captioning". decode: decodes the images.
        extra_metadata: gives a column _meta-filename, which is seen once it is renamed.
        decrypt: a callable (path) → bytes that reads an image.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments and files that are missing, RuntimeError when the pipeline runs
    for files that are broken."""

    _tasks = ("Detection", "Stuff", "Panoptic", "Keypoint", "Captioning")

    def __init__(self, dataset_dir: str, annotation_file: str, task: str = "Detection", num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None, decode: bool = False,
                 sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
                 extra_metadata: bool = False, decrypt: Callable[[str], bytes] | None = None) -> None:
        op = "CocoDataset"
        self.task = check.choice(op, "task", task, self._tasks)
        self.extra_metadata = check.boolean(op, "extra_metadata", extra_metadata)
        self.decrypt = _reader(op, decrypt)
        super().__init__(dataset_dir, None, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache, decode)
        self.annotation_file = _file(op, "annotation_file", annotation_file)
        self._user_code = decrypt is not None

    def _parsed(self):
        if not hasattr(self, "_json"):
            found = read_json("CocoDataset", self.annotation_file)
            if not isinstance(found, dict):
                raise RuntimeError(f"[CocoDataset] {self.annotation_file!r} should be a JSON object.")
            self._json = found
        return self._json

    def get_class_indexing(self) -> dict[str, list[int]]:
        """A dict from the categories' names to [id], or [id, isthing] with task="Panoptic".

        Raises NotImplementedError for other tasks than "Detection" and "Panoptic"."""
        if self.task not in ("Detection", "Panoptic"):
            raise NotImplementedError("[CocoDataset] only 'Detection' and 'Panoptic' have classes of objects.")
        keys = ("id", "isthing") if self.task == "Panoptic" else ("id",)
        return self._told(lambda: {c["name"]: [int(c[k]) for k in keys] for c in self._parsed()["categories"]})

    def _told(self, read):
        """read(), with a RuntimeError where the file lacks what it looks for."""
        try:
            return read()
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, IndexError) as e:
            raise RuntimeError(f"[CocoDataset] {self.annotation_file!r} is no file of the task {self.task!r}: "
                               f"{type(e).__name__}: {e}") from e

    def _list(self):
        return self._told(self._listed_rows)

    def _listed_rows(self):
        op, marks = "CocoDataset", {}
        for a in self._parsed()["annotations"]:
            marks.setdefault(a["image_id"], []).extend(a["segments_info"] if self.task == "Panoptic" else [a])
        rows = [(str(i["file_name"]), marks[i["id"]]) for i in self._parsed()["images"] if i["id"] in marks]
        columns = {n: [make(objects) for _, objects in rows] for n, make in _COCO[self.task].items()}
        names = [n for n, _ in rows]
        return {"image": Images(op, [inside(self, n) for n in names], self.decode, self.decrypt), **columns,
                **({_META: [os.path.splitext(n)[0] for n in names]} if self.extra_metadata else {})}


def _ints(key, default=None):
    return lambda objects: _upright([int(o[key] if default is None else o.get(key, default)) for o in objects])


def _boxes(objects):
    return np.array([o["bbox"] for o in objects], np.float32).reshape(len(objects), 4)


def _padded(rows):
    """Rows of numbers as one array, filled up with -1."""
    out = np.full((len(rows), max(map(len, rows), default=0)), -1, np.float32)
    for k, row in enumerate(rows):
        out[k, :len(row)] = row
    return out


def _parts(objects):
    rows = []
    for o in objects:
        found = o["segmentation"]
        rows += [found["counts"]] if isinstance(found, dict) else found
    return _padded(rows)


_COCO = {
    "Detection": {"bbox": _boxes, "category_id": _ints("category_id"), "iscrowd": _ints("iscrowd", 0)},
    "Stuff": {"segmentation": _parts, "iscrowd": _ints("iscrowd", 0)},
    "Keypoint": {"keypoints": lambda objects: _padded([o["keypoints"] for o in objects]),
                 "num_keypoints": _ints("num_keypoints")},
    "Panoptic": {"bbox": _boxes, "category_id": _ints("category_id"), "iscrowd": _ints("iscrowd", 0),
                 "area": _ints("area")},
    "Captioning": {"captions": lambda objects: np.array([[str(o["caption"])] for o in objects])},
}
