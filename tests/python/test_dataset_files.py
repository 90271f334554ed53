"""Datasets of files, in their formats and broken; operations on strings."""

import json
import os
import pathlib
import re
import socket
import struct
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import pijit as ms
import pijit.dataset as ds
import pijit.dataset.text as text
from pijit.dataset.tfrecord import masked_crc32c, parse_example


def rows(d):
    return [[np.asarray(c).tolist() for c in r] for r in d.create_tuple_iterator(num_epochs=1, output_numpy=True)]


def texts(d):
    return [r[0] for r in rows(d)]


def random_bytes(n, seed=0):
    return np.random.default_rng(seed).integers(0, 256, n).astype(np.uint8)


@pytest.fixture
def mnist(tmp_path):
    for prefix, n in (("train", 5), ("t10k", 3)):
        (tmp_path / f"{prefix}-images-idx3-ubyte").write_bytes(
            struct.pack(">IIII", 2051, n, 28, 28) + random_bytes(n * 784, n).tobytes())
        (tmp_path / f"{prefix}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, n) + bytes(range(n)))
    return tmp_path


def test_mnist(mnist):
    d = ds.MnistDataset(str(mnist), shuffle=False)
    assert (d.get_col_names(), len(d), d.output_shapes(), d.output_types(), d.num_classes()) == (
        ["image", "label"], 8, [[28, 28, 1], []], [np.uint8, np.uint32], None)
    d = ds.FashionMnistDataset(str(mnist), "train", shuffle=False)
    got = list(d.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert [int(r["label"]) for r in got] == [0, 1, 2, 3, 4]
    assert np.array_equal(np.stack([r["image"] for r in got]).reshape(-1), random_bytes(5 * 784, 5))
    assert len(ds.KMnistDataset(str(mnist), "test", num_samples=2)) == 2
    d = ds.MnistDataset(str(mnist), "train", sampler=ds.PKSampler(2))
    assert [r[1] for r in rows(d)] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4] and len(d) == 10
    (batch,) = ds.MnistDataset(str(mnist), "train").batch(5)
    assert batch[0].shape == (5, 28, 28, 1) and batch[1].dtype == ms.uint32
    assert sorted(batch[1].asnumpy()) == [0, 1, 2, 3, 4]
    a, b = ds.MnistDataset(str(mnist), "train").split([3, 2])
    assert sorted(r[1] for r in rows(a) + rows(b)) == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="usage"):
        ds.MnistDataset(str(mnist), "foo")
    with pytest.raises(ValueError, match="does not exist"):
        ds.MnistDataset(str(mnist / "none"))
    with pytest.raises(TypeError, match="dataset_dir"):
        ds.MnistDataset(3)


@pytest.mark.parametrize("content, message", [
    (struct.pack(">IIII", 2051, 5, 28, 28), "should hold 5 x 28 x 28 bytes"), (b"\0\0", "cut off"),
    (struct.pack(">IIII", 2051, 2**32 - 1, 2**32 - 1, 2**32 - 1), "should hold"),
                                              (b"\x1f\x8b" + bytes(20), "magic number"),
    (struct.pack(">IIII", 2051, 4, 28, 28) + bytes(4 * 784), "holds 4 images"),
                                              (struct.pack(">IIII", 2051, 5, 2, 2) + bytes(20), "28 x 28"),
    (None, "there is no")])
def test_broken_mnist(mnist, content, message):
    path = mnist / "train-images-idx3-ubyte"
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(RuntimeError, match=message):
        rows(ds.MnistDataset(str(mnist), "train"))


