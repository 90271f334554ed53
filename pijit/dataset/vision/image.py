"""Algorithms on images as ndarrays [height, width] or [height, width, channels].

uint8 images are computed in the fixed-point arithmetic that OpenCV documents and uses (11 bits for weights of resizing,
5 bits for places between pixels and 15 for weights of warping), so that results agree with pipelines built on it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset.vision.utils import Border, Inter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit._types import DTypeLike


def channels(v: Any) -> Any:
    """A view with three axes."""
    return v if v.ndim == 3 else v[:, :, None]


def _like(out, v):
    return out if v.ndim == 3 else out[:, :, 0]


def saturate(v: Any, dtype: DTypeLike) -> Any:
    """Rounds (half to even) and limits to the range of an integer dtype; floats are converted."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.clip(np.rint(v), info.min, info.max).astype(dtype)
    return v.astype(dtype)


def to_pil(v: Any) -> Any:
    """A PIL image of a uint8 array, or of an array that Pillow knows."""
    from PIL import Image
    return Image.fromarray(np.ascontiguousarray(v[:, :, 0] if v.ndim == 3 and v.shape[2] == 1 else v))


# --- resizing ---------------------------------------------------------------------------------------------------------


def resize(v: Any, height: int, width: int, inter: Any) -> Any:
    """The image at another size."""
    if inter == Inter.PILCUBIC:
        from PIL import Image
        out = np.asarray(to_pil(v).resize((width, height), Image.Resampling.BICUBIC))
        return out[:, :, None] if v.ndim == 3 and out.ndim == 2 else np.array(out)
    if v.shape[:2] == (height, width):
        return v.copy()
    image = channels(v)
    if image.dtype.kind in "b" or image.dtype.itemsize > 4 and image.dtype.kind in "iu" or image.dtype == np.float16:
        out = saturate(resize(image.astype(np.float64), height, width, inter),
                       image.dtype) if image.dtype.kind != "b" else \
            resize(image.astype(np.uint8), height, width, inter).astype(bool)
        return _like(out, v)
    h, w = image.shape[:2]
    if inter == Inter.NEAREST:
        ys = np.minimum((np.arange(height) * (1 / (height / h))).astype(np.int64), h - 1)
        xs = np.minimum((np.arange(width) * (1 / (width / w))).astype(np.int64), w - 1)
        return _like(image[ys[:, None], xs], v)
    if inter == Inter.AREA and h >= height and w >= width:
        return _like(_area(image, height, width), v)
    if inter == Inter.BILINEAR and h == 2 * height and w == 2 * width:
        return _like(_area(image, height, width), v)
    place = _cubic_places if inter == Inter.BICUBIC else _area_places if inter == Inter.AREA else _linear_places
    return _like(_separable(image, place(w, width), place(h, height), inter == Inter.BICUBIC), v)


def _linear_places(n, m):
    """For each of m places between n pixels: the pixels and their weights."""
    f = ((np.arange(m) + 0.5) * (1 / (m / n)) - 0.5).astype(np.float32)
    i = np.floor(f).astype(np.int64)
    f = f - i.astype(np.float32)
    f = np.where(i < 0, np.float32(0), f)
    i = np.maximum(i, 0)
    f = np.where(i >= n - 1, np.float32(0), f)
    i = np.minimum(i, n - 1)
    return np.stack([i, np.minimum(i + 1, n - 1)]), np.stack([1 - f, f]).astype(np.float32)


def _area_places(n, m):
    scale, inverse = 1 / (m / n), m / n
    i = np.floor(np.arange(m) * scale).astype(np.int64)
    f = (np.arange(m) + 1 - (i + 1) * inverse).astype(np.float32)
    f = np.where(f <= 0, np.float32(0), f - np.floor(f))
    f = np.where(i >= n - 1, np.float32(0), f)
    i = np.minimum(i, n - 1)
    return np.stack([i, np.minimum(i + 1, n - 1)]), np.stack([1 - f, f]).astype(np.float32)


