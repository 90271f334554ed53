"""Files that are broken on purpose: cut, with bits flipped, with other numbers in them, parts doubled or left out.

A reader may answer them with values or with the errors that it names, and nothing else: no other exception, no crash,
no memory beyond some multiples of the file's size. Run by `make fuzz-files` (FILES=100000) and, a slice, by
test_fuzz_files.py."""

import argparse
import glob
import gzip
import io
import json
import os
import pathlib
import pickle
import random
import resource
import struct
import sys
import tempfile
import warnings
import zlib

import numpy as np
from PIL import Image

import pijit as ms
import pijit.dataset as ds
from pijit import nn
from pijit.dataset.tfrecord import masked_crc32c
from pijit.mindrecord import Cifar10ToMR, FileReader, FileWriter, MindPage, MnistToMR
from tests.python import made_sets

WRONG = (ValueError, RuntimeError)
SPECIAL = [0, 1, 2, 7, 8, 127, 128, 255, 256, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1, 2**63,
           2**64 - 1]


def mutated(data, rng):
    """Other bytes, by one to four changes."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if not data:
            break
        at, kind = rng.randrange(len(data)), rng.randrange(8)
        if kind == 0:
            del data[at:]
        elif kind == 1:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            data[at] = rng.randrange(256)
        elif kind == 3:
            data[at:at + 8] = struct.pack(rng.choice("<>") + "Q", rng.choice(SPECIAL))
        elif kind == 4:
            data[at:at + 4] = struct.pack(rng.choice("<>") + "I", rng.choice(SPECIAL) & 0xFFFFFFFF)
        elif kind == 5:
            data[at:at] = data[at:at + rng.randrange(64)]
        elif kind == 6:
            del data[at:at + rng.randrange(64)]
        else:  # a number in a text
            digits = [k for k in range(len(data)) if 48 <= data[k] < 58]
            if digits:
                k = rng.choice(digits)
                data[k:k + 1] = str(rng.choice([*SPECIAL, -1, 3, 10**30])).encode()
    return bytes(data)


class Format:
    """Files of a kind: `seeds()` gives good ones as bytes, `read(path)` reads one in all ways there are."""

    name = extension = ""
    chosen = 0  # which of the seeds the file at hand was
    companion = None  # an extension of a file beside it, which stays as it is

    def seeds(self, folder):
        raise NotImplementedError

    def read(self, path):
        raise NotImplementedError


class MindRecord(Format):
    name, extension = "mindrecord", "mr"

    def seeds(self, folder):
        rng = np.random.default_rng(0)
        schemas = [{"n": {"type": "int32"}, "s": {"type": "string"}},
                   {"b": {"type": "bytes"}},
                   {"a": {"type": "int64", "shape": [-1]}, "f": {"type": "float64"}},
                   {"a": {"type": "int32", "shape": [2, -1]}, "b": {"type": "bytes"}, "l": {"type": "int64"},
                    "e": {"type": "float32", "shape": [3]}}]
        rows = {"n": lambda: 300, "s": lambda: "text é", "f": lambda: 1 / 3, "l": lambda: -2**40,
                "b": lambda: bytes(rng.integers(0, 256, 20).astype(np.uint8)),
                "e": lambda: rng.random(3).astype(np.float32)}
        for k, schema in enumerate(schemas):
            path = os.path.join(folder, f"seed{k}.mr")
            writer = FileWriter(path)
            writer.set_header_size(1 << 14), writer.set_page_size(1 << 15)
            writer.add_schema(schema)
            arrays = {"int64": lambda: rng.integers(-10**6, 10**6, 7),
                      "int32": lambda: rng.integers(-300, 300, (2, 3)).astype(np.int32)}
            writer.write_raw_data([{n: arrays[f["type"]]() if n == "a" else rows[n]() for n, f in schema.items()}
                                   for _ in range(3)])
            writer.commit()
            with open(path, "rb") as f:
                yield f.read()

    def read(self, path):
        reader = FileReader(path)
        fields = list(reader.schema())
        list(reader.get_next()), reader.len()
        list(FileReader(path, columns=fields[:1]).get_next())
        list(ds.MindDataset(path, shuffle=False).create_tuple_iterator(num_epochs=1, output_numpy=True))
        page = MindPage(path)
        for field in page.candidate_fields:
            page.category_field = field
            page.read_category_info(), page.read_at_page_by_id(0, 0, 2)


class Checkpoint(Format):
    name = extension = "ckpt"

    def values(self):
        net = nn.SequentialCell(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Dense(3, 2))
        half = ms.Tensor([1.5, 2.0], ms.bfloat16)
        return {**net.parameters_dict(), "half": half, "flag": ms.Tensor([True]), "text": "words é",
                "empty": ms.Tensor(np.zeros((0, 3), np.float32)), "scalar": ms.Tensor(3)}

    def seeds(self, folder):
        for crc in (False, True):
            path = os.path.join(folder, f"seed.{self.extension}")
            ms.save_checkpoint(self.values(), path, format=self.extension, crc_check=crc)
            with open(path, "rb") as f:
                yield f.read()

    def read(self, path):
        for crc in (False, True):
            for value in ms.load_checkpoint(path, format=self.extension, crc_check=crc).values():
                str(value)


class Safetensors(Checkpoint):
    name = extension = "safetensors"


class Cifar(Format):
    name, extension = "cifar", "folder"

    def seeds(self, folder):
        rng = np.random.default_rng(0)
        for protocol in (2, 4):
            yield pickle.dumps({b"data": rng.integers(0, 256, (2, 3072)).astype(np.uint8), b"labels": [1, 2]}, protocol)

    def read(self, path):
        os.mkdir(path + ".d")
        for name in ("data_batch_1", "test_batch"):
            with open(path, "rb") as f, open(os.path.join(path + ".d", name), "wb") as g:
                g.write(f.read())
        Cifar10ToMR(path + ".d", path + ".mr").transform()


class Mnist(Format):
    name, extension = "mnist", "gz"

    def seeds(self, folder):
        yield gzip.compress(struct.pack(">IIII", 2051, 2, 28, 28) + bytes(2 * 784))
        yield gzip.compress(struct.pack(">II", 2049, 2) + b"\x01\x02")

    def read(self, path):
        os.mkdir(path + ".d")
        good = {"images": gzip.compress(struct.pack(">IIII", 2051, 2, 28, 28) + bytes(2 * 784)),
                "labels": gzip.compress(struct.pack(">II", 2049, 2) + b"\x01\x02")}
        with open(path, "rb") as f:
            changed = f.read()
        for prefix in ("train", "t10k"):
            for kind, rank in (("images", 3), ("labels", 1)):
                data = changed if (kind == "images") == (len(changed) > 60) else good[kind]
                with open(os.path.join(path + ".d", f"{prefix}-{kind}-idx{rank}-ubyte.gz"), "wb") as g:
                    g.write(data)
        MnistToMR(path + ".d", path + ".mr").transform()


class MindIR(Format):
    name = extension = "mindir"

    def seeds(self, folder):
        beside = os.path.join(os.path.dirname(__file__), "mind_ir")
        for path in sorted(glob.glob(os.path.join(beside, "*.mindir"))):
            if os.path.getsize(path) < 9000:
                with open(path, "rb") as f:
                    yield f.read()
        path = os.path.join(folder, "seed.mindir")
        ms.export(nn.SequentialCell(nn.Dense(3, 4), nn.ReLU()), ms.ops.ones((2, 3)), file_name=path)
        with open(path, "rb") as f:
            yield f.read()

    def read(self, path):
        ms.load(path)


class DataSets(Format):
    """A file of a data set's folder, the others of which stay as they are; in all variants of its arguments."""

    extension = "any"

    def __init__(self, name, first, last):
        self.name, self.first, self.last = name, first, last

    def seeds(self, folder):
        self.kept = tempfile.TemporaryDirectory()
        names = [n for _, n, _ in made_sets.CASES]
        self.places = []
        for make, name, variants in made_sets.CASES[names.index(self.first):names.index(self.last) + 1]:
            if name in ("QMnist", "PhotoTour"):  # as EMnist and Food101 are, but large
                continue
            beside = pathlib.Path(self.kept.name) / make.__name__
            make(beside) if not beside.exists() else None
            images = 0
            for path in sorted(beside.rglob("*")):
                images += path.suffix in (".jpg", ".png", ".JPEG")
                if path.is_file() and (path.suffix not in (".jpg", ".png", ".JPEG") or images == 1):
                    self.places.append((path, name, variants, str(beside)))
                    yield path.read_bytes()

    def read(self, path):
        place, name, variants, folder = self.places[self.chosen]
        good = place.read_bytes()
        try:
            with open(path, "rb") as f:
                place.write_bytes(f.read())
            errors = []
            for arguments in variants[:6]:
                try:
                    d = getattr(ds, f"{name}Dataset")(shuffle=False, **made_sets.place(arguments, folder))
                    list(d.create_tuple_iterator(num_epochs=1, output_numpy=True))
                except WRONG as e:
                    errors.append(e)
            if errors:
                raise errors[0]
        finally:
            place.write_bytes(good)


