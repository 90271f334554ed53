"""A detector with anchors: targets by overlap, focal and smooth L1 losses, hard negatives, decoding and NMS.

    python -m pijit --as mindspore examples/programs/detect.py [--mode graph]"""

import itertools
import math
import sys

import numpy as np

from toolkit import Registry, arguments, clip_gradients, fill, load_config, start

import mindspore as ms
import mindspore.dataset as ds
from mindspore import Parameter, Tensor, nn, ops

CONFIG = """
data:
  size: 32
  classes: 3
  images: 16
  most: 3
anchors:
  strides: [4, 8]
  scales: [1.5, 2.5]
  ratios: [0.5, 1.0, 2.0]
head:
  type: RetinaHead
  width: 16
  depth: 1
loss:
  alpha: 0.25
  gamma: 2.0
  beta: 0.11
test:
  score: 0.05
  overlap: 0.5
  most: 5
"""

HEADS = Registry("head")


class ConvBlock(nn.Cell):
    def __init__(self, inputs, outputs, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, stride, "pad", 1, has_bias=False)
        self.bn = nn.BatchNorm2d(outputs, momentum=0.97, eps=1e-3)
        self.act = nn.SiLU()

    def construct(self, x):
        return self.act(self.bn(self.conv(x)))


class Pyramid(nn.Cell):
    """Two levels, the coarser one added to the finer."""

    def __init__(self, width):
        super().__init__()
        self.stem = ConvBlock(3, width, 2)
        self.c1, self.c2 = ConvBlock(width, width, 2), ConvBlock(width, width * 2, 2)
        self.lateral1, self.lateral2 = nn.Conv2d(width, width, 1), nn.Conv2d(width * 2, width, 1)

    def construct(self, x):
        c1 = self.c1(self.stem(x))
        c2 = self.c2(c1)
        p2 = self.lateral2(c2)
        p1 = self.lateral1(c1) + ops.interpolate(p2, size=c1.shape[2:], mode="nearest")
        return p1, p2


@HEADS.register()
class RetinaHead(nn.Cell):
    def __init__(self, width, depth, classes, per_place):
        super().__init__()
        self.classes = classes
        self.tower = nn.SequentialCell([ConvBlock(width, width) for _ in range(depth)])
        self.cls = nn.Conv2d(width, per_place * classes, 3, 1, "pad", 1, has_bias=True)
        self.box = nn.Conv2d(width, per_place * 4, 3, 1, "pad", 1, has_bias=True)
        self.scale = Parameter(Tensor(np.ones(2), ms.float32), name="scale")

    def construct(self, levels):
        scores, boxes = (), ()
        for k, level in enumerate(levels):
            y = self.tower(level)
            n = y.shape[0]
            scores += (self.cls(y).transpose(0, 2, 3, 1).reshape(n, -1, self.classes),)
            boxes += ((self.box(y) * self.scale[k]).transpose(0, 2, 3, 1).reshape(n, -1, 4),)
        return ops.cat(scores, 1), ops.cat(boxes, 1)


class Detector(nn.Cell):
    def __init__(self, cfg, per_place):
        super().__init__()
        self.backbone = Pyramid(cfg.head.width)
        self.head = HEADS.build(cfg.head, classes=cfg.data.classes, per_place=per_place)

    def construct(self, x):
        return self.head(self.backbone(x))


