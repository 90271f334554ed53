"""MindRecord files: written and read as MindSpore does, datasets of rows, collections as such files; broken ones."""

import base64
import gzip
import io
import json
import os
import pickle
import struct
import types
import zlib

import numpy as np
import pytest
from PIL import Image

import pijit as ms
import pijit.dataset as ds
from pijit import mindrecord as mr
from pijit.dataset.tfrecord import masked_crc32c
from pijit.mindrecord import FileReader, FileWriter, MindPage, _format
from tests.python.pairs import pairs

# what MindSpore 2.10 writes for ROWS, compressed
WRITTEN = zlib.decompress(
    base64.b85decode(
        "c-rmKzl+mw7{~Fn-"
        "r%C(<|yCQc=VUGbg<V`aS;R&6po{$&9`l6nv{HV>RAf62>uH?S#)u872Vu)&{6Oo@V_{}`E^ZNDK2jB7v$1Bd7e+7H23(N5u1y#v}_sll=ED"
        "QcC}e=HB8}nwtUtbI?}b3Xdle;1<@9sHI>2?YA}{ltLNxaWnpeKt#=%nVrGqGoF_fI7x+)(JN2ZVbfuq@ZEE#udL16m^tIT(cYnWkyZf*!a`"
        "kL5${Pj#(M%W8t&<!6aHwRMuAs(NU}qyLw1V(#k@z9<n^kg~RSTO{8;#;-"
        "54w;3=VFJ2Z?D&GG+U+^_|sV+m2!M9TkCrEo5x?%cm4kAEecC7*Vjk%?j}M<+ENYl?w0Fbndq0N#A<pj;y-"
        "$+=<yD&Rdsv%sE!xbYhn>)>5jD6KMtjeigvCzbbTvqHlni3r`1+raZ3_6T%SzJlftCAwn>ui=0?woUa^>@#s9jix(Wlw8;QkY^#&~4j($`b|"
        "70WIwRfk1_{;kV9ThqQ-Q^v*t|^|#AbJrxv%Xsq3j+WE0000000000000000000000000{?V=C<pq80TrRavXO~JFz30<&Cp}-"
        "(N4b)G*4=luL}g)R<8&2v(%A?rWnp)>gq73cjt<Mk8G9RX<tz>W00000000000000000000000000000000000000000000000000000000D"
        "!GTdVaCAzjZ#oio9M9zur7CjHPQVJ>#8cP37A!?<-gHoxeUsKI_iTUex*BFiP>=rT61!Hc~B&{C*jWM&6_&<!t0bHd6ZoTJBaO"
    )
)
SCHEMA = {
    "name": {"type": "string"},
    "n": {"type": "int32"},
    "l": {"type": "int64"},
    "f": {"type": "float32"},
    "d": {"type": "float64"},
    "b": {"type": "bytes"},
    "a": {"type": "int32", "shape": [-1]},
    "k": {"type": "int64", "shape": [2, -1]},
    "e": {"type": "float32", "shape": [2]},
}
ROWS = [
    {
        "name": f"é{i}",
        "n": -40 * i,
        "l": 2**40 * i,
        "f": 0.5 * i + 0.25,
        "d": i / 3 + 0.1,
        "b": b"\x00\xff" * i,
        "a": np.array([1, -200, 70000, i], np.int32),
        "k": np.array([[i], [2**40]], np.int64),
        "e": np.array([i, 0.5], np.float32),
    }
    for i in range(3)
]


def small(path, shards=1, **kwargs):
    writer = FileWriter(str(path), shards, **kwargs)
    writer.set_header_size(1 << 14)
    writer.set_page_size(1 << 15)
    return writer


def written(path, rows, schema, shards=1, index=None):
    writer = small(path, shards)
    writer.add_schema(schema, "rows")
    if index:
        writer.add_index(index)
    writer.write_raw_data(rows)
    writer.commit()
    return str(path) + ("" if shards == 1 else "0")


def same(a, b):
    return a.keys() == b.keys() and all(
        type(a[k]) is type(b[k])
        and (np.array_equal(a[k], b[k]) and a[k].dtype == b[k].dtype if isinstance(b[k], np.ndarray) else a[k] == b[k])
        for k in a
    )