def _cubic_weights(f):
    a = np.float32(-0.75)
    f = f.astype(np.float32)
    w0 = ((a * (f + 1) - 5 * a) * (f + 1) + 8 * a) * (f + 1) - 4 * a
    w1 = ((a + 2) * f - (a + 3)) * f * f + 1
    w2 = ((a + 2) * (1 - f) - (a + 3)) * (1 - f) * (1 - f) + 1
    return np.stack([w0, w1, w2, 1 - w0 - w1 - w2]).astype(np.float32)


def _cubic_places(n, m):
    f = ((np.arange(m) + 0.5) * (1 / (m / n)) - 0.5).astype(np.float32)
    i = np.floor(f).astype(np.int64)
    weights = _cubic_weights(f - i.astype(np.float32))
    return np.clip(np.stack([i - 1, i, i + 1, i + 2]), 0, n - 1), weights


def _separable(image, across, down, cubic):
    (xs, wx), (ys, wy) = across, down
    c, whole = image.shape[2], image.dtype == np.uint8
    kind = np.int32 if whole else np.float64 if image.dtype == np.float64 else np.float32
    if whole:
        wx, wy = np.rint(wx * 2048), np.rint(wy * 2048)
    # pixels and channels on one axis: NumPy's inner loops are long then
    wx, wy = np.repeat(wx, c, axis=1).astype(kind), wy.astype(kind)[:, :, None]
    first = ys.min()
    image = image[first:ys.max() + 1]  # the lines that are needed

    def total(parts, weights, shift=0):
        out = None
        for part, w in zip(parts, weights):
            part = np.multiply(part, w, dtype=kind)
            if shift:
                part >>= shift
            out = part if out is None else np.add(out, part, out=out)
        return out

    lines = total((np.take(image, x, 1).reshape(len(image), -1) for x in xs), wx)
    if whole and not cubic:
        lines >>= 4
        out = total((lines[y - first] for y in ys), wy, 16)
        out += 2
        out >>= 2
        out = out.astype(np.uint8)
    else:
        out = total((lines[y - first] for y in ys), wy)
        out = np.clip((out + (1 << 21)) >> 22, 0, 255).astype(np.uint8) if whole else saturate(out, image.dtype)
    return out.reshape(len(out), -1, c)


def _area_weights(n, m):
    """A matrix [m, n]: how much of each pixel belongs to each place."""
    scale = n / m
    lo = np.arange(m)[:, None] * scale
    hi = np.minimum(lo + scale, n)
    i = np.arange(n)
    part = np.clip(np.minimum(hi, i + 1) - np.maximum(lo, i), 0, None)
    part[part < 1e-3] = 0
    return (part / np.minimum(scale, n - lo)).astype(np.float32)


def _area(image, height, width):
    h, w = image.shape[:2]
    if h % height == 0 and w % width == 0:
        fy, fx = h // height, w // width
        blocks = image.reshape(height, fy, width, fx, -1)
        if image.dtype == np.uint8:
            total = blocks.sum((1, 3), dtype=np.int64)
            if fx == fy == 2:
                return ((total + 2) >> 2).astype(np.uint8)
            return saturate(total.astype(np.float32) * np.float32(1 / (fx * fy)), image.dtype)
        return saturate(blocks.sum((1, 3), dtype=np.float64) / (fx * fy), image.dtype)
    out = np.tensordot(_area_weights(h, height), image.astype(np.float32), (1, 0))
    out = np.tensordot(_area_weights(w, width), out, (1, 1)).transpose(1, 0, 2)
    return saturate(out, image.dtype)


# --- borders ----------------------------------------------------------------------------------------------------------


def pad(v: Any, left: Any, top: Any, right: Any, bottom: Any, fill: Any, mode: Any) -> Any:
    """The image with a border. `fill` is a number or one for each channel."""
    widths = ((top, bottom), (left, right)) + ((0, 0),) * (v.ndim - 2)
    if mode != Border.CONSTANT:
        return np.pad(v, widths, {Border.EDGE: "edge", Border.REFLECT: "reflect", Border.SYMMETRIC: "symmetric"}[mode])
    shape = (v.shape[0] + top + bottom, v.shape[1] + left + right) + v.shape[2:]
    out = np.empty(shape, v.dtype)
    out[...] = fill_value(fill, v)
    out[top:top + v.shape[0], left:left + v.shape[1]] = v
    return out