def _message(field, data):
    return bytes([8 * field + 2, len(data)]) + data


def _record(data):
    head = struct.pack("<Q", len(data))
    return head + struct.pack("<I", masked_crc32c(head)) + data + struct.pack("<I", masked_crc32c(data))


def _rows(d):
    return list(d.create_tuple_iterator(num_epochs=1, output_numpy=True))


class Readers(Format):
    """What reads one file of a common kind."""

    name, extension = "readers", "any"

    def seeds(self, folder):
        features = {"s": _message(1, _message(1, b"\xff\0") + _message(1, b"ab")),
                    "n": _message(3, _message(1, b"\x07")), "f": _message(2, _message(1, struct.pack("<2f", 1, 0.5)))}
        example = _message(1, b"".join(_message(1, _message(1, n.encode()) + _message(2, v))
                                       for n, v in features.items()))
        whole = b"".join(_record(example) for _ in range(3))
        schema = {"datasetType": "TF", "numRows": 3, "columns": {"n": {"type": "int64", "rank": 1, "shape": [1]},
                                                               "s": {"type": "uint8", "rank": 1}}}
        vectors = "ab 0.5 1 -2e3\ncd 1 2 3\n\u00fc 4 5 6\n"
        image = io.BytesIO()
        Image.fromarray(np.arange(60, dtype=np.uint8).reshape(4, 5, 3)).save(image, "PNG")
        rows = np.random.default_rng(0).integers(0, 256, (3, 3073), np.uint8)
        rows[:, 0] %= 10
        self.readers = []
        for data, read in (
                (whole, lambda path: _rows(ds.TFRecordDataset(path, shuffle=False))),
                (gzip.compress(whole), lambda path: _rows(ds.TFRecordDataset(path, compression_type="GZIP"))),
                (zlib.compress(whole), lambda path: _rows(ds.TFRecordDataset(path, compression_type="ZLIB"))),
                (example, self.example),  # with a right checksum around
                (json.dumps(schema).encode(), lambda path: ds.Schema(path)),
                (b'1,2.5,"a ""b"" c"\n3,4,d\n', lambda path: _rows(
                    ds.CSVDataset(path, column_defaults=[1, 1.0, "x"], column_names=["a", "b", "c"], shuffle=False))),
                ("some\ntext \u00fc\n".encode(), lambda path: _rows(ds.TextFileDataset(path, shuffle=False))),
                (b"the\nof,1\nand\n", lambda path: ds.text.Vocab.from_file(path, ",", special_tokens=["<unk>"])),
                (vectors.encode(), lambda path: ds.text.Vectors.from_file(path)),
                (b"3 3\n" + vectors.encode(), self.named(".vec", ds.text.FastText)),
                (vectors.encode(), self.named("glove.6B.3d.txt", ds.text.GloVe)),
                (vectors.encode(), self.named(".txt", ds.text.CharNGram)),
                (json.dumps({"numParallelWorkers": 2, "seed": 3, "logFilePath": "/tmp"}).encode(), self.config),
                (image.getvalue(), ds.vision.read_image),
                (rows.tobytes(), self.cifar)):
            self.readers.append(read)
            yield data

    def read(self, path):
        try:
            self.readers[self.chosen](path)
        except (AttributeError, TypeError) as e:  # of what a schema or a configuration says, as in MindSpore
            if str(e)[:1] != "[":
                raise
            raise ValueError(str(e)) from e

    @staticmethod
    def example(path):
        with open(path, "rb") as f:
            data = f.read()
        with open(path, "wb") as f:
            f.write(_record(data))
        _rows(ds.TFRecordDataset(path, shuffle=False))

    @staticmethod
    def named(name, kind):
        def read(path):
            place = os.path.join(os.path.dirname(path), name if name[0] != "." else "vectors" + name)
            os.rename(path, place)
            kind.from_file(place)
        return read

    @staticmethod
    def config(path):
        kept = ds.config.get_num_parallel_workers(), ds.config.get_seed()
        try:
            ds.config.load(path)
        finally:
            ds.config.set_num_parallel_workers(kept[0])
            ds.config.set_seed(kept[1])

    @staticmethod
    def cifar(path):
        os.rename(path, os.path.join(os.path.dirname(path), "data_batch_1.bin"))
        _rows(ds.Cifar10Dataset(os.path.dirname(path), "train", shuffle=False))