def test_what_mindspore_writes(tmp_path):
    path = tmp_path / "gold.mr"
    path.write_bytes(WRITTEN)
    reader = FileReader(str(path))
    assert reader.schema() == SCHEMA and reader.len() == 3
    assert all(same(a, b) for a, b in pairs(reader.get_next(), ROWS))
    reader.close()
    writer = small(tmp_path / "our" / "gold.mr") if (tmp_path / "our").mkdir() is None else None
    writer.add_schema(SCHEMA, "all kinds")
    writer.add_index(["name", "n"])
    writer.write_raw_data(ROWS)
    writer.commit()
    assert (tmp_path / "our" / "gold.mr").read_bytes() == WRITTEN


def test_index(tmp_path):
    import sqlite3

    path = written(tmp_path / "a.mr", ROWS, SCHEMA, index=["name", "n"])
    index = sqlite3.connect(path + ".db")
    assert index.execute("SELECT name FROM SHARD_NAME").fetchall() == [("a.mr",)]
    rows = index.execute(
        "SELECT ROW_ID, PAGE_ID_RAW, PAGE_OFFSET_RAW, PAGE_OFFSET_RAW_END, ROW_GROUP_ID, PAGE_ID_BLOB,"
        " PAGE_OFFSET_BLOB, PAGE_OFFSET_BLOB_END, name_0, n_0 FROM INDEXES ORDER BY ROW_ID"
    ).fetchall()
    assert [r[0] for r in rows] == [0, 1, 2] and [r[8:] for r in rows] == [("é0", 0), ("é1", -40), ("é2", -80)]
    data = (tmp_path / "a.mr").read_bytes()
    for k, (_, page, begin, end, _, blob_page, blob_begin, blob_end, *_) in enumerate(rows):
        raw = data[(1 << 14) + page * (1 << 15) + begin : (1 << 14) + page * (1 << 15) + end]
        assert struct.unpack("<Q", raw[:8])[0] == len(raw) - 8 and _format.unpack(raw[8:])["n"] == -40 * k
        blob = data[(1 << 14) + blob_page * (1 << 15) + blob_begin : (1 << 14) + blob_page * (1 << 15) + blob_end]
        assert struct.unpack("<Q", blob[:8])[0] == len(blob) - 8


@pytest.mark.parametrize(
    "values",
    [
        (),
        (0,),
        (1, 2, 3),
        (127, -128),
        (128, -129),
        (32767, -32768, 32768),
        (2**31 - 1, -(2**31)),
        (1, 300, 2, 70000, 5, -200, 7, 8, -9, 100000),
    ],
)
@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_packed_ints(values, kind):
    array = np.array(values, kind)
    packed = _format.pack_ints(array)
    got = _format.unpack_ints(memoryview(packed), kind)
    assert got.dtype == kind and got.tolist() == list(values)
    if len(values) == 10:  # as MindSpore packs it
        assert packed.hex() == "0000000a121020012c0102701101000538ff0708f7a0860100"
    for cut in range(len(packed)):
        with pytest.raises(ValueError):
            _format.unpack_ints(memoryview(packed[:cut]), kind)


