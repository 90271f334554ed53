"""Known collections of files as MindRecord files."""

from __future__ import annotations

import csv
import gzip
import io
import os
import pickle
import struct
from typing import TYPE_CHECKING

import numpy as np

from pijit.mindrecord.common.exceptions import PathNotExistsError
from pijit.mindrecord.filewriter import FileWriter, checked_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

_ROWS = 256  # that are written at a time


def _source(source):
    if not isinstance(source, str):
        raise ValueError("The parameter source must be str.")
    return source


def _batches(rows: Iterable[Any]) -> Iterator[list[Any]]:
    batch = []
    for row in rows:
        batch.append(row)
        if len(batch) == _ROWS:
            yield batch
            batch = []
    if batch:
        yield batch


def _write(writer, rows):
    for batch in _batches(rows):
        writer.write_raw_data(batch)
    writer.commit()


def _jpeg(pixels):
    """An image [h, w] or [h, w, 3] as the bytes of a JPEG file."""
    from PIL import Image
    out = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(out, "JPEG", quality=95)
    return out.getvalue()


class _Kind:
    """A NumPy dtype in a pickle: unsigned bytes, or nothing that is taken."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __setstate__(self, state):
        pass


class _Bytes:
    """A NumPy array in a pickle."""

    __slots__ = ("array",)

    def __init__(self):
        self.array = None

    def __setstate__(self, state):
        if not isinstance(state, tuple) or len(state) != 5:
            raise pickle.UnpicklingError("an array without its state")
        _, shape, kind, fortran, data = state
        data = data.encode("latin1") if isinstance(data, str) else data
        if not isinstance(kind, _Kind) or kind.name not in ("u1", "|u1", "uint8") or not isinstance(data, bytes) or \
                not isinstance(shape, tuple) or not all(type(n) is int for n in shape):
            raise pickle.UnpicklingError("an array that is not of unsigned bytes")
        self.array = np.frombuffer(data, np.uint8).reshape(shape, order="F" if fortran else "C")


class _Data(pickle._Unpickler):  # type: ignore[name-defined, misc]
    """Reads pickles of dicts, lists, numbers, texts and byte arrays, and nothing else: no code of a file is run. (In
    Python: the one in C makes room for what a file only names.)"""

    dispatch = {code: f for code, f in pickle._Unpickler.dispatch.items()  # type: ignore[attr-defined]
                if bytes([code]) not in (pickle.BYTEARRAY8, pickle.NEXT_BUFFER, pickle.READONLY_BUFFER, pickle.EXT1,
                                         pickle.EXT2, pickle.EXT4, pickle.PERSID, pickle.BINPERSID)}

    def find_class(self, module: str, name: str) -> Any:
        if name == "_reconstruct" and module in ("numpy.core.multiarray", "numpy._core.multiarray"):
            return lambda *_: _Bytes()
        if (module, name) == ("numpy", "ndarray"):
            return "ndarray"
        if (module, name) == ("numpy", "dtype"):
            return lambda kind="", *_: _Kind(kind)
        if (module, name) == ("_codecs", "encode"):
            return lambda text="", *_: text.encode("latin1")
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")


def _pickled(path):
    """The dict in a file of CIFAR, with texts as keys. RuntimeError where it holds anything else."""
    try:
        with open(path, "rb") as f:
            found = _Data(f, encoding="bytes").load()
    except OSError:
        raise
    except Exception as e:
        raise RuntimeError(f"{path!r} is no file of CIFAR in its Python version, or broken: {e}") from None
    if not isinstance(found, dict):
        raise RuntimeError(f"{path!r} is no file of CIFAR in its Python version: it holds no dict.")
    return {k.decode("latin1") if isinstance(k, bytes) else k: v for k, v in found.items()}


def _cifar(path, labels):
    """(images [n, 32, 32, 3], a list of ints for each of `labels`)"""
    found = _pickled(path)
    data = found.get("data")
    pixels = data.array if isinstance(data, _Bytes) else None
    if pixels is None or pixels.ndim != 2 or pixels.shape[1] != 3072:
        raise RuntimeError(f"{path!r} holds no images of 3 x 32 x 32 bytes as 'data'.")
    columns = []
    for name in labels:
        values = found.get(name)
        if not isinstance(values, list) or len(values) != len(pixels) or not all(
                type(v) is int and abs(v) < 1 << 31 for v in values):
            raise RuntimeError(f"{path!r} holds no {len(pixels)} numbers as {name!r}.")
        columns.append(values)
    return pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), *columns


class _Converter:
    def transform(self, *args: Any, **kwargs: Any) -> Any:
        """Writes the files."""
        return self.run(*args, **kwargs)

    def run(self) -> Any:
        """Writes the files."""
        raise NotImplementedError


class _Cifar(_Converter):
    _labels, _columns = (), ()

    def __init__(self, source: str, destination: str) -> None:
        self.source, self.destination = _source(source), checked_path(destination)
        if not os.path.isdir(source):
            raise FileNotFoundError(2, "No such file or directory", source)

    def _files(self, test):
        raise NotImplementedError

    def run(self, fields: list[str] | None = None) -> None:
        """Writes `destination` and `destination`_test. fields: those that get an index; all by default."""
        if fields is not None and not isinstance(fields, list):
            raise ValueError("The parameter fields should be None or list")
        for test in (False, True):
            self._one(self.destination + ("_test" if test else ""), test, fields or sorted(["id", *self._columns]))

    def _one(self, path, test, fields):
        writer = FileWriter(path)
        schema = {"id": {"type": "int64"}, **{c: {"type": "int64"} for c in self._columns}, "data": {"type": "bytes"}}
        writer.add_schema(schema, "img_test" if test else "img_train")
        writer.add_index(fields)

        def rows():
            k = 0
            for f in self._files(test):
                images, *columns = _cifar(os.path.join(self.source, f), self._labels)
                for image, *values in zip(images, *columns):
                    yield {"id": k, "data": _jpeg(image), **dict(zip(self._columns, values))}
                    k += 1
        _write(writer, rows())


class Cifar10ToMR(_Cifar):
    """CIFAR-10 in its Python version as MindRecord files: fields id, label and data, a JPEG.

    Args:
        source (str): the folder with data_batch_1 … data_batch_5 and test_batch.
        destination (str): the file of the training images; that of the test images is called `destination`_test.

    Raises:
        ValueError: if `source` is not a str.
        RuntimeError: if a file is broken; nothing in it is run.
    """

    _labels, _columns = ("labels",), ("label",)

    def _files(self, test):
        return ["test_batch"] if test else sorted(f for f in os.listdir(self.source) if f.startswith("data_batch_"))


class Cifar100ToMR(_Cifar):
    """CIFAR-100 in its Python version as MindRecord files: fields id, fine_label, coarse_label and data, a JPEG.

    Args:
        source (str): the folder with train and test.
        destination (str): the file of the training images; that of the test images is called `destination`_test.

    Raises:
        ValueError: if `source` is not a str.
        RuntimeError: if a file is broken; nothing in it is run.
    """

    _labels, _columns = ("fine_labels", "coarse_labels"), ("fine_label", "coarse_label")

    def _files(self, test):
        return ["test" if test else "train"]


class MnistToMR(_Converter):
    """MNIST as MindRecord files: fields label and data, a JPEG.

    Args:
        source (str): the folder with train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz
            and t10k-labels-idx1-ubyte.gz.
        destination (str): the beginning of the files' names, `destination`_train.mindrecord and
            `destination`_test.mindrecord.
        partition_number (int, optional): how many files of each. Default: 1.

    Raises:
        ValueError: if `source` is not a str.
        RuntimeError: if a file is broken.
    """

    def __init__(self, source: str, destination: str, partition_number: int = 1) -> None:
        self.source, self.destination = _source(source), checked_path(destination)
        self.partition_number = _partitions(partition_number)

    def run(self) -> None:
        """Writes the files."""
        for usage, prefix in (("train", "train"), ("test", "t10k")):
            images, labels = (_idx(os.path.join(self.source, f"{prefix}-{kind}-idx{rank}-ubyte.gz"), rank)
                              for kind, rank in (("images", 3), ("labels", 1)))
            if len(images) != len(labels):
                raise RuntimeError(f"There are {len(images)} images of {prefix!r}, but {len(labels)} labels.")
            writer = FileWriter(f"{self.destination}_{usage}.mindrecord", self.partition_number)
            writer.add_schema({"label": {"type": "int64"}, "data": {"type": "bytes"}}, "mnist_schema")
            writer.add_index(["label"])
            _write(writer, ({"label": int(n), "data": _jpeg(x)} for x, n in zip(images, labels)))


def _idx(path, rank):
    """The array of a compressed file in the IDX format."""
    with gzip.open(path) as f:
        try:
            head = f.read(4 + 4 * rank)
            magic, *shape = struct.unpack(f">{1 + rank}I", head)
            count = 1
            for n in shape:
                count *= n
            data = bytearray()  # in parts: room is made for what there is, not for what the head says
            while magic == 0x800 + rank and len(data) <= count and (part := f.read(1 << 20)):
                data += part
        except (OSError, EOFError, struct.error, gzip.zlib.error) as e:  # type: ignore[attr-defined]
            raise RuntimeError(f"{path!r} is no IDX file, or broken: {e}") from None
    if magic != 0x800 + rank or len(data) != count:
        raise RuntimeError(f"{path!r} is no IDX file of {rank} axes, or broken.")
    return np.frombuffer(data, np.uint8).reshape(shape)


def _partitions(n):
    if isinstance(n, bool) or not isinstance(n, int):
        raise ValueError("The parameter partition_number must be int")
    return n


class ImageNetToMR(_Converter):
    """Folders of images as MindRecord files: fields label, file_name and image, the file's bytes.

    Args:
        map_file (str): a text with a folder's name and its label in each line.
        image_dir (str): the folder of these folders.
        destination (str): the file.
        partition_number (int, optional): how many files. Default: 1.

    Raises:
        OSError: if `map_file` is missing.
        PathNotExistsError: if `image_dir` is missing.
        RuntimeError: if a line of `map_file` is no name and label.
    """

    def __init__(self, map_file: str, image_dir: str, destination: str, partition_number: int = 1) -> None:
        for name, value in (("map_file", map_file), ("image_dir", image_dir)):
            if not isinstance(value, str):
                raise ValueError(f"The parameter {name} must be str.")
        self.map_file, self.image_dir, self.destination = map_file, image_dir, checked_path(destination)
        self.partition_number = _partitions(partition_number)

    def _rows(self):
        if not os.path.exists(self.map_file):
            raise OSError(f"map file {self.map_file} not exists")
        if not os.path.isdir(self.image_dir):
            raise PathNotExistsError(f"not valid image dir in {self.image_dir}")
        labels = {}
        with open(self.map_file, encoding="utf-8") as f:
            for line in f:
                parts = line.split()
                if not parts:
                    continue
                if len(parts) < 2 or not parts[1].lstrip("-").isdecimal() or os.path.basename(parts[0]) != parts[0]:
                    raise RuntimeError(f"{self.map_file!r} has the line {line[:80]!r}, which is no name of a folder "
                                       "and a label.")
                labels[parts[0]] = int(parts[1])
        for folder, label in labels.items():
            path = os.path.join(self.image_dir, folder)
            for name in sorted(os.listdir(path)) if os.path.isdir(path) else ():
                file = os.path.join(path, name)
                if os.path.isfile(file):
                    with open(file, "rb") as f:
                        yield {"label": label, "file_name": file, "image": f.read()}

    def run(self) -> None:
        """Writes the files."""
        writer = FileWriter(self.destination, self.partition_number)
        writer.add_schema({"label": {"type": "int32"}, "image": {"type": "bytes"}, "file_name": {"type": "string"}},
                          "imagenet_schema")
        writer.add_index(["label", "file_name"])
        _write(writer, self._rows())


class CsvToMR(_Converter):
    """A CSV file with a head line as MindRecord files: fields of int64, float64 or string.

    Args:
        source (str): the CSV file.
        destination (str): the file.
        columns_list (list of str, optional): the columns to take; all by default. Default: None.
        partition_number (int, optional): how many files. Default: 1.

    Raises:
        ValueError: if `source` or `columns_list` is not valid.
        RuntimeError: if there is no such column, or a row of another length.
        MRMInvalidSchemaError: if a column's name is not of letters, digits and '_'.
    """

    def __init__(self, source: str, destination: str, columns_list: list[str] | None = None,
                 partition_number: int = 1) -> None:
        self.source, self.destination = _source(source), checked_path(destination)
        if columns_list is not None and (not isinstance(columns_list, list)
                                         or not all(isinstance(c, str) for c in columns_list)):
            raise ValueError("The parameter columns_list must be list of str.")
        self.columns_list, self.partition_number = columns_list or None, _partitions(partition_number)

    def run(self) -> None:
        """Writes the files."""
        with open(self.source, encoding="utf-8", newline="") as f:
            try:
                names, *rows = [row for row in csv.reader(f) if row] or [[]]
            except (csv.Error, UnicodeDecodeError) as e:
                raise RuntimeError(f"{self.source!r} is no CSV file: {e}") from None
        if not names:
            raise ValueError("No columns to parse from file")
        for k, row in enumerate(rows):
            if len(row) > len(names):
                raise RuntimeError(f"Row {k} of {self.source!r} has {len(row)} values for {len(names)} columns.")
        columns = self.columns_list or names
        for c in columns:
            if c not in names:
                raise RuntimeError(f"The parameter columns_list is illegal, column {c} does not exist.")
        schema, values = {}, {}
        for c in columns:
            k = names.index(c)
            schema[c], values[c] = _typed([row[k] if k < len(row) else "" for row in rows])
        writer = FileWriter(self.destination, self.partition_number)
        writer.add_schema(schema, "csv_schema")
        writer.add_index(list(columns))
        _write(writer, ({c: values[c][k] for c in columns} for k in range(len(rows))))


def _typed(texts):
    """(field, values) of a column: ints where all are, else floats (NaN where one is missing), else texts."""
    for kind, read in (("int64", int), ("float64", lambda t: float(t or "nan"))):
        try:
            if any("_" in t for t in texts):
                break
            values = [read(t) for t in texts]
        except ValueError:
            continue
        if kind == "float64" or all(-(1 << 63) <= v < 1 << 63 for v in values):
            return {"type": kind}, values
    return {"type": "string"}, texts


class TFRecordToMR(_Converter):
    """A TFRecord file of tf.train.Example as a MindRecord file.

    Args:
        source (str): the TFRecord file.
        destination (str): the file.
        feature_dict (dict): by the names of features what they are: TensorFlow's FixedLenFeature, or anything with
            `shape` and `dtype` (string, int64 or float32). A '/' in a name becomes '_'.
        bytes_fields (list of str, optional): the strings that are bytes. Default: None.

    Raises:
        ValueError: if an argument is not valid.
        RuntimeError: if the file is broken, or a row has not such features.
    """

    def __init__(self, source: str, destination: str, feature_dict: dict[str, Any],
                 bytes_fields: list[str] | None = None) -> None:
        self.source, self.destination = _source(source), checked_path(destination)
        if not isinstance(feature_dict, dict) or not feature_dict:
            raise ValueError("The parameter feature_dict must be dict")
        if bytes_fields is not None and (not isinstance(bytes_fields, list)
                                         or not all(isinstance(b, str) for b in bytes_fields)):
            raise ValueError("The parameter bytes_fields must be list of str")
        self.feature_dict, self.bytes_fields = feature_dict, bytes_fields or []
        for b in self.bytes_fields:
            if b not in feature_dict:
                raise ValueError(f"The bytes field {b!r} is no feature.")
        self._kinds = {n: self._kind(n, f) for n, f in feature_dict.items()}

    def _kind(self, name, feature):
        dtype, shape = getattr(feature, "dtype", None), getattr(feature, "shape", None)
        kind = str(getattr(dtype, "name", dtype)).lower()
        kind = {"str": "string", "<class 'str'>": "string", "bytes": "string"}.get(kind, kind)
        if kind not in ("string", "int64", "float32") or shape is None:
            raise ValueError(f"The feature {name!r} must have a shape and a dtype of string, int64 or float32.")
        shape = [int(n) for n in shape]
        if kind == "string" and shape not in ([], [1]):
            raise ValueError(f"The feature {name!r} of strings must have the shape [] or [1].")
        if kind == "string":
            return {"type": "bytes" if name in self.bytes_fields else "string"}
        return {"type": kind, "shape": shape} if shape else {"type": kind}

    def tfrecord_iterator(self) -> Iterator[dict[str, Any]]:
        """The rows."""
        from pijit.dataset.tfrecord import TFRecordDataset
        if not os.path.isfile(self.source):
            raise ValueError(f"The file {self.source!r} does not exist.")
        records = TFRecordDataset(self.source, shuffle=False)
        for k in range(records._counts()[0]):
            found = records._example(0, k)
            row = {}
            for name, field in self._kinds.items():
                if name not in found:
                    raise RuntimeError(f"Record {k} of {self.source!r} has no feature {name!r}.")
                row[name.replace("/", "_")] = self._value(k, name, field, found[name])
            yield row

    tfrecord_iterator_oldversion = tfrecord_iterator

    def _value(self, k, name, field, value):
        shape = field.get("shape")
        wrong = (field["type"] in ("string", "bytes")) != (value.dtype.kind == "O")
        if wrong or shape is None and value.size != 1:
            raise RuntimeError(f"Record {k} of {self.source!r} holds {value.size} values of {value.dtype} as {name!r}, "
                               f"which are no {field['type']}.")
        if shape is not None:
            try:
                return value.astype(field["type"]).reshape(shape)
            except ValueError:
                raise RuntimeError(f"Record {k} of {self.source!r} holds {value.size} values as {name!r}, which are "
                                   f"not of the shape {shape}.") from None
        one = value.reshape(-1)[0]
        if field["type"] == "bytes":
            return bytes(one)
        if field["type"] == "string":
            try:
                return bytes(one).decode()
            except UnicodeDecodeError as e:
                raise RuntimeError(f"Record {k} of {self.source!r} holds a string that is not UTF-8: {e}") from None
        return int(one) if field["type"] == "int64" else float(one)

    def run(self) -> None:
        """Writes the file."""
        writer = FileWriter(self.destination)
        writer.add_schema({n.replace("/", "_"): f for n, f in self._kinds.items()}, "TFRecord to MR")
        _write(writer, self.tfrecord_iterator())


__all__ = ["Cifar100ToMR", "Cifar10ToMR", "CsvToMR", "ImageNetToMR", "MnistToMR", "TFRecordToMR"]