def test_cifar(tmp_path):
    for i in range(1, 6):
        (tmp_path / f"data_batch_{i}.bin").write_bytes(b"".join(bytes([i]) + random_bytes(3072, i).tobytes()
                                                                for _ in range(2)))
    (tmp_path / "test_batch.bin").write_bytes(bytes([9]) + random_bytes(3072).tobytes())
    d = ds.Cifar10Dataset(str(tmp_path), "train", shuffle=False)
    assert len(d) == 10 and [r[1] for r in rows(d)] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert d.output_types() == [np.uint8, np.uint32]
    first = next(d.create_dict_iterator(output_numpy=True))["image"]
    assert first.shape == (32, 32, 3) and np.array_equal(first.transpose(2, 0, 1).reshape(-1), random_bytes(3072, 1))
    assert len(ds.Cifar10Dataset(str(tmp_path))) == 11 and rows(ds.Cifar10Dataset(str(tmp_path), "test"))[0][1] == 9
    (tmp_path / "train.bin").write_bytes(b"".join(bytes([3, 40 + k]) + random_bytes(3072).tobytes() for k in range(2)))
    d = ds.Cifar100Dataset(str(tmp_path), "train", shuffle=False)
    assert d.get_col_names() == ["image", "coarse_label", "fine_label"]
    assert [r[1:] for r in rows(d)] == [[3, 40], [3, 41]]
    (tmp_path / "test_batch.bin").write_bytes(bytes(100))
    with pytest.raises(RuntimeError, match="no multiple of 3073"):
        rows(ds.Cifar10Dataset(str(tmp_path), "test"))


def test_image_folder_with_what_is_no_file(tmp_path):
    a = tmp_path / "a"
    a.mkdir()
    Image.fromarray(np.zeros((6, 7, 3), np.uint8)).save(a / "0.png")
    os.mkfifo(a / "pipe.png")
    (a / "folder.png").mkdir()
    (a / "nowhere.png").symlink_to(a / "missing")
    (a / "round.png").symlink_to(a / "round.png")
    (a / "device.png").symlink_to("/dev/zero")
    (a / "up.png").symlink_to(tmp_path)
    (a / "good.png").symlink_to(a / "0.png")
    here = os.getcwd()
    os.chdir(a)  # the address of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.bind("socket.png")
    finally:
        os.chdir(here)
    (tmp_path / "gone").symlink_to(tmp_path / "missing")
    os.mkfifo(tmp_path / "pipe")
    for decode in (False, True):
        for extensions in (None, [".png"]):
            d = ds.ImageFolderDataset(str(tmp_path), decode=decode, extensions=extensions, shuffle=False)
            assert d.get_class_indexing() == {"a": 0} and [r[1] for r in rows(d)] == [0, 0]
    (a / "0.png").unlink()
    (a / "good.png").unlink()
    with pytest.raises(RuntimeError, match="no files"):
        rows(ds.ImageFolderDataset(str(tmp_path)))


def test_image_folder(tmp_path):
    for c in "ba":
        (tmp_path / c).mkdir()
        for k in range(2):
            Image.fromarray(np.full((6, 7, 3), k * 50, np.uint8)).save(tmp_path / c / f"{k}.png")
    (tmp_path / "a" / "notes.txt").write_text("x")
    (tmp_path / "empty").mkdir()
    d = ds.ImageFolderDataset(str(tmp_path), shuffle=False)
    assert (len(d), d.num_classes(), d.output_types()) == (5, 3, [np.uint8, np.int32])
    assert d.get_class_indexing() == {"a": 0, "b": 1, "empty": 2}
    assert [r[1] for r in rows(d)] == [0, 0, 0, 1, 1] and bytes(rows(d)[0][0]).startswith(b"\x89PNG")
    d = ds.ImageFolderDataset(str(tmp_path), decode=True, extensions=[".png"], shuffle=False)
    assert [(np.shape(r[0]), r[0][0][0][0], r[1]) for r in rows(d)] == [((6, 7, 3), 50 * k, c) for c in range(2)
                                                                        for k in range(2)]
    assert [r[1] for r in rows(ds.ImageFolderDataset(str(tmp_path), class_indexing={"b": 7}))] == [7, 7]
    assert [r[1] for r in rows(ds.ImageFolderDataset(str(tmp_path), extensions=[".png"],
                                                     sampler=ds.PKSampler(1)))] == [0, 1]
    with pytest.raises(RuntimeError, match="notes.txt"):
        rows(ds.ImageFolderDataset(str(tmp_path), decode=True))
    with pytest.raises(RuntimeError, match="no files"):
        rows(ds.ImageFolderDataset(str(tmp_path), extensions=[".gif"]))