@pytest.mark.parametrize(
    "value",
    [
        0,
        127,
        128,
        255,
        256,
        65535,
        65536,
        2**32 - 1,
        2**32,
        2**64 - 1,
        -1,
        -32,
        -33,
        -128,
        -129,
        -32768,
        -32769,
        -(2**31),
        -(2**31) - 1,
        -(2**63),
        0.5,
        1 / 3,
        1e300,
        "",
        "é" * 20,
        "x" * 31,
        "x" * 32,
        "x" * 256,
        "x" * 70000,
        {str(k): k for k in range(20)},
    ],
)
def test_message_pack(value):
    packed = _format.pack({"v": value})
    assert _format.unpack(packed) == {"v": value}
    for cut in {0, 1, len(packed) // 2, len(packed) - 1}:
        with pytest.raises(ValueError):
            _format.unpack(packed[:cut])
    with pytest.raises(ValueError, match="no map"):
        _format.unpack(packed + b"\x00")
    with pytest.raises(ValueError, match="deep"):
        _format.unpack(b"\x81\xa1v" * 40 + b"\x00")


def test_pages_and_files(tmp_path):
    """Rows that fill several pages, in several calls and files; more of them are added later."""
    schema = {"s": {"type": "string"}, "b": {"type": "bytes"}}
    rows = [{"s": "q" * (k % 7 * 700), "b": b"r" * (k % 5 * 2500)} for k in range(60)]
    writer = small(tmp_path / "a.mr", 3)
    writer.add_schema(schema)
    for k in range(0, 60, 20):
        writer.write_raw_data(rows[k : k + 20])
    writer.commit()
    files = [str(tmp_path / f"a.mr{k}") for k in range(3)]
    assert FileReader(files[0]).len() == 60 and FileReader(files[1:2]).len() < 30
    got = list(FileReader(files[2]).get_next())
    key = lambda r: (r["s"], r["b"])
    assert sorted(map(key, got)) == sorted(map(key, rows))
    assert [json.loads(open(f, "rb").read(1 << 14)[8:].rstrip(b"\0"))["shard_id"] for f in files] == [0, 1, 2]
    more = FileWriter.open_for_append(files[0])
    more.write_raw_data(rows[:9])
    more.commit()
    assert FileReader(files[0]).len() == 69
    again = FileWriter(str(tmp_path / "b.mr"))
    again.init_append(files[0], None)
    again.write_raw_data(rows[:1])
    again.commit()
    assert sorted(map(key, FileReader(files[1]).get_next())) == sorted(map(key, rows + rows[:9] + rows[:1]))
    with pytest.raises(RuntimeError, match="page size"):
        more = FileWriter.open_for_append(files[0])
        more.write_raw_data([{"s": "q" * 40000, "b": b""}])
    os.unlink(files[1])
    with pytest.raises(RuntimeError, match="a.mr1 is not exists"):
        FileReader(files[0])
    assert FileReader(files[:1]).len() > 20


def test_digits_of_many_files(tmp_path):
    written(tmp_path / "f", [{"n": k} for k in range(15)], {"n": {"type": "int32"}}, 12)
    assert sorted(f.name for f in tmp_path.iterdir())[:4] == ["f00", "f00.db", "f01", "f01.db"]
    assert FileReader(str(tmp_path / "f07")).len() == 15


def test_rows_that_do_not_fit(tmp_path):
    n = {"n": {"type": "int32"}}
    for k, (schema, row) in enumerate(
        [
            (n, {}),
            (n, {"n": "x"}),
            (n, {"n": 1.5}),
            (n, {"n": 2**31}),
            (n, {"n": True}),
            ({"n": {"type": "int32", "shape": [2]}}, {"n": [1, 2]}),
            ({"n": {"type": "int32", "shape": [2]}}, {"n": np.array([1, 2], np.int64)}),
            ({"n": {"type": "int32", "shape": [2]}}, {"n": np.array([1, 2, 3], np.int32)}),
            ({"n": {"type": "bytes"}}, {"n": "text"}),
            ({"n": {"type": "string"}}, {"n": b"b"}),
            ({"n": {"type": "string"}}, {"n": "\ud800"}),
            ({"n": {"type": "float32"}}, {"n": 1}),
        ]
    ):
        writer = small(tmp_path / str(k))
        writer.add_schema(schema)
        with pytest.warns(RuntimeWarning, match="leaves out a row"), pytest.raises(RuntimeError, match="no valid data"):
            writer.write_raw_data([row])
    writer = small(tmp_path / "good")
    writer.add_schema(n)
    with pytest.warns(RuntimeWarning):
        writer.write_raw_data([{"n": 1}, {"n": "x"}, {"n": np.int16(2), "more": 3}])
    writer.commit()
    assert [r["n"] for r in FileReader(str(tmp_path / "good")).get_next()] == [1, 2]


def test_wrong_arguments(tmp_path):
    path = str(tmp_path / "c.mr")
    new = lambda *a: FileWriter(path, *a)

    def made(schema={"a": {"type": "int32"}}):
        writer = new()
        writer.add_schema(schema)
        return writer

    for error, call in [
        (mr.ParamValueError, lambda: new(0)),
        (mr.ParamValueError, lambda: new(2000)),
        (mr.ParamValueError, lambda: new("3")),
        (mr.ParamValueError, lambda: FileWriter(3)),
        (mr.ParamValueError, lambda: FileWriter("")),
        (mr.MRMInvalidSchemaError, lambda: new().add_schema({})),
        (mr.MRMInvalidSchemaError, lambda: new().add_schema(3)),
        (mr.MRMInvalidSchemaError, lambda: new().add_schema({"a": {"type": "int16"}})),
        (mr.MRMInvalidSchemaError, lambda: new().add_schema({"a b": {"type": "int32"}})),
        (mr.MRMInvalidSchemaError, lambda: new().add_schema({"a": {}})),
        (mr.MRMInvalidSchemaError, lambda: new().add_schema({"a": {"type": "bytes", "shape": [1]}})),
        (mr.MRMBuildSchemaError, lambda: new().add_schema({"a": {"type": "int32", "shape": [2, -1, -1]}})),
        (TypeError, lambda: new().add_schema({"a": {"type": "int32"}}, 3)),
        (mr.MRMAddSchemaError, lambda: made().add_schema({"b": {"type": "int32"}})),
        (RuntimeError, lambda: made().add_index(["q"])),
        (mr.ParamTypeError, lambda: made().add_index("a")),
        (mr.ParamTypeError, lambda: made().add_index([])),
        (mr.MRMDefineIndexError, lambda: made({"a": {"type": "bytes"}}).add_index(["a"])),
        (mr.ParamTypeError, lambda: made().write_raw_data({"a": 1})),
        (mr.ParamTypeError, lambda: made().write_raw_data([3])),
        (RuntimeError, lambda: made().write_raw_data([])),
        (RuntimeError, lambda: new().write_raw_data([{"a": 1}])),
        (RuntimeError, lambda: new().commit()),
        (RuntimeError, lambda: new().set_header_size(3)),
        (RuntimeError, lambda: new().set_page_size(3)),
        (TypeError, lambda: new().set_header_size("a")),
        (RuntimeError, lambda: FileReader(path)),
        (mr.ParamValueError, lambda: FileReader(3)),
        (RuntimeError, lambda: FileWriter.open_for_append(path)),
        (mr.ParamValueError, lambda: FileWriter.open_for_append(3)),
    ]:
        with pytest.raises(error):
            call()
    assert not os.path.exists(path)
    writer = made()
    writer.write_raw_data([{"a": 1}])
    writer.commit()
    for error, call in [
        (RuntimeError, lambda: made().write_raw_data([{"a": 1}])),
        (RuntimeError, lambda: made().commit()),
        (RuntimeError, lambda: FileReader(path, columns=["zz"])),
        (mr.ParamTypeError, lambda: FileReader(path, columns="a")),
        (mr.ParamValueError, lambda: FileReader(path, num_consumer=0)),
        (mr.ParamValueError, lambda: FileReader(path, num_consumer=10**6)),
    ]:
        with pytest.raises(error):
            call()
    assert issubclass(mr.ParamValueError, mr.MindRecordException) and "[ParamValueError]: " in str(
        mr.ParamValueError("x")
    )
    writer = FileWriter(path, overwrite=True)
    writer.add_schema({"b": {"type": "string"}})
    writer.write_raw_data([{"b": "new"}])
    writer.commit()
    assert list(FileReader(path).get_next()) == [{"b": "new"}]
    with pytest.raises(NotImplementedError, match="not encrypted"):
        mr.set_enc_key("0123456789012345")
    mr.set_enc_key(None)


def test_pages_by_a_field(tmp_path):
    path = written(
        tmp_path / "a.mr",
        [{"n": k % 4, "s": f"s{k % 3}"} for k in range(10)],
        {"n": {"type": "int32"}, "s": {"type": "string"}},
        2,
    )
    page = MindPage(path)
    assert page.candidate_fields == ["n", "s"] and page.category_field is None
    page.category_field = "n"
    info = json.loads(page.read_category_info())
    assert info["key"] == "n_0" and info["categories"][2] == {"count": 2, "id": 2, "name": "2"}
    assert page.read_at_page_by_id(1, 1, 2) == [{"n": 1, "s": "s0"}]
    assert page.read_at_page_by_name("2", 0, 10) == [{"n": 2, "s": "s2"}, {"n": 2, "s": "s0"}]
    for error, call in [
        (mr.MRMDefineCategoryError, lambda: setattr(page, "category_field", "zz")),
        (RuntimeError, lambda: page.read_at_page_by_id(99, 0, 2)),
        (RuntimeError, lambda: page.read_at_page_by_id(0, 50, 5)),
        (mr.ParamValueError, lambda: page.read_at_page_by_id(-1, 0, 1)),
        (mr.ParamValueError, lambda: page.read_at_page_by_id(0, 0, 0)),
        (mr.ParamValueError, lambda: page.read_at_page_by_name(3, 0, 1)),
    ]:
        with pytest.raises(error):
            call()


@pytest.fixture
def ten(tmp_path):
    return written(
        tmp_path / "d.mr",
        [
            {"s": f"s{k % 3}", "n": k % 4, "l": k, "b": b"x" * k + b"\0", "a": np.arange(k + 1, dtype=np.int32)}
            for k in range(10)
        ],
        {
            "s": {"type": "string"},
            "n": {"type": "int32"},
            "l": {"type": "int64"},
            "b": {"type": "bytes"},
            "a": {"type": "int32", "shape": [-1]},
        },
        2,
    )


def order(*args, **kwargs):
    d = ds.MindDataset(*args, **kwargs)
    got = [int(r["l"]) for r in d.create_dict_iterator(num_epochs=1, output_numpy=True)]
    assert d.get_dataset_size() == len(got)
    return got


def test_dataset(ten):
    d = ds.MindDataset(ten, shuffle=False)
    assert d.get_col_names() == ["a", "b", "l", "n", "s"] and d.output_shapes()[2:] == [[], [], []]
    row = list(d.create_dict_iterator(num_epochs=1, output_numpy=True))[3]
    assert row["a"].dtype == np.int32 and row["a"].tolist() == [0, 1, 2, 3] and row["l"].dtype == np.int64
    assert row["b"].dtype.kind == "S" and row["b"].shape == (1,) and row["b"].tobytes() == b"xxx\0"
    assert str(row["s"]) == "s0" and row["n"].dtype == np.int32
    second = ten[:-1] + "1"
    assert order(ten, shuffle=False) == order(second, shuffle=False) == list(range(10))
    assert order([ten], shuffle=False) == [0, 1, 2, 3, 4]
    assert order([second, ten], shuffle=False) == [5, 6, 7, 8, 9, 0, 1, 2, 3, 4]
    assert [order(ten, shuffle=False, num_shards=3, shard_id=k) for k in range(3)] == [
        [0, 3, 6, 9],
        [1, 4, 7, 0],
        [2, 5, 8, 1],
    ]
    assert order(ten, shuffle=False, num_samples=3) == [0, 1, 2]
    assert order(ten, sampler=ds.SequentialSampler(2, 3)) == [2, 3, 4] and order(
        ten, sampler=ds.SubsetSampler([3, 1])
    ) == [3, 1]
    assert sorted(order(ten, sampler=ds.PKSampler(2, class_column="n"))) != [] and sorted(order(ten)) == list(range(10))
    files = order(ten, shuffle=ds.Shuffle.FILES)
    assert files in ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [5, 6, 7, 8, 9, 0, 1, 2, 3, 4])
    within = order(ten, shuffle=ds.Shuffle.INFILE)
    assert sorted(within[:5]) == [0, 1, 2, 3, 4] and sorted(within) == list(range(10))
    d = ds.MindDataset(ten, ["n", "b"], shuffle=False).map(lambda b: np.frombuffer(b, np.uint8).sum(), "b").batch(5)
    first = next(d.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert d.get_col_names() == ["n", "b"] and first["b"].tolist() == [0, 120, 240, 360, 480]
    d = ds.MindDataset(ten, ["l"], shuffle=False).map(
        lambda x: x * 2, num_parallel_workers=2, python_multiprocessing=True
    )
    assert [int(x[0]) for x in d.create_tuple_iterator(num_epochs=1, output_numpy=True)] == list(range(0, 20, 2))


def test_padded_dataset(ten):
    given = {"columns_list": ["s", "l"], "shuffle": False, "padded_sample": {"s": "pad", "l": -1}, "num_padded": 2}
    assert order(ten, **given) == [*range(10), -1, -1]
    assert [order(ten, **given, num_shards=4, shard_id=k) for k in range(4)] == [
        [0, 4, 8],
        [1, 5, 9],
        [2, 6, -1],
        [3, 7, -1],
    ]
    for error, wrong in [
        (RuntimeError, {"padded_sample": {"l": 1}}),
        (RuntimeError, {"num_padded": 2}),
        (RuntimeError, {"padded_sample": {"l": 1}, "num_padded": 2}),
        (ValueError, {"padded_sample": {"l": 1}, "num_padded": 2, "columns_list": ["s"]}),
        (ValueError, {"padded_sample": {"l": 1}, "num_padded": -1, "columns_list": ["l"]}),
        (RuntimeError, {"num_shards": 2}),
        (TypeError, {"columns_list": "l"}),
        (TypeError, {"shuffle": 3}),
        (RuntimeError, {"shuffle": True, "sampler": ds.SequentialSampler()}),
    ]:
        with pytest.raises(error):
            ds.MindDataset(ten, **wrong)
    with pytest.raises(ValueError, match="does not exist"):
        ds.MindDataset(ten + "x")
    with pytest.raises(TypeError, match="path: 3 is not string"):
        ds.MindDataset(3)
    with pytest.raises(RuntimeError, match="zz"):
        list(ds.MindDataset(ten, ["zz"]).create_tuple_iterator(num_epochs=1))


def test_broken_files(tmp_path):
    path = tmp_path / "a.mr"
    path.write_bytes(WRITTEN)
    n = struct.unpack("<Q", WRITTEN[:8])[0]
    header = json.loads(WRITTEN[8 : 8 + n])

    def with_header(**changes):
        text = json.dumps({**header, **changes}).encode()
        return struct.pack("<Q", len(text)) + text + WRITTEN[8 + len(text) :]

    assert (tmp_path / "b").write_bytes(with_header()) and FileReader([str(tmp_path / "b")]).len() == 3
    pages = header["page"]
    for k, data in enumerate(
        [
            b"",
            b"x" * 5000,
            WRITTEN[:-1],
            WRITTEN[:200],
            struct.pack("<Q", 2**63) + WRITTEN[8:],
            with_header(header_size=2**40),
            with_header(page_size=0),
            with_header(page_size="7"),
            with_header(schema=None),
            with_header(shard_addresses=[]),
            with_header(page=[{**pages[0], "page_size": 2**50}, pages[1]]),
            with_header(page=[pages[0]]),
            with_header(page=7),
            with_header(page=[pages[0], {**pages[1], "row_group_ids": [{"id": 0, "offset": 5}]}]),
            with_header(page=[{**pages[0], "end_row_id": 10**12}, pages[1]]),
            with_header(schema=[{"blob_fields": [], "schema": {"n": {"type": "int32"}, "b": {"type": "bytes"}}}]),
            with_header(schema=[{"blob_fields": ["a"], "schema": {"a": {"type": "int32", "shape": [10**30]}}}]),
            struct.pack("<Q", 8000) + b"[" * 8000 + WRITTEN[8008:],
        ]
    ):
        path.write_bytes(data)
        with pytest.raises(ValueError) as e:
            list(FileReader(str(path)).get_next())
        assert isinstance(e.value, RuntimeError), k
        with pytest.raises(RuntimeError):
            list(ds.MindDataset(str(path)).create_tuple_iterator(num_epochs=1))
    at = WRITTEN.index(b"\x85\xa1d")  # the map of a row's five numbers and strings
    path.write_bytes(WRITTEN[:at] + b"\xc1" + WRITTEN[at + 1 :])
    reader = FileReader(str(path))
    with pytest.raises(ValueError) as held:
        list(reader.get_next())
    reader.close()  # while the error holds the row
    assert "broken" in str(held.value)
    # names of other folders lead nowhere
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.mr").write_bytes(with_header(shard_addresses=["../../a.mr", "/etc/passwd"]))
    with pytest.raises(RuntimeError, match="passwd is not exists"):
        FileReader(str(tmp_path / "in" / "a.mr"))


def jpeg_of(row):
    return np.array(Image.open(io.BytesIO(row["data"])))


def test_cifar(tmp_path):
    images = np.repeat(np.arange(0, 240, 10, dtype=np.uint8), 128).reshape(1, 3072)
    for k in range(1, 6):
        (tmp_path / f"data_batch_{k}").write_bytes(pickle.dumps({b"data": images, b"labels": [k]}, 2))
    (tmp_path / "test_batch").write_bytes(pickle.dumps({"data": images, "labels": [7]}, 4))
    for name in ("train", "test"):
        (tmp_path / name).write_bytes(pickle.dumps({b"data": images, b"fine_labels": [3], b"coarse_labels": [9]}, 4))
    mr.Cifar10ToMR(str(tmp_path), str(tmp_path / "ten")).transform(["label"])
    rows = list(FileReader(str(tmp_path / "ten")).get_next())
    assert [(r["id"], r["label"]) for r in rows] == [(k, k + 1) for k in range(5)]
    assert np.abs(jpeg_of(rows[0]).astype(int) - images.reshape(3, 32, 32).transpose(1, 2, 0)).mean() < 3
    assert [r["label"] for r in FileReader(str(tmp_path / "ten_test")).get_next()] == [7]
    mr.Cifar100ToMR(str(tmp_path), str(tmp_path / "hundred")).transform()
    (row,) = FileReader(str(tmp_path / "hundred_test")).get_next()
    assert (row["fine_label"], row["coarse_label"], row["id"]) == (3, 9, 0)
    assert MindPage(str(tmp_path / "hundred")).candidate_fields == ["coarse_label", "fine_label", "id"]
    (d,) = (
        ds.MindDataset(str(tmp_path / "hundred"))
        .map(ds.vision.Decode(), "data")
        .create_dict_iterator(num_epochs=1, output_numpy=True)
    )
    assert np.array_equal(d["data"], jpeg_of(row)) and d["data"].shape == (32, 32, 3)


class Evil:
    def __reduce__(self):
        return os.system, ("touch evil",)


@pytest.mark.parametrize(
    "data",
    [
        Evil(),
        {b"data": Evil()},
        {b"data": np.zeros(3)},
        {b"data": [1], b"labels": [1]},
        [],
        {b"data": np.zeros((1, 3072), np.uint8)},
        {b"data": np.zeros((1, 3072), np.uint8), b"labels": ["x"]},
        {b"data": np.array([None]), b"labels": [1]},
    ],
)
def test_no_file_of_cifar_runs_code(tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data_batch_1").write_bytes(pickle.dumps(data))
    with pytest.raises(RuntimeError):
        mr.Cifar10ToMR(str(tmp_path), str(tmp_path / "a")).transform()
    assert not (tmp_path / "evil").exists()


def test_mnist(tmp_path):
    for prefix, n in (("train", 3), ("t10k", 2)):
        images = np.arange(n * 784, dtype=np.uint8)
        (tmp_path / f"{prefix}-images-idx3-ubyte.gz").write_bytes(
            gzip.compress(struct.pack(">IIII", 2051, n, 28, 28) + images.tobytes())
        )
        (tmp_path / f"{prefix}-labels-idx1-ubyte.gz").write_bytes(
            gzip.compress(struct.pack(">II", 2049, n) + bytes(range(n)))
        )
    mr.MnistToMR(str(tmp_path), str(tmp_path / "m"), 2).transform()
    rows = list(FileReader(str(tmp_path / "m_train.mindrecord0")).get_next())
    assert [r["label"] for r in rows] == [0, 1, 2] and jpeg_of(rows[0]).shape == (28, 28)
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(struct.pack(">IIII", 2051, 2**31, 2**10, 28)))
    with pytest.raises(RuntimeError, match="no IDX file"):
        mr.MnistToMR(str(tmp_path), str(tmp_path / "n")).transform()


def test_csv(tmp_path):
    (tmp_path / "a.csv").write_text("name,n,f,mix\nx,1,1.5,1\ny z,-2,,a\n")
    mr.CsvToMR(str(tmp_path / "a.csv"), str(tmp_path / "a")).transform()
    reader = FileReader(str(tmp_path / "a"))
    assert {k: f["type"] for k, f in reader.schema().items()} == {
        "name": "string",
        "n": "int64",
        "f": "float64",
        "mix": "string",
    }
    rows = list(reader.get_next())
    assert rows[0] == {"f": 1.5, "mix": "1", "n": 1, "name": "x"} and np.isnan(rows[1]["f"])
    mr.CsvToMR(str(tmp_path / "a.csv"), str(tmp_path / "b"), ["n", "name"], 2).transform()
    assert list(FileReader(str(tmp_path / "b0")).get_next()) == [{"n": 1, "name": "x"}, {"n": -2, "name": "y z"}]
    for error, call in [
        (RuntimeError, lambda: mr.CsvToMR(str(tmp_path / "a.csv"), str(tmp_path / "c"), ["zz"]).transform()),
        (ValueError, lambda: mr.CsvToMR(3, "c")),
        (FileNotFoundError, lambda: mr.CsvToMR("no.csv", "c").transform()),
    ]:
        with pytest.raises(error):
            call()


def test_image_folders(tmp_path):
    for name in ("n01", "n02"):
        (tmp_path / "im" / name).mkdir(parents=True)
        for k in range(2):
            (tmp_path / "im" / name / f"{k}.JPEG").write_bytes(b"image" + name.encode() + bytes([k]))
    (tmp_path / "map.txt").write_text("n01 0\nn02 1\nn03 7\n")
    mr.ImageNetToMR(str(tmp_path / "map.txt"), str(tmp_path / "im"), str(tmp_path / "i")).transform()
    rows = list(FileReader(str(tmp_path / "i")).get_next())
    assert [(r["label"], r["image"]) for r in rows] == [
        (0, b"imagen01\0"),
        (0, b"imagen01\1"),
        (1, b"imagen02\0"),
        (1, b"imagen02\1"),
    ]
    for error, text in [(RuntimeError, "n01\n"), (RuntimeError, "n01 x\n"), (RuntimeError, "../im 1\n")]:
        (tmp_path / "map.txt").write_text(text)
        with pytest.raises(error):
            mr.ImageNetToMR(str(tmp_path / "map.txt"), str(tmp_path / "im"), str(tmp_path / "j")).transform()
    with pytest.raises(OSError, match="not exists"):
        mr.ImageNetToMR("no.txt", str(tmp_path / "im"), str(tmp_path / "k")).transform()


def _message(field, data):
    return bytes([field << 3 | 2, len(data)]) + data


def test_tfrecord(tmp_path):
    def feature(kind, data):
        return _message(kind, data)

    records = []
    for k in range(3):
        features = {
            "image/name": _message(1, _message(1, f"n{k}".encode())),
            "raw": _message(1, _message(1, b"\xff\0")),
            "label": _message(3, _message(1, bytes([k]))),
            "box": _message(2, _message(1, struct.pack("<2f", k, 0.5))),
        }
        example = b"".join(_message(1, _message(1, n.encode()) + _message(2, v)) for n, v in features.items())
        example = _message(1, example)
        head = struct.pack("<Q", len(example))
        records.append(
            head + struct.pack("<I", masked_crc32c(head)) + example + struct.pack("<I", masked_crc32c(example))
        )
    (tmp_path / "a.tfrecord").write_bytes(b"".join(records))
    fixed = lambda shape, dtype: types.SimpleNamespace(shape=shape, dtype=dtype)
    given = {
        "image/name": fixed([], "string"),
        "raw": fixed([], "string"),
        "label": fixed([], np.int64),
        "box": fixed([2], ms.float32),
    }
    given["label"].dtype = np.dtype("int64")
    mr.TFRecordToMR(str(tmp_path / "a.tfrecord"), str(tmp_path / "a"), given, ["raw"]).transform()
    rows = list(FileReader(str(tmp_path / "a")).get_next())
    assert [(r["image_name"], r["raw"], r["label"], r["box"].tolist()) for r in rows] == [
        (f"n{k}", b"\xff\0", k, [k, 0.5]) for k in range(3)
    ]
    with pytest.raises(RuntimeError, match="no feature"):
        mr.TFRecordToMR(str(tmp_path / "a.tfrecord"), str(tmp_path / "b"), {"zz": fixed([], "string")}).transform()
    with pytest.raises(ValueError, match="feature_dict"):
        mr.TFRecordToMR("a", "b", {})


def test_paths_of_mindspore():
    import subprocess
    import sys

    subprocess.run(
        [
            sys.executable,
            "-c",
            """
import pijit
pijit.compat.install("mindspore")
from mindspore.mindrecord import FileWriter, FileReader, Cifar10ToMR
from mindspore.mindrecord.filewriter import FileWriter as W
from mindspore.mindrecord.tools.cifar10_to_mr import Cifar10ToMR as C
from mindspore.mindrecord.common.exceptions import ParamValueError
from mindspore.mindrecord.config import set_enc_key
from mindspore.dataset import MindDataset
assert W is FileWriter and C is Cifar10ToMR
""",
        ],
        check=True,
    )
