"""Data sets of files in their published formats: what MindSpore reads from small ones (facts_sets.json.gz, made by
tests/mindspore/sets.py), and files that are missing or broken."""

import json
import pickle
import struct
from itertools import groupby, permutations

import numpy as np
import pytest

import pijit.dataset as ds
from tests.python import made_sets


def rows(d):
    return [[np.asarray(c).tolist() for c in r] for r in d.create_tuple_iterator(num_epochs=1, output_numpy=True)]


FACTS = made_sets.unpacked(made_sets.FACTS.read_bytes())


@pytest.mark.parametrize("name", sorted({name for _, name, _ in made_sets.CASES}))
def test_as_mindspore(name, tmp_path):
    pytest.importorskip("scipy") if name in ("Caltech101", "Flowers102", "SB", "SVHN") else None
    ours = made_sets.answers("pijit", str(tmp_path), name)
    theirs = {case: a for case, a in FACTS.items() if case.split()[0] == name}
    assert set(ours) == set(theirs)
    assert not list(made_sets.differences(theirs, ours))


def test_numbers_that_a_column_cannot_hold(tmp_path):
    made_sets.places(tmp_path)
    (tmp_path / "places365_val.txt").write_text("Places365_val_00000002.jpg 1\nPlaces365_val_00000001.jpg -1\n")
    with pytest.raises(RuntimeError, match=r"places365_val.txt' should have a whole number from 0, but has '-1'"):
        rows(ds.Places365Dataset(str(tmp_path), "val", shuffle=False))
    beside = tmp_path / "dev-clean" / "1" / "2"
    made_sets._text(beside / "1_2.trans.tsv", "-1_2_0\tWords\twords\n")
    with pytest.raises(RuntimeError, match=r"1_2.trans.tsv' should have a whole number from 0, but has '-1'"):
        rows(ds.LibriTTSDataset(str(tmp_path), "dev-clean", shuffle=False))


FIRST = [(m, n, v[0]) for m, n, v in made_sets.CASES if m.__name__ != "sounds"]


@pytest.mark.parametrize("make, name, arguments", FIRST, ids=lambda v: v if isinstance(v, str) else "")
def test_shuffled_and_pickled(make, name, arguments, tmp_path):
    """All rows come in each epoch, in an order that the seed gives, from a copy in another process, too."""
    if name in ("Caltech101", "Flowers102", "SB", "SVHN"):
        pytest.importorskip("scipy")
    make(tmp_path)
    kind, arguments = getattr(ds, f"{name}Dataset"), made_sets.place(arguments, str(tmp_path))
    ds.config.set_seed(11)
    got = rows(kind(**arguments, shuffle=True))
    assert sorted(map(str, got)) == sorted(map(str, rows(kind(**arguments, shuffle=False))))
    ds.config.set_seed(11)
    d = kind(**arguments, shuffle=True)
    len(d)
    assert rows(pickle.loads(pickle.dumps(d))) == got


def test_tedlium(tmp_path):
    made_sets.tedlium(tmp_path)
    d = ds.TedliumDataset(str(tmp_path / "one"), "release1", "test", shuffle=False)
    first, *_ = d.create_dict_iterator(num_epochs=1, output_numpy=True)
    assert np.allclose(first["waveform"][0] * 32767, [(11 * i + 5) % 30000 for i in range(4000, 4008)], atol=0.01)
    path = tmp_path / "one" / "test" / "sph" / "Atest.sph"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"-s2 01", b"-s2 10")[:1024] + np.frombuffer(data[1024:], "<i2").byteswap().tobytes())
    swapped, *_ = d.create_dict_iterator(num_epochs=1, output_numpy=True)
    assert np.array_equal(swapped["waveform"], first["waveform"])
    path.write_bytes(data.replace(b"-s3 pcm", b"-s3 shn"))
    with pytest.raises(RuntimeError, match="not compressed"):
        rows(ds.TedliumDataset(str(tmp_path / "one"), "release1", "test"))


@pytest.mark.parametrize("channels, width", [(1, 1), (2, 2), (1, 3), (1, 4)])
def test_other_kinds_of_wav(channels, width, tmp_path):
    made_sets._sound(tmp_path / "0_1.wav", 3, channels, width)
    with pytest.raises(RuntimeError, match="one channel of 16 bits"):
        rows(ds.YesNoDataset(str(tmp_path)))


def test_wav_that_says_more_than_it_has(tmp_path):
    made_sets._sound(tmp_path / "0_1.wav", 3)
    data = (tmp_path / "0_1.wav").read_bytes()
    (tmp_path / "0_1.wav").write_bytes(data[:40] + struct.pack("<I", 2**31) + data[44:])
    with pytest.raises(RuntimeError, match="should have 1073741824 samples"):
        rows(ds.YesNoDataset(str(tmp_path)))


