"""Vision operations against facts of MindSpore 2.7.1 (facts_vision.json: type, shape, and a checksum, or mean and
deviation), and the ranges of what is random."""

import io
import json
import pathlib
import zlib

import numpy as np
import pytest
from PIL import Image

import pijit as ms
import pijit.dataset as ds
import pijit.dataset.vision as V
from pijit.dataset.vision import c_transforms, py_transforms

FACTS = json.loads((pathlib.Path(__file__).parent / "facts_vision.json").read_text())


def inputs():
    y, x = np.mgrid[0:20, 0:28]
    r = np.random.RandomState(0)
    u = np.stack([(x * 9) % 256, (y * 12) % 256, (x * y) % 256], 2).astype(np.uint8)
    v = r.randint(0, 256, (20, 28, 3)).astype(np.uint8)
    f = r.rand(20, 28, 3).astype(np.float32)
    g = v[:, :, 0].copy()
    w = r.randint(0, 256, (20, 28, 4)).astype(np.uint8)
    out = dict(u=u, v=v, f=f, g=g, h=g[:, :, None].copy(), w=w, p=Image.fromarray(u))
    for name, image, kind in (("png", v, "PNG"), ("rgba", w, "PNG"), ("gpng", g, "PNG")):
        out[name] = encoded(image, kind)
    out["ub"], out["oh"] = r.randint(0, 256, (4, 8, 8, 3)).astype(np.uint8), np.eye(4, dtype=np.float32)
    return out


def encoded(image, kind):
    out = io.BytesIO()
    Image.fromarray(image).save(out, kind)
    return np.frombuffer(out.getvalue(), np.uint8)


def value(text):
    names = {"V": V, "np": np, "ms": ms, "I": V.Inter, "B": V.Border}
    return eval(text, names, inputs())


@pytest.mark.parametrize("text", sorted(FACTS["exact"]))
def test_the_same_bytes(text):
    dtype, shape, crc = FACTS["exact"][text]
    got = np.ascontiguousarray(value(text))
    assert (str(got.dtype), list(got.shape), zlib.crc32(got.tobytes())) == (dtype, shape, crc)


@pytest.mark.parametrize("text", sorted(FACTS["close"]))
def test_nearly_the_same_values(text):
    dtype, shape, mean, deviation = FACTS["close"][text]
    got = np.asarray(value(text))
    assert (str(got.dtype), list(got.shape)) == (dtype, shape)
    scale = 0.6 if got.dtype == np.uint8 else 1e-4 * max(1, abs(mean), deviation)
    assert abs(got.mean(dtype=np.float64) - mean) < scale and abs(got.astype(np.float64).std() - deviation) < scale


@pytest.mark.parametrize("text", sorted(FACTS["errors"]))
def test_errors(text):
    with pytest.raises({"ValueError": ValueError, "TypeError": TypeError,
                        "RuntimeError": RuntimeError}[FACTS["errors"][text]]):
        value(text)


def image(h=40, w=50):
    return np.random.default_rng(1).integers(0, 256, (h, w, 3)).astype(np.uint8)


@pytest.mark.parametrize("op, shape", [
    (V.RandomCrop(5), (5, 5, 3)), (V.RandomCrop((50, 60), 10), (50, 60, 3)),
    (V.RandomCrop(60, pad_if_needed=True), (60, 60, 3)),
    (V.RandomResizedCrop(9), (9, 9, 3)), (V.RandomResize(20), (20, 25, 3)), (V.RandomRotation(30), (40, 50, 3)),
    (V.RandomGrayscale(1.0), None),
    (V.RandomAffine(15, (0.1, 0.1), (0.8, 1.2), 10), (40, 50, 3)), (V.CutOut(8, 2), (40, 50, 3)),
    (V.RandomColorAdjust(0.4, 0.4, 0.4, 0.2), (40, 50, 3)),
    (V.RandomColor(), (40, 50, 3)), (V.RandomSharpness(), (40, 50, 3)), (V.RandomPosterize((2, 6)), (40, 50, 3)),
    (V.RandomSolarize(), (40, 50, 3)),
    (V.RandomLighting(0.1), (40, 50, 3)), (V.RandAugment(3), (40, 50, 3)), (V.AutoAugment(), (40, 50, 3)),
    (V.TrivialAugmentWide(), (40, 50, 3)),
    (V.AutoAugment(V.AutoAugmentPolicy.SVHN), (40, 50, 3)), (V.AutoAugment(V.AutoAugmentPolicy.CIFAR10), (40, 50, 3)),
    (V.UniformAugment([V.HorizontalFlip(), V.Invert(), V.Equalize()], 2), (40, 50, 3)),
    (V.RandomErasing(1.0), (40, 50, 3)),
    (V.RandomErasing(1.0, value="random"), (40, 50, 3)), (V.RandomPerspective(0.5, 1.0, V.Inter.BILINEAR), (40, 50, 3)),
    (V.RandomSelectSubpolicy([[(V.Invert(), 0.5), (V.Equalize(), 1.0)], [(V.Posterize(3), 0.3)]]), (40, 50, 3))])
def test_random_operations(op, shape):
    ds.config.set_seed(3)
    x = image()
    before = x.copy()
    given = Image.fromarray(x) if shape is None else x
    got = [np.asarray(op(given)) for _ in range(20)]
    assert all(g.shape == (shape or (40, 50, 3)) and g.dtype == np.uint8 for g in got) and np.array_equal(x, before)
    ds.config.set_seed(3)
    assert np.array_equal(got[0], np.asarray(op(given)))
    if not isinstance(op, (V.RandomGrayscale,)):
        assert any(not np.array_equal(got[0], g) for g in got)