FORMATS = [MindRecord(), Checkpoint(), Safetensors(), Cifar(), Mnist(), MindIR(), DataSets("texts", "AGNews", "USPS"),
           DataSets("sounds", "CMUArctic", "YesNo"), DataSets("images", "EMnist", "WIDERFace"),
           Readers()]


def _remove(folder):
    for root, folders, files in os.walk(folder, topdown=False):
        for f in files:
            os.unlink(os.path.join(root, f))
        for f in folders:
            os.rmdir(os.path.join(root, f))


def fuzz(form, count, seed=0, say=lambda *_: None):
    """Reads `count` broken files. Returns how many were answered with values and with errors; raises AssertionError
    with the file's path for any other answer, which stays there."""
    rng = random.Random(seed)
    answers = {"values": 0, "errors": 0}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seeds = list(form.seeds(folder))
        _remove(folder)
        path = os.path.join(folder, f"file.{form.extension}")
        for k in range(count):
            form.chosen = rng.choice(range(len(seeds)))
            data = mutated(seeds[form.chosen], rng)
            with open(path, "wb") as f:
                f.write(data)
            try:
                form.read(path)
                answers["values"] += 1
            except WRONG:
                answers["errors"] += 1
            except BaseException as e:
                kept = os.path.join(tempfile.gettempdir(), f"broken-{form.name}-{seed}-{k}")
                with open(kept, "wb") as f:
                    f.write(data)
                raise AssertionError(f"{form.name}: {type(e).__name__}: {e}; the file is {kept}") from e
            finally:
                _remove(folder)
            if k % 1000 == 999:
                say(f"{form.name}: {k + 1}, {answers}")
    assert not glob.glob(os.path.join(folder, "*"))
    return answers


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", choices=[f.name for f in FORMATS])
    parser.add_argument("--megabytes", type=int, default=4096, help="of address space at most")
    options = parser.parse_args()
    most = options.megabytes << 20
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    for form in FORMATS:
        if options.format in (None, form.name):
            print(form.name, fuzz(form, options.files, options.seed, print), flush=True)


if __name__ == "__main__":
    sys.exit(main())