def test_csv(tmp_path):
    def csv(name, content, **kw):
        (tmp_path / name).write_bytes(content)
        return ds.CSVDataset(str(tmp_path / name), shuffle=False, **kw)

    names = ["a", "b", "c"]
    csv("a.csv", b'1,2.5,abc\n4,5,"x,y"\n')
    csv("b.csv", b"7,8,z\n")
    both = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    d = ds.CSVDataset(both, column_names=names, shuffle=False)
    assert rows(d) == [["1", "2.5", "abc"], ["7", "8", "z"], ["4", "5", "x,y"]]
    d = ds.CSVDataset(both, column_names=names, shuffle=False, num_shards=2, shard_id=1)
    assert rows(d) == [["7", "8", "z"], ["1", "2.5", "abc"]]
    assert len(rows(ds.CSVDataset(both, column_names=names))) == 3
    d = ds.CSVDataset(both[0], column_defaults=[0, 0.0, ""], column_names=names, shuffle=False)
    assert rows(d) == [[1, 2.5, "abc"], [4, 5.0, "x,y"]]
    assert [str(t) for t in d.output_types()] == ["int32", "float32", "<U3"]
    assert csv("h.csv", b"p,q,r\n1,2,3\n").get_col_names() == ["p", "q", "r"]
    assert rows(csv("h.csv", b"p,q,r\n1,2,3\n")) == [["1", "2", "3"]]
    assert rows(csv("s.csv", b"1;2;3\n", field_delim=";", column_names=names)) == [["1", "2", "3"]]
    for content, kw, message in ((b"1,2\n", {}, "at line 1"),
                                 (b"a,1,z\n", {"column_defaults": [0, 0, ""]}, "type does not match"),
                                 (b"1,2,3\n\xff,1,2\n", {}, "failed to parse")):
        with pytest.raises(RuntimeError, match=message):
            rows(csv("bad.csv", content, column_names=names, **kw))
    with pytest.raises(ValueError, match="did not match"):
        ds.CSVDataset(str(tmp_path / "none.csv"))