def fill_value(fill: Any, v: Any) -> Any:
    """`fill` for the channels of v."""
    if isinstance(fill, (tuple, list)):
        count = v.shape[2] if v.ndim == 3 else 1
        return np.array((list(fill) + [fill[-1]] * count)[:count], v.dtype) if v.ndim == 3 else v.dtype.type(fill[0])
    return np.asarray(fill).astype(v.dtype)


# --- warping ----------------------------------------------------------------------------------------------------------


def warp_affine(v: Any, matrix: Any, height: int, width: int, inter: Any, fill: Any) -> Any:
    """Pixels (x, y) of the image go to matrix @ (x, y, 1)."""
    m = np.asarray(matrix, np.float64).reshape(2, 3)
    d = m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
    d = 1 / d if d else 0.0
    a11, a22, a12, a21 = m[1, 1] * d, m[0, 0] * d, -m[0, 1] * d, -m[1, 0] * d
    b1 = -a11 * m[0, 2] - a12 * m[1, 2]
    b2 = -a21 * m[0, 2] - a22 * m[1, 2]
    x, y = np.arange(width), np.arange(height)
    half = 512 if inter == Inter.NEAREST else 16
    fx = (np.rint(a11 * x * 1024).astype(np.int64)[None] + np.rint((a12 * y + b1) * 1024).astype(np.int64)[:, None] +
          half)
    fy = (np.rint(a21 * x * 1024).astype(np.int64)[None] + np.rint((a22 * y + b2) * 1024).astype(np.int64)[:, None] +
          half)
    shift = 10 if inter == Inter.NEAREST else 5
    return _like(_remap(channels(v), fx >> shift, fy >> shift, inter, fill_value(fill, channels(v))), v)


def warp_perspective(v: Any, matrix: Any, height: int, width: int, inter: Any, fill: Any) -> Any:
    """Pixels (x, y, 1) of the image go to matrix @ (x, y, 1), divided by its last component."""
    m = np.linalg.inv(np.asarray(matrix, np.float64))
    x, y = np.arange(width)[None], np.arange(height)[:, None]
    w = m[2, 0] * x + m[2, 1] * y + m[2, 2]
    scale = 1.0 if inter == Inter.NEAREST else 32.0
    w = np.where(w != 0, scale / np.where(w == 0, 1, w), 0)
    limit = 2**31 - 1
    fx = np.rint(np.clip((m[0, 0] * x + m[0, 1] * y + m[0, 2]) * w, -limit, limit)).astype(np.int64)
    fy = np.rint(np.clip((m[1, 0] * x + m[1, 1] * y + m[1, 2]) * w, -limit, limit)).astype(np.int64)
    return _like(_remap(channels(v), fx, fy, inter, fill_value(fill, channels(v))), v)


def _remap(image, fx, fy, inter, fill):
    h, w = image.shape[:2]

    def at(ix, iy):
        inside = (ix >= 0) & (ix < w) & (iy >= 0) & (iy < h)
        got = image[np.clip(iy, 0, h - 1), np.clip(ix, 0, w - 1)]
        return np.where(inside[..., None], got, fill)

    if inter == Inter.NEAREST:
        return at(fx, fy).astype(image.dtype)
    sx, sy, ax, ay = fx >> 5, fy >> 5, fx & 31, fy & 31
    t = np.arange(32, dtype=np.float32) / np.float32(32)
    if inter == Inter.BICUBIC:
        table, offset = _cubic_weights(t), 1
    else:
        table, offset = np.stack([1 - t, t]), 0
    taps = len(table)
    whole = image.dtype == np.uint8
    weights = np.einsum("iy,jx->yxij", table, table).astype(np.float32)  # [32, 32, taps, taps]
    if whole:
        weights = _whole_weights(weights)
    out = np.zeros(fx.shape + image.shape[2:],
                   np.int64 if whole else np.float64 if image.dtype == np.float64 else np.float32)
    for i in range(taps):
        for j in range(taps):
            out += at(sx + j - offset, sy + i - offset).astype(out.dtype) * weights[ay, ax, i, j][...,
                None].astype(out.dtype)
    if whole:
        return np.clip((out + (1 << 14)) >> 15, 0, 255).astype(np.uint8)
    return saturate(out, image.dtype)