def test_probabilities():
    ds.config.set_seed(5)
    x = image(4, 4)
    flips = sum(not np.array_equal(V.RandomHorizontalFlip(0.3)(x), x) for _ in range(1000))
    assert 230 < flips < 370
    tops = {int(np.flatnonzero((image() == c).all(-1).any(1))[0])
            for c in (V.RandomCrop(35)(image())[0, 0] for _ in range(60))}
    assert len(tops) >= 4


def test_boxes():
    boxes = np.array([[5, 6, 10, 8, 1], [20, 20, 15, 15, 2]], np.float32)
    flipped = V.RandomHorizontalFlipWithBBox(1.0)(image(), boxes)[1]
    assert flipped[0].tolist() == [35, 6, 10, 8, 1] and V.RandomVerticalFlipWithBBox(1.0)(image(), boxes)[1][0, 1] == 26
    scaled, half = V.ResizeWithBBox((20, 25))(image(), boxes)
    assert scaled.shape == (20, 25, 3) and half[0, :4].tolist() == [2.5, 3, 5, 4]
    for op in (V.RandomCropWithBBox(30), V.RandomResizedCropWithBBox(24)):
        out, kept = op(image(), boxes)
        assert ((kept[:, :2] >= 0) & (kept[:, :2] + kept[:, 2:4] <= out.shape[0] + 1e-3)).all()
    out, _ = V.BoundingBoxAugment(V.Invert(), 1.0)(image(), boxes)
    assert np.array_equal(out[6:14, 5:15], 255 - image()[6:14, 5:15])
    with pytest.raises(RuntimeError, match="not within"):
        V.ResizeWithBBox(20)(image(), np.array([[0, 0, 60, 5]], np.float32))


def test_batches_of_images():
    x = np.random.default_rng(0).integers(0, 256, (16, 8, 8, 3)).astype(np.uint8)
    d = ds.NumpySlicesDataset((x, np.arange(16) % 4), ["x", "y"], shuffle=False)
    d = d.map(ds.transforms.OneHot(4), "y").batch(8)
    for op in (V.MixUpBatch(0.5), V.CutMixBatch(V.ImageBatchFormat.NHWC, 1.0, 0.7)):
        for a, b in d.map(op, ["x", "y"]):
            assert a.shape == (8, 8, 8, 3) and a.dtype == ms.uint8 and b.shape == (8, 4) and b.dtype == ms.float32
            assert np.allclose(b.asnumpy().sum(1), 1)
    a, b = V.MixUp(16, 1.0)(x, np.eye(4)[np.arange(16) % 4])
    assert a.shape == x.shape and np.allclose(b.sum(1), 1)


def test_files_and_old_paths(tmp_path):
    x = image()
    V.write_png(str(tmp_path / "a.png"), x)
    assert (np.array_equal(V.read_image(str(tmp_path / "a.png")), x) and V.get_image_size(x) == [40, 50]
            and V.get_image_num_channels(x) == 3)
    assert V.read_image(str(tmp_path / "a.png"), V.ImageReadMode.GRAYSCALE).shape == (40, 50, 1)
    V.write_jpeg(str(tmp_path / "a.jpg"), x, 95)
    assert np.array_equal(V.Decode()(V.read_file(str(tmp_path / "a.jpg"))), np.asarray(Image.open(tmp_path / "a.jpg")))
    old = py_transforms.Decode()(encoded(x, "PNG"))
    assert (old.mode == "RGB" and py_transforms.ToTensor()(old).shape == (3, 40, 50)
            and c_transforms.Decode()(encoded(x, "PNG")).shape == x.shape)
    with pytest.raises(RuntimeError, match="no such file"):
        V.read_image(str(tmp_path / "none.png"))
    broken = bytearray(encoded(x, "PNG").tobytes())
    broken[16:24] = b"\x7f\xff\xff\xff\x7f\xff\xff\xff"  # a header that promises 2**62 pixels
    for data in (broken, broken[:30], b"", b"GIF89a"):
        with pytest.raises(RuntimeError, match="decode failed|pixels"):
            V.Decode()(np.frombuffer(bytes(data), np.uint8))


def test_pil_images_within_a_map():
    d = ds.NumpySlicesDataset([encoded(image(), "JPEG")], ["x"])
    (row,) = d.map([V.Decode(True), V.Resize(20), V.CenterCrop(16), V.RandomHorizontalFlip(), V.ToTensor()],
                   "x").create_tuple_iterator(
        num_epochs=1, output_numpy=True)
    assert row[0].shape == (3, 16, 16) and row[0].dtype == np.float32 and 0 <= row[0].min() and row[0].max() <= 1
    d = d.map([V.Decode(True), lambda p: p.convert("L"), V.FiveCrop(10),
               lambda *five: np.stack([V.ToTensor()(f) for f in five])], "x")
    assert next(iter(d))[0].shape == (5, 1, 10, 10)


def test_an_image_that_is_cut_off(tmp_path):
    path = tmp_path / "a.png"
    Image.fromarray(np.arange(240, dtype=np.uint8).reshape(8, 10, 3)).save(path)
    path.write_bytes(path.read_bytes()[:-30])
    for mode in V.ImageReadMode:
        with pytest.raises(RuntimeError, match="read_image"):
                V.read_image(str(path), mode)