def test_text_files(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"hello world\n\nfoo\r\nbar")
    (tmp_path / "b.txt").write_bytes("ünï\n".encode())
    both = [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
    d = ds.TextFileDataset(both, shuffle=False)
    assert texts(d) == ["hello world", "ünï", "foo\r", "bar"] and len(d) == 4 and d.get_col_names() == ["text"]
    assert texts(ds.TextFileDataset(str(tmp_path / "*.txt"), shuffle=False)) == texts(d)
    assert [texts(ds.TextFileDataset(both, shuffle=False, num_shards=2, shard_id=i))
            for i in range(2)] == [["hello world", "foo\r"], ["bar", "ünï"]]
    for how in (True, ds.Shuffle.GLOBAL, ds.Shuffle.FILES, ds.Shuffle.INFILE):
        assert sorted(texts(ds.TextFileDataset(both, shuffle=how))) == sorted(texts(d))
    (tmp_path / "b.txt").write_bytes(b"\xff\xfe\n")
    with pytest.raises(RuntimeError, match="not UTF-8"):
        texts(ds.TextFileDataset(both[1]))
    with pytest.raises(TypeError, match="dataset_files"):
        ds.TextFileDataset(3)


def field(number, data):
    return bytes([number << 3 | 2]) + varint(len(data)) + data


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def example(**features):
    entries = b""
    for name, values in features.items():
        if isinstance(values[0], bytes):
            content = field(1, b"".join(field(1, v) for v in values))
        elif isinstance(values[0], float):
            content = field(2, field(1, np.array(values, "<f4").tobytes()))
        else:
            content = field(3, field(1, b"".join(varint(v % 2**64) for v in values)))
        entries += field(1, field(1, name.encode()) + field(2, content))
    return field(1, entries)


def record(data):
    head = struct.pack("<Q", len(data))
    return head + struct.pack("<I", masked_crc32c(head)) + data + struct.pack("<I", masked_crc32c(data))


@pytest.mark.parametrize("data", [
    b"\x08\x01", b"\x0a\x02\x08\x01", b"\x0a\x04\x0a\x02\x10\x01", b"\x0a\x06\x0a\x04\x12\x02\x08\x01",
    b"\x0a\x0b\x0a\x09\x12\x07\x0a\x05\x08\xff\xff\xff\x7f"])
def test_examples_with_numbers_where_bytes_should_be(data):
    """bytes() of the last one would be 268 million zeros."""
    with pytest.raises(ValueError, match="a number stands where bytes should"):
        parse_example(data)


def test_records_without_features(tmp_path):
    path = tmp_path / "a.tfrecord"
    head = struct.pack("<Q", 0)
    path.write_bytes(head + struct.pack("<I", masked_crc32c(head)) + struct.pack("<I", masked_crc32c(b"")))
    with pytest.raises(RuntimeError, match="the first record has no feature"):
        rows(ds.TFRecordDataset(str(path)))


def test_tfrecord(tmp_path):
    path = tmp_path / "a.tfrecord"
    path.write_bytes(b"".join(record(example(n=[i, -i], x=[i / 2], s=[b"a\0"])) for i in range(4)))
    d = ds.TFRecordDataset(str(path), shuffle=False)
    assert d.get_col_names() == ["n", "s", "x"] and len(d) == 4
    assert rows(d) == [[[i, -i], [97, 0], [i / 2]] for i in range(4)]
    assert [str(t) for t in d.output_types()] == ["int64", "uint8", "float32"]
    schema = ds.Schema()
    schema.add_column("x", ms.float32, [1])
    schema.add_column("n", "int32", [2, 1])
    schema.add_column("s", "uint8")
    assert rows(ds.TFRecordDataset(str(path), schema, ["n", "s"], shuffle=False))[1] == [[[1], [-1]], [97, 0]]
    words = ds.Schema()
    words.add_column("s", "string")
    path.write_bytes(record(example(s=["ü".encode(), b"b"])))
    assert rows(ds.TFRecordDataset(str(path), words)) == [[["ü", "b"]]]
    again = ds.Schema()
    again.from_json(json.loads(schema.to_json()))
    assert again.to_json() == schema.to_json() and again.columns[0] == {"name": "x", "type": "float32", "shape": [1]}
    assert masked_crc32c(b"123456789") == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) & 0xFFFFFFFF
    whole = path.read_bytes()
    for content in (whole[:-5], whole[:8], b"x" * 40,
                    struct.pack("<Q", 2**60) + struct.pack("<I", masked_crc32c(struct.pack("<Q", 2**60))),
                    record(b"\xff\xff")):
        path.write_bytes(content)
        with pytest.raises(RuntimeError, match="TFRecord"):
            rows(ds.TFRecordDataset(str(path)))
    for i in range(len(data := example(n=[1, 2**40], x=[1.0], s=[b"abc"]))):
        try:
            parse_example(data[:i])
        except ValueError:
            pass


# --- strings ----------------------------------------------------------------------------------------------------------


def listed(value):
    return [v.tolist() for v in value] if isinstance(value, tuple) else value.tolist()


VOCAB = text.Vocab.from_list(["a", "b", "c"], ["<pad>", "<unk>"])
PIECES = text.Vocab.from_list(["un", "##aff", "##able", "want", "##ed", "[UNK]", "hello", "play", "##ing", "我", "们"])