_whole_tables = {}


def _whole_weights(weights):
    """Weights in units of 2⁻¹⁵ that sum up to one exactly: what rounding left goes to a weight in the middle."""
    taps = weights.shape[-1]
    if taps in _whole_tables:
        return _whole_tables[taps]
    flat = np.rint(weights * 32768).astype(np.int64).reshape(32, 32, -1)
    first = taps // 2
    middle = [i * taps + j for i in range(first, min(first + 2, taps)) for j in range(first, min(first + 2, taps))]
    for y in range(32):
        for x in range(32):
            rest = 32768 - flat[y, x].sum()
            if rest:
                candidates = flat[y, x][middle]
                flat[y, x][middle[int(candidates.argmax() if rest < 0 else candidates.argmin())]] += rest
    _whole_tables[taps] = flat.reshape(weights.shape)
    return _whole_tables[taps]


def rotation_matrix(center: Any, degrees: float | Sequence[float], scale: float = 1.0) -> np.ndarray:
    """The matrix of a counter-clockwise rotation around a point (x, y)."""
    a = math.radians(degrees)
    alpha, beta = scale * math.cos(a), scale * math.sin(a)
    return np.array([[alpha, beta, (1 - alpha) * center[0] - beta * center[1]],
                     [-beta, alpha, beta * center[0] + (1 - alpha) * center[1]]])


def rotate(v: Any, degrees: float | Sequence[float], inter: Any, expand: Any, center: Any, fill: Any) -> Any:
    """The image turned counter-clockwise around `center` (x, y), None for the middle."""
    h, w = v.shape[:2]
    c = ((w - 1) / 2.0, (h - 1) / 2.0) if center is None else center
    m = rotation_matrix(c, degrees)
    if not expand:
        return warp_affine(v, m, h, w, inter, fill)
    cos, sin = abs(m[0, 0]), abs(m[0, 1])
    new_w, new_h = h * sin + w * cos, h * cos + w * sin
    m[0, 2] += new_w / 2.0 - w / 2.0
    m[1, 2] += new_h / 2.0 - h / 2.0
    return warp_affine(v, m, max(1, round(new_h)), max(1, round(new_w)), inter, fill)


def affine_matrix(center: Any, degrees: float | Sequence[float], translate: Any, scale: Sequence[float],
                  shear: Any) -> np.ndarray:
    """The 2x3 matrix of a rotation (clockwise), a shear in x and y (degrees), a scale and a translation around
    `center`."""
    rot, sx, sy = math.radians(degrees), math.radians(shear[0]), math.radians(shear[1])
    cx, cy = center
    a = math.cos(rot - sy) / math.cos(sy)
    b = -math.cos(rot - sy) * math.tan(sx) / math.cos(sy) - math.sin(rot)
    c = math.sin(rot - sy) / math.cos(sy)
    d = -math.sin(rot - sy) * math.tan(sx) / math.cos(sy) + math.cos(rot)
    m = np.array([[a * scale, b * scale, 0], [c * scale, d * scale, 0]])
    m[0, 2] = cx + translate[0] - m[0, 0] * cx - m[0, 1] * cy
    m[1, 2] = cy + translate[1] - m[1, 0] * cx - m[1, 1] * cy
    return m


def perspective_matrix(start: Any, end: Any) -> np.ndarray:
    """The 3x3 matrix that takes four points to four others."""
    rows, right = [], []
    for (x, y), (u, v) in zip(start, end):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        right += [u, v]
    return np.append(np.linalg.solve(np.array(rows, np.float64), np.array(right, np.float64)), 1.0).reshape(3, 3)