def test_lines_within_quotes(tmp_path):
    (tmp_path / "train.csv").write_bytes(b'"1","a\nb ""c""","d"\n"2","e","f"\r\n"3","","\n"\n')
    d = ds.AGNewsDataset(str(tmp_path), "train", shuffle=False)
    assert rows(d) == [["1", 'a\nb "c"', "d"], ["2", "e", "f"], ["3", "", "\n"]] and len(d) == 3
    (tmp_path / "train.csv").write_text('"1","a"\n')
    with pytest.raises(RuntimeError, match="should have 3 fields in each line, but has 2"):
        rows(ds.AGNewsDataset(str(tmp_path), "train"))
    (tmp_path / "train.csv").write_bytes(b'"1","a","\xff"\n')
    with pytest.raises(RuntimeError, match="not UTF-8"):
        rows(ds.AGNewsDataset(str(tmp_path), "train"))


def test_lists_that_lead_out_of_their_folder(tmp_path):
    made_sets.food101(tmp_path)
    (tmp_path / "secret.jpg").write_bytes(b"x")
    for name in ("../secret", "/etc/passwd", "a/../../secret"):
        (tmp_path / "meta" / "train.txt").write_text(f"{name}\n")
        with pytest.raises(RuntimeError, match="not in that folder"):
            rows(ds.Food101Dataset(str(tmp_path), "train"))


def test_xml_that_defines_entities(tmp_path):
    made_sets.voc(tmp_path)
    bomb = '<!DOCTYPE a [<!ENTITY b "cccccc">]><annotation><object><name>&b;</name></object></annotation>'
    (tmp_path / "Annotations" / "33.xml").write_text(bomb)
    with pytest.raises(RuntimeError, match="document type"):
        rows(ds.VOCDataset(str(tmp_path), "Detection"))


def test_hidden_column(tmp_path):
    made_sets.voc(tmp_path)
    d = ds.VOCDataset(str(tmp_path), shuffle=False, extra_metadata=True)
    assert d.get_col_names() == ["image", "target", "_meta-filename"] and len(rows(d)[0]) == 2
    assert [r[2] for r in rows(d.rename("_meta-filename", "name"))] == ["33", "32"]
    assert list(next(d.create_dict_iterator(num_epochs=1))) == ["image", "target"]


def test_decrypt(tmp_path):
    made_sets.celeba(tmp_path)
    plain = rows(ds.CelebADataset(str(tmp_path), shuffle=False))
    for k in range(1, 5):
        path = tmp_path / f"{k:06}.jpg"
        path.write_bytes(path.read_bytes()[::-1])
    turned = ds.CelebADataset(str(tmp_path), shuffle=False, decrypt=lambda path: open(path, "rb").read()[::-1])
    assert rows(turned) == plain
    with pytest.raises(TypeError, match="decrypt"):
        ds.CelebADataset(str(tmp_path), decrypt=3)