@pytest.mark.parametrize("op, args, want", [
    (text.WhitespaceTokenizer(), ["  hello  big\tworld "], ["hello", "big", "world"]),
                                            (text.WhitespaceTokenizer(), [""], [""]),
    (text.WhitespaceTokenizer(True), ["hello  wörld x"], [["hello", "wörld", "x"], [0, 7, 14], [5, 13, 15]]),
    (text.UnicodeCharTokenizer(True), ["aü中"], [["a", "ü", "中"], [0, 1, 3], [1, 3, 6]]),
    (text.UnicodeScriptTokenizer(), ["hello 中文,ok 12"], ["hello", "中文", ",", "ok", "12"]),
    (text.UnicodeScriptTokenizer(True), ["hello 中文 a"], ["hello", " ", "中文", " ", "a"]),
    (text.BasicTokenizer(), ["Hello, World! 中文a [CLS] don't"],
     ["Hello", ",", "World", "!", "中", "文", "a", "[CLS]", "don", "'", "t"]),
    (text.BasicTokenizer(True), ["Hello, Wörld! [UNK]"], ["hello", ",", "world", "!", "[UNK]"]),
    (text.BasicTokenizer(False, True), ["Hello  World!"], ["Hello", "  ", "World", "!"]),
    (text.BasicTokenizer(True, preserve_unused_token=False), ["A [MASK]b"], ["a", "[", "mask", "]", "b"]),
    (text.BasicTokenizer(with_offsets=True), ["Hi, yo"], [["Hi", ",", "yo"], [0, 2, 4], [2, 3, 6]]),
    (text.WordpieceTokenizer(PIECES), [["unaffable", "wanted", "zzz"]],
     ["un", "##aff", "##able", "want", "##ed", "[UNK]"]),
    (text.WordpieceTokenizer(PIECES, unknown_token=""), [["zzz"]], ["zzz"]),
    (text.WordpieceTokenizer(PIECES, with_offsets=True), [["unaffable"]],
     [["un", "##aff", "##able"], [0, 2, 5], [2, 5, 9]]),
    (text.BertTokenizer(PIECES), ["hello wanted 我们 zzz"], ["hello", "want", "##ed", "我", "们", "[UNK]"]),
    (text.BertTokenizer(PIECES, lower_case=True), ["HELLO, playing"], ["hello", "[UNK]", "play", "##ing"]),
    (text.RegexTokenizer(" +"), ["a  b c"], ["a", "b", "c"]),
                                            (text.RegexTokenizer(" +", " +"), ["a  b c"], ["a", "  ", "b", " ", "c"]),
    (text.RegexTokenizer("[aeiou]", "[aeiou]", True), ["hello"], [["h", "e", "ll", "o"], [0, 1, 2, 4], [1, 2, 4, 5]]),
    (text.RegexReplace("a+", "X"), ["aab a"], "Xb X"), (text.CaseFold(), ["AbÜß"], "abüss"),
    (text.FilterWikipediaXML(), ["Welcome    to    China"], "welcome to china"),
    (text.FilterWikipediaXML(), ["a1b2 0"], "a one b two zero"),
    (text.FilterWikipediaXML(), ["naïve 42%"], "na ve four two"),
    (text.FilterWikipediaXML(), ["&lt;ref&gt;a&lt;/ref&gt;"], "ref a ref"), (text.FilterWikipediaXML(), ["!!!"], ""),
    (text.FilterWikipediaXML(), ["a<b>c</b>d<e>f"], "af"),
    (text.FilterWikipediaXML(), ["[[w:c|d]] it's"], "w c d it s"),
    (text.FilterWikipediaXML(), ["x #REDIRECT [[y]]"], ""), (text.FilterWikipediaXML(), ["<a&b>c;d"], "a d"),
                                            (text.NormalizeUTF8(), ["ﬁ①"], "fi1"),
    (text.NormalizeUTF8(text.NormalizeForm.NFD), ["ü"], "u\u0308"), (text.Lookup(VOCAB), [["a", "c"]], [2, 4]),
                                            (text.Lookup(VOCAB), ["a"], 2),
    (text.Lookup(VOCAB, "<unk>"), [["a", "zz"]], [2, 1]), (text.ToNumber(ms.int32), [["1", "-23"]], [1, -23]),
    (text.ToNumber(ms.float32), [["1.5", "2e3"]], [1.5, 2000.0]), (text.ToNumber(ms.int32), [["1.5"]], [1]),
    (text.TruncateSequencePair(5), [np.arange(4), np.arange(3)], [[0, 1, 2], [0, 1]]),
    (text.TruncateSequencePair(5), [np.arange(1), np.arange(9)], [[0], [0, 1, 2, 3]]),
                                            (text.Truncate(2), [["a", "b", "c"]], ["a", "b"]),
    (text.SlidingWindow(2), [[1, 2, 3, 4]], [[1, 2], [2, 3], [3, 4]]), (text.SlidingWindow(3), [[1, 2]], []),
    (text.Ngram(2), [["a", "b", "c"]], ["a b", "b c"]),
                                            (text.Ngram([1, 2]), [["a", "b", "c"]], ["a", "b", "c", "a b", "b c"]),
    (text.Ngram(3, ("_", 2), ("!", 1), "-"), [["a", "b"]], ["_-_-a", "_-a-b", "a-b-!"]), (text.Ngram(5), [["a"]], [""]),
    (text.AddToken("B"), [["a"]], ["B", "a"]), (text.AddToken("E", False), [["a"]], ["a", "E"]),
    (text.PythonTokenizer(str.split), ["a b"], ["a", "b"])])