def make_anchors(size, strides, scales, ratios):
    out = []
    for stride in strides:
        for y, x in itertools.product(range(size // stride), repeat=2):
            for scale, ratio in itertools.product(scales, ratios):
                w, h = stride * scale * math.sqrt(ratio), stride * scale / math.sqrt(ratio)
                cx, cy = (x + 0.5) * stride, (y + 0.5) * stride
                out.append([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2])
    return np.array(out, np.float32)


def overlaps(a, b):
    """IoU of [n, 4] and [m, 4] boxes."""
    left = np.maximum(a[:, None, :2], b[None, :, :2])
    right = np.minimum(a[:, None, 2:], b[None, :, 2:])
    inter = np.prod(np.clip(right - left, 0, None), 2)
    area = lambda boxes: np.prod(boxes[:, 2:] - boxes[:, :2], 1)  # noqa: E731
    return inter / (area(a)[:, None] + area(b)[None] - inter)


class Assign:
    """What a dataset's worker makes of an image's boxes: labels (-1: ignored, 0: background) and offsets."""

    def __init__(self, anchors, positive=0.5, negative=0.4):
        self.anchors, self.positive, self.negative = anchors, positive, negative

    def __call__(self, image, boxes, labels):
        known = labels >= 0
        iou = overlaps(self.anchors, boxes[known])
        best = iou.argmax(1)
        value = iou.max(1)
        target = np.where(value >= self.positive, labels[known][best] + 1, np.where(value < self.negative, 0, -1))
        target[iou.argmax(0)] = labels[known] + 1
        gt, (x0, y0, x1, y1) = boxes[known][best], self.anchors.T
        w, h = x1 - x0, y1 - y0
        cx, cy, gw, gh = (gt[:, 0] + gt[:, 2]) / 2, (gt[:, 1] + gt[:, 3]) / 2, gt[:, 2] - gt[:, 0], gt[:, 3] - gt[:, 1]
        offsets = np.stack([(cx - (x0 + x1) / 2) / w, (cy - (y0 + y1) / 2) / h, np.log(gw / w), np.log(gh / h)], 1)
        return (image.transpose(2, 0, 1).astype(np.float32) / 255, target.astype(np.int32),
                offsets.astype(np.float32))


class Boxes:
    def __init__(self, cfg, seed):
        self.cfg, self.seed = cfg, seed

    def __len__(self):
        return self.cfg.images

    def __getitem__(self, index):
        rng = np.random.RandomState(self.seed + int(index))
        image = rng.randint(0, 40, (self.cfg.size, self.cfg.size, 3)).astype(np.uint8)
        boxes = np.zeros((self.cfg.most, 4), np.float32)
        labels = np.full(self.cfg.most, -1, np.int32)
        for k in range(rng.randint(1, self.cfg.most + 1)):
            w, h = rng.randint(6, 16, 2)
            x, y = rng.randint(0, self.cfg.size - w), rng.randint(0, self.cfg.size - h)
            label = rng.randint(self.cfg.classes)
            image[y:y + h, x:x + w, label] = 220
            boxes[k], labels[k] = (x, y, x + w, y + h), label
        return image, boxes, labels


class DetectionLoss(nn.Cell):
    def __init__(self, network, cfg):
        super().__init__()
        self.network, self.cfg = network, cfg
        self.classes = cfg.data.classes
        self.smooth = nn.SmoothL1Loss(beta=cfg.loss.beta, reduction="none")

    def focal(self, logits, onehot):
        p = ops.sigmoid(logits)
        ce = ops.binary_cross_entropy_with_logits(logits, onehot, ops.ones_like(logits), ops.ones_like(logits),
                                                  reduction="none")
        pt = p * onehot + (1 - p) * (1 - onehot)
        alpha = self.cfg.loss.alpha * onehot + (1 - self.cfg.loss.alpha) * (1 - onehot)
        return alpha * ce * (1 - pt) ** self.cfg.loss.gamma

    def construct(self, image, target, offsets):
        scores, boxes = self.network(image)
        seen = (target >= 0).astype(ms.float32)
        positive = (target > 0).astype(ms.float32)
        count = ops.maximum(positive.sum(), Tensor(1.0, ms.float32))
        classes = ops.one_hot(ops.maximum(target, 0), self.classes + 1, Tensor(1.0), Tensor(0.0))[..., 1:]
        cls = (self.focal(scores, classes).sum(-1) * seen).sum() / count
        box = (self.smooth(boxes, offsets).sum(-1) * positive).sum() / count
        return cls + box, cls, box


class TrainStep(nn.Cell):
    """All parts of the loss come back; gradients are clipped."""

    def __init__(self, loss, optimizer, limit=10.0):
        super().__init__(auto_prefix=False)
        self.loss, self.optimizer, self.limit = loss, optimizer, limit
        self.gradients = ms.value_and_grad(self.loss, None, self.optimizer.parameters, has_aux=True)

    def construct(self, *batch):
        (loss, cls, box), grads = self.gradients(*batch)
        loss = ops.depend(loss, self.optimizer(clip_gradients(grads, self.limit)))
        return loss, cls, box


def decode(anchors, offsets, size):
    w, h = anchors[:, 2] - anchors[:, 0], anchors[:, 3] - anchors[:, 1]
    x, y = (anchors[:, 0] + anchors[:, 2]) / 2, (anchors[:, 1] + anchors[:, 3]) / 2
    cx, cy = x + offsets[:, 0] * w, y + offsets[:, 1] * h
    bw, bh = w * ops.exp(offsets[:, 2].clip(None, 4.0)), h * ops.exp(offsets[:, 3].clip(None, 4.0))
    boxes = ops.stack((cx - bw / 2, cy - bh / 2, cx + bw / 2, cy + bh / 2), 1)
    return ops.clamp(boxes, 0, size)


def suppress(boxes, scores, overlap, most):
    """Greedy NMS on the host, as postprocessing scripts have it."""
    order, kept = scores.argsort()[::-1], []
    while len(order) and len(kept) < most:
        kept.append(order[0])
        iou = overlaps(boxes[order[:1]], boxes[order[1:]])[0]
        order = order[1:][iou <= overlap]
    return kept


def detect(network, anchors, image, cfg):
    scores, offsets = network(image)
    boxes = decode(Tensor(anchors), offsets[0], cfg.data.size).asnumpy()
    scores = ops.sigmoid(scores[0]).asnumpy()
    found = []
    for label in range(cfg.data.classes):
        column = scores[:, label]
        keep = np.flatnonzero(column > cfg.test.score)
        for k in suppress(boxes[keep], column[keep], cfg.test.overlap, cfg.test.most):
            found.append((float(column[keep][k]), label, boxes[keep][k].round(1).tolist()))
    return sorted(found, reverse=True)[:cfg.test.most]


def main(argv=None):
    args = arguments(epochs=4).parse_args(argv)
    start(args)
    cfg = load_config(CONFIG, args.set)
    anchors = make_anchors(cfg.data.size, cfg.anchors.strides, cfg.anchors.scales, cfg.anchors.ratios)
    network = fill(Detector(cfg, len(cfg.anchors.scales) * len(cfg.anchors.ratios)), 5)
    network.head.cls.bias.set_data(Tensor(np.full(network.head.cls.bias.shape, -2.0, np.float32)))
    data = ds.GeneratorDataset(Boxes(cfg.data, 100), ["image", "boxes", "labels"], shuffle=False)
    data = data.map(Assign(anchors), ["image", "boxes", "labels"], ["image", "target", "offsets"]).batch(4)
    optimizer = nn.Adam(network.trainable_params(), 3e-3)
    step = TrainStep(DetectionLoss(network, cfg), optimizer).set_train()
    for epoch in range(args.epochs):
        parts = [[float(v.asnumpy()) for v in step(*batch)] for batch in data.create_tuple_iterator()]
        print(f"epoch {epoch + 1}: " + " ".join(f"{a:.4f}={b:.4f}+{c:.4f}" for a, b, c in parts))
    network.set_train(False)
    image = Boxes(cfg.data, 100)[0][0].transpose(2, 0, 1)[None].astype(np.float32) / 255
    for score, label, box in detect(network, anchors, Tensor(image), cfg):
        print(f"class {label} score {score:.3f} at", " ".join(f"{v:.1f}" for v in box))


if __name__ == "__main__":
    main(sys.argv[1:])