def test_fake_images():
    d = ds.FakeImageDataset(4, (9, 7, 3), 1000, 7, shuffle=False)
    got = list(d.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert [r["label"].item() for r in got] == [76, 873, 10, 771] and got[0]["label"].dtype == np.uint32
    numbers = [np.frombuffer(r["image"].tobytes()[:184]) for r in got]  # MindSpore's own answers
    assert np.allclose(numbers[0][:4], [0, 0, 0, 0.3994628521633324], rtol=1e-15)
    assert np.allclose(numbers[1][:3], [1.1612301125772182, 0, 1.873958167937914], rtol=1e-15)
    assert np.allclose(numbers[3][13:16], [0, 0.36624858337075716, 0.6080885779536513], rtol=1e-15)
    assert got[0]["image"].shape == (9, 7, 3) and len(ds.FakeImageDataset()) == 1000
    assert len(ds.FakeImageDataset(3, sampler=ds.PKSampler(1))) == 2
    assert ds.FakeImageDataset(2, (224, 224, 3), shuffle=False).output_shapes() == [[224, 224, 3], []]
    for arguments in ({"num_images": 0}, {"image_size": (3, 3)}, {"image_size": (0, 1, 1)}, {"base_seed": -1}):
        with pytest.raises(ValueError):
            ds.FakeImageDataset(**arguments)


def test_batches_of_decoded_images(tmp_path):
    made_sets.caltech256(tmp_path)
    d = ds.Caltech256Dataset(str(tmp_path), decode=True, shuffle=False, num_parallel_workers=2).batch(6)
    (batch,) = d.create_dict_iterator(num_epochs=1, output_numpy=True)
    assert batch["image"].shape == (6, 5, 6, 3) and batch["label"].tolist() == [0, 0, 1, 1, 2, 2]
    a, b = ds.Caltech256Dataset(str(tmp_path)).split([4, 2])
    assert len(rows(a)) == 4 and len(rows(b)) == 2


def test_files_side_by_side(tmp_path):
    for name, count in (("b", 1), ("a", 7), ("d", 2), ("c", 2)):
        (tmp_path / f"{name}.txt").write_text("".join(f"{name}{i}\n" for i in range(count)))
    files = [str(tmp_path / f"{n}.txt") for n in "badc"]

    def texts(workers, **more):
        d = ds.TextFileDataset(files, shuffle=False, num_parallel_workers=workers, **more)
        return " ".join(r[0] for r in rows(d))

    assert texts(1) == "a0 a1 a2 a3 a4 a5 a6 b0 c0 c1 d0 d1"
    assert texts(2) == "a0 b0 a1 d0 a2 d1 a3 a4 a5 a6 c0 c1"
    assert texts(2, num_shards=2, shard_id=1) == "a6 b0 c0 d0 c1 d1"
    assert texts(2, num_shards=2, shard_id=1, num_samples=3) == "a6 b0 c0"
    assert texts(1, num_shards=5, shard_id=4) == "a0 a1 a2"
    assert texts(None) == texts(4) == "a0 b0 c0 d0 a1 c1 d1 a2 a3 a4 a5 a6"
    shuffled = ds.TextFileDataset(files, shuffle=ds.Shuffle.FILES, num_parallel_workers=1)
    got = [r[0] for r in rows(shuffled)]  # one file after the other
    assert sorted(got) == sorted(texts(1).split()) and [k for k, g in groupby(t[0] for t in got)] in map(
        list, permutations("abcd"))


@pytest.mark.parametrize("task", ["Detection", "Stuff", "Keypoint", "Panoptic", "Captioning"])
def test_coco_of_other_files(task, tmp_path):
    (tmp_path / "a.png").write_bytes(b"x")
    for content in ([], {}, {"images": 3, "annotations": []}, {"images": [{"id": 1}], "annotations": [{"image_id": 1}]},
                    {"images": [{"id": 1, "file_name": "a.png"}], "annotations": [{"image_id": [1]}]},
                    {"images": [{"id": 1, "file_name": "a.png"}], "annotations": [
                        {"image_id": 1, "bbox": [1], "segmentation": [1], "keypoints": "x", "segments_info": [3]}]}):
        (tmp_path / "a.json").write_text(json.dumps(content))
        with pytest.raises(RuntimeError, match="CocoDataset"):
            rows(ds.CocoDataset(str(tmp_path), str(tmp_path / "a.json"), task))
    (tmp_path / "a.json").write_text("[" * 100000)
    with pytest.raises(RuntimeError, match="no JSON file"):
        rows(ds.CocoDataset(str(tmp_path), str(tmp_path / "a.json"), task))


def test_files_of_matlab(tmp_path):
    sparse, savemat = pytest.importorskip("scipy.sparse"), pytest.importorskip("scipy.io").savemat
    from pijit.dataset import mat

    path, numbers = str(tmp_path / "a.mat"), np.arange(12.0).reshape(3, 4)
    cells = np.empty((2, 1), object)
    cells[:, 0] = numbers, "text"
    for packed in (False, True):
        savemat(path, {"a": numbers, "b": numbers.astype(np.uint16), "c": cells, "s": {"x": 3, "y": {"z": "word"}},
                       "m": sparse.csc_matrix(numbers), "e": np.zeros((0, 3))}, do_compression=packed)
        got = mat.load("op", path)
        assert np.array_equal(got["a"], numbers) and got["b"].dtype == np.uint16 and got["e"].shape == (0, 3)
        assert np.array_equal(got["c"][0], numbers) and got["c"][1] == "text" and np.array_equal(got["m"], numbers)
        assert got["s"]["x"].item() == 3 and got["s"]["y"] == {"z": "word"}
    savemat(path, {"a": np.zeros(10**7)}, do_compression=True)
    with pytest.raises(RuntimeError, match="grows to more than"):
        mat.load("op", path)
    wrong = sparse.csc_matrix(numbers)
    wrong.indices[0] = 10**6
    savemat(path, {"m": wrong})
    with pytest.raises(RuntimeError, match="rows of a sparse matrix do not fit"):
        mat.load("op", path)
    for content in (b"", b"x" * 200, b"\x89HDF" + bytes(600)):
        (tmp_path / "a.mat").write_bytes(content)
        with pytest.raises(RuntimeError, match="no file of MATLAB"):
            mat.load("op", path)