def test_text_operations(op, args, want):
    assert listed(op(*args)) == want


def test_vocab(tmp_path):
    assert VOCAB.vocab() == {"<pad>": 0, "<unk>": 1, "a": 2, "b": 3, "c": 4}
    assert VOCAB.tokens_to_ids(["a", "zz"]) == [2, -1] and VOCAB.tokens_to_ids("c") == 4
    assert VOCAB.ids_to_tokens([0, 99]) == ["<pad>", ""]
    assert VOCAB.tokens_to_ids(["c"]) == 4 and VOCAB.ids_to_tokens([0]) == "<pad>"  # of one alone, as in MindSpore
    assert text.Vocab.from_list(["a"], ["u"], False).vocab() == {"a": 0, "u": 1}
    assert text.Vocab.from_dict({"x": 3}).vocab() == {"x": 3}
    (tmp_path / "v.txt").write_text("one\ntwo,2\n\nthree\n")
    assert text.Vocab.from_file(str(tmp_path / "v.txt"), ",", 2, ["<u>"]).vocab() == {"<u>": 0, "one": 1, "two": 2}
    d = ds.NumpySlicesDataset(["a b", "b", "b c c"], ["text"], shuffle=False).map(text.WhitespaceTokenizer(), "text")
    assert text.Vocab.from_dataset(d, "text").vocab() == {"b": 0, "c": 1, "a": 2}
    assert text.Vocab.from_dataset(d, "text", (2, None), 1, ["<u>"], False).vocab() == {"b": 0, "<u>": 1}
    assert [r for r in rows(d.map(text.Lookup(text.Vocab.from_dataset(d)), "text").padded_batch(3, pad_info={}))] == [
        [[[2, 0, 0], [0, 0, 0], [0, 1, 1]]]]


@pytest.mark.parametrize("call, error", [
    (lambda: text.Vocab.from_list(["a", "a"]), ValueError), (lambda: text.Vocab.from_list(["a"], ["a"]), ValueError),
    (lambda: text.Vocab.from_dict({"a": -1}), ValueError), (lambda: text.Lookup(VOCAB)(["zz"]), RuntimeError),
                                         (lambda: text.Lookup(3), TypeError),
    (lambda: text.ToNumber(ms.int8)(["300"]), RuntimeError), (lambda: text.ToNumber(ms.int32)(["x"]), RuntimeError),
    (lambda: text.ToNumber(ms.bool_), TypeError), (lambda: text.SlidingWindow(0), ValueError),
                                         (lambda: text.Ngram(0), ValueError),
    (lambda: text.PythonTokenizer(3), TypeError), (lambda: text.RegexTokenizer("("), ValueError),
                                         (lambda: text.WhitespaceTokenizer()([1]), RuntimeError)])
def test_text_errors(call, error):
    with pytest.raises(error):
        call()


# --- programs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["digits", "image_folder", "sentences"])
def test_programs_run_unmodified(name, tmp_path):
    path = pathlib.Path(__file__).parents[2] / "examples" / "dataset" / f"{name}.py"
    got = subprocess.run([sys.executable, "-m", "pijit", "--as", "mindspore", str(path)], capture_output=True,
                         text=True, timeout=100,
                         env={**os.environ, "TMPDIR": str(tmp_path)})
    assert got.returncode == 0, got.stderr
    accuracy = float(re.findall(r"[Aa]ccuracy:? ([\d.]+)", got.stdout)[-1])
    assert accuracy > (85 if name == "digits" else 0.85)