def gaussian_kernel(n: Any, sigma: float | Sequence[float]) -> Any:
    """n weights of a bell curve, which sum up to 1."""
    if sigma <= 0:
        sigma = 0.3 * ((n - 1) * 0.5 - 1) + 0.8
    x = np.arange(n) - (n - 1) / 2
    k = np.exp(-x * x / (2 * sigma * sigma))
    return k / k.sum()


def gaussian_blur(v: Any, kernel: Any, sigma: float | Sequence[float]) -> Any:
    """The image blurred; kernel and sigma are (x, y)."""
    image = channels(v)
    kx, ky = gaussian_kernel(kernel[0], sigma[0]), gaussian_kernel(kernel[1], sigma[1])
    px, py = kernel[0] // 2, kernel[1] // 2
    wide = np.pad(image, ((py, py), (px, px), (0, 0)), "reflect" if min(image.shape[:2]) > max(px, py) else "symmetric")
    if image.dtype == np.uint8:
        kx, ky = _fixed_kernel(kx), _fixed_kernel(ky)
        wide = wide.astype(np.int64)
    else:
        wide = wide.astype(np.float64 if image.dtype == np.float64 else np.float32)
        kx, ky = kx.astype(wide.dtype), ky.astype(wide.dtype)
    h, w = image.shape[:2]
    lines = sum(k * wide[:, i:i + w] for i, k in enumerate(kx))
    out = sum(k * lines[i:i + h] for i, k in enumerate(ky))
    if image.dtype == np.uint8:
        return _like(np.clip((out + (1 << 15)) >> 16, 0, 255).astype(np.uint8), v)
    return _like(saturate(out, image.dtype), v)


def _fixed_kernel(k):
    """Weights in units of 1/256 that sum up to one; the error of each is passed on to the next."""
    n = len(k)
    out = np.zeros(n, np.int64)
    error = 0.0
    for i in range(n // 2):
        want = k[i] * 256 + error
        out[i] = out[n - 1 - i] = int(np.rint(want))
        error = want - out[i]
    out[n // 2] = 256 - out.sum() if n % 2 else 0
    return out


# --- colours ----------------------------------------------------------------------------------------------------------


def gray(v: Any) -> Any:
    """The luma of an RGB image; uint8 in OpenCV's fixed point."""
    if v.dtype == np.uint8:
        v = v.astype(np.int32)
        return ((v[..., 0] * 4899 + v[..., 1] * 9617 + v[..., 2] * 1868 + (1 << 13)) >> 14).astype(np.uint8)
    kind = np.float64 if v.dtype == np.float64 else np.float32
    return (v[..., 0].astype(kind) * kind(0.299) + v[..., 1].astype(kind) * kind(0.587)
            + v[..., 2].astype(kind) * kind(0.114)).astype(v.dtype)


def rgb_to_hsv(v: Any) -> np.ndarray:
    """[..., 3] in [0, 1] to hue, saturation and value in [0, 1] (float64)."""
    v = v.astype(np.float64)
    high, low = v.max(-1), v.min(-1)
    span = high - low
    safe = np.where(span == 0, 1, span)
    r, g, b = v[..., 0], v[..., 1], v[..., 2]
    h = np.where(high == r, ((g - b) / safe) % 6, np.where(high == g, (b - r) / safe + 2, (r - g) / safe + 4)) / 6
    return np.stack([np.where(span == 0, 0, h), np.where(high == 0, 0, span / np.where(high == 0, 1, high)), high], -1)


def hsv_to_rgb(v: Any) -> np.ndarray:
    """The inverse of rgb_to_hsv."""
    v = v.astype(np.float64)
    h, s, value = v[..., 0], v[..., 1], v[..., 2]
    i = np.floor(h * 6)
    f = h * 6 - i
    p, q, t = value * (1 - s), value * (1 - s * f), value * (1 - s * (1 - f))
    i = (i.astype(np.int64) % 6)[..., None]
    parts = [np.stack(x, -1)
             for x in ((value, t, p), (q, value, p), (p, value, t), (p, q, value), (t, p, value), (value, p, q))]
    return np.select([i == k for k in range(6)], parts)
